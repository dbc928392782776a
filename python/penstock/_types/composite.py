"""Nests whose leaves may be composite values: objects that hold tensors, such as a `TensorArray`.

What a composite value can do is the class `Composite`. The classes of this package derive from it. A class
of a user's that has a property `_type_spec`, as in TensorFlow, is treated as if it did. An object of a
dataclass, or of attrs, is a *record*: the tensors, arrays and numbers in its fields are its parts, the rest
stays. One that refers to itself is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock import _core, nest
from penstock._types.argument_kinds import fields_of, with_fields
from penstock._types.specs import Composite, TensorSpec

__all__ = [
    "Composite",
    "Records",
    "after_loop",
    "check_alike",
    "fields",
    "flatten",
    "is_array",
    "is_composite",
    "is_record",
    "is_structured",
    "joined",
    "map_record",
    "pack",
]


class Records:
    """Which objects are records: found by one walk over what they lead to, and known from then on.

    Walks over a value ask at each of its levels. They share one of these, so that all take time linear in the
    value. What it was asked of must not change as long as it is used.
    """

    def __init__(self) -> None:
        # The objects with fields that were met, which are held so that an address means one of them, and
        # whether they are records.
        self._found: dict[int, tuple[Any, bool]] = {}

    def has(self, value: Any) -> bool:
        """Whether a value is a record."""
        if type(value) in nest.LEAVES or not _has_fields(value):
            return False
        found = self._found.get(id(value))
        return self._survey(value) if found is None else found[1]

    def _survey(self, value: Any) -> bool:
        """Notes an object with fields, and all that its fields lead to; whether it is a record."""
        path = [(value, *_leaves_and_inner(value))]
        at = {id(value)}
        met: list[tuple[Any, list[Any]]] = []
        cyclic = False
        while path:
            record, leaves, inner = path[-1]
            following = next((leaf for leaf in inner if id(leaf) not in self._found), None)
            if following is None:
                path.pop()
                at.discard(id(record))
                met.append((record, leaves))
                self._found[id(record)] = (record, self._has_parts(leaves))
            elif id(following) in at:
                cyclic = True
            else:
                at.add(id(following))
                path.append((following, *_leaves_and_inner(following)))
        if cyclic:
            for record, leaves in met:
                is_one = not _refers_to_itself(record) and self._has_parts(leaves)
                self._found[id(record)] = (record, is_one)
        return self._found[id(value)][1]

    def _has_parts(self, leaves: list[Any]) -> bool:
        def is_part(leaf: Any) -> bool:
            if _is_tensor(leaf):
                return True
            if _has_fields(leaf):
                return self._found.get(id(leaf), (leaf, False))[1]
            kind = _class_of(leaf)
            return kind is not None and bool(list(kind._parts(leaf)))

        return any(map(is_part, leaves))


def is_composite(value: Any) -> bool:
    """Whether a leaf of a nest holds tensors."""
    return _class_of(value) is not None or is_record(value)


def _class_of(value: Any) -> type[Composite] | None:
    """The class whose methods take a value apart; None for a record and for what has no parts."""
    kind = type(value)
    if issubclass(kind, Composite):
        return kind
    return Composite if hasattr(kind, "_type_spec") else None


def is_record(value: Any) -> bool:
    """Whether a value is an object of a dataclass, or of attrs, that has tensors or numbers in its fields."""
    return Records().has(value)


def _has_fields(value: Any) -> bool:
    kind = type(value)
    if not (hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__attrs_attrs__")):
        return False
    return _class_of(value) is None


def _leaves_and_inner(record: Any) -> tuple[list[Any], Iterator[Any]]:
    """The leaves in the fields of an object, and those among them that have fields in turn."""
    leaves: list[Any] = []
    for value in fields(record).values():
        _leaves_into(leaves, value)
    return leaves, iter([leaf for leaf in leaves if _has_fields(leaf)])


def _leaves_into(leaves: list[Any], node: Any) -> None:
    if nest.is_nested(node) and not _has_fields(node):
        for child in nest._children(node):
            _leaves_into(leaves, child)
    else:
        leaves.append(node)


def _refers_to_itself(value: Any) -> bool:
    """Whether the fields of an object lead back to it."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        for leaf in _leaves_and_inner(waiting.pop())[1]:
            if leaf is value:
                return True
            if id(leaf) not in seen:
                seen.add(id(leaf))
                waiting.append(leaf)
    return False


