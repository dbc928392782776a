"""Isotonic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import pad, transpose
from penstock._ops.creation import range as range_of
from penstock._ops.reductions import cumsum, reduce_max
from penstock._runtime.arguments import axis_of, known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["isotonic_regression"]


@scoped
def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: int = -1
) -> tuple[_core.Tensor, _core.Tensor]:
    """Find the monotonic sequence that is nearest to each row, by the sum of squares.

    By the formula of minima of maxima of means of blocks: element `i` is the least, over ends `k >= i`, of
    the greatest mean, over starts `j <= i`, of the elements from `j` to `k`. It takes time and memory of the
    square of the length.

    Args:
        inputs: floating, of rank 1 or more.
        decreasing: whether sequences fall, else rise.
        axis: the dimension.

    Returns:
        The sequences, of the shape and dtype of `inputs`; and for each element the number of its block of
        equal elements, `int32`.

    Raises:
        InvalidArgumentError: for a scalar or an `axis` that is out of range.

    >>> import penstock as tf
    >>> sequence, blocks = tf.nn.isotonic_regression([4.0, 2.0, 3.0, 1.0])
    >>> sequence.numpy().tolist(), blocks.numpy().tolist()
    ([4.0, 2.5, 2.5, 1.0], [0, 1, 1, 2])
    """
    x = _core._to_tensor(inputs)
    rank = len(known_rank(x, 1))
    along = axis_of(axis, rank)
    perm = [*(i for i in range(rank) if i != along), along]
    rows = transpose(-x if decreasing else x, perm)
    size = sizes(rows)[-1]
    sums = cumsum(rows, -1)
    before = sums - rows
    starts, ends = range_of(size)[:, None], range_of(size)[None, :]
    inside = raw_ops.less_equal(starts, ends)
    length = raw_ops.cast(raw_ops.maximum(ends - starts + 1, _core._to_tensor(1, _core.int32)), dtype=x.dtype)
    # means[..., j, k] is that of the elements from j to k.
    means = (sums[..., None, :] - before[..., :, None]) / length
    means = raw_ops.select(inside, means, _core._to_tensor(-float("inf"), x.dtype))
    greatest = _running(means, rank - 1)
    # greatest[..., i, k]: over starts up to i. Ends before i take no part.
    greatest = raw_ops.select(inside, greatest, _core._to_tensor(float("inf"), x.dtype))
    result = -reduce_max(-greatest, -1)
    steps = raw_ops.cast(raw_ops.not_equal(result[..., 1:], result[..., :-1]), dtype=_core.int32)
    blocks = cumsum(pad(steps, [[0, 0]] * (rank - 1) + [[1, 0]]), -1)
    back = [perm.index(i) for i in range(rank)]
    return transpose(-result if decreasing else result, back), transpose(blocks, back)


def _running(x: _core.Tensor, axis: int) -> _core.Tensor:
    """The greatest element so far along a dimension, in steps that double."""
    size = sizes(x)[axis]
    if not isinstance(size, int):
        raise InvalidArgumentError("argument 'inputs' must have a known size along 'axis'")
    shift = 1
    while shift < size:
        key: list[Any] = [slice(None)] * len(known_rank(x))
        edges = [[0, 0]] * len(key)
        key[axis] = slice(None, size - shift)
        edges[axis] = [shift, 0]
        moved = pad(x[(*key,)], edges, constant_values=_core._to_tensor(-float("inf"), x.dtype))
        x = raw_ops.maximum(x, moved)
        shift *= 2
    return x
