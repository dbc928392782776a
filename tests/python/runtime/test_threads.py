"""Sixteen threads at work: calls, traces, variables, gradients, callbacks and data sets stay right.

The interpreter is asked to switch threads as often as it can; a free-threaded one needs no asking.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import run_together

import penstock as tf

THREADS = 16
ROUNDS = 20


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_calls_of_one_function_give_each_thread_its_results() -> None:
    @tf.function
    def f(x: Any, scale: Any) -> Any:
        total = tf.zeros_like(x)
        for i in tf.range(3):
            if i % 2 == 0:
                total += x * scale
        return total

    def work(i: int) -> None:
        # The threads share the traces of four shapes.
        x = np.full(i % 4 + 1, i, np.float32)
        for n in range(ROUNDS):
            assert f(tf.constant(x), float(n % 2)).numpy().tolist() == (2 * x * (n % 2)).tolist()

    run_together(THREADS, work)
    assert f.experimental_get_tracing_count() == 8


def test_each_thread_traces_and_converts_functions_of_its_own() -> None:
    def work(i: int) -> None:
        for n in range(ROUNDS // 4):

            @tf.function
            def f(x: Any, i: int = i, n: int = n) -> Any:
                steps = []
                while x > 0:
                    x -= i + 1
                    steps.append(x)
                return len(steps) * 100 + n if not tf.is_tensor(x) else x * 100 + n

            last = 50
            while last > 0:
                last -= i + 1
            assert int(f(tf.constant(50))) == last * 100 + n

    run_together(THREADS, work)


def test_variables_lose_no_update_and_are_read_whole() -> None:
    v = tf.Variable(tf.zeros([64]))

    @tf.function
    def traced(by: Any) -> Any:
        return v.assign_add(tf.fill([64], by))

    def work(i: int) -> None:
        for _ in range(ROUNDS):
            if i % 2:
                traced(tf.constant(1.0))
            else:
                v.assign_add(tf.ones([64]))
            assert len(set(v.numpy().tolist())) == 1

    run_together(THREADS, work)
    assert v.numpy().tolist() == [THREADS * ROUNDS] * 64


def test_tapes_record_what_their_own_thread_does() -> None:
    shared = tf.Variable(3.0)

    @tf.function
    def loss(x: Any) -> Any:
        return x * x * shared

    def work(i: int) -> None:
        x = tf.Variable(float(i))
        for _ in range(ROUNDS):
            with tf.GradientTape(persistent=True) as tape:
                eager = x * x * shared
                traced = loss(x)
            for y in (eager, traced):
                gradients = [float(g) for g in tape.gradient(y, [x, shared])]
                assert gradients == [6.0 * i, float(i * i)]

    run_together(THREADS, work)


def test_callbacks_run_for_the_call_that_wants_them() -> None:
    def doubled(x: Any) -> Any:
        return np.float32(sum(range(int(x) * 2 + 1)) - sum(range(int(x) * 2)))

    @tf.function
    def f(x: Any) -> Any:
        y = tf.numpy_function(doubled, [x], tf.float32)
        return y + tf.cast(x, tf.float32)

    def work(i: int) -> None:
        for n in range(ROUNDS):
            assert float(f(tf.constant(i * ROUNDS + n))) == 3.0 * (i * ROUNDS + n)

    run_together(THREADS, work)


def test_iterators_of_one_data_set_are_apart_and_one_iterator_is_shared() -> None:
    rows = tf.data.Dataset.range(64).map(lambda x: x * x).batch(4).prefetch(2)
    common = iter(tf.data.Dataset.range(THREADS * ROUNDS))
    taken: list[list[int]] = [[] for _ in range(THREADS)]

    def work(i: int) -> None:
        assert [int(x) for row in rows for x in row] == [x * x for x in range(64)]
        taken[i] = [int(next(common)) for _ in range(ROUNDS)]

    run_together(THREADS, work)
    assert sorted(x for part in taken for x in part) == list(range(THREADS * ROUNDS))
    assert all(part == sorted(part) for part in taken)


def test_errors_come_out_of_the_thread_that_made_them() -> None:
    @tf.function
    def f(x: Any, size: Any) -> Any:
        return tf.reshape(x, [size, -1])

    def work(i: int) -> None:
        x = tf.zeros([6])
        for size in (2, 4, 3, 5):
            if 6 % size == 0:
                assert f(x, tf.constant(size)).shape == [size, 6 // size]
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match="6 values"):
                    f(x, tf.constant(size))

    run_together(THREADS, work)
