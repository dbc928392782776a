"""Comprehensions: those over tensors of unknown length become loops of the graph, which make lists of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.autograph import _iteration
from penstock.autograph._branch import branch, is_symbolic
from penstock.autograph._loop import Options, graph_loop
from penstock.autograph._slots import Entry, Held
from penstock.autograph._state import State

__all__ = ["generator", "list_comp"]


def list_comp(
    iterable: Any, value: Callable[[Any], Any], keep: Callable[[Any], Any] | None = None, nested: bool = False
) -> Any:
    """`[value(item) for item in iterable if keep(item)]`: a list, or one of the graph.

    Args:
        iterable: what is iterated over.
        value: an element, or, where the comprehension is `nested`, the elements that an item gives.
        keep: whether an item counts; None where every item does.
        nested: whether there are further `for` parts.
    """
    code = value.__code__
    line = code.co_firstlineno
    made = Held(Entry("the comprehension", line, line, True, True), [])
    where = f"{code.co_filename}:{line}"

    def append(element: Any) -> None:
        made.value.append(element)

    def add(item: Any) -> None:
        if nested:
            _each(value(item), append, made, where, value)
        else:
            append(value(item))

    def take(item: Any) -> None:
        wanted = True if keep is None else keep(item)
        if is_symbolic(wanted):
            branch(wanted, lambda: add(item), None, State.of([made]), where)
        elif wanted:
            add(item)

    _each(iterable, take, made, where, value)
    return made.value


def _each(
    iterable: Any, take: Callable[[Any], None], made: Held, where: str, key: Callable[[Any], Any]
) -> None:
    """Calls `take` on each item, in a loop of the graph where their number is unknown."""
    iterable = _iteration.whole(iterable)
    steps = _iteration.steps_of(iterable)
    if steps is None or _iteration.has_known_length(steps):
        for item in _iteration.unrolled(iterable):
            take(item)
        return
    course = _iteration.Course(steps)

    def step(hidden: list[Any]) -> list[Any]:
        take(course.item(hidden))
        return course.following(hidden, None)

    runs = course.more(course.start)
    graph_loop(State.of([made]), course.start, course.more, step, runs, where, Options())


def generator(
    iterable: Any,
    plain: Callable[[Iterable[Any]], Any],
    value: Callable[[Any], Any],
    keep: Callable[[Any], Any] | None = None,
) -> Any:
    """`(value(item) for item in iterable if keep(item))`: `plain(iterable)`, which is Python's generator.

    Where the number of items is unknown, or tensors may decide which of them count, what takes all of them
    at once takes a list of the graph (`whole`).
    """
    iterable = _iteration.whole(iterable)
    steps = _iteration.steps_of(iterable)
    if steps is not None:
        many = keep is not None or not _iteration.has_known_length(steps)
    else:
        many = keep is not None and isinstance(iterable, list | tuple) and any(map(is_symbolic, iterable))
    made = plain(_each_of(iterable) if many else _iteration.unrolled(iterable))
    if many:
        _iteration.wholes[made] = lambda: list_comp(iterable, value, keep)
    return made


def _each_of(iterable: Any) -> Iterator[Any]:
    yield from _iteration.unrolled(iterable, "a generator expression")
