"""Variables of graphs: their initialisation, and those that are shared by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from penstock import _core, initializers, raw_ops
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import name_scope
from penstock._types.argument_names import shown
from penstock._types.shape import TensorShape
from penstock._values.variable import Variable, VariableAggregation, VariableSynchronization
from penstock.compat.v1._graph import GraphKeys, Operation, get_default_graph, group

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "AUTO_REUSE",
    "VariableV1",
    "assign",
    "assign_add",
    "assign_sub",
    "collected_in",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "local_variables",
    "local_variables_initializer",
    "sharing",
    "to_float",
    "trainable_variables",
    "variable_scope",
    "variables_by_name",
    "variables_initializer",
]


class _AutoReuse:
    """The `reuse` of a scope whose variables are made when they are not there yet."""

    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


def to_float(x: TensorLike, name: str = "ToFloat") -> _core.Tensor:
    """Convert values to `float32`.

    Args:
        x: a tensor.
        name: what it is called in a graph.

    Returns:
        A tensor of the shape of `x`.

    >>> import penstock as tf
    >>> tf.compat.v1.to_float([1, 2]).numpy()
    array([1., 2.], dtype=float32)
    """
    return raw_ops.cast(x, dtype=_core.float32, name=name)


def _variable(ref: Any) -> Any:
    """The variable that an assignment is to: with a method of a variable's, as its parts have."""
    if not hasattr(ref, "assign_add"):
        raise TypeError(f"argument 'ref' must be a tf.Variable, got {shown(ref)}")
    return ref


def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make `value` the value of a variable.

    Args:
        ref: a variable.
        value: a tensor of its dtype and shape.
        validate_shape: accepted and ignored.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.assign`.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> _ = tf.compat.v1.assign(v, 2.0)
    >>> v.numpy()
    np.float32(2.0)
    """
    return _variable(ref).assign(value, name=name)


def assign_add(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Add `value` to a variable.

    Args:
        ref: a variable.
        value: a tensor of its dtype and shape.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.assign_add`.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> float(tf.compat.v1.assign_add(v, 2.0))
    3.0
    """
    return _variable(ref).assign_add(value, name=name)


def assign_sub(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtract `value` from a variable.

    Args:
        ref: a variable.
        value: a tensor of its dtype and shape.
        use_locking: accepted and ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        As `Variable.assign_sub`.

    >>> import penstock as tf
    >>> v = tf.Variable(1.0)
    >>> float(tf.compat.v1.assign_sub(v, 2.0))
    -1.0
    """
    return _variable(ref).assign_sub(value, name=name)


def global_variables(scope: str | None = None) -> list[Any]:
    """List the variables of the default graph.

    Args:
        scope: how the names of the variables begin, a regular expression.

    Returns:
        The variables; of a scope those alone that have such names.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1.0, name="v")
    ...     [variable.name for variable in tf.compat.v1.global_variables()]
    ['v:0']
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """List the trainable variables of the default graph.

    Args:
        scope: how the names of the variables begin, a regular expression.

    Returns:
        The variables; of a scope those alone that have such names.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1.0, trainable=False)
    ...     tf.compat.v1.trainable_variables()
    []
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """List the local variables of the default graph, such as those of metrics.

    Args:
        scope: how the names of the variables begin, a regular expression.

    Returns:
        The variables; of a scope those alone that have such names.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.compat.v1.get_local_variable("v", [2])
    ...     [variable.name for variable in tf.compat.v1.local_variables()]
    ['v:0']
    """
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@contextmanager
def collected_in(collections: Iterable[str]) -> Iterator[None]:
    """Have variables that are made within a block be in these collections of their graph."""
    token = v1_graph_state.variable_collections.set(tuple(collections))
    try:
        yield
    finally:
        v1_graph_state.variable_collections.reset(token)


class _VariableMeta(type(Variable)):  # type: ignore[misc]
    """Makes a `tf.Variable` of the arguments of TensorFlow 1; every variable is an instance."""

    def __call__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: Any = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
    ) -> Any:
        made: Any = Variable if cls is VariableV1 else super().__call__
        if isinstance(collections, str):
            raise TypeError(f"argument 'collections' must be a list of names, got {collections!r}")
        with collected_in((GraphKeys.GLOBAL_VARIABLES,) if collections is None else collections):
            return made(
                initial_value,
                trainable=trainable,
                validate_shape=validate_shape,
                caching_device=caching_device,
                name=name,
                variable_def=variable_def,
                dtype=dtype,
                import_scope=import_scope,
                constraint=constraint,
                synchronization=synchronization,
                aggregation=aggregation,
                shape=shape,
            )

    @property
    def __signature__(cls) -> Any:
        """The parameters of the constructor."""
        import inspect  # slow to load

        own = inspect.signature(_VariableMeta.__call__)
        return own.replace(parameters=list(own.parameters.values())[1:])

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Variable) if cls is VariableV1 else super().__instancecheck__(instance)


