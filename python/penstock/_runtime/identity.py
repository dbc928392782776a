"""Objects told apart by what they are, not by what they equal."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_V = TypeVar("_V")


class Identities(Generic[_T]):
    """A set of objects, in the order in which they came. It holds them, so no other takes one's place.

    >>> made = Identities([[1]])
    >>> [1] in made
    False
    """

    __slots__ = ("_held",)

    def __init__(self, objects: Iterable[_T] = ()) -> None:
        self._held: dict[int, _T] = {id(x): x for x in objects}

    def add(self, obj: _T) -> None:
        self._held[id(obj)] = obj

    def update(self, objects: Iterable[_T]) -> None:
        self._held.update((id(x), x) for x in objects)

    def difference_update(self, objects: Iterable[_T]) -> None:
        """Forgets objects, those too that are not in it."""
        for obj in objects:
            self._held.pop(id(obj), None)

    def clear(self) -> None:
        self._held.clear()

    def __contains__(self, obj: object) -> bool:
        return id(obj) in self._held

    def __iter__(self) -> Iterator[_T]:
        return iter(self._held.values())

    def __len__(self) -> int:
        return len(self._held)


class WeakIdentityMap(Generic[_T, _V]):
    """What is known of objects, for as long as they are there.

    A `WeakKeyDictionary` would take objects for one that are equal, as code objects of two files can be.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], _V]] = {}

    def get(self, obj: _T) -> _V | None:
        """What is known of an object; None for nothing."""
        found = self._entries.get(id(obj))
        return None if found is None else found[1]

    def __setitem__(self, obj: _T, value: _V) -> None:
        key = id(obj)

        # Even while the interpreter takes this module apart.
        def forget(_: Any, entries: dict[int, tuple[weakref.ref[Any], _V]] = self._entries) -> None:
            entries.pop(key, None)

        self._entries[key] = weakref.ref(obj, forget), value

    def clear(self) -> None:
        self._entries.clear()
