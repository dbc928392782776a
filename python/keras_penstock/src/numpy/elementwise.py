"""Functions that act on each element."""

import builtins
import math

from keras.src.backend import config

import penstock as tf
from keras_penstock.src.core import dense_tensor
from keras_penstock.src.promotion import (
    all_common,
    as_dtype,
    common,
    floating,
    is_inexact,
    numeric,
    tensor,
    through,
    wide_floating,
)
from keras_penstock.src.sparse import binary, takes_sparse, unary
from penstock import array_api


def _same_unless_float(op):
    """`op`, which leaves integers and booleans as they are."""
    return lambda x: op(x) if is_inexact(x) else x


def _of_kind(op, of_integers, join):
    """The predicate `op` of floats, for integers and for both parts of complex numbers."""

    def apply(x):
        if x.dtype.is_complex:
            return join(op(tf.math.real(x)), op(tf.math.imag(x)))
        return op(x) if x.dtype.is_floating else tf.fill(tf.shape(x), of_integers)

    return apply


def _boolean_as(dtype, op):
    """`op` on numbers, which acts on booleans as on numbers of a dtype, with booleans as its result."""
    return lambda *xs: (
        tf.cast(op(*(tf.cast(x, dtype) for x in xs)), "bool") if xs[0].dtype == "bool" else op(*xs)
    )


def _either(of_booleans, of_integers):
    return lambda *xs: (of_booleans if xs[0].dtype == "bool" else of_integers)(*xs)


def _truth(x):
    x = tensor(x)
    return x if x.dtype == "bool" else tf.not_equal(x, tf.zeros([], x.dtype))


def _like(value, x):
    return dense_tensor(value, x.dtype)


# Functions of floats.
arccos = unary("arccos", floating, tf.acos)
arccosh = unary("arccosh", floating, tf.acosh)
arcsin = unary("arcsin", floating, tf.asin)
arcsinh = unary("arcsinh", floating, tf.asinh)
arctan = unary("arctan", floating, tf.atan)
arctanh = unary("arctanh", floating, tf.atanh)
cos = unary("cos", floating, tf.cos)
cosh = unary("cosh", floating, tf.cosh)
exp = unary("exp", floating, tf.exp)
expm1 = unary("expm1", floating, tf.math.expm1)
fabs = unary("fabs", floating, tf.abs)
floor = unary("floor", floating, tf.floor)
ceil = unary("ceil", floating, tf.math.ceil)
log = unary("log", floating, tf.math.log)
log10 = unary("log10", floating, array_api.log10)
log1p = unary("log1p", floating, tf.math.log1p)
log2 = unary("log2", floating, array_api.log2)
reciprocal = unary("reciprocal", floating, tf.math.reciprocal)
sin = unary("sin", floating, tf.sin)
sinh = unary("sinh", floating, tf.sinh)
sqrt = unary("sqrt", floating, tf.sqrt)
tan = unary("tan", floating, tf.tan)
tanh = unary("tanh", floating, tf.tanh)

# Functions that keep the dtype.
absolute = unary("absolute", tensor, lambda x: x if x.dtype == "bool" else tf.abs(x))
abs = unary("abs", tensor, absolute)
bitwise_invert = unary("bitwise_invert", tensor, _either(tf.logical_not, tf.bitwise.invert))
bitwise_not = unary("bitwise_not", tensor, bitwise_invert)
conjugate = unary("conjugate", tensor, lambda x: tf.math.conj(x) if x.dtype.is_complex else x)
conj = unary("conj", tensor, conjugate)
negative = unary("negative", tensor, tf.negative)
real = unary("real", tensor, lambda x: tf.math.real(x) if x.dtype.is_complex else x)
imag = unary("imag", tensor, lambda x: tf.math.imag(x) if x.dtype.is_complex else tf.zeros_like(x))
sign = unary("sign", tensor, _boolean_as("int8", tf.sign))
square = unary("square", numeric, tf.square)
trunc = unary("trunc", tensor, _same_unless_float(tf.raw_ops.trunc))

