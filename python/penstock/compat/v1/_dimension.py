"""Dimensions as objects, which TensorFlow 1 has in shapes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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


class _DimensionMeta(type):
    """A size that a shape gives is a dimension."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, _Size)


class Dimension(metaclass=_DimensionMeta):
    """The size of a dimension, which may be unknown.

    Shapes give dimensions after `disable_v2_behavior()` or `disable_v2_tensorshape()`, else ints and None.
    Arithmetic with an unknown size gives an unknown size, and comparisons give None.

    Args:
        value: a size; None for one that is unknown.

    Raises:
        TypeError: for what is no integer.
        ValueError: for a negative size.

    >>> import penstock as tf
    >>> tf.compat.v1.Dimension(2) + 3
    Dimension(5)
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value.value if isinstance(value, Dimension) else TensorShape([value])[0]

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Tell whether both may be the same size.

        Args:
            other: another dimension.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.compat.v1.Dimension(None).is_compatible_with(3)
        True
        """
        other = Dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise unless both may be the same size.

        Args:
            other: another dimension.

        Raises:
            ValueError: where they differ.

        >>> import penstock as tf
        >>> tf.compat.v1.Dimension(None).assert_is_compatible_with(3)
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Join what both say of one dimension.

        Args:
            other: another dimension.

        Returns:
            The dimension.

        Raises:
            ValueError: where they differ.

        >>> import penstock as tf
        >>> tf.compat.v1.Dimension(None).merge_with(3)
        Dimension(3)
        """
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    def _computed(self, function: Callable[[int, int], int], other: Any) -> Dimension:
        other = Dimension(other)
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(function(self._value, other._value))

    def __add__(self, other: Any) -> Dimension:
        return self._computed(operator.add, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dimension:
        return self._computed(operator.sub, other)

    def __rsub__(self, other: Any) -> Dimension:
        return Dimension(other) - self

    def __mul__(self, other: Any) -> Dimension:
        return self._computed(operator.mul, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Dimension:
        return self._computed(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Dimension:
        return Dimension(other) // self

    def __mod__(self, other: Any) -> Dimension:
        return self._computed(operator.mod, other)

    def __rmod__(self, other: Any) -> Dimension:
        return Dimension(other) % self

    def _compared(self, function: Callable[[int, int], bool], other: Any) -> bool | None:
        size = Dimension(other).value
        return None if self._value is None or size is None else function(self._value, size)

    def __eq__(self, other: object) -> Any:
        try:
            return self._compared(operator.eq, other)
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other: object) -> Any:
        try:
            return self._compared(operator.ne, other)
        except (TypeError, ValueError):
            return NotImplemented

    def __lt__(self, other: Any) -> Any:
        return self._compared(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compared(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(operator.ge, other)

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __reduce__(self) -> tuple[type[Dimension], tuple[int | None]]:
        return Dimension, (self._value,)


class _Size(int):
    """A known size of a shape: an int, with the methods of a dimension."""

    @property
    def value(self) -> int:
        """The size."""
        return int(self)

    def is_compatible_with(self, other: Any) -> bool:
        """Tell whether another dimension may be the same size."""
        return Dimension(self.value).is_compatible_with(other)

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise unless another dimension may be the same size."""
        Dimension(self.value).assert_is_compatible_with(other)

    def merge_with(self, other: Any) -> Dimension:
        """Join what both say of one dimension."""
        return Dimension(self.value).merge_with(other)

    def __str__(self) -> str:
        return int.__repr__(self)

    def __repr__(self) -> str:
        return f"Dimension({int.__repr__(self)})"

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (self.value,)


def _seen(size: int | None, asker: Any) -> Any:
    """What a shape gives: a dimension. The package, and Keras, know None for a size that is unknown."""
    if size is not None:
        return _Size(size)
    module = asker.f_globals.get("__name__") or ""
    return None if module.partition(".")[0] in _KNOW_NONE else Dimension(None)


_KNOW_NONE = ("keras", "keras_penstock", "penstock")


def disable_v2_tensorshape() -> None:
    """Have shapes give a `Dimension` for each size, which has a `value`, as in TensorFlow 1.

    >>> import penstock as tf
    >>> tf.compat.v1.disable_v2_tensorshape()
    >>> shape = tf.TensorShape([2, 3])
    >>> [size.value for size in shape], shape[0] * 3
    ([2, 3], 6)
    >>> tf.compat.v1.enable_v2_tensorshape()
    """
    show_sizes(_seen)


def enable_v2_tensorshape() -> None:
    """Have shapes give an int or None for each size, as they do unless `disable_v2_tensorshape` was called.

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
