"""Checkpoints of several files of tensors, with one index: TensorFlow's format.

The engine writes each file as a bundle of its own; the index is made of those of the bundles. It is a sorted
table as LevelDB has it: blocks of entries, each behind a checksum, and a block that says where these are.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from penstock import _core
from penstock._runtime.messages import Field, Message
from penstock._saving.sharding import GRAPH_KEY, Written, extents_of

__all__ = ["object_graph", "write_shards"]

_MAGIC: Final = 0xDB4775248B80FB57
_FOOTER: Final = 48
_BLOCK: Final = 256 << 10
# The distance of keys that are written in full. Those between leave out what they share with the one before.
_RESTART: Final = 16


class _Dimension(Message):
    FIELDS: ClassVar = {"size": Field(1, "int64")}


class _Shape(Message):
    FIELDS: ClassVar = {"dim": Field(2, _Dimension, repeated=True)}


class _Extent(Message):
    FIELDS: ClassVar = {"start": Field(1, "int64"), "length": Field(2, "int64", oneof="has_length")}


class _Slice(Message):
    FIELDS: ClassVar = {"extent": Field(1, _Extent, repeated=True)}


class _Entry(Message):
    FIELDS: ClassVar = {
        "dtype": Field(1, "enum"),
        "shape": Field(2, _Shape),
        "shard_id": Field(3, "int32"),
        "offset": Field(4, "int64"),
        "size": Field(5, "int64"),
        "crc32c": Field(6, "fixed32"),
        "slices": Field(7, _Slice, repeated=True),
    }


class _Version(Message):
    FIELDS: ClassVar = {"producer": Field(1, "int32")}


class _Header(Message):
    FIELDS: ClassVar = {"num_shards": Field(1, "int32"), "version": Field(3, _Version)}


def object_graph(nodes: list[_core._Object]) -> _core.Tensor:
    """The description of the objects of a checkpoint, as the tensor that the file has of it."""
    with tempfile.TemporaryDirectory() as directory:
        bundle = Path(directory) / "objects"
        _core._write_bundle(bundle, [], nodes)
        return _core._BundleReader(bundle).read(GRAPH_KEY)


def write_shards(path: str, count: int, tensors: Mapping[str, Written]) -> None:
    """Write a checkpoint: first the files of tensors, then the index, which takes the place of what is there.

    Args:
        path: the path, to which endings are added.
        count: how many files there are.
        tensors: the tensors by their keys, each with its parts and their files.

    Raises:
        NotFoundError: where the directory is not there.
    """
    prefix = Path(path)
    # Within the directory, so that files only change their names in the end.
    with tempfile.TemporaryDirectory(prefix=f"{prefix.name}.", dir=prefix.parent) as temporary:
        parts = [(key, i, part) for key, whole in tensors.items() for i, part in enumerate(whole.parts)]
        found: dict[tuple[str, int], _Entry] = {}
        for number in range(count):
            own = [(key, i, tensor) for key, i, (file, _, tensor) in parts if file == number]
            bundle = Path(temporary) / str(number)
            _core._write_bundle(
                bundle, [(f"{at:09}", [tensor]) for at, (_, _, tensor) in enumerate(own)], None
            )
            entries = dict(_entries(Path(f"{bundle}.index").read_bytes()))
            for at, (key, i, _) in enumerate(own):
                entry = _Entry.FromString(entries[f"{at:09}".encode()])
                entry.shard_id = number
                found[key, i] = entry
        header = _Header(num_shards=count, version={"producer": 1})
        index = {b"": header.SerializeToString(), **_index(tensors, found)}
        file = Path(temporary) / "index"
        file.write_bytes(_table(index))
        names = [f"{prefix.name}.data-{number:05}-of-{count:05}" for number in range(count)]
        for number, name in enumerate(names):
            (Path(temporary) / f"{number}.data-00000-of-00001").replace(prefix.with_name(name))
        file.replace(prefix.with_name(f"{prefix.name}.index"))
        # Those of a checkpoint that was there before.
        pattern = re.compile(rf"{re.escape(prefix.name)}\.data-\d{{5}}-of-\d{{5}}")
        for other in prefix.parent.iterdir():
            if pattern.fullmatch(other.name) and other.name not in names:
                other.unlink()


def _index(tensors: Mapping[str, Written], found: Mapping[tuple[str, int], _Entry]) -> dict[bytes, bytes]:
    """The entries of an index: of whole tensors, and of those in parts, each part with a key of its own."""
    index = {}
    for key, whole in tensors.items():
        if whole.is_whole:
            index[key.encode()] = found[key, 0].SerializeToString()
            continue
        slices = []
        for i, (_, start, part) in enumerate(whole.parts):
            extents = list(zip(start, extents_of(part), strict=True))
            index[_key_of_part(key, extents)] = found[key, i].SerializeToString()
            slices.append(_Slice(extent=[{"start": a, "length": n} for a, n in extents]))
        shape = {"dim": [{"size": size} for size in whole.extents]}
        entry = _Entry(dtype=found[key, 0].dtype, shape=shape, slices=slices)
        index[key.encode()] = entry.SerializeToString()
    return index


# --- keys of parts ---


def _key_of_part(name: str, extents: list[tuple[int, int]]) -> bytes:
    """The key of a part: a text and numbers, written so that their bytes are in their order."""
    text = b"".join({0: b"\x00\xff", 255: b"\xff\x00"}.get(byte, bytes([byte])) for byte in name.encode())
    numbers = b"".join(_ordered_signed(a) + _ordered_signed(n) for a, n in extents)
    return _ordered(0) + text + b"\x00\x01" + _ordered(len(extents)) + numbers


def _ordered(value: int) -> bytes:
    content = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(content)]) + content


def _ordered_signed(value: int) -> bytes:
    """A number that is not negative: as many leading ones as bytes, a zero, and the number."""
    length = value.bit_length() // 7 + 1
    return (value | ((1 << length) - 1) << 7 * length).to_bytes(length, "big")


# --- tables ---


def _varint(number: int) -> bytes:
    pieces = bytearray()
    while number > 127:
        pieces.append(number & 127 | 128)
        number >>= 7
    return bytes([*pieces, number])


def _varints(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    """Reads `count` numbers from index `at`. Gives them and the index after the last one."""
    found = []
    for _ in range(count):
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(number)
    return found, at


def _entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a table that was just written."""
    # The handle of the block that says where the others are follows that of an empty one.
    (_, _, offset, size), _ = _varints(table, len(table) - _FOOTER, 4)
    for _, handle in _entries_of_block(table[offset : offset + size]):
        (offset, size), _ = _varints(handle, 0, 2)
        yield from _entries_of_block(table[offset : offset + size])


