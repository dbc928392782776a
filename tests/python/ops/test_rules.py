"""The rules that are easily got wrong, each once at least and in one place: eagerly, traced, and traced with
nothing known of the shape."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import penstock as tf

INF, NAN = math.inf, math.nan


def every_way(function: Callable[..., Any], *args: Any) -> list[np.ndarray]:
    """The result of a function eagerly, traced with known shapes, and traced with unknown rank."""
    tensors = [tf.constant(a) for a in args]
    specs = [tf.TensorSpec(None, t.dtype) for t in tensors]
    names = ["a", "b", "c"][: len(args)]
    openly = {1: lambda a: function(a), 2: lambda a, b: function(a, b), 3: lambda a, b, c: function(a, b, c)}[
        len(names)
    ]
    return [
        np.asarray(function(*tensors).numpy()),
        np.asarray(tf.function(lambda *xs: function(*xs))(*tensors).numpy()),
        np.asarray(tf.function(openly, input_signature=specs)(*tensors).numpy()),
    ]


def gives(function: Callable[..., Any], args: list[Any], expected: Any) -> None:
    """The result of a function in every way, to the bit: NaN, and zeros of either sign."""
    for got in every_way(function, *args):
        want = np.asarray(expected, got.dtype if got.dtype != object else None)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)
        if got.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))


def fails(function: Callable[..., Any], args: list[Any], error: Any = tf.errors.InvalidArgumentError) -> None:
    tensors = [tf.constant(a) for a in args]
    specs = [tf.TensorSpec(None, t.dtype) for t in tensors]
    openly = {1: lambda a: function(a), 2: lambda a, b: function(a, b)}[len(args)]
    for way in (function, tf.function(lambda *xs: function(*xs)), tf.function(openly, input_signature=specs)):
        with pytest.raises(error):
            way(*tensors)


def int8(*values: int) -> np.ndarray:
    return np.array(values, "int8")


def f32(*values: float) -> np.ndarray:
    return np.array(values, "float32")


# --- integers ---


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["", "u"])
def test_integer_overflow_wraps(bits: int, sign: str) -> None:
    dtype = f"{sign}int{bits}"
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    one = np.array(1, dtype)
    gives(lambda a, b: a + b, [np.array(high, dtype), one], low)
    gives(lambda a, b: a - b, [np.array(low, dtype), one], high)
    gives(
        lambda a, b: a * b,
        [np.array(high, dtype), np.array(2, dtype)],
        np.array(high, dtype) * np.array(2, dtype),
    )
    gives(tf.negative, [np.array(low, dtype)], low)
    gives(tf.square, [np.array(1 << (bits // 2), dtype)], 0)
    gives(tf.reduce_sum, [np.array([high, 1], dtype)], low)
    gives(tf.math.cumprod, [np.array([high, 2], dtype)], [high, np.array(high, dtype) * np.array(2, dtype)])
    if not sign:
        gives(tf.abs, [np.array(low, dtype)], low)
        gives(tf.math.floordiv, [np.array(low, dtype), np.array(-1, dtype)], low)
        gives(tf.math.floormod, [np.array(low, dtype), np.array(-1, dtype)], 0)


@pytest.mark.parametrize("name", ["floordiv", "floormod"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_integer_division_by_zero_is_an_error(name: str, dtype: str) -> None:
    x, y = np.array([7, 1], dtype), np.array([1, 0], dtype)
    fails(getattr(tf.math, name), [x, y])
    fails({"floordiv": tf.truncatediv, "floormod": tf.truncatemod}[name], [x, y])
    # Of nothing there is no division.
    gives(getattr(tf.math, name), [x[:0], y[:0]], [])


def test_division_rounds_down_or_towards_zero() -> None:
    x, y = int8(7, 7, -7, -7), int8(2, -2, 2, -2)
    gives(tf.math.floordiv, [x, y], [3, -4, -4, 3])
    gives(tf.math.floormod, [x, y], [1, -1, 1, -1])
    gives(tf.truncatediv, [x, y], [3, -3, -3, 3])
    gives(tf.truncatemod, [x, y], [1, 1, -1, -1])
    gives(lambda a, b: a // b, [f32(7, 7, -7, -7), f32(2, -2, 2, -2)], [3, -4, -4, 3])
    gives(lambda a, b: a % b, [f32(7, 7, -7, -7), f32(2, -2, 2, -2)], [1, -1, 1, -1])
    gives(tf.truncatemod, [f32(7, -7), f32(2, 2)], [1, -1])
    # A float divides by zero and infinity.
    gives(tf.math.floordiv, [f32(1, -1, 0), f32(0, 0, 0)], [INF, -INF, NAN])
    gives(
        tf.math.floordiv,
        [f32(INF, -INF, 1, -1, INF), f32(2, 2, -INF, INF, INF)],
        [INF, -INF, -0.0, -0.0, NAN],
    )
    assert tf.divide(7, 2).dtype == tf.float64
    gives(tf.divide, [np.array([7], "int32"), np.array([2], "int32")], [3.5])


def test_shifts_past_the_width() -> None:
    # The distance is clamped to the width less one.
    x = int8(1, -1, 64, -64)
    for by in (8, 100, 127):
        gives(tf.bitwise.right_shift, [x, np.full(4, by, "int8")], [0, -1, 0, -1])
    gives(tf.bitwise.left_shift, [int8(3), int8(1)], [6])
    gives(tf.bitwise.right_shift, [np.array([255], "uint8"), np.array([7], "uint8")], [1])


# --- NaN, zeros of either sign, nothing ---


def test_nan_is_the_greatest_and_the_least() -> None:
    x = f32(1, NAN, 3)
    gives(tf.maximum, [x, f32(2, 2, NAN)], [2, NAN, NAN])
    gives(tf.minimum, [x, f32(2, 2, NAN)], [1, NAN, NAN])
    gives(tf.reduce_max, [x], NAN)
    gives(tf.reduce_min, [x], NAN)
    gives(tf.sort, [f32(NAN, 2, -INF, INF, 1)], [-INF, 1, 2, INF, NAN])
    gives(tf.argmax, [x], 1)
    gives(tf.nn.relu, [f32(NAN, -1)], [NAN, 0])
    gives(lambda a: tf.clip_by_value(a, 0.0, 1.0), [x], [1, NAN, 1])
    gives(lambda a, b: tf.equal(a, b), [f32(NAN), f32(NAN)], [False])
    gives(lambda a, b: tf.not_equal(a, b), [f32(NAN), f32(NAN)], [True])


def test_zeros_have_signs() -> None:
    gives(tf.negative, [f32(0, -0.0)], [-0.0, 0])
    gives(tf.abs, [f32(-0.0)], [0])
    gives(tf.sqrt, [f32(-0.0)], [-0.0])
    gives(tf.math.ceil, [f32(-0.5)], [-0.0])
    gives(tf.round, [f32(-0.2)], [-0.0])
    gives(lambda a: 1 / a, [f32(0, -0.0)], [INF, -INF])
    gives(lambda a, b: a * b, [f32(0), f32(-1)], [-0.0])
    gives(lambda a, b: a + b, [f32(-0.0), f32(0)], [0])
    gives(tf.atan2, [f32(0, -0.0, 0, -0.0), f32(1, 1, -1, -1)], f32(0, -0.0, math.pi, -math.pi))
    gives(lambda a, b: tf.equal(a, b), [f32(0), f32(-0.0)], [True])
    gives(tf.sort, [f32(0, -0.0, -1)], [-1, 0, -0.0])
    gives(lambda a: tf.unique(a)[0], [f32(0, -0.0)], [0])
    gives(tf.sign, [f32(-0.0, NAN)], [0.0, NAN])


def test_reductions_of_nothing() -> None:
    nothing = np.zeros((2, 0), "float32")
    over = {
        tf.reduce_sum: [0, 0],
        tf.reduce_prod: [1, 1],
        tf.reduce_max: [-INF, -INF],
        tf.reduce_min: [INF, INF],
        tf.reduce_mean: [NAN, NAN],
        tf.reduce_logsumexp: [-INF, -INF],
    }
    for function, expected in over.items():
        gives(lambda a, function=function: function(a, 1), [nothing], expected)
        gives(lambda a, function=function: function(a, 0), [nothing], [])
    gives(lambda a: tf.reduce_max(a, 1), [np.zeros((1, 0), "int8")], [-128])
    gives(lambda a: tf.reduce_min(a, 1), [np.zeros((1, 0), "int8")], [127])
    gives(lambda a: tf.reduce_all(a, 1), [np.zeros((1, 0), bool)], [True])
    gives(lambda a: tf.reduce_any(a, 1), [np.zeros((1, 0), bool)], [False])
    fails(lambda a: tf.argmax(a, 1), [nothing])
    gives(tf.math.cumsum, [nothing], nothing)


# --- shapes ---


def test_nothing_may_be_known_of_a_shape() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None, None])])
    def step(x: Any, y: Any) -> Any:
        assert x.shape.rank is None
        assert y.shape.as_list() == [None, None]
        z = tf.reshape(x, [-1, tf.shape(y)[0]]) @ y
        assert z.shape.rank == 2
        return tf.reduce_sum(z, axis=-1), tf.concat([z, z], 0), tf.rank(x), z[..., :1]

    for shape, (n, m) in (((2, 3), (3, 2)), ((4,), (2, 5)), ((2, 2, 2), (4, 1)), ((0,), (3, 2))):
        x, y = np.ones(shape, "float32"), np.ones((n, m), "float32")
        total, both, rank, first = step(x, y)
        z = x.reshape(-1, n) @ y
        np.testing.assert_array_equal(total.numpy(), z.sum(-1))
        np.testing.assert_array_equal(both.numpy(), np.concatenate([z, z]))
        np.testing.assert_array_equal(first.numpy(), z[:, :1])
        assert int(rank) == len(shape)
    assert step.experimental_get_tracing_count() == 1


def test_sizes_above_32_bits() -> None:
    n = 2**33
    x = tf.zeros([n, 0])
    assert x[2**32 :].shape == [n - 2**32, 0]
    assert x[-(2**32)].shape == [0]
    assert x[:: 2**31].shape == [4, 0]
    assert tf.gather(x, [2**32 + 1]).shape == [1, 0]
    assert tf.concat([x, x], 0).shape == [2 * n, 0]
    assert tf.tile(x, [2, 1]).shape == [2 * n, 0]
    assert tf.reshape(x, [0, n]).shape == [0, n]
    assert tf.transpose(x).shape == [0, n]
    assert tf.pad(x, [[1, 2**31], [0, 0]]).shape == [n + 1 + 2**31, 0]
    assert tf.slice(x, [2**32, 0], [-1, 0]).shape == [n - 2**32, 0]
    assert tf.shape(x, tf.int64).numpy().tolist() == [n, 0]
    assert tf.split(x, [2**32, -1])[1].shape == [n - 2**32, 0]
    assert tf.range(2**40, 2**40 + 2, dtype=tf.int64).numpy().tolist() == [2**40, 2**40 + 1]
    assert tf.broadcast_to(tf.zeros([1, 0]), [n, 0]).shape == [n, 0]
    wide = tf.function(lambda t, i: (t[i:], t[i]))(x, tf.constant(2**32))
    assert [w.shape.as_list() for w in wide] == [[n - 2**32, 0], [0]]
    assert x[-(10**30) : 10**30].shape == [n, 0]
    for call in (lambda: tf.gather(x, [n]), lambda: x[n], lambda: tf.gather(x, [-1])):
        with pytest.raises((tf.errors.InvalidArgumentError, IndexError)):
            call()
    for dims in ([2**40, 2**40], [2**62, 4], [2**63 - 1]):
        with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
            tf.zeros(dims, tf.int64)
    indices = np.array([[2**32, 3], [1, 2**40]])
    dense = tf.IndexedSlices(tf.zeros([2, 0]), indices[:, 0], tf.constant([n, 0], tf.int64))
    assert tf.convert_to_tensor(dense).shape == [n, 0]


# --- precision ---


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_computed_in_single_precision(dtype: str) -> None:
    of = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    x = (np.arange(1000) % 7 / 7).astype(of)
    wide = x.astype("float32")
    total = np.float32(wide.astype("float64").sum()).astype(of)
    # Summed in 16 bits, the later terms would be lost.
    gives(tf.reduce_sum, [x], total)
    gives(tf.reduce_mean, [x], np.float32(wide.astype("float64").mean()).astype(of))
    (dot,) = {
        np.asarray(t).item() for t in every_way(lambda a: tf.reshape(a, [1, -1]) @ tf.reshape(a, [-1, 1]), x)
    }
    assert dot == float(np.float32((wide.astype("float64") ** 2).sum()).astype(of))
    gives(tf.exp, [x[:7]], np.exp(wide[:7].astype("float64")).astype(of))
    gives(lambda a: tf.nn.softmax(a[:7]), [x], (np.exp(wide[:7]) / np.exp(wide[:7]).sum()).astype(of))


def test_complex_branch_cuts() -> None:
    # On both sides of each cut, which the sign of a zero tells apart.
    points = [
        complex(-2.0, 0.0),
        complex(-2.0, -0.0),
        complex(2.0, 0.0),
        complex(2.0, -0.0),
        complex(0.0, 2.0),
        complex(-0.0, 2.0),
    ]
    points += [complex(0.0, -2.0), complex(-0.0, -2.0), complex(0.5, 0.5), complex(-0.5, 0.0)]
    z = np.array(points, "complex128")
    for name, function in {
        "sqrt": cmath.sqrt,
        "math.log": cmath.log,
        "acos": cmath.acos,
        "asin": cmath.asin,
        "atan": cmath.atan,
        "acosh": cmath.acosh,
        "asinh": cmath.asinh,
        "atanh": cmath.atanh,
    }.items():
        ours: Any = tf
        for part in name.split("."):
            ours = getattr(ours, part)
        want = np.array([function(p) for p in points])
        for got in every_way(ours, z):
            np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15, err_msg=name)
    for got in every_way(tf.math.angle, z[:4]):
        np.testing.assert_array_equal(got, [math.pi, -math.pi, 0.0, -0.0])


# --- strings ---

WORDS = np.array([[b"a", b"", b"\xff\x00"], [b"bb", b"a", "\u4e2d".encode()]], dtype=object)


@pytest.mark.parametrize(
    ("name", "ours", "numpys"),
    [
        ("reshape", lambda x: tf.reshape(x, [3, 2]), lambda x: x.reshape(3, 2)),
        ("transpose", tf.transpose, np.transpose),
        ("expand_dims", lambda x: tf.expand_dims(x, 1), lambda x: x[:, None]),
        ("squeeze", lambda x: tf.squeeze(x[:1], 0), lambda x: x[0]),
        ("slice", lambda x: x[:, ::-1], lambda x: x[:, ::-1]),
        ("gather", lambda x: tf.gather(x, [2, 0, 2], axis=1), lambda x: x[:, [2, 0, 2]]),
        ("gather_nd", lambda x: tf.gather_nd(x, [[1, 2], [0, 0]]), lambda x: x[[1, 0], [2, 0]]),
        ("concat", lambda x: tf.concat([x, x], 1), lambda x: np.concatenate([x, x], 1)),
        ("stack", lambda x: tf.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
        ("unstack", lambda x: tf.unstack(x, num=2)[1], lambda x: x[1]),
        ("split", lambda x: tf.split(x, [1, 2], 1)[1], lambda x: x[:, 1:]),
        ("where", lambda x: tf.where(tf.equal(x, b"a"), x, b"-"), lambda x: np.where(x == b"a", x, b"-")),
        ("equal", lambda x: tf.equal(x, tf.reverse(x, [0])), lambda x: x == x[::-1]),
        ("not_equal", lambda x: tf.not_equal(x, b""), lambda x: x != b""),
        ("tile", lambda x: tf.tile(x, [2, 1]), lambda x: np.tile(x, [2, 1])),
        ("repeat", lambda x: tf.repeat(x, 2, 0), lambda x: np.repeat(x, 2, 0)),
        (
            "pad",
            lambda x: tf.pad(x, [[0, 1], [1, 0]], constant_values=b"*"),
            lambda x: np.pad(x, [[0, 1], [1, 0]], constant_values=b"*"),
        ),
        ("reverse", lambda x: tf.reverse(x, [1]), lambda x: x[:, ::-1]),
        ("roll", lambda x: tf.roll(x, 1, 1), lambda x: np.roll(x, 1, 1)),
        ("broadcast_to", lambda x: tf.broadcast_to(x, [2, 2, 3]), lambda x: np.broadcast_to(x, [2, 2, 3])),
        ("fill", lambda x: tf.fill([2], x[0, 0]), lambda x: np.array([b"a", b"a"], object)),
        ("boolean_mask", lambda x: tf.boolean_mask(x, [True, False]), lambda x: x[:1]),
        ("scatter", lambda x: tf.tensor_scatter_nd_update(x, [[0]], x[1:]), lambda x: np.stack([x[1], x[1]])),
        ("identity", tf.identity, lambda x: x),
        ("zeros_like", tf.zeros_like, lambda x: np.full(x.shape, b"", object)),
        ("add", lambda x: x + x, lambda x: x + x),
        ("cond", lambda x: tf.cond(tf.size(x) > 3, lambda: x, lambda: x[:1]), lambda x: x),
    ],
)
def test_strings_take_part_in_structural_operators(name: str, ours: Any, numpys: Any) -> None:
    x = tf.constant(WORDS.tolist())
    want = numpys(WORDS)
    known = tf.function(lambda a: ours(a), input_signature=[tf.TensorSpec([None, 3], tf.string)])
    for got in (ours(x), tf.function(lambda a: ours(a))(x), known(x)):
        assert got.shape == want.shape, name
        assert got.numpy().tolist() == want.tolist(), name


def test_strings_are_grouped() -> None:
    x = tf.constant([b"b", b"a", b"b"])
    values, index = tf.unique(x)
    assert (values.numpy().tolist(), index.numpy().tolist()) == ([b"b", b"a"], [0, 1, 0])
    parts = tf.dynamic_partition(x, [0, 1, 0], 2)
    assert tf.dynamic_stitch([[0, 2], [1]], parts).numpy().tolist() == x.numpy().tolist()
    loop = tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + s), (0, tf.constant("ab")))
    assert loop[1].numpy() == b"abababab"


def test_integers_become_floats_where_they_do_in_tensorflow() -> None:
    whole = np.array([7, -8, 3], "int32")
    gives(tf.math.divide_no_nan, [whole, np.array([2, 0, -2], "int32")], np.array([3.5, 0.0, -1.5]))
    assert tf.math.divide_no_nan(whole.astype("int8"), whole.astype("int8")).dtype == tf.float32
    assert tf.math.divide_no_nan(whole, whole).dtype == tf.float64
    mean = tf.math.unsorted_segment_mean(np.array([1, 2, 5], "int64"), [0, 0, 2], 3)
    assert mean.dtype == tf.float64
    assert mean.numpy().tolist() == [1.5, 0.0, 5.0]
    gives(lambda x: tf.math.reduce_euclidean_norm(x), [np.array([3, 5], "int32")], np.array(5, "int32"))


def test_booleans_are_ordered_by_argmax_and_argmin() -> None:
    x = np.array([[False, True, True], [False, False, False]])
    gives(lambda x: tf.argmax(x, 1), [x], x.argmax(1))
    gives(lambda x: tf.argmin(x, 1), [x], x.argmin(1))


def test_complex_vectors_are_normalised() -> None:
    y = tf.math.l2_normalize([3 + 4j, 1j]).numpy()
    np.testing.assert_allclose(y, np.array([3 + 4j, 1j]) / math.sqrt(26), rtol=1e-6)
    assert tf.math.l2_normalize([0j]).numpy().tolist() == [0j]


def test_diagonals_of_booleans() -> None:
    assert tf.linalg.diag([True, True]).numpy().tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("shift", [0, 1, -1, 3, 7, -13])
def test_elements_that_leave_come_in_at_the_other_end(shift: int) -> None:
    for shape, axis in [((5,), 0), ((1, 3, 4), 1), ((3, 4), 1), ((0,), 0), ((2, 0), 0)]:
        x = np.arange(math.prod(shape)).reshape(shape)
        for run in (tf.roll, tf.function(tf.roll)):
            np.testing.assert_array_equal(run(tf.constant(x), shift, axis), np.roll(x, shift, axis))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.roll([1, 2], shift, 1)


@pytest.mark.parametrize("times", [0, 1, 2, 3, 8, 9])
def test_elements_are_repeated_where_they_stand(times: int) -> None:
    for dtype in (np.bool_, np.int16, np.float32, np.float64, np.complex128, object):
        x = np.arange(6).reshape(2, 3).astype(dtype)
        if dtype is object:
            x = np.array([[b"a", b"", b"cc"], [b"d", b"e", b"f"]], dtype)
        for axis in (None, 0, 1, -1):
            for run in (tf.repeat, tf.function(tf.repeat)):
                got = run(tf.constant(x), times, axis=axis).numpy()
                assert got.tolist() == np.repeat(x, times, axis=axis).tolist()
