"""Variables."""

from __future__ import annotations

import enum
import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime import v1_graph_state
from penstock._runtime.print import array_of, value_text
from penstock._runtime.scope import check_name, current_name_scope, name_scope, named, within
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock._values.variable_parts import VariableParts

if TYPE_CHECKING:
    from penstock._types.aliases import ShapeLike, TensorLike
    from penstock.compat.v1 import Session

__all__ = ["Variable", "VariableAggregation", "VariableSynchronization", "variable_creator_scope"]

_creators: list[Callable[..., Any]] = []
_alive: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()

# What stands in for a variable while a function is traced, by the variable's identity.
_stand_ins: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()


class _Watchers(threading.local):
    """What the functions that this thread is tracing call with each variable that is created."""

    def __init__(self) -> None:
        self.notes: list[Callable[[Variable], None]] = []
        # How many variables there were.
        self.count = 0


created = _Watchers()


class VariableSynchronization(enum.Enum):
    """When copies of a variable are brought in line; accepted for programs that name it."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable are combined; accepted for programs that name it."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class SaveSliceInfo:
    """Which part of a larger variable a variable is.

    Args:
        full_name: the name of the larger one.
        full_shape: its extents.
        var_offset: where the part begins in each dimension.
        var_shape: the extents of the part.
        save_slice_info_def: a message that has all of these, in place of them.
        import_scope: what its name begins with then.

    >>> import penstock as tf
    >>> tf.Variable.SaveSliceInfo("w", [4, 6], [2, 0], [2, 6]).spec
    '4 6 2,2:0,6'
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            found = save_slice_info_def
            if not hasattr(found, "full_name"):
                raise TypeError(f"argument 'save_slice_info_def' must be a message of a place, got {found!r}")
            full_name = f"{import_scope}/{found.full_name}" if import_scope else found.full_name
            full_shape, var_offset = list(found.full_shape), list(found.var_offset)
            var_shape = list(found.var_shape)
        self.full_name = full_name
        self.full_shape = full_shape
        self.var_offset = var_offset
        self.var_shape = var_shape

    @property
    def spec(self) -> str:
        """Extents, then offset and extent of each dimension, as checkpoints write them."""
        parts = zip(self.var_offset or (), self.var_shape or (), strict=True)
        extents = "".join(f"{size} " for size in self.full_shape or ())
        return extents + ":".join(f"{start},{size}" for start, size in parts)

    @classmethod
    def from_spec(cls, spec: str) -> SaveSliceInfo:
        """Read what `spec` writes.

        Args:
            spec: the extents of the larger variable, and for each dimension where the part begins and its
                extent.

        Returns:
            The place of the part, without a name.

        Raises:
            ValueError: for another text.

        >>> import penstock as tf
        >>> tf.Variable.SaveSliceInfo.from_spec("4 6 2,2:0,6").var_offset
        [2, 0]
        """
        *extents, parts = expect(spec, str, "spec", "a string").strip().split(" ")
        pairs = [part.split(",") for part in parts.split(":")]
        numbers = [*extents, *(number for pair in pairs for number in pair)]
        if (
            len(pairs) != len(extents)
            or any(len(p) != 2 for p in pairs)
            or not all(map(str.isdecimal, numbers))
        ):
            raise ValueError(
                f"argument 'spec' must be extents, and for each a start and a size, got {spec!r}"
            )
        return cls(
            full_shape=[int(size) for size in extents],
            var_offset=[int(start) for start, _ in pairs],
            var_shape=[int(size) for _, size in pairs],
        )


