"""How Python control flow becomes graph control flow."""

from penstock.autograph import experimental as experimental

__all__ = ["experimental"]
