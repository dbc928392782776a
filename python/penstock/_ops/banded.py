"""Matrices with few diagonals, and factored matrices: products, solutions, eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, pad, transpose
from penstock._ops.creation import eye, range as range_of
from penstock._ops.decompositions import eigh, eigvalsh, triangular_solve
from penstock._ops.diagonals import diag, diag_part
from penstock._ops.indexing import gather, where
from penstock._ops.segments import invert_permutation
from penstock._runtime.arguments import integer, known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock._types.aliases import TensorLike

__all__ = [
    "banded_triangular_solve",
    "eigh_tridiagonal",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]


def _three(diagonals: Any, diagonals_format: str) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """The diagonals above, on and below the main one, each of `n` elements that stand in their rows.

    Raises:
        ValueError: for another format, or diagonals of other shapes.
    """
    if diagonals_format == "compact":
        compact = _core._to_tensor(diagonals)
        if len(known_rank(compact, 2)) < 2 or compact.shape[-2] not in (3, None):
            raise InvalidArgumentError(
                f"argument 'diagonals' must have shape [..., 3, n], got {compact.shape}"
            )
        upper, main, lower = (compact[..., i, :] for i in range(3))
        return upper, main, lower
    if diagonals_format == "matrix":
        matrix = _core._to_tensor(diagonals)
        if len(known_rank(matrix)) < 2:
            raise InvalidArgumentError(
                f"argument 'diagonals' must be square matrices, got shape {matrix.shape}"
            )
        main = diag_part(matrix)
        beside = main.shape[-1] != 1
        parts: Any = [diag_part(matrix, k=k) if k == 0 or beside else main[..., :0] for k in (1, 0, -1)]
    elif diagonals_format == "sequence":
        if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
            raise InvalidArgumentError("argument 'diagonals' must be three tensors for the format 'sequence'")
        parts = [_core._to_tensor(part) for part in diagonals]
    else:
        raise InvalidArgumentError(
            f"argument 'diagonals_format' must be 'compact', 'matrix' or 'sequence', got {diagonals_format!r}"
        )
    upper, main, lower = parts
    size = sizes(main)[-1]
    edges = [[0, 0]] * (len(known_rank(main)) - 1)
    if diagonals_format == "matrix" or _shorter(upper, size):
        upper = pad(upper, [*edges, [0, 1]])
    if diagonals_format == "matrix" or _shorter(lower, size):
        lower = pad(lower, [*edges, [1, 0]])
    return upper, main, lower


def _shorter(part: _core.Tensor, size: Any) -> bool:
    """Whether a diagonal beside the main one has no element for the row where it has none."""
    return isinstance(size, int) and part.shape[-1] == size - 1


@scoped
def tridiagonal_matmul(
    diagonals: TensorLike | Sequence[TensorLike],
    rhs: TensorLike,
    diagonals_format: str = "compact",
    name: str | None = None,
) -> _core.Tensor:
    """Multiply matrices that have three diagonals.

    Args:
        diagonals: the diagonals above, on and below the main one: of shape `[..., 3, n]` (`"compact"`),
            where the last element of the first and the first of the last do not count; three tensors
            (`"sequence"`); or whole matrices (`"matrix"`).
        rhs: of shape `[..., n, k]`.
        diagonals_format: the form of `diagonals`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `rhs`.

    Raises:
        ValueError: for another format, or tensors of other shapes.

    >>> import penstock as tf
    >>> tf.linalg.tridiagonal_matmul([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 3.0, 3.0]], tf.eye(3)).numpy()
    array([[2., 1., 0.],
           [3., 2., 1.],
           [0., 3., 2.]], dtype=float32)
    """
    upper, main, lower = _three(diagonals, diagonals_format)
    x = _core._to_tensor_hinted(rhs, main.dtype)
    edges = [[0, 0]] * (len(known_rank(x, 2)) - 2)
    behind = pad(x[..., 1:, :], [*edges, [0, 1], [0, 0]])
    before = pad(x[..., :-1, :], [*edges, [1, 0], [0, 0]])
    # The elements that do not count meet zeros, unless they are infinite or NaN.
    size = sizes(main)[-1]
    places = range_of(size)
    upper = where(places < size - 1, upper, raw_ops.zeros_like(upper))
    lower = where(places > 0, lower, raw_ops.zeros_like(lower))
    return upper[..., None] * behind + main[..., None] * x + lower[..., None] * before


@scoped
def tridiagonal_solve(
    diagonals: TensorLike | Sequence[TensorLike],
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> _core.Tensor:
    """Solve systems of equations whose matrices have three diagonals, in time of the length.

    Args:
        diagonals: as for `tridiagonal_matmul`.
        rhs: the right sides, of shape `[..., n, k]`, or `[..., n]`.
        diagonals_format: the form of `diagonals`.
        transpose_rhs: whether `rhs` has shape `[..., k, n]`.
        conjugate_rhs: whether to conjugate `rhs` first.
        name: a scope for the names of its operations in a graph.
        partial_pivoting: whether rows are exchanged where that makes the pivot greater.
        perturb_singular: accepted; a singular matrix gives infinities or NaN.

    Returns:
        The solutions, of shape `[..., n, k]`, or `[..., n]`.

    Raises:
        ValueError: for another format, or tensors of other shapes.

    >>> import penstock as tf
    >>> diagonals = [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
    >>> tf.linalg.tridiagonal_solve(diagonals, [3.0, 4.0, 3.0]).numpy().round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    from penstock._control.functional import scan  # builds on this

    upper, main, lower = _three(diagonals, diagonals_format)
    right = _core._to_tensor_hinted(rhs, main.dtype)
    if conjugate_rhs:
        right = raw_ops.conj(right) if right.dtype.is_complex else right
    rank = len(known_rank(main))
    vectors = len(known_rank(right)) == rank
    if vectors:
        right = right[..., None]
    elif transpose_rhs:
        perm = list(range(rank + 1))
        right = transpose(right, [*perm[:-2], perm[-1], perm[-2]])
    # Both have the dimensions of the batch that they broadcast to.
    right = right + raw_ops.zeros_like(main[..., None])
    zero = raw_ops.zeros_like(main + raw_ops.reduce_sum(right[..., :0], axes=[-1]))
    main = main + zero
    rank = len(known_rank(main))
    size = sizes(main)[-1]
    places = range_of(size)
    upper, lower = where(places < size - 1, upper, zero), where(places > 0, lower, zero)

    # Rows come first: a row of the factor has three elements, that of the pivot and two to its right.
    def first(x: _core.Tensor, extra: int) -> _core.Tensor:
        dims = len(known_rank(x))
        return transpose(x, [dims - 1 - extra, *range(dims - 1 - extra), *range(dims - extra, dims)])

    u, d, low = (first(part, 0)[..., None] for part in (upper, main, lower))
    b = first(right, 1)
    u, d, low = (part + raw_ops.zeros_like(b) for part in (u, d, low))
    none = raw_ops.reduce_sum(b[:0], axes=[0])
    one = raw_ops.ones_like(none)

    def eliminate(rows: Any, following: Any) -> Any:
        """The row of a pivot, its right side behind, and the row below it, without the pivot's column."""
        _, (p, q, _, s) = rows
        d, u, low, b = following
        exchange = raw_ops.greater(raw_ops.abs(low), raw_ops.abs(p))
        if not partial_pivoting:
            exchange = raw_ops.zeros_like(exchange)
        pairs = ((low, p), (d, q), (u, none), (b, s))
        above = tuple(where(exchange, x, y) for x, y in pairs)
        below = tuple(where(exchange, y, x) for x, y in pairs)
        factor = below[0] / above[0]
        p, q, s = (x - factor * y for x, y in zip(below[1:], above[1:], strict=True))
        return above, (p, q, none, s)

    # The first row follows one without effect, and the last one has none to follow it.
    nothing = (one, none, none, none)
    above, below = scan(eliminate, (d, u, low, b), (nothing, nothing))
    rows = [concat([x[1:], y[-1:]], 0) for x, y in zip(above, below, strict=True)]

    def substitute(found: Any, row: Any) -> Any:
        """The unknowns of a row and of the one below it."""
        p, q, r, s = row
        return (s - q * found[0] - r * found[1]) / p, found[0]

    solved, _ = scan(substitute, tuple(rows), (none, none), reverse=True)
    dims = len(known_rank(solved))
    out = transpose(solved, [*range(1, dims - 1), 0, dims - 1])
    return out[..., 0] if vectors else out


@scoped
def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> _core.Tensor:
    """Solve systems of equations whose matrices are triangular, with some diagonals beside the main one.

    Args:
        bands: the diagonals of each matrix, one below the other, of shape `[..., k, n]`. For lower
            triangles the main diagonal comes first and elements stand in their rows of the matrix, the
            first ones of the others not counting; for upper triangles it comes last, and the last ones do
            not count.
        rhs: the right sides, of shape `[..., n, m]`.
        lower: whether the matrices are lower triangles.
        adjoint: whether to solve with the adjoint matrices.
        name: a scope for the names of its operations in a graph.

    Returns:
        The solutions, of the shape and dtype of `rhs`.

    Raises:
        ValueError: for bands of an unknown number of diagonals.

    >>> import penstock as tf
    >>> bands = [[2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
    >>> tf.linalg.banded_triangular_solve(bands, [[2.0], [3.0], [3.0]]).numpy().ravel().tolist()
    [1.0, 1.0, 1.0]
    """
    diagonals = _core._to_tensor(bands)
    x = _core._to_tensor_hinted(rhs, diagonals.dtype)
    count = known_rank(diagonals, 2)[-2]
    if count is None or count < 1:
        raise InvalidArgumentError(
            f"argument 'bands' must have a known number of rows, got shape {diagonals.shape}"
        )
    band = (1 - count, 0) if lower else (0, count - 1)
    if count == 1:
        matrix = diag(diagonals[..., 0, :])
    else:
        matrix = diag(diagonals, k=band, align="LEFT_RIGHT")
    return triangular_solve(matrix, x, lower, adjoint)


@scoped
def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: tuple[TensorLike, TensorLike] | None = None,
    tol: float | None = None,
    name: str | None = None,
) -> _core.Tensor | tuple[_core.Tensor, _core.Tensor]:
    """Compute eigenvalues of a Hermitian matrix with three diagonals.

    Args:
        alpha: the main diagonal, `n` real elements.
        beta: the diagonal beside it, `n - 1` elements.
        eigvals_only: whether to give the eigenvalues alone.
        select: `"a"` for all, `"i"` for those whose numbers, `"v"` for those whose values are in a range.
        select_range: the least and the greatest number, both included; or the bounds, of which the lower is
            not.
        tol: accepted; eigenvalues are as accurate as those of whole matrices.
        name: a scope for the names of its operations in a graph.

    Returns:
        The eigenvalues, ascending; and the eigenvectors as columns unless `eigvals_only`.

    Raises:
        ValueError: for another `select`, or one without its range.

    >>> import penstock as tf
    >>> tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy().round(4).tolist()
    [1.0, 3.0]
    """
    main = _core._to_tensor(alpha)
    beside = _core._to_tensor_hinted(beta, main.dtype)
    if select not in ("a", "i", "v"):
        raise InvalidArgumentError(f"argument 'select' must be 'a', 'i' or 'v', got {select!r}")
    if select != "a" and select_range is None:
        raise InvalidArgumentError(f"argument 'select_range' is needed where 'select' is {select!r}")
    if beside.dtype.is_complex:
        main = raw_ops.cast(main, dtype=beside.dtype)
    matrix = diag(main) + diag(beside, k=-1) + diag(_conjugate(beside), k=1)
    values, vectors = (eigvalsh(matrix), None) if eigvals_only else eigh(matrix)
    if select_range is not None and select != "a":
        low, high = select_range
        if select == "i":
            first, last = integer(low, "select_range"), integer(high, "select_range")
            key = slice(first, last + 1)
            values = values[..., key]
            vectors = None if vectors is None else vectors[..., key]
        else:
            inside = raw_ops.logical_and(
                raw_ops.greater(values, _core._to_tensor_hinted(low, values.dtype)),
                raw_ops.less_equal(values, _core._to_tensor_hinted(high, values.dtype)),
            )
            places = raw_ops.where_indices(inside)[:, 0]
            values = gather(values, places)
            vectors = None if vectors is None else gather(vectors, places, axis=-1)
    return values if vectors is None else (values, vectors)


