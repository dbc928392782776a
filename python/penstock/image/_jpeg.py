"""Images with the losses of a JPEG of some quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, random, raw_ops
from penstock._runtime.arguments import known_rank
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError
from penstock.image._images import convert_image_dtype

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, SizesLike, TensorLike

__all__ = ["adjust_jpeg_quality", "random_jpeg_quality", "stateless_random_jpeg_quality"]


@scoped
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: IntLike, dct_method: str = "", name: str | None = None
) -> _core.Tensor:
    """Give an image as it comes out of a JPEG of some quality.

    Args:
        image: of shape `[height, width, channels]` with 1 or 3 channels, known when it is traced; floats go
            from 0 to 1.
        jpeg_quality: from 0 to 100, a scalar.
        dct_method: `""`, `"INTEGER_FAST"` or `"INTEGER_ACCURATE"`, which give the same.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        InvalidArgumentError: for another quality, number of channels and `dct_method`.
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.adjust_jpeg_quality(tf.zeros([4, 6, 3]), 75).shape
    TensorShape([4, 6, 3])
    """
    x = _core._to_tensor(image)
    if len(known_rank(x)) != 3:
        raise InvalidArgumentError(f"argument 'image' must have 3 dimensions, got shape {x.shape}")
    quality = _core._to_tensor(jpeg_quality, dtype=_core.int32)
    contents = raw_ops.encode_jpeg_variable_quality(
        convert_image_dtype(x, _core.uint8, saturate=True), quality
    )
    found = raw_ops.decode_jpeg(contents, channels=x.shape[2] or 0, dct_method=dct_method)
    return convert_image_dtype(raw_ops.ensure_shape(found, shape=x.shape), x.dtype, saturate=True)


def _check(least: Any, most: Any) -> None:
    """Check bounds of a quality.

    Raises:
        ValueError: where one is not from 0 to 100, or they do not rise.
    """
    for value, argument in ((least, "min_jpeg_quality"), (most, "max_jpeg_quality")):
        if not 0 <= value <= 100:
            raise InvalidArgumentError(f"argument '{argument}' must be from 0 to 100, got {value}")
    if least >= most:
        raise InvalidArgumentError(f"argument 'max_jpeg_quality' must be above {least}, got {most}")


@dispatched
def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> _core.Tensor:
    """Give an image as it comes out of a JPEG of a random quality.

    Args:
        image: of shape `[height, width, channels]` with 1 or 3 channels; floats go from 0 to 1.
        min_jpeg_quality: the least quality.
        max_jpeg_quality: what the quality is below.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for qualities that are not from 0 to 100 or do not rise.

    >>> import penstock as tf
    >>> tf.image.random_jpeg_quality(tf.zeros([4, 6, 3]), 75, 95).shape
    TensorShape([4, 6, 3])
    """
    _check(min_jpeg_quality, max_jpeg_quality)
    quality = random.uniform([], min_jpeg_quality, max_jpeg_quality, dtype=_core.int32, seed=seed)
    return adjust_jpeg_quality(image, quality)


@dispatched
def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: SizesLike
) -> _core.Tensor:
    """Give an image as it comes out of a JPEG of a random quality, by a seed alone.

    Args:
        image: of shape `[height, width, channels]` with 1 or 3 channels; floats go from 0 to 1.
        min_jpeg_quality: the least quality.
        max_jpeg_quality: what the quality is below.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for qualities that are not from 0 to 100 or do not rise.

    >>> import penstock as tf
    >>> tf.image.stateless_random_jpeg_quality(tf.zeros([4, 6, 3]), 75, 95, [1, 2]).shape
    TensorShape([4, 6, 3])
    """
    _check(min_jpeg_quality, max_jpeg_quality)
    quality = random.stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, dtype=_core.int32)
    return adjust_jpeg_quality(image, quality)
