"""The interface of libraries of operators, `penstock_plugin.h`, as `ctypes` sees it.

It is imported where a library is loaded, so that programs without one need neither ctypes nor NumPy for it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock import _core
from penstock._types.specs import TensorSpec
from penstock.errors import InvalidArgumentError

__all__ = ["Operator", "open_library"]

_VERSION: Final = 1
# Versions that libraries for later releases may have, to name theirs in an error.
_LATER: Final = range(_VERSION + 1, 20)
_MAX_RANK: Final = 32
_MAX_MESSAGE: Final = 1024
_STATEFUL: Final = 1

_FOREIGN: Final = (
    "Libraries built for TensorFlow's C++ API are not binary compatible: docs/custom_operators.md says how "
    "operators are written in Rust and C"
)


class _Type(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.c_int64 * _MAX_RANK),
    )


class _Error(ctypes.Structure):
    _fields_ = (("message", ctypes.c_char * _MAX_MESSAGE),)


_Names = ctypes.POINTER(ctypes.c_char_p)
_TYPES = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.POINTER(_Type),
    ctypes.POINTER(_Type),
    ctypes.POINTER(_Error),
)
_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.POINTER(_Type),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(_Type),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(_Error),
)


class _Operator(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("doc", ctypes.c_char_p),
        ("inputs", _Names),
        ("outputs", _Names),
        ("gradient", ctypes.c_char_p),
        ("flags", ctypes.c_uint64),
        ("types", _TYPES),
        ("run", _RUN),
        ("data", ctypes.c_void_p),
    )


class _Library(ctypes.Structure):
    _fields_ = (("operators", ctypes.POINTER(_Operator)), ("len", ctypes.c_size_t))


_DTYPES: Final[dict[int, _core.DType]] = {
    dtype.as_datatype_enum: dtype
    for dtype in (
        *(_core.float32, _core.float64, _core.float16, _core.bfloat16, _core.bool),
        *(_core.int8, _core.int16, _core.int32, _core.int64),
        *(_core.uint8, _core.uint16, _core.uint32, _core.uint64),
        *(_core.complex64, _core.complex128),
    )
}


@functools.cache
def _number(dtype: Any) -> int:
    """The number of a dtype of NumPy, whose names are ours."""
    return next(number for number, own in _DTYPES.items() if own.name == dtype.name)


# What is known of a tensor: the number of its dtype, and its sizes, of which None is one that is not known;
# or None in place of the sizes.
_Known = tuple[int, tuple[int | None, ...] | None]


class Operator:
    """An operator of a library.

    Attributes:
        name: what it is called.
        doc: what it does.
        inputs: the names of its inputs.
        outputs: the names of its results.
        gradient: the name of the operator that computes its gradients, or None.
        stateful: whether it does more than compute its results.
    """

    def __init__(self, found: _Operator) -> None:
        self.name = _text(found.name)
        self.doc = _text(found.doc)
        self.inputs = tuple(_names(found.inputs))
        self.outputs = tuple(_names(found.outputs))
        self.gradient = _text(found.gradient) or None
        self.stateful = bool(found.flags & _STATEFUL)
        if found.flags & ~_STATEFUL:
            raise ValueError(f"the operator '{self.name}' has flags that nobody knows: {found.flags:#x}")
        if not found.types or not found.run:
            raise ValueError(f"the operator '{self.name}' lacks the function 'types' or 'run'")
        if not self.outputs and not self.stateful:
            raise ValueError(f"the operator '{self.name}' has neither results nor the flag PENSTOCK_STATEFUL")
        self._data, self._call_types, self._call_run = found.data, found.types, found.run
        # Kernels are asked with few kinds of arguments again and again.
        self._types = functools.lru_cache(maxsize=256)(self._find_types)

    def result_specs(self, inputs: Sequence[TensorSpec]) -> list[TensorSpec]:
        """Say what the results are.

        Args:
            inputs: what is known of each input.

        Returns:
            What is known of each result.

        Raises:
            ValueError: where there is none for such inputs, with the reason of the operator.
        """
        known: list[_Known] = []
        for name, spec in zip(self.inputs, inputs, strict=True):
            number = spec.dtype.as_datatype_enum
            if number not in _DTYPES:
                raise ValueError(
                    f"argument '{name}' is of {spec.dtype.name}, which no operator of a library takes"
                )
            known.append((number, spec.shape._dims))
        _, _, found = self._types(tuple(known))
        return [TensorSpec(sizes, _DTYPES[number]) for number, sizes in found]

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Compute the results.

        Args:
            arrays: the inputs, arrays of NumPy.

        Returns:
            The results, new arrays.

        Raises:
            ValueError: where it fails, with the reason of the operator.
        """
        inputs = [_plain(array) for array in arrays]
        takes, gives, found = self._types(tuple((_number(a.dtype), a.shape) for a in inputs))
        outputs = []
        for name, (number, sizes) in zip(self.outputs, found, strict=True):
            known = [n for n in sizes or () if n is not None]
            if sizes is None or len(known) < len(sizes):
                raise ValueError(f"it does not know all sizes of the result '{name}' when it runs")
            outputs.append(np.zeros(known, _DTYPES[number].as_numpy_dtype))
        error = _Error()
        # Without the lock of the interpreter.
        failed = self._call_run(self._data, takes, _places(inputs), gives, _places(outputs), error)
        if failed:
            raise ValueError(_reason(error))
        return outputs

    def _find_types(self, inputs: tuple[_Known, ...]) -> tuple[Any, Any, list[_Known]]:
        """The types of inputs and results for a call, and what the latter say."""
        takes, gives = (_Type * len(inputs))(), (_Type * len(self.outputs))()
        for place, (number, sizes) in zip(takes, inputs, strict=True):
            if sizes is not None and len(sizes) > _MAX_RANK:
                raise ValueError(f"an argument has {len(sizes)} dimensions, at most {_MAX_RANK} can be")
            place.dtype, place.rank = number, -1 if sizes is None else len(sizes)
            place.sizes[:] = _padded(() if sizes is None else sizes)
        for place in gives:
            place.rank = -1
            place.sizes[:] = _padded(())
        error = _Error()
        if self._call_types(self._data, takes, gives, error):
            raise ValueError(_reason(error))
        found: list[_Known] = []
        for name, place in zip(self.outputs, gives, strict=True):
            if place.dtype not in _DTYPES:
                raise ValueError(f"it says that the result '{name}' has the dtype of number {place.dtype}")
            if not -1 <= place.rank <= _MAX_RANK:
                raise ValueError(f"it says that the result '{name}' has {place.rank} dimensions")
            sizes = tuple(None if n < 0 else n for n in place.sizes[: max(place.rank, 0)])
            found.append((place.dtype, None if place.rank < 0 else sizes))
        return takes, gives, found


