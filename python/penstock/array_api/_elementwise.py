"""Elementwise functions of the array standard."""

# Written by tools/generate.py from tools/array_elementwise.py.

from __future__ import annotations

from penstock import raw_ops
from penstock._core import Tensor
from penstock.array_api import _formulas as formulas
from penstock.array_api._arrays import Array, Scalar, array, new, operands

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

# What is made of several operators, once.
_BITWISE_INVERT = formulas.either(raw_ops.logical_not, raw_ops.invert)
_CEIL = formulas.unless_integer(raw_ops.ceil)
_FLOOR = formulas.unless_integer(raw_ops.floor)
_ISFINITE = formulas.classify(raw_ops.is_finite, True, raw_ops.logical_and)
_ISINF = formulas.classify(raw_ops.is_inf, False, raw_ops.logical_or)
_ISNAN = formulas.classify(raw_ops.is_nan, False, raw_ops.logical_or)
_LOG10 = formulas.logarithm(10)
_LOG2 = formulas.logarithm(2)
_ROUND = formulas.of_parts(raw_ops.round)
_TRUNC = formulas.unless_integer(raw_ops.trunc)
_BITWISE_AND = formulas.either(raw_ops.logical_and, raw_ops.bitwise_and)
_BITWISE_OR = formulas.either(raw_ops.logical_or, raw_ops.bitwise_or)
_BITWISE_XOR = formulas.either(raw_ops.logical_xor, raw_ops.bitwise_xor)


def abs(x: Array, /) -> Tensor:
    """Compute the magnitude.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.abs(xp.asarray([-1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return new(raw_ops.abs(array(x, "abs", "numeric")))


def acos(x: Array, /) -> Tensor:
    """Compute the inverse cosine, in radians.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.acos(xp.asarray([1.0])).tolist()
    [0.0]
    """
    return new(raw_ops.acos(array(x, "acos", "floating")))


def acosh(x: Array, /) -> Tensor:
    """Compute the inverse hyperbolic cosine.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.acosh(xp.asarray([1.0])).tolist()
    [0.0]
    """
    return new(raw_ops.acosh(array(x, "acosh", "floating")))


def asin(x: Array, /) -> Tensor:
    """Compute the inverse sine, in radians.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.asin(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.asin(array(x, "asin", "floating")))


def asinh(x: Array, /) -> Tensor:
    """Compute the inverse hyperbolic sine.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.asinh(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.asinh(array(x, "asinh", "floating")))


def atan(x: Array, /) -> Tensor:
    """Compute the inverse tangent, in radians.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.atan(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.atan(array(x, "atan", "floating")))


def atanh(x: Array, /) -> Tensor:
    """Compute the inverse hyperbolic tangent.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.atanh(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.atanh(array(x, "atanh", "floating")))


def bitwise_invert(x: Array, /) -> Tensor:
    """Compute the complement of every bit.

    Args:
        x: an array of a dtype of kind integral or bool.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.bitwise_invert(xp.asarray([0, -2])).tolist()
    [-1, 1]
    """
    return new(_BITWISE_INVERT(array(x, "bitwise_invert", "integral or bool")))


def ceil(x: Array, /) -> Tensor:
    """Compute the smallest integer not below each element.

    Args:
        x: an array of a dtype of kind real numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.ceil(xp.asarray([1.5])).tolist()
    [2.0]
    """
    return new(_CEIL(array(x, "ceil", "real numeric")))


def conj(x: Array, /) -> Tensor:
    """Compute the complex conjugate.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.conj(xp.asarray([1 + 2j])).tolist()
    [(1-2j)]
    """
    return new(formulas.conj(array(x, "conj", "numeric")))


def cos(x: Array, /) -> Tensor:
    """Compute the cosine of angles in radians.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.cos(xp.asarray([0.0])).tolist()
    [1.0]
    """
    return new(raw_ops.cos(array(x, "cos", "floating")))


def cosh(x: Array, /) -> Tensor:
    """Compute the hyperbolic cosine.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.cosh(xp.asarray([0.0])).tolist()
    [1.0]
    """
    return new(raw_ops.cosh(array(x, "cosh", "floating")))


def exp(x: Array, /) -> Tensor:
    """Compute e to the power of each element.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.exp(xp.asarray([0.0])).tolist()
    [1.0]
    """
    return new(raw_ops.exp(array(x, "exp", "floating")))


def expm1(x: Array, /) -> Tensor:
    """Compute `exp(x) - 1`, accurate near 0.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.expm1(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.expm1(array(x, "expm1", "floating")))


def floor(x: Array, /) -> Tensor:
    """Compute the largest integer not above each element.

    Args:
        x: an array of a dtype of kind real numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.floor(xp.asarray([1.5])).tolist()
    [1.0]
    """
    return new(_FLOOR(array(x, "floor", "real numeric")))


