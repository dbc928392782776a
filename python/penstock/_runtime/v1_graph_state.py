"""Which graph of TensorFlow 1 the thread is inside of, if any."""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from typing import Any

from penstock import _core

# Open graphs by the ids of their traces.
graphs: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

# The collections of a graph that variables are added to when they are made.
variable_collections: ContextVar[tuple[str, ...]] = ContextVar("variable_collections", default=("variables",))


def current() -> Any:
    """The open graph that operations are added to; None where there is none, and in traced functions."""
    if not graphs:
        return None
    trace = _core._current_trace()
    return None if trace is None else graphs.get(trace)


def operation(start: int | None) -> Any:
    """What was added to the open graph since it had `start` instructions; None where there is none."""
    graph = current()
    return None if graph is None or start is None else graph.operation_since(start)


def mark() -> int | None:
    """The number of instructions of the open graph, for `operation`."""
    graph = current()
    return None if graph is None else len(graph.engine)


def is_operation(value: Any) -> bool:
    """Whether a value is an operation of a graph: it runs, and has no value of its own."""
    return hasattr(value, "node_def") and hasattr(value, "outputs")


def session(given: Any) -> Any:
    """The session given, or the one that is open."""
    from penstock.compat.v1._session import session_for  # loaded when it is used

    return session_for(given)
