"""Public functions against NumPy and SciPy: eagerly, traced, and traced with unknown sizes."""

import numpy as np
import pytest
import scipy.special
from support import assert_same, both_ways

import penstock as tf

RNG = np.random.default_rng(7)
FLOATS = ["float16", "float32", "float64"]
INTS = ["int8", "int32", "int64", "uint8"]
SHAPES = [(), (0,), (1,), (5,), (2, 3), (2, 0, 3), (2, 1, 4)]


def draw(dtype, shape, low=-3.0, high=3.0):
    if np.dtype(dtype).kind == "c":
        return (draw("float64", shape, low, high) + 1j * draw("float64", shape, low, high)).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return RNG.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(
            max(0, int(low)) if np.dtype(dtype).kind == "u" else int(low), int(high) + 1, shape
        ).astype(dtype)
    return RNG.uniform(low, high, shape).astype(dtype)


ANY, UNIT, POSITIVE, ABOVE_ONE = (-3.0, 3.0), (-0.99, 0.99), (0.1, 5.0), (1.01, 5.0)

UNARY = [
    # function, NumPy's, range of the operand
    ("abs", np.abs, ANY),
    ("acos", np.arccos, UNIT),
    ("acosh", np.arccosh, ABOVE_ONE),
    ("asin", np.arcsin, UNIT),
    ("asinh", np.arcsinh, ANY),
    ("atan", np.arctan, ANY),
    ("atanh", np.arctanh, UNIT),
    ("math.ceil", np.ceil, ANY),
    ("cos", np.cos, ANY),
    ("cosh", np.cosh, ANY),
    ("math.digamma", scipy.special.digamma, POSITIVE),
    ("math.erf", scipy.special.erf, ANY),
    ("math.erfc", scipy.special.erfc, ANY),
    ("exp", np.exp, ANY),
    ("math.expm1", np.expm1, ANY),
    ("floor", np.floor, ANY),
    ("math.is_finite", np.isfinite, ANY),
    ("math.is_inf", np.isinf, ANY),
    ("math.is_nan", np.isnan, ANY),
    ("math.lgamma", scipy.special.gammaln, POSITIVE),
    ("math.log", np.log, POSITIVE),
    ("math.log1p", np.log1p, POSITIVE),
    ("math.log_sigmoid", lambda x: -np.logaddexp(0, -x), ANY),
    ("negative", np.negative, ANY),
    ("math.reciprocal", lambda x: 1 / x, POSITIVE),
    ("math.rint", np.rint, ANY),
    ("round", np.round, ANY),
    ("math.rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("sigmoid", scipy.special.expit, ANY),
    ("sign", np.sign, ANY),
    ("sin", np.sin, ANY),
    ("sinh", np.sinh, ANY),
    ("math.softplus", lambda x: np.logaddexp(0, x), ANY),
    ("math.softsign", lambda x: x / (1 + np.abs(x)), ANY),
    ("sqrt", np.sqrt, POSITIVE),
    ("square", np.square, ANY),
    ("tan", np.tan, (-1.0, 1.0)),
    ("tanh", np.tanh, ANY),
    ("nn.relu", lambda x: np.maximum(x, 0), ANY),
    ("nn.relu6", lambda x: np.clip(x, 0, 6), ANY),
    ("nn.elu", lambda x: np.where(x > 0, x, np.expm1(x)), ANY),
    ("nn.leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x), ANY),
    ("nn.silu", lambda x: x * scipy.special.expit(x), ANY),
    ("nn.gelu", lambda x: x * scipy.special.ndtr(x), ANY),
]


def find(path):
    value = tf
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "reference", "bounds"), UNARY, ids=[u[0] for u in UNARY])
def test_unary_functions_agree_with_numpy(name, reference, bounds, dtype):
    for shape in SHAPES:
        x = draw(dtype, shape, *bounds)
        result = both_ways(find(name), x)
        expected = reference(x.astype("float64"))
        tolerance = {"float16": 1e-2, "float32": 2e-5, "float64": 1e-11}[dtype]
        assert_same(result.numpy(), expected, tolerance)


