"""Calls of several threads that are computed as one."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import penstock as tf


def sizes_of(calls, **settings):
    """What a function gives for calls of threads that start together, and the sizes of its batches."""
    seen = []
    given = {"num_batch_threads": 1, "max_batch_size": 4, "batch_timeout_micros": 300_000, **settings}

    @tf.nondifferentiable_batch_function(**given)
    def double(x):
        tf.py_function(lambda n: seen.append(int(n)), [tf.shape(x)[0]], [])
        return x * 2

    start = threading.Barrier(len(calls))

    def call(values):
        start.wait()
        return double(tf.constant(values)).numpy().tolist()

    with ThreadPoolExecutor(len(calls)) as pool:
        results = list(pool.map(call, calls))
    assert results == [[2 * value for value in values] for values in calls]
    return seen


def test_calls_of_threads_are_one_batch():
    assert sizes_of([[1], [2], [3], [4]]) == [4]


def test_a_full_batch_does_not_wait():
    assert sizes_of([[1, 2, 3, 4]], batch_timeout_micros=60_000_000) == [4]


def test_a_batch_that_is_not_full_runs_after_its_time():
    assert sizes_of([[1], [2]], batch_timeout_micros=200_000) == [2]


def test_batches_are_filled_up_to_sizes_that_are_allowed():
    assert sizes_of([[1], [2], [3]], max_batch_size=8, allowed_batch_sizes=[2, 4, 8]) == [4]


def test_large_calls_are_divided():
    assert sizes_of([list(range(10))], batch_timeout_micros=100) == [4, 4, 2]
    single = tf.nondifferentiable_batch_function(1, 2, 100, enable_large_batch_splitting=False)(lambda x: x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'max_batch_size' is 2, a call has 3 rows"):
        single(tf.constant([1, 2, 3]))


def test_functions_have_structures_and_run_in_functions():
    @tf.nondifferentiable_batch_function(2, 8, 100)
    def both(x, y):
        return {"sum": x + y, "product": (x * y,)}

    for call in (both, tf.function(lambda x, y: both(x, y))):
        found = call(tf.constant([[1.0], [2.0]]), tf.constant([[3.0], [4.0]]))
        assert found["sum"].numpy().tolist() == [[4.0], [6.0]]
        assert found["product"][0].numpy().tolist() == [[3.0], [8.0]]


def test_errors_reach_every_call_of_a_batch():
    @tf.nondifferentiable_batch_function(1, 2, 500_000)
    def failing(x):
        tf.debugging.assert_less(x, 5)
        return x

    def call(value):
        with pytest.raises(tf.errors.InvalidArgumentError):
            failing(tf.constant([value]))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(call, [1, 9]))


def test_arguments_are_checked():
    for settings, message in [
        ((0, 1, 1), "'num_batch_threads' must be at least 1"),
        ((1, 0, 1), "'max_batch_size' must be at least 1"),
        ((1, 8, 1, [4, 2, 8]), "'allowed_batch_sizes' must ascend"),
        ((1, 8, 1, [2, 4]), "'allowed_batch_sizes' must ascend to 'max_batch_size', 8"),
    ]:
        with pytest.raises(ValueError, match=message):
            tf.nondifferentiable_batch_function(*settings)
    same = tf.nondifferentiable_batch_function(1, 8, 1)(lambda x, y: x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many rows"):
        same(tf.constant([1]), tf.constant([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="tensors with rows, got a scalar"):
        same(tf.constant(1), tf.constant([1, 2]))


def test_batches_that_wait_are_counted():
    inside, go = threading.Event(), threading.Event()

    def hold(x):
        inside.set()
        go.wait(30)
        return x

    batched = tf.nondifferentiable_batch_function(1, 1, 1, max_enqueued_batches=1)(
        lambda x: tf.py_function(hold, [x], tf.TensorSpec([None], tf.int32))
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(batched, tf.constant([1]))
        assert inside.wait(30)
        second = pool.submit(batched, tf.constant([2]))
        # The second one waits for the first, so this one, which comes later, has no place.
        time.sleep(0.5)
        with pytest.raises(tf.errors.UnavailableError, match="'max_enqueued_batches' is 1"):
            batched(tf.constant([3]))
        go.set()
        assert (first.result().numpy().tolist(), second.result().numpy().tolist()) == ([1], [2])
