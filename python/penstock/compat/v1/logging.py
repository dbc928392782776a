"""Messages of TensorFlow 1, to the logger of `tf.get_logger()`."""

from __future__ import annotations

import itertools
import logging as _logging
import sys
from collections import defaultdict
from typing import Any, Final

from penstock._runtime.print import get_logger

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "TaskLevelStatusMessage",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

DEBUG: Final = _logging.DEBUG
INFO: Final = _logging.INFO
WARN: Final = _logging.WARNING
ERROR: Final = _logging.ERROR
FATAL: Final = _logging.FATAL

_counts: defaultdict[tuple[str, int], itertools.count[int]] = defaultdict(itertools.count)


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Write a message.

    Args:
        level: one of the levels above.
        msg: text with places for `args`.
        *args: what is put there.
        **kwargs: those of `logging.Logger.log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.log(tf.compat.v1.logging.DEBUG, "%d steps", 3)
    """
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write a message for who looks for defects; the parameters are those of `log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.debug("%d steps", 3)
    """
    get_logger().debug(msg, *args, stacklevel=2, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write a message of what goes on; the parameters are those of `log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.info("%d steps", 3)
    """
    get_logger().info(msg, *args, stacklevel=2, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write a warning; the parameters are those of `log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.warning("%d steps are few", 3)
    """
    get_logger().warning(msg, *args, stacklevel=2, **kwargs)


warn = warning


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write what went wrong; the parameters are those of `log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.error("no step of %d", 3)
    """
    get_logger().error(msg, *args, stacklevel=2, **kwargs)


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Write what the program cannot go on after; it goes on. The parameters are those of `log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.fatal("no step of %d", 3)
    """
    get_logger().critical(msg, *args, stacklevel=2, **kwargs)


def vlog(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Write a message; the parameters are those of `log`.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.vlog(1, "%d steps", 3)
    """
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def log_if(level: int, msg: str, condition: bool, *args: Any) -> None:
    """Write a message where a condition holds.

    Args:
        level: one of the levels above.
        msg: text with places for `args`.
        condition: whether to write it.
        *args: what is put there.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.log_if(tf.compat.v1.logging.DEBUG, "%d steps", True, 3)
    """
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def _calls() -> int:
    """How many times the line that called the caller has done so before."""
    frame = sys._getframe(2)
    return next(_counts[frame.f_code.co_filename, frame.f_lineno])


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Write a message the first times that a line of the program asks for it.

    Args:
        level: one of the levels above.
        msg: text with places for `args`.
        n: how many times.
        *args: what is put there.

    >>> import penstock as tf
    >>> for step in range(3):
    ...     tf.compat.v1.logging.log_first_n(tf.compat.v1.logging.DEBUG, "step %d", 1, step)
    """
    if _calls() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Write a message each `n`-th time that a line of the program asks for it, from the first on.

    Args:
        level: one of the levels above.
        msg: text with places for `args`.
        n: how many times make one message.
        *args: what is put there.

    >>> import penstock as tf
    >>> for step in range(3):
    ...     tf.compat.v1.logging.log_every_n(tf.compat.v1.logging.DEBUG, "step %d", 2, step)
    """
    if _calls() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def get_verbosity() -> int:
    """Tell the least level of messages that are written.

    Returns:
        One of the levels above.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.get_verbosity() <= tf.compat.v1.logging.FATAL
    True
    """
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Set the least level of messages that are written.

    Args:
        v: one of the levels above.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.get_verbosity())
    """
    get_logger().setLevel(v)


def flush() -> None:
    """Do nothing: messages are written at once.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.flush()
    """


def TaskLevelStatusMessage(msg: str) -> None:
    """Write a message about a task as a whole, as an error.

    Args:
        msg: the text.

    >>> import penstock as tf
    >>> tf.compat.v1.logging.TaskLevelStatusMessage("ready")
    """
    get_logger().error(msg, stacklevel=2)