# Predicates.
isfinite = unary("isfinite", tensor, _of_kind(tf.math.is_finite, True, tf.logical_and))
isinf = unary("isinf", tensor, _of_kind(tf.math.is_inf, False, tf.logical_or))
isnan = unary("isnan", tensor, _of_kind(tf.math.is_nan, False, tf.logical_or))
logical_not = unary("logical_not", _truth, tf.logical_not)

# Functions of two operands.
add = binary("add", _either(tf.logical_or, tf.add))
subtract = binary("subtract", tf.subtract)
multiply = binary("multiply", _either(tf.logical_and, tf.multiply))
maximum = binary("maximum", _either(tf.logical_or, tf.maximum))
minimum = binary("minimum", _either(tf.logical_and, tf.minimum))
divide = binary("divide", tf.divide, float)
true_divide = binary("true_divide", tf.divide, float)
divide_no_nan = binary("divide_no_nan", tf.math.divide_no_nan, float)
equal = binary("equal", tf.equal)
not_equal = binary("not_equal", tf.not_equal)
greater = binary("greater", lambda x1, x2: tf.greater(_ordered(x1), _ordered(x2)))
greater_equal = binary("greater_equal", lambda x1, x2: tf.greater_equal(_ordered(x1), _ordered(x2)))
less = binary("less", lambda x1, x2: tf.less(_ordered(x1), _ordered(x2)))
less_equal = binary("less_equal", lambda x1, x2: tf.less_equal(_ordered(x1), _ordered(x2)))
arctan2 = binary("arctan2", tf.atan2, float)
float_power = binary("float_power", tf.pow, float)


def _ordered(x):
    """`x` in a dtype that has an order."""
    return tf.cast(x, "int8") if x.dtype == "bool" else x


def logical_and(x1, x2):
    return tf.logical_and(_truth(x1), _truth(x2))


def logical_or(x1, x2):
    return tf.logical_or(_truth(x1), _truth(x2))


def logical_xor(x1, x2):
    return tf.math.logical_xor(_truth(x1), _truth(x2))


def bitwise_and(x, y):
    return _either(tf.logical_and, tf.bitwise.bitwise_and)(*common(x, y))


def bitwise_or(x, y):
    return _either(tf.logical_or, tf.bitwise.bitwise_or)(*common(x, y))


def bitwise_xor(x, y):
    return _either(tf.math.logical_xor, tf.bitwise.bitwise_xor)(*common(x, y))


def bitwise_left_shift(x, y):
    return tf.bitwise.left_shift(*common(x, y))


def left_shift(x, y):
    return bitwise_left_shift(x, y)


def bitwise_right_shift(x, y):
    return tf.bitwise.right_shift(*common(x, y))


def right_shift(x, y):
    return bitwise_right_shift(x, y)


def angle(x):
    return tf.math.angle(floating(x))


def cbrt(x):
    return _cbrt(wide_floating(x))


@tf.custom_gradient
def _cbrt(x):
    root = tf.sign(x) * tf.pow(tf.abs(x), _like(1 / 3, x))
    return root, lambda upstream: upstream / (_like(3, x) * tf.square(root))


def deg2rad(x):
    x = wide_floating(x)
    return x * _like(math.pi / 180, x)


def rad2deg(x):
    x = wide_floating(x)
    return x * _like(180 / math.pi, x)


def exp2(x):
    x = floating(x)
    return tf.pow(_like(2, x), x)


def sinc(x):
    x = floating(x)
    angle = x * _like(math.pi, x)
    at_zero = tf.equal(x, _like(0, x))
    # The quotient is taken where it is defined only, so that its gradient is finite too.
    angle = tf.where(at_zero, tf.ones_like(x), angle)
    return tf.where(at_zero, tf.ones_like(x), tf.sin(angle) / angle)


