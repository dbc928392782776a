"""NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

import cases
from cases import Work, Works

DISTRIBUTION = "numpy"
IMPORT = "numpy"


def to_numpy(result: Any) -> Any:
    if isinstance(result, tuple):
        return np.concatenate([np.ravel(part) for part in result])
    return np.asarray(result)


def _eager_add() -> Work:
    return Work(lambda x: x + x, (np.ones(1, np.float32),))


def _chain_matmul() -> Work:
    q = cases.orthogonal(10)

    def body(x: Any, y: Any) -> Any:
        for _ in range(cases.CHAIN_MATMUL):
            x = x @ y
        return x

    return Work(body, (q, q), steps=cases.CHAIN_MATMUL)


def _selu() -> Work:
    def body(z: Any) -> Any:
        elu = np.where(z >= 0, z, np.expm1(z))
        return np.float32(1.05) * np.where(z >= 0, z, np.float32(1.67) * elu)

    return Work(body, (cases.normal(cases.SMALL),))


def _polynomial() -> Work:
    def body(x: Any) -> Any:
        y = 2 * x
        for coefficient in (3, -1):
            y += np.float32(coefficient)
            y *= x
        y += np.float32(0.5)
        return y

    return Work(body, (cases.normal(cases.LARGE),))


def _copy() -> Work:
    source = cases.normal(cases.LARGE)
    target = np.zeros_like(source)
    return Work(lambda: np.copyto(target, source))


def _softmax() -> Work:
    def body(x: Any) -> Any:
        y = x - x.max(axis=-1, keepdims=True)
        np.exp(y, out=y)
        y /= y.sum(axis=-1, keepdims=True)
        return y

    return Work(body, (cases.normal(4000, 4000),))


def _matmul(size: int) -> Callable[[], Work]:
    def prepare() -> Work:
        x = cases.normal(size, size)
        return Work(np.matmul, (x, x))

    return prepare


def works() -> Works:
    return {
        "eager_add": _eager_add,
        "chain_matmul": _chain_matmul,
        "selu": _selu,
        "polynomial": _polynomial,
        "copy": _copy,
        "softmax": _softmax,
        "cholesky": lambda: Work(np.linalg.cholesky, (cases.definite(512),)),
        "svd": lambda: Work(lambda x: np.linalg.svd(x, False)[1], (cases.normal(256, 256),)),
        "solve": lambda: Work(np.linalg.solve, (cases.definite(512), cases.normal(512, 512))),
        **{f"matmul_{size}": _matmul(size) for size in cases.MATMULS},
    }
