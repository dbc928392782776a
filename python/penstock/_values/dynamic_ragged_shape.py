"""`tf.experimental.DynamicRaggedShape`: the shape of a tensor or of a ragged one, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import require
from penstock._types.shape import TensorShape
from penstock._types.specs import Composite, TensorSpec, TypeSpec
from penstock._values.ragged import RaggedTensor
from penstock._values.row_partition import RowPartition, RowPartitionSpec
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = ["DynamicRaggedShape", "DynamicRaggedShapeSpec"]


def _known_sizes(vector: Any) -> TensorShape:
    """What is known of the sizes in a vector."""
    known = _core._known_value(vector)
    if known is not None:
        return TensorShape(known.numpy().tolist())
    count = vector.shape[0] if vector.shape.rank == 1 else None
    return TensorShape(None if count is None else [None] * count)


def _merged(a: Any, b: Any) -> TensorShape:
    merged: TensorShape = TensorShape(a).merge_with(TensorShape(b))
    return merged


class DynamicRaggedShapeSpec(TypeSpec):
    """What is known of a shape.

    Args:
        row_partitions: what is known of each partition into rows.
        static_inner_shape: what is known of the shape of the values within them.
        dtype: `int32` or `int64`.

    Raises:
        TypeError: for partitions that are none.
        ValueError: for partitions of another dtype, or values of rank 0 behind partitions.

    >>> import penstock as tf
    >>> spec = tf.experimental.DynamicRaggedShape.Spec([], [2, None], tf.int64)
    >>> spec.rank, spec.num_row_partitions
    (2, 0)
    """

    __slots__ = ("_dtype", "_inner", "_partitions")

    def __init__(
        self,
        row_partitions: Iterable[RowPartitionSpec],
        static_inner_shape: ShapeLike,
        dtype: DTypeLike,
    ) -> None:
        self._partitions = tuple(row_partitions)
        self._inner = TensorShape(static_inner_shape)
        self._dtype = _core.DType(dtype)
        for spec in self._partitions:
            if not isinstance(spec, RowPartitionSpec):
                raise TypeError(f"argument 'row_partitions' must hold RowPartitionSpecs, got {spec!r}")
            if spec.dtype != self._dtype:
                raise DTypeError(
                    f"argument 'row_partitions' must be {self._dtype.name} as 'dtype', got {spec.dtype.name}"
                )
        if self._partitions and self._inner.rank == 0:
            raise InvalidArgumentError(
                "argument 'static_inner_shape' must have a dimension behind partitions"
            )

    @classmethod
    def from_value(cls, value: DynamicRaggedShape) -> DynamicRaggedShapeSpec:
        """Make the specification of a shape.

        Args:
            value: the shape.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> Shape = tf.experimental.DynamicRaggedShape
        >>> Shape.Spec.from_value(Shape.from_lengths([2, 3])).rank
        2
        """
        return value._type_spec

    @property
    def dtype(self) -> _core.DType:
        """`int32` or `int64`."""
        return self._dtype

    @property
    def inner_rank(self) -> int | None:
        """The rank of the values within the rows."""
        return self._inner.rank

    @property
    def num_row_partitions(self) -> int:
        """The number of partitions into rows."""
        return len(self._partitions)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._inner.rank is None else self._inner.rank + len(self._partitions)

    @property
    def row_partitions(self) -> tuple[RowPartitionSpec, ...]:
        """What is known of each partition into rows."""
        return self._partitions

    @property
    def static_inner_shape(self) -> TensorShape:
        """What is known of the shape of the values within the rows."""
        return self._inner

    @property
    def value_type(self) -> type[DynamicRaggedShape]:
        """`tf.experimental.DynamicRaggedShape`."""
        return DynamicRaggedShape

    def with_dtype(self, dtype: DTypeLike) -> DynamicRaggedShapeSpec:
        """Make the specification of the same shapes in another dtype.

        Args:
            dtype: `int32` or `int64`.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> tf.experimental.DynamicRaggedShape.Spec([], [2], tf.int64).with_dtype(tf.int32).dtype
        tf.int32
        """
        partitions = [
            RowPartitionSpec(s.nrows, s.nvals, s.uniform_row_length, dtype) for s in self._partitions
        ]
        return DynamicRaggedShapeSpec(partitions, self._inner, dtype)

    def flatten(self) -> list[TensorSpec]:
        """The specifications of the sizes of the values, and of the splits of each partition."""
        parts = [part for spec in self._partitions for part in spec.flatten()]
        return [TensorSpec([self._inner.rank], self._dtype), *parts]

    def to_tensors(self, value: DynamicRaggedShape) -> list[Any]:
        """The sizes of the values, and the splits of each partition."""
        return [value._inner, *(partition._splits for partition in value._partitions)]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """The shape that has the next of the tensors."""
        made = DynamicRaggedShape.__new__(DynamicRaggedShape)
        made._inner, made._static = next(tensors), self._inner
        made._partitions = tuple(spec.from_tensors(tensors) for spec in self._partitions)
        return made

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a shape, or some one of another specification, is described by this one."""
        other = getattr(spec_or_value, "_type_spec", spec_or_value)
        return (
            isinstance(other, DynamicRaggedShapeSpec)
            and self._dtype == other._dtype
            and len(self._partitions) == len(other._partitions)
            and self._inner.is_compatible_with(other._inner)
            and all(a.is_compatible_with(b) for a, b in zip(self._partitions, other._partitions, strict=True))
        )

    def __repr__(self) -> str:
        return (
            f"DynamicRaggedShape.Spec(row_partitions={self._partitions!r}, "
            f"static_inner_shape={self._inner!r}, dtype={self._dtype!r})"
        )