def _conjugate(x: _core.Tensor) -> _core.Tensor:
    return raw_ops.conj(x) if x.dtype.is_complex else x


def _factors(lower_upper: Any) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Factors in one matrix, and each of them."""
    packed = _core._to_tensor(lower_upper)
    size = sizes(packed, 2)[-1]
    upper = raw_ops.matrix_band_part(packed, lower=0, upper=-1)
    lower = packed - upper + eye(size, dtype=packed.dtype)
    return packed, lower, upper


@scoped
def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> _core.Tensor:
    """Make the matrices again of which `lu` gave the factors.

    Args:
        lower_upper: the factors, of shape `[..., n, n]`.
        perm: the order of rows, of shape `[..., n]`.
        validate_args: accepted; shapes are always checked.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `lower_upper`.

    Raises:
        InvalidArgumentError: for tensors of other shapes.

    >>> import penstock as tf
    >>> tf.linalg.lu_reconstruct(*tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])).numpy().tolist()
    [[1.0, 2.0], [4.0, 4.0]]
    """
    _, lower, upper = _factors(lower_upper)
    return _rows(raw_ops.matmul(lower, upper), _inverse_order(perm))


def _inverse_order(perm: Any) -> _core.Tensor:
    order = _core._to_tensor(perm)
    return invert_permutation(order) if len(known_rank(order)) == 1 else raw_ops.argsort(order)


def _rows(x: _core.Tensor, order: _core.Tensor) -> _core.Tensor:
    """The rows of each matrix in an order."""
    leading = len(known_rank(order)) - 1
    if leading == 0:
        return gather(x, order, axis=-2)
    return gather(x, order, axis=leading, batch_dims=leading)


@scoped
def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Solve systems of equations of whose matrices `lu` gave the factors.

    Args:
        lower_upper: the factors, of shape `[..., n, n]`.
        perm: the order of rows, of shape `[..., n]`.
        rhs: the right sides, of shape `[..., n, k]`.
        validate_args: accepted; shapes are always checked.
        name: a scope for the names of its operations in a graph.

    Returns:
        The solutions, of the shape and dtype of `rhs`.

    Raises:
        InvalidArgumentError: for tensors of other shapes.

    >>> import penstock as tf
    >>> packed, order = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
    >>> tf.linalg.lu_solve(packed, order, [[3.0], [8.0]]).numpy().tolist()
    [[1.0], [1.0]]
    """
    packed, lower, upper = _factors(lower_upper)
    right = _core._to_tensor_hinted(rhs, packed.dtype)
    return triangular_solve(upper, triangular_solve(lower, _rows(right, _core._to_tensor(perm))), False)


@scoped
def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> _core.Tensor:
    """Invert matrices of which `lu` gave the factors.

    Args:
        lower_upper: the factors, of shape `[..., n, n]`.
        perm: the order of rows, of shape `[..., n]`.
        validate_args: accepted; shapes are always checked.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `lower_upper`.

    Raises:
        InvalidArgumentError: for tensors of other shapes.

    >>> import penstock as tf
    >>> tf.linalg.lu_matrix_inverse(*tf.linalg.lu([[1.0, 1.0], [0.0, 1.0]])).numpy()[0].tolist()
    [1.0, -1.0]
    """
    packed, _, _ = _factors(lower_upper)
    identity = raw_ops.zeros_like(packed) + eye(sizes(packed)[-1], dtype=packed.dtype)
    return lu_solve(packed, perm, identity)
