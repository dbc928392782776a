"""Functions that arrange elements: shapes, joins, parts, orders of axes."""

import math

import numpy as np
from keras.src.backend.common import standardize_dtype

import penstock as tf
from keras_penstock.src.core import dense_tensor, shape
from keras_penstock.src.promotion import SparseTensor, all_common, common, tensor


def _axes(axis, rank):
    """One axis or several, counted from the front."""
    return [_axis(a, rank) for a in (axis if isinstance(axis, (list, tuple)) else (axis,))]


def _axis(axis, rank):
    if not -rank <= axis < rank:
        raise ValueError(f"`axis` is out of bounds for a tensor of rank {rank}. Received: axis={axis}")
    return axis % rank


def ravel(x):
    return tf.reshape(tensor(x), [-1])


def reshape(x, newshape):
    if isinstance(newshape, int):
        newshape = (newshape,)
    if type(x) is SparseTensor:
        return tf.sparse.reshape(x, newshape)
    return tf.reshape(tensor(x), newshape)


def broadcast_to(x, shape):
    return tf.broadcast_to(tensor(x), shape)


def _expanded(op, x, axis):
    axes = [axis] if isinstance(axis, int) else axis
    for place in sorted(_axes(axes, x.shape.rank + len(axes))):
        x = op(x, place)
    return x


def expand_dims(x, axis):
    if type(x) is SparseTensor:
        return _expanded(tf.sparse.expand_dims, x, axis)
    x = tensor(x)
    return tf.expand_dims(x, axis) if isinstance(axis, int) else _expanded(tf.expand_dims, x, axis)


def _squeezed(x, axis):
    """The axes that go, each of which must have size 1."""
    axes = _axes(axis, x.shape.rank)
    for a in axes:
        if x.shape[a] not in (1, None):
            raise ValueError(
                f"Cannot squeeze axis={a}, because the dimension is not 1. Received: x.shape={x.shape}"
            )
    return axes


def _squeeze_sparse(x, axis):
    sizes = x.shape.as_list()
    gone = [a for a, size in enumerate(sizes) if size == 1] if axis is None else _squeezed(x, axis)
    left = tf.constant([a for a in range(len(sizes)) if a not in gone], "int64")
    made = tf.SparseTensor(tf.gather(x.indices, left, axis=1), x.values, tf.gather(x.dense_shape, left))
    made.set_shape([size for a, size in enumerate(sizes) if a not in gone])
    return made


def squeeze(x, axis=None):
    if type(x) is SparseTensor:
        return _squeeze_sparse(x, axis)
    x = tensor(x)
    if axis is None:
        return tf.squeeze(x)
    axes = _squeezed(x, axis)
    return tf.squeeze(x, axes) if axes else x


def transpose(x, axes=None):
    if type(x) is SparseTensor:
        return tf.sparse.transpose(x, axes)
    x = tensor(x)
    if axes is None:
        return tf.transpose(x)
    return tf.transpose(x, _axes(axes, x.shape.rank))


