"""Sorting, search, distinct elements and segments: properties against NumPy, arguments and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

import penstock as tf

REAL = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
SIDES = st.sampled_from(["left", "right"])


def arrays(min_dims: int = 1, max_dims: int = 3, dtypes: list[str] = REAL) -> st.SearchStrategy[np.ndarray]:
    """Arrays of every dtype and shape, with the values that are hard to order among them."""
    shapes = npst.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=0, max_side=6)

    def of(dtype: str) -> st.SearchStrategy[np.ndarray]:
        if not dtype.startswith("float"):
            return npst.arrays(dtype, shapes)
        special = st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
        return npst.arrays(dtype, shapes, elements=special | st.floats(-4, 4, width=16))

    return st.sampled_from(dtypes).flatmap(of)


def order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The stable order; NaN is the greatest, and 0 is -0."""
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, axis=axis, kind="stable")


@settings(deadline=None)
@given(arrays(), st.data(), st.booleans(), st.booleans())
def test_sort_and_argsort_are_stable_along_any_axis(
    x: np.ndarray, data: st.DataObject, descending: bool, in_graph: bool
) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    direction = "DESCENDING" if descending else "ASCENDING"

    def both(v: tf.Tensor) -> Any:
        return tf.sort(v, axis, direction), tf.argsort(v, axis, direction)

    ordered, places = (tf.function(both) if in_graph else both)(tf.constant(x))
    due = order(x, axis, descending)
    np.testing.assert_array_equal(places.numpy(), due)
    assert places.dtype == tf.int32
    expected = np.take_along_axis(x, due, axis)
    np.testing.assert_array_equal(ordered.numpy(), expected)
    if x.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(ordered.numpy()), np.signbit(expected))


@settings(deadline=None)
@given(arrays(), st.data())
def test_top_k_is_the_head_of_the_descending_order(x: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, x.shape[-1]))
    found = tf.math.top_k(x, k)
    due = order(x, -1, True)[..., :k]
    np.testing.assert_array_equal(found.indices.numpy(), due)
    np.testing.assert_array_equal(found.values.numpy(), np.take_along_axis(x, due, -1))


@settings(deadline=None)
@given(arrays(1, 1), SIDES, st.data())
def test_searchsorted_is_numpys(x: np.ndarray, side: str, data: st.DataObject) -> None:
    row = np.sort(x)
    values = data.draw(npst.arrays(x.dtype, st.integers(0, 5), elements=npst.from_dtype(x.dtype)))
    got = tf.searchsorted(row, values, side)
    np.testing.assert_array_equal(got.numpy(), np.searchsorted(row, values, side))


def test_searchsorted_of_rows() -> None:
    rows, values = np.array([[1, 3, 5], [2, 2, 2]]), np.array([[0, 3, 9], [1, 2, 3]])
    assert tf.searchsorted(rows, values).numpy().tolist() == [[0, 1, 3], [0, 0, 3]]
    assert tf.searchsorted(rows, values, "right", "int64").numpy().tolist() == [[0, 2, 3], [0, 3, 3]]


@settings(deadline=None)
@given(arrays(1, 1, [*REAL, "bool", "complex64"][:-2]))
def test_unique_reconstructs_its_operand(x: np.ndarray) -> None:
    y, idx, count = tf.unique_with_counts(x)
    np.testing.assert_array_equal(y.numpy()[idx.numpy()], x)
    np.testing.assert_array_equal(count.numpy(), np.bincount(idx.numpy(), minlength=len(y)))
    # In the order of first occurrence.
    first = [list(idx.numpy()).index(i) for i in range(len(y))]
    assert first == sorted(first)
    assert len(y) == len(np.unique(x, equal_nan=False))


def test_unique_of_strings_and_results_by_name() -> None:
    found = tf.unique_with_counts(["b", "a", "b"], "int64")
    assert found.y.numpy().tolist() == [b"b", b"a"]
    assert (found.idx.dtype, found.count.numpy().tolist()) == (tf.int64, [2, 1])
    assert tf.unique([1, 1]).idx.numpy().tolist() == [0, 0]


def test_unknown_sizes_in_a_graph() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec(None, tf.float32)])
    def f(x: tf.Tensor, y: tf.Tensor) -> Any:
        return tf.unique(x).y, tf.sort(y, axis=0), tf.math.top_k(x, tf.size(x) // 2).values

    distinct, ordered, half = f([3.0, 3.0, 1.0, 2.0], [[2.0], [1.0]])
    assert distinct.numpy().tolist() == [3, 1, 2]
    assert ordered.numpy().tolist() == [[1], [2]]
    assert half.numpy().tolist() == [3, 3]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.sort([1], direction="UP"), ValueError),
        (lambda: tf.sort([1], axis=1), tf.errors.InvalidArgumentError),
        (lambda: tf.argsort(["a"]), TypeError),
        (lambda: tf.math.top_k([1, 2], 3), tf.errors.InvalidArgumentError),
        (lambda: tf.math.top_k([1, 2], -1), tf.errors.InvalidArgumentError),
        (lambda: tf.math.top_k(1, 1), tf.errors.InvalidArgumentError),
        (lambda: tf.searchsorted([1], [1], side="up"), ValueError),
        (lambda: tf.searchsorted([[1], [2]], [[1]]), tf.errors.InvalidArgumentError),
        (lambda: tf.unique([[1]]), tf.errors.InvalidArgumentError),
        (lambda: tf.math.segment_sum([1, 2], [1, 0]), tf.errors.InvalidArgumentError),
        (lambda: tf.math.segment_sum([1, 2], [-1, 0]), tf.errors.InvalidArgumentError),
        (lambda: tf.math.segment_sum([1, 2], [0]), tf.errors.InvalidArgumentError),
        (lambda: tf.math.unsorted_segment_max([1], [2], 2), tf.errors.InvalidArgumentError),
        (lambda: tf.bitcast([1, 2, 3], "int64"), tf.errors.InvalidArgumentError),
        (lambda: tf.bitcast([True], "int8"), TypeError),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


