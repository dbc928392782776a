"""Broadcasting of ragged tensors: dimension by dimension, as of tensors, a row of length 1 being repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.sparse_places import int64
from penstock._runtime.arguments import known_rank, product, require, sizes
from penstock._values.ragged import RaggedTensor

__all__ = ["apply", "same_partitions"]


class _Splits(NamedTuple):
    """Where the rows of a ragged dimension begin."""

    splits: Any


class _Operand(NamedTuple):
    """An operand as rows of values: how long the rows of each dimension are, and where they begin.

    Attributes:
        sizes: For each dimension that counts its size, or the splits of its rows.
        flat: The values, a row for each place in these dimensions; the operand itself where it has none.
    """

    sizes: list[Any]
    flat: Any


def _static(size: Any) -> int | None:
    if isinstance(size, int):
        return size
    known = _core._known_value(size) if size._dims == () else None
    return None if known is None else int(known.numpy())


def same_partitions(a: RaggedTensor, b: RaggedTensor) -> bool:
    """Whether two ragged tensors are known to have rows of the same lengths."""
    if a.ragged_rank != b.ragged_rank:
        return False
    for x, y in zip(a.nested_row_splits, b.nested_row_splits, strict=True):
        if x is y:
            continue
        if x._is_symbolic or y._is_symbolic or x.numpy().tolist() != y.numpy().tolist():
            return False
    return True


def apply(function: Callable[..., Any], *values: Any) -> Any:
    """What an elementwise function makes of operands, one of them ragged, once they are broadcast."""
    operands = _converted(values)
    ragged = [x for x in operands if isinstance(x, RaggedTensor)]
    first = ragged[0]
    ranks = [_rank(x) for x in operands]
    alike = all(
        (_rank(x) == max(ranks) and same_partitions(first, x)) if isinstance(x, RaggedTensor) else rank == 0
        for x, rank in zip(operands, ranks, strict=True)
    )
    if alike:
        flats = [x.flat_values if isinstance(x, RaggedTensor) else x for x in operands]
        return first.with_flat_values(function(*flats))
    flats, wrap = _aligned(operands, ranks)
    return wrap(function(*flats))


def _converted(values: Sequence[Any]) -> list[Any]:
    """Operands as tensors: Python's own numbers take the dtype of the first one that has a dtype."""
    typed = (RaggedTensor, _core.Tensor, _core._Variable)
    dtype = next((value.dtype for value in values if isinstance(value, typed)), None)
    made: list[Any] = []
    for value in values:
        if isinstance(value, RaggedTensor | _core.Tensor):
            made.append(value)
        else:
            try:
                made.append(_core._to_tensor(value, dtype))
            except (TypeError, ValueError):
                made.append(_core._to_tensor(value))
    return made


def _rank(x: Any) -> int:
    return (
        x.ragged_rank + len(known_rank(x.flat_values)) if isinstance(x, RaggedTensor) else len(known_rank(x))
    )


def _aligned(operands: Sequence[Any], ranks: Sequence[int]) -> tuple[list[Any], Callable[[Any], Any]]:
    """The values of operands, broadcast, and what makes a ragged tensor of values in their places."""
    rank = max(ranks)
    # The dimensions from 0 to this one are matched here, the others by the function itself.
    last = max(
        rank - r + x.ragged_rank for x, r in zip(operands, ranks, strict=True) if isinstance(x, RaggedTensor)
    )
    rows = [_operand(x, r, rank, last) for x, r in zip(operands, ranks, strict=True)]
    index: list[Any] = [int64([0]) for _ in rows]
    partitions: list[tuple[Any, int | None]] = []
    for dimension in range(last + 1):
        partition = _dimension(rows, index, dimension)
        if dimension:
            partitions.append(partition)
    flats = [
        row.flat if not row.sizes else raw_ops.gather(row.flat, at)
        for row, at in zip(rows, index, strict=True)
    ]
    wide = any(x.row_splits.dtype == _core.int64 for x in operands if isinstance(x, RaggedTensor))
    dtype = _core.int64 if wide else _core.int32

    def wrap(flat: Any) -> Any:
        made = flat
        for splits, uniform in reversed(partitions):
            made = RaggedTensor(made, raw_ops.cast(splits, dtype=dtype), uniform)
        return made

    return flats, wrap


def _dimension(rows: list[_Operand], index: list[Any], dimension: int) -> tuple[Any, int | None]:
    """Match a dimension, and change `index`, the row of each operand that each place takes.

    Returns:
        The splits, and the size where it is one for all rows.
    """
    from penstock._ops.arrangement import repeat  # that module needs this one, too

    here = [(k, row.sizes[dimension]) for k, row in enumerate(rows) if row.sizes]
    lengths: dict[int, Any] = {}
    for k, size in here:
        if isinstance(size, _Splits):
            lengths[k] = raw_ops.gather(size.splits[1:] - size.splits[:-1], index[k])
        else:
            lengths[k] = int64(size)
    result: Any = None
    for length in lengths.values():
        result = length if result is None else raw_ops.select(raw_ops.equal(result, int64(1)), length, result)
    for length in lengths.values():
        fits = raw_ops.logical_or(raw_ops.equal(length, int64(1)), raw_ops.equal(length, result))
        require(
            raw_ops.reduce_all(fits), f"the rows do not broadcast in dimension {dimension}", result, length
        )
    static = [None if isinstance(size, _Splits) else _static(size) for _, size in here]
    uniform = None if None in static else next((n for n in static if n != 1), 1)
    count = raw_ops.size(index[here[0][0]], dtype=_core.int64)
    if result._dims == ():
        result = raw_ops.fill(raw_ops.reshape(count, [1]), result)
    splits = raw_ops.concat([int64([0]), raw_ops.cumsum(result, axis=0)], axis=0)
    parents = repeat(raw_ops.range(int64(0), count, int64(1)), result)
    total = raw_ops.size(parents, dtype=_core.int64)
    within = raw_ops.range(int64(0), total, int64(1)) - raw_ops.gather(splits, parents)
    for k, size in here:
        row = raw_ops.gather(index[k], parents)
        if isinstance(size, _Splits):
            single = raw_ops.equal(raw_ops.gather(lengths[k], parents), int64(1))
            index[k] = raw_ops.gather(size.splits, row) + raw_ops.select(single, int64(0), within)
        else:
            length = int64(size)
            place = raw_ops.select(raw_ops.equal(length, int64(1)), raw_ops.zeros_like(within), within)
            index[k] = row * length + place
    return splits, uniform


def _operand(x: Any, rank_of_x: int, rank: int, last: int) -> _Operand:
    """An operand, whose dimensions stand at the end of `rank` ones; those up to the last one become rows."""
    offset = rank - rank_of_x
    if offset > last:
        return _Operand([], x)
    if isinstance(x, RaggedTensor):
        splits = [_Splits(int64(s)) for s in x.nested_row_splits]
        outer = [*[1] * offset, x.nrows(_core.int64), *splits]
        flat = x.flat_values
        merged = last + 1 - len(outer) + 1
        inner = sizes(flat)[1:merged]
    else:
        outer, flat, merged = [1] * offset, x, last + 1 - offset
        inner = sizes(flat)[:merged]
    if merged > 1:
        extents = sizes(flat)
        shape = [int64(n) for n in (product(extents[:merged]), *extents[merged:])]
        flat = raw_ops.reshape(flat, raw_ops.stack(shape))
    elif merged == 0:
        flat = raw_ops.expand_dims(flat, axis=0)
    return _Operand([*outer, *inner], flat)
