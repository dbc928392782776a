"""`if` on tensors: both branches are traced, and each variable gets the value of the one that runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from penstock import _core, raw_ops
from penstock._types import composite
from penstock._types.specs import TensorSpec
from penstock.autograph._jumps import RESULT
from penstock.autograph._lists import TensorList, grown
from penstock.autograph._reach import Reach
from penstock.autograph._slots import Contents, Entry, Held, Note, tracing
from penstock.autograph._state import State
from penstock.autograph._values import (
    UNDEFINED,
    check_alike,
    describe,
    flatten,
    is_stale,
    label,
    leaves_of,
    list_label,
    pack,
    same,
    spec_of,
    zeros,
)
from penstock.errors import OperatorNotAllowedInGraphError

__all__ = [
    "Growth",
    "attempt",
    "branch",
    "check_lists",
    "is_symbolic",
    "kept_growth",
    "make_list",
    "raised",
    "select",
    "traced_region",
    "truth",
]

_RAISED = "_penstock_raised"


def is_symbolic(value: Any) -> bool:
    """Whether the value is known only when the graph runs."""
    if isinstance(value, _core.Tensor):
        return value._is_symbolic
    return isinstance(value, _core._Variable) and _core._is_tracing()


def truth(value: Any) -> Any:
    """The truth of a symbolic value of one element as a bool scalar.

    Raises:
        OperatorNotAllowedInGraphError: where it is known to have more than one, or none. Where that is not
            known, the graph fails when it runs.
    """
    if isinstance(value, _core._Variable):
        value = value.read_value()
    if value.shape.rank != 0:
        if value.shape.num_elements() not in (1, None):
            raise OperatorNotAllowedInGraphError(
                f"the truth of a tensor with more than one element is ambiguous, got shape {value.shape}: "
                "use tf.reduce_any or tf.reduce_all"
            )
        value = raw_ops.reshape(value, [])
    if value.dtype == _core.bool:
        return value
    if value.dtype == _core.string:
        return raw_ops.string_not_equal(value, "")
    return raw_ops.not_equal(value, _core._to_tensor(0, value.dtype))


def raised(error: Any) -> Any:
    """The exception of a `raise` statement. In a branch of a graph, it is raised when the branch runs."""
    if tracing.depth and (
        isinstance(error, Exception) or (isinstance(error, type) and issubclass(error, Exception))
    ):
        if isinstance(error, type):
            error = error()
        # Where it cannot be marked, it is raised at once.
        with contextlib.suppress(AttributeError):
            setattr(error, _RAISED, True)
    return error


@contextlib.contextmanager
def attempt(handlers: Callable[[], tuple[tuple[int, Any], ...]]) -> Iterator[None]:
    """The body of a `try` whose handlers have these lines and classes of exceptions, None for all."""
    tracing.attempts.append(handlers)
    try:
        yield
    finally:
        tracing.attempts.pop()


def _handler(error: Exception) -> str | None:
    """The place of the `except` that would catch an error if Python raised it."""
    for handlers in reversed(tracing.attempts):
        for line, handled in handlers():
            if handled is None or isinstance(error, handled):
                return f"{handlers.__code__.co_filename}:{line}"
    return None


class _Branch(NamedTuple):
    """A traced branch."""

    region: Any
    # What the state holds at its end; None where it always raises.
    values: list[Any] | None
    # For each leaf that it returns: `(slot, leaf)`, in order, and its type.
    keys: dict[tuple[int, int], int]
    specs: list[TensorSpec]
    stopped: BaseException | None
    # The lists of called functions that change their length.
    grows: list[Growth]
    # The variables of called functions in which a statement within left tensors behind.
    left: set[int]


def traced_region(state: State, body: Callable[[], Any]) -> BaseException | None:
    """Runs a body in the region that is open. The exception that always ends it, or None.

    That is one of a `raise` statement, which the graph raises then, or a call of a function by itself that it
    is not known yet how to go on from.
    """
    tracing.depth += 1
    tracing.states.append(state)
    try:
        body()
    except _core._Recursion as error:
        return error
    except Exception as error:
        if not getattr(error, _RAISED, False):
            raise
        _raise_later(error)
        return error
    finally:
        tracing.depth -= 1
        tracing.states.pop()
    return None


def _raise_later(error: Exception) -> None:
    # Each run raises it anew, from the line that raised it while tracing.
    delattr(error, _RAISED)
    tracing.raises += 1
    where = _handler(error)
    if where is not None:
        error.add_note(
            f"The 'except' at {where} does not catch it: a tensor decides whether it is raised, when the "
            "graph runs. Set a variable in the branch instead, and let an 'if' look at it"
        )
    traceback = error.__traceback__

    def throw() -> list[Any]:
        raise error.with_traceback(traceback)

    throw.__name__ = "raise"
    raw_ops.host_call([], func=throw, outs=[], stateful=True)


def _trace(state: State, body: Callable[[], Any]) -> _Branch | Growth:
    """Traces a branch, unless a list of its own must be one of the graph first."""
    _core._begin_region([])
    try:
        stopped = traced_region(state, body)
        keys: dict[tuple[int, int], int] = {}
        results: list[Any] = []
        values = state.read() if stopped is None else None
        own, grows = (None, []) if values is None else check_lists(state, values)
        if own is not None:
            _core._abandon_region()
            state.restore()
            return own
        others = range(state.own, len(values or ()))
        left = {i for i in others if values is not None and is_stale(values[i])}
        for i, (slot, value) in enumerate(zip(state.slots, values or (), strict=False)):
            if not slot.entry.live or (i >= state.own and state.is_python(i, value, 1)):
                continue
            leaves = leaves_of(value)
            hints = _hints(state.before[i], leaves)
            for k, leaf in enumerate(leaves or ()):
                keys[i, k] = len(results)
                results.append(_core._to_tensor_hinted(leaf, hints[k]))
    except BaseException:
        _core._abandon_region()
        state.restore()
        raise
    region = _core._end_region(results)
    return _Branch(region, values, keys, [spec_of(r) for r in results], stopped, grows, left)


class Growth(NamedTuple):
    """A list changes its length in a statement that is traced: it must be one of the graph from the start.

    Attributes:
        slot: the variable.
        path: the keys that lead to the list in it.
        items: the types of elements.
    """

    slot: int
    path: tuple[Any, ...]
    items: list[TensorSpec]


def check_lists(state: State, values: list[Any]) -> tuple[Growth | None, list[Growth]]:
    """Finds lists that were changed in place and have another length now.

    Returns:
        The first one that is a variable of the statement; and, unless there is one, those that only called
        functions see, which the statement may have made itself.
    """
    others: list[Growth] = []
    for i, (slot, value) in enumerate(zip(state.slots, values, strict=True)):
        frozen = state.frozen[i]
        if not slot.entry.live or type(frozen) not in (list, dict):
            continue
        in_place = isinstance(slot, Contents) or slot.get() is state.before[i] or type(value) is TensorList
        found = _growth(frozen, value) if in_place else None
        if found is None:
            continue
        if i < state.own:
            return Growth(i, *found), []
        # A list that no variable holds is Python's: there is no place for another one.
        known = not isinstance(slot, Contents) or state.holder_of(slot.owner)
        if known and not state.is_python(i, value, 1):
            others.append(Growth(i, *found))
    return None, others


def kept_growth(state: State, grows: list[Growth], reach: Reach) -> Growth | None:
    """The first of the lists that grow which is still there when the bodies of the statement are undone."""
    return next((found for found in grows if not state.is_gone(found.slot, reach)), None)


def _growth(before: Any, value: Any) -> tuple[tuple[Any, ...], list[TensorSpec]] | None:
    """The path to a list that has another length than before, and the types of its elements."""
    if type(before) is list and type(value) is TensorList:
        return (), [TensorSpec(value.element_shape, value.dtype)]
    if type(before) not in (list, dict) or type(value) is not type(before):
        return None
    if type(before) is list and len(value) != len(before):
        items = [*before, *value]
        if leaves_of(items) is None:
            return None
        try:
            # An element that is a list of numbers or tensors is a tensor of them.
            return (), [spec_of(_core._to_tensor(v)) for v in items]
        except (TypeError, ValueError):
            return None
    for key in before if type(before) is dict else range(len(before)):
        if type(value) is list or key in value:
            found = _growth(before[key], value[key])
            if found is not None:
                return (key, *found[0]), found[1]
    return None


def make_list(state: State, grows: Growth, where: str) -> None:
    """Has a variable begin with a list of the graph, or hold one."""
    name = list_label(state.slots[grows.slot].entry.name)
    value = state.before[grows.slot]
    if not grows.path:
        state.replace(grows.slot, grown(value, grows.items, name, where))
        return
    *path, last = grows.path
    for key in path:
        value = value[key]
    value[last] = grown(value[last], grows.items, name, where)
    state.begin()


def _hints(before: Any, leaves: list[Any] | None) -> list[Any]:
    """The dtypes that Python numbers take on: those that the variable had before."""
    if not leaves:
        return []
    old = leaves_of(before)
    if old is None or len(old) != len(leaves):
        return [None] * len(leaves)
    return [getattr(o, "dtype", None) if isinstance(o, _core.Tensor | _core._Variable) else None for o in old]


def _emit(
    state: State,
    selector: Any,
    operator: str,
    branches: Sequence[_Branch],
    needed: dict[tuple[int, int], TensorSpec],
) -> list[Any]:
    regions = [_fitted(b, state, needed) for b in branches]
    return list(_core._emit_regions(operator, [selector], regions) or ())


def _fitted(found: _Branch, state: State, needed: dict[tuple[int, int], TensorSpec]) -> Any:
    """The region of a branch, with the results that are needed."""
    if list(found.keys) == list(needed) and all(
        found.specs[k].dtype == spec.dtype
        for k, spec in zip(found.keys.values(), needed.values(), strict=True)
    ):
        return found.region
    _core._begin_region([])
    try:
        # One branch that is always taken: the region that is there becomes part of a wider one.
        outs = _core._emit_regions("switch", [_core._to_tensor(0)], [found.region]) or ()
        results = []
        for key, spec in needed.items():
            at = found.keys.get(key)
            if at is None:
                before = leaves_of(state.frozen[key[0]])
                known = (
                    found.values is not None and found.values[key[0]] is not UNDEFINED and before is not None
                )
                results.append(
                    _core._to_tensor(before[key[1]], spec.dtype) if known and before else zeros(spec)
                )
            elif found.specs[at].dtype != spec.dtype:
                leaf = (leaves_of((found.values or [])[key[0]]) or [])[key[1]]
                results.append(_core._to_tensor(leaf, spec.dtype))
            else:
                results.append(outs[at])
    except BaseException:
        _core._abandon_region()
        raise
    return _core._end_region(results)


def _spec(found: _Branch, i: int, k: int, leaf: Any) -> TensorSpec:
    """The type of a leaf at the end of a branch; one that it does not return is as it was before."""
    at = found.keys.get((i, k))
    return spec_of(_core._to_tensor(leaf)) if at is None else found.specs[at]


def _merged_dtype(a: Any, b: Any, first: TensorSpec, second: TensorSpec) -> Any:
    """The dtype of a leaf that is `a` in one branch and `b` in the other; None where there is none."""
    if first.dtype == second.dtype:
        return first.dtype
    tensors = [isinstance(x, _core.Tensor | _core._Variable) or hasattr(x, "dtype") for x in (a, b)]
    if all(tensors):
        return None
    if not any(tensors):
        # Two Python numbers: as Python adds them.
        kinds = {type(a), type(b)}
        return (first if isinstance(a, float) else second).dtype if kinds == {int, float} else None
    value, dtype = (a, second.dtype) if tensors[1] else (b, first.dtype)
    try:
        _core._to_tensor(value, dtype)
    except (TypeError, ValueError):
        return None
    return dtype


def branch(
    condition: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any] | None,
    state: State,
    where: str,
    fits: Callable[[], bool] | None = None,
) -> bool:
    """Traces both parts of an `if`, and sets the variables to the values of the one that runs.

    Args:
        condition: a symbolic value.
        body: runs the first part.
        orelse: runs the second part; None where there is none.
        state: the variables.
        where: the place of the statement, for messages.
        fits: whether the first part, which has just run, does what was hoped for.

    Returns:
        True; False where it did not fit, and nothing was done.
    """
    condition = truth(condition)
    try:
        both = _trace_both(state, body, orelse or _nothing, where, fits)
        if both is None:
            return False
        first, second = both
        for part in (first, second):
            if first.values is second.values is None and isinstance(part.stopped, _core._Recursion):
                raise part.stopped
        if first.values is not None:
            # The second branch may have changed more variables.
            first.values.extend(state.frozen[len(first.values) :])
        join = _Join(state, first, second, where)
        # For each variable: its value, or the structure to put results in.
        outcome = [join.outcome(i) for i in range(len(state.slots))]
        outs = _emit(state, condition, "cond", [first, second], join.needed)
    except BaseException:
        state.restore()
        raise
    results = iter(outs)
    for i, found in enumerate(outcome):
        if isinstance(found, _Packed):
            leaves = [next(results) for _ in flatten(found.structure)]
            value = pack(found.structure, leaves)
            state.write(i, value)
        elif isinstance(found, str):
            state.slots[i].clear()
            tracing.notes.append(Note(state.slots[i], found))
        elif found is not _UNCHANGED:
            state.write(i, found.value)
    state.note_left(f"the 'if' at {where}")
    return True


def _nothing() -> None:
    pass


def _trace_both(
    state: State,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    where: str,
    fits: Callable[[], bool] | None,
) -> tuple[_Branch, _Branch] | None:
    """Traces both parts, again where a list must be one of the graph first; None where `fits` says no."""
    while True:
        first = _trace(state, body)
        if isinstance(first, Growth):
            make_list(state, first, where)
            continue
        if fits is not None and not fits():
            state.restore()
            return None
        if state.joined():
            continue
        # What a called function does to Python's objects, the other branch sees.
        state.settle(first.values or ())
        state.restore()
        second = _trace(state, orelse)
        if isinstance(second, Growth):
            state.unsettle()
            state.restore()
            make_list(state, second, where)
            continue
        if state.joined():
            continue
        state.restore()
        grows = kept_growth(state, [*first.grows, *second.grows], Reach())
        if grows is None:
            return first, second
        state.unsettle()
        state.restore()
        make_list(state, grows, where)


class _Packed(NamedTuple):
    structure: Any


class _Known(NamedTuple):
    value: Any


_UNCHANGED = object()


class _Join:
    """What becomes of the variables of two branches, one of which runs."""

    def __init__(self, state: State, first: _Branch, second: _Branch, where: str) -> None:
        self.state, self.first, self.second, self.where = state, first, second, where
        # For each leaf that the branches return, `(slot, leaf)`: its type.
        self.needed: dict[tuple[int, int], TensorSpec] = {}
        self._reach = Reach()

    def outcome(self, i: int) -> Any:
        """A structure for results, a known value, or a message why a variable has none."""
        state, first, second = self.state, self.first, self.second
        entry = state.slots[i].entry
        if not entry.live or state.is_made(i):
            return _UNCHANGED
        if first.values is None or second.values is None:
            # A branch that always raises says nothing about what follows it.
            running = second if first.values is None else first
            if running.values is None:
                return f"{label(entry.name)} has no value: both branches of the 'if' at {self.where} raise"
            a = b = running.values[i]
            if leaves_of(a) is None or not _has_symbolic(a):
                return _known(a, i, state)
        else:
            a, b = first.values[i], second.values[i]
            if a is b or (same(a, b) and not is_stale(a)):
                return _known(a, i, state)
            if i >= state.own or state.has_created():
                changed = [v for v in (b, a) if not same(v, state.frozen[i])]
                if not changed:
                    return _UNCHANGED
                if self._is_pythons(i, a, b, changed):
                    return _known(changed[0], i, state)
        if state.is_gone(i, self._reach):
            return _UNCHANGED
        if a is UNDEFINED or b is UNDEFINED:
            return self._set_in_one(i, a, b)
        return self._packed(i, a, b)

    def _is_pythons(self, i: int, a: Any, b: Any, changed: list[Any]) -> bool:
        """Whether changes are effects on Python's objects, or leave a tensor of a branch behind in one."""
        state = self.state
        if i in self.first.left or i in self.second.left:
            return True
        mixed = i >= state.own and not _can_merge(a, b)
        # A number that the branch alone is to change is no effect on Python's objects.
        if mixed and (any(map(is_stale, changed)) or not state.is_renewed(i)):
            return True
        return all(state.is_python(i, v) for v in changed)

    def _set_in_one(self, i: int, a: Any, b: Any) -> Any:
        """What becomes of a variable that has a value after one of the branches only."""
        found, present = (b, self.second) if a is UNDEFINED else (a, self.first)
        entry = self.state.slots[i].entry
        if entry.name == RESULT:
            # Whether it was set is what the flag beside it says.
            leaves = leaves_of(found)
            if leaves is None:
                return _known(found, i, self.state)
            for k in range(len(leaves)):
                self.needed[i, k] = present.specs[present.keys[i, k]]
            return _Packed(found)
        name = label(entry.name)
        line = entry.first if b is UNDEFINED else entry.second
        missing = "'else' branch does not" if b is UNDEFINED else "'if' branch does not"
        # Where a called function sets it, there is no line of this one to name.
        at = f" (line {line})" if line else ""
        return (
            f"{name} may have no value: the 'if' at {self.where} depends on a tensor, and only one of its "
            f"branches sets {name}{at}, the {missing}. Give it a value in both branches, or before the 'if'"
        )

    def _packed(self, i: int, a: Any, b: Any) -> Any:
        """The structure of a variable whose leaves the branches return."""
        entry, la, lb = self.state.slots[i].entry, leaves_of(a), leaves_of(b)
        try:
            if callable(a) or callable(b):
                raise ValueError("a graph holds no functions: call them in the branches instead")
            if la is None or lb is None:
                raise ValueError
            check_alike(a, b)
        except (TypeError, ValueError) as error:
            raise TypeError(_differs(entry, self.where, describe(a), describe(b), str(error))) from None
        first, second = self.first, self.second
        for k, (x, y) in enumerate(zip(la, lb, strict=True)):
            one = _spec(first, i, k, x) if first.values is not None else _spec(second, i, k, y)
            two = _spec(second, i, k, y) if second.values is not None else one
            dtype = _merged_dtype(x, y, one, two)
            if dtype is None:
                dtypes = f"dtype {one.dtype.name}", f"dtype {two.dtype.name}"
                raise TypeError(_differs(entry, self.where, *dtypes, "tf.cast makes them one dtype"))
            self.needed[i, k] = TensorSpec(one.shape, dtype)
        return _Packed(composite.joined(a, b))


