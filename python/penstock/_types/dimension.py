"""Dimensions as objects."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock import _core
from penstock._types.argument_names import place_of, shown

__all__ = ["Dimension", "size_of_dimension"]


def size_of_dimension(value: Any, dims: Any) -> int | None:
    """The size that is given for a dimension; errors name the argument that `dims` came by."""
    if value is None:
        return None
    try:
        size = value.__index__()
    except (AttributeError, TypeError):
        message = f"{place_of(dims)}a dimension must be an int or None, got {shown(value)}"
        raise TypeError(message) from None
    if size is None:  # of a `Dimension`
        return None
    if size < 0:
        raise ValueError(f"{place_of(dims)}Dimension {size} must be >= 0")
    return int(size)


class Dimension:
    """The size of a dimension, which may be unknown.

    `TensorShape.dims` has a dimension for each size. Indexing a shape and iterating over it give ints and
    None, and dimensions after `disable_v2_behavior()` or `disable_v2_tensorshape()`. Arithmetic with an
    unknown size gives an unknown size, and comparisons give None. A known size becomes a tensor.

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
        self._value = value.value if isinstance(value, Dimension) else size_of_dimension(value, value)

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

    # Tensors leave their operators to this class.
    __penstock_operand__ = True

    def _applied(self, function: Callable[[Any, Any], Any], other: Any, swapped: bool = False) -> Any:
        """What a function makes of both sizes, None where one is unknown; a tensor has this one in its dtype.

        Raises:
            TypeError: for what is no size.
            ValueError: for a negative size.
        """
        own: Any = self._value
        if isinstance(other, _core.Tensor | _core._Variable):
            own = self.__tf_tensor__(other.dtype)
        else:
            other = size_of_dimension(other, other)
            if own is None or other is None:
                return None
        return function(other, own) if swapped else function(own, other)

    def _computed(self, function: Callable[[Any, Any], Any], other: Any, swapped: bool = False) -> Any:
        try:
            found = self._applied(function, other, swapped)
        except TypeError:
            return NotImplemented
        return found if isinstance(found, _core.Tensor) else Dimension(found)

    def __add__(self, other: Any) -> Any:
        return self._computed(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._computed(operator.add, other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._computed(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._computed(operator.sub, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._computed(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._computed(operator.mul, other, swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._computed(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._computed(operator.floordiv, other, swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._computed(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._computed(operator.mod, other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(f"Dimension / {type(other).__name__} may be no size: use // instead")

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(f"{type(other).__name__} / Dimension may be no size: use // instead")

    def __eq__(self, other: object) -> Any:
        try:
            return self._applied(operator.eq, other)
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other: object) -> Any:
        try:
            return self._applied(operator.ne, other)
        except (TypeError, ValueError):
            return NotImplemented

    def __lt__(self, other: Any) -> Any:
        return self._applied(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._applied(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._applied(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._applied(operator.ge, other)

    # Unknown sizes are equal to nothing, themselves among it.
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        if self._value is None:
            raise ValueError("an unknown Dimension cannot become a tensor; use tf.shape")
        if dtype is None:
            dtype = _core.int32 if self._value < 2**31 else _core.int64
        return _core._to_tensor(self._value, dtype)

    def __reduce__(self) -> tuple[type[Dimension], tuple[int | None]]:
        return Dimension, (self._value,)
