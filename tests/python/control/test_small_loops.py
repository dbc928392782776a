"""Loops over small arrays and lists: from the second call on they run as machine code."""

import numpy as np
import pytest

import penstock as tf

CALLS = 3


def same_each_time(function, *args):
    """What traced calls give, all of which give what the function gives eagerly."""
    expected = [np.asarray(value) for value in function(*args)]
    traced = tf.function(function)
    for _ in range(CALLS):
        for found, due in zip(traced(*args), expected, strict=True):
            np.testing.assert_array_equal(np.asarray(found), due)
    return expected


def test_a_loop_over_vectors_rows_and_a_list_gives_what_it_gives_eagerly():
    def program(rows, start):
        direction, found = start, tf.TensorArray(tf.float32, 5, clear_after_read=False, element_shape=[])
        for i in tf.range(4, -1, -1):
            alpha = tf.reduce_sum(rows[i] * direction)
            direction -= alpha * rows[i]
            found = found.write(i, alpha)
        for i in tf.range(5):
            if found.read(i) > 0.0:
                direction += found.read(i) * rows[4 - i]
            else:
                direction *= 0.5
        return direction, found.stack()

    rng = np.random.default_rng(3)
    rows = tf.constant(rng.standard_normal((5, 7), dtype=np.float32))
    same_each_time(program, rows, tf.constant(rng.standard_normal(7, dtype=np.float32)))


def test_variables_of_a_loop_may_exchange_their_arrays():
    def program(a, b, n):
        for _ in tf.range(n):
            a, b = b, a + b[0]
        return a, b

    a, b = tf.constant([1.0, 2.0, 3.0]), tf.constant([-1.0, 0.0, 1.0])
    for n in (0, 1, 2, 7):
        same_each_time(program, a, b, tf.constant(n))


def test_a_list_that_is_needed_as_it_was_stays_as_it_was():
    @tf.function
    def program(x):
        before = tf.TensorArray(tf.float32, 2, clear_after_read=False, element_shape=[2])
        before = before.write(0, x)
        after = before
        for i in tf.range(2):
            after = after.write(i, x * 3.0)
        return before.read(0), after.stack()

    for _ in range(CALLS):
        kept, changed = program(tf.constant([1.0, 2.0]))
        np.testing.assert_array_equal(kept, [1.0, 2.0])
        np.testing.assert_array_equal(changed, [[3.0, 6.0]] * 2)


def test_an_index_that_is_not_there_is_reported_as_in_the_first_call():
    @tf.function
    def program(x, n):
        total, items = tf.zeros([3]), tf.TensorArray(tf.float32, 4, element_shape=[3])
        for i in tf.range(n):
            items = items.write(i, x * 2.0)
            total += items.read(i)
        return total

    x = tf.constant([1.0, 2.0, 3.0])
    messages = []
    for n in (5, 4, 4, 5, 5):
        if n == 4:
            np.testing.assert_array_equal(program(x, tf.constant(n)), [8.0, 16.0, 24.0])
            continue
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            program(x, tf.constant(n))
        messages.append(str(caught.value))
    assert len(set(messages)) == 1


@pytest.mark.parametrize("shape", [(500, 20), (3, 1), (1, 7), (16, 300), (33, 9)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_a_matrix_and_a_vector(shape, dtype):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape).astype(dtype)
    right, left = (rng.standard_normal(n).astype(dtype) for n in (shape[1], shape[0]))
    close = {"rtol": 2e-4, "atol": 2e-4} if dtype is np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(tf.linalg.matvec(x, right), x @ right, **close)
    np.testing.assert_allclose(tf.linalg.matvec(x, left, transpose_a=True), left @ x, **close)
    np.testing.assert_allclose(tf.matmul(left[None], x), left[None] @ x, **close)
    np.testing.assert_allclose(tf.matmul(right[None], x, transpose_b=True), right[None] @ x.T, **close)
