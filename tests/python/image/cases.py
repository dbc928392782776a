"""Calls of `tf.image` whose results TensorFlow gave: `tools/peers/tensorflow_images.py` records them."""

from collections.abc import Callable
from typing import Any

import numpy as np

_RNG = np.random.default_rng(22)
PHOTO = _RNG.uniform(size=(2, 9, 12, 3)).astype(np.float32)
OTHER = np.clip(PHOTO + _RNG.normal(0, 0.1, PHOTO.shape), 0, 1).astype(np.float32)
BYTES = (PHOTO * 255).astype(np.uint8)
WIDE = _RNG.uniform(size=(1, 50, 60, 1)).astype(np.float32)
EDGES = np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0.2]], np.float32)[None]

CASES: dict[str, Callable[[Any], Any]] = {
    **{
        f"resize {method} {size} {antialias}": lambda tf, m=method, s=size, a=antialias: tf.image.resize(
            tf.constant(PHOTO), s, m, antialias=a
        )
        for method in (
            "bilinear",
            "nearest",
            "bicubic",
            "area",
            "lanczos3",
            "lanczos5",
            "gaussian",
            "mitchellcubic",
        )
        for size in ((4, 5), (13, 17), (1, 1), (9, 30))
        for antialias in (False, True)
    },
    "resize many pixels": lambda tf: tf.image.resize(tf.constant(WIDE), (3, 4), "lanczos5", antialias=True),
    "resize integers": lambda tf: tf.image.resize(tf.constant(BYTES), (4, 5)),
    "resize one": lambda tf: tf.image.resize(PHOTO[0], (4, 5)),
    "resize form": lambda tf: tf.image.resize(tf.constant(PHOTO), (20, 20), preserve_aspect_ratio=True),
    "resize same": lambda tf: tf.image.resize(tf.constant(BYTES), (9, 12)),
    "pad": lambda tf: tf.image.resize_with_pad(tf.constant(PHOTO), 20, 20),
    "pad smaller": lambda tf: tf.image.resize_with_pad(tf.constant(PHOTO), 5, 11, antialias=True),
    "crop or pad": lambda tf: tf.image.resize_with_crop_or_pad(tf.constant(PHOTO), 6, 15),
    "crop or pad odd": lambda tf: tf.image.resize_with_crop_or_pad(tf.constant(PHOTO), 12, 5),
    "crop": lambda tf: tf.image.crop_to_bounding_box(tf.constant(PHOTO), 2, 3, 4, 5),
    "bounding box": lambda tf: tf.image.pad_to_bounding_box(tf.constant(PHOTO), 2, 3, 14, 15),
    "central": lambda tf: tf.image.central_crop(tf.constant(PHOTO), 0.5),
    "central third": lambda tf: tf.image.central_crop(tf.constant(PHOTO), 0.3),
    **{f"rot90 {k}": lambda tf, k=k: tf.image.rot90(tf.constant(PHOTO), k) for k in range(-1, 5)},
    "flip across": lambda tf: tf.image.flip_left_right(tf.constant(PHOTO)),
    "flip down": lambda tf: tf.image.flip_up_down(tf.constant(PHOTO[0])),
    "transpose": lambda tf: tf.image.transpose(tf.constant(PHOTO)),
    **{
        f"patches {padding} {strides} {rates}": lambda tf, p=padding, s=strides, r=rates: (
            tf.image.extract_patches(tf.constant(PHOTO), [1, 3, 2, 1], [1, *s, 1], [1, *r, 1], p)
        )
        for padding in ("SAME", "VALID")
        for strides in ((1, 1), (2, 3))
        for rates in ((1, 1), (2, 3))
    },
    "gray": lambda tf: tf.image.rgb_to_grayscale(tf.constant(PHOTO)),
    "gray integers": lambda tf: tf.image.rgb_to_grayscale(tf.constant(BYTES)),
    "colours": lambda tf: tf.image.grayscale_to_rgb(tf.constant(PHOTO[..., :1])),
    **{
        f"{name} {i}": lambda tf, n=name, x=x: getattr(tf.image, n)(tf.constant(x))
        for name in ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb")
        for i, x in enumerate((PHOTO, EDGES))
    },
    **{
        f"{name} {value} {i}": lambda tf, n=name, v=value, x=x: getattr(tf.image, n)(tf.constant(x), v)
        for name, values in {
            "adjust_brightness": (0.3, -0.2),
            "adjust_contrast": (0.5, 2.0),
            "adjust_gamma": (0.5, 2.0),
            "adjust_hue": (0.3, -0.2),
            "adjust_saturation": (0.5, 2.0),
        }.items()
        for value in values
        for i, x in enumerate((PHOTO, BYTES))
    },
    "standard": lambda tf: tf.image.per_image_standardization(tf.constant(PHOTO)),
    "standard integers": lambda tf: tf.image.per_image_standardization(tf.constant(BYTES)),
    "standard constant": lambda tf: tf.image.per_image_standardization(tf.ones((4, 4, 1))),
    "convert up": lambda tf: tf.image.convert_image_dtype(tf.constant(BYTES), tf.uint16),
    "convert down": lambda tf: tf.image.convert_image_dtype(BYTES.astype(np.uint16) * 200, tf.uint8),
    "convert to floats": lambda tf: tf.image.convert_image_dtype(tf.constant(BYTES), tf.float32),
    "convert to integers": lambda tf: tf.image.convert_image_dtype(tf.constant(PHOTO), tf.uint8),
    "convert beyond": lambda tf: tf.image.convert_image_dtype(PHOTO * 3 - 1, tf.uint8, saturate=True),
    "total variation": lambda tf: tf.image.total_variation(tf.constant(PHOTO)),
    "total variation of one": lambda tf: tf.image.total_variation(tf.constant(PHOTO[0])),
    "gradients": lambda tf: tf.stack(tf.image.image_gradients(tf.constant(PHOTO))),
    "sobel": lambda tf: tf.image.sobel_edges(tf.constant(PHOTO)),
    "psnr": lambda tf: tf.image.psnr(tf.constant(PHOTO), OTHER, 1.0),
    "psnr integers": lambda tf: tf.image.psnr(tf.constant(BYTES), BYTES[::-1].copy(), 255),
    "ssim": lambda tf: tf.image.ssim(tf.constant(PHOTO), OTHER, 1.0, filter_size=5),
    "ssim map": lambda tf: tf.image.ssim(
        tf.constant(PHOTO), OTHER, 1.0, filter_size=7, return_index_map=True
    ),
    "ssim integers": lambda tf: tf.image.ssim(tf.constant(BYTES), BYTES[::-1].copy(), 255, filter_size=5),
    "ssim scales": lambda tf: tf.image.ssim_multiscale(
        tf.constant(WIDE), WIDE[:, ::-1] * 0.3 + WIDE * 0.7, 1.0, power_factors=(0.2, 0.3, 0.5), filter_size=5
    ),
    "ssim odd scales": lambda tf: tf.image.ssim_multiscale(
        tf.constant(PHOTO), OTHER, 1.0, power_factors=(0.4, 0.6), filter_size=3
    ),
    "stateless brightness": lambda tf: tf.image.stateless_random_brightness(tf.constant(PHOTO), 0.2, (1, 2)),
    "stateless contrast": lambda tf: tf.image.stateless_random_contrast(tf.constant(PHOTO), 0.2, 0.7, (1, 2)),
    "stateless hue": lambda tf: tf.image.stateless_random_hue(tf.constant(PHOTO), 0.3, (1, 2)),
    "stateless saturation": lambda tf: tf.image.stateless_random_saturation(
        tf.constant(PHOTO), 0.5, 1.5, (1, 2)
    ),
    "stateless crop": lambda tf: tf.image.stateless_random_crop(tf.constant(PHOTO), (1, 4, 5, 3), (1, 2)),
    **{
        f"stateless flip {name} {seed}": lambda tf, n=name, s=seed, x=x: getattr(
            tf.image, f"stateless_random_flip_{n}"
        )(tf.constant(x), (s, 2))
        for name in ("left_right", "up_down")
        for seed, x in ((1, PHOTO), (2, PHOTO), (3, PHOTO[0]), (4, PHOTO[0]))
    },
}
