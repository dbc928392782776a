"""Threads of data sets: what is computed ahead, what runs at once, in which order, and how threads end."""

import gc
import os
import subprocess
import sys
import threading

import pytest
from support.data_cases import INT, asked, listed, numbers

import penstock as tf

Dataset = tf.data.Dataset

# Longer than any wait for another thread takes; it ends tests that would wait for ever.
PATIENCE = 60


def data_threads():
    return [t for t in threading.enumerate() if t.name == "penstock-data"]


def eventually(condition):
    """Waits until a condition holds that another thread brings about."""
    waiting = threading.Event()
    for _ in range(100 * PATIENCE):
        if condition():
            return True
        waiting.wait(0.01)
    return False


def meeting(count):
    """A function of an element that gives it once `count` threads are in the function."""
    barrier = threading.Barrier(count, timeout=PATIENCE)

    def meet(x):
        barrier.wait()
        return x

    return meet


@pytest.mark.parametrize("size", [1, 3])
def test_elements_are_computed_ahead_up_to_the_size_of_the_buffer(size):
    dataset, seen = asked(20)
    iterator = iter(dataset.prefetch(size))
    assert seen == []
    assert int(next(iterator)) == 0
    assert eventually(lambda: len(seen) == 1 + size)
    assert [int(x) for x in iterator] == list(range(1, 20))


def test_the_program_goes_on_while_elements_are_computed():
    meet = meeting(2)
    iterator = iter(numbers(4).map(lambda x: tf.py_function(meet, [x], tf.int64)).prefetch(1))
    barrier_of_the_program = threading.Thread(target=lambda: [meet(None) for _ in range(4)])
    barrier_of_the_program.start()
    assert [int(x) for x in iterator] == [0, 1, 2, 3]
    barrier_of_the_program.join()


def test_nothing_is_read_ahead_into_a_buffer_of_none():
    dataset, seen = asked(5)
    # Threads of the tests before may still be ending.
    before = data_threads()
    iterator = iter(dataset.prefetch(0))
    assert [int(next(iterator)) for _ in range(2)] == [0, 1]
    assert seen == [0, 1]
    assert set(data_threads()) <= set(before)


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
@pytest.mark.parametrize("deterministic", [None, True, False])
def test_callbacks_run_at_once(call, deterministic):
    meet = meeting(3)
    found = numbers(9).map(lambda x: call(meet, [x], tf.int64), 3, deterministic)
    assert sorted(listed(found)) == list(range(9))


def test_results_come_in_order_or_as_they_are_ready():
    until = threading.Event()

    def late(x):
        if x == 0:
            until.wait(PATIENCE)
        elif x == 1 and in_order is not False:
            until.set()
        return x

    for in_order in (None, True):
        until.clear()
        found = numbers(3).map(lambda x: tf.numpy_function(late, [x], tf.int64), 2, in_order)
        assert listed(found) == [0, 1, 2]
    in_order = False
    until.clear()
    iterator = iter(numbers(3).map(lambda x: tf.numpy_function(late, [x], tf.int64), 2, in_order))
    assert int(next(iterator)) == 1
    until.set()
    assert sorted(int(x) for x in iterator) == [0, 2]


def test_data_sets_are_read_at_once_and_interleaved_in_order():
    meet = meeting(3)

    def read(x):
        meet(x)
        yield from range(10 * x, 10 * x + 2)

    def opened(x):
        return Dataset.from_generator(read, args=(x,), output_signature=INT)

    found = listed(numbers(3).interleave(opened, cycle_length=3, num_parallel_calls=3))
    assert found == [0, 10, 20, 1, 11, 21]


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("cycle", [1, 2, 5])
@pytest.mark.parametrize("calls", [1, 2, 5, tf.data.AUTOTUNE])
def test_interleaving_at_once_gives_what_interleaving_gives(calls, cycle, block):
    def interleaved(**how):
        return numbers(9).interleave(lambda x: numbers(x % 4).map(lambda y: 10 * x + y), cycle, block, **how)

    calls = min(calls, cycle)
    assert listed(interleaved(num_parallel_calls=calls)) == listed(interleaved())


def failing(x):
    if x % 3 == 2:
        raise ValueError(f"element {int(x)}")
    return x


