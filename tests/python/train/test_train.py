"""Means of variables, threads that stop together, views of checkpoints, and descriptions of clusters."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_means_follow_their_variables(dtype: str) -> None:
    v = tf.Variable(2.0, dtype=dtype, name="v")
    averages = tf.train.ExponentialMovingAverage(0.5)
    assert averages.average(v) is None
    averages.apply([v])
    v.assign(4.0)
    averages.apply([v])
    mean = averages.average(v)
    assert (mean.dtype.name, float(mean), mean.trainable) == (dtype, 3.0, False)
    assert averages.average_name(v) == "v/ExponentialMovingAverage"
    assert averages.variables_to_restore() == {"v/ExponentialMovingAverage": v}
    with pytest.raises(TypeError, match="var_list"):
        averages.apply([tf.Variable(1)])


def test_means_in_functions_and_early_means() -> None:
    v = tf.Variable([0.0, 0.0])
    step = tf.Variable(0.0)
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=step)

    @tf.function
    def train() -> None:
        v.assign_add([1.0, 2.0])
        averages.apply([v])
        step.assign_add(1.0)

    train()
    # The first trace adds before the mean is made.
    due = averages.average(v).numpy().astype(float)
    value = np.array([1.0, 2.0])
    for count in range(1, 4):
        train()
        value += [1.0, 2.0]
        decay = min(0.9, (1 + count) / (10 + count))
        due = decay * due + (1 - decay) * value
    assert np.allclose(averages.average(v).numpy(), due)


def test_means_are_saved(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    averages = tf.train.ExponentialMovingAverage(0.5)
    averages.apply([v])
    path = tf.train.Checkpoint(v=v, averages=averages).save(tmp_path / "ckpt")
    averages.average(v).assign(9.0)
    tf.train.Checkpoint(v=v, averages=averages).restore(path).assert_consumed()
    assert float(averages.average(v)) == 1.0


def test_threads_stop_together_and_errors_come_out() -> None:
    coordinator = tf.train.Coordinator()

    def wait() -> None:
        coordinator.wait_for_stop()

    def fail() -> None:
        with coordinator.stop_on_exception():
            raise KeyError("broken")

    threads = [threading.Thread(target=f) for f in (wait, wait, fail)]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyError, match="broken"):
        coordinator.join(threads)
    assert (coordinator.joined, coordinator.should_stop()) == (True, True)
    with pytest.raises(KeyError):
        coordinator.raise_requested_exception()
    coordinator.clear_stop()
    assert not coordinator.should_stop()


def test_clean_ends_and_threads_that_do_not_stop() -> None:
    coordinator = tf.train.Coordinator(clean_stop_exception_types=(StopIteration,))
    with coordinator.stop_on_exception():
        raise StopIteration
    coordinator.join()
    coordinator = tf.train.Coordinator()
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="stubborn", daemon=True)
    thread.start()
    coordinator.register_thread(thread)
    coordinator.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coordinator.join(stop_grace_period_secs=0)
    end.set()


def test_queues_end_a_thread_cleanly() -> None:
    queue = tf.queue.FIFOQueue(2, [tf.int32], [[]])
    coordinator, found = tf.train.Coordinator(), []

    def consume() -> None:
        with coordinator.stop_on_exception():
            while True:
                found.append(int(queue.dequeue()))

    thread = threading.Thread(target=consume)
    thread.start()
    for i in range(5):
        queue.enqueue(i)
    queue.close()
    coordinator.join([thread])
    assert found == [0, 1, 2, 3, 4]


def test_views_of_objects_and_of_checkpoints(tmp_path: Path) -> None:
    module = tf.Module()
    module.a, module.parts = tf.Variable(1.0), [tf.Variable(2.0)]
    view = tf.train.TrackableView(module)
    assert view.root is module
    assert set(view.children(module)) == {"a", "parts"}
    assert len(view.descendants()) == 4
    path = tf.train.Checkpoint(module).write(tmp_path / "values")
    saved = tf.train.CheckpointView(path)
    assert set(saved.children(0)) == {"a", "parts"}
    assert saved.descendants() == [0, 1, 2, 3]
    matched = saved.match(module)
    assert matched[saved.children(0)["a"]] is module.a
    other = tf.Module()
    other.a, other.b = tf.Variable(0.0), tf.Variable(0.0)
    missing, alone, common = saved.diff(tf.train.TrackableView(other))
    assert (len(missing), alone, len(common)) == (2, [other.b], 2)
    with pytest.raises(IndexError, match="node_id"):
        saved.children(9)
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.CheckpointView(tmp_path / "nothing")


def test_states_of_python_objects_are_saved(tmp_path: Path) -> None:
    class State(tf.train.experimental.PythonState):
        def __init__(self, value: bytes) -> None:
            self.value = value

        def serialize(self) -> bytes:
            return self.value

        def deserialize(self, string_value: bytes) -> None:
            self.value = string_value

    path = tf.train.Checkpoint(state=State(b"a\0b"), v=tf.Variable(1.0)).save(tmp_path / "ckpt")
    reader = tf.train.load_checkpoint(path)
    assert reader.get_tensor("state/.ATTRIBUTES/py_state") == b"a\0b"
    restored = State(b"")
    tf.train.Checkpoint(state=restored, v=tf.Variable(0.0)).restore(path).assert_consumed()
    assert restored.value == b"a\0b"
    with pytest.raises(TypeError, match="abstract"):
        tf.train.experimental.PythonState()


def test_clusters() -> None:
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1"], "ps": {0: "c:1", 2: "d:1"}})
    assert cluster.jobs == ["worker", "ps"]
    assert cluster.as_dict() == {"worker": ["a:1", "b:1"], "ps": {0: "c:1", 2: "d:1"}}
    assert (cluster.num_tasks("ps"), cluster.task_indices("ps")) == (2, [0, 2])
    assert cluster.job_tasks("ps") == ["c:1", None, "d:1"]
    assert cluster == tf.train.ClusterSpec(cluster)
    assert (bool(cluster), bool(tf.train.ClusterSpec({}))) == (True, False)
    for call in (lambda: cluster.num_tasks("none"), lambda: cluster.task_address("ps", 1)):
        with pytest.raises(ValueError, match="argument"):
            call()
    wrong: Any
    for wrong in (3, {"worker": "a"}, {"worker": [1]}):
        with pytest.raises(TypeError, match="cluster"):
            tf.train.ClusterSpec(wrong)
