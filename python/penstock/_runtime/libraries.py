"""The folders of libraries, whose lines are not the lines of a program that uses them."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final

__all__ = ["FOLDERS", "add"]

# Each ends with a separator; this package's is the first. The engine reads the list when it looks for a line.
FOLDERS: Final[list[str]] = [os.path.dirname(os.path.dirname(__file__)) + os.sep]  # noqa: PTH120 -- pathlib is slow to import


def add(package: ModuleType) -> None:
    """List the folder of a package: operations have the line of the program that calls it.

    Args:
        package: a package whose functions make operations.
    """
    folder = f"{package.__path__[0]}{os.sep}"
    if folder not in FOLDERS:
        FOLDERS.append(folder)
