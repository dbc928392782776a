"""The functions of `keras.ops.linalg`."""

import math

import penstock as tf
from keras_penstock.src.core import shape
from keras_penstock.src.numpy.elementwise import isnan
from keras_penstock.src.numpy.manipulation import _axes
from keras_penstock.src.promotion import common, floating, tensor


def cholesky(a, upper=False):
    factor = tf.linalg.cholesky(floating(a))
    if not tf.is_symbolic_tensor(factor) and tf.reduce_any(isnan(factor)):
        raise ValueError("The matrix is not positive definite.")
    return tf.linalg.adjoint(factor) if upper else factor


def cholesky_inverse(a, upper=False):
    """The inverse of the matrix whose factor is `a`."""
    a = floating(a)
    lower = tf.linalg.adjoint(a) if upper else a
    return tf.linalg.cholesky_solve(lower, tf.eye(shape(a)[-1], batch_shape=shape(a)[:-2], dtype=a.dtype))


def det(a):
    return tf.linalg.det(floating(a))


def eig(a):
    return tuple(tf.linalg.eig(floating(a)))


def eigh(a):
    return tuple(tf.linalg.eigh(floating(a)))


def inv(a):
    return tf.linalg.inv(floating(a))


def lu_factor(a):
    """The triangular factors in one matrix, and the row that each row was exchanged with, in turn."""
    packed, permutation = tf.linalg.lu(floating(a))
    *lead, rows, columns = shape(packed)
    count = (
        min(rows, columns)
        if isinstance(rows, int) and isinstance(columns, int)
        else tf.minimum(rows, columns)
    )
    wanted = tf.reshape(permutation, [-1, rows])
    place = tf.range(rows)

    def exchange(i, order, pivots):
        # Where the row that comes to place `i` is now; the row that is there takes its place.
        wanted_row = tf.gather(wanted, [i], axis=1)
        is_target = tf.equal(order, wanted_row)
        pivot = tf.argmax(tf.cast(is_target, "int32"), axis=1, output_type="int32")
        current = tf.gather(order, [i], axis=1)
        order = tf.where(is_target, current, order)
        order = tf.where(tf.equal(place, i), wanted_row, order)
        return i + 1, order, tf.where(tf.equal(tf.range(count), i), tf.expand_dims(pivot, 1), pivots)

    order = tf.zeros_like(wanted) + place
    pivots = tf.zeros([shape(wanted)[0], count], "int32")
    _, _, pivots = tf.while_loop(lambda i, *_: i < count, exchange, (0, order, pivots))
    return packed, tf.reshape(pivots, [*lead, count])


def norm(x, ord=None, axis=None, keepdims=False):
    x = floating(x)
    rank = x.shape.rank
    axes = list(range(rank)) if axis is None else _axes(axis, rank)
    if axis is None and ord is None:
        return _vector_norm(x, 2, axes, keepdims)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Improper number of axes to the norm. Received: axis={axis}, x.shape={x.shape}")