def swapaxes(x, axis1, axis2):
    x = tensor(x)
    order = list(range(x.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order)


def moveaxis(x, source, destination):
    x = tensor(x)
    rank = x.shape.rank
    source, destination = _axes(source, rank), _axes(destination, rank)
    if len(source) != len(destination):
        raise ValueError(
            "`source` and `destination` must have the same number of elements. "
            f"Received: source={source}, destination={destination}"
        )
    order = [a for a in range(rank) if a not in source]
    for place, a in sorted(zip(destination, source, strict=True)):
        order.insert(place, a)
    return x if order == sorted(order) else tf.transpose(x, order)


def flip(x, axis=None):
    x = tensor(x)
    rank = x.shape.rank
    return tf.reverse(x, list(range(rank)) if axis is None else _axes(axis, rank))


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def rot90(array, k=1, axes=(0, 1)):
    array = tensor(array)
    rank = array.shape.rank
    if rank < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.shape={array.shape}")
    first, second = axes
    if len(axes) != 2 or first % rank == second % rank:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    k %= 4
    if k == 2:
        return flip(array, [first, second])
    if k == 1:
        return swapaxes(flip(array, second), first, second)
    return flip(swapaxes(array, first, second), second) if k == 3 else array


def roll(x, shift, axis=None):
    x = tensor(x)
    if axis is None:
        flat = tf.roll(tf.reshape(x, [-1]), shift, 0)
        return tf.reshape(flat, shape(x))
    if isinstance(axis, (tuple, list)) and isinstance(shift, int):
        shift = [shift] * len(axis)
    return tf.roll(x, shift, axis)


def concatenate(xs, axis=0):
    if type(xs[0]) is SparseTensor and axis is not None and _are_sparse(xs):
        values = all_common([x.values for x in xs])
        return tf.sparse.concat(axis, [x.with_values(v) for x, v in zip(xs, values, strict=True)])
    xs = all_common(xs)
    if axis is None:
        xs, axis = [tf.reshape(x, [-1]) for x in xs], 0
    return tf.concat(xs, axis)


def _are_sparse(xs):
    return all(type(x) is SparseTensor for x in xs)


def append(x1, x2, axis=None):
    return concatenate(common(x1, x2), axis)


def stack(x, axis=0):
    return tf.stack(all_common(x), axis)


def _at_least(x, rank):
    """`x` with axes in front and behind, in NumPy's places, so that it has a rank of at least `rank`."""
    x = tensor(x)
    if x.shape.rank == 0:
        x = tf.expand_dims(x, 0)
    if x.shape.rank == 1 and rank > 1:
        x = tf.expand_dims(x, 0)
    return tf.expand_dims(x, 2) if x.shape.rank == 2 and rank > 2 else x


def hstack(xs):
    xs = [_at_least(x, 1) for x in xs]
    return concatenate(xs, 0 if xs[0].shape.rank == 1 else 1)


def vstack(xs):
    return concatenate([_at_least(x, 2) for x in xs], 0)


def dstack(xs):
    return concatenate([_at_least(x, 3) for x in xs], 2)


def column_stack(xs):
    xs = [tensor(x) for x in xs]
    return concatenate([tf.reshape(x, [-1, 1]) if x.shape.rank < 2 else x for x in xs], 1)


def split(x, indices_or_sections, axis=0):
    x = tensor(x)
    axis = _axis(axis, x.shape.rank)
    if isinstance(indices_or_sections, (int, np.integer)):
        return list(tf.split(x, int(indices_or_sections), axis))
    return _parts(x, [int(at) for at in indices_or_sections], axis)


def _parts(x, bounds, axis):
    """The parts of `x` between bounds along an axis, which may be out of range as those of slices."""
    ahead = (slice(None),) * axis
    return [
        x[(*ahead, slice(start, stop))] for start, stop in zip([0, *bounds], [*bounds, None], strict=True)
    ]


def array_split(x, indices_or_sections, axis=0):
    x = tensor(x)
    axis = _axis(axis, x.shape.rank)
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    # The first parts are one longer where the size is no multiple.
    size = shape(x)[axis]
    size, remainder = size // indices_or_sections, size % indices_or_sections
    if isinstance(size, int):
        sizes = [size + (i < remainder) for i in range(indices_or_sections)]
    else:
        sizes = size + tf.cast(tf.range(indices_or_sections) < remainder, size.dtype)
    return list(tf.split(x, sizes, axis, num=indices_or_sections))


def hsplit(x, indices_or_sections):
    x = tensor(x)
    return split(x, indices_or_sections, 0 if x.shape.rank == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 2)


def tile(x, repeats):
    x = tensor(x)
    if isinstance(repeats, int):
        repeats = (repeats,)
    if tf.is_tensor(repeats):
        count = repeats.shape[0] if repeats.shape.rank else 1
        repeats = tf.reshape(repeats, [-1])
    else:
        count, repeats = len(repeats), list(repeats)
    missing = x.shape.rank - count
    if missing > 0:
        repeats = tf.concat([[1] * missing, repeats], 0) if tf.is_tensor(repeats) else [1] * missing + repeats
    elif missing < 0:
        x = tf.reshape(x, [1] * -missing + list(shape(x)))
    return tf.tile(x, repeats)


def repeat(x, repeats, axis=None):
    x = tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    return tf.repeat(x, repeats, axis=axis)


def pad(x, pad_width, mode="constant", constant_values=None):
    x = tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode}"
        )
    widths = _widths(pad_width, x.shape.rank)
    if mode == "constant":
        value = dense_tensor(0 if constant_values is None else constant_values, x.dtype)
        return tf.pad(x, widths, constant_values=value)
    if mode in ("reflect", "symmetric"):
        return tf.pad(x, widths, mode=mode)
    if mode not in _SOURCES:
        raise ValueError(
            f"`mode` must be one of 'constant', 'reflect', 'symmetric', 'edge' and 'wrap'. Received: {mode}"
        )
    for axis, (before, after) in enumerate(widths):
        size = shape(x)[axis]
        x = tf.gather(x, _SOURCES[mode](tf.range(-before, size + after), size), axis=axis)
    return x


