"""Partitions into rows: each way to make one, what they tell, and partitions in functions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

RowPartition = tf.experimental.RowPartition


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=5))
def test_every_way_of_saying_where_rows_are(lengths):
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype("int64")
    rows = np.repeat(np.arange(len(lengths)), lengths)
    made = [
        RowPartition.from_row_lengths(tf.constant(lengths, tf.int64)),
        RowPartition.from_row_splits(splits),
        RowPartition.from_row_starts(splits[:-1], nvals=int(splits[-1])),
        RowPartition.from_row_limits(splits[1:]),
        RowPartition.from_value_rowids(rows, nrows=len(lengths)),
    ]
    for partition in made:
        assert partition.row_splits().numpy().tolist() == splits.tolist()
        assert partition.row_lengths().numpy().tolist() == lengths
        assert partition.value_rowids().numpy().tolist() == rows.tolist()
        assert partition.offsets_in_rows().numpy().tolist() == [j for n in lengths for j in range(n)]
        assert (int(partition.nrows()), int(partition.nvals())) == (len(lengths), sum(lengths))
        assert (partition.static_nrows, partition.static_nvals) == (len(lengths), sum(lengths))
        assert not partition.is_uniform()


def test_partitions_of_one_length():
    partition = RowPartition.from_uniform_row_length(3, nrows=2)
    assert (partition.is_uniform(), partition.static_uniform_row_length) == (True, 3)
    assert partition.row_limits().numpy().tolist() == [3, 6]
    assert RowPartition.from_uniform_row_length(0, nvals=0, nrows=4).row_lengths().numpy().tolist() == [0] * 4
    with pytest.raises(ValueError, match="nvals"):
        RowPartition.from_uniform_row_length(3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="uniform_row_length"):
        RowPartition.from_uniform_row_length(3, nvals=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="descend"):
        RowPartition.from_row_splits([0, 2, 1])


def test_partitions_go_through_functions():
    @tf.function
    def longer(partition):
        return RowPartition.from_row_lengths(partition.row_lengths() + 1)

    made = longer(RowPartition.from_row_lengths([2, 0]))
    assert made.row_lengths().numpy().tolist() == [3, 1]
    spec = tf.type_spec_from_value(made)
    assert spec.is_compatible_with(made)
    assert not spec.is_compatible_with(made.with_dtype(tf.int32))
