"""Trials, truncated normal numbers, shuffled orders and numbers, of seeds alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf


def test_trials_have_the_mean_and_variance_of_their_distribution() -> None:
    x = tf.random.stateless_binomial([20000, 2], [1, 2], [10.0, 100.0], [0.3, 0.5]).numpy()
    assert x.dtype == np.int32
    assert np.allclose(x.mean(0), [3, 50], atol=0.2)
    assert np.allclose(x.var(0), [2.1, 25], rtol=0.1)
    again = tf.random.stateless_binomial([20000, 2], [1, 2], [10.0, 100.0], [0.3, 0.5]).numpy()
    assert (x == again).all()
    wide = tf.random.stateless_binomial([2], [3, 4], 5, [0.0, 1.0], output_dtype=tf.float64)
    assert (wide.dtype, wide.numpy().tolist()) == (tf.float64, [0.0, 5.0])


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (1.0, 1.5), (8.0, 9.0), (-60.0, -50.0), (40.0, 1e3)])
def test_numbers_stay_between_bounds_and_have_the_right_mean(low: float, high: float) -> None:
    draw = tf.random.stateless_parameterized_truncated_normal
    x = draw([20000], [3, 4], tf.constant(0.0, tf.float64), 1.0, low, high).numpy()
    assert ((low <= x) & (x <= high)).all()
    grid = np.linspace(low, min(high, low + 60), 400001)
    weights = np.exp(-(grid**2 - np.min(np.abs(grid)) ** 2) / 2)
    mean = (grid * weights).sum() / weights.sum()
    spread = np.sqrt(((grid - mean) ** 2 * weights).sum() / weights.sum())
    assert abs(x.mean() - mean) < 5 * spread / np.sqrt(x.size) + 1e-3 * spread + (grid[1] - grid[0])


def test_gradients_are_those_at_fixed_quantiles() -> None:
    def draw(mean: Any, spread: Any, low: Any, high: Any) -> Any:
        return tf.random.stateless_parameterized_truncated_normal([5], [1, 2], mean, spread, low, high)

    given = [tf.constant(v, tf.float64) for v in (0.5, 2.0, -1.0, 3.0)]
    by_tape, by_differences = tf.test.compute_gradient(draw, given, delta=1e-5)
    for a, b in zip(by_tape, by_differences, strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-6)


def test_orders_are_orders() -> None:
    x = tf.reshape(tf.range(40), [20, 2])
    made = tf.random.experimental.stateless_shuffle(x, [1, 2]).numpy()
    assert sorted(made[:, 0].tolist()) == list(range(0, 40, 2))
    assert (made[:, 1] == made[:, 0] + 1).all()
    assert (made != x.numpy()).any()
    assert int(tf.random.experimental.stateless_shuffle(3, [1, 2])) == 3
    with pytest.raises(ValueError, match="alg"):
        tf.random.experimental.stateless_shuffle(x, [1, 2], alg="threefry")


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint32, tf.uint64])
@pytest.mark.parametrize("most", [0, 1, 2, 9, 63, 64, 1000])
def test_shuffled_numbers_are_a_permutation(most: int, dtype: Any) -> None:
    index = tf.cast(tf.range(most + 1), dtype)
    made = tf.random_index_shuffle(index, [1, 2, 3], tf.cast(most, dtype))
    assert made.dtype == dtype
    assert sorted(made.numpy().tolist()) == list(range(most + 1))
    if most > 8:
        other = tf.random_index_shuffle(index, [1, 2, 4], tf.cast(most, dtype))
        assert (made.numpy() != other.numpy()).any()


def test_shuffled_numbers_one_by_one_and_with_seeds_for_each() -> None:
    shuffle = tf.random.experimental.index_shuffle
    whole = shuffle(tf.range(5), [5, 9], 4).numpy().tolist()
    assert [int(shuffle(i, [5, 9], 4)) for i in range(5)] == whole
    each = tf.random_index_shuffle([0, 0], [[1, 2, 3], [4, 5, 6]], [7, 9])
    assert each.shape.as_list() == [2]
    assert int(tf.random_index_shuffle(2**40, [1, 2, 3], 2**61)) <= 2**61
    traced = tf.function(lambda i: shuffle(i, [5, 9], 4))
    assert [int(traced(tf.constant(i))) for i in range(5)] == whole
    with pytest.raises(tf.errors.InvalidArgumentError, match="index"):
        shuffle(5, [5, 9], 4)
    for rounds in (2, 5):
        with pytest.raises(ValueError, match="rounds"):
            tf.random_index_shuffle(0, [1, 2, 3], 4, rounds=rounds)
    with pytest.raises(ValueError, match="seed"):
        tf.random_index_shuffle(0, [1, 2], 4)


def test_states_make_the_generators_of_their_seeds() -> None:
    state = tf.random.create_rng_state(7, "philox")
    a = tf.random.Generator.from_state(state).normal([3]).numpy()
    assert (a == tf.random.Generator.from_seed(7).normal([3]).numpy()).all()
    with pytest.raises(ValueError, match="alg"):
        tf.random.experimental.create_rng_state(7, "threefry")
    same = tf.random.experimental
    assert same.stateless_split is tf.random.split
    assert same.stateless_fold_in is tf.random.fold_in
