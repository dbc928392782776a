"""Functions on ragged tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops import crosses
from penstock._ops.ragged_layout import merge_dims
from penstock._ops.ragged_selection import boolean_mask as _boolean_mask, stack as _stack
from penstock._runtime.arguments import known_rank, require
from penstock._runtime.scope import scoped
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, Nested, TensorLike
    from penstock._values.sparse import SparseTensor

__all__ = [
    "boolean_mask",
    "constant",
    "cross",
    "cross_hashed",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]


def _depth(value: Any) -> int:
    """How deep a nest of lists is, as far as it holds anything."""
    if not isinstance(value, list | tuple):
        return 0
    return 1 + max((_depth(item) for item in value), default=0)


def constant(
    pylist: Nested[complex | str | bytes],
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | int | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = _core.int64,
) -> _core.Tensor | RaggedTensor:
    """Make a ragged tensor of a nest of lists.

    Args:
        pylist: lists of lists of numbers or strings; lists at one depth may differ in length.
        dtype: the element type, by default that of the elements.
        ragged_rank: how many dimensions are ragged, by default all but the first and those of `inner_shape`.
        inner_shape: the shape of the innermost values.
        name: accepted; the parts of the result are constants without names.
        row_splits_dtype: `int32` or `int64`.

    Returns:
        A `tf.RaggedTensor`, or a tensor where `pylist` is a scalar or `ragged_rank` is 0.

    Raises:
        ValueError: where scalars stand at different depths, the lists are not as deep as asked for, or the
            values have no common dtype, without `dtype`.
        TypeError: for values that cannot be of `dtype`.

    >>> import penstock as tf
    >>> tf.ragged.constant([[1, 2], [], [3]]).row_splits.numpy().tolist()
    [0, 2, 2, 3]
    """
    depth = _depth(pylist)
    inner = (
        None
        if inner_shape is None
        else list(inner_shape if isinstance(inner_shape, Sequence) else [inner_shape])
    )
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - len(inner or []))
    if ragged_rank == 0 or not isinstance(pylist, list | tuple):
        return _core._to_tensor(pylist, None if dtype is None else _core.DType(dtype))
    values, lengths = list(pylist), []
    for _ in builtins.range(ragged_rank):
        for row in values:
            if not isinstance(row, list | tuple):
                raise InvalidArgumentError(
                    "argument 'pylist' has scalars at different depths, or at less than "
                    f"ragged_rank={ragged_rank} asks for: {row!r} is no row"
                )
        lengths.append([len(row) for row in values])
        values = [item for row in values for item in row]
    if any(_depth(v) != _depth(values[0]) for v in values):
        raise InvalidArgumentError("argument 'pylist' has scalars at different depths")
    try:
        flat = _core._to_tensor(values, None if dtype is None else _core.DType(dtype))
    except (TypeError, ValueError) as error:
        if dtype is not None:
            raise
        raise InvalidArgumentError(f"argument 'pylist': {error}") from None
    if inner is not None:
        flat = raw_ops.reshape(flat, _core._to_tensor([len(values), *inner], _core.int32))
    splits_dtype = _core.DType(row_splits_dtype)
    parts = [_core._to_tensor(row, splits_dtype) for row in lengths]
    made: RaggedTensor = RaggedTensor.from_nested_row_lengths(flat, parts, validate=False)
    return made


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the innermost values of ragged tensors, and keep their rows.

    Args:
        op: takes tensors in place of ragged ones; gives one with as many elements along its first dimension.
        *args: its arguments, ragged tensors among them.
        **kwargs: its arguments by name.

    Returns:
        A ragged tensor with the rows of the first ragged argument; without any, what the function gives.

    Raises:
        InvalidArgumentError: where the rows of two ragged tensors differ.
        ValueError: where their numbers of ragged dimensions differ.

    >>> import penstock as tf
    >>> tf.ragged.map_flat_values(lambda x: x * 10, tf.ragged.constant([[1, 2], [3]])).to_list()
    [[10, 20], [30]]
    """
    from penstock.debugging import Assert  # loaded when it is used

    ragged = [x for x in (*args, *kwargs.values()) if isinstance(x, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    first = ragged[0]
    for other in ragged[1:]:
        if other.ragged_rank != first.ragged_rank:
            raise InvalidArgumentError(
                "arguments must have one number of ragged dimensions, "
                f"got {first.ragged_rank} and {other.ragged_rank}"
            )
        for a, b in zip(first.nested_row_splits, other.nested_row_splits, strict=True):
            if a is not b:
                same = _equal_vectors(a, b)
                Assert(same, ["ragged arguments must have the same rows, got splits", a, b])

    def flat(x: Any) -> Any:
        return x.flat_values if isinstance(x, RaggedTensor) else x

    values = op(*map(flat, args), **{key: flat(x) for key, x in kwargs.items()})
    return first.with_flat_values(values)


def _equal_vectors(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    """Whether two vectors are equal, of whatever lengths."""
    n, m = raw_ops.size(a), raw_ops.size(b)
    least = raw_ops.minimum(n, m)
    a, b = (raw_ops.cast(x, dtype=_core.int64) for x in (a, b))
    return raw_ops.logical_and(raw_ops.equal(n, m), raw_ops.reduce_all(raw_ops.equal(a[:least], b[:least])))


@scoped
def row_splits_to_segment_ids(
    splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None
) -> _core.Tensor:
    """Compute the row of each value from the splits between rows.

    Args:
        splits: where each row starts, and last where they end: a vector that ascends from 0.
        name: a scope for the names of its operations in a graph.
        out_type: `int32` or `int64`; by default the dtype of `splits`.

    Returns:
        A vector of the dtype of `splits`, or of `out_type`.

    Raises:
        InvalidArgumentError: where the splits descend.

    >>> import penstock as tf
    >>> tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).numpy().tolist()
    [0, 0, 0, 2, 2]
    """
    splits = _core._to_tensor_hinted(splits, _core.int64)
    ids = RaggedTensor(splits, splits).value_rowids()
    return ids if out_type is None else raw_ops.cast(ids, dtype=_core.DType(out_type))


@scoped
def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the splits between rows from the row of each value.

    Args:
        segment_ids: the row of each value: a vector that ascends.
        num_segments: how many rows there are; by default one more than the last.
        out_type: `int32` or `int64`; by default the dtype of `segment_ids`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A vector of `num_segments + 1` elements of the dtype of `segment_ids`, or of `out_type`.

    Raises:
        InvalidArgumentError: where the numbers descend, or reach `num_segments`.

    >>> import penstock as tf
    >>> tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2], num_segments=4).numpy().tolist()
    [0, 3, 3, 5, 5]
    """
    ids = _core._to_tensor_hinted(segment_ids, _core.int64)
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return splits if out_type is None else raw_ops.cast(splits, dtype=_core.DType(out_type))


@scoped
def boolean_mask(
    data: TensorLike | RaggedTensor, mask: TensorLike | RaggedTensor, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Keep the rows, or the values of rows, that a mask chooses, in the rows where they are.

    Args:
        data: a tensor, ragged or not.
        mask: booleans of the shape of the first dimensions of `data`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A ragged tensor of the rank of `data`, with as many ragged dimensions as `mask` has behind its first;
        a tensor for a vector of booleans and a tensor.

    Raises:
        ValueError: for a mask that is a scalar.
        InvalidArgumentError: where the rows of `mask` are not those of `data`.

    >>> import penstock as tf
    >>> tf.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, True]]).to_list()
    [[1, 3], [6]]
    """
    made: _core.Tensor | RaggedTensor = _boolean_mask(data, mask)
    return made


@scoped
def stack(
    values: Sequence[TensorLike | RaggedTensor], axis: int = 0, name: str | None = None
) -> _core.Tensor | RaggedTensor:
    """Stack tensors along a new dimension, also where they have other lengths.

    Args:
        values: tensors of one rank and dtype, ragged or not.
        axis: where the new dimension is.
        name: a scope for the names of its operations in a graph.

    Returns:
        A ragged tensor of a rank more; a tensor of scalars.

    Raises:
        ValueError: where there are no tensors, or their ranks differ.

    >>> import penstock as tf
    >>> tf.ragged.stack([[1, 2, 3], [4]]).to_list()
    [[1, 2, 3], [4]]
    """
    made: _core.Tensor | RaggedTensor = _stack(values, axis)
    return made


@scoped
def range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = _core.int64,
) -> RaggedTensor:
    """Make rows of numbers in equal steps.

    Args:
        starts: where each row begins, a vector, or one for all; where it ends, from 0, if `limits` is None.
        limits: what each row ends before.
        deltas: the step of each row.
        dtype: the element type, by default that of the arguments.
        name: a scope for the names of its operations in a graph.
        row_splits_dtype: `int32` or `int64`.

    Returns:
        The ragged tensor.

    Raises:
        InvalidArgumentError: for a step of 0.

    >>> import penstock as tf
    >>> tf.ragged.range([3, 5, 2]).to_list(), tf.ragged.range([0, 5], [3, 3], [1, -1]).to_list()
    ([[0, 1, 2], [0, 1, 2, 3, 4], [0, 1]], [[0, 1, 2], [5, 4]])
    """
    from penstock._ops.arrangement import row_numbers  # no name of this module

    if limits is None:
        starts, limits = 0, starts
    given = [starts, limits, deltas]
    kind = (
        next((x.dtype for x in given if isinstance(x, _core.Tensor)), None)
        if dtype is None
        else _core.DType(dtype)
    )
    if kind is None:
        kind = next((d for d in (_core._to_tensor(x).dtype for x in given) if d.is_floating), None)
        kind = _core._to_tensor(limits).dtype if kind is None else kind
    start, limit, delta = (_core._to_tensor(x, kind) for x in given)
    zero = _core._to_tensor(0, kind)
    require(raw_ops.reduce_all(raw_ops.not_equal(delta, zero)), "argument 'deltas' must not be 0", delta)
    span = limit - start
    if kind.is_floating:
        lengths = raw_ops.cast(raw_ops.ceil(span / delta), dtype=_core.int64)
    else:
        wide, step = (raw_ops.cast(x, dtype=_core.int64) for x in (span, delta))
        lengths = -raw_ops.floordiv(-wide, step)
    lengths = raw_ops.reshape(raw_ops.maximum(lengths, _core._to_tensor(0, _core.int64)), [-1])
    ends = raw_ops.cumsum(lengths)
    rows = row_numbers(lengths)
    count = raw_ops.size(rows, dtype=_core.int64)
    number = raw_ops.range(_core._to_tensor(0, _core.int64), count, _core._to_tensor(1, _core.int64))
    place = raw_ops.cast(number - raw_ops.gather(ends - lengths, rows), dtype=kind)

    def of_each(x: _core.Tensor) -> _core.Tensor:
        return x if x.shape.rank == 0 else raw_ops.gather(x, rows) if x.shape._dims != (1,) else x

    made: RaggedTensor = RaggedTensor.from_row_lengths(
        of_each(start) + place * of_each(delta), lengths, validate=False
    )
    target = _core.DType(row_splits_dtype)
    return made if target == _core.int64 else made.with_row_splits_dtype(target)


