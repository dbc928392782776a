"""Colours of images: spaces of them, and how bright, strong and far apart they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock import _core, raw_ops
from penstock._runtime.arguments import known_rank, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError
from penstock.image._images import as_float, images_of, like

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "per_image_standardization",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

_GRAY: Final = [[0.2989], [0.587], [0.114]]
_YIQ: Final = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_OF_YIQ: Final = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_YUV: Final = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_OF_YUV: Final = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def _colours(value: Any, argument: str, count: int = 3) -> _core.Tensor:
    """A tensor whose last dimension is of colours.

    Raises:
        ValueError: where it has another size.
    """
    x = _core._to_tensor(value)
    dims = known_rank(x, 1)
    if dims[-1] not in (count, None):
        raise InvalidArgumentError(f"argument '{argument}' must have {count} channel(s), got shape {x.shape}")
    return x


def _mixed(x: _core.Tensor, matrix: list[list[float]]) -> _core.Tensor:
    """Colours that are sums of the colours."""
    if len(known_rank(x)) == 1:
        return raw_ops.squeeze(_mixed(raw_ops.expand_dims(x, axis=0), matrix), axes=[0])
    return raw_ops.matmul(x, _core._to_tensor(matrix, x.dtype))


@scoped
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> _core.Tensor:
    """Convert colours to how bright they are.

    Args:
        images: of shape `[..., 3]`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `images` and of shape `[..., 1]`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.rgb_to_grayscale([[1.0, 0.0, 0.0]]).numpy().round(4).tolist()
    [[0.2989000082015991]]
    """
    x = _colours(images, "images")
    return like(_mixed(as_float(x), _GRAY), x, saturate=False)


@dispatched
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> _core.Tensor:
    """Repeat the one channel of images three times.

    Args:
        images: of shape `[..., 1]`.
        name: a name for the result in a graph.

    Returns:
        A tensor of the dtype of `images` and of shape `[..., 3]`.

    Raises:
        ValueError: where there is more than a channel.

    >>> import penstock as tf
    >>> tf.image.grayscale_to_rgb([[7]]).numpy().tolist()
    [[7, 7, 7]]
    """
    x = _colours(images, "images", 1)
    return raw_ops.tile(x, [*[1] * (len(known_rank(x)) - 1), 3], name=name)


@dispatched
def rgb_to_yiq(images: TensorLike) -> _core.Tensor:
    """Convert images from RGB to YIQ, the space of NTSC.

    Args:
        images: floating point of shape `[..., 3]`, values from 0 up to 1.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.rgb_to_yiq([[1.0, 1.0, 1.0]]).numpy().round(3)[0, 0]
    np.float32(1.0)
    """
    return _mixed(_colours(images, "images"), _YIQ)


@dispatched
def yiq_to_rgb(images: TensorLike) -> _core.Tensor:
    """Convert images from YIQ to RGB.

    Args:
        images: floating point of shape `[..., 3]`.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.yiq_to_rgb([[0.5, 0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.5, 0.5]]
    """
    return _mixed(_colours(images, "images"), _OF_YIQ)


@dispatched
def rgb_to_yuv(images: TensorLike) -> _core.Tensor:
    """Convert images from RGB to YUV, the space of PAL.

    Args:
        images: floating point of shape `[..., 3]`, values from 0 up to 1.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.rgb_to_yuv([[1.0, 1.0, 1.0]]).numpy().round(3)[0, 0]
    np.float32(1.0)
    """
    return _mixed(_colours(images, "images"), _YUV)


@dispatched
def yuv_to_rgb(images: TensorLike) -> _core.Tensor:
    """Convert images from YUV to RGB.

    Args:
        images: floating point of shape `[..., 3]`.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.yuv_to_rgb([[0.5, 0.0, 0.0]]).numpy().tolist()
    [[0.5, 0.5, 0.5]]
    """
    return _mixed(_colours(images, "images"), _OF_YUV)


@dispatched
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> _core.Tensor:
    """Convert images from RGB to hue, saturation and value.

    Args:
        images: floating point of shape `[..., 3]`, values from 0 up to 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `images`, values from 0 up to 1.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.rgb_to_hsv([[0.0, 0.5, 0.5]]).numpy().tolist()
    [[0.5, 1.0, 0.5]]
    """
    x = _colours(images, "images")
    red, green, blue = (x[..., i] for i in range(3))
    value = raw_ops.reduce_max(x, axes=[-1], keepdims=False)
    span = value - raw_ops.reduce_min(x, axes=[-1], keepdims=False)
    none, one = raw_ops.zeros_like(value), raw_ops.ones_like(value)
    coloured, bright = span > 0.0, value > 0.0
    sixth = 1.0 / (6.0 * raw_ops.select(coloured, span, one))
    hue = raw_ops.select(
        raw_ops.equal(red, value),
        sixth * (green - blue),
        raw_ops.select(
            raw_ops.equal(green, value),
            sixth * (blue - red) + 2.0 / 6.0,
            sixth * (red - green) + 4.0 / 6.0,
        ),
    )
    hue = raw_ops.select(coloured, raw_ops.select(hue < 0.0, hue + 1.0, hue), none)
    saturation = raw_ops.select(bright, span / raw_ops.select(bright, value, one), none)
    return raw_ops.stack([hue, saturation, value], axis=len(known_rank(x)) - 1, name=name)


@dispatched
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> _core.Tensor:
    """Convert images from hue, saturation and value to RGB.

    Args:
        images: floating point of shape `[..., 3]`, values from 0 up to 1.
        name: a name for the result in a graph.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.hsv_to_rgb([[0.5, 1.0, 1.0]]).numpy().tolist()
    [[0.0, 1.0, 1.0]]
    """
    x = _colours(images, "images")
    hue, saturation, value = (x[..., i] for i in range(3))
    zero, one = _core._to_tensor(0.0, x.dtype), _core._to_tensor(1.0, x.dtype)
    around = hue * 6.0
    parts = (
        raw_ops.abs(around - 3.0) - 1.0,
        2.0 - raw_ops.abs(around - 2.0),
        2.0 - raw_ops.abs(around - 4.0),
    )
    mixed = [
        (1.0 - saturation + saturation * raw_ops.minimum(raw_ops.maximum(part, zero), one)) * value
        for part in parts
    ]
    return raw_ops.stack(mixed, axis=len(known_rank(x)) - 1, name=name)


@dispatched
def adjust_brightness(image: TensorLike, delta: TensorLike) -> _core.Tensor:
    """Add a number to all values of images.

    Args:
        image: images of any shape; integers are scaled to 0 up to 1, and back.
        delta: what is added.

    Returns:
        A tensor of the shape and dtype of `image`; integers saturate.

    >>> import penstock as tf
    >>> tf.image.adjust_brightness([0.25, 0.5], 0.25).numpy().tolist()
    [0.5, 0.75]
    """
    x = _core._to_tensor(image)
    real = as_float(x)
    return like(real + _of(delta, real), x)


def _of(value: Any, x: _core.Tensor) -> _core.Tensor:
    return raw_ops.cast(_core._to_tensor(value), dtype=x.dtype)


@dispatched
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> _core.Tensor:
    """Multiply how far values are from the mean of their image and channel.

    Args:
        images: of shape `[..., height, width, channels]`; integers are scaled to 0 up to 1, and back.
        contrast_factor: what is multiplied by.

    Returns:
        A tensor of the shape and dtype of `images`; integers saturate.

    Raises:
        ValueError: for fewer dimensions.

    >>> import penstock as tf
    >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().tolist()
    [[[0.0], [4.0]]]
    """
    x = _core._to_tensor(images)
    known_rank(x, 3)
    real = as_float(x)
    wide = raw_ops.cast(real, dtype=_core.float32)
    mean = raw_ops.reduce_mean(wide, axes=[-3, -2], keepdims=True)
    return like(raw_ops.cast((wide - mean) * _of(contrast_factor, wide) + mean, dtype=real.dtype), x)


@dispatched
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> _core.Tensor:
    """Give `gain * image ** gamma`.

    Args:
        image: images of any shape; integers are scaled to 0 up to 1, and back.
        gamma: the exponent, not negative.
        gain: the factor.

    Returns:
        A tensor of the shape and dtype of `image`; integers saturate.

    Raises:
        ValueError: for a negative `gamma`.

    >>> import penstock as tf
    >>> tf.image.adjust_gamma([0.5, 1.0], 2.0).numpy().tolist()
    [0.25, 1.0]
    """
    x = _core._to_tensor(image)
    real = as_float(x)
    exponent = _of(gamma, real)
    known = _core._known_value(exponent)
    if known is not None and float(known.numpy()) < 0:
        raise InvalidArgumentError(f"argument 'gamma' must not be negative, got {float(known.numpy())}")
    return like(_of(gain, real) * raw_ops.pow(real, exponent), x)


@scoped
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> _core.Tensor:
    """Turn the hues of images.

    Args:
        image: of shape `[..., 3]`; integers are scaled to 0 up to 1, and back.
        delta: how far, 1 being all the way round.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: where there are not three channels, or for a `delta` beyond -1 and 1.

    >>> import penstock as tf
    >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 0.5).numpy().round(4).tolist()
    [[[0.0, 1.0, 1.0]]]
    """
    x = _colours(image, "image")
    real = as_float(x)
    turn = _of(delta, real)
    known = _core._known_value(turn)
    if known is not None and not -1 <= float(known.numpy()) <= 1:
        raise InvalidArgumentError(f"argument 'delta' must be from -1 to 1, got {float(known.numpy()):g}")
    hsv = rgb_to_hsv(real)
    hue = raw_ops.floormod(hsv[..., 0:1] + turn, _core._to_tensor(1.0, real.dtype))
    turned = hsv_to_rgb(raw_ops.concat([hue, hsv[..., 1:]], axis=len(known_rank(x)) - 1))
    return like(turned, x)


@scoped
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> _core.Tensor:
    """Multiply the saturation of images, up to 1.

    Args:
        image: of shape `[..., 3]`; integers are scaled to 0 up to 1, and back.
        saturation_factor: what is multiplied by.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: where there are not three channels.

    >>> import penstock as tf
    >>> tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 2.0).numpy().tolist()
    [[[1.0, 0.0, 0.0]]]
    """
    x = _colours(image, "image")
    real = as_float(x)
    hsv = rgb_to_hsv(real)
    more = hsv[..., 1:2] * _of(saturation_factor, real)
    zero, one = _core._to_tensor(0.0, real.dtype), _core._to_tensor(1.0, real.dtype)
    clipped = raw_ops.minimum(raw_ops.maximum(more, zero), one)
    mixed = hsv_to_rgb(raw_ops.concat([hsv[..., 0:1], clipped, hsv[..., 2:]], axis=len(known_rank(x)) - 1))
    return like(mixed, x)


@dispatched
def per_image_standardization(image: TensorLike) -> _core.Tensor:
    """Scale each image to a mean of 0 and a variance of 1.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.

    Returns:
        A `float32` tensor of the shape of `image`. The standard deviation that is divided by is at least one
        over the root of the number of values.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().tolist()
    [[[-1.0], [1.0]]]
    """
    x = images_of(image)
    real = raw_ops.cast(x, dtype=_core.float32)
    axes = [-3, -2, -1]
    height, width, channels = sizes(x)[-3:]
    count = raw_ops.cast(_core._to_tensor(height * width * channels), dtype=real.dtype)
    centred = real - raw_ops.reduce_mean(real, axes=axes, keepdims=True)
    deviation = raw_ops.sqrt(raw_ops.reduce_mean(centred * centred, axes=axes, keepdims=True))
    return centred / raw_ops.maximum(deviation, raw_ops.rsqrt(count))
