"""Slices and padding of arrays in expressions, against NumPy: exact, as both round alike."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

# Rows that share a tile, fill one, and take several; few and many of them.
SHAPES = [
    (3, 3, 2),
    (5, 4, 7),
    (12, 30, 4),
    (40, 33, 26),
    (6, 7, 300),
    (4, 5, 700),
    (3, 3, 40_000),
    (400, 350, 1),
]


def _field(shape: tuple[int, ...], dtype: Any = np.float64, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 8).astype(dtype)


def _check(function: Any, *arrays: Any) -> None:
    due = function(*arrays)
    got = tf.function(function)(*map(tf.constant, arrays))
    np.testing.assert_array_equal(got.numpy(), due)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int8])
@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_along_each_axis(shape: tuple[int, ...], dtype: Any) -> None:
    x = _field(shape, dtype)
    _check(lambda x: (x[1:] - x[:-1]) * x[1:] + x[:-1], x)
    _check(lambda x: (x[:, 1:] - x[:, :-1]) * x[:, 1:] + x[:, :-1], x)
    _check(lambda x: (x[:, :, 1:] - x[:, :, :-1]) * x[:, :, 1:] + x[:, :, :-1], x)


@pytest.mark.parametrize("shape", [s for s in SHAPES if min(s) > 2])
def test_windows_of_windows(shape: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        inner = x[1:-1, 1:-1, 1:-1]
        around = x[2:][:, 1:-1, 1:-1] + x[:-2, 1:-1][:, :, 2:] + x[1:-1, 2:, :-2] + x[1:-1, :-2, 1:-1]
        return inner * 4.0 - around

    _check(function, _field(shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_single_indices_and_broadcast_windows(shape: tuple[int, ...]) -> None:
    x, row, plane = _field(shape), _field(shape[2:], seed=1), _field((*shape[:2], 1), seed=2)

    def function(x: Any, row: Any, plane: Any) -> Any:
        return x[1:] * row + plane[:-1] * x[0] - x[-1, 1] * plane[1:, 0:1] + row[-1]

    _check(function, x, row, plane)
    _check(lambda x: x[1, 1:] * 2.0 + x[0, :-1] * x[-1, 0, 0], x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "widths", [((1, 0), (0, 2), (0, 0)), ((0, 0), (0, 0), (2, 1)), ((3, 1), (1, 3), (1, 1))]
)
def test_padding_among_other_operands(shape: tuple[int, ...], dtype: Any, widths: Any) -> None:
    x = _field(shape, dtype)
    y = _field(np.pad(x, widths).shape, dtype, seed=1)

    def function(x: Any, y: Any) -> Any:
        pad = np.pad if isinstance(x, np.ndarray) else tf.pad
        padded = pad(x * x, widths)
        return padded + y, (padded[1:] - y[:-1]) * padded[:-1], pad(padded, widths)[2:, :-1] + x[0, 0, 0]

    for got, due in zip(tf.function(function)(tf.constant(x), tf.constant(y)), function(x, y), strict=True):
        np.testing.assert_array_equal(got.numpy(), due)


def test_padding_of_other_numbers() -> None:
    x = _field((30, 20, 10))

    @tf.function
    def function(x: Any) -> Any:
        ones = tf.pad(x, [(1, 1), (2, 0), (0, 3)], constant_values=1.0)
        both = tf.pad(ones, [(1, 1), (1, 1), (1, 1)], constant_values=-2.0)
        return ones * 2.0 + 1.0, both * 2.0 + 1.0, tf.reduce_max(both[1:] * 3.0, axis=2)

    ones = np.pad(x, [(1, 1), (2, 0), (0, 3)], constant_values=1.0)
    both = np.pad(ones, 1, constant_values=-2.0)
    for got, due in zip(
        function(tf.constant(x)), (ones * 2 + 1, both * 2 + 1, (both[1:] * 3).max(2)), strict=True
    ):
        np.testing.assert_array_equal(got.numpy(), due)


def test_strides_and_steps_backwards() -> None:
    x = _field((40, 31, 50))
    _check(lambda x: x[::2] * 2.0 + x[1::2], x)
    _check(lambda x: x[:, ::-1, :] * 2.0 + x, x)
    _check(lambda x: x[:, :, ::-1] * 2.0 + x, x)
    _check(lambda x: x[:, ::3, ::2] * 2.0 + x[:, 1::3, 1::2][:, :1], x)


def test_windows_are_reduced() -> None:
    x = np.arange(60 * 50 * 40, dtype=np.int64).reshape(60, 50, 40)

    @tf.function
    def sums(x: Any) -> Any:
        w = x[1:-1, 2:, 3:-4]
        return (
            tf.reduce_sum(w),
            tf.reduce_sum(w, axis=2),
            tf.reduce_sum(w * x[:-2, :-2, 3:-4], axis=0),
            tf.reduce_max(w, axis=[1, 2]),
        )

    w = x[1:-1, 2:, 3:-4]
    total, rows, columns, most = (t.numpy() for t in sums(tf.constant(x)))
    assert total == w.sum()
    np.testing.assert_array_equal(rows, w.sum(2))
    np.testing.assert_array_equal(columns, (w * x[:-2, :-2, 3:-4]).sum(0))
    np.testing.assert_array_equal(most, w.max((1, 2)))


def test_special_numbers_pass_through_windows() -> None:
    x = _field((50, 60))
    x[3, 4], x[20, 30], x[49, 59], x[7, 0] = np.nan, np.inf, -0.0, -np.inf
    with np.errstate(invalid="ignore"):
        _check(lambda x: (x[1:, 1:] - x[:-1, :-1]) * x[1:, :-1], x)


def test_a_stencil_changes_a_variable_in_place() -> None:
    x = _field((70, 90))
    v = tf.Variable(x)

    @tf.function
    def steps(n: Any) -> None:
        for _ in tf.range(n):
            v[1:-1, 1:-1].assign(0.25 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]))

    steps(tf.constant(5))
    for _ in range(5):
        x[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    np.testing.assert_array_equal(v.numpy(), x)
