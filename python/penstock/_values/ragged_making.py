"""How ragged tensors are made: of values and what says where rows begin, and of other tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import items, require
from penstock._runtime.scope import scoped
from penstock._types.specs import Composite
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike
    from penstock._values.ragged import RaggedTensor
    from penstock._values.sparse import SparseTensor

__all__ = ["RaggedMaking", "splits_of", "values_of"]


class RaggedMaking(Composite):
    """The class methods of `tf.RaggedTensor` that make one."""

    __slots__ = ()

    @classmethod
    def _made(cls, values: Any, row_splits: Any, uniform_row_length: int | None = None) -> RaggedTensor:
        new: Any = cls
        made: RaggedTensor = new(values, row_splits, uniform_row_length)
        return made

    @classmethod
    @scoped
    def from_row_splits(
        cls,
        values: TensorLike | RaggedTensor,
        row_splits: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Make a ragged tensor with rows between the splits.

        Args:
            values: of shape `[n, ...]`, or ragged.
            row_splits: an integer vector that begins with 0, does not descend and ends with `n`.
            name: a scope for the names of its operations in a graph.
            validate: whether to check that.

        Returns:
            The ragged tensor, of shape `[len(row_splits) - 1, None, ...]`.

        Raises:
            InvalidArgumentError: where the splits are not that.
            ValueError: for a `row_splits` that is no vector, or `values` that is a scalar.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_splits(["a", "b", "c"], [0, 1, 3]).to_list()
        [[b'a'], [b'b', b'c']]
        """
        values, splits = values_of(values), _partition(row_splits, "row_splits")
        if splits.shape._dims == (0,):
            raise InvalidArgumentError("argument 'row_splits' must not be empty: it begins with 0")
        if validate:
            _check(
                raw_ops.equal(splits[0], _core._to_tensor(0, splits.dtype)),
                "argument 'row_splits' must begin with 0",
                splits,
            )
            _check_ascent(splits, "row_splits")
            _check(
                raw_ops.equal(splits[-1], _nrows(values, splits)),
                "argument 'row_splits' must end with the number of values",
                splits,
            )
        return cls._made(values, splits)

    @classmethod
    @scoped
    def from_row_lengths(
        cls,
        values: TensorLike | RaggedTensor,
        row_lengths: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Make a ragged tensor with rows of these lengths.

        Args:
            values: of shape `[n, ...]`, or ragged.
            row_lengths: an integer vector whose elements are not negative and add up to `n`.
            name: a scope for the names of its operations in a graph.
            validate: whether to check that.

        Returns:
            The ragged tensor, of shape `[len(row_lengths), None, ...]`.

        Raises:
            InvalidArgumentError: where the lengths are not that.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]).to_list()
        [[1, 2], [], [3]]
        """
        values, lengths = values_of(values), _partition(row_lengths, "row_lengths")
        if validate:
            _check(raw_ops.reduce_all(lengths >= 0), "argument 'row_lengths' must not be negative", lengths)
            total = raw_ops.reduce_sum(lengths)
            _check(
                raw_ops.equal(total, _nrows(values, lengths)),
                "argument 'row_lengths' must add up to the number of values",
                lengths,
            )
        return cls._made(values, splits_of(lengths))

    @classmethod
    @scoped
    def from_row_starts(
        cls,
        values: TensorLike | RaggedTensor,
        row_starts: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Make a ragged tensor with rows that begin at these values, each up to the next.

        Args:
            values: of shape `[n, ...]`, or ragged.
            row_starts: an integer vector that begins with 0, does not descend and is at most `n`.
            name: a scope for the names of its operations in a graph.
            validate: whether to check the arguments.

        Returns:
            The ragged tensor, of shape `[len(row_starts), None, ...]`.

        Raises:
            InvalidArgumentError: where the starts are not that.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 2, 2]).to_list()
        [[1, 2], [], [3]]
        """
        values, starts = values_of(values), _partition(row_starts, "row_starts")
        end = raw_ops.reshape(_nrows(values, starts), [1])
        return cls.from_row_splits(values, raw_ops.concat([starts, end], axis=0), validate=validate)

    @classmethod
    @scoped
    def from_row_limits(
        cls,
        values: TensorLike | RaggedTensor,
        row_limits: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Make a ragged tensor with rows that end before these values, each from the last.

        Args:
            values: of shape `[n, ...]`, or ragged.
            row_limits: an integer vector that does not descend and ends with `n`.
            name: a scope for the names of its operations in a graph.
            validate: whether to check the arguments.

        Returns:
            The ragged tensor, of shape `[len(row_limits), None, ...]`.

        Raises:
            InvalidArgumentError: where the limits are not that.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_row_limits([1, 2, 3], [2, 2, 3]).to_list()
        [[1, 2], [], [3]]
        """
        limits = _partition(row_limits, "row_limits")
        zero = _core._to_tensor([0], limits.dtype)
        return cls.from_row_splits(values, raw_ops.concat([zero, limits], axis=0), validate=validate)

    @classmethod
    @scoped
    def from_value_rowids(
        cls,
        values: TensorLike | RaggedTensor,
        value_rowids: TensorLike,
        nrows: TensorLike | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Make a ragged tensor with each value in the row of its number.

        Args:
            values: of shape `[n, ...]`, or ragged.
            value_rowids: `n` integers, not negative, that do not descend.
            nrows: how many rows there are; by default as many as the last number says.
            name: a scope for the names of its operations in a graph.
            validate: whether to check the numbers.

        Returns:
            The ragged tensor, of shape `[nrows, None, ...]`.

        Raises:
            InvalidArgumentError: where the numbers descend or are out of range.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=4).to_list()
        [[1, 2], [], [3], []]
        """
        values, rows = values_of(values), _partition(value_rowids, "value_rowids")
        if nrows is None:
            # Also where there are none.
            count = raw_ops.reduce_max(raw_ops.concat([_core._to_tensor([-1], rows.dtype), rows], axis=0)) + 1
        else:
            count = raw_ops.cast(_core._to_tensor(nrows), dtype=rows.dtype)
        if validate:
            _check_ascent(rows, "value_rowids")
            inside = raw_ops.logical_and(rows >= 0, rows < count)
            _check(
                raw_ops.reduce_all(inside),
                "argument 'value_rowids' must be below 'nrows' and not negative",
                rows,
            )
            same = raw_ops.equal(raw_ops.size(rows, dtype=rows.dtype), _nrows(values, rows))
            _check(same, "argument 'value_rowids' must have a number for each value", rows)
        ones = raw_ops.ones_like(rows)
        return cls._made(values, splits_of(raw_ops.unsorted_segment_sum(ones, rows, count)))

    @classmethod
    @scoped
    def from_uniform_row_length(
        cls,
        values: TensorLike | RaggedTensor,
        uniform_row_length: TensorLike,
        nrows: TensorLike | None = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """Make a ragged tensor with rows of one length.

        Args:
            values: of shape `[n, ...]`, or ragged.
            uniform_row_length: a divisor of `n`.
            nrows: how many rows there are; needed where the length is 0.
            name: a scope for the names of its operations in a graph.
            validate: whether to check that it fits.

        Returns:
            The ragged tensor, of shape `[n / uniform_row_length, uniform_row_length, ...]`.

        Raises:
            TypeError: for a length that is no integer.
            InvalidArgumentError: where the rows are not as many values.
            ValueError: for length 0 without `nrows`.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2).shape
        TensorShape([2, 2])
        """
        values = values_of(values)
        length = _core._to_tensor_hinted(uniform_row_length, _core.int64)
        if not length.dtype.is_integer:
            raise TypeError(f"argument 'uniform_row_length' must be an integer, got {uniform_row_length!r}")
        known = _core._known_value(length)
        static = None if known is None else int(known.numpy())
        if nrows is None:
            if static == 0:
                raise InvalidArgumentError(
                    "argument 'nrows' must be given where argument 'uniform_row_length' is 0"
                )
            nrows = raw_ops.floordiv(_nrows(values, length), length)
        count = raw_ops.cast(_core._to_tensor(nrows), dtype=length.dtype)
        if validate:
            _check(
                raw_ops.equal(count * length, _nrows(values, length)),
                "rows of argument 'uniform_row_length' must hold all values",
                length,
            )
        steps = raw_ops.range(_core._to_tensor(0, length.dtype), count + 1, _core._to_tensor(1, length.dtype))
        return cls._made(values, steps * length, static)

    @classmethod
    def _from_nested(cls, one: Any, flat_values: Any, nested: list[Any], validate: bool) -> Any:
        made = flat_values
        for partition in reversed(nested):
            made = one(made, partition, validate=validate)
        return made

    @classmethod
    @scoped
    def from_nested_row_splits(
        cls,
        flat_values: TensorLike,
        nested_row_splits: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor of several ragged dimensions, by `from_row_splits` for each.

        Args:
            flat_values: the innermost values, of shape `[n, ...]`.
            nested_row_splits: the splits of each ragged dimension, outermost first.
            name: a scope for the names of its operations in a graph.
            validate: whether to check the arguments.

        Returns:
            The ragged tensor; `flat_values` as a tensor where there are no splits.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 2], [0, 1, 3]]).to_list()
        [[[1], [2, 3]]]
        """
        splits = items(nested_row_splits, "nested_row_splits")
        return cls._from_nested(cls.from_row_splits, flat_values, splits, validate)

    @classmethod
    @scoped
    def from_nested_row_lengths(
        cls,
        flat_values: TensorLike,
        nested_row_lengths: Sequence[TensorLike],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor of several ragged dimensions, by `from_row_lengths` for each.

        Args:
            flat_values: the innermost values, of shape `[n, ...]`.
            nested_row_lengths: the lengths of the rows of each ragged dimension, outermost first.
            name: a scope for the names of its operations in a graph.
            validate: whether to check the arguments.

        Returns:
            The ragged tensor; `flat_values` as a tensor where there are no lengths.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[2], [1, 2]]).to_list()
        [[[1], [2, 3]]]
        """
        lengths = items(nested_row_lengths, "nested_row_lengths")
        return cls._from_nested(cls.from_row_lengths, flat_values, lengths, validate)

    @classmethod
    @scoped
    def from_nested_value_rowids(
        cls,
        flat_values: TensorLike,
        nested_value_rowids: Sequence[TensorLike],
        nested_nrows: Sequence[TensorLike | None] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor of several ragged dimensions, by `from_value_rowids` for each.

        Args:
            flat_values: the innermost values, of shape `[n, ...]`.
            nested_value_rowids: the row of each value of each ragged dimension, outermost first.
            nested_nrows: the number of rows of each ragged dimension; by default as the numbers say.
            name: a scope for the names of its operations in a graph.
            validate: whether to check the arguments.

        Returns:
            The ragged tensor; `flat_values` as a tensor where there are no numbers.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_nested_value_rowids([1, 2, 3], [[0, 0], [0, 1, 1]]).to_list()
        [[[1], [2, 3]]]
        """
        made: Any = flat_values
        levels = reversed(items(nested_value_rowids, "nested_value_rowids"))
        counts = repeat(None) if nested_nrows is None else reversed(items(nested_nrows, "nested_nrows"))
        for rows, count in zip(levels, counts, strict=nested_nrows is not None):
            made = cls.from_value_rowids(made, rows, count, validate=validate)
        return made

    @classmethod
    @scoped
    def from_tensor(
        cls,
        tensor: TensorLike,
        lengths: TensorLike | Sequence[TensorLike] | None = None,
        padding: TensorLike | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = _core.int64,
    ) -> RaggedTensor:
        """Make a ragged tensor of the rows of a tensor.

        Args:
            tensor: of rank above `ragged_rank`, which must be known.
            lengths: how much of each row to keep.
            padding: elements of this value at the end of a row are left out.
            ragged_rank: how many dimensions become ragged; 1 with `lengths` and `padding`.
            name: a scope for the names of its operations in a graph.
            row_splits_dtype: `int32` or `int64`.

        Returns:
            The ragged tensor.

        Raises:
            ValueError: where the rank is not above `ragged_rank`, or both `lengths` and `padding` are given.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0], [0, 0, 0]], padding=0).to_list()
        [[5, 7], [0, 3], []]
        """
        x = _core._to_tensor(tensor)
        rank = len(x.shape.as_list())
        if not 0 < ragged_rank < rank:
            raise InvalidArgumentError(
                f"argument 'ragged_rank' must be from 1 to {rank - 1}, got {ragged_rank}"
            )
        if (lengths is not None or padding is not None) and ragged_rank != 1:
            raise InvalidArgumentError("arguments 'lengths' and 'padding' need a ragged_rank of 1")
        if lengths is not None and padding is not None:
            raise InvalidArgumentError("only one of arguments 'lengths' and 'padding' can be given")
        dtype = _core.DType(row_splits_dtype)
        dims = raw_ops.shape(x, dtype=dtype)
        made: Any = raw_ops.reshape(
            x, raw_ops.concat([_core._to_tensor([-1], dtype), dims[ragged_rank + 1 :]], axis=0)
        )
        for axis in range(ragged_rank, 0, -1):
            rows = raw_ops.reduce_prod(dims[:axis])
            steps = raw_ops.range(_core._to_tensor(0, dtype), rows + 1, _core._to_tensor(1, dtype))
            count = x.shape[:axis].num_elements()
            splits = steps * dims[axis]
            if count is not None:
                splits = raw_ops.ensure_shape(splits, shape=[count + 1])
            made = cls._made(made, splits, x.shape.as_list()[axis])
        if padding is not None:
            same = raw_ops.equal(x, _core._to_tensor(padding, x.dtype))
            for _ in range(rank - 2):
                same = raw_ops.reduce_all(same, axes=[-1])
            kept = raw_ops.cast(raw_ops.logical_not(same), dtype=dtype)
            place = raw_ops.range(_core._to_tensor(1, dtype), dims[1] + 1, _core._to_tensor(1, dtype))
            longest = raw_ops.reduce_max(kept * place, axes=[1])
            lengths = raw_ops.maximum(longest, _core._to_tensor(0, dtype))
        if lengths is not None:
            kept = raw_ops.minimum(raw_ops.cast(_core._to_tensor(lengths), dtype=dtype), dims[1])
            starts = made.row_starts()
            made = made._stretches(starts, starts + raw_ops.maximum(kept, _core._to_tensor(0, dtype)))
        return made  # type: ignore[no-any-return]

    @classmethod
    @scoped
    def from_sparse(
        cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype: DTypeLike = _core.int64
    ) -> RaggedTensor:
        """Make a ragged tensor of a sparse matrix whose rows have their elements at their beginning.

        Args:
            st_input: the sparse matrix, its places in order.
            name: a scope for the names of its operations in a graph.
            row_splits_dtype: `int32` or `int64`.

        Returns:
            The ragged tensor.

        Raises:
            ValueError: where the rank is not 2.
            InvalidArgumentError: where a row has a gap.

        >>> import penstock as tf
        >>> tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[1, 2, 0], [0, 0, 0], [3, 0, 0]])).to_list()
        [[1, 2], [], [3]]
        """
        from penstock._ops.ragged_layout import from_sparse  # operations build on this

        return from_sparse(st_input, _core.DType(row_splits_dtype))


def values_of(values: Any) -> Any:
    """Values as a tensor of rank 1 or more, or ragged."""
    if isinstance(values, RaggedMaking):
        return values
    made = _core._to_tensor(values)
    if made.shape.rank == 0:
        raise InvalidArgumentError("argument 'values' must have at least one dimension, got a scalar")
    return made


def _partition(vector: Any, argument: str) -> Any:
    """Integers that say what the rows are."""
    made = _core._to_tensor_hinted(vector, _core.int64)
    if made.dtype not in (_core.int32, _core.int64):
        raise DTypeError(f"argument '{argument}' must be int32 or int64, got {made.dtype.name}")
    if made.shape.rank not in (1, None):
        raise InvalidArgumentError(f"argument '{argument}' must be a vector, got shape {made.shape}")
    return made


def _nrows(values: Any, like: Any) -> Any:
    """The number of values."""
    if isinstance(values, RaggedMaking):
        rows: Any = values
        return rows.nrows(like.dtype)
    return raw_ops.shape(values, dtype=like.dtype)[0]


def splits_of(lengths: Any) -> Any:
    zero = _core._to_tensor([0], lengths.dtype)
    return raw_ops.concat([zero, raw_ops.cumsum(lengths, axis=0)], axis=0)


def _check_ascent(vector: Any, argument: str) -> None:
    ascending = raw_ops.reduce_all(vector[1:] >= vector[:-1])
    _check(ascending, f"argument '{argument}' must not descend", vector)


def _check(condition: Any, message: str, given: Any) -> None:
    require(condition, message, given)
