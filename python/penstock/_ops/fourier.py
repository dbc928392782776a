"""Discrete Fourier transforms along any dimensions, of any lengths and scales, from transforms of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import known_rank, sizes

__all__ = ["NORMS", "complex_transform", "inverse_real_transform", "real_transform", "resized", "rolled"]

# How results are scaled: whether by the length where forward, and where inverse; None for its root both ways.
NORMS: dict[str, tuple[bool, bool] | None] = {
    "backward": (False, True),
    "ortho": None,
    "forward": (True, False),
}


def _swapped(x: _core.Tensor, axis: int) -> _core.Tensor:
    """The tensor with a dimension, counted from the front, and the last one in each other's place."""
    rank = len(known_rank(x))
    if axis == rank - 1:
        return x
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return raw_ops.transpose(x, perm=perm)


def resized(x: _core.Tensor, length: Any) -> _core.Tensor:
    """The tensor with `length` elements along its last dimension: cut, or with zeros behind."""
    rank, size = len(known_rank(x)), sizes(x, 1)[-1]
    if isinstance(size, int) and isinstance(length, int) and size == length:
        return x
    static = isinstance(size, int) and isinstance(length, int)
    if not static or length > size:
        missing = (
            max(length - size, 0) if static else raw_ops.maximum(_scalar(length) - _scalar(size), _scalar(0))
        )
        edges = [[0, 0]] * (rank - 1)
        x = raw_ops.pad(x, [*edges, [0, missing]], _core._to_tensor(0, x.dtype))
    return x if static and length >= size else x[..., :length]


def _scalar(size: Any) -> _core.Tensor:
    if isinstance(size, int):
        return _core._to_tensor(size, _core.int32)
    return raw_ops.cast(_core._to_tensor(size), dtype=_core.int32)


def _scaled(x: _core.Tensor, length: Any) -> _core.Tensor:
    """The tensor divided by the root of a length."""
    if isinstance(length, int):
        return x * (length**-0.5 if length else 0.0)
    real = _core.float64 if x.dtype in (_core.float64, _core.complex128) else _core.float32
    return x * raw_ops.cast(raw_ops.rsqrt(raw_ops.cast(length, dtype=real)), dtype=x.dtype)


def complex_transform(
    x: _core.Tensor, axes: Sequence[int], lengths: Sequence[Any], inverse: bool, norm: str = "backward"
) -> _core.Tensor:
    """The transform of a complex tensor along dimensions.

    Args:
        x: complex, of known rank.
        axes: dimensions, counted from the front.
        lengths: for each how many elements to transform, or None for all.
        inverse: whether to transform back.
        norm: one of `NORMS`.
    """
    for axis, length in zip(axes, lengths, strict=True):
        x = _swapped(x, axis)
        x = x if length is None else resized(x, length)
        scaling = NORMS[norm]
        out = raw_ops.fft(x, inverse=inverse, scaled=scaling is not None and scaling[inverse])
        x = _swapped(out if scaling is not None else _scaled(out, sizes(x, 1)[-1]), axis)
    return x


def real_transform(
    x: _core.Tensor, axes: Sequence[int], lengths: Sequence[Any], norm: str = "backward"
) -> _core.Tensor:
    """The transform of a real tensor, half of it along the last of `axes`; as `complex_transform`."""
    axis, length = axes[-1], lengths[-1]
    x = _swapped(x, axis)
    x = x if length is None else resized(x, length)
    scaling = NORMS[norm]
    out = raw_ops.rfft(x, scaled=scaling is not None and scaling[0])
    out = _swapped(out if scaling is not None else _scaled(out, sizes(x, 1)[-1]), axis)
    return complex_transform(out, axes[:-1], lengths[:-1], False, norm)


def inverse_real_transform(
    x: _core.Tensor, axes: Sequence[int], lengths: Sequence[Any], norm: str = "backward"
) -> _core.Tensor:
    """The real tensor of which `real_transform` gives this one; by default of even length."""
    x = complex_transform(x, axes[:-1], lengths[:-1], True, norm)
    axis, length = axes[-1], lengths[-1]
    x = _swapped(x, axis)
    if length is None:
        length = (sizes(x, 1)[-1] - 1) * 2
    half = length // 2 + 1
    x = resized(x, half)
    scaling = NORMS[norm]
    out = raw_ops.irfft(x, _scalar(length), mirrored=True, scaled=scaling is not None and scaling[1])
    return _swapped(out if scaling is not None else _scaled(out, length), axis)


def rolled(x: _core.Tensor, axes: Sequence[int], back: bool) -> _core.Tensor:
    """The tensor with coefficient 0 in the middle of each of the dimensions, or back at the front."""
    dims = sizes(x)
    for axis in axes:
        half = dims[axis] // 2
        at = half if back else dims[axis] - half
        key = (slice(None),) * axis
        x = raw_ops.concat([x[(*key, slice(at, None))], x[(*key, slice(None, at))]], axis=axis)
    return x
