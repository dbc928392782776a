"""The start of programs with flags of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from penstock.compat.v1 import flags as flags

__all__ = ["run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Read the flags of a command line, call a function, and end the program.

    The library `absl-py` does it.

    Args:
        main: is called with the name of the program and those arguments that are no flags that it defines; by
            default the function `main` of the program.
        argv: the name and the arguments, by default those of the process.

    Raises:
        ImportError: where the package `absl-py` is not installed.
        SystemExit: with what the function returns.

    >>> import penstock as tf
    >>> try:
    ...     tf.compat.v1.app.run(lambda argv: print(len(argv)), ["program", "a", "b"])
    ... except SystemExit as end:
    ...     end.code
    3
    """
    called = sys.modules["__main__"].main if main is None else main

    def parsed(given: list[str]) -> list[str]:
        rest: list[str] = flags.FLAGS(given, known_only=True)
        return rest

    flags.library("app").run(main=called, argv=None if argv is None else list(argv), flags_parser=parsed)
