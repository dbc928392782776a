"""Objects that hold a variable as their handle, as Keras's variables do, are sources of gradients."""

import pytest

import penstock as tf


class Held:
    def __init__(self, value):
        self.handle = tf.Variable(value)

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.convert_to_tensor(self.handle, dtype=dtype)


def test_a_gradient_by_an_object_is_the_gradient_by_its_handle():
    held = Held(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.square(held)
    assert tape.gradient(y, held).numpy() == 6.0
    assert tape.gradient(y, {"w": held})["w"].numpy() == 6.0
    assert tape.jacobian(y, [held])[0].numpy() == 6.0


def test_an_object_is_watched_by_its_handle():
    held = Held(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([held])
        y = tf.square(held)
    assert tape.gradient(y, held.handle).numpy() == 6.0


def test_tf_gradients_and_accumulators_take_objects():
    held = Held(3.0)

    @tf.function
    def slope():
        return tf.gradients(tf.square(held), held)[0]

    assert slope().numpy() == 6.0
    with tf.autodiff.ForwardAccumulator(held, tf.constant(2.0)) as accumulator:
        y = tf.square(held)
    assert accumulator.jvp(y).numpy() == 12.0


def test_an_object_without_a_variable_behind_it_is_an_error():
    class Bare:
        handle = 3

    with tf.GradientTape() as tape:
        y = tf.constant(1.0)
    with pytest.raises(TypeError, match="argument 'sources' must hold tensors or variables, got Bare"):
        tape.gradient(y, Bare())
