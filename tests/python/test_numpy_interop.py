"""NumPy's functions take tensors."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_arrays_of_tensors(dtype, shape):
    array = np.ones(shape, dtype)
    tensor = tf.constant(array)
    np.testing.assert_array_equal(np.asarray(tensor), array, strict=True)
    np.testing.assert_array_equal(np.array(tensor, "complex128"), array.astype("complex128"), strict=True)
    for copy in (None, False, True):
        np.testing.assert_array_equal(np.array(tensor, copy=copy), array, strict=True)


def test_copies_are_made_where_they_are_asked_for():
    tensor = tf.range(1000)
    view, copy = np.asarray(tensor), np.array(tensor, copy=True)
    assert not view.flags.writeable
    assert np.shares_memory(view, np.asarray(tensor))
    assert not np.shares_memory(view, copy)
    copy[0] = -1
    assert tensor[0] == 0
    with pytest.raises(ValueError, match="copy"):
        np.asarray(tensor, dtype="float64", copy=False)


ARRAY = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "apply",
    [
        np.sum,
        np.sort,
        np.exp,
        np.linalg.norm,
        np.transpose,
        lambda x: np.add(x, 1),
        lambda x: np.add(x, x),
        lambda x: np.multiply(np.ones(3), x),
        lambda x: np.concatenate([x, x]),
        lambda x: np.concatenate([x, np.ones([1, 3])]),
        lambda x: np.stack([x, x], axis=-1),
        lambda x: np.where(x > 2, x, 0),
        lambda x: np.einsum("ij,kj->ik", x, x),
        lambda x: np.mean(x, axis=0),
        lambda x: np.percentile(x, 50),
        lambda x: np.allclose(x, x),
        lambda x: np.maximum.reduce(x),
        lambda x: np.array([x, x]),
        lambda x: np.ones(3) @ np.asarray(x).T,
    ],
)
def test_functions_of_numpy_take_tensors(apply):
    expected = apply(ARRAY)
    got = apply(tf.constant(ARRAY))
    np.testing.assert_allclose(np.asarray(got), expected)


def test_operators_between_arrays_and_tensors_are_the_tensors():
    x = tf.constant(ARRAY)
    for result in (
        ARRAY + x,
        x + ARRAY,
        ARRAY @ tf.transpose(x),
        np.greater(ARRAY, 1) & (x > 1),
        np.float64(2) * x,
        ARRAY**x,
    ):
        assert isinstance(result, tf.Tensor)
    np.testing.assert_array_equal((ARRAY - x).numpy(), 0 * ARRAY)


def test_symbolic_tensors_have_no_array():
    @tf.function
    def f(x):
        return np.sum(x)

    with pytest.raises(NotImplementedError, match="symbolic"):
        f(tf.constant(ARRAY))


def test_arrays_are_indexed_by_tensors():
    assert np.arange(10)[tf.constant(3)] == 3
    assert np.arange(10)[tf.constant([1, 2])].tolist() == [1, 2]
    assert list(range(10))[tf.constant(1) : tf.constant(3)] == [1, 2]
