"""Sums of products: matrices, tensors and what is made of them."""

import penstock as tf
from keras_penstock.src.core import shape
from keras_penstock.src.numpy.elementwise import conjugate, multiply
from keras_penstock.src.numpy.manipulation import _axes, moveaxis
from keras_penstock.src.promotion import SparseTensor, all_common, as_dtype, common, tensor
from keras_penstock.src.sparse_products import sparse_product


def _accumulated(function):
    """`function` of operands that are multiplied and summed: of booleans as of integers."""

    def apply(*xs):
        if xs[0].dtype == "bool":
            return tf.cast(function(*(tf.cast(x, "int32") for x in xs)), "bool")
        return function(*xs)

    return apply


def matmul(x1, x2):
    if type(x1) is SparseTensor or type(x2) is SparseTensor:
        product = sparse_product(x1, x2)
        if product is not None:
            return product
    x1, x2 = tensor(x1), tensor(x2)
    short = x1.dtype == x2.dtype == "int8"
    x1, x2 = common(x1, x2)
    return _accumulated(lambda x1, x2: _matmul(x1, x2, "int32" if short else None))(x1, x2)


def _matmul(x1, x2, output_type=None):
    """The product of matrices, where a vector is a row on the left and a column on the right."""
    vector1, vector2 = x1.shape.rank == 1, x2.shape.rank == 1
    x1 = tf.expand_dims(x1, 0) if vector1 else x1
    x2 = tf.expand_dims(x2, 1) if vector2 else x2
    result = tf.matmul(x1, x2) if output_type is None else tf.matmul(x1, x2, output_type=output_type)
    removed = [-2] * vector1 + [-1] * vector2
    return tf.squeeze(result, removed) if removed else result


def dot(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        return multiply(x1, x2)
    axis = -1 if x2.shape.rank == 1 else -2
    return _accumulated(lambda x1, x2: tf.tensordot(x1, x2, [[-1], [axis]]))(x1, x2)


def tensordot(x1, x2, axes=2):
    return _accumulated(lambda x1, x2: tf.tensordot(x1, x2, axes))(*common(x1, x2))


def inner(x1, x2):
    x1, x2 = common(x1, x2)
    if x1.shape.rank == 0 or x2.shape.rank == 0:
        return multiply(x1, x2)
    return _accumulated(lambda x1, x2: tf.tensordot(x1, x2, [[-1], [-1]]))(x1, x2)


def vdot(x1, x2):
    x1, x2 = common(x1, x2)
    return inner(tf.reshape(conjugate(x1), [-1]), tf.reshape(x2, [-1]))


def outer(x1, x2):
    x1, x2 = common(x1, x2)
    return multiply(tf.reshape(x1, [-1, 1]), tf.reshape(x2, [1, -1]))


def kron(x1, x2):
    x1, x2 = common(x1, x2)
    rank = max(x1.shape.rank, x2.shape.rank)
    size1, size2 = ([1] * (rank - x.shape.rank) + list(shape(x)) for x in (x1, x2))
    # Each extent of the result is that of `x1` and, within it, that of `x2`.
    x1 = tf.reshape(x1, [n for size in size1 for n in (size, 1)])
    x2 = tf.reshape(x2, [n for size in size2 for n in (1, size)])
    return tf.reshape(multiply(x1, x2), [a * b for a, b in zip(size1, size2, strict=True)])


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of 2 or 3 elements; of two of 2 it is the third element alone."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = common(x1, x2)
    parts = []
    for x, along in ((x1, axisa), (x2, axisb)):
        (along,) = _axes(along, x.shape.rank)
        size = x.shape[along]
        if size not in (2, 3, None):
            raise ValueError(
                "`x1`'s and `x2`'s vectors must have 2 or 3 elements. "
                f"Received: x1.shape={x1.shape}, x2.shape={x2.shape}"
            )
        parts.append(tf.unstack(x, num=3 if size is None else size, axis=along))
    a, b = parts
    flat = len(a) == len(b) == 2
    third = a[0] * b[1] - a[1] * b[0]
    if flat:
        return third
    zero = tf.zeros([], x1.dtype)
    a, b = ([*v, zero] if len(v) == 2 else v for v in (a, b))
    first, second = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2]
    like = tf.zeros_like(third)
    return moveaxis(tf.stack([first + like, second + like, third], -1), -1, axisc)


def einsum(subscripts, *operands, **kwargs):
    operands = [tensor(x) for x in operands]
    short = {x.dtype.name for x in operands} == {"int8"}
    operands = [tf.cast(x, "int32") for x in operands] if short else all_common(operands)
    return _accumulated(lambda *xs: tf.einsum(subscripts, *xs, **kwargs))(*operands)


def correlate(x1, x2, mode="valid"):
    """The sums of products of `x1` with `x2` moved along it, as a convolution."""
    x1, x2 = common(x1, x2)
    if x1.dtype in ("int64", "uint64"):
        dtype = "float64"
    else:
        dtype = x1.dtype.name if x1.dtype.is_floating else "float32"
    x1, x2 = as_dtype(x1, dtype), as_dtype(x2, dtype)
    size1, size2 = shape(x1)[0], shape(x2)[0]
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"`mode` must be either `valid`, `same`, or `full`. Received: mode={mode}")
    if _known_shorter(size1, size2):
        # The correlation of the operands in the other order is the reverse.
        return tf.reverse(correlate(x2, x1, mode), [0])
    if mode == "full":
        x1 = tf.pad(x1, [[size2 - 1, size2 - 1]])
    elif mode == "same":
        x1 = tf.pad(x1, [[size2 // 2, size2 - 1 - size2 // 2]])
    return tf.nn.conv1d(x1[None, :, None], x2[:, None, None], 1, "VALID")[0, :, 0]


def _known_shorter(size1, size2):
    return isinstance(size1, int) and isinstance(size2, int) and size1 < size2


def slogdet(x):
    return tuple(tf.linalg.slogdet(tensor(x)))


def vectorize(pyfunc, *, excluded=None, signature=None):
    from keras.src.backend.common.backend_utils import vectorize_impl

    return vectorize_impl(pyfunc, _mapped, excluded=excluded, signature=signature)


def _mapped(function, in_axes):
    """`function` over the first axis of those arguments whose axis is not None."""

    def apply(*args):
        moving = [arg for arg, axis in zip(args, in_axes, strict=True) if axis is not None]

        def of_slices(slices):
            given = iter(slices)
            return function(
                *(arg if axis is None else next(given) for arg, axis in zip(args, in_axes, strict=True))
            )

        return tf.vectorized_map(of_slices, moving)

    return apply
