"""Pooling beyond extremes and means of a grid: with positions, with weights, over uneven regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import pad
from penstock._ops.conv_arguments import is_channels_first, spatial, window_attributes
from penstock._ops.creation import range as range_of
from penstock._ops.indexing import gather
from penstock._ops.pooling import avg_pool, max_pool
from penstock._ops.reductions import reduce_max, reduce_sum
from penstock._ops.shapes import reshape
from penstock._ops.space_batch import with_space_to_batch
from penstock._runtime.arguments import known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock._types.aliases import DTypeLike, PaddingLike, SizesLike, TensorLike, WindowLike

__all__ = [
    "dilation2d",
    "erosion2d",
    "fractional_avg_pool",
    "fractional_max_pool",
    "max_pool_with_argmax",
    "pool",
]


@scoped
def max_pool_with_argmax(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = _core.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor]:
    """Take the greatest element of each window of images, and its position.

    Args:
        input: floating, of shape `[batch, height, width, channels]`.
        ksize: the extents of a window.
        strides: elements from one window to the next.
        padding: `"VALID"` or `"SAME"`.
        data_format: `"NHWC"`.
        output_dtype: `int32` or `int64`, that of the positions.
        include_batch_in_index: whether positions count through the batch too.
        name: a scope for the names of its operations in a graph.

    Returns:
        The elements, of shape `[batch, out height, out width, channels]`; and their positions
        `(row * width + column) * channels + channel`, of that shape.

    Raises:
        ValueError: for arguments of another length or form.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.constant([1.0, 4.0, 3.0, 2.0]), [1, 2, 2, 1])
    >>> values, positions = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")
    >>> float(values), int(positions)
    (4.0, 1)
    """
    if data_format != "NHWC":
        raise InvalidArgumentError(f"argument 'data_format' must be 'NHWC', got {data_format!r}")
    x = _core._to_tensor(input)
    batch, height, width, channels = sizes(x, 4)
    values = max_pool(x, ksize, strides, padding)
    # Positions are whole numbers that float64 holds, and elements keep their order in it.
    count = height * width * channels
    wide = raw_ops.cast(raw_ops.stop_gradient(x), dtype=_core.float64)
    places = reshape(
        range_of(batch * count if include_batch_in_index else count), [-1, height, width, channels]
    )
    found = raw_ops.max_pool_take(
        wide,
        raw_ops.cast(places, dtype=_core.float64) + raw_ops.zeros_like(wide),
        ksize=spatial(ksize, 2, False, "ksize"),
        **window_attributes(padding, strides, 2, False),
    )
    return values, raw_ops.cast(found, dtype=_core.DType(output_dtype))


def _greatest_sums(
    x: _core.Tensor, filters: _core.Tensor, strides: Any, padding: Any, dilations: Any
) -> _core.Tensor:
    """The greatest sum of an element and one of the filter, in each window."""
    (down, across), (far_down, far_across) = (
        spatial(strides, 2, False, "strides"),
        spatial(dilations, 2, False, "dilations"),
    )
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(f"argument 'padding' must be 'SAME' or 'VALID', got {padding!r}")
    rows, columns, _ = known_rank(filters, 3)
    if rows is None or columns is None:
        raise InvalidArgumentError(f"argument 'filters' must have known extents, got shape {filters.shape}")
    least = -float("inf") if x.dtype.is_floating else x.dtype.min
    counts, edges = [], []
    for size, extent, step, far in zip(
        sizes(x, 4)[1:3], (rows, columns), (down, across), (far_down, far_across), strict=True
    ):
        span = (extent - 1) * far + 1
        if padding == "SAME":
            count = -(-size // step)
            missing = (count - 1) * step + span - size
            zero = _core._to_tensor(0, _core.int32)
            missing = max(missing, 0) if isinstance(missing, int) else raw_ops.maximum(missing, zero)
            edges.append([missing // 2, missing - missing // 2])
        else:
            count = (size - span) // step + 1
            edges.append([0, 0])
        counts.append(count)
    x = pad(x, [[0, 0], *edges, [0, 0]], constant_values=_core._to_tensor(least, x.dtype))
    result: _core.Tensor | None = None
    for i in range(rows):
        for j in range(columns):
            top, left = i * far_down, j * far_across
            part = x[
                :,
                top : top + (counts[0] - 1) * down + 1 : down,
                left : left + (counts[1] - 1) * across + 1 : across,
            ]
            part = part + filters[i, j]
            result = part if result is None else raw_ops.maximum(result, part)
    if result is None:
        raise InvalidArgumentError(f"argument 'filters' has no elements: its shape is {filters.shape}")
    return result


@scoped
def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: str,
    data_format: str,
    dilations: WindowLike,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the grey-scale dilation of images: the greatest sum of an element and one of the filter.

    Args:
        input: numbers, of shape `[batch, height, width, channels]`.
        filters: of the dtype of `input` and of shape `[rows, columns, channels]`.
        strides: elements from one window to the next.
        padding: `"VALID"` or `"SAME"`. What is in the padding takes no part.
        data_format: `"NHWC"`.
        dilations: elements from one element of a window to the next.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[batch, out height, out width, channels]`.

    Raises:
        ValueError: for arguments of another form.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> float(tf.nn.dilation2d(x, tf.zeros([2, 2, 1]), 1, "VALID", "NHWC", 1))
    3.0
    """
    x = _core._to_tensor(input)
    if is_channels_first(data_format, 2):
        raise InvalidArgumentError(f"argument 'data_format' must be 'NHWC', got {data_format!r}")
    return _greatest_sums(x, _core._to_tensor_hinted(filters, x.dtype), strides, padding, dilations)


