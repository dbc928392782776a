"""What a trace needs to know of composite values that hold variables, which are no tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock import nest
from penstock._types.argument_kinds import held_weakly, released
from penstock._types.specs import Composite, TensorSpec, TypeSpec, VariableSpec, own_spec
from penstock._types.tracing_type import TraceType

__all__ = ["tracing_type"]


class _Held(TypeSpec):
    """The specification of a composite value, which holds these very variables beside its tensors."""

    __slots__ = ("numbers", "spec")

    def __init__(self, spec: TypeSpec, variables: Sequence[Any]) -> None:
        self.spec = spec
        # Not the variables: a signature keeps nothing alive.
        self.numbers = tuple(variable._unique_id for variable in variables)

    @property
    def value_type(self) -> type:
        return self.spec.value_type

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        return self.spec.is_compatible_with(spec_or_value)

    def flatten(self) -> list[Any]:
        return self.spec.flatten()

    def to_tensors(self, value: Any) -> list[Any]:
        return self.spec.to_tensors(value)

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        from penstock._values.variable import of_ids  # the values build on this

        parts = [next(tensors) for _ in self.flatten()]
        if any(isinstance(part, TensorSpec) for part in parts):
            # In the signature of a trace: classes need not take specifications for tensors.
            return self.spec
        variables = of_ids(list(self.numbers), False)
        if len(variables) < len(self.numbers):
            raise ValueError(f"a variable of a {self.value_type.__name__} that a function has traced is gone")
        return _made(self.spec, iter(parts), iter(variables))

    def placeholder_value(self, placeholder_context: Any) -> Any:
        return self.from_tensors(iter([placeholder_context.placeholder(spec) for spec in self.flatten()]))

    def _serialize(self) -> Any:
        return self.spec, self.numbers

    def __repr__(self) -> str:
        return repr(self.spec)


class _Itself(TraceType):
    """The type of a value that counts by its identity."""

    __slots__ = ("_reference",)

    def __init__(self, value: Any) -> None:
        self._reference = held_weakly(value)

    def is_subtype_of(self, other: TraceType) -> bool:
        return self == other

    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        return self if all(self == other for other in others) else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Itself):
            return False
        mine = released(self._reference)
        return mine is not None and mine is released(other._reference)

    def __hash__(self) -> int:
        return hash(_Itself)


def tracing_type(value: Composite) -> TraceType:
    """The type of a composite value as an argument or a result: its specification, and its variables.

    One of a class that has no specification for it counts by its identity.
    """
    spec = own_spec(value)
    if spec is None:
        return _Itself(value)
    return _Held(spec, list(_variables(spec, value)))


def _parts(spec: Any) -> list[Any]:
    return nest.flatten(spec._component_specs) if isinstance(spec, TypeSpec) else []


def _holds_variables(spec: Any) -> bool:
    return isinstance(spec, VariableSpec) or any(map(_holds_variables, _parts(spec)))


def _variables(spec: Any, value: Any) -> Iterator[Any]:
    """The variables in a value, in the order of its components."""
    if isinstance(spec, VariableSpec):
        yield value
    elif _holds_variables(spec):
        for part, component in zip(_parts(spec), nest.flatten(spec._to_components(value)), strict=True):
            yield from _variables(part, component)


def _made(spec: Any, tensors: Iterator[Any], variables: Iterator[Any]) -> Any:
    """The value of the next of the tensors and of the variables."""
    if isinstance(spec, VariableSpec):
        return next(variables)
    if not _holds_variables(spec):
        return spec.from_tensors(tensors)
    parts = [_made(part, tensors, variables) for part in _parts(spec)]
    return spec._from_components(nest.pack_sequence_as(spec._component_specs, parts))
