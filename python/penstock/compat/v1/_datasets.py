"""Data sets of TensorFlow 1: those of `tf.data`, with methods that make iterators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock import data as current
from penstock.compat.v1._iterators import (
    ElementTypes,
    make_initializable_iterator,
    make_one_shot_iterator,
)

__all__ = ["Dataset", "FixedLengthRecordDataset", "Methods", "TFRecordDataset", "TextLineDataset", "keeping"]


def _of_version_1(made: Any) -> Any:
    """Give a data set that was made just now the methods of TensorFlow 1; anything else as it is."""
    if type(made) is current.Dataset:
        made.__class__ = Dataset
    return made


def keeping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of data sets, which gives those of TensorFlow 1."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _of_version_1(function(*args, **kwargs))

    return call


class Methods(ElementTypes):
    """What data sets of TensorFlow 1 have beyond those of `tf.data`.

    >>> import penstock as tf
    >>> isinstance(tf.compat.v1.data.Dataset.range(2), Methods)
    True
    """

    __slots__ = ()

    def make_one_shot_iterator(self) -> Any:
        """Do as `tf.compat.v1.data.make_one_shot_iterator`.

        Returns:
            The iterator.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        ...     following = tf.compat.v1.data.Dataset.range(2).make_one_shot_iterator().get_next()
        ...     int(sess.run(following)), int(sess.run(following))
        (0, 1)
        """
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Do as `tf.compat.v1.data.make_initializable_iterator`.

        Args:
            shared_name: accepted and ignored.

        Returns:
            The iterator.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        ...     it = tf.compat.v1.data.Dataset.range(5, 7).make_initializable_iterator()
        ...     sess.run(it.initializer)
        ...     int(sess.run(it.get_next()))
        5
        """
        return make_initializable_iterator(self, shared_name)

    def map_with_legacy_function(self, map_func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do as `map`.

        Args:
            map_func: the function.
            *args: as for `map`.
            **kwargs: as for `map`.

        Returns:
            The data set.

        >>> import penstock as tf
        >>> numbers = tf.compat.v1.data.Dataset.range(2).map_with_legacy_function(lambda x: x + 1)
        >>> [int(x) for x in numbers]
        [1, 2]
        """
        return self.map(map_func, *args, **kwargs)  # type: ignore[attr-defined]

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Any:
        """Do as `filter`.

        Args:
            predicate: the function.

        Returns:
            The data set.

        >>> import penstock as tf
        >>> numbers = tf.compat.v1.data.Dataset.range(4).filter_with_legacy_function(lambda x: x > 1)
        >>> [int(x) for x in numbers]
        [2, 3]
        """
        return self.filter(predicate)  # type: ignore[attr-defined]


# Methods that give a data set get here one that gives a data set of TensorFlow 1.
for _name, _member in vars(current.Dataset).items():
    if isinstance(_member, staticmethod):
        setattr(Methods, _name, staticmethod(keeping(_member.__func__)))
    elif callable(_member) and not _name.startswith("_"):
        setattr(Methods, _name, keeping(_member))


class Dataset(Methods, current.Dataset[Any]):
    """A `tf.data.Dataset` with the methods of TensorFlow 1, as are those that are made of it.

    >>> import penstock as tf
    >>> numbers = tf.compat.v1.data.Dataset.range(4).batch(2)
    >>> numbers.output_types, numbers.output_shapes
    (tf.int64, TensorShape([None]))
    """


class TextLineDataset(Methods, current.TextLineDataset):
    """A `tf.data.TextLineDataset` with the methods of TensorFlow 1.

    >>> import penstock as tf
    >>> tf.compat.v1.data.TextLineDataset(tf.__file__).output_types
    tf.string
    """


class FixedLengthRecordDataset(Methods, current.FixedLengthRecordDataset):
    """A `tf.data.FixedLengthRecordDataset` with the methods of TensorFlow 1.

    >>> import penstock as tf
    >>> tf.compat.v1.data.FixedLengthRecordDataset(tf.__file__, 1).output_types
    tf.string
    """


class TFRecordDataset(Methods, current.TFRecordDataset):
    """A `tf.data.TFRecordDataset` with the methods of TensorFlow 1.

    >>> import penstock as tf
    >>> tf.compat.v1.data.TFRecordDataset([]).output_types
    tf.string
    """
