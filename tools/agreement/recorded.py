"""TensorFlow's answers to a sample of the calls, in the repository: `answers.jsonl.xz`."""

from __future__ import annotations

import ast
import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from agreement.calls import Call

__all__ = ["ANSWERS", "compared", "load", "save"]

ANSWERS: Final = Path(__file__).with_name("answers.jsonl.xz")


def save(found: Iterable[tuple[Call, dict[str, Any]]], path: Path = ANSWERS) -> None:
    """Writes answers. Those of calls that ended TensorFlow's process, and long ones, are left out."""
    with lzma.open(path, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        for call, answer in found:
            if "says" in answer:
                answer = {"error": answer["error"][:1], "says": answer["says"][:150]}
            text = json.dumps([call.source, call.way, call.name, answer], separators=(",", ":"))
            if "abort" not in answer and len(text) < 4000:
                file.write(text + "\n")


def load(path: Path = ANSWERS) -> Iterator[tuple[Call, dict[str, Any]]]:
    """Reads the calls with their answers."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            source, way, name, answer = json.loads(line)
            yield Call(source, way, name), answer


def compared(calls: Iterable[Call], others: Iterable[list[str]]) -> set[str]:
    """The symbols that calls are of or name, by all their names.

    Args:
        calls: The calls.
        others: Lists of the names that one function or class has.
    """
    names = {name: {*group} for group in others for name in group}
    found: set[str] = set()
    for source, name in {(call.source, call.name) for call in calls}:
        found |= names.get(name, {name})
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and (path := ast.unparse(node)).startswith("tf."):
                found |= names.get(path[3:], {path[3:]})
    return found
