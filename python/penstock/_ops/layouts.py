"""Indices of flat arrays, parts of sequences turned round, counts in equal bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, pad, stack, transpose
from penstock._ops.creation import range as range_of
from penstock._ops.indexing import gather, where
from penstock._ops.reductions import cumprod
from penstock._ops.shapes import identity, reshape
from penstock._ops.sorting import approx_max_k, approx_min_k
from penstock._runtime.arguments import axis_of, integer, items, known_rank, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

_ASSERT = getattr(raw_ops, "assert")

__all__ = [
    "approx_top_k",
    "extract_volume_patches",
    "guarantee_const",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "parallel_stack",
    "reverse_sequence",
    "unravel_index",
]


@scoped
def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: IntLike | None = None,
    batch_axis: IntLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Turn round the first elements of each sequence, and leave those behind them.

    Args:
        input: a tensor of known rank.
        seq_lengths: for each element of the batch how many elements to turn round.
        seq_axis: the dimension of the sequences.
        batch_axis: the dimension of the batch; 0 by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        ValueError: without `seq_axis`, or where both dimensions are the same.
        InvalidArgumentError: where a dimension is out of range.

    >>> import penstock as tf
    >>> tf.reverse_sequence([[1, 2, 3, 4], [5, 6, 7, 8]], [2, 4], seq_axis=1).numpy().tolist()
    [[2, 1, 3, 4], [8, 7, 6, 5]]
    """
    x = _core._to_tensor(input)
    rank = len(known_rank(x))
    if seq_axis is None:
        raise InvalidArgumentError("argument 'seq_axis' is needed")
    along = axis_of(seq_axis, rank, "seq_axis")
    batch = axis_of(0 if batch_axis is None else batch_axis, rank, "batch_axis")
    if along == batch:
        raise InvalidArgumentError(f"arguments 'seq_axis' and 'batch_axis' must differ, got {along} for both")
    lengths = raw_ops.cast(_core._to_tensor(seq_lengths), dtype=_core.int32)[:, None]
    front = [batch, along, *(i for i in range(rank) if i not in (batch, along))]
    rows = transpose(x, front)
    places = range_of(sizes(rows)[1])
    mirrored = where(raw_ops.less(places, lengths), lengths - 1 - places, places)
    turned = gather(rows, mirrored, axis=1, batch_dims=1)
    return transpose(turned, [front.index(i) for i in range(rank)])


@scoped
def unravel_index(indices: TensorLike, dims: SizesLike, name: str | None = None) -> _core.Tensor:
    """Find the coordinates of elements of a flat array.

    Args:
        indices: integers: places in the array of shape `dims`, row by row; a scalar or a vector.
        dims: the shape of the array, of the dtype of `indices`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[len(dims), *indices.shape]`.

    Raises:
        InvalidArgumentError: for an index that is out of range, when the operation runs.

    >>> import penstock as tf
    >>> tf.unravel_index([2, 5, 7], [3, 3]).numpy().tolist()
    [[0, 1, 2], [2, 2, 1]]
    """
    places = _core._to_tensor(indices)
    extents = _core._to_tensor_hinted(dims, places.dtype)
    # The elements behind one step of each dimension.
    strides = cumprod(extents, exclusive=True, reverse=True)
    total = raw_ops.reduce_prod(extents, axes=[0])
    inside = raw_ops.logical_and(
        raw_ops.less(places, total), raw_ops.greater_equal(places, raw_ops.zeros_like(places))
    )
    _ASSERT(
        raw_ops.reduce_all(inside),
        places,
        extents,
        message="unravel_index: argument 'indices' is out of range of 'dims':",
    )
    rank = len(known_rank(places))
    shape = [-1] + [1] * rank
    # A table of no elements has no strides of 0: the check above has failed by then.
    steps = reshape(raw_ops.maximum(strides, raw_ops.ones_like(strides)), shape)
    return raw_ops.floormod(
        raw_ops.floordiv(places, steps),
        reshape(raw_ops.maximum(extents, raw_ops.ones_like(extents)), shape),
    )


@scoped
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: IntLike = 100,
    dtype: DTypeLike = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """Find the bin of each value, among bins of equal width.

    Args:
        values: numbers.
        value_range: where the first bin starts and the last one ends. Values outside belong to these.
        nbins: how many bins there are.
        dtype: that of the result.
        name: a scope for the names of its operations in a graph.

    Returns:
        The numbers of the bins, of the shape of `values`.

    Raises:
        TypeError: where `nbins` is no integer.
        ValueError: for no bins.

    >>> import penstock as tf
    >>> tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy().tolist()
    [0, 0, 1, 2, 4, 4]
    """
    x = _core._to_tensor(values)
    bounds = _core._to_tensor_hinted(value_range, x.dtype)
    if not bounds.shape.is_compatible_with([2]):
        raise InvalidArgumentError(f"argument 'value_range' must have shape [2], got {bounds.shape}")
    bins = _core._to_tensor(nbins)
    if not bins.dtype.is_integer or bins.shape.rank not in (0, None):
        raise TypeError(f"argument 'nbins' must be an integer, got {nbins!r}")
    known = _core._known_value(bins)
    if known is not None and int(known.numpy()) < 1:
        raise InvalidArgumentError(f"argument 'nbins' must be at least 1, got {int(known.numpy())}")
    count = raw_ops.cast(bins, dtype=_core.float64)
    wide, edges = raw_ops.cast(x, dtype=_core.float64), raw_ops.cast(bounds, dtype=_core.float64)
    places = raw_ops.floor((wide - edges[0]) / (edges[1] - edges[0]) * count)
    inside = raw_ops.maximum(raw_ops.minimum(places, count - 1), raw_ops.zeros_like(count))
    return raw_ops.cast(inside, dtype=_core.DType(dtype))


