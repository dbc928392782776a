"""Blocks of pixels as channels, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import _core, raw_ops
from penstock._runtime.arguments import extents, integer, known_rank, product, sizes
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["depth_to_space", "space_to_depth"]


@scoped
def space_to_depth(
    input: TensorLike, block_size: IntLike, data_format: str = "NHWC", name: str | None = None
) -> _core.Tensor:
    """Rearrange blocks of `block_size` × `block_size` pixels as the channels of one pixel.

    Args:
        input: images, of the layout `data_format`.
        block_size: at least 2; it divides height and width.
        data_format: `"NHWC"` or `"NCHW"`.
        name: a scope for the names of its operations in a graph.

    Returns:
        Images of the dtype of `input`, with height and width divided by `block_size` and the channels
        multiplied by its square.

    Raises:
        ValueError: for a block or a layout that does not fit.

    >>> import penstock as tf
    >>> tf.nn.space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy().tolist()
    [[[[1, 2, 3, 4]]]]
    """
    return _blocks(input, block_size, data_format, to_depth=True)


@scoped
def depth_to_space(
    input: TensorLike, block_size: IntLike, data_format: str = "NHWC", name: str | None = None
) -> _core.Tensor:
    """Rearrange the channels of one pixel as a block of `block_size` × `block_size` pixels.

    Args:
        input: images, of the layout `data_format`; the square of `block_size` divides the channels.
        block_size: at least 2.
        data_format: `"NHWC"` or `"NCHW"`.
        name: a scope for the names of its operations in a graph.

    Returns:
        Images of the dtype of `input`, with height and width multiplied by `block_size` and the channels
        divided by its square.

    Raises:
        ValueError: for a block or a layout that does not fit.

    >>> import penstock as tf
    >>> tf.nn.depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy().tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    return _blocks(input, block_size, data_format, to_depth=False)


def _blocks(input: TensorLike, block_size: IntLike, data_format: str, to_depth: bool) -> _core.Tensor:
    if data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"argument 'data_format' must be 'NHWC' or 'NCHW', got {data_format!r}")
    b = integer(block_size, "block_size")
    if b < 2:
        raise InvalidArgumentError(f"argument 'block_size' must be at least 2, got {b}")
    x = _core._to_tensor(input)
    if len(known_rank(x)) != 4:
        raise InvalidArgumentError(f"argument 'input' must have rank 4, got shape {x.shape}")
    if data_format == "NCHW":
        x = raw_ops.transpose(x, perm=[0, 2, 3, 1])
    n, h, w, c = sizes(x)
    if to_depth:
        for what, extent in (("height", h), ("width", w)):
            if isinstance(extent, int) and extent % b:
                raise InvalidArgumentError(f"argument 'block_size' ({b}) must divide the {what} {extent}")
        x = raw_ops.reshape(x, extents([n, h // b, b, w // b, b, c]))
        x = raw_ops.transpose(x, perm=[0, 1, 3, 2, 4, 5])
        x = raw_ops.reshape(x, extents([n, h // b, w // b, product([b * b, c])]))
    else:
        if isinstance(c, int) and c % (b * b):
            raise InvalidArgumentError(
                f"the square of argument 'block_size' ({b}) must divide the {c} channels"
            )
        d = c // (b * b)
        x = raw_ops.reshape(x, extents([n, h, w, b, b, d]))
        x = raw_ops.transpose(x, perm=[0, 1, 3, 2, 4, 5])
        x = raw_ops.reshape(x, extents([n, product([h, b]), product([w, b]), d]))
    return raw_ops.transpose(x, perm=[0, 3, 1, 2]) if data_format == "NCHW" else x
