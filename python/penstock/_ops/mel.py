"""Spectrograms on the mel scale, on which steps of equal size sound equally large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import pad
from penstock._ops.creation import linspace
from penstock._ops.frames import dct
from penstock._runtime.arguments import integer, sizes
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]


def _mel(hertz: _core.Tensor) -> _core.Tensor:
    """A frequency on the mel scale: `1127 log(1 + f / 700)`."""
    return raw_ops.log1p(hertz / 700.0) * 1127.0


def _known(value: Any) -> float | None:
    known = _core._known_value(_core._to_tensor(value))
    return None if known is None else float(known.numpy())


@scoped
def linear_to_mel_weight_matrix(
    num_mel_bins: IntLike = 20,
    num_spectrogram_bins: IntLike = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: TensorLike = 125.0,
    upper_edge_hertz: TensorLike = 3800.0,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Make the matrix that takes spectrograms to the mel scale, by a product from the right.

    Each column is a triangle over frequencies: it rises from 0 to 1 and falls to 0 between three edges of
    bands that are equally far apart on the mel scale, `1127 log(1 + f / 700)` (S. Young and others, "The HTK
    Book").

    Args:
        num_mel_bins: how many bands.
        num_spectrogram_bins: how many frequencies a spectrogram has, from 0 to half the sample rate.
        sample_rate: samples a second, a scalar.
        lower_edge_hertz: where the first band starts.
        upper_edge_hertz: where the last band ends.
        dtype: that of the result, floating.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[num_spectrogram_bins, num_mel_bins]`.

    Raises:
        ValueError: for a number of bands or a sample rate that is not positive, a `dtype` that is not
            floating, or edges that are negative, not in order, or above half the sample rate.

    >>> import penstock as tf
    >>> weights = tf.signal.linear_to_mel_weight_matrix(3, 9)
    >>> (tf.ones([2, 9]) @ weights).shape
    TensorShape([2, 3])
    """
    bands, frequencies = (
        integer(num_mel_bins, "num_mel_bins"),
        integer(num_spectrogram_bins, "num_spectrogram_bins"),
    )
    dtype = _core.DType(dtype)
    if not dtype.is_floating:
        raise DTypeError(f"argument 'dtype' must be floating, got {dtype.name}")
    for number, argument in (bands, "num_mel_bins"), (frequencies, "num_spectrogram_bins"):
        if number < 1:
            raise InvalidArgumentError(f"argument '{argument}' must be at least 1, got {number}")
    rate, lower, upper = _known(sample_rate), _known(lower_edge_hertz), _known(upper_edge_hertz)
    if rate is not None and rate <= 0:
        raise InvalidArgumentError(f"argument 'sample_rate' must be positive, got {rate}")
    if lower is not None and lower < 0:
        raise InvalidArgumentError(f"argument 'lower_edge_hertz' must not be negative, got {lower}")
    if lower is not None and upper is not None and lower >= upper:
        raise InvalidArgumentError(
            f"argument 'upper_edge_hertz' must be greater than 'lower_edge_hertz', got {upper} and {lower}"
        )
    if rate is not None and upper is not None and upper > rate / 2:
        raise InvalidArgumentError(
            f"argument 'upper_edge_hertz' must not exceed half the sample rate, got {upper}"
        )
    half, low, high = (
        raw_ops.cast(_core._to_tensor(value), dtype=dtype)
        for value in (sample_rate, lower_edge_hertz, upper_edge_hertz)
    )
    # Frequency 0 is in no band.
    places = _mel(linspace(raw_ops.zeros_like(half), half / 2.0, frequencies)[1:])[:, None]
    edges = linspace(_mel(low), _mel(high), bands + 2)
    start, middle, end = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (places - start) / (middle - start), (end - places) / (end - middle)
    triangles = raw_ops.maximum(raw_ops.minimum(rising, falling), _core._to_tensor(0, dtype))
    return pad(triangles, [[1, 0], [0, 0]])


@scoped
def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Compute cepstral coefficients: the cosine transform of the logarithms of mel spectrograms.

    Args:
        log_mel_spectrograms: `float32` or `float64`, of shape `[..., num_mel_bins]`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of that shape and dtype. Often only the first 13 coefficients are used.

    Raises:
        ValueError: for no bands, a scalar or a tensor of unknown rank.

    >>> import penstock as tf
    >>> tf.signal.mfccs_from_log_mel_spectrograms(tf.zeros([5, 80])).shape
    TensorShape([5, 80])
    """
    x = _core._to_tensor(log_mel_spectrograms)
    bands = sizes(x, 1)[-1]
    if isinstance(bands, int):
        if bands == 0:
            raise InvalidArgumentError(
                f"argument 'log_mel_spectrograms' has no bands: its shape is {x.shape}"
            )
        return dct(x) * float((2.0 * bands) ** -0.5)
    return dct(x) * raw_ops.rsqrt(raw_ops.cast(bands, dtype=x.dtype) * 2.0)