def _can_merge(a: Any, b: Any) -> bool:
    """Whether what two branches give can become one value."""
    la, lb = leaves_of(a), leaves_of(b)
    if la is None or lb is None:
        return False
    try:
        check_alike(a, b)
    except (TypeError, ValueError):
        return False
    specs = [
        (spec_of(_core._to_tensor(x)), spec_of(_core._to_tensor(y))) for x, y in zip(la, lb, strict=True)
    ]
    return all(_merged_dtype(x, y, *pair) is not None for x, y, pair in zip(la, lb, specs, strict=True))


def _has_symbolic(value: Any) -> bool:
    return any(map(is_symbolic, flatten(value)))


def _known(value: Any, i: int, state: State) -> Any:
    before = state.before[i]
    if value is UNDEFINED:
        return _UNCHANGED if before is UNDEFINED else _Known(UNDEFINED)
    return _UNCHANGED if value is before else _Known(value)


def _differs(entry: Entry, where: str, a: str, b: str, hint: str) -> str:
    """The message of a variable that is `a` after one branch and `b` after the other."""
    name = label(entry.name)
    lines = [f"line {n}" if n else "unchanged" for n in (entry.first, entry.second)]
    if entry.name == RESULT and "None" in (a, b):
        return (
            f"the 'if' at {where} depends on a tensor: where the function returns a tensor on one path it "
            f"must on every path, but it returns {a} at line {entry.first} and {b} at line {entry.second}"
        )
    if "None" in (a, b):
        hint = (
            f"a graph cannot hold None: give {name} a tensor before the 'if', and have a flag say whether it "
            "counts"
        )
    message = (
        f"{name} must have one type after the 'if' at {where}, which depends on a tensor: it is {a} in the "
        f"first branch ({lines[0]}) and {b} in the other ({lines[1]})"
    )
    return f"{message}; {hint}" if hint else message


def select(condition: Any, body: Callable[[], Any], orelse: Callable[[], Any], what: str) -> Any:
    """The value of one of two expressions, by a symbolic condition."""
    code = body.__code__
    line = code.co_firstlineno
    value = Held(Entry(what, line, line, True, True))

    def run(part: Callable[[], Any]) -> Callable[[], None]:
        def store() -> None:
            value.set(part())

        return store

    branch(condition, run(body), run(orelse), State.of([value]), f"{code.co_filename}:{line}")
    return value.get()
