"""Gradients at kinks, ties and poles, and beside what overflows."""

import itertools

import numpy as np
import pytest
from support.derivative_cases import both, wrapped

import penstock as tf

INF, NAN = np.inf, np.nan
KINKS = {
    "relu": (tf.nn.relu, 0.0, 0.0),
    "relu of NaN": (tf.nn.relu, NAN, 0.0),
    "relu of infinity": (tf.nn.relu, INF, 1.0),
    "relu6 of NaN": (tf.nn.relu6, NAN, 0.0),
    "relu6 of infinity": (tf.nn.relu6, INF, 0.0),
    "relu6 above": (tf.nn.relu6, 6.0, 0.0),
    "abs": (tf.abs, 0.0, 0.0),
    "sign": (tf.sign, 0.0, None),
    "sqrt": (tf.sqrt, 0.0, INF),
    "square root of a square": (lambda x: tf.sqrt(x * x), 0.0, NAN),
    "maximum of one thing": (lambda x: tf.maximum(x, 0.0), 0.0, 1.0),
    "minimum of one thing": (lambda x: tf.minimum(x, 0.0), 0.0, 1.0),
    "x to the 0": (lambda x: x**0.0, 0.0, 0.0),
    "x to the 1": (lambda x: x**1.0, 0.0, 1.0),
    "x to the 2": (lambda x: x**2.0, 0.0, 0.0),
    "0 to the x": (lambda x: tf.constant(0.0) ** x, 2.0, 0.0),
    "xlogy at 0": (lambda x: tf.math.xlogy(x, tf.constant(2.0)), 0.0, 0.0),
    "xlogy at 0, 0": (lambda x: tf.math.xlogy(tf.constant(0.0), x), 0.0, 0.0),
    "xdivy at 0": (lambda x: tf.math.xdivy(tf.constant(0.0), x), 0.0, 0.0),
    "divide_no_nan": (lambda x: tf.math.divide_no_nan(x, tf.constant(0.0)), 1.0, 0.0),
    "multiply_no_nan": (lambda x: tf.math.multiply_no_nan(x, tf.constant(0.0)), INF, 0.0),
    "softplus": (tf.nn.softplus, 0.0, 0.5),
    "elu": (tf.nn.elu, 0.0, 1.0),
    "clip at the bound": (lambda x: tf.clip_by_value(x, 0.0, 1.0), 1.0, 1.0),
    "floor": (tf.floor, 0.5, None),
    "round": (tf.round, 0.5, None),
    "NaN": (lambda x: x * x, NAN, NAN),
    "log": (tf.math.log, 0.0, INF),
    "log1p": (tf.math.log1p, -1.0, INF),
    "rsqrt": (tf.math.rsqrt, 0.0, -INF),
}


@pytest.mark.parametrize("case", KINKS)
def test_gradients_at_kinks(case):
    function, at, expected = KINKS[case]
    x = tf.constant(at)
    for f in (function, tf.function(lambda t: function(t))):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found = tape.gradient(y, x)
        if expected is None:
            assert found is None or found.numpy() == 0
        else:
            np.testing.assert_array_equal(found.numpy(), np.float32(expected))


def test_which_piecewise_constant_functions_have_a_zero_gradient_and_which_none():
    x = tf.constant([-1.5, 0.0, 0.5])
    for name, zero in (("sign", True), ("floor", False), ("ceil", False), ("round", False)):
        function = getattr(tf.math, name)
        for f in (function, tf.function(lambda t, f=function: f(t))):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            found = tape.gradient(y, x)
            assert found.numpy().tolist() == [0.0] * 3 if zero else found is None, name


def test_the_second_derivative_of_a_magnitude_is_zero():
    x = tf.constant([-2.0, 0.0, 3.0])
    for f in (tf.abs, tf.function(lambda t: tf.abs(t))):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            slope = tape.gradient(y, x)
        assert outer.gradient(slope, x).numpy().tolist() == [0.0] * 3


def test_ties_share_the_gradient():
    x = tf.constant([[2.0, 2.0, 1.0, 2.0]])
    for function, expected in (
        (tf.reduce_max, [1 / 3, 1 / 3, 0, 1 / 3]),
        (tf.reduce_min, [0, 0, 1, 0]),
        (lambda t: tf.maximum(t, 2.0), [1, 1, 0, 1]),
        (lambda t: tf.math.segment_max(tf.reshape(t, [-1]), [0, 0, 0, 0]), [1 / 3, 1 / 3, 0, 1 / 3]),
    ):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy()[0], expected, rtol=1e-6)


