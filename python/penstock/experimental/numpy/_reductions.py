"""What reduces or accumulates along axes."""

from __future__ import annotations

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._ops import reductions, shapes
from penstock._runtime.arguments import axis_of, known_rank
from penstock._types.aliases import AxisLike, DTypeLike, IntLike
from penstock.errors import InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    as_type,
    convert,
    floating,
    inexact,
    is_inexact,
    number,
    promoted,
    public,
    refuse,
)


def _accumulated(a: ArrayLike, dtype: DTypeLike | None) -> Tensor:
    """The operand of a sum or product: narrow integers and booleans become wide ones."""
    if dtype is not None:
        return convert(a, promotion.as_dtype(dtype))
    x = convert(a)
    if is_inexact(x):
        return x
    wide = (_core.int32, _core.uint32) if promotion.settings.lattice else (_core.int64, _core.uint64)
    if x.dtype != _core.bool and x.dtype.size >= wide[0].size:
        return x
    return as_type(x, wide[x.dtype.is_unsigned])


def _averaged(a: ArrayLike, dtype: DTypeLike | None) -> Tensor:
    return floating(a) if dtype is None else convert(a, promotion.as_dtype(dtype))


def _count(x: Tensor, axis: AxisLike) -> Tensor:
    """How many elements are reduced to one, as an int64."""
    dims = raw_ops.cast(raw_ops.shape(x), dtype=_core.int64)
    if axis is not None:
        rank = len(known_rank(x))
        places = [axis] if not isinstance(axis, list | tuple) else axis
        dims = raw_ops.gather(dims, convert([axis_of(place, rank) for place in places]), axis=0)
    return raw_ops.reduce_prod(dims, axes=None, keepdims=False)


@public
def all(a: ArrayLike, axis: AxisLike = None, keepdims: bool | None = None) -> Tensor:
    """Tell whether no element is zero.

    Returns:
        An array of booleans without the axes.

    >>> bool(tnp.all([1, 0]))
    False
    """
    return reductions.reduce_all(convert(a, _core.bool), axis, bool(keepdims))


@public
def any(a: ArrayLike, axis: AxisLike = None, keepdims: bool | None = None) -> Tensor:
    """Tell whether any element is not zero.

    Returns:
        An array of booleans without the axes.

    >>> bool(tnp.any([1, 0]))
    True
    """
    return reductions.reduce_any(convert(a, _core.bool), axis, bool(keepdims))


