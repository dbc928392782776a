"""Operators of neural networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock._nodes._parts import V1, ints, pullback

__all__ = ["NODES"]


def _padded(padding: str, explicit: Sequence[int]) -> Any:
    if padding != "EXPLICIT":
        return padding
    return [list(explicit[i : i + 2]) for i in range(0, len(explicit), 2)]


def _conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    cudnn: bool,
    explicit: Any,
    data_format: str,
    dilations: Any,
) -> Any:
    return tf.nn.conv2d(input, filter, strides, _padded(padding, explicit), data_format, dilations)


def _conv3d(input: Any, filter: Any, strides: Any, padding: str, data_format: str, dilations: Any) -> Any:
    return tf.nn.conv3d(input, filter, strides, padding, data_format, dilations)


def _conv(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    explicit: Any,
    data_format: str,
    dilations: Any,
    batch_dims: int,
    groups: int,
) -> Any:
    # The rank of the input need not be known.
    spatial = len(strides) - 2
    if spatial not in (2, 3):
        raise tf.errors.InvalidArgumentError(
            f"argument 'strides' must have 4 or 5 elements, got {len(strides)}"
        )
    lead = tf.shape(input)[:batch_dims]
    flat = tf.reshape(input, tf.concat([[-1], tf.shape(input)[batch_dims:]], 0))
    last = data_format == "CHANNELS_LAST"
    layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[spatial][not last]
    function = {2: tf.nn.conv2d, 3: tf.nn.conv3d}[spatial]
    found = function(
        flat, filter, strides, _padded(padding, explicit), layout, dilations or [1] * len(strides)
    )
    return tf.reshape(found, tf.concat([lead, tf.shape(found)[1:]], 0))


def _by_filter(function: Callable[..., Any], sized: bool) -> Callable[..., Any]:
    """The gradient of a convolution by its filter, of which the sizes or an example are given."""

    def gradient(input: Any, filter: Any, out: Any, strides: Any, padding: str, *options: Any) -> Any:
        start = tf.zeros(filter, input.dtype) if sized else filter
        return pullback(lambda f: function(input, f, strides, padding, *options), [start], out)

    return gradient


def _by_input(function: Callable[..., Any], sized: bool) -> Callable[..., Any]:
    def gradient(input: Any, filter: Any, out: Any, strides: Any, padding: str, *options: Any) -> Any:
        start = tf.zeros(input, filter.dtype) if sized else input
        return pullback(lambda x: function(x, filter, strides, padding, *options), [start], out)

    return gradient


def _conv3d_old(input: Any, filter: Any, strides: Any, padding: str, dilations: Any) -> Any:
    return tf.nn.conv3d(input, filter, strides, padding, "NDHWC", dilations)


def _depthwise(
    input: Any, filter: Any, strides: Any, padding: str, explicit: Any, data_format: str, dilations: Any
) -> Any:
    inner = dilations[1:3] if data_format == "NHWC" else dilations[2:4]
    return tf.nn.depthwise_conv2d(input, filter, strides, _padded(padding, explicit), data_format, inner)


def _avg_pool(value: Any, ksize: Any, strides: Any, padding: str, data_format: str) -> Any:
    return tf.nn.avg_pool(value, ksize, strides, padding, data_format)


def _avg_pool_grad(shape: Any, grad: Any, *options: Any) -> Any:
    return pullback(lambda x: _avg_pool(x, *options), [tf.zeros(shape, grad.dtype)], grad)


def _max_pool(input: Any, ksize: Any, strides: Any, padding: str, explicit: Any, data_format: str) -> Any:
    return tf.nn.max_pool(input, ksize, strides, _padded(padding, explicit), data_format)


def _max_pool3d(input: Any, ksize: Any, strides: Any, padding: str, data_format: str) -> Any:
    return tf.nn.max_pool(input, ksize, strides, padding, data_format)


def _max_pool_v2(input: Any, ksize: Any, strides: Any, padding: str, data_format: str) -> Any:
    return tf.nn.max_pool(input, ints(ksize, "ksize"), ints(strides, "strides"), padding, data_format)


def _pool_grad(pool: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, output, grad, *options: pullback(lambda x: pool(x, *options), [input], grad)


def _pool_grad_grad(pool: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the gradient by that of the result: what the places of the maxima hold."""

    def found(input: Any, output: Any, grad: Any, *options: Any) -> Any:
        cotangent = tf.zeros_like(output)
        with tf.GradientTape() as tape:
            tape.watch(cotangent)
            back = pullback(lambda x: pool(x, *options), [input], cotangent)
        return tape.gradient(back, cotangent, grad)

    return found


def _argmax_pool(input: Any, ksize: Any, strides: Any, padding: str, Targmax: Any, include: bool) -> Any:
    return tf.nn.max_pool_with_argmax(
        input, ksize, strides, padding, output_dtype=Targmax, include_batch_in_index=include
    )


