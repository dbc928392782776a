"""Linear algebra."""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._ops.clipping import global_norm as global_norm
from penstock._ops.creation import eye as eye
from penstock._ops.decompositions import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    det as det,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
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
from penstock._ops.diagonals import (
    diag as diag,
    diag_part as diag_part,
    rows_and_columns,
    set_diag as set_diag,
)
from penstock._ops.einsum import einsum as einsum, tensordot as tensordot
from penstock._ops.normalization import l2_normalize as l2_normalize
from penstock._runtime.arguments import axes, axis_of, extents, known_rank, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.lazy_names import lazily as _lazily
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._ops.banded import (
        banded_triangular_solve as banded_triangular_solve,
        eigh_tridiagonal as eigh_tridiagonal,
        lu_matrix_inverse as lu_matrix_inverse,
        lu_reconstruct as lu_reconstruct,
        lu_solve as lu_solve,
        tridiagonal_matmul as tridiagonal_matmul,
        tridiagonal_solve as tridiagonal_solve,
    )
    from penstock._ops.matrix_functions import expm as expm, logm as logm, sqrtm as sqrtm
    from penstock._types.aliases import AxisLike, DTypeLike, IntLike, TensorLike
    from penstock.linalg._operators.base import (
        LinearOperator as LinearOperator,
    )
    from penstock.linalg._operators.circulant import (
        LinearOperatorCirculant as LinearOperatorCirculant,
        LinearOperatorCirculant2D as LinearOperatorCirculant2D,
        LinearOperatorCirculant3D as LinearOperatorCirculant3D,
        LinearOperatorToeplitz as LinearOperatorToeplitz,
    )
    from penstock.linalg._operators.composed import (
        LinearOperatorAdjoint as LinearOperatorAdjoint,
        LinearOperatorBlockDiag as LinearOperatorBlockDiag,
        LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
        LinearOperatorComposition as LinearOperatorComposition,
        LinearOperatorInversion as LinearOperatorInversion,
        LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
    )
    from penstock.linalg._operators.elementary import (
        LinearOperatorDiag as LinearOperatorDiag,
        LinearOperatorFullMatrix as LinearOperatorFullMatrix,
        LinearOperatorHouseholder as LinearOperatorHouseholder,
        LinearOperatorIdentity as LinearOperatorIdentity,
        LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
        LinearOperatorPermutation as LinearOperatorPermutation,
        LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
        LinearOperatorTridiag as LinearOperatorTridiag,
        LinearOperatorZeros as LinearOperatorZeros,
    )
    from penstock.linalg._operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "banded_triangular_solve",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
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
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]


