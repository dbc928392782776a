"""Images that chance changes: by the generator of the process, or by a seed alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, random, raw_ops
from penstock._control.flow import cond
from penstock._runtime.arguments import extents, known_rank
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError
from penstock.image._color import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from penstock.image._images import images_of

if TYPE_CHECKING:
    from penstock._types.aliases import SizesLike, TensorLike

__all__ = [
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_saturation",
]


def _positive(value: Any, argument: str, most: float | None = None) -> None:
    """Check a bound.

    Raises:
        ValueError: where it is negative, or above the greatest.
    """
    if value < 0 or (most is not None and value > most):
        wanted = "not be negative" if most is None else f"be between 0 and {most}"
        raise InvalidArgumentError(f"argument '{argument}' must {wanted}, got {value}")


def _range(lower: Any, upper: Any) -> None:
    """Check two bounds.

    Raises:
        ValueError: where the lower one is negative, or not below the other.
    """
    if lower < 0:
        raise InvalidArgumentError(f"argument 'lower' must not be negative, got {lower}")
    if upper <= lower:
        raise InvalidArgumentError(f"argument 'upper' must be above {lower}, got {upper}")


def _count(x: _core.Tensor) -> Any:
    """The shape of a number for each image."""
    if len(known_rank(x)) == 3:
        return []
    return raw_ops.shape(x)[:1]


def _flipped(x: _core.Tensor, chance: _core.Tensor, axis: int) -> _core.Tensor:
    """The images: one is reversed for a number below one half, those of a batch above it, as TensorFlow's."""
    if len(known_rank(x)) == 3:
        return cond(chance < 0.5, lambda: raw_ops.reverse(x, axes=[axis - 1]), lambda: x)
    chosen = raw_ops.reshape(chance > 0.5, [-1, 1, 1, 1])
    return raw_ops.select(chosen, raw_ops.reverse(x, axes=[axis]), x)


def _room(value: Any, size: Any) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """A tensor, the sizes of a part of it, and from how many places that can start.

    Raises:
        ValueError: where the part is greater, or has another number of dimensions.
    """
    x = _core._to_tensor(value)
    part = raw_ops.cast(_core._to_tensor(extents(size, "size")), dtype=_core.int32)
    rank = len(known_rank(x))
    if not part.shape.is_compatible_with((rank,)):
        raise InvalidArgumentError(f"argument 'size' must hold {rank} sizes, got shape {part.shape}")
    room = raw_ops.shape(x) - part + 1
    known = _core._known_value(room)
    if known is not None and rank and int(known.numpy().min()) < 1:
        raise InvalidArgumentError(
            f"argument 'size' must not be above the shape of 'value', which is {x.shape}"
        )
    return x, part, room


@dispatched
def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> _core.Tensor:
    """Add one random number to all values of images.

    Args:
        image: images of any shape; integers are scaled to 0 up to 1, and back.
        max_delta: what the number and its negative are below.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for a negative `max_delta`.

    >>> import penstock as tf
    >>> tf.image.random_brightness(tf.zeros([2, 2, 1]), 0.5, seed=1).shape
    TensorShape([2, 2, 1])
    """
    _positive(max_delta, "max_delta")
    return adjust_brightness(image, random.uniform([], -max_delta, max_delta, seed=seed))


@dispatched
def stateless_random_brightness(image: TensorLike, max_delta: float, seed: SizesLike) -> _core.Tensor:
    """Add one random number to all values of images, by a seed alone.

    Args:
        image: images of any shape; integers are scaled to 0 up to 1, and back.
        max_delta: what the number and its negative are below.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for a negative `max_delta`.

    >>> import penstock as tf
    >>> tf.image.stateless_random_brightness(tf.zeros([2, 2, 1]), 0.5, [1, 2]).shape
    TensorShape([2, 2, 1])
    """
    _positive(max_delta, "max_delta")
    return adjust_brightness(image, random.stateless_uniform([], seed, -max_delta, max_delta))


@dispatched
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> _core.Tensor:
    """Turn the hues of images by a random angle.

    Args:
        image: of shape `[..., 3]`.
        max_delta: what the angle and its negative are below, up to 0.5.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another `max_delta`, or where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.random_hue(tf.zeros([2, 2, 3]), 0.5, seed=1).shape
    TensorShape([2, 2, 3])
    """
    _positive(max_delta, "max_delta", 0.5)
    return adjust_hue(image, random.uniform([], -max_delta, max_delta, seed=seed))


@dispatched
def stateless_random_hue(image: TensorLike, max_delta: float, seed: SizesLike) -> _core.Tensor:
    """Turn the hues of images by a random angle, by a seed alone.

    Args:
        image: of shape `[..., 3]`.
        max_delta: what the angle and its negative are below, up to 0.5.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another `max_delta`, or where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.stateless_random_hue(tf.zeros([2, 2, 3]), 0.5, [1, 2]).shape
    TensorShape([2, 2, 3])
    """
    _positive(max_delta, "max_delta", 0.5)
    return adjust_hue(image, random.stateless_uniform([], seed, -max_delta, max_delta))


@dispatched
def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> _core.Tensor:
    """Multiply the contrast of images by a random number.

    Args:
        image: of shape `[..., height, width, channels]`.
        lower: the least factor, not negative.
        upper: the bound of factors.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: where `lower` is negative or not below `upper`.

    >>> import penstock as tf
    >>> tf.image.random_contrast(tf.zeros([2, 2, 3]), 0.5, 1.5, seed=1).shape
    TensorShape([2, 2, 3])
    """
    _range(lower, upper)
    return adjust_contrast(image, random.uniform([], lower, upper, seed=seed))


