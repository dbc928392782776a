"""Composite values that can be stacked, and have rows: ragged and sparse tensors, batchable types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from penstock import _core, raw_ops
from penstock._types.specs import TensorSpec

__all__ = ["Stackable", "encoder_of", "row", "row_count", "stack_values"]


@runtime_checkable
class Stackable(Protocol):
    """A specification of composite values that can be stacked, and have rows.

    Its values have `_row_count()`, and rows: `_row(i)`, or `value[i]`.
    """

    def _row_spec(self) -> Any:
        """The specification of a row.

        Raises:
            ValueError: where the values are scalars.
        """

    def _stacked_spec(self, size: int | None) -> Any:
        """The specification of so many values, stacked."""

    def _stack(self, values: Sequence[Any]) -> Any:
        """Values of this specification as one."""


def encoder_of(spec: Any) -> Any:
    """The encoder of a batchable extension type, by a specification; None for anything else."""
    return getattr(spec, "__batch_encoder__", None)


def row(value: Any, i: Any) -> Any:
    """Row `i` of a tensor or of a composite value that has rows."""
    if isinstance(value, _core.Tensor):
        return value[i]
    rows = getattr(type(value), "_row", None)
    return value[i] if rows is None else rows(value, i)


def row_count(value: Any) -> Any:
    """How many rows a tensor or a composite value has: a number, or a tensor where it is not known."""
    if not isinstance(value, _core.Tensor):
        return value._row_count()
    known = value.shape[0]
    return raw_ops.shape(value)[0] if known is None else known


def stack_values(values: Sequence[Any], spec: Any) -> Any:
    """Values of a specification as one: tensors of one shape, or composite values that can be stacked.

    Raises:
        TypeError: for what cannot be stacked.
    """
    if isinstance(spec, TensorSpec):
        return raw_ops.stack(list(values))
    if not isinstance(spec, Stackable):
        raise TypeError(f"values of {spec} cannot be stacked")
    return spec._stack(values)