def slope_of(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


@both
def test_a_product_that_overflows_has_the_gradients_of_its_parts(traced):
    for axis, shape in ((None, [4]), (0, [4]), (-2, [1, 4, 1]), ([0, 1], [4, 1]), ([0, 2, 1], [1, 4, 1])):
        f = wrapped(traced)(lambda x, axis=axis: slope_of(lambda x: tf.reduce_prod(x, axis), x))
        for values, expected in (
            ([1e30, 1e5, 2.0, 1e10], [2e15, INF, INF, 2e35]),
            ([1e25, 1e20, 1e-30, 2.0], [2e-10, 2e-5, INF, INF]),
            ([1e-30, 1e-30, 1e30, 1.0], [1, 1, 0, 0]),
            ([0.0, 2.0, 3.0, -4.0], [-24, 0, 0, 0]),
            ([0.0, 2.0, 0.0, -4.0], [0, 0, 0, 0]),
            ([2.0, INF, 3.0, 1.0], [INF, 6, INF, INF]),
        ):
            found = f(tf.reshape(tf.constant(values), shape))
            assert found.shape == shape
            np.testing.assert_allclose(found.numpy().ravel(), np.float32(expected), rtol=1e-5)


def test_the_gradient_of_a_product_of_unknown_rank():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x):
        return slope_of(tf.reduce_prod, x), slope_of(lambda x: tf.reduce_prod(x, [-1]), x)

    for shape in ([4], [2, 2]):
        x = tf.reshape(tf.constant([0.0, 2.0, 3.0, -4.0]), shape)
        of_all, of_rows = f(x)
        assert of_all.numpy().ravel().tolist() == [-24, 0, 0, 0]
        assert of_rows.numpy().ravel().tolist() == ([-24, 0, 0, 0] if shape == [4] else [2, 0, -4, 3])


WEIGHTS = np.array([1.0, -2.0, 0.5, 3.0])
PRODUCTS = {
    "all": tf.reduce_prod,
    "of rows": lambda x: tf.reduce_sum(tf.reduce_prod(tf.reshape(x, [2, 2]), 1) * WEIGHTS[:2]),
    "running": lambda x: tf.reduce_sum(tf.math.cumprod(x) * WEIGHTS),
    "running, without itself": lambda x: tf.reduce_sum(tf.math.cumprod(x, exclusive=True) * WEIGHTS),
    "running from the end": lambda x: tf.reduce_sum(tf.math.cumprod(x, reverse=True) * WEIGHTS),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize(
    "values", [[0.0, 2.0, 3.0, -4.0], [0.0, 2.0, 0.0, -4.0], [0.0] * 4, [1.5, 2.0, 0.0, 0.5]]
)
def test_derivatives_of_products_are_exact_at_zeros_to_the_third_order(name, values):
    """Products are linear in each factor, so that central differences by different factors are exact."""
    f = PRODUCTS[name]
    x = tf.constant(values, tf.float64)

    def value(at):
        return f(tf.constant(at, tf.float64)).numpy()

    def difference(function, i):
        unit = np.eye(4)[i]
        return lambda at: (function(at + unit) - function(at - unit)) / 2

    def first(x):
        return tf.reduce_sum(slope_of(f, x) * WEIGHTS)

    def second(x):
        return tf.reduce_sum(slope_of(first, x) * WEIGHTS[::-1].copy())

    expected = np.zeros(4)
    for i, j, k in itertools.permutations(range(4), 3):
        third = difference(difference(difference(value, i), j), k)
        expected[k] += WEIGHTS[i] * WEIGHTS[3 - j] * third(x.numpy())
    np.testing.assert_allclose(slope_of(second, x).numpy(), expected, atol=1e-12)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(WEIGHTS)) as acc:
        y = second(x)
    np.testing.assert_allclose(acc.jvp(y).numpy(), expected @ WEIGHTS, atol=1e-12)


def test_shares_of_a_logarithm_of_exponentials_sum_to_one():
    """However much the logarithm is rounded, and beside infinite elements."""
    for dtype, values, expected in (
        (tf.float32, [1e30, 1e30, 0.0], [0.5, 0.5, 0]),
        (tf.float32, [1e4, 1e4, 1e4], [1 / 3] * 3),
        (tf.bfloat16, [30.0, 30.0, 30.0], [1 / 3] * 3),
        (tf.float32, [1.0, INF, -INF], [0, NAN, 0]),
        (tf.float32, [-INF, 0.0, 0.0], [0, 0.5, 0.5]),
    ):
        x = tf.constant(values, dtype)
        found = tf.cast(slope_of(tf.reduce_logsumexp, x), tf.float64).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-2 if dtype == tf.bfloat16 else 1e-6)


def test_the_norm_of_a_complex_zero_has_no_infinite_gradient():
    z = tf.constant([0j, 0j], tf.complex128)
    assert slope_of(lambda z: tf.norm(z, ord=3), z).numpy().tolist() == [0, 0]


def test_the_gradient_of_the_determinant_of_a_singular_matrix_is_an_error():
    x = tf.constant([[1.0, 2.0], [2.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.linalg.det(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"singular|invertible"):
        tape.gradient(y, x)


def test_a_recurrence_starts_with_its_first_term():
    """An infinite first factor has nothing to multiply."""
    a, b = tf.constant([INF, 2.0, 3.0]), tf.constant([1.0, 1.0, -1.0])
    assert tf.raw_ops.linear_recurrence(a, b).numpy().tolist() == [1, 3, 8]
    assert tf.raw_ops.linear_recurrence(a, b, exclusive=True).numpy().tolist() == [0, 1, 3]
    assert tf.raw_ops.linear_recurrence(a, b, reverse=True).numpy().tolist() == [-INF, -1, -1]
    with pytest.raises(ValueError, match="terms"):
        tf.raw_ops.linear_recurrence(a, b[:2])
