"""Sorting, selection, search and distinct elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._ops.casts import cast
from penstock._ops.elementwise import is_finite
from penstock._ops.reductions import reduce_all, reduce_sum
from penstock._runtime.arguments import axis_number, axis_of, known_rank
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._types.records import TopKV2, Unique, UniqueWithCounts
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            f"argument 'direction' must be 'ASCENDING' or 'DESCENDING', got {direction!r}"
        )
    return direction == "DESCENDING"


@dispatched
def sort(
    values: TensorLike, axis: IntLike = -1, direction: str = "ASCENDING", name: str | None = None
) -> _core.Tensor:
    """Sort the elements along a dimension.

    Equal elements keep their order, and NaN counts as greater than every number.

    Args:
        values: real numbers.
        axis: the dimension, the last by default.
        direction: `"ASCENDING"` or `"DESCENDING"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `values`.

    Raises:
        ValueError: for another direction.
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.sort([3, 1, 2], direction="DESCENDING").numpy().tolist()
    [3, 2, 1]
    """
    return raw_ops.sort(values, axis=axis_number(axis), descending=_descending(direction), name=name)


@dispatched
def argsort(
    values: TensorLike,
    axis: IntLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Find the order of the elements along a dimension.

    Args:
        values: real numbers.
        axis: the dimension, the last by default.
        direction: `"ASCENDING"` or `"DESCENDING"`.
        stable: accepted; equal elements always keep their order.
        name: a name for the result in a graph.

    Returns:
        An `int32` tensor of the shape of `values`: the positions of the elements in order.

    Raises:
        ValueError: for another direction.
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.argsort([3, 1, 2]).numpy().tolist()
    [1, 2, 0]
    """
    return raw_ops.argsort(values, axis=axis_number(axis), descending=_descending(direction), name=name)


def top_k(
    input: TensorLike,
    k: IntLike = 1,
    sorted: bool = True,
    index_type: DTypeLike = _core.int32,
    name: str | None = None,
) -> TopKV2:
    """Find the greatest elements along the last dimension, and their positions.

    Args:
        input: real numbers, of rank 1 or more. NaN counts as greater than every number.
        k: how many, at most the size of the last dimension.
        sorted: accepted; the greatest always comes first, and of equal elements the first.
        index_type: `int32` or `int64`, the dtype of the positions.
        name: a name for the results in a graph.

    Returns:
        `values` and `indices`, of the shape of `input` with `k` in place of the last size.

    Raises:
        InvalidArgumentError: for a scalar, or a `k` that is negative or too large.

    >>> import penstock as tf
    >>> tf.math.top_k([1, 4, 2, 3], k=2).indices.numpy().tolist()
    [1, 3]
    """
    return TopKV2(*raw_ops.top_k(input, k, dtype=_core.DType(index_type), name=name))


def approx_max_k(
    operand: TensorLike,
    k: IntLike,
    reduction_dimension: IntLike = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Find the greatest elements along a dimension, and their positions; exactly, on this engine.

    Args:
        operand: floating numbers, of rank 1 or more.
        k: how many.
        reduction_dimension: the dimension to search.
        recall_target: accepted; all of the greatest are found.
        reduction_input_size_override: accepted and ignored.
        aggregate_to_topk: accepted; `k` elements are returned.
        name: a scope for the names of its operations in a graph.

    Returns:
        The values, greatest first, and their `int32` positions, of the shape of `operand` with `k` in place
        of the size of the dimension.

    Raises:
        InvalidArgumentError: for a scalar, or a `k` that is negative or too large.

    >>> import penstock as tf
    >>> values, positions = tf.math.approx_max_k([1.0, 4.0, 2.0, 3.0], k=2)
    >>> positions.numpy().tolist()
    [1, 3]
    """
    return _extreme_k(operand, k, reduction_dimension, name, least=False)


def approx_min_k(
    operand: TensorLike,
    k: IntLike,
    reduction_dimension: IntLike = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Find the least elements along a dimension, and their positions; exactly, on this engine.

    Args:
        operand: floating numbers, of rank 1 or more.
        k: how many.
        reduction_dimension: the dimension to search.
        recall_target: accepted; all of the least are found.
        reduction_input_size_override: accepted and ignored.
        aggregate_to_topk: accepted; `k` elements are returned.
        name: a scope for the names of its operations in a graph.

    Returns:
        The values, least first, and their `int32` positions, of the shape of `operand` with `k` in place of
        the size of the dimension.

    Raises:
        InvalidArgumentError: for a scalar, or a `k` that is negative or too large.

    >>> import penstock as tf
    >>> values, positions = tf.math.approx_min_k([1.0, 4.0, 2.0, 3.0], k=2)
    >>> positions.numpy().tolist()
    [0, 2]
    """
    return _extreme_k(operand, k, reduction_dimension, name, least=True)


@scoped
def _extreme_k(
    operand: TensorLike, k: IntLike, dimension: IntLike, name: str | None, least: bool
) -> tuple[_core.Tensor, _core.Tensor]:
    x = _core._to_tensor(operand)
    rank = len(known_rank(x, 1))
    axis = axis_of(dimension, rank, "reduction_dimension")
    swapped = list(range(rank))
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    rows = raw_ops.transpose(-x if least else x, perm=swapped)
    values, positions = (raw_ops.transpose(part, perm=swapped) for part in top_k(rows, k))
    return (-values if least else values), positions


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = _core.int32,
    name: str | None = None,
) -> _core.Tensor:
    """Find where each value would be inserted into its row of an ascending sequence.

    Args:
        sorted_sequence: numbers that ascend along the last dimension.
        values: numbers of the same dtype, of the same shape but for the last dimension.
        side: `"left"` for the position before equal elements, `"right"` for the one after them.
        out_type: `int32` or `int64`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `out_type` with the shape of `values`.

    Raises:
        ValueError: for another side.
        InvalidArgumentError: where the leading dimensions differ.

    >>> import penstock as tf
    >>> tf.searchsorted([1, 3, 3, 5], [3, 6]).numpy().tolist()
    [1, 4]
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"argument 'side' must be 'left' or 'right', got {side!r}")
    return raw_ops.searchsorted(
        sorted_sequence, values, right=side == "right", dtype=_core.DType(out_type), name=name
    )


def unique(x: TensorLike, out_idx: DTypeLike = _core.int32, name: str | None = None) -> Unique:
    """Find the distinct elements of a vector, in the order in which they first occur.

    Args:
        x: a vector. Every NaN is distinct; 0 and -0 are the same.
        out_idx: `int32` or `int64`, the dtype of `idx`.
        name: a name for the results in a graph.

    Returns:
        `y`, the distinct elements, and `idx`: `x[i]` is `y[idx[i]]`.

    Raises:
        InvalidArgumentError: where `x` is no vector.

    >>> import penstock as tf
    >>> y, idx = tf.unique([5, 7, 5])
    >>> y.numpy().tolist(), idx.numpy().tolist()
    ([5, 7], [0, 1, 0])
    """
    y, idx, _ = raw_ops.unique(x, dtype=_core.DType(out_idx), name=name)
    return Unique(y, idx)


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = _core.int32, name: str | None = None
) -> UniqueWithCounts:
    """Find the distinct elements of a vector, and count how often each occurs.

    Args:
        x: a vector.
        out_idx: the dtype of indices and counts, `int32` or `int64`.
        name: a name for the results in a graph.

    Returns:
        `y`, the distinct elements in the order in which they first occur; `idx`, such that `x[i]` is
        `y[idx[i]]`; and `count`, a number for each of `y`.

    Raises:
        InvalidArgumentError: where `x` is no vector.

    >>> import penstock as tf
    >>> tf.unique_with_counts([5, 7, 5]).count.numpy().tolist()
    [2, 1]
    """
    return UniqueWithCounts(*raw_ops.unique(x, dtype=_core.DType(out_idx), name=name))


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Tell whether each element is less than the next.

    Args:
        x: a numeric tensor, taken as a vector.
        name: a name for the result in a graph.

    Returns:
        A `bool` scalar.

    >>> import penstock as tf
    >>> tf.math.is_strictly_increasing([1, 2, 2]).numpy()
    np.False_
    """
    flat = raw_ops.reshape(x, [-1])
    return reduce_all(flat[:-1] < flat[1:], name=name)


def is_non_decreasing(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Tell whether no element is greater than the next.

    Args:
        x: a numeric tensor, taken as a vector.
        name: a name for the result in a graph.

    Returns:
        A `bool` scalar.

    >>> import penstock as tf
    >>> tf.math.is_non_decreasing([1, 2, 2]).numpy()
    np.True_
    """
    flat = raw_ops.reshape(x, [-1])
    return reduce_all(flat[:-1] <= flat[1:], name=name)


@dispatched
def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: IntLike, name: str | None = None
) -> _core.Tensor:
    """Tell for each row whether fewer than `k` classes have a greater prediction than the target class.

    Args:
        targets: `int32` or `int64`, a vector: the class of each row.
        predictions: `float32`, a matrix with a column for each class.
        k: how many classes count.
        name: a name for the result in a graph.

    Returns:
        A vector of booleans; false for a class that does not exist, and in rows with infinities or NaN.

    >>> import penstock as tf
    >>> tf.math.in_top_k([0, 1], [[0.1, 0.9], [0.2, 0.8]], 1).numpy().tolist()
    [False, True]
    """
    predictions = _core._to_tensor(predictions)
    targets = _core._to_tensor_hinted(targets, _core.int32)
    classes = raw_ops.cast(raw_ops.shape(predictions)[1], dtype=targets.dtype)
    exists = raw_ops.logical_and(targets >= 0, targets < classes)
    own = raw_ops.gather(
        predictions, raw_ops.select(exists, targets, raw_ops.zeros_like(targets)), axis=1, batch_dims=1
    )
    above = reduce_sum(cast(predictions > raw_ops.expand_dims(own, axis=1), _core.int32), 1)
    finite = reduce_all(is_finite(predictions), 1)
    return raw_ops.logical_and(
        raw_ops.logical_and(above < _core._to_tensor(k, _core.int32), finite), exists, name=name
    )
