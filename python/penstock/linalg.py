"""Linear algebra."""

from __future__ import annotations

import math as _math
from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING, Any

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
from penstock._ops.einsum import einsum as einsum, tensordot as tensordot
from penstock._runtime.arguments import axes, axis_of, extents, integer, known_rank, named, sizes
from penstock._runtime.public_names import publish as _publish
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, IntLike, TensorLike

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigvals",
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
        raise ValueError("only one of arguments 'transpose_a' and 'adjoint_a' can be true")
    if transpose_b and adjoint_b:
        raise ValueError("only one of arguments 'transpose_b' and 'adjoint_b' can be true")
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
        raise ValueError(f"expected a matrix or a batch of matrices, got shape {x.shape}")
    return raw_ops.transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2], name=name)


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


def _rows_and_columns(x: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor, Any, Any]:
    """The index of the row of each element of a matrix, that of its column, and how many there are."""
    if len(known_rank(x)) < 2:
        raise ValueError(f"expected a matrix or a batch of matrices, got shape {x.shape}")
    m, n = sizes(x, 2)[-2:]
    return raw_ops.expand_dims(raw_ops.range(0, m, 1), axis=1), raw_ops.range(0, n, 1), m, n


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
    rows, columns, _, _ = _rows_and_columns(x)
    below = raw_ops.cast(_core._to_tensor(num_lower), dtype=_core.int64)
    above = raw_ops.cast(_core._to_tensor(num_upper), dtype=_core.int64)
    distance = raw_ops.cast(rows - columns, dtype=_core.int64)
    keep = raw_ops.logical_and(
        raw_ops.logical_or(below < 0, distance <= below),
        raw_ops.logical_or(above < 0, -distance <= above),
    )
    return raw_ops.select(keep, x, raw_ops.zeros_like(x), name=name)


def _band(k: Any, argument: str = "k") -> tuple[int, int]:
    """The lowest and the highest of the diagonals that an argument names.

    Raises:
        ValueError: where it is neither a number nor a pair in order.
    """
    if isinstance(k, _core.Tensor) and k.shape.rank != 0:
        k = axes(k)
    if not isinstance(k, list | tuple):
        return integer(k, argument), integer(k, argument)
    if len(k) not in (1, 2):
        raise ValueError(f"argument '{argument}' must be a diagonal or a pair of them, got {k!r}")
    low, high = integer(k[0], argument), integer(k[-1], argument)
    if low > high:
        raise ValueError(f"argument '{argument}' must name the lower diagonal first, got {k!r}")
    return low, high


def _check_band(low: int, high: int, m: Any, n: Any) -> None:
    """Raises InvalidArgumentError where matrices of a known size have no such diagonals."""
    for k in (low, high):
        if isinstance(m, int) and isinstance(n, int) and k != 0 and not -m < k < n:
            raise InvalidArgumentError(
                f"argument 'k' is out of range: a matrix of {m} by {n} has no diagonal {k}"
            )