def _flat_places(argmax: Any, shape: Any, include: bool) -> Any:
    """Places in a whole tensor, of those within each image."""
    places = tf.cast(argmax, tf.int64)
    if not include:
        each = tf.reduce_prod(tf.cast(shape[1:], tf.int64))
        first = tf.range(tf.cast(shape[0], tf.int64)) * each
        places += tf.reshape(first, [-1] + [1] * (argmax.shape.rank - 1))
    return tf.reshape(places, [-1, 1])


def _argmax_grad(
    input: Any, grad: Any, argmax: Any, ksize: Any, strides: Any, padding: str, include: bool
) -> Any:
    shape = tf.shape(input)
    places = _flat_places(argmax, shape, include)
    flat = tf.scatter_nd(places, tf.reshape(grad, [-1]), [tf.size(input, tf.int64)])
    return tf.reshape(flat, shape)


def _argmax_grad_grad(
    input: Any, grad: Any, argmax: Any, ksize: Any, strides: Any, padding: str, include: bool
) -> Any:
    places = _flat_places(argmax, tf.shape(input), include)
    return tf.reshape(tf.gather_nd(tf.reshape(grad, [-1]), places), tf.shape(argmax))


def _fused_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float,
    factor: float,
    data_format: str,
    is_training: bool,
) -> list[Any]:
    """Images normalized by the moments of their channels, which are of the batch where it trains."""
    channels = data_format.index("C")
    kept = [-1 if axis == channels else 1 for axis in range(x.shape.rank)]
    wide = tf.cast(x, tf.float32) if x.dtype in (tf.float16, tf.bfloat16) else x
    taken_mean, taken_variance = mean, variance
    if is_training:
        axes = [axis for axis in range(x.shape.rank) if axis != channels]
        taken_mean, taken_variance = tf.nn.moments(wide, axes)
    of_mean, of_variance, of_offset, of_scale = (
        tf.reshape(part, kept) for part in (taken_mean, taken_variance, offset, scale)
    )
    y = tf.cast(tf.nn.batch_normalization(wide, of_mean, of_variance, of_offset, of_scale, epsilon), x.dtype)
    if not is_training:
        return [y, mean, variance, mean, variance]
    # What is kept of the variance is that of a sample.
    count = tf.cast(tf.size(x) // tf.shape(x)[channels], wide.dtype)
    sample = taken_variance * (count / tf.maximum(count - 1.0, 1.0))
    kept_mean, kept_variance = taken_mean, sample
    if factor != 1.0:
        kept_mean = (1.0 - factor) * mean + factor * taken_mean
        kept_variance = (1.0 - factor) * variance + factor * sample
    return [y, kept_mean, kept_variance, taken_mean, taken_variance]


def _fused_norm_grad(
    gradient: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    *rest: Any,
) -> list[Any]:
    *_, epsilon, data_format, is_training = rest
    channels = data_format.index("C")
    axes = [axis for axis in range(x.shape.rank) if axis != channels]
    kept = [-1 if axis == channels else 1 for axis in range(x.shape.rank)]

    def normalized(x: Any, scale: Any, offset: Any) -> Any:
        of_mean, of_variance = mean, variance
        if is_training:
            of_mean, of_variance = tf.nn.moments(tf.cast(x, scale.dtype), axes)
        m, v, o, s = (tf.reshape(part, kept) for part in (of_mean, of_variance, offset, scale))
        return tf.cast(tf.nn.batch_normalization(tf.cast(x, scale.dtype), m, v, o, s, epsilon), x.dtype)

    operands = [x, scale, tf.zeros_like(scale)]
    found = [pullback(normalized, operands, gradient, of=place) for place in range(3)]
    empty = tf.zeros([], scale.dtype)
    return [*found, empty, empty]


def _global_norm(t: Any, m: Any, v: Any, beta: Any, gamma: Any, epsilon: float, scaled: bool) -> Any:
    return tf.nn.batch_normalization(t, m, v, beta, gamma if scaled else None, epsilon)


def _global_norm_grad(
    t: Any, m: Any, v: Any, gamma: Any, backprop: Any, epsilon: float, scaled: bool
) -> list[Any]:
    operands = [t, m, v, tf.zeros_like(m), gamma]
    return [
        pullback(
            lambda t, m, v, b, g: _global_norm(t, m, v, b, g, epsilon, scaled), operands, backprop, of=place
        )
        for place in range(5)
    ]


def _bias_grad(out: Any, data_format: str) -> Any:
    channels = 1 if data_format.startswith("NC") else out.shape.rank - 1
    return tf.reduce_sum(out, [axis for axis in range(out.shape.rank) if axis != channels])


def _cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    loss = tf.nn.softmax_cross_entropy_with_logits(labels, features)
    return loss, tf.nn.softmax(features) - labels


def _sparse_cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, features)
    return loss, tf.nn.softmax(features) - tf.one_hot(labels, tf.shape(features)[-1], dtype=features.dtype)