@pytest.mark.parametrize(
    "name", ["exp", "sqrt", "math.log", "sin", "tanh", "sigmoid", "floor", "round", "sign", "abs"]
)
def test_special_values_follow_numpy(name):
    reference = {u[0]: u[1] for u in UNARY}[name]
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3.4e38], "float32")
    with np.errstate(all="ignore"):
        expected = reference(x)
    result = both_ways(find(name), x).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-44)
    if name in ("floor", "round", "sign", "sin", "sqrt"):
        np.testing.assert_array_equal(np.signbit(result[3:5]), np.signbit(expected[3:5]))


BINARY = [
    ("add", np.add, ANY, FLOATS + INTS),
    ("subtract", np.subtract, ANY, FLOATS + INTS),
    ("multiply", np.multiply, ANY, FLOATS + INTS),
    ("maximum", np.maximum, ANY, FLOATS + INTS),
    ("minimum", np.minimum, ANY, FLOATS + INTS),
    ("math.squared_difference", lambda x, y: (x - y) ** 2, ANY, ["float32", "float64", "int32", "int64"]),
    ("math.floordiv", np.floor_divide, (1.0, 7.0), [*FLOATS, *INTS]),
    ("math.floormod", np.mod, (1.0, 7.0), [*FLOATS, *INTS]),
    ("truediv", np.true_divide, (1.0, 7.0), [*FLOATS, "int32", "int64"]),
    ("pow", np.power, (1.0, 3.0), ["float32", "float64", "int32", "int64"]),
    ("atan2", np.arctan2, ANY, ["float32", "float64"]),
    ("equal", np.equal, ANY, FLOATS + INTS),
    ("not_equal", np.not_equal, ANY, FLOATS + INTS),
    ("less", np.less, ANY, FLOATS + INTS),
    ("less_equal", np.less_equal, ANY, FLOATS + INTS),
    ("greater", np.greater, ANY, FLOATS + INTS),
    ("greater_equal", np.greater_equal, ANY, FLOATS + INTS),
    ("math.xlogy", scipy.special.xlogy, (0.5, 3.0), ["float32", "float64"]),
    ("math.xlog1py", scipy.special.xlog1py, (0.5, 3.0), ["float32", "float64"]),
    ("bitwise.bitwise_and", np.bitwise_and, (0, 7), INTS),
    ("bitwise.bitwise_or", np.bitwise_or, (0, 7), INTS),
    ("bitwise.bitwise_xor", np.bitwise_xor, (0, 7), INTS),
    ("bitwise.left_shift", np.left_shift, (0, 5), INTS),
    ("bitwise.right_shift", np.right_shift, (0, 5), INTS),
]
BROADCASTS = [((), ()), ((3,), ()), ((2, 1), (1, 3)), ((2, 3), (3,)), ((0, 3), (1, 3)), ((4, 1, 2), (3, 1))]


@pytest.mark.parametrize(("name", "reference", "bounds", "dtypes"), BINARY, ids=[b[0] for b in BINARY])
def test_binary_functions_agree_with_numpy_and_broadcast(name, reference, bounds, dtypes):
    for dtype in dtypes:
        for left, right in BROADCASTS:
            x, y = draw(dtype, left, *bounds), draw(dtype, right, *bounds)
            result = both_ways(find(name), x, y).numpy()
            assert_same(result, reference(x, y), 1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_and_divide_by_zero_is_an_error(dtype):
    top = np.array([np.iinfo(dtype).max], dtype)
    with np.errstate(over="ignore"):
        assert_same(both_ways(lambda x: x + 1, top).numpy(), top + np.array(1, dtype))
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.math.floordiv(tf.constant(top), tf.zeros([1], dtype))


def test_float_division_by_zero_is_infinity_or_nan():
    result = tf.divide([1.0, -1.0, 0.0], 0.0).numpy()
    assert np.isposinf(result[0])
    assert np.isneginf(result[1])
    assert np.isnan(result[2])


REDUCTIONS = [
    ("reduce_sum", np.sum),
    ("reduce_prod", np.prod),
    ("reduce_max", np.max),
    ("reduce_min", np.min),
    ("reduce_mean", np.mean),
    ("math.reduce_std", np.std),
    ("math.reduce_variance", np.var),
    ("reduce_logsumexp", lambda x, axis, keepdims: scipy.special.logsumexp(x, axis=axis, keepdims=keepdims)),
    (
        "math.reduce_euclidean_norm",
        lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
    ),
    ("math.count_nonzero", lambda x, axis, keepdims: np.count_nonzero(x, axis=axis, keepdims=keepdims)),
]


@pytest.mark.parametrize(("name", "reference"), REDUCTIONS, ids=[r[0] for r in REDUCTIONS])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1,), ()])
def test_reductions_agree_with_numpy(name, reference, axis, keepdims):
    x = draw("float64", (2, 3, 4))
    result = both_ways(lambda t: find(name)(t, axis, keepdims), x)
    assert_same(result.numpy(), reference(x, axis=axis, keepdims=keepdims), 1e-12)


