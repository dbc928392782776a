"""Graphs that a program adds to and runs in parts, as TensorFlow 1 has them.

A graph is a trace that stays open. `Session.run` makes a function of the part of it that the fetches need,
once for each set of fetches and feeds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, nest
from penstock._autodiff import gradients as _gradients, registered
from penstock._autodiff.tape import UnconnectedGradients
from penstock._runtime import v1_graph_state
from penstock._runtime.scope import check_name, current_name_scope, named
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock._values.variable import Variable
from penstock.compat.v1._graph_parts import GraphParts
from penstock.compat.v1._operation import Operation as Operation

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, Nested, ShapeLike, TensorLike, TensorOrVariable

__all__ = [
    "Graph",
    "GraphKeys",
    "Operation",
    "control_dependencies",
    "disable_eager_execution",
    "enable_eager_execution",
    "executing_eagerly",
    "get_collection",
    "get_default_graph",
    "gradients",
    "group",
    "placeholder",
    "placeholder_with_default",
    "reset_default_graph",
]


class GraphKeys:
    """The names of collections."""

    ACTIVATIONS = "activations"
    ASSET_FILEPATHS = "asset_filepaths"
    BIASES = "biases"
    CONCATENATED_VARIABLES = "concatenated_variables"
    COND_CONTEXT = "cond_context"
    EVAL_STEP = "eval_step"
    GLOBAL_STEP = "global_step"
    GLOBAL_VARIABLES = "variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    LOCAL_RESOURCES = "local_resources"
    LOCAL_VARIABLES = "local_variables"
    LOSSES = "losses"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    QUEUE_RUNNERS = "queue_runners"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    READY_OP = "ready_op"
    REGULARIZATION_LOSSES = "regularization_losses"
    RESOURCES = "resources"
    SAVEABLE_OBJECTS = "saveable_objects"
    SAVERS = "savers"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    TABLE_INITIALIZERS = "table_initializer"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAIN_OP = "train_op"
    UPDATE_OPS = "update_ops"
    VARIABLES = "variables"
    WEIGHTS = "weights"
    WHILE_CONTEXT = "while_context"


class _Controls(NamedTuple):
    """An open context of control dependencies.

    Attributes:
        before: the numbers of the instructions that run first.
        free: the instructions within it that wait for nothing, as ranges of numbers.
    """

    before: list[int]
    free: list[range]


class Graph(GraphParts):
    """A graph that operations are added to within `as_default()`.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32)
    ...     y = x * 2.0
    ...     with tf.compat.v1.Session() as sess:
    ...         sess.run(y, feed_dict={x: 21.0})
    np.float32(42.0)
    """

    def __init__(self) -> None:
        super().__init__()
        self.engine: Any = _core._OpenGraph()
        self.after: list[tuple[int, int]] = []
        self.groups: dict[str, Operation] = {}
        self.named: dict[str, Any] = {}
        self.variables: dict[str, Any] = {}
        self.parts: dict[Any, Any] = {}
        # Variables with operations that set them, which a session runs before it runs anything else.
        self.begun_by_sessions: list[tuple[Any, Operation]] = []
        # Tensors whose values are what a session that runs says of itself, and what asks it.
        self.told_by_sessions: list[tuple[_core.Tensor, Callable[[Any], Any]]] = []
        # By the ids of tensors that are handles of what a session keeps, the dtypes of this.
        self.handles: dict[int, _core.DType] = {}
        # What is to live as long as the graph.
        self.kept: list[Any] = []
        self._controls: list[_Controls] = []
        self._names: dict[str, int] = {}
        v1_graph_state.graphs[self.engine.id] = self

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Add operations of this thread to the graph within it.

        Returns:
            A context manager, which gives the graph.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     graph is tf.compat.v1.get_default_graph()
        True
        """
        with self.entered():
            yield self

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Do as `as_default`, also where the thread is inside already.

        Returns:
            A context manager.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> with graph.entered(), graph.entered():
        ...     x = tf.constant(1.0) + 1.0
        >>> x.shape
        TensorShape([])
        """
        if _core._current_trace() == self.engine.id:
            yield
            return
        self.engine.enter()
        try:
            yield
        finally:
            self.engine.leave()

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Make a name within the open name scopes, with a number where it is taken.

        Args:
            name: the name.
            mark_as_used: whether it is taken then.

        Returns:
            The name.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.unique_name("x"), graph.unique_name("x")
        ('x', 'x_1')
        """
        full = current_name_scope() + name
        count = self._names.get(full, 0)
        if mark_as_used:
            self._names[full] = count + 1
        return full if count == 0 else f"{full}_{count}"

    def get_tensor_by_name(self, name: str) -> _core.Tensor:
        """Find the tensor of a name such as `x:0`, or the value of a variable of that name.

        Args:
            name: the name.

        Returns:
            The tensor.

        Raises:
            KeyError: where there is none.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        >>> graph.get_tensor_by_name("x:0").shape
        TensorShape([2])
        """
        if name not in self.named:
            for variable in self.get_collection(GraphKeys.GLOBAL_VARIABLES):
                if variable.name == name:
                    with self.entered():
                        value: _core.Tensor = variable.read_value()
                    return value
            return self._tensor_named(name)  # type: ignore[no-any-return]
        tensor: _core.Tensor = self.named[name]
        return tensor

    def operation_since(self, start: int, name: str = "Operation") -> Operation:
        """Take the instructions from a number on as an operation.

        Args:
            start: the number.
            name: a name for people.

        Returns:
            The operation.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     v = tf.Variable(1.0)
        ...     start = len(graph.engine)
        ...     _ = v.assign(2.0)
        ...     operation = graph.operation_since(start, "set")
        >>> operation.name
        'set'
        """
        return self._kept(range(start, len(self.engine)), name)

    def _kept(self, instructions: Iterable[int], name: str) -> Operation:
        made = Operation(self, instructions, self.unique_name(name))
        self.groups[made.name] = made
        return made

    def _state(self) -> object:
        """What changes where what the graph is written as changes; None where that cannot be told."""
        if any(hasattr(held, "insert") for held in self.kept):
            return None
        collections = tuple((key, *map(id, values)) for key, values in self._collections.items())
        parts = self.after, self.groups, self.variables, self.named
        return self.engine.id, len(self.engine), *map(len, parts), sum(self._names.values()), collections

    def composite(self, instructions: Iterable[int], name: str) -> Operation:
        """Make an operation that runs instructions, and those that the open control dependencies name.

        It is found by its name.

        Args:
            instructions: their numbers.
            name: the name, which gets a number where it is taken.

        Returns:
            The operation.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.composite([], "nothing")
        <tf.Operation 'nothing'>
        """
        check_name(name)
        before = [number for controls in self._controls for number in controls.before]
        made = self._kept(dict.fromkeys([*before, *instructions]), name)
        made._waits = tuple(before)
        return made

    def told_by_session(self, dtype: DTypeLike, name: str, tell: Callable[[Any], Any]) -> _core.Tensor:
        """Make a scalar whose value is what a session says when a run of it begins.

        Args:
            dtype: its element type.
            name: its name.
            tell: gives the value, of the session.

        Returns:
            The scalar.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        ...     x = graph.told_by_session(tf.int32, "x", lambda session: 3)
        ...     int(session.run(x))
        3
        """
        with self.entered():
            made = placeholder(dtype, [], name)
        self.told_by_sessions.append((made, tell))
        return made

    def begun_by_session(self, value: TensorLike, name: str) -> Variable:
        """Make a variable that each session sets to a value when it begins. No collection has it.

        Args:
            value: the value.
            name: its name.

        Returns:
            The variable.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        ...     v = graph.begun_by_session(3, "v")
        ...     int(session.run(v)), tf.compat.v1.global_variables()
        (3, [])
        """
        token = v1_graph_state.variable_collections.set(())
        try:
            made = Variable(value, trainable=False, name=name)
        finally:
            v1_graph_state.variable_collections.reset(token)
        self.begun_by_sessions.append((made, made.initializer))
        return made

    def follow(self, later: int, earlier: int) -> None:
        """Have one instruction run after another, by their numbers.

        Args:
            later: the number of the one.
            earlier: the number of the other.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     v = tf.Variable(1.0)
        ...     read = v.read_value()
        ...     write = v.assign(2.0)
        ...     graph.follow(graph.instructions(write)[0], graph.instructions(read)[0])
        """
        self.after.append((later, earlier))

    @contextmanager
    def control_dependencies(self, control_inputs: Nested[object] | None) -> Iterator[None]:
        """Run operations within it after others.

        Args:
            control_inputs: operations, tensors, and nests of them; None for operations that wait for nothing,
                whatever contexts are around.

        Returns:
            A context manager.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     v = tf.Variable(1.0)
        ...     with graph.control_dependencies([v.assign(2.0)]):
        ...         read = v.read_value()
        ...     float(tf.compat.v1.Session().run(read))
        2.0
        """
        before = [n for item in nest.flatten(control_inputs or []) for n in self.instructions(item)]
        first, around = len(self.engine), self._controls
        own = _Controls(before, [])
        self._controls = [own] if control_inputs is None else [*around, own]
        try:
            yield
        finally:
            self._controls = around
        added = range(first, len(self.engine))
        waiting = [n for n in added if not any(n in free for free in own.free)]
        self.after.extend((later, n) for later in waiting for n in before)
        if control_inputs is None:
            for controls in around:
                controls.free.append(added)

    def instructions(self, item: object) -> tuple[int, ...]:
        """List the numbers of the instructions that stand for an operation or a tensor.

        Args:
            item: the operation or tensor.

        Returns:
            The numbers.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     len(graph.instructions(tf.constant(1.0) + 1.0))
        1
        """
        if isinstance(item, Operation):
            return item._instructions
        if isinstance(item, _core.Tensor) and item._is_symbolic:
            # A copy stands for the tensor, so that what makes it runs.
            with self.entered():
                start = len(self.engine)
                _core._ops()["identity"](item)
                return tuple(range(start, len(self.engine)))
        return ()

    def group(self, *inputs: Any, **kwargs: Any) -> Operation:
        """Make an operation that runs all of its inputs.

        Args:
            *inputs: operations, tensors, and nests of them.
            **kwargs: `name`, a name for people.

        Returns:
            The operation.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     graph.group(tf.constant(1), name="all")
        <tf.Operation 'all'>
        """
        items = nest.flatten(list(inputs))
        numbers = [n for item in items for n in self.instructions(item)]
        made = self.composite(numbers, kwargs.get("name") or "group")
        made._fills_tables = any(isinstance(item, Operation) and item._fills_tables for item in items)
        return made

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> AbstractContextManager[None]:
        """Give operations of some types within it gradients that `tf.RegisterGradient` gave other names.

        Args:
            op_type_map: for the type of an operation (`"Square"`) the name of a registered gradient.

        Returns:
            A context manager.

        Raises:
            TypeError: where it is no mapping of strings to strings.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     with graph.gradient_override_map({}):
        ...         x = tf.constant(1.0)
        """
        return registered.gradient_override_map(op_type_map)


