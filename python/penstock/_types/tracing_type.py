"""Types of arguments: what a traced function needs to know of a value."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

__all__ = ["SupportsTracingProtocol", "TraceType"]


class TraceType(abc.ABC):
    """What a traced function needs to know of an argument: one trace serves all arguments of its type.

    A class whose objects have `__tf_tracing_type__` gives them types of its own. `is_subtype_of` and
    `most_specific_common_supertype` decide which trace serves a call. Unless the type makes placeholders,
    the object itself is what the function sees while it is traced.

    A type may take an object apart into tensors, so that the trace serves others of them: then `flatten`
    gives a `TensorSpec` for each, `to_tensors` the tensors of an object, and `placeholder_value` an object
    of symbolic ones, each made by the `placeholder_value` of its `TensorSpec`.

    >>> class Unit(TraceType):
    ...     def __init__(self, name):
    ...         self.name = name
    ...     def is_subtype_of(self, other):
    ...         return self == other
    ...     def most_specific_common_supertype(self, others):
    ...         return self if all(self == other for other in others) else None
    ...     def __eq__(self, other):
    ...         return isinstance(other, Unit) and self.name == other.name
    ...     def __hash__(self):
    ...         return hash(self.name)
    >>> Unit("metre").is_subtype_of(Unit("metre"))
    True
    """

    __slots__ = ()

    @abc.abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Whether a trace for `other` serves arguments of this type."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """The narrowest type that covers this one and `others`, or None."""

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """What stands for the argument while the function is traced.

        Raises:
            NotImplementedError: where the argument itself is to be used.
        """
        raise NotImplementedError(f"{type(self).__name__} makes no placeholders")

    def cast(self, value: Any, cast_context: Any) -> Any:
        """The value as one of this type: itself, unless a type knows better."""
        return value

    def flatten(self) -> list[Any]:
        """A `TensorSpec` for each tensor that the argument is taken apart into."""
        return []

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors of an argument of this type, in the order of `flatten`."""
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """The argument that has these tensors; takes as many as `flatten` lists."""
        raise NotImplementedError(f"{type(self).__name__} is not made of tensors")

    @abc.abstractmethod
    def __hash__(self) -> int: ...

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """Objects that say what a traced function needs to know of them.

    >>> import penstock as tf
    >>> isinstance(3, SupportsTracingProtocol)
    False
    """

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """The type of the object as an argument."""
