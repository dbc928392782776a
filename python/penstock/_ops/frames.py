"""Frames of signals: cut out, added up again, under windows; short-time transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, pad, reverse, tile, transpose
from penstock._ops.creation import range as range_of
from penstock._ops.fourier import complex_transform, inverse_real_transform, real_transform, resized
from penstock._ops.indexing import gather
from penstock._ops.reductions import reduce_sum
from penstock._ops.shapes import reshape
from penstock._ops.windows import hann_window, vorbis_window
from penstock._runtime.arguments import axis_of, known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = [
    "dct",
    "frame",
    "idct",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "mdct",
    "overlap_and_add",
    "stft",
]

WindowFn: TypeAlias = Callable[..., _core.Tensor]
"""What makes a window: called with its length and, by keyword, its `dtype`."""


def _count(value: Any, argument: str) -> Any:
    """A scalar integer: an int where it is known, else a scalar tensor.

    Raises:
        TypeError: for what is no integer.
        ValueError: for more or less than a scalar, or where it is known to be less than 1.
    """
    scalar = _core._to_tensor(value)
    if not scalar.dtype.is_integer:
        raise TypeError(f"argument '{argument}' must be an integer, got {value!r}")
    if scalar.shape.rank not in (0, None):
        raise InvalidArgumentError(f"argument '{argument}' must be a scalar, got shape {scalar.shape}")
    known = _core._known_value(scalar)
    if known is None:
        return raw_ops.cast(scalar, dtype=_core.int32)
    number = int(known.numpy())
    if number < 1:
        raise InvalidArgumentError(f"argument '{argument}' must be at least 1, got {number}")
    return number


def _at_least_zero(size: Any) -> Any:
    return max(size, 0) if isinstance(size, int) else raw_ops.maximum(size, _core._to_tensor(0, size.dtype))


@scoped
def frame(
    signal: TensorLike,
    frame_length: IntLike,
    frame_step: IntLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: IntLike = -1,
    name: str | None = None,
) -> _core.Tensor:
    """Cut a signal into frames, which may overlap.

    Args:
        signal: of shape `[..., samples, ...]` and known rank.
        frame_length: how many samples a frame has, at least 1.
        frame_step: how many samples lie between the starts of frames, at least 1.
        pad_end: whether the frames that reach beyond the end are made too.
        pad_value: what stands behind the end in these.
        axis: the dimension of the samples.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[..., frames, frame_length, ...]` and the dtype of `signal`.

    Raises:
        ValueError: for a scalar, a signal of unknown rank, or a length or step below 1.
        InvalidArgumentError: where `axis` is out of range.

    >>> import penstock as tf
    >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).numpy().tolist()
    [[1, 2, 3], [3, 4, 5]]
    >>> tf.signal.frame([1, 2, 3, 4], 3, 2, pad_end=True).numpy().tolist()
    [[1, 2, 3], [3, 4, 0]]
    """
    x = _core._to_tensor(signal)
    rank = len(known_rank(x, 1))
    along = axis_of(axis, rank)
    length, step = _count(frame_length, "frame_length"), _count(frame_step, "frame_step")
    samples = sizes(x)[along]
    if pad_end:
        frames = -(-samples // step)
        missing = _at_least_zero((frames - 1) * step + length - samples)
        edges: list[list[Any]] = [[0, 0]] * rank
        edges[along] = [0, missing]
        x = pad(x, edges, constant_values=raw_ops.cast(_core._to_tensor(pad_value), dtype=x.dtype))
        samples = samples + missing
    else:
        frames = _at_least_zero((samples - length) // step + 1)
    # Samples are moved in the largest pieces that both frames and steps are made of.
    piece = math.gcd(length, step) if isinstance(length, int) and isinstance(step, int) else 1
    pieces = samples // piece
    before, behind = sizes(x)[:along], sizes(x)[along + 1 :]
    x = x[(slice(None),) * along + (slice(None, pieces * piece),)]
    x = reshape(x, [*before, pieces, piece, *behind])
    starts = range_of(frames) * (step // piece)
    found = gather(x, starts[:, None] + range_of(length // piece), axis=along)
    return reshape(found, [*before, frames, length, *behind])


@scoped
def overlap_and_add(signal: TensorLike, frame_step: IntLike, name: str | None = None) -> _core.Tensor:
    """Add up frames, each some samples behind the one before.

    Args:
        signal: of shape `[..., frames, frame_length]`.
        frame_step: how many samples lie between the starts of frames, at least 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[..., (frames - 1) * frame_step + frame_length]` and the dtype of `signal`.

    Raises:
        ValueError: for a signal of rank below 2 or unknown rank, or a step below 1.

    >>> import penstock as tf
    >>> tf.signal.overlap_and_add([[1, 1, 1], [2, 2, 2]], 2).numpy().tolist()
    [1, 1, 3, 2, 2]
    """
    x = _core._to_tensor(signal)
    rank = len(known_rank(x, 2))
    step = _count(frame_step, "frame_step")
    *lead, frames, length = sizes(x)
    parts = -(-length // step)
    # Part j of every frame is put into row j. A row that is one step longer than the result, flattened
    # and cut anew, is shifted by j steps.
    edges: list[list[Any]] = [[0, 0]] * rank
    x = pad(x, [*edges[:-1], [0, parts * step - length]])
    x = transpose(reshape(x, [*lead, frames, parts, step]), [*range(rank - 2), rank - 1, rank - 2, rank])
    x = pad(x, [*edges[:-1], [0, parts], [0, 0]])
    steps = frames + parts - 1
    x = reshape(x, [*lead, parts * (steps + 1), step])[..., : parts * steps, :]
    x = reduce_sum(reshape(x, [*lead, parts, steps, step]), [rank - 2])
    return reshape(x, [*lead, steps * step])[..., : _at_least_zero((frames - 1) * step + length)]


def _fft_length(fft_length: Any, frame_length: Any) -> Any:
    """The length of transforms: by default the least power of 2 that a frame fits in."""
    if fft_length is not None:
        return _count(fft_length, "fft_length")
    if isinstance(frame_length, int):
        return 1 << (frame_length - 1).bit_length()
    powers = 1 << range_of(31)
    return 1 << reduce_sum(raw_ops.cast(powers < frame_length, dtype=_core.int32), [0])


@scoped
def stft(
    signals: TensorLike,
    frame_length: IntLike,
    frame_step: IntLike,
    fft_length: IntLike | None = None,
    window_fn: WindowFn | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the short-time Fourier transform of signals: the transforms of frames under a window.

    Args:
        signals: `float32` or `float64`, of shape `[..., samples]`.
        frame_length: how many samples a frame has.
        frame_step: how many samples lie between the starts of frames.
        fft_length: the length of the transforms, for which frames are filled up with zeros; by default
            the least power of 2 that a frame fits in.
        window_fn: a function of a length that gives a window, with the keyword `dtype`; None for none.
        pad_end: whether to transform the frames that reach beyond the end too, with zeros behind it.
        name: a scope for the names of its operations in a graph.

    Returns:
        A complex tensor of shape `[..., frames, fft_length // 2 + 1]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a length or step below 1, or signals of unknown rank.

    >>> import penstock as tf
    >>> tf.signal.stft(tf.ones([1000]), frame_length=256, frame_step=128).shape
    TensorShape([6, 129])
    """
    x = _core._to_tensor(signals)
    length = _count(frame_length, "frame_length")
    framed = frame(x, length, frame_step, pad_end)
    transformed = _fft_length(fft_length, length)
    if window_fn is not None:
        framed = framed * window_fn(length, dtype=framed.dtype)
    return real_transform(framed, [len(known_rank(framed)) - 1], [transformed])


