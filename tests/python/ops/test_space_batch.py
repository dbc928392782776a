"""Blocks of space in the batch, windows with holes, pooling with positions and over uneven regions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf

RNG = np.random.default_rng(2)
SOME = settings(max_examples=30, deadline=None)


@SOME
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=2),
    st.data(),
)
def test_places_of_blocks_go_to_the_batch_and_back(batch: int, dims: Any, data: Any) -> None:
    block = [b for b, _ in dims]
    x = RNG.integers(0, 99, (batch, *(b * n for b, n in dims), 2))
    pads = [data.draw(st.sampled_from([[0, 0], [b, 0], [0, b]])) for b in block]
    got = tf.space_to_batch(x, block, pads).numpy()
    padded = np.pad(x, [(0, 0), *map(tuple, pads), (0, 0)])
    for number, place in enumerate(itertools.product(*map(range, block))):
        key = (slice(None), *(slice(p, None, b) for p, b in zip(place, block, strict=True)))
        assert np.array_equal(got[number * batch : (number + 1) * batch], padded[key])
    assert np.array_equal(tf.batch_to_space(got, block, pads).numpy(), x)
    traced = tf.function(lambda x: tf.space_to_batch_nd(x, block, pads))
    open_ = traced.get_concrete_function(tf.TensorSpec([None] * x.ndim, tf.int64))
    assert np.array_equal(open_(x).numpy(), got)


def test_arguments_of_blocks_are_checked() -> None:
    for block, pads, text in (
        ([2], [[0, 0]], "does not divide 3"),
        ([0], [[0, 0]], "vector of positive integers"),
        ([3], [[0, 0], [0, 0]], r"argument 'paddings' must have shape \[1, 2\]"),
        ([3], [[-1, 1]], "must not be negative"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.space_to_batch(tf.zeros([1, 3, 1]), block, pads)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_a_convolution_with_holes_goes_by_the_batch(padding: str) -> None:
    x, f = RNG.normal(size=(2, 9, 8, 3)), RNG.normal(size=(3, 2, 3, 4))
    due = tf.nn.conv2d(x, f, 1, padding, dilations=[2, 3])

    def plain(x: tf.Tensor, dims: int, padding: str) -> tf.Tensor:
        return tf.nn.conv2d(x, f, 1, padding)

    got = tf.nn.with_space_to_batch(x, [2, 3], padding, plain, [3, 2])
    np.testing.assert_allclose(got.numpy(), due.numpy(), atol=1e-12)
    assert np.array_equal(tf.nn.atrous_conv2d(x, f, 2, padding), tf.nn.conv2d(x, f, 1, padding, dilations=2))


@pytest.mark.parametrize("format_", ["NHWC", "NCHW"])
def test_transposes_of_depthwise_convolutions_are_gradients(format_: str) -> None:
    x, f = tf.constant(RNG.normal(size=(2, 6, 7, 3))), tf.constant(RNG.normal(size=(3, 2, 3, 2)))
    x = tf.transpose(x, [0, 3, 1, 2]) if format_ == "NCHW" else x
    strides = [1, 2, 2, 1] if format_ == "NHWC" else [1, 1, 2, 2]
    with tf.GradientTape() as tape:
        tape.watch([x, f])
        y = tf.nn.depthwise_conv2d(x, f, strides, "SAME", format_)
    upstream = tf.constant(RNG.normal(size=y.shape))
    by_input, by_filter = tape.gradient(y, [x, f], upstream)
    got = tf.nn.depthwise_conv2d_backprop_input(x.shape, f, upstream, strides, "SAME", format_)
    np.testing.assert_allclose(got.numpy(), by_input.numpy(), atol=1e-12)
    got = tf.nn.depthwise_conv2d_backprop_filter(x, f.shape, upstream, strides, "SAME", format_)
    np.testing.assert_allclose(got.numpy(), by_filter.numpy(), atol=1e-12)


def windows(x: np.ndarray, shape: tuple[int, int], steps: int, holes: int) -> np.ndarray:
    """The windows of images, `[batch, down, across, channels, rows, columns]`."""
    span = [(n - 1) * holes + 1 for n in shape]
    view = np.lib.stride_tricks.sliding_window_view(x, span, axis=(1, 2))
    return view[:, ::steps, ::steps, :, ::holes, ::holes]


@pytest.mark.parametrize(("steps", "holes"), [(1, 1), (2, 1), (1, 2)])
def test_dilation_and_erosion_are_their_definitions(steps: int, holes: int) -> None:
    x, f = RNG.normal(size=(2, 7, 8, 3)), RNG.normal(size=(2, 3, 3))
    cut = windows(x, (2, 3), steps, holes)
    got = tf.nn.dilation2d(x, f, steps, "VALID", "NHWC", holes).numpy()
    np.testing.assert_allclose(got, (cut + f.transpose(2, 0, 1)).max((-2, -1)))
    got = tf.nn.erosion2d(x, f, steps, "VALID", "NHWC", holes).numpy()
    np.testing.assert_allclose(got, (cut - f.transpose(2, 0, 1)[:, ::-1, ::-1]).min((-2, -1)))
    whole = tf.nn.dilation2d(x, f, steps, "SAME", "NHWC", holes)
    assert whole.shape[1:3] == (-(-7 // steps), -(-8 // steps))
    assert np.isfinite(whole.numpy()).all()


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_greatest_elements_have_positions(padding: str) -> None:
    x = RNG.normal(size=(2, 5, 6, 3)).astype("float32")
    values, places = tf.nn.max_pool_with_argmax(x, 2, 2, padding)
    assert np.array_equal(values.numpy(), tf.nn.max_pool(x, 2, 2, padding).numpy())
    for image, found, at in zip(x, values.numpy(), places.numpy(), strict=True):
        assert np.array_equal(image.reshape(-1)[at], found)
    _, places = tf.nn.max_pool_with_argmax(
        x, 2, 2, padding, include_batch_in_index=True, output_dtype=tf.int32
    )
    assert np.array_equal(x.reshape(-1)[places.numpy()], values.numpy())


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
def test_pooling_with_holes(kind: str) -> None:
    x = RNG.normal(size=(2, 7, 8, 3))
    cut = windows(x, (2, 3), 1, 2)
    due = cut.max((-2, -1)) if kind == "MAX" else cut.mean((-2, -1))
    np.testing.assert_allclose(tf.nn.pool(x, [2, 3], kind, dilations=2).numpy(), due)
    same = tf.nn.pool(x, [2, 3], kind, padding="SAME", dilations=2)
    assert same.shape == x.shape
    np.testing.assert_allclose(same.numpy()[:, 1:-1, 2:-2], due[:, :, :], atol=1e-12)
    first = tf.nn.pool(x.transpose(0, 3, 1, 2), [2, 3], kind, data_format="NCHW", dilations=2)
    np.testing.assert_allclose(first.numpy(), due.transpose(0, 3, 1, 2))
    assert np.array_equal(tf.nn.pool(x, 2, kind, 2), getattr(tf.nn, f"{kind.lower()}_pool")(x, 2, 2, "VALID"))


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
def test_uneven_regions_cover_the_image(pseudo: bool, overlapping: bool) -> None:
    x = RNG.normal(size=(1, 11, 9, 2))
    for seed in range(1, 6):
        pooled, rows, columns = tf.nn.fractional_max_pool(x, [1, 1.6, 1.3, 1], pseudo, overlapping, seed)
        means, *_ = tf.nn.fractional_avg_pool(x, [1, 1.6, 1.3, 1], pseudo, overlapping, seed)
        rows, columns = rows.numpy(), columns.numpy()
        assert rows[0] == columns[0] == 0
        assert (rows[-1], columns[-1]) == (11, 9)
        assert set(np.diff(rows)) <= {1, 2}
        for i, j in itertools.product(range(len(rows) - 1), range(len(columns) - 1)):
            part = x[0, rows[i] : rows[i + 1] + overlapping, columns[j] : columns[j + 1] + overlapping]
            np.testing.assert_allclose(pooled.numpy()[0, i, j], part.max((0, 1)))
            np.testing.assert_allclose(means.numpy()[0, i, j], part.mean((0, 1)))
    with pytest.raises(ValueError, match="pooling_ratio"):
        tf.nn.fractional_max_pool(x, 0.5)


def test_boxes_of_volumes() -> None:
    x = RNG.integers(0, 99, (2, 4, 5, 6, 2))
    got = tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 2, 1, 2, 1], "VALID").numpy()
    view = np.lib.stride_tricks.sliding_window_view(x, (2, 3, 2), axis=(1, 2, 3))[:, ::2, ::1, ::2]
    due = np.moveaxis(view, 4, -1).reshape(*view.shape[:4], -1)
    assert np.array_equal(got, due)
    assert tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 2, 1, 2, 1], "SAME").shape == (2, 2, 5, 3, 24)
