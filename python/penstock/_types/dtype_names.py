"""Element types by what names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import _core

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike

__all__ = ["as_dtype"]


def as_dtype(type_value: DTypeLike) -> _core.DType:
    """Find an element type.

    Args:
        type_value: an element type, its name, the number that TensorFlow's messages have for it, or a type of
            NumPy or Python that stands for one.

    Returns:
        The element type, always the same object for it.

    Raises:
        TypeError: for what is none.

    >>> import penstock as tf
    >>> tf.as_dtype("float32"), tf.as_dtype(3)
    (tf.float32, tf.int32)
    """
    found: _core.DType = getattr(_core, _core.DType(type_value).name)
    return found
