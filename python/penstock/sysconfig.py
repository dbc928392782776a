"""How the package was built, and where it lies, for programs that are compiled against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from penstock import _core

__all__ = [
    "CXX11_ABI_FLAG",
    "CXX_VERSION",
    "MONOLITHIC_BUILD",
    "get_build_info",
    "get_compile_flags",
    "get_include",
    "get_lib",
    "get_link_flags",
]

CXX11_ABI_FLAG: Final = 1
"""Whether strings of C++ have the form of C++11. No interface here has a string of C++."""

CXX_VERSION: Final = 201703
"""The version of C++ that the examples of the C interface are written in."""

MONOLITHIC_BUILD: Final = 1
"""Whether the engine is one library, as it is."""


def get_include() -> str:
    """Find the directory of the package's header files.

    It has `penstock_plugin.h`, for operators that `tf.load_op_library` loads. `penstock.h`, for programs that
    embed the engine, comes with the crate `penstock-capi`.

    Returns:
        The name of the directory.

    >>> import penstock as tf
    >>> import pathlib
    >>> (pathlib.Path(tf.sysconfig.get_include()) / "penstock_plugin.h").is_file()
    True
    """
    return str(Path(__file__).parent / "include")


def get_lib() -> str:
    """Find the directory of the package's library.

    Returns:
        The name of the directory.

    >>> import pathlib
    >>> import penstock as tf
    >>> pathlib.Path(tf.sysconfig.get_lib()).is_dir()
    True
    """
    return str(Path(__file__).parent)


def get_compile_flags() -> list[str]:
    """List what a compiler needs to find the header files.

    Returns:
        The flags.

    >>> import penstock as tf
    >>> tf.sysconfig.get_compile_flags()[0].startswith("-I")
    True
    """
    return [f"-I{get_include()}"]


def get_link_flags() -> list[str]:
    """List what a linker needs to find the library.

    Returns:
        The flags.

    >>> import penstock as tf
    >>> tf.sysconfig.get_link_flags()[0].startswith("-L")
    True
    """
    return [f"-L{get_lib()}"]


def get_build_info() -> dict[str, Any]:
    """Tell what the package was built with.

    Returns:
        A dict: the version, and whether there is code for GPUs of NVIDIA and of AMD.

    >>> import penstock as tf
    >>> tf.sysconfig.get_build_info()["is_rocm_build"]
    False
    """
    return {
        "version": _core.__version__,
        # CUDA is loaded when the program runs, so every build can use it.
        "is_cuda_build": True,
        "is_rocm_build": False,
        "is_tensorrt_build": False,
    }
