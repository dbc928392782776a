"""The `linalg` extension of the standard."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._runtime.arguments import known_rank, sizes
from penstock._runtime.public_names import publish as _publish
from penstock.array_api._arrays import INDEX, Array, array, cast, is_scalar, new, operands, scalar_like
from penstock.array_api._data_types import finfo
from penstock.array_api._linear_algebra import (
    matmul as matmul,
    matrices,
    matrix_transpose as matrix_transpose,
    tensordot as tensordot,
    vecdot as vecdot,
)
from penstock.array_api._manipulation import Axes, moveaxis
from penstock.array_api._reductions import reduced, sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Tensor:
    """Compute the cross products of vectors of three elements along an axis; the other dimensions broadcast.

    Args:
        x1: an array.
        x2: an array.
        axis: the axis.

    Returns:
        An array of the shape that both broadcast to.

    Raises:
        ValueError: where the axis is not of size 3, or out of range.

    >>> from penstock import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = operands("cross", "numeric", x1, x2)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    for name, x in (("x1", a), ("x2", b)):
        if known_rank(x, 1)[-1] not in (3, None):
            raise ValueError(
                f"cross: argument '{name}' must have size 3 along axis {axis}, got {x.shape[-1]}"
            )
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i] for i in range(3)] for x in (a, b))
    product = raw_ops.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)
    return moveaxis(product, -1, axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Tensor:
    """Take a diagonal of each matrix.

    A diagonal that lies outside of the matrix is empty.

    Args:
        x: matrices: an array of at least two dimensions.
        offset: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
        An array of shape `(..., k)`, of the dtype of `x`.

    Raises:
        ValueError: for an array of rank below 2.

    >>> from penstock import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x = matrices(x, "diagonal", "any")
    m, n = sizes(x, 2)[-2:]
    zero = _core._to_tensor(0, _core.int64)
    down, right = (_core._to_tensor(min(max(v, 0), 2**62), _core.int64) for v in (-offset, offset))
    height, width = (cast(_core._to_tensor(v), _core.int64) for v in (m, n))
    length = raw_ops.maximum(raw_ops.minimum(height - down, width - right), zero)
    i = raw_ops.range(zero, length, _core._to_tensor(1, _core.int64))
    flat = raw_ops.reshape(x, raw_ops.concat([raw_ops.shape(x)[:-2], raw_ops.fill([1], -1)], axis=0))
    if x.size == 0:
        dims = raw_ops.concat(
            [cast(raw_ops.shape(x)[:-2], _core.int64), raw_ops.reshape(length, [1])], axis=0
        )
        return new(raw_ops.fill(dims, scalar_like(0, x)))
    return new(raw_ops.gather(flat, (i + down) * width + i + right, axis=-1))


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Sum a diagonal of each matrix.

    Args:
        x: matrices: an array of at least two dimensions.
        offset: the diagonal: 0 is the main one, positive ones are above it.
        dtype: the dtype to compute in, as for `sum`.

    Returns:
        An array without the last two dimensions.

    >>> from penstock import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]])).tolist()
    5
    """
    return sum(diagonal(matrices(x, "trace", "numeric"), offset=offset), axis=-1, dtype=dtype)


def outer(x1: Array, x2: Array, /) -> Tensor:
    """Multiply each element of one vector with each of another.

    Args:
        x1: a vector.
        x2: a vector.

    Returns:
        A matrix.

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
    """Compute the norm of vectors along axes, or of all elements.

    Args:
        x: an array of a floating-point dtype.
        axis: the axes, whose elements are taken as one vector.
        keepdims: whether the axes stay, with size 1.
        ord: the order: `inf` for the greatest magnitude, `-inf` for the least, 0 for the number of elements
            that are not 0, else `p` of `sum(abs(x)**p)**(1/p)`.

    Returns:
        A real array, without the axes.

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
    """Multiply copies of each square matrix, of its inverse where `n` is negative.

    Args:
        x: matrices: an array of at least two dimensions.
        n: how many copies.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: for matrices that are not square.

    >>> from penstock import array_api as xp
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    x = matrices(x, "matrix_power", "numeric")
    rows, columns = known_rank(x, 2)[-2:]
    if rows != columns:
        raise ValueError(f"matrix_power: argument 'x' must hold square matrices, got shape {x.shape}")
    if n < 0:
        x, n = inv(x), -n
    result: Tensor | None = None
    if n == 0:
        i = raw_ops.range(0, sizes(x, 1)[-1], 1)
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
    """Compute the norm of each matrix.

    Args:
        x: matrices of a floating-point dtype.
        keepdims: whether the last two dimensions stay, with size 1.
        ord: `"fro"` or None for the Frobenius norm, `"nuc"` for the sum of the singular values, 2 and -2 for
            the greatest and the least of them, 1 and -1 for the greatest and the least sum of magnitudes of a
            column, `inf` and `-inf` for that of a row.

    Returns:
        A real array, without the last two dimensions.

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
        op = {"nuc": "reduce_sum", 2: "reduce_max", -2: "reduce_min"}[ord]
        norm = reduced(op, values, -1, False)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = raw_ops.reduce_sum(raw_ops.abs(x), axes=[-2 if abs(ord) == 1 else -1])
        norm = reduced("reduce_max" if ord > 0 else "reduce_min", sums, -1, False)
    else:
        raise ValueError(
            f"matrix_norm: argument 'ord' must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}"
        )
    if keepdims:
        norm = raw_ops.expand_dims(raw_ops.expand_dims(norm, axis=-1), axis=-1)
    return new(norm)


# --- decompositions and solutions ---


class Eig(NamedTuple):
    """What `eig` finds."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class Eigh(NamedTuple):
    """What `eigh` finds."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """What `qr` finds."""

    Q: Tensor
    R: Tensor


class SlogDet(NamedTuple):
    """What `slogdet` finds."""

    sign: Tensor
    logabsdet: Tensor


class SVD(NamedTuple):
    """What `svd` finds."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _adjoint(x: Tensor) -> Tensor:
    transposed: Tensor = x.mT
    return raw_ops.conj(transposed) if x.dtype.is_complex else transposed


def _square(x: Array, function: str) -> Tensor:
    """An argument that must hold square matrices."""
    tensor = matrices(x, function)
    rows, columns = known_rank(tensor, 2)[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise ValueError(f"{function}: argument 'x' must hold square matrices, got shape {tensor.shape}")
    return tensor


def cholesky(x: Array, /, *, upper: bool = False) -> Tensor:
    """Compute the triangular factor of each Hermitian positive definite matrix.

    Args:
        x: the matrices, of which the lower triangle is read.
        upper: whether to give the upper factor `u`, of `x = u^H u`, in place of the lower, of `x = l l^H`.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: where a matrix is not positive definite.

    >>> from penstock import array_api as xp
    >>> xp.linalg.cholesky(xp.asarray([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    factor = raw_ops.cholesky(_square(x, "cholesky"))
    return new(_adjoint(factor) if upper else factor)


def det(x: Array, /) -> Tensor:
    """Compute the determinant of each square matrix; 1 of one without elements.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        An array without the last two dimensions.

    >>> from penstock import array_api as xp
    >>> xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 3.0]])).tolist()
    6.0
    """
    return new(raw_ops.matrix_determinant(_square(x, "det")))


def slogdet(x: Array, /) -> SlogDet:
    """Compute the sign, or phase, of the determinant of each square matrix and the logarithm of its size.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        `sign` and `logabsdet`, without the last two dimensions.

    >>> from penstock import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[-1.0]])).sign.tolist()
    -1.0
    """
    sign, logarithm = raw_ops.log_matrix_determinant(_square(x, "slogdet"))
    return SlogDet(new(sign), new(raw_ops.real(logarithm) if logarithm.dtype.is_complex else logarithm))


def eig(x: Array, /) -> Eig:
    """Compute the eigenvalues, in no particular order, and eigenvectors of each square matrix.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        `eigenvalues` and, as columns, `eigenvectors`; all complex.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.linalg.eig(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues).tolist()
    [2.0, 1.0]
    """
    values, vectors = raw_ops.eig(_square(x, "eig"))
    return Eig(new(values), new(vectors))


def eigvals(x: Array, /) -> Tensor:
    """Compute the eigenvalues of each square matrix, in no particular order.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        A complex array of shape `(..., n)`.

    >>> from penstock import array_api as xp
    >>> xp.real(xp.linalg.eigvals(xp.asarray([[2.0, 0.0], [0.0, 1.0]]))).tolist()
    [2.0, 1.0]
    """
    return new(raw_ops.eigvals(_square(x, "eigvals")))


def eigh(x: Array, /) -> Eigh:
    """Compute the eigenvalues, in ascending order, and eigenvectors of each Hermitian matrix.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        `eigenvalues`, real, and, as columns, `eigenvectors`.

    >>> from penstock import array_api as xp
    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    values, vectors = raw_ops.self_adjoint_eig(_square(x, "eigh"))
    return Eigh(new(values), new(vectors))


