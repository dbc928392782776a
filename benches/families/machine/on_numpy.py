"""The machine's limits with NumPy."""

from collections.abc import Callable

import numpy as np

from cases import Work, Works
from families.machine import ELEMENTS, GEMMS, byte_matrix, floats


def works() -> Works:
    def gemm(n: int) -> Callable[[], Work]:
        return lambda: Work(np.matmul, (floats(n, n), floats(n, n)))

    def memcpy() -> Work:
        source = floats(ELEMENTS)
        target = np.zeros_like(source)
        return Work(lambda: np.copyto(target, source))

    return {
        **{f"gemm_{n}": gemm(n) for n in GEMMS},
        # NumPy's own products of integers take a hundred times as long; these sums are exact as well.
        "gemm_bytes_1024": lambda: Work(
            lambda x: np.matmul(x, x, dtype=np.float64).astype(np.int32), (byte_matrix(1024),)
        ),
        "memcpy": memcpy,
        "scale": lambda: Work(lambda x: np.float32(2) * x + np.float32(1), (floats(ELEMENTS),)),
        "add": lambda: Work(np.add, (floats(ELEMENTS), floats(ELEMENTS))),
        "sum": lambda: Work(np.sum, (floats(ELEMENTS),)),
    }