@scoped
def stack_dynamic_partitions(
    data: TensorLike | RaggedTensor,
    partitions: TensorLike | RaggedTensor,
    num_partitions: IntLike,
    name: str | None = None,
) -> RaggedTensor:
    """Put values into the rows that their numbers name, in their order.

    Args:
        data: the values, ragged or not.
        partitions: the row of each, of the shape of the first dimensions of `data`.
        num_partitions: the number of rows.
        name: a scope for the names of its operations in a graph.

    Returns:
        The ragged tensor, with `num_partitions` rows, whose splits have the dtype of `partitions`.

    Raises:
        InvalidArgumentError: for a number that is no row.

    >>> import penstock as tf
    >>> tf.ragged.stack_dynamic_partitions(["a", "b", "c", "d"], [2, 0, 2, 1], 3).to_list()
    [[b'b'], [b'd'], [b'a', b'c']]
    """
    if isinstance(partitions, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise InvalidArgumentError("argument 'data' must be ragged, as argument 'partitions' is")
        numbers, values = partitions.flat_values, data.flat_values
    else:
        numbers, values = _core._to_tensor(partitions), data
        rank = len(known_rank(numbers))
        if rank == 0:
            numbers, values = (
                raw_ops.reshape(numbers, [1]),
                raw_ops.expand_dims(_core._to_tensor(values), axis=0),
            )
        elif rank > 1:
            values = merge_dims(
                values if isinstance(values, RaggedTensor) else _core._to_tensor(values), 0, rank - 1
            )
            numbers = raw_ops.reshape(numbers, [-1])
    if numbers.dtype != _core.int32:
        numbers = raw_ops.cast(numbers, dtype=_core.int64)
    count = raw_ops.cast(_core._to_tensor(num_partitions), dtype=numbers.dtype)
    inside = raw_ops.logical_and(numbers >= 0, numbers < count)
    require(raw_ops.reduce_all(inside), "argument 'partitions' must be below 'num_partitions'", numbers)
    order = raw_ops.argsort(numbers, dtype=_core.int64)
    taken = values._rows(order) if isinstance(values, RaggedTensor) else raw_ops.gather(values, order)
    made: RaggedTensor = RaggedTensor.from_value_rowids(
        taken, raw_ops.gather(numbers, order), count, validate=False
    )
    return made


@scoped
def cross(
    inputs: Sequence[RaggedTensor | SparseTensor | TensorLike], name: str | None = None
) -> RaggedTensor:
    """Combine features: of each row every combination of elements, as a text.

    Args:
        inputs: matrices of strings or integers, ragged, sparse or not, with as many rows.
        name: a scope for the names of its operations in a graph.

    Returns:
        Ragged rows of strings.

    Raises:
        TypeError: for other elements.
        ValueError: for what is no matrix.

    >>> import penstock as tf
    >>> tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.constant([["d"], ["e"]])]).to_list()
    [[b'a_X_d'], [b'b_X_e', b'c_X_e']]
    """
    found = crosses.crossed([crosses.feature(x) for x in inputs])
    made: RaggedTensor = RaggedTensor.from_row_lengths(found.values, found.lengths, validate=False)
    return made


@scoped
def cross_hashed(
    inputs: Sequence[RaggedTensor | SparseTensor | TensorLike],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> RaggedTensor:
    """Combine features: of each row every combination of elements, as a hash.

    Args:
        inputs: matrices of strings or integers, ragged, sparse or not, with as many rows.
        num_buckets: what the hashes are below; 0 for no bound.
        hash_key: what the hash starts with.
        name: a scope for the names of its operations in a graph.

    Returns:
        Ragged rows of `int64`.

    Raises:
        TypeError: for other elements.
        ValueError: for what is no matrix.

    >>> import penstock as tf
    >>> x = tf.ragged.cross_hashed([tf.ragged.constant([["a"], ["b", "c"]]), tf.constant([["d"], ["e"]])], 10)
    >>> x.row_lengths().numpy().tolist()
    [1, 2]
    """
    found = crosses.crossed([crosses.feature(x) for x in inputs], buckets=num_buckets, key=hash_key)
    made: RaggedTensor = RaggedTensor.from_row_lengths(found.values, found.lengths, validate=False)
    return made
