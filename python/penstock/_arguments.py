"""Which argument of a public function a value was given for."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


def place_of(value: Any) -> str:
    """What goes in front of an error about a value: the argument by which it came into this package.

    Called where an error is made, so that a call that succeeds pays nothing.
    """
    frame: FrameType | None = sys._getframe(1)
    entered: FrameType | None = None
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "penstock":
        frame, entered = frame.f_back, frame
    if entered is None:
        return ""
    code = entered.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    local = entered.f_locals
    return next((f"argument '{name}': " for name in names if local.get(name) is value), "")
