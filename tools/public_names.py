"""What the package offers: its public names, and the parts that documentation has."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

PACKAGE = "penstock"
# Modules that are documented by the operators' declarations, one that is a program, and those of Keras.
NOT_FOR_PROGRAMS = ("raw_ops", "api_report", "keras", "losses", "metrics")


class Public(NamedTuple):
    """A public function, by the name under which programs reach it first."""

    path: str
    function: Callable[..., Any]
    method: bool


def modules() -> dict[str, types.ModuleType]:
    """The public modules by the names under which programs reach them; the package itself is ``""``."""
    found: dict[str, types.ModuleType] = {}

    def walk(path: str, module: types.ModuleType) -> None:
        if module in found.values():
            return
        found[path] = module
        for name, value in members(module):
            if isinstance(value, types.ModuleType) and value.__name__.startswith(PACKAGE):
                walk(f"{path}.{name}" if path else name, value)

    walk("", importlib.import_module(PACKAGE))
    return found


def members(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """The public names of a module with their values, in the order of the alphabet."""
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        if not name.startswith("_") and name not in NOT_FOR_PROGRAMS:
            yield name, getattr(module, name, None)


def aliases() -> dict[Callable[..., Any], list[str]]:
    """The package's functions and classes, each with all its public names, the shortest first."""
    found: dict[Callable[..., Any], list[str]] = {}
    for path, module in modules().items():
        for name, value in members(module):
            if isinstance(value, types.FunctionType | type) and value.__module__.startswith(PACKAGE):
                found.setdefault(value, []).append(f"{path}.{name}" if path else name)
    return {value: sorted(names, key=lambda name: (name.count("."), name)) for value, names in found.items()}


def exported() -> dict[str, Callable[..., Any]]:
    """The functions and classes of the public modules, each once, by its shortest name."""
    found = {names[0]: value for value, names in aliases().items() if not isinstance(value, enum.EnumType)}
    return dict(sorted(found.items()))


def public() -> list[Public]:
    """The public functions, and the methods of the public classes."""
    entries = []
    for path, value in exported().items():
        if isinstance(value, type):
            entries += [Public(f"{path}.{name}", function, True) for name, function in methods(value)]
        else:
            entries.append(Public(path, value, False))
    return entries


def attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """The public members of a class, and of those of its bases that have no public name of their own."""
    seen = set()
    for base in cls.__mro__:
        if base is not cls and not (base.__module__.startswith(PACKAGE) and base.__name__.startswith("_")):
            continue
        for name, member in vars(base).items():
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, member


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods among the public members of a class."""
    for name, member in attributes(cls):
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            yield name, function


def sections(text: str) -> dict[str, str]:
    """The parts of documentation by their headings; the summary is that of ``""``."""
    parts = re.split(r"^(Args|Returns|Yields|Raises|Attributes):$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
