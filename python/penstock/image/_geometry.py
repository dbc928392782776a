"""Parts of images, and images that are turned, mirrored and padded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._control.flow import switch_case
from penstock._ops.arrangement import pad
from penstock._ops.creation import zeros
from penstock._runtime.arguments import extents, integer, items, known_rank, named, sizes
from penstock._runtime.dispatch import dispatched
from penstock._runtime.scope import scoped
from penstock._types.argument_names import shown
from penstock.errors import InvalidArgumentError
from penstock.image._images import batched, images_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock._types.aliases import IntLike, TensorLike

__all__ = [
    "central_crop",
    "crop_to_bounding_box",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "pad_to_bounding_box",
    "resize_with_crop_or_pad",
    "rot90",
    "transpose",
]


@dispatched
def flip_left_right(image: TensorLike) -> _core.Tensor:
    """Reverse images along their width.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.flip_left_right([[[1], [2]]]).numpy().tolist()
    [[[2], [1]]]
    """
    x = images_of(image)
    return raw_ops.reverse(x, axes=[len(known_rank(x)) - 2])


@dispatched
def flip_up_down(image: TensorLike) -> _core.Tensor:
    """Reverse images along their height.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.

    Returns:
        A tensor of the shape and dtype of `image`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.flip_up_down([[[1]], [[2]]]).numpy().tolist()
    [[[2]], [[1]]]
    """
    x = images_of(image)
    return raw_ops.reverse(x, axes=[len(known_rank(x)) - 3])


@dispatched
def transpose(image: TensorLike, name: str | None = None) -> _core.Tensor:
    """Permute the height and the width of images.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        name: a name for the result in a graph.

    Returns:
        The images, of shape `[width, height, channels]`.

    Raises:
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.transpose([[[1], [2]]]).numpy().tolist()
    [[[1]], [[2]]]
    """
    x = images_of(image)
    rank = len(known_rank(x))
    return raw_ops.transpose(x, perm=[*range(rank - 3), rank - 2, rank - 3, rank - 1], name=name)


@scoped
def rot90(image: TensorLike, k: IntLike = 1, name: str | None = None) -> _core.Tensor:
    """Turn images against the clock.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        k: how often they are turned by a right angle.
        name: a scope for the names of its operations in a graph.

    Returns:
        The images, of shape `[width, height, channels]` for an odd `k`.

    Raises:
        TypeError: where `k` is no integer.
        ValueError: for another rank.

    >>> import penstock as tf
    >>> tf.image.rot90([[[1], [2]]]).numpy().tolist()
    [[[2]], [[1]]]
    """
    x = images_of(image)
    turned: list[Callable[[], _core.Tensor]] = [
        lambda: x,
        lambda: transpose(flip_left_right(x)),
        lambda: flip_up_down(flip_left_right(x)),
        lambda: flip_left_right(transpose(x)),
    ]
    known: Any = k
    if isinstance(k, _core.Tensor):
        if not k.dtype.is_integer or k.shape.rank not in (0, None):
            raise TypeError(f"argument 'k' must be an integer, got {shown(k)}")
        known = _core._known_value(k)
    if known is not None:
        return turned[integer(known, "k") % 4]()
    chosen: _core.Tensor = switch_case(raw_ops.floormod(raw_ops.cast(k, dtype=_core.int32), 4), turned)
    return chosen


def _least(value: Any, least: int, argument: str) -> Any:
    """An int where it is known, else a tensor.

    Raises:
        ValueError: where it is below `least`.
    """
    known = _core._known_value(value) if isinstance(value, _core.Tensor) else value
    if known is None:
        return value
    number = integer(known, argument)
    if number < least:
        raise InvalidArgumentError(f"argument '{argument}' must be {least} or more, got {number}")
    return number


@dispatched
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: IntLike,
    offset_width: IntLike,
    target_height: IntLike,
    target_width: IntLike,
) -> _core.Tensor:
    """Give a rectangle of images.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        offset_height: its first row.
        offset_width: its first column.
        target_height: how many rows it has.
        target_width: how many columns it has.

    Returns:
        The rectangles, of the dtype of `image`.

    Raises:
        ValueError: for another rank, or a rectangle that is not within the images.

    >>> import penstock as tf
    >>> tf.image.crop_to_bounding_box([[[1], [2], [3]]], 0, 1, 1, 2).numpy().tolist()
    [[[2], [3]]]
    """
    x = images_of(image)
    top, left = _least(offset_height, 0, "offset_height"), _least(offset_width, 0, "offset_width")
    rows, columns = _least(target_height, 1, "target_height"), _least(target_width, 1, "target_width")
    height, width = sizes(x)[-3:-1]
    for first, count, size, what in (
        (top, rows, height, "target_height"),
        (left, columns, width, "target_width"),
    ):
        if all(isinstance(n, int) for n in (first, count, size)) and first + count > size:
            raise InvalidArgumentError(
                f"argument '{what}' must be within the images: {first} + {count} is more than {size}"
            )

    def cropped(batch: _core.Tensor) -> _core.Tensor:
        number, _, _, channels = sizes(batch)
        return raw_ops.slice(batch, extents([0, top, left, 0]), extents([number, rows, columns, channels]))

    return batched(x, cropped)


@dispatched
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: IntLike,
    offset_width: IntLike,
    target_height: IntLike,
    target_width: IntLike,
) -> _core.Tensor:
    """Put zeros around images, up to a size.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        offset_height: how many rows of zeros are above.
        offset_width: how many columns of zeros are on the left.
        target_height: the height of the result.
        target_width: the width of the result.

    Returns:
        The images, of the dtype of `image`.

    Raises:
        ValueError: for another rank, or images that do not fit.

    >>> import penstock as tf
    >>> tf.image.pad_to_bounding_box([[[1]]], 0, 1, 1, 3).numpy().tolist()
    [[[0], [1], [0]]]
    """
    x = images_of(image)
    top, left = _least(offset_height, 0, "offset_height"), _least(offset_width, 0, "offset_width")
    height, width = sizes(x)[-3:-1]
    below = _least(target_height - top - height, 0, "target_height")
    right = _least(target_width - left - width, 0, "target_width")
    edges = [*[0] * (2 * len(known_rank(x)) - 6), top, below, left, right, 0, 0]
    pairs = raw_ops.reshape(extents(edges), extents([len(edges) // 2, 2]))
    padded = raw_ops.pad(x, pairs, zeros([], x.dtype))
    # How much is put around may be known when the graph runs; the sizes of the result are known.
    known = [n if isinstance(n, int) else None for n in (target_height, target_width)]
    padded.set_shape([*x.shape[:-3], *known, x.shape[-1]])
    return padded


@dispatched
def resize_with_crop_or_pad(image: TensorLike, target_height: IntLike, target_width: IntLike) -> _core.Tensor:
    """Cut images, or put zeros around them, evenly on both sides, up to a size.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        target_height: the height of the result.
        target_width: the width of the result.

    Returns:
        The images, of the dtype of `image`.

    Raises:
        ValueError: for another rank, or sizes that are not positive.

    >>> import penstock as tf
    >>> tf.image.resize_with_crop_or_pad([[[1], [2], [3]]], 2, 1).numpy().tolist()
    [[[2]], [[0]]]
    """
    x = images_of(image)
    rows, columns = _least(target_height, 1, "target_height"), _least(target_width, 1, "target_width")
    height, width = sizes(x)[-3:-1]
    cut = [_positive(size - n) // 2 for size, n in ((height, rows), (width, columns))]
    kept = [_smaller(height, rows), _smaller(width, columns)]
    edges = [_positive(n - size) // 2 for size, n in ((height, rows), (width, columns))]
    part = crop_to_bounding_box(x, cut[0], cut[1], kept[0], kept[1])
    return pad_to_bounding_box(part, edges[0], edges[1], rows, columns)


def _positive(size: Any) -> Any:
    return max(size, 0) if isinstance(size, int) else raw_ops.maximum(size, _core._to_tensor(0, size.dtype))


def _smaller(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return raw_ops.minimum(_core._to_tensor(a, _core.int32), _core._to_tensor(b, _core.int32))


@dispatched
def central_crop(image: TensorLike, central_fraction: float | _core.Tensor) -> _core.Tensor:
    """Give the middle of images.

    Args:
        image: of shape `[height, width, channels]`, or a batch of them.
        central_fraction: how much of the height and the width is kept: above 0, up to 1.

    Returns:
        The middle of the images, of the dtype of `image`.

    Raises:
        ValueError: for another rank or fraction.

    >>> import penstock as tf
    >>> tf.image.central_crop([[[1], [2], [3], [4]]], 0.5).shape
    TensorShape([1, 2, 1])
    """
    x = images_of(image)
    known = (
        _core._known_value(central_fraction)
        if isinstance(central_fraction, _core.Tensor)
        else central_fraction
    )
    fraction: Any = central_fraction if known is None else float(known)
    if known is not None and not 0.0 < fraction <= 1.0:
        raise InvalidArgumentError(f"argument 'central_fraction' must be above 0 and up to 1, got {fraction}")
    if known is not None and fraction == 1.0:
        return x
    starts, counts = [], []
    for size in sizes(x)[-3:-1]:
        if isinstance(size, int) and known is not None:
            start: Any = int((size - size * fraction) / 2)
        else:
            real = raw_ops.cast(_core._to_tensor(size), dtype=_core.float64)
            part = raw_ops.cast(_core._to_tensor(fraction), dtype=_core.float64)
            start = raw_ops.cast((real - real * part) / 2.0, dtype=_core.int32)
        starts.append(start)
        counts.append(size - start * 2)
    return crop_to_bounding_box(x, *starts, *counts)


@dispatched
def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> _core.Tensor:
    """Give rectangles of images, those around each place as the channels of one pixel.

    Args:
        images: of shape `[batch, height, width, channels]`.
        sizes: `[1, rows, columns, 1]`, the size of a rectangle.
        strides: `[1, rows, columns, 1]`, how far rectangles are apart.
        rates: `[1, rows, columns, 1]`, how far the pixels of a rectangle are apart.
        padding: `"VALID"`, or `"SAME"` for zeros around the images.
        name: a name for the result in a graph.

    Returns:
        The rectangles, of the dtype of `images` and of shape
        `[batch, down, across, rows * columns * channels]`.

    Raises:
        ValueError: for arguments of other forms.

    >>> import penstock as tf
    >>> image = tf.reshape(tf.range(9), [1, 3, 3, 1])
    >>> one = [1, 1, 1, 1]
    >>> tf.image.extract_patches(image, [1, 2, 2, 1], one, one, "VALID").numpy()[0, 0].tolist()
    [[0, 1, 3, 4], [1, 2, 4, 5]]
    """
    x = _core._to_tensor(images)
    if len(known_rank(x)) != 4:
        raise InvalidArgumentError(f"argument 'images' must have 4 dimensions, got shape {x.shape}")
    (rows, columns), (down, across), (far_down, far_across) = (
        _window(value, argument)
        for value, argument in ((sizes, "sizes"), (strides, "strides"), (rates, "rates"))
    )
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(f"argument 'padding' must be 'SAME' or 'VALID', got {padding!r}")
    spans = ((rows - 1) * far_down + 1, (columns - 1) * far_across + 1)
    steps, edges, counts = (down, across), [0, 0], []
    for size, span, step in zip(_extents_of(x)[1:3], spans, steps, strict=True):
        if padding == "SAME":
            count = (size + step - 1) // step
            missing = _positive((count - 1) * step + span - size)
            edges += [missing // 2, missing - missing // 2]
        else:
            count = _positive((size - span + step) // step)
        counts.append(count)
    if padding == "SAME":
        x = pad(x, [edges[:2], edges[2:4], edges[4:], [0, 0]])
    parts = []
    for i in range(0, rows * far_down, far_down):
        for j in range(0, columns * far_across, far_across):
            last = [i + (counts[0] - 1) * down + 1, j + (counts[1] - 1) * across + 1]
            parts.append(x[:, i : last[0] : down, j : last[1] : across])
    return raw_ops.concat(parts, axis=3, name=name) if len(parts) > 1 else named(parts[0], name)


# `extract_patches` has an argument of the name.
_extents_of = sizes


def _window(value: Any, argument: str) -> tuple[int, int]:
    """The two numbers in the middle of four.

    Raises:
        ValueError: where they are not `[1, rows, columns, 1]`.
    """
    four = [integer(n, argument) for n in items(value, argument)]
    if len(four) != 4 or four[0] != 1 or four[3] != 1 or min(four) < 1:
        raise InvalidArgumentError(f"argument '{argument}' must be [1, rows, columns, 1], got {four}")
    return four[1], four[2]
