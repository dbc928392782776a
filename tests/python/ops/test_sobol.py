"""Sobol's sequence; `raw_ops` has tests of its numbers beside those of TensorFlow."""

import numpy as np
import pytest

import penstock as tf


def test_points_fill_each_part_of_an_interval_equally():
    points = tf.math.sobol_sample(20, 255).numpy()
    for column in points.T:
        counts, _ = np.histogram(column, bins=16, range=(0, 1))
        # The origin is left out.
        assert sorted(counts) == [15] + [16] * 15


def test_skipped_points_are_those_that_come_first():
    whole = tf.math.sobol_sample(7, 12, dtype=tf.float64).numpy()
    assert np.array_equal(tf.math.sobol_sample(7, 5, 7, dtype=tf.float64), whole[7:])


def test_numbers_of_points_may_be_tensors_of_a_traced_function():
    @tf.function
    def points(count, skip):
        return tf.math.sobol_sample(3, count, skip)

    assert np.array_equal(points(tf.constant(4), tf.constant(2)), tf.math.sobol_sample(3, 4, 2))


def test_numbers_out_of_range_are_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'dim' must be from 1 to 1111, got 0"):
        tf.math.sobol_sample(0, 1)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="argument 'dim' must be from 1 to 1111, got 1112"
    ):
        tf.math.sobol_sample(1112, 1)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="argument 'num_results' must be at least 1, got 0"
    ):
        tf.math.sobol_sample(3, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'skip' must be at least 0, got -1"):
        tf.math.sobol_sample(3, 1, -1)
    with pytest.raises(TypeError, match="argument 'dtype' must be float32 or float64, got int32"):
        tf.math.sobol_sample(3, 1, dtype=tf.int32)
