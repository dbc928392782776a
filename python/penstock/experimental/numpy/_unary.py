"""Functions of one array, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock._types.aliases import IntLike
from penstock.array_api import _formulas as formulas
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    as_type,
    convert,
    floating,
    inexact,
    is_inexact,
    named,
    number,
    public,
    refuse,
)

_Formula = Callable[[Tensor], Tensor]
_Function = Callable[[ArrayLike], Tensor]


def _of_floats(name: str, formula: _Formula, summary: str, example: str) -> _Function:
    """A function whose argument becomes floating-point."""

    def function(x: ArrayLike) -> Tensor:
        return formula(floating(x))

    return _documented(name, function, summary, "of its dtype, `float64` for integers", example)


def _of_any(
    name: str, formula: _Formula, summary: str, example: str, dtype: str = "of its dtype"
) -> _Function:
    """A function whose argument keeps its dtype."""

    def function(x: ArrayLike) -> Tensor:
        return formula(convert(x))

    return _documented(name, function, summary, dtype, example)


def _documented(name: str, function: _Function, summary: str, dtype: str, example: str) -> _Function:
    call, value = example.split(" -> ")
    result = f"An array of the shape of `x`, {dtype}."
    doc = f"{summary}\n\nReturns:\n    {result}\n\n>>> tnp.{call}.tolist()\n{value}"
    made: _Function = named(name, function, doc)
    return made


def _scaled(formula: _Formula, factor: float) -> _Formula:
    return lambda x: formula(x) * number(factor, x)


def _of_sign(positive: _Formula, negative: _Formula) -> _Formula:
    """One formula below 0, another one elsewhere."""
    return lambda x: raw_ops.select(raw_ops.less(x, raw_ops.zeros_like(x)), negative(x), positive(x))


def _cube_root(x: Tensor) -> Tensor:
    size = raw_ops.pow(raw_ops.abs(x), number(1 / 3, x))
    return formulas.copysign(size, x) if x.dtype != _core.bfloat16 else raw_ops.sign(x) * size


def _sinc(x: Tensor) -> Tensor:
    zero = raw_ops.equal(x, raw_ops.zeros_like(x))
    # The quotient is not asked for at 0, nor is its derivative.
    angle = raw_ops.select(zero, raw_ops.ones_like(x), x) * number(math.pi, x)
    return raw_ops.select(zero, raw_ops.ones_like(x), raw_ops.sin(angle) / angle)


def _sign(x: Tensor) -> Tensor:
    return x if x.dtype == _core.bool else raw_ops.sign(x)


def _reciprocal(x: Tensor) -> Tensor:
    if is_inexact(x):
        return raw_ops.reciprocal(x)
    return raw_ops.floordiv(raw_ops.ones_like(x), x) if x.dtype.is_unsigned else _truncated(x)


def _truncated(x: Tensor) -> Tensor:
    """The reciprocal of integers: 1 and -1 have one, all others 0."""
    one = raw_ops.equal(raw_ops.abs(x), raw_ops.ones_like(x))
    return raw_ops.select(one, x, raw_ops.zeros_like(x))


def _not(x: Tensor) -> Tensor:
    return raw_ops.logical_not(x) if x.dtype == _core.bool else raw_ops.invert(x)


def _signbit(x: Tensor) -> Tensor:
    if x.dtype.is_floating:
        return formulas.signbit(x)
    if x.dtype == _core.bool or x.dtype.is_unsigned:
        return raw_ops.zeros_like(as_type(x, _core.bool))
    return raw_ops.less(x, raw_ops.zeros_like(x))


def _abs(x: Tensor) -> Tensor:
    return x if x.dtype == _core.bool or x.dtype.is_unsigned else raw_ops.abs(x)


def _square(x: Tensor) -> Tensor:
    return x if x.dtype == _core.bool else raw_ops.square(x)


def _is_infinite(value: float) -> _Formula:
    return lambda x: raw_ops.equal(x, number(value, x))


_predicates = {
    name: formulas.classify(op, of_integer, join)
    for name, op, of_integer, join in (
        ("isfinite", raw_ops.is_finite, True, raw_ops.logical_and),
        ("isinf", raw_ops.is_inf, False, raw_ops.logical_or),
        ("isnan", raw_ops.is_nan, False, raw_ops.logical_or),
        ("isneginf", _is_infinite(-math.inf), False, raw_ops.logical_or),
        ("isposinf", _is_infinite(math.inf), False, raw_ops.logical_or),
    )
}

arccos: _Function = _of_floats(
    "arccos", raw_ops.acos, "Compute the angle of each cosine.", "arccos([1.0]) -> [0.0]"
)
arccosh: _Function = _of_floats(
    "arccosh", raw_ops.acosh, "Compute the inverse of each hyperbolic cosine.", "arccosh([1.0]) -> [0.0]"
)
arcsin: _Function = _of_floats(
    "arcsin", raw_ops.asin, "Compute the angle of each sine.", "arcsin([0.0]) -> [0.0]"
)
arcsinh: _Function = _of_floats(
    "arcsinh", raw_ops.asinh, "Compute the inverse of each hyperbolic sine.", "arcsinh([0.0]) -> [0.0]"
)
arctan: _Function = _of_floats(
    "arctan", raw_ops.atan, "Compute the angle of each tangent.", "arctan([0.0]) -> [0.0]"
)
arctanh: _Function = _of_floats(
    "arctanh", raw_ops.atanh, "Compute the inverse of each hyperbolic tangent.", "arctanh([0.0]) -> [0.0]"
)
cbrt: _Function = _of_floats("cbrt", _cube_root, "Compute cube roots.", "cbrt([8.0, -8.0]) -> [2.0, -2.0]")
ceil: _Function = _of_floats(
    "ceil", raw_ops.ceil, "Round up to whole numbers.", "ceil([1.5, -1.5]) -> [2.0, -1.0]"
)
cos: _Function = _of_floats("cos", raw_ops.cos, "Compute cosines.", "cos([0.0]) -> [1.0]")
cosh: _Function = _of_floats("cosh", raw_ops.cosh, "Compute hyperbolic cosines.", "cosh([0.0]) -> [1.0]")
deg2rad: _Function = _of_floats(
    "deg2rad",
    _scaled(formulas.itself, math.pi / 180),
    "Convert degrees to radians.",
    "deg2rad([180.0]) -> [3.141592653589793]",
)
exp: _Function = _of_floats("exp", raw_ops.exp, "Compute powers of e.", "exp([0.0]) -> [1.0]")
exp2: _Function = _of_floats(
    "exp2", lambda x: raw_ops.pow(number(2, x), x), "Compute powers of 2.", "exp2([3.0]) -> [8.0]"
)
expm1: _Function = _of_floats("expm1", raw_ops.expm1, "Compute powers of e, less 1.", "expm1([0.0]) -> [0.0]")
fix: _Function = _of_floats(
    "fix",
    _of_sign(raw_ops.floor, raw_ops.ceil),
    "Round towards zero to whole numbers.",
    "fix([1.5, -1.5]) -> [1.0, -1.0]",
)
floor: _Function = _of_floats(
    "floor", raw_ops.floor, "Round down to whole numbers.", "floor([1.5, -1.5]) -> [1.0, -2.0]"
)
log: _Function = _of_floats("log", raw_ops.log, "Compute logarithms to the base e.", "log([1.0]) -> [0.0]")
log10: _Function = _of_floats(
    "log10", formulas.logarithm(10), "Compute logarithms to the base 10.", "log10([100.0]) -> [2.0]"
)
log1p: _Function = _of_floats(
    "log1p", raw_ops.log1p, "Compute logarithms of `1 + x`.", "log1p([0.0]) -> [0.0]"
)
log2: _Function = _of_floats(
    "log2", formulas.logarithm(2), "Compute logarithms to the base 2.", "log2([8.0]) -> [3.0]"
)
rad2deg: _Function = _of_floats(
    "rad2deg",
    _scaled(formulas.itself, 180 / math.pi),
    "Convert radians to degrees.",
    "rad2deg([tnp.pi]) -> [180.0]",
)
sin: _Function = _of_floats("sin", raw_ops.sin, "Compute sines.", "sin([0.0]) -> [0.0]")
sinc: _Function = _of_floats(
    "sinc", _sinc, "Compute `sin(pi * x) / (pi * x)`, 1 at 0.", "sinc([0.0]) -> [1.0]"
)
sinh: _Function = _of_floats("sinh", raw_ops.sinh, "Compute hyperbolic sines.", "sinh([0.0]) -> [0.0]")
sqrt: _Function = _of_floats("sqrt", raw_ops.sqrt, "Compute square roots.", "sqrt([4, 9]) -> [2.0, 3.0]")
tan: _Function = _of_floats("tan", raw_ops.tan, "Compute tangents.", "tan([0.0]) -> [0.0]")
tanh: _Function = _of_floats("tanh", raw_ops.tanh, "Compute hyperbolic tangents.", "tanh([0.0]) -> [0.0]")

absolute: _Function = _of_any("absolute", _abs, "Compute magnitudes.", "absolute([-2, 3]) -> [2, 3]")
abs: _Function = _of_any("abs", _abs, "Compute magnitudes.", "abs([-2, 3]) -> [2, 3]")
fabs: _Function = _of_any("fabs", _abs, "Compute magnitudes.", "fabs([-2.5]) -> [2.5]")
bitwise_not: _Function = _of_any("bitwise_not", _not, "Invert each bit.", "bitwise_not([0, 5]) -> [-1, -6]")
conj: _Function = _of_any("conj", formulas.conj, "Negate imaginary parts.", "conj([1 + 2j]) -> [(1-2j)]")
conjugate: _Function = _of_any(
    "conjugate", formulas.conj, "Negate imaginary parts.", "conjugate([1 + 2j]) -> [(1-2j)]"
)
negative: _Function = _of_any("negative", raw_ops.neg, "Negate each element.", "negative([1, -2]) -> [-1, 2]")
positive: _Function = _of_any(
    "positive", formulas.itself, "Give the elements as they are.", "positive([1, -2]) -> [1, -2]"
)
reciprocal: _Function = _of_any(
    "reciprocal", _reciprocal, "Divide 1 by each element.", "reciprocal([4.0]) -> [0.25]"
)
square: _Function = _of_any(
    "square", _square, "Multiply each element by itself.", "square([3, -2]) -> [9, 4]"
)

isfinite: _Function = _of_any(
    "isfinite",
    _predicates["isfinite"],
    "Tell which elements are neither infinite nor NaN.",
    "isfinite([1.0, tnp.inf]) -> [True, False]",
    "of booleans",
)
isinf: _Function = _of_any(
    "isinf",
    _predicates["isinf"],
    "Tell which elements are infinite.",
    "isinf([1.0, -tnp.inf]) -> [False, True]",
    "of booleans",
)
isnan: _Function = _of_any(
    "isnan",
    _predicates["isnan"],
    "Tell which elements are NaN.",
    "isnan([1.0, float('nan')]) -> [False, True]",
    "of booleans",
)
isneginf: _Function = _of_any(
    "isneginf",
    _predicates["isneginf"],
    "Tell which elements are negative and infinite.",
    "isneginf([tnp.inf, -tnp.inf]) -> [False, True]",
    "of booleans",
)
isposinf: _Function = _of_any(
    "isposinf",
    _predicates["isposinf"],
    "Tell which elements are positive and infinite.",
    "isposinf([tnp.inf, -tnp.inf]) -> [True, False]",
    "of booleans",
)
iscomplex: _Function = _of_any(
    "iscomplex",
    lambda x: raw_ops.not_equal(formulas.imag(x), raw_ops.zeros_like(formulas.imag(x))),
    "Tell which elements have an imaginary part.",
    "iscomplex([1.0, 2j]) -> [False, True]",
    "of booleans",
)
isreal: _Function = _of_any(
    "isreal",
    lambda x: raw_ops.equal(formulas.imag(x), raw_ops.zeros_like(formulas.imag(x))),
    "Tell which elements have no imaginary part.",
    "isreal([1.0, 2j]) -> [True, False]",
    "of booleans",
)
signbit: _Function = _of_any(
    "signbit",
    _signbit,
    "Tell which elements are negative, -0.0 among them.",
    "signbit([-0.0]) -> [True]",
    "of booleans",
)
logical_not: _Function = _of_any(
    "logical_not",
    lambda x: raw_ops.logical_not(as_type(x, _core.bool)),
    "Tell which elements are zero.",
    "logical_not([0, 3]) -> [True, False]",
    "of booleans",
)


@public
def sign(x: ArrayLike, out: None = None, where: None = None, **kwargs: object) -> Tensor:
    """Tell the sign of each element: -1, 0 or 1; of complex ones their direction.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: where an option of NumPy is given.

    >>> tnp.sign([-2, 0, 3]).tolist()
    [-1, 0, 1]
    """
    refuse("sign", out=out, where=where, **kwargs)
    return _sign(convert(x))


@public
def angle(z: ArrayLike, deg: bool = False) -> Tensor:
    """Compute the angle of each complex number: 0 for positive real ones, pi for negative ones.

    Returns:
        An array of the shape of `z`, of its real dtype.

    >>> tnp.angle([1.0, 1j]).tolist()
    [0.0, 1.5707963267948966]
    """
    x = floating(z)
    if x.dtype.is_complex:
        angles = raw_ops.atan2(raw_ops.imag(x), raw_ops.real(x))
    else:
        angles = raw_ops.atan2(raw_ops.zeros_like(x), x)
    return angles * number(180 / math.pi, angles) if deg else angles


@public
def real(val: ArrayLike) -> Tensor:
    """Take real parts.

    Returns:
        An array of the shape of `val`, of its real dtype.

    >>> tnp.real([1 + 2j]).tolist()
    [1.0]
    """
    return formulas.real(convert(val))


@public
def imag(val: ArrayLike) -> Tensor:
    """Take imaginary parts.

    Returns:
        An array of the shape of `val`, of its real dtype; zeros for real numbers.

    >>> tnp.imag([1 + 2j]).tolist()
    [2.0]
    """
    return formulas.imag(convert(val))


@public
def iscomplexobj(x: ArrayLike) -> bool:
    """Tell whether the dtype is a complex one.

    Returns:
        Whether it is.

    >>> tnp.iscomplexobj([1j])
    True
    """
    return convert(x).dtype.is_complex


@public
def isrealobj(x: ArrayLike) -> bool:
    """Tell whether the dtype is no complex one.

    Returns:
        Whether it is none.

    >>> tnp.isrealobj([1.0])
    True
    """
    return not convert(x).dtype.is_complex


@public
def around(a: ArrayLike, decimals: IntLike = 0) -> Tensor:
    """Round to a number of decimal places, halves to even digits.

    Returns:
        An array of the shape and dtype of `a`.

    >>> tnp.around([2.567, 0.5], 2).tolist()
    [2.57, 0.5]
    """
    a, places = convert(a), int(decimals)
    if not is_inexact(a) and places >= 0:
        return a
    x = inexact(a)
    nearest = formulas.of_parts(raw_ops.round)
    if not places:
        return nearest(x)
    factor = number(10.0 ** math.fabs(places), x)
    scaled = nearest(x * factor if places > 0 else x / factor)
    return as_type(scaled / factor if places > 0 else scaled * factor, a.dtype)


@public
def round(a: ArrayLike, decimals: IntLike = 0) -> Tensor:
    """Round to a number of decimal places, halves to even digits.

    Returns:
        An array of the shape and dtype of `a`.

    >>> tnp.round([1.5, 2.5]).tolist()
    [2.0, 2.0]
    """
    return around(a, decimals)
