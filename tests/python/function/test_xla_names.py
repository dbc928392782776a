"""`tf.xla.experimental`, which asks for what the engine does anyway."""

import pytest

import penstock as tf


def test_compile_gives_what_the_function_gives():
    compiled = tf.xla.experimental.compile
    assert float(compiled(lambda x: 2.0 * x, [3.0])[0]) == 6.0
    one, two = compiled(lambda x, y: (x + y, x - y), [tf.constant(5), tf.constant(2)])
    assert (int(one), int(two)) == (7, 3)
    assert compiled(lambda: None) is None


def test_compile_within_a_function_has_gradients():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            (y,) = tf.xla.experimental.compile(lambda x: x * x, [x])
        return tape.gradient(y, x)

    assert float(slope(tf.constant(3.0))) == 6.0


def test_compile_says_what_it_takes():
    with pytest.raises(TypeError, match="'computation'"):
        tf.xla.experimental.compile(3)
    with pytest.raises(TypeError, match="'inputs'"):
        tf.xla.experimental.compile(lambda x: x, 3.0)


def test_a_scope_changes_nothing():
    with tf.xla.experimental.jit_scope(compile_ops=False):
        assert float(tf.constant(2.0) * 3.0) == 6.0
