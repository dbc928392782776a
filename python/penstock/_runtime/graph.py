"""Graphs as lists of nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

from penstock._runtime import v1_graph_state
from penstock.errors import UnimplementedError

__all__ = [
    "FunctionGraph",
    "GraphDef",
    "GraphOperation",
    "NodeDef",
    "TracedGraph",
    "eval_tensor",
    "graph_def",
    "graph_element",
    "graph_operations",
    "in_graph",
    "no_element",
    "operation_by_name",
    "selected",
    "tensor_by_name",
]


_Node = NamedTuple(  # noqa: UP014 -- start-up would compile annotations
    "_Node", [("name", str), ("op", str), ("input", list[str])]
)


class NodeDef(_Node):
    """A node of a graph.

    Attributes:
        name: unique in the graph.
        op: the operator, by TensorFlow's name.
        input: names of the nodes that give its operands, `name:k` for result `k > 0`.
    """

    _graph: GraphDef | None = None

    @property
    def attr(self) -> Mapping[str, Any]:
        """The attributes of the node, by TensorFlow's names.

        They are empty where TensorFlow has no such node: where an operation is written by several others.
        """
        return {} if self._graph is None else self._graph._attributes(self.name)


class GraphDef:
    """The nodes of a graph: placeholders, operations, and an `Identity` for each output.

    Args:
        node: the nodes.
        message: what makes the message that TensorFlow reads, where there is such.

    Attributes:
        node: the nodes.

    >>> import penstock as tf
    >>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
    >>> graph_def = double.get_concrete_function().graph.as_graph_def()
    >>> [node.op for node in graph_def.node]
    ['Placeholder', 'AddV2', 'Identity']
    >>> y, = tf.import_graph_def(graph_def, {"x": [1.0, 2.0]}, ["add:0"])
    >>> y.numpy()
    array([2., 4.], dtype=float32)
    """

    def __init__(self, node: Iterable[NodeDef] = (), message: Callable[[], Any] | None = None) -> None:
        self.node = list(node)
        self._make, self._made = message, None
        self._by_name: dict[str, Mapping[str, Any]] | None = None
        for each in self.node:
            each._graph = self

    def _message(self) -> Any:
        if self._made is None:
            if self._make is None:
                raise UnimplementedError(
                    "a list of nodes alone is no GraphDef message: as_graph_def() of the graph of a "
                    "ConcreteFunction gives one"
                )
            self._made = self._make()
        return self._made

    def _attributes(self, name: str) -> Mapping[str, Any]:
        if self._make is None:
            return {}
        if self._by_name is None:
            self._by_name = {node.name: node.attr for node in self._message().node}
        return self._by_name.get(name, {})

    @property
    def library(self) -> Any:
        """The functions that nodes call, in `function`, each as the bytes of a `FunctionDef`."""
        return self._message().library

    @property
    def versions(self) -> Any:
        """The version of TensorFlow's graphs, in `producer`."""
        return self._message().versions

    def SerializeToString(self) -> bytes:
        """Write the graph as a message, which TensorFlow and `tf.import_graph_def` read.

        Operations of which TensorFlow has no like are several nodes in it.

        Returns:
            The bytes of a `GraphDef`.

        Raises:
            UnimplementedError: for operators that TensorFlow does not have; it names all.
            FailedPreconditionError: for a function that calls Python code while it runs.

        >>> import penstock as tf
        >>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
        >>> b"AddV2" in double.get_concrete_function().graph.as_graph_def().SerializeToString()
        True
        """
        return bytes(self._message().SerializeToString())

    def ParseFromString(self, serialized: bytes) -> int:
        """Take the place of the graph that a message describes.

        Args:
            serialized: the bytes of a `GraphDef`.

        Returns:
            The number of bytes.

        Raises:
            DataLossError: where they are no such message.

        >>> import penstock as tf
        >>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
        >>> content = double.get_concrete_function().graph.as_graph_def().SerializeToString()
        >>> graph_def = tf.compat.v1.GraphDef()
        >>> _ = graph_def.ParseFromString(content)
        >>> graph_def.node[0].name, graph_def.node[0].op
        ('x', 'Placeholder')
        """
        from penstock._saving.graph_export import ExportedGraph  # start-up does without it

        message = ExportedGraph.FromString(bytes(serialized))
        nodes = [NodeDef(node.name, node.op, list(node.input)) for node in message.node]
        self.__init__(nodes, lambda: message)  # type: ignore[misc]
        return len(serialized)

    @classmethod
    def FromString(cls, s: bytes) -> GraphDef:
        """Make the graph that a message describes.

        Args:
            s: the bytes of a `GraphDef`.

        Returns:
            The graph.

        Raises:
            DataLossError: where they are no such message.

        >>> import penstock as tf
        >>> tf.compat.v1.GraphDef.FromString(b"").node
        []
        """
        made = cls()
        made.ParseFromString(s)
        return made

    def CopyFrom(self, other_msg: GraphDef) -> None:
        """Become a copy of another graph.

        Args:
            other_msg: the graph.

        >>> import penstock as tf
        >>> graph_def = tf.compat.v1.GraphDef()
        >>> graph_def.CopyFrom(tf.Graph().as_graph_def())
        >>> graph_def.node
        []
        """
        copied = selected(other_msg, other_msg.node)
        self.__init__(copied.node, copied._make)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphDef) and self.node == other.node

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"GraphDef(node={self.node!r})"


