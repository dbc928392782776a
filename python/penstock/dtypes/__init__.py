"""Element types, and conversions between them."""

from __future__ import annotations

from typing import Final

from penstock._core import (
    DType as DType,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    resource as resource,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    variant as variant,
)
from penstock._ops.casts import cast as cast, saturate_cast as saturate_cast
from penstock._ops.complex_numbers import complex as complex
from penstock._types.dtype_names import as_dtype as as_dtype
from penstock.dtypes import experimental as experimental

__all__ = [
    "QUANTIZED_DTYPES",
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex64",
    "complex128",
    "double",
    "experimental",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "qint8",
    "qint16",
    "qint32",
    "quint8",
    "quint16",
    "resource",
    "saturate_cast",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "variant",
]

double: Final = float64
half: Final = float16
# Quantized types are the integers that they are made of; none is one that only quantized tensors have.
qint8: Final = int8
qint16: Final = int16
qint32: Final = int32
quint8: Final = uint8
quint16: Final = uint16
QUANTIZED_DTYPES: Final[frozenset[DType]] = frozenset()
