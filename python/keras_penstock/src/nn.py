"""Activations, convolutions, pooling, normalization, losses and attention."""

import math
from functools import wraps

import numpy as np
from keras.src import backend
from keras.src.backend.common import is_float_dtype, is_int_dtype, standardize_dtype
from keras.src.backend.common.backend_utils import (
    check_conv_input_channels,
    check_conv_transpose_input_channels,
    compute_conv_transpose_padding_args_for_jax,
)

import penstock as tf
from keras_penstock.src.core import SPARSE, cast, dense_tensor, scan, shape
from keras_penstock.src.promotion import Tensor
from keras_penstock.src.sparse import ELEMENTWISE
from penstock import raw_ops

# --- activations ---


def _of_tensor(function):
    """Make the first argument of an activation a tensor."""
    rule = ELEMENTWISE.get(function.__name__)

    @wraps(function)
    def applied(x, *args, **kwargs):
        if type(x) is not Tensor:
            if rule is not None and type(x) in SPARSE:
                return rule(function, x, *args, **kwargs)
            x = dense_tensor(x)
        return function(x, *args, **kwargs)

    return applied


@_of_tensor
def relu(x):
    return tf.nn.relu(x)


@_of_tensor
def relu6(x):
    return tf.nn.relu6(x)


@_of_tensor
def sigmoid(x):
    return tf.nn.sigmoid(x)


@_of_tensor
def sparse_sigmoid(x):
    return tf.clip_by_value(0.5 * (x + 1), cast(0, x.dtype), cast(1, x.dtype))


@_of_tensor
def tanh(x):
    return tf.nn.tanh(x)


@_of_tensor
def tanh_shrink(x):
    return x - tf.nn.tanh(x)


@_of_tensor
def softplus(x):
    return tf.math.softplus(x)


@_of_tensor
def softsign(x):
    return tf.nn.softsign(x)


@_of_tensor
def soft_shrink(x, threshold=0.5):
    return tf.where(x > threshold, x - threshold, tf.where(x < -threshold, x + threshold, tf.zeros_like(x)))


@_of_tensor
def sparse_plus(x):
    return tf.where(x <= -1, tf.zeros_like(x), tf.where(x < 1, tf.square(x + 1) / 4, x))


@_of_tensor
def silu(x):
    return tf.nn.silu(x)


@_of_tensor
def squareplus(x, b=4):
    return (x + tf.sqrt(tf.square(x) + cast(b, x.dtype))) / 2


@_of_tensor
def log_sigmoid(x):
    return tf.math.log_sigmoid(x)


@_of_tensor
def leaky_relu(x, negative_slope=0.2):
    return tf.nn.leaky_relu(x, alpha=negative_slope)


@_of_tensor
def hard_sigmoid(x):
    return tf.clip_by_value(x / 6 + 0.5, cast(0, x.dtype), cast(1, x.dtype))


@_of_tensor
def hard_silu(x):
    return x * hard_sigmoid(x)


@_of_tensor
def elu(x, alpha=1.0):
    result = tf.nn.elu(x)
    return result if alpha == 1 else tf.where(x > 0, result, alpha * result)


@_of_tensor
def selu(x):
    return tf.nn.selu(x)


@_of_tensor
def gelu(x, approximate=True):
    return tf.nn.gelu(x, approximate=approximate)


@_of_tensor
def celu(x, alpha=1.0):
    return tf.nn.relu(x) + alpha * tf.math.expm1(tf.minimum(x, 0) / alpha)


@_of_tensor
def glu(x, axis=-1):
    if x.shape[axis] is not None and x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    values, gates = tf.split(x, 2, axis)
    return values * tf.nn.sigmoid(gates)


@_of_tensor
def hard_tanh(x):
    return tf.clip_by_value(x, cast(-1, x.dtype), cast(1, x.dtype))


@_of_tensor
def hard_shrink(x, threshold=0.5):
    return tf.where(tf.abs(x) > threshold, x, tf.zeros_like(x))


@_of_tensor
def threshold(x, threshold, default_value):
    return tf.where(x > threshold, x, cast(default_value, x.dtype))


