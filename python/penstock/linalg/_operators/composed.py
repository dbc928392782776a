"""Linear operators that are made of others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, split
from penstock._ops.creation import eye
from penstock._ops.decompositions import slogdet
from penstock._ops.diagonals import diag
from penstock._ops.shapes import broadcast_dynamic_shape
from penstock._runtime.arguments import items
from penstock._types.argument_names import expect
from penstock._types.shape import TensorShape
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.linalg._operators.base import (
    LinearOperator,
    adjoint_of,
    conjugate,
    joined,
    now,
    parameter,
    zeros_along,
)

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = [
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorComposition",
    "LinearOperatorInversion",
    "LinearOperatorLowRankUpdate",
    "all_of",
    "batches",
    "checked",
    "shape_of",
]


def all_of(operators: Sequence[LinearOperator], fact: str) -> bool | None:
    """Whether something is known to hold of every operator."""
    return True if all(getattr(operator, fact) for operator in operators) else None


def checked(operators: Any, argument: str = "operators") -> list[LinearOperator]:
    """Operators of one dtype, at least one.

    Raises:
        TypeError: for other values, or other dtypes.
        ValueError: for none.
    """
    found = items(operators, "operators")
    if not found:
        raise InvalidArgumentError(f"argument '{argument}' must have at least one operator")
    for operator in found:
        if not isinstance(operator, LinearOperator):
            raise TypeError(f"argument '{argument}' must be linear operators, got {operator!r}")
        if operator.dtype != found[0].dtype:
            raise DTypeError(
                f"argument '{argument}' has dtypes {found[0].dtype.name} and {operator.dtype.name}"
            )
    return found


def batches(operators: Sequence[LinearOperator]) -> TensorShape:
    """The shape of the batch that operators broadcast to, as far as it is known."""
    return joined([operator.batch_shape for operator in operators])


def _batch_tensor(operators: Sequence[LinearOperator]) -> _core.Tensor:

    shapes = [operator.batch_shape_tensor() for operator in operators]
    return functools.reduce(broadcast_dynamic_shape, shapes)


def shape_of(operators: Sequence[LinearOperator], rows: Any, columns: Any) -> _core.Tensor:
    """The shape of an operator made of others: their common batch shape, then `rows` and `columns`."""
    return concat([_batch_tensor(operators), rows[None], columns[None]], 0)


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator.

    Args:
        operator: the operator.
        is_non_singular: as for `LinearOperator`; by default as of `operator`.
        is_self_adjoint: as for `LinearOperator`; by default as of `operator`.
        is_positive_definite: as for `LinearOperator`; by default as of `operator`.
        is_square: as for `LinearOperator`; by default as of `operator`.
        name: a name.

    >>> import penstock as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.linalg.LinearOperatorAdjoint(operator).to_dense().numpy().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        expect(operator, LinearOperator, "operator", "a linear operator")
        self._operator = operator
        super().__init__(
            operator.dtype, None,
            operator.is_non_singular if is_non_singular is None else is_non_singular,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            operator.is_square if is_square is None else is_square,
            name, {"operator": operator},
        )  # fmt: skip

    @property
    def operator(self) -> LinearOperator:
        """The operator."""
        return self._operator

    def _shape(self) -> TensorShape:
        shape = self._operator.shape
        return shape[:-2].concatenate([shape[-1], shape[-2]]) if shape.rank is not None else shape

    def _shape_tensor(self) -> _core.Tensor:
        shape = self._operator.shape_tensor()
        return concat([shape[:-2], shape[-1:], shape[-2:-1]], 0)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._operator._matmul(x, not adjoint, adjoint_arg)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._operator._solve(rhs, not adjoint, adjoint_arg)

    def _to_dense(self) -> _core.Tensor:
        return adjoint_of(self._operator.to_dense())

    def _diag_part(self) -> _core.Tensor:
        return conjugate(self._operator.diag_part())

    def _determinant(self) -> _core.Tensor:
        return conjugate(self._operator.determinant())

    def _log_abs_determinant(self) -> _core.Tensor:
        return self._operator.log_abs_determinant()

    def _cond(self) -> _core.Tensor:
        return self._operator.cond()

    def _adjoint(self) -> LinearOperator:
        return self._operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator.

    Args:
        operator: the operator.
        is_non_singular: as for `LinearOperator`; true.
        is_self_adjoint: as for `LinearOperator`; by default as of `operator`.
        is_positive_definite: as for `LinearOperator`; by default as of `operator`.
        is_square: as for `LinearOperator`; true.
        name: a name.

    Raises:
        ValueError: for an operator that is singular or not square.

    >>> import penstock as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
    >>> tf.linalg.LinearOperatorInversion(operator).matvec([2.0, 2.0]).numpy().tolist()
    [1.0, 0.5]
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        expect(operator, LinearOperator, "operator", "a linear operator")
        if is_non_singular is False or operator.is_non_singular is False:
            raise InvalidArgumentError("a singular operator has no inverse")
        if is_square is False or operator.is_square is False:
            raise InvalidArgumentError("an operator that is not square has no inverse")
        self._operator = operator
        super().__init__(
            operator.dtype, None, True,
            operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint,
            operator.is_positive_definite if is_positive_definite is None else is_positive_definite,
            True, name, {"operator": operator},
        )  # fmt: skip

    @property
    def operator(self) -> LinearOperator:
        """The operator."""
        return self._operator

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> _core.Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._operator._solve(x, adjoint, adjoint_arg)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        return self._operator._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> _core.Tensor:
        return raw_ops.reciprocal(self._operator.determinant())

    def _log_abs_determinant(self) -> _core.Tensor:
        return -self._operator.log_abs_determinant()

    def _eigvals(self) -> _core.Tensor:
        return raw_ops.reciprocal(self._operator.eigvals())

    def _cond(self) -> _core.Tensor:
        return self._operator.cond()

    def _inverse(self) -> LinearOperator:
        return self._operator


class LinearOperatorComposition(LinearOperator):
    """The product of operators: the last one acts first.

    Args:
        operators: the factors.
        is_non_singular: as for `LinearOperator`; true where all factors are known not to be singular.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for other values, or operators of several dtypes.
        ValueError: for no factors, or shapes that do not fit.

    >>> import penstock as tf
    >>> twice = tf.linalg.LinearOperatorScaledIdentity(2, 2.0)
    >>> tf.linalg.LinearOperatorComposition([twice, twice]).matvec([1.0, 2.0]).numpy().tolist()
    [4.0, 8.0]
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = checked(operators)
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            sizes = (left.domain_dimension, right.range_dimension)
            if None not in sizes and sizes[0] != sizes[1]:
                raise InvalidArgumentError(
                    f"operators of shapes {left.shape} and {right.shape} have no product"
                )
        known = all_of(self._operators, "is_non_singular")
        super().__init__(
            self._operators[0].dtype, None, known if is_non_singular is None else is_non_singular,
            is_self_adjoint, is_positive_definite, is_square, name, {"operators": operators},
        )  # fmt: skip

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return list(self._operators)

    def _shape(self) -> TensorShape:
        size = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return batches(self._operators).concatenate(size)

    def _shape_tensor(self) -> _core.Tensor:
        rows = self._operators[0].range_dimension_tensor()
        return shape_of(self._operators, rows, self._operators[-1].domain_dimension_tensor())

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        for operator in self._operators if adjoint else reversed(self._operators):
            x = operator._matmul(x, adjoint)
        return x

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._solve(rhs, adjoint, adjoint_arg)
        x = adjoint_of(rhs) if adjoint_arg else rhs
        for operator in reversed(self._operators) if adjoint else self._operators:
            x = operator._solve(x, adjoint)
        return x

    def _to_dense(self) -> _core.Tensor:
        result = self._operators[-1].to_dense()
        for operator in reversed(self._operators[:-1]):
            result = operator._matmul(result)
        return result

    def _determinant(self) -> _core.Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._determinant()
        return functools.reduce(raw_ops.mul, [operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> _core.Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._log_abs_determinant()
        return functools.reduce(raw_ops.add, [operator.log_abs_determinant() for operator in self._operators])

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorComposition([operator.adjoint() for operator in reversed(self._operators)])

    def _inverse(self) -> LinearOperator:
        if any(operator.is_square is False for operator in self._operators):
            return super()._inverse()
        return LinearOperatorComposition([operator.inverse() for operator in reversed(self._operators)])


def _total(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


class _Blocks(LinearOperator):
    """The base of operators that are matrices of blocks, those above the diagonal 0."""

    def _rows(self) -> list[list[LinearOperator | None]]:
        """The blocks of each row, up to the diagonal; None for zeros."""
        raise TypeError(f"{type(self).__name__} does not define '_rows'")

    def _every(self) -> list[LinearOperator]:
        return [operator for row in self._rows() for operator in row if operator is not None]

    def _diagonal(self) -> list[LinearOperator]:
        return [row[-1] for row in self._rows() if row[-1] is not None]

    def _shape(self) -> TensorShape:
        rows = [operator.range_dimension for operator in self._diagonal()]
        columns = [operator.domain_dimension for operator in self._diagonal()]
        size = [_total(sizes) for sizes in (rows, columns)]
        return batches(self._every()).concatenate(size)

    def _shape_tensor(self) -> _core.Tensor:
        rows, columns = (
            functools.reduce(raw_ops.add, parts)
            for parts in (
                [operator.range_dimension_tensor() for operator in self._diagonal()],
                [operator.domain_dimension_tensor() for operator in self._diagonal()],
            )
        )
        return shape_of(self._every(), rows, columns)

    def _cut(self, x: _core.Tensor, by_rows: bool) -> list[_core.Tensor]:
        """The parts of an operand, one for each block of the diagonal."""
        sizes: list[Any] = [
            operator.range_dimension if by_rows else operator.domain_dimension
            for operator in self._diagonal()
        ]
        if None in sizes:
            sizes = [
                operator.range_dimension_tensor() if by_rows else operator.domain_dimension_tensor()
                for operator in self._diagonal()
            ]
        return split(x, sizes, -2)

    def _joined(self, parts: list[_core.Tensor]) -> _core.Tensor:
        zero = functools.reduce(raw_ops.add, [zeros_along(part, 2) for part in parts])
        return concat([part + zero for part in parts], -2)

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        parts = self._cut(adjoint_of(x) if adjoint_arg else x, adjoint)
        rows = self._rows()
        if not adjoint:
            sums = [
                [operator._matmul(parts[j]) for j, operator in enumerate(row) if operator is not None]
                for row in rows
            ]
        else:
            sums = [
                [
                    operator._matmul(parts[i], True)
                    for i, row in enumerate(rows)
                    if j < len(row) and (operator := row[j]) is not None
                ]
                for j in range(len(rows))
            ]
        return self._joined([functools.reduce(raw_ops.add, terms) for terms in sums])

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        parts = self._cut(adjoint_of(rhs) if adjoint_arg else rhs, True)
        rows = self._rows()
        count = len(rows)
        found: list[_core.Tensor | None] = [None] * count
        for i in reversed(range(count)) if adjoint else range(count):
            right = parts[i]
            others = range(i + 1, count) if adjoint else range(i)
            for j in others:
                operator = rows[j][i] if adjoint else rows[i][j]
                solved = found[j]
                if operator is not None and solved is not None:
                    right = right - operator._matmul(solved, adjoint)
            block = rows[i][-1]
            assert block is not None
            found[i] = block._solve(right, adjoint)
        return self._joined([part for part in found if part is not None])

    def _diag_part(self) -> _core.Tensor:
        if any(operator.is_square is False for operator in self._diagonal()):
            return super()._diag_part()
        parts = [operator.diag_part() for operator in self._diagonal()]
        zero = functools.reduce(raw_ops.add, [zeros_along(part, 1) for part in parts])
        return concat([part + zero for part in parts], -1)

    def _determinant(self) -> _core.Tensor:
        return functools.reduce(raw_ops.mul, [operator.determinant() for operator in self._diagonal()])

    def _log_abs_determinant(self) -> _core.Tensor:
        return functools.reduce(
            raw_ops.add, [operator.log_abs_determinant() for operator in self._diagonal()]
        )


class LinearOperatorBlockDiag(_Blocks):
    """Blocks along a diagonal, and zeros beside them.

    Args:
        operators: the blocks.
        is_non_singular: as for `LinearOperator`; true where all blocks are known not to be singular.
        is_self_adjoint: as for `LinearOperator`; true where all blocks are known to be.
        is_positive_definite: as for `LinearOperator`; true where all blocks are known to be.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for other values, or operators of several dtypes.
        ValueError: for no blocks.

    >>> import penstock as tf
    >>> one, two = tf.linalg.LinearOperatorIdentity(1), tf.linalg.LinearOperatorDiag([2.0, 3.0])
    >>> tf.linalg.LinearOperatorBlockDiag([one, two]).matvec([1.0, 1.0, 1.0]).numpy().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._operators = checked(operators)
        facts = [
            all_of(self._operators, fact) if said is None else said
            for said, fact in (
                (is_non_singular, "is_non_singular"),
                (is_self_adjoint, "is_self_adjoint"),
                (is_positive_definite, "is_positive_definite"),
            )
        ]
        parts = {"operators": operators}
        super().__init__(self._operators[0].dtype, None, facts[0], facts[1], facts[2], is_square, name, parts)

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return list(self._operators)

    def _rows(self) -> list[list[LinearOperator | None]]:
        return [[*[None] * i, operator] for i, operator in enumerate(self._operators)]

    def _eigvals(self) -> _core.Tensor:
        values = [operator.eigvals() for operator in self._operators]
        complex_ = next((v.dtype for v in values if v.dtype.is_complex), values[0].dtype)
        parts = [raw_ops.cast(v, dtype=complex_) for v in values]
        zero = functools.reduce(raw_ops.add, [zeros_along(part, 1) for part in parts])
        return concat([part + zero for part in parts], -1)

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorBlockDiag([operator.adjoint() for operator in self._operators])

    def _inverse(self) -> LinearOperator:
        return LinearOperatorBlockDiag([operator.inverse() for operator in self._operators])

    def _cholesky(self) -> LinearOperator:
        facts = ("is_self_adjoint", "is_positive_definite")
        if not all(all_of(self._operators, fact) for fact in facts):
            return super()._cholesky()
        return LinearOperatorBlockDiag([operator.cholesky() for operator in self._operators])


class LinearOperatorBlockLowerTriangular(_Blocks):
    """Blocks on and below a diagonal, and zeros above it.

    Args:
        operators: a list of rows: one block, then two, and so on.
        is_non_singular: as for `LinearOperator`; true where the blocks of the diagonal are known not to be
            singular.
        is_self_adjoint: as for `LinearOperator`.
        is_positive_definite: as for `LinearOperator`.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for other values, or operators of several dtypes.
        ValueError: for rows of other lengths, and blocks that do not fit each other.

    >>> import penstock as tf
    >>> one, two = tf.linalg.LinearOperatorIdentity(1), tf.linalg.LinearOperatorFullMatrix([[2.0]])
    >>> operator = tf.linalg.LinearOperatorBlockLowerTriangular([[one], [two, one]])
    >>> operator.solvevec([1.0, 3.0]).numpy().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        self._lower = [checked(row) for row in items(operators, "operators")]
        if not self._lower or any(len(row) != i + 1 for i, row in enumerate(self._lower)):
            lengths = [len(row) for row in self._lower]
            raise InvalidArgumentError(
                f"argument 'operators' must have rows of 1, 2, … blocks, got {lengths}"
            )
        checked(operator for row in self._lower for operator in row)
        for i, row in enumerate(self._lower):
            for j, block in enumerate(row):
                rows, columns = row[i].range_dimension, self._lower[j][j].domain_dimension
                if not block.shape[-2:].is_compatible_with([rows, columns]):
                    raise InvalidArgumentError(
                        f"argument 'operators' must have a block of {rows} rows and {columns} columns at "
                        f"[{i}][{j}], got shape {block.shape}"
                    )
        known = all_of([row[-1] for row in self._lower], "is_non_singular")
        super().__init__(
            self._lower[0][0].dtype, None, known if is_non_singular is None else is_non_singular,
            is_self_adjoint, is_positive_definite, is_square, name, {"operators": operators},
        )  # fmt: skip

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of blocks."""
        return [list(row) for row in self._lower]

    def _rows(self) -> list[list[LinearOperator | None]]:
        return [list(row) for row in self._lower]


class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator and a product of narrow matrices: `L + U D V'`.

    Systems of equations are solved by those of `L` and one of the width of `U` (the formula of Woodbury).

    Args:
        base_operator: `L`.
        u: of shape `[..., rows, k]`.
        diag_update: the diagonal `D`, of shape `[..., k]`; ones by default.
        v: of shape `[..., columns, k]`; `u` by default.
        is_diag_update_positive: whether the elements of `D` are positive; known where it is not given.
        is_non_singular: as for `LinearOperator`.
        is_self_adjoint: as for `LinearOperator`; true where `L` is and there is no `v`, for real `D`.
        is_positive_definite: as for `LinearOperator`; true where `L` is, there is no `v`, and `D` is
            positive.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import penstock as tf
    >>> base = tf.linalg.LinearOperatorIdentity(2)
    >>> operator = tf.linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]])
    >>> operator.to_dense().numpy().tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        expect(base_operator, LinearOperator, "base_operator", "a linear operator")
        dtype = base_operator.dtype
        self._base = base_operator
        self._u = parameter(u, dtype)
        self._v = None if v is None else parameter(v, dtype)
        self._update = None if diag_update is None else parameter(diag_update, dtype)
        positive = True if diag_update is None else is_diag_update_positive
        real = diag_update is None or not dtype.is_complex
        symmetric = v is None and base_operator.is_self_adjoint and real
        self._positive = positive
        super().__init__(
            dtype, None, is_non_singular,
            (True if symmetric else None) if is_self_adjoint is None else is_self_adjoint,
            (True if symmetric and positive and base_operator.is_positive_definite else None)
            if is_positive_definite is None else is_positive_definite,
            is_square, name,
            {"base_operator": base_operator, "u": u, "diag_update": diag_update, "v": v},
        )  # fmt: skip

    @property
    def base_operator(self) -> LinearOperator:
        """The operator `L`."""
        return self._base

    @property
    def u(self) -> Any:
        """The matrices `U`."""
        return self._u

    @property
    def v(self) -> Any:
        """The matrices `V`."""
        return self._u if self._v is None else self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal `D`; None for ones."""
        return self._update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the elements of `D` are positive."""
        return self._positive

    def _shape(self) -> TensorShape:
        size = [self._base.range_dimension, self._base.domain_dimension]
        batches = [self._base.batch_shape, TensorShape(self._u.shape)[:-2], TensorShape(self.v.shape)[:-2]]
        return joined(batches).concatenate(size)

    def _parts(self, adjoint: bool) -> tuple[_core.Tensor, _core.Tensor, _core.Tensor | None]:
        u, v = now(self._u), now(self.v)
        update = None if self._update is None else now(self._update)
        if not adjoint:
            return u, v, update
        return v, u, None if update is None else conjugate(update)

    def _scaled(self, x: _core.Tensor, update: _core.Tensor | None) -> _core.Tensor:
        return x if update is None else update[..., None] * x

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        operand = adjoint_of(x) if adjoint_arg else x
        u, v, update = self._parts(adjoint)
        inner = self._scaled(_product(adjoint_of(v), operand), update)
        return self._base._matmul(operand, adjoint) + _product(u, inner)

    def _to_dense(self) -> _core.Tensor:
        u, v, update = self._parts(False)
        return self._base.to_dense() + _product(u, self._scaled(adjoint_of(v), update))

    def _capacitance(self, adjoint: bool) -> _core.Tensor:
        """`D^-1 + V' L^-1 U`, of the width of `U`."""
        u, v, update = self._parts(adjoint)
        inner = _product(adjoint_of(v), self._base._solve(u, adjoint))
        if update is None:
            return inner + eye(raw_ops.shape(u)[-1], dtype=self.dtype)
        return inner + diag(raw_ops.reciprocal(update))

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        u, v, _ = self._parts(adjoint)
        plain = self._base._solve(right, adjoint)
        # That module imports this one.
        from penstock.linalg._operators.elementary import LinearOperatorFullMatrix

        narrow = LinearOperatorFullMatrix(self._capacitance(adjoint))
        correction = narrow._solve(_product(adjoint_of(v), plain))
        return plain - self._base._solve(_product(u, correction), adjoint)

    def _slogdet(self) -> tuple[_core.Tensor, _core.Tensor]:

        sign, logarithm = slogdet(self._capacitance(False))
        logarithm = logarithm + self._base.log_abs_determinant()
        base = self._base.determinant()
        sign = sign * _sign(base)
        if self._update is not None:
            update = now(self._update)
            logarithm = logarithm + raw_ops.reduce_sum(raw_ops.log(raw_ops.abs(update)), axes=[-1])
            sign = sign * raw_ops.reduce_prod(_sign(update), axes=[-1])
        return sign, logarithm


def _sign(x: _core.Tensor) -> _core.Tensor:
    """Numbers divided by their magnitudes."""
    if not x.dtype.is_complex:
        return raw_ops.sign(x)
    return x / raw_ops.cast(raw_ops.abs(x), dtype=x.dtype)


def _product(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
    return raw_ops.matmul(a, b)
