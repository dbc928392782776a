"""Writes TensorFlow's operators with their parameters: `python tools/peers/tensorflow_nodes.py`.

`penstock.raw_ops` has them from `python/penstock/_nodes/operators.jsonl`. Run it with TensorFlow installed.

A line is a list: the name, the parameters of `tf.raw_ops`, the outputs, the dtypes that attributes may be,
and those of inputs where no tensor says otherwise. A parameter is `[name, type]` for an input and
`[name, kind, default]` for an attribute. A type is a dtype with `=` before it, the name of an attribute,
`N*type` for a list of as many as the attribute N says, or `[types]` for a list of different types.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "python/penstock/_nodes/operators.jsonl"


def type_of(arg: Any) -> str:
    """The type of an input or an output."""
    if arg.type_list_attr:
        return f"[{arg.type_list_attr}]"
    kind = arg.type_attr or f"={tf.as_dtype(arg.type).name}"
    return f"{arg.number_attr}*{kind}" if arg.number_attr else kind


def plain(value: Any) -> Any:
    """A default as JSON has it: dtypes by their names."""
    if isinstance(value, tf.DType):
        return value.name
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else None


def line(name: str) -> list[Any] | None:
    """What the file has of an operator; None for one whose parameters are not those of its declaration."""
    declared = op_def_registry.get(name)
    if declared is None or any(arg.is_ref for arg in [*declared.input_arg, *declared.output_arg]):
        return None
    inputs = {arg.name: arg for arg in declared.input_arg}
    attributes = {attr.name: attr for attr in declared.attr}
    every = dict(attributes)
    parameters: list[list[Any]] = []
    offered = dict(inspect.signature(getattr(tf.raw_ops, name)).parameters)
    offered.pop("name")
    for arg in inputs.values():
        for inferred in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if inferred not in offered:
                attributes.pop(inferred, None)
    # Some have other names in Python than in graphs: inputs first, in their order.
    absent = iter([part for known in (inputs, attributes) for part in known if part not in offered])
    for parameter in offered.values():
        known = parameter.name
        if known not in inputs and known not in attributes:
            known = next(absent)
        if known in inputs:
            parameters.append([parameter.name, type_of(inputs[known])])
        else:
            default = [] if parameter.default is parameter.empty else [plain(parameter.default)]
            parameters.append([parameter.name, attributes[known].type, *default])
    defaults = {
        name: tf.as_dtype(attr.default_value.type).name
        for name, attr in every.items()
        if name not in offered and attr.type == "type" and attr.HasField("default_value")
    }
    outputs = [[arg.name, type_of(arg)] for arg in declared.output_arg]
    types = {
        attr.name: [tf.as_dtype(dtype).name for dtype in attr.allowed_values.list.type]
        for attr in declared.attr
        if attr.allowed_values.list.type
    }
    return [name, parameters, outputs, types, defaults]


def main() -> None:
    """Writes the file."""
    lines = (line(name) for name in dir(tf.raw_ops) if name[0].isupper())
    TARGET.write_text("".join(json.dumps(found, separators=(",", ":")) + "\n" for found in lines if found))


if __name__ == "__main__":
    main()
