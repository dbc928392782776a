"""Loops on tensors: the body is traced once, and the variables that it changes are carried."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from penstock import _core, nest, raw_ops
from penstock._control.flow import cond_and
from penstock._types import composite
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock.autograph._branch import (
    Growth,
    branch,
    check_lists,
    is_symbolic,
    kept_growth,
    make_list,
    traced_region,
    truth,
)
from penstock.autograph._jumps import RESULT
from penstock.autograph._reach import Reach
from penstock.autograph._slots import Entry, Held, Note, tracing, unset_name
from penstock.autograph._state import State
from penstock.autograph._values import (
    UNDEFINED,
    check_alike,
    describe,
    flatten,
    freeze,
    holds_variables,
    is_stale,
    label,
    leaves_of,
    pack,
    same,
    zeros,
)
from penstock.errors import DTypeError, UnsetError

__all__ = ["Options", "graph_loop"]

_ASSERT = getattr(raw_ops, "assert")


class Options(NamedTuple):
    """What `set_loop_options` asks of a loop."""

    shape_invariants: list[tuple[Any, Any]] | None = None
    maximum_iterations: Any = None
    parallel_iterations: Any = None
    swap_memory: Any = None
    checkpoint_every: int | None = None
    # The variables in `shape_invariants`, where they are written as such.
    names: tuple[str | None, ...] = ()
    # Whether shapes that change in an iteration are made wider, as the elements of data sets need it.
    widens: bool = False


class _Carried(NamedTuple):
    """A variable that a loop carries."""

    slot: int
    # Its value before the loop, or a value like those that it gets.
    structure: Any
    # First values, and what the body may make of them.
    leaves: list[Any]
    specs: list[TensorSpec]
    # Whether it has no value before the loop.
    new: bool


class _Peel(NamedTuple):
    """The first iteration must be told from the others: variables are None, or not set, before it alone."""

    # The types that the variables have from then on, in their structure.
    found: dict[int, Any]


class _Wider(NamedTuple):
    """More variables change than were known, or in more ways."""


# Why a trace of a loop starts over.
_Restart = _Peel | _Wider | Growth


def graph_loop(
    state: State,
    hidden: list[Any],
    test: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], list[Any]],
    runs: Any,
    where: str,
    options: Options,
) -> list[Any]:
    """Traces a loop.

    Args:
        state: the variables of the body.
        hidden: first values of variables that Python does not see.
        test: whether to go on, from the hidden variables.
        body: runs the body; the next hidden variables.
        runs: whether the body runs at least once; None where what follows is reached only if it did.
        where: the place of the loop, for messages.
        options: what the user asked for.

    Returns:
        The last hidden variables.
    """
    if options.maximum_iterations is not None:
        hidden, test, body = _limited(hidden, test, body, options.maximum_iterations)
    invariants = _Invariants(state, options, where)
    loop = _Loop(state, hidden, test, body, where, options, invariants)
    attempts = 0
    guess = _guess(state, where)
    try:
        while True:
            outs = loop.trace() if guess is None else _Peel(guess)
            if isinstance(outs, list):
                break
            if isinstance(outs, _Wider):
                attempts += 1
                state.again(attempts)
                continue
            if isinstance(outs, Growth):
                state.restore()
                make_list(state, outs, where)
                continue
            loop.last = None
            found = outs.found
            guessed, guess = guess is not None, None
            following = _peeled(state, hidden, test, body, found, runs, where, guessed)
            if following is None:
                # Variables have other types than the last time that the loop was traced.
                state.promoted.difference_update(state.slots[i].key for i in found)
                continue
            hidden = following
            tracing.guesses[where] = found
            loop = _Loop(state, hidden, test, body, where, options, invariants)
            loop.peeled = True
    except BaseException:
        state.restore()
        raise
    loop.finish(outs[len(hidden) :], runs)
    return outs[: len(hidden)]


def _peeled(
    state: State,
    hidden: list[Any],
    test: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], list[Any]],
    found: dict[int, Any],
    runs: Any,
    where: str,
    guessed: bool,
) -> list[Any] | None:
    """Traces the first iteration, if there is one, in front of the loop; the hidden variables after it.

    None where it gives other types to variables than was guessed.
    """
    state.restore()
    state.promoted.update(state.slots[i].key for i in found)
    held = [Held(Entry("the iteration", 0, 0, True, True), value) for value in hidden]

    def first() -> None:
        for slot, value in zip(held, body(hidden), strict=True):
            slot.set(value)

    def fits() -> bool:
        return all(_is_of(state.slots[i].get(), structure) for i, structure in found.items())

    def none() -> None:
        # Nobody sees them: what is read after the loop is asserted to have been set.
        for i, structure in found.items():
            state.slots[i].put(pack(structure, [zeros(spec) for spec in flatten(structure)]))

    value = test(hidden)
    going = truth(value) if is_symbolic(value) else _core._to_tensor(bool(value))
    own, others = state.slots[: state.own], state.slots[state.own :]
    around = State.of([*held, *own], others, state)
    around.promoted = state.promoted
    if not branch(going, first, none, around, where, fits if guessed else None):
        return None
    for i in found:
        slot = state.slots[i]
        read = slot.entry.after and slot.entry.name != RESULT
        if read and not slot.entry.held and (i < state.own or state.is_local(i)):
            _assert_runs(runs, slot.entry, where)
    state.begin()
    return [slot.value for slot in held]


def _assert_runs(runs: Any, entry: Entry, where: str) -> None:
    """Has the graph assert that a loop gives a variable a value; unless that is known, and `runs` None."""
    if runs is not None:
        message = f"the loop at {where} must iterate at least once, to give {label(entry.name)} a value"
        _ASSERT(runs, message=message)


def _guess(state: State, where: str) -> dict[int, Any] | None:
    """What the first iteration gives to variables that are None, if it is as it was last."""
    found = tracing.guesses.get(where)
    if found is None or not all(i < state.own and state.slots[i].entry.live for i in found):
        return None
    before = [state.frozen[i] for i in found]
    fits = all(value is UNDEFINED or _has_none(value) for value in before) and any(map(_has_none, before))
    return found if fits else None


def _is_of(value: Any, structure: Any) -> bool:
    """Whether a value has these types, in one structure with them."""
    found = _types_of(value)
    try:
        check_alike(_shell(found), _shell(structure))
    except (TypeError, ValueError):
        return False
    return found is not None and flatten(found) == flatten(structure)


class _Invariants:
    """The shapes that `set_loop_options` gives to variables, or to tensors in them."""

    def __init__(self, state: State, options: Options, where: str) -> None:
        # By variable and leaf.
        self.shapes: dict[tuple[int, int], TensorShape] = {}
        # Those that an iteration was found to need, by the keys of variables.
        self.state, self.wider = state, dict[tuple[Any, int], TensorShape]()
        pairs = options.shape_invariants or ()
        for (value, shape), name in zip(pairs, options.names or [None] * len(pairs), strict=True):
            named = [slot.entry.name == name for slot in state.slots]
            # Other tensors are known by identity; that would take one None for another.
            searched = named if any(named) else [value is not None] * len(named)
            found = [
                (i, k)
                for i, wanted in enumerate(searched)
                for k, leaf in enumerate(leaves_of(state.before[i]) or [None])
                if wanted and leaf is value
            ]
            if not found:
                raise ValueError(
                    f"set_loop_options at {where}: shape_invariants names {describe(value)}, "
                    "which is no variable that the loop changes"
                )
            self.shapes.update(dict.fromkeys(found, TensorShape(shape)))

    def widen(self, i: int, k: int, before: TensorShape, after: TensorShape) -> None:
        """Has a leaf keep to what two shapes have in common."""
        self.wider[self.state.slots[i].key, k] = before.most_specific_compatible_shape(after)

    def spec(self, i: int, k: int, tensor: Any, where: str) -> TensorSpec:
        """The type that a leaf keeps in the loop."""
        wider = self.wider.get((self.state.slots[i].key, k))
        if wider is not None:
            return TensorSpec(wider, tensor.dtype)
        shape = self.shapes.get((i, k))
        if shape is None:
            return TensorSpec(tensor.shape, tensor.dtype)
        if not tensor.shape.is_subtype_of(shape):
            raise ValueError(
                f"set_loop_options at {where}: a variable starts with shape {tensor.shape}, "
                f"which its invariant {shape} does not allow"
            )
        return TensorSpec(shape, tensor.dtype)


def _limited(
    hidden: list[Any], test: Callable[[list[Any]], Any], body: Callable[[list[Any]], list[Any]], limit: Any
) -> tuple[list[Any], Callable[[list[Any]], Any], Callable[[list[Any]], list[Any]]]:

    limit = _core._to_tensor_hinted(limit, _core.int32)

    def bounded(values: list[Any]) -> Any:
        return cond_and(values[-1] < limit, lambda: test(values[:-1]))

    def counted(values: list[Any]) -> list[Any]:
        return [*body(values[:-1]), values[-1] + 1]

    return [*hidden, _core._to_tensor(0, limit.dtype)], bounded, counted


class _Loop:
    """A loop that is traced."""

    def __init__(
        self,
        state: State,
        hidden: list[Any],
        test: Callable[[list[Any]], Any],
        body: Callable[[list[Any]], list[Any]],
        where: str,
        options: Options,
        invariants: _Invariants,
    ) -> None:
        self.state, self.hidden, self.test, self.body, self.where = state, hidden, test, body, where
        self.invariants = invariants
        self.checkpoint_every, self.widens = options.checkpoint_every, options.widens
        # Whether the first iteration stands in front of the loop already.
        self.peeled = False
        self.carried: list[_Carried] = []
        # What the variables hold after the traced iteration; None where it always raises.
        self.last: list[Any] | None = None
        # Whether variables of the engine were created.
        self.settled = False
        # Whether an iteration was traced for the types of variables.
        self.looked = False

    def trace(self) -> list[Any] | _Restart:
        """Traces the regions; the results of the loop."""
        state, hidden = self.state, self.hidden
        self.looked = False
        state.guess_replaced()
        self.carried = [c for i in range(len(state.slots)) if (c := self._carry(i)) is not None]
        own = enumerate(state.slots[: state.own])
        new = [i for i, slot in own if slot.entry.live and state.before[i] is UNDEFINED]
        if new:
            found = self._discover(new)
            if not isinstance(found, dict):
                return found
            for i, structure in found.items():
                specs = flatten(structure)
                self.carried.append(_Carried(i, structure, [zeros(s) for s in specs], specs, True))
        # A loop within others is traced once to look for types and once to stay, not once more at each level.
        enough = tracing.looking and self.looked and not any(map(_has_none, state.frozen))
        if enough:
            regions = self._empty_regions()
        else:
            regions = [self._test_region()]
            body = self._body_region()
            if isinstance(body, _Restart):
                return body
            regions.append(body)
        state.restore()
        first = [*hidden, *(leaf for c in self.carried for leaf in c.leaves)]
        return list(_core._emit_regions("while", first, regions, self.checkpoint_every) or ())

    def specs(self) -> list[TensorSpec]:
        return [TensorSpec(h.shape, h.dtype) for h in self.hidden] + [
            s for c in self.carried for s in c.specs
        ]

    def _begin(self) -> list[Any]:
        """Opens a region of the loop; its parameters."""
        firsts = [*self.hidden, *(leaf for c in self.carried for leaf in c.leaves)]
        return _core._begin_region(self.specs(), firsts)

    def _carry(self, i: int) -> _Carried | None:
        before, slot = self.state.before[i], self.state.slots[i]
        if not slot.entry.live:
            return None
        # Others are found to be the loop's when an iteration changes them.
        found = slot.key in self.state.promoted
        if i >= self.state.own and not found:
            return None
        leaves = leaves_of(before)
        if not leaves or (not found and any(isinstance(leaf, _core._Variable) for leaf in leaves)):
            return None
        tensors = [_core._to_tensor(leaf) for leaf in leaves]
        specs = [self.invariants.spec(i, k, t, self.where) for k, t in enumerate(tensors)]
        return _Carried(i, freeze(before), tensors, specs, False)

    def _enter(self, params: list[Any]) -> None:
        """Gives the variables the values that an iteration starts from."""
        self.state.restore()
        values = iter(params[len(self.hidden) :])
        for c in self.carried:
            leaves = [next(values) for _ in c.specs]
            if c.new and self.state.slots[c.slot].entry.name != RESULT:
                continue
            self.state.enter(c.slot, pack(c.structure, leaves))
        self.state.entered()

    def _discover(self, new: list[int]) -> dict[int, Any] | _Restart:
        """The types of the variables that the body sets first, from a trace of it that is thrown away."""
        found: dict[int, Any] = {}
        params = self._begin()
        looking, tracing.looking = tracing.looking, True
        others: _Others | None = None
        try:
            self._enter(params)
            self.last = None
            if traced_region(self.state, lambda: self._run(params)) is None:
                self.last = values = self.state.read()
                made = self._others(values)
                if isinstance(made, _Restart):
                    return made
                others = made
                for i in new:
                    if (structure := _types_of(values[i])) is not None:
                        found[i] = structure
        finally:
            tracing.looking = looking
            _core._abandon_region()
            self.state.restore()
        if others is not None and (restart := self._see(others, self.last or [])) is not None:
            return restart
        self.looked = True
        return found

    def _others(self, values: list[Any]) -> _Others | _Restart:
        """What an iteration makes of the variables that the loop does not carry, while its region is open."""
        state = self.state
        if state.joined() or state.misled:
            state.misled = False
            return _Wider()
        if not self.settled and state.has_created() and state.settle(values, 1):
            # Variables of the engine are created once: the trace goes on from there.
            self.settled = True
            return _Wider()
        own, grows = check_lists(state, values)
        if own is not None:
            return own
        carried = {c.slot for c in self.carried}
        changed, lost = [], []
        for i, slot in enumerate(state.slots):
            if not slot.entry.live or i in carried or same(values[i], state.frozen[i]):
                continue
            if i < state.own:
                if (
                    state.frozen[i] is not UNDEFINED
                    and holds_variables(state.frozen[i])
                    and leaves_of(values[i]) is not None
                ):
                    state.promoted.add(slot.key)
                    return _Wider()
            elif state.is_lost(i, values[i]):
                lost.append(i)
            elif not state.is_python(i, values[i], 1):
                changed.append(i)
        return _Others(changed, lost, grows)

    def _see(self, others: _Others, values: list[Any]) -> _Restart | None:
        """Has the loop carry what called functions change of the graph's, but for objects that it makes."""
        state = self.state
        reach = Reach()
        grows = kept_growth(state, others.grows, reach)
        if grows is not None:
            return grows
        for i in others.lost:
            if not state.is_gone(i, reach):
                name, before = label(state.slots[i].entry.name), state.frozen[i]
                was = "has no value" if before is UNDEFINED else f"is {describe(before)}"
                raise TypeError(
                    f"{name} cannot change under a condition on tensors in the loop at {self.where}: it "
                    f"{was} before the loop and {describe(values[i])} after an iteration, and a graph cannot "
                    f"hold both. Give {name} a tensor of that type before the loop"
                )
        found: dict[int, Any] = {}
        wider = False
        for i in others.changed:
            before, value = state.frozen[i], values[i]
            structure = _types_of(value)
            if structure is None or state.is_gone(i, reach):
                continue
            if before is UNDEFINED or _has_none(before):
                alike = before is UNDEFINED or before is None or _is_like(before, value)
                if not self.peeled and alike and state.is_read(i):
                    found[i] = structure
            elif _fits(before, structure, state.is_local(i)):
                state.promoted.add(state.slots[i].key)
                wider = True
        if wider:
            return _Wider()
        return _Peel(found) if found else None

    def _run(self, params: list[Any]) -> list[Any]:
        try:
            return self.body(params[: len(self.hidden)])
        except TypeError as error:
            self._add_hint(error)
            raise
        except NameError as error:
            name = unset_name(error)
            unset = (
                s for s, value in zip(self.state.slots, self.state.before, strict=True) if value is UNDEFINED
            )
            if getattr(error, "__notes__", None) or not any(slot.entry.name == name for slot in unset):
                raise
            raise UnsetError(
                f"'{name}' must be defined before the loop at {self.where}, which depends on a tensor: "
                "an iteration may read it before any sets it. Give it a value before the loop"
            ) from None

    def _add_hint(self, error: TypeError) -> None:
        """Says which variables an error may be about: Python numbers that the loop made tensors."""
        if getattr(error, "__notes__", None) or not isinstance(error, DTypeError):
            return
        numbers = [
            f"{label(slot.entry.name)} starts as {before!r} and is a tensor of dtype "
            f"{_core._to_tensor(before).dtype.name} in it"
            for slot, before in zip(self.state.slots, self.state.before, strict=True)
            if slot.entry.live and type(before) in (int, float, bool)
        ]
        if numbers:
            error.add_note(
                f"In the loop at {self.where}, which depends on a tensor, {'; '.join(numbers)}. Start "
                "with a value of the "
                "dtype that it gets, or use tf.cast"
            )

    def _empty_regions(self) -> list[Any]:
        """The regions of a loop with the same variables that does nothing."""
        self._begin()
        test = _core._end_region([_core._to_tensor(False)])
        return [test, _core._end_region(self._begin())]

    def _test_region(self) -> Any:
        params = self._begin()
        try:
            self._enter(params)
            tested: list[Any] = []
            stopped = traced_region(self.state, lambda: tested.append(self.test(params[: len(self.hidden)])))
            if stopped is not None:
                raise stopped
            value = tested[0]
            value = truth(value) if is_symbolic(value) else _core._to_tensor(bool(value))
        except BaseException:
            _core._abandon_region()
            raise
        return _core._end_region([value])

    def _body_region(self) -> Any:
        """The region of an iteration, or why the trace starts over."""
        params = self._begin()
        try:
            found = self._iteration(params)
        except BaseException:
            _core._abandon_region()
            raise
        if isinstance(found, _Restart):
            _core._abandon_region()
            return found
        region = _core._end_region(found.results)
        self.state.restore()
        restart = None if found.others is None else self._see(found.others, self.last or [])
        return region if restart is None else restart

    def _iteration(self, params: list[Any]) -> _Iteration | _Restart:
        """Runs the body once, from what the parameters of the open region are."""
        self._enter(params)
        following: list[Any] = []
        mine = len(tracing.notes)
        stopped = traced_region(self.state, lambda: following.extend(self._run(params)))
        if stopped is not None:
            # It always raises: nothing comes after the first iteration.
            self.last = None
            return _Iteration(params, None)
        self.last = values = self.state.read()
        others = self._others(values)
        if isinstance(others, _Restart):
            return others
        specs = self.specs()
        results = [_core._to_tensor_hinted(f, s.dtype) for f, s in zip(following, specs, strict=False)]
        if not self.peeled and (peel := self._found_none(values)) is not None:
            return peel
        self._check_fixed(values)
        for c in self.carried:
            leaves = self._next(c, values[c.slot], mine)
            if isinstance(leaves, _Wider):
                return leaves
            results.extend(leaves)
        return _Iteration(results, others)

    def _check_fixed(self, values: list[Any]) -> None:
        """Variables that are no tensors stay what they are, unless they are None before the loop."""
        carried = {c.slot for c in self.carried}
        for i, slot in enumerate(self.state.slots[: self.state.own]):
            before = self.state.frozen[i]
            if not slot.entry.live or i in carried or before is UNDEFINED or same(values[i], before):
                continue
            raise TypeError(
                f"{label(slot.entry.name)} cannot change in the loop at {self.where}, which depends on a "
                "tensor: it is "
                f"{describe(before)} before the loop and {describe(values[i])} after an iteration "
                f"(line {slot.entry.first}). A loop carries tensors, numbers, and structures of them"
            )

    def _found_none(self, values: list[Any]) -> _Peel | None:
        """The variables that are None, or hold it, only before the first iteration."""
        found: dict[int, Any] = {}
        some = False
        for i, slot in enumerate(self.state.slots[: self.state.own]):
            before, value = self.state.frozen[i], values[i]
            if not slot.entry.live or not (before is UNDEFINED or _has_none(before)):
                continue
            structure = _types_of(value)
            if structure is not None and (before is None or before is UNDEFINED or _is_like(before, value)):
                some = some or before is not UNDEFINED
                found[i] = structure
        return _Peel(found) if some else None

    def _next(self, c: _Carried, value: Any, mine: int) -> list[Any] | _Wider:
        """The leaves that a variable takes into the next iteration."""
        slot = self.state.slots[c.slot]
        name, line = label(slot.entry.name), slot.entry.first
        if value is UNDEFINED:
            notes = [n.message for n in tracing.notes[mine:] if n.slot.entry.name == slot.entry.name]
            raise UnboundLocalError(
                notes[-1] if notes else f"{name} has no value after an iteration of the loop at {self.where}"
            )
        leaves = leaves_of(value)
        must = f"in the loop at {self.where}, which depends on a tensor: it is"
        try:
            if leaves is None:
                raise ValueError
            check_alike(_shell(c.structure), _shell(value))
            composite.after_loop(c.structure, value)
        except (TypeError, ValueError) as error:
            detail = f": {error}" if str(error) else ""
            raise TypeError(
                f"{name} must keep its type {must} {describe(c.structure)} before the loop and "
                f"{describe(value)} after an "
                f"iteration (line {line}){detail}"
            ) from None
        results = []
        for k, (leaf, spec) in enumerate(zip(leaves, c.specs, strict=True)):
            tensor = _core._to_tensor_hinted(leaf, spec.dtype)
            if tensor.dtype != spec.dtype:
                raise TypeError(
                    f"{name} must keep its dtype {must} {spec.dtype.name} before the loop and "
                    f"{tensor.dtype.name} after an "
                    f"iteration (line {line}); start with a value of that dtype, or use tf.cast"
                )
            if not tensor.shape.is_subtype_of(spec.shape):
                if self.widens and not c.new:
                    self.invariants.widen(c.slot, k, spec.shape, tensor.shape)
                    return _Wider()
                raise ValueError(
                    f"{name} must keep its shape {must} {spec.shape} before the loop and {tensor.shape} "
                    "after an iteration "
                    f"(line {line}); for sizes that change use "
                    "tf.autograph.experimental.set_loop_options(shape_invariants=[(variable, shape)]) "
                    "with None for them"
                )
            results.append(tensor)
        return results

    def _keeps_functions(self) -> bool:
        """Whether a variable that is read after the loop has a function that an iteration made."""
        pairs = zip(self.state.slots, self.last or (), strict=False)
        return any(
            slot.entry.after and not slot.entry.held and type(value) is FunctionType for slot, value in pairs
        )

    def finish(self, outs: list[Any], runs: Any) -> None:
        """Gives the variables the values that they have after the loop."""
        self.state.end_loop()
        results = iter(outs)
        done = set()
        for c in self.carried:
            leaves = [next(results) for _ in c.specs]
            done.add(c.slot)
            slot = self.state.slots[c.slot]
            entry = slot.entry
            if c.new and entry.name != RESULT:
                if not entry.after:
                    continue
                # Where there was no iteration, there is no function that could read it.
                if not entry.held or self._keeps_functions():
                    _assert_runs(runs, entry, self.where)
            structure = c.structure
            if self.last is not None and not c.new:
                structure = composite.after_loop(structure, self.last[c.slot])
            self.state.write(c.slot, pack(structure, leaves))
        if self.last is None:
            return
        for i, (slot, value) in enumerate(zip(self.state.slots, self.last, strict=True)):
            if i in done or not slot.entry.live:
                continue
            if i >= self.state.own:
                # What called functions do to Python's objects, they have done.
                if not same(value, self.state.frozen[i]) and not self.state.is_made(i):
                    self.state.write(i, value)
            elif self.state.before[i] is not UNDEFINED:
                continue
            elif value is UNDEFINED:
                name = label(slot.entry.name)
                message = (
                    f"{name} may have no value after the loop at {self.where}: no iteration is sure to set it"
                )
                tracing.notes.append(Note(slot, message))
            elif not is_stale(value):
                # A Python object, the same in every iteration.
                slot.put(value)
        self.state.note_left(f"the loop at {self.where}")


