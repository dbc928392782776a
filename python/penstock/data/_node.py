"""What a data set is: a node with a kind, the data sets that it takes elements from, and other arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator as PyIterator, Sequence
from typing import Any, ClassVar, NamedTuple

from penstock import _core, raw_ops
from penstock._types.specs import own_spec
from penstock.data._functions import Traced
from penstock.data._handles import HANDLE, ByHandle, handle, held, in_graph
from penstock.data._options import Options
from penstock.data._rows import Pull, Reader
from penstock.data._structure import Structure
from penstock.errors import InaccessibleTensorError, InvalidArgumentError

__all__ = ["INFINITE", "UNKNOWN", "Kind", "Node", "Stage"]

INFINITE = -1
UNKNOWN = -2


def _unknown(*_: Any) -> int:
    return UNKNOWN


class Kind(NamedTuple):
    """A kind of data set.

    Attributes:
        name: its name.
        open: opens its stage, from the data sets that it takes elements from and its other arguments.
        size: how many elements there are, from the numbers of those of the former and the arguments.
    """

    name: str
    open: Callable[..., Pull]
    size: Callable[..., int] = _unknown


class Stage(NamedTuple):
    """What a data set is made of.

    Attributes:
        kind: its kind.
        inputs: the data sets that it takes elements from.
        args: the other arguments of the kind.
        spec: the specification of an element: a nest of `tf.TypeSpec`, or its structure.
    """

    kind: Kind
    inputs: Sequence[Node]
    args: Sequence[Any]
    spec: Any


def _given(argument: Any) -> Pull:
    raise InvalidArgumentError("a data set that stands for an argument has no elements outside of its graph")


# A data set that a graph got: its argument is a handle.
GIVEN = Kind("Given", _given)


class Node(ByHandle):
    """A stage, how it opens, and what it is in a graph: what `tf.data.Dataset` builds on."""

    __slots__ = (
        "__weakref__",
        "_args",
        "_given",
        "_inputs",
        "_kind",
        "_options",
        "_spec",
        "_structure",
        "_traced_in",
        "name",
    )

    def __init__(
        self, kind: Kind, inputs: Sequence[Node], args: Sequence[Any], spec: Any, name: str | None = None
    ) -> None:
        if not isinstance(kind, Kind):
            raise TypeError(
                "data sets are made by static methods, such as tf.data.Dataset.from_tensor_slices"
            )
        self._kind = kind
        self._inputs = tuple(inputs)
        self._args = tuple(args)
        self._structure = spec if isinstance(spec, Structure) else Structure(spec)
        self._options: Options | None = None
        # The tensor that stood for it as an argument.
        self._given: Any = None
        self._spec: Any = None
        # Made while a function is traced: each run of the graph makes its own.
        self._traced_in = _core._current_trace()
        self.name: str | None = name

    # The class of data sets that are made of others.
    _make: ClassVar[Callable[..., Any]]

    def _stage(self, kind: Kind, *args: Any) -> Stage:
        """A stage that takes elements from this one, and gives elements of the same specification."""
        return Stage(kind, [self], args, self._structure)

    def _open(self) -> Pull:
        """The stage, from the first element on."""
        return self._kind.open(*self._inputs, *self._args)

    # Sizes.

    def _size(self) -> int:
        if _leaves(self):
            return UNKNOWN
        return self._kind.size(*(source._size() for source in self._inputs), *self._args)

    # Iteration.

    def _elements(self) -> PyIterator[list[Any]]:
        """The leaves of each element."""
        read = Reader(self._open())
        while (leaves := read()) is not None:
            yield leaves

    # In graphs.

    def _is_in_graph(self) -> bool:
        """Whether there is such a data set only while the graph runs."""
        if not _core._is_tracing():
            return False
        return (
            self._traced_in is not None or bool(_leaves(self)) or any(s._is_in_graph() for s in self._inputs)
        )

    def _on_host(self, function: Callable[[Any], Sequence[Any]], specs: Sequence[Any]) -> list[Any]:
        """Has the graph call a function with this data set, as it is in a run; what it gives."""
        leaves = _leaves(self)
        ids = [leaf._id for leaf in leaves]

        def call(*tensors: Any) -> Sequence[Any]:
            return function(_rebuilt(self, dict(zip(ids, tensors, strict=True)), {}))

        return in_graph(call, specs, leaves)

    def _handle(self) -> Any:
        """A tensor that stands for it."""
        if self._kind is GIVEN:
            return self._args[0]
        if not self._is_in_graph():
            return handle(self)
        # A function that is traced for it as an argument asks again, and must not make it within.
        if self._given is None or (
            self._given._trace == _core._current_trace() and not _is_in_scope(self._given)
        ):
            try:
                self._given = self._on_host(lambda ds: [handle(ds)], [HANDLE])[0]
            except InaccessibleTensorError:
                # Who asks behind the branch that it was made in wants to know what it is.
                if self._given is None:
                    raise
        return self._given

    def _with_spec(self, element_spec: Any) -> Any:
        return self._make(GIVEN, [], [self._handle()], element_spec)

    @classmethod
    def _of_handle(cls, tensor: Any, element_spec: Any) -> Any:
        """The data set that a tensor stands for."""
        at_hand = isinstance(tensor, _core.Tensor) and not tensor._is_symbolic
        return held(tensor) if at_hand else cls(GIVEN, [], [tensor], element_spec)

    @property
    def _type_spec(self) -> Any:
        if self._spec is None:
            from penstock.data._specs import DatasetSpec  # start-up does without it

            self._spec = DatasetSpec(self._structure.spec)
        return self._spec

    def __tf_tracing_type__(self, context: Any) -> Any:
        """The specification of the data set."""
        return self._type_spec

    # Options.

    def _all_options(self) -> Options:
        """The options of this data set and of those that it is made of."""
        found = Options()
        for source in self._inputs:
            found = found.merge(source._all_options())
        return found if self._options is None else found.merge(self._options)

    def _repr_html_(self) -> str:
        from penstock._runtime.pages import of_dataset  # start-up does without it

        return of_dataset(self)

    def __repr__(self) -> str:
        return f"<_{self._kind.name}Dataset element_spec={self._structure.spec!r}>"


def _is_in_scope(tensor: Any) -> bool:
    """Whether a tensor of the open trace is of a region that is open."""
    try:
        raw_ops.identity(tensor)
    except InaccessibleTensorError:
        return False
    return True


def _symbolic_in(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [leaf for item in value for leaf in _symbolic_in(item)]
    if isinstance(value, Node):
        return _leaves(value)
    if isinstance(value, _core.Tensor):
        return [value] if value._is_symbolic else []
    if isinstance(value, Traced):
        return [leaf for leaf in value.captures if isinstance(leaf, _core.Tensor) and leaf._is_symbolic]
    spec = own_spec(value)
    if spec is not None:
        return [leaf for leaf in spec.to_tensors(value) if leaf._is_symbolic]
    return []


def _leaves(dataset: Node) -> list[Any]:
    """The symbolic tensors that a data set is made of."""
    found: dict[int, Any] = {}
    _leaves_into(found, dataset, set())
    return list(found.values())


def _leaves_into(found: dict[int, Any], node: Node, seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    for source in node._inputs:
        _leaves_into(found, source, seen)
    for arg in node._args:
        found.update((leaf._id, leaf) for leaf in _symbolic_in(arg))


def _rebuilt(node: Node, tensors: dict[int, Any], made: dict[int, Node]) -> Node:
    """A data set that was made while tracing, as it is where its tensors have these values."""
    if id(node) in made:
        return made[id(node)]
    inputs = [_rebuilt(source, tensors, made) for source in node._inputs]
    same = all(a is b for a, b in zip(inputs, node._inputs, strict=True))
    if node._kind is GIVEN:
        new: Node = held(tensors[node._args[0]._id])
    elif same and node._traced_in is None:
        new = node
    else:
        args = [_valued(a, tensors, made) for a in node._args]
        new = node._make(node._kind, inputs, args, node._structure, node.name)
        new._options = node._options
    made[id(node)] = new
    return new


def _valued(value: Any, tensors: dict[int, Any], made: dict[int, Node]) -> Any:
    if isinstance(value, list):
        return [_valued(item, tensors, made) for item in value]
    if isinstance(value, Node):
        return _rebuilt(value, tensors, made)
    if isinstance(value, _core.Tensor):
        return tensors[value._id] if value._is_symbolic else value
    if isinstance(value, Traced):
        here = [_valued(c, tensors, made) if isinstance(c, _core.Tensor) else c for c in value.captures]
        return value.on(here)
    if _symbolic_in(value):
        parts = [_valued(t, tensors, made) for t in value._type_spec.to_tensors(value)]
        return value._type_spec.from_tensors(iter(parts))
    return value.fresh() if hasattr(value, "fresh") else value
