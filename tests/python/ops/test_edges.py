"""What operators do at the edges, over grids of dtypes, shapes and arguments, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

import penstock as tf

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
SHAPES = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def of(dtype: str, shapes: Any = SHAPES) -> st.SearchStrategy[np.ndarray]:
    return npst.arrays(dtype, shapes, elements=npst.from_dtype(np.dtype(dtype)))


def anything(dtypes: list[str], shapes: Any = SHAPES) -> st.SearchStrategy[np.ndarray]:
    return st.sampled_from(dtypes).flatmap(lambda d: of(d, shapes))


def pairs(dtypes: list[str]) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Two arrays of one dtype whose shapes broadcast."""
    shapes = npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=4)

    def build(dtype: str, found: Any) -> Any:
        return st.tuples(*(of(dtype, s) for s in found.input_shapes))

    return st.tuples(st.sampled_from(dtypes), shapes).flatmap(lambda t: build(*t))


def same(got: tf.Tensor, expected: np.ndarray) -> None:
    found = got.numpy()
    assert (np.asarray(found).dtype, np.asarray(found).shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


WRAPPING = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}


@settings(deadline=None)
@given(pairs(INTEGERS), st.sampled_from(list(WRAPPING)))
def test_integer_arithmetic_wraps(xy: Any, name: str) -> None:
    with np.errstate(all="ignore"):
        same(getattr(tf, name)(*xy), WRAPPING[name](*xy))


@settings(deadline=None)
@given(pairs(INTEGERS), st.sampled_from(["floordiv", "floormod"]))
def test_integer_division_rounds_down_and_refuses_zero(xy: Any, name: str) -> None:
    x, y = xy
    function = getattr(tf.math, name)
    if np.any(y == 0) and np.broadcast(x, y).size:
        with pytest.raises(tf.errors.InvalidArgumentError):
            function(x, y)
        return
    with np.errstate(all="ignore"):
        expected = (np.floor_divide if name == "floordiv" else np.remainder)(
            x, np.where(y == 0, 1, y).astype(y.dtype)
        )
    same(function(x, y), np.asarray(expected))


@settings(deadline=None)
@given(pairs(INTEGERS))
def test_truncated_division_has_the_sign_of_the_dividend(xy: Any) -> None:
    x, y = xy[0], np.where(xy[1] == 0, 1, xy[1]).astype(xy[1].dtype)
    q, r = tf.truncatediv(x, y).numpy(), tf.truncatemod(x, y).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((q * y + r).astype(x.dtype), np.broadcast_to(x, q.shape))
        assert np.all((r == 0) | ((r < 0) == (np.broadcast_to(x, r.shape) < 0)))


@settings(deadline=None)
@given(st.sampled_from(INTEGERS), st.integers(0, 255), st.integers(-3, 80))
def test_shifts_past_the_width(dtype: str, value: int, by: int) -> None:
    info = np.iinfo(dtype)
    if info.min == 0 and by < 0:
        return
    x = np.array(value).astype(dtype)
    amount = np.array(min(by, int(info.max))).astype(dtype)
    steps = min(max(int(amount), 0), info.bits)
    left = (int(x) << steps) % 2**info.bits
    assert int(tf.bitwise.left_shift(x, amount).numpy()) % 2**info.bits == left
    assert int(tf.bitwise.right_shift(x, amount).numpy()) == int(x) >> steps


REDUCTIONS = {"reduce_sum": np.sum, "reduce_prod": np.prod, "reduce_max": np.max, "reduce_min": np.min}


@settings(deadline=None)
@given(anything(INTEGERS), st.sampled_from(list(REDUCTIONS)), st.data(), st.booleans())
def test_reductions_over_any_axes(x: np.ndarray, name: str, data: st.DataObject, keepdims: bool) -> None:
    axes = data.draw(st.none() | st.lists(st.integers(0, max(x.ndim - 1, 0)), unique=True, max_size=x.ndim))
    if axes is not None:
        axes = [a for a in axes if a < x.ndim]
    options: dict[str, Any] = {"axis": None if axes is None else tuple(axes), "keepdims": keepdims}
    if name in ("reduce_max", "reduce_min"):
        info = np.iinfo(x.dtype)
        options["initial"] = info.min if name == "reduce_max" else info.max
    else:
        options["dtype"] = x.dtype
    with np.errstate(all="ignore"):
        expected = np.asarray(REDUCTIONS[name](x, **options))
    same(getattr(tf, name)(x, axes, keepdims), expected)


