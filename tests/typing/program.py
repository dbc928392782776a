"""A program as users write them, for the type checker: `make lint` checks it, nothing runs it."""

from __future__ import annotations

from typing import assert_type

import penstock as tf


@tf.function
def loss(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Decorated without options."""
    return tf.reduce_mean((x - y) ** 2)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)], reduce_retracing=True)
def double(x: tf.Tensor) -> tf.Tensor:
    """Decorated with options."""
    return x + x


class Dense(tf.Module):
    """A layer whose call is traced."""

    def __init__(self) -> None:
        super().__init__(name="dense")
        self.w = tf.Variable(tf.random.normal([3, 2]), name="w")

    @tf.function
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Apply the layer."""
        return tf.nn.relu(x @ self.w)


assert_type(loss.experimental_get_tracing_count(), int)
assert_type(double.get_concrete_function(), tf.types.experimental.ConcreteFunction)

layer = Dense()
optimizer = tf.optimizers.Adam(1e-3)
with tf.GradientTape() as tape:
    value = loss(layer(tf.ones([4, 3])), tf.zeros([4, 2]))
gradients = tape.gradient(value, layer.trainable_variables)
optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))

x = tf.constant([1.0, 2.0])
assert_type(x + 1, tf.Tensor)
assert_type(2.0 * x, tf.Tensor)
assert_type(x[0, ..., tf.newaxis], tf.Tensor)
assert_type(tf.cast(x, tf.int32) // 2, tf.Tensor)
assert_type(tf.linalg.cholesky(tf.eye(3)), tf.Tensor)
assert_type(tf.strings.join(["a", "b"]), tf.Tensor)
