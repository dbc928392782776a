"""Bands of diagonals, taken out of matrices and put in, against a model element by element."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import assert_same, both_ways

import penstock as tf

ALIGN = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]
SOME = settings(max_examples=60, deadline=None)


def places(m, n, low, high, align):
    """For each place in a band, the place in the matrix that stands there, or None."""
    longest = min(m + min(high, 0), n - max(low, 0))
    for i, k in enumerate(range(high, low - 1, -1)):
        length = min(m + min(k, 0), n - max(k, 0))
        side = align.split("_")[0 if k > 0 else 1]
        start = longest - length if side == "RIGHT" and k != 0 else 0
        for j in range(longest):
            d = j - start
            yield (i, j), ((d - min(k, 0), d + max(k, 0)) if 0 <= d < length else None)


def part(x, low, high, fill, align):
    *batch, m, n = x.shape
    out = np.full((*batch, high - low + 1, min(m + min(high, 0), n - max(low, 0))), fill, x.dtype)
    for (i, j), at in places(m, n, low, high, align):
        if at is not None:
            out[..., i, j] = x[(..., *at)]
    return out[..., 0, :] if low == high else out


def filled(x, band, low, high, align):
    x, band = x.copy(), band[..., None, :] if low == high else band
    for (i, j), at in places(*x.shape[-2:], low, high, align):
        if at is not None:
            x[(..., *at)] = band[..., i, j]
    return x


@st.composite
def bands(draw):
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    low = draw(st.integers(1 - m, n - 1))
    high = draw(st.integers(low, n - 1))
    batch = tuple(draw(st.lists(st.integers(0, 2), max_size=1)))
    x = (
        np.arange(int(np.prod([*batch, m, n])))
        .reshape(*batch, m, n)
        .astype(draw(st.sampled_from(["int32", "float64"])))
    )
    return x, low, high, draw(st.sampled_from(ALIGN))


def k_of(low, high):
    return low if low == high else (low, high)


@SOME
@given(bands())
def test_bands_are_taken_out_and_put_in(case):
    x, low, high, align = case
    k = k_of(low, high)
    want = part(x, low, high, 77, align)
    got = tf.linalg.diag_part(x, k=k, padding_value=77, align=align)
    assert_same(got.numpy(), want)
    other = want + 100
    assert_same(tf.linalg.set_diag(x, other, k=k, align=align).numpy(), filled(x, other, low, high, align))
    background = np.full(x.shape, 5, x.dtype)
    made = tf.linalg.diag(
        other, k=k, num_rows=x.shape[-2], num_cols=x.shape[-1], padding_value=5, align=align
    )
    assert_same(made.numpy(), filled(background, other, low, high, align))


def test_sizes_may_be_unknown():
    x = np.arange(24.0).reshape(2, 3, 4)
    for k in (0, 1, -2, (-1, 1), (0, 2)):
        taken = both_ways(lambda t, k=k: tf.linalg.diag_part(t, k=k), x)
        both_ways(lambda t, d, k=k: tf.linalg.set_diag(t, d, k=k), x, taken.numpy())
        both_ways(lambda d, k=k: tf.linalg.diag(d, k=k), taken.numpy())


def test_matrices_are_as_small_as_they_can_be():
    assert tf.linalg.diag([1, 2], k=1).numpy().tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert tf.linalg.diag([1, 2], k=-1, num_cols=2).numpy().tolist() == [[0, 0], [1, 0], [0, 2]]
    assert tf.linalg.diag([[0, 8, 9], [1, 2, 3]], k=(0, 1)).numpy().tolist() == [
        [1, 8, 0],
        [0, 2, 9],
        [0, 0, 3],
    ]
    assert tf.linalg.diag(np.zeros((2, 0))).shape == [2, 0, 0]
    assert tf.linalg.diag_part(np.zeros((0, 3, 3)), k=(0, 1)).shape == [0, 2, 3]


@pytest.mark.parametrize("k", [0, 1, -1, (-1, 1)])
def test_gradients_go_to_where_elements_came_from(k):
    x = tf.constant(np.arange(12.0).reshape(3, 4))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.linalg.diag_part(x, k=k)
        z = tf.reduce_sum(y * y)
    assert_same(tape.gradient(z, x).numpy(), 2 * tf.linalg.set_diag(tf.zeros_like(x), y, k=k).numpy())
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.reduce_sum(tf.linalg.set_diag(x, tf.ones_like(y), k=k))
    assert_same(
        tape.gradient(z, x).numpy(), tf.linalg.set_diag(tf.ones_like(x), tf.zeros_like(y), k=k).numpy()
    )


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: tf.linalg.diag_part(np.ones((2, 3)), k=3), tf.errors.InvalidArgumentError, "'k'"),
        (lambda: tf.linalg.diag_part(np.ones((2, 3)), k=(-2, 0)), tf.errors.InvalidArgumentError, "'k'"),
        (lambda: tf.linalg.diag_part(np.ones((2, 3)), k=(1, 0)), ValueError, "'k'"),
        (lambda: tf.linalg.diag_part(np.ones((2, 3)), k=(0, 1, 2)), ValueError, "'k'"),
        (lambda: tf.linalg.diag_part(np.ones((2, 3)), k=(0, 1), align="MIDDLE"), ValueError, "'align'"),
        (lambda: tf.linalg.diag_part(np.ones(3)), ValueError, "matrix"),
        (lambda: tf.linalg.diag([1, 2], num_rows=1), tf.errors.InvalidArgumentError, "diagonal"),
        (lambda: tf.linalg.diag([1, 2], k=(0, 1)), tf.errors.InvalidArgumentError, "'diagonal'"),
        (lambda: tf.linalg.set_diag(np.ones((2, 3)), [1.0]), tf.errors.InvalidArgumentError, "'diagonal'"),
        (
            lambda: tf.linalg.set_diag(np.ones((2, 3)), np.ones((3, 2)), k=(0, 1)),
            tf.errors.InvalidArgumentError,
            "2 diag",
        ),
    ],
)
def test_bad_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()
