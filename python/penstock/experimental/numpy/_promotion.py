"""Which dtype operands of several dtypes promote to: NumPy's rules, and the lattice of the newer modes."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._core import DType
from penstock._types.shape import TensorShape
from penstock.errors import DTypeError

__all__ = ["Kind", "as_dtype", "default_float", "is_weak", "kind_of", "of_dtypes", "settings"]


class Settings:
    """What `experimental_enable_numpy_behavior` has chosen, for the whole process.

    Attributes:
        prefer_float32: whether Python's floats are `float32`.
        mode: how operators promote dtypes: "off", "legacy", "all" or "safe".
    """

    prefer_float32 = False
    mode = "off"

    @property
    def lattice(self) -> bool:
        """Whether dtypes promote by the lattice, and those of Python's numbers are weak."""
        return self.mode in ("all", "safe")


settings = Settings()


class Kind(NamedTuple):
    """A dtype, and whether it is weak: inferred from Python's numbers, so that it gives way to others."""

    dtype: DType
    weak: bool = False


# What Python's numbers are to the lattice, from the one that gives way to all others up.
WEAK = (_core.int32, _core.int64, _core.float32, _core.float64, _core.complex128)
_PYTHON: dict[type, DType] = {
    bool: _core.bool,
    int: _core.int64,
    float: _core.float64,
    complex: _core.complex128,
}
_LATTICE_PYTHON: dict[type, Kind] = {
    bool: Kind(_core.bool),
    int: Kind(_core.int32, True),
    float: Kind(_core.float32, True),
    complex: Kind(_core.complex128, True),
}
_INT32 = range(-(2**31), 2**31)
_SHORT = (_core.float16, _core.bfloat16, _core.float32)


# --- NumPy's rules ---


@functools.cache
def of_dtypes(a: DType, b: DType) -> DType:
    """What two dtypes promote to by NumPy's rules."""
    if a == b:
        return a
    if _core.bfloat16 in (a, b):
        other = b if a == _core.bfloat16 else a
        if other in (_core.bool, _core.int8, _core.uint8):
            return _core.bfloat16
        if other.is_integer or other in (_core.float16, _core.string):
            raise TypeError(f"dtypes {a.name} and {b.name} have no common dtype; use tf.cast")
        return other
    if _core.string in (a, b):
        raise TypeError(f"dtypes {a.name} and {b.name} have no common dtype")
    return _core.DType(np.promote_types(a.as_numpy_dtype, b.as_numpy_dtype))


def _with_python(dtype: DType, kind: type) -> DType:
    """What a dtype and a Python number of a class promote to: the number has no width of its own."""
    if kind is bool:
        return dtype
    if kind is int:
        return _core.int64 if dtype == _core.bool else dtype
    if settings.prefer_float32:
        return of_dtypes(dtype, _core.float32 if kind is float else _core.complex64)
    if kind is float:
        wide = dtype == _core.bfloat16 or not (dtype.is_floating or dtype.is_complex)
        return _core.float64 if wide else dtype
    if dtype.is_complex:
        return dtype
    return _core.complex64 if dtype in _SHORT else _core.complex128


def _of_python(kind: type) -> DType:
    if settings.prefer_float32 and kind in (float, complex):
        return _core.float32 if kind is float else _core.complex64
    return _PYTHON[kind]


def _legacy(kinds: Iterable[Any]) -> DType:
    """What dtypes, and classes of Python numbers, promote to by NumPy's rules."""
    dtypes: list[DType] = []
    numbers: list[type] = []
    for kind in kinds:
        (numbers if isinstance(kind, type) else dtypes).append(kind)
    highest = max(numbers, key=list(_PYTHON).index, default=None)
    if not dtypes:
        return _core.float64 if highest is None else _of_python(highest)
    common = functools.reduce(of_dtypes, dtypes)
    if highest is None:
        return common
    if common == _core.string:
        raise TypeError(f"texts and a Python {highest.__name__} have no common dtype")
    return _with_python(common, highest)


# --- the lattice ---


def _digits(dtype: DType) -> int:
    """How many binary digits the numbers of a dtype have exactly."""
    real = dtype.real_dtype
    if real.is_floating:
        return {_core.float16: 11, _core.bfloat16: 8, _core.float32: 24, _core.float64: 53}[real]
    return 8 * real.size - (not real.is_unsigned)


def _lowest_above(a: Kind, b: Kind) -> Kind:
    """The lowest kind above both in the lattice."""
    if a.weak and b.weak:
        return max(a, b, key=lambda kind: WEAK.index(kind.dtype))
    if a.weak or b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        if strong.dtype == _core.bool:
            return weak
        if weak.dtype.is_integer:
            return strong
        if strong.dtype.is_integer:
            return Kind(_core.float64 if weak.dtype.is_floating else weak.dtype, True)
        if weak.dtype.is_complex and not strong.dtype.is_complex:
            return Kind(_core.complex64 if strong.dtype in _SHORT else _core.complex128)
        return strong
    x, y = a.dtype, b.dtype
    if x.is_integer and y.is_integer:
        if _core.uint64 in (x, y) and not (x.is_unsigned and y.is_unsigned):
            return Kind(_core.float64, True)
        return Kind(of_dtypes(x, y))
    if x == _core.bool or (x.is_integer and y != _core.bool):
        return b
    if y == _core.bool or y.is_integer:
        return a
    return Kind(_core.float32 if {x, y} == {_core.float16, _core.bfloat16} else of_dtypes(x, y))


