"""Loops on tensors: the body is traced once, and the variables that it changes are carried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock import _core, nest, raw_ops
from penstock._shape import TensorShape
from penstock._spec import TensorSpec
from penstock.autograph._branch import is_symbolic, traced_region, truth
from penstock.autograph._jumps import RESULT
from penstock.autograph._state import (
    UNDEFINED,
    Note,
    State,
    describe,
    freeze,
    label,
    leaves_of,
    same,
    tracing,
    zeros,
)

__all__ = ["Options", "graph_loop"]

_ASSERT = getattr(raw_ops, "assert")

# Types of variables that a loop body sets first, by the body and the types of what it starts from.
_found: dict[Any, dict[int, Any]] = {}


class Options(NamedTuple):
    """What `set_loop_options` asks of a loop."""

    shape_invariants: list[tuple[Any, Any]] | None = None
    maximum_iterations: Any = None
    parallel_iterations: Any = None
    swap_memory: Any = None


class _Carried(NamedTuple):
    """A variable that a loop carries."""

    index: int
    # Its value before the loop, or a value like those that it gets.
    structure: Any
    # First values, and what the body may make of them.
    leaves: list[Any]
    specs: list[TensorSpec]
    # Whether it has no value before the loop.
    new: bool


def graph_loop(
    state: State,
    hidden: list[Any],
    test: Callable[[list[Any]], Any],
    body: Callable[[list[Any]], list[Any]],
    runs: Any,
    where: str,
    key: Any,
    options: Options,
) -> list[Any]:
    """Traces a loop.

    Args:
        state: the variables of the body.
        hidden: first values of variables that Python does not see.
        test: whether to go on, from the hidden variables.
        body: runs the body; the next hidden variables.
        runs: whether the body runs at least once.
        where: the place of the loop, for messages.
        key: the function that is the body.
        options: what the user asked for.

    Returns:
        The last hidden variables.
    """
    if options.maximum_iterations is not None:
        hidden, test, body = _limited(hidden, test, body, options.maximum_iterations)
    invariants = _Invariants(state, options, where)
    carried = [c for i in range(len(state.slots)) if (c := _carry(state, i, where, invariants)) is not None]
    try:
        new = [i for i, slot in enumerate(state.slots) if slot.entry.live and state.before[i] is UNDEFINED]
        if new:
            found = _discover(state, hidden, body, carried, new, key)
            for i in new:
                structure = found.get(i)
                if structure is not None:
                    specs = nest.flatten(structure) if nest.is_nested(structure) else [structure]
                    carried.append(_Carried(i, structure, [zeros(s) for s in specs], specs, True))
        first = [*hidden, *(leaf for c in carried for leaf in c.leaves)]
        specs = [TensorSpec(h.shape, h.dtype) for h in hidden] + [s for c in carried for s in c.specs]
        test_region = _test_region(state, specs, carried, len(hidden), test, where)
        body_region, outs_of_body = _body_region(state, specs, carried, len(hidden), body, where)
        state.restore()
        outs = list(_core._emit_regions("while", first, [test_region, body_region]) or ())
    except BaseException:
        state.restore()
        raise
    _finish(state, carried, outs[len(hidden) :], outs_of_body, runs, where)
    return outs[: len(hidden)]


class _Invariants:
    """The shapes that `set_loop_options` gives, by the tensors that it names."""

    def __init__(self, state: State, options: Options, where: str) -> None:
        self.pairs = [(value, TensorShape(shape)) for value, shape in options.shape_invariants or ()]
        carried = [leaf for v in state.before for leaf in (leaves_of(v) or ())]
        for value, _ in self.pairs:
            if not any(leaf is value for leaf in carried):
                raise ValueError(
                    f"set_loop_options at {where}: shape_invariants names {describe(value)}, "
                    "which is no variable that the loop changes"
                )

    def spec(self, leaf: Any, tensor: Any, where: str) -> TensorSpec:
        for value, shape in self.pairs:
            if value is leaf:
                if not tensor.shape.is_subtype_of(shape):
                    raise ValueError(
                        f"set_loop_options at {where}: a variable starts with shape {tensor.shape}, "
                        f"which its invariant {shape} does not allow"
                    )
                return TensorSpec(shape, tensor.dtype)
        return TensorSpec(tensor.shape, tensor.dtype)


def _carry(state: State, i: int, where: str, invariants: _Invariants) -> _Carried | None:
    before = state.before[i]
    if not state.slots[i].entry.live:
        return None
    leaves = leaves_of(before)
    if not leaves:
        return None
    tensors = [_core._convert(leaf) for leaf in leaves]
    specs = [invariants.spec(leaf, t, where) for leaf, t in zip(leaves, tensors, strict=True)]
    return _Carried(i, freeze(before), tensors, specs, False)


def _limited(
    hidden: list[Any], test: Callable[[list[Any]], Any], body: Callable[[list[Any]], list[Any]], limit: Any
) -> tuple[list[Any], Callable[[list[Any]], Any], Callable[[list[Any]], list[Any]]]:
    from penstock._control import cond_and

    limit = _core._convert(limit, None, _core.int32)

    def bounded(values: list[Any]) -> Any:
        return cond_and(values[-1] < limit, lambda: test(values[:-1]))

    def counted(values: list[Any]) -> list[Any]:
        return [*body(values[:-1]), values[-1] + 1]

    return [*hidden, _core._convert(0, limit.dtype)], bounded, counted


def _enter(state: State, carried: list[_Carried], params: list[Any], hidden: int) -> None:
    """Gives the variables the values that an iteration starts from."""
    state.restore()
    values = iter(params[hidden:])
    for c in carried:
        leaves = [next(values) for _ in c.specs]
        if c.new and state.slots[c.index].entry.name != RESULT:
            continue
        value = nest.pack_sequence_as(c.structure, leaves) if nest.is_nested(c.structure) else leaves[0]
        state.write(c.index, value)


def _discover(
    state: State,
    hidden: list[Any],
    body: Callable[[list[Any]], list[Any]],
    carried: list[_Carried],
    new: list[int],
    key: Any,
) -> dict[int, Any]:
    """The types of the variables that the body sets first, from a trace of it that is thrown away."""
    specs = [TensorSpec(h.shape, h.dtype) for h in hidden] + [s for c in carried for s in c.specs]
    signature = (
        _identity(key),
        tuple(new),
        tuple((c.index, len(c.specs)) for c in carried),
        tuple((s.dtype.name, repr(s.shape)) for s in specs),
    )
    known = _found.get(signature)
    if known is not None:
        return known
    found: dict[int, Any] = {}
    params = _core._begin_region(specs)
    try:
        _enter(state, carried, params, len(hidden))
        if traced_region(lambda: body(params[: len(hidden)])):
            values = state.read()
            for i in new:
                leaves = leaves_of(values[i])
                if leaves:
                    types = [TensorSpec(t.shape, t.dtype) for t in map(_core._convert, leaves)]
                    found[i] = (
                        nest.pack_sequence_as(values[i], types) if nest.is_nested(values[i]) else types[0]
                    )
    finally:
        _core._abandon_region()
        state.restore()
    if len(_found) > 4096:
        _found.clear()
    _found[signature] = found
    return found


def _identity(body: Any) -> tuple[Any, ...]:
    """What the types that a body makes depend on, apart from the loop's own variables."""
    parts: list[Any] = [id(body.__code__), _core._current_trace()]
    for cell in body.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if isinstance(value, _core.Tensor):
            parts.append((value.dtype.name, repr(value.shape)))
        else:
            parts.append(id(getattr(value, "__code__", value)))
    return tuple(parts)


