"""Models are saved, loaded, trained on, and exported to programs that need no Keras."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
layers = keras.layers


def model_of_everything():
    """A model with weights that train, weights that do not, and an optimizer with state."""
    model = keras.Sequential(
        [
            keras.Input([8, 8, 1]),
            layers.Conv2D(4, 3),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_training_goes_on_as_if_it_had_not_been_saved(digits, tmp_path, suffix):
    (x, y), _ = digits
    model = model_of_everything()
    model.fit(x[:256], y[:256], epochs=2, verbose=0)
    model.save(tmp_path / f"model{suffix}")
    loaded = keras.models.load_model(tmp_path / f"model{suffix}")
    np.testing.assert_array_equal(model.predict(x[:20], verbose=0), loaded.predict(x[:20], verbose=0))
    if suffix == ".keras":
        losses = []
        for each in (model, loaded):
            keras.utils.set_random_seed(9)
            losses.append(each.fit(x[:256], y[:256], epochs=2, verbose=0).history["loss"])
        np.testing.assert_allclose(*losses, rtol=1e-6)


def test_weights_alone_are_saved_and_loaded(digits, tmp_path):
    model, other = model_of_everything(), model_of_everything()
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    for ours, theirs in zip(model.weights, other.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@keras.saving.register_keras_serializable("tests")
class Scaled(layers.Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, shape):
        self.scale = self.add_weight(shape=shape[-1:], initializer="ones")

    def call(self, x):
        return x * self.scale * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


def test_a_layer_of_the_users_own_is_loaded_by_its_name(tmp_path):
    model = keras.Sequential([keras.Input([3]), Scaled(2.0)])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].factor == 2.0
    np.testing.assert_array_equal(loaded(np.ones([1, 3])), np.full([1, 3], 2.0))


def test_interrupted_training_is_taken_up_again(digits, tmp_path):
    (x, y), _ = digits

    class Interrupt(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                raise InterruptedError

    def fit(*more):
        keras.utils.set_random_seed(4)
        model = model_of_everything()
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
        return model.fit(x[:128], y[:128], epochs=4, verbose=0, callbacks=[backup, *more])

    with pytest.raises(InterruptedError):
        fit(Interrupt())
    assert fit().epoch == [2, 3]


def test_an_exported_model_is_served_without_keras(digits, tmp_path):
    x = digits[0][0][:6]
    model = model_of_everything()
    model.export(tmp_path / "served", verbose=False)
    served = tf.saved_model.load(tmp_path / "served")
    np.testing.assert_allclose(served.serve(x), model.predict(x, verbose=0), rtol=1e-6)
    program = tf.Program.load(tmp_path / "served" / "saved_model.penstock")
    (name,) = served.signatures["serving_default"].structured_input_signature[1]
    result = program.run("serving_default", **{name: tf.constant(x)})
    np.testing.assert_allclose(next(iter(result.values())), model.predict(x, verbose=0), rtol=1e-6)


@pytest.mark.parametrize("trained", [False, True])
def test_a_model_that_is_saved_as_an_object_is_served_by_default(trained, tmp_path):
    model = keras.Sequential([keras.Input([3]), layers.Dense(2)])
    if trained:
        model.compile("adam", "mse")
        model.fit(np.ones([4, 3]), np.ones([4, 2]), verbose=0)
        model.predict(np.ones([4, 3]), verbose=0)
    tf.saved_model.save(model, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    x = tf.random.stateless_normal([5, 3], seed=[1, 2])
    (result,) = loaded.signatures["serving_default"](inputs=x).values()
    np.testing.assert_allclose(result, model(x), rtol=1e-6)


def test_inputs_of_a_served_model_are_numbered_and_its_outputs_have_their_names(tmp_path):
    a, b = keras.Input([3], name="a"), keras.Input([2], name="b")
    tf.saved_model.save(keras.Model({"a": a, "b": b}, {"joined": layers.Concatenate()([a, b])}), tmp_path)
    serve = tf.saved_model.load(tmp_path).signatures["serving_default"]
    assert list(serve.structured_input_signature[1]) == ["inputs", "inputs_1"]
    found = serve(inputs=tf.ones([4, 3]), inputs_1=tf.zeros([4, 2]))
    np.testing.assert_array_equal(found["joined"], [[1, 1, 1, 0, 0]] * 4)


def test_nothing_is_served_of_a_model_without_inputs_or_of_a_layer(tmp_path):
    class Uncalled(keras.Model):
        def call(self, x):
            return x

    for number, value in enumerate([Uncalled(), layers.Dense(3)]):
        tf.saved_model.save(value, tmp_path / str(number))
        assert not tf.saved_model.load(tmp_path / str(number)).signatures


def test_an_archive_has_several_endpoints_and_collections_of_variables(tmp_path):
    model = keras.Sequential([keras.Input([3]), layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(np.ones([4, 3]), np.ones([4, 2]), verbose=0)
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint(
        "call", model.call, input_signature=[keras.InputSpec(shape=(None, 3), dtype="float32")]
    )
    archive.add_endpoint("twice", lambda x: 2 * model(x), input_signature=[tf.TensorSpec([None, 3])])
    archive.add_variable_collection("optimizer_variables", model.optimizer.variables)
    archive.write_out(tmp_path / "archive", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "archive")
    x = tf.ones([2, 3])
    np.testing.assert_allclose(loaded.twice(x), 2 * loaded.call(x).numpy())
    assert len(loaded.optimizer_variables) == len(model.optimizer.variables)
    with pytest.raises(ValueError, match="already taken"):
        archive.add_endpoint("call", model.call, input_signature=[tf.TensorSpec([None, 3])])


def test_what_cannot_be_exported_says_why(tmp_path):
    archive = keras.export.ExportArchive()
    with pytest.raises(ValueError, match="No endpoints"):
        archive.write_out(tmp_path / "archive")
    with pytest.raises(ValueError, match="not yet been built"):
        archive.track(layers.Dense(2))
    with pytest.raises(ValueError, match="input_signature"):
        archive.add_endpoint("call", lambda x: x)


def test_an_exported_model_is_a_layer_that_trains_on(digits, tmp_path):
    (x, y), _ = digits
    model = keras.Sequential([keras.Input([8, 8, 1]), layers.Flatten(), layers.Dense(10)])
    model.export(tmp_path / "exported", verbose=False)
    layer = layers.TFSMLayer(tmp_path / "exported")
    np.testing.assert_allclose(layer(x[:5]), model(x[:5]), rtol=1e-6)
    assert [tuple(w.shape) for w in layer.trainable_weights] == [(64, 10), (10,)]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trained = keras.Sequential([layer])
    trained.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    assert trained.fit(x, y, epochs=5, verbose=0).history["accuracy"][-1] > 0.9


def test_a_function_that_was_called_is_an_endpoint_with_its_table(tmp_path):
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    @tf.function
    def found(words):
        return table.lookup(words)

    found(tf.constant(["a"]))
    archive = keras.export.ExportArchive()
    archive.track(table)
    archive.add_endpoint("found", found)
    archive.write_out(tmp_path / "table", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "table")
    assert loaded.found(tf.constant(["b"])).numpy().tolist() == [2]
