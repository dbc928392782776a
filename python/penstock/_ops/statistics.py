"""Moments of data from sums, weighted and in parts; losses and normalisations made of such."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import pad
from penstock._ops.reductions import reduce_sum
from penstock._runtime.arguments import axes as axis_list, integer, known_rank, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, IntLike, TensorLike

__all__ = [
    "batch_norm_with_global_normalization",
    "compute_average_loss",
    "local_response_normalization",
    "log_poisson_loss",
    "normalize_moments",
    "scale_regularization_loss",
    "sufficient_statistics",
    "weighted_moments",
]


@scoped
def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor, _core.Tensor | None]:
    """Compute sums from which mean and variance are made by `normalize_moments`.

    Args:
        x: a floating tensor of known rank.
        axes: the dimensions to sum over.
        shift: a number near the mean that is subtracted first, against rounding; None for none.
        keepdims: whether the dimensions stay, with size 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        How many elements are summed, a scalar; the sum of the elements; the sum of their squares; and
        `shift`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> count, total, squares, _ = tf.nn.sufficient_statistics([1.0, 2.0, 3.0], [0])
    >>> float(count), float(total), float(squares)
    (3.0, 6.0, 14.0)
    """
    tensor = _core._to_tensor(x)
    extents = sizes(tensor)
    rank = len(extents)
    along = list(range(rank)) if axes is None else axis_list(axes, "axes") or []
    if any(not -rank <= a < rank for a in along):
        raise InvalidArgumentError(f"argument 'axes' must be within [-{rank}, {rank}), got {along}")
    along = [a % rank for a in along]
    number = product([extents[a] for a in along])
    count = raw_ops.cast(_core._to_tensor(number), dtype=tensor.dtype)
    offset = None if shift is None else _core._to_tensor_hinted(shift, tensor.dtype)
    moved = tensor if offset is None else tensor - offset
    return (
        count,
        reduce_sum(moved, along, keepdims),
        reduce_sum(raw_ops.square(moved), along, keepdims),
        offset,
    )


@scoped
def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Compute mean and variance from the sums of `sufficient_statistics`.

    Args:
        counts: how many elements were summed.
        mean_ss: the sum of the elements, less `shift` each.
        variance_ss: the sum of their squares.
        shift: what was subtracted; None for nothing.
        name: a scope for the names of its operations in a graph.

    Returns:
        The mean and the variance.

    >>> import penstock as tf
    >>> mean, variance = tf.nn.normalize_moments(3.0, 6.0, 14.0, None)
    >>> float(mean), round(float(variance), 4)
    (2.0, 0.6667)
    """
    total, squares = _core._to_tensor(mean_ss), _core._to_tensor(variance_ss)
    divisor = raw_ops.reciprocal(_core._to_tensor_hinted(counts, total.dtype))
    moved = total * divisor
    variance = squares * divisor - raw_ops.square(moved)
    mean = moved if shift is None else moved + _core._to_tensor_hinted(shift, total.dtype)
    return mean, variance


@scoped
def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Compute the mean and the variance of weighted elements.

    Args:
        x: a floating tensor.
        axes: the dimensions.
        frequency_weights: the weight of each element; broadcasts with `x`.
        keepdims: whether the dimensions stay, with size 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        The mean and the variance, both of the dtype of `x`; 0 where the weights add up to 0.

    Raises:
        InvalidArgumentError: for an axis that is out of range, or shapes that do not broadcast.

    >>> import penstock as tf
    >>> mean, variance = tf.nn.weighted_moments([1.0, 3.0], [0], [3.0, 1.0])
    >>> float(mean), float(variance)
    (1.5, 0.75)
    """
    tensor = _core._to_tensor(x)
    own = tensor.dtype
    weights = raw_ops.cast(_core._to_tensor_hinted(frequency_weights, own), dtype=own)
    if own in (_core.float16, _core.bfloat16):
        tensor, weights = (raw_ops.cast(t, dtype=_core.float32) for t in (tensor, weights))
    weights = weights + raw_ops.zeros_like(tensor)
    along = axis_list(axes, "axes")
    total = reduce_sum(weights, along, True)
    mean = raw_ops.divide_no_nan(reduce_sum(weights * tensor, along, True), total)
    distance = raw_ops.squared_difference(tensor, raw_ops.stop_gradient(mean))
    variance = raw_ops.divide_no_nan(reduce_sum(weights * distance, along, True), total)
    if not keepdims:
        mean, variance = (raw_ops.squeeze(t, axes=_all(along, t)) for t in (mean, variance))
    return raw_ops.cast(mean, dtype=own), raw_ops.cast(variance, dtype=own)


def _all(axes: list[int] | None, x: _core.Tensor) -> list[int]:
    return list(range(len(known_rank(x)))) if axes is None else axes


@scoped
def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the loss of counts that have a Poisson distribution: `exp(c) - z c` for a count `z`.

    Args:
        targets: counts, of the dtype of `log_input`.
        log_input: `c`, the logarithms of the rates.
        compute_full_loss: whether to add `log(z!)` by Stirling's formula, `z log z - z + log(2 pi z) / 2`,
            where `z` is greater than 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype and shape of `log_input`.

    Raises:
        ValueError: where the shapes differ.

    >>> import penstock as tf
    >>> float(tf.nn.log_poisson_loss(2.0, 0.0))
    1.0
    """
    logarithms = _core._to_tensor(log_input)
    counts = _core._to_tensor_hinted(targets, logarithms.dtype)
    if not counts.shape.is_compatible_with(logarithms.shape):
        raise InvalidArgumentError(
            f"argument 'targets' must have the shape of 'log_input', {logarithms.shape}, got {counts.shape}"
        )
    loss = raw_ops.exp(logarithms) - logarithms * counts
    if not compute_full_loss:
        return loss
    many = raw_ops.greater(counts, raw_ops.ones_like(counts))
    inside = raw_ops.select(many, counts, raw_ops.ones_like(counts))
    stirling = inside * raw_ops.log(inside) - inside + raw_ops.log(inside * (2 * math.pi)) * 0.5
    return loss + raw_ops.select(many, stirling, raw_ops.zeros_like(counts))