def _test_region(
    state: State,
    specs: list[TensorSpec],
    carried: list[_Carried],
    hidden: int,
    test: Callable[[list[Any]], Any],
    where: str,
) -> Any:
    params = _core._begin_region(specs)
    try:
        _enter(state, carried, params, hidden)
        tracing.depth += 1
        try:
            value = test(params[:hidden])
        finally:
            tracing.depth -= 1
        value = truth(value) if is_symbolic(value) else _core._convert(bool(value))
    except BaseException:
        _core._abandon_region()
        raise
    return _core._end_region([value])


def _body_region(
    state: State,
    specs: list[TensorSpec],
    carried: list[_Carried],
    hidden: int,
    body: Callable[[list[Any]], list[Any]],
    where: str,
) -> tuple[Any, list[Any] | None]:
    params = _core._begin_region(specs)
    try:
        _enter(state, carried, params, hidden)
        following: list[Any] = []
        mine = len(tracing.notes)
        if not traced_region(lambda: following.extend(body(params[:hidden]))):
            # It always raises: nothing comes after the first iteration.
            return _core._end_region(params), None
        values = state.read()
        results = [_core._convert(f, None, s.dtype) for f, s in zip(following, specs, strict=False)]
        carries = {c.index: c for c in carried}
        for i, slot in enumerate(state.slots):
            if slot.entry.live and i not in carries and state.before[i] is not UNDEFINED:
                if not same(values[i], state.before[i]):
                    name = label(slot.entry.name)
                    raise TypeError(
                        f"{name} cannot change in the loop at {where}, which depends on a tensor: it is "
                        f"{describe(state.before[i])} before the loop and {describe(values[i])} after an iteration "
                        f"(line {slot.entry.first}). A loop carries tensors, numbers, and structures of them"
                    )
        for c in carried:
            results.extend(_next(state, c, values[c.index], where, mine))
    except BaseException:
        _core._abandon_region()
        raise
    return _core._end_region(results), values


