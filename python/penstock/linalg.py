"""Linear algebra."""

from __future__ import annotations

import math as _math
from typing import Any

from penstock import _core, raw_ops
from penstock._array import eye as eye
from penstock._clip import global_norm as global_norm
from penstock._decompositions import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    det as det,
    eigh as eigh,
    eigvalsh as eigvalsh,
    inv as inv,
    logdet as logdet,
    lstsq as lstsq,
    lu as lu,
    matrix_rank as matrix_rank,
    pinv as pinv,
    qr as qr,
    slogdet as slogdet,
    solve as solve,
    svd as svd,
    triangular_solve as triangular_solve,
)
from penstock._einsum import einsum as einsum, tensordot as tensordot
from penstock._wrap import axes, axis_of, extents, integer, known_rank, sizes
from penstock.errors import UnimplementedError

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "logdet",
    "lstsq",
    "lu",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "triangular_solve",
]


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """The matrix product, of each pair of matrices where there are leading dimensions; those broadcast.

    Args:
        a: matrices, of rank 2 or more.
        b: matrices, of the dtype of `a`.
        transpose_a: whether to transpose the matrices of `a` first.
        transpose_b: whether to transpose the matrices of `b` first.
        adjoint_a: whether to transpose and conjugate those of `a`.
        adjoint_b: whether to transpose and conjugate those of `b`.
        a_is_sparse: accepted and ignored.
        b_is_sparse: accepted and ignored.
        output_type: a dtype to cast the operands to first.
        grad_a: accepted and ignored.
        grad_b: accepted and ignored.
        name: a name for the result.

    Raises:
        ValueError: where an operand is both transposed and adjoint.
        InvalidArgumentError: where inner sizes differ, or an operand has rank below 2.

    >>> matmul([[1, 2]], [[3], [4]]).numpy().tolist()
    [[11]]
    """
    if transpose_a and adjoint_a:
        raise ValueError("only one of arguments 'transpose_a' and 'adjoint_a' can be true")
    if transpose_b and adjoint_b:
        raise ValueError("only one of arguments 'transpose_b' and 'adjoint_b' can be true")
    if output_type is not None:
        a, b = (raw_ops.cast(x, dtype=_core.DType(output_type)) for x in (a, b))
    return raw_ops.matmul(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
        name=name,
    )


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """The product of matrices and vectors.

    Args:
        a: matrices, of rank 2 or more.
        b: vectors along the last dimension.
        transpose_a: whether to transpose the matrices first.
        adjoint_a: whether to transpose and conjugate them.
        a_is_sparse: accepted and ignored.
        b_is_sparse: accepted and ignored.
        name: ignored.

    >>> matvec([[1, 2], [3, 4]], [1, 1]).numpy().tolist()
    [3, 7]
    """
    product = matmul(a, raw_ops.expand_dims(b, axis=-1), transpose_a=transpose_a, adjoint_a=adjoint_a)
    return raw_ops.squeeze(product, axes=[-1])