class _Defaults(threading.local):
    """The default graph of a thread, and what keeps it entered."""

    graph: Graph | None = None
    entered: Any = None


_defaults = _Defaults()


def get_default_graph() -> Graph:
    """Find the graph that the thread is inside of; without one, the thread's own default graph.

    Returns:
        The graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph:
    ...     tf.compat.v1.get_default_graph() is graph
    True
    """
    graph: Graph | None = v1_graph_state.current()
    if graph is not None:
        return graph
    if _defaults.graph is None:
        _defaults.graph = Graph()
    return _defaults.graph


def reset_default_graph() -> None:
    """Give the thread a new default graph.

    Raises:
        AssertionError: inside `Graph.as_default()`.

    >>> import penstock as tf
    >>> tf.compat.v1.reset_default_graph()
    """
    again = _defaults.entered is not None
    graph = v1_graph_state.current()
    if graph is not None and graph is not _defaults.graph:
        raise AssertionError("do not use reset_default_graph() inside of Graph.as_default()")
    enable_eager_execution()
    _defaults.graph = Graph()
    if again:
        disable_eager_execution()


def disable_eager_execution() -> None:
    """Have this thread add its operations to the default graph from now on.

    >>> import penstock as tf
    >>> tf.compat.v1.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    >>> tf.compat.v1.enable_eager_execution()
    """
    if _defaults.entered is None and not _core._is_tracing():
        _defaults.entered = get_default_graph().entered()
        _defaults.entered.__enter__()


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Have operations run at once again, after `disable_eager_execution`.

    Args:
        config: accepted and ignored.
        device_policy: accepted and ignored.
        execution_mode: accepted and ignored.

    >>> import penstock as tf
    >>> tf.compat.v1.enable_eager_execution()
    >>> tf.executing_eagerly()
    True
    """
    if _defaults.entered is not None:
        _defaults.entered.__exit__(None, None, None)
        _defaults.entered = None


def executing_eagerly() -> bool:
    """Tell whether operations run at once: not inside a graph or a traced function.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> tf.compat.v1.executing_eagerly()
    True
    """
    return not _core._is_tracing()


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> _core.Tensor:
    """Make a tensor whose value `Session.run` is given by `feed_dict`.

    Args:
        dtype: the element type.
        shape: sizes, `None` for any; None for any shape.
        name: a name for people, and for `Graph.get_tensor_by_name`.

    Returns:
        A tensor of this dtype and shape.

    Raises:
        RuntimeError: outside of a graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.placeholder('float32', [None, 2]).shape
    TensorShape([None, 2])
    """
    graph = v1_graph_state.current()
    if graph is None:
        raise RuntimeError(
            "tf.placeholder() is not compatible with eager execution: call it within "
            "tf.Graph().as_default(), or after tf.compat.v1.disable_eager_execution()"
        )
    check_name(name or "")
    label = graph.unique_name(name or "Placeholder")
    tensor = _core._placeholder(TensorSpec(TensorShape(shape), dtype), label)
    graph.named[f"{label}:0"] = tensor
    return tensor


def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> _core.Tensor:
    """Make a tensor that has a value unless `feed_dict` gives another.

    Args:
        input: the value.
        shape: accepted and ignored: the shape is that of the value.
        name: what it is called in the graph.

    Returns:
        A tensor of the dtype and shape of `input`.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder_with_default(3.0, [])
    ...     float(tf.compat.v1.Session().run(x))
    3.0
    """
    copy: _core.Tensor = _core._ops()["identity"](_core._to_tensor(input))
    return named(copy, name)


@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Run operations within it after others; outside of a graph effects keep their order.

    Args:
        control_inputs: operations, tensors, and nests of them.

    Returns:
        A context manager.

    >>> import penstock as tf
    >>> with tf.compat.v1.control_dependencies([]):
    ...     x = tf.constant(1)
    """
    graph = v1_graph_state.current()
    if graph is None:
        yield
        return
    with graph.control_dependencies(control_inputs):
        yield


