"""Elementwise functions of one operator each."""

# Written by tools/generate.py from tools/elementwise.py.

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import raw_ops
from penstock._runtime.dispatch import redirected

if TYPE_CHECKING:
    from penstock._core import Tensor
    from penstock._types.aliases import TensorLike

_abs = raw_ops.abs
_acos = raw_ops.acos
_acosh = raw_ops.acosh
_asin = raw_ops.asin
_asinh = raw_ops.asinh
_atan = raw_ops.atan
_atanh = raw_ops.atanh
_bitwise_and = raw_ops.bitwise_and
_bitwise_or = raw_ops.bitwise_or
_bitwise_xor = raw_ops.bitwise_xor
_ceil = raw_ops.ceil
_cos = raw_ops.cos
_cosh = raw_ops.cosh
_digamma = raw_ops.digamma
_div = raw_ops.div
_elu = raw_ops.elu
_erf = raw_ops.erf
_erfc = raw_ops.erfc
_erfinv = raw_ops.erfinv
_exp = raw_ops.exp
_expm1 = raw_ops.expm1
_floor = raw_ops.floor
_floordiv = raw_ops.floordiv
_floormod = raw_ops.floormod
_greater = raw_ops.greater
_greater_equal = raw_ops.greater_equal
_invert = raw_ops.invert
_is_finite = raw_ops.is_finite
_is_inf = raw_ops.is_inf
_is_nan = raw_ops.is_nan
_left_shift = raw_ops.left_shift
_less = raw_ops.less
_less_equal = raw_ops.less_equal
_lgamma = raw_ops.lgamma
_log = raw_ops.log
_log1p = raw_ops.log1p
_logical_and = raw_ops.logical_and
_logical_not = raw_ops.logical_not
_logical_or = raw_ops.logical_or
_logical_xor = raw_ops.logical_xor
_maximum = raw_ops.maximum
_minimum = raw_ops.minimum
_mul = raw_ops.mul
_multiply_no_nan = raw_ops.multiply_no_nan
_ndtri = raw_ops.ndtri
_neg = raw_ops.neg
_reciprocal = raw_ops.reciprocal
_relu = raw_ops.relu
_relu6 = raw_ops.relu6
_right_shift = raw_ops.right_shift
_rint = raw_ops.rint
_round = raw_ops.round
_rsqrt = raw_ops.rsqrt
_selu = raw_ops.selu
_sigmoid = raw_ops.sigmoid
_sign = raw_ops.sign
_sin = raw_ops.sin
_sinh = raw_ops.sinh
_softplus = raw_ops.softplus
_softsign = raw_ops.softsign
_sqrt = raw_ops.sqrt
_square = raw_ops.square
_squared_difference = raw_ops.squared_difference
_sub = raw_ops.sub
_tan = raw_ops.tan
_tanh = raw_ops.tanh
_truncatediv = raw_ops.truncatediv
_truncatemod = raw_ops.truncatemod
_xdivy = raw_ops.xdivy
_xlogy = raw_ops.xlogy


