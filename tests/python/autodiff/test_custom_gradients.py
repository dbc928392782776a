"""Gradients of one's own, and those of functions that are computed again."""

import numpy as np
import pytest
from support.derivative_cases import both, wrapped

import penstock as tf


@both
def test_a_custom_gradient_of_a_function_that_reads_variables(traced):
    w = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(dy, variables=None):
            assert len(variables) == 1
            assert variables[0] is w
            return dy * 10.0, [tf.reduce_sum(dy) * 100.0]

        return x * w, grad

    @wrapped(traced)
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        assert tape.watched_variables()[0] is w
        return tape.gradient(y, [x, w])

    dx, dw = f(tf.constant([1.0, 2.0]))
    assert (dx.numpy().tolist(), dw.numpy()) == ([10, 10], 200)


def test_a_custom_gradient_must_take_the_variables_that_its_function_reads():
    w = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        return x * w, lambda dy: dy

    with pytest.raises(TypeError, match="variables"):
        scaled(tf.constant(1.0))


@both
def test_keywords_nests_and_second_derivatives_of_custom_gradients(traced):
    @tf.custom_gradient
    def cube(pair, scale=1.0):
        x, y = pair
        return scale * x * y**3, lambda dz: ([dz * y**3, dz * 3.0 * x * y**2],)

    @wrapped(traced)
    def f(x, y):
        with tf.GradientTape() as outer:
            outer.watch([x, y])
            with tf.GradientTape() as inner:
                inner.watch([x, y])
                z = cube([x, y], scale=1.0)
            dx, dy = inner.gradient(z, [x, y])
        return dx, dy, outer.gradient(dy, [x, y])

    dx, dy, (dyx, dyy) = f(tf.constant(2.0), tf.constant(3.0))
    assert [t.numpy() for t in (dx, dy, dyx, dyy)] == [27, 54, 27, 36]


def test_a_custom_gradient_within_a_custom_gradient():
    @tf.custom_gradient
    def outer(x):
        def grad(dy):
            @tf.custom_gradient
            def inner(z):
                return z * 5.0, lambda dz: dz * 7.0

            return inner(dy * x)

        return x, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = outer(x)
        slope = first.gradient(y, x)
    assert slope.numpy() == 10
    assert second.gradient(slope, x).numpy() == 7


def test_pass_through_with_a_variable():
    w = tf.Variable(2.0)
    f = tf.grad_pass_through(lambda x: tf.round(x * w))
    x = tf.Variable(1.3)
    with tf.GradientTape() as tape:
        y = f(x)
    dx, dw = tape.gradient(y, [x, w])
    assert (y.numpy(), dx.numpy(), dw) == (3, 1, None)


