"""What is meant to differ from TensorFlow, and why: `differences.toml`."""

from __future__ import annotations

import fnmatch
import functools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agreement.calls import Call

__all__ = ["Difference", "as_markdown", "listed", "reason"]

LIST: Final = Path(__file__).with_name("differences.toml")


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry of the list.

    Attributes:
        names: The symbols that it is of, as patterns of file names are written.
        found: What `answers.difference` says, as a regular expression to be found in it.
        reason: Why it is so.
    """

    names: tuple[str, ...]
    found: str
    reason: str

    def explains(self, call: Call, found: str) -> bool:
        """Whether a difference that was found is of this entry."""
        if not re.search(self.found, found):
            return False
        return any(fnmatch.fnmatchcase(call.name, name) for name in self.names)


@functools.cache
def listed() -> tuple[Difference, ...]:
    """The entries, in the order of the file."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["difference"]
    return tuple(Difference(tuple(e["names"]), e.get("found", ""), e["reason"]) for e in entries)


def reason(call: Call, found: str) -> str | None:
    """Why a call differs, None where that is not listed."""
    return next((entry.reason for entry in listed() if entry.explains(call, found)), None)


def _shown(pattern: str) -> str:
    return f"`tf.{pattern.replace('*', '…')}`"


def as_markdown(entries: Iterable[Difference] | None = None) -> str:
    """The table of differences for the documentation."""
    rows = ["| symbols | difference |", "|---|---|"]
    for entry in listed() if entries is None else entries:
        names = "all" if entry.names == ("*",) else ", ".join(map(_shown, entry.names))
        rows.append(f"| {names} | {entry.reason} |".replace("\n", " "))
    return "\n".join(rows)
