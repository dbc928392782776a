"""Fourier transforms against NumPy's: all lengths, dimensions and scales; gradients against the adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import assert_same, both_ways

import penstock as tf
from penstock import array_api as xp

SOME = settings(max_examples=25, deadline=None)
NORMS = ["backward", "ortho", "forward"]
LIMIT = {"complex64": 2e-5, "float32": 2e-5, "complex128": 1e-10, "float64": 1e-10}
RNG = np.random.default_rng(3)


def near(got: tf.Tensor, expected: np.ndarray) -> None:
    found = got.numpy()
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    limit = LIMIT[found.dtype.name]
    np.testing.assert_allclose(
        found, expected, rtol=limit, atol=limit * max(1.0, np.abs(expected).max(initial=0))
    )


@st.composite
def signals(draw: Any, rank: int = 1, real: bool = False) -> np.ndarray:
    """Arrays with at least `rank` dimensions."""
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=1)))
    shape += tuple(draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    parts = rng.normal(size=shape)
    if real:
        return parts.astype(draw(st.sampled_from(["float32", "float64"])))
    return (parts + 1j * rng.normal(size=shape)).astype(draw(st.sampled_from(["complex64", "complex128"])))


@SOME
@given(st.integers(1, 3).flatmap(lambda n: st.tuples(st.just(n), signals(n))))
def test_complex_transforms(case: Any) -> None:
    n, x = case
    name = "fft" if n == 1 else f"fft{n}d"
    axes = tuple(range(-n, 0))
    near(getattr(tf.signal, name)(x), np.fft.fftn(x, axes=axes).astype(x.dtype))
    near(getattr(tf.signal, "i" + name)(x), np.fft.ifftn(x, axes=axes).astype(x.dtype))
    back = getattr(tf.signal, "i" + name)(getattr(tf.signal, name)(x))
    near(back, x)


@SOME
@given(st.integers(1, 3).flatmap(lambda n: st.tuples(st.just(n), signals(n, True))), st.data())
def test_real_transforms(case: Any, data: st.DataObject) -> None:
    n, x = case
    wide = "complex64" if x.dtype == "float32" else "complex128"
    suffix = "" if n == 1 else f"{n}d"
    axes = tuple(range(-n, 0))
    lengths = data.draw(st.none() | st.lists(st.integers(1, 10), min_size=n, max_size=n))
    half = np.fft.rfftn(x, s=lengths, axes=axes).astype(wide)
    near(getattr(tf.signal, "rfft" + suffix)(x, lengths), half)
    s = lengths or x.shape[-n:]
    near(getattr(tf.signal, "irfft" + suffix)(half, s), np.fft.irfftn(half, s=s, axes=axes).astype(x.dtype))
    near(getattr(tf.signal, "irfft" + suffix)(half), np.fft.irfftn(half, axes=axes).astype(x.dtype)) if min(
        2 * (half.shape[-1] - 1), 1
    ) else None


@SOME
@given(signals(2), st.sampled_from(NORMS), st.data())
def test_any_dimensions_lengths_and_scales(x: np.ndarray, norm: Any, data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), min_size=1, unique=True))
    axes = [a for a in axes if x.shape[a]] or [x.ndim - 1]
    s = data.draw(st.lists(st.integers(1, 7), min_size=len(axes), max_size=len(axes)))
    z, real, t = xp.asarray(x), np.ascontiguousarray(x.real), x.real.dtype
    near(xp.fft.fftn(z, s=s, axes=axes, norm=norm), np.fft.fftn(x, s, axes, norm).astype(x.dtype))
    near(xp.fft.ifftn(z, s=s, axes=axes, norm=norm), np.fft.ifftn(x, s, axes, norm).astype(x.dtype))
    near(
        xp.fft.rfftn(xp.asarray(real), s=s, axes=axes, norm=norm),
        np.fft.rfftn(real, s, axes, norm).astype(x.dtype),
    )
    near(xp.fft.irfftn(z, s=s, axes=axes, norm=norm), np.fft.irfftn(x, s, axes, norm).astype(t))
    axis, n = axes[-1], s[-1]
    near(xp.fft.hfft(z, n=n, axis=axis, norm=norm), np.fft.hfft(x, n, axis, norm).astype(t))
    near(
        xp.fft.ihfft(xp.asarray(real), n=n, axis=axis, norm=norm),
        np.fft.ihfft(real, n, axis, norm).astype(x.dtype),
    )
    near(tf.signal.fftnd(x, s, axes, norm), np.fft.fftn(x, s, axes, norm).astype(x.dtype))
    near(tf.signal.ifftnd(x, s, axes, norm), np.fft.ifftn(x, s, axes, norm).astype(x.dtype))
    near(tf.signal.rfftnd(real, s, axes, norm), np.fft.rfftn(real, s, axes, norm).astype(x.dtype))
    near(tf.signal.irfftnd(x, s, axes, norm), np.fft.irfftn(x, s, axes, norm).astype(t))


@SOME
@given(st.integers(1, 12), st.floats(0.1, 4.0))
def test_frequencies(n: int, d: float) -> None:
    np.testing.assert_allclose(
        xp.fft.fftfreq(n, d=d, dtype=xp.float64).numpy(), np.fft.fftfreq(n, d), rtol=1e-14
    )
    np.testing.assert_allclose(
        xp.fft.rfftfreq(n, d=d, dtype=xp.float64).numpy(), np.fft.rfftfreq(n, d), rtol=1e-14
    )


@SOME
@given(signals(2), st.data())
def test_shifts(x: np.ndarray, data: st.DataObject) -> None:
    axes = data.draw(st.none() | st.lists(st.integers(-x.ndim, x.ndim - 1), max_size=2))
    near(tf.signal.fftshift(x, axes), np.fft.fftshift(x, axes))
    near(tf.signal.ifftshift(tf.signal.fftshift(x, axes), axes), x)
    near(xp.fft.fftshift(xp.asarray(x), axes=axes), np.fft.fftshift(x, axes))
    near(xp.fft.ifftshift(xp.asarray(x), axes=axes), np.fft.ifftshift(x, axes))


def test_sizes_may_be_unknown_while_a_function_is_traced() -> None:
    x = RNG.normal(size=(2, 6))
    z = x + 1j * RNG.normal(size=(2, 6))
    for function in (tf.signal.fft2d, tf.signal.ifft, tf.signal.irfft, tf.signal.fftshift, tf.signal.irfft2d):
        both_ways(function, z)
    for function in (
        tf.signal.rfft,
        tf.signal.rfft2d,
        lambda t: tf.signal.rfft(t, [8]),
        lambda t: tf.signal.rfft(t, [3]),
    ):
        both_ways(function, x)
    both_ways(lambda t: tf.signal.fftnd(t, norm="ortho"), z)
    lengths = tf.function(lambda t, n: tf.signal.irfft(t, [n]))
    for n in (4, 7, 20):
        near(lengths(tf.constant(z), tf.constant(n)), np.fft.irfft(z, n))
        near(
            tf.function(lambda t, n: tf.signal.rfft(t, [n]))(tf.constant(x), tf.constant(n)),
            np.fft.rfft(x, n),
        )


LINEAR = {
    "fft": (tf.signal.fft, "complex128"),
    "ifft2d": (tf.signal.ifft2d, "complex128"),
    "rfft": (tf.signal.rfft, "float64"),
    "rfft of more": (lambda x: tf.signal.rfft(x, [9]), "float64"),
    "rfft2d": (tf.signal.rfft2d, "float64"),
    "irfft": (tf.signal.irfft, "complex128"),
    "irfft of odd length": (lambda x: tf.signal.irfft(x, [7]), "complex128"),
    "irfft2d": (tf.signal.irfft2d, "complex128"),
    "ortho": (lambda x: tf.signal.fftnd(x, norm="ortho"), "complex128"),
}


def inner(a: Any, b: Any) -> float:
    return float(np.real(np.vdot(np.asarray(b), np.asarray(a))))


@pytest.mark.parametrize("name", LINEAR)
def test_the_gradient_is_the_adjoint(name: str) -> None:
    function, dtype = LINEAR[name]
    rng = np.random.default_rng(1)

    def draw(like: Any) -> np.ndarray:
        made = rng.normal(size=like.shape)
        return made + 1j * rng.normal(size=like.shape) if np.dtype(like.dtype.name).kind == "c" else made

    x = tf.constant(draw(np.zeros((4, 5), dtype)))
    u = draw(function(x))

    def pulled(x: tf.Tensor, u: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x, u)

    eager = pulled(x, tf.constant(u))
    assert_same(tf.function(pulled)(x, tf.constant(u)).numpy(), eager.numpy(), 1e-12)
    v = draw(np.zeros((4, 5), dtype))
    assert abs(inner(function(tf.constant(v)).numpy(), u) - inner(v, eager.numpy())) < 1e-9
    with tf.autodiff.ForwardAccumulator(x, tf.constant(v)) as acc:
        y = function(x)
    assert_same(acc.jvp(y).numpy(), function(tf.constant(v)).numpy(), 1e-12)


def test_large_transforms() -> None:
    for n in (4096, 5000, 8191):
        z = RNG.normal(size=(3, n)) + 1j * RNG.normal(size=(3, n))
        near(tf.signal.fft(z), np.fft.fft(z))
        near(tf.signal.irfft(tf.signal.rfft(z.real), [n]), z.real)
    rows = RNG.normal(size=(20000, 8))
    near(tf.signal.rfft(rows), np.fft.rfft(rows))


def test_rows_map() -> None:
    z = RNG.normal(size=(3, 2, 4)) + 1j
    near(tf.vectorized_map(tf.signal.fft, tf.constant(z)), np.fft.fft(z))
    near(tf.vectorized_map(tf.signal.rfft, tf.constant(z.real)), np.fft.rfft(z.real))


def test_not_a_number_stays_in_its_row() -> None:
    x = np.ones((2, 5))
    x[0, 2] = np.nan
    got = tf.signal.rfft(x).numpy()
    assert np.isnan(got[0]).all()
    assert np.isfinite(got[1]).all()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: tf.signal.fft([1.0]), TypeError, "fft|complex"),
        (lambda: tf.signal.rfft([1]), TypeError, "rfft|float"),
        (lambda: tf.signal.fft(1j), ValueError, "input"),
        (lambda: tf.signal.fft2d([1j]), ValueError, "input"),
        (lambda: tf.signal.rfft([1.0], [1, 2]), ValueError, "fft_length"),
        (lambda: tf.signal.rfft([1.0], 3), ValueError, "fft_length"),
        (lambda: tf.signal.fftnd([1j], axes=[1]), ValueError, "axes"),
        (lambda: tf.signal.fftnd([[1j]], axes=[0, 0]), ValueError, "axes"),
        (lambda: tf.signal.fftnd([1j], norm="none"), ValueError, "norm"),
        (lambda: tf.raw_ops.irfft([1j, 1j], 5), tf.errors.InvalidArgumentError, "coefficients"),
        (lambda: tf.raw_ops.irfft([1j], -1), tf.errors.InvalidArgumentError, "length"),
        (lambda: xp.fft.fft(xp.asarray([1.0]), norm="none"), ValueError, "norm"),
        (lambda: xp.fft.fft(xp.asarray([1.0]), n=0), ValueError, "'n'"),
        (lambda: xp.fft.fft(xp.asarray([1.0]), axis=3), ValueError, "axis"),
        (lambda: xp.fft.fft(xp.asarray([1])), TypeError, "floating"),
        (lambda: xp.fft.fftn(xp.asarray([1.0]), s=[1, 2], axes=[0]), ValueError, "'s'"),
        (lambda: xp.fft.fftfreq(0), ValueError, "'n'"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()
