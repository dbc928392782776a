"""What a debugger is told while a graph runs: the lines that it comes to, with the values that there are.

Each is a host call of the graph, with the tensors that the local variables hold there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

from penstock import _core, nest
from penstock._runtime.debug_switches import session, stepping
from penstock._runtime.host_calls import py_function
from penstock._runtime.identity import WeakIdentityMap
from penstock._types.annotations import signature_of
from penstock.autograph import _convert
from penstock.autograph._branch import is_symbolic
from penstock.autograph._line_events import STOPS
from penstock.autograph._values import UNDEFINED

__all__ = [
    "BREAK",
    "ENTER",
    "EXIT",
    "START",
    "Call",
    "at_line",
    "is_set_trace",
    "is_stepped",
    "leads_to_stop",
    "set_trace",
    "stop",
    "told",
    "told_around",
]

# What is told beside lines: a `breakpoint()`, the beginning of a function, its end, and the beginning of a
# graph with a `breakpoint()` in it.
BREAK, ENTER, EXIT, START = "break", "enter", "exit", "start"


class Call(NamedTuple):
    """A function of the program that is part of a graph, as often as it was called while that was traced."""

    code: CodeType
    space: dict[str, Any]


def is_stepped() -> bool:
    """Whether `breakpoint()` is Python's own, so that it leads to a debugger that can go on line by line."""
    chosen = os.environ.get("PYTHONBREAKPOINT", "")
    if session.hook is not None:
        return chosen != "0"
    hook = sys.breakpointhook
    return chosen in ("", "pdb.set_trace") and (hook is sys.__breakpointhook__ or _waits_for_editor(hook))


def _waits_for_editor(hook: Any) -> bool:
    """Whether a hook is that of the debugger of editors and notebooks, and none is connected to it."""
    if not str(getattr(hook, "__module__", "")).startswith("debugpy"):
        return False
    return not sys.modules["debugpy"].is_client_connected()


def is_set_trace(function: Any) -> bool:
    """Whether a function is `pdb.set_trace`, or what IPython puts in its place."""
    return function.__name__ == "set_trace" and function.__module__ in ("pdb", "IPython.core.debugger")


def stop(*args: Any, **kwargs: Any) -> None:
    """Call Python's `breakpoint` for the caller: at once, or whenever the graph comes here.

    Args:
        *args: for the debugger.
        **kwargs: for the debugger.
    """
    if _core._is_tracing() and is_stepped():
        _stop_in_graph(sys._getframe(1), kwargs)
    else:
        _pause(sys._getframe(1), breakpoint, args, kwargs)


def set_trace(*args: Any, **kwargs: Any) -> None:
    """Call `pdb.set_trace` for the caller: at once, or whenever the graph comes here.

    Args:
        *args: for the debugger.
        **kwargs: for the debugger.
    """
    if _core._is_tracing():
        _stop_in_graph(sys._getframe(1), kwargs)
    else:
        _pause(sys._getframe(1), sys.modules["pdb"].set_trace, args, kwargs)


def _stop_in_graph(frame: FrameType, kwargs: dict[str, Any]) -> None:
    whole, names = _function_of(frame)
    _tell(BREAK, _call_of(whole), frame.f_lineno, names, kwargs.get("header"))


