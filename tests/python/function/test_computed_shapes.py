"""Random programs that compute shapes: what inference says of a result is so when the program runs."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

INTEGERS = (tf.int64, tf.int8, tf.int16, tf.uint8, tf.bool, tf.float32)


class Programs:
    """Integer vectors and scalars that are computed from a tensor's shape, a scalar and a vector."""

    def __init__(self, seed: int, x: Any, scalar: Any, vector: Any) -> None:
        self.random = random.Random(seed)
        self.x, self.given_scalar, self.given_vector = x, scalar, vector

    def narrowed(self, value: Any) -> Any:
        return tf.cast(tf.cast(value, self.random.choice(INTEGERS)), tf.int32)

    def vector(self, depth: int) -> Any:
        vector, scalar, choice = self.vector, self.scalar, self.random.choice
        leaves: list[Callable[[], Any]] = [
            lambda: tf.shape(self.x),
            lambda: self.given_vector,
            lambda: tf.constant([choice([1, 2, 3]) for _ in range(choice([0, 1, 2, 3]))], tf.int32),
        ]
        nodes: list[Callable[[], Any]] = [
            lambda: vector(depth - 1)[
                choice([None, 0, 1, -1]) : choice([None, 1, 2, -1]) : choice([None, 2, -1, -2])
            ],
            lambda: vector(depth - 1)[...],
            lambda: scalar(depth - 1)[tf.newaxis],
            lambda: scalar(depth - 1)[..., tf.newaxis],
            lambda: tf.expand_dims(scalar(depth - 1), 0),
            lambda: tf.stack([scalar(depth - 1) for _ in range(choice([1, 2, 3]))]),
            lambda: tf.concat([vector(depth - 1) for _ in range(choice([1, 2, 3]))], 0),
            lambda: tf.concat([tf.stack([vector(depth - 1)[:1]] * 2), tf.stack([vector(depth - 1)] * 2)], 1)[
                1
            ],
            lambda: self.narrowed(vector(depth - 1)),
            lambda: tf.reshape(vector(depth - 1), [-1]),
            lambda: tf.reverse(tf.identity(vector(depth - 1)), [0]),
        ]
        return choice(leaves + nodes if depth else leaves)()

    def scalar(self, depth: int) -> Any:
        vector, scalar, choice = self.vector, self.scalar, self.random.choice
        leaves: list[Callable[[], Any]] = [lambda: self.given_scalar, lambda: tf.constant(choice([1, 2, 3]))]
        nodes: list[Callable[[], Any]] = [
            lambda: tf.concat([vector(depth - 1), [2]], 0)[choice([0, -1])],
            lambda: tf.stack([scalar(depth - 1), scalar(depth - 1)])[choice([0, 1, -1, -2])],
            lambda: tf.minimum(scalar(depth - 1) + 1, 3),
            lambda: self.narrowed(scalar(depth - 1)),
            lambda: tf.size(vector(depth - 1)),
        ]
        return choice(leaves + nodes if depth else leaves)()


def test_a_scalar_that_becomes_a_vector_is_a_shape_of_one_extent() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def zeros(n: Any) -> Any:
        made = tf.zeros(n[tf.newaxis])
        assert made.shape.as_list() == [None]
        return made, tf.shape(made)

    made, extents = zeros(3)
    assert made.shape == [3]
    assert extents.numpy().tolist() == [3]


def test_a_cast_that_does_not_hold_an_extent_changes_the_shape() -> None:
    @tf.function(input_signature=[tf.TensorSpec([300])])
    def zeros(x: Any) -> Any:
        return tf.zeros(tf.cast(tf.cast(tf.shape(x), tf.uint8), tf.int32))

    assert zeros(tf.zeros(300)).shape == [44]


def test_broadcast_shapes_have_static_lengths() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None])])
    def extents(x: Any, y: Any) -> Any:
        made = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(y))
        assert made.shape.as_list() == [2]
        return made

    assert extents(tf.zeros([2, 3]), tf.zeros([1])).numpy().tolist() == [2, 3]


@pytest.mark.parametrize("batch", range(8))
def test_inferred_shapes_hold_when_random_programs_run(batch: int) -> None:
    for seed in range(100 * batch, 100 * batch + 100):
        chosen = random.Random(seed)
        dims: Any = chosen.choice([[None, 3], [300, 3], None, [2, 3]])
        signature = [
            tf.TensorSpec(dims),
            tf.TensorSpec([], tf.int32),
            tf.TensorSpec(chosen.choice([[None], [2], None]), tf.int32),
        ]
        given = tf.zeros([300 if dims == [300, 3] else 2, 3]), tf.constant(2), tf.constant([2, 1])

        def program(x: Any, scalar: Any, vector: Any, seed: int = seed) -> Any:
            extents = Programs(seed, x, scalar, vector).vector(4)
            made = tf.zeros(extents, tf.int8)
            return extents, tf.shape(made), tf.shape(made + tf.ones(tf.shape(made), tf.int8))

        try:
            wanted = [part.numpy().tolist() for part in program(*given)]
        except tf.errors.OpError:  # a negative extent, from a cast
            continue
        traced = tf.function(lambda x, scalar, vector: program(x, scalar, vector), input_signature=signature)
        assert [part.numpy().tolist() for part in traced(*given)] == wanted, seed


@pytest.mark.parametrize(
    ("times", "axis", "shape", "expected"),
    [
        (3, 1, [None, 4], [None, 12]),
        ([1, 2, 3, 4], 1, [None, 4], [None, 10]),
        ([2, 0], 0, [None, 4], [2, 4]),
        ([2], 0, [None, 4], [None, 4]),
        (2, None, [3], [6]),
    ],
)
def test_repeat_keeps_the_extents_that_are_known(times, axis, shape, expected):
    @tf.function
    def repeated(x):
        result = tf.repeat(x, times, axis=axis)
        assert result.shape.as_list() == expected
        return result

    given = np.arange(8.0 if len(shape) == 2 else 3.0, dtype=np.float32)
    given = given.reshape([2, 4]) if len(shape) == 2 else given
    repeated.get_concrete_function(tf.TensorSpec(shape))
    np.testing.assert_array_equal(repeated(given), np.repeat(given, times, axis=axis))


def shape_of(build, *specs):
    """The shape that inference gives to the result of `build`."""
    shapes = []

    @tf.function(autograph=False)
    def traced(*args):
        result = build(*args)
        shapes.append(result.shape.as_list())
        return result

    traced.get_concrete_function(*specs)
    return shapes[0]


def test_an_unknown_size_beside_a_possible_zero_is_not_inferred():
    rows, size = tf.TensorSpec([None, 4]), tf.TensorSpec([], tf.int32)
    assert shape_of(lambda x, n: tf.reshape(x, [tf.shape(x)[0], n]), rows, size) == [None, None]

    @tf.function
    def resized(x, n):
        return tf.reshape(x, [tf.shape(x)[0], n])

    assert resized.get_concrete_function(rows, size)(tf.zeros([0, 4]), tf.constant(7)).shape == [0, 7]


def test_an_unknown_size_is_inferred_where_no_other_can_be_zero():
    size = tf.TensorSpec([], tf.int32)
    assert shape_of(lambda x, n: tf.reshape(x, [2, n]), tf.TensorSpec([3, 4]), size) == [2, 6]


def test_a_minus_one_in_a_computed_vector_is_inferred():
    rows = tf.TensorSpec([None, 3, 4])
    assert shape_of(lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:1], [-1]], 0)), rows) == [None, 12]
    assert shape_of(lambda x: tf.reshape(x, tf.stack([-1, tf.shape(x)[2]])), rows) == [None, 4]
