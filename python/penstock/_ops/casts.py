"""Conversion of elements to other dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.conversion import placed
from penstock._runtime.dispatch import dispatched
from penstock._values.indexed_slices import IndexedSlices

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = ["cast", "saturate_cast"]


@dispatched
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> _core.Tensor:
    """Convert elements to another dtype.

    Floats to integers truncate, and saturate outside the range (NaN becomes 0); complex to real drops the
    imaginary part; anything to `bool` is `x != 0`. What is too large for a float of 8 bits becomes infinite,
    or NaN where the dtype has no infinities.

    Args:
        x: a tensor of any dtype but strings; `IndexedSlices` stay such.
        dtype: the dtype to give.
        name: a name for the result in a graph.

    Returns:
        A tensor of `dtype` and of the shape of `x`.

    Raises:
        TypeError: for strings.

    >>> import penstock as tf
    >>> tf.cast([1.9, -1.9], 'int32').numpy()
    array([ 1, -1], dtype=int32)
    """
    target = _core.DType(dtype)
    slices: Any = x
    if type(slices) is IndexedSlices:
        return slices._with_values(cast(slices.values, target))  # type: ignore[return-value]
    tensor = _core._to_tensor(x)
    return placed(tensor, x) if tensor.dtype == target else raw_ops.cast(tensor, dtype=target, name=name)


@dispatched
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> _core.Tensor:
    """Convert elements to another dtype, and those outside of its range to its limits.

    Args:
        value: a numeric tensor; of complex numbers the real parts count where `dtype` is real.
        dtype: the dtype to give; values outside of its range become its limits.
        name: a name for the result in a graph.

    Returns:
        A tensor of `dtype` and of the shape of `value`.

    Raises:
        TypeError: for strings.

    >>> import penstock as tf
    >>> tf.saturate_cast([300, -5], 'uint8').numpy()
    array([255,   0], dtype=uint8)
    """
    target = _core.DType(dtype)
    x = _core._to_tensor(value)
    if target.is_integer or target.is_floating:
        x = raw_ops.real(x) if x.dtype.is_complex else x
        if (x.dtype.is_integer or x.dtype.is_floating) and not x.dtype.is_numeric:
            # Numbers of 8 bits and fewer are not computed with, and all of them are numbers of this dtype.
            x = raw_ops.cast(x, dtype=_core.float32)
        low, high = float(target.min), float(target.max)
        own_low, own_high = float(x.dtype.min), float(x.dtype.max)
        if own_low < low:
            x = raw_ops.maximum(x, _limit(target.min, x.dtype))
        if own_high > high:
            x = raw_ops.minimum(x, _limit(target.max, x.dtype))
    return cast(x, target, name=name)


def _limit(value: Any, dtype: _core.DType) -> _core.Tensor:
    return _core._to_tensor(float(value) if dtype.is_floating else int(value), dtype)
