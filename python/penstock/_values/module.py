"""Modules: objects that own variables."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from penstock import _core
from penstock._runtime.scope import current_name_scope, name_scope
from penstock._types.argument_names import expect

__all__ = ["Module", "changed", "waiting"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Waiting:
    """Objects that do not own yet all that a checkpoint has values for, by identity."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[Any, list[tuple[Any, int]]]] = {}

    def add(self, value: Any, restoration: Any, number: int) -> None:
        """Has a restoration be told when an object owns something new, unless it cannot be watched."""
        key = id(value)
        if key not in self._due:
            try:
                reference = weakref.ref(value, lambda _: self._due.pop(key, None))
            except TypeError:
                return
            self._due[key] = (reference, [])
        due = self._due[key][1]
        if not any(known is restoration for known, _ in due):
            due.append((restoration, number))

    def tell(self, value: Any) -> None:
        """Tells those that wait for an object, the latest last."""
        # What is still missing then waits again.
        found = self._due.pop(id(value), None)
        for restoration, number in list(found[1]) if found else ():
            restoration.changed(value, number)

    def __bool__(self) -> bool:
        return bool(self._due)


waiting = _Waiting()


def changed(value: Any) -> None:
    """Notes that an object may own something new."""
    if waiting:
        waiting.tell(value)


class Module:
    """The base of objects that own variables and other modules: as attributes, or in nests of them.

    Args:
        name: a Python identifier; by default the name of the class in snake case.

    Raises:
        ValueError: for a name that is no identifier.

    >>> import penstock as tf
    >>> class Dense(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = tf.Variable([[1.0]])
    >>> len(Dense().trainable_variables)
    1
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake_case(type(self).__name__)
        elif not expect(name, str, "name", "a string").isidentifier():
            raise ValueError(f"argument 'name' must be a Python identifier, got {name!r}")
        self._name = name
        self._scope_name = f"{current_name_scope()}{name}/"

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if waiting:
            waiting.tell(self)

    def _no_dependency(self, value: Any) -> Any:
        """What an attribute holds that is not to be tracked, as libraries ask of TensorFlow's modules."""
        return value

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """A scope of the name."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of those in it, each once, by the names of attributes."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of `variables` that tapes watch."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """Those of `variables` that tapes do not watch."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in this one, and in those."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Any = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """The values in attributes that `predicate` accepts, with their paths if asked."""
        seen: set[int] = {id(self)}
        yield from _walk(
            self, (), recursive, predicate or (lambda value: True), attribute_traversal_key, with_path, seen
        )

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_module  # start-up does without it

        return of_module(self)

    @classmethod
    def with_name_scope(cls, method: Callable[_P, _R]) -> Callable[_P, _R]:
        """Have a method run within the module's name scope.

        Args:
            method: the method.

        Returns:
            The method, with the same parameters.

        >>> import penstock as tf
        >>> class Layer(tf.Module):
        ...     @tf.Module.with_name_scope
        ...     def build(self):
        ...         return tf.Variable(1.0, name="w")
        >>> Layer(name="layer").build().name
        'layer/w:0'
        """

        @wraps(method)
        def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            module: Any = args[0]
            with module.name_scope:
                return method(*args, **kwargs)

        return run


def _is_variable(value: Any) -> bool:
    return isinstance(value, _core._Variable)


def _snake_case(name: str) -> str:
    out = []
    for i, c in enumerate(name):
        starts = c.isupper() and i > 0 and (not name[i - 1].isupper() or name[i + 1 : i + 2].islower())
        out.append(f"_{c.lower()}" if starts and name[i - 1] != "_" else c.lower())
    return "".join(out)


def _walk(
    module: Module,
    path: tuple[Any, ...],
    recursive: bool,
    predicate: Callable[[Any], bool],
    key: Any,
    with_path: bool,
    seen: set[int],
) -> Iterator[Any]:
    inner = []
    for name, attribute in sorted(vars(module).items(), key=(lambda item: key(item[0])) if key else None):
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for where, value in _leaves(attribute, (*path, name)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if predicate(value):
                yield (where, value) if with_path else value
            if recursive and isinstance(value, Module):
                inner.append((where, value))
    for where, value in inner:
        yield from _walk(value, where, recursive, predicate, key, with_path, seen)


def _sorted(keys: dict[Any, Any]) -> list[Any]:
    """The keys in order, or as they come where they have none."""
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """What is in nested lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _leaves(item, (*path, i))
    elif isinstance(value, dict):
        for name in _sorted(value):
            yield from _leaves(value[name], (*path, name))
    else:
        yield path, value
