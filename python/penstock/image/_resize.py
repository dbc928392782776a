"""Images of other sizes.

A pixel of a resized image is a sum, along each dimension on its own: it lies somewhere among those of the
image, and a kernel of the distance says what each of them counts. Where the kernel reaches few pixels they
are gathered, one after the other; where it reaches many, or nobody knows how many, the sums are a product
of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock import _core, raw_ops
from penstock._runtime.arguments import extents, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.image._geometry import pad_to_bounding_box
from penstock.image._images import batched, images_of

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, SizesLike, TensorLike

__all__ = ["ResizeMethod", "resize", "resize_with_pad"]

# How many columns of a matrix are multiplied in the time in which a pixel is gathered and added.
_COLUMNS: Final = 64


class ResizeMethod:
    """The methods of `resize`."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


class _Kernel(NamedTuple):
    """What pixels count by their distance, which is below `radius`."""

    radius: float
    weight: Callable[[_core.Tensor], _core.Tensor]


def _where(condition: Any, x: Any, y: Any) -> _core.Tensor:
    return raw_ops.select(condition, x, y)


def _triangle(x: _core.Tensor) -> _core.Tensor:
    return 1.0 - x


def _gaussian(x: _core.Tensor) -> _core.Tensor:
    return raw_ops.exp(x * x * -2.0)


def _lanczos(radius: float) -> _Kernel:
    def weight(x: _core.Tensor) -> _core.Tensor:
        near = x <= 1e-3
        angle = _where(near, raw_ops.ones_like(x), x) * math.pi
        wave = radius * raw_ops.sin(angle) * raw_ops.sin(angle / radius) / (angle * angle)
        return _where(near, raw_ops.ones_like(x), wave)

    return _Kernel(radius, weight)


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> _Kernel:
    """Polynomials, from the highest power down, for distances below 1 and below 2."""

    def value(x: _core.Tensor, factors: tuple[float, ...]) -> _core.Tensor:
        sum = raw_ops.zeros_like(x) + factors[0]
        for factor in factors[1:]:
            sum = sum * x + factor
        return sum

    return _Kernel(2.0, lambda x: _where(x < 1.0, value(x, near), value(x, far)))


_KERNELS: Final = {
    "bilinear": _Kernel(1.0, _triangle),
    "bicubic": _cubic((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0)),
    "mitchellcubic": _cubic((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9)),
    "gaussian": _Kernel(1.5, _gaussian),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}
# Those that change images of the same size.
_BLURRING: Final = ("gaussian", "mitchellcubic")
_METHODS: Final = ("area", "nearest", *_KERNELS)


def _number(size: Any) -> Any:
    """A size as a number to compute with: a float, or a tensor."""
    return float(size) if isinstance(size, int) else raw_ops.cast(size, dtype=_core.float32)


def _positions(count: Any) -> _core.Tensor:
    end = _core._to_tensor(count, _core.int32) if isinstance(count, int) else count
    zero, one = _core._to_tensor(0, end.dtype), _core._to_tensor(1, end.dtype)
    return raw_ops.cast(raw_ops.range(zero, end, one), dtype=_core.float32)


