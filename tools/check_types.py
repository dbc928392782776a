"""Counts the public symbols whose types a type checker knows: part of `make types`.

The exit status is 1 where it knows less than 99 per cent of them; the others are printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

LEAST: Final = 0.99


def unknown(report: dict[str, Any]) -> list[str]:
    """The symbols of a report of pyright whose types are not known or known in part."""
    return [
        s["name"] for s in report["typeCompleteness"]["symbols"] if s["isExported"] and not s["isTypeKnown"]
    ]


def main() -> int:
    """Runs pyright, and prints what it does not know."""
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--verifytypes",
        "penstock",
        "--ignoreexternal",
        "--outputjson",
    ]
    # Of a package that is installed in place, pyright finds no file that says that it has types.
    places = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent / "python")}
    ran = subprocess.run(command, env=places, capture_output=True, text=True, check=False)
    try:
        report = json.loads(ran.stdout)
        score = float(report["typeCompleteness"]["completenessScore"])
    except (KeyError, ValueError):
        sys.exit(f"pyright gave no report:\n{ran.stdout}{ran.stderr}")
    print(*unknown(report), sep="\n")
    print(f"the types of {score:.1%} of the public symbols are known; at least {LEAST:.0%} have to be")
    return int(score < LEAST)


if __name__ == "__main__":
    sys.exit(main())