# Errors about arguments name the function, by this.
_VariableMeta.__call__.__qualname__ = "Variable"


class VariableV1(Variable, metaclass=_VariableMeta):
    """A `tf.Variable`, made by the arguments of TensorFlow 1 in their order.

    Args:
        initial_value: the first value, anything that can become a tensor, or a function without
            arguments that gives it.
        trainable: whether it is among the trainable variables of the graph; by default true.
        collections: the collections of the graph that it is added to; by default the global variables.
        validate_shape: where false, values of any shape may be assigned.
        caching_device: accepted and ignored.
        name: a name for people.
        variable_def: not supported.
        dtype: the element type; by default that of the value.
        expected_shape: accepted and ignored.
        import_scope: accepted and ignored.
        constraint: a function that optimisers apply to the value after an update.
        use_resource: accepted and ignored: there is one kind of variables.
        synchronization: accepted and ignored.
        aggregation: how replicas of a strategy combine what they assign.
        shape: the shape that values must have; by default that of the value.

    Raises:
        TypeError: where `collections` is a string.
        ValueError: without a value, or where value and shape contradict each other.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.compat.v1.Variable(0, False, collections=["local_variables"], use_resource=True)
    ...     tf.compat.v1.local_variables() == [v], tf.compat.v1.trainable_variables()
    (True, [])
    """


def variables_initializer(var_list: Iterable[Variable], name: str = "init") -> Operation | None:
    """Make an operation that gives variables their first values.

    Args:
        var_list: the variables.
        name: a name for people.

    Returns:
        The operation; None outside of a graph, where they have them.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.variables_initializer([tf.Variable(1.0)])
    <tf.Operation 'init'>
    """
    return group(*[v.initializer for v in var_list], name=name)


def _initializer(variables: Callable[[], list[Any]], name: str) -> Operation:
    """An operation that gives variables of the default graph their first values."""
    graph = get_default_graph()
    numbers = [n for variable in variables() for n in variable.initializer._instructions]
    return graph.composite(numbers, name)


def global_variables_initializer() -> Operation:
    """Make an operation that gives all global variables of the default graph their first values.

    Returns:
        The operation.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.global_variables_initializer()
    <tf.Operation 'init'>
    """
    return _initializer(global_variables, "init")


initialize_all_variables = global_variables_initializer


def local_variables_initializer() -> Operation:
    """Make an operation that gives all local variables of the default graph their first values.

    Returns:
        The operation.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.local_variables_initializer()
    <tf.Operation 'init_local'>
    """
    return _initializer(local_variables, "init_local")


class _Scopes(threading.local):
    """The open variable scopes, innermost last."""

    def __init__(self) -> None:
        self.open: list[VariableScope] = []
        # Where variables are found by name, innermost last; without one, in the default graph.
        self.stores: list[dict[str, Any]] = []


_scopes = _Scopes()


@contextmanager
def sharing(store: dict[str, Any]) -> Iterator[None]:
    """Have `get_variable` find and keep variables in a store within a block."""
    _scopes.stores.append(store)
    try:
        yield
    finally:
        _scopes.stores.pop()


class VariableScope:
    """A scope of variables that are shared by name.

    Attributes:
        name: the names of the scopes, joined by `/`.
        reuse: whether variables must be there already; `AUTO_REUSE` where they may be.
        initializer: makes first values where `get_variable` has none of its own.
        regularizer: makes a loss of a variable where `get_variable` has none of its own.
        constraint: what optimisers apply to a value after an update, likewise.
        dtype: the element type of variables, likewise.
        custom_getter: is called in place of `get_variable`, with that as its first argument.
        caching_device: kept for who asks; reads of variables are not cached.
    """

    def __init__(
        self,
        name: str,
        reuse: Any = False,
        initializer: Any = None,
        regularizer: Any = None,
        constraint: Any = None,
        dtype: Any = None,
        custom_getter: Any = None,
    ) -> None:
        self.name = name
        self.reuse: Any = reuse
        self.initializer: Any = initializer
        self.regularizer: Any = regularizer
        self.constraint: Any = constraint
        self.dtype: Any = dtype
        self.custom_getter: Any = custom_getter
        self.caching_device: Any = None

    @property
    def original_name_scope(self) -> str:
        """The names of the scopes, with a `/` at the end."""
        return f"{self.name}/" if self.name else ""

    def set_caching_device(self, caching_device: Any) -> None:
        """Set `caching_device`."""
        self.caching_device = caching_device

    def set_initializer(self, initializer: Any) -> None:
        """Set what makes first values."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set what makes losses of variables."""
        self.regularizer = regularizer

    def reuse_variables(self) -> None:
        """Demand of variables from now on that they be there already."""
        self.reuse = True


