"""`tf.image` of TensorFlow 1: sizes by the corners of pixels; the rest is version 2's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock import _core, image as current, raw_ops
from penstock._ops.arrangement import stack
from penstock._ops.casts import cast
from penstock._ops.elementwise import maximum, rint, round as rounded
from penstock._ops.reductions import reduce_min
from penstock._ops.shapes import shape
from penstock._runtime.conversion import convert_to_tensor
from penstock._runtime.scope import get_static_value
from penstock.compat.v1._parameters import PARAMETERS, old_function
from penstock.errors import InvalidArgumentError
from penstock.image._images import batched, images_of

if TYPE_CHECKING:
    from penstock._types.aliases import SizesLike, TensorLike

__all__ = [
    "ResizeMethod",
    "extract_image_patches",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
]


class ResizeMethod:
    """How the pixels of images of other sizes are computed.

    >>> import penstock as tf
    >>> tf.compat.v1.image.ResizeMethod.BICUBIC
    2
    """

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_OPERATORS: Final[dict[Any, str]] = {
    ResizeMethod.BILINEAR: "ResizeBilinear",
    ResizeMethod.NEAREST_NEIGHBOR: "ResizeNearestNeighbor",
    ResizeMethod.BICUBIC: "ResizeBicubic",
    ResizeMethod.AREA: "ResizeArea",
    "bilinear": "ResizeBilinear",
    "nearest": "ResizeNearestNeighbor",
    "bicubic": "ResizeBicubic",
    "area": "ResizeArea",
}


def resize_images(
    images: TensorLike,
    size: SizesLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Give images another size, where pixels begin at their corners, as in TensorFlow 1.

    Args:
        images: of shape `[height, width, channels]`, or a batch of them.
        size: the new height and width.
        method: one of `ResizeMethod`, or of the methods of `tf.image.resize` of the same names.
        align_corners: whether the pixels at the corners keep their places and values.
        preserve_aspect_ratio: whether `size` bounds the new size, with the ratio of the old one.
        name: a scope for the names of its operations in a graph.

    Returns:
        Images of `float32`; of the dtype of `images` where the method takes the nearest pixel, or where the
        size is the same.

    Raises:
        ValueError: for another method, or another rank.

    >>> import penstock as tf
    >>> tf.compat.v1.image.resize_images([[[0.0], [2.0]]], [1, 4]).numpy().ravel()
    array([0., 1., 2., 2.], dtype=float32)
    """
    operator = _OPERATORS.get(method)
    if operator is None:
        raise InvalidArgumentError(f"argument 'method' must be one of ResizeMethod, got {method!r}")
    x = images_of(images)
    extents = x.shape[-3:-1]
    wanted = convert_to_tensor(size, _core.int32)
    if preserve_aspect_ratio:
        old = cast(shape(x)[-3:-1], _core.float32)
        scale = reduce_min(cast(wanted, _core.float32) / old)
        wanted = cast(rounded(old * scale), _core.int32)
    known = get_static_value(wanted)
    if known is not None and known.tolist() == [*extents]:
        return x
    resized: Any = getattr(raw_ops, operator)
    return batched(x, lambda b: resized(images=b, size=wanted, align_corners=align_corners, name=name))


resize = resize_images


def _resized(
    operator: str, images: Any, size: Any, align_corners: bool, half_pixel_centers: bool, name: str | None
) -> _core.Tensor:
    options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers, "name": name}
    made: _core.Tensor = getattr(raw_ops, operator)(images=images, size=size, **options)
    return made


