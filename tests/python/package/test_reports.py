"""Measurements, skipped tests, switches of reports, and memory."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import penstock as tf


class Measured(tf.test.Benchmark):
    def benchmark_ones(self) -> None:
        self.run_op_benchmark(None, lambda: tf.ones([3]), min_iters=3, extras={"size": 3})

    def benchmark_reported(self) -> None:
        self.report_benchmark(iters=2, wall_time=0.5, throughput=3.0, metrics=[{"name": "m", "value": 1.0}])


def test_measurements_are_lines_of_json(capsys: Any) -> None:
    tf.test.main(["program", "--benchmarks=Measured"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["name"] for line in lines] == ["Measured.benchmark_ones", "Measured.benchmark_reported"]
    assert lines[0]["iters"] == 3
    assert lines[0]["extras"]["size"] == 3
    assert lines[1] == {
        "name": "Measured.benchmark_reported",
        "iters": 2,
        "wall_time": 0.5,
        "throughput": 3.0,
        "metrics": [{"name": "m", "value": 1.0}],
    }
    tf.test.main(["program", "--benchmarks=reported"])
    assert len(capsys.readouterr().out.splitlines()) == 1
    with pytest.raises(ValueError, match="name"):
        Measured().report_benchmark(iters=1)
    assert not Measured.is_abstract()


def test_measurements_of_sessions() -> None:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = x + 1.0
        with tf.compat.v1.Session(config=tf.test.benchmark_config()) as session:
            found = Measured().run_op_benchmark(session, y, {x: 1.0}, min_iters=2, name="add", mbs=1.0)
    assert (found["iters"], found["name"]) == (2, "add")
    assert found["wall_time"] <= found["extras"]["wall_time_max"]
    assert Measured().evaluate(lambda: {"a": tf.constant(2)}) == {"a": 2}


def test_tests_are_skipped_where_a_condition_holds() -> None:
    class Tests(tf.test.TestCase):
        @tf.test.disable_with_predicate(lambda: False, "never")
        def test_runs(self) -> None:
            self.ran = True

    case = Tests("test_runs")
    assert not case.run().skipped
    assert case.ran


@pytest.mark.parametrize("wrong", [tf.constant([1]), np.ones(2), "ab", b"ab", 3, tf.Variable([1])], ids=str)
def test_single_values_are_no_containers(wrong: Any) -> None:
    with pytest.raises(TypeError, match="values"):
        tf.debugging.assert_proper_iterable(wrong)


def test_containers() -> None:
    for values in ([1], (1,), {"a": 1}, {1}, iter([1]), range(3)):
        tf.debugging.assert_proper_iterable(values)


def test_memory_of_the_process() -> None:
    experimental = tf.config.experimental
    before = experimental.get_memory_info("CPU:0")
    held = np.ones(1 << 24)
    after = experimental.get_memory_info("/device:CPU:0")
    assert after["current"] - before["current"] > held.nbytes // 2
    assert after["peak"] >= after["current"]
    assert experimental.get_memory_usage("CPU:0") > 0
    with pytest.raises(ValueError, match="device"):
        experimental.get_memory_info("GPU:0")
    with pytest.raises(ValueError, match="device"):
        experimental.reset_memory_stats("nothing")


def test_types_of_replicas_and_functions() -> None:
    distributed = tf.types.experimental.distributed
    assert isinstance(tf.constant(1), distributed.PerReplica)
    assert isinstance(tf.Variable(1), distributed.Mirrored)
    assert not isinstance(1, distributed.PerReplica)
    trace = tf.function(lambda: 1).get_concrete_function()
    assert isinstance(trace.inference_fn, tf.types.experimental.AtomicFunction)


def test_old_names_of_references_and_operators() -> None:
    x, v = tf.constant(1), tf.Variable(1)
    assert x.experimental_ref() == x.ref()
    assert v.experimental_ref().deref() is v
    assert {"__add__", "__getitem__", "__rmatmul__"} <= tf.Tensor.OVERLOADABLE_OPERATORS
    assert all(hasattr(tf.Tensor, name) for name in tf.Tensor.OVERLOADABLE_OPERATORS)
