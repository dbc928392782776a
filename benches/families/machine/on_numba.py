"""The machine's limits with Numba."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange

from cases import Work, Works
from families.machine import ELEMENTS, SCAN, floats


@njit(parallel=True)
def scale(x):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = np.float32(2) * x[i] + np.float32(1)
    return out


@njit(parallel=True)
def add(x, y):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = x[i] + y[i]
    return out


@njit(parallel=True)
def total(x):
    out = np.float32(0)
    for i in prange(x.size):
        out += x[i]
    return out


@njit
def scan(x, a, b, n):
    for _ in range(n):
        x = x * a + b
    return x


def works() -> Works:
    def case(function: Callable[..., Any], arrays: int) -> Callable[[], Work]:
        return lambda: Work(function, tuple(floats(ELEMENTS) for _ in range(arrays)))

    numbers = (np.float32(1), np.float32(0.999), np.float32(0.5), SCAN)
    return {
        "scale": case(scale, 1),
        "add": case(add, 2),
        "sum": case(total, 1),
        "scan": lambda: Work(scan, numbers, steps=SCAN),
    }
