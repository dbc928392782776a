"""The transposes of convolutions by name, and convolutions with holes by TensorFlow's older names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.conv import conv2d, conv2d_transpose
from penstock._ops.conv_arguments import (
    channels_first,
    channels_last,
    is_channels_first,
    spatial,
    window_attributes,
)
from penstock._ops.shapes import reshape
from penstock._runtime.arguments import extents, known_rank, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, PaddingLike, SizesLike, TensorLike, WindowLike

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
]


@dispatched
def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: IntLike, padding: PaddingLike, name: str | None = None
) -> _core.Tensor:
    """Convolve images with filters that have holes: `conv2d` with `dilations=rate`.

    Args:
        value: of shape `[batch, height, width, channels]`.
        filters: of shape `[window_height, window_width, channels, out_channels]`.
        rate: elements from one element of a window to the next.
        padding: `"VALID"` or `"SAME"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `value` with `out_channels` channels.

    Raises:
        ValueError: for arguments of another form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> tf.nn.atrous_conv2d(tf.ones([1, 5, 5, 1]), tf.ones([2, 2, 1, 3]), 2, "VALID").shape
    TensorShape([1, 3, 3, 3])
    """
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


@dispatched
def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: SizesLike,
    rate: IntLike,
    padding: PaddingLike,
    name: str | None = None,
) -> _core.Tensor:
    """Transpose `atrous_conv2d`.

    Args:
        value: of shape `[batch, height, width, channels]`.
        filters: of shape `[window_height, window_width, out_channels, channels]`.
        output_shape: the shape of the result.
        rate: elements from one element of a window to the next.
        padding: `"VALID"` or `"SAME"`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `value` and of shape `output_shape`.

    Raises:
        ValueError: for arguments of another form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> x, filters = tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 4, 1])
    >>> tf.nn.atrous_conv2d_transpose(x, filters, [1, 5, 5, 4], 2, "VALID").shape
    TensorShape([1, 5, 5, 4])
    """
    return conv2d_transpose(value, filters, output_shape, 1, padding, dilations=rate, name=name)


def _depthwise(strides: Any, padding: Any, data_format: Any, dilations: Any) -> tuple[bool, dict[str, Any]]:
    first = is_channels_first(data_format, 2)
    attributes = window_attributes(padding, strides, 2, first)
    attributes["dilations"] = spatial(dilations, 2, first, "dilations")
    return first, attributes


@scoped
def depthwise_conv2d_backprop_input(
    input_sizes: SizesLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: WindowLike = (1, 1, 1, 1),
    name: str | None = None,
) -> _core.Tensor:
    """Compute the gradient of `depthwise_conv2d` with regard to its input.

    Args:
        input_sizes: the shape of the input.
        filter: of shape `[window_height, window_width, channels, multiplier]`.
        out_backprop: the gradient of the result.
        strides: those of the convolution.
        padding: that of the convolution.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: those of the convolution.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `input_sizes`.

    Raises:
        ValueError: for arguments of another form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> filters, upstream = tf.ones([2, 2, 3, 1]), tf.ones([1, 3, 3, 3])
    >>> tf.nn.depthwise_conv2d_backprop_input([1, 4, 4, 3], filters, upstream, [1, 1, 1, 1], "VALID").shape
    TensorShape([1, 4, 4, 3])
    """
    first, attributes = _depthwise(strides, padding, data_format, dilations)
    y = _core._to_tensor(out_backprop)
    f = _core._to_tensor_hinted(filter, y.dtype)
    height, width, channels, multiplier = _four(f)
    f = reshape(f, [height, width, 1, product([channels, multiplier])])
    shape = extents(input_sizes, "input_sizes")
    if not first:
        return raw_ops.conv_input_grad(shape, f, y, **attributes)
    shape = raw_ops.gather(shape, [0, 2, 3, 1])
    return channels_first(raw_ops.conv_input_grad(shape, f, channels_last(y, 2), **attributes), 2)


def _four(filter: _core.Tensor) -> list[Any]:
    """The extents of a filter.

    Raises:
        ValueError: for another rank than 4.
    """
    if len(known_rank(filter)) != 4:
        raise InvalidArgumentError(f"argument 'filter' must have rank 4, got shape {filter.shape}")
    return sizes(filter)


@scoped
def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: SizesLike,
    out_backprop: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    dilations: WindowLike = (1, 1, 1, 1),
    name: str | None = None,
) -> _core.Tensor:
    """Compute the gradient of `depthwise_conv2d` with regard to its filter.

    Args:
        input: the input of the convolution.
        filter_sizes: the shape of the filter: `[window_height, window_width, channels, multiplier]`.
        out_backprop: the gradient of the result.
        strides: those of the convolution.
        padding: that of the convolution.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: those of the convolution.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `filter_sizes`.

    Raises:
        ValueError: for arguments of another form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> x, upstream = tf.ones([1, 4, 4, 3]), tf.ones([1, 3, 3, 3])
    >>> tf.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 3, 1], upstream, [1, 1, 1, 1], "VALID").shape
    TensorShape([2, 2, 3, 1])
    """
    first, attributes = _depthwise(strides, padding, data_format, dilations)
    x = _core._to_tensor(input)
    y = _core._to_tensor_hinted(out_backprop, x.dtype)
    if first:
        x, y = channels_last(x, 2), channels_last(y, 2)
    shape = extents(filter_sizes, "filter_sizes")
    if shape.shape.rank != 1 or shape.shape[0] not in (4, None):
        raise InvalidArgumentError(f"argument 'filter_sizes' must have 4 sizes, got {filter_sizes!r}")
    height, width, channels, multiplier = (shape[i] for i in range(4))
    one = raw_ops.ones_like(height)
    flat = raw_ops.stack(height, width, one, channels * multiplier)
    return raw_ops.reshape(raw_ops.conv_filter_grad(x, flat, y, **attributes), shape)
