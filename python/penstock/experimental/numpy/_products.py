"""Products of arrays, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._core import Tensor
from penstock._ops import arrangement, einsum as contraction, shapes
from penstock._runtime.arguments import axis_of, known_rank, results, sizes
from penstock._types.aliases import DTypeLike, IntLike
from penstock.array_api import _linear_algebra as standard
from penstock.errors import InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    convert,
    converted,
    number,
    paired,
    plain,
    promoted,
    public,
)
from penstock.experimental.numpy._creation import diagonal
from penstock.experimental.numpy._manipulation import moveaxis
from penstock.experimental.numpy._reductions import sum as sum_of


def _multiplied(x: Tensor, y: Tensor) -> Tensor:
    return raw_ops.logical_and(x, y) if x.dtype == _core.bool else raw_ops.mul(x, y)


def _contracted(x: Tensor, y: Tensor, axes: Any) -> Tensor:
    if x.dtype == _core.bool:
        counted = contraction.tensordot(convert(x, _core.int32), convert(y, _core.int32), axes)
        return convert(counted, _core.bool)
    return contraction.tensordot(x, y, axes)


@public
def matmul(x1: ArrayLike, x2: ArrayLike) -> Tensor:
    """Multiply matrices, each pair of them where there are leading dimensions; those broadcast.

    Returns:
        An array of the dtype that both promote to. A vector is a row on the left and a column on the right,
        and its dimension is not in the result.

    Raises:
        ValueError: for a number, or sizes that do not fit.

    >>> tnp.matmul([[1, 2], [3, 4]], [1, 1]).tolist()
    [3, 7]
    """
    x, y = promoted(x1, x2)
    if x.dtype == _core.bool:
        return convert(matmul(convert(x, _core.int32), convert(y, _core.int32)), _core.bool)
    return plain(standard.matmul(x, y))


@public
def dot(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Sum the products along the last dimension of `a` and the second to last of `b`, or its only one.

    Returns:
        An array with the other dimensions of both; of numbers, the product.

    >>> int(tnp.dot([1, 2], [3, 4]))
    11
    """
    x, y = paired(a, b)
    if not known_rank(x) or not known_rank(y):
        return _multiplied(x, y)
    return _contracted(x, y, [[-1], [-1 if len(known_rank(y)) == 1 else -2]])


