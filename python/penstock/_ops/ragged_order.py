"""Ragged tensors sorted, summed up along the way, and cut into parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.ragged_layout import rank_of_ragged, within_rows
from penstock._runtime.arguments import axis_of, require
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

__all__ = ["along_padded", "argsort", "parted"]


def argsort(x: RaggedTensor, axis: Any, direction: str) -> tuple[RaggedTensor, RaggedTensor]:
    """The order along a dimension, as numbers within rows, and the elements in it."""
    rank = rank_of_ragged(x)
    place = axis_of(axis, rank)
    levels = x.ragged_rank
    flat = x.flat_values
    descending = direction == "DESCENDING"
    if place > levels:
        inner = place - levels
        order = raw_ops.argsort(flat, axis=inner, descending=descending)
        sorted_flat = raw_ops.sort(flat, axis=inner, descending=descending)
        return x.with_flat_values(order), x.with_flat_values(sorted_flat)
    if place < levels or rank > levels + 1:
        raise InvalidArgumentError(
            "argument 'axis' must be the innermost ragged dimension of scalars, or behind the ragged ones, "
            f"got {axis}"
        )
    rows = _innermost(x)
    numbers = rows.value_rowids()
    # Sorting keeps the order of equal elements: first by value, then by row.
    by_value = raw_ops.argsort(flat, descending=descending, dtype=_core.int64)
    by_row = raw_ops.argsort(raw_ops.gather(numbers, by_value), dtype=_core.int64)
    order = raw_ops.gather(by_value, by_row)
    start = raw_ops.cast(raw_ops.gather(rows.row_starts(), numbers), dtype=_core.int64)
    within = raw_ops.cast(order - start, dtype=_core.int32)
    return x.with_flat_values(within), x.with_flat_values(raw_ops.gather(flat, order))


def _innermost(x: RaggedTensor) -> RaggedTensor:
    """The ragged tensor of the innermost rows."""
    while isinstance(x.values, RaggedTensor):
        x = x.values
    return x


def along_padded(
    x: RaggedTensor, axis: Any, function: Callable[[Any, int], Any], filler: Any
) -> RaggedTensor:
    """What a function makes of the rows along a dimension, filled up at their ends so as not to matter."""
    place = axis_of(axis, rank_of_ragged(x))
    levels = x.ragged_rank
    if place > levels:
        return x.with_flat_values(function(x.flat_values, place - levels))
    if place == levels:
        rows = _innermost(x)
        index = [rows.value_rowids(), within_rows(rows)]
        made = function(rows.to_tensor(filler), 1)
    else:
        index = _places(x)
        made = function(x.to_tensor(filler), place)
    return x.with_flat_values(raw_ops.gather_nd(made, raw_ops.stack(index, axis=-1)))


def _places(x: RaggedTensor) -> list[Any]:
    """The place of each of the innermost values in each of the ragged dimensions and the first."""
    columns: list[Any] = []
    level: Any = x
    while isinstance(level, RaggedTensor):
        rows = level.value_rowids()
        outer = [raw_ops.gather(column, rows) for column in columns] if columns else [rows]
        columns = [*outer, within_rows(level)]
        level = level.values
    return columns


def parted(x: Any, parts: Any, place: int, num: int | None) -> list[Any]:
    """A value in equal parts, or in parts of some sizes, along a dimension that is not ragged."""
    from penstock._ops.arrangement import split  # that module is above this one, which start-up does without

    if not isinstance(x, RaggedTensor):
        return split(x, parts, place, num)
    if place > 1:
        return [x.with_values(part) for part in parted(x.values, parts, place - 1, num)]
    if place == 1 and x._uniform is None:
        raise InvalidArgumentError(
            "argument 'axis' must not be a ragged dimension, along which nothing is split"
        )
    whole = x.nrows(_core.int64) if place == 0 else _core._to_tensor(x._uniform, _core.int64)
    message = "argument 'num_or_size_splits' must make up the dimension, of size"
    if isinstance(parts, int):
        size = raw_ops.floordiv(whole, _core._to_tensor(parts, _core.int64))
        require(raw_ops.equal(size * parts, whole), message, whole)
        sizes = [size] * parts
    else:
        listed = raw_ops.cast(_core._to_tensor_hinted(parts, _core.int64), dtype=_core.int64)
        count = listed.shape[0] if num is None else num
        if count is None:
            raise InvalidArgumentError("argument 'num' must be given where the number of sizes is not known")
        sizes = [listed[i] for i in range(count)]
        require(raw_ops.equal(raw_ops.reduce_sum(listed), whole), message, whole)
    found, start = [], _core._to_tensor(0, _core.int64)
    for size in sizes:
        key = slice(start, start + size)
        found.append(x[key] if place == 0 else x[:, key])
        start = start + size
    return found
