"""Operators of images and sound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import penstock as tf
from penstock import raw_ops
from penstock._nodes._parts import ints, pullback

__all__ = ["NODES"]


def _places(count: Any, size: Any, align: bool, half: bool) -> tuple[Any, Any]:
    """Where the pixels of a resized dimension lie in the given one, and how far these are apart."""
    out = tf.cast(size, tf.float32)
    if align:
        scale = tf.where(size > 1, (count - 1) / tf.maximum(out - 1, 1), count / out)
    else:
        scale = count / out
    at = tf.range(out)
    return ((at + 0.5) * scale - 0.5 if half else at * scale), scale


def _linear(x: Any, axis: int, size: Any, align: bool, half: bool) -> Any:
    count = x.shape[axis]
    at, _ = _places(count, size, align, half)
    low = tf.floor(at)
    part = tf.reshape(at - low, [-1 if i == axis else 1 for i in range(4)])
    first = tf.gather(x, tf.cast(tf.maximum(low, 0), tf.int32), axis=axis)
    second = tf.gather(x, tf.cast(tf.minimum(tf.math.ceil(at), count - 1), tf.int32), axis=axis)
    return first + (second - first) * part


def _bilinear(images: Any, size: Any, align: bool, half: bool) -> Any:
    return _linear(_linear(tf.cast(images, tf.float32), 2, size[1], align, half), 1, size[0], align, half)


def _nearest(images: Any, size: Any, align: bool, half: bool) -> Any:
    for axis in (1, 2):
        count = images.shape[axis]
        _, scale = _places(count, size[axis - 1], align, half)
        at = (tf.range(tf.cast(size[axis - 1], tf.float32)) + (0.5 if half else 0.0)) * scale
        found = tf.floor(at + 0.5) if align else tf.floor(at)
        images = tf.gather(images, tf.cast(tf.clip_by_value(found, 0, count - 1), tf.int32), axis=axis)
    return images


def _cubic(x: Any, axis: int, size: Any, align: bool, half: bool) -> Any:
    count = x.shape[axis]
    at, _ = _places(count, size, align, half)
    low = tf.floor(at)
    # As far as a table of 1024 steps tells.
    part = tf.round((at - low) * 1024.0) / 1024.0
    sharp = -0.5 if half else -0.75
    total = tf.zeros_like(part)
    parts = []
    for offset in (-1, 0, 1, 2):
        distance = tf.abs(part - offset)
        near = ((sharp + 2) * distance - (sharp + 3)) * distance * distance + 1
        far = ((sharp * distance - 5 * sharp) * distance + 8 * sharp) * distance - 4 * sharp
        weight = tf.where(distance <= 1, near, far)
        place = low + offset
        if half:
            weight = tf.where((place >= 0) & (place <= count - 1), weight, tf.zeros_like(weight))
        total += weight
        parts.append((tf.cast(tf.clip_by_value(place, 0, count - 1), tf.int32), weight))
    found: Any = 0.0
    for place, weight in parts:
        if half:
            weight = weight / total
        found += tf.gather(x, place, axis=axis) * tf.reshape(
            weight, [-1 if i == axis else 1 for i in range(4)]
        )
    return found


def _bicubic(images: Any, size: Any, align: bool, half: bool) -> Any:
    return _cubic(_cubic(tf.cast(images, tf.float32), 2, size[1], align, half), 1, size[0], align, half)


def _area(images: Any, size: Any, align: bool) -> Any:
    x: Any = tf.cast(images, tf.float32)
    for axis in (2, 1):
        count = x.shape[axis]
        start, scale = _places(count, size[axis - 1], align, False)
        places = tf.range(count, dtype=tf.float32)
        # How much of each pixel is within, the last one as often as the area goes beyond it.
        ends = tf.where(tf.equal(places, count - 1), start[:, None] + scale, places[None, :] + 1)
        covered = tf.maximum(tf.minimum(ends, start[:, None] + scale) - tf.maximum(places, start[:, None]), 0)
        x = tf.experimental.numpy.moveaxis(tf.tensordot(covered / scale, x, [[1], [axis]]), 0, axis)
    return x


def _resize_grad(resize: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(grads: Any, image: Any, align: bool, half: bool) -> Any:
        size = tf.shape(grads)[1:3]
        return pullback(lambda x: resize(x, size, align, half), [image], tf.cast(grads, tf.float32))

    return gradient


def _nearest_grad(grads: Any, size: Any, align: bool, half: bool) -> Any:
    height, width = ints(size, "size")
    image = tf.zeros([tf.shape(grads)[0], height, width, tf.shape(grads)[3]], grads.dtype)
    return pullback(lambda x: _nearest(x, tf.shape(grads)[1:3], align, half), [image], grads)


def _lanczos(radius: int) -> Callable[[Any], Any]:
    def weight(x: Any) -> Any:
        angle = math.pi * tf.maximum(x, 1e-3)
        wave = radius * tf.sin(angle) * tf.sin(angle / radius) / tf.square(angle)
        return tf.where(x > radius, 0.0, tf.where(x <= 1e-3, 1.0, wave))

    return weight


_KERNELS: Final[dict[str, tuple[float, Callable[[Any], Any]]]] = {
    "box": (0.5, lambda x: tf.where(x < 0.5, 1.0, tf.where(tf.equal(x, 0.5), 0.5, 0.0))),
    "triangle": (1.0, lambda x: tf.maximum(1.0 - x, 0.0)),
    "keyscubic": (
        2.0,
        lambda x: tf.where(
            x >= 2,
            0.0,
            tf.where(x >= 1, ((-0.5 * x + 2.5) * x - 4) * x + 2, ((1.5 * x - 2.5) * x) * x + 1),
        ),
    ),
    "mitchellcubic": (
        2.0,
        lambda x: tf.where(
            x >= 2,
            0.0,
            tf.where(
                x >= 1,
                (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9,
                (((7 / 6) * x - 2) * x) * x + 8 / 9,
            ),
        ),
    ),
    **{f"lanczos{radius}": (float(radius), _lanczos(radius)) for radius in (1, 3, 5)},
    "gaussian": (1.5, lambda x: tf.where(x >= 1.5, 0.0, tf.exp(-2.0 * x * x))),
}


def _scaled(images: Any, size: Any, scale: Any, translation: Any, kernel: str, antialias: bool) -> Any:
    x: Any = tf.cast(images, tf.float32)
    radius, weigh = _KERNELS[kernel]
    for axis in (2, 1):
        count = x.shape[axis]
        inverse = 1.0 / scale[axis - 1]
        wide = tf.maximum(inverse, 1.0) if antialias else tf.constant(1.0)
        at = (tf.range(tf.cast(size[axis - 1], tf.float32)) + 0.5) * inverse - translation[axis - 1] * inverse
        places = tf.range(count, dtype=tf.float32)
        weights = weigh(tf.abs(places[None, :] + 0.5 - at[:, None]) / wide)
        # Pixels whose middle is not within the image are black.
        low, high = tf.math.ceil(at - radius * wide - 0.5), tf.floor(at + radius * wide - 0.5)
        weights = tf.where((places >= low[:, None]) & (places <= high[:, None]), weights, 0.0)
        total = tf.reduce_sum(weights, 1, keepdims=True)
        weights = tf.where(tf.abs(total) >= 1.17e-35, weights / total, weights)
        weights = tf.where(((at >= 0) & (at <= count))[:, None], weights, 0.0)
        x = tf.experimental.numpy.moveaxis(tf.tensordot(weights, x, [[1], [axis]]), 0, axis)
    return x


def _scaled_grad(grads: Any, image: Any, scale: Any, translation: Any, kernel: str, antialias: bool) -> Any:
    size = tf.shape(grads)[1:3]
    return pullback(lambda x: _scaled(x, size, scale, translation, kernel, antialias), [image], grads)


def _contrast(images: Any, factor: Any, low: Any, high: Any) -> Any:
    return tf.clip_by_value(tf.image.adjust_contrast(tf.cast(images, tf.float32), factor), low, high)


def _crop(image: Any, boxes: Any, box_ind: Any, size: Any, method: str, extrapolation: float = 0.0) -> Any:
    return tf.image.crop_and_resize(image, boxes, box_ind, size, method, extrapolation)


def _crop_grad_image(grads: Any, boxes: Any, ind: Any, shape: Any, T: Any, method: str) -> Any:
    zeros, size = tf.zeros(shape, T), tf.shape(grads)[1:3]
    return tf.cast(pullback(lambda x: _crop(x, boxes, ind, size, method), [zeros], grads), T)


def _crop_grad_boxes(grads: Any, image: Any, boxes: Any, ind: Any, method: str) -> Any:
    size = tf.shape(grads)[1:3]
    return pullback(lambda b: _crop(image, b, ind, size, method), [boxes], grads)


def _suppressed(boxes: Any, scores: Any, most: Any, iou: Any, least: Any = float("-inf")) -> Any:
    return tf.image.non_max_suppression(boxes, scores, most, iou, least)


def _suppressed_padded(
    boxes: Any, scores: Any, most: Any, iou: Any, least: Any, pad: bool
) -> tuple[Any, Any]:
    kept = tf.image.non_max_suppression(boxes, scores, most, iou, least)
    count = tf.size(kept)
    return (tf.pad(kept, [[0, most - count]]) if pad else kept), count


def _suppressed_softly(
    boxes: Any, scores: Any, most: Any, iou: Any, least: Any, sigma: Any, pad: bool
) -> tuple[Any, Any, Any]:
    kept, found = tf.image.non_max_suppression_with_scores(boxes, scores, most, iou, least, sigma)
    count = tf.size(kept)
    if pad:
        kept, found = (tf.pad(part, [[0, most - count]]) for part in (kept, found))
    return kept, found, count


def _with_overlaps(overlaps: Any, scores: Any, most: Any, overlap: Any, least: Any) -> Any:
    return tf.image.non_max_suppression_overlaps(overlaps, scores, most, overlap, least)


def _glimpse(
    input: Any, size: Any, offsets: Any, centered: bool, normalized: bool, uniform: bool, noise: str
) -> Any:
    return tf.image.extract_glimpse(input, size, offsets, centered, normalized, noise)


def _spectrogram(input: Any, window_size: int, stride: int, squared: bool) -> Any:
    """The sizes of the frequencies of frames of sound, [channels, frames, frequencies]."""
    frames = tf.signal.frame(tf.transpose(input), window_size, stride)
    length = 1
    while length < window_size:
        length *= 2
    found = tf.abs(tf.signal.rfft(frames * tf.signal.hann_window(window_size), [length]))
    return found * found if squared else found


def _transformed(images: Any, transforms: Any, shape: Any, value: Any, interpolation: str, mode: str) -> Any:
    """Images whose pixels are taken from where projections of their places are."""
    height, width = images.shape[1:3]
    rows, columns = tf.meshgrid(
        tf.range(tf.cast(shape[0], tf.float32)), tf.range(tf.cast(shape[1], tf.float32)), indexing="ij"
    )
    t = tf.broadcast_to(transforms, [tf.shape(images)[0], 8])[:, :, None, None]
    depth = t[:, 6] * columns + t[:, 7] * rows + 1.0
    x = (t[:, 0] * columns + t[:, 1] * rows + t[:, 2]) / depth
    y = (t[:, 3] * columns + t[:, 4] * rows + t[:, 5]) / depth
    x, y = (_mapped(at, size, mode) for at, size in ((x, width), (y, height)))
    fill = tf.cast(value, images.dtype)

    def taken(row: Any, column: Any) -> Any:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        place = tf.stack(
            [
                tf.cast(tf.clip_by_value(row, 0, height - 1), tf.int32),
                tf.cast(tf.clip_by_value(column, 0, width - 1), tf.int32),
            ],
            -1,
        )
        return tf.where(inside[..., None], tf.gather_nd(images, place, batch_dims=1), fill)

    if interpolation == "NEAREST":
        return taken(*(tf.sign(at) * tf.floor(tf.abs(at) + 0.5) for at in (y, x)))
    top, left = tf.floor(y), tf.floor(x)
    down, right = (tf.cast((y - top)[..., None], tf.float32), tf.cast((x - left)[..., None], tf.float32))
    wide = [
        tf.cast(taken(top + i, left + j), tf.float32)
        * (down if i else 1 - down)
        * (right if j else 1 - right)
        for i in (0, 1)
        for j in (0, 1)
    ]
    return tf.cast(tf.add_n(wide), images.dtype)


def _mapped(at: Any, size: int, mode: str) -> Any:
    """Coordinates beyond the border, as the mode of filling has them."""
    if mode == "REFLECT":
        period = 2.0 * size
        folded = tf.math.floormod(at, period) if size > 1 else tf.zeros_like(at)
        return tf.clip_by_value(tf.where(folded >= size, period - folded - 1.0, folded), 0, size - 1)
    if mode == "WRAP":
        if size == 1:
            return tf.zeros_like(at)
        # As in TensorFlow: whole multiples of `size`, counted by quotients of `size - 1`.
        last = size - 1.0
        above = tf.where(at > last, at - size * tf.floor(at / last), at)
        return tf.clip_by_value(tf.where(at < 0, at + size * (tf.floor(-at / last) + 1), above), 0, last)
    return tf.clip_by_value(at, 0, size - 1) if mode == "NEAREST" else at


def _decoded(contents: Any, channels: int, *options: Any) -> Any:
    return tf.io.decode_jpeg(contents, channels, *options)


def _decoded_part(contents: Any, window: Any, channels: int, *options: Any) -> Any:
    return tf.io.decode_and_crop_jpeg(contents, window, channels, *options)


def _encoded(image: Any, *options: Any) -> Any:
    return tf.io.encode_jpeg(image, *options)


def _drawn(sample: Any) -> Sequence[Any]:
    return list(sample)


def _combined(*given: Any) -> Sequence[Any]:
    boxes, scores, each, all_, iou, least, pad, clip = given
    return list(tf.image.combined_non_max_suppression(boxes, scores, each, all_, iou, least, pad, clip))


NODES: Final[dict[str, Callable[..., Any]]] = {
    "AdjustContrast": _contrast,
    "AdjustContrastv2": tf.image.adjust_contrast,
    "AdjustHue": tf.image.adjust_hue,
    "AdjustSaturation": tf.image.adjust_saturation,
    "AudioSpectrogram": _spectrogram,
    "CombinedNonMaxSuppression": _combined,
    "CropAndResize": _crop,
    "CropAndResizeGradBoxes": _crop_grad_boxes,
    "CropAndResizeGradImage": _crop_grad_image,
    "DecodeAndCropJpeg": _decoded_part,
    "DecodeBmp": tf.io.decode_bmp,
    "DecodeGif": tf.io.decode_gif,
    "DecodeImage": lambda contents, channels, dtype, animated: tf.io.decode_image(
        contents, channels, dtype, expand_animations=animated
    ),
    "DecodeJpeg": _decoded,
    "DecodePng": tf.io.decode_png,
    "DecodeWav": tf.audio.decode_wav,
    "DecodeWebP": tf.io.decode_webp,
    "DrawBoundingBoxes": lambda images, boxes: tf.image.draw_bounding_boxes(images, boxes, None),
    "DrawBoundingBoxesV2": tf.image.draw_bounding_boxes,
    "EncodeJpeg": _encoded,
    "EncodeJpegVariableQuality": raw_ops.encode_jpeg_variable_quality,
    "EncodePng": tf.io.encode_png,
    "EncodeWav": tf.audio.encode_wav,
    "ExtractGlimpse": _glimpse,
    "ExtractGlimpseV2": _glimpse,
    "ExtractImagePatches": tf.image.extract_patches,
    "ExtractJpegShape": tf.io.extract_jpeg_shape,
    "ExtractVolumePatches": tf.extract_volume_patches,
    "GenerateBoundingBoxProposals": lambda *given: list(tf.image.generate_bounding_box_proposals(*given)),
    "HSVToRGB": tf.image.hsv_to_rgb,
    "ImageProjectiveTransformV2": lambda images, transforms, shape, interpolation, mode: _transformed(
        images, transforms, shape, 0.0, interpolation, mode
    ),
    "ImageProjectiveTransformV3": _transformed,
    "NonMaxSuppression": _suppressed,
    "NonMaxSuppressionV2": _suppressed,
    "NonMaxSuppressionV3": _suppressed,
    "NonMaxSuppressionV4": _suppressed_padded,
    "NonMaxSuppressionV5": _suppressed_softly,
    "NonMaxSuppressionWithOverlaps": _with_overlaps,
    "RGBToHSV": tf.image.rgb_to_hsv,
    "ResizeArea": _area,
    "ResizeBicubic": _bicubic,
    "ResizeBicubicGrad": _resize_grad(_bicubic),
    "ResizeBilinear": _bilinear,
    "ResizeBilinearGrad": _resize_grad(_bilinear),
    "ResizeNearestNeighbor": _nearest,
    "ResizeNearestNeighborGrad": _nearest_grad,
    "ScaleAndTranslate": _scaled,
    "ScaleAndTranslateGrad": _scaled_grad,
}
