"""Operands of the backend's functions: tensors of the dtypes that Keras promotes to."""

import functools

from keras.src.backend import config
from keras.src.backend.common import dtypes

import penstock as tf
from keras_penstock.src.core import dense_tensor

# Looked up often.
Tensor = tf.Tensor
SparseTensor = tf.SparseTensor


@functools.cache
def _result_type(floatx, *kinds):
    return dtypes.result_type(*kinds)


def result_type(*kinds):
    """The dtype that operands promote to.

    Args:
        *kinds: for each operand the name of its dtype, or the type of a number of Python.

    Returns:
        The name of the dtype.
    """
    return _result_type(config.floatx(), *kinds)


def tensor(x):
    """`x` as a tensor of its own dtype."""
    return x if type(x) is Tensor else dense_tensor(x)


def _kind(x):
    """`x`, and what promotion goes by: the name of a dtype, or the type of a number of Python."""
    if type(x) is Tensor:
        return x, x.dtype.name
    if type(x) in (bool, int, float, complex):
        return x, type(x)
    x = dense_tensor(x)
    return x, x.dtype.name


def as_dtype(x, dtype):
    """`x`, a tensor or a number, as a tensor of a dtype."""
    if type(x) is Tensor:
        return x if x.dtype.name == dtype else tf.cast(x, dtype)
    return dense_tensor(x, dtype)


def common(x1, x2, *kinds):
    """Two operands as tensors of the dtype that they, and `kinds`, promote to."""
    if type(x1) is Tensor and type(x2) is Tensor and x1.dtype is x2.dtype and not kinds:
        return x1, x2
    (x1, kind1), (x2, kind2) = _kind(x1), _kind(x2)
    dtype = result_type(kind1, kind2, *kinds)
    return as_dtype(x1, dtype), as_dtype(x2, dtype)


def all_common(xs, *kinds):
    """Operands as tensors of the dtype that they, and `kinds`, promote to."""
    pairs = [_kind(x) for x in xs]
    dtype = result_type(*(kind for _, kind in pairs), *kinds)
    return [as_dtype(x, dtype) for x, _ in pairs]


def is_inexact(x):
    return x.dtype.is_floating or x.dtype.is_complex


def floating(x):
    """`x` as a tensor of floats: those of integers and booleans are of the dtype `keras.config.floatx()`."""
    if type(x) is not Tensor:
        x = dense_tensor(x)
    return x if is_inexact(x) else tf.cast(x, config.floatx())


def wide_floating(x):
    """`x` as a tensor of floats, where those of 64-bit integers have 64 bits."""
    x = tensor(x)
    return tf.cast(x, "float64") if x.dtype in ("int64", "uint64") else floating(x)


def numeric(x):
    """`x` as a tensor of numbers: booleans become `int32`."""
    x = tensor(x)
    return tf.cast(x, "int32") if x.dtype == "bool" else x


def summable(x):
    """`x` as a tensor of the dtype of its sums: that of short integers and booleans has 32 bits."""
    x = tensor(x)
    dtype = x.dtype
    if dtype.name in ("bool", "int8", "int16"):
        return tf.cast(x, "int32")
    return tf.cast(x, "uint32") if dtype.name in ("uint8", "uint16") else x


def through(x, dtype, function):
    """`function` of `x` in another dtype, with the result in that of `x`."""
    return tf.cast(function(tf.cast(x, dtype)), x.dtype)
