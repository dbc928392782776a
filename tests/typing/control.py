"""What type checkers know of control flow and of Python functions in graphs. `make lint` checks it."""

from __future__ import annotations

from typing import Any, assert_type

import penstock as tf

x = tf.constant([1.0, 2.0])


def halve(row: tf.Tensor) -> tf.Tensor:
    """Give one tensor."""
    return row / 2.0


def both(row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Give a pair."""
    return row, -row


def added(total: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """Accumulate."""
    return total + row


def stepped(i: tf.Tensor, values: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Give the next loop variables."""
    return i + 1, [v * 2.0 for v in values]


assert_type(tf.cond(x[0] > 0.0, lambda: halve(x), lambda: x), tf.Tensor)
assert_type(tf.cond(True, lambda: both(x), lambda: both(-x)), tuple[tf.Tensor, tf.Tensor])
assert_type(tf.switch_case(1, [lambda: halve(x), lambda: x]), tf.Tensor)
assert_type(tf.case([(x[0] > 0.0, lambda: x)], default=lambda: halve(x)), tf.Tensor)
tf.cond(x, halve, lambda: x)  # type: ignore[arg-type]

assert_type(
    tf.while_loop(lambda i, values: i < 3, stepped, (tf.constant(0), [x])), tuple[tf.Tensor, list[tf.Tensor]]
)
assert_type(tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0]), list[Any])

assert_type(tf.map_fn(halve, x), tf.Tensor)
assert_type(
    tf.map_fn(both, {"a": x}, fn_output_signature=(tf.float32, tf.float32)), tuple[tf.Tensor, tf.Tensor]
)
assert_type(
    tf.map_fn(both, x, fn_output_signature=(tf.float32, tf.TensorSpec([]))), tuple[tf.Tensor, tf.Tensor]
)
assert_type(tf.map_fn(halve, [1.0, 2.0]), tf.Tensor)
assert_type(tf.vectorized_map(both, x), tuple[tf.Tensor, tf.Tensor])
assert_type(tf.scan(added, x), tf.Tensor)
assert_type(tf.scan(added, {"a": x}, initializer=1.0), tf.Tensor)
assert_type(tf.foldl(added, x, 0.0), tf.Tensor)
assert_type(tf.foldr(added, [1.0, 2.0]), tf.Tensor)

assert_type(tf.py_function(halve, [x], tf.float32), tf.Tensor)
assert_type(tf.numpy_function(halve, [x], tf.TensorSpec([2], tf.float32)), tf.Tensor)
tf.py_function(halve, [x], 32)  # type: ignore[call-overload]
