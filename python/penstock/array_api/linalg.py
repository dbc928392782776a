"""The `linalg` extension of the standard."""

from __future__ import annotations

import math

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._wrap import known_rank, sizes
from penstock.array_api._arrays import Array, array, cast, new, operands, scalar_like
from penstock.array_api._linear_algebra import (
    matmul as matmul,
)
from penstock.array_api._linear_algebra import (
    matrices,
)
from penstock.array_api._linear_algebra import (
    matrix_transpose as matrix_transpose,
)
from penstock.array_api._linear_algebra import (
    tensordot as tensordot,
)
from penstock.array_api._linear_algebra import (
    vecdot as vecdot,
)
from penstock.array_api._manipulation import Axes, moveaxis
from penstock.array_api._reductions import reduced, sum

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements along an axis; the other dimensions broadcast.

    Raises:
        ValueError: where the axis is not of size 3, or out of range.

    >>> from penstock import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = operands("cross", "numeric", x1, x2)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    for name, x in (("x1", a), ("x2", b)):
        if known_rank(x)[-1] not in (3, None):
            raise ValueError(
                f"cross: argument '{name}' must have size 3 along axis {axis}, got {x.shape[-1]}"
            )
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i] for i in range(3)] for x in (a, b))
    product = raw_ops.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)
    return moveaxis(product, -1, axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Tensor:
    """The diagonal of each matrix: the main one, one above it, or, with a negative offset, one below it.

    A diagonal that lies outside of the matrix is empty.

    Raises:
        ValueError: for an array of rank below 2.

    >>> from penstock import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x = matrices(x, "diagonal", "any")
    m, n = sizes(x)[-2:]
    zero = _core._convert(0, _core.int64)
    down, right = (_core._convert(min(max(v, 0), 2**62), _core.int64) for v in (-offset, offset))
    height, width = (cast(_core._convert(v), _core.int64) for v in (m, n))
    length = raw_ops.maximum(raw_ops.minimum(height - down, width - right), zero)
    i = raw_ops.range(zero, length, _core._convert(1, _core.int64))
    flat = raw_ops.reshape(x, raw_ops.concat([raw_ops.shape(x)[:-2], raw_ops.fill([1], -1)], axis=0))
    if x.size == 0:
        dims = raw_ops.concat(
            [cast(raw_ops.shape(x)[:-2], _core.int64), raw_ops.reshape(length, [1])], axis=0
        )
        return new(raw_ops.fill(dims, scalar_like(0, x)))
    return new(raw_ops.gather(flat, (i + down) * width + i + right, axis=-1))


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sum of the diagonal of each matrix; arguments are those of `diagonal` and `sum`.

    >>> from penstock import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]])).tolist()
    5
    """
    return sum(diagonal(matrices(x, "trace", "numeric"), offset=offset), axis=-1, dtype=dtype)


def outer(x1: Array, x2: Array, /) -> Tensor:
    """The products of each element of one vector with each of another.

    Raises:
        ValueError: for arrays that are no vectors.

    >>> from penstock import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    a, b = operands("outer", "numeric", x1, x2)
    for name, x in (("x1", a), ("x2", b)):
        if len(known_rank(x)) != 1:
            raise ValueError(f"outer: argument '{name}' must be a vector, got shape {x.shape}")
    return new(raw_ops.mul(raw_ops.expand_dims(a, axis=1), b))


def vector_norm(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, ord: int | float = 2
) -> Tensor:
    """The norm of vectors along axes, or of all elements.

    Args:
        x: an array of a floating-point dtype.
        axis: the axes, whose elements are taken as one vector.
        keepdims: whether the axes stay, with size 1.
        ord: the order: `inf` for the greatest magnitude, `-inf` for the least, 0 for the number of elements
            that are not 0, else `p` of `sum(abs(x)**p)**(1/p)`.

    Raises:
        ValueError: for an axis out of range.

    >>> from penstock import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0])).tolist()
    5.0
    """
    x = raw_ops.abs(array(x, "vector_norm", "floating"))
    if ord == math.inf:
        return new(
            reduced("reduce_max", x, axis, keepdims)
            if x.size != 0
            else reduced("reduce_sum", x, axis, keepdims)
        )
    if ord == -math.inf:
        return new(reduced("reduce_min", x, axis, keepdims))
    if ord == 0:
        return new(reduced("reduce_sum", cast(cast(x, _core.bool), x.dtype), axis, keepdims))
    if ord == 1:
        return new(reduced("reduce_sum", x, axis, keepdims))
    if ord == 2:
        return new(raw_ops.sqrt(reduced("reduce_sum", raw_ops.square(x), axis, keepdims)))
    powers = raw_ops.pow(x, scalar_like(float(ord), x))
    return new(raw_ops.pow(reduced("reduce_sum", powers, axis, keepdims), scalar_like(1 / ord, x)))


def matrix_power(x: Array, n: int, /) -> Tensor:
    """The product of `n` copies of each square matrix, of its inverse where `n` is negative.

    Raises:
        ValueError: for matrices that are not square.

    >>> from penstock import array_api as xp
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    x = matrices(x, "matrix_power", "numeric")
    rows, columns = known_rank(x)[-2:]
    if rows != columns:
        raise ValueError(f"matrix_power: argument 'x' must hold square matrices, got shape {x.shape}")
    if n < 0:
        x, n = inv(x), -n
    result: Tensor | None = None
    if n == 0:
        i = raw_ops.range(0, sizes(x)[-1], 1)
        one = cast(raw_ops.equal(raw_ops.expand_dims(i, axis=1), i), x.dtype)
        return new(raw_ops.broadcast_to(one, raw_ops.shape(x)))
    # Squares of squares, for the bits of the exponent.
    while True:
        if n & 1:
            result = x if result is None else raw_ops.matmul(result, x)
        n >>= 1
        if not n:
            return new(result if result is not None else x)
        x = raw_ops.matmul(x, x)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: int | float | str | None = "fro") -> Tensor:
    """The norm of each matrix.

    Args:
        x: matrices of a floating-point dtype.
        keepdims: whether the last two dimensions stay, with size 1.
        ord: `"fro"` or None for the Frobenius norm, `"nuc"` for the sum of the singular values, 2 and -2 for the
            greatest and the least of them, 1 and -1 for the greatest and the least sum of magnitudes of a
            column, `inf` and `-inf` for that of a row.

    Raises:
        ValueError: for another `ord`, or an array of rank below 2.

    >>> from penstock import array_api as xp
    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).tolist()
    5.0
    """
    x = matrices(x, "matrix_norm")
    if ord in (None, "fro"):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        op = {"nuc": "reduce_sum", 2: "reduce_max", -2: "reduce_min"}[ord]  # type: ignore[index]
        norm = reduced(op, values, -1, False)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = raw_ops.reduce_sum(raw_ops.abs(x), axes=[-2 if abs(ord) == 1 else -1])  # type: ignore[arg-type]
        norm = reduced("reduce_max" if ord > 0 else "reduce_min", sums, -1, False)  # type: ignore[operator]
    else:
        raise ValueError(
            f"matrix_norm: argument 'ord' must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}"
        )
    if keepdims:
        norm = raw_ops.expand_dims(raw_ops.expand_dims(norm, axis=-1), axis=-1)
    return new(norm)
