"""Tensors as bytes, and bytes as tensors."""

from __future__ import annotations

import math as _math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.host_calls import numpy_function
from penstock._runtime.scope import scoped
from penstock._types.specs import TensorSpec
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, TensorLike

__all__ = ["decode_base64", "decode_raw", "encode_base64", "parse_tensor", "serialize_tensor"]


@scoped
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> _core.Tensor:
    """Write a tensor as the bytes of a `TensorProto` message.

    Args:
        tensor: the tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        The bytes, a string scalar.

    >>> import penstock as tf
    >>> content = tf.io.serialize_tensor([1, 2])
    >>> tf.io.parse_tensor(content, tf.int32).numpy()
    array([1, 2], dtype=int32)
    """
    found: _core.Tensor = raw_ops.serialize_tensor(_core._to_tensor(tensor))
    return found


@scoped
def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> _core.Tensor:
    """Read a tensor from the bytes of a `TensorProto` message.

    Args:
        serialized: the bytes, a string scalar.
        out_type: the dtype of the tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        The tensor, of a shape that the bytes say.

    Raises:
        InvalidArgumentError: where the bytes are no such message, or have another dtype.
        ValueError: where `serialized` is no scalar.

    >>> import penstock as tf
    >>> tf.io.parse_tensor(tf.io.serialize_tensor(1.5), tf.float32).numpy()
    np.float32(1.5)
    """
    dtype = _core.DType(out_type)
    content = _core._to_tensor(serialized, dtype=_core.string)
    if content.shape.rank not in (0, None):
        raise InvalidArgumentError(f"argument 'serialized' must be a scalar, got shape {content.shape}")
    found: _core.Tensor = raw_ops.parse_tensor(content, out_type=dtype)
    return found


@scoped
def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: IntLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Read the bytes of strings as numbers.

    Args:
        input_bytes: strings of one length.
        out_type: the dtype of the numbers.
        little_endian: whether the lowest byte of a number comes first.
        fixed_length: how many bytes of each string are read; shorter ones go on with zeros. All by default.
        name: a scope for the names of its operations in a graph.

    Returns:
        The numbers of each string in a new last dimension.

    Raises:
        InvalidArgumentError: where lengths differ, or are no multiples of the dtype's.
        ValueError: for a dtype that is not of numbers.

    >>> import penstock as tf
    >>> tf.io.decode_raw(["ab", "cd"], tf.uint8).numpy().tolist()
    [[97, 98], [99, 100]]
    """
    dtype = _core.DType(out_type)
    if not (dtype.is_numeric or dtype.is_bool):
        raise DTypeError(f"argument 'out_type' must be a dtype of numbers, got {dtype.name}")
    length = None if fixed_length is None else int(fixed_length)
    if length is not None and (length <= 0 or length % dtype.size):
        raise InvalidArgumentError(
            f"argument 'fixed_length' must be a positive multiple of {dtype.size}, got {length}"
        )
    strings = _core._to_tensor(input_bytes, dtype=_core.string)
    found: _core.Tensor = raw_ops.decode_raw(
        strings,
        out_type=dtype,
        little_endian=bool(little_endian),
        fixed_length=-1 if length is None else length,
    )
    return found


def _strings(value: Any, argument: str) -> _core.Tensor:
    given = _core._to_tensor(value)
    if given.dtype != _core.string:
        raise DTypeError(f"argument '{argument}' must be of dtype string, got {given.dtype.name}")
    return given


def each_string(function: Callable[[bytes], bytes], strings: Any, argument: str) -> _core.Tensor:
    """The results of a function on every string."""
    given = _strings(strings, argument)

    def mapped(value: Any) -> Any:
        import numpy as np  # start-up does without it

        if isinstance(value, bytes):
            return function(value)
        result = np.empty(_math.prod(value.shape), object)
        result[:] = [function(text) for text in value.ravel().tolist()]
        return result.reshape(value.shape)

    found: _core.Tensor = numpy_function(
        mapped, [given], TensorSpec(given.shape, _core.string), stateful=False
    )
    return found


@scoped
def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> _core.Tensor:
    """Write strings in the characters of base64 that URLs may have.

    Args:
        input: the strings.
        pad: whether `=` fills the last group of four.
        name: a scope for the names of its operations in a graph.

    Returns:
        Strings of the same shape.

    Raises:
        TypeError: where `input` has no strings.

    >>> import penstock as tf
    >>> tf.io.encode_base64("a").numpy()
    b'YQ'
    """
    found: _core.Tensor = raw_ops.encode_base64(_strings(input, "input"), pad=bool(pad))
    return found


@scoped
def decode_base64(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Read strings from base64 with the characters that URLs may have.

    Args:
        input: the strings, with or without `=` at the end.
        name: a scope for the names of its operations in a graph.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: where one is no base64.
        TypeError: where `input` has no strings.

    >>> import penstock as tf
    >>> tf.io.decode_base64("YQ").numpy()
    b'a'
    """
    found: _core.Tensor = raw_ops.decode_base64(_strings(input, "input"))
    return found
