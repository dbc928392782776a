"""The frameworks measured side by side, one module each.

A module has `DISTRIBUTION`, `IMPORT`, `works()`, which returns a dict from a case's key to a function that
prepares its `Work`, and `to_numpy(result)`. A case that a framework has no fair counterpart for is left out.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Framework:
    """One column of the table.

    Attributes:
        key: Its name on the command line and in the results.
        title: The column's heading.
        module: The module in this package that implements the cases.
    """

    key: str
    title: str
    module: str


FRAMEWORKS: Final = (
    Framework("penstock", "Penstock", "on_penstock"),
    Framework("tensorflow", "TensorFlow", "on_tensorflow"),
    Framework("jax", "JAX", "on_jax"),
    Framework("torch", "PyTorch", "on_torch"),
    Framework("torch_compile", "torch.compile", "on_torch_compile"),
    Framework("numba", "Numba", "on_numba"),
    Framework("numpy", "NumPy", "on_numpy"),
)
