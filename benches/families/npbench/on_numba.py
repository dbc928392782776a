"""The kernels on Numba, as loops, parallel where they are independent."""

import math

import numpy as np
from numba import njit, prange

from cases import Works
from families import npbench
from families.npbench import shared


@njit(parallel=True)
def softmax(x):
    rows = x.reshape(-1, x.shape[-1])
    out = np.empty_like(rows)
    for i in prange(rows.shape[0]):
        largest = rows[i].max()
        total = np.float32(0)
        for j in range(rows.shape[1]):
            e = math.exp(rows[i, j] - largest)
            out[i, j] = e
            total += e
        for j in range(rows.shape[1]):
            out[i, j] /= total
    return out.reshape(x.shape)


@njit(parallel=True)
def mandelbrot(x, y):
    out = np.zeros((y.shape[0], x.shape[1]), np.int64)
    for i in prange(y.shape[0]):
        for j in range(x.shape[1]):
            real, imaginary, last = 0.0, 0.0, 0
            for n in range(npbench.MANDELBROT_ROUNDS):
                if real * real + imaginary * imaginary >= npbench.HORIZON * npbench.HORIZON:
                    break
                last = n
                real, imaginary = (
                    real * real - imaginary * imaginary + x[0, j],
                    2.0 * real * imaginary + y[i, 0],
                )
            out[i, j] = 0 if last == npbench.MANDELBROT_ROUNDS - 1 else last
    return out


@njit(parallel=True)
def smooth(source, target):
    for i in prange(1, source.shape[0] - 1):
        for j in range(1, source.shape[1] - 1):
            around = source[i, j - 1] + source[i, j + 1] + source[i + 1, j] + source[i - 1, j]
            target[i, j] = 0.2 * (source[i, j] + around)


@njit
def jacobi_2d(a, b):
    a, b = a.copy(), b.copy()
    for _ in range(npbench.JACOBI_STEPS):
        smooth(a, b)
        smooth(b, a)
    return a, b


@njit
def laplacian(x, i, j, k):
    return 4.0 * x[i, j, k] - (x[i + 1, j, k] + x[i - 1, j, k] + x[i, j + 1, k] + x[i, j - 1, k])


@njit
def limited(flux, gradient):
    return 0.0 if flux * gradient > 0.0 else flux


@njit(parallel=True)
def hdiff(x, coefficients):
    ni, nj, nk = coefficients.shape
    out = np.empty_like(coefficients)
    lap = np.empty((ni + 2, nj + 2, nk))
    for i in prange(ni + 2):
        for j in range(nj + 2):
            for k in range(nk):
                lap[i, j, k] = laplacian(x, i + 1, j + 1, k)
    for i in prange(ni):
        for j in range(nj):
            for k in range(nk):
                a, b = i + 2, j + 2
                here, lap_here = x[a, b, k], lap[i + 1, j + 1, k]
                east = limited(lap[i + 2, j + 1, k] - lap_here, x[a + 1, b, k] - here)
                west = limited(lap_here - lap[i, j + 1, k], here - x[a - 1, b, k])
                north = limited(lap[i + 1, j + 2, k] - lap_here, x[a, b + 1, k] - here)
                south = limited(lap_here - lap[i + 1, j, k], here - x[a, b - 1, k])
                out[i, j, k] = here - coefficients[i, j, k] * (east - west + north - south)
    return out


@njit(parallel=True)
def vadv(stage_tendency, stage, wind, position, tendency):
    ni, nj, nk = stage.shape
    step = npbench.VADV_STEP
    out = np.empty_like(stage)
    for i in prange(ni):
        c, d = np.empty(nk), np.empty(nk)
        for j in range(nj):
            for k in range(nk):
                side = step * position[i, j, k] + tendency[i, j, k] + stage_tendency[i, j, k]
                lower, upper = 0.0, 0.0
                if k > 0:
                    lower = -0.125 * (wind[i + 1, j, k] + wind[i, j, k])
                    side -= lower * (stage[i, j, k - 1] - stage[i, j, k])
                if k < nk - 1:
                    upper = 0.125 * (wind[i + 1, j, k + 1] + wind[i, j, k + 1])
                    side -= upper * (stage[i, j, k + 1] - stage[i, j, k])
                pivot = step - lower - upper
                if k > 0:
                    pivot -= lower * c[k - 1]
                    side -= lower * d[k - 1]
                c[k], d[k] = upper / pivot, side / pivot
            x = 0.0
            for k in range(nk - 1, -1, -1):
                x = d[k] - c[k] * x
                out[i, j, k] = step * (x - position[i, j, k])
    return out


