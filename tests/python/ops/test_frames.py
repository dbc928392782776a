"""Frames, windows, short-time and cosine transforms against SciPy's and definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import penstock as tf

RNG = np.random.default_rng(11)
SIGNALS = RNG.normal(size=(2, 300))


def framed(x: np.ndarray, length: int, step: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, length, axis=-1)[..., ::step, :]


@pytest.mark.parametrize(("length", "step"), [(1, 1), (7, 3), (10, 10), (12, 8), (5, 9), (300, 1)])
def test_frames_are_windows_at_every_step(length: int, step: int) -> None:
    expected = framed(SIGNALS, length, step)
    assert np.array_equal(tf.signal.frame(SIGNALS, length, step).numpy(), expected)
    across = tf.signal.frame(SIGNALS.T, length, step, axis=0).numpy()
    assert np.array_equal(across, np.moveaxis(expected, 0, -1))
    signature = [tf.TensorSpec([None, None], tf.float64), *[tf.TensorSpec([], tf.int32)] * 2]
    traced = tf.function(lambda x, n, s: tf.signal.frame(x, n, s), input_signature=signature)
    assert np.array_equal(traced(SIGNALS, length, step).numpy(), expected)


def test_frames_beyond_the_end_are_padded() -> None:
    got = tf.signal.frame(tf.range(5), 4, 2, pad_end=True, pad_value=9)
    assert got.numpy().tolist() == [[0, 1, 2, 3], [2, 3, 4, 9], [4, 9, 9, 9]]
    assert tf.signal.frame(tf.range(3), 4, 2).shape == (0, 4)
    assert tf.signal.frame(tf.zeros([0]), 4, 2, pad_end=True).shape == (0, 4)


@pytest.mark.parametrize(("length", "step"), [(1, 1), (7, 3), (10, 10), (12, 8), (5, 9)])
def test_frames_are_added_up(length: int, step: int) -> None:
    frames = RNG.normal(size=(2, 6, length))
    expected = np.zeros((2, 5 * step + length))
    for i in range(6):
        expected[:, i * step : i * step + length] += frames[:, i]
    np.testing.assert_allclose(tf.signal.overlap_and_add(frames, step).numpy(), expected, atol=1e-12)
    signature = [tf.TensorSpec([None, None, None], tf.float64), tf.TensorSpec([], tf.int32)]
    traced = tf.function(lambda x, s: tf.signal.overlap_and_add(x, s), input_signature=signature)
    np.testing.assert_allclose(traced(frames, step).numpy(), expected, atol=1e-12)
    assert tf.signal.overlap_and_add(tf.zeros([0, 2]), 1).shape == (1,)


def test_short_time_transforms_and_back() -> None:
    window = scipy.signal.get_window("hann", 40)
    expected = np.fft.rfft(framed(SIGNALS, 40, 10) * window, 64)
    got = tf.signal.stft(SIGNALS, 40, 10)
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-12)
    assert tf.signal.stft(SIGNALS, 40, 10, fft_length=128, pad_end=True).shape == (2, 30, 65)
    back = tf.signal.inverse_stft(got, 40, 10, window_fn=tf.signal.inverse_stft_window_fn(10))
    np.testing.assert_allclose(back.numpy()[:, 40:-40], SIGNALS[:, 40:-40], atol=1e-12)

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.float64), *[tf.TensorSpec([], tf.int32)] * 2]
    )
    def traced(x: tf.Tensor, length: tf.Tensor, step: tf.Tensor) -> Any:
        there = tf.signal.stft(x, length, step)
        return there, tf.signal.inverse_stft(there, length, step)

    there, again = traced(SIGNALS, 40, 10)
    np.testing.assert_allclose(there.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(again.numpy(), tf.signal.inverse_stft(got, 40, 10).numpy(), atol=1e-12)


def test_short_time_transforms_have_gradients() -> None:
    x = tf.constant(SIGNALS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        power = tf.reduce_sum(tf.abs(tf.signal.stft(x, 16, 8, window_fn=None)) ** 2)
    slope = tape.gradient(power, x).numpy()
    step = 1e-6
    moved = SIGNALS.copy()
    moved[0, 100] += step
    other = tf.reduce_sum(tf.abs(tf.signal.stft(moved, 16, 8, window_fn=None)) ** 2)
    assert abs(float(other - power) / step - slope[0, 100]) < 1e-3


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize(
    "window",
    [
        tf.signal.vorbis_window,
        None,
        tf.signal.kaiser_bessel_derived_window,
    ],
)
def test_modified_cosine_transforms_are_undone(norm: str | None, window: Any) -> None:
    there = tf.signal.mdct(SIGNALS, 40, window, norm=norm)
    assert there.shape == (2, 14, 20)
    back = tf.signal.inverse_mdct(there, window, norm=norm).numpy()
    np.testing.assert_allclose(back[:, 20:-20], SIGNALS[:, 20:-20], atol=1e-12)


def test_a_modified_cosine_transform_is_its_definition() -> None:
    x, half = SIGNALS[0, :16], 8
    window = np.sin(np.pi / 2 * np.sin(np.pi * (np.arange(16) + 0.5) / 16) ** 2)
    n, k = np.arange(16)[:, None], np.arange(half)
    expected = 2 * (window * x) @ np.cos(np.pi / half * (n + 0.5 + half / 2) * (k + 0.5))
    np.testing.assert_allclose(tf.signal.mdct(x, 16).numpy()[0], expected, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize(("kind", "norm"), [(1, None), *((k, n) for k in (2, 3, 4) for n in (None, "ortho"))])
def test_cosine_transforms(kind: int, norm: str | None, size: int) -> None:
    if kind == 1 and size == 1:
        with pytest.raises(ValueError, match="at least 2 samples"):
            tf.signal.dct([1.0], type=1)
        return
    x = RNG.normal(size=(3, size))
    near: Any = {"atol": 1e-12, "rtol": 1e-12}
    np.testing.assert_allclose(
        tf.signal.dct(x, type=kind, norm=norm).numpy(), scipy.fft.dct(x, kind, norm=norm), **near
    )
    factor = 1 if norm else 2 * (size - 1) if kind == 1 else 2 * size
    back = tf.signal.idct(tf.signal.dct(x, type=kind, norm=norm), type=kind, norm=norm).numpy()
    np.testing.assert_allclose(back, x * factor, **near)
    if kind == 2:
        np.testing.assert_allclose(tf.signal.dct(x, n=6).numpy(), scipy.fft.dct(x, n=6), **near)


def test_arguments_of_cosine_transforms_are_checked() -> None:
    for arguments, text in (
        ({"type": 5}, "argument 'type' must be 1, 2, 3 or 4, got 5"),
        ({"norm": "backward"}, "argument 'norm' must be None or 'ortho'"),
        ({"type": 1, "norm": "ortho"}, "must be None for type 1"),
        ({"n": 0}, "argument 'n' must be at least 1"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.signal.dct([1.0, 2.0], **arguments)


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_windows(length: int) -> None:
    windows = scipy.signal.windows
    for got, expected in (
        (tf.signal.hann_window(length, False, tf.float64), windows.hann(length)),
        (tf.signal.hamming_window(length, False, tf.float64), windows.hamming(length)),
        (tf.signal.kaiser_window(length, 5.0, tf.float64), windows.kaiser(length, 5.0)),
    ):
        np.testing.assert_allclose(got.numpy(), expected, atol=1e-14)
    if length % 2 == 0:
        # Odd lengths are symmetric also where a periodic window is asked for, as in TensorFlow.
        periodic = tf.signal.hann_window(length, dtype=tf.float64).numpy()
        np.testing.assert_allclose(periodic, windows.hann(length, sym=False), atol=1e-14)
        derived = tf.signal.kaiser_bessel_derived_window(length, 4.0, tf.float64).numpy()
        np.testing.assert_allclose(derived, windows.kaiser_bessel_derived(length, beta=4.0), atol=1e-14)


def test_mel_matrices_are_triangles_on_the_mel_scale() -> None:
    got = tf.signal.linear_to_mel_weight_matrix(10, 65, 16000, 100.0, 7000.0, tf.float64).numpy()
    mel = 1127 * np.log1p(np.linspace(0, 8000, 65) / 700)
    edges = np.linspace(1127 * np.log1p(100 / 700), 1127 * np.log1p(7000 / 700), 12)
    expected = np.stack([np.interp(mel, edges[i : i + 3], [0, 1, 0]) for i in range(10)], axis=1)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    with pytest.raises(ValueError, match="must not exceed half the sample rate"):
        tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)
    cepstra = tf.signal.mfccs_from_log_mel_spectrograms(SIGNALS).numpy()
    np.testing.assert_allclose(cepstra, scipy.fft.dct(SIGNALS) / np.sqrt(600), atol=1e-12)
