"""What the functions of images share: batches of them, and the dtypes of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.casts import saturate_cast
from penstock._runtime.arguments import known_rank
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = ["as_float", "batched", "convert_image_dtype", "images_of", "like"]


def images_of(value: Any, argument: str = "image") -> _core.Tensor:
    """A tensor of one image `[height, width, channels]` or of a batch of them.

    Raises:
        ValueError: for another rank.
    """
    x = _core._to_tensor(value)
    if len(known_rank(x)) not in (3, 4):
        raise InvalidArgumentError(f"argument '{argument}' must have 3 or 4 dimensions, got shape {x.shape}")
    return x


def batched(x: _core.Tensor, function: Callable[[_core.Tensor], _core.Tensor]) -> _core.Tensor:
    """What a function of batches gives for a batch, or for one image."""
    if len(known_rank(x)) == 4:
        return function(x)
    return raw_ops.squeeze(function(raw_ops.expand_dims(x, axis=0)), axes=[0])


def as_float(x: _core.Tensor) -> _core.Tensor:
    """Images of floating point: those of integers scaled to 0 up to 1."""
    return x if x.dtype.is_floating else convert_image_dtype(x, _core.float32)


def like(x: _core.Tensor, original: _core.Tensor, saturate: bool = True) -> _core.Tensor:
    """Images of floating point in the dtype that the ones they were made from have."""
    return convert_image_dtype(x, original.dtype, saturate=saturate)


@scoped
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> _core.Tensor:
    """Convert images to a dtype, and their values to its range.

    Images of integers go from 0 up to the greatest number of their dtype, those of floating point from 0
    up to 1.

    Args:
        image: the images.
        dtype: the dtype of the result.
        saturate: whether numbers outside of the range become its ends, where they would wrap.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of `dtype` and of the shape of `image`.

    Raises:
        ValueError: for a dtype that is not of real numbers.

    >>> import penstock as tf
    >>> tf.image.convert_image_dtype(tf.constant([0, 255], tf.uint8), tf.float32).numpy().tolist()
    [0.0, 1.0]
    """
    x, target = _core._to_tensor(image), _core.DType(dtype)
    if not (target.is_integer or target.is_floating):
        raise DTypeError(f"argument 'dtype' must be of integers or floating point, got {target.name}")
    cast = saturate_cast if saturate else lambda v, d: raw_ops.cast(v, dtype=d)
    source = x.dtype
    if source == target:
        found = x
    elif source.is_integer and target.is_integer:
        if source.max > target.max:
            found = cast(x // _core._to_tensor((source.max + 1) // (target.max + 1), source), target)
        else:
            found = cast(x, target) * _core._to_tensor((target.max + 1) // (source.max + 1), target)
    elif source.is_integer:
        found = raw_ops.cast(x, dtype=target) * (1.0 / source.max)
    elif target.is_floating:
        found = raw_ops.cast(x, dtype=target)
    else:
        found = cast(x * (target.max + 0.5), target)
    return found
