"""Data sets of what files hold: lines, records of one length, and TensorFlow's records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from penstock import _core
from penstock._runtime.filesystems import scheme_of
from penstock._runtime.records import COMPRESSIONS, Reading, opened, records, refused
from penstock._types.specs import TensorSpec
from penstock.data._arguments import integer
from penstock.data._dataset import Dataset
from penstock.data._node import Kind
from penstock.data._rows import CHUNK_BYTES, Pull, Rows
from penstock.errors import InvalidArgumentError

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]


def _read(
    names: Any,
    compression: str | None,
    split: Callable[[IO[bytes], str], Iterator[bytes]],
    lines: bool = False,
    fixed: tuple[int, int, int] | None = None,
) -> Pull:
    """What a function makes of one file after the other. Plain ones of this machine the engine reads."""
    texts = [name.decode() for name in np.atleast_1d(names.numpy()).tolist()]
    if not compression and not any(map(scheme_of, texts)):
        return _core._Stage.files(texts, refused, lines, fixed)

    def pieces() -> Iterator[bytes]:
        for text in texts:
            with Reading(text), opened(text, compression) as file:
                yield from split(file, text)

    source = pieces()
    failed: Exception | None = None

    def pull(limit: int) -> Rows | None:
        nonlocal failed
        if failed is not None:
            error, failed = failed, None
            raise error
        found: list[bytes] = []
        size = 0
        try:
            while len(found) < limit and size < CHUNK_BYTES and (piece := next(source, None)) is not None:
                found.append(piece)
                size += len(piece)
        except Exception as error:
            # What was read comes before the error.
            if not found:
                raise
            failed = error
        return Rows(len(found), [_core._to_tensor(found, _core.string)]) if found else None

    return pull


def _lines(names: Any, compression: str | None) -> Pull:
    def split(file: IO[bytes], name: str) -> Iterator[bytes]:
        for line in file:
            yield line.removesuffix(b"\n").removesuffix(b"\r")

    return _read(names, compression, split, lines=True)


def _fixed(names: Any, compression: str | None, size: Any, header: Any, footer: Any) -> Pull:
    size, header, footer = int(size), int(header), int(footer)

    def split(file: IO[bytes], name: str) -> Iterator[bytes]:
        content = file.read()
        content = content[header : max(0, len(content) - footer)]
        if len(content) % size:
            raise InvalidArgumentError(
                f"{name} has {len(content)} bytes between header and footer, no multiple of {size}"
            )
        for start in range(0, len(content), size):
            yield content[start : start + size]

    return _read(names, compression, split, fixed=(size, header, footer))


def _records(names: Any, compression: str | None) -> Pull:
    return _read(names, compression, records)


_LINES = Kind("TextLine", _lines)
_FIXED = Kind("FixedLengthRecord", _fixed)
_RECORDS = Kind("TFRecord", _records)


class _Files(Dataset[_core.Tensor]):
    """A data set of strings out of files."""

    __slots__ = ()

    def _of(self, kind: Kind, filenames: Any, compression: Any, *args: Any, name: str | None) -> None:
        if isinstance(filenames, Dataset):
            filenames = _core._to_tensor(
                [str(x, "utf8") for x in filenames.as_numpy_iterator()], _core.string
            )
        several = isinstance(filenames, list | tuple)
        if several or isinstance(filenames, Path):
            found = [str(f) for f in filenames] if several else str(filenames)
            filenames = _core._to_tensor(found, _core.string)
        names = _core._to_tensor(filenames)
        if names.dtype != _core.string or names.shape.rank not in (0, 1):
            raise TypeError(f"argument 'filenames' must be a string or a vector of them, got {filenames!r}")
        if compression not in COMPRESSIONS:
            raise InvalidArgumentError(
                f"argument 'compression_type' must be one of {COMPRESSIONS}, got {compression!r}"
            )
        super().__init__(kind, [], [names, compression, *args], TensorSpec([], _core.string), name)


class TextLineDataset(_Files):
    """The lines of text files, without their ends.

    Args:
        filenames: a name, several, a tensor or a data set of them.
        compression_type: None, `"GZIP"` or `"ZLIB"`.
        buffer_size: accepted and ignored.
        num_parallel_reads: accepted and ignored.
        name: a name for the data set.

    Raises:
        TypeError: for names that are no strings.
        InvalidArgumentError: for another compression.

    >>> import penstock as tf
    >>> len(next(iter(tf.data.TextLineDataset(tf.__file__))).numpy()) > 0
    True
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._of(_LINES, filenames, compression_type, name=name)


class FixedLengthRecordDataset(_Files):
    """The records of files, all of one length.

    Args:
        filenames: a name, several, a tensor or a data set of them.
        record_bytes: the length.
        header_bytes: how many bytes to leave out at the start of each file.
        footer_bytes: how many bytes to leave out at its end.
        buffer_size: accepted and ignored.
        compression_type: None, `"GZIP"` or `"ZLIB"`.
        num_parallel_reads: accepted and ignored.
        name: a name for the data set.

    Raises:
        TypeError: for names that are no strings.
        InvalidArgumentError: for another compression, or a length below 1; when it runs, for a file whose
            length is no multiple of it.

    >>> import penstock as tf
    >>> len(next(iter(tf.data.FixedLengthRecordDataset(tf.__file__, 1))).numpy())
    1
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: str | None = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        size = integer(record_bytes, "record_bytes", 1)
        header = 0 if header_bytes is None else integer(header_bytes, "header_bytes", 0)
        footer = 0 if footer_bytes is None else integer(footer_bytes, "footer_bytes", 0)
        self._of(_FIXED, filenames, compression_type, size, header, footer, name=name)


class TFRecordDataset(_Files):
    """The records of files that TensorFlow wrote. Their checksums are verified.

    Args:
        filenames: a name, several, a tensor or a data set of them.
        compression_type: None, `"GZIP"` or `"ZLIB"`.
        buffer_size: accepted and ignored.
        num_parallel_reads: accepted and ignored.
        name: a name for the data set.

    Raises:
        TypeError: for names that are no strings.
        InvalidArgumentError: for another compression.
        DataLossError: when it runs, for other files, and for those that are corrupted.

    >>> import penstock as tf
    >>> tf.data.TFRecordDataset([]).element_spec
    TensorSpec(shape=(), dtype=tf.string, name=None)
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        self._of(_RECORDS, filenames, compression_type, name=name)