def outcomes(dataset):
    """The elements, and the messages of errors in their places."""
    iterator, found = iter(dataset), []
    while True:
        try:
            found.append(int(next(iterator)))
        except StopIteration:
            return found
        except ValueError as error:
            found.append(str(error).partition("\n")[0])


def test_errors_come_in_the_places_of_their_elements():
    def fail(x):
        return tf.py_function(failing, [x], tf.int64)

    expected = [0, 1, "element 2", 3, 4, "element 5", 6]
    assert outcomes(numbers(7).map(fail)) == expected
    assert outcomes(numbers(7).map(fail).prefetch(3)) == expected
    assert outcomes(numbers(7).map(fail, 3)) == expected
    assert outcomes(numbers(7).map(fail).map(lambda x: tf.py_function(int, [x], tf.int64), 3)) == expected

    def opened(x):
        return Dataset.from_tensors(fail(x))

    serial = numbers(7).interleave(opened, 2)
    assert outcomes(serial) == outcomes(numbers(7).interleave(opened, 2, num_parallel_calls=2))
    assert outcomes(numbers(7).map(fail).interleave(Dataset.from_tensors, 2)) == outcomes(
        numbers(7).map(fail).interleave(Dataset.from_tensors, 2, num_parallel_calls=2)
    )


def test_random_numbers_do_not_depend_on_who_is_quicker():
    def draw(x):
        return tf.py_function(float, [tf.random.uniform([])], tf.float32) + tf.random.uniform([])

    def drawn():
        tf.random.set_seed(7)
        dataset = numbers(20).map(draw, num_parallel_calls=4).shuffle(5).prefetch(3)
        return listed(dataset), float(tf.random.uniform([]))

    first, second = drawn(), drawn()
    assert first == second
    assert len(set(first[0])) == 20


def test_threads_end_with_their_iterators():
    def endless(x):
        return Dataset.from_tensors(tf.py_function(int, [x], tf.int64)).repeat()

    made = (
        numbers(10).repeat().prefetch(2),
        numbers(10).repeat().map(lambda x: tf.py_function(int, [x], tf.int64), 3),
        numbers(10).interleave(endless, 3, num_parallel_calls=2),
        numbers(3).prefetch(2),
    )
    for dataset in made:
        iterator = iter(dataset)
        next(iterator)
    del iterator
    gc.collect()
    assert eventually(lambda: data_threads() == [])


def test_a_loop_of_the_graph_reads_ahead():
    dataset, seen = asked(6)

    @tf.function
    def total(ds):
        s = tf.constant(0, tf.int64)
        for x in ds.map(lambda x: tf.py_function(int, [x], tf.int64), num_parallel_calls=2).prefetch(2):
            s += tf.ensure_shape(x, [])
        return s

    assert [int(total(dataset)) for _ in range(2)] == [15, 15]
    assert seen == list(range(6)) * 2


@pytest.mark.parametrize("number", [0, -2])
def test_numbers_of_calls_are_checked(number):
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls"):
        numbers(3).map(lambda x: x, num_parallel_calls=number)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls"):
        numbers(3).interleave(Dataset.range, 2, num_parallel_calls=3)
    with pytest.raises(TypeError, match="num_parallel_calls"):
        numbers(3).map(lambda x: x, num_parallel_calls=2.5)


FORKING = """
import os
import penstock as tf

iterator = iter(tf.data.Dataset.range(100).prefetch(2))
next(iterator)
if os.fork() == 0:
    try:
        next(iterator)
    except tf.errors.FailedPreconditionError:
        total = sum(int(x) for x in tf.data.Dataset.range(5).prefetch(2))
        os._exit(total)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.wait()[1]), int(next(iterator)))
"""

ENDING = """
import time
import penstock as tf

def forever():
    while True:
        yield 1
        time.sleep(0.001)

ds = tf.data.Dataset.from_generator(forever, output_signature=tf.TensorSpec([], tf.int32))
ds = ds.map(lambda x: tf.py_function(lambda y: y, [x], tf.int32), num_parallel_calls=3).prefetch(3)
print(int(next(iter(ds))), int(next(iterator := iter(ds))))
"""


@pytest.mark.of_host
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forked_process_makes_its_own_iterators():
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "10 1\n"), done.stderr


def test_a_program_ends_while_threads_are_at_work():
    command = [sys.executable, "-W", "ignore", "-c", ENDING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1\n", "")
