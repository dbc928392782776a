"""What a call in converted code reaches: a converted function, a built-in for tensors too, or itself."""

from __future__ import annotations

import builtins
import contextlib
import functools
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from penstock import _core, raw_ops
from penstock._ops import arrangement
from penstock._ops.creation import range as tensor_range
from penstock._runtime.debug_switches import stepping
from penstock.autograph import _breakpoint, _comprehension, _convert, _iteration, _lists
from penstock.autograph._branch import is_symbolic, truth
from penstock.autograph._names import MUTATORS
from penstock.autograph._slots import attribute_of, touch, touch_container, tracing
from penstock.errors import OperatorNotAllowedInGraphError

_STACK = arrangement.stack

__all__ = ["callee", "iterable_callee"]


def callee(target: Any) -> Any:
    """What is called in place of `target`."""
    kind = type(target)
    if kind is FunctionType:
        return _stack_of if target is _STACK else _function(target)
    if kind is MethodType:
        function = target.__func__
        if type(target.__self__) is _lists.TensorList:
            touch_container(target.__self__)
            return target
        if type(function) is FunctionType:
            changed = _function(function)
            return target if changed is function else MethodType(changed, target.__self__)
        return target
    if kind is BuiltinFunctionType:
        if (replaced := _BUILTINS.get(target)) is not None:
            return replaced
        if tracing.states and target.__name__ in MUTATORS:
            touch_container(target.__self__)
        return target
    if kind is functools.partial:
        changed = callee(target.func)
        return (
            target if changed is target.func else functools.partial(changed, *target.args, **target.keywords)
        )
    if kind is type and (replaced := _BUILTINS.get(target)) is not None:
        return replaced
    if isinstance(target, type):
        return _constructor(target)
    if isinstance(target, _core._Function | _core._BoundFunction):
        if stepping.on:
            return stepped_twin(target)
        return _breakpoint.told_around(stepped_twin(target)) if _breakpoint.leads_to_stop(target) else target
    method = getattr(kind, "__call__", None)  # noqa: B004
    if type(method) is FunctionType:
        changed = _convert.converted(method)
        return target if changed is method else MethodType(changed, target)
    return target


def stepped_twin(target: Any) -> Any:
    """What a debugger goes through in place of a traced function, or of one that is bound to an object."""
    if isinstance(target, _core._BoundFunction):
        twin = stepped_twin(target.__func__)
        return target if twin is target.__func__ else twin.__get__(target.__self__)
    return target if target._is_restored else target._twin("stepped")


def _function(target: FunctionType) -> Any:
    """What is called in place of a function; of the standard library's decorators, what they decorate."""
    if _breakpoint.is_set_trace(target):
        return _breakpoint.set_trace
    changed = _convert.converted(target)
    if changed is target:
        for code, made in _DECORATED:
            if target.__code__ is code:
                return made(target)
    return changed


def _manager(target: Any) -> Any:
    return contextlib.contextmanager(callee(target.__wrapped__))


