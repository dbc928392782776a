"""Workers and parameter servers that are actors of Ray."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


_made: list[Any] = []


@pytest.fixture(autouse=True)
def no_workers_left() -> Iterator[None]:
    yield
    while _made:
        _made.pop()._end()


def coordinated(workers: int = 2, partitioner: Any = None) -> Any:
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        {"worker": [f"w{k}" for k in range(workers)], "ps": ["a", "b"]}
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver, partitioner)
    _made.append(tf.distribute.coordinator.ClusterCoordinator(strategy))
    return _made[-1]


# Functions are sent as values: a test module cannot be imported in another process.


def training(coordinator: Any, optimizer: Any) -> Any:
    strategy = coordinator.strategy
    with strategy.scope():
        w, steps = tf.Variable(tf.zeros([3, 1])), tf.Variable(0)

    def data() -> Any:
        import penstock as tf

        x = tf.random.stateless_normal([100, 3], [1, 2])
        return tf.data.Dataset.from_tensor_slices((x, tf.reduce_sum(x, 1, keepdims=True))).batch(10).repeat()

    parts = getattr(w, "variables", [w])

    def step(iterator: Any) -> Any:
        import penstock as tf

        def one(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, parts), parts, strict=True))
            steps.assign_add(1)
            return loss

        return strategy.run(one, args=next(iterator))

    return w, steps, tf.function(step), iter(coordinator.create_per_worker_dataset(data))


def test_one_worker_trains_as_the_program_itself_does() -> None:
    coordinator = coordinated(1)
    w, steps, step, iterators = training(coordinator, tf.optimizers.Adam(0.05))
    for _ in range(20):
        coordinator.schedule(step, args=(iterators,))
    coordinator.join()
    alone = tf.distribute.cluster_resolver.SimpleClusterResolver(
        {"worker": ["a"], "ps": ["b"]}, environment="threads"
    )
    other = tf.distribute.coordinator.ClusterCoordinator(tf.distribute.ParameterServerStrategy(alone))
    due, _, same, own = training(other, tf.optimizers.Adam(0.05))
    for _ in range(20):
        other.schedule(same, args=(own,))
    other.join()
    assert int(steps) == 20
    np.testing.assert_array_equal(w.numpy(), due.numpy())
    # What the program assigns is what the worker goes on with.
    w.assign(tf.ones([3, 1]))
    assert float(coordinator.schedule(step, args=(iterators,)).fetch()) == 0.0


def test_workers_share_variables_that_are_divided_among_servers() -> None:
    coordinator = coordinated(2, tf.distribute.experimental.partitioners.FixedShardsPartitioner(2))
    w, steps, step, iterators = training(coordinator, tf.optimizers.SGD(0.1))
    losses = [coordinator.schedule(step, args=(iterators,)) for _ in range(150)]
    coordinator.join()
    assert len(w.variables) == 2
    assert int(steps) == 150
    # The step that was scheduled first need not be the first that a worker does.
    assert losses[-1].fetch() < max(loss.fetch() for loss in losses) / 50
    np.testing.assert_allclose(w.numpy(), np.ones([3, 1]), atol=0.1)


def test_what_several_workers_add_is_all_there() -> None:
    coordinator = coordinated(2)
    with coordinator.strategy.scope():
        v = tf.Variable([0.0, 0.0])
        name = tf.Variable("a")

    def add(x: Any) -> None:
        v.assign_add([1.0, x])
        name.assign("b")

    for number in range(50):
        coordinator.schedule(add, args=(float(number),))
    coordinator.join()
    assert v.numpy().tolist() == [50.0, 1225.0]
    assert name.numpy() == b"b"
    assert (v + 0.0).numpy().tolist() == [50.0, 1225.0]


def test_another_worker_takes_what_one_that_ends_was_doing(tmp_path: Path) -> None:
    coordinator = coordinated(2)
    with coordinator.strategy.scope():
        v = tf.Variable(0)
    flag = str(tmp_path / "ended")

    def data() -> Any:
        import penstock as tf

        return tf.data.Dataset.range(100)

    def work(iterator: Any, number: int) -> int:
        import os
        from pathlib import Path

        next(iterator)
        if number == 7 and not Path(flag).exists():
            Path(flag).touch()
            os._exit(1)
        v.assign_add(1)
        return number

    iterators = iter(coordinator.create_per_worker_dataset(data))
    results = [coordinator.schedule(work, args=(iterators, number)) for number in range(20)]
    coordinator.join()
    assert Path(flag).exists()
    assert coordinator.fetch(results) == list(range(20))
    assert int(v) == 20


def test_workers_train_a_model_of_keras() -> None:
    coordinator = coordinated(2)
    strategy = coordinator.strategy
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1)])
        optimizer, mean = tf.keras.optimizers.Adam(0.05), tf.keras.metrics.Mean()
        optimizer.build(model.trainable_variables)
    x = np.random.default_rng(0).normal(size=[32, 3]).astype("float32")

    def step(x: Any) -> Any:
        import penstock as tf

        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - tf.reduce_sum(x, 1, keepdims=True)))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        mean.update_state(loss)
        return loss

    traced = tf.function(step)
    losses = [coordinator.schedule(traced, args=(x,)) for _ in range(60)]
    coordinator.join()
    assert losses[-1].fetch() < max(loss.fetch() for loss in losses) / 2
    assert int(optimizer.iterations) == 60
    found = tf.reduce_mean(tf.square(model(x) - x.sum(1, keepdims=True)))
    np.testing.assert_allclose(found, losses[-1].fetch(), atol=0.2)
    assert float(mean.result()) > 0.0


def test_an_error_of_a_function_is_raised() -> None:
    coordinator = coordinated(1)

    def fail() -> None:
        raise ValueError("the program's own")

    coordinator.schedule(fail)
    with pytest.raises(ValueError, match="the program's own"):
        coordinator.join()
    assert coordinator.schedule(lambda: 3).fetch() == 3


def test_the_end_of_a_server_is_an_error() -> None:
    coordinator = coordinated(1)
    with coordinator.strategy.scope():
        v = tf.Variable(0)
    coordinator.schedule(lambda: v.assign_add(1).numpy())
    coordinator.join()
    for server in coordinator.strategy._cluster._servers:
        ray.kill(server)
    coordinator.schedule(lambda: v.assign_add(1).numpy())
    with pytest.raises(tf.errors.UnavailableError, match="a parameter server has ended"):
        coordinator.join()


def test_more_workers_than_the_cluster_has_room_for_are_an_error() -> None:
    with pytest.raises(ValueError, match="5 workers need as many CPUs, and the Ray cluster has 4"):
        coordinated(5)