def _widths(pad_width, rank):
    """The widths before and after each axis: numbers or scalar tensors, given once or for each axis."""
    if tf.is_tensor(pad_width):
        return tf.broadcast_to(pad_width, [rank, 2])
    if isinstance(pad_width, np.ndarray):
        pad_width = pad_width.tolist()
    rows = pad_width if _is_nested(pad_width) else [pad_width]
    rows = [row if isinstance(row, (list, tuple)) else [row] for row in rows]
    rows = [[*row, *row] if len(row) == 1 else list(row) for row in rows]
    return rows * rank if len(rows) == 1 else rows


def _is_nested(value):
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], (list, tuple))


# Where an element of the padding comes from.
_SOURCES = {
    "edge": lambda at, size: tf.clip_by_value(at, 0, size - 1),
    "wrap": lambda at, size: tf.math.floormod(at, size),
}


def ndim(x):
    x = tensor(x)
    return tf.rank(x) if x.shape.rank is None else x.shape.rank


def size(x):
    return tf.size(tensor(x))


def view(x, dtype=None):
    """The bytes of `x` as elements of another dtype; the last axis grows or shrinks with their size."""
    x = tensor(x)
    old, new = x.dtype, tf.as_dtype(standardize_dtype(dtype or x.dtype))
    if old.size == new.size:
        return _bitcast(x, new)
    if x.shape.rank == 0:
        raise ValueError("Cannot view a scalar as a different dtype if item sizes are different.")
    *lead, last = shape(x)
    if old.size > new.size:
        return tf.reshape(_bitcast(x, new), [*lead, last * (old.size // new.size)])
    factor = new.size // old.size
    if isinstance(last, int) and last % factor:
        raise ValueError(
            f"Cannot view array of shape {tuple(x.shape)} and dtype {old.name} as dtype {new.name} "
            "because the total number of bytes is not divisible by the new itemsize."
        )
    return _bitcast(tf.reshape(x, [*lead, last // factor, factor]), new)


def _bitcast(x, dtype):
    if x.dtype == dtype:
        return x
    if x.dtype == "bool":
        x = tf.cast(x, "int8")
    return tf.cast(tf.bitcast(x, "int8"), "bool") if dtype == "bool" else tf.bitcast(x, dtype)


def unravel_index(indices, shape):
    indices = tensor(indices)
    result = []
    if any(size is None for size in shape):
        raise ValueError(f"`shape` must be fully known. Received: shape={shape}")
    rest = tf.math.floormod(indices, dense_tensor(math.prod(shape), indices.dtype))
    for size in reversed(shape):
        size = dense_tensor(size, indices.dtype)
        result.append(tf.math.floormod(rest, size))
        rest = tf.math.floordiv(rest, size)
    return tuple(reversed(result))
