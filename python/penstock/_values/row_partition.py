"""`tf.experimental.RowPartition`: where the rows of a ragged dimension begin and end, without values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._types.argument_names import expect
from penstock._types.specs import Composite, TensorSpec, TypeSpec
from penstock._values.ragged import RaggedTensor
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = ["RowPartition", "RowPartitionSpec"]


class RowPartition(Composite):
    """How a sequence of values is cut into rows.

    Made by the `from_` methods; the constructor takes what is known to fit.

    Args:
        row_splits: where each row begins, and the number of values.
        row_lengths: accepted and ignored, as it follows from `row_splits`.
        value_rowids: accepted and ignored, for the same reason.
        nrows: accepted and ignored, for the same reason.
        uniform_row_length: the length of all rows, where it is known to be one.
        nvals: accepted and ignored, as it follows from `row_splits`.
        internal: accepted and ignored.

    >>> import penstock as tf
    >>> partition = tf.experimental.RowPartition.from_row_lengths([2, 0, 3])
    >>> partition.row_splits().numpy().tolist(), int(partition.nvals())
    ([0, 2, 2, 5], 5)
    """

    __slots__ = ("__weakref__", "_splits", "_uniform")

    def __init__(
        self,
        row_splits: TensorLike,
        row_lengths: object = None,
        value_rowids: object = None,
        nrows: object = None,
        uniform_row_length: int | None = None,
        nvals: object = None,
        internal: object = None,
    ) -> None:
        splits: Any = expect(row_splits, _core.Tensor, "row_splits", "a tensor")
        if splits.dtype not in (_core.int32, _core.int64) or splits.shape.rank not in (None, 1):
            raise DTypeError(
                f"argument 'row_splits' must be an integer vector, got {splits.dtype.name}{splits.shape}"
            )
        self._splits = splits
        self._uniform = uniform_row_length

    @classmethod
    def _of(cls, rows: RaggedTensor) -> RowPartition:
        return cls(rows.row_splits, uniform_row_length=rows._uniform)

    @classmethod
    def from_row_splits(
        cls,
        row_splits: TensorLike,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition of where each row begins, and the number of values.

        Args:
            row_splits: an integer vector that begins with 0 and does not descend.
            validate: whether to check that.
            dtype: `int32` or `int64`, by default that of the argument.
            dtype_hint: the dtype of Python's integers, by default `int64`.

        Returns:
            The partition.

        Raises:
            InvalidArgumentError: where the splits are not that.

        >>> import penstock as tf
        >>> int(tf.experimental.RowPartition.from_row_splits([0, 2, 5]).nrows())
        2
        """
        splits = _numbers(row_splits, dtype, dtype_hint)
        return cls._of(RaggedTensor.from_row_splits(_values_up_to(splits[-1]), splits, validate=validate))

    @classmethod
    def from_row_lengths(
        cls,
        row_lengths: TensorLike,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition of the lengths of rows.

        Args:
            row_lengths: an integer vector without negative elements.
            validate: whether to check that.
            dtype: `int32` or `int64`, by default that of the argument.
            dtype_hint: the dtype of Python's integers, by default `int64`.

        Returns:
            The partition.

        Raises:
            InvalidArgumentError: for a negative length.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 3]).value_rowids().numpy().tolist()
        [0, 0, 1, 1, 1]
        """
        lengths = _numbers(row_lengths, dtype, dtype_hint)
        values = _values_up_to(raw_ops.reduce_sum(lengths))
        return cls._of(RaggedTensor.from_row_lengths(values, lengths, validate=validate))

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: TensorLike,
        nrows: TensorLike | None = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition of the row of each value.

        Args:
            value_rowids: an integer vector that does not descend.
            nrows: how many rows there are; by default as many as the last number says.
            validate: whether to check the numbers.
            dtype: `int32` or `int64`, by default that of the argument.
            dtype_hint: the dtype of Python's integers, by default `int64`.

        Returns:
            The partition.

        Raises:
            InvalidArgumentError: where the numbers descend or are out of range.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_value_rowids([0, 0, 2], nrows=4).row_lengths().numpy().tolist()
        [2, 0, 1, 0]
        """
        rows = _numbers(value_rowids, dtype, dtype_hint)
        return cls._of(RaggedTensor.from_value_rowids(rows, rows, nrows, validate=validate))

    @classmethod
    def from_row_starts(
        cls,
        row_starts: TensorLike,
        nvals: TensorLike,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition of where each row begins.

        Args:
            row_starts: an integer vector that begins with 0 and does not descend.
            nvals: the number of values.
            validate: whether to check the arguments.
            dtype: `int32` or `int64`, by default that of the argument.
            dtype_hint: the dtype of Python's integers, by default `int64`.

        Returns:
            The partition.

        Raises:
            InvalidArgumentError: where the starts are not that.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_starts([0, 2], nvals=5).row_lengths().numpy().tolist()
        [2, 3]
        """
        starts = _numbers(row_starts, dtype, dtype_hint)
        values = _values_up_to(raw_ops.cast(_core._to_tensor(nvals), dtype=starts.dtype))
        return cls._of(RaggedTensor.from_row_starts(values, starts, validate=validate))

    @classmethod
    def from_row_limits(
        cls,
        row_limits: TensorLike,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition of where each row ends.

        Args:
            row_limits: an integer vector that does not descend.
            validate: whether to check that.
            dtype: `int32` or `int64`, by default that of the argument.
            dtype_hint: the dtype of Python's integers, by default `int64`.

        Returns:
            The partition.

        Raises:
            InvalidArgumentError: where the limits are not that.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_limits([2, 5]).row_lengths().numpy().tolist()
        [2, 3]
        """
        limits = _numbers(row_limits, dtype, dtype_hint)
        splits = raw_ops.concat([_core._to_tensor([0], limits.dtype), limits], axis=0)
        return cls.from_row_splits(splits, validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: TensorLike,
        nvals: TensorLike | None = None,
        nrows: TensorLike | None = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Make a partition into rows of one length.

        Args:
            uniform_row_length: the length.
            nvals: the number of values; needed where `nrows` is not given.
            nrows: the number of rows; needed where the length is 0.
            validate: whether to check that they fit.
            dtype: `int32` or `int64`, by default that of the argument.
            dtype_hint: the dtype of Python's integers, by default `int64`.

        Returns:
            The partition.

        Raises:
            ValueError: where neither `nvals` nor `nrows` is given.
            InvalidArgumentError: where the rows are not as many values.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_uniform_row_length(2, nvals=4).row_splits().numpy().tolist()
        [0, 2, 4]
        """
        length = _numbers(uniform_row_length, dtype, dtype_hint)
        if nvals is None and nrows is None:
            raise InvalidArgumentError("one of arguments 'nvals' and 'nrows' must be given")
        given = length * raw_ops.cast(_core._to_tensor(nrows), dtype=length.dtype) if nvals is None else nvals
        values = _values_up_to(raw_ops.cast(_core._to_tensor(given), dtype=length.dtype))
        return cls._of(RaggedTensor.from_uniform_row_length(values, length, nrows, validate))

    def _rows(self) -> RaggedTensor:
        return RaggedTensor(_values_up_to(self._splits[-1]), self._splits, self._uniform)

    @property
    def dtype(self) -> _core.DType:
        """The dtype of the splits."""
        return self._splits.dtype  # type: ignore[no-any-return]

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, where it is known."""
        dims = self._splits.shape._dims
        return None if dims is None or dims[0] is None else dims[0] - 1

    @property
    def static_nvals(self) -> int | None:
        """The number of values, where it is known."""
        known = _core._known_value(self._splits)
        return None if known is None else int(known.numpy()[-1])

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows, where it is known to be one."""
        return self._uniform

    def uniform_row_length(self) -> _core.Tensor | None:
        """Tell the length of all rows.

        Returns:
            A scalar, or None where it is not known to be one.

        >>> import penstock as tf
        >>> int(tf.experimental.RowPartition.from_uniform_row_length(2, nvals=4).uniform_row_length())
        2
        """
        return None if self._uniform is None else _core._to_tensor(self._uniform, self.dtype)

    def is_uniform(self) -> bool:
        """Tell whether all rows are known to be of one length.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 2]).is_uniform()
        False
        """
        return self._uniform is not None

    def row_splits(self) -> _core.Tensor:
        """Tell where each row begins, and the number of values.

        Returns:
            A vector of a number more than there are rows.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 1]).row_splits().numpy().tolist()
        [0, 2, 3]
        """
        made: _core.Tensor = self._splits
        return made

    def row_lengths(self) -> _core.Tensor:
        """Tell the length of each row.

        Returns:
            A vector.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_splits([0, 2, 3]).row_lengths().numpy().tolist()
        [2, 1]
        """
        made: _core.Tensor = self._rows().row_lengths()
        return made

    def row_starts(self) -> _core.Tensor:
        """Tell where each row begins.

        Returns:
            A vector.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 1]).row_starts().numpy().tolist()
        [0, 2]
        """
        made: _core.Tensor = self._splits[:-1]
        return made

    def row_limits(self) -> _core.Tensor:
        """Tell where each row ends.

        Returns:
            A vector.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 1]).row_limits().numpy().tolist()
        [2, 3]
        """
        made: _core.Tensor = self._splits[1:]
        return made

    def value_rowids(self) -> _core.Tensor:
        """Tell the row of each value.

        Returns:
            A vector.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 1]).value_rowids().numpy().tolist()
        [0, 0, 1]
        """
        return self._rows().value_rowids()

    def offsets_in_rows(self) -> _core.Tensor:
        """Tell the number of each value within its row.

        Returns:
            A vector.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 1]).offsets_in_rows().numpy().tolist()
        [0, 1, 0]
        """
        from penstock._ops.ragged_layout import within_rows  # operations build on this

        made: _core.Tensor = within_rows(self._rows())
        return made

    def nrows(self) -> _core.Tensor:
        """Count the rows.

        Returns:
            A scalar.

        >>> import penstock as tf
        >>> int(tf.experimental.RowPartition.from_row_lengths([2, 1]).nrows())
        2
        """
        return raw_ops.size(self._splits, dtype=self.dtype) - 1

    def nvals(self) -> _core.Tensor:
        """Count the values.

        Returns:
            A scalar.

        >>> import penstock as tf
        >>> int(tf.experimental.RowPartition.from_row_lengths([2, 1]).nvals())
        3
        """
        made: _core.Tensor = self._splits[-1]
        return made

    def with_dtype(self, dtype: DTypeLike) -> RowPartition:
        """Convert the splits to another dtype.

        Args:
            dtype: `int32` or `int64`.

        Returns:
            The partition into the same rows.

        >>> import penstock as tf
        >>> tf.experimental.RowPartition.from_row_lengths([2, 1]).with_dtype(tf.int32).dtype
        tf.int32
        """
        return RowPartition(
            raw_ops.cast(self._splits, dtype=_core.DType(dtype)), uniform_row_length=self._uniform
        )

    @property
    def _type_spec(self) -> RowPartitionSpec:
        return RowPartitionSpec(self.static_nrows, self.static_nvals, self._uniform, self.dtype)

    def __tf_tracing_type__(self, context: Any) -> RowPartitionSpec:
        """The specification of the partition."""
        return self._type_spec

    def __repr__(self) -> str:
        return f"tf.RowPartition(row_splits={self._splits})"


class RowPartitionSpec(TypeSpec):
    """What is known of a partition into rows.

    Args:
        nrows: the number of rows, or None.
        nvals: the number of values, or None.
        uniform_row_length: the length of all rows, or None.
        dtype: `int32` or `int64`.

    >>> import penstock as tf
    >>> partition = tf.experimental.RowPartition.from_row_lengths([2, 1])
    >>> tf.type_spec_from_value(partition).nrows
    2
    """

    __slots__ = ("dtype", "nrows", "nvals", "uniform_row_length")

    def __init__(
        self,
        nrows: int | None = None,
        nvals: int | None = None,
        uniform_row_length: int | None = None,
        dtype: DTypeLike = _core.int64,
    ) -> None:
        self.nrows: int | None = nrows
        self.nvals: int | None = nvals
        self.uniform_row_length: int | None = uniform_row_length
        self.dtype: _core.DType = _core.DType(dtype)

    @property
    def value_type(self) -> type[RowPartition]:
        """`tf.experimental.RowPartition`."""
        return RowPartition

    def flatten(self) -> list[TensorSpec]:
        """The specification of the splits."""
        return [TensorSpec([None if self.nrows is None else self.nrows + 1], self.dtype)]

    def to_tensors(self, value: RowPartition) -> list[Any]:
        """The splits of a partition."""
        return [value._splits]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """The partition that has the next of the tensors for splits."""
        made = RowPartition.__new__(RowPartition)
        made._splits, made._uniform = next(tensors), self.uniform_row_length
        return made

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a partition, or some one of another specification, is described by this one."""
        other = getattr(spec_or_value, "_type_spec", spec_or_value)
        if not isinstance(other, RowPartitionSpec) or other.dtype != self.dtype:
            return False
        mine = (self.nrows, self.nvals, self.uniform_row_length)
        its = (other.nrows, other.nvals, other.uniform_row_length)
        return all(a is None or b is None or a == b for a, b in zip(mine, its, strict=True))

    def __repr__(self) -> str:
        return (
            f"RowPartitionSpec(nrows={self.nrows}, nvals={self.nvals}, "
            f"uniform_row_length={self.uniform_row_length}, dtype={self.dtype!r})"
        )


def _numbers(value: Any, dtype: Any, hint: Any) -> Any:
    if dtype is not None:
        return raw_ops.cast(_core._to_tensor(value), dtype=_core.DType(dtype))
    return _core._to_tensor_hinted(value, _core.int64 if hint is None else _core.DType(hint))


def _values_up_to(count: Any) -> Any:
    return raw_ops.range(_core._to_tensor(0, count.dtype), count, _core._to_tensor(1, count.dtype))
