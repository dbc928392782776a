"""Functions that users give to data sets: each is traced once, for the specification of the elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock import _core, nest
from penstock._function.function import Function, function
from penstock._types.specs import TensorSpec
from penstock._values.variable import Variable, see_identity
from penstock.data._debug import Mode
from penstock.data._handles import ByHandle
from penstock.data._rows import CHUNK_BYTES, Rows
from penstock.data._structure import Structure, check_form, converted, spec_of
from penstock.errors import InvalidArgumentError, OutOfRangeError

__all__ = [
    "EachRow",
    "Traced",
    "converted_function",
    "enable_debug_mode",
    "traced",
    "traced_with_state",
    "unpacked",
]

# Below so many elements a function runs for each of them.
_FEW = 4


def enable_debug_mode() -> None:
    """Have functions that are given to data sets run as Python code, element by element.

    They are traced as well, when a data set is made, for what they give. `print`, breakpoints and what else
    Python does happen for each element then. It holds for data sets that are made from now on, outside of
    traced functions; functions that give data sets run traced.

    Raises:
        ValueError: in a traced function.

    >>> import penstock as tf
    >>> tf.data.experimental.enable_debug_mode()
    >>> seen = []
    >>> rows = tf.data.Dataset.range(3).map(lambda x: (seen.append(x), x)[1])
    >>> _ = list(rows)
    >>> len(seen)  # when it was traced, and for each element
    4
    """
    if _core._is_tracing():
        raise ValueError("enable_debug_mode() is called outside of traced functions")
    Mode.debug = True


class Makes(NamedTuple):
    """The data set that a function makes.

    Attributes:
        dataset: the data set, as it is in the trace.
        arguments: the numbers of the tensors there that are the arguments.
        only: whether the function does nothing else, and takes nothing from outside.
    """

    dataset: Any
    arguments: list[int]
    only: bool


class Traced:
    """A function of the leaves of some nests, which gives the leaves of another.

    Args:
        concrete: its trace, which takes and gives the tensors of the leaves.
        takes: the structure of its arguments together.
        gives: the structure of its result.
        captures: what it takes from outside: tensors and variables.

    Attributes:
        makes: the data set that it makes, where its result is one.
    """

    __slots__ = ("_concrete", "alone", "captures", "gives", "makes", "pure", "takes")

    def __init__(self, concrete: Any, takes: Structure, gives: Structure, captures: list[Any]) -> None:
        self._concrete = concrete
        self.takes = takes
        self.gives = gives
        self.captures = captures
        self.makes: Makes | None = None
        plain = takes.plain and gives.plain and bool(takes.tensor_specs)
        # Whether it needs no interpreter: it computes, and may read and write files.
        self.alone: bool = plain and concrete._computes_only(files=True)
        # Whether nobody sees when it runs, and for what, and it can run for many elements at once.
        self.pure: bool = plain and concrete._computes_only()

    def on(self, captures: list[Any]) -> Traced:
        """The function with other tensors in place of its captures."""
        return Traced(self._concrete, self.takes, self.gives, captures)

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves of the result for these leaves."""
        tensors = self.takes.to_tensors(leaves)
        try:
            found = self._concrete._run_on(tensors + self.captures)
        except OutOfRangeError as error:
            # It is the end of something else than the data set that calls the function.
            raise InvalidArgumentError(f"Function invocation produced OutOfRangeError: {error}") from error
        return self.gives.from_tensors(found)

    def for_engine(self) -> tuple[Any, list[Any], list[bool], bool]:
        """The function as stages of the engine take it. It must be `alone`."""
        gives = [isinstance(spec, TensorSpec) for spec in self.gives.leaves]
        return self._concrete, self.captures, gives, self.pure

    def of_rows(self, columns: Sequence[Any]) -> list[Any]:
        """The columns of the results for columns of its arguments, for a function that is `pure`."""
        tensors = self.takes.to_tensors(columns)
        return self.gives.from_tensors(self._concrete._run_on(tensors + self.captures, len(tensors)))


class _Eager(Traced):
    """A function that runs as Python code, for elements one by one.

    Args:
        function: its trace.
        func: the function.
        what: what its result is, for messages.
    """

    __slots__ = ("_func", "_what")

    def __init__(self, function: Traced, func: Callable[..., Any], what: str) -> None:
        super().__init__(function._concrete, function.takes, function.gives, function.captures)
        self._func, self._what = func, what
        self.alone = self.pure = False

    def on(self, captures: list[Any]) -> Traced:
        return self

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        value = self._func(*self.takes.pack(leaves))
        value = tuple(value) if isinstance(value, list) else value
        return self.gives.leaves_of(value, self._what)


