"""Linear operators that are one matrix of a known form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat
from penstock._ops.banded import tridiagonal_matmul, tridiagonal_solve
from penstock._ops.creation import eye, range as range_of
from penstock._ops.decompositions import triangular_solve
from penstock._ops.diagonals import diag, diag_part
from penstock._ops.indexing import gather
from penstock._ops.reductions import reduce_max, reduce_min, reduce_sum
from penstock._ops.shapes import broadcast_dynamic_shape, broadcast_to
from penstock._runtime.arguments import integer, known_rank
from penstock._types.shape import TensorShape
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.linalg._operators.base import (
    LinearOperator,
    adjoint_of,
    conjugate,
    now,
    parameter,
    product_of,
    zeros_along,
)

if TYPE_CHECKING:
    from penstock._types.aliases import DTypeLike, IntLike, SizesLike, TensorLike

__all__ = [
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
]


def _matrices(value: Any, argument: str, least: int = 2) -> Any:
    """What an operator is made of.

    Raises:
        TypeError: for a dtype without arithmetic of fractions.
        ValueError: for too few dimensions.
    """
    found = parameter(value)
    if not (found.dtype.is_floating or found.dtype.is_complex):
        raise DTypeError(f"argument '{argument}' must be floating or complex, got {found.dtype.name}")
    if found.shape.rank is not None and found.shape.rank < least:
        raise InvalidArgumentError(
            f"argument '{argument}' must have at least {least} dimension(s), got {found.shape}"
        )
    return found


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices as they are.

    Args:
        matrix: floating or complex, of shape `[..., rows, columns]`; a variable is read when it is used.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for another dtype.
        ValueError: for fewer than two dimensions.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]).matvec([1.0, 1.0]).numpy().tolist()
    [3.0, 7.0]
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = _matrices(matrix, "matrix")
        super().__init__(
            self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
            {"matrix": matrix},
        )  # fmt: skip

    @property
    def matrix(self) -> Any:
        """The matrices."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return TensorShape(self._matrix.shape)

    def _shape_tensor(self) -> _core.Tensor:
        return raw_ops.shape(now(self._matrix))

    def _to_dense(self) -> _core.Tensor:
        return now(self._matrix)


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangles.

    Args:
        tril: floating or complex, of shape `[..., n, n]`; what is above the diagonal does not count.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for another dtype.
        ValueError: for fewer than two dimensions, or where it is said not to be square.

    >>> import penstock as tf
    >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 1.0]])
    >>> operator.solvevec([2.0, 3.0]).numpy().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise InvalidArgumentError("a lower triangle is square")
        self._tril = _matrices(tril, "tril")
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"tril": tril},
        )  # fmt: skip

    @property
    def tril(self) -> Any:
        """The matrices, of which the part above the diagonal does not count."""
        return self._tril

    def _shape(self) -> TensorShape:
        return TensorShape(self._tril.shape)

    def _shape_tensor(self) -> _core.Tensor:
        return raw_ops.shape(now(self._tril))

    def _to_dense(self) -> _core.Tensor:
        return raw_ops.matrix_band_part(now(self._tril), lower=-1, upper=0)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        return triangular_solve(now(self._tril), right, True, adjoint)

    def _diag_part(self) -> _core.Tensor:
        return diag_part(now(self._tril))

    def _determinant(self) -> _core.Tensor:
        return product_of(self._diag_part())

    def _log_abs_determinant(self) -> _core.Tensor:
        return reduce_sum(raw_ops.log(raw_ops.abs(self._diag_part())), -1)

    def _eigvals(self) -> _core.Tensor:
        return self._diag_part()


