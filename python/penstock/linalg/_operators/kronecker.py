"""Kronecker products of linear operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from penstock import _core, raw_ops
from penstock._ops.arrangement import concat, transpose
from penstock._ops.shapes import reshape
from penstock._runtime.arguments import known_rank
from penstock._types.shape import TensorShape
from penstock.linalg._operators.base import LinearOperator, adjoint_of
from penstock.linalg._operators.composed import all_of, batches, checked, shape_of

__all__ = ["LinearOperatorKronecker"]


def _extent(sizes: Sequence[_core.Tensor]) -> _core.Tensor:
    return functools.reduce(raw_ops.mul, sizes, _core._to_tensor(1, _core.int32))


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators.

    Args:
        operators: the factors.
        is_non_singular: as for `LinearOperator`; true where all factors are known not to be singular.
        is_self_adjoint: as for `LinearOperator`; true where all factors are known to be.
        is_positive_definite: as for `LinearOperator`; true where all factors are known to be.
        is_square: as for `LinearOperator`.
        name: a name.

    Raises:
        TypeError: for other values, or operators of several dtypes.
        ValueError: for no factors.

    >>> import penstock as tf
    >>> a, b = tf.linalg.LinearOperatorDiag([1.0, 2.0]), tf.linalg.LinearOperatorDiag([1.0, 10.0])
    >>> tf.linalg.LinearOperatorKronecker([a, b]).diag_part().numpy().tolist()
    [1.0, 10.0, 2.0, 20.0]
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
        """The factors."""
        return list(self._operators)

    def _shape(self) -> TensorShape:
        rows = [operator.range_dimension for operator in self._operators]
        columns = [operator.domain_dimension for operator in self._operators]
        size = [TensorShape(rows).num_elements(), TensorShape(columns).num_elements()]
        return batches(self._operators).concatenate(size)

    def _shape_tensor(self) -> _core.Tensor:
        rows, columns = (
            functools.reduce(raw_ops.mul, parts)
            for parts in (
                [operator.range_dimension_tensor() for operator in self._operators],
                [operator.domain_dimension_tensor() for operator in self._operators],
            )
        )
        return shape_of(self._operators, rows, columns)

    def _each(
        self,
        x: _core.Tensor,
        apply: Callable[[LinearOperator, _core.Tensor], _core.Tensor],
        sizes: list[Any],
    ) -> _core.Tensor:
        """Apply every factor to its part of the rows of an operand."""
        # The dimension of a factor comes first of the rows, and goes behind all of them when it is done.
        left = list(sizes)
        for operator in self._operators:
            columns = raw_ops.shape(x)[-1]
            own = left.pop(0)
            rest = _extent(left)
            lead = raw_ops.shape(x)[:-2]
            grid = reshape(x, concat([lead, own[None], (rest * columns)[None]], 0))
            made = apply(operator, grid)
            lead = raw_ops.shape(made)[:-2]
            size = raw_ops.shape(made)[-2]
            cube = reshape(made, concat([lead, size[None], rest[None], columns[None]], 0))
            rank = len(known_rank(cube))
            cube = transpose(cube, [*range(rank - 3), rank - 2, rank - 3, rank - 1])
            x = reshape(cube, concat([lead, (size * rest)[None], columns[None]], 0))
            left.append(size)
        return x

    def _matmul(self, x: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        sizes = [
            operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor()
            for operator in self._operators
        ]
        operand = adjoint_of(x) if adjoint_arg else x
        return self._each(operand, lambda operator, part: operator._matmul(part, adjoint), sizes)

    def _solve(self, rhs: _core.Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> _core.Tensor:
        sizes = [operator.range_dimension_tensor() for operator in self._operators]
        right = adjoint_of(rhs) if adjoint_arg else rhs
        return self._each(right, lambda operator, part: operator._solve(part, adjoint), sizes)

    def _products(self, parts: list[_core.Tensor]) -> _core.Tensor:
        """All products of an element of each part."""

        def pair(a: _core.Tensor, b: _core.Tensor) -> _core.Tensor:
            both = a[..., :, None] * b[..., None, :]
            extents = raw_ops.shape(both)
            return reshape(both, concat([extents[:-2], (extents[-2] * extents[-1])[None]], 0))

        return functools.reduce(pair, parts)

    def _diag_part(self) -> _core.Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._diag_part()
        return self._products([operator.diag_part() for operator in self._operators])

    def _eigvals(self) -> _core.Tensor:
        values = [operator.eigvals() for operator in self._operators]
        complex_ = next((v.dtype for v in values if v.dtype.is_complex), values[0].dtype)
        return self._products([raw_ops.cast(v, dtype=complex_) for v in values])

    def _trace(self) -> _core.Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._trace()
        return functools.reduce(raw_ops.mul, [operator.trace() for operator in self._operators])

    def _powers(self) -> list[_core.Tensor]:
        """For each factor how often its determinant counts."""
        sizes = [operator.range_dimension_tensor() for operator in self._operators]
        return [_extent([*sizes[:i], *sizes[i + 1 :]]) for i in range(len(sizes))]

    def _log_abs_determinant(self) -> _core.Tensor:
        parts = [operator.log_abs_determinant() for operator in self._operators]
        terms = [
            part * raw_ops.cast(power, dtype=part.dtype)
            for part, power in zip(parts, self._powers(), strict=True)
        ]
        return functools.reduce(raw_ops.add, terms)

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorKronecker([operator.adjoint() for operator in self._operators])

    def _inverse(self) -> LinearOperator:
        return LinearOperatorKronecker([operator.inverse() for operator in self._operators])

    def _cholesky(self) -> LinearOperator:
        facts = ("is_self_adjoint", "is_positive_definite")
        if not all(all_of(self._operators, fact) for fact in facts):
            return super()._cholesky()
        return LinearOperatorKronecker([operator.cholesky() for operator in self._operators])
