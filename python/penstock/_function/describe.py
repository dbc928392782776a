"""Traces as text, in the layout of TensorFlow's."""

from __future__ import annotations

import html
import inspect
from collections.abc import Mapping
from typing import Any

from penstock import _core, nest
from penstock._types.argument_kinds import fields_of
from penstock._types.specs import TensorSpec, TypeSpec

__all__ = [
    "concrete_repr",
    "concrete_str",
    "describe",
    "graph_in_notebook",
    "graph_repr",
    "output_parts",
    "parameters",
    "signature_line",
]


def signature_line(trace: Any) -> str:
    """`(a: TensorSpec(...), b: Literal[2]) -> TensorSpec(...)`."""
    shown = [p.replace(annotation=_Text(type_text(p.annotation)), default=p.empty) for p in parameters(trace)]
    return f"{inspect.Signature(shown)} -> {type_text(trace.structured_outputs)}"


def describe(trace: Any) -> str:
    """The parameters, a line each, the type of the result, and what the trace takes from outside."""
    lines = ["Input Parameters:"]
    lines += [f"  {p.name} ({p.kind.name}): {type_text(p.annotation)}" for p in parameters(trace)]
    lines += ["Output Type:", f"  {type_text(trace.structured_outputs)}", "Captures:"]
    captured = [f"  {_capture_text(value)}" for value in trace.captured_inputs]
    return "\n".join(lines + (captured or ["  None"]))


def parameters(trace: Any) -> list[inspect.Parameter]:
    """The parameters, but for the object of a method."""
    found = list(trace.function_type.parameters.values())
    value = found[0].annotation if found and found[0].name == "self" else 0
    return found if isinstance(value, TypeSpec | int | float | str | list | tuple | Mapping) else found[1:]


def concrete_repr(trace: Any) -> str:
    """`repr()` of a `ConcreteFunction`."""
    return f"<ConcreteFunction {signature_line(trace)} at {id(trace):#x}>"


def concrete_str(trace: Any) -> str:
    """`str()` of a `ConcreteFunction`."""
    return f"ConcreteFunction {describe(trace)}"


def graph_repr(graph: Any) -> str:
    """`repr()` of a graph: its name, its types, and how many operations its body has."""
    name, types = _graph_head(graph)
    return f"<penstock.Graph {name}: {types}, {_operations(graph)}>"


def graph_in_notebook(graph: Any) -> str:
    """What a notebook shows of a graph: its types, and its text."""
    from penstock._runtime import pages  # start-up does without it

    name, types = _graph_head(graph)
    text = html.escape(pages.shortened(graph.to_text()))
    return pages.title(f"Graph {name}", f"{types}, {_operations(graph)}") + f"<pre>{text}</pre>"


def _graph_head(graph: Any) -> tuple[str, str]:
    takes, gives = graph._signature()
    return graph._name, f"({', '.join(takes)}) -> ({', '.join(gives)})"


def _operations(graph: Any) -> str:
    count = sum(op != "Placeholder" for _, op, _, _ in graph._operations())
    return f"{count} operation{'' if count == 1 else 's'}"


def output_parts(trace: Any, part: str) -> Any:
    """The structure of the results with the `part` of each specification in its place: its shape or dtype."""
    return nest.map_structure(lambda spec: getattr(spec, part, spec), trace.structured_outputs)


def type_text(value: Any) -> str:
    """The type of an argument or a result: a specification, a container of such, or a literal."""
    if isinstance(value, TensorSpec):
        return repr(TensorSpec(value.shape, value.dtype))
    if isinstance(value, TypeSpec):
        return repr(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        parts = (f"[{name!r}, {type_text(item)}]" for name, item in zip(value._fields, value, strict=True))
        return f"{type(value).__name__}[{', '.join(parts)}]"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__.title()}[{', '.join(map(type_text, value))}]"
    if isinstance(value, Mapping):
        return f"Dict[{', '.join(f'[{key!r}, {type_text(item)}]' for key, item in value.items())}]"
    names = None if isinstance(value, type) else fields_of(type(value))
    if names:
        parts = (f"{name}={type_text(getattr(value, name, None))}" for name in names)
        return f"{type(value).__name__}({', '.join(parts)})"
    return f"Literal[{value!r}]"


def _capture_text(value: Any) -> str:
    if isinstance(value, _core._Variable):
        return f"{value._unique_id}: TensorSpec(shape=(), dtype=tf.resource, name=None)"
    return f"{value._id}: {TensorSpec(value.shape, value.dtype)!r}"


class _Text:
    """Something that prints as a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
