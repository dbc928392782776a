"""What a program calls the tensors and variables that a function takes from around it."""

from __future__ import annotations

from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock import _core
from penstock.autograph._convert import is_library

__all__ = ["captured_names"]

# What names mostly stand for, and neither is nor holds a tensor or a function of the program.
_OTHERS = frozenset({ModuleType, BuiltinFunctionType, type, str, int, float, bool, type(None)})
# The most functions that are looked into.
_MOST_FUNCTIONS = 100
# The most elements of a container that are looked at.
_MOST_ELEMENTS = 100


def captured_names(function: Any, instance: Any) -> list[tuple[_core._Operand, str]]:
    """The tensors and variables that a function may read, with the names that it has for them.

    These are global names and those of enclosing functions, in the function itself and in functions of the
    program that it calls by such a name, attributes of the object of a method, and elements of lists, tuples
    and dicts under these: `weights_0`.

    Args:
        function: the function that is traced.
        instance: the object whose method it is; else None.
    """
    found: dict[int, tuple[_core._Operand, str]] = {}

    def add(value: Any, name: str, levels: int = 2) -> None:
        # An object's own idea of its class is code of the program.
        if issubclass(type(value), _core._Operand):
            found.setdefault(id(value), (value, name))
        elif type(value) in (list, tuple, dict) and levels and len(value) <= _MOST_ELEMENTS:
            for key, element in value.items() if type(value) is dict else enumerate(value):
                if type(key) in (int, str):
                    add(element, f"{name}_{key}", levels - 1)

    seen: set[int] = set()
    waiting = [function]
    while waiting and len(seen) < _MOST_FUNCTIONS:
        read = _code_of(waiting.pop(0))
        if read is None or id(read) in seen or is_library(read.__code__.co_filename):
            continue
        seen.add(id(read))
        for name, value in _read(read):
            if type(value) not in _OTHERS:
                add(value, name)
                waiting.append(value)
    if instance is not None:
        for name, value in _attributes(instance).items():
            add(value, name.lstrip("_"))
    return list(found.values())


def _code_of(value: Any) -> FunctionType | None:
    """The function of Python behind a function that is decorated or traced; None for what is none."""
    if issubclass(type(value), _core._Function):
        value = value.python_function
    for _ in range(_MOST_FUNCTIONS):
        if type(value) is MethodType:
            value = value.__func__
        elif type(value) is FunctionType and "__wrapped__" in value.__dict__:
            value = value.__dict__["__wrapped__"]
        else:
            break
    return value if type(value) is FunctionType else None


def _attributes(instance: Any) -> dict[str, Any]:
    """What is stored in an object, without its code."""
    try:
        found = object.__getattribute__(instance, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _read(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names that a function mentions of those around it and of its module, with what they stand for."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    of_module = function.__globals__
    waiting = [function.__code__]
    for code in waiting:
        # Those of globals and of attributes.
        for name in code.co_names:
            if name in of_module:
                yield name, of_module[name]
        waiting += [constant for constant in code.co_consts if type(constant) is CodeType]
