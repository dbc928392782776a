"""Sets along the last dimension of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.sparse_places import checked, groups, int64, kept, rank_of
from penstock._runtime.arguments import known_rank, require
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock._values.sparse import SparseTensor
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["difference", "intersection", "size", "union"]

_INT64 = _core.int64


def _sets(value: Any, argument: str) -> SparseTensor:
    """The elements of sets, each with its place; of a tensor all elements count, zeros too.

    Raises:
        ValueError: for a rank below 2.
    """
    if isinstance(value, SparseTensor) or (isinstance(value, tuple) and hasattr(value, "dense_shape")):
        made = checked(value, argument)
    else:
        x = _core._to_tensor(value)
        known_rank(x)
        shape = raw_ops.shape(x, dtype=_INT64)
        places = raw_ops.where_indices(raw_ops.fill(shape, _core._to_tensor(True)))
        made = SparseTensor(places, raw_ops.gather_nd(x, places), shape)
    if rank_of(made) < 2:
        raise InvalidArgumentError(f"argument '{argument}' must have rank 2 or more, got shape {made.shape}")
    if made.dtype != _core.string and not made.dtype.is_integer:
        raise DTypeError(f"argument '{argument}' must hold integers or strings, got {made.dtype.name}")
    return made


def _numbers(values: Any) -> Any:
    """A number for each value, equal ones for equal values; of integers in their order."""
    if values.dtype == _core.string:
        values = raw_ops.unique(values)[1]
    return raw_ops.cast(values, dtype=_INT64)


def _combined(a: Any, b: Any, keep: Callable[[Any, Any], Any]) -> SparseTensor:
    """The elements that `keep` wants, given which of them the sets of `a` and of `b` have."""
    x, y = _sets(a, "a"), _sets(b, "b")
    if x.dtype != y.dtype:
        raise DTypeError(f"arguments 'a' and 'b' must have one dtype, got {x.dtype.name} and {y.dtype.name}")
    rank = rank_of(x)
    if rank_of(y) != rank or not x.shape[:-1].is_compatible_with(y.shape[:-1]):
        raise InvalidArgumentError(
            f"arguments 'a' and 'b' must have sets in one arrangement, got {x.shape} and {y.shape}"
        )
    same = raw_ops.reduce_all(raw_ops.equal(x.dense_shape[:-1], y.dense_shape[:-1]))
    require(same, "arguments 'a' and 'b' must have sets in one arrangement", x.dense_shape, y.dense_shape)
    values = raw_ops.concat([x.values, y.values], axis=0)
    numbers = _numbers(values)
    outer = raw_ops.concat([x.indices[:, :-1], y.indices[:, :-1]], axis=0)
    found = groups([*(outer[:, k] for k in range(rank - 1)), numbers])
    mine = raw_ops.size(x.values, dtype=_INT64)

    def present(of: Any) -> Any:
        return raw_ops.unsorted_segment_sum(raw_ops.ones_like(of), of, found.count) > 0

    chosen = kept(keep(present(found.of[:mine]), present(found.of[mine:])))
    first = raw_ops.gather(found.first, chosen)
    return _numbered(raw_ops.gather(outer, first), raw_ops.gather(values, first), x)


def _numbered(outer: Any, values: Any, like: SparseTensor) -> SparseTensor:
    """Elements of sets, which stand in order, with their numbers within the sets."""
    columns = [outer[:, k] for k in range(rank_of(like) - 1)]
    of = groups(columns)
    many = raw_ops.unsorted_segment_sum(raw_ops.ones_like(of.of), of.of, of.count)
    start = raw_ops.cumsum(many, axis=0, exclusive=True)
    place = raw_ops.range(int64(0), raw_ops.size(values, dtype=_INT64), int64(1)) - raw_ops.gather(
        start, of.of
    )
    longest = raw_ops.reduce_max(raw_ops.concat([many, int64([0])], axis=0))
    dense = raw_ops.concat([like.dense_shape[:-1], raw_ops.reshape(longest, [1])], axis=0)
    return SparseTensor(raw_ops.concat([outer, raw_ops.expand_dims(place, axis=1)], axis=1), values, dense)


@scoped
def union(
    a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, validate_indices: bool = True
) -> SparseTensor:
    """Compute the unions of sets along the last dimension.

    Args:
        a: integers or strings, of rank 2 or more, sparse or not.
        b: as many sets of the same dtype.
        validate_indices: accepted; places may stand in any order.

    Returns:
        A sparse tensor of the sets, integers of each in order, strings as they come.

    Raises:
        TypeError: where the dtypes differ.
        ValueError: where the sets are in other arrangements.

    >>> import penstock as tf
    >>> tf.sparse.to_dense(tf.sets.union([[1, 3, 3]], [[2, 3, 9]])).numpy().tolist()
    [[1, 2, 3, 9]]
    """
    return _combined(a, b, raw_ops.logical_or)


@scoped
def intersection(
    a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, validate_indices: bool = True
) -> SparseTensor:
    """Compute the intersections of sets along the last dimension.

    Args:
        a: integers or strings, of rank 2 or more, sparse or not.
        b: as many sets of the same dtype.
        validate_indices: accepted; places may stand in any order.

    Returns:
        A sparse tensor of the sets, integers of each in order, strings as they come.

    Raises:
        TypeError: where the dtypes differ.
        ValueError: where the sets are in other arrangements.

    >>> import penstock as tf
    >>> tf.sparse.to_dense(tf.sets.intersection([[1, 3, 4]], [[4, 3, 9]])).numpy().tolist()
    [[3, 4]]
    """
    return _combined(a, b, raw_ops.logical_and)


@scoped
def difference(
    a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    aminusb: bool = True,
    validate_indices: bool = True,
) -> SparseTensor:
    """Compute the differences of sets along the last dimension.

    Args:
        a: integers or strings, of rank 2 or more, sparse or not.
        b: as many sets of the same dtype.
        aminusb: whether to take the elements of `b` from `a`, or those of `a` from `b`.
        validate_indices: accepted; places may stand in any order.

    Returns:
        A sparse tensor of the sets, integers of each in order, strings as they come.

    Raises:
        TypeError: where the dtypes differ.
        ValueError: where the sets are in other arrangements.

    >>> import penstock as tf
    >>> tf.sparse.to_dense(tf.sets.difference([[1, 3, 4]], [[4, 2, 9]])).numpy().tolist()
    [[1, 3]]
    """
    first, second = (a, b) if aminusb else (b, a)
    return _combined(first, second, lambda mine, its: raw_ops.logical_and(mine, raw_ops.logical_not(its)))


@scoped
def size(a: SparseTensor, validate_indices: bool = True) -> _core.Tensor:
    """Count the elements of sets along the last dimension, each once.

    Args:
        a: a sparse tensor of integers or strings, of rank 2 or more.
        validate_indices: accepted; places may stand in any order.

    Returns:
        An `int32` tensor of the shape of `a` without its last dimension.

    Raises:
        TypeError: for what is not sparse.

    >>> import penstock as tf
    >>> tf.sets.size(tf.sparse.from_dense([[1, 3, 3], [5, 0, 0]])).numpy()
    array([2, 1], dtype=int32)
    """
    x = _sets(checked(a, "a"), "a")
    rank = rank_of(x)
    numbers = _numbers(x.values)
    found = groups([*(x.indices[:, k] for k in range(rank - 1)), numbers])
    places = raw_ops.gather(x.indices[:, :-1], found.first)
    ones = raw_ops.fill(raw_ops.reshape(found.count, [1]), _core._to_tensor(1, _core.int32))
    return raw_ops.scatter_nd(places, ones, x.dense_shape[:-1])


_publish(__name__)
