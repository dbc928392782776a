"""Graphs as lists of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["GraphDef", "NodeDef", "graph_def"]


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
