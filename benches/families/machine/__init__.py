"""What the machine itself sets the limit of: products of matrices, traffic to memory, loops of scalars."""

from typing import Final

import numpy as np
import numpy.typing as npt

from cases import Case

F32 = npt.NDArray[np.float32]
I8 = npt.NDArray[np.int8]

TEXT: Final = (
    "Products of square matrices of floats, and of bytes with sums of 32 bits; "
    "elementwise work on arrays larger than the caches, beside "
    "`memcpy` (NumPy's `copyto` into memory that is there); a loop of ten million scalar steps, which JAX "
    "runs with `--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000000`."
)
GEMMS: Final = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
SMALL_GEMMS: Final = tuple(f"gemm_{n}" for n in GEMMS if n <= 32)
LARGE_GEMMS: Final = tuple(f"gemm_{n}" for n in GEMMS if n >= 256)
PEERS: Final = ("tensorflow", "jax", "torch", "numpy")
ELEMENTS: Final = 1 << 24
SCAN: Final = 10_000_000
CASES: Final = (
    *(Case(f"gemm_{n}", f"matmul {n}×{n}", tolerance=1e-3) for n in GEMMS),
    Case("gemm_bytes_1024", "matmul 1024×1024, `int8` to `int32`"),
    Case("memcpy", "`memcpy` of 64 MB, the floor of the next", floors=frozenset({"numpy"})),
    Case("scale", "`2 * x + 1`, 64 MB in and 64 MB out"),
    Case("add", "`x + y`, 64 MB each"),
    Case("sum", "`sum(x)`, 64 MB"),
    Case("scan", "10 M steps of `x = x * a + b`, per step"),
)


def floats(*shape: int) -> F32:
    return np.random.default_rng(20).standard_normal(shape, dtype=np.float32)


def byte_matrix(n: int) -> I8:
    return np.random.default_rng(21).integers(-128, 128, (n, n), dtype=np.int8)