@public
def inner(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Sum the products along the last dimension of both.

    Returns:
        An array with the other dimensions of both; of numbers, the product.

    >>> int(tnp.inner([1, 2], [3, 4]))
    11
    """
    x, y = paired(a, b)
    if not known_rank(x) or not known_rank(y):
        return _multiplied(x, y)
    return _contracted(x, y, [[-1], [-1]])


@public
def outer(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Multiply each element of one array by each of another.

    Returns:
        A matrix with a row for each element of `a`.

    >>> tnp.outer([1, 2], [3, 4]).tolist()
    [[3, 4], [6, 8]]
    """
    x, y = paired(a, b)
    return _multiplied(shapes.reshape(x, [-1, 1]), shapes.reshape(y, [1, -1]))


@public
def vdot(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Sum the products of all elements, those of `a` conjugated.

    Returns:
        An array of shape `[]`.

    >>> int(tnp.vdot([[1, 2]], [[3], [4]]))
    11
    """
    x, y = (shapes.reshape(t, [-1]) for t in promoted(a, b))
    return _contracted(raw_ops.conj(x) if x.dtype.is_complex else x, y, 1)


@public
def tensordot(
    a: ArrayLike, b: ArrayLike, axes: IntLike | Sequence[IntLike | Sequence[IntLike]] = 2
) -> Tensor:
    """Sum the products along dimensions of both arrays.

    Args:
        a: an array, or what becomes one.
        b: an array, or what becomes one.
        axes: how many, the last of `a` and the first of `b`; or two lists of them.

    Returns:
        An array with the other dimensions of both.

    >>> tnp.tensordot([[1, 2]], [[3], [4]], 1).tolist()
    [[11]]
    """
    x, y = paired(a, b)
    return _contracted(x, y, axes)


@public
def einsum(subscripts: str, *operands: ArrayLike, **kwargs: Any) -> Tensor:
    """Sum products as an equation says.

    Args:
        subscripts: the equation, as for `tf.einsum`.
        *operands: arrays, or what becomes some.
        **kwargs: `casting`, 'safe' to promote dtypes or 'no'; `optimize`, a boolean, 'greedy' or 'optimal'.

    Returns:
        An array of the dtype that all promote to.

    Raises:
        ValueError: for another option.

    >>> int(tnp.einsum("i,i->", [1, 2], [3, 4]))
    11
    """
    casting, optimize = kwargs.pop("casting", "safe"), kwargs.pop("optimize", False)
    if casting not in ("safe", "no") or optimize not in (True, False, "greedy", "optimal"):
        raise InvalidArgumentError(
            f"einsum: argument 'casting' must be 'safe' or 'no', and 'optimize' a boolean, 'greedy' or "
            f"'optimal'; got {casting!r} and {optimize!r}"
        )
    if kwargs:
        raise InvalidArgumentError(f"einsum: options {sorted(kwargs)} are not supported")
    arrays = promoted(*operands) if casting == "safe" else converted(operands)
    return contraction.einsum(subscripts, *arrays, optimize="optimal" if optimize == "optimal" else "greedy")


@public
def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Multiply each element of one array by the whole of another, in blocks.

    Returns:
        An array whose sizes are the products of those of both.

    >>> tnp.kron([1, 2], [1, 10]).tolist()
    [1, 10, 2, 20]
    """
    x, y = paired(a, b)
    rank = max(len(known_rank(x)), len(known_rank(y)))
    of_x, of_y = ([1] * (rank - len(dims)) + dims for dims in (sizes(x), sizes(y)))
    spread = shapes.reshape(x, [size for pair in of_x for size in (pair, 1)])
    blocks = shapes.reshape(y, [size for pair in of_y for size in (1, pair)])
    return shapes.reshape(_multiplied(spread, blocks), [m * n for m, n in zip(of_x, of_y, strict=True)])


@public
def trace(
    a: ArrayLike, offset: IntLike = 0, axis1: IntLike = 0, axis2: IntLike = 1, dtype: DTypeLike | None = None
) -> Tensor:
    """Sum the diagonal of each matrix.

    Returns:
        An array without the two dimensions of the matrices; of narrow integers an `int64` or `uint64`.

    >>> int(tnp.trace([[1, 2], [3, 4]]))
    5
    """
    target = None if dtype is None else promotion.as_dtype(dtype)
    return sum_of(diagonal(convert(a, target), offset, axis1, axis2), -1, target)


@public
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: IntLike = -1,
    axisb: IntLike = -1,
    axisc: IntLike = -1,
    axis: IntLike | None = None,
) -> Tensor:
    """Multiply vectors of two or three elements so that the result is perpendicular to both.

    Args:
        a: an array, or what becomes one.
        b: an array, or what becomes one.
        axisa: the axis of `a` that holds the vectors.
        axisb: the axis of `b` that holds the vectors.
        axisc: the axis of the result that holds them.
        axis: the axis of all three, instead of the others.

    Returns:
        An array of vectors of three elements; of numbers where both have vectors of two.

    Raises:
        ValueError: for vectors of another length.

    >>> tnp.cross([1, 0, 0], [0, 1, 0]).tolist()
    [0, 0, 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = paired(a, b)
    x, y = moveaxis(x, int(axisa), -1), moveaxis(y, int(axisb), -1)
    lengths = [known_rank(t)[-1] for t in (x, y)]
    if any(length not in (2, 3) for length in lengths):
        raise InvalidArgumentError(
            f"cross: vectors must have 2 or 3 elements, got {lengths[0]} and {lengths[1]}"
        )
    parts = [results(raw_ops.unstack(t, num=n, axis=-1)) for t, n in zip((x, y), lengths, strict=True)]
    if lengths == [2, 2]:
        (x0, x1), (y0, y1) = parts
        area: Tensor = x0 * y1 - x1 * y0
        return area
    x0, x1, x2 = [*parts[0], raw_ops.zeros_like(parts[0][0])][:3]
    y0, y1, y2 = [*parts[1], raw_ops.zeros_like(parts[1][0])][:3]
    made = arrangement.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axis=-1)
    return moveaxis(made, -1, axis_of(axisc, len(known_rank(made)), "axisc"))


@public
def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """Compute the values of a polynomial.

    Returns:
        An array of the shape of `x`.

    Raises:
        InvalidArgumentError: where the number of coefficients is not known.

    >>> tnp.polyval([1, 2], [3, 4]).tolist()
    [5, 6]
    """
    coefficients, at = paired(p, x)
    if not known_rank(coefficients):
        coefficients = shapes.reshape(coefficients, [1])
    count = known_rank(coefficients)[0]
    if count is None:
        raise InvalidArgumentError("polyval: the number of coefficients in argument 'p' must be known")
    value = shapes.broadcast_to(number(0, at), raw_ops.shape(at))
    for coefficient in results(raw_ops.unstack(coefficients, num=count, axis=0)):
        value = value * at + coefficient
    return value
