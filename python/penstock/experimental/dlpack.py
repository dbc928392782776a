"""Tensors that share memory with those of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tf_tensor: TensorLike) -> Any:
    """Make a DLPack capsule of the value of an eager tensor, for one consumer.

    Args:
        tf_tensor: a tensor of numbers or of `bool`.

    Returns:
        A capsule of a copy of its memory, on the device that holds it, since this kind of capsule cannot say
        that memory is read-only; `np.from_dlpack(tensor)` and other consumers of version 1 share it.

    Raises:
        BufferError: for a dtype that DLPack has not, such as `string`.
        InvalidArgumentError: for what a kernel on a GPU has rejected of which the tensor was computed.

    >>> import penstock as tf
    >>> tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(tf.constant([1, 2]))).numpy()
    array([1, 2], dtype=int32)
    """
    if not isinstance(tf_tensor, _core.Tensor):
        tf_tensor = _core._to_tensor(tf_tensor)
    return tf_tensor.__dlpack__()


def from_dlpack(dlcapsule: Any) -> _core.Tensor:
    """Make a tensor of the memory of a DLPack capsule, or of an object with `__dlpack__`.

    Args:
        dlcapsule: the capsule, which cannot be used again, or the object, on the CPU or a CUDA device.

    Returns:
        A tensor of the same shape and dtype on the same device, which shares the memory. Elements that are
        not in row-major order, or not aligned, are copied.

    Raises:
        BufferError: for a dtype or device that cannot be shared, and for a capsule that contradicts itself.
        ValueError: for a capsule that was used before.

    >>> import penstock as tf
    >>> capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1, 2]))
    >>> tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist()
    [1, 2]
    """
    return _core._from_dlpack(dlcapsule)
