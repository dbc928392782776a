"""Images as files: what Pillow read from them is in `files/expected.npz`, of JPEG XL what TensorFlow read."""

from pathlib import Path

import numpy as np
import pytest

import penstock as tf

FILES = Path(__file__).parent / "files"
EXPECTED = np.load(FILES / "expected.npz")
EXACT = sorted(name for name in EXPECTED.files if name.endswith(("png", "gif", "bmp")))
LOSSLESS = ["lossless.webp", "alpha.webp", "animation.webp"]
NEAR = [*sorted(name for name in EXPECTED.files if name.endswith("jpg")), "lossy.webp", "lossy_alpha.webp"]


def content(name: str) -> bytes:
    return (FILES / name).read_bytes()


def expected(name: str) -> np.ndarray:
    found = EXPECTED[name]
    return found if found.ndim > 2 else found[..., None]


@pytest.mark.parametrize("name", [n for n in EXACT if n not in ("gray_alpha.png", "gray16.png", "rgba.bmp")])
def test_samples_without_loss(name: str) -> None:
    found = tf.io.decode_image(content(name)).numpy()
    wanted = expected(name)
    np.testing.assert_array_equal(found if found.ndim == wanted.ndim else found[0], wanted)


def test_a_bmp_of_four_channels_has_opacity() -> None:
    np.testing.assert_array_equal(tf.io.decode_bmp(content("rgba.bmp")), expected("rgba.png"))


def test_grey_with_opacity_has_two_channels() -> None:
    np.testing.assert_array_equal(tf.io.decode_png(content("gray_alpha.png")), expected("gray_alpha.png"))


def test_sixteen_bits_are_kept_or_cut_off() -> None:
    wanted = expected("gray16.png")
    np.testing.assert_array_equal(tf.io.decode_png(content("gray16.png"), dtype=tf.uint16), wanted)
    np.testing.assert_array_equal(tf.io.decode_png(content("gray16.png")), wanted >> 8)
    found = tf.io.decode_image(content("gray16.png"), dtype=tf.float32).numpy()
    np.testing.assert_allclose(found, wanted / 65535, rtol=1e-6)


@pytest.mark.parametrize("name", LOSSLESS)
def test_webp_without_loss_has_frames(name: str) -> None:
    wanted = expected(name)
    found = tf.io.decode_webp(content(name)).numpy()
    np.testing.assert_array_equal(found, wanted if wanted.ndim == 4 else wanted[None])
    first = tf.io.decode_image(content(name), expand_animations=False).numpy()
    np.testing.assert_array_equal(first, found[0])


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED.files if name.endswith("jxl")))
def test_a_jpeg_xl_has_the_samples_that_tensorflow_reads(name: str) -> None:
    found = tf.io.decode_jxl(content(name)).numpy()
    # Inverse transforms round in their own ways, and so do samples of 16 bits that become ones of 8.
    near = name in ("lossy.jxl", "gray16.jxl")
    np.testing.assert_allclose(found.astype(int), expected(name), atol=1 if near else 0)
    np.testing.assert_array_equal(tf.io.decode_image(content(name)), found)
    np.testing.assert_array_equal(tf.function(tf.image.decode_jxl)(content(name)), found)


def test_a_jpeg_xl_is_read_with_its_own_channels_as_bytes() -> None:
    assert tf.io.decode_jxl(content("lossless.jxl"), channels=3).shape == [24, 17, 3]
    for channels in (1, 4):
        with pytest.raises(tf.errors.InvalidArgumentError, match="channels"):
            tf.io.decode_jxl(content("lossless.jxl"), channels=channels)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dtype"):
        tf.io.decode_image(content("lossless.jxl"), dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="JPEG XL"):
        tf.io.decode_jxl(content("rgb.png"))


@pytest.mark.parametrize("name", NEAR)
def test_samples_with_loss_are_near(name: str) -> None:
    found = tf.io.decode_image(content(name), expand_animations=False).numpy().astype(int)
    difference = np.abs(found - expected(name))
    # Inverse transforms, smoothing and colours round in their own ways.
    assert difference.mean() < 1.5
    assert np.quantile(difference, 0.99) <= 8


