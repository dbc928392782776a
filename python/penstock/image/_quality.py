"""How alike images are, and how their values change from pixel to pixel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer, known_rank, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError
from penstock.image._images import as_float, images_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock._types.aliases import IntLike, TensorLike

__all__ = ["image_gradients", "psnr", "sobel_edges", "ssim", "ssim_multiscale", "total_variation"]

_POWERS: Final = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@scoped
def total_variation(images: TensorLike, name: str | None = None) -> _core.Tensor:
    """Sum how far neighbouring pixels are apart.

    Args:
        images: of shape `[height, width, channels]`, or a batch of them.
        name: a scope for the names of its operations in a graph.

    Returns:
        A scalar, or a number for each image, of the dtype of `images`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.total_variation([[[1.0], [3.0]], [[2.0], [2.0]]]).numpy()
    np.float32(4.0)
    """
    x = images_of(images, "images")
    down = raw_ops.abs(x[..., 1:, :, :] - x[..., :-1, :, :])
    across = raw_ops.abs(x[..., 1:, :] - x[..., :-1, :])
    axes = [-3, -2, -1]
    total = raw_ops.reduce_sum(down, axes=axes, keepdims=False)
    return total + raw_ops.reduce_sum(across, axes=axes, keepdims=False)


@dispatched
def image_gradients(image: TensorLike) -> tuple[_core.Tensor, _core.Tensor]:
    """Subtract each pixel from the one below, and from the one on the right.

    Args:
        image: of shape `[batch, height, width, channels]`.

    Returns:
        Two tensors of the shape and dtype of `image`, 0 in the last row and the last column.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> dy, dx = tf.image.image_gradients(tf.reshape([1.0, 2.0, 4.0, 8.0], [1, 2, 2, 1]))
    >>> dy.numpy().ravel().tolist(), dx.numpy().ravel().tolist()
    ([3.0, 6.0, 0.0, 0.0], [1.0, 0.0, 4.0, 0.0])
    """
    x = _core._to_tensor(image)
    if len(known_rank(x)) != 4:
        raise InvalidArgumentError(f"argument 'image' must have 4 dimensions, got shape {x.shape}")
    down = raw_ops.concat([x[:, 1:] - x[:, :-1], raw_ops.zeros_like(x[:, :1])], axis=1)
    across = raw_ops.concat([x[:, :, 1:] - x[:, :, :-1], raw_ops.zeros_like(x[:, :, :1])], axis=2)
    return down, across


@dispatched
def sobel_edges(image: TensorLike) -> _core.Tensor:
    """Compute the edges of images by Sobel's filters.

    Args:
        image: of shape `[batch, height, width, channels]`, floating point.

    Returns:
        A tensor of the dtype of `image` and of shape `[batch, height, width, channels, 2]`: how values change
        down, and across. At the borders the images go on as in a mirror.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.sobel_edges(image).numpy()[0, 1, 1, 0].tolist()
    [24.0, 8.0]
    """
    x = _core._to_tensor(image)
    if len(known_rank(x)) != 4:
        raise InvalidArgumentError(f"argument 'image' must have 4 dimensions, got shape {x.shape}")
    x = raw_ops.concat([x[:, 1:2], x, x[:, -2:-1]], axis=1)
    x = raw_ops.concat([x[:, :, 1:2], x, x[:, :, -2:-1]], axis=2)
    across, down = x[:, :, :-2] + x[:, :, 1:-1] * 2.0 + x[:, :, 2:], x[:, :-2] + x[:, 1:-1] * 2.0 + x[:, 2:]
    return raw_ops.stack([across[:, 2:] - across[:, :-2], down[:, :, 2:] - down[:, :, :-2]], axis=4)


def _pair(first: Any, second: Any, names: tuple[str, str], max_val: Any) -> list[_core.Tensor]:
    """Two batches of images and the greatest value of them, as floating point.

    Raises:
        ValueError: where they have other sizes, or fewer than 3 dimensions.
    """
    x = _core._to_tensor(first)
    y = _core._to_tensor_hinted(second, x.dtype)
    dims = [known_rank(x, 3), known_rank(y, 3)]
    if any(a != b and None not in (a, b) for a, b in zip(dims[0][-3:], dims[1][-3:], strict=True)):
        raise InvalidArgumentError(
            f"arguments '{names[0]}' and '{names[1]}' must have the same height, width and channels, "
            f"got {x.shape} and {y.shape}"
        )
    greatest = raw_ops.cast(_core._to_tensor(max_val), dtype=x.dtype)
    return [raw_ops.cast(as_float(v), dtype=_core.float32) for v in (x, y, greatest)]


@scoped
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the peak signal-to-noise ratio of images, in decibels.

    Args:
        a: of shape `[..., height, width, channels]`.
        b: of a shape that broadcasts with it.
        max_val: how far the least and the greatest value of images are apart.
        name: a scope for the names of its operations in a graph.

    Returns:
        A `float32` number for each pair of images.

    Raises:
        ValueError: for images of other sizes.

    >>> import penstock as tf
    >>> tf.image.psnr([[[1.0]]], [[[0.9]]], 1.0).numpy().round(3)
    np.float32(20.0)
    """
    x, y, greatest = _pair(a, b, ("a", "b"), max_val)
    error = raw_ops.reduce_mean(raw_ops.squared_difference(x, y), axes=[-3, -2, -1], keepdims=False)
    decibel = 10.0 / math.log(10.0)
    return raw_ops.log(greatest) * (2.0 * decibel) - raw_ops.log(error) * decibel


