"""Data sets in files: what `save`, `snapshot` and `cache` write and `load` reads.

All of them are files of records with checksums (`_runtime.records`) whose names begin alike. The file whose
name ends in `.index` has one record, JSON: the specification of the elements, how the other files are
compressed, and the name of each, the number of its elements and a checksum over all of its records. It is
written last. A record of the other files, the *shards*, holds rows (see `_rows`): their number and whether
they are stacked, then the tensors of the leaves, each as its rank, its sizes and its content. Of strings
that is their lengths and bytes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock import _core, nest, raw_ops
from penstock._runtime.records import Reading, Sink, framed, opened, records
from penstock._types.ragged_spec import RaggedTensorSpec
from penstock._types.sparse_spec import SparseTensorSpec
from penstock._types.specs import TensorSpec
from penstock.data._functions import EachRow, Traced
from penstock.data._rows import Pull, Rows, one
from penstock.data._structure import NoneTensorSpec, Structure
from penstock.errors import DataLossError, InvalidArgumentError, NotFoundError

__all__ = [
    "Index",
    "check",
    "compression_of",
    "kept",
    "loaded",
    "portable",
    "prefix_in",
    "read_index",
    "saved",
    "shard",
    "shards",
]

_FORMAT = 1
_NUMBER = struct.Struct("<q")

# The compressions that TensorFlow names, as those that files get here.
_COMPRESSIONS = {
    None: None,
    "": None,
    "NONE": None,
    "AUTO": None,
    "SNAPPY": "GZIP",
    "GZIP": "GZIP",
    "ZLIB": "ZLIB",
}


class Shard(NamedTuple):
    """A file of elements: its name, the number of its elements, and a checksum over its records."""

    name: str
    size: int
    checksum: int


class Index(NamedTuple):
    """What is known of saved elements: their specification, the compression of the shards, and the shards."""

    spec: Any
    compression: str | None
    shards: list[Shard]

    def size(self) -> int:
        """The number of elements."""
        return sum(shard.size for shard in self.shards)


def prefix_in(folder: str) -> str:
    """How the names of the files of a data set begin that a directory holds."""
    return str(Path(folder) / "dataset")


def compression_of(name: Any) -> str | None:
    """The compression that a user named.

    Raises:
        InvalidArgumentError: where there is none of that name.
    """
    if name not in _COMPRESSIONS:
        raise InvalidArgumentError(
            f"argument 'compression' must be one of {list(_COMPRESSIONS)}, got {name!r}"
        )
    return _COMPRESSIONS[name]


# Writing.


class _Writer:
    """Writes elements to shards, and then the index.

    Args:
        prefix: how the names of the files begin.
        structure: the structure of the elements.
        compression: that of the shards.
    """

    def __init__(self, prefix: str, structure: Structure, compression: str | None) -> None:
        self._prefix = prefix
        self._structure = structure
        self._compression = compression
        self._spec = portable(structure.spec)
        # Tells the files of this writer apart from those of others.
        self._run = os.urandom(6).hex()
        self._sinks: dict[int, Sink] = {}
        self._names: dict[int, str] = {}
        self._counts: dict[int, int] = {}
        self._checksums: dict[int, int] = {}

    def put(self, rows: Rows, shard: int) -> None:
        """Writes elements to a shard."""
        sink = self._sinks.get(shard)
        if sink is None:
            name = f"{Path(self._prefix).name}.data-{self._run}-{shard:05}"
            sink = self._sinks[shard] = Sink(str(Path(self._prefix).with_name(name)), self._compression)
            self._names[shard], self._counts[shard], self._checksums[shard] = name, 0, 0
        record = _packed(rows, self._structure)
        sink.write(framed(record))
        self._counts[shard] += rows.count
        self._checksums[shard] = _chained(self._checksums[shard], record)

    def finish(self, replace: bool) -> None:
        """Writes the index; where there is one already, it stays unless it is to be replaced."""
        for sink in self._sinks.values():
            sink.close()
        found = [Shard(self._names[k], self._counts[k], self._checksums[k]) for k in sorted(self._sinks)]
        told = {"format": _FORMAT, "spec": self._spec, "compression": self._compression, "shards": found}
        index = Path(f"{self._prefix}.index")
        unfinished = Path(f"{self._prefix}.index-{self._run}")
        unfinished.write_bytes(framed(json.dumps(told).encode()))
        before: list[Shard] = []
        with contextlib.suppress(NotFoundError, DataLossError):
            before = read_index(self._prefix).shards
        if replace:
            unfinished.replace(index)
            self._names = {}
            _remove(self._prefix, [shard.name for shard in before])
            return
        try:
            os.link(unfinished, index)
        except FileExistsError:
            self.drop()
        else:
            self._names = {}
        finally:
            unfinished.unlink()

    def drop(self) -> None:
        """Removes the files of what was not finished."""
        for sink in self._sinks.values():
            sink.close()
        _remove(self._prefix, list(self._names.values()))
        self._sinks, self._names = {}, {}

    def __del__(self) -> None:
        if self._names:
            self.drop()


def _remove(prefix: str, names: Sequence[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):
            Path(prefix).with_name(name).unlink()


def saved(source: Any, folder: str, compression: str | None, shard_func: Traced | None) -> Pull:
    """Writes all elements; the only element is their number."""
    done = False

    def pull(limit: int) -> Rows | None:
        nonlocal done
        if done:
            return None
        done, count = True, 0
        Path(folder).mkdir(parents=True, exist_ok=True)
        writer = _Writer(prefix_in(folder), source._structure, compression)
        read, each = source._open(), None if shard_func is None else EachRow(shard_func)
        try:
            while True:
                rows, told = (each(read, 64) or (None, None)) if each is not None else (read(64), None)
                if rows is None:
                    break
                for part, shard in _sharded(rows, told):
                    writer.put(part, shard)
                    count += part.count
            writer.finish(True)
        finally:
            writer.drop()
        return one([_core._to_tensor(count, _core.int64)])

    return pull


def _sharded(rows: Rows | None, told: Rows | None) -> Iterator[tuple[Rows, int]]:
    """Rows by the shard that they go to, where a function told its numbers; else they go to the first."""
    if rows is None or told is None:
        if rows is not None:
            yield rows, 0
        return
    numbers = np.atleast_1d(told.columns[0].numpy())
    for number in np.unique(numbers).tolist():
        if number < 0:
            raise InvalidArgumentError(f"argument 'shard_func' gave {number}, shards are numbered from 0")
        at = np.flatnonzero(numbers == number)
        yield rows if len(at) == rows.count else rows.taken(at), number


def kept(
    source: Any,
    prefix: str,
    compression: str | None,
    shard_func: Traced | None,
    read: Callable[[str], Pull],
    argument: str,
) -> Pull:
    """The elements, which are written while they are asked for, and read once all of them were written.

    Args:
        source: the data set that they come from.
        prefix: how the names of the files begin.
        compression: that of the shards.
        shard_func: gives the number of the shard of an element.
        read: opens the elements that are in files.
        argument: the name of the argument that the prefix is of. A directory, `path`, is made.

    Raises:
        NotFoundError: where it is in a directory that does not exist.
        TypeError: where other elements are in the files.
        DataLossError: where the files are corrupted.
    """
    structure = source._structure
    try:
        index = read_index(prefix)
    except NotFoundError:
        pass
    else:
        check(structure.spec, index.spec, prefix)
        return read(prefix)
    folder = Path(prefix).parent
    if argument == "path":
        folder.mkdir(parents=True, exist_ok=True)
    elif not folder.is_dir():
        raise NotFoundError(f"argument '{argument}': there is no directory {str(folder)!r}")
    writer: _Writer | None = _Writer(prefix, structure, compression)
    pull: Pull = source._open()
    each = None if shard_func is None else EachRow(shard_func)
    size, count = source._size(), 0

    def run(limit: int) -> Rows | None:
        nonlocal writer, count
        told = None
        try:
            if each is None:
                rows = pull(limit)
            else:
                found = each(pull, limit)
                rows, told = found if found is not None else (None, None)
        except BaseException:
            # What cannot be computed is missing from the files.
            writer = None
            raise
        if writer is not None:
            for part, shard in _sharded(rows, told):
                writer.put(part, shard)
                count += part.count
            if rows is None or count == size:
                writer.finish(False)
                writer = None
        return rows

    return run


def _packed(rows: Rows, structure: Structure) -> bytes:
    """Rows as bytes."""
    parts = [_NUMBER.pack(rows.count), _NUMBER.pack(rows.stacked)]
    for tensor in structure.to_tensors(rows.columns):
        bits = _bits_of(tensor.dtype)
        values = np.asarray((tensor if bits is None else raw_ops.bitcast(tensor, dtype=bits)).numpy())
        parts += [_NUMBER.pack(n) for n in (values.ndim, *values.shape)]
        if tensor.dtype == _core.string:
            flat = values.reshape(-1).tolist()
            parts += [np.array([len(s) for s in flat], "<i8").tobytes(), *flat]
        else:
            parts.append(values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes())
    return b"".join(parts)


def _bits_of(dtype: _core.DType) -> _core.DType | None:
    """The integers as which elements are stored that NumPy itself does not have."""
    return _core.uint16 if dtype == _core.bfloat16 else None


def _chained(checksum: int, record: bytes) -> int:
    """The checksum over records so far and another one."""
    return _core._crc32c(checksum.to_bytes(4, "little") + record)


# Reading.


def read_index(prefix: str) -> Index:
    """What is known of saved elements.

    Raises:
        NotFoundError: where there are none.
        DataLossError: where the index is corrupted.
    """
    name = f"{prefix}.index"
    try:
        with Reading(name), opened(name, None) as file:
            found = list(records(file, name))
    except NotFoundError:
        raise NotFoundError(
            f"argument 'path': there is no saved data set in {str(Path(prefix).parent)!r}"
        ) from None
    try:
        told = json.loads(*found)
        if told["format"] != _FORMAT:
            raise InvalidArgumentError(f"it is of format {told['format']}")
        files = [Shard(*file) for file in told["shards"]]
        if any(Path(file.name).name != file.name for file in files):
            raise InvalidArgumentError("a shard is somewhere else")
        return Index(_spec(told["spec"]), told["compression"], files)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise DataLossError(f"{name} is corrupted: {error}") from None


def shards(prefix: str, structure: Structure, make: Callable[..., Any]) -> Pull:
    """Data sets of the elements of each shard, which are made of the arguments of `shard`."""
    index = read_index(prefix)
    check(structure.spec, index.spec, prefix)
    found = iter(index.shards)

    def pull(limit: int) -> Rows | None:
        told = next(found, None)
        return None if told is None else one([make(prefix, told, index.compression, structure)])

    return pull


def loaded(prefix: str, structure: Structure) -> Pull:
    """The elements of all shards: one of each in turn."""
    index = read_index(prefix)
    check(structure.spec, index.spec, prefix)
    turns = deque(shard(prefix, told, index.compression, structure) for told in index.shards)

    def pull(limit: int) -> Rows | None:
        while turns:
            rows = turns[0](limit if len(turns) == 1 else 1)
            if rows is not None:
                turns.rotate(-1)
                return rows
            turns.popleft()
        return None

    return pull


def shard(prefix: str, told: Shard, compression: str | None, structure: Structure) -> Pull:
    """The elements of a shard."""
    name = str(Path(prefix).with_name(told.name))

    def pieces() -> Iterator[Rows]:
        count = checksum = 0
        try:
            with Reading(name), opened(name, compression) as file:
                for record in records(file, name):
                    rows = _unpacked(record, structure, name)
                    count, checksum = count + rows.count, _chained(checksum, record)
                    if count > told.size:
                        break
                    yield rows
        except NotFoundError:
            raise DataLossError(f"the shard {name} of a saved data set is gone") from None
        if count != told.size or checksum != told.checksum:
            raise DataLossError(
                f"{name} is corrupted: it does not hold the {told.size} elements that were written"
            )

    source = pieces()
    held: Rows | None = None

    def pull(limit: int) -> Rows | None:
        nonlocal held
        rows = next(source, None) if held is None else held
        if rows is None:
            return None
        count = min(limit, rows.count)
        held = rows.part(count, rows.count) if count < rows.count else None
        return rows.part(0, count)

    return pull


class _Content:
    """The bytes of a record, from the first on."""

    def __init__(self, record: bytes) -> None:
        self._record = record
        self._at = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._record) - self._at:
            raise InvalidArgumentError("a record ends early")
        self._at += size
        return self._record[self._at - size : self._at]

    def number(self) -> int:
        return int(_NUMBER.unpack(self.take(_NUMBER.size))[0])

    def numbers(self, count: int) -> np.ndarray:
        return np.frombuffer(self.take(8 * count), "<i8")

    def end(self) -> None:
        if self._at != len(self._record):
            raise InvalidArgumentError("a record has more than its elements")


def _unpacked(record: bytes, structure: Structure, name: str) -> Rows:
    try:
        content = _Content(record)
        count, stacked = content.number(), bool(content.number())
        tensors = [_tensor(content, spec.dtype) for spec in structure.tensor_specs]
        content.end()
        if count < 1 or (count > 1 and not stacked):
            raise InvalidArgumentError(f"a record has {count} elements")
        for tensor, spec in zip(tensors, structure.tensor_specs, strict=True):
            dims = tensor.shape.as_list()
            if stacked and dims[:1] != [count]:
                raise InvalidArgumentError(f"{count} elements have shape {dims}")
            if not spec.shape.is_compatible_with(dims[1:] if stacked else dims):
                raise InvalidArgumentError(f"a tensor has shape {dims}, which is none of {spec}")
        return Rows(count, structure.from_tensors(tensors), stacked)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataLossError(f"{name} is corrupted: {error}") from None


def _tensor(content: _Content, dtype: Any) -> Any:
    rank = content.number()
    dims = content.numbers(rank).tolist()
    size = math.prod(dims)
    if any(d < 0 for d in dims):
        raise InvalidArgumentError(f"a tensor has shape {dims}")
    if dtype == _core.string:
        lengths = content.numbers(size).tolist()
        return raw_ops.reshape(
            _core._to_tensor([content.take(n) for n in lengths], _core.string), np.array(dims, np.int64)
        )
    bits = _bits_of(dtype)
    kind = np.dtype((bits or dtype).as_numpy_dtype)
    flat = np.frombuffer(content.take(size * kind.itemsize), kind.newbyteorder("<"))
    values = flat.astype(kind).reshape(dims)
    return raw_ops.bitcast(_core._to_tensor(values), dtype=dtype) if bits else _core._to_tensor(values, dtype)


# What a leaf of a saved specification is.
_SPECS = {"tensor": TensorSpec, "ragged": RaggedTensorSpec, "sparse": SparseTensorSpec}


def portable(spec: Any) -> Any:
    """A specification as what JSON has."""
    if isinstance(spec, dict):
        return {"mapping": [[key, portable(value)] for key, value in spec.items()]}
    if isinstance(spec, tuple):
        return {"tuple": [portable(item) for item in spec]}
    if isinstance(spec, NoneTensorSpec):
        return {"none": True}
    if isinstance(spec, TensorSpec):
        return {"tensor": [spec.shape._dims, spec.dtype.name]}
    if isinstance(spec, SparseTensorSpec):
        return {"sparse": [spec.shape._dims, spec.dtype.name]}
    if isinstance(spec, RaggedTensorSpec):
        return {"ragged": [spec.shape._dims, spec.dtype.name, spec.ragged_rank, spec.row_splits_dtype.name]}
    raise TypeError(f"save: elements of {spec} cannot be saved")


def _spec(portable: Any) -> Any:
    ((kind, parts),) = portable.items()
    if kind == "mapping":
        return {key: _spec(value) for key, value in parts}
    if kind == "tuple":
        return tuple(map(_spec, parts))
    if kind == "none":
        return NoneTensorSpec()
    return _SPECS[kind](*parts)


def check(spec: Any, found: Any, path: str) -> None:
    """Raises unless elements of one specification are what another one says.

    Raises:
        TypeError: where they are not.
    """
    try:
        nest.assert_same_structure(spec, found)
        pairs = zip(nest.flatten(spec), nest.flatten(found), strict=True)
        fits = all(a.is_compatible_with(b) for a, b in pairs)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise TypeError(
            f"argument 'element_spec' is {spec}, the data set in {path!r} has elements of {found}"
        )