def _swap_last(x: _core.Tensor) -> _core.Tensor:
    rank = len(known_rank(x))
    if rank < 2:
        raise ValueError(f"expected a matrix or a batch of matrices, got shape {x.shape}")
    return raw_ops.transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2])


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> _core.Tensor:
    """Each matrix, transposed; conjugated too, if asked.

    Raises:
        ValueError: for a tensor of rank below 2.

    >>> matrix_transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    x = _swap_last(_core._convert(a))
    return raw_ops.conj(x) if conjugate and x.dtype.is_complex else x


def adjoint(matrix: Any, name: str | None = None) -> _core.Tensor:
    """Each matrix, transposed and conjugated.

    >>> adjoint([[1 + 2j]]).numpy().tolist()
    [[(1-2j)]]
    """
    return matrix_transpose(matrix, conjugate=True)


def _rows_and_columns(x: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor, Any, Any]:
    """The index of the row of each element of a matrix, that of its column, and how many there are."""
    if len(known_rank(x)) < 2:
        raise ValueError(f"expected a matrix or a batch of matrices, got shape {x.shape}")
    m, n = sizes(x)[-2:]
    return raw_ops.expand_dims(raw_ops.range(0, m, 1), axis=1), raw_ops.range(0, n, 1), m, n


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> _core.Tensor:
    """Each matrix with zeros outside of a band around its diagonal.

    Args:
        input: matrices.
        num_lower: how many diagonals below the main one to keep; all where negative.
        num_upper: how many above it; all where negative.
        name: ignored.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> band_part([[1, 2], [3, 4]], -1, 0).numpy().tolist()
    [[1, 0], [3, 4]]
    """
    x = _core._convert(input)
    if isinstance(num_lower, int) and isinstance(num_upper, int):
        return raw_ops.matrix_band_part(x, lower=num_lower, upper=num_upper)
    rows, columns, _, _ = _rows_and_columns(x)
    below = raw_ops.cast(_core._convert(num_lower), dtype=_core.int32)
    above = raw_ops.cast(_core._convert(num_upper), dtype=_core.int32)
    keep = raw_ops.logical_and(
        raw_ops.logical_or(below < 0, rows - columns <= below),
        raw_ops.logical_or(above < 0, columns - rows <= above),
    )
    return raw_ops.select(keep, x, raw_ops.zeros_like(x))


def _one_diagonal(k: Any) -> int:
    if isinstance(k, list | tuple) or (isinstance(k, _core.Tensor) and k.shape.rank != 0):
        raise UnimplementedError("argument 'k' must be one diagonal, bands are not supported")
    return integer(k, "k")


def diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> _core.Tensor:
    """The diagonal of each matrix.

    Args:
        input: matrices.
        name: ignored.
        k: which diagonal: 0 is the main one, positive ones are above it.
        padding_value: accepted and ignored; one diagonal needs no padding.
        align: accepted and ignored.

    Raises:
        UnimplementedError: for a band of diagonals.
        ValueError: where the matrices have no such diagonal.

    >>> diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    """
    x = _core._convert(input)
    k = _one_diagonal(k)
    _, _, m, n = _rows_and_columns(x)
    _check_diagonal(k, m, n)
    length = raw_ops.minimum(m + min(k, 0), n - max(k, 0))
    i = raw_ops.range(0, length, 1)
    flat = raw_ops.reshape(x, extents([*sizes(x)[:-2], m * n]))
    return raw_ops.gather(flat, (i - min(k, 0)) * n + (i + max(k, 0)), axis=-1)


def _check_diagonal(k: int, m: Any, n: Any) -> None:
    if isinstance(m, int) and isinstance(n, int) and k != 0 and not -m < k < n:
        raise ValueError(f"argument 'k' is out of range: a matrix of {m} by {n} has no diagonal {k}")


def diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> _core.Tensor:
    """Matrices with the given diagonals.

    Args:
        diagonal: the elements of the diagonal, along the last dimension.
        name: ignored.
        k: which diagonal: 0 is the main one, positive ones are above it.
        num_rows: the number of rows; -1 for as many as are needed.
        num_cols: the number of columns; -1 for as many as are needed.
        padding_value: what stands elsewhere.
        align: accepted and ignored.

    Raises:
        UnimplementedError: for a band of diagonals.
        ValueError: where the diagonal does not fit the number of rows and columns.

    >>> diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = _core._convert(diagonal)
    k = _one_diagonal(k)
    length = sizes(x)[-1]
    m, n = integer(num_rows, "num_rows"), integer(num_cols, "num_cols")
    rows_needed, columns_needed = length - min(k, 0), length + max(k, 0)
    if m == n == -1:
        # Without a number the matrix is square.
        rows = columns = length + abs(k)
    else:
        rows, columns = (rows_needed if m == -1 else m), (columns_needed if n == -1 else n)
    if isinstance(length, int) and (
        rows < rows_needed
        or columns < columns_needed
        or (m != -1 and n != -1 and rows != rows_needed and columns != columns_needed)
    ):
        raise ValueError(
            f"a diagonal of {length} elements does not fit {rows} rows and {columns} columns at k={k}"
        )
    pad = _core._convert(padding_value, None, x.dtype)
    column_of = raw_ops.expand_dims(raw_ops.range(0, rows, 1), axis=1) + k
    on = raw_ops.equal(column_of, raw_ops.range(0, columns, 1))
    # Each row repeats its one element; those without one repeat any.
    i = raw_ops.range(0, rows, 1) + min(k, 0)
    source = raw_ops.maximum(raw_ops.minimum(i, length - 1), 0)
    if isinstance(length, int) and length == 0:
        return raw_ops.fill(extents([*sizes(x)[:-1], rows, columns]), pad)
    spread = raw_ops.expand_dims(raw_ops.gather(x, source, axis=-1), axis=-1)
    return raw_ops.select(on, spread, pad)


