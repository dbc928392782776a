"""Fingerprints of rows, as TensorFlow computes them."""

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            ["a", "bc", ""],
            [
                [227, 117, 223, 182, 101, 66, 69, 179],
                [119, 129, 82, 223, 68, 160, 90, 83],
                [79, 64, 144, 47, 59, 106, 225, 154],
            ],
        ),
        ([["a"], ["b"]], [[227, 117, 223, 182, 101, 66, 69, 179], [22, 241, 200, 94, 33, 96, 178, 163]]),
        ([["a", "b"], ["", "c"]], [[122, 64, 59, 169, 136, 60, 55, 83], [146, 4, 241, 178, 47, 233, 29, 30]]),
        ([[["a"], ["b"]]], [[122, 64, 59, 169, 136, 60, 55, 83]]),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            [[223, 178, 164, 36, 10, 49, 237, 154], [174, 215, 15, 51, 84, 145, 74, 9]],
        ),
        ([1, 2], [[84, 24, 96, 84, 195, 82, 124, 105], [15, 219, 106, 105, 88, 163, 17, 93]]),
        ([True, False], [[62, 88, 126, 177, 19, 76, 162, 71], [84, 75, 233, 245, 237, 86, 96, 190]]),
        (np.array([[1 + 2j]]), [[144, 92, 210, 104, 153, 29, 123, 16]]),
        (np.zeros([2, 0], "float32"), [[79, 64, 144, 47, 59, 106, 225, 154]] * 2),
    ],
)
def test_fingerprints_are_those_of_tensorflow(data, expected):
    found = tf.fingerprint(data)
    assert (found.dtype, found.numpy().tolist()) == (tf.uint8, expected)
    assert tf.function(tf.fingerprint)(tf.constant(data)).numpy().tolist() == expected
    assert tf.raw_ops.Fingerprint(data=data, method="farmhash64").numpy().tolist() == expected


def test_no_rows_have_no_fingerprints():
    assert tf.fingerprint(tf.zeros([0])).shape == [0, 8]
    assert tf.fingerprint(tf.zeros([0, 3], tf.string)).shape == [0, 8]


def test_the_number_of_rows_is_known_as_far_as_that_of_the_data():
    traced = tf.function(tf.fingerprint)
    for shape, expected in [([None, 2], [None, 8]), ([3], [3, 8]), (None, [None, 8])]:
        found = traced.get_concrete_function(tf.TensorSpec(shape, tf.float32)).structured_outputs
        assert found.shape.as_list() == expected


def test_scalars_and_other_methods_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="'data' must have at least one dimension"):
        tf.fingerprint("a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'method' must be 'farmhash64', got 'sha'"):
        tf.fingerprint(["a"], "sha")
    any_rank = tf.function(tf.fingerprint, input_signature=[tf.TensorSpec(None, tf.float32)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'data' must have at least one dimension"):
        any_rank(1.0)