def eigvalsh(x: Array, /) -> Tensor:
    """Compute the eigenvalues of each Hermitian matrix, in ascending order.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        A real array of shape `(..., n)`.

    >>> from penstock import array_api as xp
    >>> xp.linalg.eigvalsh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 2.0]
    """
    return new(raw_ops.self_adjoint_eigvals(_square(x, "eigvalsh")))


def inv(x: Array, /) -> Tensor:
    """Invert each square matrix.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for a singular matrix.

    >>> from penstock import array_api as xp
    >>> xp.linalg.inv(xp.asarray([[2.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    return new(raw_ops.matrix_inverse(_square(x, "inv")))


def solve(x1: Array, x2: Array, /) -> Tensor:
    """Solve `x1 @ x = x2`; the leading dimensions broadcast.

    Args:
        x1: square matrices.
        x2: one vector, or matrices whose columns are the right-hand sides.

    Returns:
        The solutions, of the shape of `x2` after broadcasting.

    Raises:
        InvalidArgumentError: for a singular matrix.

    >>> from penstock import array_api as xp
    >>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    a, b = operands("solve", "floating", x1, x2)
    a = _square(a, "solve")
    is_vector = len(known_rank(b)) == 1
    b = raw_ops.expand_dims(b, axis=1) if is_vector else b
    solution = raw_ops.matrix_solve(a, b)
    return new(raw_ops.squeeze(solution, axes=[-1]) if is_vector else solution)


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QR:
    """Write each matrix as the product of one with orthonormal columns and an upper triangular one.

    Args:
        x: the matrices.
        mode: `"complete"` for a square `Q`; a `"reduced"` one has no more columns than `x`.

    Returns:
        `Q` and `R`.

    Raises:
        ValueError: for another mode.

    >>> from penstock import array_api as xp
    >>> xp.linalg.qr(xp.zeros((3, 2)), mode="complete").Q.shape
    (3, 3)
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: argument 'mode' must be 'reduced' or 'complete', got {mode!r}")
    q, r = (raw_ops.qr if mode == "reduced" else raw_ops.qr_full)(matrices(x, "qr"))
    return QR(new(q), new(r))


def svd(x: Array, /, *, full_matrices: bool = True) -> SVD:
    """Compute the singular value decomposition of each matrix, `U @ diag(S) @ Vh`.

    Args:
        x: the matrices.
        full_matrices: whether `U` and `Vh` are square; else they have as many columns, and rows, as there are
            singular values.

    Returns:
        `U` with orthonormal columns, the singular values `S` in descending order, and `Vh` with orthonormal
        rows.

    >>> from penstock import array_api as xp
    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    s, u, v = (raw_ops.svd_full if full_matrices else raw_ops.svd)(matrices(x, "svd"))
    return SVD(new(u), new(s), new(_adjoint(v)))


