"""Limits of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import raw_ops
from penstock._core import Tensor
from penstock.array_api._arrays import Array, Scalar, array, cast, is_scalar, new, operands

__all__ = ["clip"]


def clip(x: Array, /, min: Array | Scalar | None = None, max: Array | Scalar | None = None) -> Tensor:
    """Limit the elements to a range.

    Args:
        x: an array of a real dtype.
        min: the lower bound, an array that broadcasts or a number; None for no bound.
        max: the upper bound.

    Returns:
        The array, of the dtype of `x`; NaN where one of the three is.

    >>> from penstock import array_api as xp
    >>> xp.clip(xp.asarray([1, 5, 9]), 2, 6).tolist()
    [2, 5, 6]
    """
    result = x = array(x, "clip", "real numeric")
    bounds: list[tuple[str, Any, Callable[[Any, Any], Tensor]]] = [
        ("min", min, raw_ops.maximum),
        ("max", max, raw_ops.minimum),
    ]
    for name, bound, op in bounds:
        if bound is not None:
            if is_scalar(bound):
                _, limit = operands("clip", "real numeric", x, bound, ("x", name))
            else:
                limit = cast(array(bound, "clip", "real numeric", name), x.dtype)
            result = op(result, limit)
    return new(result)