def open_library(path: Path) -> list[Operator]:
    """Load a library.

    Args:
        path: the file, which exists.

    Returns:
        Its operators.

    Raises:
        InvalidArgumentError: where the file is no library, or none of this version of the interface.
    """
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise InvalidArgumentError(f"argument 'library_filename': {error}. {_FOREIGN}") from error
    entry = _entry(library, _VERSION)
    if entry is None:
        raise InvalidArgumentError(f"argument 'library_filename': '{path}' {_other(library)}")
    entry.restype = ctypes.POINTER(_Library)
    found = entry()
    if not found:
        raise InvalidArgumentError(f"argument 'library_filename': '{path}' failed to describe its operators")
    try:
        return [Operator(found.contents.operators[i]) for i in range(found.contents.len)]
    except ValueError as error:
        raise InvalidArgumentError(f"argument 'library_filename': '{path}': {error}") from error


def _entry(library: ctypes.CDLL, version: int) -> Any:
    return getattr(library, f"penstock_operators_v{version}", None)


def _other(library: ctypes.CDLL) -> str:
    """What a library without the right function is."""
    version = next((v for v in _LATER if _entry(library, v) is not None), None)
    if version is not None:
        return f"is built for version {version} of penstock_plugin.h, this release loads version {_VERSION}"
    return f"is no library of operators: it lacks the function penstock_operators_v{_VERSION}. {_FOREIGN}"


def _text(found: bytes | None) -> str:
    return "" if found is None else found.decode(errors="replace")


def _names(found: Any) -> Iterator[str]:
    i = 0
    while found and found[i] is not None:
        yield _text(found[i])
        i += 1


def _reason(error: _Error) -> str:
    return _text(error.message) or "it failed, and does not say why"


def _padded(sizes: Sequence[int | None]) -> list[int]:
    known = [-1 if n is None else n for n in sizes]
    return known + [-1] * (_MAX_RANK - len(known))


def _plain(array: Any) -> Any:
    """The array with its elements row-major and aligned."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, requirements=("C", "A"))


def _places(arrays: Sequence[Any]) -> Any:
    """The addresses of the elements of arrays."""
    addresses = (array.__array_interface__["data"][0] for array in arrays)
    return (ctypes.c_void_p * len(arrays))(*addresses)
