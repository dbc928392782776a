"""What type checkers know of traced functions. `make lint` checks it, nothing runs it.

A line that ends with `type: ignore[code]` is one in which the type checker must find that error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import penstock as tf


@tf.function
def scaled(x: tf.Tensor, by: int = 2, *, flip: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Decorated without options."""
    return x * by, -x if flip else x


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)], reduce_retracing=True)
def doubled(x: tf.Tensor) -> tf.Tensor:
    """Decorated with options."""
    return x + x


class Layer(tf.Module):
    """Traced methods."""

    @tf.function
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Decorated without options."""
        return x

    @tf.function(autograph=False)
    def step(self, x: tf.Tensor, n: int) -> list[tf.Tensor]:
        """Decorated with options."""
        return [x] * n


x = tf.constant([1.0, 2.0])
layer = Layer()

assert_type(scaled(x), tuple[tf.Tensor, tf.Tensor])
assert_type(scaled(x, 3, flip=True), tuple[tf.Tensor, tf.Tensor])
assert_type(doubled(x), tf.Tensor)
assert_type(scaled.experimental_get_tracing_count(), int)
assert_type(doubled.get_concrete_function(), tf.types.experimental.ConcreteFunction)
assert_type(layer(x), tf.Tensor)
assert_type(layer.step(x, n=2), list[tf.Tensor])
assert_type(layer.step.get_concrete_function(x, 2), tf.types.experimental.ConcreteFunction)
assert_type(Layer.step(layer, x, 2), list[tf.Tensor])
assert_type(tf.function(doubled.python_function)(x), tf.Tensor)

scaled(x, "3")  # type: ignore[arg-type]
scaled()  # type: ignore[call-arg]
doubled(x, 3)  # type: ignore[call-arg]
layer.step(x)  # type: ignore[call-arg]
tf.function(doubled, input_signature=[tf.float32])  # type: ignore[list-item]


@tf.custom_gradient
def clipped(x: tf.Tensor, limit: float = 1.0) -> tuple[tf.Tensor, Callable[..., Any]]:
    """Pass on `x`, and clip its gradient."""
    return x, lambda dy: (tf.clip_by_value(dy, -limit, limit), None)


@tf.recompute_grad
def block(x: tf.Tensor, depth: int) -> tf.Tensor:
    """Apply the sine some times."""
    for _ in range(depth):
        x = tf.sin(x)
    return x


def rounded(x: tf.Tensor) -> tf.Tensor:
    """Round to tenths."""
    return tf.round(x * 10.0) / 10.0


assert_type(clipped(x), tf.Tensor)
assert_type(clipped(x, limit=2.0), tf.Tensor)
assert_type(block(x, 3), tf.Tensor)
assert_type(tf.grad_pass_through(rounded)(x), tf.Tensor)

clipped(x, limit="2")  # type: ignore[arg-type]
block(x)  # type: ignore[call-arg]
