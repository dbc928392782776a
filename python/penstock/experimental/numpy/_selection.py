"""Elements that are chosen, found and sorted."""

from __future__ import annotations

from collections.abc import Sequence

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock._ops import indexing, shapes, sorting
from penstock._runtime.arguments import axis_of, known_rank, results, sizes
from penstock._types.aliases import IntLike
from penstock.array_api import _searching as standard
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    as_type,
    convert,
    number,
    plain,
    promoted,
    public,
    refuse,
)


@public
def where(
    condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None
) -> Tensor | list[Tensor]:
    """Choose between two arrays by a condition, or find where it holds.

    Args:
        condition: booleans, or what counts as such.
        x: what is chosen where the condition holds.
        y: what is chosen elsewhere.

    Returns:
        An array of the shape that all broadcast to, of the dtype that `x` and `y` promote to; without these
        what `nonzero(condition)` gives.

    Raises:
        ValueError: where only one of `x` and `y` is given.

    >>> tnp.where([True, False], 1, 2.5).tolist()
    [1.0, 2.5]
    """
    if (x is None) != (y is None):
        raise InvalidArgumentError("where: arguments 'x' and 'y' must both be given, or neither")
    if x is None:
        return nonzero(condition)
    first, second = promoted(x, y)
    return raw_ops.select(as_type(convert(condition), _core.bool), first, second)


@public
def nonzero(a: ArrayLike) -> list[Tensor]:
    """Find the elements that are not zero.

    Returns:
        For each dimension the indices, of `int64`.

    >>> [x.tolist() for x in tnp.nonzero([1, 0, 2])]
    [[0, 2]]
    """
    x = as_type(convert(a), _core.bool)
    if not known_rank(x):
        x = shapes.reshape(x, [1])
    found = raw_ops.where_indices(x)
    return results(raw_ops.unstack(found, num=len(known_rank(x)), axis=1))


@public
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Tensor:
    """Choose by the first of several conditions that holds.

    Returns:
        An array of the shape that all broadcast to, of the dtype that the values promote to.

    Raises:
        ValueError: where there is no condition, or not a value for each.

    >>> tnp.select([[True, False]], [[1, 2]], 7).tolist()
    [1, 7]
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise InvalidArgumentError(
            f"select: argument 'choicelist' must have as many entries as 'condlist', at least one; got "
            f"{len(choicelist)} and {len(condlist)}"
        )
    chosen, *choices = promoted(default, *choicelist)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        chosen = raw_ops.select(as_type(convert(condition), _core.bool), choice, chosen)
    return chosen


@public
def compress(condition: ArrayLike, a: ArrayLike, axis: IntLike | None = None) -> Tensor:
    """Take the slices along an axis where a condition holds.

    Args:
        condition: a vector of booleans; where it is shorter than the axis, the rest is not taken.
        a: an array, or what becomes one.
        axis: the axis; by default the array is taken as a vector.

    Returns:
        An array of the rank of `a`, or a vector.

    Raises:
        ValueError: where the condition is no vector.

    >>> tnp.compress([True, False, True], [1, 2, 3]).tolist()
    [1, 3]
    """
    mask, x = as_type(convert(condition), _core.bool), convert(a)
    if len(known_rank(mask)) != 1:
        raise InvalidArgumentError(f"compress: argument 'condition' must be a vector, got shape {mask.shape}")
    if axis is None or not known_rank(x):
        x = shapes.reshape(x, [-1])
    place = axis_of(0 if axis is None else axis, len(known_rank(x)))
    chosen = shapes.squeeze(raw_ops.where_indices(mask), [1])
    return raw_ops.gather(x, chosen, axis=place)


@public
def take(
    a: ArrayLike, indices: ArrayLike, axis: IntLike | None = None, out: None = None, mode: str = "clip"
) -> Tensor:
    """Take elements at indices along an axis.

    Args:
        a: an array, or what becomes one.
        indices: integers.
        axis: the axis; by default the array is taken as a vector.
        out: not supported: must be None.
        mode: 'clip' for the first or last element where an index is out of range, 'wrap' to start anew.

    Returns:
        An array with the dimensions of the indices in place of the axis.

    Raises:
        ValueError: for another mode, or where `out` is given.

    >>> tnp.take([10, 20, 30], [2, 5]).tolist()
    [30, 30]
    """
    refuse("take", out=out)
    if mode not in ("clip", "wrap"):
        raise InvalidArgumentError(f"take: argument 'mode' must be 'clip' or 'wrap', got {mode!r}")
    x, at = convert(a), convert(indices)
    if axis is None:
        x = shapes.reshape(x, [-1])
    place = axis_of(0 if axis is None else axis, len(known_rank(x)))
    length = convert(sizes(x)[place], at.dtype)
    if mode == "wrap":
        at = raw_ops.floormod(at, length)
    else:
        at = raw_ops.minimum(raw_ops.maximum(at, number(0, at)), length - number(1, at))
    return indexing.gather(x, at, axis=place)


@public
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: IntLike | None) -> Tensor:
    """Take elements at indices along an axis, which differ from one slice to the next.

    Args:
        arr: an array, or what becomes one.
        indices: integers, of the rank of the array; apart from the axis both broadcast.
        axis: the axis; None to take the array as a vector.

    Returns:
        An array of the shape of the indices.

    >>> tnp.take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1).tolist()
    [[2], [3]]
    """
    x, at = convert(arr), convert(indices)
    if axis is None:
        x = shapes.reshape(x, [-1])
    return plain(standard.take_along_axis(x, at, axis=0 if axis is None else int(axis)))


@public
def ix_(*args: ArrayLike) -> list[Tensor]:
    """Make indices of the grid that vectors of indices span.

    Args:
        *args: vectors of integers, or of booleans for the indices where they hold.

    Returns:
        For each vector an array with its elements along a dimension of its own.

    Raises:
        ValueError: where one is no vector, or of another dtype.

    >>> [x.tolist() for x in tnp.ix_([0, 1], [True, False])]
    [[[0], [1]], [[0]]]
    """
    made = []
    for place, value in enumerate(args):
        x = convert(value)
        if len(known_rank(x)) != 1:
            raise InvalidArgumentError(f"ix_: arguments must be vectors, got shape {x.shape}")
        if x.dtype == _core.bool:
            x = nonzero(x)[0]
        elif not x.dtype.is_integer:
            raise DTypeError(f"ix_: arguments must be of integers or booleans, got {x.dtype.name}")
        made.append(shapes.reshape(x, [-1 if axis == place else 1 for axis in range(len(args))]))
    return made


def _orderable(function: str, a: ArrayLike, order: None) -> Tensor:
    refuse(function, order=order)
    x = convert(a)
    if x.dtype.is_complex:
        raise DTypeError(f"{function}: argument 'a' must be real, got {x.dtype.name}")
    return x


@public
def argsort(a: ArrayLike, axis: IntLike | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Find the indices that sort an array.

    Args:
        a: an array, or what becomes one.
        axis: the axis; None to take the array as a vector.
        kind: 'quicksort' or 'stable'; equal elements keep their order with either.
        order: not supported: must be None.

    Returns:
        An array of `int64` of the shape of `a`.

    Raises:
        ValueError: for another kind, or where `order` is given.

    >>> tnp.argsort([3, 1, 2]).tolist()
    [1, 2, 0]
    """
    if kind not in ("quicksort", "stable"):
        raise InvalidArgumentError(f"argsort: argument 'kind' must be 'quicksort' or 'stable', got {kind!r}")
    x = _orderable("argsort", a, order)
    if axis is None or not known_rank(x):
        x, axis = shapes.reshape(x, [-1]), 0
    x = as_type(x, _core.int8) if x.dtype == _core.bool else x
    index = _core.int32 if promotion.settings.lattice else _core.int64
    return as_type(sorting.argsort(x, axis, stable=True), index)