def test_reductions_of_nothing() -> None:
    empty = tf.zeros([0])
    assert tf.reduce_sum(empty).numpy() == 0
    assert tf.reduce_prod(empty).numpy() == 1
    assert tf.reduce_max(empty).numpy() == -np.inf
    assert tf.reduce_min(empty).numpy() == np.inf
    assert np.isnan(tf.reduce_mean(empty).numpy())
    assert tf.reduce_logsumexp(empty).numpy() == -np.inf
    assert not tf.reduce_any(tf.zeros([0], tf.bool)).numpy()
    assert tf.reduce_all(tf.zeros([0], tf.bool)).numpy()
    assert tf.reduce_sum(tf.zeros([2, 0]), 1).numpy().tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_reductions_of_complex_numbers(dtype: str) -> None:
    x = (np.arange(6).reshape(2, 3) + 1j * np.arange(6)[::-1].reshape(2, 3)).astype(dtype)
    for name, f in (("reduce_sum", np.sum), ("reduce_mean", np.mean), ("reduce_prod", np.prod)):
        np.testing.assert_allclose(getattr(tf, name)(x, 1).numpy(), f(x, axis=1), rtol=1e-6)
    np.testing.assert_allclose(tf.math.reduce_variance(x).numpy(), np.var(x), rtol=1e-6)
    np.testing.assert_allclose(tf.math.reduce_std(x, 0).numpy(), np.std(x, axis=0), rtol=1e-6)
    np.testing.assert_allclose(tf.math.reduce_euclidean_norm(x).numpy(), np.linalg.norm(x.ravel()), rtol=1e-6)


@settings(deadline=None)
@given(
    anything(INTEGERS, npst.array_shapes(max_dims=3, min_side=0, max_side=4)),
    st.data(),
    st.booleans(),
    st.booleans(),
)
def test_scans_along_any_axis(x: np.ndarray, data: st.DataObject, exclusive: bool, reverse: bool) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    for name, f, start in (("cumsum", np.cumsum, 0), ("cumprod", np.cumprod, 1)):
        moved = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
        with np.errstate(all="ignore"):
            out = f(moved, axis=0, dtype=x.dtype)
        if exclusive:
            out = np.concatenate([np.full_like(out[:1], start), out[:-1]])
        out = np.moveaxis(out, 0, axis)
        same(getattr(tf.math, name)(x, axis, exclusive, reverse), np.flip(out, axis) if reverse else out)


