"""Parts of traces as functions: `ConcreteFunction.prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, nest
from penstock._function.function import function
from penstock._runtime.graph import GraphOperation
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec

if TYPE_CHECKING:
    from penstock._types.aliases import Nested

__all__ = ["Parts", "part_of"]


class Parts:
    """What gives parts of a trace: its methods are those of `ConcreteFunction` too."""

    graph: Any
    captured_inputs: list[Any]

    def prune(
        self,
        feeds: Nested[Any],
        fetches: Nested[Any],
        name: str | None = None,
        input_signature: Nested[Any] | None = None,
    ) -> _core.ConcreteFunction:
        """Make a function of a part of the trace: what computes some tensors of others.

        Args:
            feeds: the tensors of its graph that the function takes, as `graph.get_tensor_by_name` gives
                them, or their names; or a nest of such.
            fetches: the tensors, names of tensors or operations whose results it gives, or a nest of such.
                Of an operation without results it gives None.
            name: a name for the function.
            input_signature: accepted and ignored: the feeds say what is taken.

        Returns:
            A trace that takes a tensor for each feed and gives the fetches in their structure. It shares the
            variables of this one.

        Raises:
            TypeError: for other values.
            KeyError: for the name of a feed that the graph does not have.
            ValueError: for a name that the graph does not have as an operation of TensorFlow.
            UnimplementedError: where the graph has operators that TensorFlow does not have.

        >>> import penstock as tf
        >>> wrapped = tf.compat.v1.wrap_function(
        ...     lambda x: tf.add(tf.multiply(x, 3.0, name="product"), 1.0), [tf.TensorSpec([], tf.float32)]
        ... )
        >>> product = wrapped.prune("x:0", "product:0")
        >>> product(tf.constant(2.0)).numpy()
        np.float32(6.0)
        """
        message = self.graph.as_graph_def()
        placeholders = [node.name for node in message.node if node.op == "Placeholder"]
        first = len(placeholders) - len(self.captured_inputs)
        variables = {
            f"{placeholder}:0": captured
            for placeholder, captured in zip(placeholders[first:], self.captured_inputs, strict=True)
            if isinstance(captured, _core._Variable)
        }

        return part_of(self.graph, message, variables, feeds, fetches, name)


def part_of(
    graph: Any, message: Any, variables: dict[str, Any], feeds: Any, fetches: Any, name: str | None
) -> _core.ConcreteFunction:
    """A function of the part of a graph that computes some tensors of others.

    Args:
        graph: the graph.
        message: its nodes.
        variables: what stands for placeholders of variables, by the names of their tensors.
        feeds: as for `Parts.prune`.
        fetches: as for `Parts.prune`.
        name: a name for the function, or None.
    """
    from penstock._saving.graph_import import import_graph_def  # builds on this

    tensors = [
        graph.get_tensor_by_name(feed) if isinstance(feed, str) else _symbolic(feed, "feeds")
        for feed in nest.flatten(feeds)
    ]
    operations = (GraphOperation, type(graph.get_operations()[0]))
    wanted = [
        item if isinstance(item, str) else _symbolic(item, "fetches", *operations).name
        for item in nest.flatten(fetches)
    ]

    def pruned(*values: Any) -> Any:
        given = {tensor.name: value for tensor, value in zip(tensors, values, strict=True)}
        found = import_graph_def(message, {**variables, **given}, wanted, name="")
        results = [getattr(item, "outputs", [item]) for item in found or []]
        flat = [outputs[0] if outputs else None for outputs in results]
        return nest.pack_sequence_as(fetches, flat)

    pruned.__name__ = name or "pruned"
    specs = [TensorSpec(tensor.shape, tensor.dtype, tensor.name.rpartition(":")[0]) for tensor in tensors]
    made: _core.ConcreteFunction = function(pruned, autograph=False).get_concrete_function(*specs)
    return made


def _symbolic(value: Any, argument: str, *others: type) -> Any:
    """A tensor of a graph, or what else may be named.

    Raises:
        TypeError: for another value.
    """
    found = expect(value, (_core.Tensor, *others), argument, "tensors of the graph, or their names")
    if isinstance(found, _core.Tensor) and not found._is_symbolic:
        raise TypeError(f"argument '{argument}' must be tensors of the graph, or their names, got {found!r}")
    return found
