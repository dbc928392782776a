"""Gradient functions that use the function that they belong to, as that of exp does."""

import numpy as np
import pytest

import penstock as tf


@tf.custom_gradient
def grow(x):
    return tf.exp(x), lambda dy: dy * grow(x)


def _defined_anew(x):
    @tf.custom_gradient
    def inner(x):
        return tf.exp(x), lambda dy: dy * _defined_anew(x)

    return inner(x)


_custom = tf.custom_op(np.exp, tf.TensorSpec([], tf.float32), name="grown")


@_custom.gradient
def _(inputs, outputs, dy):
    return dy * _custom(inputs[0])


FUNCTIONS = pytest.mark.parametrize(
    "function", [grow, _defined_anew, _custom], ids=["once", "anew", "operator"]
)


def _slope(function, order):
    """The derivative of this order."""
    if order == 0:
        return function

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _slope(function, order - 1)(x)
        return tape.gradient(y, x)

    return slope


@FUNCTIONS
@pytest.mark.parametrize("order", range(4))
def test_derivatives_inside_of_a_function_are_right(function, order):
    assert float(tf.function(_slope(function, order))(tf.constant(1.0))) == pytest.approx(np.e)


@FUNCTIONS
@pytest.mark.parametrize("order", range(4))
def test_derivatives_of_a_function_from_outside_are_right(function, order):
    assert float(_slope(tf.function(function), order)(tf.constant(1.0))) == pytest.approx(np.e)


@FUNCTIONS
def test_they_run_in_loops_and_branches(function):
    @tf.function
    def f(x):
        for _ in tf.range(2):
            if x < 100.0:
                x = function(x)
        return x

    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == pytest.approx(np.e)


def test_a_derivative_of_too_high_an_order_says_which_there_are():
    x = tf.constant(1.0)
    run = _slope(tf.function(grow), 9)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"grow uses grow itself.*up to order"):
        run(x)


@tf.custom_gradient
def _sine(x):
    return tf.sin(x), lambda dy: dy * _cosine(x)


@tf.custom_gradient
def _cosine(x):
    return tf.cos(x), lambda dy: -dy * _sine(x)


@pytest.mark.parametrize("order", range(5))
def test_functions_whose_gradients_use_one_another_have_derivatives(order):
    x = tf.constant(1.0)
    due = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)][order % 4](1.0)
    assert float(tf.function(_slope(_sine, order))(x)) == pytest.approx(due)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: tf.vectorized_map(grow, tf.stack([x, x]))[0],
        lambda x: tf.function(grow)(x),
        lambda x: tf.map_fn(grow, tf.stack([x, x]))[0],
        lambda x: tf.recompute_grad(grow)(x),
    ],
    ids=["many examples", "a function", "a loop", "computed again"],
)
def test_they_may_be_used_in_other_transformations(change):
    assert float(tf.function(_slope(change, 1))(tf.constant(1.0))) == pytest.approx(np.e)
    with tf.autodiff.ForwardAccumulator(x := tf.constant(1.0), tf.constant(1.0)) as forward:
        y = tf.function(change)(x)
    assert float(forward.jvp(y)) == pytest.approx(np.e)


def test_a_function_with_such_a_gradient_is_saved_with_its_derivatives(tmp_path):
    module = tf.Module()
    module.grow = tf.function(grow, input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for order in range(4):
        assert float(_slope(loaded.grow, order)(tf.constant(1.0))) == pytest.approx(np.e)


def test_different_functions_that_use_one_another_are_not_limited():
    def layer(below):
        @tf.custom_gradient
        def f(x):
            return below(x), lambda dy: dy * below(x)

        return f

    functions = [tf.exp]
    for _ in range(3):
        functions.append(layer(functions[-1]))
    assert float(_slope(tf.function(functions[-1]), 1)(tf.constant(1.0))) == pytest.approx(np.e)


def test_a_registered_gradient_may_use_the_operation_that_it_is_of():
    @tf.RegisterGradient("TestExpOfItself")
    def _(op, dy):
        return dy * _with_override(op.inputs[0])

    def _with_override(x):
        with tf.compat.v1.get_default_graph().gradient_override_map({"Exp": "TestExpOfItself"}):
            return tf.exp(x)

    assert float(_slope(tf.function(_with_override), 1)(tf.constant(1.0))) == pytest.approx(np.e)
