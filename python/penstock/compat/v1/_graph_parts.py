"""The operations of open graphs, their collections, and what may be fed and fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core
from penstock._runtime import scope
from penstock._runtime.arguments import integer
from penstock._runtime.graph import GraphDef, NodeDef, graph_element, no_element, selected
from penstock.compat.v1._operation import OpDef, Operation, definition, operator
from penstock.errors import FailedPreconditionError, UnimplementedError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike

__all__ = ["GraphParts", "Versions"]


class Versions(NamedTuple):
    """Versions of the form of graphs.

    Attributes:
        producer: that of the program.
        min_consumer: the least that reads them.
    """

    producer: int = 1
    min_consumer: int = 0


class GraphParts:
    """What graphs of TensorFlow 1 say of themselves.

    >>> import penstock as tf
    >>> tf.Graph().get_operations()
    []
    """

    engine: Any
    after: list[tuple[int, int]]
    # Operations that stand for several, by their names.
    groups: dict[str, Operation]

    def __init__(self) -> None:
        self._collections: dict[str, list[Any]] = {}
        self._seed: int | None = None
        self._finalized = False
        # What was imported, by the names that it had.
        self.imported: dict[str, Operation] = {}
        self._not_fed: set[int] = set()
        self._not_fetched: set[Any] = set()

    # --- operations ---

    def get_operations(self) -> list[Operation]:
        """List the operations, placeholders first, then in the order of the program.

        Returns:
            The operations.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        ...     y = tf.square(x)
        >>> [(op.name, op.type, len(op.inputs)) for op in graph.get_operations()]
        [('x', 'Placeholder', 0), ('Square', 'Square', 1)]
        """
        found = self.engine._operations()
        # What a tensor is called is known here; asked itself, it walks over the graph.
        names = {
            tensor._id: f"{name}:{place}" if place else name
            for name, _, _, _, outputs in found
            for place, tensor in enumerate(outputs)
        }
        return [
            Operation(
                self,
                () if number is None else (number,),
                name,
                kind,
                inputs,
                outputs,
                [names.get(tensor._id) or tensor.name.removesuffix(":0") for tensor in inputs],
            )
            for name, kind, number, inputs, outputs in found
        ]

    @property
    def operations(self) -> list[Operation]:
        """The operations, as `get_operations` lists them."""
        return self.get_operations()

    def num_operations(self) -> int:
        """Count the operations.

        Returns:
            The number.

        >>> import penstock as tf
        >>> tf.Graph().num_operations()
        0
        """
        return len(self.get_operations())

    def new_operations(self, n: int | None = None) -> list[Operation]:
        """List the operations that came since there were `n`.

        Args:
            n: a number that `num_operations` gave; by default 0.

        Returns:
            The operations. Placeholders, which stand first, count as the first ones.

        >>> import penstock as tf
        >>> tf.Graph().new_operations(0)
        []
        """
        return self.get_operations()[n or 0 :]

    @property
    def version(self) -> int:
        """A number that grows with the graph: that of its operations."""
        return self.num_operations()

    def get_operation_by_name(self, name: str) -> Operation:
        """Find the operation of a name.

        Args:
            name: the name.

        Returns:
            The operation.

        Raises:
            KeyError: where there is none.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        >>> graph.get_operation_by_name("x")
        <tf.Operation 'x' type=Placeholder>
        """
        if name in self.imported:
            return self.imported[name]
        for operation in self.get_operations():
            if operation.name == name:
                return operation
        if name in self.groups:
            return self.groups[name]
        raise KeyError(f"the name {name!r} refers to an operation which does not exist")

    def _tensor_named(self, name: str) -> Any:
        node, _, number = name.rpartition(":")
        place = int(number) if number.isdecimal() else -1
        for operation in [*filter(None, [self.imported.get(node)]), *self.get_operations()]:
            if operation.name == node and 0 <= place < len(operation.outputs):
                return operation.outputs[place]
        raise KeyError(f"the name {name!r} refers to a tensor which does not exist")

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
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        >>> graph.as_graph_element("x:0").name, graph.as_graph_element("x").name
        ('x:0', 'x')
        """
        found = graph_element(self, obj, allow_tensor, allow_operation)
        if isinstance(found, _core._Variable):
            with self.entered():  # type: ignore[attr-defined]
                found = found.read_value()
        if not isinstance(found, Operation) and not (isinstance(found, _core.Tensor) and found._is_symbolic):
            raise no_element(obj)
        if found.graph is not self:
            raise ValueError(f"argument 'obj' is not an element of this graph: {obj!r}")
        return found

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Any],
        dtypes: Sequence[DTypeLike] | None = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation to the graph.

        Args:
            op_type: the name of the operator, that of TensorFlow or of `tf.raw_ops`.
            inputs: the tensors that it takes.
            dtypes: accepted and ignored: they follow from the operator.
            input_types: accepted and ignored.
            name: its name.
            attrs: its attributes, by the names that `tf.raw_ops` has for them.
            op_def: accepted and ignored.
            compute_shapes: accepted; shapes are always computed.
            compute_device: accepted and ignored.

        Returns:
            The operation.

        Raises:
            ValueError: where there is no such operator.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> with graph.as_default():
        ...     op = graph.create_op("Neg", [tf.constant(1.0)], name="n")
        >>> op.type, op.outputs[0].dtype
        ('Neg', tf.float32)
        """
        op = operator(op_type)
        with self.entered():  # type: ignore[attr-defined]
            start = len(self.engine)
            made = op(*inputs, **dict(attrs or {}), name=name)
            added = range(start, len(self.engine))
        outputs = list(made) if isinstance(made, list | tuple) else [] if made is None else [made]
        tensors = [x for x in inputs if isinstance(x, _core.Tensor)]
        label = outputs[0].name.rpartition(":")[0] if outputs else name or op.tf_name
        return Operation(self, added, label, op.tf_name, tensors, outputs)

    def op_def_for_type(self, type: str) -> OpDef:
        """Tell what an operator takes.

        Args:
            type: its name.

        Returns:
            The names of its operands and attributes.

        Raises:
            ValueError: where there is no such operator.

        >>> import penstock as tf
        >>> tf.Graph().op_def_for_type("Neg").input_arg
        ['x']
        """
        return definition(type)

    def as_graph_def(
        self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False
    ) -> GraphDef:
        """List the operations as nodes, which can be written as a message of TensorFlow.

        Operations of which TensorFlow has no like are several nodes. Where one cannot be written at all, such
        as a call of Python, the nodes are a list alone.

        Args:
            from_version: how many nodes to leave out at the beginning.
            add_shapes: accepted and ignored.
            use_pybind11_proto: accepted and ignored.

        Returns:
            The nodes.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        ...     y = tf.square(x, name="y")
        >>> graph.as_graph_def().node
        [NodeDef(name='x', op='Placeholder', input=[]), NodeDef(name='y', op='Square', input=['x'])]
        >>> again = tf.compat.v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
        >>> float(tf.import_graph_def(again, {"x": 3.0}, ["y:0"])[0])
        9.0
        """
        from penstock._saving.graph_export import exported_parts  # which is above this in the package

        try:
            message = exported_parts(self)
        except (FailedPreconditionError, UnimplementedError):
            listed = [operation.node_def for operation in self.get_operations()]
            whole = GraphDef(listed, lambda: exported_parts(self))
        else:
            nodes = (NodeDef(node.name, node.op, list(node.input)) for node in message.node)
            whole = GraphDef(nodes, lambda: message)
        return selected(whole, whole.node[from_version:]) if from_version else whole

    @property
    def graph_def_versions(self) -> Versions:
        """The version of the form in which operations are listed."""
        return Versions()

    # --- collections ---

    @property
    def collections(self) -> list[str]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """List the names of the collections that hold anything.

        Returns:
            The names.

        >>> import penstock as tf
        >>> tf.Graph().get_all_collection_keys()
        []
        """
        return [name for name, values in self._collections.items() if values]

    def add_to_collection(self, name: str, value: object) -> None:
        """Put a value into a collection.

        Args:
            name: the name of the collection.
            value: the value.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.add_to_collection("sizes", 3)
        >>> graph.get_collection("sizes")
        [3]
        """
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: str | Iterable[str], value: object) -> None:
        """Put a value into several collections.

        Args:
            names: the names of the collections, each of which counts once.
            value: the value.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.add_to_collections(["a", "b"], 3)
        >>> graph.collections
        ['a', 'b']
        """
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """List the values of a collection.

        Args:
            name: the name of the collection.
            scope: how the names of the values begin, a regular expression.

        Returns:
            The values; of a scope those alone that have such names.

        >>> import penstock as tf
        >>> tf.Graph().get_collection("sizes")
        []
        """
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        begins = re.compile(scope).match
        return [v for v in values if begins(getattr(v, "name", None) or "")]

    def get_collection_ref(self, name: str) -> list[Any]:
        """Give the list of a collection itself: what is changed in it is changed in the collection.

        Args:
            name: the name of the collection.

        Returns:
            The list.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.get_collection_ref("sizes").append(3)
        >>> graph.get_collection("sizes")
        [3]
        """
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: str) -> None:
        """Remove the values of a collection.

        Args:
            name: the name of the collection.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.add_to_collection("sizes", 3)
        >>> graph.clear_collection("sizes")
        >>> graph.get_collection("sizes")
        []
        """
        self._collections.pop(name, None)

    # --- what may be done with it ---

    @property
    def building_function(self) -> bool:
        """Whether it is the graph of a traced function: false."""
        return False

    @property
    def seed(self) -> int | None:
        """The seed of what draws random numbers without a seed of its own; None for none.

        What draws is seeded where it is added to the graph, so it counts for what is added after.
        """
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = None if seed is None else integer(seed, "seed")

    @property
    def finalized(self) -> bool:
        """Whether `finalize` was called."""
        return self._finalized

    def finalize(self) -> None:
        """Note that the graph is whole. It may still be added to.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.finalize()
        >>> graph.finalized
        True
        """
        self._finalized = True

    def prevent_feeding(self, tensor: Any) -> None:
        """Have `is_feedable` say no of a tensor.

        Args:
            tensor: the tensor.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [])
        >>> graph.prevent_feeding(x)
        >>> graph.is_feedable(x)
        False
        """
        self._not_fed.add(tensor._id)

    def is_feedable(self, tensor: Any) -> bool:
        """Tell whether a tensor may be given a value by `feed_dict`.

        Args:
            tensor: the tensor.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [])
        >>> graph.is_feedable(x)
        True
        """
        return tensor._id not in self._not_fed

    def prevent_fetching(self, op: Any) -> None:
        """Have `is_fetchable` say no of an operation and its tensors.

        Args:
            op: the operation.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     op = graph.group(name="all")
        >>> graph.prevent_fetching(op)
        >>> graph.is_fetchable(op)
        False
        """
        self._not_fetched.add(op.name)
        self._not_fetched.update(tensor._id for tensor in op.outputs)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Tell whether a tensor or an operation may be fetched.

        Args:
            tensor_or_op: the tensor or operation.

        Returns:
            Whether it is so.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     graph.is_fetchable(graph.group(name="all"))
        True
        """
        key = tensor_or_op.name if isinstance(tensor_or_op, Operation) else tensor_or_op._id
        return key not in self._not_fetched

    # --- scopes ---

    def name_scope(self, name: str) -> AbstractContextManager[str]:
        """Have the names of operations within it begin with a name.

        Args:
            name: the name.

        Returns:
            A context manager, which gives the beginning of the names.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph, graph.name_scope("a"):
        ...     graph.get_name_scope()
        'a'
        """
        made: AbstractContextManager[str] = scope.name_scope(name)
        return made

    def get_name_scope(self) -> str:
        """Tell the open name scopes.

        Returns:
            Their names with slashes between them.

        >>> import penstock as tf
        >>> tf.Graph().get_name_scope()
        ''
        """
        return scope.current_name_scope().removesuffix("/")

    def device(self, device_name_or_function: Any) -> AbstractContextManager[None]:
        """Place operations within it on a device, as `tf.device` does.

        Args:
            device_name_or_function: the name of a device, or None; a function of operations leaves their
                places open.

        Returns:
            A context manager.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph, graph.device("/CPU:0"):
        ...     x = tf.constant(1)
        """
        made: AbstractContextManager[None] = (
            nullcontext() if callable(device_name_or_function) else scope.device(device_name_or_function)
        )
        return made

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Place operations within it where another one is. All are in one place.

        Args:
            op: the other operation, or a tensor, or None.
            ignore_existing: accepted and ignored.

        Returns:
            A context manager.

        Raises:
            ValueError: for None without `ignore_existing`.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.constant(1)
        ...     with graph.colocate_with(x):
        ...         y = x + 1
        """
        if op is None and not ignore_existing:
            raise ValueError("argument 'op' must not be None without 'ignore_existing'")
        yield

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Keep the variables that are made within it in a container. A graph has one for all.

        Args:
            container_name: the name of the container.

        Returns:
            A context manager, which gives the name.

        >>> import penstock as tf
        >>> with tf.Graph().as_default() as graph, graph.container("a") as name:
        ...     print(name)
        a
        """
        yield container_name

    def switch_to_thread_local(self) -> None:
        """Have each thread keep its own scopes and devices. They do so from the start.

        >>> import penstock as tf
        >>> tf.Graph().switch_to_thread_local()
        """

    def get(self) -> Any:
        """Give the graph itself.

        Returns:
            The graph.

        >>> import penstock as tf
        >>> graph = tf.Graph()
        >>> graph.get() is graph
        True
        """
        return self

    def Dismantle(self) -> None:
        """Forget the collections and what was noted. Memory is freed with the last reference.

        >>> import penstock as tf
        >>> tf.Graph().Dismantle()
        """
        self._collections.clear()
        self._not_fed.clear()
        self._not_fetched.clear()