@scoped
def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: str,
    data_format: str,
    dilations: WindowLike,
    name: str | None = None,
) -> _core.Tensor:
    """Compute the grey-scale erosion of images: the least difference of an element and one of the filter.

    The filter is mirrored, so that it is the negative dilation of the negative image by the mirrored filter.

    Args:
        value: numbers, of shape `[batch, height, width, channels]`.
        filters: of the dtype of `value` and of shape `[rows, columns, channels]`.
        strides: elements from one window to the next.
        padding: `"VALID"` or `"SAME"`. What is in the padding takes no part.
        data_format: `"NHWC"`.
        dilations: elements from one element of a window to the next.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of shape `[batch, out height, out width, channels]`.

    Raises:
        ValueError: for arguments of another form.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(1.0, 5.0), [1, 2, 2, 1])
    >>> float(tf.nn.erosion2d(x, tf.zeros([2, 2, 1]), 1, "VALID", "NHWC", 1))
    1.0
    """
    x = _core._to_tensor(value)
    if is_channels_first(data_format, 2):
        raise InvalidArgumentError(f"argument 'data_format' must be 'NHWC', got {data_format!r}")
    mirrored = raw_ops.reverse(_core._to_tensor_hinted(filters, x.dtype), axes=[0, 1])
    return -_greatest_sums(-x, mirrored, strides, padding, dilations)


def _boundaries(size: int, ratio: float, pseudo_random: bool, draws: Any) -> list[int]:
    """Where the regions of a dimension start, and its end (B. Graham, "Fractional max-pooling", 2014)."""
    count = int(size / ratio)
    if not 1 <= count <= size:
        raise InvalidArgumentError(
            f"argument 'pooling_ratio' does not fit a dimension of {size} elements: {ratio}"
        )
    if pseudo_random:
        step, start = size / count, draws.random()
        first = math.ceil(step * start)
        return [0, *(math.ceil(step * (i + start)) - first for i in range(1, count)), size]
    short = size // count
    steps = [short + 1] * (size % count) + [short] * (count - size % count)
    draws.shuffle(steps)
    places = [0]
    for step in steps:
        places.append(places[-1] + step)
    return places


