"""Mathematics: elementwise functions, reductions, scans and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.clipping import clip_by_value as clip_by_value
from penstock._ops.elementwise import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    ceil as ceil,
    cos as cos,
    cosh as cosh,
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    floordiv as floordiv,
    floormod as floormod,
    greater as greater,
    greater_equal as greater_equal,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    less as less,
    less_equal as less_equal,
    lgamma as lgamma,
    log as log,
    log1p as log1p,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    multiply_no_nan as multiply_no_nan,
    ndtri as ndtri,
    negative as negative,
    realdiv as realdiv,
    reciprocal as reciprocal,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    softplus as softplus,
    softsign as softsign,
    sqrt as sqrt,
    square as square,
    squared_difference as squared_difference,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
    xdivy as xdivy,
    xlogy as xlogy,
)
from penstock._ops.reductions import (
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_logsumexp as cumulative_logsumexp,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_euclidean_norm as reduce_euclidean_norm,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_std as reduce_std,
    reduce_sum as reduce_sum,
    reduce_variance as reduce_variance,
    zero_fraction as zero_fraction,
)
from penstock._ops.segments import (
    bincount as bincount,
    confusion_matrix as confusion_matrix,
    invert_permutation as invert_permutation,
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sum as unsorted_segment_sum,
)
from penstock._ops.sorting import (
    top_k as top_k,
)
from penstock._runtime.arguments import integer

# --- elementwise ---


def _pair(x: Any, y: Any) -> tuple[_core.Tensor, _core.Tensor]:
    """Two operands as tensors of one dtype where one of them can adapt."""
    if isinstance(x, _core.Tensor | _core._Variable):
        a = _core._to_tensor(x)
        return a, _core._to_tensor_hinted(y, a.dtype)
    b = _core._to_tensor(y)
    return _core._to_tensor_hinted(x, b.dtype), b


def add(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x + y`, elementwise; strings are joined.

    Args:
        x: a tensor: numbers, or strings.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> add([1, 2], [3, 4]).numpy()
    array([4, 6], dtype=int32)
    """
    a, b = _pair(x, y)
    return a + b


