"""Boxes in images: what is in them, and how they look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, random, raw_ops
from penstock._autodiff.custom_gradient import custom_gradient
from penstock._runtime.arguments import known_rank, require, sizes
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock._types.aliases import IntLike, SizesLike, TensorLike

__all__ = [
    "crop_and_resize",
    "draw_bounding_boxes",
    "extract_glimpse",
    "sample_distorted_bounding_box",
    "stateless_sample_distorted_bounding_box",
]


def _of_rank(value: Any, argument: str, rank: int, dtype: _core.DType | None = None) -> _core.Tensor:
    """A tensor of a rank, converted to a dtype where one is given.

    Raises:
        ValueError: for another rank.
    """
    x = _core._to_tensor(value)
    if len(known_rank(x)) != rank:
        raise InvalidArgumentError(
            f"argument '{argument}' must have {rank} dimension(s), got shape {x.shape}"
        )
    return x if dtype is None else raw_ops.cast(x, dtype=dtype)


def _number(value: Any, dtype: _core.DType = _core.float32) -> _core.Tensor:
    return raw_ops.cast(_core._to_tensor(value), dtype=dtype)


def _count(n: Any, dtype: _core.DType = _core.float32) -> _core.Tensor:
    """The numbers from 0 to below a size."""
    zero, one = _core._to_tensor(0, _core.int32), _core._to_tensor(1, _core.int32)
    return raw_ops.cast(raw_ops.range(zero, _number(n, _core.int32), one), dtype=dtype)


def _places(low: Any, high: Any, size: Any, count: Any) -> tuple[_core.Tensor, _core.Tensor]:
    """Where the pixels of a crop lie along a dimension, `[boxes, count]`, and which are in the image."""
    last = _number(size) - 1.0
    steps = _number(count) - 1.0
    scale = raw_ops.divide_no_nan((high - low) * last, raw_ops.maximum(steps, _number(0.0)))
    start = raw_ops.select(steps > 0.0, low * last, 0.5 * (low + high) * last)
    at = raw_ops.expand_dims(start, axis=1) + raw_ops.expand_dims(scale, axis=1) * _count(count)
    there = raw_ops.logical_and(at >= 0.0, at <= last)
    # Those beyond stand at the first pixel, so that all numbers that follow are finite.
    return raw_ops.select(there, at, _number(0.0)), there


@scoped
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: SizesLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> _core.Tensor:
    """Cut boxes out of images, and bring them to one size.

    Args:
        image: of shape `[batch, height, width, channels]`.
        boxes: of shape `[boxes, 4]`: the top, the left edge, the bottom and the right edge of each, as
            shares of the height and width less 1. They may be upside down and reach beyond an image.
        box_indices: for each box the image that it is cut out of.
        crop_size: the height and width of the results.
        method: `"bilinear"` or `"nearest"`.
        extrapolation_value: what stands beyond an image.
        name: a scope for the names of its operations in a graph.

    Returns:
        The parts, `float32` of shape `[boxes, height, width, channels]`. Their gradient with respect to
        `boxes` is that of `"bilinear"` for both methods.

    Raises:
        InvalidArgumentError: for an index that is that of no image.
        ValueError: for other ranks and methods.

    >>> import penstock as tf
    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.crop_and_resize(image, [[0.0, 0, 1, 1]], [0], [2, 2]).numpy().reshape(-1).tolist()
    [0.0, 2.0, 6.0, 8.0]
    """
    if method not in ("bilinear", "nearest"):
        raise InvalidArgumentError(f"argument 'method' must be 'bilinear' or 'nearest', got {method!r}")
    x = _of_rank(image, "image", 4, _core.float32)
    edges = _of_rank(boxes, "boxes", 2, _core.float32)
    which = _of_rank(box_indices, "box_indices", 1, _core.int32)
    size = _of_rank(crop_size, "crop_size", 1, _core.int32)
    batch, height, width, channels = sizes(x)
    inside = raw_ops.logical_and(which >= 0, which < _number(batch, _core.int32))
    require(raw_ops.reduce_all(inside), "argument 'box_indices' must hold indices of images", which)
    top, left, bottom, right = (edges[:, k] for k in range(4))
    rows, row_there = _places(top, bottom, height, size[0])
    columns, column_there = _places(left, right, width, size[1])
    flat = raw_ops.reshape(x, raw_ops.stack([_core._to_tensor(-1), _number(channels, _core.int32)], axis=0))
    first = raw_ops.expand_dims(which * _number(height, _core.int32), axis=1)
    last_row, last_column = _number(height) - 1.0, _number(width) - 1.0

    def held(at: _core.Tensor, last: _core.Tensor) -> _core.Tensor:
        at = raw_ops.maximum(raw_ops.minimum(at, last), _number(0.0))
        return raw_ops.cast(at, dtype=_core.int32)

    def pixels(down: _core.Tensor, across: _core.Tensor) -> _core.Tensor:
        row = (first + held(down, last_row)) * _number(width, _core.int32)
        at = raw_ops.expand_dims(row, axis=2) + raw_ops.expand_dims(held(across, last_column), axis=1)
        return raw_ops.gather(flat, at)

    def corners() -> tuple[_core.Tensor, ...]:
        """The four pixels around each place, the upper ones first, and how far it is from the first."""
        above, before = raw_ops.floor(rows), raw_ops.floor(columns)
        below, behind = raw_ops.ceil(rows), raw_ops.ceil(columns)
        down = raw_ops.reshape(rows - above, raw_ops.concat([raw_ops.shape(rows), [1, 1]], axis=0))
        across = raw_ops.expand_dims(raw_ops.expand_dims(columns - before, axis=2), axis=1)
        found = (pixels(y, x) for y in (above, below) for x in (before, behind))
        return (*found, down, across)

    @custom_gradient
    def placed(found: _core.Tensor, rows: _core.Tensor, columns: _core.Tensor) -> Any:
        """Gives the nearest pixels the gradient of bilinear interpolation with respect to their places."""

        def gradient(upstream: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
            one, two, three, four, down, across = corners()
            by_row = (three - one) + ((four - two) - (three - one)) * across
            by_column = (two - one) + ((four - three) - (two - one)) * down
            return (
                upstream,
                raw_ops.reduce_sum(raw_ops.multiply_no_nan(by_row, upstream), axes=[2, 3]),
                raw_ops.reduce_sum(raw_ops.multiply_no_nan(by_column, upstream), axes=[1, 3]),
            )

        return raw_ops.identity(found), gradient

    if method == "nearest":
        nearest = pixels(raw_ops.floor(rows + 0.5), raw_ops.floor(columns + 0.5))
        found = placed(nearest, rows, columns)
    else:
        one, two, three, four, down, across = corners()
        upper = one + (two - one) * across
        lower = three + (four - three) * across
        found = upper + (lower - upper) * down
    there = raw_ops.logical_and(
        raw_ops.expand_dims(row_there, axis=2), raw_ops.expand_dims(column_there, axis=1)
    )
    there = raw_ops.expand_dims(there, axis=3)
    return raw_ops.select(there, found, _number(extrapolation_value))


# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
_COLORS = (
    (1.0, 1.0, 0.0, 1.0),
    (0.0, 0.0, 1.0, 1.0),
    (1.0, 0.0, 0.0, 1.0),
    (0.0, 1.0, 0.0, 1.0),
    (0.5, 0.0, 0.5, 1.0),
    (0.5, 0.5, 0.0, 1.0),
    (0.5, 0.0, 0.0, 1.0),
    (0.0, 0.0, 0.5, 1.0),
    (0.0, 1.0, 1.0, 1.0),
    (1.0, 0.0, 1.0, 1.0),
)


@scoped
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> _core.Tensor:
    """Draw the edges of boxes into images, one pixel wide.

    Args:
        images: of floating point and of shape `[batch, height, width, channels]`, with 1, 3 or 4 channels.
        boxes: of shape `[batch, boxes, 4]`: the top, the left edge, the bottom and the right edge of each, as
            shares of the height and width less 1. What is beyond an image is not drawn.
        colors: of shape `[colors, channels]` or wider, used in turn; None, or no colors, for ten of them. In
            images of one channel they are white then.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `images`.

    Raises:
        TypeError: for images that are not of floating point.
        ValueError: for other ranks and numbers of channels.

    >>> import penstock as tf
    >>> tf.image.draw_bounding_boxes(tf.zeros([1, 3, 3, 1]), [[[0.0, 0, 1, 1]]], None).numpy()[0, :, :, 0]
    array([[1., 1., 1.],
           [1., 0., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    x = _of_rank(images, "images", 4)
    if not x.dtype.is_floating:
        raise DTypeError(f"argument 'images' must be of floating point, got {x.dtype.name}")
    _, height, width, channels = sizes(x)
    if isinstance(channels, int) and channels not in (1, 3, 4):
        raise InvalidArgumentError(f"argument 'images' must have 1, 3 or 4 channels, got shape {x.shape}")
    edges = _of_rank(boxes, "boxes", 3, _core.float32)
    if edges.shape[1] == 0:
        return raw_ops.identity(x)
    given = None if colors is None else _of_rank(colors, "colors", 2, x.dtype)
    usual = given is None or given.shape[0] == 0
    table = (_core._to_tensor(_COLORS, x.dtype) if usual or given is None else given)[:, :channels]
    if usual:
        table = raw_ops.select(raw_ops.equal(channels, 1), raw_ops.ones_like(table), table)

    def lines(low: Any, high: Any, size: Any) -> tuple[_core.Tensor, _core.Tensor]:
        """Which places are on an edge, and which between them: `[batch, boxes, size]`."""
        last = _number(size) - 1.0
        low, high = (
            raw_ops.expand_dims(raw_ops.cast(at * last, dtype=_core.int32), axis=2) for at in (low, high)
        )
        at = _count(size, _core.int32)
        between = raw_ops.logical_and(at >= low, at <= high)
        on = raw_ops.logical_or(raw_ops.equal(at, low), raw_ops.equal(at, high))
        return raw_ops.logical_and(on, between), between

    on_row, rows = lines(edges[..., 0], edges[..., 2], height)
    on_column, columns = lines(edges[..., 1], edges[..., 3], width)

    def met(down: _core.Tensor, across: _core.Tensor) -> _core.Tensor:
        return raw_ops.logical_and(raw_ops.expand_dims(down, axis=3), raw_ops.expand_dims(across, axis=2))

    drawn = raw_ops.logical_or(met(on_row, columns), met(rows, on_column))
    order = raw_ops.reshape(_count(raw_ops.shape(edges)[1], _core.int32) + 1, [1, -1, 1, 1])
    # The box that is drawn last is seen.
    seen = raw_ops.reduce_max(raw_ops.cast(drawn, dtype=_core.int32) * order, axes=[1])
    index = raw_ops.floormod(raw_ops.maximum(seen - 1, _core._to_tensor(0)), raw_ops.shape(table)[0])
    return raw_ops.select(raw_ops.expand_dims(seen > 0, axis=3), raw_ops.gather(table, index), x)


@scoped
def extract_glimpse(
    input: TensorLike,
    size: SizesLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> _core.Tensor:
    """Cut windows of one size out of images, each at a place of its own.

    Args:
        input: of floating point and of shape `[batch, height, width, channels]`.
        size: the height and width of a window.
        offsets: of shape `[batch, 2]`: where the windows are, down and across.
        centered: whether an offset is from the centre of an image to the centre of its window; if not, it is
            from the top and left edge of one to that of the other.
        normalized: whether an offset is a share of the height and width, of half of them where `centered`; if
            not, it counts pixels.
        noise: what is beyond an image: `"uniform"` and `"gaussian"` for random numbers like the image's,
            `"zero"`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The windows, of the dtype of `input` and of shape `[batch, height, width, channels]`.

    Raises:
        TypeError: for images that are not of floating point.
        ValueError: for other ranks and kinds of noise.

    >>> import penstock as tf
    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> window = tf.image.extract_glimpse(image, [2, 2], [[1.0, 1.0]], centered=False, normalized=False)
    >>> window.numpy().reshape(-1).tolist()
    [4.0, 5.0, 7.0, 8.0]
    """
    if noise not in ("uniform", "gaussian", "zero"):
        raise InvalidArgumentError(f"argument 'noise' must be 'uniform', 'gaussian' or 'zero', got {noise!r}")
    x = _of_rank(input, "input", 4)
    if not x.dtype.is_floating:
        raise DTypeError(f"argument 'input' must be of floating point, got {x.dtype.name}")
    window = _of_rank(size, "size", 1, _core.int32)
    place = _of_rank(offsets, "offsets", 2, _core.float32)
    whole = raw_ops.shape(x)[1:3]
    extents = raw_ops.cast(whole, dtype=_core.float32)
    if normalized:
        place = place * extents
    if centered:
        place = (0.5 * place if normalized else place) + 0.5 * extents
        place = place - 0.5 * raw_ops.cast(window, dtype=_core.float32)
    start = raw_ops.cast(place, dtype=_core.int32)

    def along(axis: int) -> tuple[_core.Tensor, _core.Tensor]:
        """The pixels of each window along a dimension, and which of them there are."""
        at = start[:, axis : axis + 1] + _count(window[axis], _core.int32)
        there = raw_ops.logical_and(at >= 0, at < whole[axis])
        return raw_ops.maximum(raw_ops.minimum(at, whole[axis] - 1), _core._to_tensor(0)), there

    rows, row_there = along(0)
    columns, column_there = along(1)
    found = raw_ops.gather(raw_ops.gather(x, rows, axis=1, batch_dims=1), columns, axis=2, batch_dims=1)
    there = raw_ops.logical_and(
        raw_ops.expand_dims(row_there, axis=2), raw_ops.expand_dims(column_there, axis=1)
    )
    there = raw_ops.expand_dims(there, axis=3)
    if noise == "zero":
        return raw_ops.select(there, found, _number(0.0, x.dtype))
    every = [1, 2, 3]
    if noise == "uniform":
        low, high = (
            reduce(x, axes=every, keepdims=True) for reduce in (raw_ops.reduce_min, raw_ops.reduce_max)
        )
        beyond = low + (high - low) * random.uniform(raw_ops.shape(found), dtype=x.dtype)
    else:
        mean = raw_ops.reduce_mean(x, axes=every, keepdims=True)
        spread = raw_ops.sqrt(raw_ops.reduce_mean((x - mean) * (x - mean), axes=every, keepdims=True))
        beyond = mean + spread * random.normal(raw_ops.shape(found), dtype=x.dtype)
    return raw_ops.select(there, found, beyond)


def _sampled(
    image_size: Any, boxes: Any, seed: Any, covered: Any, ratios: Any, areas: Any, attempts: Any, whole: Any
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    found: tuple[_core.Tensor, _core.Tensor, _core.Tensor] = raw_ops.stateless_sample_distorted_bounding_box(
        _of_rank(image_size, "image_size", 1),
        _of_rank(boxes, "bounding_boxes", 3, _core.float32),
        _number(covered),
        _core._to_tensor(seed),
        _of_rank((0.75, 1.33) if ratios is None else ratios, "aspect_ratio_range", 1, _core.float32),
        _of_rank((0.05, 1.0) if areas is None else areas, "area_range", 1, _core.float32),
        max_attempts=100 if attempts is None else int(attempts),
        use_image_if_no_bounding_boxes=bool(whole),
    )
    return found


@scoped
def stateless_sample_distorted_bounding_box(
    image_size: SizesLike,
    bounding_boxes: TensorLike,
    seed: SizesLike,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: IntLike | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Draw a part of an image that shows enough of an object, by a seed alone.

    Args:
        image_size: the height, the width and the number of channels.
        bounding_boxes: of shape `[batch, boxes, 4]`: where objects are, as shares of the height and width.
        seed: two integers, which the result depends on alone. The numbers are not TensorFlow's.
        min_object_covered: the share of an object that the part shows at least.
        aspect_ratio_range: what the width of the part by its height lies between; 0.75 and 1.33 by default.
        area_range: what its share of the image lies between; 0.05 and 1 by default.
        max_attempts: how often it is tried, 100 times by default; then it is the whole image.
        use_image_if_no_bounding_boxes: whether the whole image is the object where there is none.
        name: a scope for the names of its operations in a graph.

    Returns:
        Where the part begins, `[top, left, 0]`, and its size, `[height, width, -1]`, for `tf.slice`, and its
        edges as shares of the image, of shape `[1, 1, 4]`, for `tf.image.draw_bounding_boxes`.

    Raises:
        InvalidArgumentError: for ranges and boxes that cannot be, and no boxes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
    ...     [20, 30, 3], [[[0.0, 0.0, 1.0, 1.0]]], [1, 2],
    ...     area_range=[1.0, 1.0], aspect_ratio_range=[1.5, 1.5])
    >>> begin.numpy().tolist(), size.numpy().tolist()
    ([0, 0, 0], [20, 30, -1])
    """
    return _sampled(
        image_size,
        bounding_boxes,
        seed,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


@scoped
def sample_distorted_bounding_box(
    image_size: SizesLike,
    bounding_boxes: TensorLike,
    seed: int = 0,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: IntLike | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Draw a part of an image that shows enough of an object.

    Args:
        image_size: the height, the width and the number of channels.
        bounding_boxes: of shape `[batch, boxes, 4]`: where objects are, as shares of the height and width.
        seed: makes the sequence of results repeatable, unless it is 0.
        min_object_covered: the share of an object that the part shows at least.
        aspect_ratio_range: what the width of the part by its height lies between; 0.75 and 1.33 by default.
        area_range: what its share of the image lies between; 0.05 and 1 by default.
        max_attempts: how often it is tried, 100 times by default; then it is the whole image.
        use_image_if_no_bounding_boxes: whether the whole image is the object where there is none.
        name: a scope for the names of its operations in a graph.

    Returns:
        Where the part begins, `[top, left, 0]`, and its size, `[height, width, -1]`, for `tf.slice`, and its
        edges as shares of the image, of shape `[1, 1, 4]`, for `tf.image.draw_bounding_boxes`.

    Raises:
        InvalidArgumentError: for ranges and boxes that cannot be, and no boxes.
        ValueError: for other ranks.

    >>> import penstock as tf
    >>> image = tf.zeros([20, 30, 3])
    >>> begin, size, _ = tf.image.sample_distorted_bounding_box(tf.shape(image), [[[0.0, 0.0, 1.0, 1.0]]])
    >>> tf.slice(image, begin, size).shape[2]
    3
    """
    drawn = random.uniform([2], maxval=2**31 - 1, dtype=_core.int32, seed=seed or None)
    return _sampled(
        image_size,
        bounding_boxes,
        drawn,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )
