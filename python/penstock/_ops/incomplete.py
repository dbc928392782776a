"""Functions of probabilities: incomplete gamma and beta functions, the beta function of vectors, `erfcinv`.

The incomplete beta function by its continued fraction (NIST Digital Library of Mathematical Functions,
8.17.22) and Lentz's method, iterated until no element changes any more. It is computed in `float64`: the
logarithms of which a result is made are much greater than their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arithmetic import xlog1py
from penstock._ops.reductions import reduce_any, reduce_sum
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["betainc", "erfcinv", "igamma", "igammac", "lbeta"]

# After so many terms an argument is so large that rounding decides; the result is then what was found.
ITERATIONS = 2000


def _number(value: float, like: _core.Tensor) -> _core.Tensor:
    return _core._to_tensor(value, like.dtype)


def _away_from_zero(x: _core.Tensor) -> _core.Tensor:
    tiny = _number(1e-30, x)
    return raw_ops.select(raw_ops.less(raw_ops.abs(x), tiny), tiny, x)


def _iterate(
    changes: Callable[..., _core.Tensor], body: Callable[..., Any], start: tuple[_core.Tensor, ...]
) -> Any:
    """The variables of a loop, whose first one counts, when nothing changes any more."""
    from penstock._control.flow import while_loop  # builds on this

    return while_loop(lambda *v: reduce_any(changes(*v)), body, start, maximum_iterations=ITERATIONS)


def _floating(names: str, *values: Any) -> list[_core.Tensor]:
    """Operands of a floating dtype, which that of the first tensor is.

    Raises:
        TypeError: where one is not floating.
    """
    dtype = next((v.dtype for v in values if isinstance(v, _core.Tensor)), None)
    tensors = [_core._to_tensor(v) if dtype is None else _core._to_tensor_hinted(v, dtype) for v in values]
    for name, tensor in zip(names, tensors, strict=True):
        if not tensor.dtype.is_floating:
            raise TypeError(f"argument '{name}' must be floating, got {tensor.dtype.name}")
    return tensors


def _of_one_shape(tensors: list[_core.Tensor]) -> list[_core.Tensor]:
    """Operands of one dtype and shape.

    Raises:
        TypeError: where the dtypes differ.
    """
    # A sum broadcasts them, and checks that they have one dtype; where all are finite it adds 0.
    zero = raw_ops.zeros_like(tensors[0])
    for tensor in tensors[1:]:
        zero = zero + raw_ops.zeros_like(tensor)
    return [tensor + zero for tensor in tensors]


def _widened(function: Callable[..., _core.Tensor], tensors: list[_core.Tensor]) -> _core.Tensor:
    """A function of tensors, computed in `float64`."""
    dtype = tensors[0].dtype
    if dtype == _core.float64:
        return function(*tensors)
    return raw_ops.cast(function(*(raw_ops.cast(t, dtype=_core.float64) for t in tensors)), dtype=dtype)


@scoped
def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the regularized lower incomplete gamma function.

    The integral of `t**(a - 1) exp(-t)` from 0 to `x`, divided by `gamma(a)`.

    Args:
        a: a floating tensor.
        x: one of its dtype, of a shape that broadcasts with that of `a`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `a`; NaN where `a` is not positive or `x` is negative.

    Raises:
        TypeError: for tensors that are not floating, or of different dtypes.

    >>> import penstock as tf
    >>> tf.math.igamma(1.0, [0.0, 1.0]).numpy().round(4).tolist()
    [0.0, 0.63...]
    """
    return raw_ops.igamma(*_floating("ax", a, x))


