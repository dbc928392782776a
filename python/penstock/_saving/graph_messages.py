"""The messages that graphs of TensorFlow are made of, as far as a reader of them needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock import _core
from penstock._runtime.messages import Field, Message
from penstock._runtime.protos import tensor_proto
from penstock.errors import InvalidArgumentError

__all__ = ["AttrValue", "FunctionDef", "GraphMessage", "NodeMessage", "constant_node", "count_of"]


class _Dimension(Message):
    FIELDS: ClassVar = {"size": Field(1, "int64")}


class _Shape(Message):
    FIELDS: ClassVar = {"dim": Field(2, _Dimension, repeated=True), "unknown_rank": Field(3, "bool")}


class _Function(Message):
    # Attributes of functions are those of the calls within them: none is looked at.
    FIELDS: ClassVar = {"name": Field(1, "string")}


class _List(Message):
    FIELDS: ClassVar = {
        "s": Field(2, "bytes", repeated=True),
        "i": Field(3, "int64", repeated=True),
        "f": Field(4, "float", repeated=True),
        "b": Field(5, "bool", repeated=True),
        "type": Field(6, "enum", repeated=True),
        "shape": Field(7, _Shape, repeated=True),
        "tensor": Field(8, "bytes", repeated=True),
        "func": Field(9, _Function, repeated=True),
    }


class AttrValue(Message):
    """The value of an attribute; a tensor is the bytes of its message."""

    FIELDS: ClassVar = {
        "list": Field(1, _List, oneof="value"),
        "s": Field(2, "bytes", oneof="value"),
        "i": Field(3, "int64", oneof="value"),
        "f": Field(4, "float", oneof="value"),
        "b": Field(5, "bool", oneof="value"),
        "type": Field(6, "enum", oneof="value"),
        "shape": Field(7, _Shape, oneof="value"),
        "tensor": Field(8, "bytes", oneof="value"),
        "placeholder": Field(9, "string", oneof="value"),
        "func": Field(10, _Function, oneof="value"),
    }


class NodeMessage(Message):
    """A node of a graph."""

    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "op": Field(2, "string"),
        "input": Field(3, "string", repeated=True),
        "attr": Field(5, AttrValue, mapped=True),
    }


class _Argument(Message):
    FIELDS: ClassVar = {"name": Field(1, "string"), "type": Field(3, "enum")}


class _Signature(Message):
    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "input_arg": Field(2, _Argument, repeated=True),
        "output_arg": Field(3, _Argument, repeated=True),
        "is_stateful": Field(17, "bool"),
        "control_output": Field(20, "string", repeated=True),
    }


class FunctionDef(Message):
    """A function of a graph."""

    FIELDS: ClassVar = {
        "signature": Field(1, _Signature),
        "node_def": Field(3, NodeMessage, repeated=True),
        "ret": Field(4, "string", mapped=True),
        "control_ret": Field(6, "string", mapped=True),
    }


class _Library(Message):
    FIELDS: ClassVar = {"function": Field(1, FunctionDef, repeated=True)}


class GraphMessage(Message):
    """A graph: nodes, and the functions that they call."""

    FIELDS: ClassVar = {"node": Field(1, NodeMessage, repeated=True), "library": Field(2, _Library)}


def count_of(kind: str, attributes: Mapping[str, AttrValue]) -> int | None:
    """How many tensors a list of them has; None for one that is no list.

    Raises:
        InvalidArgumentError: where the node does not say.
    """
    count, _, _ = kind.rpartition("*")
    name = count or (kind[1:-1] if kind.startswith("[") else "")
    if name and name not in attributes:
        raise InvalidArgumentError(f"argument 'graph_def' has a node without the attribute '{name}'")
    if count:
        return int(attributes[count].i)
    return len(attributes[name].list.type) if name else None


def constant_node(name: str, value: _core.Tensor) -> NodeMessage:
    """A node for a constant."""
    attributes = {
        "dtype": AttrValue(type=value.dtype.as_datatype_enum),
        "value": AttrValue(tensor=tensor_proto(value).SerializeToString()),
    }
    return NodeMessage(name=name, op="Const", attr=attributes)
