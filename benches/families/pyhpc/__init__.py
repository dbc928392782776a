"""Three kernels of ocean models, after https://github.com/dionhaefner/pyhpc-benchmarks.

The mathematics is that of the sources named at each kernel. Every framework gets the same arrays of doubles;
a halo of two cells around the horizontal axes holds zeros in every result.
"""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cases import Case

F64 = npt.NDArray[np.float64]

TEXT: Final = (
    "The three kernels of [pyhpc-benchmarks](https://github.com/dionhaefner/pyhpc-benchmarks), written anew: "
    "one source for Penstock, JAX, PyTorch and NumPy, loops over elements for Numba. Doubles, in boxes of "
    "about so many cells."
)
SIZES: Final = {"4k": 1 << 12, "64k": 1 << 16, "1m": 1 << 20, "4m": 1 << 22}
KERNELS: Final = {
    "eos": "equation of state",
    "mixing": "isoneutral mixing",
    "tke": "turbulent kinetic energy",
}
CASES: Final = tuple(
    Case(f"{kernel}_{size}", f"{title}, {cells:,} cells", tolerance=1e-6, long=cells > 1 << 20)
    for kernel, title in KERNELS.items()
    for size, cells in SIZES.items()
)


def _shape(cells: int) -> tuple[int, int, int]:
    edge = cells ** (1 / 3)
    return math.ceil(2 * edge), math.ceil(2 * edge), math.ceil(0.25 * edge)


def eos_inputs(cells: int) -> tuple[F64, F64, F64]:
    """Absolute salinity [g/kg], conservative temperature [°C], pressure [dbar] of the levels."""
    rng = np.random.default_rng(17)
    shape = _shape(cells)
    salinity = rng.uniform(1e-2, 10, shape)
    temperature = rng.uniform(-12, 20, shape)
    return salinity, temperature, rng.uniform(0, 1000, (1, 1, shape[2]))


def _metrics(rng: np.random.Generator, shape: tuple[int, int, int]) -> list[F64]:
    """Sizes of the cells, shaped to broadcast: dxt, dxu, dyt, dyu, dzt, dzw, cost, cosu."""
    nx, ny, nz = shape
    x, y, z = (nx, 1, 1), (1, ny, 1), (1, 1, nz)
    sizes = [rng.uniform(0.8, 1.2, form) for form in (x, x, y, y, z, z)]
    return [*sizes, rng.uniform(0.5, 1.0, y), rng.uniform(0.5, 1.0, y)]


def mixing_inputs(cells: int) -> tuple[F64, ...]:
    """Four masks, the metrics, salinity, temperature, depth of the levels, diffusivity."""
    rng = np.random.default_rng(18)
    shape = _shape(cells)
    masks = [(rng.random(shape) < 0.8).astype(np.float64) for _ in range(4)]
    fields = [rng.standard_normal(shape) for _ in range(2)]
    depth, diffusivity = rng.uniform(0, 1000, (1, 1, shape[2])), rng.uniform(0, 1000, shape)
    return (*masks, *_metrics(rng, shape), *fields, depth, diffusivity)


def tke_inputs(cells: int) -> tuple[Any, ...]:
    """The state that a step of turbulent kinetic energy starts from.

    Velocities u, v, w; masks u, v, w; metrics; lowest level, viscosity, mixing length, forcing, that of the
    surface; the energy now and next, and its tendency before.
    """
    rng = np.random.default_rng(19)
    shape = _shape(cells)
    velocities = [rng.standard_normal(shape) for _ in range(3)]
    masks = [(rng.random(shape) < 0.8).astype(np.float64) for _ in range(3)]
    metrics = _metrics(rng, shape)
    lowest = rng.integers(0, shape[2], (*shape[:2], 1)).astype(np.int32)
    viscosity, length = rng.uniform(0, 1, shape), rng.uniform(0.5, 1.5, shape)
    forcing, surface = rng.standard_normal(shape), rng.standard_normal((*shape[:2], 1))
    energies = [rng.standard_normal(shape) for _ in range(3)]
    return (*velocities, *masks, *metrics, lowest, viscosity, length, forcing, surface, *energies)


INPUTS: Final = {"eos": eos_inputs, "mixing": mixing_inputs, "tke": tke_inputs}
