"""The version of TensorFlow whose names these are."""

from __future__ import annotations

from typing import Final

__all__ = ["GIT_VERSION", "VERSION"]

VERSION: Final = "2.21.0"
GIT_VERSION: Final = f"v{VERSION}"
