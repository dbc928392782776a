"""Calls of public functions that composite values take over: ragged, sparse, those of extension types.

A public function is written for tensors of known rank. Where it fails, and an argument is a composite value,
or a list with one, the functions that are registered for it are asked, then those for elementwise functions
of one or two operands. Where it fails since the rank of an argument is not known, or the number of a
dimension, it is called with each rank or number. So a call with tensors costs nothing, and no function knows
of ragged tensors, unknown ranks or symbolic dimensions.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

from penstock._runtime.arguments import UnknownRankError
from penstock._types.argument_names import name_culprit

if TYPE_CHECKING:
    import inspect  # start-up does without it

__all__ = [
    "checks",
    "dispatch_for_api",
    "dispatch_for_binary_elementwise_apis",
    "dispatch_for_binary_elementwise_assert_apis",
    "dispatch_for_unary_elementwise_apis",
    "dispatched",
    "elementwise",
    "redirected",
    "unregister_dispatch_for",
]

_F = TypeVar("_F", bound=Callable[..., Any])

ClassLike: TypeAlias = "type[Any] | types.UnionType"
"""A class, or a union of several."""


# What takes a call over: the class, or classes, of the parameters that it looks at by their names, what is
# called with the arguments, and what was registered, which may take no `name`.
_Target = NamedTuple(  # noqa: UP014 -- start-up would compile annotations
    "_Target",
    [("types", Mapping[str, Any]), ("function", Callable[..., Any]), ("registered", Callable[..., Any])],
)

# By public function; by the class of `x`; by the classes of `x` and `y`.
_TARGETS: dict[Callable[..., Any], list[_Target]] = {}
_UNARY: list[tuple[Any, Callable[..., Any]]] = []
_BINARY: list[tuple[Any, Any, Callable[..., Any]]] = []
_BINARY_ASSERTS: list[tuple[Any, Any, Callable[..., Any]]] = []

# The public functions that work element by element, by the number of their operands.
_ELEMENTWISE: dict[Callable[..., Any], int] = {}
_CHECKS: set[Callable[..., Any]] = set()
_loaded = False


def elementwise(operands: int, *functions: Callable[..., Any]) -> None:
    """Note that functions work element by element on their first operands; the others are options."""
    _ELEMENTWISE.update(dict.fromkeys(functions, operands))


def checks(*functions: Callable[..., Any]) -> None:
    """Note that functions check two operands element by element, and give nothing."""
    _CHECKS.update(functions)


def dispatched(function: _F) -> _F:
    """Let composite arguments of a public function be taken over where it fails."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            made = redirected(call, args, kwargs)
            if made is NotImplemented:
                raise
            return made

    return cast("_F", call)


