"""Elementwise functions of the array standard that are several operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock.array_api._arrays import scalar_like

Unary: TypeAlias = Callable[[Any], Tensor]
Binary: TypeAlias = Callable[[Any, Any], Tensor]


def quotient(x: Tensor, y: Tensor) -> Tensor:
    """The quotient by the operator, which makes integers floating-point."""
    return x / y


def itself(x: Tensor) -> Tensor:
    """The elements as they are."""
    return x


def unless_integer(op: Unary) -> Unary:
    """An operator on floats that leaves integers as they are."""
    return lambda x: x if x.dtype.is_integer else op(x)


def either(of_bool: Callable[..., Tensor], of_integer: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, *rest: (of_bool if x.dtype == _core.bool else of_integer)(x, *rest)


def classify(op: Unary, of_integer: bool, join: Binary) -> Unary:
    """A predicate of floats, for integers, which give one answer, and for both parts of complex numbers."""

    def apply(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return join(op(raw_ops.real(x)), op(raw_ops.imag(x)))
        if x.dtype.is_floating:
            return op(x)
        return raw_ops.fill(raw_ops.shape(x), _core._to_tensor(of_integer, _core.bool))

    return apply


def of_parts(op: Unary) -> Unary:
    """An operator on real numbers, applied to both parts of complex ones."""

    def apply(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return raw_ops.complex(op(raw_ops.real(x)), op(raw_ops.imag(x)))
        return op(x)

    return apply


def logarithm(base: int) -> Unary:
    """A logarithm to a base, exact for the powers that are representable."""

    def apply(x: Tensor) -> Tensor:
        near = raw_ops.log(x) * scalar_like(1 / math.log(base), x)
        if x.dtype.is_complex:
            return near
        whole = raw_ops.round(near)
        power = raw_ops.pow(scalar_like(base, x), whole)
        exact = raw_ops.logical_and(raw_ops.equal(power, x), raw_ops.is_finite(near))
        # What is wanting is a constant to gradients: that of the rounded number would be 0.
        wanting = raw_ops.stop_gradient(whole - near)
        return near + raw_ops.select(exact, wanting, raw_ops.zeros_like(near))

    return apply


def signbit(x: Tensor) -> Tensor:
    bits = {2: _core.int16, 4: _core.int32, 8: _core.int64}[x.dtype.size]
    signed = raw_ops.bitcast(x, dtype=bits)
    return raw_ops.less(signed, raw_ops.zeros_like(signed))


def copysign(x: Tensor, y: Tensor) -> Tensor:
    magnitude = raw_ops.select(signbit(x), -x, x)
    return raw_ops.select(signbit(y), -magnitude, magnitude)


def hypot(x: Tensor, y: Tensor) -> Tensor:
    """Scaled by the greater magnitude, a constant to gradients, so that no square overflows or vanishes."""
    most = raw_ops.stop_gradient(raw_ops.maximum(raw_ops.abs(x), raw_ops.abs(y)))
    infinite = raw_ops.logical_or(raw_ops.is_inf(x), raw_ops.is_inf(y))
    zero, one = raw_ops.equal(most, scalar_like(0, x)), scalar_like(1, x)
    scale = raw_ops.select(raw_ops.logical_or(infinite, zero), one, most)
    squares = raw_ops.square(x / scale) + raw_ops.square(y / scale)
    # The root of 0 has no finite derivative.
    length = scale * raw_ops.sqrt(raw_ops.select(zero, one, squares))
    length = raw_ops.select(zero, raw_ops.zeros_like(length), length)
    return raw_ops.select(infinite, scalar_like(math.inf, x), length)


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    most = raw_ops.maximum(x, y)
    # Equal operands, infinities among them, share the derivative; their maximum does not have one.
    same = raw_ops.equal(x, y)
    distance = raw_ops.select(same, raw_ops.zeros_like(most), raw_ops.abs(x - y))
    half = scalar_like(0.5, x)
    doubled = x * half + y * half + scalar_like(math.log(2), x)
    return raw_ops.select(same, doubled, most + raw_ops.log1p(raw_ops.exp(-distance)))


def real(x: Tensor) -> Tensor:
    return raw_ops.real(x) if x.dtype.is_complex else x


def imag(x: Tensor) -> Tensor:
    return raw_ops.imag(x) if x.dtype.is_complex else raw_ops.zeros_like(x)


def conj(x: Tensor) -> Tensor:
    return raw_ops.conj(x) if x.dtype.is_complex else x
