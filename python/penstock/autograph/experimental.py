"""Exceptions to the conversion of Python control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["do_not_convert"]


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Marks a function whose control flow stays Python's when it is traced.

    Args:
        func: the function; without it the result is a decorator.
    """
    if func is None:
        return do_not_convert
    vars(func)["_penstock_do_not_convert"] = True
    return func
