"""The functions of `keras.ops` against NumPy, eagerly and in traces where extents are known or not."""

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from keras import ops

import penstock as tf

RNG = np.random.default_rng(7)
M = RNG.normal(size=(3, 4)).astype("float32")
N = RNG.normal(size=(3, 4)).astype("float32")
P = RNG.uniform(0.1, 0.9, size=(3, 4)).astype("float32")
T = RNG.normal(size=(2, 3, 4)).astype("float32")
V = np.array([3, 1, 2, 3, 0], "float32")
K = np.array([[12, -7, 30], [5, 8, 0]], "int32")
L = np.array([[8, 3, -4], [10, 2, 6]], "int32")
H = np.array([[1, math.nan, 3], [math.inf, 2, math.nan]], "float32")
U = np.array([[1, math.nan, 3], [4, 2, math.nan]], "float32")
SQUARE = (M @ M.T + np.eye(3)).astype("float32")


class Case(NamedTuple):
    """A call: its name, the arrays, the function of `ops`, and what NumPy does."""

    name: str
    arrays: list
    function: Callable
    reference: Callable


def same(names, arrays, *args, **kwargs):
    """Cases of functions that have the name and the arguments of NumPy's."""
    return [
        Case(
            name,
            arrays,
            lambda *xs, name=name: getattr(ops, name)(*xs, *args, **kwargs),
            lambda *xs, name=name: getattr(np, name)(*xs, *args, **kwargs),
        )
        for name in names.split()
        if hasattr(ops, name)
    ]


def case(name, arrays, function, reference):
    return [Case(name, arrays, function, reference)]


def over(cases, *values):
    """The cases of each combination of values."""
    return [one for given in product(*values) for one in cases(*given)]