@njit
def forces(position, mass, force):
    n = position.shape[0]
    force[:] = 0.0
    for i in range(n):
        for j in range(n):
            x, y = position[j, 0] - position[i, 0], position[j, 1] - position[i, 1]
            z = position[j, 2] - position[i, 2]
            cube = mass[j, 0] * (x * x + y * y + z * z + npbench.SOFTENING**2) ** -1.5
            force[i, 0] += x * cube
            force[i, 1] += y * cube
            force[i, 2] += z * cube


@njit
def energies(position, velocity, mass):
    kinetic, potential = 0.0, 0.0
    n = position.shape[0]
    for i in range(n):
        kinetic += 0.5 * mass[i, 0] * (velocity[i] ** 2).sum()
        for j in range(i + 1, n):
            distance = math.sqrt(((position[j] - position[i]) ** 2).sum())
            if distance > 0.0:
                potential -= mass[i, 0] * mass[j, 0] / distance
    return kinetic, potential


@njit
def nbody(mass, position, velocity):
    half = 0.5 * npbench.BODY_STEP
    position, velocity, force = position.copy(), velocity.copy(), np.empty_like(position)
    kinetic, potential = np.empty(npbench.BODY_STEPS), np.empty(npbench.BODY_STEPS)
    forces(position, mass, force)
    for i in range(npbench.BODY_STEPS):
        velocity += half * force
        position += npbench.BODY_STEP * velocity
        forces(position, mass, force)
        velocity += half * force
        kinetic[i], potential[i] = energies(position, velocity, mass)
    return kinetic, potential


@njit(parallel=True)
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@njit(parallel=True)
def azimint(data, radius):
    largest = radius.max()
    out = np.empty(npbench.BINS)
    for i in prange(npbench.BINS):
        low, high = largest * i / npbench.BINS, largest * (i + 1) / npbench.BINS
        total, count = 0.0, 0
        for j in range(data.size):
            if low <= radius[j] and radius[j] < high:
                total += data[j]
                count += 1
        out[i] = total / count
    return out


@njit
def mlp(x, w1, b1, w2, b2, w3, b3):
    zero = np.float32(0)
    x = np.maximum(x @ w1 + b1, zero)
    x = np.maximum(x @ w2 + b2, zero)
    return softmax(x @ w3 + b3)


@njit(parallel=True)
def conv2d(x, filters, bias):
    """A convolution without padding, the bias added, negative results made zero."""
    n, h, w, _ = x.shape
    fh, fw, ci, co = filters.shape
    out = np.empty((n, h - fh + 1, w - fw + 1, co), np.float32)
    for row in prange(n * (h - fh + 1)):
        b, i = row // (h - fh + 1), row % (h - fh + 1)
        for j in range(w - fw + 1):
            for o in range(co):
                out[b, i, j, o] = bias[o]
            for p in range(fh):
                for q in range(fw):
                    for c in range(ci):
                        for o in range(co):
                            out[b, i, j, o] += x[b, i + p, j + q, c] * filters[p, q, c, o]
            for o in range(co):
                out[b, i, j, o] = max(out[b, i, j, o], np.float32(0))
    return out


@njit(parallel=True)
def pool(x):
    n, h, w, channels = x.shape
    out = np.empty((n, h // 2, w // 2, channels), np.float32)
    for b in prange(n):
        for i in range(h // 2):
            for j in range(w // 2):
                for c in range(channels):
                    above = max(x[b, 2 * i, 2 * j, c], x[b, 2 * i, 2 * j + 1, c])
                    beneath = max(x[b, 2 * i + 1, 2 * j, c], x[b, 2 * i + 1, 2 * j + 1, c])
                    out[b, i, j, c] = max(above, beneath)
    return out


@njit
def lenet(x, c1, b1, c2, b2, w3, b3, w4, b4, w5, b5):
    zero = np.float32(0)
    x = pool(conv2d(pool(conv2d(x, c1, b1)), c2, b2))
    x = np.maximum(x.reshape(x.shape[0], -1) @ w3 + b3, zero)
    x = np.maximum(x @ w4 + b4, zero)
    return x @ w5 + b5


def works() -> Works:
    kernels = {
        "softmax": softmax,
        "mandelbrot": mandelbrot,
        "jacobi_2d": jacobi_2d,
        "hdiff": hdiff,
        "vadv": vadv,
        "nbody": nbody,
        "go_fast": go_fast,
        "azimint": azimint,
        "mlp": mlp,
        "lenet": lenet,
    }
    return shared.works(kernels, lambda kernel: kernel, np.asarray)
