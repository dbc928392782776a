"""Strategies whose replicas are processes give what one process gives."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.members import joined, together

import penstock as tf


def trained(optimizer: str, batch: int) -> Any:
    """Trains a small network; each replica has a part of each batch."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    # Other first values in each process: those of the first one count.
    generator = np.random.default_rng(strategy._rank())
    with strategy.scope():
        w = tf.Variable(
            generator.normal(size=[3, 5]).astype("float32")
            if strategy._rank()
            else np.eye(3, 5, dtype="float32")
        )
        b = tf.Variable(tf.fill([5], float(strategy._rank())))
        v = tf.Variable(tf.ones([5, 1]) * (1.0 + strategy._rank()))
    steps = tf.optimizers.SGD(0.1, momentum=0.9) if optimizer == "sgd" else tf.optimizers.Adam(0.05)
    x = np.sin(np.arange(66.0, dtype="float32")).reshape(22, 3)
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(batch)

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            losses = tf.square(tf.tanh(x @ w + b) @ v - y)
            loss = tf.nn.compute_average_loss(losses[:, 0], global_batch_size=batch)
        steps.apply_gradients(zip(tape.gradient(loss, [w, b, v]), [w, b, v], strict=True))
        return loss

    @tf.function
    def epoch() -> tf.Tensor:
        total = 0.0
        for features, labels in strategy.experimental_distribute_dataset(data):
            loss = strategy.run(step, args=(features, labels))
            total += strategy.reduce("SUM", loss, axis=None)
        return total

    totals = [float(epoch()) for _ in range(3)]
    return totals, [z.numpy().ravel().tolist() for z in (w, b, v)]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(("count", "batch"), [(2, 4), (2, 5), (3, 4), (4, 22)])
def test_replicas_train_as_one_process_does(optimizer: str, count: int, batch: int) -> None:
    (alone,) = together(trained, 1, optimizer, batch)
    found = together(trained, count, optimizer, batch)
    assert all(one == found[0] for one in found), "replicas differ"
    np.testing.assert_allclose(found[0][0], alone[0], rtol=2e-5)
    for got, due in zip(found[0][1], alone[1], strict=True):
        np.testing.assert_allclose(got, due, rtol=1e-4, atol=1e-6)


def what_replicas_know() -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = strategy._rank()
    with strategy.scope():
        kept = tf.Variable([rank, rank])
        text = tf.Variable("a")

    def inside(x: Any) -> Any:
        context = tf.distribute.get_replica_context()
        gathered = context.all_gather(tf.fill([1, rank + 1], rank), axis=1)
        merged = context.merge_call(lambda s, v: s.extended.reduce_to("SUM", v, None), args=(x,))
        return context.replica_id_in_sync_group, context.all_reduce("MEAN", x), gathered, merged

    number, mean, gathered, merged = strategy.run(tf.function(inside), args=(tf.constant([1.0, 3.0]) * rank,))
    data = strategy.distribute_datasets_from_function(
        lambda c: (
            tf.data.Dataset.range(6)
            .shard(c.num_input_pipelines, c.input_pipeline_id)
            .batch(c.get_per_replica_batch_size(4))
        )
    )
    values = strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group * 10)
    return {
        "replicas": strategy.num_replicas_in_sync,
        "number": int(number),
        "mean": mean.numpy().tolist(),
        "gathered": gathered.numpy().tolist(),
        "merged": merged.numpy().tolist(),
        "kept": [*kept.numpy().tolist(), text.numpy().decode()],
        "mean of rows": float(strategy.reduce("MEAN", tf.range(1.0, 2.0 + 2.0 * rank), axis=0)),
        "sum of rows": float(strategy.reduce("SUM", tf.range(1.0, 2.0 + 2.0 * rank), axis=0)),
        "joined": strategy.gather(tf.fill([rank + 1], rank), axis=0).numpy().tolist(),
        "data": [x.numpy().tolist() for x in data],
        "values": values,
        "local": [x.numpy().tolist() for x in strategy.experimental_local_results(mean)],
        "task": strategy.cluster_resolver.task_id,
    }