@both
def test_recomputed_gradients_agree_and_run_the_function_again(traced):
    w = tf.Variable(0.5, dtype=tf.float64)
    runs = []

    def block(x, shift):
        runs.append(1)
        return tf.sin(tf.exp(x) * w) + shift

    light = tf.recompute_grad(block)

    def gradients_of(f):
        def g(x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = f(x, 1.0)
                dx, dw = tape.gradient(y, [x, w])
            return y, dx, dw, outer.gradient(dx, x)

        return wrapped(traced)(g)

    plain = gradients_of(block)(tf.constant([0.7, -0.2, 0.1, -0.9], tf.float64))
    before = len(runs)
    again = gradients_of(light)(tf.constant([0.7, -0.2, 0.1, -0.9], tf.float64))
    assert len(runs) >= before + 2
    for a, b in zip(plain, again, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_a_recomputed_function_keeps_only_its_arguments():
    def chain(x):
        for _ in range(5):
            x = tf.sin(x)
        return x

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.recompute_grad(chain)(x)
        return tape.gradient(y, x)

    text = step.get_concrete_function(tf.TensorSpec([3])).graph.to_text()
    # Five sines forward, four of them again behind the barrier, and five cosines.
    assert "barrier" in text
    x = tf.constant([0.1, 0.2, 0.3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = chain(x)
    np.testing.assert_allclose(step(x).numpy(), tape.gradient(y, x).numpy(), rtol=1e-6)


@both
def test_a_method_has_a_gradient_of_its_own(traced):
    class Layer:
        factor = 3.0

        @tf.custom_gradient
        def call(self, x):
            """Multiplies."""
            return x * self.factor, lambda dy: dy * 10.0 * self.factor

    f = wrapped(traced)(lambda x: Layer().call(x))
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (6, 30)
    assert Layer.call.__doc__ == "Multiplies."


@both
def test_keyword_arguments_of_a_custom_gradient_have_none(traced):
    @tf.custom_gradient
    def scaled(x, factor):
        return x * factor, lambda dy: dy * 10.0

    x = tf.constant(2.0)
    for f, expected in ((lambda x: scaled(x, factor=x), 10), (lambda x: scaled(x=x, factor=x), None)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = wrapped(traced)(f)(x)
        found = tape.gradient(y, x)
        assert found is None if expected is None else found.numpy() == expected


@pytest.mark.parametrize("returned", [lambda x: x, lambda x: (x, 3), lambda x: (x, x, x)])
def test_a_custom_gradient_is_a_pair(returned):
    @tf.custom_gradient
    def broken(x):
        return returned(x)

    with pytest.raises(TypeError, match="broken must return a pair"):
        broken(tf.constant(1.0))


@both
def test_keyword_arguments_of_a_recomputed_function_have_gradients(traced):
    w = tf.Variable(2.0)
    block = tf.recompute_grad(lambda x, scale=1.0, name="": tf.sin(x * w) * scale)

    @wrapped(traced)
    def f(x, k):
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = block(x, scale=k, name="block")
        return tape.gradient(y, [x, k, w])

    x, k = 1.5, 0.5
    found = [g.numpy() for g in f(tf.constant(x), tf.constant(k))]
    np.testing.assert_allclose(
        found, [2 * k * np.cos(2 * x), np.sin(2 * x), x * k * np.cos(2 * x)], rtol=1e-5
    )


def test_a_recomputed_function_takes_masks_and_integers_without_a_warning(recwarn):
    @tf.recompute_grad
    def picked(x, mask, index):
        return tf.gather(tf.where(mask, x * x, x), index)

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = picked(x, tf.constant([True, False, True]), tf.constant([0, 1, 2]))
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 1.0, 6.0]
    assert not recwarn.list


class NoGradient(Exception):
    """What the gradient function below raises."""


@tf.custom_gradient
def without(x):
    def grad(dy):
        raise NoGradient("on purpose")

    return 2.0 * x, grad


@both
def test_a_gradient_that_nobody_asks_for_does_not_fail(traced):
    def behind_a_stop(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stop_gradient(without(x)) * x
        return tape.gradient(y, x)

    x = tf.constant(3.0)
    assert wrapped(traced)(without)(x).numpy() == 6.0
    assert wrapped(traced)(behind_a_stop)(x).numpy() == 6.0
    f = wrapped(traced)(lambda x: tf.stop_gradient(without(x)) * x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy() == 6.0


@pytest.mark.parametrize("place", ["function", "branch", "loop", "rows"])
def test_a_gradient_behind_a_stopped_gradient_is_not_traced(place):
    called = []

    @tf.custom_gradient
    def noted(x):
        def grad(dy):
            called.append(place)
            return 5.0 * dy

        return 2.0 * x, grad

    def within(x, function):
        if place == "branch":
            return tf.cond(x > 0, lambda: function(x), lambda: x)
        if place == "loop":
            return tf.while_loop(lambda i, _: i < 1, lambda i, v: (i + 1, function(v)), (0, x))[1]
        if place == "rows":
            return tf.vectorized_map(function, tf.expand_dims(x, 0))[0]
        return function(x)

    stopped = tf.function(lambda x: x * within(x, lambda v: tf.stop_gradient(noted(v))))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = stopped(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (18.0, 6.0)
    assert not called

    @tf.function
    def in_the_trace(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * within(x, lambda v: tf.stop_gradient(noted(v)))
        return tape.gradient(y, x)

    assert in_the_trace(x).numpy() == 6.0
    assert not called
    asked = tf.function(lambda x: within(x, noted))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = asked(x)
    assert tape.gradient(y, x).numpy() == 5.0
    assert called == [place]
    assert tf.function(lambda x: tf.gradients(within(x, noted), x)[0])(x).numpy() == 5.0


def test_gradients_that_take_what_others_made_are_differentiated_twice_in_a_trace():
    @tf.custom_gradient
    def cubed(x):
        square = squared(x)
        return square * x, lambda dy: 3.0 * square * dy

    @tf.custom_gradient
    def squared(x):
        return x * x, lambda dy: 2.0 * x * dy

    @tf.function
    def second(x):
        slope = tf.gradients(cubed(x), x)[0]
        return slope, tf.gradients(slope, x)[0]

    run, x = tf.function(cubed), tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = run(x)
        slope = inner.gradient(y, x)
    expected = (12.0, 12.0)
    assert (slope.numpy(), outer.gradient(slope, x).numpy()) == expected
    assert tuple(v.numpy() for v in second(x)) == expected


def test_a_gradient_that_reads_what_is_made_later_fails_where_it_is_computed():
    held = {}

    @tf.custom_gradient
    def scaled(x):
        return x * 1.0, lambda dy: dy * held["scale"]

    @tf.function
    def f(x):
        y = scaled(x)
        held["scale"] = tf.exp(x)
        return y

    x = tf.constant(0.0)
    assert f(x).numpy() == 0.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="made after"):
        tape.gradient(y, x)


@both
def test_a_gradient_that_fails_does_so_where_it_is_asked_for(traced):
    def differentiated(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = without(x)
        return tape.gradient(y, x)

    x = tf.constant(3.0)
    with pytest.raises(NoGradient, match="on purpose"):
        wrapped(traced)(differentiated)(x)
    f = wrapped(traced)(without)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(NoGradient, match="on purpose"):
        tape.gradient(y, x)
