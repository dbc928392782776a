"""Flags of the command line, by the library `absl-py`, which is loaded when one of its names is used."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

__all__ = ["FLAGS"]

# Parameters of TensorFlow 1, by what they are called now.
_RENAMED: Final = {"flag_name": "name", "default_value": "default", "docstring": "help"}


@functools.cache
def library(part: str) -> ModuleType:
    """A module of the library.

    Raises:
        ImportError: where the library is not installed.
    """
    try:
        found = importlib.import_module(f"absl.{part}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"tf.compat.v1.{part} is absl.{part}, of a package that is not installed: pip install absl-py"
        ) from error
    if part == "flags":
        # Flags belong to the module of the program that defines them, not to this one.
        found.disclaim_key_flags()
    return found


class _Flags:
    """The flags of the program: what is asked for the value of one reads the command line first.

    >>> import penstock as tf
    >>> values = tf.compat.v1.flags.FlagValues()
    >>> steps = tf.compat.v1.flags.DEFINE_integer("steps", 3, "How many.", flag_values=values)
    >>> values(["program", "--steps=5", "more"]), values.steps
    (['program', 'more'], 5)
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"FLAGS has no attribute {name!r}")
        own = library("flags").FLAGS
        if not hasattr(type(own), name) and not own.is_parsed():
            own(sys.argv)
        return getattr(own, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(library("flags").FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(library("flags").FLAGS, name)

    def __getitem__(self, name: str) -> Any:
        return library("flags").FLAGS[name]

    def __setitem__(self, name: str, flag: object) -> None:
        library("flags").FLAGS[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in library("flags").FLAGS

    def __iter__(self) -> Iterator[str]:
        return iter(library("flags").FLAGS)

    def __len__(self) -> int:
        return len(library("flags").FLAGS)

    def __call__(self, argv: list[str], known_only: bool = False) -> list[str]:
        """Read a command line.

        Args:
            argv: the name of the program, and its arguments.
            known_only: whether flags that are not defined are left among the arguments.

        Returns:
            The arguments that are no flags, after the name.
        """
        rest: list[str] = library("flags").FLAGS(argv, known_only)
        return rest

    def __dir__(self) -> list[str]:
        return list(dir(library("flags").FLAGS))

    def __repr__(self) -> str:
        return repr(library("flags").FLAGS)


FLAGS = _Flags()


@functools.cache
def _defining(name: str) -> Callable[..., Any]:
    """A function of the library that takes the parameters of TensorFlow 1 too."""
    function: Callable[..., Any] = getattr(library("flags"), name)

    @functools.wraps(function)
    def define(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{_RENAMED.get(key, key): value for key, value in kwargs.items()})

    return define


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    flags = library("flags")
    if not hasattr(flags, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, nor has absl.flags")
    return _defining(name) if name.startswith("DEFINE") else getattr(flags, name)


def __dir__() -> list[str]:
    return sorted({*library("flags").__all__, "FLAGS"})
