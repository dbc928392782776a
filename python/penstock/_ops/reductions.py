"""Reductions and scans."""

from __future__ import annotations

from typing import Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axes, integer


def _reduce(op: str, x: Any, axis: Any, keepdims: bool) -> _core.Tensor:
    raw = getattr(raw_ops, op)
    return raw(x, axes=axes(axis), keepdims=keepdims)  # type: ignore[no-any-return]


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The sum over axes, or over all; 0 over nothing.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype, summed pairwise; 0 where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_sum([[1, 5], [3, 2]], axis=0, keepdims=True).numpy()
    array([[4, 7]], dtype=int32)
    """
    return _reduce("reduce_sum", input_tensor, axis, keepdims)


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The product over axes, or over all; 1 over nothing.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype; 1 where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_prod([[1, 5], [3, 2]], axis=0).numpy()
    array([ 3, 10], dtype=int32)
    """
    return _reduce("reduce_prod", input_tensor, axis, keepdims)


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The maximum over axes, or over all; the least value over nothing. NaN wins.

    Args:
        input_tensor: a real tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype: NaN where there is one, and the least value of the dtype where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_max([[1, 5], [3, 2]], axis=0).numpy()
    array([3, 5], dtype=int32)
    """
    return _reduce("reduce_max", input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The minimum over axes, or over all; the greatest value over nothing. NaN wins.

    Args:
        input_tensor: a real tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype: NaN where there is one, and the greatest value of the dtype where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_min([[1, 5], [3, 2]], axis=0).numpy()
    array([1, 2], dtype=int32)
    """
    return _reduce("reduce_min", input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The mean over axes, or over all; NaN over nothing. Means of integers are integers.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype, of integers without the fraction; NaN where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_mean([[1.0, 5.0], [3.0, 2.0]], axis=0).numpy()
    array([2. , 3.5], dtype=float32)
    """
    return _reduce("reduce_mean", input_tensor, axis, keepdims)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Whether any element is true, over axes, or over all.

    Args:
        input_tensor: a `bool` tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        `bool`; false where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_any([[True, False], [False, False]], axis=1).numpy()
    array([ True, False])
    """
    return _reduce("reduce_any", input_tensor, axis, keepdims)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """Whether all elements are true, over axes, or over all.

    Args:
        input_tensor: a `bool` tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        `bool`; true where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_all([[True, False], [True, True]], axis=1).numpy()
    array([False,  True])
    """
    return _reduce("reduce_all", input_tensor, axis, keepdims)


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """`log(sum(exp(x)))` over axes, or over all, without overflow.

    Args:
        input_tensor: a floating-point tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype, computed without overflow; minus infinity where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_logsumexp([1000.0, 1000.0]).numpy()
    np.float32(1000.6932)
    """
    return _reduce("reduce_logsumexp", input_tensor, axis, keepdims)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The population variance over axes, or over all.

    Args:
        input_tensor: a floating-point or complex tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Real, with the number of elements as the divisor; NaN where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_variance([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    x = _core._to_tensor(input_tensor)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(f"argument 'input_tensor' must be floating point or complex, got {x.dtype.name}")
    deviation = x - reduce_mean(x, axis, True)
    squared = (
        raw_ops.real(deviation * raw_ops.conj(deviation)) if x.dtype.is_complex else raw_ops.square(deviation)
    )
    return reduce_mean(squared, axis, keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The population standard deviation over axes, or over all.

    Args:
        input_tensor: a floating-point or complex tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Real; NaN where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_std([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    return raw_ops.sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> _core.Tensor:
    """The Euclidean norm over axes, or over all.

    Args:
        input_tensor: a numeric tensor.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        name: ignored.

    Returns:
        Of its dtype; 0 where there are no elements.

    Raises:
        InvalidArgumentError: for an axis that is out of range or listed twice.

    >>> reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
    array([ 5., 10.], dtype=float32)
    """
    x = _core._to_tensor(input_tensor)
    squared = x * raw_ops.conj(x) if x.dtype.is_complex else raw_ops.square(x)
    total = reduce_sum(squared, axis, keepdims)
    if x.dtype.is_integer:
        return raw_ops.cast(raw_ops.sqrt(raw_ops.cast(total, dtype=_core.float64)), dtype=x.dtype)
    return raw_ops.sqrt(total)


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = _core.int64, name: str | None = None
) -> _core.Tensor:
    """The number of elements that are not zero (not empty, for strings), over axes, or over all.

    Args:
        input: a tensor; strings count unless they are empty.
        axis: the dimensions to go over: one, several, or None for all; negative ones count from the end.
        keepdims: whether the dimensions stay, with size 1.
        dtype: the dtype of the result.
        name: ignored.

    >>> count_nonzero([[0, 1], [2, 3]], axis=0).numpy()
    array([1, 2])
    """
    x = _core._to_tensor(input)
    if x.dtype == _core.string:
        x = raw_ops.string_not_equal(x, "")
    counts = raw_ops.count_nonzero(x, axes=axes(axis), keepdims=keepdims)
    return counts if dtype is _core.int64 else raw_ops.cast(counts, dtype=_core.DType(dtype))


def zero_fraction(value: Any, name: str | None = None) -> _core.Tensor:
    """The fraction of elements that are zero, as `float32`.

    Args:
        value: a numeric tensor.
        name: ignored.

    Returns:
        A `float32` scalar; NaN where there are no elements.

    >>> zero_fraction([0.0, 1.0, 0.0, 2.0]).numpy()
    np.float32(0.5)
    """
    x = _core._to_tensor(value)
    nonzero = raw_ops.cast(raw_ops.cast(x, dtype=_core.bool), dtype=_core.float32)
    return 1.0 - reduce_mean(nonzero)


def _ordered(value: Any) -> _core.Tensor:
    """The tensor, of numbers: false is less than true."""
    x = _core._to_tensor(value)
    return raw_ops.cast(x, dtype=_core.uint8) if x.dtype == _core.bool else x


def argmax(
    input: Any, axis: Any = None, output_type: Any = _core.int64, name: str | None = None
) -> _core.Tensor:
    """The index of the greatest element along an axis (0 by default), the first among equals.

    Args:
        input: a numeric or boolean tensor.
        axis: the dimension to search along; 0 by default.
        output_type: `int32` or `int64`.
        name: ignored.

    Returns:
        The index of the greatest element, of the first of several; a NaN counts as the greatest. Of the
        shape of `input` without the dimension.

    Raises:
        InvalidArgumentError: for an axis that is out of range or of size 0.

    >>> argmax([[1, 5, 2], [7, 3, 7]], axis=1).numpy()
    array([1, 0])
    """
    return raw_ops.argmax(
        _ordered(input), axis=0 if axis is None else integer(axis, "axis"), dtype=_core.DType(output_type)
    )


def argmin(
    input: Any, axis: Any = None, output_type: Any = _core.int64, name: str | None = None
) -> _core.Tensor:
    """The index of the least element along an axis (0 by default), the first among equals.

    Args:
        input: a numeric or boolean tensor.
        axis: the dimension to search along; 0 by default.
        output_type: `int32` or `int64`.
        name: ignored.

    Returns:
        The index of the least element, of the first of several; a NaN counts as the least. Of the shape
        of `input` without the dimension.

    Raises:
        InvalidArgumentError: for an axis that is out of range or of size 0.

    >>> argmin([[1, 5, 2], [7, 3, 3]], axis=1).numpy()
    array([0, 1])
    """
    return raw_ops.argmin(
        _ordered(input), axis=0 if axis is None else integer(axis, "axis"), dtype=_core.DType(output_type)
    )


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> _core.Tensor:
    """The running sum along an axis; `exclusive` leaves the element itself out, `reverse` is from the end.

    Args:
        x: a numeric tensor.
        axis: the dimension to go along.
        exclusive: whether an element itself does not count.
        reverse: whether to go from the last element to the first.
        name: ignored.

    Returns:
        Of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> cumsum([1, 2, 3]).numpy()
    array([1, 3, 6], dtype=int32)
    >>> cumsum([1, 2, 3], exclusive=True, reverse=True).numpy()
    array([5, 3, 0], dtype=int32)
    """
    return raw_ops.cumsum(x, axis=integer(axis, "axis"), exclusive=exclusive, reverse=reverse)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> _core.Tensor:
    """The running product along an axis; `exclusive` leaves the element out, `reverse` is from the end.

    Args:
        x: a numeric tensor.
        axis: the dimension to go along.
        exclusive: whether an element itself does not count.
        reverse: whether to go from the last element to the first.
        name: ignored.

    Returns:
        Of the shape and dtype of `x`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> cumprod([1, 2, 3, 4]).numpy()
    array([ 1,  2,  6, 24], dtype=int32)
    """
    return raw_ops.cumprod(x, axis=integer(axis, "axis"), exclusive=exclusive, reverse=reverse)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> _core.Tensor:
    """The running `log(sum(exp(x)))` along an axis, without overflow.

    Args:
        x: floating point.
        axis: the dimension.
        exclusive: whether to leave the element itself out: the first result is then the least finite value.
        reverse: whether to run from the end.
        name: ignored.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> cumulative_logsumexp([0.0, 0.0]).numpy()[1]
    np.float32(0.6931472)
    """
    return raw_ops.cumulative_logsumexp(x, axis=integer(axis, "axis"), exclusive=exclusive, reverse=reverse)
