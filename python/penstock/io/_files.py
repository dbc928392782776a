"""Whole files as operations, and records that are written one by one."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.filesystems import at
from penstock._runtime.host_calls import py_function
from penstock._runtime.os_errors import engine_errors
from penstock._runtime.records import COMPRESSIONS, Sink
from penstock._runtime.scope import scoped
from penstock._types.argument_names import path_of
from penstock._types.specs import TensorSpec
from penstock._values.variable import Variable
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "TFRecordOptions",
    "TFRecordWriter",
    "match_filenames_once",
    "matching_files",
    "read_file",
    "write_file",
]


def _string(value: Any, argument: str, scalar: bool = True) -> _core.Tensor:
    found = _core._to_tensor(value)
    if found.dtype != _core.string:
        raise DTypeError(f"argument '{argument}' must be of dtype string, got {found.dtype.name}")
    if scalar and found.shape.rank not in (0, None):
        raise InvalidArgumentError(f"argument '{argument}' must be a scalar, got shape {found.shape}")
    return found


@scoped
def read_file(filename: TensorLike, name: str | None = None) -> _core.Tensor:
    """Read a file as one string; in a traced function each time that it runs.

    Args:
        filename: its path, a string scalar.
        name: a scope for the names of its operations in a graph.

    Returns:
        The content, a string scalar.

    Raises:
        NotFoundError: where there is none.
        TypeError: where `filename` is no string.

    >>> import tempfile
    >>> import penstock as tf
    >>> path = tempfile.mkstemp()[1]
    >>> tf.io.write_file(path, "one")
    >>> tf.io.read_file(path).numpy()
    b'one'
    """
    found: _core.Tensor = raw_ops.read_file(_string(filename, "filename"))
    return found


@scoped
def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> None:
    """Write a string as a file, in directories that are made where they are absent.

    Args:
        filename: its path, a string scalar.
        contents: its content, a string scalar.
        name: a scope for the names of its operations in a graph.

    Raises:
        FailedPreconditionError: where it cannot be written.
        TypeError: where an argument is no string.

    >>> import tempfile
    >>> import penstock as tf
    >>> path = tempfile.mkstemp()[1]
    >>> tf.io.write_file(path, "one")
    >>> tf.io.read_file(path).numpy()
    b'one'
    """
    raw_ops.write_file(_string(filename, "filename"), _string(contents, "contents"))


@scoped
def matching_files(pattern: TensorLike, name: str | None = None) -> _core.Tensor:
    """List the files whose names match patterns.

    Args:
        pattern: a pattern with `*`, `?` or `[...]`, or a vector of them.
        name: a scope for the names of its operations in a graph.

    Returns:
        The paths in order, a string vector.

    Raises:
        TypeError: where `pattern` is no string.
        ValueError: where it has more than one dimension.

    >>> import penstock as tf
    >>> tf.io.matching_files("no such file*").shape
    TensorShape([0])
    """
    patterns = _string(pattern, "pattern", scalar=False)
    if patterns.shape.rank not in (0, 1, None):
        raise InvalidArgumentError(
            f"argument 'pattern' must be a scalar or a vector, got shape {patterns.shape}"
        )

    def listed(value: _core.Tensor) -> _core.Tensor:
        found = value.numpy()
        several = [found] if isinstance(found, bytes) else list(found)
        places = [at(os.fsdecode(one)) for one in several]
        paths = {os.fsencode(path) for files, pattern in places for path in files.glob(pattern)}
        return _core._to_tensor(sorted(paths), dtype=_core.string)

    result: _core.Tensor = py_function(listed, [patterns], TensorSpec([None], _core.string))
    return result


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """List the files whose names match patterns once, and keep the list in a variable.

    Args:
        pattern: a pattern with `*`, `?` or `[...]`, or a vector of them.
        name: the name of the variable.

    Returns:
        A variable with the paths in order, which is not trained.

    Raises:
        TypeError: where `pattern` is no string.
        ValueError: where it has more than one dimension.

    >>> import penstock as tf
    >>> tf.io.match_filenames_once("no such file*").shape
    TensorShape([None])
    """
    return Variable(lambda: matching_files(pattern), trainable=False, name=name, shape=[None])


class TFRecordOptions:
    """How records are compressed in a file.

    Attributes:
        compression_type: `"GZIP"`, `"ZLIB"` or `""`.
        compression_level: from -1 to 9, or None.

    >>> import penstock as tf
    >>> tf.io.TFRecordOptions("GZIP").compression_type
    'GZIP'
    """

    compression_type: str
    compression_level: int | None

    def __init__(
        self,
        compression_type: str | int | TFRecordOptions | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        """Take the options.

        Args:
            compression_type: `"GZIP"`, `"ZLIB"`, or `""` or None for none; a number of
                `tf.compat.v1.python_io.TFRecordCompressionType`; or other options.
            flush_mode: ignored.
            input_buffer_size: ignored.
            output_buffer_size: ignored.
            window_bits: ignored.
            compression_level: from 0 to 9, or -1 for what is usual.
            compression_method: ignored.
            mem_level: ignored.
            compression_strategy: ignored.

        Raises:
            ValueError: for another compression or level.
        """
        if isinstance(compression_type, TFRecordOptions):
            compression_level = compression_type.compression_level
            compression_type = compression_type.compression_type
        if isinstance(compression_type, int):
            # The numbers of TensorFlow 1.
            compression_type = dict(enumerate(("", "ZLIB", "GZIP"))).get(compression_type, compression_type)
        if compression_type not in COMPRESSIONS:
            raise InvalidArgumentError(
                f"argument 'compression_type' must be 'GZIP', 'ZLIB' or '', got {compression_type!r}"
            )
        if compression_level not in (None, *range(-1, 10)):
            raise InvalidArgumentError(
                f"argument 'compression_level' must be from -1 to 9, got {compression_level!r}"
            )
        self.compression_type = compression_type or ""
        self.compression_level = compression_level


class TFRecordWriter:
    """A file of records that is being written, which `tf.data.TFRecordDataset` reads.

    >>> import tempfile
    >>> import penstock as tf
    >>> path = tempfile.mkstemp()[1]
    >>> with tf.io.TFRecordWriter(path) as file:
    ...     file.write(b"one")
    ...     file.write(b"two")
    >>> [record.numpy() for record in tf.data.TFRecordDataset(path)]
    [b'one', b'two']
    """

    def __init__(
        self, path: str | bytes | os.PathLike[str], options: str | TFRecordOptions | None = None
    ) -> None:
        """Open the file; what it had is gone.

        Args:
            path: its name.
            options: how it is compressed, or `"GZIP"` or `"ZLIB"`.

        Raises:
            NotFoundError: where there is no directory for it.
        """
        how = TFRecordOptions(options)
        level = zlib.Z_DEFAULT_COMPRESSION if how.compression_level is None else how.compression_level
        with engine_errors():
            self._sink: Sink | None = Sink(path_of(path, "path"), how.compression_type, level)

    def _open(self) -> Sink:
        if self._sink is None:
            raise RuntimeError("the writer of records is closed")
        return self._sink

    def write(self, record: bytes) -> None:
        """Write a record.

        Args:
            record: its bytes.

        Raises:
            TypeError: where it is no bytes.
            RuntimeError: where the writer is closed.

        >>> import tempfile
        >>> import penstock as tf
        >>> with tf.io.TFRecordWriter(tempfile.mkstemp()[1]) as file:
        ...     file.write(b"one")
        """
        if not isinstance(record, bytes):
            raise TypeError(f"argument 'record' must be bytes, got {record!r}")
        (self._sink or self._open()).write(_core._framed_record(record))

    def flush(self) -> None:
        """Give what was written to the operating system; of a compressed file the rest waits.

        >>> import tempfile
        >>> import penstock as tf
        >>> with tf.io.TFRecordWriter(tempfile.mkstemp()[1]) as file:
        ...     file.flush()
        """
        self._open().flush()

    def close(self) -> None:
        """Write the rest, and let go of the file.

        >>> import tempfile
        >>> import penstock as tf
        >>> tf.io.TFRecordWriter(tempfile.mkstemp()[1]).close()
        """
        if self._sink is not None:
            self._sink.close()
            self._sink = None

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
