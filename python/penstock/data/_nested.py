"""Data sets that are stacked: what `batch` makes of elements that are data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.data._handles import ByHandle, handle
from penstock.data._specs import DatasetSpec

__all__ = ["Nested"]


class Nested(ByHandle):
    """Data sets, or stacks of them, of one specification. `unbatch` and slices take them apart.

    Args:
        items: the data sets; None where only the graph has them.
        spec: the specification of the stack.
        tensor: its handle, where there is one.
    """

    __slots__ = ("__weakref__", "_items", "_tensor", "_type_spec")

    def __init__(self, items: Sequence[Any] | None, spec: Any, tensor: Any = None) -> None:
        self._items = items
        self._type_spec = spec
        self._tensor = tensor

    @classmethod
    def of(cls, items: Sequence[Any]) -> Nested:
        """A stack of data sets, of which there is at least one.

        Raises:
            TypeError: where they have elements of different types.
        """
        spec = items[0]._type_spec.most_specific_common_supertype([item._type_spec for item in items[1:]])
        if spec is None:
            found = [item._type_spec.element_spec for item in items]
            raise TypeError(f"data sets that are stacked must have elements of one type, got {found}")
        return cls(items, DatasetSpec(spec.element_spec, [len(items), *spec.dataset_shape._dims]))

    def _row_count(self) -> int:
        """How many there are."""
        return len(self)

    def __len__(self) -> int:
        if self._items is None:
            raise TypeError("a stack of data sets of a graph has no length outside of it")
        return len(self._items)

    def __getitem__(self, i: int) -> Any:
        if self._items is None:
            raise TypeError("a stack of data sets of a graph is taken apart by unbatch()")
        return self._items[i]

    def _handle(self) -> Any:
        """A tensor that stands for it."""
        return handle(self) if self._tensor is None else self._tensor

    def _with_spec(self, element_spec: Any) -> Nested:
        return Nested(self._items, DatasetSpec(element_spec, self._type_spec.dataset_shape), self._handle())

    def __tf_tracing_type__(self, context: Any) -> Any:
        """The specification of the stack."""
        return self._type_spec

    def __repr__(self) -> str:
        return f"<stack of data sets, {self._type_spec!r}>"
