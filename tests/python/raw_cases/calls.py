"""How calls of operators are made, for this package and for TensorFlow."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Var:
    """A variable of this value, whose handle is the argument; what becomes of it is part of the result."""

    value: Any


@dataclass(frozen=True)
class Op:
    """The result of another operator, or one of its results."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    output: int | None = None


def f32(*values: Any) -> np.ndarray:
    """An array of `float32`."""
    return np.array(values, np.float32)


def i32(*values: Any) -> np.ndarray:
    """An array of `int32`."""
    return np.array(values, np.int32)


def i64(*values: Any) -> np.ndarray:
    """An array of `int64`."""
    return np.array(values, np.int64)


def ramp(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "float32") -> np.ndarray:
    """Numbers that rise, in an order that is none."""
    count = int(np.prod(shape))
    values = np.linspace(low, high, count) if count else np.zeros(0)
    return np.random.RandomState(count).permutation(values).reshape(shape).astype(dtype)


def given(tf: Any, value: Any, variables: list[Any]) -> Any:
    """An argument of a call; the variables that it makes are added to a list."""
    if isinstance(value, Var):
        variables.append(tf.Variable(value.value))
        return variables[-1].handle
    if isinstance(value, Op):
        made = {key: given(tf, part, variables) for key, part in value.arguments.items()}
        found = getattr(tf.raw_ops, value.name)(**made)
        return found if value.output is None else found[value.output]
    if isinstance(value, list):
        return [given(tf, part, variables) for part in value]
    return value


def flat(result: Any) -> list[Any]:
    """The tensors of a result."""
    if result is None or type(result).__name__ == "Operation":
        return []
    if isinstance(result, list | tuple):
        return [tensor for part in result for tensor in flat(part)]
    return [result]


def results(tf: Any, name: str, arguments: dict[str, Any]) -> list[np.ndarray]:
    """What a call gives, and then what is in its variables."""
    variables: list[Any] = []
    made = {key: given(tf, value, variables) for key, value in arguments.items()}
    found = flat(getattr(tf.raw_ops, name)(**made))
    return [np.asarray(x.numpy()) for x in [*found, *variables]]


def plain(array: np.ndarray) -> dict[str, Any]:
    """An array as JSON has it."""
    values = array.reshape(-1).tolist()
    if array.dtype.kind == "c":
        values = [[value.real, value.imag] for value in values]
    elif array.dtype.kind in "OS":
        values = [value.decode("latin-1") for value in values]
    if array.dtype.name in ("float16", "float32", "complex64"):
        values = json.loads(json.dumps(values), parse_float=lambda text: float(f"{float(text):.8g}"))
    return {
        "dtype": "string" if array.dtype.kind in "OS" else array.dtype.name,
        "shape": array.shape,
        "values": values,
    }
