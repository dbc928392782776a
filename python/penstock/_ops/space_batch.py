"""Blocks of space as elements of a batch, and back; operations with holes by way of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock._ops.arrangement import pad, transpose
from penstock._ops.shapes import required_space_to_batch_paddings, reshape
from penstock._runtime.arguments import integer, known_rank, product, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, SizesLike, TensorLike

__all__ = ["batch_to_space", "space_to_batch", "space_to_batch_nd", "with_space_to_batch"]


def _block(block_shape: Any) -> list[int]:
    """The extents of a block, which must be constant.

    Raises:
        TypeError: where they are not.
        ValueError: where one is below 1, or they are no vector.
    """
    known = _core._known_value(_core._to_tensor(block_shape))
    if known is None:
        raise TypeError("argument 'block_shape' must be constant while a function is traced")
    if not known.dtype.is_integer:
        raise DTypeError(f"argument 'block_shape' must hold integers, got dtype {known.dtype.name}")
    extents = known.numpy()
    if extents.ndim != 1 or (extents < 1).any():
        raise InvalidArgumentError(
            f"argument 'block_shape' must be a vector of positive integers, got {extents.tolist()}"
        )
    return [int(extent) for extent in extents]


def _pairs(paddings: Any, count: int, argument: str) -> list[list[Any]]:
    """Sizes before and behind for each dimension, ints where they are known.

    Raises:
        ValueError: for another shape than `[count, 2]`, or a known size that is negative.
    """
    tensor = _core._to_tensor(paddings)
    if not tensor.shape.is_compatible_with([count, 2]):
        raise InvalidArgumentError(f"argument '{argument}' must have shape [{count}, 2], got {tensor.shape}")
    known = _core._known_value(tensor)
    if known is None:
        return [[tensor[i, side] for side in (0, 1)] for i in range(count)]
    pairs: list[list[Any]] = known.numpy().tolist()
    if any(size < 0 for pair in pairs for size in pair):
        raise InvalidArgumentError(f"argument '{argument}' must not be negative, got {pairs}")
    return pairs


@scoped
def space_to_batch(
    input: TensorLike, block_shape: SizesLike, paddings: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Move the places of blocks of space into the batch.

    Every block of `block_shape` elements becomes one element, of as many elements of the batch as the block
    has places: element `place * batch + i` of the result has that place of every block of element `i`.

    Args:
        input: of shape `[batch, *spatial, ...]` and known rank.
        block_shape: the extents of a block, `m` of them for the first `m` spatial dimensions; constant.
        paddings: of shape `[m, 2]`: how many zeros are put before and behind along each of these, so that
            blocks fit.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input`.

    Raises:
        ValueError: for blocks or paddings of another form, or where blocks do not fit.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(4), [1, 2, 2, 1])
    >>> tf.squeeze(tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]])).numpy().tolist()
    [0, 1, 2, 3]
    """
    x = _core._to_tensor(input)
    block = _block(block_shape)
    count = len(block)
    rank = len(known_rank(x, count + 1))
    around = _pairs(paddings, count, "paddings")
    x = pad(x, [[0, 0], *around, *[[0, 0]] * (rank - 1 - count)])
    batch, *extents = sizes(x)
    cut: list[Any] = []
    for extent, step in zip(extents, block, strict=False):
        if isinstance(extent, int) and extent % step:
            raise InvalidArgumentError(
                f"argument 'block_shape' has an extent {step} that does not divide {extent}, padding included"
            )
        cut += [extent // step, step]
    rest = extents[count:]
    x = reshape(x, [batch, *cut, *rest])
    places = [2 + 2 * i for i in range(count)]
    whole = [1 + 2 * i for i in range(count)]
    x = transpose(x, [*places, 0, *whole, *range(2 * count + 1, 2 * count + 1 + len(rest))])
    outer = product([batch, *block])
    return reshape(x, [outer, *cut[::2], *rest])


space_to_batch_nd = space_to_batch


@scoped
def batch_to_space(
    input: TensorLike, block_shape: SizesLike, crops: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Move elements of the batch to the places of blocks of space: the inverse of `space_to_batch`.

    Args:
        input: of shape `[batch, *spatial, ...]` and known rank.
        block_shape: the extents of a block, `m` of them for the first `m` spatial dimensions; constant.
        crops: of shape `[m, 2]`: how many elements are cut off before and behind along each of these.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input`.

    Raises:
        ValueError: for blocks or crops of another form, or a batch that blocks do not divide.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(4), [4, 1, 1, 1])
    >>> tf.squeeze(tf.batch_to_space(x, [2, 2], [[0, 0], [0, 0]])).numpy().tolist()
    [[0, 1], [2, 3]]
    """
    x = _core._to_tensor(input)
    block = _block(block_shape)
    count = len(block)
    known_rank(x, count + 1)
    around = _pairs(crops, count, "crops")
    batch, *extents = sizes(x)
    places = product(list(block))
    if isinstance(batch, int) and batch % places:
        raise InvalidArgumentError(
            f"argument 'block_shape' has {places} places, which do not divide a batch of {batch}"
        )
    spatial, rest = extents[:count], extents[count:]
    x = reshape(x, [*block, batch // places, *spatial, *rest])
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    x = transpose(x, [*order, *range(2 * count + 1, 2 * count + 1 + len(rest))])
    grown = [extent * step for extent, step in zip(spatial, block, strict=True)]
    x = reshape(x, [batch // places, *grown, *rest])
    key: list[Any] = [slice(None)]
    for extent, (before, behind) in zip(grown, around, strict=True):
        if isinstance(extent, int) and isinstance(before, int) and before + behind > extent:
            raise InvalidArgumentError(
                f"argument 'crops' cuts off {before} and {behind} of {extent} elements"
            )
        key.append(slice(before, extent - behind))
    return x[(*key,)]


@dispatched
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: SizesLike,
    padding: str,
    op: Callable[[_core.Tensor, int, str], _core.Tensor],
    filter_shape: SizesLike | None = None,
    spatial_dims: list[IntLike] | None = None,
    data_format: str | None = None,
) -> _core.Tensor:
    """Apply an operation to every `dilation_rate`-th element of space, as one with holes.

    Args:
        input: of shape `[batch, *spatial, channels]`, or `[batch, channels, *spatial]`.
        dilation_rate: the steps along the spatial dimensions; constant.
        padding: `"VALID"` or `"SAME"`.
        op: called with a tensor, the number of spatial dimensions, and `"VALID"`; for steps of 1 with
            `padding` itself.
        filter_shape: the extents of the operation's window, for `"SAME"`; constant.
        spatial_dims: the dimensions that the steps are for, ascending from 1; by default the first ones.
        data_format: a layout that begins with `NC` for channels before space.

    Returns:
        What `op` returns, rearranged.

    Raises:
        ValueError: for another padding, or `"SAME"` without `filter_shape`.
        TypeError: for a layout that is no string.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(6.0), [1, 6, 1])
    >>> sums = lambda x, dims, padding: x[:, 1:] + x[:, :-1]
    >>> tf.squeeze(tf.nn.with_space_to_batch(x, [2], "VALID", sums)).numpy().tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    x = _core._to_tensor(input)
    rates = _block(dilation_rate)
    if padding not in ("VALID", "SAME"):
        raise InvalidArgumentError(f"argument 'padding' must be 'VALID' or 'SAME', got {padding!r}")
    layout = expect(data_format or "", str, "data_format", "a string")
    if all(rate == 1 for rate in rates):
        return op(x, len(rates), padding)
    first = 2 if layout.startswith("NC") else 1
    dims = [first + i for i in range(len(rates))]
    if spatial_dims is not None:
        dims = [integer(dim, "spatial_dims") for dim in spatial_dims]
    if padding == "SAME":
        if filter_shape is None:
            raise InvalidArgumentError("argument 'filter_shape' is needed for padding 'SAME'")
        window = _block(filter_shape)
        reach = [(extent - 1) * rate for extent, rate in zip(window, rates, strict=False)]
        base = [[total // 2, total - total // 2] for total in reach]
    else:
        base = [[0, 0] for _ in rates]
    # All dimensions up to the last of them take part, those between with a step of 1.
    last = max(dims)
    extents = sizes(x, last + 1)
    step = {dim: (rate, pair) for dim, rate, pair in zip(dims, rates, base, strict=True)}
    block = [step.get(dim, (1, [0, 0]))[0] for dim in range(1, last + 1)]
    around = [step.get(dim, (1, [0, 0]))[1] for dim in range(1, last + 1)]
    spatial = _core._to_tensor(extents[1 : last + 1], _core.int32)
    paddings, crops = required_space_to_batch_paddings(spatial, block, around)
    return batch_to_space(op(space_to_batch(x, block, paddings), len(rates), "VALID"), block, crops)