def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> _core.Tensor:
    """Each matrix with another diagonal.

    Args:
        input: matrices.
        diagonal: the new diagonals, along the last dimension.
        name: ignored.
        k: which diagonal: 0 is the main one, positive ones are above it.
        align: accepted and ignored.

    Raises:
        UnimplementedError: for a band of diagonals.

    >>> set_diag([[1, 2], [3, 4]], [0, 0]).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    x = _core._convert(input)
    diagonal = _core._convert(diagonal, None, x.dtype)
    k = _one_diagonal(k)
    rows, columns, m, n = _rows_and_columns(x)
    _check_diagonal(k, m, n)
    length = sizes(diagonal)[-1]
    if all(isinstance(v, int) for v in (m, n, length)) and length != min(m + min(k, 0), n - max(k, 0)):
        raise ValueError(
            f"argument 'diagonal' has {length} elements, diagonal {k} of {m} by {n} has another number"
        )
    if isinstance(length, int) and length == 0:
        return raw_ops.identity(x)
    i = raw_ops.range(0, m, 1) + min(k, 0)
    source = raw_ops.maximum(raw_ops.minimum(i, length - 1), 0)
    spread = raw_ops.expand_dims(raw_ops.gather(diagonal, source, axis=-1), axis=-1)
    return raw_ops.select(raw_ops.equal(rows + k, columns), spread, x)


def trace(x: Any, name: str | None = None) -> _core.Tensor:
    """The sum of the diagonal of each matrix.

    >>> int(trace([[1, 2], [3, 4]]))
    5
    """
    return raw_ops.reduce_sum(diag_part(x), axes=[-1])


def tensor_diag(diagonal: Any, name: str | None = None) -> _core.Tensor:
    """A tensor of twice the rank, with the elements of `diagonal` where both halves of a position agree.

    >>> tensor_diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = _core._convert(diagonal)
    dims = sizes(x)
    return raw_ops.reshape(diag(raw_ops.reshape(x, [-1])), extents(dims + dims))


def tensor_diag_part(input: Any, name: str | None = None) -> _core.Tensor:
    """The elements of a tensor of even rank where both halves of the position are alike.

    Raises:
        ValueError: where the rank is odd, or both halves of the shape differ.

    >>> tensor_diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    """
    x = _core._convert(input)
    dims = sizes(x)
    half = len(dims) // 2
    if len(dims) % 2 or not dims or not x.shape[:half].is_compatible_with(x.shape[half:]):
        raise ValueError(f"argument 'input' must have a shape of two equal halves, got {x.shape}")
    count = raw_ops.reduce_prod(raw_ops.shape(x)[:half])
    square = raw_ops.reshape(x, raw_ops.stack([count, count]))
    return raw_ops.reshape(diag_part(square), extents(dims[:half]))


