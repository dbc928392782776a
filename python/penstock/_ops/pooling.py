"""Pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._ops.conv_arguments import (
    is_channels_first,
    on_images,
    spatial,
    window_attributes,
)
from penstock._runtime.arguments import UnknownRankError
from penstock._runtime.dispatch import dispatched
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import PaddingLike, TensorLike, WindowLike

__all__ = [
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


def _pool(
    operator: Callable[..., _core.Tensor],
    input: TensorLike,
    axes: int | None,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None,
    name: str | None,
) -> _core.Tensor:
    x = _core._to_tensor(input)
    if axes is None:
        rank = x.shape.rank if x.shape.rank is not None else len(data_format or "") or None
        if rank is None:
            raise UnknownRankError
        axes = rank - 2
        if not 1 <= axes <= 3:
            raise InvalidArgumentError(f"argument 'input' must have rank 3 to 5, got rank {rank}")
    first = is_channels_first(data_format, axes)
    attributes = window_attributes(padding, strides, axes, first)
    window = spatial(ksize, axes, first, "ksize")
    return on_images(operator, x, axes=axes, channels_second=first, name=name, ksize=window, **attributes)


@dispatched
def max_pool(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Take the greatest element of each window, over one to three spatial dimensions.

    Where several are equal the gradient goes to the first of them.

    Args:
        input: numbers, of shape `[batch, in.., channels]`, or with channels second.
        ksize: the extents of a window: one for all spatial dimensions, one each, or one for every dimension.
        strides: elements from one window to the next, as `ksize`.
        padding: `"VALID"`, `"SAME"`, or a pair of sizes for every dimension, 0 for batch and channels. What
            is in the padding takes no part.
        data_format: `"NWC"`, `"NHWC"` or `"NDHWC"`, which None is; or `"NCW"`, `"NCHW"` or `"NCDHW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out.., channels]`, or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.nn.max_pool(x, ksize=2, strides=2, padding="VALID")[0, :, :, 0].numpy().tolist()
    [[5.0, 7.0], [13.0, 15.0]]
    """
    return _pool(raw_ops.max_pool, input, None, ksize, strides, padding, data_format, name)


@dispatched
def max_pool1d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> _core.Tensor:
    """Take the greatest element of each window of sequences.

    Args:
        input: numbers, of shape `[batch, width, channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: `"NWC"` or `"NCW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out, channels]`, or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> tf.nn.max_pool1d(tf.constant([[[1.0], [5.0], [2.0]]]), 2, 1, "VALID")[0, :, 0].numpy().tolist()
    [5.0, 5.0]
    """
    return _pool(raw_ops.max_pool, input, 1, ksize, strides, padding, data_format, name)


@dispatched
def max_pool2d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> _core.Tensor:
    """Take the greatest element of each window of images.

    Args:
        input: numbers, of shape `[batch, height, width, channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: `"NHWC"` or `"NCHW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out_height, out_width, channels]`, or with
        channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> tf.nn.max_pool2d(tf.ones([1, 5, 5, 3]), 2, 2, "SAME").shape
    TensorShape([1, 3, 3, 3])
    """
    return _pool(raw_ops.max_pool, input, 2, ksize, strides, padding, data_format, name)


@dispatched
def max_pool3d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> _core.Tensor:
    """Take the greatest element of each window of volumes.

    Args:
        input: numbers, of shape `[batch, depth, height, width, channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: `"NDHWC"` or `"NCDHW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out_depth, out_height, out_width, channels]`,
        or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> tf.nn.max_pool3d(tf.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
    TensorShape([1, 2, 2, 2, 2])
    """
    return _pool(raw_ops.max_pool, input, 3, ksize, strides, padding, data_format, name)


@dispatched
def avg_pool(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the mean of each window, over one to three spatial dimensions; padding is not counted.

    Args:
        input: floating point, of shape `[batch, in.., channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: as for `max_pool`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out.., channels]`, or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.nn.avg_pool(x, ksize=2, strides=2, padding="VALID")[0, :, :, 0].numpy().tolist()
    [[2.5, 4.5], [10.5, 12.5]]
    """
    return _pool(raw_ops.avg_pool, input, None, ksize, strides, padding, data_format, name)


@dispatched
def avg_pool1d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> _core.Tensor:
    """Compute the mean of each window of sequences; padding is not counted.

    Args:
        input: floating point, of shape `[batch, width, channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: `"NWC"` or `"NCW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out, channels]`, or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> tf.nn.avg_pool1d(tf.constant([[[1.0], [5.0], [2.0]]]), 2, 1, "VALID")[0, :, 0].numpy().tolist()
    [3.0, 3.5]
    """
    return _pool(raw_ops.avg_pool, input, 1, ksize, strides, padding, data_format, name)


@dispatched
def avg_pool2d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> _core.Tensor:
    """Compute the mean of each window of images; padding is not counted.

    Args:
        input: floating point, of shape `[batch, height, width, channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: `"NHWC"` or `"NCHW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out_height, out_width, channels]`, or with
        channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> tf.nn.avg_pool2d(tf.ones([1, 3, 3, 1]), 2, 2, "SAME")[0, :, :, 0].numpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _pool(raw_ops.avg_pool, input, 2, ksize, strides, padding, data_format, name)


@dispatched
def avg_pool3d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> _core.Tensor:
    """Compute the mean of each window of volumes; padding is not counted.

    Args:
        input: floating point, of shape `[batch, depth, height, width, channels]`, or with channels second.
        ksize: as for `max_pool`.
        strides: as for `max_pool`.
        padding: as for `max_pool`.
        data_format: `"NDHWC"` or `"NCDHW"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out_depth, out_height, out_width, channels]`,
        or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where a window does not fit the input.

    >>> import penstock as tf
    >>> tf.nn.avg_pool3d(tf.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
    TensorShape([1, 2, 2, 2, 2])
    """
    return _pool(raw_ops.avg_pool, input, 3, ksize, strides, padding, data_format, name)
