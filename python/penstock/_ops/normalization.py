"""Elements scaled by what lies beside them: by a length, or to a sum of 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._ops.reductions import reduce_sum
from penstock._runtime.arguments import axis_number
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, IntLike, TensorLike

__all__ = ["l2_normalize", "log_softmax", "softmax"]


@scoped
def l2_normalize(
    x: TensorLike,
    axis: AxisLike = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: AxisLike = None,
) -> _core.Tensor:
    """Divide vectors by their length: `x / sqrt(max(sum(x**2), epsilon))`.

    Args:
        x: a floating-point or complex tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        epsilon: the least squared length to divide by.
        name: a scope for the names of its operations in a graph.
        dim: an older name of `axis`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: where both `axis` and `dim` are given.
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.math.l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    if dim is not None:
        if axis is not None:
            raise InvalidArgumentError("only one of arguments 'axis' and 'dim' can be given")
        axis = dim
    v = _core._to_tensor(x)
    parts = [raw_ops.real(v), raw_ops.imag(v)] if v.dtype.is_complex else [v]
    squares = [raw_ops.square(part) for part in parts]
    square_sum = reduce_sum(raw_ops.add(*squares) if v.dtype.is_complex else squares[0], axis, True)
    inverse = raw_ops.rsqrt(raw_ops.maximum(square_sum, _core._to_tensor(epsilon, square_sum.dtype)))
    scaled = [part * inverse for part in parts]
    return raw_ops.complex(*scaled) if v.dtype.is_complex else scaled[0]


@dispatched
def softmax(logits: TensorLike, axis: IntLike | None = None, name: str | None = None) -> _core.Tensor:
    """Compute `exp(x) / sum(exp(x))` along a dimension, without overflow.

    Args:
        logits: a floating-point tensor.
        axis: the dimension whose elements add up to 1; the last one by default.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `logits`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.math.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return raw_ops.softmax(logits, axis=-1 if axis is None else axis_number(axis), name=name)


@dispatched
def log_softmax(logits: TensorLike, axis: IntLike | None = None, name: str | None = None) -> _core.Tensor:
    """Compute `x - log(sum(exp(x)))` along a dimension, without overflow.

    Args:
        logits: a floating-point tensor.
        axis: the dimension along which to normalise; the last one by default.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `logits`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.math.log_softmax([0.0, 0.0]).numpy()
    array([-0.6931472, -0.6931472], dtype=float32)
    """
    return raw_ops.log_softmax(logits, axis=-1 if axis is None else axis_number(axis), name=name)
