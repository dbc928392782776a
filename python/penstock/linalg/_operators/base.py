"""The base of linear operators: every question is answered by the matrix unless a class knows better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, transpose
from penstock._ops.creation import eye
from penstock._ops.decompositions import cholesky, eigh, eigvals, slogdet, solve, svd
from penstock._ops.diagonals import diag_part
from penstock._ops.reductions import reduce_max, reduce_min, reduce_prod, reduce_sum
from penstock._ops.shapes import broadcast_static_shape, broadcast_to
from penstock._runtime.arguments import known_rank
from penstock._types.shape import TensorShape
from penstock._values.module import Module
from penstock._values.variable import Variable
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock._types.aliases import DTypeLike, TensorLike

__all__ = ["LinearOperator"]


class LinearOperator(Module):
    """The base of batches of matrices that are known by what they do.

    A class of one's own defines `_shape` (a `TensorShape`) and `_matmul(x, adjoint, adjoint_arg)`, and
    whatever else it does better than by its matrix: `_solve`, `_to_dense`, `_diag_part`, `_trace`,
    `_determinant`, `_log_abs_determinant`, `_eigvals`, `_cholesky`, `_inverse`, `_adjoint`, `_cond`,
    `_shape_tensor`.

    What is said of an operator (that it is self-adjoint, say) is believed.

    Args:
        dtype: that of the matrix.
        graph_parents: accepted and ignored.
        is_non_singular: whether systems of equations have solutions; None where it is not known.
        is_self_adjoint: whether it is its own adjoint.
        is_positive_definite: whether `x' A x` has a positive real part for all `x` but 0.
        is_square: whether it has as many rows as columns.
        name: a name, which is a scope in graphs.
        parameters: accepted; the arguments that the operator was made with.

    Raises:
        ValueError: where what is said cannot be true.

    >>> import penstock as tf
    >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
    >>> operator.solvevec([2.0, 4.0]).numpy().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: object = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(name=name or type(self).__name__)
        if is_positive_definite and is_non_singular is False:
            raise InvalidArgumentError("a positive definite operator is not singular")
        if (is_self_adjoint or is_non_singular or is_positive_definite) and is_square is False:
            raise InvalidArgumentError(
                "an operator that is not square is not self-adjoint, and has no inverse"
            )
        said = is_self_adjoint or is_non_singular or is_positive_definite
        self._dtype = _core.DType(dtype)
        self._is_non_singular = True if is_positive_definite else is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = True if said and is_square is None else is_square
        self._parameters = dict(parameters or {})

    # What a class defines.

    def _shape(self) -> TensorShape:
        raise TypeError(f"{type(self).__name__} does not define '_shape'")

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        matrix = self.to_dense()
        return raw_ops.matmul(adjoint_of(matrix) if adjoint else matrix, adjoint_of(x) if adjoint_arg else x)

    def _shape_tensor(self) -> _core.Tensor:
        shape = self._shape()
        if shape.is_fully_defined():
            return _core._to_tensor(shape.as_list(), _core.int32)
        return raw_ops.shape(self.to_dense())

    def _to_dense(self) -> _core.Tensor:
        shape = self._shape_tensor()
        identity = eye(shape[-1], dtype=self.dtype)
        batch = shape[:-2]
        return self._matmul(broadcast_to(identity, concat([batch, shape[-1:], shape[-1:]], 0)))

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        matrix = self.to_dense()
        matrix, right = spread(matrix, right)
        return solve(matrix, right, adjoint)

    def _diag_part(self) -> _core.Tensor:
        return diag_part(self.to_dense())

    def _trace(self) -> _core.Tensor:
        return reduce_sum(self.diag_part(), -1)

    def _slogdet(self) -> tuple[_core.Tensor, _core.Tensor]:
        return slogdet(self.to_dense())

    def _determinant(self) -> _core.Tensor:
        sign, logarithm = self._slogdet()
        return sign * raw_ops.cast(raw_ops.exp(logarithm), dtype=sign.dtype)

    def _log_abs_determinant(self) -> _core.Tensor:
        return self._slogdet()[1]

    def _eigvals(self) -> _core.Tensor:
        if self.is_self_adjoint:
            return eigh(self.to_dense())[0]
        return eigvals(self.to_dense())

    def _cond(self) -> _core.Tensor:
        values = svd(self.to_dense(), compute_uv=False)
        assert isinstance(values, _core.Tensor)
        return reduce_max(values, -1) / reduce_min(values, -1)

    def _cholesky(self) -> LinearOperator:
        from penstock.linalg._operators.elementary import LinearOperatorLowerTriangular  # built on this

        return LinearOperatorLowerTriangular(cholesky(self.to_dense()), is_non_singular=True)

    def _inverse(self) -> LinearOperator:
        from penstock.linalg._operators.composed import LinearOperatorInversion  # built on this

        return LinearOperatorInversion(self)

    def _adjoint(self) -> LinearOperator:
        from penstock.linalg._operators.composed import LinearOperatorAdjoint  # built on this

        return LinearOperatorAdjoint(self)

    # What is known of it.

    @property
    def dtype(self) -> _core.DType:
        """The dtype of the matrix."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the operator was made with."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list[Any]:
        """An empty list: a tensor belongs to its graph by itself."""
        return []

    @property
    def is_non_singular(self) -> bool | None:
        """Whether systems of equations have solutions."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is its own adjoint."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether it is positive definite."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it has as many rows as columns."""
        rows, columns = self.range_dimension, self.domain_dimension
        if rows is not None and columns is not None:
            return rows == columns
        return self._is_square

    @property
    def shape(self) -> TensorShape:
        """The shape of the matrix, `[..., rows, columns]`, as far as it is known."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The dimensions before the last two."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions."""
        return self.shape.rank

    @property
    def domain_dimension(self) -> int | None:
        """The number of columns."""
        return None if self.shape.rank is None else self.shape[-1]

    @property
    def range_dimension(self) -> int | None:
        """The number of rows."""
        return None if self.shape.rank is None else self.shape[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> _core.Tensor:
        """Give the shape of the matrix as it is when the graph runs.

        Args:
            name: a name for the result in a graph.

        Returns:
            An `int32` vector.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(3).shape_tensor().numpy().tolist()
        [3, 3]
        """
        return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> _core.Tensor:
        """Give the dimensions before the last two as they are when the graph runs.

        Args:
            name: a name for the result in a graph.

        Returns:
            An `int32` vector.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag(tf.ones([5, 2])).batch_shape_tensor().numpy().tolist()
        [5]
        """
        return self._shape_tensor()[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> _core.Tensor:
        """Give the number of columns as it is when the graph runs.

        Args:
            name: a name for the result in a graph.

        Returns:
            An `int32` scalar.

        >>> import penstock as tf
        >>> int(tf.linalg.LinearOperatorZeros(2, 3, is_square=False).domain_dimension_tensor())
        3
        """
        return self._shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> _core.Tensor:
        """Give the number of rows as it is when the graph runs.

        Args:
            name: a name for the result in a graph.

        Returns:
            An `int32` scalar.

        >>> import penstock as tf
        >>> int(tf.linalg.LinearOperatorZeros(2, 3, is_square=False).range_dimension_tensor())
        2
        """
        return self._shape_tensor()[-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> _core.Tensor:
        """Give the number of dimensions.

        Args:
            name: a name for the result in a graph.

        Returns:
            An `int32` scalar.

        >>> import penstock as tf
        >>> int(tf.linalg.LinearOperatorIdentity(3).tensor_rank_tensor())
        2
        """
        return raw_ops.size(self._shape_tensor())

    # What it does.

    def matmul(
        self,
        x: TensorLike | LinearOperator,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "matmul",
    ) -> Any:
        """Multiply matrices from the left.

        Args:
            x: of shape `[..., columns, k]`, or an operator.
            adjoint: whether to take the adjoint of this operator.
            adjoint_arg: whether to take the adjoint of `x`.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[..., rows, k]`, or an operator where `x` is one.

        Raises:
            ValueError: for shapes that do not fit.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).matmul([[1.0], [1.0]]).numpy().tolist()
        [[2.0], [4.0]]
        """
        if isinstance(x, LinearOperator):
            from penstock.linalg._operators.composed import LinearOperatorComposition  # built on this

            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            return LinearOperatorComposition([left, right])
        tensor = self._argument(x, "x")
        self._check_inner(tensor, adjoint, adjoint_arg)
        return self._matmul(tensor, adjoint, adjoint_arg)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> _core.Tensor:
        """Multiply vectors from the left.

        Args:
            x: of shape `[..., columns]`.
            adjoint: whether to take the adjoint of this operator.
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[..., rows]`.

        Raises:
            ValueError: for shapes that do not fit.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).matvec([1.0, 1.0]).numpy().tolist()
        [2.0, 4.0]
        """
        column = self._argument(x, "x")[..., None]
        self._check_inner(column, adjoint, False)
        return self._matmul(column, adjoint)[..., 0]

    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> _core.Tensor:
        """Solve systems of equations exactly.

        Args:
            rhs: the right sides, of shape `[..., rows, k]`.
            adjoint: whether to take the adjoint of this operator.
            adjoint_arg: whether to take the adjoint of `rhs`.
            name: a scope for the names of its operations in a graph.

        Returns:
            The solutions, of shape `[..., columns, k]`.

        Raises:
            ValueError: for an operator that is not square or not invertible, or shapes that do not fit.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solve([[2.0], [2.0]]).numpy().tolist()
        [[1.0], [0.5]]
        """
        self._check_invertible()
        tensor = self._argument(rhs, "rhs")
        self._check_inner(tensor, not adjoint, adjoint_arg)
        return self._solve(tensor, adjoint, adjoint_arg)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> _core.Tensor:
        """Solve systems of equations for vectors.

        Args:
            rhs: the right sides, of shape `[..., rows]`.
            adjoint: whether to take the adjoint of this operator.
            name: a scope for the names of its operations in a graph.

        Returns:
            The solutions, of shape `[..., columns]`.

        Raises:
            ValueError: for an operator that is not square or not invertible, or shapes that do not fit.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solvevec([2.0, 2.0]).numpy().tolist()
        [1.0, 0.5]
        """
        self._check_invertible()
        column = self._argument(rhs, "rhs")[..., None]
        self._check_inner(column, not adjoint, False)
        return self._solve(column, adjoint)[..., 0]

    def to_dense(self, name: str = "to_dense") -> _core.Tensor:
        """Make the matrix.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[..., rows, columns]`.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).to_dense().numpy().tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        return self._to_dense()

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> _core.Tensor:
        """Add the matrix to tensors.

        Args:
            x: of a shape that broadcasts with the matrix.
            name: a scope for the names of its operations in a graph.

        Returns:
            The sum.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(2).add_to_tensor([[1.0, 1.0], [1.0, 1.0]]).numpy().tolist()
        [[2.0, 1.0], [1.0, 2.0]]
        """
        return self._argument(x, "x") + self.to_dense()

    def diag_part(self, name: str = "diag_part") -> _core.Tensor:
        """Take the diagonal of the matrix.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[..., min(rows, columns)]`.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(2).diag_part().numpy().tolist()
        [1.0, 1.0]
        """
        return self._diag_part()

    def trace(self, name: str = "trace") -> _core.Tensor:
        """Sum the diagonal of the matrix.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of the shape of the batch.

        >>> import penstock as tf
        >>> float(tf.linalg.LinearOperatorIdentity(2).trace())
        2.0
        """
        return self._trace()

    def determinant(self, name: str = "det") -> _core.Tensor:
        """Compute the determinant.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of the shape of the batch.

        Raises:
            ValueError: for an operator that is not square.

        >>> import penstock as tf
        >>> float(tf.linalg.LinearOperatorDiag([2.0, 4.0]).determinant())
        8.0
        """
        self._check_square()
        return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> _core.Tensor:
        """Compute the logarithm of the magnitude of the determinant.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A real tensor of the shape of the batch.

        Raises:
            ValueError: for an operator that is not square.

        >>> import penstock as tf
        >>> float(tf.linalg.LinearOperatorIdentity(2).log_abs_determinant())
        0.0
        """
        self._check_square()
        return self._log_abs_determinant()

    def eigvals(self, name: str = "eigvals") -> _core.Tensor:
        """Compute the eigenvalues.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A tensor of shape `[..., rows]`; complex unless the operator is self-adjoint, as far as it is
            known.

        Raises:
            ValueError: for an operator that is not square.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(2).eigvals().numpy().tolist()
        [1.0, 1.0]
        """
        self._check_square()
        return self._eigvals()

    def cond(self, name: str = "cond") -> _core.Tensor:
        """Compute the condition number: the greatest singular value divided by the least.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            A real tensor of the shape of the batch.

        >>> import penstock as tf
        >>> float(tf.linalg.LinearOperatorDiag([2.0, 4.0]).cond())
        2.0
        """
        return self._cond()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Factor it as a lower triangle and its adjoint.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            The lower triangle, an operator.

        Raises:
            ValueError: where it is not known to be self-adjoint and positive definite.

        >>> import penstock as tf
        >>> operator = tf.linalg.LinearOperatorDiag([4.0], is_positive_definite=True, is_self_adjoint=True)
        >>> operator.cholesky().to_dense().numpy().tolist()
        [[2.0]]
        """
        if not (self.is_self_adjoint and self.is_positive_definite):
            raise InvalidArgumentError(
                "an operator must be known as self-adjoint and positive definite to be factored"
            )
        return self._cholesky()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Give the inverse, an operator.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            An operator.

        Raises:
            ValueError: for an operator that is not square or not invertible.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorDiag([2.0]).inverse().to_dense().numpy().tolist()
        [[0.5]]
        """
        self._check_invertible()
        return self._inverse()

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Give the adjoint, an operator: the conjugate of the transposed matrix.

        Args:
            name: a scope for the names of its operations in a graph.

        Returns:
            An operator.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]]).adjoint().shape
        TensorShape([2, 1])
        """
        return self if self.is_self_adjoint else self._adjoint()

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return self.adjoint()

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        """Check that the condition number is within the accuracy of the dtype.

        Args:
            name: a scope for the names of its operations in a graph.

        Raises:
            InvalidArgumentError: where it is not, when the operation runs.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(2).assert_non_singular()
        """
        condition = self.cond()
        limit = 2.0**23 if condition.dtype.size <= 4 else 2.0**52
        fits = raw_ops.less(condition, _core._to_tensor(limit, condition.dtype))
        _ASSERT(
            raw_ops.reduce_all(fits), condition, message="the operator is singular: its condition number is"
        )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Check that the operator, believed to be self-adjoint, is positive definite.

        Args:
            name: a scope for the names of its operations in a graph.

        Raises:
            InvalidArgumentError: where it is not, when the operation runs.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(2).assert_positive_definite()
        """
        values = eigh(self.to_dense())[0]
        fits = raw_ops.greater(values, raw_ops.zeros_like(values))
        _ASSERT(raw_ops.reduce_all(fits), values, message="the operator is not positive definite:")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> None:
        """Check that the matrix is its own adjoint.

        Args:
            name: a scope for the names of its operations in a graph.

        Raises:
            InvalidArgumentError: where it is not, when the operation runs.

        >>> import penstock as tf
        >>> tf.linalg.LinearOperatorIdentity(2).assert_self_adjoint()
        """
        matrix = self.to_dense()
        same = raw_ops.equal(matrix, adjoint_of(matrix))
        _ASSERT(raw_ops.reduce_all(same), matrix, message="the operator is not its own adjoint:")

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    # Checks.

    def _argument(self, x: Any, argument: str) -> _core.Tensor:
        tensor = _core._to_tensor_hinted(x, self.dtype)
        if tensor.dtype != self.dtype:
            raise DTypeError(
                f"argument '{argument}' must have dtype {self.dtype.name}, got {tensor.dtype.name}"
            )
        return tensor

    def _check_inner(self, x: _core.Tensor, adjoint: bool, adjoint_arg: bool) -> None:
        """Raises ValueError where the sizes that must be equal are known to differ."""
        own = self.range_dimension if adjoint else self.domain_dimension
        extents = known_rank(x, 2)
        other = extents[-1] if adjoint_arg else extents[-2]
        if None not in (own, other) and own != other:
            raise InvalidArgumentError(
                f"the operator has shape {self.shape}, which does not fit a tensor of {x.shape}"
            )

    def _check_square(self) -> None:
        if self.is_square is False:
            raise InvalidArgumentError(f"the operator is not square: its shape is {self.shape}")

    def _check_invertible(self) -> None:
        self._check_square()
        if self.is_non_singular is False:
            raise InvalidArgumentError("the operator is singular: systems of equations have no solution")

    def _said(self) -> dict[str, Any]:
        """What is said of it, for an operator of which the same holds."""
        return {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
            "is_square": self.is_square,
        }


_ASSERT = getattr(raw_ops, "assert")


def parameter(value: Any, dtype: DTypeLike | None = None) -> Any:
    """What an operator is made of: a variable as it is, so that it is read when it is used; else a tensor."""
    if isinstance(value, Variable):
        return value
    return _core._to_tensor(value) if dtype is None else _core._to_tensor_hinted(value, _core.DType(dtype))


def now(value: Any) -> _core.Tensor:
    """The tensor of a parameter."""
    return _core._to_tensor(value)


def conjugate(x: _core.Tensor) -> _core.Tensor:
    """The conjugate of complex numbers; others as they are."""
    return raw_ops.conj(x) if x.dtype.is_complex else x


def adjoint_of(x: _core.Tensor) -> _core.Tensor:
    """The conjugates of transposed matrices."""
    rank = len(known_rank(x, 2))
    return conjugate(transpose(x, [*range(rank - 2), rank - 1, rank - 2]))


def spread(a: _core.Tensor, b: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
    """Two batches of matrices with the dimensions of the batch that they broadcast to."""
    if a.shape[:-2].is_fully_defined() and a.shape[:-2].as_list() == _batch(b):
        return a, b
    both = zeros_along(a, 2) + zeros_along(b, 2)
    return a + both, b + both


def zeros_along(x: _core.Tensor, count: int, keepdims: bool = True) -> _core.Tensor:
    """Zeros of the shape of a tensor, with 1 for each of its last extents, or without these."""
    rank = len(known_rank(x, count))
    none = x[(..., *[slice(0, 0)] * count)]
    return reduce_sum(none, list(range(rank - count, rank)), keepdims)


def _batch(x: _core.Tensor) -> list[int | None]:
    return known_rank(x, 2)[:-2]


def joined(shapes: Sequence[TensorShape]) -> TensorShape:
    """What the dimensions of several batches broadcast to."""
    result = TensorShape([])
    for shape in shapes:
        result = broadcast_static_shape(result, shape)
    return result


def product_of(x: _core.Tensor) -> _core.Tensor:
    """The product of the elements along the last dimension."""
    return reduce_prod(x, -1)
