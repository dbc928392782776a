"""Loops that read elements of arrays, against the same loops in Python over NumPy's arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

FLOATS = ["float32", "float64"]
WHOLE = ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64"]


@tf.function
def following(table, start, steps):
    """Where a walk along a table of next indices ends."""
    at, i = start, tf.constant(0)
    while i < steps:
        at = table[at]
        i += 1
    return at


@tf.function
def chosen(x, rows, columns):
    """The sum of the elements of a matrix at pairs of indices, with the number of those above zero."""
    total, above = tf.constant(0.0, tf.float64), tf.constant(0)
    for i in tf.range(tf.shape(rows)[0]):
        element = tf.cast(x[rows[i], columns[i]], tf.float64)
        total += element
        if element > 0.0:
            above += 1
    return total, above


@pytest.mark.filterwarnings("ignore:.*retracing")
@pytest.mark.parametrize("dtype", FLOATS + WHOLE)
def test_elements_of_every_dtype_are_read(dtype):
    x = np.random.default_rng(5).integers(0, 2 if dtype == "bool" else 100, (4, 7)).astype(dtype)
    rows, columns = np.int32([0, 3, -4, 2, -1]), np.int64([6, -7, 0, 3, -1])
    total, above = chosen(x, rows, columns)
    picked = x[rows, columns].astype("float64")
    assert total.numpy() == picked.sum()
    assert above.numpy() == (picked > 0).sum()


def test_values_that_are_no_numbers_are_read_as_they_are():
    x = np.array([[np.nan, np.inf], [-np.inf, -0.0]])
    for i in range(2):
        for j in range(2):
            total, _ = chosen(x, np.int32([i]), np.int64([j]))
            np.testing.assert_array_equal(total, x[i, j] + 0.0)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_walk_ends_where_that_of_python_ends(data):
    n = data.draw(st.integers(1, 6))
    # Now and then an index that is not there.
    index = st.integers(-n, n - 1) | st.sampled_from([-n - 1, n])
    table = data.draw(st.lists(index, min_size=n, max_size=n))
    start, steps = data.draw(index), data.draw(st.integers(0, 12))
    at, missing = start, None
    for _ in range(steps):
        if not -n <= at < n:
            missing = at
            break
        at = table[at]
    arguments = np.int64(table), np.int64(start), np.int32(steps)
    if missing is None:
        assert following(*arguments).numpy() == at
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"slice index {missing} of dimension 0"):
            following(*arguments)


def test_an_array_may_change_between_runs():
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def total():
        s = tf.constant(0.0)
        for i in tf.range(3):
            s += v[i]
        return s

    assert total().numpy() == 6.0
    v.assign([4.0, 5.0, 6.0])
    assert total().numpy() == 15.0


def test_rows_of_no_elements_and_nested_arrays_are_read():
    @tf.function
    def last(x):
        row = x[0]
        for i in tf.range(2):
            row = x[i]
        return row

    assert last(np.zeros((2, 0))).shape == (0,)
    big = np.arange(2 * 3000.0).reshape(2, 3000)
    np.testing.assert_array_equal(last(big), big[1])
    np.testing.assert_array_equal(last(np.array([["a"], ["b"]])), [b"b"])


def wrapped(number, dtype):
    """What is left of a number in a dtype of integers."""
    size = np.dtype(dtype).itemsize
    return int(np.array(number % 2 ** (8 * size), f"uint{8 * size}").view(dtype))


@tf.function
def remainders(x, y):
    """Euclid's algorithm with remainders that floor, the sum of its quotients, and the number of rounds."""
    quotients, rounds = x - x, tf.constant(0)
    while y != 0:
        quotients += x // y
        x, y = y, x % y
        rounds += 1
    return x, quotients, rounds


@pytest.mark.filterwarnings("ignore:.*retracing")
@settings(deadline=None, max_examples=150)
@given(st.data())
def test_divisions_in_a_loop_are_those_of_python(data):
    dtype = data.draw(st.sampled_from(["int8", "int32", "int64", "uint32"]))
    info = np.iinfo(dtype)
    near = st.integers(max(info.min, -9), 9)
    x, y = (data.draw(near | st.integers(int(info.min), int(info.max))) for _ in range(2))
    found = [int(t) for t in remainders(*(tf.constant(v, dtype) for v in (x, y)))]
    quotients, rounds = 0, 0
    while y != 0:
        quotients += x // y
        x, y = y, x % y
        rounds += 1
    assert found == [x, wrapped(quotients, dtype), rounds]


@tf.function
def shares(total, down_from, down_to):
    """The sum of quotients and remainders of a number by all from one down to another."""
    parts, rest, by = total - total, total - total, down_from
    while by >= down_to:
        parts += total // by
        rest += total % by
        by -= 1
    return parts, rest


def test_a_divisor_that_counts_down_fails_at_zero_and_not_before():
    for total in (100, -100, np.iinfo("int32").min):
        for first, last in ((7, 1), (-1, -7)):
            by = range(first, last - 1, -1)
            found = [int(t) for t in shares(tf.constant(total), tf.constant(first), tf.constant(last))]
            due = [sum(total // d for d in by), sum(total % d for d in by)]
            assert found == [wrapped(d, "int32") for d in due]
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            shares(tf.constant(total), tf.constant(3), tf.constant(-3))
