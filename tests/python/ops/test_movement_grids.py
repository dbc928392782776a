"""Operators that move elements, on grids of dtype, shape and arguments, against their references.

What the array API namespace covers (elementwise functions, reductions, most of shapes) is tested there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst
from support.numpy_reference import REFERENCE
from support.reference_models import Near
from support.strategies import DTYPES, filled, shapes, tensor

import penstock as tf
from penstock import raw_ops

SOME = settings(max_examples=40, deadline=None)


def several(result: Any) -> list[Any]:
    """The results of an operator or of a reference, of which there may be one."""
    return list(result) if type(result) in (tuple, list) else [result]


def agree(name: str, *operands: np.ndarray, **attributes: Any) -> None:
    """Runs an operator eagerly, and traced for these shapes and for unknown ones, and its reference."""
    expected = several(REFERENCE[name](*operands, **attributes))
    expected = [np.asarray(e.value if isinstance(e, Near) else e) for e in expected]
    given_ = [tensor(x) for x in operands]

    def run(*tensors: tf.Tensor) -> Any:
        return getattr(raw_ops, name)(*tensors, **attributes)

    specs = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in given_]
    openly = tf.function(run).get_concrete_function(*specs) if name not in NEED_SIZES else run
    for result in (run(*given_), tf.function(run)(*given_), openly(*given_)):
        got = [np.asarray(r.numpy()) for r in several(result)]
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert a.shape == b.shape
            np.testing.assert_array_equal(a, b)


# Operators whose number of results is a size.
NEED_SIZES = {"unstack", "split"}


def axis_of(rank: int) -> st.SearchStrategy[int]:
    return st.integers(-rank, rank - 1)


# --- shapes ---


@SOME
@given(st.data())
def test_transposes(data):
    x = data.draw(filled(shapes(0, 5)))
    agree("transpose", x, perm=list(data.draw(st.permutations(range(x.ndim)))))


@SOME
@given(st.data())
def test_reverses_and_tiles(data):
    x = data.draw(filled(shapes()))
    axes = data.draw(st.lists(st.sampled_from(range(x.ndim)), unique=True)) if x.ndim else []
    agree("reverse", x, axes=axes)
    times = data.draw(st.lists(st.integers(0, 3), min_size=x.ndim, max_size=x.ndim))
    agree("tile", x, np.array(times, "int32"))


@SOME
@given(st.data())
def test_pads(data):
    x = data.draw(filled(shapes()))
    amounts = data.draw(npst.arrays("int32", (x.ndim, 2), elements=st.integers(0, 3)))
    agree(
        "pad", x, amounts, data.draw(filled((), [x.dtype])) if x.dtype != object else np.array(b"-", object)
    )


@SOME
@given(st.data())
def test_broadcasts(data):
    shape = data.draw(shapes())
    ones = tuple(1 if data.draw(st.booleans()) else n for n in shape)
    lead = data.draw(st.lists(st.integers(0, 3), max_size=2))
    agree("broadcast_to", data.draw(filled(ones)), np.array([*lead, *shape], "int64"))


# --- joining and parting ---


@SOME
@given(st.data())
def test_joins(data):
    shape = data.draw(shapes(1))
    axis = data.draw(axis_of(len(shape)))
    dtype = data.draw(st.sampled_from(DTYPES))
    parts = []
    for _ in range(data.draw(st.integers(1, 4))):
        own = list(shape)
        own[axis] = data.draw(st.integers(0, 3))
        parts.append(data.draw(filled(tuple(own), [dtype])))
    agree("concat", *parts, axis=axis)
    agree("stack", *[parts[0]] * 3, axis=data.draw(st.integers(-len(shape) - 1, len(shape))))


@SOME
@given(st.data())
def test_parts(data):
    x = data.draw(filled(shapes(1, side=1)))
    axis = data.draw(axis_of(x.ndim))
    agree("unstack", x, axis=axis)
    cut = data.draw(st.integers(0, x.shape[axis]))
    agree("split", x, sizes=[cut, x.shape[axis] - cut], axis=axis)
    agree("split", x, sizes=[-1, cut, 0], axis=axis)
    agree("split", x, num=x.shape[axis], axis=axis)


# --- slices ---


@SOME
@given(st.data())
def test_boxes(data):
    x = data.draw(filled(shapes()))
    begin = [data.draw(st.integers(0, n)) for n in x.shape]
    size = [data.draw(st.integers(-1, n - b)) for n, b in zip(x.shape, begin, strict=True)]
    agree("slice", x, np.array(begin, "int32"), np.array(size, "int32"))


@SOME
@given(st.data())
def test_strided_slices(data):
    x = data.draw(filled(shapes(1)))
    count = data.draw(st.integers(1, x.ndim))
    begin, end = (data.draw(npst.arrays("int64", count, elements=st.integers(-6, 6))) for _ in range(2))
    strides = data.draw(npst.arrays("int64", count, elements=st.sampled_from([-3, -2, -1, 1, 2, 3])))
    masks = {f"{name}_mask": data.draw(st.integers(0, 2**count - 1)) for name in ("begin", "end")}
    new = data.draw(st.sampled_from([0, 1]))
    # An index must exist where its dimension is dropped, and its stride is 1. A new dimension takes entry 0.
    shrink = sum(
        1 << i
        for i in range(new, count)
        if data.draw(st.booleans()) and -x.shape[i - new] <= begin[i] < x.shape[i - new] and strides[i] > 0
    )
    masks["begin_mask"] &= ~shrink
    agree("strided_slice", x, begin, end, strides, shrink_axis_mask=shrink, new_axis_mask=new, **masks)


# --- gathers and scatters ---


@SOME
@given(st.data())
def test_gathers(data):
    params = data.draw(filled(shapes(1, side=1)))
    batch = data.draw(st.integers(0, params.ndim - 1))
    axis = data.draw(st.integers(batch, params.ndim - 1))
    inner = data.draw(st.lists(st.integers(0, 3), max_size=2))
    shape = (*params.shape[:batch], *inner)
    at = data.draw(
        npst.arrays(
            data.draw(st.sampled_from(["int32", "int64"])),
            shape,
            elements=st.integers(0, params.shape[axis] - 1),
        )
    )
    agree("gather", params, at, axis=axis, batch_dims=batch)
    agree("gather", params, at, axis=axis - params.ndim, batch_dims=batch)


@st.composite
def places(draw, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of positions in the leading dimensions of a shape."""
    depth = draw(st.integers(1, len(shape)))
    count = draw(st.lists(st.integers(0, 3), min_size=1, max_size=2))
    columns = [
        draw(npst.arrays("int64", tuple(count), elements=st.integers(0, n - 1))) for n in shape[:depth]
    ]
    return np.stack(columns, axis=-1)


