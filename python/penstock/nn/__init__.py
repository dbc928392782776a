"""Neural networks: activations, losses, normalisation, lookups."""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.blocks import depth_to_space as depth_to_space, space_to_depth as space_to_depth
from penstock._ops.candidates import (
    all_candidate_sampler as all_candidate_sampler,
    compute_accidental_hits as compute_accidental_hits,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
)
from penstock._ops.conv import (
    conv1d as conv1d,
    conv1d_transpose as conv1d_transpose,
    conv2d as conv2d,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_transpose as conv3d_transpose,
    conv_transpose as conv_transpose,
    convolution as convolution,
    depthwise_conv2d as depthwise_conv2d,
    separable_conv2d as separable_conv2d,
)
from penstock._ops.conv_gradients import (
    atrous_conv2d as atrous_conv2d,
    atrous_conv2d_transpose as atrous_conv2d_transpose,
    depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input,
)
from penstock._ops.ctc import (
    collapse_repeated as collapse_repeated,
    ctc_loss as ctc_loss,
    ctc_unique_labels as ctc_unique_labels,
)
from penstock._ops.ctc_decoders import (
    ctc_beam_search_decoder as ctc_beam_search_decoder,
    ctc_greedy_decoder as ctc_greedy_decoder,
)
from penstock._ops.elementwise import elu as elu, relu as relu, relu6 as relu6, selu as selu
from penstock._ops.embedding import (
    embedding_lookup as embedding_lookup,
    embedding_lookup_sparse as embedding_lookup_sparse,
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
)
from penstock._ops.isotonic import isotonic_regression as isotonic_regression
from penstock._ops.morphology import (
    dilation2d as dilation2d,
    erosion2d as erosion2d,
    fractional_avg_pool as fractional_avg_pool,
    fractional_max_pool as fractional_max_pool,
    max_pool_with_argmax as max_pool_with_argmax,
    pool as pool,
)
from penstock._ops.pooling import (
    avg_pool as avg_pool,
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    max_pool as max_pool,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from penstock._ops.sorting import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    in_top_k as in_top_k,
    top_k as top_k,
)
from penstock._ops.space_batch import (
    space_to_batch as space_to_batch,
    with_space_to_batch as with_space_to_batch,
)
from penstock._ops.statistics import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
    compute_average_loss as compute_average_loss,
    local_response_normalization as local_response_normalization,
    log_poisson_loss as log_poisson_loss,
    normalize_moments as normalize_moments,
    scale_regularization_loss as scale_regularization_loss,
    sufficient_statistics as sufficient_statistics,
    weighted_moments as weighted_moments,
)
from penstock._runtime.arguments import axes as axis_list, axis_number, extents, known_rank, named
from penstock._runtime.dispatch import dispatched
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.math import (
    l2_normalize as l2_normalize,
    log_softmax as log_softmax,
    sigmoid as sigmoid,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
    tanh as tanh,
    zero_fraction as zero_fraction,
)
from penstock.nn import experimental as experimental
from penstock.nn._cell_wrappers import (
    RNNCellDeviceWrapper as RNNCellDeviceWrapper,
    RNNCellDropoutWrapper as RNNCellDropoutWrapper,
    RNNCellResidualWrapper as RNNCellResidualWrapper,
)
from penstock.nn._sampled import nce_loss as nce_loss, sampled_softmax_loss as sampled_softmax_loss

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, IntLike, SizesLike, TensorLike

__all__ = [
    "RNNCellDeviceWrapper",
    "RNNCellDropoutWrapper",
    "RNNCellResidualWrapper",
    "all_candidate_sampler",
    "approx_max_k",
    "approx_min_k",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "collapse_repeated",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "dilation2d",
    "dropout",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "gelu",
    "in_top_k",
    "isotonic_regression",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "relu",
    "relu6",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "zero_fraction",
]

lrn = local_response_normalization


@dispatched
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> _core.Tensor:
    """Multiply negative features by a slope.

    Args:
        features: a floating-point tensor.
        alpha: the slope below 0.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `features`, `float32` for integers.

    >>> import penstock as tf
    >>> tf.nn.leaky_relu([-1.0, 2.0], alpha=0.5).numpy().tolist()
    [-0.5, 2.0]
    """
    x = _core._to_tensor(features)
    if x.dtype.is_integer:
        x = raw_ops.cast(x, dtype=_core.float32)
    return raw_ops.select(x > 0, x, x * _core._to_tensor_hinted(alpha, x.dtype), name=name)