@scoped
def inverse_stft(
    stfts: TensorLike,
    frame_length: IntLike,
    frame_step: IntLike,
    fft_length: IntLike | None = None,
    window_fn: WindowFn | None = hann_window,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the signals of which the short-time Fourier transform is known.

    The result is the signal that was transformed where `window_fn` is `inverse_stft_window_fn(frame_step)`,
    but for the samples that are in too few frames, at both ends.

    Args:
        stfts: `complex64` or `complex128`, of shape `[..., frames, fft_length // 2 + 1]`.
        frame_length: how many samples a frame has.
        frame_step: how many samples lie between the starts of frames.
        fft_length: the length of the transforms; by default the least power of 2 that a frame fits in.
        window_fn: a function of a length that gives a window, with the keyword `dtype`; None for none.
        name: a scope for the names of its operations in a graph.

    Returns:
        A floating point tensor of shape `[..., samples]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a length or step below 1, or a tensor of rank below 2 or unknown rank.

    >>> import penstock as tf
    >>> x = tf.sin(tf.range(64.0))
    >>> inverse = tf.signal.inverse_stft_window_fn(8)
    >>> y = tf.signal.inverse_stft(tf.signal.stft(x, 16, 8), 16, 8, window_fn=inverse)
    >>> bool(tf.reduce_max(tf.abs(x - y)[8:-8]) < 1e-5)
    True
    """
    x = _core._to_tensor(stfts)
    rank = len(known_rank(x, 2))
    length = _count(frame_length, "frame_length")
    transformed = _fft_length(fft_length, length)
    frames = resized(inverse_real_transform(x, [rank - 1], [transformed]), length)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(
    frame_step: IntLike, forward_window_fn: WindowFn = hann_window, name: str | None = None
) -> WindowFn:
    """Make a function that gives the window for `inverse_stft` which undoes that of `stft`.

    The window of `stft` is divided by the sum of its squares over the frames that a sample is in.

    Args:
        frame_step: how many samples lie between the starts of frames.
        forward_window_fn: the function that gave the window for `stft`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A function of the length of a frame, with the keyword `dtype`.

    Raises:
        ValueError: for a step below 1.

    >>> import penstock as tf
    >>> window_fn = tf.signal.inverse_stft_window_fn(4)
    >>> window_fn(8, dtype=tf.float32).shape
    TensorShape([8])
    """
    step = _count(frame_step, "frame_step")

    @scoped
    def window_fn(frame_length: IntLike, dtype: Any, name: str | None = name) -> _core.Tensor:
        length = _count(frame_length, "frame_length")
        forward = forward_window_fn(length, dtype=dtype)
        parts = -(-length // step)
        squares = pad(raw_ops.square(forward), [[0, parts * step - length]])
        weight = tile(reduce_sum(reshape(squares, [parts, step]), [0]), [parts])
        return forward / weight[:length]

    return window_fn


@scoped
def mdct(
    signals: TensorLike,
    frame_length: IntLike,
    window_fn: WindowFn | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the modified discrete cosine transform of signals.

    Frames overlap by half; each is transformed to half as many coefficients.

    Args:
        signals: `float32` or `float64`, of shape `[..., samples]`.
        frame_length: how many samples a frame has, a multiple of 4.
        window_fn: a function of a length that gives a window, with the keyword `dtype`; None for a
            constant one. To be undone, the squares of both halves must add up to 1.
        pad_end: whether to transform the frames that reach beyond the end too, with zeros behind it.
        norm: None, or `"ortho"` for the transform that keeps lengths.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[..., frames, frame_length // 2]` and the dtype of `signals`.

    Raises:
        ValueError: for a length that is no multiple of 4, another `norm`, or signals of unknown rank.

    >>> import penstock as tf
    >>> tf.signal.mdct(tf.ones([1000]), 256).shape
    TensorShape([6, 128])
    """
    length = _count(frame_length, "frame_length")
    if isinstance(length, int) and length % 4:
        raise InvalidArgumentError(f"argument 'frame_length' must be a multiple of 4, got {length}")
    x = frame(_core._to_tensor(signals), length, length // 2, pad_end)
    x = x * _halves(window_fn, length, x)
    quarter = length // 4
    a, b, c, d = (x[..., i * quarter : (i + 1) * quarter] for i in range(4))
    folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
    return dct(folded, type=4, norm=norm)


def _halves(window_fn: WindowFn | None, length: Any, x: _core.Tensor) -> _core.Tensor:
    """A window, by default the constant one of which the squares of both halves add up to 1."""
    if window_fn is None:
        return _core._to_tensor(math.sqrt(0.5), x.dtype)
    return window_fn(length, dtype=x.dtype)


@scoped
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: WindowFn | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the signals of which the modified discrete cosine transform is known.

    The result is the signal that was transformed, but for half a frame at both ends.

    Args:
        mdcts: `float32` or `float64`, of shape `[..., frames, frame_length // 2]`.
        window_fn: that of `mdct`.
        norm: that of `mdct`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[..., (frames + 1) * frame_length // 2]` and the dtype of `mdcts`.

    Raises:
        ValueError: for another `norm`, or a tensor of rank below 2 or unknown rank.

    >>> import penstock as tf
    >>> x = tf.sin(tf.range(64.0))
    >>> y = tf.signal.inverse_mdct(tf.signal.mdct(x, 16))
    >>> bool(tf.reduce_max(tf.abs(x - y)[8:-8]) < 1e-5)
    True
    """
    x = _core._to_tensor(mdcts)
    half = sizes(x, 2)[-1]
    folded = dct(x, type=4, norm=norm)
    if norm is None:
        folded = folded / _as(2 * half, folded)
    quarter = half // 2
    first, second = folded[..., :quarter], folded[..., quarter:]
    frames = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
    return overlap_and_add(frames * _halves(window_fn, 2 * half, frames), half)


def _as(number: Any, like: _core.Tensor) -> _core.Tensor:
    """A number as a scalar of a tensor's dtype."""
    if isinstance(number, _core.Tensor):
        return raw_ops.cast(number, dtype=like.dtype)
    return _core._to_tensor(number, like.dtype)


def _check_type(number: int) -> None:
    # A dtype is equal to its number.
    if not isinstance(number, int) or number not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"argument 'type' must be 1, 2, 3 or 4, got {number!r}")