def traced(func: Any, argument: str, specs: Sequence[Any], result: Any = None) -> Traced:
    """Traces a function that a user gave.

    Args:
        func: the function.
        argument: the name of the argument that it is.
        specs: the specification of each of its arguments.
        result: what it must give, if that is known: then its tensors become of these dtypes.

    Raises:
        TypeError: where it is not callable, or gives what can be no tensors, or tensors of other dtypes.
        InvalidArgumentError: where it gives another nest.
    """
    if not callable(func):
        raise TypeError(f"argument '{argument}' must be callable, got {func!r}")
    takes = Structure(tuple(specs))
    given: list[Any] = []
    made_of: list[tuple[Any, list[int]]] = []
    target = converted_function(func)

    def run(*tensors: Any) -> list[Any]:
        args = takes.pack(takes.from_tensors(tensors))
        value = target(*args)
        made_of[:] = [(value, [tensor._id for tensor in tensors])]
        # A list at the top is what operations give that have several results.
        value = tuple(value) if isinstance(value, list) else value
        what = f"the result of argument '{argument}'"
        if result is None:
            value = converted(value, what)
        else:
            check_form(value, result, what)
            value = nest.pack_sequence_as(result, Structure(result).leaves_of(value, what))
        given[:] = [spec_of(value)]
        gives = Structure(given[0])
        return gives.to_tensors(nest.flatten(value))

    run.__name__ = run.__qualname__ = getattr(func, "__name__", argument).replace("<lambda>", "lambda")
    concrete = function(run, autograph=False).get_concrete_function(*takes.tensor_specs)
    captures = list(concrete.captured_inputs)
    for variable in captures:
        # Host code gets the variable itself, so a trace around it serves no other.
        if isinstance(variable, Variable) and _core._is_tracing():
            see_identity(variable)
    made = Traced(concrete, takes, Structure(given[0]), captures)
    if isinstance(made_of[0][0], ByHandle):
        # The one instruction of its graph gives the data set.
        made.makes = Makes(*made_of[0], only=not captures and concrete._statistics()[2] == 1)
    elif Mode.debug and not _core._is_tracing():
        return _Eager(made, func, f"the result of argument '{argument}'")
    return made


def traced_with_state(
    func: Any, argument: str, state: Any, element: Any, rest: bool = False
) -> tuple[Traced, Any]:
    """Traces a function of a state and an element which gives the next state.

    Args:
        func: the function.
        argument: the name of the argument that it is.
        state: the specification of the first state.
        element: that of an element.
        rest: whether the function gives a pair, of which the state is the first.

    Returns:
        The function, and the specification of all states: sizes that the function changes are unknown.

    Raises:
        TypeError: where it is not callable, or gives a state of other dtypes.
        InvalidArgumentError: where it gives a state that is nested otherwise, or no pair.
    """
    if not callable(func):
        raise TypeError(f"argument '{argument}' must be callable, got {func!r}")
    what = f"the state that argument '{argument}' gives"
    target = converted_function(func)

    def step(held: Any, taken: Any) -> Any:
        found = target(held, taken)
        if rest and not (isinstance(found, tuple | list) and len(found) == 2):
            raise InvalidArgumentError(
                f"argument '{argument}' must give a pair of a state and a result, got {found!r}"
            )
        following = found[0] if rest else found
        following = tuple(following) if isinstance(following, list) else following
        check_form(following, loose, what)
        following = nest.pack_sequence_as(loose, Structure(loose).leaves_of(following, what))
        return (following, found[1]) if rest else following

    step.__name__ = getattr(func, "__name__", argument)
    before = None
    while state != before:
        loose = nest.map_structure(_any_shape, state)
        made = traced(step, argument, (state, element))
        given = made.gives.spec[0] if rest else made.gives.spec
        before, state = state, nest.map_structure(_joint, state, given)
    return made, state


def _any_shape(spec: Any) -> Any:
    return TensorSpec(None, spec.dtype) if isinstance(spec, TensorSpec) else spec


def _joint(a: Any, b: Any) -> Any:
    return a.most_specific_common_supertype([b]) or a


def converted_function(func: Callable[..., Any]) -> Callable[..., Any]:
    """What is traced in place of a function."""
    from penstock.autograph import convert_function  # start-up does without it

    return func if isinstance(func, Function) else convert_function(func)


def unpacked(spec: Any) -> tuple[Any, ...]:
    """The specifications of the arguments for an element: the items of a tuple, or the element."""
    return spec if type(spec) is tuple else (spec,)


class EachRow:
    """A function on its way over rows: many elements at once where that is possible, else one by one.

    Args:
        function: the function.
    """

    __slots__ = ("_at", "_failed", "_function", "_most", "_rows", "_together")

    def __init__(self, function: Traced) -> None:
        self._function = function
        self._together = function.pure
        # How many rows at once: results may be larger than what they are made of.
        self._most = 1
        # Rows that could not be done together, the next of them, and whether one has failed.
        self._rows: Rows | None = None
        self._at = 0
        self._failed = False

    def __call__(self, pull: Callable[[int], Rows | None], limit: int) -> tuple[Rows, Rows] | None:
        """The next rows and what the function gives for them; None at the end."""
        if self._rows is not None:
            return self._next_of_rows()
        rows = pull(min(limit, self._most) if self._together else limit)
        if rows is None:
            return None
        if not rows.stacked:
            return rows, self._single(rows)
        if self._together and rows.count >= _FEW:
            try:
                columns = self._function.of_rows(rows.columns)
            except Exception:
                pass
            else:
                out = Rows(rows.count, columns)
                self._grow(out)
                return rows, out
        self._rows, self._at, self._failed = rows, 0, not self._together or rows.count < _FEW
        return self._next_of_rows()

    def _single(self, rows: Rows) -> Rows:
        out = Rows(1, self._function(rows.columns), False)
        if self._together and self._most == 1:
            self._grow(out)
        return out

    def _grow(self, out: Rows) -> None:
        self._most = max(1, min(max(16, 8 * out.count), 8 * CHUNK_BYTES // out.bytes_each()))

    def _next_of_rows(self) -> tuple[Rows, Rows]:
        """The next element of those that are done one by one."""
        assert self._rows is not None
        rows, i = self._rows, self._at
        row = rows.part(i, i + 1)
        self._at = i + 1
        if self._at == rows.count:
            self._rows = None
        row = Rows(1, row.at(0), False)
        try:
            out = self._single(row)
        except Exception:
            self._failed = True
            raise
        if self._rows is None and not self._failed:
            # Each can be done, but not all of them together: their results differ in shape.
            self._together = False
        return row, out
