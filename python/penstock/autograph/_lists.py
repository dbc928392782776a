"""Lists that grow in a loop of the graph: their elements are rows of one tensor."""

from __future__ import annotations

from typing import Any

from penstock import _core, nest, raw_ops
from penstock._shape import TensorShape
from penstock._spec import TensorSpec

__all__ = ["TensorList", "set_element_type", "stack"]


class TensorList:
    """A list whose elements are tensors of one dtype and shape. Its length may depend on tensors."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def refill(self, other: TensorList) -> None:
        """Takes the elements of another list."""
        self._rows = other._rows

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        row = raw_ops.expand_dims(_core._convert(value, None, self._rows.dtype), axis=0)
        self._rows = raw_ops.concat([self._rows, row], axis=0)

    def pop(self) -> Any:
        """Removes the last element, and gives it."""
        last = self[-1]
        n = raw_ops.sub(self.size(), 1)
        self._rows = raw_ops.gather(self._rows, raw_ops.range(0, n, 1))
        return last

    def size(self) -> Any:
        """The number of elements."""
        return raw_ops.gather(raw_ops.shape(self._rows, dtype=_core.int32), 0)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def stack(self) -> Any:
        """The elements as one tensor."""
        return self._rows

    def __repr__(self) -> str:
        return f"TensorList({self._rows!r})"


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
    dtype = _core.DType(dtype)
    dims = TensorShape(shape).dims
    if dims is None or any(d is None for d in dims):
        raise ValueError(
            f"set_element_type: the elements of a list in a graph must have a known shape, got {shape}"
        )
    if target:
        return TensorList(raw_ops.stack([_core._convert(v, None, dtype) for v in target]))
    return TensorList(raw_ops.fill([0, *dims], _core._convert("" if dtype == _core.string else 0, dtype)))


def stack(target: Any) -> Any:
    """The elements of a list as one tensor."""
    if isinstance(target, TensorList):
        return target.stack()
    return raw_ops.stack([_core._convert(v) for v in target])


def spec_of_rows(rows: Any) -> TensorSpec:
    """The type that a list's tensor keeps to while its length changes."""
    return TensorSpec(TensorShape([None, *(rows.shape.dims or [])[1:]]), rows.dtype)
