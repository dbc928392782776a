"""Reductions and scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axes, axis_number
from penstock._runtime.dispatch import dispatched
from penstock.errors import DTypeError

if TYPE_CHECKING:
    from penstock._types.aliases import AxisLike, DTypeLike, IntLike, TensorLike


@dispatched
def reduce_sum(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the sum of elements over dimensions, or over all.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, without the dimensions of `axis`, summed pairwise; 0 where
        there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_sum([[1, 5], [3, 2]], axis=0, keepdims=True).numpy()
    array([[4, 7]], dtype=int32)
    """
    return raw_ops.reduce_sum(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_prod(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the product of elements over dimensions, or over all.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, without the dimensions of `axis`; 1 where there are no
        elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_prod([[1, 5], [3, 2]], axis=0).numpy()
    array([ 3, 10], dtype=int32)
    """
    return raw_ops.reduce_prod(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_max(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the maximum of elements over dimensions, or over all.

    Args:
        input_tensor: a real tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, without the dimensions of `axis`: NaN where there is one, and
        the least value of the dtype where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_max([[1, 5], [3, 2]], axis=0).numpy()
    array([3, 5], dtype=int32)
    """
    return raw_ops.reduce_max(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_min(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the minimum of elements over dimensions, or over all.

    Args:
        input_tensor: a real tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, without the dimensions of `axis`: NaN where there is one, and
        the greatest value of the dtype where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_min([[1, 5], [3, 2]], axis=0).numpy()
    array([1, 2], dtype=int32)
    """
    return raw_ops.reduce_min(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_mean(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the mean of elements over dimensions, or over all.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, for integers without the fraction, without the dimensions of
        `axis`; NaN where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_mean([[1.0, 5.0], [3.0, 2.0]], axis=0).numpy()
    array([2. , 3.5], dtype=float32)
    """
    return raw_ops.reduce_mean(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_any(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Tell whether any element is true, over dimensions or over all.

    Args:
        input_tensor: a `bool` tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans without the dimensions of `axis`; false where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_any([[True, False], [False, False]], axis=1).numpy()
    array([ True, False])
    """
    return raw_ops.reduce_any(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_all(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Tell whether all elements are true, over dimensions or over all.

    Args:
        input_tensor: a `bool` tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of booleans without the dimensions of `axis`; true where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_all([[True, False], [True, True]], axis=1).numpy()
    array([False,  True])
    """
    return raw_ops.reduce_all(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_logsumexp(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute `log(sum(exp(x)))` over dimensions, or over all, without overflow.

    Args:
        input_tensor: a floating-point tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, without the dimensions of `axis`; minus infinity where there
        are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.reduce_logsumexp([1000.0, 1000.0]).numpy()
    np.float32(1000.6932)
    """
    return raw_ops.reduce_logsumexp(input_tensor, axes=axes(axis), keepdims=keepdims, name=name)


@dispatched
def reduce_variance(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the population variance of elements over dimensions, or over all.

    Args:
        input_tensor: a floating-point or complex tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A real tensor without the dimensions of `axis`, with the number of elements as the divisor; NaN where
        there are no elements.

    Raises:
        TypeError: for integers and booleans.
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.math.reduce_variance([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    x = _core._to_tensor(input_tensor)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"argument 'input_tensor' must be floating point or complex, got {x.dtype.name}")
    deviation = x - reduce_mean(x, axis, True)
    squared = (
        raw_ops.real(deviation * raw_ops.conj(deviation)) if x.dtype.is_complex else raw_ops.square(deviation)
    )
    return reduce_mean(squared, axis, keepdims, name=name)


@dispatched
def reduce_std(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the population standard deviation of elements over dimensions, or over all.

    Args:
        input_tensor: a floating-point or complex tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A real tensor without the dimensions of `axis`; NaN where there are no elements.

    Raises:
        TypeError: for integers and booleans.
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.math.reduce_std([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    return raw_ops.sqrt(reduce_variance(input_tensor, axis, keepdims), name=name)


@dispatched
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the Euclidean norm of elements over dimensions, or over all.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `input_tensor`, without the dimensions of `axis`; 0 where there are no
        elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
    array([ 5., 10.], dtype=float32)
    """
    x = _core._to_tensor(input_tensor)
    squared = x * raw_ops.conj(x) if x.dtype.is_complex else raw_ops.square(x)
    total = reduce_sum(squared, axis, keepdims)
    if x.dtype.is_integer:
        return raw_ops.cast(raw_ops.sqrt(raw_ops.cast(total, dtype=_core.float64)), dtype=x.dtype, name=name)
    return raw_ops.sqrt(total, name=name)


@dispatched
def count_nonzero(
    input: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    dtype: DTypeLike = _core.int64,
    name: str | None = None,
) -> _core.Tensor:
    """Count the elements that are not zero, or not empty strings, over dimensions or over all.

    Args:
        input: a tensor; strings count unless they are empty.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        dtype: the dtype of the result.
        name: a name for the result in a graph.

    Returns:
        A tensor of `dtype` without the dimensions of `axis`.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> import penstock as tf
    >>> tf.math.count_nonzero([[0, 1], [2, 3]], axis=0).numpy()
    array([1, 2])
    """
    x = _core._to_tensor(input)
    if x.dtype == _core.string:
        x = raw_ops.string_not_equal(x, "")
    if dtype is _core.int64:
        return raw_ops.count_nonzero(x, axes=axes(axis), keepdims=keepdims, name=name)
    counts = raw_ops.count_nonzero(x, axes=axes(axis), keepdims=keepdims)
    return raw_ops.cast(counts, dtype=_core.DType(dtype), name=name)


@dispatched
def zero_fraction(value: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the fraction of elements that are zero.

    Args:
        value: a numeric tensor.
        name: a name for the result in a graph.

    Returns:
        A `float32` scalar; NaN where there are no elements.

    >>> import penstock as tf
    >>> tf.math.zero_fraction([0.0, 1.0, 0.0, 2.0]).numpy()
    np.float32(0.5)
    """
    x = _core._to_tensor(value)
    nonzero = raw_ops.cast(raw_ops.cast(x, dtype=_core.bool), dtype=_core.float32)
    return raw_ops.sub(1.0, reduce_mean(nonzero), name=name)


def _ordered(value: Any) -> _core.Tensor:
    """The tensor, of numbers: false is less than true."""
    x = _core._to_tensor(value)
    return raw_ops.cast(x, dtype=_core.uint8) if x.dtype == _core.bool else x


@dispatched
def argmax(
    input: TensorLike,
    axis: IntLike | None = None,
    output_type: DTypeLike = _core.int64,
    name: str | None = None,
) -> _core.Tensor:
    """Find the index of the greatest element along a dimension, the first among equals.

    Args:
        input: a numeric or boolean tensor.
        axis: the dimension to search along; 0 by default.
        output_type: `int32` or `int64`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `output_type` with the shape of `input` without the dimension. A NaN counts as the
        greatest.

    Raises:
        InvalidArgumentError: for an axis that is out of range or of size 0.

    >>> import penstock as tf
    >>> tf.argmax([[1, 5, 2], [7, 3, 7]], axis=1).numpy()
    array([1, 0])
    """
    return raw_ops.argmax(
        _ordered(input),
        axis=0 if axis is None else axis_number(axis),
        dtype=_core.DType(output_type),
        name=name,
    )


@dispatched
def argmin(
    input: TensorLike,
    axis: IntLike | None = None,
    output_type: DTypeLike = _core.int64,
    name: str | None = None,
) -> _core.Tensor:
    """Find the index of the least element along a dimension, the first among equals.

    Args:
        input: a numeric or boolean tensor.
        axis: the dimension to search along; 0 by default.
        output_type: `int32` or `int64`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `output_type` with the shape of `input` without the dimension. A NaN counts as the least.

    Raises:
        InvalidArgumentError: for an axis that is out of range or of size 0.

    >>> import penstock as tf
    >>> tf.argmin([[1, 5, 2], [7, 3, 3]], axis=1).numpy()
    array([0, 1])
    """
    return raw_ops.argmin(
        _ordered(input),
        axis=0 if axis is None else axis_number(axis),
        dtype=_core.DType(output_type),
        name=name,
    )


@dispatched
def cumsum(
    x: TensorLike, axis: IntLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the running sum along a dimension.

    Args:
        x: a numeric tensor.
        axis: the dimension to go along.
        exclusive: whether an element itself does not count.
        reverse: whether to go from the last element to the first.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.cumsum([1, 2, 3]).numpy()
    array([1, 3, 6], dtype=int32)
    >>> tf.cumsum([1, 2, 3], exclusive=True, reverse=True).numpy()
    array([5, 3, 0], dtype=int32)
    """
    return raw_ops.cumsum(x, axis=axis_number(axis), exclusive=exclusive, reverse=reverse, name=name)


@dispatched
def cumprod(
    x: TensorLike, axis: IntLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the running product along a dimension.

    Args:
        x: a numeric tensor.
        axis: the dimension to go along.
        exclusive: whether an element itself does not count.
        reverse: whether to go from the last element to the first.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.math.cumprod([1, 2, 3, 4]).numpy()
    array([ 1,  2,  6, 24], dtype=int32)
    """
    return raw_ops.cumprod(x, axis=axis_number(axis), exclusive=exclusive, reverse=reverse, name=name)


@dispatched
def cumulative_logsumexp(
    x: TensorLike, axis: IntLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> _core.Tensor:
    """Compute the running `log(sum(exp(x)))` along a dimension, without overflow.

    Args:
        x: floating point.
        axis: the dimension.
        exclusive: whether to leave the element itself out: the first result is then the least finite value.
        reverse: whether to run from the end.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.math.cumulative_logsumexp([0.0, 0.0]).numpy()[1]
    np.float32(0.6931472)
    """
    return raw_ops.cumulative_logsumexp(
        x, axis=axis_number(axis), exclusive=exclusive, reverse=reverse, name=name
    )
