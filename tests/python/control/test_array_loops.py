"""Loops of elementwise operations on large arrays give what the operations give one by one."""

import numpy as np
import numpy.typing as npt
import pytest

import penstock as tf

RNG = np.random.default_rng(8)
# No multiple of a vector's elements, and large enough to be grouped.
POINTS = (67, 61)
ROUNDS = [0, 1, 5, 16, 37]


def plane(dtype: str) -> npt.NDArray[np.complex128]:
    """Points around the unit disk, with those among them at which arithmetic changes its ways."""
    points = (RNG.normal(size=POINTS) + 1j * RNG.normal(size=POINTS)).astype(dtype)
    odd = [
        0.0,
        complex(-0.0, 2.0),
        complex(np.inf, np.nan),
        complex(np.nan, 1.0),
        complex(0.0, -np.inf),
        1e30,
        1e-30j,
    ]
    points.flat[: len(odd)] = odd
    return points


def assert_same(traced: object, eager: object) -> None:
    for a, b in zip(tf.nest.flatten(traced), tf.nest.flatten(eager), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_an_escape_time_fractal_is_that_of_eager_rounds(dtype: str, rounds: int) -> None:
    def julia(z: tf.Tensor, rounds: object) -> object:
        c = tf.constant(-0.4 + 0.6j, dtype)
        last = tf.zeros(z.shape, tf.int32)
        for i in tf.range(rounds):
            inside = tf.abs(z) < 2
            z, last = tf.where(inside, z * z + c, z), tf.where(inside, i, last)
        return z, last

    z = tf.constant(plane(dtype))
    assert_same(tf.function(lambda z: julia(z, rounds))(z), julia(z, rounds))
    assert_same(tf.function(julia)(z, tf.constant(rounds)), julia(z, rounds))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_damped_waves_are_those_of_eager_rounds(rounds: int) -> None:
    def waves(amplitude: tf.Tensor, frequency: tf.Tensor) -> object:
        energy = tf.zeros(amplitude.shape, tf.float64)
        for _ in tf.range(rounds):
            amplitude = amplitude * tf.complex(tf.cos(frequency), tf.sin(frequency)) * 0.97
            energy = energy + tf.square(tf.abs(amplitude))
            amplitude = tf.where(tf.abs(amplitude) > 1.5, tf.math.conj(amplitude) / 2.0, amplitude)
        return amplitude, energy

    amplitude, frequency = tf.constant(plane("complex128")), tf.constant(RNG.normal(size=POINTS))
    assert_same(tf.function(waves)(amplitude, frequency), waves(amplitude, frequency))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_newtons_method_for_complex_roots_is_that_of_eager_rounds(rounds: int) -> None:
    def roots(z: tf.Tensor) -> object:
        for _ in tf.range(rounds):
            z = z - (z * z * z - 1.0) / (3.0 * tf.square(z))
        return z, tf.math.real(z) + tf.math.imag(z)

    z = tf.constant(plane("complex128"))
    assert_same(tf.function(roots)(z), roots(z))


def test_a_bound_of_magnitudes_counts_where_they_are_equal() -> None:
    z = tf.constant(np.tile([3 + 4j, 3 + 4.000000000000001j, 3 + 3.9999999999999996j, -5], 1024))
    compare = {
        "<": lambda z: tf.abs(z) < 5,
        "<=": lambda z: tf.abs(z) <= 5,
        ">": lambda z: tf.abs(z) > 5,
        ">=": lambda z: tf.abs(z) >= 5,
    }
    for f in compare.values():
        assert_same(tf.function(f)(z), f(z))


def test_what_a_condition_does_is_done_in_every_round() -> None:
    seen: list[int] = []

    def cond(i: tf.Tensor, x: tf.Tensor) -> object:
        tf.py_function(lambda k: seen.append(int(k)), [i], [])
        return i < 3

    loop = tf.function(lambda x: tf.while_loop(cond, lambda i, x: (i + 1, x + x), [tf.constant(0), x])[1])
    x = tf.ones(POINTS, tf.float64)
    assert_same(loop(x), 8 * x)
    assert seen == [0, 1, 2, 3]
