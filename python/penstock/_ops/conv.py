"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.conv_arguments import (
    channels_first,
    channels_last,
    is_channels_first,
    on_images,
    spatial,
    window_attributes,
)
from penstock._runtime.arguments import UnknownRankError, extents, known_rank, named, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import PaddingLike, SizesLike, TensorLike, WindowLike

__all__ = [
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "depthwise_conv2d",
    "separable_conv2d",
]


@dispatched
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike | None = None,
    padding: PaddingLike = "VALID",
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve images with filters over one to three spatial dimensions.

    As in neural networks the filter is not mirrored: an output is the sum of the products of a filter and the
    window of the input that it lies over.

    Args:
        input: floating point or `int32`, of shape `[batch, in.., channels]`, or with channels second. There
            may be more dimensions for the batch.
        filters: of shape `[window.., in_channels, out_channels]`. `in_channels` may be a part of the input's
            channels, which are in groups then, as are those of the output.
        strides: elements of the input from one window to the next: one for all spatial dimensions, or one
            each; 1 where None.
        padding: `"VALID"` for none; `"SAME"` for as many zeros around that there is an output for each
            stride; or a pair of sizes for every dimension of the input, 0 for batch and channels.
        data_format: `"NWC"`, `"NHWC"` or `"NDHWC"`, which None is; or `"NCW"`, `"NCHW"` or `"NCDHW"`.
        dilations: elements of the input from one element of a filter to the next, as `strides`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out.., out_channels]`, or with channels second.
        Without padding an extent is `ceil((in - (window - 1) * dilation) / stride)`, with `"SAME"` it is
        `ceil(in / stride)`.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> x = tf.constant([[[1.0], [2.0], [4.0], [7.0]]])
    >>> difference = tf.constant([[[-1.0]], [[1.0]]])
    >>> tf.nn.convolution(x, difference)[0, :, 0].numpy().tolist()
    [1.0, 2.0, 3.0]
    """
    x = _core._to_tensor(input)
    f = _core._to_tensor_hinted(filters, x.dtype)
    rank = f.shape.rank if f.shape.rank is not None else x.shape.rank
    if rank is None:
        raise UnknownRankError
    return _convolution(
        x, f, _axes(rank), 1 if strides is None else strides, padding, data_format, dilations, name
    )


def _axes(rank: int) -> int:
    if not 3 <= rank <= 5:
        raise InvalidArgumentError(f"argument 'filters' must have rank 3 to 5, got rank {rank}")
    return rank - 2


def _convolution(
    x: _core.Tensor,
    filters: _core.Tensor,
    axes: int,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None,
    dilations: WindowLike | None,
    name: str | None,
) -> _core.Tensor:
    first = is_channels_first(data_format, axes)
    attributes = window_attributes(padding, strides, axes, first)
    if dilations is not None:
        attributes["dilations"] = spatial(dilations, axes, first, "dilations")
    conv = _whole if x.dtype == filters.dtype == _core.int32 else raw_ops.conv
    return on_images(conv, x, filters, axes=axes, channels_second=first, name=name, **attributes)


def _whole(
    x: _core.Tensor, filters: _core.Tensor, name: str | None = None, **attributes: Any
) -> _core.Tensor:
    """The convolution of `int32`, which wraps, by exact ones of halves: of `x = 2**16 * high + low`."""

    def halves(v: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
        high = raw_ops.right_shift(v, 16)
        low = raw_ops.bitwise_and(v, 0xFFFF)
        return raw_ops.cast(high, dtype=_core.float64), raw_ops.cast(low, dtype=_core.float64)

    (x_high, x_low), (f_high, f_low) = halves(x), halves(filters)
    low, *high = (
        raw_ops.cast(raw_ops.conv(a, b, **attributes), dtype=_core.int64)
        for a, b in ((x_low, f_low), (x_high, f_low), (x_low, f_high))
    )
    shift = _core._to_tensor(16, _core.int64)
    return raw_ops.cast(low + raw_ops.left_shift(high[0] + high[1], shift), dtype=_core.int32, name=name)


@dispatched
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve sequences with filters, as `convolution` over one spatial dimension.

    Args:
        input: of shape `[batch, width, channels]`, or `[batch, channels, width]`.
        filters: of shape `[window, in_channels, out_channels]`.
        stride: elements from one window to the next.
        padding: as for `convolution`.
        data_format: `"NWC"` or `"NCW"`.
        dilations: elements of the input from one element of a filter to the next.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out, out_channels]`, or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> tf.nn.conv1d(tf.ones([1, 5, 2]), tf.ones([3, 2, 1]), 2, "SAME")[0, :, 0].numpy().tolist()
    [4.0, 6.0, 4.0]
    """
    return _of_rank(1, input, filters, stride, padding, data_format, dilations, name)


def _of_rank(
    axes: int,
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None,
    dilations: WindowLike | None,
    name: str | None,
) -> _core.Tensor:
    x = _core._to_tensor(input)
    f = _core._to_tensor_hinted(filters, x.dtype)
    return _convolution(x, f, axes, strides, padding, data_format, dilations, name)


@dispatched
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve images with filters, as `convolution` over two spatial dimensions.

    Args:
        input: of shape `[batch, height, width, channels]`, or `[batch, channels, height, width]`.
        filters: of shape `[window_height, window_width, in_channels, out_channels]`.
        strides: elements from one window to the next: one, two, or one for every dimension.
        padding: as for `convolution`.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: elements of the input from one element of a filter to the next, as `strides`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out_height, out_width, out_channels]`, or with
        channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.nn.conv2d(x, tf.ones([2, 2, 1, 1]), strides=1, padding="VALID")[0, :, :, 0].numpy().tolist()
    [[8.0, 12.0], [20.0, 24.0]]
    """
    return _of_rank(2, input, filters, strides, padding, data_format, dilations, name)


