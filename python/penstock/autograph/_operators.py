"""What converted code calls. Each decides, when it runs, between Python and the graph."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.arithmetic import equal
from penstock.autograph import _iteration
from penstock.autograph._branch import attempt, branch, is_symbolic, raised, select, truth
from penstock.autograph._breakpoint import at_line
from penstock.autograph._calls import callee as c, iterable_callee as ci
from penstock.autograph._comprehension import generator, list_comp
from penstock.autograph._items import is_array, item, put
from penstock.autograph._lists import TensorList
from penstock.autograph._loop import Options, graph_loop
from penstock.autograph._slots import (
    Attributes,
    Entries,
    slots_of,
    touch as touched,
    touch_container,
    tracing,
)
from penstock.autograph._state import State
from penstock.autograph._values import tensor_like
from penstock.errors import OperatorNotAllowedInGraphError

__all__ = [
    "and_",
    "and_both",
    "assert_",
    "at_line",
    "attempt",
    "c",
    "chain",
    "changing",
    "ci",
    "elements",
    "for_stmt",
    "generator",
    "if_exp",
    "if_stmt",
    "in_",
    "item",
    "list_comp",
    "matched",
    "not_",
    "or_",
    "or_both",
    "raised",
    "set_item",
    "slice_",
    "touch",
    "unpack",
    "update_item",
    "wanted",
    "while_stmt",
]

_ASSERT = getattr(raw_ops, "assert")


def if_stmt(
    condition: Any,
    entries: Entries,
    body: FunctionType,
    orelse: FunctionType | None = None,
    attributes: Attributes = (),
    names: FunctionType | None = None,
) -> None:
    """`if condition: body() else: orelse()`."""
    condition = _tested(condition)
    if is_symbolic(condition):
        state = State((body, orelse, names), entries, attributes)
        branch(condition, body, orelse, state, _place(body))
    elif condition:
        body()
    elif orelse is not None:
        orelse()


def touch(
    names: FunctionType,
    entries: Entries,
    attributes: Attributes = (),
    containers: Callable[[], tuple[Any, ...]] | None = None,
) -> None:
    """Says what a function is about to change outside of itself, to the statements that are traced."""
    if tracing.states:
        touched(slots_of((names,), entries, attributes))
        if containers is not None:
            for container in containers():
                touch_container(container)


def _tested(value: Any) -> Any:
    """What decides in place of a value: of a list of the graph, whether it has elements."""
    return raw_ops.not_equal(value.size(), 0) if type(value) is TensorList else value


def changing(target: Any, attribute: str | None = None, entry: tuple[Any, ...] | None = None) -> Any:
    """`target`, of which an attribute or, without one, an item is about to be changed."""
    if tracing.states:
        if attribute is None:
            touch_container(target)
        else:
            touched(slots_of((changing,), (), ((lambda: target, attribute, entry or ()),)))
    return target


def _place(body: FunctionType) -> str:
    """Where the statement is that a body belongs to."""
    return f"{body.__code__.co_filename}:{body.__code__.co_firstlineno}"


def while_stmt(
    test: FunctionType,
    body: FunctionType,
    entries: Entries,
    attributes: Attributes = (),
    names: FunctionType | None = None,
    options: Callable[[], dict[str, Any]] | None = None,
    once: bool = False,
    endless: bool = False,
    broken: bool = False,
) -> None:
    """`while test(): body()`. Where the test becomes symbolic, what is left is a loop of the graph.

    What follows a loop is reached only if it was `broken` out of, where that is so.

    A test is evaluated again at the head of that loop; one that has effects, `once` before it
    and once at the end of each iteration, as often as Python would. An `endless` loop is one of the graph too
    where only an exception that the graph raises ends it.
    """
    value = _tested(test())
    while not is_symbolic(value):
        if not value:
            return
        raises = tracing.raises
        body()
        value = _tested(test())
        if endless and tracing.raises != raises:
            value = _core._to_tensor(True)
    state = State((body, test, names), entries, attributes)
    where = _place(body)
    value = truth(value)
    runs = None if broken else value
    chosen = Options(**options()) if options is not None else Options()
    if once:

        def step_and_test(_: list[Any]) -> list[Any]:
            body()
            return [_bool(_tested(test()))]

        graph_loop(state, [value], lambda hidden: hidden[0], step_and_test, runs, where, chosen)
        return

    def step(_: list[Any]) -> list[Any]:
        body()
        return []

    graph_loop(state, [], lambda _: _tested(test()), step, runs, where, chosen)


def for_stmt(
    iterable: Any,
    body: FunctionType,
    entries: Entries,
    go_on: Callable[[], Any] | None = None,
    attributes: Attributes = (),
    names: FunctionType | None = None,
    options: Callable[[], dict[str, Any]] | None = None,
    broken: bool = False,
) -> None:
    """`for item in iterable: body(item)`, as long as `go_on()`. For `broken` see `while_stmt`."""
    iterable = _iteration.whole(iterable)
    steps = _iteration.steps_of(iterable)
    if steps is None:
        _python_for(iterable, body, entries, go_on, attributes, names)
        return
    where = _place(body)
    course = _iteration.Course(steps)
    chosen = Options(**options()) if options is not None else Options()
    chosen = chosen._replace(widens=not course.is_counted)

    def test(hidden: list[Any]) -> Any:
        wanted = None if go_on is None else go_on()
        more = course.more(hidden)
        return raw_ops.logical_and(more, truth(wanted)) if is_symbolic(wanted) else more

    def step(hidden: list[Any]) -> list[Any]:
        body(course.item(hidden))
        # Whether there is another item is not asked after a break, or behind the last iteration.
        wanted = None if go_on is None else _bool(go_on())
        if chosen.maximum_iterations is not None:
            limit = raw_ops.cast(_core._to_tensor(chosen.maximum_iterations), dtype=hidden[0].dtype)
            below = raw_ops.less(raw_ops.add(hidden[0], _core._to_tensor(1, limit.dtype)), limit)
            wanted = below if wanted is None else raw_ops.logical_and(wanted, below)
        return course.following(hidden, wanted)

    state = State((body, names), entries, attributes)
    runs = None if broken else course.more(course.start)
    graph_loop(state, course.start, test, step, runs, where, chosen)


def _bool(value: Any) -> Any:
    """The truth of a value, as a tensor."""
    return truth(value) if is_symbolic(value) else _core._to_tensor(bool(value))


def _python_for(
    iterable: Iterable[Any],
    body: FunctionType,
    entries: Entries,
    go_on: Callable[[], Any] | None,
    attributes: Attributes,
    names: FunctionType | None,
) -> None:
    if go_on is None:
        for item in iterable:
            body(item)
        return
    for item in iterable:
        wanted = go_on()
        if is_symbolic(wanted):
            # A break that depends on a tensor: what is left of the unrolled loop is conditional.
            def step(item: Any = item) -> None:
                body(item)

            state = State((body, names), entries, attributes)
            branch(wanted, step, None, state, _place(body))
            continue
        body(item)
        wanted = go_on()
        if not is_symbolic(wanted) and not wanted:
            return


def if_exp(condition: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`body() if condition else orelse()`."""
    condition = _tested(condition)
    if is_symbolic(condition):
        return select(condition, body, orelse, "the conditional expression")
    return body() if condition else orelse()