def redirected(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a failing call gives where composite arguments take it over, or it is made for each rank.

    NotImplemented where neither helps: the error then names the argument at fault, where one stands out.
    """
    error = sys.exception()
    if isinstance(error, UnknownRankError):
        from penstock._control.ranks import for_each_rank  # control flow builds on this

        return for_each_rank(function, args, kwargs)
    if isinstance(error, TypeError) and hasattr(error, "_penstock_axis"):
        from penstock._control.axes import for_each_axis  # control flow builds on this

        made = for_each_axis(function, args, kwargs, *error._penstock_axis)
        if made is not NotImplemented:
            return made
    try:
        given = _bound(function, args, kwargs)
    except TypeError:
        return NotImplemented
    made = _taken_over(function, args, kwargs, given)
    if made is NotImplemented and error is not None:
        name_culprit(error, function, given)
    return made


def _taken_over(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: dict[str, Any]
) -> Any:
    """What a failing call gives where composite arguments take it over; NotImplemented where none does."""
    if not any(map(_holds_composite, given.values())):
        return NotImplemented
    _load()
    for target in _TARGETS.get(function, ()):
        if _suits(target.types, given):
            made = target.function(*args, **kwargs)
            if made is not NotImplemented:
                return made
    operands = 2 if function in _CHECKS else _ELEMENTWISE.get(function, 0)
    names = list(given)
    if not operands or len(names) < operands:
        return NotImplemented
    values = [given[name] for name in names[:operands]]
    options = {name: given[name] for name in names[operands:] if name != "name"}
    applied = functools.partial(function, **options) if options else function
    if operands == 1:
        handlers: Iterator[Callable[..., Any]] = (h for kind, h in _UNARY if _fits(values[0], kind))
    else:
        table = _BINARY_ASSERTS if function in _CHECKS else _BINARY
        handlers = (h for a, b, h in table if _fits(values[0], a) and _fits(values[1], b))
    for handler in handlers:
        made = handler(applied, *values)
        if made is not NotImplemented:
            return made
    return NotImplemented


def _load() -> None:
    """Load what the package itself registers, and the list of elementwise functions."""
    global _loaded
    if not _loaded:
        _loaded = True
        # What is registered there builds on this.
        from penstock._dispatch import elementwise, ragged, ragged_shapes, sparse

        del elementwise, ragged, ragged_shapes, sparse


@functools.cache
def _parameters(function: Callable[..., Any]) -> inspect.Signature:
    import inspect  # start-up does without it

    return inspect.signature(function)


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return dict(_parameters(function).bind(*args, **kwargs).arguments)


def _holds_composite(value: Any) -> bool:
    if isinstance(value, list | tuple) and not hasattr(value, "_type_spec"):
        return any(map(_holds_composite, value))
    return not isinstance(value, type) and hasattr(type(value), "_type_spec")


def _suits(types: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(name in given and _fits(given[name], kind) for name, kind in types.items())


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a class, a list of such (`list[kind]`), or meets a condition."""
    if kind is Any or kind is object:
        return True
    if isinstance(kind, types.FunctionType):
        return bool(kind(value))
    origin = getattr(kind, "__origin__", None)
    arguments: Sequence[Any] = getattr(kind, "__args__", ())
    if origin in (list, tuple, Sequence):
        return isinstance(value, list | tuple) and bool(value) and all(_fits(v, arguments[0]) for v in value)
    if origin is None and not isinstance(kind, type) and arguments:
        return any(_fits(value, one) for one in arguments)
    if isinstance(kind, tuple):
        return any(_fits(value, one) for one in kind)
    if kind is None:
        return value is None
    if isinstance(kind, type):
        return isinstance(value, kind)
    return bool(arguments) and any(_fits(value, one) for one in arguments)


def dispatch_for_api(api: Callable[..., Any], *signatures: Mapping[str | int, Any]) -> Callable[[_F], _F]:
    """Register a function that takes over calls of a public function with arguments of some classes.

    Args:
        api: the public function.
        *signatures: the classes of parameters, by name or position, all of which must fit for one of these; a
            class, a union, or `list[...]` of one. Without any, the annotations of the decorated function.

    Returns:
        A decorator of functions with the parameters of `api`, of which `name` may be left out: it is a scope
        for the names of operations then. A function that gives NotImplemented passes.

    Raises:
        ValueError: where a parameter is none of `api`, the function has other parameters, or no signature
            names a class.

    >>> import penstock as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     mask: tf.Tensor
    >>> @tf.experimental.dispatch_for_api(tf.shape, {"input": Masked})
    ... def masked_shape(input, out_type=tf.int32, name=None):
    ...     return tf.shape(input.values, out_type)
    >>> tf.shape(Masked([1, 2, 3], [True, False, True])).numpy()
    array([3], dtype=int32)
    """
    names = list(_parameters(api).parameters)

    def register(function: _F) -> _F:
        wanted: Sequence[Mapping[str | int, Any]] = signatures
        if not wanted:
            import inspect  # start-up does without it

            known = inspect.get_annotations(function, eval_str=True)
            wanted = [{name: known[name] for name in names if name in known}]
        found = []
        for signature in wanted:
            types = {names[key] if isinstance(key, int) else key: kind for key, kind in signature.items()}
            if unknown := sorted(set(types) - set(names)):
                raise ValueError(
                    f"argument 'signatures' names parameters that there are not: {', '.join(unknown)}"
                )
            if not types:
                raise ValueError("argument 'signatures' must name the class of at least one parameter")
            found.append(types)
        taking = _taking_name(function, api)
        _TARGETS.setdefault(api, []).extend(_Target(types, taking, function) for types in found)
        return function

    return register


def _taking_name(function: Callable[..., Any], api: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes a `name` where the one that it stands for does.

    Raises:
        ValueError: where they have other parameters.
    """
    own, due = _parameters(function).parameters, _parameters(api).parameters
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in own.values()):
        return function
    unnamed = "name" in due and "name" not in own
    if list(own) != [name for name in due if not (unnamed and name == "name")]:
        raise ValueError(
            f"the parameters of {function.__qualname__} must be those of {api.__name__}, which are "
            f"{', '.join(due)}, got {', '.join(own) or 'none'}"
        )
    if not unnamed:
        return function

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        from penstock._runtime.scope import name_scope  # builds on this

        given = _bound(api, args, kwargs)
        name = given.pop("name", None)
        if name is None:
            return function(**given)
        with name_scope(name):
            return function(**given)

    return taking


def dispatch_for_unary_elementwise_apis(x_type: ClassLike) -> Callable[[_F], _F]:
    """Register a function that takes over elementwise functions of one operand.

    Args:
        x_type: the class of the operand.

    Returns:
        A decorator of a function `f(api_func, x)`; `api_func` takes the operand alone.

    >>> import penstock as tf
    >>> class Boxed(tf.experimental.ExtensionType):
    ...     inner: tf.Tensor
    >>> @tf.experimental.dispatch_for_unary_elementwise_apis(Boxed)
    ... def boxed(api_func, x):
    ...     return Boxed(api_func(x.inner))
    >>> tf.abs(Boxed([-1, 2])).inner.numpy()
    array([1, 2], dtype=int32)
    """

    def register(function: _F) -> _F:
        _UNARY.append((x_type, function))
        return function

    return register


def dispatch_for_binary_elementwise_apis(x_type: ClassLike, y_type: ClassLike) -> Callable[[_F], _F]:
    """Register a function that takes over elementwise functions of two operands.

    Args:
        x_type: the class of the first operand.
        y_type: that of the second one.

    Returns:
        A decorator of a function `f(api_func, x, y)`; `api_func` takes the operands alone.

    >>> import penstock as tf
    >>> class Held(tf.experimental.ExtensionType):
    ...     inner: tf.Tensor
    >>> @tf.experimental.dispatch_for_binary_elementwise_apis(Held, Held)
    ... def held(api_func, x, y):
    ...     return Held(api_func(x.inner, y.inner))
    >>> tf.add(Held([1, 2]), Held([3, 4])).inner.numpy()
    array([4, 6], dtype=int32)
    """

    def register(function: _F) -> _F:
        _BINARY.append((x_type, y_type, function))
        return function

    return register


def dispatch_for_binary_elementwise_assert_apis(x_type: ClassLike, y_type: ClassLike) -> Callable[[_F], _F]:
    """Register a function that takes over the checks of two operands of `tf.debugging`.

    Args:
        x_type: the class of the first operand.
        y_type: that of the second one.

    Returns:
        A decorator of a function `f(assert_func, x, y)`; `assert_func` takes the operands alone.

    >>> import penstock as tf
    >>> class Kept(tf.experimental.ExtensionType):
    ...     inner: tf.Tensor
    >>> @tf.experimental.dispatch_for_binary_elementwise_assert_apis(Kept, Kept)
    ... def kept(assert_func, x, y):
    ...     return assert_func(x.inner, y.inner)
    >>> tf.debugging.assert_equal(Kept([1]), Kept([1]))
    """

    def register(function: _F) -> _F:
        _BINARY_ASSERTS.append((x_type, y_type, function))
        return function

    return register


def unregister_dispatch_for(dispatch_target: Callable[..., Any]) -> None:
    """Undo what registered a function.

    Args:
        dispatch_target: the function that was decorated.

    Raises:
        ValueError: where it is not registered.

    >>> import penstock as tf
    >>> class Lone(tf.experimental.ExtensionType):
    ...     inner: tf.Tensor
    >>> @tf.experimental.dispatch_for_unary_elementwise_apis(Lone)
    ... def lone(api_func, x):
    ...     return Lone(api_func(x.inner))
    >>> tf.experimental.unregister_dispatch_for(lone)
    """
    found = False
    tables: list[list[Any]] = [_UNARY, _BINARY, _BINARY_ASSERTS]
    for table in tables:
        kept = [entry for entry in table if entry[-1] is not dispatch_target]
        found = found or len(kept) < len(table)
        table[:] = kept
    for targets in _TARGETS.values():
        left = [target for target in targets if target.registered is not dispatch_target]
        found = found or len(left) < len(targets)
        targets[:] = left
    if not found:
        raise ValueError(f"argument 'dispatch_target' is not registered: {dispatch_target!r}")
