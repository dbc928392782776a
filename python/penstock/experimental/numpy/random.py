"""Random numbers by the names of `numpy.random`, drawn by the global generator of `tf.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core, random as _random, raw_ops
from penstock._core import Tensor
from penstock._runtime.arguments import extents
from penstock._types.aliases import DTypeLike, IntLike, SizesLike
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import ArrayLike, convert, public

__all__ = ["poisson", "rand", "randint", "randn", "random", "seed", "standard_normal", "uniform"]


def _shape(size: SizesLike | None) -> Any:
    return [] if size is None else extents(size, "size")


@public
def seed(s: IntLike) -> None:
    """Set the seed of the global generator, as `tf.random.set_seed` does.

    Args:
        s: an integer.

    Raises:
        ValueError: where it is none.

    >>> tnp.random.seed(1)
    """
    try:
        _random.set_seed(int(s))
    except TypeError:
        raise InvalidArgumentError(f"seed: argument 's' must be an integer, got {s!r}") from None


@public
def standard_normal(size: SizesLike | None = None) -> Tensor:
    """Draw numbers of the normal distribution with mean 0 and variance 1.

    Returns:
        An array of `float64`.

    >>> tnp.random.standard_normal((2, 3)).shape
    TensorShape([2, 3])
    """
    return _random.normal(_shape(size), dtype=promotion.default_float())


@public
def randn(*args: IntLike) -> Tensor:
    """Draw numbers of the normal distribution with mean 0 and variance 1.

    Args:
        *args: the sizes.

    Returns:
        An array of `float64`.

    >>> tnp.random.randn(2, 3).shape
    TensorShape([2, 3])
    """
    return standard_normal(list(map(int, args)))


@public
def uniform(low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: SizesLike | None = None) -> Tensor:
    """Draw numbers between two bounds.

    Args:
        low: the lower bound.
        high: the upper bound, which is not drawn.
        size: the shape of the result; by default that which the bounds broadcast to.

    Returns:
        An array of `float64`.

    >>> tnp.random.uniform(1, 2, 3).shape
    TensorShape([3])
    """
    dtype = promotion.default_float()
    least, most = convert(low, dtype), convert(high, dtype)
    shape = raw_ops.shape(raw_ops.add(least, most)) if size is None else _shape(size)
    return _random.uniform(shape, dtype=dtype) * (most - least) + least


@public
def random(size: SizesLike | None = None) -> Tensor:
    """Draw numbers from 0 up to 1.

    Returns:
        An array of `float64`.

    >>> tnp.random.random(3).shape
    TensorShape([3])
    """
    return uniform(size=_shape(size))


@public
def rand(*size: IntLike) -> Tensor:
    """Draw numbers from 0 up to 1.

    Returns:
        An array of `float64`.

    >>> tnp.random.rand(2, 3).shape
    TensorShape([2, 3])
    """
    return uniform(size=list(map(int, size)))


@public
def randint(
    low: IntLike, high: IntLike | None = None, size: SizesLike | None = None, dtype: DTypeLike = np.int64
) -> Tensor:
    """Draw integers from a lower bound up to an upper one; with one argument, from 0 up to it.

    Args:
        low: the lower bound.
        high: the upper bound, which is not drawn.
        size: the shape of the result; by default one number.
        dtype: `int32` or `int64`.

    Returns:
        An array of the dtype.

    Raises:
        ValueError: for another dtype.

    >>> tnp.random.randint(1, 7, 3).shape
    TensorShape([3])
    """
    target = promotion.as_dtype(dtype)
    if target not in (_core.int32, _core.int64):
        raise DTypeError(f"randint: argument 'dtype' must be int32 or int64, got {target.name}")
    first, last = (0, int(low)) if high is None else (int(low), int(high))
    return _random.uniform(_shape(size), first, last, dtype=target)


@public
def poisson(lam: ArrayLike = 1.0, size: SizesLike | None = None) -> Tensor:
    """Draw numbers of Poisson distributions.

    Args:
        lam: the expected values.
        size: the sizes in front of those of `lam`; by default none.

    Returns:
        An array of `int64`.

    >>> tnp.random.poisson(3.0, 2).shape
    TensorShape([2])
    """
    return _random.poisson(_shape(size), convert(lam, _core.float64), dtype=_core.int64)
