"""Dimensions as objects, and shapes that give them as in TensorFlow 1."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture
def dimensions() -> Iterator[None]:
    v1.disable_v2_tensorshape()
    yield
    v1.enable_v2_tensorshape()


@pytest.mark.usefixtures("dimensions")
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


@pytest.mark.usefixtures("dimensions")
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


@pytest.mark.usefixtures("dimensions")
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


@pytest.mark.usefixtures("dimensions")
def test_behaviour_of_version_1_has_dimensions() -> None:
    v1.enable_v2_tensorshape()
    v1.disable_v2_behavior()
    try:
        assert v1.placeholder(tf.float32, [None, 3]).get_shape()[0].value is None
    finally:
        v1.enable_v2_behavior()
    assert tf.TensorShape([None])[0] is None


def test_dims_of_a_shape_are_dimensions() -> None:
    shape = tf.TensorShape([2, None])
    known, unknown = shape.dims
    assert repr(shape.dims) == "[Dimension(2), Dimension(None)]"
    assert (known.value, unknown.value, shape[0], shape[1]) == (2, None, 2, None)
    assert (tf.TensorShape(None).dims, tf.TensorShape([]).dims) == (None, [])
    assert shape.dims[:1] == [2]
    assert shape.dims != [2, None]
    assert tf.TensorShape([2, 3]) == tf.TensorShape([2, 3]).dims
    assert tf.TensorShape(shape.dims).as_list() == [2, None]
    assert [d.value for d in pickle.loads(pickle.dumps(shape.dims))] == [2, None]
    assert f"{known}{unknown}" == "2?"
    assert tf.Variable([[1]]).shape.dims == tf.SparseTensorSpec([1, 1]).shape.dims == [1, 1]


def test_dimensions_compute_and_compare_as_sizes_do() -> None:
    known, unknown = v1.Dimension(7), v1.Dimension(None)
    assert repr([known + 1, 9 - known, known * known, known // 2, 7 // known, known % 4, 9 % known]) == repr(
        [v1.Dimension(n) for n in (8, 2, 49, 3, 1, 3, 2)]
    )
    assert repr([unknown + 1, 3 * unknown, known - unknown]) == repr([unknown] * 3)
    assert [unknown == unknown, unknown == None, unknown != 2, unknown < 2, known >= unknown] == [None] * 5  # noqa: E711
    assert (known == 7, known != 7, known < 8, known == "a", known == 7.0) == (
        True,
        False,
        True,
        False,
        False,
    )
    assert (bool(known), bool(unknown), bool(v1.Dimension(0))) == (True, False, False)
    assert (int(known), float(known), list(range(10))[known], sum([known, known]).value) == (7, 7.0, 7, 14)
    assert np.zeros(tf.TensorShape([2, 3]).dims).shape == (2, 3)
    assert np.prod(tf.TensorShape([2, 3]).dims).value == 6
    for wrong in (
        lambda: known / 2,
        lambda: 2 / known,
        lambda: known * 0.5,
        lambda: known < "a",
        lambda: -known,
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match="unhashable"):
        hash(known)
    with pytest.raises(ValueError, match="must be >= 0"):
        known - 8


def test_known_dimensions_become_tensors() -> None:
    two, three = tf.TensorShape([2, 3]).dims
    unknown = v1.Dimension(None)
    for made, dtype, value in (
        (tf.constant(three), tf.int32, 3),
        (tf.convert_to_tensor(three, tf.int64), tf.int64, 3),
        (tf.convert_to_tensor([two, 3]), tf.int32, [2, 3]),
        (tf.stack([two, tf.constant(3)]), tf.int32, [2, 3]),
        (tf.cast(three, tf.float32), tf.float32, 3.0),
        (tf.convert_to_tensor(v1.Dimension(2**40)), tf.int64, 2**40),
        (tf.constant([1, 2]) * three, tf.int32, [3, 6]),
        (three - tf.constant([1, 2], tf.int64), tf.int64, [2, 1]),
        (tf.Variable([1, 2]) + two, tf.int32, [3, 4]),
        (tf.constant([1, 2]) == two, tf.bool, [False, True]),
        (tf.constant([1, 2]) < two, tf.bool, [True, False]),
        (tf.range(three), tf.int32, [0, 1, 2]),
        (tf.one_hot([1], two), tf.float32, [[0.0, 1.0]]),
        (tf.reduce_sum([[1, 2], [3, 4]], v1.Dimension(1)), tf.int32, [3, 7]),
        (tf.constant([1, 2, 3])[two:], tf.int32, [3]),
    ):
        assert made.dtype == dtype
        assert made.numpy().tolist() == value
    assert tf.zeros(three).shape == [3]
    assert tf.zeros([two, 1]).shape == tf.random.uniform([two, 1]).shape == [2, 1]
    assert tf.reshape(tf.range(6), [-1, three]).shape == tf.reshape(tf.range(6), [two, three]).shape == [2, 3]
    for wrong in (
        lambda: tf.constant(unknown),
        lambda: tf.zeros([two, unknown]),
        lambda: unknown * tf.constant(1),
    ):
        with pytest.raises(ValueError, match="an unknown Dimension cannot become a tensor"):
            wrong()


def test_functions_read_dims_while_they_are_traced() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x: tf.Tensor) -> tf.Tensor:
        rows, width = x.shape.dims
        if rows.value is None and width > 2:
            x += 1.0
        for _ in range(width):
            x += 1.0
        return tf.reshape(x, [-1, width]) * tf.cast(width, tf.float32)

    assert f(tf.zeros([1, 3])).numpy().tolist() == [[12.0] * 3]
