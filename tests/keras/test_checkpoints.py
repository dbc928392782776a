"""`tf.train.Checkpoint` of models of Keras, which are known by their attributes."""

import keras
import numpy as np

import penstock as tf


def made():
    layers = [keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((3,)), *layers])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return model


def test_a_model_and_its_optimiser_are_restored(tmp_path):
    x, y = np.ones([8, 3], "float32"), np.ones([8, 2], "float32")
    model = made()
    model.fit(x, y, verbose=0)
    path = tf.train.Checkpoint(model=model).save(tmp_path / "ckpt")
    other = made()
    tf.train.Checkpoint(model=other).restore(path).assert_consumed()
    np.testing.assert_array_equal(other(x), model(x))
    assert int(other.optimizer.iterations) == 1
    for one in (model, other):
        one.fit(x, y, verbose=0)
    np.testing.assert_array_equal(other(x), model(x))


def test_the_keys_are_those_of_keras_on_tensorflow(tmp_path):
    path = tf.train.Checkpoint(model=made()).write(tmp_path / "ckpt")
    keys = [key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for key, _ in tf.train.list_variables(path)]
    assert "model/_layers/1/_kernel" in keys
    assert "model/_layers/2/moving_mean" in keys
    assert "model/optimizer/_iterations" in keys
    assert "model/optimizer/_variables/2" in keys


def test_the_steps_of_an_optimiser_are_written_in_64_bits_as_on_tensorflow(tmp_path):
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    optimizer.build([keras.Variable([1.0])])
    path = tf.train.Checkpoint(optimizer=optimizer).write(tmp_path / "ckpt")
    dtypes = tf.train.load_checkpoint(path).get_variable_to_dtype_map()
    integers = {key: dtype for key, dtype in dtypes.items() if dtype.is_integer}
    assert any("_iterations" in key for key in integers)
    assert set(integers.values()) == {tf.int64}
    tf.train.Checkpoint(optimizer=optimizer).restore(path).assert_consumed()