def test_channels_are_converted() -> None:
    rgb, rgba = expected("rgb.png"), expected("rgba.png")
    whole = rgb.astype(int)
    grey = (9798 * whole[..., :1] + 19235 * whole[..., 1:2] + 3735 * whole[..., 2:]) >> 15
    same = (rgb[..., :1] == rgb[..., 1:2]) & (rgb[..., 1:2] == rgb[..., 2:])
    grey = np.where(same, rgb[..., :1], grey)
    np.testing.assert_array_equal(tf.io.decode_png(content("rgb.png"), channels=1), grey)
    opaque = np.concatenate([rgb, np.full_like(rgb[..., :1], 255)], -1)
    np.testing.assert_array_equal(tf.io.decode_png(content("rgb.png"), channels=4), opaque)
    np.testing.assert_array_equal(tf.io.decode_png(content("rgba.png"), channels=3), rgba[..., :3])
    tripled = np.repeat(expected("gray.png"), 3, -1)
    np.testing.assert_array_equal(tf.io.decode_png(content("gray.png"), channels=3), tripled)
    wide = tf.io.decode_png(content("rgb.png"), dtype=tf.uint16).numpy()
    np.testing.assert_array_equal(wide, rgb.astype(np.uint16) * 257)
    np.testing.assert_array_equal(
        tf.io.decode_image(content("rgb.bmp"), dtype=tf.uint16), rgb.astype(np.uint16) * 256
    )
    assert tf.io.decode_bmp(content("gray.bmp"), channels=3).shape == (19, 27, 3)
    assert tf.io.decode_jpeg(content("full.jpg"), channels=1).shape == (19, 27, 1)
    assert tf.io.decode_jpeg(content("gray.jpg"), channels=3).shape == (19, 27, 3)


