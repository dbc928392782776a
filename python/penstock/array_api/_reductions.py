"""Statistics, and what else reduces or accumulates along axes."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._runtime.arguments import axis_of, extents, known_rank, sizes
from penstock.array_api._arrays import (
    DEFAULT_FLOAT,
    DEFAULT_INTEGER,
    Array,
    array,
    cast,
    new,
    scalar_like,
)
from penstock.array_api._manipulation import Axes, concat, places

__all__ = [
    "all",
    "any",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def along(x: Tensor, axis: Axes | None) -> list[int] | None:
    """The axes to reduce; None for all.

    Raises:
        ValueError: for one out of range, or one that is there twice.
    """
    return None if axis is None else places(axis, len(known_rank(x)))


def reduced(op: str, x: Tensor, axis: Axes | None, keepdims: bool) -> Tensor:
    """A reduction over axes; over none of them each element is its own."""
    chosen = along(x, axis)
    if chosen == []:
        return x
    result: Tensor = getattr(raw_ops, op)(x, axes=chosen, keepdims=keepdims)
    return result


def _accumulator(x: Tensor, dtype: DType | None) -> Tensor:
    """The operand of a sum or a product, in the dtype of the result."""
    if dtype is not None:
        return cast(x, _core.DType(dtype))
    if x.dtype == _core.bool or (x.dtype.is_integer and x.dtype.size < DEFAULT_INTEGER.size):
        return cast(x, _core.uint64 if x.dtype.is_unsigned else DEFAULT_INTEGER)
    return x


def sum(
    x: Array, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Sum the elements over axes, or all; over none the sum is 0.

    Args:
        x: an array.
        axis: the axes.
        dtype: the dtype to compute in; by default that of `x`, or `int64` or `uint64` for shorter integers.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without the axes.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    return new(reduced("reduce_sum", _accumulator(array(x, "sum"), dtype), axis, keepdims))


def prod(
    x: Array, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Multiply the elements over axes, or all; over none the product is 1.

    Args:
        x: an array.
        axis: the axes; all by default.
        dtype: the dtype to compute in; by default that of `x`, or `int64` or `uint64` for shorter integers.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without the axes.

    >>> from penstock import array_api as xp
    >>> xp.prod(xp.asarray([2, 3])).tolist()
    6
    """
    return new(reduced("reduce_prod", _accumulator(array(x, "prod"), dtype), axis, keepdims))


