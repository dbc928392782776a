"""Programs written for several devices run on one, with the results of plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

STRATEGIES = {
    "default": tf.distribute.get_strategy,
    "one device": lambda: tf.distribute.OneDeviceStrategy("/CPU:0"),
    "mirrored": lambda: tf.distribute.MirroredStrategy(["/CPU:0"]),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_training_loop_gives_the_results_of_a_plain_one(name: str) -> None:
    x = np.arange(16, dtype="float32").reshape(8, 2) / 16
    y = x.sum(1, keepdims=True)

    def train(strategy: Any) -> list[float]:
        with strategy.scope():
            w = tf.Variable(tf.zeros([2, 1]))
        data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(4))

        def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.nn.compute_average_loss(tf.square(x @ w - y), global_batch_size=4)
            gradient = tape.gradient(loss, w)
            gradient = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradient)
            w.assign_sub(0.1 * gradient)
            return loss

        @tf.function
        def epoch() -> tf.Tensor:
            total = 0.0
            for features, labels in data:
                loss = strategy.run(step, args=(features, labels))
                total += strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)
            return total

        totals = [float(epoch()) for _ in range(3)]
        return totals + w.numpy().ravel().tolist()

    w = np.zeros((2, 1), "float32")
    losses = []
    for _ in range(3):
        total = 0.0
        for part in (slice(0, 4), slice(4, 8)):
            error = x[part] @ w - y[part]
            total += float((error**2).sum() / 4)
            w = w - 0.1 * (2 * x[part].T @ error / 4)
        losses.append(total)
    found = train(STRATEGIES[name]())
    np.testing.assert_allclose(found, losses + w.ravel().tolist(), rtol=1e-5)


def test_contexts_say_where_a_program_is() -> None:
    d = tf.distribute
    assert not d.has_strategy()
    assert not d.in_cross_replica_context()
    assert d.get_replica_context().num_replicas_in_sync == 1
    strategy = d.MirroredStrategy()
    with strategy.scope():
        assert d.has_strategy()
        assert d.get_strategy() is strategy
        assert d.in_cross_replica_context()
        assert d.get_replica_context() is None

        def within() -> Any:
            assert not d.in_cross_replica_context()
            context = d.get_replica_context()
            assert context.strategy is strategy

            def between(given: Any, x: int) -> int:
                assert given is strategy
                assert d.in_cross_replica_context()
                return x + 1

            return context.merge_call(between, args=(1,))

        assert strategy.run(within) == 2
        assert d.in_cross_replica_context()
        with strategy.scope():
            assert d.get_strategy() is strategy
        other = d.OneDeviceStrategy("/CPU:0").scope()
        with pytest.raises(RuntimeError, match="within that of another one"), other:
            pass
        with pytest.raises(RuntimeError, match="cannot be set within"):
            d.experimental_set_strategy(None)
    assert not d.has_strategy()


def test_a_strategy_is_set_for_the_whole_program() -> None:
    d = tf.distribute
    strategy = d.OneDeviceStrategy("/CPU:0")
    d.experimental_set_strategy(strategy)
    try:
        assert d.get_strategy() is strategy
        assert d.in_cross_replica_context()
        assert strategy.run(d.in_cross_replica_context) is False
    finally:
        d.experimental_set_strategy(None)
    assert not d.has_strategy()


def test_a_strategy_knows_its_variables() -> None:
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        inside = tf.Variable(1)
    outside = tf.Variable(1)
    made = strategy.extended.variable_created_in_scope
    assert made(inside)
    assert not made(outside)
    assert tf.distribute.get_strategy().extended.variable_created_in_scope(outside)


def test_values_are_combined_along_dimensions() -> None:
    strategy = tf.distribute.get_strategy()
    x = {"a": tf.constant([1.0, 3.0])}
    assert float(strategy.reduce("mean", x, axis=0)["a"]) == 2.0
    assert float(strategy.reduce(tf.distribute.ReduceOp.SUM, x, axis=0)["a"]) == 4.0
    assert strategy.reduce("SUM", x, axis=None)["a"].shape == (2,)
    with pytest.raises(ValueError, match="argument 'reduce_op' must be"):
        strategy.reduce("max", x, axis=None)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(ValueError, match="names no device"):
        tf.distribute.OneDeviceStrategy("nowhere")
    with pytest.raises(ValueError, match="must be a multiple of 3"):
        tf.distribute.InputContext(num_replicas_in_sync=3).get_per_replica_batch_size(4)
    with pytest.raises(TypeError, match="argument 'args' must be a tuple"):
        tf.distribute.get_strategy().run(lambda x: x, args=1)
