"""None, nothing to stack, and axes that are no integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("convert", [tf.convert_to_tensor, tf.constant])
def test_none_cannot_become_a_tensor(convert: Callable[..., Any]) -> None:
    message = "argument 'value' must not be None"
    with pytest.raises(ValueError, match=message):
        convert(None)
    with pytest.raises(ValueError, match=message):
        convert(None, tf.float32)
    with pytest.raises(ValueError, match=message):
        tf.function(lambda: convert(None))()
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        convert(None)


def test_no_tensors_are_stacked_to_a_vector_without_elements() -> None:
    found = tf.stack([])
    assert (found.shape, found.dtype) == ([0], tf.float32)
    found = tf.stack(np.zeros([0, 3]))
    assert (found.shape, found.dtype) == ([0, 3], tf.float64)
    with pytest.raises(ValueError, match="at least one tensor for axis 1"):
        tf.stack([], axis=1)


def test_the_rows_of_a_tensor_are_stacked_to_itself_also_where_their_number_is_not_known() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def stacked(x: tf.Tensor) -> tf.Tensor:
        return tf.stack(x)

    assert stacked(tf.ones([3, 2])).numpy().tolist() == [[1.0, 1.0]] * 3
    assert tf.stack(tf.zeros([0, 3])).shape == [0, 3]


AXIS = "argument 'axis' must be an integer, got a tensor of dtype float32"


@pytest.mark.parametrize(
    "call",
    [
        lambda axis: tf.argmax(tf.ones([2, 2]), axis=axis),
        lambda axis: tf.concat([tf.ones([2])] * 2, axis=axis),
        lambda axis: tf.gather(tf.ones([2, 2]), [0], axis=axis),
        lambda axis: tf.expand_dims(tf.ones([2]), axis),
        lambda axis: tf.cumsum(tf.ones([2]), axis=axis),
        lambda axis: tf.stack([tf.ones([2])], axis=axis),
        lambda axis: tf.split(tf.ones([2]), 2, axis=axis),
        lambda axis: tf.nn.softmax(tf.ones([2]), axis=axis),
        lambda axis: tf.reduce_sum(tf.ones([2, 2]), axis=axis),
        lambda axis: tf.reverse(tf.ones([2]), axis=[axis]),
        lambda axis: tf.squeeze(tf.ones([1, 2]), axis=axis),
    ],
)
def test_an_axis_that_is_a_tensor_of_floats_is_named_by_its_dtype(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=AXIS):
        call(tf.constant(0.0))
    with pytest.raises(TypeError, match=AXIS):
        tf.function(call)(tf.constant(0.0))
    with tf.Graph().as_default(), pytest.raises(TypeError, match=AXIS):
        call(tf.constant(0.0))