def cross(a: Any, b: Any, name: str | None = None) -> _core.Tensor:
    """The cross product of vectors of 3 elements along the last dimension.

    >>> cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    a, b = _core._convert(a), _core._convert(b)
    for argument, x in (("a", a), ("b", b)):
        if x.shape.rank == 0 or (x.shape.rank is not None and x.shape[-1] not in (3, None)):
            raise ValueError(
                f"argument '{argument}' must have 3 elements along its last dimension, got shape {x.shape}"
            )
    forward, back = [1, 2, 0], [2, 0, 1]
    return raw_ops.gather(a, forward, axis=-1) * raw_ops.gather(b, back, axis=-1) - raw_ops.gather(
        a, back, axis=-1
    ) * raw_ops.gather(b, forward, axis=-1)


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """The norm of vectors, or of matrices.

    Args:
        tensor: floating point or complex.
        ord: `"euclidean"` (for matrices the same as `"fro"`), 1, 2, `inf`, or for vectors any positive
            number.
        axis: the dimension of the vectors, a pair of them for matrices, or None to take all elements as one
            vector.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Raises:
        ValueError: for another `ord` or `axis`.

    >>> norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    """
    x = _core._convert(tensor)
    keep = bool(keepdims)
    along = axes(axis)
    is_matrix = isinstance(axis, list | tuple) and len(axis) == 2
    if isinstance(axis, list | tuple) and not is_matrix:
        raise ValueError(f"argument 'axis' must be None, an int or a pair of ints, got {axis!r}")
    if is_matrix and along is not None:
        rank = len(known_rank(x))
        along = [axis_of(a, rank) for a in along]
        if along[0] == along[1]:
            raise ValueError(f"argument 'axis' must be two different dimensions, got {axis!r}")
    if isinstance(ord, str):
        if ord not in ("euclidean", "fro") or (ord == "fro" and not is_matrix and axis is not None):
            raise ValueError(f"argument 'ord' must be 'euclidean', 'fro' or a positive number, got {ord!r}")
        return raw_ops.sqrt(raw_ops.reduce_sum(_squared(x), axes=along, keepdims=keep))
    if not (isinstance(ord, int | float) and ord > 0):
        raise ValueError(f"argument 'ord' must be 'euclidean', 'fro' or a positive number, got {ord!r}")
    size = raw_ops.abs(x)
    if is_matrix and along is not None:
        if ord == 2:
            return _spectral_norm(x, along, keep)
        if ord not in (1, _math.inf):
            raise ValueError(
                f"argument 'ord' must be 'euclidean', 'fro', 1, 2 or inf for matrices, got {ord!r}"
            )
        summed, greatest = along if ord == 1 else along[::-1]
        result = raw_ops.reduce_max(
            raw_ops.reduce_sum(size, axes=[summed], keepdims=True), axes=[greatest], keepdims=True
        )
        return result if keep else raw_ops.squeeze(result, axes=sorted(along))
    if ord == _math.inf:
        return raw_ops.reduce_max(size, axes=along, keepdims=keep)
    if ord == 1:
        return raw_ops.reduce_sum(size, axes=along, keepdims=keep)
    if ord == 2:
        return raw_ops.sqrt(raw_ops.reduce_sum(_squared(x), axes=along, keepdims=keep))
    return raw_ops.reduce_sum(size**ord, axes=along, keepdims=keep) ** (1.0 / ord)


def _spectral_norm(x: _core.Tensor, along: list[int], keep: bool) -> _core.Tensor:
    """The greatest singular value of the matrices along two dimensions."""
    rank = len(known_rank(x))
    others = [axis for axis in range(rank) if axis not in along]
    s = raw_ops.singular_values(raw_ops.transpose(x, perm=[*others, *along]))
    greatest = raw_ops.reduce_max(s, axes=[-1])
    if keep:
        for axis in sorted(along):
            greatest = raw_ops.expand_dims(greatest, axis=axis)
    return greatest


def _squared(x: _core.Tensor) -> _core.Tensor:
    return raw_ops.real(x * raw_ops.conj(x)) if x.dtype.is_complex else raw_ops.square(x)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[_core.Tensor, _core.Tensor]:
    """The tensor divided by its norm, and the norm with dimensions of size 1; arguments as for `norm`.

    >>> unit, length = normalize([3.0, 4.0])
    >>> length.numpy().tolist()
    [5.0]
    """
    x = _core._convert(tensor)
    length = norm(x, ord, axis, True)
    return x / raw_ops.cast(length, dtype=x.dtype), length
