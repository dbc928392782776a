"""The functions of `keras.ops.math`: segments, Fourier transforms, error functions."""

import math

from keras.src.backend import config

import penstock as tf
from keras_penstock.src.core import dense_tensor, shape
from keras_penstock.src.promotion import all_common, as_dtype, common, floating, tensor
from keras_penstock.src.sparse import unary

_PLUGGABLE = hasattr(config, "PLUGGABLE_BACKENDS")


def _segments(op, data, segment_ids, num_segments, of_nothing=None):
    """`op` on segments; `of_nothing` is the result of an empty one where it is not what `op` gives."""
    data, segment_ids = tensor(data), tensor(segment_ids)
    if segment_ids.dtype.size < 4 or segment_ids.dtype.is_unsigned:
        segment_ids = tf.cast(segment_ids, "int64" if segment_ids.dtype.size > 2 else "int32")
    if num_segments is None:
        num_segments = tf.reduce_max(segment_ids) + 1
    result = op(data, segment_ids, num_segments)
    if of_nothing is None or not data.dtype.is_floating:
        return result
    counts = tf.math.unsorted_segment_sum(tf.ones_like(segment_ids), segment_ids, num_segments)
    empty = tf.reshape(tf.equal(counts, tf.zeros_like(counts)), [-1] + [1] * (data.shape.rank - 1))
    return tf.where(empty, dense_tensor(of_nothing, data.dtype), result)


def segment_sum(data, segment_ids, num_segments=None, sorted=False):
    return _segments(tf.math.unsorted_segment_sum, data, segment_ids, num_segments)


def segment_max(data, segment_ids, num_segments=None, sorted=False):
    return _segments(tf.math.unsorted_segment_max, data, segment_ids, num_segments, -math.inf)


def segment_min(data, segment_ids, num_segments=None, sorted=False):
    return _segments(tf.math.unsorted_segment_min, data, segment_ids, num_segments, math.inf)


def segment_prod(data, segment_ids, num_segments=None, sorted=False):
    return _segments(tf.math.unsorted_segment_prod, data, segment_ids, num_segments)


def _top_k(x, k, sorted):
    return tf.math.top_k(tensor(x), k, sorted=sorted)


if _PLUGGABLE:

    def top_k(x, k, sorted=True, is_stable=True):
        return _top_k(x, k, sorted)

else:

    def top_k(x, k, sorted=True):
        return _top_k(x, k, sorted)


def in_top_k(targets, predictions, k):
    return tf.math.in_top_k(tensor(targets), tensor(predictions), k)


def logsumexp(x, axis=None, keepdims=False):
    return tf.reduce_logsumexp(floating(x), axis=axis, keepdims=keepdims)


def cdist(x, y):
    """The Euclidean distance of each row of `x` to each row of `y`."""
    x, y = common(x, y, float)
    difference = tf.expand_dims(x, -2) - tf.expand_dims(y, -3)
    square = tf.reduce_sum(tf.square(difference), axis=-1)
    # The root of 0 has no gradient: its place takes none.
    zero = tf.equal(square, tf.zeros_like(square))
    root = tf.sqrt(tf.where(zero, tf.ones_like(square), square))
    return tf.where(zero, tf.zeros_like(square), root)


def extract_sequences(x, sequence_length, sequence_stride):
    x = tensor(x)
    count = 1 + (shape(x)[-1] - sequence_length) // sequence_stride
    starts = tf.range(count) * sequence_stride
    return tf.gather(x, tf.expand_dims(starts, 1) + tf.range(sequence_length), axis=-1)


