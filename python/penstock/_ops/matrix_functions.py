"""Functions of square matrices: exponentials, roots, logarithms.

N. J. Higham, "Functions of Matrices: Theory and Computation", SIAM, 2008: chapter 10 (exponentials by Padé
approximants, scaling and squaring), 6 (roots by the product form of the Denman-Beavers iteration) and 11
(logarithms by inverse scaling and Gauss-Legendre sums).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock import _core, raw_ops
from penstock._ops.creation import eye
from penstock._ops.indexing import where
from penstock._ops.reductions import reduce_any, reduce_max, reduce_sum
from penstock._runtime.arguments import known_rank, sizes
from penstock._runtime.scope import scoped
from penstock.errors import DTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from penstock._types.aliases import TensorLike

__all__ = ["expm", "logm", "matrix_square_root", "sqrtm"]

# The coefficients of the Padé approximant of degree 13, and the norm up to which it is exact in float64.
PADE = (
    64764752532480000,
    32382376266240000,
    7771770303897600,
    1187353796428800,
    129060195264000,
    10559470521600,
    670442572800,
    33522128640,
    1323241920,
    40840800,
    960960,
    16380,
    182,
    1,
)
REACH = 5.371920351148152

# The nodes and weights of Gauss-Legendre quadrature with 8 points on [0, 1], which gives the logarithm of
# a matrix nearer to the identity than NEAR to the last bits of float64.
NODES = (
    (0.019855071751231884, 0.05061426814518813),
    (0.10166676129318664, 0.11119051722668724),
    (0.2372337950418355, 0.15685332293894363),
    (0.4082826787521751, 0.181341891689181),
    (0.5917173212478249, 0.181341891689181),
    (0.7627662049581645, 0.15685332293894363),
    (0.8983332387068134, 0.11119051722668724),
    (0.9801449282487681, 0.05061426814518813),
)
NEAR = 0.25


def _square(input: Any) -> _core.Tensor:
    """Square matrices of a dtype that has arithmetic of fractions.

    Raises:
        TypeError: for another dtype.
        ValueError: for other shapes.
    """
    x = _core._to_tensor(input)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"argument 'input' must be floating or complex, got {x.dtype.name}")
    extents = known_rank(x)
    if len(extents) < 2 or (None not in extents[-2:] and extents[-1] != extents[-2]):
        raise InvalidArgumentError(f"argument 'input' must be square matrices, got shape {x.shape}")
    return x


def _identity(x: _core.Tensor) -> _core.Tensor:
    return eye(sizes(x)[-1], dtype=x.dtype)


def _norm(x: _core.Tensor) -> _core.Tensor:
    """The greatest sum of magnitudes of a column, `float64`, without a gradient."""
    magnitudes = raw_ops.cast(raw_ops.abs(raw_ops.stop_gradient(x)), dtype=_core.float64)
    return reduce_max(reduce_sum(magnitudes, -2), -1)


def _each(condition: _core.Tensor, x: _core.Tensor, y: _core.Tensor) -> _core.Tensor:
    """The matrices of one tensor where a condition holds, else those of the other."""
    return where(condition[..., None, None], x, y)


@scoped
def expm(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the exponentials of square matrices: the sum of `x**k / k!` over matrix powers.

    Args:
        input: floating or complex, of shape `[..., n, n]`.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`.

    Raises:
        TypeError: for another dtype.
        ValueError: for matrices that are not square.

    >>> import penstock as tf
    >>> tf.linalg.expm([[0.0, 2.0], [0.0, 0.0]]).numpy()[0].round(4).tolist()
    [1.0, 2.0]
    """
    from penstock._control.flow import while_loop  # builds on this

    x = _square(input)
    if not x.shape.is_fully_defined() or x.shape.num_elements():
        norm = _norm(x)
        halvings = raw_ops.ceil(raw_ops.log(norm / REACH) * (1 / math.log(2)))
        most = _core._to_tensor(1100.0, _core.float64)
        halvings = raw_ops.minimum(raw_ops.maximum(halvings, raw_ops.zeros_like(norm)), most)
        halvings = where(raw_ops.is_nan(halvings), raw_ops.zeros_like(halvings), halvings)
        # The factor is split, so that neither half of it underflows.
        first = raw_ops.floor(halvings * 0.5)
        halves = [raw_ops.exp(h * -math.log(2)) for h in (first, halvings - first)]
        for half in halves:
            x = x * raw_ops.cast(half, dtype=x.dtype)[..., None, None]
        y = _pade(x)

        def square(i: _core.Tensor, y: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
            return i + 1, _each(raw_ops.less(i, halvings), raw_ops.matmul(y, y), y)

        _, y = while_loop(
            lambda i, y: reduce_any(raw_ops.less(i, halvings)),
            square,
            (_core._to_tensor(0.0, _core.float64), y),
        )
        return y
    return x


def _pade(x: _core.Tensor) -> _core.Tensor:
    """The approximant of degree 13, in even and odd powers."""
    identity = _identity(x)
    b = [_core._to_tensor(float(c), x.dtype) for c in PADE]
    x2 = raw_ops.matmul(x, x)
    x4 = raw_ops.matmul(x2, x2)
    x6 = raw_ops.matmul(x4, x2)
    odd = raw_ops.matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2)
    odd = raw_ops.matmul(x, odd + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * identity)
    even = raw_ops.matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2)
    even = even + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * identity
    return raw_ops.matrix_solve(even - odd, even + odd)


