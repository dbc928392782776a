"""Where the variables of traced statements live, and what the innermost trace of a thread knows."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Sequence
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock._runtime.identity import Identities
from penstock.autograph._containers import collect
from penstock.autograph._lists import TensorList
from penstock.autograph._values import UNDEFINED, freeze, freeze_one, with_identity

if TYPE_CHECKING:
    from penstock.autograph._state import State

__all__ = [
    "Attribute",
    "Attributes",
    "Cell",
    "Contents",
    "Entries",
    "Entry",
    "Held",
    "Note",
    "Slot",
    "attribute_of",
    "fresh",
    "put_back",
    "slots_of",
    "touch",
    "touch_container",
    "tracing",
    "unset_name",
]


class Entry(NamedTuple):
    """A variable that a statement assigns.

    Attributes:
        name: the name, or `base.attribute`.
        first: the line that assigns it in the body, 0 if none does.
        second: the line that assigns it in the `else` part, 0 if none does.
        live: whether it may be read after the statement, or in a later iteration; None if that is so of a
            container that it holds before.
        after: whether it may be read after the statement.
        held: whether only functions that the statement makes may read it then.
        renewed: whether a function computes it from what it was, rather than set it once.
        bound: whether a loop's body binds the name, so that the variable may come to hold another container.
    """

    name: str
    first: int
    second: int
    live: bool | None = True
    after: bool = True
    held: bool = False
    renewed: bool = False
    bound: bool = False


# How converted code describes the variables of a statement: the fields of their entries; of an attribute,
# what computes the object, and the name, as well.
Entries = Sequence[tuple[Any, ...]]
Attributes = Sequence[tuple[Callable[[], Any], str, tuple[Any, ...]]]


class Slot:
    """The place of a variable. Each subclass says how it is read and written.

    Attributes:
        entry: what is known of the variable.
        get: gives its value, `UNDEFINED` where it has none.
        set: gives it a value.
        clear: leaves it without a value.
    """

    get: Callable[[], Any]
    set: Callable[[Any], None]
    clear: Callable[[], None]

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    @property
    def key(self) -> Any:
        """What tells it from other variables."""
        return id(self)

    @property
    def owner(self) -> Any:
        """The object that it belongs to; None for a variable of a function."""
        return None

    def put(self, value: Any) -> None:
        """Sets the variable, or leaves it without a value."""
        if value is UNDEFINED:
            self.clear()
        else:
            self.set(value)


_UNSET = re.compile(r"variable '(\w+)'")


def unset_name(error: NameError) -> str | None:
    """The variable that an error says has no value."""
    found = _UNSET.search(str(error))
    return found.group(1) if found else getattr(error, "name", None)


class Note(NamedTuple):
    """Why a variable has no value.

    Attributes:
        slot: the variable.
        message: the reason.
        left: what it holds nevertheless, with tensors that are out of scope; None where it holds nothing.
    """

    slot: Slot
    message: str
    left: Any = None


class _Known:
    """What a trace knows, as it begins."""

    def __init__(self) -> None:
        # Variables that a traced statement left without a value, newest last.
        self.notes: list[Note] = []
        # How many regions of control flow are open.
        self.depth = 0
        # The states of the statements that are traced, outermost first.
        self.states: list[State] = []
        # How many `raise` statements have become part of a graph.
        self.raises = 0
        # For each `try` whose body runs, outermost first: what gives its handlers.
        self.attempts: list[Any] = []
        # Whether what is traced is thrown away, for the types of its variables alone.
        self.looking = False
        # Whether the function that is traced was converted.
        self.converting = False
        # The objects that the traced function has made.
        self.made: Identities[Any] = Identities()
        # Variables that hold a list of the graph in place of Python's, and that one.
        self.replaced: list[tuple[Slot, Any]] = []
        # What loops made of variables that are None before them, by place: a guess for the next time.
        self.guesses: dict[str, dict[int, Any]] = {}
        # The code that it has called.
        self.called: Identities[CodeType] = Identities()
        # The cells of functions from outside that it has called.
        self.outside: Identities[CellType] = Identities()


class _Tracing(_Known, threading.local):
    """What the innermost trace of the thread knows."""


tracing = _Tracing()


def put_back(arguments: Sequence[Any]) -> None:
    """Has variables that outlive the trace hold Python's lists again in place of the graph's.

    A list among the arguments of the trace has been changed then, as the function that checks them shall see.
    """
    given: list[tuple[Any, Any]] = []
    for value in arguments:
        collect(value, given, set())
    for slot, value in reversed(tracing.replaced):
        grown = slot.get()
        if type(grown) is TensorList:
            slot.put(value)
            if any(value is container for container, _ in given):
                value.append(grown)


def fresh() -> dict[str, Any]:
    """What a trace begins with; exceptions that it raises are those of the trace around it, too."""
    return {**vars(_Known()), "raises": tracing.raises}


class Cell(Slot):
    def __init__(self, entry: Entry, cell: CellType) -> None:
        super().__init__(entry)
        self.cell = cell

    @property
    def key(self) -> Any:
        return id(self.cell)

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNDEFINED

    def set(self, value: Any) -> None:
        self.cell.cell_contents = value

    def clear(self) -> None:
        with contextlib.suppress(ValueError):
            del self.cell.cell_contents


class Held(Slot):
    """A value that is in no variable of the user's.

    Attributes:
        value: what it is.
    """

    def __init__(self, entry: Entry, value: Any = UNDEFINED) -> None:
        super().__init__(entry)
        self.value = value

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value

    def clear(self) -> None:
        self.value = UNDEFINED


class _Global(Slot):
    def __init__(self, entry: Entry, namespace: dict[str, Any]) -> None:
        super().__init__(entry)
        self.namespace = namespace

    @property
    def key(self) -> Any:
        return id(self.namespace), self.entry.name

    def get(self) -> Any:
        return self.namespace.get(self.entry.name, UNDEFINED)

    def set(self, value: Any) -> None:
        self.namespace[self.entry.name] = value

    def clear(self) -> None:
        self.namespace.pop(self.entry.name, None)


class Attribute(Slot):
    def __init__(self, entry: Entry, base: Any, name: str) -> None:
        super().__init__(entry)
        self._owner, self.name = base, name

    @property
    def key(self) -> Any:
        return id(self._owner), self.name

    @property
    def owner(self) -> Any:
        return self._owner

    def get(self) -> Any:
        return getattr(self._owner, self.name, UNDEFINED)

    def set(self, value: Any) -> None:
        if self.get() is not value:
            setattr(self._owner, self.name, value)

    def clear(self) -> None:
        if hasattr(self._owner, self.name):
            delattr(self._owner, self.name)


def attribute_of(base: Any, name: str) -> Slot:
    """An attribute of an object."""
    return Attribute(Entry(f"the attribute '{name}'", 0, 0), base, name)


class Contents(Slot):
    """What a container holds that no variable of the statement is known to hold.

    Attributes:
        first: a copy of it when the statement began, with the same containers in it.
    """

    def __init__(self, container: Any, entry: Entry | None = None) -> None:
        super().__init__(entry or Entry(f"the contents of a {type(container).__name__}", 0, 0))
        self._owner = container
        self.first = freeze_one(container)

    @property
    def key(self) -> Any:
        return id(self._owner), None

    @property
    def owner(self) -> Any:
        return self._owner

    def get(self) -> Any:
        return freeze(self._owner)

    def set(self, value: Any) -> None:
        with_identity(self._owner, value)

    def clear(self) -> None:
        """A container is never without contents."""


def slots_of(
    functions: Sequence[Any],
    entries: Entries,
    attributes: Attributes = (),
) -> list[Slot]:
    """The variables of a statement: cells that `functions` close over, globals, and attributes.

    The first of the functions says which globals; those that are None count for nothing.
    """
    namespace = functions[0].__globals__
    cells: dict[str, CellType] = {}
    for function in functions:
        if function is not None:
            cells.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    slots: list[Slot] = []
    for raw in entries:
        entry = Entry(*raw)
        cell = cells.get(entry.name)
        slot: Slot
        if cell is not None:
            slot = Cell(entry, cell)
        else:
            slot = _Global(entry, namespace)
        if entry.live is None:
            slot.entry = entry._replace(live=type(slot.get()) in (list, dict, TensorList))
        slots.append(slot)
    for base, attribute, raw in attributes:
        try:
            found = base()
        except (NameError, AttributeError):
            continue
        if isinstance(found, tuple):
            # A named tuple does not change, but containers in it do.
            held = getattr(found, attribute, None)
            if type(held) in (list, dict, TensorList):
                slots.append(Contents(held, Entry(*raw)))
        else:
            slots.extend(Attribute(Entry(*raw), found, name) for name in _stored_by(found, attribute))
    return slots


def _stored_by(target: Any, attribute: str) -> Sequence[str]:
    """The attributes that an assignment to one changes: of a property, those that its setter assigns."""
    member = getattr(type(target), attribute, None)
    if not isinstance(member, property):
        return (attribute,)
    code = getattr(member.fset, "__code__", None)
    if not isinstance(code, CodeType) or not code.co_argcount:
        return ()
    import dis  # for properties alone: start-up does without it

    stored = {at.argval for at in dis.get_instructions(code) if at.opname == "STORE_ATTR"}
    return sorted(name for name in stored if not isinstance(getattr(type(target), name, None), property))


def touch(slots: Sequence[Slot]) -> None:
    """Says which variables a function is about to change, to the statements that are traced."""
    for state in tracing.states:
        state.extend(slots)


def touch_container(container: Any) -> None:
    """Says that the contents of a container are about to change, to the statements that are traced."""
    if tracing.states and type(container) in (list, dict, TensorList):
        touch([Contents(container)])