class _Others(NamedTuple):
    """What an iteration makes of variables that the loop does not carry."""

    # Those that called functions change, and that are the graph's.
    changed: list[int]
    # Those that a branch left a tensor behind in, which the next iteration needs.
    lost: list[int]
    # Lists among these that change their length.
    grows: list[Growth]


class _Iteration(NamedTuple):
    """A traced iteration."""

    # What the variables of the loop are after it.
    results: list[Any]
    # What it makes of other variables; None where it always raises.
    others: _Others | None


def _types_of(value: Any) -> Any:
    """The types of the leaves of a value, in its structure; None where they are no tensors."""
    leaves = leaves_of(value)
    if not leaves:
        return None
    tensors = map(_core._to_tensor, leaves)
    return pack(value, [TensorSpec(t.shape, t.dtype) for t in tensors])


def _fits(before: Any, structure: Any, enough: bool) -> bool:
    """Whether a loop can carry a variable from a value to values of these types; alike may be `enough`."""
    try:
        check_alike(_shell(before), _shell(structure))
    except (TypeError, ValueError):
        return False
    if enough:
        return True
    for leaf, spec in zip(leaves_of(before) or [], flatten(structure), strict=True):
        tensor = _core._to_tensor(leaf)
        if tensor.dtype != spec.dtype or not spec.shape.is_subtype_of(tensor.shape):
            return False
    return True


def _has_none(value: Any) -> bool:
    return value is None or (
        isinstance(value, tuple | list | dict) and any(leaf is None for leaf in nest.flatten(value))
    )


def _is_like(before: Any, after: Any) -> bool:
    """Whether two values have one structure."""
    try:
        nest.assert_same_structure(before, after)
    except (TypeError, ValueError):
        return False
    return True


def _shell(value: Any) -> Any:
    """A structure without what is in it."""
    if not composite.is_structured(value):
        return 0
    return nest.pack_sequence_as(
        value, [leaf if composite.is_composite(leaf) else 0 for leaf in nest.flatten(value)]
    )
