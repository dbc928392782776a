"""Decompositions and solutions of the array API namespace, judged by NumPy and by their products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import penstock as tf
from penstock import array_api as xp

DTYPES = ["float32", "float64", "complex64", "complex128"]
TOLERANCE = {"float32": 2e-4, "float64": 1e-10, "complex64": 2e-4, "complex128": 1e-10}


@st.composite
def matrices(draw, square: bool = False) -> np.ndarray:
    """Stacks of matrices, not singular."""
    lead = tuple(draw(st.lists(st.integers(0, 2), max_size=2)))
    m = draw(st.integers(1, 4))
    n = m if square else draw(st.integers(1, 4))
    dtype = draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=(*lead, m, n)) + (1j * rng.normal(size=(*lead, m, n)) if dtype[0] == "c" else 0)
    return (x + 3 * np.eye(m, n)).astype(dtype)


def near(got, expected) -> None:
    got = np.asarray(got.numpy())
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    limit = TOLERANCE[got.dtype.name]
    np.testing.assert_allclose(got, expected, rtol=limit, atol=limit)


def adjoint(x):
    return xp.conj(x.mT)


def transposed(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


@settings(max_examples=30, deadline=None)
@given(matrices(square=True))
def test_square_matrices(x):
    t = xp.asarray(x)
    near(xp.linalg.det(t), np.linalg.det(x))
    sign, logarithm = xp.linalg.slogdet(t)
    near(sign, np.linalg.slogdet(x)[0])
    near(logarithm, np.linalg.slogdet(x)[1])
    near(xp.linalg.inv(t), np.linalg.inv(x))
    near(xp.linalg.matrix_power(t, -2), np.linalg.matrix_power(x, -2))
    near(xp.linalg.solve(t, t), np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))
    near(xp.linalg.solve(t, xp.asarray(x[..., :1])), np.linalg.solve(x, x[..., :1]))
    vector = np.ones(x.shape[-1], x.dtype)
    near(xp.linalg.solve(t, xp.asarray(vector)), np.linalg.solve(x, vector[:, None])[..., 0])


@settings(max_examples=30, deadline=None)
@given(matrices(square=True))
def test_hermitian_matrices(x):
    hermitian = (x @ transposed(x) + np.eye(x.shape[-1])).astype(x.dtype)
    t = xp.asarray(hermitian)
    near(xp.linalg.cholesky(t), np.linalg.cholesky(hermitian))
    near(xp.linalg.cholesky(t, upper=True), transposed(np.linalg.cholesky(hermitian)))
    values, vectors = xp.linalg.eigh(t)
    near(values, np.linalg.eigvalsh(hermitian))
    near(xp.linalg.eigvalsh(t), np.linalg.eigvalsh(hermitian))
    near(vectors * xp.expand_dims(xp.astype(values, t.dtype), -2) @ adjoint(vectors), hermitian)


@settings(max_examples=30, deadline=None)
@given(matrices())
def test_rectangular_matrices(x):
    t, least = xp.asarray(x), min(x.shape[-2:])
    for mode in ("reduced", "complete"):
        q, r = xp.linalg.qr(t, mode=mode)
        assert q.shape[-1] == r.shape[-2] == (least if mode == "reduced" else x.shape[-2])
        near(q @ r, x)
        near(r, np.triu(r.numpy()))
    for full in (True, False):
        u, s, v = xp.linalg.svd(t, full_matrices=full)
        assert (u.shape[-1], v.shape[-2]) == (x.shape[-2:] if full else (least, least))
        near(u[..., :least] * xp.expand_dims(xp.astype(s, t.dtype), -2) @ v[..., :least, :], x)
        near(
            adjoint(u) @ u,
            np.broadcast_to(np.eye(u.shape[-1], dtype=x.dtype), (*x.shape[:-2], *[u.shape[-1]] * 2)),
        )
    near(xp.linalg.svdvals(t), np.linalg.svd(x, compute_uv=False))
    near(xp.linalg.pinv(t), np.linalg.pinv(x))
    np.testing.assert_array_equal(xp.linalg.matrix_rank(t).numpy(), np.linalg.matrix_rank(x))


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_matrix_norms(ord, keepdims, dtype):
    x = np.arange(12.0).reshape(2, 2, 3).astype(dtype) - 5
    expected = np.linalg.norm(x, ord, axis=(-2, -1), keepdims=keepdims)
    near(xp.linalg.matrix_norm(xp.asarray(x), ord=ord, keepdims=keepdims), expected)


def test_thresholds():
    x = np.diag([1.0, 1e-3, 0.0])
    for rtol in (None, 1e-2, 1e-4):
        assert xp.linalg.matrix_rank(xp.asarray(x), rtol=rtol).tolist() == np.linalg.matrix_rank(x, rtol=rtol)
        near(xp.linalg.pinv(xp.asarray(x), rtol=rtol), np.linalg.pinv(x, rcond=rtol))
    each = xp.asarray(np.array([1e-2, 1e-4]))
    assert xp.linalg.matrix_rank(xp.asarray(np.stack([x, x])), rtol=each).tolist() == [1, 2]


def test_traced_with_unknown_sizes():
    @tf.function(input_signature=[tf.TensorSpec([None, 3, 3], tf.float64)])
    def f(x):
        q, r = xp.linalg.qr(x)
        return q @ r, xp.linalg.solve(x, x), xp.linalg.svdvals(x), xp.linalg.pinv(x)

    x = np.random.default_rng(1).normal(size=(2, 3, 3))
    product, identity, values, inverse = f(tf.constant(x))
    near(product, x)
    near(identity, np.broadcast_to(np.eye(3), x.shape))
    near(values, np.linalg.svd(x, compute_uv=False))
    near(inverse, np.linalg.pinv(x))


def test_results_have_the_names_of_the_standard():
    x = xp.eye(2)
    assert xp.linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.qr(x)._fields == ("Q", "R")
    assert xp.linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert xp.linalg.svd(x)._fields == ("U", "S", "Vh")


@pytest.mark.parametrize(
    "name", ["cholesky", "det", "eigh", "eigvalsh", "inv", "slogdet", "solve", "matrix_power"]
)
def test_what_is_not_square_is_an_error(name):
    more = {"solve": (xp.ones(2),), "matrix_power": (2,)}.get(name, ())
    for shape in ((2, 3), (3,)):
        with pytest.raises(ValueError, match=name):
            getattr(xp.linalg, name)(xp.ones(shape), *more)


def test_bad_arguments_are_errors():
    with pytest.raises(ValueError, match="mode"):
        xp.linalg.qr(xp.eye(2), mode="full")
    with pytest.raises(ValueError, match="ord"):
        xp.linalg.matrix_norm(xp.eye(2), ord=3)
    with pytest.raises(TypeError, match=r"inv.*int64"):
        xp.linalg.inv(xp.asarray([[1]]))
    for singular in (
        lambda: xp.linalg.inv(xp.zeros((2, 2))),
        lambda: xp.linalg.solve(xp.zeros((2, 2)), xp.ones(2)),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            singular()
