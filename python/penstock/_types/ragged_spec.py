"""`tf.RaggedTensorSpec`: what is known of a ragged tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec, TypeSpec

if TYPE_CHECKING:
    from penstock._values.ragged import RaggedTensor

__all__ = ["RaggedTensorSpec"]


def _with_inner(shape: Any, values: TensorShape, ragged_rank: int | None) -> TensorShape:
    """A shape of which the values' is known."""
    whole = TensorShape(shape)
    if values.rank is None:
        return whole
    rank = (
        ragged_rank if ragged_rank is not None else None if whole.rank is None else whole.rank - values.rank
    )
    if rank is None:
        return whole
    outer = whole[: rank + 1] if whole.rank is not None else TensorShape([None] * (rank + 1))
    implied = outer.concatenate(values[1:])
    if not whole.is_compatible_with(implied):
        raise ValueError(
            f"argument 'flat_values_spec' must have the inner extents of 'shape', {whole}, got {values}"
        )
    return whole.merge_with(implied)


class RaggedTensorSpec(TypeSpec):
    """The shape, dtype and ragged dimensions of a ragged tensor.

    Args:
        shape: sizes, `None` for ragged dimensions and for sizes that are not known; None for unknown rank.
        dtype: the element type.
        ragged_rank: the number of ragged dimensions, by default all but the first; 0 for tensors that are
            rows of a ragged one, so that stacking them makes a ragged tensor again.
        row_splits_dtype: `int32` or `int64`.
        flat_values_spec: what is known of the values, a `tf.TensorSpec`: `dtype` is its dtype or None, and
            its inner extents are those of `shape`.

    Raises:
        ValueError: where `ragged_rank` does not fit the rank, or is missing for an unknown one.

    >>> import penstock as tf
    >>> spec = tf.RaggedTensorSpec([None, None], tf.int32)
    >>> spec.is_compatible_with(tf.ragged.constant([[1, 2], [3]]))
    True
    """

    __module__ = "penstock"

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = _core.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = _core.int64,
        flat_values_spec: Any = None,
    ) -> None:
        if flat_values_spec is not None:
            expect(flat_values_spec, TensorSpec, "flat_values_spec", "a tf.TensorSpec")
            if dtype is not None and _core.DType(dtype) != flat_values_spec.dtype:
                raise ValueError(
                    f"argument 'dtype' must be that of 'flat_values_spec', {flat_values_spec.dtype.name}, "
                    f"or None, got {_core.DType(dtype).name}"
                )
            dtype = flat_values_spec.dtype
            shape = _with_inner(shape, flat_values_spec.shape, ragged_rank)
        self._shape = TensorShape(shape)
        self._dtype = _core.DType(dtype)
        self._row_splits_dtype = _core.DType(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("argument 'ragged_rank' must be given where the rank is not known")
            ragged_rank = rank - 1
        expect(ragged_rank, int, "ragged_rank", "an integer")
        if ragged_rank < 0 or (rank is not None and ragged_rank >= max(rank, 1)):
            raise ValueError(
                "argument 'ragged_rank' must not be negative, and below the rank, "
                f"got {ragged_rank} for {self._shape}"
            )
        self._ragged_rank = ragged_rank

    @property
    def shape(self) -> TensorShape:
        """The shape, `None` for ragged dimensions."""
        return self._shape

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._dtype

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> _core.DType:
        """The dtype of the splits."""
        return self._row_splits_dtype

    @property
    def value_type(self) -> type:
        """`tf.RaggedTensor`; `tf.Tensor` where no dimension is ragged."""
        if not self._ragged_rank:
            return _core.Tensor
        from penstock._values.ragged import RaggedTensor  # the values build on this

        return RaggedTensor

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """Make the specification of a ragged tensor.

        Args:
            value: the ragged tensor.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.RaggedTensorSpec.from_value(tf.ragged.constant([[1], [2, 3]])).ragged_rank
        1
        """
        from penstock._values.ragged import RaggedTensor  # the values build on this

        found: RaggedTensor = expect(value, RaggedTensor, "value", "a RaggedTensor")
        return found._type_spec

    def flatten(self) -> list[TensorSpec]:
        """List the specifications of the flat values and of the splits, outermost first.

        Returns:
            The specifications.

        >>> import penstock as tf
        >>> [spec.shape.as_list() for spec in tf.RaggedTensorSpec([2, None]).flatten()]
        [[None], [3]]
        """
        if not self._ragged_rank:
            return [TensorSpec(self._shape, self._dtype)]
        dims = self._shape._dims
        flat = TensorShape(None) if dims is None else TensorShape([None, *dims[self._ragged_rank + 1 :]])
        outer = None if dims is None or dims[0] is None else dims[0] + 1
        lengths = [outer, *[None] * (self._ragged_rank - 1)]
        return [TensorSpec(flat, self._dtype), *(TensorSpec([n], self._row_splits_dtype) for n in lengths)]

    def to_tensors(self, value: RaggedTensor) -> list[Any]:
        """List the flat values and the splits of a ragged tensor.

        Args:
            value: the ragged tensor.

        Returns:
            The tensors, in the order of `flatten`.

        >>> import penstock as tf
        >>> rows = tf.ragged.constant([[1], [2, 3]])
        >>> [t.numpy().tolist() for t in tf.RaggedTensorSpec.from_value(rows).to_tensors(rows)]
        [[1, 2, 3], [0, 1, 3]]
        """
        return value._parts() if self._ragged_rank else [value]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Make the ragged tensor that has these flat values and splits.

        Args:
            tensors: gives the tensors.

        Returns:
            The ragged tensor.

        >>> import penstock as tf
        >>> spec = tf.RaggedTensorSpec([2, None], tf.int32)
        >>> splits = tf.constant([0, 1, 3], tf.int64)
        >>> spec.from_tensors(iter([tf.constant([1, 2, 3]), splits])).to_list()
        [[1], [2, 3]]
        """
        from penstock._values.ragged import spec_value  # the values build on this

        return spec_value(self, tensors)

    def _row_spec(self) -> TensorSpec | RaggedTensorSpec:
        shape = self._shape if self._shape._dims is None else TensorShape(self._shape._dims[1:])
        if self._ragged_rank == 0:
            return TensorSpec(shape, self._dtype)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank - 1, self._row_splits_dtype)

    def _stacked_spec(self, size: int | None) -> RaggedTensorSpec:
        shape = self._shape if self._shape._dims is None else TensorShape([size, *self._shape._dims])
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1, self._row_splits_dtype)

    def _stack(self, values: Sequence[Any]) -> RaggedTensor:
        """Values of this specification as one."""
        from penstock._values.ragged import stacked  # the values build on this

        return stacked(values, self._ragged_rank + 1, self._row_splits_dtype)

    def _fixed(self) -> tuple[Any, ...]:
        return self._dtype, self._ragged_rank, self._row_splits_dtype

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Tell whether a ragged tensor, or some one of another specification, is described by this one.

        Args:
            spec_or_value: a `tf.RaggedTensor` or a specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.RaggedTensorSpec([2, None], tf.int32).is_compatible_with(tf.ragged.constant([[1], [2, 3]]))
        True
        """
        other = getattr(spec_or_value, "_type_spec", spec_or_value)
        if isinstance(other, _core.Tensor | TensorSpec):
            return not self._ragged_rank and self.flatten()[0].is_compatible_with(other)
        return (
            isinstance(other, RaggedTensorSpec)
            and self._fixed() == other._fixed()
            and self._shape.is_compatible_with(other._shape)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Tell whether every ragged tensor of this specification is one of `other`.

        Args:
            other: another specification.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.RaggedTensorSpec([2, None]).is_subtype_of(tf.RaggedTensorSpec([None, None]))
        True
        """
        return (
            isinstance(other, RaggedTensorSpec)
            and self._fixed() == other._fixed()
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Iterable[object]) -> RaggedTensorSpec | None:
        """Make the most specific specification that covers this one and others.

        Args:
            others: other specifications.

        Returns:
            The specification, or None where there is none.

        >>> import penstock as tf
        >>> spec = tf.RaggedTensorSpec([2, None])
        >>> spec.most_specific_common_supertype([tf.RaggedTensorSpec([3, None])]).shape
        TensorShape([None, None])
        """
        shape = self._shape
        for other in others:
            if not isinstance(other, RaggedTensorSpec) or self._fixed() != other._fixed():
                return None
            shape = shape.most_specific_compatible_shape(other._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RaggedTensorSpec)
            and self._fixed() == other._fixed()
            and self._shape == other._shape
        )

    def __hash__(self) -> int:
        return hash((*self._fixed(), self._shape))

    def __repr__(self) -> str:
        splits = self._row_splits_dtype
        return f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, {splits!r})"
