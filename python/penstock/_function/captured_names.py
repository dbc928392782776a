"""What a program calls the tensors and variables that a function takes from around it."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from penstock import _core
from penstock.autograph._convert import is_library

__all__ = ["captured_names"]

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
            add(value, name)
            waiting.append(value)
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
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes in a piece of code, and in the code within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
