"""`tf.data`: sequences of elements that are computed as they are iterated over, in programs and in graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock._runtime.public_names import publish as _publish
from penstock.data._dataset import Dataset as Dataset
from penstock.data._files import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from penstock.data._iterator import Iterator as Iterator, NumpyIterator as NumpyIterator
from penstock.data._node import INFINITE, UNKNOWN
from penstock.data._options import Options as Options, ThreadingOptions as ThreadingOptions
from penstock.data._specs import DatasetSpec as DatasetSpec, IteratorSpec as IteratorSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]

AUTOTUNE = -1
INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN

if TYPE_CHECKING:
    from penstock.data import experimental as experimental
else:

    def __getattr__(name: str) -> object:
        if name == "experimental":
            import importlib  # no name of this module

            return importlib.import_module("penstock.data.experimental")
        raise AttributeError(f"module 'penstock.data' has no attribute {name!r}")


_publish(__name__)