def and_(first: Any, second: Callable[[], Any]) -> Any:
    """`first and second()`: the second operand is computed only if the first is true."""
    first = _tested(first)
    return _either(first, second, False) if is_symbolic(first) else first and second()


def or_(first: Any, second: Callable[[], Any]) -> Any:
    """`first or second()`: the second operand is computed only if the first is false."""
    first = _tested(first)
    return _either(first, second, True) if is_symbolic(first) else first or second()


def and_both(first: Any, second: Callable[[], Any]) -> Any:
    """`first and second()`, where computing the second operand is harmless and cheap."""
    first = _tested(first)
    return _both(first, second(), False) if is_symbolic(first) else first and second()


def or_both(first: Any, second: Callable[[], Any]) -> Any:
    """`first or second()`, where computing the second operand is harmless and cheap."""
    first = _tested(first)
    return _both(first, second(), True) if is_symbolic(first) else first or second()


def _either(first: Any, second: Callable[[], Any], ends: bool) -> Any:
    """`or`, which a truth `ends`, or `and`, which a falsehood does: the second operand may not run."""
    truth_of_first = truth(first)
    same = False

    def other() -> Any:
        nonlocal same
        found = _tested(second())
        value = _like(first, found)
        same = value is not None
        return value if same else _bool(found)

    def this() -> Any:
        # The other comes before it.
        return first if same else _core._to_tensor(ends)

    goes_on = raw_ops.logical_not(truth_of_first) if ends else truth_of_first
    return select(goes_on, other, this, "the 'or'" if ends else "the 'and'")


