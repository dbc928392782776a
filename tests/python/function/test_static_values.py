"""What `tf.get_static_value` knows of tensors, eager and in traced functions."""

import numpy as np
import pytest

import penstock as tf

#: What is known in a function of `x`, of shape [2, 3], and of `u`, whose first extent is unknown.
KNOWN = {
    "a constant": (lambda x, u: tf.constant([1.5, 2.5]), [1.5, 2.5]),
    "a shape": (lambda x, u: tf.shape(x), [2, 3]),
    "an extent": (lambda x, u: tf.shape(x)[1], 3),
    "a known extent beside an unknown one": (lambda x, u: tf.shape(u)[1], 3),
    "a rank": (lambda x, u: tf.rank(u), 2),
    "a range": (lambda x, u: tf.range(-1, 2), [-1, 0, 1]),
    "arithmetic": (lambda x, u: tf.rank(x) - tf.constant(1), 1),
    "a long chain": (lambda x, u: sum((tf.rank(x) for _ in range(10)), tf.constant(0)), 20),
    "a cast": (lambda x, u: tf.cast(tf.constant(-1), tf.int64), -1),
    "a comparison": (lambda x, u: tf.constant(2) > tf.rank(x), False),
    "a joined shape": (lambda x, u: tf.concat([tf.shape(x), tf.shape(u)[1:]], 0), [2, 3, 3]),
}

UNKNOWN = {
    "a parameter": lambda x, u: x,
    "an unknown extent": lambda x, u: tf.shape(u)[0],
    "what is computed of an unknown extent": lambda x, u: tf.shape(u)[0] + 1,
    "numbers that are computed": lambda x, u: tf.constant(1.5) * 2.0,
    "a random number": lambda x, u: tf.random.uniform([], maxval=3, dtype=tf.int32),
    "a variable": lambda x, u: VARIABLE,
}
VARIABLE = tf.Variable(1)


def in_a_function(made):
    said = []

    @tf.function(
        input_signature=[tf.TensorSpec([2, 3], tf.float32), tf.TensorSpec([None, 3], tf.float32)],
        autograph=False,
    )
    def traced(x, u):
        said.append(tf.get_static_value(made(x, u)))
        return x

    traced.get_concrete_function()
    return said[0]


@pytest.mark.parametrize("case", KNOWN)
def test_a_value_is_known_where_it_follows_from_constants_and_types(case):
    made, expected = KNOWN[case]
    np.testing.assert_array_equal(in_a_function(made), expected)


@pytest.mark.parametrize("case", UNKNOWN)
def test_nothing_is_said_of_what_the_call_decides(case):
    assert in_a_function(UNKNOWN[case]) is None


def test_eager_tensors_are_known_and_variables_are_not():
    np.testing.assert_array_equal(tf.get_static_value(tf.constant([1, 2]) + 1), [2, 3])
    assert tf.get_static_value(VARIABLE) is None


@pytest.mark.parametrize("value", [3, [1, 2], None, "text", np.float32(2)])
def test_what_is_no_tensor_is_given_as_it_is(value):
    assert tf.get_static_value(value) is value
