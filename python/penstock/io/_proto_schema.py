"""What messages of protocol buffers have for fields, from descriptors of their files."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from penstock._runtime import protos
from penstock._runtime.messages import Field, Message
from penstock.errors import DataLossError, InvalidArgumentError, OpError
from penstock.io.gfile import GFile

__all__ = ["GROUP", "KINDS", "MESSAGE", "STRINGS", "FieldType", "Schema", "file_set", "schema"]

# The names of the types of fields, by their numbers in descriptors.
KINDS: Final = (
    *("", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group"),
    *("message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64"),
)
MESSAGE: Final = ("group", "message")
STRINGS: Final = ("string", "bytes")
GROUP: Final = "group"
_REPEATED: Final = 3
_EXPANDED: Final = 2


class _Features(Message):
    FIELDS: ClassVar = {"repeated_field_encoding": Field(3, "enum", oneof="encoding")}


class _FieldOptions(Message):
    FIELDS: ClassVar = {"packed": Field(2, "bool", oneof="packed"), "features": Field(21, _Features)}


class _FieldDescriptor(Message):
    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "extendee": Field(2, "string"),
        "number": Field(3, "int32"),
        "label": Field(4, "enum"),
        "type": Field(5, "enum"),
        "type_name": Field(6, "string"),
        "default_value": Field(7, "string", oneof="default"),
        "options": Field(8, _FieldOptions),
        "oneof_index": Field(9, "int32", oneof="index"),
        "proto3_optional": Field(17, "bool"),
    }


class _EnumValue(Message):
    FIELDS: ClassVar = {"name": Field(1, "string"), "number": Field(2, "int32")}


class _Enum(Message):
    FIELDS: ClassVar = {"name": Field(1, "string"), "value": Field(2, _EnumValue, repeated=True)}


class _MessageOptions(Message):
    FIELDS: ClassVar = {"map_entry": Field(7, "bool")}


class _Descriptor(Message):
    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "field": Field(2, _FieldDescriptor, repeated=True),
        "enum_type": Field(4, _Enum, repeated=True),
        "extension": Field(6, _FieldDescriptor, repeated=True),
        "options": Field(7, _MessageOptions),
    }


_Descriptor.FIELDS["nested_type"] = Field(3, _Descriptor, repeated=True)


class _FileOptions(Message):
    FIELDS: ClassVar = {"features": Field(50, _Features)}


class _File(Message):
    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "package": Field(2, "string"),
        "message_type": Field(4, _Descriptor, repeated=True),
        "enum_type": Field(5, _Enum, repeated=True),
        "extension": Field(7, _FieldDescriptor, repeated=True),
        "options": Field(8, _FileOptions),
        "syntax": Field(12, "string"),
    }


class _FileSet(Message):
    FIELDS: ClassVar = {"file": Field(1, _File, repeated=True)}


class FieldType(NamedTuple):
    """A field of a message.

    Attributes:
        name: its name; of an extension with its package.
        number: its number on the wire.
        kind: the name of its type, such as `"sint32"`, `"message"` or `"group"`.
        message: the name of the type of a message or group.
        repeated: whether there are any number of values.
        packed: whether numbers are written as one.
        implicit: whether a value that is the default is not written.
        default: what stands for an absent value.
    """

    name: str
    number: int
    kind: str
    message: str
    repeated: bool
    packed: bool
    implicit: bool
    default: Any


class Schema:
    """The messages that files describe.

    Args:
        content: a `FileDescriptorSet` as bytes.

    Raises:
        DataLossError: where the bytes are none.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._messages: dict[str, tuple[_Descriptor, _File]] = {}
        self._enums: dict[str, _Enum] = {}
        self._extensions: dict[str, dict[str, tuple[_FieldDescriptor, _File, str]]] = {}
        try:
            for file in _FileSet.FromString(content).file:
                self._add(file, file.package, file)
        except RecursionError:
            raise DataLossError("messages are nested too deeply") from None
        self._fields: dict[str, dict[str, FieldType]] = {}

    @property
    def content(self) -> bytes:
        """The files as bytes."""
        return self._content

    def _add(self, within: Any, scope: str, file: _File) -> None:
        """Take the types that a file or a message describes."""
        for enum in within.enum_type:
            self._enums[_joined(scope, enum.name)] = enum
        for extension in within.extension:
            extended = self._extensions.setdefault(extension.extendee.lstrip("."), {})
            extended[_joined(scope, extension.name)] = (extension, file, scope)
        for message in within.nested_type if isinstance(within, _Descriptor) else within.message_type:
            name = _joined(scope, message.name)
            self._messages[name] = (message, file)
            self._add(message, name, file)

    def has(self, message_type: str) -> bool:
        """Whether there is a message of a name."""
        return message_type in self._messages

    def fields(self, message_type: str) -> Mapping[str, FieldType]:
        """The fields of a message and its extensions, by name."""
        found = self._fields.get(message_type)
        if found is None:
            message, file = self._messages[message_type]
            found = {f.name: self._field(f, file, message_type, f.name) for f in message.field}
            for name, (extension, where, scope) in self._extensions.get(message_type, {}).items():
                found[name] = self._field(extension, where, scope, name)
            self._fields[message_type] = found
        return found

    def _field(self, field: _FieldDescriptor, file: _File, scope: str, name: str) -> FieldType:
        kind = KINDS[field.type] if 0 < field.type < len(KINDS) else ""
        if not kind:
            raise InvalidArgumentError(
                f"argument 'descriptor_source' has a field '{name}' of type {field.type}"
            )
        repeated = field.label == _REPEATED
        present = field.proto3_optional or field.HasField("oneof_index") or bool(field.extendee)
        return FieldType(
            name,
            field.number,
            kind,
            self._resolved(field.type_name, scope, self._messages) if kind in MESSAGE else "",
            repeated,
            repeated and kind not in (*MESSAGE, *STRINGS) and _is_packed(field, file),
            file.syntax == "proto3" and not (repeated or present or kind in MESSAGE),
            self._default(field, kind, scope),
        )

    @staticmethod
    def _resolved(name: str, scope: str, known: Mapping[str, Any]) -> str:
        """The full name of a type that a field of a scope names."""
        if name.startswith("."):
            return name[1:]
        while scope and _joined(scope, name) not in known:
            scope = scope.rpartition(".")[0]
        return _joined(scope, name)

    def _default(self, field: _FieldDescriptor, kind: str, scope: str) -> Any:
        text = field.default_value if field.HasField("default_value") else None
        if kind == "enum":
            enum = self._enums.get(self._resolved(field.type_name, scope, self._enums))
            numbers = {} if enum is None else {value.name: value.number for value in enum.value}
            return next(iter(numbers.values()), 0) if text is None else numbers.get(text, 0)
        if kind in MESSAGE:
            return b""
        if kind in STRINGS:
            raw = (text or "").encode()
            return raw.decode("unicode_escape").encode("latin1") if kind == "bytes" else raw
        if kind == "bool":
            return text == "true"
        if kind in ("double", "float"):
            return float(text or 0)
        return int(text or 0)


