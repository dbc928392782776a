"""Images: resizing, transforms of coordinates, colours and filters."""

import itertools
import math

import numpy as np
from keras.src import backend
from keras.src.backend.common import is_float_dtype, standardize_dtype
from keras.src.random.seed_generator import draw_seed

import penstock as tf
from keras_penstock.src.core import cast, dense_tensor, shape
from keras_penstock.src.nn import depthwise_conv

RESIZE_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
AFFINE_TRANSFORM_INTERPOLATIONS = {"nearest": 0, "bilinear": 1}
SCALE_AND_TRANSLATE_METHODS = {
    "linear",
    "bilinear",
    "trilinear",
    "cubic",
    "bicubic",
    "tricubic",
    "lanczos3",
    "lanczos5",
}


def _one_of(name, value, values):
    if value not in values:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected of one {set(values)}. Received: {name}={value}"
        )


def _check_rank(images):
    if images.shape.rank not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )


def _batched(function, images, data_format):
    """Apply `function`, of `[batch, height, width, channels]`, to an image or a batch in any format."""
    single = images.shape.rank == 3
    first = backend.standardize_data_format(data_format) == "channels_first"
    if single:
        images = images[None]
    if first:
        images = tf.transpose(images, [0, 2, 3, 1])
    result = function(images)
    if first:
        result = tf.transpose(result, [0, 3, 1, 2, *range(4, result.shape.rank)])
    return result[0] if single else result


# --- colours ---


def _planes(images, data_format, float_only=True):
    """Three planes of an image and the axis that they lie along."""
    _check_rank(images)
    if float_only and not is_float_dtype(standardize_dtype(images.dtype)):
        raise ValueError(
            "Invalid images dtype: expected float dtype. "
            f"Received: images.dtype={standardize_dtype(images.dtype)}"
        )
    axis = -1 if backend.standardize_data_format(data_format) == "channels_last" else -3
    return tf.unstack(images, 3, axis=axis), axis


def rgb_to_grayscale(images, data_format=None):
    """Weigh red, green and blue by the luma of Rec. 601."""
    images = dense_tensor(images)
    _check_rank(images)
    axis = -1 if backend.standardize_data_format(data_format) == "channels_last" else -3
    channels = images.shape[axis]
    if channels not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={images.shape}"
        )
    if channels == 1:
        return tf.identity(images)
    dtype = images.dtype
    (red, green, blue), _ = _planes(cast(images, backend.result_type(dtype, float)), data_format)
    return cast(tf.expand_dims(0.2989 * red + 0.5870 * green + 0.1140 * blue, axis), dtype)


def rgb_to_hsv(images, data_format=None):
    images = dense_tensor(images)
    (red, green, blue), axis = _planes(images, data_format)
    value = tf.maximum(tf.maximum(red, green), blue)
    spread = value - tf.minimum(tf.minimum(red, green), blue)
    saturation = tf.math.divide_no_nan(spread, value)
    sixth = tf.math.divide_no_nan(cast(1 / 6, images.dtype), spread)
    hue = tf.where(value == green, sixth * (blue - red) + 1 / 3, sixth * (red - green) + 2 / 3)
    hue = tf.where(value == red, sixth * (green - blue), hue)
    hue = tf.where(spread > 0, hue, tf.zeros_like(hue))
    return tf.stack([tf.where(hue < 0, hue + 1, hue), saturation, value], axis)


def hsv_to_rgb(images, data_format=None):
    images = dense_tensor(images)
    (hue, saturation, value), axis = _planes(images, data_format)
    turn = tf.math.floormod(hue, 1) * 6
    colours = (tf.abs(turn - 3) - 1, 2 - tf.abs(turn - 2), 2 - tf.abs(turn - 4))
    return tf.stack(
        [value * (1 - saturation + saturation * tf.clip_by_value(c, 0, 1)) for c in colours], axis
    )


# --- resizing ---


def _triangle(x):
    return tf.maximum(0.0, 1 - x)