def pow(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x ** y`, elementwise.

    Args:
        x: a numeric tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> pow([2, 3], [3, 2]).numpy()
    array([8, 9], dtype=int32)
    """
    a, b = _pair(x, y)
    return a**b


def truediv(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x / y`, elementwise; integers become floats first: of 8 and 16 bits `float32`, others `float64`.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        Floating point or complex.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> truediv([1, 3], 2).numpy()
    array([0.5, 1.5])
    """
    a, b = _pair(x, y)
    return a / b


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x / y`, and 0 where `y` is 0, elementwise; integers become floats first, as in `truediv`.

    Args:
        x: a numeric tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        Floating point or complex.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> divide_no_nan([3.0, 3.0], [2.0, 0.0]).numpy()
    array([1.5, 0. ], dtype=float32)
    """
    a, b = _pair(x, y)
    if a.dtype.is_integer and b.dtype == a.dtype:
        wide = _core.float32 if a.dtype.size <= 2 else _core.float64
        a, b = raw_ops.cast(a, dtype=wide), raw_ops.cast(b, dtype=wide)
    return raw_ops.divide_no_nan(a, b)


def divide(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x / y`, elementwise, as Python divides.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        Floating point or complex.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> divide([1, 3], 2).numpy()
    array([0.5, 1.5])
    """
    return truediv(x, y)


def equal(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x == y`, elementwise.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        `bool`; NaN equals nothing.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> equal([1, 2], [1, 3]).numpy()
    array([ True, False])
    """
    x, y = _pair(x, y)
    return raw_ops.string_equal(x, y) if x.dtype == _core.string else raw_ops.equal(x, y)


def not_equal(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x != y`, elementwise.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        `bool`; NaN equals nothing.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> not_equal([1, 2], [1, 3]).numpy()
    array([False,  True])
    """
    x, y = _pair(x, y)
    return raw_ops.string_not_equal(x, y) if x.dtype == _core.string else raw_ops.not_equal(x, y)


def add_n(inputs: Sequence[Any], name: str | None = None) -> _core.Tensor:
    """The sum of tensors of one shape and dtype.

    Args:
        inputs: tensors of one shape and one numeric dtype, at least one.
        name: ignored.

    Raises:
        ValueError: for an empty list.

    >>> add_n([[1, 2], [3, 4], [5, 6]]).numpy()
    array([ 9, 12], dtype=int32)
    """
    if not isinstance(inputs, list | tuple):
        inputs = [inputs]
    if not inputs:
        raise ValueError("argument 'inputs' must hold at least one tensor")
    return raw_ops.add_n(list(inputs))


accumulate_n = add_n


def xlog1py(x: Any, y: Any, name: str | None = None) -> _core.Tensor:
    """`x * log1p(y)`, and 0 where `x` is 0, elementwise.

    Args:
        x: a tensor.
        y: a tensor of the same dtype; the two broadcast.
        name: ignored.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> xlog1py([0.0, 2.0], [-1.0, 9.0]).numpy()
    array([0.       , 4.6051702], dtype=float32)
    """
    x, y = _pair(x, y)
    zero = raw_ops.zeros_like(x)
    is_zero = raw_ops.equal(x, zero)
    safe = raw_ops.select(is_zero, raw_ops.zeros_like(y), y)
    return raw_ops.select(is_zero, zero, x * log1p(safe))


def polygamma(a: Any, x: Any, name: str | None = None) -> _core.Tensor:
    """The derivative of order `a` of `digamma` at `x`, elementwise.

    Args:
        a: the order, a whole number from 0; other orders give NaN. No gradient flows to it.
        x: `float32` or `float64`, of the dtype of `a`; the two broadcast.
        name: ignored.

    >>> polygamma(1.0, 1.0).numpy()
    np.float32(1.644934)
    """
    a, x = _pair(a, x)
    return raw_ops.polygamma(a, x)


def zeta(x: Any, q: Any, name: str | None = None) -> _core.Tensor:
    """The Hurwitz zeta function, the sum of `(q + k)**-x` over k from 0, elementwise.

    Args:
        x: the exponent: infinite at 1, NaN below. No gradient flows to it.
        q: `float32` or `float64`, of the dtype of `x`; the two broadcast.
        name: ignored.

    >>> zeta(2.0, 1.0).numpy()
    np.float32(1.644934)
    """
    x, q = _pair(x, q)
    return raw_ops.zeta(x, q)


def atan2(y: Any, x: Any, name: str | None = None) -> _core.Tensor:
    """The angle in radians of the point (`x`, `y`), in [-pi, pi], elementwise.

    Args:
        y: ordinates, floats.
        x: abscissas of the same dtype; the two broadcast.
        name: a name for the result.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.

    >>> atan2([1.0, 1.0], [1.0, -1.0]).numpy().round(4)
    array([0.7854, 2.3562], dtype=float32)
    """
    result: _core.Tensor = raw_ops.atan2(y, x) if name is None else raw_ops.atan2(y, x, name=name)
    return result


def nextafter(x1: Any, x2: Any, name: str | None = None) -> _core.Tensor:
    """The next representable value after `x1` in the direction of `x2`, elementwise.

    Args:
        x1: `float32` or `float64`.
        x2: of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        `x2` where the two are equal, NaN where either is.

    >>> nextafter(1.0, 2.0).numpy() - 1
    np.float32(1.1920929e-07)
    """
    x1, x2 = _pair(x1, x2)
    return raw_ops.nextafter(x1, x2)


def reciprocal_no_nan(x: Any, name: str | None = None) -> _core.Tensor:
    """`1 / x`, and 0 where `x` is 0, elementwise.

    Args:
        x: a floating-point or complex tensor.
        name: ignored.

    >>> reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    x = _core._to_tensor(x)
    return raw_ops.divide_no_nan(raw_ops.ones_like(x), x)


def log_sigmoid(x: Any, name: str | None = None) -> _core.Tensor:
    """`log(sigmoid(x))`, elementwise, computed as `-softplus(-x)`.

    Args:
        x: a floating-point tensor.
        name: ignored.

    >>> log_sigmoid([0.0, -100.0]).numpy()
    array([  -0.6931472, -100.       ], dtype=float32)
    """
    return -raw_ops.softplus(-_core._to_tensor(x))


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> _core.Tensor:
    """The polynomial of the given coefficients, highest power first, at `x`, by Horner's rule.

    Args:
        coeffs: the coefficients, of the highest power first.
        x: where to evaluate.
        name: ignored.

    Raises:
        ValueError: where `coeffs` is no list.

    >>> polyval([2.0, 0.0, 1.0], 3.0).numpy()
    np.float32(19.0)
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"argument 'coeffs' must be a list, got {type(coeffs).__name__}")
    x = _core._to_tensor(x)
    if not coeffs:
        return raw_ops.zeros_like(x)
    total = _core._to_tensor_hinted(coeffs[0], x.dtype)
    for c in coeffs[1:]:
        total = total * x + _core._to_tensor_hinted(c, x.dtype)
    return total


# --- complex ---


def complex(real: Any, imag: Any, name: str | None = None) -> _core.Tensor:
    """Complex numbers of real and imaginary parts: `complex64` of `float32`, `complex128` of `float64`.

    Args:
        real: real parts, `float32` or `float64`.
        imag: imaginary parts of the same dtype; the two broadcast.
        name: ignored.

    Returns:
        `complex64` or `complex128`.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.
        TypeError: for operands of two dtypes.

    >>> complex([1.0, 2.0], [0.5, -1.0]).numpy()
    array([1.+0.5j, 2.-1.j ], dtype=complex64)
    """
    real, imag = _pair(real, imag)
    return raw_ops.complex(real, imag)


def real(input: Any, name: str | None = None) -> _core.Tensor:
    """The real part; a real tensor is its own.

    Args:
        input: a tensor, complex or real.
        name: ignored.

    Returns:
        Real.

    >>> real([1.0 + 2.0j]).numpy()
    array([1.])
    """
    x = _core._to_tensor(input)
    return raw_ops.real(x) if x.dtype.is_complex else x


def imag(input: Any, name: str | None = None) -> _core.Tensor:
    """The imaginary part; zeros for a real tensor.

    Args:
        input: a tensor, complex or real.
        name: ignored.

    Returns:
        Real; 0 for real numbers.

    >>> imag([1.0 + 2.0j]).numpy()
    array([2.])
    """
    x = _core._to_tensor(input)
    return raw_ops.imag(x) if x.dtype.is_complex else raw_ops.zeros_like(x)


def conj(x: Any, name: str | None = None) -> _core.Tensor:
    """The complex conjugate; a real tensor is its own.

    Args:
        x: a tensor, complex or real.
        name: ignored.

    >>> conj([1.0 + 2.0j]).numpy()
    array([1.-2.j])
    """
    x = _core._to_tensor(x)
    return raw_ops.conj(x) if x.dtype.is_complex else x


def angle(input: Any, name: str | None = None) -> _core.Tensor:
    """The argument of complex numbers, in radians; 0 or π for real ones.

    Args:
        input: a tensor, complex or real.
        name: ignored.

    Returns:
        Radians, real.

    >>> angle([1.0 + 1.0j, -1.0 + 0.0j]).numpy()
    array([0.78539816, 3.14159265])
    """
    x = _core._to_tensor(input)
    if x.dtype.is_complex:
        return raw_ops.angle(x)
    return raw_ops.select(
        x < 0,
        raw_ops.fill(raw_ops.shape(x), _core._to_tensor(3.141592653589793, x.dtype)),
        raw_ops.zeros_like(x),
    )


# --- casts and clipping ---


def cast(x: Any, dtype: Any, name: str | None = None) -> _core.Tensor:
    """The values as another dtype.

    Floats to integers truncate, and saturate outside the range (NaN becomes 0); complex to real drops
    the imaginary part; anything to `bool` is `x != 0`.

    Args:
        x: a tensor of any dtype but strings.
        dtype: the dtype to give.
        name: ignored.

    >>> cast([1.9, -1.9], 'int32').numpy()
    array([ 1, -1], dtype=int32)
    """
    target = _core.DType(dtype)
    x = _core._to_tensor(x)
    return x if x.dtype == target else raw_ops.cast(x, dtype=target)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> _core.Tensor:
    """The values as another dtype, clipped to its range first.

    Args:
        value: a numeric tensor.
        dtype: the dtype to give; values outside of its range become its limits.
        name: ignored.

    >>> saturate_cast([300, -5], 'uint8').numpy()
    array([255,   0], dtype=uint8)
    """
    target = _core.DType(dtype)
    x = _core._to_tensor(value)
    if target.is_integer or target.is_floating:
        low, high = float(target.min), float(target.max)
        own_low, own_high = float(x.dtype.min), float(x.dtype.max)
        if own_low < low:
            x = raw_ops.maximum(x, _limit(target.min, x.dtype))
        if own_high > high:
            x = raw_ops.minimum(x, _limit(target.max, x.dtype))
    return cast(x, target)


def _limit(value: Any, dtype: _core.DType) -> _core.Tensor:
    return _core._to_tensor(float(value) if dtype.is_floating else int(value), dtype)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> _core.Tensor:
    """`x / sqrt(max(sum(x**2), epsilon))` along axes.

    Args:
        x: a floating-point or complex tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        epsilon: the least squared length to divide by.
        name: ignored.

    >>> l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    v = _core._to_tensor(x)
    parts = [raw_ops.real(v), raw_ops.imag(v)] if v.dtype.is_complex else [v]
    squares = [raw_ops.square(part) for part in parts]
    square_sum = reduce_sum(raw_ops.add(*squares) if v.dtype.is_complex else squares[0], axis, True)
    inverse = raw_ops.rsqrt(raw_ops.maximum(square_sum, _core._to_tensor(epsilon, square_sum.dtype)))
    scaled = [part * inverse for part in parts]
    return raw_ops.complex(*scaled) if v.dtype.is_complex else scaled[0]


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> _core.Tensor:
    """`exp(x) / sum(exp(x))` along an axis (the last by default), without overflow.

    Args:
        logits: a floating-point tensor.
        axis: the dimension whose elements add up to 1; the last one by default.
        name: ignored.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return raw_ops.softmax(logits, axis=-1 if axis is None else integer(axis, "axis"))


def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> _core.Tensor:
    """`x - log(sum(exp(x)))` along an axis (the last by default), without overflow.

    Args:
        logits: a floating-point tensor.
        axis: the dimension along which to normalise; the last one by default.
        name: ignored.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> log_softmax([0.0, 0.0]).numpy()
    array([-0.6931472, -0.6931472], dtype=float32)
    """
    return raw_ops.log_softmax(logits, axis=-1 if axis is None else integer(axis, "axis"))


def is_strictly_increasing(x: Any, name: str | None = None) -> _core.Tensor:
    """Whether each element is less than the next.

    Args:
        x: a numeric tensor, taken as a vector.
        name: ignored.

    Returns:
        A `bool` scalar.

    >>> is_strictly_increasing([1, 2, 2]).numpy()
    np.False_
    """
    flat = raw_ops.reshape(x, [-1])
    return reduce_all(flat[:-1] < flat[1:])


def is_non_decreasing(x: Any, name: str | None = None) -> _core.Tensor:
    """Whether no element is greater than the next.

    Args:
        x: a numeric tensor, taken as a vector.
        name: ignored.

    Returns:
        A `bool` scalar.

    >>> is_non_decreasing([1, 2, 2]).numpy()
    np.True_
    """
    flat = raw_ops.reshape(x, [-1])
    return reduce_all(flat[:-1] <= flat[1:])


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> _core.Tensor:
    """Whether fewer than `k` classes have a greater prediction than the target class, for each row.

    Args:
        targets: `int32` or `int64`, a vector: the class of each row.
        predictions: `float32`, a matrix with a column for each class.
        k: how many classes count.
        name: ignored.

    Returns:
        A boolean for each row; false for a class that does not exist, and in rows with infinities or NaN.

    >>> in_top_k([0, 1], [[0.1, 0.9], [0.2, 0.8]], 1).numpy().tolist()
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
    return raw_ops.logical_and(raw_ops.logical_and(above < _core._to_tensor(k, _core.int32), finite), exists)


__all__ = sorted(
    name
    for name, value in globals().items()
    if not name.startswith("_")
    and callable(value)
    and getattr(value, "__module__", "") != "typing"
    and name not in {"Any", "Sequence", "axes", "binary", "integer", "unary"}
)
