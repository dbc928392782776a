"""Windows: factors of the samples of a frame, small at its ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, reverse
from penstock._ops.creation import range as range_of
from penstock._ops.reductions import cumsum
from penstock._ops.special_functions import bessel_i0
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import BoolLike, DTypeLike, IntLike, TensorLike

__all__ = [
    "hamming_window",
    "hann_window",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "vorbis_window",
]


def _places(window_length: Any, dtype: Any) -> tuple[_core.Tensor, _core.Tensor]:
    """The numbers of the samples, and how many there are, in the dtype of the window.

    Raises:
        TypeError: for a length that is no integer, or a dtype that is not floating.
        ValueError: for a length that is no scalar.
    """
    length, dtype = _core._to_tensor(window_length), _core.DType(dtype)
    if not length.dtype.is_integer:
        raise TypeError(f"argument 'window_length' must be an integer, got {window_length!r}")
    if length.shape.rank not in (0, None):
        raise InvalidArgumentError(f"argument 'window_length' must be a scalar, got shape {length.shape}")
    if not dtype.is_floating:
        raise DTypeError(f"argument 'dtype' must be floating, got {dtype.name}")
    return raw_ops.cast(range_of(length), dtype=dtype), raw_ops.cast(length, dtype=dtype)


def _raised_cosine(
    window_length: Any, periodic: Any, dtype: Any, constant: float, cosine: float
) -> _core.Tensor:
    places, length = _places(window_length, dtype)
    even = 1 - length % 2
    period = length + raw_ops.cast(_core._to_tensor(periodic), dtype=length.dtype) * even - 1
    # A window of one sample has no period, and is 1.
    single = raw_ops.less(period, _core._to_tensor(0.5, period.dtype))
    angle = places * (2 * math.pi) / raw_ops.select(single, raw_ops.ones_like(period), period)
    window = constant - cosine * raw_ops.cos(angle)
    return raw_ops.select(single, raw_ops.ones_like(window), window)


@scoped
def hann_window(
    window_length: IntLike,
    periodic: BoolLike = True,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Make a Hann window: `0.5 - 0.5 cos(2 pi i / n)` for sample `i`.

    Args:
        window_length: how many samples, a scalar.
        periodic: whether `n` is the length, where that is even: then copies of the window, half of it
            apart, add up to a constant. Otherwise, and for odd lengths, `n` is one less, and the
            window is symmetric.
        dtype: that of the result, floating.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[window_length]`.

    Raises:
        TypeError: for a `dtype` that is not floating, or a length that is no integer.

    >>> import penstock as tf
    >>> tf.signal.hann_window(4).numpy().tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _raised_cosine(window_length, periodic, dtype, 0.5, 0.5)


@scoped
def hamming_window(
    window_length: IntLike,
    periodic: BoolLike = True,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Make a Hamming window: `0.54 - 0.46 cos(2 pi i / n)` for sample `i`.

    Args:
        window_length: how many samples, a scalar.
        periodic: whether `n` is the length, where that is even; otherwise it is one less.
        dtype: that of the result, floating.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[window_length]`.

    Raises:
        TypeError: for a `dtype` that is not floating, or a length that is no integer.

    >>> import penstock as tf
    >>> tf.signal.hamming_window(4).numpy().round(2)
    array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.54, 0.46)


@scoped
def vorbis_window(
    window_length: IntLike, dtype: DTypeLike = _core.float32, name: str | None = None
) -> _core.Tensor:
    """Make a window of the Vorbis codec: `sin(pi/2 sin(pi (i + 0.5) / n)**2)` for sample `i` of `n`.

    The squares of its halves add up to 1, so `mdct` with it can be undone.

    Args:
        window_length: how many samples, a scalar.
        dtype: that of the result, floating.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[window_length]`.

    Raises:
        TypeError: for a `dtype` that is not floating, or a length that is no integer.

    >>> import penstock as tf
    >>> w = tf.signal.vorbis_window(8)
    >>> bool(tf.reduce_all(tf.abs(w[:4] ** 2 + w[4:] ** 2 - 1) < 1e-6))
    True
    """
    places, length = _places(window_length, dtype)
    inner = raw_ops.sin((places + 0.5) * math.pi / length)
    return raw_ops.sin(inner * inner * (math.pi / 2))


@scoped
def kaiser_window(
    window_length: IntLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Make a Kaiser window: `i0(beta sqrt(1 - x**2)) / i0(beta)`, with `x` from -1 to 1 over the samples.

    Args:
        window_length: how many samples, a scalar.
        beta: how quickly it falls; 0 for a constant window.
        dtype: that of the result, floating.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[window_length]`.

    Raises:
        TypeError: for a `dtype` that is not floating, or a length that is no integer.

    >>> import penstock as tf
    >>> tf.signal.kaiser_window(5, 0.0).numpy().tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    places, length = _places(window_length, dtype)
    steepness = raw_ops.cast(_core._to_tensor(beta), dtype=places.dtype)
    half = (length - 1) / 2
    single = raw_ops.less(half, _core._to_tensor(0.25, half.dtype))
    distance = (places - half) / raw_ops.select(single, raw_ops.ones_like(half), half)
    inside = raw_ops.maximum(1 - distance * distance, _core._to_tensor(0, places.dtype))
    return bessel_i0(steepness * raw_ops.sqrt(inside)) / bessel_i0(steepness)


@scoped
def kaiser_bessel_derived_window(
    window_length: IntLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Make a window from the sums of a Kaiser window.

    The squares of its halves add up to 1, so `mdct` with it can be undone.

    Args:
        window_length: how many samples, an even scalar.
        beta: that of the Kaiser window.
        dtype: that of the result, floating.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[window_length]`.

    Raises:
        TypeError: for a `dtype` that is not floating, or a length that is no integer.

    >>> import penstock as tf
    >>> w = tf.signal.kaiser_bessel_derived_window(8)
    >>> bool(tf.reduce_all(tf.abs(w[:4] ** 2 + w[4:] ** 2 - 1) < 1e-6))
    True
    """
    half = _core._to_tensor(window_length) // 2
    sums = cumsum(kaiser_window(half + 1, beta, dtype))
    rising = raw_ops.sqrt(sums[:-1] / sums[-1])
    return concat([rising, reverse(rising, [0])], 0)
