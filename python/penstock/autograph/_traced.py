"""What is traced in place of a Python function: its converted one, as a trace of its own."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from penstock._runtime.debug_switches import stepping
from penstock.autograph._calls import callee
from penstock.autograph._convert import DO_NOT_CONVERT, TRACED
from penstock.autograph._lists import outermost
from penstock.autograph._slots import fresh, put_back, tracing
from penstock.autograph._traceback import check_results, explained, filtered
from penstock.errors import ConversionError

__all__ = ["convert_function"]

_ASYNC = 0x80 | 0x200


def convert_function(function: Callable[..., Any], stepped: bool = False) -> Callable[..., Any]:
    """The function to trace in place of a Python callable, which a debugger may be told of."""
    target = function
    unwrapped = getattr(function, "__func__", function)
    code = getattr(unwrapped, "__code__", None)
    if (
        isinstance(code, CodeType)
        and code.co_flags & _ASYNC
        and not getattr(unwrapped, DO_NOT_CONVERT, False)
    ):
        raise ConversionError(
            f"{function.__qualname__} is async: a graph has no coroutines. Make it a plain function"
        )
    changed = _callee(target, stepped)

    def traced(*args: Any, **kwargs: Any) -> Any:
        # A traced function that is called from a branch or loop of another is none of that one's.
        t = tracing
        outer = {**t.__dict__}
        t.__dict__.update(fresh())
        t.converting = True
        before, calls = stepping.on, stepping.calls
        stepping.on, stepping.calls = stepped, []
        if isinstance(code, CodeType):
            t.called.add(code)
        t.outside.update(getattr(unwrapped, "__closure__", None) or ())
        try:
            results = outermost(changed(*args, **kwargs))
            if tracing.notes:
                check_results(results, tracing.notes)
            return results
        except KeyboardInterrupt as error:
            error.__traceback__ = filtered(error.__traceback__)
            raise
        except Exception as error:
            better = explained(error, tracing.notes)
            if better is error:
                error.__traceback__ = filtered(error.__traceback__)
                raise
            raise better.with_traceback(filtered(error.__traceback__)) from None
        finally:
            stepping.on, stepping.calls = before, calls
            put_back((*args, *kwargs.values()))
            t.__dict__.update(outer, raises=t.raises)

    TRACED.add(traced.__code__)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(traced, name, getattr(function, name, getattr(type(function), name, None)))
    traced.__wrapped__ = changed  # type: ignore[attr-defined]
    return traced


def _callee(target: Callable[..., Any], stepped: bool) -> Any:
    """What is called in place of a function that is traced."""
    before, stepping.on = stepping.on, stepped
    try:
        return callee(target)
    finally:
        stepping.on = before
