"""Types for annotations, and the protocol of types of arguments."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

from penstock import _core
from penstock._function import ConcreteFunction as ConcreteFunction
from penstock._function import Function

__all__ = ["ConcreteFunction", "PolymorphicFunction", "TensorLike", "TraceType"]

PolymorphicFunction = Function

TensorLike = _core.Tensor | _core._Variable | int | float | complex | bool | str | bytes | list | tuple  # type: ignore[type-arg]
"""What can become a tensor, besides arrays."""


class TraceType(abc.ABC):
    """What a traced function needs to know of an argument: one trace serves all arguments of its type."""

    @abc.abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Whether a trace for `other` serves arguments of this type."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """The narrowest type that covers this one and `others`, or None."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context: Any) -> Any:
        """What stands for the argument while the function is traced."""

    @abc.abstractmethod
    def __hash__(self) -> int: ...

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...
