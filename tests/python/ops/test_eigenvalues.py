"""Eigenvalues of matrices that need not be Hermitian, and factors of matrices that are not square."""

import numpy as np
import pytest
from support import assert_same, both_ways, slope

import penstock as tf
from penstock import array_api as xp

DTYPES = ["float32", "float64", "complex64", "complex128"]
LIMIT = {"complex64": 3e-4, "complex128": 1e-9}


def draw(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


def by_size(values):
    """Eigenvalues in an order that does not depend on the algorithm."""
    order = np.lexsort((values.imag.round(3), values.real.round(3)))
    return np.take_along_axis(values, order, -1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (2, 3, 3), (40, 40), (0, 0), (2, 0, 0), (0, 3, 3)])
def test_vectors_are_scaled_by_values(dtype, shape):
    a = draw(dtype, *shape)
    e, v = (t.numpy() for t in both_ways(lambda x: tf.linalg.eig(x), a))
    wide = "complex64" if np.dtype(dtype).itemsize // (1 + (dtype[0] == "c")) == 4 else "complex128"
    assert (e.dtype, v.dtype, e.shape, v.shape) == (wide, wide, shape[:-1], shape)
    limit = LIMIT[wide]
    np.testing.assert_allclose(a @ v, v * e[..., None, :], atol=limit * max(1, shape[-1]))
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), np.ones(e.shape), atol=limit)
    np.testing.assert_allclose(
        by_size(tf.linalg.eigvals(a).numpy()), by_size(e), atol=limit * max(1, shape[-1])
    )
    np.testing.assert_allclose(e.sum(-1), np.trace(a, axis1=-2, axis2=-1), atol=limit * max(1, shape[-1]))
    values, vectors = xp.linalg.eig(xp.asarray(a))
    np.testing.assert_array_equal(values.numpy(), e)
    np.testing.assert_array_equal(vectors.numpy(), v)
    np.testing.assert_array_equal(xp.linalg.eigvals(xp.asarray(a)).numpy(), tf.linalg.eigvals(a).numpy())


def test_values_are_numpys():
    for seed in range(5):
        a = draw("float64", 6, 6, seed=seed)
        np.testing.assert_allclose(
            by_size(tf.linalg.eigvals(a).numpy()), by_size(np.linalg.eigvals(a)), atol=1e-9
        )


def test_matrices_with_few_vectors():
    jordan = np.array([[2.0, 1.0], [0.0, 2.0]])
    e, v = tf.linalg.eig(jordan)
    np.testing.assert_allclose(e.numpy(), [2.0, 2.0], atol=1e-7)
    np.testing.assert_allclose(jordan @ v.numpy(), v.numpy() * e.numpy(), atol=1e-7)
    e, v = tf.linalg.eig(np.zeros((3, 3)))
    assert_same(e.numpy(), np.zeros(3, "complex128"))
    e = tf.linalg.eigvals([[1e-30, 1e30], [0.0, 1.0]])
    assert np.isfinite(e.numpy()).all()


@pytest.mark.parametrize(
    ("bad", "match"),
    [(np.ones((2, 3)), "square"), (np.ones(3), "matrix"), (np.full((2, 2), np.nan), "successful")],
)
def test_what_has_no_eigenvalues(bad, match):
    for function in (tf.linalg.eig, tf.linalg.eigvals):
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            function(bad)
    with pytest.raises(TypeError, match="int32"):
        tf.linalg.eig(np.ones((2, 2), "int32"))


def weighted(y, seed):
    w = draw(y.dtype.name, *y.shape, seed=seed)
    return tf.math.real(tf.reduce_sum(y * w))


def moments(e, seed):
    """A function of eigenvalues that does not depend on their order."""
    w = np.random.default_rng(seed).normal(size=3)
    return sum(
        w[k] * tf.reduce_sum(tf.math.real(e ** (k + 1)) + 0.3 * tf.math.imag(e) ** 2) for k in range(3)
    )