@dispatched
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = "NDHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve volumes with filters, as `convolution` over three spatial dimensions.

    Args:
        input: of shape `[batch, depth, height, width, channels]`, or `[batch, channels, depth, height,
            width]`.
        filters: of shape `[window_depth, window_height, window_width, in_channels, out_channels]`.
        strides: elements from one window to the next: one, three, or one for every dimension.
        padding: as for `convolution`.
        data_format: `"NDHWC"` or `"NCDHW"`.
        dilations: elements of the input from one element of a filter to the next, as `strides`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `[batch, out_depth, out_height, out_width,
        out_channels]`, or with channels second.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> tf.nn.conv3d(tf.ones([1, 3, 3, 3, 1]), tf.ones([3, 3, 3, 1, 2]), 1, "VALID").numpy().tolist()
    [[[[[27.0, 27.0]]]]]
    """
    return _of_rank(3, input, filters, strides, padding, data_format, dilations, name)


@dispatched
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: SizesLike,
    strides: WindowLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Transpose a convolution over one to three spatial dimensions: compute its gradient by the input.

    Args:
        input: what the convolution would give: of shape `[batch, in.., in_channels]`, or with channels
            second.
        filters: of shape `[window.., out_channels, in_channels]`.
        output_shape: the shape of the result, which the convolution would take.
        strides: those of the convolution: one for all spatial dimensions, or one each.
        padding: that of the convolution.
        data_format: `"NWC"`, `"NHWC"` or `"NDHWC"`, which None is; or `"NCW"`, `"NCHW"` or `"NCDHW"`.
        dilations: those of the convolution.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `output_shape`.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where the convolution of `output_shape` has another shape than `input`.

    >>> import penstock as tf
    >>> spread = tf.nn.conv_transpose(tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], strides=2)
    >>> spread[0, :, 0].numpy().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    f = _core._to_tensor(filters)
    x = _core._to_tensor_hinted(input, f.dtype)
    rank = f.shape.rank if f.shape.rank is not None else x.shape.rank
    if rank is None:
        raise UnknownRankError
    return _transposed(_axes(rank), x, f, output_shape, strides, padding, data_format, dilations, name)


def _transposed(
    axes: int,
    input: TensorLike,
    filters: TensorLike,
    output_shape: SizesLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None,
    dilations: WindowLike | None,
    name: str | None,
) -> _core.Tensor:
    y = _core._to_tensor(input)
    f = _core._to_tensor_hinted(filters, y.dtype)
    first = is_channels_first(data_format, axes)
    attributes = window_attributes(padding, strides, axes, first)
    if dilations is not None:
        attributes["dilations"] = spatial(dilations, axes, first, "dilations")
    shape = extents(output_shape, "output_shape")
    if shape.shape.rank != 1 or shape.shape[0] not in (None, axes + 2):
        raise InvalidArgumentError(
            f"argument 'output_shape' must have {axes + 2} sizes, got {output_shape!r}"
        )
    if first:
        shape = raw_ops.gather(shape, [0, *range(2, axes + 2), 1])
        made = raw_ops.conv_input_grad(shape, f, channels_last(y, axes), **attributes)
        return named(channels_first(made, axes), name)
    return raw_ops.conv_input_grad(shape, f, y, name=name, **attributes)


@dispatched
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: SizesLike,
    strides: WindowLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Transpose `conv1d`: compute its gradient by the input.

    Args:
        input: what the convolution would give: `[batch, width, in_channels]`, or with channels second.
        filters: of shape `[window, out_channels, in_channels]`.
        output_shape: the shape of the result, which the convolution would take.
        strides: those of the convolution: one for all spatial dimensions, or one each.
        padding: that of the convolution: `"SAME"`, `"VALID"` or a pair of sizes for every dimension.
        data_format: `"NWC"` or `"NCW"`.
        dilations: those of the convolution.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `output_shape`.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where the convolution of `output_shape` has another shape than `input`.

    >>> import penstock as tf
    >>> tf.nn.conv1d_transpose(tf.ones([1, 2, 1]), tf.ones([2, 3, 1]), [1, 4, 3], 2).shape
    TensorShape([1, 4, 3])
    """
    return _transposed(1, input, filters, output_shape, strides, padding, data_format, dilations, name)


