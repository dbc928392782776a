"""Names of devices in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from penstock._types.argument_names import shown

__all__ = ["DeviceSpec"]


class DeviceSpec:
    """The name of a device in parts, each of which may be left open.

    Args:
        job: the name of a job of several machines.
        replica: the number of a replica.
        task: the number of a task.
        device_type: such as `"CPU"` or `"GPU"`.
        device_index: the number of the device.

    >>> import penstock as tf
    >>> tf.DeviceSpec(device_type="GPU", device_index=1).to_string()
    '/device:GPU:1'
    """

    __slots__ = ("_parts",)

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._parts: dict[str, Any] = {
            "job": None if job is None else str(job),
            "replica": _number(replica, "replica"),
            "task": _number(task, "task"),
            "device_type": _kind(device_type),
            "device_index": _number(device_index, "device_index"),
        }

    @property
    def job(self) -> str | None:
        """The name of the job."""
        return self._text("job")

    @property
    def replica(self) -> int | None:
        """The number of the replica."""
        return self._number("replica")

    @property
    def task(self) -> int | None:
        """The number of the task."""
        return self._number("task")

    @property
    def device_type(self) -> str | None:
        """The type of the device, in capitals."""
        return self._text("device_type")

    @property
    def device_index(self) -> int | None:
        """The number of the device."""
        return self._number("device_index")

    def _text(self, part: str) -> str | None:
        value: str | None = self._parts[part]
        return value

    def _number(self, part: str) -> int | None:
        value: int | None = self._parts[part]
        return value

    @classmethod
    def from_string(cls, spec: str) -> Self:
        """Read a name such as `"/job:worker/task:1/device:GPU:0"`.

        Args:
            spec: the name.

        Returns:
            Its parts.

        Raises:
            ValueError: for something that names no device.

        >>> import penstock as tf
        >>> tf.DeviceSpec.from_string("/job:worker/gpu:0").device_type
        'GPU'
        """
        parts: dict[str, Any] = {}
        for part in filter(None, spec.split("/")):
            key, *rest = part.split(":")
            kinds = ["CPU", "GPU", "TPU", "*"]
            if key.lower() == "device":
                key, *rest = rest or [""]
                # Other machines may have devices of any kind.
                kinds += [key.upper()] if key.isidentifier() else []
            if key in ("job", "replica", "task") and len(rest) == 1:
                parts[key] = rest[0] if key == "job" else _whole(rest[0], spec)
            elif key.upper() in kinds and len(rest) <= 1:
                parts["device_type"] = None if key == "*" else key.upper()
                parts["device_index"] = None if rest in ([], ["*"]) else _whole(rest[0], spec)
            else:
                raise ValueError(f"argument 'spec' names no device: {spec!r}")
        return cls(**parts)

    def parse_from_string(self, spec: str) -> Self:
        """Read a name, as `from_string` does.

        Args:
            spec: the name.

        Returns:
            Its parts.

        Raises:
            ValueError: for something that names no device.

        >>> import penstock as tf
        >>> tf.DeviceSpec().parse_from_string("/CPU:0").device_index
        0
        """
        return self.from_string(spec)

    def to_string(self) -> str:
        """Write the name.

        Returns:
            The parts that are not open, such as `/job:worker/device:GPU:0`.

        >>> import penstock as tf
        >>> tf.DeviceSpec("worker", task=2).to_string()
        '/job:worker/task:2'
        """
        name = "".join(
            f"/{part}:{self._parts[part]}"
            for part in ("job", "replica", "task")
            if self._parts[part] is not None
        )
        if self.device_type is not None:
            name += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return name

    def make_merged_spec(self, dev: DeviceSpec) -> Self:
        """Take the parts of another name, and of this one those that it leaves open.

        Args:
            dev: the other name.

        Returns:
            A name.

        >>> import penstock as tf
        >>> tf.DeviceSpec(task=1).make_merged_spec(tf.DeviceSpec(device_type="CPU")).to_string()
        '/task:1/device:CPU:*'
        """
        own = self._parts.items()
        return type(self)(**{k: v if dev._parts[k] is None else dev._parts[k] for k, v in own})

    def replace(self, **kwargs: str | int | None) -> Self:
        """Replace some parts.

        Args:
            **kwargs: the parts to change.

        Returns:
            A name.

        >>> import penstock as tf
        >>> tf.DeviceSpec(device_type="CPU", device_index=0).replace(device_index=1).to_string()
        '/device:CPU:1'
        """
        make: Callable[..., Self] = type(self)
        changed: Mapping[str, Any] = {**self._parts, **kwargs}
        return make(**changed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({', '.join(f'{k}={v!r}' for k, v in self._parts.items() if v is not None)})"


def _kind(device_type: Any) -> str | None:
    """A type of devices; the two usual ones in capitals, others as they are."""
    text = None if device_type is None else str(device_type)
    return text.upper() if text in ("cpu", "gpu") else text


def _number(value: Any, argument: str) -> int | None:
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"argument '{argument}' must be an integer, got {shown(value)}") from None


def _whole(text: str, spec: str) -> int:
    if not text.isdigit():
        raise ValueError(f"argument 'spec' names no device: {spec!r}")
    return int(text)
