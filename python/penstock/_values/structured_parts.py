"""What structured tensors are made of: the shape that fields have in common, and values of Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from penstock import _core, raw_ops
from penstock._runtime.arguments import require
from penstock._types.shape import TensorShape
from penstock._values.dynamic_ragged_shape import DynamicRaggedShape
from penstock._values.ragged import RaggedTensor
from penstock._values.row_partition import RowPartition
from penstock.errors import InvalidArgumentError

__all__ = [
    "by_structure",
    "checked_name",
    "depth_of_dicts",
    "merged",
    "of_fields",
    "outer_partitioned",
    "shape_dtype",
    "static_shape",
    "with_all_partitions",
    "with_shape_dtype",
]

_NAME: Final = re.compile("[a-zA-Z][a-zA-Z0-9_]*")


def checked_name(name: Any) -> str:
    """The name of a field.

    Raises:
        TypeError: for one that is no string.
        ValueError: for one that is not a letter with letters, digits and underscores behind it.
    """
    if not isinstance(name, str):
        raise TypeError(f"argument 'fields' must have strings for names, got {name!r}")
    if not _NAME.fullmatch(name):
        raise InvalidArgumentError(
            "argument 'fields' must have names of letters, digits and underscores that begin with a letter, "
            f"got {name!r}"
        )
    return name


# --- shapes ---


def static_shape(shape: DynamicRaggedShape) -> TensorShape:
    """What is known of a shape, None for ragged dimensions."""
    return TensorShape(shape.static_lengths(ragged_lengths=False))


def shape_dtype(values: Iterable[Any]) -> _core.DType:
    """The dtype of the partitions of fields: `int64` unless all that have one are `int32`."""
    found = set()
    for value in values:
        if isinstance(value, RaggedTensor):
            found.add(value.row_splits.dtype)
        elif not isinstance(value, _core.Tensor):
            found.add(value._ragged_shape.dtype)
    return _core.int32 if found == {_core.int32} else _core.int64


def with_shape_dtype(value: Any, dtype: _core.DType) -> Any:
    """A field with partitions of a dtype."""
    if isinstance(value, RaggedTensor):
        return value.with_row_splits_dtype(dtype)
    return value if isinstance(value, _core.Tensor) else value.with_shape_dtype(dtype)


def with_all_partitions(shape: DynamicRaggedShape) -> DynamicRaggedShape:
    """The same shape with a partition into rows for each dimension behind the first."""
    rank = shape.inner_rank or 0
    if rank < 2:
        return shape
    dtype, inner, known = shape.dtype, shape.inner_shape, shape.static_inner_shape
    partitions, rows, count = list(shape.row_partitions), inner[0], known[0]
    for axis in range(1, rank):
        size = known[axis]
        values = rows * inner[axis]
        total = None if count is None or size is None else count * size
        partitions.append(
            RowPartition.from_uniform_row_length(
                inner[axis] if size is None else size,
                nvals=values if total is None else total,
                nrows=rows if count is None else count,
                dtype=dtype,
            )
        )
        rows, count = values, total
    return DynamicRaggedShape(partitions, raw_ops.reshape(rows, [1]), dtype, static_inner_shape=[count])


def _leading(value: Any, rank: int, dtype: _core.DType) -> DynamicRaggedShape:
    """The shape of the first dimensions of a field."""
    if isinstance(value, _core.Tensor | RaggedTensor):
        whole = DynamicRaggedShape.from_tensor(value, dtype)
    else:
        whole = value._ragged_shape.with_dtype(dtype)
    return whole[:rank]  # type: ignore[no-any-return]


def of_fields(
    fields: Mapping[str, Any],
    shape: TensorShape,
    nrows: Any,
    row_partitions: Sequence[RowPartition] | None,
    dtype: _core.DType,
    validate: bool,
) -> DynamicRaggedShape:
    """The shape that fields have in common, of which the rank is known.

    Raises:
        ValueError: where it is not said, or fields have other shapes.
    """
    rank = shape.rank or 0
    known = shape
    for name, value in fields.items():
        own = value.shape
        if own.rank is not None and own.rank < rank:
            raise InvalidArgumentError(
                f"argument 'fields': '{name}' has shape {own}, but must have {rank} dimension(s) at least"
            )
        if not own[:rank].is_compatible_with(known):
            raise InvalidArgumentError(
                f"argument 'fields': '{name}' has shape {own}, which does not begin with {known} as others do"
            )
        known = known.merge_with(own[:rank])
    if rank == 0:
        return DynamicRaggedShape([], _core._to_tensor([], dtype), dtype)
    ragged = [value for value in fields.values() if not isinstance(value, _core.Tensor)]
    if row_partitions:
        found = DynamicRaggedShape.from_row_partitions(row_partitions, dtype)
    elif fields and not (known.is_fully_defined() and not ragged):
        found = _leading([*ragged, *fields.values()][0], rank, dtype)
    elif known.is_fully_defined():
        found = DynamicRaggedShape([], _core._to_tensor(known.as_list(), dtype), dtype)
    elif nrows is not None and rank == 1:
        found = DynamicRaggedShape([], raw_ops.reshape(_core._to_tensor_hinted(nrows, dtype), [1]), dtype)
    else:
        raise InvalidArgumentError(
            "argument 'fields' is empty, and 'shape' leaves sizes open: 'nrows' or 'row_partitions' must say "
            "them"
        )
    whole = with_all_partitions(found)
    for name, value in fields.items():
        _check(name, with_all_partitions(_leading(value, rank, dtype)), whole, validate)
    return whole


def _check(name: str, own: DynamicRaggedShape, whole: DynamicRaggedShape, validate: bool) -> None:
    """Raises where a field has other rows than the structure, as far as it is known or to be checked."""
    pairs = [(own.inner_shape, whole.inner_shape)]
    partitions = zip(own.row_partitions, whole.row_partitions, strict=True)
    pairs += [(one.row_splits(), two.row_splits()) for one, two in partitions]
    message = f"argument 'fields': '{name}' has other rows than the structure"
    for one, two in pairs:
        if one is two:
            continue
        first, second = _core._known_value(one), _core._known_value(two)
        if first is not None and second is not None:
            if first.numpy().tolist() != second.numpy().tolist():
                raise InvalidArgumentError(message)
        elif validate:
            same = raw_ops.reduce_all(raw_ops.equal(one, two)) if one.shape == two.shape else _same(one, two)
            require(same, message, one, two)


def _same(one: Any, two: Any) -> Any:
    """Whether vectors are the same, whose sizes may differ."""
    from penstock._control.flow import cond  # builds on this

    sizes = raw_ops.equal(raw_ops.shape(one), raw_ops.shape(two))
    same = raw_ops.reduce_all(sizes)
    return cond(same, lambda: raw_ops.reduce_all(raw_ops.equal(one, two)), lambda: same)


# --- fields in other shapes ---


def outer_partitioned(value: Any, partition: RowPartition) -> Any:
    """A field whose first dimension is divided into rows."""
    if isinstance(value, _core.Tensor) and partition.is_uniform():
        length = partition.uniform_row_length()
        first = raw_ops.stack([partition.nrows(), length], axis=0)
        rest = raw_ops.shape(value, dtype=partition.dtype)[1:]
        made = raw_ops.reshape(value, raw_ops.concat([first, rest], axis=0))
        known = [partition.static_nrows, partition.static_uniform_row_length]
        return raw_ops.ensure_shape(made, shape=[*known, *value.shape[1:]]) if value.shape.rank else made
    if isinstance(value, _core.Tensor | RaggedTensor):
        own = partition if isinstance(value, _core.Tensor) else partition.with_dtype(value.row_splits.dtype)
        return RaggedTensor(value, own.row_splits(), own.static_uniform_row_length)
    return value.partition_outer_dimension(partition)


def merged(value: Any, outer: int, inner: int) -> Any:
    """A field some of whose dimensions are joined to one."""
    if isinstance(value, RaggedTensor):
        return value.merge_dims(outer, inner)
    if not isinstance(value, _core.Tensor):
        return value.merge_dims(outer, inner)
    extents = raw_ops.shape(value)
    count = raw_ops.reduce_prod(extents[outer : inner + 1])
    parts = [extents[:outer], raw_ops.reshape(count, [1]), extents[inner + 1 :]]
    return raw_ops.reshape(value, raw_ops.concat(parts, axis=0))


# --- Python's values ---


def depth_of_dicts(value: Any, names: dict[str, None]) -> int | None:
    """How many lists there are around the dicts of a nest, None where there are none; notes their keys.

    Raises:
        ValueError: where dicts stand at several depths.
    """
    if isinstance(value, Mapping):
        names.update(dict.fromkeys(value))
        return 0
    if not isinstance(value, list | tuple):
        return None
    depths = {depth for item in value if (depth := depth_of_dicts(item, names)) is not None}
    if len(depths) > 1:
        raise InvalidArgumentError("argument 'pyval' must have dicts at one depth of lists")
    return depths.pop() + 1 if depths else None


def by_structure(names: Sequence[str], values: Sequence[Any], depth: int) -> Any:
    """Lists of dicts of what is given as a list for each field."""
    if depth == 0:
        return dict(zip(names, values, strict=True))
    return [by_structure(names, items, depth - 1) for items in zip(*values, strict=True)]
