"""Messages of protocol buffers: classes with a table of fields each, without generated modules."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from penstock.errors import DataLossError

__all__ = ["Field", "Message"]

Self = TypeVar("Self", bound="Message")

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_MASK: Final = (1 << 64) - 1


class _Kind(NamedTuple):
    """How a scalar is written: its wire type, its default, what checks it, and the two directions."""

    wire: int
    default: Any
    check: Callable[[Any], Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[Any], Any]


def _varint(number: int) -> bytes:
    pieces = bytearray()
    while number > 127:
        pieces.append(number & 127 | 128)
        number >>= 7
    pieces.append(number)
    return bytes(pieces)


def _integer(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, float | str | bytes) or not hasattr(value, "__index__"):
            raise TypeError(f"takes integers, got {value!r}")
        number = int(value.__index__())
        if not low <= number <= high:
            raise ValueError(f"takes integers from {low} to {high}, got {value!r}")
        return number

    return check


def _number(value: Any) -> float:
    if isinstance(value, str | bytes) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"takes numbers, got {value!r}")
    return float(value)


def _single(value: Any) -> float:
    number = _number(value)
    if abs(number) > 3.4028235677973366e38:
        number = float("inf") if number > 0 else float("-inf")
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"takes bytes, got {value!r}")
    return bytes(value)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"takes a string, got {value!r}")
    return value


def _signed(bits: int) -> Callable[[int], int]:
    def decode(number: int) -> int:
        number &= (1 << bits) - 1
        return number - (1 << bits) if number >> (bits - 1) else number

    return decode


def _of_integers(bits: int, signed: bool) -> _Kind:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    decode = _signed(bits) if signed else (lambda n: n & high)
    return _Kind(_VARINT, 0, _integer(low, high), lambda n: _varint(n & _MASK), decode)


def _packed(form: str, wire: int, check: Callable[[Any], Any]) -> _Kind:
    one = struct.Struct(form)
    return _Kind(wire, 0.0, check, one.pack, lambda raw: one.unpack(raw)[0])


_FIXED, _WIDE = struct.Struct("<I"), struct.Struct("<Q")

_KINDS: Final = {
    "int32": _of_integers(32, True),
    "enum": _of_integers(32, True),
    "int64": _of_integers(64, True),
    "uint32": _of_integers(32, False),
    "uint64": _of_integers(64, False),
    "sint64": _Kind(
        _VARINT,
        0,
        _integer(-(1 << 63), (1 << 63) - 1),
        lambda n: _varint((n << 1 ^ n >> 63) & _MASK),
        lambda raw: raw >> 1 ^ -(raw & 1),
    ),
    "fixed64": _Kind(_FIXED64, 0, _integer(0, _MASK), _WIDE.pack, lambda raw: _WIDE.unpack(raw)[0]),
    "fixed32": _Kind(_FIXED32, 0, _integer(0, (1 << 32) - 1), _FIXED.pack, lambda raw: _FIXED.unpack(raw)[0]),
    "bool": _Kind(_VARINT, False, lambda v: bool(_integer(0, 1)(v)), lambda v: _varint(int(v)), bool),
    "float": _packed("<f", _FIXED32, _single),
    "double": _packed("<d", _FIXED64, _number),
    "bytes": _Kind(_LENGTH, b"", _bytes, bytes, bytes),
    "string": _Kind(_LENGTH, "", _text, str.encode, lambda raw: bytes(raw).decode()),
}


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        number: its number on the wire.
        kind: the name of a scalar type of protocol buffers, or the class of a message.
        repeated: whether there are any number of values; numbers are packed.
        oneof: the name of a group of fields of which at most one is set.
        mapped: whether it is a map from strings.
    """

    number: int
    kind: str | type[Message]
    repeated: bool = False
    oneof: str | None = None
    mapped: bool = False

    def checked(self, value: Any, name: str) -> Any:
        """A value that the field takes; for a message also a dict of its fields, or None for an empty one."""
        if not isinstance(self.kind, str):
            if isinstance(value, self.kind):
                return value
            if isinstance(value, Mapping):
                return self.kind(**value)
            raise TypeError(f"field '{name}' takes {self.kind.__name__}, got {value!r}")
        try:
            return _KINDS[self.kind].check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"field '{name}' {error}") from None


