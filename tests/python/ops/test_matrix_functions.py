"""Exponentials, roots and logarithms of matrices; matrices of few diagonals; solutions from factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import penstock as tf

RNG = np.random.default_rng(8)
LIMIT = {"float64": 1e-12, "complex128": 1e-12, "float32": 2e-5, "complex64": 2e-5}


def matrices(n: int, size: float, dtype: str) -> np.ndarray:
    """Two matrices with eigenvalues that lie away from the negative numbers."""
    x = RNG.normal(size=(2, n, n))
    x = x @ x.transpose(0, 2, 1) + np.eye(n) * 0.2 + RNG.normal(size=(2, n, n)) * 0.05
    return (x * size + (1j * np.triu(x) * 0.1 if dtype.startswith("complex") else 0)).astype(dtype)


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("size", [1e-3, 1.0, 20.0])
def test_functions_of_matrices(dtype: str, n: int, size: float) -> None:
    x = matrices(n, size, dtype)
    wide = x.astype("complex128")

    def near(got: tf.Tensor, due: np.ndarray) -> None:
        assert got.dtype == dtype
        error = np.abs(got.numpy() - due).max(axis=(1, 2))
        assert (error <= LIMIT[dtype] * n * np.abs(due).max(axis=(1, 2))).all(), error

    small = x / size
    near(tf.linalg.expm(small), np.stack([scipy.linalg.expm(m) for m in wide / size]))
    root = tf.linalg.sqrtm(x)
    near(tf.matmul(root, root), wide)
    logarithm = tf.linalg.logm(x)
    near(logarithm, np.stack([scipy.linalg.logm(m) for m in wide]))


def test_functions_of_matrices_of_unknown_shape_have_gradients() -> None:
    x = tf.constant(matrices(3, 1.0, "float64"))

    @tf.function(input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
    def traced(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            results = [f(x) for f in (tf.linalg.expm, tf.linalg.sqrtm, tf.linalg.logm)]
        return [tape.gradient(result, x) for result in results]

    for f, slope in zip((tf.linalg.expm, tf.linalg.sqrtm, tf.linalg.logm), traced(x), strict=True):
        step = np.zeros(x.shape)
        step[1, 0, 2] = 1e-6
        difference = tf.reduce_sum(f(x + step) - f(x - step)) / 2e-6
        np.testing.assert_allclose(slope[1, 0, 2].numpy(), difference.numpy(), rtol=1e-5, atol=1e-7)


def test_matrices_without_elements_and_without_a_root() -> None:
    assert tf.linalg.expm(tf.zeros([0, 3, 3])).shape == (0, 3, 3)
    assert tf.linalg.expm(tf.zeros([0, 0])).shape == (0, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.sqrtm([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="argument 'input' must be square matrices"):
        tf.linalg.expm(tf.zeros([2, 3]))
    with pytest.raises(TypeError, match="argument 'input' must be floating or complex"):
        tf.linalg.logm([[1]])
    assert np.isnan(tf.linalg.expm([[np.nan]]).numpy()).all()


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_systems_of_three_diagonals(n: int, dtype: str) -> None:
    d = RNG.normal(size=(2, 3, n)) + (1j * RNG.normal(size=(2, 3, n)) if dtype == "complex128" else 0)
    whole = np.stack([np.diag(x[1]) + np.diag(x[0, :-1], 1) + np.diag(x[2, 1:], -1) for x in d])
    right = RNG.normal(size=(2, n, 2)).astype(dtype)
    due = np.linalg.solve(whole, right)
    forms = {"compact": d, "matrix": whole, "sequence": [d[:, 0, :-1], d[:, 1], d[:, 2, 1:]]}
    for form, diagonals in forms.items():
        got = tf.linalg.tridiagonal_matmul(diagonals, right, form)
        np.testing.assert_allclose(got.numpy(), whole @ right, atol=1e-12)
        got = tf.linalg.tridiagonal_solve(diagonals, right, form)
        np.testing.assert_allclose(got.numpy(), due, rtol=1e-9, atol=1e-9)
    got = tf.linalg.tridiagonal_solve(d, right.transpose(0, 2, 1), transpose_rhs=True)
    np.testing.assert_allclose(got.numpy(), due, rtol=1e-9, atol=1e-9)
    got = tf.linalg.tridiagonal_solve(d, right[..., 0], conjugate_rhs=True)
    np.testing.assert_allclose(
        got.numpy(), np.linalg.solve(whole, right[..., :1].conj())[..., 0], rtol=1e-9, atol=1e-9
    )


def test_rows_are_exchanged_where_a_pivot_is_zero() -> None:
    d = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    assert tf.linalg.tridiagonal_solve(d, [1.0, 2.0, 3.0]).numpy().tolist() == [0.0, 1.0, 2.0]
    assert not np.isfinite(
        tf.linalg.tridiagonal_solve(d, [1.0, 2.0, 3.0], partial_pivoting=False).numpy()
    ).all()
    assert tf.linalg.tridiagonal_solve(np.zeros((3, 0)), np.zeros((0, 2))).shape == (0, 2)


def test_systems_of_three_diagonals_of_unknown_size_have_gradients() -> None:
    signature = [tf.TensorSpec([3, None], tf.float64), tf.TensorSpec([None], tf.float64)]

    @tf.function(input_signature=signature)
    def traced(d: tf.Tensor, b: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([d, b])
            y = tf.linalg.tridiagonal_solve(d, b)
        return tape.gradient(y, [d, b])

    for n in (1, 4):
        d, b = tf.constant(RNG.normal(size=(3, n))), tf.constant(RNG.normal(size=n))
        by_d, by_b = traced(d, b)
        step = np.zeros((3, n))
        step[1, 0] = 1e-6
        change = tf.linalg.tridiagonal_solve(d + step, b) - tf.linalg.tridiagonal_solve(d - step, b)
        np.testing.assert_allclose(by_d[1, 0].numpy(), tf.reduce_sum(change).numpy() / 2e-6, rtol=1e-5)
        assert by_b.shape == (n,)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_systems_of_triangular_bands(lower: bool, count: int) -> None:
    n = 5
    bands = RNG.normal(size=(2, count, n))
    bands[:, 0 if lower else count - 1] += 3
    whole = np.zeros((2, n, n))
    for i in range(count):
        for j in range(n):
            column = j - i if lower else j + count - 1 - i
            if 0 <= column < n:
                whole[:, j, column] = bands[:, i, j]
    right = RNG.normal(size=(2, n, 2))
    for adjoint in (False, True):
        due = np.linalg.solve(whole.transpose(0, 2, 1) if adjoint else whole, right)
        got = tf.linalg.banded_triangular_solve(bands, right, lower, adjoint)
        np.testing.assert_allclose(got.numpy(), due, atol=1e-12)


def test_eigenvalues_of_three_diagonals() -> None:
    a, b = RNG.normal(size=6), RNG.normal(size=5)
    values, vectors = scipy.linalg.eigh_tridiagonal(a, b)
    np.testing.assert_allclose(tf.linalg.eigh_tridiagonal(a, b).numpy(), values, atol=1e-12)
    got, found = tf.linalg.eigh_tridiagonal(a, b, eigvals_only=False, select="i", select_range=(1, 3))
    np.testing.assert_allclose(got.numpy(), values[1:4], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.numpy()), np.abs(vectors[:, 1:4]), atol=1e-10)
    got = tf.linalg.eigh_tridiagonal(a, b, select="v", select_range=(values[1] + 1e-9, values[3] + 1e-9))
    np.testing.assert_allclose(got.numpy(), values[2:4], atol=1e-12)
    with pytest.raises(ValueError, match="argument 'select_range' is needed"):
        tf.linalg.eigh_tridiagonal(a, b, select="i")


def test_factors_give_matrices_solutions_and_inverses() -> None:
    x, right = RNG.normal(size=(2, 3, 4, 4)), RNG.normal(size=(2, 3, 4, 2))
    for matrix, b in ((x, right), (x[0, 0], right[0, 0])):
        packed, order = tf.linalg.lu(matrix)
        np.testing.assert_allclose(tf.linalg.lu_reconstruct(packed, order).numpy(), matrix, atol=1e-12)
        np.testing.assert_allclose(
            tf.linalg.lu_solve(packed, order, b).numpy(), np.linalg.solve(matrix, b), rtol=1e-9
        )
        np.testing.assert_allclose(
            tf.linalg.lu_matrix_inverse(packed, order).numpy(), np.linalg.inv(matrix), rtol=1e-9
        )