def _is_safe(a: Kind, b: Kind, above: Kind) -> bool:
    """Whether a promotion loses no digits and makes nothing wider than both operands are."""
    if _core.bool in (a.dtype, b.dtype):
        return True
    if any(kind.weak and kind.dtype.is_integer for kind in (a, b)):
        return True
    if above.dtype not in (a.dtype, b.dtype):
        return False
    return all(
        kind.dtype.is_floating or kind.dtype.is_complex or _digits(kind.dtype) <= _digits(above.dtype)
        for kind in (a, b)
    )


@functools.cache
def joined(a: Kind, b: Kind, mode: str) -> Kind:
    """What two kinds promote to.

    Raises:
        TypeError: where the mode does not allow it, or there is none.
    """
    if a == b:
        return a
    if _core.string in (a.dtype, b.dtype):
        raise DTypeError(f"dtypes {a.dtype.name} and {b.dtype.name} have no common dtype")
    above = _lowest_above(a, b)
    if mode == "safe" and not _is_safe(a, b, above):
        raise TypeError(
            f"dtypes {_text(a)} and {_text(b)} are not promoted in mode 'safe', since digits would be lost "
            f"or the result be wider than both; give the dtype, or use dtype_conversion_mode='all'"
        )
    return above


def _text(kind: Kind) -> str:
    return f"{kind.dtype.name} (weak)" if kind.weak else kind.dtype.name


# --- values ---

_TENSORS = (_core.Tensor, _core._Variable)
_ARRAYS = (np.ndarray, np.generic)
_SEQUENCES = (list, tuple, range)


def _leaf(value: Any) -> Any:
    """The dtype of a value that is no list, or the class of a Python number."""
    if isinstance(value, _TENSORS):
        return value.dtype
    if isinstance(value, DType):
        return value
    if isinstance(value, _ARRAYS):
        return _core.DType(value.dtype)
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return int if -(2**63) <= value < 2**63 else _core.uint64
    if isinstance(value, (float, complex)):
        return float if isinstance(value, float) else complex
    if isinstance(value, (str, bytes)):
        return _core.string
    if isinstance(value, TensorShape):
        return _core.int32
    if value is float and settings.lattice:
        return float
    if hasattr(value, "__array__") and not isinstance(value, type):
        return _core.DType(value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype)
    return _core.DType(getattr(value, "dtype", value) if not isinstance(value, type) else value)


def _leaves(value: Any, found: dict[Any, bool]) -> None:
    """Adds what a value is to what was found: dtypes, whether they are weak, and classes of numbers."""
    if isinstance(value, _SEQUENCES):
        for part in value[:1] if isinstance(value, range) else value:
            _leaves(part, found)
        return
    leaf = _leaf(value)
    if settings.lattice and leaf is int and value not in _INT32:
        raise OverflowError(f"a Python integer of a weak dtype must fit into int32, got {value}")
    found[leaf, is_weak(value)] = True


def is_weak(value: Any) -> bool:
    """Whether a tensor is weak."""
    return isinstance(value, _core.Tensor) and getattr(value, "_weak", False)


def kind_of(*values: Any, lattice: bool | None = None) -> Kind:
    """The kind that values, nests of them and dtypes promote to together, by NumPy's rules or the lattice."""
    found: dict[Any, bool] = {}
    for value in values:
        _leaves(value, found)
    if not (settings.lattice if lattice is None else lattice):
        return Kind(_legacy(leaf for leaf, _ in found))
    kinds = [_LATTICE_PYTHON[k] if isinstance(k, type) else Kind(k, weak) for k, weak in found]
    if not kinds:
        return Kind(_core.float32, True)
    mode = settings.mode
    return functools.reduce(lambda a, b: joined(a, b, mode), kinds)


def of_operand(dtype: DType, other: Any) -> DType:
    """What a tensor's dtype and another operand promote to by NumPy's rules; the quick way of `kind_of`."""
    if isinstance(other, _TENSORS):
        return of_dtypes(dtype, other.dtype)
    kind = type(other)
    known = kind is float or kind is complex or (kind is int and -(2**63) <= other < 2**63)
    if known and dtype != _core.string:
        return _with_python(dtype, kind)
    return kind_of(dtype, other, lattice=False).dtype


def default_float() -> DType:
    """The dtype that functions of real numbers give for integers."""
    return _core.float32 if settings.lattice else _core.float64


def as_dtype(dtype: Any) -> DType:
    """A `dtype` argument: what NumPy or TensorFlow takes for one. Python's classes are NumPy's dtypes."""
    if settings.lattice and isinstance(dtype, type) and dtype in _LATTICE_PYTHON:
        return _LATTICE_PYTHON[dtype].dtype
    if isinstance(dtype, type) and dtype in _PYTHON:
        return _PYTHON[dtype]
    return _core.DType(dtype)