def _smaller(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else raw_ops.minimum(a, b)


def _indent(k: Any, m: Any, n: Any, longest: Any, align: str) -> Any:
    """How far from the left the elements of diagonals `k` begin in rows of `longest`."""
    if align not in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        raise ValueError(
            "argument 'align' must be 'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT' or 'RIGHT_RIGHT', "
            f"got {align!r}"
        )
    # The main diagonal is as long as any.
    above, below = (raw_ops.cast(side, dtype=_core.int32) for side in (k > 0, k < 0))
    right = (above if align.startswith("RIGHT") else 0) + (below if align.endswith("RIGHT") else 0)
    length = raw_ops.minimum(m + raw_ops.minimum(k, 0), n - raw_ops.maximum(k, 0))
    return right * (longest - length), length


def diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: IntLike | _Sequence[IntLike] = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> _core.Tensor:
    """Take a diagonal of each matrix, or a band of them.

    Args:
        input: matrices, of shape `[..., m, n]` and known rank.
        name: a name for the result in a graph.
        k: which diagonal: 0 is the main one, positive ones are above it. Of a pair, all from the first to the
            second.
        padding_value: what stands beside the diagonals of a band that are shorter than the longest.
        align: on which side the diagonals above the main one stand, and those below it: `"LEFT"` or `"RIGHT"`
            each.

    Returns:
        A tensor of the dtype of `input` and of shape `[..., length]`; of a band `[..., diagonals, longest]`,
        the highest first.

    Raises:
        InvalidArgumentError: where the matrices have no such diagonal.
        ValueError: for a `k` or `align` that is none.

    >>> import penstock as tf
    >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    >>> tf.linalg.diag_part([[1, 2], [3, 4]], k=(0, 1), padding_value=9).numpy().tolist()
    [[9, 2], [1, 4]]
    """
    x = _core._to_tensor(input)
    low, high = _band(k)
    _, _, m, n = _rows_and_columns(x)
    _check_band(low, high, m, n)
    if low == high == 0:
        return raw_ops.matrix_diag_part(x, name=name)
    longest = _smaller(m + min(high, 0), n - max(low, 0))
    of = raw_ops.expand_dims(raw_ops.range(high, low - 1, -1), axis=1)
    indent, length = _indent(of, m, n, longest, align)
    i = raw_ops.range(0, longest, 1) - indent
    inside = raw_ops.logical_and(i >= 0, i < length)
    place = (i - raw_ops.minimum(of, 0)) * n + i + raw_ops.maximum(of, 0)
    flat = raw_ops.reshape(x, extents([*sizes(x)[:-2], m * n]))
    found = raw_ops.gather(flat, raw_ops.select(inside, place, 0), axis=-1)
    if low == high:
        return raw_ops.squeeze(found, axes=[-2], name=name)
    return raw_ops.select(inside, found, _core._to_tensor_hinted(padding_value, x.dtype), name=name)


def _spread(
    diagonal: _core.Tensor, low: int, high: int, m: Any, n: Any, elsewhere: Any, align: str, name: str
) -> _core.Tensor:
    """Matrices with these diagonals, and elsewhere other elements."""
    count, longest = high - low + 1, sizes(diagonal, 1)[-1]
    rows, columns = raw_ops.expand_dims(raw_ops.range(0, m, 1), axis=1), raw_ops.range(0, n, 1)
    k = columns - rows
    inside = raw_ops.logical_and(k >= low, k <= high)
    indent, _ = _indent(k, m, n, longest, align)
    place = (high - k) * longest + raw_ops.minimum(rows, columns) + indent
    batch = sizes(diagonal)[: -1 if low == high else -2]
    flat = raw_ops.reshape(diagonal, extents([*batch, count * longest]))
    found = raw_ops.gather(flat, raw_ops.select(inside, place, 0), axis=-1)
    return raw_ops.select(inside, found, elsewhere, name=name)


def _check_count(diagonal: _core.Tensor, low: int, high: int, argument: str) -> None:
    """Raises InvalidArgumentError where a band has another number of diagonals than `k` says."""
    if low == high:
        return
    dims = known_rank(diagonal)
    count = high - low + 1
    if len(dims) < 2 or dims[-2] not in (count, None):
        raise InvalidArgumentError(
            f"argument '{argument}' must hold {count} diagonals, got shape {diagonal.shape}"
        )


def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: IntLike | _Sequence[IntLike] = 0,
    num_rows: IntLike = -1,
    num_cols: IntLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> _core.Tensor:
    """Make matrices with given diagonals.

    Args:
        diagonal: the elements of the diagonal, along the last dimension; of a band one below the other, as
            `diag_part` gives them. Of known rank.
        name: a name for the result in a graph.
        k: which diagonal: 0 is the main one, positive ones are above it. Of a pair, all from the first to the
            second.
        num_rows: the number of rows; -1 for as many as are needed.
        num_cols: the number of columns; -1 for as many as are needed.
        padding_value: what stands elsewhere.
        align: as for `diag_part`.

    Returns:
        A tensor of the dtype of `diagonal` and of shape `[..., rows, columns]`.

    Raises:
        InvalidArgumentError: where the diagonals do not fit the number of rows and columns, or are not as
            many.
        ValueError: for a `k` or `align` that is none.

    >>> import penstock as tf
    >>> tf.linalg.diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    >>> tf.linalg.diag([[9, 2], [1, 4]], k=(0, 1)).numpy().tolist()
    [[1, 2], [0, 4]]
    """
    x = _core._to_tensor(diagonal)
    low, high = _band(k)
    _check_count(x, low, high, "diagonal")
    longest = sizes(x, 1)[-1]
    m, n = integer(num_rows, "num_rows"), integer(num_cols, "num_cols")
    rows_needed, columns_needed = longest - min(high, 0), longest + max(low, 0)
    if m == n == -1:
        # Without a number the matrix is square.
        rows = columns = longest + max(-min(high, 0), max(low, 0))
    else:
        rows, columns = (rows_needed if m == -1 else m), (columns_needed if n == -1 else n)
    if isinstance(longest, int) and (
        rows < rows_needed
        or columns < columns_needed
        or (m != -1 and n != -1 and rows != rows_needed and columns != columns_needed)
    ):
        raise InvalidArgumentError(
            f"a diagonal of {longest} elements does not fit {rows} rows and {columns} columns at k={k}"
        )
    pad = _core._to_tensor_hinted(padding_value, x.dtype)
    if x.dtype == _core.bool:
        pad = raw_ops.cast(pad, dtype=x.dtype)
    if isinstance(longest, int) and longest == 0:
        batch = sizes(x)[: -1 if low == high else -2]
        return raw_ops.fill(extents([*batch, rows, columns]), pad, name=name)
    return _spread(x, low, high, rows, columns, pad, align, name)


def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: IntLike | _Sequence[IntLike] = 0,
    align: str = "RIGHT_LEFT",
) -> _core.Tensor:
    """Replace a diagonal of each matrix, or a band of them.

    Args:
        input: matrices, of shape `[..., m, n]` and known rank.
        diagonal: the new diagonals, along the last dimension; of a band one below the other, as `diag_part`
            gives them.
        name: a name for the result in a graph.
        k: which diagonal: 0 is the main one, positive ones are above it. Of a pair, all from the first to the
            second.
        align: as for `diag_part`.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        InvalidArgumentError: where the matrices have no such diagonal, or one of another length.
        ValueError: for a `k` or `align` that is none.

    >>> import penstock as tf
    >>> tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    x = _core._to_tensor(input)
    diagonal = _core._to_tensor_hinted(diagonal, x.dtype)
    low, high = _band(k)
    _, _, m, n = _rows_and_columns(x)
    _check_band(low, high, m, n)
    _check_count(diagonal, low, high, "diagonal")
    longest = sizes(diagonal, 1)[-1]
    due = _smaller(m + min(high, 0), n - max(low, 0))
    if isinstance(due, int) and isinstance(longest, int) and longest != due:
        raise InvalidArgumentError(
            f"argument 'diagonal' has {longest} elements, diagonal {k} of {m} by {n} has another number"
        )
    if isinstance(longest, int) and longest == 0:
        return raw_ops.identity(x, name=name)
    return _spread(diagonal, low, high, m, n, x, align, name)


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
        raise ValueError(f"argument 'input' must have a shape of two equal halves, got {x.shape}")
    count = raw_ops.reduce_prod(raw_ops.shape(x)[:half])
    square = raw_ops.reshape(x, raw_ops.stack([count, count]))
    return raw_ops.reshape(diag_part(square), extents(dims[:half]), name=name)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the cross product of vectors of 3 elements.

    Args:
        a: vectors of 3 elements along the last dimension.
        b: vectors of the same dtype; the other dimensions broadcast.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `a`, of the shape to which the operands broadcast.

    Raises:
        ValueError: for vectors of another length.

    >>> import penstock as tf
    >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    a, b = _core._to_tensor(a), _core._to_tensor(b)
    for argument, x in (("a", a), ("b", b)):
        if x.shape.rank == 0 or (x.shape.rank is not None and x.shape[-1] not in (3, None)):
            raise ValueError(
                f"argument '{argument}' must have 3 elements along its last dimension, got shape {x.shape}"
            )
    forward, back = [1, 2, 0], [2, 0, 1]
    return named(
        raw_ops.gather(a, forward, axis=-1) * raw_ops.gather(b, back, axis=-1)
        - raw_ops.gather(a, back, axis=-1) * raw_ops.gather(b, forward, axis=-1),
        name,
    )


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
        name: a name for the result in a graph.

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
        raise ValueError(f"argument 'axis' must be None, an int or a pair of ints, got {axis!r}")
    if is_matrix and along is not None:
        rank = len(known_rank(x))
        along = [axis_of(a, rank) for a in along]
        if along[0] == along[1]:
            raise ValueError(f"argument 'axis' must be two different dimensions, got {axis!r}")
    if isinstance(ord, str):
        if ord not in ("euclidean", "fro") or (ord == "fro" and not is_matrix and axis is not None):
            raise ValueError(f"argument 'ord' must be 'euclidean', 'fro' or a positive number, got {ord!r}")
        return raw_ops.sqrt(raw_ops.reduce_sum(_squared(x), axes=along, keepdims=keep), name=name)
    if not (isinstance(ord, int | float) and ord > 0):
        raise ValueError(f"argument 'ord' must be 'euclidean', 'fro' or a positive number, got {ord!r}")
    size = raw_ops.abs(x)
    if is_matrix and along is not None:
        if ord == 2:
            return named(_spectral_norm(x, along, keep), name)
        if ord not in (1, _math.inf):
            raise ValueError(
                f"argument 'ord' must be 'euclidean', 'fro', 1, 2 or inf for matrices, got {ord!r}"
            )
        summed, greatest = along if ord == 1 else along[::-1]
        result = raw_ops.reduce_max(
            raw_ops.reduce_sum(size, axes=[summed], keepdims=True), axes=[greatest], keepdims=True
        )
        return named(result if keep else raw_ops.squeeze(result, axes=sorted(along)), name)
    if ord == _math.inf:
        return raw_ops.reduce_max(size, axes=along, keepdims=keep, name=name)
    if ord == 1:
        return raw_ops.reduce_sum(size, axes=along, keepdims=keep, name=name)
    if ord == 2:
        return raw_ops.sqrt(raw_ops.reduce_sum(_squared(x), axes=along, keepdims=keep), name=name)
    return named(raw_ops.reduce_sum(size**ord, axes=along, keepdims=keep) ** (1.0 / ord), name)


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


_publish(__name__)
