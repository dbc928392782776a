"""Functions of two arrays, element by element, and what compares whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable

from penstock import _core, raw_ops
from penstock._control.flow import cond, while_loop
from penstock._core import Tensor
from penstock._runtime.arguments import known_rank
from penstock.array_api import _formulas as formulas
from penstock.errors import DTypeError, InvalidArgumentError
from penstock.experimental.numpy import _promotion as promotion
from penstock.experimental.numpy._arrays import (
    ArrayLike,
    as_type,
    convert,
    inexact,
    is_inexact,
    named,
    number,
    paired,
    promoted,
    public,
)

_BOOLEANS = "of booleans"

_Formula = Callable[[Tensor, Tensor], Tensor]
_Function = Callable[[ArrayLike, ArrayLike], Tensor]


def _of_two(name: str, formula: _Formula, summary: str, example: str, dtype: str = "") -> _Function:
    """A function of two arrays in the dtype that they promote to."""
    pair = promoted if dtype == _BOOLEANS else paired

    def function(x1: ArrayLike, x2: ArrayLike) -> Tensor:
        return formula(*pair(x1, x2))

    call, value = example.split(" -> ")
    doc = (
        f"{summary}\n\nReturns:\n    An array of the shape that both broadcast to, "
        f"{dtype or 'of the dtype that they promote to'}.\n\n>>> tnp.{call}.tolist()\n{value}"
    )
    made: _Function = named(name, function, doc)
    return made


def _or(of_bool: _Formula, formula: _Formula) -> _Formula:
    """Another formula for booleans."""
    return lambda x, y: (of_bool if x.dtype == _core.bool else formula)(x, y)


def _as_int8(formula: _Formula) -> _Formula:
    """Booleans as numbers."""
    return _or(lambda x, y: formula(as_type(x, _core.int8), as_type(y, _core.int8)), formula)


def _of_inexact(formula: _Formula) -> _Formula:
    """Integers as floating-point numbers."""
    return lambda x, y: formula(inexact(x), inexact(y))


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    if is_inexact(x):
        return raw_ops.div(x, y)
    # As TensorFlow has it: a narrow integer needs no more than float32.
    narrow = x.dtype != _core.bool and x.dtype.size < 4
    dtype = _core.float32 if narrow else promotion.default_float() if x.dtype == _core.bool else _core.float64
    return raw_ops.div(as_type(x, dtype), as_type(y, dtype))


def _heaviside(x: Tensor, y: Tensor) -> Tensor:
    zero = number(0, x)
    step = raw_ops.select(raw_ops.less(x, zero), zero, number(1, x))
    step = raw_ops.select(raw_ops.equal(x, zero), y, step)
    return inexact(raw_ops.select(raw_ops.not_equal(x, x), x, step))


def _gcd(x: Tensor, y: Tensor) -> Tensor:
    if not x.dtype.is_integer:
        raise DTypeError(f"gcd: arguments 'x1' and 'x2' must be integers, got {x.dtype.name}")
    zero, one = number(0, x), number(1, x)
    shape = raw_ops.shape(raw_ops.add(x, y))
    magnitude = (lambda t: t) if x.dtype.is_unsigned else raw_ops.abs
    x, y = (raw_ops.broadcast_to(magnitude(t), shape) for t in (x, y))

    def unfinished(_: Tensor, y: Tensor) -> Tensor:
        return raw_ops.reduce_any(raw_ops.not_equal(y, zero), axes=None, keepdims=False)

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        done = raw_ops.equal(y, zero)
        rest = raw_ops.floormod(x, raw_ops.select(done, one, y))
        return raw_ops.select(done, x, y), raw_ops.select(done, zero, rest)

    found: Tensor = while_loop(unfinished, step, (x, y))[0]
    return found


def _lcm(x: Tensor, y: Tensor) -> Tensor:
    divisor = _gcd(x, y)
    none = raw_ops.equal(divisor, number(0, x))
    quotient = raw_ops.floordiv(y, raw_ops.select(none, number(1, x), divisor))
    product = raw_ops.mul(x, quotient)
    return product if x.dtype.is_unsigned else raw_ops.abs(product)


def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    two = number(math.log(2), x)
    return formulas.logaddexp(x * two, y * two) / two


def _both_truths(op: _Formula) -> _Function:
    def function(x1: ArrayLike, x2: ArrayLike) -> Tensor:
        return op(*(as_type(convert(x), _core.bool) for x in (x1, x2)))

    return function


def _logical(name: str, op: _Formula, summary: str, example: str) -> _Function:
    """A function of the truth of two arrays."""
    call, value = example.split(" -> ")
    doc = (
        f"{summary}\n\nReturns:\n    An array of booleans of the shape that both broadcast to.\n\n"
        f">>> tnp.{call}.tolist()\n{value}"
    )
    made: _Function = named(name, _both_truths(op), doc)
    return made


add: _Function = _of_two(
    "add",
    _or(raw_ops.logical_or, raw_ops.add),
    "Add; of booleans, tell where either holds.",
    "add([1, 2], 3) -> [4, 5]",
)
subtract: _Function = _of_two("subtract", raw_ops.sub, "Subtract.", "subtract([1, 2], 3) -> [-2, -1]")
multiply: _Function = _of_two(
    "multiply",
    _or(raw_ops.logical_and, raw_ops.mul),
    "Multiply; of booleans, tell where both hold.",
    "multiply([1, 2], 3) -> [3, 6]",
)
_FLOATS = "of a floating-point dtype"
divide: _Function = _of_two("divide", _quotient, "Divide.", "divide([1, 2], 2) -> [0.5, 1.0]", _FLOATS)
true_divide: _Function = _of_two(
    "true_divide", _quotient, "Divide.", "true_divide([1, 2], 2) -> [0.5, 1.0]", _FLOATS
)
floor_divide: _Function = _of_two(
    "floor_divide",
    _as_int8(raw_ops.floordiv),
    "Divide and round down.",
    "floor_divide([7, -7], 2) -> [3, -4]",
)
mod: _Function = _of_two(
    "mod",
    _as_int8(raw_ops.floormod),
    "Find what remains of a division that rounds down.",
    "mod([7, -7], 2) -> [1, 1]",
)
remainder: _Function = _of_two(
    "remainder",
    _as_int8(raw_ops.floormod),
    "Find what remains of a division that rounds down.",
    "remainder([7, -7], 2) -> [1, 1]",
)
power: _Function = _of_two("power", raw_ops.pow, "Raise to powers.", "power([2, 3], 2) -> [4, 9]")
float_power: _Function = _of_two(
    "float_power", raw_ops.pow, "Raise to powers.", "float_power([2.0], 3) -> [8.0]"
)
maximum: _Function = _of_two(
    "maximum",
    _or(raw_ops.logical_or, raw_ops.maximum),
    "Take the greater of two elements; NaN wins.",
    "maximum([1, 5], 3) -> [3, 5]",
)
minimum: _Function = _of_two(
    "minimum",
    _or(raw_ops.logical_and, raw_ops.minimum),
    "Take the lesser of two elements; NaN wins.",
    "minimum([1, 5], 3) -> [1, 3]",
)
arctan2: _Function = _of_two(
    "arctan2",
    _of_inexact(raw_ops.atan2),
    "Compute the angles of points `(x2, x1)`.",
    "arctan2([0.0], [1.0]) -> [0.0]",
)
hypot: _Function = _of_two(
    "hypot",
    _of_inexact(formulas.hypot),
    "Compute the lengths of the sides opposite to right angles.",
    "hypot([3.0], [4.0]) -> [5.0]",
)
nextafter: _Function = _of_two(
    "nextafter",
    _of_inexact(raw_ops.nextafter),
    "Find the number next to `x1` towards `x2`.",
    "nextafter([1.0], 2) -> [1.0000000000000002]",
)
heaviside: _Function = _of_two(
    "heaviside",
    _heaviside,
    "Give 0 where `x1` is negative, 1 where it is positive and `x2` where it is 0.",
    "heaviside([-1.0, 0.0, 1.0], 0.5) -> [0.0, 0.5, 1.0]",
)
logaddexp: _Function = _of_two(
    "logaddexp",
    _of_inexact(formulas.logaddexp),
    "Compute `log(exp(x1) + exp(x2))` without overflow.",
    "logaddexp([0.0], [0.0]) -> [0.6931471805599453]",
)
logaddexp2: _Function = _of_two(
    "logaddexp2",
    _of_inexact(_logaddexp2),
    "Compute `log2(2**x1 + 2**x2)` without overflow.",
    "logaddexp2([1.0], [1.0]) -> [2.0]",
)
gcd: _Function = _of_two("gcd", _gcd, "Find greatest common divisors.", "gcd([12, 7], 8) -> [4, 1]")
lcm: _Function = _of_two("lcm", _lcm, "Find least common multiples.", "lcm([4, 7], 6) -> [12, 42]")
bitwise_and: _Function = _of_two(
    "bitwise_and",
    _or(raw_ops.logical_and, raw_ops.bitwise_and),
    "Combine bits: those that both have.",
    "bitwise_and([6], 3) -> [2]",
)
bitwise_or: _Function = _of_two(
    "bitwise_or",
    _or(raw_ops.logical_or, raw_ops.bitwise_or),
    "Combine bits: those that either has.",
    "bitwise_or([6], 3) -> [7]",
)
bitwise_xor: _Function = _of_two(
    "bitwise_xor",
    _or(raw_ops.logical_xor, raw_ops.bitwise_xor),
    "Combine bits: those that one has.",
    "bitwise_xor([6], 3) -> [5]",
)
equal: _Function = _of_two(
    "equal", raw_ops.equal, "Tell which elements are equal.", "equal([1, 2], 2) -> [False, True]", _BOOLEANS
)
not_equal: _Function = _of_two(
    "not_equal",
    raw_ops.not_equal,
    "Tell which elements differ.",
    "not_equal([1, 2], 2) -> [True, False]",
    _BOOLEANS,
)
greater: _Function = _of_two(
    "greater",
    _as_int8(raw_ops.greater),
    "Tell which elements are greater.",
    "greater([1, 3], 2) -> [False, True]",
    _BOOLEANS,
)
greater_equal: _Function = _of_two(
    "greater_equal",
    _as_int8(raw_ops.greater_equal),
    "Tell which elements are greater or equal.",
    "greater_equal([1, 2], 2) -> [False, True]",
    _BOOLEANS,
)
less: _Function = _of_two(
    "less",
    _as_int8(raw_ops.less),
    "Tell which elements are less.",
    "less([1, 3], 2) -> [True, False]",
    _BOOLEANS,
)
less_equal: _Function = _of_two(
    "less_equal",
    _as_int8(raw_ops.less_equal),
    "Tell which elements are less or equal.",
    "less_equal([2, 3], 2) -> [True, False]",
    _BOOLEANS,
)
logical_and: _Function = _logical(
    "logical_and",
    raw_ops.logical_and,
    "Tell where neither element is zero.",
    "logical_and([1, 0], 2) -> [True, False]",
)
logical_or: _Function = _logical(
    "logical_or",
    raw_ops.logical_or,
    "Tell where not both are zero.",
    "logical_or([1, 0], 0) -> [True, False]",
)
logical_xor: _Function = _logical(
    "logical_xor", raw_ops.logical_xor, "Tell where one is zero.", "logical_xor([1, 0], 2) -> [False, True]"
)


@public
def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Tensor, Tensor]:
    """Divide and round down, and find what remains.

    Returns:
        The quotients and the remainders.

    >>> [x.tolist() for x in tnp.divmod([7, -7], 2)]
    [[3, -4], [1, 1]]
    """
    return floor_divide(x1, x2), mod(x1, x2)


@public
def clip(a: ArrayLike, a_min: ArrayLike | None, a_max: ArrayLike | None) -> Tensor:
    """Limit elements to a range.

    Returns:
        An array of the shape that all broadcast to, of the dtype that they promote to.

    Raises:
        ValueError: where neither bound is given.

    >>> tnp.clip([1, 5, 9], 2, 6).tolist()
    [2, 5, 6]
    """
    if a_min is None and a_max is None:
        raise InvalidArgumentError("clip: one of arguments 'a_min' and 'a_max' must be given")
    if a_min is None:
        return minimum(a, a_max)  # type: ignore[arg-type]
    if a_max is None:
        return maximum(a, a_min)
    x, low, high = promoted(a, a_min, a_max)
    if x.dtype.is_complex:
        raise DTypeError(f"clip: argument 'a' must be real, got {x.dtype.name}")
    if x.dtype == _core.bool:
        return raw_ops.logical_and(raw_ops.logical_or(x, low), high)
    # Where the bounds cross, the upper one holds, as for NumPy.
    return raw_ops.minimum(raw_ops.maximum(x, low), high)


@public
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Tell which elements differ by no more than `atol + rtol * abs(b)`; integers must be equal.

    Returns:
        An array of booleans of the shape that both broadcast to.

    >>> tnp.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).tolist()
    [True, False]
    """
    x, y = paired(a, b)
    same = raw_ops.equal(x, y)
    if not is_inexact(x):
        return same
    size = raw_ops.abs(y)
    limit = number(atol, size) + number(rtol, size) * size
    near = raw_ops.logical_and(raw_ops.less_equal(raw_ops.abs(x - y), limit), raw_ops.is_finite(size))
    near = raw_ops.logical_or(near, same)
    if equal_nan:
        neither = raw_ops.logical_and(raw_ops.not_equal(x, x), raw_ops.not_equal(y, y))
        near = raw_ops.logical_or(near, neither)
    return near


