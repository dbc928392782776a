"""What functions of several areas share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf

__all__ = ["V1", "ints", "pullback", "rows", "sparse_parts", "static", "text"]

V1: Final[Any] = tf.compat.v1


def static(value: Any, argument: str) -> Any:
    """The value of a constant tensor, an array.

    Raises:
        ValueError: where a function is traced, and it is no constant.
    """
    known = tf.get_static_value(value)
    while known is None and tf.is_symbolic_tensor(value) and value.op.type == "Identity":
        # A constant string with a name is a copy.
        (value,) = value.op.inputs
        known = tf.get_static_value(value)
    if known is None:
        raise ValueError(f"argument '{argument}' must be constant while a function is traced")
    return known


def ints(value: Any, argument: str) -> Any:
    """An integer, or a list of integers, that a constant tensor holds."""
    return static(value, argument).tolist()


def text(value: Any) -> str:
    """A string that the value of a constant tensor is."""
    plain = value if isinstance(value, bytes) else value.item()
    return str(plain.decode())


def pullback(function: Callable[..., Any], operands: Sequence[Any], gradient: Any, of: int = 0) -> Any:
    """The gradient of a function by one of its operands, where that of its result is given."""
    with tf.GradientTape() as tape:
        tape.watch(operands[of])
        result = function(*operands)
    found = tape.gradient(result, operands[of], gradient)
    return tf.zeros_like(operands[of]) if found is None else tf.convert_to_tensor(found)


def sparse_parts(sparse: Any) -> tuple[Any, Any, Any]:
    """Indices, values and shape of a sparse tensor."""
    return sparse.indices, sparse.values, sparse.dense_shape


def rows(values: Any, splits: Sequence[Any]) -> Any:
    """A ragged tensor of values and the splits of its dimensions, the outermost first."""
    return tf.RaggedTensor.from_nested_row_splits(values, list(splits), validate=False)