class _VariableMeta(type(_core._Variable)):  # type: ignore[misc]
    """Runs the creators of the enclosing `variable_creator_scope`s, which may make one of a subclass."""

    @property
    def __signature__(cls) -> Any:
        """The parameters of the constructor."""
        import inspect  # slow to load

        own = inspect.signature(cls.__new__)
        return own.replace(parameters=list(own.parameters.values())[1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        creator: Callable[..., Any] = super().__call__
        if not _creators or cls is not Variable:
            return creator(*args, **kwargs)
        for wrapped in _creators:
            creator = functools.partial(wrapped, creator)
        import inspect  # slow to load

        # Creators see all arguments, those that were left out with their defaults.
        bound = inspect.signature(cls.__new__).bind(cls, *args, **kwargs)
        bound.apply_defaults()
        given: dict[str, Any] = {}
        for (name, value), parameter in zip(
            list(bound.arguments.items())[1:], list(bound.signature.parameters.values())[1:], strict=True
        ):
            given.update(value if parameter.kind is parameter.VAR_KEYWORD else {name: value})
        return creator(**given)


class Variable(VariableParts, metaclass=_VariableMeta):
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
        aggregation: how replicas of a strategy of several processes combine what they assign; by default each
            assigns its own value.
        shape: the shape that values must have, `None` where any size may stand; by default that of the value.

    Raises:
        ValueError: without a value, or where value and shape contradict each other.

    >>> import penstock as tf
    >>> v = tf.Variable([1.0, 2.0])
    >>> _ = v.assign_add([1.0, 1.0])
    >>> v.numpy()
    array([2., 3.], dtype=float32)
    """

    SaveSliceInfo = SaveSliceInfo

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
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> Variable:
        if variable_def is not None:
            raise ValueError("argument 'variable_def' is not supported")
        if initial_value is None:
            raise ValueError("The `initial_value` arg to `tf.Variable` must be specified.")
        graph = v1_graph_state.current()
        if graph is not None:
            # What sets it waits for nothing that is around.
            with graph.control_dependencies(None):
                value = _core._to_tensor(initial_value() if callable(initial_value) else initial_value, dtype)
        else:
            value = _first_value(initial_value, dtype)
        if shape is None:
            shape = value.shape if validate_shape else TensorShape(None)
        shape = TensorShape(shape)
        if not shape.is_compatible_with(value.shape):
            raise ValueError(
                f"the initial value has shape {value.shape}, which argument 'shape' ({shape}) does not allow"
            )
        if not isinstance(name, str | None):
            raise TypeError(f"argument 'name' must be a string, got {name!r}")
        label = (name or "Variable").removesuffix(":0")
        if graph is not None:
            check_name(label)
        label = f"{current_name_scope()}{label}" if graph is None else graph.unique_name(label)
        held = _core._placed(value) if graph is None else None
        self: Variable = super().__new__(
            cls, held, value.dtype, shape, label, trainable is None or bool(trainable)
        )
        self.__dict__.update(
            _constraint=constraint,
            _initial=value,
            _synchronization=synchronization,
            _aggregation=aggregation,
        )
        if graph is not None:
            self.__dict__["_graph"] = weakref.ref(graph)
            start = len(graph.engine)
            with graph.control_dependencies(None):
                self._assign(value)
            self.__dict__["_initializer"] = graph.operation_since(start, f"{label}/Assign")
            graph.add_to_collections(v1_graph_state.variable_collections.get(), self)
            if self.trainable:
                graph.add_to_collection("trainable_variables", self)
        _alive[self._unique_id] = self
        created.count += 1
        for note in created.notes:
            note(self)
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __hash__(self) -> int:  # type: ignore[override]
        # Where a variable is equal to itself alone, as in graphs of TensorFlow 1, it may be a key.
        return super().__hash__() if _core._compares_elements() else id(self)  # type: ignore[misc]

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
    def initializer(self) -> Any:
        """The operation that gives it its first value, in a graph of TensorFlow 1; else None."""
        return self.__dict__.get("_initializer")

    @property
    def graph(self) -> Any:
        """The graph of TensorFlow 1 that it was made in; elsewhere there is no such attribute."""
        graph = self.__dict__["_graph"]() if "_graph" in self.__dict__ else None
        if graph is None:
            raise AttributeError("Variable.graph is undefined when eager execution is enabled")
        return graph

    @property
    def op(self) -> Any:
        """The operation of that graph that stands for it; elsewhere there is no such attribute."""
        from penstock.compat.v1._operation import Operation  # graphs of TensorFlow 1 build on this

        return Operation(self.graph, (), self._name, "VarHandleOp")

    @property
    def synchronization(self) -> Any:
        """What was given for it."""
        return self.__dict__["_synchronization"]

    @property
    def aggregation(self) -> Any:
        """What was given for it."""
        return self.__dict__["_aggregation"]

    @property
    def device(self) -> str:
        """The device that holds the value."""
        return self._device

    @property
    def initial_value(self) -> _core.Tensor:
        """The first value."""
        self._see_identity()
        return self.__dict__["_initial"]  # type: ignore[no-any-return]

    def get_shape(self) -> TensorShape:
        """Tell the shape that values have.

        Returns:
            The shape; sizes that may change are None.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0]).get_shape()
        TensorShape([2])
        """
        return self.shape

    @property
    def ndim(self) -> int | None:
        """The number of dimensions, or None."""
        return self.shape.rank

    def is_initialized(self, name: str | None = None) -> _core.Tensor:
        """Tell whether it holds a value.

        Args:
            name: what the scalar is called in a graph.

        Returns:
            A `bool` scalar; in a graph of TensorFlow 1 it tells of each run of a session whether the variable
            had a value there when the run began.

        >>> import penstock as tf
        >>> bool(tf.Variable(1.0).is_initialized())
        True
        """
        if (graph := v1_graph_state.current()) is not None:
            found: _core.Tensor = graph.told_by_session(
                _core.bool, name or "VarIsInitializedOp", lambda session: session._values.has(self)
            )
            return found
        return named(_core._to_tensor(self._is_initialized()), name)

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Make `value` the value.

        Args:
            value: a tensor of the variable's dtype and shape.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.
            read_value: whether to return anything.

        Returns:
            The variable, or the new value while a function is traced; None if `read_value` is false.

        Raises:
            ValueError: for another shape.
            TypeError: for another dtype.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign([3.0, 4.0]).numpy()
        array([3., 4.], dtype=float32)
        """
        if name is not None:
            return within(name, self.assign, value, read_value=read_value)
        self._assign(value)
        return self._after(read_value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add `delta` to the value.

        Args:
            delta: a tensor of the variable's dtype and shape.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.
            read_value: whether to return anything.

        Returns:
            The variable, or the new value while a function is traced; None if `read_value` is false.

        Raises:
            ValueError: for another shape.
            TypeError: for another dtype.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign_add([10.0, 20.0]).numpy()
        array([11., 22.], dtype=float32)
        """
        if name is not None:
            return within(name, self.assign_add, delta, read_value=read_value)
        self._assign_add(delta)
        return self._after(read_value)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract `delta` from the value.

        Args:
            delta: a tensor of the variable's dtype and shape.
            use_locking: ignored.
            name: a scope for the names of its operations in a graph.
            read_value: whether to return anything.

        Returns:
            The variable, or the new value while a function is traced; None if `read_value` is false.

        Raises:
            ValueError: for another shape.
            TypeError: for another dtype.

        >>> import penstock as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign_sub([0.5, 0.5]).numpy()
        array([0.5, 1.5], dtype=float32)
        """
        if name is not None:
            return within(name, self.assign_sub, delta, read_value=read_value)
        self._assign_sub(delta)
        return self._after(read_value)

    def count_up_to(self, limit: int) -> Any:
        """Add 1 to an integer scalar below `limit`.

        Args:
            limit: where it ends.

        Returns:
            The value before, a scalar.

        Raises:
            OutOfRangeError: where it has reached the limit.

        >>> import penstock as tf
        >>> v = tf.Variable(3)
        >>> int(v.count_up_to(5)), int(v)
        (3, 4)
        """
        return _core._ops()["count_up_to"](self, limit=limit)

    def initialized_value(self) -> _core.Tensor:
        """Read the value, or the first value where it has none yet.

        Returns:
            A tensor of the variable's dtype and shape.

        >>> import penstock as tf
        >>> tf.Variable(1.0).initialized_value().numpy()
        np.float32(1.0)
        """
        return self.read_value() if self._is_initialized() else self.initial_value

    def set_shape(self, shape: ShapeLike) -> None:
        """Check that values may have a shape.

        Args:
            shape: the shape.

        Raises:
            ValueError: where they may not.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0]).set_shape([2])
        """
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"argument 'shape' {shape} contradicts the shape {self.shape} of the variable")

    def eval(self, session: Session | None = None) -> Any:
        """Read the value as a NumPy array, in a session where a graph has it.

        Args:
            session: a `tf.compat.v1.Session`, by default the one that is open.

        Returns:
            An array, or for rank 0 a NumPy scalar.

        >>> import penstock as tf
        >>> tf.Variable([1.0, 2.0]).eval()
        array([1., 2.], dtype=float32)
        """
        if "_graph" in self.__dict__:
            return v1_graph_state.session(session).run(self)
        with _core._Outside():
            return self.numpy()

    def load(self, value: TensorLike, session: Session | None = None) -> None:
        """Make `value` the value now, even in a graph: in a session, as `eval`.

        Args:
            value: a tensor of the variable's dtype and shape.
            session: a `tf.compat.v1.Session`.

        >>> import penstock as tf
        >>> v = tf.Variable(1.0)
        >>> v.load(2.0)
        >>> v.numpy()
        np.float32(2.0)
        """
        if "_graph" in self.__dict__:
            v1_graph_state.session(session).load(self, value)
            return
        with _core._Outside():
            self._assign(value)

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        with name_scope(""):
            copy = Variable(
                self.read_value(), self.trainable, name=self._name, dtype=self.dtype, shape=self.shape
            )
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.read_value(), self.trainable, self._name, self.shape)

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_variable  # start-up does without it

        return of_variable(self)

    def __repr__(self) -> str:
        head = f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}"
        # Each session has its own value of a variable of a graph.
        if _core._is_tracing() or self.__dict__.get("_initializer") is not None:
            return f"{head}>"
        if not self._is_initialized():
            return f"{head}, numpy=<uninitialized>>"
        if self.dtype in (_core.resource, _core.variant):
            return f"{head}>"
        return f"{head}, numpy={value_text(array_of(self))}>"


