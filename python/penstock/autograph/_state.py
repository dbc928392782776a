"""The variables of a statement: read, written and compared while its bodies are traced."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any, NamedTuple

from penstock import _composite, _core, raw_ops
from penstock._classes import with_fields
from penstock._spec import TensorSpec
from penstock.autograph._jumps import RESULT
from penstock.autograph._lists import TensorList

__all__ = [
    "UNDEFINED",
    "Attributes",
    "Entries",
    "Entry",
    "Held",
    "Note",
    "Slot",
    "State",
    "check_alike",
    "describe",
    "flatten",
    "freeze",
    "label",
    "leaves_of",
    "pack",
    "same",
    "spec_of",
    "tensor_like",
    "tracing",
    "zeros",
]


class _Undefined:
    """Stands for a variable without a value."""

    def __repr__(self) -> str:
        return "<undefined>"


UNDEFINED = _Undefined()


class Entry(NamedTuple):
    """A variable that a statement assigns.

    Attributes:
        name: the name, or `base.attribute`.
        first: the line that assigns it in the body, 0 if none does.
        second: the line that assigns it in the `else` part, 0 if none does.
        live: whether it may be read after the statement, or in a later iteration.
        after: whether it may be read after the statement.
        held: whether only functions that the statement makes may read it then.
    """

    name: str
    first: int
    second: int
    live: bool
    after: bool
    held: bool = False

    @classmethod
    def of(cls, text: str) -> Entry:
        """The variable that converted code describes."""
        name, first, second, *flags = text.split()
        return cls(name, int(first), int(second), "live" in flags, "after" in flags, "held" in flags)


# How converted code describes the variables of a statement: texts that `Entry.of` reads; of an attribute,
# what computes the object, and the name, as well.
Entries = Sequence[str]
Attributes = Sequence[tuple[Callable[[], Any], str, str]]


class Slot:
    """Where a variable lives."""

    def __init__(self, entry: Entry, file: str) -> None:
        self.entry = entry
        self.file = file

    def get(self) -> Any:
        raise NotImplementedError

    @property
    def key(self) -> Any:
        """What tells it from other variables."""
        return id(self)

    def first(self) -> Any:
        """What it holds when a statement begins."""
        return self.get()

    def set(self, value: Any) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError

    def holders(self) -> int:
        """How many objects refer to the variable, for comparison."""
        return 0

    def put(self, value: Any) -> None:
        """Sets the variable, or leaves it without a value."""
        if value is UNDEFINED:
            self.clear()
        else:
            self.set(value)


class Note(NamedTuple):
    """Why a variable has no value."""

    slot: Slot
    message: str


class _Tracing(threading.local):
    """What the thread's open traces know."""

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


tracing = _Tracing()


class _Cell(Slot):
    def __init__(self, entry: Entry, file: str, cell: CellType) -> None:
        super().__init__(entry, file)
        self.cell = cell

    @property
    def key(self) -> Any:
        return id(self.cell)

    def holders(self) -> int:
        return sys.getrefcount(self.cell)

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

    def __init__(self, entry: Entry, file: str, value: Any = UNDEFINED) -> None:
        super().__init__(entry, file)
        self.value = value

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value

    def clear(self) -> None:
        self.value = UNDEFINED


class _Global(Slot):
    def __init__(self, entry: Entry, file: str, namespace: dict[str, Any]) -> None:
        super().__init__(entry, file)
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


class _Attribute(Slot):
    def __init__(self, entry: Entry, file: str, base: Any, name: str) -> None:
        super().__init__(entry, file)
        self.base, self.name = base, name

    @property
    def key(self) -> Any:
        return id(self.base), self.name

    def get(self) -> Any:
        return getattr(self.base, self.name, UNDEFINED)

    def first(self) -> Any:
        value = self.get()
        if isinstance(value, _core.Tensor) and value._is_symbolic:
            try:
                raw_ops.identity(value)
            except (TypeError, ValueError):
                # Left behind by another trace: of no use in this one.
                return UNDEFINED
        return value

    def set(self, value: Any) -> None:
        if self.get() is not value:
            setattr(self.base, self.name, value)

    def clear(self) -> None:
        if hasattr(self.base, self.name):
            delattr(self.base, self.name)


