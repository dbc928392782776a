"""Tensors as messages of protocol buffers, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._runtime.protos import TensorProto, array_of, tensor_proto
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

    from penstock._types.aliases import DTypeLike, ShapeLike, TensorLike

__all__ = ["make_ndarray", "make_tensor_proto"]


def make_tensor_proto(
    values: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """Make a message of a tensor.

    Args:
        values: what converts to a tensor that has a value.
        dtype: that of the tensor; by default that of the values.
        shape: that of the tensor; by default that of the values, which must have as many elements.
        verify_shape: whether the values must have `shape` themselves.
        allow_broadcast: whether values of fewer elements are repeated.

    Returns:
        A message with `SerializeToString` and `ParseFromString`.

    Raises:
        TypeError: for a symbolic tensor, or `verify_shape` where the shape is another one.
        ValueError: where the elements do not fill `shape`.

    >>> import penstock as tf
    >>> message = tf.make_tensor_proto([1, 2, 3, 4], shape=[2, 2])
    >>> tf.make_ndarray(message).tolist()
    [[1, 2], [3, 4]]
    """
    tensor = _core._to_tensor(values, None if dtype is None else _core.DType(dtype))
    if tensor._is_symbolic:
        raise TypeError("argument 'values' must have a value, got a symbolic tensor")
    if shape is None:
        return tensor_proto(tensor)
    wanted: Any = TensorShape(shape).as_list()
    if verify_shape and wanted != list(tensor.shape):
        raise TypeError(f"argument 'values' must have shape {wanted}, got {tensor.shape}")
    import numpy as np  # loaded by those who convert to arrays

    array: Any = np.asarray(tensor.numpy(), object if tensor.dtype == _core.string else None)
    if array.size == np.prod(wanted):
        array = array.reshape(wanted)
    elif allow_broadcast:
        array = np.broadcast_to(array, wanted)
    else:
        raise InvalidArgumentError(
            f"argument 'values' has {array.size} elements, which do not fill shape {wanted}"
        )
    return tensor_proto(_core._to_tensor(array, tensor.dtype))


def make_ndarray(tensor: TensorProto) -> np.ndarray:
    """Make an array of a message.

    Args:
        tensor: a message.

    Returns:
        An array of its shape; of `object` with bytes for strings.

    Raises:
        TypeError: for what is no message, a dtype that is not known, or elements that do not fill the shape.

    >>> import penstock as tf
    >>> tf.make_ndarray(tf.make_tensor_proto(["a"])).tolist()
    [b'a']
    """
    import numpy as np  # loaded by those who convert to arrays

    expect(tensor, TensorProto, "tensor", "a TensorProto")
    try:
        array, _ = array_of(tensor)
    except ValueError as error:
        raise TypeError(f"argument 'tensor' is no tensor: {error}") from None
    return np.asarray(array)
