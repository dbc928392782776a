"""Operators of TensorFlow that are functions of `tf` too."""

import numpy as np
import pytest

import penstock as tf

RANDOM = np.random.default_rng(3)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def test_transforms_are_those_of_numpy():
    real = numbers(4, 6)
    values = real.astype("complex64")
    np.testing.assert_allclose(tf.fftnd(values, [4, 6], [0, 1]), np.fft.fftn(values), atol=1e-4)
    np.testing.assert_allclose(tf.ifftnd(values, [4, 6], [0, 1]), np.fft.ifftn(values), atol=1e-5)
    np.testing.assert_allclose(tf.rfftnd(real, [3, 8], [0, 1]), np.fft.rfftn(real, [3, 8], [0, 1]), atol=1e-4)
    half = np.fft.rfftn(real).astype("complex64")
    np.testing.assert_allclose(tf.irfftnd(half, [4, 6], [0, 1]), real, atol=1e-5)
    assert tf.rfftnd(real.astype("float64"), [4, 6], [0, 1], tf.complex128).dtype == tf.complex128
    assert tf.irfftnd(half.astype("complex128"), [4, 6], [0, 1], Treal=tf.float64).dtype == tf.float64


def test_convolutions_of_two_and_three_dimensions():
    images, filters = numbers(2, 5, 6, 3), numbers(2, 2, 3, 4)
    expected = tf.nn.conv2d(images, filters, [1, 2, 1, 1], "SAME")
    np.testing.assert_allclose(tf.conv(images, filters, [1, 2, 1, 1], "SAME"), expected, rtol=1e-5)
    volumes, filters = numbers(2, 3, 4, 5, 2), numbers(2, 2, 2, 2, 3)
    expected = tf.nn.conv3d(volumes, filters, [1] * 5, "VALID")
    np.testing.assert_allclose(tf.conv(volumes, filters, [1] * 5, "VALID"), expected, rtol=1e-5)
    batches, filters = numbers(2, 3, 5, 6, 3), numbers(2, 2, 3, 4)
    found = tf.conv(batches, filters, [1, 1, 1, 1], "VALID", batch_dims=2)
    expected = tf.nn.conv2d(batches.reshape(6, 5, 6, 3), filters, 1, "VALID").numpy().reshape(2, 3, 4, 5, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_convolutions_say_how_many_strides_there_must_be():
    with pytest.raises(tf.errors.InvalidArgumentError, match="'strides' must have 4 or 5 elements, got 3"):
        tf.conv(numbers(1, 3, 3, 1), numbers(2, 2, 1, 1), [1, 1, 1], "VALID")


def test_gradients_of_convolutions_are_those_of_the_tape():
    images, filters = tf.constant(numbers(2, 5, 6, 3)), tf.constant(numbers(2, 2, 3, 4))
    with tf.GradientTape() as tape:
        tape.watch([images, filters])
        y = tf.nn.conv2d(images, filters, 1, "SAME")
    upstream = tf.constant(numbers(*y.shape))
    by_images, by_filters = tape.gradient(y, [images, filters], upstream)
    arguments = (upstream, [1, 1, 1, 1], "SAME")
    zeros = tf.zeros_like(images)
    np.testing.assert_allclose(
        tf.conv2d_backprop_input_v2(zeros, filters, *arguments), by_images, rtol=1e-4, atol=1e-5
    )
    zeros = tf.zeros_like(filters)
    np.testing.assert_allclose(
        tf.conv2d_backprop_filter_v2(images, zeros, *arguments), by_filters, rtol=1e-4, atol=1e-5
    )


def test_no_tensor_is_pinned():
    expected = tf.errors.FailedPreconditionError
    if tf.config.list_physical_devices("GPU"):
        expected = tf.errors.InvalidArgumentError
    with pytest.raises(expected, match="'tensor'"):
        tf.check_pinned(tf.constant(1.0))
