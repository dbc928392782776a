"""Runs a program to which `tensorflow` is this package: `python -m penstock.as_tensorflow program.py`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Final

from penstock.as_tensorflow import install

_USAGE: Final = """usage: python -m penstock.as_tensorflow program.py [argument ...]
       python -m penstock.as_tensorflow -m module [argument ...]"""


def main(arguments: list[str]) -> None:
    """Run what the arguments name, with the rest of them as its own.

    Args:
        arguments: those behind `python -m penstock.as_tensorflow`.

    Raises:
        SystemExit: where they name nothing to run.
    """
    as_module = arguments[:1] == ["-m"]
    arguments = arguments[as_module:]
    if not arguments or (arguments[0].startswith("-") and not as_module):
        raise SystemExit(_USAGE)
    install()
    sys.argv = arguments
    # Python puts the folder of a program first in the path, and the current one for a module.
    if as_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
