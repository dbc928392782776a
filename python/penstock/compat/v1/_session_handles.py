"""Tensors that stay between the runs of sessions, and the handles by which later runs name them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.scope import scoped
from penstock._types.argument_names import shown
from penstock.compat.v1._graph import get_default_graph, placeholder
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike
    from penstock.compat.v1._graph import Operation

__all__ = ["TensorHandle", "delete_session_tensor", "get_session_handle", "get_session_tensor"]

_numbers = itertools.count()
# The tensors, as arrays, by their handles. No lock: handles end at any time, also while one is held.
_held: dict[str, Any] = {}


def _keep(value: Any) -> bytes:
    handle = f"GetSessionHandle;{next(_numbers)};/job:localhost/replica:0/task:0/device:CPU:0"
    # What runs next may have the array's memory.
    _held[handle] = value.copy() if hasattr(value, "copy") else value
    return handle.encode()


def _value(handle: Any) -> Any:
    name = handle.decode() if isinstance(handle, bytes) else str(handle)
    try:
        return _held[name]
    except KeyError:
        text = f"argument 'handle': there is no tensor of the handle {name!r}"
        raise InvalidArgumentError(text) from None


def _drop(handle: Any) -> bool:
    name = handle.decode() if isinstance(handle, bytes) else str(handle)
    return _held.pop(name, None) is not None


class TensorHandle:
    """The handle of a tensor that stays after the run of a session. With it the tensor goes.

    Args:
        handle: the text that names the tensor.
        dtype: the element type of the tensor.
        session: the session that has it.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     handle = session.run(tf.compat.v1.get_session_handle(tf.constant(3.0)))
    ...     float(handle.eval())
    3.0
    """

    _handle = ""  # of one that was not made

    def __init__(self, handle: bytes, dtype: DTypeLike, session: Any) -> None:
        self._handle, self._dtype, self._session = handle.decode(), _core.DType(dtype), session

    @property
    def handle(self) -> str:
        """The text that names the tensor, to feed to what `get_session_tensor` gave."""
        return self._handle

    @property
    def dtype(self) -> _core.DType:
        """The element type of the tensor."""
        return self._dtype

    def eval(self) -> Any:
        """Give the value of the tensor.

        Returns:
            A NumPy value.

        Raises:
            InvalidArgumentError: where the tensor was deleted.
        """
        return _value(self._handle)

    def delete(self) -> None:
        """Let go of the tensor.

        Raises:
            InvalidArgumentError: where it was deleted before.
        """
        _value(self._handle)
        _drop(self._handle)

    def get_raw_handle(self) -> str:
        """Give the text that names the tensor, which then stays until it is deleted by that text.

        Returns:
            The text.
        """
        handle, self._handle = self._handle, ""
        return handle

    def __del__(self) -> None:
        _drop(self._handle)

    def __str__(self) -> str:
        return self._handle

    def __repr__(self) -> str:
        return f"<tf.TensorHandle {self._handle!r} dtype={self._dtype.name}>"


@scoped
def get_session_handle(data: TensorLike, name: str | None = None) -> _core.Tensor:
    """Keep a tensor after the run of a session, for later runs.

    Args:
        data: the tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A scalar string, for which a session gives a `TensorHandle`.

    Raises:
        TypeError: for a value that is no tensor of a graph.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     kept = session.run(v1.get_session_handle(tf.constant(2.0) * 3.0))
    ...     holder, x = v1.get_session_tensor(kept.handle, tf.float32)
    ...     float(session.run(x + 1.0, feed_dict={holder: kept.handle}))
    7.0
    """
    if not isinstance(data, _core.Tensor) or not data._is_symbolic:
        raise TypeError(f"argument 'data' must be a tensor of a graph, got {shown(data)}")
    made = numpy_function(_keep, [data], _core.string)
    made.set_shape([])
    get_default_graph().handles[made._id] = data.dtype
    return made


def get_session_tensor(
    handle: TensorLike, dtype: DTypeLike, name: str | None = None
) -> tuple[_core.Tensor, _core.Tensor]:
    """Take a tensor that an earlier run of a session kept.

    Args:
        handle: a handle, which says where the tensor is.
        dtype: the element type of the tensor.
        name: what it is called in the graph.

    Returns:
        A placeholder that is fed the handle, and the tensor.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     kept = session.run(v1.get_session_handle(tf.constant(2.0)))
    ...     holder, x = v1.get_session_tensor(kept.handle, tf.float32)
    ...     float(session.run(x, feed_dict={holder: kept.handle}))
    2.0
    """
    holder = placeholder(_core.string, [])
    return holder, numpy_function(_value, [holder], dtype, name=name)


def delete_session_tensor(handle: TensorLike, name: str | None = None) -> tuple[_core.Tensor, Operation]:
    """Let go of a tensor that an earlier run of a session kept.

    Args:
        handle: a handle, which says where the tensor is.
        name: what it is called in the graph.

    Returns:
        A placeholder that is fed the handle, and an operation that lets go of the tensor.

    >>> import penstock as tf
    >>> v1 = tf.compat.v1
    >>> with tf.Graph().as_default(), v1.Session() as session:
    ...     handle = session.run(v1.get_session_handle(tf.constant(2.0))).get_raw_handle()
    ...     holder, deleter = v1.delete_session_tensor(handle)
    ...     session.run(deleter, feed_dict={holder: handle})
    """
    holder = placeholder(_core.string, [])
    done = numpy_function(_drop, [holder], _core.bool)
    return holder, get_default_graph().group(done, name=name or "DeleteSessionTensor")