def _cubic(x):
    """Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -1/2."""
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return tf.where(x < 1, near, tf.where(x < 2, far, tf.zeros_like(x)))


def _lanczos(radius):
    def kernel(x):
        safe = tf.where(x > 1e-3, x, tf.ones_like(x))
        wave = radius * tf.sin(math.pi * safe) * tf.sin(math.pi * safe / radius) / (math.pi * safe) ** 2
        return tf.where(x > radius, tf.zeros_like(x), tf.where(x > 1e-3, wave, tf.ones_like(x)))

    return kernel


_KERNELS = {
    "linear": _triangle,
    "bilinear": _triangle,
    "trilinear": _triangle,
    "cubic": _cubic,
    "bicubic": _cubic,
    "tricubic": _cubic,
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}


def _resampling(before, after, scale, translation, kernel, antialias):
    """The matrix `[before, after]` of the weights with which positions along an axis are mixed."""
    scale, translation = cast(scale, "float32"), cast(translation, "float32")
    at = (tf.range(after, dtype="float32") + 0.5 - translation) / scale - 0.5
    width = tf.maximum(1 / scale, 1.0) if antialias else 1.0
    weights = kernel(tf.abs(at - tf.range(before, dtype="float32")[:, None]) / width)
    total = tf.reduce_sum(weights, 0, keepdims=True)
    weights = tf.where(
        tf.abs(total) > 1000 * float(np.finfo(np.float32).eps), weights / total, tf.zeros_like(weights)
    )
    inside = (at >= -0.5) & (at <= cast(before, "float32") - 0.5)
    return tf.where(inside, weights, tf.zeros_like(weights))


def _resample(images, axes, after, scale, translation, kernel, antialias):
    """Mix the positions along each of `axes`; integers are rounded and stay within the range of the image."""
    dtype = images.dtype
    whole = not is_float_dtype(standardize_dtype(dtype))
    result = cast(images, "float32") if whole else images
    rank = images.shape.rank
    for axis, size, factor, offset in zip(axes, after, scale, translation, strict=True):
        axis = axis % rank
        matrix = _resampling(shape(result)[axis], size, factor, offset, kernel, antialias)
        result = tf.tensordot(result, cast(matrix, result.dtype), [[axis], [0]])
        result = tf.transpose(result, [*range(axis), rank - 1, *range(axis, rank - 1)])
    if whole:
        low, high = (cast(reduce(images), "float32") for reduce in (tf.reduce_min, tf.reduce_max))
        result = tf.clip_by_value(tf.round(result), low, high)
    return cast(result, dtype)


def _int(number):
    """The whole part of a number or a scalar tensor."""
    return tf.cast(number, "int32") if tf.is_tensor(number) else int(number)


def _bounds(number, low, high):
    if any(tf.is_tensor(n) for n in (number, low, high)):
        return tf.maximum(tf.minimum(number, high), low)
    return max(min(number, high), low)


def resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    _one_of("interpolation", interpolation, RESIZE_INTERPOLATIONS)
    if fill_mode != "constant":
        raise ValueError(
            "Invalid value for argument `fill_mode`. Only `'constant'` is supported. "
            f"Received: fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if len(size) != 2:
        raise ValueError(
            f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}"
        )
    images = dense_tensor(images)
    _check_rank(images)
    if interpolation != "nearest" and not is_float_dtype(standardize_dtype(images.dtype)):
        # As on TensorFlow: who wants integers rounds.
        images = cast(images, "float32")
    target = [int(n) for n in size]

    def resized(x):
        _, *extents, _ = shape(x)
        if crop_to_aspect_ratio or pad_to_aspect_ratio:
            # The extents of the largest part, or the smallest frame, of the ratio that is asked for.
            fitting = [_int(extents[1 - i] * (target[i] / target[1 - i])) for i in range(2)]
        if crop_to_aspect_ratio:
            part = [_bounds(fitting[i], 1, extents[i]) for i in range(2)]
            start = [(extents[i] - part[i]) // 2 for i in range(2)]
            x = x[:, start[0] : start[0] + part[0], start[1] : start[1] + part[1]]
        elif pad_to_aspect_ratio:
            room = [_bounds(fitting[i], extents[i], fitting[i]) - extents[i] for i in range(2)]
            around = [[n // 2, n // 2] for n in room]
            x = tf.pad(x, [[0, 0], *around, [0, 0]], constant_values=cast(fill_value, x.dtype))
        extents = shape(x)[1:3]
        if interpolation == "nearest":
            for axis in range(2):
                at = (
                    (tf.range(target[axis], dtype="float32") + 0.5)
                    * cast(extents[axis], "float32")
                    / target[axis]
                )
                x = tf.gather(x, tf.cast(tf.floor(at), "int32"), axis=axis + 1)
            return x
        axes = [axis for axis in range(2) if extents[axis] is not target[axis]]
        scale = [target[axis] / cast(extents[axis], "float32") for axis in axes]
        after = [target[axis] for axis in axes]
        kernel = _KERNELS[interpolation]
        return _resample(x, [a + 1 for a in axes], after, scale, [0.0] * len(axes), kernel, antialias)

    return _batched(resized, images, data_format)


def scale_and_translate(images, output_shape, scale, translation, spatial_dims, method, antialias=True):
    _one_of("method", method, SCALE_AND_TRANSLATE_METHODS)
    images = dense_tensor(images)
    count = len(spatial_dims)
    scale, translation = (
        tf.unstack(dense_tensor(scale), count),
        tf.unstack(dense_tensor(translation), count),
    )
    after = [output_shape[axis] for axis in spatial_dims]
    return _resample(images, spatial_dims, after, scale, translation, _KERNELS[method], antialias)


# --- transforms of coordinates ---


def _within(index, extent, mode):
    """The position within an axis that stands for `index`, which may lie beyond."""
    if mode == "wrap":
        return tf.math.floormod(index, extent)
    if mode == "mirror":
        period = tf.maximum(2 * extent - 2, 1)
        index = tf.math.floormod(index, period)
        return tf.minimum(index, period - index)
    if mode == "reflect":
        index = tf.math.floormod(index, 2 * extent)
        return tf.minimum(index, 2 * extent - 1 - index)
    return tf.clip_by_value(index, 0, extent - 1)


_FILL_MODES = {"constant", "nearest", "wrap", "mirror", "reflect"}


def _sampled(images, coordinates, order, mode, value):
    """Sample `[batch, spatial.., channels]` at coordinates: `[batch, points..]` for each spatial axis."""
    dtype = images.dtype
    images = cast(images, backend.result_type(dtype, "float32"))
    # The value that fills is one of the image: of integers it is whole.
    outside = cast(cast(value, dtype), images.dtype)
    extents = shape(images)[1:-1]
    if order == 0:
        # Halves are rounded away from zero.
        near = [[(tf.cast(tf.sign(c) * tf.floor(tf.abs(c) + 0.5), "int32"), None)] for c in coordinates]
    else:
        near = []
        for c in coordinates:
            low = tf.floor(c)
            upper = cast(c - low, images.dtype)
            index = tf.cast(low, "int32")
            near.append([(index, 1 - upper), (index + 1, upper)])
    total = None
    for corner in itertools.product(*near):
        index = tf.stack([_within(i, n, mode) for (i, _), n in zip(corner, extents, strict=True)], -1)
        part = tf.gather_nd(images, index, batch_dims=1)
        if mode == "constant":
            inside = [(i >= 0) & (i < n) for (i, _), n in zip(corner, extents, strict=True)]
            inside = tf.reduce_all(tf.stack(inside), 0)
            part = tf.where(inside[..., None], part, outside)
        if order == 1:
            part = part * tf.reduce_prod(tf.stack([weight for _, weight in corner]), 0)[..., None]
        total = part if total is None else total + part
    if not is_float_dtype(standardize_dtype(dtype)):
        total = tf.round(total)
    return cast(total, dtype)


def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    inputs, coordinates = dense_tensor(inputs), dense_tensor(coordinates)
    if coordinates.shape[0] != inputs.shape.rank:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. "
            f"Received inputs with shape: {inputs.shape} and coordinate leading dim of {coordinates.shape[0]}"
        )
    if coordinates.shape.rank < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2. "
            f"Received input with shape: {coordinates.shape}"
        )
    _one_of("fill_mode", fill_mode, _FILL_MODES)
    _one_of("order", order, (0, 1))
    if not is_float_dtype(standardize_dtype(coordinates.dtype)):
        coordinates = cast(coordinates, "float32")
    axes = [c[None] for c in tf.unstack(coordinates)]
    return _sampled(inputs[None, ..., None], axes, order, fill_mode, fill_value)[0, ..., 0]


def _grid(height, width):
    """Rows and columns of all pixels, as floats."""
    return tf.meshgrid(tf.range(height, dtype="float32"), tf.range(width, dtype="float32"), indexing="ij")


def affine_transform(
    images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None
):
    """Give at each pixel `(x, y)` the image at `(a0 x + a1 y + a2, b0 x + b1 y + b2)`."""
    _one_of("interpolation", interpolation, AFFINE_TRANSFORM_INTERPOLATIONS)
    _one_of("fill_mode", fill_mode, _FILL_MODES)
    images, transform = dense_tensor(images), dense_tensor(transform)
    _check_rank(images)
    if transform.shape.rank not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
            f"Received input with shape: transform.shape={transform.shape}"
        )
    if transform.shape.rank == 1:
        transform = transform[None]
    order = AFFINE_TRANSFORM_INTERPOLATIONS[interpolation]

    def transformed(x):
        batch, height, width, _ = shape(x)
        rows, columns = _grid(height, width)
        given = cast(transform, "float32")[:, :, None, None]
        at_columns = given[:, 0] * columns + given[:, 1] * rows + given[:, 2]
        at_rows = given[:, 3] * columns + given[:, 4] * rows + given[:, 5]
        coordinates = [tf.broadcast_to(c, [batch, height, width]) for c in (at_rows, at_columns)]
        return _sampled(x, coordinates, order, fill_mode, fill_value)

    return _batched(transformed, images, data_format)