def i0(x):
    """The modified Bessel function of the first kind and order 0.

    Near 0 it is the sum of (x²/4)^k / (k!)², whose terms are positive; far from it, its asymptotic expansion
    (Abramowitz and Stegun, "Handbook of Mathematical Functions", 9.6.12 and 9.7.1).
    """
    given = wide_floating(x)
    x = tf.abs(given if given.dtype.size >= 4 else tf.cast(given, "float32"))
    far = tf.greater(x, _like(20, x))
    one = _like(1, x)
    near_x = tf.where(far, one, x)
    quarter = tf.square(near_x) / _like(4, x)
    series = one
    for k in range(45, 0, -1):
        series = one + series * quarter / _like(k * k, x)
    far_x = tf.where(far, x, _like(20, x))
    eighth = one / (_like(8, x) * far_x)
    expansion = one
    for k in range(30, 0, -1):
        expansion = one + expansion * eighth * _like((2 * k - 1) ** 2 / k, x)
    # The exponential in two factors: it is greater than the function, and must not overflow before it.
    half = tf.exp(far_x / _like(2, x))
    asymptotic = half * (expansion * tf.math.rsqrt(_like(2 * math.pi, x) * far_x)) * half
    return tf.cast(tf.where(far, asymptotic, series), given.dtype)


@takes_sparse
def signbit(x):
    x = tensor(x)
    if x.dtype.is_floating:
        return array_api.signbit(x)
    if x.dtype == "bool" or x.dtype.is_unsigned:
        return tf.zeros_like(x, dtype="bool")
    return tf.less(x, tf.zeros_like(x))


def isposinf(x):
    return _of_kind(lambda x: tf.equal(x, _like(math.inf, x)), False, tf.logical_or)(tensor(x))


def isneginf(x):
    return _of_kind(lambda x: tf.equal(x, _like(-math.inf, x)), False, tf.logical_or)(tensor(x))


def isreal(x):
    x = tensor(x)
    if x.dtype.is_complex:
        return tf.equal(tf.math.imag(x), _like(0, tf.math.imag(x)))
    return tf.ones_like(x, dtype="bool")


@takes_sparse
def round(x, decimals=0):
    x = tensor(x)
    if x.dtype == "bool" or (not is_inexact(x) and decimals >= 0):
        return x
    if not is_inexact(x):
        return through(x, "float64", lambda x: round(x, decimals))
    if x.dtype.is_complex:
        return tf.complex(round(tf.math.real(x), decimals), round(tf.math.imag(x), decimals))
    if decimals == 0:
        return tf.round(x)
    if x.dtype.size < 4:
        return through(x, "float32", lambda x: round(x, decimals))
    factor = _like(10.0 ** builtins.abs(decimals), x)
    return tf.round(x * factor) / factor if decimals > 0 else tf.round(x / factor) * factor


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = tensor(x)
    if x.dtype.is_complex:
        return tf.complex(*(nan_to_num(part, nan, posinf, neginf) for part in (real(x), imag(x))))
    if not x.dtype.is_floating:
        return x
    x = tf.where(tf.math.is_nan(x), _like(nan, x), x)
    greatest = x.dtype.max if posinf is None else posinf
    least = x.dtype.min if neginf is None else neginf
    x = tf.where(isposinf(x), _like(greatest, x), x)
    return tf.where(isneginf(x), _like(least, x), x)


def clip(x, x_min, x_max):
    x = numeric(x)
    if x_min is not None:
        x = tf.maximum(x, as_dtype(tensor(x_min), x.dtype.name))
    if x_max is not None:
        x = tf.minimum(x, as_dtype(tensor(x_max), x.dtype.name))
    return x


def copysign(x1, x2):
    return array_api.copysign(*common(x1, x2, float))


def heaviside(x1, x2):
    x1, x2 = map(wide_floating, common(x1, x2))
    return tf.where(
        tf.equal(x1, _like(0, x1)),
        x2,
        tf.where(tf.math.is_nan(x1), x1, tf.cast(tf.greater(x1, _like(0, x1)), x1.dtype)),
    )


def hypot(x1, x2):
    return array_api.hypot(*map(wide_floating, common(x1, x2)))


def ldexp(x1, x2):
    x1, x2 = common(x1, x2, float)
    return x1 * tf.pow(_like(2, x2), x2)


def logaddexp(x1, x2):
    return array_api.logaddexp(*common(x1, x2, float))


