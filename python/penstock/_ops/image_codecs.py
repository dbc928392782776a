"""Images as bytes of files, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._runtime.arguments import integer
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

__all__ = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_jxl",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
]


def contents_of(value: Any) -> _core.Tensor:
    """The bytes of a file, a string scalar.

    Raises:
        TypeError: where it has another dtype.
        ValueError: where it is no scalar.
    """
    contents = _core._to_tensor(value)
    if contents.dtype != _core.string:
        raise DTypeError(f"argument 'contents' must be of dtype string, got {contents.dtype.name}")
    if contents.shape.rank not in (0, None):
        raise InvalidArgumentError(f"argument 'contents' must be a scalar, got shape {contents.shape}")
    return contents


@scoped
def decode_png(
    contents: TensorLike, channels: IntLike = 0, dtype: DTypeLike = _core.uint8, name: str | None = None
) -> _core.Tensor:
    """Read an image from a PNG; a JPEG and a GIF of one frame are read too.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and opacity.
        dtype: `uint8` or `uint16`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The image, of shape `[height, width, channels]`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no such image, and other options.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.io.encode_png(tf.constant([[[1], [2]]], tf.uint8))
    >>> tf.io.decode_png(contents).numpy().tolist()
    [[[1], [2]]]
    """
    return raw_ops.decode_png(contents_of(contents), channels=integer(channels, "channels"), dtype=dtype)


def _jpeg_options(
    channels: Any, ratio: Any, fancy_upscaling: Any, try_recover_truncated: Any, fraction: Any, method: Any
) -> dict[str, Any]:
    return {
        "channels": integer(channels, "channels"),
        "ratio": integer(ratio, "ratio"),
        "fancy_upscaling": bool(fancy_upscaling),
        "try_recover_truncated": bool(try_recover_truncated),
        "acceptable_fraction": float(fraction),
        "dct_method": method,
    }


@scoped
def decode_jpeg(
    contents: TensorLike,
    channels: IntLike = 0,
    ratio: IntLike = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Read an image from a JPEG; a PNG and a GIF of one frame are read too.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 0 for as many as the image has, 1 for grey, 3 for colours.
        ratio: by what the image is made smaller: 1, 2, 4 or 8.
        fancy_upscaling: accepted; colours that are kept for several pixels are always smoothed.
        try_recover_truncated: whether an image that ends early is filled up.
        acceptable_fraction: accepted; what is missing is filled up, however much it is.
        dct_method: `""`, `"INTEGER_FAST"` or `"INTEGER_ACCURATE"`, which give the same.
        name: a scope for the names of its operations in a graph.

    Returns:
        The image, `uint8` of shape `[height, width, channels]`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no such image, and other options.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
    >>> tf.io.decode_jpeg(contents, channels=1, ratio=2).shape
    TensorShape([2, 3, 1])
    """
    options = _jpeg_options(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    return raw_ops.decode_jpeg(contents_of(contents), **options)


@scoped
def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: SizesLike,
    channels: IntLike = 0,
    ratio: IntLike = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Read a part of an image from a JPEG.

    Args:
        contents: the bytes of the file, a string scalar.
        crop_window: the top, the left edge, the height and the width of the part, in pixels of the image that
            `ratio` made smaller.
        channels: 0 for as many as the image has, 1 for grey, 3 for colours.
        ratio: by what the image is made smaller: 1, 2, 4 or 8.
        fancy_upscaling: accepted; colours that are kept for several pixels are always smoothed.
        try_recover_truncated: whether an image that ends early is filled up.
        acceptable_fraction: accepted; what is missing is filled up, however much it is.
        dct_method: `""`, `"INTEGER_FAST"` or `"INTEGER_ACCURATE"`, which give the same.
        name: a scope for the names of its operations in a graph.

    Returns:
        The part, `uint8` of shape `[height, width, channels]`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no JPEG, a part that reaches beyond the image,
            and other options.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
    >>> tf.io.decode_and_crop_jpeg(contents, [1, 2, 3, 4]).shape
    TensorShape([3, 4, 3])
    """
    options = _jpeg_options(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    window = _core._to_tensor(crop_window)
    found = raw_ops.decode_and_crop_jpeg(contents_of(contents), window, **options)
    known = _core._known_value(window)
    if known is None or found.shape.is_fully_defined():
        return found
    _, _, height, width = known.numpy().tolist()
    return raw_ops.ensure_shape(found, shape=[height, width, found.shape[2]])


@scoped
def decode_gif(contents: TensorLike, name: str | None = None) -> _core.Tensor:
    """Read the frames of a GIF; a PNG and a JPEG are read as one frame.

    Where a frame does not reach, or is transparent, the frame before is seen, and black before the first.

    Args:
        contents: the bytes of the file, a string scalar.
        name: a scope for the names of its operations in a graph.

    Returns:
        The frames, `uint8` of shape `[frames, height, width, 3]`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no such image.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.io.encode_png(tf.zeros([4, 6, 3], tf.uint8))
    >>> tf.io.decode_gif(contents).shape
    TensorShape([1, 4, 6, 3])
    """
    return raw_ops.decode_gif(contents_of(contents))


@scoped
def decode_bmp(contents: TensorLike, channels: IntLike = 0, name: str | None = None) -> _core.Tensor:
    """Read an image from a BMP of 8, 24 or 32 bits a pixel. One of 8 bits is grey.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 0 for as many as the image has, 3 for colours, 4 for colours and opacity.
        name: a scope for the names of its operations in a graph.

    Returns:
        The image, `uint8` of shape `[height, width, channels]`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no such BMP, and other options.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import struct
    >>> import penstock as tf
    >>> head = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 58, 0, 54, 40, 1, 1, 1, 24, 0, 0, 0, 0, 0, 0)
    >>> tf.io.decode_bmp(head + bytes([1, 2, 3, 0])).numpy().tolist()
    [[[3, 2, 1]]]
    """
    return raw_ops.decode_bmp(contents_of(contents), channels=integer(channels, "channels"))


@scoped
def decode_webp(
    contents: TensorLike, channels: IntLike = 0, dtype: DTypeLike = _core.uint8, name: str | None = None
) -> _core.Tensor:
    r"""Read the frames of a WebP.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 0, or as many as the image has: 3 for colours, 4 for colours and opacity. Animations have 4.
        dtype: `uint8`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The frames, of shape `[frames, height, width, channels]`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no WebP, and other options.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> head = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0"
    >>> tf.io.decode_webp(head + b"/\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0").shape
    TensorShape([1, 1, 1, 4])
    """
    return raw_ops.decode_webp(contents_of(contents), channels=integer(channels, "channels"), dtype=dtype)


@scoped
def decode_jxl(
    contents: TensorLike, channels: IntLike = 0, dtype: DTypeLike = _core.uint8, name: str | None = None
) -> _core.Tensor:
    """Read a JPEG XL, of an animation the first frame.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 0, or as many as the image has: 1 for grey, 3 for colours, 4 for colours and opacity. Grey
            with opacity has 2.
        dtype: `uint8`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The image, of shape `[height, width, channels]`. Samples of more than 8 bits are rounded.

    Raises:
        InvalidArgumentError: for contents that are damaged or no JPEG XL, and other options.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> head = bytes.fromhex("ff0a00701009080001004800")
    >>> tf.io.decode_jxl(head + bytes.fromhex("4b188b154291714cb20b840080ce5784580a")).numpy().tolist()
    [[[10, 20, 30], [40, 50, 60]]]
    """
    return raw_ops.decode_jxl(contents_of(contents), channels=integer(channels, "channels"), dtype=dtype)


@scoped
def decode_image(
    contents: TensorLike,
    channels: IntLike | None = None,
    dtype: DTypeLike = _core.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> _core.Tensor:
    """Read an image of any of the formats JPEG, JPEG XL, PNG, GIF, BMP and WebP.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: None or 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and
            opacity, as far as its format has that.
        dtype: the dtype of the result. Integers go up to the greatest of their dtype, floats from 0 to 1.
        name: a scope for the names of its operations in a graph.
        expand_animations: whether a GIF or a WebP is read as `[frames, height, width, channels]`; if not, it
            is its first frame.

    Returns:
        The image, of shape `[height, width, channels]`. In a traced function the rank is unknown with
        `expand_animations`.

    Raises:
        InvalidArgumentError: for contents that are damaged or no image, and options that the format has not.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.io.encode_png(tf.constant([[[0], [255]]], tf.uint8))
    >>> tf.io.decode_image(contents, dtype=tf.float32).numpy().tolist()
    [[[0.0], [1.0]]]
    """
    wanted = _core.DType(dtype)
    direct = wanted in (_core.uint8, _core.uint16, _core.float32)
    found = raw_ops.decode_image(
        contents_of(contents),
        channels=0 if channels is None else integer(channels, "channels"),
        dtype=wanted if direct else _core.uint16,
        expand_animations=bool(expand_animations),
    )
    if direct:
        return found
    # The range of a dtype is what the functions on images know.
    from penstock.image._images import convert_image_dtype

    return convert_image_dtype(found, wanted)


@scoped
def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = _core.int32, name: str | None = None
) -> _core.Tensor:
    """Read the size of a JPEG from its header alone.

    Args:
        contents: the bytes of the file, a string scalar.
        output_type: `int32` or `int64`.
        name: a scope for the names of its operations in a graph.

    Returns:
        The height, the width and the number of channels, a vector.

    Raises:
        InvalidArgumentError: for contents that are no JPEG, and another dtype.
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> contents = tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
    >>> tf.io.extract_jpeg_shape(contents).numpy().tolist()
    [4, 6, 3]
    """
    return raw_ops.extract_jpeg_shape(contents_of(contents), output_type=output_type)


@scoped
def is_jpeg(contents: TensorLike, name: str | None = None) -> _core.Tensor:
    """Tell by its first bytes whether a file is a JPEG.

    Args:
        contents: the bytes of the file, a string scalar.
        name: a scope for the names of its operations in a graph.

    Returns:
        A scalar of dtype `bool`.

    Raises:
        TypeError: where `contents` is no string.
        ValueError: where it is no scalar.

    >>> import penstock as tf
    >>> bool(tf.io.is_jpeg(tf.io.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8)))), bool(tf.io.is_jpeg("no"))
    (True, False)
    """
    head = raw_ops.substr(contents_of(contents), _core._to_tensor(0), _core._to_tensor(3))
    return raw_ops.string_equal(head, _core._to_tensor(b"\xff\xd8\xff"))


def _image(value: Any) -> _core.Tensor:
    """An image; Python's numbers are `uint8`."""
    return _core._to_tensor(value, dtype=None if hasattr(value, "dtype") else _core.uint8)