def _lrn(input: Any, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    return tf.nn.local_response_normalization(input, depth_radius, bias, alpha, beta)


def _dilation(input: Any, filter: Any, strides: Any, rates: Any, padding: str) -> Any:
    return tf.nn.dilation2d(input, filter, strides, padding, "NHWC", rates)


def _in_top_k(predictions: Any, targets: Any, k: Any) -> Any:
    return tf.math.in_top_k(targets, predictions, k)


def _selu_grad(gradients: Any, outputs: Any) -> Any:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    one, both = tf.cast(scale, outputs.dtype), tf.cast(scale * alpha, outputs.dtype)
    return tf.where(outputs < 0, gradients * (outputs + both), gradients * one)


def _gru(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> tuple[Any, Any, Any, Any]:
    joined = tf.concat([x, h_prev], 1)
    r, u = tf.split(tf.sigmoid(tf.matmul(joined, w_ru) + b_ru), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([x, h_prev * r], 1), w_c) + b_c)
    return r, u, c, u * h_prev + (1.0 - u) * c


def _lstm(
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    forget_bias: float,
    cell_clip: float,
    peephole: bool,
    order: str = "icfo",
) -> tuple[Any, ...]:
    """One step of a long short-term memory: the gates, the state and what it gives."""
    gates = dict(zip(order, tf.split(tf.matmul(tf.concat([x, h_prev], 1), w) + b, 4, 1), strict=True))
    seen = peephole
    i = tf.sigmoid(gates["i"] + cs_prev * wci if seen else gates["i"])
    f = tf.sigmoid(gates["f"] + forget_bias + (cs_prev * wcf if seen else 0.0))
    ci = tf.tanh(gates["c"])
    cs = ci * i + cs_prev * f
    if cell_clip > 0.0:
        cs = tf.clip_by_value(cs, -cell_clip, cell_clip)
    o = tf.sigmoid(gates["o"] + cs * wco if seen else gates["o"])
    co = tf.tanh(cs)
    return i, cs, f, o, ci, co, co * o


def _lstm_rows(
    length: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    *options: Any,
) -> list[Any]:
    """A long short-term memory over steps; behind the last step are zeros."""
    *bias, cell_clip, peephole = options
    # The second version has no bias of its own, and another order of the gates.
    order = "icfo" if bias else "ifco"
    steps: list[tuple[Any, ...]] = []
    cs, h = cs_prev, h_prev
    for step, row in enumerate(tf.unstack(x)):
        made = _lstm(row, cs, h, w, wci, wcf, wco, b, bias[0] if bias else 0.0, cell_clip, peephole, order)
        made = tuple(tf.where(step < length, part, tf.zeros_like(part)) for part in made)
        cs, h = made[1], made[6]
        steps.append(made)
    return [tf.stack(parts) for parts in zip(*steps, strict=True)]


def _fractional(function: Callable[..., Any]) -> Callable[..., Any]:
    def pool(
        value: Any, ratio: Any, random: bool, overlapping: bool, det: bool, seed: int, seed2: int
    ) -> Any:
        return function(value, ratio, random, overlapping, seed if det or seed else 0)

    return pool


def _beam(
    inputs: Any, length: Any, width: int, paths: int, merge: bool
) -> tuple[list[Any], list[Any], list[Any], Any]:
    decoded, chance = V1.nn.ctc_beam_search_decoder(inputs, length, width, paths, merge)
    return [d.indices for d in decoded], [d.values for d in decoded], [d.dense_shape for d in decoded], chance


def _greedy(inputs: Any, length: Any, merge: bool, blank: int) -> tuple[Any, Any, Any, Any]:
    ((decoded,), chance) = tf.nn.ctc_greedy_decoder(inputs, length, merge, blank)
    return decoded.indices, decoded.values, decoded.dense_shape, chance


def _isotonic(input: Any, output_dtype: Any) -> Any:
    """Rows that fall, nearest in squares, and the blocks of equal numbers."""
    found, segments = tf.nn.isotonic_regression(input, decreasing=True)
    return tf.cast(found, output_dtype), segments


NODES: Final[dict[str, Callable[..., Any]]] = {
    "AvgPool": _avg_pool,
    "AvgPool3D": _avg_pool,
    "AvgPool3DGrad": _avg_pool_grad,
    "AvgPoolGrad": _avg_pool_grad,
    "BatchNormWithGlobalNormalization": _global_norm,
    "BatchNormWithGlobalNormalizationGrad": _global_norm_grad,
    "BiasAdd": tf.nn.bias_add,
    "BiasAddGrad": _bias_grad,
    "BiasAddV1": tf.nn.bias_add,
    "BlockLSTM": _lstm_rows,
    "BlockLSTMV2": _lstm_rows,
    "CTCBeamSearchDecoder": _beam,
    "CTCGreedyDecoder": _greedy,
    "Conv": _conv,
    "Conv2D": _conv2d,
    "Conv2DBackpropFilter": _by_filter(_conv2d, True),
    "Conv2DBackpropFilterV2": _by_filter(_conv2d, False),
    "Conv2DBackpropInput": _by_input(_conv2d, True),
    "Conv2DBackpropInputV2": _by_input(_conv2d, False),
    "Conv3D": _conv3d,
    "Conv3DBackpropFilter": _by_filter(_conv3d_old, False),
    "Conv3DBackpropFilterV2": _by_filter(_conv3d, True),
    "Conv3DBackpropInput": _by_input(_conv3d_old, False),
    "Conv3DBackpropInputV2": _by_input(_conv3d, True),
    "DepthwiseConv2dNative": _depthwise,
    "DepthwiseConv2dNativeBackpropFilter": _by_filter(_depthwise, True),
    "DepthwiseConv2dNativeBackpropInput": _by_input(_depthwise, True),
    "Dilation2D": _dilation,
    "Dilation2DBackpropFilter": lambda x, f, out, *o: pullback(lambda f: _dilation(x, f, *o), [f], out),
    "Dilation2DBackpropInput": lambda x, f, out, *o: pullback(lambda x: _dilation(x, f, *o), [x], out),
    "Elu": tf.nn.elu,
    "EluGrad": lambda gradients, outputs: tf.where(outputs < 0, gradients * (outputs + 1), gradients),
    "FractionalAvgPool": _fractional(tf.nn.fractional_avg_pool),
    "FractionalMaxPool": _fractional(tf.nn.fractional_max_pool),
    "FusedBatchNorm": _fused_norm,
    "FusedBatchNormGrad": _fused_norm_grad,
    "FusedBatchNormGradV2": _fused_norm_grad,
    "FusedBatchNormGradV3": _fused_norm_grad,
    "FusedBatchNormV2": _fused_norm,
    "FusedBatchNormV3": lambda *given: [*_fused_norm(*given), tf.zeros([0], given[1].dtype)],
    "FusedPadConv2D": lambda input, paddings, filter, mode, strides, padding: tf.nn.conv2d(
        tf.pad(input, paddings, mode), filter, strides, padding
    ),
    "GRUBlockCell": _gru,
    "InTopK": _in_top_k,
    "InTopKV2": _in_top_k,
    "IsotonicRegression": _isotonic,
    "L2Loss": tf.nn.l2_loss,
    "LRN": _lrn,
    "LRNGrad": lambda grads, image, output, *options: pullback(lambda x: _lrn(x, *options), [image], grads),
    "LSTMBlockCell": _lstm,
    "LeakyRelu": tf.nn.leaky_relu,
    "LeakyReluGrad": lambda gradients, features, alpha: tf.where(
        features > 0, gradients, gradients * tf.cast(alpha, gradients.dtype)
    ),
    "LogSoftmax": tf.nn.log_softmax,
    "MaxPool": _max_pool,
    "MaxPool3D": _max_pool3d,
    "MaxPool3DGrad": _pool_grad(_max_pool3d),
    "MaxPool3DGradGrad": _pool_grad_grad(_max_pool3d),
    "MaxPoolGrad": _pool_grad(_max_pool),
    "MaxPoolGradGrad": _pool_grad_grad(_max_pool3d),
    "MaxPoolGradGradV2": _pool_grad_grad(_max_pool_v2),
    "MaxPoolGradGradWithArgmax": _argmax_grad_grad,
    "MaxPoolGradV2": _pool_grad(_max_pool_v2),
    "MaxPoolGradWithArgmax": _argmax_grad,
    "MaxPoolV2": _max_pool_v2,
    "MaxPoolWithArgmax": _argmax_pool,
    "Relu": tf.nn.relu,
    "Relu6": tf.nn.relu6,
    "Relu6Grad": lambda gradients, features: tf.where(
        (features > 0) & (features < 6), gradients, tf.zeros_like(gradients)
    ),
    "ReluGrad": lambda gradients, features: tf.where(features > 0, gradients, tf.zeros_like(gradients)),
    "Selu": tf.nn.selu,
    "SeluGrad": _selu_grad,
    "Softmax": tf.nn.softmax,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "Softplus": tf.nn.softplus,
    "SoftplusGrad": lambda gradients, features: gradients * tf.sigmoid(features),
    "Softsign": tf.nn.softsign,
    "SoftsignGrad": lambda gradients, features: gradients / tf.square(1 + tf.abs(features)),
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
}
