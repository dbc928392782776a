"""`tf.debugging.assert_same_float_dtype`."""

import pytest

import penstock as tf


def test_whatever_has_a_dtype_counts_by_it():
    class Distribution:
        dtype = tf.float64

    check = tf.debugging.assert_same_float_dtype
    assert check([Distribution(), tf.constant(1.0, tf.float64)]) == tf.float64
    assert check([[1.0], None]) == tf.float32
    with pytest.raises(ValueError, match="must all be of dtype float64"):
        check([Distribution(), tf.constant(1.0)])
