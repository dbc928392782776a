"""Nests whose leaves may be composite values: objects that hold tensors, such as a `TensorArray`.

A composite class has `_parts()`, its tensors, and `_with_parts(tensors)`, a value like it with others; or a
property `_type_spec`, a specification that takes values apart and puts them together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock import nest

__all__ = ["after_loop", "check_alike", "flatten", "is_composite", "is_structured", "joined", "pack"]


def is_composite(value: Any) -> bool:
    """Whether a leaf of a nest holds tensors."""
    kind = type(value)
    return hasattr(kind, "_with_parts") or hasattr(kind, "_type_spec")


def _parts(value: Any) -> list[Any]:
    if hasattr(value, "_with_parts"):
        return list(value._parts())
    return list(value._type_spec.to_tensors(value))


def _with_parts(value: Any, parts: list[Any]) -> Any:
    if hasattr(value, "_with_parts"):
        return value._with_parts(parts)
    return value._type_spec.from_tensors(iter(parts))


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

    def take(leaf: Any) -> Any:
        if not is_composite(leaf):
            return next(source)
        return _with_parts(leaf, [next(source) for _ in _parts(leaf)])

    return nest.pack_sequence_as(structure, [take(leaf) for leaf in nest.flatten(structure)])


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
