"""`fit`, `evaluate` and `predict`: where data comes from, and how steps are run."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras
layers = keras.layers


def linear(steps=1, **options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input([3]), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse", steps_per_execution=steps, metrics=["mae"], **options)
    return model


@pytest.fixture(scope="module")
def plane():
    x = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    return x, x @ np.array([[1.0], [2.0], [-1.0]], np.float32)


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return self.x[10 * i : 10 * i + 10], self.y[10 * i : 10 * i + 10]


def generated(x, y):
    while True:
        for i in range(10):
            yield x[10 * i : 10 * i + 10], y[10 * i : 10 * i + 10]


SOURCES = {
    "arrays": lambda x, y: {"x": x, "y": y, "batch_size": 10, "shuffle": False},
    "tensors": lambda x, y: {"x": tf.constant(x), "y": tf.constant(y), "batch_size": 10, "shuffle": False},
    "a data set": lambda x, y: {"x": tf.data.Dataset.from_tensor_slices((x, y)).batch(10)},
    "a PyDataset": lambda x, y: {"x": Batches(x, y), "shuffle": False},
    "a generator": lambda x, y: {"x": generated(x, y), "steps_per_epoch": 10},
}


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_training(plane, source, steps):
    expected = linear().fit(*plane, batch_size=10, shuffle=False, epochs=3, verbose=0).history
    found = linear(steps).fit(**SOURCES[source](*plane), epochs=3, verbose=0).history
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


ARRAYS = {
    "read-only": read_only,
    "column by column": np.asfortranarray,
    "every second of a larger one": lambda array: np.repeat(array, 2, axis=0)[::2],
    "of the other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "of 64 bits": lambda array: array.astype(np.float64),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_in_every_layout_give_the_same_training(plane, kind):
    expected = linear().fit(*plane, batch_size=10, shuffle=False, verbose=0).history
    found = linear().fit(*map(ARRAYS[kind], plane), batch_size=10, shuffle=False, verbose=0).history
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)


def test_arrays_are_read_anew_by_each_call(plane):
    x, y = (array.copy() for array in plane)
    model = linear()
    before = model.evaluate(x, y, verbose=0)[0]
    x[:], y[:] = 0, 3
    model.layers[0].set_weights([np.zeros([3, 1]), np.zeros([1])])
    assert before != model.evaluate(x, y, verbose=0)[0] == 9


def test_steps_that_are_left_over_are_run(plane):
    expected = linear().fit(*plane, batch_size=12, shuffle=False, epochs=3, verbose=0).history
    found = linear(4).fit(*plane, batch_size=12, shuffle=False, epochs=3, verbose=0).history
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-4)


def test_eager_steps_give_the_same_training(plane):
    expected = linear().fit(*plane, batch_size=10, shuffle=False, epochs=2, verbose=0).history
    found = linear(run_eagerly=True).fit(*plane, batch_size=10, shuffle=False, epochs=2, verbose=0).history
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-4)


def test_shuffled_epochs_see_every_row_once(plane):
    seen = []

    class Seeing(keras.Sequential):
        def train_step(self, data):
            tf.py_function(lambda x: seen.extend(x.numpy()[:, 0].tolist()), [data[0]], [])
            return super().train_step(data)

    x, y = plane
    model = Seeing([keras.Input([3]), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=32, epochs=2, verbose=0)
    assert sorted(seen[:100]) == sorted(x[:, 0].tolist()) == sorted(seen[100:])
    assert seen[:100] != seen[100:]


def test_a_step_is_traced_once_for_whole_batches_and_once_for_the_rest(plane):
    traces = []

    class Counting(keras.Sequential):
        def train_step(self, data):
            traces.append(data[0].shape)
            return super().train_step(data)

    model = Counting([keras.Input([3]), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(*plane, batch_size=32, epochs=4, verbose=0)
    assert len(traces) == 2


def test_class_and_sample_weights_and_validation_split(plane):
    x, y = plane
    labels = (y[:, 0] > 0).astype(np.int32)
    model = keras.Sequential([keras.Input([3]), layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", weighted_metrics=["accuracy"])
    history = model.fit(
        x, labels, epochs=20, validation_split=0.2, class_weight={0: 1.0, 1: 3.0}, verbose=0
    ).history
    assert history["val_accuracy"][-1] > 0.8
    weights = np.zeros(100, np.float32)
    weights[:10] = 1
    weighted = model.evaluate(x, labels, sample_weight=weights, verbose=0, return_dict=True)["loss"]
    alone = model.evaluate(x[:10], labels[:10], verbose=0, return_dict=True)["loss"]
    np.testing.assert_allclose(weighted * 10, alone, rtol=1e-4)


@pytest.mark.parametrize("form", ["numbers", "a column of numbers", "one-hot rows"])
def test_class_weights_of_a_data_set_are_those_of_arrays(plane, form):
    x = plane[0]
    labels = (3 * (x[:, 0] > 0) + (x[:, 1] > 0)) // 2

    def trained(*data, loss="sparse_categorical_crossentropy", **options):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input([3]), layers.Dense(3, activation="softmax")])
        model.compile("sgd", loss)
        options = {"class_weight": {0: 1.0, 1: 2.0, 2: 5.0}, "shuffle": False, "verbose": 0, **options}
        return model.fit(*data, **options).history["loss"]

    targets = {
        "numbers": labels,
        "a column of numbers": labels[:, None],
        "one-hot rows": np.eye(3, dtype=np.float32)[labels],
    }[form]
    loss = "categorical_crossentropy" if form == "one-hot rows" else "sparse_categorical_crossentropy"
    found = trained(tf.data.Dataset.from_tensor_slices((x, targets)).batch(10), loss=loss)
    np.testing.assert_allclose(found, trained(x, labels, batch_size=10), rtol=1e-5)


def test_losses_of_outputs_add_up_where_the_last_batch_is_smaller(plane):
    inputs = keras.Input([3])
    model = keras.Model(
        inputs, {"p": layers.Dense(1, name="p")(inputs), "q": layers.Dense(1, name="q")(inputs)}
    )
    x, y = plane
    for batches in ({"x": x, "y": {"p": y, "q": 2 * y}, "batch_size": 30},) * 2 + (
        {"x": tf.data.Dataset.from_tensor_slices((x, {"p": y, "q": 2 * y})).batch(30)},
    ):
        model.compile(keras.optimizers.SGD(0.01), {"p": "mse", "q": "mse"}, loss_weights={"p": 0.5, "q": 2.0})
        history = model.fit(**batches, epochs=2, verbose=0).history
        found = [0.5 * p + 2 * q for p, q in zip(history["p_loss"], history["q_loss"], strict=True)]
        np.testing.assert_allclose(found, history["loss"], rtol=1e-5)


def test_variables_of_an_optimizer_have_its_name_whether_it_is_built_by_fit_or_a_step(plane):
    names = []
    for run_eagerly in (True, False):
        keras.backend.clear_session()
        model = keras.Sequential([keras.Input([3]), layers.Dense(1)])
        model.compile("nadam", "mse", run_eagerly=run_eagerly)
        model.fit(*plane, verbose=0)
        names.append([v.path for v in model.optimizer.variables])
    assert names[0] == names[1]
    assert all(name.startswith("nadam/") for name in names[0])


def test_missing_targets_are_named(plane):
    with pytest.raises(ValueError, match=r"None values not supported\. .*argument 'y'"):
        linear().fit(plane[0], verbose=0)


def test_missing_logs_are_named(plane):
    class Forgetful(keras.Sequential):
        def train_step(self, data):
            super().train_step(data)

    model = Forgetful([keras.Input([3]), layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(TypeError, match=r"train_step\(\) must return a dict of logs.* got None"):
        model.fit(*plane, verbose=0)


@pytest.mark.parametrize("loss", ["categorical_crossentropy", "binary_crossentropy"])
def test_targets_of_another_rank_are_refused_by_it(plane, loss):
    model = keras.Sequential([keras.Input([3]), layers.Dense(3, activation="softmax")])
    model.compile("sgd", loss)
    with pytest.raises(ValueError, match=r"same rank \(ndim\)"):
        model.fit(plane[0], np.zeros(100, np.int32), verbose=0)


def test_a_data_set_is_split_in_two(plane):
    left, right = keras.utils.split_dataset(tf.data.Dataset.from_tensor_slices(plane), left_size=0.3)
    assert len(left) == 30
    rows = [x.numpy() for part in (left, right) for x, _ in part]
    np.testing.assert_array_equal(rows, plane[0])


def test_gradients_are_accumulated_and_weights_averaged(plane):
    optimizer = keras.optimizers.SGD(0.1, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5)
    model = keras.Sequential([keras.Input([3]), layers.Dense(1)])
    model.compile(optimizer, "mse")
    before = model.layers[0].kernel.numpy()
    model.train_on_batch(*plane)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before)
    model.train_on_batch(*plane)
    assert (model.layers[0].kernel.numpy() != before).any()
    history = model.fit(*plane, epochs=10, batch_size=10, verbose=0).history
    assert history["loss"][-1] < 0.1


def test_callbacks_stop_and_schedule(plane):
    rates = []
    callbacks = [
        keras.callbacks.EarlyStopping(monitor="loss", min_delta=1.0, patience=1),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2),
        keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: rates.append(logs["learning_rate"])),
    ]
    history = linear().fit(*plane, epochs=20, verbose=0, callbacks=callbacks)
    assert len(history.epoch) < 20
    np.testing.assert_allclose(rates, [0.1 / 2 ** (k + 1) for k in range(len(rates))], rtol=1e-6)


class OfBatches(keras.callbacks.Callback):
    """Lists the batches that it is told of."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def on_batch_begin(self, batch, logs=None):
        self.heard.append(("train begins", batch))

    def on_train_batch_end(self, batch, logs=None):
        self.heard.append(("trained", batch, sorted(logs)))

    def on_test_batch_end(self, batch, logs=None):
        self.heard.append(("tested", batch))

    def on_predict_batch_begin(self, batch, logs=None):
        self.heard.append(("prediction begins", batch))