def _fractional(
    value: Any, ratio: Any, pseudo_random: bool, overlapping: bool, seed: int, greatest: bool
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    import random  # where regions are drawn

    x = _core._to_tensor(value)
    extents = known_rank(x, 4)
    ratios = [float(ratio)] * 2 if isinstance(ratio, int | float) else [float(r) for r in ratio]
    if len(ratios) == 2:
        ratios = [1.0, *ratios, 1.0]
    if len(ratios) != 4 or ratios[0] != 1 or ratios[3] != 1 or min(ratios) < 1:
        raise InvalidArgumentError(
            f"argument 'pooling_ratio' must be numbers from 1 for height and width, got {ratio!r}"
        )
    draws = random.Random(seed or None)
    sequences = []
    for axis in (1, 2):
        size = extents[axis]
        if size is None:
            raise InvalidArgumentError(
                f"argument 'value' must have known height and width, got shape {x.shape}"
            )
        places = _boundaries(size, ratios[axis], pseudo_random, draws)
        sequences.append(places)
        ends = [min(end + overlapping, size) for end in places[1:]]
        longest = max(end - start for start, end in zip(places, ends, strict=False))
        regions = [
            [min(start + i, end - 1) for i in range(longest)]
            for start, end in zip(places, ends, strict=False)
        ]
        parts = gather(x, regions, axis=axis)
        if greatest:
            x = reduce_max(parts, axis + 1)
            continue
        counts = [end - start for start, end in zip(places, ends, strict=False)]
        weights = [[(i < n) / n for i in range(longest)] for n in counts]
        shape = [1] * axis + [len(counts), longest] + [1] * (3 - axis)
        x = reduce_sum(parts * reshape(_core._to_tensor(weights, x.dtype), shape), axis + 1)
    rows, columns = (_core._to_tensor(places, _core.int64) for places in sequences)
    return x, rows, columns


@scoped
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Take the greatest elements of regions whose sizes differ, drawn at random.

    The regions are drawn when the function is called, in a traced function when that is traced. They are not
    those of TensorFlow for the same seed.

    Args:
        value: of shape `[batch, height, width, channels]`, height and width known.
        pooling_ratio: how many elements a region has on average along height and width: one number, two, or
            four with 1 for batch and channels.
        pseudo_random: whether regions lie along a random line rather than in random order.
        overlapping: whether the first element of a region also belongs to the one before.
        seed: where it is not 0, the same regions are drawn each time.
        name: a scope for the names of its operations in a graph.

    Returns:
        The elements; and where the regions start along height and along width, with the ends.

    Raises:
        ValueError: for a ratio below 1 or one that does not fit.

    >>> import penstock as tf
    >>> pooled, rows, columns = tf.nn.fractional_max_pool(tf.zeros([1, 7, 9, 2]), 1.5, seed=1)
    >>> pooled.shape
    TensorShape([1, 4, 6, 2])
    """
    return _fractional(value, pooling_ratio, pseudo_random, overlapping, seed, True)


@scoped
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor]:
    """Take the means of regions whose sizes differ, drawn at random as by `fractional_max_pool`.

    Args:
        value: floating, of shape `[batch, height, width, channels]`, height and width known.
        pooling_ratio: how many elements a region has on average along height and width.
        pseudo_random: whether regions lie along a random line rather than in random order.
        overlapping: whether the first element of a region also belongs to the one before.
        seed: where it is not 0, the same regions are drawn each time.
        name: a scope for the names of its operations in a graph.

    Returns:
        The means; and where the regions start along height and along width, with the ends.

    Raises:
        ValueError: for a ratio below 1 or one that does not fit.

    >>> import penstock as tf
    >>> pooled, rows, columns = tf.nn.fractional_avg_pool(tf.ones([1, 7, 9, 2]), 1.5, seed=1)
    >>> float(tf.reduce_min(pooled))
    1.0
    """
    return _fractional(value, pooling_ratio, pseudo_random, overlapping, seed, False)


@scoped
def pool(
    input: TensorLike,
    window_shape: SizesLike,
    pooling_type: str,
    strides: SizesLike | None = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: SizesLike | None = None,
    name: str | None = None,
) -> _core.Tensor:
    """Take the greatest element or the mean of each window, over one to three spatial dimensions.

    Args:
        input: of shape `[batch, *spatial, channels]`, or with channels second.
        window_shape: the extents of a window along the spatial dimensions.
        pooling_type: `"MAX"` or `"AVG"`.
        strides: elements from one window to the next; 1 by default.
        padding: `"VALID"` or `"SAME"`.
        data_format: a layout that begins with `NC` for channels before space.
        dilations: elements from one element of a window to the next; 1 by default, and wherever `strides`
            are not.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the dtype of `input`.

    Raises:
        ValueError: for another type, or arguments of another length.

    >>> import penstock as tf
    >>> x = tf.reshape(tf.range(6.0), [1, 6, 1])
    >>> tf.squeeze(tf.nn.pool(x, [2], "MAX", dilations=[2])).numpy().tolist()
    [2.0, 3.0, 4.0, 5.0]
    """
    if pooling_type not in ("MAX", "AVG"):
        raise InvalidArgumentError(f"argument 'pooling_type' must be 'MAX' or 'AVG', got {pooling_type!r}")
    x = _core._to_tensor(input)
    axes = len(known_rank(x, 3)) - 2
    first = is_channels_first(data_format, axes)
    window = spatial(window_shape, axes, first, "window_shape")
    steps = spatial(1 if strides is None else strides, axes, first, "strides")
    holes = spatial(1 if dilations is None else dilations, axes, first, "dilations")
    if any(step > 1 for step in steps) and any(hole > 1 for hole in holes):
        raise InvalidArgumentError(
            f"arguments 'strides' and 'dilations' cannot both exceed 1: {steps} and {holes}"
        )
    operation = max_pool if pooling_type == "MAX" else avg_pool
    if all(hole == 1 for hole in holes):
        return operation(x, window, steps, padding, data_format)
    if padding == "SAME":
        return _same_with_holes(x, window, holes, first, pooling_type)

    def pooled(x: _core.Tensor, dims: int, padding: str) -> _core.Tensor:
        return operation(x, window, steps, padding, data_format)

    return with_space_to_batch(x, holes, padding, pooled, window, data_format=data_format)


def _same_with_holes(
    x: _core.Tensor, window: list[int], holes: list[int], first: bool, kind: str
) -> _core.Tensor:
    """Pooling with holes and an output for each element: what is in the padding takes no part."""
    start = 2 if first else 1
    edges = [[0, 0]] * len(known_rank(x))
    for i, (extent, hole) in enumerate(zip(window, holes, strict=True)):
        total = (extent - 1) * hole
        edges[start + i] = [total // 2, total - total // 2]
    format_of = ("NCW", "NCHW", "NCDHW")[len(window) - 1] if first else None
    if kind == "MAX":
        least = -float("inf") if x.dtype.is_floating else x.dtype.min
        around = pad(x, edges, constant_values=_core._to_tensor(least, x.dtype))
        return pool(around, window, "MAX", data_format=format_of, dilations=holes)
    sums = pool(pad(x, edges), window, "AVG", data_format=format_of, dilations=holes)
    counts = pool(pad(raw_ops.ones_like(x), edges), window, "AVG", data_format=format_of, dilations=holes)
    return sums / counts
