"""What the class of an argument means to a trace, and how values of it are taken apart and put together.

The engine asks once for each class (`argument_kind`), and calls the rest while it traces.
"""

from __future__ import annotations

import copy
import enum
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock import _core
from penstock._types.shape import TensorShape
from penstock._types.specs import Composite, TensorSpec, TypeSpec

__all__ = [
    "argument_kind",
    "components",
    "fields_of",
    "held_weakly",
    "literal_text",
    "placeholder_value",
    "rebuilt_mapping",
    "released",
    "specified_value",
    "tracing_context",
    "with_fields",
]

_LITERALS = (TensorShape, _core.DType, complex, range, slice, type(...), type(NotImplemented))


class Specified:
    """A tensor that stands for every tensor of a specification."""

    __slots__ = ("spec", "value")

    def __init__(self, value: Any, spec: TensorSpec) -> None:
        self.value = value
        self.spec = spec


class Conformed:
    """A composite value that stands for every one of a specification; None, for the specification alone."""

    __slots__ = ("__weakref__", "spec", "value")

    def __init__(self, value: Any, spec: TypeSpec) -> None:
        self.value = value
        self.spec = spec

    def __tf_tracing_type__(self, context: Any) -> TypeSpec:
        """The specification."""
        return self.spec


def fields_of(cls: type) -> tuple[str, ...] | None:
    """The names of the fields by which values of a class count, or None where they count by equality."""
    names = getattr(cls, "_penstock_fields", None)
    if names is not None:
        return tuple(names)
    found = cls.__dict__.get("__dataclass_fields__") or getattr(cls, "__dataclass_fields__", None)
    if found is not None:
        # Pseudo-fields, such as class variables, are not the object's.
        return tuple(name for name, field in found.items() if field._field_type.name == "_FIELD")
    found = getattr(cls, "__attrs_attrs__", None)
    return None if found is None else tuple(attribute.name for attribute in found)


def argument_kind(cls: type) -> str | tuple[str, ...]:
    """What values of a class are among arguments: a kind, or the names of the fields that they count by."""
    if issubclass(cls, Specified):
        return "specified"
    if issubclass(cls, TensorSpec):
        return "spec"
    if issubclass(cls, TypeSpec):
        return "composite_spec"
    if issubclass(cls, _LITERALS):
        return "literal"
    if issubclass(cls, types.MethodType | _core._BoundFunction):
        return "method"
    if issubclass(cls, type | enum.Enum):
        return "plain"
    fields = fields_of(cls)
    trace_type = getattr(cls, "__tf_tracing_type__", None)
    if trace_type is Composite.__tf_tracing_type__:
        # Any composite value has it. Those count by it that have a specification, and no fields.
        own = fields is None and hasattr(cls, "_type_spec")
    else:
        own = trace_type is not None and not getattr(cls, "_penstock_structural", False)
    if own:
        return "protocol"
    if fields is not None:
        return fields
    if hasattr(cls, "__array_interface__") and hasattr(cls, "dtype"):
        return "array"
    return "mapping" if issubclass(cls, Mapping) else "plain"


def literal_text(value: Any) -> str:
    """What is written down for a literal: equal texts, equal values."""
    return repr(value)


def with_fields(value: Any, fields: dict[str, Any]) -> Any:
    """A shallow copy with other values in its fields; neither `__init__` nor validation runs."""
    made = copy.copy(value)
    if made is value:
        made = object.__new__(type(value))
        made.__dict__.update(value.__dict__)
    for name, field in fields.items():
        object.__setattr__(made, name, field)
    return made


def rebuilt_mapping(value: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping of the class of `value` with other values, in the order of its keys."""
    ordered = {key: items[key] for key in value}
    if isinstance(value, types.MappingProxyType):
        return types.MappingProxyType(ordered)
    return type(value)(ordered)  # type: ignore[call-arg]


def specified_value(spec: TypeSpec) -> Any:
    """The composite value, with specifications in place of tensors, that a specification describes."""
    make: Callable[[], Any] | None = getattr(spec, "_specified_value", None)
    if make is not None:
        return make()
    if not spec.flatten():
        raise TypeError(f"a {type(spec).__name__} cannot stand for an argument")
    return Conformed(None, spec)


class _TracingContext:
    """What `__tf_tracing_type__` is given."""

    def __repr__(self) -> str:
        return "<TracingContext>"


_CONTEXT = _TracingContext()


def tracing_context() -> _TracingContext:
    """What `__tf_tracing_type__` is given."""
    return _CONTEXT


class PlaceholderContext:
    """What `TraceType.placeholder_value` is given: it makes the placeholders of the trace.

    Attributes:
        naming_scope: a name for the argument.
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        self._tensors = iter(tensors)
        self.naming_scope = "arg"
        self.unnest_only = False

    def placeholder(self, spec: TensorSpec) -> Any:
        """The symbolic tensor in place of the next part of the argument."""
        try:
            return next(self._tensors)
        except StopIteration:
            raise ValueError(
                f"there is no tensor for {spec}: to_tensors() and flatten() of the trace type give fewer "
                "parts than placeholder_value() asks for"
            ) from None


def components(trace_type: Any, value: Any) -> list[tuple[Any, TensorSpec]]:
    """The tensors of an object, each with its specification, as its trace type takes it apart."""
    if isinstance(value, Conformed):
        value = value.value
        if value is None:
            return [(spec, spec) for spec in trace_type.flatten()]
    tensors = list(trace_type.to_tensors(value)) if hasattr(trace_type, "to_tensors") else []
    specs = list(trace_type.flatten()) if tensors else []
    if len(tensors) != len(specs):
        raise ValueError(
            f"{type(trace_type).__name__}: to_tensors() gives {len(tensors)} tensors, "
            f"flatten() {len(specs)} specifications"
        )
    return list(zip(tensors, specs, strict=True))


def placeholder_value(trace_type: Any, value: Any, tensors: list[Any]) -> Any:
    """What stands for an object while a function is traced: what its trace type makes, or itself."""
    try:
        make = trace_type.placeholder_value
    except AttributeError:
        return value
    try:
        return make(PlaceholderContext(tensors))
    except NotImplementedError:
        return value


class _Held:
    """An argument that a signature does not keep alive."""

    __slots__ = ("_reference", "_text")

    def __init__(self, reference: weakref.ref[Any], text: str) -> None:
        self._reference = reference
        self._text = text

    def get(self) -> Any:
        """The object, or None where it is gone."""
        return self._reference()

    def __repr__(self) -> str:
        target = self._reference()
        return self._text if target is None else repr(target)


def held_weakly(value: Any) -> Any:
    """What a signature keeps of an object: a weak reference, where there can be one."""
    try:
        reference = weakref.ref(value)
    except TypeError:
        return value
    return _Held(reference, f"<dead {type(value).__name__}>")


def released(value: Any) -> Any:
    """The argument that a signature holds; None in place of an object that is gone."""
    if isinstance(value, _Held):
        return value.get()
    if isinstance(value, tuple):
        items = [released(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, list):
        return [released(item) for item in value]
    if type(value) is dict:
        return {key: released(item) for key, item in value.items()}
    fields = None if isinstance(value, type) else fields_of(type(value))
    if fields and any(isinstance(getattr(value, name), _Held) for name in fields):
        return with_fields(value, {name: released(getattr(value, name)) for name in fields})
    return value
