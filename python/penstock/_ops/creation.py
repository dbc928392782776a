"""Making tensors."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import axis_number, axis_of, extents, known_rank
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

_ASSERT = getattr(raw_ops, "assert")


def _zero(dtype: _core.DType) -> _core.Tensor:
    value: Any = "" if dtype == _core.string else False if dtype == _core.bool else 0
    return _core._to_tensor(value, dtype)


def _one(dtype: _core.DType) -> _core.Tensor:
    if dtype == _core.string:
        raise TypeError("argument 'dtype' must be numeric or bool, got string")
    return _core._to_tensor(True if dtype == _core.bool else 1, dtype)


@dispatched
def fill(dims: SizesLike, value: TensorLike, name: str | None = None, layout: object = None) -> _core.Tensor:
    """Make a tensor that holds one value everywhere.

    Args:
        dims: sizes: integers, a `TensorShape`, or an integer vector.
        value: a scalar of any dtype.
        name: a name for the result in a graph.
        layout: accepted and ignored.

    Returns:
        A tensor of the dtype of `value` and of shape `dims`.

    Raises:
        InvalidArgumentError: for a negative size.

    >>> import penstock as tf
    >>> tf.fill([2, 2], 7).numpy().tolist()
    [[7, 7], [7, 7]]
    """
    return raw_ops.fill(extents(dims, "dims"), value, name=name)


@dispatched
def zeros(
    shape: SizesLike, dtype: DTypeLike = _core.float32, name: str | None = None, layout: object = None
) -> _core.Tensor:
    """Make a tensor of zeros; of empty strings, or of false, for those dtypes.

    Args:
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        dtype: the element type.
        name: a name for the result in a graph.
        layout: accepted and ignored.

    Returns:
        A tensor of `dtype` and of shape `shape`.

    Raises:
        InvalidArgumentError: for a negative size.

    >>> import penstock as tf
    >>> tf.zeros([2, 3], "int32").numpy().sum()
    np.int64(0)
    """
    return raw_ops.fill(extents(shape), _zero(_core.DType(dtype)), name=name)


@dispatched
def ones(
    shape: SizesLike, dtype: DTypeLike = _core.float32, name: str | None = None, layout: object = None
) -> _core.Tensor:
    """Make a tensor of ones; of true for `bool`.

    Args:
        shape: sizes: integers, a `TensorShape`, or an integer vector.
        dtype: the element type.
        name: a name for the result in a graph.
        layout: accepted and ignored.

    Returns:
        A tensor of `dtype` and of shape `shape`.

    Raises:
        TypeError: for strings.
        InvalidArgumentError: for a negative size.

    >>> import penstock as tf
    >>> tf.ones([2], 'int32').numpy()
    array([1, 1], dtype=int32)
    """
    return raw_ops.fill(extents(shape), _one(_core.DType(dtype)), name=name)


@dispatched
def zeros_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> _core.Tensor:
    """Make a tensor of zeros in the shape of another.

    Args:
        input: a tensor.
        dtype: the element type, by default that of `input`.
        name: a name for the result in a graph.
        layout: accepted and ignored.

    Returns:
        A tensor of `dtype` and of the shape of `input`.

    >>> import penstock as tf
    >>> tf.zeros_like([5, 6]).numpy()
    array([0, 0], dtype=int32)
    """
    return _filled(raw_ops.zeros_like, _zero, input, dtype, name)


@dispatched
def ones_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: object = None
) -> _core.Tensor:
    """Make a tensor of ones in the shape of another.

    Args:
        input: a tensor.
        dtype: the element type, by default that of `input`.
        name: a name for the result in a graph.
        layout: accepted and ignored.

    Returns:
        A tensor of `dtype` and of the shape of `input`.

    Raises:
        TypeError: for strings.

    >>> import penstock as tf
    >>> tf.ones_like([5, 6]).numpy()
    array([1, 1], dtype=int32)
    """
    return _filled(raw_ops.ones_like, _one, input, dtype, name)


def _filled(
    like: Callable[..., _core.Tensor],
    element: Callable[[_core.DType], Any],
    input: TensorLike,
    dtype: DTypeLike | None,
    name: str | None,
) -> _core.Tensor:
    """A tensor of one element in the shape of another, of which it needs nothing in a graph that knows it."""
    x = _core._to_tensor(input)
    target = x.dtype if dtype is None else _core.DType(dtype)
    if x._is_symbolic and x.shape.is_fully_defined():
        return raw_ops.fill(extents(x.shape), element(target), name=name)
    if target == x.dtype:
        return like(x, name=name)
    return raw_ops.fill(raw_ops.shape(x), element(target), name=name)


@scoped
def eye(
    num_rows: IntLike,
    num_columns: IntLike | None = None,
    batch_shape: SizesLike | None = None,
    dtype: DTypeLike = _core.float32,
    name: str | None = None,
) -> _core.Tensor:
    """Make a matrix with ones on its diagonal and zeros elsewhere, or a batch of them.

    Args:
        num_rows: the number of rows.
        num_columns: the number of columns; by default that of rows.
        batch_shape: the leading dimensions of the result.
        dtype: the element type.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `[*batch_shape, num_rows, num_columns]`.

    Raises:
        InvalidArgumentError: for a negative size.

    >>> import penstock as tf
    >>> tf.eye(2).numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    target = _core.DType(dtype)
    rows = raw_ops.range(0, num_rows, 1)
    columns = rows if num_columns is None else raw_ops.range(0, num_columns, 1)
    matrix = raw_ops.cast(raw_ops.equal(raw_ops.expand_dims(rows, axis=1), columns), dtype=target)
    if batch_shape is None:
        return matrix
    return raw_ops.broadcast_to(
        matrix,
        raw_ops.concat([extents(batch_shape, "batch_shape"), raw_ops.shape(matrix)], axis=0),
    )


