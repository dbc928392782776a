"""`tf.quantization`, against what TensorFlow 2.21 gives."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

q = tf.quantization
X = [-10.0, -6.01, -1.234, 0.0, 0.49, 5.99, 7.0, 0.02]
M = [[-10.0, -6.01, -1.234], [0.0, 0.49, 5.99], [7.0, 0.02, 2.5]]


def close(found, due):
    np.testing.assert_allclose(np.asarray(found), np.asarray(due, np.float32), rtol=1e-6, atol=1e-6)


def test_fake_quantization_rounds_to_a_grid_with_zero():
    close(
        q.fake_quant_with_min_max_args(X),
        [-6.0235295, -6.0235295, -1.2235295, 0.0, 0.4705882, 5.9764705, 5.9764705, 0.0],
    )
    close(
        q.fake_quant_with_min_max_vars(X, 0.1, 3.0, num_bits=4, narrow_range=True),
        [0.0, 0.0, 0.0, 0.0, 0.4142857, 2.9, 2.9, 0.0],
    )
    close(
        q.fake_quant_with_min_max_args(M, min=1, max=2),
        [[0, 0, 0], [0, 0.4901961, 1], [1, 0.01960784, 1]],
    )
    close(
        q.fake_quant_with_min_max_vars_per_channel(M, [-1.0, 0.0, -2.0], [1.0, 2.0, 0.5]),
        [[-0.9960785, 0, -1.2352941], [0, 0.48627454, 0.5], [1.0039216, 0.023529414, 0.5]],
    )


def test_a_range_of_nothing_is_one_that_is_not_known_yet():
    x, low, high = tf.constant(X), tf.constant(0.0), tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = q.fake_quant_with_min_max_vars(x, low, high)
    assert not y.numpy().any()
    of_x, of_low, of_high = tape.gradient(y, [x, low, high])
    assert of_x.numpy().tolist() == [1.0] * 8
    assert float(of_low) == float(of_high) == 0.0


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_of_fake_quantization(traced):
    def gradients(x, low, high):
        with tf.GradientTape() as tape:
            tape.watch([x, low, high])
            y = q.fake_quant_with_min_max_vars(x, low, high)
        return tape.gradient(y, [x, low, high])

    run = tf.function(gradients) if traced else gradients
    of_x, of_low, of_high = run(tf.constant(X), tf.constant(-1.1), tf.constant(2.0))
    assert of_x.numpy().tolist() == [0, 0, 0, 1, 1, 0, 0, 1]
    assert (float(of_low), float(of_high)) == (3.0, 2.0)


def test_gradients_by_channel():
    made = q.fake_quant_with_min_max_vars_per_channel_gradient(
        tf.ones([3, 3]), M, [-1.0, 0.0, -2.0], [1.0, 2.0, 0.5]
    )
    assert [g.numpy().tolist() for g in made] == [
        [[0, 0, 1], [1, 1, 0], [0, 1, 0]],
        [1, 1, 0],
        [1, 0, 2],
    ]
    assert q.fake_quant_with_min_max_args_gradient(tf.ones([8]), X).numpy().tolist() == [
        0, 1, 1, 1, 1, 0, 0, 1,
    ]  # fmt: skip


QUANTIZED = {
    (tf.quint8, "MIN_COMBINED"): ([0, 0, 0, 43, 63, 255, 255, 43], -1.0, 5.0),
    (tf.quint8, "MIN_FIRST"): ([0, 0, 0, 43, 64, 255, 255, 44], -1.0, 5.0),
    (tf.quint8, "SCALED"): ([0, 0, 0, 0, 25, 255, 255, 1], 0.0, 5.0),
    (tf.qint8, "MIN_COMBINED"): ([-128, -128, -128, -86, -65, 127, 127, -85], -1.0, 5.0),
    (tf.qint8, "MIN_FIRST"): ([-128, -128, -128, -85, -64, 127, 127, -84], -1.0, 5.0),
    (tf.qint8, "SCALED"): ([-128, -128, -31, 0, 12, 127, 127, 1], -5.03937, 5.0),
    (tf.quint16, "MIN_FIRST"): ([0, 0, 0, 10923, 16275, 65535, 65535, 11141], -1.0, 5.0),
    (tf.qint16, "SCALED"): ([-32768, -32768, -8087, 0, 3211, 32767, 32767, 131], -5.0001526, 5.0),
}
RESTORED = {
    (tf.quint8, "MIN_COMBINED"): [-1.0, -1.0, -1.0, 0.011764765, 0.48235297, 5.0, 5.0, 0.011764765],
    (tf.quint8, "MIN_FIRST"): [*[-1.0117648] * 3, 0, 0.49411762, 4.9882355, 4.9882355, 0.02352941],
    (tf.qint8, "SCALED"): [-5.03937, -5.03937, -1.2204725, 0.0, 0.47244096, 5.0, 5.0, 0.03937008],
}  # fmt: skip


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("dtype", "mode"), list(QUANTIZED))
def test_quantize_and_back(dtype, mode, traced):
    quantize, dequantize = q.quantize, q.dequantize
    if traced:
        quantize = tf.function(lambda x, low, high, dtype, mode: q.quantize(x, low, high, dtype, mode))
        dequantize = tf.function(lambda x, low, high, mode: q.dequantize(x, low, high, mode))
    output, low, high = quantize(X, -1.0, 5.0, dtype, mode)
    values, least, greatest = QUANTIZED[dtype, mode]
    assert output.dtype == dtype
    assert output.numpy().tolist() == values
    close([low, high], [least, greatest])
    if (dtype, mode) in RESTORED:
        close(dequantize(output, low, high, mode), RESTORED[dtype, mode])


@pytest.mark.parametrize(
    ("low", "high", "due"),
    [
        (0.5, 2.0, ([0, 0, 0, 0, 62, 255, 255, 3], 0.0, 2.0)),
        (0.0, 0.0, ([0, 0, 0, 0, 255, 255, 255, 255], 0.0, 0.01)),
        (-3.0, -1.0, ([0, 0, 150, 255, 255, 255, 255, 255], -3.0, 0.0)),
    ],
)
def test_ranges_are_widened_to_hold_zero(low, high, due):
    output, least, greatest = q.quantize(X, low, high, tf.quint8)
    assert output.numpy().tolist() == due[0]
    close([least, greatest], due[1:])


def test_ranges_by_channel():
    output, low, high = q.quantize(
        M, [-1.0, 0.0, -2.0], [1.0, 2.0, 3.0], tf.qint8, "SCALED",
        axis=1, narrow_range=True, round_mode="HALF_TO_EVEN",
    )  # fmt: skip
    assert output.numpy().tolist() == [[-127, -127, -52], [0, 31, 127], [127, 1, 106]]
    close(low, [-1, -2, -3])
    close(high, [1, 2, 3])
    output, low, high = q.quantize(M, [-1.0, 0.0, -2.0], [1.0, 2.0, 3.0], tf.quint8, "SCALED", axis=0)
    close(
        q.dequantize(output, low, high, "SCALED", axis=0),
        [[0, 0, 0], [0, 0.48627454, 2], [3, 0.023529412, 2.5058825]],
    )


def test_dequantize_gives_bfloat16():
    assert q.dequantize(tf.constant([255], tf.quint8), 0.0, 1.0, dtype=tf.bfloat16).dtype == tf.bfloat16


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({}, [[-10, -6.015625, -1.25], [0, 0.46875, 6.015625], [7.03125, 0, 2.5]]),
        (
            {"signed_input": False},
            [[-9.992157, -6.0117645, -1.2352941], [0, 0.49411765, 5.984314], [7, 0.02745098, 2.4980392]],
        ),
        (
            {"range_given": True, "narrow_range": True},
            [[-5, -5, -1.2204725], [0, 0.47244096, 5], [5, 0.03937008, 2.519685]],
        ),
        (
            {"range_given": True, "round_mode": "HALF_UP", "num_bits": 3},
            [[-6.6666665, -6.6666665, -1.6666666], [0, 0, 5], [5, 0, 3.3333333]],
        ),
    ],
)
def test_there_and_back(options, due):
    for function in q.quantize_and_dequantize, q.quantize_and_dequantize_v2:
        close(function(M, -2.0, 5.0, **options), due)
        close(tf.function(function)(M, -2.0, 5.0, **options), due)


def test_there_and_back_by_channel():
    made = q.quantize_and_dequantize(M, [-1.0, -2.0, 0.0], [1.0, 2.0, 3.0], axis=1)
    close(
        made,
        [[-10, -6.01, -1.2262992], [0, 0.46953127, 5.99], [7.03125, 0, 2.4997637]],
    )


def test_gradients_of_there_and_back():
    x, low, high = tf.constant(M), tf.constant(-2.0), tf.constant(5.0)
    for function, due in [
        (q.quantize_and_dequantize, [[1, 1, 1], [1, 1, 1], [1, 1, 1]]),
        (q.quantize_and_dequantize_v2, [[0, 0, 1], [1, 1, 0], [0, 1, 1]]),
    ]:
        with tf.GradientTape() as tape:
            tape.watch([x, low, high])
            y = function(x, low, high, range_given=True)
        of_x, of_low, _ = tape.gradient(y, [x, low, high])
        assert of_x.numpy().tolist() == due
        assert of_low is None or float(of_low) == 0.0


def test_quantized_concat_moves_to_one_range():
    a, b = q.quantize(M, -6.0, 6.0, tf.quint8), q.quantize(M, -1.0, 3.0, tf.quint8)
    output, low, high = q.quantized_concat(
        0, [a.output, b.output], [a.output_min, b.output_min], [a.output_max, b.output_max]
    )
    assert output.numpy().tolist() == [
        [0, 0, 101], [128, 138, 255], [255, 128, 181], [107, 107, 107], [128, 138, 192], [192, 128, 181],
    ]  # fmt: skip
    assert (float(low), float(high)) == (-6.0, 6.0)
    same, low, high = q.quantized_concat(1, [b.output, b.output], [-1.0, -1.0], [3.0, 3.0])
    assert same.numpy()[:, :3].tolist() == b.output.numpy().tolist()
    assert (float(low), float(high)) == (-1, 3)


def test_empty_tensors():
    assert q.fake_quant_with_min_max_args(tf.zeros([0, 3])).shape == [0, 3]
    assert q.quantize(tf.zeros([0]), 0.0, 1.0, tf.qint8).output.shape == [0]


def test_quantized_types_are_integers():
    assert tf.qint8 is tf.int8
    assert tf.dtypes.quint16 is tf.uint16
    assert frozenset() == tf.dtypes.QUANTIZED_DTYPES


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: q.quantize(X, 3.0, -1.0, tf.quint8), tf.errors.InvalidArgumentError, "'min_range'"),
        (lambda: q.quantize(X, 0.0, 1.0, tf.float32), TypeError, "'T'"),
        (lambda: q.quantize(X, 0.0, 1.0, tf.quint8, "FOO"), ValueError, "'mode'"),
        (lambda: q.quantize(X, 0.0, 1.0, tf.quint8, round_mode="HALF_TO_EVEN"), ValueError, "'round_mode'"),
        (lambda: q.quantize(M, [0.0] * 3, [1.0] * 3, tf.quint8, "MIN_FIRST", axis=0), ValueError, "'axis'"),
        (lambda: q.fake_quant_with_min_max_args(X, min=2, max=1), ValueError, "'min'"),
        (lambda: q.fake_quant_with_min_max_args(X, num_bits=1), ValueError, "'num_bits'"),
        (lambda: q.fake_quant_with_min_max_vars(tf.constant(X, tf.float64), 0.0, 1.0), TypeError, "'inputs'"),
        (lambda: q.fake_quant_with_min_max_vars_per_channel(M, [1.0], [2.0]), ValueError, "'min'"),
        (
            lambda: q.quantize_and_dequantize(X, 3.0, 1.0, range_given=True),
            tf.errors.InvalidArgumentError,
            "'input_min'",
        ),
        (lambda: q.quantize_and_dequantize(tf.constant([1]), 0, 1), TypeError, "'input'"),
        (lambda: q.quantized_concat(0, [tf.constant([1], tf.quint8)], [0.0], [1.0]), ValueError, "'values'"),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
