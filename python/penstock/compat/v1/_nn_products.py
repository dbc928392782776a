"""Layers as functions, and gradients of convolutions, of `tf.nn` of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.scope import name_scope
from penstock.nn import bias_add

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "depthwise_conv2d_native",
    "relu_layer",
    "xw_plus_b",
]


def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Compute `x @ weights + biases`.

    Args:
        x: a matrix, [batch, inputs].
        weights: a matrix, [inputs, outputs].
        biases: a vector, [outputs].
        name: a scope for the names of its operations in a graph.

    Returns:
        A matrix, [batch, outputs].

    >>> import penstock as tf
    >>> tf.compat.v1.nn.xw_plus_b([[1.0, 2.0]], [[1.0], [1.0]], [0.5]).numpy().tolist()
    [[3.5]]
    """
    with name_scope(name or "xw_plus_b"):
        return bias_add(raw_ops.matmul(x, weights), biases)


def relu_layer(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Compute `relu(x @ weights + biases)`.

    Args:
        x: a matrix, [batch, inputs].
        weights: a matrix, [inputs, outputs].
        biases: a vector, [outputs].
        name: a scope for the names of its operations in a graph.

    Returns:
        A matrix, [batch, outputs].

    >>> import penstock as tf
    >>> tf.compat.v1.nn.relu_layer([[1.0, -2.0]], [[1.0], [1.0]], [0.5]).numpy().tolist()
    [[0.0]]
    """
    with name_scope(name or "relu_layer"):
        return raw_ops.relu(bias_add(raw_ops.matmul(x, weights), biases))


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> _core.Tensor:
    """Compute the gradient of a convolution by its filter.

    Args:
        input: what went into the convolution.
        filter_sizes: the shape of the filter.
        out_backprop: the gradient by what came out.
        strides: as of the convolution, four numbers.
        padding: `"SAME"`, `"VALID"`, or the padding of each dimension.
        use_cudnn_on_gpu: accepted and ignored.
        data_format: where the channels are, `"NHWC"` or `"NCHW"`.
        dilations: as of the convolution, four numbers.
        name: what it is called in a graph.

    Returns:
        A tensor of the shape of the filter.

    >>> import penstock as tf
    >>> x = tf.ones([1, 3, 3, 1])
    >>> slope = tf.compat.v1.nn.conv2d_backprop_filter(x, [2, 2, 1, 1], x[:, :2, :2], [1, 1, 1, 1], "VALID")
    >>> float(slope[0, 0, 0, 0])
    4.0
    """
    return raw_ops.Conv2DBackpropFilter(
        input=input,
        filter_sizes=filter_sizes,
        out_backprop=out_backprop,
        strides=strides,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padded(padding),
    )


def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> _core.Tensor:
    """Compute the gradient of a convolution by what goes into it.

    Args:
        input_sizes: the shape of what goes into it.
        filter: the filter.
        out_backprop: the gradient by what came out.
        strides: as of the convolution, four numbers.
        padding: `"SAME"`, `"VALID"`, or the padding of each dimension.
        use_cudnn_on_gpu: accepted and ignored.
        data_format: where the channels are, `"NHWC"` or `"NCHW"`.
        dilations: as of the convolution, four numbers.
        name: what it is called in a graph.
        filters: the newer name of `filter`.

    Returns:
        A tensor of the shape `input_sizes`.

    Raises:
        ValueError: where not one of `filter` and `filters` is given.

    >>> import penstock as tf
    >>> w, slope = tf.ones([2, 2, 1, 1]), tf.ones([1, 2, 2, 1])
    >>> back = tf.compat.v1.nn.conv2d_backprop_input([1, 3, 3, 1], w, slope, [1, 1, 1, 1], "VALID")
    >>> float(back[0, 1, 1, 0])
    4.0
    """
    if (filter is None) == (filters is None):
        raise ValueError("argument 'filter' must be given, by one of its names")
    return raw_ops.Conv2DBackpropInput(
        input_sizes=input_sizes,
        filter=filters if filter is None else filter,
        out_backprop=out_backprop,
        strides=strides,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padded(padding),
    )


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: Sequence[int],
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> _core.Tensor:
    """Convolve each channel of images with filters of its own.

    Args:
        input: images, [batch, height, width, channels] with `"NHWC"`.
        filter: the filters, [height, width, channels, outputs of each].
        strides: how far windows are from each other, four numbers.
        padding: `"SAME"`, `"VALID"`, or the padding of each dimension.
        data_format: where the channels are, `"NHWC"` or `"NCHW"`.
        dilations: how far the elements of a window are from each other, four numbers.
        name: what it is called in a graph.

    Returns:
        A tensor with `channels * outputs of each` channels.

    >>> import penstock as tf
    >>> x, w = tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 1])
    >>> tf.compat.v1.nn.depthwise_conv2d_native(x, w, [1, 1, 1, 1], "VALID").shape
    TensorShape([1, 2, 2, 2])
    """
    return raw_ops.DepthwiseConv2dNative(
        input=input,
        filter=filter,
        strides=strides,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padded(padding),
    )


def _padded(padding: Any) -> dict[str, Any]:
    """The padding of a convolution as operators take it."""
    if isinstance(padding, str):
        return {"padding": padding}
    return {"padding": "EXPLICIT", "explicit_paddings": [n for pair in padding for n in pair]}
