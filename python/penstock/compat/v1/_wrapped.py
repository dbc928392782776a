"""`tf.compat.v1.wrap_function`: programs of TensorFlow 1 as functions of TensorFlow 2."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from penstock import _core, nest
from penstock._function.function import function
from penstock._function.prune import part_of
from penstock._values.variable import Variable, variable_creator_scope
from penstock.compat.v1._graph import Graph, Operation
from penstock.compat.v1._variables import sharing

__all__ = ["wrap_function"]


class _OfGraph:
    """A function that takes and gives nothing, such as one that imports a graph: its parts are functions.

    Its variables get their first values at once.

    Args:
        graph: the graph that the function made.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        made = [variable for key in graph.collections for variable in graph.get_collection(key)]
        variables = [v for v in made if isinstance(v, Variable) and v.initializer is not None]
        self.variables: tuple[Any, ...] = tuple({id(v): v for v in variables}.values())
        self.trainable_variables = tuple(v for v in self.variables if v.trainable)
        self.captured_inputs: list[Any] = list(self.variables)
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.structured_input_signature: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self.structured_outputs: None = None
        if self.variables:
            self.prune([], [variable.initializer for variable in self.variables])()

    def __call__(self) -> None:
        """Give nothing."""

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> _core.ConcreteFunction:
        """Make a function of a part of the graph, as that of a `ConcreteFunction`."""
        groups: dict[str, Operation] = {}

        def wanted(fetch: Any) -> Any:
            """What is fetched: of an operation the first result, or one without results."""
            found = self.graph.as_graph_element(fetch)
            if not isinstance(found, Operation):
                return found
            if found.outputs:
                return self.graph.as_graph_element(found.outputs[0])
            label = self.graph.unique_name("pruned")
            groups[label] = Operation(self.graph, found._instructions, label)
            return groups[label]

        flat = [wanted(fetch) for fetch in nest.flatten(fetches)]
        # The names of operations that were imported may be those of others.
        with self._with_groups(groups):
            message = self.graph.as_graph_def()
        handles = {node.name for node in message.node if node.op == "VarHandleOp"}
        variables = {f"{v._name}:0": v for v in self.variables if v._name in handles}
        return part_of(self.graph, message, variables, feeds, nest.pack_sequence_as(fetches, flat), name)

    @contextmanager
    def _with_groups(self, groups: Mapping[str, Operation]) -> Iterator[None]:
        self.graph.groups.update(groups)
        try:
            yield
        finally:
            for label in groups:
                del self.graph.groups[label]


def wrap_function(fn: Callable[..., Any], signature: Sequence[Any], name: str | None = None) -> Any:
    """Trace a function of TensorFlow 1 once, with the variables that it makes.

    The function may use `get_variable`, scopes of variables and `tf.Variable`. It is traced as it is, without
    conversion by AutoGraph. Its variables are its own: another function that is wrapped has others of the
    same names. They have their values at once.

    Args:
        fn: the function.
        signature: for each argument a `tf.TensorSpec`, or a nest of such.
        name: a name for the function.

    Returns:
        The trace, which is called with tensors. It has `variables`, its `graph`, and `prune(feeds, fetches)`,
        which gives a part of it as a function. That of a function that takes and gives nothing, such as one
        that imports a graph, has in its `graph` all that the function made.

    Raises:
        TypeError: where `fn` is no function.

    >>> import penstock as tf
    >>> def scaled(x):
    ...     by = tf.compat.v1.get_variable("by", initializer=3.0)
    ...     return tf.multiply(x, by, name="product") + 1.0
    >>> wrapped = tf.compat.v1.wrap_function(scaled, [tf.TensorSpec([], tf.float32)])
    >>> wrapped(tf.constant(2.0)).numpy(), [v.name for v in wrapped.variables]
    (np.float32(7.0), ['by:0'])
    """
    if not callable(fn):
        raise TypeError(f"argument 'fn' must be a function, got {fn!r}")
    made: list[Any] = []

    @functools.wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Any:
        # It is traced again when its variables are there, and meets them in the same order.
        met = iter(list(made))

        def variable(next_creator: Callable[..., Any], **settings: Any) -> Any:
            found = next(met, None)
            if found is None:
                found = next_creator(**settings)
                made.append(found)
            return found

        with sharing({}), variable_creator_scope(variable):
            return fn(*args, **kwargs)

    if name is not None:
        traced.__name__ = name
    if not signature:
        # A trace has what its results need alone. The graph has all that a function without results makes.
        graph = Graph()
        with graph.as_default():
            result = fn()
        if result is None:
            return _OfGraph(graph)
    trace: _core.ConcreteFunction = function(traced, autograph=False).get_concrete_function(*signature)
    return trace