def test_reductions_over_nothing_give_their_neutral_elements():
    empty = tf.zeros([0, 2])
    assert tf.reduce_sum(empty, 0).numpy().tolist() == [0, 0]
    assert tf.reduce_prod(empty, 0).numpy().tolist() == [1, 1]
    assert tf.reduce_max(empty, 0).numpy().tolist() == [-np.inf] * 2
    assert tf.reduce_min(empty, 0).numpy().tolist() == [np.inf] * 2
    assert np.isnan(tf.reduce_mean(empty, 0).numpy()).all()
    assert tf.reduce_all(tf.zeros([0], tf.bool)).numpy()
    assert not tf.reduce_any(tf.zeros([0], tf.bool)).numpy()


def test_reductions_of_nan():
    x = np.array([1.0, np.nan, 3.0], "float32")
    for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_mean", "reduce_prod"):
        assert np.isnan(both_ways(find(name), x).numpy())


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scans_and_positions_agree_with_numpy(axis):
    x = draw("float64", (3, 4))
    assert_same(both_ways(lambda t: tf.cumsum(t, axis), x).numpy(), np.cumsum(x, axis))
    assert_same(both_ways(lambda t: tf.math.cumprod(t, axis), x).numpy(), np.cumprod(x, axis))
    backwards = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    assert_same(both_ways(lambda t: tf.cumsum(t, axis, reverse=True), x).numpy(), backwards)
    assert_same(both_ways(lambda t: tf.cumsum(t, axis, exclusive=True), x).numpy(), np.cumsum(x, axis) - x)
    assert_same(both_ways(lambda t: tf.argmax(t, axis), x).numpy(), np.argmax(x, axis))
    assert_same(both_ways(lambda t: tf.argmin(t, axis), x).numpy(), np.argmin(x, axis))
    assert_same(both_ways(lambda t: tf.math.softmax(t, axis), x).numpy(), scipy.special.softmax(x, axis))
    assert_same(
        both_ways(lambda t: tf.math.log_softmax(t, axis), x).numpy(), scipy.special.log_softmax(x, axis)
    )


