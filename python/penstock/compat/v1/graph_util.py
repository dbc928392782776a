"""`tf.graph_util` of TensorFlow 1: parts of graphs that are messages; the rest is version 2's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock._runtime.graph import GraphDef, NodeDef, selected
from penstock._types.shape import TensorShape
from penstock.compat.v1._graph import Graph

if TYPE_CHECKING:
    from penstock.compat.v1._session import Session

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

_STRING: Final = 7
_INT32: Final = 3


def _graph(graph_def: Any, argument: str = "graph_def") -> GraphDef:
    if isinstance(graph_def, GraphDef):
        return graph_def
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError(f"argument '{argument}' must be a GraphDef, got {type(graph_def).__name__}")
    return GraphDef.FromString(graph_def.SerializeToString())


def _node_of(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def extract_sub_graph(graph_def: GraphDef, dest_nodes: Iterable[str]) -> GraphDef:
    """Take the part of a graph that some nodes need.

    Args:
        graph_def: the graph.
        dest_nodes: the names of the nodes.

    Returns:
        The graph of these nodes and of all that they need, in the same order.

    Raises:
        TypeError: where `graph_def` is no graph, or `dest_nodes` a string.
        AssertionError: for a name that is not in the graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    ...     y, z = tf.nn.relu(x, name="y"), tf.square(x, name="z")
    >>> part = tf.compat.v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"])
    >>> [node.name for node in part.node]
    ['x', 'y']
    """
    found = _graph(graph_def)
    if isinstance(dest_nodes, str):
        raise TypeError(f"argument 'dest_nodes' must be a list of names, got {dest_nodes!r}")
    nodes = {node.name: node for node in found.node}
    due = list(dest_nodes)
    needed: set[str] = set()
    while due:
        name = due.pop()
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
        if name not in needed:
            needed.add(name)
            due.extend(map(_node_of, nodes[name].input))
    return selected(found, [node for node in found.node if node.name in needed])


def remove_training_nodes(input_graph: GraphDef, protected_nodes: Sequence[str] | None = None) -> GraphDef:
    """Take nodes out of a graph that only matter where it is trained.

    These are `CheckNumerics`, and each `Identity` without operations to run before it; what took their
    results takes those of the nodes before.

    Args:
        input_graph: the graph.
        protected_nodes: the names of nodes that stay.

    Returns:
        The graph.

    Raises:
        TypeError: where `input_graph` is no graph.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    ...     y = tf.square(tf.identity(x, name="same"), name="y")
    >>> [node.input for node in tf.compat.v1.graph_util.remove_training_nodes(graph.as_graph_def()).node]
    [[], ['x']]
    """
    found = _graph(input_graph, "input_graph")
    kept_names = set(protected_nodes or ())
    # Whose control a node is of stays, and so do its own.
    controlling = {text[1:] for node in found.node for text in node.input if text.startswith("^")}
    replaced: dict[str, str] = {}
    for kind in ("CheckNumerics", "Identity"):
        for node in found.node:
            alone = len(node.input) == 1 and not node.input[0].startswith("^")
            if node.op == kind and alone and node.name not in kept_names | controlling:
                replaced[node.name] = node.input[0]

    def source(text: str) -> str:
        while _node_of(text) in replaced and not text.startswith("^"):
            text = replaced[_node_of(text)]
        return text

    rest = [node for node in found.node if node.name not in replaced]
    return selected(found, rest, {node.name: [source(text) for text in node.input] for node in rest})


def must_run_on_cpu(node: NodeDef, pin_variables_on_cpu: bool = False) -> bool:
    """Tell whether a node is one that no GPU runs in TensorFlow: of strings, or of constants of `int32`.

    Args:
        node: the node.
        pin_variables_on_cpu: whether variables are to be counted too.

    Returns:
        Whether it is so.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    >>> tf.compat.v1.graph_util.must_run_on_cpu(graph.as_graph_def().node[0])
    False
    """
    if pin_variables_on_cpu and node.op in ("Variable", "VariableV2", "VarHandleOp"):
        return True
    attributes = node.attr
    kind = attributes["dtype"].type if "dtype" in attributes else None
    if node.op == "Const" and kind in (_STRING, _INT32):
        return True
    return node.op in ("DynamicStitch", "ParallelDynamicStitch") and attributes["T"].type == _INT32


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Tell the shape of a tensor by its name.

    Args:
        graph: the graph.
        input_name: the name of the tensor, or of the operation whose first result it is.

    Returns:
        The shape.

    Raises:
        KeyError: where there is none.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    >>> tf.compat.v1.graph_util.tensor_shape_from_node_def_name(graph, "x")
    TensorShape([2])
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    shape: TensorShape = graph.get_tensor_by_name(name).shape
    return shape


def convert_variables_to_constants(
    sess: Session,
    input_graph_def: Any,
    output_node_names: Iterable[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> GraphDef:
    """Take the part of a graph that some nodes need, with the values of variables in it.

    Args:
        sess: the session whose values they are.
        input_graph_def: the graph, which must be one that can be written as a message.
        output_node_names: the names of the nodes.
        variable_names_whitelist: the names of the variables; by default all.
        variable_names_blacklist: the names of variables that stay.

    Returns:
        The graph.

    Raises:
        AssertionError: for a name that is not in the graph.
        TypeError: where `output_node_names` is a string.
        FailedPreconditionError: for a variable without a value in the session.
        ValueError: for a variable that the graph of the session does not have, and one that a node changes.
        UnimplementedError: where the graph has operators that TensorFlow does not have; it names all.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
    ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    ...     v = tf.compat.v1.get_variable("v", [], initializer=tf.compat.v1.constant_initializer(3.0))
    ...     y = tf.multiply(x, v, name="y")
    ...     session.run(v.initializer)
    ...     convert = tf.compat.v1.graph_util.convert_variables_to_constants
    ...     frozen = convert(session, graph.as_graph_def(), ["y"])
    >>> float(tf.import_graph_def(frozen, {"x": 2.0}, ["y:0"])[0])
    6.0
    """
    from penstock._saving.graph_export import ExportedGraph  # which is above this in the package
    from penstock._saving.meta_graph_export import constants_of  # as above

    if isinstance(output_node_names, str):
        raise TypeError(f"argument 'output_node_names' must be a list of names, got {output_node_names!r}")
    whole = GraphDef.FromString(_graph(input_graph_def, "input_graph_def").SerializeToString())
    part = ExportedGraph.FromString(extract_sub_graph(whole, output_node_names).SerializeToString())
    made = constants_of(sess, part, variable_names_whitelist, variable_names_blacklist)
    return GraphDef.FromString(made.SerializeToString())


def __getattr__(name: str) -> object:
    import penstock.graph_util  # which is above this in the package

    return getattr(penstock.graph_util, name)
