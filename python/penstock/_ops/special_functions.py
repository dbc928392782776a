"""Special functions of one variable, from Chebyshev expansions on intervals, with their derivatives.

The expansions (`special_tables`) are accurate to the last bits of `float64`; near zeros of a function the
error is small beside the values around it. Formulas are those of the NIST Digital Library of Mathematical
Functions, https://dlmf.nist.gov: chapters 6 (`expint`), 7 (`dawsn`, Fresnel integrals), 10 (Bessel functions)
and 25.12 (`spence`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _core, raw_ops
from penstock._ops import special_tables as tables
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bessel_j0",
    "bessel_j1",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_y0",
    "bessel_y1",
    "dawsn",
    "expint",
    "fresnel_cos",
    "fresnel_sin",
    "spence",
]

_Table: TypeAlias = tuple[tuple[float, float], tuple[float, ...]]
_Function: TypeAlias = Callable[[_core.Tensor], _core.Tensor]


def _number(value: float, like: _core.Tensor) -> _core.Tensor:
    return _core._to_tensor(value, like.dtype)


def _where(condition: _core.Tensor, x: Any, y: Any) -> _core.Tensor:
    like = x if isinstance(x, _core.Tensor) else y
    parts = [part if isinstance(part, _core.Tensor) else _number(part, like) for part in (x, y)]
    return raw_ops.select(condition, *parts)


def _below(x: _core.Tensor, bound: float) -> _core.Tensor:
    return raw_ops.less_equal(x, _number(bound, x))


def _clipped(x: _core.Tensor, low: float, high: float) -> _core.Tensor:
    """`x` within an interval, so that what is computed beside it stays finite; NaN stays."""
    return raw_ops.maximum(raw_ops.minimum(x, _number(high, x)), _number(low, x))


def _series(t: _core.Tensor, table: _Table) -> _core.Tensor:
    """The sum of a Chebyshev expansion, by Clenshaw's recurrence."""
    (low, high), coefficients = table
    if t.dtype == _core.float32:
        # What is left out is below the last bit of the largest coefficient.
        least = 2.0**-28 * max(map(abs, coefficients))
        kept = max(i for i, c in enumerate(coefficients) if abs(c) >= least) + 1
        coefficients = coefficients[:kept]
    u = (t - (low + high) / 2) * (2 / (high - low))
    twice = u * 2
    b = before = _number(0.0, t)
    for c in reversed(coefficients[1:]):
        b, before = twice * b - before + c, b
    return u * b - before + coefficients[0]


def _special(input: Any, function: _Function, slope: _Function) -> _core.Tensor:
    """A function of a floating tensor, with a formula for its derivative.

    The slope is made of the same expansions, so second derivatives are those of the expansions.

    Raises:
        TypeError: for a tensor that is not floating.
    """
    from penstock._autodiff.custom_gradient import custom_gradient  # builds on this

    x = _core._to_tensor(input)
    if not x.dtype.is_floating:
        raise DTypeError(f"argument 'x' must be floating, got {x.dtype.name}")

    def differentiable(x: _core.Tensor) -> tuple[_core.Tensor, Callable[[_core.Tensor], _core.Tensor]]:
        return function(x), lambda upstream: upstream * slope(x)

    if x.dtype.size >= 4:
        result: _core.Tensor = custom_gradient(differentiable)(x)
        return result
    wide = custom_gradient(differentiable)(raw_ops.cast(x, dtype=_core.float32))
    return raw_ops.cast(wide, dtype=x.dtype)


def _odd(
    x: _core.Tensor, below: _core.Tensor, bound: float, near: _core.Tensor, far: _core.Tensor
) -> _core.Tensor:
    """An odd function: `x` times what is even near 0, elsewhere its value for `|x|` with the sign of `x`."""
    signed = _where(raw_ops.less(x, _number(0.0, x)), -far, far)
    return _where(below, _clipped(x, -bound, bound) * near, signed)


# Modified Bessel functions of the first kind: e**-x I(x) is smooth, sqrt(x) e**-x I(x) where x is large.


