"""Rows of tables, by their numbers: single ones, and several to a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.clipping import clip_by_norm
from penstock._ops.sparse_layout import fill_empty_rows, reshape, retain
from penstock._ops.sparse_places import checked, int64, rank_of
from penstock._runtime.arguments import known_rank
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["embedding_lookup", "embedding_lookup_sparse", "safe_embedding_lookup_sparse"]


def _table(params: Any, argument: str) -> Any:
    """A table, or its parts one under the other."""
    if not isinstance(params, list | tuple):
        return params
    if not params:
        raise InvalidArgumentError(f"argument '{argument}' must hold at least one table")
    return params[0] if len(params) == 1 else raw_ops.concat(list(params), axis=0)


@dispatched
def embedding_lookup(
    params: TensorLike | Sequence[TensorLike],
    ids: TensorLike,
    max_norm: TensorLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Take rows of a table, each scaled down where its norm is above a limit.

    Args:
        params: a table: a tensor of rank 1 or more, or its parts in a list, one under the other.
        ids: `int32` or `int64`: the rows to take.
        max_norm: the greatest Euclidean norm of a row; None for no limit.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `params` and of shape `[*ids.shape, *params.shape[1:]]`.

    Raises:
        ValueError: for a table without parts.
        InvalidArgumentError: for a number that is no row.

    >>> import penstock as tf
    >>> tf.nn.embedding_lookup(tf.constant([[1.0], [2.0], [3.0]]), [2, 0]).numpy().tolist()
    [[3.0], [1.0]]
    """
    params = _table(params, "params")
    ids = _core._to_tensor_hinted(ids, _core.int32)
    if max_norm is None:
        return raw_ops.gather(params, ids, sparse_gradient=True, name=name)
    rows = raw_ops.gather(params, ids, sparse_gradient=True)
    each_row = list(range(len(known_rank(ids)), len(known_rank(rows))))
    return clip_by_norm(rows, max_norm, each_row, name)


