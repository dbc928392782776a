"""The ocean models on any framework that has arrays."""

from collections.abc import Callable
from typing import Any

from cases import Work, Works
from families.arrays import Arrays
from families.pyhpc import INPUTS, SIZES, eos, mixing, tke


def works(
    arrays: Arrays,
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]],
    to_array: Callable[[Any], Any],
    wait: Callable[[Any], Any] | None = None,
) -> Works:
    """The cases: each kernel compiled by the framework's own means, on its own arrays."""
    kernels = {
        "eos": eos.make(arrays.sqrt, arrays.log),
        "mixing": mixing.make(arrays),
        "tke": tke.make(arrays),
    }

    def case(kernel: str, cells: int) -> Callable[[], Work]:
        def prepare() -> Work:
            inputs = tuple(to_array(array) for array in INPUTS[kernel](cells))
            return Work(compiled(kernels[kernel]), inputs, wait=wait)

        return prepare

    return {f"{kernel}_{size}": case(kernel, cells) for kernel in kernels for size, cells in SIZES.items()}