def _both(first: Any, second: Any, ends: bool) -> Any:
    second = _tested(second)
    value = _like(first, second)
    if value is None:
        return (raw_ops.logical_or if ends else raw_ops.logical_and)(truth(first), _bool(second))
    return raw_ops.select(truth(first), *((first, value) if ends else (value, first)))


def _like(first: Any, second: Any) -> Any:
    """The second operand as a scalar of the dtype of the first; None where it cannot be, or that is bool."""
    if first.dtype == _core.bool or first.shape.rank not in (0, None) or not tensor_like(second):
        return None
    with contextlib.suppress(TypeError, ValueError):
        value = _core._to_tensor_hinted(second, first.dtype)
        if value.dtype == first.dtype and value.shape.rank in (0, None):
            return value
    return None


def not_(value: Any) -> Any:
    """`not value`."""
    value = _tested(value)
    if is_symbolic(value):
        return raw_ops.logical_not(truth(value))
    return not value


def in_(value: Any, container: Any) -> Any:
    """`value in container`."""
    container = container.stack() if isinstance(container, TensorList) else container
    if is_symbolic(value) and is_array(container):
        container = _core._to_tensor(container)
    if is_symbolic(container):
        return raw_ops.reduce_any(equal(container, value))
    if not isinstance(container, list | tuple | dict | set | frozenset | range):
        return value in container
    if not is_symbolic(value) and not any(map(is_symbolic, container)):
        return value in container
    if isinstance(container, range):
        first, last = sorted((container[0], container[-1])) if container else (1, 0)
        inside = raw_ops.logical_and(value >= first, value <= last)
        steps = (value - first) % abs(container.step)
        return raw_ops.logical_and(inside, equal(steps, 0))
    if container and all(isinstance(x, bool | int | float | str | bytes) for x in container):
        among = _core._to_tensor_hinted(list(container), value.dtype)
        return raw_ops.reduce_any(equal(value, among))
    result: Any = False
    for element in container:
        if tensor_like(element):
            result = or_both(result, functools.partial(operator.eq, value, element))
    return result


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": in_,
    "NotIn": lambda a, b: not_(in_(a, b)),
}


