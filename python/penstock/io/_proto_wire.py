"""Fields of messages of protocol buffers from bytes, and bytes from fields."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from penstock._runtime.messages import _read_varint, _varint
from penstock.io._proto_schema import GROUP, MESSAGE, STRINGS, FieldType, Schema

__all__ = ["DTYPES", "canonical", "field_bytes", "values_of"]

_VARINT, _FIXED64, _LENGTH, _START, _END, _FIXED32 = range(6)
_MASK: Final = (1 << 64) - 1
# So deep may messages lie within messages, as in the library of protocol buffers.
_DEPTH: Final = 100

# Types of fixed size: the form of one, and its wire type.
_FIXED: Final = {
    "double": ("<d", _FIXED64),
    "fixed64": ("<Q", _FIXED64),
    "sfixed64": ("<q", _FIXED64),
    "float": ("<f", _FIXED32),
    "fixed32": ("<I", _FIXED32),
    "sfixed32": ("<i", _FIXED32),
}

_UNSIGNED32: Final = ("uint32", "uint64", "int64", "int32")
# The dtypes that fields of a type are read as, the natural one first.
DTYPES: Final[dict[str, tuple[str, ...]]] = {
    "double": ("float64",),
    "float": ("float32", "float64"),
    "int64": ("int64",),
    "uint64": ("uint64", "int64"),
    "int32": ("int32", "int64"),
    "fixed64": ("uint64", "int64"),
    "fixed32": _UNSIGNED32,
    "bool": ("bool",),
    "string": ("string",),
    "group": ("string",),
    "message": ("string",),
    "bytes": ("string",),
    "uint32": _UNSIGNED32,
    "enum": ("int32",),
    "sfixed32": ("int32", "int64"),
    "sfixed64": ("int64",),
    "sint32": ("int32", "int64"),
    "sint64": ("int64",),
}


def _signed(bits: int) -> Callable[[int], int]:
    low, half = (1 << bits) - 1, 1 << (bits - 1)
    return lambda n: ((n & low) ^ half) - half


def _unzigzag(bits: int) -> Callable[[int], int]:
    low = (1 << bits) - 1
    return lambda n: ((n & low) >> 1) ^ -(n & 1)


def _zigzag(bits: int) -> Callable[[int], int]:
    low = (1 << bits) - 1
    return lambda n: ((n << 1) ^ (n >> (bits - 1))) & low


_FROM_VARINT: Final[dict[str, Callable[[int], Any]]] = {
    "int64": _signed(64),
    "uint64": lambda n: n,
    "int32": _signed(32),
    "enum": _signed(32),
    "bool": bool,
    "uint32": lambda n: n & 0xFFFFFFFF,
    "sint32": _unzigzag(32),
    "sint64": _unzigzag(64),
}
_TO_VARINT: Final[dict[str, Callable[[int], int]]] = {
    "int64": lambda n: n & _MASK,
    "uint64": lambda n: n & _MASK,
    "int32": lambda n: _signed(32)(n) & _MASK,
    "enum": lambda n: _signed(32)(n) & _MASK,
    "bool": int,
    "uint32": lambda n: n & 0xFFFFFFFF,
    "sint32": lambda n: _zigzag(32)(_signed(32)(n)),
    "sint64": lambda n: _zigzag(64)(n),
}


def _wire(kind: str) -> int:
    if kind in _FIXED:
        return _FIXED[kind][1]
    if kind == GROUP:
        return _START
    return _LENGTH if kind in (*STRINGS, *MESSAGE) else _VARINT


# --- reading ---


def _skipped(data: memoryview, at: int, number: int, wire: int, depth: int = 0) -> tuple[int, int, int]:
    """Where the content of a field starts and ends, and where the next field is."""
    if wire == _VARINT:
        _, end = _read_varint(data, at)
        return at, end, end
    if wire == _LENGTH:
        size, at = _read_varint(data, at)
        end = at + size
    elif wire in (_FIXED32, _FIXED64):
        end = at + (4 if wire == _FIXED32 else 8)
    elif wire == _START:
        return _group(data, at, number, depth)
    else:
        raise ValueError(f"field {number} has wire type {wire}")
    if end > len(data):
        raise ValueError(f"field {number} ends after the bytes")
    return at, end, end


def _group(data: memoryview, at: int, number: int, depth: int) -> tuple[int, int, int]:
    if depth >= _DEPTH:
        raise ValueError("groups are nested too deeply")
    start = at
    while True:
        end = at
        inner, wire, at = _tag(data, at)
        if wire == _END:
            if inner != number:
                raise ValueError(f"group {number} ends as group {inner}")
            return start, end, at
        at = _skipped(data, at, inner, wire, depth + 1)[2]


def _tag(data: memoryview, at: int) -> tuple[int, int, int]:
    tag, at = _read_varint(data, at)
    number = tag >> 3
    if not 0 < number < 1 << 29:
        raise ValueError(f"a field has number {number}")
    return number, tag & 7, at


def values_of(content: bytes, fields: Mapping[int, FieldType]) -> dict[int, list[Any]]:
    """The values of fields of a message.

    Args:
        content: the message.
        fields: the fields that are looked for, by number.

    Returns:
        The values of those that are there, by number: of a field that is not repeated the last one. A message
        is its bytes, a group has its tags around them.

    Raises:
        ValueError: where the bytes are no message.
    """
    found: dict[int, list[Any]] = {}
    data, at = memoryview(content), 0
    try:
        while at < len(data):
            tag = at
            number, wire, at = _tag(data, at)
            start, end, at = _skipped(data, at, number, wire)
            field = fields.get(number)
            if field is None:
                continue
            if field.kind == GROUP and wire == _START:
                read: Sequence[Any] = [bytes(data[tag:at])]
            else:
                read = _read_field(field, wire, data[start:end])
            if not read:
                if wire == _LENGTH and field.repeated:
                    found.setdefault(number, [])
            elif field.repeated:
                found.setdefault(number, []).extend(read)
            else:
                found[number] = [read[-1]]
    except (IndexError, struct.error):
        raise ValueError("it ends within a field") from None
    return found


def _read_field(field: FieldType, wire: int, raw: memoryview) -> Sequence[Any]:
    """The values in one occurrence of a field; none where another type stands there."""
    kind = field.kind
    wanted = _wire(kind)
    if wire == wanted:
        if wire == _LENGTH:
            return [bytes(raw)]
        if wire == _VARINT:
            return [_FROM_VARINT[kind](_read_varint(raw, 0)[0])]
        return list(struct.unpack(_FIXED[kind][0], raw))
    if wire != _LENGTH or wanted in (_LENGTH, _START):
        return []
    if wanted == _VARINT:
        numbers, at, decode = [], 0, _FROM_VARINT[kind]
        while at < len(raw):
            number, at = _read_varint(raw, at)
            numbers.append(decode(number))
        return numbers
    form = _FIXED[kind][0]
    size = struct.calcsize(form)
    if len(raw) % size:
        raise ValueError(f"field '{field.name}' ends within a number")
    return list(struct.unpack(f"<{len(raw) // size}{form[1]}", raw))


# --- writing ---


def field_bytes(field: FieldType, values: Iterable[Any]) -> bytes:
    """A field with its values: strings as bytes, messages as theirs, groups with or without tags."""
    kind, wire = field.kind, _wire(field.kind)
    if wire == _VARINT:
        encode = _TO_VARINT[kind]
        pieces = [_varint(encode(int(value))) for value in values]
    elif wire == _LENGTH:
        pieces = [_varint(len(value)) + value for value in values]
    elif wire == _START:
        start, end = _varint(field.number << 3 | _START), _varint(field.number << 3 | _END)
        return b"".join(
            v if v.startswith(start) and v.endswith(end) else start + v + end for v in map(bytes, values)
        )
    else:
        one = struct.Struct(_FIXED[kind][0])
        if kind in ("float", "double"):
            pieces = [one.pack(value) for value in values]
        else:
            bits = 8 * one.size
            wrap = _signed(bits) if kind.startswith("s") else (lambda n: n & ((1 << bits) - 1))
            pieces = [one.pack(wrap(int(value))) for value in values]
    if field.packed:
        content = b"".join(pieces)
        return _varint(field.number << 3 | _LENGTH) + _varint(len(content)) + content if pieces else b""
    tag = _varint(field.number << 3 | wire)
    return b"".join(tag + piece for piece in pieces)


def canonical(content: bytes, types: Schema, message_type: str, depth: int = 0) -> bytes:
    """A message as it is written after it is read: known fields by number, then the others.

    Raises:
        ValueError: where the bytes are no message.
    """
    if depth >= _DEPTH:
        raise ValueError("messages are nested too deeply")
    by_number = {field.number: field for field in types.fields(message_type).values()}
    # Parts of one message are one after the other, those of others are each a message.
    joined = {n: f._replace(repeated=True) for n, f in by_number.items() if f.kind in MESSAGE}
    found = values_of(content, {**by_number, **joined})
    pieces = []
    for number in sorted(found):
        field, values = by_number[number], found[number]
        if field.kind in MESSAGE:
            if field.kind == GROUP:
                values = [_inside(value, number) for value in values]
            if not field.repeated:
                values = [b"".join(values)]
            values = [canonical(value, types, field.message, depth + 1) for value in values]
        elif field.implicit and values == [field.default]:
            continue
        pieces.append(field_bytes(field, values))
    return b"".join([*pieces, *_unknown(content, by_number)])


def _inside(group: bytes, number: int) -> bytes:
    size = len(_varint(number << 3))
    return group[size:-size]


def _unknown(content: bytes, known: Mapping[int, FieldType]) -> list[bytes]:
    """The fields of a message that are not known, as they are."""
    pieces = []
    data, at = memoryview(content), 0
    while at < len(data):
        start = at
        number, wire, at = _tag(data, at)
        at = _skipped(data, at, number, wire)[2]
        if number not in known:
            pieces.append(bytes(data[start:at]))
    return pieces