def slots_of(
    functions: Sequence[Any],
    entries: Entries,
    attributes: Attributes = (),
) -> list[Slot]:
    """The variables of a statement: cells that `functions` close over, globals, and attributes.

    The first of the functions says which globals; those that are None count for nothing.
    """
    code, namespace = functions[0].__code__, functions[0].__globals__
    cells: dict[str, CellType] = {}
    for function in functions:
        if function is not None:
            cells.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    slots: list[Slot] = []
    for raw in entries:
        entry = Entry.of(raw)
        cell = cells.get(entry.name)
        if cell is not None:
            slots.append(_Cell(entry, code.co_filename, cell))
        else:
            slots.append(_Global(entry, code.co_filename, namespace))
    for base, attribute, raw in attributes:
        try:
            found = base()
        except (NameError, AttributeError):
            continue
        if getattr(getattr(type(found), attribute, None), "fset", found) is not None:
            slots.append(_Attribute(Entry.of(raw), code.co_filename, found, attribute))
    return slots


def _is_gone(slot: Slot, before: Any) -> bool:
    """Whether a variable began with a value that is no longer to be had."""
    return before is not UNDEFINED and slot.first() is UNDEFINED


class State:
    """The variables of a statement, with the values that they have when it begins."""

    def __init__(
        self,
        functions: Sequence[Any],
        entries: Entries,
        attributes: Attributes = (),
    ) -> None:
        self.slots = slots_of(functions, entries, attributes)
        self.begin()

    @classmethod
    def of(cls, slots: list[Slot]) -> State:
        """The state that is made of some slots."""
        self = cls.__new__(cls)
        self.slots = slots
        self.begin()
        return self

    def begin(self) -> None:
        """Takes what the variables hold for what the statement begins with."""
        self.before = [slot.first() for slot in self.slots]
        # The same with containers copied, since they may change.
        self.frozen = [freeze(value) for value in self.before]
        self._keys = {slot.key for slot in self.slots}
        # Objects that are made while the statement is traced, by identity: theirs are no variables of it.
        self.made: dict[int, Any] = {}
        # The attributes that functions called from the statement change; those in this attempt to trace it.
        self._added: list[_Attribute] = []
        self._touched: set[Any] = set()
        # Containers may be changed in place; their contents are part of the state.
        self._contents: list[tuple[Any, Any]] = []
        for value in self.before:
            _collect(value, self._contents, set())

    def extend(self, slots: Sequence[Slot]) -> None:
        """Adds variables that a function called from the statement is about to change."""
        for slot in slots:
            self._touched.add(slot.key)
            if slot.key in self._keys:
                continue
            if isinstance(slot, _Attribute):
                if self._is_new(slot):
                    continue
                self._added.append(slot)
            self._keys.add(slot.key)
            self.slots.append(slot)
            value = slot.first()
            self.before.append(value)
            self.frozen.append(freeze(value))
            _collect(value, self._contents, set())

    def again(self) -> None:
        """The statement is traced once more, with the variables that were found."""
        self.restore()
        self._touched = set()
        # What only the last attempt could see belonged to an object that it made.
        gone = {
            s for s, old in zip(self.slots, self.before, strict=True) if s in self._added and _is_gone(s, old)
        }
        kept = [i for i, slot in enumerate(self.slots) if slot not in gone]
        for values in (self.slots, self.before, self.frozen):
            values[:] = [values[i] for i in kept]

    def _is_new(self, slot: _Attribute) -> bool:
        """Whether an attribute is one of an object that the statement makes: each attempt has another one."""
        return id(slot.base) in self.made or any(
            old.name == slot.name and type(old.base) is type(slot.base) and old.key not in self._touched
            for old in self._added
        )

    def replace(self, index: int, value: Any) -> None:
        """Has a variable begin with another value."""
        self.slots[index].put(value)
        self.begin()

    def restore(self) -> None:
        """Gives every variable, and every container in them, what it held at the beginning."""
        for container, contents in self._contents:
            _refill(container, contents)
        for slot, value in zip(self.slots, self.before, strict=True):
            slot.put(value)

    def read(self) -> list[Any]:
        """What the variables hold, containers copied."""
        return [freeze(slot.get()) for slot in self.slots]

    def write(self, index: int, value: Any) -> None:
        """Sets a variable for good: a container that it held all along keeps its identity."""
        before = self.before[index]
        if type(before) in (list, dict, TensorList) and type(before) is type(value):
            _refill_all(before, value)
            value = before
        self.slots[index].put(value)


