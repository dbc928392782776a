"""`tf.Operation`: parts of open graphs."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core
from penstock._runtime.graph import NodeDef
from penstock.errors import FailedPreconditionError, UnimplementedError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike
    from penstock.compat.v1._graph import Graph
    from penstock.compat.v1._session import Session

__all__ = ["OpDef", "Operation", "definition", "operator"]


class OpDef(NamedTuple):
    """What an operator takes.

    Attributes:
        name: its name in TensorFlow.
        input_arg: the names of its operands.
        attr: the names of its attributes.
    """

    name: str
    input_arg: list[str]
    attr: list[str]


def operator(kind: str) -> Any:
    """The operator of a name in TensorFlow, or in the engine.

    Raises:
        ValueError: where there is none.
    """
    ops = _core._ops()
    if kind in ops:
        return ops[kind]
    for op in ops.values():
        if op.tf_name == kind:
            return op
    raise ValueError(f"there is no operator of the type {kind!r}")


def definition(kind: str) -> OpDef:
    op = operator(kind)
    return OpDef(op.tf_name, [name for name, _ in op.operands], [entry[0] for entry in op.attributes])


class Operation:
    """A part of a graph that is run for its effects, or that makes tensors.

    Args:
        graph: the graph.
        instructions: the numbers of its instructions.
        name: its name.
        type: the name of its operator.
        inputs: the tensors that it takes.
        outputs: the tensors that it makes.
        input_names: the names of the tensors that it takes, where they are known.

    >>> import penstock as tf
    >>> with tf.Graph().as_default():
    ...     type(tf.compat.v1.global_variables_initializer()).__name__
    'Operation'
    """

    def __init__(
        self,
        graph: Any,
        instructions: Iterable[int],
        name: str,
        type: str = "NoOp",
        inputs: Iterable[Any] = (),
        outputs: Iterable[Any] = (),
        input_names: Sequence[str] | None = None,
    ) -> None:
        self._graph, self._name, self._type = graph, name, type
        self._input_names = input_names
        # Those of its instructions that are there for open control dependencies.
        self._waits: tuple[int, ...] = ()
        # Whether it fills tables, which are full already, where the graph is written.
        self._fills_tables = False
        self._instructions = tuple(instructions)
        self._inputs, self._outputs = tuple(inputs), list(outputs)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph

    @property
    def type(self) -> str:
        """The name of its operator; `NoOp` where it stands for several."""
        return self._type

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors that it takes."""
        return self._inputs

    @property
    def outputs(self) -> list[Any]:
        """The tensors that it makes."""
        return list(self._outputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that it was told to run after."""
        own = set(self._instructions)
        before = {earlier for later, earlier in self._graph.after if later in own} - own
        before.update(self._waits)
        return [op for op in self._graph.get_operations() if not before.isdisjoint(op._instructions)]

    @property
    def device(self) -> str:
        """Where it runs: an empty text, which leaves it open."""
        return ""

    @property
    def node_def(self) -> NodeDef:
        """Its name, its operator, and the names of the tensors that it takes."""
        names = self._input_names
        if names is None:
            names = [tensor.name.removesuffix(":0") for tensor in self._inputs]
        return NodeDef(self._name, self._type, list(names))

    @property
    def op_def(self) -> OpDef:
        """What its operator takes."""
        return (
            definition(self._type) if self._type not in ("NoOp", "Placeholder") else OpDef(self._type, [], [])
        )

    @property
    def traceback(self) -> traceback.StackSummary:
        """Where the program made it, which is known of errors alone: empty."""
        return traceback.StackSummary()

    def values(self) -> tuple[Any, ...]:
        """List the tensors that it makes.

        Returns:
            The tensors.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        >>> len(graph.get_operation_by_name("x").values())
        1
        """
        return tuple(self._outputs)

    def colocation_groups(self) -> list[bytes]:
        """List the names of the operations that it runs beside: its own.

        Returns:
            The names.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     graph.group(name="all").colocation_groups()
        [b'loc:@all']
        """
        return [f"loc:@{self._name}".encode()]

    def get_attr(self, name: str) -> Any:
        """Tell a property of the operation that follows from its tensors.

        Args:
            name: `"T"` or `"dtype"`, that of its first operand or result; `"shape"`, that of its result.

        Returns:
            The dtype, or the shape.

        Raises:
            ValueError: for another name.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        >>> graph.get_operation_by_name("x").get_attr("dtype")
        tf.float32
        """
        tensors = [*self._inputs, *self._outputs] if name == "T" else [*self._outputs, *self._inputs]
        if name in ("T", "dtype") and tensors:
            return tensors[0].dtype
        if name == "shape" and self._outputs:
            return self._outputs[0].shape
        raise ValueError(f"argument 'name' must be 'T', 'dtype' or 'shape' of a tensor, got {name!r}")

    def experimental_set_type(self, type_proto: object) -> None:
        """Note a description of the type of the result; the dtypes of the tensors say it.

        Args:
            type_proto: accepted and ignored.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     graph.group(name="all").experimental_set_type(None)
        """

    @classmethod
    def from_node_def(
        cls,
        node_def: NodeDef,
        g: Graph,
        inputs: Sequence[Any] | None = None,
        output_types: object = None,
        control_inputs: Sequence[Operation] | None = None,
        input_types: object = None,
        original_op: object = None,
        op_def: object = None,
    ) -> Operation:
        """Add the operation of a node to a graph.

        Args:
            node_def: its name and operator, as `as_graph_def()` gives them.
            g: the graph.
            inputs: the tensors that it takes; by default those whose names the node has.
            output_types: accepted and ignored.
            control_inputs: operations that run before.
            input_types: accepted and ignored.
            original_op: accepted and ignored.
            op_def: accepted and ignored.

        Returns:
            The operation.

        Raises:
            ValueError: where there is no such operator.

        >>> import penstock as tf
        >>> from penstock.compat.v1 import NodeDef
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        >>> tf.Operation.from_node_def(NodeDef("y", "Neg", ["x"]), graph).outputs[0].shape
        TensorShape([])
        """
        from penstock.compat.v1._graph import Graph  # graphs make operations

        for value, kind, argument in ((node_def, NodeDef, "node_def"), (g, Graph, "g")):
            if not isinstance(value, kind):
                raise TypeError(f"argument '{argument}' must be a {kind.__name__}, got {value!r}")
        if inputs is None:
            inputs = [g.get_tensor_by_name(name if ":" in name else f"{name}:0") for name in node_def.input]
        with g.entered(), g.control_dependencies(control_inputs):
            made: Operation = g.create_op(node_def.op, inputs, name=node_def.name)
        return made

    def run(self, feed_dict: Mapping[Any, TensorLike] | None = None, session: Session | None = None) -> None:
        """Run it in a session.

        Args:
            feed_dict: values for tensors of the graph, which are not computed then.
            session: the session, by default the one that is open.

        >>> import penstock as tf
        >>> with tf.Graph().as_default(), tf.compat.v1.Session():
        ...     v = tf.Variable(1.0)
        ...     tf.compat.v1.global_variables_initializer().run()
        ...     float(v.eval())
        1.0
        """
        from penstock.compat.v1._session import session_for  # start-up does without it

        session_for(session).run(self, feed_dict)

    # Each listing of a graph makes its operations anew.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operation):
            return NotImplemented
        return self._graph is other._graph and self._name == other._name

    def __hash__(self) -> int:
        return hash((id(self._graph), self._name))

    def __str__(self) -> str:
        """The node that it is written as; its name where there is no such."""
        with suppress(FailedPreconditionError, UnimplementedError):
            for node in self._graph.as_graph_def()._message().node:
                if node.name == self._name:
                    return str(node)
        return repr(self)

    def __repr__(self) -> str:
        kind = "" if self._type == "NoOp" else f" type={self._type}"
        return f"<tf.Operation '{self._name}'{kind}>"
