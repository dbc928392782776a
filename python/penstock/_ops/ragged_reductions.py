"""Reductions of ragged tensors: over rows, over the values of rows, and over all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.ragged_broadcast import apply
from penstock._ops.ragged_layout import expand_dims, rank_of_ragged, within_rows
from penstock._runtime.arguments import axes, axis_of
from penstock._values.ragged import RaggedTensor

__all__ = ["reduced", "segments"]

Segments = Callable[[Any, Any, Any], Any]


def _any(data: Any, ids: Any, count: Any) -> Any:
    return raw_ops.unsorted_segment_sum(raw_ops.cast(data, dtype=_core.int32), ids, count) > 0


def _all(data: Any, ids: Any, count: Any) -> Any:
    return raw_ops.logical_not(_any(raw_ops.logical_not(data), ids, count))


# For each reduction: of all elements, and of segments.
_KINDS: dict[str, tuple[Callable[..., Any], Segments]] = {
    "sum": (raw_ops.reduce_sum, raw_ops.unsorted_segment_sum),
    "prod": (raw_ops.reduce_prod, raw_ops.unsorted_segment_prod),
    "max": (raw_ops.reduce_max, raw_ops.unsorted_segment_max),
    "min": (raw_ops.reduce_min, raw_ops.unsorted_segment_min),
    "any": (raw_ops.reduce_any, _any),
    "all": (raw_ops.reduce_all, _all),
}


def reduced(kind: str, x: Any, axis: Any, keepdims: Any) -> Any:
    """A ragged tensor without some dimensions, or with size 1 there."""
    keep = bool(keepdims)
    if kind in ("variance", "std"):
        centred = apply(lambda a, b: a - b, x, reduced("mean", x, axis, True))
        squares = apply(lambda a: raw_ops.real(a * raw_ops.conj(a)) if a.dtype.is_complex else a * a, centred)
        made = reduced("mean", squares, axis, keep)
        return _each(raw_ops.sqrt, made) if kind == "std" else made
    if kind == "logsumexp":
        greatest = _each(raw_ops.stop_gradient, reduced("max", x, axis, True))
        finite = _each(lambda m: raw_ops.select(raw_ops.is_finite(m), m, raw_ops.zeros_like(m)), greatest)
        powers = apply(lambda a, b: raw_ops.exp(a - b), x, finite)
        made = _each(raw_ops.log, reduced("sum", powers, axis, keep))
        shift = finite if keep else reduced("sum", finite, axis, False)
        return apply(lambda a, b: a + b, made, shift) if isinstance(made, RaggedTensor) else made + shift
    if kind == "mean":
        total = reduced("sum", x, axis, keep)
        ones = x.with_flat_values(raw_ops.ones_like(x.flat_values))
        count = reduced("sum", ones, axis, keep)
        return apply(lambda a, b: a / b, total, count) if isinstance(total, RaggedTensor) else total / count
    whole, by_segment = _KINDS[kind]
    if kind in ("any", "all") and isinstance(x, RaggedTensor):
        # Of numbers, which are true unless they are 0, as in TensorFlow where the tensor is ragged.
        x = _each(lambda values: raw_ops.cast(values, dtype=_core.bool), x)
    if not isinstance(x, RaggedTensor):
        return whole(x, axes=axes(axis), keepdims=keep)
    rank = rank_of_ragged(x)
    listed = axes(axis)
    places = sorted({axis_of(a, rank) for a in (range(rank) if listed is None else listed)})
    if len(places) == rank:
        made = whole(x.flat_values)
        return raw_ops.reshape(made, [1] * rank) if keep else made
    made = x
    for place in reversed(places):
        made = _over(made, place, whole, by_segment)
        if keep:
            made = expand_dims(made, place)
    return made


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    return x.with_flat_values(function(x.flat_values)) if isinstance(x, RaggedTensor) else function(x)


def _over(x: Any, place: int, whole: Callable[..., Any], by_segment: Segments) -> Any:
    """A value without one dimension."""
    if not isinstance(x, RaggedTensor):
        return whole(x, axes=[place])
    if place > 1:
        return x.with_values(_over(x.values, place - 1, whole, by_segment))
    if place == 1:
        return segments(x.values, x.value_rowids(), x.nrows(), by_segment)
    columns = raw_ops.reduce_max(
        raw_ops.concat([_core._to_tensor([0], x.row_splits.dtype), x.row_lengths()], axis=0)
    )
    return segments(x.values, within_rows(x), columns, by_segment)


def segments(data: Any, ids: Any, count: Any, by_segment: Segments) -> Any:
    """The reduction of rows by segment; of ragged ones value by value, as far as the longest goes."""
    if not isinstance(data, RaggedTensor):
        return by_segment(data, ids, count)
    dtype = data.row_splits.dtype
    ids = raw_ops.cast(ids, dtype=dtype)
    longest = raw_ops.unsorted_segment_max(data.row_lengths(), ids, count)
    # A segment without rows has no values.
    lengths = raw_ops.maximum(longest, _core._to_tensor(0, dtype))
    splits = raw_ops.concat([_core._to_tensor([0], dtype), raw_ops.cumsum(lengths, axis=0)], axis=0)
    target = raw_ops.gather(splits, raw_ops.gather(ids, data.value_rowids())) + within_rows(data)
    return RaggedTensor(segments(data.values, target, splits[-1], by_segment), splits)
