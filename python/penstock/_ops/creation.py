"""Making tensors."""

from __future__ import annotations

import builtins
from typing import Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axis_of, extents, integer, known_rank

_ASSERT = getattr(raw_ops, "assert")


def _zero(dtype: _core.DType) -> _core.Tensor:
    value: Any = "" if dtype == _core.string else False if dtype == _core.bool else 0
    return _core._to_tensor(value, dtype)


def _one(dtype: _core.DType) -> _core.Tensor:
    if dtype == _core.string:
        raise TypeError("argument 'dtype' must be numeric or bool, got string")
    return _core._to_tensor(True if dtype == _core.bool else 1, dtype)


def fill(dims: Any, value: Any, name: str | None = None) -> _core.Tensor:
    """A tensor of shape `dims` that holds the scalar `value` everywhere.

    Args:
        dims: sizes: integers, a `TensorShape`, or an integer vector.
        value: a scalar of any dtype.
        name: ignored.

    Raises:
        InvalidArgumentError: for a negative size.

    >>> fill([2, 2], 7).numpy().tolist()
    [[7, 7], [7, 7]]
    """
    return raw_ops.fill(extents(dims, "dims"), value)


def zeros(
    shape: Any, dtype: Any = _core.float32, name: str | None = None, layout: Any = None
) -> _core.Tensor:
    """A tensor of zeros; of empty strings, or of false, for those dtypes.

    Args:
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        dtype: the element type.
        name: ignored.
        layout: accepted and ignored.

    Raises:
        InvalidArgumentError: for a negative size.

    >>> zeros([2, 3], "int32").numpy().sum()
    np.int64(0)
    """
    return raw_ops.fill(extents(shape), _zero(_core.DType(dtype)))


