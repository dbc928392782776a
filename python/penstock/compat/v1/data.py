"""Data sets of TensorFlow 1, and their iterators; all else is that of `tf.data`."""

from __future__ import annotations

import importlib

from penstock import data as current
from penstock.compat.v1._datasets import (
    Dataset as Dataset,
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from penstock.compat.v1._iterators import (
    Iterator as Iterator,
    get_output_classes as get_output_classes,
    get_output_shapes as get_output_shapes,
    get_output_types as get_output_types,
    make_initializable_iterator as make_initializable_iterator,
    make_one_shot_iterator as make_one_shot_iterator,
)

__all__ = [
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "TFRecordDataset",
    "TextLineDataset",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]


def __getattr__(name: str) -> object:
    if name == "experimental":
        return importlib.import_module("penstock.compat.v1._data_experimental")
    return getattr(current, name)