# In TensorFlow's order: the dtype of a range is the last among those of its arguments.
_RANGE_DTYPES = (_core.int32, _core.int64, _core.float16, _core.bfloat16, _core.float32, _core.float64)


@dispatched
def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> _core.Tensor:
    """Count from `start`, in steps of `delta`, up to but without `limit`.

    Args:
        start: the first number; the limit, of a range from 0, where `limit` is not given.
        limit: where the range ends.
        delta: the step, not 0.
        dtype: the element type; by default one that all arguments have or can be cast to.
        name: a name for the result in a graph.

    Returns:
        A vector of `dtype`.

    Raises:
        InvalidArgumentError: for a step of 0, or one that leads away from `limit`.

    >>> import penstock as tf
    >>> tf.range(1, 10, 4).numpy().tolist()
    [1, 5, 9]
    """
    if limit is None:
        start, limit = 0, start
    if dtype is None and type(start) is type(limit) is type(delta) is int:
        if max(start, limit, delta) < 2**31 and min(start, limit, delta) >= -(2**31):
            return raw_ops.range(start, limit, delta, name=name)
        dtype = _core.int64
    if dtype is not None:
        target = _core.DType(dtype)
        return raw_ops.range(*(_as(v, target) for v in (start, limit, delta)), name=name)
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
    return raw_ops.range(*(_as(t, target) for t in tensors), name=name)


def _as(value: Any, dtype: _core.DType) -> _core.Tensor:
    tensor = value if isinstance(value, _core.Tensor) else _core._to_tensor_hinted(value, dtype)
    return tensor if tensor.dtype == dtype else raw_ops.cast(tensor, dtype=dtype)


