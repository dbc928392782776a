"""Functions that make tensors: of one value, of ranges, of windows, of what stands on a diagonal."""

import math

from keras.src.backend import config
from keras.src.backend.common import standardize_dtype

import penstock as tf
from keras_penstock.src.core import dense_tensor, shape
from keras_penstock.src.numpy.elementwise import i0
from keras_penstock.src.promotion import all_common, as_dtype, common, summable, tensor
from keras_penstock.src.sparse import takes_sparse


def _dtype(dtype):
    return standardize_dtype(dtype or config.floatx())


def zeros(shape, dtype=None):
    return tf.zeros(_extents(shape), dtype=_dtype(dtype))


def ones(shape, dtype=None):
    return tf.ones(_extents(shape), dtype=_dtype(dtype))


def empty(shape, dtype=None):
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    return tf.broadcast_to(dense_tensor(fill_value, _dtype(dtype)), _extents(shape))


def _extents(shape):
    return (shape,) if isinstance(shape, int) else shape


def zeros_like(x, dtype=None):
    x = tensor(x)
    return tf.zeros_like(x, dtype=standardize_dtype(dtype or x.dtype))


def ones_like(x, dtype=None):
    x = tensor(x)
    return tf.ones_like(x, dtype=standardize_dtype(dtype or x.dtype))


def empty_like(x, dtype=None):
    return zeros_like(x, dtype)


def full_like(x, fill_value, dtype=None):
    x = tensor(x)
    value = dense_tensor(fill_value, standardize_dtype(dtype or x.dtype))
    result = tf.broadcast_to(value, tf.shape(x))
    result.set_shape(x.shape)
    return result


def array(x, dtype=None):
    return dense_tensor(x, dtype)


@takes_sparse
def copy(x):
    return tf.identity(tensor(x))


def eye(N, M=None, k=0, dtype=None):
    distance = _distances(N, N if M is None else M)
    return tf.cast(tf.equal(distance, tf.cast(k, "int32")), _dtype(dtype))


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    distance = _distances(N, N if M is None else M)
    return tf.cast(tf.less_equal(distance, tf.cast(k, "int32")), _dtype(dtype))


def _distances(rows, columns):
    """How far each element of a matrix is to the right of the diagonal."""
    column, row = (tf.range(tf.cast(n, "int32")) for n in (columns, rows))
    return tf.expand_dims(column, 0) - tf.expand_dims(row, 1)


def _triangle(x, keep, k):
    x = tensor(x)
    *_, rows, columns = shape(x)
    mask = keep(_distances(rows, columns), tf.cast(k, "int32"))
    return tf.where(mask, x, tf.zeros([], x.dtype))


def tril(x, k=0):
    return _triangle(x, tf.less_equal, k)


def triu(x, k=0):
    return _triangle(x, tf.greater_equal, k)


def arange(start, stop=None, step=None, dtype=None):
    if stop is None:
        start, stop = 0, start
    start, stop, step = all_common([start, stop, 1 if step is None else step])
    dtype = start.dtype.name if dtype is None else standardize_dtype(dtype)
    if start.dtype == "bool":
        start, stop, step = (tf.cast(x, "int32") for x in (start, stop, step))
    return as_dtype(tf.range(start, stop, step), dtype)