@scoped
def embedding_lookup_sparse(
    params: TensorLike | Sequence[TensorLike],
    sp_ids: SparseTensor | RaggedTensor,
    sp_weights: SparseTensor | RaggedTensor | None,
    combiner: str | None = None,
    max_norm: TensorLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> _core.Tensor:
    """Combine the rows of a table that each row of numbers names.

    Args:
        params: a table: a tensor of rank 1 or more, or its parts in a list, one under the other.
        sp_ids: the numbers, in rows: a sparse tensor, of which the first dimension stays, or a ragged one.
        sp_weights: the weight of each number, in the same places; None for 1.
        combiner: `"sum"`, `"mean"` (over the sum of weights) or `"sqrtn"` (over the root of the sum of their
            squares); `"mean"` by default.
        max_norm: the greatest Euclidean norm of a row; None for no limit.
        name: a scope for the names of its operations in a graph.
        allow_fast_lookup: accepted; there is one way.

    Returns:
        A tensor of the dtype of `params`, with a row for each up to the last that has numbers; zeros for one
        without.

    Raises:
        TypeError: where `sp_ids` is no sparse or ragged tensor, or `sp_weights` is of another kind.
        ValueError: for another `combiner`.

    >>> import penstock as tf
    >>> table = tf.constant([[1.0], [2.0], [4.0]])
    >>> ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0, 2, 1], [3, 2])
    >>> tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum").numpy().tolist()
    [[5.0], [0.0], [2.0]]
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("sum", "mean", "sqrtn"):
        raise InvalidArgumentError(f"argument 'combiner' must be 'sum', 'mean' or 'sqrtn', got {combiner!r}")
    if isinstance(sp_ids, RaggedTensor):
        segments, ids = int64(sp_ids.value_rowids()), sp_ids.flat_values
        if sp_ids.ragged_rank != 1:
            raise InvalidArgumentError(
                f"argument 'sp_ids' must have rows of numbers, got shape {sp_ids.shape}"
            )
    else:
        segments, ids = checked(sp_ids, "sp_ids").indices[:, 0], checked(sp_ids, "sp_ids").values
    if sp_weights is not None and isinstance(sp_weights, RaggedTensor) != isinstance(sp_ids, RaggedTensor):
        raise TypeError("arguments 'sp_ids' and 'sp_weights' must be of one kind, both sparse or both ragged")
    weights: Any = None
    if isinstance(sp_weights, RaggedTensor):
        weights = sp_weights.flat_values
    elif sp_weights is not None:
        weights = checked(sp_weights, "sp_weights").values
    rows = embedding_lookup(params, ids, max_norm)
    count = raw_ops.reduce_max(raw_ops.concat([segments, int64([-1])], axis=0)) + 1
    inner = len(known_rank(rows)) - 1
    if weights is None:
        each = raw_ops.fill(raw_ops.shape(ids), _core._to_tensor(1, rows.dtype))
    else:
        each = raw_ops.cast(weights, dtype=rows.dtype)
        rows = rows * _spread(each, inner)
    total = raw_ops.unsorted_segment_sum(rows, segments, count)
    if combiner == "sum":
        return total
    squared = combiner == "sqrtn"
    scale = raw_ops.unsorted_segment_sum(each * each if squared else each, segments, count)
    return raw_ops.divide_no_nan(total, _spread(raw_ops.sqrt(scale) if squared else scale, inner))


def _spread(weights: Any, inner: int) -> Any:
    for _ in range(inner):
        weights = raw_ops.expand_dims(weights, axis=-1)
    return weights


@scoped
def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike | Sequence[TensorLike],
    sparse_ids: SparseTensor | RaggedTensor,
    sparse_weights: SparseTensor | RaggedTensor | None = None,
    combiner: str = "mean",
    default_id: IntLike | None = None,
    max_norm: TensorLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> _core.Tensor:
    """Combine rows of a table as `embedding_lookup_sparse` does, with numbers that may be invalid or missing.

    Numbers below 0, and those whose weight is not above 0 unless rows are summed, are left out. Rows that
    then have none get the row of `default_id`, or zeros.

    Args:
        embedding_weights: a table, or its parts in a list, one under the other.
        sparse_ids: the numbers, a sparse tensor whose last dimension is combined, or ragged rows.
        sparse_weights: the weight of each number, in the same places; None for 1.
        combiner: `"sum"`, `"mean"` or `"sqrtn"`.
        default_id: the row for those without numbers; None for zeros.
        max_norm: the greatest Euclidean norm of a row; None for no limit.
        name: a scope for the names of its operations in a graph.
        allow_fast_lookup: accepted; there is one way.

    Returns:
        A tensor of shape `[*sparse_ids.shape[:-1], *embedding_weights.shape[1:]]`.

    Raises:
        ValueError: for another `combiner`.

    >>> import penstock as tf
    >>> table = tf.constant([[1.0], [2.0], [4.0]])
    >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, -1], [3, 2])
    >>> tf.nn.safe_embedding_lookup_sparse(table, ids, default_id=1).numpy().tolist()
    [[2.5], [2.0], [2.0]]
    """
    if isinstance(sparse_ids, RaggedTensor):
        sparse_ids = sparse_ids.to_sparse()
        if isinstance(sparse_weights, RaggedTensor):
            sparse_weights = sparse_weights.to_sparse()
    ids = checked(sparse_ids, "sparse_ids")
    weights = None if sparse_weights is None else checked(sparse_weights, "sparse_weights")
    outer = ids.dense_shape[:-1]
    rank = rank_of(ids)
    if rank != 2:
        shape = raw_ops.stack([raw_ops.reduce_prod(outer), ids.dense_shape[rank - 1]])
        ids = reshape(ids, shape)
        weights = None if weights is None else reshape(weights, shape)
    valid = ids.values >= 0
    if weights is not None and combiner != "sum":
        valid = raw_ops.logical_and(valid, weights.values > 0)
    ids = retain(ids, valid)
    weights = None if weights is None else retain(weights, valid)
    filler = _core._to_tensor(0 if default_id is None else default_id)
    filled, empty = fill_empty_rows(ids, raw_ops.cast(filler, dtype=ids.dtype))
    if weights is not None:
        weights = fill_empty_rows(weights, 1)[0]
    made = embedding_lookup_sparse(embedding_weights, filled, weights, combiner, max_norm)
    inner = len(known_rank(made)) - 1
    if default_id is None:
        made = raw_ops.select(_spread(empty, inner), raw_ops.zeros_like(made), made)
    if rank != 2:
        shape = raw_ops.concat([outer, raw_ops.shape(made, dtype=_core.int64)[1:]], axis=0)
        made = raw_ops.reshape(made, shape)
    return made
