"""Models of each style are trained to a stated accuracy."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
layers = keras.layers


def dense_network():
    return keras.Sequential(
        [layers.Flatten(), layers.Dense(64, activation="relu"), layers.Dense(10, activation="softmax")]
    )


def trained(model, data, epochs=12, **options):
    (x, y), test = data
    model.compile(
        keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"], **options
    )
    model.fit(x, y, batch_size=64, epochs=epochs, verbose=0)
    return model.evaluate(*test, verbose=0)[1]


def test_a_sequential_model_learns_digits(digits):
    assert trained(dense_network(), digits) > 0.94


def test_a_functional_model_with_a_shortcut_learns_digits(digits):
    inputs = keras.Input([8, 8, 1])
    flat = layers.Flatten()(inputs)
    hidden = layers.Dense(64, activation="relu")(flat)
    joined = layers.Concatenate()([hidden, flat])
    outputs = layers.Dense(10, activation="softmax")(layers.LayerNormalization()(joined))
    model = keras.Model(inputs, outputs)
    assert model.output_shape == (None, 10)
    assert trained(model, digits) > 0.94


def test_a_subclassed_model_learns_digits(digits):
    class Network(keras.Model):
        def __init__(self):
            super().__init__()
            self.flatten = layers.Flatten()
            self.hidden = layers.Dense(64, activation="relu")
            self.dropout = layers.Dropout(0.1)
            self.out = layers.Dense(10, activation="softmax")

        def call(self, x, training=False):
            return self.out(self.dropout(self.hidden(self.flatten(x)), training=training))

    assert trained(Network(), digits) > 0.93


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_convnet_learns_digits_in_mixed_precision(digits, policy):
    keras.config.set_dtype_policy(policy)
    try:
        model = keras.Sequential(
            [
                layers.Conv2D(16, 3, padding="same", activation="relu"),
                layers.BatchNormalization(),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dense(10, activation="softmax", dtype="float32"),
            ]
        )
        assert trained(model, digits, epochs=8) > 0.9
        assert model.layers[0].compute_dtype == policy.removeprefix("mixed_")
        assert model.layers[0].kernel.dtype == "float32"
    finally:
        keras.config.set_dtype_policy("float32")


def test_a_convnet_learns_the_same_with_channels_first_and_last(digits):
    (x, y), _ = digits
    predictions = []
    for data_format in ("channels_last", "channels_first"):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [
                layers.Conv2D(8, 3, activation="relu", data_format=data_format),
                layers.DepthwiseConv2D(3, data_format=data_format),
                layers.GlobalAveragePooling2D(data_format=data_format),
                layers.Dense(10, activation="softmax"),
            ]
        )
        images = x if data_format == "channels_last" else x.transpose(0, 3, 1, 2)
        model.compile("sgd", "sparse_categorical_crossentropy")
        model.fit(images[:256], y[:256], epochs=2, shuffle=False, verbose=0)
        predictions.append(model.predict(images[:32], verbose=0))
    np.testing.assert_allclose(*predictions, rtol=1e-4, atol=1e-5)


def test_a_model_of_several_outputs_has_a_loss_and_metrics_for_each(digits):
    (x, y), (test_x, test_y) = digits
    inputs = keras.Input([8, 8, 1])
    hidden = layers.Dense(64, activation="relu")(layers.Flatten()(inputs))
    model = keras.Model(
        inputs,
        {
            "digit": layers.Dense(10, activation="softmax")(hidden),
            "odd": layers.Dense(1, activation="sigmoid")(hidden),
        },
    )
    model.compile(
        "adam",
        {"digit": "sparse_categorical_crossentropy", "odd": "binary_crossentropy"},
        loss_weights={"digit": 1.0, "odd": 0.5},
        metrics={"digit": ["accuracy"], "odd": ["accuracy"]},
    )
    history = model.fit(x, {"digit": y, "odd": y % 2}, epochs=25, batch_size=32, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    result = model.evaluate(test_x, {"digit": test_y, "odd": test_y % 2}, verbose=0, return_dict=True)
    assert result["digit_accuracy"] > 0.9
    assert result["odd_accuracy"] > 0.9


def test_a_custom_train_step_is_traced_and_trains(digits):
    steps = []

    class Network(keras.Model):
        def __init__(self):
            super().__init__()
            self.body = dense_network()
            self.seen = keras.metrics.Mean(name="loss")

        def call(self, x):
            return self.body(x)

        def train_step(self, data):
            steps.append(1)
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, self(x, training=True)))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.seen.update_state(loss)
            return {"loss": self.seen.result()}

        @property
        def metrics(self):
            return [self.seen]

    (x, y), (test_x, test_y) = digits
    model = Network()
    model.compile("adam")
    history = model.fit(x, y, batch_size=50, epochs=15, verbose=0)
    assert len(steps) <= 3
    assert history.history["loss"][-1] < 0.3
    accuracy = np.mean(model.predict(test_x, verbose=0).argmax(1) == test_y)
    assert accuracy > 0.9


def test_transfer_learning_keeps_the_frozen_layers(digits, tmp_path):
    (x, y), test = digits
    low, high = y < 5, y >= 5
    base = dense_network()
    base.compile("adam", "sparse_categorical_crossentropy")
    base.fit(x[low], y[low], epochs=5, verbose=0)
    base.save(tmp_path / "base.keras")

    body = keras.models.load_model(tmp_path / "base.keras")
    features = keras.Sequential(body.layers[:-1])
    features.trainable = False
    model = keras.Sequential([features, layers.Dense(10, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    before = [w.numpy() for w in features.weights]
    model.fit(x[high], y[high], epochs=20, batch_size=32, verbose=0)
    for was, now in zip(before, features.weights, strict=True):
        np.testing.assert_array_equal(was, now.numpy())
    seen = test[1] >= 5
    assert model.evaluate(test[0][seen], test[1][seen], verbose=0)[1] > 0.85
