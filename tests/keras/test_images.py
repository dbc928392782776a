"""Images and random numbers of `keras.ops` and `keras.random`, against SciPy and the standard library."""

import colorsys

import numpy as np
import pytest
from keras import ops, random
from scipy import ndimage, stats

import penstock as tf

RNG = np.random.default_rng(5)
METHODS = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")


def noise(*shape):
    return RNG.random(shape).astype("float32")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
def test_a_constant_image_is_constant_at_every_size(method, antialias):
    for size in ((3, 5), (16, 20), (1, 1)):
        got = ops.image.resize(np.full((2, 8, 9, 3), 0.25, "float32"), size, method, antialias=antialias)
        np.testing.assert_allclose(got, np.full((2, *size, 3), 0.25), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_an_image_of_the_size_that_is_asked_for_stays(method):
    x = noise(7, 5, 2)
    np.testing.assert_allclose(ops.image.resize(x, (7, 5), method), x)


def test_a_smaller_image_with_antialias_has_the_means_of_its_parts():
    x = np.repeat(noise(1, 1, 4, 1), 6, axis=2)
    got = ops.image.resize(np.repeat(x, 6, axis=1), (1, 4), "bilinear", antialias=True)
    assert np.corrcoef(got.numpy().ravel(), x[0, 0, ::6, 0])[0, 1] > 0.95
    ramp = np.tile(np.arange(8, dtype="float32")[None, :, None], (4, 1, 1))
    got = ops.image.resize(ramp, (4, 4), "bilinear", antialias=False)[0, :, 0]
    np.testing.assert_allclose(got, [0.5, 2.5, 4.5, 6.5])


def test_integers_are_rounded_and_stay_in_their_range():
    x = np.array([[0, 255], [255, 0]], "uint8")[..., None].repeat(3, -1)
    got = ops.image.resize(x, (9, 9), "bicubic")
    assert got.dtype == "uint8"
    assert got.numpy().min() == 0
    assert got.numpy().max() == 255


@pytest.mark.parametrize(("size", "cropped"), [((4, 4), (8, 8)), ((2, 8), (3, 12))])
def test_a_ratio_is_kept_by_cutting_the_edges(size, cropped):
    x = noise(8, 12, 1)
    top, left = (8 - cropped[0]) // 2, (12 - cropped[1]) // 2
    part = x[top : top + cropped[0], left : left + cropped[1]]
    got = ops.image.resize(x, size, crop_to_aspect_ratio=True)
    np.testing.assert_allclose(got, ops.image.resize(part, size), atol=1e-6)


def test_colours_are_those_of_the_standard_library():
    x = noise(5, 6, 3)
    wanted = np.apply_along_axis(lambda rgb: colorsys.rgb_to_hsv(*rgb), -1, x.astype(float))
    np.testing.assert_allclose(ops.image.rgb_to_hsv(x), wanted, atol=1e-5)
    np.testing.assert_allclose(ops.image.hsv_to_rgb(wanted.astype("float32")), x, atol=1e-5)
    first = ops.image.rgb_to_hsv(np.moveaxis(x, -1, 0), data_format="channels_first")
    np.testing.assert_allclose(first, np.moveaxis(wanted, -1, 0), atol=1e-5)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("constant", "grid-constant"),
        ("nearest", "nearest"),
        ("wrap", "grid-wrap"),
        ("mirror", "mirror"),
        ("reflect", "reflect"),
    ],
)
def test_coordinates_are_mapped_as_in_scipy(order, ours, theirs):
    x = noise(5, 6)
    at = RNG.uniform(-8, 14, size=(2, 3, 40))
    got = ops.image.map_coordinates(x, at.astype("float32"), order, ours, 0.5)
    wanted = ndimage.map_coordinates(x, at, order=order, mode=theirs, cval=0.5)
    np.testing.assert_allclose(got, wanted, atol=1e-4)


def test_an_affine_transform_moves_pixels():
    x = noise(2, 6, 7, 3)
    moved = ops.image.affine_transform(x, np.array([[1, 0, 2, 0, 1, 1, 0, 0]], "float32"))
    np.testing.assert_allclose(moved[:, :5, :5], x[:, 1:, 2:], atol=1e-6)
    np.testing.assert_array_equal(moved[:, 5:], 0)
    np.testing.assert_array_equal(moved[:, :, 5:], 0)


