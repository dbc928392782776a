"""Models of Keras are written as models of ONNX."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
layers = keras.layers


def dense():
    hidden = [layers.Dense(8, "gelu"), layers.Dropout(0.5)]
    return keras.Sequential([keras.Input([6], name="x"), *hidden, layers.Dense(3)])


def convolutional():
    image = keras.Input([12, 12, 2], name="image")
    y = layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    y = layers.MaxPooling2D()(layers.BatchNormalization()(y))
    y = layers.Add()([y, layers.SeparableConv2D(4, 3, padding="same")(y)])
    y = layers.Conv2DTranspose(3, 3, 2, "same")(y)
    return keras.Model(image, layers.Dense(5, "softmax")(layers.GlobalAveragePooling2D()(y)))


def recurrent(layer):
    steps = keras.Input([7, 3], name="steps")
    return keras.Model(steps, layers.Dense(2)(layers.Bidirectional(layer(4, return_sequences=False))(steps)))


def transformer():
    tokens = keras.Input([6], dtype="int32", name="tokens")
    x = layers.Embedding(20, 8)(tokens)
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(tokens, layers.Dense(4, "tanh")(y))


MODELS = {
    "dense": dense,
    "convolutional": convolutional,
    "lstm": lambda: recurrent(layers.LSTM),
    "gru": lambda: recurrent(layers.GRU),
    "transformer": transformer,
}


def made(name):
    """A model, and an argument for it."""
    keras.utils.set_random_seed(1)
    model = MODELS[name]()
    generator = np.random.default_rng(0)
    shape = [3, *model.inputs[0].shape[1:]]
    if name == "transformer":
        return model, generator.integers(0, 20, shape).astype("int32")
    return model, generator.normal(size=shape).astype("float32")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_keras_is_written_and_read(name, tmp_path):
    model, x = made(name)
    tf.onnx.save(model, tmp_path / "model.onnx")
    read = tf.onnx.load(tmp_path / "model.onnx")
    assert list(read.inputs) == [model.inputs[0].name]
    np.testing.assert_allclose(read(x)["output_0"], model(x), rtol=1e-5, atol=1e-6)