@settings(deadline=None)
@given(pairs(FLOATS))
def test_nan_wins_in_extrema(xy: Any) -> None:
    x, y = xy
    same(tf.maximum(x, y), np.asarray(np.maximum(x, y)))
    same(tf.minimum(x, y), np.asarray(np.minimum(x, y)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_computed_in_single_precision(dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    x = np.linspace(0.1, 4, 257).astype(kind)
    for name, f in (("exp", np.exp), ("sqrt", np.sqrt), ("tanh", np.tanh), ("log", np.log)):
        due = f(x.astype("float64")).astype(kind).astype("float64")
        got = getattr(tf.math, name)(tf.constant(x)).numpy().astype("float64")
        # One unit in the last place at most, where the rounding of a rounded value differs.
        assert np.all(np.abs(got - due) <= np.abs(due) * (2.0**-7 if dtype == "bfloat16" else 2.0**-10)), name
    # A sum in the short dtype would stop at 256, or 2048.
    assert tf.reduce_sum(tf.ones([4096], dtype)).numpy() == 4096


WORDS = npst.arrays(object, npst.array_shapes(max_dims=2, max_side=3), elements=st.binary(max_size=3))


@settings(deadline=None)
@given(WORDS)
def test_strings_take_part_in_every_structural_operator(x: np.ndarray) -> None:
    t = tf.constant(x, tf.string)

    def check(got: tf.Tensor, expected: np.ndarray) -> None:
        assert got.dtype == tf.string
        # As lists: NumPy's own arrays of bytes drop zeros at the end.
        assert np.asarray(got.numpy(), object).tolist() == np.asarray(expected, object).tolist()

    check(tf.reshape(t, [-1]), x.reshape(-1))
    check(tf.transpose(t), x.T)
    check(tf.concat([t, t], 0), np.concatenate([x, x]))
    check(tf.stack([t, t], 1), np.stack([x, x], 1))
    check(tf.unstack(t)[0], x[0])
    check(tf.split(t, [1, len(x) - 1])[0], x[:1])
    check(tf.tile(t, [2] * x.ndim), np.tile(x, [2] * x.ndim))
    check(tf.reverse(t, [0]), np.flip(x, 0))
    check(tf.roll(t, 1, 0), np.roll(x, 1, 0))
    check(tf.repeat(t, 2, 0), np.repeat(x, 2, 0))
    check(tf.gather(t, [0, 0]), x[[0, 0]])
    check(tf.gather_nd(t, [[0]]), x[[0]])
    check(t[::-1], x[::-1])
    check(tf.expand_dims(t, 0), x[None])
    check(tf.squeeze(tf.expand_dims(t, 0), [0]), x)
    check(tf.broadcast_to(t, [2, *x.shape]), np.broadcast_to(x, (2, *x.shape)))
    check(tf.boolean_mask(t, [True] * len(x)), x)
    check(tf.where(tf.equal(t, t), t, "no"), x)
    check(tf.identity(t), x)
    padded = tf.pad(t, [[1, 0]] * x.ndim, constant_values="p").numpy()
    assert padded[(slice(1, None),) * x.ndim].tolist() == x.tolist()
    check(tf.tensor_scatter_nd_update(t, [[0]], t[:1]), x)
    check(tf.dynamic_stitch([list(range(len(x)))], [t]), x)
    assert [s.numpy() for s in tf.unique(tf.reshape(t, [-1])).y] == list(dict.fromkeys(x.reshape(-1)))


@settings(deadline=None)
@given(anything([*INTEGERS, *FLOATS]), st.sampled_from([*INTEGERS, *FLOATS]))
def test_bitcast_is_a_view(x: np.ndarray, to: str) -> None:
    size, due = x.dtype.itemsize, np.dtype(to).itemsize
    if due > size and (x.ndim == 0 or x.shape[-1] != due // size):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.bitcast(x, to)
        return
    shape = x.shape[:-1] if due > size else x.shape if due == size else (*x.shape, size // due)
    assert tf.bitcast(x, to).numpy().tobytes() == x.tobytes()
    assert tf.bitcast(x, to).shape == list(shape)


def test_atan2_takes_the_ordinate_first_by_the_name_of_y() -> None:
    assert tf.atan2(y=1.0, x=-1.0).numpy() == np.float32(3 * np.pi / 4)
    assert tf.function(lambda y, x: tf.atan2(x=x, y=y))(-1.0, 1.0).numpy() == np.float32(-np.pi / 4)


@settings(deadline=None)
@given(anything(["int32", "float64"], npst.array_shapes(max_dims=3, min_side=0, max_side=4)), st.data())
def test_masks_choose_the_slices_that_numpy_chooses(x: np.ndarray, data: st.DataObject) -> None:
    covered = data.draw(st.integers(1, x.ndim))
    mask = data.draw(npst.arrays(bool, x.shape[:covered]))
    same(tf.boolean_mask(x, mask), x[mask])
    unknown = tf.TensorSpec([None] * x.ndim, x.dtype.name)
    chosen = tf.function(tf.boolean_mask).get_concrete_function(unknown, tf.constant(mask))
    same(chosen(tf.constant(x), tf.constant(mask)), x[mask])


@settings(deadline=None)
@given(pairs(INTEGERS), st.booleans())
def test_integers_to_negative_powers_are_an_error(xy: Any, in_graph: bool) -> None:
    x, y = xy
    power = tf.function(tf.pow) if in_graph else tf.pow
    if np.any(y < 0) and np.broadcast(x, y).size:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"pow.*negative power"):
            power(x, y).numpy()
        return
    with np.errstate(all="ignore"):
        same(power(x, y), np.asarray(np.power(x, y)))


def test_a_negative_power_of_constants_fails_where_a_graph_computes_it() -> None:
    @tf.function
    def folded(wanted: Any) -> Any:
        return tf.cond(wanted, lambda: tf.pow(2, -1), lambda: tf.constant(7))

    assert folded(tf.constant(False)).numpy() == 7
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative power"):
        folded(tf.constant(True))

    @tf.function
    def looped(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            total += tf.pow(2, 3 - i)
        return total

    assert looped(4).numpy() == 15
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative power"):
        looped(5)


@settings(deadline=None)
@given(anything([*INTEGERS, *FLOATS, "bool", "complex64"]), st.data(), st.booleans())
def test_nonzero_elements_are_counted_over_any_axes(
    x: np.ndarray, data: st.DataObject, keepdims: bool
) -> None:
    every = st.sets(st.integers(0, x.ndim - 1)) if x.ndim else st.just(set())
    axes = data.draw(st.none() | every.map(sorted))
    due = np.asarray(np.count_nonzero(x, axis=None if axes is None else tuple(axes), keepdims=keepdims))
    same(tf.math.count_nonzero(x, axes, keepdims), due.astype("int64"))
    same(tf.function(tf.math.count_nonzero)(tf.constant(x), axes, keepdims), due.astype("int64"))


@settings(deadline=None)
@given(
    npst.arrays("int64", npst.array_shapes(max_dims=2, min_side=0), elements=st.integers(0, 9)),
    st.none() | st.integers(0, 12),
    st.none() | st.integers(0, 12),
    st.sampled_from([None, -1]),
    st.booleans(),
    st.booleans(),
)
def test_bincount_adds_up_weights_by_integer(
    x: np.ndarray, least: Any, most: Any, axis: Any, weighted: bool, in_graph: bool
) -> None:
    weights = (np.arange(x.size, dtype="float32") + 1).reshape(x.shape)
    length = max(int(x.max(initial=-1)) + 1, least or 0)
    length = length if most is None else min(length, most)
    by_row = axis == -1 and x.ndim == 2
    rows = zip(x, weights, strict=True) if by_row else [(x.ravel(), weights.ravel())]
    due = [
        np.bincount(r[r < length], w[r < length] if weighted else None, minlength=length)[:length]
        for r, w in rows
    ]
    table = np.array(due).reshape(len(due), length).astype("float32" if weighted else "int32")

    def count(v: Any) -> Any:
        return tf.math.bincount(v, weights if weighted else None, least, most, axis=axis)

    same((tf.function(count) if in_graph else count)(tf.constant(x)), table if by_row else table[0])


def test_zero_to_a_power_whose_real_part_is_positive_is_zero() -> None:
    for dtype in ("complex64", "complex128"):
        powers = tf.constant([1 + 1j, 0.5 - 2j, 3 + 0j, 0j, 2j, -1 + 1j], dtype)
        found = tf.pow(tf.zeros([6], dtype), powers).numpy()
        assert found[:4].tolist() == [0, 0, 0, 1]
        assert np.isnan(found[4:]).all()


def test_relu_of_a_negative_zero_is_zero() -> None:
    for function in (tf.nn.relu, tf.nn.relu6, tf.function(tf.nn.relu)):
        for dtype in ("float16", "float32", "float64"):
            found = function(tf.constant([-0.0, 0.0, -1.0, np.nan], dtype)).numpy()
            assert not np.signbit(found[:3]).any()
            assert np.isnan(found[3])


def test_scattered_strings_are_joined_where_they_meet() -> None:
    at, words = [[2], [0], [2]], ["a", "b", "c"]
    for scatter in (tf.scatter_nd, tf.function(tf.scatter_nd)):
        assert scatter(at, words, [4]).numpy().tolist() == [b"b", b"", b"ac", b""]
    rows = tf.scatter_nd([[1]], [["x", "y"]], [2, 2])
    assert rows.numpy().tolist() == [[b"", b""], [b"x", b"y"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"scatter_nd.*'indices'"):
        tf.scatter_nd([[4]], ["a"], [4])


def test_bincount_takes_weights_of_nothing_for_ones():
    counts = tf.math.bincount([1, 3, 1], tf.zeros([0], tf.float64))
    assert (counts.dtype, counts.numpy().tolist()) == (tf.float64, [0, 2, 0, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "uint8", "int64"])
def test_bincount_counts_numbers_of_any_dtype_as_integers(dtype):
    values = np.array([[1, 0], [1, 1]]).astype(dtype)
    assert tf.math.bincount(values).numpy().tolist() == [1, 3]
    assert tf.math.bincount(values, axis=-1).numpy().tolist() == [[1, 1], [0, 2]]


@pytest.mark.parametrize(
    ("base", "paddings", "crops"),
    [(None, [[0, 2], [0, 1]], [[0, 2], [0, 1]]), ([[1, 0], [0, 2]], [[1, 1], [0, 3]], [[0, 1], [0, 1]])],
)
def test_paddings_to_whole_blocks_are_those_of_tensorflow(base, paddings, crops):
    for function in (tf.required_space_to_batch_paddings, tf.function(tf.required_space_to_batch_paddings)):
        found = function(tf.constant([4, 5]), tf.constant([3, 2]), base)
        assert [part.numpy().tolist() for part in found] == [paddings, crops]


@pytest.mark.parametrize(
    "lengths", [{}, {"minlength": 6}, {"maxlength": 2}, {"minlength": 1, "maxlength": 3}]
)
def test_rows_of_a_ragged_tensor_are_counted_as_they_are(lengths):
    rows = [[1, 2], [], [3, 1, 1]]
    counts = tf.math.bincount(tf.ragged.constant(rows, dtype=tf.int32), axis=-1, **lengths).numpy()
    width = counts.shape[1]
    for row, found in zip(rows, counts, strict=True):
        expected = np.bincount(np.array(row, int), minlength=width)[:width]
        np.testing.assert_array_equal(found, expected)
    assert width == min(max(4, lengths.get("minlength", 0)), lengths.get("maxlength", 9))
    weights = tf.ragged.constant([[0.5, 2.0], [], [1.0, 3.0, 4.0]])
    weighted = tf.math.bincount(tf.ragged.constant(rows, dtype=tf.int32), weights, axis=-1)
    np.testing.assert_array_equal(weighted, [[0, 0.5, 2, 0], [0, 0, 0, 0], [0, 7, 0, 1]])


@pytest.mark.parametrize(
    ("call", "argument", "value"),
    [
        (lambda v: tf.transpose(tf.ones([2, 3]), v), "perm", [1, 0]),
        (lambda v: tf.reduce_sum(tf.ones([2, 3]), v), "axis", [1]),
        (lambda v: tf.reverse(tf.ones([2, 3]), v), "axis", [1]),
        (lambda v: tf.nn.moments(tf.ones([2, 3]), v), "axes", [1]),
        (lambda v: tf.clip_by_norm(tf.ones([2, 3]), 1.0, v), "axes", [1]),
        (lambda v: tf.signal.fftshift(tf.ones([2, 3]), v), "axes", [1]),
        (lambda v: tf.tile(tf.ragged.constant([[1], [2, 3]]), v), "multiples", [1, 2]),
        (lambda v: tf.linalg.diag_part(tf.ones([3, 3]), k=v), "k", [0, 1]),
    ],
)
def test_an_argument_of_dimensions_that_is_not_known_is_called_by_its_name(
    call: Callable[[Any], Any], argument: str, value: list[int]
) -> None:
    with pytest.raises(TypeError, match=f"argument '{argument}' must be constant"):
        tf.function(call, input_signature=[tf.TensorSpec([None], tf.int32)])(tf.constant(value))
    if argument != "multiples":
        with pytest.raises(TypeError, match=f"argument '{argument}' must "):
            call(["a"] * len(value))


@pytest.mark.parametrize("traced", [False, True])
def test_elements_of_a_sparse_tensor_are_counted_where_they_are(traced: bool) -> None:
    count = tf.function(tf.math.bincount) if traced else tf.math.bincount
    places = [[0, 1], [0, 2], [2, 0]]
    x = tf.SparseTensor(places, [1, 1, 0], [3, 4])
    weights = tf.SparseTensor(places, [0.5, 1.0, 2.0], [3, 4])
    assert count(x, axis=-1).numpy().tolist() == [[0, 2], [0, 0], [1, 0]]
    assert count(x, axis=-1, minlength=3, binary_output=True).numpy().tolist() == [
        [0, 1, 0],
        [0, 0, 0],
        [1, 0, 0],
    ]
    assert count(x, weights, axis=-1).numpy().tolist() == [[0, 1.5], [0, 0], [2, 0]]
    assert count(x, weights, axis=0).numpy().tolist() == [2, 1.5]
    assert count(tf.SparseTensor([[1], [3]], [2, 2], [5])).numpy().tolist() == [0, 0, 2]
