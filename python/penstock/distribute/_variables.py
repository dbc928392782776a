"""Variables of strategies whose replicas combine what they assign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime import replicas
from penstock._values.variable import Variable, VariableAggregation

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock.distribute._strategy import Strategy

__all__ = ["aggregated"]


class _Aggregated(Variable):
    """A variable whose replicas assign what their values combine to."""

    _strategy: Strategy

    def _combined(self, value: TensorLike) -> Any:
        """A value of this replica as that of all, within a replica; elsewhere as it is."""
        group = self._strategy._group
        if replicas.add_up.get() is None or group is None:
            return value
        own = _core._to_tensor_hinted(value, self.dtype)
        if self.aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
            return group.broadcast(own)
        return self._strategy._combined(self.aggregation.name, own)

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return super().assign(self._combined(value), use_locking, name, read_value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return super().assign_add(self._combined(delta), use_locking, name, read_value)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return super().assign_sub(self._combined(delta), use_locking, name, read_value)


def aggregated(variable: Variable, strategy: Strategy) -> None:
    """Has a variable of a strategy combine what its replicas assign, where its aggregation says so."""
    if variable.aggregation != VariableAggregation.NONE and type(variable) is Variable:
        variable.__class__ = _Aggregated
        variable.__dict__["_strategy"] = strategy