AXES = (None, 1, -1, (0, 2))
BLENDS = ("linear", "lower", "higher", "midpoint", "nearest")
CASES = [
    # Of each element.
    *same("absolute arccos arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp exp2 expm1", [P]),
    *same("fabs floor i0 isfinite isinf isnan isneginf isposinf log log10 log1p log2 negative rad2deg", [P]),
    *same("reciprocal sign signbit sin sinc sinh sqrt square tan tanh trunc", [P]),
    *same("arccosh", [P + 1]),
    *same("i0", [M * 20]),
    *same("add subtract multiply divide maximum minimum fmax fmin greater greater_equal less", [M, N]),
    *same("less_equal equal not_equal arctan2 hypot heaviside logaddexp logaddexp2 floor_divide", [M, N]),
    *same("mod fmod nextafter copysign isclose logical_and logical_or logical_xor", [M, N]),
    *same("gcd lcm bitwise_and bitwise_or bitwise_xor mod", [K, L]),
    *same("left_shift right_shift", [K], 2),
    *same("round", [M], 2),
    *same("round", [K], -1),
    *same("nan_to_num", [H]),
    *same("clip", [M], -0.5, 0.5),
    *case("ldexp", [M], lambda x: ops.ldexp(x, ops.full((3, 4), 3)), lambda x: x * 8),
    *case("where", [M, N], lambda x, y: ops.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, y)),
    *case(
        "select",
        [M, N],
        lambda x, y: ops.select([x > 1, y > 0], [x, y], 5.0),
        lambda x, y: np.select([x > 1, y > 0], [x, y], 5),
    ),
    # Over axes.
    *over(
        lambda axis, keep: same(
            "sum prod mean max min std var any all ptp median", [T], axis=axis, keepdims=keep
        ),
        AXES,
        (False, True),
    ),
    *over(
        lambda axis: same(
            "nansum nanprod nanmax nanmin nanmean nanvar nanargmax nanargmin nanmedian", [U], axis=axis
        ),
        (None, 1),
    ),
    *over(
        lambda method, axis: same("quantile nanquantile", [T], [0.1, 0.5, 0.9], axis=axis, method=method),
        BLENDS,
        AXES,
    ),
    *same("percentile nanpercentile", [T], 30, axis=-1, keepdims=True),
    *same("nanquantile nanpercentile", [U], 0.3, axis=1),
    *same("average", [T], 1, np.array([1, 2, 3], "float32")),
    *case("average", [M, P], lambda x, w: ops.average(x, weights=w), lambda x, w: np.average(x, weights=w)),
    *same("cumsum cumprod nancumsum nancumprod", [T]),
    *same("cumsum cumprod", [T], 1),
    *same("diff", [T], 2, 1),
    *same("trapezoid", [T], axis=1, dx=0.5),
    *same("trapezoid", [T], np.array([0, 1, 4], "float32"), axis=1),
    *same("count_nonzero", [K], axis=1),
    *same("trace", [T], 1, 0, 2),
    *same("corrcoef", [P]),
    # Places.
    *same("argmax argmin", [T]),
    *same("argmax argmin", [T], 1, keepdims=True),
    *same("argsort sort", [T], 1),
    *same("argsort sort", [T], None),
    *case(
        "searchsorted",
        [V],
        lambda x: ops.searchsorted(np.arange(4.0), x),
        lambda x: np.arange(4).searchsorted(x),
    ),
    *same("digitize", [V], np.array([1.0, 2.5], "float32")),
    *same("take", [T], np.array([[0, -1]]), 1),
    *same("take_along_axis", [T], np.zeros((2, 1, 4), "int32"), 1),
    *case("take_along_axis", [T], lambda x: ops.take_along_axis(x, [[[1]]], 1), lambda x: x[:, 1:2]),
    *same("isin", [V], np.array([3.0, 7.0], "float32")),
    *case("histogram", [V], lambda x: ops.histogram(x, 3)[0], lambda x: np.histogram(x, 3)[0]),
    *case(
        "histogram",
        [V],
        lambda x: ops.histogram(x, 3, (0.5, 2))[0],
        lambda x: np.histogram(x, 3, (0.5, 2))[0],
    ),
    # Shapes.
    *same("ravel fliplr flipud transpose", [T]),
    *same("reshape", [T], (4, -1)),
    *same("moveaxis", [T], [0, 1], [-1, 0]),
    *same("swapaxes", [T], 0, 2),
    *same("transpose", [T], (2, 0, 1)),
    *same("expand_dims", [T], (0, -1)),
    *same("squeeze", [T[:, :1]], 1),
    *over(lambda k: same("rot90", [T], k, (1, 2)), (0, 1, 2, 3, -1)),
    *same("flip", [T], (0, 2)),
    *same("roll", [T], 2),
    *same("roll", [T], (1, -1), (0, 2)),
    *same("repeat", [T], 2, 1),
    *same("repeat", [M], np.array([1, 0, 2]), 0),
    *same("tile", [M], (2, 1, 3)),
    *same("tile", [T], 2),
    *over(
        lambda mode: same("pad", [T], ((0, 1), (1, 2), (2, 0)), mode),
        ("constant", "reflect", "symmetric", "edge", "wrap"),
    ),
    *over(lambda k: same("tril triu diagonal", [T], k), (-1, 0, 2)),
    *over(lambda k: same("diag", [M[0]], k), (-2, 0, 1)),
    *over(lambda k: same("diag", [M], k), (-2, 0, 1)),
    *same("diagflat", [M], 1),
    *same("vander", [V], 3),
    *over(
        lambda name: case(
            name,
            [V, V],
            lambda x, y: getattr(ops, name)([x, y]),
            lambda x, y: getattr(np, name)([x, y]),
        ),
        ("concatenate", "stack", "vstack", "hstack", "dstack"),
    ),
    *same("append", [M, N]),
    *case("meshgrid", [V, M[0]], lambda x, y: ops.meshgrid(x, y)[1], lambda x, y: np.meshgrid(x, y)[1]),
    *case("split", [T], lambda x: ops.split(x, 2, -1)[1], lambda x: np.split(x, 2, -1)[1]),
    *case("split", [T], lambda x: ops.split(x, [1, 3], -1)[1], lambda x: np.split(x, [1, 3], -1)[1]),
    *case("array_split", [V], lambda x: ops.array_split(x, 3)[1], lambda x: np.array_split(x, 3)[1]),
    *case("view", [M], lambda x: ops.view(x, "int16"), lambda x: x.view("int16")),
    *case("view", [M], lambda x: ops.view(x, "float64"), lambda x: x.view("float64")),
    *case("unravel_index", [abs(K)], lambda x: ops.unravel_index(x, (5, 7))[1], lambda x: x % 7),
    # Products.
    *case("matmul", [T, M], lambda x, y: ops.matmul(x, ops.transpose(y)), lambda x, y: x @ y.T),
    *case("dot", [T, M], lambda x, y: ops.dot(x, ops.transpose(y)), lambda x, y: np.dot(x, y.T)),
    *same("matmul dot inner", [T, M[0]]),
    *same("tensordot", [T, M], 2),
    *same("inner", [T, M]),
    *same("vdot", [M, N]),
    *same("outer", [M, V]),
    *same("kron", [M, T]),
    *same("cross", [M[:, :3], N[:, :3]]),
    *case(
        "einsum",
        [T, M],
        lambda x, y: ops.einsum("bij,ij->b", x, y),
        lambda x, y: np.einsum("bij,ij->b", x, y),
    ),
    *over(lambda mode: same("correlate", [V, V[:2]], mode), ("valid", "same", "full")),
    # Matrices.
    *over(
        lambda name: case(name, [SQUARE], getattr(ops, name), getattr(np.linalg, name)),
        ("det", "inv", "cholesky"),
    ),
    *case("solve", [SQUARE, M], ops.solve, np.linalg.solve),
    *case("solve", [SQUARE, M[:, 0]], ops.solve, np.linalg.solve),
    *case("slogdet", [SQUARE], lambda x: ops.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1]),
    *case("pinv", [M], ops.pinv, np.linalg.pinv),
    *over(
        lambda ord: case(
            "norm", [M], lambda x: ops.norm(x, ord, (0, 1)), lambda x: np.linalg.norm(x, ord, (0, 1))
        ),
        (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf),
    ),
    *over(
        lambda ord: case(
            "norm", [T], lambda x: ops.norm(x, ord, 1, True), lambda x: np.linalg.norm(x, ord, 1, True)
        ),
        (None, 0, 1, 2, 3, np.inf, -np.inf),
    ),
    # Transforms.
    *case("fft", [M, N], lambda x, y: ops.fft((x, y))[1], lambda x, y: np.fft.fft(x + 1j * y).imag),
    *case("ifft2", [M, N], lambda x, y: ops.ifft2((x, y))[0], lambda x, y: np.fft.ifft2(x + 1j * y).real),
    *case("rfft", [M], lambda x: ops.rfft(x, 6)[0], lambda x: np.fft.rfft(x, 6).real),
    *case("irfft", [M, 0 * N], lambda x, y: ops.irfft((x, y)), lambda x, y: np.fft.irfft(x)),
    *case(
        "extract_sequences",
        [M],
        lambda x: ops.extract_sequences(x, 2, 1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, -1),
    ),
    *case("logsumexp", [M], lambda x: ops.logsumexp(x, 1), lambda x: np.log(np.exp(x).sum(1))),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{at}-{one.name}" for at, one in enumerate(CASES)])
class TestAgainstNumPy:
    def check(self, result, case, known):
        expected = np.asarray(case.reference(*case.arrays))
        np.testing.assert_allclose(np.array(result), expected, rtol=2e-5, atol=2e-5)
        if known is not None:
            assert tuple(known) == expected.shape

    def test_eager(self, case):
        result = case.function(*map(ops.convert_to_tensor, case.arrays))
        self.check(result, case, result.shape)

    @pytest.mark.parametrize("extents", ["known", "unknown"])
    def test_traced(self, case, extents):
        specs = [
            tf.TensorSpec(a.shape if extents == "known" else [None] * a.ndim, a.dtype) for a in case.arrays
        ]
        shapes = []

        def traced(*xs):
            result = case.function(*xs)
            shapes.append(result.shape)
            return result

        result = tf.function(traced, autograph=False, input_signature=specs)(*case.arrays)
        assert shapes[0].rank == result.shape.rank
        self.check(result, case, shapes[0] if extents == "known" else None)
