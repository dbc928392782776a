"""The machine's limits with JAX."""

import os

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000000"
)

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from cases import Work, Works
from families.machine import ELEMENTS, GEMMS, SCAN, byte_matrix, floats


def works() -> Works:
    def case(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Work]:
        def prepare() -> Work:
            arrays = tuple(jnp.asarray(floats(*shape)) for shape in shapes)
            return Work(jax.jit(function), arrays, wait=jax.block_until_ready)

        return prepare

    def scan() -> Work:
        def body(x: Any, a: Any, b: Any) -> Any:
            return lax.fori_loop(0, SCAN, lambda _, x: x * a + b, x)

        numbers = (jnp.float32(1), jnp.float32(0.999), jnp.float32(0.5))
        return Work(jax.jit(body), numbers, steps=SCAN, wait=jax.block_until_ready)

    return {
        **{f"gemm_{n}": case(jnp.matmul, (n, n), (n, n)) for n in GEMMS},
        "gemm_bytes_1024": lambda: Work(
            jax.jit(lambda x: jnp.matmul(x, x, preferred_element_type=jnp.int32)),
            (jnp.asarray(byte_matrix(1024)),),
            wait=jax.block_until_ready,
        ),
        "scale": case(lambda x: 2.0 * x + 1.0, (ELEMENTS,)),
        "add": case(jnp.add, (ELEMENTS,), (ELEMENTS,)),
        "sum": case(jnp.sum, (ELEMENTS,)),
        "scan": scan,
    }
