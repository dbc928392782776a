"""`tf.data.DatasetSpec` and `tf.data.IteratorSpec`: what is known of data sets and iterators as values."""

from __future__ import annotations

from collections.abc import Iterator as PyIterator
from typing import Any

from penstock import _core
from penstock._element_spec import ElementSpec
from penstock.data._handles import HANDLE, held
from penstock.data._structure import Structure, checked_spec

__all__ = ["DatasetSpec", "IteratorSpec"]


class DatasetSpec(ElementSpec):
    """What is known of a data set: the specification of its elements. A trace serves all data sets of one.

    Args:
        element_spec: a nest of `tf.TypeSpec`.
        dataset_shape: accepted; only the default has a meaning.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(3)
    >>> tf.data.DatasetSpec(ds.element_spec).is_compatible_with(ds)
    True
    """

    __slots__ = ()

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(checked_spec(element_spec, "element_spec"))

    @property
    def value_type(self) -> type:
        """`tf.data.Dataset`."""
        from penstock.data._dataset import Dataset

        return Dataset

    def flatten(self) -> list[Any]:
        """The specification of the tensor that stands for it."""
        return [HANDLE]

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensor that stands for a data set."""
        return [value._handle()]

    def from_tensors(self, tensors: PyIterator[Any]) -> Any:
        """The data set that a tensor stands for."""
        return self.value_type._of_handle(next(tensors), self._element_spec)  # type: ignore[attr-defined]


class IteratorSpec(ElementSpec):
    """What is known of an iterator: the specification of its elements. A trace serves all iterators of one.

    Args:
        element_spec: a nest of `tf.TypeSpec`.

    >>> import penstock as tf
    >>> it = iter(tf.data.Dataset.range(3))
    >>> tf.data.IteratorSpec(it.element_spec).is_compatible_with(it)
    True
    """

    __slots__ = ()

    def __init__(self, element_spec: Any) -> None:
        super().__init__(checked_spec(element_spec, "element_spec"))

    @property
    def value_type(self) -> type:
        """`tf.data.Iterator`."""
        from penstock.data._iterator import Iterator

        return Iterator

    def flatten(self) -> list[Any]:
        """The specification of the tensor that stands for it."""
        return [HANDLE]

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensor that stands for an iterator."""
        return [value._handle()]

    def from_tensors(self, tensors: PyIterator[Any]) -> Any:
        """The iterator that a tensor stands for."""
        from penstock.data._iterator import GraphIterator

        tensor = next(tensors)
        at_hand = isinstance(tensor, _core.Tensor) and not tensor._is_symbolic
        return held(tensor) if at_hand else GraphIterator(tensor, Structure(self._element_spec))
