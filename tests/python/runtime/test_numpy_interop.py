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


@pytest.mark.parametrize(
    ("tensor", "array", "dtype"),
    [
        (tf.constant([1.0, 2.0]), np.array([0.5, 0.25]), tf.float32),
        (tf.constant([1.0, 2.0]), np.float64(0.5), tf.float32),
        (tf.constant([1.0, 2.0]), np.arange(2), tf.float32),
        (tf.constant([1, 2]), np.arange(2), tf.int32),
        (tf.constant([1, 2], tf.uint8), np.int64(255), tf.uint8),
        (tf.constant([1.0, 2.0], tf.bfloat16), np.array([0.5, 0.25]), tf.bfloat16),
        (tf.constant([1.0 + 1j], tf.complex64), np.array([0.5]), tf.complex64),
        (tf.constant([1.0], tf.float64), np.array([0.5], "float32"), tf.float64),
    ],
)
def test_an_array_beside_a_tensor_takes_the_tensors_dtype(tensor, array, dtype):
    @tf.function
    def traced(x):
        return x + array

    variable = tf.Variable(tensor)
    expected = np.asarray(array).astype(dtype.as_numpy_dtype) + tensor.numpy()
    stacked = tf.stack([tensor, tf.broadcast_to(array, tensor.shape).numpy()])
    for result in (
        tensor + array,
        array + tensor,
        tf.add(array, tensor),
        variable + array,
        traced(tensor),
        stacked[0] + array,
    ):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.numpy(), expected)
    assert (tensor == array).shape == tensor.shape


@pytest.mark.parametrize(
    ("tensor", "array", "message"),
    [
        (tf.constant([1, 2]), np.array([0.5, 1.5]), "int32.*float64|float64.*int32"),
        (tf.constant([1.0, 2.0]), np.array([1j, 2.0]), "complex128"),
        (tf.constant([1.0, 2.0]), np.array([True, False]), "bool"),
        (tf.constant([1, 2]), np.array([2**40, 1]), "out of range for dtype int32"),
        (tf.constant([1, 2], tf.uint64), np.array([-1, 1]), "out of range for dtype uint64"),
        (tf.constant([1, 2], tf.int8), np.array([200, 1], "uint8"), "out of range for dtype int8"),
    ],
)
def test_an_array_that_a_tensors_dtype_cannot_hold_is_refused(tensor, array, message):
    for add in (lambda: tensor + array, lambda: array + tensor, lambda: tf.add(tensor, array)):
        with pytest.raises((TypeError, ValueError), match=message):
            add()


def test_arrays_of_indices_keep_their_dtype():
    x = tf.range(10.0)
    assert tf.gather(x, np.array([2, 3])).numpy().tolist() == [2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match=str(2**32 + 1)):
        tf.gather(x, np.array([2**32 + 1]))


def test_a_variable_takes_arrays_of_another_width():
    v = tf.Variable([1.0, 2.0])
    v.assign(np.array([3.0, 4.0]))
    v.assign_add(np.ones(2))
    v.assign_sub(np.array([1, 1]))
    assert v.dtype == tf.float32
    assert v.numpy().tolist() == [3, 4]


@pytest.mark.parametrize("number", [np.int64(3), np.int8(3), np.array(3), 3, (np.int64(3),), [np.uint8(3)]])
def test_numbers_in_a_list_beside_a_tensor_take_its_dtype(number):
    one = number[0] if isinstance(number, list | tuple) else number
    for dtype in (tf.int32, tf.int64, tf.float32, tf.float16):
        t = tf.constant([1, 2], dtype)
        for joined in (
            tf.concat([t, [one]], 0),
            tf.concat([(one,), t], 0)[::-1],
            tf.stack([t[0], one]),
            tf.stack([one, t[0]]),
            tf.convert_to_tensor([one, t[0]]),
            tf.function(lambda x: tf.concat([x, (one,)], 0))(t),
            tf.add_n([t[:1], [one]]),
            tf.tensor_scatter_nd_update(t, [[0]], [one]),
            tf.dynamic_stitch([[0], [1]], [t[:1], [one]]),
            tf.where([True, False], t, [one, one]),
            tf.maximum(t, [one, one]),
        ):
            assert joined.dtype == dtype
        assert tf.equal(t[:1], [one]).numpy().tolist() == [False]
        assert tf.meshgrid(t, [one])[1].dtype == dtype
        assert tf.matmul(t[None, :1], [[one]]).numpy().tolist() == [[3]]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2.5], tf.float32),
        ([np.int64(2), 3.5], tf.float32),
        ([3.5, np.int64(2)], tf.float32),
        ([np.int64(1), np.float32(2)], tf.float32),
        ([np.float32(1), np.float64(2)], tf.float64),
        ([1, np.float64(2)], tf.float64),
        ([np.array([1, 2]), [3.0, 4.0]], tf.float32),
        ([[np.int64(1)], [np.float32(2)]], tf.float32),
        ([np.uint8(1), np.int8(1)], tf.int16),
        ([np.complex64(1), np.float64(2)], tf.complex128),
        ([1, 2**40], tf.int64),
    ],
)
def test_numbers_of_several_kinds_meet_in_the_one_that_holds_them(values, dtype):
    for made in (tf.constant(values), tf.stack(values), tf.convert_to_tensor(values)):
        assert made.dtype == dtype
        np.testing.assert_array_equal(made.numpy(), np.array(values))


def test_the_number_of_a_dtype_is_tensorflows() -> None:
    numbers = {
        tf.float32: 1,
        tf.float64: 2,
        tf.int32: 3,
        tf.string: 7,
        tf.bool: 10,
        tf.bfloat16: 14,
        tf.float16: 19,
    }
    assert {dtype: dtype.as_datatype_enum for dtype in numbers} == numbers
    assert tf.variant.as_datatype_enum == 21