def perspective_transform(
    images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None
):
    """Move four points of each image from `start_points` to `end_points`."""
    _one_of("interpolation", interpolation, AFFINE_TRANSFORM_INTERPOLATIONS)
    images = dense_tensor(images)
    start_points, end_points = dense_tensor(start_points), dense_tensor(end_points)
    _check_rank(images)
    for name, points in (("start_points", start_points), ("end_points", end_points)):
        if points.shape.rank not in (2, 3) or points.shape[-2:].as_list() != [4, 2]:
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {points.shape}"
            )
    if not start_points.shape.is_compatible_with(end_points.shape):
        raise ValueError(
            "start_points and end_points must have the same shape. "
            f"Received start_points.shape={start_points.shape}, end_points.shape={end_points.shape}"
        )
    if start_points.shape.rank == 2:
        start_points, end_points = start_points[None], end_points[None]
    order = AFFINE_TRANSFORM_INTERPOLATIONS[interpolation]
    matrix = cast(compute_homography_matrix(start_points, end_points), "float32")[:, :, None, None]

    def transformed(x):
        batch, height, width, _ = shape(x)
        rows, columns = _grid(height, width)
        a = [matrix[:, i] for i in range(8)]
        divisor = a[6] * columns + a[7] * rows + 1
        at_columns = (a[0] * columns + a[1] * rows + a[2]) / divisor
        at_rows = (a[3] * columns + a[4] * rows + a[5]) / divisor
        coordinates = [tf.broadcast_to(c, [batch, height, width]) for c in (at_rows, at_columns)]
        return _sampled(x, coordinates, order, "constant", fill_value)

    return _batched(transformed, images, data_format)


