"""Graphs as messages of TensorFlow: what `as_graph_def()` writes.

The exporter writes a graph as a function in a library, with the names of the graph. That function becomes the
graph: its arguments are placeholders or variables, and its nodes are nodes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any, ClassVar, Final, NamedTuple

from penstock import _core
from penstock._runtime.messages import Field, Message
from penstock._runtime.protos import TensorProto
from penstock._saving.graph_messages import AttrValue, FunctionDef, NodeMessage, count_of
from penstock._saving.table_nodes import READ_TABLES, TABLES, fills_of, table_nodes
from penstock.errors import FailedPreconditionError, UnimplementedError

__all__ = ["ExportedGraph", "exported", "exported_parts", "graph_text"]

_RESOURCE: Final = 20
_PRODUCER: Final = 1882
_CALL: Final = "EagerPyFunc"
# Operators with branches, loops or functions.
_WITH_FUNCTIONS: Final = ("Case", "If", "PartitionedCall", "While")


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


class _ShownValue(Message):
    FIELDS: ClassVar = {**AttrValue.FIELDS, "tensor": Field(8, TensorProto, oneof="value")}


class _ShownNode(Message):
    FIELDS: ClassVar = {**NodeMessage.FIELDS, "attr": Field(5, _ShownValue, mapped=True)}


class _ShownFunction(Message):
    FIELDS: ClassVar = {**FunctionDef.FIELDS, "node_def": Field(3, _ShownNode, repeated=True)}


class _ShownLibrary(Message):
    FIELDS: ClassVar = {"function": Field(1, _ShownFunction, repeated=True)}


class _ShownGraph(Message):
    FIELDS: ClassVar = {
        "node": Field(1, _ShownNode, repeated=True),
        "library": Field(2, _ShownLibrary),
        "versions": Field(4, _Versions),
    }


def graph_text(content: bytes) -> str:
    """The text form of the bytes of a graph."""
    return str(_ShownGraph.FromString(content))


class _Listed(NamedTuple):
    """An operation of an open graph."""

    name: str
    kind: str
    number: int | None
    inputs: list[_core.Tensor]
    outputs: list[_core.Tensor]


class _Source(NamedTuple):
    """A graph as the engine has it.

    Attributes:
        engine: what the exporter takes: a trace, or a part of an open graph.
        name: its name.
        inputs: the tensors that it is given, each with the name that it has in the graph, where that is not
            of a placeholder.
        outputs: the names of the tensors that it makes.
    """

    engine: Any
    name: str
    inputs: Sequence[tuple[_core.Tensor, str | None]]
    outputs: Sequence[str]


def exported(concrete: _core.ConcreteFunction) -> ExportedGraph:
    """The graph of a trace as TensorFlow has it.

    Placeholders stand for the arguments and for captured variables, which are resources; captured tensors are
    constants. An `Identity` stands for each result, as in the list of nodes.

    Raises:
        UnimplementedError: for operators that TensorFlow does not have; it names all.
        FailedPreconditionError: for a function that calls Python code while it runs.
    """
    if concrete._variable_arguments():
        raise UnimplementedError(
            f"the graph of '{concrete.name}' takes variables as arguments, which a GraphDef cannot"
        )
    inputs = [(tensor, None) for tensor, _ in zip(concrete.inputs, concrete._arg_keywords, strict=False)]
    source = _Source(concrete, concrete.name, inputs, [tensor.name for tensor in concrete.outputs])
    return _Graph(source, concrete.graph._nodes(), in_parts=False).message()


def exported_parts(graph: Any) -> ExportedGraph:
    """An open graph as TensorFlow has it, of which a session runs parts.

    Raises:
        UnimplementedError: for operators that TensorFlow does not have; it names all.
        FailedPreconditionError: for a graph that calls Python code within branches, loops or functions.
    """
    operations = [_Listed(*each) for each in graph.engine._operations()]
    given = [tensor for each in operations if each.number is None for tensor in each.outputs]
    # What is taken from outside has a value. Calls of Python stand beside what is written, which is given
    # their results.
    inputs: list[tuple[_core.Tensor, str | None]]
    inputs = [(tensor, None) for tensor in given if tensor._is_symbolic]
    calls = [each for each in operations if each.kind == _CALL]
    inputs += [(tensor, f"{each.name}:{i}") for each in calls for i, tensor in enumerate(each.outputs)]
    written = [each for each in operations if each.number is not None and each.kind != _CALL]
    # A tensor's own name is found by a walk over the graph.
    outputs = {
        f"{each.name}:{place}": tensor
        for each in written
        for place, tensor in enumerate(each.outputs)
        if tensor.dtype not in (_core.variant, _core.resource)
    }
    named = {tensor._id: name for name, tensor in outputs.items()}
    named |= {tensor._id: name for tensor, name in inputs if name is not None}
    names = {each.number: each.name for each in operations if each.number is not None}
    feeds = [tensor for tensor, _ in inputs]
    silent = {each.number for each in calls}
    after = [(later, earlier) for later, earlier in graph.after if earlier not in silent]
    part = graph.engine.part(list(outputs.values()), feeds, [each.number for each in written], after)
    try:
        found = _Graph(_Source(part, "graph", inputs, list(outputs)), part._nodes(), in_parts=True)
    except FailedPreconditionError as error:
        calling = ", ".join(f"'{each.name}' ({each.kind})" for each in _calling_python(graph, operations))
        raise FailedPreconditionError(
            "the graph has calls of Python in the branches, loops or functions of "
            f"{calling or 'operations'}, where they cannot be written: {error}"
        ) from error
    message = found.message()
    for each in calls:
        message.node.append(_call(each, [named.get(x._id) or x.name for x in each.inputs]))
    nodes = {node.name: node for node in message.node}
    for later, earlier in graph.after:
        first, then = names.get(earlier, ""), nodes.get(names.get(later, ""))
        if then is not None and first in nodes:
            _wait(then, first)
    _keep_order(message.node, names, [operation._instructions for operation in graph.groups.values()])
    fills = fills_of(message.node)
    imported = [operation for operation in graph.imported.values() if not operation.outputs]
    for operation in [*imported, *graph.groups.values()]:
        if operation.name not in nodes:
            members = [names.get(number) for number in operation._instructions]
            members += fills if operation._fills_tables else []
            waits = [f"^{name}" for name in dict.fromkeys(members) if name in nodes]
            nodes[operation.name] = NodeMessage(name=operation.name, op="NoOp", input=waits)
            message.node.append(nodes[operation.name])
    return message


def _calling_python(graph: Any, operations: Sequence[_Listed]) -> list[_Listed]:
    """The operations with functions that call Python."""
    found = []
    for each in operations:
        if each.kind not in _WITH_FUNCTIONS or each.number is None:
            continue
        others = [x for other in operations if other is not each for x in other.outputs if x._is_symbolic]
        part = graph.engine.part(each.outputs, others, [each.number], [])
        try:
            _exported(_Source(part, "part", [], [tensor.name for tensor in each.outputs]), in_parts=True)
        except FailedPreconditionError:
            found.append(each)
        except UnimplementedError:
            continue
    return found


def _exported(source: _Source, in_parts: bool) -> tuple[str, bytes]:
    """The name of a graph as a function, and the library with it and what it calls."""
    builder = _core._ProgramBuilder()
    results = [f"output_{i}" for i in range(len(source.outputs))]
    number = builder.function(source.name, source.engine, results, {})
    written: tuple[str, bytes] = builder.finish()._tensorflow_functions(number, in_parts)
    return written


def _call(operation: _Listed, inputs: Iterable[str]) -> NodeMessage:
    """A call of Python, which a program that has no function of this name cannot run."""
    kinds = [
        AttrValue(list={"type": [tensor.dtype.as_datatype_enum for tensor in tensors]})
        for tensors in (operation.inputs, operation.outputs)
    ]
    attributes = {"token": AttrValue(s=operation.name.encode()), "Tin": kinds[0], "Tout": kinds[1]}
    edges = [name.removesuffix(":0") for name in inputs]
    return NodeMessage(name=operation.name, op=_CALL, input=edges, attr=attributes)


def _wait(node: NodeMessage, name: str) -> None:
    if f"^{name}" not in node.input:
        node.input.append(f"^{name}")


def _keep_order(
    nodes: Sequence[NodeMessage], names: Mapping[int, str], groups: Iterable[tuple[int, ...]]
) -> None:
    """Have what changes a variable wait for what read it before, as a session runs a part in program order.

    Instructions that follow one another and belong together, such as the updates of an optimizer, keep their
    order on each variable. Nothing else waits for what changes a variable: that would run, too.
    """
    spans = [g for g in groups if len(g) > 1 and g == tuple(range(g[0], g[-1] + 1))]
    within = {names[number]: span for span in spans for number in span if number in names}
    handles = {node.name for node in nodes if node.op == "VarHandleOp" or node.op in TABLES}
    fills = set(fills_of(nodes))
    # An instruction may be several nodes, of which the last has its name.
    owners, owner, named = [], "", set(names.values())
    for node in reversed(nodes):
        owner = node.name if node.name in named else owner
        owners.append(owner)
    before: dict[str, list[tuple[NodeMessage, Any]]] = {}
    for node, owner in zip(nodes, reversed(owners), strict=True):
        span = within.get(owner)
        taken = [text.partition(":")[0] for text in node.input if not text.startswith("^")]
        for handle in dict.fromkeys(name for name in taken if name in handles):
            there = before.setdefault(handle, [])
            for other, its in there:
                reads = [each.op == "ReadVariableOp" or each.op in READ_TABLES for each in (other, node)]
                together = span is not None and its is span and not all(reads)
                if together or reads == [True, False]:
                    _wait(node, other.name)
            if node.name not in fills:
                there.append((node, span))


class _Graph:
    """A function of a library that becomes a graph."""

    def __init__(self, source: _Source, listed: Sequence[tuple[str, str, list[str]]], in_parts: bool) -> None:
        self._source, self._in_parts = source, in_parts
        count = len(source.outputs)
        top, content = _exported(source, in_parts)
        functions = [(FunctionDef.FromString(part), part) for part in _Library.FromString(content).function]
        self._called = [part for function, part in functions if function.signature.name != top]
        (self._function,) = (function for function, _ in functions if function.signature.name == top)
        self._own = {node.name: node for node in self._function.node_def}
        self._results = [self._function.ret[output.name] for output in self._function.signature.output_arg]
        first = len(listed) - count
        self._placeholders = [_legal(name) for name, op, _ in listed[:first] if op == "Placeholder"]
        # What arguments and results of the function are called in the graph.
        self._names = {
            result.partition(":")[0]: name
            for result, (name, _, _) in zip(self._results, listed[first:], strict=True)
        }

    def message(self) -> ExportedGraph:
        """The graph: what it takes, nodes in the order of the function, then names of results."""
        nodes = self._arguments()
        for node in self._function.node_def:
            # A session fetches what it likes; a trace has an end.
            if self._in_parts and node.name in self._names:
                continue
            inputs = [self._edge(text) for text in node.input]
            nodes.append(NodeMessage(name=self._named(node.name), op=node.op, input=inputs, attr=node.attr))
        nodes.extend(self._named_results({node.name for node in nodes}))
        # The state of random numbers is TensorFlow's own there.
        taken = {text for node in nodes for text in node.input}
        nodes = [node for node in nodes if node.op != "VarHandleOp" or node.name in taken]
        return ExportedGraph(node=nodes, library={"function": self._called}, versions={"producer": _PRODUCER})

    def _arguments(self) -> list[NodeMessage]:
        """A placeholder for each tensor that the graph is given, by the name that the graph has for it.

        A captured variable is a placeholder, too, or a variable in a graph that is run in parts.
        """
        inputs = self._source.inputs
        captured = zip(self._placeholders[len(inputs) :], self._source.engine.captured_inputs, strict=False)
        variables: list[tuple[str, Any]] = [
            (name, value) for name, value in captured if isinstance(value, _core._Variable)
        ]
        given: list[tuple[str, Any]] = [
            (name, tensor) for name, (tensor, _) in zip(self._placeholders, inputs, strict=False)
        ]
        made, there = [], set(self._names.values())
        arguments = [argument.name for argument in self._function.signature.input_arg]
        edges = {argument: edge for argument, (_, edge) in zip(arguments, inputs, strict=False)}
        for argument, (name, value) in zip(arguments, [*given, *variables], strict=True):
            if (edge := edges.get(argument)) is not None:
                self._names[argument] = edge.removesuffix(":0")
                continue
            if self._in_parts and value.dtype == _core.resource and isinstance(value, _core._Variable):
                # A variable that the program has dropped is given by the engine alone.
                table, name = getattr(value, "_held_table", None), _free(value._name, there)
                if table is None:
                    raise UnimplementedError(
                        f"the graph has the table '{name}', which it cannot be written with, since the "
                        "program has dropped it: keep a reference to the table"
                    )
                there.add(name)
                self._names[argument] = name
                made.extend(table_nodes(table, name))
                continue
            attributes = {"dtype": AttrValue(type=value.dtype.as_datatype_enum)}
            attributes["shape"] = AttrValue(shape=_shape(value.shape))
            op = "Placeholder"
            if isinstance(value, _core._Variable):
                if self._in_parts:
                    # Two that were made outside of the graph may have one name.
                    op, name = "VarHandleOp", name if value._name in there else value._name
                    there.add(name)
                    attributes["shared_name"] = AttrValue(s=name.encode())
                else:
                    attributes = {"dtype": AttrValue(type=_RESOURCE), "shape": AttrValue(shape={})}
            self._names[argument] = name
            made.append(NodeMessage(name=name, op=op, attr=attributes))
        return made

    def _named_results(self, there: set[str]) -> Iterable[NodeMessage]:
        """Nodes for results that no node of the function is called by, such as one of two equal constants."""
        for output, result in zip(self._source.outputs, self._results, strict=True):
            name, _, place = output.rpartition(":")
            name = _legal(name)
            if name in there:
                continue
            there.add(name)
            count = int(place) + 1
            identity = self._own[result.partition(":")[0]]
            edges = [self._edge(identity.input[0])] * count
            number = identity.attr["T"].type
            if count == 1:
                yield NodeMessage(name=name, op="Identity", input=edges, attr={"T": AttrValue(type=number)})
            else:
                types = AttrValue(list={"type": [number] * count})
                yield NodeMessage(name=name, op="IdentityN", input=edges, attr={"T": types})

    def _named(self, name: str) -> str:
        return self._names.get(name, name)

    def _edge(self, text: str) -> str:
        """An operand as a graph names it: in a function it is named by an output of the operator."""
        if text.startswith("^"):
            return f"^{self._named(text[1:])}"
        node = text.partition(":")[0]
        place = _flat_index(self._own[node], text) if node in self._own else 0
        return f"{self._named(node)}:{place}" if place else self._named(node)


def _free(name: str, there: Container[str]) -> str:
    """A legal name that no node has, with a number where the given one is taken."""
    legal = _legal(name)
    names = chain([legal], (f"{legal}_{number}" for number in count(1)))
    return next(name for name in names if name not in there)


def _legal(name: str) -> str:
    """A name that nodes of TensorFlow may have, as the exporter makes it."""
    legal = re.sub(r"[^A-Za-z0-9_>./\\-]", "_", name)
    return legal if re.match("[A-Za-z0-9.]", legal) else f"node{legal}"


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


def _shape(extents: Any) -> Mapping[str, Any]:
    if extents.rank is None:
        return {"unknown_rank": True}
    return {"dim": [{"size": -1 if size is None else size} for size in extents]}