def _collect(value: Any, out: list[tuple[Any, Any]], seen: set[int]) -> None:
    kind = type(value)
    if kind in (list, dict, TensorList):
        if id(value) in seen:
            return
        seen.add(id(value))
        out.append((value, freeze_one(value)))
        if kind is TensorList:
            return
        for item in value.values() if kind is dict else value:
            _collect(item, out, seen)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, out, seen)
    elif _composite.is_record(value) and id(value) not in seen:
        seen.add(id(value))
        out.append((value, _composite.fields(value)))
        for item in _composite.fields(value).values():
            _collect(item, out, seen)


def freeze_one(container: Any) -> Any:
    """A copy of a container, with the same elements."""
    return container.copy()


def _refill(container: Any, contents: Any) -> None:
    """Gives a container other contents."""
    if type(container) is TensorList:
        container.refill(contents)
    elif type(container) is list:
        container[:] = contents
    elif type(container) is not dict:
        for name, value in contents.items():
            object.__setattr__(container, name, value)
    else:
        items = dict(contents)
        container.clear()
        container.update(items)


def _refill_all(container: Any, contents: Any) -> None:
    """Gives a container, and those in it, other contents: each keeps its identity."""
    if type(container) is list:
        contents = [
            _with_identity(container[i], v) if i < len(container) else v for i, v in enumerate(contents)
        ]
    elif type(container) is dict:
        contents = {k: _with_identity(container.get(k), v) for k, v in contents.items()}
    _refill(container, contents)


def _with_identity(old: Any, new: Any) -> Any:
    if type(old) in (list, dict, TensorList) and type(old) is type(new):
        _refill_all(old, new)
        return old
    return new


def freeze(value: Any) -> Any:
    """A value, with the containers in it copied."""
    kind = type(value)
    if kind is list:
        return [freeze(v) for v in value]
    if kind is dict:
        return {k: freeze(v) for k, v in value.items()}
    if kind is tuple:
        return tuple(freeze(v) for v in value)
    if kind is TensorList:
        return value.copy()
    if _composite.is_record(value):
        return with_fields(value, {k: freeze(v) for k, v in _composite.fields(value).items()})
    return value


def flatten(value: Any) -> list[Any]:
    """The leaves of a value."""
    return _composite.flatten(value) if _composite.is_structured(value) else [value]


def pack(structure: Any, leaves: list[Any]) -> Any:
    """A value like `structure` with other leaves."""
    return _composite.pack(structure, leaves) if _composite.is_structured(structure) else leaves[0]


def check_alike(a: Any, b: Any) -> None:
    """Raises a ValueError or TypeError unless two values have one structure."""
    if _composite.is_structured(a) or _composite.is_structured(b):
        _composite.check_alike(a, b)


def tensor_like(value: Any) -> bool:
    """Whether a leaf can become a tensor."""
    if isinstance(value, _core.Tensor | _core._Variable | bool | int | float | complex | str | bytes):
        return True
    return _composite.is_array(value)


def leaves_of(value: Any) -> list[Any] | None:
    """The leaves of a value, all of which can become tensors; None where one cannot."""
    if value is UNDEFINED or value is None:
        return None
    leaves = flatten(value)
    return leaves if all(map(tensor_like, leaves)) else None


def same(a: Any, b: Any) -> bool:
    """Whether two values need not be told apart: they are one object, or equal Python values."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in (int, float, bool, str, bytes, complex):
        return bool(a == b) and repr(a) == repr(b)
    if kind in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if kind is dict:
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    return _composite.is_record(a) and same(_composite.fields(a), _composite.fields(b))


def zeros(spec: Any) -> Any:
    """A tensor of a dtype and shape, where sizes that are unknown are 0."""
    dtype = spec.dtype
    if dtype == _core.variant:
        return raw_ops.list_new(0)
    value: Any = "" if dtype == _core.string else False if dtype == _core.bool else 0
    dims = spec.shape.dims or []
    scalar = _core._convert(value, dtype)
    return raw_ops.fill([d or 0 for d in dims], scalar) if dims else scalar


def label(name: str) -> str:
    """How messages call a variable."""
    if name == RESULT:
        return "the return value"
    return name if " " in name else f"'{name}'"


def describe(value: Any) -> str:
    """A value in a message: type and shape of a tensor, else itself."""
    if value is UNDEFINED:
        return "no value"
    if isinstance(value, _core.Tensor | _core._Variable):
        return f"a tensor of dtype {value.dtype.name} and shape {value.shape}"
    if isinstance(value, FunctionType):
        return f"the function {value.__qualname__.rpartition('.')[2]}"
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"


def spec_of(value: Any) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype)
