"""Ten kernels of scientific programs, after https://github.com/spcl/npbench.

What is computed, and in which precision, is what the kernels of that collection compute. Every framework has
the program that a user of it would write.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cases import Case

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

TEXT: Final = (
    "Ten kernels as in [NPBench](https://github.com/spcl/npbench), written anew for each framework as its "
    "users would. Doubles, but for the networks and the softmax. Numba's loops are parallel where they are "
    "independent."
)
CASES: Final = (
    Case("np_softmax", "softmax, 32×8×256×256"),
    Case("np_mandelbrot", "Mandelbrot set, 250×250, 100 rounds"),
    Case("np_jacobi_2d", "Jacobi, 350×350, 80 double steps", tolerance=1e-6),
    Case("np_hdiff", "horizontal diffusion, 128×128×80", tolerance=1e-6),
    Case("np_vadv", "vertical advection, 112×112×80", tolerance=1e-6),
    Case("np_nbody", "50 bodies, 200 steps, with energies", tolerance=1e-4),
    Case("np_go_fast", "trace of tanh added to a matrix, 2000×2000", tolerance=1e-6),
    Case("np_azimint", "azimuthal integration, 400,000 points, 100 bins", tolerance=1e-6),
    Case("np_mlp", "perceptron 3-10000-1000-1000, batch 8"),
    Case("np_lenet", "LeNet-5, 8 images of 56×56"),
)

# Mandelbrot: the window, the points along an edge, rounds, and the distance beyond which a point has escaped.
MANDELBROT: Final = (-1.75, 0.25, -1.0, 1.0)
MANDELBROT_SIZE, MANDELBROT_ROUNDS, HORIZON = 250, 100, 2.0
JACOBI_STEPS: Final = 80
VADV_STEP: Final = 3.0 / 20.0
BODIES, BODY_STEPS, BODY_STEP, SOFTENING = 50, 200, 0.02, 0.1
BINS: Final = 100


def _rng() -> np.random.Generator:
    return np.random.default_rng(42)


def softmax_inputs() -> tuple[F32, ...]:
    return (_rng().random((32, 8, 256, 256), dtype=np.float32),)


def mandelbrot_inputs() -> tuple[F64, ...]:
    """Real parts [1, x] and imaginary parts [y, 1] of the points."""
    left, right, low, high = MANDELBROT
    x, y = np.linspace(left, right, MANDELBROT_SIZE), np.linspace(low, high, MANDELBROT_SIZE)
    return x[None, :], y[:, None]


def jacobi_2d_inputs() -> tuple[F64, ...]:
    n = 350
    i, j = np.mgrid[:n, :n].astype(np.float64)
    return i * (j + 2) / n, i * (j + 3) / n


def hdiff_inputs() -> tuple[F64, ...]:
    """The field with a border of two cells, and the coefficients."""
    rng = _rng()
    return rng.random((132, 132, 80)), rng.random((128, 128, 80))


def vadv_inputs() -> tuple[F64, ...]:
    """The tendency of the stage, velocity of the stage, vertical velocity, position, tendency."""
    rng = _rng()
    shapes = [(112, 112, 80), (112, 112, 80), (113, 112, 80), (112, 112, 80), (112, 112, 80)]
    return tuple(rng.random(shape) for shape in shapes)


def nbody_inputs() -> tuple[F64, ...]:
    """Masses [n, 1], positions [n, 3], velocities [n, 3] in the frame of the centre of mass."""
    rng = _rng()
    mass = 20.0 * np.ones((BODIES, 1)) / BODIES
    position, velocity = rng.random((BODIES, 3)), rng.random((BODIES, 3))
    return mass, position, velocity - (mass * velocity).mean(0) / mass.mean()


def go_fast_inputs() -> tuple[F64, ...]:
    return (_rng().random((2000, 2000)),)


def azimint_inputs() -> tuple[F64, ...]:
    """Data and radius of the points."""
    rng = _rng()
    return rng.random(400_000), rng.random(400_000)


def mlp_inputs() -> tuple[F32, ...]:
    """The batch, then weights and bias of three layers."""
    rng = _rng()
    arrays = [rng.random((8, 3), dtype=np.float32)]
    for before, after in ((3, 10_000), (10_000, 1000), (1000, 1000)):
        arrays.append(rng.random((before, after), dtype=np.float32) / np.float32(before))
        arrays.append(rng.random(after, dtype=np.float32))
    return tuple(arrays)


def lenet_inputs() -> tuple[F32, ...]:
    """Images, then filters and bias of two convolutions, weights and bias of three layers."""
    rng = _rng()
    shapes: list[tuple[int, ...]] = [(5, 5, 1, 6), (5, 5, 6, 16), (16 * 11 * 11, 120), (120, 84), (84, 10)]
    arrays = [rng.random((8, 56, 56, 1), dtype=np.float32)]
    for shape in shapes:
        arrays.append(rng.random(shape, dtype=np.float32) / np.float32(np.prod(shape[:-1])))
        arrays.append(rng.random(shape[-1], dtype=np.float32))
    return tuple(arrays)


INPUTS: Final[dict[str, Any]] = {
    "softmax": softmax_inputs,
    "mandelbrot": mandelbrot_inputs,
    "jacobi_2d": jacobi_2d_inputs,
    "hdiff": hdiff_inputs,
    "vadv": vadv_inputs,
    "nbody": nbody_inputs,
    "go_fast": go_fast_inputs,
    "azimint": azimint_inputs,
    "mlp": mlp_inputs,
    "lenet": lenet_inputs,
}