@scoped
def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the regularized upper incomplete gamma function, `1 - igamma(a, x)` without cancellation.

    Args:
        a: a floating tensor.
        x: one of its dtype, of a shape that broadcasts with that of `a`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `a`; NaN where `a` is not positive or `x` is negative.

    Raises:
        TypeError: for tensors that are not floating, or of different dtypes.

    >>> import penstock as tf
    >>> tf.math.igammac(1.0, [0.0, 1.0]).numpy().round(4).tolist()
    [1.0, 0.36...]
    """
    return raw_ops.igammac(*_floating("ax", a, x))


def _log_beta(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    return raw_ops.lgamma(a) + raw_ops.lgamma(b) - raw_ops.lgamma(a + b)


def _beta(a: _core.Tensor, b: _core.Tensor, x: _core.Tensor, precision: float) -> _core.Tensor:
    one = raw_ops.ones_like(a)
    zero, epsilon = 0 * one, _number(precision, a)
    valid = raw_ops.logical_and(
        raw_ops.logical_and(raw_ops.greater(a, zero), raw_ops.greater(b, zero)),
        raw_ops.logical_and(raw_ops.greater_equal(x, zero), raw_ops.less_equal(x, one)),
    )
    a, b, x = (raw_ops.select(valid, value, 0.5 * one) for value in (a, b, x))
    # The fraction converges quickly below the mean; above it, the function is 1 less that of the other side.
    swapped = raw_ops.greater(x * (a + b + 2), a + 1)
    p, q = raw_ops.select(swapped, b, a), raw_ops.select(swapped, a, b)
    y = raw_ops.select(swapped, 1 - x, x)

    def factor(m: _core.Tensor, c: _core.Tensor, d: _core.Tensor, fraction: _core.Tensor, _: Any) -> Any:
        even = m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m))
        d = 1 / _away_from_zero(1 + even * d)
        c = _away_from_zero(1 + even / c)
        fraction = fraction * (c * d)
        odd = -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1))
        d = 1 / _away_from_zero(1 + odd * d)
        c = _away_from_zero(1 + odd / c)
        return m + 1, c, d, fraction * (c * d), c * d

    d = 1 / _away_from_zero(1 - (p + q) * y / (p + 1))
    _, _, _, fraction, _ = _iterate(
        lambda m, c, d, fraction, factor: raw_ops.greater(raw_ops.abs(factor - 1), epsilon),
        factor,
        (one, one, d, d, one + 1),
    )
    front = raw_ops.exp(raw_ops.xlogy(p, y) + xlog1py(q, -y) - _log_beta(p, q)) / p
    part = front * fraction
    result = raw_ops.select(swapped, 1 - part, part)
    return raw_ops.select(valid, result, _number(math.nan, a))


@scoped
def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the regularized incomplete beta function.

    The integral of `t**(a - 1) (1 - t)**(b - 1)` from 0 to `x`, divided by that from 0 to 1. It has a
    gradient with regard to `x`, and none for `a` and `b`, as in TensorFlow.

    Args:
        a: a floating tensor.
        b: one of its dtype.
        x: one of its dtype. The shapes of the three broadcast.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `a`; NaN where `a` or `b` is not positive, or `x` is not within 0 and 1.

    Raises:
        TypeError: for tensors that are not floating, or of different dtypes.

    >>> import penstock as tf
    >>> tf.math.betainc(2.0, 2.0, [0.0, 0.25, 1.0]).numpy().round(4).tolist()
    [0.0, 0.15..., 1.0]
    """
    from penstock._autodiff.custom_gradient import custom_gradient  # builds on this

    operands = _of_one_shape(_floating("abx", a, b, x))
    precision = 2.0**-53 if operands[0].dtype == _core.float64 else 2.0**-30

    @custom_gradient
    def function(a: _core.Tensor, b: _core.Tensor, x: _core.Tensor) -> Any:
        def gradient(upstream: _core.Tensor) -> tuple[None, None, _core.Tensor]:
            logarithm = raw_ops.xlogy(a - 1, x) + xlog1py(b - 1, -x) - _log_beta(a, b)
            return None, None, upstream * raw_ops.exp(logarithm)

        return _beta(a, b, x, precision), gradient

    return _widened(function, operands)


@scoped
def lbeta(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the logarithm of the magnitude of the beta function of vectors.

    The sum of `lgamma` of the elements along the last dimension, less `lgamma` of their sum.

    Args:
        x: a floating tensor of rank 1 or more.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape of `x` without the last dimension; -inf where that has no elements.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a scalar.

    >>> import penstock as tf
    >>> tf.math.lbeta([[1.0, 1.0], [2.0, 2.0]]).numpy().round(4).tolist()
    [0.0, -1.79...]
    """
    tensor = _core._to_tensor(x)
    if not tensor.dtype.is_floating:
        raise DTypeError(f"argument 'x' must be floating, got {tensor.dtype.name}")
    if tensor.shape.rank == 0:
        raise InvalidArgumentError("argument 'x' must have at least one dimension, got a scalar")
    return reduce_sum(raw_ops.lgamma(tensor), -1) - raw_ops.lgamma(reduce_sum(tensor, -1))


@scoped
def erfcinv(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the inverse of the complementary error function.

    Args:
        x: a floating tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`: inf at 0, -inf at 2, NaN outside.

    Raises:
        TypeError: for a tensor that is not floating.

    >>> import penstock as tf
    >>> tf.math.erfcinv([0.5, 1.5]).numpy().round(4)
    array([ 0.4769, -0.4769], dtype=float32)
    """
    tensor = _core._to_tensor(x)
    return raw_ops.ndtri(tensor * 0.5) * -math.sqrt(0.5)
