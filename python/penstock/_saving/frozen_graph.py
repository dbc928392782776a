"""Graphs of which variables become constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock import _core
from penstock._saving.graph_export import ExportedGraph
from penstock._saving.graph_messages import AttrValue, FunctionDef, NodeMessage, constant_node

__all__ = ["VARIABLES", "frozen"]

# Operators that are variables: of the newer kind, which are handles, and of the older, which are the values.
VARIABLES: Final = ("VarHandleOp", "VariableV2", "Variable")
# For an operator that calls functions: its first operand that they take, the attributes that name them, and
# the attribute of the dtypes of what they take.
_CALLS: Final = {
    "PartitionedCall": (0, ("f",), "Tin"),
    "StatefulPartitionedCall": (0, ("f",), "Tin"),
    "If": (1, ("then_branch", "else_branch"), "Tin"),
    "StatelessIf": (1, ("then_branch", "else_branch"), "Tin"),
    "Case": (1, ("branches",), "Tin"),
    "StatelessCase": (1, ("branches",), "Tin"),
    "While": (0, ("cond", "body"), "T"),
    "StatelessWhile": (0, ("cond", "body"), "T"),
}
_INT32: Final = 3
_RESOURCE: Final = 20


def frozen(graph: ExportedGraph, values: Mapping[str, _core.Tensor]) -> ExportedGraph:
    """The graph with the values of variables in it, also where functions that it calls read them.

    Args:
        graph: the graph.
        values: those of variables, by the names of their nodes.

    Raises:
        ValueError: for a node that changes one of the variables, or takes it otherwise than to read it.
    """
    work = _Freezing(graph)
    held, nodes = {}, []
    for node in graph.node:
        if node.name in values and node.op in VARIABLES:
            number = node.attr["dtype"].type
            nodes.append(constant_node(node.name, values[node.name]))
            if node.op == "VarHandleOp":
                held[node.name] = number
        else:
            nodes.append(node)
    return ExportedGraph(
        node=work.nodes(nodes, held),
        library={"function": work.library()},
        versions=graph.versions,
    )


class _Freezing:
    """The functions of a graph, and those that are made of them for values in place of handles."""

    def __init__(self, graph: ExportedGraph) -> None:
        self._written: list[bytes] = list(graph.library.function)
        parsed = [FunctionDef.FromString(content) for content in self._written]
        self._functions = {function.signature.name: function for function in parsed}
        self._made: dict[tuple[str, tuple[tuple[int, int], ...]], str] = {}
        self._added: list[FunctionDef] = []

    def library(self) -> list[bytes]:
        """All functions, as bytes."""
        return [*self._written, *(function.SerializeToString() for function in self._added)]

    def nodes(self, nodes: Iterable[NodeMessage], held: dict[str, int]) -> list[NodeMessage]:
        """Nodes for others, some of which took handles.

        Args:
            nodes: the others.
            held: the dtype of what there is in place of a handle, by the name of its node. What passes such
                on is added.
        """
        due = list(nodes)
        # A node may stand before what it takes.
        while True:
            count = len(held)
            for node in due:
                if node.op == "Identity" and _source(node.input[0]) in held:
                    held[node.name] = held[_source(node.input[0])]
            if len(held) == count:
                break
        renamed = {
            node.name for node in due if node.op == "ReadVariableOp" and _source(node.input[0]) in held
        }
        made = [each for node in due for each in self._node(node, held)]
        for node in made:
            node.input[:] = [_edge(text, renamed) for text in node.input]
        return made

    def _node(self, node: NodeMessage, held: Mapping[str, int]) -> Iterable[NodeMessage]:
        taken = {i: held[_source(text)] for i, text in enumerate(node.input) if _source(text) in held}
        taken = {i: number for i, number in taken.items() if not node.input[i].startswith("^")}
        if not taken:
            return [node]
        number = taken.get(0, 0)
        if node.op in ("ReadVariableOp", "Identity"):
            kept = {"T": AttrValue(type=number)}
            return [NodeMessage(name=node.name, op="Identity", input=node.input, attr=kept)]
        if node.op in ("ResourceGather", "ResourceGatherNd"):
            return _gathered(node, number)
        if node.op in _CALLS:
            return [self._call(node, taken)]
        raise ValueError(
            f"argument 'input_graph_def': the node '{node.name}' ({node.op}) does not only read a "
            "variable that is to become a constant"
        )

    def _call(self, node: NodeMessage, taken: Mapping[int, int]) -> NodeMessage:
        start, names, types = _CALLS[node.op]
        inside = {i - start: number for i, number in taken.items()}
        made = NodeMessage.FromString(node.SerializeToString())
        for i, number in inside.items():
            made.attr[types].list.type[i] = number
        for name in names:
            value = made.attr[name]
            for function in value.list.func if name == "branches" else [value.func]:
                function.name = self._function(function.name, inside)
        return made

    def _function(self, name: str, taken: Mapping[int, int]) -> str:
        """The name of the function that takes values in place of some handles."""
        key = (name, tuple(sorted(taken.items())))
        if key in self._made:
            return self._made[key]
        fresh = self._made[key] = f"{name}_frozen_{len(self._made)}"
        made = FunctionDef.FromString(self._functions[name].SerializeToString())
        made.signature.name = fresh
        held: dict[str, int] = {}
        for i, number in taken.items():
            made.signature.input_arg[i].type = number
            held[made.signature.input_arg[i].name] = number
        made.node_def[:] = self.nodes(made.node_def, held)
        read = {node.name for node in self._functions[name].node_def if node.op == "ReadVariableOp"}
        read &= {node.name for node in made.node_def if node.op == "Identity"}
        for output in made.signature.output_arg:
            text = made.ret[output.name]
            made.ret[output.name] = _edge(text, read)
            # A loop gives back the variables that it takes.
            if _source(text) in held and output.type == _RESOURCE:
                output.type = held[_source(text)]
        self._added.append(made)
        return fresh


def _source(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def _edge(text: str, renamed: set[str]) -> str:
    """An operand, where it is an output of a function's node that has become an `Identity`."""
    node, _, place = text.partition(":")
    return f"{node}:output:0" if node in renamed and place.startswith("value:") else text


def _gathered(node: NodeMessage, number: int) -> Iterable[NodeMessage]:
    """What takes slices of a tensor, for what takes them of a variable."""
    attributes = {"Tparams": AttrValue(type=number), "Tindices": node.attr["Tindices"]}
    if node.op == "ResourceGatherNd":
        return [NodeMessage(name=node.name, op="GatherNd", input=node.input, attr=attributes)]
    attributes |= {"Taxis": AttrValue(type=_INT32), "batch_dims": AttrValue(i=node.attr["batch_dims"].i)}
    axis = f"{node.name}/axis"
    with _core._Outside():
        value = _core._to_tensor(node.attr["batch_dims"].i, _core.int32)
    return [
        constant_node(axis, value),
        NodeMessage(name=node.name, op="GatherV2", input=[*node.input, axis], attr=attributes),
    ]
