"""The state of a statement: its variables, read, written and compared while its bodies are traced."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from penstock import _core
from penstock._runtime.identity import Identities
from penstock._values.variable import created
from penstock.autograph._containers import CONTAINERS, collect, holds_alike, occurrences, snapshots
from penstock.autograph._lists import TensorList
from penstock.autograph._reach import Reach
from penstock.autograph._slots import (
    Attribute,
    Attributes,
    Cell,
    Contents,
    Entries,
    Entry,
    Note,
    Slot,
    slots_of,
    touch,
    tracing,
)
from penstock.autograph._values import (
    UNDEFINED,
    flatten,
    freeze,
    freeze_one,
    holds_variables,
    is_made_here,
    is_stale,
    label,
    leaves_of,
    list_label,
    refill,
    same,
    with_identity,
)

__all__ = ["State"]

# The number of attempts to trace a statement after which it gets no more variables.
_CLOSES_AFTER = 30


class State:
    """The variables of a statement, with the values that they have when it begins.

    The first `own` of them are those that the statement itself assigns. The others are those that functions
    assign which it calls: these are Python's, whose effects happen while the statement is traced, unless
    they hold tensors of the graph, or belong to an object that the traced function made.
    """

    def __init__(
        self,
        functions: Sequence[Any],
        entries: Entries,
        attributes: Attributes = (),
    ) -> None:
        self._set_up(functions, slots_of(functions, entries, attributes))

    @classmethod
    def of(cls, slots: list[Slot], others: Sequence[Slot] = (), like: State | None = None) -> State:
        """The state that is made of some slots, its own and others, of the functions of another."""
        self = cls.__new__(cls)
        self._set_up(() if like is None else like.functions, [*slots, *others])
        self.own = len(slots)
        return self

    def _set_up(self, functions: Sequence[Any], slots: list[Slot]) -> None:
        self.functions, self.slots, self.own = functions, slots, len(slots)
        # The variables that were found to be the graph's, though they need not have been.
        self.promoted: set[Any] = set()
        # Those that a called function computes from what they were.
        self.renewed: set[Any] = set()
        # Objects that are made while the statement is traced: theirs are no variables of it.
        self.made = Identities[Any]()
        # Whether no variables are added any more.
        self.closed = False
        # Containers that a body, or the guess of one, replaces by others, and does not only change, by the
        # places that hold them. Who else holds them sees nothing of that.
        self.replaced: dict[Any, Any] = {}
        # Places for which that guess was wrong, and those for which that made no difference.
        self._in_place: set[Any] = set()
        self._untouched: set[Any] = set()
        # What such containers hold when a body begins, by place.
        self._guessed: dict[Any, Any] = {}
        # Containers that a branch has changed.
        self._changed = Identities[Any]()
        # Whether the last body showed that one was entered with the wrong containers.
        self.misled = False
        # Whether a variable that was added holds a container whose contents are another.
        self.overlaps = False
        self.begin()

    def begin(self) -> None:
        """Takes what the variables hold for what the statement begins with."""
        # What another trace has left behind in attributes is no value, and is put back as it is.
        self._stale: dict[Any, Any] = {}
        self.before = [self._first(slot) for slot in self.slots]
        # The same with containers copied, since they may change.
        self.frozen = [freeze(value) for value in self.before]
        self._keys = {slot.key for slot in self.slots}
        # Containers may be changed in place; their contents are part of the state.
        self._contents: list[tuple[Any, Any]] = []
        for i in range(len(self.slots)):
            self._collect(i)
        self._entered: dict[int, Any] = {}
        # What containers hold when the statement begins, and when a body of it does.
        self._originals = dict(snapshots(self._contents))
        self._began = self._originals.copy()
        self._created = created.count
        # What `settle` has changed: variables, by index, with what they began with; and pairs of containers
        # and contents that it added and dropped.
        self._settled: list[tuple[int, Any, Any]] = []
        self._settled_contents: list[tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]] = []

    def _first(self, slot: Slot) -> Any:
        """What a variable holds when the statement begins."""
        value = slot.get()
        if slot.owner is None or not is_stale(value):
            return value
        self._stale[slot.key] = value
        return UNDEFINED

    def _collect(self, index: int) -> None:
        if not isinstance(self.slots[index], Contents):
            collect(self.before[index], self._contents, set())

    def extend(self, slots: Sequence[Slot]) -> None:
        """Adds variables that a function called from the statement is about to change."""
        for slot in slots:
            if slot.entry.renewed:
                self.renewed.add(slot.key)
            if slot.key in self._keys or self.closed:
                continue
            owner = slot.owner
            if owner is not None and (owner in self.made or id(owner) in self._began):
                continue
            self._keys.add(slot.key)
            # What these held when the statement began is known.
            known = {id(self.slots[i].owner) for i in self._within(slot)}
            self.overlaps = self.overlaps or bool(known)
            self.slots.append(slot)
            self.before.append(self._first(slot))
            self.frozen.append(freeze(self.before[-1]))
            count = len(self._contents)
            self._collect(len(self.slots) - 1)
            self._contents[count:] = [pair for pair in self._contents[count:] if id(pair[0]) not in known]
            for container, held in self._contents[count:]:
                self._originals[id(container)] = self._began[id(container)] = (container, held)

    def _within(self, slot: Slot) -> list[int]:
        """The variables that are the contents of containers which another one holds."""
        if isinstance(slot, Contents) or not any(isinstance(s, Contents) for s in self.slots[self.own :]):
            return []
        found: list[tuple[Any, Any]] = []
        collect(slot.get(), found, set())
        held = {id(container) for container, _ in found}
        return [
            i
            for i, s in enumerate(self.slots)
            if i >= self.own
            and isinstance(s, Contents)
            and id(s.owner) in held
            and not any(container is s.owner for container in self._replaced())
        ]

    def joined(self) -> bool:
        """Sorts out which variables containers belong to; whether the statement must be traced again for it.

        A function that is given a container and changes it, and one that assigns to items of the attribute
        which holds it, change one variable. A container that one branch changes and another replaces by a
        new one is a variable beside that which holds it.
        """
        torn = [c for c in self._replaced() if c in self._changed and (id(c), None) not in self._keys]
        if not (self.overlaps or torn) or self.has_created():
            return False
        self.unsettle()
        self.restore()
        whole = {i for slot in self.slots for i in self._within(slot)}
        self.keep([i for i in range(len(self.slots)) if i not in whole])
        # As they are now: what they hold when the statement begins.
        for slot in map(Contents, torn):
            self.promoted.add(slot.key)
            self.slots.append(slot)
        self.overlaps = False
        self.begin()
        return True

    def again(self, attempts: int) -> None:
        """The statement is traced once more, after so many attempts, with what is known now."""
        self.restore()
        self.closed = attempts > _CLOSES_AFTER
        self.keep([i for i in range(len(self.slots)) if not self.is_made(i)])
        tracing.made.difference_update(self.made)
        self.made.clear()

    def keep(self, indices: list[int]) -> None:
        """Forgets all variables but some; its own are among these."""
        for values in (self.slots, self.before, self.frozen):
            values[:] = [values[i] for i in indices]
        self._keys = {slot.key for slot in self.slots}

    def is_made(self, index: int) -> bool:
        """Whether a variable is known to belong to an object that the statement made.

        Instances of converted classes are recorded (`made`), and tensors of a region that has ended tell.
        """
        owner = self.slots[index].owner
        return (
            owner is not None and index >= self.own and (owner in self.made or is_stale(self.frozen[index]))
        )

    def is_gone(self, index: int, reach: Reach) -> bool:
        """Whether a variable belongs to an object that nothing leads to once the bodies are undone.

        It is the body's that made it then, whichever code did: nobody sees what becomes of it.
        """
        owner = self.slots[index].owner
        if owner is None or index < self.own:
            return False
        if self.is_made(index):
            return True
        # What the traced function itself made is its own, and need not be looked for.
        if owner in tracing.made or owner in reach:
            return False
        for state in {self, *tracing.states}:
            state.made.add(owner)
        return True

    def is_python(self, index: int, value: Any, levels: int = 0) -> bool:
        """Whether a variable that came to hold another value remains Python's.

        That is so for variables of the engine that the statement creates, and for what a called function
        assigns unless tensors of the graph change: what is made in the `levels` innermost regions, or takes
        the place of another tensor.
        """
        before = self.frozen[index]
        if index < self.own:
            return _is_empty(before) and self.has_created() and holds_variables(value)
        if self.slots[index].key in self.promoted:
            return False
        if holds_variables(value) or (levels and is_stale(value)):
            return True
        leaves, old = leaves_of(value), leaves_of(before)
        if any(is_made_here(leaf, levels) for leaf in flatten(value)):
            return False
        if leaves is None:
            return True
        if old is None:
            return not self.is_renewed(index)
        if self.is_local(index):
            return False
        tensors = [isinstance(leaf, _core.Tensor) for leaf in (*leaves, *old)]
        return not (any(tensors[: len(leaves)]) and any(tensors[len(leaves) :]))

    def is_renewed(self, index: int) -> bool:
        """Whether a called function computes it from what it was, and it is of the traced function's."""
        return self.slots[index].key in self.renewed and self.is_local(index)

    def is_lost(self, index: int, value: Any) -> bool:
        """Whether a called function's assignment counts for the next iteration, which cannot see it.

        A tensor of a branch was left behind in an attribute, since it does not go together with what was
        there before; and the attribute is computed from what it was.
        """
        before = self.frozen[index]
        if index < self.own or not (type(value) is _core.Tensor and is_stale(value)):
            return False
        if _is_empty(before):
            return self.slots[index].key in self.renewed
        return isinstance(before, _core.Tensor | int | float) and self.is_read(index)

    def is_local(self, index: int) -> bool:
        """Whether it is a variable of the traced function, or of an object or container that this made."""
        slot = self.slots[index]
        if slot.owner is None:
            return isinstance(slot, Cell) and slot.cell not in tracing.outside
        if slot.owner in tracing.made:
            return True
        return isinstance(slot, Contents) and self._is_held_locally(slot.owner)

    def is_read(self, index: int) -> bool:
        """Whether an attribute is read, as far as the code of its class and what was called tell."""
        slot = self.slots[index]
        if not isinstance(slot, Attribute) or self.is_local(index):
            return True
        members = [vars(cls).values() for cls in type(slot.owner).__mro__]
        codes = [code for found in members for member in found for code in _codes_of(member)]
        return any(_reads_attribute(code, slot.name) for code in (*codes, *tracing.called))

    def holder_of(self, container: Any) -> Slot | None:
        """The variable, or the attribute of an object, that holds a container."""
        owners = [owner for owner in tracing.made if owner not in self.made]
        for name, cell in _cells_of(self.functions):
            held = _contents_of(cell)
            if held is container:
                return Cell(Entry(name, 0, 0), cell)
            owners.append(held)
        for owner in owners:
            for name, held in [*getattr(owner, "__dict__", {}).items()]:
                if held is container and not isinstance(owner, type | FunctionType | ModuleType):
                    return Attribute(Entry(f"the attribute '{name}'", 0, 0), owner, name)
        return None

    def _is_held_locally(self, container: Any) -> bool:
        """Whether a variable of the traced function, or an object that it made, has a container."""
        names = _local_names()
        held = [_contents_of(cell) for name, cell in _cells_of(self.functions) if name in names]
        made = [value for owner in tracing.made for value in [*getattr(owner, "__dict__", {}).values()]]
        return occurrences(container, [*held, *made]) > 0

    def has_created(self) -> bool:
        """Whether variables of the engine were created since the statement began."""
        return created.count != self._created

    def settle(self, values: Sequence[Any], levels: int = 0) -> bool:
        """Has what remains Python's begin with its value at the end of a body; whether anything does."""
        some = False
        for i in range(0 if self.has_created() else self.own, len(values)):
            value = values[i]
            if not same(value, self.frozen[i]) and self.is_python(i, value, levels):
                self._settled.append((i, self.before[i], self.frozen[i]))
                self.before[i], self.frozen[i] = self._kept(i, value), value
                some = True
        return some

    def _kept(self, index: int, value: Any) -> Any:
        """What to hold for a value that was read: the container itself, not a copy."""
        slot = self.slots[index]
        if isinstance(slot, Contents):
            return value
        found = slot.get()
        dropped = [pair for pair in self._contents if pair[0] is found]
        added: list[tuple[Any, Any]] = []
        collect(found, added, set())
        self._contents = [pair for pair in self._contents if pair[0] is not found] + added
        self._settled_contents.append((added, dropped))
        return found

    def unsettle(self) -> None:
        """Has what was settled begin as it did before, since the bodies are traced anew.

        Where variables of the engine were created the effects on Python stay, and the trace goes on from
        there.
        """
        if not self.has_created():
            for i, before, frozen in reversed(self._settled):
                self.before[i], self.frozen[i] = before, frozen
            for added, dropped in reversed(self._settled_contents):
                mine = {id(pair) for pair in added}
                self._contents = [pair for pair in self._contents if id(pair) not in mine] + dropped
        self._settled, self._settled_contents = [], []

    def replace(self, index: int, value: Any) -> None:
        """Has a variable begin with another value."""
        slot = self.slots[index]
        if isinstance(slot, Contents):
            found = self.holder_of(slot.owner)
            if found is None:
                raise TypeError(
                    f"{list_label(slot.entry.name)} cannot change its length under a condition on tensors, "
                    "or in a loop on them: make it a variable, or an attribute that can be set"
                )
            slot = self.slots[index] = found
            touch([slot])
        self.promoted.add(slot.key)
        tracing.replaced.append((slot, slot.get()))
        slot.put(value)
        self.begin()

    def restore(self) -> None:
        """Gives every variable, and every container in them, what it held at the beginning."""
        pairs = list(zip(self.slots, self.before, strict=True))
        for slot, value in pairs:
            # They may hold containers of other variables, which come after them.
            if isinstance(slot, Contents):
                refill(slot.owner, slot.first)
                slot.put(value)
        for container, contents in self._contents:
            refill(container, contents)
        for slot, value in pairs:
            if not isinstance(slot, Contents):
                slot.put(self._stale.get(slot.key, UNDEFINED) if value is UNDEFINED else value)

    def note_left(self, statement: str) -> None:
        """Notes which variables of Python hold tensors of the statement once it has ended.

        Args:
            statement: what kind of statement it is, and where.
        """
        for slot in self.slots[self.own :]:
            value = self._now(slot)
            if not is_stale(value):
                continue
            kind, name = statement.partition(" at ")[0], label(slot.entry.name)
            message = (
                f"{name} got a tensor within {statement}, which depends on a tensor: a graph has none for it "
                f"where that code does not run. Give {name} a tensor before {kind}"
            )
            tracing.notes.append(Note(slot, message, value))

    def _replaced(self) -> list[Any]:
        """The containers that a body replaces by others."""
        return [c for place, c in self.replaced.items() if place not in self._untouched]

    def guess_replaced(self) -> None:
        """Takes containers of variables that the body of a loop binds for replaced, unless that was wrong."""
        self._untouched.clear()
        for slot, value in zip(self.slots, self.before, strict=True):
            if slot.entry.bound and type(value) in CONTAINERS and slot.key not in self._in_place:
                self.replaced[slot.key] = value

    def enter(self, index: int, value: Any) -> None:
        """Has a body begin with a value of a variable."""
        self.write(index, value)
        if isinstance(self.slots[index], Contents):
            return
        self._entered[index] = now = self.slots[index].get()
        contents: list[tuple[Any, Any]] = []
        collect(now, contents, set())
        self._began.update(snapshots(contents))

    def entered(self) -> None:
        """Notes what a body begins with, once all of its variables have been entered."""
        self._guessed = {
            slot.key: freeze_one(value)
            for slot, value in zip(self.slots, self.before, strict=True)
            if slot.key in self.replaced and type(value) in CONTAINERS
        }

    def end_loop(self) -> None:
        """Has containers keep their identity that no iteration replaces."""
        for place in self._untouched:
            self.replaced.pop(place, None)

    def read(self) -> list[Any]:
        """What the variables hold at the end of a body, containers copied."""
        seen = set[Any]()
        for i, slot in enumerate(self.slots):
            before = self.before[i]
            if isinstance(slot, Contents):
                container = slot.owner
                self._follow_items(container, slot.first, slot.first, container, False, seen)
            elif type(before) in CONTAINERS:
                entered = self._entered.get(i, before)
                self._follow(slot.key, before, entered, slot.get(), i in self._entered, seen)
        return [freeze(self._now(slot)) for slot in self.slots]

    def _follow(self, place: Any, before: Any, entered: Any, now: Any, carried: bool, seen: set[Any]) -> None:
        """Finds out whether a body has changed or replaced a container, and those in it.

        Args:
            place: the key of the variable that holds it, or a container and the key in it.
            before: what the place held before the statement.
            entered: what it held when the body began.
            now: what it holds at the end of the body.
            carried: whether the body is that of a loop which carries it.
            seen: the places that have been looked at.
        """
        if type(before) not in CONTAINERS or place in seen:
            return
        seen.add(place)
        _, began = self._began.get(id(entered), (entered, entered))
        _, first = self._originals.get(id(before), (before, before))
        grows = type(before) is TensorList or len(before) != len(first)
        if not (carried or grows or holds_alike(before, first)):
            self._changed.add(before)
        if now is not entered:
            self._untouched.discard(place)
            if place not in self.replaced:
                self.replaced[place] = before
                self.misled = self.misled or carried
        elif carried and place in self.replaced:
            # Another name of the container may have changed it meanwhile, too.
            if holds_alike(now, began) and holds_alike(before, self._guessed.get(place, before)):
                self._untouched.add(place)
            else:
                self._keep_in_place(place)
        self._follow_items(before, first, began, now, carried, seen)

    def _keep_in_place(self, place: Any) -> None:
        """Has a body begin with the container itself that it was taken to replace by another one."""
        if place in self._in_place:
            names = [label(slot.entry.name) for slot in self.slots if slot.key == place]
            raise TypeError(
                f"{names[0] if names else 'a variable'} may become another list or dict in an iteration of "
                "a loop on tensors, and the one that it holds before is changed by another name: give it a "
                "copy of that before the loop"
            )
        del self.replaced[place]
        self._in_place.add(place)
        self.misled = True

    def _follow_items(
        self, before: Any, first: Any, began: Any, now: Any, carried: bool, seen: set[Any]
    ) -> None:
        """Finds out the same of the items of a container, which held `first` and then `began`."""
        keys: Iterable[Any] = ()
        if type(before) is dict is type(now) is type(began):
            keys = first.keys() & now.keys() & began.keys()
        elif type(before) is list is type(now) is type(began):
            keys = range(min(len(first), len(now), len(began)))
        for key in keys:
            self._follow(("in", id(before), key), first[key], began[key], now[key], carried, seen)

    def _now(self, slot: Slot) -> Any:
        """What a variable holds, but for what another trace has left behind."""
        value = slot.get()
        return UNDEFINED if slot.key in self._stale and value is self._stale[slot.key] else value

    def write(self, index: int, value: Any) -> None:
        """Sets a variable: a container that it held all along keeps its identity."""
        slot = self.slots[index]
        if isinstance(slot, Contents):
            with_identity(slot.owner, value, slot.key, self.replaced)
        else:
            slot.put(with_identity(self.before[index], value, slot.key, self.replaced))


