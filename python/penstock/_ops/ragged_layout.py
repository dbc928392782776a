"""Ragged tensors from and to sparse ones, and dimensions of ragged tensors, merged and inserted."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._ops.sparse_places import checked, int64, rank_of
from penstock._runtime.arguments import axis_of, known_rank, require
from penstock._values.ragged import RaggedTensor
from penstock._values.sparse import SparseTensor
from penstock.errors import InvalidArgumentError

__all__ = ["expand_dims", "from_sparse", "merge_dims", "rank_of_ragged", "to_sparse", "within_rows"]


def rank_of_ragged(x: RaggedTensor) -> int:
    """The number of dimensions.

    Raises:
        ValueError: where it is not known.
    """
    return x.ragged_rank + len(known_rank(x.flat_values))


def within_rows(x: RaggedTensor) -> Any:
    """The number of each value within its row."""
    rows = x.value_rowids()
    count = raw_ops.size(rows, dtype=x.row_splits.dtype)
    numbers = raw_ops.range(_core._to_tensor(0, count.dtype), count, _core._to_tensor(1, count.dtype))
    return numbers - raw_ops.gather(x.row_splits, rows)


def to_sparse(x: RaggedTensor) -> SparseTensor:
    """The values of a ragged tensor as a sparse one."""
    flat = x.flat_values
    inner = known_rank(flat)
    dense = int64(x.bounding_shape())
    columns: list[Any] = []
    level: Any = x
    # The place of each value of a level: that of its row, and its number within it.
    while isinstance(level, RaggedTensor):
        rows = level.value_rowids()
        outer = [raw_ops.gather(column, rows) for column in columns] if columns else [int64(rows)]
        columns = [*outer, int64(within_rows(level))]
        level = level.values
    indices = raw_ops.stack(columns, axis=1)
    if len(inner) == 1:
        return SparseTensor(indices, flat, dense)
    sizes = raw_ops.shape(flat, dtype=_core.int64)
    places = raw_ops.where_indices(raw_ops.fill(sizes, _core._to_tensor(True)))
    whole = raw_ops.concat([raw_ops.gather(indices, places[:, 0]), places[:, 1:]], axis=1)
    return SparseTensor(whole, raw_ops.reshape(flat, [-1]), dense)


def from_sparse(st_input: Any, dtype: _core.DType) -> RaggedTensor:
    """The rows of a sparse matrix as a ragged tensor."""
    x = checked(st_input, "st_input")
    if rank_of(x) != 2:
        raise InvalidArgumentError(f"argument 'st_input' must be a matrix, got shape {x.shape}")
    rows = x.indices[:, 0]
    made = RaggedTensor.from_value_rowids(x.values, rows, x.dense_shape[0], validate=False)
    together = raw_ops.reduce_all(raw_ops.equal(x.indices[:, 1], within_rows(made)))
    ordered = raw_ops.logical_and(together, raw_ops.reduce_all(rows[1:] >= rows[:-1]))
    require(
        ordered, "argument 'st_input' must have rows without gaps, in order; it has elements at", x.indices
    )
    return made if dtype == _core.int64 else made.with_row_splits_dtype(dtype)


def merge_dims(x: Any, outer_axis: int, inner_axis: int) -> Any:
    """A ragged tensor, or a tensor, with neighbouring dimensions merged into one."""
    rank = rank_of_ragged(x) if isinstance(x, RaggedTensor) else len(known_rank(x))
    outer, inner = axis_of(outer_axis, rank, "outer_axis"), axis_of(inner_axis, rank, "inner_axis")
    if outer > inner:
        raise InvalidArgumentError(
            f"argument 'outer_axis' must not be behind 'inner_axis', got {outer_axis} and {inner_axis}"
        )
    return _merged(x, outer, inner)


def _merged(x: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return x
    if not isinstance(x, RaggedTensor):
        sizes = raw_ops.shape(x)
        shape = raw_ops.concat([sizes[:outer], _core._to_tensor([-1]), sizes[inner + 1 :]], axis=0)
        known = known_rank(x)
        merged = known[outer : inner + 1]
        one = None if None in merged else _product(merged)
        return raw_ops.ensure_shape(
            raw_ops.reshape(x, _whole(shape, known, outer, inner)),
            shape=[*known[:outer], one, *known[inner + 1 :]],
        )
    if outer > 0:
        # The rows of a merged dimension are as long as what they held.
        if outer == 1 and isinstance(x.values, RaggedTensor):
            splits = raw_ops.gather(x.values.row_splits, x.row_splits)
            return _merged(RaggedTensor(x.values.values, splits), 1, inner - 1)
        if outer == 1:
            # The rest is uniform: a row of n values has n times as many.
            sizes = raw_ops.shape(x.values, dtype=x.row_splits.dtype)
            factor = raw_ops.reduce_prod(sizes[1:inner])
            return RaggedTensor(_merged(x.values, 0, inner - 1), x.row_splits * factor)
        return x.with_values(_merged(x.values, outer - 1, inner - 1))
    return _merged(x.values, 0, inner - 1)


def _product(sizes: list[Any]) -> int:
    found = 1
    for size in sizes:
        found *= size
    return found


def _whole(shape: Any, known: list[int | None], outer: int, inner: int) -> Any:
    """The extents of a reshaped tensor; -1 would be ambiguous where another one is 0."""
    if None not in known:
        merged = _product(known[outer : inner + 1])
        return _core._to_tensor([*known[:outer], merged, *known[inner + 1 :]], _core.int64)
    return shape


def expand_dims(x: Any, axis: int) -> Any:
    """A ragged tensor, or a tensor, with a dimension of size 1 at `axis`, counted from the front."""
    if not isinstance(x, RaggedTensor):
        return raw_ops.expand_dims(x, axis=axis)
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(x, x.nrows(), nrows=1, validate=False)
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(x, 1, nrows=x.nrows(), validate=False)
    return x.with_values(expand_dims(x.values, axis - 1))