def ones(shape: Any, dtype: Any = _core.float32, name: str | None = None, layout: Any = None) -> _core.Tensor:
    """A tensor of ones; of true for `bool`.

    Args:
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        dtype: the element type.
        name: ignored.
        layout: accepted and ignored.

    Raises:
        InvalidArgumentError: for a negative size.

    >>> ones([2], 'int32').numpy()
    array([1, 1], dtype=int32)
    """
    return raw_ops.fill(extents(shape), _one(_core.DType(dtype)))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> _core.Tensor:
    """Zeros in the shape of a tensor, and of its dtype unless another is given.

    Args:
        input: a tensor.
        dtype: the element type, by default that of `input`.
        name: ignored.
        layout: accepted and ignored.

    >>> zeros_like([5, 6]).numpy()
    array([0, 0], dtype=int32)
    """
    x = _core._to_tensor(input)
    target = x.dtype if dtype is None else _core.DType(dtype)
    return raw_ops.zeros_like(x) if target == x.dtype else raw_ops.fill(raw_ops.shape(x), _zero(target))


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> _core.Tensor:
    """Ones in the shape of a tensor, and of its dtype unless another is given.

    Args:
        input: a tensor.
        dtype: the element type, by default that of `input`.
        name: ignored.
        layout: accepted and ignored.

    >>> ones_like([5, 6]).numpy()
    array([1, 1], dtype=int32)
    """
    x = _core._to_tensor(input)
    target = x.dtype if dtype is None else _core.DType(dtype)
    return raw_ops.ones_like(x) if target == x.dtype else raw_ops.fill(raw_ops.shape(x), _one(target))


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """A matrix with ones on its diagonal and zeros elsewhere, or a batch of them.

    Args:
        num_rows: the number of rows.
        num_columns: the number of columns; by default that of rows.
        batch_shape: the leading dimensions of the result.
        dtype: the element type.
        name: ignored.

    >>> eye(2).numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    target = _core.DType(dtype)
    rows = raw_ops.range(0, num_rows, 1)
    columns = rows if num_columns is None else raw_ops.range(0, num_columns, 1)
    matrix = raw_ops.cast(raw_ops.equal(raw_ops.expand_dims(rows, axis=1), columns), dtype=target)
    if batch_shape is None:
        return matrix
    return raw_ops.broadcast_to(
        matrix, raw_ops.concat([extents(batch_shape, "batch_shape"), raw_ops.shape(matrix)], axis=0)
    )


# In TensorFlow's order: the dtype of a range is the last among those of its arguments.
_RANGE_DTYPES = (_core.int32, _core.int64, _core.float16, _core.bfloat16, _core.float32, _core.float64)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> _core.Tensor:
    """The numbers from `start`, in steps of `delta`, up to but without `limit`.

    Args:
        start: the first number; the limit, of a range from 0, where `limit` is not given.
        limit: where the range ends.
        delta: the step, not 0.
        dtype: the element type; by default one that all arguments have or can be cast to.
        name: ignored.

    Raises:
        InvalidArgumentError: for a step of 0, or one that leads away from `limit`.

    >>> range(1, 10, 4).numpy().tolist()
    [1, 5, 9]
    """
    if limit is None:
        start, limit = 0, start
    if dtype is None and type(start) is type(limit) is type(delta) is int:
        if max(start, limit, delta) < 2**31 and min(start, limit, delta) >= -(2**31):
            return raw_ops.range(start, limit, delta)
        dtype = _core.int64
    if dtype is not None:
        target = _core.DType(dtype)
        return raw_ops.range(*(_as(v, target) for v in (start, limit, delta)))
    tensors = [v if isinstance(v, _core.Tensor) else _core._to_tensor(v) for v in (start, limit, delta)]
    found = [t.dtype for t in tensors]
    if all(d in _RANGE_DTYPES for d in found):
        target = max(found, key=_RANGE_DTYPES.index)
    else:
        target = next(
            t.dtype
            for t, v in zip(tensors, (start, limit, delta), strict=True)
            if t.dtype not in _RANGE_DTYPES or hasattr(v, "dtype")
        )
    return raw_ops.range(*(_as(t, target) for t in tensors))


def _as(value: Any, dtype: _core.DType) -> _core.Tensor:
    tensor = value if isinstance(value, _core.Tensor) else _core._to_tensor_hinted(value, dtype)
    return tensor if tensor.dtype == dtype else raw_ops.cast(tensor, dtype=dtype)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: Any = 0) -> _core.Tensor:
    """`num` values at equal distances from `start` to `stop`, both included.

    Args:
        start: the first value, or a tensor of first values.
        stop: the last value, of a shape that broadcasts with that of `start`.
        num: how many; 1 gives `start` alone.
        name: ignored.
        axis: where the result has its dimension of size `num`.

    >>> linspace(0.0, 1.0, 3).numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    start = _core._to_tensor(start)
    if start.dtype.is_integer:
        start = raw_ops.cast(start, dtype=_core.float64)
    stop = _as(stop, start.dtype)
    count = raw_ops.cast(_core._to_tensor(num), dtype=_core.int64)
    both = raw_ops.stack([start + raw_ops.zeros_like(stop), stop + raw_ops.zeros_like(start)])
    first, last = raw_ops.unstack(both, num=2)
    steps = raw_ops.maximum(count - 1, 1)
    delta = (last - first) / raw_ops.cast(steps, dtype=start.dtype)
    i = raw_ops.range(0, count, 1)
    column = [-1] + [1] * len(known_rank(first))
    values = raw_ops.expand_dims(first, axis=0) + raw_ops.expand_dims(delta, axis=0) * raw_ops.cast(
        raw_ops.reshape(i, column), dtype=start.dtype
    )
    at_end = raw_ops.reshape(raw_ops.logical_and(raw_ops.equal(i, count - 1), i > 0), column)
    values = raw_ops.select(at_end, raw_ops.expand_dims(last, axis=0), values)
    position = axis_of(axis, len(column))
    if position == 0:
        return values
    perm = list(builtins.range(1, len(column)))
    perm.insert(position, 0)
    return raw_ops.transpose(values, perm=perm)


