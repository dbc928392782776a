"""Diagonals of matrices and bands of them: read, written, made into matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axes, extents, integer, known_rank, sizes
from penstock._runtime.dispatch import dispatched
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["diag", "diag_part", "rows_and_columns", "set_diag"]


def rows_and_columns(x: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor, Any, Any]:
    """The index of the row of each element of a matrix, that of its column, and how many there are."""
    if len(known_rank(x)) < 2:
        raise InvalidArgumentError(f"expected a matrix or a batch of matrices, got shape {x.shape}")
    m, n = sizes(x, 2)[-2:]
    return raw_ops.expand_dims(raw_ops.range(0, m, 1), axis=1), raw_ops.range(0, n, 1), m, n


def _band(k: Any, argument: str = "k") -> tuple[int, int]:
    """The lowest and the highest of the diagonals that an argument names.

    Raises:
        ValueError: where it is neither a number nor a pair in order.
    """
    if isinstance(k, _core.Tensor) and k.shape.rank != 0:
        k = axes(k, argument)
    if not isinstance(k, list | tuple):
        return integer(k, argument), integer(k, argument)
    if len(k) not in (1, 2):
        raise InvalidArgumentError(f"argument '{argument}' must be a diagonal or a pair of them, got {k!r}")
    low, high = integer(k[0], argument), integer(k[-1], argument)
    if low > high:
        raise InvalidArgumentError(f"argument '{argument}' must name the lower diagonal first, got {k!r}")
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
        raise InvalidArgumentError(
            "argument 'align' must be 'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT' or 'RIGHT_RIGHT', "
            f"got {align!r}"
        )
    # The main diagonal is as long as any.
    above, below = (raw_ops.cast(side, dtype=_core.int32) for side in (k > 0, k < 0))
    right = (above if align.startswith("RIGHT") else 0) + (below if align.endswith("RIGHT") else 0)
    length = raw_ops.minimum(m + raw_ops.minimum(k, 0), n - raw_ops.maximum(k, 0))
    return right * (longest - length), length


@dispatched
def diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: IntLike | Sequence[IntLike] = 0,
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
    _, _, m, n = rows_and_columns(x)
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


@dispatched
def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: IntLike | Sequence[IntLike] = 0,
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


@dispatched
def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: IntLike | Sequence[IntLike] = 0,
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
    _, _, m, n = rows_and_columns(x)
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
