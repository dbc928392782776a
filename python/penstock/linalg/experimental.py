"""Solutions by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import _core, raw_ops
from penstock._ops.complex_numbers import conj, real
from penstock._runtime.public_names import publish as _publish
from penstock._runtime.scope import scoped
from penstock._types.argument_names import expect
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import IntLike, TensorLike
    from penstock.linalg import LinearOperator

__all__ = ["conjugate_gradient"]


class CGState(NamedTuple):
    """How far the method of conjugate gradients has come.

    Attributes:
        i: The number of iterations, `int32`.
        x: The solution.
        r: What is left of the right-hand side.
        p: The direction of the next step.
        gamma: The product of `r` with what the preconditioner makes of it.
    """

    i: _core.Tensor
    x: _core.Tensor
    r: _core.Tensor
    p: _core.Tensor
    gamma: _core.Tensor


@scoped
def conjugate_gradient(
    operator: LinearOperator,
    rhs: TensorLike,
    preconditioner: LinearOperator | None = None,
    x: TensorLike | None = None,
    tol: float = 1e-5,
    max_iter: IntLike = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solve systems of linear equations by conjugate gradients.

    Args:
        operator: self-adjoint and positive definite, a batch of matrices of shape `[..., n, n]`.
        rhs: the right-hand sides, of shape `[..., n]`.
        preconditioner: approximates the inverse of `operator`.
        x: where to begin; by default at 0.
        tol: the iterations end where all that is left is at most this part of the norms of `rhs`.
        max_iter: the greatest number of iterations.
        name: a scope for the names of its operations in a graph.

    Returns:
        A named tuple: `i`, the number of iterations; `x`, the solutions; `r`, what is left; `p`, the
        direction of the next step; `gamma`, the product of `r` with what the preconditioner makes of it.

    Raises:
        ValueError: where an operator is not said to be self-adjoint and positive definite.

    >>> import penstock as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix(
    ...     [[4.0, 1.0], [1.0, 3.0]], is_self_adjoint=True, is_positive_definite=True
    ... )
    >>> tf.linalg.experimental.conjugate_gradient(operator, [1.0, 2.0]).x.numpy().round(3).tolist()
    [0.09099999815225601, 0.6359999775886536]
    """
    from penstock._control.flow import while_loop  # control flow is above
    from penstock.linalg import LinearOperator  # it is loaded when it is used

    named = [
        (operator, "operator"),
        *([] if preconditioner is None else [(preconditioner, "preconditioner")]),
    ]
    for given, argument in named:
        expect(given, LinearOperator, argument, "a tf.linalg.LinearOperator")
        if not (given.is_self_adjoint and given.is_positive_definite):
            raise InvalidArgumentError(
                f"argument '{argument}' must be self-adjoint and positive definite, and say so"
            )
    right = _core._to_tensor(rhs, operator.dtype)

    def prepared(rest: Any) -> Any:
        return rest if preconditioner is None else preconditioner.matvec(rest)

    def inner(a: Any, b: Any) -> Any:
        return raw_ops.reduce_sum(conj(a) * b, axes=[-1])

    def norm(value: Any) -> Any:
        return raw_ops.sqrt(real(inner(value, value)))

    if x is None:
        begin, rest = raw_ops.zeros_like(right), right
    else:
        begin = _core._to_tensor(x, operator.dtype)
        shape = raw_ops.shape(begin + raw_ops.zeros_like(right))
        begin, right = raw_ops.broadcast_to(begin, shape), raw_ops.broadcast_to(right, shape)
        rest = right - operator.matvec(begin)
    enough = norm(right) * tol
    limit = raw_ops.cast(_core._to_tensor(max_iter), dtype=_core.int32)
    direction = prepared(rest)

    def goes_on(i: Any, x: Any, r: Any, p: Any, gamma: Any) -> Any:
        return raw_ops.logical_and(i < limit, raw_ops.reduce_any(norm(r) > enough))

    def step(i: Any, x: Any, r: Any, p: Any, gamma: Any) -> tuple[Any, ...]:
        moved = operator.matvec(p)
        # A system of the batch that is solved stays as it is.
        size = raw_ops.expand_dims(_quotient(gamma, inner(p, moved)), axis=-1)
        x, r = x + size * p, r - size * moved
        turned = prepared(r)
        product = inner(r, turned)
        p = turned + raw_ops.expand_dims(_quotient(product, gamma), axis=-1) * p
        return i + 1, x, r, p, product

    start = (_core._to_tensor(0, _core.int32), begin, rest, direction, inner(rest, direction))
    return CGState(*while_loop(goes_on, step, start))


def _quotient(a: Any, b: Any) -> Any:
    return raw_ops.divide_no_nan(a, b)


_publish(__name__)