def _spaced(start, stop, num, endpoint, axis, between):
    """`num` values from `start` to `stop`: those of `between(start, stop, fraction)`, but for the ends.

    Fractions and values are computed with 32 bits or more.
    """
    start, stop = (tf.cast(x, "float32") if x.dtype.size < 4 else x for x in (start, stop))
    static = tf.broadcast_static_shape(start.shape, stop.shape)
    rank = static.rank
    position = tf.range(num)
    intervals = num - 1 if endpoint else num
    if isinstance(intervals, int):
        intervals = max(intervals, 1)
    fraction = tf.cast(position, start.dtype) / tf.cast(intervals, start.dtype)
    rows = [-1] + [1] * rank
    position, fraction = tf.reshape(position, rows), tf.reshape(fraction, rows)
    result = between(start, stop, fraction)
    result = tf.where(tf.equal(position, 0), start, result)
    if endpoint and num != 1:
        result = tf.where(tf.equal(position, num - 1), stop, result)
    if axis not in (0, -rank - 1):
        axis %= rank + 1
        result = tf.transpose(result, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    return result


def _ends(start, stop, dtype):
    """The ends of a range, and the dtype of its values."""
    start, stop = common(start, stop, float)
    return start, stop, start.dtype.name if dtype is None else standardize_dtype(dtype)


def _of_dtype(x, dtype):
    return tf.cast(tf.floor(x) if "int" in dtype else x, dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if num < 0:
        raise ValueError(f"`num` must not be negative. Received: num={num}")
    start, stop, dtype = _ends(start, stop, dtype)
    values = _spaced(start, stop, num, endpoint, axis, lambda start, stop, at: start + (stop - start) * at)
    if not retstep:
        return _of_dtype(values, dtype)
    intervals = num - 1 if endpoint else num
    step = (stop - start) / dense_tensor(intervals if intervals > 0 else math.nan, start.dtype)
    return _of_dtype(values, dtype), step


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    start, stop, dtype = _ends(start, stop, dtype)
    exponents = _spaced(start, stop, num, endpoint, axis, lambda start, stop, at: start + (stop - start) * at)
    return tf.cast(tf.pow(dense_tensor(base, exponents.dtype), exponents), dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop, dtype = _ends(start, stop, dtype)
    values = _spaced(
        start,
        stop,
        num,
        endpoint,
        axis,
        lambda start, stop, at: start * tf.exp(tf.math.log(stop / start) * at),
    )
    return tf.cast(values, dtype)


def meshgrid(*x, indexing="xy"):
    return tf.meshgrid(*(tf.reshape(tensor(xi), [-1]) for xi in x), indexing=indexing)


def vander(x, N=None, increasing=False):
    x = tensor(x)
    powers = tf.range(shape(x)[0] if N is None else N)
    if not increasing:
        powers = tf.reverse(powers, [0])
    return tf.pow(tf.expand_dims(x, -1), tf.cast(powers, x.dtype))


def _window(x, of_angle):
    """A window of `x` points: a function of the angle, from 0 to 2π; of one point it is 1."""
    dtype = config.floatx()
    n = tf.cast(tensor(x), "int32")
    intervals = tf.cast(tf.maximum(n - 1, 1), dtype)
    fraction = tf.cast(tf.range(n), dtype) / intervals
    window = of_angle(fraction)
    return tf.where(tf.equal(n, 1), tf.ones_like(window), window)


def _cosines(*coefficients):
    """The window that is a sum of cosines of multiples of the angle."""

    def window(fraction):
        terms = [
            tf.cos(fraction * (2 * math.pi * k)) * coefficient for k, coefficient in enumerate(coefficients)
        ]
        return tf.add_n(terms)

    return window


def bartlett(x):
    return _window(x, lambda fraction: 1 - tf.abs(2 * fraction - 1))


def blackman(x):
    return _window(x, _cosines(0.42, -0.5, 0.08))


def hamming(x):
    return _window(x, _cosines(0.54, -0.46))


def hanning(x):
    return _window(x, _cosines(0.5, -0.5))


def kaiser(x, beta):
    beta = tf.cast(tensor(beta), config.floatx())
    return _window(
        x, lambda fraction: i0(beta * tf.sqrt(tf.maximum(1 - tf.square(2 * fraction - 1), 0))) / i0(beta)
    )


def diag(x, k=0):
    x = tensor(x)
    if x.shape.rank == 1:
        return tf.linalg.diag(x, k=k)
    if x.shape.rank == 2:
        return diagonal(x, k)
    raise ValueError(f"`x` must be 1-d or 2-d. Received: x.shape={x.shape}")


def diagflat(x, k=0):
    return diag(tf.reshape(tensor(x), [-1]), k)


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = tensor(x)
    rank = x.shape.rank
    axis1, axis2 = axis1 % rank, axis2 % rank
    others = [axis for axis in range(rank) if axis not in (axis1, axis2)]
    x = tf.transpose(x, [*others, axis1, axis2])
    rows, columns = x.shape[-2:]
    if rows is not None and columns is not None and not -rows < offset < columns:
        return tf.zeros([*shape(x)[:-2], 0], x.dtype)
    return tf.linalg.diag_part(x, k=offset)


def trace(x, offset=0, axis1=0, axis2=1):
    return tf.reduce_sum(diagonal(summable(x), offset, axis1, axis2), axis=-1)
