"""Products of matrices of which one is sparse, or both."""

import penstock as tf
from keras_penstock.src.core import dense_tensor, shape
from keras_penstock.src.promotion import result_type
from penstock._ops.sparse_places import groups


def sparse_product(x1, x2):
    """The product of matrices, or of batches of them, sparse where both are; None where they are neither."""
    x1, x2 = (x if isinstance(x, tf.SparseTensor) else dense_tensor(x) for x in (x1, x2))
    if not (x1.shape.rank == x2.shape.rank or x2.shape.rank == 1) or x1.shape.rank in (0, 1, None):
        return None
    if x2.shape.rank == 1:
        if x1.shape.rank != 2 or isinstance(x2, tf.SparseTensor):
            return None
        return tf.squeeze(sparse_product(x1, tf.expand_dims(x2, 1)), [1])
    if not x1.shape[:-2].is_compatible_with(x2.shape[:-2]):
        return None
    dtype = result_type(x1.dtype.name, x2.dtype.name)
    if dtype == "bool":
        return tf.cast(sparse_product(tf.cast(x1, "int32"), tf.cast(x2, "int32")), "bool")
    x1, x2 = tf.cast(x1, dtype), tf.cast(x2, dtype)
    if not isinstance(x1, tf.SparseTensor):
        return _swapped(_batched(_by_dense, _swapped(x2), _swapped(x1)))
    return _batched(_by_sparse if isinstance(x2, tf.SparseTensor) else _by_dense, x1, x2)


def _swapped(x):
    """Matrices with rows as columns."""
    order = [*range(x.shape.rank - 2), x.shape.rank - 1, x.shape.rank - 2]
    return (tf.sparse if isinstance(x, tf.SparseTensor) else tf).transpose(x, order)


def _batched(product, x1, x2):
    """The product of batches: that of a matrix with those of `x1` on a diagonal, and of those of `x2`."""
    if x1.shape.rank == 2:
        return product(x1, x2)
    *batch, rows, _ = x1.shape
    columns = x2.shape[-1]
    *sizes, many, length = tf.unstack(x1.dense_shape, num=x1.shape.rank)
    count = tf.reduce_prod(sizes)
    flat = tf.sparse.reshape(x1, tf.stack([count, many, length]))
    at, row, column = tf.unstack(flat.indices, num=3, axis=1)
    diagonal = tf.SparseTensor(
        tf.stack([at * many + row, at * length + column], 1),
        x1.values,
        tf.stack([count * many, count * length]),
    )
    is_sparse = isinstance(x2, tf.SparseTensor)
    width = x2.dense_shape[-1] if is_sparse else tf.cast(shape(x2)[-1], "int64")
    reshape = tf.sparse.reshape if is_sparse else tf.reshape
    made = reshape(
        product(diagonal, reshape(x2, tf.stack([count * length, width]))), tf.stack([*sizes, many, width])
    )
    made.set_shape([*batch, rows, columns])
    return made


def _by_dense(x1, x2):
    """The sum of rows of `x2`, by the columns of the elements of `x1`, in the rows of those.

    The gradient of a variable that is `x2` has the rows that were taken alone.
    """
    row, column = tf.unstack(x1.indices, num=2, axis=1)
    parts = tf.expand_dims(x1.values, 1) * tf.gather(x2, column)
    made = tf.math.unsorted_segment_sum(parts, row, x1.dense_shape[0])
    return tf.ensure_shape(made, [x1.shape[0], x2.shape[1]])


def _by_sparse(x1, x2):
    """A product for each pair of elements that meet, summed where several are in one place."""
    x2 = tf.sparse.reorder(x2)
    column = x1.indices[:, 1]
    row = tf.ensure_shape(x2.indices[:, 0], [None])
    # The elements of each row of `x2` lie behind each other.
    first, end = (tf.searchsorted(row, column, side, "int64") for side in ("left", "right"))
    left = tf.repeat(tf.range(tf.size(column)), end - first)
    before = tf.cumsum(end - first, exclusive=True)
    right = tf.range(tf.size(left, "int64")) - tf.gather(before, left) + tf.gather(first, left)
    places = tf.stack([tf.gather(x1.indices[:, 0], left), tf.gather(x2.indices[:, 1], right)], 1)
    products = tf.gather(x1.values, left) * tf.gather(x2.values, right)
    sizes = [x1.shape[0], x2.shape[1]]
    found = groups(tf.unstack(places, num=2, axis=1), sizes)
    made = tf.SparseTensor(
        tf.gather(places, found.first),
        tf.math.unsorted_segment_sum(products, found.of, found.count),
        tf.stack([x1.dense_shape[0], x2.dense_shape[1]]),
    )
    made.set_shape(sizes)
    return made
