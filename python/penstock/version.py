"""The version of this package, and of the form of graphs of TensorFlow that it knows."""

from __future__ import annotations

from typing import Final

from penstock import _core

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]

VERSION: Final[str] = _core.__version__
"""The version of this package."""

GIT_VERSION: Final[str] = f"v{_core.__version__}"
"""The tag of its source."""

COMPILER_VERSION: Final[str] = "rustc"
"""The compiler that the engine is built with."""

GRAPH_DEF_VERSION: Final[int] = 2459
"""The version of TensorFlow's graphs that SavedModels are read in: TensorFlow 2.21."""

GRAPH_DEF_VERSION_MIN_CONSUMER: Final[int] = 0
"""The least version of a reader that these graphs ask for."""

GRAPH_DEF_VERSION_MIN_PRODUCER: Final[int] = 0
"""The least version of a writer whose graphs are read."""
