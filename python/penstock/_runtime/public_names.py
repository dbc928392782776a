"""Where public functions and classes say that they are defined: where programs find them."""

from __future__ import annotations

import sys
from types import FunctionType

__all__ = ["publish", "settle"]


def publish(module: str) -> None:
    """Let what a public module shows name it as its own, unless a public module with a shorter name does.

    Representations of classes, documentation and pickles name the module of a function or class. Those that a
    public module has from a private one would name a place that no program should import from.

    Args:
        module: the name of a public module, of which everything else is loaded.
    """
    space = vars(sys.modules[module])
    for name in space.get("__all__", space):
        if "__all__" in space or not name.startswith("_"):
            settle(space.get(name), module)


def settle(value: object, module: str) -> None:
    """Let a function or class that a public module shows name it, as `publish` says."""
    if isinstance(value, type | FunctionType):
        package, *path = value.__module__.split(".")
        if package == "penstock" and (len(path) > module.count(".") or any(p.startswith("_") for p in path)):
            value.__module__ = module
