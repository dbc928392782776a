"""Recurrent nets in loops of the graph give what the same cells give one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf


def plain(x: Any, states: Any, w: Any, u: Any, b: Any) -> Any:
    (h,) = states
    return (tf.tanh(tf.matmul(x, w) + tf.matmul(h, u) + b),)


def gated(x: Any, states: Any, w: Any, u: Any, b: Any) -> Any:
    (h,) = states
    a, c = tf.split(tf.matmul(x, w) + b, 2, axis=1), tf.split(tf.matmul(h, u), 2, axis=1)
    gate = tf.sigmoid(a[0] + c[0])
    return (gate * h + (1.0 - gate) * tf.tanh(a[1] + gate * c[1]),)


def lstm(x: Any, states: Any, w: Any, u: Any, b: Any) -> Any:
    h, c = states
    i, f, g, o = tf.split(tf.matmul(x, w) + tf.matmul(h, u) + b, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


CELLS = {"plain": (plain, 1, 1), "gated": (gated, 1, 2), "lstm": (lstm, 2, 4)}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    ("steps", "batch", "width"), [(0, 2, 3), (1, 1, 5), (4, 3, 7), (3, 17, 96), (2, 40, 130)]
)
def test_loop_agrees_with_the_cells_one_by_one(cell: str, steps: int, batch: int, width: int) -> None:
    step, count, parts = CELLS[cell]
    rng = np.random.default_rng(width)

    def normal(*shape: int) -> Any:
        return tf.constant((rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32))

    xs = normal(steps, batch, width)
    weights = [normal(width, parts * width), normal(width, parts * width), normal(parts * width)]
    start = [normal(batch, width) for _ in range(count)]

    def loss_of(xs: Any, start: Any, weights: Any) -> Any:
        outputs = tf.TensorArray(tf.float32, size=steps, element_shape=[batch, width])
        states = tuple(start)
        for i in tf.range(tf.shape(xs)[0]):
            states = step(xs[i], states, *weights)
            outputs = outputs.write(i, states[0])
        return tf.reduce_sum(tf.square(outputs.stack())) + tf.reduce_sum(states[-1])

    def both(xs: Any, start: Any, weights: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([xs, start, weights])
            loss = loss_of(xs, start, weights)
        return loss, tape.gradient(loss, [xs, *start, *weights], unconnected_gradients="zero")

    def one_by_one() -> Any:
        with tf.GradientTape() as tape:
            tape.watch([xs, start, weights])
            states, loss = tuple(start), tf.constant(0.0)
            for i in range(steps):
                states = step(xs[i], states, *weights)
                loss += tf.reduce_sum(tf.square(states[0]))
            loss += tf.reduce_sum(states[-1])
        return loss, tape.gradient(loss, [xs, *start, *weights], unconnected_gradients="zero")

    loss, gradients = tf.function(both)(xs, start, weights)
    expected_loss, expected = one_by_one()
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-4, atol=1e-5)
    for got, due in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(got, due, rtol=1e-3, atol=1e-4)


def test_stack_of_an_array_that_a_loop_fills_has_a_known_length() -> None:
    lengths = []

    @tf.function
    def squares(xs: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=5, element_shape=[])
        for i in tf.range(5):
            array = array.write(i, xs[i] * xs[i])
        stacked = array.stack()
        lengths.append(stacked.shape.as_list())
        return stacked

    np.testing.assert_array_equal(squares(tf.range(5.0)), [0.0, 1.0, 4.0, 9.0, 16.0])
    assert lengths[-1] == [5]


def test_variables_that_are_assigned_and_read_in_a_loop_keep_each_value() -> None:
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])

    @tf.function
    def run(n: Any) -> Any:
        total = tf.zeros([2])
        for _ in tf.range(n):
            v.assign(v * 2.0)
            before = v.read_value()
            w.assign(v)
            v.assign_add(tf.ones([2]))
            total += before + w - v
        return total

    np.testing.assert_array_equal(run(3), [19.0, 33.0])
    np.testing.assert_array_equal(v, [15.0, 23.0])
    np.testing.assert_array_equal(w, [14.0, 22.0])
