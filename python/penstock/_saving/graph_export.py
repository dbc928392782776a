"""Graphs of traced functions as messages of TensorFlow: what `as_graph_def()` writes.

The exporter of SavedModels writes a trace as a function in a library. That function becomes the graph: its
arguments are placeholders, and its nodes have the names that the trace has for them, where both are known to
mean the same.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from penstock import _core
from penstock._runtime.messages import Field, Message
from penstock._saving.graph_messages import AttrValue, FunctionDef, NodeMessage, count_of
from penstock._saving.structures import encode
from penstock._types.specs import TensorSpec
from penstock.errors import UnimplementedError

__all__ = ["ExportedGraph", "exported"]

# Operators that take what their functions see from outside, besides their operands.
_WITH_FUNCTIONS: Final = frozenset(
    {"Case", "If", "StatelessCase", "StatelessIf", "While", "StatelessWhile", "PartitionedCall"}
)
_RESOURCE: Final = 20
_PRODUCER: Final = 1882


class _Library(Message):
    FIELDS: ClassVar = {"function": Field(1, "bytes", repeated=True)}


class _Versions(Message):
    FIELDS: ClassVar = {"producer": Field(1, "int32")}


class ExportedGraph(Message):
    """A graph with the functions that it calls, each as the bytes of its message."""

    FIELDS: ClassVar = {
        "node": Field(1, NodeMessage, repeated=True),
        "library": Field(2, _Library),
        "versions": Field(4, _Versions),
    }


class _MetaGraph(Message):
    FIELDS: ClassVar = {"graph_def": Field(2, ExportedGraph)}


class _SavedModel(Message):
    FIELDS: ClassVar = {"meta_graphs": Field(2, _MetaGraph, repeated=True)}


def exported(concrete: _core.ConcreteFunction) -> ExportedGraph:
    """The graph of a trace as TensorFlow has it.

    Placeholders stand for the arguments and for captured variables, which are resources; captured tensors are
    constants. An `Identity` stands for each result, as in the list of nodes.

    Raises:
        UnimplementedError: for operators that TensorFlow does not have; it names all.
        FailedPreconditionError: for a function that calls Python code while it runs.
    """
    functions = _library(concrete)
    parsed = {name: FunctionDef.FromString(content) for name, content in functions.items()}
    # What it calls comes before it, and what fills tables behind it.
    called = {name for start in parsed for name in _called(parsed, start)}
    top = next(name for name in parsed if name not in called)
    graph = _Graph(concrete, parsed[top])
    return ExportedGraph(
        node=graph.nodes(),
        library={"function": [functions[name] for name in _called(parsed, top)]},
        versions={"producer": _PRODUCER},
    )


def _library(concrete: _core.ConcreteFunction) -> dict[str, bytes]:
    """The trace and what it calls, as functions of TensorFlow by name."""
    if concrete._variable_arguments():
        raise UnimplementedError(
            f"the graph of '{concrete.name}' takes variables as arguments, which a GraphDef cannot"
        )
    results = [TensorSpec(tensor.shape, tensor.dtype) for tensor in concrete.outputs]
    builder = _core._ProgramBuilder()
    number = builder.function(concrete.name, concrete, [f"output_{i}" for i in range(len(results))], {})
    trace = {
        "function": number,
        "args": [encode(spec) for spec in _arguments(concrete)],
        "kwargs": [],
        "result": encode(tuple(results), ordered=True),
    }
    described = {"kind": "concrete", "name": concrete.name, "parameters": [], "traces": [trace]}
    root = {"kind": "object", "children": [["function", 1]]}
    builder.text("objects", json.dumps({"nodes": [root, described], "signatures": {}}))
    with tempfile.TemporaryDirectory() as directory:
        builder.finish()._save_tensorflow(directory)
        content = (Path(directory) / "saved_model.pb").read_bytes()
    library = _SavedModel.FromString(content).meta_graphs[0].graph_def.library
    return {FunctionDef.FromString(part).signature.name: part for part in library.function}


def _arguments(concrete: _core.ConcreteFunction) -> list[TensorSpec]:
    pairs = zip(concrete.inputs, concrete._arg_keywords, strict=False)
    return [TensorSpec(tensor.shape, tensor.dtype, name) for tensor, name in pairs]


def _called(functions: Mapping[str, FunctionDef], start: str) -> list[str]:
    """The functions that one calls, and those that these call, in the order of the library."""
    found: set[str] = set()
    due = [start]
    while due:
        for node in functions[due.pop()].node_def:
            for value in node.attr.values():
                named = [value.func.name, *(function.name for function in value.list.func)]
                fresh = [name for name in named if name in functions and name not in found]
                found.update(fresh)
                due.extend(fresh)
    return [name for name in functions if name in found]


class _Graph:
    """A function of a library that becomes a graph with the names of a trace."""

    def __init__(self, concrete: _core.ConcreteFunction, function: FunctionDef) -> None:
        self._concrete, self._function = concrete, function
        self._listed: list[tuple[str, str, list[str]]] = concrete.graph._nodes()
        self._results = [function.ret[output.name] for output in function.signature.output_arg]
        first = len(self._listed) - len(self._results)
        self._identities = [name for name, _, _ in self._listed[first:]]
        self._body = self._listed[:first]
        # What nodes of the function are called in the graph.
        self._names: dict[str, str] = {}

    def nodes(self) -> list[NodeMessage]:
        """The nodes of the graph, in the order of the function."""
        made = self._placeholders()
        for result, name in zip(self._results, self._identities, strict=True):
            self._names[result.partition(":")[0]] = name
        self._match()
        added = self._name_outputs()
        self._name_the_rest()
        own = {node.name: node for node in self._function.node_def}
        for node in self._function.node_def:
            inputs = [self._edge(text, own) for text in node.input]
            made.append(NodeMessage(name=self._names[node.name], op=node.op, input=inputs, attr=node.attr))
        for name, text, place in added:
            number = own[text.partition(":")[0]].attr["T"].type
            copies = NodeMessage(name=name, op="IdentityN", input=[self._edge(text, own)] * (place + 1))
            copies.attr["T"].list.type.extend([number] * (place + 1))
            made.append(copies)
        return made

    def _placeholders(self) -> list[NodeMessage]:
        """A placeholder for each argument, by the name that the trace has for it."""
        names = [name for name, op, _ in self._body if op == "Placeholder"]
        specs = _arguments(self._concrete)
        kept = [
            name
            for name, captured in zip(names[len(specs) :], self._concrete.captured_inputs, strict=False)
            if isinstance(captured, _core._Variable)
        ]
        made = []
        types = [*specs, *[None] * len(kept)]
        arguments = [argument.name for argument in self._function.signature.input_arg]
        for argument, name, spec in zip(arguments, [*names[: len(specs)], *kept], types, strict=True):
            self._names[argument] = name
            number = _RESOURCE if spec is None else spec.dtype.as_datatype_enum
            extents: Any = () if spec is None else spec.shape
            attributes = {"dtype": AttrValue(type=number), "shape": AttrValue(shape=_shape(extents))}
            made.append(NodeMessage(name=name, op="Placeholder", attr=attributes))
        return made

    # --- names ---

    def _match(self) -> None:
        """Name the nodes of which it is known what they are called in the trace.

        A node of the function and one of the trace are the same where both have the same operator and the
        same operands, constants left out, and there are as many such nodes here as there: then they come in
        one order.
        """
        constants = {name for name, op, _ in self._body if op == "Const"}
        theirs: dict[Any, list[str]] = defaultdict(list)
        for name, op, inputs in self._body:
            kept = [text for text in inputs if text.partition(":")[0] not in constants]
            theirs[_key(op, kept)].append(name)
        own = {node.name: node for node in self._function.node_def}
        operands: dict[str, list[str]] = {}
        users: dict[str, list[str]] = defaultdict(list)
        missing: dict[str, int] = {}
        for node in self._function.node_def:
            kept = [] if node.op in _WITH_FUNCTIONS else _operands(node, own)
            operands[node.name] = kept
            sources = {text.partition(":")[0] for text in kept}
            missing[node.name] = len([source for source in sources if source not in self._names])
            for source in sources:
                users[source].append(node.name)
        ready = [node.name for node in self._function.node_def if not missing[node.name]]
        while ready:
            ours: dict[Any, list[str]] = defaultdict(list)
            for name in ready:
                if name not in self._names and own[name].op != "Const":
                    edges = [self._edge(text, own) for text in operands[name]]
                    ours[_key(own[name].op, edges)].append(name)
            ready = []
            for key, names in ours.items():
                if len(theirs.get(key, ())) != len(names):
                    continue
                self._names.update(zip(names, theirs[key], strict=True))
                for user in (user for name in names for user in users[name]):
                    missing[user] -= 1
                    if not missing[user]:
                        ready.append(user)

    def _name_outputs(self) -> list[tuple[str, str, int]]:
        """Name what results are made of; gives names to add, for what they stand, and their places."""
        added = []
        own = {node.name: node for node in self._function.node_def}
        taken = set(self._names.values())
        for tensor, result in zip(self._concrete.outputs, self._results, strict=True):
            name, _, place = tensor.name.rpartition(":")
            if name in taken:
                continue
            taken.add(name)
            edge = own[result.partition(":")[0]].input[0]
            source = edge.partition(":")[0]
            if source in own and source not in self._names and _flat_index(own[source], edge) == int(place):
                self._names[source] = name
            else:
                added.append((name, result, int(place)))
        return added

    def _name_the_rest(self) -> None:
        """Give the other nodes names that are free."""
        taken = {*self._names.values(), *(name for name, _, _ in self._listed)}
        for node in self._function.node_def:
            if node.name not in self._names:
                name, count = node.name, 0
                while name in taken:
                    count += 1
                    name = f"{node.name}_{count}"
                taken.add(name)
                self._names[node.name] = name

    def _edge(self, text: str, own: Mapping[str, NodeMessage]) -> str:
        """An operand as a graph names it: in a function it is named by an output of the operator."""
        if text.startswith("^"):
            return f"^{self._names[text[1:]]}"
        node = text.partition(":")[0]
        place = _flat_index(own[node], text) if node in own else 0
        return f"{self._names[node]}:{place}" if place else self._names[node]


def _key(op: str, operands: Iterable[str]) -> Any:
    return op, () if op in _WITH_FUNCTIONS else tuple(operands)


def _operands(node: NodeMessage, own: Mapping[str, NodeMessage]) -> list[str]:
    """What a node is given, without constants and without what only comes before it."""
    sources = [text for text in node.input if not text.startswith("^")]
    nodes = [own.get(text.partition(":")[0]) for text in sources]
    return [
        text for text, source in zip(sources, nodes, strict=True) if source is None or source.op != "Const"
    ]


def _flat_index(node: NodeMessage, text: str) -> int:
    """The place of a result that is named by an output of its operator, `node:output:place`."""
    from penstock import _nodes  # it builds on everything, and start-up does without

    _, wanted, place = text.split(":")
    before = 0
    for name, kind in _nodes.operators()[node.op].outputs:
        if name == wanted:
            break
        count = count_of(kind, node.attr)
        before += 1 if count is None else count
    return before + int(place)


def _shape(extents: Any) -> dict[str, Any]:
    if extents == ():
        return {}
    if extents.rank is None:
        return {"unknown_rank": True}
    return {"dim": [{"size": -1 if size is None else size} for size in extents]}
