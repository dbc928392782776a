"""Devices, and how functions run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock import _core
from penstock._runtime.debug_switches import session as _session
from penstock._runtime.scope import Placement as _Placement, visible_devices as _visible
from penstock.config import optimizer as optimizer, threading as threading

if TYPE_CHECKING:
    from penstock.config import experimental as experimental

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]


class PhysicalDevice(NamedTuple):
    """A device of the machine.

    Attributes:
        name: such as `/physical_device:CPU:0`.
        device_type: `CPU` or `GPU`.
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that operations can run on.

    Attributes:
        name: such as `/device:CPU:0`.
        device_type: `CPU` or `GPU`.
    """

    name: str
    device_type: str


@dataclass(frozen=True)
class LogicalDeviceConfiguration:
    """What a logical device may use of its physical one.

    Attributes:
        memory_limit: MiB of memory, for a GPU; accepted.
        experimental_priority: accepted.
        experimental_device_ordinal: accepted.

    >>> import penstock as tf
    >>> tf.config.LogicalDeviceConfiguration(memory_limit=100).memory_limit
    100
    """

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Tell what `set_logical_device_configuration` said last of a device.

    Args:
        device: a device of `list_physical_devices`.

    Returns:
        The configurations, or None where none were set.

    Raises:
        ValueError: for a device that is not there.

    >>> import penstock as tf
    >>> tf.config.get_logical_device_configuration(tf.config.list_physical_devices("CPU")[0]) is None
    True
    """
    found = _logical.get(_known(device))
    return None if found is None else list(found)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration] | None
) -> None:
    """Let a device count as several, which all run on it.

    Args:
        device: a device of `list_physical_devices`.
        logical_devices: a configuration for each; None for one.

    Raises:
        ValueError: for a device that is not there, or no configuration.

    >>> import penstock as tf
    >>> cpu = tf.config.list_physical_devices("CPU")[0]
    >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    >>> len(tf.config.list_logical_devices("CPU"))
    2
    >>> tf.config.set_logical_device_configuration(cpu, None)
    """
    name = _known(device)
    if logical_devices is None:
        _logical.pop(name, None)
    elif not logical_devices:
        raise ValueError("argument 'logical_devices' must hold at least one configuration")
    else:
        _logical[name] = tuple(logical_devices)
    _Placement.copies = {name: len(made) for name, made in _logical.items()}


_logical: dict[str, tuple[LogicalDeviceConfiguration, ...]] = {}


def _known(device: PhysicalDevice) -> str:
    if device not in list_physical_devices():
        raise ValueError(f"argument 'device' must be one of {list_physical_devices()}, got {device!r}")
    return device.name


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices that the machine has and the engine can use.

    Args:
        device_type: `"CPU"` or `"GPU"`; None for all.

    Returns:
        The devices of the type.

    >>> import penstock as tf
    >>> tf.config.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return [PhysicalDevice(name, kind) for kind, name in _core._devices() if device_type in (None, kind)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List the devices that are visible.

    Args:
        device_type: `"CPU"` or `"GPU"`; None for all.

    Returns:
        The devices of the type.

    >>> import penstock as tf
    >>> tf.config.list_logical_devices('CPU')[0].name
    '/device:CPU:0'
    """
    out: list[LogicalDevice] = []
    for kind, name in _visible():
        for _ in range(_Placement.copies.get(name, 1)):
            number = sum(d.device_type == kind for d in out)
            out.append(LogicalDevice(f"/device:{kind}:{number}", kind))
    return [d for d in out if device_type in (None, d.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices of the machine that are not hidden.

    Args:
        device_type: `"CPU"` or `"GPU"`; None for all.

    Returns:
        The devices of the type.

    >>> import penstock as tf
    >>> [device.name for device in tf.config.get_visible_devices('CPU')]
    ['/physical_device:CPU:0']
    """
    return [PhysicalDevice(name, kind) for kind, name in _visible() if device_type in (None, kind)]


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Hide all devices, or all of one type, but those given.

    Args:
        devices: devices of `list_physical_devices`, or one of them.
        device_type: the type that it is about; None for all.

    Raises:
        ValueError: for a device that is not there, or where no CPU would be left.

    >>> import penstock as tf
    >>> tf.config.set_visible_devices(tf.config.list_physical_devices('CPU'), 'CPU')
    """
    keep = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    own = list_physical_devices(device_type)
    for device in keep:
        if device not in own:
            raise ValueError(f"argument 'devices' has {device!r}, which is none of {own}")
    hidden = [d.name for d in own if d not in keep]
    hidden += [d.name for d in list_physical_devices() if d not in own and d.name in _Placement.hidden]
    if all(name in hidden for kind, name in _core._devices() if kind == "CPU"):
        raise ValueError("argument 'devices' must leave a CPU visible")
    _Placement.hidden = tuple(hidden)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Set whether functions made by `tf.function` run as plain Python, one operation after the other.

    Args:
        run_eagerly: whether functions run as Python instead of as graphs.

    >>> import penstock as tf
    >>> tf.config.run_functions_eagerly(False)
    """
    _core._run_functions_eagerly(bool(run_eagerly))


def functions_run_eagerly() -> bool:
    """Tell what `run_functions_eagerly` said last.

    Returns:
        Whether functions run as plain Python.

    >>> import penstock as tf
    >>> tf.config.functions_run_eagerly()
    False
    """
    # A debugger has calls go through itself by the same switch.
    return _core._functions_run_eagerly() and _session.hook is None


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def set_soft_device_placement(enabled: bool) -> None:
    """Set whether another device may stand in for one that is asked for and not there.

    Without it `tf.device` refuses a device that the machine lacks.

    Args:
        enabled: accepted; the engine places operations itself.

    >>> import penstock as tf
    >>> tf.config.set_soft_device_placement(True)
    """
    _Placement.soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """Tell what `set_soft_device_placement` said last; true at first.

    Returns:
        Whether another device may stand in.

    >>> import penstock as tf
    >>> tf.config.get_soft_device_placement()
    True
    """
    return _Placement.soft


def __getattr__(name: str) -> object:
    if name == "experimental":
        import importlib  # no name of this module

        # It builds on this module.
        return importlib.import_module("penstock.config.experimental")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
