"""The current step of summaries, their tags, and messages that are written as they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped as _scoped
from penstock.summary import _writer

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]


def set_step(step: IntLike | None) -> None:
    """Set the step of the summaries of this thread that say none.

    Args:
        step: a number; a variable, which is read whenever a summary is written; or None.

    >>> import penstock as tf
    >>> tf.summary.experimental.set_step(3)
    >>> tf.summary.experimental.get_step()
    3
    >>> tf.summary.experimental.set_step(None)
    """
    _writer.STATE.step = step


def get_step() -> Any:
    """Give what `set_step`, or the default writer, set.

    Returns:
        The step; None where none is set.

    >>> import penstock as tf
    >>> tf.summary.experimental.get_step() is None
    True
    """
    return _writer.STATE.step


def summary_scope(
    name: str, default_name: str = "summary", values: Sequence[TensorLike | None] | None = None
) -> AbstractContextManager[tuple[str, str]]:
    """Open the scope of a summary.

    Args:
        name: its name.
        default_name: the name of the scope where no character of `name` can stand in one.
        values: ignored.

    Returns:
        A context manager; its value is the tag of the summary, and the scope.

    >>> import penstock as tf
    >>> with tf.summary.experimental.summary_scope("my loss") as names:
    ...     names
    ('my loss', 'myloss/')
    """
    return _writer.scoped(name, default_name, values)


@_scoped
def write_raw_pb(tensor: TensorLike, step: IntLike | None = None, name: str | None = None) -> _core.Tensor:
    """Write a `Summary` message that is made already.

    Args:
        tensor: its bytes, a string scalar.
        step: its step; the current one by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        Whether it was written, a `bool` scalar.

    Raises:
        ValueError: where no step is set.
        DataLossError: for bytes that are no such message.

    >>> import penstock as tf
    >>> bool(tf.summary.experimental.write_raw_pb(b"", step=1))
    False
    """
    return _writer.write_message(tensor, step)


_publish(__name__)