def test_callbacks_are_told_of_each_batch(plane):
    model, callback = linear(), OfBatches()
    model.fit(*plane, batch_size=50, verbose=0, callbacks=[callback])
    model.evaluate(*plane, batch_size=50, verbose=0, callbacks=[callback])
    model.predict(plane[0], batch_size=50, verbose=0, callbacks=[callback])
    logs = ["loss", "mae"]
    assert callback.heard == [
        ("train begins", 0),
        ("trained", 0, logs),
        ("train begins", 1),
        ("trained", 1, logs),
        ("tested", 0),
        ("tested", 1),
        ("prediction begins", 0),
        ("prediction begins", 1),
    ]


def test_batches_are_profiled_where_the_tensorboard_callback_is_told_to(tmp_path):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback = keras.callbacks.TensorBoard(str(tmp_path), profile_batch=(2, 3))
    model.fit(np.ones((32, 3)), np.ones((32, 1)), batch_size=8, verbose=0, callbacks=[callback])
    (page,) = tmp_path.glob("train/plugins/profile/*/profile.html")
    assert "Profiled batch" in page.read_text(encoding="utf-8")


def test_predictions_of_different_lengths_become_ragged():
    model = keras.Sequential([keras.Input([None, 1]), layers.Lambda(lambda x: 2 * x)])
    batches = [np.ones([2, 3, 1], np.float32), np.ones([1, 2, 1], np.float32)]
    result = model.predict(((batch,) for batch in batches), steps=2, verbose=0)
    assert isinstance(result, tf.RaggedTensor)
    assert result.row_lengths().numpy().tolist() == [3, 3, 2]


@pytest.mark.skipif(
    keras.__version__ >= "3.16", reason="Keras 3.16 takes it for the end of an epoch of unknown length"
)
def test_an_empty_source_is_warned_of():
    model = linear()
    with pytest.warns(UserWarning, match="ran out of data"):
        model.evaluate(np.zeros([0, 3], np.float32), np.zeros([0, 1], np.float32), verbose=0)


def test_a_wrong_number_of_targets_names_both_numbers(plane):
    x, y = plane
    with pytest.raises(ValueError, match=r"100.*99|cardinality"):
        linear().fit(x, y[:99], verbose=0)
