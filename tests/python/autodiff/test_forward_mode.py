"""Forward mode: accumulators alone, nested, with tapes, and through functions and control flow."""

import numpy as np
import pytest
from support.derivative_cases import both, rosenbrock, rosenbrock_hessian, wrapped

import penstock as tf

V = np.random.default_rng(5).uniform(-1.0, 1.0, 4)


@both
def test_a_jvp_is_the_jacobian_times_the_tangents(traced):
    @wrapped(traced)
    def f(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as acc:
            y = tf.nn.softmax(x * x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            again = tf.nn.softmax(x * x)
        return acc.jvp(y), tf.linalg.matvec(tape.jacobian(again, x), v)

    forward, reverse = f(tf.constant(V), tf.constant(V[::-1].copy()))
    np.testing.assert_allclose(forward.numpy(), reverse.numpy(), rtol=1e-12)


def test_structures_variables_and_unconnected_values_of_an_accumulator():
    v, x = tf.Variable(2.0), tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator({"v": v, "x": [x]}, {"v": 10.0, "x": [1.0]}) as acc:
        y = v * x
        n = tf.constant(1.0) + 1.0
    assert acc.jvp(y).numpy() == 32
    assert acc.jvp([y, {"n": n}]) == [acc.jvp(y), {"n": None}] or acc.jvp(n) is None
    assert acc.jvp(n, unconnected_gradients="zero").numpy() == 0
    assert acc.jvp(v).numpy() == 10
    # After its context it computes nothing more.
    assert acc.jvp(v * x) is None


def test_misuse_of_an_accumulator():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="several times"):
        tf.autodiff.ForwardAccumulator([x, x], [1.0, 1.0])
    with pytest.raises(ValueError, match="shape"):
        tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0]))
    with pytest.raises(TypeError, match="primals"):
        tf.autodiff.ForwardAccumulator(1.0, 1.0)
    with tf.autodiff.ForwardAccumulator(x, 1.0) as acc, pytest.raises(ValueError, match="already"):
        acc.__enter__()


@both
def test_nested_accumulators_give_second_derivatives_from_the_inside_out(traced):
    @wrapped(traced)
    def f(x):
        ones = tf.ones_like(x)
        with (
            tf.autodiff.ForwardAccumulator(x, ones) as outer,
            tf.autodiff.ForwardAccumulator(x, ones) as inner,
        ):
            y = x**3
        assert inner.jvp(outer.jvp(y)) is None
        return inner.jvp(y), outer.jvp(inner.jvp(y))

    first, second = f(tf.constant(2.0))
    assert (first.numpy(), second.numpy()) == (12, 12)


@both
def test_the_hessian_times_a_vector_both_ways_round(traced):
    direction = tf.constant([1.0, -2.0, 0.5, 3.0], tf.float64)

    @wrapped(traced)
    def forward_over_reverse(x):
        with tf.autodiff.ForwardAccumulator(x, direction) as acc:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = rosenbrock(x)
            slope = tape.gradient(y, x)
        return acc.jvp(slope)

    @wrapped(traced)
    def reverse_over_forward(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.autodiff.ForwardAccumulator(x, direction) as acc:
                y = rosenbrock(x)
            along = acc.jvp(y)
        return tape.gradient(along, x)

    expected = rosenbrock_hessian(V) @ direction.numpy()
    for f in (forward_over_reverse, reverse_over_forward):
        np.testing.assert_allclose(f(tf.constant(V)).numpy(), expected, rtol=1e-10)


def test_forward_mode_through_loops_branches_and_calls():
    @tf.function
    def power(x, n):
        y, i = tf.ones_like(x), tf.constant(0)
        while i < n:
            y, i = y * x, i + 1
        return y

    @tf.function
    def f(x):
        if x > 0.0:
            y = power(x, tf.constant(3))
        else:
            y = tf.sin(x)
        return y

    @tf.function
    def inside(x):
        with tf.autodiff.ForwardAccumulator(x, 1.0) as acc:
            y = f(x)
        return acc.jvp(y)

    for value, slope in ((2.0, 12.0), (-1.0, np.cos(-1.0))):
        x = tf.constant(value)
        with tf.autodiff.ForwardAccumulator(x, 1.0) as acc:
            y = f(x)
        np.testing.assert_allclose([acc.jvp(y).numpy(), inside(x).numpy()], [slope, slope], rtol=1e-6)


def test_forward_mode_of_a_loop_that_runs_no_step():
    @tf.function
    def f(x, n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, x))[1]

    x = tf.constant(5.0)
    with tf.autodiff.ForwardAccumulator(x, 1.0) as acc:
        y, z = f(x, tf.constant(0)), f(x, tf.constant(2))
    assert (acc.jvp(y).numpy(), acc.jvp(z).numpy()) == (1, 75)


def test_forward_mode_of_host_code_and_of_custom_gradients():
    @tf.custom_gradient
    def tenfold(x):
        return x * 2.0, lambda dy: dy * 10.0

    @tf.function
    def f(x):
        return tenfold(x) + tf.py_function(lambda t: t * t, [x], tf.float32)

    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, 1.0) as acc:
        y = tenfold(x)
    assert acc.jvp(y).numpy() == 10


def test_an_operator_without_gradient_is_an_error_only_when_its_tangent_is_asked_for():
    x = tf.constant(3.0)

    @tf.function
    def f(x):
        return tf.numpy_function(np.sin, [x], tf.float32)

    with tf.autodiff.ForwardAccumulator(x, 1.0) as acc:
        y = f(x)
        z = x * x
    assert acc.jvp(z).numpy() == 6
    with pytest.raises(LookupError, match="host"):
        acc.jvp(y)


def test_complex_tangents_are_the_derivative_itself():
    z, v = tf.constant(1.0 + 2.0j, tf.complex128), 0.5 - 1.0j
    for function, expected in (
        (lambda z: z * z, 2.0 * (1.0 + 2.0j) * v),
        (tf.exp, np.exp(1.0 + 2.0j) * v),
        (tf.abs, np.real(np.conj(1.0 + 2.0j) * v) / abs(1.0 + 2.0j)),
        (tf.math.conj, np.conj(v)),
    ):
        with tf.autodiff.ForwardAccumulator(z, tf.constant(v, tf.complex128)) as acc:
            y = function(z)
        np.testing.assert_allclose(acc.jvp(y).numpy(), expected)
