"""Signatures and annotations of what users define, some of whose annotations may not have a value yet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect

__all__ = ["annotations_of", "signature_of"]

if sys.version_info >= (3, 14):
    import annotationlib

    # Python evaluates annotations when they are asked for: names that only type checkers see stay references.
    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """As `inspect.signature`, whatever the annotations."""
        import inspect  # slow to load

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)

    def annotations_of(cls: type) -> dict[str, Any]:
        """As `inspect.get_annotations`, with references to what is not defined."""
        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)

else:

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """As `inspect.signature`."""
        import inspect  # slow to load

        return inspect.signature(function)

    def annotations_of(cls: type) -> dict[str, Any]:
        """As `inspect.get_annotations`."""
        import inspect  # slow to load

        return inspect.get_annotations(cls)
