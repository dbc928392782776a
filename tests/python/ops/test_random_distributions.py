"""Distributions of random numbers at fixed seeds, by Kolmogorov-Smirnov and chi-square tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats

import penstock as tf

N = 20_000
# Of the many tests here none fails by chance at fixed seeds; a wrong distribution fails by far.
LEAST = 1e-3


def fits(values: np.ndarray, distribution: Any) -> None:
    assert scipy.stats.kstest(values.astype("float64"), distribution.cdf).pvalue > LEAST


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.99, 1.0, 2.5, 30.0, 1e5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(alpha: float, dtype: str) -> None:
    x = tf.random.stateless_gamma([N], [3, 4], alpha, beta=2.0, dtype=dtype).numpy()
    assert x.dtype == dtype
    fits(x, scipy.stats.gamma(alpha, scale=0.5))


@pytest.mark.parametrize("rate", [0.1, 1.0, 5.0, 9.9, 10.0, 45.0, 1e4])
def test_poisson(rate: float) -> None:
    x = tf.random.stateless_poisson([N], [5, 6], rate).numpy()
    distribution = scipy.stats.poisson(rate)
    # Cells of at least a hundredth of the numbers each.
    edges = np.unique(distribution.ppf(np.linspace(0, 1, 30)[1:-1]))
    found = np.histogram(x, [-1, *(edges + 0.5), np.inf])[0]
    share = np.diff([0.0, *distribution.cdf(edges), 1.0])
    assert scipy.stats.chisquare(found[share > 0], N * share[share > 0]).pvalue > LEAST


def test_normal_uniform_and_truncated_normal() -> None:
    fits(tf.random.stateless_normal([N], [1, 2]).numpy(), scipy.stats.norm)
    fits(tf.random.stateless_uniform([N], [1, 2]).numpy(), scipy.stats.uniform)
    fits(tf.random.stateless_truncated_normal([N], [1, 2]).numpy(), scipy.stats.truncnorm(-2, 2))
    fits(tf.random.stateless_normal([N], [1, 2], dtype="float64").numpy(), scipy.stats.norm)


def test_categorical() -> None:
    share = np.array([0.1, 0.2, 0.3, 0.4])
    x = tf.random.stateless_categorical(np.log(share)[None], N, [1, 2]).numpy()[0]
    assert scipy.stats.chisquare(np.bincount(x, minlength=4), N * share).pvalue > LEAST


def test_each_order_is_as_likely() -> None:
    tf.random.set_seed(1)
    orders = Counter(tuple(tf.random.shuffle([0, 1, 2]).numpy().tolist()) for _ in range(3000))
    assert len(orders) == 6
    assert scipy.stats.chisquare(list(orders.values())).pvalue > LEAST


def test_shuffle_keeps_rows_together() -> None:
    x = np.arange(20).reshape(10, 2)
    got = tf.random.shuffle(x, seed=3).numpy()
    assert sorted(map(tuple, got)) == sorted(map(tuple, x))
    assert tf.random.shuffle(tf.constant(7)).numpy() == 7
    assert tf.random.shuffle(tf.zeros([0, 3])).shape == [0, 3]


def test_the_same_seed_gives_the_same_numbers() -> None:
    def draw() -> list[Any]:
        tf.random.set_seed(7)
        return [
            tf.random.gamma([5], 2.0).numpy(),
            tf.random.poisson([5], 20.0).numpy(),
            tf.random.shuffle(tf.range(20)).numpy(),
            tf.random.gamma([5], 2.0, seed=3).numpy(),
        ]

    for a, b in zip(draw(), draw(), strict=True):
        np.testing.assert_array_equal(a, b)

    @tf.function
    def f() -> Any:
        return tf.random.stateless_gamma([9], [1, 2], 0.5), tf.random.stateless_poisson([9], [1, 2], 30.0)

    eager = tf.random.stateless_gamma([9], [1, 2], 0.5), tf.random.stateless_poisson([9], [1, 2], 30.0)
    for a, b in zip(f(), eager, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_traced_function_draws_anew_in_each_run() -> None:
    @tf.function
    def f() -> tf.Tensor:
        return tf.random.gamma([4], 2.0)

    assert not np.array_equal(f().numpy(), f().numpy())


def test_split_and_fold_in() -> None:
    seeds = tf.random.split([1, 2], 5).numpy()
    assert seeds.shape == (5, 2)
    assert len({tuple(s) for s in seeds.tolist()}) == 5
    folded = [tuple(tf.random.fold_in([1, 2], i).numpy().tolist()) for i in range(4)]
    assert len(set(folded)) == 4


def test_shapes_and_parameters() -> None:
    assert tf.random.gamma([2], [[1.0], [2.0]], [3.0, 4.0, 5.0]).shape == [2, 2, 3]
    assert tf.random.poisson([], [1.0, 2.0], "int64").dtype == tf.int64
    assert np.isnan(tf.random.stateless_gamma([1], [1, 2], -1.0).numpy()).all()
    assert tf.random.stateless_poisson([3], [1, 2], 0.0).numpy().tolist() == [0, 0, 0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.random.stateless_gamma([2], [1, 2], [1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.random.stateless_gamma([2], [1, 2, 3], 1.0)


def test_the_gradient_of_gamma_follows_the_quantile() -> None:
    alpha = tf.constant([0.1, 0.7, 1.0, 3.0, 50.0, 2e4], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(alpha)
        x = tf.random.stateless_gamma([40, 6], [1, 2], alpha, dtype=tf.float64)
    jacobian = tape.gradient(x, alpha).numpy()
    a, h = alpha.numpy(), 1e-5 * alpha.numpy()
    share = scipy.stats.gamma.cdf(x.numpy(), a)
    upper = scipy.stats.gamma.sf(x.numpy(), a)
    # Of the nearer tail, where it has the digits.
    below = (scipy.stats.gamma.ppf(share, a + h) - scipy.stats.gamma.ppf(share, a - h)) / (2 * h)
    above = (scipy.stats.gamma.isf(upper, a + h) - scipy.stats.gamma.isf(upper, a - h)) / (2 * h)
    expected = np.where(share < 0.5, below, above).sum(axis=0)
    np.testing.assert_allclose(jacobian, expected, rtol=1e-4)


def test_seeds_made_of_a_seed_are_tensorflows():
    split = [[1105988140, 1738052849], [-335576002, 370444179], [10670227, -246211131]]
    assert tf.random.split([1, 2], 3).numpy().tolist() == split
    wide = [[7464880146280614444, 1591045637757961278], [-1057468755545501549, 2524363516007002203]]
    assert tf.random.split(tf.constant([1, 2], tf.int64), 2).numpy().tolist() == wide
    assert tf.random.fold_in([1, 2], 5).numpy().tolist() == [1105988140, 5]
    folded = tf.random.fold_in(tf.constant([1, 2], tf.int64), tf.constant(5, tf.int64))
    assert folded.numpy().tolist() == [7464880146280614444, 5]


def test_a_seed_may_be_none_or_a_float_without_a_fraction():
    def drawn(seed):
        tf.random.set_seed(seed)
        return tf.random.uniform([4]).numpy().tolist(), tf.random.uniform([4], seed=7.0).numpy().tolist()

    assert drawn(5.0) == drawn(5)
    assert drawn(None) != drawn(None)
    with pytest.raises(TypeError, match=r"argument 'seed' must be an integer, got 0\.5"):
        tf.random.set_seed(0.5)