@dispatched
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> _core.Tensor:
    """Compute `x` times the normal distribution's probability of less than `x`, elementwise.

    Args:
        features: floating point.
        approximate: whether to compute the probability by a hyperbolic tangent.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `features`.

    Raises:
        ValueError: for another dtype.

    >>> import penstock as tf
    >>> tf.nn.gelu([0.0, 10.0]).numpy().tolist()
    [0.0, 10.0]
    """
    x = _core._to_tensor(features)
    if not x.dtype.is_floating:
        raise DTypeError(f"argument 'features' must be floating point, got {x.dtype.name}")
    if approximate:
        inner = _math.sqrt(2.0 / _math.pi) * (x + 0.044715 * (x * x * x))
        return raw_ops.mul(0.5 * x, 1.0 + raw_ops.tanh(inner), name=name)
    return raw_ops.mul(0.5 * x, 1.0 + raw_ops.erf(x * _math.sqrt(0.5)), name=name)


@dispatched
def silu(features: TensorLike, beta: TensorLike = 1.0) -> _core.Tensor:
    """Compute `x * sigmoid(beta * x)` elementwise.

    Args:
        features: a floating-point tensor.
        beta: the factor of the argument of the sigmoid.

    Returns:
        A tensor of the shape and dtype of `features`.

    >>> import penstock as tf
    >>> tf.nn.silu([0.0, 100.0]).numpy().tolist()
    [0.0, 100.0]
    """
    x = _core._to_tensor(features)
    return x * raw_ops.sigmoid(x * _core._to_tensor_hinted(beta, x.dtype))


swish = silu


@dispatched
def crelu(features: TensorLike, axis: IntLike = -1, name: str | None = None) -> _core.Tensor:
    """Join `relu(x)` and `relu(-x)` along a dimension.

    Args:
        features: a floating-point tensor.
        axis: the dimension to join both halves along.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `features`, with the size along `axis` doubled.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.nn.crelu([-1.0, 2.0]).numpy().tolist()
    [0.0, 2.0, 1.0, 0.0]
    """
    x = _core._to_tensor(features)
    return raw_ops.relu(raw_ops.concat([x, -x], axis=axis_number(axis)), name=name)


@scoped
def l2_loss(t: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute half the sum of squares.

    Args:
        t: a floating-point tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        A scalar of the dtype of `t`.

    >>> import penstock as tf
    >>> float(tf.nn.l2_loss([3.0, 4.0]))
    12.5
    """
    t = _core._to_tensor(t)
    return raw_ops.reduce_sum(raw_ops.square(t)) / _core._to_tensor(2, t.dtype)


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> _core.Tensor:
    """Add a vector along the channels: the last dimension, or the second of `"NCHW"` and such.

    Args:
        value: a tensor of rank 2 or more.
        bias: a vector of the same dtype, with an element for each channel.
        data_format: None, `"NHWC"`, `"NWC"` or `"NDHWC"` for channels last; `"NCHW"`, `"NCW"` or `"NCDHW"`
            for channels second.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `value`.

    Raises:
        ValueError: for another `data_format`.
        InvalidArgumentError: where `bias` has another size than the channels.

    >>> import penstock as tf
    >>> tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy().tolist()
    [[11.0, 22.0]]
    """
    if data_format is None or data_format in ("NHWC", "NWC", "NDHWC"):
        return raw_ops.bias_add(value, bias, name=name)
    if data_format not in ("NCHW", "NCW", "NCDHW"):
        raise InvalidArgumentError(
            f"argument 'data_format' must be None, or have C second or last, got {data_format!r}"
        )
    x = _core._to_tensor(value)
    bias = _core._to_tensor_hinted(bias, x.dtype)
    return named(x + raw_ops.reshape(bias, [-1] + [1] * (len(known_rank(x)) - 2)), name)


@dispatched
def dropout(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: SizesLike | Sequence[int | None] | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Set a random part of the elements to 0, and divide the others by `1 - rate`.

    Args:
        x: floating point.
        rate: the probability of an element to be set to 0, at least 0 and below 1.
        noise_shape: the shape of what is drawn, which broadcasts to that of `x`; None is the size of `x`.
        seed: makes what is drawn repeatable.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for another rate, or a tensor of integers.

    >>> import penstock as tf
    >>> sorted(set(tf.nn.dropout(tf.ones([100]), 0.5, seed=1).numpy().tolist()))
    [0.0, 2.0]
    """
    from penstock import random  # start-up does without it

    v = _core._to_tensor(x)
    if not v.dtype.is_floating:
        raise DTypeError(f"argument 'x' must be floating point, got {v.dtype.name}")
    if isinstance(rate, int | float):
        if not 0 <= rate < 1:
            raise InvalidArgumentError(
                f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}"
            )
        if rate == 0:
            return v
    rate = _core._to_tensor_hinted(rate, v.dtype)
    shape = raw_ops.shape(v)
    if noise_shape is not None:
        if isinstance(noise_shape, list | tuple):
            noise_shape = [shape[i] if n is None else n for i, n in enumerate(noise_shape)]
        shape = extents(noise_shape, "noise_shape")
    keep = random.uniform(shape, dtype=v.dtype, seed=seed) >= rate
    return raw_ops.select(keep, v / (1.0 - rate), raw_ops.zeros_like(v), name=name)


