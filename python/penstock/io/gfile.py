"""Files and directories, by TensorFlow's names; errors are those of the engine.

A path may be one of this machine, one of the memory of the process (`ram://name`), or one of those that
[fsspec](https://filesystem-spec.readthedocs.io) knows (`s3://`, `gs://`, `memory://`, …), where that is
installed.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, TypeAlias

from penstock import errors as _errors
from penstock._runtime.filesystems import FileSystem, Stat, at, scheme_of
from penstock._runtime.os_errors import engine_errors
from penstock._types.argument_names import place_of, shown

__all__ = [
    "GFile",
    "copy",
    "exists",
    "get_registered_schemes",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]

Name: TypeAlias = str | bytes | os.PathLike[str]


def _text(name: Name) -> str:
    try:
        return os.fsdecode(name)
    except TypeError:
        message = f"{place_of(name)}a path must be a text, bytes or a Path, got {shown(name)}"
        raise TypeError(message) from None


def _at(name: Name) -> tuple[FileSystem, str]:
    return at(_text(name))


def _found(name: Name) -> Stat | None:
    """What is known of a path; nothing has the empty name."""
    files, inner = _at(name)
    return files.find(inner) if _text(name) else None


def exists(path: Name) -> bool:
    """Tell whether there is a file or a directory of a name.

    Args:
        path: the name.

    Returns:
        Whether there is one.

    >>> import penstock as tf
    >>> tf.io.gfile.exists("no such file")
    False
    """
    return _found(path) is not None


def isdir(path: Name) -> bool:
    """Tell whether there is a directory of a name.

    Args:
        path: the name.

    Returns:
        Whether there is one.

    >>> import penstock as tf
    >>> tf.io.gfile.isdir(".")
    True
    """
    found = _found(path)
    return found is not None and found.is_directory


def join(path: Name, *paths: Name) -> str:
    """Join parts of a path.

    Args:
        path: the first part.
        *paths: the others.

    Returns:
        The path, with the separator of the system; `/` where the path has a scheme.

    >>> import penstock as tf
    >>> tf.io.gfile.join("ram://folder", "file")
    'ram://folder/file'
    """
    first, *rest = map(_text, (path, *paths))
    with_scheme = [i for i, part in enumerate(rest) if scheme_of(part)]
    if with_scheme:
        first, rest = rest[with_scheme[-1]], rest[with_scheme[-1] + 1 :]
    return posixpath.join(first, *rest) if scheme_of(first) else os.path.join(first, *rest)  # noqa: PTH118


def listdir(path: Name) -> list[str]:
    """List the names in a directory, in order.

    Args:
        path: the directory.

    Returns:
        The names, without the path.

    Raises:
        NotFoundError: where there is no such directory.

    >>> import tempfile
    >>> import penstock as tf
    >>> tf.io.gfile.listdir(tempfile.mkdtemp())
    []
    """
    with engine_errors():
        files, inner = _at(path)
        return files.names(inner)


def glob(pattern: Name | Sequence[Name]) -> list[str]:
    """List the files and directories whose names match one or several patterns.

    Args:
        pattern: a pattern with `*`, `?` or `[...]`, or several.

    Returns:
        The paths, in order for each pattern.

    >>> import penstock as tf
    >>> tf.io.gfile.glob("no such file*")
    []
    """
    patterns = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    return [name for files, inner in map(_at, patterns) for name in files.glob(inner)]


def mkdir(path: Name) -> None:
    """Make a directory in one that is there.

    Args:
        path: its name.

    Raises:
        AlreadyExistsError: where the name is taken.
        NotFoundError: where there is no directory to make it in.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> tf.io.gfile.mkdir(os.path.join(tempfile.mkdtemp(), "new"))
    """
    with engine_errors():
        files, inner = _at(path)
        files.make_directory(inner, parents=False)


def makedirs(path: Name) -> None:
    """Make a directory, and those that it is in; one that is there stays.

    Args:
        path: its name.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> tf.io.gfile.makedirs(os.path.join(tempfile.mkdtemp(), "a", "b"))
    """
    with engine_errors():
        files, inner = _at(path)
        files.make_directory(inner, parents=True)


def remove(path: Name) -> None:
    """Remove a file.

    Args:
        path: its name.

    Raises:
        NotFoundError: where there is none.

    >>> import tempfile
    >>> import penstock as tf
    >>> tf.io.gfile.remove(tempfile.mkstemp()[1])
    """
    with engine_errors():
        files, inner = _at(path)
        files.remove(inner)


def rmtree(path: Name) -> None:
    """Remove a directory and everything in it.

    Args:
        path: its name.

    Raises:
        NotFoundError: where there is none.

    >>> import tempfile
    >>> import penstock as tf
    >>> tf.io.gfile.rmtree(tempfile.mkdtemp())
    """
    with engine_errors():
        files, inner = _at(path)
        files.remove_tree(inner)


def _check_free(path: Name, overwrite: bool) -> None:
    if not overwrite and exists(path):
        message = f"there is a file '{_text(path)}', and 'overwrite' is False"
        raise _errors.AlreadyExistsError(None, None, message)


def copy(src: Name, dst: Name, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
        src: the file.
        dst: the name of the copy.
        overwrite: whether a file of this name may be replaced.

    Raises:
        AlreadyExistsError: where there is one, and it may not.
        NotFoundError: where there is no file to copy.

    >>> import tempfile
    >>> import penstock as tf
    >>> path = tempfile.mkstemp()[1]
    >>> tf.io.gfile.copy(path, path + ".copy")
    """
    _check_free(dst, overwrite)
    (source, inner), (target, name) = _at(src), _at(dst)
    with engine_errors(), source.open(inner, "rb") as read, target.open(name, "wb") as written:
        shutil.copyfileobj(read, written)


