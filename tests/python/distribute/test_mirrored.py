"""Several replicas in one process give what one replica gives with the whole batch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

AGGREGATIONS = tf.VariableAggregation
ON_READ = tf.VariableSynchronization.ON_READ


@pytest.fixture(autouse=True)
def four_devices() -> Iterator[None]:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
    yield
    tf.config.set_logical_device_configuration(cpu, None)


def mirrored(count: int = 2) -> Any:
    return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])


def in_replica() -> Any:
    context = tf.distribute.get_replica_context()
    assert context is not None
    return context


def values(strategy: Any, found: Any) -> list[Any]:
    return [np.asarray(x).tolist() for x in strategy.experimental_local_results(found)]


def trained(strategy: Any, optimizer: str, batch: int, way: str) -> Any:
    with strategy.scope():
        w, b, v = tf.Variable(tf.eye(3, 5)), tf.Variable(tf.zeros([5])), tf.Variable(tf.ones([5, 1]))
        rows = tf.Variable(0, trainable=False, synchronization=ON_READ, aggregation=AGGREGATIONS.SUM)
    steps = tf.optimizers.SGD(0.1, momentum=0.9) if optimizer == "sgd" else tf.optimizers.Adam(0.05)
    x = np.sin(np.arange(66.0, dtype="float32")).reshape(22, 3)
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(batch)

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            losses = tf.square(tf.tanh(x @ w + b) @ v - y)
            loss = tf.nn.compute_average_loss(losses[:, 0], global_batch_size=batch)
        steps.apply_gradients(zip(tape.gradient(loss, [w, b, v]), [w, b, v], strict=True))
        rows.assign_add(tf.shape(x)[0])
        return loss

    if way == "a function in each replica":
        step = tf.function(step)

    def epoch() -> Any:
        total = 0.0
        for features, labels in strategy.experimental_distribute_dataset(data):
            total += strategy.reduce("SUM", strategy.run(step, args=(features, labels)), axis=None)
        return total

    if way == "a function around replicas":
        epoch = tf.function(epoch)
    losses = [float(epoch()) for _ in range(3)]
    return losses, [z.numpy() for z in (w, b, v)], int(rows)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("way", ["eagerly", "a function around replicas", "a function in each replica"])
@pytest.mark.parametrize(("count", "batch"), [(2, 4), (2, 5), (3, 4), (4, 22)])
def test_replicas_train_as_one_does_with_the_whole_batch(
    optimizer: str, way: str, count: int, batch: int
) -> None:
    due = trained(tf.distribute.get_strategy(), optimizer, batch, way)
    found = trained(mirrored(count), optimizer, batch, way)
    np.testing.assert_allclose(found[0], due[0], atol=1e-6)
    for got, expected in zip(found[1], due[1], strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-6)
    assert found[2] == due[2] == 66


@pytest.mark.parametrize("traced", [False, True])
def test_replicas_talk_between_their_computations(traced: bool) -> None:
    strategy = mirrored(3)

    def inside(x: Any) -> Any:
        context = in_replica()
        number = context.replica_id_in_sync_group
        own = x * (number + 1.0)
        total = context.all_reduce("SUM", own)
        # The second exchange needs the first one's result.
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, {"a": total * float(number), "b": [own]})
        joined = context.all_gather(tf.fill([1, number + 1], number), axis=1)
        merged = context.merge_call(lambda s, v: s.extended.reduce_to("SUM", v, None), args=(own,))
        return {"number": number, "total": total, "mean": mean, "joined": joined, "merged": merged}

    def run(x: Any) -> Any:
        return strategy.run(inside, args=(x,))

    found = (tf.function(run) if traced else run)(tf.constant([1.0, 2.0]))
    for number, one in enumerate(strategy.experimental_local_results(found)):
        assert int(one["number"]) == number
        assert one["total"].numpy().tolist() == [6.0, 12.0]
        assert one["mean"]["a"].numpy().tolist() == [6.0, 12.0]
        assert one["mean"]["b"][0].numpy().tolist() == [2.0, 4.0]
        assert one["joined"].numpy().tolist() == [[0, 1, 1, 2, 2, 2]]
        assert one["merged"].numpy().tolist() == [6.0, 12.0]


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_go_through_what_replicas_exchange(traced: bool) -> None:
    strategy = mirrored(2)

    def inside() -> Any:
        number = in_replica().replica_id_in_sync_group
        x = tf.constant([1.0, 2.0]) * (number + 1.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            total = tf.reduce_sum(in_replica().all_reduce("SUM", x * x)) * (number + 1.0)
            joined = tf.reduce_sum(in_replica().all_gather(x, 0) * tf.constant([1.0, 2.0, 3.0, 4.0]))
        return tape.gradient(total, x), tape.gradient(joined, x)

    run = lambda: strategy.run(inside)  # noqa: E731
    total, joined = (tf.function(run) if traced else run)()
    # The loss is the sum of those of all replicas: weights 1 and 2.
    assert values(strategy, total) == [[6.0, 12.0], [12.0, 24.0]]
    assert values(strategy, joined) == [[2.0, 4.0], [6.0, 8.0]]


def test_a_tape_around_replicas_records_what_they_compute() -> None:
    strategy = mirrored(2)
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        losses = strategy.run(lambda: v * v * (in_replica().replica_id_in_sync_group + 1.0))
        loss = strategy.reduce("SUM", losses, axis=None)
    assert float(tape.gradient(loss, v)) == 18.0


@pytest.mark.parametrize("traced", [False, True])
def test_mirrored_variables_combine_what_replicas_assign(traced: bool) -> None:
    strategy = mirrored(2)
    kinds = ("SUM", "MEAN", "ONLY_FIRST_REPLICA")
    with strategy.scope():
        made = [tf.Variable(1.0, aggregation=getattr(AGGREGATIONS, kind)) for kind in kinds]

    def inside() -> None:
        own = in_replica().replica_id_in_sync_group + 1.0
        for v in made:
            v.assign(own)
            v.assign_add(own * 2)
            v.assign_sub(own)

    run = lambda: strategy.run(inside)  # noqa: E731
    (tf.function(run) if traced else run)()
    assert [float(v) for v in made] == [6.0, 3.0, 2.0]
    made[0].assign(7.0)
    assert float(made[0]) == 7.0
    assert values(strategy, made[0]) == [7.0, 7.0]
    assert all(isinstance(v, tf.Variable) for v in made)


def test_assigning_to_a_mirrored_variable_needs_an_aggregation() -> None:
    strategy = mirrored(2)
    with strategy.scope():
        v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="You must specify an aggregation method"):
        strategy.run(lambda: v.assign(2.0))
    v.assign(3.0)
    assert float(v) == 3.0


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("how", ["SUM", "MEAN", "ONLY_FIRST_REPLICA"])
def test_variables_that_are_combined_on_read_have_a_value_in_each_replica(how: str, traced: bool) -> None:
    strategy = mirrored(2)
    with strategy.scope():
        v = tf.Variable([0.0, 8.0], synchronization=ON_READ, aggregation=getattr(AGGREGATIONS, how))

    def inside() -> Any:
        number = in_replica().replica_id_in_sync_group
        v.assign_add([number + 1.0, 0.0])
        # Within a replica it is its own: by itself, in an operator, and as an argument.
        return v.read_value(), v + 1.0, tf.reduce_sum(v) if number else v[0]

    run = lambda: strategy.run(inside)  # noqa: E731
    own, sums, _ = (tf.function(run) if traced else run)()
    assert values(strategy, own) == [[1.0, 8.0], [2.0, 8.0]]
    assert values(strategy, sums) == [[2.0, 9.0], [3.0, 9.0]]
    due = {"SUM": [3.0, 16.0], "MEAN": [1.5, 8.0], "ONLY_FIRST_REPLICA": [1.0, 8.0]}[how]
    assert v.numpy().tolist() == tf.identity(v).numpy().tolist() == (v + 0.0).numpy().tolist() == due
    assert isinstance(v, tf.Variable)
    v.assign([4.0, 6.0])
    assert v.numpy().tolist() == [4.0, 6.0]
    assert values(strategy, v)[0] == ([2.0, 3.0] if how == "SUM" else [4.0, 6.0])
    if how == "SUM":
        with pytest.raises(ValueError, match="does not support `assign_add` in cross-replica context"):
            v.assign_add([1.0, 1.0])


def test_variables_that_are_not_combined_cannot_be_read_between_replicas() -> None:
    strategy = mirrored(2)
    with strategy.scope():
        v = tf.Variable(5, synchronization=ON_READ)
        counts = tf.Variable(0, synchronization=ON_READ, aggregation=AGGREGATIONS.SUM)
    with pytest.raises(ValueError, match="without argument 'aggregation'"):
        v.numpy()
    counts.assign(5)
    assert int(counts) == 5
    assert values(strategy, counts) == [3, 2]


def test_checkpoints_have_what_variables_combine_to(tmp_path: Path) -> None:
    strategy = mirrored(2)
    with strategy.scope():
        v = tf.Variable(0.0, synchronization=ON_READ, aggregation=AGGREGATIONS.SUM)
        w = tf.Variable(2.0)
    strategy.run(lambda: v.assign(in_replica().replica_id_in_sync_group + 1.0))
    path = tf.train.Checkpoint(v=v, w=w).write(str(tmp_path / "saved"))
    plain, other = tf.Variable(0.0), tf.Variable(0.0)
    tf.train.Checkpoint(v=plain, w=other).restore(path)
    assert (float(plain), float(other)) == (3.0, 2.0)
    plain.assign(8.0)
    tf.train.Checkpoint(v=v, w=w).restore(tf.train.Checkpoint(v=plain, w=other).write(str(tmp_path / "b")))
    assert float(v) == 8.0
    assert values(strategy, v) == [4.0, 4.0]


def test_variables_that_a_function_makes_in_its_replicas_are_made_once() -> None:
    strategy = mirrored(2)
    kept: list[Any] = []

    def inside() -> Any:
        v = tf.Variable(1.0)
        kept.append(v)
        if len(kept) == 3:
            return v
        return v + in_replica().replica_id_in_sync_group

    found = strategy.run(inside)
    assert kept[0] is kept[1]
    assert values(strategy, found) == [1.0, 2.0]
    assert strategy.extended.variable_created_in_scope(kept[0])


def test_an_update_is_made_of_each_copy() -> None:
    strategy = mirrored(2)
    with strategy.scope():
        v = tf.Variable(1.0)
        own = tf.Variable(0.0, synchronization=ON_READ, aggregation=AGGREGATIONS.SUM)
        given = strategy.experimental_distribute_values_from_function(
            lambda c: c.replica_id_in_sync_group + 2.0
        )
        strategy.extended.update(v, lambda v, x: v.assign_add(x), args=(3.0,))
        strategy.extended.update(own, lambda v, x: v.assign(x), args=(given,))
        with strategy.extended.colocate_vars_with(v):
            beside = tf.Variable(1.0)
    assert float(v) == 4.0
    assert values(strategy, own) == [2.0, 3.0]
    assert beside.device == v.device
    assert strategy.extended.worker_devices == ("CPU:0", "CPU:1")


def test_values_are_reduced_and_gathered_between_replicas() -> None:
    strategy = mirrored(2)
    rows = strategy.experimental_distribute_values_from_function(
        lambda c: tf.range(1.0, 2.0 + 2.0 * c.replica_id_in_sync_group)
    )
    assert float(strategy.reduce("MEAN", rows, axis=0)) == 7 / 4
    assert float(strategy.reduce("SUM", rows, axis=0)) == 7.0
    assert strategy.gather(rows, axis=0).numpy().tolist() == [1.0, 1.0, 2.0, 3.0]
    both = strategy.run(lambda: {"a": tf.constant(1.0), "b": in_replica().replica_id_in_sync_group})
    found = strategy.reduce("SUM", both, axis=None)
    assert (float(found["a"]), int(found["b"])) == (2.0, 1)
    slices = strategy.run(lambda: tf.IndexedSlices(tf.constant([1.0]), tf.constant([1]), tf.constant([3])))
    assert tf.convert_to_tensor(strategy.reduce("SUM", slices, axis=None)).numpy().tolist() == [0, 2, 0]
    pairs = [(rows.values[0], None), (both["a"], None)]
    means = strategy.extended.batch_reduce_to("MEAN", pairs)
    assert [float(tf.reduce_sum(x)) for x in means] == [1.0, 1.0]
    # What is the same for all replicas has a mean, and no sum.
    assert float(strategy.reduce("MEAN", 3.0, axis=None)) == 3.0
    with pytest.raises(ValueError, match="a sum over replicas is of values"):
        strategy.reduce("SUM", 3.0, axis=None)
    with pytest.raises(ValueError, match="it has scalars"):
        strategy.gather(both["a"], axis=0)
    with pytest.raises(RuntimeError, match="call all_reduce of its context"):
        strategy.run(lambda: strategy.reduce("SUM", tf.constant(1.0), axis=None))


def test_batches_are_divided_among_replicas() -> None:
    strategy = mirrored(2)
    data = tf.data.Dataset.from_tensor_slices({"a": tf.range(7), "b": tf.range(7)}).batch(5)
    found = [
        [values(strategy, element["a"]), values(strategy, element["b"])]
        for element in strategy.experimental_distribute_dataset(data)
    ]
    assert found == [[[[0, 1, 2], [3, 4]]] * 2, [[[5], [6]]] * 2]
    with pytest.raises(ValueError, match="batches as elements"):
        strategy.experimental_distribute_dataset(tf.data.Dataset.range(3))


@pytest.mark.parametrize("kind", ["tensors", "tuples", "mappings"])
def test_a_function_makes_a_data_set_of_batches_for_one_replica(kind: str) -> None:
    strategy = mirrored(2)
    contexts = []

    def make(context: Any) -> Any:
        contexts.append(
            (context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync)
        )
        data = tf.data.Dataset.range(5).batch(context.get_per_replica_batch_size(4))
        if kind == "tuples":
            return data.map(lambda x: (x, -x))
        return data.map(lambda x: {"a": x}) if kind == "mappings" else data

    data = strategy.distribute_datasets_from_function(make)
    assert contexts == [(1, 0, 2)]
    take = {"tensors": lambda x: x, "tuples": lambda x: x[0], "mappings": lambda x: x["a"]}[kind]
    assert [values(strategy, take(element)) for element in data] == [[[0, 1], [2, 3]], [[4], []]]


def test_a_function_may_make_a_data_set_for_each_replica() -> None:
    strategy = mirrored(2)
    options = tf.distribute.InputOptions(
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA
    )
    data = strategy.distribute_datasets_from_function(
        lambda c: tf.data.Dataset.range(6).shard(c.num_input_pipelines, c.input_pipeline_id).batch(2), options
    )
    assert [values(strategy, element) for element in data] == [[[0, 2], [1, 3]], [[4], [5]]]


def test_iterators_go_into_traced_functions() -> None:
    strategy = mirrored(2)
    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)))

    @tf.function
    def total(iterator: Any) -> Any:
        found = tf.constant(0, tf.int64)
        for _ in range(2):
            found += strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(next(iterator),)), axis=None)
        return found

    assert int(total(iterator)) == 28


def test_devices_and_contexts_are_those_of_the_replica() -> None:
    strategy = mirrored(2)

    def inside() -> Any:
        context = in_replica()
        assert not tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_strategy() is strategy
        assert context.num_replicas_in_sync == 2
        return context.devices

    assert values(strategy, strategy.run(inside)) == [["CPU:0"], ["CPU:1"]]
    assert not tf.distribute.has_strategy()


class Steps:
    def __init__(self, strategy: Any) -> None:
        self.strategy, self.traces = strategy, 0

    @tf.function
    def step(self, x: Any) -> Any:
        self.traces += 1
        return in_replica().all_reduce("SUM", x)


def test_a_method_that_is_a_function_has_one_graph_for_all_replicas() -> None:
    strategy = mirrored(2)
    steps = Steps(strategy)
    given = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(c.replica_id_in_sync_group + 1.0)
    )
    for _ in range(3):
        assert values(strategy, strategy.run(steps.step, args=(given,))) == [3.0, 3.0]
    assert steps.traces == 2  # once for each replica


def test_errors_of_a_replica_are_raised_and_end_the_others() -> None:
    strategy = mirrored(2)
    ended = []

    def inside() -> None:
        try:
            in_replica().all_reduce("SUM", 1.0)
            if in_replica().replica_id_in_sync_group == 1:
                raise KeyError("the program's own")
            in_replica().all_reduce("SUM", 1.0)
        finally:
            ended.append(in_replica().replica_id_in_sync_group)

    before = threading.active_count()
    with pytest.raises(KeyError, match="the program's own"):
        strategy.run(inside)
    assert sorted(ended) == [0, 1]
    assert threading.active_count() <= before + 2
    assert values(strategy, strategy.run(lambda: in_replica().all_reduce("SUM", 1.0))) == [2.0, 2.0]


def test_replicas_that_do_not_come_to_the_same_calls_are_an_error() -> None:
    strategy = mirrored(2)

    def inside() -> None:
        if in_replica().replica_id_in_sync_group == 0:
            in_replica().all_reduce("SUM", 1.0)

    with pytest.raises(RuntimeError, match="some replicas combine values more often"):
        strategy.run(inside)

    @tf.function
    def branches(x: Any) -> Any:
        def inside(x: Any) -> Any:
            return tf.cond(x > 0.0, lambda: in_replica().all_reduce("SUM", x), lambda: x)

        return strategy.run(inside, args=(x,))

    with pytest.raises(RuntimeError, match="a branch or a loop of the graph"):
        branches(tf.constant(1.0))


def test_functions_that_replicas_call_are_converted_as_others_are() -> None:
    strategy = mirrored(2)

    def inside(x: Any) -> Any:
        total = 0.0
        for value in x:
            if value > 1.0:
                total += value
        return total

    @tf.function
    def run(x: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(inside, args=(x,)), axis=None)

    assert float(run(tf.constant([1.0, 2.0, 3.0]))) == 10.0

    @tf.function
    def plain(x: Any) -> Any:
        return tf.distribute.get_strategy().run(inside, args=(x,))

    assert float(plain(tf.constant([1.0, 2.0, 3.0]))) == 5.0


def test_devices_that_are_none_are_errors() -> None:
    with pytest.raises(ValueError, match="each of them once"):
        tf.distribute.MirroredStrategy(["CPU:0", "CPU:0"])
    with pytest.raises(ValueError, match="names no device"):
        tf.distribute.MirroredStrategy(["nowhere", "CPU:0"])
    with pytest.raises(TypeError, match="argument 'args' must be a tuple"):
        mirrored().run(lambda x: x, args=1)


def fitted(strategy: Any, case: str) -> Any:
    tf.keras.utils.set_random_seed(5)
    x = np.cos(np.arange(132.0, dtype="float32")).reshape(33, 4)
    y = x.sum(1, keepdims=True)
    layers = tf.keras.layers

    class OwnSteps(tf.keras.Sequential):  # type: ignore[misc]
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
            weights = self.trainable_weights
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"loss": loss}

    with strategy.scope():
        parts = [layers.Dense(5, activation="tanh"), layers.Dense(1, kernel_regularizer="l2")]
        model = (OwnSteps if case == "own steps" else tf.keras.Sequential)(parts)
        model.compile(
            optimizer=tf.keras.optimizers.Adam(0.05, clipnorm=1.0),
            loss="mse",
            metrics=["mae"],
            steps_per_execution=3 if case == "several steps at once" else 1,
            run_eagerly=case == "eagerly",
        )
    # The last batch has one row: fewer than there are replicas.
    validation = {"validation_data": (x[:9], y[:9])} if case == "validation" else {}
    data: Any = (x, y)
    if case == "a data set":
        data = (tf.data.Dataset.from_tensor_slices((x, y)).batch(8),)
    sizes = {} if case == "a data set" else {"batch_size": 8}
    history = model.fit(*data, **sizes, epochs=3, shuffle=False, verbose=0, **validation).history
    return model.get_weights(), history, model.evaluate(x, y, batch_size=8, verbose=0)


@pytest.mark.parametrize(
    "case", ["plain", "a data set", "several steps at once", "validation", "own steps", "eagerly"]
)
@pytest.mark.parametrize("count", [2, 3])
def test_keras_fits_with_replicas_as_with_one(case: str, count: int) -> None:
    due = fitted(tf.distribute.get_strategy(), case)
    found = fitted(mirrored(count), case)
    for got, expected in zip(found[0], due[0], strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)
    for name, expected in due[1].items():
        np.testing.assert_allclose(found[1][name], expected, atol=1e-5)
    np.testing.assert_allclose(found[2], due[2], atol=1e-5)


def test_moving_means_of_keras_are_those_of_all_replicas() -> None:
    x = np.arange(16.0, dtype="float32").reshape(8, 2)
    with mirrored(2).scope():
        layer = tf.keras.layers.BatchNormalization(momentum=0.5)
        model = tf.keras.Sequential([layer])
        model.compile(optimizer="sgd", loss="mse")
    model.fit(x, x, batch_size=8, epochs=1, shuffle=False, verbose=0)
    np.testing.assert_allclose(layer.moving_mean.numpy(), 0.5 * x.mean(0), rtol=1e-6)
    np.testing.assert_allclose(layer.moving_variance.numpy(), 0.5 + 0.5 * x[:4].var(0), rtol=1e-5)


def test_a_synchronized_normalization_of_keras_trains_as_on_one_device() -> None:
    x = np.cos(np.arange(128.0, dtype="float32")).reshape(32, 4) * [1, 2, 3, 4]

    def trained(strategy: Any) -> Any:
        tf.keras.utils.set_random_seed(5)
        with strategy.scope():
            layer = tf.keras.layers.BatchNormalization(synchronized=True, momentum=0.5)
            model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1)])
            model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
        history = model.fit(x, x[:, :1], batch_size=8, epochs=3, shuffle=False, verbose=0).history
        return [history["loss"], *model.get_weights()]

    for got, expected in zip(trained(mirrored(2)), trained(tf.distribute.get_strategy()), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_a_distributed_data_set_trains_a_model_of_keras() -> None:
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    x = np.cos(np.arange(128.0, dtype="float32")).reshape(32, 4)
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)

    def trained(data: Any) -> Any:
        tf.keras.utils.set_random_seed(5)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        return model.fit(data, epochs=2, shuffle=False, verbose=0).history["loss"]

    assert trained(strategy.experimental_distribute_dataset(data)) == trained(data)


def test_variables_may_have_a_device_of_their_own() -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(["CPU:1", "CPU:2"], "CPU:0")
    due = trained(tf.distribute.get_strategy(), "sgd", 4, "a function around replicas")
    found = trained(strategy, "sgd", 4, "a function around replicas")
    np.testing.assert_allclose(found[0], due[0], atol=1e-6)
    assert strategy.extended.worker_devices == ("CPU:1", "CPU:2")
    assert strategy.extended.parameter_devices == ("CPU:0",)
    assert tf.distribute.experimental.CentralStorageStrategy().num_replicas_in_sync == 1


@pytest.mark.parametrize("kind", ["HierarchicalCopyAllReduce", "NcclAllReduce", "ReductionToOneDevice"])
def test_values_are_combined_by_what_the_strategy_is_given(kind: str) -> None:
    ops = getattr(tf.distribute, kind)()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=ops)
    values_of_all = strategy.run(lambda: tf.constant(in_replica().replica_id_in_sync_group + 1.0))
    assert float(strategy.reduce("SUM", values_of_all, axis=None)) == 3.0
    assert float(ops.reduce("MEAN", values_of_all, None)) == 1.5
    assert [float(x) for x in ops.batch_reduce("SUM", [(values_of_all, None)])] == [3.0]
    assert float(ops.broadcast(4.0, None)) == 4.0


def test_a_function_of_the_programs_adds_values_up() -> None:
    calls = []

    def add(tensors: list[Any]) -> Any:
        calls.append(len(tensors))
        return tf.add_n(tensors)

    ops = tf.distribute.ReductionToOneDevice("CPU:0", accumulation_fn=add)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], ops)
    total = strategy.run(lambda: in_replica().all_reduce("MEAN", 3.0))
    assert values(strategy, total) == [3.0, 3.0]
    assert calls == [2]
    with pytest.raises(TypeError, match="argument 'cross_device_ops' must be a CrossDeviceOps"):
        tf.distribute.MirroredStrategy(["CPU:0"], cross_device_ops=3)
    with pytest.raises(ValueError, match="argument 'num_packs'"):
        tf.distribute.NcclAllReduce(-1)


@pytest.mark.parametrize("traced", [False, True])
def test_a_loop_of_the_programs_trains_a_model_of_keras(traced: bool) -> None:
    x = np.cos(np.arange(128.0, dtype="float32")).reshape(32, 4)
    y = x.sum(1, keepdims=True)

    def trained(strategy: Any) -> Any:
        tf.keras.utils.set_random_seed(5)
        with strategy.scope():
            model = tf.keras.Sequential(
                [tf.keras.layers.Dense(5, activation="tanh"), tf.keras.layers.Dense(1)]
            )
            optimizer = tf.keras.optimizers.Adam(0.05)
            mean = tf.keras.metrics.Mean()
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                losses = tf.square(model(x, training=True) - y)[:, 0]
                loss = tf.nn.compute_average_loss(losses, global_batch_size=8)
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            mean.update_state(losses)
            return loss

        def distributed(batch: Any) -> Any:
            return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)

        once = tf.function(distributed) if traced else distributed
        losses = [float(once(batch)) for batch in strategy.experimental_distribute_dataset(data)]
        return losses, model.get_weights(), float(mean.result()), int(optimizer.iterations)

    due, found = trained(tf.distribute.get_strategy()), trained(mirrored(2))
    np.testing.assert_allclose(found[0], due[0], atol=1e-5)
    for got, expected in zip(found[1], due[1], strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)
    np.testing.assert_allclose(found[2], due[2], rtol=1e-5)
    assert found[3] == due[3] == 4


def test_mirrored_variables_count_as_values_of_replicas() -> None:
    with mirrored(2).scope():
        v = tf.Variable(1.0)
        own = tf.Variable(1.0, synchronization=ON_READ)
    assert isinstance(v, tf.distribute.DistributedValues)
    assert isinstance(own, tf.distribute.DistributedValues)
    assert isinstance(v, tf.types.experimental.distributed.Mirrored)


def test_no_devices_are_those_that_there_are() -> None:
    strategy = tf.distribute.MirroredStrategy(tf.config.list_logical_devices("XPU"))
    assert strategy.extended.worker_devices == tf.distribute.MirroredStrategy().extended.worker_devices