@scoped
def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: object = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Compute the mean and the population variance over dimensions.

    Args:
        x: a tensor.
        axes: the dimensions.
        shift: accepted and ignored.
        keepdims: whether the dimensions stay, with size 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        The mean and the variance, both of the dtype of `x`, without the dimensions of `axes`.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), axes=[0])
    >>> float(mean), float(variance)
    (2.0, 1.0)
    """
    x = _core._to_tensor(x)
    own = x.dtype
    if own in (_core.float16, _core.bfloat16):
        x = raw_ops.cast(x, dtype=_core.float32)
    along = axis_list(axes, "axes")
    mean = raw_ops.reduce_mean(x, axes=along, keepdims=True)
    variance = raw_ops.reduce_mean(
        raw_ops.squared_difference(x, raw_ops.stop_gradient(mean)), axes=along, keepdims=keepdims
    )
    if not keepdims:
        # The mean stands there already; its shape is that of the variance.
        mean = raw_ops.squeeze(mean, axes=along) if along else raw_ops.reshape(mean, raw_ops.shape(variance))
    return (
        raw_ops.cast(mean, dtype=own),
        raw_ops.cast(variance, dtype=own),
    )


@scoped
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> _core.Tensor:
    """Compute `(x - mean) / sqrt(variance + variance_epsilon) * scale + offset`.

    Args:
        x: a tensor.
        mean: broadcasts with `x`, as do those that follow.
        variance: the variance.
        offset: what to add, or None.
        scale: what to multiply by, or None.
        variance_epsilon: keeps the division from 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `x`, of the shape to which all broadcast.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> y = tf.nn.batch_normalization(tf.constant([1.0, 3.0]), 2.0, 1.0, 10.0, 5.0, 0.0)
    >>> y.numpy().tolist()
    [5.0, 15.0]
    """
    v = _core._to_tensor(x)
    factor = raw_ops.rsqrt(_core._to_tensor_hinted(variance, v.dtype) + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -_core._to_tensor_hinted(mean, v.dtype) * factor
    if offset is not None:
        shift = shift + offset
    return v * raw_ops.cast(factor, dtype=v.dtype) + raw_ops.cast(shift, dtype=v.dtype)


# --- losses ---


@scoped
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute `-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x))` elementwise, without overflow.

    Args:
        labels: probabilities `y`, of the shape and dtype of `logits`.
        logits: `x`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `logits`.

    Raises:
        ValueError: where one is missing, or the shapes differ.

    >>> import penstock as tf
    >>> loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0])
    >>> round(float(loss[0]), 4)
    0.6931
    """
    y, x = _labels_and_logits(labels, logits)
    zero = raw_ops.zeros_like(x)
    positive = x >= zero
    size = raw_ops.select(positive, -x, x)
    return raw_ops.select(positive, x, zero) - x * y + raw_ops.log1p(raw_ops.exp(size))


