"""The kernels on NumPy."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from cases import Works
from families import npbench
from families.arrays import of_numpy
from families.npbench import shared


def softmax(x: Any) -> Any:
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    return y / y.sum(axis=-1, keepdims=True)


def mandelbrot(x: Any, y: Any) -> Any:
    c = x + 1j * y
    z = np.zeros_like(c)
    n = np.zeros(c.shape, np.int64)
    for i in range(npbench.MANDELBROT_ROUNDS):
        inside = np.abs(z) < npbench.HORIZON
        n[inside] = i
        z[inside] = z[inside] ** 2 + c[inside]
    n[n == npbench.MANDELBROT_ROUNDS - 1] = 0
    return n


def jacobi_2d(a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(npbench.JACOBI_STEPS):
        b[1:-1, 1:-1] = shared.fives(a)
        a[1:-1, 1:-1] = shared.fives(b)
    return a, b


def vadv(stage_tendency: Any, stage: Any, wind: Any, position: Any, tendency: Any) -> Any:
    step, levels = npbench.VADV_STEP, stage.shape[2]
    winds = wind[1:] + wind[:-1]
    right = step * position + tendency + stage_tendency
    c, d = np.empty_like(stage), np.empty_like(stage)
    for k in range(levels):
        following = min(k + 1, levels - 1)
        lower, diagonal, upper, side = shared.vadv_column(
            k, levels, step, stage[..., k], winds[..., k], winds[..., following],
            stage[..., k - 1], stage[..., following], right[..., k],
        )  # fmt: skip
        pivot = diagonal - lower * c[..., k - 1] if k else diagonal
        c[..., k] = upper / pivot
        d[..., k] = (side - lower * d[..., k - 1] if k else side) / pivot
    out, x = np.empty_like(stage), 0.0
    for k in range(levels - 1, -1, -1):
        x = d[..., k] - c[..., k] * x
        out[..., k] = step * (x - position[..., k])
    return out


def energies(position: Any, velocity: Any, mass: Any) -> tuple[Any, Any]:
    gaps = [position[:, i : i + 1].T - position[:, i : i + 1] for i in range(3)]
    distance = np.sqrt(gaps[0] ** 2 + gaps[1] ** 2 + gaps[2] ** 2)
    inverse = np.zeros_like(distance)
    inverse[distance > 0] = 1.0 / distance[distance > 0]
    return 0.5 * np.sum(mass * velocity**2), np.sum(np.triu(-(mass * mass.T) * inverse, 1))


def nbody(mass: Any, position: Any, velocity: Any) -> Any:
    half = 0.5 * npbench.BODY_STEP
    kinetic, potential = np.empty(npbench.BODY_STEPS), np.empty(npbench.BODY_STEPS)
    force = np.hstack(shared.acceleration(position, mass, npbench.SOFTENING, np.transpose))
    for i in range(npbench.BODY_STEPS):
        velocity = velocity + half * force
        position = position + npbench.BODY_STEP * velocity
        force = np.hstack(shared.acceleration(position, mass, npbench.SOFTENING, np.transpose))
        velocity = velocity + half * force
        kinetic[i], potential[i] = energies(position, velocity, mass)
    return kinetic, potential


def go_fast(a: Any) -> Any:
    return a + np.tanh(np.diagonal(a)).sum()


def azimint(data: Any, radius: Any) -> Any:
    edges = radius.max() * np.arange(npbench.BINS + 1) / npbench.BINS
    pairs = itertools.pairwise(edges)
    return np.array([data[(low <= radius) & (radius < high)].mean() for low, high in pairs])


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return softmax(x @ w3 + b3)


def conv2d(x: Any, filters: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, filters.shape[:2], axis=(1, 2))
    return np.einsum("nijchw,hwco->nijo", windows, filters, optimize=True)


def pool(x: Any) -> Any:
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def lenet(
    x: Any, c1: Any, b1: Any, c2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any, w5: Any, b5: Any
) -> Any:
    x = pool(np.maximum(conv2d(x, c1) + b1, 0))
    x = pool(np.maximum(conv2d(x, c2) + b2, 0))
    x = np.maximum(x.reshape(len(x), -1) @ w3 + b3, 0)
    x = np.maximum(x @ w4 + b4, 0)
    return x @ w5 + b5


def works() -> Works:
    kernels: dict[str, Callable[..., Any]] = {
        "softmax": softmax,
        "mandelbrot": mandelbrot,
        "jacobi_2d": jacobi_2d,
        "hdiff": shared.hdiff(of_numpy(np)),
        "vadv": vadv,
        "nbody": nbody,
        "go_fast": go_fast,
        "azimint": azimint,
        "mlp": mlp,
        "lenet": lenet,
    }
    return shared.works(kernels, lambda kernel: kernel, np.asarray)