@dispatched
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Multiply matrices, each pair where there are leading dimensions.

    Args:
        a: matrices, of rank 2 or more.
        b: matrices, of the dtype of `a` unless `output_type` is given.
        transpose_a: whether to transpose the matrices of `a` first.
        transpose_b: whether to transpose the matrices of `b` first.
        adjoint_a: whether to transpose and conjugate those of `a`.
        adjoint_b: whether to transpose and conjugate those of `b`.
        a_is_sparse: accepted and ignored.
        b_is_sparse: accepted and ignored.
        output_type: the dtype of the result. Matrices of `int8` and `uint8`, also one of each, are multiplied
            in `int32` as they are; others are cast to it first.
        grad_a: accepted and ignored.
        grad_b: accepted and ignored.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `a`, or of `output_type`, and of shape `[..., rows, columns]`; the leading
        dimensions broadcast.

    Raises:
        ValueError: where an operand is both transposed and adjoint.
        InvalidArgumentError: where inner sizes differ, or an operand has rank below 2.

    >>> import penstock as tf
    >>> tf.matmul([[1, 2]], [[3], [4]]).numpy().tolist()
    [[11]]
    >>> a = tf.cast([[100, 100]], "int8")
    >>> tf.matmul(a, a, transpose_b=True, output_type="int32").numpy().tolist()
    [[20000]]
    """
    if transpose_a and adjoint_a:
        raise InvalidArgumentError("only one of arguments 'transpose_a' and 'adjoint_a' can be true")
    if transpose_b and adjoint_b:
        raise InvalidArgumentError("only one of arguments 'transpose_b' and 'adjoint_b' can be true")
    if output_type is not None:
        dtype = _core.DType(output_type)
        a, b = _core._to_tensor(a), _core._to_tensor(b)
        if dtype == _core.int32 and {a.dtype, b.dtype} <= {_core.int8, _core.uint8}:
            return raw_ops.matmul_int32(
                a, b, transpose_a=transpose_a or adjoint_a, transpose_b=transpose_b or adjoint_b, name=name
            )
        a, b = raw_ops.cast(a, dtype=dtype), raw_ops.cast(b, dtype=dtype)
    return raw_ops.matmul(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
        name=name,
    )


@dispatched
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Multiply matrices and vectors.

    Args:
        a: matrices, of rank 2 or more.
        b: vectors along the last dimension.
        transpose_a: whether to transpose the matrices first.
        adjoint_a: whether to transpose and conjugate them.
        a_is_sparse: accepted and ignored.
        b_is_sparse: accepted and ignored.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `a` and of shape `[..., rows]`; the leading dimensions broadcast.

    Raises:
        InvalidArgumentError: where inner sizes differ, or `a` has rank below 2.

    >>> import penstock as tf
    >>> tf.linalg.matvec([[1, 2], [3, 4]], [1, 1]).numpy().tolist()
    [3, 7]
    """
    product = matmul(a, raw_ops.expand_dims(b, axis=-1), transpose_a=transpose_a, adjoint_a=adjoint_a)
    return raw_ops.squeeze(product, axes=[-1], name=name)


def _swap_last(x: _core.Tensor, name: str | None = None) -> _core.Tensor:
    rank = len(known_rank(x))
    if rank < 2:
        raise InvalidArgumentError(f"expected a matrix or a batch of matrices, got shape {x.shape}")
    return raw_ops.transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2], name=name)


@dispatched
def matrix_transpose(a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False) -> _core.Tensor:
    """Transpose each matrix; conjugate it too, if asked.

    Args:
        a: matrices, of shape `[..., m, n]` and known rank.
        name: a name for the result in a graph.
        conjugate: whether to conjugate as well.

    Returns:
        A tensor of the dtype of `a` and of shape `[..., n, m]`.

    Raises:
        ValueError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> tf.linalg.matrix_transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    x = _core._to_tensor(a)
    if conjugate and x.dtype.is_complex:
        return raw_ops.conj(_swap_last(x), name=name)
    return _swap_last(x, name)


@dispatched
def adjoint(matrix: TensorLike, name: str | None = None) -> _core.Tensor:
    """Transpose and conjugate each matrix.

    Args:
        matrix: matrices, of shape `[..., m, n]` and known rank.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `matrix` and of shape `[..., n, m]`.

    Raises:
        ValueError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> tf.linalg.adjoint([[1 + 2j]]).numpy().tolist()
    [[(1-2j)]]
    """
    return matrix_transpose(matrix, "adjoint" if name is None else name, conjugate=True)


@dispatched
def band_part(
    input: TensorLike, num_lower: IntLike, num_upper: IntLike, name: str | None = None
) -> _core.Tensor:
    """Set each matrix to 0 outside of a band around its diagonal.

    Args:
        input: matrices.
        num_lower: how many diagonals below the main one to keep; all where negative.
        num_upper: how many above it; all where negative.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> tf.linalg.band_part([[1, 2], [3, 4]], -1, 0).numpy().tolist()
    [[1, 0], [3, 4]]
    """
    x = _core._to_tensor(input)
    if isinstance(num_lower, int) and isinstance(num_upper, int):
        return raw_ops.matrix_band_part(x, lower=num_lower, upper=num_upper, name=name)
    rows, columns, _, _ = rows_and_columns(x)
    below = raw_ops.cast(_core._to_tensor(num_lower), dtype=_core.int64)
    above = raw_ops.cast(_core._to_tensor(num_upper), dtype=_core.int64)
    distance = raw_ops.cast(rows - columns, dtype=_core.int64)
    keep = raw_ops.logical_and(
        raw_ops.logical_or(below < 0, distance <= below),
        raw_ops.logical_or(above < 0, -distance <= above),
    )
    return raw_ops.select(keep, x, raw_ops.zeros_like(x), name=name)


@dispatched
def trace(x: TensorLike, name: str | None = None) -> _core.Tensor:
    """Sum the diagonal of each matrix.

    Args:
        x: matrices, of shape `[..., m, n]` and known rank.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `x` and of shape `[...]`.

    Raises:
        ValueError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> int(tf.linalg.trace([[1, 2], [3, 4]]))
    5
    """
    return raw_ops.reduce_sum(diag_part(x), axes=[-1], name=name)


@dispatched
def tensor_diag(diagonal: TensorLike, name: str | None = None) -> _core.Tensor:
    """Make a tensor of twice the rank, with given elements where both halves of a position agree.

    Args:
        diagonal: a tensor of known rank.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `diagonal` and of shape `[*diagonal.shape, *diagonal.shape]`, 0 elsewhere.

    Raises:
        ValueError: for a tensor of unknown rank.

    >>> import penstock as tf
    >>> tf.linalg.tensor_diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = _core._to_tensor(diagonal)
    dims = sizes(x)
    return raw_ops.reshape(diag(raw_ops.reshape(x, [-1])), extents(dims + dims), name=name)


