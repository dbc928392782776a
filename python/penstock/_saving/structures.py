"""Nested arguments and results as JSON: containers, literals, and specifications in place of tensors.

A file is not trusted: no class is imported to read it. Named tuples and extension types come
back as the classes of the program; where it has no such class of named tuples, one is made.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock import _core
from penstock._types.argument_kinds import Conformed, fields_of
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec, VariableSpec
from penstock._values.indexed_slices import IndexedSlices
from penstock._values.tensor_array import TensorArray

__all__ = ["Decoder", "Unsaved", "class_name", "encode", "named_tuple"]


class Unsaved(TypeError):
    """A value that no file can hold."""


def encode(value: Any, variables: Iterator[Any] | None = None, ordered: bool = False) -> Any:
    """What JSON holds of a nest.

    Args:
        value: the nest, with a specification in place of each tensor.
        variables: what is to be noted of each variable, in the order of the engine's walk over arguments.
        ordered: whether dicts keep their order, as in results; else they are in the engine's.

    Raises:
        Unsaved: for something else in it.
    """

    def inner(item: Any) -> Any:
        return encode(item, variables, ordered)

    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) in _LITERALS:
        tag, write, _ = _LITERALS[type(value)]
        return {tag: write(value)}
    if isinstance(value, TensorSpec):
        return {"tensor": [value.dtype.name, _extents(value.shape), value.name]}
    if isinstance(value, VariableSpec):
        noted = None if variables is None else next(variables)
        return {"variable": [value.dtype.name, _extents(value.shape), value.trainable, noted]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [[name, inner(item)] for name, item in zip(value._fields, value, strict=True)]
        return {"named": [class_name(type(value)), items]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [inner(item) for item in value]}
    if isinstance(value, Mapping) and isinstance(value, dict):
        keys = list(value) if ordered else _sorted(value)
        return {"dict": [[encode(key), inner(value[key])] for key in keys]}
    ragged = _ragged_spec(value)
    if ragged is not None:
        return {"ragged": [ragged.dtype.name, _extents(ragged.shape), *_ragged_rest(ragged)]}
    fields = None if isinstance(value, type) else fields_of(type(value))
    if fields is not None and class_name(type(value)) in _classes():
        items = [[name, inner(getattr(value, name))] for name in fields]
        return {"object": [class_name(type(value)), items]}
    raise Unsaved(f"a value of type {type(value).__qualname__} cannot be saved: {value!r:.200}")


def _extents(shape: TensorShape) -> list[int | None] | None:
    return None if shape.rank is None else shape.as_list()


def _sorted(value: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def _ragged_spec(value: Any) -> Any:
    from penstock._types.ragged_spec import RaggedTensorSpec  # start-up does without it
    from penstock._values.ragged import RaggedTensor  # start-up does without it

    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec.from_value(value)
    return value if isinstance(value, RaggedTensorSpec) else None


def _ragged_rest(spec: Any) -> tuple[int, str]:
    return spec.ragged_rank, spec.row_splits_dtype.name


def class_name(cls: type) -> str:
    """The name of a class in files."""
    return f"{cls.__module__}.{cls.__qualname__}"


def _classes() -> dict[str, type]:
    """The classes that values of a file may be of, by name: those that the program has."""
    from penstock._values.extension_type import ExtensionType  # start-up does without it

    found: dict[str, type] = {class_name(cls): cls for cls in (IndexedSlices, TensorArray)}
    due = list(ExtensionType.__subclasses__())
    while due:
        cls = due.pop()
        found.setdefault(class_name(cls), cls)
        due.extend(cls.__subclasses__())
    return found


# How literals are written and read, by their type: a tag, then the two functions.
_LITERALS: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    float: ("float", float.hex, float.fromhex),
    bytes: ("bytes", lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1")),
    complex: (
        "complex",
        lambda value: [value.real.hex(), value.imag.hex()],
        lambda parts: complex(float.fromhex(parts[0]), float.fromhex(parts[1])),
    ),
    _core.DType: ("dtype", lambda value: value.name, _core.DType),
    TensorShape: ("shape", _extents, TensorShape),
    range: ("range", lambda value: [value.start, value.stop, value.step], lambda parts: range(*parts)),
    slice: (
        "slice",
        lambda value: [encode(value.start), encode(value.stop), encode(value.step)],
        lambda parts: slice(*(Decoder().decode(part) for part in parts)),
    ),
    type(...): ("ellipsis", lambda value: None, lambda none: ...),
}
_READERS = {tag: read for tag, _, read in _LITERALS.values()}


class Decoder:
    """Nests out of JSON.

    Args:
        tensor: what stands in place of a tensor, by its specification; by default that.
        variable: what stands in place of a variable, by its specification and what was noted of it.
    """

    def __init__(
        self,
        tensor: Callable[[TensorSpec], Any] = lambda spec: spec,
        variable: Callable[[VariableSpec, Any], Any] = lambda spec, noted: spec,
    ) -> None:
        self.tensor, self.variable = tensor, variable

    def decode(self, written: Any) -> Any:
        """The nest.

        Raises:
            ValueError: for what no nest is written as.
        """
        if written is None or type(written) in (bool, int, str):
            return written
        if type(written) is not dict or len(written) != 1:
            raise ValueError(f"no value is written as {written!r:.100}")
        [(tag, parts)] = written.items()
        if tag in _READERS:
            return _READERS[tag](parts)
        read = getattr(self, f"_{tag}", None)
        if read is None:
            raise ValueError(f"no value is written as '{tag}'")
        return read(parts)

    def _tensor(self, parts: list[Any]) -> Any:
        dtype, shape, name = parts
        return self.tensor(TensorSpec(shape, dtype, name))

    def _variable(self, parts: list[Any]) -> Any:
        dtype, shape, trainable, noted = parts
        return self.variable(VariableSpec(shape, dtype, trainable), noted)

    def _list(self, items: list[Any]) -> list[Any]:
        return [self.decode(item) for item in items]

    def _tuple(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in items)

    def _dict(self, items: list[Any]) -> dict[Any, Any]:
        return {self.decode(key): self.decode(item) for key, item in items}

    def _named(self, parts: list[Any]) -> Any:
        name, items = parts
        return named_tuple(name, tuple(field for field, _ in items))(
            *(self.decode(item) for _, item in items)
        )

    def _ragged(self, parts: list[Any]) -> Any:
        from penstock._types.ragged_spec import RaggedTensorSpec  # start-up does without it

        dtype, shape, ragged_rank, row_splits_dtype = parts
        spec = RaggedTensorSpec(shape, dtype, ragged_rank, _core.DType(row_splits_dtype))
        tensors = [self.tensor(part) for part in spec.flatten()]
        if all(isinstance(tensor, TensorSpec) for tensor in tensors):
            return spec
        return Conformed(spec.from_tensors(iter(tensors)), spec)

    def _object(self, parts: list[Any]) -> Any:
        name, items = parts
        cls = _classes().get(name)
        if cls is None:
            raise ValueError(f"the program has no class {name}: define or import it before loading")
        made: Any = object.__new__(cls)
        for field, item in items:
            object.__setattr__(made, field, self.decode(item))
        return made


def named_tuple(name: str, fields: tuple[str, ...]) -> type:
    """The class of named tuples of a name: the program's, or one made for it where that has none."""
    found = [
        cls
        for cls in tuple.__subclasses__()
        if class_name(cls) == name and getattr(cls, "_fields", None) == fields
    ]
    if found:
        return found[-1]
    module, _, label = name.rpartition(".")
    make: Any = collections.namedtuple
    made: type = make(label, fields, module=module)
    return made