class _Values(list[Any]):
    """The values of a repeated field."""

    def __init__(self, field: Field, name: str) -> None:
        super().__init__()
        self._field, self._name = field, name

    def append(self, value: Any) -> None:
        super().append(self._field.checked(value, self._name))

    def extend(self, values: Iterable[Any]) -> None:
        super().extend([self._field.checked(value, self._name) for value in values])

    def insert(self, index: Any, value: Any) -> None:
        super().insert(index, self._field.checked(value, self._name))

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            super().__setitem__(index, [self._field.checked(one, self._name) for one in value])
        else:
            super().__setitem__(index, self._field.checked(value, self._name))

    def add(self, **fields: Any) -> Any:
        """Append a message, and give it."""
        if isinstance(self._field.kind, str):
            raise AttributeError(f"field '{self._name}' has no messages: append to it")
        self.append(self._field.kind(**fields))
        return self[-1]


class _Map(dict[str, Any]):
    """The entries of a map from strings; one of messages gets an entry where it is asked for."""

    def __init__(self, field: Field, name: str) -> None:
        super().__init__()
        self._field, self._name = field, name

    def __missing__(self, key: str) -> Any:
        if isinstance(self._field.kind, str):
            raise KeyError(key)
        value = self._field.kind()
        super().__setitem__(_text(key), value)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(_text(key), self._field.checked(value, self._name))

    def GetEntryClass(self) -> type[Message]:
        """The class of messages with the key and the value of an entry."""
        kind: Any = self._field.kind
        return _entry_class(kind)

    def get_or_create(self, key: str) -> Any:
        """The entry of a key, which is made where there is none."""
        return self[key]


@functools.cache
def _entry_class(kind: str | type[Message]) -> type[Message]:
    name = f"_{kind if isinstance(kind, str) else kind.__name__.lstrip('_')}Entry"
    fields = {"key": Field(1, "string"), "value": Field(2, kind)}
    return type(name, (Message,), {"FIELDS": fields, "__module__": __name__})


def _line(name: str, value: Any, indent: str) -> str:
    """A field in the text form of messages, which ends in a line break."""
    if isinstance(value, Message):
        return f"{indent}{name} {{\n{value._text(indent + '  ')}{indent}}}\n"
    if isinstance(value, bool):
        shown = "true" if value else "false"
    elif isinstance(value, str | bytes):
        content = value.encode() if isinstance(value, str) else value
        shown = (
            '"'
            + "".join(_ESCAPED.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in content)
            + '"'
        )
    else:
        shown = repr(value)
    return f"{indent}{name}: {shown}\n"


_ESCAPED: Final = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}


class _Described:
    """The attribute `DESCRIPTOR` of a class of messages."""

    def __get__(self, message: object, cls: type[Message]) -> Any:
        from penstock._runtime.descriptors import descriptor  # they build on this, and start-up does without

        return descriptor(cls)


class FieldName(NamedTuple):
    """What stands for a field where there are no descriptors of the library of protocol buffers."""

    name: str
    number: int


