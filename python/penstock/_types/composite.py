"""Nests whose leaves may be composite values: objects that hold tensors, such as a `TensorArray`.

A composite class has `_parts()`, its tensors, and `_with_parts(tensors)`, a value like it with others; or a
property `_type_spec`, a specification that takes values apart and puts them together. An object of a
dataclass, or of attrs, is a *record*: the tensors, arrays and numbers in its fields are its parts, the rest
stays. One that refers to itself is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock import _core, nest
from penstock._types.argument_kinds import fields_of, with_fields
from penstock._types.specs import TensorSpec

__all__ = [
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


def is_composite(value: Any) -> bool:
    """Whether a leaf of a nest holds tensors."""
    kind = type(value)
    return hasattr(kind, "_with_parts") or hasattr(kind, "_type_spec") or is_record(value)


def is_record(value: Any) -> bool:
    """Whether a value is an object of a dataclass, or of attrs, that has tensors or numbers in its fields."""
    return _has_fields(value) and bool(_record_parts(value, _has_no_cycle(value)))


def _has_fields(value: Any) -> bool:
    kind = type(value)
    if not (hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__attrs_attrs__")):
        return False
    return not (hasattr(kind, "_type_spec") or hasattr(kind, "_with_parts"))


def _records_in(record: Any) -> list[Any]:
    """The objects with fields that the fields of one hold."""
    return [leaf for leaf in nest.flatten([*fields(record).values()]) if _has_fields(leaf)]


def _has_no_cycle(record: Any) -> bool:
    """Whether no object that the fields of one lead to leads back to itself."""
    path, done = {id(record)}, set()
    stack = [(record, iter(_records_in(record)))]
    while stack:
        at, rest = stack[-1]
        inner = next((leaf for leaf in rest if id(leaf) not in done), None)
        if inner is None:
            stack.pop()
            path.discard(id(at))
            done.add(id(at))
        elif id(inner) in path:
            return False
        else:
            path.add(id(inner))
            stack.append((inner, iter(_records_in(inner))))
    return True


def _refers_to_itself(value: Any) -> bool:
    """Whether the fields of an object lead back to it."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        for leaf in _records_in(waiting.pop()):
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


def _is_part(leaf: Any) -> bool:
    """Whether a leaf in a field of a record is one of its parts, or has some."""
    return _is_tensor(leaf) or is_composite(leaf)


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, _PARTS) or is_array(leaf)


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy, or a number of it, that can become a tensor."""
    return type(value).__module__ == "numpy" and hasattr(value, "dtype") and value.dtype.kind != "O"


# A specification stands for a tensor, in what says of which types the parts are.
_PARTS = (_core.Tensor, TensorSpec, bool, int, float, complex)


def _parts(value: Any) -> list[Any]:
    kind = type(value)
    if hasattr(kind, "_with_parts"):
        return list(value._parts())
    if hasattr(kind, "_type_spec"):
        return list(value._type_spec.to_tensors(value))
    return _record_parts(value, _has_no_cycle(value)) if _has_fields(value) else []


def _record_parts(record: Any, has_no_cycle: bool) -> list[Any]:
    """The parts in the fields of a record, by one walk; none where it refers to itself."""
    if not has_no_cycle and _refers_to_itself(record):
        return []
    out: list[Any] = []
    for leaf in nest.flatten([*fields(record).values()]):
        if _is_tensor(leaf):
            out.append(leaf)
        elif _has_fields(leaf):
            out.extend(_record_parts(leaf, has_no_cycle))
        elif is_composite(leaf):
            out.extend(_parts(leaf))
    return out


def _with_parts(value: Any, parts: list[Any]) -> Any:
    kind = type(value)
    if hasattr(kind, "_with_parts"):
        return value._with_parts(parts)
    source = iter(parts)
    if hasattr(kind, "_type_spec"):
        return value._type_spec.from_tensors(source)
    return map_record(lambda leaf: _taken(leaf, source) if _is_part(leaf) else leaf, value)


def _taken(leaf: Any, source: Iterator[Any]) -> Any:
    if not is_composite(leaf):
        return next(source)
    return _with_parts(leaf, [next(source) for _ in _parts(leaf)])


def map_record(function: Callable[[Any], Any], record: Any) -> Any:
    """A record like another one, with what a function makes of the leaves of its fields."""
    return with_fields(record, {k: nest.map_structure(function, v) for k, v in fields(record).items()})


def is_structured(value: Any) -> bool:
    """Whether a value is a nest or a composite: more than one leaf that could be a tensor."""
    return nest.is_nested(value) or is_composite(value)


def flatten(structure: Any) -> list[Any]:
    """The leaves of a nest, the tensors of composite ones in their place."""
    out: list[Any] = []
    for leaf in nest.flatten(structure):
        if is_composite(leaf):
            out.extend(_parts(leaf))
        else:
            out.append(leaf)
    return out


def pack(structure: Any, leaves: Iterable[Any]) -> Any:
    """A nest like `structure` with other leaves, in the order of `flatten`."""
    source = iter(leaves)
    return nest.pack_sequence_as(structure, [_taken(leaf, source) for leaf in nest.flatten(structure)])


def check_alike(a: Any, b: Any, check_types: bool = True) -> None:
    """Raises unless two nests have one structure, composites of one class in the same places.

    Raises:
        TypeError, ValueError: as `nest.assert_same_structure`.
    """
    nest.assert_same_structure(a, b, check_types)
    for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True):
        if is_composite(x) or is_composite(y):
            if type(x) is not type(y):
                raise TypeError(f"one is a {type(x).__name__}, the other a {type(y).__name__}")
            check = getattr(x, "_check_like", None)
            if check is not None:
                check(y)
            elif is_record(x):
                _check_records(x, y, check_types)


def _check_records(a: Any, b: Any, check_types: bool) -> None:
    """Raises unless the fields of two records have one structure, and differ in nothing but their parts."""
    first, second = fields(a), fields(b)
    check_alike(first, second, check_types)
    for name, value in first.items():
        for x, y in zip(nest.flatten(value), nest.flatten(second[name]), strict=True):
            if _is_part(x) != _is_part(y) or not (_is_part(x) or x is y or x == y):
                raise TypeError(f"field '{name}' is {x!r} in one and {y!r} in the other")


def joined(a: Any, b: Any) -> Any:
    """`a`, of which no more is said than holds for `b` too, where the two have one structure."""
    pairs = zip(nest.flatten(a), nest.flatten(b), strict=True)
    leaves = [x._joined(y) if is_composite(x) and hasattr(x, "_joined") else x for x, y in pairs]
    return nest.pack_sequence_as(a, leaves)


def after_loop(before: Any, after: Any) -> Any:
    """What is known of composite loop variables after a loop, from before it and after an iteration.

    Raises:
        ValueError: where an iteration makes of a composite what it may not be.
    """
    pairs = zip(nest.flatten(before), nest.flatten(after), strict=True)
    leaves = [x._after_loop(y) if hasattr(x, "_after_loop") else x for x, y in pairs]
    return nest.pack_sequence_as(before, leaves)
