"""Linear algebra: what defines each decomposition, NumPy's conventions, gradients, and the edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st
from support import assert_same, both_ways, slope

import penstock as tf

RNG = np.random.default_rng(5)
DTYPES = ["float32", "float64", "complex64", "complex128"]
BATCHES = [(), (1,), (3,), (2, 2), (0,)]
TOLERANCE = {"float32": 2e-4, "float64": 1e-10, "complex64": 2e-4, "complex128": 1e-10}


def draw(dtype, *shape):
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def regular(dtype, *shape):
    return draw(dtype, *shape) + 4 * np.eye(shape[-1], dtype=dtype)


def definite(dtype, *shape):
    x = draw(dtype, *shape)
    return x @ adjoint(x) + np.eye(shape[-1], dtype=dtype)


def close(got, expected, dtype):
    got = got.numpy() if tf.is_tensor(got) else got
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, TOLERANCE[dtype], TOLERANCE[dtype])


def assert_orthonormal(q, dtype):
    q = q.numpy()
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2)), dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_factors_multiply_to_the_matrix(dtype, batch):
    for n in (0, 1, 2, 5, 40):
        a = definite(dtype, *batch, n, n)
        factor = both_ways(tf.linalg.cholesky, a).numpy()
        close(factor @ adjoint(factor), a, dtype)
        np.testing.assert_array_equal(np.triu(factor, 1), 0)
        b = draw(dtype, *batch, n, 2)
        x = tf.linalg.cholesky_solve(factor, b).numpy()
        close(a @ x, b, dtype)
        if n:
            assert (np.diagonal(factor, axis1=-2, axis2=-1).real > 0).all()


def test_cholesky_reads_the_lower_triangle():
    a = definite("float64", 4, 4)
    garbage = a + np.triu(np.full((4, 4), np.nan), 1)
    assert_same(tf.linalg.cholesky(garbage).numpy(), np.linalg.cholesky(a), 1e-12)


@pytest.mark.parametrize("bad", [[[-1.0]], [[1.0, 0.0], [2.0, 1.0]], [[np.nan]], [[np.inf]], [[0.0]]])
def test_cholesky_of_what_is_not_definite_is_not_a_number(bad):
    n = len(bad)
    for dtype in (tf.float32, tf.float64, tf.complex64):
        a = tf.cast(tf.constant(bad), dtype)
        factor = both_ways(tf.linalg.cholesky, a).numpy()
        np.testing.assert_array_equal(np.isnan(factor), np.tri(n, dtype=bool))
        assert np.isnan(both_ways(tf.linalg.logdet, a).numpy())
        both = tf.linalg.cholesky(tf.stack([tf.eye(n, dtype=dtype), a])).numpy()
        np.testing.assert_array_equal(both[0], np.eye(n))
        assert np.isnan(both[1, 0, 0])


def test_check_numerics_names_the_factor_of_what_is_not_definite():
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="cholesky"):
            tf.linalg.cholesky([[-1.0]])
    finally:
        tf.debugging.disable_check_numerics()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_factors_multiply_to_the_permuted_matrix(dtype, batch):
    for m, n in [(0, 0), (1, 1), (4, 4), (3, 5), (5, 3), (0, 2), (2, 0), (30, 30)]:
        a = draw(dtype, *batch, m, n)
        packed, p = both_ways(tf.linalg.lu, a)
        packed, p = packed.numpy(), p.numpy()
        k = min(m, n)
        lower = np.tril(packed, -1)[..., :k] + np.eye(m, k, dtype=dtype)
        upper = np.triu(packed)[..., :k, :]
        rows = np.take_along_axis(a, p[..., None].astype(int), -2) if a.size else a
        close(lower @ upper, rows, dtype)
        # Partial pivoting: no multiplier is greater than 1.
        if np.dtype(dtype).kind == "f":
            assert (np.abs(np.tril(packed, -1)) <= 1 + 1e-5).all()
        np.testing.assert_array_equal(np.sort(p, -1), np.broadcast_to(np.arange(m), p.shape))
    assert tf.linalg.lu(a, tf.int64).p.dtype == tf.int64


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True])
def test_qr_factors_are_orthonormal_and_triangular(dtype, batch, full):
    for m, n in [(0, 0), (1, 1), (4, 4), (3, 5), (5, 3), (0, 2), (2, 0), (40, 20)]:
        a = draw(dtype, *batch, m, n)
        q, r = both_ways(lambda x: tuple(tf.linalg.qr(x, full)), a)
        p = m if full else min(m, n)
        assert (q.shape, r.shape) == ((*batch, m, p), (*batch, p, n))
        assert_orthonormal(q, dtype)
        np.testing.assert_array_equal(np.tril(r.numpy(), -1), 0)
        close(q.numpy() @ r.numpy(), a, dtype)
        if np.dtype(dtype).kind == "f" and a.size:
            # LAPACK's signs.
            expected = np.linalg.qr(a.astype("float64"), "complete" if full else "reduced")
            np.testing.assert_array_equal(
                np.sign(np.diagonal(r.numpy(), axis1=-2, axis2=-1)),
                np.sign(np.diagonal(expected[1], axis1=-2, axis2=-1)),
            )


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors_and_values(dtype, batch, full):
    for m, n in [(0, 0), (1, 1), (4, 4), (3, 5), (5, 3), (0, 2), (2, 0), (40, 20)]:
        a = draw(dtype, *batch, m, n)
        s, u, v = both_ways(lambda x: tf.linalg.svd(x, full), a)
        p = min(m, n)
        assert (u.shape, v.shape) == ((*batch, m, m if full else p), (*batch, n, n if full else p))
        assert_orthonormal(u, dtype)
        assert_orthonormal(v, dtype)
        s = s.numpy()
        assert s.dtype == a.real.dtype
        close(s, np.linalg.svd(a, compute_uv=False), dtype)
        close((u.numpy()[..., :p] * s[..., None, :]) @ adjoint(v.numpy()[..., :p]), a, dtype)
        close(tf.linalg.svd(a, compute_uv=False), s, dtype)


def test_singular_values_of_what_is_not_finite_are_nan():
    x = np.ones((2, 3, 2))
    x[1, 0, 0] = np.inf
    s, u, v = tf.linalg.svd(x)
    assert np.isfinite(s[0].numpy()).all()
    for part in (s, u, v):
        assert np.isnan(part[1].numpy()).all()
    assert np.isnan(tf.linalg.svd(x, compute_uv=False)[1].numpy()).all()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors_and_eigenvalues(dtype, batch):
    for n in (0, 1, 2, 5, 40):
        a = draw(dtype, *batch, n, n)
        a = (a + adjoint(a)) / 2
        garbage = a + np.triu(np.full((n, n), 7.0, dtype), 1)
        e, v = both_ways(tf.linalg.eigh, garbage)
        assert e.dtype == v.dtype == tf.as_dtype(dtype)
        close(e.numpy().real, np.linalg.eigvalsh(a), dtype)
        assert_orthonormal(v, dtype)
        close((v.numpy() * e.numpy()[..., None, :]) @ adjoint(v.numpy()), a, dtype)
        close(tf.linalg.eigvalsh(garbage).numpy().real, np.linalg.eigvalsh(a), dtype)


def test_eigenvalues_of_what_is_not_finite_are_an_error():
    with pytest.raises(tf.errors.InvalidArgumentError, match="might not be valid"):
        tf.linalg.eigh([[np.nan, 0.0], [0.0, 1.0]])


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_solutions_satisfy_the_equations(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    n, k = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 3))
    of_a, of_b = data.draw(
        st.sampled_from([((), ()), ((2,), (2,)), ((3, 1), (2,)), ((), (2,)), ((0,), (0,)), ((2,), ())])
    )
    is_adjoint, lower = data.draw(st.booleans()), data.draw(st.booleans())
    a, b = regular(dtype, *of_a, n, n), draw(dtype, *of_b, n, k)
    meant = adjoint(a) if is_adjoint else a
    x = tf.linalg.solve(a, b, adjoint=is_adjoint).numpy()
    expected = np.broadcast_to(b, (*np.broadcast_shapes(of_a, of_b), n, k))
    close(meant @ x, expected, dtype)
    triangle = np.tril(a) if lower else np.triu(a)
    meant = adjoint(triangle) if is_adjoint else triangle
    x = tf.linalg.triangular_solve(a, b, lower=lower, adjoint=is_adjoint).numpy()
    close(meant @ x, expected, dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_inverses_and_determinants(dtype, batch):
    for n in (0, 1, 2, 5):
        a = regular(dtype, *batch, n, n)
        close(both_ways(tf.linalg.inv, a), np.linalg.inv(a), dtype)
        close(tf.linalg.inv(a, adjoint=True), adjoint(np.linalg.inv(a)), dtype)
        expected = np.linalg.det(a)
        found = both_ways(tf.linalg.det, a).numpy()
        np.testing.assert_allclose(found, expected, 1e-3 if dtype in ("float32", "complex64") else 1e-9)
        sign, log = both_ways(lambda x: tuple(tf.linalg.slogdet(x)), a)
        expected = np.linalg.slogdet(a)
        close(sign, expected[0], dtype)
        close(log.numpy().real, expected[1], dtype)
        a = definite(dtype, *batch, n, n)
        close(both_ways(tf.linalg.logdet, a), np.linalg.slogdet(a)[1], dtype)


def test_singular_matrices():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    for call in (
        lambda a: tf.linalg.inv(a),
        lambda a: tf.linalg.solve(a, np.ones((2, 1))),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            call(singular)
    with pytest.raises(tf.errors.InvalidArgumentError, match="matrix 1 of the batch"):
        tf.linalg.inv(np.stack([np.eye(2), singular]))
    assert tf.linalg.triangular_solve([[0.0, 0.0], [1.0, 1.0]], [[1.0], [1.0]]).numpy().tolist() == [
        [np.inf],
        [-np.inf],
    ]
    assert np.isnan(tf.linalg.lstsq([[0.0, 0.0], [0.0, 1.0]], [[1.0], [1.0]])).all()
    assert np.isnan(tf.linalg.cholesky_solve([[np.nan]], [[1.0]]))
    assert float(tf.linalg.det(singular)) == 0.0
    sign, log = tf.linalg.slogdet(singular)
    assert (float(sign), float(log)) == (0.0, -np.inf)


def test_a_determinant_that_would_overflow():
    a = np.diag(np.full(200, 100.0)).astype("float32")
    sign, log = tf.linalg.slogdet(a)
    assert float(sign) == 1.0
    np.testing.assert_allclose(float(log), 200 * np.log(100.0), 1e-5)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4)])
def test_least_squares(dtype, m, n):
    a, b = draw(dtype, 2, m, n), draw(dtype, 2, m, 3)
    expected = np.stack([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in zip(a, b, strict=True)])
    for fast in (True, False):
        np.testing.assert_allclose(
            both_ways(lambda x, y, fast=fast: tf.linalg.lstsq(x, y, fast=fast), a, b).numpy(),
            expected,
            1e-6,
            1e-8,
        )
    ridge = tf.linalg.lstsq(a, b, l2_regularizer=0.5).numpy()
    gram = adjoint(a) @ a + 0.5 * np.eye(n)
    np.testing.assert_allclose(ridge, np.linalg.solve(gram, adjoint(a) @ b), 1e-8, 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pseudoinverse_and_rank(dtype):
    for m, n in [(3, 3), (5, 2), (2, 5)]:
        a = draw(dtype, 2, m, n)
        a[0] = np.outer(draw(dtype, m), draw(dtype, n))
        close(both_ways(tf.linalg.pinv, a), np.linalg.pinv(a, rcond=1e-4), dtype)
        assert both_ways(tf.linalg.matrix_rank, a).numpy().tolist() == [1, min(m, n)]
    assert int(tf.linalg.matrix_rank(np.diag([1.0, 0.1, 0.01]), tol=0.05)) == 2
    close(tf.linalg.pinv(np.diag([1.0, 1e-3]), rcond=1e-2), np.diag([1.0, 0.0]), "float64")


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (-2, -1), (0, 2), (2, 1)])
def test_norms_of_matrices(dtype, axes):
    x = draw(dtype, 3, 4, 5)
    for order, keep in itertools.product(["euclidean", "fro", 1, 2, np.inf], [False, True]):
        expected = np.linalg.norm(x, "fro" if order == "euclidean" else order, axes, keep)
        result = both_ways(lambda v, o=order, k=keep: tf.norm(v, o, axes, k), x)
        np.testing.assert_allclose(result.numpy(), expected, 1e-10)


def weighted(y, salt):
    """A real number that depends on all of a tensor."""
    shape = [int(n) for n in y.shape]
    w = np.cos(1.0 + salt + np.arange(np.prod(shape, dtype=int))).reshape(shape)
    value = tf.abs(y) ** 2 if y.dtype.is_complex else y
    return tf.reduce_sum(tf.cast(value, tf.float64) * w)


def reconstructed(u, s, v):
    return tf.matmul(u * tf.cast(s, u.dtype)[..., None, :], v, adjoint_b=True)


def of_hermitian(f):
    return lambda a: f((a + tf.linalg.adjoint(a)) / 2)


# Functions that do not depend on the free signs and phases of factors.
SMOOTH = {
    "cholesky": (definite, of_hermitian(lambda a: weighted(tf.linalg.cholesky(a), 0)), (3, 3)),
    "inv": (regular, lambda a: weighted(tf.linalg.inv(a), 1), (3, 3)),
    "det": (regular, lambda a: weighted(tf.linalg.det(a), 2), (3, 3)),
    "slogdet": (regular, lambda a: weighted(tf.math.real(tf.linalg.slogdet(a)[1]), 3), (3, 3)),
    "logdet": (definite, of_hermitian(lambda a: weighted(tf.linalg.logdet(a), 4)), (3, 3)),
    "lu": (regular, lambda a: weighted(tf.linalg.lu(a)[0], 5), (3, 3)),
    "qr of rows": (draw, lambda a: weighted(tf.linalg.qr(a)[1], 6), (2, 4)),
    "qr of columns": (
        draw,
        lambda a: weighted(tf.linalg.qr(a)[1], 6) + weighted(tf.linalg.qr(a)[0], 7),
        (4, 2),
    ),
    "singular values": (draw, lambda a: weighted(tf.linalg.svd(a, compute_uv=False), 8), (3, 4)),
    "values of svd": (draw, lambda a: weighted(tf.linalg.svd(a)[0], 8), (4, 3)),
    "vectors of svd": (
        draw,
        lambda a: weighted(tf.linalg.svd(a)[1], 9) + weighted(tf.linalg.svd(a)[2], 10),
        (3, 2),
    ),
    "powers by svd": (
        draw,
        lambda a: weighted(reconstructed(*(lambda s, u, v: (u, s**2, v))(*tf.linalg.svd(a))), 11),
        (2, 3),
    ),
    "eigenvalues": (definite, of_hermitian(lambda a: weighted(tf.linalg.eigvalsh(a), 12)), (3, 3)),
    "eigenvectors": (definite, of_hermitian(lambda a: weighted(tf.linalg.eigh(a)[1], 13)), (3, 3)),
    "exponential by eigh": (
        lambda dtype, *s: definite(dtype, *s) / 4,
        of_hermitian(
            lambda a: weighted(reconstructed(*(lambda e, v: (v, tf.exp(e), v))(*tf.linalg.eigh(a))), 14)
        ),
        (3, 3),
    ),
    "solve": (regular, lambda a: weighted(tf.linalg.solve(a, a[..., :2] ** 2), 15), (3, 3)),
    "adjoint solve": (regular, lambda a: weighted(tf.linalg.solve(a, a[..., :1], adjoint=True), 16), (3, 3)),
    "triangular solve": (
        regular,
        lambda a: weighted(tf.linalg.triangular_solve(a, a, lower=False), 17),
        (3, 3),
    ),
    "pinv": (draw, lambda a: weighted(tf.linalg.pinv(a), 18), (4, 2)),
    "lstsq": (draw, lambda a: weighted(tf.linalg.lstsq(a, a[..., :1] ** 2), 19), (4, 2)),
    "spectral norm": (draw, lambda a: weighted(tf.norm(a, 2, (-2, -1)), 20), (3, 2)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_slopes(name, dtype):
    make, f, shape = SMOOTH[name]
    x = make(dtype, 2, *shape)
    direction = draw(dtype, 2, *shape)
    if "eig" in name or name in ("cholesky", "logdet"):
        direction = (direction + adjoint(direction)) / 2
    v = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(v)
        value = f(v)
    gradient = tape.gradient(value, v)
    assert (gradient.dtype, gradient.shape) == (v.dtype, v.shape)
    along = float(np.sum(np.conj(gradient.numpy()) * direction).real)
    np.testing.assert_allclose(along, slope(lambda a: f(tf.constant(a)), x, direction), 2e-5, 2e-6)


@pytest.mark.parametrize(
    "name", ["cholesky", "inv", "lu", "qr of rows", "vectors of svd", "eigenvectors", "pinv"]
)
def test_second_derivatives_are_slopes(name):
    make, f, shape = SMOOTH[name]
    x, direction = make("float64", *shape), draw("float64", *shape)
    if "eig" in name or name == "cholesky":
        direction = (direction + adjoint(direction)) / 2

    def first(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            value = f(a)
        return tf.reduce_sum(tape.gradient(value, a) * direction)

    v = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(v)
        value = first(v)
    along = float(np.sum(tape.gradient(value, v).numpy() * direction))
    np.testing.assert_allclose(along, slope(lambda a: first(tf.constant(a)), x, direction), 1e-4, 1e-5)


def test_the_gradient_of_a_log_determinant_is_the_inverse():
    a = definite("float64", 3, 3)
    v = tf.constant(a)
    with tf.GradientTape() as tape:
        tape.watch(v)
        value = tf.linalg.logdet(v)
    assert_same(tape.gradient(value, v).numpy(), np.linalg.inv(a), 1e-10)


def test_factors_beyond_those_of_the_matrix_have_no_gradient():
    x = tf.constant(draw("float64", 4, 2))
    for call in (lambda a: tf.linalg.qr(a, True)[0], lambda a: tf.linalg.svd(a, True)[1]):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        with pytest.raises(LookupError):
            tape.gradient(y, x)


def test_gradients_are_traced_with_unknown_sizes():
    a = definite("float64", 2, 3, 3)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = weighted_by_index(tf.linalg.cholesky(x)) + weighted_by_index(tf.linalg.qr(x)[1])
        return tape.gradient(value, x)

    def weighted_by_index(y):
        return tf.reduce_sum(y * tf.cumsum(tf.ones_like(y), axis=-1))

    traced = tf.function(step, input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
    assert_same(traced(a).numpy(), step(tf.constant(a)).numpy(), 1e-10)


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda: tf.linalg.cholesky(np.ones((2, 3))), tf.errors.InvalidArgumentError, "square"),
        (lambda: tf.linalg.cholesky(np.ones(3)), tf.errors.InvalidArgumentError, "matrix"),
        (lambda: tf.linalg.cholesky(np.ones((2, 2), "int32")), TypeError, "int32"),
        (lambda: tf.linalg.inv(np.ones((2, 3))), tf.errors.InvalidArgumentError, "square"),
        (lambda: tf.linalg.det(np.ones((2, 3))), tf.errors.InvalidArgumentError, "square"),
        (lambda: tf.linalg.eigh(np.ones((2, 3))), tf.errors.InvalidArgumentError, "square"),
        (lambda: tf.linalg.qr(np.ones(3)), tf.errors.InvalidArgumentError, "matrix"),
        (lambda: tf.linalg.solve(np.ones((2, 2)), np.ones((3, 1))), tf.errors.InvalidArgumentError, "rhs"),
        (lambda: tf.linalg.solve(np.ones((2, 2)), np.ones(2)), tf.errors.InvalidArgumentError, "rhs"),
        (lambda: tf.linalg.triangular_solve(np.ones((2, 3)), np.ones((3, 1))), ValueError, "matrix"),
        (lambda: tf.linalg.lu(np.ones((2, 2)), tf.float32), TypeError, "output_idx_type"),
    ],
)
def test_bad_arguments_are_named(call, error, names):
    with pytest.raises(error, match=names):
        call()
    with pytest.raises(error, match=names):
        tf.function(call)()


def test_triangles_agree_with_scipy():
    a, b = regular("float64", 6, 6), draw("float64", 6, 2)
    expected = scipy.linalg.solve_triangular(a, b, trans="T", lower=True)
    assert_same(tf.linalg.triangular_solve(a, b, adjoint=True).numpy(), expected, 1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_pseudoinverse_has_a_gradient_where_singular_values_are_the_same(dtype):
    def gradient(x):
        x = tf.constant(x, dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.math.real(tf.linalg.pinv(x) * WEIGHTS))
        return tape.gradient(y, x)

    WEIGHTS = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype)
    # That of the inverse, and of a matrix of rank 1, whose rank stays, as TensorFlow has it.
    np.testing.assert_allclose(gradient(np.eye(2)), [[-1.0, -2.0], [-3.0, -4.0]], atol=1e-12)
    found = gradient([[2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(found, [[-0.25, 0.75], [0.5, 0.0]], atol=1e-12)
    assert np.isfinite(gradient(np.zeros([2, 2])).numpy()).all()


def test_gradients_of_pseudoinverses_of_unknown_sizes_and_batches():
    x = np.random.default_rng(1).normal(size=(2, 3, 2))

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.linalg.pinv(x) ** 2)
            g = inner.gradient(y, x)
            z = tf.reduce_sum(g**2)
        return g, tape.gradient(z, x)

    first, second = gradients(tf.constant(x))
    traced = tf.function(gradients, input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
    for ours, theirs in zip(traced(x), (first, second), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    step = 1e-6 * np.eye(6).reshape(6, 3, 2)
    for k, moved in enumerate(step):
        up, down = (np.sum(np.linalg.pinv(x[0] + sign * moved) ** 2) for sign in (1, -1))
        np.testing.assert_allclose(first[0].numpy().ravel()[k], (up - down) / 2e-6, rtol=1e-6)