class _Diagonal(LinearOperator):
    """The base of operators that are known by their diagonal."""

    def _along(self) -> _core.Tensor:
        """The diagonal, or a number for all of it, with a dimension that broadcasts along it."""
        raise TypeError(f"{type(self).__name__} does not define '_along'")

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        own = conjugate(self._along()) if adjoint else self._along()
        return own[..., None] * (adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        own = conjugate(self._along()) if adjoint else self._along()
        return (adjoint_of(rhs) if adjoint_arg else rhs) / own[..., None]

    def _diag_part(self) -> _core.Tensor:
        shape = self._shape_tensor()
        return broadcast_to(self._along(), shape[:-1])

    def _to_dense(self) -> _core.Tensor:
        return diag(self._diag_part())

    def _determinant(self) -> _core.Tensor:
        return product_of(self._diag_part())

    def _log_abs_determinant(self) -> _core.Tensor:
        return reduce_sum(raw_ops.log(raw_ops.abs(self._diag_part())), -1)

    def _eigvals(self) -> _core.Tensor:
        return self._diag_part()

    def _cond(self) -> _core.Tensor:
        magnitudes = raw_ops.abs(self._diag_part())
        return reduce_max(magnitudes, -1) / reduce_min(magnitudes, -1)

    def _of(self, diagonal: _core.Tensor) -> LinearOperator:
        """An operator with another diagonal, of which the same is said."""
        return LinearOperatorDiag(diagonal, **self._said())

    def _inverse(self) -> LinearOperator:
        return self._of(raw_ops.reciprocal(self._along()))

    def _adjoint(self) -> LinearOperator:
        return self._of(conjugate(self._along()))

    def _cholesky(self) -> LinearOperator:
        root = raw_ops.sqrt(self._diag_part())
        return LinearOperatorDiag(root, is_self_adjoint=True, is_positive_definite=True)


class LinearOperatorDiag(_Diagonal):
    """Diagonal matrices.

    Args:
        diag: the diagonals, floating or complex, of shape `[..., n]`; a variable is read when it is used.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`; known for real numbers.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for another dtype.
        ValueError: for a scalar, or where it is said not to be square.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorDiag([1.0, -1.0]).determinant().numpy()
    np.float32(-1.0)
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = _matrices(diag, "diag", 1)
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise InvalidArgumentError("a real diagonal operator is self-adjoint")
            is_self_adjoint = True
        if is_square is False:
            raise InvalidArgumentError("a diagonal operator is square")
        super().__init__(
            self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"diag": diag},
        )  # fmt: skip

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _along(self) -> _core.Tensor:
        return now(self._diag)

    def _shape(self) -> TensorShape:
        shape = TensorShape(self._diag.shape)
        return shape.concatenate(shape[-1:]) if shape.rank is not None else shape

    def _shape_tensor(self) -> _core.Tensor:
        shape = raw_ops.shape(now(self._diag))
        return concat([shape, shape[-1:]], 0)

    def _diag_part(self) -> _core.Tensor:
        return now(self._diag)


class LinearOperatorScaledIdentity(_Diagonal):
    """Multiples of the identity.

    Args:
        num_rows: how many rows and columns.
        multiplier: a number for each matrix of the batch.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`; known for real numbers.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`.
        assert_proper_shapes: accepted; shapes are always checked.
        name: a name.

    Raises:
        ValueError: for a negative number of rows, or where it is said not to be square.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorScaledIdentity(2, 3.0).matvec([1.0, 2.0]).numpy().tolist()
    [3.0, 6.0]
    """

    def __init__(
        self,
        num_rows: IntLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        if not is_square:
            raise InvalidArgumentError("a multiple of the identity is square")
        self._multiplier = _matrices(multiplier, "multiplier", 0)
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = True
        self._size = _size(num_rows, "num_rows")
        super().__init__(
            self._multiplier.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"num_rows": num_rows, "multiplier": multiplier},
        )  # fmt: skip

    @property
    def multiplier(self) -> Any:
        """The numbers."""
        return self._multiplier

    def _along(self) -> _core.Tensor:
        return now(self._multiplier)[..., None]

    def _shape(self) -> TensorShape:
        size = self._size if isinstance(self._size, int) else None
        return TensorShape(self._multiplier.shape).concatenate([size, size])

    def _shape_tensor(self) -> _core.Tensor:
        size = _core._to_tensor([self._size, self._size], _core.int32)
        return concat([raw_ops.shape(now(self._multiplier)), size], 0)

    def _of(self, diagonal: _core.Tensor) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._size, diagonal[..., 0], **self._said())


class LinearOperatorIdentity(_Diagonal):
    """The identity.

    Args:
        num_rows: how many rows and columns.
        batch_shape: the dimensions of the batch; none by default.
        dtype: that of the matrix; `float32` by default.
        is_non_singular: as for `LinearOperator`; true.
        is_self_adjoint: as for `LinearOperator`; true.
        is_positive_definite: as for `LinearOperator`; true.
        is_square: as for `LinearOperator`; true.
        assert_proper_shapes: accepted; shapes are always checked.
        name: a name.

    Raises:
        ValueError: for a negative number of rows, or where something else is said of it.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorIdentity(2, [3]).shape
    TensorShape([3, 2, 2])
    """

    def __init__(
        self,
        num_rows: IntLike,
        batch_shape: SizesLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        if not (is_non_singular and is_self_adjoint and is_positive_definite and is_square):
            raise InvalidArgumentError(
                "the identity is self-adjoint, positive definite, square and not singular"
            )
        self._size = _size(num_rows, "num_rows")
        self._batch = _core._to_tensor_hinted([] if batch_shape is None else batch_shape, _core.int32)
        super().__init__(
            _core.float32 if dtype is None else dtype, None, True, True, True, True, name,
            {"num_rows": num_rows, "batch_shape": batch_shape},
        )  # fmt: skip

    def _along(self) -> _core.Tensor:
        return _core._to_tensor([1], self.dtype)

    def _shape(self) -> TensorShape:
        size = self._size if isinstance(self._size, int) else None
        return _static(self._batch).concatenate([size, size])

    def _shape_tensor(self) -> _core.Tensor:
        return concat([self._batch, _core._to_tensor([self._size, self._size], _core.int32)], 0)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        result = adjoint_of(x) if adjoint_arg else x
        if self._batch.shape[0] == 0:
            return result
        return result + raw_ops.fill(
            concat([self._batch, _core._to_tensor([1, 1], _core.int32)], 0), _core._to_tensor(0, self.dtype)
        )

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _inverse(self) -> LinearOperator:
        return self

    def _cholesky(self) -> LinearOperator:
        return self


class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros.

    Args:
        num_rows: how many rows.
        num_columns: how many columns; as many as rows by default.
        batch_shape: the dimensions of the batch; none by default.
        dtype: that of the matrix; `float32` by default.
        is_non_singular: as for `LinearOperator`; false.
        is_self_adjoint: as for `LinearOperator`; true where it is square.
        is_positive_definite: as for `LinearOperator`; false.
        is_square: as for `LinearOperator`.
        assert_proper_shapes: accepted; shapes are always checked.
        name: a name.

    Raises:
        ValueError: for a negative number of rows or columns, or where something else is said of it.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorZeros(2).matvec([1.0, 2.0]).numpy().tolist()
    [0.0, 0.0]
    """

    def __init__(
        self,
        num_rows: IntLike,
        num_columns: IntLike | None = None,
        batch_shape: SizesLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular or is_positive_definite:
            raise InvalidArgumentError("zeros are singular")
        self._rows = _size(num_rows, "num_rows")
        self._columns = self._rows if num_columns is None else _size(num_columns, "num_columns")
        self._batch = _core._to_tensor_hinted([] if batch_shape is None else batch_shape, _core.int32)
        square = is_square and num_columns in (None, num_rows)
        super().__init__(
            _core.float32 if dtype is None else dtype, None, False, bool(square and is_self_adjoint), False,
            bool(square), name, {"num_rows": num_rows, "num_columns": num_columns, "batch_shape":
            batch_shape},
        )  # fmt: skip

    def _shape(self) -> TensorShape:
        static = [size if isinstance(size, int) else None for size in (self._rows, self._columns)]
        return _static(self._batch).concatenate(static)

    def _shape_tensor(self) -> _core.Tensor:
        return concat([self._batch, _core._to_tensor([self._rows, self._columns], _core.int32)], 0)

    def _to_dense(self) -> _core.Tensor:
        return raw_ops.fill(self._shape_tensor(), _core._to_tensor(0, self.dtype))

    def _determinant(self) -> _core.Tensor:
        return raw_ops.fill(self._batch, _core._to_tensor(0, self.dtype))

    def _diag_part(self) -> _core.Tensor:
        shape = self._shape_tensor()
        least = raw_ops.minimum(shape[-1], shape[-2])
        return raw_ops.fill(concat([self._batch, least[None]], 0), _core._to_tensor(0, self.dtype))


class LinearOperatorPermutation(LinearOperator):
    """Matrices that put rows in another order: row `i` of a product is row `perm[i]` of the operand.

    Args:
        perm: integers of shape `[..., n]`: a permutation of the numbers from 0 each.
        dtype: that of the matrix.
        is_non_singular: as for `LinearOperator`; true.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        TypeError: for numbers that are not integers.
        ValueError: where it is said to be singular or not square.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([5.0, 6.0, 7.0]).numpy().tolist()
    [7.0, 5.0, 6.0]
    """

    def __init__(
        self,
        perm: TensorLike,
        dtype: DTypeLike = _core.float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        if is_non_singular is False or is_square is False:
            raise InvalidArgumentError("a permutation is square and not singular")
        self._perm = parameter(perm, _core.int32)
        if not self._perm.dtype.is_integer:
            raise DTypeError(f"argument 'perm' must be integers, got {self._perm.dtype.name}")
        super().__init__(dtype, None, True, is_self_adjoint, is_positive_definite, True, name, {"perm": perm})

    @property
    def perm(self) -> Any:
        """The permutations."""
        return self._perm

    def _shape(self) -> TensorShape:
        shape = TensorShape(self._perm.shape)
        return shape.concatenate(shape[-1:]) if shape.rank is not None else shape

    def _shape_tensor(self) -> _core.Tensor:
        shape = raw_ops.shape(now(self._perm))
        return concat([shape, shape[-1:]], 0)

    def _order(self, x: _core.Tensor, inverse: bool) -> _core.Tensor:
        order = now(self._perm)
        order = raw_ops.argsort(order) if inverse else order
        leading = len(known_rank(order)) - 1
        if leading == 0:
            return gather(x, order, axis=-2)
        # Both batches have the dimensions that they broadcast to.
        batch = broadcast_dynamic_shape(raw_ops.shape(order)[:-1], raw_ops.shape(x)[:-2])
        order = broadcast_to(order, concat([batch, raw_ops.shape(order)[-1:]], 0))
        x = broadcast_to(x, concat([batch, raw_ops.shape(x)[-2:]], 0))
        dims = len(known_rank(order)) - 1
        return gather(x, order, axis=dims, batch_dims=dims)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._order(adjoint_of(x) if adjoint_arg else x, adjoint)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._order(adjoint_of(rhs) if adjoint_arg else rhs, not adjoint)

    def _to_dense(self) -> _core.Tensor:
        order = now(self._perm)
        places = range_of(self._shape_tensor()[-1])
        same = raw_ops.equal(order[..., None], raw_ops.cast(places, dtype=order.dtype))
        return raw_ops.cast(same, dtype=self.dtype)

    def _log_abs_determinant(self) -> _core.Tensor:
        return raw_ops.cast(zeros_along(now(self._perm), 1, False), dtype=self.dtype.real_dtype)

    def _cond(self) -> _core.Tensor:
        ones = raw_ops.ones_like(zeros_along(now(self._perm), 1, False))
        return raw_ops.cast(ones, dtype=self.dtype.real_dtype)


class LinearOperatorHouseholder(LinearOperator):
    """Reflections: `I - 2 v v'` with `v` of length 1.

    Args:
        reflection_axis: the vectors, of any length but 0, of shape `[..., n]`.
        is_non_singular: as for `LinearOperator`; true.
        is_self_adjoint: as for `LinearOperator`; true.
        is_positive_definite: as for `LinearOperator`; false.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: where something else is said of it.

    >>> import penstock as tf
    >>> tf.linalg.LinearOperatorHouseholder([0.0, 3.0]).matvec([1.0, 2.0]).numpy().tolist()
    [1.0, -2.0]
    """

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        if is_positive_definite or False in (is_non_singular, is_self_adjoint, is_square):
            raise InvalidArgumentError(
                "a reflection is self-adjoint, square, not singular and not positive definite"
            )
        self._axis = _matrices(reflection_axis, "reflection_axis", 1)
        super().__init__(
            self._axis.dtype, None, True, True, False, True, name, {"reflection_axis": reflection_axis}
        )

    @property
    def reflection_axis(self) -> Any:
        """The vectors."""
        return self._axis

    def _shape(self) -> TensorShape:
        shape = TensorShape(self._axis.shape)
        return shape.concatenate(shape[-1:]) if shape.rank is not None else shape

    def _shape_tensor(self) -> _core.Tensor:
        shape = raw_ops.shape(now(self._axis))
        return concat([shape, shape[-1:]], 0)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        operand = adjoint_of(x) if adjoint_arg else x
        axis = now(self._axis)[..., None]
        inner = reduce_sum(conjugate(axis) * operand, -2, keepdims=True)
        square = reduce_sum(conjugate(axis) * axis, -2, keepdims=True)
        # What has no direction reflects nothing.
        return operand - axis * raw_ops.divide_no_nan(inner * 2, square)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> _core.Tensor:
        return -raw_ops.ones_like(zeros_along(now(self._axis), 1, False))

    def _log_abs_determinant(self) -> _core.Tensor:
        return raw_ops.abs(zeros_along(now(self._axis), 1, False))

    def _cond(self) -> _core.Tensor:
        return raw_ops.abs(raw_ops.ones_like(zeros_along(now(self._axis), 1, False)))

    def _inverse(self) -> LinearOperator:
        return self


class LinearOperatorTridiag(LinearOperator):
    """Matrices that have three diagonals.

    Args:
        diagonals: as for `tf.linalg.tridiagonal_matmul`.
        diagonals_format: the form of `diagonals`.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: for another format, or where it is said not to be square.

    >>> import penstock as tf
    >>> diagonals = [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 3.0, 3.0]]
    >>> tf.linalg.LinearOperatorTridiag(diagonals).matvec([1.0, 1.0, 1.0]).numpy().tolist()
    [3.0, 6.0, 5.0]
    """

    def __init__(
        self,
        diagonals: TensorLike,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        if is_square is False:
            raise InvalidArgumentError("a matrix of three diagonals is square")
        if diagonals_format == "sequence" and isinstance(diagonals, list | tuple):
            self._diagonals: Any = [_matrices(part, "diagonals", 1) for part in diagonals]
            self._main = self._diagonals[1]
        else:
            self._diagonals = _matrices(diagonals, "diagonals")
            self._main = self._diagonals
        self._format = diagonals_format
        super().__init__(
            self._main.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"diagonals": diagonals, "diagonals_format": diagonals_format},
        )  # fmt: skip

    @property
    def diagonals(self) -> Any:
        """The diagonals."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The form of the diagonals."""
        return self._format

    def _now(self) -> Any:
        return [now(d) for d in self._diagonals] if self._format == "sequence" else now(self._diagonals)

    def _shape(self) -> TensorShape:
        shape = TensorShape(self._main.shape)
        if shape.rank is None:
            return shape
        lead = shape[:-1] if self._format == "sequence" else shape[:-2]
        return lead.concatenate([shape[-1], shape[-1]])

    def _shape_tensor(self) -> _core.Tensor:
        shape = raw_ops.shape(now(self._main))
        lead = shape[:-1] if self._format == "sequence" else shape[:-2]
        return concat([lead, shape[-1:], shape[-1:]], 0)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        operand = adjoint_of(x) if adjoint_arg else x
        if adjoint:
            return raw_ops.matmul(adjoint_of(self.to_dense()), operand)
        return tridiagonal_matmul(self._now(), operand, self._format)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        batch = broadcast_dynamic_shape(self.batch_shape_tensor(), raw_ops.shape(right)[:-2])
        right = broadcast_to(right, concat([batch, raw_ops.shape(right)[-2:]], 0))
        if adjoint:
            return tridiagonal_solve(adjoint_of(self.to_dense()), right, "matrix")
        return tridiagonal_solve(self._now(), right, self._format)

    def _to_dense(self) -> _core.Tensor:
        if self._format == "matrix":
            return raw_ops.matrix_band_part(now(self._diagonals), lower=1, upper=1)
        identity = eye(self._shape_tensor()[-1], dtype=self.dtype)
        batch = concat([self._shape_tensor()[:-2], raw_ops.shape(identity)], 0)
        return tridiagonal_matmul(self._now(), broadcast_to(identity, batch), self._format)

    def _diag_part(self) -> _core.Tensor:
        if self._format == "compact":
            return now(self._diagonals)[..., 1, :]
        return now(self._main) if self._format == "sequence" else diag_part(now(self._diagonals))


def _size(value: Any, argument: str) -> Any:
    """A number of rows: an int where it is known, else an `int32` scalar.

    Raises:
        TypeError: for what is no integer.
        ValueError: for a negative number.
    """
    if isinstance(value, _core.Tensor) and _core._known_value(value) is None:
        if not value.dtype.is_integer:
            raise DTypeError(f"argument '{argument}' must be an integer, got {value.dtype.name}")
        return raw_ops.cast(value, dtype=_core.int32)
    number = integer(value, argument)
    if number < 0:
        raise InvalidArgumentError(f"argument '{argument}' must not be negative, got {number}")
    return number


def _static(sizes: _core.Tensor) -> TensorShape:
    """What is known of a shape."""
    known = _core._known_value(sizes)
    if known is not None:
        return TensorShape(known.numpy().tolist())
    count = sizes.shape[0]
    return TensorShape(None if count is None else [None] * count)
