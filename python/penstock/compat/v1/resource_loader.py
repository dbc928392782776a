"""Files beside the module that asks for them, as TensorFlow 1 finds them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from penstock._types.argument_names import path_of

__all__ = [
    "get_data_files_path",
    "get_path_to_datafile",
    "get_root_dir_with_all_resources",
    "load_resource",
    "readahead_file_path",
]


def _beside(depth: int) -> Path:
    """The folder of the module that calls the function that calls this one."""
    return Path(sys._getframe(depth + 1).f_code.co_filename).parent


def get_data_files_path() -> str:
    """Find the folder of the module that calls it.

    Returns:
        Its path.

    >>> import os
    >>> import penstock as tf
    >>> isinstance(tf.compat.v1.resource_loader.get_data_files_path(), str)
    True
    """
    return str(_beside(1))


def get_root_dir_with_all_resources() -> str:
    """Find the folder of the module that calls it, which is where files are.

    Returns:
        Its path.

    >>> import penstock as tf
    >>> isinstance(tf.compat.v1.resource_loader.get_root_dir_with_all_resources(), str)
    True
    """
    return str(_beside(1))


def get_path_to_datafile(path: str | os.PathLike[str]) -> str:
    """Make the path of a file in the folder of the module that calls it.

    Args:
        path: where it is in the folder.

    Returns:
        The path.

    >>> import os
    >>> import penstock as tf
    >>> os.path.basename(tf.compat.v1.resource_loader.get_path_to_datafile("names.txt"))
    'names.txt'
    """
    return str(_beside(1) / path_of(path, "path"))


def load_resource(path: str | os.PathLike[str]) -> bytes:
    """Read a file in the folder of the module that calls it.

    Args:
        path: where it is in the folder; or a whole path.

    Returns:
        Its bytes.

    Raises:
        FileNotFoundError: where there is none.

    >>> import os, tempfile
    >>> import penstock as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> tf.io.write_file(path, "abc")
    >>> tf.compat.v1.resource_loader.load_resource(path)
    b'abc'
    """
    return (_beside(1) / path_of(path, "path")).read_bytes()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Give a path as it is: files are read ahead by the system.

    Args:
        path: the path.
        readahead: accepted and ignored.

    Returns:
        The path.

    >>> import penstock as tf
    >>> tf.compat.v1.resource_loader.readahead_file_path("x")
    'x'
    """
    return path
