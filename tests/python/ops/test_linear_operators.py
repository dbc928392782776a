"""Linear operators against their matrices: every class, every question, with batches and adjoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import penstock as tf

RNG = np.random.default_rng(12)
L = tf.linalg


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def symmetric(*batch: int, n: int = 3) -> np.ndarray:
    x = numbers(*batch, n, n)
    return x @ np.swapaxes(x, -1, -2) + np.eye(n)


def known(matrix: np.ndarray, **said: bool) -> Any:
    return L.LinearOperatorFullMatrix(matrix, **said)


# Each case: an operator and its matrix.
CASES: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {}


def case(function: Callable[[], tuple[Any, np.ndarray]]) -> None:
    CASES[function.__name__] = function


@case
def full() -> Any:
    x = numbers(2, 3, 3)
    return L.LinearOperatorFullMatrix(x), x


@case
def full_complex() -> Any:
    x = numbers(3, 3, dtype="complex128")
    return L.LinearOperatorFullMatrix(x), x


@case
def positive_definite() -> Any:
    x = symmetric(2)
    return L.LinearOperatorFullMatrix(x, is_self_adjoint=True, is_positive_definite=True), x


@case
def triangle() -> Any:
    x = numbers(2, 4, 4) + 3 * np.eye(4)
    return L.LinearOperatorLowerTriangular(x), np.tril(x)


@case
def diagonal() -> Any:
    d = numbers(2, 4)
    return L.LinearOperatorDiag(d), np.stack([np.diag(row) for row in d])


@case
def diagonal_complex() -> Any:
    d = numbers(4, dtype="complex128")
    return L.LinearOperatorDiag(d), np.diag(d)


@case
def scaled_identity() -> Any:
    return L.LinearOperatorScaledIdentity(3, np.array([2.0, -1.5])), np.eye(3) * np.array([2.0, -1.5])[
        :, None, None
    ]


@case
def identity() -> Any:
    return L.LinearOperatorIdentity(3, [2], tf.float64), np.stack([np.eye(3)] * 2)


@case
def permutation() -> Any:
    order = np.array([[2, 0, 1], [1, 0, 2]])
    return L.LinearOperatorPermutation(order, tf.float64), np.stack([np.eye(3)[row] for row in order])


@case
def householder() -> Any:
    v = numbers(2, 4)
    unit = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return L.LinearOperatorHouseholder(v), np.eye(4) - 2 * unit[:, :, None] * unit[:, None, :]


@case
def tridiagonal() -> Any:
    d = numbers(2, 3, 4)
    return L.LinearOperatorTridiag(d), np.stack(
        [np.diag(x[1]) + np.diag(x[0, :-1], 1) + np.diag(x[2, 1:], -1) for x in d]
    )


@case
def circulant() -> Any:
    column = numbers(2, 5)
    operator = L.LinearOperatorCirculant(np.fft.fft(column), tf.float64)
    return operator, np.stack([scipy.linalg.circulant(c) for c in column])


@case
def circulant_of_images() -> Any:
    kernel = numbers(2, 3, 4)
    n = 12
    places = [(i, j) for i in range(3) for j in range(4)]
    due = np.empty((2, n, n))
    for r, (i, j) in enumerate(places):
        for c, (k, m) in enumerate(places):
            due[:, r, c] = kernel[:, (i - k) % 3, (j - m) % 4]
    return L.LinearOperatorCirculant2D(np.fft.fft2(kernel), tf.float64), due


@case
def circulant_of_volumes() -> Any:
    kernel = numbers(2, 2, 2)
    places = [(i, j, k) for i in range(2) for j in range(2) for k in range(2)]
    due = np.array(
        [[kernel[tuple((a - b) % 2 for a, b in zip(p, q, strict=True))] for q in places] for p in places]
    )
    return L.LinearOperatorCirculant3D(np.fft.fftn(kernel), tf.float64), due


@case
def toeplitz() -> Any:
    col, row = numbers(2, 4), numbers(4)
    return L.LinearOperatorToeplitz(col, row), np.stack(
        [scipy.linalg.toeplitz(c, [c[0], *row[1:]]) for c in col]
    )


@case
def composition() -> Any:
    a, d = numbers(2, 3, 3), numbers(3)
    return L.LinearOperatorComposition([known(a), L.LinearOperatorDiag(d)]), a @ np.diag(d)


@case
def adjoint() -> Any:
    x = numbers(2, 3, 3, dtype="complex128")
    return known(x).adjoint(), np.conj(np.swapaxes(x, -1, -2))


@case
def inversion() -> Any:
    x = symmetric(2)
    return known(x).inverse(), np.linalg.inv(x)


@case
def kronecker() -> Any:
    a, b, c = numbers(2, 2, 2), numbers(3, 3), numbers(2, 2)
    due = np.stack([np.kron(np.kron(x, b), c) for x in a])
    return L.LinearOperatorKronecker([known(a), known(b), known(c)]), due


@case
def block_diagonal() -> Any:
    a, b = symmetric(2), symmetric(n=2)
    operators = [known(x, is_self_adjoint=True, is_positive_definite=True) for x in (a, b)]
    return L.LinearOperatorBlockDiag(operators), np.stack([scipy.linalg.block_diag(x, b) for x in a])


@case
def block_triangle() -> Any:
    a, b, c = symmetric(), numbers(2, 3), symmetric(n=2)
    due = np.block([[a, np.zeros((3, 2))], [b, c]])
    return L.LinearOperatorBlockLowerTriangular([[known(a)], [known(b), known(c)]]), due


@case
def low_rank_update() -> Any:
    base, u, d, v = symmetric(n=4), numbers(2, 4, 2), numbers(2, 2), numbers(2, 4, 2)
    due = base + u @ (d[:, :, None] * np.swapaxes(v, -1, -2))
    return L.LinearOperatorLowRankUpdate(known(base), u, d, v), due


def near(got: tf.Tensor, due: np.ndarray) -> None:
    np.testing.assert_allclose(got.numpy(), due, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_an_operator_does_what_its_matrix_does(name: str) -> None:
    operator, matrix = CASES[name]()
    batch, (rows, columns) = matrix.shape[:-2], matrix.shape[-2:]
    assert operator.shape == matrix.shape
    assert operator.shape_tensor().numpy().tolist() == list(matrix.shape)
    assert (operator.batch_shape, operator.tensor_rank) == (batch, matrix.ndim)
    near(operator.to_dense(), matrix)
    near(operator.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1))
    near(operator.trace(), np.trace(matrix, axis1=-2, axis2=-1))
    near(operator.add_to_tensor(np.ones(matrix.shape, matrix.dtype)), matrix + 1)
    near(operator.determinant(), np.linalg.det(matrix))
    near(operator.log_abs_determinant(), np.linalg.slogdet(matrix)[1])
    near(operator.cond(), np.linalg.cond(matrix))
    values = np.sort_complex(operator.eigvals().numpy().astype("complex128").reshape(-1, rows))
    due = np.sort_complex(np.linalg.eigvals(matrix).astype("complex128").reshape(-1, rows))
    np.testing.assert_allclose(np.abs(values).sum(-1), np.abs(due).sum(-1), rtol=1e-6)
    near(operator.adjoint().to_dense(), np.conj(np.swapaxes(matrix, -1, -2)))
    near(operator.inverse().to_dense(), np.linalg.inv(matrix))
    dtype = str(matrix.dtype)
    for lead in {(), batch} if batch else {(), (2,)}:
        for conjugated in (False, True):
            own = np.conj(np.swapaxes(matrix, -1, -2)) if conjugated else matrix
            x = numbers(*lead, columns, 2, dtype=dtype)
            near(operator.matmul(x, adjoint=conjugated), own @ x)
            near(operator.solve(x, adjoint=conjugated), np.linalg.inv(own) @ x)
            flipped = np.conj(np.swapaxes(x, -1, -2))
            near(operator.matmul(flipped, adjoint=conjugated, adjoint_arg=True), own @ x)
            near(operator.solve(flipped, adjoint=conjugated, adjoint_arg=True), np.linalg.inv(own) @ x)
            near(operator.matvec(x[..., 0], adjoint=conjugated), (own @ x)[..., 0])
            near(operator.solvevec(x[..., 0], adjoint=conjugated), (np.linalg.inv(own) @ x)[..., 0])


@pytest.mark.parametrize("name", ["positive_definite", "block_diagonal", "identity"])
def test_positive_definite_operators_are_factored(name: str) -> None:
    operator, matrix = CASES[name]()
    near(operator.cholesky().to_dense(), np.linalg.cholesky(matrix))
    operator.assert_positive_definite()
    operator.assert_self_adjoint()
    operator.assert_non_singular()


def test_operators_have_products() -> None:
    a, b = numbers(2, 3), numbers(3, 2)
    product = known(a) @ known(b)
    near(product.to_dense(), a @ b)
    near(product.solve(numbers(2, 1) * 0 + 1), np.linalg.inv(a @ b) @ np.ones((2, 1)))
    near(known(a).matmul(known(a), adjoint_arg=True).to_dense(), a @ a.T)


def test_zeros_and_operators_that_are_not_square() -> None:
    zeros = L.LinearOperatorZeros(2, 3, [4], tf.float64, is_square=False)
    assert zeros.shape == (4, 2, 3)
    near(zeros.matmul(numbers(3, 2)), np.zeros((4, 2, 2)))
    assert zeros.diag_part().shape == (4, 2)
    assert zeros.is_square is False
    with pytest.raises(ValueError, match="is not square"):
        zeros.solve(numbers(2, 1))
    with pytest.raises(ValueError, match="is singular"):
        L.LinearOperatorZeros(2).inverse()
    with pytest.raises(ValueError, match="does not fit a tensor"):
        L.LinearOperatorIdentity(3).matmul(tf.ones([2, 2]))
    with pytest.raises(ValueError, match="must be known as self-adjoint"):
        known(numbers(2, 2)).cholesky()
    with pytest.raises(TypeError, match="argument 'matrix' must be floating or complex"):
        L.LinearOperatorFullMatrix([[1]])


def test_what_is_said_follows_from_parts() -> None:
    positive = known(symmetric(), is_self_adjoint=True, is_positive_definite=True)
    assert positive.is_non_singular
    assert positive.is_square
    assert L.LinearOperatorKronecker([positive, positive]).is_positive_definite
    assert L.LinearOperatorBlockDiag([positive, positive]).is_self_adjoint
    assert L.LinearOperatorLowRankUpdate(positive, numbers(3, 1)).is_positive_definite
    assert (
        L.LinearOperatorLowRankUpdate(positive, numbers(3, 1), v=numbers(3, 1)).is_positive_definite is None
    )
    assert L.LinearOperatorComposition([positive, positive]).is_non_singular


def test_an_operator_reads_its_variables_and_has_gradients() -> None:
    v = tf.Variable(numbers(3))
    operator = L.LinearOperatorDiag(v)
    assert operator.trainable_variables == (v,)

    @tf.function
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(operator.solvevec(x)) + operator.log_abs_determinant()
        return tape.gradient(y, v)

    x = numbers(3)
    near(step(x), -x / v.numpy() ** 2 + 1 / v.numpy())
    v.assign(v * 2)
    near(step(x), -x / v.numpy() ** 2 + 1 / v.numpy())


def test_operators_of_unknown_shape() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)] * 2)
    def traced(a: tf.Tensor, b: tf.Tensor) -> Any:
        whole = L.LinearOperatorKronecker([known(a), known(b)])
        x = tf.ones([whole.domain_dimension_tensor(), 1], tf.float64)
        return whole.matmul(x), whole.solve(x), whole.log_abs_determinant()

    a, b = symmetric(n=2), symmetric()
    product, solution, logarithm = traced(a, b)
    due = np.kron(a, b)
    near(product, due @ np.ones((6, 1)))
    near(solution, np.linalg.solve(due, np.ones((6, 1))))
    near(logarithm, np.linalg.slogdet(due)[1])


SIZES = [(2, 0), (0, 2), (0, 0), (2, 2)]


@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("second", SIZES)
def test_operators_without_rows_or_columns_are_parts_of_others(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    a, b = numbers(*first), numbers(*second)
    for whole, due in (
        (L.LinearOperatorKronecker([known(a), known(b)]), np.kron(a, b)),
        (L.LinearOperatorBlockDiag([known(a), known(b)], is_square=None), scipy.linalg.block_diag(a, b)),
    ):
        near(whole.to_dense(), due)
        for adjoint in (False, True):
            x = numbers(due.shape[0 if adjoint else 1], 3)
            near(whole.matmul(x, adjoint=adjoint), (due.T if adjoint else due) @ x)


def test_blocks_that_do_not_fit_each_other_are_refused() -> None:
    one = L.LinearOperatorIdentity(2, dtype=tf.float64)
    for shape in ((0, 2), (2, 1), (3, 2)):
        with pytest.raises(ValueError, match=r"2 rows and 2 columns at \[1\]\[0\]"):
            L.LinearOperatorBlockLowerTriangular([[one], [known(numbers(*shape)), one]])


def test_operators_without_rows_have_the_determinant_1_and_an_inverse() -> None:
    none = np.zeros([0, 0])
    for operator in (
        L.LinearOperatorKronecker([known(none), known(symmetric(n=2))]),
        L.LinearOperatorBlockDiag([known(none), known(none)]),
        L.LinearOperatorHouseholder(np.zeros([0])),
        L.LinearOperatorPermutation(np.zeros([0], np.int32), np.float64),
        L.LinearOperatorScaledIdentity(0, np.float64(2.0)),
        L.LinearOperatorTridiag(np.zeros([3, 0]), "compact"),
    ):
        assert operator.inverse().to_dense().shape == (0, 0)
        assert operator.solve(np.zeros([0, 3])).shape == (0, 3)
        assert operator.log_abs_determinant().numpy() == 0.0
    assert tf.linalg.tridiagonal_solve(tf.zeros([3, 2]), tf.zeros([2, 0])).shape == (2, 0)


def test_a_class_of_ones_own_defines_two_methods() -> None:
    class Shift(L.LinearOperator):
        def __init__(self) -> None:
            super().__init__(tf.float64, is_square=True)

        def _shape(self) -> tf.TensorShape:
            return tf.TensorShape([3, 3])

        def _matmul(self, x: tf.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> tf.Tensor:
            x = tf.linalg.adjoint(x) if adjoint_arg else x
            return tf.roll(x, -1 if adjoint else 1, -2)

    shift, matrix = Shift(), np.roll(np.eye(3), 1, 0)
    near(shift.to_dense(), matrix)
    near(shift.solvevec([1.0, 2.0, 3.0]), np.linalg.solve(matrix, [1.0, 2.0, 3.0]))
    near(shift.adjoint().matvec([1.0, 2.0, 3.0]), matrix.T @ [1.0, 2.0, 3.0])
    near(shift.determinant(), 1.0)
