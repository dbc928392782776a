"""`guard="globals"`: the places besides its arguments that a function's code reads.

The code is read, not run. Guarded is every chain that the function, or a function that it calls in such a
way, can load, with what only untaken branches read:

- it starts from a global name, a closure cell, or a parameter's argument that is an object, such as `self`;
- it goes on by attributes that are stored in an object, a class or a module, and by elements of dicts, lists
  and tuples under keys that stand in the code (`CONFIG["layers"][0].units`);
- a local variable that is assigned once, from such a chain, stands for it (`cfg = self.config`, `cfg.rate`);
- a property, a method, or an object that is called is followed into its own code.

What is at the end counts by value where it is a literal or a container of literals (up to 64 items, four
levels), else by identity. Not seen are what code computes (an element under a variable key, what a call
returns), and what libraries read. A builtin counts where a global of its name hides it when tracing starts.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Collection, Iterator, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from penstock import _core
from penstock._types.argument_kinds import argument_kind

__all__ = ["places"]

# At most so many functions are followed, and places listed.
_MOST_FUNCTIONS = 1000
_MOST_PLACES = 10_000


# An attribute by its name, or an element of a container by a tuple of its key.
Step = str | tuple[str | int]


class Place(NamedTuple):
    """A place, as the engine takes it.

    Attributes:
        kind: `global`, `cell`, `argument` or `object`: what the root is.
        root: a module's dict, a cell, a parameter's position, or an object.
        attributes: the steps from there, for a global after its own name: an attribute's name, or a tuple of
            an element's key.
        label: the place as it is written in a program.
    """

    kind: str
    root: Any
    attributes: tuple[Step, ...]
    label: str


class _Chain(NamedTuple):
    """A name that code loads, and the attributes that it takes of it."""

    scope: str  # "global", "cell" or "local"
    name: str
    attributes: tuple[Step, ...]


# Methods of containers that change them and tell little of what is in them: a log that grows is no reason
# to retrace.
_MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "remove", "update"}
)

_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_CELL = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_LOCAL = frozenset(
    {
        "LOAD_FAST",
        "LOAD_FAST_CHECK",
        "LOAD_FAST_BORROW",
        "LOAD_FAST_LOAD_FAST",
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    }
)
_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_CONSTANT = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_WRITES_ELEMENT = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR"})
_BETWEEN = frozenset({"CACHE", "NOP", "PUSH_NULL", "EXTENDED_ARG"})


def _chains(code: CodeType) -> Iterator[_Chain]:
    """What code loads, and the code within it."""
    aliases = _aliases(code)
    for chain, _ in _loads(code):
        if chain.scope == "local" and chain.name in aliases:
            of = aliases[chain.name]
            yield of._replace(attributes=(*of.attributes, *chain.attributes))
        else:
            yield chain
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for chain in _chains(constant):
                # The locals of inner code are not those of this one.
                if chain.scope != "local":
                    yield chain


def _aliases(code: CodeType) -> dict[str, _Chain]:
    """The local variables that are assigned once, with the chain that each stands for."""
    starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]
    writes = dict.fromkeys(parameters, 1)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE_FAST", "DELETE_FAST")):
            names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            for name in names:
                writes[name] = writes.get(name, 0) + 1
    found: dict[str, _Chain] = {}
    for chain, stored in _loads(code):
        if stored is None or writes.get(stored) != 1:
            continue
        if chain.scope == "local" and chain.name in found:
            of = found[chain.name]
            chain = of._replace(attributes=(*of.attributes, *chain.attributes))
        found[stored] = chain
    return found


def _loads(code: CodeType) -> Iterator[tuple[_Chain, str | None]]:
    """The chains of a piece of code, each with the local variable that it is assigned to at once, or None."""
    current: _Chain | None = None
    key: Any = None  # a constant after the chain, which may be that of an element
    for instruction in dis.get_instructions(code):
        op, value = instruction.opname, instruction.argval
        if op in _BETWEEN:
            continue
        if current is not None and key is None:
            if op in _ATTRIBUTE:
                current = current._replace(attributes=(*current.attributes, str(value)))
                continue
            if op in _CONSTANT and type(value) in (str, int):
                key = (value,)
                continue
        elif current is not None:
            if op == "BINARY_SUBSCR" or (op == "BINARY_OP" and instruction.argrepr == "[]"):
                current, key = current._replace(attributes=(*current.attributes, key)), None
                continue
            if op in _WRITES_ELEMENT:
                current = key = None
                continue
        if current is not None:
            yield current, value if op == "STORE_FAST" and key is None else None
            current = key = None
        name = value[-1] if isinstance(value, tuple) else value
        if op in _GLOBAL:
            current = _Chain("global", str(name), ())
        elif op in _CELL:
            current = _Chain("cell", str(name), ())
        elif op in _LOCAL:
            current = _Chain("local", str(name), ())
    if current is not None:
        yield current, None


def _element(value: Any, key: str | int) -> bool:
    """Whether a container of Python's own holds an element under the key."""
    if type(value) is dict:
        return key in value
    return type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value)