class Message:
    """A message: fields by name, to and from bytes.

    Reading a message within it makes one, which counts as set once something in it is. Unknown fields are
    dropped when it is read.

    Args:
        **fields: values; a dict for a message, anything with elements for a repeated field.

    Raises:
        ValueError: for a field that the message does not have.
        TypeError: for a value that a field does not take.
    """

    FIELDS: ClassVar[dict[str, Field]] = {}
    DESCRIPTOR: ClassVar = _Described()
    _values: dict[str, Any]

    def __init__(self, **fields: Any) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in fields.items():
            if value is None:
                self._field(name)
            elif (field := self._field(name)).mapped:
                for key, entry in value.items():
                    getattr(self, name)[key] = entry
            elif field.repeated:
                getattr(self, name).extend(value)
            else:
                self._set(name, value)

    def _field(self, name: str) -> Field:
        field = self.FIELDS.get(name)
        if field is None:
            raise ValueError(f"{type(self).__name__} has no field '{name}': it has {', '.join(self.FIELDS)}")
        return field

    def _set(self, name: str, value: Any) -> None:
        field = self._field(name)
        value = field.checked(value, name)
        for other, rival in self.FIELDS.items():
            if field.oneof is not None and rival.oneof == field.oneof:
                self._values.pop(other, None)
        self._values[name] = value

    def __getattr__(self, name: str) -> Any:
        field = type(self).FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        if name in self._values:
            return self._values[name]
        if field.mapped or field.repeated:
            value = self._values[name] = (_Map if field.mapped else _Values)(field, name)
            return value
        if isinstance(field.kind, str):
            return _KINDS[field.kind].default
        inner = self._values[name] = field.kind()
        object.__setattr__(inner, "_asked_for", True)
        return inner

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        if field.mapped or field.repeated or not isinstance(field.kind, str):
            raise AttributeError(
                f"field '{name}' of {type(self).__name__} cannot be assigned: change what is in it"
            )
        self._set(name, value)

    def _is_set(self, name: str) -> bool:
        if name not in self._values:
            return False
        value = self._values[name]
        if isinstance(value, _Map | _Values):
            return bool(value)
        if isinstance(value, Message) and getattr(value, "_asked_for", False):
            return any(True for _ in value._present())
        if not isinstance(value, Message) and self.FIELDS[name].oneof is None:
            return bool(value != _KINDS[str(self.FIELDS[name].kind)].default)
        return True

    def _present(self) -> Iterator[tuple[str, Field, Any]]:
        for name, field in self.FIELDS.items():
            if self._is_set(name):
                yield name, field, self._values[name]

    def _text(self, indent: str) -> str:
        lines: list[str] = []
        for name, field, value in sorted(self._present(), key=lambda item: item[1].number):
            if field.mapped:
                entry: Any = value.GetEntryClass()
                values = [entry(key=key, value=value[key]) for key in sorted(value)]
            else:
                values = value if field.repeated else [value]
            lines.extend(_line(name, each, indent) for each in values)
        return "".join(lines)

    def __str__(self) -> str:
        """The text form of messages: a line for each field."""
        return self._text("")

    def ListFields(self) -> list[tuple[Any, Any]]:
        """List the fields that are set, by their numbers.

        Returns:
            For each a descriptor, which has its `name` and `number`, and the value.
        """
        found = sorted(self._present(), key=lambda item: item[1].number)
        try:
            fields = type(self).DESCRIPTOR.fields_by_name
        except ImportError:
            return [(FieldName(name, field.number), value) for name, field, value in found]
        return [(fields[name], value) for name, _, value in found]

    def HasField(self, field_name: str) -> bool:
        """Tell whether a message within it, or a field of a group, is set."""
        self._field(field_name)
        return self._is_set(field_name)

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Tell which field of a group is set."""
        if not any(field.oneof == oneof_group for field in self.FIELDS.values()):
            raise ValueError(f"{type(self).__name__} has no group of fields '{oneof_group}'")
        return next((name for name, field, _ in self._present() if field.oneof == oneof_group), None)

    def ClearField(self, field_name: str) -> None:
        """Take the value of a field away."""
        self._field(field_name)
        self._values.pop(field_name, None)

    def Clear(self) -> None:
        """Take the values of all fields away."""
        self._values.clear()

    def CopyFrom(self, other_msg: Message) -> None:
        """Take the fields of another message of the class, and no others."""
        content = self._content_of(other_msg, "other_msg")
        self.Clear()
        self.MergeFromString(content)
        self.SetInParent()

    def MergeFrom(self, other_msg: Message) -> None:
        """Take the fields of another message of the class beside those that are set."""
        self.MergeFromString(self._content_of(other_msg, "other_msg"))
        self.SetInParent()

    def _content_of(self, message: Any, argument: str) -> bytes:
        """The bytes of a message of the class, also of one of the library's with the class's descriptor."""
        described = getattr(type(message), "DESCRIPTOR", None)
        if type(message) is not type(self) and (described is None or described is not self.DESCRIPTOR):
            raise TypeError(f"argument '{argument}' must be {type(self).__name__}, got {message!r}")
        content: bytes = message.SerializeToString()
        return content

    def SetInParent(self) -> None:
        """Count as set in the message that this one is in."""
        if self.__dict__.get("_asked_for"):
            object.__setattr__(self, "_asked_for", False)

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Write the message as bytes; equal messages give equal bytes.

        Args:
            deterministic: ignored: entries of maps are always written in order.

        Returns:
            The bytes.
        """
        return b"".join(_written(field, value) for _, field, value in self._present())

    def ByteSize(self) -> int:
        """Tell the length of the bytes."""
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls: type[Self], s: bytes) -> Self:
        """Read a message from bytes.

        Raises:
            DataLossError: for bytes that are no such message.
        """
        message = cls()
        message.MergeFromString(s)
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Take the fields from bytes, and no others."""
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Take fields from bytes beside those that are set."""
        data = memoryview(_bytes(serialized))
        by_number = {field.number: name for name, field in self.FIELDS.items()}
        try:
            for number, wire, raw in _read(data):
                if number in by_number:
                    self._merge(by_number[number], wire, raw)
        except (ValueError, IndexError, struct.error) as error:
            raise DataLossError(f"the bytes are no {type(self).__name__}: {error}") from None
        return len(data)

    def _merge(self, name: str, wire: int, raw: Any) -> None:
        field = self.FIELDS[name]
        if field.mapped:
            key, value = "", None
            for number, entry_wire, entry in _read(_length(raw, wire)):
                if number == 1:
                    key = bytes(_length(entry, entry_wire)).decode()
                elif number == 2:
                    value = _one(field, entry_wire, entry)
            getattr(self, name)[key] = _empty(field) if value is None else value
        elif field.repeated:
            list.extend(getattr(self, name), _several(field, wire, raw))
        elif isinstance(field.kind, str):
            self._set(name, _one(field, wire, raw))
        else:
            inner = self._values.get(name)
            if inner is None:
                self._set(name, field.kind())
                inner = self._values[name]
            object.__setattr__(inner, "_asked_for", False)
            inner.MergeFromString(bytes(_length(raw, wire)))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return list(self._present()) == list(other._present())

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return type(self).FromString, (self.SerializeToString(),)

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, field, value in self._present():
            if field.mapped:
                for key in sorted(value):
                    yield f"{name} {{"
                    yield f"  key: {_shown(key)}"
                    yield from (f"  {line}" for line in _value_lines("value", value[key]))
                    yield "}"
            else:
                for one in value if field.repeated else [value]:
                    yield from _value_lines(name, one)


