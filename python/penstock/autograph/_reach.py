"""Which objects a traced function can still get at: those that something leads to which its code names."""

from __future__ import annotations

import builtins
import dis
import gc
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple

from penstock import _core, nest
from penstock._runtime.identity import WeakIdentityMap
from penstock.autograph import _convert

__all__ = ["Reach"]

# What leads to nothing of a user's.
_ENDS = frozenset(
    {
        *nest.LEAVES,
        CodeType,
        FrameType,
        GetSetDescriptorType,
        MemberDescriptorType,
        TracebackType,
        _core.DType,
    }
)
# Modules that are not followed: a traced function changes nothing that they hold themselves.
_LIBRARIES = (_convert.LIBRARIES | sys.stdlib_module_names) - {"__main__"}
# Code that names one of these may read any global of its module, or any attribute.
_READ_ANY_GLOBAL = frozenset({"globals", "eval", "exec", "vars"})
_READ_ANY_ATTRIBUTE = frozenset({"getattr", "vars", "__dict__", "attrgetter", "eval", "exec"})
_BUILTINS = frozenset(vars(builtins))
# Code that imports modules, by an instruction or by name.
_IMPORT = dis.opmap["IMPORT_NAME"]
_IMPORTERS = frozenset({"__import__", "import_module", "modules"})


