"""Functions that both versions of TensorFlow have, with the parameters of the first."""

from __future__ import annotations

import importlib
import inspect
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.compat.v1 import _parameters

v1 = tf.compat.v1
X = tf.constant([[1.0, 2.0], [3.0, 4.0]])
IMAGE = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
FILTER = tf.ones([2, 2, 1, 1])
ONES = [1, 1, 1, 1]


@pytest.mark.parametrize("path", sorted(_parameters.PARAMETERS))
def test_the_table_names_parameters_that_there_are(path: str) -> None:
    new = inspect.signature(attrgetter(path)(tf)).parameters
    texts = [text for text in _parameters.PARAMETERS[path].split() if not text.endswith("!")]
    assert {text.rpartition(">")[2] for text in texts} <= new.keys()
    old = attrgetter(path)(v1)
    assert list(inspect.signature(old).parameters) == [
        text.rstrip("!").partition(">")[0] for text in _parameters.PARAMETERS[path].split()
    ]
    with pytest.raises(TypeError, match=f"{old.__name__}.* got an unexpected keyword argument 'foo'"):
        old(foo=1)


@pytest.mark.parametrize("module", sorted(_parameters.NAMES))
def test_names_of_modules_are_those_of_version_2(module: str) -> None:
    for name, path in _parameters.NAMES[module].items():
        assert getattr(getattr(v1, module), name) is attrgetter(path)(tf)
    assert importlib.import_module(getattr(v1, module).__name__) is getattr(v1, module)
    assert set(_parameters.NAMES[module]) <= set(dir(getattr(v1, module)))
    with pytest.raises(AttributeError, match="'foo'"):
        _ = getattr(v1, module).foo


@pytest.mark.parametrize("module", [v1, v1.math])
def test_reductions_take_the_old_names(module: Any) -> None:
    assert module.reduce_sum(X, 1, keep_dims=True).numpy().tolist() == [[3], [7]]
    assert module.reduce_mean(X, reduction_indices=[0]).numpy().tolist() == [2, 3]
    assert module.reduce_all(X > 1, None, None, "all").numpy() == np.False_
    assert module.argmax(X, dimension=1, output_type=tf.int32).numpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"reduce_max.* takes 'reduction_indices' or 'axis', not both"):
        module.reduce_max(X, axis=0, reduction_indices=0)


def test_parameters_in_their_old_order() -> None:
    assert v1.boolean_mask(X, [True, False], "kept").numpy().tolist() == [[1, 2]]
    assert v1.shape(X, "extents", tf.int64).dtype == tf.int64
    assert v1.pad([1.0], [[1, 0]], "CONSTANT", None, 9.0).numpy().tolist() == [9, 1]
    assert v1.transpose(tf.constant([[1j]]), None, "turned", True).numpy() == -1j
    assert v1.confusion_matrix([1], [1], 2, tf.int64, None, [2]).numpy().tolist() == [[0, 0], [0, 2]]
    assert v1.constant(1, tf.float32, [2], "c", True).numpy().tolist() == [1, 1]
    assert v1.strings.length(["abc"], "sizes").numpy().tolist() == [3]
    assert v1.reverse_sequence(X, [2, 1], seq_dim=1, batch_dim=0).numpy().tolist() == [[2, 1], [3, 4]]
    assert v1.squeeze(X[None], squeeze_dims=[0]).shape == v1.expand_dims(X, dim=0)[0].shape
    assert v1.cond(tf.constant(True), fn1=lambda: 1, fn2=lambda: 2) == 1
    assert v1.norm(X, keep_dims=True).shape == v1.linalg.norm(X, keep_dims=True).shape == (1, 1)


def test_convolutions_and_pools_take_the_old_names() -> None:
    due = tf.nn.conv2d(IMAGE, FILTER, 1, "SAME")
    for made in (
        v1.nn.conv2d(IMAGE, filter=FILTER, strides=ONES, padding="SAME"),
        v1.nn.conv2d(IMAGE, FILTER, ONES, "SAME", True, "NHWC", ONES, "conv"),
        v1.nn.convolution(IMAGE, filter=FILTER, padding="SAME", dilation_rate=[1, 1]),
        v1.nn.depthwise_conv2d(IMAGE, FILTER, ONES, "SAME", [1, 1]),
        v1.nn.separable_conv2d(IMAGE, FILTER, tf.ones([1, 1, 1, 1]), ONES, "SAME", rate=[1, 1]),
    ):
        np.testing.assert_allclose(made, due)
    assert v1.nn.max_pool(value=IMAGE, ksize=2, strides=2, padding="SAME").shape == (1, 2, 2, 1)
    assert v1.nn.pool(IMAGE, [2, 2], "MAX", "SAME", [1, 1], [2, 2]).shape == (1, 2, 2, 1)
    assert v1.nn.moments(X, [0], keep_dims=True)[0].numpy().tolist() == [[2, 3]]
    np.testing.assert_allclose(v1.nn.softmax(X, dim=0), tf.nn.softmax(X, 0))