@scoped
def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: IntLike = 100,
    dtype: DTypeLike = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """Count values in bins of equal width.

    Args:
        values: numbers.
        value_range: where the first bin starts and the last one ends. Values outside belong to these.
        nbins: how many bins there are.
        dtype: that of the result.
        name: a scope for the names of its operations in a graph.

    Returns:
        The counts, of shape `[nbins]`.

    Raises:
        TypeError: where `nbins` is no integer.
        ValueError: for no bins.

    >>> import penstock as tf
    >>> tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy().tolist()
    [2, 1, 1, 0, 2]
    """
    bins = reshape(histogram_fixed_width_bins(values, value_range, nbins), [-1])
    ones = raw_ops.cast(raw_ops.ones_like(bins), dtype=_core.DType(dtype))
    return raw_ops.unsorted_segment_sum(ones, bins, _core._to_tensor(nbins))


def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> _core.Tensor:
    """Put tensors one behind the other along a new first dimension, as `stack` does.

    Args:
        values: tensors of one shape and dtype.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `values`.

    Raises:
        InvalidArgumentError: where the shapes differ.

    >>> import penstock as tf
    >>> tf.parallel_stack([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    return stack(list(values), 0, name)


def guarantee_const(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Give a tensor as it is. The engine finds by itself what is constant.

    Args:
        input: a tensor.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    >>> import penstock as tf
    >>> int(tf.guarantee_const(1))
    1
    """
    return identity(input, name)


@dispatched
def approx_top_k(
    input: TensorLike,
    k: IntLike,
    reduction_dimension: IntLike = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Find the greatest or the least elements along a dimension; exactly, on this engine.

    Args:
        input: floating numbers, of rank 1 or more.
        k: how many.
        reduction_dimension: the dimension to search.
        recall_target: accepted; all are found.
        is_max_k: whether to find the greatest, else the least.
        reduction_input_size_override: accepted and ignored.
        aggregate_to_topk: accepted; `k` elements are returned.
        name: a scope for the names of its operations in a graph.

    Returns:
        The values and their `int32` positions.

    Raises:
        InvalidArgumentError: for a scalar, or a `k` that is negative or too large.

    >>> import penstock as tf
    >>> values, positions = tf.approx_top_k([1.0, 4.0, 2.0], k=1)
    >>> positions.numpy().tolist()
    [1]
    """
    find = approx_max_k if is_max_k else approx_min_k
    return find(input, k, reduction_dimension, name=name)


@scoped
def extract_volume_patches(
    input: TensorLike,
    ksizes: Sequence[IntLike],
    strides: Sequence[IntLike],
    padding: str,
    name: str | None = None,
) -> _core.Tensor:
    """Give boxes of volumes, those around each place as the channels of one element.

    Args:
        input: of shape `[batch, depth, height, width, channels]`.
        ksizes: `[1, planes, rows, columns, 1]`, the size of a box.
        strides: `[1, planes, rows, columns, 1]`, how far boxes are apart.
        padding: `"VALID"`, or `"SAME"` for zeros around the volumes.
        name: a scope for the names of its operations in a graph.

    Returns:
        The boxes, of the dtype of `input` and of shape `[batch, planes, down, across, box * channels]`.

    Raises:
        ValueError: for arguments of other forms.

    >>> import penstock as tf
    >>> x = tf.zeros([1, 3, 3, 3, 2])
    >>> tf.extract_volume_patches(x, [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID").shape
    TensorShape([1, 2, 2, 2, 16])
    """
    x = _core._to_tensor(input)
    if len(known_rank(x)) != 5:
        raise InvalidArgumentError(f"argument 'input' must have rank 5, got shape {x.shape}")
    box, steps = (_inner(value, argument) for value, argument in ((ksizes, "ksizes"), (strides, "strides")))
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(f"argument 'padding' must be 'SAME' or 'VALID', got {padding!r}")
    edges: list[list[Any]] = []
    counts: list[Any] = []
    zero = _core._to_tensor(0, _core.int32)
    for size, span, step in zip(sizes(x)[1:4], box, steps, strict=True):
        if padding == "SAME":
            count = -(-size // step)
            missing = (count - 1) * step + span - size
            missing = max(missing, 0) if isinstance(missing, int) else raw_ops.maximum(missing, zero)
            edges.append([missing // 2, missing - missing // 2])
        else:
            count = (size - span) // step + 1
            edges.append([0, 0])
        counts.append(count)
    x = pad(x, [[0, 0], *edges, [0, 0]])
    parts = []
    for i in range(box[0]):
        for j in range(box[1]):
            for k in range(box[2]):
                key = [
                    slice(at, at + (count - 1) * step + 1, step)
                    for at, count, step in zip((i, j, k), counts, steps, strict=True)
                ]
                parts.append(x[(slice(None), *key)])
    return concat(parts, -1)


def _inner(value: Any, argument: str) -> list[int]:
    """The three numbers in the middle of five.

    Raises:
        ValueError: where they are not `[1, planes, rows, columns, 1]`.
    """
    five = [integer(n, argument) for n in items(value, argument)]
    if len(five) != 5 or five[0] != 1 or five[4] != 1 or min(five) < 1:
        raise InvalidArgumentError(f"argument '{argument}' must be [1, planes, rows, columns, 1], got {five}")
    return five[1:4]