def _get_complex_tensor_from_tuple(x):
    """A pair of real and imaginary parts as a complex tensor."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
    real, imag = all_common(x)
    if real.shape.rank is not None and not real.shape.is_compatible_with(imag.shape):
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary "
            "parts should have the same shape. "
            f"Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
        )
    real, imag = _of_transforms(real), _of_transforms(imag)
    return tf.complex(real, imag)


def _of_transforms(x):
    """`x` as floats that can be transformed."""
    x = floating(x)
    return tf.cast(x, "float32") if x.dtype.size < 4 else x


def _parts(x):
    return tf.math.real(x), tf.math.imag(x)


def fft(x):
    return _parts(tf.signal.fft(_get_complex_tensor_from_tuple(x)))


def fft2(x):
    return _parts(tf.signal.fft2d(_get_complex_tensor_from_tuple(x)))


def ifft2(x):
    return _parts(tf.signal.ifft2d(_get_complex_tensor_from_tuple(x)))


def rfft(x, fft_length=None):
    return _parts(tf.signal.rfft(_of_transforms(x), None if fft_length is None else [fft_length]))


def irfft(x, fft_length=None):
    return tf.signal.irfft(_get_complex_tensor_from_tuple(x), None if fft_length is None else [fft_length])


def _window(window, sequence_length, fft_length, dtype):
    """The window of a transform with zeros on both sides up to its length."""
    if isinstance(window, str):
        if window not in _PERIODIC:
            raise ValueError(
                f"If a string is passed to `window`, it must be one of {list(_PERIODIC)}. "
                f"Received: window={window}"
            )
        angles = tf.cast(tf.range(sequence_length), dtype) * (2 * math.pi / sequence_length)
        constant, cosine = _PERIODIC[window]
        window = constant - cosine * tf.cos(angles)
    elif window is None:
        window = tf.ones([sequence_length], dtype)
    else:
        window = dense_tensor(window, dtype)
        if window.shape.rank != 1 or window.shape[0] != sequence_length:
            raise ValueError(
                f"The shape of `window` must be equal to [sequence_length={sequence_length}]. "
                f"Received: window shape={window.shape}"
            )
    before = (fft_length - sequence_length) // 2
    return tf.pad(window, [[before, fft_length - sequence_length - before]])


_PERIODIC = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46)}


def _check_transform(sequence_length, sequence_stride, fft_length):
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    if sequence_stride <= 0:
        raise ValueError(
            f"`sequence_stride` must be a positive integer. Received: sequence_stride={sequence_stride}"
        )


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    given = tensor(x)
    if not given.dtype.is_floating:
        raise TypeError(
            f"Invalid input type. Expected `float32` or `float64`. Received: input type={given.dtype.name}"
        )
    _check_transform(sequence_length, sequence_stride, fft_length)
    x = _of_transforms(given)
    if center:
        around = [fft_length // 2] * 2
        x = tf.pad(x, [[0, 0]] * (x.shape.rank - 1) + [around], mode="reflect")
    frames = extract_sequences(x, fft_length, sequence_stride)
    if window is not None:
        frames = frames * _window(window, sequence_length, fft_length, x.dtype)
    return tuple(tf.cast(part, given.dtype) for part in rfft(frames, fft_length))


def _overlapped(frames, stride):
    """The sum of frames, each `stride` behind the one before.

    Every frame is cut into steps of one stride. Step `j` of all frames makes a signal.
    The signals are added up, each `j` strides later.
    """
    *lead, count, length = shape(frames)
    steps = -(-length // stride)
    around = [[0, 0]] * len(lead)
    frames = tf.pad(frames, [*around, [0, 0], [0, steps * stride - length]])
    signals = [
        tf.pad(
            tf.reshape(frames[..., j * stride : (j + 1) * stride], [*lead, count * stride]),
            [*around, [j * stride, (steps - 1 - j) * stride]],
        )
        for j in range(steps)
    ]
    return tf.add_n(signals)[..., : (count - 1) * stride + length]


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    x = _get_complex_tensor_from_tuple(x)
    _check_transform(sequence_length, sequence_stride, fft_length)
    dtype = "float64" if x.dtype == "complex128" else "float32"
    frames = tf.signal.irfft(x, [fft_length])
    if window is not None:
        window = _window(window, sequence_length, fft_length, dtype)
        # Each place is in several frames: by the sum of their squared windows it is divided.
        steps = -(-fft_length // sequence_stride)
        squares = tf.pad(tf.square(window), [[0, steps * sequence_stride - fft_length]])
        weight = tf.reduce_sum(tf.reshape(squares, [steps, sequence_stride]), axis=0)
        frames = frames * (window / tf.tile(weight, [steps])[:fft_length])
    signal = _overlapped(frames, sequence_stride)
    start = fft_length // 2 if center else 0
    if length is not None:
        return signal[..., start : start + length]
    return signal[..., start : shape(signal)[-1] - start]


rsqrt = unary("rsqrt", floating, tf.math.rsqrt)
erf = unary("erf", floating, tf.math.erf)
erfc = unary("erfc", floating, tf.math.erfc)
erfinv = unary("erfinv", floating, tf.math.erfinv)
lgamma = unary("lgamma", floating, tf.math.lgamma)


def logdet(x):
    return tf.linalg.logdet(tensor(x))


def gammainc(x1, x2):
    """The regularized lower incomplete gamma function of `x1`, at `x2`."""
    return tf.math.igamma(*common(x1, x2, float))
