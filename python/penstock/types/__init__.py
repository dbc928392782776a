"""Types for annotations and protocols."""

from penstock.types import experimental as experimental

__all__ = ["experimental"]