def selected(
    graph_def: GraphDef, nodes: Iterable[NodeDef], inputs: Mapping[str, list[str]] | None = None
) -> GraphDef:
    """A graph of some nodes of another.

    Args:
        graph_def: the graph.
        nodes: its nodes.
        inputs: what a node of a name takes, where that is something else.
    """
    other = inputs or {}
    kept = [NodeDef(node.name, node.op, list(other.get(node.name, node.input))) for node in nodes]

    def message() -> Any:
        from penstock._saving.graph_export import ExportedGraph  # start-up does without it

        whole = graph_def._message()
        attributes = {node.name: node.attr for node in whole.node}
        written = [
            {"name": node.name, "op": node.op, "input": node.input, "attr": attributes.get(node.name, {})}
            for node in kept
        ]
        return ExportedGraph(node=written, library=whole.library, versions=whole.versions)

    return GraphDef(kept, None if graph_def._make is None else message)


def graph_def(nodes: Iterable[tuple[str, str, list[str]]]) -> GraphDef:
    """The engine calls this with `(name, op, input)` of each node."""
    return GraphDef(NodeDef(*node) for node in nodes)


class TracedGraph:
    """The graph of a trace, with what the trace knows of it.

    Args:
        concrete: the trace.
        graph: the engine's graph, whose methods and properties it has too.

    >>> import penstock as tf
    >>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
    >>> double.get_concrete_function().graph.get_operations()
    [<tf.Operation 'x' type=Placeholder>, <tf.Operation 'add' type=AddV2>]
    """

    def __init__(self, concrete: Any, graph: Any) -> None:
        self._concrete, self._graph = concrete, graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def as_graph_def(
        self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False
    ) -> GraphDef:
        """List the operations as nodes, which can be written as a message of TensorFlow.

        Args:
            from_version: how many nodes to leave out at the beginning.
            add_shapes: accepted and ignored.
            use_pybind11_proto: accepted and ignored.

        Returns:
            The nodes. In the message captured variables are placeholders of dtype `resource`, captured
            tensors constants.

        >>> import penstock as tf
        >>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
        >>> node = double.get_concrete_function().graph.as_graph_def().node[1]
        >>> node.name, node.op, node.input, node.attr["T"].type
        ('add', 'AddV2', ['x', 'x'], 1)
        """

        def message() -> Any:
            from penstock._saving.graph_export import exported  # start-up does without it

            return exported(self._concrete)

        nodes = (NodeDef(*node) for node in self._graph._nodes())
        return GraphDef(list(nodes)[from_version or 0 :], message)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Find what an object stands for in the graph.

        Args:
            obj: a tensor or operation of the graph, or the name of one.
            allow_tensor: whether it may be a tensor.
            allow_operation: whether it may be an operation.

        Returns:
            The tensor or operation.

        Raises:
            KeyError: for a name that refers to nothing.
            TypeError: for what is neither.
            ValueError: for a tensor or operation that is not allowed, or of another graph.

        >>> import penstock as tf
        >>> double = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2])])
        >>> graph = double.get_concrete_function().graph
        >>> graph.as_graph_element("x").type, graph.as_graph_element("x:0").shape
        ('Placeholder', TensorShape([2]))
        """
        found = graph_element(self, obj, allow_tensor, allow_operation)
        operations: list[GraphOperation] = self.get_operations()
        if isinstance(found, GraphOperation):
            same = (each for each in operations if each.name == found.name and each.type == found.type)
        elif hasattr(found, "_is_symbolic") and found._is_symbolic:
            # Each listing makes its tensors anew.
            listed = (tensor for each in operations for tensor in each.outputs)
            same = (tensor for tensor in listed if _described(tensor) == _described(found))
        else:
            raise no_element(obj)
        if next(same, None) is None:
            raise ValueError(f"argument 'obj' is not an element of this graph: {obj!r}")
        return found

    def __repr__(self) -> str:
        return repr(self._graph)

    def __str__(self) -> str:
        return str(self._graph)

    def _repr_html_(self) -> str:
        return str(self._graph._repr_html_())


class GraphOperation:
    """An operation of the graph of a traced function, to look at.

    Attributes:
        name: unique in the graph.
        type: the operator, by TensorFlow's name.
        inputs: the symbolic tensors that are its operands, variables left out.
        outputs: the symbolic tensors that it gives.

    >>> import penstock as tf
    >>> double = tf.function(lambda x: x + x)
    >>> graph = double.get_concrete_function(tf.TensorSpec([], "float32")).graph
    >>> [(op.type, len(op.inputs)) for op in graph.get_operations()]
    [('Placeholder', 0), ('AddV2', 2)]
    """

    def __init__(self, name: str, kind: str, inputs: Iterable[Any], outputs: Iterable[Any]) -> None:
        self.name = name
        self.type = kind
        self.inputs: tuple[Any, ...] = tuple(inputs)
        self.outputs: list[Any] = list(outputs)

    @property
    def node_def(self) -> NodeDef:
        """Name, operator and the names of the operands."""
        return NodeDef(self.name, self.type, [tensor.name.removesuffix(":0") for tensor in self.inputs])

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


def graph_operations(listed: Iterable[tuple[str, str, list[Any], list[Any]]]) -> list[GraphOperation]:
    """The engine calls this with `(name, op, operands, results)` of each operation."""
    return [GraphOperation(*each) for each in listed]


def operation_by_name(operations: Iterable[GraphOperation], name: str) -> GraphOperation:
    """The operation of that name.

    Raises:
        KeyError: where there is none.
    """
    for operation in operations:
        if operation.name == name:
            return operation
    raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")


def tensor_by_name(operations: Iterable[GraphOperation], name: str) -> Any:
    """The tensor of that name.

    Raises:
        KeyError: where there is none.
    """
    for operation in operations:
        for tensor in operation.outputs:
            if tensor.name == name:
                return tensor
    raise KeyError(f"The name {name!r} refers to a Tensor which does not exist.")


def graph_element(graph: Any, obj: Any, allow_tensor: bool, allow_operation: bool) -> Any:
    """What a name stands for in a graph, or the object itself, where it is of a kind that is allowed.

    Raises:
        KeyError: for a name that refers to nothing.
        ValueError: for what is not allowed.
    """
    if not (allow_tensor or allow_operation):
        raise ValueError("one of arguments 'allow_tensor' and 'allow_operation' must be true")
    is_tensor = ":" in obj if isinstance(obj, str) else hasattr(obj, "dtype")
    is_operation = (isinstance(obj, str) and not is_tensor) or v1_graph_state.is_operation(obj)
    if is_tensor and not allow_tensor:
        raise ValueError(f"argument 'obj' must be an operation, got the tensor {obj!r}")
    if is_operation and not allow_operation:
        raise ValueError(
            f"argument 'obj' must be a tensor, got the operation {obj!r}; a tensor is named "
            "'<operation>:<number of the result>'"
        )
    if not isinstance(obj, str):
        return obj
    if not is_tensor:
        return graph.get_operation_by_name(obj)
    if not obj.rpartition(":")[2].isdecimal() or not obj.rpartition(":")[0]:
        raise ValueError(
            f"argument 'obj' must be the name of a tensor, '<operation>:<number of the result>', got {obj!r}"
        )
    return graph.get_tensor_by_name(obj)


def _described(tensor: Any) -> tuple[Any, ...]:
    return tensor.name, tensor.dtype, str(tensor.shape)


def no_element(obj: Any) -> TypeError:
    """The error for what is no tensor or operation of a graph."""
    return TypeError(f"argument 'obj' must be a tensor or operation of the graph, or its name, got {obj!r}")


class FunctionGraph:
    """The graph of a function that is traced, or one of its branches or of the bodies of its loops.

    There is one object for each of them, by which tensors can be told apart.

    Attributes:
        building_function: True.

    >>> import penstock as tf
    >>> @tf.function
    ... def same_graph(x):
    ...     return x.graph is (x + 1.0).graph
    >>> same_graph(tf.constant(1.0)).numpy()
    np.True_
    """

    building_function = True

    def __init__(self, place: tuple[int, int]) -> None:
        self._place = place

    def __repr__(self) -> str:
        return f"<FunctionGraph {self._place[0]}, region {self._place[1]}>"


# Those of a program that traces are few; one that is forgotten is of a trace that was closed long ago.
@functools.lru_cache(maxsize=4096)
def _function_graph(place: tuple[int, int]) -> FunctionGraph:
    return FunctionGraph(place)


def in_graph(tensor: Any, part: str) -> Any:
    """The engine calls this for what the graph of a symbolic tensor says of it.

    Args:
        tensor: the tensor.
        part: `"graph"`, `"op"`, `"value_index"` or `"consumers"`.

    Returns:
        The graph, the operation that gives it, its position among the results, or the consumers.

    Raises:
        UnimplementedError: for the consumers in a function that is traced.
    """
    graph = v1_graph_state.graphs.get(tensor._trace)
    if part == "graph":
        return _function_graph(tensor._place) if graph is None else graph
    operations = [] if graph is None else graph.get_operations()
    if part == "consumers":
        if graph is None:
            raise UnimplementedError(
                "Tensor.consumers is known in a tf.Graph; in a traced function, "
                "ConcreteFunction.graph.get_operations() lists operations with their inputs"
            )
        return [op for op in operations if any(operand._id == tensor._id for operand in op.inputs)]
    for operation in operations:
        for index, result in enumerate(operation.outputs):
            if result._id == tensor._id:
                return index if part == "value_index" else operation
    # In a traced function, or in a branch or a loop of the graph.
    with nullcontext() if graph is None else graph.entered():
        name, kind, operands, results, index = tensor._node()
    return index if part == "value_index" else GraphOperation(name, kind, operands, results)


def eval_tensor(tensor: Any, feed_dict: Any, session: Any) -> Any:
    """The engine calls this for the value of a tensor of a graph of TensorFlow 1."""
    return v1_graph_state.session(session).run(tensor, feed_dict)
