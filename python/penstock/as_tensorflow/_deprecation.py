"""Decorators that mark what libraries are going to remove: `tensorflow.python.util.deprecation`."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from penstock._runtime.strict_mode import refuse_deprecated

__all__ = ["deprecated", "deprecated_alias", "deprecated_arg_values", "deprecated_args", "silence"]

_local = threading.local()
_warned: set[Any] = set()


def _tell(once: Any, text: str) -> None:
    """Warn once for each function and reason, unless a block of `silence` is open; raise in strict mode."""
    refuse_deprecated(text)
    if once not in _warned and not getattr(_local, "silent", False):
        _warned.add(once)
        warnings.warn(text, DeprecationWarning, stacklevel=3)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Give no warnings within a block."""
    before = getattr(_local, "silent", False)
    _local.silent = True
    try:
        yield
    finally:
        _local.silent = before


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Make a decorator of functions, classes and properties that are going to be removed."""

    def decorate(target: Any) -> Any:
        if isinstance(target, type):
            target.__init__ = decorate(target.__init__)  # type: ignore[misc]
            return target
        if isinstance(target, property):
            return property(decorate(target.fget), target.fset, target.fdel, target.__doc__)

        @functools.wraps(target)
        def call(*args: Any, **kwargs: Any) -> Any:
            text = f"{target.__qualname__} is deprecated and will be removed {_when(date)}. {instructions}"
            _tell(target if warn_once else object(), text)
            return target(*args, **kwargs)

        return call

    return decorate


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Callable[..., Any]:
    """Make a function of the old name, which calls the new one."""
    return deprecated(None, f"Use {name} in place of {deprecated_name}.", warn_once)(  # type: ignore[no-any-return]
        _subclass(deprecated_name, func_or_class) if isinstance(func_or_class, type) else func_or_class
    )


def _subclass(name: str, base: type) -> type:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        base.__init__(self, *args, **kwargs)  # type: ignore[misc]

    return type(base)(name.rpartition(".")[2], (base,), {"__init__": __init__})


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    """Make a decorator of functions some of whose parameters are going to be removed.

    A parameter is given by its name, or by a pair of the name and a value that gives no warning.
    """
    marked = {
        item[0] if isinstance(item, tuple) else item: item[1:] if isinstance(item, tuple) else ()
        for item in deprecated_arg_names_or_tuples
    }
    return _of_arguments(date, instructions, lambda name, value: name in marked and value not in marked[name])


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Any], Any]:
    """Make a decorator of functions for which some values of parameters are going to be refused."""

    def is_marked(name: str, value: Any) -> bool:
        marked = deprecated_kwargs.get(name, _of_arguments)
        # A value that is compared element by element is none that a decorator names.
        return value is marked or (isinstance(value, bool | int | float | str) and value == marked)

    return _of_arguments(date, instructions, is_marked)


def _of_arguments(
    date: str | None, instructions: str, is_marked: Callable[[str, Any], bool]
) -> Callable[[Any], Any]:
    import inspect  # for those who decorate

    def decorate(target: Any) -> Any:
        signature = inspect.signature(target)

        @functools.wraps(target)
        def call(*args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(TypeError):
                for name, value in signature.bind(*args, **kwargs).arguments.items():
                    if is_marked(name, value):
                        what = f"argument '{name}' of {target.__qualname__}"
                        _tell(
                            (target, name), f"{what} is deprecated, as given, {_when(date)}. {instructions}"
                        )
            return target(*args, **kwargs)

        return call

    return decorate
