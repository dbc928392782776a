"""Names of older versions, and text and bytes."""

from __future__ import annotations

import os
from typing import Any

from penstock._runtime.public_names import publish as _publish
from penstock.compat import v1 as v1
from penstock.compat.v1._dimension import (
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "dimension_at_index",
    "dimension_value",
    "path_to_str",
    "v1",
    "v2",
]


def __getattr__(name: str) -> object:
    if name == "v2":
        import penstock  # what `compat.v2` names is the package itself

        return penstock
    raise AttributeError(f"module 'penstock.compat' has no attribute {name!r}")


def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """Encode text; bytes stay as they are.

    Args:
        bytes_or_text: text or bytes.
        encoding: how text is encoded.

    Returns:
        Bytes.

    Raises:
        TypeError: for anything else.

    >>> import penstock as tf
    >>> tf.compat.as_bytes("a")
    b'a'
    """
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"argument 'bytes_or_text' must be text or bytes, got {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Decode bytes; text stays as it is.

    Args:
        bytes_or_text: text or bytes.
        encoding: how bytes are decoded.

    Returns:
        Text.

    Raises:
        TypeError: for anything else.

    >>> import penstock as tf
    >>> tf.compat.as_text(b"a")
    'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"argument 'bytes_or_text' must be text or bytes, got {bytes_or_text!r}")


def as_str(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Decode bytes, as `as_text`.

    Args:
        bytes_or_text: text or bytes.
        encoding: how bytes are decoded.

    Returns:
        Text.

    Raises:
        TypeError: for anything else.

    >>> import penstock as tf
    >>> tf.compat.as_str(b"a")
    'a'
    """
    return as_text(bytes_or_text, encoding)


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Give anything as text: bytes are decoded.

    Args:
        value: anything.
        encoding: how bytes are decoded.

    Returns:
        Text.

    >>> import penstock as tf
    >>> tf.compat.as_str_any(b"a"), tf.compat.as_str_any(1)
    ('a', '1')
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Give a path as text; what is none stays as it is.

    Args:
        path: a path, or anything else.

    Returns:
        Text of a path.

    >>> import pathlib
    >>> import penstock as tf
    >>> tf.compat.path_to_str(pathlib.PurePosixPath("a"))
    'a'
    """
    return os.fspath(path) if isinstance(path, os.PathLike) else path


_publish(__name__)
