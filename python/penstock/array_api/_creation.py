"""Making arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import penstock._ops.creation as _making
from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._runtime.arguments import items, known_rank, sizes
from penstock.array_api._arrays import (
    DEFAULT_COMPLEX,
    DEFAULT_FLOAT,
    DEFAULT_INTEGER,
    Array,
    Scalar,
    array,
    cast,
    check_device,
    common_dtype,
    is_scalar,
    new,
)

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | Sequence[int]


def _extents(shape: Any) -> Tensor:
    sizes_of = [shape] if isinstance(shape, int) or getattr(shape, "ndim", None) == 0 else list(shape)
    return _core._to_tensor(sizes_of, _core.int64) if sizes_of else _core._to_tensor([], _core.int64)


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """Make an array of an array, a Python scalar, nested sequences of them, or an object with a buffer.

    Args:
        obj: the values. Nested sequences may hold tensors, symbolic ones among them.
        dtype: the dtype; by default that of an array, else the default of the kind of the scalars: `bool`,
            `int64`, `float32` or `complex64`.
        device: the CPU, or None.
        copy: False forbids a copy; True and None are the same, since tensors are immutable.

    Returns:
        An array of the shape of the values.

    Raises:
        ValueError: where a copy would be needed and `copy` forbids it; for ragged sequences.
        OverflowError: for a Python integer outside of the dtype.

    >>> from penstock import array_api as xp
    >>> xp.asarray([[1, 2], [3, 4]]).dtype
    tf.int64
    """
    check_device(device, "asarray")
    target = None if dtype is None else _core.DType(dtype)
    if isinstance(obj, Tensor | _core._Variable):
        x = _core._to_tensor(obj)
    elif is_scalar(obj) or isinstance(obj, list | tuple | range):
        if copy is False:
            raise ValueError("asarray: Python values must be copied, but argument 'copy' is False")
        return new(_of_values(obj, target))
    elif (
        hasattr(obj, "__dlpack__")
        and not hasattr(obj, "__array_interface__")
        and not isinstance(obj, memoryview)
    ):
        x = _core._from_dlpack(obj)
    else:
        x = _of_buffer(obj, copy)
    if target is not None and x.dtype != target:
        if copy is False:
            raise ValueError(
                f"asarray: {x.dtype.name} must be copied for {target.name}, but argument 'copy' is False"
            )
        x = cast(x, target)
    return new(x)


def _of_buffer(obj: Any, copy: bool | None) -> Tensor:
    import numpy as np  # start-up does without it

    values = np.asarray(obj)
    if copy is False and values.flags.writeable:
        raise ValueError(
            "asarray: memory that can be written must be copied, but argument 'copy' is False; "
            "from_dlpack() shares it"
        )
    return _core._to_tensor(values)


def _leaves(obj: Any) -> list[Any]:
    if isinstance(obj, range):
        return items(obj, "obj")
    if not isinstance(obj, list | tuple):
        return [obj]
    return [leaf for item in obj for leaf in _leaves(item)]


def _of_values(obj: Any, dtype: DType | None) -> Tensor:
    """The array of Python scalars, and tensors where there are any."""
    leaves = _leaves(obj)
    scalars = [v for v in leaves if is_scalar(v)]
    if dtype is None:
        arrays = [_core._to_tensor(v).dtype for v in leaves if not is_scalar(v)]
        if arrays:
            dtype = common_dtype(arrays, scalars)
        elif any(isinstance(v, complex) for v in scalars):
            dtype = DEFAULT_COMPLEX
        elif any(isinstance(v, float) for v in scalars) or not scalars:
            dtype = DEFAULT_FLOAT
        elif all(isinstance(v, bool) for v in scalars):
            dtype = _core.bool
        else:
            dtype = DEFAULT_INTEGER
    if dtype.is_integer:
        bits = 8 * dtype.size
        low = 0 if dtype.is_unsigned else -(2 ** (bits - 1))
        for v in scalars:
            if isinstance(v, int) and not low <= v < low + 2**bits:
                raise OverflowError(f"asarray: {v} is out of range for {dtype.name}")

    return _core._to_tensor(_conformed(obj, dtype), dtype)


def _conformed(value: Any, dtype: _core.DType) -> Any:
    """Scalars, or lists of them, as ones that become elements of a dtype."""
    if isinstance(value, list | tuple | range):
        return [_conformed(v, dtype) for v in value]
    if not is_scalar(value):
        return cast(_core._to_tensor(value), dtype)
    if dtype == _core.bool:
        return bool(value)
    if dtype.is_integer and isinstance(value, float):
        return int(value)
    return value + 0 if isinstance(value, bool) else value


def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Make the array that another library's array is, by DLPack.

    Args:
        x: an object with `__dlpack__` whose memory is the CPU's or that of a CUDA device.
        device: the CPU, or None for the device of `x`.
        copy: whether to copy; None and False share the memory, which must not be written any more.

    Returns:
        An array of the same shape and dtype, which shares the memory unless it is copied.

    Raises:
        BufferError: for a dtype or device that cannot be shared.

    >>> import numpy as np
    >>> from penstock import array_api as xp
    >>> xp.from_dlpack(np.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    check_device(device, "from_dlpack")
    shared = _core._from_dlpack(x)
    cpu = (1, 0)
    if copy or (device and shared.__dlpack_device__() != cpu):
        # A fresh capsule of a copy: whoever wrote the shared memory does not write this one.
        capsule = shared.__dlpack__(max_version=(1, 0), dl_device=cpu if device else None, copy=copy)
        return new(_core._from_dlpack(capsule))
    return new(shared)


def _filled(shape: Any, value: Any, dtype: DType) -> Tensor:
    return new(raw_ops.fill(_extents(shape), _of_values(value, dtype)))


def full(
    shape: Shape, fill_value: Scalar, *, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """Make an array that holds one value everywhere.

    Args:
        shape: the sizes, or one size.
        fill_value: the value.
        dtype: the dtype; by default that of the value's kind.
        device: the CPU, or None.

    Returns:
        An array of this shape.

    >>> from penstock import array_api as xp
    >>> xp.full((2,), 7).tolist()
    [7, 7]
    """
    check_device(device, "full")
    if is_scalar(fill_value):
        value = _of_values(fill_value, None if dtype is None else _core.DType(dtype))
    else:
        value = asarray(fill_value, dtype=dtype)
    return new(raw_ops.fill(_extents(shape), value))


def zeros(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Make an array of zeros.

    Args:
        shape: the sizes, or one size.
        dtype: the dtype, `float32` by default.
        device: the CPU, or None.

    Returns:
        An array of this shape.

    >>> from penstock import array_api as xp
    >>> xp.zeros((2,)).tolist()
    [0.0, 0.0]
    """
    check_device(device, "zeros")
    return _filled(shape, 0, DEFAULT_FLOAT if dtype is None else _core.DType(dtype))