def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the absolute value; of complex numbers the magnitude.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x`, real where that is complex, with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.abs([-1.5, 2.0]).numpy().round(4)
    array([1.5, 2. ], dtype=float32)
    """
    try:
        return _abs(x) if name is None else _abs(x, name=name)
    except Exception:
        made: Tensor = redirected(abs, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse cosine, in radians.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.acos([1.0, 0.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    try:
        return _acos(x) if name is None else _acos(x, name=name)
    except Exception:
        made: Tensor = redirected(acos, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse hyperbolic cosine.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.acosh([1.0, 2.0]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    try:
        return _acosh(x) if name is None else _acosh(x, name=name)
    except Exception:
        made: Tensor = redirected(acosh, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse sine, in radians.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.asin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    try:
        return _asin(x) if name is None else _asin(x, name=name)
    except Exception:
        made: Tensor = redirected(asin, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse hyperbolic sine.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.asinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    try:
        return _asinh(x) if name is None else _asinh(x, name=name)
    except Exception:
        made: Tensor = redirected(asinh, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse tangent, in radians.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.atan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    try:
        return _atan(x) if name is None else _atan(x, name=name)
    except Exception:
        made: Tensor = redirected(atan, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse hyperbolic tangent.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.atanh([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    try:
        return _atanh(x) if name is None else _atanh(x, name=name)
    except Exception:
        made: Tensor = redirected(atanh, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Round up to whole numbers.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.ceil([1.2, -1.2]).numpy().round(4)
    array([ 2., -1.], dtype=float32)
    """
    try:
        return _ceil(x) if name is None else _ceil(x, name=name)
    except Exception:
        made: Tensor = redirected(ceil, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Round down to whole numbers.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.floor([1.2, -1.2]).numpy().round(4)
    array([ 1., -2.], dtype=float32)
    """
    try:
        return _floor(x) if name is None else _floor(x, name=name)
    except Exception:
        made: Tensor = redirected(floor, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Round to whole numbers, halves to even ones.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.rint([0.5, 1.5]).numpy().round(4)
    array([0., 2.], dtype=float32)
    """
    try:
        return _rint(x) if name is None else _rint(x, name=name)
    except Exception:
        made: Tensor = redirected(rint, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Round to whole numbers, halves to even ones.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.round([0.5, 1.5, -2.4]).numpy().round(4)
    array([ 0.,  2., -2.], dtype=float32)
    """
    try:
        return _round(x) if name is None else _round(x, name=name)
    except Exception:
        made: Tensor = redirected(round, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the cosine of angles in radians.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.cos([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    try:
        return _cos(x) if name is None else _cos(x, name=name)
    except Exception:
        made: Tensor = redirected(cos, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic cosine.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.cosh([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    try:
        return _cosh(x) if name is None else _cosh(x, name=name)
    except Exception:
        made: Tensor = redirected(cosh, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sine of angles in radians.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    try:
        return _sin(x) if name is None else _sin(x, name=name)
    except Exception:
        made: Tensor = redirected(sin, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic sine.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.sinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    try:
        return _sinh(x) if name is None else _sinh(x, name=name)
    except Exception:
        made: Tensor = redirected(sinh, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the tangent of angles in radians.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.tan([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    try:
        return _tan(x) if name is None else _tan(x, name=name)
    except Exception:
        made: Tensor = redirected(tan, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the hyperbolic tangent.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.tanh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    try:
        return _tanh(x) if name is None else _tanh(x, name=name)
    except Exception:
        made: Tensor = redirected(tanh, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the derivative of the logarithm of the gamma function.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.digamma([1.0, 2.0]).numpy().round(4)
    array([-0.5772,  0.4228], dtype=float32)
    """
    try:
        return _digamma(x) if name is None else _digamma(x, name=name)
    except Exception:
        made: Tensor = redirected(digamma, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.erf([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8427], dtype=float32)
    """
    try:
        return _erf(x) if name is None else _erf(x, name=name)
    except Exception:
        made: Tensor = redirected(erf, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the complement of the error function, `1 - erf(x)`, accurate for large `x`.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.erfc([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.1573], dtype=float32)
    """
    try:
        return _erfc(x) if name is None else _erfc(x, name=name)
    except Exception:
        made: Tensor = redirected(erfc, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse of the error function.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.erfinv([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.4769], dtype=float32)
    """
    try:
        return _erfinv(x) if name is None else _erfinv(x, name=name)
    except Exception:
        made: Tensor = redirected(erfinv, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the logarithm of the absolute value of the gamma function.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.lgamma([1.0, 4.0]).numpy().round(4)
    array([0.    , 1.7918], dtype=float32)
    """
    try:
        return _lgamma(x) if name is None else _lgamma(x, name=name)
    except Exception:
        made: Tensor = redirected(lgamma, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the quantile of the standard normal distribution.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.ndtri([0.5, 0.975]).numpy().round(4)
    array([0.  , 1.96], dtype=float32)
    """
    try:
        return _ndtri(x) if name is None else _ndtri(x, name=name)
    except Exception:
        made: Tensor = redirected(ndtri, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute e to the power of each element.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.exp([0.0, 1.0]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    try:
        return _exp(x) if name is None else _exp(x, name=name)
    except Exception:
        made: Tensor = redirected(exp, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `exp(x) - 1`, accurate near 0.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.expm1([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    try:
        return _expm1(x) if name is None else _expm1(x, name=name)
    except Exception:
        made: Tensor = redirected(expm1, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the natural logarithm.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.log([1.0, 10.0]).numpy().round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    try:
        return _log(x) if name is None else _log(x, name=name)
    except Exception:
        made: Tensor = redirected(log, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `log(1 + x)`, accurate near 0.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.log1p([0.0, 9.0]).numpy().round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    try:
        return _log1p(x) if name is None else _log1p(x, name=name)
    except Exception:
        made: Tensor = redirected(log1p, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `-x`; integers wrap.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.negative([1, -2]).numpy()
    array([-1,  2], dtype=int32)
    """
    try:
        return _neg(x) if name is None else _neg(x, name=name)
    except Exception:
        made: Tensor = redirected(negative, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `1 / x`.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.reciprocal([2.0, -4.0]).numpy().round(4)
    array([ 0.5 , -0.25], dtype=float32)
    """
    try:
        return _reciprocal(x) if name is None else _reciprocal(x, name=name)
    except Exception:
        made: Tensor = redirected(reciprocal, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `1 / sqrt(x)`.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.rsqrt([4.0, 16.0]).numpy().round(4)
    array([0.5 , 0.25], dtype=float32)
    """
    try:
        return _rsqrt(x) if name is None else _rsqrt(x, name=name)
    except Exception:
        made: Tensor = redirected(rsqrt, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the principal square root.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.sqrt([4.0, 9.0]).numpy().round(4)
    array([2., 3.], dtype=float32)
    """
    try:
        return _sqrt(x) if name is None else _sqrt(x, name=name)
    except Exception:
        made: Tensor = redirected(sqrt, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x * x`; integers wrap.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.square([2, -3]).numpy()
    array([4, 9], dtype=int32)
    """
    try:
        return _square(x) if name is None else _square(x, name=name)
    except Exception:
        made: Tensor = redirected(square, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute `1 / (1 + exp(-x))`.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.sigmoid([0.0, 2.0]).numpy().round(4)
    array([0.5   , 0.8808], dtype=float32)
    """
    try:
        return _sigmoid(x) if name is None else _sigmoid(x, name=name)
    except Exception:
        made: Tensor = redirected(sigmoid, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sign: -1, 0 or 1; of complex numbers `x / abs(x)`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.sign([-2.5, 0.0, 3.0]).numpy().round(4)
    array([-1.,  0.,  1.], dtype=float32)
    """
    try:
        return _sign(x) if name is None else _sign(x, name=name)
    except Exception:
        made: Tensor = redirected(sign, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `log(exp(features) + 1)` without overflow.

    Args:
        features: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features` with the shape of `features`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.softplus([0.0, 100.0]).numpy().round(4)
    array([  0.6931, 100.    ], dtype=float32)
    """
    try:
        return _softplus(features) if name is None else _softplus(features, name=name)
    except Exception:
        made: Tensor = redirected(softplus, (features,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `features / (abs(features) + 1)`.

    Args:
        features: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features` with the shape of `features`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.softsign([1.0, -3.0]).numpy().round(4)
    array([ 0.5 , -0.75], dtype=float32)
    """
    try:
        return _softsign(features) if name is None else _softsign(features, name=name)
    except Exception:
        made: Tensor = redirected(softsign, (features,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Tell which elements are finite.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.is_finite([1.0, float("inf")]).numpy()
    array([ True, False])
    """
    try:
        return _is_finite(x) if name is None else _is_finite(x, name=name)
    except Exception:
        made: Tensor = redirected(is_finite, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Tell which elements are infinite.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.is_inf([1.0, float("inf")]).numpy()
    array([False,  True])
    """
    try:
        return _is_inf(x) if name is None else _is_inf(x, name=name)
    except Exception:
        made: Tensor = redirected(is_inf, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Tell which elements are NaN.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.is_nan([1.0, float("nan")]).numpy()
    array([False,  True])
    """
    try:
        return _is_nan(x) if name is None else _is_nan(x, name=name)
    except Exception:
        made: Tensor = redirected(is_nan, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Negate booleans.

    Args:
        x: a tensor of dtype bool.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.math.logical_not([True, False]).numpy()
    array([False,  True])
    """
    try:
        return _logical_not(x) if name is None else _logical_not(x, name=name)
    except Exception:
        made: Tensor = redirected(logical_not, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x * y`, and 0 where `y` is 0, also where `x` is NaN or infinite.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.multiply_no_nan([2.0, float("nan")], [3.0, 0.0]).numpy()
    array([6., 0.], dtype=float32)
    """
    try:
        return _multiply_no_nan(x, y) if name is None else _multiply_no_nan(x, y, name=name)
    except Exception:
        made: Tensor = redirected(multiply_no_nan, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide, and round down.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.floordiv([7, -7], 2).numpy()
    array([ 3, -4], dtype=int32)
    """
    try:
        return _floordiv(x, y) if name is None else _floordiv(x, y, name=name)
    except Exception:
        made: Tensor = redirected(floordiv, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the remainder of a division that rounds down, which has the sign of `y`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.floormod([7, -7], 3).numpy()
    array([1, 2], dtype=int32)
    """
    try:
        return _floormod(x, y) if name is None else _floormod(x, y, name=name)
    except Exception:
        made: Tensor = redirected(floormod, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the remainder of a division that rounds down, which has the sign of `y`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.mod([7, -7], 3).numpy()
    array([1, 2], dtype=int32)
    """
    try:
        return _floormod(x, y) if name is None else _floormod(x, y, name=name)
    except Exception:
        made: Tensor = redirected(mod, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where `x > y`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.greater([1, 2, 3], 2).numpy()
    array([False, False,  True])
    """
    try:
        return _greater(x, y) if name is None else _greater(x, y, name=name)
    except Exception:
        made: Tensor = redirected(greater, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where `x >= y`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.greater_equal([1, 2, 3], 2).numpy()
    array([False,  True,  True])
    """
    try:
        return _greater_equal(x, y) if name is None else _greater_equal(x, y, name=name)
    except Exception:
        made: Tensor = redirected(greater_equal, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where `x < y`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.less([1, 2, 3], 2).numpy()
    array([ True, False, False])
    """
    try:
        return _less(x, y) if name is None else _less(x, y, name=name)
    except Exception:
        made: Tensor = redirected(less, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where `x <= y`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.less_equal([1, 2, 3], 2).numpy()
    array([ True,  True, False])
    """
    try:
        return _less_equal(x, y) if name is None else _less_equal(x, y, name=name)
    except Exception:
        made: Tensor = redirected(less_equal, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where both are true.

    Args:
        x: a tensor of dtype bool.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.logical_and([True, True], [True, False]).numpy()
    array([ True, False])
    """
    try:
        return _logical_and(x, y) if name is None else _logical_and(x, y, name=name)
    except Exception:
        made: Tensor = redirected(logical_and, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where one or both are true.

    Args:
        x: a tensor of dtype bool.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.logical_or([True, False], [False, False]).numpy()
    array([ True, False])
    """
    try:
        return _logical_or(x, y) if name is None else _logical_or(x, y, name=name)
    except Exception:
        made: Tensor = redirected(logical_or, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Tell where just one is true.

    Args:
        x: a tensor of dtype bool.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.logical_xor([True, True], [True, False]).numpy()
    array([False,  True])
    """
    try:
        return _logical_xor(x, y) if name is None else _logical_xor(x, y, name=name)
    except Exception:
        made: Tensor = redirected(logical_xor, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Take the larger of two elements; NaN where one is NaN.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.maximum([1, 5], [3, 2]).numpy()
    array([3, 5], dtype=int32)
    """
    try:
        return _maximum(x, y) if name is None else _maximum(x, y, name=name)
    except Exception:
        made: Tensor = redirected(maximum, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Take the smaller of two elements; NaN where one is NaN.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.minimum([1, 5], [3, 2]).numpy()
    array([1, 2], dtype=int32)
    """
    try:
        return _minimum(x, y) if name is None else _minimum(x, y, name=name)
    except Exception:
        made: Tensor = redirected(minimum, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x * y`; integers wrap.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.multiply([1, 2], [3, 4]).numpy()
    array([3, 8], dtype=int32)
    """
    try:
        return _mul(x, y) if name is None else _mul(x, y, name=name)
    except Exception:
        made: Tensor = redirected(multiply, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x - y`; integers wrap.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.subtract([1, 2], [3, 1]).numpy()
    array([-2,  1], dtype=int32)
    """
    try:
        return _sub(x, y) if name is None else _sub(x, y, name=name)
    except Exception:
        made: Tensor = redirected(subtract, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `(x - y) ** 2`; of complex numbers the squared magnitude.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.squared_difference([1.0, 2.0], [3.0, 5.0]).numpy()
    array([4., 9.], dtype=float32)
    """
    try:
        return _squared_difference(x, y) if name is None else _squared_difference(x, y, name=name)
    except Exception:
        made: Tensor = redirected(squared_difference, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x / y` of floats.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.realdiv([1.0, 3.0], 2.0).numpy()
    array([0.5, 1.5], dtype=float32)
    """
    try:
        return _div(x, y) if name is None else _div(x, y, name=name)
    except Exception:
        made: Tensor = redirected(realdiv, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide integers, and round towards 0.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.truncatediv([7, -7], 2).numpy()
    array([ 3, -3], dtype=int32)
    """
    try:
        return _truncatediv(x, y) if name is None else _truncatediv(x, y, name=name)
    except Exception:
        made: Tensor = redirected(truncatediv, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the remainder of a division that rounds towards 0, which has the sign of `x`.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.truncatemod([7, -7], 3).numpy()
    array([ 1, -1], dtype=int32)
    """
    try:
        return _truncatemod(x, y) if name is None else _truncatemod(x, y, name=name)
    except Exception:
        made: Tensor = redirected(truncatemod, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x / y`, and 0 where `x` is 0.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.xdivy([0.0, 6.0], [0.0, 4.0]).numpy()
    array([0. , 1.5], dtype=float32)
    """
    try:
        return _xdivy(x, y) if name is None else _xdivy(x, y, name=name)
    except Exception:
        made: Tensor = redirected(xdivy, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x * log(y)`, and 0 where `x` is 0.

    Args:
        x: a tensor of dtype float16, bfloat16, float32, float64, complex64, complex128.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.math.xlogy([0.0, 2.0], [0.0, 10.0]).numpy().round(4)
    array([0.    , 4.6052], dtype=float32)
    """
    try:
        return _xlogy(x, y) if name is None else _xlogy(x, y, name=name)
    except Exception:
        made: Tensor = redirected(xlogy, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the bitwise and.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.bitwise.bitwise_and([12, 10], 6).numpy()
    array([4, 2], dtype=int32)
    """
    try:
        return _bitwise_and(x, y) if name is None else _bitwise_and(x, y, name=name)
    except Exception:
        made: Tensor = redirected(bitwise_and, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the bitwise or.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.bitwise.bitwise_or([12, 10], 6).numpy()
    array([14, 14], dtype=int32)
    """
    try:
        return _bitwise_or(x, y) if name is None else _bitwise_or(x, y, name=name)
    except Exception:
        made: Tensor = redirected(bitwise_or, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Compute the bitwise exclusive or.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.bitwise.bitwise_xor([12, 10], 6).numpy()
    array([10, 12], dtype=int32)
    """
    try:
        return _bitwise_xor(x, y) if name is None else _bitwise_xor(x, y, name=name)
    except Exception:
        made: Tensor = redirected(bitwise_xor, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shift bits to the left by `y` places.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.bitwise.left_shift([1, 3], 2).numpy()
    array([ 4, 12], dtype=int32)
    """
    try:
        return _left_shift(x, y) if name is None else _left_shift(x, y, name=name)
    except Exception:
        made: Tensor = redirected(left_shift, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shift bits to the right by `y` places; negative numbers keep their sign.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        y: a tensor of the same dtype; the two broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape to which the operands broadcast.

    Raises:
        TypeError: for values of another dtype, or operands of two dtypes.
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> tf.bitwise.right_shift([8, -8], 1).numpy()
    array([ 4, -4], dtype=int32)
    """
    try:
        return _right_shift(x, y) if name is None else _right_shift(x, y, name=name)
    except Exception:
        made: Tensor = redirected(right_shift, (x, y), {"name": name})
        if made is NotImplemented:
            raise
        return made


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Invert all bits.

    Args:
        x: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` with the shape of `x`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.bitwise.invert([0, 5]).numpy()
    array([-1, -6], dtype=int32)
    """
    try:
        return _invert(x) if name is None else _invert(x, name=name)
    except Exception:
        made: Tensor = redirected(invert, (x,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `exp(features) - 1` where negative, the features themselves elsewhere.

    Args:
        features: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features` with the shape of `features`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.nn.elu([-1.0, 2.0]).numpy().round(4)
    array([-0.6321,  2.    ], dtype=float32)
    """
    try:
        return _elu(features) if name is None else _elu(features, name=name)
    except Exception:
        made: Tensor = redirected(elu, (features,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `max(features, 0)`.

    Args:
        features: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16,
            bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features` with the shape of `features`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.nn.relu([-1.0, 2.0]).numpy().round(4)
    array([0., 2.], dtype=float32)
    """
    try:
        return _relu(features) if name is None else _relu(features, name=name)
    except Exception:
        made: Tensor = redirected(relu, (features,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `min(max(features, 0), 6)`.

    Args:
        features: a tensor of dtype int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16,
            bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features` with the shape of `features`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.nn.relu6([-1.0, 2.0, 9.0]).numpy().round(4)
    array([0., 2., 6.], dtype=float32)
    """
    try:
        return _relu6(features) if name is None else _relu6(features, name=name)
    except Exception:
        made: Tensor = redirected(relu6, (features,), {"name": name})
        if made is NotImplemented:
            raise
        return made


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute the scaled exponential linear unit, which keeps mean and variance of activations.

    Args:
        features: a tensor of dtype float16, bfloat16, float32, float64.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features` with the shape of `features`.

    Raises:
        TypeError: for values of another dtype.

    >>> import penstock as tf
    >>> tf.nn.selu([-1.0, 2.0]).numpy().round(4)
    array([-1.1113,  2.1014], dtype=float32)
    """
    try:
        return _selu(features) if name is None else _selu(features, name=name)
    except Exception:
        made: Tensor = redirected(selu, (features,), {"name": name})
        if made is NotImplemented:
            raise
        return made