SEGMENTS = {
    "sum": (lambda x: np.sum(x, axis=0, dtype=x.dtype), 0, 0),
    "prod": (lambda x: np.prod(x, axis=0, dtype=x.dtype), 1, 1),
    "max": (lambda x: np.max(x, axis=0), 0, "min"),
    "min": (lambda x: np.min(x, axis=0), 0, "max"),
}


@settings(deadline=None)
@given(
    st.sampled_from(["int8", "int32", "int64", "uint16", "float64"]),
    st.sampled_from(list(SEGMENTS)),
    st.lists(st.integers(0, 5), max_size=12),
    st.integers(0, 3),
    st.booleans(),
)
def test_segments(dtype: str, kind: str, ids: list[int], width: int, ordered: bool) -> None:
    ids = sorted(ids) if ordered else ids
    x = (np.arange(len(ids) * width).reshape(len(ids), width) * 7 % 11 - 3).astype(dtype)
    f, empty, start = SEGMENTS[kind]
    if not ordered:
        info = np.finfo(dtype) if dtype == "float64" else np.iinfo(dtype)
        empty = getattr(info, start) if isinstance(start, str) else start
    n = max(ids, default=-1) + 1 if ordered else 6
    place = np.array(ids, "int32")
    rows = [f(x[place == s]) if np.any(place == s) else np.full(width, empty, dtype) for s in range(n)]
    expected = np.array(rows, dtype).reshape(n, width)
    if ordered:
        got = getattr(tf.math, f"segment_{kind}")(x, place)
    else:
        got = getattr(tf.math, f"unsorted_segment_{kind}")(x, place, 6)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_long_rows_are_split_between_threads_without_a_trace() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60_000, 16)).astype("float32")
    ids = rng.integers(-1, 500, 60_000)
    got = tf.math.unsorted_segment_sum(x, ids, 500).numpy()
    expected = np.zeros((500, 16))
    np.add.at(expected, ids[ids >= 0], x[ids >= 0].astype("float64"))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    updated = tf.tensor_scatter_nd_add(tf.zeros([500, 16]), ids[ids >= 0][:, None], x[ids >= 0]).numpy()
    np.testing.assert_allclose(updated, expected, rtol=1e-4, atol=1e-4)


def test_gradients_follow_the_elements() -> None:
    x = tf.constant([[3.0, 1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sort(x) * [[1.0, 10.0, 100.0]]) + tf.reduce_sum(
            tf.math.top_k(x, 2).values * [[5.0, 7.0]]
        )
    assert tape.gradient(y, x).numpy().tolist() == [[105.0, 1.0, 17.0]]
    x = tf.constant([2.0, 5.0, 5.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.segment_max(x, [0, 0, 0, 2]) * [1.0, 1.0, 3.0]
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 0.5, 0.5, 3.0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.unsorted_segment_mean(x, [1, 0, 1, -1], 2)
    assert tape.gradient(y, x).numpy().tolist() == [0.5, 1.0, 0.5, 0.0]


def test_in_top_k() -> None:
    rows = np.array([[0.1, 0.9, 0.5], [0.3, 0.3, 0.1], [np.nan, 1.0, 0.0], [0.1, 0.2, 0.3]], "float32")
    assert tf.math.in_top_k([2, 1, 1, 7], rows, 2).numpy().tolist() == [True, True, False, False]


def hard_rows(n: int) -> dict[str, np.ndarray]:
    """Rows of `n` numbers whose orders are hard for one way of sorting or another."""
    i, random = np.arange(n), np.random.default_rng(n)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, 1.0])
    return {
        "random": random.normal(size=n),
        "equal": np.full(n, 7.0),
        "ascending": i / 4,
        "descending": -i / 4,
        "up and down": np.minimum(i, n - i) * 0.5,
        "saw": i % 17 * 1.5,
        "few": random.integers(0, 3, n) - 1.0,
        "special": random.choice(special, n),
        "special among random": np.where(
            random.random(n) < 0.1, random.choice(special, n), random.normal(size=n)
        ),
    }


@pytest.mark.parametrize("n", [33, 257, 4097, 70_001])
@pytest.mark.parametrize("dtype", REAL)
def test_rows_of_every_length_and_order_are_sorted_stably(n: int, dtype: str) -> None:
    for name, row in hard_rows(n).items():
        with np.errstate(all="ignore"):
            x = np.nan_to_num(row * 50, posinf=99, neginf=-99) if dtype[0] in "iu" else row
            x = x.astype("int64").astype(dtype) if dtype[0] in "iu" else x.astype(dtype)
        for direction in ("ASCENDING", "DESCENDING"):
            due = order(x, 0, direction == "DESCENDING")
            ordered = tf.sort(tf.constant(x), direction=direction).numpy()
            assert ordered.tobytes() == x[due].tobytes(), (name, direction)
            assert np.array_equal(tf.argsort(tf.constant(x), direction=direction).numpy(), due), (
                name,
                direction,
            )
