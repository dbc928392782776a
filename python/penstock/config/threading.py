"""How many threads the engine uses. It has one pool, for work within an operation and beside it."""

from __future__ import annotations

from penstock import _core
from penstock._runtime.arguments import integer

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]

# As many as an index of the engine counts.
_MOST = 2**31 - 1
_asked = {"intra": 0, "inter": 0}


def _set(which: str, num_threads: int) -> None:
    number = integer(num_threads, "num_threads")
    if number < 0:
        raise ValueError(f"argument 'num_threads' must not be negative, got {number}")
    if number > _MOST:
        raise ValueError(f"argument 'num_threads' must be at most {_MOST}, got {number}")
    _asked[which] = number
    _core._set_threads(max(_asked.values()))


def get_intra_op_parallelism_threads() -> int:
    """Tell what `set_intra_op_parallelism_threads` said last; 0 at first.

    Returns:
        The number of threads.

    >>> import penstock as tf
    >>> tf.config.threading.get_intra_op_parallelism_threads() >= 0
    True
    """
    return _asked["intra"]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads may work on one operation.

    The pool has the greater of both numbers.

    Args:
        num_threads: how many; 0 lets the engine choose.

    >>> import penstock as tf
    >>> before = tf.config.threading.get_intra_op_parallelism_threads()
    >>> tf.config.threading.set_intra_op_parallelism_threads(before)
    """
    _set("intra", num_threads)


def get_inter_op_parallelism_threads() -> int:
    """Tell what `set_inter_op_parallelism_threads` said last; 0 at first.

    Returns:
        The number of threads.

    >>> import penstock as tf
    >>> tf.config.threading.get_inter_op_parallelism_threads() >= 0
    True
    """
    return _asked["inter"]


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many operations may run side by side.

    The pool has the greater of both numbers.

    Args:
        num_threads: how many; 0 lets the engine choose.

    >>> import penstock as tf
    >>> before = tf.config.threading.get_inter_op_parallelism_threads()
    >>> tf.config.threading.set_inter_op_parallelism_threads(before)
    """
    _set("inter", num_threads)