def _is_empty(value: Any) -> bool:
    """Whether a variable has no value, or None."""
    return value is None or value is UNDEFINED


def _codes_of(member: Any) -> Iterator[CodeType]:
    """The code of a member of a class."""
    parts = (
        (member.fget, member.fset) if isinstance(member, property) else (getattr(member, "__func__", member),)
    )
    for part in parts:
        code = getattr(getattr(part, "python_function", part), "__code__", None)
        if isinstance(code, CodeType):
            yield code


def _reads_attribute(code: CodeType, name: str) -> bool:
    """Whether code loads an attribute of a name, or has the name as a text."""
    import dis  # for attributes without a value alone: start-up does without it

    if name in code.co_names and any(
        found.argval == name and found.opname.startswith("LOAD") for found in dis.get_instructions(code)
    ):
        return True
    return any(
        _reads_attribute(inner, name) if isinstance(inner, CodeType) else inner == name and type(inner) is str
        for inner in code.co_consts
    )


def _contents_of(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNDEFINED


def _cells_of(functions: Sequence[Any]) -> Iterator[tuple[str, CellType]]:
    """The cells that functions close over, and those of the functions in these, with their names."""
    for function in functions:
        if function is None:
            continue
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield name, cell
            held = _contents_of(cell)
            if type(held) is FunctionType:
                yield from zip(held.__code__.co_freevars, held.__closure__ or (), strict=True)


def _local_names() -> tuple[str, ...]:
    """The variables, shared with functions in it, of the function of the user's that runs."""
    from penstock.autograph._convert import is_own, is_part  # start-up does without it

    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_own(frame.f_code) or is_part(frame.f_code)):
        frame = frame.f_back
    return () if frame is None else frame.f_code.co_cellvars
