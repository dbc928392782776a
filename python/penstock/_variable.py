"""Variables."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock import _core
from penstock._shape import TensorShape

__all__ = ["Variable", "variable_creator_scope"]

_creators: list[Callable[..., Any]] = []
_alive: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()
_numbers = itertools.count()


class _Watchers(threading.local):
    """What the functions that this thread is tracing call with each variable that is created."""

    def __init__(self) -> None:
        self.notes: list[Callable[[Variable], None]] = []


created = _Watchers()


class _VariableMeta(type(_core._Variable)):  # type: ignore[misc]
    """Runs the creators of the enclosing `variable_creator_scope`s."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        creator: Callable[..., Any] = super().__call__
        for wrapped in _creators:
            creator = _wrap(wrapped, creator)
        return creator(*args, **kwargs)


def _wrap(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    def create(*args: Any, **kwargs: Any) -> Any:
        names = ("initial_value", "trainable", "validate_shape", "caching_device", "name")
        return outer(inner, **dict(zip(names, args, strict=False)), **kwargs)

    return create


class Variable(_core._Variable, metaclass=_VariableMeta):
    """A tensor that can be assigned.

    A traced function refers to a variable, not to its value: it reads and writes what the variable
    holds when it runs. Reads and writes keep the order of the program.

    Args:
        initial_value: the first value, anything that can become a tensor, or a function without
            arguments that gives it.
        trainable: whether tapes watch it when it is read; by default true.
        validate_shape: where false, values of any shape may be assigned.
        caching_device: accepted and ignored.
        name: a name for people.
        variable_def: not supported.
        dtype: the element type; by default that of the value.
        import_scope: accepted and ignored.
        constraint: a function that optimisers apply to the value after an update.
        synchronization: accepted and ignored.
        aggregation: accepted and ignored.
        shape: the shape that values must have, `None` where any size may stand; by default that of the value.

    Raises:
        ValueError: without a value, or where value and shape contradict each other.
    """

    def __new__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> Variable:
        if variable_def is not None:
            raise ValueError("argument 'variable_def' is not supported")
        if initial_value is None:
            raise ValueError("argument 'initial_value' must be given")
        with _core._Outside():
            value = initial_value() if callable(initial_value) else initial_value
        if isinstance(value, _core.Tensor) and value._is_symbolic:
            # The variable outlives the trace: what it starts with is computed now.
            value = _core._computed(value)
            if value is None:
                raise ValueError(
                    "the initial value of a variable created in a traced function must not depend on its "
                    "arguments; give it as a function without arguments"
                )
        with _core._Outside():
            tensor = _core._convert(value, dtype)
        if shape is None:
            shape = tensor.shape if validate_shape else TensorShape(None)
        shape = TensorShape(shape)
        if not shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"the initial value has shape {tensor.shape}, which argument 'shape' ({shape}) does not allow"
            )
        number = next(_numbers)
        label = name or ("Variable" if number == 0 else f"Variable_{number}")
        self: Variable = super().__new__(
            cls, tensor, tensor.dtype, shape, label, trainable is None or bool(trainable)
        )
        self.__dict__.update(_constraint=constraint, _initial=tensor)
        _alive[self._unique_id] = self
        for note in created.notes:
            note(self)
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @property
    def name(self) -> str:
        """The name, with `:0`."""
        return f"{self._name}:0"

    @property
    def constraint(self) -> Callable[..., Any] | None:
        """The function that optimisers apply after an update, or None."""
        self._see_identity()
        return self.__dict__["_constraint"]  # type: ignore[no-any-return]

    @property
    def handle(self) -> Variable:
        """What identifies the variable: itself."""
        return self

    @property
    def device(self) -> str:
        """The device that holds the value."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    @property
    def initial_value(self) -> _core.Tensor:
        """The first value."""
        self._see_identity()
        return self.__dict__["_initial"]  # type: ignore[no-any-return]

    def get_shape(self) -> TensorShape:
        """The shape."""
        return self.shape

    @property
    def ndim(self) -> int | None:
        """The number of dimensions, or None."""
        return self.shape.rank

    def is_initialized(self, name: str | None = None) -> _core.Tensor:
        """Whether it holds a value."""
        return _core._convert(self._is_initialized())

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Makes `value`, of the variable's dtype and shape, its value.

        Returns:
            The variable, or the new value while a function is traced; None if `read_value` is false.

        Raises:
            ValueError: for another shape.
            TypeError: for another dtype.
        """
        self._assign(value)
        return self._after(read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds `delta`, of the variable's dtype and shape. Returns as `assign`."""
        self._assign_add(delta)
        return self._after(read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts `delta`, of the variable's dtype and shape. Returns as `assign`."""
        self._assign_sub(delta)
        return self._after(read_value)

    def _after(self, read_value: bool) -> Any:
        if not read_value:
            return None
        return self.read_value() if _core._is_tracing() else self

    def __iadd__(self, other: Any) -> Any:
        return self + other

    def __isub__(self, other: Any) -> Any:
        return self - other

    def __imul__(self, other: Any) -> Any:
        return self * other

    def __itruediv__(self, other: Any) -> Any:
        return self / other

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = Variable(
            self.read_value(), self.trainable, name=self._name, dtype=self.dtype, shape=self.shape
        )
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.read_value(), self.trainable, self._name, self.shape)

    def __repr__(self) -> str:
        head = f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}"
        if _core._is_tracing():
            return f"{head}>"
        if not self._is_initialized():
            return f"{head}, numpy=<uninitialized>>"
        return f"{head}, numpy={self.numpy()!r}>"


def _restore(value: Any, trainable: bool, name: str, shape: Any) -> Variable:
    return Variable(value, trainable, name=name, shape=shape)


def stand_in(variable: Variable) -> Variable:
    """A variable of the same class that stands for `variable` while a function is traced."""
    made: Variable = _core._Variable.__new__(
        type(variable), variable, variable.dtype, variable.shape, variable._name, variable.trainable
    )
    made.__dict__.update(variable.__dict__)
    return made


def of_ids(ids: list[int], trainable: bool) -> tuple[Variable, ...]:
    """The living variables of these ids; only the trainable ones if asked."""
    found = (_alive.get(number) for number in ids)
    return tuple(v for v in found if v is not None and (v.trainable or not trainable))


def find(unique_id: int) -> Variable | None:
    """The living variable of an id."""
    return _alive.get(unique_id)


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Within it, variables are made by `variable_creator(next_creator, **kwargs)`.

    Scopes nest: the innermost creator is called first.

    Args:
        variable_creator: gives a variable, typically by calling `next_creator(**kwargs)`.
    """
    _creators.append(variable_creator)
    try:
        yield
    finally:
        _creators.remove(variable_creator)
