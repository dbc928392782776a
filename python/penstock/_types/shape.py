"""Shapes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, overload

from penstock import _core
from penstock._types.argument_names import place_of
from penstock._types.dimension import Dimension, size_of_dimension

if TYPE_CHECKING:
    from penstock._runtime.protos import TensorShapeProto
    from penstock._types.aliases import ShapeLike

__all__ = ["ArrayShape", "TensorShape", "show_sizes"]


_MOST_DIMENSIONS = 254


def _sizes(dims: Any) -> tuple[int | None, ...]:
    """The sizes of what is given for a shape; errors name the argument by which it came."""
    if not isinstance(dims, Iterable):
        return (size_of_dimension(dims, dims),)
    sizes: list[int | None] = []
    for size in dims:
        if len(sizes) == _MOST_DIMENSIONS:
            raise ValueError(f"{place_of(dims)}a tensor has at most {_MOST_DIMENSIONS} dimensions")
        sizes.append(size_of_dimension(size, dims))
    return tuple(sizes)


class _Seen:
    """The function by which shapes show their sizes; see `show_sizes`."""

    size: ClassVar[Callable[[int | None, Any], Any] | None] = None


def show_sizes(seen: Callable[[int | None, Any], Any] | None) -> None:
    """Set the function by which shapes show their sizes.

    Args:
        seen: takes a size and the frame that asks, and returns what is shown; None shows the size itself.
    """
    _Seen.size = None if seen is None else staticmethod(seen)


class TensorShape:
    """The shape of a tensor: a size for each dimension, `None` where it is unknown; or of unknown rank.

    Args:
        dims: a sequence of sizes, one size, another shape, or None for unknown rank; or a message, as
            `as_proto` gives it.

    Raises:
        TypeError: for a dimension that is no integer.
        ValueError: for a negative dimension, or more dimensions than a tensor may have.

    >>> import penstock as tf
    >>> tf.TensorShape([2, None]).is_compatible_with([2, 5])
    True
    """

    __slots__ = ("_dims",)
    __match_args__ = ("dims",)

    _dims: tuple[int | None, ...] | None

    def __init__(self, dims: Any) -> None:
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "unknown_rank") and hasattr(dims, "dim"):
            sizes = [None if part.size == -1 else part.size for part in dims.dim]
            self._dims = None if dims.unknown_rank else _sizes(sizes)
        else:
            self._dims = _sizes(dims)

    @classmethod
    def _of(cls, dims: tuple[int | None, ...] | None) -> TensorShape:
        """The shape of sizes that the engine gives, which need no check."""
        shape = object.__new__(cls)
        shape._dims = dims
        return shape

    @property
    def dims(self) -> list[Dimension] | None:
        """A list of a `tf.compat.v1.Dimension` for each size, or None for unknown rank.

        `as_list()` gives ints and None.
        """
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The number of dimensions, or None."""
        return self.rank

    def as_list(self) -> list[int | None]:
        """List the sizes.

        Returns:
            The sizes; None for those that are not known.

        Raises:
            ValueError: for a shape of unknown rank.

        >>> import penstock as tf
        >>> tf.TensorShape([2, None]).as_list()
        [2, None]
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> TensorShapeProto:
        """Write the shape as a message.

        Returns:
            A message with a `dim` for each dimension, whose `size` is -1 where it is not known; or with
            `unknown_rank`.

        >>> import penstock as tf
        >>> proto = tf.TensorShape([2, None]).as_proto()
        >>> [dim.size for dim in proto.dim], tf.TensorShape(proto)
        ([2, -1], TensorShape([2, None]))
        """
        from penstock._runtime.protos import TensorShapeProto  # start-up does without it

        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        return TensorShapeProto(dim=[{"size": -1 if d is None else d} for d in self._dims])

    def num_elements(self) -> int | None:
        """Count the elements.

        Returns:
            The product of the sizes, or None where it is not known.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).num_elements()
        6
        """
        if self._dims is None:
            return None
        total = 1
        for d in self._dims:
            if d is None:
                return None
            total *= d
        return total

    def is_fully_defined(self) -> bool:
        """Tell whether rank and all sizes are known.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorShape([2, None]).is_fully_defined()
        False
        """
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raise unless rank and all sizes are known.

        Raises:
            ValueError: where one is not known.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).assert_is_fully_defined()
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Tell whether some concrete shape is described by both.

        Args:
            other: another shape, or what can be one.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorShape([2, None]).is_compatible_with([None, 3])
        True
        """
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raise unless some concrete shape is described by both.

        Args:
            other: another shape, or what can be one.

        Raises:
            ValueError: where there is none.

        >>> import penstock as tf
        >>> tf.TensorShape([2, None]).assert_is_compatible_with([None, 3])
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether every concrete shape of this one is one of `other`.

        Args:
            other: another shape, or what can be one.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).is_subtype_of(tf.TensorShape([2, None]))
        True
        """
        if not isinstance(other, TensorShape):
            return False
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims, strict=True))

    def most_specific_common_supertype(self, others: Iterable[object]) -> TensorShape | None:
        """Make the most specific shape that covers this one and others, as types of arguments.

        Args:
            others: other shapes.

        Returns:
            The shape; None where one of the others is no shape, or is of another rank.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).most_specific_common_supertype([tf.TensorShape([2, 4])])
        TensorShape([2, None])
        """
        found = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            if found._dims is not None and other._dims is not None and len(found._dims) != len(other._dims):
                return None
            found = found.most_specific_compatible_shape(other)
        return found

    def placeholder_value(self, placeholder_context: object) -> TensorShape:
        """Give what stands for the shape while a function is traced: the shape itself.

        Args:
            placeholder_context: accepted and ignored.

        Returns:
            The shape.

        >>> import penstock as tf
        >>> tf.TensorShape([2]).placeholder_value(None)
        TensorShape([2])
        """
        return self

    def cast(self, value: object, cast_context: object) -> object:
        """Convert a value to one of this type of arguments: the value itself.

        Args:
            value: a shape.
            cast_context: accepted and ignored.

        Returns:
            The value.

        >>> import penstock as tf
        >>> tf.TensorShape([2]).cast(tf.TensorShape([2]), None)
        TensorShape([2])
        """
        return value

    def flatten(self) -> list[Any]:
        """List the specifications of the tensors that a shape is taken apart into.

        Returns:
            An empty list.

        >>> import penstock as tf
        >>> tf.TensorShape([2]).flatten()
        []
        """
        return []

    def to_tensors(self, value: object) -> list[Any]:
        """List the tensors that a shape is taken apart into.

        Args:
            value: the shape.

        Returns:
            An empty list.

        >>> import penstock as tf
        >>> tf.TensorShape([2]).to_tensors(tf.TensorShape([2]))
        []
        """
        return []

    def from_tensors(self, tensors: object) -> TensorShape:
        """Give the shape, which is made of no tensors.

        Args:
            tensors: accepted and ignored.

        Returns:
            The shape.

        >>> import penstock as tf
        >>> tf.TensorShape([2]).from_tensors(iter([]))
        TensorShape([2])
        """
        return self

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Make the most specific shape that covers both.

        Args:
            other: another shape, or what can be one.

        Returns:
            The shape, with None for sizes that differ.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).most_specific_compatible_shape([2, 4])
        TensorShape([2, None])
        """
        other = TensorShape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims, strict=True)])

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Join what both say of the same tensor.

        Args:
            other: another shape, or what can be one.

        Returns:
            The shape.

        Raises:
            ValueError: where they contradict each other.

        >>> import penstock as tf
        >>> tf.TensorShape([2, None]).merge_with([None, 3])
        TensorShape([2, 3])
        """
        shape = TensorShape(other)
        self.assert_is_compatible_with(shape)
        if self._dims is None:
            return shape
        if shape._dims is None:
            return self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, shape._dims, strict=True)])

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Append the dimensions of another shape.

        Args:
            other: another shape, or what can be one.

        Returns:
            The shape.

        >>> import penstock as tf
        >>> tf.TensorShape([2]).concatenate([3])
        TensorShape([2, 3])
        """
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """Demand a rank.

        Args:
            rank: the number of dimensions.

        Returns:
            This shape, known to have `rank` dimensions.

        Raises:
            ValueError: where it has another rank.

        >>> import penstock as tf
        >>> tf.TensorShape(None).with_rank(2)
        TensorShape([None, None])
        """
        if self._dims is None:
            return TensorShape([None] * rank)
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Demand a least rank.

        Args:
            rank: the number of dimensions.

        Returns:
            This shape.

        Raises:
            ValueError: where it is known to have fewer dimensions.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).with_rank_at_least(1)
        TensorShape([2, 3])
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Demand a greatest rank.

        Args:
            rank: the number of dimensions.

        Returns:
            This shape.

        Raises:
            ValueError: where it is known to have more dimensions.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).with_rank_at_most(2)
        TensorShape([2, 3])
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise where the rank is known to be another.

        Args:
            rank: the number of dimensions.

        Raises:
            ValueError: where it is.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).assert_has_rank(2)
        """
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raise where both ranks are known and differ.

        Args:
            other: another shape, or what can be one.

        Raises:
            ValueError: where they do.

        >>> import penstock as tf
        >>> tf.TensorShape([2, 3]).assert_same_rank([4, 5])
        """
        other = TensorShape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"shapes {self} and {other} must have the same rank")

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("cannot iterate over a shape of unknown rank")
        if _Seen.size is not None:
            asker = sys._getframe(1)
            return iter([_Seen.size(size, asker) for size in self._dims])
        return iter(self._dims)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int | None: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | TensorShape | None:
        if isinstance(key, slice):
            return TensorShape(None if self._dims is None else self._dims[key])
        size = None if self._dims is None else self._dims[key]
        return size if _Seen.size is None else _Seen.size(size, sys._getframe(1))

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        unknown = "None" if _Seen.size is None else "?"
        texts = [unknown if size is None else str(size) for size in self._dims]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """Its sizes as a vector of `int32`, or of `int64` where one needs it; all of them must be known."""
        if not self.is_fully_defined():
            raise ValueError(f"cannot convert the partially known shape {self} to a tensor; use tf.shape")
        sizes = self.as_list()
        if dtype is None:
            dtype = _core.int32 if all(n is not None and n < 2**31 for n in sizes) else _core.int64
        return _core._to_tensor(sizes, dtype)

    def __reduce__(self) -> tuple[type[TensorShape], tuple[tuple[int | None, ...] | None]]:
        return TensorShape, (self._dims,)


class ArrayShape(tuple[int | None, ...]):
    """The shape of a tensor of `penstock.array_api`: the tuple of the standard, with `TensorShape`'s methods.

    >>> shape = ArrayShape((2, None))
    >>> shape == (2, None), shape.rank
    (True, 2)
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(TensorShape(tuple(self)), name)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int | None: ...
    @overload
    def __getitem__(self, key: slice) -> ArrayShape: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | ArrayShape | None:
        found = super().__getitem__(key)
        return ArrayShape(found) if isinstance(found, tuple) else found
