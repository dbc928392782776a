"""Convolutions and pooling against sums written out in NumPy, over grids of arguments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import assert_same, both_ways, slope

import penstock as tf

RNG = np.random.default_rng(11)
LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def pads(padding, inputs, window, strides, dilations):
    """The elements before and after each spatial dimension."""
    if padding == "VALID":
        return [(0, 0)] * len(inputs)
    if padding != "SAME":
        return padding[1:-1]
    out = []
    for n, w, s, d in zip(inputs, window, strides, dilations, strict=True):
        total = max((-(-n // s) - 1) * s + (w - 1) * d + 1 - n, 0)
        out.append((total // 2, total - total // 2))
    return out


def windows(x, window, strides, padding, dilations, fill):
    """The places of the result, each with what its window covers, of shape `[batch, window.., channels]`."""
    inputs = x.shape[1:-1]
    around = pads(padding, inputs, window, strides, dilations)
    x = np.pad(x, [(0, 0), *around, (0, 0)], constant_values=fill)
    counts = [
        (n + a + b - (w - 1) * d - 1) // s + 1
        for n, (a, b), w, s, d in zip(inputs, around, window, strides, dilations, strict=True)
    ]
    for at in itertools.product(*map(range, counts)):
        box = tuple(
            slice(i * s, i * s + (w - 1) * d + 1, d)
            for i, s, w, d in zip(at, strides, window, dilations, strict=True)
        )
        yield at, counts, x[(slice(None), *box)]


def convolved(x, f, strides, padding, dilations):
    axes = x.ndim - 2
    groups = x.shape[-1] // f.shape[-2]
    outs = f.shape[-1] // groups
    result = None
    for at, counts, box in windows(x, f.shape[:axes], strides, padding, dilations, 0.0):
        if result is None:
            result = np.zeros((x.shape[0], *counts, f.shape[-1]), x.dtype)
        for g in range(groups):
            ins = box[..., g * f.shape[-2] : (g + 1) * f.shape[-2]]
            part = f[..., g * outs : (g + 1) * outs]
            result[(slice(None), *at, slice(g * outs, (g + 1) * outs))] = np.tensordot(
                ins, part, axes=(list(range(1, axes + 2)), list(range(axes + 1)))
            )
    return result


def pooled(x, window, strides, padding, reduce):
    result = None
    ones = [1] * len(window)
    for at, counts, box in windows(x, window, strides, padding, ones, np.nan):
        if result is None:
            result = np.zeros((x.shape[0], *counts, x.shape[-1]), x.dtype)
        result[(slice(None), *at)] = reduce(box, axis=tuple(range(1, len(window) + 1)))
    return result


def channels_first(x):
    return np.moveaxis(x, -1, 1)


@st.composite
def geometries(draw):
    axes = draw(st.integers(1, 3))
    window = [draw(st.integers(1, 3)) for _ in range(axes)]
    strides = [draw(st.integers(1, 3)) for _ in range(axes)]
    dilations = [draw(st.integers(1, 2)) for _ in range(axes)]
    reach = [(w - 1) * d + 1 for w, d in zip(window, dilations, strict=True)]
    inputs = [draw(st.integers(r, r + 4)) for r in reach]
    padding = draw(st.sampled_from(["SAME", "VALID", "EXPLICIT"]))
    if padding == "EXPLICIT":
        each = [(draw(st.integers(0, w - 1)), draw(st.integers(0, w - 1))) for w in window]
        padding = [(0, 0), *each, (0, 0)]
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    ins, outs = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    first = draw(st.booleans())
    return axes, window, strides, dilations, inputs, padding, groups, ins, outs, first


@given(geometries(), st.integers(1, 2))
@settings(max_examples=150, deadline=None)
def test_convolutions_are_sums_over_windows(geometry, batch):
    axes, window, strides, dilations, inputs, padding, groups, ins, outs, first = geometry
    x = RNG.standard_normal((batch, *inputs, groups * ins))
    f = RNG.standard_normal((*window, ins, groups * outs))
    expected = convolved(x, f, strides, padding, dilations)
    if first:
        x, expected = channels_first(x), channels_first(expected)
        if padding not in ("SAME", "VALID"):
            padding = [padding[0], padding[-1], *padding[1:-1]]
    data_format = (FIRST if first else LAST)[axes]
    result = tf.nn.convolution(x, f, strides, padding, data_format, dilations)
    assert_same(result.numpy(), expected, 1e-10)


@given(geometries(), st.sampled_from(["max", "avg"]))
@settings(max_examples=100, deadline=None)
def test_pooling_reduces_windows(geometry, kind):
    axes, window, strides, _, inputs, padding, _, channels, _, first = geometry
    inputs = [max(n, w) for n, w in zip(inputs, window, strict=True)]
    x = RNG.standard_normal((2, *inputs, channels))
    function, reduce = {"max": (tf.nn.max_pool, np.nanmax), "avg": (tf.nn.avg_pool, np.nanmean)}[kind]
    expected = pooled(x, window, strides, padding, reduce)
    if first:
        x, expected = channels_first(x), channels_first(expected)
        if padding not in ("SAME", "VALID"):
            padding = [padding[0], padding[-1], *padding[1:-1]]
    result = function(x, window, strides, padding, (FIRST if first else LAST)[axes])
    assert_same(result.numpy(), expected, 1e-12)


@given(geometries())
@settings(max_examples=40, deadline=None)
def test_gradients_of_convolutions_are_slopes(geometry):
    _, window, strides, dilations, inputs, padding, groups, ins, outs, _ = geometry
    x = tf.constant(RNG.standard_normal((1, *inputs, groups * ins)))
    f = tf.constant(RNG.standard_normal((*window, ins, groups * outs)))

    def loss(x, f):
        return tf.reduce_sum(tf.sin(tf.nn.convolution(x, f, strides, padding, None, dilations)))

    with tf.GradientTape() as tape:
        tape.watch([x, f])
        value = loss(x, f)
    gx, gf = tape.gradient(value, [x, f])
    dx, df = RNG.standard_normal(x.shape), RNG.standard_normal(f.shape)
    np.testing.assert_allclose(
        np.sum(gx.numpy() * dx), slope(lambda a: loss(a, f), x.numpy(), dx), 1e-5, 1e-5
    )
    np.testing.assert_allclose(
        np.sum(gf.numpy() * df), slope(lambda a: loss(x, a), f.numpy(), df), 1e-5, 1e-5
    )


@pytest.mark.parametrize("order", [2, 3])
def test_higher_derivatives_of_a_convolution(order):
    x0 = RNG.standard_normal((1, 4, 4, 2))
    f0 = tf.constant(RNG.standard_normal((2, 2, 2, 2)))
    seeds = [tf.constant(RNG.standard_normal(x0.shape)) for _ in range(order)]

    def derivative(x, k):
        if k == 0:
            return tf.reduce_sum(tf.nn.conv2d(x, f0, [2, 1], "SAME") ** 4)
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = derivative(x, k - 1)
        return tf.reduce_sum(tape.gradient(value, x) * seeds[k - 1])

    direction = seeds[order - 1].numpy()
    expected = slope(lambda a: derivative(tf.constant(a), order - 1), x0, direction)
    np.testing.assert_allclose(float(derivative(tf.constant(x0), order)), expected, 1e-5)


def test_second_derivatives_of_pooling():
    x0 = RNG.standard_normal((1, 5, 5, 2))
    direction = RNG.standard_normal(x0.shape)
    for function in (tf.nn.max_pool2d, tf.nn.avg_pool2d):

        def first(x, function=function):
            x = tf.constant(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                value = tf.reduce_sum(function(x, 3, 2, "SAME") ** 3)
            return tf.reduce_sum(tape.gradient(value, x) * direction)

        x = tf.constant(x0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = first(x)
        second = np.sum(tape.gradient(value, x).numpy() * direction)
        np.testing.assert_allclose(second, slope(first, x0, direction), 1e-5)


def test_the_gradient_of_equal_maxima_goes_to_the_first():
    x = tf.ones([1, 2, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool2d(x, 2, 1, "SAME")
    assert tape.gradient(y, x)[0, :, :, 0].numpy().tolist() == [[1, 1], [1, 1]]
    x = tf.ones([1, 2, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool2d(x, 2, 2, "VALID")
    assert tape.gradient(y, x)[0, :, :, 0].numpy().tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize("strides", [1, 2, [2, 3]])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_transposed_convolution_is_the_gradient(strides, padding, data_format):
    x = RNG.standard_normal((2, 7, 8, 3))
    f = tf.constant(RNG.standard_normal((3, 2, 3, 4)))
    if data_format == "NCHW":
        x = channels_first(x)
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.conv2d(x, f, strides, padding, data_format)
    seed = tf.constant(RNG.standard_normal(y.shape))
    expected = tape.gradient(y, x, output_gradients=seed)
    result = tf.nn.conv2d_transpose(seed, f, x.shape, strides, padding, data_format)
    assert result.shape == x.shape
    assert_same(result.numpy(), expected.numpy())
    from_tensor = tf.nn.conv2d_transpose(seed, f, tf.shape(x), strides, padding, data_format)
    assert_same(from_tensor.numpy(), expected.numpy())


@pytest.mark.parametrize("multiplier", [1, 2, 3])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_depthwise_convolution_filters_each_channel(multiplier, data_format):
    x = RNG.standard_normal((2, 5, 6, 3))
    f = RNG.standard_normal((3, 2, 3, multiplier))
    parts = [convolved(x[..., c : c + 1], f[:, :, c : c + 1], [2, 2], "SAME", [1, 1]) for c in range(3)]
    expected = np.concatenate(parts, -1)
    if data_format == "NCHW":
        x, expected = channels_first(x), channels_first(expected)
    strides = [1, 1, 2, 2] if data_format == "NCHW" else [1, 2, 2, 1]
    result = both_ways(lambda a, b: tf.nn.depthwise_conv2d(a, b, strides, "SAME", data_format), x, f)
    assert_same(result.numpy(), expected, 1e-11)


def test_separable_convolution_mixes_channels_after_filtering_them():
    x = RNG.standard_normal((1, 5, 5, 2))
    depthwise, pointwise = RNG.standard_normal((3, 3, 2, 2)), RNG.standard_normal((1, 1, 4, 5))
    between = tf.nn.depthwise_conv2d(x, depthwise, [1, 2, 2, 1], "SAME")
    expected = between.numpy() @ pointwise[0, 0]
    result = both_ways(
        lambda a, b, c: tf.nn.separable_conv2d(a, b, c, [1, 2, 2, 1], "SAME"), x, depthwise, pointwise
    )
    assert_same(result.numpy(), expected, 1e-11)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_float_is_convolved_and_pooled(dtype):
    x = tf.cast(RNG.standard_normal((2, 6, 6, 8)), dtype)
    f = tf.cast(RNG.standard_normal((3, 3, 8, 4)) / 8, dtype)
    wide = [tf.cast(v, tf.float64).numpy() for v in (x, f)]
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    result = tf.nn.conv2d(x, f, 2, "SAME")
    assert result.dtype == tf.as_dtype(dtype)
    expected = convolved(*wide, [2, 2], "SAME", [1, 1])
    np.testing.assert_allclose(tf.cast(result, tf.float64).numpy(), expected, tolerance, tolerance)
    mean = tf.cast(tf.nn.avg_pool2d(x, 2, 2, "VALID"), tf.float64).numpy()
    np.testing.assert_allclose(mean, pooled(wide[0], [2, 2], [2, 2], "VALID", np.mean), tolerance, tolerance)


def test_large_convolutions_are_split_without_a_trace():
    """Sizes at which work is cut into tiles and shared between threads."""
    x = RNG.standard_normal((2, 40, 40, 24)).astype("float32")
    f = RNG.standard_normal((3, 3, 24, 32)).astype("float32")
    expected = convolved(x.astype("float64"), f.astype("float64"), [1, 1], "SAME", [1, 1])
    xs, fs = tf.constant(x), tf.constant(f)
    with tf.GradientTape() as tape:
        tape.watch([xs, fs])
        y = tf.nn.conv2d(xs, fs, 1, "SAME")
    np.testing.assert_allclose(y.numpy(), expected, 1e-4, 1e-4)
    seed = RNG.standard_normal(y.shape).astype("float32")
    gx, gf = tape.gradient(y, [xs, fs], output_gradients=tf.constant(seed))
    one = np.zeros((3, 3, 24, 32))
    padded = np.pad(x.astype("float64"), [(0, 0), (1, 1), (1, 1), (0, 0)])
    for i, j in itertools.product(range(3), range(3)):
        one[i, j] = np.tensordot(padded[:, i : i + 40, j : j + 40], seed, axes=([0, 1, 2], [0, 1, 2]))
    np.testing.assert_allclose(gf.numpy(), one, 1e-3, 1e-3)
    mirrored = f[::-1, ::-1].transpose(0, 1, 3, 2).astype("float64")
    back = convolved(seed.astype("float64"), mirrored, [1, 1], "SAME", [1, 1])
    np.testing.assert_allclose(gx.numpy(), back, 1e-3, 1e-3)


def test_extents_that_are_unknown_in_a_trace():
    f = tf.constant(RNG.standard_normal((3, 3, 2, 4)))
    x = RNG.standard_normal((2, 5, 7, 2))

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool2d(tf.nn.conv2d(x, f, 2, "SAME"), 2, 1, "SAME")
        return y, tape.gradient(y, x)

    for shape in ([None, None, None, 2], [None, 5, 7, 2], [None] * 4):
        traced = tf.function(step, input_signature=[tf.TensorSpec(shape, tf.float64)])
        for got, expected in zip(traced(x), step(tf.constant(x)), strict=True):
            assert_same(got.numpy(), expected.numpy())
    known = tf.function(step).get_concrete_function(tf.TensorSpec([None, 5, 7, 2], tf.float64))
    assert known.structured_outputs[0].shape.as_list() == [None, 3, 4, 4]


def test_more_dimensions_for_the_batch():
    x, f = RNG.standard_normal((2, 3, 5, 5, 2)), RNG.standard_normal((2, 2, 2, 3))
    result = both_ways(lambda a, b: tf.nn.conv2d(a, b, 1, "VALID"), x, f)
    expected = convolved(x.reshape(6, 5, 5, 2), f, [1, 1], "VALID", [1, 1])
    assert_same(result.numpy(), expected.reshape(2, 3, 4, 4, 3), 1e-11)


def test_empty_images():
    f = tf.ones([2, 2, 3, 4])
    assert tf.nn.conv2d(tf.ones([0, 5, 5, 3]), f, 1, "VALID").shape == [0, 4, 4, 4]
    assert tf.nn.conv2d(tf.ones([1, 1, 5, 3]), f, 1, "VALID").shape == [1, 0, 4, 4]
    assert tf.nn.max_pool2d(tf.ones([0, 5, 5, 3]), 2, 2, "VALID").shape == [0, 2, 2, 3]
    # Any number of pixels may have nothing in them.
    x = tf.zeros([1, 2**31, 1, 0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool(x, [2**30, 1], 1, "SAME") + tf.nn.avg_pool(x, [2**30, 1], 1, "SAME")
    assert tape.gradient(y, x).shape == x.shape
    with tf.GradientTape() as tape:
        tape.watch(f)
        y = tf.nn.conv2d(tf.ones([0, 5, 5, 3]), f, 1, "VALID")
    assert not tape.gradient(y, f).numpy().any()


def test_nan_is_the_greatest():
    x = np.array([1.0, np.nan, 2.0, 3.0, -np.inf, -np.inf]).reshape(1, 6, 1)
    result = tf.nn.max_pool1d(x, 2, 2, "VALID")[0, :, 0].numpy()
    np.testing.assert_array_equal(result, [np.nan, 3.0, -np.inf])


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda x, f: tf.nn.conv2d(x, f, [1, 2, 1], "SAME"), ValueError, "strides"),
        (lambda x, f: tf.nn.conv2d(x, f, [2, 1, 1, 1], "SAME"), ValueError, "strides"),
        (lambda x, f: tf.nn.conv2d(x, f, 0, "SAME"), tf.errors.InvalidArgumentError, "strides"),
        (lambda x, f: tf.nn.conv2d(x, f, 1, "same"), tf.errors.InvalidArgumentError, "padding"),
        (lambda x, f: tf.nn.conv2d(x, f, 1, "EXPLICIT"), ValueError, "padding"),
        (lambda x, f: tf.nn.conv2d(x, f, 1, [[0, 0], [1, 1]]), ValueError, "padding"),
        (lambda x, f: tf.nn.conv2d(x, f, 1, [[1, 0]] * 4), ValueError, "padding"),
        (lambda x, f: tf.nn.conv2d(x, f, 1, "SAME", "NWHC"), ValueError, "data_format"),
        (lambda x, f: tf.nn.conv2d(x, f, 1, "SAME", None, [1, 2, 3]), ValueError, "dilations"),
        (lambda x, f: tf.nn.conv2d(x, f[:, :, :2], 1, "SAME"), tf.errors.InvalidArgumentError, "filters"),
        (
            lambda x, f: tf.nn.conv2d(x[:, :1], tf.ones([3, 3, 3, 1]), 1, "VALID"),
            tf.errors.InvalidArgumentError,
            "input",
        ),
        (lambda x, f: tf.nn.conv2d(x, f[0], 1, "SAME"), tf.errors.InvalidArgumentError, "filters"),
        (lambda x, f: tf.nn.conv2d_transpose(x, f, [1, 4], 1), ValueError, "output_shape"),
        (
            lambda x, f: tf.nn.conv2d_transpose(x, f, [1, 9, 9, 3], 1),
            tf.errors.InvalidArgumentError,
            "out_backprop",
        ),
        (lambda x, f: tf.nn.depthwise_conv2d(x, f[:, :, :1], [1, 1, 1, 1], "SAME"), ValueError, "filter"),
        (lambda x, f: tf.nn.separable_conv2d(x, f, f, [1, 1, 1, 1], "SAME"), ValueError, "pointwise_filter"),
        (lambda x, f: tf.nn.max_pool2d(x, 0, 1, "SAME"), tf.errors.InvalidArgumentError, "ksize"),
        (lambda x, f: tf.nn.max_pool2d(x, [1, 2, 2, 2], 1, "SAME"), ValueError, "ksize"),
        (lambda x, f: tf.nn.max_pool2d(x, 9, 1, "VALID"), tf.errors.InvalidArgumentError, "input"),
        (
            lambda x, f: tf.nn.max_pool2d(x, 2, 1, [[0, 0], [2, 0], [0, 0], [0, 0]]),
            tf.errors.InvalidArgumentError,
            "explicit_paddings",
        ),
        (lambda x, f: tf.nn.avg_pool(x[0, 0], 2, 1, "SAME"), ValueError, "input"),
        (lambda x, f: tf.nn.avg_pool2d(tf.cast(x, tf.int32), 2, 1, "SAME"), TypeError, "input"),
    ],
)
def test_bad_arguments_are_named(call, error, names):
    x, f = tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 3, 3])
    with pytest.raises(error, match=names):
        call(x, f)
    with pytest.raises(error, match=names):
        tf.function(call)(x, f)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_whole_numbers_are_convolved_as_they_wrap(padding):
    rng = np.random.default_rng(0)
    x = rng.integers(-(2**31), 2**31, (2, 5, 6, 3)).astype("int32")
    f = rng.integers(-(2**31), 2**31, (2, 3, 3, 4)).astype("int32")
    wide = [[0, 0], [0, 1], [1, 1], [0, 0]] if padding == "SAME" else [[0, 0]] * 4
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, wide), (2, 3), axis=(1, 2))
    due = np.einsum("bijchw,hwco->bijo", windows.astype(object), f.astype(object)) % 2**32
    found = tf.nn.conv2d(x, f, 1, padding)
    assert found.dtype == tf.int32
    assert (found.numpy().astype("uint32") == due.astype("uint32")).all()
