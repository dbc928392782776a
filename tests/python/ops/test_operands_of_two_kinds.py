"""An array beside a number: neither is a tensor, and one of them takes the other's dtype."""

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("function", [tf.add, tf.subtract, tf.multiply, tf.pow, tf.math.divide])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_takes_the_dtype_of_an_array_before_it(function, dtype):
    array = np.array([1.5, 2.0], dtype)
    for x, y in ((array, 2), (array, 2.5), (array[0], 2), (array, [2, 3])):
        found = function(x, y)
        assert found.dtype == dtype
        expected = getattr(np, function.__name__)(np.asarray(x, dtype), np.asarray(y, dtype))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("function", [tf.equal, tf.not_equal])
def test_an_array_is_compared_with_a_number(function):
    array = np.array([1.0, 2.0])
    wanted = function is tf.equal
    assert function(array, 1).numpy().tolist() == [wanted, not wanted]
    assert function(1, array).numpy().tolist() == [wanted, not wanted]
    assert function(array, [1, 2]).numpy().tolist() == [wanted, wanted]


def test_the_first_of_two_arrays_rules_where_the_second_goes_there():
    assert tf.add(np.ones(2, np.float32), np.ones(2)).dtype == tf.float32
    assert tf.add([1.5], np.ones(1)).dtype == tf.float32
    assert tf.add(2, np.ones(1)).dtype == tf.float64
    # Real numbers are not cut off: here the second rules.
    assert tf.add(np.ones(2, np.int32), np.array([0.5, 0.5])).dtype == tf.float64


def test_tensors_are_not_converted():
    with pytest.raises(TypeError, match="dtype"):
        tf.add(tf.constant([1]), np.array([1.5]))
    with pytest.raises(TypeError, match="dtype"):
        tf.add(np.array([1.5]), tf.constant([1]))
    assert tf.add(np.ones(2, np.int32), tf.constant([1.0, 2.0])).dtype == tf.float32
