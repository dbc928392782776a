"""Images against results of TensorFlow 2.21."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

HERE = Path(__file__).parent
_LOADED = runpy.run_path(str(HERE / "cases.py"))
CASES, PHOTO = _LOADED["CASES"], _LOADED["PHOTO"]
DUE = np.load(HERE / "tensorflow.npz")


def _check(name: str, got: Any) -> None:
    due = DUE[name]
    assert got.dtype == due.dtype
    if due.dtype.kind == "f":
        np.testing.assert_allclose(got, due, rtol=2e-5, atol=2e-5)
    else:
        # The last bit of a product may round the other way.
        assert np.abs(got.astype(int) - due.astype(int)).max() <= 1


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_tensorflow(name: str) -> None:
    _check(name, CASES[name](tf).numpy())


@pytest.mark.parametrize("name", [n for n in CASES if "True" not in n])
def test_functions_give_what_calls_give(name: str) -> None:
    _check(name, tf.function(lambda: CASES[name](tf))().numpy())


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "area", "lanczos3"])
def test_sizes_that_only_the_call_knows(method: str) -> None:
    @tf.function(
        input_signature=[tf.TensorSpec([None, None, None, 3], tf.float32), tf.TensorSpec([2], tf.int32)]
    )
    def resized(x: Any, size: Any) -> Any:
        return tf.image.resize(x, size, method)

    for size in ((4, 5), (13, 17)):
        _check(f"resize {method} {size} False", resized(PHOTO, size).numpy())


def test_parts_of_images_of_unknown_size() -> None:
    spec = tf.TensorSpec([None, None, None, 3], tf.float32)

    def check(name: str, function: Any) -> None:
        _check(name, tf.function(function, input_signature=[spec])(PHOTO).numpy())

    check("pad", lambda x: tf.image.resize_with_pad(x, 20, 20))
    check("crop or pad", lambda x: tf.image.resize_with_crop_or_pad(x, 6, 15))
    check("crop or pad odd", lambda x: tf.image.resize_with_crop_or_pad(x, 12, 5))
    check("central", lambda x: tf.image.central_crop(x, 0.5))
    check("rot90 1", tf.image.rot90)
    check("sobel", tf.image.sobel_edges)
    check("standard", tf.image.per_image_standardization)
    check(
        "patches SAME (2, 3) (1, 1)",
        lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 3, 1], [1, 1, 1, 1], "SAME"),
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.image.resize(x, (4, 5), "bicubic"),
        lambda x: tf.image.resize(x, (13, 17), "lanczos3", antialias=True),
        lambda x: tf.image.resize(x, (4, 5), "area"),
        tf.image.rgb_to_hsv,
        lambda x: tf.image.adjust_hue(x, 0.2),
        lambda x: tf.image.adjust_contrast(x, 1.7),
        tf.image.per_image_standardization,
        tf.image.sobel_edges,
        lambda x: tf.image.ssim(x, x[::-1], 1.0, filter_size=5),
        lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 3, 1], [1, 1, 1, 1], "SAME"),
    ],
)
def test_gradients_are_differences(function: Any) -> None:
    x = tf.constant(PHOTO)
    toward = tf.constant(np.random.default_rng(1).standard_normal(PHOTO.shape).astype(np.float32))

    def weighed(x: Any) -> Any:
        y = function(x)
        return tf.reduce_sum(y * tf.cos(tf.reshape(tf.range(tf.cast(tf.size(y), tf.float32)), tf.shape(y))))

    with tf.GradientTape() as tape:
        tape.watch(x)
        total = weighed(x)
    slope = tf.reduce_sum(tape.gradient(total, x) * toward).numpy()
    step = 1e-4
    due = (weighed(x + toward * step) - weighed(x - toward * step)).numpy() / (2 * step)
    np.testing.assert_allclose(slope, due, rtol=0.02, atol=0.2)


def test_gradients_of_colourless_pixels_are_finite() -> None:
    x = tf.zeros([1, 2, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.image.rgb_to_hsv(x)
    assert np.isfinite(tape.gradient(y, x).numpy()).all()


def test_arguments_that_do_not_fit_are_named() -> None:
    for call, argument in (
        (lambda: tf.image.resize(PHOTO, (0, 2)), "size"),
        (lambda: tf.image.resize(PHOTO, (1, 2, 3)), "size"),
        (lambda: tf.image.resize(PHOTO, (2, 2), "cubist"), "method"),
        (lambda: tf.image.resize(PHOTO[0, 0], (2, 2)), "images"),
        (lambda: tf.image.crop_to_bounding_box(PHOTO, 5, 0, 5, 1), "target_height"),
        (lambda: tf.image.pad_to_bounding_box(PHOTO, 0, 2, 9, 13), "target_width"),
        (lambda: tf.image.central_crop(PHOTO, 1.5), "central_fraction"),
        (lambda: tf.image.rgb_to_hsv(PHOTO[..., :2]), "images"),
        (lambda: tf.image.random_hue(PHOTO, 0.7), "max_delta"),
        (lambda: tf.image.random_contrast(PHOTO, 0.7, 0.7), "upper"),
        (lambda: tf.image.random_crop(PHOTO, (3, 1, 1, 1)), "size"),
        (lambda: tf.image.psnr(PHOTO, PHOTO[:, 1:], 1.0), "'a'"),
        (lambda: tf.image.extract_patches(PHOTO, [2, 2], [1] * 4, [1] * 4, "SAME"), "sizes"),
    ):
        with pytest.raises(ValueError, match=argument):
            call()


def test_turns_and_fractions_may_be_known_only_when_a_function_runs() -> None:
    x = tf.reshape(tf.range(24.0), [2, 4, 3])
    batch = tf.stack([x, -x])
    turned = tf.function(lambda image, k: tf.image.rot90(image, k))
    for dtype in (tf.int32, tf.int64):
        for k in range(-2, 7):
            np.testing.assert_array_equal(turned(x, tf.constant(k, dtype)), np.rot90(x, k))
            np.testing.assert_array_equal(turned(batch, tf.constant(k, dtype)), np.rot90(batch, k, (1, 2)))
    for k in (1.5, tf.constant(1.5), tf.constant([1, 2])):
        with pytest.raises(TypeError, match="argument 'k' must be an integer"):
            turned(x, k)

    square = tf.reshape(tf.range(36.0), [6, 6, 1])
    middle = tf.function(lambda part: tf.image.central_crop(square, part))
    for part in (0.3, 0.5, 1.0):
        np.testing.assert_array_equal(middle(tf.constant(part)), tf.image.central_crop(square, part))

    cut = tf.function(
        lambda size: tf.image.random_crop(square, size), input_signature=[tf.TensorSpec([None], tf.int32)]
    )
    assert cut([2, 3, 1]).shape == (2, 3, 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.image.resize_with_crop_or_pad(x, 14, 15),
        lambda x: tf.image.resize_with_pad(x, 14, 15),
        lambda x: tf.image.pad_to_bounding_box(x, 1, tf.shape(x)[-1], 14, 15),
    ],
)
@pytest.mark.parametrize("shape", [[12, 12, 3], [None, None, 3], [None, 12, 12, None]])
def test_sizes_that_are_asked_for_are_known_in_a_graph(function, shape) -> None:
    (found,) = tf.nest.flatten(
        tf.function(function).get_concrete_function(tf.TensorSpec(shape)).output_shapes
    )
    assert found.as_list() == [*shape[:-3], 14, 15, shape[-1]]


@pytest.mark.parametrize("shape", [[2, 12, 9, 3], [None, None, None, 3]])
def test_patches_have_as_many_channels_in_a_graph(shape) -> None:
    def patches(x):
        return tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")

    concrete = tf.function(patches).get_concrete_function(tf.TensorSpec(shape))
    assert concrete.output_shapes.as_list() == [*shape[:3], 12]
