"""Dimensions as objects, which TensorFlow 1 has in shapes."""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any

from penstock._types.dimension import Dimension
from penstock._types.shape import TensorShape, show_sizes

if TYPE_CHECKING:
    from penstock._types.aliases import ShapeLike

__all__ = [
    "Dimension",
    "dimension_at_index",
    "dimension_value",
    "disable_v2_tensorshape",
    "enable_v2_tensorshape",
]


# What is written for shapes that give ints and None.
_TAKE_INTS = ("keras", "keras_penstock", "penstock")


def _seen(size: int | None, asker: FrameType) -> Any:
    """What a shape gives: a dimension to programs, the size itself to the package and to Keras."""
    module = asker.f_globals.get("__name__") or ""
    # An example of a docstring has the names of its module, and is a program.
    written = not asker.f_code.co_filename.startswith("<")
    return size if written and module.partition(".")[0] in _TAKE_INTS else Dimension(size)


def disable_v2_tensorshape() -> None:
    """Have indexing a shape and iterating over it give a `Dimension` for each size, as in TensorFlow 1.

    >>> import penstock as tf
    >>> tf.compat.v1.disable_v2_tensorshape()
    >>> shape = tf.TensorShape([2, 3])
    >>> [size.value for size in shape], shape[0] * 3
    ([2, 3], Dimension(6))
    >>> tf.compat.v1.enable_v2_tensorshape()
    """
    show_sizes(_seen)


def enable_v2_tensorshape() -> None:
    """Have indexing a shape and iterating over it give an int or None for each size, as they do at first.

    >>> import penstock as tf
    >>> tf.compat.v1.enable_v2_tensorshape()
    >>> tf.TensorShape([2, None])[0]
    2
    """
    show_sizes(None)


def dimension_value(dimension: int | Dimension | None) -> int | None:
    """Give the size of a dimension, which is an int, None or a `Dimension`.

    Args:
        dimension: what indexing a shape gives.

    Returns:
        The size, or None where it is not known.

    >>> import penstock as tf
    >>> tf.compat.dimension_value(tf.TensorShape([2, None])[0])
    2
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: ShapeLike, index: int) -> Dimension:
    """Give a dimension of a shape.

    Args:
        shape: a shape.
        index: which dimension; negative from the end.

    Returns:
        The dimension, which is unknown where the rank is.

    Raises:
        IndexError: where the shape has fewer dimensions.

    >>> import penstock as tf
    >>> tf.compat.dimension_at_index(tf.TensorShape([2, None]), 0)
    Dimension(2)
    """
    shape = TensorShape(shape)
    if shape.rank is not None and not -shape.rank <= index < shape.rank:
        raise IndexError(f"argument 'index' is {index}, of a shape of rank {shape.rank}")
    return Dimension(None if shape.rank is None else shape[index])
