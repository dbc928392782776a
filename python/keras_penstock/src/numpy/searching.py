"""Functions that look elements up, order them and count them."""

import math

import penstock as tf
from keras_penstock.src.core import dense_tensor, shape
from keras_penstock.src.numpy.elementwise import _truth, isnan
from keras_penstock.src.numpy.manipulation import _axis
from keras_penstock.src.numpy.reductions import max, min
from keras_penstock.src.promotion import common, floating, numeric, result_type, tensor
from keras_penstock.src.sparse import takes_sparse
from penstock import array_api


def _position(op, x, axis, keepdims):
    x = numeric(x)
    rank = x.shape.rank
    if axis is None:
        found = op(tf.reshape(x, [-1]), axis=0, output_type="int32")
        return tf.reshape(found, [1] * rank) if keepdims else found
    found = op(x, axis=axis, output_type="int32")
    return tf.expand_dims(found, _axis(axis, rank)) if keepdims else found


def argmax(x, axis=None, keepdims=False):
    return _position(tf.argmax, x, axis, keepdims)


def argmin(x, axis=None, keepdims=False):
    return _position(tf.argmin, x, axis, keepdims)


def _known_position(function, x, axis, keepdims, neutral):
    x = numeric(x)
    if not x.dtype.is_floating:
        return function(x, axis, keepdims)
    undefined = isnan(x)
    found = function(tf.where(undefined, dense_tensor(neutral, x.dtype), x), axis, keepdims)
    # Of nothing but NaN there is no position.
    return tf.where(tf.reduce_all(undefined, axis=axis, keepdims=keepdims), -1, found)


def nanargmax(x, axis=None, keepdims=False):
    return _known_position(argmax, x, axis, keepdims, -math.inf)


def nanargmin(x, axis=None, keepdims=False):
    return _known_position(argmin, x, axis, keepdims, math.inf)


def _along(x, axis):
    """`x` and the axis to go along: a vector where there is none."""
    return (tf.reshape(x, [-1]), 0) if axis is None else (x, axis)


def sort(x, axis=-1):
    x, axis = _along(tensor(x), axis)
    if x.dtype == "bool":
        return tf.cast(tf.sort(tf.cast(x, "int8"), axis=axis), "bool")
    return tf.sort(x, axis=axis)


def argsort(x, axis=-1):
    x = tensor(x)
    x, axis = _along(tf.cast(x, "int8") if x.dtype == "bool" else x, axis)
    if x.shape.rank == 0:
        # As NumPy: the order of one element.
        return tf.zeros([1], "int32")
    return tf.argsort(x, axis=axis, stable=True)


def argpartition(x, kth, axis=-1):
    return argsort(x, axis)


def searchsorted(sorted_sequence, values, side="left"):
    sorted_sequence, values = common(sorted_sequence, values)
    if sorted_sequence.shape.rank != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. "
            f"You can use `keras.ops.vectorized_map` to extend it to N-D sequences. "
            f"Received: sorted_sequence.shape={sorted_sequence.shape}"
        )
    size = sorted_sequence.shape[0]
    dtype = "int64" if size is not None and size > tf.int32.max else "int32"
    found = tf.searchsorted(sorted_sequence, tf.reshape(values, [-1]), side=side, out_type=dtype)
    return tf.reshape(found, shape(values))


@takes_sparse
def digitize(x, bins):
    x, bins = common(numeric(x), bins)
    return searchsorted(bins, x, side="right")