@scoped
def linspace(
    start: TensorLike, stop: TensorLike, num: IntLike, name: str | None = None, axis: IntLike = 0
) -> _core.Tensor:
    """Divide an interval evenly, from `start` to `stop`, both included.

    Args:
        start: the first value, or a tensor of first values.
        stop: the last value, of a shape that broadcasts with that of `start`.
        num: how many; 1 gives `start` alone.
        name: a scope for the names of its operations in a graph.
        axis: where the result has its dimension of size `num`.

    Returns:
        A tensor of the dtype of `start`, for integers of the dtype of their quotients, with a dimension of
        size `num` at `axis`.

    Raises:
        InvalidArgumentError: for an axis that is out of range.

    >>> import penstock as tf
    >>> tf.linspace(0.0, 1.0, 3).numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    start = _core._to_tensor(start)
    if start.dtype.is_integer:
        start = raw_ops.cast(start, dtype=_core.float32 if start.dtype.size <= 2 else _core.float64)
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


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[_core.Tensor]:
    """Make the coordinates of a grid: for each vector a tensor that varies along one dimension.

    Args:
        *args: the vectors, of one dtype.
        indexing: `"ij"` gives the vectors their dimensions in order, `"xy"` swaps the first two.
        name: a name for the results in a graph.

    Returns:
        As many tensors as there are vectors, all of the shape of the grid.

    Raises:
        ValueError: for another `indexing`.

    >>> import penstock as tf
    >>> x, y = tf.meshgrid([1, 2], [3, 4])
    >>> x.numpy().tolist(), y.numpy().tolist()
    ([[1, 2], [1, 2]], [[3, 3], [4, 4]])
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(f"argument 'indexing' must be 'xy' or 'ij', got {indexing!r}")
    hint = next((a.dtype for a in args if isinstance(a, _core.Tensor | _core._Variable)), None)
    vectors = [_core._to_tensor_hinted(a, hint) for a in args]
    places = list(builtins.range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    grid: list[Any] = [None] * len(vectors)
    for place, vector in zip(places, vectors, strict=True):
        static = vector.shape.num_elements()
        grid[place] = raw_ops.size(vector) if static is None else static
    if not grid:
        return []
    dims = extents(grid)
    out = []
    for place, vector in zip(places, vectors, strict=True):
        column = [1] * len(vectors)
        column[place] = -1
        out.append(raw_ops.broadcast_to(raw_ops.reshape(vector, column), dims, name=name))
    return out


@dispatched
def one_hot(
    indices: TensorLike,
    depth: IntLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: IntLike | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Mark indices by a value in a new dimension.

    Args:
        indices: integers; those outside of `[0, depth)` give `off_value` alone.
        depth: the size of the new dimension.
        on_value: a scalar, 1 by default.
        off_value: a scalar, 0 by default.
        axis: where the new dimension goes; last by default.
        dtype: the element type; by default that of the values, or `float32`.
        name: a name for the result in a graph.

    Returns:
        A tensor of `dtype` with the shape of `indices` and the new dimension: `on_value` at each index,
        `off_value` elsewhere.

    Raises:
        TypeError: where the values have different dtypes, or not `dtype`.

    >>> import penstock as tf
    >>> tf.one_hot([1, 0], 2).numpy().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    target = None if dtype is None else _core.DType(dtype)
    given = [None if v is None else _core._to_tensor_hinted(v, target) for v in (on_value, off_value)]
    if target is None:
        target = next((v.dtype for v in given if v is not None), _core.float32)
    for argument, v in zip(("on_value", "off_value"), given, strict=True):
        if v is not None and v.dtype != target:
            raise DTypeError(
                f"one_hot: argument '{argument}' has dtype {v.dtype.name}, expected {target.name}"
            )
    on, off = given
    return raw_ops.one_hot(
        indices,
        _core._to_tensor(depth),
        _one(target) if on is None else on,
        _zero(target) if off is None else off,
        axis=-1 if axis is None else axis_number(axis),
        name=name,
    )


@scoped
def sequence_mask(
    lengths: TensorLike, maxlen: IntLike | None = None, dtype: DTypeLike = _core.bool, name: str | None = None
) -> _core.Tensor:
    """Mark the first elements of rows: as many of each as a length says.

    Args:
        lengths: integers.
        maxlen: the size of the new last dimension; by default the greatest length.
        dtype: the element type.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of shape `[*lengths.shape, maxlen]`.

    >>> import penstock as tf
    >>> tf.sequence_mask([1, 3], 3).numpy().tolist()
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


@dispatched
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> _core.Tensor:
    """Read the bits of a tensor as elements of another dtype.

    Args:
        input: numbers.
        type: the element type. Smaller elements add a last dimension; larger ones take the place of a last
            dimension of as many as make one.
        name: a name for the result in a graph.

    Returns:
        A tensor of dtype `type` of the same bytes.

    Raises:
        TypeError: for booleans and strings.
        InvalidArgumentError: for a last dimension of another size.

    >>> import penstock as tf
    >>> tf.bitcast(1.0, "uint32").numpy()
    np.uint32(1065353216)
    >>> tf.bitcast([1.0, 2.0], "uint8").shape
    TensorShape([2, 4])
    """
    return raw_ops.bitcast(input, dtype=_core.DType(type), name=name)
