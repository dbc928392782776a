"""Names of TensorFlow 1 that make sense without sessions."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._host import py_func as py_func
from penstock.initializers import GlorotUniform as glorot_uniform_initializer

__all__ = ["assign", "glorot_uniform_initializer", "py_func", "to_float"]


def to_float(x: Any, name: str = "ToFloat") -> _core.Tensor:
    """The values as `float32`."""
    return raw_ops.cast(x, dtype=_core.float32)


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Makes `value` the value of a variable; returns as `Variable.assign`."""
    return ref.assign(value)
