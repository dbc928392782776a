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


def test_export_writes_a_model_of_onnx_with_an_input_for_each_tensor(tmp_path):
    a, b = keras.Input([3], name="a"), keras.Input([2], name="b")
    joined = layers.Dense(4)(layers.Concatenate()([a, b]))
    model = keras.Model({"b": b, "a": a}, [joined, layers.Activation("relu")(joined)])
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    read = tf.onnx.load(tmp_path / "model.onnx")
    rng = np.random.default_rng(0)
    given = {name: rng.normal(size=[5, n]).astype("float32") for name, n in (("a", 3), ("b", 2))}
    found = read(**given)
    for i, expected in enumerate(model(given)):
        np.testing.assert_allclose(found[f"output_{i}"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opset_version": 9}, "`opset_version` must be 21 with the penstock backend. Received: 9"),
        ({"other": 1}, "\\['other'\\] are not arguments of the export to ONNX"),
    ],
)
def test_options_of_the_export_to_onnx_that_there_are_not_are_errors(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        dense().export(tmp_path / "model.onnx", format="onnx", **options)