def svdvals(x: Array, /) -> Tensor:
    """Compute the singular values of each matrix, in descending order.

    Args:
        x: matrices: an array of at least two dimensions.

    Returns:
        A real array of shape `(..., k)`.

    >>> from penstock import array_api as xp
    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [4.0, 3.0]
    """
    return new(raw_ops.singular_values(matrices(x, "svdvals")))


def _cut(x: Tensor, values: Tensor, rtol: Any) -> Tensor:
    """The singular values up to which they count as 0, of each matrix, with a dimension of size 1 added."""
    if rtol is None:
        m, n = (cast(_core._to_tensor(d), values.dtype) for d in sizes(x, 2)[-2:])
        relative = raw_ops.maximum(m, n) * scalar_like(finfo(values.dtype).eps, values)
    elif is_scalar(rtol):
        relative = scalar_like(float(rtol), values)
    else:
        relative = raw_ops.expand_dims(
            cast(array(rtol, "rtol", "real floating", "rtol"), values.dtype), axis=-1
        )
    most = raw_ops.maximum(raw_ops.reduce_max(values, axes=[-1], keepdims=True), scalar_like(0, values))
    return most * relative


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Tensor:
    """Count the singular values of each matrix above `rtol` times the greatest.

    Args:
        x: the matrices.
        rtol: the threshold, one for all or one for each; by default the greater of both sizes times `eps`.

    Returns:
        Numbers, `int64`, without the last two dimensions.

    >>> from penstock import array_api as xp
    >>> xp.linalg.matrix_rank(xp.asarray([[1.0, 1.0], [1.0, 1.0]])).tolist()
    1
    """
    x = matrices(x, "matrix_rank")
    values = raw_ops.singular_values(x)
    return new(raw_ops.reduce_sum(cast(values > _cut(x, values, rtol), INDEX), axes=[-1]))


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Tensor:
    """Compute the pseudo-inverse of each matrix; singular values up to `rtol` times the greatest are 0.

    Args:
        x: matrices: an array of at least two dimensions.
        rtol: the threshold, one for all or one for each; by default the greater of both sizes times `eps`.

    Returns:
        An array of shape `(..., n, m)`.

    >>> from penstock import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    x = matrices(x, "pinv")
    s, u, v = raw_ops.svd(x)
    kept = s > _cut(x, s, rtol)
    inverse = raw_ops.divide_no_nan(cast(kept, s.dtype), s)
    scaled = raw_ops.mul(v, cast(raw_ops.expand_dims(inverse, axis=-2), x.dtype))
    return new(raw_ops.matmul(scaled, _adjoint(u)))


_publish(__name__)
