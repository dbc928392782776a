"""Searching, sorting, sets and indexing."""

from __future__ import annotations

from penstock import raw_ops
from penstock._core import Tensor
from penstock._ops.advanced_indexing import from_the_front
from penstock._runtime.arguments import axis_of, known_rank, results, sizes
from penstock.array_api._arrays import INDEX, Array, Scalar, array, is_scalar, new, operands
from penstock.array_api._manipulation import Axes, common_extents
from penstock.array_api._reductions import along

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "take",
    "take_along_axis",
    "where",
]


def _position(op: str, x: Array, axis: int | None, keepdims: bool) -> Tensor:
    x = array(x, op, "real numeric")
    rank = len(known_rank(x))
    if axis is None:
        found = getattr(raw_ops, op)(raw_ops.reshape(x, [-1]), axis=0, dtype=INDEX)
        return new(raw_ops.reshape(found, [1] * rank) if keepdims else found)
    place = axis_of(axis, rank)
    found = getattr(raw_ops, op)(x, axis=place, dtype=INDEX)
    return new(raw_ops.expand_dims(found, axis=place) if keepdims else found)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Find the greatest element along an axis, or among all; the first of equal ones. NaN wins.

    Args:
        x: an array.
        axis: the axis; by default the array is taken as a vector.
        keepdims: whether the axis stays, with size 1.

    Returns:
        Indices, `int64`, without the axis.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.argmax(xp.asarray([1, 3, 2])).tolist()
    1
    """
    return _position("argmax", x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Find the least element along an axis, or among all; the first of equal ones. NaN wins.

    Args:
        x: an array.
        axis: the axis; by default the array is taken as a vector.
        keepdims: whether the axis stays, with size 1.

    Returns:
        Indices, `int64`, without the axis.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.argmin(xp.asarray([2, 1, 3])).tolist()
    1
    """
    return _position("argmin", x, axis, keepdims)


def count_nonzero(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Count the elements that are not 0, over axes, or of all.

    Args:
        x: an array.
        axis: the axes; all by default.
        keepdims: whether the axes stay, with size 1.

    Returns:
        Numbers, `int64`, without the axes.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.count_nonzero(xp.asarray([0, 1, 2])).tolist()
    2
    """
    x = array(x, "count_nonzero")
    return new(raw_ops.count_nonzero(x, axes=along(x, axis), keepdims=keepdims))


def nonzero(x: Array, /) -> tuple[Tensor, ...]:
    """Find the elements that are not 0, in row-major order.

    The number of elements of the result depends on the values.

    Args:
        x: an array.

    Returns:
        A vector of indices, `int64`, for each dimension.

    Raises:
        ValueError: for an array of rank 0.

    >>> from penstock import array_api as xp
    >>> [i.tolist() for i in xp.nonzero(xp.asarray([0, 1, 2]))]
    [[1, 2]]
    """
    x = array(x, "nonzero")
    rank = len(known_rank(x))
    if rank == 0:
        raise ValueError("nonzero: argument 'x' must have at least one dimension")
    return tuple(map(new, results(raw_ops.unstack(raw_ops.where_indices(x), num=rank, axis=1))))


def where(condition: Array, x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Choose elements: of `x1` where `condition` is true, else of `x2`.

    Args:
        condition: booleans.
        x1: an array or a scalar.
        x2: an array or a scalar, not both.

    Returns:
        An array of the shape that the three broadcast to.

    Raises:
        TypeError: where the condition is not `bool`, or the dtypes have none in common.

    >>> from penstock import array_api as xp
    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0).tolist()
    [1, 0]
    """
    condition = array(condition, "where", "bool", "condition")
    if is_scalar(x1) and is_scalar(x2):
        from penstock.array_api._creation import asarray  # start-up does without it

        x1 = asarray(x1) if not isinstance(x2, float | complex) or isinstance(x1, complex) else x1
        x2 = x2 if isinstance(x1, Tensor) else asarray(x2)
    return new(raw_ops.select(condition, *operands("where", "any", x1, x2)))


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Tensor:
    """Take the slices at some indices along an axis.

    Args:
        x: an array.
        indices: integers, a vector; negative ones count from the end.
        axis: the axis, which may be left out for a vector.

    Returns:
        An array with as many slices as there are indices.

    Raises:
        ValueError: where the axis is missing or out of range.
        InvalidArgumentError: for an index outside of it.

    >>> from penstock import array_api as xp
    >>> xp.take(xp.asarray([10, 20, 30]), xp.asarray([2, 0])).tolist()
    [30, 10]
    """
    x = array(x, "take")
    at = array(indices, "take", "integral", "indices")
    rank = len(known_rank(x))
    if axis is None and rank != 1:
        raise ValueError(f"take: argument 'axis' must be given for an array of {rank} dimensions")
    place = axis_of(0 if axis is None else axis, rank)
    return new(raw_ops.gather(x, from_the_front(at, sizes(x)[place]), axis=place))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Tensor:
    """Take the elements at indices along an axis, which differ from one slice to the next.

    Args:
        x: an array.
        indices: integers, of the rank of `x`; apart from the axis both broadcast. Negative ones count from
            the end.
        axis: the axis.

    Returns:
        An array of the shape of `indices`.

    Raises:
        ValueError: where the ranks differ, the shapes do not broadcast or the axis is out of range.
        InvalidArgumentError: for an index outside of it.

    >>> from penstock import array_api as xp
    >>> xp.take_along_axis(xp.asarray([[1, 2], [3, 4]]), xp.asarray([[1], [0]]), axis=1).tolist()
    [[2], [3]]
    """
    x = array(x, "take_along_axis")
    at = array(indices, "take_along_axis", "integral", "indices")
    rank = len(known_rank(x))
    if len(known_rank(at)) != rank:
        raise ValueError(
            f"take_along_axis: argument 'indices' must have the rank of 'x', {rank}, got shape {at.shape}"
        )
    place = axis_of(axis, rank)
    at = from_the_front(at, sizes(x)[place])
    # The axis last, and all others in front of it broadcast.
    order = [a for a in range(rank) if a != place] + [place]
    rows, columns = (raw_ops.transpose(t, perm=order) for t in (x, at))
    lead = common_extents(rows, columns, 1)
    rows, columns = (
        raw_ops.broadcast_to(t, raw_ops.concat([lead, raw_ops.shape(t)[-1:]], axis=0))
        for t in (rows, columns)
    )
    found = raw_ops.gather(rows, columns, axis=rank - 1, batch_dims=rank - 1)
    inverse = sorted(range(rank), key=order.__getitem__)
    return new(raw_ops.transpose(found, perm=inverse))
