"""Events of lines: calls in converted code that tell a debugger of each line that the graph comes to."""

from __future__ import annotations

import ast
from typing import Any

from penstock.autograph._nodes import operation
from penstock.autograph._tree import DEFINITIONS, LOOPS, TRIES, made, own_nodes, places, point

__all__ = ["END", "HEAD", "LINE", "STOPS", "Event", "add_events"]

# What is told: that a statement comes next, that an iteration begins, that a block has ended.
LINE, HEAD, END = "line", "head", "end"
# The functions that stop a debugger.
STOPS = frozenset({"breakpoint", "set_trace"})
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await)


class Event(ast.Expr):
    """A statement that tells of an event. It reads and assigns nothing."""


def add_events(node: ast.FunctionDef) -> None:
    """Has a function tell of each of its lines, but for a generator; functions within it too."""
    if not any(isinstance(n, _SUSPENDING) for n in own_nodes(node.body)):
        node.body = _block(node.body)


def _block(statements: list[ast.stmt], ends: bool = False) -> list[ast.stmt]:
    """The statements, each behind the event of its line; with that of the end where it is asked for."""
    out: list[ast.stmt] = []
    for s in statements:
        if not _is_silent(s):
            out.append(_event(LINE, s.lineno, s.col_offset))
        _within(s)
        out.append(s)
    last = statements[-1]
    if ends and not isinstance(last, _LEAVING):
        out.append(_event(END, last.end_lineno or last.lineno, last.col_offset))
    return out


def _within(s: Any) -> None:
    """Adds the events of the statements in a statement."""
    if isinstance(s, ast.FunctionDef):
        add_events(s)
    elif isinstance(s, LOOPS):
        s.body = [_event(HEAD, s.lineno, s.col_offset), *_block(s.body, ends=True)]
        s.orelse = _block(s.orelse, ends=True) if s.orelse else []
    elif isinstance(s, ast.If):
        s.body = _block(s.body, ends=True)
        s.orelse = _block(s.orelse, ends=True) if s.orelse else []
    elif isinstance(s, ast.With):
        s.body = _block(s.body)
    elif isinstance(s, TRIES):
        for part in (s, *s.handlers):
            part.body = _block(part.body)
        s.orelse = _block(s.orelse) if s.orelse else []
        s.finalbody = _block(s.finalbody) if s.finalbody else []
    elif isinstance(s, ast.Match):
        for case in s.cases:
            case.body = _block(case.body, ends=True)


def _is_silent(s: ast.stmt) -> bool:
    """Whether no debugger stops at a statement: it does nothing, or stops by itself."""
    if isinstance(s, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(s, DEFINITIONS) or not isinstance(s, ast.Expr):
        return False
    if isinstance(s.value, ast.Constant):
        return True
    callee = s.value.func if isinstance(s.value, ast.Call) else None
    name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", None)
    return name in STOPS


def _event(kind: str, line: int, column: int) -> ast.stmt:
    where = point(line, column)
    return made(Event, {"value": operation("at_line", where, ast.Constant(kind)), **places(where)[0]})
