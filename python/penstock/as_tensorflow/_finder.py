"""Finds modules of TensorFlow, and makes each of them from its line in the table."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from penstock.as_tensorflow._table import FOREIGN, MODULES, Names

__all__ = ["KERAS_BACKEND", "Finder", "NamesModule", "choose_keras_backend"]

_ROOTS: Final = ("tensorflow", "tf_keras")
_INNER: Final = "tensorflow.python"
# What Python and its tools ask of every module, and which is not that of the modules behind it.
_OWN: Final = frozenset(
    {"__file__", "__cached__", "__path__", "__wrapped__", "__warningregistry__", "__test__"}
)


KERAS_BACKEND: Final = "KERAS_BACKEND"


def choose_keras_backend() -> None:
    """Has Keras, where it would choose TensorFlow, choose this package."""
    if os.environ.get(KERAS_BACKEND, "tensorflow") == "tensorflow":
        os.environ[KERAS_BACKEND] = "penstock"


class NamesModule(ModuleType):
    """A module of TensorFlow: names of this package, each looked up when it is first used."""

    def __init__(self, name: str, names: Names) -> None:
        super().__init__(name, f"{name}, as penstock.as_tensorflow has it.")
        self.__path__: list[str] = []
        self._penstock_names = names

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [public for public in dir(self) if not public.startswith("_")]
        if name in _OWN:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self._penstock_find(name)
        vars(self)[name] = value
        return value

    def _penstock_find(self, name: str) -> Any:
        """What the name means; modules come as modules of TensorFlow."""
        child = f"{self.__name__}.{name}"
        where = self._penstock_names.here.get(name)
        if where is not None:
            module, _, attribute = where.partition(":")
            value: Any = importlib.import_module(module)
            return getattr(value, attribute) if attribute else value
        if child in MODULES:
            return importlib.import_module(child)
        why = ""
        for module in self._penstock_names.of:
            try:
                value = getattr(importlib.import_module(module), name)
            except AttributeError as error:
                why = why or str(error).partition(": ")[2]
                continue
            return importlib.import_module(child) if inspect.ismodule(value) else value
        stand_in = _stand_in(child)
        if stand_in is not None:
            return stand_in
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: {why or absent(child)}")

    def __dir__(self) -> list[str]:
        names = {*vars(self), *self._penstock_names.here}
        for module in self._penstock_names.of:
            names.update(set(dir(importlib.import_module(module))) - _OWN)
        start = f"{self.__name__}."
        names.update(m[len(start) :] for m in MODULES if m.startswith(start) and "." not in m[len(start) :])
        return sorted(names)

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


def _stand_in(name: str) -> Any:
    """A class for one of TensorFlow's that has no place here: programs ask whether values are of it.

    None for any other name. A module stands for a namespace that holds nothing else.
    """
    from penstock._api_names import reason, symbols  # for names that are not there

    path = name.removeprefix("tensorflow.").removeprefix("compat.v2.")
    why = reason(path)
    known = symbols()
    if why is not None and path in known and known[path].kind == "class":
        return _unavailable(name, why)
    if name.startswith(FOREIGN):
        if not path.rpartition(".")[2][:1].isupper():
            return importlib.import_module(name)
        return _unavailable(
            name, "a part of TensorFlow's AutoGraph, which penstock.as_tensorflow does not have"
        )
    if any(other.startswith(f"{path}.") and reason(other) is not None for other in known):
        return importlib.import_module(name)
    return None


def _unavailable(name: str, why: str) -> type:
    module, _, own = name.rpartition(".")
    return type(own, (_Unavailable,), {"__module__": module, "_why": why})


class _Unavailable:
    """A class of TensorFlow that has no place here, and why."""

    _why = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__module__}.{type(self).__name__} is {self._why}")


def absent(name: str) -> str:
    """Why a name of TensorFlow is not there, and where to look."""
    if name == _INNER or name.startswith(f"{_INNER}."):
        return (
            "it is one of TensorFlow's inner parts that penstock.as_tensorflow does not have; "
            "docs/libraries.md lists those that it has"
        )
    return (
        "penstock.as_tensorflow has the names of penstock under TensorFlow's; "
        "'python -m penstock.api_report --missing' lists those that are missing"
    )


def _names_of(fullname: str) -> Names | None:
    """What a module consists of: its line in the table, or the module of this package in its parent."""
    if fullname in MODULES:
        return MODULES[fullname]
    if fullname.startswith(FOREIGN):
        return Names()
    parent, _, name = fullname.rpartition(".")
    names = _names_of(parent) if parent else None
    for module in names.of if names else ():
        try:
            value = getattr(importlib.import_module(module), name)
        except AttributeError:
            continue
        if inspect.ismodule(value):
            return Names(of=(value.__name__,))
    return None


class _NamesLoader(Loader):
    def __init__(self, names: Names) -> None:
        self.names = names

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return NamesModule(spec.name, self.names)

    def exec_module(self, module: ModuleType) -> None:
        pass


class Finder(MetaPathFinder):
    """Finds `tensorflow` and `tf_keras`, and everything within.

    Args:
        keras_backend: the environment's `KERAS_BACKEND` before there was a finder.
    """

    def __init__(self, keras_backend: str | None) -> None:
        self.keras_backend = keras_backend

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "keras":
            choose_keras_backend()  # programs name TensorFlow in their first lines
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        names = _names_of(fullname)
        if names is None:
            # Without a name: of an error with the module's name, `from package import module` shows nothing.
            raise ModuleNotFoundError(f"No module named {fullname!r}: {absent(fullname)}")
        return ModuleSpec(fullname, _NamesLoader(names), is_package=True)
