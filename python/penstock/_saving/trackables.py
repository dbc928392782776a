"""What an object owns, by name: the edges of the graph that is saved."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from penstock import _core
from penstock._values.module import Module

__all__ = ["children", "function_key", "functions_of", "is_function", "is_keras_optimizer", "is_trackable"]

_FUNCTIONS = (_core._Function, _core._BoundFunction, _core.ConcreteFunction)


def is_function(value: Any) -> bool:
    """Whether it is a traced function, one bound to its object, or a trace."""
    return isinstance(value, _FUNCTIONS)


def function_key(value: Any) -> Any:
    """What is equal for the same function: a method is made anew each time that it is asked for."""
    if isinstance(value, _core._BoundFunction):
        return id(value.__func__), id(value.__self__)
    return id(value)


def is_trackable(value: Any) -> bool:
    """Whether a value is saved: a variable, a function, an object that owns some, or a container of these."""
    return _is_trackable(value, set())


def _resolved(value: Any) -> Any:
    """What is saved of a value: an object may stand for a variable."""
    stands = getattr(type(value), "_trackable_value", None)
    return value if stands is None else stands(value)


def is_keras_optimizer(value: Any) -> bool:
    """Whether it is an optimiser of Keras, of which no class is this package's."""
    module = sys.modules.get("keras.src.optimizers.base_optimizer")
    return module is not None and isinstance(value, module.BaseOptimizer)


def _is_trackable(value: Any, above: set[int]) -> bool:
    value = _resolved(value)
    if isinstance(value, (_core._Variable, Module, *_FUNCTIONS)):
        return True
    if isinstance(value, list | tuple | Mapping):
        if id(value) in above:
            return False
        above.add(id(value))
        items = value.values() if isinstance(value, Mapping) else value
        found = any(_is_trackable(item, above) for item in items)
        above.remove(id(value))
        return found
    return hasattr(type(value), "_trackable_children") or is_keras_optimizer(value)


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value owns, with names, in the order in which it came there.

    An object of a class of its own says it by `_trackable_children`; a module owns what its attributes hold,
    a list or tuple its items by their positions, a dict those with texts as keys.
    """
    named: Any
    if hasattr(type(value), "_trackable_children"):
        named = value._trackable_children()
    elif isinstance(value, Module) or is_keras_optimizer(value):
        named = vars(value)
    elif isinstance(value, Mapping):
        named = value
    elif isinstance(value, list | tuple):
        named = {str(i): item for i, item in enumerate(value)}
    else:
        named = {}
    for name, item in list(named.items()):
        if isinstance(name, str) and is_trackable(item):
            yield name, _resolved(item)


def functions_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The traced methods of an object, bound to it, by the names of its classes' attributes."""
    seen: set[str] = set(vars(value)) if hasattr(value, "__dict__") else set()
    for cls in type(value).__mro__:
        for name, attribute in list(vars(cls).items()):
            if name in seen:
                continue
            seen.add(name)
            held = attribute.__func__ if isinstance(attribute, staticmethod | classmethod) else attribute
            if isinstance(held, _core._Function):
                yield name, getattr(value, name)
