"""Functions of segments and counts, composed of scatters."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._wrap import known_rank

_ASSERT = getattr(raw_ops, "assert")


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> _core.Tensor:
    """The means of the rows of each segment, 0 for one without rows.

    Arguments are those of `unsorted_segment_sum`.
    """
    x = _core._convert(data)
    ids = _core._convert(segment_ids, None, _core.int32)
    total = raw_ops.unsorted_segment_sum(x, ids, num_segments)
    ones = raw_ops.fill(raw_ops.shape(ids), _core._convert(1, x.dtype))
    count = raw_ops.maximum(raw_ops.unsorted_segment_sum(ones, ids, num_segments), 1)
    extra = len(known_rank(x)) - len(known_rank(ids))
    shape = raw_ops.concat([raw_ops.shape(count), raw_ops.fill([extra], 1)], axis=0)
    count = raw_ops.reshape(count, shape)
    return total / count if x.dtype.is_floating or x.dtype.is_complex else raw_ops.floordiv(total, count)


def _extreme(op: Any, data: Any, segment_ids: Any, num_segments: Any, start: Any) -> _core.Tensor:
    x = _core._convert(data)
    ids = _core._convert(segment_ids, None, _core.int32)
    count = raw_ops.cast(_core._convert(num_segments, None, ids.dtype), dtype=ids.dtype)
    inner = len(known_rank(ids))
    flat = raw_ops.reshape(ids, [-1])
    rest = raw_ops.shape(x)[inner:]
    rows = raw_ops.reshape(x, raw_ops.concat([raw_ops.reshape(raw_ops.size(ids), [1]), rest], axis=0))
    # Rows of negative segments go to one more row, which is cut off.
    flat = raw_ops.select(flat < 0, count, flat)
    _ASSERT(
        raw_ops.reduce_all(flat <= count), ids, message="argument 'segment_ids' must be below 'num_segments':"
    )
    head = raw_ops.reshape(raw_ops.cast(count, dtype=_core.int32), [1])
    empty = raw_ops.fill(raw_ops.concat([head + 1, rest], axis=0), _core._convert(start(x.dtype), x.dtype))
    scattered: _core.Tensor = op(empty, raw_ops.expand_dims(flat, axis=1), rows)
    return scattered[:-1]


def _number(value: Any, dtype: Any) -> Any:
    return float(value) if dtype.is_floating else int(value)


def unsorted_segment_max(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> _core.Tensor:
    """The maxima of the rows of each segment, the least value for one without rows."""
    return _extreme(
        raw_ops.tensor_scatter_nd_max, data, segment_ids, num_segments, lambda d: _number(d.min, d)
    )


def unsorted_segment_min(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> _core.Tensor:
    """The minima of the rows of each segment, the greatest value for one without rows."""
    return _extreme(
        raw_ops.tensor_scatter_nd_min, data, segment_ids, num_segments, lambda d: _number(d.max, d)
    )


def _sorted_ids(segment_ids: Any) -> tuple[_core.Tensor, _core.Tensor]:
    """Ids that are checked to be sorted, and how many segments there are."""
    ids = _core._convert(segment_ids, None, _core.int32)
    if len(known_rank(ids)) != 1:
        raise ValueError(f"argument 'segment_ids' must be a vector, got shape {ids.shape}")
    ordered = raw_ops.logical_and(raw_ops.reduce_all(ids[1:] >= ids[:-1]), raw_ops.reduce_all(ids >= 0))
    _ASSERT(ordered, ids, message="argument 'segment_ids' must be sorted and not negative:")
    last = raw_ops.reduce_max(raw_ops.concat([ids, raw_ops.fill([1], _core._convert(-1, ids.dtype))], axis=0))
    return ids, last + 1


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> _core.Tensor:
    """The sums of the rows of each segment.

    Args:
        data: a tensor.
        segment_ids: the segment of each row, a sorted vector of integers from 0.
        name: ignored.

    Raises:
        InvalidArgumentError: where the ids are not sorted.

    >>> segment_sum([1, 2, 3], [0, 0, 1]).numpy().tolist()
    [3, 3]
    """
    ids, count = _sorted_ids(segment_ids)
    return raw_ops.unsorted_segment_sum(data, ids, count)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> _core.Tensor:
    """The means of the rows of each segment, 0 for one without rows; arguments as for `segment_sum`."""
    ids, count = _sorted_ids(segment_ids)
    return unsorted_segment_mean(data, ids, count)


def _zero_where_empty(result: _core.Tensor, ids: _core.Tensor, count: _core.Tensor) -> _core.Tensor:
    rows = raw_ops.unsorted_segment_sum(raw_ops.ones_like(ids), ids, count)
    column = raw_ops.concat([raw_ops.shape(rows), raw_ops.fill([len(known_rank(result)) - 1], 1)], axis=0)
    return raw_ops.select(raw_ops.reshape(rows > 0, column), result, raw_ops.zeros_like(result))


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> _core.Tensor:
    """The maxima of the rows of each segment, 0 for one without rows; arguments as for `segment_sum`."""
    ids, count = _sorted_ids(segment_ids)
    return _zero_where_empty(unsorted_segment_max(data, ids, count), ids, count)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> _core.Tensor:
    """The minima of the rows of each segment, 0 for one without rows; arguments as for `segment_sum`."""
    ids, count = _sorted_ids(segment_ids)
    return _zero_where_empty(unsorted_segment_min(data, ids, count), ids, count)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = _core.int32,
    name: str | None = None,
    axis: Any = None,
    binary_output: bool = False,
) -> _core.Tensor:
    """How often each integer occurs.

    Args:
        arr: integers from 0; all elements count together unless `axis` is -1.
        weights: what to add for each element in place of 1.
        minlength: the least length of the result.
        maxlength: its greatest length; integers beyond are left out.
        dtype: the element type of counts.
        name: ignored.
        axis: None or 0 for one count of all, -1 for one of each row of a matrix.
        binary_output: whether to say only if an integer occurs.

    Raises:
        InvalidArgumentError: for a negative integer.

    >>> bincount([1, 1, 3]).numpy().tolist()
    [0, 2, 0, 1]
    """
    x = _core._convert(arr)
    if not x.dtype.is_integer:
        raise TypeError(f"argument 'arr' must hold integers, got {x.dtype.name}")
    if axis not in (None, 0, -1):
        raise ValueError(f"argument 'axis' must be None, 0 or -1, got {axis!r}")
    x = raw_ops.cast(x, dtype=_core.int64)
    _ASSERT(raw_ops.reduce_all(x >= 0), x, message="bincount: argument 'arr' must not be negative:")
    length = (
        raw_ops.reduce_max(
            raw_ops.concat([raw_ops.reshape(x, [-1]), _core._convert([-1], _core.int64)], axis=0)
        )
        + 1
    )
    if minlength is not None:
        length = raw_ops.maximum(length, raw_ops.cast(_core._convert(minlength), dtype=_core.int64))
    if maxlength is not None:
        length = raw_ops.minimum(length, raw_ops.cast(_core._convert(maxlength), dtype=_core.int64))
    target = _core.DType(dtype)
    if weights is None:
        what = raw_ops.fill(raw_ops.shape(x), _core._convert(1, target))
    else:
        what = raw_ops.broadcast_to(_core._convert(weights), raw_ops.shape(x))
        target = what.dtype
    inside = x < length
    rows: Any = None
    if axis == -1 and len(known_rank(x)) == 2:
        rows = raw_ops.shape(x, dtype=_core.int64)[0]
        step = raw_ops.range(_core._convert(0, _core.int64), rows, _core._convert(1, _core.int64))
        place = x + raw_ops.expand_dims(step * length, axis=1)
        total = rows * length
    else:
        place, total = x, length
    place = raw_ops.select(inside, place, _core._convert(-1, _core.int64))
    counts = raw_ops.unsorted_segment_sum(what, place, total)
    if binary_output:
        counts = raw_ops.cast(raw_ops.not_equal(counts, raw_ops.zeros_like(counts)), dtype=target)
    return counts if rows is None else raw_ops.reshape(counts, raw_ops.stack([rows, length]))


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """How often each class (row) was predicted as each class (column).

    Args:
        labels: the true classes, a vector.
        predictions: the predicted classes, a vector.
        num_classes: how many classes there are; by default one more than the greatest.
        weights: what to add for each pair in place of 1.
        dtype: the element type of the result.
        name: ignored.

    Raises:
        InvalidArgumentError: for a class that is negative or not below `num_classes`.
    """
    pair = [
        raw_ops.reshape(raw_ops.cast(_core._convert(v), dtype=_core.int64), [-1])
        for v in (labels, predictions)
    ]
    index = raw_ops.stack(pair, axis=1)
    if num_classes is None:
        count = raw_ops.reduce_max(raw_ops.concat([*pair, _core._convert([-1], _core.int64)], axis=0)) + 1
    else:
        count = raw_ops.cast(_core._convert(num_classes), dtype=_core.int64)
    target = _core.DType(dtype)
    if weights is None:
        what = raw_ops.fill(raw_ops.shape(pair[0]), _core._convert(1, target))
    else:
        what = raw_ops.cast(_core._convert(weights), dtype=target)
    return raw_ops.scatter_nd(index, what, raw_ops.stack([count, count]))


def invert_permutation(x: Any, name: str | None = None) -> _core.Tensor:
    """The permutation that undoes one: `y[x[i]] == i`.

    Raises:
        InvalidArgumentError: where `x` is no permutation of the numbers from 0.

    >>> invert_permutation([2, 0, 1]).numpy().tolist()
    [1, 2, 0]
    """
    x = _core._convert(x, None, _core.int32)
    length = raw_ops.cast(raw_ops.size(x), dtype=x.dtype)
    one, zero = _core._convert(1, x.dtype), _core._convert(0, x.dtype)
    place = raw_ops.expand_dims(x, axis=1)
    dims = raw_ops.reshape(length, [1])
    seen = raw_ops.scatter_nd(place, raw_ops.ones_like(x), dims)
    _ASSERT(
        raw_ops.reduce_all(raw_ops.equal(seen, one)),
        x,
        message="invert_permutation: argument 'x' is no permutation:",
    )
    return raw_ops.scatter_nd(place, raw_ops.range(zero, length, one), dims)
