"""Stages that put elements together: their kinds, and what the arguments of their methods must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, math, nest
from penstock._types.ragged_spec import RaggedTensorSpec
from penstock._types.shape import TensorShape
from penstock._types.specs import TensorSpec
from penstock.data import _batching, _windows
from penstock.data._arguments import flag, integer
from penstock.data._functions import traced, unpacked
from penstock.data._node import INFINITE, UNKNOWN, Kind, Node, Stage
from penstock.data._rows import Rows
from penstock.data._sources import at_hand
from penstock.data._specs import DatasetSpec
from penstock.data._structure import NoneTensorSpec, Structure, batched_spec, row_spec
from penstock.errors import InvalidArgumentError

__all__ = [
    "batch",
    "buckets",
    "group_by_window",
    "padded_batch",
    "ragged_batch",
    "rebatch",
    "unbatch",
    "window",
]


def _batches(n: int, size: int, drop: bool, *_: Any) -> int:
    return n if n < 0 else n // size if drop else -(-n // size)


def _window_count(n: int, size: int, shift: int, stride: int, drop: bool, *_: Any) -> int:
    if n < 0:
        return n
    if drop:
        n = max(0, n - (size - 1) * stride + shift - 1)
        return n // shift
    return -(-n // shift)


def _some(n: int, *_: Any) -> int:
    return 0 if n == 0 else INFINITE if n == INFINITE else UNKNOWN


BATCH = Kind("Batch", _batching.batched, _batches)
PADDED = Kind("PaddedBatch", _batching.padded, _batches)
RAGGED = Kind("RaggedBatch", _batching.ragged, _batches)
UNBATCH = Kind("Unbatch", _batching.unbatched, _some)
REBATCH = Kind("Rebatch", _batching.rebatched, _some)
WINDOW = Kind("Window", _batching.windows, _window_count)
GROUPED = Kind("GroupByWindow", _batching.grouped, _some)
ELEMENTS = Kind("Elements", lambda parts: at_hand(parts), lambda parts: sum(rows.count for rows in parts))


def batch(source: Node, batch_size: Any, drop_remainder: Any) -> Stage:
    """So many elements at a time, stacked."""
    size, drop = integer(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
    known = _fixed(size, drop)
    spec = source._structure.mapped(lambda s: batched_spec(s, known, "batch"))
    return Stage(BATCH, [source], [size, drop], spec)


def padded_batch(
    source: Node, batch_size: Any, padded_shapes: Any, padding_values: Any, drop_remainder: Any
) -> Stage:
    """So many elements at a time, padded and stacked."""
    size, drop = integer(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
    structure = source._structure.mapped(_dense)
    if not structure.plain:
        raise TypeError(f"padded_batch pads tensors, the elements are {source._structure.spec}")
    shapes = _padded_shapes(structure, padded_shapes)
    values = _padding_values(structure, padding_values)
    known = _fixed(size, drop)
    batched = [
        s if isinstance(s, NoneTensorSpec) else TensorSpec([known, *map(_known, shape)], s.dtype)
        for s, shape in zip(structure.leaves, shapes, strict=True)
    ]
    spec = nest.pack_sequence_as(structure.spec, batched)
    return Stage(PADDED, [source], [size, drop, shapes, *values], spec)


def _dense(spec: Any) -> Any:
    """A specification, for rows of a ragged tensor that of tensors."""
    is_row = isinstance(spec, RaggedTensorSpec) and not spec.ragged_rank
    return TensorSpec(spec.shape, spec.dtype) if is_row else spec


def ragged_batch(source: Node, batch_size: Any, drop_remainder: Any, row_splits_dtype: Any) -> Stage:
    """So many elements at a time, stacked to ragged tensors."""
    size, drop = integer(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
    known, dtype = _fixed(size, drop), _core.DType(row_splits_dtype)

    def rank(spec: Any) -> int | None:
        if not isinstance(spec, TensorSpec):
            return None
        if spec.shape.rank is None:
            raise InvalidArgumentError("ragged_batch needs elements of known rank")
        return max((i + 1 for i, d in enumerate(spec.shape.as_list()) if d is None), default=0)

    def batched(spec: Any) -> Any:
        levels = rank(spec)
        if not levels:
            return batched_spec(spec, known, "ragged_batch")
        return RaggedTensorSpec([known, *spec.shape._dims], spec.dtype, levels, dtype)

    ranks = [rank(spec) for spec in source._structure.leaves]
    return Stage(RAGGED, [source], [size, drop, ranks, dtype], source._structure.mapped(batched))


def unbatch(source: Node) -> Stage:
    """The rows of the elements."""
    return Stage(
        UNBATCH, [source], [], source._structure.mapped(lambda s: row_spec(s, "unbatch: the elements"))
    )


def rebatch(source: Node, batch_size: Any, drop_remainder: Any) -> Stage:
    """The rows of the elements in batches of another size."""
    drop, known = flag(drop_remainder, "drop_remainder"), None
    sizes: Any = batch_size if isinstance(batch_size, list | tuple) else [batch_size]
    if sizes is not batch_size and len(getattr(batch_size, "shape", ())) != 0:
        sizes = _core._to_tensor(batch_size)
        if not sizes.dtype.is_integer or sizes.shape.rank != 1:
            raise TypeError(
                f"argument 'batch_size' must be an integer or a vector of them, got {batch_size!r}"
            )
    if not isinstance(sizes, _core.Tensor) or not sizes._is_symbolic:
        sizes = [integer(size, "batch_size", 0) for size in sizes]
        if not sizes:
            raise InvalidArgumentError("argument 'batch_size' must hold at least one size")
        same = all(isinstance(size, int) and size == sizes[0] for size in sizes)
        known = _fixed(sizes[0], drop) if same else None

    def spec(leaf: Any) -> Any:
        return batched_spec(row_spec(leaf, "rebatch: the elements"), known, "rebatch")

    return Stage(REBATCH, [source], [sizes, drop], source._structure.mapped(spec))


def window(source: Node, size: Any, shift: Any, stride: Any, drop_remainder: Any) -> Stage:
    """Data sets of elements that follow each other."""
    n = integer(size, "size", 1)
    by = n if shift is None else integer(shift, "shift", 1)
    step = integer(stride, "stride", 1)
    drop = flag(drop_remainder, "drop_remainder")
    make, structures = source._make, [Structure(spec) for spec in source._structure.leaves]

    def wrap(found: Sequence[Rows]) -> list[Any]:
        def leaf(i: int) -> list[Rows]:
            return [Rows(rows.count, [rows.columns[i]], rows.stacked) for rows in found]

        return [make(ELEMENTS, [], [leaf(i)], structure) for i, structure in enumerate(structures)]

    return Stage(WINDOW, [source], [n, by, step, drop, wrap], source._structure.mapped(DatasetSpec))


def group_by_window(
    source: Node, key_func: Any, reduce_func: Any, window_size: Any, window_size_func: Any
) -> Stage:
    """The elements of what a function makes of windows of elements that have one key."""
    if (window_size is None) == (window_size_func is None):
        raise InvalidArgumentError(
            "group_by_window takes one of the arguments 'window_size' and 'window_size_func'"
        )
    number = TensorSpec([], _core.int64)
    key = traced(key_func, "key_func", unpacked(source._structure.spec), number)
    reduce = traced(reduce_func, "reduce_func", (number, DatasetSpec(source._structure.spec)))
    if not isinstance(reduce.gives.spec, DatasetSpec):
        raise TypeError(f"argument 'reduce_func' must give a data set, got {reduce.gives.spec}")
    by = None
    if window_size_func is not None:
        by = traced(window_size_func, "window_size_func", (number,), number)
    fixed = None if window_size is None else integer(window_size, "window_size", 1)
    make, structure = source._make, source._structure

    def wrap(found: Sequence[Rows]) -> Any:
        return make(ELEMENTS, [], [found], structure)

    batches = _windows.reduction_of(reduce, reduce_func, structure.spec)
    return Stage(GROUPED, [source], [key, reduce, by, fixed, wrap, batches], reduce.gives.spec.element_spec)


def buckets(
    element_length_func: Any,
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any,
    padding_values: Any,
    pad_to_bucket_boundary: bool,
    no_padding: bool,
    drop_remainder: bool,
) -> tuple[Any, Any, None, Any]:
    """The arguments of `group_by_window` that put elements of like lengths in batches."""
    boundaries, sizes = list(bucket_boundaries), list(bucket_batch_sizes)
    if len(sizes) != len(boundaries) + 1:
        raise InvalidArgumentError(
            f"argument 'bucket_batch_sizes' must have {len(boundaries) + 1} sizes for {len(boundaries)} "
            f"boundaries, got {len(sizes)}"
        )
    from penstock.autograph import convert_function  # start-up does without it

    below = _core._to_tensor(boundaries, _core.int64)
    batch_sizes = _core._to_tensor(sizes, _core.int64)
    length_of = convert_function(element_length_func)

    def bucket(*element: Any) -> Any:
        length = math.cast(length_of(*element), _core.int64)
        return math.reduce_sum(math.cast(math.less_equal(below, length), _core.int64))

    def reduced(key: Any, group: Any) -> Any:
        size = batch_sizes[key]
        if no_padding:
            return group.batch(size, drop_remainder=drop_remainder)
        shapes: Any = padded_shapes
        if pad_to_bucket_boundary:
            ends = _core._to_tensor([b - 1 for b in boundaries] or [0], _core.int64)
            count = len(boundaries)
            from penstock.debugging import Assert  # start-up does without it

            Assert(
                math.less(key, count),
                ["an element is longer than the last of argument 'bucket_boundaries'"],
            )
            shapes = _Bound(shapes, ends[math.minimum(key, max(0, count - 1))])
        return group.padded_batch(size, shapes, padding_values, drop_remainder)

    return bucket, reduced, None, lambda key: batch_sizes[key]


class _Bound:
    """Shapes to pad to, whose open sizes are a tensor."""

    def __init__(self, shapes: Any, size: Any) -> None:
        self.shapes = shapes
        self.size = size


def _fixed(size: Any, drop: Any) -> int | None:
    """The size that all batches have, where that is known."""
    return size if drop is True and isinstance(size, int) else None


def _known(size: Any) -> Any:
    return None if isinstance(size, _core.Tensor) else size


def _sizes(shape: Any) -> list[Any] | None:
    """The sizes to pad to: None for an open one, a tensor for a computed one. None where no rank is known."""
    if isinstance(shape, _core.Tensor) and not shape._is_symbolic:
        shape = shape.numpy().tolist()
    if isinstance(shape, _core.Tensor):
        count = shape.shape[0] if shape.shape.rank == 1 else None
        return None if count is None else [shape[i] for i in range(count)]
    if not isinstance(shape, list | tuple):
        found = TensorShape(shape)
        return None if found.rank is None else found.as_list()
    return [None if not isinstance(d, _core.Tensor) and d == -1 else d for d in shape]


def _padded_shapes(structure: Structure, given: Any) -> list[Any]:
    """The sizes to pad each leaf to; None for one that is None."""
    bound = given.size if isinstance(given, _Bound) else None
    given = given.shapes if isinstance(given, _Bound) else given
    if given is None:
        wanted: list[Any] = [None if isinstance(s, NoneTensorSpec) else s.shape for s in structure.leaves]
    else:
        wanted = _flat_like(structure.spec, given, "padded_shapes")
    shapes: list[Any] = []
    for spec, shape in zip(structure.leaves, wanted, strict=True):
        if isinstance(spec, NoneTensorSpec):
            shapes.append(None)
            continue
        sizes = _sizes(shape)
        found = TensorShape(sizes if sizes is None else [_known(d) for d in sizes])
        if found.rank is None:
            raise InvalidArgumentError(
                "padded_batch: argument 'padded_shapes' must be given for components of unknown rank"
            )
        if spec.shape.rank is not None and spec.shape.rank != found.rank:
            raise InvalidArgumentError(
                f"argument 'padded_shapes' has shape {found} for a component of shape {spec.shape}"
            )
        for own, size in zip(spec.shape._dims or (), found.as_list(), strict=False):
            if own is not None and size is not None and size < own:
                raise InvalidArgumentError(
                    f"argument 'padded_shapes' has shape {found} for a component of shape {spec.shape}"
                )
        shapes.append(sizes)
    return [s if s is None or bound is None else [bound if d is None else d for d in s] for s in shapes]


def _flat_like(spec: Any, value: Any, argument: str) -> list[Any]:
    """What a nest of arguments has for each leaf of a specification."""
    if not nest.is_nested(spec):
        return [value]
    if isinstance(value, list):
        value = tuple(value)
    try:
        if isinstance(spec, dict):
            return [x for k in nest._sorted_keys(spec) for x in _flat_like(spec[k], value[k], argument)]
        return [x for s, v in zip(spec, value, strict=True) for x in _flat_like(s, v, argument)]
    except (TypeError, KeyError, ValueError):
        raise InvalidArgumentError(
            f"argument '{argument}' must be nested as the elements, {spec}, got {value!r}"
        ) from None


def _padding_values(structure: Structure, given: Any) -> list[Any]:
    """The scalar to pad each leaf with."""
    if given is None or not nest.is_nested(given):
        found = [given] * len(structure.leaves)
    else:
        found = _flat_like(structure.spec, given, "padding_values")
    values: list[Any] = []
    for spec, value in zip(structure.leaves, found, strict=True):
        if isinstance(spec, NoneTensorSpec):
            values.append(None)
            continue
        if value is None:
            value = "" if spec.dtype == _core.string else 0
        try:
            tensor = _core._to_tensor(value, spec.dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"argument 'padding_values' must be a {spec.dtype.name} scalar: {error}"
            ) from None
        if tensor.shape.rank != 0:
            raise InvalidArgumentError(
                f"argument 'padding_values' must hold scalars, got shape {tensor.shape}"
            )
        values.append(tensor)
    return values
