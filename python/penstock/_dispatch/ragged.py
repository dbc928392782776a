"""Public functions of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, linalg, math, nn, raw_ops, strings
from penstock._ops import arrangement, creation, indexing, shapes
from penstock._ops.ragged_broadcast import apply
from penstock._ops.ragged_layout import expand_dims, rank_of_ragged, to_sparse, within_rows
from penstock._ops.ragged_reductions import reduced, segments
from penstock._ops.ragged_selection import boolean_mask, concat, gather, repeated, reverse, stack
from penstock._ops.sparse_places import kept
from penstock._runtime.arguments import axes, axis_of, integer, require
from penstock._runtime.dispatch import (
    dispatch_for_api,
    dispatch_for_binary_elementwise_apis,
    dispatch_for_binary_elementwise_assert_apis,
    dispatch_for_unary_elementwise_apis,
)
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, TensorLike

__all__: list[str] = []


def _some(value: Any) -> bool:
    """Whether a list holds a ragged tensor."""
    return isinstance(value, list | tuple) and any(isinstance(x, RaggedTensor) for x in value)


# --- elementwise ---


@dispatch_for_unary_elementwise_apis(RaggedTensor)
def _unary(api_func: Callable[..., Any], x: RaggedTensor) -> Any:
    return x.with_flat_values(api_func(x.flat_values))


@dispatch_for_binary_elementwise_apis(RaggedTensor, object)
@dispatch_for_binary_elementwise_apis(object, RaggedTensor)
def _binary(api_func: Callable[..., Any], x: Any, y: Any) -> Any:
    return apply(api_func, x, y)


@dispatch_for_binary_elementwise_assert_apis(RaggedTensor, object)
@dispatch_for_binary_elementwise_assert_apis(object, RaggedTensor)
def _check(assert_func: Callable[..., Any], x: Any, y: Any) -> None:
    def checked(a: Any, b: Any) -> Any:
        assert_func(a, b)
        return a

    apply(checked, x, y)


@dispatch_for_api(math.add_n, {"inputs": _some})
def _add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    return apply(lambda *values: math.add_n(list(values)), *inputs)


@dispatch_for_api(strings.join, {"inputs": _some})
def _join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Any:
    return apply(lambda *values: strings.join(list(values), separator), *inputs)


@dispatch_for_api(nn.softmax, {"logits": RaggedTensor})
def _softmax(logits: RaggedTensor, axis: int | None = None, name: str | None = None) -> Any:
    place = -1 if axis is None else axis
    greatest = reduced("max", logits, place, True)
    powers = apply(lambda a, b: raw_ops.exp(a - raw_ops.stop_gradient(b)), logits, greatest)
    return apply(lambda a, b: a / b, powers, reduced("sum", powers, place, True))


@dispatch_for_api(indexing.where, {"condition": RaggedTensor}, {"x": RaggedTensor}, {"y": RaggedTensor})
def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is not None and y is not None:
        return apply(indexing.where, condition, x, y)
    if x is not None or y is not None:
        raise InvalidArgumentError("arguments 'x' and 'y' must be given together")
    sparse = to_sparse(condition)
    return raw_ops.gather(sparse.indices, kept(sparse.values))


# --- reductions ---


def _register_reduction(kind: str) -> None:
    def reduction(
        input_tensor: RaggedTensor, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        return reduced(kind, input_tensor, axis, keepdims)

    dispatch_for_api(getattr(math, f"reduce_{kind}"), {"input_tensor": RaggedTensor})(reduction)


for _kind in ("all", "any", "logsumexp", "max", "mean", "min", "prod", "std", "sum", "variance"):
    _register_reduction(_kind)


def _register_segments(name: str, by_segment: Callable[..., Any]) -> None:
    def unsorted(
        data: RaggedTensor, segment_ids: TensorLike, num_segments: Any, name: str | None = None
    ) -> Any:
        ids = segment_ids.flat_values if isinstance(segment_ids, RaggedTensor) else segment_ids
        rows = data.flat_values if isinstance(segment_ids, RaggedTensor) else data
        return segments(
            rows, _core._to_tensor_hinted(ids, _core.int64), _core._to_tensor(num_segments), by_segment
        )

    def ascending(data: RaggedTensor, segment_ids: TensorLike, name: str | None = None) -> Any:
        ids = _core._to_tensor_hinted(segment_ids, _core.int64)
        last = raw_ops.concat([_core._to_tensor([-1], ids.dtype), ids], axis=0)
        require(raw_ops.reduce_all(last[1:] >= last[:-1]), "argument 'segment_ids' must not descend", ids)
        return segments(data, ids, raw_ops.reduce_max(last) + 1, by_segment)

    dispatch_for_api(getattr(math, f"unsorted_segment_{name}"), {"data": RaggedTensor})(unsorted)
    dispatch_for_api(getattr(math, f"segment_{name}"), {"data": RaggedTensor})(ascending)


for _name in ("max", "mean", "min", "prod", "sum"):
    _register_segments(_name, getattr(raw_ops, f"unsorted_segment_{_name}"))


# --- put together, chosen ---


@dispatch_for_api(arrangement.concat, {"values": _some})
def _concat(values: Sequence[Any], axis: int, name: str | None = None) -> Any:
    return concat(values, integer(axis, "axis"))


@dispatch_for_api(arrangement.stack, {"values": _some})
def _stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    return stack(values, integer(axis, "axis"))


@dispatch_for_api(indexing.gather, {"params": RaggedTensor}, {"indices": RaggedTensor})
def _gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    return gather(params, indices, axis, batch_dims)


@dispatch_for_api(nn.embedding_lookup, {"ids": RaggedTensor})
def _embedding_lookup(params: Any, ids: RaggedTensor, max_norm: Any = None, name: str | None = None) -> Any:
    return ids.with_flat_values(nn.embedding_lookup(params, ids.flat_values, max_norm))


@dispatch_for_api(indexing.boolean_mask, {"tensor": RaggedTensor}, {"mask": RaggedTensor})
def _boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str | None = "boolean_mask") -> Any:
    if axis not in (None, 0):
        return NotImplemented
    return boolean_mask(tensor, mask)


@dispatch_for_api(arrangement.reverse, {"tensor": RaggedTensor})
def _reverse(tensor: RaggedTensor, axis: Any, name: str | None = None) -> Any:
    rank = rank_of_ragged(tensor)
    return reverse(tensor, [axis_of(a, rank) for a in axes(axis) or ()])


@dispatch_for_api(arrangement.tile, {"input": RaggedTensor})
def _tile(input: RaggedTensor, multiples: Any, name: str | None = None) -> Any:
    times = axes(multiples, "multiples") or []
    if len(times) != rank_of_ragged(input):
        raise InvalidArgumentError(
            f"argument 'multiples' must have {rank_of_ragged(input)} numbers, got {len(times)}"
        )
    made: Any = input
    for place, many in reversed([*enumerate(times)]):
        made = repeated(made, place, many)
    return made


@dispatch_for_api(creation.one_hot, {"indices": RaggedTensor})
def _one_hot(
    indices: RaggedTensor,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    if axis is not None and axis_of(axis, rank_of_ragged(indices) + 1) <= indices.ragged_rank:
        raise InvalidArgumentError(f"argument 'axis' must be behind the ragged dimensions, got {axis}")
    place = None if axis is None else axis_of(axis, rank_of_ragged(indices) + 1) - indices.ragged_rank
    return indices.with_flat_values(
        creation.one_hot(indices.flat_values, depth, on_value, off_value, place, dtype)
    )


@dispatch_for_api(linalg.matmul, {"a": RaggedTensor}, {"b": RaggedTensor})
def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    *options: Any,
    **more: Any,
) -> Any:
    if adjoint_a or adjoint_b or options or any(v for k, v in more.items() if k != "name"):
        return NotImplemented
    left, right = (x.to_tensor() if isinstance(x, RaggedTensor) else _core._to_tensor(x) for x in (a, b))
    product = linalg.matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b)
    # Of each product of rows as many are kept as the left operand has, and columns as the right one has.
    rows = _lengths(a, 1) if not transpose_a else _lengths(a, 2)
    columns = _lengths(b, 2) if not transpose_b else _lengths(b, 1)
    if product.shape.rank != 3:
        return product
    if rows is None and columns is None:
        return product
    if rows is None:
        rows = raw_ops.fill(raw_ops.shape(product)[:1], raw_ops.shape(product, dtype=_core.int64)[1])
    made = RaggedTensor.from_tensor(product, lengths=rows)
    if columns is None:
        return made
    each = raw_ops.gather(raw_ops.cast(columns, dtype=_core.int64), made.value_rowids())
    return made.with_values(RaggedTensor.from_tensor(made.values, lengths=each))


def _lengths(x: Any, axis: int) -> Any:
    """The size of a dimension in each matrix, where it is not one for all."""
    if not isinstance(x, RaggedTensor):
        return None
    if axis == 1:
        return x.row_lengths()
    if x.ragged_rank < 2:
        return None
    return reduced("max", x.row_lengths(2), 1, False)


@dispatch_for_api(strings.reduce_join, {"inputs": RaggedTensor})
def _reduce_join(
    inputs: RaggedTensor,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    rank = rank_of_ragged(inputs)
    places = sorted(
        {axis_of(a, rank) for a in (range(rank) if axis is None else axes(axis) or ())}, reverse=True
    )
    made: Any = inputs
    for place in places:
        made = _joined_rows(made, place, separator)
        if keepdims:
            made = expand_dims(made, place)
    return made


def _joined_rows(x: Any, place: int, separator: str) -> Any:
    """The strings of a dimension, joined."""
    if not isinstance(x, RaggedTensor):
        return strings.reduce_join(x, place, separator=separator)
    if place > 1:
        return x.with_values(_joined_rows(x.values, place - 1, separator))
    if place == 0 or isinstance(x.values, RaggedTensor):
        raise InvalidArgumentError(
            f"argument 'axis' must be the last ragged dimension, or behind it, got {place}"
        )
    first = raw_ops.equal(within_rows(x), _core._to_tensor(0, x.row_splits.dtype))
    begun = raw_ops.string_select(first, _core._to_tensor(""), _core._to_tensor(separator))
    whole = x.with_values(raw_ops.string_join(begun, x.values)).to_tensor("")
    return strings.reduce_join(whole, 1)


# --- shapes ---


@dispatch_for_api(shapes.size, {"input": RaggedTensor})
def _size(input: RaggedTensor, out_type: DTypeLike = _core.int32, name: str | None = None) -> Any:
    return raw_ops.size(input.flat_values, dtype=_core.DType(out_type))


@dispatch_for_api(shapes.rank, {"input": RaggedTensor})
def _rank(input: RaggedTensor, name: str | None = None) -> Any:
    return _core._to_tensor(rank_of_ragged(input), _core.int32)


@dispatch_for_api(shapes.expand_dims, {"input": RaggedTensor})
def _expand_dims(input: RaggedTensor, axis: Any, name: str | None = None) -> Any:
    return expand_dims(input, axis_of(axis, rank_of_ragged(input) + 1))


@dispatch_for_api(shapes.squeeze, {"input": RaggedTensor})
def _squeeze(input: RaggedTensor, axis: Any = None, name: str | None = None) -> Any:
    places = axes(axis)
    if places is None:
        raise InvalidArgumentError("argument 'axis' must be given for a ragged tensor")
    rank = rank_of_ragged(input)
    made: Any = input
    for place in sorted({axis_of(a, rank) for a in places}, reverse=True):
        made = _squeezed(made, place)
    return made


def _squeezed(x: Any, place: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return raw_ops.squeeze(x, axes=[place])
    if place > 1:
        return x.with_values(_squeezed(x.values, place - 1))
    lengths = x.row_lengths() if place else x.nrows()
    single = raw_ops.reduce_all(raw_ops.equal(lengths, _core._to_tensor(1, lengths.dtype)))
    require(single, f"argument 'axis' must be of size 1, got {place} and sizes", lengths)
    return x.values