def _weights(
    at: _core.Tensor, size: Any, out: Any, method: str, antialias: bool
) -> tuple[_core.Tensor, Callable[[_core.Tensor], _core.Tensor], float | None]:
    """Where the first pixel that counts lies, what pixels count, and how many do where that is known."""
    count, wanted = _number(size), _number(out)
    scale = count / wanted
    known = isinstance(scale, float)
    if method == "area":
        first = at * scale

        def covered(pixels: _core.Tensor) -> _core.Tensor:
            end = raw_ops.minimum(pixels + 1.0, first + scale)
            reached = raw_ops.maximum(end - raw_ops.maximum(pixels, first), _core._to_tensor(0.0))
            return raw_ops.div(reached, _core._to_tensor(scale))

        return raw_ops.floor(first), covered, math.ceil(scale) + 1 if known else None
    kernel = _KERNELS[method]
    wide: Any = 1.0
    if antialias:
        wide = max(scale, 1.0) if known else raw_ops.maximum(scale, _core._to_tensor(1.0))
    middle = (at + 0.5) * scale
    if method == "bicubic" and not antialias:
        # TensorFlow reads this kernel from a table.
        whole = raw_ops.floor(middle - 0.5)
        middle = whole + raw_ops.rint((middle - 0.5 - whole) * 1024.0) / 1024.0 + 0.5

    def counted(pixels: _core.Tensor) -> _core.Tensor:
        distance = raw_ops.abs(pixels + 0.5 - middle) / wide
        inside = raw_ops.logical_and(
            distance < kernel.radius, raw_ops.logical_and(pixels >= 0.0, pixels < count)
        )
        weight = _where(inside, kernel.weight(distance), raw_ops.zeros_like(distance))
        return weight / raw_ops.reduce_sum(weight, axes=[1], keepdims=True)

    # The pixels at a distance below this, which are at most twice as many as it says.
    reach = kernel.radius * wide
    return raw_ops.floor(middle - reach + 0.5), counted, math.ceil(2 * reach) if known else None


def _along(x: _core.Tensor, axis: int, out: Any, method: str, antialias: bool) -> _core.Tensor:
    """A batch of images with `out` pixels along a dimension."""
    size = sizes(x, 4)[axis]
    if isinstance(size, int) and isinstance(out, int) and size == out and method not in _BLURRING:
        return x
    at = raw_ops.expand_dims(_positions(out), axis=1)
    if method == "nearest":
        found = raw_ops.floor((at + 0.5) * (_number(size) / _number(out)))
        last = _core._to_tensor(_number(size) - 1.0)
        index = raw_ops.cast(raw_ops.minimum(found, last), dtype=_core.int32)
        return raw_ops.gather(x, raw_ops.squeeze(index, axes=[1]), axis=axis)
    first, weights, reach = _weights(at, size, out, method, antialias)
    if reach is None or reach > size or reach * _COLUMNS >= size:
        matrix = weights(raw_ops.expand_dims(_positions(size), axis=0))
        if axis == 2:
            x = raw_ops.transpose(x, perm=[0, 2, 1, 3])
        batch, rows, columns, channels = sizes(x)
        flat = raw_ops.reshape(x, extents([batch, rows, columns * channels]))
        x = raw_ops.reshape(raw_ops.matmul(matrix, flat), extents([batch, out, columns, channels]))
        return raw_ops.transpose(x, perm=[0, 2, 1, 3]) if axis == 2 else x
    pixels = first + raw_ops.expand_dims(_positions(int(reach)), axis=0)
    matrix = weights(pixels)
    index = raw_ops.cast(
        raw_ops.minimum(
            raw_ops.maximum(pixels, _core._to_tensor(0.0)), _core._to_tensor(_number(size) - 1.0)
        ),
        dtype=_core.int32,
    )
    shape = [1, out, 1, 1] if axis == 1 else [1, 1, out, 1]
    sum: Any = None
    for tap in range(int(reach)):
        term = raw_ops.gather(x, index[:, tap], axis=axis) * raw_ops.reshape(matrix[:, tap], extents(shape))
        sum = term if sum is None else sum + term
    return sum  # type: ignore[no-any-return]


