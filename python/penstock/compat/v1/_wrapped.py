"""`tf.compat.v1.wrap_function`: programs of TensorFlow 1 as functions of TensorFlow 2."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core
from penstock._function.function import function
from penstock._function.prune import part_of
from penstock._values.variable import variable_creator_scope
from penstock.compat.v1._graph import Graph
from penstock.compat.v1._variables import sharing

__all__ = ["wrap_function"]


class _OfGraph:
    """A function that takes and gives nothing, such as one that imports a graph: its parts are functions.

    Args:
        fn: the function.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        # The graph that it makes.
        self.graph = Graph()
        with self.graph.as_default():
            fn()
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.variables: tuple[Any, ...] = ()
        self.structured_outputs: None = None

    def __call__(self) -> None:
        """Give nothing."""

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> _core.ConcreteFunction:
        """Make a function of a part of the graph, as that of a `ConcreteFunction`."""
        return part_of(self.graph, self.graph.as_graph_def(), {}, feeds, fetches, name)


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
    trace: _core.ConcreteFunction = function(traced, autograph=False).get_concrete_function(*signature)
    # A trace imports what its results need alone. Where that is nothing, the function is run in a graph.
    empty = not signature and not trace.graph.get_operations()
    return _OfGraph(fn) if empty else trace
