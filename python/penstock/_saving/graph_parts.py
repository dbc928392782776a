"""Parts of SavedModels of TensorFlow 1 as functions: `prune` of what is loaded."""

from __future__ import annotations

import functools
import weakref
from typing import Any

from penstock import _core
from penstock._function.prune import part_of
from penstock._runtime.graph import GraphDef
from penstock._saving.graph_messages import GraphMessage
from penstock._saving.meta_graph import import_meta_graph, with_placeholders
from penstock.compat.v1._graph import Graph
from penstock.compat.v1._graph_messages import MetaGraphDef

__all__ = ["GraphParts"]


class GraphParts:
    """The graph of a SavedModel, parts of which are functions of its variables.

    Args:
        content: the bytes of a `MetaGraphDef`.
        owner: what was loaded, whose `variables` the parts have.
    """

    def __init__(self, content: bytes, owner: Any) -> None:
        self._content = MetaGraphDef.FromString(content)
        self._owner = weakref.ref(owner)

    @functools.cached_property
    def graph(self) -> Graph:
        """The graph, to look at."""
        graph = Graph()
        with graph.as_default():
            import_meta_graph(self._content)
        return graph

    @functools.cached_property
    def _message(self) -> GraphDef:
        whole = GraphMessage.FromString(self._content.graph_def)
        nodes = with_placeholders(whole.node)
        return GraphDef.FromString(GraphMessage(node=nodes, library=whole.library).SerializeToString())

    def prune(self, feeds: Any, fetches: Any, name: str | None) -> _core.ConcreteFunction:
        """A function of what computes some tensors of others."""
        owner = self._owner()
        there = {node.name for node in self._message.node}
        variables = {
            variable.name: variable
            for variable in ([] if owner is None else owner.variables)
            if variable.name.removesuffix(":0") in there
        }
        return part_of(self.graph, self._message, variables, feeds, fetches, name)
