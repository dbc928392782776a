"""`tf.data.DatasetSpec` and `tf.data.IteratorSpec`: what is known of data sets and iterators as values."""

from __future__ import annotations

from collections.abc import Iterator as PyIterator
from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._types.element_spec import ElementSpec
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock.data._handles import HANDLE, held
from penstock.data._structure import Structure, checked_spec

if TYPE_CHECKING:
    from penstock.data._dataset import Dataset
    from penstock.data._iterator import Iterator

__all__ = ["DatasetSpec", "IteratorSpec"]


class DatasetSpec(ElementSpec):
    """What is known of a data set: the specification of its elements. A trace serves all data sets of one.

    Args:
        element_spec: a nest of `tf.TypeSpec`.
        dataset_shape: the shape of a stack of data sets; by default it is one.

    >>> import penstock as tf
    >>> ds = tf.data.Dataset.range(3)
    >>> tf.data.DatasetSpec(ds.element_spec).is_compatible_with(ds)
    True
    """

    __slots__ = ("_shape",)

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(checked_spec(element_spec, "element_spec"))
        self._shape = TensorShape(dataset_shape)

    @property
    def dataset_shape(self) -> TensorShape:
        """The shape of a stack of data sets."""
        return self._shape

    @property
    def value_type(self) -> type:
        """`tf.data.Dataset`, or the class of stacks."""
        from penstock.data._dataset import Dataset  # start-up does without it
        from penstock.data._nested import Nested  # start-up does without it

        return Nested if self._shape.rank else Dataset

    def _leaves(self) -> list[Any]:
        return [*super()._leaves(), TensorSpec(self._shape, HANDLE.dtype)]

    def _with_leaves(self, leaves: list[Any]) -> DatasetSpec:
        *elements, shape = leaves
        return DatasetSpec(nest.pack_sequence_as(self._element_spec, elements), shape.shape)

    def __repr__(self) -> str:
        if not self._shape.rank:
            return super().__repr__()
        return f"DatasetSpec({self._element_spec!r}, {self._shape!r})"

    def flatten(self) -> list[Any]:
        """List the specification of the tensor that stands for it.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> len(tf.data.DatasetSpec(tf.TensorSpec([])).flatten())
        1
        """
        return [HANDLE]

    def to_tensors(self, value: Dataset[Any]) -> list[Any]:
        """List the tensor that stands for a data set.

        Args:
            value: the value.

        Returns:
            The tensor.

        >>> import penstock as tf
        >>> numbers = tf.data.Dataset.range(3)
        >>> spec = tf.data.DatasetSpec.from_value(numbers)
        >>> len(spec.to_tensors(numbers))
        1
        """
        return [value._handle()]

    def from_tensors(self, tensors: PyIterator[Any]) -> Any:
        """Make the data set that the next tensor stands for.

        Args:
            tensors: gives the tensor.

        Returns:
            The data set.

        >>> import penstock as tf
        >>> numbers = tf.data.Dataset.range(3)
        >>> spec = tf.data.DatasetSpec.from_value(numbers)
        >>> [int(x) for x in spec.from_tensors(iter(spec.to_tensors(numbers)))]
        [0, 1, 2]
        """
        if not self._shape.rank:
            return self.value_type._of_handle(next(tensors), self._element_spec)  # type: ignore[attr-defined]
        tensor = next(tensors)
        at_hand = isinstance(tensor, _core.Tensor) and not tensor._is_symbolic
        return held(tensor) if at_hand else self.value_type(None, self, tensor)


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
        from penstock.data._iterator import Iterator  # start-up does without it

        return Iterator

    def flatten(self) -> list[Any]:
        """List the specification of the tensor that stands for it.

        Returns:
            The specification.

        >>> import penstock as tf
        >>> len(tf.data.IteratorSpec(tf.TensorSpec([])).flatten())
        1
        """
        return [HANDLE]

    def to_tensors(self, value: Iterator[Any]) -> list[Any]:
        """List the tensor that stands for an iterator.

        Args:
            value: the value.

        Returns:
            The tensor.

        >>> import penstock as tf
        >>> numbers = iter(tf.data.Dataset.range(3))
        >>> spec = tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))
        >>> len(spec.to_tensors(numbers))
        1
        """
        return [value._handle()]

    def from_tensors(self, tensors: PyIterator[Any]) -> Any:
        """Make the iterator that the next tensor stands for.

        Args:
            tensors: gives the tensor.

        Returns:
            The iterator.

        >>> import penstock as tf
        >>> numbers = iter(tf.data.Dataset.range(3))
        >>> spec = tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))
        >>> int(next(spec.from_tensors(iter(spec.to_tensors(numbers)))))
        0
        """
        from penstock.data._iterator import GraphIterator  # start-up does without it

        tensor = next(tensors)
        at_hand = isinstance(tensor, _core.Tensor) and not tensor._is_symbolic
        return held(tensor) if at_hand else GraphIterator(tensor, Structure(self._element_spec))