def max(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Find the greatest element over axes, or of all. NaN wins; over none it is the least value of the dtype.

    Args:
        x: an array.
        axis: the axes; all by default.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without the axes, of the dtype of `x`.

    >>> from penstock import array_api as xp
    >>> xp.max(xp.asarray([1, 3, 2])).tolist()
    3
    """
    return new(reduced("reduce_max", array(x, "max", "real numeric"), axis, keepdims))


def min(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Find the least element over axes, or of all. NaN wins; over none it is the greatest value of the dtype.

    Args:
        x: an array.
        axis: the axes; all by default.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without the axes, of the dtype of `x`.

    >>> from penstock import array_api as xp
    >>> xp.min(xp.asarray([1, 3, 2])).tolist()
    1
    """
    return new(reduced("reduce_min", array(x, "min", "real numeric"), axis, keepdims))


def _floating(x: Array, function: str) -> Tensor:
    x = array(x, function, "numeric")
    return cast(x, DEFAULT_FLOAT) if x.dtype.is_integer else x


def mean(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Compute the mean over axes, or of all elements; over none it is NaN.

    Args:
        x: an array.
        axis: the axes; all by default.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without the axes; of integers it is `float32`.

    >>> from penstock import array_api as xp
    >>> xp.mean(xp.asarray([1.0, 2.0])).tolist()
    1.5
    """
    return new(reduced("reduce_mean", _floating(x, "mean"), axis, keepdims))


def _count(x: Tensor, chosen: list[int] | None) -> Tensor:
    """How many elements are reduced, as a real number of the precision of `x`."""
    dims = sizes(x)
    total: Any = 1
    for a in range(len(dims)) if chosen is None else chosen:
        total = total * dims[a]
    real = x.dtype.real_dtype
    return cast(total, real) if isinstance(total, Tensor) else _core._to_tensor(float(total), real)


def var(
    x: Array, /, *, axis: Axes | None = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """Compute the variance over axes, or of all elements.

    Args:
        x: an array; integers become `float32`.
        axis: the axes.
        correction: what is taken from the number of elements in the divisor: 1 for the variance of a sample.
        keepdims: whether the axes stay, with size 1.

    Returns:
        The mean square of the deviations, NaN where no more than `correction` elements are reduced.

    >>> from penstock import array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]), correction=1).tolist()
    2.0
    """
    x = _floating(x, "var")
    chosen = along(x, axis)
    deviation = x - raw_ops.reduce_mean(x, axes=chosen, keepdims=True) if chosen != [] else raw_ops.sub(x, x)
    squares = raw_ops.square(raw_ops.abs(deviation))
    freedom = _count(x, chosen) - _core._to_tensor(float(correction), squares.dtype)
    zero = scalar_like(0, freedom)
    divisor = raw_ops.select(freedom > zero, freedom, scalar_like(float("nan"), freedom))
    total = raw_ops.reduce_sum(squares, axes=chosen, keepdims=keepdims) if chosen != [] else squares
    return new(total / divisor)


def std(
    x: Array, /, *, axis: Axes | None = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """Compute the standard deviation, the square root of `var`, over axes, or of all elements.

    Args:
        x: an array.
        axis: the axes; all by default.
        correction: what is taken from the number of elements in the divisor: 1 for that of a sample.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without the axes; of integers it is `float32`.

    >>> from penstock import array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0])).tolist()
    1.0
    """
    return new(raw_ops.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims)))


def _cumulative(
    x: Array, axis: int | None, dtype: DType | None, include_initial: bool, op: str, start: int
) -> Tensor:
    function = f"cumulative_{op.removeprefix('cum')}"
    x = _accumulator(array(x, function), dtype)
    rank = len(known_rank(x))
    if rank == 0:
        raise ValueError(f"{function}: argument 'x' must have at least one dimension")
    if axis is None and rank > 1:
        raise ValueError(f"{function}: argument 'axis' must be given for an array of {rank} dimensions")
    place = axis_of(0 if axis is None else axis, rank)
    result: Tensor = getattr(raw_ops, op)(x, axis=place)
    if include_initial:
        dims = sizes(x)
        dims[place] = 1
        initial = raw_ops.fill(extents(dims), scalar_like(start, x))
        result = raw_ops.concat([initial, result], axis=place)
    return new(result)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Compute the running sum along an axis.

    Args:
        x: an array of at least one dimension.
        axis: the axis, which may be left out for a vector.
        dtype: the dtype to compute in, as for `sum`.
        include_initial: whether a 0 comes before the first sum.

    Returns:
        An array of the shape of `x`, one longer along the axis with `include_initial`.

    Raises:
        ValueError: where the axis is missing or out of range.

    >>> from penstock import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _cumulative(x, axis, dtype, include_initial, "cumsum", 0)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """Compute the running product along an axis.

    Args:
        x: an array.
        axis: the axis, which may be left out for a vector.
        dtype: the dtype to compute in; by default that of `x`, or `int64` or `uint64` for shorter integers.
        include_initial: whether a 1 comes before the first product.

    Returns:
        An array of the shape of `x`, one longer along the axis with `include_initial`.

    >>> from penstock import array_api as xp
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3])).tolist()
    [1, 2, 6]
    """
    return _cumulative(x, axis, dtype, include_initial, "cumprod", 1)


def all(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Tell whether every element is true, or not 0, over axes, or of all.

    Args:
        x: an array.
        axis: the axes; all by default.
        keepdims: whether the axes stay, with size 1.

    Returns:
        Booleans, without the axes.

    >>> from penstock import array_api as xp
    >>> xp.all(xp.asarray([True, False])).tolist()
    False
    """
    return new(reduced("reduce_all", cast(array(x, "all"), _core.bool), axis, keepdims))


def any(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Tell whether some element is true, or not 0, over axes, or of all.

    Args:
        x: an array.
        axis: the axes; all by default.
        keepdims: whether the axes stay, with size 1.

    Returns:
        Booleans, without the axes.

    >>> from penstock import array_api as xp
    >>> xp.any(xp.asarray([True, False])).tolist()
    True
    """
    return new(reduced("reduce_any", cast(array(x, "any"), _core.bool), axis, keepdims))


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Tensor:
    """Compute the differences of neighbours along an axis.

    Args:
        x: an array.
        axis: the axis.
        n: how often.
        prepend: values to put before `x` along the axis first.
        append: values to put behind it.

    Returns:
        An array that is `n` shorter along the axis.

    Raises:
        ValueError: for a negative `n`, or an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.diff(xp.asarray([1, 4, 9])).tolist()
    [3, 5]
    """
    x = array(x, "diff")
    place = axis_of(axis, len(known_rank(x)))
    if n < 0:
        raise ValueError(f"diff: argument 'n' must not be negative, got {n}")
    if prepend is not None or append is not None:
        x = concat([a for a in (prepend, x, append) if a is not None], axis=place)
    later, earlier = ([slice(None)] * place + [part] for part in (slice(1, None), slice(None, -1)))
    for _ in range(n):
        pair = x[tuple(later)], x[tuple(earlier)]
        x = raw_ops.not_equal(*pair) if x.dtype == _core.bool else raw_ops.sub(*pair)
    return new(x)