@scoped
def local_response_normalization(
    input: TensorLike,
    depth_radius: IntLike = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> _core.Tensor:
    """Divide each element by a power of the sum of squares of the channels around it.

    `x / (bias + alpha * sum)**beta` with the sum over `2 depth_radius + 1` channels (A. Krizhevsky, I.
    Sutskever and G. Hinton, "ImageNet classification with deep convolutional neural networks", 2012).

    Args:
        input: `float32`, `float16` or `bfloat16`, of shape `[batch, height, width, channels]`.
        depth_radius: how many channels on either side.
        bias: what is added to the sum.
        alpha: a factor of the sum.
        beta: the power.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        ValueError: for a tensor of another rank, or a negative `depth_radius`.

    >>> import penstock as tf
    >>> tf.nn.local_response_normalization([[[[1.0, 2.0]]]], 0, 0.0).numpy().tolist()
    [[[[1.0, 1.0]]]]
    """
    x = _core._to_tensor(input)
    if len(known_rank(x)) != 4:
        raise InvalidArgumentError(f"argument 'input' must have rank 4, got shape {x.shape}")
    radius = integer(depth_radius, "depth_radius")
    if radius < 0:
        raise InvalidArgumentError(f"argument 'depth_radius' must not be negative, got {radius}")
    around = pad(raw_ops.square(x), [[0, 0]] * 3 + [[radius, radius]])
    channels: Any = sizes(x)[-1]
    total = around[..., :channels]
    for shift in range(1, 2 * radius + 1):
        total = total + around[..., shift : shift + channels]
    scaled = total * float(alpha) + float(bias)
    if beta == 0.5:
        return x * raw_ops.rsqrt(scaled)
    return x * raw_ops.pow(scaled, _core._to_tensor(-float(beta), x.dtype))


@scoped
def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> _core.Tensor:
    """Shift and scale channels by given moments, and by factors.

    Args:
        input: of shape `[..., channels]`.
        mean: of shape `[channels]`.
        variance: of shape `[channels]`.
        beta: what is added, of shape `[channels]`.
        gamma: a factor, of shape `[channels]`.
        variance_epsilon: what is added to the variance.
        scale_after_normalization: whether to multiply by `gamma`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    >>> import penstock as tf
    >>> float(tf.nn.batch_norm_with_global_normalization([3.0], [1.0], [4.0], [0.5], [2.0], 0.0, True)[0])
    2.5
    """
    x = _core._to_tensor(input)
    m, v, shift, factor = (_core._to_tensor_hinted(t, x.dtype) for t in (mean, variance, beta, gamma))
    scale = raw_ops.rsqrt(v + float(variance_epsilon))
    if scale_after_normalization:
        scale = scale * factor
    return x * scale + (shift - m * scale)


@dispatched
def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: IntLike | None = None,
) -> _core.Tensor:
    """Sum the losses of examples, weighted, and divide by the size of the batch.

    Args:
        per_example_loss: a floating tensor with the batch first.
        sample_weight: the weight of each example, which broadcasts from the front.
        global_batch_size: the size of the batch over all replicas; by default that of the tensor.

    Returns:
        A scalar of the dtype of the losses; 0 for a batch of size 0.

    Raises:
        ValueError: for a scalar.

    >>> import penstock as tf
    >>> float(tf.nn.compute_average_loss([1.0, 3.0], global_batch_size=4))
    1.0
    """
    losses = _core._to_tensor(per_example_loss)
    batch = sizes(losses, 1)[0] if global_batch_size is None else global_batch_size
    if sample_weight is not None:
        weight = _core._to_tensor_hinted(sample_weight, losses.dtype)
        for _ in range(len(known_rank(losses)) - len(known_rank(weight))):
            weight = raw_ops.expand_dims(weight, axis=-1)
        losses = losses * weight
    return raw_ops.divide_no_nan(
        reduce_sum(losses), raw_ops.cast(_core._to_tensor(batch), dtype=losses.dtype)
    )


@dispatched
def scale_regularization_loss(regularization_loss: TensorLike) -> _core.Tensor:
    """Divide a sum of regularisation losses by the number of replicas, which is 1.

    Args:
        regularization_loss: a floating tensor.

    Returns:
        The sum of its elements, a scalar.

    >>> import penstock as tf
    >>> float(tf.nn.scale_regularization_loss([0.5, 0.25]))
    0.75
    """
    return reduce_sum(regularization_loss)
