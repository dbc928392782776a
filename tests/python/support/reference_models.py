"""Forms in which models of operators are written: exact, in a wider dtype, in the dtype of the operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

Array = np.ndarray
Model = Callable[..., Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = (np.dtype("float16"), BFLOAT16)
WIDER = {
    np.dtype("float16"): np.float64,
    BFLOAT16: np.float64,
    np.dtype("float32"): np.float64,
    np.dtype("float64"): np.longdouble,
    np.dtype("complex64"): np.complex128,
    np.dtype("complex128"): np.clongdouble,
}


class Near(NamedTuple):
    """A result that the operator gives up to rounding, of itself and of the terms that it is a sum of."""

    value: Array
    # The magnitude of the terms, where they cancel.
    terms: Any = 0


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype == BFLOAT16


def limits(dtype: np.dtype) -> tuple[Any, Any]:
    """The least and the greatest value."""
    if is_float(dtype):
        return -np.inf, np.inf
    info = np.iinfo(dtype)
    return info.min, info.max


def single(x: Array) -> Array:
    """Floats of 16 bits as `float32`, what they are computed in."""
    return x.astype("float32") if x.dtype in HALVES else x


def rounded(x: Any) -> Any:
    """A result computed in a wider dtype, unless it is not a float and so exact."""
    return Near(np.asarray(x)) if not isinstance(x, Near) and np.asarray(x).dtype.kind in "fc" else x


def near(f: Model) -> Model:
    """Computes floats in a wider dtype."""

    def model(*operands: Array, **attributes: Any) -> Any:
        result = f(*(x.astype(WIDER.get(x.dtype, x.dtype)) for x in operands), **attributes)
        return tuple(map(rounded, result)) if type(result) is tuple else rounded(result)

    return model


def special(f: Model) -> Model:
    """A function of SciPy that knows no `longdouble`."""

    def model(x: Array) -> Near:
        return Near(np.asarray(f(x.astype("float64")), WIDER[x.dtype]))

    return model


def own(f: Model) -> Model:
    """Computes in the dtype of the operands; floats of 16 bits in `float32`, rounded once."""

    def model(*operands: Array, **attributes: Any) -> Array:
        halves = [x.dtype for x in operands if x.dtype in HALVES]
        result = np.asarray(f(*map(single, operands), **attributes))
        return result.astype(halves[0]) if halves and result.dtype == np.float32 else result

    return model


def arithmetic(f: Model) -> Model:
    """Exact on all but complex numbers, whose products and quotients round in more than one way."""

    def model(*operands: Array, **attributes: Any) -> Any:
        return (near if operands[0].dtype.kind == "c" else own)(f)(*operands, **attributes)

    return model


def predicate(f: Model) -> Model:
    """A function with a boolean result."""
    return lambda *operands: np.asarray(f(*map(single, operands)))


def like(x: Array, value: Any) -> Array:
    """A result of the dtype of `x`."""
    return np.asarray(value).astype(x.dtype)
