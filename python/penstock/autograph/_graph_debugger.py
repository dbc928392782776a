"""A debugger that goes through the lines of traced functions while their graphs run.

A graph tells of each line (`_breakpoint.py`), and of the beginnings and ends of functions. From these comes a
stack of functions with their variables. Where the program is to stop, frames are made of it, and Python's
debugger shows them.
"""

from __future__ import annotations

import bdb
import contextlib
import functools
import pdb
import re
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import IO, TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.debug_switches import session
from penstock.autograph import _convert
from penstock.autograph._breakpoint import BREAK, ENTER, EXIT, START, Call
from penstock.autograph._line_events import END, HEAD
from penstock.errors import FailedPreconditionError

__all__ = ["GraphDebugger", "debuggers"]

_NEXT = "__next_frame__"
_RUNS_CELLS = "IPython.core.interactiveshell"
# The files whose frames are the debugger's own.
_HIDDEN = frozenset({bdb.__file__, pdb.__file__, runpy.__file__, "<frozen runpy>"})


class _Activation:
    """A function of the program that the graph is in: its line, and the variables that it has had."""

    def __init__(self, call: Call, line: int) -> None:
        self.call = call
        self.line = line
        self.names: dict[str, Any] = {}


if TYPE_CHECKING:
    _Pdb = pdb.Pdb
else:
    # In notebooks IPython has put a class of its own in the place of Python's.
    _Pdb = next(cls for cls in pdb.Pdb.__mro__ if cls.__module__ == "pdb")