def test_each_reader_takes_the_formats_that_it_takes_in_tensorflow() -> None:
    still = tf.io.decode_gif(content("still.gif"))
    assert still.shape == (1, 19, 27, 3)
    np.testing.assert_array_equal(tf.io.decode_png(content("still.gif")), still[0])
    assert tf.io.decode_gif(content("rgb.png")).shape == (1, 19, 27, 3)
    assert tf.io.decode_jpeg(content("rgb.png")).shape == (19, 27, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'contents': has 4 frames"):
        tf.io.decode_png(content("animation.gif"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a BMP, got a PNG"):
        tf.io.decode_bmp(content("rgb.png"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a JPEG, got a PNG"):
        tf.io.decode_and_crop_jpeg(content("rgb.png"), [0, 0, 1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="'contents': is no image"):
        tf.io.decode_image(b"no image")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not be empty"):
        tf.io.decode_image(b"")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'channels'"):
        tf.io.decode_image(content("rgb.bmp"), channels=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'channels'"):
        tf.io.decode_png(content("rgb.png"), channels=2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'dtype'"):
        tf.io.decode_png(content("rgb.png"), dtype=tf.int32)
    with pytest.raises(TypeError, match="'contents'"):
        tf.io.decode_png(1)
    with pytest.raises(ValueError, match="'contents' must be a scalar"):
        tf.io.decode_png([b"", b""])


def test_jpegs_are_cropped_and_made_smaller() -> None:
    whole = tf.io.decode_jpeg(content("full.jpg")).numpy()
    part = tf.io.decode_and_crop_jpeg(content("full.jpg"), [3, 5, 7, 11])
    np.testing.assert_array_equal(part, whole[3:10, 5:16])
    for ratio in (2, 4, 8):
        small = tf.io.decode_jpeg(content("full.jpg"), ratio=ratio).numpy().astype(int)
        assert small.shape == (-(-19 // ratio), -(-27 // ratio), 3)
        block = whole[:ratio, :ratio].mean((0, 1))
        # Of a whole block it is the mean before values are cut off at 0 and 255.
        np.testing.assert_allclose(small[0, 0], block, atol=8 if ratio == 8 else 1)
    for window in ([0, 0, 20, 1], [-1, 0, 2, 2], [0, 0, 0, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'crop_window'"):
            tf.io.decode_and_crop_jpeg(content("full.jpg"), window)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'ratio'"):
        tf.io.decode_jpeg(content("full.jpg"), ratio=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'dct_method'"):
        tf.io.decode_jpeg(content("full.jpg"), dct_method="FAST")


def test_a_jpeg_that_ends_early_is_filled_up_where_that_is_wanted() -> None:
    cut = content("full.jpg")[:-200]
    with pytest.raises(tf.errors.InvalidArgumentError, match="ends early"):
        tf.io.decode_jpeg(cut)
    found = tf.io.decode_jpeg(cut, try_recover_truncated=True).numpy().astype(int)
    assert np.abs(found - expected("full.jpg"))[:8, :8].max() <= 8


def test_sizes_and_kinds_of_jpegs() -> None:
    assert tf.io.extract_jpeg_shape(content("progressive.jpg")).numpy().tolist() == [19, 27, 3]
    shape = tf.io.extract_jpeg_shape(content("gray.jpg"), output_type=tf.int64)
    assert (shape.dtype, shape.numpy().tolist()) == (tf.int64, [19, 27, 1])
    assert [bool(tf.io.is_jpeg(c)) for c in (content("cmyk.jpg"), content("rgb.png"), b"")] == [
        True,
        False,
        False,
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="is no JPEG"):
        tf.io.extract_jpeg_shape(content("rgb.png"))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [tf.uint8, tf.uint16])
@pytest.mark.parametrize("compression", [-1, 0, 9])
def test_a_png_is_what_was_written(channels: int, dtype: tf.DType, compression: int) -> None:
    numbers = np.arange(2 * 5 * 7 * channels).reshape(2, 5, 7, channels) * 3001
    images = numbers.astype(dtype.as_numpy_dtype)
    files = tf.io.encode_png(images, compression)
    assert files.shape == (2,)
    found = [tf.io.decode_png(file, dtype=dtype) for file in files]
    np.testing.assert_array_equal(found, images)


def test_what_a_png_cannot_be() -> None:
    for image in (np.zeros((0, 3, 1), np.uint8), np.zeros((2, 3, 5), np.uint8), np.zeros((2, 3), np.uint8)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'image'"):
            tf.io.encode_png(image)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'compression'"):
        tf.io.encode_png(np.zeros((1, 1, 1), np.uint8), 10)
    assert tf.io.encode_png(np.zeros((0, 2, 3, 1), np.uint8)).shape == (0,)


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"chroma_downsampling": False, "quality": 99}]
)
def test_a_jpeg_is_near_what_was_written(options: dict) -> None:
    image = expected("full.jpg")
    written = tf.io.encode_jpeg(image, optimize_size=True, xmp_metadata="<x>about</x>", **options)
    assert b"<x>about</x>" in written.numpy()
    found = tf.io.decode_jpeg(written).numpy().astype(int)
    assert np.abs(found - image).mean() < 3
    grey = tf.io.encode_jpeg(image[..., :1], format="grayscale", density_unit="cm", x_density=10)
    assert tf.io.extract_jpeg_shape(grey).numpy().tolist() == [19, 27, 1]


def test_what_a_jpeg_cannot_be() -> None:
    image = expected("full.jpg")
    for argument, given in (
        ("quality", {"quality": 101}),
        ("format", {"format": "cmyk"}),
        ("image", {"format": "grayscale"}),
        ("density_unit", {"density_unit": "m"}),
        ("x_density", {"x_density": -1}),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"'{argument}'"):
            tf.io.encode_jpeg(image, **given)
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 or 3 channels"):
        tf.io.encode_jpeg(image[..., :2])


def test_traced_functions_have_shapes_that_are_known_in_part() -> None:
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(contents):
        png = tf.image.decode_png(contents, channels=3)
        any_of = tf.image.decode_image(contents)
        still = tf.image.decode_image(contents, channels=3, expand_animations=False)
        shapes.extend(x.shape for x in (png, any_of, still, tf.io.decode_gif(contents)))
        return png, any_of, still

    png, any_of, still = read(content("rgb.png"))
    assert [None if s.rank is None else s.as_list() for s in shapes] == [
        [None, None, 3],
        None,
        [None, None, 3],
        [None, None, None, 3],
    ]
    for found in (png, any_of, still):
        np.testing.assert_array_equal(found, expected("rgb.png"))
    paths = [str(FILES / name) for name in ("rgb.png", "gray.png")]
    ds = tf.data.Dataset.from_tensor_slices(paths).map(tf.io.read_file).map(tf.io.decode_png)
    assert [x.shape.as_list() for x in ds] == [[19, 27, 3], [19, 27, 1]]


def test_quality_is_lost() -> None:
    image = tf.constant(expected("full.jpg"))
    kept = tf.image.adjust_jpeg_quality(image, 95)
    lost = tf.image.adjust_jpeg_quality(image, tf.constant(5))
    assert (kept.shape, kept.dtype) == (image.shape, tf.uint8)

    def distance(x: tf.Tensor) -> float:
        return float(np.abs(x.numpy().astype(int) - image.numpy()).mean())

    assert distance(kept) < 3 < distance(lost)
    floats = tf.image.adjust_jpeg_quality(tf.image.convert_image_dtype(image, tf.float32), 95)
    np.testing.assert_array_equal(tf.image.convert_image_dtype(floats, tf.uint8), kept)
    one = tf.image.stateless_random_jpeg_quality(image, 5, 95, [1, 2])
    np.testing.assert_array_equal(one, tf.image.stateless_random_jpeg_quality(image, 5, 95, [1, 2]))
    assert tf.image.random_jpeg_quality(image, 5, 95, seed=1).shape == image.shape
    with pytest.raises(ValueError, match="'max_jpeg_quality' must be above"):
        tf.image.random_jpeg_quality(image, 95, 95)
    with pytest.raises(ValueError, match="'min_jpeg_quality'"):
        tf.image.random_jpeg_quality(image, -1, 95)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'quality'"):
        tf.image.adjust_jpeg_quality(image, 101)
