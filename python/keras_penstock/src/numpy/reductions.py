"""Functions that reduce axes or run along them."""

import math

from keras.src.backend.common import standardize_dtype

import penstock as tf
from keras_penstock.src import sparse
from keras_penstock.src.core import SPARSE, dense_tensor, shape
from keras_penstock.src.numpy.elementwise import isnan
from keras_penstock.src.numpy.manipulation import _axes, _axis
from keras_penstock.src.promotion import (
    all_common,
    as_dtype,
    floating,
    numeric,
    summable,
    tensor,
    wide_floating,
)


def _truth(x):
    x = tensor(x)
    return x if x.dtype == "bool" else tf.cast(x, "bool")


def _known(x, value):
    """`x` with a value in the place of NaN."""
    return tf.where(isnan(x), dense_tensor(value, x.dtype), x) if x.dtype.is_floating else x


def all(x, axis=None, keepdims=False):
    return tf.reduce_all(_truth(x), axis=axis, keepdims=keepdims)


def any(x, axis=None, keepdims=False):
    return tf.reduce_any(_truth(x), axis=axis, keepdims=keepdims)


def sum(x, axis=None, keepdims=False):
    if type(x) in SPARSE:
        return sparse.total(sum, x, axis, keepdims)
    return tf.reduce_sum(summable(x), axis=axis, keepdims=keepdims)


