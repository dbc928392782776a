"""Operators that libraries use by the names of TensorFlow's nodes: `tensorflow.raw_ops`."""

from __future__ import annotations

from typing import Any, NamedTuple

import penstock as tf

__all__ = [
    "BroadcastGradientArgs",
    "FusedBatchNormV2",
    "FusedBatchNormV3",
    "IgammaGradA",
    "MatrixDiagPartV2",
    "RandomGammaGrad",
    "ResourceApplyGradientDescent",
    "UniqueWithCountsV2",
]


class _Reduced(NamedTuple):
    r0: tf.Tensor
    r1: tf.Tensor


class _Normalized(NamedTuple):
    y: tf.Tensor
    batch_mean: tf.Tensor
    batch_variance: tf.Tensor
    reserve_space_1: tf.Tensor
    reserve_space_2: tf.Tensor


class _Unique(NamedTuple):
    y: tf.Tensor
    idx: tf.Tensor
    count: tf.Tensor  # type: ignore[assignment]  # the name that TensorFlow gives it


def BroadcastGradientArgs(*, s0: Any, s1: Any, name: str | None = None) -> _Reduced:
    """Give the axes over which the gradients of two operands that broadcast are summed."""
    with tf.name_scope(name or "BroadcastGradientArgs"):
        s0, s1 = tf.convert_to_tensor(s0), tf.convert_to_tensor(s1)
        rank = tf.maximum(tf.size(s0), tf.size(s1))

        def axes(shape: tf.Tensor) -> tf.Tensor:
            missing = rank - tf.size(shape)
            padded = tf.concat([tf.ones([missing], shape.dtype), shape], 0)
            return tf.cast(tf.reshape(tf.where(padded == 1), [-1]), shape.dtype)

        return _Reduced(axes(s0), axes(s1))


def FusedBatchNormV2(
    *,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float = 1e-4,
    exponential_avg_factor: float = 1.0,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> _Normalized:
    """Normalize images by the moments of their channels, which are of the batch where it trains."""
    with tf.name_scope(name or "FusedBatchNorm"):
        x = tf.convert_to_tensor(x)
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
        y = tf.nn.batch_normalization(wide, of_mean, of_variance, of_offset, of_scale, epsilon)
        if not is_training:
            return _Normalized(tf.cast(y, x.dtype), mean, variance, mean, variance)
        # What is kept of the variance is that of a sample.
        count = tf.cast(tf.size(x) // tf.shape(x)[channels], wide.dtype)
        sample = taken_variance * (count / tf.maximum(count - 1.0, 1.0))
        kept_mean, kept_variance = taken_mean, sample
        if exponential_avg_factor != 1.0:
            kept_mean = (1.0 - exponential_avg_factor) * mean + exponential_avg_factor * taken_mean
            kept_variance = (1.0 - exponential_avg_factor) * variance + exponential_avg_factor * sample
        return _Normalized(tf.cast(y, x.dtype), kept_mean, kept_variance, taken_mean, taken_variance)


FusedBatchNormV3 = FusedBatchNormV2


def IgammaGradA(*, a: Any, x: Any, name: str | None = None) -> tf.Tensor:
    """Give the derivative of the lower incomplete gamma function by its first argument."""
    with tf.name_scope(name or "IgammaGradA"), tf.GradientTape() as tape:
        a = tf.convert_to_tensor(a)
        tape.watch(a)
        a = tf.broadcast_to(a, tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(x)))
        value = tf.math.igamma(a, x)
    slope: tf.Tensor = tape.gradient(value, a)
    return slope


def MatrixDiagPartV2(*, input: Any, k: Any, padding_value: Any, name: str | None = None) -> tf.Tensor:
    """Give diagonals of matrices."""
    return tf.linalg.diag_part(input, name=name or "diag_part", k=k, padding_value=padding_value)


def RandomGammaGrad(*, alpha: Any, sample: Any, name: str | None = None) -> tf.Tensor:
    """Give the derivative of numbers drawn of a gamma distribution by its shape parameter."""
    alpha, sample = tf.convert_to_tensor(alpha), tf.convert_to_tensor(sample)
    return tf.raw_ops.random_gamma_grad(alpha, sample, name=name)


def ResourceApplyGradientDescent(
    *, var: Any, alpha: Any, delta: Any, use_locking: bool = False, name: str | None = None
) -> None:
    """Take a step of gradient descent."""
    var.assign_sub(tf.cast(alpha, var.dtype) * delta, use_locking=use_locking, name=name)


def UniqueWithCountsV2(*, x: Any, axis: Any, out_idx: Any = tf.int32, name: str | None = None) -> _Unique:
    """Give the different rows along an axis, which of them each row is, and how often each comes."""
    x = tf.convert_to_tensor(x)
    known = axis if isinstance(axis, list | tuple) else tf.get_static_value(axis)
    if x.shape.rank == 1 or known is None or len(known) == 0:
        return _Unique(*tf.unique_with_counts(x, out_idx, name))
    along = int(known[0]) % x.shape.rank
    front = [along, *(i for i in range(x.shape.rank) if i != along)]
    rows = tf.transpose(x, front)
    flat = tf.reshape(rows, [tf.shape(rows)[0], -1])
    same = tf.reduce_all(flat[:, None, :] == flat[None, :, :], -1)
    first = tf.argmax(same, 1, output_type=tf.int32)
    places, idx, count = tf.unique_with_counts(first, out_idx, name)
    back = [front.index(i) for i in range(x.shape.rank)]
    return _Unique(tf.transpose(tf.gather(rows, places), back), idx, count)