@dispatched
def tensor_diag_part(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Take the elements of a tensor of even rank where both halves of the position are alike.

    Args:
        input: of shape `[*shape, *shape]`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `shape`.

    Raises:
        ValueError: where the rank is odd, or both halves of the shape differ.

    >>> import penstock as tf
    >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    """
    x = _core._to_tensor(input)
    dims = sizes(x)
    half = len(dims) // 2
    if len(dims) % 2 or not dims or not x.shape[:half].is_compatible_with(x.shape[half:]):
        raise InvalidArgumentError(f"argument 'input' must have a shape of two equal halves, got {x.shape}")
    count = raw_ops.reduce_prod(raw_ops.shape(x)[:half])
    square = raw_ops.reshape(x, raw_ops.stack([count, count]))
    return raw_ops.reshape(diag_part(square), extents(dims[:half]), name=name)


@scoped
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the cross product of vectors of 3 elements.

    Args:
        a: vectors of 3 elements along the last dimension.
        b: vectors of the same dtype; the other dimensions broadcast.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `a`, of the shape to which the operands broadcast.

    Raises:
        ValueError: for vectors of another length.

    >>> import penstock as tf
    >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    a = _core._to_tensor(a)
    b = _core._to_tensor_hinted(b, a.dtype)
    for argument, x in (("a", a), ("b", b)):
        if x.shape.rank == 0 or (x.shape.rank is not None and x.shape[-1] not in (3, None)):
            raise InvalidArgumentError(
                f"argument '{argument}' must have 3 elements along its last dimension, got shape {x.shape}"
            )
    forward, back = [1, 2, 0], [2, 0, 1]
    return raw_ops.gather(a, forward, axis=-1) * raw_ops.gather(b, back, axis=-1) - raw_ops.gather(
        a, back, axis=-1
    ) * raw_ops.gather(b, forward, axis=-1)


@scoped
def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the norm of vectors, or of matrices.

    Args:
        tensor: floating point or complex.
        ord: `"euclidean"` (for matrices the same as `"fro"`), 1, 2, `inf`, or for vectors any positive
            number.
        axis: the dimension of the vectors, a pair of them for matrices, or None to take all elements as one
            vector.
        keepdims: whether the dimensions stay, with size 1.
        name: a scope for the names of its operations in a graph.

    Returns:
        A real tensor without the dimensions of `axis`.

    Raises:
        ValueError: for another `ord` or `axis`.

    >>> import penstock as tf
    >>> tf.norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    """
    x = _core._to_tensor(tensor)
    keep = bool(keepdims)
    along = axes(axis)
    is_matrix = isinstance(axis, list | tuple) and len(axis) == 2
    if isinstance(axis, list | tuple) and not is_matrix:
        raise InvalidArgumentError(f"argument 'axis' must be None, an int or a pair of ints, got {axis!r}")
    if is_matrix and along is not None:
        rank = len(known_rank(x))
        along = [axis_of(a, rank) for a in along]
        if along[0] == along[1]:
            raise InvalidArgumentError(f"argument 'axis' must be two different dimensions, got {axis!r}")
    if isinstance(ord, str):
        if ord not in ("euclidean", "fro") or (ord == "fro" and not is_matrix and axis is not None):
            raise InvalidArgumentError(
                f"argument 'ord' must be 'euclidean', 'fro' or a positive number, got {ord!r}"
            )
        return raw_ops.sqrt(raw_ops.reduce_sum(_squared(x), axes=along, keepdims=keep))
    if not (isinstance(ord, int | float) and ord > 0):
        raise InvalidArgumentError(
            f"argument 'ord' must be 'euclidean', 'fro' or a positive number, got {ord!r}"
        )
    size = raw_ops.abs(x)
    if is_matrix and along is not None:
        if ord == 2:
            return _spectral_norm(x, along, keep)
        if ord not in (1, _math.inf):
            raise InvalidArgumentError(
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


@dispatched
def normalize(
    tensor: TensorLike, ord: str | float = "euclidean", axis: AxisLike = None, name: str | None = None
) -> tuple[_core.Tensor, _core.Tensor]:
    """Divide vectors, or matrices, by their norm.

    Args:
        tensor: floating point or complex.
        ord: as for `norm`.
        axis: as for `norm`.
        name: a name for the result in a graph.

    Returns:
        The tensor divided, of the shape and dtype of `tensor`; and the norm, with dimensions of size 1.

    Raises:
        ValueError: for another `ord` or `axis`.

    >>> import penstock as tf
    >>> unit, length = tf.linalg.normalize([3.0, 4.0])
    >>> length.numpy().tolist()
    [5.0]
    """
    x = _core._to_tensor(tensor)
    length = norm(x, ord, axis, True)
    return raw_ops.div(x, raw_ops.cast(length, dtype=x.dtype), name=name), length


__getattr__ = _lazily(
    __name__,
    {
        "LinearOperator": "linalg._operators.base",
        "LinearOperatorAdjoint": "linalg._operators.composed",
        "LinearOperatorBlockDiag": "linalg._operators.composed",
        "LinearOperatorBlockLowerTriangular": "linalg._operators.composed",
        "LinearOperatorCirculant": "linalg._operators.circulant",
        "LinearOperatorCirculant2D": "linalg._operators.circulant",
        "LinearOperatorCirculant3D": "linalg._operators.circulant",
        "LinearOperatorComposition": "linalg._operators.composed",
        "LinearOperatorDiag": "linalg._operators.elementary",
        "LinearOperatorFullMatrix": "linalg._operators.elementary",
        "LinearOperatorHouseholder": "linalg._operators.elementary",
        "LinearOperatorIdentity": "linalg._operators.elementary",
        "LinearOperatorInversion": "linalg._operators.composed",
        "LinearOperatorKronecker": "linalg._operators.kronecker",
        "LinearOperatorLowRankUpdate": "linalg._operators.composed",
        "LinearOperatorLowerTriangular": "linalg._operators.elementary",
        "LinearOperatorPermutation": "linalg._operators.elementary",
        "LinearOperatorScaledIdentity": "linalg._operators.elementary",
        "LinearOperatorToeplitz": "linalg._operators.circulant",
        "LinearOperatorTridiag": "linalg._operators.elementary",
        "LinearOperatorZeros": "linalg._operators.elementary",
        "banded_triangular_solve": "_ops.banded",
        "eigh_tridiagonal": "_ops.banded",
        "experimental": "linalg.experimental",
        "expm": "_ops.matrix_functions",
        "logm": "_ops.matrix_functions",
        "lu_matrix_inverse": "_ops.banded",
        "lu_reconstruct": "_ops.banded",
        "lu_solve": "_ops.banded",
        "sqrtm": "_ops.matrix_functions",
        "tridiagonal_matmul": "_ops.banded",
        "tridiagonal_solve": "_ops.banded",
    },
)
_publish(__name__)