def fields(record: Any) -> dict[str, Any]:
    """The fields of a record that have a value."""
    names = fields_of(type(record)) or ()
    return {name: getattr(record, name) for name in names if hasattr(record, name)}


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, _PARTS) or is_array(leaf)


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy, or a number of it, that can become a tensor."""
    return type(value).__module__ == "numpy" and hasattr(value, "dtype") and value.dtype.kind != "O"


# A specification stands for a tensor, in what says of which types the parts are.
_PARTS = (_core.Tensor, TensorSpec, bool, int, float, complex)


def _parts(value: Any, records: Records) -> Iterator[Any]:
    """The parts of a composite, those of a record by one walk over its fields."""
    kind = _class_of(value)
    if kind is not None:
        yield from kind._parts(value)
    elif records.has(value):
        for leaf in nest.flatten([*fields(value).values()]):
            if _is_tensor(leaf):
                yield leaf
            else:
                yield from _parts(leaf, records)


def _taken(leaf: Any, source: Iterator[Any], records: Records) -> Any:
    """What stands for a leaf where `source` gives the tensors."""
    kind = _class_of(leaf)
    if kind is not None:
        return kind._with_parts(leaf, [next(source) for _ in kind._parts(leaf)])
    if not records.has(leaf):
        return next(source)

    def field(item: Any) -> Any:
        is_part = _is_tensor(item) or _class_of(item) is not None or records.has(item)
        return _taken(item, source, records) if is_part else item

    return map_record(field, leaf)


def map_record(function: Callable[[Any], Any], record: Any) -> Any:
    """A record like another one, with what a function makes of the leaves of its fields."""
    return with_fields(record, {k: nest.map_structure(function, v) for k, v in fields(record).items()})


def is_structured(value: Any) -> bool:
    """Whether a value is a nest or a composite: more than one leaf that could be a tensor."""
    return type(value) not in nest.LEAVES and (nest.is_nested(value) or is_composite(value))


def flatten(structure: Any) -> list[Any]:
    """The leaves of a nest, the tensors of composite ones in their place."""
    leaves = nest.flatten(structure)
    if nest.LEAVES.issuperset(map(type, leaves)):
        return leaves
    out: list[Any] = []
    records = Records()
    for leaf in leaves:
        if type(leaf) in nest.LEAVES:
            out.append(leaf)
        elif _class_of(leaf) is not None or records.has(leaf):
            out.extend(_parts(leaf, records))
        else:
            out.append(leaf)
    return out


def pack(structure: Any, leaves: Iterable[Any]) -> Any:
    """A nest like `structure` with other leaves, in the order of `flatten`."""
    source, records = iter(leaves), Records()
    filled = [_taken(leaf, source, records) for leaf in nest.flatten(structure)]
    return nest.pack_sequence_as(structure, filled)


def check_alike(a: Any, b: Any, check_types: bool = True) -> None:
    """Raises unless two nests have one structure, composites of one class in the same places.

    Raises:
        TypeError, ValueError: as `nest.assert_same_structure`.
    """
    _check_nests(a, b, check_types, Records())


def _check_nests(a: Any, b: Any, check_types: bool, records: Records) -> None:
    nest.assert_same_structure(a, b, check_types)
    for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True):
        kind = _class_of(x)
        if kind is None and _class_of(y) is None and not records.has(x) and not records.has(y):
            continue
        if type(x) is not type(y):
            raise TypeError(f"one is a {type(x).__name__}, the other a {type(y).__name__}")
        if kind is not None:
            kind._check_like(x, y)
        else:
            _check_records(x, y, check_types, records)


def _check_records(a: Any, b: Any, check_types: bool, records: Records) -> None:
    """Raises unless the fields of two records have one structure, and differ in nothing but their parts."""

    def is_part(leaf: Any) -> bool:
        return _is_tensor(leaf) or _class_of(leaf) is not None or records.has(leaf)

    first, second = fields(a), fields(b)
    _check_nests(first, second, check_types, records)
    for name, value in first.items():
        for x, y in zip(nest.flatten(value), nest.flatten(second[name]), strict=True):
            if is_part(x) != is_part(y) or not (is_part(x) or x is y or x == y):
                raise TypeError(f"field '{name}' is {x!r} in one and {y!r} in the other")


def joined(a: Any, b: Any) -> Any:
    """`a`, of which no more is said than holds for `b` too, where the two have one structure."""
    pairs = zip(nest.flatten(a), nest.flatten(b), strict=True)
    leaves = [x if (kind := _class_of(x)) is None else kind._joined(x, y) for x, y in pairs]
    return nest.pack_sequence_as(a, leaves)


def after_loop(before: Any, after: Any) -> Any:
    """What is known of composite loop variables after a loop, from before it and after an iteration.

    Raises:
        ValueError: where an iteration makes of a composite what it may not be.
    """
    pairs = zip(nest.flatten(before), nest.flatten(after), strict=True)
    leaves = [x if (kind := _class_of(x)) is None else kind._after_loop(x, y) for x, y in pairs]
    return nest.pack_sequence_as(before, leaves)