@dispatched
def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: SizesLike,
    strides: WindowLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Transpose `conv2d`: compute its gradient by the input.

    Args:
        input: what the convolution would give: `[batch, height, width, in_channels]`, or with channels
            second.
        filters: of shape `[window_height, window_width, out_channels, in_channels]`.
        output_shape: the shape of the result, which the convolution would take.
        strides: those of the convolution: one, two, or one for every dimension.
        padding: that of the convolution.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: those of the convolution.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `output_shape`.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where the convolution of `output_shape` has another shape than `input`.

    >>> import penstock as tf
    >>> y = tf.nn.conv2d_transpose(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 3, 1]), [1, 4, 4, 3], strides=2)
    >>> y.shape
    TensorShape([1, 4, 4, 3])
    """
    return _transposed(2, input, filters, output_shape, strides, padding, data_format, dilations, name)


@dispatched
def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: SizesLike,
    strides: WindowLike,
    padding: PaddingLike = "SAME",
    data_format: str | None = "NDHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Transpose `conv3d`: compute its gradient by the input.

    Args:
        input: what the convolution would give: `[batch, depth, height, width, in_channels]`, or with channels
            second.
        filters: of shape `[window_depth, window_height, window_width, out_channels, in_channels]`.
        output_shape: the shape of the result, which the convolution would take.
        strides: those of the convolution: one for all spatial dimensions, or one each.
        padding: that of the convolution: `"SAME"`, `"VALID"` or a pair of sizes for every dimension.
        data_format: `"NDHWC"` or `"NCDHW"`.
        dilations: those of the convolution.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` and of shape `output_shape`.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where the convolution of `output_shape` has another shape than `input`.

    >>> import penstock as tf
    >>> x, filters = tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 3, 1])
    >>> tf.nn.conv3d_transpose(x, filters, [1, 4, 4, 4, 3], 2).shape
    TensorShape([1, 4, 4, 4, 3])
    """
    return _transposed(3, input, filters, output_shape, strides, padding, data_format, dilations, name)


