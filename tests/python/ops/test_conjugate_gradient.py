"""Linear equations by conjugate gradients."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

solve = tf.linalg.experimental.conjugate_gradient


def operator(matrix: np.ndarray) -> tf.linalg.LinearOperator:
    return tf.linalg.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_solutions(dtype: str) -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(2, 6, 6))
    if dtype.startswith("complex"):
        a = a + 1j * rng.normal(size=a.shape)
    matrix = (a @ a.conj().swapaxes(-1, -2) + 4 * np.eye(6)).astype(dtype)
    right = rng.normal(size=(2, 6)).astype(dtype)
    found = solve(operator(matrix), right, tol=1e-5, max_iter=50)
    assert np.allclose(np.einsum("bij,bj->bi", matrix, found.x.numpy()), right, atol=1e-3)
    assert 0 < int(found.i) <= 50
    assert found._fields == ("i", "x", "r", "p", "gamma")


def test_beginnings_limits_and_preconditioners() -> None:
    matrix = np.diag([1.0, 10.0, 100.0, 1000.0])
    right = np.ones(4)
    exact = right / np.diag(matrix)
    assert int(solve(operator(matrix), right, max_iter=2).i) == 2
    assert int(solve(operator(matrix), right, x=exact).i) == 0
    inverse = operator(np.diag(1 / np.diag(matrix)))
    quick = solve(operator(matrix), right, preconditioner=inverse)
    assert int(quick.i) == 1
    assert np.allclose(quick.x.numpy(), exact)
    zero = solve(operator(matrix), np.zeros(4))
    assert (int(zero.i), zero.x.numpy().tolist()) == (0, [0.0] * 4)
    with pytest.raises(ValueError, match="operator"):
        solve(tf.linalg.LinearOperatorFullMatrix(matrix), right)


def test_in_functions_and_with_gradients() -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])

    @tf.function
    def f(right: tf.Tensor) -> tf.Tensor:
        return solve(operator(matrix), right, tol=1e-12).x

    right = tf.constant([1.0, 2.0], tf.float64)
    assert np.allclose(f(right).numpy(), np.linalg.solve(matrix, [1.0, 2.0]))
    with tf.GradientTape() as tape:
        tape.watch(right)
        y = f(right)[0]
    assert np.allclose(tape.gradient(y, right).numpy(), np.linalg.inv(matrix)[0], atol=1e-6)