def _ie(order: int, x: _core.Tensor) -> _core.Tensor:
    near_table, far_table = ((tables.I0E_NEAR, tables.I0E_FAR), (tables.I1E_NEAR, tables.I1E_FAR))[order]
    size = raw_ops.abs(x)
    near_x, far_x = _clipped(size, 0.0, 8.0), raw_ops.maximum(size, _number(8.0, x))
    near = _series(near_x, near_table)
    far = _series(1 / far_x, far_table) * raw_ops.rsqrt(far_x)
    below = _below(size, 8.0)
    return _odd(x, below, 8.0, near, far) if order else _where(below, near, far)


def _i(order: int, x: _core.Tensor) -> _core.Tensor:
    # In two factors, since the exponential is greater than the function and overflows before it.
    size = raw_ops.abs(x)
    half = raw_ops.exp(size * 0.5)
    endless = raw_ops.equal(size, _number(math.inf, x))
    return _where(endless, x if order else size, half * _ie(order, x) * half)


def _over_x(function: _core.Tensor, x: _core.Tensor, at_zero: float) -> _core.Tensor:
    """A quotient by `x`, with its limit at 0."""
    zero = raw_ops.equal(x, _number(0.0, x))
    return _where(zero, at_zero, function / _where(zero, 1.0, x))


