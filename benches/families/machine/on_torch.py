"""The machine's limits with PyTorch."""

from collections.abc import Callable
from typing import Any

import torch

from cases import Work, Works
from families.machine import ELEMENTS, GEMMS, byte_matrix, floats


def works() -> Works:
    def case(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Work]:
        return lambda: Work(function, tuple(torch.as_tensor(floats(*shape)) for shape in shapes))

    return {
        **{f"gemm_{n}": case(torch.matmul, (n, n), (n, n)) for n in GEMMS},
        "gemm_bytes_1024": lambda: Work(lambda x: torch._int_mm(x, x), (torch.as_tensor(byte_matrix(1024)),)),
        "scale": case(lambda x: 2.0 * x + 1.0, (ELEMENTS,)),
        "add": case(torch.add, (ELEMENTS,), (ELEMENTS,)),
        "sum": case(torch.sum, (ELEMENTS,)),
    }
