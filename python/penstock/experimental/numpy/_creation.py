"""Arrays from values, shapes and ranges."""

from __future__ import annotations

import builtins
import math
from typing import Any

from penstock import _core, raw_ops
from penstock._core import DType, Tensor
from penstock._ops import arrangement, creation, diagonals, shapes
from penstock._runtime.arguments import extents, known_rank, sizes
from penstock._types.aliases import DTypeLike, IntLike, SizesLike
from penstock.array_api import _creation as standard, _formulas as formulas
from penstock.errors import InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    as_type,
    convert,
    converted,
    number,
    plain,
    promoted,
    public,
    refuse,
)


def _dtype(dtype: DTypeLike | None, default: DType) -> DType:
    return default if dtype is None else promotion.as_dtype(dtype)


def _filled(shape: SizesLike, value: int, dtype: DTypeLike | None) -> Tensor:
    result: Tensor = raw_ops.fill(extents(shape), convert(value, _dtype(dtype, promotion.default_float())))
    return result


@public
def array(val: ArrayLike, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Make an array of values. Python's integers are `int64`, floats `float64`.

    Returns:
        An array of the shape of the value, with dimensions of size 1 in front where it has less than `ndmin`.

    Raises:
        TypeError: where the parts have no common dtype.

    >>> tnp.array([1, 2.5])
    <tf.Tensor: shape=(2,), dtype=float64, numpy=array([1. , 2.5])>
    """
    made = convert(val, None if dtype is None else promotion.as_dtype(dtype))
    if made is val and copy:
        made = raw_ops.identity(made)
    missing = ndmin - len(known_rank(made)) if ndmin else 0
    return shapes.reshape(made, [1] * missing + sizes(made)) if missing > 0 else made


@public
def asarray(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of values; one that is a tensor of the dtype is given back.

    Returns:
        An array of the shape of the value.

    >>> tnp.asarray(3).dtype
    tf.int64
    """
    return convert(a, None if dtype is None else promotion.as_dtype(dtype))


@public
def asanyarray(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of values, as `asarray` does.

    Returns:
        An array of the shape of the value.

    >>> tnp.asanyarray([1, 2]).tolist()
    [1, 2]
    """
    return asarray(a, dtype)


@public
def ascontiguousarray(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of values of at least one dimension.

    Returns:
        An array of the shape of the value, `[1]` for a number.

    >>> tnp.ascontiguousarray(3).tolist()
    [3]
    """
    return array(a, dtype, ndmin=1)


@public
def copy(a: ArrayLike) -> Tensor:
    """Make an array of values anew, on the device of the scope.

    Returns:
        An array of the shape and dtype of the value.

    >>> tnp.copy([1, 2]).tolist()
    [1, 2]
    """
    return array(a, copy=True)


@public
def zeros(shape: SizesLike, dtype: DTypeLike | None = float) -> Tensor:
    """Make an array of zeros.

    Returns:
        An array of the shape, by default of `float64`.

    >>> tnp.zeros(2).tolist()
    [0.0, 0.0]
    """
    return _filled(shape, 0, dtype)


@public
def ones(shape: SizesLike, dtype: DTypeLike | None = float) -> Tensor:
    """Make an array of ones.

    Returns:
        An array of the shape, by default of `float64`.

    >>> tnp.ones(2).tolist()
    [1.0, 1.0]
    """
    return _filled(shape, 1, dtype)


@public
def empty(shape: SizesLike, dtype: DTypeLike | None = float) -> Tensor:
    """Make an array of any values; they are zeros.

    Returns:
        An array of the shape, by default of `float64`.

    >>> tnp.empty((2, 3)).shape
    TensorShape([2, 3])
    """
    return _filled(shape, 0, dtype)


@public
def full(shape: SizesLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of one value, or of values that broadcast.

    Returns:
        An array of the shape, by default of the dtype of the value.

    >>> tnp.full(2, 7).tolist()
    [7, 7]
    """
    return shapes.broadcast_to(asarray(fill_value, dtype), extents(shape))


def _like(a: ArrayLike, value: ArrayLike, dtype: DTypeLike | None) -> Tensor:
    a = convert(a)
    return shapes.broadcast_to(convert(value, _dtype(dtype, a.dtype)), raw_ops.shape(a))


@public
def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of zeros like another one.

    Returns:
        An array of the shape of `a`, by default of its dtype.

    >>> tnp.zeros_like([1, 2]).tolist()
    [0, 0]
    """
    return _like(a, 0, dtype)


@public
def ones_like(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of ones like another one.

    Returns:
        An array of the shape of `a`, by default of its dtype.

    >>> tnp.ones_like([1.5, 2.5]).tolist()
    [1.0, 1.0]
    """
    return _like(a, 1, dtype)


@public
def empty_like(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Make an array of any values like another one; they are zeros.

    Returns:
        An array of the shape of `a`, by default of its dtype.

    >>> tnp.empty_like([1, 2]).shape
    TensorShape([2])
    """
    return _like(a, 0, dtype)


@public
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: SizesLike | None = None,
) -> Tensor:
    """Make an array of one value like another one.

    Args:
        a: an array, or what becomes one.
        fill_value: the value, of a shape that broadcasts.
        dtype: the dtype of the result; by default that of `a`.
        order: must be 'K'.
        subok: must be True.
        shape: not supported: must be None.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: where one of the last three is another.

    >>> tnp.full_like([1, 2], 7).tolist()
    [7, 7]
    """
    if order != "K":
        raise InvalidArgumentError(f"full_like: argument 'order' must be 'K', got {order!r}")
    if not subok:
        raise InvalidArgumentError("full_like: argument 'subok' must be True")
    refuse("full_like", shape=shape)
    return _like(a, fill_value, dtype)


@public
def eye(N: IntLike, M: IntLike | None = None, k: IntLike = 0, dtype: DTypeLike | None = float) -> Tensor:
    """Make a matrix of zeros with ones on a diagonal.

    Returns:
        A matrix, by default of `float64`.

    >>> tnp.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    columns = None if M is None else int(M)
    return plain(standard.eye(int(N), columns, k=int(k), dtype=_dtype(dtype, promotion.default_float())))


@public
def identity(n: IntLike, dtype: DTypeLike | None = float) -> Tensor:
    """Make the matrix that changes no vector.

    Returns:
        A matrix of `n` rows, by default of `float64`.

    >>> tnp.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype)


@public
def tri(N: IntLike, M: IntLike | None = None, k: IntLike = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Make a matrix of ones at and below a diagonal, and of zeros above.

    Returns:
        A matrix, by default of `float64`.

    >>> tnp.tri(2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    ones = raw_ops.fill(extents([int(N), int(N if M is None else M)]), _core._to_tensor(1, _core.int8))
    return as_type(plain(standard.tril(ones, k=int(k))), _dtype(dtype, promotion.default_float()))


@public
def tril(m: ArrayLike, k: IntLike = 0) -> Tensor:
    """Make the elements above a diagonal of each matrix zero.

    Returns:
        An array of the shape and dtype of `m`.

    Raises:
        ValueError: for less than two dimensions.

    >>> tnp.tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return plain(standard.tril(_matrices("tril", m), k=int(k)))


@public
def triu(m: ArrayLike, k: IntLike = 0) -> Tensor:
    """Make the elements below a diagonal of each matrix zero.

    Returns:
        An array of the shape and dtype of `m`.

    Raises:
        ValueError: for less than two dimensions.

    >>> tnp.triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return plain(standard.triu(_matrices("triu", m), k=int(k)))


def _matrices(function: str, m: ArrayLike) -> Tensor:
    m = convert(m)
    if len(known_rank(m)) < 2:
        raise InvalidArgumentError(
            f"{function}: argument 'm' must have at least two dimensions, got shape {m.shape}"
        )
    return m


@public
def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike = 1,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Make an array of evenly spaced values; with one argument, from 0 up to it.

    Returns:
        A vector, by default of the dtype that the arguments promote to.

    Raises:
        ValueError: where `step` is 0.

    >>> tnp.arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    if not isinstance(step, Tensor) and not step:
        raise InvalidArgumentError("arange: argument 'step' must not be 0")
    first, last = (0, start) if stop is None else (start, stop)
    given = (start, step) if stop is None else (start, step, stop)
    common = promotion.kind_of(*given).dtype
    target = common if dtype is None else promotion.as_dtype(dtype)
    if common == _core.bool or (common.is_integer and common.size < 4):
        common = _core.int64
    values = [convert(value, common) for value in (first, last, step)]
    # Without any value on the way the range is empty, not an error.
    low, high, delta = (_core._known_value(value) for value in values)
    if low is not None and high is not None and delta is not None:
        distance = (high.numpy() - low.numpy()) * (1 if delta.numpy() > 0 else -1)
        if distance <= 0:
            return raw_ops.fill(extents([0]), _core._to_tensor(0, target))
    return as_type(creation.range(values[0], values[1], values[2]), target)


def _spaced(
    start: ArrayLike, stop: ArrayLike, num: IntLike, endpoint: bool, axis: IntLike
) -> tuple[Tensor, Tensor]:
    """Evenly spaced values in the floating-point dtype that both ends promote to, and their distance."""
    count = int(num)
    if count < 0:
        raise InvalidArgumentError(f"argument 'num' must not be negative, got {num}")
    first, last = promoted(start, stop, beside=1.0)
    parts = count - 1 if endpoint else count
    if parts > 0:
        step = (last - first) / number(parts, first)
    else:
        step = shapes.broadcast_to(number(math.nan, first), raw_ops.shape(last - first))
    end = last if endpoint or count < 1 else last - step
    first, end = (shapes.broadcast_to(x, raw_ops.shape(step)) for x in (first, end))
    if count < 2:
        rank = len(known_rank(first))
        place = int(axis) % (rank + 1)
        made = shapes.expand_dims(first, place)
        return made[tuple([slice(None)] * place + [slice(0, count)])], step
    return creation.linspace(first, end, count, axis=axis), step


@public
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: IntLike = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = float,
    axis: IntLike = 0,
) -> Tensor | tuple[Tensor, Tensor]:
    """Make an array of evenly spaced values from one to another.

    Returns:
        An array with a dimension of `num` values at `axis`; with `retstep` the distance too. The dtype is
        the floating-point one that both ends promote to, unless an integer one is given.

    Raises:
        ValueError: where `num` is negative.

    >>> tnp.linspace(0, 1, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    values, step = _spaced(start, stop, num, endpoint, axis)
    if dtype is not None and dtype is not float:
        target = promotion.as_dtype(dtype)
        values = as_type(raw_ops.floor(values) if target.is_integer else values, target)
    return (values, step) if retstep else values


@public
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: IntLike = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: IntLike = 0,
) -> Tensor:
    """Make an array of powers of a base whose exponents are evenly spaced.

    Returns:
        An array with a dimension of `num` values at `axis`.

    >>> tnp.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    exponents, _ = _spaced(start, stop, num, endpoint, axis)
    powers = raw_ops.pow(convert(base, exponents.dtype), exponents)
    return powers if dtype is None else as_type(powers, promotion.as_dtype(dtype))


@public
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: IntLike = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: IntLike = 0,
) -> Tensor:
    """Make an array of values of which each is the one before times the same factor.

    Returns:
        An array with a dimension of `num` values at `axis`.

    >>> tnp.geomspace(1, 100, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    first, last = promoted(start, stop, beside=1.0)
    # Both ends negative: the powers of their magnitudes, negated. Real ones of opposite signs have none.
    if first.dtype.is_complex:
        sign = number(1, first)
    else:
        zero = number(0, first)
        below = raw_ops.logical_and(raw_ops.less(first, zero), raw_ops.less(last, zero))
        sign = raw_ops.select(below, number(-1, first), number(1, first))
    log10 = formulas.logarithm(10)
    ends = log10(first * sign), log10(last * sign)
    exponents, _ = _spaced(*ends, num, endpoint, 0)
    powers = sign * raw_ops.pow(number(10.0, exponents), exponents)
    count = int(num)
    if count > 1:
        # The ends are what was given, exactly.
        inner = [powers[1:-1], shapes.expand_dims(shapes.broadcast_to(last, raw_ops.shape(powers)[1:]), 0)]
        if not endpoint:
            inner = [powers[1:]]
        head = shapes.expand_dims(shapes.broadcast_to(first, raw_ops.shape(powers)[1:]), 0)
        powers = arrangement.concat([head, *inner], axis=0)
    place = int(axis) % len(known_rank(powers))
    if place:
        order = [*builtins.range(1, place + 1), 0, *builtins.range(place + 1, len(known_rank(powers)))]
        powers = arrangement.transpose(powers, order)
    return powers if dtype is None else as_type(powers, promotion.as_dtype(dtype))


@public
def meshgrid(*xi: ArrayLike, **kwargs: Any) -> list[Tensor]:
    """Make the grid of coordinates that vectors span.

    Args:
        *xi: the vectors.
        **kwargs: `indexing`, 'xy' or 'ij'; `sparse` must be False, `copy` True.

    Returns:
        For each vector an array of the shape of the grid.

    Raises:
        ValueError: for another option.

    >>> [x.tolist() for x in tnp.meshgrid([1, 2], [3])]
    [[[1, 2]], [[3, 3]]]
    """
    indexing, sparse, copy = (
        kwargs.pop("indexing", "xy"),
        kwargs.pop("sparse", False),
        kwargs.pop("copy", True),
    )
    if sparse or not copy:
        raise InvalidArgumentError("meshgrid: argument 'sparse' must be False, and 'copy' True")
    if kwargs:
        raise InvalidArgumentError(f"meshgrid: options {sorted(kwargs)} are not supported")
    return creation.meshgrid(*converted(xi), indexing=indexing)


@public
def diag(v: ArrayLike, k: IntLike = 0) -> Tensor:
    """Make a matrix of a diagonal, or take the diagonal of a matrix.

    Returns:
        A matrix with the vector `v` on its diagonal; or the diagonal of the matrix `v`.

    Raises:
        ValueError: for another rank.

    >>> tnp.diag([1, 2]).tolist()
    [[1, 0], [0, 2]]
    """
    v, place = convert(v), int(k)
    rank = len(known_rank(v))
    if rank not in (1, 2):
        raise InvalidArgumentError(f"diag: argument 'v' must have one dimension or two, got shape {v.shape}")
    if rank == 2:
        return diagonal(v, place)
    if known_rank(v) == [0]:
        return raw_ops.fill(extents([abs(place)] * 2), number(0, v))
    if known_rank(v) != [None]:
        return diagonals.diag(v, k=place)
    padding = raw_ops.fill(extents([abs(place)]), number(0, v))
    rows = arrangement.concat([v, padding] if place > 0 else [padding, v], axis=0)
    index = creation.range(raw_ops.size(rows))
    distance = shapes.expand_dims(index, 0) - shapes.expand_dims(index, 1)
    return raw_ops.select(
        raw_ops.equal(distance, number(place, index)), shapes.expand_dims(rows, 1), number(0, v)
    )


@public
def diagflat(v: ArrayLike, k: IntLike = 0) -> Tensor:
    """Make a matrix with the elements of an array on a diagonal.

    Returns:
        A matrix.

    >>> tnp.diagflat([[1], [2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(shapes.reshape(convert(v), [-1]), k)


@public
def diagonal(a: ArrayLike, offset: IntLike = 0, axis1: IntLike = 0, axis2: IntLike = 1) -> Tensor:
    """Take the diagonal of each matrix.

    Returns:
        An array whose last dimension is the diagonal, without the two of the matrices.

    Raises:
        InvalidArgumentError: for fewer than two dimensions.

    >>> tnp.diagonal([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    a = convert(a)
    rank = len(known_rank(a))
    if rank < 2:
        raise InvalidArgumentError(
            f"diagonal: argument 'a' must have at least two dimensions, got shape {a.shape}"
        )
    pair = [int(axis1) % rank, int(axis2) % rank]
    if pair[0] == pair[1]:
        raise InvalidArgumentError(
            f"diagonal: arguments 'axis1' and 'axis2' must differ, got {axis1} and {axis2}"
        )
    order = [axis for axis in builtins.range(rank) if axis not in pair] + pair
    a = a if order == list(builtins.range(rank)) else arrangement.transpose(a, order)
    rows, columns = sizes(a)[-2:]
    start = int(offset)
    if isinstance(rows, int) and isinstance(columns, int):
        if -rows < start < columns:
            return diagonals.diag_part(a, k=start)
        # Beyond the corner there is none.
        return raw_ops.reduce_sum(a, axes=[rank - 2], keepdims=False)[..., :0]
    # The matrices as rows, of which the diagonal is some elements.
    lead, right, down = sizes(a)[:-2], max(start, 0), max(-start, 0)
    across, along = convert(columns - right, _core.int64), convert(rows - down, _core.int64)
    count = raw_ops.maximum(raw_ops.minimum(along, across), convert(0))
    index = creation.range(count)
    width = convert(columns, _core.int64)
    flat = shapes.reshape(a, [*lead, rows * columns])
    return raw_ops.gather(
        flat, (index + number(down, index)) * width + index + number(right, index), axis=rank - 2
    )


@public
def diag_indices(n: IntLike, ndim: IntLike = 2) -> tuple[Tensor, ...]:
    """Make the indices of the main diagonal of an array with equal sizes.

    Args:
        n: the size of each dimension.
        ndim: the number of dimensions.

    Returns:
        For each dimension the indices 0 to `n - 1`.

    Raises:
        ValueError: where either is negative.

    >>> [x.tolist() for x in tnp.diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    for name, value in (("n", n), ("ndim", ndim)):
        if int(value) < 0:
            raise InvalidArgumentError(f"diag_indices: argument '{name}' must not be negative, got {value}")
    return (creation.range(int(n)),) * int(ndim)


@public
def vander(x: ArrayLike, N: IntLike | None = None, increasing: bool = False) -> Tensor:
    """Make the matrix of powers of a vector, a column for each exponent.

    Args:
        x: a vector.
        N: the number of columns; by default the length of the vector.
        increasing: whether the powers increase from left to right.

    Returns:
        A matrix with a row for each element.

    Raises:
        ValueError: where `x` is no vector, or `N` is negative.

    >>> tnp.vander([1, 2, 3]).tolist()
    [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    x = convert(x)
    if len(known_rank(x)) != 1:
        raise InvalidArgumentError(f"vander: argument 'x' must be a vector, got shape {x.shape}")
    count = sizes(x)[0] if N is None else int(N)
    if isinstance(count, int) and count < 0:
        raise InvalidArgumentError(f"vander: argument 'N' must not be negative, got {N}")
    exponents = as_type(creation.range(count), x.dtype)
    if not increasing:
        exponents = arrangement.reverse(exponents, [0])
    return raw_ops.pow(shapes.expand_dims(x, -1), exponents)