@scoped
def bessel_i0(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the modified Bessel function of the first kind and order 0.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.bessel_i0([0.0, 1.0]).numpy().round(4).tolist()
    [1.0, 1.26...]
    """
    return _special(x, lambda x: _i(0, x), lambda x: _i(1, x))


@scoped
def bessel_i0e(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `exp(-abs(x)) bessel_i0(x)`, which does not overflow.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.bessel_i0e([0.0, 1.0]).numpy().round(4).tolist()
    [1.0, 0.46...]
    """
    return _special(x, lambda x: _ie(0, x), lambda x: _ie(1, x) - raw_ops.sign(x) * _ie(0, x))


@scoped
def bessel_i1(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the modified Bessel function of the first kind and order 1.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.bessel_i1([0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.56...]
    """
    return _special(x, lambda x: _i(1, x), lambda x: _i(0, x) - _over_x(_i(1, x), x, 0.5))


@scoped
def bessel_i1e(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `exp(-abs(x)) bessel_i1(x)`, which does not overflow.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.bessel_i1e([0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.20...]
    """

    def slope(x: _core.Tensor) -> _core.Tensor:
        value = _ie(1, x)
        return _ie(0, x) - raw_ops.sign(x) * value - _over_x(value, x, 0.5)

    return _special(x, lambda x: _ie(1, x), slope)


# Modified Bessel functions of the second kind, for x > 0.


def _ke(order: int, x: _core.Tensor, scaled: bool) -> _core.Tensor:
    near_table, middle_table, far_table = (
        (tables.K0_NEAR, tables.K0_MIDDLE, tables.K0_FAR),
        (tables.K1_NEAR, tables.K1_MIDDLE, tables.K1_FAR),
    )[order]
    small = _clipped(x, float.fromhex("0x1p-126") if x.dtype == _core.float32 else 2.0**-1022, 2.0)
    logarithm = raw_ops.log(small * 0.5)
    if order:
        near = logarithm * _i(1, small) + _series(small * small, near_table) / small
    else:
        near = _series(small * small, near_table) - logarithm * _i(0, small)
    large = raw_ops.maximum(x, _number(2.0, x))
    turned = 1 / large
    far = _where(
        _below(large, 8.0),
        _series(_clipped(turned, 0.125, 0.5), middle_table),
        _series(_clipped(turned, 0.0, 0.125), far_table),
    ) * raw_ops.rsqrt(large)
    if scaled:
        near = near * raw_ops.exp(small)
    else:
        far = far * raw_ops.exp(-large)
    value = _where(_below(x, 2.0), near, far)
    value = _where(raw_ops.equal(x, _number(0.0, x)), math.inf, value)
    return _where(raw_ops.less(x, _number(0.0, x)), math.nan, value)


@scoped
def bessel_k0(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the modified Bessel function of the second kind and order 0.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; infinite at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_k0([1.0, 2.0]).numpy().round(4).tolist()
    [0.42..., 0.11...]
    """
    return _special(x, lambda x: _ke(0, x, False), lambda x: -_ke(1, x, False))


@scoped
def bessel_k0e(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `exp(x) bessel_k0(x)`, which does not underflow.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; infinite at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_k0e([1.0, 2.0]).numpy().round(4).tolist()
    [1.14..., 0.84...]
    """
    return _special(x, lambda x: _ke(0, x, True), lambda x: _ke(0, x, True) - _ke(1, x, True))


@scoped
def bessel_k1(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the modified Bessel function of the second kind and order 1.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; infinite at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_k1([1.0, 2.0]).numpy().round(4).tolist()
    [0.60..., 0.13...]
    """
    return _special(x, lambda x: _ke(1, x, False), lambda x: -_ke(0, x, False) - _ke(1, x, False) / x)


@scoped
def bessel_k1e(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute `exp(x) bessel_k1(x)`, which does not underflow.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; infinite at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_k1e([1.0, 2.0]).numpy().round(4).tolist()
    [1.63..., 1.03...]
    """
    return _special(x, lambda x: _ke(1, x, True), lambda x: _ke(1, x, True) * (1 - 1 / x) - _ke(0, x, True))


# Bessel functions: near 0 a series in x**2, far from it the parts P and Q of Hankel's expansion.


def _far_wave(order: int, size: _core.Tensor, second: bool) -> _core.Tensor:
    """`J` or `Y` of `size > 8`: sqrt(2 / pi x) (P cos a - Q sin a), or (P sin a + Q cos a)."""
    p_table, q_table = ((tables.P0_FAR, tables.Q0_FAR), (tables.P1_FAR, tables.Q1_FAR))[order]
    turned = 1 / size
    square = turned * turned
    p, q = _series(square, p_table), _series(square, q_table) * turned
    # cos and sin of x - pi/4 or x - 3 pi/4 from those of x: the difference itself would be rounded.
    cos, sin = raw_ops.cos(size), raw_ops.sin(size)
    cos_a, sin_a = (cos + sin, sin - cos) if order == 0 else (sin - cos, -(sin + cos))
    wave = p * sin_a + q * cos_a if second else p * cos_a - q * sin_a
    return wave * raw_ops.rsqrt(size * math.pi)


def _j(order: int, x: _core.Tensor) -> _core.Tensor:
    table = (tables.J0_NEAR, tables.J1_NEAR)[order]
    size = raw_ops.abs(x)
    near_x, far_x = _clipped(size, 0.0, 8.0), raw_ops.maximum(size, _number(8.0, x))
    near = _series(near_x * near_x, table)
    far = _where(raw_ops.equal(size, _number(math.inf, x)), 0.0, _far_wave(order, far_x, False))
    below = _below(size, 8.0)
    return _odd(x, below, 8.0, near, far) if order else _where(below, near, far)


def _y(order: int, x: _core.Tensor) -> _core.Tensor:
    table = (tables.Y0_NEAR, tables.Y1_NEAR)[order]
    least = float.fromhex("0x1p-126") if x.dtype == _core.float32 else 2.0**-1022
    near_x, far_x = _clipped(x, least, 8.0), raw_ops.maximum(x, _number(8.0, x))
    logarithm = raw_ops.log(near_x * 0.5)
    near = _series(near_x * near_x, table)
    if order:
        near = near * near_x + (logarithm * _j(1, near_x) - 1 / near_x) * (2 / math.pi)
    else:
        near = near + logarithm * _j(0, near_x) * (2 / math.pi)
    value = _where(_below(x, 8.0), near, _far_wave(order, far_x, True))
    value = _where(raw_ops.equal(x, _number(math.inf, x)), 0.0, value)
    value = _where(raw_ops.equal(x, _number(0.0, x)), -math.inf, value)
    return _where(raw_ops.less(x, _number(0.0, x)), math.nan, value)


@scoped
def bessel_j0(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the Bessel function of the first kind and order 0.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy().round(4).tolist()
    [1.0, 0.76...]
    """
    return _special(x, lambda x: _j(0, x), lambda x: -_j(1, x))


@scoped
def bessel_j1(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the Bessel function of the first kind and order 1.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.44...]
    """
    return _special(x, lambda x: _j(1, x), lambda x: _j(0, x) - _over_x(_j(1, x), x, 0.5))


@scoped
def bessel_y0(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the Bessel function of the second kind and order 0.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; -inf at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_y0([1.0, 2.0]).numpy().round(4).tolist()
    [0.08..., 0.51...]
    """
    return _special(x, lambda x: _y(0, x), lambda x: -_y(1, x))


@scoped
def bessel_y1(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the Bessel function of the second kind and order 1.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; -inf at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.bessel_y1([1.0, 2.0]).numpy().round(4).tolist()
    [-0.78..., -0.10...]
    """
    return _special(x, lambda x: _y(1, x), lambda x: _y(0, x) - _y(1, x) / x)


def _dawson(x: _core.Tensor) -> _core.Tensor:
    size = raw_ops.abs(x)
    square = size * size
    near = _series(_clipped(square, 0.0, 6.0), tables.DAWSN_NEAR)
    large = raw_ops.maximum(size, _number(math.sqrt(6.0), x))
    turned = 1 / (large * large)
    far = (
        _where(
            _below(square, 24.0),
            _series(_clipped(turned, 1 / 24, 1 / 6), tables.DAWSN_MIDDLE),
            _series(_clipped(turned, 0.0, 1 / 24), tables.DAWSN_FAR),
        )
        / large
        * 0.5
    )
    return _odd(x, _below(square, 6.0), math.sqrt(6.0), near, far)


@scoped
def dawsn(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute Dawson's integral: `exp(-x**2)` times the integral of `exp(t**2)` from 0 to `x`.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.dawsn([0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.53...]
    """

    def slope(x: _core.Tensor) -> _core.Tensor:
        # Where x is large, 2 x dawsn(x) is 1 but for rounding: the derivative is -1 / 2 x**2 there.
        large = raw_ops.greater(raw_ops.abs(x), _number(1e3, x))
        inside = _where(large, 0.0, x)
        outside = _where(large, x, 1.0)
        return _where(large, -0.5 / (outside * outside), 1 - 2 * inside * _dawson(inside))

    return _special(x, _dawson, slope)


def _ei(x: _core.Tensor) -> _core.Tensor:
    least = float.fromhex("0x1p-126") if x.dtype == _core.float32 else 2.0**-1022
    small = _clipped(x, least, 4.0)
    near = raw_ops.log(small) + 0.57721566490153286 + small * _series(small, tables.EXPINT_0)
    large = raw_ops.maximum(x, _number(4.0, x))
    ratio = _series(_clipped(1 / large, 0.0, 1 / 64), tables.EXPINT_FAR)
    for table in (tables.EXPINT_4, tables.EXPINT_3, tables.EXPINT_2, tables.EXPINT_1):
        (low, high), _ = table
        ratio = _where(_below(large, high), _series(_clipped(large, low, high), table), ratio)
    half = raw_ops.exp(large * 0.5)
    far = half * (ratio / large) * half
    value = _where(_below(x, 4.0), near, far)
    value = _where(raw_ops.equal(x, _number(math.inf, x)), math.inf, value)
    value = _where(raw_ops.equal(x, _number(0.0, x)), -math.inf, value)
    return _where(raw_ops.less(x, _number(0.0, x)), math.nan, value)


@scoped
def expint(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the exponential integral `Ei`: the principal value of the integral of `exp(t) / t` up to `x`.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; -inf at 0, NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.expint([1.0, 2.0]).numpy().round(4).tolist()
    [1.89..., 4.95...]
    """
    return _special(x, _ei, lambda x: raw_ops.exp(x) / x)


def _fresnel(x: _core.Tensor, sine: bool) -> _core.Tensor:
    size = raw_ops.abs(x)
    square = size * size
    fourth = square * square
    inside = _clipped(size, 0.0, 8.0**0.25)
    near_fourth = _clipped(fourth, 0.0, 8.0)
    if sine:
        near = inside * inside * _series(near_fourth, tables.FRESNEL_S_NEAR)
    else:
        near = _series(near_fourth, tables.FRESNEL_C_NEAR)
    large = raw_ops.maximum(size, _number(8.0**0.25, x))
    turned = _clipped(1 / (large * large * large * large), 0.0, 0.125)
    f = _series(turned, tables.FRESNEL_F_FAR) / (large * math.pi)
    g = _series(turned, tables.FRESNEL_G_FAR) / (large * large * large * math.pi**2)
    # The angle is taken within one turn: x**2 / 2 has period 2 in units of pi.
    turn = _angle(_where(raw_ops.equal(large, _number(math.inf, x)), 0.0, large))
    cos, sin = raw_ops.cos(turn), raw_ops.sin(turn)
    far = 0.5 - f * cos - g * sin if sine else 0.5 + f * sin - g * cos
    return _odd(x, _below(fourth, 8.0), 8.0**0.25, near, far)


def _angle(x: _core.Tensor) -> _core.Tensor:
    """`pi x**2 / 2` less whole turns."""
    wide = raw_ops.cast(x, dtype=_core.float64)
    # The part of x in multiples of 1/64 has a square that is exact, and so is what it leaves of whole turns.
    coarse = raw_ops.floor(wide * 64.0) / 64.0
    fine = wide - coarse
    square = coarse * coarse
    angle = (square - raw_ops.floor(square / 4.0) * 4.0 + fine * (coarse * 2.0 + fine)) * (math.pi / 2)
    return raw_ops.cast(angle, dtype=x.dtype)


@scoped
def fresnel_cos(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute Fresnel's cosine integral: the integral of `cos(pi t**2 / 2)` from 0 to `x`.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.fresnel_cos([0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.77...]
    """
    return _special(x, lambda x: _fresnel(x, False), lambda x: raw_ops.cos(_angle(raw_ops.abs(x))))


@scoped
def fresnel_sin(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute Fresnel's sine integral: the integral of `sin(pi t**2 / 2)` from 0 to `x`.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.fresnel_sin([0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.43...]
    """
    return _special(x, lambda x: _fresnel(x, True), lambda x: raw_ops.sin(_angle(raw_ops.abs(x))))


def _dilogarithm(x: _core.Tensor) -> _core.Tensor:
    """`spence`, from the series around 1, to which `x` and `1 / x` and `1 - x` are related."""
    inverted = raw_ops.greater(x, _number(1.5, x))
    inside = _where(inverted, 1 / _where(inverted, x, 1.0), x)
    reflected = raw_ops.less(inside, _number(0.5, x))
    y = _where(reflected, inside, 1 - inside)
    series = y * _series(_clipped(y, -0.5, 0.5), tables.SPENCE)
    zero = raw_ops.equal(inside, _number(0.0, x))
    logarithm = raw_ops.log(_where(zero, 1.0, inside))
    mirrored = math.pi**2 / 6 - logarithm * raw_ops.log1p(-_where(reflected, inside, 0.0)) - series
    value = _where(reflected, mirrored, series)
    outer = raw_ops.log(_where(inverted, x, 1.0))
    value = _where(inverted, -0.5 * outer * outer - value, value)
    return _where(raw_ops.less(x, _number(0.0, x)), math.nan, value)


@scoped
def spence(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute Spence's function: the integral of `log(t) / (1 - t)` from 1 to `x`.

    It is the dilogarithm of `1 - x`.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`; NaN for negative numbers.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.special.spence([1.0, 2.0]).numpy().round(4).tolist()
    [0.0, -0.82...]
    """

    def slope(x: _core.Tensor) -> _core.Tensor:
        one = raw_ops.equal(x, _number(1.0, x))
        inside = _where(one, 2.0, x)
        return _where(one, -1.0, raw_ops.log(inside) / (1 - inside))

    return _special(x, _dilogarithm, slope)