def test_a_perspective_transform_takes_corners_to_corners():
    x = noise(5, 5, 1)
    corners = np.array([[0, 0], [4, 0], [0, 4], [4, 4]], "float32")
    same = ops.image.perspective_transform(x, corners, corners)
    np.testing.assert_allclose(same, x, atol=1e-4)
    mirrored = ops.image.perspective_transform(x, corners, corners[[1, 0, 3, 2]])
    np.testing.assert_allclose(mirrored, x[:, ::-1], atol=1e-4)


def test_a_blur_is_a_product_of_two_gaussians():
    x = np.zeros((9, 9, 1), "float32")
    x[4, 4] = 1
    got = ops.image.gaussian_blur(x, (5, 5), (0.7, 1.0)).numpy()[..., 0]
    # The first spread is along the columns.
    columns, rows = (np.exp(-(np.arange(-2, 3) ** 2) / (2 * s * s)) for s in (0.7, 1.0))
    wanted = np.outer(rows / rows.sum(), columns / columns.sum())
    np.testing.assert_allclose(got[2:7, 2:7], wanted, atol=1e-5)


def test_known_sizes_of_images_are_kept_in_traces():
    @tf.function(input_signature=[tf.TensorSpec([None, 8, None, 3])])
    def shapes(x):
        assert ops.image.resize(x, (4, 5)).shape.as_list() == [None, 4, 5, 3]
        assert ops.image.rgb_to_grayscale(x).shape.as_list() == [None, 8, None, 1]
        moved = ops.image.affine_transform(x, tf.constant([[1.0, 0, 0, 0, 1, 0, 0, 0]]))
        assert moved.shape.as_list() == [None, 8, None, 3]
        return moved

    assert shapes(noise(2, 8, 6, 3)).shape == [2, 8, 6, 3]


# --- random numbers ---

DRAWS = {
    "normal": (lambda seed: random.normal((4000,), 1.0, 2.0, seed=seed), stats.norm(1, 2)),
    "uniform": (lambda seed: random.uniform((4000,), -1.0, 3.0, seed=seed), stats.uniform(-1, 4)),
    "truncated": (lambda seed: random.truncated_normal((4000,), seed=seed), stats.truncnorm(-2, 2)),
    "gamma": (lambda seed: random.gamma((4000,), 2.5, seed=seed), stats.gamma(2.5)),
    "beta": (lambda seed: random.beta((4000,), 2.0, 3.0, seed=seed), stats.beta(2, 3)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_have_the_distribution_that_is_asked_for(name):
    draw, distribution = DRAWS[name]
    assert stats.kstest(draw(1).numpy(), distribution.cdf).pvalue > 1e-3
    np.testing.assert_array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))


def test_counts_have_the_means_of_their_distributions():
    counts, chances = np.array([[4.0], [50.0]]), np.array([0.1, 0.6])
    drawn = random.binomial((20000, 2, 2), counts, chances, seed=3).numpy()
    np.testing.assert_allclose(drawn.mean(0), counts * chances, rtol=0.02)
    np.testing.assert_allclose(drawn.var(0), counts * chances * (1 - chances), rtol=0.05)
    classes = random.categorical(np.log([[0.2, 0.5, 0.3]]), 5000, seed=4).numpy()
    np.testing.assert_allclose(np.bincount(classes[0]) / 5000, [0.2, 0.5, 0.3], atol=0.03)
    whole = random.randint((5000,), -2, 3, seed=5).numpy()
    assert set(whole.tolist()) == {-2, -1, 0, 1, 2}


def test_a_shuffle_is_a_permutation():
    x = np.arange(24).reshape(4, 6)
    rows = random.shuffle(x, axis=1, seed=1).numpy()
    assert (np.sort(rows, axis=1) == x).all()
    assert not (rows == x).all()


@pytest.mark.parametrize("noise_shape", [None, (50, 1), (None, 1)])
def test_dropout_keeps_the_mean(noise_shape):
    x = np.ones((50, 400), "float32")
    got = random.dropout(x, 0.25, noise_shape=noise_shape, seed=2).numpy()
    assert set(np.unique(got).tolist()) == {0.0, np.float32(1 / 0.75)}
    if noise_shape is None:
        np.testing.assert_allclose((got == 0).mean(), 0.25, atol=0.01)
    else:
        assert (got == got[:, :1]).all()