class GraphDebugger(_Pdb):
    """Python's debugger, with stops in graphs.

    Attributes:
        is_starved: whether commands have run out, without a terminal.
    """

    def __init__(self, stdin: IO[str] | None = None, stdout: IO[str] | None = None) -> None:
        skipped = ["penstock", "penstock.*", "runpy", "importlib.*", "contextlib"]
        super().__init__(stdin=stdin, stdout=stdout, skip=skipped, nosigint=True)
        self.reset()
        self._terminal = stdin is None
        self._thread = threading.get_ident()
        self._activations: list[_Activation] = []
        # What was told last, to tell the first iteration of a loop from later ones.
        self._last: tuple[_Activation, str, int] | None = None
        # Where the graph stops next: a command and what it is about; nowhere but at breakpoints where None.
        self._goal: tuple[str, _Activation | None, int] | None = None
        # The activations that are shown, by the identities of their frames, while commands are read.
        self._shown: dict[int, _Activation] = {}
        # Whether no stop has been made yet; and whether commands have run out, without a terminal.
        self._begins = False
        self.is_starved: bool = False

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """A time in which calls of traced functions go through this debugger."""
        if session.hook is not None:
            raise FailedPreconditionError("a debugger runs, or debug information is written: end that first")
        self._thread, self._goal, self._begins = threading.get_ident(), ("step", None, 0), True
        self._activations.clear()
        eagerly = _core._functions_run_eagerly()
        before = debuggers.current
        debuggers.current = self
        if not eagerly:
            session.hook = self._called
            _core._run_functions_eagerly(True)
        try:
            yield
        finally:
            debuggers.current = before
            if not eagerly:
                session.hook = None
                _core._run_functions_eagerly(False)
            self._goal = None
            self._activations.clear()

    def _called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a traced function whose graph tells of its lines."""
        if threading.get_ident() != self._thread:
            return function._call_itself(args, kwargs)
        depth = len(self._activations)
        try:
            return function._call_twin("stepped", args, kwargs)
        except bdb.BdbQuit:
            raise
        except Exception as error:
            if len(self._activations) > depth and self._goal is not None:
                tracer = sys.gettrace()
                sys.settrace(None)
                self._stop(functools.partial(self._stopped_by, error))
                sys.settrace(tracer)
            raise
        finally:
            del self._activations[depth:]

    # --- what the graph tells ---

    def told(self, kind: str, call: Call, line: int, names: dict[str, Any], header: str | None) -> None:
        """The graph has come to a line, or to the beginning or the end of a function.

        Args:
            kind: which of them.
            call: the function that it is in.
            line: the line.
            names: variables and their values.
            header: what is to be said where it stops.
        """
        if kind == BREAK:
            self._thread, self.quitting = threading.get_ident(), False
        if threading.get_ident() != self._thread:
            return
        if kind == START:
            self._start()
            return
        # Frames that are made here are none that Python runs.
        tracer = sys.gettrace()
        if self._goal is None and self._steps_in_python():
            self._goal = "step", None, 0
        sys.settrace(None)
        try:
            self._take(kind, call, line, names, header)
        finally:
            if not self.quitting and sys.gettrace() is None:
                sys.settrace(tracer)

    def _start(self) -> None:
        """Forgets what an error has left, where a graph that has breakpoints begins to run by itself."""
        if session.hook is None:
            self._activations.clear()
            if getattr(sys.gettrace(), "__self__", None) is not self:
                self._goal = None

    def _steps_in_python(self) -> bool:
        """Whether Python's code is stepped through, so that what it calls or returns to is as well."""
        mine = getattr(sys.gettrace(), "__self__", None) is self
        return mine and self.stopframe is None and self.stoplineno != -1

    def _take(self, kind: str, call: Call, line: int, names: dict[str, Any], header: str | None) -> None:
        """What `told` is told, while Python tells of nothing."""
        if kind == ENTER:
            self._activations.append(_Activation(call, line))
        here = self._activation(call, line)
        here.names.update(names)
        if kind == ENTER:
            if self._wants(here, "step") and not self._begins:
                self._stop(self._called_here)
        elif kind == EXIT:
            self._exit(here)
        elif kind != END:
            here.line = line
            again = kind == HEAD and self._last == (here, "line", line)
            self._last = here, kind, line
            if not again and (kind == BREAK or self._stops_at(here)):
                if header is not None:
                    self.message(header)
                self._stop(self.user_line)

    def _activation(self, call: Call, line: int) -> _Activation:
        """The innermost activation of a function; what an error has left is dropped."""
        for i in range(len(self._activations) - 1, -1, -1):
            if self._activations[i].call is call:
                del self._activations[i + 1 :]
                return self._activations[i]
        self._activations.append(_Activation(call, line))
        return self._activations[-1]

    def _wants(self, here: _Activation, *commands: str) -> bool:
        if self._goal is None or self._goal[0] not in commands:
            return False
        return self._goal[0] == "step" or self._goal[1] is here

    def _stops_at(self, here: _Activation) -> bool:
        """Whether a command, or a breakpoint, wants to stop at the line."""
        if self._wants(here, "step", "next") or (self._wants(here, "until") and here.line >= self._goal[2]):  # type: ignore[index]
            return True
        code, breaks = here.call.code, self.breaks and self.get_file_breaks(here.call.code.co_filename)
        # A breakpoint of a function is one of its first line.
        if not breaks or (here.line not in breaks and code.co_firstlineno not in breaks):
            return False
        held: list[bool] = []
        self._with_frames(lambda frame: held.append(bool(self.break_here(frame))))
        return held == [True]

    def _exit(self, here: _Activation) -> None:
        target = self._goal is not None and self._goal[1] is here
        if self._wants(here, "step", "next", "until", "return") and not self._begins:
            self._stop(lambda frame: self.user_return(frame, here.names.get("__return__")))
            target = target or (self._goal is not None and self._goal[1] is here)
        self._activations.pop()
        if self._goal is not None and (target or not self._activations):
            self._goal = "step", None, 0
            self._leave()

    def _leave(self) -> None:
        """Has Python's code behind the graph stop too, where that is what ended."""
        if self._activations:
            return
        if session.hook is not None:
            super().set_step()
            return
        # The debugger of a `breakpoint()`.
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _convert.is_own(frame.f_code):
            frame = frame.f_back
        self._goal = None
        if frame is not None:
            super().set_trace(frame)

    # --- stopping ---

    def _stop(self, show: Callable[[FrameType], Any]) -> None:
        """Reads commands, with the frames of the activations."""
        self._with_frames(show)
        if self.quitting:
            raise bdb.BdbQuit

    def _with_frames(self, work: Callable[[FrameType], Any]) -> None:
        """Calls `work` with a frame that shows the innermost activation, called by frames of the others."""
        waiting = list(self._activations)
        shown = self._shown
        self._shown = {}

        def enter(names: dict[str, Any] | None) -> None:
            if names is not None:
                del names[_NEXT]
                self._shown[id(sys._getframe(1))] = waiting.pop(0)
            if not waiting:
                work(sys._getframe(1))
                return
            here = waiting[0]
            inner = {**here.names}
            inner[_NEXT] = functools.partial(enter, inner)
            exec(_code(here.call.code, here.line), here.call.space, inner)

        try:
            enter(None)
        finally:
            self._shown = shown

    def _called_here(self, frame: FrameType) -> None:
        self.message("--Call--")
        self.interaction(frame, None)

    def _stopped_by(self, error: Exception, frame: FrameType) -> None:
        self.message(f"{type(error).__name__}: {error}")
        self.interaction(frame, None)

    def get_stack(self, f: Any, t: Any) -> Any:
        """The frames of the program, without those of this package, and the place of the innermost."""
        stack, _ = super().get_stack(f, t)
        kept = [entry for entry in stack if not _is_hidden(entry[0].f_code)] or stack
        # The program of a notebook begins with a cell.
        runs = [i for i, (frame, _) in enumerate(kept) if frame.f_globals.get("__name__") == _RUNS_CELLS]
        kept = kept[runs[-1] + 1 :] if runs and runs[-1] + 1 < len(kept) else kept
        return kept, len(kept) - 1

    def user_call(self, frame: FrameType, argument_list: None) -> None:
        """Stop at the beginning of a function, but for the first one."""
        if not self._begins:
            super().user_call(frame, argument_list)

    def interaction(self, frame: Any, traceback: Any) -> None:
        """Read commands."""
        self._begins = False
        super().interaction(frame, traceback)

    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        """What Python tells of its frames; of those of a trace nothing is wanted, as its graph will run."""
        if _core._is_tracing() or _is_within(frame):
            return None if event == "call" else self.trace_dispatch
        return super().trace_dispatch(frame, event, arg)

    # --- commands ---

    def _go(self, command: str, frame: Any, line: int = 0) -> bool:
        """Whether a command is about the graph, which then runs to where it says."""
        here = self._shown.get(id(frame))
        if here is None and not (self._shown and command in ("step", "continue")):
            self._goal = ("step", None, 0) if command == "step" else None
            return False
        if here is not None and command == "next" and self._last is not None and self._last[1] == EXIT:
            command, here = "step", None
        self._goal = None if command == "continue" else (command, here, line)
        # Python's frames do not stop meanwhile, but for those that a step comes to.
        self._set_stopinfo(*((None, None, 0) if command == "step" else (self.botframe, None, -1)))  # type: ignore[attr-defined]
        return True

    def set_step(self) -> None:
        """Stop at the next line of the program or of the graph."""
        if not self._go("step", None):
            super().set_step()

    def set_next(self, frame: FrameType) -> None:
        """Stop at the next line of a frame, or when it has returned."""
        if not self._go("next", frame):
            super().set_next(frame)

    def set_until(self, frame: FrameType, lineno: int | None = None) -> None:
        """Stop at a line of a frame behind this one, or at a given one, or when it returns."""
        here = self._shown.get(id(frame))
        beyond = 0 if here is None else here.line + 1
        if not self._go("until", frame, beyond if lineno is None else lineno):
            super().set_until(frame, lineno)

    def set_return(self, frame: FrameType) -> None:
        """Stop when a frame returns."""
        if not self._go("return", frame):
            super().set_return(frame)

    def set_continue(self) -> None:
        """Stop at breakpoints only."""
        if not self._go("continue", None):
            super().set_continue()

    def do_break(self, arg: str, temporary: Any = False) -> bool | None:
        """Set a breakpoint, as `pdb` does; `if` may stand before its condition."""
        arg = arg if "," in arg else re.sub(r"\s+if\s+", ", ", arg, count=1)
        name, comma, condition = arg.partition(",")
        if name.strip().replace(".", "").isidentifier():
            with contextlib.suppress(Exception):
                function = self._getval_except(name)
                function = getattr(function, "python_function", None)
                name = _first_line(function.__code__)  # type: ignore[union-attr]
        return super().do_break(name + comma + condition, temporary)

    do_b = do_break

    def do_tbreak(self, arg: str) -> bool | None:
        """Set a breakpoint that is taken away when it is reached."""
        return self.do_break(arg, True)

    def do_args(self, arg: str) -> bool | None:
        """Print the arguments of the function."""
        here = self._shown.get(id(self.curframe))
        if here is None:
            return super().do_args(arg)
        code = here.call.code
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
        for name in code.co_varnames[:count]:
            self.message(f"{name} = {here.names.get(name, '*** undefined ***')!r}")
        return None

    do_a = do_args

    def do_EOF(self, arg: str) -> bool | None:
        """End, where there are no commands left.

        Raises:
            FailedPreconditionError: where there is no terminal that could give some.
        """
        if self._terminal and not (sys.stdin is not None and sys.stdin.isatty()):
            self.is_starved = True
            raise FailedPreconditionError(
                "the debugger has no commands to read: there is no terminal. Give it some by "
                "tf.debugging.experimental.Debugger(stdin=...), or set PYTHONBREAKPOINT=0 to pass breakpoints"
            )
        return super().do_EOF(arg)


