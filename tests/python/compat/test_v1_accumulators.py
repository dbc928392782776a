"""Accumulators of gradients of TensorFlow 1."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def test_the_mean_of_as_many_gradients_as_are_required_is_taken() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        accumulator = v1.ConditionalAccumulator(tf.float32, shape=[2], name="acc")
        add, count = accumulator.apply_grad([1.0, 2.0]), accumulator.num_accumulated()
        more, taken = accumulator.apply_grad([3.0, 6.0]), accumulator.take_grad(2)
        session.run(add)
        session.run(more)
        assert session.run(count) == 2
        assert session.run(taken).tolist() == [2.0, 4.0]
        assert session.run(count) == 0
        assert (accumulator.name, accumulator.dtype, taken.shape) == ("acc", tf.float32, [2])


def test_sums_are_taken_where_they_are_asked_for() -> None:
    accumulator = v1.ConditionalAccumulator(tf.float32, reduction_type="SUM")
    accumulator.apply_grad(1.0)
    accumulator.apply_grad(4.0)
    assert float(accumulator.take_grad(1)) == 5.0


def test_gradients_of_a_step_that_is_over_are_left_out() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        accumulator = v1.ConditionalAccumulator(tf.float32)
        step = v1.placeholder(tf.int64, [])
        add, count = accumulator.apply_grad(1.0, local_step=step), accumulator.num_accumulated()
        session.run(add, {step: 0})
        session.run(accumulator.take_grad(1))
        session.run(add, {step: 0})
        assert session.run(count) == 0
        session.run(add, {step: 1})
        assert session.run(count) == 1
        session.run(accumulator.set_global_step(5))
        session.run(add, {step: 4})
        assert session.run(count) == 1


def test_who_takes_waits_for_what_other_threads_add() -> None:
    with tf.Graph().as_default() as graph:
        accumulator = v1.ConditionalAccumulator(tf.float32, shape=[])
        add, taken = accumulator.apply_grad(3.0), accumulator.take_grad(3)
    found: list[float] = []
    session = v1.Session(graph=graph)
    waiting = threading.Thread(target=lambda: found.append(float(session.run(taken))))
    waiting.start()
    for _ in range(3):
        session.run(add)
    waiting.join()
    assert found == [3.0]


def test_rows_are_added_by_their_numbers() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        accumulator = v1.SparseConditionalAccumulator(tf.float32, shape=[None, 1])
        session.run(accumulator.apply_grad([0, 2], [[1.0], [2.0]]))
        slices = tf.IndexedSlices(tf.constant([[4.0]]), tf.constant([2], tf.int64))
        session.run(accumulator.apply_indexed_slices_grad(slices))
        found = session.run(accumulator.take_grad(2))
    assert found.indices.tolist() == [0, 2]
    assert np.allclose(found.values, [[1.0], [3.0]])
    assert found.shape.tolist() == [-1, 1]


def test_slices_are_taken_as_such() -> None:
    accumulator = v1.SparseConditionalAccumulator(tf.float32, shape=[3, 1], reduction_type="SUM")
    accumulator.apply_grad([2], [[1.0]], [3, 1])
    accumulator.apply_grad([2, 2], [[1.0], [5.0]], [3, 1])
    found = accumulator.take_indexed_slices_grad(2)
    assert found.indices.numpy().tolist() == [2]
    assert found.values.numpy().tolist() == [[7.0]]
    assert found.dense_shape.numpy().tolist() == [3, 1]


def test_accumulators_of_one_name_are_the_same_one() -> None:
    first = v1.ConditionalAccumulator(tf.float32, shared_name="shared")
    again = v1.ConditionalAccumulator(tf.float32, shared_name="shared")
    first.apply_grad(1.0)
    assert int(again.num_accumulated()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="shared_name"):
        v1.ConditionalAccumulator(tf.float64, shared_name="shared")


def test_what_is_wrong_is_named() -> None:
    accumulator = v1.ConditionalAccumulator(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'num_required' must be at least 1, got 0"):
        accumulator.take_grad(0)
    accumulator.apply_grad([1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'grad'"):
        accumulator.apply_grad([1.0, 2.0])
    with pytest.raises(ValueError, match="'grad' must be of shape"):
        v1.ConditionalAccumulator(tf.float32, shape=[2]).apply_grad([1.0])
    with pytest.raises(ValueError, match="'reduction_type'"):
        v1.ConditionalAccumulator(tf.float32, reduction_type="MAX")
    rows = v1.SparseConditionalAccumulator(tf.float32, shape=[3, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'grad_values' must have 2 rows"):
        rows.apply_grad([1, 2], [[1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'grad_shape'"):
        rows.apply_grad([1], [[1.0]], [5, 1])


def test_nodes_have_the_names_that_are_given() -> None:
    with tf.Graph().as_default():
        dense = v1.ConditionalAccumulator(tf.float32, [2], name="dense")
        assert dense.apply_grad([1.0, 2.0], name="apply").name == "apply"
        assert dense.apply_grad([1.0, 2.0]).name == "ResourceAccumulatorApplyGradient"
        assert dense.take_grad(1, name="take").name == "take:0"
        assert dense.take_grad(1).name == "ResourceAccumulatorTakeGradient:0"
        assert dense.num_accumulated(name="count").name == "count:0"
        assert dense.num_accumulated().name == "dense_NumAccumulated:0"
        assert dense.set_global_step(3, name="step").name == "step"
        sparse = v1.SparseConditionalAccumulator(tf.float32, [4, 2], name="sparse")
        assert sparse.apply_grad([0], [[1.0, 2.0]], name="rows").name == "rows"
        slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([0]))
        assert sparse.apply_indexed_slices_grad(slices, name="slices").name == "slices"
        taken = sparse.take_grad(1, name="taken")
        assert [part.name for part in taken[:2]] == ["taken:0", "taken:1"]


def test_gradients_are_below_their_name() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        y = tf.reduce_sum(x * x)
        names = [v1.gradients(y, x, **name)[0].name for name in ({}, {"name": "g"}, {"name": "g"})]
        with tf.name_scope("outer"):
            names.append(v1.gradients(y, x)[0].name)
    assert [name.rpartition("/")[0] for name in names] == ["gradients", "g", "g_1", "outer/gradients"]