def get_variable_scope() -> VariableScope:
    """Find the innermost variable scope.

    Returns:
        The scope.

    >>> import penstock as tf
    >>> with tf.compat.v1.variable_scope("layer"):
    ...     tf.compat.v1.get_variable_scope().name
    'layer'
    """
    return _scopes.open[-1] if _scopes.open else VariableScope("")


def variables_by_name() -> dict[str, Any]:
    """The variables that `get_variable` finds, by their full names."""
    found: dict[str, Any] = _scopes.stores[-1] if _scopes.stores else get_default_graph().variables
    return found


def _unused(outer: str, name: str) -> str:
    """A name of a scope below which there are no variables."""
    store, prefix = variables_by_name(), f"{outer}/" if outer else ""
    tried, number = name, 0
    while any(key.startswith(f"{prefix}{tried}/") for key in store):
        number += 1
        tried = f"{name}_{number}"
    return tried


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: Any = None,
    initializer: Callable[..., Any] | None = None,
    regularizer: Callable[[Any], Any] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: bool | _AutoReuse | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Callable[[Any], Any] | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Make and find variables below a name, by `get_variable` within it.

    Args:
        name_or_scope: a name, or a scope that was open before.
        default_name: the name where `name_or_scope` is None, with a number behind it where it has variables.
        values: ignored.
        initializer: makes first values.
        regularizer: makes losses of variables.
        caching_device: ignored.
        partitioner: ignored: variables are in one piece.
        custom_getter: is called in place of `get_variable`, with a function that does what this does, the
            full name and the other arguments.
        reuse: whether variables must be there already; `AUTO_REUSE` where they may be.
        dtype: the element type of variables.
        use_resource: ignored.
        constraint: what optimisers apply to a value after an update.
        auxiliary_name_scope: whether operations are made below the name too.

    Returns:
        A context manager, which gives the scope.

    Raises:
        TypeError: where `name_or_scope` is neither a string nor a scope, or is None without `default_name`.

    >>> import penstock as tf
    >>> with tf.compat.v1.variable_scope("layer"):
    ...     tf.compat.v1.get_variable("w", [2]).name
    'layer/w:0'
    """
    outer = get_variable_scope()
    if name_or_scope is None and default_name is None:
        raise TypeError("argument 'name_or_scope' must be given where 'default_name' is None")
    if isinstance(name_or_scope, VariableScope):
        name, local = name_or_scope.name, name_or_scope.name.rpartition("/")[2]
        outer = name_or_scope
    elif isinstance(name_or_scope, str | None):
        local = _unused(outer.name, default_name or "") if name_or_scope is None else name_or_scope
        name = f"{outer.name}/{local}" if outer.name else local
    else:
        raise TypeError(
            f"argument 'name_or_scope' must be a string or a variable scope, got {shown(name_or_scope)}"
        )
    scope = VariableScope(
        name,
        reuse or outer.reuse,
        initializer or outer.initializer,
        regularizer or outer.regularizer,
        constraint or outer.constraint,
        dtype or outer.dtype,
        custom_getter or outer.custom_getter,
    )
    _scopes.open.append(scope)
    try:
        with name_scope(local) if local and auxiliary_name_scope else nullcontext():
            yield scope
    finally:
        _scopes.open.remove(scope)


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Make the variable of a name in the innermost scope; with reuse find the one that is there.

    Args:
        name: the name within the scope.
        shape: the shape of a new one; not needed where `initializer` is a value or takes no arguments.
        dtype: its element type; by default that of the scope, else `float32`. One that is made of a value has
            that of the value.
        initializer: its first value, or what makes that of a shape and a dtype; by default the scope's, or
            Glorot's uniform one (zeros for integers).
        regularizer: makes a loss of it, which is added to the losses of regularizers of the graph.
        trainable: whether tapes watch it.
        collections: the collections of the graph that it is added to; by default the global variables.
        caching_device: ignored.
        partitioner: ignored.
        validate_shape: where false, values of any shape may be assigned.
        use_resource: ignored.
        custom_getter: is called in place of this, with a function that does it, the full name and the other
            arguments.
        constraint: what optimisers apply to its value after an update.
        synchronization: accepted and ignored.
        aggregation: how replicas combine what they assign.

    Returns:
        The variable.

    Raises:
        ValueError: where the variable is there and should not be, or is not and should, or has another shape
            or dtype; where a new one has no shape; where a value is given a shape or another dtype.

    >>> import penstock as tf
    >>> with tf.compat.v1.variable_scope("shared", reuse=tf.compat.v1.AUTO_REUSE):
    ...     tf.compat.v1.get_variable("w", [2]) is tf.compat.v1.get_variable("w", [2])
    True
    """
    scope = get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    if dtype is not None and initializer is not None and not callable(initializer):
        own, wanted = _core._to_tensor(initializer).dtype, _core.DType(dtype)
        if own != wanted:
            raise ValueError(
                f"argument 'initializer' is of dtype {own.name}, which is not {wanted.name}, as 'dtype' says"
            )
    given: dict[str, Any] = {
        "shape": shape,
        "dtype": dtype or scope.dtype or _core.float32,
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": regularizer or scope.regularizer,
        "reuse": scope.reuse,
        "trainable": trainable,
        "collections": collections,
        "validate_shape": validate_shape,
        "constraint": constraint or scope.constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    getter = custom_getter or scope.custom_getter
    return _found_or_made(full, **given) if getter is None else getter(_found_or_made, full, **given)


def _found_or_made(
    name: str,
    shape: Any = None,
    dtype: Any = _core.float32,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    **options: Any,
) -> Variable:
    """The variable of a full name."""
    make, dtype = initializer, _core.DType(dtype)
    if shape is not None and make is not None and not callable(make):
        raise ValueError(
            "argument 'shape' must not be given where 'initializer' is a value, which has a shape"
        )
    store = variables_by_name()
    found: Variable | None = store.get(name)
    if found is not None:
        if not reuse:
            raise ValueError(
                f"variable {name} already exists, disallowed: set reuse=True or reuse=tf.AUTO_REUSE"
            )
        if shape is not None and not found.shape.is_compatible_with(shape):
            raise ValueError(
                f"trying to share variable {name}, but specified shape {shape} and found {found.shape}"
            )
        if found.dtype != dtype:
            raise ValueError(
                f"trying to share variable {name}, but specified dtype {dtype.name} "
                f"and found {found.dtype.name}"
            )
        return found
    if reuse is True:
        raise ValueError(f"variable {name} does not exist, or was not created with tf.get_variable()")
    if make is None:
        if shape is None:
            raise ValueError(f"variable {name} did not get an initializer, so argument 'shape' must be given")
        make = initializers.GlorotUniform() if dtype.is_floating else initializers.Zeros()
    if isinstance(make, type):
        make = make()
    first, own = make, None
    if callable(make) and shape is not None:
        whole = TensorShape(shape)
        if not whole.is_fully_defined():
            raise ValueError(f"argument 'shape' of a new variable must be known, got {whole}")
        first, own = (lambda: make(whole.as_list(), dtype)), dtype
    outer, _, local = name.rpartition("/")
    where = (GraphKeys.GLOBAL_VARIABLES,) if collections is None else collections
    with name_scope(f"{outer}/" if outer else ""):
        with collected_in(where):
            made = Variable(first, trainable=trainable, name=local, dtype=own, **options)
        if regularizer is not None and v1_graph_state.current() is not None:
            loss = regularizer(made)
            if loss is not None:
                get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    store[name] = made
    return made


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """Make or find a variable that is local: not trainable, and not part of what is saved.

    Args:
        name: the name within the innermost scope.
        *args: as for `get_variable`.
        **kwargs: as for `get_variable`.

    Returns:
        The variable.

    >>> import penstock as tf
    >>> tf.compat.v1.get_local_variable("seen", [2]).trainable
    False
    """
    local = {"trainable": False, "collections": (GraphKeys.LOCAL_VARIABLES,)}
    return get_variable(name, *args, **{**local, **kwargs})