def _over_axes(function, x, axis):
    """Apply a function along one axis along several, or along all where `axis` is None."""
    if isinstance(axis, int):
        return function(x, axis=axis)
    rank = x.shape.rank
    axes = list(range(rank)) if axis is None else [a % rank for a in axis]
    order = [a for a in range(rank) if a not in axes] + axes
    moved = tf.transpose(x, order)
    sizes = shape(moved)
    flat = tf.reshape(moved, [*sizes[: rank - len(axes)], -1])
    result = tf.transpose(tf.reshape(function(flat, axis=-1), sizes), np.argsort(order).tolist())
    result.set_shape(x.shape)
    return result


@_of_tensor
def softmax(x, axis=-1):
    return _over_axes(tf.nn.softmax, x, axis)


@_of_tensor
def log_softmax(x, axis=-1):
    return _over_axes(tf.nn.log_softmax, x, axis)


@_of_tensor
def sparsemax(x, axis=-1):
    """Project onto the probability simplex: Martins and Astudillo, "From softmax to sparsemax", 2016."""
    ordered = tf.sort(x, axis=axis, direction="DESCENDING")
    before = tf.cumsum(ordered, axis=axis) - 1
    numbers = tf.range(1, tf.shape(x)[axis] + 1)
    places = [1] * x.shape.rank
    places[axis] = -1
    numbers = cast(tf.reshape(numbers, places), x.dtype)
    support = ordered * numbers > before
    count = tf.reduce_sum(cast(support, x.dtype), axis, keepdims=True)
    largest = tf.reduce_sum(tf.where(support, ordered, tf.zeros_like(x)), axis, keepdims=True)
    return tf.nn.relu(x - (largest - 1) / count)


# --- windows: pooling and convolution ---


def _sizes(x, count):
    """An integer for each spatial dimension."""
    return [int(x)] * count if isinstance(x, (int, np.integer)) else [int(n) for n in x]


def _channels_last(function, inputs, data_format, rank=None):
    """Apply `function`, which takes images with channels last, to images of another format."""
    if backend.standardize_data_format(data_format) == "channels_last":
        return function(inputs)
    rank = rank or inputs.shape.rank
    moved = function(tf.transpose(inputs, [0, *range(2, rank), 1]))
    return tf.transpose(moved, [0, rank - 1, *range(1, rank - 1)])


def _pool(operator, inputs, pool_size, strides, padding, data_format):
    inputs = dense_tensor(inputs)
    spatial = inputs.shape.rank - 2
    size = _sizes(pool_size, spatial)
    strides = size if strides is None else _sizes(strides, spatial)

    def pooled(x):
        return operator(x, ksize=size, strides=strides, padding=padding.upper())

    return _channels_last(pooled, inputs, data_format)


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(raw_ops.max_pool, inputs, pool_size, strides, padding, data_format)


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pool(raw_ops.avg_pool, inputs, pool_size, strides, padding, data_format)


