"""The kernels that are spelled alike on every framework that has arrays, and the making of cases."""

from collections.abc import Callable
from typing import Any

from cases import Work, Works
from families.arrays import Arrays
from families.npbench import INPUTS


def works(
    kernels: dict[str, Callable[..., Any]],
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]],
    to_array: Callable[[Any], Any],
    wait: Callable[[Any], Any] | None = None,
) -> Works:
    """The cases of these kernels, compiled by the framework's own means, on its own arrays."""

    def case(kernel: str) -> Callable[[], Work]:
        def prepare() -> Work:
            inputs = tuple(to_array(array) for array in INPUTS[kernel]())
            return Work(compiled(kernels[kernel]), inputs, wait=wait)

        return prepare

    return {f"np_{kernel}": case(kernel) for kernel in kernels}


def hdiff(a: Arrays) -> Callable[..., Any]:
    """Horizontal diffusion of the fourth order, its fluxes limited to those that smooth."""

    def limited(flux, gradient):
        return a.where(flux * gradient > 0.0, 0.0 * flux, flux)

    def kernel(field, coefficients):
        inner = field[1:-1, 1:-1]
        around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
        laplacian = 4.0 * inner - around
        x = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
        x = limited(x, inner[1:, 1:-1] - inner[:-1, 1:-1])
        y = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
        y = limited(y, inner[1:-1, 1:] - inner[1:-1, :-1])
        return inner[1:-1, 1:-1] - coefficients * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])

    return kernel


def acceleration(position: Any, mass: Any, softening: float, transpose: Callable[[Any], Any]) -> list[Any]:
    """The three components [n, 1] of what the bodies' gravity gives each of them."""
    gaps = [transpose(position[:, i : i + 1]) - position[:, i : i + 1] for i in range(3)]
    cube = (gaps[0] * gaps[0] + gaps[1] * gaps[1] + gaps[2] * gaps[2] + softening**2) ** -1.5
    return [(gap * cube) @ mass for gap in gaps]


def fives(x: Any) -> Any:
    """The mean of each inner cell and its four neighbours."""
    return 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])


def vadv_column(
    k: int,
    levels: int,
    step: float,
    stage: Any,
    wind: Any,
    wind_below: Any,
    before: Any,
    after: Any,
    right: Any,
) -> tuple[Any, Any, Any, Any]:
    """The row of the tridiagonal system at level k: beneath, on and above the diagonal, and the right side.

    Args:
        k: The level.
        levels: How many there are.
        step: The inverse step of time.
        stage: The velocity at this level.
        wind: The vertical velocity at this level, twice its mean over two columns.
        wind_below: The same one level further; unused at the last one.
        before: The velocity at the level before; unused at the first one.
        after: The velocity at the level behind; unused at the last one.
        right: The right side without its correction.
    """
    lower, upper, correction = 0.0, 0.0, 0.0
    if k > 0:
        lower = -0.125 * wind
        correction = correction - lower * (before - stage)
    if k < levels - 1:
        upper = 0.125 * wind_below
        correction = correction - upper * (after - stage)
    return lower, step - lower - upper, upper, right + correction
