"""Ragged tensors put together, and rows and values chosen from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.ragged_layout import expand_dims, rank_of_ragged, within_rows
from penstock._ops.sparse_places import kept
from penstock._runtime.arguments import axis_of, known_rank, require
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

__all__ = ["boolean_mask", "concat", "gather", "repeated", "reverse", "stack", "step_within", "with_rank"]


def _rank(x: Any) -> int:
    return rank_of_ragged(x) if isinstance(x, RaggedTensor) else len(known_rank(x))


def with_rank(x: Any, levels: int) -> RaggedTensor:
    """A value with so many ragged dimensions, or more, the uniform ones among them."""
    if not isinstance(x, RaggedTensor):
        return RaggedTensor.from_tensor(x, ragged_rank=levels)
    return x if x.ragged_rank >= levels else x.with_values(with_rank(x.values, levels - 1))


def concat(values: Sequence[Any], axis: Any) -> Any:
    """Ragged tensors, and tensors of their rank, one behind the other along a dimension."""
    parts = [x if isinstance(x, RaggedTensor) else _core._to_tensor(x) for x in values]
    ranks = {_rank(x) for x in parts}
    if len(ranks) != 1:
        raise InvalidArgumentError(f"argument 'values' must be of one rank, got ranks {sorted(ranks)}")
    rank = ranks.pop()
    place = axis_of(axis, rank)
    if len(parts) == 1:
        return parts[0]
    if rank == 1:
        return raw_ops.concat(parts, axis=0)
    levels = max([1, place, *(x.ragged_rank for x in parts if isinstance(x, RaggedTensor))])
    levels = min(levels, rank - 1)
    wide = any(x.row_splits.dtype == _core.int64 for x in parts if isinstance(x, RaggedTensor))
    dtype = _core.int64 if wide else _core.int32
    return _joined([with_rank(x, levels).with_row_splits_dtype(dtype) for x in parts], place)


def _joined(parts: list[Any], place: int) -> Any:
    first = parts[0]
    if not isinstance(first, RaggedTensor):
        return raw_ops.concat(parts, axis=place)
    if place == 0:
        splits, end = [first.row_splits], first.row_splits[-1]
        for x in parts[1:]:
            splits.append(x.row_splits[1:] + end)
            end = end + x.row_splits[-1]
        return RaggedTensor(_joined([x.values for x in parts], 0), raw_ops.concat(splits, axis=0))
    if place == 1:
        rows, many = first.nrows(), len(parts)
        same = raw_ops.reduce_all(raw_ops.equal(raw_ops.stack([x.nrows() for x in parts]), rows))
        require(same, "argument 'values' must have as many rows each", rows)
        # The rows of the parts in turn: the first of each, then the second.
        zero, one = _core._to_tensor(0, rows.dtype), _core._to_tensor(1, rows.dtype)
        numbers = raw_ops.range(zero, rows, one)
        order = raw_ops.reshape(raw_ops.stack([numbers + rows * k for k in range(many)], axis=1), [-1])
        turned = _joined(parts, 0)._rows(order)
        ends = turned.row_splits[::many]
        count = next((x.row_splits.shape[0] for x in parts if x.row_splits.shape[0] is not None), None)
        if count is not None:
            ends = raw_ops.ensure_shape(ends, shape=[count])
        return RaggedTensor(turned.values, ends)
    for x in parts[1:]:
        if x.row_splits is not first.row_splits:
            same = raw_ops.reduce_all(raw_ops.equal(x.row_splits, first.row_splits))
            require(same, "argument 'values' must have rows of the same lengths", x.row_splits)
    return first.with_values(_joined([x.values for x in parts], place - 1))


def stack(values: Sequence[Any], axis: Any) -> Any:
    """Ragged tensors, and tensors, along a new dimension."""
    parts = [x if isinstance(x, RaggedTensor) else _core._to_tensor(x) for x in values]
    if not parts:
        raise InvalidArgumentError("argument 'values' must hold at least one tensor")
    place = axis_of(axis, _rank(parts[0]) + 1)
    if all(_rank(x) == 0 for x in parts):
        return raw_ops.stack(parts)
    raised = [expand_dims(x, place) for x in parts]
    if len(raised) == 1:
        return with_rank(raised[0], max(1, place))
    return concat(raised, place)


def gather(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    """Rows, or values of rows, by their numbers; NotImplemented for other kinds of arguments."""
    if batch_dims < 0:
        batch_dims += _rank(indices)
    place = batch_dims if axis is None else axis_of(axis, _rank(params))
    if place < batch_dims:
        raise InvalidArgumentError(
            f"argument 'axis' must not be below 'batch_dims', got {axis} and {batch_dims}"
        )
    if batch_dims == 0 and place == 0:
        return _rows(params, indices)
    if not isinstance(params, RaggedTensor):
        if not isinstance(indices, RaggedTensor):
            return NotImplemented
        params = with_rank(params, max(1, place))
    if batch_dims == 0:
        return _from_each_row(params, indices, place)
    if not isinstance(indices, RaggedTensor):
        indices = with_rank(_core._to_tensor_hinted(indices, _core.int64), batch_dims)
    if batch_dims > 1:
        return params.with_values(gather(params.values, indices.values, place - 1, batch_dims - 1))
    if place > 1:
        return NotImplemented
    dtype = params.row_splits.dtype
    inner = indices.values
    flat = raw_ops.cast(inner.flat_values if isinstance(inner, RaggedTensor) else inner, dtype=dtype)
    rows = indices.value_rowids()
    if isinstance(inner, RaggedTensor):
        for level in inner.nested_value_rowids():
            rows = raw_ops.gather(rows, level)
    for _ in known_rank(flat)[1:]:
        rows = raw_ops.expand_dims(rows, axis=-1)
    lengths = raw_ops.gather(params.row_lengths(), rows)
    inside = raw_ops.logical_and(flat >= 0, flat < lengths)
    require(raw_ops.reduce_all(inside), "argument 'indices' must be within the rows", flat)
    return indices.with_flat_values(_rows(params.values, flat + raw_ops.gather(params.row_starts(), rows)))


def _from_each_row(params: RaggedTensor, indices: Any, place: int) -> Any:
    """The same values of each row of an inner dimension."""
    if place > 1:
        if not isinstance(params.values, RaggedTensor):
            return params.with_values(raw_ops.gather(params.values, indices, axis=place - 1))
        return params.with_values(_from_each_row(params.values, indices, place - 1))
    numbers = _core._to_tensor_hinted(indices, _core.int64)
    shape = raw_ops.concat([raw_ops.reshape(params.nrows(_core.int32), [1]), raw_ops.shape(numbers)], axis=0)
    made = gather(
        params, raw_ops.broadcast_to(raw_ops.reshape(numbers, _flat_shape(numbers)), _two(shape)), 1, 1
    )
    if numbers.shape.rank == 0:
        return made.values
    return made


def _flat_shape(numbers: Any) -> list[int]:
    if len(known_rank(numbers)) > 1:
        raise InvalidArgumentError(
            f"argument 'indices' must be a scalar or a vector for this axis, got {numbers.shape}"
        )
    return [1, -1]


def _two(shape: Any) -> Any:
    return (
        shape if shape._dims == (2,) else raw_ops.concat([shape, _core._to_tensor([1], _core.int32)], axis=0)
    )


def _rows(params: Any, indices: Any) -> Any:
    """The rows of these numbers, in the arrangement of the numbers."""
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_rows(params, indices.values))
    if not isinstance(params, RaggedTensor):
        return raw_ops.gather(params, indices)
    numbers = _core._to_tensor_hinted(indices, _core.int64)
    dims = known_rank(numbers)
    count = params.nrows(numbers.dtype)
    inside = raw_ops.logical_and(numbers >= 0, numbers < count)
    require(raw_ops.reduce_all(inside), "argument 'indices' must be below the number of rows", numbers)
    if not dims:
        return params[numbers]
    made: Any = params._rows(raw_ops.reshape(numbers, [-1]))
    shape = raw_ops.shape(numbers, dtype=params.row_splits.dtype)
    for k in range(len(dims) - 1, 0, -1):
        rows = raw_ops.reduce_prod(shape[:k])
        length: Any = shape[k] if dims[k] is None else dims[k]
        made = RaggedTensor.from_uniform_row_length(made, length, rows, validate=False)
    return made


def boolean_mask(data: Any, mask: Any) -> Any:
    """The rows that a mask keeps, or the values of rows, in ragged rows."""
    chosen = mask if isinstance(mask, RaggedTensor) else _core._to_tensor(mask, _core.bool)
    rank = _rank(chosen)
    if rank == 0:
        raise InvalidArgumentError("argument 'mask' must not be a scalar")
    if rank == 1:
        numbers = kept(chosen)
        return data._rows(numbers) if isinstance(data, RaggedTensor) else raw_ops.gather(data, numbers)
    if not isinstance(chosen, RaggedTensor):
        chosen = with_rank(chosen, rank - 1)
    if not isinstance(data, RaggedTensor):
        data = with_rank(_core._to_tensor(data), rank - 1)
    data = with_rank(data, rank - 1)
    dtype = data.row_splits.dtype
    chosen = with_rank(chosen, rank - 1).with_row_splits_dtype(dtype)
    if chosen.row_splits is not data.row_splits:
        same = raw_ops.reduce_all(raw_ops.equal(chosen.row_splits, data.row_splits))
        require(same, "argument 'mask' must have rows of the lengths of 'data'", chosen.row_splits)
    values = boolean_mask(data.values, chosen.values)
    if rank > 2:
        return data.with_values(values)
    counts = raw_ops.unsorted_segment_sum(
        raw_ops.cast(chosen.values, dtype=dtype), chosen.value_rowids(), chosen.nrows()
    )
    return RaggedTensor.from_row_lengths(values, counts, validate=False)


def reverse(x: Any, places: Sequence[int]) -> Any:
    """A value in which some dimensions run backwards."""
    if not isinstance(x, RaggedTensor):
        return raw_ops.reverse(x, axes=list(places)) if places else x
    made = x
    inner = [place - 1 for place in places if place > 1]
    if inner:
        made = made.with_values(reverse(made.values, inner))
    if 1 in places:
        rows = made.value_rowids()
        place = raw_ops.gather(made.row_starts(), rows) + raw_ops.gather(made.row_limits(), rows)
        index = place - 1 - (within_rows(made) + raw_ops.gather(made.row_starts(), rows))
        made = made.with_values(_rows(made.values, index))
    if 0 in places:
        count = made.nrows()
        one = _core._to_tensor(1, count.dtype)
        made = made._rows(count - 1 - raw_ops.range(_core._to_tensor(0, count.dtype), count, one))
    return made


def repeated(x: Any, place: int, times: int) -> Any:
    """A value so many times, one behind the other along a dimension."""
    if times < 0:
        raise InvalidArgumentError(f"argument 'multiples' must not be negative, got {times}")
    if times == 0:
        empty = _core._to_tensor([], _core.int64)
        if place == 0:
            return x._rows(raw_ops.cast(empty, dtype=x.row_splits.dtype))
        return x._within(0, 0) if place == 1 else x.with_values(repeated(x.values, place - 1, 0))
    return x if times == 1 else concat([x] * times, place)


def step_within(x: RaggedTensor, key: slice) -> RaggedTensor:
    """Each row in steps, counted from its end where a bound or the step is negative."""
    from penstock._ops.arrangement import repeat  # that module needs this one, too

    step = int(key.step)
    if step == 0:
        raise InvalidArgumentError("a slice in steps of 0 has no end")
    lengths = x.row_lengths()
    dtype = lengths.dtype
    zero = _core._to_tensor(0, dtype)

    def place(bound: Any, otherwise: Any) -> Any:
        if bound is None:
            return otherwise
        at = raw_ops.cast(_core._to_tensor(bound), dtype=dtype)
        at = raw_ops.select(at < 0, lengths + at, raw_ops.zeros_like(lengths) + at)
        low, high = (zero, lengths) if step > 0 else (zero - 1, lengths - 1)
        return raw_ops.minimum(raw_ops.maximum(at, low), high)

    first, last = (
        (raw_ops.zeros_like(lengths), lengths) if step > 0 else (lengths - 1, raw_ops.zeros_like(lengths) - 1)
    )
    start, stop = place(key.start, first), place(key.stop, last)
    span = (stop - start + (step - 1 if step > 0 else step + 1)) if step > 0 else (start - stop - step - 1)
    count = raw_ops.maximum(raw_ops.floordiv(span, _core._to_tensor(abs(step), dtype)), zero)
    made = RaggedTensor.from_row_lengths(raw_ops.zeros_like(repeat(count, count)), count, validate=False)
    rows = made.value_rowids()
    index = raw_ops.gather(x.row_starts() + start, rows) + within_rows(made) * step
    return made.with_values(_rows(x.values, index))
