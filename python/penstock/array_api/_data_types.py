"""Data types: their kinds, limits and promotion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock import _core
from penstock._core import DType, Tensor
from penstock.array_api._arrays import (
    KINDS,
    Array,
    Scalar,
    array,
    cast,
    check_device,
    common_dtype,
    is_scalar,
    new,
)

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """Limits of a floating-point dtype; of complex ones those of their parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


# The bits of the significand that are stored, and those of the exponent.
_FORMATS = {
    _core.float16: (10, 5),
    _core.bfloat16: (7, 8),
    _core.float32: (23, 8),
    _core.float64: (52, 11),
}


def _dtype(of: Any) -> DType:
    return of.dtype if isinstance(of, Tensor | _core._Variable) else _core.DType(getattr(of, "dtype", of))


def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Convert the values to another dtype.

    Args:
        x: an array.
        dtype: a dtype of any kind; from complex only to complex and `bool`.
        copy: accepted and ignored, since tensors are immutable.
        device: the CPU, or None.

    Returns:
        An array of the shape of `x`, of this dtype.

    Raises:
        TypeError: from complex to a real dtype, since it is open which part is meant.

    >>> from penstock import array_api as xp
    >>> xp.astype(xp.asarray([1.7, -1.7]), xp.int32).tolist()
    [1, -1]
    """
    check_device(device, "astype")
    x, target = array(x, "astype"), _core.DType(dtype)
    if x.dtype.is_complex and not (target.is_complex or target == _core.bool):
        raise TypeError(
            f"astype: cannot convert {x.dtype.name} to {target.name}; use real(), imag() or abs()"
        )
    return new(cast(x, target))


def can_cast(from_: DType | Array, to: DType, /) -> bool:
    """Tell whether promotion can lead from one dtype to another.

    Args:
        from_: a dtype, or an array of it.
        to: a dtype.

    Returns:
        Whether it can.

    >>> from penstock import array_api as xp
    >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.int16, xp.int8)
    (True, False)
    """
    target = _core.DType(to)
    return _core._promote(_dtype(from_), target) == target


def finfo(type: DType | Array, /) -> FloatLimits:
    """Tell the limits of a floating-point dtype.

    Args:
        type: a dtype, or an array of it.

    Returns:
        The limits, as Python numbers.

    Raises:
        TypeError: for a dtype that is neither floating-point nor complex.

    >>> from penstock import array_api as xp
    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype(type)
    if dtype not in KINDS["floating"]:
        raise TypeError(f"finfo: argument 'type' must be a floating-point dtype, got {dtype.name}")
    real = dtype.real_dtype
    significand, exponent = _FORMATS[real]
    top = 2 ** (exponent - 1) - 1
    largest = float(2 ** (top - significand) * (2 ** (significand + 1) - 1))
    return FloatLimits(
        bits=8 * real.size,
        eps=2.0**-significand,
        max=largest,
        min=-largest,
        smallest_normal=2.0 ** (1 - top),
        dtype=real,
    )


def iinfo(type: DType | Array, /) -> IntegerLimits:
    """Tell the limits of an integer dtype.

    Args:
        type: a dtype, or an array of it.

    Returns:
        The limits, as Python numbers.

    Raises:
        TypeError: for a dtype that is no integer one.

    >>> from penstock import array_api as xp
    >>> xp.iinfo(xp.int8).max
    127
    """
    dtype = _dtype(type)
    if dtype not in KINDS["integral"]:
        raise TypeError(f"iinfo: argument 'type' must be an integer dtype, got {dtype.name}")
    bits = 8 * dtype.size
    low = 0 if dtype.is_unsigned else -(2 ** (bits - 1))
    return IntegerLimits(bits=bits, max=low + 2**bits - 1, min=low, dtype=dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Tell whether a dtype is of a kind, one of several kinds, or equal to another dtype.

    Args:
        dtype: the dtype.
        kind: `"bool"`, `"signed integer"`, `"unsigned integer"`, `"integral"`, `"real floating"` (to which
            `float16` and `bfloat16` count), `"complex floating"`, `"numeric"`, a dtype, or a tuple of these.

    Returns:
        Whether it is so.

    Raises:
        ValueError: for another kind.

    >>> from penstock import array_api as xp
    >>> xp.isdtype(xp.float32, ("integral", "real floating"))
    True
    """
    own = _core.DType(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(own, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _PUBLIC_KINDS:
            raise ValueError(f"isdtype: argument 'kind' must be one of {sorted(_PUBLIC_KINDS)}, got {kind!r}")
        return own in KINDS[kind]
    return own == _core.DType(kind)


_PUBLIC_KINDS = (
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
)


def result_type(*arrays_and_dtypes: Array | DType | Scalar) -> DType:
    """Find the dtype that arrays, dtypes and Python scalars promote to.

    Args:
        *arrays_and_dtypes: arrays, dtypes and Python scalars.

    Returns:
        The dtype.

    Raises:
        TypeError: where there is none, as for an integer and a floating-point dtype.

    >>> from penstock import array_api as xp
    >>> xp.result_type(xp.uint8, xp.int8, 1)
    tf.int16
    """
    scalars: list[Any] = [a for a in arrays_and_dtypes if is_scalar(a)]
    return common_dtype((_dtype(a) for a in arrays_and_dtypes if not is_scalar(a)), scalars)
