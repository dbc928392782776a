"""Special functions and complex ones, against SciPy and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np
import pytest
import scipy.special

import penstock as tf


def near(got: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=0)


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 3e-7), ("float64", 1e-13)])
def test_quantiles(dtype: str, rtol: float) -> None:
    x = np.concatenate([np.linspace(-0.999, 0.999, 401), [1e-30, -1e-10, 0.0, 1 - 2.0**-20]]).astype(dtype)
    near(tf.math.erfinv(x).numpy(), scipy.special.erfinv(x.astype("float64")), rtol)
    p = np.concatenate([np.linspace(0.001, 0.999, 401), [1e-30, 1e-10, 0.5, 1 - 2.0**-20]]).astype(dtype)
    wide = scipy.special.ndtri(p.astype("float64"))
    np.testing.assert_allclose(tf.math.ndtri(p).numpy(), wide, rtol=rtol, atol=rtol)
    edges = np.array([-1, 1, 1.5, np.nan], dtype)
    np.testing.assert_array_equal(tf.math.erfinv(edges).numpy(), np.array([-np.inf, np.inf, np.nan, np.nan]))


def test_digamma_near_its_poles_and_its_derivatives() -> None:
    for pole in (-1.0, -2.0, -5.0):
        for gap in (1e-3, -1e-3, 1e-7, -1e-7):
            x = pole + gap
            near(tf.math.digamma(tf.constant(x, tf.float64)).numpy(), scipy.special.digamma(x), 1e-8)
    x = tf.constant([0.3, 1.0, 4.5, 30.0], tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.math.digamma(x)
        first = inner.gradient(y, x)
    near(first.numpy(), scipy.special.polygamma(1, x.numpy()), 1e-13)
    near(outer.gradient(first, x).numpy(), scipy.special.polygamma(2, x.numpy()), 1e-13)


def test_lgamma_is_of_the_magnitude() -> None:
    x = np.array([-0.5, -1.5, -2.5, 0.5, 10.0])
    near(tf.math.lgamma(x).numpy(), scipy.special.gammaln(x), 1e-13)
    assert tf.math.lgamma(-1.0).numpy() == np.inf


def log1p(z: np.ndarray) -> np.ndarray:
    """NumPy's loses the digits of small numbers."""
    size = z.real * (2 + z.real) + z.imag * z.imag
    return np.log1p(size) / 2 + 1j * np.arctan2(z.imag, 1 + z.real)


FUNCTIONS = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}


def relative(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(got - expected) / np.maximum(np.abs(expected), 1e-300)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_functions_over_all_magnitudes(name: str) -> None:
    rng = np.random.default_rng(1)
    radius = 10.0 ** rng.uniform(-12, 1.3, 400)
    z = radius * np.exp(1j * rng.uniform(-np.pi, np.pi, 400))
    expected = FUNCTIONS[name](z.astype(np.clongdouble)).astype("complex128")
    assert relative(getattr(tf.math, name)(z).numpy(), expected).max() < 2e-13
    narrow = z.astype("complex64")
    expected = FUNCTIONS[name](narrow.astype("complex128"))
    assert relative(getattr(tf.math, name)(narrow).numpy().astype("complex128"), expected).max() < 1e-6


@pytest.mark.parametrize("name", ["sqrt", "log", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_the_sign_of_zero_tells_the_side_of_a_cut(name: str) -> None:
    parts = [-2.0, -1.5, -0.5, 0.5, 1.5, 2.0]
    on_real = [complex(x, zero) for x in parts for zero in (0.0, -0.0)]
    on_imaginary = [complex(zero, x) for x in parts for zero in (0.0, -0.0)]
    z = np.array(on_real + on_imaginary)
    got, expected = getattr(tf.math, name)(z).numpy(), FUNCTIONS[name](z)
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)
    apart = np.abs(expected.imag) > 1e-12
    np.testing.assert_array_equal(np.signbit(got.imag[apart]), np.signbit(expected.imag[apart]))


def test_large_complex_numbers_do_not_overflow_early() -> None:
    z = np.array([1e300 + 1e300j, -1e300 + 1j, 1e-300 + 1e-300j, 1e308 - 1e308j])
    for name in ("sqrt", "log", "asin", "acos", "asinh", "acosh", "atan", "atanh"):
        got, expected = getattr(tf.math, name)(z).numpy(), FUNCTIONS[name](z)
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=0, err_msg=name)


def test_nextafter_and_zeta() -> None:
    x = np.array([1.0, -1.0, 0.0, np.inf, np.nan], "float32")
    y = np.array([2.0, 2.0, -1.0, 0.0, 1.0], "float32")
    np.testing.assert_array_equal(tf.math.nextafter(x, y).numpy(), np.nextafter(x, y))
    q = np.array([0.5, 1.0, 3.0, 1e9])
    near(tf.math.zeta(tf.constant(2.5, tf.float64), q).numpy(), scipy.special.zeta(2.5, q), 1e-13)
    assert np.isnan(tf.math.polygamma(0.5, 1.0).numpy())


def test_cumulative_logsumexp_does_not_overflow() -> None:
    x = tf.constant([1000.0, 1000.0, -1000.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.cumulative_logsumexp(x)
    near(y.numpy(), np.logaddexp.accumulate(x.numpy()), 1e-14)
    near(tape.gradient(y, x).numpy(), np.array([2.0, 1.0, 0.0]), 1e-12)


ALIKE = (
    "exp math.expm1 math.log math.log1p tanh sigmoid nn.softplus math.erf math.erfc nn.elu nn.selu nn.relu6 "
    "nn.softsign asin acos atan sinh cosh asinh acosh atanh math.erfinv math.ndtri math.rsqrt sign math.rint"
)
EDGES = "0 -0 1 -1 inf -inf nan 1e-40 -1e-310 0.625 88.8 -104.5 710 -746 1e30"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(1003,), (7, 143)])
def test_a_function_gives_the_same_bits_alone_and_among_others(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=shape) * np.exp(rng.uniform(-8, 5, shape)), rng.normal(size=shape) * 3
    edges = [float(number) for number in EDGES.split()]
    x.flat[: len(edges)] = edges
    with np.errstate(over="ignore"):
        x, y = x.astype(dtype), y.astype(dtype)

    def among(f: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, ...]:
        z = f(x)
        return z, f(x * y) + z * y, tf.pow(x, y) - f(z), tf.atan2(z, y) * f(y)

    for name in ALIKE.split():
        f = attrgetter(name)(tf)
        alone = among(f, tf.constant(x), tf.constant(y))
        fused = tf.function(among)(f, tf.constant(x), tf.constant(y))
        for a, b in zip(alone, fused, strict=True):
            a, b = a.numpy(), b.numpy()
            np.testing.assert_array_equal(a, b, name)
            known = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]), name)
