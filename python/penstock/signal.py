"""Signals: Fourier and cosine transforms, of frames and as a whole; windows; mel spectrograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._ops.fourier import NORMS, complex_transform, inverse_real_transform, real_transform, rolled
from penstock._ops.frames import (
    dct as dct,
    frame as frame,
    idct as idct,
    inverse_mdct as inverse_mdct,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    mdct as mdct,
    overlap_and_add as overlap_and_add,
    stft as stft,
)
from penstock._ops.mel import (
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from penstock._ops.windows import (
    hamming_window as hamming_window,
    hann_window as hann_window,
    kaiser_bessel_derived_window as kaiser_bessel_derived_window,
    kaiser_window as kaiser_window,
    vorbis_window as vorbis_window,
)
from penstock._runtime.arguments import axes as axes_argument, axis_of, known_rank
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, TensorLike

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftnd",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftnd",
    "ifftshift",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "irfftnd",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "rfftnd",
    "stft",
    "vorbis_window",
]


def _last(input: Any, count: int, argument: str = "input") -> tuple[_core.Tensor, list[int]]:
    """A tensor and its last dimensions.

    Raises:
        ValueError: where it has fewer, or unknown rank.
    """
    x = _core._to_tensor(input)
    rank = len(known_rank(x))
    if rank < count:
        raise InvalidArgumentError(
            f"argument '{argument}' must have at least {count} dimension(s), got shape {x.shape}"
        )
    return x, list(range(rank - count, rank))


def _lengths(fft_length: Any, count: int) -> list[Any]:
    """The lengths that are asked for, ints where they are known; None for each where none are.

    Raises:
        ValueError: where there are not as many as dimensions.
    """
    if fft_length is None:
        return [None] * count
    vector = _core._to_tensor_hinted(fft_length, _core.int32)
    if vector.shape.rank != 1 or vector.shape[0] not in (count, None):
        raise InvalidArgumentError(
            f"argument 'fft_length' must be a vector of {count} length(s), got shape {vector.shape}"
        )
    known = _core._known_value(vector)
    return [vector[i] for i in range(count)] if known is None else [int(n) for n in known.numpy()]


def _chosen(input: Any, fft_length: Any, axes: Any) -> tuple[_core.Tensor, list[int], list[Any]]:
    """A tensor, the dimensions that are asked for, by default the last ones, and their lengths."""
    x = _core._to_tensor(input)
    rank = len(known_rank(x))
    if axes is None:
        lengths = None if fft_length is None else _core._to_tensor_hinted(fft_length, _core.int32)
        count = rank if lengths is None else lengths.shape.num_elements()
        if count is None or count > rank:
            raise InvalidArgumentError(
                f"argument 'fft_length' must be a vector of at most {rank} lengths, got {fft_length!r}"
            )
        along = list(range(rank - count, rank))
    else:
        along = [axis_of(axis, rank, "axes") for axis in axes_argument(axes, "axes") or ()]
    if len(set(along)) != len(along) or not along:
        raise InvalidArgumentError(
            f"argument 'axes' must be different dimensions, at least one, got {axes!r}"
        )
    return x, along, _lengths(fft_length, len(along))


@scoped
def fft(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the discrete Fourier transform along the last dimension.

    Element `k` of `n` is the sum of `x[j] exp(-2 pi i j k / n)`.

    Args:
        input: `complex64` or `complex128`, of shape `[..., n]` and known rank.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank.

    >>> import penstock as tf
    >>> tf.signal.fft([1.0 + 0j, 0j, 0j, 0j]).numpy().real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    x, axes = _last(input, 1)
    return complex_transform(x, axes, [None] * 1, False)


@scoped
def ifft(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the inverse discrete Fourier transform along the last dimension.

    Element `j` of `n` is the sum of `x[k] exp(2 pi i j k / n)`, divided by `n`.

    Args:
        input: `complex64` or `complex128`, of shape `[..., n]` and known rank.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank.

    >>> import penstock as tf
    >>> tf.signal.ifft([4.0 + 0j, 0j, 0j, 0j]).numpy().real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    x, axes = _last(input, 1)
    return complex_transform(x, axes, [None] * 1, True)


@scoped
def fft2d(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the discrete Fourier transform along the last two dimensions.

    Element `k` of `n` is the sum of `x[j] exp(-2 pi i j k / n)`.

    Args:
        input: `complex64` or `complex128`, of shape `[..., n, m]` and known rank.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank.

    >>> import penstock as tf
    >>> tf.signal.fft2d([[4.0 + 0j, 0j]]).numpy().real.tolist()
    [[4.0, 4.0]]
    """
    x, axes = _last(input, 2)
    return complex_transform(x, axes, [None] * 2, False)


