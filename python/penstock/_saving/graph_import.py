"""Graphs of TensorFlow as operations of the program: `tf.import_graph_def`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._control.flow import init_scope
from penstock._runtime import scope, v1_graph_state
from penstock._runtime.graph import GraphOperation
from penstock._saving.graph_messages import AttrValue, FunctionDef, GraphMessage, NodeMessage, count_of
from penstock._types.shape import TensorShape
from penstock.compat.v1 import _graph, _operation
from penstock.errors import DataLossError, InvalidArgumentError, UnimplementedError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["import_graph_def", "is_imported"]

_RESOURCE = 20
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
# How TensorFlow is to run a function.
_SETTINGS = ("config", "config_proto", "executor_type")
# Control flow of graphs of TensorFlow 1, which goes in circles.
_CIRCLES = ("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch")


def import_graph_def(
    graph_def: object,
    input_map: Mapping[str, TensorLike] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: object = None,
) -> list[Any] | None:
    r"""Add the operations of a graph of TensorFlow to the program.

    In a `tf.Graph` all of them are added, and are found by their names. In a traced function, and outside of
    one, where they run at once, those are that the elements to return need. Variables of the graph start
    without values: a graph that is to compute something has constants in their place.

    Args:
        graph_def: a `GraphDef` message of the library of protocol buffers, or the bytes of one.
        input_map: values that stand for tensors of the graph, by the names of these: `"x:0"`, or `"x"` for
            the first one of an operation. A variable stands for a placeholder of dtype `resource` or for a
            variable of the graph.
        return_elements: the names of tensors, such as `"y:0"`, and of operations, such as `"y"`, to return.
        name: what the names of the operations begin with, by default `"import"`; `""` for nothing.
        op_dict: accepted and ignored, as in TensorFlow.
        producer_op_list: accepted and ignored: attributes that are not known are left out.

    Returns:
        The tensors and operations of `return_elements`, or None without these.

    Raises:
        TypeError: where `graph_def` is no such message.
        DataLossError: where its bytes are damaged.
        ValueError: for names in `input_map` or `return_elements` that the graph does not have.
        UnimplementedError: where it has operators that the package does not have, or loops of graphs of
            TensorFlow 1.
        InvalidArgumentError: where it needs a placeholder for which there is no value.

    >>> import penstock as tf
    >>> node = b"\n\x01y\x12\x03Neg\x1a\x01x"  # A NodeDef: y = Neg(x).
    >>> graph_def = b"\n" + bytes([len(node)]) + node
    >>> y, = tf.import_graph_def(graph_def, {"x": tf.constant(2.0)}, ["y:0"])
    >>> y.numpy()
    np.float32(-2.0)
    """
    graph = _message(graph_def)
    given = {_tensor_name(key): value for key, value in dict(input_map or {}).items()}
    wanted = [str(element) for element in return_elements or ()]
    nodes = {node.name: node for node in graph.node}
    if len(nodes) != len(graph.node):
        raise InvalidArgumentError("argument 'graph_def' has several nodes of one name")
    functions = {function.signature.name: function for function in graph.library.function}
    used = {_node_of(text) for node in graph.node for text in node.input}
    for key in given:
        if _node_of(key) not in {*nodes, *used}:
            raise ValueError(f"argument 'input_map' has {key!r}, which is not in the graph")
    for element in wanted:
        if _node_of(element) not in nodes:
            raise ValueError(f"argument 'return_elements' has {element!r}, which is not in the graph")
    resources = {
        f"{node.name}:0"
        for node in graph.node
        if node.op == "VarHandleOp" or ("dtype" in node.attr and node.attr["dtype"].type == _RESOURCE)
    }
    tensors = {
        key: value if key in resources and isinstance(value, _core._Variable) else _core._to_tensor(value)
        for key, value in given.items()
    }
    open_graph = v1_graph_state.current()
    prefix = "import" if name is None else name.rstrip("/")
    if prefix and open_graph is not None:
        prefix = open_graph.unique_name(prefix)
    made = _Nodes(nodes, functions, tensors, prefix, open_graph)
    made.add(nodes if open_graph is not None else [_node_of(element) for element in wanted])
    return None if return_elements is None else [made.element(element) for element in wanted]


def is_imported(op: str) -> bool:
    """Whether there is an operator for nodes of that kind."""
    from penstock import _nodes  # it builds on everything, and start-up does without

    known = op in _nodes.operators() and _nodes.function(op) is not None and hasattr(raw_ops, op)
    return known and op not in _CIRCLES


def _message(graph_def: Any) -> GraphMessage:
    """The graph that an argument is."""
    if not isinstance(graph_def, bytes | bytearray) and not hasattr(graph_def, "SerializeToString"):
        raise TypeError(
            f"argument 'graph_def' must be a GraphDef message or its bytes, got {type(graph_def).__name__}"
        )
    content = graph_def if isinstance(graph_def, bytes | bytearray) else graph_def.SerializeToString()
    try:
        return GraphMessage.FromString(bytes(content))
    except DataLossError as error:
        raise DataLossError(f"argument 'graph_def' has bytes that are no GraphDef: {error}") from None


def _tensor_name(key: Any) -> str:
    text = str(key)
    return text if text.startswith("^") or ":" in text else f"{text}:0"


def _node_of(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


class _Nodes:
    """Nodes of a graph, or of one of its functions, that become operations."""

    def __init__(
        self,
        nodes: Mapping[str, NodeMessage],
        functions: Mapping[str, FunctionDef],
        given: Mapping[str, Any],
        prefix: str,
        graph: Any = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self._nodes, self._functions, self._given = nodes, functions, given
        self._prefix, self._graph = prefix, graph
        # The outputs of each node, by the names that its operator has for them.
        self._outputs: dict[str, list[tuple[str, Any]]] = {}
        for key, value in (arguments or {}).items():
            self._outputs[key] = [("", value)]
        # In an open graph: what runs for each node, with what it is to run after.
        self._instructions: dict[str, tuple[int, ...]] = {}

    # --- what is asked for ---

    def element(self, text: str) -> Any:
        """A tensor or an operation by its name."""
        if ":" in text:
            found = self.tensor(text)
            if isinstance(found, _Absent):
                raise found.error()
            return found
        node = self._nodes[text]
        inputs = [self.tensor(part) for part in node.input if not part.startswith("^")]
        outputs = [value for _, value in self._outputs[text]]
        label = f"{self._prefix}/{text}" if self._prefix else text
        if self._graph is None:
            return GraphOperation(label, node.op, inputs, outputs)
        numbers = self._instructions.get(text, ())
        return _operation.Operation(self._graph, numbers, label, node.op, inputs, outputs)

    def tensor(self, text: str) -> Any:
        """A tensor by what stands for it in a node: `y`, `y:1`, or in functions `y:output:0`."""
        node, _, place = text.partition(":")
        if f"{node}:{place or 0}" in self._given:
            return self._given[f"{node}:{place or 0}"]
        outputs = self._outputs.get(node)
        if outputs is None:
            raise InvalidArgumentError(f"argument 'graph_def' has no node '{node}', of which there is a user")
        named, _, number = place.rpartition(":")
        found = [value for output, value in outputs if output == named or not named]
        at = int(number or 0)
        if at >= len(found):
            raise InvalidArgumentError(
                f"argument 'graph_def' has no tensor '{text}', of which there is a user"
            )
        return found[at]

    # --- what is made ---

    def add(self, names: Iterable[str]) -> None:
        """Make nodes, after those that they need."""
        for start in names:
            stack = [(start, iter(self._needed(start)))]
            open_nodes = {start}
            while stack:
                name, needed = stack[-1]
                following = next((n for n in needed if n not in self._outputs), None)
                if following is None:
                    stack.pop()
                    open_nodes.discard(name)
                    if name not in self._outputs:
                        if self._graph is None:
                            self._outputs[name] = self._made(self._nodes[name])
                        else:
                            self._add_to_graph(self._nodes[name])
                            operation = self.element(name)
                            self._graph.imported[operation.name] = operation
                elif following in open_nodes:
                    raise UnimplementedError(
                        f"argument 'graph_def' has node '{following}' in a circle: loops of TensorFlow 1 are "
                        "not imported"
                    )
                else:
                    open_nodes.add(following)
                    stack.append((following, iter(self._needed(following))))

    def _add_to_graph(self, node: NodeMessage) -> None:
        """Make a node in the open graph, behind those that it names with a `^`; or take a variable for it."""
        variable = self._given.get(f"{node.name}:0")
        if isinstance(variable, _core._Variable) and node.op in (*_PLACEHOLDERS, "VarHandleOp"):
            self._outputs[node.name], self._instructions[node.name] = [("", variable)], ()
            return
        before = [_node_of(text) for text in node.input if text.startswith("^")]
        first = len(self._graph.engine)
        with self._graph.control_dependencies([self.element(name) for name in before]):
            self._outputs[node.name] = self._made(node)
        own = range(first, len(self._graph.engine))
        self._instructions[node.name] = (*(n for name in before for n in self._instructions[name]), *own)

    def _needed(self, name: str) -> list[str]:
        """The nodes before one that are to be made."""
        node = self._nodes.get(name)
        if node is None:
            raise InvalidArgumentError(f"argument 'graph_def' has no node '{name}', of which there is a user")
        return [
            _node_of(text)
            for text in node.input
            if text not in self._given and f"{text}:0" not in self._given
        ]

    def _made(self, node: NodeMessage) -> list[tuple[str, Any]]:
        from penstock import _nodes  # it builds on everything, and start-up does without

        if node.op in _PLACEHOLDERS and self._graph is None:
            # Only what needs its value cannot be made.
            return [("output", _Absent(node.name))]
        operator, compute = _nodes.operators().get(node.op), getattr(raw_ops, node.op, None)
        if operator is None or compute is None or not is_imported(node.op):
            raise UnimplementedError(
                f"argument 'graph_def' has node '{node.name}' of the operator {node.op}, which is not "
                "imported"
            )
        flat = [self.tensor(text) for text in node.input if not text.startswith("^")]
        for value in flat:
            if isinstance(value, _Absent):
                raise value.error()
        attributes: dict[str, Any] = dict(node.attr)
        arguments: dict[str, Any] = {}
        for parameter in operator.parameters:
            if parameter.is_input:
                count = count_of(parameter.kind, attributes)
                if len(flat) < (1 if count is None else count):
                    raise InvalidArgumentError(
                        f"argument 'graph_def': node '{node.name}' has {len(node.input)} inputs, too few for "
                        f"the operator {node.op}"
                    )
                arguments[parameter.name] = flat[0] if count is None else flat[:count]
                flat = flat[1 if count is None else count :]
            elif parameter.name in attributes and parameter.name not in _SETTINGS:
                arguments[parameter.name] = self._attribute(parameter.kind, attributes[parameter.name])
        within, _, label = node.name.rpartition("/")
        path = "/".join(part for part in (self._prefix, within) if part)
        if node.op in _PLACEHOLDERS:
            arguments.pop("shape", None)
            shape = self._attribute("shape", attributes["shape"]) if "shape" in attributes else None
            with scope.imported_scope(f"{path}/" if path else ""):
                return [("output", _graph.placeholder(arguments["dtype"], shape, name=label))]
        with scope.imported_scope(f"{path}/" if path else ""):
            repeated = self._repeated(node) if node.op == "Sum" else None
            if repeated is not None:
                return [("output", raw_ops.sum_to_shape(arguments["input"], repeated, name=label))]
            result = compute(**arguments, name=label)
        return list(self._named(operator.outputs, attributes, result))

    def _repeated(self, node: NodeMessage) -> Any:
        """The shape that a sum goes back to, where it is the gradient of a broadcast; None elsewhere.

        TensorFlow sums over axes that it finds when the graph runs, then gives the sum that shape. Here the
        first of the two does both.
        """
        edge = node.input[1]
        source = self._nodes.get(_node_of(edge))
        if source is None or source.op != "BroadcastGradientArgs":
            return None
        return self.tensor(source.input[int(edge.endswith((":1", ":r1:0")))])

    @staticmethod
    def _named(
        outputs: Sequence[tuple[str, str]], attributes: Mapping[str, AttrValue], result: Any
    ) -> Iterable[tuple[str, Any]]:
        """The tensors of a result, with the names of the outputs."""
        values = [result] if len(outputs) == 1 else list(result or ())
        for (name, kind), value in zip(outputs, values, strict=True):
            if count_of(kind, attributes) is None:
                yield name, value
            else:
                yield from ((name, part) for part in value or ())

    def _attribute(self, kind: str, value: AttrValue) -> Any:
        """An attribute as `tf.raw_ops` takes it."""
        if kind.startswith("list("):
            field = _FIELDS[kind[5:-1]]
            return [self._value(kind[5:-1], part) for part in getattr(value.list, field)]
        return self._value(kind, getattr(value, _FIELDS[kind]))

    def _value(self, kind: str, value: Any) -> Any:
        if kind == "shape":
            sizes = [None if d.size < 0 else d.size for d in value.dim]
            return TensorShape(None if value.unknown_rank else sizes)
        if kind == "type":
            return _core.DType(value)
        if kind == "tensor":
            # As an array, so that its value is known where a function is traced.
            with init_scope():
                return raw_ops.parse_tensor(_core._to_tensor(value), out_type=_dtype_of(value)).numpy()
        if kind == "func":
            return self._function(value.name)
        return value

    def _function(self, name: str) -> Callable[..., Any]:
        """A function of the graph as one of Python."""
        function = self._functions.get(name)
        if function is None:
            raise InvalidArgumentError(f"argument 'graph_def' has no function '{name}', which a node calls")
        nodes = {node.name: node for node in function.node_def}
        parameters = [argument.name for argument in function.signature.input_arg]
        results = [function.ret[output.name] for output in function.signature.output_arg]

        def call(*values: Any) -> Any:
            arguments = dict(zip(parameters, values, strict=True))
            prefix = f"{self._prefix}/{name}" if self._prefix else name
            body = _Nodes(nodes, self._functions, {}, prefix, None, arguments)
            body.add(nodes)
            found = [body.tensor(text) for text in results]
            return found[0] if len(found) == 1 else found

        return call


class _Absent:
    """What stands for a placeholder without a value."""

    def __init__(self, name: str) -> None:
        self._name = name

    def error(self) -> InvalidArgumentError:
        """What is raised where the value is needed."""
        return InvalidArgumentError(
            f"argument 'input_map' must have a value for the placeholder '{self._name}', which is needed"
        )


# The field of a message that has an attribute of a kind.
_FIELDS = {
    "bool": "b",
    "float": "f",
    "func": "func",
    "int": "i",
    "shape": "shape",
    "string": "s",
    "tensor": "tensor",
    "type": "type",
}


def _dtype_of(tensor: bytes) -> _core.DType:
    from penstock._runtime.protos import TensorProto  # constants of graphs alone need it

    number: Any = TensorProto.FromString(tensor).dtype
    return _core.DType(number)