def logaddexp2(x1, x2):
    x1, x2 = common(x1, x2, float)
    ln2 = _like(math.log(2), x1)
    return array_api.logaddexp(x1 * ln2, x2 * ln2) / ln2


def nextafter(x1, x2):
    """The number of the dtype that follows `x1` in the direction of `x2`.

    Floats of one sign are in the order of their bits, read as an integer.
    """
    x1, x2 = common(x1, x2, float)
    if x1.dtype.size >= 4:
        return tf.math.nextafter(x1, x2)
    zero, one = _like(0, x1), tf.constant(1, "int16")
    bits = tf.bitcast(x1, "int16")
    away = tf.equal(tf.greater(x2, x1), tf.greater(x1, zero))
    step = tf.bitcast(tf.where(away, bits + one, bits - one), x1.dtype)
    least = tf.bitcast(tf.where(tf.greater(x2, x1), one, tf.constant(1 - 2**15, "int16")), x1.dtype)
    moved = tf.where(tf.equal(x1, zero), least, step)
    undefined = tf.logical_or(tf.math.is_nan(x1), tf.math.is_nan(x2))
    return tf.where(undefined, x1 + x2, tf.where(tf.equal(x1, x2), x2, moved))


def _known(x1, x2, op):
    """`op` of the one of two floats that is a number, or of both."""
    if not x1.dtype.is_floating:
        return op(x1, x2)
    return tf.where(tf.math.is_nan(x1), x2, tf.where(tf.math.is_nan(x2), x1, op(x1, x2)))


def fmax(x1, x2):
    return _known(*common(x1, x2), maximum)


def fmin(x1, x2):
    return _known(*common(x1, x2), minimum)


def mod(x1, x2):
    x1, x2 = map(numeric, common(x1, x2))
    return tf.math.floormod(x1, x2)


def fmod(x1, x2):
    x1, x2 = map(numeric, common(x1, x2))
    return tf.math.truncatemod(x1, x2)


def floor_divide(x1, x2):
    x1, x2 = map(numeric, common(x1, x2))
    return tf.math.floordiv(x1, x2)


def power(x1, x2):
    x1, x2 = map(numeric, common(x1, x2))
    return tf.pow(x1, x2)


def gcd(x1, x2):
    """The greatest common divisor, by Euclid's algorithm on all elements at once."""
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        return tf.logical_or(x1, x2)
    shape = tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))
    static = tf.broadcast_static_shape(x1.shape, x2.shape)
    x1, x2 = (tf.ensure_shape(tf.broadcast_to(tf.abs(x), shape), static) for x in (x1, x2))

    def step(x1, x2):
        done = tf.equal(x2, tf.zeros_like(x2))
        rest = tf.math.floormod(x1, tf.where(done, tf.ones_like(x2), x2))
        return tf.where(done, x1, x2), tf.where(done, x2, rest)

    return tf.while_loop(lambda _, x2: tf.reduce_any(tf.not_equal(x2, tf.zeros_like(x2))), step, (x1, x2))[0]


def lcm(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        return tf.logical_and(x1, x2)
    divisor = tf.maximum(gcd(x1, x2), _like(1, x1))
    return tf.abs(tf.math.floordiv(tf.abs(x1), divisor) * x2)


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = common(x1, x2)
    same = tf.equal(x1, x2)
    if not is_inexact(x1):
        x1, x2 = tf.cast(x1, config.floatx()), tf.cast(x2, config.floatx())
    distance, size = tf.abs(x1 - x2), tf.abs(x2)
    near = tf.less_equal(distance, _like(atol, size) + _like(rtol, size) * size)
    # An infinity is close to itself only.
    result = tf.logical_or(same, tf.logical_and(near, isfinite(size)))
    if equal_nan:
        result = tf.logical_or(result, tf.logical_and(isnan(x1), isnan(x2)))
    return result


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def select(condlist, choicelist, default=0):
    choices = all_common([*choicelist, default])
    result = choices.pop()
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = tf.where(_truth(condition), choice, result)
    return result