@scoped
def ifft2d(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the inverse discrete Fourier transform along the last two dimensions.

    Element `j` of `n` is the sum of `x[k] exp(2 pi i j k / n)`, divided by `n`.

    Args:
        input: `complex64` or `complex128`, of shape `[..., n, m]` and known rank.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank.

    >>> import penstock as tf
    >>> tf.signal.ifft2d([[4.0 + 0j, 0j]]).numpy().real.tolist()
    [[2.0, 2.0]]
    """
    x, axes = _last(input, 2)
    return complex_transform(x, axes, [None] * 2, True)


@scoped
def fft3d(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the discrete Fourier transform along the last three dimensions.

    Element `k` of `n` is the sum of `x[j] exp(-2 pi i j k / n)`.

    Args:
        input: `complex64` or `complex128`, of shape `[..., n, m, k]` and known rank.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank.

    >>> import penstock as tf
    >>> tf.signal.fft3d([[[4.0 + 0j, 0j]]]).numpy().real.tolist()
    [[[4.0, 4.0]]]
    """
    x, axes = _last(input, 3)
    return complex_transform(x, axes, [None] * 3, False)


@scoped
def ifft3d(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the inverse discrete Fourier transform along the last three dimensions.

    Element `j` of `n` is the sum of `x[k] exp(2 pi i j k / n)`, divided by `n`.

    Args:
        input: `complex64` or `complex128`, of shape `[..., n, m, k]` and known rank.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank.

    >>> import penstock as tf
    >>> tf.signal.ifft3d([[[4.0 + 0j, 0j]]]).numpy().real.tolist()
    [[[2.0, 2.0]]]
    """
    x, axes = _last(input, 3)
    return complex_transform(x, axes, [None] * 3, True)


@scoped
def rfft(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute the discrete Fourier transform of real numbers along the last dimension.

    The last dimension keeps the first `n / 2 + 1` coefficients; the others are their conjugates.

    Args:
        input_tensor: `float32` or `float64`, of shape `[..., n]` and known rank.
        fft_length: a vector of 1: how many elements to transform, cut or filled up with zeros; by default
            all.
        name: a scope for the names of its operations in a graph.

    Returns:
        A complex tensor of shape `[..., n / 2 + 1]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank, or another number of lengths.

    >>> import penstock as tf
    >>> tf.signal.rfft([1.0, 0.0, 0.0, 0.0]).numpy().real.tolist()
    [1.0, 1.0, 1.0]
    """
    x, axes = _last(input_tensor, 1, "input_tensor")
    return real_transform(x, axes, _lengths(fft_length, 1))


@scoped
def irfft(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute the real numbers of which `rfft` gives these coefficients.

    Args:
        input_tensor: complex, of shape `[..., n / 2 + 1]` and known rank.
        fft_length: a vector of 1: the lengths of the results, for which coefficients are cut or filled up
            with zeros; by default as many as there are, for the last one an even number.
        name: a scope for the names of its operations in a graph.

    Returns:
        A real tensor of shape `[..., n]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank, or another number of lengths.

    >>> import penstock as tf
    >>> tf.signal.irfft([4.0 + 0j, 0j, 0j]).numpy().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    x, axes = _last(input_tensor, 1, "input_tensor")
    return inverse_real_transform(x, axes, _lengths(fft_length, 1))


@scoped
def rfft2d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute the discrete Fourier transform of real numbers along the last two dimensions.

    The last dimension keeps the first `m / 2 + 1` coefficients; the others are their conjugates.

    Args:
        input_tensor: `float32` or `float64`, of shape `[..., n, m]` and known rank.
        fft_length: a vector of 2: how many elements to transform, cut or filled up with zeros; by default
            all.
        name: a scope for the names of its operations in a graph.

    Returns:
        A complex tensor of shape `[..., n, m / 2 + 1]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank, or another number of lengths.

    >>> import penstock as tf
    >>> tf.signal.rfft2d([[1.0, 0.0, 0.0, 0.0]]).numpy().real.tolist()
    [[1.0, 1.0, 1.0]]
    """
    x, axes = _last(input_tensor, 2, "input_tensor")
    return real_transform(x, axes, _lengths(fft_length, 2))


@scoped
def irfft2d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute the real numbers of which `rfft2d` gives these coefficients.

    Args:
        input_tensor: complex, of shape `[..., n, m / 2 + 1]` and known rank.
        fft_length: a vector of 2: the lengths of the results, for which coefficients are cut or filled up
            with zeros; by default as many as there are, for the last one an even number.
        name: a scope for the names of its operations in a graph.

    Returns:
        A real tensor of shape `[..., n, m]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank, or another number of lengths.

    >>> import penstock as tf
    >>> tf.signal.irfft2d([[4.0 + 0j, 0j, 0j]]).numpy().tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    x, axes = _last(input_tensor, 2, "input_tensor")
    return inverse_real_transform(x, axes, _lengths(fft_length, 2))


@scoped
def rfft3d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute the discrete Fourier transform of real numbers along the last three dimensions.

    The last dimension keeps the first `k / 2 + 1` coefficients; the others are their conjugates.

    Args:
        input_tensor: `float32` or `float64`, of shape `[..., n, m, k]` and known rank.
        fft_length: a vector of 3: how many elements to transform, cut or filled up with zeros; by default
            all.
        name: a scope for the names of its operations in a graph.

    Returns:
        A complex tensor of shape `[..., n, m, k / 2 + 1]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank, or another number of lengths.

    >>> import penstock as tf
    >>> tf.signal.rfft3d([[[1.0, 0.0, 0.0, 0.0]]]).numpy().real.tolist()
    [[[1.0, 1.0, 1.0]]]
    """
    x, axes = _last(input_tensor, 3, "input_tensor")
    return real_transform(x, axes, _lengths(fft_length, 3))


@scoped
def irfft3d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> _core.Tensor:
    """Compute the real numbers of which `rfft3d` gives these coefficients.

    Args:
        input_tensor: complex, of shape `[..., n, m, k / 2 + 1]` and known rank.
        fft_length: a vector of 3: the lengths of the results, for which coefficients are cut or filled up
            with zeros; by default as many as there are, for the last one an even number.
        name: a scope for the names of its operations in a graph.

    Returns:
        A real tensor of shape `[..., n, m, k]`.

    Raises:
        TypeError: for another dtype.
        ValueError: for a tensor of lower or unknown rank, or another number of lengths.

    >>> import penstock as tf
    >>> tf.signal.irfft3d([[[4.0 + 0j, 0j, 0j]]]).numpy().tolist()
    [[[1.0, 1.0, 1.0, 1.0]]]
    """
    x, axes = _last(input_tensor, 3, "input_tensor")
    return inverse_real_transform(x, axes, _lengths(fft_length, 3))


@scoped
def fftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the discrete Fourier transform along several dimensions.

    Args:
        input_tensor: `complex64` or `complex128`, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions; by default the last ones, as many as there are lengths, or all.
        norm: `"backward"`, the default, for results that are not scaled; `"forward"` for division by the
            lengths, `"ortho"` for division by their roots.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, of its shape but for the lengths.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice, or another `norm`.

    >>> import penstock as tf
    >>> tf.signal.fftnd([[1.0 + 0j, 0j], [0j, 0j]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    x, along, lengths = _chosen(input_tensor, fft_length, axes)
    return complex_transform(x, along, lengths, False, _norm(norm))


@scoped
def ifftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the inverse discrete Fourier transform along several dimensions.

    Args:
        input_tensor: `complex64` or `complex128`, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions; by default the last ones, as many as there are lengths, or all.
        norm: `"backward"`, the default, for division by the lengths; `"forward"` for results that are not
            scaled, `"ortho"` for division by their roots.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, of its shape but for the lengths.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice, or another `norm`.

    >>> import penstock as tf
    >>> tf.signal.ifftnd([[4.0 + 0j, 0j], [0j, 0j]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    x, along, lengths = _chosen(input_tensor, fft_length, axes)
    return complex_transform(x, along, lengths, True, _norm(norm))


@scoped
def rfftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the discrete Fourier transform of real numbers along several dimensions.

    The last of the dimensions keeps the first half of the coefficients; the others are their conjugates.

    Args:
        input_tensor: `float32` or `float64`, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions; by default the last ones, as many as there are lengths, or all.
        norm: `"backward"`, the default, for results that are not scaled; `"forward"` for division by the
            lengths, `"ortho"` for division by their roots.
        name: a scope for the names of its operations in a graph.

    Returns:
        A complex tensor, of the shape of `input_tensor` but for the lengths, `n / 2 + 1` for the last.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice, or another `norm`.

    >>> import penstock as tf
    >>> tf.signal.rfftnd([[1.0, 0.0], [0.0, 0.0]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    x, along, lengths = _chosen(input_tensor, fft_length, axes)
    return real_transform(x, along, lengths, _norm(norm))


@scoped
def irfftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: AxisLike = None,
    norm: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the real numbers of which `rfftnd` gives these coefficients.

    Args:
        input_tensor: complex, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions; by default the last ones, as many as there are lengths, or all.
        norm: `"backward"`, the default, for division by the lengths; `"forward"` for results that are not
            scaled, `"ortho"` for division by their roots.
        name: a scope for the names of its operations in a graph.

    Returns:
        A real tensor, of the shape of `input_tensor` but for the lengths; without lengths the last is even.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice, or another `norm`.

    >>> import penstock as tf
    >>> tf.signal.irfftnd([[4.0 + 0j, 0j], [0j, 0j]]).numpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    x, along, lengths = _chosen(input_tensor, fft_length, axes)
    return inverse_real_transform(x, along, lengths, _norm(norm))


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in NORMS:
        raise InvalidArgumentError(f"argument 'norm' must be one of {', '.join(NORMS)}, got {norm!r}")
    return norm


@scoped
def fftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> _core.Tensor:
    """Move the first element of each dimension to its middle, where frequency 0 is between the others.

    Args:
        x: a tensor of known rank.
        axes: a dimension, or several; all by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for a tensor of unknown rank.
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.signal.fftshift([0, 1, 2, -2, -1]).numpy().tolist()
    [-2, -1, 0, 1, 2]
    """
    return _shifted(x, axes, False)


@scoped
def ifftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> _core.Tensor:
    """Move the middle element of each dimension to its front: undo `fftshift`.

    Args:
        x: a tensor of known rank.
        axes: a dimension, or several; all by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: for a tensor of unknown rank.
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).numpy().tolist()
    [0, 1, 2, -2, -1]
    """
    return _shifted(x, axes, True)


def _shifted(x: Any, axes: Any, back: bool) -> _core.Tensor:
    tensor = _core._to_tensor(x)
    rank = len(known_rank(tensor))
    along = axes_argument(axes, "axes")
    return rolled(tensor, range(rank) if along is None else [axis_of(a, rank, "axes") for a in along], back)


_publish(__name__)