def imag(x: Array, /) -> Tensor:
    """Take the imaginary part.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.imag(xp.asarray([1 + 2j])).tolist()
    [2.0]
    """
    return new(formulas.imag(array(x, "imag", "numeric")))


def isfinite(x: Array, /) -> Tensor:
    """Tell whether an element is neither NaN nor infinite.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of booleans with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.isfinite(xp.asarray([1.0, xp.inf])).tolist()
    [True, False]
    """
    return new(_ISFINITE(array(x, "isfinite", "numeric")))


def isinf(x: Array, /) -> Tensor:
    """Tell whether an element, or a part of it, is infinite.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of booleans with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.isinf(xp.asarray([1.0, xp.inf])).tolist()
    [False, True]
    """
    return new(_ISINF(array(x, "isinf", "numeric")))


def isnan(x: Array, /) -> Tensor:
    """Tell whether an element, or a part of it, is NaN.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of booleans with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.isnan(xp.asarray([1.0, xp.nan])).tolist()
    [False, True]
    """
    return new(_ISNAN(array(x, "isnan", "numeric")))


def log(x: Array, /) -> Tensor:
    """Compute the natural logarithm.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.log(xp.asarray([1.0])).tolist()
    [0.0]
    """
    return new(raw_ops.log(array(x, "log", "floating")))


def log10(x: Array, /) -> Tensor:
    """Compute the logarithm to base 10.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.log10(xp.asarray([1000.0])).tolist()
    [3.0]
    """
    return new(_LOG10(array(x, "log10", "floating")))


def log1p(x: Array, /) -> Tensor:
    """Compute `log(1 + x)`, accurate near 0.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.log1p(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.log1p(array(x, "log1p", "floating")))


def log2(x: Array, /) -> Tensor:
    """Compute the logarithm to base 2.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.log2(xp.asarray([8.0])).tolist()
    [3.0]
    """
    return new(_LOG2(array(x, "log2", "floating")))


def logical_not(x: Array, /) -> Tensor:
    """Negate booleans.

    Args:
        x: an array of a dtype of kind bool.

    Returns:
        An array of booleans with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.logical_not(xp.asarray([True, False])).tolist()
    [False, True]
    """
    return new(raw_ops.logical_not(array(x, "logical_not", "bool")))


def negative(x: Array, /) -> Tensor:
    """Compute `-x`; unsigned integers wrap.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.negative(xp.asarray([1, -2])).tolist()
    [-1, 2]
    """
    return new(raw_ops.neg(array(x, "negative", "numeric")))


def positive(x: Array, /) -> Tensor:
    """Give the elements themselves.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.positive(xp.asarray([1, -2])).tolist()
    [1, -2]
    """
    return new(formulas.itself(array(x, "positive", "numeric")))


def real(x: Array, /) -> Tensor:
    """Take the real part.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.asarray([1 + 2j])).tolist()
    [1.0]
    """
    return new(formulas.real(array(x, "real", "numeric")))


def reciprocal(x: Array, /) -> Tensor:
    """Compute `1 / x`.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.reciprocal(xp.asarray([4.0])).tolist()
    [0.25]
    """
    return new(raw_ops.reciprocal(array(x, "reciprocal", "floating")))


def round(x: Array, /) -> Tensor:
    """Compute the nearest integer, ties to even; of complex numbers for each part.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.round(xp.asarray([0.5, 1.5])).tolist()
    [0.0, 2.0]
    """
    return new(_ROUND(array(x, "round", "numeric")))


def sign(x: Array, /) -> Tensor:
    """Compute -1, 0 or 1 as an element is negative, 0 or positive; `x / abs(x)` of a complex one.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.sign(xp.asarray([-2, 0])).tolist()
    [-1, 0]
    """
    return new(raw_ops.sign(array(x, "sign", "numeric")))


def signbit(x: Array, /) -> Tensor:
    """Tell whether the sign bit is set, as it is for -0.0.

    Args:
        x: an array of a dtype of kind real floating.

    Returns:
        An array of booleans with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.signbit(xp.asarray([-0.0, 1.0])).tolist()
    [True, False]
    """
    return new(formulas.signbit(array(x, "signbit", "real floating")))


def sin(x: Array, /) -> Tensor:
    """Compute the sine of angles in radians.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.sin(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.sin(array(x, "sin", "floating")))


def sinh(x: Array, /) -> Tensor:
    """Compute the hyperbolic sine.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.sinh(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.sinh(array(x, "sinh", "floating")))


def sqrt(x: Array, /) -> Tensor:
    """Compute the principal square root.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.sqrt(xp.asarray([4.0])).tolist()
    [2.0]
    """
    return new(raw_ops.sqrt(array(x, "sqrt", "floating")))


def square(x: Array, /) -> Tensor:
    """Compute `x * x`; integers wrap.

    Args:
        x: an array of a dtype of kind numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.square(xp.asarray([3])).tolist()
    [9]
    """
    return new(raw_ops.square(array(x, "square", "numeric")))


def tan(x: Array, /) -> Tensor:
    """Compute the tangent of angles in radians.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.tan(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.tan(array(x, "tan", "floating")))