def _vector_norm(x, ord, axes, keepdims):
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = tf.abs(x)
    if ord == math.inf:
        return tf.reduce_max(size, axis=axes, keepdims=keepdims)
    if ord == -math.inf:
        return tf.reduce_min(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return tf.cast(tf.math.count_nonzero(x, axis=axes, keepdims=keepdims), size.dtype)
    if ord == 1:
        return tf.reduce_sum(size, axis=axes, keepdims=keepdims)
    if ord == 2:
        return tf.sqrt(tf.reduce_sum(tf.square(size), axis=axes, keepdims=keepdims))
    return tf.pow(tf.reduce_sum(tf.pow(size, ord), axis=axes, keepdims=keepdims), 1 / ord)


# For each matrix norm how the sums of columns (or rows), or the singular values, are reduced.
_OF_SUMS = {
    1: (0, tf.reduce_max),
    -1: (0, tf.reduce_min),
    math.inf: (1, tf.reduce_max),
    -math.inf: (1, tf.reduce_min),
}
_OF_SINGULAR_VALUES = {2: tf.reduce_max, -2: tf.reduce_min, "nuc": tf.reduce_sum}


def _matrix_norm(x, ord, axes, keepdims):
    if ord is None or ord == "fro":
        return _vector_norm(x, 2, axes, keepdims)
    rank = x.shape.rank
    others = [a for a in range(rank) if a not in axes]
    matrices = tf.transpose(x, [*others, *axes])
    if ord in _OF_SUMS:
        summed, reduce = _OF_SUMS[ord]
        result = reduce(tf.reduce_sum(tf.abs(matrices), axis=rank - 2 + summed), axis=-1)
    elif ord in _OF_SINGULAR_VALUES:
        result = _OF_SINGULAR_VALUES[ord](tf.linalg.svd(matrices, compute_uv=False), axis=-1)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    for a in sorted(axes) if keepdims else []:
        result = tf.expand_dims(result, a)
    return result


def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError(
            "`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
            f"Received: mode={mode}"
        )
    return tuple(tf.linalg.qr(floating(x), full_matrices=mode == "complete"))


def _with_columns(solver, a, b):
    """`solver(a, b)` for matrices `b`, or for vectors, of which `b` has one axis less than `a`."""
    a, b = common(a, b, float)
    if b.shape.rank == a.shape.rank - 1:
        return tf.squeeze(solver(a, tf.expand_dims(b, -1)), [-1])
    return solver(a, b)


def solve(a, b):
    return _with_columns(tf.linalg.solve, a, b)


def solve_triangular(a, b, lower=False):
    return _with_columns(lambda a, b: tf.linalg.triangular_solve(a, b, lower=lower), a, b)


def svd(x, full_matrices=True, compute_uv=True):
    x = floating(x)
    if not compute_uv:
        return tf.linalg.svd(x, compute_uv=False)
    s, u, v = tf.linalg.svd(x, full_matrices=full_matrices)
    return u, s, tf.linalg.adjoint(v)


def lstsq(a, b, rcond=None):
    """The least solution of the least squares, by the pseudoinverse."""
    a, b = common(a, b, float)
    columns = tf.expand_dims(b, 1) if b.shape.rank == 1 else b
    if rcond is None:
        rcond = _epsilon(a) * max(a.shape[0], a.shape[1])
    u, s, vt = svd(a, full_matrices=False)
    kept = s > tf.cast(rcond, s.dtype) * s[:1]
    inverse = tf.where(kept, 1 / tf.where(kept, s, tf.ones_like(s)), tf.zeros_like(s))
    scaled = tf.expand_dims(tf.cast(inverse, a.dtype), 1) * tf.matmul(u, columns, adjoint_a=True)
    x = tf.matmul(vt, scaled, adjoint_a=True)
    return tf.squeeze(x, [1]) if b.shape.rank == 1 else x


def _epsilon(x):
    """The distance from 1 to the next number of the dtype."""
    return 2.0**-52 if x.dtype in ("float64", "complex128") else 2.0**-23


def matrix_rank(x, tol=None):
    return tf.linalg.matrix_rank(floating(x), tol)


def pinv(x, rcond=None):
    return tf.linalg.pinv(floating(x), rcond)


def matrix_power(a, n):
    """The product of `n` matrices `a`, by repeated squaring."""
    a = tensor(a)
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else tf.matmul(result, a)
        n >>= 1
        if n:
            a = tf.matmul(a, a)
    return tf.zeros_like(a) + tf.eye(shape(a)[-1], dtype=a.dtype) if result is None else result


def jvp(fun, primals, tangents, has_aux=False):
    primals = [tensor(x) for x in primals]
    tangents = [tensor(x) for x in tangents]
    with tf.autodiff.ForwardAccumulator(primals, tangents) as accumulator:
        out = fun(*primals)
        out, *aux = out if has_aux else (out,)
    return (out, accumulator.jvp(out), *aux)
