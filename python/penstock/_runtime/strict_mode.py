"""Whether what is deprecated is an error: `tf.experimental.enable_strict_mode`."""

from __future__ import annotations

__all__ = ["enable", "refuse_deprecated"]

_enabled = False


def enable() -> None:
    """Make what is deprecated an error from now on."""
    global _enabled
    _enabled = True


def refuse_deprecated(text: str) -> None:
    """Raise where what is deprecated is an error.

    Raises:
        RuntimeError: what the warning would say.
    """
    if _enabled:
        raise RuntimeError(f"{text} It is an error since tf.experimental.enable_strict_mode() was called.")
