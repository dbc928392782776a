"""Traces in the layout of TensorFlow's documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock._classes import fields_of
from penstock._shape import TensorShape
from penstock._spec import TensorSpec, TypeSpec, VariableSpec

__all__ = ["describe", "signature_line"]


def signature_line(trace: Any) -> str:
    """`name(a, b=2)`: tensors by name, Python values as they were bound."""
    args, kwargs = trace.structured_input_signature
    parts = []
    for name, value in [*zip(trace._parameter_names, args, strict=False), *kwargs.items()]:
        plain = _has_tensor(value) or (name == "self" and not isinstance(value, int | float | str))
        parts.append(name if plain else f"{name}={value!r}")
    parts.extend(str(value) for value in args[len(trace._parameter_names) :])
    return f"{trace._function_name}({', '.join(parts)})"


def describe(trace: Any) -> str:
    """A trace: its name, its arguments that are tensors, and its results."""
    args, kwargs = trace.structured_input_signature
    lines = [signature_line(trace)]
    named = [*zip(trace._parameter_names, args, strict=False), *kwargs.items()]
    tensors = [(name, value) for name, value in named if _has_tensor(value)]
    if tensors:
        lines.append("  Args:")
        for name, value in tensors:
            lines.extend(_value_lines(f"{name}: ", value, 4))
    lines.append("  Returns:")
    lines.extend(_value_lines("", trace.structured_outputs, 4))
    return "\n".join(lines)


def _fields(value: Any) -> tuple[str, ...] | None:
    return None if isinstance(value, type | TypeSpec) else fields_of(type(value))


def _has_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_tensor, value))
    if isinstance(value, Mapping):
        return any(map(_has_tensor, value.values()))
    if isinstance(value, TensorSpec | VariableSpec):
        return True
    return any(_has_tensor(getattr(value, name, None)) for name in _fields(value) or ())


def _leaf_line(spec: Any) -> str:
    kind = "Variable" if isinstance(spec, VariableSpec) else "Tensor"
    return f"{spec.dtype.name} {kind}, shape={TensorShape(spec.shape)}"


def _value_lines(label: str, value: Any, indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(value, TensorSpec | VariableSpec):
        return [f"{pad}{label}{_leaf_line(value)}"]
    leaves: list[Any] = []

    def number(nested: Any) -> Any:
        if isinstance(nested, TensorSpec | VariableSpec):
            leaves.append(nested)
            return _Text(f"<{len(leaves)}>")
        if isinstance(nested, tuple) and hasattr(nested, "_fields"):
            return type(nested)(*map(number, nested))
        if isinstance(nested, list | tuple):
            return type(nested)(map(number, nested))
        if isinstance(nested, Mapping):
            return {key: number(item) for key, item in nested.items()}
        names = _fields(nested)
        if names:
            parts = (f"{name}={number(getattr(nested, name, None))!r}" for name in names)
            return _Text(f"{type(nested).__name__}({', '.join(parts)})")
        return nested

    lines = [f"{pad}{label}{number(value)!r}"]
    lines.extend(f"{pad}  <{i}>: {_leaf_line(leaf)}" for i, leaf in enumerate(leaves, 1))
    return lines


class _Text:
    """Something that prints as a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
