"""Operators of TensorFlow that its users have as functions too, with their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import penstock as tf
from penstock import _core, _nodes
from penstock._runtime.scope import scoped

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = [
    "check_pinned",
    "conv",
    "conv2d_backprop_filter_v2",
    "conv2d_backprop_input_v2",
    "fftnd",
    "ifftnd",
    "irfftnd",
    "rfftnd",
]


def _call(operator: str, **given: Any) -> Any:
    function = _nodes.function(operator)
    if function is None:
        raise tf.errors.InternalError(f"there is no operator {operator}")
    return function(**given)


def conv(
    input: TensorLike,
    filter: TensorLike,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "CHANNELS_LAST",
    dilations: Sequence[int] = (),
    batch_dims: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> _core.Tensor:
    """Convolve images or volumes, whose number of dimensions says which.

    Args:
        input: floating point, `[batch, …, height, width, channels]`, with a depth before the height for
            volumes.
        filter: of the dtype of `input`, `[(depth,) height, width, channels / groups, results]`.
        strides: the step along each dimension of a batch.
        padding: `"SAME"`, `"VALID"` or `"EXPLICIT"`.
        explicit_paddings: for `"EXPLICIT"` how much is before and after each dimension.
        data_format: `"CHANNELS_LAST"` or `"CHANNELS_FIRST"`.
        dilations: the distance of the elements of the filter along each dimension, by default 1.
        batch_dims: how many dimensions are a batch.
        groups: into how many groups the channels are divided.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input`.

    Raises:
        ValueError: for shapes that do not fit, or another layout or padding.

    >>> import penstock as tf
    >>> tf.conv(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "VALID").numpy().max()
    np.float32(4.0)
    """
    found: _core.Tensor = _call(
        "Conv",
        input=input,
        filter=filter,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        batch_dims=batch_dims,
        groups=groups,
        name=name,
    )
    return found


def conv2d_backprop_filter_v2(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> _core.Tensor:
    """Compute the gradient of a convolution of images by its filter.

    Args:
        input: the images, floating point.
        filter: a tensor of the shape of the filter.
        out_backprop: the gradient by the result of the convolution.
        strides: the step along each dimension.
        padding: `"SAME"`, `"VALID"` or `"EXPLICIT"`.
        use_cudnn_on_gpu: accepted and ignored.
        explicit_paddings: for `"EXPLICIT"` how much is before and after each dimension.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: the distance of the elements of the filter along each dimension.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape of `filter`.

    Raises:
        ValueError: for shapes that do not fit, or another layout or padding.

    >>> import penstock as tf
    >>> x, g = tf.ones([1, 3, 3, 1]), tf.ones([1, 2, 2, 1])
    >>> tf.conv2d_backprop_filter_v2(x, tf.zeros([2, 2, 1, 1]), g, [1, 1, 1, 1], "VALID").numpy().max()
    np.float32(4.0)
    """
    found: _core.Tensor = _call(
        "Conv2DBackpropFilterV2",
        input=input,
        filter=filter,
        out_backprop=out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )
    return found


def conv2d_backprop_input_v2(
    input: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: Sequence[int],
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> _core.Tensor:
    """Compute the gradient of a convolution of images by these.

    Args:
        input: a tensor of the shape of the images.
        filter: the filter, floating point.
        out_backprop: the gradient by the result of the convolution.
        strides: the step along each dimension.
        padding: `"SAME"`, `"VALID"` or `"EXPLICIT"`.
        use_cudnn_on_gpu: accepted and ignored.
        explicit_paddings: for `"EXPLICIT"` how much is before and after each dimension.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: the distance of the elements of the filter along each dimension.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape of `input`.

    Raises:
        ValueError: for shapes that do not fit, or another layout or padding.

    >>> import penstock as tf
    >>> f, g = tf.ones([2, 2, 1, 1]), tf.ones([1, 2, 2, 1])
    >>> tf.conv2d_backprop_input_v2(tf.zeros([1, 3, 3, 1]), f, g, [1, 1, 1, 1], "VALID").numpy().max()
    np.float32(4.0)
    """
    found: _core.Tensor = _call(
        "Conv2DBackpropInputV2",
        input=input,
        filter=filter,
        out_backprop=out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )
    return found


def fftnd(
    input: TensorLike, fft_length: TensorLike, axes: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Compute the discrete Fourier transform along several dimensions.

    Args:
        input: `complex64` or `complex128`, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input`, of its shape but for the lengths.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice.

    >>> import penstock as tf
    >>> tf.fftnd([[1.0 + 0j, 0j], [0j, 0j]], [2, 2], [0, 1]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    found: _core.Tensor = _call("FFTND", input=input, fft_length=fft_length, axes=axes, name=name)
    return found


def ifftnd(
    input: TensorLike, fft_length: TensorLike, axes: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Compute the inverse discrete Fourier transform along several dimensions.

    Args:
        input: `complex64` or `complex128`, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input`, of its shape but for the lengths.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice.

    >>> import penstock as tf
    >>> tf.ifftnd([[4.0 + 0j, 0j], [0j, 0j]], [2, 2], [0, 1]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    found: _core.Tensor = _call("IFFTND", input=input, fft_length=fft_length, axes=axes, name=name)
    return found


def rfftnd(
    input: TensorLike,
    fft_length: TensorLike,
    axes: TensorLike,
    Tcomplex: DTypeLike = _core.complex64,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the discrete Fourier transform of real numbers along several dimensions.

    Args:
        input: `float32` or `float64`, of known rank.
        fft_length: for each dimension how many elements to transform, cut or filled up with zeros.
        axes: the dimensions; of the last one half of the result and one are kept, the rest mirrors them.
        Tcomplex: the dtype of the result.
        name: a scope for the names of its operations in a graph.

    Returns:
        A complex tensor.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice.

    >>> import penstock as tf
    >>> tf.rfftnd([[1.0, 0.0], [0.0, 0.0]], [2, 2], [0, 1]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    found: _core.Tensor = _call(
        "RFFTND", input=input, fft_length=fft_length, axes=axes, Tcomplex=Tcomplex, name=name
    )
    return found


def irfftnd(
    input: TensorLike,
    fft_length: TensorLike,
    axes: TensorLike,
    Treal: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the inverse of `tf.rfftnd`.

    Args:
        input: `complex64` or `complex128`, of known rank.
        fft_length: for each dimension how many elements the result has.
        axes: the dimensions.
        Treal: the dtype of the result.
        name: a scope for the names of its operations in a graph.

    Returns:
        A real tensor.

    Raises:
        TypeError: for another dtype.
        ValueError: for dimensions that there are not or that are listed twice.

    >>> import penstock as tf
    >>> tf.irfftnd([[4.0 + 0j, 0j], [0j, 0j]], [2, 2], [0, 1]).numpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    found: _core.Tensor = _call(
        "IRFFTND", input=input, fft_length=fft_length, axes=axes, Treal=Treal, name=name
    )
    return found


@scoped
def check_pinned(tensor: TensorLike, name: str | None = None) -> _core.Tensor:
    """Check that a tensor is in memory of the host that a GPU reads by itself.

    No tensor is: what goes to a GPU is copied to such memory and from there.

    Args:
        tensor: a tensor.
        name: a scope for the names of its operations in a graph.

    Returns:
        The tensor, where it is in such memory.

    Raises:
        FailedPreconditionError: where there is no GPU.
        InvalidArgumentError: where the tensor is not in such memory.

    >>> import penstock as tf
    >>> try:
    ...     tf.check_pinned(1.0)
    ... except tf.errors.OpError as error:
    ...     error.error_code in (tf.errors.FAILED_PRECONDITION, tf.errors.INVALID_ARGUMENT)
    True
    """
    _core._to_tensor(tensor)
    if not tf.config.list_physical_devices("GPU"):
        raise tf.errors.FailedPreconditionError(
            "argument 'tensor' cannot be in memory for a GPU: there is none, see 'python -m penstock doctor'"
        )
    raise tf.errors.InvalidArgumentError("argument 'tensor' must be in memory for a GPU, which no tensor is")