def _entries_of_block(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    restarts = int.from_bytes(block[-4:], "little")
    at, end, key = 0, len(block) - 4 - 4 * restarts, b""
    while at < end:
        (shared, rest, length), at = _varints(block, at, 3)
        key = key[:shared] + block[at : at + rest]
        at += rest
        yield key, block[at : at + length]
        at += length


def _table(entries: Mapping[bytes, bytes]) -> bytes:
    """A table of entries."""
    content, places, block, last = bytearray(), [], _Block(), b""
    for key in sorted(entries):
        block.add(key, entries[key])
        last = key
        if len(block.content) >= _BLOCK:
            places.append((last, block.finish(content)))
            block = _Block()
    if block.count:
        places.append((last, block.finish(content)))
    footer = _Block().finish(content)
    index = _Block()
    for key, place in places:
        index.add(key, place)
    footer += index.finish(content)
    return bytes(content) + footer.ljust(_FOOTER - 8, b"\0") + _MAGIC.to_bytes(8, "little")


class _Block:
    """A block in the making."""

    def __init__(self) -> None:
        self.content, self.count = bytearray(), 0
        self._restarts: list[int] = []
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        """Add an entry, which shares the beginning of its key with the one before."""
        shared = 0
        if self.count % _RESTART == 0:
            self._restarts.append(len(self.content))
        else:
            pairs = zip(self._last, key, strict=False)
            shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.content += _varint(shared) + _varint(len(key) - shared) + _varint(len(value))
        self.content += key[shared:] + value
        self._last = key
        self.count += 1

    def finish(self, table: bytearray) -> bytes:
        """Add the block to a table; gives its handle."""
        restarts = self._restarts or [0]
        numbers = b"".join(number.to_bytes(4, "little") for number in [*restarts, len(restarts)])
        block = bytes(self.content) + numbers
        handle = _varint(len(table)) + _varint(len(block))
        # Behind it are its compression, which is none, and a checksum of both.
        checksum = _core._crc32c(block + b"\0")
        masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
        table += block + b"\0" + masked.to_bytes(4, "little")
        return handle