def chain(first: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
    """`first < a() < b()`: each operand is computed once, and only if the comparisons before it hold."""
    name, operand = rest[0]
    second = operand()
    result = _COMPARE[name](first, second)
    if len(rest) == 1:
        return result
    return and_(result, lambda: chain(second, *rest[1:]))


def assert_(condition: Any, message: Callable[[], Any] | None) -> Any:
    """The condition of an `assert`; of a symbolic one the graph takes care."""
    condition = _tested(condition)
    if is_symbolic(condition):
        said = "assertion failed" if message is None else message()
        items = said if isinstance(said, list | tuple) else (said,)
        if any(map(is_symbolic, items)):
            _ASSERT(truth(condition), *(item if is_symbolic(item) else str(item) for item in items))
        else:
            _ASSERT(truth(condition), message=str(said))
        return True
    return condition


def elements(iterable: Any, what: str = "iterating here") -> Any:
    """What Python iterates over: a symbolic tensor's elements, if their number is known."""
    return _iteration.unrolled(iterable, what)


def wanted(test: Any, what: str) -> Any:
    """The test of a comprehension that Python runs.

    Raises:
        OperatorNotAllowedInGraphError: where a tensor decides it.
    """
    if is_symbolic(test):
        raise OperatorNotAllowedInGraphError(
            f"a symbolic tensor cannot decide what is in {what.rstrip(',')}: use a for loop and append"
        )
    return test


def matched(subject: Any, pattern: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Whether a subject is as a pattern of `match` says, which tensors may decide, and what that binds."""
    bound: list[Any] = []
    return _matches(subject, pattern, bound), tuple(bound)


def _matches(subject: Any, pattern: tuple[Any, ...], bound: list[Any]) -> Any:
    kind, *parts = pattern
    if kind == "value":
        return subject == parts[0]
    if kind == "singleton":
        return subject is parts[0]
    if kind == "or":
        result: Any = False
        for part in parts[0]:
            result = or_both(result, functools.partial(_matches, subject, part, bound))
        return result
    if kind == "as":
        result = True if parts[0] is None else _matches(subject, parts[0], bound)
        if parts[1]:
            bound.append(subject)
        return result
    if kind == "mapping":
        keys, patterns = parts
        if not isinstance(subject, Mapping) or not all(key in subject for key in keys):
            return False
        return _all_match([subject[key] for key in keys], patterns, bound)
    (patterns,) = parts
    if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
        return False
    star = next((i for i, p in enumerate(patterns) if p[0] == "star"), None)
    if star is None:
        return len(subject) == len(patterns) and _all_match(subject, patterns, bound)
    behind = len(patterns) - star - 1
    if len(subject) < star + behind:
        return False
    stop = len(subject) - behind
    middle = list(subject[star:stop])
    patterns = (*patterns[:star], ("as", None, patterns[star][1]), *patterns[star + 1 :])
    return _all_match([*subject[:star], middle, *subject[stop:]], patterns, bound)


def _all_match(values: Iterable[Any], patterns: Iterable[tuple[Any, ...]], bound: list[Any]) -> Any:
    result: Any = True
    for value, pattern in zip(values, patterns, strict=True):
        found = _matches(value, pattern, bound)
        if not is_symbolic(found):
            if not found:
                return False
        else:
            result = found if result is True else raw_ops.logical_and(truth(result), truth(found))
    return result


def unpack(value: Any, targets: Any) -> Any:
    """What is assigned to a tuple of targets: a symbolic tensor's elements, as many as there are targets.

    `targets` is a tuple with a tuple for each nested one, and None for the others.
    """
    if is_symbolic(value):
        value = _iteration.unstacked(value, len(targets))
    if isinstance(value, tuple | list) and len(value) == len(targets) and any(t is not None for t in targets):
        return tuple(v if t is None else unpack(v, t) for v, t in zip(value, targets, strict=True))
    return value


def set_item(value: Any, target: Any, index: Any, *within: Any) -> Any:
    """`target[index] = value`, or an item `within` that item, for a local `target`: what it is then."""
    if within:
        held = item(target, index)
        new = set_item(value, held, *within)
        # A tensor has no items to assign: another takes its place.
        return target if new is held else set_item(new, target, index)
    if isinstance(target, _core.Tensor) and (target._is_symbolic or _core._is_tracing()):
        return _iteration.updated(target, index, value)
    touch_container(target)
    if type(target) is list and is_symbolic(index):
        put(target, index, value)
    else:
        target[index] = value
    return target


def update_item(symbol: str, value: Callable[[], Any], target: Any, *indices: Any) -> Any:
    """`target[index] += value()` and the like, for a local `target`, which becomes the result."""
    new = getattr(operator, symbol)(functools.reduce(item, indices, target), value())
    return set_item(new, target, *indices)


options = dict
slice_ = slice
