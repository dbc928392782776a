"""`tf.SparseTensorSpec`: what is known of a sparse tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec, TypeSpec
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike
    from penstock._values.sparse import SparseTensor

__all__ = ["SparseTensorSpec"]


class SparseTensorSpec(TypeSpec):
    """The shape and dtype of a sparse tensor.

    Args:
        shape: sizes, `None` for those that are unknown; None for unknown rank.
        dtype: the element type.

    >>> import penstock as tf
    >>> tf.SparseTensorSpec([None, 3], tf.int32).is_compatible_with(tf.sparse.from_dense([[0, 1, 0]]))
    True
    """

    __module__ = "penstock"

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = _core.float32) -> None:
        self._shape = TensorShape(shape)
        self._dtype = _core.DType(dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._dtype

    @property
    def value_type(self) -> type:
        """`tf.SparseTensor`."""
        from penstock._values.sparse import SparseTensor  # the values build on this

        return SparseTensor

    @classmethod
    def from_value(cls, value: SparseTensor) -> SparseTensorSpec:
        """Make the specification of a sparse tensor.

        Args:
            value: the sparse tensor.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.SparseTensorSpec.from_value(tf.sparse.from_dense([[0, 1]])).shape
        TensorShape([1, 2])
        """
        from penstock._values.sparse import SparseTensor  # the values build on this

        found: SparseTensor = expect(value, SparseTensor, "value", "a SparseTensor")
        return found._type_spec

    def flatten(self) -> list[TensorSpec]:
        """List the specifications of the indices, the values and the extents.

        Returns:
            The specifications.

        >>> import penstock as tf
        >>> [spec.shape.as_list() for spec in tf.SparseTensorSpec([2, 3]).flatten()]
        [[None, 2], [None], [2]]
        """
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], _core.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], _core.int64),
        ]

    def to_tensors(self, value: SparseTensor) -> list[Any]:
        """List the indices, the values and the extents of a sparse tensor.

        Args:
            value: the sparse tensor.

        Returns:
            The tensors, in the order of `flatten`.

        >>> import penstock as tf
        >>> x = tf.sparse.from_dense([[0, 1]])
        >>> [t.numpy().tolist() for t in tf.SparseTensorSpec.from_value(x).to_tensors(x)]
        [[[0, 1]], [1], [1, 2]]
        """
        return [value.indices, value.values, value.dense_shape]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Make the sparse tensor that has these indices, values and extents.

        Args:
            tensors: gives the tensors.

        Returns:
            The sparse tensor.

        >>> import penstock as tf
        >>> x = tf.sparse.from_dense([[0, 1]])
        >>> spec = tf.SparseTensorSpec.from_value(x)
        >>> tf.sparse.to_dense(spec.from_tensors(iter(spec.to_tensors(x)))).numpy().tolist()
        [[0, 1]]
        """
        from penstock._values.sparse import spec_value  # the values build on this

        return spec_value(self, tensors)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Tell whether a sparse tensor, or some one of another specification, is described by this one.

        Args:
            spec_or_value: a `tf.SparseTensor` or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.SparseTensorSpec([None, 2]).is_compatible_with(tf.SparseTensorSpec([3, None]))
        True
        """
        other = getattr(spec_or_value, "_type_spec", spec_or_value)
        return (
            isinstance(other, SparseTensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_compatible_with(other._shape)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether every sparse tensor of this specification is one of `other`.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.SparseTensorSpec([2, 3]).is_subtype_of(tf.SparseTensorSpec([None, 3]))
        True
        """
        return (
            isinstance(other, SparseTensorSpec)
            and self._dtype == other._dtype
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Iterable[object]) -> SparseTensorSpec | None:
        """Make the most specific specification that covers this one and others.

        Args:
            others: other specifications.

        Returns:
            The specification, or None where there is none.

        >>> import penstock as tf
        >>> tf.SparseTensorSpec([2, 3]).most_specific_common_supertype([tf.SparseTensorSpec([4, 3])]).shape
        TensorShape([None, 3])
        """
        shape = self._shape
        for other in others:
            if not isinstance(other, SparseTensorSpec) or self._dtype != other._dtype:
                return None
            shape = shape.most_specific_compatible_shape(other._shape)
        return SparseTensorSpec(shape, self._dtype)

    def _row_spec(self) -> SparseTensorSpec:
        dims = self._shape._dims
        if dims == ():
            raise ValueError("a sparse scalar has no rows")
        return SparseTensorSpec(None if dims is None else dims[1:], self._dtype)

    def _stacked_spec(self, size: int | None) -> SparseTensorSpec:
        dims = self._shape._dims
        return SparseTensorSpec(None if dims is None else [size, *dims], self._dtype)

    def _stack(self, values: Sequence[SparseTensor]) -> SparseTensor:
        """Values of this specification as one."""
        from penstock._ops.sparse_layout import concat, expand_dims  # operations build on this

        if len({tuple(value.shape.as_list()) for value in values}) > 1:
            raise InvalidArgumentError(
                f"sparse tensors of different shapes cannot be stacked: {values[0].shape} and "
                f"{next(v.shape for v in values if v.shape != values[0].shape)}"
            )
        return concat(0, [expand_dims(value, 0) for value in values])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SparseTensorSpec)
            and self._dtype == other._dtype
            and self._shape == other._shape
        )

    def __hash__(self) -> int:
        return hash((self._dtype, self._shape))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"
