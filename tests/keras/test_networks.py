"""Convolutions, pooling, losses and recurrent networks of Keras, against their definitions."""

import itertools
import math

import numpy as np
import pytest
from keras import layers, ops
from keras.src import backend

import penstock as tf

RNG = np.random.default_rng(3)


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


def channels_first(x):
    return np.moveaxis(x, -1, 1)


# --- convolutions and pooling ---


def convolved(x, kernel, stride, dilation):
    """A convolution of one spatial axis without padding: `[batch, time, channels]`, in groups of channels."""
    size, inner, outer = kernel.shape
    groups = x.shape[-1] // inner
    count = (x.shape[1] - dilation * (size - 1) - 1) // stride + 1
    result = np.zeros([len(x), count, outer])
    for position, tap, group in itertools.product(range(count), range(size), range(groups)):
        source = x[:, position * stride + tap * dilation, group * inner : (group + 1) * inner]
        part = slice(group * outer // groups, (group + 1) * outer // groups)
        result[:, position, part] += source @ kernel[tap, :, part]
    return result


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_convolution_adds_up_products_of_windows(stride, dilation, groups):
    x, kernel = normal(2, 11, 4), normal(3, 4 // groups, 8)
    wanted = convolved(x, kernel, stride, dilation)
    got = ops.conv(x, kernel, stride, dilation_rate=dilation, data_format="channels_last")
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    got = ops.conv(channels_first(x), kernel, stride, dilation_rate=dilation, data_format="channels_first")
    np.testing.assert_allclose(got, channels_first(wanted), atol=1e-5)


def test_a_depthwise_convolution_has_a_kernel_for_each_channel():
    x, kernel = normal(2, 9, 3), normal(4, 3, 2)
    wanted = [convolved(x[..., c : c + 1], kernel[:, c : c + 1], 1, 1) for c in range(3)]
    np.testing.assert_allclose(ops.depthwise_conv(x, kernel), np.concatenate(wanted, -1), atol=1e-5)
    pointwise = normal(1, 6, 5)
    wanted = np.concatenate(wanted, -1) @ pointwise[0]
    np.testing.assert_allclose(ops.separable_conv(x, kernel, pointwise), wanted, atol=1e-4)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_transposed_convolution_is_the_gradient_of_a_convolution(padding, stride, dilation, size):
    kernel = tf.constant(normal(size, size, 2, 3))
    x = tf.constant(normal(2, 5, 6, 3))
    made = ops.conv_transpose(x, kernel, stride, padding, dilation_rate=dilation)
    with tf.GradientTape() as tape:
        tape.watch(made)
        again = ops.conv(made, kernel, stride, padding, dilation_rate=dilation)
        if again.shape != x.shape:
            pytest.skip("windows that do not reach the end have several sizes of inputs")
        loss = tf.reduce_sum(again * x)
    np.testing.assert_allclose(made, tape.gradient(loss, made), atol=1e-4)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_adaptive_pools_reduce_windows_that_cover_an_axis(count):
    x = normal(2, 7, 3)
    bounds = [(i * 7 // count, math.ceil((i + 1) * 7 / count)) for i in range(count)]
    for pool, reduce in ((ops.adaptive_average_pool, np.mean), (ops.adaptive_max_pool, np.max)):
        wanted = np.stack([reduce(x[:, a:b], axis=1) for a, b in bounds], 1)
        np.testing.assert_allclose(pool(x, count, data_format="channels_last"), wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "dilation", "padding", "stride"), [(3, 1, 1, 2), ((2, 3), (1, 2), (0, 1), (2, 1))]
)
def test_windows_that_are_folded_count_how_often_they_cover(size, dilation, padding, stride):
    x = normal(2, 3, 8, 9)
    settings = (size, dilation, padding, stride)
    covered = backend.nn.fold(backend.nn.unfold(np.ones_like(x), *settings), (8, 9), *settings)
    folded = backend.nn.fold(backend.nn.unfold(x, *settings), (8, 9), *settings)
    np.testing.assert_allclose(folded, x * covered.numpy(), atol=1e-5)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_extents_that_are_known_are_kept(data_format):
    shape = [None, 16, 16, 4] if data_format == "channels_last" else [None, 4, 16, 16]

    @tf.function(input_signature=[tf.TensorSpec(shape)])
    def shapes(x):
        kernel = tf.zeros([3, 3, 4, 8])
        y = ops.conv(x, kernel, 2, "same", data_format=data_format)
        up = ops.conv_transpose(y, tf.zeros([3, 3, 5, 8]), 2, "same", data_format=data_format)
        pooled = ops.adaptive_max_pool(x, 3, data_format=data_format)
        assert sorted(y.shape.as_list()[1:]) == [8, 8, 8]
        assert sorted(up.shape.as_list()[1:]) == [5, 16, 16]
        assert sorted(pooled.shape.as_list()[1:]) == [3, 3, 4]
        return ops.softmax(x, axis=1)

    assert shapes.get_concrete_function().outputs[0].shape.as_list() == shape


# --- activations and losses ---


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    x = normal(50, 6) * 2
    got = ops.sparsemax(x).numpy()
    np.testing.assert_allclose(got.sum(-1), 1, atol=1e-6)
    assert (got >= 0).all()
    assert (got == 0).any()
    # What is not zero is `x` less one number a row.
    shifts = np.where(got > 0, x - got, np.nan)
    np.testing.assert_allclose(np.nanmax(shifts, -1), np.nanmin(shifts, -1), atol=1e-5)
    assert (np.where(got == 0, x, -np.inf) <= np.nanmax(shifts, -1, keepdims=True) + 1e-6).all()


def alignments(labels, steps, blank):
    """All sequences of `steps` symbols that stand for `labels`."""
    for path in itertools.product(range(3), repeat=steps):
        merged = [symbol for symbol, _ in itertools.groupby(path)]
        if [symbol for symbol in merged if symbol != blank] == list(labels):
            yield path


@pytest.mark.parametrize("labels", [(), (1,), (1, 2), (1, 1), (2, 1, 2)])
@pytest.mark.parametrize("steps", [3, 5])
def test_the_loss_of_alignments_adds_up_all_of_them(labels, steps):
    logits = normal(1, 6, 3)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    paths = [sum(logs[0, t, s] for t, s in enumerate(path)) for path in alignments(labels, steps, blank=0)]
    padded = np.array([[*labels, *[0] * (4 - len(labels))]])
    got = ops.ctc_loss(padded, logits, np.array([len(labels)]), np.array([steps]))
    if paths:
        np.testing.assert_allclose(got, [-np.logaddexp.reduce(paths)], rtol=1e-5)
    else:
        assert got.numpy()[0] > 1e6


def test_beams_find_the_labels_of_most_probability():
    logits = normal(1, 4, 3)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chances = {}
    for path in itertools.product(range(3), repeat=4):
        labels = tuple(s for s, _ in itertools.groupby(path) if s != 0)
        chances[labels] = chances.get(labels, 0) + math.exp(sum(logs[0, t, s] for t, s in enumerate(path)))
    best = sorted(chances, key=chances.get, reverse=True)[:2]
    found, scores = ops.ctc_decode(logits, np.array([4]), strategy="beam_search", top_paths=2, mask_index=0)
    assert [tuple(s for s in path[0] if s >= 0) for path in found.numpy().tolist()] == best
    np.testing.assert_allclose(scores[0], [math.log(chances[labels]) for labels in best], rtol=1e-4)


# --- recurrent networks ---


def squashed(x):
    return 1 / (1 + np.exp(-x))


def lstm_steps(x, kernel, recurrent, bias):
    h = c = np.zeros([len(x), recurrent.shape[0]])
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = squashed(f) * c + squashed(i) * np.tanh(g)
        h = squashed(o) * np.tanh(c)
        yield h


def gru_steps(x, kernel, recurrent, bias):
    h, units = np.zeros([len(x), recurrent.shape[0]]), recurrent.shape[0]
    for t in range(x.shape[1]):
        inputs, hidden = x[:, t] @ kernel + bias[0], h @ recurrent + bias[1]
        z, r = np.split(squashed(inputs[:, : 2 * units] + hidden[:, : 2 * units]), 2, axis=1)
        candidate = np.tanh(inputs[:, 2 * units :] + r * hidden[:, 2 * units :])
        h = z * h + (1 - z) * candidate
        yield h


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize(("kind", "steps"), [(layers.LSTM, lstm_steps), (layers.GRU, gru_steps)])
def test_recurrent_layers_take_one_step_after_the_other(kind, steps, go_backwards, unroll):
    x = normal(2, 5, 3)
    layer = kind(
        4,
        return_sequences=True,
        return_state=True,
        go_backwards=go_backwards,
        unroll=unroll,
        bias_initializer="random_normal",
    )
    sequence, last, *_ = layer(x)
    wanted = np.stack(list(steps(x[:, ::-1] if go_backwards else x, *(w.numpy() for w in layer.weights))), 1)
    np.testing.assert_allclose(sequence, wanted, atol=1e-5)
    np.testing.assert_allclose(last, wanted[:, -1], atol=1e-5)


@pytest.mark.parametrize("kind", [layers.LSTM, layers.GRU, layers.SimpleRNN])
def test_a_masked_step_keeps_states_and_outputs(kind):
    x, mask = normal(2, 4, 3), np.array([[True, True, False, False], [True, False, True, True]])
    layer = kind(4, return_sequences=True)
    got = layer(x, mask=mask).numpy()
    np.testing.assert_allclose(got[0, :2], layer(x[:1, :2])[0], atol=1e-6)
    np.testing.assert_allclose(got[0, 2:], [got[0, 1]] * 2)
    np.testing.assert_allclose(got[1, [0, 2, 3]], layer(x[1:, [0, 2, 3]])[0], atol=1e-6)
    np.testing.assert_allclose(got[1, 1], got[1, 0])


@pytest.mark.parametrize("kind", [layers.LSTM, layers.GRU])
def test_sequences_of_any_length_go_through_one_trace(kind):
    layer = kind(4, return_sequences=True)
    layer.build((None, None, 3))
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def run(x):
        traces.append(x)
        result = layer(x)
        assert result.shape.as_list() == [None, None, 4]
        return result

    for length in (1, 4, 7):
        x = normal(2, length, 3)
        np.testing.assert_allclose(run(x), layer(x), atol=1e-6)
    assert len(traces) == 1