@scoped
def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute `-w y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x))` elementwise, without overflow.

    Args:
        labels: probabilities `y`, of the shape and dtype of `logits`.
        logits: `x`, a floating-point tensor.
        pos_weight: `w`, which broadcasts with `logits`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `logits`, of the shape to which all broadcast.

    Raises:
        ValueError: where one is missing, or the shapes of `labels` and `logits` differ.

    >>> import penstock as tf
    >>> loss = tf.nn.weighted_cross_entropy_with_logits(labels=[0.0], logits=[-100.0], pos_weight=2.0)
    >>> loss.numpy().tolist()
    [0.0]
    """
    if pos_weight is None:
        raise InvalidArgumentError("argument 'pos_weight' must be given")
    y, x = _labels_and_logits(labels, logits)
    weight = 1 + (_core._to_tensor_hinted(pos_weight, x.dtype) - 1) * y
    return (1 - y) * x + weight * (raw_ops.log1p(raw_ops.exp(-raw_ops.abs(x))) + raw_ops.relu(-x))


def _labels_and_logits(labels: Any, logits: Any) -> tuple[_core.Tensor, _core.Tensor]:
    if labels is None or logits is None:
        raise InvalidArgumentError("arguments 'labels' and 'logits' must be given both")
    x = _core._to_tensor(logits)
    y = _core._to_tensor_hinted(labels, x.dtype)
    if not x.shape.is_compatible_with(y.shape):
        raise InvalidArgumentError(
            f"`logits` and `labels` must have the same shape, received ({x.shape} vs {y.shape})."
        )
    return y, x


@dispatched
def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: IntLike = -1, name: str | None = None
) -> _core.Tensor:
    """Compute the cross entropy of `labels` and `softmax(logits)` along a dimension, without overflow.

    Args:
        labels: probabilities, of a shape that broadcasts with that of `logits`.
        logits: floating point.
        axis: the dimension of the classes, which the result lacks.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `logits` and of its shape without the dimension.

    Raises:
        InvalidArgumentError: where the shapes do not broadcast.

    >>> import penstock as tf
    >>> loss = tf.nn.softmax_cross_entropy_with_logits([[1.0, 0.0]], [[100.0, 0.0]])
    >>> loss.numpy().tolist()
    [0.0]
    """
    x = _core._to_tensor(logits)
    y = raw_ops.cast(_core._to_tensor_hinted(labels, x.dtype), dtype=x.dtype)
    rank = len(known_rank(x))
    place = axis_number(axis) % max(rank, 1)
    if not x.shape.is_compatible_with(y.shape):
        both = raw_ops.shape(x + y)
        x, y = raw_ops.broadcast_to(x, both), raw_ops.broadcast_to(y, both)
    if place != rank - 1:
        perm = [i for i in range(rank) if i != place] + [place]
        x, y = raw_ops.transpose(x, perm=perm), raw_ops.transpose(y, perm=perm)
    return raw_ops.softmax_cross_entropy(x, y, name=name)[0]


@dispatched
def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Compute the cross entropy of one class each and `softmax(logits)` along the last dimension.

    Args:
        labels: the classes, `int32` or `int64`, of the shape of `logits` without its last dimension.
        logits: floating point.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `logits` and of the shape of `labels`.

    Raises:
        ValueError: where the shapes do not fit.
        InvalidArgumentError: for a class outside of the last dimension.

    >>> import penstock as tf
    >>> tf.nn.sparse_softmax_cross_entropy_with_logits([1], [[100.0, 0.0]]).numpy().tolist()
    [100.0]
    """
    x = _core._to_tensor(logits)
    y = _core._to_tensor_hinted(labels, _core.int32)
    if x.shape.rank is not None and not x.shape[:-1].is_compatible_with(y.shape):
        raise InvalidArgumentError(
            f"argument 'labels' must have shape {x.shape[:-1]} for logits of shape {x.shape}, got {y.shape}"
        )
    return raw_ops.sparse_softmax_cross_entropy(x, y, name=name)[0]


_publish(__name__)