def tanh(x: Array, /) -> Tensor:
    """Compute the hyperbolic tangent.

    Args:
        x: an array of a dtype of kind floating.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.tanh(xp.asarray([0.0])).tolist()
    [0.0]
    """
    return new(raw_ops.tanh(array(x, "tanh", "floating")))


def trunc(x: Array, /) -> Tensor:
    """Compute the nearest integer towards 0.

    Args:
        x: an array of a dtype of kind real numeric.

    Returns:
        An array of values with the shape of `x`.

    Raises:
        TypeError: for a dtype of another kind.

    >>> from penstock import array_api as xp
    >>> xp.trunc(xp.asarray([-1.5])).tolist()
    [-1.0]
    """
    return new(_TRUNC(array(x, "trunc", "real numeric")))


def add(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Add; integers wrap.

    Args:
        x1: an array of a dtype of kind numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.add(xp.asarray([1, 2]), 3).tolist()
    [4, 5]
    """
    return new(raw_ops.add(*operands("add", "numeric", x1, x2)))


def atan2(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute the angle, in radians, of the point with ordinate `x1` and abscissa `x2`.

    Args:
        x1: an array of a dtype of kind real floating, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.atan2(xp.asarray([0.0]), 1.0).tolist()
    [0.0]
    """
    return new(raw_ops.atan2(*operands("atan2", "real floating", x1, x2)))


def bitwise_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Combine bits by `and`.

    Args:
        x1: an array of a dtype of kind integral or bool, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.bitwise_and(xp.asarray([6]), 3).tolist()
    [2]
    """
    return new(_BITWISE_AND(*operands("bitwise_and", "integral or bool", x1, x2)))


def bitwise_left_shift(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Shift `x1` left by `x2` bits; all are gone from the width on.

    Args:
        x1: an array of a dtype of kind integral, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.bitwise_left_shift(xp.asarray([1]), 3).tolist()
    [8]
    """
    return new(raw_ops.left_shift(*operands("bitwise_left_shift", "integral", x1, x2)))


def bitwise_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Combine bits by `or`.

    Args:
        x1: an array of a dtype of kind integral or bool, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.bitwise_or(xp.asarray([6]), 3).tolist()
    [7]
    """
    return new(_BITWISE_OR(*operands("bitwise_or", "integral or bool", x1, x2)))


def bitwise_right_shift(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Shift `x1` right by `x2` bits, which repeats the sign.

    Args:
        x1: an array of a dtype of kind integral, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.bitwise_right_shift(xp.asarray([-8]), 1).tolist()
    [-4]
    """
    return new(raw_ops.right_shift(*operands("bitwise_right_shift", "integral", x1, x2)))


def bitwise_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Combine bits by exclusive `or`.

    Args:
        x1: an array of a dtype of kind integral or bool, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.bitwise_xor(xp.asarray([6]), 3).tolist()
    [5]
    """
    return new(_BITWISE_XOR(*operands("bitwise_xor", "integral or bool", x1, x2)))


def copysign(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute the magnitude of `x1` with the sign of `x2`, that of zeros and NaN too.

    Args:
        x1: an array of a dtype of kind real floating, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.copysign(xp.asarray([1.0]), -0.0).tolist()
    [-1.0]
    """
    return new(formulas.copysign(*operands("copysign", "real floating", x1, x2)))


def divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Divide; integers become floating-point first: of 8 and 16 bits `float32`, others `float64`.

    Args:
        x1: an array of a dtype of kind numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.divide(xp.asarray([1.0]), 4).tolist()
    [0.25]
    """
    return new(formulas.quotient(*operands("divide", "numeric", x1, x2)))


def equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether elements are equal.

    Args:
        x1: an array of a dtype of kind any, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.equal(xp.asarray([1, 2]), 2).tolist()
    [False, True]
    """
    return new(raw_ops.equal(*operands("equal", "any", x1, x2)))


def floor_divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Divide, and round towards negative infinity. Division of an integer by 0 is an error.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.floor_divide(xp.asarray([-7]), 2).tolist()
    [-4]
    """
    return new(raw_ops.floordiv(*operands("floor_divide", "real numeric", x1, x2)))


def greater(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether `x1 > x2`.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.greater(xp.asarray([1, 2]), 1).tolist()
    [False, True]
    """
    return new(raw_ops.greater(*operands("greater", "real numeric", x1, x2)))


def greater_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether `x1 >= x2`.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.greater_equal(xp.asarray([1, 0]), 1).tolist()
    [True, False]
    """
    return new(raw_ops.greater_equal(*operands("greater_equal", "real numeric", x1, x2)))


def hypot(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute `sqrt(x1**2 + x2**2)`, without overflow; infinite where either is.

    Args:
        x1: an array of a dtype of kind real floating, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.hypot(xp.asarray([3.0]), 4.0).tolist()
    [5.0]
    """
    return new(formulas.hypot(*operands("hypot", "real floating", x1, x2)))


def less(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether `x1 < x2`.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.less(xp.asarray([1, 0]), 1).tolist()
    [False, True]
    """
    return new(raw_ops.less(*operands("less", "real numeric", x1, x2)))


def less_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether `x1 <= x2`.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.less_equal(xp.asarray([1, 2]), 1).tolist()
    [True, False]
    """
    return new(raw_ops.less_equal(*operands("less_equal", "real numeric", x1, x2)))


def logaddexp(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute `log(exp(x1) + exp(x2))`, without overflow.

    Args:
        x1: an array of a dtype of kind real floating, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.logaddexp(xp.asarray([0.0]), -xp.inf).tolist()
    [0.0]
    """
    return new(formulas.logaddexp(*operands("logaddexp", "real floating", x1, x2)))


def logical_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether both are true.

    Args:
        x1: an array of a dtype of kind bool, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.logical_and(xp.asarray([True]), False).tolist()
    [False]
    """
    return new(raw_ops.logical_and(*operands("logical_and", "bool", x1, x2)))


def logical_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether one or both are true.

    Args:
        x1: an array of a dtype of kind bool, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.logical_or(xp.asarray([True]), False).tolist()
    [True]
    """
    return new(raw_ops.logical_or(*operands("logical_or", "bool", x1, x2)))


def logical_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether just one is true.

    Args:
        x1: an array of a dtype of kind bool, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.logical_xor(xp.asarray([True]), True).tolist()
    [False]
    """
    return new(raw_ops.logical_xor(*operands("logical_xor", "bool", x1, x2)))


def maximum(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Take the greater element; NaN where either is.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.maximum(xp.asarray([1, 3]), 2).tolist()
    [2, 3]
    """
    return new(raw_ops.maximum(*operands("maximum", "real numeric", x1, x2)))


def minimum(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Take the lesser element; NaN where either is.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.minimum(xp.asarray([1, 3]), 2).tolist()
    [1, 2]
    """
    return new(raw_ops.minimum(*operands("minimum", "real numeric", x1, x2)))


def multiply(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Multiply; integers wrap.

    Args:
        x1: an array of a dtype of kind numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.multiply(xp.asarray([1, 2]), 3).tolist()
    [3, 6]
    """
    return new(raw_ops.mul(*operands("multiply", "numeric", x1, x2)))


def nextafter(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute the number next to `x1` in the direction of `x2`.

    Args:
        x1: an array of a dtype of kind real floating, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.nextafter(xp.asarray([1.0]), 1.0).tolist()
    [1.0]
    """
    return new(raw_ops.nextafter(*operands("nextafter", "real floating", x1, x2)))


def not_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Tell whether elements differ.

    Args:
        x1: an array of a dtype of kind any, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of booleans with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.not_equal(xp.asarray([1, 2]), 2).tolist()
    [True, False]
    """
    return new(raw_ops.not_equal(*operands("not_equal", "any", x1, x2)))


def pow(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute `x1` to the power of `x2`; integers wrap, and give 0 for negative powers, but of 1 and -1.

    Args:
        x1: an array of a dtype of kind numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.pow(xp.asarray([2, 3]), 2).tolist()
    [4, 9]
    """
    return new(raw_ops.pow(*operands("pow", "numeric", x1, x2)))


def remainder(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Compute the remainder of `floor_divide`. Division of an integer by 0 is an error.

    Args:
        x1: an array of a dtype of kind real numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.remainder(xp.asarray([-7]), 2).tolist()
    [1]
    """
    return new(raw_ops.floormod(*operands("remainder", "real numeric", x1, x2)))


def subtract(x1: Array | Scalar, x2: Array | Scalar, /) -> Tensor:
    """Subtract; integers wrap.

    Args:
        x1: an array of a dtype of kind numeric, or a Python scalar.
        x2: another one, not a scalar too; the two broadcast.

    Returns:
        An array of values with the shape to which the operands broadcast.

    Raises:
        TypeError: for a dtype of another kind, or where they have none in common.

    >>> from penstock import array_api as xp
    >>> xp.subtract(xp.asarray([1, 2]), 3).tolist()
    [-2, -1]
    """
    return new(raw_ops.sub(*operands("subtract", "numeric", x1, x2)))
