"""Arguments of public functions: which one a value was given for, and whether it is what it must be."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


def place_in_program() -> str:
    """The line that called into this package, as a traceback shows it; empty where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "penstock":
        frame = frame.f_back
    if frame is None:
        return ""
    return f'File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_name}'


def place_of(value: Any) -> str:
    """What goes in front of an error about a value: the argument by which it came into this package.

    Called where an error is made, so that a call that succeeds pays nothing.
    """
    frame: FrameType | None = sys._getframe(1)
    entered: FrameType | None = None
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "penstock":
        code = frame.f_code
        if code.co_argcount + code.co_kwonlyargcount:  # a wrapper, of `*args` alone, has no names to give
            entered = frame
        frame = frame.f_back
    if entered is None:
        return ""
    code = entered.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    local = entered.f_locals
    return next((f"argument '{name}': " for name in names if local.get(name) is value), "")


def expect(value: Any, kind: type | tuple[type, ...], argument: str, what: str) -> Any:
    """The value of an argument, which must be of a class.

    Args:
        value: what was given.
        kind: the class, or several.
        argument: the name of the argument.
        what: the class in words.

    Raises:
        TypeError: where it is something else.
    """
    if not isinstance(value, kind):
        raise TypeError(f"argument '{argument}' must be {what}, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    """A value in an error, also where it cannot be printed."""
    try:
        text = repr(value)
    except Exception:
        return f"an object of class {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:100]}…"
