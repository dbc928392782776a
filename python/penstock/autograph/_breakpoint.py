"""`breakpoint()` in converted code: it stops when the graph runs, with the values that there are then."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from penstock import _core, nest
from penstock._runtime.host_calls import py_function
from penstock.autograph._branch import is_symbolic
from penstock.autograph._values import UNDEFINED

__all__ = ["stop"]


def stop(*args: Any, **kwargs: Any) -> None:
    """Call Python's `breakpoint` for the caller: at once, or whenever the graph comes here.

    Args:
        *args: for the debugger.
        **kwargs: for the debugger.
    """
    frame = sys._getframe(1)
    code, line, space = frame.f_code, frame.f_lineno, frame.f_globals
    names = _variables(frame)
    source = "\n" * (line - 1) + "breakpoint()"
    if args or kwargs:
        source = "\n" * (line - 1) + "breakpoint(*__breakpoint__[0], **__breakpoint__[1])"
        names["__breakpoint__"] = (args, kwargs)
    # The debugger shows the line of the program that this stands in.
    pause = compile(source, code.co_filename, "exec")
    tensors, filled = _taken_out(names)

    def enter(*values: Any) -> None:
        exec(pause, space, filled(values))

    if _core._is_tracing():
        enter.__name__ = "breakpoint"
        py_function(enter, tensors, None)
    else:
        enter(*tensors)


def _variables(frame: FrameType) -> dict[str, Any]:
    """The local variables of a function of the program: of the frame, and of those that it is a part of.

    A branch or the body of a loop is a function within that of the program.
    """
    inner, found = frame.f_code, dict(frame.f_locals)
    outer = frame.f_back
    while outer is not None:
        if inner in outer.f_code.co_consts:
            found = {**outer.f_locals, **found}
            inner = outer.f_code
        outer = outer.f_back
    return {name: value for name, value in found.items() if _is_users(name, value)}


def _is_users(name: str, value: Any) -> bool:
    """Whether a variable is one of the program, rather than of the conversion, and has a value here."""
    if value is UNDEFINED or name.startswith("ag__") or name.endswith("__") or not name.isidentifier():
        return False
    leaves = nest.flatten(value, expand_composites=True)
    return all(_core._is_in_scope(leaf) for leaf in leaves if _is_tensor(leaf))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _core.Tensor) and is_symbolic(value)


def _taken_out(names: dict[str, Any]) -> tuple[list[Any], Callable[[Any], dict[str, Any]]]:
    """The tensors of the graph in these values, and what makes the values of others in their place."""
    leaves = nest.flatten(list(names.values()), expand_composites=True)
    places = [i for i, leaf in enumerate(leaves) if _is_tensor(leaf)]

    def filled(values: Any) -> dict[str, Any]:
        new = list(leaves)
        for place, value in zip(places, values, strict=True):
            new[place] = value
        packed = nest.pack_sequence_as(list(names.values()), new, expand_composites=True)
        return dict(zip(names, packed, strict=True))

    return [leaves[i] for i in places], filled
