"""`tf.function`: Python functions that are traced into graphs."""

from __future__ import annotations

import copy
import functools
import importlib
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from penstock import _core
from penstock._function.signature import check_signature, parameters_of
from penstock._runtime.debug_switches import session
from penstock._runtime.identity import WeakIdentityMap
from penstock._types.annotations import signature_of
from penstock._types.argument_names import place_in_program
from penstock._values import variable

if TYPE_CHECKING:
    from typing import Self

    from penstock._function.explain import CacheExplanation
    from penstock._function.function_type import FunctionSpec, FunctionType
    from penstock._types.aliases import Nested
    from penstock._types.specs import TypeSpec

__all__ = ["ConcreteFunction", "Function", "function"]

ConcreteFunction = _core.ConcreteFunction

_P = ParamSpec("_P")
_Rest = ParamSpec("_Rest")
_R = TypeVar("_R")


@_core._with_vectorcall
class Function(_core._Function, Generic[_P, _R]):
    """A Python function that is traced once for each type of its arguments, and then runs as a graph.

    Made by `penstock.function`. For type checkers it takes what the Python function takes and returns what
    that returns: a traced function returns tensors where the Python code says numbers.

    >>> import penstock as tf
    >>> isinstance(tf.function(abs), tf.types.experimental.PolymorphicFunction)
    True
    """

    def __new__(
        cls,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None,
        autograph: bool,
        reduce_retracing: bool,
        guard: str | None = None,
        max_traces: int | None = None,
        twin: str | None = None,
    ) -> Function[Any, Any]:
        params, varargs, varkw = parameters_of(python_function)
        specs = None if input_signature is None else check_signature(name, input_signature, params, varargs)
        traced = _guarded(python_function, autograph, twin)
        self: Function[Any, Any] = super().__new__(
            cls,
            traced,
            name,
            params,
            varargs,
            # An input signature has no names for more keywords: a call with one is an error.
            None if specs is not None else varkw,
            specs,
            reduce_retracing,
            guard is not None,
            max_traces,
        )
        functools.update_wrapper(self, python_function)
        traced.owner = weakref.ref(self)  # type: ignore[attr-defined]
        self.__dict__.update(
            _user_function=python_function,
            _decorated=traced.decorated,  # type: ignore[attr-defined]
            _input_signature=specs,
            _autograph=autograph,
            _options={
                "input_signature": input_signature,
                "autograph": autograph,
                "reduce_retracing": reduce_retracing,
                "guard": guard,
                "max_traces": max_traces,
            },
        )
        return self

    def __init__(self, *args: Any) -> None:
        pass

    def __del__(self) -> None:
        code = self.__dict__.get("_code")
        if code is not None and _forgotten is not None:
            # One that was called more than once has been of use.
            calls = self._history()[0]
            if calls:
                _forgotten[code] = (_forgotten.get(code) or 0) + 1 if calls == 1 else 0

    if TYPE_CHECKING:
        # The engine has them.
        def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
        @overload
        def __get__(self, instance: None, owner: type[Any] | None = None, /) -> Self: ...
        @overload
        def __get__(
            self: Function[Concatenate[Any, _Rest], _R], instance: object, owner: type[Any] | None = None, /
        ) -> _core._BoundFunction[_Rest, _R]: ...
        def __get__(self, instance: Any, owner: type[Any] | None = None, /) -> Any: ...

    @property
    def python_function(self) -> Callable[_P, _R]:
        """The Python function that is traced."""
        return self.__dict__["_user_function"]  # type: ignore[no-any-return]

    def _decorate(self, decorator: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Puts what `decorator` makes of the Python function in its place.

        Raises:
            ValueError: where the function was traced.
        """
        if self.experimental_get_tracing_count():
            raise ValueError("Functions cannot be decorated after they have been traced.")
        made = decorator(self.python_function)
        self.__dict__["_user_function"] = made
        self.__dict__["_decorated"](made)

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The specifications that the arguments must meet, or None."""
        return self.__dict__["_input_signature"]  # type: ignore[no-any-return]

    @property
    def function_type(self) -> FunctionType:
        """The parameters, with the types that `input_signature` demands."""
        from penstock._function.function_type import FunctionType  # start-up does without it

        return FunctionType.of_function(self)

    @property
    def function_spec(self) -> FunctionSpec:
        """What the decorator was told, and what it read of the Python function."""
        from penstock._function.function_type import FunctionSpec  # start-up does without it

        return FunctionSpec.of_function(self)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Describe every trace: its arguments and results, or one line each.

        Args:
            verbose: whether arguments and results are described.

        Returns:
            The text.

        >>> import penstock as tf
        >>> @tf.function
        ... def double(a):
        ...     return a + a
        >>> _ = double(tf.constant(1))
        >>> double.pretty_printed_concrete_signatures().splitlines()[2].strip()
        'a: int32 Tensor, shape=()'
        """
        from penstock._function.describe import describe, signature_line  # slow to load

        return "\n\n".join(describe(trace) if verbose else signature_line(trace) for trace in self._traces())

    def explain_cache(self) -> CacheExplanation:
        """Tell of the traces: what they cost, how many calls they served, and why each was made.

        Returns:
            The traces, and the calls that made them.

        >>> import penstock as tf
        >>> @tf.function
        ... def double(a):
        ...     return a + a
        >>> for n in (32, 17):
        ...     _ = double(tf.zeros([n]))
        >>> print(double.explain_cache().misses[1].differences[0])
        a.shape[0]: 32 → 17
        """
        from penstock._function.explain import explain  # slow to load

        return explain(self)

    @property
    def _shown_name(self) -> str:
        """The name of the Python function; of a callable object, which has none, that of its class."""
        return str(getattr(self, "__name__", type(self.python_function).__name__))

    def _repr_html_(self) -> str:
        return self.explain_cache()._repr_html_()

    def __repr__(self) -> str:
        name = getattr(self.python_function, "__qualname__", type(self.python_function).__qualname__)
        return f"<penstock.Function {name} at {id(self):#x}>"

    def __copy__(self) -> Function[_P, _R]:
        return self if self._is_restored else self._of(self.python_function)

    def __deepcopy__(self, memo: dict[int, Any]) -> Function[_P, _R]:

        if self._is_restored:
            raise TypeError(
                f"{self!r} was loaded, and cannot be copied deeply: its graphs refer to the variables "
                "that were loaded with it; load it again"
            )
        made = memo[id(self)] = self._of(copy.deepcopy(self.python_function, memo))
        return made

    def _of(self, python_function: Callable[_P, _R]) -> Function[_P, _R]:
        """Another function with the options of this one, which has no trace yet."""
        return function(python_function, **self.__dict__["_options"])

    def _twin(self, kind: str, owner: Any = None) -> Function[_P, _R]:
        """What is called in place of this function for a debugger: another one, with traces of its own.

        Args:
            kind: what its traces tell: `"stepped"` ones each line, `"dumped"` ones each operation.
            owner: whom they tell it; None for whichever debugger runs.
        """
        twins = self.__dict__.setdefault("_twins", {})
        if kind not in twins or twins[kind][0] is not owner:
            of = self.__dict__["_options"]
            options = of["input_signature"], of["autograph"], of["reduce_retracing"], of["guard"]
            twins[kind] = (
                owner,
                Function(self.python_function, self._shown_name, *options, of["max_traces"], kind),
            )
        return twins[kind][1]  # type: ignore[no-any-return]

    def _call_twin(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], owner: Any = None) -> Any:
        """Calls what stands in place of this function while calls of functions go through a debugger."""
        return self._twin(kind, owner)._call_itself(args, kwargs)

    def _call_itself(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls this function, though calls of functions go through a debugger."""
        called: Any = self
        code = getattr(self.python_function, "__code__", None)
        if args and code is not None and code.co_argcount and code.co_varnames[0] == "self":
            called, args = self.__get__(args[0]), args[1:]
        _core._run_functions_eagerly(False)
        try:
            return called(*args, **kwargs)
        finally:
            if session.hook is not None:
                _core._run_functions_eagerly(True)

    def __reduce__(self) -> tuple[Any, ...]:
        import pickle  # start-up does without it

        function = self.python_function
        if getattr(function, "__self__", None) is not None:
            return _rebuilt, (function, self.__dict__["_options"])
        place = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
        try:
            found = _found(*place)
        except (ImportError, AttributeError, TypeError):
            found = None
        if found is not self and found is not function:
            raise pickle.PicklingError(
                f"cannot pickle {self!r}: a Function is pickled by the name of its Python function, and "
                f"{place[0]}.{place[1]} is not it"
            )
        return _restore, (*place, None if found is self else self.__dict__["_options"])


def _found(module: Any, qualname: Any) -> Any:

    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _rebuilt(python_function: Callable[..., Any], options: dict[str, Any]) -> Any:
    return function(python_function, **options)


def _restore(module: str, qualname: str, options: dict[str, Any] | None) -> Any:
    found = _found(module, qualname)
    return found if options is None else function(found, **options)


class _Made(threading.local):
    """What is known of the traces of this thread."""

    # Where the traced function made variables that returned last.
    places: tuple[str, ...] = ()

    def __init__(self) -> None:
        # The functions that are being traced, and those of the latest trace that have called themselves.
        self.open: list[str] = []
        self.recursive: set[str] = set()


_made = _Made()

# How many functions that were made of some code were called once and are gone, one after the other.
_forgotten = WeakIdentityMap[CodeType, int]()
# How many of them are too many.
_MOST_FORGOTTEN = 4


def made_variables(function: Any, instance: Any) -> bool:
    """Whether the function that was just traced made variables; the engine asks after each trace.

    Args:
        function: what `_guarded` made.
        instance: the object of a method, each of which has a first call of its own; else None.

    Raises:
        ValueError: where it made some, and not for the first time.
    """
    places, _made.places = _made.places, ()
    traced: dict[int | None, Any] = function.traced
    if not traced and not _made.open:
        _warn_of_forgotten(function)
    for key in [key for key, held in traced.items() if held() is None]:
        del traced[key]
    key = None if instance is None else id(instance)
    first = key not in traced
    if first:
        traced[key] = _reference(instance)
    if places and not first:
        raise ValueError(
            "tf.function only supports singleton tf.Variables created on the first call: "
            f"{function.__name__} created {len(places)} more. Create them outside, or keep and "
            f"reuse those of the first call\n  {places[0]}"
        )
    return bool(places)


def _warn_of_forgotten(function: Any) -> None:
    """Logs a warning where functions of the same code are made, called once and forgotten, time and again."""
    owner = function.owner()
    code = None if owner is None else owner.__dict__.get("_code")
    if code is None or _forgotten.get(code) != _MOST_FORGOTTEN:
        return
    from penstock._function.explain import warn_of_new_functions  # start-up does without it

    _forgotten[code] = _MOST_FORGOTTEN + 1  # once is enough
    warn_of_new_functions(owner._shown_name, _MOST_FORGOTTEN + 1)


def calls_itself(name: str) -> bool:
    """Whether a function of that name was traced within its own trace, in the latest trace of this thread.

    Each call by itself is a call of its own in one graph: nothing is traced that was traced before.
    """
    return name in _made.recursive


def _reference(instance: Any) -> Callable[[], Any]:
    """What gives the instance as long as it lives; something that always lives in place of none."""
    if instance is None:
        return lambda: True
    try:
        return weakref.ref(instance)
    except TypeError:
        return lambda: instance


def _guarded(
    python_function: Callable[..., Any], autograph: bool, twin: str | None = None
) -> Callable[..., Any]:
    """The function to trace: converted by AutoGraph, and its variables counted."""
    target: Callable[..., Any] | None = None if autograph else python_function

    @functools.wraps(python_function)
    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal target
        if not _core._is_tracing():
            owner = run.owner() if session.hook is not None else None  # type: ignore[attr-defined]
            if session.hook is None or owner is None:
                return python_function(*args, **kwargs)
            return session.hook(owner, args, kwargs)
        if target is None:
            from penstock.autograph._traced import convert_function  # start-up does without it

            target = convert_function(python_function, twin == "stepped")
        from penstock.autograph._values import freeze  # start-up does without it

        before = [freeze(value) for value in (*args, *kwargs.values())]
        places: list[str] = []

        def note(_made_now: Any) -> None:
            places.append(place_in_program())

        variable.created.notes.append(note)
        if not _made.open:
            _made.recursive.clear()
        elif run.__name__ in _made.open:
            _made.recursive.add(run.__name__)
        _made.open.append(run.__name__)
        dumped = session.trace if twin == "dumped" else None
        try:
            if dumped is None:
                result = target(*args, **kwargs)
            else:
                with dumped(run.__name__):
                    result = target(*args, **kwargs)
            _check_unchanged(python_function, before, args, kwargs)
        finally:
            variable.created.notes.remove(note)
            _made.open.pop()
        _made.places = tuple(places)
        return result

    def decorated(made: Callable[..., Any]) -> None:
        nonlocal python_function, target
        python_function, target = made, None if autograph else made

    run.decorated = decorated  # type: ignore[attr-defined]
    # Whose first trace is done: by the identity of the object of a method, or None for a function's own.
    run.traced = {}  # type: ignore[attr-defined]
    if not hasattr(run, "__name__"):
        run.__name__ = type(python_function).__name__
    return run


def _check_unchanged(
    function: Callable[..., Any], before: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises a ValueError where a function has changed containers among its arguments."""
    from penstock.autograph._values import same  # start-up does without it

    pairs = zip(before, (*args, *kwargs.values()), strict=True)
    changed = [i for i, (old, new) in enumerate(pairs) if not same(old, new)]
    if not changed:
        return

    parameters = list(signature_of(function).parameters)
    names = [*parameters[: len(args)], *[f"argument {i}" for i in range(len(parameters), len(args))], *kwargs]
    raise ValueError(
        f"{function.__qualname__}({', '.join(parameters)}) should not modify its Python input arguments. "
        f"Modifying a copy is allowed. The following parameter(s) were modified: "
        f"{', '.join(names[i] for i in changed)}"
    )


if TYPE_CHECKING:

    class _Options(TypedDict, total=False):
        """The options of `function`, for type checkers."""

        autograph: bool
        jit_compile: bool | None
        reduce_retracing: bool
        experimental_implements: str | None
        experimental_autograph_options: Any
        experimental_attributes: dict[str, Any] | None
        experimental_relax_shapes: bool | None
        experimental_compile: bool | None
        experimental_follow_type_hints: bool | None
        guard: str | None
        max_traces: int | None


@overload
def function(
    func: Callable[_P, _R],
    input_signature: Sequence[Nested[TypeSpec]] | None = None,
    **options: Unpack[_Options],
) -> Function[_P, _R]: ...
@overload
def function(
    func: None = None,
    input_signature: Sequence[Nested[TypeSpec]] | None = None,
    **options: Unpack[_Options],
) -> Callable[[Callable[_P, _R]], Function[_P, _R]]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Nested[TypeSpec]] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: dict[str, Any] | None = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    guard: str | None = None,
    max_traces: int | None = None,
) -> Any:
    """Make of a Python function one that is traced into a graph and run by the engine.

    The Python code runs once for each type of the arguments: dtypes and shapes of tensors, values of
    everything else. What it does to tensors becomes a graph, which later calls of that type run.

    Args:
        func: the function; without it the result is a decorator.
        input_signature: a `TensorSpec`, or a nest of them, for each parameter, then for each of `*args`: one
            trace for all calls. Parameters without one keep their defaults.
        autograph: whether Python control flow on tensors becomes graph control flow.
        jit_compile: accepted; graphs are always compiled.
        reduce_retracing: whether sizes that differ between two calls become unknown in the second trace.
        experimental_implements: accepted and ignored.
        experimental_autograph_options: accepted and ignored.
        experimental_attributes: accepted and ignored.
        experimental_relax_shapes: the old name of `reduce_retracing`.
        experimental_compile: accepted and ignored.
        experimental_follow_type_hints: accepted and ignored.
        guard: `"globals"` to trace anew when a global, closure cell or attribute has changed that the
            function's code reads; by default such a value is what it was when the function was traced.
        max_traces: at most so many traces are kept: the one that served no call for longest makes place.

    Returns:
        A `Function`, or a decorator that makes one.

    Raises:
        TypeError: for a signature that is no sequence of specifications, or a `func` that is not callable.
        ValueError: for another `guard`, or fewer than one trace.

    >>> import penstock as tf
    >>> @tf.function
    ... def double(x):
    ...     return x + x
    >>> double(tf.constant(21)).numpy()
    np.int32(42)
    """
    relax = reduce_retracing or bool(experimental_relax_shapes)
    if guard not in (None, "globals"):
        raise ValueError(f"argument 'guard' must be None or 'globals', got {guard!r}")
    if max_traces is not None and (not isinstance(max_traces, int) or max_traces < 1):
        raise ValueError(
            f"argument 'max_traces' must be None or an integer of at least 1, got {max_traces!r}"
        )

    caller = sys._getframe().f_back
    made_by = "" if caller is None else caller.f_globals.get("__name__", "")
    is_of_program = not made_by.startswith(("penstock.", "keras_penstock."))

    def decorate(target: Callable[..., Any]) -> Any:
        if isinstance(target, Function):
            target = target.python_function
        kind = type(target) if isinstance(target, staticmethod | classmethod) else None
        if isinstance(target, staticmethod | classmethod):
            target = target.__func__
            if isinstance(target, Function):
                target = target.python_function
        if not callable(target):
            raise TypeError(f"argument 'func' must be callable, got {target!r}")
        name = getattr(target, "__name__", None)
        name = (name if isinstance(name, str) else type(target).__name__).replace("<lambda>", "lambda")
        made: Any = Function(target, name, input_signature, autograph, relax, guard, max_traces)
        if is_of_program:
            made.__dict__["_code"] = getattr(target, "__code__", None)
        return made if kind is None else kind(made)

    return decorate if func is None else decorate(func)
