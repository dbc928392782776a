"""Decompositions of matrices, and the solution of systems of equations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, overload

from penstock import _core, raw_ops
from penstock._runtime.arguments import known_rank, named, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._types.records import LogMatrixDeterminant, Lu, Qr
from penstock.errors import DTypeError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = [
    "cholesky",
    "cholesky_solve",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "logdet",
    "lstsq",
    "lu",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "triangular_solve",
]


def _pair(a: Any, b: Any) -> tuple[_core.Tensor, _core.Tensor]:
    a = _core._to_tensor(a)
    return a, _core._to_tensor_hinted(b, a.dtype)


def _adjoint(x: _core.Tensor) -> _core.Tensor:
    rank = len(known_rank(x))
    x = raw_ops.transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2])
    return raw_ops.conj(x) if x.dtype.is_complex else x


def cholesky(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the lower triangular `l` with a positive diagonal for which `l l^H` is the matrix.

    Args:
        input: Hermitian positive definite matrices of shape `[..., n, n]`, `float32`, `float64` or complex.
            Only the lower triangle is read.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `input`; 0 above the diagonal, and NaN below it and on it for a
        matrix that is not positive definite.

    Raises:
        InvalidArgumentError: for matrices that are not square.

    >>> import penstock as tf
    >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return raw_ops.cholesky(input, name=name)


@dispatched
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> _core.Tensor:
    """Solve `a x = rhs` by the Cholesky factor of `a`.

    Args:
        chol: what `cholesky` gives, of shape `[..., n, n]`.
        rhs: of shape `[..., n, k]`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `chol` and of shape `[..., n, k]`.

    Raises:
        InvalidArgumentError: where the shapes do not fit.

    >>> import penstock as tf
    >>> factor = tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    >>> tf.linalg.cholesky_solve(factor, [[8.0], [8.0]]).numpy().round(5).tolist()
    [[1.5], [1.0]]
    """
    factor, b = _pair(chol, rhs)
    half = raw_ops.triangular_solve(factor, b, lower=True, adjoint=False)
    return raw_ops.triangular_solve(factor, half, lower=True, adjoint=True, name=name)


def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> _core.Tensor:
    """Solve `matrix x = rhs` for triangular matrices, by substitution.

    Args:
        matrix: of shape `[..., n, n]`; the other triangle is not read.
        rhs: of shape `[..., n, k]`. The dimensions before broadcast.
        lower: whether the lower triangle is the matrix, or the upper one.
        adjoint: whether the matrix is to be transposed and conjugated.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `matrix` and of shape `[..., n, k]`.

    Raises:
        InvalidArgumentError: where the shapes do not fit.

    >>> import penstock as tf
    >>> tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [[2.0], [9.0]]).numpy().tolist()
    [[1.0], [2.0]]
    """
    a, b = _pair(matrix, rhs)
    return raw_ops.triangular_solve(a, b, lower=bool(lower), adjoint=bool(adjoint), name=name)


def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> _core.Tensor:
    """Solve `matrix x = rhs` by elimination with partial pivoting.

    Args:
        matrix: of shape `[..., n, n]`.
        rhs: of shape `[..., n, k]`. The dimensions before broadcast.
        adjoint: whether the matrix is to be transposed and conjugated.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `matrix` and of shape `[..., n, k]`.

    Raises:
        InvalidArgumentError: where the shapes do not fit, or for a singular matrix.

    >>> import penstock as tf
    >>> tf.linalg.solve([[0.0, 2.0], [1.0, 1.0]], [[4.0], [3.0]]).numpy().tolist()
    [[1.0], [2.0]]
    """
    a, b = _pair(matrix, rhs)
    return raw_ops.matrix_solve(a, b, adjoint=bool(adjoint), name=name)


def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> _core.Tensor:
    """Invert each matrix, or its adjoint.

    Args:
        input: of shape `[..., n, n]`.
        adjoint: whether to transpose and conjugate.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        InvalidArgumentError: for matrices that are not square, or a singular one.

    >>> import penstock as tf
    >>> tf.linalg.inv([[2.0, 1.0], [1.0, 1.0]]).numpy().tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    if not adjoint:
        return raw_ops.matrix_inverse(input, name=name)
    return named(_adjoint(raw_ops.matrix_inverse(input)), name)