def _value_lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Message):
        yield f"{name} {{"
        yield from (f"  {line}" for line in value._lines())
        yield "}"
    else:
        yield f"{name}: {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | bytes):
        raw = value.encode() if isinstance(value, str) else value
        return '"' + repr(raw)[2:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return repr(value)


def _empty(field: Field) -> Any:
    return _KINDS[field.kind].default if isinstance(field.kind, str) else field.kind()


def _framed(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(content)) + content


def _written(field: Field, value: Any) -> bytes:
    """A field with its value, or its values."""
    number, kind = field.number, field.kind
    if field.mapped:
        value_field = Field(2, kind)
        entries = (_framed(1, k.encode()) + _written(value_field, value[k]) for k in sorted(value))
        return b"".join(_framed(number, entry) for entry in entries)
    if not isinstance(kind, str):
        return b"".join(
            _framed(number, m.SerializeToString()) for m in (value if field.repeated else [value])
        )
    scalar = _KINDS[kind]
    if scalar.wire == _LENGTH:
        return b"".join(_framed(number, scalar.encode(v)) for v in (value if field.repeated else [value]))
    if field.repeated:
        return _framed(number, b"".join(map(scalar.encode, value)))
    return _varint(number << 3 | scalar.wire) + scalar.encode(value)


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for shift in itertools.count(0, 7):
        if shift > 63:
            raise ValueError("an integer has more than ten bytes")
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & _MASK, at
    raise AssertionError


def _read(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """The number, wire type and raw value of each field."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("a field has number 0")
        if wire == _VARINT:
            raw, at = _read_varint(data, at)
            yield number, wire, raw
            continue
        if wire == _LENGTH:
            size, at = _read_varint(data, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(f"field {number} has wire type {wire}")
        if at + size > len(data):
            raise ValueError(f"field {number} ends after the bytes")
        yield number, wire, data[at : at + size]
        at += size


def _length(raw: Any, wire: int) -> memoryview:
    if wire != _LENGTH:
        raise ValueError("a number stands where a message or a string belongs")
    found: memoryview = raw
    return found


def _one(field: Field, wire: int, raw: Any) -> Any:
    if not isinstance(field.kind, str):
        return field.kind.FromString(bytes(_length(raw, wire)))
    scalar = _KINDS[field.kind]
    if wire != scalar.wire:
        raise ValueError(f"field {field.number} has wire type {wire}")
    return scalar.decode(raw)


def _several(field: Field, wire: int, raw: Any) -> Iterable[Any]:
    """The values that one occurrence of a repeated field has: of packed numbers any number."""
    scalar = _KINDS[field.kind] if isinstance(field.kind, str) else None
    if scalar is None or wire == scalar.wire:
        return [_one(field, wire, raw)]
    data = _length(raw, wire)
    if scalar.wire == _VARINT:
        values = []
        at = 0
        while at < len(data):
            number, at = _read_varint(data, at)
            values.append(scalar.decode(number))
        return values
    size = 4 if scalar.wire == _FIXED32 else 8
    if len(data) % size:
        raise ValueError(f"field {field.number} ends within a number")
    return struct.unpack(f"<{len(data) // size}{'f' if size == 4 else 'd'}", data)
