"""Functions of segments, counts and permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import known_rank, named
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

_ASSERT = getattr(raw_ops, "assert")


@dispatched
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> _core.Tensor:
    """Sum the entries of each segment, in any order.

    Args:
        data: a tensor whose leading dimensions are those of `segment_ids`.
        segment_ids: the segment of each entry, below `num_segments`. Entries of a negative segment are left
            out.
        num_segments: how many segments the result has, in place of those dimensions.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data`, of shape `[num_segments, *data.shape[segment_ids.ndim:]]`:
        0 for a segment without entries.

    Raises:
        InvalidArgumentError: for an id that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.math.unsorted_segment_sum([1, 2, 3, 4], [1, 0, 1, -1], 2).numpy().tolist()
    [2, 4]
    """
    return raw_ops.unsorted_segment_sum(data, segment_ids, num_segments, name=name)


@dispatched
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> _core.Tensor:
    """Compute the mean of the entries of each segment, in any order.

    Args:
        data: a tensor whose leading dimensions are those of `segment_ids`.
        segment_ids: the segment of each entry, below `num_segments`. Entries of a negative segment are left
            out.
        num_segments: how many segments the result has, in place of those dimensions.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data`, a floating-point one for integers as in `truediv`, of shape
        `[num_segments, *data.shape[segment_ids.ndim:]]`: 0 for a segment without entries.

    Raises:
        InvalidArgumentError: for an id that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.math.unsorted_segment_mean([1, 2, 3, 4], [1, 0, 1, -1], 2).numpy().tolist()
    [2.0, 2.0]
    """
    x = _core._to_tensor(data)
    if x.dtype.is_integer:
        x = raw_ops.cast(x, dtype=_core.float32 if x.dtype.size <= 2 else _core.float64)
    return raw_ops.unsorted_segment_mean(x, segment_ids, num_segments, name=name)


@scoped
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> _core.Tensor:
    """Compute the sum of the entries of each segment divided by the root of their number, in any order.

    Args:
        data: a floating tensor whose leading dimensions are those of `segment_ids`.
        segment_ids: the segment of each entry, below `num_segments`. Entries of a negative segment are left
            out.
        num_segments: how many segments the result has, in place of those dimensions.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `data`, of shape `[num_segments, *data.shape[segment_ids.ndim:]]`: 0 for a
        segment without entries.

    Raises:
        InvalidArgumentError: for an id that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.math.unsorted_segment_sqrt_n([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 0], 1).numpy().tolist()
    [5.0]
    """
    x = _core._to_tensor(data)
    ids = _core._to_tensor(segment_ids)
    ones = raw_ops.cast(raw_ops.ones_like(ids), dtype=x.dtype)
    count = raw_ops.maximum(
        raw_ops.unsorted_segment_sum(ones, ids, num_segments), _core._to_tensor(1, x.dtype)
    )
    total = raw_ops.unsorted_segment_sum(x, ids, num_segments)
    inner = len(known_rank(x)) - len(known_rank(ids))
    for _ in range(inner):
        count = raw_ops.expand_dims(count, axis=-1)
    return total * raw_ops.rsqrt(count)


@dispatched
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> _core.Tensor:
    """Find the greatest entries of each segment, in any order.

    Args:
        data: a tensor whose leading dimensions are those of `segment_ids`.
        segment_ids: the segment of each entry, below `num_segments`. Entries of a negative segment are left
            out.
        num_segments: how many segments the result has, in place of those dimensions.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data`, of shape `[num_segments, *data.shape[segment_ids.ndim:]]`:
        the least finite value for a segment without entries.

    Raises:
        InvalidArgumentError: for an id that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.math.unsorted_segment_max([1, 2, 3, 4], [1, 0, 1, -1], 2).numpy().tolist()
    [2, 3]
    """
    return raw_ops.unsorted_segment_max(data, segment_ids, num_segments, name=name)


@dispatched
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> _core.Tensor:
    """Find the least entries of each segment, in any order.

    Args:
        data: a tensor whose leading dimensions are those of `segment_ids`.
        segment_ids: the segment of each entry, below `num_segments`. Entries of a negative segment are left
            out.
        num_segments: how many segments the result has, in place of those dimensions.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data`, of shape `[num_segments, *data.shape[segment_ids.ndim:]]`:
        the greatest finite value for a segment without entries.

    Raises:
        InvalidArgumentError: for an id that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.math.unsorted_segment_min([1, 2, 3, 4], [1, 0, 1, -1], 2).numpy().tolist()
    [2, 1]
    """
    return raw_ops.unsorted_segment_min(data, segment_ids, num_segments, name=name)


@dispatched
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> _core.Tensor:
    """Multiply the entries of each segment, in any order.

    Args:
        data: a tensor whose leading dimensions are those of `segment_ids`.
        segment_ids: the segment of each entry, below `num_segments`. Entries of a negative segment are left
            out.
        num_segments: how many segments the result has, in place of those dimensions.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data`, of shape `[num_segments, *data.shape[segment_ids.ndim:]]`:
        1 for a segment without entries.

    Raises:
        InvalidArgumentError: for an id that is not below `num_segments`.

    >>> import penstock as tf
    >>> tf.math.unsorted_segment_prod([1, 2, 3, 4], [1, 0, 1, -1], 2).numpy().tolist()
    [2, 3]
    """
    return raw_ops.unsorted_segment_prod(data, segment_ids, num_segments, name=name)


@dispatched
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> _core.Tensor:
    """Sum the entries of each segment, which lie behind one another.

    Args:
        data: a tensor.
        segment_ids: the segment of each entry along the first dimension: a vector of integers from 0 that
            ascends.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data` with one entry for each segment up to the last: 0 for a segment
        without entries.

    Raises:
        InvalidArgumentError: for ids that are negative or do not ascend.

    >>> import penstock as tf
    >>> tf.math.segment_sum([1, 3, 4], [0, 0, 2]).numpy().tolist()
    [4, 0, 4]
    """
    return raw_ops.segment_sum(data, segment_ids, name=name)


@dispatched
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the mean of the entries of each segment, which lie behind one another.

    Args:
        data: a tensor.
        segment_ids: the segment of each entry along the first dimension: a vector of integers from 0 that
            ascends.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data`, rounded to 0 for integers, with one entry for each segment up to the
        last: 0 for a segment without entries.

    Raises:
        InvalidArgumentError: for ids that are negative or do not ascend.

    >>> import penstock as tf
    >>> tf.math.segment_mean([1, 3, 4], [0, 0, 2]).numpy().tolist()
    [2, 0, 4]
    """
    return raw_ops.segment_mean(data, segment_ids, name=name)


