"""Data sets that Keras makes of folders of files, and of series."""

import numpy as np
import pytest

import penstock as tf

keras = tf.keras


@pytest.fixture
def folder(tmp_path):
    """Writes files of two classes, `a` and `b`, and gives the folder that has them."""

    def write(contents):
        for name, files in contents.items():
            (tmp_path / name).mkdir()
            for i, content in enumerate(files):
                (tmp_path / name / f"{i}.{content[0]}").write_bytes(content[1])
        return tmp_path

    return write


def test_a_network_learns_images_in_folders(folder):
    rng = np.random.default_rng(0)

    def image(brightness):
        pixels = (rng.uniform(0, 60, [9, 7, 3]) + brightness).astype("uint8")
        return "png", tf.io.encode_png(pixels).numpy()

    path = folder({"a": [image(0) for _ in range(12)], "b": [image(190) for _ in range(12)]})
    train, validate = keras.utils.image_dataset_from_directory(
        path, image_size=(8, 8), batch_size=4, validation_split=0.25, subset="both", seed=1, verbose=False
    )
    assert train.class_names == validate.class_names == ["a", "b"]
    assert len(train) == 5
    assert train.element_spec[0].shape.as_list() == [None, 8, 8, 3]
    model = keras.Sequential([keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)])
    model.compile(
        keras.optimizers.Adam(0.02),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(train, shuffle=False, epochs=20, verbose=0)
    assert model.evaluate(validate, verbose=0)[1] == 1


def test_images_that_are_cut_to_the_ratio_are_floats_that_are_not_rounded(folder):
    pixels = (np.arange(9 * 7 * 3).reshape(9, 7, 3)).astype("uint8")
    path = folder({"a": [("png", tf.io.encode_png(pixels).numpy())]})
    data = keras.utils.image_dataset_from_directory(
        path, image_size=(4, 5), batch_size=1, crop_to_aspect_ratio=True, verbose=False
    )
    assert data.element_spec[0].dtype == tf.float32
    (image, _), *_ = data
    assert (image.numpy() % 1 != 0).any()
    resized = keras.ops.image.resize(pixels, (4, 5), crop_to_aspect_ratio=True)
    assert resized.dtype == tf.uint8
    np.testing.assert_array_equal(resized, np.round(image[0]).astype("uint8"))


def test_layers_that_look_up_ask_for_their_vocabulary():
    for layer, x in (
        (keras.layers.StringLookup(), ["a"]),
        (keras.layers.TextVectorization(), ["a b"]),
        (keras.layers.IntegerLookup(), [3]),
    ):
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Table not initialized.*adapt\(\)"):
            layer(np.array(x))
        layer.adapt(np.array(x))
        assert int(tf.reduce_max(layer(np.array(x)))) > 0


def test_texts_in_folders_are_vectorised(folder):
    path = folder({"a": [("txt", b"Good, good!")] * 3, "b": [("txt", b"Bad.")] * 3})
    texts = keras.utils.text_dataset_from_directory(path, batch_size=2, shuffle=False, verbose=False)
    assert texts.class_names == ["a", "b"]
    vectorize = keras.layers.TextVectorization(output_sequence_length=3)
    vectorize.adapt(texts.map(lambda text, label: text))
    assert vectorize.get_vocabulary() == ["", "[UNK]", "good", "bad"]
    rows = [
        (x.tolist(), int(y))
        for batch in texts.map(lambda x, y: (vectorize(x), y))
        for x, y in zip(*(part.numpy() for part in batch), strict=True)
    ]
    assert rows == [([2, 2, 0], 0)] * 3 + [([3, 0, 0], 1)] * 3


def test_sounds_in_folders_have_their_samples(folder):
    def sound(value):
        return "wav", tf.audio.encode_wav(tf.fill([20, 1], value), 8000).numpy()

    path = folder({"a": [sound(0.5)] * 2, "b": [sound(-0.25)] * 2})
    sounds = keras.utils.audio_dataset_from_directory(
        path, batch_size=1, shuffle=False, output_sequence_length=16, verbose=False
    )
    assert sounds.class_names == ["a", "b"]
    means = [float(tf.reduce_mean(x)) for x, _ in sounds]
    np.testing.assert_allclose(means, [0.5, 0.5, -0.25, -0.25], atol=1e-4)


def test_windows_of_a_series_come_with_what_follows():
    series = np.arange(10.0, dtype="float32")
    windows = keras.utils.timeseries_dataset_from_array(
        series[:-3], series[3:], sequence_length=3, batch_size=2
    )
    pairs = [(x.tolist(), y) for batch in windows for x, y in zip(*(p.numpy() for p in batch), strict=True)]
    assert pairs == [([i, i + 1, i + 2], i + 3) for i in range(5)]