def resize_bilinear(
    images: TensorLike,
    size: SizesLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> _core.Tensor:
    """Give a batch of images another size, by the weighted mean of the four pixels around each place.

    Args:
        images: of shape `[batch, height, width, channels]`.
        size: the new height and width.
        align_corners: whether the pixels at the corners keep their places and values.
        name: a scope for the names of its operations in a graph.
        half_pixel_centers: whether the centres of pixels keep their places, as in version 2.

    Returns:
        Images of `float32`.

    >>> import penstock as tf
    >>> tf.compat.v1.image.resize_bilinear([[[[0.0], [2.0]]]], [1, 3], align_corners=True).numpy().ravel()
    array([0., 1., 2.], dtype=float32)
    """
    return _resized("ResizeBilinear", images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: TensorLike,
    size: SizesLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> _core.Tensor:
    """Give a batch of images another size, by the nearest pixel.

    Args:
        images: of shape `[batch, height, width, channels]`.
        size: the new height and width.
        align_corners: whether the pixels at the corners keep their places.
        name: a scope for the names of its operations in a graph.
        half_pixel_centers: whether the centres of pixels keep their places, as in version 2.

    Returns:
        Images of the dtype of `images`.

    >>> import penstock as tf
    >>> tf.compat.v1.image.resize_nearest_neighbor([[[[1], [2]]]], [1, 4]).numpy().ravel()
    array([1, 1, 2, 2], dtype=int32)
    """
    return _resized("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: TensorLike,
    size: SizesLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> _core.Tensor:
    """Give a batch of images another size, by cubic polynomials of the pixels around each place.

    Args:
        images: of shape `[batch, height, width, channels]`.
        size: the new height and width.
        align_corners: whether the pixels at the corners keep their places and values.
        name: a scope for the names of its operations in a graph.
        half_pixel_centers: whether the centres of pixels keep their places, as in version 2.

    Returns:
        Images of `float32`.

    >>> import penstock as tf
    >>> tf.compat.v1.image.resize_bicubic([[[[0.0], [2.0]]]], [1, 1]).numpy().ravel()
    array([0.], dtype=float32)
    """
    return _resized("ResizeBicubic", images, size, align_corners, half_pixel_centers, name)


def resize_area(
    images: TensorLike, size: SizesLike, align_corners: bool = False, name: str | None = None
) -> _core.Tensor:
    """Give a batch of images another size, by the mean of what each new pixel covers.

    Args:
        images: of shape `[batch, height, width, channels]`.
        size: the new height and width.
        align_corners: whether the pixels at the corners keep their places.
        name: a scope for the names of its operations in a graph.

    Returns:
        Images of `float32`.

    >>> import penstock as tf
    >>> tf.compat.v1.image.resize_area([[[[0.0], [2.0]]]], [1, 1]).numpy().ravel()
    array([1.], dtype=float32)
    """
    made: _core.Tensor = raw_ops.ResizeArea(images=images, size=size, align_corners=align_corners, name=name)
    return made


def resize_image_with_pad(
    image: TensorLike,
    target_height: int | _core.Tensor,
    target_width: int | _core.Tensor,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> _core.Tensor:
    """Resize images so that they fit into a size as they are, with zeros around.

    Args:
        image: an image, [height, width, channels], or a batch of them.
        target_height: the height.
        target_width: the width.
        method: how the pixels are computed, of `ResizeMethod`.
        align_corners: whether the centres of the corners stay where they are.

    Returns:
        The image or images, of `float32` unless pixels are the nearest.

    Raises:
        ValueError: where it is no image.

    >>> import penstock as tf
    >>> tf.compat.v1.image.resize_image_with_pad(tf.ones([1, 2, 1]), 2, 2)[..., 0].numpy().tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    pixels = _core._to_tensor(image)
    if pixels.shape.rank not in (3, 4):
        raise InvalidArgumentError(f"argument 'image' must be of rank 3 or 4, got shape {pixels.shape}")
    extents = cast(shape(pixels)[-3:-1], "float64")
    most = cast(stack([target_height, target_width]), "float64")
    part = reduce_min(most / extents)
    size = maximum(cast(rint(extents * part), "int32"), 1)
    found = resize_images(pixels, size, method, align_corners)
    before = (cast(most, "int32") - size) // 2
    return current.pad_to_bounding_box(found, before[0], before[1], target_height, target_width)


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> _core.Tensor:
    """Give rectangles of images, as `tf.image.extract_patches`.

    Args:
        images: of shape `[batch, height, width, channels]`.
        ksizes: the size of a rectangle in each dimension.
        strides: how far apart they begin.
        rates: how far apart their pixels are.
        padding: `"SAME"` or `"VALID"`.
        name: a scope for the names of its operations in a graph.
        sizes: the same as `ksizes`.

    Returns:
        A tensor of shape `[batch, rows, columns, elements]`.

    >>> import penstock as tf
    >>> images, ones = tf.ones([1, 4, 4, 1]), [1, 1, 1, 1]
    >>> tf.compat.v1.image.extract_image_patches(images, [1, 2, 2, 1], ones, ones, "VALID").shape
    TensorShape([1, 3, 3, 4])
    """
    extents: Any = ksizes if sizes is None else sizes
    given: tuple[Any, Any, Any] = (strides, rates, padding)
    return current.extract_patches(images, extents, *given, name=name)


# Names for which others are used now, with the same parameters.
_RENAMED: Final = {
    "resize_image_with_crop_or_pad": "resize_with_crop_or_pad",
    "transpose_image": "transpose",
}


def __getattr__(name: str) -> object:
    name = _RENAMED.get(name, name)
    path = f"image.{name}"
    return old_function(path) if path in PARAMETERS else getattr(current, name)
