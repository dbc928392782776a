"""What type checkers know of data sets, iterators and optionals. `make lint` checks it, nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

import penstock as tf

numbers = tf.data.Dataset.range(10)
pairs = tf.data.Dataset.from_tensor_slices(([1, 2], [3.0, 4.0]))


def halves(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Give a pair."""
    return x // 2, x % 2


def up_to(x: tf.Tensor) -> tf.data.Dataset[tf.Tensor]:
    """Give a data set."""
    return tf.data.Dataset.range(x)


def total(s: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Give the next state."""
    return s + x


def running(s: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Give the next state and a result."""
    return s + x, {"total": s}


assert_type(numbers, tf.data.Dataset[tf.Tensor])
assert_type(pairs, tf.data.Dataset[Any])
assert_type(tf.data.Dataset.from_tensor_slices([1, 2]), tf.data.Dataset[tf.Tensor])
assert_type(tf.data.TextLineDataset("a.txt").batch(2), tf.data.Dataset[tf.Tensor])

assert_type(numbers.map(halves), tf.data.Dataset[tuple[tf.Tensor, tf.Tensor]])
assert_type(numbers.map(halves).shuffle(4).batch(2).prefetch(1), tf.data.Dataset[tuple[tf.Tensor, tf.Tensor]])
assert_type(numbers.filter(lambda x: x > 3).take(2).repeat(), tf.data.Dataset[tf.Tensor])
assert_type(numbers.enumerate(), tf.data.Dataset[tuple[tf.Tensor, tf.Tensor]])
assert_type(numbers.flat_map(up_to), tf.data.Dataset[tf.Tensor])
assert_type(numbers.interleave(up_to, cycle_length=2), tf.data.Dataset[tf.Tensor])
assert_type(numbers.scan(tf.constant(0), running), tf.data.Dataset[dict[str, tf.Tensor]])
assert_type(
    tf.data.Dataset.zip(numbers, numbers.map(halves)),
    tf.data.Dataset[tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]],
)
assert_type(numbers.reduce(tf.constant(0), total), tf.Tensor)
assert_type(numbers.take(1).get_single_element(), tf.Tensor)
assert_type(numbers.cardinality(), tf.Tensor)
assert_type(len(numbers), int)

numbers.map(halves, num_parallel_calls="many")  # type: ignore[arg-type]
numbers.flat_map(halves)  # type: ignore[arg-type]
numbers.batch("2")  # type: ignore[arg-type]

for first, second in numbers.map(halves):
    assert_type(first, tf.Tensor)
    assert_type(second, tf.Tensor)

iterator = iter(numbers)
assert_type(iterator, tf.data.Iterator[tf.Tensor])
assert_type(next(iterator), tf.Tensor)
assert_type(iterator.get_next(), tf.Tensor)
assert_type(iterator.get_next_as_optional(), tf.experimental.Optional[tf.Tensor])
assert_type(iterator.get_next_as_optional().get_value(), tf.Tensor)
both = tf.experimental.Optional.from_value(halves(next(iterator)))
assert_type(both.get_value(), tuple[tf.Tensor, tf.Tensor])
