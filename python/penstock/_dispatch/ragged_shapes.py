"""Public functions of ragged tensors and their shapes: shapes as values, orders, parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, math, nn, raw_ops
from penstock._ops import arrangement, creation, indexing, shapes, sorting
from penstock._ops.ragged_broadcast import apply
from penstock._ops.ragged_layout import rank_of_ragged
from penstock._ops.ragged_order import along_padded, argsort, parted
from penstock._runtime.arguments import axis_of, integer, require
from penstock._runtime.dispatch import dispatch_for_api
from penstock._values.dynamic_ragged_shape import DynamicRaggedShape
from penstock._values.ragged import RaggedTensor
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

__all__: list[str] = []


# --- shapes as values ---


@dispatch_for_api(shapes.shape, {"input": RaggedTensor})
def _shape(input: RaggedTensor, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    return DynamicRaggedShape.from_tensor(input, out_type)


@dispatch_for_api(creation.zeros, {"shape": DynamicRaggedShape})
def _zeros(shape: DynamicRaggedShape, dtype: DTypeLike = _core.float32, *more: Any, **options: Any) -> Any:
    return shape._rows_of(creation.zeros(shape.inner_shape, dtype))


@dispatch_for_api(creation.ones, {"shape": DynamicRaggedShape})
def _ones(shape: DynamicRaggedShape, dtype: DTypeLike = _core.float32, *more: Any, **options: Any) -> Any:
    return shape._rows_of(creation.ones(shape.inner_shape, dtype))


@dispatch_for_api(creation.fill, {"dims": DynamicRaggedShape})
def _fill(dims: DynamicRaggedShape, value: TensorLike, *more: Any, **options: Any) -> Any:
    return dims._filled(value)


@dispatch_for_api(shapes.rank, {"input": DynamicRaggedShape})
def _rank_of_shape(input: DynamicRaggedShape, name: str | None = None) -> Any:
    return _core._to_tensor(1, _core.int32)


@dispatch_for_api(shapes.reshape, {"shape": DynamicRaggedShape})
@dispatch_for_api(shapes.reshape, {"tensor": RaggedTensor})
def _reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    flat = tensor.flat_values if isinstance(tensor, RaggedTensor) else _core._to_tensor(tensor)
    if isinstance(shape, DynamicRaggedShape):
        return shape._rows_of(shapes.reshape(flat, shape.inner_shape))
    return shapes.reshape(flat, shape)


@dispatch_for_api(
    shapes.broadcast_dynamic_shape, {"shape_x": DynamicRaggedShape}, {"shape_y": DynamicRaggedShape}
)
def _broadcast_shape(shape_x: Any, shape_y: Any) -> Any:
    x, y = (s if isinstance(s, DynamicRaggedShape) else DynamicRaggedShape([], s) for s in (shape_x, shape_y))
    if not x.num_row_partitions and not y.num_row_partitions:
        return DynamicRaggedShape([], shapes.broadcast_dynamic_shape(x.inner_shape, y.inner_shape))
    a, b = x._filled(False), y._filled(False)
    return DynamicRaggedShape.from_tensor(apply(math.logical_or, a, b))


@dispatch_for_api(shapes.broadcast_to, {"shape": DynamicRaggedShape})
def _broadcast_to(input: Any, shape: DynamicRaggedShape, name: str | None = None) -> Any:
    if not shape.num_row_partitions:
        if isinstance(input, RaggedTensor):
            return NotImplemented
        return shapes.broadcast_to(input, shape.inner_shape)
    given = input if isinstance(input, RaggedTensor) else _core._to_tensor(input)
    rank = rank_of_ragged(given) if isinstance(given, RaggedTensor) else given.shape.rank
    if rank is not None and shape.rank is not None and rank > shape.rank:
        raise InvalidArgumentError(f"argument 'input' must be of rank {shape.rank} or less, got {rank}")

    def spread(a: Any, b: Any) -> Any:
        return raw_ops.broadcast_to(a, raw_ops.shape(b))

    # What stands where the shape has a place, no more: rows of the argument may not be longer.
    made = apply(spread, given, shape._filled(False))
    flat = made.flat_values
    same = raw_ops.equal(raw_ops.size(flat, dtype=shape.dtype), raw_ops.reduce_prod(shape.inner_shape))
    require(same, "argument 'input' must broadcast to 'shape', of values", shape.inner_shape)
    return shape._rows_of(raw_ops.reshape(flat, shape.inner_shape))


# --- orders ---


def _direction(direction: Any) -> str:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            f"argument 'direction' must be 'ASCENDING' or 'DESCENDING', got {direction!r}"
        )
    return str(direction)


@dispatch_for_api(sorting.sort, {"values": RaggedTensor})
def _sort(
    values: RaggedTensor, axis: IntLike = -1, direction: str = "ASCENDING", name: str | None = None
) -> Any:
    return argsort(values, integer(axis, "axis"), _direction(direction))[1]


@dispatch_for_api(sorting.argsort, {"values": RaggedTensor})
def _argsort(
    values: RaggedTensor,
    axis: IntLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    return argsort(values, integer(axis, "axis"), _direction(direction))[0]


@dispatch_for_api(math.cumsum, {"x": RaggedTensor})
def _cumsum(
    x: RaggedTensor,
    axis: IntLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    def along(dense: Any, place: int) -> Any:
        return math.cumsum(dense, place, exclusive, reverse)

    return along_padded(x, integer(axis, "axis"), along, None)


@dispatch_for_api(math.cumprod, {"x": RaggedTensor})
def _cumprod(
    x: RaggedTensor,
    axis: IntLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    def along(dense: Any, place: int) -> Any:
        return math.cumprod(dense, place, exclusive, reverse)

    return along_padded(x, integer(axis, "axis"), along, 1)


# --- parts ---


@dispatch_for_api(arrangement.split, {"value": RaggedTensor})
def _split(
    value: RaggedTensor,
    num_or_size_splits: Any,
    axis: IntLike = 0,
    num: int | None = None,
    name: str | None = None,
) -> Any:
    place = axis_of(integer(axis, "axis"), rank_of_ragged(value))
    return parted(value, num_or_size_splits, place, num)


@dispatch_for_api(arrangement.unstack, {"value": RaggedTensor})
def _unstack(value: RaggedTensor, num: int | None = None, axis: IntLike = 0, name: str | None = None) -> Any:
    if axis_of(integer(axis, "axis"), rank_of_ragged(value)) != 0:
        raise InvalidArgumentError(f"argument 'axis' must be 0 for a ragged tensor, got {axis}")
    count = value.shape[0] if num is None else num
    if count is None:
        raise InvalidArgumentError("argument 'num' must be given where the number of rows is not known")
    return [value[i] for i in range(count)]


@dispatch_for_api(indexing.dynamic_partition, {"data": RaggedTensor}, {"partitions": RaggedTensor})
def _dynamic_partition(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    from penstock.ragged import stack_dynamic_partitions  # it is above

    rows = stack_dynamic_partitions(data, partitions, num_partitions)
    return [rows[i] for i in range(integer(num_partitions, "num_partitions"))]


@dispatch_for_api(indexing.gather_nd, {"params": RaggedTensor}, {"indices": RaggedTensor})
def _gather_nd(
    params: Any,
    indices: Any,
    batch_dims: IntLike = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    if integer(batch_dims, "batch_dims") != 0 or bad_indices_policy not in ("", "DEFAULT", "ERROR"):
        return NotImplemented
    if isinstance(indices, RaggedTensor):
        flat = indices.flat_values
        if rank_of_ragged(indices) == indices.ragged_rank + 1:
            raise InvalidArgumentError(
                "argument 'indices' must have places of one size: its last dimension is ragged"
            )
        return indices.with_flat_values(indexing.gather_nd(params, flat))
    places = _core._to_tensor_hinted(indices, _core.int64)
    depth = places.shape[-1] if places.shape.rank else None
    if places.shape.rank in (None, 0) or depth is None:
        raise InvalidArgumentError(
            f"argument 'indices' must have a last dimension of known size, got {places.shape}"
        )
    if depth == 0:
        return NotImplemented
    outer = raw_ops.reshape(places, [-1, depth])
    made: Any = params
    # Each number chooses among the rows that the ones before it have chosen.
    chosen = raw_ops.cast(outer[:, 0], dtype=_core.int64)
    for level in range(1, depth):
        if not isinstance(made, RaggedTensor):
            inner = raw_ops.concat(
                [raw_ops.expand_dims(chosen, axis=1), raw_ops.cast(outer[:, level:], dtype=_core.int64)],
                axis=1,
            )
            return _shaped(raw_ops.gather_nd(made, inner), places)
        chosen = _inside(chosen, made.nrows(_core.int64))
        start = raw_ops.cast(raw_ops.gather(made.row_starts(), chosen), dtype=_core.int64)
        length = raw_ops.cast(raw_ops.gather(made.row_lengths(), chosen), dtype=_core.int64)
        chosen = start + _inside(raw_ops.cast(outer[:, level], dtype=_core.int64), length)
        made = made.values
    return _shaped(indexing.gather(made, chosen), places)


def _inside(numbers: Any, bound: Any) -> Any:
    fits = raw_ops.reduce_all(raw_ops.logical_and(numbers >= 0, numbers < bound))
    require(fits, "argument 'indices' must name rows and values that there are", numbers)
    return numbers


def _shaped(rows: Any, places: Any) -> Any:
    """Rows, one for each place, in the arrangement of the places."""
    lead = places.shape.rank - 1
    if lead == 1:
        return rows
    if not isinstance(rows, RaggedTensor):
        shape = raw_ops.concat([raw_ops.shape(places)[:-1], raw_ops.shape(rows)[1:]], axis=0)
        return raw_ops.reshape(rows, shape)
    if lead == 0:
        return rows[0]
    sizes = raw_ops.shape(places, dtype=_core.int64)
    made = rows
    for k in range(lead - 1, 0, -1):
        static = places.shape[k]
        count = raw_ops.reduce_prod(sizes[:k])
        made = RaggedTensor.from_uniform_row_length(
            made, sizes[k] if static is None else static, count, validate=False
        )
    return made


# --- neural networks ---


@dispatch_for_api(nn.dropout, {"x": RaggedTensor})
def _dropout(
    x: RaggedTensor, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    if noise_shape is not None:
        raise InvalidArgumentError("argument 'noise_shape' must not be given for a ragged tensor")
    return x.with_flat_values(nn.dropout(x.flat_values, rate, seed=seed))


@dispatch_for_api(nn.log_softmax, {"logits": RaggedTensor})
def _log_softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    total = math.reduce_logsumexp(logits, -1 if axis is None else axis, keepdims=True)
    return apply(lambda a, b: a - b, logits, total)


@dispatch_for_api(math.count_nonzero, {"input": RaggedTensor})
def _count_nonzero(
    input: RaggedTensor,
    axis: Any = None,
    keepdims: bool = False,
    dtype: DTypeLike = _core.int64,
    name: str | None = None,
) -> Any:
    flat = input.flat_values
    empty = _core._to_tensor("" if flat.dtype == _core.string else 0, flat.dtype)
    ones: Any = input.with_flat_values(raw_ops.cast(raw_ops.not_equal(flat, empty), dtype=_core.DType(dtype)))
    return math.reduce_sum(ones, axis, keepdims)


def _extreme(kind: str) -> Any:
    def found(
        input: RaggedTensor,
        axis: IntLike | None = None,
        output_type: DTypeLike = _core.int64,
        name: str | None = None,
    ) -> Any:
        place = axis_of(0 if axis is None else integer(axis, "axis"), rank_of_ragged(input))
        if place == 0:
            raise InvalidArgumentError("argument 'axis' must not be 0 for a ragged tensor")
        if place > input.ragged_rank:
            return input.with_flat_values(
                getattr(math, f"arg{kind}")(input.flat_values, place - input.ragged_rank, output_type)
            )
        if place < input.ragged_rank or rank_of_ragged(input) > input.ragged_rank + 1:
            return NotImplemented
        order, _ = argsort(input, place, "DESCENDING" if kind == "max" else "ASCENDING")
        # The first of each row in order; an empty row has none, and says 0.
        first = raw_ops.concat([order.flat_values, _core._to_tensor([0], _core.int32)], axis=0)
        level = order
        while isinstance(level.values, RaggedTensor):
            level = level.values
        count = raw_ops.size(order.flat_values, dtype=level.row_splits.dtype)
        start = raw_ops.select(level.row_lengths() > 0, level.row_starts(), count)
        made = raw_ops.cast(raw_ops.gather(first, start), dtype=_core.DType(output_type))
        return made if level is order else _around(order, made)

    return found


def _around(order: RaggedTensor, values: Any) -> Any:
    """Values in the rows around the innermost ones."""
    if not isinstance(order.values.values, RaggedTensor):
        return order.with_values(values)
    return order.with_values(_around(order.values, values))


dispatch_for_api(math.argmax, {"input": RaggedTensor})(_extreme("max"))
dispatch_for_api(math.argmin, {"input": RaggedTensor})(_extreme("min"))
