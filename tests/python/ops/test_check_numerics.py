"""Checks of every operation for infinities and NaN."""

import math

import pytest

import penstock as tf


@pytest.fixture
def checking():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


@pytest.mark.usefixtures("checking")
def test_eager_operations_are_checked():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"result of log .*Inf.* at \[1\]"):
        tf.math.log(tf.constant([1.0, 0.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="result of div"):
        tf.constant(1.0) / tf.constant(0.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"result of sqrt .*NaN.* at \[0,1\]"):
        tf.sqrt(tf.constant([[1.0, -1.0], [-1.0, 1.0]]))
    assert math.isinf(tf.constant(math.inf).numpy())
    assert (tf.constant(1) + 1).numpy() == 2
    assert tf.sqrt(tf.zeros([0])).shape == [0]


def test_functions_are_checked_from_the_next_call_on():
    @tf.function
    def f(x):
        y = tf.math.log(x)  # the line
        return tf.exp(y)

    assert f(tf.constant([1.0, 0.0])).numpy().tolist() == [1.0, 0.0]
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"result of log .* at \[1\]") as caught:
            f(tf.constant([1.0, 0.0]))
        line = f.python_function.__code__.co_firstlineno + 2
        assert f'test_check_numerics.py", line {line}' in str(caught.value)
        assert f(tf.constant([1.0, 1.0])).numpy().tolist() == [1.0, 1.0]
    finally:
        tf.debugging.disable_check_numerics()
    assert f(tf.constant([1.0, 0.0])).numpy().tolist() == [1.0, 0.0]
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.usefixtures("checking")
def test_branches_loops_and_gradients_are_checked():
    @tf.function
    def loop(x):
        for _ in tf.range(200):
            x = x * x
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match="result of mul"):
        loop(tf.constant(2.0))
    assert loop(tf.constant(1.0)).numpy() == 1.0

    @tf.function
    def branch(x):
        return tf.cond(x > 0.0, lambda: tf.sqrt(x), lambda: tf.math.log(x))

    assert branch(tf.constant(4.0)).numpy() == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="result of log"):
        branch(tf.constant(-1.0))

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sqrt(x)
        return tape.gradient(y, x)

    with pytest.raises(tf.errors.InvalidArgumentError, match="result of"):
        gradient(tf.constant(0.0))


@pytest.mark.usefixtures("checking")
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.complex64, tf.complex128])
def test_every_dtype_with_a_nan_is_checked(dtype):
    x = tf.constant([1.0, 2.0, 0.0], dtype)
    one = tf.constant(1.0, dtype)
    reciprocal = tf.function(lambda v: tf.constant(1.0, dtype) / v)
    for f in (lambda v: one / v, reciprocal):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"result of div .* at \[2\]"):
            f(x)
        assert bool(tf.reduce_all(f(x[:2]) == tf.constant([1.0, 0.5], dtype)))


@pytest.mark.parametrize("bad", [complex(0, math.nan), complex(math.inf, 0), complex(0, -math.inf)])
def test_either_part_of_a_complex_number_counts(bad):
    x = tf.constant([1.0 + 1.0j, bad])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"message .* at \[1\]"):
        tf.debugging.check_numerics(x, "message")
    assert tf.debugging.check_numerics(x[:1], "message").numpy().tolist() == [1.0 + 1.0j]
