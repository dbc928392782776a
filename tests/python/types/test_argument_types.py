"""Dtypes and shapes as types of arguments."""

import pytest

import penstock as tf


def test_a_dtype_covers_itself_alone():
    assert tf.float32.is_subtype_of(tf.float32)
    assert not tf.float32.is_subtype_of(tf.float64)
    assert not tf.float32.is_subtype_of("no dtype")
    assert tf.int32.most_specific_common_supertype([tf.int32, tf.int32]) is tf.int32
    assert tf.int32.most_specific_common_supertype([tf.int64]) is None
    assert (tf.int32.flatten(), tf.int32.to_tensors(tf.int32)) == ([], [])
    assert tf.int32.from_tensors(iter([])) is tf.int32
    assert tf.int32.placeholder_value(None) is tf.int32
    with pytest.raises(TypeError, match="'value' must be int32"):
        tf.int32.cast(tf.int64, None)


def test_a_dtype_says_what_images_of_it_hold():
    assert tf.uint8.limits == (0, 255)
    assert tf.int16.limits == (0, 32767)
    assert tf.float32.limits == (0, 1)
    assert tf.bool.limits == (False, True)
    for dtype in (tf.complex64, tf.string, tf.variant):
        with pytest.raises(ValueError, match=f"{dtype.name} has no limits"):
            dtype.limits
    assert not tf.float32.is_quantized
    assert tf.string.is_numpy_compatible
    assert not tf.variant.is_numpy_compatible


def test_a_shape_covers_what_is_known_of_all():
    shape = tf.TensorShape([2, 3])
    assert shape.most_specific_common_supertype([tf.TensorShape([2, 4])]) == tf.TensorShape([2, None])
    assert shape.most_specific_common_supertype([]) is shape
    assert shape.most_specific_common_supertype([tf.TensorShape([2])]) is None
    assert shape.most_specific_common_supertype([tf.float32]) is None
    assert (shape.flatten(), shape.to_tensors(shape), shape.from_tensors(iter([]))) == ([], [], shape)


def test_a_specification_covers_another_or_says_that_none_does():
    spec = tf.TensorSpec([2], tf.float32)
    assert spec.most_specific_compatible_type(tf.TensorSpec([3], tf.float32)) == tf.TensorSpec([None])
    with pytest.raises(ValueError, match="covers both"):
        spec.most_specific_compatible_type(tf.TensorSpec([2], tf.int32))