def _refuse_in_place(method: str, symbol: str, assignment: str) -> None:
    """Has an operator that assigns raise: it would bind the name to a tensor and leave the variable alone."""

    def refuse(self: Variable, other: Any) -> Any:
        raise RuntimeError(
            f"`variable {symbol}= value` with tf.Variables is not supported. Use `{assignment}` to modify "
            f"the variable, or `out = variable {symbol} value` if you need to get a new output Tensor."
        )

    refuse.__name__ = method
    refuse.__qualname__ = f"Variable.{method}"
    refuse.__doc__ = f"Raises: use `{assignment}`."
    setattr(Variable, method, refuse)


for _method, _symbol in {
    "__iadd__": "+",
    "__isub__": "-",
    "__imul__": "*",
    "__itruediv__": "/",
    "__ifloordiv__": "//",
    "__imod__": "%",
    "__ipow__": "**",
    "__imatmul__": "@",
    "__iand__": "&",
    "__ior__": "|",
    "__ixor__": "^",
    "__ilshift__": "<<",
    "__irshift__": ">>",
}.items():
    _assigns = {"+": "variable.assign_add(value)", "-": "variable.assign_sub(value)"}
    _refuse_in_place(_method, _symbol, _assigns.get(_symbol, f"variable.assign(variable {_symbol} value)"))


