"""Strategies for arrays whose elements differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import penstock as tf

DTYPES = ["bool", "int8", "int32", "int64", "uint16", "float16", "float32", "float64", "complex64", "O"]


def shapes(low: int = 0, high: int = 4, side: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    return npst.array_shapes(min_dims=low, max_dims=high, min_side=side, max_side=4)


@st.composite
def filled(draw, shape: Any, dtypes: Any = DTYPES) -> np.ndarray:
    """An array of a shape whose elements differ; of strings for dtype `O`."""
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    dtype = draw(st.sampled_from(dtypes))
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    if dtype != "O":
        return numbers.astype(dtype)
    out = np.empty(shape, object)
    for at in np.ndindex(shape):
        out[at] = str(numbers[at]).encode()
    return out


def tensor(array: Any) -> Any:
    if isinstance(array, np.ndarray) and array.dtype == object:
        return tf.constant(array.tolist(), tf.string, shape=array.shape)
    return tf.constant(array) if isinstance(array, np.ndarray) else array