@scoped
def dct(
    input: TensorLike,
    type: int = 2,
    n: IntLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute a discrete cosine transform along the last dimension.

    With `N` elements `x[j]`, element `k` of the result is, by type:

    1. `x[0] + (-1)**k x[N-1] + 2 sum(x[j] cos(pi j k / (N-1)))`, the sum over 0 < j < N-1
    2. `2 sum(x[j] cos(pi (2j + 1) k / 2N))`
    3. `x[0] + 2 sum(x[j] cos(pi j (2k + 1) / 2N))`, the sum over j > 0
    4. `2 sum(x[j] cos(pi (2j + 1) (2k + 1) / 4N))`

    Args:
        input: `float32` or `float64`, of shape `[..., samples]`.
        type: 1, 2, 3 or 4.
        n: how many samples to transform: others are cut off, or zeros put behind; by default all.
        axis: -1.
        norm: None, or `"ortho"` for the transform that keeps lengths (not for type 1).
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[..., samples]`, or `[..., n]`, and the dtype of `input`.

    Raises:
        NotImplementedError: for another `axis`, as in TensorFlow.
        ValueError: for another `type` or `norm`, an `n` below 1, and for `"ortho"` or less than 2 samples
            with type 1.

    >>> import penstock as tf
    >>> tf.signal.dct([1.0, 2.0, 3.0], type=1).numpy().tolist()
    [8.0, -2.0, 0.0]
    """
    if axis != -1:
        raise NotImplementedError(f"argument 'axis' must be -1, got {axis!r}")
    _check_type(type)
    if norm not in (None, "ortho"):
        raise InvalidArgumentError(f"argument 'norm' must be None or 'ortho', got {norm!r}")
    if type == 1 and norm == "ortho":
        raise InvalidArgumentError("argument 'norm' must be None for type 1, got 'ortho'")
    x = _core._to_tensor(input)
    rank = len(known_rank(x, 1))
    if n is not None:
        x = resized(x, _count(n, "n"))
    size = sizes(x)[-1]
    if type == 1:
        if isinstance(size, int) and size < 2:
            raise InvalidArgumentError(
                f"argument 'input' must have at least 2 samples for type 1, got {size}"
            )
        return raw_ops.real(real_transform(concat([x, reverse(x[..., 1:-1], [-1])], -1), [rank - 1], [None]))
    if norm == "ortho" and type == 3:
        scale, first = _root(2 * size, x), _root(size, x)
        x = concat([x[..., :1] * first, x[..., 1:] * scale], -1)
    transformed = {2: _dct2, 3: _dct3, 4: _dct4}[type](x, size, rank)
    if norm == "ortho" and type == 4:
        return transformed * _root(2 * size, x)
    if norm == "ortho" and type == 2:
        scale, first = _root(2 * size, x), _root(4 * size, x)
        return concat([transformed[..., :1] * first, transformed[..., 1:] * scale], -1)
    return transformed


def _root(size: Any, like: _core.Tensor) -> _core.Tensor:
    """The reciprocal root of a size."""
    return raw_ops.rsqrt(_as(size, like))


def _turned(size: Any, numerator: _core.Tensor, denominator: Any) -> _core.Tensor:
    """`exp(i pi numerator / denominator)`."""
    angle = numerator * _as(math.pi, numerator) / _as(denominator, numerator)
    return raw_ops.complex(raw_ops.cos(angle), raw_ops.sin(angle))


def _dct2(x: _core.Tensor, size: Any, rank: int) -> _core.Tensor:
    spectrum = real_transform(x, [rank - 1], [2 * size])[..., :size]
    places = raw_ops.cast(range_of(size), dtype=x.dtype)
    return raw_ops.real(spectrum * _turned(size, -places, 2 * size)) * 2


def _dct3(x: _core.Tensor, size: Any, rank: int) -> _core.Tensor:
    places = raw_ops.cast(range_of(size), dtype=x.dtype)
    spectrum = raw_ops.complex(x, raw_ops.zeros_like(x)) * _turned(size, places, 2 * size)
    signal = inverse_real_transform(spectrum, [rank - 1], [2 * size])[..., :size]
    return signal * _as(2 * size, x)


def _dct4(x: _core.Tensor, size: Any, rank: int) -> _core.Tensor:
    places = raw_ops.cast(range_of(size), dtype=x.dtype)
    turned = raw_ops.complex(x, raw_ops.zeros_like(x)) * _turned(size, -places, 2 * size)
    spectrum = complex_transform(turned, [rank - 1], [2 * size], False)[..., :size]
    back = _turned(size, -(places * 2 + 1), 4 * size)
    return raw_ops.real(spectrum * back) * 2


@scoped
def idct(
    input: TensorLike,
    type: int = 2,
    n: IntLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the inverse of a discrete cosine transform along the last dimension.

    The inverses of the types 1, 2, 3 and 4 are 1, 3, 2 and 4. Without `norm="ortho"` the result is that of
    the forward transform times `2 (N - 1)` for type 1, times `2 N` for the others.

    Args:
        input: `float32` or `float64`, of shape `[..., samples]`.
        type: 1, 2, 3 or 4: the transform to invert.
        n: how many samples to transform; by default all.
        axis: -1.
        norm: None, or `"ortho"` for the transform that keeps lengths (not for type 1).
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[..., samples]`, or `[..., n]`, and the dtype of `input`.

    Raises:
        NotImplementedError: for another `axis`, as in TensorFlow.
        ValueError: as for `dct`.

    >>> import penstock as tf
    >>> there = tf.signal.dct([1.0, 2.0, 3.0], norm="ortho")
    >>> tf.signal.idct(there, norm="ortho").numpy().round(4).tolist()
    [1.0, 2.0, 3.0]
    """
    _check_type(type)
    return dct(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, axis, norm)