def compute_homography_matrix(start_points, end_points):
    """Solve for the eight numbers of the projection that takes each of four end points to its start point."""
    start_points, end_points = dense_tensor(start_points), dense_tensor(end_points)
    dtype = backend.result_type(start_points.dtype, end_points.dtype, float)
    wide = backend.result_type(dtype, "float32")
    start, end = cast(start_points, wide), cast(end_points, wide)
    x, y = end[..., 0], end[..., 1]
    u, v = start[..., 0], start[..., 1]
    one, zero = tf.ones_like(x), tf.zeros_like(x)
    # Two equations a point: for its column and for its row.
    columns = tf.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1)
    rows = tf.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1)
    matrix = tf.reshape(tf.stack([columns, rows], 2), [-1, 8, 8])
    right = tf.reshape(tf.stack([u, v], 2), [-1, 8, 1])
    return cast(tf.reshape(tf.linalg.solve(matrix, right), [-1, 8]), dtype)


# --- filters ---


def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    images = dense_tensor(images)
    _check_rank(images)
    dtype = images.dtype
    wide = backend.result_type(dtype, "float32")
    # Sizes and spreads are numbers or scalar tensors.
    spreads = [cast(sigma[0], wide), cast(sigma[1], wide)]

    def bell(size, spread):
        at = (cast(tf.range(size), wide) - cast(size - 1, wide) / 2) / spread
        weights = tf.exp(-0.5 * tf.square(at))
        return weights / tf.reduce_sum(weights)

    # The first of each pair is along the columns.
    across, down = map(bell, kernel_size, spreads)
    kernel = (down[:, None] * across)[:, :, None, None]

    def blurred(x):
        kernels = tf.tile(kernel, [1, 1, x.shape[-1], 1])
        return depthwise_conv(cast(x, wide), kernels, padding="same", data_format="channels_last")

    return cast(_batched(blurred, images, data_format), dtype)


def elastic_transform(
    images,
    alpha=20.0,
    sigma=5.0,
    interpolation="bilinear",
    fill_mode="reflect",
    fill_value=0.0,
    seed=None,
    data_format=None,
):
    """Move each pixel by smooth noise (Simard et al., "Best practices for conv. nets", 2003)."""
    _one_of("interpolation", interpolation, AFFINE_TRANSFORM_INTERPOLATIONS)
    _one_of("fill_mode", fill_mode, _FILL_MODES)
    images = dense_tensor(images)
    _check_rank(images)
    order = AFFINE_TRANSFORM_INTERPOLATIONS[interpolation]
    alpha, sigma = cast(alpha, "float32"), cast(sigma, "float32")
    # The next odd number.
    width_of_kernel = cast(3 * sigma, "int32") * 2 + 1
    seed = dense_tensor(draw_seed(seed))

    def transformed(x):
        batch, height, width, _ = shape(x)
        noise = tf.random.stateless_normal([batch, height, width, 2], seed, stddev=sigma)
        noise = gaussian_blur(noise, (width_of_kernel, width_of_kernel), (sigma, sigma), "channels_last")
        rows, columns = _grid(height, width)
        coordinates = [rows + alpha * noise[..., 1], columns + alpha * noise[..., 0]]
        return _sampled(x, coordinates, order, fill_mode, fill_value)

    return _batched(transformed, images, data_format)


def sobel_edges(images, data_format=None):
    """Give the slopes down and across, on a new last axis, by Sobel's filter."""
    images = dense_tensor(images)
    across = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    kernels = np.stack([across.T, across], -1)[:, :, None]

    def edges(x):
        batch, height, width, _ = shape(x)
        channels = x.shape[-1]
        padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
        slopes = depthwise_conv(
            padded, cast(np.tile(kernels, [1, 1, channels, 1]), x.dtype), data_format="channels_last"
        )
        return tf.reshape(slopes, [batch, height, width, channels, 2])

    return _batched(edges, images, data_format)