def _pause(frame: FrameType, debugger: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Calls a debugger that shows the line of the program, whenever the program comes there."""
    line, space, names = frame.f_lineno, frame.f_globals, _function_of(frame)[1]
    source = "\n" * (line - 1) + "breakpoint()"
    if args or kwargs or debugger is not breakpoint:
        source = "\n" * (line - 1) + "__breakpoint__()"
        names["__breakpoint__"] = functools.partial(debugger, *args, **kwargs)
    pause = compile(source, frame.f_code.co_filename, "exec")
    tensors, filled = _taken_out(names)

    def enter(*values: Any) -> None:
        exec(pause, space, filled(values))

    if _core._is_tracing():
        enter.__name__ = "breakpoint"
        py_function(enter, tensors, None)
    else:
        enter(*tensors)


def at_line(kind: str) -> None:
    """Tell the debugger, whenever the graph comes here, of the line that calls this.

    Args:
        kind: a statement, an iteration, or the end of a block.
    """
    if _core._is_tracing():
        frame = sys._getframe(1)
        whole, names = _function_of(frame)
        _tell(kind, _call_of(whole), frame.f_lineno, names)


def told(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that tells of its calls, and of those that it is called by where no debugger knows of them.

    Args:
        function: a converted one that tells of its lines.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not _core._is_tracing():
            return function(*args, **kwargs)
        call = Call(function.__code__, function.__globals__)
        if not stepping.calls and not stepping.on:
            _tell(START, call, 0, {})
        with _around(sys._getframe(1)):
            _tell(ENTER, call, call.code.co_firstlineno, _arguments(function, args, kwargs))
            before, stepping.on = stepping.on, True
            stepping.calls.append(call)
            try:
                result = function(*args, **kwargs)
            finally:
                stepping.calls.pop()
                stepping.on = before
            _tell(EXIT, call, 0, {"__return__": result})
        return result

    return run


def told_around(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that tells of those that it is called by, for a debugger that stops in it.

    Args:
        function: a traced one that tells of its lines.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        caller = next(_functions_around(frame), None)
        if not _core._is_tracing() or caller is None:
            return function(*args, **kwargs)
        if not stepping.calls:
            _tell(START, caller[0], 0, {})
        with _around(frame):
            return function(*args, **kwargs)

    return run


@contextlib.contextmanager
def _around(frame: FrameType) -> Iterator[None]:
    """Tells of the functions that a frame was called by, unless a debugger knows of them."""
    around = [] if stepping.calls else list(_functions_around(frame))[::-1]
    for outer, line, names in around:
        _tell(ENTER, outer, line, names)
    yield
    for outer, _, _ in reversed(around):
        _tell(EXIT, outer, 0, {})


# Whether traced functions lead to a `breakpoint()`, by what was decorated.
_leading = WeakIdentityMap[Any, bool]()


def leads_to_stop(function: Any) -> bool:
    """Whether a traced function, or one that it names, has a `breakpoint()` that stops in the graph."""
    if not is_stepped():
        return False
    decorated = getattr(function, "__func__", function).python_function
    if not isinstance(decorated, FunctionType):
        return _leads_to_stop(function, set())
    found = _leading.get(decorated)
    if found is None:
        found = _leading[decorated] = _leads_to_stop(function, set())
    return found


def _leads_to_stop(function: Any, seen: set[CodeType]) -> bool:
    owner = None
    while not isinstance(function, FunctionType):
        if isinstance(function, _core._BoundFunction | MethodType):
            owner, function = type(function.__self__), function.__func__
        elif isinstance(function, _core._Function):
            if function._is_restored or not function.__dict__["_options"]["autograph"]:
                return False
            function = function.python_function
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            return False
    code = function.__code__
    if code in seen or _convert.is_library(code.co_filename):
        return False
    seen.add(code)
    names = set(_names_of(code))
    if not STOPS.isdisjoint(names):
        return True
    named = [function.__globals__.get(name) for name in names]
    named += [vars(base).get(name) for base in getattr(owner, "__mro__", ()) for name in names]
    named += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return any(_leads_to_stop(value, seen) for value in named if callable(value))


def _names_of(code: CodeType) -> Iterator[str]:
    """The globals and attributes that code names, and the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 -- an empty one is an error
    except ValueError:
        return False
    return True


def _arguments(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        bound = signature_of(function).bind(*args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if _is_users(name, value)}


def _tell(kind: str, call: Call, line: int, names: dict[str, Any], header: str | None = None) -> None:
    """Adds to the graph what tells a debugger of something."""
    tensors, filled = _taken_out(names)

    def tell(*values: Any) -> None:
        from penstock.autograph._debugger import current  # pdb is slow to load

        current().told(kind, call, line, filled(values), header)

    tell.__name__ = "debugger"
    py_function(tell, tensors, None)


def _call_of(whole: FrameType) -> Call:
    """The call that a frame of a function is."""
    if stepping.calls and stepping.calls[-1].code is whole.f_code:
        return stepping.calls[-1]  # type: ignore[no-any-return]
    return Call(whole.f_code, whole.f_globals)


def _function_of(frame: FrameType) -> tuple[FrameType, dict[str, Any]]:
    """The frame of a function of the program that a frame is, or a part of, and its local variables.

    A branch or the body of a loop is a function within that of the program.
    """
    inner, found = frame, dict(frame.f_locals)
    outer = frame.f_back
    while outer is not None and _convert.is_part(inner.f_code):
        if inner.f_code in outer.f_code.co_consts:
            found = {**outer.f_locals, **found}
            inner = outer
        outer = outer.f_back
    return inner, {name: value for name, value in found.items() if _is_users(name, value)}


def _functions_around(frame: FrameType | None) -> Iterator[tuple[Call, int, dict[str, Any]]]:
    """The converted functions that a frame was called by in its trace, innermost first."""
    while frame is not None and frame.f_code not in _convert.TRACED:
        if _convert.is_made(frame.f_code):
            whole, names = _function_of(frame)
            yield Call(whole.f_code, whole.f_globals), frame.f_lineno, names
            frame = whole
        frame = frame.f_back


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
    tensors: list[Any] = []
    # What has none is as it is now, and so are containers, which the trace may change later.
    fixed: dict[str, Any] = {}
    plain: list[tuple[str, int]] = []
    nested: list[tuple[str, Any, list[Any], list[int], int]] = []
    for name, value in names.items():
        if _is_tensor(value):
            plain.append((name, len(tensors)))
            tensors.append(value)
            fixed[name] = None
            continue
        leaves = nest.flatten(value, expand_composites=True)
        places = [i for i, leaf in enumerate(leaves) if _is_tensor(leaf)]
        fixed[name] = structure = nest.pack_sequence_as(value, leaves, expand_composites=True)
        if places:
            nested.append((name, structure, leaves, places, len(tensors)))
            tensors += [leaves[i] for i in places]

    def filled(values: Any) -> dict[str, Any]:
        new = dict(fixed)
        for name, place in plain:
            new[name] = values[place]
        for name, structure, leaves, places, start in nested:
            inner = list(leaves)
            for place, value in zip(places, values[start : start + len(places)], strict=True):
                inner[place] = value
            new[name] = nest.pack_sequence_as(structure, inner, expand_composites=True)
        return new

    return tensors, filled
