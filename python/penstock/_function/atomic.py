"""`tf.types.experimental.AtomicFunction`: the graph of a trace by itself, as a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core
from penstock._types.argument_names import expect
from penstock._types.specs import TensorSpec

if TYPE_CHECKING:
    from penstock._function.function_type import FunctionType

__all__ = ["AtomicFunction"]


class _ArgDef(NamedTuple):
    """A parameter or result: its name and its dtype, as a `DataType` of TensorFlow's protos has it."""

    name: str
    type: int


class _OpDef(NamedTuple):
    """The name of a function, its parameters and its results."""

    name: str
    input_arg: tuple[_ArgDef, ...]
    output_arg: tuple[_ArgDef, ...]


class _FunctionDef(NamedTuple):
    """A function as TensorFlow's proto of that name lists it, to look at."""

    signature: _OpDef
    node_def: Any


class AtomicFunction:
    """The graph of one trace as a function: the `inference_fn` of a `ConcreteFunction`.

    It is called as the trace is, and what the trace takes from around it is given to it by itself.

    Args:
        concrete: the trace.

    >>> import penstock as tf
    >>> concrete = tf.function(lambda a: a + a).get_concrete_function(tf.TensorSpec([], tf.int32))
    >>> function = tf.types.experimental.AtomicFunction(concrete)
    >>> function(tf.constant(2)).numpy()
    np.int32(4)
    >>> function.definition.signature.input_arg[0].name
    'a'
    """

    __module__ = "penstock.types.experimental"

    __slots__ = ("_concrete",)

    def __init__(self, concrete: _core.ConcreteFunction) -> None:
        self._concrete: _core.ConcreteFunction = expect(
            concrete, _core.ConcreteFunction, "concrete", "a ConcreteFunction"
        )

    @property
    def name(self) -> bytes:
        """The name of the graph."""
        return self._concrete.name.encode()

    @property
    def function_type(self) -> FunctionType:
        """The types of parameters and results."""
        found: FunctionType = self._concrete.function_type
        return found

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._concrete.graph

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the function: there are none."""
        return {}

    @property
    def children(self) -> list[AtomicFunction]:
        """The functions that it calls by name: none, since their graphs are part of this one."""
        return []

    @property
    def definition(self) -> _FunctionDef:
        """The signature and the nodes, by the names of TensorFlow's `FunctionDef`, to look at."""
        outputs = [
            TensorSpec.from_tensor(t, name=f"output_{i}") for i, t in enumerate(self._concrete.outputs)
        ]
        inputs = [TensorSpec.from_tensor(t, name=f"input_{i}") for i, t in enumerate(self._concrete.inputs)]
        names = self._concrete._arg_keywords
        signature = _OpDef(
            self._concrete.name,
            tuple(
                _ArgDef(names[i] if i < len(names) else str(spec.name), spec.dtype.as_datatype_enum)
                for i, spec in enumerate(inputs)
            ),
            tuple(_ArgDef(str(spec.name), spec.dtype.as_datatype_enum) for spec in outputs),
        )
        return _FunctionDef(signature, self.graph.as_graph_def().node)

    cached_definition = definition

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the trace gives for these arguments."""
        return self._concrete(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<AtomicFunction> {self._concrete.pretty_printed_signature(verbose=False)}"
