"""Where files lie: on this machine, in the memory of the process, or where fsspec finds them.

A path without a scheme, or with `file://`, is one of this machine; `ram://` is memory of this process. Every
other scheme (`s3://`, `gs://`, `memory://`, `zip://`, …) is left to fsspec, where that is installed.
"""

from __future__ import annotations

import abc
import fnmatch
import glob
import io
import os
import posixpath
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from penstock import errors
from penstock._runtime.os_errors import engine_errors

__all__ = ["FileSystem", "Stat", "at", "read_file", "scheme_of", "write_file"]

_SEPARATOR = "://"


class Stat(NamedTuple):
    """What is known of a file or a directory."""

    length: int
    mtime_nsec: int
    is_directory: bool


class FileSystem(abc.ABC):
    """The operations on paths of one kind. Errors are Python's `OSError`s."""

    @abc.abstractmethod
    def open(self, path: str, mode: str) -> IO[Any]:
        """Open a file."""

    @abc.abstractmethod
    def stat(self, path: str) -> Stat:
        """Tell what is known of a path that is there."""

    @abc.abstractmethod
    def names(self, path: str) -> list[str]:
        """List what is in a directory."""

    @abc.abstractmethod
    def make_directory(self, path: str, parents: bool) -> None:
        """Make a directory; with `parents` also those around it, and one that is there stays."""

    @abc.abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file."""

    @abc.abstractmethod
    def remove_tree(self, path: str) -> None:
        """Remove a directory and what is in it."""

    @abc.abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Give a file or a directory another name, in the place of a file of that name."""

    @abc.abstractmethod
    def glob(self, pattern: str) -> list[str]:
        """List the paths that match a pattern, in order."""

    def find(self, path: str) -> Stat | None:
        """Tell what is known of a path, or None where nothing is there."""
        try:
            return self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def walk(
        self, top: str, topdown: bool, onerror: Callable[[OSError], Any] | None
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        """Go through a directory and all within it, as `os.walk` does."""
        try:
            names = self.names(top)
        except OSError as error:
            if onerror is not None:
                onerror(error)
            return
        folders = [name for name in names if self.stat(posixpath.join(top, name)).is_directory]
        files = [name for name in names if name not in folders]
        if topdown:
            yield top, folders, files
        for name in folders:
            yield from self.walk(posixpath.join(top, name), topdown, onerror)
        if not topdown:
            yield top, folders, files


class _Local(FileSystem):
    """Files of this machine."""

    def open(self, path: str, mode: str) -> IO[Any]:
        return Path(path).open(mode, encoding=None if "b" in mode else "utf-8")

    def stat(self, path: str) -> Stat:
        found = Path(path).stat()
        return Stat(found.st_size, found.st_mtime_ns, Path(path).is_dir())

    def names(self, path: str) -> list[str]:
        return sorted(entry.name for entry in Path(path).iterdir())

    def make_directory(self, path: str, parents: bool) -> None:
        Path(path).mkdir(parents=parents, exist_ok=parents)

    def remove(self, path: str) -> None:
        Path(path).unlink()

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def rename(self, source: str, target: str) -> None:
        Path(source).replace(target)

    def glob(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern))  # noqa: PTH207

    def walk(
        self, top: str, topdown: bool, onerror: Callable[[OSError], Any] | None
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        return os.walk(top, topdown, onerror)


class _Written(io.BytesIO):
    """A file in memory that is open for writing: its content is there for others once it is flushed."""

    def __init__(self, start: bytes, keep: Callable[[bytes], None]) -> None:
        super().__init__()
        self.write(start)
        self._keep = keep

    def flush(self) -> None:
        super().flush()
        self._keep(self.getvalue())

    def close(self) -> None:
        if not self.closed:
            self.flush()
        super().close()


class _Memory(FileSystem):
    """Files in the memory of this process, which end with it. Threads share them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # The content of each file, and when it was changed; None for a directory.
        self._nodes: dict[str, tuple[bytes, int] | None] = {"": None}

    @staticmethod
    def _name(path: str) -> str:
        return posixpath.normpath("/" + path.removeprefix(f"ram{_SEPARATOR}")).lstrip("/")

    def _node(self, path: str) -> tuple[str, tuple[bytes, int] | None]:
        name = self._name(path)
        if name not in self._nodes:
            raise FileNotFoundError(2, "No such file or directory", path)
        return name, self._nodes[name]

    def _check_parent(self, path: str) -> str:
        name = self._name(path)
        if self._nodes.get(posixpath.dirname(name), b"") is not None:
            raise FileNotFoundError(2, "No such directory", posixpath.dirname(path))
        return name

    def _below(self, name: str) -> list[str]:
        start = f"{name}/" if name else ""
        return [other for other in self._nodes if other.startswith(start) and other != name]

    def open(self, path: str, mode: str) -> IO[Any]:
        with self._lock:
            kind = mode.replace("b", "").replace("t", "")
            if self._nodes.get(self._name(path), b"") is None:
                raise IsADirectoryError(21, "Is a directory", path)
            if kind == "r":
                _, node = self._node(path)
                raw: io.BytesIO = io.BytesIO(node[0] if node is not None else b"")
            elif kind in ("w", "x", "a", "r+", "w+", "a+"):
                if kind == "x" and self._name(path) in self._nodes:
                    raise FileExistsError(17, "File exists", path)
                if kind == "r+":
                    self._node(path)
                name = self._check_parent(path)
                found = self._nodes.get(name) if kind[0] in "ar" else None
                raw = _Written(b"" if found is None else found[0], lambda data: self._keep(name, data))
                raw.flush()
                if kind == "r+":
                    raw.seek(0)
            else:
                raise ValueError(f"argument 'mode' must be one that open() takes, got {mode!r}")
        return raw if "b" in mode else io.TextIOWrapper(raw, encoding="utf-8")

    def _keep(self, name: str, content: bytes) -> None:
        with self._lock:
            self._nodes[name] = content, time.time_ns()

    def stat(self, path: str) -> Stat:
        with self._lock:
            _, node = self._node(path)
        return Stat(0, 0, True) if node is None else Stat(len(node[0]), node[1], False)

    def names(self, path: str) -> list[str]:
        with self._lock:
            name, node = self._node(path)
            if node is not None:
                raise NotADirectoryError(20, "Not a directory", path)
            below = [other.removeprefix(f"{name}/") if name else other for other in self._below(name)]
        return sorted(other for other in below if "/" not in other)

    def make_directory(self, path: str, parents: bool) -> None:
        with self._lock:
            name = self._name(path)
            if name in self._nodes:
                if parents and self._nodes[name] is None:
                    return
                raise FileExistsError(17, "File exists", path)
            if parents and name:
                self.make_directory(posixpath.dirname(name), True)
            self._nodes[self._check_parent(path)] = None

    def remove(self, path: str) -> None:
        with self._lock:
            name, node = self._node(path)
            if node is None:
                raise IsADirectoryError(21, "Is a directory", path)
            del self._nodes[name]

    def remove_tree(self, path: str) -> None:
        with self._lock:
            name, node = self._node(path)
            if node is not None:
                raise NotADirectoryError(20, "Not a directory", path)
            for other in [*self._below(name), *([name] if name else [])]:
                del self._nodes[other]

    def rename(self, source: str, target: str) -> None:
        with self._lock:
            name, node = self._node(source)
            new = self._check_parent(target)
            if self._nodes.get(new, b"") is None:
                raise IsADirectoryError(21, "Is a directory", target)
            for other in self._below(name):
                self._nodes[new + other.removeprefix(name)] = self._nodes.pop(other)
            del self._nodes[name]
            self._nodes[new] = node

    def glob(self, pattern: str) -> list[str]:
        wanted = self._name(pattern).split("/")
        with self._lock:
            parts = [(name, name.split("/")) for name in self._nodes if name]
        return sorted(
            f"ram{_SEPARATOR}{name}"
            for name, part in parts
            if len(part) == len(wanted) and all(map(fnmatch.fnmatchcase, part, wanted))
        )


class _Remote(FileSystem):
    """What fsspec finds by a scheme."""

    def __init__(self, scheme: str) -> None:
        self._scheme = scheme

    def _found(self, path: str) -> tuple[Any, str]:
        import fsspec  # an optional package

        try:
            return tuple(fsspec.core.url_to_fs(path))
        except (ValueError, ImportError) as error:
            raise errors.UnimplementedError(
                None,
                None,
                f"file system scheme '{self._scheme}' is not known to fsspec (path '{path}'): {error}",
            ) from None

    def open(self, path: str, mode: str) -> IO[Any]:
        system, inner = self._found(path)
        opened: IO[Any] = system.open(inner, mode, **({} if "b" in mode else {"encoding": "utf-8"}))
        return opened

    def stat(self, path: str) -> Stat:
        system, inner = self._found(path)
        found = system.info(inner)
        changed = found.get("mtime", found.get("created", found.get("LastModified", 0)))
        seconds = changed.timestamp() if hasattr(changed, "timestamp") else float(changed or 0)
        return Stat(int(found.get("size") or 0), int(seconds * 1e9), found["type"] == "directory")

    def names(self, path: str) -> list[str]:
        system, inner = self._found(path)
        if not system.isdir(inner):
            raise (NotADirectoryError if system.exists(inner) else FileNotFoundError)(path)
        return sorted(posixpath.basename(name.rstrip("/")) for name in system.ls(inner, detail=False))

    def make_directory(self, path: str, parents: bool) -> None:
        system, inner = self._found(path)
        if parents:
            system.makedirs(inner, exist_ok=True)
        elif system.exists(inner):
            raise FileExistsError(path)
        else:
            system.mkdir(inner, create_parents=False)

    def remove(self, path: str) -> None:
        system, inner = self._found(path)
        system.rm_file(inner)

    def remove_tree(self, path: str) -> None:
        system, inner = self._found(path)
        if not system.exists(inner):
            raise FileNotFoundError(path)
        system.rm(inner, recursive=True)

    def rename(self, source: str, target: str) -> None:
        system, inner = self._found(source)
        if not system.exists(inner):
            raise FileNotFoundError(source)
        system.mv(inner, self._found(target)[1], recursive=system.isdir(inner))

    def glob(self, pattern: str) -> list[str]:
        system, inner = self._found(pattern)
        return sorted(system.unstrip_protocol(name) for name in system.glob(inner))


_LOCAL = _Local()
_OTHERS: dict[str, FileSystem] = {"ram": _Memory()}


def scheme_of(path: str) -> str:
    """The scheme of a path, in front of `://`; empty for one of this machine."""
    scheme, separator, _ = path.partition(_SEPARATOR)
    return scheme if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) else ""


def at(path: str) -> tuple[FileSystem, str]:
    """Where a path lies, and what it is called there.

    Raises:
        UnimplementedError: for a scheme that needs fsspec, where that is not installed.
    """
    scheme = scheme_of(path)
    if scheme in ("", "file"):
        return _LOCAL, path.removeprefix(f"file{_SEPARATOR}")
    known = _OTHERS.get(scheme)
    if known is None:
        try:
            import fsspec  # noqa: F401  # an optional package
        except ImportError:
            raise errors.UnimplementedError(
                None,
                None,
                f"file system scheme '{scheme}' needs fsspec, which is not installed (path '{path}'): "
                "pip install fsspec, and what it needs for this scheme",
            ) from None
        known = _OTHERS.setdefault(scheme, _Remote(scheme))
    return known, path


def read_file(path: bytes) -> bytes:
    """What a file holds, wherever it lies.

    Raises:
        OpError: where it cannot be read.
    """
    files, inner = at(os.fsdecode(path))
    with engine_errors(), files.open(inner, "rb") as file:
        content: bytes = file.read()
        return content


def write_file(path: bytes, contents: bytes) -> None:
    """Makes a file that holds these bytes, in directories that are made where they are absent.

    Raises:
        OpError: where it cannot be written.
    """
    files, inner = at(os.fsdecode(path))
    with engine_errors():
        folder = os.path.dirname(inner)  # noqa: PTH120
        if folder and not inner.endswith(_SEPARATOR):
            files.make_directory(folder, parents=True)
        with files.open(inner, "wb") as file:
            file.write(contents)