@dispatched
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> _core.Tensor:
    """Find the greatest entries of each segment, which lie behind one another.

    Args:
        data: a tensor.
        segment_ids: the segment of each entry along the first dimension: a vector of integers from 0 that
            ascends.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data` with one entry for each segment up to the last: 0 for a segment
        without entries.

    Raises:
        InvalidArgumentError: for ids that are negative or do not ascend.

    >>> import penstock as tf
    >>> tf.math.segment_max([1, 3, 4], [0, 0, 2]).numpy().tolist()
    [3, 0, 4]
    """
    return raw_ops.segment_max(data, segment_ids, name=name)


@dispatched
def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> _core.Tensor:
    """Find the least entries of each segment, which lie behind one another.

    Args:
        data: a tensor.
        segment_ids: the segment of each entry along the first dimension: a vector of integers from 0 that
            ascends.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data` with one entry for each segment up to the last: 0 for a segment
        without entries.

    Raises:
        InvalidArgumentError: for ids that are negative or do not ascend.

    >>> import penstock as tf
    >>> tf.math.segment_min([1, 3, 4], [0, 0, 2]).numpy().tolist()
    [1, 0, 4]
    """
    return raw_ops.segment_min(data, segment_ids, name=name)


@dispatched
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> _core.Tensor:
    """Multiply the entries of each segment, which lie behind one another.

    Args:
        data: a tensor.
        segment_ids: the segment of each entry along the first dimension: a vector of integers from 0 that
            ascends.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `data` with one entry for each segment up to the last: 1 for a segment
        without entries.

    Raises:
        InvalidArgumentError: for ids that are negative or do not ascend.

    >>> import penstock as tf
    >>> tf.math.segment_prod([1, 3, 4], [0, 0, 2]).numpy().tolist()
    [3, 1, 4]
    """
    return raw_ops.segment_prod(data, segment_ids, name=name)


