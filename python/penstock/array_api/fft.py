"""The `fft` extension of the standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._ops.fourier import NORMS, complex_transform, inverse_real_transform, real_transform, rolled
from penstock._runtime.arguments import axis_of, integer, items, known_rank
from penstock.array_api._arrays import DEFAULT_FLOAT, Array, array, cast, check_device, new

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
# Scales the other way round: those of a transform as its inverse has them.
_REVERSED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _complex(x: Array, function: str) -> Tensor:
    """A floating-point array, as a complex one."""
    tensor = array(x, function, "floating")
    if tensor.dtype.is_complex:
        return tensor
    return cast(tensor, _core.complex128 if tensor.dtype == _core.float64 else _core.complex64)


def _real(x: Array, function: str) -> Tensor:
    """A real floating-point array, of 32 bits at least."""
    tensor = array(x, function, "real floating")
    return tensor if tensor.dtype == _core.float64 else cast(tensor, _core.float32)


def _checked(function: str, norm: str) -> str:
    if norm not in NORMS:
        raise ValueError(f"{function}: argument 'norm' must be one of {', '.join(NORMS)}, got {norm!r}")
    return norm


def _one(x: Tensor, function: str, n: int | None, axis: int) -> tuple[list[int], list[int | None]]:
    """The dimension and length of a transform.

    Raises:
        ValueError: for a dimension that there is not, or a length below 1.
    """
    if n is not None and n < 1:
        raise ValueError(f"{function}: argument 'n' must be at least 1, got {n}")
    return [axis_of(axis, len(known_rank(x)))], [n]


def _several(
    x: Tensor, function: str, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[list[int], list[int | None]]:
    """The dimensions and lengths of a transform.

    Raises:
        ValueError: for dimensions that there are not or that stand twice, other numbers of lengths, or one
            below 1.
    """
    rank = len(known_rank(x))
    lengths = None if s is None else [integer(n, "s") for n in items(s, "s")]
    if axes is None:
        along = list(range(rank))[0 if lengths is None else -len(lengths) :]
    else:
        along = [axis_of(axis, rank, "axes") for axis in axes]
    if not along or len(set(along)) != len(along):
        raise ValueError(
            f"{function}: argument 'axes' must be different dimensions, at least one, got {axes}"
        )
    if lengths is None:
        return along, [None] * len(along)
    if len(lengths) != len(along) or any(n < 1 for n in lengths):
        raise ValueError(f"{function}: argument 's' must have a length of at least 1 for each axis, got {s}")
    return along, [*lengths]


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Compute the discrete Fourier transform along an axis.

    Args:
        x: a floating-point array; a real one is taken as complex.
        n: how many elements to transform, cut or filled up with zeros; by default all.
        axis: the axis.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` this one, `"ortho"` both by its root.

    Returns:
        A complex array, of size `n` along the axis.

    Raises:
        ValueError: where the axis is out of range, `n` below 1, or `norm` another.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.fft.fft(xp.asarray([1.0, 0.0, 0.0, 0.0]))).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    z = _complex(x, "fft")
    return new(complex_transform(z, *_one(z, "fft", n, axis), False, _checked("fft", norm)))


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Compute the inverse of `fft`.

    Args:
        x: a floating-point array.
        n: how many elements to transform, cut or filled up with zeros; by default all.
        axis: the axis.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A complex array, of size `n` along the axis.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.fft.ifft(xp.asarray([4.0, 0.0, 0.0, 0.0]))).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    z = _complex(x, "ifft")
    return new(complex_transform(z, *_one(z, "ifft", n, axis), True, _checked("ifft", norm)))


def fftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Compute the discrete Fourier transform along several axes.

    Args:
        x: a floating-point array; a real one is taken as complex.
        s: for each axis how many elements to transform, cut or filled up with zeros.
        axes: the axes; by default the last ones, as many as `s` has, or all.
        norm: as for `fft`.

    Returns:
        A complex array, of the sizes `s` along the axes.

    Raises:
        ValueError: for axes that there are not or that stand twice, lengths below 1, or another `norm`.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.fft.fftn(xp.asarray([[1.0, 0.0], [0.0, 0.0]]))).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    z = _complex(x, "fftn")
    return new(complex_transform(z, *_several(z, "fftn", s, axes), False, _checked("fftn", norm)))


def ifftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Compute the inverse of `fftn`.

    Args:
        x: a floating-point array.
        s: for each axis how many elements to transform, cut or filled up with zeros.
        axes: the axes; by default the last ones, as many as `s` has, or all.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A complex array, of the sizes `s` along the axes.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.fft.ifftn(xp.asarray([[4.0, 0.0], [0.0, 0.0]]))).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    z = _complex(x, "ifftn")
    return new(complex_transform(z, *_several(z, "ifftn", s, axes), True, _checked("ifftn", norm)))


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Compute the first half of the Fourier transform of real numbers; the rest is its conjugate.

    Args:
        x: a floating-point array.
        n: how many elements to transform, cut or filled up with zeros; by default all.
        axis: the axis.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A complex array, of size `n // 2 + 1` along the axis.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.fft.rfft(xp.asarray([1.0, 0.0, 0.0, 0.0]))).tolist()
    [1.0, 1.0, 1.0]
    """
    real = _real(x, "rfft")
    return new(real_transform(real, *_one(real, "rfft", n, axis), _checked("rfft", norm)))


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Compute the inverse of `rfft`.

    Args:
        x: a floating-point array.
        n: how many numbers there are; by default an even number.
        axis: the axis.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A real array, of size `n` along the axis.

    >>> from penstock import array_api as xp
    >>> xp.fft.irfft(xp.asarray([4.0, 0.0, 0.0])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    z = _complex(x, "irfft")
    return new(inverse_real_transform(z, *_one(z, "irfft", n, axis), _checked("irfft", norm)))


def rfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Compute `fftn` of real numbers: the last axis keeps the first half of coefficients.

    Args:
        x: a floating-point array.
        s: for each axis how many elements to transform, cut or filled up with zeros.
        axes: the axes; by default the last ones, as many as `s` has, or all.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A complex array.

    >>> from penstock import array_api as xp
    >>> xp.fft.rfftn(xp.asarray([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).shape
    (2, 2)
    """
    real = _real(x, "rfftn")
    return new(real_transform(real, *_several(real, "rfftn", s, axes), _checked("rfftn", norm)))


def irfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Compute the inverse of `rfftn`; without `s` the last axis gets an even length.

    Args:
        x: a floating-point array.
        s: for each axis how many elements to transform, cut or filled up with zeros.
        axes: the axes; by default the last ones, as many as `s` has, or all.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A real array, of the sizes `s` along the axes.

    >>> from penstock import array_api as xp
    >>> xp.fft.irfftn(xp.asarray([[4.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    z = _complex(x, "irfftn")
    return new(inverse_real_transform(z, *_several(z, "irfftn", s, axes), _checked("irfftn", norm)))


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Compute the real transform of numbers of which the first half is given and the rest its conjugate.

    Args:
        x: a floating-point array.
        n: how many numbers the result has; by default an even number.
        axis: the axis.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A real array, of size `n` along the axis.

    >>> from penstock import array_api as xp
    >>> xp.fft.hfft(xp.asarray([1.0, 0.0, 0.0])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    z = _complex(x, "hfft")
    scale = _REVERSED[_checked("hfft", norm)]
    return new(inverse_real_transform(raw_ops.conj(z), *_one(z, "hfft", n, axis), scale))


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Compute the inverse of `hfft`.

    Args:
        x: a floating-point array.
        n: how many elements to transform, cut or filled up with zeros; by default all.
        axis: the axis.
        norm: `"backward"` scales the inverse by `1 / n`, `"forward"` the other one, `"ortho"` both by its
            root.

    Returns:
        A complex array, of size `n // 2 + 1` along the axis.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.fft.ihfft(xp.asarray([1.0, 1.0, 1.0, 1.0]))).tolist()
    [1.0, 0.0, 0.0]
    """
    real = _real(x, "ihfft")
    scale = _REVERSED[_checked("ihfft", norm)]
    return new(raw_ops.conj(real_transform(real, *_one(real, "ihfft", n, axis), scale)))


def _frequencies(
    function: str, n: int, d: float, dtype: DType | None, device: str | None, both: bool
) -> Tensor:
    """The first half of the frequencies, and with `both` the negative ones."""
    check_device(device, function)
    n = integer(n, "n")
    if n < 1:
        raise ValueError(f"{function}: argument 'n' must be at least 1, got {n}")
    target = DEFAULT_FLOAT if dtype is None else DType(dtype)
    if target not in (_core.float32, _core.float64, _core.float16, _core.bfloat16):
        raise TypeError(f"{function}: argument 'dtype' must be real floating, got {target.name}")
    ends = [(0, (n + 1) // 2), (-(n // 2), 0)] if both else [(0, n // 2 + 1)]
    numbers = [raw_ops.range(*(_core._to_tensor(k, _core.int64) for k in (*end, 1))) for end in ends]
    exact = raw_ops.cast(raw_ops.concat(numbers, axis=0), dtype=_core.float64)
    return new(cast(exact / _core._to_tensor(n * d, _core.float64), target))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Compute the frequency of each coefficient of `n` samples, in cycles per unit of `d`.

    Args:
        n: the number of samples.
        d: the distance between them.
        dtype: a real floating-point dtype, `float32` by default.
        device: the CPU, or None.

    Returns:
        A vector of `n` numbers.

    Raises:
        ValueError: where `n` is below 1.

    >>> from penstock import array_api as xp
    >>> xp.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies("fftfreq", n, d, dtype, device, True)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Compute the frequency of each coefficient that `rfft` gives of `n` samples.

    Args:
        n: the number of samples.
        d: the distance between the samples.
        dtype: a real floating-point dtype, `float32` by default.
        device: the CPU, or None.

    Returns:
        A vector of `n // 2 + 1` numbers.

    >>> from penstock import array_api as xp
    >>> xp.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies("rfftfreq", n, d, dtype, device, False)


def _shifted(x: Array, function: str, axes: int | Sequence[int] | None, back: bool) -> Tensor:
    tensor = array(x, function, "floating")
    rank = len(known_rank(tensor))
    along = range(rank) if axes is None else [axes] if isinstance(axes, int) else axes
    return new(rolled(tensor, [axis_of(axis, rank, "axes") for axis in along], back))


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move the coefficient of frequency 0 to the middle of each axis.

    Args:
        x: an array.
        axes: the axes; all by default.

    Returns:
        An array of the shape and dtype of `x`.

    >>> from penstock import array_api as xp
    >>> xp.fft.fftshift(xp.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted(x, "fftshift", axes, False)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Compute the inverse of `fftshift`.

    Args:
        x: an array.
        axes: the axes; all by default.

    Returns:
        An array of the shape and dtype of `x`.

    >>> from penstock import array_api as xp
    >>> xp.fft.ifftshift(xp.fft.fftshift(xp.fft.fftfreq(3))).tolist() == xp.fft.fftfreq(3).tolist()
    True
    """
    return _shifted(x, "ifftshift", axes, True)