# Functions that do not depend on orders and phases.
SMOOTH = {
    "eigenvalues": (lambda a: moments(tf.linalg.eigvals(a), 1), (4, 4)),
    "values of eig": (lambda a: moments(tf.linalg.eig(a)[0], 2), (4, 4)),
    "sizes of eigenvectors": (lambda a: tf.reduce_sum(tf.abs(tf.linalg.eig(a)[1]) ** 4), (4, 4)),
    "powers by eig": (
        lambda a: (lambda e, v: weighted(tf.matmul(v * (e**3)[..., None, :], tf.linalg.inv(v)), 3))(
            *tf.linalg.eig(a)
        ),
        (3, 3),
    ),
    "lu of columns": (lambda a: weighted(tf.linalg.lu(a)[0], 4), (5, 3)),
    "lu of rows": (lambda a: weighted(tf.linalg.lu(a)[0], 5), (3, 5)),
    "lu of one column": (lambda a: weighted(tf.linalg.lu(a)[0], 6), (4, 1)),
    "lu of one row": (lambda a: weighted(tf.linalg.lu(a)[0], 7), (1, 4)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_slopes(name, dtype):
    f, shape = SMOOTH[name]
    x, direction = draw(dtype, 2, *shape, seed=8), draw(dtype, 2, *shape, seed=9)

    def gradient(v):
        with tf.GradientTape() as tape:
            tape.watch(v)
            value = f(v)
        return tape.gradient(value, v)

    found = gradient(tf.constant(x))
    assert (found.dtype, found.shape) == (dtype, x.shape)
    along = float(np.sum(np.conj(found.numpy()) * direction).real)
    np.testing.assert_allclose(along, slope(f, x, direction), 2e-5, 2e-6)
    assert_same(tf.function(gradient)(tf.constant(x)).numpy(), found.numpy(), 1e-10)


def test_equal_eigenvalues_share_their_cotangent():
    x = tf.constant(np.eye(3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.real(tf.linalg.eigvals(x)))
    assert_same(tape.gradient(y, x).numpy(), np.eye(3))


def test_least_squares_of_matrices_without_full_rank():
    a = draw("float64", 5, 2) @ draw("float64", 2, 4, seed=1)
    b = draw("float64", 5, 3, seed=2)
    x = both_ways(lambda a, b: tf.linalg.lstsq(a, b, fast=False), a, b, open_shapes=False).numpy()
    np.testing.assert_allclose(x, np.linalg.lstsq(a, b, rcond=None)[0], atol=1e-9)
    batch = tf.linalg.lstsq(np.stack([a, a]), np.stack([b, b]), fast=False)
    np.testing.assert_allclose(batch.numpy()[1], x, atol=1e-12)


def test_small_singular_values_count_as_none():
    u, v = np.linalg.qr(draw("float64", 3, 3))[0], np.linalg.qr(draw("float64", 3, 3, seed=1))[0]
    a = u @ np.diag([4.0, 1.0, 0.01]) @ v
    for rcond in (1e-4, 0.1, [0.5]):
        given = np.asarray(rcond)
        x = a[None] if given.ndim else a
        want = np.linalg.pinv(x, given)
        np.testing.assert_allclose(tf.linalg.pinv(x, rcond).numpy(), want, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_singular_values_of_any_scale(scale):
    a = draw("float64", 4, 3) * scale
    s = tf.linalg.svd(a, compute_uv=False).numpy()
    np.testing.assert_allclose(s / scale, np.linalg.svd(a / scale, compute_uv=False), rtol=1e-9)
    mixed = np.array([[scale, 1.0], [1.0, 1 / scale]])
    s, u, v = (t.numpy() for t in tf.linalg.svd(mixed))
    np.testing.assert_allclose((u * s) @ v.T / s[0], mixed / s[0], atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (3, 0), (0, 3), (2, 0, 4), (0, 2, 5)])
def test_batches_and_matrices_without_elements(shape):
    x = np.zeros(shape)
    *batch, m, n = shape
    p = min(m, n)
    assert tf.linalg.svd(x, compute_uv=False).shape == [*batch, p]
    assert tf.linalg.qr(x)[0].shape == [*batch, m, p]
    assert tf.linalg.lu(x)[0].shape == shape
    assert tf.linalg.diag_part(x).shape == [*batch, p]
    assert tf.linalg.matrix_transpose(x).shape == [*batch, n, m]
    if m == n:
        assert tf.linalg.inv(x).shape == shape
        assert tf.linalg.det(x).shape == batch
        assert tf.linalg.solve(x, x).shape == shape
        assert tf.linalg.eigh(x)[1].shape == shape
        assert tf.linalg.cholesky(x).shape == shape
    if p:
        assert tf.linalg.pinv(x).shape == [*batch, n, m]


@pytest.mark.parametrize("open_rank", [False, True])
def test_least_squares_of_a_long_polynomial_fit_keep_their_rank(open_rank):
    x = np.linspace(0, 40, 5000)
    noise = np.sin(np.arange(5000) * 12.9898) * 0.1
    a, b = np.stack([np.ones_like(x), x, x * x], axis=1), (1.4 - 0.3 * x + 0.02 * x * x + noise)[:, None]
    due = np.linalg.lstsq(a, b, rcond=None)[0]
    solve = lambda m, r: tf.linalg.lstsq(m, r, fast=False)  # noqa: E731
    got = both_ways(solve, a.astype("float32"), b.astype("float32"), open_shapes=open_rank).numpy()
    np.testing.assert_allclose(got, due, rtol=2e-3)


def test_least_squares_of_too_low_rank_give_the_shortest_solution():
    for dtype in ("float32", "float64", "complex64"):
        a = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1], [0, 2, 2]], dtype)
        b = np.array([[1], [2], [3], [1]], dtype)
        got = tf.linalg.lstsq(a, b, fast=False).numpy()
        np.testing.assert_allclose(got, np.linalg.lstsq(a, b, rcond=1e-5)[0], rtol=1e-4, atol=1e-5)