class _Listing:
    """The places found so far."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, Any, tuple[Step, ...]], Place] = {}
        self.seen: set[tuple[int, int | None]] = set()

    def add(self, kind: str, root: Any, attributes: tuple[Step, ...], label: str) -> None:
        key = kind, root if kind == "argument" else id(root), attributes
        if len(self.places) < _MOST_PLACES:
            self.places.setdefault(key, Place(kind, root, attributes, label))

    def function(self, function: FunctionType, parameters: dict[str, tuple[Any, int | None]]) -> None:
        """Lists what a function reads; `parameters` gives the value of some, and which argument it is."""
        own = next(iter(parameters.values()), (None, None))[0]
        key = id(function.__code__), None if own is None else id(own)
        if key in self.seen or len(self.seen) >= _MOST_FUNCTIONS or not _is_users(function):
            return
        self.seen.add(key)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        called = []
        for chain in _chains(function.__code__):
            found = self._chain(function, cells, parameters, chain)
            if found is not None:
                called.append(found)
        for target in called:
            self.callee(target)

    def _chain(
        self,
        function: FunctionType,
        cells: dict[str, Any],
        parameters: dict[str, tuple[Any, int | None]],
        chain: _Chain,
    ) -> Any:
        """Lists one chain, as far as it can be read without running code; gives what is at its end."""
        name = chain.name
        root: Any
        value: Any
        first: tuple[Step, ...]
        if chain.scope == "global":
            module = function.__globals__
            if name not in module and hasattr(builtins, name):
                return None
            value = module.get(name)
            kind, root, first = "global", module, (name,)
        elif chain.scope == "cell":
            if name not in cells:
                return None
            try:
                value = cells[name].cell_contents
            except ValueError:
                return None
            kind, root, first = "cell", cells[name], ()
        else:
            if name not in parameters or not chain.attributes:
                return None
            value, position = parameters[name]
            kind, root, first = ("object", value, ()) if position is None else ("argument", position, ())
        taken: list[Step] = []
        label = name
        for step in chain.attributes:
            if isinstance(step, tuple):
                if not _element(value, step[0]):
                    break
                value = value[step[0]]
                label = f"{label}[{step[0]!r}]"
            else:
                if _is_library_value(value) or not _is_stored(value, step):
                    break
                value = getattr(value, step, None)
                label = f"{label}.{step}"
            taken.append(step)
        whole = len(taken) == len(chain.attributes)
        after = None if whole else chain.attributes[len(taken)]
        if after in _MUTATORS and isinstance(value, Collection):
            return None
        library = isinstance(value, ModuleType) and _is_library_value(value)
        if not library and (taken or chain.scope != "local"):
            self.add(kind, root, (*first, *taken), label)
        if isinstance(after, tuple):
            return None
        if after is not None and not _is_library_value(value):
            # A method or property of the class: follow it with its object.
            found = getattr(type(value), after, None)
            found = getattr(found, "fget", found)
            return found.__get__(value) if isinstance(found, FunctionType | _core._Function) else None
        return value

    def callee(self, target: Any) -> None:
        """Follows what code may call."""
        if isinstance(target, _core._BoundFunction | MethodType):
            function, instance = target.__func__, target.__self__
            function = getattr(function, "python_function", function)
            if isinstance(function, FunctionType) and function.__code__.co_argcount:
                self.function(function, {function.__code__.co_varnames[0]: (instance, None)})
            return
        target = getattr(target, "python_function", target) if isinstance(target, _core._Function) else target
        if isinstance(target, FunctionType):
            self.function(target, {})
        elif not isinstance(target, type | ModuleType) and not _is_library_value(target):
            call = getattr(type(target), "__call__", None)  # noqa: B004
            call = getattr(call, "python_function", call)
            if isinstance(call, FunctionType) and call.__code__.co_argcount:
                self.function(call, {call.__code__.co_varnames[0]: (target, None)})


def _is_users(function: FunctionType) -> bool:
    from penstock.autograph._convert import is_library  # start-up does without it

    return not is_library(function.__code__.co_filename)


def _is_library_value(value: Any) -> bool:
    """Whether it is what no program changes: a library's module, function or class."""
    from penstock.autograph._convert import is_library  # start-up does without it

    if isinstance(value, ModuleType):
        file = getattr(value, "__file__", None)
        return file is None or is_library(file)
    if isinstance(value, FunctionType):
        return is_library(value.__code__.co_filename)
    module = getattr(value, "__module__", None) if isinstance(value, type) or callable(value) else None
    return isinstance(module, str) and module.partition(".")[0] in ("penstock", "numpy", "builtins")


def _is_stored(value: Any, attribute: str) -> bool:
    """Whether reading an attribute runs no code of the class."""
    if isinstance(value, _core._Operand):
        return False
    if isinstance(value, ModuleType):
        return attribute in value.__dict__
    if isinstance(value, type):
        return attribute in value.__dict__ and not hasattr(type(value.__dict__[attribute]), "__get__")
    for cls in type(value).__mro__:
        found = cls.__dict__.get(attribute)
        if found is not None:
            kind = type(found)
            if kind.__name__ == "member_descriptor":
                return True
            # A data descriptor runs code; a function is a method of the class.
            return not hasattr(kind, "__get__")
    # What the object may come to have is guarded as well: absent is a value too.
    plain = not isinstance(type(value).__getattribute__, FunctionType)
    return hasattr(value, "__dict__") and plain and not hasattr(type(value), "__getattr__")


def places(function: Any, names: Sequence[str], arguments: Sequence[Any]) -> list[Place]:
    """What the code of a function reads besides the values of its arguments.

    Args:
        function: the Python function.
        names: its parameters.
        arguments: the argument of each; attributes of those that are objects count.
    """
    function = getattr(function, "__wrapped__", function)
    listing = _Listing()
    if isinstance(function, MethodType):
        listing.callee(function)
    elif isinstance(function, FunctionType):
        parameters: dict[str, tuple[Any, int | None]] = {
            name: (value, i)
            for i, (name, value) in enumerate(zip(names, arguments, strict=False))
            if not isinstance(value, _core._Operand) and (i == 0 or argument_kind(type(value)) == "plain")
        }
        listing.function(function, parameters)
    else:
        listing.callee(function)
    return list(listing.places.values())