@dispatched
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve each channel with filters of its own.

    Args:
        input: of shape `[batch, height, width, channels]`, or `[batch, channels, height, width]`.
        filter: of shape `[window_height, window_width, channels, multiplier]`.
        strides: as for `conv2d`.
        padding: as for `convolution`.
        data_format: `"NHWC"`, which None is, or `"NCHW"`.
        dilations: as for `conv2d`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` with `channels * multiplier` channels: those of the first channel of
        the input come first.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> filters = tf.constant([[[[1.0, 10.0], [2.0, 20.0]]]])
    >>> tf.nn.depthwise_conv2d(tf.ones([1, 1, 1, 2]), filters, [1, 1, 1, 1], "VALID").numpy().tolist()
    [[[[1.0, 10.0, 2.0, 20.0]]]]
    """
    x = _core._to_tensor(input)
    f = _core._to_tensor_hinted(filter, x.dtype)
    if len(known_rank(f)) != 4:
        raise InvalidArgumentError(f"argument 'filter' must have rank 4, got shape {f.shape}")
    height, width, channels, multiplier = sizes(f)
    place = 1 if is_channels_first(data_format, 2) else -1
    if x.shape.rank is not None and x.shape.rank >= 4 and isinstance(channels, int):
        size = x.shape[place if place == -1 else x.shape.rank - 3]
        if size not in (None, channels):
            raise InvalidArgumentError(
                f"argument 'filter' must have {size} channels, as 'input' has, got shape {f.shape}"
            )
    f = raw_ops.reshape(f, extents([height, width, 1, product([channels, multiplier])]))
    return _convolution(x, f, 2, strides, padding, data_format, dilations, name)


@dispatched
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve each channel with filters of its own, and mix the channels of each pixel.

    Args:
        input: of shape `[batch, height, width, channels]`, or `[batch, channels, height, width]`.
        depthwise_filter: of shape `[window_height, window_width, channels, multiplier]`.
        pointwise_filter: of shape `[1, 1, channels * multiplier, out_channels]`.
        strides: those of the depthwise convolution.
        padding: that of the depthwise convolution.
        data_format: `"NHWC"`, which None is, or `"NCHW"`.
        dilations: those of the depthwise convolution.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input` with `out_channels` channels.

    Raises:
        ValueError: for arguments of another length or form.
        InvalidArgumentError: where shapes do not fit.

    >>> import penstock as tf
    >>> y = tf.nn.separable_conv2d(
    ...     tf.ones([1, 4, 4, 2]), tf.ones([3, 3, 2, 1]), tf.ones([1, 1, 2, 5]), [1, 1, 1, 1], "SAME"
    ... )
    >>> y.shape
    TensorShape([1, 4, 4, 5])
    """
    x = _core._to_tensor(input)
    p = _core._to_tensor_hinted(pointwise_filter, x.dtype)
    if len(known_rank(p)) != 4 or not p.shape[:2].is_compatible_with([1, 1]):
        raise InvalidArgumentError(
            f"argument 'pointwise_filter' must have shape [1, 1, in, out], got {p.shape}"
        )
    between = depthwise_conv2d(x, depthwise_filter, strides, padding, data_format, dilations)
    have, want = between.shape[1 if is_channels_first(data_format, 2) else -1], p.shape[2]
    if None not in (have, want) and have != want:
        raise InvalidArgumentError(
            f"argument 'pointwise_filter' must have {have} input channels, got shape {p.shape}"
        )
    return _convolution(between, p, 2, 1, "VALID", data_format, None, name)