@scoped
def encode_png(image: TensorLike, compression: IntLike = -1, name: str | None = None) -> _core.Tensor:
    """Write images as PNG.

    Args:
        image: of dtype `uint8` or `uint16` and of shape `[..., height, width, channels]`, where channels are
            1 for grey, 2 for grey and opacity, 3 for colours, 4 for colours and opacity.
        compression: from 0 for none to 9; -1 for the usual.
        name: a scope for the names of its operations in a graph.

    Returns:
        The bytes of the files, strings of shape `[...]`.

    Raises:
        InvalidArgumentError: for images without pixels, another number of channels and another compression.

    >>> import penstock as tf
    >>> tf.io.encode_png(tf.zeros([2, 4, 6, 3], tf.uint8)).shape
    TensorShape([2])
    """
    x = _image(image)
    return raw_ops.encode_png(x, compression=integer(compression, "compression"))


@scoped
def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: IntLike = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: IntLike = 300,
    y_density: IntLike = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> _core.Tensor:
    """Write an image as a JPEG.

    Args:
        image: of dtype `uint8` and of shape `[height, width, channels]`, where channels are 1 for grey or 3
            for colours.
        format: `"grayscale"`, `"rgb"`, or `""` for what the channels say.
        quality: from 0 to 100.
        progressive: whether the image gets clearer with what is read of it.
        optimize_size: whether the file is made smaller, which takes longer.
        chroma_downsampling: whether colours are kept for four pixels together.
        density_unit: `"in"` or `"cm"`, the unit of the densities.
        x_density: the pixels in a unit along a row.
        y_density: the pixels in a unit along a column.
        xmp_metadata: a description in XMP, which is put into the file.
        name: a scope for the names of its operations in a graph.

    Returns:
        The bytes of the file, a string scalar.

    Raises:
        InvalidArgumentError: for an image without pixels or with more than 65535 in a row or column, another
            number of channels, and other options.

    >>> import penstock as tf
    >>> tf.io.extract_jpeg_shape(tf.io.encode_jpeg(tf.zeros([4, 6, 1], tf.uint8))).numpy().tolist()
    [4, 6, 1]
    """
    x = _image(image)
    return raw_ops.encode_jpeg(
        x,
        format=format,
        quality=integer(quality, "quality"),
        progressive=bool(progressive),
        optimize_size=bool(optimize_size),
        chroma_downsampling=bool(chroma_downsampling),
        density_unit=density_unit,
        x_density=integer(x_density, "x_density"),
        y_density=integer(y_density, "y_density"),
        xmp_metadata=xmp_metadata,
    )
