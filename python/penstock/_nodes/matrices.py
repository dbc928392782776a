"""Linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import penstock as tf
from penstock._nodes._parts import ints, pullback

__all__ = ["NODES"]


def _product(x: Any, y: Any, adj_x: bool, adj_y: bool, grad_x: bool, grad_y: bool) -> Any:
    return tf.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y)


def _matmul(a: Any, b: Any, transpose_a: bool, transpose_b: bool, *hints: bool) -> Any:
    return tf.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def _eigh(input: Any, compute_v: bool) -> tuple[Any, Any]:
    if compute_v:
        found: tuple[Any, Any] = tf.linalg.eigh(input)
        return found
    return tf.linalg.eigvalsh(input), tf.zeros([], input.dtype)


def _eigh_rows(input: Any) -> Any:
    values, vectors = tf.linalg.eigh(input)
    return tf.concat([values[..., None, :], vectors], -2)


def _eig(input: Any, Tout: Any, compute_v: bool) -> tuple[Any, Any]:
    if compute_v:
        values, vectors = tf.linalg.eig(input)
        return tf.cast(values, Tout), tf.cast(vectors, Tout)
    return tf.cast(tf.linalg.eigvals(input), Tout), tf.zeros([], Tout)


def _svd(input: Any, compute_uv: bool, full_matrices: bool) -> tuple[Any, Any, Any]:
    if compute_uv:
        found: tuple[Any, Any, Any] = tf.linalg.svd(input, full_matrices)
        return found
    return tf.linalg.svd(input, compute_uv=False), tf.zeros([], input.dtype), tf.zeros([], input.dtype)


def _diag(diagonal: Any, k: Any, rows: Any, columns: Any, padding: Any, align: str = "LEFT_LEFT") -> Any:
    return tf.linalg.diag(
        diagonal,
        k=k,
        num_rows=ints(rows, "num_rows"),
        num_cols=ints(columns, "num_cols"),
        padding_value=padding,
        align=align,
    )


def _diag_part(input: Any, k: Any, padding: Any, align: str = "LEFT_LEFT") -> Any:
    return tf.linalg.diag_part(input, k=k, padding_value=padding, align=align)


def _set_diag(input: Any, diagonal: Any, k: Any, align: str = "LEFT_LEFT") -> Any:
    return tf.linalg.set_diag(input, diagonal, k=k, align=align)


def _cholesky_grad(l: Any, grad: Any) -> Any:  # noqa: E741  # the name that TensorFlow gives it
    product = tf.matmul(l, l, adjoint_b=True)
    found = pullback(tf.linalg.cholesky, [product], grad)
    return (found + tf.linalg.adjoint(found)) / 2


def _tridiagonal_product(above: Any, main: Any, below: Any, rhs: Any) -> Any:
    diagonals = [above[..., 0, :], main[..., 0, :], below[..., 0, :]]
    return tf.linalg.tridiagonal_matmul(diagonals, rhs, "sequence")


def _tridiagonal_solve(diagonals: Any, rhs: Any, partial_pivoting: bool, perturb_singular: bool) -> Any:
    return tf.linalg.tridiagonal_solve(
        diagonals, rhs, "compact", partial_pivoting=partial_pivoting, perturb_singular=perturb_singular
    )


def _banded(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    return tf.linalg.banded_triangular_solve(matrix, rhs, lower, adjoint)


def _lu(input: Any, idx: Any) -> tuple[Any, Any]:
    found: tuple[Any, Any] = tf.linalg.lu(input, idx)
    return found


def _transform(function: Callable[..., Any]) -> Callable[..., Any]:
    """A transform of real numbers, whose length stands in a tensor."""

    def transform(input: Any, fft_length: Any, dtype: Any) -> Any:
        return tf.cast(function(input, fft_length), dtype)

    return transform


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    def transform(input: Any, fft_length: Any, axes: Any, dtype: Any = None) -> Any:
        found = function(input, fft_length, axes)
        return found if dtype is None else tf.cast(found, dtype)

    return transform


def _inverse(input: Any, adjoint: bool) -> Any:
    return tf.linalg.inv(input, adjoint)


def _least_squares(matrix: Any, rhs: Any, l2: Any, fast: bool) -> Any:
    return tf.linalg.lstsq(matrix, rhs, tf.cast(l2, matrix.dtype), fast)


_PAIRS: Final[dict[str, Callable[..., Any]]] = {
    "Cholesky": tf.linalg.cholesky,
    "CholeskyGrad": _cholesky_grad,
    "MatrixBandPart": tf.linalg.band_part,
    "MatrixDeterminant": tf.linalg.det,
    "MatrixDiag": tf.linalg.diag,
    "MatrixDiagPart": tf.linalg.diag_part,
    "MatrixInverse": _inverse,
    "MatrixSetDiag": tf.linalg.set_diag,
    "MatrixSolve": tf.linalg.solve,
    "MatrixSolveLs": _least_squares,
    "MatrixTriangularSolve": tf.linalg.triangular_solve,
    "SelfAdjointEig": _eigh_rows,
    "SelfAdjointEigV2": _eigh,
    "Svd": _svd,
}

NODES: Final[dict[str, Callable[..., Any]]] = {
    **_PAIRS,
    # Names of old graphs.
    **{f"Batch{name}": function for name, function in _PAIRS.items()},
    "BandedTriangularSolve": _banded,
    "BatchFFT": tf.signal.fft,
    "BatchFFT2D": tf.signal.fft2d,
    "BatchFFT3D": tf.signal.fft3d,
    "BatchIFFT": tf.signal.ifft,
    "BatchIFFT2D": tf.signal.ifft2d,
    "BatchIFFT3D": tf.signal.ifft3d,
    "BatchMatMul": _product,
    "BatchMatMulV2": _product,
    "BatchMatMulV3": lambda x, y, Tout, *flags: tf.cast(
        _product(tf.cast(x, Tout), tf.cast(y, Tout), *flags), Tout
    ),
    "Eig": _eig,
    "Einsum": lambda inputs, equation: tf.einsum(equation, *inputs),
    "FFT": tf.signal.fft,
    "FFT2D": tf.signal.fft2d,
    "FFT3D": tf.signal.fft3d,
    "FFTND": _along(tf.signal.fftnd),
    "IFFT": tf.signal.ifft,
    "IFFT2D": tf.signal.ifft2d,
    "IFFT3D": tf.signal.ifft3d,
    "IFFTND": _along(tf.signal.ifftnd),
    "IRFFT": _transform(tf.signal.irfft),
    "IRFFT2D": _transform(tf.signal.irfft2d),
    "IRFFT3D": _transform(tf.signal.irfft3d),
    "IRFFTND": _along(tf.signal.irfftnd),
    "LogMatrixDeterminant": tf.linalg.slogdet,
    "Lu": _lu,
    "MatMul": _matmul,
    "MatrixDiagPartV2": _diag_part,
    "MatrixDiagPartV3": _diag_part,
    "MatrixDiagV2": _diag,
    "MatrixDiagV3": _diag,
    "MatrixExponential": tf.linalg.expm,
    "MatrixLogarithm": tf.linalg.logm,
    "MatrixSetDiagV2": _set_diag,
    "MatrixSetDiagV3": _set_diag,
    "MatrixSquareRoot": tf.linalg.sqrtm,
    "Qr": tf.linalg.qr,
    "RFFT": _transform(tf.signal.rfft),
    "RFFT2D": _transform(tf.signal.rfft2d),
    "RFFT3D": _transform(tf.signal.rfft3d),
    "RFFTND": _along(tf.signal.rfftnd),
    "SparseMatMul": _matmul,
    "TridiagonalMatMul": _tridiagonal_product,
    "TridiagonalSolve": _tridiagonal_solve,
}
