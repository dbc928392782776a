"""Matrices that are known by their Fourier transform, and matrices whose diagonals are constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, pad, reverse, transpose
from penstock._ops.creation import range as range_of
from penstock._ops.fourier import complex_transform
from penstock._ops.indexing import gather, where
from penstock._ops.reductions import reduce_max, reduce_min, reduce_sum
from penstock._ops.shapes import reshape
from penstock._runtime.arguments import known_rank
from penstock._types.shape import TensorShape
from penstock.errors import InvalidArgumentError
from penstock.linalg._operators.base import (
    LinearOperator,
    adjoint_of,
    conjugate,
    joined,
    now,
    parameter,
    product_of,
)

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = [
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorToeplitz",
]


class _Circulant(LinearOperator):
    """The base: `F^-1 D F` with the transform `F` over some dimensions and a diagonal `D`."""

    BLOCKS = 1

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str,
    ) -> None:
        self._spectrum = parameter(spectrum)
        if self._spectrum.shape.rank is not None and self._spectrum.shape.rank < self.BLOCKS:
            raise InvalidArgumentError(
                f"argument 'spectrum' must have {self.BLOCKS} dimension(s), got {self._spectrum.shape}"
            )
        if is_square is False:
            raise InvalidArgumentError("a circulant operator is square")
        if not self._spectrum.dtype.is_complex and is_self_adjoint is None:
            is_self_adjoint = True
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"spectrum": spectrum},
        )  # fmt: skip

    @property
    def spectrum(self) -> Any:
        """The diagonal in the space of frequencies."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """How many dimensions are transformed."""
        return self.BLOCKS

    def _complex(self) -> _core.DType:
        wide = self.dtype in (_core.float64, _core.complex128)
        return _core.complex128 if wide else _core.complex64

    def _values(self) -> _core.Tensor:
        return raw_ops.cast(now(self._spectrum), dtype=self._complex())

    def _shape(self) -> TensorShape:
        shape = TensorShape(self._spectrum.shape)
        if shape.rank is None:
            return shape
        size = shape[-self.BLOCKS :].num_elements()
        return shape[: shape.rank - self.BLOCKS].concatenate([size, size])

    def _shape_tensor(self) -> _core.Tensor:
        shape = raw_ops.shape(now(self._spectrum))
        size = raw_ops.reduce_prod(shape[-self.BLOCKS :], axes=[0])[None]
        return concat([shape[: -self.BLOCKS], size, size], 0)

    def _through(self, x: _core.Tensor, values: _core.Tensor) -> _core.Tensor:
        """Columns multiplied by a diagonal in the space of frequencies."""
        rank = len(known_rank(x, 2))
        rows = transpose(raw_ops.cast(x, dtype=self._complex()), [*range(rank - 2), rank - 1, rank - 2])
        block = raw_ops.shape(values)[-self.BLOCKS :]
        grid = reshape(rows, concat([raw_ops.shape(rows)[:-1], block], 0))
        axes = list(range(rank - 1, rank - 1 + self.BLOCKS))
        none = [None] * self.BLOCKS
        there = complex_transform(grid, axes, none, False)
        # The columns of an operand share one diagonal.
        lead = len(known_rank(values)) - self.BLOCKS
        shape = raw_ops.shape(values)
        one = _core._to_tensor([1], _core.int32)
        there = there * reshape(values, concat([shape[:lead], one, block], 0))
        axes = list(range(len(known_rank(there)) - self.BLOCKS, len(known_rank(there))))
        back = complex_transform(there, axes, none, True)
        end = _core._to_tensor([-1], _core.int32)
        flat = reshape(back, concat([raw_ops.shape(back)[: -self.BLOCKS], end], 0))
        dims = len(known_rank(flat))
        return self._real(transpose(flat, [*range(dims - 2), dims - 1, dims - 2]))

    def _real(self, x: _core.Tensor) -> _core.Tensor:
        return raw_ops.cast(x if self.dtype.is_complex else raw_ops.real(x), dtype=self.dtype)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        values = conjugate(self._values()) if adjoint else self._values()
        return self._through(adjoint_of(x) if adjoint_arg else x, values)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        values = conjugate(self._values()) if adjoint else self._values()
        return self._through(adjoint_of(rhs) if adjoint_arg else rhs, raw_ops.reciprocal(values))

    def _flat(self) -> _core.Tensor:
        values = self._values()
        lead = raw_ops.shape(values)[: -self.BLOCKS]
        return reshape(values, concat([lead, _core._to_tensor([-1], _core.int32)], 0))

    def _eigvals(self) -> _core.Tensor:
        return self._flat()

    def _determinant(self) -> _core.Tensor:
        return self._real(product_of(self._flat()))

    def _log_abs_determinant(self) -> _core.Tensor:
        return reduce_sum(raw_ops.log(raw_ops.abs(self._flat())), -1)

    def _trace(self) -> _core.Tensor:
        return self._real(reduce_sum(self._flat(), -1))

    def _cond(self) -> _core.Tensor:
        magnitudes = raw_ops.abs(self._flat())
        return reduce_max(magnitudes, -1) / reduce_min(magnitudes, -1)

    def _inverse(self) -> LinearOperator:
        return type(self)(raw_ops.reciprocal(self._values()), self.dtype, **self._said())

    def _adjoint(self) -> LinearOperator:
        return type(self)(conjugate(self._values()), self.dtype, **self._said())

    def convolution_kernel(self, name: str = "convolution_kernel") -> _core.Tensor:
        """Give the kernel that a product with the operator convolves with.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A complex tensor of the shape of the spectrum: its inverse transform.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorCirculant([1.0, 1.0]).convolution_kernel().numpy().real.tolist()
        [1.0, 0.0]
        """
        values = self._values()
        rank = len(known_rank(values))
        return complex_transform(values, list(range(rank - self.BLOCKS, rank)), [None] * self.BLOCKS, True)


class LinearOperatorCirculant(_Circulant):
    """Matrices whose rows are one row, moved round by one place each: convolutions of periodic signals.

    Args:
        spectrum: the transform of the first column, of shape `[..., n]`.
        input_output_dtype: the dtype of what it multiplies.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`; true for a real spectrum.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: for a scalar, or where it is said not to be square.

    >>> import penstock as tf
    >>> column = tf.constant([1.0 + 0j, 2.0, 0.0])
    >>> operator = tf.linalg.LinearOperatorCirculant(tf.signal.fft(column), tf.float32)
    >>> operator.to_dense().numpy().round(4).tolist()
    [[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = _core.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


class LinearOperatorCirculant2D(_Circulant):
    """Block circulant matrices of circulant blocks: convolutions of periodic images.

    Args:
        spectrum: the transform of the kernel, of shape `[..., height, width]`.
        input_output_dtype: the dtype of what it multiplies.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`; true for a real spectrum.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: for fewer than two dimensions, or where it is said not to be square.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorCirculant2D(tf.ones([2, 3])).shape
    TensorShape([6, 6])
    """

    BLOCKS = 2

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = _core.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


class LinearOperatorCirculant3D(_Circulant):
    """Circulant matrices to the third depth: convolutions of periodic volumes.

    Args:
        spectrum: the transform of the kernel, of shape `[..., depth, height, width]`.
        input_output_dtype: the dtype of what it multiplies.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`; true for a real spectrum.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: for fewer than three dimensions, or where it is said not to be square.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorCirculant3D(tf.ones([2, 2, 2])).shape
    TensorShape([8, 8])
    """

    BLOCKS = 3

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = _core.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


class LinearOperatorToeplitz(LinearOperator):
    """Matrices whose diagonals are constant. A product takes transforms of twice the length.

    Args:
        col: the first column, of shape `[..., n]`.
        row: the first row, of shape `[..., n]`; its first element does not count.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: for scalars, or where it is said not to be square.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]).to_dense().numpy().tolist()
    [[1.0, 3.0], [2.0, 1.0]]
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        if is_square is False:
            raise InvalidArgumentError("a Toeplitz operator is square")
        self._col = parameter(col)
        self._row = parameter(row, self._col.dtype)
        for value, argument in (self._col, "col"), (self._row, "row"):
            if value.shape.rank == 0:
                raise InvalidArgumentError(
                    f"argument '{argument}' must have at least one dimension, got a scalar"
                )
        super().__init__(
            self._col.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"col": col, "row": row},
        )  # fmt: skip

    @property
    def col(self) -> Any:
        """The first column."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row."""
        return self._row

    def _shape(self) -> TensorShape:
        col, row = TensorShape(self._col.shape), TensorShape(self._row.shape)
        if col.rank is None or row.rank is None:
            return TensorShape(None)
        size = col[-1] if col[-1] is not None else row[-1]
        return joined([col[:-1], row[:-1]]).concatenate([size, size])

    def _both(self) -> tuple[_core.Tensor, _core.Tensor]:
        col, row = now(self._col), now(self._row)
        return col + raw_ops.zeros_like(row), row + raw_ops.zeros_like(col)

    def _shape_tensor(self) -> _core.Tensor:
        shape = raw_ops.shape(self._both()[0])
        return concat([shape, shape[-1:]], 0)

    def _to_dense(self) -> _core.Tensor:
        col, row = self._both()
        size = raw_ops.shape(col)[-1]
        places = range_of(size)
        distance = places[:, None] - places
        below = raw_ops.greater_equal(distance, raw_ops.zeros_like(distance))
        return where(
            below,
            gather(col, raw_ops.maximum(distance, raw_ops.zeros_like(distance)), axis=-1),
            gather(row, raw_ops.maximum(-distance, raw_ops.zeros_like(distance)), axis=-1),
        )

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        operand = adjoint_of(x) if adjoint_arg else x
        col, row = self._both()
        if adjoint:
            col, row = conjugate(concat([col[..., :1], row[..., 1:]], -1)), conjugate(col)
        size = raw_ops.shape(col)[-1]
        # A circulant matrix of twice the size has the matrix in its corner.
        around = concat([col, raw_ops.zeros_like(col[..., :1]), reverse(row[..., 1:], [-1])], -1)
        wide = self.dtype in (_core.float64, _core.complex128)
        target = _core.complex128 if wide else _core.complex64
        around = raw_ops.cast(around, dtype=target)
        rank = len(known_rank(around))
        spectrum = complex_transform(around, [rank - 1], [None], False)
        edges = [[0, 0]] * (len(known_rank(operand)) - 2)
        padded = pad(operand, [*edges, [0, size], [0, 0]])
        whole = LinearOperatorCirculant(spectrum, self.dtype)
        return whole.matmul(padded)[..., :size, :]  # type: ignore[no-any-return]

    def _diag_part(self) -> _core.Tensor:
        col, _ = self._both()
        return raw_ops.zeros_like(col) + col[..., :1]
