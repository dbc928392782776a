"""Records in files, as TensorFlow has them: each behind its length, and checksums of both."""

from __future__ import annotations

import functools
import io
import os
import zlib
from collections.abc import Iterator
from typing import IO

from penstock import _core
from penstock._runtime.filesystems import at
from penstock.errors import DataLossError, FailedPreconditionError, NotFoundError, PermissionDeniedError

__all__ = ["COMPRESSIONS", "Reading", "Sink", "framed", "opened", "records", "refused"]

COMPRESSIONS = (None, "", "GZIP", "ZLIB")

# How many bytes are read at once: what a length says is believed as far as the file goes.
_PIECE = 1 << 24
# How many bytes are inflated at once.
_BUFFER = 1 << 17
# How many bytes are compressed at once.
_COMPRESSED = 1 << 16


class Reading:
    """Has errors of reading a file say what they mean.

    It is no generator: one that raises another exception leaves a cycle with the frames of its callers.

    Args:
        name: the name of the file.

    Raises:
        NotFoundError: where there is no such file.
        FailedPreconditionError: for a directory.
        PermissionDeniedError: where it may not be read.
        DataLossError: where its compressed content is none.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import gzip  # start-up does without it

        if isinstance(error, FileNotFoundError):
            raise NotFoundError(f"argument 'filenames': {error}") from None
        if isinstance(error, IsADirectoryError):
            raise FailedPreconditionError(f"argument 'filenames': {error}") from None
        if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
            raise DataLossError(f"{self._name} is corrupted: {error}") from None
        if isinstance(error, PermissionError):
            raise PermissionDeniedError(f"argument 'filenames': {error}") from None
        if isinstance(error, NotADirectoryError):
            raise NotFoundError(f"argument 'filenames': {error}") from None


def opened(name: str, compression: str | None) -> IO[bytes]:
    """A file to read, whose content is not compressed any more."""
    import gzip  # start-up does without it

    files, path = at(name)
    file: IO[bytes] = files.open(path, "rb")
    if compression == "GZIP":
        return io.BufferedReader(gzip.open(file), _BUFFER)
    if compression == "ZLIB":
        inflate = zlib.decompressobj()
        with file:
            content = inflate.decompress(file.read()) + inflate.flush()
        if not inflate.eof or inflate.unused_data:
            raise EOFError("the compressed content does not end where the file ends")
        return io.BytesIO(content)
    return file


def refused(name: str, number: int) -> BaseException:
    """What it means that a file could not be read, by the number of the error."""
    try:
        with Reading(name), opened(name, None):
            return OSError(number, os.strerror(number), name)
    except Exception as error:
        return error


class Sink:
    """A file to write, whose content is compressed.

    Args:
        name: the name of the file.
        compression: one of `COMPRESSIONS`.
        level: how much time is spent on it, from 0 to 9.
    """

    def __init__(self, name: str, compression: str | None, level: int = zlib.Z_DEFAULT_COMPRESSION) -> None:
        files, path = at(name)
        self._file = files.open(path, "wb")
        # The same content is the same file: the header of gzip, 31, gets no time.
        bits = {"GZIP": 31, "ZLIB": 15}.get(compression or "")
        self._deflate = None if bits is None else zlib.compressobj(level, wbits=bits)
        # What is to be compressed: short contents together.
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, content: bytes) -> None:
        """Writes what comes next."""
        if self._deflate is None:
            self._file.write(content)
            return
        self._waiting.append(content)
        self._size += len(content)
        if self._size >= _COMPRESSED:
            self._compress()

    def _compress(self) -> None:
        assert self._deflate is not None
        self._file.write(self._deflate.compress(b"".join(self._waiting)))
        self._waiting.clear()
        self._size = 0

    def flush(self) -> None:
        """Hands what was written to the operating system; what is not compressed yet waits."""
        self._file.flush()

    def close(self) -> None:
        """Writes the rest."""
        if not self._file.closed:
            if self._deflate is not None:
                self._compress()
                self._file.write(self._deflate.flush())
            self._file.close()


def _masked(data: bytes) -> bytes:
    """The checksum of a part of a record: CRC-32C, rotated and with a constant added."""
    crc = _core._crc32c(data)
    return (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


@functools.lru_cache(1024)
def _head(size: bytes) -> bytes:
    """What stands before a record: its size, and the checksum of that."""
    return size + _masked(size)


def framed(record: bytes) -> bytes:
    """A record as files have it."""
    return _core._framed_record(record)


def records(file: IO[bytes], name: str) -> Iterator[bytes]:
    """The records of a file.

    Raises:
        DataLossError: where a checksum is another one, or the file ends within a record.
    """
    while head := file.read(12):
        size = head[:8]
        if len(head) < 12 or _head(size) != head:
            raise DataLossError(f"{name} is no file of records, or is corrupted")
        record = _taken(file, int.from_bytes(size, "little"))
        check = file.read(4)
        if record is None or len(check) < 4:
            raise DataLossError(f"{name} ends within a record")
        if _masked(record) != check:
            raise DataLossError(f"{name} is corrupted: the checksum of a record is another one")
        yield record


def _taken(file: IO[bytes], size: int) -> bytes | None:
    """The next bytes; None where there are fewer."""
    if size <= _PIECE:
        whole = file.read(size)
        return whole if len(whole) == size else None
    pieces = []
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        pieces.append(piece)
        size -= len(piece)
    return None if size else b"".join(pieces)