def _adaptive_pool(inputs, output_size, data_format, reduce):
    """Reduce windows that cover each spatial axis evenly; `reduce` takes windows, an axis, and a mask."""
    inputs = dense_tensor(inputs)
    spatial = inputs.shape.rank - 2
    if spatial not in (1, 2, 3):
        raise ValueError(
            f"Adaptive pooling supports 1D, 2D, or 3D inputs only. Received shape {inputs.shape}"
        )

    def pooled(x):
        for axis, count in enumerate(_sizes(output_size, spatial), start=1):
            extent = x.shape[axis]
            if extent is None:
                raise ValueError("Input spatial dimensions must be statically known for adaptive pooling")
            starts = [i * extent // count for i in range(count)]
            ends = [-((i + 1) * extent // -count) for i in range(count)]
            width = max(end - start for start, end in zip(starts, ends, strict=True))
            index = np.array(
                [[min(s + j, e - 1) for j in range(width)] for s, e in zip(starts, ends, strict=True)]
            )
            inside = np.array([[s + j < e for j in range(width)] for s, e in zip(starts, ends, strict=True)])
            inside = inside.reshape([count, width, *[1] * (x.shape.rank - axis - 1)])
            x = reduce(tf.gather(x, index, axis=axis), axis + 1, inside)
        return x

    return _channels_last(pooled, inputs, data_format)


def adaptive_average_pool(inputs, output_size, data_format=None):
    def mean(windows, axis, inside):
        weights = inside / inside.sum(axis=1, keepdims=True)
        return tf.reduce_sum(windows * cast(weights, windows.dtype), axis)

    return _adaptive_pool(inputs, output_size, data_format, mean)


def adaptive_max_pool(inputs, output_size, data_format=None):
    # A window that is narrower than the others repeats its last element.
    return _adaptive_pool(
        inputs, output_size, data_format, lambda windows, axis, _: tf.reduce_max(windows, axis)
    )


def _floats(*tensors):
    """Give tensors the dtype that they promote to, one that can be convolved."""
    dtype = backend.result_type(*(x.dtype for x in tensors))
    return [cast(x, dtype if is_float_dtype(dtype) else "float32") for x in tensors]


def _conv(inputs, kernel, strides, padding, data_format, dilation_rate):
    inputs, kernel = _floats(inputs, kernel)
    spatial = inputs.shape.rank - 2

    def convolved(x):
        return raw_ops.conv(
            x,
            kernel,
            strides=_sizes(strides, spatial),
            padding=padding.upper(),
            dilations=_sizes(dilation_rate, spatial),
        )

    return _channels_last(convolved, inputs, data_format)


def _check_not_empty(inputs, result):
    if 0 in result.shape.as_list() and 0 not in inputs.shape.as_list():
        raise ValueError(
            "The convolution operation resulted in an empty output. "
            "The input may be too small for the kernel size, strides, dilation rate and padding. "
            f"Received: inputs.shape={inputs.shape}, output.shape={result.shape}"
        )
    return result


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    inputs, kernel = dense_tensor(inputs), dense_tensor(kernel)
    data_format = backend.standardize_data_format(data_format)
    channels = inputs.shape[-1] if data_format == "channels_last" else inputs.shape[1]
    if channels is not None and (channels < kernel.shape[-2] or channels % kernel.shape[-2]):
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {channels} and kernel in_channels {kernel.shape[-2]}. "
        )
    try:
        return _check_not_empty(inputs, _conv(inputs, kernel, strides, padding, data_format, dilation_rate))
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(str(error)) from None


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    inputs, kernel = dense_tensor(inputs), dense_tensor(kernel)
    check_conv_input_channels(inputs, kernel, backend.standardize_data_format(data_format))
    *window, channels, multiplier = shape(kernel)
    kernel = tf.reshape(kernel, [*window, 1, channels * multiplier])
    return _conv(inputs, kernel, strides, padding, data_format, dilation_rate)


def separable_conv(
    inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None, dilation_rate=1
):
    between = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(between, pointwise_kernel, data_format=data_format)


def conv_transpose(
    inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1
):
    """Give the transpose of a convolution, whose paddings are those that Keras computes for all backends."""
    inputs, kernel = _floats(dense_tensor(inputs), dense_tensor(kernel))
    data_format = backend.standardize_data_format(data_format)
    check_conv_transpose_input_channels(inputs, kernel, data_format)
    spatial = inputs.shape.rank - 2
    strides, dilations = _sizes(strides, spatial), _sizes(dilation_rate, spatial)
    around = compute_conv_transpose_padding_args_for_jax(
        input_shape=inputs.shape.as_list(),
        kernel_shape=kernel.shape.as_list(),
        strides=strides,
        padding=padding,
        output_padding=output_padding,
        dilation_rate=dilations,
    )
    reach = [(k - 1) * d for k, d in zip(kernel.shape[:-2], dilations, strict=True)]
    # What of the forward convolution's padding is negative is zeros around the result.
    paddings = [(r - low, r - high) for r, (low, high) in zip(reach, around, strict=True)]
    explicit = [max(p, 0) for pair in paddings for p in pair]
    zeros = [[max(-p, 0) for p in pair] for pair in paddings]

    def transposed(x):
        extents = shape(x)
        sizes = [
            (extents[i + 1] - 1) * strides[i] + 1 + reach[i] - explicit[2 * i] - explicit[2 * i + 1]
            for i in range(spatial)
        ]
        result = raw_ops.conv_input_grad(
            [extents[0], *sizes, kernel.shape[-2]],
            kernel,
            x,
            strides=strides,
            padding="EXPLICIT",
            explicit_paddings=explicit,
            dilations=dilations,
        )
        return tf.pad(result, [[0, 0], *zeros, [0, 0]]) if any(map(any, zeros)) else result

    return _channels_last(transposed, inputs, data_format)


def _windows(extent, size, dilation, stride):
    """The positions along an axis of each element of each window."""
    count = (extent - dilation * (size - 1) - 1) // stride + 1
    return np.arange(count)[:, None] * stride + np.arange(size) * dilation


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Give the windows of images with channels first: `[batch, channels * window, windows]`."""
    x = dense_tensor(input)
    size, dilation, padding, stride = (_sizes(n, 2) for n in (kernel_size, dilation, padding, stride))
    x = tf.pad(x, [[0, 0], [0, 0], [padding[0]] * 2, [padding[1]] * 2])
    rows, columns = (_windows(x.shape[2 + i], size[i], dilation[i], stride[i]) for i in range(2))
    # batch, channels, rows, row of window, columns, column of window
    x = tf.gather(tf.gather(x, rows, axis=2), columns, axis=4)
    x = tf.transpose(x, [0, 1, 3, 5, 2, 4])
    return tf.reshape(x, [shape(x)[0], x.shape[1] * size[0] * size[1], len(rows) * len(columns)])


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Add up the windows that `unfold` gives, each where it was."""
    x = dense_tensor(x)
    sizes = (output_size, kernel_size, dilation, padding, stride)
    extent, size, dilation, padding, stride = (_sizes(n, 2) for n in sizes)
    whole = [extent[i] + 2 * padding[i] for i in range(2)]
    rows, columns = (_windows(whole[i], size[i], dilation[i], stride[i]) for i in range(2))
    channels = x.shape[1] // (size[0] * size[1])
    x = tf.reshape(x, [shape(x)[0], channels, *size, len(rows), len(columns)])
    # row, row of window, column, column of window, batch, channels
    x = tf.transpose(x, [4, 2, 5, 3, 0, 1])
    extents = shape(x)
    x = tf.reshape(x, [rows.size, *extents[2:]])
    x = tf.math.unsorted_segment_sum(x, rows.ravel(), whole[0])
    x = tf.reshape(tf.transpose(x, [1, 2, 0, 3, 4]), [columns.size, whole[0], *extents[4:]])
    x = tf.math.unsorted_segment_sum(x, columns.ravel(), whole[1])
    x = tf.transpose(x, [2, 3, 1, 0])
    return x[:, :, padding[0] : padding[0] + extent[0], padding[1] : padding[1] + extent[1]]


def depth_to_space(x, block_size, data_format="channels_last"):
    return _channels_last(lambda y: tf.nn.depth_to_space(y, block_size), dense_tensor(x), data_format)


def space_to_depth(x, block_size, data_format="channels_last"):
    return _channels_last(lambda y: tf.nn.space_to_depth(y, block_size), dense_tensor(x), data_format)


# --- classes and losses ---


def _classes(x):
    """Give numbers of classes as a tensor; rows that are shorter than others end in -1, which is no class."""
    return x.to_tensor(-1) if isinstance(x, tf.RaggedTensor) else dense_tensor(x)


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    x = _classes(x)
    if not is_int_dtype(standardize_dtype(x.dtype)):
        x = tf.cast(x, "int64")
    dtype = dtype or backend.floatx()
    if sparse:
        return _sparse_one_hot(x, num_classes, axis, dtype)
    return tf.one_hot(x, num_classes, axis=axis, dtype=dtype)


def _sparse_one_hot(x, num_classes, axis, dtype):
    """A sparse tensor with a 1 for each element that is a class."""
    rank = x.shape.rank
    axis %= rank + 1
    places = tf.where(tf.logical_and(x >= 0, x < tf.cast(num_classes, x.dtype)))
    found = tf.expand_dims(tf.cast(tf.gather_nd(x, places), "int64"), 1)
    sizes = tf.shape(x, out_type="int64")
    made = tf.SparseTensor(
        tf.concat([places[:, :axis], found, places[:, axis:]], 1),
        tf.ones(tf.shape(found)[:1], dtype),
        tf.concat([sizes[:axis], [num_classes], sizes[axis:]], 0),
    )
    made.set_shape([*x.shape[:axis], num_classes, *x.shape[axis:]])
    # Along another axis than the last they are not in order.
    return made if axis == rank else tf.sparse.reorder(made)


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    x = _classes(x)
    over = 1 if x.shape.rank > 1 else 0
    if sparse:
        hot = one_hot(x, num_classes, axis=axis, dtype="int8", sparse=True)
        hot = tf.sparse.reduce_max(hot, axis=over, output_is_sparse=True)
        return tf.cast(hot, dtype or backend.floatx())
    hot = one_hot(x, num_classes, axis=axis, dtype=dtype)
    reduce = tf.reduce_any if hot.dtype == tf.bool else tf.reduce_max
    return reduce(hot, axis=over)


def _same_shape(target, output):
    if target.shape.rank != output.shape.rank:
        raise ValueError(
            "Arguments `target` and `output` must have the same rank (ndim). "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    if not target.shape.is_compatible_with(output.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )


def _clipped(output):
    epsilon = backend.epsilon()
    return tf.clip_by_value(output, cast(epsilon, output.dtype), cast(1 - epsilon, output.dtype))


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = dense_tensor(target), dense_tensor(output)
    target = cast(target, output.dtype)
    if target.shape.rank < 1 or output.shape.rank < 1:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    _same_shape(target, output)
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(labels=target, logits=output, axis=axis)
    output = output / tf.reduce_sum(output, axis, keepdims=True)
    return -tf.reduce_sum(target * tf.math.log(_clipped(output)), axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = dense_tensor(target), dense_tensor(output)
    if not is_int_dtype(standardize_dtype(target.dtype)):
        target = tf.cast(target, "int64")
    rank = output.shape.rank
    if rank < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    if target.shape.rank == rank and target.shape[-1] == 1:
        target = tf.squeeze(target, [-1])
    if axis not in (-1, rank - 1):
        output = tf.transpose(output, [*(a for a in range(rank) if a != axis % rank), axis % rank])
    if target.shape.rank != rank - 1 or not target.shape.is_compatible_with(output.shape[:-1]):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    if not from_logits:
        # Their softmax divides by the sum of the probabilities.
        output = tf.math.log(_clipped(output))
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)


def binary_crossentropy(target, output, from_logits=False):
    target, output = dense_tensor(target), dense_tensor(output)
    target = cast(target, output.dtype)
    _same_shape(target, output)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    output = _clipped(output)
    return -(target * tf.math.log(output) + (1 - target) * tf.math.log(1 - output))


# --- normalization ---


def moments(x, axes, keepdims=False, synchronized=False):
    """Give mean and variance; floats of 16 bits are summed in 32, and the results kept within their range."""
    x = dense_tensor(x)
    dtype = x.dtype
    compute = _moments_of_replicas if synchronized else tf.nn.moments
    if standardize_dtype(dtype) not in ("float16", "bfloat16"):
        return tuple(compute(x, axes, keepdims=keepdims))
    largest = float(np.finfo(np.float16).max)
    return tuple(
        cast(tf.clip_by_value(moment, -largest, largest), dtype)
        for moment in compute(cast(x, "float32"), axes, keepdims=keepdims)
    )


def _moments_of_replicas(x, axes, keepdims):
    """Mean and variance of what all replicas have; between replicas, of `x` alone."""
    context = tf.distribute.get_replica_context()
    if context is None:
        return tf.nn.moments(x, axes, keepdims=keepdims)

    def total(value):
        return tf.reduce_sum(value, axes, keepdims=True)

    own = total(x)
    count = tf.cast(tf.size(x), x.dtype) / tf.cast(tf.maximum(tf.size(own), 1), x.dtype)
    whole, count = context.all_reduce("SUM", [own, count])
    mean = whole / count
    variance = context.all_reduce("SUM", total(tf.square(x - mean))) / count
    return (mean, variance) if keepdims else (tf.squeeze(mean, axes), tf.squeeze(variance, axes))


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = dense_tensor(x)
    if axis in (-1, x.shape.rank - 1):
        placed = dense_tensor
    else:
        places = [1] * x.shape.rank
        places[axis] = -1

        def placed(y):
            return tf.reshape(y, places)

    mean, variance = placed(mean), placed(variance)
    inverse = tf.math.rsqrt(variance + cast(epsilon, variance.dtype))
    if scale is not None:
        inverse = inverse * placed(scale)
    shift = -mean * inverse
    if offset is not None:
        shift = shift + placed(offset)
    return x * cast(inverse, x.dtype) + cast(shift, x.dtype)


# --- connectionist temporal classification ---

# The logarithm of no probability: finite, so that gradients are.
_NEVER = -1e30


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    output = dense_tensor(output)
    return tf.nn.ctc_loss(
        dense_tensor(target, "int32"),
        cast(output, backend.result_type(output.dtype, "float32")),
        dense_tensor(target_length, "int32"),
        dense_tensor(output_length, "int32"),
        logits_time_major=False,
        blank_index=mask_index,
    )


def _ctc_greedy_decode(inputs, sequence_lengths, merge_repeated, mask_index):
    batch, steps, _ = shape(inputs)
    inside = tf.range(steps) < dense_tensor(sequence_lengths, "int32")[:, None]
    best = tf.where(inside, tf.argmax(inputs, -1, output_type="int32"), mask_index)
    kept = best != mask_index
    if merge_repeated:
        kept &= tf.concat([tf.ones([batch, 1], "bool"), best[:, 1:] != best[:, :-1]], 1)
    order = tf.argsort(cast(~kept, "int32"), axis=-1, stable=True)
    labels = tf.gather(tf.where(kept, best, -1), order, axis=1, batch_dims=1)
    scores = tf.where(inside, tf.reduce_max(inputs, -1), cast(0, inputs.dtype))
    return labels[None], -tf.reduce_sum(scores, 1, keepdims=True)


def _beams(log_probs, lengths, width, paths, blank):
    """Search prefixes of labels by beams, sequence by sequence; on arrays."""
    batch, steps, classes = log_probs.shape
    found = np.full([paths, batch, steps], -1, np.int32)
    scores = np.full([batch, paths], -np.inf, log_probs.dtype)
    for row, length in enumerate(lengths):
        # For each prefix the log probabilities that it ends in a blank, and in its last label.
        beams = {(): (0.0, -math.inf)}
        for emission in log_probs[row, :length].astype(float):
            grown = {}

            def add(prefix, blanks=-math.inf, label=-math.inf, grown=grown):
                before = grown.get(prefix, (-math.inf, -math.inf))
                grown[prefix] = (np.logaddexp(before[0], blanks), np.logaddexp(before[1], label))

            for prefix, (in_blank, in_label) in beams.items():
                total = np.logaddexp(in_blank, in_label)
                add(prefix, blanks=total + emission[blank])
                for label in range(classes):
                    if label == blank:
                        continue
                    if prefix and prefix[-1] == label:
                        add(prefix, label=in_label + emission[label])
                        add((*prefix, label), label=in_blank + emission[label])
                    else:
                        add((*prefix, label), label=total + emission[label])
            ranked = sorted(grown.items(), key=lambda item: (-np.logaddexp(*item[1]), item[0]))
            beams = dict(ranked[:width])
        for path, (prefix, ends) in enumerate(list(beams.items())[:paths]):
            found[path, row, : len(prefix)] = prefix
            scores[row, path] = np.logaddexp(*ends)
    return found, scores


def ctc_decode(
    inputs,
    sequence_lengths,
    strategy="greedy",
    beam_width=100,
    top_paths=1,
    merge_repeated=True,
    mask_index=0,
):
    inputs = dense_tensor(inputs)
    inputs = cast(inputs, backend.result_type(inputs.dtype, "float32"))
    if mask_index is None:
        mask_index = inputs.shape[-1] - 1
    if strategy == "greedy":
        return _ctc_greedy_decode(inputs, sequence_lengths, merge_repeated, mask_index)
    if strategy != "beam_search":
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    labels, scores = tf.numpy_function(
        lambda x, n: _beams(x, n, beam_width, top_paths, mask_index),
        [tf.nn.log_softmax(inputs), dense_tensor(sequence_lengths, "int32")],
        (tf.int32, inputs.dtype),
    )
    labels.set_shape([top_paths, *inputs.shape[:2]])
    scores.set_shape([inputs.shape[0], top_paths])
    return labels, scores


def psnr(x1, x2, max_val):
    x1, x2 = dense_tensor(x1), dense_tensor(x2)
    if not x1.shape.is_compatible_with(x2.shape):
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. ")
    peak, error = dense_tensor(max_val, x2.dtype), tf.reduce_mean(tf.math.squared_difference(x1, x2))
    return (20 * tf.math.log(peak) - 10 * tf.math.log(error)) / cast(math.log(10), x2.dtype)


# --- attention ---

# The greatest number of scores that are held at the same time.
_SCORES = 1 << 24


def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    scale=None,
    is_causal=False,
    flash_attention=None,
    attn_logits_soft_cap=None,
):
    """Give `softmax(query keys^T) values` for `[batch, time, heads, depth]`.

    Where both times are long, blocks of queries are computed one after the other, and again for the gradient,
    so that no tensor has the product of both times.
    """
    query, key, value = dense_tensor(query), dense_tensor(key), dense_tensor(value)
    if not query.shape.rank == key.shape.rank == value.shape.rank == 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. "
            f"Received: query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}."
        )
    dtype = backend.result_type(query.dtype, key.dtype, value.dtype)
    wide = backend.result_type(dtype, "float32")
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1])
    query, key, value = cast(query, wide) * scale, cast(key, wide), cast(value, dtype)
    bias = None if bias is None else dense_tensor(bias, dtype=wide)
    mask = None if mask is None else dense_tensor(mask, dtype="bool")
    groups = query.shape[2] // key.shape[2]
    if groups > 1:
        # Several heads of queries share one of keys and values.
        key, value = tf.repeat(key, groups, axis=2), tf.repeat(value, groups, axis=2)

    def attended(query, key, value, bias, mask, first):
        logits = tf.einsum("btnh,bsnh->bnts", query, key)
        if attn_logits_soft_cap is not None:
            logits = attn_logits_soft_cap * tf.tanh(logits / attn_logits_soft_cap)
        if bias is not None:
            logits = logits + bias
        visible = mask
        if is_causal:
            times, sources = shape(logits)[2:]
            causal = (first + tf.range(times))[:, None] >= tf.range(sources)
            visible = causal if visible is None else visible & causal
        if visible is not None:
            lowest = -0.7 * float(np.finfo(logits.dtype.as_numpy_dtype).max)
            logits = tf.where(visible, logits, cast(lowest, logits.dtype))
        return tf.einsum("bnts,bsnh->btnh", cast(tf.nn.softmax(logits), dtype), value)

    batch, times, heads, _ = shape(query)
    # The product of sizes that only a run knows may be beyond 32 bits.
    scores = [tf.cast(n, "int64") if tf.is_tensor(n) else n for n in (batch, heads, shape(key)[1])]
    row = math.prod(scores)

    def at_once():
        return attended(query, key, value, bias, mask, 0)

    def by_blocks():
        return _in_blocks(attended, query, key, value, bias, mask, row)

    if not tf.is_tensor(row) and not tf.is_tensor(times):
        return at_once() if times * row <= _SCORES else by_blocks()
    result = tf.cond(tf.cast(times, "int64") * row <= _SCORES, at_once, by_blocks)
    result.set_shape([*query.shape[:3], value.shape[3]])
    return result


