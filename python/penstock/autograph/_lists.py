"""Lists that grow in a loop of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._runtime.arguments import items
from penstock._types.shape import TensorShape
from penstock._types.specs import Composite
from penstock._values.tensor_array import _dims
from penstock.errors import OperatorNotAllowedInGraphError

__all__ = ["TensorList", "grown", "outermost", "set_element_type", "stack"]


class TensorList(Composite):
    """A list whose elements are tensors of one dtype. Its length may depend on tensors."""

    def __init__(self, flow: Any, dtype: Any, element_shape: TensorShape) -> None:
        self.flow, self.dtype, self.element_shape = flow, dtype, element_shape

    # As a composite of a nest.

    def _parts(self) -> list[Any]:
        return [self.flow]

    def _with_parts(self, parts: Sequence[Any]) -> TensorList:
        return TensorList(parts[0], self.dtype, self.element_shape)

    def _check_like(self, other: TensorList) -> None:
        if self.dtype != other.dtype:
            raise TypeError(f"one is a list of {self.dtype.name}, the other of {other.dtype.name}")

    def _joined(self, other: TensorList) -> TensorList:
        shape = self.element_shape.most_specific_compatible_shape(other.element_shape)
        return TensorList(self.flow, self.dtype, shape)

    def copy(self) -> TensorList:
        """A list with the same elements."""
        return TensorList(self.flow, self.dtype, self.element_shape)

    def refill(self, other: TensorList) -> None:
        """Takes the elements of another list."""
        self.flow, self.element_shape = other.flow, other.element_shape

    # As a list.

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        value = _core._to_tensor_hinted(value, self.dtype)
        if value.dtype != self.dtype or not self.element_shape.is_compatible_with(value.shape):
            raise ValueError(
                f"append: the list holds elements of dtype {self.dtype.name} and shape "
                f"{self.element_shape}, got {value.dtype.name} of shape {value.shape}"
            )
        self.flow = raw_ops.list_push(self.flow, value)

    def extend(self, values: Any) -> None:
        """Adds elements at the end."""
        if isinstance(values, TensorList):
            self._take(raw_ops.concat(self.stack(), values.stack(), axis=0))
            return
        for value in values:
            self.append(value)

    def __iadd__(self, values: Any) -> TensorList:
        self.extend(values)
        return self

    def __add__(self, values: Any) -> TensorList:
        if not isinstance(values, list | TensorList):
            return NotImplemented
        made = self.copy()
        made.extend(values)
        return made

    def __radd__(self, values: Any) -> TensorList:
        if not isinstance(values, list):
            return NotImplemented
        made = TensorList(raw_ops.list_new(0, dtype=self.dtype), self.dtype, self.element_shape)
        made.extend(values)
        made.extend(self)
        return made

    def __iter__(self) -> Any:
        raise OperatorNotAllowedInGraphError(
            "iterating here over a list that grows in the graph is not possible: use a for loop, or tf.stack"
        )

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            "whether a list that grows in the graph has elements, is known when it runs: use len(values) > 0"
        )

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return self.stack()

    def pop(self, index: Any = -1) -> Any:
        """Removes an element, and gives it."""
        if type(index) is int and index == -1:
            self.flow, last = raw_ops.list_pop(self.flow, _dims(self.element_shape), dtype=self.dtype)
            return last
        position = self._position(index)
        found = self[position]
        whole = self.stack()
        self._take(raw_ops.concat(whole[:position], whole[position + 1 :], axis=0))
        return found

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            raise TypeError("of a list that grows in the graph, one element at a time can be deleted")
        self.pop(index)

    def insert(self, index: Any, value: Any) -> None:
        """Adds an element before another; at an end, where the index is beyond it."""
        position = raw_ops.maximum(raw_ops.minimum(self._position(index), self.size()), 0)
        behind = self.stack()[position:]
        self.flow = raw_ops.list_resize(self.flow, position)
        self.append(value)
        self._take(raw_ops.concat(self.stack(), behind, axis=0))

    def reverse(self) -> None:
        """Turns the order of the elements round."""
        self._take(self.stack()[::-1])

    def _take(self, elements: Any) -> None:
        """Holds the rows of a tensor from now on."""
        self.flow = raw_ops.list_from_tensor(elements)

    def clear(self) -> None:
        """Removes all elements."""
        self.flow = raw_ops.list_resize(self.flow, 0)

    def size(self) -> Any:
        """The number of elements."""
        return raw_ops.list_length(self.flow, dtype=_core.int32)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.stack()[index]
        return raw_ops.list_get(self.flow, self._position(index), _dims(self.element_shape), dtype=self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        value = _core._to_tensor_hinted(value, self.dtype)
        self.flow = raw_ops.list_set(self.flow, self._position(index), value)

    def _position(self, index: Any) -> Any:
        """An index counted from the front."""
        if isinstance(index, int):
            return self.size() + index if index < 0 else index
        index = raw_ops.cast(index, dtype=_core.int32)
        return raw_ops.select(raw_ops.less(index, 0), raw_ops.add(index, self.size()), index)

    def stack(self) -> Any:
        """The elements as one tensor."""
        return raw_ops.list_stack(self.flow, _dims(self.element_shape), dtype=self.dtype)

    def __getattr__(self, name: str) -> Any:
        if hasattr(list, name):
            raise AttributeError(
                f"a list that grows in the graph has no {name!r}: make a tensor of it, tf.stack(values), and "
                "use functions of tensors"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<list of {self.dtype.name} tensors of shape {self.element_shape}>"


def grown(values: list[Any], items: Sequence[Any], name: str, where: str) -> TensorList:
    """A Python list as one of the graph, which takes elements like `items`.

    Args:
        values: what it holds.
        items: the types of what it comes to hold; at least one.
        name: how messages call it.
        where: the statement in which it changes its length.

    Raises:
        ValueError: where the elements have more than one dtype or rank.
    """
    first = items[0]
    shape = first.shape
    same_type = True
    for item in items[1:]:
        same_type = same_type and item.dtype == first.dtype and item.shape.rank == first.shape.rank
        shape = shape.most_specific_compatible_shape(item.shape)
    if not same_type:
        got = ", ".join(sorted({f"{i.dtype.name} of shape {i.shape}" for i in items}))
        raise ValueError(
            f"{name} changes its length in the statement at {where}, which depends on a tensor: its elements "
            f"must then be tensors of one dtype and one rank, got {got}"
        )
    made = TensorList(raw_ops.list_new(0, dtype=first.dtype), first.dtype, shape)
    made.extend(values)
    return made


def outermost(value: Any) -> Any:
    """What a traced function returns: lists of the graph as tensors."""
    if isinstance(value, TensorList):
        return value.stack()
    if nest.is_nested(value) and any(isinstance(leaf, TensorList) for leaf in nest.flatten(value)):
        return nest.map_structure(outermost, value)
    return value


def set_element_type(target: Any, dtype: Any, shape: Any = ()) -> Any:
    """A list as one that may grow in a loop of the graph; unless a function is traced, the list itself."""
    if not isinstance(target, list) or not _core._is_tracing():
        return target
    dtype, shape = _core.DType(dtype), TensorShape(shape)
    made = TensorList(raw_ops.list_new(0, dtype=dtype, shape=shape), dtype, shape)
    made.extend(target)
    return made


def stack(target: Any) -> Any:
    """The elements of a list as one tensor."""
    if isinstance(target, TensorList):
        return target.stack()
    return raw_ops.stack(items(target, "list_or_tensor"))