@dispatched
def bincount(
    arr: TensorLike | RaggedTensor | SparseTensor,
    weights: TensorLike | RaggedTensor | SparseTensor | None = None,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    dtype: DTypeLike = _core.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> _core.Tensor:
    """Count how often each integer occurs.

    Args:
        arr: integers from 0, in a tensor, ragged rows or a sparse matrix; floats are cut off. All elements
            count together unless `axis` is -1.
        weights: what to add for each element in place of 1, of the same kind as `arr`; where it is empty, 1
            of its dtype.
        minlength: the least length of the result.
        maxlength: its greatest length; integers beyond are left out.
        dtype: the element type of counts.
        name: a name for the result in a graph.
        axis: None or 0 for one count of all, -1 for one of each row of a matrix.
        binary_output: whether to say only if an integer occurs.

    Returns:
        A vector of `dtype` with a count for each integer from 0, of the dtype of `weights` where they are
        given; a matrix where `axis` is -1.

    Raises:
        TypeError: where `arr` does not hold numbers or booleans.
        ValueError: for another `axis`.
        InvalidArgumentError: for a negative integer.

    >>> import penstock as tf
    >>> tf.math.bincount([1, 1, 3]).numpy().tolist()
    [0, 2, 0, 1]
    """
    if isinstance(arr, SparseTensor):
        arr, weights = _rows_of_sparse(arr), _rows_of_sparse(weights)
    if isinstance(arr, RaggedTensor):
        return _bincount_of_ragged(arr, weights, minlength, maxlength, dtype, name, axis, binary_output)
    x = _core._to_tensor(arr)
    if not x.dtype.is_integer:
        x = raw_ops.cast(x, dtype=_core.int32)
    if axis not in (None, 0, -1):
        raise InvalidArgumentError(f"argument 'axis' must be None, 0 or -1, got {axis!r}")
    by_row = axis == -1 and len(known_rank(x)) == 2
    least = 0 if minlength is None else minlength
    most = -1 if maxlength is None else raw_ops.maximum(_core._to_tensor(maxlength), 0)
    counts = raw_ops.bincount(x, least, most, rows=by_row)
    target = _core.DType(dtype)
    if weights is not None:
        counts = _weights_of(x, _core._to_tensor(weights), counts, by_row)
        target = counts.dtype
    if binary_output:
        counts = raw_ops.not_equal(counts, raw_ops.zeros_like(counts))
    return named(counts if counts.dtype == target else raw_ops.cast(counts, dtype=target), name)


def _rows_of_sparse(x: Any) -> Any:
    """The elements that a sparse vector or matrix has, in rows; another value as it is."""
    if not isinstance(x, SparseTensor):
        return x
    if x.shape.rank == 1:
        return x.values
    return RaggedTensor.from_value_rowids(x.values, x.indices[:, 0], nrows=x.dense_shape[0])


def _bincount_of_ragged(
    arr: RaggedTensor,
    weights: Any,
    minlength: IntLike | None,
    maxlength: IntLike | None,
    dtype: DTypeLike,
    name: str | None,
    axis: int | None,
    binary_output: bool,
) -> _core.Tensor:
    """Count the elements of a ragged tensor: those of rows are padded with a number that is left out."""
    if axis != -1:
        flat = getattr(weights, "flat_values", weights)
        return bincount(arr.flat_values, flat, minlength, maxlength, dtype, name, axis, binary_output)
    rows = raw_ops.cast(arr.to_tensor(-1), dtype=_core.int64)
    least = raw_ops.cast(_core._to_tensor(0 if minlength is None else minlength), dtype=_core.int64)
    # Behind it an empty tensor has a greatest element.
    greatest = raw_ops.reduce_max(raw_ops.concat([raw_ops.reshape(rows, [-1]), least[None] - 1], axis=0))
    beyond = greatest + 1
    most = (
        beyond if maxlength is None else raw_ops.minimum(raw_ops.cast(maxlength, dtype=_core.int64), beyond)
    )
    rows = raw_ops.cast(arr.to_tensor(raw_ops.cast(beyond, dtype=arr.dtype)), dtype=_core.int64)
    spread = weights.to_tensor() if hasattr(weights, "to_tensor") else weights
    return bincount(rows, spread, least, most, dtype, name, axis, binary_output)


def _weights_of(x: _core.Tensor, weights: _core.Tensor, counts: _core.Tensor, by_row: bool) -> _core.Tensor:
    """The sums of weights in the place of counts of integers."""
    x = raw_ops.cast(x, dtype=_core.int64)
    if weights.shape.num_elements() == 0:
        weights = _core._to_tensor(1, weights.dtype)
    weights = raw_ops.broadcast_to(weights, raw_ops.shape(x))
    shape = raw_ops.shape(counts, dtype=_core.int64)
    length = shape[-1]
    place = raw_ops.select(x < length, x, _core._to_tensor(-1, _core.int64))
    if by_row:
        step = raw_ops.range(_core._to_tensor(0, _core.int64), shape[0], _core._to_tensor(1, _core.int64))
        first = raw_ops.expand_dims(step * length, axis=1)
        place = raw_ops.select(place >= 0, place + first, place)
    sums = raw_ops.unsorted_segment_sum(weights, place, raw_ops.reduce_prod(shape))
    return raw_ops.reshape(sums, shape) if by_row else sums


@dispatched
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: IntLike | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """Count how often each class (row) was predicted as each class (column).

    Args:
        labels: the true classes, a vector.
        predictions: the predicted classes, a vector.
        num_classes: how many classes there are; by default one more than the greatest.
        weights: what to add for each pair in place of 1.
        dtype: the element type of the result.
        name: a name for the result in a graph.

    Returns:
        A matrix of `dtype` and of shape `[num_classes, num_classes]`.

    Raises:
        InvalidArgumentError: for a class that is negative or not below `num_classes`.

    >>> import penstock as tf
    >>> tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy().tolist()
    [[1, 0], [1, 1]]
    """
    pair = [
        raw_ops.reshape(raw_ops.cast(_core._to_tensor(v), dtype=_core.int64), [-1])
        for v in (labels, predictions)
    ]
    index = raw_ops.stack(pair, axis=1)
    if num_classes is None:
        count = raw_ops.reduce_max(raw_ops.concat([*pair, _core._to_tensor([-1], _core.int64)], axis=0)) + 1
    else:
        count = raw_ops.cast(_core._to_tensor(num_classes), dtype=_core.int64)
    target = _core.DType(dtype)
    if weights is None:
        what = raw_ops.fill(raw_ops.shape(pair[0]), _core._to_tensor(1, target))
    else:
        what = raw_ops.cast(_core._to_tensor(weights), dtype=target)
    return raw_ops.scatter_nd(index, what, raw_ops.stack([count, count]), name=name)


@dispatched
def invert_permutation(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the permutation that undoes one: `y[x[i]] == i`.

    Args:
        x: a vector of the integers from 0 on, in any order.
        name: a name for the result in a graph.

    Returns:
        A vector of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: where `x` is no permutation of the numbers from 0.

    >>> import penstock as tf
    >>> tf.math.invert_permutation([2, 0, 1]).numpy().tolist()
    [1, 2, 0]
    """
    x = _core._to_tensor_hinted(x, _core.int32)
    length = raw_ops.cast(raw_ops.size(x), dtype=x.dtype)
    one, zero = _core._to_tensor(1, x.dtype), _core._to_tensor(0, x.dtype)
    place = raw_ops.expand_dims(x, axis=1)
    dims = raw_ops.reshape(length, [1])
    seen = raw_ops.scatter_nd(place, raw_ops.ones_like(x), dims)
    _ASSERT(
        raw_ops.reduce_all(raw_ops.equal(seen, one)),
        x,
        message="invert_permutation: argument 'x' is no permutation:",
    )
    return raw_ops.scatter_nd(place, raw_ops.range(zero, length, one), dims, name=name)
