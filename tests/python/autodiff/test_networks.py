"""A convolutional network learns."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

pytest.importorskip("sklearn")
EXAMPLE = Path(__file__).parents[3] / "examples" / "convolutions.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("convolutions", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_convolutional_network_learns_digits(example):
    data = example.load()
    network = example.Network()
    step, loss = example.train(network, data, epochs=8)
    assert step.experimental_get_tracing_count() == 1
    assert loss < 0.5
    assert example.accuracy(network, *data[2:]) > 0.93


def test_its_gradients_are_slopes(example):
    network = example.Network(seed=1)
    images = tf.constant(example.load()[0][:3])
    labels = tf.constant([1, 2, 3])

    def loss():
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images)))

    variables = network.trainable_variables
    rng = np.random.default_rng(0)
    for variable in variables:
        if variable.shape.rank == 1:  # where pixels are 0, a bias of 0 is at the kink of relu
            variable.assign(0.1 + rng.uniform(0, 0.1, variable.shape).astype("float32"))
    with tf.GradientTape() as tape:
        value = loss()
    for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
        kept, direction = variable.numpy(), rng.standard_normal(variable.shape).astype("float32")
        direction /= np.linalg.norm(direction)
        found = []
        for h in (1e-2, -1e-2):
            variable.assign(kept + h * direction)
            found.append(float(loss()))
        variable.assign(kept)
        along = float(np.sum(gradient.numpy() * direction))
        np.testing.assert_allclose((found[0] - found[1]) / 2e-2, along, 0.05, 0.02)