@scoped
def sqrtm(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the principal roots of square matrices: those whose eigenvalues have positive real parts.

    Args:
        input: floating or complex, of shape `[..., n, n]`, without eigenvalues that are negative or 0.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`, whose product with itself is `input`; NaN where there is
        no such matrix.

    Raises:
        InvalidArgumentError: for a matrix that is singular, or becomes so on the way to its root.
        TypeError: for another dtype.
        ValueError: for matrices that are not square.

    >>> import penstock as tf
    >>> tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy().round(4).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return _root(_square(input))


matrix_square_root = sqrtm


def _root(x: _core.Tensor) -> _core.Tensor:
    """`m` goes to the identity and `y` to the root; determinants keep both well scaled on the way."""
    from penstock._control.flow import while_loop  # builds on this

    identity = _identity(x)
    size = sizes(x)[-1]
    epsilon = 2.0**-22 if x.dtype in (_core.float32, _core.complex64) else 2.0**-50
    scale = -0.5 / max(size, 1) if isinstance(size, int) else -0.5 / raw_ops.cast(size, dtype=_core.float64)

    def off(m: _core.Tensor) -> _core.Tensor:
        return _norm(m - identity)

    def step(i: _core.Tensor, y: _core.Tensor, m: _core.Tensor) -> Any:
        # Far from the identity the factor |det m|**(-1 / 2n) makes the iteration start to converge at once.
        determinant = raw_ops.stop_gradient(m)
        _, logarithm = raw_ops.log_matrix_determinant(determinant)
        logarithm = raw_ops.real(logarithm) if logarithm.dtype.is_complex else logarithm
        factor = raw_ops.exp(raw_ops.cast(logarithm, dtype=_core.float64) * scale)
        far = raw_ops.logical_and(raw_ops.greater(off(m), 1e-2), raw_ops.is_finite(factor))
        factor = raw_ops.cast(where(far, factor, raw_ops.ones_like(factor)), dtype=x.dtype)[..., None, None]
        inverse = raw_ops.matrix_inverse(m)
        squared = factor * factor
        y = y * factor * 0.5
        y = y + raw_ops.matmul(y, inverse / squared)
        return i + 1, y, (identity + (squared * m + inverse / squared) * 0.5) * 0.5

    def unfinished(i: _core.Tensor, y: _core.Tensor, m: _core.Tensor) -> _core.Tensor:
        return reduce_any(raw_ops.greater(off(m), epsilon * math.sqrt(64)))

    start = (_core._to_tensor(0, _core.int32), x, x)
    _, y, m = while_loop(unfinished, step, start, maximum_iterations=60)
    # One more step from where both are nearly right.
    _, y, m = step(_core._to_tensor(0, _core.int32), y, m)
    found = raw_ops.less(off(m), 1e-3)
    nan = _core._to_tensor(math.nan, x.dtype)
    return _each(found, y, raw_ops.zeros_like(y) + nan)


@scoped
def logm(input: TensorLike, name: str | None = None) -> _core.Tensor:
    """Compute the principal logarithms of square matrices: the inverse of `expm`.

    Args:
        input: floating or complex, of shape `[..., n, n]`, without eigenvalues that are negative or 0.
            TensorFlow takes complex matrices only.
        name: a scope for the names of its operations in a graph.

    Returns:
        A tensor of the shape and dtype of `input`; NaN where there is no such matrix.

    Raises:
        TypeError: for another dtype.
        ValueError: for matrices that are not square.

    >>> import penstock as tf
    >>> tf.linalg.logm(tf.linalg.expm([[0.5, 0.25], [0.0, 1.0]])).numpy().round(4).tolist()
    [[0.5, 0.25], [0.0, 1.0]]
    """
    from penstock._control.flow import while_loop  # builds on this

    x = _square(input)
    identity = _identity(x)

    def far(x: _core.Tensor) -> _core.Tensor:
        return raw_ops.greater(_norm(x - identity), NEAR)

    def step(roots: _core.Tensor, x: _core.Tensor) -> tuple[_core.Tensor, _core.Tensor]:
        again = far(x)
        return roots + raw_ops.cast(again, dtype=_core.float64), _each(again, _root(x), x)

    roots = raw_ops.zeros_like(_norm(x))
    roots, x = while_loop(lambda roots, x: reduce_any(far(x)), step, (roots, x), maximum_iterations=60)
    rest = x - identity
    total = raw_ops.zeros_like(x)
    for node, weight in NODES:
        total = total + raw_ops.matrix_solve(identity + rest * node, rest) * weight
    return total * raw_ops.cast(raw_ops.exp(roots * math.log(2)), dtype=x.dtype)[..., None, None]