@public
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Tell whether all elements differ by no more than `atol + rtol * abs(b)`; integers must be equal.

    Returns:
        A boolean of shape `[]`.

    >>> bool(tnp.allclose([1.0], [1.0 + 1e-9]))
    True
    """
    near = isclose(a, b, rtol, atol, equal_nan)
    return raw_ops.reduce_all(near, axes=None, keepdims=False)


@public
def array_equal(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """Tell whether two arrays have the same shape and equal elements.

    Returns:
        A boolean of shape `[]`.

    >>> bool(tnp.array_equal([1, 2], [1, 2]))
    True
    """
    x, y = promoted(a1, a2)
    if len(known_rank(x)) != len(known_rank(y)):
        return _core._to_tensor(False)
    if x.shape.is_fully_defined() and y.shape.is_fully_defined():
        if x.shape != y.shape:
            return _core._to_tensor(False)
        return raw_ops.reduce_all(raw_ops.equal(x, y), axes=None, keepdims=False)
    fits = raw_ops.reduce_all(raw_ops.equal(raw_ops.shape(x), raw_ops.shape(y)), axes=None, keepdims=False)
    return cond(
        fits,
        lambda: raw_ops.reduce_all(
            raw_ops.equal(x, raw_ops.reshape(y, raw_ops.shape(x))), axes=None, keepdims=False
        ),
        lambda: _core._to_tensor(False),
    )
