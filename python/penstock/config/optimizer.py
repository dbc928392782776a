"""`config.optimizer`: wishes about how graphs are optimised, which are kept and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]

_jit = ""
_options: dict[str, Any] = {}


def get_jit() -> str:
    """Tell what `set_jit` said last.

    Returns:
        `"autoclustering"` or an empty text.

    >>> import penstock as tf
    >>> tf.config.optimizer.get_jit()
    ''
    """
    return _jit


def set_jit(enabled: bool | str) -> None:
    """Set whether graphs are compiled, which they are in any case.

    Args:
        enabled: True or `"autoclustering"`; False or an empty text.

    Raises:
        ValueError: for anything else.

    >>> import penstock as tf
    >>> tf.config.optimizer.set_jit(False)
    """
    global _jit
    if enabled not in (True, False, "", "autoclustering"):
        raise ValueError(f"argument 'enabled' must be a bool or 'autoclustering', got {enabled!r}")
    _jit = "autoclustering" if enabled else ""


def get_experimental_options() -> dict[str, Any]:
    """Tell what `set_experimental_options` was told.

    Returns:
        The options, by name.

    >>> import penstock as tf
    >>> tf.config.optimizer.get_experimental_options()["disable_meta_optimizer"]
    False
    """
    return {**_options, **{name: _options.get(name, False) for name in _ALWAYS}}


_ALWAYS = ("disable_model_pruning", "disable_meta_optimizer")


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Note which of TensorFlow's optimisations are wanted; `PENSTOCK_PASSES` switches those of this package.

    Args:
        options: the options to change, by name.

    >>> import penstock as tf
    >>> tf.config.optimizer.set_experimental_options({})
    """
    _options.update(options)
