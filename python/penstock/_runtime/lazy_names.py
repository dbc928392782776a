"""Names of public modules that are loaded when they are first used: importing the package stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Mapping

__all__ = ["from_keras", "lazily"]


def lazily(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Make the `__getattr__` of a public module.

    Args:
        module: its name.
        names: for each name the module that defines it, below `penstock`.

    Returns:
        A function that loads a name, and keeps it in the module.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = importlib.import_module(f"penstock.{names[name]}")
        value = getattr(home, name, home)
        if any(part.startswith("_") for part in getattr(value, "__module__", "").split(".")):
            value.__module__ = module
        vars(sys.modules[module])[name] = value
        return value

    return load


def from_keras(module: str, names: Collection[str]) -> Callable[[str], object]:
    """Make the `__getattr__` of a public module that is a part of Keras in TensorFlow.

    Args:
        module: its name.
        names: what it has from Keras alone, where that is installed.

    Returns:
        A function that loads a name.
    """
    part = module.removeprefix("penstock.")

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f"penstock.keras.{part}"), name)
        except ModuleNotFoundError as error:
            raise AttributeError(f"module {module!r} has no attribute {name!r}: {error}") from None

    return load
