"""Dropout with random numbers of a seed or of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, random, raw_ops
from penstock._runtime.arguments import extents
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import SizesLike, TensorLike

__all__ = ["general_dropout", "stateless_dropout"]


@scoped
def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., _core.Tensor],
    noise_shape: SizesLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Set elements to 0 at random, and divide the others by the share that is left.

    Args:
        x: a floating tensor.
        rate: the probability of each element to be set to 0, from 0 to less than 1.
        uniform_sampler: called with `shape=` and `dtype=`; returns numbers from 0 to 1.
        noise_shape: the shape of the numbers that are drawn, which broadcasts with `x`; by default that of
            `x`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a known rate outside of [0, 1).

    >>> import penstock as tf
    >>> tf.nn.experimental.general_dropout(tf.ones([4]), 0.5, tf.random.uniform).shape
    TensorShape([4])
    """
    v = _core._to_tensor(x)
    if not v.dtype.is_floating:
        raise DTypeError(f"argument 'x' must be floating, got {v.dtype.name}")
    share = _core._to_tensor_hinted(rate, v.dtype)
    known = _core._known_value(share)
    if known is not None and not 0 <= float(known.numpy()) < 1:
        raise InvalidArgumentError(f"argument 'rate' must be in [0, 1), got {float(known.numpy())}")
    shape: Any = raw_ops.shape(v) if noise_shape is None else extents(noise_shape, "noise_shape")
    keep = raw_ops.greater_equal(uniform_sampler(shape=shape, dtype=v.dtype), share)
    return raw_ops.select(keep, v / (1.0 - share), raw_ops.zeros_like(v))


@scoped
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: str | None = None,
    noise_shape: SizesLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Set elements to 0 at random, the same ones for the same seed, and divide the others by the share left.

    Args:
        x: a floating tensor.
        rate: the probability of each element to be set to 0, from 0 to less than 1.
        seed: two integers.
        rng_alg: accepted; the numbers are Philox's.
        noise_shape: the shape of the numbers that are drawn, which broadcasts with `x`; by default that of
            `x`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a known rate outside of [0, 1).

    >>> import penstock as tf
    >>> once, again = (tf.nn.experimental.stateless_dropout(tf.ones([9]), 0.5, [1, 2]) for _ in range(2))
    >>> bool(tf.reduce_all(once == again))
    True
    """

    def drawn(shape: Any, dtype: Any) -> _core.Tensor:
        return random.stateless_uniform(shape, seed, dtype=dtype)

    return general_dropout(x, rate, drawn, noise_shape)


_publish(__name__)
