"""Containers of Python, by identity: what they hold, and where they are held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock import nest
from penstock._types import composite
from penstock.autograph._lists import TensorList
from penstock.autograph._values import freeze_one

__all__ = ["CONTAINERS", "collect", "holds_alike", "occurrences", "snapshots"]

# The types whose contents are part of the state of a statement.
CONTAINERS = (list, dict, TensorList)


def snapshots(contents: list[tuple[Any, Any]]) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """What containers hold, by identity."""
    return ((id(container), (container, held)) for container, held in contents)


def holds_alike(container: Any, contents: Any) -> bool:
    """Whether a container holds what it held."""
    if type(container) is TensorList:
        return bool(container.flow is contents.flow)
    if len(container) != len(contents):
        return False
    if type(container) is dict:
        return all(key in contents and value is contents[key] for key, value in container.items())
    return all(a is b for a, b in zip(container, contents, strict=True))


def occurrences(target: Any, values: Sequence[Any]) -> int:
    """How often an object is among values, or in nests of them, each of which counts once."""
    count, seen = 0, set[int]()
    waiting: list[Any] = [values]
    while waiting:
        inner = waiting.pop()
        for value in inner.values() if isinstance(inner, dict) else inner:
            if value is target:
                count += 1
            elif isinstance(value, list | tuple | dict) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
    return count


def collect(
    value: Any, out: list[tuple[Any, Any]], seen: set[int], records: composite.Records | None = None
) -> None:
    """Adds the containers in a value, each with a copy of what it holds, to `out`.

    Objects with parts (`composite`) count as containers. `seen` has the identities of those found before.
    """
    kind = type(value)
    if kind in nest.LEAVES:
        return
    records = composite.Records() if records is None else records
    if kind in CONTAINERS:
        if id(value) in seen:
            return
        seen.add(id(value))
        out.append((value, freeze_one(value)))
        if kind is TensorList:
            return
        for item in value.values() if kind is dict else value:
            collect(item, out, seen, records)
    elif isinstance(value, tuple):
        for item in value:
            collect(item, out, seen, records)
    elif id(value) not in seen and records.has(value):
        seen.add(id(value))
        out.append((value, composite.fields(value)))
        for item in composite.fields(value).values():
            collect(item, out, seen, records)
