"""Functions on sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock import raw_ops
from penstock._ops.crosses import Crossed, Feature, crossed, feature
from penstock._ops.sparse_arithmetic import (
    add as add,
    map_values as map_values,
    maximum as maximum,
    minimum as minimum,
    reduce_max as reduce_max,
    reduce_sum as reduce_sum,
    sampled_addmm as sampled_addmm,
    softmax as softmax,
    sparse_dense_matmul as sparse_dense_matmul,
)
from penstock._ops.sparse_counts import (
    bincount as bincount,
    segment_mean as segment_mean,
    segment_sqrt_n as segment_sqrt_n,
    segment_sum as segment_sum,
)
from penstock._ops.sparse_layout import (
    concat as concat,
    expand_dims as expand_dims,
    eye as eye,
    fill_empty_rows as fill_empty_rows,
    from_dense as from_dense,
    mask as mask,
    reorder as reorder,
    reset_shape as reset_shape,
    reshape as reshape,
    retain as retain,
    slice as slice,
    split as split,
    to_dense as to_dense,
    to_indicator as to_indicator,
    transpose as transpose,
)
from penstock._ops.sparse_places import int64
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock._values.sparse import SparseTensor as SparseTensor

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "mask",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "sampled_addmm",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]


def _features(inputs: Sequence[SparseTensor | TensorLike]) -> list[Feature]:
    """The features of inputs: those of sparse ones first, as TensorFlow crosses them."""
    return [feature(x) for x in sorted(inputs, key=lambda x: not isinstance(x, SparseTensor))]


def _as_sparse(found: Crossed) -> SparseTensor:
    places = raw_ops.stack([found.rows, found.columns], axis=1)
    longest = raw_ops.reduce_max(raw_ops.concat([found.lengths, int64([0])], axis=0))
    return SparseTensor(
        places, found.values, raw_ops.stack([raw_ops.size(found.lengths, dtype=int64(0).dtype), longest])
    )


@scoped
def cross(
    inputs: Sequence[SparseTensor | TensorLike], name: str | None = None, separator: str | None = None
) -> SparseTensor:
    """Combine features: of each row every combination of elements, as a text.

    Args:
        inputs: matrices of strings or integers, sparse or not, with as many rows. Sparse ones come first.
        name: a scope for the names of its operations in a graph.
        separator: what stands between the texts, by default `_X_`.

    Returns:
        A sparse matrix of strings, with a row for each row.

    Raises:
        TypeError: for other elements.
        ValueError: for what is no matrix.

    >>> import penstock as tf
    >>> x = tf.sparse.cross([tf.constant([["a", "b"]]), tf.constant([[1]])])
    >>> x.values.numpy().tolist()
    [b'a_X_1', b'b_X_1']
    """
    return _as_sparse(crossed(_features(inputs), "_X_" if separator is None else separator))


@scoped
def cross_hashed(
    inputs: Sequence[SparseTensor | TensorLike],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Combine features: of each row every combination of elements, as a hash.

    Args:
        inputs: matrices of strings or integers, sparse or not, with as many rows. Sparse ones come first.
        num_buckets: what the hashes are below; 0 for no bound.
        hash_key: what the hash starts with.
        name: a scope for the names of its operations in a graph.

    Returns:
        A sparse matrix of `int64`, with a row for each row; the hashes are TensorFlow's.

    Raises:
        TypeError: for other elements.
        ValueError: for what is no matrix.

    >>> import penstock as tf
    >>> x = tf.sparse.cross_hashed([tf.constant([["a", "b"]]), tf.constant([[1]])], num_buckets=100)
    >>> x.shape, bool(tf.reduce_all(x.values < 100))
    (TensorShape([1, 2]), True)
    """
    return _as_sparse(crossed(_features(inputs), buckets=num_buckets, key=hash_key))


_publish(__name__)
