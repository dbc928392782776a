"""Graphs as lists of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = [
    "GraphDef",
    "GraphOperation",
    "NodeDef",
    "graph_def",
    "graph_operations",
    "operation_by_name",
    "tensor_by_name",
]


class NodeDef(NamedTuple):
    """A node of a graph.

    Attributes:
        name: unique in the graph.
        op: the operator, by TensorFlow's name.
        input: names of the nodes that give its operands, `name:k` for result `k > 0`.
    """

    name: str
    op: str
    input: list[str]


class GraphDef(NamedTuple):
    """The nodes of a graph: placeholders, operations, and an `Identity` for each output."""

    node: list[NodeDef]


def graph_def(nodes: Iterable[tuple[str, str, list[str]]]) -> GraphDef:
    """The engine calls this with `(name, op, input)` of each node."""
    return GraphDef([NodeDef(*node) for node in nodes])


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
