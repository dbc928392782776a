"""Bessel functions and their like against SciPy's: values, slopes, ends of the range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import penstock as tf

POSITIVE = np.concatenate([np.logspace(-30, 0, 60), np.linspace(0.01, 40, 801), np.logspace(1.7, 2.8, 60)])
REAL = np.concatenate([-POSITIVE[::-3], [0.0], POSITIVE])

# The function, SciPy's, where it is compared, and its derivative.
CASES: dict[str, tuple[Callable[[Any], Any], np.ndarray, Callable[[Any], Any]]] = {
    "bessel_i0": (special.i0, REAL, special.i1),
    "bessel_i0e": (special.i0e, REAL, lambda x: special.i1e(x) - np.sign(x) * special.i0e(x)),
    "bessel_i1": (special.i1, REAL, lambda x: special.ivp(1, x)),
    "bessel_i1e": (
        special.i1e,
        REAL,
        lambda x: (special.ive(0, x) + special.ive(2, x)) / 2 - np.sign(x) * special.i1e(x),
    ),
    "bessel_k0": (special.k0, POSITIVE, lambda x: -special.k1(x)),
    "bessel_k0e": (special.k0e, POSITIVE, lambda x: special.k0e(x) - special.k1e(x)),
    "bessel_k1": (special.k1, POSITIVE, lambda x: special.kvp(1, x)),
    "bessel_k1e": (
        special.k1e,
        POSITIVE,
        lambda x: special.k1e(x) - (special.k0e(x) + special.kve(2, x)) / 2,
    ),
    "bessel_j0": (special.j0, REAL, lambda x: -special.j1(x)),
    "bessel_j1": (special.j1, REAL, lambda x: special.jvp(1, x)),
    "bessel_y0": (special.y0, POSITIVE, lambda x: -special.y1(x)),
    "bessel_y1": (special.y1, POSITIVE, lambda x: special.yvp(1, x)),
    "dawsn": (special.dawsn, REAL, lambda x: 1 - 2 * x * special.dawsn(x)),
    "expint": (special.expi, POSITIVE, lambda x: np.exp(x) / x),
    "fresnel_cos": (lambda x: special.fresnel(x)[1], REAL, lambda x: np.cos(np.pi / 2 * x * x)),
    "fresnel_sin": (lambda x: special.fresnel(x)[0], REAL, lambda x: np.sin(np.pi / 2 * x * x)),
    "spence": (special.spence, POSITIVE, lambda x: -np.log1p(x - 1) / (x - 1)),
}
# What is added to the magnitude of a value that its error is measured by: that of values around it.
AROUND = {"bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "expint", "fresnel_cos", "fresnel_sin"}


def near(got: np.ndarray, expected: np.ndarray, limit: float, around: np.ndarray | float) -> None:
    assert np.array_equal(np.isfinite(got), np.isfinite(expected))
    finite = np.isfinite(expected)
    error = np.abs(got[finite] - expected[finite])
    scale = np.abs(expected[finite]) + np.broadcast_to(around, expected.shape)[finite]
    assert np.all(error <= limit * scale), (error / np.maximum(scale, 1e-300)).max()


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_scipy(name: str) -> None:
    expected, x, _ = CASES[name]
    function = getattr(tf.math.special, name)
    around = 1 / np.sqrt(1 + np.abs(x)) if name in AROUND else 0.0
    near(function(x).numpy(), expected(x), 5e-14, around)
    short = x.astype("float32")
    short = short[(short != 0) & (np.abs(short) < 80)]
    limit = 4e-6 if name in AROUND else 2e-6
    around = 1 / np.sqrt(1 + np.abs(short)) if name in AROUND else 1e-37
    near(function(short).numpy().astype("float64"), expected(short.astype("float64")), limit, around)


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_the_formulas(name: str) -> None:
    _, x, slope = CASES[name]
    x = x[(np.abs(x) > 1e-3) & (np.abs(x) < 30) & (np.abs(x - 1) > 1e-6)]

    @tf.function
    def traced(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(tf.math.special, name)(x)
        return tape.gradient(y, x)

    expected = slope(x)
    near(traced(tf.constant(x)).numpy(), expected, 1e-11, np.abs(expected).mean() * 1e-2 + 1e-2 / x**2)


def test_values_at_the_ends_of_the_range() -> None:
    ends = tf.constant([-np.inf, -1.0, 0.0, np.inf, np.nan], tf.float64)
    inf, nan = np.inf, np.nan
    for name, expected in {
        "bessel_i0": [inf, special.i0(1), 1, inf, nan],
        "bessel_i1e": [-0.0, -special.i1e(1), 0, 0, nan],
        "bessel_k0": [nan, nan, inf, 0, nan],
        "bessel_k1e": [nan, nan, inf, 0, nan],
        "bessel_j0": [0, special.j0(1), 1, 0, nan],
        "bessel_j1": [0, -special.j1(1), 0, 0, nan],
        "bessel_y0": [nan, nan, -inf, 0, nan],
        "dawsn": [0, -special.dawsn(1), 0, 0, nan],
        "expint": [nan, nan, -inf, inf, nan],
        "fresnel_cos": [-0.5, -special.fresnel(1)[1], 0, 0.5, nan],
        "spence": [nan, nan, np.pi**2 / 6, -inf, nan],
    }.items():
        got = getattr(tf.math.special, name)(ends).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=0, err_msg=name)


def test_short_floats_are_rounded_results_of_longer_ones() -> None:
    x = tf.constant([0.5, 1.0, 20.0], tf.bfloat16)
    got = tf.math.bessel_i0e(x)
    assert got.dtype == tf.bfloat16
    assert np.array_equal(
        got.numpy(), tf.cast(tf.math.bessel_i0e(tf.cast(x, tf.float32)), tf.bfloat16).numpy()
    )


def test_integers_are_refused() -> None:
    with pytest.raises(TypeError, match="argument 'x' must be floating, got int32"):
        tf.math.special.dawsn([1, 2])


def test_nothing_gives_nothing() -> None:
    for name in CASES:
        assert getattr(tf.math.special, name)(tf.zeros([0, 3])).shape == (0, 3)
