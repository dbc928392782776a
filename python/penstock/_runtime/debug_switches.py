"""What programs ask of the reports of errors and of devices, and the debugger that they run in."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

__all__ = [
    "disable_traceback_filtering",
    "enable_traceback_filtering",
    "get_log_device_placement",
    "is_traceback_filtering_enabled",
    "session",
    "set_log_device_placement",
    "stepping",
]


class _Session:
    """What calls of traced functions go through: a debugger, or the writer of debug information."""

    # Takes the `Function`, its arguments and its keyword arguments, and gives the result.
    hook: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
    # A context for the tracing of a function by that name, for the writer.
    trace: Callable[[str], AbstractContextManager[None]] | None = None


class _Stepping(threading.local):
    """Whether functions that are converted on this thread tell a debugger of their lines."""

    def __init__(self) -> None:
        self.on = False
        # The functions that do so and are being traced, outermost first.
        self.calls: list[Any] = []


session = _Session()
stepping = _Stepping()

_filtering = True
_logging = False


def enable_traceback_filtering() -> None:
    """Ask for tracebacks without the frames of AutoGraph and of the Python layer.

    >>> import penstock as tf
    >>> tf.debugging.enable_traceback_filtering()
    >>> tf.debugging.is_traceback_filtering_enabled()
    True
    """
    global _filtering
    _filtering = True


def disable_traceback_filtering() -> None:
    """Ask for tracebacks with the frames of the Python layer, as they are.

    >>> import penstock as tf
    >>> tf.debugging.disable_traceback_filtering()
    >>> tf.debugging.is_traceback_filtering_enabled()
    False
    >>> tf.debugging.enable_traceback_filtering()
    """
    global _filtering
    _filtering = False


def is_traceback_filtering_enabled() -> bool:
    """Tell whether tracebacks were asked for without the frames of the Python layer.

    Returns:
        What was asked for last; true at first.

    >>> import penstock as tf
    >>> tf.debugging.is_traceback_filtering_enabled()
    True
    """
    return _filtering


def get_log_device_placement() -> bool:
    """Tell what `set_log_device_placement` said last.

    Returns:
        Whether devices were to be reported; false at first.

    >>> import penstock as tf
    >>> tf.debugging.get_log_device_placement()
    False
    """
    return _logging


def set_log_device_placement(enabled: bool) -> None:
    """Say whether the devices of operations are to be reported. All run on the CPU, and nothing is reported.

    Args:
        enabled: what `get_log_device_placement` gives from now on.

    >>> import penstock as tf
    >>> tf.debugging.set_log_device_placement(True)
    >>> tf.debugging.get_log_device_placement()
    True
    >>> tf.debugging.set_log_device_placement(False)
    """
    global _logging
    _logging = bool(enabled)
