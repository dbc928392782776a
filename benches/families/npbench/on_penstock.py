"""The kernels on Penstock."""

from collections.abc import Callable
from typing import Any

import penstock
from cases import Works
from families import npbench
from families.arrays import of_tensorflow
from families.npbench import shared

tf: Any = penstock


def mandelbrot(x: Any, y: Any) -> Any:
    c = tf.complex(x + tf.zeros_like(y), y + tf.zeros_like(x))
    z, n = tf.zeros_like(c), tf.zeros(c.shape, tf.int64)
    for i in tf.range(npbench.MANDELBROT_ROUNDS, dtype=tf.int64):
        inside = tf.abs(z) < npbench.HORIZON
        z, n = tf.where(inside, z * z + c, z), tf.where(inside, i, n)
    return tf.where(n == npbench.MANDELBROT_ROUNDS - 1, 0, n)


def jacobi_2d() -> Callable[..., Any]:
    """The kernel on two variables, which are changed in place."""
    a, b = (tf.Variable(x) for x in npbench.jacobi_2d_inputs())

    def kernel(first_a: Any, first_b: Any) -> Any:
        a.assign(first_a)
        b.assign(first_b)
        for _ in tf.range(npbench.JACOBI_STEPS):
            b[1:-1, 1:-1].assign(shared.fives(a))
            a[1:-1, 1:-1].assign(shared.fives(b))
        return a.read_value(), b.read_value()

    return kernel


def vadv(stage_tendency: Any, stage: Any, wind: Any, position: Any, tendency: Any) -> Any:
    step, levels = npbench.VADV_STEP, stage.shape[2]
    right = tf.unstack(step * position + tendency + stage_tendency, axis=2)
    winds, u = tf.unstack(wind[1:] + wind[:-1], axis=2), tf.unstack(stage, axis=2)
    cs: list[Any] = []
    ds: list[Any] = []
    for k in range(levels):
        following = min(k + 1, levels - 1)
        lower, diagonal, upper, side = shared.vadv_column(
            k, levels, step, u[k], winds[k], winds[following], u[k - 1], u[following], right[k]
        )
        pivot = diagonal - lower * cs[-1] if k else diagonal
        cs.append(upper / pivot)
        ds.append((side - lower * ds[-1] if k else side) / pivot)
    xs = [ds[-1]]
    for k in range(levels - 2, -1, -1):
        xs.append(ds[k] - cs[k] * xs[-1])
    return step * (tf.stack(xs[::-1], axis=2) - position)


def energies(position: Any, velocity: Any, mass: Any) -> tuple[Any, Any]:
    gaps = [tf.transpose(position[:, i : i + 1]) - position[:, i : i + 1] for i in range(3)]
    distance = tf.sqrt(gaps[0] ** 2 + gaps[1] ** 2 + gaps[2] ** 2)
    inverse = tf.math.reciprocal_no_nan(distance)
    pairs = tf.linalg.band_part(-(mass * tf.transpose(mass)) * inverse, 0, -1)
    return 0.5 * tf.reduce_sum(mass * velocity**2), tf.reduce_sum(pairs)


def nbody(mass: Any, position: Any, velocity: Any) -> Any:
    half = 0.5 * npbench.BODY_STEP

    def force_at(position: Any) -> Any:
        return tf.concat(shared.acceleration(position, mass, npbench.SOFTENING, tf.transpose), 1)

    force = force_at(position)
    kinetic = tf.TensorArray(tf.float64, npbench.BODY_STEPS)
    potential = tf.TensorArray(tf.float64, npbench.BODY_STEPS)
    for i in tf.range(npbench.BODY_STEPS):
        velocity += half * force
        position += npbench.BODY_STEP * velocity
        force = force_at(position)
        velocity += half * force
        moving, bound = energies(position, velocity, mass)
        kinetic, potential = kinetic.write(i, moving), potential.write(i, bound)
    return kinetic.stack(), potential.stack()


def azimint(data: Any, radius: Any) -> Any:
    edges = tf.reduce_max(radius) * tf.range(npbench.BINS + 1, dtype=tf.float64) / npbench.BINS

    def one(i: Any) -> Any:
        inside = (edges[i] <= radius) & (radius < edges[i + 1])
        total = tf.reduce_sum(tf.where(inside, data, 0.0))
        return total / tf.reduce_sum(tf.cast(inside, tf.float64))

    return tf.map_fn(one, tf.range(npbench.BINS), fn_output_signature=tf.float64)


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    x = tf.nn.relu(x @ w1 + b1)
    x = tf.nn.relu(x @ w2 + b2)
    return tf.nn.softmax(x @ w3 + b3)


def lenet(
    x: Any, c1: Any, b1: Any, c2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any, w5: Any, b5: Any
) -> Any:
    x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, c1, 1, "VALID") + b1), 2, 2, "VALID")
    x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, c2, 1, "VALID") + b2), 2, 2, "VALID")
    x = tf.nn.relu(tf.reshape(x, [x.shape[0], -1]) @ w3 + b3)
    x = tf.nn.relu(x @ w4 + b4)
    return x @ w5 + b5


def works() -> Works:
    kernels = {
        "softmax": tf.nn.softmax,
        "mandelbrot": mandelbrot,
        "jacobi_2d": jacobi_2d(),
        "hdiff": shared.hdiff(of_tensorflow(tf)),
        "vadv": vadv,
        "nbody": nbody,
        "go_fast": lambda a: a + tf.reduce_sum(tf.tanh(tf.linalg.diag_part(a))),
        "azimint": azimint,
        "mlp": mlp,
        "lenet": lenet,
    }
    return shared.works(kernels, tf.function, tf.constant)
