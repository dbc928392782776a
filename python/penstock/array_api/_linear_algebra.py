"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import raw_ops
from penstock._core import Tensor
from penstock._ops.einsum import tensordot as _tensordot
from penstock._runtime.arguments import known_rank
from penstock.array_api._arrays import Array, array, new, operands
from penstock.array_api._manipulation import moveaxis

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Array, x2: Array, /) -> Tensor:
    """Multiply matrices, each pair of them where there are leading dimensions; those broadcast.

    A vector is a row on the left and a column on the right, and its dimension is not in the result.

    Args:
        x1: an array.
        x2: an array.

    Returns:
        An array of shape `(..., m, n)`, of the dtype that both promote to.

    Raises:
        ValueError: for an array of rank 0, or inner sizes that differ.

    >>> from penstock import array_api as xp
    >>> xp.matmul(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1])).tolist()
    [3, 7]
    """
    a, b = operands("matmul", "numeric", x1, x2)
    of_a, of_b = len(known_rank(a)), len(known_rank(b))
    for name, rank in (("x1", of_a), ("x2", of_b)):
        if rank == 0:
            raise ValueError(f"matmul: argument '{name}' must have at least one dimension")
    a = raw_ops.expand_dims(a, axis=0) if of_a == 1 else a
    b = raw_ops.expand_dims(b, axis=1) if of_b == 1 else b
    product = raw_ops.matmul(a, b)
    dropped = [axis for axis, rank in ((-2, of_a), (-1, of_b)) if rank == 1]
    return new(raw_ops.squeeze(product, axes=dropped) if dropped else product)


def matrix_transpose(x: Array, /) -> Tensor:
    """Transpose each matrix.

    Args:
        x: an array of at least two dimensions.

    Returns:
        An array of shape `(..., n, m)`, of the dtype of `x`.

    Raises:
        ValueError: for an array of rank below 2.

    >>> from penstock import array_api as xp
    >>> xp.matrix_transpose(xp.asarray([[1, 2]])).tolist()
    [[1], [2]]
    """
    transposed: Tensor = array(x, "matrix_transpose").mT
    return new(transposed)


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Sum the products over axes of both.

    Args:
        x1: an array.
        x2: an array.
        axes: how many of the last axes of `x1` meet the first of `x2`, or the axes of each.

    Returns:
        An array with the other axes of `x1`, then those of `x2`.

    Raises:
        ValueError: where sizes of axes that meet differ.

    >>> from penstock import array_api as xp
    >>> xp.tensordot(xp.asarray([1, 2]), xp.asarray([3, 4]), axes=1).tolist()
    11
    """
    a, b = operands("tensordot", "numeric", x1, x2)
    return new(_tensordot(a, b, axes))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Tensor:
    """Sum the products `conj(x1) * x2` along an axis; the other dimensions broadcast.

    Args:
        x1: an array.
        x2: an array.
        axis: the axis of both, counted from the end: from -1 down.

    Returns:
        An array without the axis.

    Raises:
        ValueError: where the sizes of the axis differ, or it is out of range.

    >>> from penstock import array_api as xp
    >>> xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()
    11
    """
    a, b = operands("vecdot", "numeric", x1, x2)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    lengths = known_rank(a, 1)[-1], known_rank(b, 1)[-1]
    if None not in lengths and lengths[0] != lengths[1]:
        raise ValueError(f"vecdot: axis {axis} has size {lengths[0]} in 'x1' and {lengths[1]} in 'x2'")
    a = raw_ops.conj(a) if a.dtype.is_complex else a
    # A row by a column: no products are kept.
    product = raw_ops.matmul(raw_ops.expand_dims(a, axis=-2), raw_ops.expand_dims(b, axis=-1))
    return new(raw_ops.squeeze(product, axes=[-2, -1]))


def matrices(x: Any, function: str, kind: str = "floating", argument: str = "x") -> Tensor:
    """An argument that must be a matrix or a stack of them.

    Raises:
        ValueError: for an array of rank below 2.
    """
    tensor = array(x, function, kind, argument)
    if len(known_rank(tensor)) < 2:
        raise ValueError(
            f"{function}: argument '{argument}' must be a matrix or a stack of them, got shape {tensor.shape}"
        )
    return tensor
