"""Variables of strategies: what replicas assign is combined when it is written, or when it is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._values.variable import Variable, VariableAggregation
from penstock.distribute import _context
from penstock.distribute._input import DistributedValues
from penstock.types.experimental import distributed

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock.distribute._strategy import Strategy

__all__ = ["MirroredVariable", "SyncOnReadVariable", "combine_assigned", "made_with"]


def made_with(
    create: Callable[..., Variable], kwargs: dict[str, Any], begin: Callable[[list[Variable]], None] | None
) -> Variable:
    """A new variable, whose first value `begin` may change."""
    variable = create(**kwargs)
    if begin is not None:
        begin([variable])
    return variable


class MirroredVariable(Variable):
    """A variable whose replicas assign what their values combine to."""

    _strategy: Strategy

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        def assign(x: Any) -> Any:
            return super(MirroredVariable, self).assign(x, use_locking, name, read_value)

        return self._strategy._assigned(self, assign, value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        def assign(x: Any) -> Any:
            return super(MirroredVariable, self).assign_add(x, use_locking, name, read_value)

        return self._strategy._assigned(self, assign, delta)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        def assign(x: Any) -> Any:
            return super(MirroredVariable, self).assign_sub(x, use_locking, name, read_value)

        return self._strategy._assigned(self, assign, delta)


def combine_assigned(variable: Variable, strategy: Strategy) -> None:
    """Has a variable of a strategy combine what its replicas assign."""
    if type(variable) is Variable:
        variable.__class__ = MirroredVariable
        variable.__dict__["_strategy"] = strategy


DistributedValues.register(MirroredVariable)


class SyncOnReadVariable(distributed.PerReplica, DistributedValues):
    """A variable with a value in each replica; read outside of replicas, these are combined.

    It counts as a `tf.Variable`, and becomes a tensor where one is expected.

    Args:
        strategy: whose replicas have it.
        components: the variables of the replicas of this process.
        aggregation: how they are combined.
    """

    def __init__(
        self, strategy: Strategy, components: Sequence[Variable], aggregation: VariableAggregation
    ) -> None:
        self._strategy, self.values, self._how = strategy, tuple(components), aggregation

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """The class that `isinstance` sees."""
            return Variable

    @property
    def _own(self) -> Variable:
        """That of the replica which the program is within; of the first one between replicas."""
        inside = _context.within()
        return self.values[0 if inside is None or len(self.values) == 1 else inside[1]]

    @property
    def aggregation(self) -> VariableAggregation:
        """How the variables of the replicas are combined."""
        return self._how

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def value(self) -> Any:
        """The value: of a replica its own, between replicas that of all."""
        if _context.within() is not None:
            return self._own.value()
        if self._how == VariableAggregation.ONLY_FIRST_REPLICA:
            return self._strategy._of_first(self.values)
        if self._how == VariableAggregation.NONE:
            raise ValueError(
                f"variable '{self._own.name}' has another value in each replica: without argument "
                "'aggregation' they are not combined"
            )
        return self._strategy._of_all(self._how.name, self.values)

    def read_value(self) -> Any:
        return self.value()

    def numpy(self) -> Any:
        return self.value().numpy()

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return _core._to_tensor(self.value(), dtype)

    def __array__(self, dtype: Any = None) -> Any:
        return self.value().__array__(dtype)

    def assign(self, value: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Assign a value: in a replica to its own variable, between replicas so that they combine to it."""
        if _context.within() is not None:
            return self._own.assign(value, *args, **kwargs)
        value = _core._to_tensor_hinted(value, self.dtype)
        for number, variable in enumerate(self.values):
            variable.assign(self._share(value, number), *args, **kwargs)
        return self

    def _assign(self, value: TensorLike) -> None:
        """What restores a value from a file calls."""
        self.assign(value)

    def _share(self, value: Any, number: int) -> Any:
        """What the variable of a replica of this process holds, of a value that all combine to."""
        count = self._strategy.num_replicas_in_sync
        if self._how != VariableAggregation.SUM:
            return value
        if not value.dtype.is_integer:
            return value / count
        is_first = number == 0 and self._strategy._rank() == 0
        return value // count + (value % count if is_first else 0)

    def assign_add(self, delta: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Add to the variable of a replica; between replicas to all, where that is the same."""
        return self._change("assign_add", delta, *args, **kwargs)

    def assign_sub(self, delta: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Subtract from the variable of a replica; between replicas from all, where that is the same."""
        return self._change("assign_sub", delta, *args, **kwargs)

    def _change(self, method: str, delta: TensorLike, *args: Any, **kwargs: Any) -> Any:
        if _context.within() is not None:
            return getattr(self._own, method)(delta, *args, **kwargs)
        if self._how == VariableAggregation.SUM:
            raise ValueError(
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when aggregation "
                "is set to `tf.VariableAggregation.SUM`."
            )
        for variable in self.values:
            getattr(variable, method)(delta, *args, **kwargs)
        return self

    def __repr__(self) -> str:
        return f"SyncOnReadVariable({list(self.values)!r})"

    def __getitem__(self, key: Any) -> Any:
        return self.value()[key]

    def __float__(self) -> float:
        return float(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __bool__(self) -> bool:
        return bool(self.value())

    def __neg__(self) -> Any:
        return -self.value()

    def __abs__(self) -> Any:
        return abs(self.value())

    __hash__ = object.__hash__


def _operators() -> None:
    """Gives the class the operators of two operands, of the values."""

    def of_values(method: str, function: Callable[[Any, Any], Any], swapped: bool) -> None:
        def operate(self: SyncOnReadVariable, other: Any) -> Any:
            return function(other, self.value()) if swapped else function(self.value(), other)

        setattr(SyncOnReadVariable, method, operate)

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
        of_values(f"__{name}__", getattr(operator, name), swapped=False)
        of_values(f"__r{name}__", getattr(operator, name), swapped=True)
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        of_values(f"__{name}__", getattr(operator, name), swapped=False)


_operators()