def det(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the determinant of each matrix.

    Args:
        input: of shape `[..., n, n]`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[...]`; 1 for matrices without elements.

    Raises:
        InvalidArgumentError: for matrices that are not square.

    >>> import penstock as tf
    >>> float(tf.linalg.det([[0.0, 2.0], [3.0, 4.0]]))
    -6.0
    """
    return raw_ops.matrix_determinant(input, name=name)


def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Compute the sign and the logarithm of the absolute value of determinants, which cannot overflow.

    Args:
        input: of shape `[..., n, n]`.
        name: a name for the result in a graph.

    Returns:
        `sign` and `log_abs_determinant`, of shape `[...]` and the dtype of `input`: 0 and minus infinity for
        a singular matrix. The sign of a complex determinant is a number of absolute value 1.

    Raises:
        InvalidArgumentError: for matrices that are not square.

    >>> import penstock as tf
    >>> sign, log = tf.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> float(sign), float(log)
    (-1.0, 0.0)
    """
    return LogMatrixDeterminant(*raw_ops.log_matrix_determinant(input, name=name))


@scoped
def logdet(matrix: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the logarithm of the determinant of Hermitian positive definite matrices.

    Args:
        matrix: of shape `[..., n, n]`.
        name: a scope for the names of its operations in a graph.

    Returns:
        Of shape `[...]`, real; NaN for a matrix that is not positive definite.

    Raises:
        InvalidArgumentError: for matrices that are not square.

    >>> import penstock as tf
    >>> float(tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]]))
    0.0
    """
    diagonal = raw_ops.matrix_diag_part(raw_ops.cholesky(matrix))
    if diagonal.dtype.is_complex:
        diagonal = raw_ops.real(diagonal)
    return 2.0 * raw_ops.reduce_sum(raw_ops.log(diagonal), axes=[-1])


def lu(input: TensorLike, output_idx_type: DTypeLike = _core.int32, name: str | None = None) -> Lu:
    """Factor each matrix as rows of `l u` in another order, by elimination with partial pivoting.

    Args:
        input: of shape `[..., m, n]`. The gradient takes matrices of unknown sizes for square.
        output_idx_type: the dtype of `p`, `int32` or `int64`.
        name: a name for the result in a graph.

    Returns:
        `lu`, of the shape of `input`, holds the upper factor on and above the diagonal, and below it the
        lower factor, whose diagonal is 1. `p`, of shape `[..., m]`: row `i` of the factors' product is row
        `p[i]` of the matrix.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> packed, p = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
    >>> packed.numpy().tolist(), p.numpy().tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    target = _core.DType(output_idx_type)
    if target not in (_core.int32, _core.int64):
        raise DTypeError(f"argument 'output_idx_type' must be int32 or int64, got {target.name}")
    packed, order = raw_ops.lu(input, name=name)
    return Lu(packed, raw_ops.cast(order, dtype=target))


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Factor `input` as `q r`, `q` with orthonormal columns and `r` upper triangular.

    Args:
        input: of shape `[..., m, n]`.
        full_matrices: whether `q` is square. There is no gradient then where `m` is greater than `n`.
        name: a name for the result in a graph.

    Returns:
        `q` of shape `[..., m, p]` and `r` of `[..., p, n]`, with `p` the smaller of `m` and `n`, or `m` if
        `full_matrices`.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> q, r = tf.linalg.qr([[0.0, 1.0], [2.0, 3.0]])
    >>> abs(r).numpy().tolist()
    [[2.0, 3.0], [0.0, 1.0]]
    """
    x = _core._to_tensor(input)
    m, n = _rows_and_columns(x)
    reduced = not full_matrices or (m is not None and n is not None and m <= n)
    return Qr(*(raw_ops.qr if reduced else raw_ops.qr_full)(x, name=name))


def _rows_and_columns(x: _core.Tensor) -> tuple[int | None, int | None]:
    dims = x.shape._dims
    if dims is None or len(dims) < 2:
        return None, None
    return dims[-2], dims[-1]


@overload
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: Literal[True] = True,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool = False, *, compute_uv: Literal[False], name: str | None = None
) -> _core.Tensor: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool, compute_uv: Literal[False], name: str | None = None
) -> _core.Tensor: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> _core.Tensor | tuple[_core.Tensor, _core.Tensor, _core.Tensor]: ...
def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> _core.Tensor | tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Compute singular values and vectors: `tensor = u diag(s) v^H`.

    Args:
        tensor: of shape `[..., m, n]`.
        full_matrices: whether `u` and `v` are square. There is no gradient then where `m` is not `n`.
        compute_uv: whether to give the vectors.
        name: a name for the result in a graph.

    Returns:
        `s`, real, of shape `[..., p]` with `p` the smaller of `m` and `n`, in descending order; and if
        `compute_uv` also `u` of `[..., m, p]` and `v` of `[..., n, p]`, or `[..., m, m]` and `[..., n, n]` if
        `full_matrices`. All is NaN for a matrix with an element that is not finite.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> s, u, v = tf.linalg.svd([[0.0, 2.0], [3.0, 0.0]])
    >>> s.numpy().round(5).tolist()
    [3.0, 2.0]
    """
    x = _core._to_tensor(tensor)
    if not compute_uv:
        return raw_ops.singular_values(x, name=name)
    m, n = _rows_and_columns(x)
    reduced = not full_matrices or (m is not None and m == n)
    return (raw_ops.svd if reduced else raw_ops.svd_full)(x, name=name)


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[_core.Tensor, _core.Tensor]:
    """Compute eigenvalues and eigenvectors of Hermitian matrices: `tensor = v diag(e) v^H`.

    Args:
        tensor: of shape `[..., n, n]`; only the lower triangle is read.
        name: a name for the results in a graph.

    Returns:
        `e` of shape `[..., n]`, in ascending order and of the dtype of `tensor`; and `v` of shape `[..., n,
        n]`, whose columns are the eigenvectors.

    Raises:
        InvalidArgumentError: for matrices that are not square, or elements that are not finite.

    >>> import penstock as tf
    >>> e, v = tf.linalg.eigh([[2.0, 0.0], [0.0, 1.0]])
    >>> e.numpy().tolist()
    [1.0, 2.0]
    """
    x = _core._to_tensor(tensor)
    e, v = raw_ops.self_adjoint_eig(x, name=name)
    return raw_ops.cast(e, dtype=x.dtype), v


def eigvalsh(tensor: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the eigenvalues of Hermitian matrices in ascending order, as `eigh`.

    Args:
        tensor: of shape `[..., n, n]`; only the lower triangle is read.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `tensor` and of shape `[..., n]`.

    Raises:
        InvalidArgumentError: for matrices that are not square, or elements that are not finite.

    >>> import penstock as tf
    >>> tf.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy().tolist()
    [1.0, 2.0]
    """
    x = _core._to_tensor(tensor)
    return raw_ops.cast(raw_ops.self_adjoint_eigvals(x), dtype=x.dtype, name=name)


def eig(tensor: TensorLike, name: str | None = None) -> tuple[_core.Tensor, _core.Tensor]:
    """Compute eigenvalues and eigenvectors of square matrices: `tensor v = v diag(e)`.

    Args:
        tensor: of shape `[..., n, n]`, `float32`, `float64` or complex.
        name: a name for the results in a graph.

    Returns:
        `e` of shape `[..., n]`, in no particular order, and `v` of shape `[..., n, n]`, whose columns are
        eigenvectors of length 1; both are complex. The gradient by `v` holds for functions that do not depend
        on the
        factor of absolute value 1 that each column has.

    Raises:
        InvalidArgumentError: for matrices that are not square, or elements that are not finite.

    >>> import penstock as tf
    >>> e, v = tf.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
    >>> sorted(e.numpy().imag.round(5).tolist())
    [-1.0, 1.0]
    """
    return raw_ops.eig(tensor, name=name)


def eigvals(tensor: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the eigenvalues of square matrices, as `eig`.

    Args:
        tensor: of shape `[..., n, n]`, `float32`, `float64` or complex.
        name: a name for the result in a graph.

    Returns:
        A complex tensor of shape `[..., n]`.

    Raises:
        InvalidArgumentError: for matrices that are not square, or elements that are not finite.

    >>> import penstock as tf
    >>> sorted(tf.linalg.eigvals([[2.0, 1.0], [0.0, 3.0]]).numpy().real.tolist())
    [2.0, 3.0]
    """
    return raw_ops.eigvals(tensor, name=name)


def _epsilon(dtype: _core.DType) -> float:
    """The distance of 1 from the next number of the real dtype."""
    return 2.0**-23 if dtype in (_core.float32, _core.complex64) else sys.float_info.epsilon


def _cut(s: _core.Tensor, relative: Any) -> _core.Tensor:
    """The size up to which singular values count as 0, for each matrix."""
    greatest = raw_ops.reduce_max(s, axes=[-1], keepdims=True)
    if relative.shape.rank != 0:
        relative = raw_ops.expand_dims(relative, axis=-1)
    return raw_ops.cast(relative, dtype=s.dtype) * greatest


def _longer(x: _core.Tensor) -> Any:
    m, n = sizes(x, 2)[-2:]
    if isinstance(m, int) and isinstance(n, int):
        return max(m, n)
    return raw_ops.maximum(*(_core._to_tensor(size, _core.int32) for size in (m, n)))


def _solved_by_singular_values(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    """The shortest `x` for which `a x` is nearest to `b`.

    Singular values count as 0 up to the dtype's epsilon times their number times the greatest, as in
    TensorFlow. The factors are applied one by one: their product, the inverse, would lose twice as many
    digits.
    """
    s, u, v = raw_ops.svd(a)
    limit = raw_ops.cast(_core._to_tensor(sizes(s)[-1]), dtype=s.dtype) * _epsilon(a.dtype)
    inverse = raw_ops.cast(_inverses(s, limit), dtype=u.dtype)
    return raw_ops.matmul(v, raw_ops.expand_dims(inverse, axis=-1) * raw_ops.matmul(u, b, adjoint_a=True))


@dispatched
def pinv(
    a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the Moore-Penrose inverse of each matrix, by its singular values.

    Args:
        a: of shape `[..., m, n]`, of known rank.
        rcond: singular values up to this times the greatest count as 0: a number, or of shape `[...]`. None
            is `10 * max(m, n)` times the dtype's epsilon.
        validate_args: accepted and ignored.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `a` and of shape `[..., n, m]`.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> tf.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    from penstock._autodiff.custom_gradient import custom_gradient  # it builds on operators

    def inverse(x: _core.Tensor) -> Any:
        def gradient(g: _core.Tensor) -> _core.Tensor:
            # Of the singular vectors there is none where two values are the same, such as two zeros.
            p, y = computed(x), _adjoint(g)
            h = _adjoint(p)
            left = raw_ops.matmul(raw_ops.matmul(y, p), h)
            right = raw_ops.matmul(raw_ops.matmul(h, p), y)
            both = raw_ops.matmul(raw_ops.matmul(h, g), h)
            return (
                left
                - raw_ops.matmul(x, raw_ops.matmul(p, left))
                + right
                - raw_ops.matmul(raw_ops.matmul(right, p), x)
                - both
            )

        return _pseudo_inverse(x, rcond, None), gradient

    computed: Any = custom_gradient(inverse)
    return named(computed(_core._to_tensor(a)), name)


def _pseudo_inverse(x: _core.Tensor, rcond: TensorLike | None, name: str | None) -> _core.Tensor:
    s, u, v = raw_ops.svd(x)
    if rcond is None:
        limit = raw_ops.cast(_core._to_tensor(_longer(x)), dtype=s.dtype) * (10.0 * _epsilon(x.dtype))
    else:
        limit = _core._to_tensor_hinted(rcond, s.dtype)
    inverse = _inverses(s, limit)
    scaled = v * raw_ops.expand_dims(raw_ops.cast(inverse, dtype=v.dtype), axis=-2)
    return raw_ops.matmul(scaled, u, adjoint_b=True, name=name)


def _inverses(s: _core.Tensor, relative: _core.Tensor) -> _core.Tensor:
    """The reciprocals of singular values, 0 for those up to a share of the greatest."""
    kept = s > _cut(s, relative)
    safe = raw_ops.select(kept, s, raw_ops.ones_like(s))
    return raw_ops.select(kept, raw_ops.reciprocal(safe), raw_ops.zeros_like(s))


@dispatched
def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> _core.Tensor:
    """Count the singular values of each matrix that are above a tolerance.

    Args:
        a: of shape `[..., m, n]`, of known rank.
        tol: the tolerance; None is the greatest singular value times `max(m, n)` times the dtype's epsilon.
        validate_args: accepted and ignored.
        name: a name for the result in a graph.

    Returns:
        An `int32` tensor of shape `[...]`.

    Raises:
        InvalidArgumentError: for a tensor of rank below 2.

    >>> import penstock as tf
    >>> int(tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    x = _core._to_tensor(a)
    s = raw_ops.singular_values(x)
    if tol is None:
        relative = raw_ops.cast(_core._to_tensor(_longer(x)), dtype=s.dtype) * _epsilon(x.dtype)
        tol = _cut(s, relative)
    else:
        tol = _core._to_tensor_hinted(tol, s.dtype)
        if tol.shape.rank != 0:
            tol = raw_ops.expand_dims(tol, axis=-1)
    return raw_ops.reduce_sum(raw_ops.cast(s > tol, dtype=_core.int32), axes=[-1], name=name)


@scoped
def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> _core.Tensor:
    """Find the `x` for which `matrix x` is nearest to `rhs`; of several the shortest.

    Args:
        matrix: of shape `[..., m, n]`.
        rhs: of shape `[..., m, k]`.
        l2_regularizer: the weight of the squared length of `x` in what is minimised.
        fast: whether to solve the normal equations by a Cholesky factor, which needs full rank and a square
            root of the precision; else by singular values, and `l2_regularizer` is ignored.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `matrix` and of shape `[..., n, k]`; NaN where `fast` and the normal
        equations are singular.

    Raises:
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> tf.linalg.lstsq([[0.0], [2.0]], [[1.0], [6.0]]).numpy().tolist()
    [[3.0]]
    """
    a, b = _pair(matrix, rhs)
    if not fast:
        return _solved_by_singular_values(a, b)
    weight = _core._to_tensor_hinted(l2_regularizer, a.dtype)
    m, n = _rows_and_columns(a)

    def tall() -> _core.Tensor:
        factor = raw_ops.cholesky(_regularized(raw_ops.matmul(a, a, adjoint_a=True), weight))
        return cholesky_solve(factor, raw_ops.matmul(a, b, adjoint_a=True))

    def wide() -> _core.Tensor:
        factor = raw_ops.cholesky(_regularized(raw_ops.matmul(a, a, adjoint_b=True), weight))
        return raw_ops.matmul(a, cholesky_solve(factor, b), adjoint_a=True)

    if m is None or n is None:
        from penstock._control.flow import cond  # loops of the graph build on this

        rows, columns = (_core._to_tensor(size, _core.int32) for size in sizes(a, 2)[-2:])
        return cond(rows >= columns, tall, wide)
    return tall() if m >= n else wide()


def _regularized(gram: _core.Tensor, weight: _core.Tensor) -> _core.Tensor:
    return raw_ops.matrix_set_diag(gram, raw_ops.matrix_diag_part(gram) + weight)