@public
def sort(a: ArrayLike, axis: IntLike | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Sort the elements of an array, NaN last.

    Args:
        a: an array, or what becomes one.
        axis: the axis; None to take the array as a vector.
        kind: must be 'quicksort'.
        order: not supported: must be None.

    Returns:
        An array of the shape and dtype of `a`.

    Raises:
        ValueError: for another kind, or where `order` is given.

    >>> tnp.sort([3, 1, 2]).tolist()
    [1, 2, 3]
    """
    if kind != "quicksort":
        raise InvalidArgumentError(f"sort: argument 'kind' must be 'quicksort', got {kind!r}")
    x = _orderable("sort", a, order)
    if axis is None:
        x, axis = shapes.reshape(x, [-1]), 0
    if x.dtype == _core.bool:
        return as_type(sorting.sort(as_type(x, _core.int8), axis), _core.bool)
    return sorting.sort(x, axis)


def _place(op: str, a: ArrayLike, axis: IntLike | None) -> Tensor:
    x = convert(a)
    x = as_type(x, _core.int8) if x.dtype == _core.bool else x
    if axis is None or not known_rank(x):
        x = shapes.reshape(x, [-1])
    place = axis_of(0 if axis is None else axis, len(known_rank(x)))
    found: Tensor = getattr(raw_ops, op)(x, axis=place)
    return as_type(found, _core.int64)


@public
def argmax(a: ArrayLike, axis: IntLike | None = None) -> Tensor:
    """Find where the greatest element is, the first of several.

    Args:
        a: an array, or what becomes one.
        axis: the axis; by default the array is taken as a vector.

    Returns:
        An array of `int64` without the axis.

    >>> int(tnp.argmax([1, 3, 2]))
    1
    """
    return _place("argmax", a, axis)


@public
def argmin(a: ArrayLike, axis: IntLike | None = None) -> Tensor:
    """Find where the least element is, the first of several.

    Args:
        a: an array, or what becomes one.
        axis: the axis; by default the array is taken as a vector.

    Returns:
        An array of `int64` without the axis.

    >>> int(tnp.argmin([2, 1, 3]))
    1
    """
    return _place("argmin", a, axis)