def _blurred(x: _core.Tensor, window: list[float]) -> _core.Tensor:
    """The sums of pixels that a window weighs along the height and along the width, where it is inside."""
    count = len(window)
    height, width = sizes(x)[-3:-1]
    rows, columns = height - count + 1, width - count + 1
    sum: Any = 0.0
    for i, weight in enumerate(window):
        sum = x[..., i : i + rows, :, :] * weight + sum
    x, sum = sum, 0.0
    for i, weight in enumerate(window):
        sum = x[..., i : i + columns, :] * weight + sum
    return sum  # type: ignore[no-any-return]


def _window(size: Any, sigma: Any) -> list[float]:
    count = integer(size, "filter_size")
    weights = [math.exp(-((i - (count - 1) / 2) ** 2) / (2 * float(sigma) ** 2)) for i in range(count)]
    return [weight / sum(weights) for weight in weights]


def _similarity(
    x: _core.Tensor, y: _core.Tensor, greatest: _core.Tensor, window: list[float], k1: float, k2: float
) -> tuple[_core.Tensor, _core.Tensor]:
    """The index of each place and channel, and the part of it that brightness has no share in."""
    for size, argument in zip(known_rank(x)[-3:-1], ("height", "width"), strict=True):
        if size is not None and size < len(window):
            raise InvalidArgumentError(f"images must have a {argument} of {len(window)} or more, got {size}")
    c1, c2 = (greatest * k1) * (greatest * k1), (greatest * k2) * (greatest * k2)
    mean_x, mean_y = _blurred(x, window), _blurred(y, window)
    both, squares = mean_x * mean_y * 2.0, mean_x * mean_x + mean_y * mean_y
    bright = (both + c1) / (squares + c1)
    joint, apart = _blurred(x * y, window) * 2.0, _blurred(x * x + y * y, window)
    structure = (joint - both + c2) / (apart - squares + c2)
    return bright * structure, structure


@dispatched
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: IntLike = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> _core.Tensor:
    """Compute the structural similarity of images, by a Gaussian window.

    Args:
        img1: of shape `[..., height, width, channels]`.
        img2: of a shape that broadcasts with it.
        max_val: how far the least and the greatest value of images are apart.
        filter_size: how many pixels the window has along each side; the images have as many or more.
        filter_sigma: the standard deviation of the window.
        k1: keeps brightness stable where it is low.
        k2: keeps contrast stable where it is low.
        return_index_map: whether the index of each place is given, and not their mean.

    Returns:
        A `float32` number for each pair of images, or for each of their places; 1 where they are the same.

    Raises:
        ValueError: for images of other sizes, or smaller than the window.

    >>> import penstock as tf
    >>> image = tf.random.uniform([12, 12, 3])
    >>> tf.image.ssim(image, image, 1.0).numpy().round(4)
    np.float32(1.0)
    """
    x, y, greatest = _pair(img1, img2, ("img1", "img2"), max_val)
    index, _ = _similarity(x, y, greatest, _window(filter_size, filter_sigma), k1, k2)
    return raw_ops.reduce_mean(index, axes=[-1] if return_index_map else [-3, -2, -1], keepdims=False)


def _halved(x: _core.Tensor) -> _core.Tensor:
    """The means of two by two pixels; an odd last row or column counts twice."""
    for axis in (-3, -2):
        size = sizes(x)[axis]
        rank = len(known_rank(x))
        if not isinstance(size, int) or size % 2:
            # An even size that is not known asks for a last one, which nothing is made of.
            last = x[..., -1:, :, :] if axis == -3 else x[..., -1:, :]
            x = raw_ops.concat([x, last], axis=rank + axis)
        half = (size + 1) // 2 * 2
        even, odd = (x[..., i:half:2, :, :] if axis == -3 else x[..., i:half:2, :] for i in (0, 1))
        x = (even + odd) * 0.5
    return x


@dispatched
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _POWERS,
    filter_size: IntLike = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> _core.Tensor:
    """Compute the structural similarity of images over several sizes, each half of the one before.

    Args:
        img1: of shape `[..., height, width, channels]`.
        img2: of a shape that broadcasts with it.
        max_val: how far the least and the greatest value of images are apart.
        power_factors: the exponent of each size's part.
        filter_size: how many pixels the window has along each side; the smallest images have as many or more.
        filter_sigma: the standard deviation of the window.
        k1: keeps brightness stable where it is low.
        k2: keeps contrast stable where it is low.

    Returns:
        A `float32` number for each pair of images; 1 for images that are the same.

    Raises:
        ValueError: for images of other sizes, or where the smallest are smaller than the window.

    >>> import penstock as tf
    >>> image = tf.random.uniform([32, 32, 3])
    >>> tf.image.ssim_multiscale(image, image, 1.0, power_factors=(0.5, 0.5)).numpy().round(4)
    np.float32(1.0)
    """
    x, y, greatest = _pair(img1, img2, ("img1", "img2"), max_val)
    window = _window(filter_size, filter_sigma)
    factors = [float(factor) for factor in power_factors]
    product: Any = 1.0
    for scale, factor in enumerate(factors):
        if scale:
            x, y = _halved(x), _halved(y)
        parts = _similarity(x, y, greatest, window, k1, k2)
        part = raw_ops.reduce_mean(parts[scale != len(factors) - 1], axes=[-3, -2], keepdims=False)
        positive = raw_ops.maximum(part, _core._to_tensor(0.0))
        product = raw_ops.pow(positive, _core._to_tensor(factor)) * product
    return raw_ops.reduce_mean(product, axes=[-1], keepdims=False)
