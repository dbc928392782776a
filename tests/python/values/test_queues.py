"""Queues: elements in their order, waiting, closing, and queues in functions."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import penstock as tf


def filled(queue: Any, values: list[int]) -> Any:
    for value in values:
        queue.enqueue(value)
    return queue


def in_thread(function: Any) -> tuple[threading.Thread, list[Any]]:
    """A started thread, and what the function gave or raised."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


def waits(queue: Any, side: str) -> None:
    """Waits until a call of that side is in the queue's line."""
    store = queue.queue_ref.stores[0]
    with store._changed:
        assert store._changed.wait_for(lambda: len(getattr(store, side)) > 0, timeout=60)


def test_elements_come_in_the_order_in_which_they_went() -> None:
    queue = filled(tf.queue.FIFOQueue(-1, tf.int32), [3, 1, 2])
    assert [int(queue.dequeue()) for _ in range(3)] == [3, 1, 2]
    assert (int(queue.size()), queue.size().dtype) == (0, tf.int32)
    assert (queue.dtypes, queue.names, queue.name.startswith("fifo_queue")) == ([tf.int32], None, True)


def test_components_by_position_and_by_name() -> None:
    queue = tf.queue.FIFOQueue(5, [tf.int32, tf.string], shapes=[[2], []])
    queue.enqueue([[1, 2], "a"])
    queue.enqueue_many([[[3, 4], [5, 6]], ["b", "c"]])
    first = queue.dequeue()
    assert (first[0].numpy().tolist(), first[1].numpy()) == ([1, 2], b"a")
    assert [t.numpy().tolist() for t in queue.dequeue_many(2)] == [[[3, 4], [5, 6]], [b"b", b"c"]]
    assert [t.shape.as_list() for t in queue.dequeue_many(0)] == [[0, 2], [0]]
    named = tf.queue.FIFOQueue(5, [tf.int32, tf.float32], names=["i", "x"])
    named.enqueue({"i": 1, "x": 0.5})
    assert {k: float(v) for k, v in named.dequeue().items()} == {"i": 1.0, "x": 0.5}
    for wrong, message in (([1, 0.5], "dict"), ({"i": 1}, "keys")):
        with pytest.raises(ValueError, match=message):
            named.enqueue(wrong)
    for wrong in ([1], [[1], "a"], {"i": 1}):
        with pytest.raises(ValueError, match="vals"):
            queue.enqueue(wrong)
    with pytest.raises(ValueError, match="one length"):
        queue.enqueue_many([[[1, 2]], ["a", "b"]])