@dispatched
def stateless_random_contrast(image: TensorLike, lower: float, upper: float, seed: SizesLike) -> _core.Tensor:
    """Multiply the contrast of images by a random number, by a seed alone.

    Args:
        image: of shape `[..., height, width, channels]`.
        lower: the least factor, not negative.
        upper: the bound of factors.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: where `lower` is negative or not below `upper`.

    >>> import penstock as tf
    >>> tf.image.stateless_random_contrast(tf.zeros([2, 2, 3]), 0.5, 1.5, [1, 2]).shape
    TensorShape([2, 2, 3])
    """
    _range(lower, upper)
    return adjust_contrast(image, random.stateless_uniform([], seed, lower, upper))


@dispatched
def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> _core.Tensor:
    """Multiply the saturation of images by a random number.

    Args:
        image: of shape `[..., 3]`.
        lower: the least factor, not negative.
        upper: the bound of factors.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: where `lower` is negative or not below `upper`.

    >>> import penstock as tf
    >>> tf.image.random_saturation(tf.zeros([2, 2, 3]), 0.5, 1.5, seed=1).shape
    TensorShape([2, 2, 3])
    """
    _range(lower, upper)
    return adjust_saturation(image, random.uniform([], lower, upper, seed=seed))


@dispatched
def stateless_random_saturation(
    image: TensorLike, lower: float, upper: float, seed: SizesLike | None = None
) -> _core.Tensor:
    """Multiply the saturation of images by a random number, by a seed alone.

    Args:
        image: of shape `[..., 3]`.
        lower: the least factor, not negative.
        upper: the bound of factors.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: where `lower` is negative or not below `upper`.

    >>> import penstock as tf
    >>> tf.image.stateless_random_saturation(tf.zeros([2, 2, 3]), 0.5, 1.5, [1, 2]).shape
    TensorShape([2, 2, 3])
    """
    if seed is None:
        raise InvalidArgumentError("argument 'seed' must be two integers, got None")
    _range(lower, upper)
    return adjust_saturation(image, random.stateless_uniform([], seed, lower, upper))


@dispatched
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> _core.Tensor:
    """Reverse images along their width, each with a probability of one half.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.random_flip_left_right(tf.zeros([2, 2, 3]), seed=1).shape
    TensorShape([2, 2, 3])
    """
    x = images_of(image)
    count = _count(x)
    return _flipped(x, random.uniform(count, 0.0, 1.0, seed=seed), 2)


@dispatched
def stateless_random_flip_left_right(image: TensorLike, seed: SizesLike) -> _core.Tensor:
    """Reverse images along their width, each with a probability of one half, by a seed alone.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.stateless_random_flip_left_right(tf.zeros([2, 2, 3]), [1, 2]).shape
    TensorShape([2, 2, 3])
    """
    x = images_of(image)
    count = _count(x)
    return _flipped(x, random.stateless_uniform(count, seed, 0.0, 1.0), 2)


@dispatched
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> _core.Tensor:
    """Reverse images along their height, each with a probability of one half.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        seed: makes the sequence of results repeatable.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.random_flip_up_down(tf.zeros([2, 2, 3]), seed=1).shape
    TensorShape([2, 2, 3])
    """
    x = images_of(image)
    count = _count(x)
    return _flipped(x, random.uniform(count, 0.0, 1.0, seed=seed), 1)


@dispatched
def stateless_random_flip_up_down(image: TensorLike, seed: SizesLike) -> _core.Tensor:
    """Reverse images along their height, each with a probability of one half, by a seed alone.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        seed: two integers, which the result depends on alone.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.stateless_random_flip_up_down(tf.zeros([2, 2, 3]), [1, 2]).shape
    TensorShape([2, 2, 3])
    """
    x = images_of(image)
    count = _count(x)
    return _flipped(x, random.stateless_uniform(count, seed, 0.0, 1.0), 1)


@scoped
def random_crop(
    value: TensorLike, size: SizesLike, seed: int | None = None, name: str | None = None
) -> _core.Tensor:
    """Give a part of a tensor, from a random place.

    Args:
        value: the tensor.
        size: the sizes of the part, one for each dimension.
        seed: makes the sequence of results repeatable.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `value` and of shape `size`.

    Raises:
        ValueError: for a size that is greater than the tensor's, or another number of sizes.

    >>> import penstock as tf
    >>> tf.image.random_crop(tf.zeros([4, 4, 3]), [2, 2, 3], seed=1).shape
    TensorShape([2, 2, 3])
    """
    x, part, room = _room(value, size)
    rank = len(known_rank(x))
    offset = raw_ops.floormod(random.uniform([rank], 0, 2**31 - 1, _core.int32, seed=seed), room)
    return raw_ops.slice(x, offset, part)


@scoped
def stateless_random_crop(
    value: TensorLike, size: SizesLike, seed: SizesLike, name: str | None = None
) -> _core.Tensor:
    """Give a part of a tensor, from a random place, by a seed alone.

    Args:
        value: the tensor.
        size: the sizes of the part, one for each dimension.
        seed: two integers, which the result depends on alone.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `value` and of shape `size`.

    Raises:
        ValueError: for a size that is greater than the tensor's, or another number of sizes.

    >>> import penstock as tf
    >>> tf.image.stateless_random_crop(tf.zeros([4, 4, 3]), [2, 2, 3], [1, 2]).shape
    TensorShape([2, 2, 3])
    """
    x, part, room = _room(value, size)
    rank = len(known_rank(x))
    offset = raw_ops.floormod(random.stateless_uniform([rank], seed, 0, 2**31 - 1, _core.int32), room)
    return raw_ops.slice(x, offset, part)
