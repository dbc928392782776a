"""Workers that change variables of servers, each when it is ready."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

partitioners = tf.distribute.experimental.partitioners


def strategy_of(workers: int = 2, partitioner: Any = None) -> Any:
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        {"worker": [f"w{k}" for k in range(workers)], "ps": ["a", "b"]}, environment="threads"
    )
    return tf.distribute.ParameterServerStrategy(resolver, partitioner)


def coordinated(workers: int = 2) -> Any:
    return tf.distribute.coordinator.ClusterCoordinator(strategy_of(workers))


def test_workers_train_a_model() -> None:
    coordinator = coordinated()
    strategy = coordinator.strategy
    with strategy.scope():
        w, steps = tf.Variable(tf.zeros([3, 1])), tf.Variable(0)
        optimizer = tf.optimizers.SGD(0.1)

    def data() -> Any:
        x = tf.random.stateless_normal([100, 3], [1, 2])
        return tf.data.Dataset.from_tensor_slices((x, tf.reduce_sum(x, 1, keepdims=True))).batch(10).repeat()

    @tf.function
    def step(iterator: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(x @ w - y))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            steps.assign_add(1)
            return loss

        return strategy.run(one, args=next(iterator))

    iterators = iter(coordinator.create_per_worker_dataset(data))
    losses = [coordinator.schedule(step, args=(iterators,)) for _ in range(200)]
    coordinator.join()
    assert coordinator.done()
    found = coordinator.fetch(losses)
    assert min(found) < max(found) / 100
    assert int(steps) == 200
    np.testing.assert_allclose(w.numpy(), np.ones([3, 1]), atol=1e-2)


def test_each_worker_has_values_of_its_own() -> None:
    coordinator = coordinated()
    both = threading.Barrier(2)

    def of_worker(x: Any) -> Any:
        both.wait(60)
        return x, tf.distribute.coordinator.experimental_get_current_worker_index()

    values = tf.distribute.coordinator.PerWorkerValue(["a", "b"])
    found = coordinator.fetch([coordinator.schedule(of_worker, args=(values,)) for _ in range(2)])
    assert sorted(found) == [("a", 0), ("b", 1)]
    with pytest.raises(RuntimeError, match="for functions that a ClusterCoordinator schedules"):
        tf.distribute.coordinator.experimental_get_current_worker_index()


def test_an_error_of_a_function_comes_at_join_and_cancels_those_behind_it() -> None:
    coordinator = coordinated(1)
    reached, go_on = threading.Event(), threading.Event()

    def fail() -> None:
        reached.set()
        go_on.wait(60)
        raise ValueError("the program's own")

    failing = coordinator.schedule(fail)
    behind = coordinator.schedule(lambda: 1)
    assert reached.wait(60)
    assert not coordinator.done()
    go_on.set()
    with pytest.raises(ValueError, match="the program's own"):
        coordinator.join()
    with pytest.raises(ValueError, match="the program's own"):
        failing.fetch()
    with pytest.raises(tf.errors.CancelledError):
        behind.fetch()
    # It has been raised, and is forgotten.
    assert coordinator.schedule(lambda: tf.constant(2)).fetch() == 2
    coordinator.join()


def test_an_error_of_a_function_comes_at_the_next_schedule() -> None:
    coordinator = coordinated(1)

    def fail() -> None:
        raise KeyError("the program's own")

    with pytest.raises(KeyError):
        coordinator.schedule(fail).fetch()
    with pytest.raises(KeyError, match="the program's own"):
        coordinator.schedule(lambda: 1)


def test_results_are_arguments_of_what_is_scheduled_later() -> None:
    coordinator = coordinated()
    first = coordinator.schedule(lambda: {"a": tf.constant([1.0, 2.0])})
    second = coordinator.schedule(lambda x: x["a"] * 2.0, args=(first,))
    assert second.fetch().tolist() == [2.0, 4.0]
    assert isinstance(second.get(), tf.Tensor)


def test_a_strategy_has_one_coordinator() -> None:
    coordinator = coordinated()
    assert tf.distribute.coordinator.ClusterCoordinator(coordinator.strategy) is coordinator
    assert tf.distribute.experimental.coordinator.ClusterCoordinator is type(coordinator)
    data = coordinator.create_per_worker_dataset(tf.data.Dataset.range(2))
    assert coordinator.schedule(lambda it: [int(x) for x in it], args=(iter(data),)).fetch() == [0, 1]
    with pytest.raises(TypeError, match="each worker has an iterator of its own"):
        next(iter(data))


def test_variables_are_divided_among_servers() -> None:
    strategy = strategy_of(partitioner=partitioners.FixedShardsPartitioner(3))
    value = np.arange(14.0, dtype="float32").reshape(7, 2)
    with strategy.scope():
        v = tf.Variable(value, name="table")
        scalar = tf.Variable(1.0)
    assert isinstance(scalar, tf.Variable)
    assert [part.shape.as_list() for part in v.variables] == [[3, 2], [2, 2], [2, 2]]
    assert [part.name for part in v.variables] == [f"table/part_{k}:0" for k in range(3)]
    assert v.shape == (7, 2)
    np.testing.assert_array_equal(v.numpy(), value)
    np.testing.assert_array_equal(tf.nn.embedding_lookup(v, [6, 0]).numpy(), value[[6, 0]])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.matmul(v, tf.ones([2, 1])) * tf.reshape(tf.range(7.0), [7, 1]))
    gradients = tape.gradient(total, v.variables)
    assert [g.numpy()[:, 0].tolist() for g in gradients] == [[0, 1, 2], [3, 4], [5, 6]]
    v.assign_add(tf.ones([7, 2]))
    np.testing.assert_array_equal(v.numpy(), value + 1)
    v.assign(value)
    v.assign_sub(value)
    np.testing.assert_array_equal(v[2:4].numpy(), np.zeros([2, 2]))


def test_divided_variables_are_saved_in_parts_and_restored_in_others(tmp_path: Path) -> None:
    def table(parts: int, value: Any) -> Any:
        with strategy_of(partitioner=partitioners.FixedShardsPartitioner(parts)).scope():
            return tf.Variable(value, name="table")

    value = np.arange(14.0, dtype="float32").reshape(7, 2)
    path = tf.train.Checkpoint(v=table(3, value)).write(str(tmp_path / "parts"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE"), value)
    for restored in (table(2, np.zeros_like(value)), tf.Variable(np.zeros_like(value))):
        tf.train.Checkpoint(v=restored).read(path).assert_consumed()
        np.testing.assert_array_equal(restored.numpy(), value)
    whole = tf.train.Checkpoint(v=tf.Variable(value + 1)).write(str(tmp_path / "whole"))
    divided = table(4, value)
    tf.train.Checkpoint(v=divided).read(whole).assert_consumed()
    np.testing.assert_array_equal(divided.numpy(), value + 1)


@pytest.mark.parametrize(
    ("partitioner", "shape", "due"),
    [
        (partitioners.FixedShardsPartitioner(2), [10, 3], [2, 1]),
        (partitioners.FixedShardsPartitioner(20), [10, 3], [10, 1]),
        (partitioners.MinSizePartitioner(4, max_shards=2), [6, 1], [2, 1]),
        (partitioners.MinSizePartitioner(4, max_shards=10), [6, 1], [6, 1]),
        (partitioners.MinSizePartitioner(), [6, 1], [1, 1]),
        (partitioners.MaxSizePartitioner(4), [6, 1], [6, 1]),
        (partitioners.MaxSizePartitioner(4, max_shards=2), [6, 1], [2, 1]),
        (partitioners.MaxSizePartitioner(1024), [6, 1], [1, 1]),
        (partitioners.MaxSizePartitioner(12), [7], [3]),
    ],
)
def test_partitioners_give_the_numbers_of_parts(partitioner: Any, shape: list[int], due: list[int]) -> None:
    assert partitioner(tf.TensorShape(shape), tf.float32) == due


def test_what_partitioners_cannot_divide_is_an_error() -> None:
    with pytest.raises(ValueError, match="argument 'min_shard_bytes' must be at least 1"):
        partitioners.MinSizePartitioner(0)
    with pytest.raises(ValueError, match="argument 'axis'"):
        partitioners.FixedShardsPartitioner(2)(tf.TensorShape([3]), tf.float32, axis=1)
    with pytest.raises(ValueError, match="argument 'shape'"):
        partitioners.FixedShardsPartitioner(2)(tf.TensorShape([None]), tf.float32)


def test_a_cluster_without_workers_or_ray_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_resolver = tf.distribute.cluster_resolver
    with pytest.raises(ValueError, match="no task of the job 'ps'"):
        tf.distribute.ParameterServerStrategy(cluster_resolver.SimpleClusterResolver({"worker": ["a"]}))
    with pytest.raises(TypeError, match="argument 'cluster_resolver'"):
        tf.distribute.ParameterServerStrategy(None)
    with pytest.raises(TypeError, match="argument 'strategy'"):
        tf.distribute.coordinator.ClusterCoordinator(tf.distribute.get_strategy())
    with pytest.raises(TypeError, match="argument 'fn'"):
        coordinated().schedule(3)

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    resolver = cluster_resolver.SimpleClusterResolver({"worker": ["a"], "ps": ["b"]})
    with pytest.raises(ImportError, match=r"pip install penstock-engine\[ray\]"):
        tf.distribute.ParameterServerStrategy(resolver)