def nansum(x, axis=None, keepdims=False):
    return tf.reduce_sum(_known(summable(x), 0), axis=axis, keepdims=keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    x = summable(x) if dtype is None else as_dtype(tensor(x), standardize_dtype(dtype))
    return tf.reduce_prod(x, axis=axis, keepdims=keepdims)


def nanprod(x, axis=None, keepdims=False):
    return tf.reduce_prod(_known(summable(x), 1), axis=axis, keepdims=keepdims)


def mean(x, axis=None, keepdims=False):
    if type(x) in SPARSE:
        return sparse.mean(mean, x, axis, keepdims)
    return tf.reduce_mean(_float32_at_least(x), axis=axis, keepdims=keepdims)


def _float32_at_least(x):
    """`x` as floats, where those of integers are of `float32`, whatever the floats of the configuration."""
    x = tensor(x)
    return x if x.dtype.is_floating or x.dtype.is_complex else tf.cast(x, "float32")


def nanmean(x, axis=None, keepdims=False):
    x = floating(x)
    number = tf.logical_not(isnan(x))
    count = tf.reduce_sum(tf.cast(number, "float32"), axis=axis, keepdims=keepdims)
    total = nansum(x if x.dtype.size >= 4 else tf.cast(x, "float32"), axis, keepdims)
    return tf.cast(total / tf.cast(count, total.dtype), x.dtype)


def _deviations(x, mean_of, axis):
    return tf.square(tf.abs(x - mean_of(x, axis, True)))


def var(x, axis=None, keepdims=False):
    given = floating(x)
    x = tf.cast(given, "float32") if given.dtype.size < 4 else given
    result = mean(_deviations(x, mean, axis), axis, keepdims)
    return result if given.dtype.is_complex else tf.cast(result, given.dtype)


def std(x, axis=None, keepdims=False):
    return tf.sqrt(var(x, axis, keepdims))


def nanvar(x, axis=None, keepdims=False):
    given = floating(x)
    x = tf.cast(given, "float32") if given.dtype.size < 4 else given
    result = nanmean(_deviations(x, nanmean, axis), axis, keepdims)
    return result if given.dtype.is_complex else tf.cast(result, given.dtype)


def nanstd(x, axis=None, keepdims=False):
    return tf.sqrt(nanvar(x, axis, keepdims))


def _extreme(op, join, x, axis, keepdims, initial):
    x = tensor(x)
    if x.dtype == "bool":
        return tf.cast(_extreme(op, join, tf.cast(x, "int8"), axis, keepdims, initial), "bool")
    if initial is None:
        _require_elements(op, x, axis)
        return op(x, axis=axis, keepdims=keepdims)
    result = op(x, axis=axis, keepdims=keepdims)
    return join(result, dense_tensor(initial, x.dtype))


def _require_elements(op, x, axis):
    if x.shape.rank is None:
        return
    axes = range(x.shape.rank) if axis is None else _axes(axis, x.shape.rank)
    if 0 in (x.shape[a] for a in axes):
        name = op.__name__.removeprefix("reduce_")
        raise ValueError(
            f"Cannot compute the {name} of no elements, which has no `initial`. Received: x.shape={x.shape}"
        )


def max(x, axis=None, keepdims=False, initial=None):
    return _extreme(tf.reduce_max, tf.maximum, x, axis, keepdims, initial)


def min(x, axis=None, keepdims=False, initial=None):
    return _extreme(tf.reduce_min, tf.minimum, x, axis, keepdims, initial)


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def _nan_extreme(function, x, axis, keepdims, neutral):
    x = tensor(x)
    if not x.dtype.is_floating:
        return function(x, axis, keepdims)
    result = function(_known(x, neutral), axis, keepdims)
    nothing = tf.reduce_all(isnan(x), axis=axis, keepdims=keepdims)
    return tf.where(nothing, dense_tensor(math.nan, x.dtype), result)


def nanmax(x, axis=None, keepdims=False):
    return _nan_extreme(max, x, axis, keepdims, -math.inf)


def nanmin(x, axis=None, keepdims=False):
    return _nan_extreme(min, x, axis, keepdims, math.inf)


def ptp(x, axis=None, keepdims=False):
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def count_nonzero(x, axis=None):
    return tf.math.count_nonzero(_truth(x), axis=axis, dtype="int32")


def average(x, axis=None, weights=None):
    x, *given = all_common([x] if weights is None else [x, weights], float)
    if not given:
        return tf.reduce_mean(x, axis=axis)
    (weights,) = given
    if axis is not None and weights.shape.rank == 1 != x.shape.rank:
        # A weight for each place along the axis.
        rest = x.shape.rank - _axis(axis, x.shape.rank) - 1
        weights = tf.reshape(weights, [-1] + [1] * rest)
    total = tf.reduce_sum(x * weights, axis=axis)
    return total / tf.reduce_sum(tf.broadcast_to(weights, tf.shape(x)), axis=axis)


def _running(op, x, axis, dtype):
    x = numeric(x) if dtype is None else as_dtype(tensor(x), standardize_dtype(dtype))
    if x.dtype == "bool":
        return tf.cast(_running(op, x, axis, "int32"), "bool")
    return op(tf.reshape(x, [-1]), 0) if axis is None else op(x, axis)


def cumsum(x, axis=None, dtype=None):
    return _running(tf.cumsum, x, axis, dtype)


def cumprod(x, axis=None, dtype=None):
    return _running(tf.math.cumprod, x, axis, dtype)


def nancumsum(x, axis=None, dtype=None):
    return cumsum(_known(tensor(x), 0), axis, dtype)


def nancumprod(x, axis=None, dtype=None):
    return cumprod(_known(tensor(x), 1), axis, dtype)


def diff(a, n=1, axis=-1):
    a = tensor(a)
    if n < 0:
        raise ValueError(f"Order `n` must be non-negative. Received: n={n}")
    ahead = (slice(None),) * _axis(axis, a.shape.rank)
    for _ in range(n):
        later, earlier = a[(*ahead, slice(1, None))], a[(*ahead, slice(None, -1))]
        a = tf.not_equal(later, earlier) if a.dtype == "bool" else later - earlier
    return a


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral of `y` along an axis by trapezoids, `dx` apart or at the places `x`."""
    y = floating(y)
    axis = _axis(axis, y.shape.rank)
    if x is None:
        width = dense_tensor(dx, y.dtype)
    else:
        x = as_dtype(tensor(x), y.dtype.name)
        if x.shape.rank == 1:
            x = tf.reshape(x, [-1] + [1] * (y.shape.rank - axis - 1))
            width = diff(x, axis=0)
        else:
            width = diff(x, axis=axis)
    ahead = (slice(None),) * axis
    sides = y[(*ahead, slice(1, None))] + y[(*ahead, slice(None, -1))]
    return tf.reduce_sum(sides * width, axis=axis) * dense_tensor(0.5, y.dtype)


# Where the value of a quantile is, given the elements below and above it and how far it is between them.
_INTERPOLATIONS = {
    "linear": lambda below, above, part: below + (above - below) * part,
    "lower": lambda below, above, part: below,
    "higher": lambda below, above, part: above,
    "midpoint": lambda below, above, part: below + (above - below) * 0.5,
    "nearest": None,
}


def _quantile(x, q, axis, method, keepdims, ignore_nan=False):
    """The value that the part `q` of the elements is below, in the order of size, along axes.

    Elements are sorted, NaN behind all numbers.
    """
    if method not in _INTERPOLATIONS:
        raise ValueError(f"`method` must be one of {list(_INTERPOLATIONS)}. Received: method={method}")
    given = floating(x)
    x = tf.cast(given, "float32") if given.dtype.size < 4 else given
    q = as_dtype(q if isinstance(q, float) else tensor(q), x.dtype.name)
    if axis is None:
        kept = [1] * (x.shape.rank or 0) if keepdims else []
        rows = tf.reshape(x, [1, -1])
    else:
        rank = x.shape.rank
        reduced = _axes(axis, rank)
        others = [a for a in range(rank) if a not in reduced]
        extents = shape(x)
        kept = [1 if a in reduced else extents[a] for a in range(rank) if keepdims or a not in reduced]
        rows = tf.reshape(
            tf.transpose(x, others + reduced), [*_product(extents, others), *_product(extents, reduced)]
        )
    rows = tf.sort(rows, axis=-1)
    size = shape(rows)[-1]
    undefined = isnan(rows)
    count = tf.cast(size, x.dtype)
    if ignore_nan:
        count = tf.reduce_sum(tf.cast(tf.logical_not(undefined), x.dtype), axis=-1, keepdims=True)
    # For each row the places of all quantiles.
    place = tf.reshape(q, [1, -1]) * (count - 1)
    if method == "nearest":
        place = tf.round(place)
        method = "lower"
    floor = tf.floor(place)
    below, above = (
        _at(rows, tf.clip_by_value(tf.cast(at, "int32"), 0, size - 1)) for at in (floor, tf.math.ceil(place))
    )
    # Between equal ends there is nothing to interpolate, infinities among them.
    result = tf.where(tf.equal(below, above), below, _INTERPOLATIONS[method](below, above, place - floor))
    if not ignore_nan:
        result = tf.where(tf.reduce_any(undefined, axis=-1, keepdims=True), _like_nan(x), result)
    result = tf.reshape(tf.transpose(result), [*shape(q), *kept])
    return tf.cast(result, given.dtype)


def _like_nan(x):
    return dense_tensor(math.nan, x.dtype)


def _product(extents, axes):
    """The product of some extents, in a list of one."""
    sizes = [extents[a] for a in axes]
    known = math.prod(size for size in sizes if isinstance(size, int))
    for size in sizes:
        if not isinstance(size, int):
            known = known * size
    return [known]


def _at(rows, places):
    """For each row the elements at its places, or at those that all rows have."""
    if places.shape[0] == 1:
        return tf.gather(rows, places[0], axis=1)
    return tf.gather(rows, places, axis=1, batch_dims=1)


def quantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantile(x, q, axis, method, keepdims)


def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    return _quantile(x, q, axis, method, keepdims, ignore_nan=True)


def _parts_of_hundred(q):
    return floating(q) / 100


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return _quantile(x, _parts_of_hundred(q), axis, method, keepdims)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    return _quantile(x, _parts_of_hundred(q), axis, method, keepdims, ignore_nan=True)


def median(x, axis=None, keepdims=False):
    return _quantile(x, 0.5, axis, "linear", keepdims)


def nanmedian(x, axis=None, keepdims=False):
    return _quantile(x, 0.5, axis, "linear", keepdims, ignore_nan=True)


def _covariance(x):
    """The products of the deviations of the rows of `x`, summed."""
    x = floating(x)
    if x.shape.rank < 2:
        x = tf.reshape(x, [1, -1])
    deviation = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    return tf.matmul(deviation, deviation, adjoint_b=True), tf.cast(shape(x)[-1], x.dtype)


def cov(x):
    products, count = _covariance(x)
    result = products / (count - 1)
    return tf.reshape(result, []) if tensor(x).shape.rank < 2 else result


def corrcoef(x):
    x = wide_floating(x)
    products, _ = _covariance(x)
    if x.shape.rank < 2:
        return tf.reshape(products / products, [])
    length = tf.sqrt(tf.linalg.diag_part(products))
    result = products / tf.expand_dims(length, 0) / tf.expand_dims(length, 1)
    if x.dtype.is_complex:
        return result
    return tf.clip_by_value(result, -1, 1)
