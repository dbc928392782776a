"""Shapes that give dimensions as objects, as in TensorFlow 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def dimensions() -> Iterator[None]:
    v1.disable_v2_tensorshape()
    yield
    v1.enable_v2_tensorshape()


def test_a_shape_gives_dimensions() -> None:
    shape = tf.TensorShape([2, None])
    assert [size.value for size in shape] == [size.value for size in shape.dims] == [2, None]
    assert (shape[0].value, shape[1].value, shape[-2].value) == (2, None, 2)
    assert tf.TensorShape(None)[0].value is None
    assert all(isinstance(size, v1.Dimension) for size in shape)
    assert not isinstance(2, v1.Dimension)
    assert (str(shape), str(shape[0]), repr(shape[0]), str(shape[1])) == ("(2, ?)", "2", "Dimension(2)", "?")
    assert shape.as_list() == [2, None]
    assert shape == [2, None] == tf.TensorShape(list(shape))
    assert shape[0].merge_with(None).value == 2
    assert shape[1].merge_with(3).value == 3
    assert shape[0].is_compatible_with(shape[1])
    with pytest.raises(ValueError, match="are not compatible"):
        shape[0].assert_is_compatible_with(3)
    v1.enable_v2_tensorshape()
    assert (list(shape), str(shape)) == ([2, None], "(2, None)")


def test_known_dimensions_are_taken_as_sizes() -> None:
    with tf.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 6])
        batch, width = x.shape
        w = v1.get_variable("w", [width, 2], initializer=v1.ones_initializer())
        y = tf.reshape(x @ w, [-1, width // 3, 1])
        assert v1.placeholder(tf.float32, [batch, width]).shape.as_list() == [None, 6]
        assert tf.zeros([width, 2]).shape.as_list() == [6, 2]
        assert np.prod(x.shape[1:]) == width * 1 == 6
        z = tf.cast(width, tf.float32) * tf.reshape(x, [tf.shape(x)[0], width])
        sess.run(w.initializer)
        feed = {x: np.ones([2, 6])}
        assert sess.run(y, feed).shape == (2, 2, 1)
        assert sess.run(z, feed).tolist() == [[6.0] * 6] * 2


def test_the_package_works_where_shapes_give_dimensions() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4, 3])])
    def network(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.conv2d(x, tf.ones([3, 3, 3, 2]), 1, "SAME")
        h = tf.nn.max_pool2d(h, 2, 2, "VALID")
        mean, variance = tf.nn.moments(h, [0])
        h = tf.nn.batch_normalization(h, mean, variance, None, None, 1e-3)
        h = tf.image.resize(h, [3, 3])
        return tf.tensordot(h, tf.ones([2, 5]), 1) + tf.einsum("bijk->bij", h)[..., None]

    assert network(tf.ones([2, 4, 4, 3])).shape.as_list() == [2, 3, 3, 5]
    rows = tf.data.Dataset.from_tensor_slices(np.ones([5, 3], np.float32)).batch(2)
    assert [row.shape.as_list() for row in rows] == [[2, 3], [2, 3], [1, 3]]
    ragged = tf.ragged.constant([[1, 2], [3]])
    assert tf.reduce_sum(ragged, 1).numpy().tolist() == [3, 3]
    assert tf.map_fn(lambda r: r * 2, tf.ones([3, 2])).shape.as_list() == [3, 2]


def test_behaviour_of_version_1_has_dimensions() -> None:
    v1.enable_v2_tensorshape()
    v1.disable_v2_behavior()
    try:
        assert v1.placeholder(tf.float32, [None, 3]).get_shape()[0].value is None
    finally:
        v1.enable_v2_behavior()
    assert tf.TensorShape([None])[0] is None