class DynamicRaggedShape(Composite):
    """The shape of a tensor, or of a ragged one.

    It has a partition into rows for each ragged dimension, and perhaps for uniform ones, and the shape of the
    values within the innermost rows. Of a tensor it has no partitions.

    Args:
        row_partitions: the partitions into rows, outermost first.
        inner_shape: the sizes of the values; the first is the number of values of the last partition.
        dtype: `int32` or `int64`, by default that of the arguments, or `int64`.
        validate: whether to check what is known only when a graph runs.
        static_inner_shape: what is known of `inner_shape` besides.

    Raises:
        TypeError: for partitions that are none.
        ValueError: where the partitions are known not to fit each other.
        InvalidArgumentError: with `validate`, where it turns out that they do not.

    >>> import penstock as tf
    >>> shape = tf.experimental.DynamicRaggedShape.from_tensor(tf.ragged.constant([[1, 2], [], [3]]))
    >>> shape
    <DynamicRaggedShape lengths=[3, (2, 0, 1)] num_row_partitions=1>
    """

    __slots__ = ("__weakref__", "_inner", "_partitions", "_static")

    Spec = DynamicRaggedShapeSpec

    def __init__(
        self,
        row_partitions: Sequence[RowPartition],
        inner_shape: TensorLike,
        dtype: DTypeLike | None = None,
        validate: bool = False,
        static_inner_shape: ShapeLike = None,
    ) -> None:
        if not isinstance(row_partitions, Iterable):
            raise TypeError(f"argument 'row_partitions' must be a list, got {row_partitions!r}")
        partitions = tuple(row_partitions)
        for partition in partitions:
            if not isinstance(partition, RowPartition):
                raise TypeError(f"argument 'row_partitions' must hold RowPartitions, got {partition!r}")
        if dtype is None:
            found = {p.dtype for p in partitions}
            if isinstance(inner_shape, _core.Tensor) or getattr(inner_shape, "dtype", None) is not None:
                found.add(_core.DType(inner_shape.dtype))  # type: ignore[union-attr]
            dtype = _core.int64 if not found or _core.int64 in found else _core.int32
        kind = _core.DType(dtype)
        if kind not in (_core.int32, _core.int64):
            raise InvalidArgumentError(f"argument 'dtype' must be int32 or int64, got {kind.name}")
        self._partitions = tuple(p if p.dtype == kind else p.with_dtype(kind) for p in partitions)
        sizes = _core._to_tensor_hinted(inner_shape, kind)
        if sizes.shape.rank not in (1, None):
            raise InvalidArgumentError(f"argument 'inner_shape' must be a vector, got shape {sizes.shape}")
        self._inner: Any = sizes if sizes.dtype == kind else raw_ops.cast(sizes, dtype=kind)
        self._static = _merged(_known_sizes(self._inner), static_inner_shape)
        self._check(validate)

    def _check(self, validate: bool) -> None:
        """Raises where consecutive partitions do not fit."""
        if self._partitions and self._static.rank == 0:
            raise InvalidArgumentError("argument 'inner_shape' must have a dimension behind partitions")
        counts: list[tuple[int | None, Any]] = [(p.static_nrows, p.nrows()) for p in self._partitions[1:]]
        if self._partitions:
            counts.append((None if self._static.rank is None else self._static[0], self._inner[0]))
        message = "argument 'row_partitions' must have as many values each as the next one has rows"
        for partition, (known, count) in zip(self._partitions, counts, strict=True):
            values = partition.static_nvals
            if known is not None and values is not None:
                if known != values:
                    raise InvalidArgumentError(f"{message}, got {values} and {known}")
            elif validate:
                require(raw_ops.equal(partition.nvals(), count), message, partition.nvals(), count)

    @classmethod
    def from_lengths(
        cls,
        lengths: Sequence[Sequence[int] | int],
        num_row_partitions: int | None = None,
        dtype: DTypeLike = _core.int64,
    ) -> DynamicRaggedShape:
        """Make a shape of the lengths in each dimension.

        Args:
            lengths: for each dimension its size, or a tuple of the length of each row.
            num_row_partitions: how many partitions there are; by default as many as the lengths need.
            dtype: `int32` or `int64`.

        Returns:
            The shape.

        Raises:
            ValueError: where the rows are not as many as the dimension before has places, or the first
                dimension is a tuple, or there are more partitions than dimensions behind the first.

        >>> import penstock as tf
        >>> tf.experimental.DynamicRaggedShape.from_lengths([2, (3, 2), 5]).inner_shape.numpy().tolist()
        [5, 5]
        """
        if not isinstance(lengths, list):
            raise InvalidArgumentError(f"argument 'lengths' must be a list, got {lengths!r}")
        for length in lengths:
            whole = isinstance(length, int) and not isinstance(length, bool)
            if not whole and not (isinstance(length, tuple) and all(isinstance(n, int) for n in length)):
                raise InvalidArgumentError(
                    f"argument 'lengths' must hold integers and tuples of them, got {length!r}"
                )
        needed = max((i for i, length in enumerate(lengths) if isinstance(length, tuple)), default=0)
        count = needed if num_row_partitions is None else num_row_partitions
        if not isinstance(count, int):
            raise InvalidArgumentError(f"argument 'num_row_partitions' must be an integer, got {count!r}")
        most = max(len(lengths) - 1, 0)
        if not needed <= count <= most:
            raise InvalidArgumentError(
                f"argument 'num_row_partitions' must be from {needed} to {most}, got {count}"
            )
        if lengths and isinstance(lengths[0], tuple):
            raise InvalidArgumentError("argument 'lengths' must begin with the number of rows, an integer")
        partitions: list[RowPartition] = []
        values: Any = lengths[0] if lengths else None
        for length in lengths[1 : count + 1]:
            if isinstance(length, tuple):
                if len(length) != values:
                    raise InvalidArgumentError(
                        f"argument 'lengths' must have {values} rows behind that many places, got {length}"
                    )
                partitions.append(RowPartition.from_row_lengths(list(length), dtype=dtype))
                values = sum(length)
            else:
                whole = values * length
                partitions.append(
                    RowPartition.from_uniform_row_length(length, nvals=whole, nrows=values, dtype=dtype)
                )
                values = whole
        inner = [values, *lengths[count + 1 :]] if count else lengths
        return cls(partitions, _core._to_tensor(inner, _core.DType(dtype)), dtype)

    @classmethod
    def from_row_partitions(
        cls, row_partitions: Sequence[RowPartition], dtype: DTypeLike | None = None
    ) -> DynamicRaggedShape:
        """Make a shape whose values are scalars.

        Args:
            row_partitions: the partitions into rows, at least one.
            dtype: `int32` or `int64`, by default that of the partitions.

        Returns:
            The shape.

        Raises:
            ValueError: where there are no partitions.

        >>> import penstock as tf
        >>> partition = tf.experimental.RowPartition.from_row_lengths([2, 1])
        >>> tf.experimental.DynamicRaggedShape.from_row_partitions([partition]).rank
        2
        """
        if not row_partitions:
            raise InvalidArgumentError("argument 'row_partitions' must not be empty")
        return cls(row_partitions, raw_ops.reshape(row_partitions[-1].nvals(), [1]), dtype)

    @classmethod
    def from_tensor(
        cls, t: TensorLike | RaggedTensor | DynamicRaggedShape, dtype: DTypeLike | None = None
    ) -> DynamicRaggedShape:
        """Make the shape of a tensor, ragged or not.

        Args:
            t: the tensor.
            dtype: `int32` or `int64`; by default that of the splits, or `int32` for a tensor.

        Returns:
            The shape.

        >>> import penstock as tf
        >>> tf.experimental.DynamicRaggedShape.from_tensor([[1, 2]]).static_lengths()
        [1, 2]
        """
        kind = None if dtype is None else _core.DType(dtype)
        if isinstance(t, RaggedTensor):
            partitions: list[RowPartition] = []
            level: Any = t
            while isinstance(level, RaggedTensor):
                partitions.append(RowPartition(level.row_splits, uniform_row_length=level._uniform))
                level = level.values
            own = t.row_splits.dtype if kind is None else kind
            inner = raw_ops.shape(level, dtype=own)
            return cls(partitions, inner, own, static_inner_shape=level.shape)
        x = _core._to_tensor(t)
        kind = _core.int32 if kind is None else kind
        return cls([], raw_ops.shape(x, dtype=kind), kind, static_inner_shape=x.shape)

    # --- what it says ---

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """The partitions into rows, outermost first."""
        return self._partitions

    @property
    def num_row_partitions(self) -> int:
        """The number of partitions into rows."""
        return len(self._partitions)

    @property
    def dtype(self) -> _core.DType:
        """`int32` or `int64`."""
        return self._inner.dtype  # type: ignore[no-any-return]

    @property
    def inner_shape(self) -> _core.Tensor:
        """The sizes of the values within the rows."""
        made: _core.Tensor = self._inner
        return made

    @property
    def inner_rank(self) -> int | None:
        """The rank of the values within the rows."""
        return self._static.rank

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._static.rank is None else self._static.rank + len(self._partitions)

    @property
    def static_inner_shape(self) -> TensorShape:
        """What is known of the shape of the values within the rows."""
        return self._static

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """List what is known of the lengths in each dimension.

        Args:
            ragged_lengths: whether the lengths of rows are listed, too.

        Returns:
            For each dimension its size, a tuple of the lengths of rows, or None; `...` at the end stands for
            dimensions whose number is not known.

        >>> import penstock as tf
        >>> shape = tf.experimental.DynamicRaggedShape.from_lengths([2, (3, 2), 5])
        >>> shape.static_lengths(), shape.static_lengths(ragged_lengths=False)
        ([2, (3, 2), 5], [2, None, 5])
        """
        inner: list[Any] = [...] if self._static.rank is None else self._static.as_list()
        if not self._partitions:
            return inner
        found: list[Any] = [self._partitions[0].static_nrows]
        for partition in self._partitions:
            if partition.is_uniform():
                found.append(partition.static_uniform_row_length)
                continue
            known = _core._known_value(partition.row_splits()) if ragged_lengths else None
            found.append(None if known is None else tuple((known.numpy()[1:] - known.numpy()[:-1]).tolist()))
        return found + (inner if self._static.rank is None else inner[1:])

    def is_uniform(self, axis: int) -> bool:
        """Tell whether a dimension has one size.

        Args:
            axis: the dimension, not negative.

        Returns:
            Whether it is so.

        Raises:
            TypeError: for an axis that is no integer.
            IndexError: where it is out of range.

        >>> import penstock as tf
        >>> shape = tf.experimental.DynamicRaggedShape.from_lengths([2, (3, 2), 5])
        >>> [shape.is_uniform(i) for i in range(3)]
        [True, False, True]
        """
        if not isinstance(axis, int):
            raise TypeError(f"argument 'axis' must be an integer, got {axis!r}")
        rank = self.rank
        if axis < 0 or (rank is not None and axis >= rank):
            raise IndexError(f"argument 'axis' must not be negative, and below {rank}, got {axis}")
        return not 0 < axis <= len(self._partitions) or self._partitions[axis - 1].is_uniform()

    def with_dtype(self, dtype: DTypeLike) -> DynamicRaggedShape:
        """Make the same shape in another dtype.

        Args:
            dtype: `int32` or `int64`.

        Returns:
            The shape.

        >>> import penstock as tf
        >>> tf.experimental.DynamicRaggedShape.from_lengths([2]).with_dtype(tf.int32).dtype
        tf.int32
        """
        partitions = [p.with_dtype(dtype) for p in self._partitions]
        inner = raw_ops.cast(self._inner, dtype=_core.DType(dtype))
        return DynamicRaggedShape(partitions, inner, dtype, static_inner_shape=self._static)

    def _size(self, axis: int) -> Any:
        """The size of a dimension."""
        if axis == 0:
            return self._partitions[0].nrows() if self._partitions else self._inner[0]
        if axis <= len(self._partitions):
            size = self._partitions[axis - 1].uniform_row_length()
            if size is None:
                raise InvalidArgumentError(f"dimension {axis} is ragged, and has no one size")
            return size
        return self._inner[axis - len(self._partitions)]

    def __getitem__(self, index: Any) -> Any:
        """The size of a dimension, or the shape of some of the dimensions.

        Raises:
            ValueError: for the size of a ragged dimension, or a part with one that does not begin at 0.
            IndexError: for a dimension that there is not.

        >>> import penstock as tf
        >>> shape = tf.experimental.DynamicRaggedShape.from_lengths([2, (3, 2), 5])
        >>> int(shape[2]), shape[:2].static_lengths()
        (5, [2, (3, 2)])
        """
        rank = self.rank
        if isinstance(index, slice):
            if rank is None:
                raise InvalidArgumentError("a part of a shape of unknown rank is not known")
            start, stop, step = index.indices(rank)
            if step != 1:
                raise IndexError(f"parts of a shape are taken without steps, got {index}")
            stop = max(start, stop)
            if start == 0 and stop == rank:
                return self
            if start == 0:
                return self._beginning(stop)
            sizes = [self._size(axis) for axis in range(start, stop)]
            inner = raw_ops.stack(sizes) if sizes else _core._to_tensor([], self.dtype)
            static = self.static_lengths(ragged_lengths=False)[start:stop]
            return DynamicRaggedShape([], inner, self.dtype, static_inner_shape=static)
        if not isinstance(index, int):
            raise TypeError(f"a dimension of a shape is an integer or a slice, got {index!r}")
        if index < 0:
            if rank is None:
                raise InvalidArgumentError("a shape of unknown rank has no last dimension")
            index += rank
        if index < 0 or (rank is not None and index >= rank):
            raise IndexError(f"a shape of rank {rank} has no dimension {index}")
        return self._size(index)

    def _beginning(self, count: int) -> DynamicRaggedShape:
        """The shape of the first dimensions."""
        if count <= len(self._partitions):
            kept = self._partitions[: max(count - 1, 0)]
            if count == 0:
                return DynamicRaggedShape([], _core._to_tensor([], self.dtype), self.dtype)
            inner = raw_ops.reshape(kept[-1].nvals() if kept else self._partitions[0].nrows(), [1])
            return DynamicRaggedShape(kept, inner, self.dtype)
        inner = self._inner[: count - len(self._partitions)]
        static = self._static[: count - len(self._partitions)]
        return DynamicRaggedShape(self._partitions, inner, self.dtype, static_inner_shape=static)

    def _num_elements(self) -> _core.Tensor:
        """Count the elements of a tensor of the shape.

        Returns:
            A scalar.

        >>> import penstock as tf
        >>> int(tf.experimental.DynamicRaggedShape.from_lengths([2, (3, 2), 5])._num_elements())
        25
        """
        return raw_ops.reduce_prod(self._inner)

    def _rows_of(self, flat: Any) -> Any:
        """Put values, of which the first dimension is that of `inner_shape`, into the rows.

        Args:
            flat: the values.

        Returns:
            A ragged tensor; the values where there are no partitions.

        >>> import penstock as tf
        >>> shape = tf.experimental.DynamicRaggedShape.from_lengths([2, (2, 1)])
        >>> shape._rows_of(tf.constant([1, 2, 3])).to_list()
        [[1, 2], [3]]
        """
        made = flat
        for partition in reversed(self._partitions):
            made = RaggedTensor(made, partition.row_splits(), partition.static_uniform_row_length)
        return made

    def _filled(self, value: TensorLike) -> Any:
        """Make a tensor of the shape with one value.

        Args:
            value: a scalar.

        Returns:
            A ragged tensor; a tensor where there are no partitions.

        >>> import penstock as tf
        >>> tf.experimental.DynamicRaggedShape.from_lengths([2, (2, 1)])._filled(7).to_list()
        [[7, 7], [7]]
        """
        flat = raw_ops.fill(self._inner, _core._to_tensor(value))
        return self._rows_of(
            raw_ops.ensure_shape(flat, shape=self._static._dims) if self._static._dims else flat
        )

    def __eq__(self, other: object) -> Any:
        """Whether another shape says the same, as far as both are known."""
        if not isinstance(other, DynamicRaggedShape):
            return NotImplemented
        if len(self._partitions) != len(other._partitions) or self.rank != other.rank:
            return False
        parts = zip(self._parts(), other._parts(), strict=True)
        return all(a is b or _same(a, b) for a, b in parts)

    def __hash__(self) -> int:
        return hash((len(self._partitions), self.rank))

    @property
    def _type_spec(self) -> DynamicRaggedShapeSpec:
        return DynamicRaggedShapeSpec([p._type_spec for p in self._partitions], self._static, self.dtype)

    def __tf_tracing_type__(self, context: Any) -> DynamicRaggedShapeSpec:
        """The specification of the shape."""
        return self._type_spec

    def __repr__(self) -> str:
        # Parts may be specifications, too: in the structured outputs of a trace.
        held = all(isinstance(partition.row_splits(), _core.Tensor) for partition in self._partitions)
        lengths = ", ".join("..." if n is ... else str(n) for n in self.static_lengths(held))
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={len(self._partitions)}>"


def _same(a: Any, b: Any) -> bool:
    known = [_core._known_value(x) for x in (a, b)]
    if known[0] is None or known[1] is None:
        return False
    return bool(known[0].numpy().tolist() == known[1].numpy().tolist())