def test_replicas_know_their_place_and_talk() -> None:
    for rank, found in enumerate(together(what_replicas_know, 2)):
        assert found == {
            "replicas": 2,
            "number": rank,
            "mean": [0.5, 1.5],
            "gathered": [[0, 1, 1]],
            "merged": [1.0, 3.0],
            "kept": [0, 0, "a"],
            # Of 1 and of 1, 2, 3.
            "mean of rows": 7 / 4,
            "sum of rows": 7.0,
            "joined": [0, 1, 1],
            "data": [[rank, rank + 2], [rank + 4]],
            "values": 10 * rank,
            "local": [[0.5, 1.5]],
            "task": rank,
        }


def aggregated() -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        kinds = ("SUM", "MEAN", "ONLY_FIRST_REPLICA", "NONE")
        made = [tf.Variable(1.0, aggregation=getattr(tf.VariableAggregation, kind)) for kind in kinds]

    def inside() -> None:
        own = float(strategy._rank() + 1)
        for v in made:
            v.assign(own)
            v.assign_add(own * 2)
            v.assign_sub(own)

    found = []
    for way in (inside, tf.function(inside)):
        strategy.run(way)
        found.append([float(v) for v in made])
    # Between replicas a value is assigned as it is.
    made[0].assign(7.0)
    return found, float(made[0]), [isinstance(v, tf.Variable) for v in made]


def test_variables_combine_what_replicas_assign() -> None:
    for rank, (found, between, kinds) in enumerate(together(aggregated, 2)):
        # Of 1 and 2.
        assert found == [[6.0, 3.0, 2.0, 2.0 * (rank + 1)]] * 2
        assert between == 7.0
        assert all(kinds)


def combined_on_read() -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        kinds = ("SUM", "MEAN", "ONLY_FIRST_REPLICA")
        made = [
            tf.Variable(
                1.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=getattr(tf.VariableAggregation, kind),
            )
            for kind in kinds
        ]
        count = tf.Variable(
            0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )

    def inside() -> Any:
        for v in made:
            v.assign_add(float(strategy._rank()))
        return [v.read_value() for v in made]

    own = [float(x) for x in strategy.run(inside)]
    count.assign(5)
    return own, [float(v) for v in made], int(count), int(count.values[0])


def test_variables_are_combined_where_they_are_read() -> None:
    for rank, (own, between, count, part) in enumerate(together(combined_on_read, 2)):
        assert own == [1.0 + rank] * 3
        # Of 1 and 2.
        assert between == [3.0, 1.5, 1.0]
        assert (count, part) == (5, 3 - rank)


