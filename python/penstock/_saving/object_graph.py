"""The objects of a checkpoint: numbers and names as TensorFlow gives them, so that files go both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from penstock import _core, raw_ops
from penstock._saving.trackables import children, is_function, is_keras_optimizer

__all__ = ["Attribute", "Object", "edges", "ends_of", "objects_of", "tensors_of"]

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
    """An object with its path, what it owns, and whether its integers are written in 64 bits."""

    value: Any
    path: tuple[str, ...]
    children: list[tuple[int, str]]
    wide: bool = False

    @property
    def attributes(self) -> list[Attribute]:
        """Its tensors."""
        name = self.value._name if isinstance(self.value, _core._Variable) else ""
        part, _ = _part(self.value)
        return [Attribute(part, name, _key(self.path, part))] if part else []


def edges(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object owns that a checkpoint holds: functions have no state of their own."""
    return ((name, item) for name, item in children(value) if not is_function(item))


def is_container(value: Any) -> bool:
    """Whether it counts by what is in it: an object may give a new one each time that it is asked."""
    return isinstance(value, list | tuple | Mapping)


def _part(value: Any) -> tuple[str, tuple[str, ...]]:
    """What a checkpoint calls the state of an object, and the ends of the keys of its tensors."""
    if isinstance(value, _core._Variable):
        return VALUE, ("",)
    return getattr(type(value), "_checkpoint_part", ("", ()))


def ends_of(value: Any) -> tuple[str, ...]:
    """What follows the key of an object's state in the key of each of its tensors; empty without a state."""
    return _part(value)[1]


def tensors_of(item: Object, session: Any = None) -> Iterator[tuple[str, list[_core.Tensor]]]:
    """The tensors of an object by their keys in the file: one of each key, or its parts, rows in order.

    Args:
        item: the object.
        session: the session of TensorFlow 1 in which variables have their values, if any.
    """
    value = item.value
    for attribute in item.attributes:
        if isinstance(value, _core._Variable):
            states = [value.read_value() if session is None else session._values.read(value)]
        else:
            states = value._save_state()
        for end, state in zip(ends_of(value), states, strict=True):
            parts = state if isinstance(state, list) else [state]
            if item.wide and parts[0].dtype.is_integer:
                parts = [raw_ops.cast(part, dtype=_core.int64) for part in parts]
            yield attribute.key + end, parts


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
                # The counts of Keras's optimisers are int64 with TensorFlow, which refuses others.
                wide = is_keras_optimizer(owner.value)
                found.append(Object(item, (*owner.path, name), [], wide))
            owner.children.append((number, name))
    return found