class Reach:
    """The objects that the functions of a trace can get at, found as far as somebody asks.

    The search begins with the variables of the functions that run, from the innermost one to the traced one.
    It goes on with what these refer to, then with globals that code names, and last with attributes of
    modules whose names occur in that code. References are not counted: whether a debugger holds an object as
    well, or the caller of the traced function, makes no difference.

    It is asked where the bodies of open statements are undone (`State.restore`), and made anew after each
    change.
    """

    def __init__(self) -> None:
        # What was seen, by identity: it holds them, so that none takes the place of another. None at first,
        # since most that are made are never asked.
        self._seen: dict[int, Any] | None = None

    def _begin(self) -> dict[int, Any]:
        self._seen = {}
        # What was seen, and is to be followed: objects, and then the code of functions, frames and classes.
        self._objects: list[Any] = []
        self._code: list[Any] = []
        # Modules, each with the names that were looked for in it.
        self._modules: list[tuple[ModuleType, set[str]]] = [(builtins, {*_BUILTINS})]
        # The names in the code that was followed, and whether it may read attributes of other names.
        self._names: set[str] = set()
        self._any_attribute = False
        self._add(self._variables_of_frames())
        return self._seen

    def __contains__(self, target: Any) -> bool:
        seen = self._begin() if self._seen is None else self._seen
        while id(target) not in seen:
            if self._objects:
                self._follow_objects()
            elif self._code:
                self._follow_code()
            elif not self._add(self._attributes_of_modules()):
                return False
        return True

    def _add(self, found: Iterable[Any]) -> bool:
        """Has objects followed; whether some were not seen before."""
        seen, objects = self._seen, self._objects
        assert seen is not None
        count = len(seen)
        for value in found:
            if type(value) not in _ENDS and id(value) not in seen:
                seen[id(value)] = value
                objects.append(value)
        return len(seen) > count

    def _follow_objects(self) -> None:
        level, self._objects = self._objects, []
        plain: list[Any] = []
        for value in level:
            kind = type(value)
            follow = _FOLLOWED.get(kind)
            if follow is not None:
                self._add(follow(value))
            if kind is FunctionType or issubclass(kind, type):
                self._code.append(value)
            elif issubclass(kind, ModuleType):
                if not _is_library(vars(value).get("__name__")):
                    self._modules.append((value, set()))
            elif issubclass(kind, weakref.ref):
                self._add((weakref.ref.__call__(value),))
            elif follow is None:
                plain.append(value)
        if plain:
            self._add(gc.get_referents(*plain))
            self._add(_elements_of_arrays(plain))

    def _follow_code(self) -> None:
        level, self._code = self._code, []
        for value in level:
            if isinstance(value, FunctionType):
                self._add(self._named(value.__code__, value.__globals__))
            elif isinstance(value, FrameType):
                self._add(self._named(value.f_code, value.f_globals))
            elif not _is_library(value.__module__):
                self._add((*vars(value).values(), *value.__mro__, type(value)))

    def _variables_of_frames(self) -> Iterator[Any]:
        """The variables of the functions that run, as far as they belong to the innermost trace."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code not in _convert.TRACED:
            if not _convert.is_own(frame.f_code):
                # What pieces of a function name, the function does.
                if not _convert.is_part(frame.f_code):
                    self._code.append(frame)
                yield from frame.f_locals.values()
            frame = frame.f_back

    def _named(self, code: CodeType, namespace: dict[str, Any]) -> Iterable[Any]:
        """The globals, and modules, that code names."""
        if _is_library(namespace.get("__name__")):
            return ()
        found = _names_of(code)
        self._names |= found.names
        self._any_attribute |= found.any_attribute
        if found.any_global:
            return [*namespace.values()]
        values = [namespace[name] for name in found.names & namespace.keys()]
        if found.imports:
            package = namespace.get("__package__")
            values += [sys.modules.get(name) for name in found.names]
            values += [sys.modules.get(f"{package}.{name}") for name in found.names]
        return values

    def _attributes_of_modules(self) -> Iterator[Any]:
        """The attributes of modules whose names have occurred since it was asked last."""
        for module, known in self._modules:
            members = vars(module)
            names = members.keys() if self._any_attribute else members.keys() & self._names
            yield from [members[name] for name in names - known]
            known |= names


class _Names(NamedTuple):
    """What code names, and the functions within it: globals and attributes, in texts too."""

    names: frozenset[str]
    any_global: bool
    any_attribute: bool
    imports: bool


_known_names = WeakIdentityMap[CodeType, _Names]()


def _names_of(code: CodeType) -> _Names:
    found = _known_names.get(code)
    if found is not None:
        return found
    texts = {c for c in code.co_consts if type(c) is str and all(map(str.isidentifier, c.split(".")))}
    inner = [_names_of(c) for c in code.co_consts if isinstance(c, CodeType)]
    names = frozenset(texts).union(code.co_names, *(part.names for part in inner))
    # Libraries look up attributes of what they are given, not of modules of the user's.
    reads_any = not (names.isdisjoint(_READ_ANY_ATTRIBUTE) or _convert.is_library(code.co_filename))
    imports = _IMPORT in code.co_code[::2] or not names.isdisjoint(_IMPORTERS)
    imports = imports or any(part.imports for part in inner)
    found = _Names(names, not names.isdisjoint(_READ_ANY_GLOBAL), reads_any, imports)
    _known_names[code] = found
    return found


def _is_library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


def _elements_of_arrays(values: list[Any]) -> Iterator[Any]:
    """The elements of NumPy's arrays of objects, into which the collector does not see."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        for value in values:
            if isinstance(value, numpy.ndarray) and value.dtype.kind == "O":
                yield from value.flat


def _of_cell(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _of_function(function: FunctionType) -> Iterable[Any]:
    more = (function.__kwdefaults__, function.__dict__)
    return (*(function.__closure__ or ()), *(function.__defaults__ or ()), *more)


def _of_generator(generator: Any) -> Iterable[Any]:
    frame = generator.gi_frame
    return () if frame is None else frame.f_locals.values()


# What objects of some types refer to, where the collector does not tell, or tells too much.
_FOLLOWED: dict[type, Callable[[Any], Iterable[Any]]] = {
    CellType: _of_cell,
    ContextVar: lambda variable: (variable.get(None),),
    FunctionType: _of_function,
    GeneratorType: _of_generator,
    MethodType: lambda method: (method.__func__, method.__self__),
    _core._BoundFunction: lambda bound: (bound.__func__, bound.__self__),
    _core._Function: lambda function: (function.python_function, getattr(function, "__dict__", None)),
}
