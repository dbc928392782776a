"""The kernels on JAX."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from cases import Works
from families import npbench
from families.arrays import of_numpy
from families.npbench import shared

jax.config.update("jax_enable_x64", True)


def mandelbrot(x: Any, y: Any) -> Any:
    c = x + 1j * y

    def body(i: Any, state: Any) -> Any:
        z, n = state
        inside = jnp.abs(z) < npbench.HORIZON
        return jnp.where(inside, z * z + c, z), jnp.where(inside, i, n)

    _, n = lax.fori_loop(
        0, npbench.MANDELBROT_ROUNDS, body, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int64))
    )
    return jnp.where(n == npbench.MANDELBROT_ROUNDS - 1, 0, n)


def jacobi_2d(a: Any, b: Any) -> Any:
    def body(_: Any, state: Any) -> Any:
        a, b = state
        b = b.at[1:-1, 1:-1].set(shared.fives(a))
        return a.at[1:-1, 1:-1].set(shared.fives(b)), b

    return lax.fori_loop(0, npbench.JACOBI_STEPS, body, (a, b))


def vadv(stage_tendency: Any, stage: Any, wind: Any, position: Any, tendency: Any) -> Any:
    step, levels = npbench.VADV_STEP, stage.shape[2]
    ones = jnp.arange(levels)[:, None, None]
    right = jnp.moveaxis(step * position + tendency + stage_tendency, 2, 0)
    winds = jnp.moveaxis(wind[1:] + wind[:-1], 2, 0)
    u = jnp.moveaxis(stage, 2, 0)
    lower = jnp.where(ones > 0, -0.125 * winds, 0.0)
    upper = jnp.where(ones < levels - 1, 0.125 * jnp.roll(winds, -1, 0), 0.0)
    right = right - lower * (jnp.roll(u, 1, 0) - u) - upper * (jnp.roll(u, -1, 0) - u)

    def forward(carry: Any, row: Any) -> Any:
        c, d = carry
        lower, upper, side = row
        pivot = step - lower - upper - lower * c
        carry = upper / pivot, (side - lower * d) / pivot
        return carry, carry

    def backward(x: Any, row: Any) -> Any:
        c, d = row
        x = d - c * x
        return x, x

    zero = jnp.zeros(stage.shape[:2])
    _, rows = lax.scan(forward, (zero, zero), (lower, upper, right))
    _, x = lax.scan(backward, zero, rows, reverse=True)
    return step * (jnp.moveaxis(x, 0, 2) - position)


def energies(position: Any, velocity: Any, mass: Any) -> tuple[Any, Any]:
    gaps = [position[:, i : i + 1].T - position[:, i : i + 1] for i in range(3)]
    distance = jnp.sqrt(gaps[0] ** 2 + gaps[1] ** 2 + gaps[2] ** 2)
    inverse = jnp.where(distance > 0, 1.0 / distance, 0.0)
    return 0.5 * jnp.sum(mass * velocity**2), jnp.sum(jnp.triu(-(mass * mass.T) * inverse, 1))


def nbody(mass: Any, position: Any, velocity: Any) -> Any:
    half = 0.5 * npbench.BODY_STEP

    def force_at(position: Any) -> Any:
        return jnp.hstack(shared.acceleration(position, mass, npbench.SOFTENING, jnp.transpose))

    def body(state: Any, _: Any) -> Any:
        position, velocity, force = state
        velocity = velocity + half * force
        position = position + npbench.BODY_STEP * velocity
        force = force_at(position)
        velocity = velocity + half * force
        return (position, velocity, force), energies(position, velocity, mass)

    return lax.scan(body, (position, velocity, force_at(position)), length=npbench.BODY_STEPS)[1]


def azimint(data: Any, radius: Any) -> Any:
    largest = radius.max()

    def one(i: Any) -> Any:
        inside = (largest * i / npbench.BINS <= radius) & (radius < largest * (i + 1) / npbench.BINS)
        return jnp.where(inside, data, 0.0).sum() / inside.sum()

    return lax.map(one, jnp.arange(npbench.BINS))


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    x = jax.nn.relu(x @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return jax.nn.softmax(x @ w3 + b3)


def conv2d(x: Any, filters: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, filters, (1, 1), "VALID", dimension_numbers=layout)


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def lenet(
    x: Any, c1: Any, b1: Any, c2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any, w5: Any, b5: Any
) -> Any:
    x = pool(jax.nn.relu(conv2d(x, c1) + b1))
    x = pool(jax.nn.relu(conv2d(x, c2) + b2))
    x = jax.nn.relu(x.reshape(len(x), -1) @ w3 + b3)
    x = jax.nn.relu(x @ w4 + b4)
    return x @ w5 + b5


def works() -> Works:
    kernels = {
        "softmax": jax.nn.softmax,
        "mandelbrot": mandelbrot,
        "jacobi_2d": jacobi_2d,
        "hdiff": shared.hdiff(of_numpy(jnp)),
        "vadv": vadv,
        "nbody": nbody,
        "go_fast": lambda a: a + jnp.tanh(jnp.diagonal(a)).sum(),
        "azimint": azimint,
        "mlp": mlp,
        "lenet": lenet,
    }
    return shared.works(kernels, jax.jit, jnp.asarray, jax.block_until_ready)