@scoped
def resize(
    images: TensorLike,
    size: SizesLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> _core.Tensor:
    """Resize images.

    Args:
        images: of shape `[height, width, channels]`, or a batch of them.
        size: the new height and width.
        method: one of `ResizeMethod`.
        preserve_aspect_ratio: whether the images keep their form and `size` is the most that they take.
        antialias: whether all pixels count where images become smaller. It says nothing for `"nearest"` and
            `"area"`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The images, `float32`; of the dtype of `images` by `"nearest"`.

    Raises:
        ValueError: for another method, another rank, or a size that is not of two positive numbers.

    >>> import penstock as tf
    >>> image = tf.reshape([0.0, 1.0, 2.0, 3.0], [2, 2, 1])
    >>> tf.image.resize(image, [2, 4]).numpy()[..., 0].tolist()
    [[0.0, 0.25, 0.75, 1.0], [2.0, 2.25, 2.75, 3.0]]
    """
    x = images_of(images, "images")
    way = getattr(method, "value", method)
    if way not in _METHODS:
        raise InvalidArgumentError(f"argument 'method' must be one of {', '.join(_METHODS)}, got {method!r}")
    height, width = sizes(x)[-3:-1]
    rows, columns = _size(size)
    if preserve_aspect_ratio:
        rows, columns = _fitting(height, width, rows, columns)
    if all(isinstance(n, int) for n in (height, width, rows, columns)) and (height, width) == (rows, columns):
        return x if way == "nearest" else raw_ops.cast(x, dtype=_core.float32)

    def resized(batch: _core.Tensor) -> _core.Tensor:
        if way != "nearest":
            batch = raw_ops.cast(batch, dtype=_core.float32)
        # Columns take more time than rows: they are made where there are fewer.
        more = isinstance(height, int) and isinstance(rows, int) and rows > height
        for axis, out in ((2, columns), (1, rows)) if more else ((1, rows), (2, columns)):
            batch = _along(batch, axis, out, way, antialias)
        return batch

    return batched(x, resized)


def _size(size: Any) -> list[Any]:
    """The two sizes, ints where they are known.

    Raises:
        ValueError: where there are not two, or one is not positive.
    """
    vector = _core._to_tensor(extents(size, "size"))
    if vector.shape.rank != 1 or vector.shape[0] not in (2, None):
        raise InvalidArgumentError(
            f"argument 'size' must hold a height and a width, got shape {vector.shape}"
        )
    if not vector.dtype.is_integer:
        raise DTypeError(f"argument 'size' must hold integers, got dtype {vector.dtype.name}")
    known = _core._known_value(vector)
    if known is None:
        return [vector[0], vector[1]]
    found: list[int] = known.numpy().tolist()
    if min(found) <= 0:
        raise InvalidArgumentError(f"argument 'size' must hold positive numbers, got {found}")
    return found


def _fitting(height: Any, width: Any, rows: Any, columns: Any) -> list[Any]:
    """The greatest size of the form of an image that is within another."""
    floats = [_core._to_tensor(_number(n)) for n in (height, width, rows, columns)]
    scale = raw_ops.minimum(floats[2] / floats[0], floats[3] / floats[1])
    found = [raw_ops.cast(raw_ops.rint(scale * n), dtype=_core.int32) for n in floats[:2]]
    known = [_core._known_value(n) for n in found]
    return [n if k is None else int(k.numpy()) for n, k in zip(found, known, strict=True)]


@dispatched
def resize_with_pad(
    image: TensorLike,
    target_height: IntLike,
    target_width: IntLike,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> _core.Tensor:
    """Resize images, keeping their form, and put zeros around them up to a size.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        target_height: the height of the result.
        target_width: the width of the result.
        method: one of `ResizeMethod`.
        antialias: as for `resize`.

    Returns:
        The images, `float32`; of the dtype of `image` by `"nearest"`.

    Raises:
        ValueError: for another method or rank, or sizes that are not positive.

    >>> import penstock as tf
    >>> tf.image.resize_with_pad(tf.ones([1, 2, 1]), 4, 4).numpy()[..., 0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    x = images_of(image)
    rows, columns = _size([target_height, target_width])
    height, width = sizes(x)[-3:-1]
    floats = [_core._to_tensor(_number(n)) for n in (height, width, rows, columns)]
    ratio = raw_ops.maximum(floats[0] / floats[2], floats[1] / floats[3])
    fitting = [n / ratio for n in floats[:2]]
    before = [
        raw_ops.cast(
            raw_ops.maximum(raw_ops.floor((all - n) / 2.0), _core._to_tensor(0.0)), dtype=_core.int32
        )
        for all, n in zip(floats[2:], fitting, strict=True)
    ]
    whole = raw_ops.cast(raw_ops.floor(raw_ops.stack(fitting, axis=0)), dtype=_core.int32)
    inside = resize(x, whole, method, antialias=antialias)
    return pad_to_bounding_box(inside, before[0], before[1], rows, columns)
