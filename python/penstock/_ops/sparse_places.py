"""Places of sparse elements, `[n, rank]`: their order, their numbers, and which of them are equal."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeGuard

from penstock import _core, raw_ops
from penstock._runtime.arguments import require
from penstock._types.argument_names import expect
from penstock._values.sparse import SparseTensor
from penstock.errors import InvalidArgumentError

__all__ = [
    "Groups",
    "check_order",
    "checked",
    "extents",
    "groups",
    "kept",
    "number",
    "order",
    "places",
    "rank_of",
]

_INT64 = _core.int64


def checked(value: Any, argument: str = "sp_input") -> SparseTensor:
    """A sparse tensor that was given, as one or as the arrays of one.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, tuple) and hasattr(value, "dense_shape"):
        return SparseTensor.from_value(value)  # type: ignore[arg-type]
    return expect(value, SparseTensor, argument, "a SparseTensor")  # type: ignore[no-any-return]


def int64(value: Any) -> Any:
    """A value as a tensor of `int64`."""
    made = _core._to_tensor_hinted(value, _INT64)
    return made if made.dtype == _INT64 else raw_ops.cast(made, dtype=_INT64)


def rank_of(sparse: SparseTensor) -> int:
    """The number of dimensions.

    Raises:
        ValueError: where it is not known.
    """
    dims = sparse.indices._dims
    rank = dims[1] if dims is not None else None
    rank = sparse.shape.rank if rank is None else rank
    if rank is None:
        raise InvalidArgumentError("the rank of the sparse tensor must be known, got one of unknown rank")
    return rank


def extents(sparse: SparseTensor) -> list[Any]:
    """The size of each dimension: an int where it is known, else a scalar tensor."""
    rank, dims = rank_of(sparse), sparse.shape._dims
    static = [None] * rank if dims is None else dims
    return [sparse.dense_shape[i] if size is None else size for i, size in enumerate(static)]


def _fit(bounds: list[Any] | None) -> TypeGuard[list[int]]:
    """Whether the number of each place within these sizes fits an integer."""
    return bounds is not None and all(isinstance(n, int) for n in bounds) and math.prod(bounds) < 2**62


def order(columns: list[Any], bounds: list[Any] | None = None) -> Any:
    """The permutation that puts rows in order, by the first column, then the second; equal ones stay.

    `bounds` are sizes that the columns are below: where their product fits an integer, there is one sort.
    """
    if _fit(bounds):
        return raw_ops.argsort(number(columns, bounds), dtype=_INT64)
    found = None
    for column in reversed(columns):
        if found is None:
            found = raw_ops.argsort(column, dtype=_INT64)
        else:
            found = raw_ops.gather(found, raw_ops.argsort(raw_ops.gather(column, found), dtype=_INT64))
    return found


def number(columns: list[Any], sizes: list[Any]) -> Any:
    """The number of each place among all of these extents, row by row."""
    found = None
    for column, size in zip(columns, sizes, strict=True):
        found = column if found is None else found * int64(size) + column
    return found


def places(numbers: Any, sizes: list[Any]) -> Any:
    """The places that have these numbers among all of these extents, `[n, rank]`."""
    columns: list[Any] = []
    for size in reversed(sizes[1:]):
        size = int64(size)
        # Of no places there is no remainder, whatever the extents are.
        size = raw_ops.maximum(size, int64(1))
        columns.append(raw_ops.floormod(numbers, size))
        numbers = raw_ops.floordiv(numbers, size)
    return raw_ops.stack([numbers, *reversed(columns)], axis=1)


def kept(mask: Any) -> Any:
    """The numbers of the rows that a mask keeps."""
    return raw_ops.reshape(raw_ops.where_indices(mask), [-1])


class Groups(NamedTuple):
    """Rows that are equal, put together.

    Attributes:
        of: The group of each row, in the order of the rows.
        count: The number of groups.
        first: A row of each group; groups are in the order of their rows.
    """

    of: Any
    count: Any
    first: Any


def groups(columns: list[Any], bounds: list[Any] | None = None) -> Groups:
    """Which rows are equal in all columns; `bounds` as for `order`."""
    if _fit(bounds):
        columns = [number(columns, bounds)]
    sorting = order(columns)
    fresh = None
    for column in columns:
        column = raw_ops.gather(column, sorting)
        differs = raw_ops.not_equal(column[1:], column[:-1])
        fresh = differs if fresh is None else raw_ops.logical_or(fresh, differs)
    count = raw_ops.size(sorting, dtype=_INT64)
    fresh = raw_ops.concat([_core._to_tensor([True]), fresh], axis=0)[:count]
    ranks = raw_ops.cumsum(raw_ops.cast(fresh, dtype=_INT64), axis=0) - 1
    of = raw_ops.scatter_nd(raw_ops.expand_dims(sorting, axis=1), ranks, raw_ops.reshape(count, [1]))
    first = raw_ops.gather(sorting, kept(fresh))
    return Groups(of, raw_ops.size(first, dtype=_INT64), first)


def check_order(indices: Any, dense_shape: Any) -> None:
    """Add a check that places are in order, each there once, and within the extents.

    Raises:
        InvalidArgumentError: where they are not, when it runs.
    """
    inside = raw_ops.logical_and(indices >= 0, indices < dense_shape)
    require(raw_ops.reduce_all(inside), "argument 'indices' must be within the extents", indices)
    rank = indices._dims[1] if indices._dims is not None else None
    if rank is None or rank == 0:
        return
    # The sign of the first step that is none decides.
    weights = _core._to_tensor([2 ** (rank - 1 - k) for k in range(rank)], _INT64)
    steps = raw_ops.reduce_sum(raw_ops.sign(indices[1:] - indices[:-1]) * weights, axes=[1])
    message = "argument 'indices' must be in order, without repetition (tf.sparse.reorder puts them so)"
    require(raw_ops.reduce_all(steps > 0), message, indices)
