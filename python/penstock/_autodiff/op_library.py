"""Operators of shared libraries, written in Rust or C."""

from __future__ import annotations

import os
from types import ModuleType

from penstock._types.argument_names import expect

__all__ = ["load_library", "load_op_library"]


def load_op_library(library_filename: str | os.PathLike[str]) -> ModuleType:
    """Load a shared library of operators, written in Rust or C.

    Each operator is a function of the module that is returned. It takes tensors by position or by the names
    of the operator's inputs, and `name`; it gives a tensor, or a named tuple where there are several results.
    It runs at once on eager tensors, and is one operation of the graph in a traced function. Its attribute
    `custom_op` is the `CustomOp`, by whose decorators it can be given a gradient in Python, or a form for
    many examples. `docs/custom_operators.md` shows how a library is written.

    Args:
        library_filename: the file. Its code runs in this process: load none that you do not trust.

    Returns:
        A module with a function for each operator.

    Raises:
        TypeError: where `library_filename` is no path.
        NotFoundError: where there is no such file.
        InvalidArgumentError: where the file is no library of operators, or one for another version of
            `penstock_plugin.h`. Libraries built for TensorFlow's C++ API cannot be loaded. Also when an
            operator is called: where it takes no such tensors, or fails.

    >>> import penstock as tf
    >>> try:
    ...     ops = tf.load_op_library("./libtridiagonal.so")
    ... except tf.errors.NotFoundError:
    ...     print("it has to be built first")
    it has to be built first
    """
    # Programs that load no library do without ctypes, inspect and pathlib.
    from penstock._autodiff.loaded_ops import load

    return load(expect(library_filename, (str, os.PathLike), "library_filename", "the path of a file"))


def load_library(library_location: str | os.PathLike[str]) -> None:
    """Load a shared library of operators, or all of a directory, to see whether they can be.

    `load_op_library` gives the functions.

    Args:
        library_location: a file, or a directory with files that end with `.so`, `.dylib` or `.dll`.

    Raises:
        TypeError: where `library_location` is no path.
        FileNotFoundError: where there is neither.
        InvalidArgumentError: where a file is no library of operators.

    >>> import penstock as tf
    >>> try:
    ...     tf.load_library("./operators")
    ... except FileNotFoundError:
    ...     print("they have to be built first")
    they have to be built first
    """
    # As above.
    from penstock._autodiff.loaded_ops import load_all

    load_all(expect(library_location, (str, os.PathLike), "library_location", "the path of a file"))