@public
def sum(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Sum elements.

    Returns:
        An array without the axes; of narrow integers and booleans an `int64` or `uint64`.

    >>> tnp.sum([[1, 2], [3, 4]], axis=0).tolist()
    [4, 6]
    """
    x = _accumulated(a, dtype)
    if x.dtype == _core.bool:
        return reductions.reduce_any(x, axis, bool(keepdims))
    return reductions.reduce_sum(x, axis, bool(keepdims))


@public
def prod(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Multiply elements.

    Returns:
        An array without the axes; of narrow integers and booleans an `int64` or `uint64`.

    >>> tnp.prod([[1, 2], [3, 4]], axis=0).tolist()
    [3, 8]
    """
    x = _accumulated(a, dtype)
    if x.dtype == _core.bool:
        return reductions.reduce_all(x, axis, bool(keepdims))
    return reductions.reduce_prod(x, axis, bool(keepdims))


@public
def mean(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Compute means.

    Returns:
        An array without the axes; of integers a `float64`.

    Raises:
        ValueError: where `out` is given.

    >>> float(tnp.mean([1, 2]))
    1.5
    """
    refuse("mean", out=out)
    return reductions.reduce_mean(_averaged(a, dtype), axis, bool(keepdims))


def _extreme(of_bool: str, op: str, a: ArrayLike, axis: AxisLike, keepdims: bool | None) -> Tensor:
    x = convert(a)
    reduce = getattr(reductions, of_bool if x.dtype == _core.bool else op)
    reduced: Tensor = reduce(x, axis, bool(keepdims))
    return reduced


@public
def amax(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """Find the greatest elements; NaN wins.

    Returns:
        An array without the axes, of the dtype of `a`.

    Raises:
        ValueError: where `out` is given.

    >>> int(tnp.amax([1, 3, 2]))
    3
    """
    refuse("amax", out=out)
    return _extreme("reduce_any", "reduce_max", a, axis, keepdims)


@public
def amin(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """Find the least elements; NaN wins.

    Returns:
        An array without the axes, of the dtype of `a`.

    Raises:
        ValueError: where `out` is given.

    >>> int(tnp.amin([1, 3, 2]))
    1
    """
    refuse("amin", out=out)
    return _extreme("reduce_all", "reduce_min", a, axis, keepdims)


@public
def max(a: ArrayLike, axis: AxisLike = None, keepdims: bool | None = None) -> Tensor:
    """Find the greatest elements; NaN wins.

    Returns:
        An array without the axes, of the dtype of `a`.

    >>> tnp.max([[1, 4], [3, 2]], axis=0).tolist()
    [3, 4]
    """
    return amax(a, axis, keepdims=keepdims)


@public
def min(a: ArrayLike, axis: AxisLike = None, keepdims: bool | None = None) -> Tensor:
    """Find the least elements; NaN wins.

    Returns:
        An array without the axes, of the dtype of `a`.

    >>> tnp.min([[1, 4], [3, 2]], axis=0).tolist()
    [1, 2]
    """
    return amin(a, axis, keepdims=keepdims)


@public
def ptp(a: ArrayLike, axis: AxisLike = None, keepdims: bool | None = None) -> Tensor:
    """Find the distance of the greatest from the least element.

    Returns:
        An array without the axes, of the dtype of `a`.

    >>> int(tnp.ptp([1, 5, 2]))
    4
    """
    x = convert(a)
    return raw_ops.sub(amax(x, axis, keepdims=keepdims), amin(x, axis, keepdims=keepdims))


def _variance(x: Tensor, axis: AxisLike, ddof: int, keepdims: bool | None) -> Tensor:
    """The variance in the dtype of the operand, a real one of complex numbers."""
    if not ddof:
        return reductions.reduce_variance(x, axis, bool(keepdims))
    centred = raw_ops.abs(raw_ops.sub(x, reductions.reduce_mean(x, axis, True)))
    squares = reductions.reduce_sum(raw_ops.square(centred), axis, bool(keepdims))
    count = raw_ops.sub(_count(x, axis), _core._to_tensor(ddof, _core.int64))
    count = raw_ops.maximum(count, _core._to_tensor(0, _core.int64))
    return raw_ops.div(squares, raw_ops.cast(count, dtype=squares.dtype))


@public
def var(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: IntLike = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """Compute variances.

    Returns:
        An array without the axes; of integers a `float64`, of complex numbers a real one.

    Raises:
        ValueError: where `out` is given.

    >>> float(tnp.var([1, 2, 3, 4]))
    1.25
    """
    refuse("var", out=out)
    if dtype is None:
        return _variance(floating(a), axis, int(ddof), keepdims)
    target = promotion.as_dtype(dtype)
    x = inexact(convert(a, promotion.kind_of(a, target).dtype))
    return as_type(_variance(x, axis, int(ddof), keepdims), target)


@public
def std(a: ArrayLike, axis: AxisLike = None, keepdims: bool | None = None) -> Tensor:
    """Compute standard deviations.

    Returns:
        An array without the axes; of integers a `float64`, of complex numbers a real one.

    >>> float(tnp.std([1, 3]))
    1.0
    """
    return reductions.reduce_std(floating(a), axis, bool(keepdims))


def _running(op: str, a: ArrayLike, axis: IntLike | None, dtype: DTypeLike | None) -> Tensor:
    x = _accumulated(a, dtype)
    if axis is None:
        x, axis = shapes.reshape(x, [-1]), 0
    running: Tensor = getattr(raw_ops, op)(x, axis=axis_of(axis, len(known_rank(x))))
    return running


@public
def cumsum(a: ArrayLike, axis: IntLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Compute running sums.

    Args:
        a: an array, or what becomes one.
        axis: the axis; by default the array is taken as a vector.
        dtype: the dtype of the result; by default that of `sum`.

    Returns:
        An array of the shape of `a`, or a vector.

    >>> tnp.cumsum([1, 2, 3]).tolist()
    [1, 3, 6]
    """
    return _running("cumsum", a, axis, dtype)


@public
def cumprod(a: ArrayLike, axis: IntLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Compute running products.

    Args:
        a: an array, or what becomes one.
        axis: the axis; by default the array is taken as a vector.
        dtype: the dtype of the result; by default that of `prod`.

    Returns:
        An array of the shape of `a`, or a vector.

    >>> tnp.cumprod([1, 2, 3]).tolist()
    [1, 2, 6]
    """
    return _running("cumprod", a, axis, dtype)


def _without_nan(a: ArrayLike, value: int) -> Tensor:
    x = convert(a)
    if not is_inexact(x):
        return x
    return raw_ops.select(raw_ops.not_equal(x, x), number(value, x), x)


@public
def nansum(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """Sum elements, NaN as 0.

    Returns:
        An array without the axes.

    >>> float(tnp.nansum([1.0, float("nan")]))
    1.0
    """
    return sum(_without_nan(a, 0), axis, dtype, keepdims)


@public
def nanprod(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """Multiply elements, NaN as 1.

    Returns:
        An array without the axes.

    >>> float(tnp.nanprod([2.0, float("nan")]))
    2.0
    """
    return prod(_without_nan(a, 1), axis, dtype, keepdims)


@public
def nanmean(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Compute means of those elements that are not NaN.

    Returns:
        An array without the axes; NaN where there is no such element.

    >>> float(tnp.nanmean([1.0, 3.0, float("nan")]))
    2.0
    """
    x = convert(a)
    if not is_inexact(x):
        return mean(x, axis, dtype, keepdims=keepdims)
    target: DType = x.dtype if dtype is None else promotion.as_dtype(dtype)
    counted = sum(raw_ops.equal(x, x), axis, target, keepdims)
    return raw_ops.div(nansum(x, axis, target, bool(keepdims)), counted)


@public
def count_nonzero(a: ArrayLike, axis: AxisLike = None) -> Tensor:
    """Count the elements that are not zero.

    Returns:
        An array of `int64` without the axes.

    >>> int(tnp.count_nonzero([1, 0, 2]))
    2
    """
    return reductions.count_nonzero(convert(a), axis)


@public
def average(
    a: ArrayLike, axis: int | None = None, weights: ArrayLike | None = None, returned: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Compute means, weighted where weights are given.

    Args:
        a: an array, or what becomes one.
        axis: the axis; all by default.
        weights: the weight of each element; of the shape of `a`, or a vector along the axis.
        returned: whether to give the sum of the weights too.

    Returns:
        An array without the axis, of a floating-point dtype; with `returned` also the sum of the weights, of
        its shape.

    Raises:
        ValueError: for several axes, or weights of another shape.

    >>> float(tnp.average([1, 2], weights=[3, 1]))
    1.25
    """
    if isinstance(axis, list | tuple):
        raise InvalidArgumentError(f"average: argument 'axis' must be an integer or None, got {axis!r}")
    x = convert(a)
    if weights is None:
        x = inexact(x)
        mean_of = reductions.reduce_mean(x, axis)
        total = raw_ops.cast(_count(x, axis), dtype=x.dtype)
    else:
        x, scale = promoted(x, weights, beside=() if is_inexact(x) else promotion.default_float())
        if len(known_rank(scale)) != len(known_rank(x)):
            if axis is None or len(known_rank(scale)) != 1:
                raise InvalidArgumentError(
                    f"average: argument 'weights' must have the shape of 'a', {x.shape}, or be a vector "
                    f"along an axis, got shape {scale.shape}"
                )
            dims = [1] * len(known_rank(x))
            dims[axis_of(axis, len(dims))] = -1
            scale = shapes.reshape(scale, dims)
        total = reductions.reduce_sum(scale, axis)
        mean_of = raw_ops.div(reductions.reduce_sum(raw_ops.mul(x, scale), axis), total)
        if len(known_rank(total)) and scale.shape != x.shape:
            total = shapes.reshape(total, [-1])[0]
    return (mean_of, shapes.broadcast_to(total, raw_ops.shape(mean_of))) if returned else mean_of


@public
def diff(a: ArrayLike, n: IntLike = 1, axis: IntLike = -1) -> Tensor:
    """Subtract each element from the next; of booleans, tell where they differ.

    Args:
        a: an array, or what becomes one.
        n: how often.
        axis: the axis; the last one by default.

    Returns:
        An array shorter by `n` along the axis.

    Raises:
        ValueError: where `n` is negative.

    >>> tnp.diff([1, 4, 9]).tolist()
    [3, 5]
    """
    x = convert(a)
    if int(n) < 0:
        raise InvalidArgumentError(f"diff: argument 'n' must not be negative, got {n}")
    place = axis_of(axis, len(known_rank(x)))
    lead = (slice(None),) * place
    length = known_rank(x)[place]
    # Once nothing is left, nothing changes.
    times = int(n) if length is None or int(n) < length else length
    for _ in range(times):
        after, before = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = (raw_ops.not_equal if x.dtype == _core.bool else raw_ops.sub)(after, before)
    return x


@public
def size(x: ArrayLike, axis: None = None) -> int | Tensor:
    """Tell the number of elements.

    Args:
        x: an array, or what becomes one.
        axis: not supported: must be None.

    Returns:
        A number; in a traced function whose sizes are not known, a tensor of shape `[]`.

    Raises:
        ValueError: where an axis is given.

    >>> int(tnp.size([[1, 2], [3, 4]]))
    4
    """
    refuse("size", axis=axis)
    array = convert(x)
    known = array.shape.num_elements()
    return raw_ops.size(array) if known is None else known