def ones(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Make an array of ones.

    Args:
        shape: the sizes, or one size.
        dtype: the dtype, `float32` by default.
        device: the CPU, or None.

    Returns:
        An array of this shape.

    >>> from penstock import array_api as xp
    >>> xp.ones((2,), dtype=xp.int8).tolist()
    [1, 1]
    """
    check_device(device, "ones")
    return _filled(shape, 1, DEFAULT_FLOAT if dtype is None else _core.DType(dtype))


def empty(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Make an array whose values nothing is promised of: zeros, since tensors are never uninitialised.

    Args:
        shape: the sizes, or one size.
        dtype: the dtype, `float32` by default.
        device: the CPU, or None.

    Returns:
        An array of this shape.

    >>> from penstock import array_api as xp
    >>> xp.empty((2, 3)).shape
    (2, 3)
    """
    check_device(device, "empty")
    return zeros(shape, dtype=dtype)


def _like(x: Array, value: Scalar, dtype: DType | None, device: Any, function: str) -> Tensor:
    check_device(device, function)
    x = array(x, function)
    target = x.dtype if dtype is None else _core.DType(dtype)
    return new(raw_ops.fill(raw_ops.shape(x, dtype=_core.int64), _of_values(value, target)))


def full_like(
    x: Array, /, fill_value: Scalar, *, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """Make an array of the shape of another one that holds one value everywhere.

    Args:
        x: an array.
        fill_value: the value.
        dtype: the dtype, that of `x` by default.
        device: the CPU, or None.

    Returns:
        An array of the shape of `x`.

    >>> from penstock import array_api as xp
    >>> xp.full_like(xp.asarray([1, 2]), 5).tolist()
    [5, 5]
    """
    return _like(x, fill_value, dtype, device, "full_like")


def zeros_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Make an array of zeros of the shape of another one.

    Args:
        x: an array.
        dtype: the dtype, that of `x` by default.
        device: the CPU, or None.

    Returns:
        An array of the shape of `x`.

    >>> from penstock import array_api as xp
    >>> xp.zeros_like(xp.asarray([1, 2])).tolist()
    [0, 0]
    """
    return _like(x, 0, dtype, device, "zeros_like")


def ones_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Make an array of ones of the shape of another one.

    Args:
        x: an array.
        dtype: the dtype, that of `x` by default.
        device: the CPU, or None.

    Returns:
        An array of the shape of `x`.

    >>> from penstock import array_api as xp
    >>> xp.ones_like(xp.asarray([1, 2])).tolist()
    [1, 1]
    """
    return _like(x, 1, dtype, device, "ones_like")


def empty_like(x: Array, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Make an array of the shape of another one whose values nothing is promised of.

    Args:
        x: an array.
        dtype: the dtype, that of `x` by default.
        device: the CPU, or None.

    Returns:
        An array of the shape of `x`.

    >>> from penstock import array_api as xp
    >>> xp.empty_like(xp.asarray([1, 2])).shape
    (2,)
    """
    return _like(x, 0, dtype, device, "empty_like")


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Make the numbers from `start` on in steps of `step`, up to but without `stop`.

    Args:
        start: the first number; without `stop` the end of a range from 0.
        stop: where the range ends.
        step: the step, not 0.
        dtype: by default `int64` for integers, else `float32`.
        device: the CPU, or None.

    Returns:
        A vector.

    Raises:
        TypeError: for an argument that is no number.
        ValueError: for a step of 0.

    >>> from penstock import array_api as xp
    >>> xp.arange(1, 10, 4).tolist()
    [1, 5, 9]
    """
    check_device(device, "arange")
    if stop is None:
        start, stop = 0, start
    numbers: tuple[Any, ...] = (start, stop, step)
    for argument, value in zip(("start", "stop", "step"), numbers, strict=True):
        if not isinstance(value, Tensor) and not hasattr(type(value), "__float__"):
            raise TypeError(f"arange: argument '{argument}' must be a number, got {value!r}")
    if step == 0:
        raise ValueError("arange: argument 'step' must not be 0")
    if dtype is None:
        target = DEFAULT_FLOAT if any(isinstance(v, float) for v in numbers) else DEFAULT_INTEGER
    else:
        target = _core.DType(dtype)
    if any(isinstance(v, Tensor) for v in numbers):
        return new(raw_ops.range(*(cast(asarray(v), target) for v in numbers)))
    if all(isinstance(v, int) for v in numbers):
        count = len(range(*map(int, numbers)))
    else:
        count = max(0, math.ceil((stop - start) / step))
    # Computed from the position, so that errors do not add up and no count depends on rounding.
    exact = DEFAULT_INTEGER if all(isinstance(v, int) for v in numbers) else _core.float64
    place = raw_ops.range(*(_core._to_tensor(v, _core.int64) for v in (0, count, 1)))
    return new(
        cast(cast(place, exact) * _core._to_tensor(step, exact) + _core._to_tensor(start, exact), target)
    )


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Make numbers at equal distances from `start` to `stop`.

    Args:
        start: the first number.
        stop: the last one, or with `endpoint=False` the one that would come next.
        num: how many, at least 0.
        dtype: by default `float32`, or `complex64` where one of the numbers is complex.
        device: the CPU, or None.
        endpoint: whether `stop` belongs to them.

    Returns:
        A vector of `num` numbers.

    Raises:
        ValueError: for a negative `num`.

    >>> from penstock import array_api as xp
    >>> xp.linspace(0, 1, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    check_device(device, "linspace")
    if num < 0:
        raise ValueError(f"linspace: argument 'num' must not be negative, got {num}")
    is_complex = any(isinstance(v, complex) and not isinstance(v, float | int) for v in (start, stop))
    if dtype is None:
        target = DEFAULT_COMPLEX if is_complex else DEFAULT_FLOAT
    else:
        target = _core.DType(dtype)
    wide = _core.complex128 if is_complex or target.is_complex else _core.float64
    first, last = (_core._to_tensor(v, wide) for v in (start, stop))
    steps = num - 1 if endpoint else num
    place = cast(raw_ops.range(*(_core._to_tensor(v, _core.int64) for v in (0, num, 1))), wide)
    # A difference that overflows is taken in two halves.
    fraction = place / _core._to_tensor(max(steps, 1), wide)
    values = (
        first * (1 - fraction) + last * fraction
        if _is_wide(start, stop)
        else first + (last - first) * fraction
    )
    if endpoint and num > 1:
        values = raw_ops.concat([values[:-1], raw_ops.reshape(last, [1])], axis=0)
    if target.is_integer:
        values = raw_ops.floor(values)
    return new(cast(values, target))


def _is_wide(start: Scalar, stop: Scalar) -> bool:
    parts = [complex(v) for v in (start, stop)]
    return not all(
        math.isfinite(b - a) for a, b in ((parts[0].real, parts[1].real), (parts[0].imag, parts[1].imag))
    )


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Make a matrix with ones on a diagonal and zeros elsewhere.

    Args:
        n_rows: the number of rows.
        n_cols: the number of columns, by default that of rows.
        k: the diagonal: 0 is the main one, positive ones are above it.
        dtype: the dtype, `float32` by default.
        device: the CPU, or None.

    Returns:
        A matrix of shape `(n_rows, n_cols)`.

    >>> from penstock import array_api as xp
    >>> xp.eye(2, 3, k=1, dtype=xp.int32).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    check_device(device, "eye")
    target = DEFAULT_FLOAT if dtype is None else _core.DType(dtype)
    rows = _positions(n_rows)
    columns = _positions(n_rows if n_cols is None else n_cols)
    on = raw_ops.equal(raw_ops.expand_dims(rows, axis=1) + _diagonal(k), columns)
    return new(cast(on, target))


def _diagonal(k: int) -> Tensor:
    """The number of a diagonal, cut to a range that no matrix goes beyond."""
    return _core._to_tensor(max(-(2**62), min(k, 2**62)), _core.int64)


def _positions(count: Any) -> Tensor:
    return raw_ops.range(
        _core._to_tensor(0, _core.int64),
        cast(_core._to_tensor(count), _core.int64),
        _core._to_tensor(1, _core.int64),
    )


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Make coordinates of a grid: for each vector an array that varies along one dimension of the grid.

    Args:
        *arrays: vectors.
        indexing: `"ij"` gives the vectors their dimensions in order, `"xy"` swaps the first two.

    Returns:
        An array for each vector, of the shape of the grid.

    Raises:
        ValueError: for another `indexing`.

    >>> from penstock import array_api as xp
    >>> [a.tolist() for a in xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3]))]
    [[[1, 2]], [[3, 3]]]
    """
    return tuple(map(new, _making.meshgrid(*(array(a, "meshgrid") for a in arrays), indexing=indexing)))


def _triangle(x: Array, k: int, function: str, lower: bool) -> Tensor:
    x = array(x, function)
    if len(known_rank(x)) < 2:
        raise ValueError(f"{function}: argument 'x' must have at least two dimensions, got shape {x.shape}")
    m, n = sizes(x)[-2:]
    distance = _positions(n) - raw_ops.expand_dims(_positions(m), axis=1)
    offset = _diagonal(k)
    keep = distance <= offset if lower else distance >= offset
    return new(raw_ops.select(keep, x, raw_ops.zeros_like(x)))


def tril(x: Array, /, *, k: int = 0) -> Tensor:
    """Put zeros above a diagonal of each matrix.

    Args:
        x: an array.
        k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: for an array of rank below 2.

    >>> from penstock import array_api as xp
    >>> xp.tril(xp.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return _triangle(x, k, "tril", lower=True)


def triu(x: Array, /, *, k: int = 0) -> Tensor:
    """Put zeros below a diagonal of each matrix.

    Args:
        x: an array.
        k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        ValueError: for an array of rank below 2.

    >>> from penstock import array_api as xp
    >>> xp.triu(xp.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return _triangle(x, k, "triu", lower=False)
