"""Values of variables: taken apart, compared, copied and described."""

from __future__ import annotations

from collections.abc import Container
from types import FunctionType
from typing import Any

from penstock import _core, nest, raw_ops
from penstock._types import composite
from penstock._types.argument_kinds import with_fields
from penstock._types.specs import TensorSpec
from penstock.autograph._jumps import RESULT
from penstock.autograph._lists import TensorList

__all__ = [
    "UNDEFINED",
    "check_alike",
    "describe",
    "flatten",
    "freeze",
    "freeze_one",
    "holds_variables",
    "is_made_here",
    "is_stale",
    "label",
    "leaves_of",
    "list_label",
    "pack",
    "refill",
    "same",
    "spec_of",
    "tensor_like",
    "with_identity",
    "zeros",
]


class _Undefined:
    """Stands for a variable without a value."""

    def __repr__(self) -> str:
        return "<undefined>"


UNDEFINED = _Undefined()


def holds_variables(value: Any) -> bool:
    """Whether a value is, or a nest of it has, a variable of the engine."""
    if type(value) in nest.LEAVES:
        return False
    return any(isinstance(leaf, _core._Variable) for leaf in flatten(value))


def is_made_here(leaf: Any, levels: int = 0) -> bool:
    """Whether a leaf is a tensor that is out of scope around the `levels` innermost regions."""
    return isinstance(leaf, _core.Tensor) and leaf._is_symbolic and not _core._is_in_scope(leaf, levels)


def is_stale(value: Any) -> bool:
    """Whether a value has tensors that are out of scope, as another trace has left them behind."""
    return any(map(is_made_here, flatten(value)))


def freeze_one(container: Any) -> Any:
    """A copy of a container, with the same elements."""
    return container.copy()


def refill(container: Any, contents: Any) -> None:
    """Gives a container other contents."""
    if type(container) is TensorList:
        container.refill(contents)
    elif type(container) is list:
        container[:] = contents
    elif type(container) is not dict:
        for name, value in contents.items():
            object.__setattr__(container, name, value)
    else:
        items = dict(contents)
        container.clear()
        container.update(items)


def with_identity(old: Any, new: Any, place: Any = None, replaced: Container[Any] = ()) -> Any:
    """A value in which containers that were there before hold what new ones do.

    Args:
        old: what was there.
        new: a value of which nobody else holds the containers.
        place: the key of what holds it; of an item it is the identity of the container, and the key in it.
        replaced: the places whose containers are others now.
    """
    if type(old) not in (list, dict, TensorList) or type(old) is not type(new):
        return new
    contents = new
    if type(old) is not TensorList:
        known = old if type(old) is dict else range(len(old))
        items = new.items() if type(old) is dict else enumerate(new)
        pairs = [
            (k, with_identity(old[k], v, ("in", id(old), k), replaced) if k in known else v) for k, v in items
        ]
        contents = dict(pairs) if type(old) is dict else [v for _, v in pairs]
    if place in replaced:
        return contents
    refill(old, contents)
    return old


def freeze(value: Any, records: composite.Records | None = None) -> Any:
    """A value, with the containers in it copied."""
    kind = type(value)
    if kind in nest.LEAVES:
        return value
    if kind is TensorList:
        return value.copy()
    records = composite.Records() if records is None else records
    if kind is list:
        return [freeze(v, records) for v in value]
    if kind is dict:
        return {k: freeze(v, records) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple.__new__(kind, [freeze(v, records) for v in value])
    if records.has(value):
        return with_fields(value, {k: freeze(v, records) for k, v in composite.fields(value).items()})
    return value


def flatten(value: Any) -> list[Any]:
    """The leaves of a value."""
    if type(value) in nest.LEAVES or not composite.is_structured(value):
        return [value]
    return composite.flatten(value)


def pack(structure: Any, leaves: list[Any]) -> Any:
    """A value like `structure` with other leaves."""
    return composite.pack(structure, leaves) if composite.is_structured(structure) else leaves[0]


def check_alike(a: Any, b: Any) -> None:
    """Raises a ValueError or TypeError unless two values have one structure."""
    if composite.is_structured(a) or composite.is_structured(b):
        composite.check_alike(a, b)


def tensor_like(value: Any) -> bool:
    """Whether a leaf can become a tensor."""
    if type(value) in nest.LEAVES:
        return value is not None
    if isinstance(value, _core.Tensor | _core._Variable | bool | int | float | complex | str | bytes):
        return True
    return composite.is_array(value)


def leaves_of(value: Any) -> list[Any] | None:
    """The leaves of a value, all of which can become tensors; None where one cannot."""
    if value is UNDEFINED or value is None:
        return None
    if type(value) in nest.LEAVES:
        return [value]
    leaves = flatten(value)
    return leaves if all(map(tensor_like, leaves)) else None


def same(a: Any, b: Any, records: composite.Records | None = None) -> bool:
    """Whether two values need not be told apart: they are one object, or equal Python values."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in (int, float, bool, str, bytes, complex):
        return bool(a == b) and repr(a) == repr(b)
    records = composite.Records() if records is None else records
    if kind is list or isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y, records) for x, y in zip(a, b, strict=True))
    if kind is dict:
        return a.keys() == b.keys() and all(same(v, b[k], records) for k, v in a.items())
    return records.has(a) and same(composite.fields(a), composite.fields(b), records)


def zeros(spec: Any) -> Any:
    """A tensor of a dtype and shape, where sizes that are unknown are 0."""
    dtype = spec.dtype
    if dtype == _core.variant:
        return raw_ops.list_new(0)
    value: Any = "" if dtype == _core.string else False if dtype == _core.bool else 0
    dims = spec.shape._dims or ()
    scalar = _core._to_tensor(value, dtype)
    return raw_ops.fill([d or 0 for d in dims], scalar) if dims else scalar


def label(name: str) -> str:
    """How messages call a variable."""
    if name == RESULT:
        return "the return value"
    return name if " " in name else f"'{name}'"


def list_label(name: str) -> str:
    """How messages call the list that a variable holds."""
    return name if name.startswith("the contents of ") else f"the list {label(name)}"


def describe(value: Any) -> str:
    """A value in a message: type and shape of a tensor, else itself."""
    if value is UNDEFINED:
        return "no value"
    if isinstance(value, _core.Tensor | _core._Variable):
        return f"a tensor of dtype {value.dtype.name} and shape {value.shape}"
    if isinstance(value, FunctionType):
        return f"the function {value.__qualname__.rpartition('.')[2]}"
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"


def spec_of(value: Any) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype)
