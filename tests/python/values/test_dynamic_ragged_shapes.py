"""Shapes of ragged tensors as values: made, asked, broadcast, in functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

Shape = tf.experimental.DynamicRaggedShape
Rows = tf.experimental.RowPartition


@pytest.mark.parametrize(
    ("lengths", "partitions", "due", "inner"),
    [
        ([], None, 0, []),
        ([2, (3, 2)], None, 1, [5]),
        ([2, 2], None, 0, [2, 2]),
        ([2, (3, 2), 7], None, 1, [5, 7]),
        ([2, (2, 1), (2, 0, 3)], None, 2, [5]),
        ([2, (3, 2), 2], 2, 2, [10]),
        ([2, 2, 3], 1, 1, [4, 3]),
        ([2, 2, 3], 2, 2, [12]),
        ([0, ()], None, 1, [0]),
    ],
)
def test_lengths_and_partitions(lengths: Any, partitions: Any, due: int, inner: list[int]) -> None:
    shape = Shape.from_lengths(lengths, partitions)
    assert (shape.num_row_partitions, shape.rank, shape.inner_rank) == (due, len(lengths), len(inner))
    assert shape.inner_shape.numpy().tolist() == inner
    assert shape.static_lengths() == lengths
    assert shape.dtype == tf.int64
    assert shape.with_dtype(tf.int32).static_lengths() == lengths
    assert shape == Shape.from_lengths(lengths, partitions)


@pytest.mark.parametrize("wrong", [(2, 2), [(1, 2)], [2, (1,)], [2, "a"], [2, (1, 2), 3.5]], ids=str)
def test_lengths_that_fit_nothing(wrong: Any) -> None:
    with pytest.raises(ValueError, match="lengths"):
        Shape.from_lengths(wrong)


def test_too_many_partitions() -> None:
    with pytest.raises(ValueError, match="num_row_partitions"):
        Shape.from_lengths([2, 2], 2)
    with pytest.raises(ValueError, match="num_row_partitions"):
        Shape.from_lengths([2, (1, 1)], 0)


def test_shapes_of_tensors() -> None:
    ragged = tf.ragged.constant([[[1, 2]], [], [[3], [4]]])
    shape = tf.shape(ragged)
    assert isinstance(shape, Shape)
    assert shape.static_lengths() == [3, (1, 0, 2), (2, 1, 1)]
    assert tf.shape(ragged, tf.int32).dtype == tf.int32
    assert Shape.from_tensor(tf.zeros([2, 3])).static_lengths() == [2, 3]
    assert [shape.is_uniform(i) for i in range(3)] == [True, False, False]
    assert Shape.from_row_partitions(shape.row_partitions).static_lengths() == shape.static_lengths()
    with pytest.raises(IndexError, match="axis"):
        shape.is_uniform(3)
    with pytest.raises(ValueError, match="empty"):
        Shape.from_row_partitions([])


def test_dimensions_and_parts() -> None:
    shape = Shape.from_lengths([2, (3, 2), 5, 7])
    assert [int(shape[i]) for i in (0, 2, 3, -1)] == [2, 5, 7, 7]
    assert shape[:2].static_lengths() == [2, (3, 2)]
    assert shape[:1].static_lengths() == [2]
    assert shape[:0].static_lengths() == []
    assert shape[:3].static_lengths() == [2, (3, 2), 5]
    assert shape[2:].static_lengths() == [5, 7]
    assert shape[:] is shape
    for key, error in (
        (1, ValueError),
        (slice(1, 3), ValueError),
        (4, IndexError),
        (slice(0, 4, 2), IndexError),
    ):
        with pytest.raises(error):
            shape[key]


def test_partitions_must_fit_each_other() -> None:
    outer, inner = Rows.from_row_lengths([2, 1]), Rows.from_row_lengths([1, 1, 2])
    assert Shape([outer, inner], [4]).static_lengths() == [2, (2, 1), (1, 1, 2)]
    with pytest.raises(ValueError, match="row_partitions"):
        Shape([inner, outer], [3])
    with pytest.raises(ValueError, match="row_partitions"):
        Shape([outer], [4])
    with pytest.raises(TypeError, match="row_partitions"):
        Shape([[0, 2]], [2])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec([1], tf.int64)])
    def f(lengths: Any, size: Any) -> Any:
        return Shape([Rows.from_row_lengths(lengths)], size, validate=True).inner_shape

    assert f([2, 1], [3]).numpy().tolist() == [3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_partitions"):
        f([2, 1], [4])


def test_tensors_of_shapes() -> None:
    shape = Shape.from_lengths([2, (2, 1), 2])
    assert tf.zeros(shape).to_list() == [[[0, 0], [0, 0]], [[0, 0]]]
    assert tf.ones(shape, tf.int32).dtype == tf.int32
    assert tf.fill(Shape.from_lengths([2, (0, 1)]), "a").to_list() == [[], [b"a"]]
    assert tf.reshape(tf.range(6), shape).to_list() == [[[0, 1], [2, 3]], [[4, 5]]]
    assert tf.reshape(tf.ragged.constant([[1], [2, 3]]), [3, 1]).numpy().tolist() == [[1], [2], [3]]
    assert tf.zeros(Shape.from_lengths([2, 1])).numpy().tolist() == [[0], [0]]


lengths = st.lists(st.integers(0, 3), min_size=2, max_size=2)


@settings(max_examples=30, deadline=None)
@given(lengths, st.sampled_from([(), (1,), (2, 1), (1, 1)]))
def test_broadcasting_is_that_of_addition(rows: list[int], other: tuple[int, ...]) -> None:
    x = tf.zeros(Shape.from_lengths([2, tuple(rows)]))
    y = tf.reshape(tf.range(float(np.prod(other, dtype=int))), other)
    due = x + y
    shape = tf.broadcast_dynamic_shape(tf.shape(x), Shape.from_tensor(y))
    assert shape.static_lengths() == tf.shape(due).static_lengths()
    assert tf.broadcast_to(y, shape).to_list() == due.to_list()


def test_broadcasting_that_does_not_fit() -> None:
    shape = Shape.from_lengths([2, (1, 2)])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.broadcast_to(tf.zeros([3, 1]), shape)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.broadcast_to(tf.zeros([2, 2]), shape)
    with pytest.raises(ValueError, match="rank"):
        tf.broadcast_to(tf.zeros([1, 1, 1]), shape)
    dense = tf.broadcast_dynamic_shape(Shape.from_lengths([2, 1]), Shape.from_lengths([3]))
    assert dense.static_lengths() == [2, 3]
    assert tf.broadcast_to([1, 2], Shape.from_lengths([2, 2])).numpy().tolist() == [[1, 2], [1, 2]]


def test_gradients_of_broadcasting_count_the_copies() -> None:
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.broadcast_to(x, Shape.from_lengths([2, (3, 1)])))
    assert tape.gradient(y, x).numpy().tolist() == [[3.0], [1.0]]


def test_functions_take_and_give_shapes() -> None:
    traces = []

    @tf.function
    def same(shape: Any) -> Any:
        traces.append(shape)
        return shape, shape.inner_shape * 2, shape[0]

    for rows in ((2, 1), (0, 3)):
        shape, doubled, count = same(tf.shape(tf.zeros(Shape.from_lengths([2, rows]))))
        assert shape.static_lengths() == [2, rows]
        assert (doubled.numpy().tolist(), int(count)) == ([6], 2)

    spec = Shape.Spec.from_value(Shape.from_lengths([2, (3, 2), 5]))
    assert (spec.rank, spec.num_row_partitions, spec.inner_rank) == (3, 1, 2)
    assert spec.is_compatible_with(Shape.from_lengths([2, (4, 1), 5]))
    assert not spec.is_compatible_with(Shape.from_lengths([2, (4, 1), 6]))
    assert spec.with_dtype(tf.int32).row_partitions[0].dtype == tf.int32

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def unknown(x: Any) -> Any:
        return tf.zeros(tf.shape(x)) + 1.0

    assert unknown(tf.ragged.constant([[1.0], []])).to_list() == [[1.0], []]
