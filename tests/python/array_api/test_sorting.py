"""Sorting, searching and sets of the array API namespace, judged by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

import penstock as tf
from penstock import array_api as xp

DTYPES = ["int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]
NUMBERS = st.sampled_from([0, 1, 2, 3, 5, 7, 100])


def arrays(low: int = 0) -> st.SearchStrategy[np.ndarray]:
    shapes = npst.array_shapes(min_dims=low, max_dims=3, min_side=0, max_side=5)
    return st.sampled_from(DTYPES).flatmap(lambda d: npst.arrays(d, shapes, elements=NUMBERS))


def both(function, *arrays_):
    """The eager result, once the traced one is found to be equal."""
    tensors = [xp.asarray(a) for a in arrays_]
    eager, traced = function(*tensors), tf.function(lambda *xs: function(*xs))(*tensors)
    for a, b in zip(tf.nest.flatten(eager), tf.nest.flatten(traced), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)
    return eager


@settings(max_examples=40, deadline=None)
@given(arrays(1), st.booleans(), st.data())
def test_sorting_is_stable(x, descending, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = both(lambda t: xp.argsort(t, axis=axis, descending=descending), x)
    keys = -x.astype("float64") if descending else x
    np.testing.assert_array_equal(order.numpy(), np.argsort(keys, axis=axis, kind="stable"), strict=True)
    got = both(lambda t: xp.sort(t, axis=axis, descending=descending), x)
    np.testing.assert_array_equal(got.numpy(), np.take_along_axis(x, order.numpy(), axis), strict=True)


def test_nan_is_above_all():
    x = xp.asarray([np.nan, 1.0, np.inf, -np.inf])
    assert [str(v) for v in xp.sort(x).tolist()] == ["-inf", "1.0", "inf", "nan"]
    assert [str(v) for v in xp.sort(x, descending=True).tolist()] == ["nan", "inf", "1.0", "-inf"]


@settings(max_examples=40, deadline=None)
@given(arrays(), st.sampled_from(["left", "right"]), st.data())
def test_searches(values, side, data):
    row = data.draw(npst.arrays(values.dtype, st.integers(0, 6), elements=NUMBERS))
    expected = np.searchsorted(np.sort(row), values, side=side)
    got = both(lambda r, v: xp.searchsorted(r, v, side=side), np.sort(row), values)
    np.testing.assert_array_equal(got.numpy(), expected)
    assert got.dtype == xp.int64
    order = np.argsort(row)
    sorted_by = xp.searchsorted(xp.asarray(row), xp.asarray(values), side=side, sorter=xp.asarray(order))
    np.testing.assert_array_equal(sorted_by.numpy(), expected)


def test_searches_for_numbers_and_errors():
    row = xp.asarray([1, 2, 5])
    assert xp.searchsorted(row, 2).tolist() == 1
    assert xp.searchsorted(row, 2, side="right").tolist() == 2
    with pytest.raises(ValueError, match="side"):
        xp.searchsorted(row, 2, side="middle")
    with pytest.raises(ValueError, match="x1"):
        xp.searchsorted(xp.zeros((2, 2)), xp.zeros(1))


@settings(max_examples=40, deadline=None)
@given(arrays())
def test_distinct_elements(x):
    found = both(xp.unique_all, x)
    values, indices, inverse, counts = (np.asarray(t.numpy()) for t in found)
    expected, first, number = np.unique(x, return_index=True, return_counts=True)
    order = np.argsort(values)
    np.testing.assert_array_equal(values[order], expected, strict=True)
    np.testing.assert_array_equal(indices[order], first)
    np.testing.assert_array_equal(counts[order], number)
    np.testing.assert_array_equal(values[inverse], x, strict=True)
    assert {t.dtype for t in found[1:]} == {xp.int64}
    for other, parts in (
        (xp.unique_counts(xp.asarray(x)), (values, counts)),
        (xp.unique_inverse(xp.asarray(x)), (values, inverse)),
    ):
        for a, b in zip(other, parts, strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
    np.testing.assert_array_equal(xp.unique_values(xp.asarray(x)).numpy(), values)


def test_every_nan_is_distinct():
    x = xp.asarray([np.nan, 1.0, np.nan, -0.0, 0.0])
    assert xp.unique_counts(x).counts.tolist() == [1, 1, 1, 2]
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")


@settings(max_examples=40, deadline=None)
@given(arrays(), st.booleans(), st.data())
def test_membership(x, invert, data):
    pool = data.draw(
        npst.arrays(x.dtype, npst.array_shapes(min_dims=0, max_dims=2, min_side=0), elements=NUMBERS)
    )
    got = both(lambda a, b: xp.isin(a, b, invert=invert), x, pool)
    np.testing.assert_array_equal(got.numpy(), np.isin(x, pool, invert=invert), strict=True)


def test_membership_of_numbers_and_nan():
    assert xp.isin(3, xp.asarray([1, 3])).tolist() is True
    assert xp.isin(xp.asarray([1, 3]), 3).tolist() == [False, True]
    assert xp.isin(xp.asarray([True]), xp.asarray([False])).tolist() == [False]
    assert xp.isin(xp.asarray([np.nan, 1.0]), xp.asarray([np.nan, 1.0])).tolist() == [False, True]
    assert xp.isin(xp.asarray([1j]), xp.asarray([1j])).tolist() == [True]