def _is_hidden(code: CodeType) -> bool:
    """Whether the code is this package's, or of the debugger itself."""
    return _convert.is_own(code) or code.co_filename in _HIDDEN


def _is_library(code: CodeType) -> bool:
    file = code.co_filename
    return file == "<string>" or (_convert.is_library(file) and not _convert.is_own(code))


def _is_within(frame: FrameType | None) -> bool:
    """Whether a frame is of a library that works for this package."""
    inner = frame
    while frame is not None and _is_library(frame.f_code):
        frame = frame.f_back
    return frame is not inner and frame is not None and _convert.is_own(frame.f_code)


def _first_line(code: CodeType) -> str:
    """Where the first statement of a function is."""
    lines = (line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno)
    return f"{code.co_filename}:{next(lines, code.co_firstlineno)}"


@functools.lru_cache(maxsize=1000)
def _code(of: CodeType, line: int) -> CodeType:
    """What has a frame that shows a line of a function."""
    first = min(of.co_firstlineno, line)
    code = compile("\n" * (line - first) + f"{_NEXT}()", of.co_filename, "exec")
    return code.replace(co_name=of.co_name, co_qualname=of.co_qualname, co_firstlineno=first)


class _Debuggers:
    """The debugger that graphs tell."""

    current: GraphDebugger | None = None


debuggers = _Debuggers()
