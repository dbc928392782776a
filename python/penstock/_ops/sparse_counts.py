"""Sums of chosen rows by segment, and counts of integers as sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.sparse_places import groups, int64, kept
from penstock._runtime.arguments import known_rank, require
from penstock._runtime.scope import scoped
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["bincount", "segment_mean", "segment_sqrt_n", "segment_sum"]

_INT64 = _core.int64


def _segments(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any, sparse_gradient: bool, power: float
) -> _core.Tensor:
    """Sums of rows by segment, over a power of the number of rows."""
    places = _core._to_tensor_hinted(indices, _core.int32)
    ids = _core._to_tensor_hinted(segment_ids, _core.int32)
    rows = raw_ops.gather(data, places, sparse_gradient=bool(sparse_gradient))
    if num_segments is None:
        ends = raw_ops.concat([_core._to_tensor([-1], ids.dtype), ids], axis=0)
        require(raw_ops.reduce_all(ends[1:] >= ends[:-1]), "argument 'segment_ids' must not descend", ids)
        count = raw_ops.reduce_max(ends) + 1
    else:
        count = raw_ops.cast(_core._to_tensor(num_segments), dtype=ids.dtype)
    total = raw_ops.unsorted_segment_sum(rows, ids, count)
    if not power:
        return total
    many = raw_ops.unsorted_segment_sum(raw_ops.ones_like(ids), ids, count)
    many = raw_ops.cast(raw_ops.maximum(many, _core._to_tensor(1, many.dtype)), dtype=total.dtype)
    divisor = many if power == 1 else raw_ops.sqrt(many)
    for _ in known_rank(total)[1:]:
        divisor = raw_ops.expand_dims(divisor, axis=-1)
    return total / divisor


@scoped
def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> _core.Tensor:
    """Add up chosen rows by segment.

    Args:
        data: a tensor.
        indices: the rows to take.
        segment_ids: the segment of each row that is taken, in ascending order unless `num_segments` is given.
        num_segments: the number of segments, by default one more than the last.
        name: a scope for the names of its operations in a graph.
        sparse_gradient: whether the gradient of `data` is a `tf.IndexedSlices`.

    Returns:
        A tensor of the dtype of `data`, with a row for each segment; 0 where one has no rows.

    Raises:
        InvalidArgumentError: where an index is out of range, or segments descend.

    >>> import penstock as tf
    >>> tf.sparse.segment_sum([[1, 2], [3, 4], [5, 6]], [0, 2, 1], [0, 0, 1]).numpy().tolist()
    [[6, 8], [3, 4]]
    """
    return _segments(data, indices, segment_ids, num_segments, sparse_gradient, 0)


@scoped
def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> _core.Tensor:
    """Compute the mean of chosen rows by segment.

    Args:
        data: a tensor of floats.
        indices: the rows to take.
        segment_ids: the segment of each row that is taken, in ascending order unless `num_segments` is given.
        num_segments: the number of segments, by default one more than the last.
        name: a scope for the names of its operations in a graph.
        sparse_gradient: whether the gradient of `data` is a `tf.IndexedSlices`.

    Returns:
        A tensor of the dtype of `data`, with a row for each segment; 0 where one has no rows.

    Raises:
        InvalidArgumentError: where an index is out of range, or segments descend.

    >>> import penstock as tf
    >>> tf.sparse.segment_mean([[1.0], [3.0], [5.0]], [0, 2, 1], [0, 0, 1]).numpy().tolist()
    [[3.0], [3.0]]
    """
    return _segments(data, indices, segment_ids, num_segments, sparse_gradient, 1)


@scoped
def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> _core.Tensor:
    """Add up chosen rows by segment, over the square root of their number.

    Args:
        data: a tensor of floats.
        indices: the rows to take.
        segment_ids: the segment of each row that is taken, in ascending order unless `num_segments` is given.
        num_segments: the number of segments, by default one more than the last.
        name: a scope for the names of its operations in a graph.
        sparse_gradient: whether the gradient of `data` is a `tf.IndexedSlices`.

    Returns:
        A tensor of the dtype of `data`, with a row for each segment; 0 where one has no rows.

    Raises:
        InvalidArgumentError: where an index is out of range, or segments descend.

    >>> import penstock as tf
    >>> tf.sparse.segment_sqrt_n([[1.0], [3.0]], [0, 1, 0, 1], [0, 0, 0, 0]).numpy().tolist()
    [[4.0]]
    """
    return _segments(data, indices, segment_ids, num_segments, sparse_gradient, 0.5)


@scoped
def bincount(
    values: SparseTensor | RaggedTensor | TensorLike,
    weights: SparseTensor | RaggedTensor | TensorLike | None = None,
    axis: int | None = 0,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count how often each integer occurs, where it does.

    Args:
        values: integers from 0, in a tensor, a sparse matrix or ragged rows.
        weights: what to add for each element in place of 1; of the same kind as `values`.
        axis: 0 or None for one count of all, -1 for one of each row of a matrix.
        minlength: the least last extent of the result.
        maxlength: its greatest last extent; integers beyond are left out.
        binary_output: whether to say only if an integer occurs.
        name: a scope for the names of its operations in a graph.

    Returns:
        A sparse vector of counts, for `axis` -1 a sparse matrix; `int32`, or of the dtype of `weights`.

    Raises:
        ValueError: for another `axis`, or `weights` together with `binary_output`.
        InvalidArgumentError: for a negative integer.

    >>> import penstock as tf
    >>> x = tf.sparse.bincount([[10, 20, 30, 20], [11, 101, 11, 1001]], axis=-1)
    >>> x.indices.numpy().tolist(), x.values.numpy().tolist()
    ([[0, 10], [0, 20], [0, 30], [1, 11], [1, 101], [1, 1001]], [1, 2, 1, 2, 1, 1])
    """
    if axis not in (None, 0, -1):
        raise InvalidArgumentError(f"argument 'axis' must be None, 0 or -1, got {axis!r}")
    if weights is not None and binary_output:
        raise InvalidArgumentError("arguments 'weights' and 'binary_output' cannot be given together")
    numbers, rows, count = _rows_of(values)
    if axis != -1 or rows is None:
        rows, count = raw_ops.zeros_like(numbers), None
    if weights is None:
        each = raw_ops.ones_like(numbers)
        each = raw_ops.cast(each, dtype=_core.int32)
    else:
        each = _rows_of(weights)[0]
        if isinstance(weights, SparseTensor) and isinstance(values, SparseTensor):
            each = weights.values
    require(raw_ops.reduce_all(numbers >= 0), "argument 'values' must not be negative", numbers)
    if maxlength is not None:
        chosen = kept(numbers < int64(maxlength))
        numbers, rows, each = (raw_ops.gather(x, chosen) for x in (numbers, rows, each))
    found = groups([numbers] if count is None else [rows, numbers])
    if binary_output:
        totals = raw_ops.cast(raw_ops.ones_like(found.first), dtype=_core.int32)
    else:
        totals = raw_ops.unsorted_segment_sum(each, found.of, found.count)
    columns = raw_ops.gather(numbers, found.first)
    least = int64(0 if minlength is None else minlength)
    length = raw_ops.maximum(raw_ops.reduce_max(raw_ops.concat([columns, int64([-1])], axis=0)) + 1, least)
    if count is None:
        return SparseTensor(raw_ops.expand_dims(columns, axis=1), totals, raw_ops.reshape(length, [1]))
    places = raw_ops.stack([raw_ops.gather(rows, found.first), columns], axis=1)
    return SparseTensor(places, totals, raw_ops.stack([count, length]))


def _rows_of(values: Any) -> tuple[Any, Any, Any]:
    """The elements, the row of each, and the number of rows; of what is no matrix, no rows."""
    if isinstance(values, SparseTensor):
        whole = values.indices.shape[1] == 2
        return _numbers(values.values), values.indices[:, 0] if whole else None, values.dense_shape[0]
    if isinstance(values, RaggedTensor):
        return _numbers(values.flat_values), int64(values.value_rowids()), values.nrows(_INT64)
    x = _core._to_tensor(values)
    flat = _numbers(raw_ops.reshape(x, [-1]))
    if len(known_rank(x)) != 2:
        return flat, None, None
    rows, columns = raw_ops.shape(x, dtype=_INT64)[0], raw_ops.shape(x, dtype=_INT64)[1]
    places = raw_ops.range(int64(0), rows * columns, int64(1))
    return flat, raw_ops.floordiv(places, raw_ops.maximum(columns, int64(1))), rows


def _numbers(values: Any) -> Any:
    return raw_ops.cast(values, dtype=_INT64) if values.dtype.is_integer else values
