"""Elementwise functions, made from tables: one line says the name, the dtypes, how, and an example."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock.array_api._arrays import Array, Scalar, array, cast, is_scalar, new, operands, scalar_like

Unary: TypeAlias = Callable[[Any], Tensor]
Binary: TypeAlias = Callable[[Any, Any], Tensor]


def _document(
    function: Callable[..., Tensor], name: str, arguments: str, kind: str, summary: str, example: str
) -> None:
    function.__name__ = function.__qualname__ = name
    call, _, result = example.partition(" -> ")
    function.__doc__ = (
        f"{summary}\n\nElementwise.\n\nArgs:\n    {arguments}: of a dtype of kind {kind}.\n\n"
        "Raises:\n    TypeError: for another dtype, or none in common.\n\n"
        f">>> from penstock import array_api as xp\n>>> {call}.tolist()\n{result}\n"
    )


def _unary(name: str, kind: str, apply: Unary, summary: str, values: str, result: str) -> Unary:
    def function(x: Array, /) -> Tensor:
        return new(apply(array(x, name, kind)))

    _document(function, name, "x", kind, summary, f"xp.{name}(xp.asarray({values})) -> {result}")
    return function


def _binary(name: str, kind: str, apply: Binary, summary: str, values: str, result: str) -> Binary:
    def function(x1: Array, x2: Array, /) -> Tensor:
        return new(apply(*operands(name, kind, x1, x2)))

    arguments = "x1, x2: arrays that broadcast, one of which may be a Python scalar"
    first, _, second = values.partition("; ")
    _document(
        function, name, arguments, kind, summary, f"xp.{name}(xp.asarray({first}), {second}) -> {result}"
    )
    return function


# --- pieces that are several operators ---


def _unless_integer(op: Unary) -> Unary:
    """An operator on floats that leaves integers as they are."""
    return lambda x: x if x.dtype.is_integer else op(x)


def _either(of_bool: Callable[..., Tensor], of_integer: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, *rest: (of_bool if x.dtype == _core.bool else of_integer)(x, *rest)


def _classify(op: Unary, of_integer: bool, join: Binary) -> Unary:
    """A predicate of floats, for integers, which give one answer, and for both parts of complex numbers."""

    def apply(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return join(op(raw_ops.real(x)), op(raw_ops.imag(x)))
        if x.dtype.is_floating:
            return op(x)
        return raw_ops.fill(raw_ops.shape(x), _core._to_tensor(of_integer, _core.bool))

    return apply


def _of_parts(op: Unary) -> Unary:
    """An operator on real numbers, applied to both parts of complex ones."""

    def apply(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return raw_ops.complex(op(raw_ops.real(x)), op(raw_ops.imag(x)))
        return op(x)

    return apply


def _logarithm(base: int) -> Unary:
    """A logarithm to a base, exact for the powers that are representable."""

    def apply(x: Tensor) -> Tensor:
        near = raw_ops.log(x) * scalar_like(1 / math.log(base), x)
        if x.dtype.is_complex:
            return near
        whole = raw_ops.round(near)
        power = raw_ops.pow(scalar_like(base, x), whole)
        return raw_ops.select(raw_ops.equal(power, x), whole, near)

    return apply


def _signbit(x: Tensor) -> Tensor:
    bits = {2: _core.int16, 4: _core.int32, 8: _core.int64}[x.dtype.size]
    signed = raw_ops.bitcast(x, dtype=bits)
    return raw_ops.less(signed, raw_ops.zeros_like(signed))


def _copysign(x: Tensor, y: Tensor) -> Tensor:
    magnitude = raw_ops.select(_signbit(x), -x, x)
    return raw_ops.select(_signbit(y), -magnitude, magnitude)


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """Scaled by the greater magnitude, so that no square overflows or vanishes."""
    x, y = raw_ops.abs(x), raw_ops.abs(y)
    most, least = raw_ops.maximum(x, y), raw_ops.minimum(x, y)
    ratio = raw_ops.divide_no_nan(least, most)
    length = most * raw_ops.sqrt(scalar_like(1, x) + ratio * ratio)
    infinite = raw_ops.logical_or(raw_ops.is_inf(x), raw_ops.is_inf(y))
    return raw_ops.select(infinite, scalar_like(math.inf, x), length)


def _logaddexp(x: Tensor, y: Tensor) -> Tensor:
    most = raw_ops.maximum(x, y)
    # Of two equal infinities the distance is not defined, but is 0.
    distance = raw_ops.select(raw_ops.equal(x, y), raw_ops.zeros_like(most), raw_ops.abs(x - y))
    return most + raw_ops.log1p(raw_ops.exp(-distance))


def _real(x: Tensor) -> Tensor:
    return raw_ops.real(x) if x.dtype.is_complex else x


def _imag(x: Tensor) -> Tensor:
    return raw_ops.imag(x) if x.dtype.is_complex else raw_ops.zeros_like(x)


def _conj(x: Tensor) -> Tensor:
    return raw_ops.conj(x) if x.dtype.is_complex else x


# --- of one operand ---

abs = _unary("abs", "numeric", raw_ops.abs, "The magnitude.", "[-1.0, 2.0]", "[1.0, 2.0]")
acos = _unary("acos", "floating", raw_ops.acos, "The inverse cosine, in radians.", "[1.0]", "[0.0]")
acosh = _unary("acosh", "floating", raw_ops.acosh, "The inverse hyperbolic cosine.", "[1.0]", "[0.0]")
asin = _unary("asin", "floating", raw_ops.asin, "The inverse sine, in radians.", "[0.0]", "[0.0]")
asinh = _unary("asinh", "floating", raw_ops.asinh, "The inverse hyperbolic sine.", "[0.0]", "[0.0]")
atan = _unary("atan", "floating", raw_ops.atan, "The inverse tangent, in radians.", "[0.0]", "[0.0]")
atanh = _unary("atanh", "floating", raw_ops.atanh, "The inverse hyperbolic tangent.", "[0.0]", "[0.0]")
bitwise_invert = _unary(
    "bitwise_invert", "integral or bool", _either(raw_ops.logical_not, raw_ops.invert),
    "The complement of every bit.", "[0, -2]", "[-1, 1]",
)  # fmt: skip
ceil = _unary(
    "ceil", "real numeric", _unless_integer(raw_ops.ceil),
    "The smallest integer not below each element.", "[1.5]", "[2.0]",
)  # fmt: skip
conj = _unary("conj", "numeric", _conj, "The complex conjugate.", "[1 + 2j]", "[(1-2j)]")
cos = _unary("cos", "floating", raw_ops.cos, "The cosine of angles in radians.", "[0.0]", "[1.0]")
cosh = _unary("cosh", "floating", raw_ops.cosh, "The hyperbolic cosine.", "[0.0]", "[1.0]")
exp = _unary("exp", "floating", raw_ops.exp, "e to the power of each element.", "[0.0]", "[1.0]")
expm1 = _unary("expm1", "floating", raw_ops.expm1, "`exp(x) - 1`, accurate near 0.", "[0.0]", "[0.0]")
floor = _unary(
    "floor", "real numeric", _unless_integer(raw_ops.floor),
    "The largest integer not above each element.", "[1.5]", "[1.0]",
)  # fmt: skip
imag = _unary("imag", "numeric", _imag, "The imaginary part.", "[1 + 2j]", "[2.0]")
isfinite = _unary(
    "isfinite", "numeric", _classify(raw_ops.is_finite, True, raw_ops.logical_and),
    "Whether an element is neither NaN nor infinite.", "[1.0, xp.inf]", "[True, False]",
)  # fmt: skip
isinf = _unary(
    "isinf", "numeric", _classify(raw_ops.is_inf, False, raw_ops.logical_or),
    "Whether an element, or a part of it, is infinite.", "[1.0, xp.inf]", "[False, True]",
)  # fmt: skip
isnan = _unary(
    "isnan", "numeric", _classify(raw_ops.is_nan, False, raw_ops.logical_or),
    "Whether an element, or a part of it, is NaN.", "[1.0, xp.nan]", "[False, True]",
)  # fmt: skip
log = _unary("log", "floating", raw_ops.log, "The natural logarithm.", "[1.0]", "[0.0]")
log10 = _unary("log10", "floating", _logarithm(10), "The logarithm to base 10.", "[1000.0]", "[3.0]")
log1p = _unary("log1p", "floating", raw_ops.log1p, "`log(1 + x)`, accurate near 0.", "[0.0]", "[0.0]")
log2 = _unary("log2", "floating", _logarithm(2), "The logarithm to base 2.", "[8.0]", "[3.0]")
logical_not = _unary(
    "logical_not", "bool", raw_ops.logical_not, "The negation.", "[True, False]", "[False, True]"
)
negative = _unary("negative", "numeric", raw_ops.neg, "`-x`; unsigned integers wrap.", "[1, -2]", "[-1, 2]")
positive = _unary("positive", "numeric", lambda x: x, "The elements themselves.", "[1, -2]", "[1, -2]")
real = _unary("real", "numeric", _real, "The real part.", "[1 + 2j]", "[1.0]")
reciprocal = _unary("reciprocal", "floating", raw_ops.reciprocal, "`1 / x`.", "[4.0]", "[0.25]")
round = _unary(
    "round", "numeric", _of_parts(raw_ops.round),
    "The nearest integer, ties to even; of complex numbers for each part.", "[0.5, 1.5]", "[0.0, 2.0]",
)  # fmt: skip
sign = _unary(
    "sign", "numeric", raw_ops.sign,
    "-1, 0 or 1 as an element is negative, 0 or positive; `x / abs(x)` of a complex one.",
    "[-2, 0]", "[-1, 0]",
)  # fmt: skip
signbit = _unary(
    "signbit", "real floating", _signbit,
    "Whether the sign bit is set, as it is for -0.0.", "[-0.0, 1.0]", "[True, False]",
)  # fmt: skip
sin = _unary("sin", "floating", raw_ops.sin, "The sine of angles in radians.", "[0.0]", "[0.0]")
sinh = _unary("sinh", "floating", raw_ops.sinh, "The hyperbolic sine.", "[0.0]", "[0.0]")
sqrt = _unary("sqrt", "floating", raw_ops.sqrt, "The principal square root.", "[4.0]", "[2.0]")
square = _unary("square", "numeric", raw_ops.square, "`x * x`; integers wrap.", "[3]", "[9]")
tan = _unary("tan", "floating", raw_ops.tan, "The tangent of angles in radians.", "[0.0]", "[0.0]")
tanh = _unary("tanh", "floating", raw_ops.tanh, "The hyperbolic tangent.", "[0.0]", "[0.0]")
trunc = _unary(
    "trunc", "real numeric", _unless_integer(raw_ops.trunc),
    "The nearest integer towards 0.", "[-1.5]", "[-1.0]",
)  # fmt: skip

# --- of two operands ---

add = _binary("add", "numeric", raw_ops.add, "The sum; integers wrap.", "[1, 2]; 3", "[4, 5]")
atan2 = _binary(
    "atan2", "real floating", raw_ops.atan2,
    "The angle, in radians, of the point with ordinate `x1` and abscissa `x2`.", "[0.0]; 1.0", "[0.0]",
)  # fmt: skip
bitwise_and = _binary(
    "bitwise_and", "integral or bool", _either(raw_ops.logical_and, raw_ops.bitwise_and),
    "Bitwise `and`.", "[6]; 3", "[2]",
)  # fmt: skip
bitwise_left_shift = _binary(
    "bitwise_left_shift", "integral", raw_ops.left_shift,
    "`x1` shifted left by `x2` bits; all are gone from the width on.", "[1]; 3", "[8]",
)  # fmt: skip
bitwise_or = _binary(
    "bitwise_or", "integral or bool", _either(raw_ops.logical_or, raw_ops.bitwise_or),
    "Bitwise `or`.", "[6]; 3", "[7]",
)  # fmt: skip
bitwise_right_shift = _binary(
    "bitwise_right_shift", "integral", raw_ops.right_shift,
    "`x1` shifted right by `x2` bits, which repeats the sign.", "[-8]; 1", "[-4]",
)  # fmt: skip
bitwise_xor = _binary(
    "bitwise_xor", "integral or bool", _either(raw_ops.logical_xor, raw_ops.bitwise_xor),
    "Bitwise exclusive `or`.", "[6]; 3", "[5]",
)  # fmt: skip
copysign = _binary(
    "copysign", "real floating", _copysign,
    "The magnitude of `x1` with the sign of `x2`, that of zeros and NaN too.", "[1.0]; -0.0", "[-1.0]",
)  # fmt: skip
divide = _binary(
    "divide", "numeric", lambda x, y: x / y,
    "The quotient; integers become floating-point first, of 8 and 16 bits `float32`, others `float64`.",
    "[1.0]; 4", "[0.25]",
)  # fmt: skip
equal = _binary("equal", "any", raw_ops.equal, "Whether elements are equal.", "[1, 2]; 2", "[False, True]")
floor_divide = _binary(
    "floor_divide", "real numeric", raw_ops.floordiv,
    "The quotient rounded towards negative infinity. Division of an integer by 0 is an error.",
    "[-7]; 2", "[-4]",
)  # fmt: skip
greater = _binary(
    "greater", "real numeric", raw_ops.greater, "Whether `x1 > x2`.", "[1, 2]; 1", "[False, True]"
)
greater_equal = _binary(
    "greater_equal",
    "real numeric",
    raw_ops.greater_equal,
    "Whether `x1 >= x2`.",
    "[1, 0]; 1",
    "[True, False]",
)
hypot = _binary(
    "hypot", "real floating", _hypot,
    "`sqrt(x1**2 + x2**2)`, without overflow; infinite where either is.", "[3.0]; 4.0", "[5.0]",
)  # fmt: skip
less = _binary("less", "real numeric", raw_ops.less, "Whether `x1 < x2`.", "[1, 0]; 1", "[False, True]")
less_equal = _binary(
    "less_equal", "real numeric", raw_ops.less_equal, "Whether `x1 <= x2`.", "[1, 2]; 1", "[True, False]"
)
logaddexp = _binary(
    "logaddexp", "real floating", _logaddexp,
    "`log(exp(x1) + exp(x2))`, without overflow.", "[0.0]; -xp.inf", "[0.0]",
)  # fmt: skip
logical_and = _binary("logical_and", "bool", raw_ops.logical_and, "Both.", "[True]; False", "[False]")
logical_or = _binary("logical_or", "bool", raw_ops.logical_or, "Either.", "[True]; False", "[True]")
logical_xor = _binary("logical_xor", "bool", raw_ops.logical_xor, "One of both.", "[True]; True", "[False]")
maximum = _binary(
    "maximum",
    "real numeric",
    raw_ops.maximum,
    "The greater element; NaN where either is.",
    "[1, 3]; 2",
    "[2, 3]",
)
minimum = _binary(
    "minimum",
    "real numeric",
    raw_ops.minimum,
    "The lesser element; NaN where either is.",
    "[1, 3]; 2",
    "[1, 2]",
)
multiply = _binary("multiply", "numeric", raw_ops.mul, "The product; integers wrap.", "[1, 2]; 3", "[3, 6]")
nextafter = _binary(
    "nextafter", "real floating", lambda x, y: raw_ops.nextafter(x, y),
    "The number next to `x1` in the direction of `x2`.", "[1.0]; 1.0", "[1.0]",
)  # fmt: skip
not_equal = _binary(
    "not_equal", "any", raw_ops.not_equal, "Whether elements differ.", "[1, 2]; 2", "[True, False]"
)
pow = _binary(
    "pow", "numeric", raw_ops.pow,
    "`x1` to the power of `x2`; integers wrap, and give 0 to a negative power, unless `x1` is 1 or -1.",
    "[2, 3]; 2", "[4, 9]",
)  # fmt: skip
remainder = _binary(
    "remainder", "real numeric", raw_ops.floormod,
    "The remainder of `floor_divide`, of the sign of `x2`. Division of an integer by 0 is an error.",
    "[-7]; 2", "[1]",
)  # fmt: skip
subtract = _binary(
    "subtract", "numeric", raw_ops.sub, "The difference; integers wrap.", "[1, 2]; 3", "[-2, -1]"
)


def clip(x: Array, /, min: Array | Scalar | None = None, max: Array | Scalar | None = None) -> Tensor:
    """Limit the elements to a range.

    Args:
        x: an array of a real dtype.
        min: the lower bound, an array that broadcasts or a number; None for no bound.
        max: the upper bound.

    Returns:
        The array, of the dtype of `x`; NaN where one of the three is.

    >>> from penstock import array_api as xp
    >>> xp.clip(xp.asarray([1, 5, 9]), 2, 6).tolist()
    [2, 5, 6]
    """
    result = x = array(x, "clip", "real numeric")
    bounds: list[tuple[str, Any, Binary]] = [("min", min, raw_ops.maximum), ("max", max, raw_ops.minimum)]
    for name, bound, op in bounds:
        if bound is not None:
            if is_scalar(bound):
                _, limit = operands("clip", "real numeric", x, bound, ("x", name))
            else:
                limit = cast(array(bound, "clip", "real numeric", name), x.dtype)
            result = op(result, limit)
    return new(result)


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
    "clip",
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