def test_dropout_takes_the_chance_to_keep() -> None:
    kept = v1.nn.dropout(tf.ones([10000]), 0.9, seed=1)
    assert 0.87 < np.count_nonzero(kept) / 10000 < 0.93
    assert v1.nn.dropout(X, keep_prob=1.0).numpy().tolist() == v1.nn.dropout(X, rate=0.0).numpy().tolist()
    for chances in ({}, {"keep_prob": 0.5, "rate": 0.5}):
        with pytest.raises(ValueError, match="one of the arguments 'keep_prob' and 'rate'"):
            v1.nn.dropout(X, **chances)


def test_labels_get_a_gradient_in_the_second_cross_entropy_alone() -> None:
    for loss, due in (
        (v1.nn.softmax_cross_entropy_with_logits, False),
        (v1.nn.softmax_cross_entropy_with_logits_v2, True),
    ):
        labels = tf.constant([[0.0, 1.0]])
        with tf.GradientTape() as tape:
            tape.watch(labels)
            value = loss(labels=labels, logits=tf.constant([[1.0, 2.0]]), dim=-1)
        np.testing.assert_allclose(value, [np.log1p(np.exp(-1.0))], rtol=1e-6)
        assert (tape.gradient(value, labels) is not None) == due
    with pytest.raises(ValueError, match="by their names"):
        v1.nn.softmax_cross_entropy_with_logits(X, X)


def test_the_last_class_is_the_blank_of_sequences() -> None:
    logits = tf.constant(np.random.default_rng(1).normal(size=[5, 2, 4]), tf.float32)
    labels = tf.sparse.from_dense([[1, 2], [1, 0]])
    due = tf.nn.ctc_loss(labels, logits, None, [5, 4], blank_index=3)
    np.testing.assert_allclose(v1.nn.ctc_loss(labels, logits, [5, 4]), due)
    by_batch = v1.nn.ctc_loss(
        labels, logits=tf.transpose(logits, [1, 0, 2]), sequence_length=[5, 4], time_major=False
    )
    np.testing.assert_allclose(by_batch, due, rtol=1e-6)
    with pytest.raises(tf.errors.UnimplementedError, match="'ctc_merge_repeated'"):
        v1.nn.ctc_loss(labels, logits, [5, 4], ctc_merge_repeated=False)


def test_blocks_of_space_have_one_size() -> None:
    cut = v1.space_to_batch(IMAGE, [[0, 0], [0, 0]], block_size=2)
    assert cut.shape == (4, 2, 2, 1)
    np.testing.assert_array_equal(v1.batch_to_space(cut, [[0, 0], [0, 0]], 2), IMAGE)
    np.testing.assert_array_equal(v1.space_to_batch(IMAGE, [[0, 0], [0, 0]], block_shape=[2, 2]), cut)
    with pytest.raises(ValueError, match="'block_size' and 'block_shape'"):
        v1.batch_to_space(cut, [[0, 0], [0, 0]])


def test_rows_are_dealt_out_to_the_parts_of_a_table() -> None:
    parts = [tf.constant([[0.0], [3.0]]), tf.constant([[1.0], [4.0]]), tf.constant([[2.0]])]
    assert v1.nn.embedding_lookup(parts, [0, 1, 2, 3, 4])[:, 0].numpy().tolist() == [0, 1, 2, 3, 4]
    by_parts = [tf.constant([[0.0], [1.0]]), tf.constant([[2.0]])]
    assert v1.nn.embedding_lookup(by_parts, [2, 1], "div")[:, 0].numpy().tolist() == [2, 1]
    np.testing.assert_allclose(v1.nn.embedding_lookup(X, [[1]], max_norm=1.0), [[[0.6, 0.8]]], rtol=1e-6)
    with pytest.raises(ValueError, match="'partition_strategy'"):
        v1.nn.embedding_lookup(X, [1], "both")


def test_images_are_resized_by_the_corners_of_pixels() -> None:
    small = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    due = [[0, 0.5, 1, 1], [1, 1.5, 2, 2], [2, 2.5, 3, 3], [2, 2.5, 3, 3]]
    for resize in (v1.image.resize, v1.image.resize_images, v1.image.resize_bilinear):
        assert resize(small, [4, 4])[0, :, :, 0].numpy().tolist() == due
    corners = v1.image.resize_images(IMAGE[0], [3, 3], align_corners=True)
    assert corners[:, :, 0].numpy().tolist() == [[0, 1.5, 3], [6, 7.5, 9], [12, 13.5, 15]]
    means = v1.image.resize_images(IMAGE, [2, 2], v1.image.ResizeMethod.AREA)
    assert means[0, :, :, 0].numpy().tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert v1.image.resize_images(IMAGE, [8, 4], preserve_aspect_ratio=True).shape == (1, 4, 4, 1)
    assert v1.image.resize_images(tf.cast(IMAGE, tf.uint8), [4, 4]).dtype == tf.uint8
    traced = tf.function(lambda size: v1.image.resize_images(small, size))
    assert traced(tf.constant([4, 4]))[0, :, :, 0].numpy().tolist() == due
    with pytest.raises(ValueError, match="'method'"):
        v1.image.resize_images(IMAGE, [2, 2], 7)
    assert v1.image.resize_image_with_crop_or_pad is tf.image.resize_with_crop_or_pad
