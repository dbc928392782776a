"""What the operators that make and move arrays give, by NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from support.reference_models import (
    Array,
    Model,
    like,
    own,
    single,
)


def unchanged(x: Array, **_: Any) -> Array:
    return x


def zeros(shape: Sequence[int] | Array, dtype: np.dtype) -> Array:
    return np.full(tuple(shape), b"" if dtype.kind == "O" else False if dtype.kind == "b" else 0, dtype)


def index_dtype(dtype: Any) -> Any:
    return "int32" if dtype is None else dtype.as_numpy_dtype


def number_range(start: Array, limit: Array, delta: Array) -> Array:
    count = math.ceil((float(limit) - float(start)) / float(delta))
    return like(start, start + like(start, np.arange(count)) * delta)


def one_hot(indices: Array, depth: Array, on_value: Array, off_value: Array, axis: int = -1) -> Array:
    hot = indices[..., None] == np.arange(depth)
    return np.moveaxis(np.where(hot, on_value, off_value), -1, axis)


def reshape(x: Array, shape: Array) -> Array:
    """A size -1 beside a size 0, which NumPy rejects, is what the sizes that are not 0 leave."""
    sizes = shape.tolist()
    if 0 in sizes and -1 in sizes:
        rest = math.prod(n for n in x.shape if n) // math.prod(n for n in sizes if n > 0)
        sizes[sizes.index(-1)] = rest
    return x.reshape(sizes)


def squeeze(x: Array, axes: Sequence[int] | None = None) -> Array:
    return np.squeeze(x, tuple(axes) if axes else None)


def pad(x: Array, paddings: Array, constant_values: Array) -> Array:
    out = np.full(
        [n + sum(p) for n, p in zip(x.shape, paddings.tolist(), strict=True)], constant_values, x.dtype
    )
    out[tuple(slice(p[0], p[0] + n) for n, p in zip(x.shape, paddings.tolist(), strict=True))] = x
    return out


def concat_offset(*shapes: Array, axis: int) -> tuple[Array, ...]:
    offsets = [np.zeros_like(shape) for shape in shapes]
    for offset, start in zip(
        offsets, itertools.accumulate((int(s[axis]) for s in shapes), initial=0), strict=False
    ):
        offset[axis] = start
    return tuple(offsets)


def unstack(x: Array, num: int | None = None, axis: int = 0) -> tuple[Array, ...]:
    return tuple(np.moveaxis(x, axis, 0)[i] for i in range(x.shape[axis]))


def split(
    x: Array, sizes: Sequence[int] | None = None, num: int | None = None, axis: int = 0
) -> tuple[Array, ...]:
    if sizes is None:
        return tuple(np.split(x, num, axis))
    rest = x.shape[axis] - sum(n for n in sizes if n >= 0)
    ends = itertools.accumulate(rest if n < 0 else n for n in sizes)
    return tuple(np.split(x, list(ends)[:-1], axis))


def subscript(begin: Array, end: Array, strides: Array, **masks: int) -> tuple[Any, ...]:
    """What is written in the brackets."""

    def item(i: int) -> Any:
        def masked(name: str) -> bool:
            return bool(masks.get(f"{name}_mask", 0) >> i & 1)

        if masked("ellipsis"):
            return Ellipsis
        if masked("new_axis"):
            return None
        if masked("shrink_axis"):
            return int(begin[i])
        return slice(
            None if masked("begin") else int(begin[i]),
            None if masked("end") else int(end[i]),
            int(strides[i]),
        )

    return tuple(item(i) for i in range(begin.size))


def strided_slice(x: Array, begin: Array, end: Array, strides: Array, **masks: int) -> Array:
    return x[subscript(begin, end, strides, **masks)]


def strided_slice_grad(
    shape: Array, begin: Array, end: Array, strides: Array, dy: Array, **masks: int
) -> Array:
    out = zeros(shape, dy.dtype)
    out[subscript(begin, end, strides, **masks)] = dy
    return out


def box(begin: Array, size: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(b, None if n < 0 else b + n) for b, n in zip(begin.tolist(), size, strict=True))


def slice_grad(shape: Array, begin: Array, dy: Array) -> Array:
    out = zeros(shape, dy.dtype)
    out[box(begin, dy.shape)] = dy
    return out


def gather(
    params: Array, indices: Array, axis: int = 0, batch_dims: int = 0, drop_negative: bool = False
) -> Array:
    axis, batch = axis % params.ndim, batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    out = np.empty(params.shape[:axis] + indices.shape[batch:] + params.shape[axis + 1 :], params.dtype)
    for at in np.ndindex(params.shape[:batch]):
        rows = np.asarray(indices[at])
        taken = np.take(params[at], np.where(rows < 0, 0, rows) if drop_negative else rows, axis=axis - batch)
        if drop_negative:
            dropped = (rows < 0).reshape(rows.shape + (1,) * (params.ndim - axis - 1))
            taken = np.where(dropped, zeros((), params.dtype), taken)
        out[at] = taken
    return out


def gather_grad(
    shape: Array, indices: Array, dy: Array, drop_negative: bool = False, **attributes: int
) -> Array:
    """Adds to the places that a `gather` from an array of the places finds."""
    # The places are counted from 1: what is dropped finds 0.
    places = np.arange(1, 1 + math.prod(shape)).reshape(shape)
    found = gather(places, indices, drop_negative=drop_negative, **attributes)
    out = np.zeros(1 + places.size, dy.dtype)
    np.add.at(out, found, dy)
    return out[1:].reshape(shape)


def gather_nd(params: Array, indices: Array) -> Array:
    out = np.empty(indices.shape[:-1] + params.shape[indices.shape[-1] :], params.dtype)
    for at in np.ndindex(indices.shape[:-1]):
        out[at] = params[tuple(indices[at])]
    return out


def scattered(f: Model) -> Model:
    """Replaces what is at each place by its combination with the update, in order."""

    def model(tensor: Array, indices: Array, updates: Array) -> Array:
        out = tensor.copy()
        for at in np.ndindex(indices.shape[:-1]):
            place = tuple(indices[at])
            out[place] = f(out[place], updates[at])
        return out

    return model


def segment_sum(data: Array, segment_ids: Array, num_segments: Array) -> Array:
    out = np.zeros((int(num_segments), *data.shape[segment_ids.ndim :]), data.dtype)
    kept = segment_ids >= 0
    np.add.at(out, segment_ids[kept], data[kept])
    return out


ARRAY: dict[str, Model] = {
    "identity": unchanged,
    "barrier": lambda *values: values,
    # In the group in which a process is alone.
    "collective_start": lambda value, **_: np.int64(0),
    "collective_wait": lambda ticket, value, **_: value,
    "stop_gradient": unchanged,
    "ensure_shape": unchanged,
    "placeholder_with_default": unchanged,
    "check_numerics": unchanged,
    "shape": lambda x, dtype=None: np.array(x.shape, index_dtype(dtype)),
    "size": lambda x, dtype=None: np.array(x.size, index_dtype(dtype)),
    "rank": lambda x: np.array(x.ndim, "int32"),
    "fill": lambda dims, value: np.full(tuple(dims), value, value.dtype),
    "zeros_like": lambda x: zeros(x.shape, x.dtype),
    "ones_like": lambda x: np.full(x.shape, 1, x.dtype),
    "range": own(number_range),
    "one_hot": one_hot,
    "reshape": reshape,
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "squeeze": squeeze,
    "transpose": lambda x, perm=None: np.transpose(x, perm),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, tuple(shape)),
    "tile": lambda x, multiples: np.tile(x, tuple(multiples)),
    "reverse": lambda x, axes: np.flip(x, tuple(axes)),
    "pad": pad,
    "concat": lambda *xs, axis: np.concatenate(xs, axis),
    "concat_offset": concat_offset,
    "stack": lambda *xs, axis=0: np.stack(xs, axis),
    "unstack": unstack,
    "split": split,
    "strided_slice": strided_slice,
    "strided_slice_grad": strided_slice_grad,
    "part": lambda x, *indices: x[tuple(map(int, indices))],
    "strided_slice_accumulate": lambda x, begin, end, strides, dy, **masks: (
        x + strided_slice_grad(np.array(x.shape, np.int64), begin, end, strides, dy, **masks)
    ),
    "slice": lambda x, begin, size: x[box(begin, size.tolist())],
    "slice_grad": slice_grad,
    "gather": gather,
    "gather_grad": own(gather_grad),
    "gather_accumulate": own(
        lambda x, indices, dy, **attributes: x + gather_grad(np.array(x.shape), indices, dy, **attributes)
    ),
    "gather_nd": gather_nd,
    "scatter_nd": own(lambda at, xs, shape: scattered(np.add)(zeros(shape, xs.dtype), at, xs)),
    "tensor_scatter_nd_update": scattered(lambda _, update: update),
    "tensor_scatter_nd_add": own(scattered(np.add)),
    "tensor_scatter_nd_sub": own(scattered(np.subtract)),
    "tensor_scatter_nd_max": own(scattered(np.maximum)),
    "tensor_scatter_nd_min": own(scattered(np.minimum)),
    "unsorted_segment_sum": own(segment_sum),
    "where_indices": lambda x: np.argwhere(single(x)),
}
