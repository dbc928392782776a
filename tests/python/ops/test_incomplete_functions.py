"""Incomplete gamma and beta functions against SciPy's, in values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import penstock as tf

RNG = np.random.default_rng(5)
A, B = RNG.uniform(0.01, 150, (2, 500))
X, P = RNG.uniform(0, 250, 500), RNG.uniform(0, 1, 500)
LIMIT = {"float64": 1e-12, "float32": 2e-6}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_those_of_scipy(dtype: str) -> None:
    a, b, x, p = (values.astype(dtype) for values in (A, B, X, P))
    wide = [values.astype("float64") for values in (a, b, x, p)]
    for got, expected in (
        (tf.math.igamma(a, x), special.gammainc(wide[0], wide[2])),
        (tf.math.igammac(a, x), special.gammaincc(wide[0], wide[2])),
        (tf.math.betainc(a, b, p), special.betainc(wide[0], wide[1], wide[3])),
    ):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.numpy(), expected.astype(dtype), rtol=LIMIT[dtype], atol=1e-36)


def test_values_at_the_ends_and_outside() -> None:
    a = tf.constant([1.0, 1.0, 0.5, 0.0, -1.0, np.nan, 1.0], tf.float64)
    x = tf.constant([0.0, np.inf, 1e-300, 1.0, 1.0, 1.0, -1.0], tf.float64)
    expected = [0, 1, special.gammainc(0.5, 1e-300), np.nan, np.nan, np.nan, np.nan]
    np.testing.assert_allclose(tf.math.igamma(a, x).numpy(), expected)
    np.testing.assert_allclose(tf.math.igammac(a, x).numpy(), 1 - np.array(expected))
    p = [0.0, 1.0, -0.5, 1.5, np.nan]
    np.testing.assert_allclose(tf.math.betainc(2.0, 3.0, p).numpy(), [0, 1, np.nan, np.nan, np.nan])


def test_operands_broadcast_and_may_be_of_unknown_shape() -> None:
    signature = [tf.TensorSpec(None, tf.float64)] * 3

    @tf.function(input_signature=signature)
    def traced(a: tf.Tensor, b: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        return tf.math.betainc(a, b, x)

    a, x = np.array([[1.0], [2.0]]), np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(traced(a, 3.0, x).numpy(), special.betainc(a, 3.0, x), rtol=1e-13)
    assert tf.math.igamma(tf.zeros([0, 1]), tf.zeros([3])).shape == (0, 3)


@pytest.mark.parametrize("traced", [False, True])
def test_derivatives_are_differences(traced: bool) -> None:
    def slopes(a: tf.Tensor, b: tf.Tensor, x: tf.Tensor, p: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([a, x, p])
            lower, upper, beta = tf.math.igamma(a, x), tf.math.igammac(a, x), tf.math.betainc(a, b, p)
        return [*tape.gradient(lower, [a, x]), *tape.gradient(upper, [a, x]), tape.gradient(beta, p)]

    a, b, x, p = np.array([[0.3, 2.0, 50.0], [1.0, 0.7, 30.0], [0.2, 3.0, 45.0], [0.2, 0.9, 0.6]])
    h = 1e-6
    by_a = (special.gammainc(a + h, x) - special.gammainc(a - h, x)) / (2 * h)
    by_x = (special.gammainc(a, x + h) - special.gammainc(a, x - h)) / (2 * h)
    by_p = (special.betainc(a, b, p + h) - special.betainc(a, b, p - h)) / (2 * h)
    function = tf.function(slopes) if traced else slopes
    for got, expected in zip(
        function(*map(tf.constant, (a, b, x, p))), [by_a, by_x, -by_a, -by_x, by_p], strict=True
    ):
        np.testing.assert_allclose(got.numpy(), expected, rtol=2e-7)


def test_operands_must_be_floating_and_of_one_dtype() -> None:
    with pytest.raises(TypeError, match="argument 'a' must be floating"):
        tf.math.igamma(1, 2)
    with pytest.raises(TypeError):
        tf.math.igamma(tf.constant(1.0, tf.float64), tf.constant(1.0, tf.float32))


def test_beta_functions_of_vectors() -> None:
    x = RNG.uniform(0.1, 5, (2, 3, 4))
    expected = special.gammaln(x).sum(-1) - special.gammaln(x.sum(-1))
    np.testing.assert_allclose(tf.math.lbeta(x).numpy(), expected, rtol=1e-12)
    assert tf.math.lbeta(tf.zeros([2, 0])).numpy().tolist() == [-np.inf, -np.inf]
    with pytest.raises(ValueError, match="got a scalar"):
        tf.math.lbeta(1.0)


def test_the_inverse_of_erfc() -> None:
    x = np.concatenate([np.linspace(0, 2, 41), [-1.0, 3.0, np.nan]])
    np.testing.assert_allclose(tf.math.erfcinv(x).numpy(), special.erfcinv(x), rtol=1e-12, atol=1e-15)


def test_sums_of_segments_by_the_root_of_their_number() -> None:
    data = RNG.normal(size=(6, 2)).astype("float32")
    got = tf.math.unsorted_segment_sqrt_n(data, [0, 2, 0, -1, 2, 2], 4).numpy()
    expected = np.stack(
        [data[[0, 2]].sum(0) / 2**0.5, np.zeros(2), data[[1, 4, 5]].sum(0) / 3**0.5, np.zeros(2)]
    )
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_extremes_along_any_dimension() -> None:
    x = RNG.normal(size=(4, 5, 3)).astype("float32")
    values, positions = tf.math.approx_max_k(x, 2, reduction_dimension=1)
    order = np.argsort(-x, axis=1)[:, :2]
    assert np.array_equal(positions.numpy(), order)
    assert np.array_equal(values.numpy(), np.take_along_axis(x, order, 1))
    values, positions = tf.math.approx_min_k(x, 3, reduction_dimension=0)
    assert np.array_equal(values.numpy(), np.sort(x, axis=0)[:3])


def test_scalars_multiply_tensors_and_slices() -> None:
    assert tf.math.scalar_mul(3, [1.0, 2.0]).numpy().tolist() == [3.0, 6.0]
    slices = tf.math.scalar_mul(2.0, tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2])))
    assert tf.convert_to_tensor(slices).numpy().tolist() == [[0, 0], [2, 2], [0, 0]]
    with pytest.raises(ValueError, match="argument 'scalar' must be a scalar"):
        tf.math.scalar_mul([1.0], [1.0])