def where(condition, x1=None, x2=None):
    condition = _truth(condition)
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` must both be given or both be `None`.")
    return tf.where(condition, *common(x1, x2))


def nonzero(x):
    x = _truth(x)
    return tuple(tf.unstack(tf.cast(tf.where(x), "int32"), num=x.shape.rank, axis=1))


def _from_the_front(indices, size):
    """Indices where negative ones were, which count from the end."""
    if not indices.dtype.is_integer:
        indices = tf.cast(indices, "int32")
    if indices.dtype.is_unsigned:
        return tf.cast(indices, "int64" if indices.dtype.size > 2 else "int32")
    if indices.dtype.size < 4:
        indices = tf.cast(indices, "int32")
    return tf.where(indices < 0, indices + tf.cast(size, indices.dtype), indices)


def take(x, indices, axis=None):
    x = tensor(x)
    x, axis = _along(x, axis)
    axis = _axis(axis, x.shape.rank)
    return tf.gather(x, _from_the_front(tensor(indices), shape(x)[axis]), axis=axis)


def take_along_axis(x, indices, axis=None):
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        x, indices, axis = tf.reshape(x, [-1]), tf.reshape(indices, [-1]), 0
    rank = x.shape.rank
    if indices.shape.rank != rank:
        raise ValueError(
            "`x` and `indices` must have the same number of dimensions. "
            f"Received: x.shape={x.shape}, indices.shape={indices.shape}"
        )
    axis = _axis(axis, rank)
    indices = _from_the_front(indices, shape(x)[axis])
    x, indices = _broadcast_but_for(axis, x, indices)
    return tf.raw_ops.take_along_axis(x, indices, axis=axis)


def _broadcast_but_for(axis, *xs):
    """Tensors of one rank, broadcast along all axes but one."""
    statics = [[1 if a == axis else size for a, size in enumerate(x.shape)] for x in xs]
    if statics[0] == statics[1] and None not in statics[0]:
        return xs
    ones = [tf.stack([1 if a == axis else size for a, size in enumerate(shape(x))]) for x in xs]
    common_sizes = tf.unstack(tf.broadcast_dynamic_shape(*ones), num=len(statics[0]))
    known = tf.broadcast_static_shape(*statics)
    sizes = [given if at is None else at for given, at in zip(common_sizes, known, strict=True)]
    return [
        tf.broadcast_to(x, [shape(x)[axis] if a == axis else size for a, size in enumerate(sizes)])
        for x in xs
    ]


def isin(x1, x2, assume_unique=False, invert=False):
    x1, x2 = common(x1, x2)
    if x1.dtype == "bool":
        x1, x2 = tf.cast(x1, "int8"), tf.cast(x2, "int8")
    return array_api.isin(x1, x2, invert=invert)


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse or isinstance(x, tf.SparseTensor):
        return _sparse_bincount(x, weights, minlength)
    x = tensor(x)
    dtype = "int32"
    if weights is not None:
        weights = tensor(weights)
        dtype = result_type(x.dtype.name, weights.dtype.name)
        weights = tf.cast(weights, dtype)
    if x.dtype.size > 4 or x.dtype == "uint32":
        x = tf.cast(x, "int32")
    axis = -1 if x.shape.rank == 2 else None
    counts = tf.math.bincount(x, weights=weights, minlength=minlength, axis=axis)
    return tf.cast(counts, dtype)


def _sparse_bincount(x, weights, minlength):
    """Counts as a sparse tensor; a sparse `x` is counted where it has elements."""
    x = x if isinstance(x, tf.SparseTensor) else tensor(x)
    dtype = "int32"
    if weights is not None:
        weights = weights if isinstance(x, tf.SparseTensor) else tensor(weights)
        dtype = result_type(x.dtype.name, weights.dtype.name)
        weights = tf.cast(weights, dtype)
    axis = -1 if x.shape.rank == 2 else None
    counts = tf.cast(tf.sparse.bincount(x, weights=weights, minlength=minlength, axis=axis), dtype)
    counts.set_shape([*x.shape[:-1], None])
    return counts


def histogram(x, bins=10, range=None):
    """Count the elements in `bins` intervals of one length, the last with its end; give the bounds too."""
    x = floating(x)
    if range:
        low, high = (dense_tensor(bound, x.dtype) for bound in range)
    elif x.shape.num_elements() == 0:
        low, high = tf.zeros([], x.dtype), tf.ones([], x.dtype)
    else:
        low, high = min(x), max(x)
    # Of one value the interval is one long.
    flat = tf.equal(low, high)
    half = tf.cast(flat, x.dtype) / 2
    low, high = low - half, high + half
    edges = tf.linspace(low, high, bins + 1)
    place = tf.searchsorted(edges, x, side="right") - 1
    place = tf.where(tf.equal(x, high), bins - 1, place)
    inside = tf.logical_and(x >= low, x <= high)
    counts = tf.math.unsorted_segment_sum(tf.cast(inside, "int32"), tf.where(inside, place, 0), bins)
    return tf.cast(counts, x.dtype), edges


def _differs(rows):
    """Whether each row but the first is not the one in front of it; NaN is not equal to NaN."""
    return tf.reduce_any(tf.not_equal(rows[1:], rows[:-1]), axis=1)


def _lexicographic(rows):
    """The order of rows by their first elements, of equal ones by the next, and so on."""
    order = tf.range(shape(rows)[0])
    columns = shape(rows)[1]

    def by(column, order):
        return tf.gather(order, argsort(tf.gather(rows[:, column], order), axis=0))

    if isinstance(columns, int) and columns <= 8:
        for column in reversed(range(columns)):
            order = by(column, order)
        return order
    return tf.while_loop(lambda i, _: i >= 0, lambda i, order: (i - 1, by(i, order)), (columns - 1, order))[1]


def unique(
    x,
    sorted=True,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
):
    """The distinct elements, or slices along an axis, the least first.

    They are sorted, and each that differs from the one in front of it begins a group.
    """
    x = tensor(x)
    given = shape(x)
    if axis is None:
        rows, rest = tf.reshape(x, [-1, 1]), []
    else:
        axis = _axis(axis, x.shape.rank)
        order = [axis, *(a for a in range(x.shape.rank) if a != axis)]
        moved = tf.transpose(x, order)
        rest = list(shape(moved)[1:])
        rows = tf.reshape(moved, [given[axis], -1])
    order = _lexicographic(rows)
    arranged = tf.gather(rows, order)
    first = tf.concat([tf.ones([tf.minimum(tf.size(order), 1)], "bool"), _differs(arranged)], 0)
    group = tf.cumsum(tf.cast(first, "int32")) - 1
    starts = tf.reshape(tf.cast(tf.where(first), "int32"), [-1])
    values = tf.gather(arranged, starts)
    index = tf.gather(order, starts)
    inverse = tf.scatter_nd(tf.expand_dims(order, 1), group, tf.expand_dims(tf.size(order), 0))
    counts = tf.math.unsorted_segment_sum(tf.ones_like(group), group, tf.size(starts))
    if size is not None:
        fill = values[:1] if fill_value is None else dense_tensor(fill_value, x.dtype)
        values = _of_length(values, size, fill)
        index = _of_length(index, size, index[:1])
        counts = _of_length(counts, size, 0)
    values = tf.reshape(values, [-1 if size is None else size, *rest])
    if axis is not None:
        rank = x.shape.rank
        values = tf.transpose(values, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    result = [values]
    if return_index:
        result.append(index)
    if return_inverse:
        result.append(tf.reshape(inverse, given) if axis is None else inverse)
    if return_counts:
        result.append(counts)
    return result[0] if len(result) == 1 else tuple(result)


def _of_length(rows, length, fill):
    """The first rows, and more of a value where there are too few."""
    missing = tf.maximum(length - tf.shape(rows)[0], 0)
    more = tf.broadcast_to(fill, tf.concat([[missing], tf.shape(rows)[1:]], 0))
    return tf.concat([rows[:length], more], 0)
