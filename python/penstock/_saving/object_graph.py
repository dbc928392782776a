"""The objects of a checkpoint: numbers and names as TensorFlow gives them, so that files go both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from penstock import _core
from penstock._saving.trackables import children, is_function

__all__ = ["Attribute", "Object", "edges", "objects_of", "state_of"]

VALUE = "VARIABLE_VALUE"


class Attribute(NamedTuple):
    """A tensor of an object.

    Attributes:
        name: which of its tensors.
        full_name: the name of a variable.
        key: where the tensor is in the file.
    """

    name: str
    full_name: str
    key: str


class Object(NamedTuple):
    """An object with its path, and the numbers of what it owns."""

    value: Any
    path: tuple[str, ...]
    children: list[tuple[int, str]]

    @property
    def attributes(self) -> list[Attribute]:
        """Its tensors."""
        name = self.value._name if isinstance(self.value, _core._Variable) else ""
        return [Attribute(part, name, _key(self.path, part)) for part in _parts(self.value)]


def edges(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object owns that a checkpoint holds: functions have no state of their own."""
    return ((name, item) for name, item in children(value) if not is_function(item))


def is_container(value: Any) -> bool:
    """Whether it counts by what is in it: an object may give a new one each time that it is asked."""
    return isinstance(value, list | tuple | Mapping)


def _parts(value: Any) -> list[str]:
    if isinstance(value, _core._Variable):
        return [VALUE]
    return [value._checkpoint_part] if hasattr(type(value), "_checkpoint_part") else []


def has_state(value: Any) -> bool:
    """Whether it has a tensor of its own."""
    return bool(_parts(value))


def state_of(value: Any) -> _core.Tensor:
    """The tensor of an object that has one."""
    if isinstance(value, _core._Variable):
        read: _core.Tensor = value.read_value()
        return read
    return _core._to_tensor(value._save_state())


def _key(path: tuple[str, ...], part: str) -> str:
    names = [name.replace(".", "..").replace("/", ".S") for name in path]
    return "/".join([*names, ".ATTRIBUTES", part])


def objects_of(root: Any) -> list[Object]:
    """All objects, nearest to the root first: their positions are their numbers."""
    found = [Object(root, (), [])]
    numbers = {id(root): 0}
    for owner in found:
        for name, item in edges(owner.value):
            number = numbers.get(id(item))
            if number is None:
                number = numbers[id(item)] = len(found)
                # The list keeps it, so that its identity stays its own.
                found.append(Object(item, (*owner.path, name), []))
            owner.children.append((number, name))
    return found
