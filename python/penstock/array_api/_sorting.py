"""Sorting, searching in what is sorted, and sets."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock._ops.segments import unsorted_segment_min
from penstock._runtime.arguments import axis_of, known_rank, results
from penstock.array_api._arrays import INDEX, Array, array, is_scalar, new, operands
from penstock.array_api._searching import take

__all__ = [
    "argsort",
    "isin",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sort the elements along an axis.

    Args:
        x: an array of a real dtype.
        axis: the axis.
        descending: whether the greatest comes first. NaN is above every number.
        stable: accepted and ignored: equal elements always keep their order.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    x = array(x, "sort", "real numeric")
    return new(raw_ops.sort(x, axis=axis_of(axis, len(known_rank(x))), descending=descending))


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Find the order of the elements along an axis.

    Args:
        x: an array.
        axis: the axis.
        descending: whether the greatest comes first. NaN is above every number.
        stable: accepted and ignored: equal elements always keep their order.

    Returns:
        Indices, `int64`, in the shape of `x`.

    >>> from penstock import array_api as xp
    >>> xp.argsort(xp.asarray([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    x = array(x, "argsort", "real numeric")
    place = axis_of(axis, len(known_rank(x)))
    return new(raw_ops.argsort(x, axis=place, descending=descending, dtype=INDEX))


def searchsorted(
    x1: Array,
    x2: Array | int | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Tensor:
    """Find where elements could be inserted into a vector so that it stays in ascending order.

    Args:
        x1: a vector, in ascending order, or made so by `sorter`.
        x2: the elements, an array of any shape or a number.
        side: `"left"` of equal elements, or `"right"` of them.
        sorter: the indices that sort `x1`.

    Returns:
        The positions, in the shape of `x2`.

    Raises:
        ValueError: for another `side`, or where `x1` is no vector.

    >>> from penstock import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 2, 2, 5]), xp.asarray([2, 9]), side="right").tolist()
    [3, 4]
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: argument 'side' must be 'left' or 'right', got {side!r}")
    row, values = operands("searchsorted", "real numeric", x1, x2)
    if len(known_rank(row)) != 1:
        raise ValueError(f"searchsorted: argument 'x1' must be a vector, got shape {row.shape}")
    if sorter is not None:
        row = take(row, sorter)
    found = raw_ops.searchsorted(row, raw_ops.reshape(values, [-1]), right=side == "right", dtype=INDEX)
    return new(raw_ops.reshape(found, raw_ops.shape(values)))


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Tensor:
    """Tell whether each element of `x1` is in `x2`.

    Args:
        x1: the elements, an array or a number.
        x2: what they are looked for in, an array or a number.
        invert: whether to say which are not.

    Returns:
        Booleans in the shape of `x1`. NaN is in nothing.

    >>> from penstock import array_api as xp
    >>> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([3, 1])).tolist()
    [True, False, True]
    """
    values, pool = operands("isin", "any", x1, x2)
    if is_scalar(x2) or pool.dtype == _core.bool or pool.dtype.is_complex:
        flat = raw_ops.reshape(pool, [-1])
        found = raw_ops.reduce_any(raw_ops.equal(raw_ops.expand_dims(values, axis=-1), flat), axes=[-1])
    else:
        row = raw_ops.sort(raw_ops.reshape(pool, [-1]))
        wanted = raw_ops.reshape(values, [-1])
        first, behind = (
            raw_ops.searchsorted(row, wanted, right=right, dtype=INDEX) for right in (False, True)
        )
        number = raw_ops.equal(wanted, wanted)
        found = raw_ops.reshape(
            raw_ops.logical_and(raw_ops.not_equal(first, behind), number), raw_ops.shape(values)
        )
    return new(raw_ops.logical_not(found) if invert else found)


class UniqueAll(NamedTuple):
    """What `unique_all` finds."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` finds."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` finds."""

    values: Tensor
    inverse_indices: Tensor


def _unique(x: Array, function: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The distinct elements, the place of each element among them, their counts, and the operand."""
    x = array(x, function)
    values, inverse, counts = results(raw_ops.unique(raw_ops.reshape(x, [-1]), dtype=INDEX))
    return new(values), inverse, new(counts), x


def unique_all(x: Array, /) -> UniqueAll:
    """Find the distinct elements, in the order in which they occur first; every NaN is distinct.

    The number of elements of the results depends on the values.

    Args:
        x: an array.

    Returns:
        `values`; `indices`, where each occurs first in the flattened array; `inverse_indices`, the place of
        each element of `x` among the values; and `counts`, how often each occurs.

    >>> from penstock import array_api as xp
    >>> xp.unique_all(xp.asarray([2, 1, 2])).counts.tolist()
    [2, 1]
    """
    values, inverse, counts, x = _unique(x, "unique_all")
    place = raw_ops.range(
        _core._to_tensor(0, INDEX), raw_ops.size(inverse, dtype=INDEX), _core._to_tensor(1, INDEX)
    )
    first = unsorted_segment_min(place, inverse, raw_ops.size(values, dtype=INDEX))
    return UniqueAll(values, new(first), new(raw_ops.reshape(inverse, raw_ops.shape(x))), counts)


def unique_counts(x: Array, /) -> UniqueCounts:
    """Find the distinct elements, as `unique_all`, and how often each occurs.

    Args:
        x: an array.

    Returns:
        `values` and `counts`.

    >>> from penstock import array_api as xp
    >>> xp.unique_counts(xp.asarray([2, 1, 2])).values.tolist()
    [2, 1]
    """
    values, _, counts, _ = _unique(x, "unique_counts")
    return UniqueCounts(values, counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Find the distinct elements, as `unique_all`, and the place of each element of `x` among them.

    Args:
        x: an array.

    Returns:
        `values` and `inverse_indices`, in the shape of `x`.

    >>> from penstock import array_api as xp
    >>> xp.unique_inverse(xp.asarray([2, 1, 2])).inverse_indices.tolist()
    [0, 1, 0]
    """
    values, inverse, _, x = _unique(x, "unique_inverse")
    return UniqueInverse(values, new(raw_ops.reshape(inverse, raw_ops.shape(x))))


def unique_values(x: Array, /) -> Tensor:
    """Find the distinct elements, as `unique_all`.

    Args:
        x: an array.

    Returns:
        A vector of the dtype of `x`.

    >>> from penstock import array_api as xp
    >>> xp.unique_values(xp.asarray([2, 1, 2])).tolist()
    [2, 1]
    """
    return _unique(x, "unique_values")[0]
