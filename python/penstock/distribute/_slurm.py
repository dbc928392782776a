"""What the environment variables of the batch system Slurm say."""

from __future__ import annotations

import os
import re

__all__ = ["counts", "hosts", "variable"]


def variable(name: str) -> str:
    """The value of a variable of the step.

    Raises:
        RuntimeError: where it is not set.
    """
    found = os.environ.get(f"SLURM_{name}")
    if found is None:
        raise RuntimeError(f"the variable SLURM_{name} is not set: this is no step of Slurm")
    return found


def hosts(text: str) -> list[str]:
    """The hosts of a list such as `n[1-2,05],login`.

    Raises:
        ValueError: for a list of another form.
    """
    found = []
    for item in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        names = [""]
        for part in re.findall(r"\[[^\]]*\]|[^\[\]]+", item):
            endings = _numbers(part[1:-1]) if part.startswith("[") else [part]
            names = [name + ending for name in names for ending in endings]
        found.extend(names)
    if not found:
        raise ValueError(f"the list of hosts of Slurm is empty: {text!r}")
    return found


def _numbers(text: str) -> list[str]:
    """The numbers of `1-3,07`, with as many digits as they are written with."""
    found: list[str] = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        found.extend(str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1))
    return found


def counts(text: str) -> list[int]:
    """The numbers of `2(x3),1`: three times two, and one."""
    found: list[int] = []
    for item in text.split(","):
        number, _, times = item.rstrip(")").partition("(x")
        found.extend([int(number)] * int(times or 1))
    return found
