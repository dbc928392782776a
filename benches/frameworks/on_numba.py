"""Numba."""

import math
from typing import Any

import numpy as np
from numba import njit, prange

import cases
from cases import Work, Works

DISTRIBUTION = "numba"
IMPORT = "numba"


def to_numpy(result: Any) -> Any:
    if isinstance(result, tuple):
        return np.concatenate([np.ravel(part) for part in result])
    return np.asarray(result)


def _call_1() -> Work:
    return Work(njit(lambda x: x[()] + np.float32(1)), (np.array(1, np.float32),))


def _call_10() -> Work:
    def body(a, b, c, d, e, f, g, h, i, j):
        return a[()] + b[()] + c[()] + d[()] + e[()] + f[()] + g[()] + h[()] + i[()] + j[()]

    return Work(njit(body), tuple(np.array(k, np.float32) for k in range(10)))


def _first_10() -> Work:
    def body(x, y):
        for _ in range(5):
            x = x * y
            x = x + y
        return x

    return Work(lambda x, y: njit(body)(x, y), (np.float32(1), np.float32(0.5)))


def _chain_scalar() -> Work:
    def body(x, y):
        for _ in range(cases.CHAIN_SCALAR // 2):
            x = x * y
            x = x + y
        return x

    return Work(njit(body), (np.float32(1), np.float32(0.5)), steps=cases.CHAIN_SCALAR)


def _collatz() -> Work:
    def body(limit):
        total = 0
        for start in range(1, limit):
            n = start
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                total += 1
        return total

    return Work(njit(body), (cases.COLLATZ_LIMIT,), steps=cases.collatz_steps())


def _fizzbuzz() -> Work:
    def body(limit):
        both, fizz, buzz, total = 0, 0, 0, 0
        for i in range(1, limit + 1):
            if i % 15 == 0:
                both += 1
            elif i % 3 == 0:
                fizz += 1
            elif i % 5 == 0:
                buzz += 1
            else:
                total += i % 7
        return both, fizz, buzz, total

    compiled = njit(body)

    def call(limit: int) -> None:
        compiled(limit)

    return Work(call, (cases.FIZZBUZZ,), steps=cases.FIZZBUZZ)


def _newton() -> Work:
    def body(a, tolerance):
        x = a.copy()
        while np.max(np.abs(x * x - a)) > tolerance:
            x = np.float32(0.5) * (x + a / x)
        return x

    return Work(njit(body), (np.linspace(1, 50, cases.NEWTON, dtype=np.float32), np.float32(1e-3)))


def _selu() -> Work:
    def body(z):
        out = np.empty_like(z)
        for i in prange(z.size):
            v = z[i]
            out[i] = np.float32(1.05) * (v if v >= 0 else np.float32(1.67) * np.expm1(v))
        return out

    return Work(njit(body, parallel=True), (cases.normal(cases.SMALL),))


def _polynomial() -> Work:
    def body(x):
        out = np.empty_like(x)
        for i in prange(x.size):
            v = x[i]
            y = np.float32(2) * v + np.float32(3)
            out[i] = (y * v - np.float32(1)) * v + np.float32(0.5)
        return out

    return Work(njit(body, parallel=True), (cases.normal(cases.LARGE),))


def _black_scholes() -> Work:
    volatility, rate = np.float32(cases.VOLATILITY), np.float32(cases.RATE)
    half, one, root = np.float32(0.5), np.float32(1), np.float32(0.7071067811865476)
    drift = np.float32(cases.RATE + 0.5 * cases.VOLATILITY**2)

    def body(spot, strike, years):
        out = np.empty_like(spot)
        for i in prange(spot.size):
            spread = volatility * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + drift * years[i]) / spread
            n1 = half * (one + math.erf(d1 * root))
            n2 = half * (one + math.erf((d1 - spread) * root))
            out[i] = spot[i] * n1 - strike[i] * math.exp(-rate * years[i]) * n2
        return out

    return Work(njit(body, parallel=True), cases.options())


def works() -> Works:
    return {
        "call_1": _call_1,
        "call_10": _call_10,
        "first_10": _first_10,
        "chain_scalar": _chain_scalar,
        "collatz": _collatz,
        "fizzbuzz": _fizzbuzz,
        "newton": _newton,
        "selu": _selu,
        "polynomial": _polynomial,
        "black_scholes": _black_scholes,
    }