def test_batches_need_shapes() -> None:
    queue = filled(tf.queue.FIFOQueue(5, [tf.int32]), [1])
    with pytest.raises(ValueError, match="shapes"):
        queue.dequeue_many(1)
    with pytest.raises(ValueError, match="fully defined"):
        tf.queue.FIFOQueue(5, [tf.int32], [[None]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
        tf.queue.FIFOQueue(5, [tf.int32], [[]]).dequeue_many(-1)


def test_priorities_are_served_in_order_and_ties_in_turn() -> None:
    queue = tf.queue.PriorityQueue(10, [tf.string], [[]])
    for element in ((2, "x"), (1, "a"), (2, "y"), (-3, "first")):
        queue.enqueue(element)
    priorities, words = queue.dequeue_many(4)
    assert priorities.numpy().tolist() == [-3, 1, 2, 2]
    assert words.numpy().tolist() == [b"first", b"a", b"x", b"y"]
    assert queue.dtypes == [tf.int64, tf.string]


def test_batches_are_filled_up_with_zeros() -> None:
    queue = tf.queue.PaddingFIFOQueue(10, [tf.int32, tf.string], [[None, 2], [None]])
    queue.enqueue([[[1, 2]], ["a", "b"]])
    queue.enqueue([tf.zeros([0, 2], tf.int32), ["c"]])
    numbers, words = queue.dequeue_many(2)
    assert numbers.numpy().tolist() == [[[1, 2]], [[0, 0]]]
    assert words.numpy().tolist() == [[b"a", b"b"], [b"c", b""]]
    queue.close()
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue_up_to(2)
    with pytest.raises(ValueError, match="known rank"):
        tf.queue.PaddingFIFOQueue(10, [tf.int32], [tf.TensorShape(None)])


def test_a_shuffled_queue_keeps_some_elements_until_it_is_closed() -> None:
    def order(seed: int) -> list[int]:
        queue = tf.queue.RandomShuffleQueue(50, 0, [tf.int32], [[]], seed=seed)
        queue.enqueue_many([list(range(50))])
        return queue.dequeue_many(50).numpy().tolist()

    assert sorted(order(1)) == list(range(50))
    assert order(1) == order(1) != list(range(50))
    queue = filled(tf.queue.RandomShuffleQueue(10, 2, [tf.int32], [[]]), [1, 2])
    thread, found = in_thread(queue.dequeue)
    waits(queue, "_taking")
    assert not found
    queue.enqueue(3)
    thread.join(60)
    assert int(found[0]) in (1, 2, 3)
    queue.close()
    assert len(queue.dequeue_many(2).numpy()) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue"):
        tf.queue.RandomShuffleQueue(2, 2, [tf.int32])


def test_a_full_queue_lets_its_callers_wait_in_turn() -> None:
    queue = filled(tf.queue.FIFOQueue(1, [tf.int32], [[]]), [0])
    thread, found = in_thread(lambda: queue.enqueue_many([[1, 2, 3]]))
    waits(queue, "_putting")
    assert queue.dequeue_many(4).numpy().tolist() == [0, 1, 2, 3]
    thread.join(60)
    assert found == [None]


def test_an_empty_queue_lets_its_callers_wait() -> None:
    queue = tf.queue.FIFOQueue(1, [tf.int32], [[]])
    thread, found = in_thread(lambda: queue.dequeue_many(3).numpy().tolist())
    queue.enqueue_many([[1, 2, 3]])
    thread.join(60)
    assert found == [[1, 2, 3]]


def test_closing_ends_what_waits_for_elements() -> None:
    queue = filled(tf.queue.FIFOQueue(5, [tf.int32], [[]]), [7])
    thread, found = in_thread(lambda: queue.dequeue_many(2))
    waits(queue, "_taking")
    queue.close()
    thread.join(60)
    assert isinstance(found[0], tf.errors.OutOfRangeError)
    assert "insufficient elements (requested 2, current size 1)" in str(found[0])
    assert (bool(queue.is_closed()), int(queue.size())) == (True, 1)
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        queue.enqueue(1)
    assert queue.dequeue_up_to(5).numpy().tolist() == [7]
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue()


@pytest.mark.parametrize("cancel", [True, False])
def test_closing_cancels_what_waits_for_room_if_asked_to(cancel: bool) -> None:
    queue = filled(tf.queue.FIFOQueue(1, [tf.int32]), [1])
    thread, found = in_thread(lambda: queue.enqueue(2))
    waits(queue, "_putting")
    queue.close(cancel_pending_enqueues=cancel)
    if cancel:
        thread.join(60)
        assert isinstance(found[0], tf.errors.CancelledError)
        assert int(queue.dequeue()) == 1
    else:
        assert not bool(queue.is_closed())
        assert [int(queue.dequeue()), int(queue.dequeue())] == [1, 2]
        thread.join(60)
        assert found == [None]
    assert bool(queue.is_closed())


def test_functions_use_queues_each_time_that_they_run() -> None:
    queue = tf.queue.FIFOQueue(10, [tf.int32], [[]])

    @tf.function
    def step(x: tf.Tensor) -> Any:
        queue.enqueue(x)
        queue.enqueue(x + 1)
        first = queue.dequeue()
        return first, queue.size()

    assert [int(t) for t in step(tf.constant(5))] == [5, 1]
    assert [int(t) for t in step(tf.constant(8))] == [6, 2]
    assert step.experimental_get_tracing_count() == 1

    @tf.function
    def rest(n: tf.Tensor) -> tf.Tensor:
        batch = queue.dequeue_many(n)
        assert batch.shape.as_list() == [None]
        queue.close()
        return tf.reduce_sum(batch)

    assert int(rest(tf.constant(2))) == 8 + 9
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.function(queue.dequeue)()


def test_loops_fill_and_empty_queues() -> None:
    queue = tf.queue.FIFOQueue(100, [tf.int32], [[]])

    @tf.function
    def run(n: tf.Tensor) -> tf.Tensor:
        for i in tf.range(n):
            queue.enqueue(i * i)
        total = 0
        while queue.size() > 0:
            total += queue.dequeue()
        return total

    assert int(run(tf.constant(5))) == 30


def test_functions_in_threads_wait_for_each_other() -> None:
    queue = tf.queue.FIFOQueue(2, [tf.int32], [[]])
    produce = tf.function(lambda x: queue.enqueue(x))
    consume = tf.function(lambda: queue.dequeue())
    thread, found = in_thread(lambda: [int(consume()) for _ in range(20)])
    for i in range(20):
        produce(tf.constant(i))
    thread.join(60)
    assert found == [list(range(20))]


def test_queues_of_a_list_by_number() -> None:
    queues = [tf.queue.FIFOQueue(5, [tf.int32], [[]]) for _ in range(3)]

    @tf.function
    def put(i: tf.Tensor, x: tf.Tensor) -> None:
        tf.queue.QueueBase.from_list(i, queues).enqueue(x)

    put(tf.constant(2), tf.constant(7))
    put(tf.constant(0), tf.constant(8))
    assert [int(q.size()) for q in queues] == [1, 0, 1]
    assert int(queues[2].dequeue()) == 7
    with pytest.raises(TypeError, match="dtypes"):
        tf.queue.QueueBase.from_list(0, [queues[0], tf.queue.FIFOQueue(5, [tf.string])])
    with pytest.raises(TypeError, match="queues"):
        tf.queue.QueueBase.from_list(0, [])


def test_shared_names_mean_one_queue() -> None:
    a, b = (tf.queue.FIFOQueue(5, [tf.int32], shared_name="both") for _ in "ab")
    a.enqueue(1)
    assert int(b.dequeue()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="shared_name"):
        tf.queue.FIFOQueue(6, [tf.int32], shared_name="both")
    again = tf.queue.QueueBase(a.dtypes, a.shapes, a.names, a.queue_ref)
    again.enqueue(2)
    assert int(a.dequeue()) == 2


def test_sessions_run_operations_of_queues() -> None:
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(5, [tf.float32], [[]])
        x = tf.compat.v1.placeholder(tf.float32, [])
        put, take = queue.enqueue(x), queue.dequeue()
        with tf.compat.v1.Session() as session:
            session.run(put, {x: 1.5})
            session.run(put, {x: 2.5})
            assert [float(session.run(take)) for _ in range(2)] == [1.5, 2.5]