def own_loop_of_keras() -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    tf.keras.utils.set_random_seed(5)
    x = np.cos(np.arange(64.0, dtype="float32")).reshape(16, 4)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.build((None, 4))
        optimizer = tf.keras.optimizers.Adam(0.05)

    @tf.function
    def step(x: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            losses = tf.square(model(x) - tf.reduce_sum(x, 1, keepdims=True))[:, 0]
            loss = tf.nn.compute_average_loss(losses, global_batch_size=8)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    data = tf.data.Dataset.from_tensor_slices(x).batch(8)
    for batch in strategy.experimental_distribute_dataset(data):
        strategy.run(step, args=(batch,))
    return [w.ravel().tolist() for w in model.get_weights()]


def test_optimizers_of_keras_add_the_gradients_of_processes_up() -> None:
    (alone,) = together(own_loop_of_keras, 1)
    found = together(own_loop_of_keras, 2)
    assert found[0] == found[1]
    for got, due in zip(found[0], alone, strict=True):
        np.testing.assert_allclose(got, due, atol=1e-5)


def with_a_tape() -> Any:
    group = joined()
    v, unused = tf.Variable([1.0, 2.0]), tf.Variable(0.0)
    tf.distribute.broadcast_variables([v], group)

    @tf.function
    def step() -> Any:
        with tf.distribute.DistributedGradientTape(group) as tape:
            loss = tf.reduce_sum(v**2) * (1.0 + 2.0 * group.rank)
        return tape.gradient(loss, [v, unused])

    with tf.distribute.DistributedGradientTape(group, "sum") as tape:
        rows = tf.reduce_sum(tf.gather(v, [group.rank])) * (group.rank + 1.0)
    sparse = tape.gradient(rows, v)
    first, second = step()
    return first.numpy().tolist(), second is None, tf.convert_to_tensor(sparse).numpy().tolist()


def test_gradients_of_a_distributed_tape_are_those_of_all() -> None:
    assert together(with_a_tape, 2) == [[[4.0, 8.0], True, [1.0, 2.0]]] * 2


def test_a_task_that_is_not_in_the_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        {"worker": ["127.0.0.1:0"]}, task_type="worker", task_id=3
    )
    with pytest.raises(ValueError, match="task 3 of job 'worker'"):
        tf.distribute.MultiWorkerMirroredStrategy(resolver)
    monkeypatch.setitem(os.environ, "TF_CONFIG", '{"cluster": 3}')
    with pytest.raises(ValueError, match="TF_CONFIG"):
        tf.distribute.MultiWorkerMirroredStrategy()


def files_and_scalars() -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    messages = []
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    for data in (tf.data.Dataset.range(4).batch(2).with_options(options), tf.data.Dataset.range(4)):
        try:
            strategy.experimental_distribute_dataset(data)
        except ValueError as error:
            messages.append(str(error))
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    whole = strategy.experimental_distribute_dataset(tf.data.Dataset.range(3).batch(3).with_options(options))
    return messages, [x.numpy().tolist() for x in whole]


def test_data_sets_that_cannot_be_divided_are_errors() -> None:
    for messages, whole in together(files_and_scalars, 2):
        assert "FILE, and it does not begin with files" in messages[0]
        assert "batches" in messages[1]
        assert whole == [[0, 1, 2]]


def by_hints() -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    hint = tf.data.experimental.SHARD_HINT
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.HINT
    hinted = tf.data.Dataset.range(8).shard(hint, hint).map(lambda x: 10 * x).batch(4).with_options(options)
    rows = [x.numpy().tolist() for x in strategy.experimental_distribute_dataset(hinted)]
    try:
        strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4).with_options(options))
    except ValueError as error:
        return rows, str(error)


def test_each_process_takes_its_part_where_a_hint_stands() -> None:
    for rank, (rows, message) in enumerate(together(by_hints, 2)):
        assert rows == [[10 * rank, 10 * (rank + 2)], [10 * (rank + 4), 10 * (rank + 6)]]
        assert "there is no shard(SHARD_HINT, SHARD_HINT)" in message


