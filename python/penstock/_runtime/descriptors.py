"""Descriptors of the package's messages in the library of protocol buffers, where it is installed.

By them `google.protobuf.text_format` and `json_format` read and write the messages. They are made of the
tables of fields when they are first asked for. Enumerations are described as integers.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from penstock._runtime.messages import Field, Message

__all__ = ["descriptor"]

_SCALARS: Final = {
    name: f"TYPE_{'INT32' if name == 'enum' else name.upper()}"
    for name in ("bool", "bytes", "double", "enum", "float", "int32", "int64", "string", "uint32", "uint64")
}
# The file that describes each class, by its name.
_files: dict[type[Message], str] = {}
# The library's classes, which its descriptors do not keep.
_made: list[dict[str, Any]] = []


def descriptor(cls: type[Message]) -> Any:
    """The `google.protobuf.descriptor.Descriptor` of a class of messages.

    Raises:
        ImportError: where the library is not installed.
    """
    if cls not in _files:
        _describe(cls)
    return _pool().FindMessageTypeByName(".".join(_names(cls)))


@functools.cache
def _pool() -> Any:
    try:
        from google.protobuf import descriptor_pool  # third-party code, for who asks for descriptors
    except ImportError:
        raise ImportError(
            "descriptors of messages need the package 'protobuf', which is not installed: "
            "run 'pip install protobuf'"
        ) from None
    return descriptor_pool.DescriptorPool()


def _names(cls: type[Message]) -> tuple[str, str]:
    """The package and the name of a class: those that are private to a module are in a package of its own."""
    module = cls.__module__.rpartition(".")[2].lstrip("_")
    package = f"tensorflow.{module}" if cls.__name__.startswith("_") else "tensorflow"
    return package, cls.__name__.lstrip("_")


def _kinds(cls: type[Message]) -> list[type[Message]]:
    """The classes of the messages in the fields of one."""
    return [field.kind for field in cls.FIELDS.values() if not isinstance(field.kind, str)]


def _describe(cls: type[Message]) -> None:
    """Describe a class, and those of its fields, which come first: no class is within itself."""
    for kind in _kinds(cls):
        if kind not in _files:
            _describe(kind)
    pool = _pool()
    # Third-party code, for who asks for descriptors.
    from google.protobuf import descriptor_pb2, message_factory

    package, name = _names(cls)
    path = f"{package.replace('.', '/')}/{name}.proto"
    file = descriptor_pb2.FileDescriptorProto(name=path, package=package, syntax="proto3")
    file.dependency.extend(sorted({_files[kind] for kind in _kinds(cls)}))
    described = file.message_type.add(name=name)
    groups: list[str] = []
    for key, field in cls.FIELDS.items():
        added = described.field.add(name=key, number=field.number)
        if field.mapped:
            entry = described.nested_type.add(name=_entry_name(key))
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label="LABEL_OPTIONAL", type="TYPE_STRING")
            _typed(entry.field.add(name="value", number=2, label="LABEL_OPTIONAL"), field)
            added.label, added.type = added.LABEL_REPEATED, added.TYPE_MESSAGE
            added.type_name = f".{package}.{name}.{entry.name}"
            continue
        added.label = added.LABEL_REPEATED if field.repeated else added.LABEL_OPTIONAL
        _typed(added, field)
        if field.oneof is not None:
            if field.oneof not in groups:
                groups.append(field.oneof)
                described.oneof_decl.add(name=field.oneof)
            added.oneof_index = groups.index(field.oneof)
    pool.Add(file)
    # What reads a text asks the descriptors of a map's entries for their class: it has to be there.
    _made.append(message_factory.GetMessageClassesForFiles([path], pool))
    _files[cls] = path


def _entry_name(field_name: str) -> str:
    """The name that the compiler of protocol buffers gives the entries of a map."""
    return "".join(part.capitalize() for part in field_name.split("_")) + "Entry"


def _typed(added: Any, field: Field) -> None:
    if isinstance(field.kind, str):
        added.type = getattr(added, _SCALARS[field.kind])
    else:
        added.type, added.type_name = added.TYPE_MESSAGE, "." + ".".join(_names(field.kind))
