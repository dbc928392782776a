"""Derivatives of functions of `keras.ops` that are composed of several operators."""

import math

import numpy as np
import pytest
from keras import ops

import penstock as tf

RNG = np.random.default_rng(11)
X = RNG.uniform(0.2, 2.0, size=(3, 4))
SQUARE = X[:, :3] @ X[:, :3].T + np.eye(3)

FUNCTIONS = {
    "cbrt": ops.cbrt,
    "sinc": ops.sinc,
    "i0": ops.i0,
    "i0 far from 0": lambda x: ops.i0(x * 30) * 1e-20,
    "exp2": ops.exp2,
    "hypot": lambda x: ops.hypot(x, 1.5),
    "logaddexp2": lambda x: ops.logaddexp2(x, 1.5),
    "std": lambda x: ops.std(x, axis=1),
    "var": lambda x: ops.var(x, axis=(0, 1)),
    "nanvar": lambda x: ops.nanvar(x, axis=0),
    "median": lambda x: ops.median(x, axis=1),
    "quantile": lambda x: ops.quantile(x, [0.2, 0.7], axis=0),
    "nanquantile": lambda x: ops.nanquantile(x, 0.3, axis=1),
    "trapezoid": lambda x: ops.trapezoid(x, axis=0),
    "corrcoef": ops.corrcoef,
    "sort": lambda x: ops.sort(x, axis=1),
    "take_along_axis": lambda x: ops.take_along_axis(x, np.array([[0], [2], [1]]), axis=1),
    "rot90": ops.rot90,
    "pad": lambda x: ops.pad(x, 2, "reflect"),
    "kron": lambda x: ops.kron(x, np.arange(4.0).reshape(2, 2)),
    "correlate": lambda x: ops.correlate(x[0], x[1], "full"),
    "vander": lambda x: ops.vander(x[0], 3),
    "geomspace": lambda x: ops.geomspace(x[0], x[1], 5),
    "norm, nuclear": lambda x: ops.norm(x, "nuc"),
    "norm, spectral": lambda x: ops.norm(x, 2, (0, 1)),
    "norm of order 3": lambda x: ops.norm(x, 3, 1),
    "lstsq": lambda x: ops.lstsq(ops.transpose(x), np.arange(4.0)),
    "lu_factor": lambda x: ops.lu_factor(x[:, :3])[0],
    "cholesky_inverse": lambda x: ops.cholesky_inverse(ops.cholesky(x[:, :3] @ ops.transpose(x[:, :3]))),
    "segment_max": lambda x: ops.segment_max(x, np.array([0, 0, 1]), 3)[:2],
    "norms of differences": lambda x: ops.norm(x[:, None] - x[None, :2] * 0.5, axis=-1),
    "stft": lambda x: ops.stft(ops.reshape(x, [-1]), 4, 2, 4)[0],
    "istft": lambda x: ops.istft((x[:, :3], x[:, 1:]), 4, 2, 4, window=None),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_derivatives_are_those_of_differences(name, traced):
    weights = RNG.normal(size=100)

    def weighted(x):
        result = ops.reshape(FUNCTIONS[name](x), [-1])
        assert result.dtype == "float64"
        return ops.sum(result * weights[: result.shape[0]])

    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = weighted(x)
        return tf.convert_to_tensor(tape.gradient(value, x))

    if traced:
        derivative = tf.function(derivative, autograph=False)
    step = 1e-6
    expected = np.zeros_like(X)
    for place in np.ndindex(X.shape):
        moved = np.zeros_like(X)
        moved[place] = step
        expected[place] = (float(weighted(X + moved)) - float(weighted(X - moved))) / (2 * step)
    np.testing.assert_allclose(derivative(tf.constant(X)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sinc", 0.0), ("i0", 0.0), ("cbrt", math.inf), ("fabs", 0.0)],
)
def test_derivatives_at_0(name, expected):
    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = getattr(ops, name)(x)
    assert float(tape.gradient(value, x)) == expected
