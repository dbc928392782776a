"""Dtypes, which are NumPy's, their limits and promotion."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._core import DType
from penstock._types.aliases import DTypeLike
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import ArrayLike, public

__all__ = ["finfo", "issubdtype", "promote_types", "result_type"]


@public
def finfo(dtype: DTypeLike) -> np.finfo[np.floating]:
    """Tell the limits of a floating-point dtype.

    Returns:
        NumPy's limits.

    >>> float(tnp.finfo(tnp.float32).eps)
    1.1920928955078125e-07
    """
    return np.finfo(promotion.as_dtype(dtype).as_numpy_dtype)


@public
def result_type(*arrays_and_dtypes: ArrayLike | DTypeLike) -> DType:
    """Find the dtype that arrays, dtypes and Python numbers promote to.

    Returns:
        The dtype; `float64` for none.

    Raises:
        TypeError: where there is none, or the mode "safe" does not allow it.

    >>> tnp.result_type(tnp.int32, tnp.float32, 1.0)
    tf.float64
    """
    return promotion.kind_of(
        *((promotion.as_dtype(a) if isinstance(a, type) else a) for a in arrays_and_dtypes)
    ).dtype


@public
def promote_types(type1: DTypeLike, type2: DTypeLike) -> np.dtype[Any]:
    """Find the least dtype to which two can be converted without loss, by NumPy's rules.

    Returns:
        A dtype of NumPy.

    Raises:
        TypeError: where there is none.

    >>> tnp.promote_types(tnp.int32, tnp.float32)
    dtype('float64')
    """
    return np.dtype(promotion.of_dtypes(promotion.as_dtype(type1), promotion.as_dtype(type2)).as_numpy_dtype)


@public
def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Tell whether a dtype is of a class of dtypes.

    Returns:
        Whether it is.

    >>> tnp.issubdtype(tnp.float32, tnp.inexact)
    True
    """
    first, second = (arg.as_numpy_dtype if isinstance(arg, DType) else arg for arg in (arg1, arg2))
    return bool(np.issubdtype(first, second))