@SOME
@given(st.data())
def test_gathers_by_position(data):
    params = data.draw(filled(shapes(1, side=1)))
    agree("gather_nd", params, data.draw(places(params.shape)))


@pytest.mark.parametrize("how", ["update", "add", "sub", "max", "min"])
@SOME
@given(st.data())
def test_scatters(how, data):
    numbers = ["int8", "int32", "int64", "uint16", "float32", "float64"]
    x = data.draw(filled(shapes(1, side=1), DTYPES if how == "update" else numbers))
    at = data.draw(places(x.shape))
    updates = data.draw(filled((*at.shape[:-1], *x.shape[at.shape[-1] :]), [x.dtype]))
    agree(f"tensor_scatter_nd_{how}", x, at, updates)


@SOME
@given(st.data())
def test_segments(data):
    numbers = ["int32", "int64", "float32", "float64"]
    lead = data.draw(shapes(1, 2))
    x = data.draw(filled((*lead, *data.draw(shapes(0, 2))), numbers))
    ids = data.draw(npst.arrays("int32", lead, elements=st.integers(-1, 3)))
    agree("unsorted_segment_sum", x, ids, np.array(4, "int32"))


@SOME
@given(st.data())
def test_positions_of_what_is_not_zero(data):
    agree("where_indices", data.draw(filled(shapes(), DTYPES[:-1])))


@pytest.mark.parametrize("index", [-1, 4, 2**31 - 1])
def test_indices_out_of_range_are_errors_that_name_them(index):
    x = tf.range(4)
    for call in (
        lambda i: tf.gather(x, i),
        lambda i: tf.gather_nd(x, [i]),
        lambda i: tf.tensor_scatter_nd_add(x, [i], [1]),
        tf.function(lambda i: tf.gather(x, i)),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=str(index)):
            call(tf.constant([index]))
