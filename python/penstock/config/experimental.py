"""Devices and determinism: names that TensorFlow has under `tf.config.experimental`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock._runtime.device_spec import DeviceSpec
from penstock._runtime.public_names import publish as _publish
from penstock._types.argument_names import expect
from penstock.config import (
    LogicalDeviceConfiguration as VirtualDeviceConfiguration,
    PhysicalDevice as PhysicalDevice,
    get_logical_device_configuration as get_virtual_device_configuration,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_logical_device_configuration as set_virtual_device_configuration,
    set_visible_devices as set_visible_devices,
)

__all__ = [
    "VirtualDeviceConfiguration",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_memory_info",
    "get_memory_usage",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "reset_memory_stats",
    "set_device_policy",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]


# What programs said last, of what has no effect here.
_growth: dict[str, bool] = {}
_policy = "silent"
_POLICIES = ("explicit", "silent", "silent_for_int32", "warn")


def enable_op_determinism() -> None:
    """Ask for results that are the same in every run; they are so anyway.

    >>> import penstock as tf
    >>> tf.config.experimental.enable_op_determinism()
    """


def tensor_float_32_execution_enabled() -> bool:
    """Tell whether products of `float32` may be computed with shorter numbers.

    Returns:
        False: they keep their precision.

    >>> import penstock as tf
    >>> tf.config.experimental.tensor_float_32_execution_enabled()
    False
    """
    return False


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Say whether products of `float32` may be computed with shorter numbers; they keep their precision.

    Args:
        enabled: accepted.

    >>> import penstock as tf
    >>> tf.config.experimental.enable_tensor_float_32_execution(True)
    """


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Give what is known of a device beyond its name.

    Args:
        device: a device of `tf.config.list_physical_devices`.

    Returns:
        A dict, empty for a CPU.

    Raises:
        ValueError: for a device that is not there.

    >>> import penstock as tf
    >>> tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0])
    {}
    """
    _known(device)
    return {}


def get_device_policy() -> str:
    """Tell what `set_device_policy` said last.

    Returns:
        `"silent"`, unless another one was set.

    >>> import penstock as tf
    >>> tf.config.experimental.get_device_policy()
    'silent'
    """
    return _policy


def set_device_policy(device_policy: str | None) -> None:
    """Say what is to happen where an operand is on another device; it is copied, whatever is said.

    Args:
        device_policy: `"explicit"`, `"warn"`, `"silent"` or `"silent_for_int32"`; None for `"silent"`.

    Raises:
        ValueError: for anything else.

    >>> import penstock as tf
    >>> tf.config.experimental.set_device_policy("silent")
    """
    global _policy
    if device_policy is not None and device_policy not in _POLICIES:
        known = ", ".join(_POLICIES)
        raise ValueError(f"argument 'device_policy' must be None or one of {known}, got {device_policy!r}")
    _policy = "silent" if device_policy is None else device_policy


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Tell what `set_memory_growth` said last of a device.

    Args:
        device: a device of `tf.config.list_physical_devices`.

    Returns:
        True, unless something else was set: memory is taken as it is needed.

    Raises:
        ValueError: for a device that is not there.

    >>> import penstock as tf
    >>> tf.config.experimental.get_memory_growth(tf.config.list_physical_devices("CPU")[0])
    True
    """
    return _growth.get(_known(device), True)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Say whether memory of a device is taken as it is needed; it is, whatever is said.

    Args:
        device: a device of `tf.config.list_physical_devices`.
        enable: whether to do so.

    Raises:
        ValueError: for a device that is not there.

    >>> import penstock as tf
    >>> tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("CPU")[0], True)
    """
    _growth[_known(device)] = bool(enable)


def get_memory_info(device: str) -> dict[str, int]:
    """Tell how much memory is in use. That of the CPU is the memory of the process, by what Linux says.

    Args:
        device: the name of a device, as `"CPU:0"`.

    Returns:
        `"current"`, the bytes in use now, and `"peak"`, the most since the start of the process, or since
        `reset_memory_stats`.

    Raises:
        ValueError: for another device than the CPU, or where the system does not say.

    >>> import penstock as tf
    >>> info = tf.config.experimental.get_memory_info("CPU:0")
    >>> 0 < info["current"] <= info["peak"]
    True
    """
    _check_processor(device)
    found = {}
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                found[name] = int(value.split()[0]) * 1024
        return {"current": found["VmRSS"], "peak": max(found["VmHWM"], found["VmRSS"])}
    except (OSError, KeyError) as error:
        raise ValueError(f"the system does not say how much memory the process has: {error}") from None


def get_memory_usage(device: str) -> int:
    """Tell how many bytes of memory are in use: `get_memory_info(device)["current"]`.

    Args:
        device: the name of a device, as `"CPU:0"`.

    Returns:
        The number.

    Raises:
        ValueError: for another device than the CPU, or where the system does not say.

    >>> import penstock as tf
    >>> tf.config.experimental.get_memory_usage("CPU:0") > 0
    True
    """
    return get_memory_info(device)["current"]


def reset_memory_stats(device: str) -> None:
    """Have the peak of `get_memory_info` count from now on.

    Args:
        device: the name of a device, as `"CPU:0"`.

    Raises:
        ValueError: for another device than the CPU, or where the system does not allow it.

    >>> import penstock as tf
    >>> tf.config.experimental.reset_memory_stats("CPU:0")
    """
    _check_processor(device)
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError as error:
        raise ValueError(f"the system does not reset the peak of the memory of a process: {error}") from None


def _check_processor(device: Any) -> None:
    expect(device, str, "device", "the name of a device")
    try:
        kind = DeviceSpec.from_string(device if device.startswith("/") else f"/device:{device}").device_type
    except ValueError:
        kind = None
    if kind != "CPU":
        raise ValueError(f"argument 'device' must be the CPU, whose memory alone is known, got {device!r}")


def get_synchronous_execution() -> bool:
    """Tell whether an operation is done when its call returns.

    Returns:
        True.

    >>> import penstock as tf
    >>> tf.config.experimental.get_synchronous_execution()
    True
    """
    return True


def set_synchronous_execution(enable: bool) -> None:
    """Say whether an operation is to be done when its call returns; it is, whatever is said.

    Args:
        enable: accepted.

    >>> import penstock as tf
    >>> tf.config.experimental.set_synchronous_execution(False)
    """


def _known(device: Any) -> str:
    """The name of a device of the machine.

    Raises:
        ValueError: for anything else.
    """
    devices = list_physical_devices()
    if device not in devices:
        raise ValueError(f"argument 'device' must be one of {devices}, got {device!r}")
    return str(device.name)


_publish(__name__)
