"""Ragged tensors sorted, summed up along the way, cut into parts, and places in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

rows = st.lists(st.lists(st.integers(-3, 3), max_size=4), min_size=1, max_size=4)


def ragged(lists: Any, dtype: Any = tf.int32, **options: Any) -> Any:
    return tf.ragged.constant(lists, dtype, **{"ragged_rank": 1, **options})


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from(["ASCENDING", "DESCENDING"]))
def test_rows_are_sorted_each_for_itself(lists: list[list[int]], direction: str) -> None:
    x, down = ragged(lists), direction == "DESCENDING"
    assert tf.sort(x, direction=direction).to_list() == [sorted(row, reverse=down) for row in lists]
    places = tf.argsort(x, axis=1, direction=direction)
    assert places.dtype == tf.int32
    due = [sorted(range(len(row)), key=lambda i: -row[i] if down else row[i]) for row in lists]
    assert places.to_list() == due


def test_sorting_of_inner_dimensions() -> None:
    x = tf.RaggedTensor.from_row_lengths([[3, 1], [2, 4], [9, 0]], [2, 0, 1])
    assert tf.sort(x).to_list() == [[[1, 3], [2, 4]], [], [[0, 9]]]
    with pytest.raises(ValueError, match="axis"):
        tf.sort(x, axis=1)
    with pytest.raises(ValueError, match="direction"):
        tf.sort(x, direction="UP")
    deep = tf.ragged.constant([[[2, 1], []], [[5, 4, 3]]])
    assert tf.sort(deep).to_list() == [[[1, 2], []], [[3, 4, 5]]]
    nan = float("nan")
    assert tf.argsort(ragged([[nan, 1.0], [0.0]], tf.float32)).to_list() == [[1, 0], [0]]
    assert tf.sort(ragged([[], []], tf.float64)).to_list() == [[], []]


@settings(max_examples=40, deadline=None)
@given(rows, st.booleans(), st.booleans())
def test_running_sums_stay_within_rows(lists: list[list[int]], exclusive: bool, reverse: bool) -> None:
    def due(row: list[int]) -> list[int]:
        return tf.cumsum(tf.constant(row, tf.int32), 0, exclusive, reverse).numpy().tolist()

    made = tf.cumsum(ragged(lists), axis=1, exclusive=exclusive, reverse=reverse)
    assert made.to_list() == list(map(due, lists))


def test_running_sums_over_rows_and_of_infinities() -> None:
    x = ragged([[1.0, 2.0], [], [3.0, 4.0, 5.0]], tf.float32)
    assert tf.cumsum(x).to_list() == [[1, 2], [], [4, 6, 5]]
    infinite = ragged([[float("inf"), 1.0], [1.0, 2.0]], tf.float32)
    assert tf.cumsum(infinite, 1).to_list() == [[float("inf")] * 2, [1, 3]]
    deep = tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]])
    assert tf.cumsum(deep, 2).to_list() == [[[1, 3], [3]], [[4, 9, 15]]]
    assert tf.cumsum(deep, 1).to_list() == [[[1, 2], [4]], [[4, 5, 6]]]
    assert tf.math.cumprod(deep, -1).to_list() == [[[1, 2], [3]], [[4, 20, 120]]]
    uniform = tf.RaggedTensor.from_row_lengths([[1, 2], [3, 4]], [1, 1])
    assert tf.cumsum(uniform, 2).to_list() == [[[1, 3]], [[3, 7]]]
    with tf.GradientTape() as tape:
        tape.watch(x.flat_values)
        y = tf.reduce_sum(tf.cumsum(x, 1))
    assert tape.gradient(y, x.flat_values).numpy().tolist() == [2, 1, 3, 2, 1]


def test_parts() -> None:
    x = tf.RaggedTensor.from_row_lengths(np.arange(18).reshape(6, 3), [1, 2, 2, 1])
    halves = tf.split(x, 2)
    assert [h.row_lengths().numpy().tolist() for h in halves] == [[1, 2], [2, 1]]
    thirds = tf.split(x, [1, 2, 1])
    assert [t.nrows().numpy() for t in thirds] == [1, 2, 1]
    columns = tf.split(x, [1, 2], axis=2)
    assert columns[0].to_list() == x[:, :, :1].to_list()
    assert columns[1].to_list() == x[:, :, 1:].to_list()
    assert [c.to_list() for c in tf.split(x, 3, axis=-1)][2] == x[:, :, 2:].to_list()
    uniform = tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4, 5, 6], 3)
    assert [p.to_list() for p in tf.split(uniform, [1, 2], 1)] == [[[1], [4]], [[2, 3], [5, 6]]]
    with pytest.raises(ValueError, match="ragged"):
        tf.split(x, 2, axis=1)
    for wrong in (3, [1, 2]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_or_size_splits"):
            tf.split(x, wrong)

    @tf.function(
        input_signature=[tf.RaggedTensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)]
    )
    def f(y: Any, sizes: Any) -> Any:
        return tf.split(y, sizes, num=2)

    first, second = f(ragged([[1], [2, 3], []]), [2, 1])
    assert (first.to_list(), second.to_list()) == ([[1], [2, 3]], [[]])


def test_rows_one_by_one_and_by_number() -> None:
    x = ragged([[1, 2], [], [3]])
    assert [row.numpy().tolist() for row in tf.unstack(x)] == [[1, 2], [], [3]]
    parts = tf.dynamic_partition(x, [1, 0, 1], 2)
    assert [p.to_list() for p in parts] == [[[]], [[1, 2], [3]]]


def test_places() -> None:
    x = tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]]])
    gather = tf.gather_nd
    assert gather(x, [[0, 0, 1], [2, 0, 2]]).numpy().tolist() == [2, 6]
    assert gather(x, [[0, 1], [2, 0]]).to_list() == [[3], [4, 5, 6]]
    assert gather(x, [[2], [0]]).to_list() == [[[4, 5, 6]], [[1, 2], [3]]]
    assert gather(x, [0, 0, 0]).numpy() == 1
    assert gather(x, [[[0, 0, 1]], [[2, 0, 0]]]).numpy().tolist() == [[2], [4]]
    assert gather(
        [[1, 2], [3, 4]], tf.ragged.constant([[[0, 1]], [[1, 0], [1, 1]]], inner_shape=[2])
    ).to_list() == [
        [2],
        [3, 4],
    ]
    for wrong in ([[1, 0]], [[0, 1, 1]], [[3]], [[0, -1]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices"):
            gather(x, wrong)


def test_greatest_and_least() -> None:
    x = ragged([[1.0, 3.0, 3.0], [5.0, -1.0]], tf.float32)
    assert tf.argmax(x, 1).numpy().tolist() == [1, 0]
    assert tf.argmin(x, -1, tf.int32).numpy().tolist() == [0, 1]
    deep = tf.ragged.constant([[[1, 2], [3]], [[4, 6, 5]]])
    assert tf.argmax(deep, 2).to_list() == [[1, 0], [1]]
    with pytest.raises(ValueError, match="axis"):
        tf.argmax(x)


def test_counts_logarithms_and_dropout() -> None:
    x = ragged([[0.0, 1.0], [], [2.0]], tf.float32)
    assert tf.math.count_nonzero(x, 1).numpy().tolist() == [1, 0, 1]
    assert int(tf.math.count_nonzero(x)) == 2
    logs = tf.nn.log_softmax(x).to_list()
    assert np.allclose(logs[0], np.log(tf.nn.softmax([0.0, 1.0]).numpy()))
    assert logs[2] == [0.0]
    assert tf.nn.dropout(x, 0.0).to_list() == x.to_list()
    assert {v for row in tf.nn.dropout(x, 0.5, seed=1).to_list() for v in row} <= {0.0, 2.0, 4.0}
    with pytest.raises(ValueError, match="noise_shape"):
        tf.nn.dropout(x, 0.5, noise_shape=[3, 1])


def test_empty_rows_are_filled() -> None:
    values = tf.constant([5.0, 6.0, 7.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        made = tf.ragged_fill_empty_rows([1, 1, 3], values, 5, 9.0)
        y = tf.reduce_sum(made.output_values * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert made.output_values.numpy().tolist() == [9, 5, 6, 9, 7, 9]
    assert made.output_value_rowids.numpy().tolist() == [0, 1, 1, 2, 3, 4]
    assert made.empty_row_indicator.numpy().tolist() == [True, False, True, False, True]
    assert made.reverse_index_map.numpy().tolist() == [1, 2, 4]
    assert tape.gradient(y, values).numpy().tolist() == [2, 3, 5]
    slopes = tf.ragged_fill_empty_rows_grad(made.reverse_index_map, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert [s.numpy().tolist() for s in slopes] == [[2, 3, 5], 11]
    none = tf.ragged_fill_empty_rows(tf.zeros([0], tf.int64), tf.zeros([0], tf.string), 2, "x")
    assert none.output_values.numpy().tolist() == [b"x", b"x"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="value_rowids"):
        tf.ragged_fill_empty_rows([3], [1], 3, 0)
