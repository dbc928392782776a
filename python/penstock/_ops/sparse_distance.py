"""Distances between sequences in sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.sparse_places import checked, int64, rank_of
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._values.sparse import SparseTensor

__all__ = ["edit_distance"]


@scoped
def edit_distance(
    hypothesis: SparseTensor, truth: SparseTensor, normalize: bool = True, name: str = "edit_distance"
) -> _core.Tensor:
    """Count how many insertions, deletions and replacements make one sequence of another.

    Args:
        hypothesis: sequences along the last dimension, their places in order, of rank 2 or more.
        truth: sequences of the same dtype and rank.
        normalize: whether to divide by the length of the sequence in `truth`.
        name: a scope for the names of its operations in a graph.

    Returns:
        `float32`, of the shape of the two without the last dimension. Normalized, it is infinite where the
        sequence in `truth` alone is empty, and 0 where both are.

    Raises:
        TypeError: for something else than sparse tensors, or two of different dtypes.
        ValueError: where the ranks differ, or are below 2.

    >>> import penstock as tf
    >>> hypothesis = tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1])
    >>> truth = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [2, 2])
    >>> tf.edit_distance(hypothesis, truth).numpy().tolist()
    [0.0, 0.5]
    """
    a, b = checked(hypothesis, "hypothesis"), checked(truth, "truth")
    if a.dtype != b.dtype:
        raise DTypeError(
            f"argument 'truth' must be {a.dtype.name} as argument 'hypothesis', got {b.dtype.name}"
        )
    if rank_of(a) != rank_of(b) or rank_of(a) < 2:
        raise InvalidArgumentError(
            f"arguments 'hypothesis' and 'truth' must be of one rank, 2 or more, got {a.shape} and {b.shape}"
        )
    lead = raw_ops.maximum(a.dense_shape[:-1], b.dense_shape[:-1])
    _, which, _ = raw_ops.unique(raw_ops.concat([a.values, b.values], axis=0), dtype=_core.int64)
    count = raw_ops.size(a.values, dtype=_core.int64)
    distances = raw_ops.edit_distance(
        which[:count], _splits(a, lead), which[count:], _splits(b, lead), normalize=bool(normalize)
    )
    shaped = raw_ops.reshape(distances, lead)
    dims = a.shape.most_specific_compatible_shape(b.shape)._dims
    return shaped if dims is None else raw_ops.ensure_shape(shaped, shape=dims[:-1])


def _splits(x: SparseTensor, lead: Any) -> Any:
    """Where the sequences begin in the values, of all that the leading dimensions have room for."""
    steps = raw_ops.cumprod(lead, axis=0, exclusive=True, reverse=True)
    rows = raw_ops.reduce_sum(x.indices[:, :-1] * steps, axes=[1])
    total = raw_ops.reduce_prod(lead)
    lengths = raw_ops.unsorted_segment_sum(raw_ops.ones_like(rows), rows, total)
    return raw_ops.concat([int64([0]), raw_ops.cumsum(lengths, axis=0)], axis=0)