def _restore(value: Any, trainable: bool, name: str, shape: Any) -> Variable:
    with name_scope(""):
        return Variable(value, trainable, name=name, shape=shape)


def _first_value(initial_value: Any, dtype: Any) -> _core.Tensor:
    """The first value of a variable, computed outside of traced functions."""
    with _core._Outside():
        value = initial_value() if callable(initial_value) else initial_value
    if isinstance(value, _core.Tensor) and value._is_symbolic:
        # The variable outlives the trace: what it starts with is computed now.
        value = _core._computed(value)
        if value is None:
            raise ValueError(
                "the initial value of a variable created in a traced function must not depend on arguments "
                "that are specifications; call the function before get_concrete_function, or give it as a "
                "function without arguments"
            )
    with _core._Outside():
        return _core._to_tensor(value, dtype)


def stand_in(variable: Variable) -> Variable:
    """A variable of the same class that stands for `variable` while a function is traced."""
    made: Variable = _core._Variable.__new__(
        type(variable), variable, variable.dtype, variable.shape, variable._name, variable.trainable
    )
    made.__dict__.update(variable.__dict__)
    _stand_ins[id(variable)] = made
    return made


def restored(name: str, dtype: Any, shape: Any, trainable: bool, value: _core.Tensor | None) -> Variable:
    """A variable as it was saved, perhaps without a value; no creator and no scope has a part in it."""
    made: Variable = _core._Variable.__new__(Variable, value, dtype, shape, name, trainable)
    made.__dict__.update(
        _constraint=None,
        _initial=value,
        _synchronization=VariableSynchronization.AUTO,
        _aggregation=VariableAggregation.NONE,
    )
    _alive[made._unique_id] = made
    return made


def see_identity(variable: Variable) -> None:
    """Has the traces that are open serve this variable alone, wherever another one stands in for it there."""
    found = _stand_ins.get(id(variable))
    if found is not None:
        found._see_identity()
        see_identity(found)


def of_ids(ids: list[int], trainable: bool) -> tuple[Variable, ...]:
    """The living variables of these ids; only the trainable ones if asked."""
    found = (_alive.get(number) for number in ids)
    return tuple(v for v in found if v is not None and (v.trainable or not trainable))


def find(unique_id: int) -> Variable | None:
    """The living variable of an id."""
    return _alive.get(unique_id)


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Make the variables within it by `variable_creator(next_creator, **kwargs)`.

    Scopes nest: the innermost creator is called first.

    Args:
        variable_creator: gives a variable, typically by calling `next_creator(**kwargs)`.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> def frozen(create, **kwargs):
    ...     return create(**{**kwargs, "trainable": False})
    >>> with tf.variable_creator_scope(frozen):
    ...     v = tf.Variable(1.0)
    >>> v.trainable
    False
    """
    _creators.append(variable_creator)
    try:
        yield
    finally:
        _creators.remove(variable_creator)