def meshgrid(*args: Any, **kwargs: Any) -> list[_core.Tensor]:
    """Coordinates of a grid: for each vector a tensor that varies along one dimension of the grid.

    Args:
        *args: the vectors, of one dtype.
        **kwargs: `indexing="ij"` gives the vectors their dimensions in order, `"xy"` (the default) swaps
            the first two; `name` is ignored.

    Raises:
        ValueError: for another `indexing`.
        TypeError: for another keyword.

    >>> x, y = meshgrid([1, 2], [3, 4])
    >>> x.numpy().tolist(), y.numpy().tolist()
    ([[1, 2], [1, 2]], [[3, 3], [4, 4]])
    """
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"argument 'indexing' must be 'xy' or 'ij', got {indexing!r}")
    hint = next((a.dtype for a in args if isinstance(a, _core.Tensor | _core._Variable)), None)
    vectors = [_core._to_tensor_hinted(a, hint) for a in args]
    places = list(builtins.range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    grid: list[Any] = [None] * len(vectors)
    for place, vector in zip(places, vectors, strict=True):
        grid[place] = raw_ops.reshape(raw_ops.size(vector), [1])
    if not grid:
        return []
    dims = raw_ops.concat(grid, axis=0)
    out = []
    for place, vector in zip(places, vectors, strict=True):
        column = [1] * len(vectors)
        column[place] = -1
        out.append(raw_ops.broadcast_to(raw_ops.reshape(vector, column), dims))
    return out


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> _core.Tensor:
    """A new dimension of size `depth` with `on_value` at each index and `off_value` elsewhere.

    Args:
        indices: integers; those outside of `[0, depth)` give `off_value` alone.
        depth: the size of the new dimension.
        on_value: a scalar, 1 by default.
        off_value: a scalar, 0 by default.
        axis: where the new dimension goes; last by default.
        dtype: the element type; by default that of the values, or `float32`.
        name: ignored.

    Raises:
        TypeError: where the values have different dtypes, or not `dtype`.

    >>> one_hot([1, 0], 2).numpy().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    target = None if dtype is None else _core.DType(dtype)
    given = [None if v is None else _core._to_tensor_hinted(v, target) for v in (on_value, off_value)]
    if target is None:
        target = next((v.dtype for v in given if v is not None), _core.float32)
    for argument, v in zip(("on_value", "off_value"), given, strict=True):
        if v is not None and v.dtype != target:
            raise TypeError(
                f"one_hot: argument '{argument}' has dtype {v.dtype.name}, expected {target.name}"
            )
    on, off = given
    return raw_ops.one_hot(
        indices,
        _core._to_tensor(depth),
        _one(target) if on is None else on,
        _zero(target) if off is None else off,
        axis=-1 if axis is None else integer(axis, "axis"),
    )


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = _core.bool, name: str | None = None
) -> _core.Tensor:
    """For each length a row of `maxlen` elements that is true up to that length.

    Args:
        lengths: integers.
        maxlen: the size of the new last dimension; by default the greatest length.
        dtype: the element type.
        name: ignored.

    >>> sequence_mask([1, 3], 3).numpy().tolist()
    [[True, False, False], [True, True, True]]
    """
    lengths = _core._to_tensor(lengths)
    if maxlen is None:
        maxlen = raw_ops.maximum(raw_ops.reduce_max(lengths), 0)
    limit = _as(maxlen, lengths.dtype)
    mask = raw_ops.less(
        raw_ops.range(_core._to_tensor(0, limit.dtype), limit, _core._to_tensor(1, limit.dtype)),
        raw_ops.expand_dims(lengths, axis=-1),
    )
    target = _core.DType(dtype)
    return mask if target == _core.bool else raw_ops.cast(mask, dtype=target)


def bitcast(input: Any, type: Any, name: str | None = None) -> _core.Tensor:
    """The bits of a tensor as elements of another dtype.

    Args:
        input: numbers.
        type: the element type. Smaller elements add a last dimension; larger ones take the place of a last
            dimension of as many as make one.
        name: ignored.

    Raises:
        TypeError: for booleans and strings.
        InvalidArgumentError: for a last dimension of another size.

    >>> bitcast(1.0, "uint32").numpy()
    np.uint32(1065353216)
    >>> bitcast([1.0, 2.0], "uint8").shape
    TensorShape([2, 4])
    """
    return raw_ops.bitcast(input, dtype=_core.DType(type))
