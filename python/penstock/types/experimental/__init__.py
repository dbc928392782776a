"""Types for annotations, and the protocol of types of arguments."""

from __future__ import annotations

from penstock import _core
from penstock._function.atomic import AtomicFunction as AtomicFunction
from penstock._function.function import ConcreteFunction as ConcreteFunction, Function
from penstock._function.function_type import FunctionType as FunctionType
from penstock._runtime.public_names import publish as _publish
from penstock._types.tracing_type import (
    SupportsTracingProtocol as SupportsTracingProtocol,
    TraceType as TraceType,
)
from penstock.types.experimental import distributed as distributed

__all__ = [
    "AtomicFunction",
    "Callable",
    "ConcreteFunction",
    "FunctionType",
    "GenericFunction",
    "PolymorphicFunction",
    "SupportsTracingProtocol",
    "TensorLike",
    "TraceType",
    "distributed",
]

PolymorphicFunction = Function
Callable = _core._Callable
"""What is called as a function of the engine: a `Function`, one bound to an object, a `ConcreteFunction`."""
GenericFunction = Function

TensorLike = _core.Tensor | _core._Variable | int | float | complex | bool | str | bytes | list | tuple  # type: ignore[type-arg]
"""What can become a tensor, besides arrays."""

_publish(__name__)
