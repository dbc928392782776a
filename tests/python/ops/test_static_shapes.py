"""Operations of several steps say in a trace what is known of the shape of their result."""

import numpy as np
import pytest

import penstock as tf

MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)

CASES = {
    "pad, reflected": (lambda x: tf.pad(x, [[1, 1], [0, 2]], "REFLECT"), (5, 6)),
    "pad, symmetric": (lambda x: tf.pad(x, [[1, 1], [0, 2]], "SYMMETRIC"), (5, 6)),
    "meshgrid": (lambda x: tf.meshgrid(x[0], x[:, 0])[0], (3, 4)),
    "meshgrid of scalars": (lambda x: tf.meshgrid(x[0, 0], x[0])[1], (4, 1)),
    "irfft": (lambda x: tf.signal.irfft(tf.complex(x, x)), (3, 6)),
    "irfft of a length": (lambda x: tf.signal.irfft(tf.complex(x, x), [5]), (3, 5)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_traced_shape_is_that_of_the_value(name):
    function, expected = CASES[name]
    shapes = []

    @tf.function(autograph=False)
    def traced(x):
        result = function(x)
        shapes.append(tuple(result.shape))
        return result

    assert traced(MATRIX).shape == expected
    assert shapes == [expected]


@pytest.mark.parametrize("name", CASES)
def test_extents_that_are_not_known_are_computed(name):
    function, expected = CASES[name]
    traced = tf.function(function, autograph=False, input_signature=[tf.TensorSpec([None, None])])
    np.testing.assert_allclose(traced(MATRIX), function(tf.constant(MATRIX)))
    assert traced(MATRIX).shape == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [([None, 3, 4], [None, 8, 4]), ([None, None, 4], [None, None, 4]), ([2, 3, None], [2, None, None])],
)
def test_what_is_padded_by_known_amounts_has_known_sizes(shape, expected):
    def padded(x):
        return tf.pad(x, [[0, 0], [1, tf.shape(x)[2]], [0, 0]])

    function = tf.function(padded)
    assert function.get_concrete_function(tf.TensorSpec(shape)).output_shapes.as_list() == expected
    assert function(tf.ones([2, 3, 4])).shape == [2, 8, 4]