def _dispatched(target: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = target.dispatch(type(args[0])) if args else target
        return callee(chosen)(*args, **kwargs)

    return call


# The code of all functions that a decorator makes, and what is called in place of one.
_DECORATED: tuple[tuple[CodeType, Callable[[Any], Any]], ...] = (
    (contextlib.contextmanager(iter).__code__, _manager),
    (functools.singledispatch(iter).__code__, _dispatched),  # type: ignore[attr-defined]
)


# What makes an instance unless a class or its metaclass has something else.
_PLAIN = object.__new__, type.__call__


def _constructor(target: type) -> Any:
    """What is called in place of a class: the same, with a converted `__init__`."""
    init: Any = target.__init__  # type: ignore[misc]
    made_by: tuple[Any, Any] = target.__new__, type(target).__call__
    if type(init) is not FunctionType or made_by != _PLAIN or not _convert.has_source(init):
        return target
    changed = _convert.converted(init)
    if changed is init:
        return target

    def make(*args: Any, **kwargs: Any) -> Any:
        made: Any = object.__new__(target)
        tracing.made.add(made)
        for state in tracing.states:
            state.made.add(made)
        changed(made, *args, **kwargs)
        return made

    return make


def _stack_of(values: Any, axis: Any = 0, name: str = "stack") -> Any:
    if isinstance(values, _lists.TensorList):
        return values.stack() if axis == 0 else _STACK(raw_ops.unstack(values.stack()), axis)
    return _STACK(values, axis, name)


def iterable_callee(target: Any) -> Any:
    """What is called in place of `target` for what a `for` statement iterates over."""
    if target is tensor_range and _core._is_tracing():
        return _tensor_range
    return callee(target)


def _tensor_range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    return _iteration.Range(start, limit, delta, dtype)


def _range(*args: Any) -> Any:
    return _iteration.Range(*args) if any(map(is_symbolic, args)) else builtins.range(*args)


def _setattr(target: Any, name: str, value: Any) -> None:
    if tracing.states:
        touch([attribute_of(target, name)])
    setattr(target, name, value)


def _next(iterator: Any, *default: Any) -> Any:
    step = getattr(type(iterator), "_next_in_graph", None) if _core._is_tracing() else None
    return builtins.next(iterator, *default) if step is None else step(iterator, default)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    iterable = _iteration.whole(iterable)
    inner = _iteration.steps_of(iterable)
    return builtins.enumerate(iterable, start) if inner is None else _iteration.Enumerated(inner, start)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    iterables = tuple(map(_iteration.whole, iterables))
    inners = [_iteration.steps_of(x) for x in iterables]
    if inners and all(x is not None for x in inners):
        return _iteration.Zipped(inners)
    return builtins.zip(*map(_iteration.unrolled, iterables), strict=strict)


def _stacked(values: Any) -> Any:
    """What a reduction goes over: of a list of the graph, its elements as a tensor."""
    values = _iteration.whole(values)
    return values.stack() if isinstance(values, _lists.TensorList) else values


def _reversed(iterable: Any) -> Any:
    iterable = _stacked(iterable)
    if isinstance(iterable, _iteration.Range):
        iterable = iterable.tensor()
    if is_symbolic(iterable):
        return raw_ops.reverse(iterable, axes=[0])
    return builtins.reversed(iterable)


def _len(value: Any) -> Any:
    if isinstance(value, _lists.TensorList):
        return value.size()
    if isinstance(value, _iteration.Range):
        value = value.tensor()
    if is_symbolic(value) and value.shape.rank != 0:
        size = None if value.shape.rank is None else value.shape._dims[0]
        return raw_ops.gather(raw_ops.shape(value, dtype=_core.int32), 0) if size is None else size
    return builtins.len(value)


def _cast_to(target: type, dtype: Any) -> Callable[..., Any]:
    def convert(*args: Any, **kwargs: Any) -> Any:
        if target is bool and args and type(args[0]) is _lists.TensorList:
            return raw_ops.not_equal(args[0].size(), 0)
        if len(args) == 1 and is_symbolic(args[0]) and not kwargs:
            value = args[0]
            value = value.read_value() if isinstance(value, _core._Variable) else value
            if target is bool:
                return truth(value)
            if value.dtype == _core.string:
                return raw_ops.string_to_number(value, dtype=dtype)
            if target is int and value.dtype.is_integer:
                return value
            if target is float and value.dtype.is_floating:
                return value
            return raw_ops.cast(value, dtype=dtype)
        return target(*args, **kwargs)

    return convert


def _extreme(original: Callable[..., Any], pick: str) -> Callable[..., Any]:
    def extreme(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return original(*args, **kwargs)
        if len(args) == 1:
            args = (_stacked(args[0]),)
        if len(args) == 1 and is_symbolic(args[0]):
            return getattr(raw_ops, "reduce_" + ("max" if pick == "maximum" else "min"))(args[0], axes=[0])
        if len(args) == 1:
            args = (list(args[0]),)
        values = list(args[0]) if len(args) == 1 else list(args)
        if len(values) > 1 and any(map(is_symbolic, values)):
            best = values[0]
            for value in values[1:]:
                best = (
                    getattr(raw_ops, pick)(best, value)
                    if is_symbolic(best)
                    else getattr(raw_ops, pick)(value, best)
                )
            return best
        return original(*args, **kwargs)

    return extreme


def _sum(values: Any, start: Any = 0) -> Any:
    values = _stacked(values)
    if is_symbolic(values):
        total = raw_ops.reduce_sum(values, axes=[0])
        return total if not is_symbolic(start) and start == 0 else total + start
    return builtins.sum(values, start)


def _any(values: Any) -> Any:
    values = _stacked(values)
    if is_symbolic(values):
        return raw_ops.reduce_any(raw_ops.cast(values, dtype=_core.bool), axes=[0])
    return _fold(values, False)


def _all(values: Any) -> Any:
    values = _stacked(values)
    if is_symbolic(values):
        return raw_ops.reduce_all(raw_ops.cast(values, dtype=_core.bool), axes=[0])
    return _fold(values, True)


def _fold(values: Any, neutral: bool) -> Any:
    """`all` or `any`, of which `neutral` is the value for nothing."""
    result: Any = neutral
    for value in values:
        if not is_symbolic(value):
            # As in Python, one that decides ends it.
            if bool(value) is not neutral:
                return not neutral
        elif result is neutral:
            result = truth(value)
        else:
            result = (raw_ops.logical_and if neutral else raw_ops.logical_or)(result, truth(value))
    return result


def _sorted(values: Any, **kwargs: Any) -> Any:
    values = _stacked(values)
    if is_symbolic(values):
        if kwargs.get("key") is not None or values.shape.rank not in (1, None):
            raise TypeError("sorted() of a symbolic tensor takes a vector, and no key: use tf.argsort")
        import penstock  # whole by then

        direction = "DESCENDING" if kwargs.get("reverse") else "ASCENDING"
        return getattr(penstock, "sort")(values, axis=0, direction=direction)  # noqa: B009 -- defined late
    values = list(values)
    if "key" not in kwargs and len(values) > 1 and any(map(is_symbolic, values)):
        return _iteration.unrolled(_sorted(raw_ops.stack(values), **kwargs))
    return builtins.sorted(values, **kwargs)


def _map(function: Any, *iterables: Any) -> Any:
    return builtins.map(callee(function), *map(_iteration.unrolled, iterables))


def _filter(function: Any, iterable: Any) -> Any:
    test = (lambda x: x) if function is None else callee(function)
    return builtins.filter(lambda x: _decided(test(x)), _iteration.unrolled(iterable))


def _decided(test: Any) -> Any:
    if is_symbolic(test):
        raise OperatorNotAllowedInGraphError(
            "a symbolic tensor cannot decide what filter() gives: use a list comprehension, "
            "[x for x in values if test(x)]"
        )
    return test


def _list(*args: Any) -> Any:
    if len(args) == 1:
        args = (_iteration.whole(args[0]),)
        steps = _iteration.steps_of(args[0])
        if steps is not None and not _iteration.has_known_length(steps):
            return _comprehension.list_comp(args[0], _same)
    return list(*map(_iteration.unrolled, args))


def _same(item: Any) -> Any:
    return item


def _tuple(*args: Any) -> Any:
    return tuple(*map(_iteration.unrolled, args))


# Functions and classes that need no instance are keys as they are.
_BUILTINS: dict[Any, Any] = {
    builtins.breakpoint: _breakpoint.stop,
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.next: _next,
    builtins.setattr: _setattr,
    builtins.zip: _zip,
    builtins.reversed: _reversed,
    builtins.len: _len,
    builtins.int: _cast_to(int, _core.int32),
    builtins.float: _cast_to(float, _core.float32),
    builtins.bool: _cast_to(bool, _core.bool),
    builtins.max: _extreme(builtins.max, "maximum"),
    builtins.min: _extreme(builtins.min, "minimum"),
    builtins.sum: _sum,
    builtins.any: _any,
    builtins.all: _all,
    builtins.sorted: _sorted,
    builtins.map: _map,
    builtins.filter: _filter,
    builtins.list: _list,
    builtins.tuple: _tuple,
}