def _in_blocks(attended, query, key, value, bias, mask, row):
    """Loop over blocks of queries whose scores, `row` for each query, are as many as are held."""
    times = shape(query)[1]
    if tf.is_tensor(row):
        block = tf.cast(tf.clip_by_value(_SCORES // row, 1, tf.cast(times, "int64")), "int32")
    else:
        block = max(_SCORES // row, 1)
    count = -(-times // block)

    def blocks(x, axis):
        """The blocks of an axis as a list, the last one filled up with zeros; None where all are alike."""
        axis -= 0 if x is None else 4 - x.shape.rank
        if x is None or axis < 0 or x.shape[axis] == 1:
            return None
        sizes = shape(x)
        x = tf.pad(x, [[0, count * block - times if a == axis else 0] for a in range(len(sizes))])
        x = tf.reshape(x, [*sizes[:axis], count, block, *sizes[axis + 1 :]])
        x = tf.transpose(x, [axis, *(a for a in range(len(sizes) + 1) if a != axis)])
        return tf.TensorArray(x.dtype, size=count, element_shape=x.shape[1:]).unstack(x)

    queries, biases, masks = blocks(query, 1), blocks(bias, 2), blocks(mask, 2)
    again = tf.recompute_grad(attended)

    def body(i, results):
        result = again(
            queries.read(i),
            key,
            value,
            bias if biases is None else biases.read(i),
            mask if masks is None else masks.read(i),
            i * block,
        )
        return i + 1, results.write(i, result)

    batch, heads, depth = query.shape[0], query.shape[2], value.shape[3]
    element = [batch, None if tf.is_tensor(block) else block, heads, depth]
    results = tf.TensorArray(value.dtype, size=count, element_shape=element)
    _, results = tf.while_loop(lambda i, _: i < count, body, (0, results))
    sizes = shape(value)
    result = tf.transpose(results.stack(), [1, 0, 2, 3, 4])
    result = tf.reshape(result, [sizes[0], count * block, heads, depth])[:, :times]
    result.set_shape([batch, query.shape[1], heads, depth])
    return result
