"""One step of linear regression by gradient descent, traced for embed.rs.

From this folder: python traced.py > traced.pst
"""

from pathlib import Path

import numpy as np

import penstock as tf
import penstock.math

weights = tf.Variable(np.zeros((2, 1), np.float32), name="weights")
bias = tf.Variable(np.zeros((1,), np.float32), name="bias")


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        error = x @ weights + bias - y
        loss = tf.math.reduce_mean(tf.math.square(error))
    d_weights, d_bias = tape.gradient(loss, [weights, bias])
    weights.assign_sub(0.1 * d_weights)
    bias.assign_sub(0.1 * d_bias)
    return loss


step = train_step.get_concrete_function(
    tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None, 1], tf.float32)
)
print("# Made by traced.py.")
print(step.graph.to_text().replace(f"{Path(__file__).parent}/", ""), end="")
