"""Functions of a dimension whose number is known only when the graph runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

X = np.arange(1.0, 25.0, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, axis: tf.reduce_sum(x, axis),
        lambda x, axis: tf.reduce_max(x, axis, keepdims=True),
        lambda x, axis: tf.math.reduce_std(x, axis),
        lambda x, axis: tf.math.count_nonzero(x, axis),
        lambda x, axis: tf.argmax(x, axis),
        lambda x, axis: tf.concat([x, x], axis),
        lambda x, axis: tf.stack([x, x], axis),
        lambda x, axis: tf.gather(x, [0, 1], axis=axis),
        lambda x, axis: tf.expand_dims(x, axis),
        lambda x, axis: tf.cumsum(x, axis),
        lambda x, axis: tf.math.cumulative_logsumexp(x, axis),
        lambda x, axis: tf.reverse(x, [axis]),
        lambda x, axis: tf.nn.softmax(x, axis),
        lambda x, axis: tf.sort(x, axis),
        lambda x, axis: tf.nn.moments(x, [axis]),
        lambda x, axis: tf.clip_by_norm(x, 3.0, axis),
        lambda x, axis: tf.raw_ops.Sum(input=x, axis=axis),
    ],
)
def test_a_graph_has_a_branch_for_each_dimension(function: Callable[[Any, Any], Any]) -> None:
    for shape in ([2, 3, 4], [None, 3, None], None):
        traced = tf.function(function, input_signature=[tf.TensorSpec(shape), tf.TensorSpec([], tf.int32)])
        for axis in (-3, -1, 0, 2):
            for got, due in zip(
                tf.nest.flatten(traced(X, axis)), tf.nest.flatten(function(X, axis)), strict=True
            ):
                np.testing.assert_allclose(got, due, rtol=1e-6)


def test_several_dimensions_may_be_unknown() -> None:
    @tf.function(input_signature=[tf.TensorSpec([2, 3, 4]), tf.TensorSpec([2], tf.int64)])
    def total(x: tf.Tensor, axes: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(x, axes)

    for axes in ([0, 2], [-1, 0], [2, 1]):
        np.testing.assert_allclose(total(tf.constant(X), tf.constant(axes, tf.int64)), X.sum(tuple(axes)))


def test_the_derivative_is_that_of_the_branch() -> None:
    @tf.function
    def slope(x: tf.Tensor, axis: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_max(x, axis)
        return tape.gradient(y, x)

    for axis in (0, 1, -1):
        due = np.equal(X, X.max(axis, keepdims=True)).astype(np.float32)
        np.testing.assert_array_equal(slope(tf.constant(X), tf.constant(axis)), due)


def test_a_dimension_that_there_is_not_is_an_error_where_the_graph_runs() -> None:
    total = tf.function(lambda x, axis: tf.reduce_sum(x, axis))
    for axis in (3, -4):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'axis' must be one of -3, -2, -1, 0, 1, 2"):
            total(tf.constant(X), tf.constant(axis))


def test_a_dimension_that_a_function_does_not_take_is_an_error_where_the_graph_runs() -> None:
    joined = tf.function(lambda x, y, axis: tf.concat([x, y], axis))
    given = tf.constant(X), tf.constant(X[:, :1])
    assert joined(*given, tf.constant(1)).shape == (2, 4, 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'axis' must be one of -2, 1"):
        joined(*given, tf.constant(2))


def test_a_session_is_fed_a_dimension() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x, axis = v1.placeholder(tf.float32, name="x"), v1.placeholder(tf.int32, [], name="axis")
        tf.reduce_sum(x, axis, name="total")
        assert session.run("total:0", {"x:0": X, "axis:0": 1}).shape == (2, 4)
    found = tf.import_graph_def(graph.as_graph_def(), {"x": X, "axis": -1}, ["total:0"])
    assert found is not None
    assert found[0].shape == (2, 3)


def test_where_results_differ_in_structure_the_dimension_must_be_constant() -> None:
    with pytest.raises(TypeError, match="argument 'axis' must be constant"):
        tf.function(lambda x, axis: tf.unstack(x, axis=axis))(tf.constant(X), tf.constant(1))