def _joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def _is_packed(field: _FieldDescriptor, file: _File) -> bool:
    options = field.options
    if options.HasField("packed"):
        return bool(options.packed)
    for features in (options.features, file.options.features):
        if features.HasField("repeated_field_encoding"):
            return bool(features.repeated_field_encoding != _EXPANDED)
    return file.syntax in ("proto3", "editions")


# --- where descriptors come from ---


@functools.lru_cache(maxsize=64)
def schema(content: bytes) -> Schema:
    """The messages that a `FileDescriptorSet` describes."""
    return Schema(content)


def file_set(descriptor_source: str | bytes, message_type: str) -> Schema:
    """The messages that the argument `descriptor_source` of an operation describes.

    Args:
        descriptor_source: `"local://"`, `bytes://` before a `FileDescriptorSet`, or the path of one.
        message_type: the name of a message that is looked for.

    Raises:
        InvalidArgumentError: where it has none, or not this message.
    """
    raw = descriptor_source if isinstance(descriptor_source, bytes) else str(descriptor_source).encode()
    found: Schema | None
    if raw in (b"", b"local://"):
        found = _local(message_type)
    else:
        try:
            content = raw[8:] if raw.startswith(b"bytes://") else GFile(raw.decode(), "rb").read()
            found = schema(bytes(content))
        except (OpError, OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(
                f"argument 'descriptor_source' must have a FileDescriptorSet as bytes: {error}"
            ) from None
    if found is None or not found.has(message_type):
        where = "the descriptors that are loaded" if found is None else "argument 'descriptor_source'"
        raise InvalidArgumentError(f"argument 'message_type': there is no '{message_type}' in {where}")
    return found


def _local(message_type: str) -> Schema | None:
    """The messages of the library of protocol buffers, where a program has loaded it, or of the package."""
    library: Any = sys.modules.get("google.protobuf.descriptor_pool")
    if library is not None:
        try:
            file = library.Default().FindMessageTypeByName(message_type).file
        except KeyError:
            pass
        else:
            files: dict[str, bytes] = {}
            _collect(file, files)
            for extension in library.Default().FindAllExtensions(
                library.Default().FindMessageTypeByName(message_type)
            ):
                _collect(extension.file, files)
            return schema(b"".join(_framed_file(content) for content in files.values()))
    own = schema(_own())
    return own if own.has(message_type) else None


def _framed_file(content: bytes) -> bytes:
    """A file in a `FileDescriptorSet`."""
    length, size = bytearray(), len(content)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return b"\x0a" + bytes([*length, size]) + content


def _collect(file: Any, files: dict[str, bytes]) -> None:
    """Add a file of the library's, after those that it needs."""
    if file.name not in files:
        for needed in file.dependencies:
            _collect(needed, files)
        files[file.name] = file.serialized_pb


@functools.cache
def _own() -> bytes:
    """The messages of the package as a `FileDescriptorSet`."""
    names: dict[type[Message], str] = {}

    def name(cls: type[Message], path: str) -> None:
        if cls not in names:
            names[cls] = path
            for key, value in vars(cls).items():
                if isinstance(value, type) and issubclass(value, Message):
                    name(value, f"{path}.{key}")

    shown = [getattr(protos, key) for key in protos.__all__]
    for cls in shown:
        if isinstance(cls, type) and issubclass(cls, Message):
            name(cls, cls.__name__)
    described = {"": _File(name="penstock/messages.proto", package="tensorflow", syntax="proto3")}
    for cls, path in sorted(names.items(), key=lambda item: item[1].count(".")):
        outer = described[path.rpartition(".")[0]]
        into = outer.message_type if isinstance(outer, _File) else outer.nested_type
        described[path] = into.add(name=path.rpartition(".")[2])
        described[path].field.extend(_described(cls, path, names, described[path]))
    return _FileSet(file=[described[""]]).SerializeToString()


def _described(
    cls: type[Message], path: str, names: Mapping[type[Message], str], into: Any
) -> Iterator[_FieldDescriptor]:
    """The descriptors of the fields of a class of the package whose messages have names."""
    groups: list[str] = []
    for key, field in cls.FIELDS.items():
        label = _REPEATED if field.repeated or field.mapped else 1
        made = _FieldDescriptor(name=key, number=field.number, label=label)
        if field.oneof is not None:
            groups += [] if field.oneof in groups else [field.oneof]
            made.oneof_index = groups.index(field.oneof)
        if field.mapped:
            entry = "".join(part.title() for part in key.split("_")) + "Entry"
            inner = into.nested_type.add(name=entry, options={"map_entry": True})
            inner.field.extend(
                _typed(_FieldDescriptor(name=part, number=n, label=1), kind, names)
                for n, (part, kind) in enumerate((("key", "string"), ("value", field.kind)), 1)
            )
            made.type = KINDS.index("message")
            made.type_name = f".tensorflow.{path}.{entry}"
            yield made
        elif isinstance(field.kind, str) or field.kind in names:
            yield _typed(made, field.kind, names)


def _typed(
    made: _FieldDescriptor, kind: str | type[Message], names: Mapping[type[Message], str]
) -> _FieldDescriptor:
    if isinstance(kind, str):
        # Enumerations of the package are integers: their names are not known.
        made.type = KINDS.index("int32" if kind == "enum" else kind)
    else:
        made.type = KINDS.index("message")
        made.type_name = f".tensorflow.{names[kind]}"
    return made