# Functions of arrays: what to call, with which operands, and what NumPy gives.
X = np.arange(24, dtype="float32").reshape(2, 3, 4)
V = np.array([3, 1, 2], "int32")
M = draw("float64", (3, 4))
ARRAYS = {
    "shape": (tf.shape, [X], lambda x: np.array(x.shape, "int32")),
    "size": (tf.size, [X], lambda x: x.size),
    "rank": (tf.rank, [X], lambda x: x.ndim),
    "reshape": (lambda x: tf.reshape(x, [4, -1]), [X], lambda x: x.reshape(4, -1)),
    "reshape by tensors": (lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), [X], lambda x: x.reshape(2, -1)),
    "expand_dims": (lambda x: tf.expand_dims(x, -2), [X], lambda x: np.expand_dims(x, -2)),
    "squeeze": (lambda x: tf.squeeze(x[:1], 0), [X], lambda x: x[0]),
    "transpose": (tf.transpose, [X], np.transpose),
    "transpose by perm": (lambda x: tf.transpose(x, [1, 0, 2]), [X], lambda x: x.transpose(1, 0, 2)),
    "broadcast_to": (lambda x: tf.broadcast_to(x, [5, 3]), [V], lambda x: np.broadcast_to(x, (5, 3))),
    "fill": (lambda x: tf.fill([2, 2], x), [np.float64([7])[0:1].reshape(())], lambda x: np.full((2, 2), x)),
    "zeros_like": (tf.zeros_like, [X], np.zeros_like),
    "ones_like": (lambda x: tf.ones_like(x, tf.int32), [X], lambda x: np.ones_like(x, "int32")),
    "concat": (lambda x, y: tf.concat([x, y], 1), [X, X + 1], lambda x, y: np.concatenate([x, y], 1)),
    "stack": (lambda x, y: tf.stack([x, y], -1), [X, X + 1], lambda x, y: np.stack([x, y], -1)),
    "unstack": (lambda x: tf.unstack(x, num=3, axis=1)[2], [X], lambda x: x[:, 2]),
    "split": (lambda x: tf.split(x, [1, 2], 1)[1], [X], lambda x: x[:, 1:]),
    "split evenly": (lambda x: tf.split(x, 2, 2)[1], [X], lambda x: x[:, :, 2:]),
    "slice": (lambda x: tf.slice(x, [0, 1, 1], [2, -1, 2]), [X], lambda x: x[:, 1:, 1:3]),
    "strided_slice": (lambda x: tf.strided_slice(x, [0, 2], [2, 0], [1, -1]), [X], lambda x: x[0:2, 2:0:-1]),
    "gather": (lambda x: tf.gather(x, [2, 0], axis=1), [X], lambda x: x[:, [2, 0]]),
    "gather by batch": (
        lambda x, i: tf.gather(x, i, batch_dims=1),
        [X, np.array([[0, 2], [1, 1]], "int32")],
        lambda x, i: np.stack([x[k][i[k]] for k in range(2)]),
    ),
    "gather_nd": (lambda x: tf.gather_nd(x, [[0, 1], [1, 2]]), [X], lambda x: x[[0, 1], [1, 2]]),
    "gather_nd by batch": (
        lambda x: tf.gather_nd(x, [[1], [2]], batch_dims=1),
        [X],
        lambda x: x[[0, 1], [1, 2]],
    ),
    "boolean_mask": (lambda x: tf.boolean_mask(x, x[:, :, 0] > 3), [X], lambda x: x[x[:, :, 0] > 3]),
    "boolean_mask on an axis": (
        lambda x: tf.boolean_mask(x, [True, False, True], axis=1),
        [X],
        lambda x: x[:, [True, False, True]],
    ),
    "where": (lambda x: tf.where(x > 5, x, 0.0), [X], lambda x: np.where(x > 5, x, 0)),
    "where positions": (lambda x: tf.where(x > 20), [X], lambda x: np.argwhere(x > 20)),
    "pad": (
        lambda x: tf.pad(x, [[1, 0], [0, 2], [1, 1]], constant_values=9),
        [X],
        lambda x: np.pad(x, [(1, 0), (0, 2), (1, 1)], constant_values=9),
    ),
    "pad reflect": (
        lambda x: tf.pad(x, [[1, 1], [2, 0], [3, 1]], "REFLECT"),
        [X],
        lambda x: np.pad(x, [(1, 1), (2, 0), (3, 1)], "reflect"),
    ),
    "pad symmetric": (
        lambda x: tf.pad(x, [[2, 1], [3, 0], [4, 1]], "symmetric"),
        [X],
        lambda x: np.pad(x, [(2, 1), (3, 0), (4, 1)], "symmetric"),
    ),
    "tile": (lambda x: tf.tile(x, [2, 1, 3]), [X], lambda x: np.tile(x, [2, 1, 3])),
    "repeat": (lambda x: tf.repeat(x, 2, 1), [X], lambda x: np.repeat(x, 2, 1)),
    "repeat each": (lambda x: tf.repeat(x, [2, 0, 3], 1), [X], lambda x: np.repeat(x, [2, 0, 3], 1)),
    "repeat flat": (lambda x: tf.repeat(x, 3), [V], lambda x: np.repeat(x, 3)),
    "roll": (lambda x: tf.roll(x, [1, -2], [0, 2]), [X], lambda x: np.roll(x, [1, -2], [0, 2])),
    "reverse": (lambda x: tf.reverse(x, [0, 2]), [X], lambda x: np.flip(x, (0, 2))),
    "one_hot": (lambda x: tf.one_hot(x, 4), [V], lambda x: np.eye(4)[x]),
    "one_hot first": (
        lambda x: tf.one_hot(x, 4, 5, -1, axis=0),
        [V],
        lambda x: (np.eye(4)[x].T * 6 - 1).astype("int32"),
    ),
    "range": (lambda n: tf.range(n[0]), [V], lambda n: np.arange(n[0])),
    "linspace": (
        lambda x: tf.linspace(x[0], x[1], 7),
        [np.array([0.5, 2])],
        lambda x: np.linspace(x[0], x[1], 7),
    ),
    "linspace of vectors": (
        lambda x, y: tf.linspace(x, y, 5, axis=-1),
        [np.array([0.5, 2]), np.array([3.0, -2])],
        lambda x, y: np.linspace(x, y, 5, axis=-1),
    ),
    "meshgrid": (lambda x, y: tf.meshgrid(x, y)[1], [V, V], lambda x, y: np.meshgrid(x, y)[1]),
    "meshgrid ij": (
        lambda x, y: tf.meshgrid(x, y, indexing="ij")[0],
        [V, V[:2]],
        lambda x, y: np.meshgrid(x, y, indexing="ij")[0],
    ),
    "sequence_mask": (lambda x: tf.sequence_mask(x, 4), [V], lambda x: np.arange(4) < x[:, None]),
    "scatter_nd": (
        lambda x: tf.scatter_nd([[1], [1], [0]], x, [3]),
        [V],
        lambda x: np.array([x[2], x[0] + x[1], 0], "int32"),
    ),
    "tensor_scatter_nd_update": (
        lambda x: tf.tensor_scatter_nd_update(x, [[0], [2]], [9, 8]),
        [V],
        lambda x: np.array([9, x[1], 8], "int32"),
    ),
    "dynamic_partition": (lambda x: tf.dynamic_partition(x, [0, 1, 0], 2)[0], [V], lambda x: x[[0, 2]]),
    "dynamic_stitch": (
        lambda x: tf.dynamic_stitch([[2, 0], [1]], [x[:2], x[2:]]),
        [V],
        lambda x: x[[1, 2, 0]],
    ),
    "clip_by_value": (lambda x: tf.clip_by_value(x, 3, 7), [X], lambda x: np.clip(x, 3, 7)),
    "clip_by_norm": (lambda x: tf.clip_by_norm(x, 1.0), [M], lambda x: x / np.linalg.norm(x)),
    "cast": (lambda x: tf.cast(x, tf.int8), [M], lambda x: x.astype("int8")),
    "saturate_cast": (
        lambda x: tf.saturate_cast(x * 100, tf.uint8),
        [M],
        lambda x: np.clip(x * 100, 0, 255).astype("uint8"),
    ),
    "add_n": (lambda x: tf.add_n([x, x, x]), [X], lambda x: 3 * x),
    "polyval": (lambda x: tf.math.polyval([2.0, 0.0, 1.0], x), [M], lambda x: np.polyval([2.0, 0.0, 1.0], x)),
    "bincount": (tf.math.bincount, [V], np.bincount),
    "confusion_matrix": (
        lambda x: tf.math.confusion_matrix(x, x[::-1]),
        [V],
        lambda x: np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]),
    ),
    "invert_permutation": (lambda x: tf.math.invert_permutation(x - 1), [V], lambda x: np.argsort(x)),
    "segment_sum": (
        lambda x: tf.math.segment_sum(x, [0, 0, 2]),
        [V],
        lambda x: np.array([x[0] + x[1], 0, x[2]]),
    ),
    "segment_max": (lambda x: tf.math.segment_max(x, [0, 0, 2]), [V], lambda x: np.array([3, 0, 2])),
    "unsorted_segment_mean": (
        lambda x: tf.math.unsorted_segment_mean(x, [1, -1, 1], 2),
        [M],
        lambda x: np.stack([0 * x[0], (x[0] + x[2]) / 2]),
    ),
    "unsorted_segment_min": (
        lambda x: tf.math.unsorted_segment_min(x, [1, 1, 0], 2),
        [V],
        lambda x: np.array([2, 1]),
    ),
    "is_strictly_increasing": (tf.math.is_strictly_increasing, [V], lambda x: False),
    "l2_normalize": (
        lambda x: tf.math.l2_normalize(x, 1),
        [M],
        lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    ),
    "space_to_depth and back": (
        lambda x: tf.nn.depth_to_space(tf.nn.space_to_depth(x, 2), 2),
        [np.arange(32.0).reshape(1, 4, 4, 2)],
        lambda x: x,
    ),
    "band_part": (lambda x: tf.linalg.band_part(x, 1, 0), [M], lambda x: np.tril(x) - np.tril(x, -2)),
    "diag": (tf.linalg.diag, [V], np.diag),
    "diag above": (lambda x: tf.linalg.diag(x, k=1), [V], lambda x: np.diag(x, 1)),
    "diag_part": (tf.linalg.diag_part, [M], np.diagonal),
    "diag_part below": (lambda x: tf.linalg.diag_part(x, k=-1), [M], lambda x: np.diagonal(x, -1)),
    "set_diag": (
        lambda x: tf.linalg.set_diag(x, [1.0, 2.0, 3.0]),
        [M],
        lambda x: np.where(np.eye(3, 4) > 0, np.array([[1.0], [2.0], [3.0]]), x),
    ),
    "trace": (tf.linalg.trace, [M], np.trace),
    "matrix_transpose": (tf.linalg.matrix_transpose, [X], lambda x: np.swapaxes(x, 1, 2)),
    "cross": (lambda x: tf.linalg.cross(x, x[::-1]), [M[:2, :3]], lambda x: np.cross(x, x[::-1])),
    "norm": (tf.norm, [M], np.linalg.norm),
    "norm of rows": (lambda x: tf.norm(x, 1, axis=1), [M], lambda x: np.linalg.norm(x, 1, axis=1)),
    "norm inf of matrices": (
        lambda x: tf.norm(x, np.inf, axis=[0, 1]),
        [M],
        lambda x: np.linalg.norm(x, np.inf),
    ),
    "norm 3": (lambda x: tf.norm(x, 3, axis=0), [M], lambda x: np.linalg.norm(x, 3, axis=0)),
    "matvec": (lambda x: tf.linalg.matvec(x, x[0]), [M], lambda x: x @ x[0]),
    "tensordot": (
        lambda x: tf.tensordot(x, x, [[0, 2], [0, 2]]),
        [X],
        lambda x: np.tensordot(x, x, [[0, 2], [0, 2]]),
    ),
    "tensor_diag and part": (
        lambda x: tf.linalg.tensor_diag_part(tf.linalg.tensor_diag(x)),
        [X],
        lambda x: x,
    ),
    "batch_normalization": (
        lambda x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), 1.0, 2.0, 1e-3),
        [M],
        lambda x: (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * 2 + 1,
    ),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_array_functions_agree_with_numpy(case):
    function, operands, reference = ARRAYS[case]
    result = both_ways(function, *operands)
    assert_same(result.numpy(), reference(*operands))


