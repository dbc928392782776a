"""`tf.data.experimental` of TensorFlow 1, whose data sets have the methods of TensorFlow 1."""

from __future__ import annotations

import functools
import inspect

from penstock.compat.v1._datasets import Methods, keeping
from penstock.data import experimental

__all__ = ["CsvDataset", "SqlDataset"]

_RENAMED = {"map_and_batch_with_legacy_function": "map_and_batch"}


class CsvDataset(Methods, experimental.CsvDataset):
    """A `tf.data.experimental.CsvDataset` with the methods of TensorFlow 1.

    >>> import penstock as tf
    >>> tf.compat.v1.data.experimental.CsvDataset([], [1.0]).output_types
    (tf.float32,)
    """


class SqlDataset(Methods, experimental.SqlDataset):
    """A `tf.data.experimental.SqlDataset` with the methods of TensorFlow 1.

    >>> import penstock as tf
    >>> rows = tf.compat.v1.data.experimental.SqlDataset("sqlite", ":memory:", "select 1", (tf.int32,))
    >>> rows.output_types
    (tf.int32,)
    """


@functools.cache
def __getattr__(name: str) -> object:
    value = getattr(experimental, _RENAMED.get(name, name))
    return keeping(value) if inspect.isfunction(value) else value
