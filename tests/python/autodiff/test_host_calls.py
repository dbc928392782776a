"""Derivatives of py_function: to any order, in both modes, inside of traces and from outside."""

import math

import numpy as np
import pytest

import penstock as tf

DELTA = 2.0


def log_huber(x, m):
    if tf.abs(x) <= m:
        return x**2
    return m**2 * (1 - 2 * tf.math.log(m) + tf.math.log(x**2))


def by_callback(x, m=DELTA):
    return tf.py_function(log_huber, [x, tf.constant(m, x.dtype)], tf.TensorSpec([], x.dtype))


# The function, its first and its second derivative on both sides of the kink.
EXPECTED = {
    1.5: (2.25, 3.0, 2.0),
    3.0: (4 * (1 - 2 * math.log(2) + math.log(9)), 8 / 3, -8 / 9),
}


def derivative(f):
    """The derivative of a function of a scalar by a tape."""

    def g(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return g


def tangent(f):
    """The derivative of a function of a scalar in forward mode."""

    def g(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
            y = f(x)
        return acc.jvp(y)

    return g


MODES = {
    "reverse over reverse": (derivative, derivative),
    "forward over reverse": (derivative, tangent),
    "reverse over forward": (tangent, derivative),
    "forward over forward": (tangent, tangent),
}
BORDERS = {
    "outside": lambda inner, outer: outer(inner(by_callback)),
    "inside": lambda inner, outer: tf.function(outer(inner(by_callback))),
    "function in tapes": lambda inner, outer: outer(inner(tf.function(by_callback))),
    "function in a tape in a function": lambda inner, outer: tf.function(
        outer(tf.function(inner(by_callback)))
    ),
    "tape around a function with one": lambda inner, outer: outer(tf.function(inner(by_callback))),
}


@pytest.mark.parametrize("x", EXPECTED)
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("modes", MODES)
def test_second_derivatives_of_log_huber(modes, border, x):
    second = BORDERS[border](*MODES[modes])
    np.testing.assert_allclose(second(tf.constant(x, tf.float64)), EXPECTED[x][2], rtol=1e-12)


@pytest.mark.parametrize("mode", [derivative, tangent])
@pytest.mark.parametrize("x", EXPECTED)
def test_first_derivatives_of_log_huber(mode, x):
    for f in (mode(by_callback), tf.function(mode(by_callback)), mode(tf.function(by_callback))):
        np.testing.assert_allclose(f(tf.constant(x, tf.float64)), EXPECTED[x][1], rtol=1e-12)


@pytest.mark.parametrize("order", [3, 4, 5])
def test_derivatives_of_any_order(order):
    def f(x):
        return tf.py_function(lambda v: tf.exp(2.0 * v), [x], tf.TensorSpec([], tf.float64))

    for derived in range(order):
        f = (derivative, tangent)[derived % 2](f)
    x = tf.constant(0.3, tf.float64)
    expected = 2.0**order * math.exp(0.6)
    np.testing.assert_allclose(tf.function(f)(x), expected, rtol=1e-12)


def test_mixed_derivatives_of_several_arguments_and_results():
    def f(x, n, y):
        both = tf.py_function(
            lambda a, k, b: (a * a * b, k + 1, tf.sin(a * b)), [x, n, y], [x.dtype, tf.int32, x.dtype]
        )
        return both[0] + both[2] * tf.cast(both[1], x.dtype)

    def mixed(x, y):
        with tf.GradientTape() as outer:
            outer.watch(y)
            with tf.GradientTape() as inner:
                inner.watch(x)
                z = f(x, tf.constant(2), y)
            dx = inner.gradient(z, x)
        return outer.gradient(dx, y)

    x, y = 0.7, 1.1
    expected = 2 * x + 3 * (math.cos(x * y) - x * y * math.sin(x * y))
    x, y = tf.constant(x, tf.float64), tf.constant(y, tf.float64)
    np.testing.assert_allclose(tf.function(mixed)(x, y), expected, rtol=1e-12)
    np.testing.assert_allclose(mixed(x, y), expected, rtol=1e-12)


def rosenbrock(v):
    return (1.0 - v[0]) ** 2 + 100.0 * (v[1] - v[0] ** 2) ** 2


def test_hessians():
    def call(v):
        return tf.py_function(rosenbrock, [v], tf.TensorSpec([], tf.float64))

    expected = [[2 - 400 * 2.0 + 1200 * 1.5**2, -600.0], [-600.0, 200.0]]
    x = tf.constant([1.5, 2.0], tf.float64)

    @tf.function
    def by_gradients(v):
        return tf.hessians(call(v), v)[0]

    def by_jacobian(v):
        with tf.GradientTape() as outer:
            outer.watch(v)
            g = derivative(call)(v)
        return outer.jacobian(g, v)

    def by_rows(v):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(v)
            g = derivative(call)(v)
        return outer.jacobian(g, v, experimental_use_pfor=False)

    def forward_over_reverse(v):
        columns = []
        for direction in np.eye(2):
            with tf.autodiff.ForwardAccumulator(v, tf.constant(direction)) as acc:
                g = derivative(call)(v)
            columns.append(acc.jvp(g))
        return tf.stack(columns, axis=1)

    for f in (
        by_gradients,
        *(g for h in (by_jacobian, by_rows, forward_over_reverse) for g in (h, tf.function(h))),
    ):
        np.testing.assert_allclose(f(x), expected, rtol=1e-10)


@pytest.mark.parametrize("mode", [derivative, tangent])
def test_callbacks_in_loops_and_branches(mode):
    def f(x):
        for i in tf.range(4):
            if i % 2 == 0:
                x = tf.py_function(lambda v: v * v, [x], tf.TensorSpec([], tf.float64))
            else:
                x = tf.py_function(tf.sin, [x], tf.TensorSpec([], tf.float64))
        return x

    def by_hand(x):
        return tf.sin(tf.sin(x * x) ** 2)

    x = tf.constant(0.8, tf.float64)
    converted = tf.function(f)
    for outer in (derivative, tangent):
        np.testing.assert_allclose(
            tf.function(outer(mode(converted)))(x), outer(mode(by_hand))(x), rtol=1e-10
        )


def test_vectorised_jacobians_run_a_callback_for_each_row():
    f = tf.function(lambda x: tf.py_function(lambda v: v**3, [x], tf.TensorSpec([3], tf.float32)))
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.jacobian(y, x), np.diag([3.0, 12.0, 27.0]))
    each = tf.function(lambda x: tf.vectorized_map(lambda v: derivative(f.python_function)(v), x))
    np.testing.assert_allclose(each(tf.stack([x, 2 * x])), [[3.0, 12.0, 27.0], [12.0, 48.0, 108.0]])


def test_a_result_that_is_an_argument():
    def f(x, y):
        return tf.py_function(lambda a, b: (b, a, a), [x, y], [tf.float32] * 3)

    @tf.function
    def grads(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            a, b, c = f(x, y)
            z = a * 2.0 + b * 3.0 + c * 5.0
        return tape.gradient(z, [x, y])

    assert [float(g) for g in grads(tf.constant(1.0), tf.constant(1.0))] == [8.0, 2.0]
    x = tf.constant(1.0)
    assert [float(g) for g in grads(x, x)] == [8.0, 2.0]


def test_what_the_callback_does_not_follow_has_zero_gradient():
    def f(x):
        return tf.py_function(lambda v: v.numpy() * 2.0, [x], tf.TensorSpec([2], tf.float32))

    x = tf.constant([1.0, 2.0])
    assert tf.function(derivative(f))(x).numpy().tolist() == [0.0, 0.0]
    assert tf.function(tangent(f))(x).numpy().tolist() == [0.0, 0.0]


def test_complex_callbacks():
    def f(z):
        return tf.py_function(lambda v: v * v * v, [z], tf.TensorSpec([], tf.complex128))

    z = tf.constant(1.0 + 2.0j, tf.complex128)

    def direct(v):
        return v * v * v

    for mode in (derivative, tangent):
        np.testing.assert_allclose(tf.function(mode(f))(z), mode(direct)(z))
        np.testing.assert_allclose(tf.function(derivative(mode(f)))(z), derivative(mode(direct))(z))


def test_errors_of_the_callback_in_a_second_derivative_are_the_same_object():
    class Odd(Exception):
        pass

    raised = []

    def body(v):
        if len(calls) == 2:
            raised.append(Odd("third"))
            raise raised[0]
        calls.append(1)
        return v * v * v

    calls = []

    def f(x):
        return tf.py_function(body, [x], tf.TensorSpec([], tf.float32))

    with pytest.raises(Odd) as caught:
        tf.function(derivative(derivative(f)))(tf.constant(1.0))
    assert caught.value is raised[0]


def test_numpy_functions_have_no_derivative_in_either_mode():
    def f(x):
        return tf.numpy_function(np.sinh, [x], tf.float32)

    for mode in (derivative, tangent):
        with pytest.raises(LookupError, match="sinh does not say what its derivative is"):
            tf.function(mode(f))(tf.constant(1.0))


def test_forward_mode_calls_the_callback_twice():
    calls = []

    def body(v):
        calls.append(float(v))
        return v * v

    f = tf.function(tangent(lambda x: tf.py_function(body, [x], tf.TensorSpec([], tf.float32))))
    assert float(f(tf.constant(3.0))) == 6.0
    assert calls == [3.0, 3.0]