def group(*inputs: Any, **kwargs: Any) -> Operation | None:
    """Make an operation that runs all of its inputs.

    Args:
        *inputs: operations, tensors, and nests of them.
        **kwargs: `name`, a name for people.

    Returns:
        The operation; None outside of a graph.

    >>> import penstock as tf
    >>> tf.compat.v1.group(tf.constant(1)) is None
    True
    """
    graph: Graph | None = v1_graph_state.current()
    return None if graph is None else graph.group(*inputs, **kwargs)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """List the values of a collection of the default graph.

    Args:
        key: the name of the collection.
        scope: how the names of the values begin, a regular expression.

    Returns:
        The values; of a scope those alone that have such names.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     tf.compat.v1.get_collection("sizes")
    []
    """
    return get_default_graph().get_collection(key, scope)


def gradients(
    ys: TensorOrVariable | Sequence[TensorOrVariable],
    xs: TensorOrVariable | Sequence[TensorOrVariable],
    grad_ys: TensorLike | Sequence[TensorLike | None] | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: TensorOrVariable | Sequence[TensorOrVariable] | None = None,
    unconnected_gradients: UnconnectedGradients | None = None,
) -> list[Any]:
    """Compute the gradients of the sum of `ys` by each of `xs`, in a graph or a traced function.

    Args:
        ys: tensors.
        xs: tensors and variables.
        grad_ys: a cotangent for each of `ys`, None for ones.
        name: a scope for the names of its operations in a graph.
        colocate_gradients_with_ops: ignored.
        gate_gradients: ignored.
        aggregation_method: ignored.
        stop_gradients: tensors to take as constants.
        unconnected_gradients: `UnconnectedGradients.ZERO` for zeros where `ys` do not depend on an `x`; else
            None is given there.

    Returns:
        A list with a tensor, `IndexedSlices` or None for each of `xs`.

    Raises:
        RuntimeError: outside of graphs and traced functions.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [])
    ...     (slope,) = tf.compat.v1.gradients(x * x, x)
    ...     float(tf.compat.v1.Session().run(slope, {x: 3.0}))
    6.0
    """
    if not _core._is_tracing():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled: use tf.GradientTape"
        )
    unconnected = unconnected_gradients or UnconnectedGradients.NONE
    return _gradients.gradients(
        ys, xs, grad_ys, name, stop_gradients=stop_gradients, unconnected_gradients=unconnected
    )