def test_a_hint_without_a_strategy_is_an_error() -> None:
    hint = tf.data.experimental.SHARD_HINT
    hinted = tf.data.Dataset.range(8).shard(hint, hint)
    with pytest.raises(tf.errors.FailedPreconditionError, match="'num_shards' is SHARD_HINT"):
        list(hinted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'index'"):
        tf.data.Dataset.range(8).shard(2, hint)


def test_the_older_name_takes_a_way_of_communication() -> None:
    experimental = tf.distribute.experimental
    strategy = experimental.MultiWorkerMirroredStrategy(experimental.CollectiveCommunication.RING)
    assert isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    assert strategy.num_replicas_in_sync == 1


def by_files(folder: str) -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    names = [f"{folder}/{number}" for number in range(4)]
    listed = tf.data.Dataset.from_tensor_slices(names)
    sources = [
        tf.data.TextLineDataset(names).map(lambda x: tf.strings.to_number(x)).batch(4),
        listed.interleave(tf.data.TextLineDataset, cycle_length=1).batch(4),
        tf.data.Dataset.zip(tf.data.TextLineDataset(names), tf.data.TextLineDataset(names)).batch(4),
    ]
    found = []
    for source in sources:
        shared = strategy.experimental_distribute_dataset(source.with_options(options))
        rows = [tf.nest.flatten(element)[0].numpy().tolist() for element in shared]
        found.append([[int(float(x)) for x in row] for row in rows])
    few = tf.data.TextLineDataset(names[:1]).batch(2).with_options(options)
    try:
        strategy.experimental_distribute_dataset(few)
    except ValueError as error:
        return found, str(error)


def test_each_process_reads_files_of_its_own(tmp_path: Any) -> None:
    for number in range(4):
        (tmp_path / str(number)).write_text("".join(f"{10 * number + k}\n" for k in range(4)))
    for rank, (found, message) in enumerate(together(by_files, 2, str(tmp_path))):
        first, second = 10 * rank, 10 * (rank + 2)
        due = [[a + k, a + k + 1] for a in (first, second) for k in (0, 2)]
        assert found == [due] * 3
        assert "there are 1 files for 2 processes" in message


def fitted() -> Any:

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    tf.keras.utils.set_random_seed(3)
    x = np.sin(np.arange(320.0, dtype="float32")).reshape(80, 4)
    y = x.sum(1, keepdims=True)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=20, epochs=5, shuffle=False, verbose=0).history
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(20)
    history2 = model.fit(data, epochs=2, verbose=0, steps_per_epoch=None).history
    return (
        [w.ravel().tolist() for w in model.get_weights()],
        history,
        history2,
        model.evaluate(data, verbose=0),
    )


def test_keras_fits_with_two_workers_as_with_one() -> None:
    (alone,) = together(fitted, 1)
    found = together(fitted, 2)
    assert found[0][0] == found[1][0]
    for got, due in zip(found[0][0], alone[0], strict=True):
        np.testing.assert_allclose(got, due, atol=1e-5)
    for k in (1, 2):
        for name in ("loss", "mae"):
            np.testing.assert_allclose(found[0][k][name], alone[k][name], rtol=1e-4)
    np.testing.assert_allclose(found[0][3], alone[3], rtol=1e-4)


def fitted_otherwise(case: str) -> Any:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
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
        parts = [layers.Dense(5, activation="relu"), layers.Dense(1, kernel_regularizer="l2")]
        if case == "moving means":
            parts.insert(0, layers.BatchNormalization(momentum=0.5))
        model = (OwnSteps if case == "own steps" else tf.keras.Sequential)(parts)
        optimizer = tf.keras.optimizers.SGD(0.05, clipnorm=1.0)
        together = 3 if case == "several steps at once" else 1
        model.compile(optimizer=optimizer, loss="mse", metrics=["mae"], steps_per_execution=together)
    # The last batch has one row: fewer than there are processes.
    validation = {"validation_data": (x[:9], y[:9])} if case == "validation" else {}
    history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, **validation).history
    return [w.ravel().tolist() for w in model.get_weights()], history


@pytest.mark.parametrize("case", ["plain", "several steps at once", "validation", "own steps"])
def test_keras_fits_in_other_ways_with_two_workers_as_with_one(case: str) -> None:
    (alone,) = together(fitted_otherwise, 1, case)
    found = together(fitted_otherwise, 2, case)
    assert found[0][0] == found[1][0]
    for got, due in zip(found[0][0], alone[0], strict=True):
        np.testing.assert_allclose(got, due, atol=1e-5)
    if case == "validation":
        np.testing.assert_allclose(found[0][1]["val_loss"], alone[1]["val_loss"], rtol=1e-3)


def test_moving_means_are_those_of_all_workers() -> None:
    first, second = together(fitted_otherwise, 2, "moving means")
    assert first[0] == second[0]