def _next(state: State, c: _Carried, value: Any, where: str, mine: int) -> list[Any]:
    """The leaves that a variable takes into the next iteration."""
    slot = state.slots[c.index]
    name, line = label(slot.entry.name), slot.entry.first
    if value is UNDEFINED:
        why = next(
            (n.message for n in reversed(tracing.notes[mine:]) if n.slot.entry.name == slot.entry.name), None
        )
        raise UnboundLocalError(why or f"{name} has no value after an iteration of the loop at {where}")
    leaves = leaves_of(value)
    try:
        if leaves is None:
            raise ValueError
        nest.assert_same_structure(_shell(c.structure), _shell(value))
    except (TypeError, ValueError) as error:
        if isinstance(c.structure, list) and isinstance(value, list) and len(value) != len(c.structure):
            raise ValueError(
                f"the list {name} has {len(c.structure)} elements before the loop at {where} and {len(value)} after an "
                "iteration: a loop on tensors cannot change the length of a list. Declare it with "
                "tf.autograph.set_element_type(list, dtype) before the loop, and use tf.autograph.stack(list) after it"
            ) from None
        detail = f": {error}" if str(error) else ""
        raise TypeError(
            f"{name} must keep its type in the loop at {where}, which depends on a tensor: it is "
            f"{describe(c.structure)} before the loop and {describe(value)} after an iteration (line {line}){detail}"
        ) from None
    results = []
    for leaf, spec in zip(leaves, c.specs, strict=True):
        tensor = _core._convert(leaf, None, spec.dtype)
        if tensor.dtype != spec.dtype:
            raise TypeError(
                f"{name} must keep its dtype in the loop at {where}, which depends on a tensor: it is {spec.dtype.name} "
                f"before the loop and {tensor.dtype.name} after an iteration (line {line}); start with a value of that "
                f"dtype, or use tf.cast"
            )
        if not tensor.shape.is_subtype_of(spec.shape):
            raise ValueError(
                f"{name} must keep its shape in the loop at {where}, which depends on a tensor: it is {spec.shape} before "
                f"the loop and {tensor.shape} after an iteration (line {line}); for sizes that change use "
                "tf.autograph.experimental.set_loop_options(shape_invariants=[(variable, shape)]) with None for them"
            )
        results.append(tensor)
    return results


def _shell(value: Any) -> Any:
    return nest.pack_sequence_as(value, [0] * len(nest.flatten(value))) if nest.is_nested(value) else 0


def _finish(
    state: State, carried: list[_Carried], outs: list[Any], last: list[Any] | None, runs: Any, where: str
) -> None:
    """Gives the variables the values that they have after the loop."""
    results = iter(outs)
    done = set()
    for c in carried:
        leaves = [next(results) for _ in c.specs]
        done.add(c.index)
        slot = state.slots[c.index]
        if c.new and slot.entry.name != RESULT:
            if not slot.entry.after:
                continue
            name = slot.entry.name
            _ASSERT(runs, message=f"the loop at {where} must iterate at least once, to give '{name}' a value")
        value = nest.pack_sequence_as(c.structure, leaves) if nest.is_nested(c.structure) else leaves[0]
        state.write(c.index, value)
    for i, slot in enumerate(state.slots):
        if i in done or not slot.entry.live or state.before[i] is not UNDEFINED or last is None:
            continue
        if last[i] is not UNDEFINED and not _symbolic_in(last[i]):
            # A Python object, the same in every iteration.
            slot.put(last[i])
        elif last[i] is UNDEFINED:
            message = f"{label(slot.entry.name)} may have no value after the loop at {where}: no iteration is sure to set it"
            tracing.notes.append(Note(slot, message))


def _symbolic_in(value: Any) -> bool:
    return any(is_symbolic(leaf) for leaf in (nest.flatten(value) if nest.is_nested(value) else [value]))