def rename(src: Name, dst: Name, overwrite: bool = False) -> None:
    """Give a file or a directory another name.

    Args:
        src: the file.
        dst: its new name.
        overwrite: whether a file of this name may be replaced.

    Raises:
        AlreadyExistsError: where there is one, and it may not.
        NotFoundError: where there is no file.

    >>> import tempfile
    >>> import penstock as tf
    >>> path = tempfile.mkstemp()[1]
    >>> tf.io.gfile.rename(path, path + ".new")
    """
    _check_free(dst, overwrite)
    (source, inner), (target, name) = _at(src), _at(dst)
    with engine_errors():
        if source is target:
            source.rename(inner, name)
        else:
            copy(src, dst, overwrite=True)
            source.remove(inner)


class FileStatistics:
    """What `stat` tells of a file: `length` in bytes, `mtime_nsec` of the last change, `is_directory`."""

    def __init__(self, length: int, mtime_nsec: int, is_directory: bool) -> None:
        """Take the facts."""
        self.length: int = length
        self.mtime_nsec: int = mtime_nsec
        self.is_directory: bool = is_directory


def stat(path: Name) -> FileStatistics:
    """Tell the length of a file, and when it was changed.

    Args:
        path: its name.

    Returns:
        The facts.

    Raises:
        NotFoundError: where there is none.

    >>> import tempfile
    >>> import penstock as tf
    >>> tf.io.gfile.stat(tempfile.mkstemp()[1]).length
    0
    """
    with engine_errors():
        files, inner = _at(path)
        return FileStatistics(*files.stat(inner))


def walk(
    top: Name, topdown: bool = True, onerror: Callable[[OSError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Go through a directory and all within it: for each its path, its directories and its files.

    Args:
        top: the directory.
        topdown: whether a directory comes before those in it.
        onerror: is called with the error of a directory that cannot be read.

    Returns:
        An iterator over the directories.

    >>> import tempfile
    >>> import penstock as tf
    >>> [names for _, *names in tf.io.gfile.walk(tempfile.mkdtemp())]
    [[[], []]]
    """
    files, inner = _at(top)
    return files.walk(inner, topdown, onerror)


def get_registered_schemes() -> list[str]:
    """List the schemes of paths that are understood, without those that fsspec knows.

    Returns:
        The schemes; the empty one is that of files of this machine.

    >>> import penstock as tf
    >>> tf.io.gfile.get_registered_schemes()
    ['', 'file', 'ram']
    """
    return ["", "file", "ram"]


class GFile:
    """A file of text or bytes, which is opened when it is first used.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with tf.io.gfile.GFile(path, "w") as file:
    ...     file.write("one two")
    >>> tf.io.gfile.GFile(path).read()
    'one two'
    """

    def __init__(self, name: Name, mode: str = "r") -> None:
        """Name the file.

        Args:
            name: its path.
            mode: as for `open`.
        """
        self._name, self._mode = _text(name), mode
        self._file: IO[Any] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """How it is opened."""
        return self._mode

    def _opened(self) -> IO[Any]:
        if self._file is None:
            with engine_errors():
                files, inner = at(self._name)
                self._file = files.open(inner, self._mode)
        return self._file

    def read(self, n: int = -1) -> Any:
        """Read `n` characters or bytes, or all that is left.

        Args:
            n: how many characters or bytes; all that is left by default.

        Returns:
            Text or bytes.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> tf.io.gfile.GFile(path).read()
        ''
        """
        return self._opened().read(n)

    def readline(self) -> Any:
        """Read a line, with its end.

        Returns:
            Text or bytes; nothing at the end of the file.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> tf.io.gfile.GFile(path).readline()
        ''
        """
        return self._opened().readline()

    def readlines(self) -> list[Any]:
        """Read all lines that are left.

        Returns:
            The lines.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> tf.io.gfile.GFile(path).readlines()
        []
        """
        return self._opened().readlines()

    def write(self, file_content: str | bytes) -> None:
        """Write text or bytes.

        Args:
            file_content: what to write.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> with tf.io.gfile.GFile(path, "w") as file:
        ...     file.write("one")
        >>> tf.io.gfile.GFile(path).read()
        'one'
        """
        self._opened().write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0) -> None:
        """Go to a place in the file.

        Args:
            offset: the place; the beginning by default.
            whence: what the place is counted from, as for `io.IOBase.seek`.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> with tf.io.gfile.GFile(path, "w") as file:
        ...     file.write("one")
        >>> file = tf.io.gfile.GFile(path)
        >>> file.seek(1)
        >>> file.read()
        'ne'
        """
        self._opened().seek(offset or 0, whence)

    def tell(self) -> int:
        """Tell the place in the file.

        Returns:
            A number of bytes.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> tf.io.gfile.GFile(path).tell()
        0
        """
        return self._opened().tell()

    def size(self) -> int:
        """Tell the length of the file in bytes.

        Returns:
            A number of bytes.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> tf.io.gfile.GFile(path).size()
        0
        """
        return stat(self._name).length

    def flush(self) -> None:
        """Give what was written to the operating system.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> with tf.io.gfile.GFile(path, "w") as file:
        ...     file.write("one")
        ...     file.flush()
        """
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Let go of the file; it is opened anew where it is used again.

        >>> import tempfile
        >>> import penstock as tf
        >>> path = tempfile.mkstemp()[1]
        >>> tf.io.gfile.GFile(path).close()
        """
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._opened())