EINSUMS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,kj", [(2, 3), (4, 3)]),
    ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->ji", [(2, 3)]),
    ("i,j->ij", [(2,), (3,)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...,...->...", [(2, 1), (3,)]),
    ("...i->...", [(2, 3, 4)]),
    ("abc,cd,de->abe", [(2, 3, 4), (4, 5), (5, 2)]),
    ("ij,jk,kl,lm->im", [(2, 3), (3, 2), (2, 4), (4, 3)]),
    ("bqhd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 4, 5)]),
    ("iij,jk->ik", [(3, 3, 2), (2, 4)]),
    ("i,i->", [(4,), (4,)]),
    ("ij,k->", [(2, 3), (4,)]),
    ("ij,jk->ik", [(0, 3), (3, 4)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EINSUMS, ids=[f"{e} {s}" for e, s in EINSUMS])
def test_einsum_agrees_with_numpy(equation, shapes):
    operands = [draw("float64", shape) for shape in shapes]
    result = both_ways(lambda *t: tf.einsum(equation, *t), *operands)
    assert_same(result.numpy(), np.einsum(equation, *operands), 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((0, 3), (3, 4)),
        ((2, 0), (0, 4)),
        ((1, 1), (1, 1)),
    ],
)
def test_matmul_agrees_with_numpy(left, right, dtype):
    a, b = draw(dtype, left), draw(dtype, right)
    assert_same(both_ways(tf.matmul, a, b).numpy(), a @ b, 1e-5)
    swapped = np.swapaxes(b, -1, -2).copy()
    assert_same(both_ways(lambda x, y: tf.matmul(x, y, transpose_b=True), a, swapped).numpy(), a @ b, 1e-5)
    assert_same(
        both_ways(lambda x, y: tf.matmul(x, y, adjoint_b=True), a, swapped.conj()).numpy(), a @ b, 1e-5
    )


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_agree_with_numpy(dtype):
    z = draw(dtype, (2, 3))
    cases = [
        (tf.math.real, np.real),
        (tf.math.imag, np.imag),
        (tf.math.conj, np.conj),
        (tf.math.angle, np.angle),
    ]
    cases += [
        (tf.abs, np.abs),
        (tf.exp, np.exp),
        (tf.sqrt, np.sqrt),
        (tf.linalg.adjoint, lambda x: x.conj().T),
    ]
    for function, reference in cases:
        assert_same(both_ways(function, z).numpy(), reference(z), 1e-5)


def test_losses_agree_with_their_formulas():
    logits, labels = draw("float64", (4, 3), -30, 30), scipy.special.softmax(draw("float64", (4, 3)), 1)
    p = scipy.special.expit(logits)
    with np.errstate(divide="ignore"):
        expected = -(labels * np.log(p) + (1 - labels) * scipy.special.log_expit(-logits))
    got = both_ways(lambda y, x: tf.nn.sigmoid_cross_entropy_with_logits(y, x), labels, logits)
    assert_same(got.numpy(), expected, 1e-9)
    expected = -(labels * scipy.special.log_softmax(logits, 1)).sum(1)
    got = both_ways(tf.nn.softmax_cross_entropy_with_logits, labels, logits)
    assert_same(got.numpy(), expected, 1e-12)
    by_column = both_ways(
        lambda y, x: tf.nn.softmax_cross_entropy_with_logits(y, x, axis=0), labels.T.copy(), logits.T.copy()
    )
    assert_same(by_column.numpy(), expected, 1e-12)
    classes = np.array([0, 2, 1, 1])
    expected = -scipy.special.log_softmax(logits, 1)[np.arange(4), classes]
    got = both_ways(tf.nn.sparse_softmax_cross_entropy_with_logits, classes, logits)
    assert_same(got.numpy(), expected, 1e-12)


def test_strings_agree_with_python():
    words = ["Alpha", "béta", "", " c "]
    encoded = [w.encode() for w in words]

    def every(t):
        return [
            tf.strings.lower(t),
            tf.strings.upper(t),
            tf.strings.strip(t),
            tf.strings.length(t),
            tf.strings.join([t, "x"], "-"),
            tf.strings.regex_replace(t, "[a-c]", "#"),
            tf.strings.regex_full_match(t, "[A-Za-z]+"),
            t + "!",
            tf.equal(t, "Alpha"),
            tf.where(tf.equal(t, ""), "empty", t),
        ]

    got = [r.numpy().tolist() for r in both_ways(every, words)]
    assert got[0] == [w.lower() for w in encoded]
    assert got[1] == [w.upper() for w in encoded]
    assert got[2] == [w.strip() for w in encoded]
    assert got[3] == [len(w) for w in encoded]
    assert got[4] == [w + b"-x" for w in encoded]
    assert got[5] == [b"Alph#", b"#\xc3\xa9t#", b"", b" # "]
    assert got[6] == [True, False, False, False]
    assert got[7] == [w + b"!" for w in encoded]
    assert got[8] == [True, False, False, False]
    assert got[9] == [encoded[0], encoded[1], b"empty", encoded[3]]
    assert tf.strings.length("béta", "UTF8_CHAR").numpy() == 4
    assert tf.strings.substr("penstock", -5, 3).numpy() == b"sto"
    assert tf.strings.to_number(["1.5", "-2"]).numpy().tolist() == [1.5, -2.0]
    assert tf.strings.to_number("17", tf.int64).numpy() == 17
    assert tf.as_string([1, 20]).numpy().tolist() == [b"1", b"20"]


def test_format_takes_braces_literally():
    assert tf.strings.format("a {b} %t", tf.constant([1, 2]), placeholder="%t").numpy() == b"a {b} [1 2]"
    with pytest.raises(ValueError, match="placeholders"):
        tf.strings.format("{} {}", [1])


def test_random_numbers_have_their_moments_and_repeat_from_a_seed():
    tf.random.set_seed(3)
    first = [
        tf.random.uniform([20000]),
        tf.random.normal([20000], 2.0, 3.0),
        tf.random.truncated_normal([20000]),
    ]
    tf.random.set_seed(3)
    again = [
        tf.random.uniform([20000]),
        tf.random.normal([20000], 2.0, 3.0),
        tf.random.truncated_normal([20000]),
    ]
    for a, b in zip(first, again, strict=True):
        assert_same(a.numpy(), b.numpy(), 0)
    uniform, normal, truncated = (t.numpy().astype("float64") for t in first)
    assert 0 <= uniform.min() < 0.01
    assert 0.99 < uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.02
    assert abs(normal.mean() - 2) < 0.1
    assert abs(normal.std() - 3) < 0.1
    assert np.abs(truncated).max() <= 2
    integers = tf.random.uniform([20000], 3, 7, tf.int32).numpy()
    assert set(integers.tolist()) == {3, 4, 5, 6}


def test_a_seed_of_an_operation_gives_a_repeatable_sequence():
    tf.random.set_seed(1)
    one, two = tf.random.uniform([4], seed=5).numpy(), tf.random.uniform([4], seed=5).numpy()
    assert (one != two).all()
    tf.random.set_seed(1)
    assert_same(tf.random.uniform([4], seed=5).numpy(), one, 0)

    @tf.function
    def draw_one():
        return tf.random.uniform([4], seed=5)

    first, second = draw_one().numpy(), draw_one().numpy()
    assert (first != second).any()
    tf.random.set_seed(1)
    fresh = tf.function(lambda: tf.random.uniform([4], seed=5))
    assert_same(fresh().numpy(), first, 0)
    assert_same(fresh().numpy(), second, 0)


def test_stateless_random_numbers_depend_on_the_seed_alone():
    for function in (
        tf.random.stateless_uniform,
        tf.random.stateless_normal,
        tf.random.stateless_truncated_normal,
    ):
        result = both_ways(lambda s, function=function: function([50], s), np.array([1, 2])).numpy()
        assert (function([50], [1, 3]).numpy() != result).any()
    seeds = tf.random.split([1, 2], 3)
    assert seeds.shape == [3, 2]
    assert len({tuple(row) for row in seeds.numpy().tolist()}) == 3
    assert tf.random.fold_in([1, 2], 7).numpy()[1] == 7
    full = tf.random.stateless_uniform([2000], [1, 2], None, None, tf.int32).numpy()
    assert full.min() < -(2**30)
    assert full.max() > 2**30


def test_categorical_draws_by_probability():
    tf.random.set_seed(0)
    drawn = tf.random.categorical(tf.math.log([[0.2, 0.8, 1e-9]]), 20000).numpy()
    assert drawn.shape == (1, 20000)
    assert abs((drawn == 1).mean() - 0.8) < 0.02
    assert drawn.max() <= 1


def test_dropout_keeps_the_mean_and_rejects_bad_rates():
    tf.random.set_seed(0)
    dropped = tf.nn.dropout(tf.ones([20000]), 0.25).numpy()
    assert set(np.unique(dropped).tolist()) == {0.0, np.float32(1 / 0.75)}
    assert abs(dropped.mean() - 1) < 0.02
    rows = tf.nn.dropout(tf.ones([100, 8]), 0.5, noise_shape=[None, 1]).numpy()
    assert all(len(set(row)) == 1 for row in rows.tolist())
    for rate in (1.0, -0.1):
        with pytest.raises(ValueError, match="rate"):
            tf.nn.dropout(tf.ones([1]), rate)


@pytest.mark.parametrize("initializer", ["GlorotUniform", "GlorotNormal", "HeUniform", "HeNormal"])
def test_initializers_scale_by_the_shape_of_the_layer(initializer):
    values = getattr(tf.initializers, initializer)(seed=1)([200, 100]).numpy()
    variance = 2 / 300 if initializer.startswith("Glorot") else 2 / 200
    assert abs(values.mean()) < 0.01
    assert abs(values.var() / variance - 1) < 0.05


def test_clip_by_global_norm_scales_all_and_keeps_none():
    clipped, norm = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 1.0)
    assert norm.numpy() == 5
    assert clipped[1] is None
    assert_same(np.concatenate([clipped[0].numpy(), clipped[2].numpy()]), np.array([0.6, 0.8]))
    untouched, _ = tf.clip_by_global_norm([tf.constant([3.0])], 10.0)
    assert_same(untouched[0].numpy(), np.array([3.0]))
    broken, _ = tf.clip_by_global_norm([tf.constant([np.inf])], 1.0)
    assert np.isnan(broken[0].numpy()).all()


def test_broadcast_shapes():
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([None, 3])) == [2, 3]
    assert both_ways(tf.broadcast_dynamic_shape, np.array([2, 1]), np.array([5, 1, 3])).numpy().tolist() == [
        5,
        2,
        3,
    ]
    with pytest.raises(ValueError, match="do not broadcast"):
        tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not broadcast"):
        tf.broadcast_dynamic_shape([2], [3])
