"""The operators of the engine, one callable each, named and documented as they are declared in Rust.

Operands come by position or keyword, attributes by keyword. An operand that is not a tensor is converted: to
the dtype of the operands that share its dtype, where a Python value can be. `name` names the result in a
graph.
"""

# Written by tools/generate.py.

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never, TypeAlias

from penstock._core import Tensor, _DTypeLike, _ShapeLike, _Variable
from penstock._types.specs import TensorSpec

# A tensor, a variable, or what converts to a tensor: Python values, nested sequences of them, arrays, and
# instances of classes with a conversion.
_TensorLike: TypeAlias = Any
# One tensor where there is one result, else a tuple.
_Tensors: TypeAlias = Tensor | tuple[Tensor, ...]
_TypeLike: TypeAlias = TensorSpec | _DTypeLike

# --- unary ---

def neg(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`-x`; wraps on integers.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def abs(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Magnitude: real for complex `x`; the least signed integer is its own. Derivative 0 at 0.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def sign(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """-1, 0 or 1 as `x` is negative, 0 (of either sign) or positive, NaN of NaN; `x / |x|` for complex `x`, 0
    of 0. Derivative zeros, as in TensorFlow, so that the second derivative of `abs` is there.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def square(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x * x`; wraps on integers.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def sqrt(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Square root; NaN of a negative number, the principal branch for complex `x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def rsqrt(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`1 / sqrt(x)`; infinite at 0.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def reciprocal(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`1 / x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def exp(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`e^x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def expm1(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`e^x - 1`, accurate near 0.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def log(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Natural logarithm: -inf at 0, NaN of a negative number, the principal branch for complex `x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def log1p(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`log(1 + x)`, accurate near 0.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def sin(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Sine of `x` in radians.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def cos(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Cosine of `x` in radians.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def tan(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Tangent of `x` in radians.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def asin(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Inverse sine, in radians; NaN outside [-1, 1].

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def acos(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Inverse cosine, in radians; NaN outside [-1, 1].

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def atan(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Inverse tangent, in radians.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def sinh(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Hyperbolic sine.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def cosh(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Hyperbolic cosine.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def tanh(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Hyperbolic tangent.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def asinh(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Inverse hyperbolic sine.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def acosh(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def atanh(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Inverse hyperbolic tangent; NaN outside [-1, 1].

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def sigmoid(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Logistic function, `1 / (1 + e^-x)`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64, complex64, complex128.
    """

def softplus(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`log(1 + e^x)`, without overflow.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def relu(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`max(x, 0)`; NaN of NaN. Derivative 0 at 0 and NaN; the second is zeros, as in TensorFlow.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def relu6(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`min(max(x, 0), 6)`; NaN of NaN. Derivative 0 at 0, 6 and NaN; the second is zeros, as in TensorFlow.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def step(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """1 where `x` is positive, else 0, for NaN too: the derivative of `relu`. Derivative zeros.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def elu(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Exponential linear unit: `x` where it is not negative, else `e^x - 1` (Clevert et al. 2015).

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def selu(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Scaled exponential linear unit: 1.0507 `x` where it is not negative, else 1.7581 `(e^x - 1)` (Klambauer
    et al. 2017).

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def softsign(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x / (1 + |x|)`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def floor(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Largest integer not above `x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def ceil(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Smallest integer not below `x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def round(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Nearest integer, ties to even; integers are unchanged.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def rint(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Nearest integer, ties to even.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def trunc(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Nearest integer towards 0.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def erf(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def erfc(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Complementary error function, `1 - erf(x)`, accurate for large `x`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def lgamma(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Logarithm of the magnitude of the gamma function; inf at 0 and the negative integers.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def digamma(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Derivative of `lgamma`.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def erfinv(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The number whose error function is `x`: infinite at -1 and 1, NaN beyond (Wichura 1988, AS 241).

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def ndtri(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution at `x`: infinite at 0 and 1, NaN beyond (Wichura 1988,
    AS 241).

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def is_nan(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether NaN.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def is_inf(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether infinite, of either sign.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def is_finite(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether neither NaN nor infinite.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def logical_not(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`not` of a boolean.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: bool.
    """

def invert(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Complement of every bit of an integer.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def real(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Real part of a complex number.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: complex64, complex128.
    """

def imag(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Imaginary part of a complex number.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: complex64, complex128.
    """

def conj(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Complex conjugate.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: complex64, complex128.
    """

def angle(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Phase of a complex number in radians, in (-pi, pi].

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: complex64, complex128.
    """

# --- binary ---

def add(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x + y`; wraps on integers. Strings are joined by `string_add`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def sub(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x - y`; wraps on integers.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def mul(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x * y`; wraps on integers.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def div(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x / y` of floats: infinite or NaN where `y` is 0. Integers are cast first.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64, complex64, complex128.
    """

def floordiv(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Quotient rounded to negative infinity, Python's `//`. Integer division by 0 is an error.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def floormod(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Remainder with the sign of `y`, Python's `%`. Integer division by 0 is an error.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def truncatediv(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Quotient rounded to 0, C's `/` of integers. Integer division by 0 is an error.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def truncatemod(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Remainder with the sign of `x`, C's `%` and `fmod`. Integer division by 0 is an error.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def pow(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` to the `y`. Integers wrap; a negative exponent of integers is an error.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def maximum(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The greater of `x` and `y`; NaN where either is. Where they are equal the gradient goes to `x`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def minimum(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The lesser of `x` and `y`; NaN where either is. Where they are equal the gradient goes to `x`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def atan2(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Angle in radians of the point whose ordinate is `x` and whose abscissa is `y`, in [-pi, pi].

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64.
    """

def squared_difference(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`(x - y)^2`; `|x - y|^2` for complex operands.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def divide_no_nan(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x / y`, but 0 where `y` is 0.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64, complex64, complex128.
    """

def multiply_no_nan(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x * y`, but 0 where `y` is 0, even if `x` is infinite or NaN.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64, complex64, complex128.
    """

def xlogy(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x * log(y)`, but 0 where `x` is 0.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64, complex64, complex128.
    """

def xdivy(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x / y`, but 0 where `x` is 0.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64, complex64, complex128.
    """

def nextafter(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The next representable value after `x` in the direction of `y`; `y` where they are equal, NaN where
    either is.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float32, float64.
    """

def zeta(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function, the sum of `(y + k)^-x` over k from 0; NaN for `x` < 1. No gradient reaches
    `x`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float32, float64.
    """

def polygamma(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of order `x` of `digamma` at `y`; NaN where `x` is no whole number from 0. No gradient
    reaches `x`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float32, float64.
    """

def random_gamma_grad(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative by `x` of a number `y` drawn from the gamma distribution of shape `x` and rate 1, at a
    fixed quantile.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64.
    """

def igamma(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function of shape `x` at `y`; NaN where `x` is not positive or
    `y` is negative.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64.
    """

def igammac(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The upper regularised incomplete gamma function of shape `x` at `y`, 1 less the lower one.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float16, bfloat16, float32, float64.
    """

def bitwise_and(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Bitwise `and` of integers.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def bitwise_or(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Bitwise `or` of integers.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def bitwise_xor(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Bitwise exclusive `or` of integers.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def left_shift(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` shifted left by `y` bits, which is clamped to between 0 and the width of the dtype.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def right_shift(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` shifted right by `y` bits, which is clamped to between 0 and the width of the dtype; arithmetic for
    signed dtypes.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def complex(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The complex number whose real part is `x` and whose imaginary part is `y`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: float32, float64.
    """

def add_n(*inputs: _TensorLike, name: str | None = None) -> Tensor:
    """The sum of one or more tensors of one shape and dtype, added from the first to the last; wraps on
    integers.

    Errors: `InvalidArgument` where there is no operand or shapes differ.

    Dtypes:
        inputs: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

# --- compare ---

def equal(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether `x == y`; NaN equals nothing. Strings are compared by `string_equal`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def not_equal(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether `x != y`; NaN differs from everything. Strings are compared by `string_not_equal`.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def less(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether `x < y`; false where either is NaN.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def less_equal(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether `x <= y`; false where either is NaN.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def greater(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether `x > y`; false where either is NaN.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def greater_equal(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether `x >= y`; false where either is NaN.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def logical_and(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`and` of booleans.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: bool.
    """

def logical_or(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`or` of booleans.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: bool.
    """

def logical_xor(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Exclusive `or` of booleans.

    Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: bool.
    """

def select(condition: _TensorLike, x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` where `condition` is true, else `y`.

    Elementwise: the result has the shape that the operands broadcast to. `x` and `y` have one dtype. Strings
    are chosen by `string_select`.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        condition: bool.
        x, y: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e4m3b11fnuz,
            float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def string_select(
    condition: _TensorLike, x: _TensorLike, y: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`x` where `condition` is true, else `y`, of strings.

    Elementwise: the result has the shape that the operands broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        condition: bool.
        x, y: string.
    """

def string_add(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The string `x` followed by the string `y`.

    Elementwise: the result has the shape that `x` and `y` broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: string.
    """

def string_equal(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether two strings have the same bytes.

    Elementwise: the result has the shape that `x` and `y` broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: string.
    """

def string_not_equal(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """Whether two strings differ in a byte.

    Elementwise: the result has the shape that `x` and `y` broadcast to.

    Errors: `InvalidArgument` where the shapes do not broadcast.

    Dtypes:
        x, y: string.
    """

# --- cast ---

def cast(x: _TensorLike, *, dtype: _DTypeLike, name: str | None = None) -> Tensor:
    """The values of `x` as `dtype`.

    Elementwise: the result has the shape of `x`. Floats round to the nearest, ties to even, and become
    integers by dropping the fraction, clamped to the range of the dtype (NaN gives 0). Integers wrap. Complex
    numbers lose their imaginary part. Anything but 0 is true. Of narrow floats, what is too large becomes
    infinite, else NaN, else the greatest number, whichever the dtype has.

    Errors: `DType` for strings.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e4m3b11fnuz,
            float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def bitcast(x: _TensorLike, *, dtype: _DTypeLike, name: str | None = None) -> Tensor:
    """The bits of `x` as elements of `dtype`.

    The shape is that of `x` where both elements have one size. Smaller elements add a last dimension that
    holds those of one element of `x`; larger ones take the place of a last dimension, which holds as many as
    make one. The first is the least significant on a little-endian machine.

    Errors: `DType` for booleans, strings and numbers of fewer than 8 bits, `InvalidArgument` for a last
    dimension of another size.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e4m3b11fnuz,
            float8_e5m2fnuz.
    """

# --- reduce ---

def reduce_sum(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The sum; 0 of nothing. Integers wrap.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def reduce_prod(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product; 1 of nothing. Integers wrap.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def reduce_max(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The greatest element: NaN if there is one, the lowest value of the dtype (-inf) of nothing. Equal
    elements share the gradient.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def reduce_min(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The least element: NaN if there is one, the highest value of the dtype (inf) of nothing. Equal elements
    share the gradient.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def reduce_mean(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The arithmetic mean; NaN of nothing. That of integers is rounded towards 0.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def reduce_any(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Whether any element is true; false of nothing.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: bool.
    """

def reduce_all(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Whether all elements are true; true of nothing.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: bool.
    """

def reduce_logsumexp(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """`log(sum(e^x))`, without overflow; -inf of nothing.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def count_nonzero(
    input: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The number of elements that are not zero, `int64`. NaN is not zero, -0 is.

    Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        input: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def sum_to_shape(x: _TensorLike, shape: _TensorLike, *, name: str | None = None) -> Tensor:
    """The sum of `x` over the axes along which a tensor of shape `shape` is repeated when it is broadcast to
    the shape of `x`: what `broadcast_to` does to gradients.

    The result has shape `shape`.

    Errors: `InvalidArgument` where `shape` does not broadcast to the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        shape: int32, int64.
    """

def argmax(x: _TensorLike, *, axis: int = 0, dtype: _DTypeLike = "int64", name: str | None = None) -> Tensor:
    """The index of the greatest element along an axis.

    The result, of dtype `dtype` (`int32` or `int64`), has the shape of `x` without `axis`; a negative axis
    counts from the end. The first of equal elements counts, and NaN as the most extreme.

    Errors: `InvalidArgument` for an axis that is out of range or empty, or has more elements than `dtype`
    counts.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def argmin(x: _TensorLike, *, axis: int = 0, dtype: _DTypeLike = "int64", name: str | None = None) -> Tensor:
    """The index of the least element along an axis.

    The result, of dtype `dtype` (`int32` or `int64`), has the shape of `x` without `axis`; a negative axis
    counts from the end. The first of equal elements counts, and NaN as the most extreme.

    Errors: `InvalidArgument` for an axis that is out of range or empty, or has more elements than `dtype`
    counts.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

# --- scan ---

def cumsum(
    x: _TensorLike, *, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running sums.

    The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the
    elements up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse`
    is true. Integers wrap.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def cumprod(
    x: _TensorLike, *, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running products.

    The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the
    elements up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse`
    is true. Integers wrap.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def cumulative_logsumexp(
    x: _TensorLike, *, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running logarithms of sums of exponentials, without overflow; an exclusive one starts with the least
    finite value.

    The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the
    elements up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse`
    is true. Integers wrap.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def linear_recurrence(
    factors: _TensorLike,
    terms: _TensorLike,
    *,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """`y[i] = factors[i] * y[i - 1] + terms[i]` along `axis`, from `y[0] = terms[0]` on.

    `factors`, `terms` and the result have one shape; a negative axis counts from the end. Where `exclusive`
    is true, element `i` of the result is `y[i - 1]`, and the first is 0; where `reverse` is true, it runs
    from the end of the axis.

    Errors: `InvalidArgument` where the shapes differ, and for an axis that is out of range.

    Dtypes:
        factors, terms: float16, bfloat16, float32, float64, complex64, complex128.
    """

# --- sorting ---

def sort(x: _TensorLike, *, axis: int = -1, descending: bool = False, name: str | None = None) -> Tensor:
    """The elements of each row of `x` along `axis`, the least first, or the greatest where `descending`.

    The result has the shape of `x`; a negative axis counts from the end. NaN is above every number; equal
    elements, as 0 and -0, keep their order.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def argsort(
    x: _TensorLike,
    *,
    axis: int = -1,
    descending: bool = False,
    dtype: _DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """The positions along `axis` at which the elements of `sort` stood, of dtype `dtype`: `int32` or `int64`.

    The result has the shape of `x`; a negative axis counts from the end. NaN is above every number; equal
    elements, as 0 and -0, keep their order.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def top_k(
    x: _TensorLike, k: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The `k` greatest elements of each row of `x` along its last dimension, the greatest first, and their
    positions.

    Both results have the extents of `x` with `k` in place of the last; positions are of dtype `dtype`:
    `int32` or `int64`. Of equal elements the first comes first; NaN is above every number.

    Errors: `InvalidArgument` for a scalar `x`, or a `k` that is negative or above the last extent.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
        k: int32, int64.
    """

def searchsorted(
    sorted_sequence: _TensorLike,
    values: _TensorLike,
    *,
    right: bool = False,
    dtype: _DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """For each of `values` the position at which it could be inserted into its row of `sorted_sequence`,
    which ascends.

    That is the number of elements below it or, where `right`, not above it; NaN is above every number. Both
    operands have the same extents but for the last; the result, of dtype `dtype` (`int32` or `int64`), has
    those of `values`. Strings are compared byte by byte. Rows that do not ascend give positions without
    meaning.

    Errors: `InvalidArgument` where the leading extents differ, or an operand is a scalar.

    Dtypes:
        sorted_sequence, values: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, string.
    """

def unique(
    x: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements of a vector in the order in which they first occur, the position of each element
    of `x` among them, and how often each occurs.

    Positions and counts are of dtype `dtype`: `int32` or `int64`. 0 and -0 are the same; every NaN is
    distinct.

    Errors: `InvalidArgument` where `x` is no vector.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def take_along_axis(
    x: _TensorLike, indices: _TensorLike, *, axis: int = -1, name: str | None = None
) -> Tensor:
    """For each of `indices` the element of its row of `x` along `axis` at that position.

    `indices` has the extents of `x` but for `axis`, and the result has those of `indices`. A negative axis
    counts from the end.

    Errors: `InvalidArgument` for an axis or an index that is out of range, or extents that differ.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        indices: int32, int64.
    """

def scatter_along_axis(
    shape: _TensorLike, indices: _TensorLike, updates: _TensorLike, *, axis: int = -1, name: str | None = None
) -> Tensor:
    """Zeros of the extents `shape`, with each of `updates` added to its row along `axis` at the position that
    `indices` names for it: what `take_along_axis` does to gradients.

    `indices` and `updates` have the extents `shape` but for `axis`. Updates of one place are added in order.

    Errors: `InvalidArgument` for an axis or an index that is out of range, or extents that differ.

    Dtypes:
        shape: int32, int64.
        indices: int32, int64.
        updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

# --- segment ---

def unsorted_segment_mean(
    data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, *, name: str | None = None
) -> Tensor:
    """The means of entries by segment; 0 of none. That of integers is rounded towards 0.

    The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry
    `s` reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for
    an id not below `num_segments`.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        segment_ids: int32, int64.
        num_segments: int32, int64.
    """

def unsorted_segment_max(
    data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, *, name: str | None = None
) -> Tensor:
    """The greatest entries by segment: NaN if there is one, the least finite value of none. Equal entries
    share the gradient.

    The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry
    `s` reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for
    an id not below `num_segments`.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
        segment_ids: int32, int64.
        num_segments: int32, int64.
    """

def unsorted_segment_min(
    data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, *, name: str | None = None
) -> Tensor:
    """The least entries by segment: NaN if there is one, the greatest finite value of none. Equal entries
    share the gradient.

    The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry
    `s` reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for
    an id not below `num_segments`.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
        segment_ids: int32, int64.
        num_segments: int32, int64.
    """

def unsorted_segment_prod(
    data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, *, name: str | None = None
) -> Tensor:
    """The products of entries by segment; 1 of none. Second derivatives are exact where no element is 0.

    The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry
    `s` reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for
    an id not below `num_segments`.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        segment_ids: int32, int64.
        num_segments: int32, int64.
    """

def segment_sum(data: _TensorLike, segment_ids: _TensorLike, *, name: str | None = None) -> Tensor:
    """The sums of entries by sorted segment; 0 of none.

    `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in
    ascending order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that
    are negative or not in order.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        segment_ids: int32, int64.
    """

def segment_mean(data: _TensorLike, segment_ids: _TensorLike, *, name: str | None = None) -> Tensor:
    """The means of entries by sorted segment; 0 of none. That of integers is rounded towards 0.

    `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in
    ascending order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that
    are negative or not in order.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        segment_ids: int32, int64.
    """

def segment_max(data: _TensorLike, segment_ids: _TensorLike, *, name: str | None = None) -> Tensor:
    """The greatest entries by sorted segment: NaN if there is one, 0 of none. Equal entries share the
    gradient.

    `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in
    ascending order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that
    are negative or not in order.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
        segment_ids: int32, int64.
    """

def segment_min(data: _TensorLike, segment_ids: _TensorLike, *, name: str | None = None) -> Tensor:
    """The least entries by sorted segment: NaN if there is one, 0 of none. Equal entries share the gradient.

    `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in
    ascending order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that
    are negative or not in order.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
        segment_ids: int32, int64.
    """

def segment_prod(data: _TensorLike, segment_ids: _TensorLike, *, name: str | None = None) -> Tensor:
    """The products of entries by sorted segment; 1 of none. Second derivatives are exact where no element is
    0.

    `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in
    ascending order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that
    are negative or not in order.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        segment_ids: int32, int64.
    """

def bincount(
    arr: _TensorLike,
    minlength: _TensorLike,
    maxlength: _TensorLike,
    *,
    rows: bool = False,
    name: str | None = None,
) -> Tensor:
    """How often each integer from 0 occurs in `arr`, or in each of its rows where `rows` is true, `int64`.

    The last extent of the result is one more than the greatest integer, but not less than `minlength`, nor
    more than `maxlength` unless that is negative; integers beyond are left out.

    Errors: `InvalidArgument` for a negative integer, or `rows` of what is no matrix.

    Dtypes:
        arr: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        minlength: int32, int64.
        maxlength: int32, int64.
    """

# --- linalg ---

def matmul(
    a: _TensorLike,
    b: _TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of the matrices `a` and `b`, which are the last two dimensions of the operands; the
    dimensions before them broadcast.

    `a` of shape `[..., m, k]` and `b` of shape `[..., k, n]` give `[..., m, n]`; a `k` of 0 gives zeros.
    `transpose_a` and `transpose_b` say that the operand is stored transposed, `adjoint_a` and `adjoint_b`
    that it is conjugated as well. Integers wrap; floats of 16 bits accumulate in `float32`.

    Errors: `InvalidArgument` for an operand of rank below 2, where the inner sizes differ, where the batch
    dimensions do not broadcast, and for an operand that is both transposed and adjoint.

    Dtypes:
        a, b: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def matmul_int32(
    a: _TensorLike,
    b: _TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices of 8-bit integers, `a` and `b`, in `int32`.

    Each operand is `int8` or `uint8`. Shapes and attributes are those of `matmul`; sums that `int32` does not
    hold wrap.

    Errors: `InvalidArgument` for an operand of rank below 2, where the inner sizes differ, and where the
    batch dimensions do not broadcast.

    Dtypes:
        a: int8, uint8.
        b: int8, uint8.
    """

# --- diagonals ---

def matrix_band_part(x: _TensorLike, *, lower: int = -1, upper: int = -1, name: str | None = None) -> Tensor:
    """Each matrix with zeros outside of `lower` diagonals below the main one and `upper` above it; all are
    kept where the number is negative.

    `x` has shape `[..., m, n]`, as has the result.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def matrix_diag_part(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The main diagonal of each matrix.

    `x` of shape `[..., m, n]` gives `[..., min(m, n)]`.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def matrix_set_diag(x: _TensorLike, diagonal: _TensorLike, *, name: str | None = None) -> Tensor:
    """Each matrix with another main diagonal.

    `x` of shape `[..., m, n]` and `diagonal` of shape `[..., min(m, n)]` give the shape of `x`.

    Errors: `InvalidArgument` where the shapes do not fit.

    Dtypes:
        x, diagonal: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128.
    """

# --- solves ---

def triangular_solve(
    matrix: _TensorLike,
    rhs: _TensorLike,
    *,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution `x` of `matrix x = rhs` for triangular matrices, by substitution.

    `matrix` of shape `[..., n, n]`, of which the lower triangle is read, or the upper if not `lower`, and
    `rhs` of shape `[..., n, k]` give `[..., n, k]`; the dimensions before broadcast. With `adjoint` the
    matrix is transposed and conjugated. A 0 in the diagonal divides like any number.

    Errors: `InvalidArgument` for shapes that do not fit.

    Dtypes:
        matrix, rhs: float32, float64, complex64, complex128.
    """

def matrix_solve(
    matrix: _TensorLike, rhs: _TensorLike, *, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The solution `x` of `matrix x = rhs`, by elimination with partial pivoting.

    `matrix` of shape `[..., n, n]` and `rhs` of shape `[..., n, k]` give `[..., n, k]`; the dimensions before
    broadcast. With `adjoint` the matrix is transposed and conjugated.

    Errors: `InvalidArgument` for shapes that do not fit and for a singular matrix.

    Dtypes:
        matrix, rhs: float32, float64, complex64, complex128.
    """

def matrix_inverse(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of each matrix, by elimination with partial pivoting.

    `x` has shape `[..., n, n]`, as has the result.

    Errors: `InvalidArgument` for matrices that are not square, and for a singular one.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def matrix_determinant(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The determinant of each matrix, by elimination with partial pivoting; 1 for a matrix without elements.

    `x` of shape `[..., n, n]` gives `[...]`. The derivative is an error where the matrix is singular.

    Errors: `InvalidArgument` for matrices that are not square.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def log_matrix_determinant(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The determinant of each matrix as a number of absolute value 1 (or 0) and the logarithm of its absolute
    value, which does not overflow.

    `x` of shape `[..., n, n]` gives `sign` and `log_abs_determinant`, both of the dtype of `x` and of shape
    `[...]`; 0 and minus infinity for a singular matrix. The derivative is an error there.

    Errors: `InvalidArgument` for matrices that are not square.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

# --- decompositions ---

def cholesky(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The lower triangular `l` with a positive diagonal for which `l l^H` is the matrix.

    `x` of shape `[..., n, n]` gives the same shape. Only the lower triangle is read; the cotangent is
    Hermitian. The factor of a matrix that is not positive definite is NaN.

    Errors: `InvalidArgument` for matrices that are not square.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def lu(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The triangular factors of each matrix with its rows in another order, by partial pivoting.

    `x` of shape `[..., m, n]` gives `lu` of the same shape, which holds the upper factor on and above the
    diagonal and below it the lower one, whose diagonal is 1, and `p` (`int32`) of shape `[..., m]`: row `i`
    of the product of the factors is row `p[i]` of `x`. The derivative needs matrices that are known to be
    square, or whose sizes are known.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def qr(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`q` with orthonormal columns and `r`, upper triangular, with `x = q r`, by Householder reflections.

    `x` of shape `[..., m, n]` gives `q` of `[..., m, p]` and `r` of `[..., p, n]`, with `p` the smaller of
    `m` and `n`.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def qr_full(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """As `qr`, with as many columns of `q` as `x` has rows.

    `x` of shape `[..., m, n]` gives `q` of `[..., m, m]` and `r` of `[..., m, n]`.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def svd(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Singular values and vectors: `x = u diag(s) v^H` with orthonormal columns of `u` and `v`, and `s` not
    negative and in descending order.

    Of each column of `u` the first element that is at least half as great as the greatest is positive.

    `x` of shape `[..., m, n]` gives `s` (real) of `[..., p]`, `u` of `[..., m, p]` and `v` of `[..., n, p]`,
    with `p` the smaller of `m` and `n`. All is NaN for a matrix with an element that is not finite. The
    derivative by the vectors takes equal singular values for apart.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def svd_full(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """As `svd`, with square `u` and `v`.

    `x` of shape `[..., m, n]` gives `s` of `[..., min(m, n)]`, `u` of `[..., m, m]` and `v` of `[..., n, n]`.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def singular_values(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The singular values of each matrix in descending order.

    `x` of shape `[..., m, n]` gives `[..., min(m, n)]`, real. NaN for a matrix with an element that is not
    finite.

    Errors: `InvalidArgument` for rank below 2.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def self_adjoint_eig(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of Hermitian matrices: `x = v diag(e) v^H` with orthonormal columns of
    `v`, and `e` in ascending order.

    Of each column of `v` the first element that is at least half as great as the greatest is positive.

    `x` of shape `[..., n, n]`, of which only the lower triangle is read, gives `e` (real) of `[..., n]` and
    `v` of `[..., n, n]`. The derivative by the vectors takes equal eigenvalues for apart; the cotangent is a
    lower triangle.

    Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def self_adjoint_eigvals(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices in ascending order.

    `x` of shape `[..., n, n]`, of which only the lower triangle is read, gives `[..., n]`, real.

    Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

# --- eigen ---

def eig(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices: `x v = v diag(e)`.

    `x` of shape `[..., n, n]` gives `e` of `[..., n]`, in the order in which they are found, and `v` of
    `[..., n, n]`, whose columns have length 1; both are complex. Of each column the first element that is at
    least half as great as the greatest is positive. The derivative takes this factor of absolute value 1 for
    constant; it is infinite or NaN where eigenvalues are equal.

    Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

def eigvals(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices, in the order in which they are found.

    `x` of shape `[..., n, n]` gives `[..., n]`, complex.

    Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.

    Dtypes:
        x: float32, float64, complex64, complex128.
    """

# --- fourier ---

def fft(x: _TensorLike, *, inverse: bool = False, scaled: bool = False, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last dimension: element `k` of `n` is the sum of `x[j] exp(-2
    pi i j k / n)`.

    `x` has shape `[..., n]`, as has the result. With `inverse` the exponent has the other sign; with `scaled`
    the result is divided by `n`.

    Errors: `InvalidArgument` for a scalar.

    Dtypes:
        x: complex64, complex128.
    """

def rfft(x: _TensorLike, *, scaled: bool = False, mirrored: bool = False, name: str | None = None) -> Tensor:
    """The first half of the discrete Fourier transform of real rows; the other half is its conjugate.

    `x` of shape `[..., n]` gives `[..., n / 2 + 1]`, complex. With `scaled` the result is divided by `n`;
    with `mirrored` the coefficients that stand for two are doubled.

    Errors: `InvalidArgument` for a scalar.

    Dtypes:
        x: float32, float64.
    """

def irfft(
    x: _TensorLike,
    length: _TensorLike,
    *,
    scaled: bool = False,
    mirrored: bool = False,
    name: str | None = None,
) -> Tensor:
    """The real parts of the inverse discrete Fourier transform of the first half of coefficients.

    `x` of shape `[..., length / 2 + 1]` gives `[..., length]`, real, for the scalar `length`. With `scaled`
    the result is divided by `length`. With `mirrored` each coefficient stands for its conjugate in the other
    half as well; where it is its own conjugate, its imaginary part is not read.

    Errors: `InvalidArgument` for a scalar, a negative length, and for another number of coefficients.

    Dtypes:
        x: complex64, complex128.
        length: int32, int64.
    """

# --- nn ---

def bias_add(x: _TensorLike, bias: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x + bias`, with one element of `bias` for each channel, which is the last dimension of `x`; wraps on
    integers.

    `x` of shape `[..., c]` and rank 2 or more and `bias` of shape `[c]` give a result of the shape of `x`.

    Errors: `InvalidArgument` for other ranks, and where the sizes differ.

    Dtypes:
        x, bias: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def softmax(x: _TensorLike, *, axis: int = -1, name: str | None = None) -> Tensor:
    """`e^x / sum(e^x)` along `axis`, without overflow.

    The result has the shape of `x`; a negative axis counts from the end.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def log_softmax(x: _TensorLike, *, axis: int = -1, name: str | None = None) -> Tensor:
    """`x - log(sum(e^x))` along `axis`: the logarithm of `softmax`, without overflow.

    The result has the shape of `x`; a negative axis counts from the end.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: float16, bfloat16, float32, float64.
    """

def softmax_cross_entropy(
    logits: _TensorLike, labels: _TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`-sum(labels * log_softmax(logits))` over the last dimension, and its derivative by `logits`.

    `logits` and `labels` of shape `[..., classes]` give `loss` of shape `[...]` and `backprop`,
    `softmax(logits) - labels` (each row of `labels` sums to 1), of shape `[..., classes]`.

    Errors: `InvalidArgument` where the shapes differ, for scalars, and where there is no class.

    Dtypes:
        logits, labels: float16, bfloat16, float32, float64.
    """

def sparse_softmax_cross_entropy(
    logits: _TensorLike, labels: _TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`-log_softmax(logits)[label]` over the last dimension, and its derivative by `logits`.

    `logits` of shape `[..., classes]` and `labels`, indices of classes (`int32` or `int64`) of shape `[...]`,
    give `loss` of shape `[...]` and `backprop`, `softmax(logits) - one_hot(labels)`, of shape `[...,
    classes]`.

    Errors: `InvalidArgument` where the shapes do not fit, where there is no class, and for a label outside
    `[0, classes)`.

    Dtypes:
        logits: float16, bfloat16, float32, float64.
        labels: int32, int64.
    """

# --- conv ---

def conv(
    input: _TensorLike,
    filters: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    dilations: int | Sequence[int] | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The convolution (in the sense of neural networks: the filter is not mirrored) of images with filters,
    over one to three spatial dimensions, channels last.

    `input` of shape `[batch, in.., groups * channels]` and `filters` of shape `[window.., channels,
    out_channels]` give `[batch, out.., out_channels]`; group `i` of the input's channels goes to group `i` of
    the output's. `strides` and `dilations` have an element for each spatial dimension, 1 by default.
    `padding` is `'VALID'`, `'SAME'` (an output for each stride, with zeros around) or `'EXPLICIT'`, with the
    zeros before and after each spatial dimension in `explicit_paddings`. Floats of 16 bits accumulate in
    `float32`.

    Errors: `InvalidArgument` for shapes that do not fit, an input that is smaller than the filter, and for
    attributes of another length.

    Dtypes:
        input, filters: float16, bfloat16, float32, float64.
    """

def conv_input_grad(
    input_sizes: _TensorLike,
    filters: _TensorLike,
    out_backprop: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    dilations: int | Sequence[int] | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv` in its first operand: from the cotangent of its result that of its input.

    `input_sizes` is the shape of `input`, a vector; `out_backprop` has the shape of the result. The
    attributes are those of `conv`.

    Errors: `InvalidArgument` where `out_backprop` has not the shape of the result, else as `conv`.

    Dtypes:
        input_sizes: int32, int64.
        filters, out_backprop: float16, bfloat16, float32, float64.
    """

def conv_filter_grad(
    input: _TensorLike,
    filter_sizes: _TensorLike,
    out_backprop: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    dilations: int | Sequence[int] | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv` in its second operand: from the cotangent of its result that of its filters.

    `filter_sizes` is the shape of `filters`, a vector; `out_backprop` has the shape of the result. The
    attributes are those of `conv`.

    Errors: `InvalidArgument` where `out_backprop` has not the shape of the result, else as `conv`.

    Dtypes:
        input, out_backprop: float16, bfloat16, float32, float64.
        filter_sizes: int32, int64.
    """

# --- pooling ---

def max_pool(
    input: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    ksize: int | Sequence[int] | Tensor,
    name: str | None = None,
) -> Tensor:
    """The greatest element of each window and channel, over one to three spatial dimensions, channels last.

    `input` of shape `[batch, in.., channels]` gives `[batch, out.., channels]`. `ksize`, the extents of the
    windows, and `strides` have an element for each spatial dimension. `padding` is `'VALID'`, `'SAME'` or
    `'EXPLICIT'`, with the elements before and after each spatial dimension in `explicit_paddings`; what is in
    the padding takes no part. NaN where a window has one.

    Errors: `InvalidArgument` for another rank, an input that is smaller than a window, padding of the size of
    a window, and for attributes of another length.

    Dtypes:
        input: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def max_pool_grad(
    input: _TensorLike,
    grad: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    ksize: int | Sequence[int] | Tensor,
    name: str | None = None,
) -> Tensor:
    """The transpose of `max_pool_take` in its second operand, which is the cotangent of the operand of
    `max_pool`: each element of `grad` is added to the place of the greatest element of `input` in its window,
    the first of those that are equal.

    `grad` has the shape of the pooled `input`, the result that of `input`. The attributes are those of
    `max_pool`.

    Errors: `InvalidArgument` where `grad` has another shape, else as `max_pool`.

    Dtypes:
        input, grad: float16, bfloat16, float32, float64.
    """

def max_pool_take(
    input: _TensorLike,
    values: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    ksize: int | Sequence[int] | Tensor,
    name: str | None = None,
) -> Tensor:
    """For each window and channel the element of `values` at the place of the greatest element of `input`,
    the first of those that are equal.

    `values` has the shape of `input`, the result that of the pooled `input`. The attributes are those of
    `max_pool`.

    Errors: `InvalidArgument` where `values` has another shape, else as `max_pool`.

    Dtypes:
        input, values: float16, bfloat16, float32, float64.
    """

def avg_pool(
    input: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    ksize: int | Sequence[int] | Tensor,
    name: str | None = None,
) -> Tensor:
    """The mean of each window and channel, over one to three spatial dimensions, channels last.

    Shapes and attributes are those of `max_pool`; the padding is not counted. Floats of 16 bits are summed in
    `float32`.

    Errors: as `max_pool`.

    Dtypes:
        input: float16, bfloat16, float32, float64.
    """

def avg_pool_grad(
    input_sizes: _TensorLike,
    grad: _TensorLike,
    *,
    strides: int | Sequence[int] | Tensor | None = None,
    padding: str = "VALID",
    explicit_paddings: int | Sequence[int] | Tensor | None = None,
    ksize: int | Sequence[int] | Tensor,
    name: str | None = None,
) -> Tensor:
    """The transpose of `avg_pool`: each element of `grad` is spread evenly over its window.

    `input_sizes` is the shape of `input`, a vector; `grad` has the shape of the result. The attributes are
    those of `avg_pool`.

    Errors: `InvalidArgument` where `grad` has another shape, else as `avg_pool`.

    Dtypes:
        input_sizes: int32, int64.
        grad: float16, bfloat16, float32, float64.
    """

# --- array ---

def identity(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def stop_gradient(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x`, through which no gradient flows.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def barrier(*values: _TensorLike, name: str | None = None) -> _Tensors:
    """`values`, once all of them are there.

    What is computed from the results is never merged with what is computed from the operands: a value that is
    computed again behind a barrier need not be kept until then.

    Dtypes:
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def ensure_shape(x: _TensorLike, *, shape: _ShapeLike, name: str | None = None) -> Tensor:
    """`x`, whose shape must be one of `shape`.

    What `shape` says is known of the result. Raises InvalidArgument where the shape differs, when the graph
    is built or when it runs.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def placeholder_with_default(x: _TensorLike, *, shape: _ShapeLike, name: str | None = None) -> Tensor:
    """`x`, of which nothing is known before it runs but that its shape is one of `shape`.

    Raises InvalidArgument where the shape differs, when the graph is built or when it runs.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def check_numerics(tensor: _TensorLike, *, message: str = "", name: str | None = None) -> Tensor:
    """`tensor`, all of whose elements must be finite.

    Raises InvalidArgument with `message` where one, or a part of a complex one, is infinite or not a number.
    The gradient is checked too.

    Dtypes:
        tensor: float16, bfloat16, float32, float64, complex64, complex128.
    """

def shape(x: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None) -> Tensor:
    """The extents of `x`, as a vector of `dtype`, which is `i32` or `i64`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def size(x: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None) -> Tensor:
    """The number of elements of `x`, as a scalar of `dtype`, which is `i32` or `i64`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def rank(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The number of dimensions of `x`, as an `i32` scalar.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def fill(dims: _TensorLike, value: _TensorLike, *, name: str | None = None) -> Tensor:
    """An array of the extents `dims` of the scalar `value`.

    Raises InvalidArgument for a negative size, ResourceExhausted where the memory cannot be had.

    Dtypes:
        dims: int32, int64.
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def zeros_like(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Zeros of the dtype and shape of `x`; `false` for `bool`, empty strings for strings.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def ones_like(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Ones of the dtype and shape of `x`; `true` for `bool`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def range(start: _TensorLike, limit: _TensorLike, delta: _TensorLike, *, name: str | None = None) -> Tensor:
    """The numbers `start`, `start + delta`, … before `limit`.

    All operands are scalars. Raises InvalidArgument where `delta` is 0 or leads away from `limit`.

    Dtypes:
        start, limit, delta: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64.
    """

def one_hot(
    indices: _TensorLike,
    depth: _TensorLike,
    on_value: _TensorLike,
    off_value: _TensorLike,
    *,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """For each of `indices` a row of `depth` elements: `on_value` where the position is the index, else
    `off_value`.

    The new dimension is at `axis`, which is in `-1 ..= rank`; -1 is the last. `depth`, `on_value` and
    `off_value` are scalars. An index outside of `0..depth` gives only `off_value`. Raises InvalidArgument for
    a negative depth.

    Dtypes:
        indices: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
        depth: int32, int64.
        on_value, off_value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16,
            bfloat16, float32, float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2,
            float8_e4m3fnuz, float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def reshape(x: _TensorLike, shape: _TensorLike, *, name: str | None = None) -> Tensor:
    """The elements of `x`, in row-major order, under the extents `shape`.

    One size may be -1: it is what the number of elements leaves. The result shares the data of `x`. Raises
    InvalidArgument where the number of elements differs, for a size below -1, and for more than one -1.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        shape: int32, int64.
    """

def expand_dims(x: _TensorLike, *, axis: int, name: str | None = None) -> Tensor:
    """`x` with a dimension of size 1 inserted at `axis`, which is in `-rank - 1 ..= rank`.

    The result shares the data of `x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def squeeze(
    x: _TensorLike, *, axes: int | Sequence[int] | Tensor | None = None, name: str | None = None
) -> Tensor:
    """`x` without the dimensions `axes`, which must have size 1; without all that have where `axes` is left
    out or empty.

    The result shares the data of `x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def transpose(
    x: _TensorLike, *, perm: int | Sequence[int] | Tensor | None = None, name: str | None = None
) -> Tensor:
    """`x` with its dimensions in the order `perm`: dimension `i` of the result is dimension `perm[i]` of `x`.

    Without `perm` the order is reversed. `perm` is an attribute: an order that is computed at run time is not
    supported.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def broadcast_to(x: _TensorLike, shape: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` repeated to the extents `shape` by NumPy's rule of broadcasting.

    Raises InvalidArgument where a dimension of `x` is neither 1 nor the one it stands for, or `x` has more
    dimensions.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        shape: int32, int64.
    """

def tile(x: _TensorLike, multiples: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` repeated `multiples[i]` times along dimension `i`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        multiples: int32, int64.
    """

def reverse(x: _TensorLike, *, axes: int | Sequence[int] | Tensor, name: str | None = None) -> Tensor:
    """`x` with the order of the elements along each of `axes` reversed.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def pad(
    x: _TensorLike, paddings: _TensorLike, constant_values: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`x` with `paddings[i, 0]` times `constant_values` before and `paddings[i, 1]` times after it along
    dimension `i`.

    `paddings` is an integer matrix `[rank, 2]`, `constant_values` a scalar.

    Dtypes:
        x, constant_values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        paddings: int32, int64.
    """

def concat(*values: _TensorLike, axis: int, name: str | None = None) -> Tensor:
    """`values` one after the other along `axis`.

    All have the same rank, at least 1, and the same extents but along `axis`.

    Dtypes:
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def concat_offset(*shapes: _TensorLike, axis: int, name: str | None = None) -> _Tensors:
    """For arrays of the given `shapes`, where each begins in their concatenation along `axis`.

    The operands are vectors of one length; there is one result of that length for each.

    Dtypes:
        shapes: int32, int64.
    """

def stack(*values: _TensorLike, axis: int = 0, name: str | None = None) -> Tensor:
    """`values`, all of one shape, along a new dimension at `axis`, which is in `-rank - 1 ..= rank`.

    Dtypes:
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def unstack(
    value: _TensorLike, *, num: int | None = None, axis: int = 0, name: str | None = None
) -> _Tensors:
    """The `num` entries of `value` along `axis`, each without that dimension.

    `num` may be left out where the size along `axis` is known. Along the first dimension the results share
    the data of `value`.

    Dtypes:
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def split(
    value: _TensorLike,
    *,
    sizes: int | Sequence[int] | Tensor | None = None,
    num: int | None = None,
    axis: int = 0,
    name: str | None = None,
) -> _Tensors:
    """The pieces of `value` along `axis`: of the given `sizes`, or `num` of equal size.

    Exactly one of `sizes` and `num` is given. One of `sizes` may be -1: it is what the others leave. Along
    the first dimension the results share the data of `value`. Raises InvalidArgument where the pieces do not
    make up the whole.

    Dtypes:
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def strided_slice(
    x: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """`x[begin[0]:end[0]:strides[0], …]` by Python's rules: negative indices count from the end, ranges are
    clamped.

    `begin`, `end` and `strides` are integer vectors of one length, with an entry for each item of the
    subscript. Bit `i` of a mask changes entry `i`: in `begin_mask` or `end_mask` the range is open on that
    side; in `ellipsis_mask` the entry is `...`, in `new_axis_mask` a new dimension of size 1, in
    `shrink_axis_mask` the single index `begin[i]`, whose dimension the result lacks. Dimensions without an
    entry are kept whole. A slice of whole rows shares the data of `x`. Raises IndexOutOfBounds for a single
    index that is not there, InvalidArgument for a stride of 0 and for too many indices.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        begin: int32, int64.
        end: int32, int64.
        strides: int32, int64.
    """

def strided_slice_grad(
    shape: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    dy: _TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """Zeros of the extents `shape`, with `dy` where `strided_slice` with the same specification would have
    read.

    Dtypes:
        shape: int32, int64.
        begin: int32, int64.
        end: int32, int64.
        strides: int32, int64.
        dy: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def strided_slice_accumulate(
    x: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    dy: _TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """`x` with `dy` added where `strided_slice` with the same specification would have read.

    It is `x` plus `strided_slice_grad`, in time linear in `dy` where nobody else sees `x`.

    Dtypes:
        x, dy: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        begin: int32, int64.
        end: int32, int64.
        strides: int32, int64.
    """

def slice(x: _TensorLike, begin: _TensorLike, size: _TensorLike, *, name: str | None = None) -> Tensor:
    """The `size[i]` elements of `x` from `begin[i]` on along each dimension `i`; all that follow where
    `size[i]` is -1.

    `begin` and `size` are integer vectors with an entry for each dimension. A slice of whole rows shares the
    data of `x`. Raises InvalidArgument where the box is not inside `x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        begin: int32, int64.
        size: int32, int64.
    """

def slice_grad(shape: _TensorLike, begin: _TensorLike, dy: _TensorLike, *, name: str | None = None) -> Tensor:
    """Zeros of the extents `shape`, with `dy` from `begin` on.

    Raises InvalidArgument where `dy` does not fit there.

    Dtypes:
        shape: int32, int64.
        begin: int32, int64.
        dy: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def part(x: _TensorLike, *indices: _TensorLike, name: str | None = None) -> Tensor:
    """`x[indices[0], indices[1], …]`: what `x` has at scalar indices of its leading dimensions; negative ones
    count from the end.

    The optimiser makes it of a `strided_slice` that takes single indices alone. Raises IndexOutOfBounds for
    an index that is not there, InvalidArgument for more indices than dimensions.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        indices: int32, int64.
    """

def gather(
    params: _TensorLike,
    indices: _TensorLike,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    drop_negative: bool = False,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor:
    """The entries of `params` along `axis` that `indices` names.

    The result has the extents `params[..axis] + indices[batch_dims..] + params[axis + 1..]`. The first
    `batch_dims` dimensions of both operands are gone through together. With `drop_negative` a negative index
    gives zeros. Any other index outside of the dimension raises InvalidArgument, which names the first and
    its position. With `sparse_gradient` a tape may give the gradient of `params` as the rows that were read.

    Dtypes:
        params: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        indices: int32, int64.
    """

def gather_grad(
    shape: _TensorLike,
    indices: _TensorLike,
    dy: _TensorLike,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    drop_negative: bool = False,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor:
    """Zeros of the extents `shape`, with each entry of `dy` added where `gather` with the same `indices` and
    attributes would have read it.

    Entries of one place are added in the order of `indices`.

    Dtypes:
        shape: int32, int64.
        indices: int32, int64.
        dy: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def gather_accumulate(
    x: _TensorLike,
    indices: _TensorLike,
    dy: _TensorLike,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    drop_negative: bool = False,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor:
    """`x` with each entry of `dy` added where `gather` with the same `indices` and attributes would have read
    it.

    It is `x` plus `gather_grad`, in time linear in `dy` where nobody else sees `x`, along the first
    dimension.

    Dtypes:
        x, dy: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        indices: int32, int64.
    """

def gather_nd(params: _TensorLike, indices: _TensorLike, *, name: str | None = None) -> Tensor:
    """The slices of `params` that the rows of `indices` name.

    The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of `params`; the result
    has the extents `indices[..-1] + params[k..]`. Raises InvalidArgument for a position that is not there.

    Dtypes:
        params: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        indices: int32, int64.
    """

def scatter_nd(
    indices: _TensorLike, updates: _TensorLike, shape: _TensorLike, *, name: str | None = None
) -> Tensor:
    """Zeros of the extents `shape`, with `updates` added at the places that the rows of `indices` name.

    `updates` has the extents `indices[..-1] + shape[k..]`. Updates of one place are added in order; strings
    are joined. Raises InvalidArgument for a position that is not there.

    Dtypes:
        indices: int32, int64.
        updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
        shape: int32, int64.
    """

def tensor_scatter_nd_update(
    tensor: _TensorLike, indices: _TensorLike, updates: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`tensor` with the slices that the rows of `indices` name replaced by `updates`; the last update of a
    place stays.

    `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    InvalidArgument for a position that is not there.

    Dtypes:
        tensor, updates: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        indices: int32, int64.
    """

def tensor_scatter_nd_add(
    tensor: _TensorLike, indices: _TensorLike, updates: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`tensor` with `updates` added to the slices that the rows of `indices` name, in order.

    `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    InvalidArgument for a position that is not there.

    Dtypes:
        tensor, updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
        indices: int32, int64.
    """

def tensor_scatter_nd_sub(
    tensor: _TensorLike, indices: _TensorLike, updates: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`tensor` with `updates` subtracted from the slices that the rows of `indices` name, in order.

    `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    InvalidArgument for a position that is not there.

    Dtypes:
        tensor, updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
        indices: int32, int64.
    """

def tensor_scatter_nd_max(
    tensor: _TensorLike, indices: _TensorLike, updates: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`tensor` with the slices that the rows of `indices` name replaced by their maximum with `updates`.

    `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    InvalidArgument for a position that is not there.

    Dtypes:
        tensor, updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64.
        indices: int32, int64.
    """

def tensor_scatter_nd_min(
    tensor: _TensorLike, indices: _TensorLike, updates: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`tensor` with the slices that the rows of `indices` name replaced by their minimum with `updates`.

    `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    InvalidArgument for a position that is not there.

    Dtypes:
        tensor, updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64.
        indices: int32, int64.
    """

def unsorted_segment_sum(
    data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, *, name: str | None = None
) -> Tensor:
    """The sums of the entries of `data` that have the same `segment_ids`: entry `s` of the result is the sum
    of those with id `s`, 0 where there is none.

    The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place.
    Negative ids drop their entries. Raises InvalidArgument for an id not below `num_segments`.

    Dtypes:
        data: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
        segment_ids: int32, int64.
        num_segments: int32, int64.
    """

def where_indices(condition: _TensorLike, *, name: str | None = None) -> Tensor:
    """The positions of the elements of `condition` that are true or not zero, in row-major order, as `i64[n,
    rank]`.

    Dtypes:
        condition: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

# --- random ---

def random_uniform(shape: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None) -> Tensor:
    """Floats uniform in [0, 1).

    The result has the extents `shape` and the float dtype `dtype`. Each run draws anew.

    Dtypes:
        shape: int32, int64.
    """

def random_normal(shape: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None) -> Tensor:
    """Floats of the standard normal distribution.

    The result has the extents `shape` and the float dtype `dtype`. Each run draws anew.

    Dtypes:
        shape: int32, int64.
    """

def truncated_normal(shape: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None) -> Tensor:
    """Floats of the standard normal distribution, drawn again while their magnitude is 2 or more.

    The result has the extents `shape` and the float dtype `dtype`. Each run draws anew.

    Dtypes:
        shape: int32, int64.
    """

def random_uniform_int(
    shape: _TensorLike, minval: _TensorLike, maxval: _TensorLike, *, name: str | None = None
) -> Tensor:
    """Integers uniform in [`minval`, `maxval`), two scalars of the dtype of the result, of the extents
    `shape`.

    Each run draws anew. The values are biased by less than the share of the range in 2^32 (2^64 for 64 bits).
    Raises InvalidArgument where the range is empty.

    Dtypes:
        shape: int32, int64.
        minval, maxval: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def stateless_random_uniform(
    shape: _TensorLike, seed: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Floats uniform in [0, 1).

    The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the words of `seed`
    alone: two, or the three of a generator's state.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
    """

def stateless_random_normal(
    shape: _TensorLike, seed: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Floats of the standard normal distribution.

    The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the words of `seed`
    alone: two, or the three of a generator's state.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
    """

def stateless_truncated_normal(
    shape: _TensorLike, seed: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Floats of the standard normal distribution, drawn again while their magnitude is 2 or more.

    The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the words of `seed`
    alone: two, or the three of a generator's state.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
    """

def stateless_random_uniform_int(
    shape: _TensorLike,
    seed: _TensorLike,
    minval: _TensorLike,
    maxval: _TensorLike,
    *,
    name: str | None = None,
) -> Tensor:
    """Integers uniform in [`minval`, `maxval`), two scalars of the dtype of the result, of the extents
    `shape`.

    The numbers depend on the words of `seed` alone: two, or the three of a generator's state. The values are
    biased by less than the share of the range in 2^32 (2^64 for 64 bits). Raises InvalidArgument where the
    range is empty.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
        minval, maxval: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
    """

def stateless_random_uniform_full_int(
    shape: _TensorLike, seed: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Integers uniform among all of the dtype `dtype`: `i32`, `i64`, `u32` or `u64`; of the extents `shape`.

    The numbers depend on the words of `seed` alone: two, or the three of a generator's state.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
    """

def stateless_random_gamma(
    shape: _TensorLike, seed: _TensorLike, alpha: _TensorLike, *, name: str | None = None
) -> Tensor:
    """Numbers of the gamma distribution of shape `alpha` and rate 1, of the extents `shape` and the dtype of
    `alpha`.

    `alpha` broadcasts to `shape`; where it is not positive the result is NaN. The numbers depend on the two
    words of `seed` and on `alpha` alone. The gradient is that of the number at a fixed quantile (Marsaglia
    and Tsang 2000; Figurnov et al. 2018). Raises InvalidArgument where `alpha` does not broadcast to `shape`.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
        alpha: float16, bfloat16, float32, float64.
    """

def stateless_random_poisson(
    shape: _TensorLike,
    seed: _TensorLike,
    lam: _TensorLike,
    *,
    dtype: _DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Numbers of the Poisson distribution of mean `lam`, of the extents `shape` and the dtype `dtype`.

    `lam` broadcasts to `shape`; where it is negative the result is NaN, or 0 of an integer. `dtype` is a
    float, `i32` or `i64`. The numbers depend on the two words of `seed` and on `lam` alone (Hörmann 1993).
    Raises InvalidArgument where `lam` does not broadcast to `shape`.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
        lam: float16, bfloat16, float32, float64.
    """

def stateless_random_binomial(
    shape: _TensorLike,
    seed: _TensorLike,
    counts: _TensorLike,
    probs: _TensorLike,
    *,
    dtype: _DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """How many of `counts` trials succeed, each with probability `probs`.

    `counts` and `probs` broadcast to the extents `shape` of the result, whose dtype is `int32`, `int64`,
    `float16`, `float32` or `float64`. The numbers depend on the words of `seed` alone: two, or the three of a
    generator's state. Fractions of `counts` are dropped. Raises InvalidArgument for a negative count and for
    a probability outside of [0, 1].

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
        counts, probs: float16, bfloat16, float32, float64.
    """

# --- strings ---

def string_length(x: _TensorLike, *, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The length of each string, in bytes or, where `unit` is `UTF8_CHAR`, in characters; `i32`.

    Dtypes:
        x: string.
    """

def string_join(*values: _TensorLike, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of `values` joined element by element, with `separator` between them.

    All that are not scalars have the same shape.

    Dtypes:
        values: string.
    """

def string_lower(x: _TensorLike, *, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in lower case.

    Only ASCII letters change, unless `encoding` is `utf-8`.

    Dtypes:
        x: string.
    """

def string_upper(x: _TensorLike, *, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string in upper case.

    Only ASCII letters change, unless `encoding` is `utf-8`.

    Dtypes:
        x: string.
    """

def string_strip(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Each string without the ASCII white space at its ends.

    Dtypes:
        x: string.
    """

def substr(
    x: _TensorLike, pos: _TensorLike, len: _TensorLike, *, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """The part of each string from `pos`, of at most `len` bytes or, where `unit` is `UTF8_CHAR`, characters.

    A negative `pos` counts from the end; a negative `len` takes the rest. `pos` and `len` have one shape,
    which broadcasts with that of `x`. Raises InvalidArgument for a `pos` outside of the string.

    Dtypes:
        x: string.
        pos, len: int32, int64.
    """

def as_string(
    x: _TensorLike,
    *,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each element as text, as C's `printf` writes it.

    Integers are decimal, booleans `true` and `false`. Floats are written as `%f`, as `%e` where `scientific`,
    as `%g` where `shortest`, with `precision` digits unless that is negative; complex numbers as two of them:
    `(1.000000,2.000000)`. A text shorter than `width` is filled with spaces in front, with zeros where `fill`
    is `0`, with spaces behind where it is `-`. Raises InvalidArgument for `precision`, `scientific` and
    `shortest` on integers. Strings stay as they are.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def string_to_number(x: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None) -> Tensor:
    """The number that each string writes, with white space around it allowed, as `dtype`: `f32`, `f64` or an
    integer of 32 or 64 bits.

    Raises InvalidArgument for a string that is no such number.

    Dtypes:
        x: string.
    """

def regex_replace(
    x: _TensorLike, *, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Each string with every match of `pattern`, or only the first unless `replace_global`, replaced by
    `rewrite`.

    In `rewrite` `\0` is the match, `\1` to `\9` its groups, `\\` a backslash. The syntax of patterns is that
    of the Rust crate `regex`, close to RE2's. Raises InvalidArgument for a malformed pattern or rewrite.

    Dtypes:
        x: string.
    """

def regex_full_match(x: _TensorLike, *, pattern: str, name: str | None = None) -> Tensor:
    """Whether `pattern` matches the whole of each string.

    The syntax of patterns is that of the Rust crate `regex`, close to RE2's. Raises InvalidArgument for a
    malformed one.

    Dtypes:
        x: string.
    """

# --- text ---

def string_split(
    x: _TensorLike, *, sep: str = "", maxsplit: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The pieces of each string between occurrences of `sep`, and the splits between the rows of pieces,
    `i64`.

    An empty `sep` is any run of white space, of which there is none at the ends of pieces. Where `maxsplit`
    is above 0, what is left after as many splits is the last piece.

    Dtypes:
        x: string.
    """

def string_bytes_split(x: _TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The bytes of each string as strings, and the splits between the rows of bytes, `i64`.

    Dtypes:
        x: string.
    """

def unicode_decode(
    x: _TensorLike,
    *,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The code points of each string, `i32`, and the splits between the rows of code points, `i64`.

    `input_encoding` is `UTF-8`, `UTF-16-BE` or `UTF-32-BE`. A malformed sequence raises InvalidArgument where
    `errors` is `strict`, becomes `replacement_char` where it is `replace`, and is left out where it is
    `ignore`. With `replace_control_characters` the code points below 32 are replaced, too.

    Dtypes:
        x: string.
    """

def unicode_encode(
    codepoints: _TensorLike,
    row_splits: _TensorLike,
    *,
    output_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    """The string of each row of code points: row `i` is those from `row_splits[i]` up to `row_splits[i + 1]`.

    `output_encoding` is `UTF-8`, `UTF-16-BE` or `UTF-32-BE`. A number that is no code point raises
    InvalidArgument where `errors` is `strict`, becomes `replacement_char` where it is `replace`, and is left
    out where it is `ignore`. Raises InvalidArgument for splits that are not in order.

    Dtypes:
        codepoints: int32.
        row_splits: int32, int64.
    """

def string_reduce_join(
    x: _TensorLike,
    *,
    axes: int | Sequence[int] | Tensor | None = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings of `x` joined along `axes`, one axis after the other, with `separator` between them.

    Negative axes count from the end; all, from the last to the first, where they are not given. The axes are
    dropped from the shape, or kept with size 1 where `keepdims` is true. Of no strings it is the empty
    string.

    Errors: `InvalidArgument` for an axis that is out of range or listed twice.

    Dtypes:
        x: string.
    """

def string_to_hash_bucket_fast(x: _TensorLike, *, num_buckets: int, name: str | None = None) -> Tensor:
    """The hash of each string modulo `num_buckets`, `i64`.

    The hash is FarmHash's `Fingerprint64`: it is the same on every machine, and in TensorFlow.

    Dtypes:
        x: string.
    """

def string_to_hash_bucket_strong(
    x: _TensorLike, *, num_buckets: int, key: int | Sequence[int] | Tensor, name: str | None = None
) -> Tensor:
    """The hash of each string under a key modulo `num_buckets`, `i64`.

    The hash is SipHash-2-4, as in TensorFlow; `key` holds the two halves of its key as 64-bit integers.

    Dtypes:
        x: string.
    """

# --- words ---

def unicode_decode_with_offsets(
    x: _TensorLike,
    *,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The code points of each string, `i32`, the place of the first byte of each in its string, `i64`, and
    the splits between the rows of code points, `i64`.

    The attributes are those of `unicode_decode`.

    Dtypes:
        x: string.
    """

def unicode_script(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The script of each code point by the number that ICU gives it, `i32`: 0 for what many scripts share, 25
    for Latin, 103 for a code point of none; -1 for a number that is no code point.

    Dtypes:
        x: int32.
    """

def string_unsorted_segment_join(
    data: _TensorLike,
    segment_ids: _TensorLike,
    num_segments: _TensorLike,
    *,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings of `data` that have the same `segment_ids` joined in their order, with `separator` between
    them; the empty string where there are none.

    The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place.
    Negative ids drop their strings. Raises InvalidArgument for an id not below `num_segments`.

    Dtypes:
        data: string.
        segment_ids: int32, int64.
        num_segments: int32, int64.
    """

def string_to_hash_bucket(x: _TensorLike, *, num_buckets: int, name: str | None = None) -> Tensor:
    """The hash of each string modulo `num_buckets`, `i64`.

    The hash is MurmurHash64A. For files that last, `string_to_hash_bucket_fast` is the one to take.

    Dtypes:
        x: string.
    """

def edit_distance(
    hypothesis: _TensorLike,
    hypothesis_splits: _TensorLike,
    truth: _TensorLike,
    truth_splits: _TensorLike,
    *,
    normalize: bool = True,
    name: str | None = None,
) -> Tensor:
    """How many insertions, deletions and replacements of one element make each row of `truth` of the row of
    `hypothesis` with the same number, `f32`.

    Row `i` of each is what stands from its splits' element `i` up to the next. Where `normalize`, the
    distance is divided by the length of the row of `truth`: infinite where that row alone is empty, 0 where
    both are. Raises InvalidArgument for splits that are not in order.

    Dtypes:
        hypothesis: int64.
        hypothesis_splits: int64.
        truth: int64.
        truth_splits: int64.
    """

# --- bytes ---

def decode_raw(
    input_bytes: _TensorLike,
    *,
    out_type: _DTypeLike,
    little_endian: bool = True,
    fixed_length: int = -1,
    name: str | None = None,
) -> Tensor:
    """The bytes of each of `input_bytes` as numbers of dtype `out_type`, in a new last dimension.

    The lowest byte of a number comes first, or last where `little_endian` is false. Of each string
    `fixed_length` bytes are read, and zeros follow a shorter one; -1 is for all of strings of one length. A
    `bool` is whether a byte is not 0.

    Errors: `InvalidArgument` for strings of several lengths, and for a length that is no multiple of the
    dtype's size.

    Dtypes:
        input_bytes: string.
    """

def encode_base64(input: _TensorLike, *, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in base64 with the digits that URLs may have: `-` and `_` are the last two.

    Where `pad`, `=` fills the last group of four digits.

    Dtypes:
        input: string.
    """

def decode_base64(input: _TensorLike, *, name: str | None = None) -> Tensor:
    """What each string of base64 stands for, with the digits that URLs may have: `-` and `_` are the last
    two.

    `=` may fill the last group of four digits, or be left out.

    Errors: `InvalidArgument` for a string that is no base64.

    Dtypes:
        input: string.
    """

def serialize_tensor(tensor: _TensorLike, *, name: str | None = None) -> Tensor:
    """`tensor` as the bytes of a `TensorProto` message, a string scalar.

    Dtypes:
        tensor: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def parse_tensor(serialized: _TensorLike, *, out_type: _DTypeLike, name: str | None = None) -> Tensor:
    """The tensor of dtype `out_type` that `serialized` is, a string scalar: the bytes of a `TensorProto`
    message.

    Where a message has fewer values than elements, the last value stands for those that follow.

    Errors: `InvalidArgument` for bytes that are no such message, or one of another dtype.

    Dtypes:
        serialized: string.
    """

# --- files ---

def read_file(filename: _TensorLike, *, name: str | None = None) -> Tensor:
    """The content of the file `filename`, a string scalar.

    It keeps its place among all that reads and writes files. Paths with a scheme, such as `ram://`, are read
    by a host that knows it.

    Errors: `NotFound` where there is none; `FailedPrecondition` where it cannot be read.

    Dtypes:
        filename: string.
    """

def write_file(filename: _TensorLike, contents: _TensorLike, *, name: str | None = None) -> None:
    """Makes the file `filename` hold `contents`, both string scalars, in directories that are made where they
    are absent.

    It keeps its place among all that reads and writes files. Paths with a scheme, such as `ram://`, are
    written by a host that knows it.

    Errors: `FailedPrecondition` where it cannot be written.

    Dtypes:
        filename: string.
        contents: string.
    """

# --- images ---

def decode_png(
    contents: _TensorLike, *, channels: int = 0, dtype: _DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """The image in `contents`, a PNG, a JPEG or a GIF of one frame, of shape `[height, width, channels]`.

    `channels` is 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and opacity;
    `dtype` is `u8` or `u16`.

    Errors: `InvalidArgument` for contents that are damaged or no such image.

    Dtypes:
        contents: string.
    """

def decode_jpeg(
    contents: _TensorLike,
    *,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The image in `contents`, a JPEG, a PNG or a GIF of one frame, `u8` of shape `[height, width,
    channels]`.

    `channels` is 0 for as many as the image has, 1 for grey, 3 for colours. A JPEG is made smaller by
    `ratio`, 1, 2, 4 or 8, and where `try_recover_truncated` what is missing at its end is filled up.
    `fancy_upscaling`, `acceptable_fraction` and `dct_method` are accepted and change nothing.

    Errors: `InvalidArgument` for contents that are damaged or no such image.

    Dtypes:
        contents: string.
    """

def decode_and_crop_jpeg(
    contents: _TensorLike,
    crop_window: _TensorLike,
    *,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of the JPEG in `contents`, `u8` of shape `[height, width, channels]`.

    `crop_window` holds its top, left edge, height and width, in the pixels of the image made smaller by
    `ratio`. Attributes are those of `decode_jpeg`.

    Errors: `InvalidArgument` for contents that are damaged or no JPEG, and a window that reaches beyond the
    image.

    Dtypes:
        contents: string.
        crop_window: int32, int64.
    """

def decode_gif(contents: _TensorLike, *, name: str | None = None) -> Tensor:
    """The frames in `contents`, a GIF, a PNG or a JPEG, `u8` of shape `[frames, height, width, 3]`.

    Where a frame does not reach, or is transparent, the frame before is seen, and black before the first.

    Errors: `InvalidArgument` for contents that are damaged or no such image.

    Dtypes:
        contents: string.
    """

def decode_bmp(contents: _TensorLike, *, channels: int = 0, name: str | None = None) -> Tensor:
    """The image in `contents`, a BMP of 8, 24 or 32 bits a pixel, `u8` of shape `[height, width, channels]`.

    `channels` is 0 for as many as the image has, 3 for colours, 4 for colours and opacity. One of 8 bits is
    grey.

    Errors: `InvalidArgument` for contents that are damaged or no BMP.

    Dtypes:
        contents: string.
    """

def decode_webp(
    contents: _TensorLike, *, channels: int = 0, dtype: _DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """The frames in `contents`, a WebP, `u8` of shape `[frames, height, width, channels]`.

    `channels` is 0, or as many as the image has: 3 for colours, 4 for colours and opacity. Animations have 4.

    Errors: `InvalidArgument` for contents that are damaged or no WebP, and another number of channels.

    Dtypes:
        contents: string.
    """

def decode_jxl(
    contents: _TensorLike, *, channels: int = 0, dtype: _DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """The image in `contents`, a JPEG XL, `u8` of shape `[height, width, channels]`; of an animation the
    first frame.

    `channels` is 0, or as many as the image has: 1 for grey, 3 for colours, 4 for colours and opacity. Grey
    with opacity has 2. Samples of more bits are rounded to 8.

    Errors: `InvalidArgument` for contents that are damaged or no JPEG XL, and another number of channels.

    Dtypes:
        contents: string.
    """

def decode_image(
    contents: _TensorLike,
    *,
    channels: int = 0,
    dtype: _DTypeLike = "uint8",
    expand_animations: bool = True,
    name: str | None = None,
) -> Tensor:
    """The image in `contents`, of any of the formats JPEG, JPEG XL, PNG, GIF, BMP and WebP, of shape
    `[height, width, channels]`.

    With `expand_animations` a GIF or a WebP has shape `[frames, height, width, channels]`, and without it is
    its first frame. `channels` is 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours
    and opacity, as far as its format has that. `dtype` is `u8`, `u16`, or `f32` for samples from 0 to 1.

    Errors: `InvalidArgument` for contents that are damaged or no image, and options that the format does not
    have.

    Dtypes:
        contents: string.
    """

def extract_jpeg_shape(
    contents: _TensorLike, *, output_type: _DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """The height, the width and the number of channels of the JPEG in `contents`, of which only the header is
    read.

    `output_type` is `i32` or `i64`.

    Errors: `InvalidArgument` for contents that are no JPEG.

    Dtypes:
        contents: string.
    """

def encode_png(image: _TensorLike, *, compression: int = -1, name: str | None = None) -> Tensor:
    """PNGs of images of shape `[..., height, width, channels]`, strings of shape `[...]`.

    Channels are 1 for grey, 2 for grey and opacity, 3 for colours, 4 for colours and opacity. `compression`
    goes from 0 for none to 9, and is -1 for the usual.

    Errors: `InvalidArgument` for images without pixels and another number of channels.

    Dtypes:
        image: uint8, uint16.
    """

def encode_jpeg(
    image: _TensorLike,
    *,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG of an image of shape `[height, width, channels]`, a string scalar.

    `format` is `grayscale` for 1 channel, `rgb` for 3, or empty for either. `quality` goes from 0 to 100.
    With `progressive` the image gets clearer with what is read of it, with `optimize_size` it is smaller and
    takes longer, with `chroma_downsampling` colours are kept for four pixels together. The densities are in
    pixels by `density_unit`, `in` or `cm`. `xmp_metadata` is put into the file.

    Errors: `InvalidArgument` for images without pixels or with more than 65535 in a row, and another number
    of channels.

    Dtypes:
        image: uint8.
    """

def encode_jpeg_variable_quality(
    image: _TensorLike, quality: _TensorLike, *, name: str | None = None
) -> Tensor:
    """A JPEG of an image of shape `[height, width, channels]`, a string scalar, with colours kept for four
    pixels together.

    `quality` is an integer scalar from 0 to 100.

    Errors: `InvalidArgument` for another quality, images without pixels or with more than 65535 in a row, and
    another number of channels than 1 and 3.

    Dtypes:
        image: uint8.
        quality: int32, int64.
    """

# --- boxes ---

def non_max_suppression(
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    iou_threshold: _TensorLike,
    score_threshold: _TensorLike,
    soft_nms_sigma: _TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Which boxes of each image are kept, by falling scores: none that overlaps one kept before by more than
    `iou_threshold`.

    `boxes` has shape `[batch, boxes, 4]`, two opposite corners each, row first, and `scores` shape `[batch,
    boxes]`; boxes whose score is not above `score_threshold` are left out. With a `soft_nms_sigma` above 0 no
    box is left out for an overlap: its score falls by `exp(-overlap^2 / (2 * soft_nms_sigma))`. Gives
    indices, `i32`, and scores of shape `[batch, max_output_size]`, zeros behind those kept, and how many are
    kept, `i32` of shape `[batch]`.

    Errors: `InvalidArgument` for other shapes, an `iou_threshold` outside of 0 to 1, a negative
    `max_output_size` or `soft_nms_sigma`.

    Dtypes:
        boxes: float32.
        scores: float32.
        max_output_size: int32, int64.
        iou_threshold: float32.
        score_threshold: float32.
        soft_nms_sigma: float32.
    """

def non_max_suppression_overlaps(
    overlaps: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    overlap_threshold: _TensorLike,
    score_threshold: _TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Which boxes are kept, by falling scores: none whose overlap with one kept before is above
    `overlap_threshold`.

    `overlaps` has shape `[boxes, boxes]`, `scores` shape `[boxes]`; boxes whose score is not above
    `score_threshold` are left out. Gives indices, `i32` of shape `[max_output_size]`, zeros behind those
    kept, and how many are kept, an `i32` scalar.

    Errors: `InvalidArgument` for other shapes and a negative `max_output_size`.

    Dtypes:
        overlaps: float32.
        scores: float32.
        max_output_size: int32, int64.
        overlap_threshold: float32.
        score_threshold: float32.
    """

def stateless_sample_distorted_bounding_box(
    image_size: _TensorLike,
    bounding_boxes: _TensorLike,
    min_object_covered: _TensorLike,
    seed: _TensorLike,
    aspect_ratio_range: _TensorLike,
    area_range: _TensorLike,
    *,
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A random part of an image of size `image_size`, `[height, width, channels]`: where it begins, `[top,
    left, 0]`, its size, `[height, width, -1]`, both of the dtype of `image_size`, and its corners as shares
    of the image, `f32` of shape `[1, 1, 4]`.

    The part is drawn by `seed` so that its height and width are in a ratio and its area a share in the ranges
    `aspect_ratio_range` and `area_range`, and that it covers the share `min_object_covered` of one of
    `bounding_boxes`, `[batch, boxes, 4]`. Where `max_attempts` draws give none, and where there are no boxes
    and `use_image_if_no_bounding_boxes`, it is the whole image.

    Errors: `InvalidArgument` for other shapes, ranges that are not positive or fall, and no boxes.

    Dtypes:
        image_size: int8, int16, int32, int64, uint8.
        bounding_boxes: float32.
        min_object_covered: float32.
        seed: int32, int64.
        aspect_ratio_range: float32.
        area_range: float32.
    """

# --- records ---

def decode_wav(
    contents: _TensorLike, *, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The samples in `contents`, a WAV of 16 bits a sample, from -1 to 1, `f32` of shape `[samples,
    channels]`, and their number a second, an `i32` scalar.

    `desired_channels` and `desired_samples` are -1 for as many as there are. The last channel is repeated,
    and zeros follow the last sample, where more are wanted.

    Errors: `InvalidArgument` for contents that are no such WAV.

    Dtypes:
        contents: string.
    """

def encode_wav(audio: _TensorLike, sample_rate: _TensorLike, *, name: str | None = None) -> Tensor:
    """A WAV of 16 bits a sample of `audio`, of shape `[samples, channels]`, a string scalar.

    Samples go from -1 to 1, and are cut off beyond. There are `sample_rate` of them a second, an `i32`
    scalar.

    Errors: `InvalidArgument` for a rate that is not positive, for no channels, and for more samples than a
    WAV holds.

    Dtypes:
        audio: float32.
        sample_rate: int32.
    """

def decode_csv(
    records: _TensorLike,
    *record_defaults: _TensorLike,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: int | Sequence[int] | Tensor | None = None,
    name: str | None = None,
) -> _Tensors:
    """The fields of lines of comma-separated values, a tensor of the shape of `records` for each of
    `record_defaults`.

    A default has the dtype of its field, `f32`, `f64`, `i32`, `i64` or `str`, and one element, which stands
    for a field that is empty or `na_value`, or none where a line must have the field. `field_delim` is what
    stands between fields. With `use_quote_delim` a field may be in double quotes, where two of them stand for
    one. `select_cols` are the indices of the fields that are read, in rising order; all by default.

    Errors: `InvalidArgument` for lines of another number of fields, fields that are missing or no number of
    their dtype, and quotes and line breaks where they may not be.

    Dtypes:
        records: string.
        record_defaults: int32, int64, float32, float64, string.
    """

def example_features(
    serialized: _TensorLike,
    *,
    part: str = "example",
    keys: _TensorLike,
    outs: Iterable[_TypeLike],
    name: str | None = None,
) -> _Tensors:
    """The values of features of serialized messages: for each of `keys` all values, a vector of the dtype in
    `outs`, and how many each message has, `i64`, -1 for one without the feature.

    `part` is `example` for `tf.train.Example` messages, `context` for those of whole `SequenceExample`s, and
    `steps` for their lists of features: there the number of steps of each message comes between, -1 for one
    without the list, and then the number of values of each step. Dtypes are `f32`, `i64` and `str`.

    Errors: `InvalidArgument` for what is no message, and for a feature of another kind.

    Dtypes:
        serialized: string.
    """

# --- list ---

def list_new(
    length: _TensorLike,
    *,
    dtype: _DTypeLike | None = None,
    shape: _ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A list of `length` elements, none of which is set.

    What is written to it is of this `dtype`, and of a shape of the type `shape`, where they are given.

    Dtypes:
        length: int32, int64.
    """

def list_from_tensor(tensor: _TensorLike, *, name: str | None = None) -> Tensor:
    """The list of the rows of `tensor`, which it shares: as many as its first dimension has.

    Dtypes:
        tensor: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def list_length(list: _TensorLike, *, dtype: _DTypeLike = "int64", name: str | None = None) -> Tensor:
    """The number of elements of `list`, unset ones included; `i32` or `i64`.

    Dtypes:
        list: variant.
    """

def list_get(
    list: _TensorLike,
    indices: _TensorLike,
    element_shape: _TensorLike,
    *,
    dtype: _DTypeLike,
    name: str | None = None,
) -> Tensor:
    """The elements of `list` at `indices`: one for a scalar, for a vector one beside the other along a new
    first dimension.

    They are of this `dtype`. `element_shape` is their shape, with -1 for a size that is not known, or a
    scalar -1; an element that is not set is zeros of that shape, which must be known then. An index outside
    of the list is an error.

    Dtypes:
        list: variant.
        indices: int32, int64.
        element_shape: int32, int64.
    """

def list_set(
    list: _TensorLike,
    indices: _TensorLike,
    values: _TensorLike,
    *,
    grow: bool = False,
    name: str | None = None,
) -> Tensor:
    """`list` with `values` at `indices`: one element for a scalar, for a vector the rows of `values`.

    Of equal indices the last counts. With `grow` the list becomes long enough, else an index outside of it is
    an error.

    Dtypes:
        list: variant.
        indices: int32, int64.
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, variant, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def list_take(
    list: _TensorLike,
    indices: _TensorLike,
    element_shape: _TensorLike,
    *,
    dtype: _DTypeLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`list` with the elements at `indices` unset, and those elements, as `list_get` gives them.

    Of equal indices the last gives the element, the others zeros: it is the adjoint of `list_set`.

    Dtypes:
        list: variant.
        indices: int32, int64.
        element_shape: int32, int64.
    """

def list_accumulate(
    list: _TensorLike, indices: _TensorLike, values: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`list` with `values` added to the elements at `indices`: for a vector of indices the rows of `values`,
    those of equal indices too.

    An element that is not set becomes the value: it is the adjoint of `list_get`.

    Dtypes:
        list: variant.
        indices: int32, int64.
        values: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128, variant.
    """

def list_push(list: _TensorLike, value: _TensorLike, *, name: str | None = None) -> Tensor:
    """`list` with `value` behind its last element.

    Dtypes:
        list: variant.
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, variant, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def list_pop(
    list: _TensorLike, element_shape: _TensorLike, *, dtype: _DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`list` without its last element, and that element, of this `dtype` and as `list_get` gives it.

    An empty list is an error.

    Dtypes:
        list: variant.
        element_shape: int32, int64.
    """

def list_resize(list: _TensorLike, length: _TensorLike, *, name: str | None = None) -> Tensor:
    """`list` with `length` elements: those at the end are dropped, or unset ones are added.

    Dtypes:
        list: variant.
        length: int32, int64.
    """

def list_stack(
    list: _TensorLike,
    element_shape: _TensorLike,
    *,
    dtype: _DTypeLike,
    num: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The elements of `list`, all of one shape, along a new first dimension.

    `dtype` and `element_shape` are as for `list_get`; where `num` is given the list has so many elements.

    Dtypes:
        list: variant.
        element_shape: int32, int64.
    """

def list_lengths(list: _TensorLike, element_shape: _TensorLike, *, name: str | None = None) -> Tensor:
    """The size of each element of `list` along its first dimension, `i64`; `element_shape` is as for
    `list_get`.

    Dtypes:
        list: variant.
        element_shape: int32, int64.
    """

def list_concat(
    list: _TensorLike,
    lengths: _TensorLike,
    element_shape: _TensorLike,
    *,
    dtype: _DTypeLike,
    name: str | None = None,
) -> Tensor:
    """The elements of `list`, one after the other along their first dimension.

    `lengths` are their sizes along it. `dtype` and `element_shape` are as for `list_get`, but for the first
    size, which is of no account.

    Dtypes:
        list: variant.
        lengths: int32, int64.
        element_shape: int32, int64.
    """

def list_split(tensor: _TensorLike, lengths: _TensorLike, *, name: str | None = None) -> Tensor:
    """The list of the pieces of `tensor` of so many rows each; `lengths` sum to the number of rows. They
    share the data of `tensor`.

    Dtypes:
        tensor: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
        lengths: int32, int64.
    """

def list_add(x: _TensorLike, y: _TensorLike, *, name: str | None = None) -> Tensor:
    """The list of the sums of the elements of `x` and `y` at equal indices.

    It is as long as the longer, takes time linear in the elements of `y` that are set, and is the sum of
    cotangents.

    Dtypes:
        x: variant.
        y: variant.
    """

# --- host ---

def print(
    *data: _TensorLike,
    template: str | None = None,
    stream: str = "stderr",
    end: str = "\n",
    summarize: int = 3,
    name: str | None = None,
) -> None:
    """Writes `data` and `end` to `stream`: `stdout`, `stderr`, `log:<level>` or `file://<path>`.

    In `template` each `{}` stands for the next of `data`, `{{` and `}}` for braces; without it the tensors
    are separated by spaces. Of each dimension the first and last `summarize` entries are written, all where
    that is negative.

    Dtypes:
        data: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def string_format(*data: _TensorLike, template: str, summarize: int = 3, name: str | None = None) -> Tensor:
    """`template` with each `{}` replaced by the text of the next of `data`, a string scalar; `{{` and `}}`
    are braces.

    Of each dimension the first and last `summarize` entries are shown, all where that is negative.

    Dtypes:
        data: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

# A keyword of Python: `getattr(raw_ops, "assert")`.
# def assert(
#     condition: _TensorLike, *data: _TensorLike, message: str = "", summarize: int = 3, name: str | None = None
# ) -> None:
#     """Raises InvalidArgument where `condition`, a `bool` scalar, is false.
#
#     The error shows `message`, unless it is empty, and the first `summarize` elements of each of `data`, all
#     where that is negative.
#
#     Dtypes:
#         condition: bool.
#         data: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
#             float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
#             float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
#     """

def host_call(
    *args: _TensorLike,
    func: Callable[..., Iterable[_TensorLike]],
    outs: Iterable[_TypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> _Tensors | None:
    """What the host code `func` gives for `args`: tensors of the types `outs`.

    It runs on the thread that runs the graph. Calls keep their order among all that has effects, and are
    neither dropped nor merged, unless `stateful` is false: such code only computes its results, and runs
    where they are used. Raises InvalidArgument where the number or a shape of the results is not as declared,
    DType where a dtype is not, and whatever the code raises. Its derivative is the host code that `func`
    gives for it, called with the same `stateful`.

    Dtypes:
        args: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, variant, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def timestamp(*, name: str | None = None) -> Tensor:
    """Seconds since 1970-01-01 00:00 UTC, an `f64` scalar.

    It keeps its place among all that has effects.
    """

# --- collective ---

def collective_start(
    value: _TensorLike,
    *,
    collective: str,
    combine: str = "sum",
    root: int = 0,
    group: str = "",
    label: str = "",
    name: str | None = None,
) -> Tensor:
    """A ticket for `collective_wait`: the collective of `value` with the other processes of `group` has
    started.

    `collective` is `all_reduce`, `reduce_scatter`, `all_gather`, `broadcast`, `reduce` or `all_to_all`;
    `combine` is `sum`, `product`, `min` or `max`; `root` is the rank that a value comes from or goes to;
    `label` says in errors which collective it is. All processes start the same ones in the same order.

    Dtypes:
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def collective_wait(
    ticket: _TensorLike,
    value: _TensorLike,
    *,
    collective: str,
    combine: str = "sum",
    root: int = 0,
    group: str = "",
    label: str = "",
    name: str | None = None,
) -> Tensor:
    """The result of the collective that gave `ticket` for `value`, when it is there; the attributes are those
    of the start.

    All but `reduce_scatter` and `all_gather` keep the shape. Raises Unavailable where another process cannot
    be reached, and InvalidArgument where it started something else.

    Dtypes:
        ticket: int64.
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

# --- control ---

def const(*, value: _TensorLike, name: str | None = None) -> Tensor:
    """The tensor that is its attribute."""

def cond(pred: _TensorLike, *, name: str | None = None) -> _Tensors | None:
    """The results of its first region where `pred` is true, else those of its second. Only that region runs.

    Both regions have no parameters and as many results, of the same dtypes.

    Dtypes:
        pred: bool.
    """

def switch(index: _TensorLike, *, name: str | None = None) -> _Tensors | None:
    """The results of region `index`; an index outside the list takes the last region. Only that region runs.

    The regions have no parameters and as many results, of the same dtypes.

    Dtypes:
        index: int32.
    """

# A keyword of Python: `getattr(raw_ops, "while")`.
# def while(
#     *init: _TensorLike, checkpoint_every: int | None = None, name: str | None = None
# ) -> _Tensors | None:
#     """Repeats its second region while its first gives true.
#
#     Both regions take the loop variables as parameters; the operands are their first values, the results of
#     the second region their next, and the results of the instruction their last. A loop variable keeps its
#     dtype, and its shape stays within the type of the parameter.
#
#     For its derivative a loop keeps what that reads of every iteration; with `checkpoint_every` = k it keeps
#     its variables every k-th iteration, and the derivative runs the iterations in between again. A body with
#     effects other than reads is not run again: the attribute has no effect then.
#
#     Dtypes:
#         init: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
#             float64, complex64, complex128, string, variant, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
#             float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
#     """

def call(*args: _TensorLike, func: Never, name: str | None = None) -> _Tensors | None:
    """The outputs of the function `func` for the operands."""

def with_gradient(
    *values: _TensorLike,
    func: Never,
    outputs: int,
    places: int | Sequence[int] | Tensor,
    name: str | None = None,
) -> Tensor:
    """Its first `outputs` operands, with a gradient that the function `func` computes.

    The next operands, as many as `places` has entries, get the cotangents: entry `i` is the output of `func`
    for operand `outputs + i`, or -1 for none. `func` takes the cotangent of each floating-point or complex
    result, then the rest of the operands.
    """

# --- fused ---

def fused(*args: _TensorLike, name: str | None = None) -> _Tensors | None:
    """The results of its region, whose parameters are the operands.

    The region holds elementwise instructions on operands that broadcast to one shape, reductions of results
    of that shape, and elementwise instructions on what reductions of the last dimensions leave; and slices of
    its parameters, with constants of their own, which say where operands lie. It uses no value from outside.
    The optimiser makes these instructions, so that a device runs the group in one pass over memory.

    Dtypes:
        args: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def native(*args: _TensorLike, name: str | None = None) -> _Tensors | None:
    """The results of its region, whose parameters are the operands.

    The region holds elementwise instructions on scalars, constants, elements of arrays by `part` and
    `gather`, and `cond`, `switch` and `while` over such regions; around loops also instructions on small
    arrays, and lists of these that are made and forgotten in the region. It uses no value from outside. The
    optimiser makes these instructions, so that a device runs the group as machine code.

    Dtypes:
        args: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

# --- state ---

def read_variable(variable: _Variable, *, name: str | None = None) -> Tensor:
    """The value of a variable now: later assignments do not change the result."""

def assign(variable: _Variable, value: _TensorLike, *, name: str | None = None) -> None:
    """Makes `value` the value of the variable.

    Dtypes:
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def assign_add(variable: _Variable, value: _TensorLike, *, name: str | None = None) -> None:
    """Adds `value`, of the variable's shape, to the variable.

    Dtypes:
        value: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def assign_sub(variable: _Variable, value: _TensorLike, *, name: str | None = None) -> None:
    """Subtracts `value`, of the variable's shape, from the variable.

    Dtypes:
        value: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
    """

def scatter_variable(
    variable: _Variable,
    indices: _TensorLike,
    updates: _TensorLike,
    *,
    mode: str = "update",
    name: str | None = None,
) -> Tensor:
    """Changes the slices of the variable that the rows of `indices` name, in place.

    The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of the variable;
    `updates` has the extents `indices[..-1] + variable[k..]`. `mode` says what becomes of a slice: `update`
    replaces it; `add`, `sub`, `mul`, `div`, `min` and `max` combine it with the update, those of one slice
    one after the other. Raises InvalidArgument for a position that is not there; the variable is unchanged
    then.

    Dtypes:
        indices: int32, int64.
        updates: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def strided_slice_assign(
    variable: _Variable,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    value: _TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """Writes `value` where `strided_slice` with the same specification would read the variable, in place.

    `value` has the extents of that slice. Raises InvalidArgument where it has not, IndexOutOfBounds for a
    single index that is not there; the variable is unchanged then.

    Dtypes:
        begin: int32, int64.
        end: int32, int64.
        strides: int32, int64.
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
    """

def rng_read_and_skip(variable: _Variable, delta: _TensorLike, *, name: str | None = None) -> Tensor:
    """The state of a Philox generator before it is moved on by `delta` numbers, in one step.

    `variable` holds the lower and the upper half of the counter, then the key: three `int64`. The counter
    grows by 256 for each number, as in TensorFlow. Raises InvalidArgument where `delta` is negative.

    Dtypes:
        delta: int32, int64.
    """

def count_up_to(variable: _Variable, *, limit: int, name: str | None = None) -> Tensor:
    """The integer scalar in `variable` before 1 is added to it, in one step.

    Raises OutOfRange where it is `limit` or more; it stays as it is then.
    """

# --- table ---

def table_of(keys: _TensorLike, values: _TensorLike, *, key_rank: int = 0, name: str | None = None) -> Tensor:
    """A table with these keys and their values.

    `keys` has the shape of what is looked up, then `key_rank` dimensions of a key; `values` has the same
    shape, then that of a value. Raises FailedPrecondition where a key stands twice with different values.

    Dtypes:
        keys: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            string.
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def table_find(
    table: _TensorLike,
    keys: _TensorLike,
    default: _TensorLike,
    *,
    key_rank: int = 0,
    each: bool = False,
    name: str | None = None,
) -> Tensor:
    """The value of each key; `default` where the key is not there.

    `default` is one value, or, where `each` is set, one for each key.

    Dtypes:
        table: resource.
        keys: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            string.
        default: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def table_size(table: _TensorLike, *, name: str | None = None) -> Tensor:
    """How many keys the table has, `i64`.

    Dtypes:
        table: resource.
    """

def table_export(
    table: _TensorLike,
    *,
    key_dtype: _DTypeLike,
    value_dtype: _DTypeLike,
    key_shape: _ShapeLike,
    value_shape: _ShapeLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The keys of the table and their values, a row for each.

    The table has keys and values of these dtypes and shapes. The rows are in the order in which the keys
    came; the last takes the place of one that is removed.

    Dtypes:
        table: resource.
    """

def table_insert(
    variable: _Variable, keys: _TensorLike, values: _TensorLike, *, key_rank: int = 0, name: str | None = None
) -> None:
    """Sets the values of keys in the table that the variable holds: of equal keys the last one counts.

    Dtypes:
        keys: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            string.
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz,
            float8_e4m3b11fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4, int2, uint2.
    """

def table_remove(
    variable: _Variable, keys: _TensorLike, *, key_rank: int = 0, name: str | None = None
) -> None:
    """Removes keys from the table that the variable holds. Those that are not there make no difference.

    Dtypes:
        keys: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            string.
    """

# --- TensorFlow's operators by their own names ---

def Abs(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def AccumulateNV2(*, inputs: Sequence[_TensorLike], shape: _ShapeLike, name: str | None = None) -> Tensor: ...
def Acos(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Acosh(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Add(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def AddN(*, inputs: Sequence[_TensorLike], name: str | None = None) -> Tensor: ...
def AddV2(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def AdjustContrast(
    *,
    images: _TensorLike,
    contrast_factor: _TensorLike,
    min_value: _TensorLike,
    max_value: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def AdjustContrastv2(
    *, images: _TensorLike, contrast_factor: _TensorLike, name: str | None = None
) -> Tensor: ...
def AdjustHue(*, images: _TensorLike, delta: _TensorLike, name: str | None = None) -> Tensor: ...
def AdjustSaturation(*, images: _TensorLike, scale: _TensorLike, name: str | None = None) -> Tensor: ...
def All(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def AllCandidateSampler(
    *,
    true_classes: _TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def Angle(*, input: _TensorLike, Tout: _DTypeLike = "float32", name: str | None = None) -> Tensor: ...
def AnonymousMutableHashTable(
    *, key_dtype: _DTypeLike, value_dtype: _DTypeLike, name: str | None = None
) -> Any: ...
def AnonymousMutableHashTableOfTensors(
    *, key_dtype: _DTypeLike, value_dtype: _DTypeLike, value_shape: _ShapeLike = [], name: str | None = None
) -> Any: ...

# `Any` is taken: `getattr(raw_ops, "Any")`.
def ApproxTopK(
    *,
    input: _TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any: ...
def ApproximateEqual(
    *, x: _TensorLike, y: _TensorLike, tolerance: float = 1e-05, name: str | None = None
) -> Tensor: ...
def ArgMax(
    *, input: _TensorLike, dimension: _TensorLike, output_type: _DTypeLike = "int64", name: str | None = None
) -> Tensor: ...
def ArgMin(
    *, input: _TensorLike, dimension: _TensorLike, output_type: _DTypeLike = "int64", name: str | None = None
) -> Tensor: ...
def AsString(
    *,
    input: _TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def Asin(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Asinh(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Assert(
    *, condition: _TensorLike, data: Sequence[_TensorLike], summarize: int = 3, name: str | None = None
) -> None: ...
def AssignAddVariableOp(*, resource: _TensorLike, value: _TensorLike, name: str | None = None) -> None: ...
def AssignSubVariableOp(*, resource: _TensorLike, value: _TensorLike, name: str | None = None) -> None: ...
def AssignVariableOp(
    *, resource: _TensorLike, value: _TensorLike, validate_shape: bool = False, name: str | None = None
) -> None: ...
def Atan(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Atan2(*, y: _TensorLike, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Atanh(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def AudioSpectrogram(
    *,
    input: _TensorLike,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    name: str | None = None,
) -> Tensor: ...
def AvgPool(
    *,
    value: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def AvgPool3D(
    *,
    input: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    name: str | None = None,
) -> Tensor: ...
def AvgPool3DGrad(
    *,
    orig_input_shape: _TensorLike,
    grad: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    name: str | None = None,
) -> Tensor: ...
def AvgPoolGrad(
    *,
    orig_input_shape: _TensorLike,
    grad: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def BandedTriangularSolve(
    *,
    matrix: _TensorLike,
    rhs: _TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor: ...
def BatchCholesky(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchCholeskyGrad(*, l: _TensorLike, grad: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchFFT(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchFFT2D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchFFT3D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchIFFT(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchIFFT2D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchIFFT3D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchMatMul(
    *,
    x: _TensorLike,
    y: _TensorLike,
    adj_x: bool = False,
    adj_y: bool = False,
    grad_x: bool = False,
    grad_y: bool = False,
    name: str | None = None,
) -> Tensor: ...
def BatchMatMulV2(
    *,
    x: _TensorLike,
    y: _TensorLike,
    adj_x: bool = False,
    adj_y: bool = False,
    grad_x: bool = False,
    grad_y: bool = False,
    name: str | None = None,
) -> Tensor: ...
def BatchMatMulV3(
    *,
    x: _TensorLike,
    y: _TensorLike,
    Tout: _DTypeLike,
    adj_x: bool = False,
    adj_y: bool = False,
    grad_x: bool = False,
    grad_y: bool = False,
    name: str | None = None,
) -> Tensor: ...
def BatchMatrixBandPart(
    *, input: _TensorLike, num_lower: _TensorLike, num_upper: _TensorLike, name: str | None = None
) -> Tensor: ...
def BatchMatrixDeterminant(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchMatrixDiag(*, diagonal: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchMatrixDiagPart(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchMatrixInverse(*, input: _TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor: ...
def BatchMatrixSetDiag(*, input: _TensorLike, diagonal: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchMatrixSolve(
    *, matrix: _TensorLike, rhs: _TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor: ...
def BatchMatrixSolveLs(
    *,
    matrix: _TensorLike,
    rhs: _TensorLike,
    l2_regularizer: _TensorLike,
    fast: bool = True,
    name: str | None = None,
) -> Tensor: ...
def BatchMatrixTriangularSolve(
    *,
    matrix: _TensorLike,
    rhs: _TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor: ...
def BatchNormWithGlobalNormalization(
    *,
    t: _TensorLike,
    m: _TensorLike,
    v: _TensorLike,
    beta: _TensorLike,
    gamma: _TensorLike,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor: ...
def BatchNormWithGlobalNormalizationGrad(
    *,
    t: _TensorLike,
    m: _TensorLike,
    v: _TensorLike,
    gamma: _TensorLike,
    backprop: _TensorLike,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Any: ...
def BatchSelfAdjointEig(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def BatchSelfAdjointEigV2(*, input: _TensorLike, compute_v: bool = True, name: str | None = None) -> Any: ...
def BatchSvd(
    *, input: _TensorLike, compute_uv: bool = True, full_matrices: bool = False, name: str | None = None
) -> Any: ...
def BatchToSpace(
    *, input: _TensorLike, crops: _TensorLike, block_size: int, name: str | None = None
) -> Tensor: ...
def BatchToSpaceND(
    *, input: _TensorLike, block_shape: _TensorLike, crops: _TensorLike, name: str | None = None
) -> Tensor: ...
def BesselI0(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselI0e(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselI1(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselI1e(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselJ0(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselJ1(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselK0(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselK0e(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselK1(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselK1e(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselY0(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BesselY1(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Betainc(*, a: _TensorLike, b: _TensorLike, x: _TensorLike, name: str | None = None) -> Tensor: ...
def BiasAdd(
    *, value: _TensorLike, bias: _TensorLike, data_format: str | bytes = "NHWC", name: str | None = None
) -> Tensor: ...
def BiasAddGrad(
    *, out_backprop: _TensorLike, data_format: str | bytes = "NHWC", name: str | None = None
) -> Tensor: ...
def BiasAddV1(*, value: _TensorLike, bias: _TensorLike, name: str | None = None) -> Tensor: ...
def Bincount(
    *, arr: _TensorLike, size: _TensorLike, weights: _TensorLike, name: str | None = None
) -> Tensor: ...
def Bitcast(*, input: _TensorLike, type: _DTypeLike, name: str | None = None) -> Tensor: ...
def BitwiseAnd(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def BitwiseOr(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def BitwiseXor(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def BlockLSTM(
    *,
    seq_len_max: _TensorLike,
    x: _TensorLike,
    cs_prev: _TensorLike,
    h_prev: _TensorLike,
    w: _TensorLike,
    wci: _TensorLike,
    wcf: _TensorLike,
    wco: _TensorLike,
    b: _TensorLike,
    forget_bias: float = 1,
    cell_clip: float = 3,
    use_peephole: bool = False,
    name: str | None = None,
) -> Any: ...
def BlockLSTMV2(
    *,
    seq_len_max: _TensorLike,
    x: _TensorLike,
    cs_prev: _TensorLike,
    h_prev: _TensorLike,
    w: _TensorLike,
    wci: _TensorLike,
    wcf: _TensorLike,
    wco: _TensorLike,
    b: _TensorLike,
    cell_clip: float = 0,
    use_peephole: bool = False,
    name: str | None = None,
) -> Any: ...
def BroadcastArgs(*, s0: _TensorLike, s1: _TensorLike, name: str | None = None) -> Tensor: ...
def BroadcastGradientArgs(*, s0: _TensorLike, s1: _TensorLike, name: str | None = None) -> Any: ...
def BroadcastTo(*, input: _TensorLike, shape: _TensorLike, name: str | None = None) -> Tensor: ...
def Bucketize(*, input: _TensorLike, boundaries: Sequence[float], name: str | None = None) -> Tensor: ...
def CTCBeamSearchDecoder(
    *,
    inputs: _TensorLike,
    sequence_length: _TensorLike,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool = True,
    name: str | None = None,
) -> Any: ...
def CTCGreedyDecoder(
    *,
    inputs: _TensorLike,
    sequence_length: _TensorLike,
    merge_repeated: bool = False,
    blank_index: int = -1,
    name: str | None = None,
) -> Any: ...
def Case(
    *,
    branch_index: _TensorLike,
    input: Sequence[_TensorLike],
    Tout: Sequence[_DTypeLike],
    branches: Sequence[Callable[..., Any]],
    output_shapes: Sequence[_ShapeLike] = [],
    name: str | None = None,
) -> list[Tensor]: ...
def Cast(*, x: _TensorLike, DstT: _DTypeLike, Truncate: bool = False, name: str | None = None) -> Tensor: ...
def Ceil(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def CheckNumerics(*, tensor: _TensorLike, message: str | bytes, name: str | None = None) -> Tensor: ...
def CheckNumericsV2(*, tensor: _TensorLike, message: str | bytes, name: str | None = None) -> Tensor: ...
def Cholesky(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def CholeskyGrad(*, l: _TensorLike, grad: _TensorLike, name: str | None = None) -> Tensor: ...
def ClipByValue(
    *, t: _TensorLike, clip_value_min: _TensorLike, clip_value_max: _TensorLike, name: str | None = None
) -> Tensor: ...
def CombinedNonMaxSuppression(
    *,
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size_per_class: _TensorLike,
    max_total_size: _TensorLike,
    iou_threshold: _TensorLike,
    score_threshold: _TensorLike,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any: ...
def Complex(
    *, real: _TensorLike, imag: _TensorLike, Tout: _DTypeLike = "complex64", name: str | None = None
) -> Tensor: ...
def ComplexAbs(*, x: _TensorLike, Tout: _DTypeLike = "float32", name: str | None = None) -> Tensor: ...
def ComputeAccidentalHits(
    *,
    true_classes: _TensorLike,
    sampled_candidates: _TensorLike,
    num_true: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def Concat(*, concat_dim: _TensorLike, values: Sequence[_TensorLike], name: str | None = None) -> Tensor: ...
def ConcatOffset(
    *, concat_dim: _TensorLike, shape: Sequence[_TensorLike], name: str | None = None
) -> list[Tensor]: ...
def ConcatV2(*, values: Sequence[_TensorLike], axis: _TensorLike, name: str | None = None) -> Tensor: ...
def Conj(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def ConjugateTranspose(*, x: _TensorLike, perm: _TensorLike, name: str | None = None) -> Tensor: ...
def Const(*, value: _TensorLike, dtype: _DTypeLike, name: str | None = None) -> Tensor: ...
def ControlTrigger(*, name: str | None = None) -> None: ...
def Conv(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "CHANNELS_LAST",
    dilations: Sequence[int] = [],
    batch_dims: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor: ...
def Conv2D(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropFilter(
    *,
    input: _TensorLike,
    filter_sizes: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropFilterV2(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropInput(
    *,
    input_sizes: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv2DBackpropInputV2(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv3D(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropFilter(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropFilterV2(
    *,
    input: _TensorLike,
    filter_sizes: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropInput(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Conv3DBackpropInputV2(
    *,
    input_sizes: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Cos(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Cosh(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def CropAndResize(
    *,
    image: _TensorLike,
    boxes: _TensorLike,
    box_ind: _TensorLike,
    crop_size: _TensorLike,
    method: str | bytes = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
) -> Tensor: ...
def CropAndResizeGradBoxes(
    *,
    grads: _TensorLike,
    image: _TensorLike,
    boxes: _TensorLike,
    box_ind: _TensorLike,
    method: str | bytes = "bilinear",
    name: str | None = None,
) -> Tensor: ...
def CropAndResizeGradImage(
    *,
    grads: _TensorLike,
    boxes: _TensorLike,
    box_ind: _TensorLike,
    image_size: _TensorLike,
    T: _DTypeLike,
    method: str | bytes = "bilinear",
    name: str | None = None,
) -> Tensor: ...
def Cross(*, a: _TensorLike, b: _TensorLike, name: str | None = None) -> Tensor: ...
def Cumprod(
    *,
    x: _TensorLike,
    axis: _TensorLike,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor: ...
def Cumsum(
    *,
    x: _TensorLike,
    axis: _TensorLike,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor: ...
def CumulativeLogsumexp(
    *,
    x: _TensorLike,
    axis: _TensorLike,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor: ...
def DataFormatDimMap(
    *,
    x: _TensorLike,
    src_format: str | bytes = "NHWC",
    dst_format: str | bytes = "NCHW",
    name: str | None = None,
) -> Tensor: ...
def DataFormatVecPermute(
    *,
    x: _TensorLike,
    src_format: str | bytes = "NHWC",
    dst_format: str | bytes = "NCHW",
    name: str | None = None,
) -> Tensor: ...
def Dawsn(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def DecodeAndCropJpeg(
    *,
    contents: _TensorLike,
    crop_window: _TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def DecodeBase64(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def DecodeBmp(*, contents: _TensorLike, channels: int = 0, name: str | None = None) -> Tensor: ...
def DecodeCSV(
    *,
    records: _TensorLike,
    record_defaults: Sequence[_TensorLike],
    field_delim: str | bytes = ",",
    use_quote_delim: bool = True,
    na_value: str | bytes = "",
    select_cols: Sequence[int] = [],
    name: str | None = None,
) -> list[Tensor]: ...
def DecodeCompressed(
    *, bytes: _TensorLike, compression_type: str | bytes = "", name: str | None = None
) -> Tensor: ...
def DecodeGif(*, contents: _TensorLike, name: str | None = None) -> Tensor: ...
def DecodeImage(
    *,
    contents: _TensorLike,
    channels: int = 0,
    dtype: _DTypeLike = "uint8",
    expand_animations: bool = True,
    name: str | None = None,
) -> Tensor: ...
def DecodeJSONExample(*, json_examples: _TensorLike, name: str | None = None) -> Tensor: ...
def DecodeJpeg(
    *,
    contents: _TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def DecodePaddedRaw(
    *,
    input_bytes: _TensorLike,
    fixed_length: _TensorLike,
    out_type: _DTypeLike,
    little_endian: bool = True,
    name: str | None = None,
) -> Tensor: ...
def DecodePng(
    *, contents: _TensorLike, channels: int = 0, dtype: _DTypeLike = "uint8", name: str | None = None
) -> Tensor: ...
def DecodeProtoV2(
    *,
    bytes: _TensorLike,
    message_type: str | bytes,
    field_names: Sequence[str | bytes],
    output_types: Sequence[_DTypeLike],
    descriptor_source: str | bytes = "local://",
    message_format: str | bytes = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> Any: ...
def DecodeRaw(
    *, bytes: _TensorLike, out_type: _DTypeLike, little_endian: bool = True, name: str | None = None
) -> Tensor: ...
def DecodeWav(
    *, contents: _TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> Any: ...
def DecodeWebP(
    *, contents: _TensorLike, channels: int = 0, dtype: _DTypeLike = "uint8", name: str | None = None
) -> Tensor: ...
def DeepCopy(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def DenseBincount(
    *,
    input: _TensorLike,
    size: _TensorLike,
    weights: _TensorLike,
    binary_output: bool = False,
    name: str | None = None,
) -> Tensor: ...
def DenseCountSparseOutput(
    *,
    values: _TensorLike,
    weights: _TensorLike,
    binary_output: bool,
    minlength: int = -1,
    maxlength: int = -1,
    name: str | None = None,
) -> Any: ...
def DenseToDenseSetOperation(
    *,
    set1: _TensorLike,
    set2: _TensorLike,
    set_operation: str | bytes,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any: ...
def DenseToSparseSetOperation(
    *,
    set1: _TensorLike,
    set2_indices: _TensorLike,
    set2_values: _TensorLike,
    set2_shape: _TensorLike,
    set_operation: str | bytes,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any: ...
def DepthToSpace(
    *, input: _TensorLike, block_size: int, data_format: str | bytes = "NHWC", name: str | None = None
) -> Tensor: ...
def DepthwiseConv2dNative(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def DepthwiseConv2dNativeBackpropFilter(
    *,
    input: _TensorLike,
    filter_sizes: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def DepthwiseConv2dNativeBackpropInput(
    *,
    input_sizes: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor: ...
def Dequantize(
    *,
    input: _TensorLike,
    min_range: _TensorLike,
    max_range: _TensorLike,
    mode: str | bytes = "MIN_COMBINED",
    narrow_range: bool = False,
    axis: int = -1,
    dtype: _DTypeLike = "float32",
    name: str | None = None,
) -> Tensor: ...
def DeserializeManySparse(
    *, serialized_sparse: _TensorLike, dtype: _DTypeLike, name: str | None = None
) -> Any: ...
def DeserializeSparse(
    *, serialized_sparse: _TensorLike, dtype: _DTypeLike, name: str | None = None
) -> Any: ...
def DestroyResourceOp(
    *, resource: _TensorLike, ignore_lookup_error: bool = True, name: str | None = None
) -> None: ...
def Diag(*, diagonal: _TensorLike, name: str | None = None) -> Tensor: ...
def DiagPart(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def Digamma(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Dilation2D(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    name: str | None = None,
) -> Tensor: ...
def Dilation2DBackpropFilter(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    name: str | None = None,
) -> Tensor: ...
def Dilation2DBackpropInput(
    *,
    input: _TensorLike,
    filter: _TensorLike,
    out_backprop: _TensorLike,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    name: str | None = None,
) -> Tensor: ...
def DisableCopyOnRead(*, resource: _TensorLike, name: str | None = None) -> None: ...
def Div(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def DivNoNan(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def DrawBoundingBoxes(*, images: _TensorLike, boxes: _TensorLike, name: str | None = None) -> Tensor: ...
def DrawBoundingBoxesV2(
    *, images: _TensorLike, boxes: _TensorLike, colors: _TensorLike, name: str | None = None
) -> Tensor: ...
def DynamicPartition(
    *, data: _TensorLike, partitions: _TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]: ...
def DynamicStitch(
    *, indices: Sequence[_TensorLike], data: Sequence[_TensorLike], name: str | None = None
) -> Tensor: ...
def EditDistance(
    *,
    hypothesis_indices: _TensorLike,
    hypothesis_values: _TensorLike,
    hypothesis_shape: _TensorLike,
    truth_indices: _TensorLike,
    truth_values: _TensorLike,
    truth_shape: _TensorLike,
    normalize: bool = True,
    name: str | None = None,
) -> Tensor: ...
def Eig(*, input: _TensorLike, Tout: _DTypeLike, compute_v: bool = True, name: str | None = None) -> Any: ...
def Einsum(*, inputs: Sequence[_TensorLike], equation: str | bytes, name: str | None = None) -> Tensor: ...
def Elu(*, features: _TensorLike, name: str | None = None) -> Tensor: ...
def EluGrad(*, gradients: _TensorLike, outputs: _TensorLike, name: str | None = None) -> Tensor: ...
def Empty(
    *, shape: _TensorLike, dtype: _DTypeLike, init: bool = False, name: str | None = None
) -> Tensor: ...
def EmptyTensorList(
    *,
    element_shape: _TensorLike,
    max_num_elements: _TensorLike,
    element_dtype: _DTypeLike,
    name: str | None = None,
) -> Any: ...
def EncodeBase64(*, input: _TensorLike, pad: bool = False, name: str | None = None) -> Tensor: ...
def EncodeJpeg(
    *,
    image: _TensorLike,
    format: str | bytes = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str | bytes = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def EncodeJpegVariableQuality(
    *, images: _TensorLike, quality: _TensorLike, name: str | None = None
) -> Tensor: ...
def EncodePng(*, image: _TensorLike, compression: int = -1, name: str | None = None) -> Tensor: ...
def EncodeProto(
    *,
    sizes: _TensorLike,
    values: Sequence[_TensorLike],
    field_names: Sequence[str | bytes],
    message_type: str | bytes,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> Tensor: ...
def EncodeWav(*, audio: _TensorLike, sample_rate: _TensorLike, name: str | None = None) -> Tensor: ...
def EnsureShape(*, input: _TensorLike, shape: _ShapeLike, name: str | None = None) -> Tensor: ...
def Equal(
    *, x: _TensorLike, y: _TensorLike, incompatible_shape_error: bool = True, name: str | None = None
) -> Tensor: ...
def Erf(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Erfc(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Erfinv(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def EuclideanNorm(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def Exp(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def ExpandDims(*, input: _TensorLike, axis: _TensorLike, name: str | None = None) -> Tensor: ...
def Expint(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Expm1(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def ExtractGlimpse(
    *,
    input: _TensorLike,
    size: _TensorLike,
    offsets: _TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str | bytes = "uniform",
    name: str | None = None,
) -> Tensor: ...
def ExtractGlimpseV2(
    *,
    input: _TensorLike,
    size: _TensorLike,
    offsets: _TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str | bytes = "uniform",
    name: str | None = None,
) -> Tensor: ...
def ExtractImagePatches(
    *,
    images: _TensorLike,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str | bytes,
    name: str | None = None,
) -> Tensor: ...
def ExtractJpegShape(
    *, contents: _TensorLike, output_type: _DTypeLike = "int32", name: str | None = None
) -> Tensor: ...
def ExtractVolumePatches(
    *,
    input: _TensorLike,
    ksizes: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    name: str | None = None,
) -> Tensor: ...
def FFT(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def FFT2D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def FFT3D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def FFTND(
    *, input: _TensorLike, fft_length: _TensorLike, axes: _TensorLike, name: str | None = None
) -> Tensor: ...
def FIFOQueueV2(
    *,
    component_types: Sequence[_DTypeLike],
    shapes: Sequence[_ShapeLike] = [],
    capacity: int = -1,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    name: str | None = None,
) -> Any: ...
def FakeQuantWithMinMaxArgs(
    *,
    inputs: _TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxArgsGradient(
    *,
    gradients: _TensorLike,
    inputs: _TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxVars(
    *,
    inputs: _TensorLike,
    min: _TensorLike,
    max: _TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxVarsGradient(
    *,
    gradients: _TensorLike,
    inputs: _TensorLike,
    min: _TensorLike,
    max: _TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any: ...
def FakeQuantWithMinMaxVarsPerChannel(
    *,
    inputs: _TensorLike,
    min: _TensorLike,
    max: _TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor: ...
def FakeQuantWithMinMaxVarsPerChannelGradient(
    *,
    gradients: _TensorLike,
    inputs: _TensorLike,
    min: _TensorLike,
    max: _TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any: ...
def Fill(*, dims: _TensorLike, value: _TensorLike, name: str | None = None) -> Tensor: ...
def Fingerprint(*, data: _TensorLike, method: _TensorLike, name: str | None = None) -> Tensor: ...
def FixedUnigramCandidateSampler(
    *,
    true_classes: _TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str | bytes = "",
    distortion: float = 1,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = [],
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def Floor(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def FloorDiv(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def FloorMod(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def For(
    *,
    start: _TensorLike,
    limit: _TensorLike,
    delta: _TensorLike,
    input: Sequence[_TensorLike],
    body: Callable[..., Any],
    name: str | None = None,
) -> list[Tensor]: ...
def FractionalAvgPool(
    *,
    value: _TensorLike,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def FractionalMaxPool(
    *,
    value: _TensorLike,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def FresnelCos(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def FresnelSin(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def FusedBatchNorm(
    *,
    x: _TensorLike,
    scale: _TensorLike,
    offset: _TensorLike,
    mean: _TensorLike,
    variance: _TensorLike,
    epsilon: float = 0.0001,
    exponential_avg_factor: float = 1,
    data_format: str | bytes = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> Any: ...
def FusedBatchNormGrad(
    *,
    y_backprop: _TensorLike,
    x: _TensorLike,
    scale: _TensorLike,
    reserve_space_1: _TensorLike,
    reserve_space_2: _TensorLike,
    epsilon: float = 0.0001,
    data_format: str | bytes = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> Any: ...
def FusedBatchNormGradV2(
    *,
    y_backprop: _TensorLike,
    x: _TensorLike,
    scale: _TensorLike,
    reserve_space_1: _TensorLike,
    reserve_space_2: _TensorLike,
    epsilon: float = 0.0001,
    data_format: str | bytes = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> Any: ...
def FusedBatchNormGradV3(
    *,
    y_backprop: _TensorLike,
    x: _TensorLike,
    scale: _TensorLike,
    reserve_space_1: _TensorLike,
    reserve_space_2: _TensorLike,
    reserve_space_3: _TensorLike,
    epsilon: float = 0.0001,
    data_format: str | bytes = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> Any: ...
def FusedBatchNormV2(
    *,
    x: _TensorLike,
    scale: _TensorLike,
    offset: _TensorLike,
    mean: _TensorLike,
    variance: _TensorLike,
    epsilon: float = 0.0001,
    exponential_avg_factor: float = 1,
    data_format: str | bytes = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> Any: ...
def FusedBatchNormV3(
    *,
    x: _TensorLike,
    scale: _TensorLike,
    offset: _TensorLike,
    mean: _TensorLike,
    variance: _TensorLike,
    epsilon: float = 0.0001,
    exponential_avg_factor: float = 1,
    data_format: str | bytes = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> Any: ...
def FusedPadConv2D(
    *,
    input: _TensorLike,
    paddings: _TensorLike,
    filter: _TensorLike,
    mode: str | bytes,
    strides: Sequence[int],
    padding: str | bytes,
    name: str | None = None,
) -> Tensor: ...
def GRUBlockCell(
    *,
    x: _TensorLike,
    h_prev: _TensorLike,
    w_ru: _TensorLike,
    w_c: _TensorLike,
    b_ru: _TensorLike,
    b_c: _TensorLike,
    name: str | None = None,
) -> Any: ...
def Gather(
    *, params: _TensorLike, indices: _TensorLike, validate_indices: bool = True, name: str | None = None
) -> Tensor: ...
def GatherNd(
    *,
    params: _TensorLike,
    indices: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def GatherV2(
    *,
    params: _TensorLike,
    indices: _TensorLike,
    axis: _TensorLike,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor: ...
def GenerateBoundingBoxProposals(
    *,
    scores: _TensorLike,
    bbox_deltas: _TensorLike,
    image_info: _TensorLike,
    anchors: _TensorLike,
    nms_threshold: _TensorLike,
    pre_nms_topn: _TensorLike,
    min_size: _TensorLike,
    post_nms_topn: int = 300,
    name: str | None = None,
) -> Any: ...
def Greater(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def GreaterEqual(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def GuaranteeConst(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def HSVToRGB(*, images: _TensorLike, name: str | None = None) -> Tensor: ...
def HashTableV2(
    *,
    key_dtype: _DTypeLike,
    value_dtype: _DTypeLike,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    use_node_name_sharing: bool = False,
    name: str | None = None,
) -> Any: ...
def HistogramFixedWidth(
    *,
    values: _TensorLike,
    value_range: _TensorLike,
    nbins: _TensorLike,
    dtype: _DTypeLike = "int32",
    name: str | None = None,
) -> Tensor: ...
def IFFT(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def IFFT2D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def IFFT3D(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def IFFTND(
    *, input: _TensorLike, fft_length: _TensorLike, axes: _TensorLike, name: str | None = None
) -> Tensor: ...
def IRFFT(
    *, input: _TensorLike, fft_length: _TensorLike, Treal: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def IRFFT2D(
    *, input: _TensorLike, fft_length: _TensorLike, Treal: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def IRFFT3D(
    *, input: _TensorLike, fft_length: _TensorLike, Treal: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def IRFFTND(
    *,
    input: _TensorLike,
    fft_length: _TensorLike,
    axes: _TensorLike,
    Treal: _DTypeLike = "float32",
    name: str | None = None,
) -> Tensor: ...
def Identity(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def IdentityN(*, input: Sequence[_TensorLike], name: str | None = None) -> list[Tensor]: ...
def If(
    *,
    cond: _TensorLike,
    input: Sequence[_TensorLike],
    Tout: Sequence[_DTypeLike],
    then_branch: Callable[..., Any],
    else_branch: Callable[..., Any],
    output_shapes: Sequence[_ShapeLike] = [],
    name: str | None = None,
) -> list[Tensor]: ...
def Igamma(*, a: _TensorLike, x: _TensorLike, name: str | None = None) -> Tensor: ...
def IgammaGradA(*, a: _TensorLike, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Igammac(*, a: _TensorLike, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Imag(*, input: _TensorLike, Tout: _DTypeLike = "float32", name: str | None = None) -> Tensor: ...
def ImageProjectiveTransformV2(
    *,
    images: _TensorLike,
    transforms: _TensorLike,
    output_shape: _TensorLike,
    interpolation: str | bytes,
    fill_mode: str | bytes = "CONSTANT",
    name: str | None = None,
) -> Tensor: ...
def ImageProjectiveTransformV3(
    *,
    images: _TensorLike,
    transforms: _TensorLike,
    output_shape: _TensorLike,
    fill_value: _TensorLike,
    interpolation: str | bytes,
    fill_mode: str | bytes = "CONSTANT",
    name: str | None = None,
) -> Tensor: ...
def InTopK(*, predictions: _TensorLike, targets: _TensorLike, k: int, name: str | None = None) -> Tensor: ...
def InTopKV2(
    *, predictions: _TensorLike, targets: _TensorLike, k: _TensorLike, name: str | None = None
) -> Tensor: ...
def InplaceAdd(*, x: _TensorLike, i: _TensorLike, v: _TensorLike, name: str | None = None) -> Tensor: ...
def InplaceSub(*, x: _TensorLike, i: _TensorLike, v: _TensorLike, name: str | None = None) -> Tensor: ...
def InplaceUpdate(*, x: _TensorLike, i: _TensorLike, v: _TensorLike, name: str | None = None) -> Tensor: ...
def Inv(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def InvGrad(*, y: _TensorLike, dy: _TensorLike, name: str | None = None) -> Tensor: ...
def Invert(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def InvertPermutation(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def IsFinite(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def IsInf(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def IsNan(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def IsotonicRegression(
    *, input: _TensorLike, output_dtype: _DTypeLike = "float32", name: str | None = None
) -> Any: ...
def L2Loss(*, t: _TensorLike, name: str | None = None) -> Tensor: ...
def LRN(
    *,
    input: _TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor: ...
def LRNGrad(
    *,
    input_grads: _TensorLike,
    input_image: _TensorLike,
    output_image: _TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor: ...
def LSTMBlockCell(
    *,
    x: _TensorLike,
    cs_prev: _TensorLike,
    h_prev: _TensorLike,
    w: _TensorLike,
    wci: _TensorLike,
    wcf: _TensorLike,
    wco: _TensorLike,
    b: _TensorLike,
    forget_bias: float = 1,
    cell_clip: float = 3,
    use_peephole: bool = False,
    name: str | None = None,
) -> Any: ...
def LeakyRelu(*, features: _TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor: ...
def LeakyReluGrad(
    *, gradients: _TensorLike, features: _TensorLike, alpha: float = 0.2, name: str | None = None
) -> Tensor: ...
def LearnedUnigramCandidateSampler(
    *,
    true_classes: _TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def LeftShift(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Less(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def LessEqual(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Lgamma(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def LinSpace(
    *, start: _TensorLike, stop: _TensorLike, num: _TensorLike, name: str | None = None
) -> Tensor: ...
def ListDiff(
    *, x: _TensorLike, y: _TensorLike, out_idx: _DTypeLike = "int32", name: str | None = None
) -> Any: ...
def Log(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Log1p(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def LogMatrixDeterminant(*, input: _TensorLike, name: str | None = None) -> Any: ...
def LogSoftmax(*, logits: _TensorLike, name: str | None = None) -> Tensor: ...
def LogUniformCandidateSampler(
    *,
    true_classes: _TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def LogicalAnd(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def LogicalNot(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def LogicalOr(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def LookupTableExportV2(
    *, table_handle: _TensorLike, Tkeys: _DTypeLike, Tvalues: _DTypeLike, name: str | None = None
) -> Any: ...
def LookupTableFindV2(
    *, table_handle: _TensorLike, keys: _TensorLike, default_value: _TensorLike, name: str | None = None
) -> Tensor: ...
def LookupTableImportV2(
    *, table_handle: _TensorLike, keys: _TensorLike, values: _TensorLike, name: str | None = None
) -> None: ...
def LookupTableInsertV2(
    *, table_handle: _TensorLike, keys: _TensorLike, values: _TensorLike, name: str | None = None
) -> None: ...
def LookupTableRemoveV2(*, table_handle: _TensorLike, keys: _TensorLike, name: str | None = None) -> None: ...
def LookupTableSizeV2(*, table_handle: _TensorLike, name: str | None = None) -> Tensor: ...
def LoopCond(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def LowerBound(
    *,
    sorted_inputs: _TensorLike,
    values: _TensorLike,
    out_type: _DTypeLike = "int32",
    name: str | None = None,
) -> Tensor: ...
def Lu(*, input: _TensorLike, output_idx_type: _DTypeLike = "int32", name: str | None = None) -> Any: ...
def MatMul(
    *,
    a: _TensorLike,
    b: _TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor: ...
def MatchingFiles(*, pattern: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixBandPart(
    *, input: _TensorLike, num_lower: _TensorLike, num_upper: _TensorLike, name: str | None = None
) -> Tensor: ...
def MatrixDeterminant(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixDiag(*, diagonal: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixDiagPart(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixDiagPartV2(
    *, input: _TensorLike, k: _TensorLike, padding_value: _TensorLike, name: str | None = None
) -> Tensor: ...
def MatrixDiagPartV3(
    *,
    input: _TensorLike,
    k: _TensorLike,
    padding_value: _TensorLike,
    align: str | bytes = "RIGHT_LEFT",
    name: str | None = None,
) -> Tensor: ...
def MatrixDiagV2(
    *,
    diagonal: _TensorLike,
    k: _TensorLike,
    num_rows: _TensorLike,
    num_cols: _TensorLike,
    padding_value: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def MatrixDiagV3(
    *,
    diagonal: _TensorLike,
    k: _TensorLike,
    num_rows: _TensorLike,
    num_cols: _TensorLike,
    padding_value: _TensorLike,
    align: str | bytes = "RIGHT_LEFT",
    name: str | None = None,
) -> Tensor: ...
def MatrixExponential(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixInverse(*, input: _TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor: ...
def MatrixLogarithm(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixSetDiag(*, input: _TensorLike, diagonal: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixSetDiagV2(
    *, input: _TensorLike, diagonal: _TensorLike, k: _TensorLike, name: str | None = None
) -> Tensor: ...
def MatrixSetDiagV3(
    *,
    input: _TensorLike,
    diagonal: _TensorLike,
    k: _TensorLike,
    align: str | bytes = "RIGHT_LEFT",
    name: str | None = None,
) -> Tensor: ...
def MatrixSolve(
    *, matrix: _TensorLike, rhs: _TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor: ...
def MatrixSolveLs(
    *,
    matrix: _TensorLike,
    rhs: _TensorLike,
    l2_regularizer: _TensorLike,
    fast: bool = True,
    name: str | None = None,
) -> Tensor: ...
def MatrixSquareRoot(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def MatrixTriangularSolve(
    *,
    matrix: _TensorLike,
    rhs: _TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor: ...
def Max(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def MaxPool(
    *,
    input: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPool3D(
    *,
    input: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPool3DGrad(
    *,
    orig_input: _TensorLike,
    orig_output: _TensorLike,
    grad: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPool3DGradGrad(
    *,
    orig_input: _TensorLike,
    orig_output: _TensorLike,
    grad: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NDHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGrad(
    *,
    orig_input: _TensorLike,
    orig_output: _TensorLike,
    grad: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    explicit_paddings: Sequence[int] = [],
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradGrad(
    *,
    orig_input: _TensorLike,
    orig_output: _TensorLike,
    grad: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradGradV2(
    *,
    orig_input: _TensorLike,
    orig_output: _TensorLike,
    grad: _TensorLike,
    ksize: _TensorLike,
    strides: _TensorLike,
    padding: str | bytes,
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradGradWithArgmax(
    *,
    input: _TensorLike,
    grad: _TensorLike,
    argmax: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradV2(
    *,
    orig_input: _TensorLike,
    orig_output: _TensorLike,
    grad: _TensorLike,
    ksize: _TensorLike,
    strides: _TensorLike,
    padding: str | bytes,
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPoolGradWithArgmax(
    *,
    input: _TensorLike,
    grad: _TensorLike,
    argmax: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Tensor: ...
def MaxPoolV2(
    *,
    input: _TensorLike,
    ksize: _TensorLike,
    strides: _TensorLike,
    padding: str | bytes,
    data_format: str | bytes = "NHWC",
    name: str | None = None,
) -> Tensor: ...
def MaxPoolWithArgmax(
    *,
    input: _TensorLike,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str | bytes,
    Targmax: _DTypeLike = "int64",
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any: ...
def Maximum(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Mean(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def Min(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def Minimum(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def MirrorPad(
    *, input: _TensorLike, paddings: _TensorLike, mode: str | bytes, name: str | None = None
) -> Tensor: ...
def MirrorPadGrad(
    *, input: _TensorLike, paddings: _TensorLike, mode: str | bytes, name: str | None = None
) -> Tensor: ...
def Mod(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Mul(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def MulNoNan(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Multinomial(
    *,
    logits: _TensorLike,
    num_samples: _TensorLike,
    seed: int = 0,
    seed2: int = 0,
    output_dtype: _DTypeLike = "int64",
    name: str | None = None,
) -> Tensor: ...
def MutableDenseHashTableV2(
    *,
    empty_key: _TensorLike,
    deleted_key: _TensorLike,
    value_dtype: _DTypeLike,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    use_node_name_sharing: bool = False,
    value_shape: _ShapeLike = [],
    initial_num_buckets: int = 131072,
    max_load_factor: float = 0.8,
    name: str | None = None,
) -> Any: ...
def MutableHashTableOfTensorsV2(
    *,
    key_dtype: _DTypeLike,
    value_dtype: _DTypeLike,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    use_node_name_sharing: bool = False,
    value_shape: _ShapeLike = [],
    name: str | None = None,
) -> Any: ...
def MutableHashTableV2(
    *,
    key_dtype: _DTypeLike,
    value_dtype: _DTypeLike,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    use_node_name_sharing: bool = False,
    name: str | None = None,
) -> Any: ...
def Ndtri(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Neg(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def NextAfter(*, x1: _TensorLike, x2: _TensorLike, name: str | None = None) -> Tensor: ...
def NoOp(*, name: str | None = None) -> None: ...
def NonMaxSuppression(
    *,
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    iou_threshold: float = 0.5,
    name: str | None = None,
) -> Tensor: ...
def NonMaxSuppressionV2(
    *,
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    iou_threshold: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def NonMaxSuppressionV3(
    *,
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    iou_threshold: _TensorLike,
    score_threshold: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def NonMaxSuppressionV4(
    *,
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    iou_threshold: _TensorLike,
    score_threshold: _TensorLike,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any: ...
def NonMaxSuppressionV5(
    *,
    boxes: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    iou_threshold: _TensorLike,
    score_threshold: _TensorLike,
    soft_nms_sigma: _TensorLike,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> Any: ...
def NonMaxSuppressionWithOverlaps(
    *,
    overlaps: _TensorLike,
    scores: _TensorLike,
    max_output_size: _TensorLike,
    overlap_threshold: _TensorLike,
    score_threshold: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def NotEqual(
    *, x: _TensorLike, y: _TensorLike, incompatible_shape_error: bool = True, name: str | None = None
) -> Tensor: ...
def NthElement(
    *, input: _TensorLike, n: _TensorLike, reverse: bool = False, name: str | None = None
) -> Tensor: ...
def OneHot(
    *,
    indices: _TensorLike,
    depth: _TensorLike,
    on_value: _TensorLike,
    off_value: _TensorLike,
    axis: int = -1,
    name: str | None = None,
) -> Tensor: ...
def OnesLike(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Pack(*, values: Sequence[_TensorLike], axis: int = 0, name: str | None = None) -> Tensor: ...
def Pad(*, input: _TensorLike, paddings: _TensorLike, name: str | None = None) -> Tensor: ...
def PadV2(
    *, input: _TensorLike, paddings: _TensorLike, constant_values: _TensorLike, name: str | None = None
) -> Tensor: ...
def PaddingFIFOQueueV2(
    *,
    component_types: Sequence[_DTypeLike],
    shapes: Sequence[_ShapeLike] = [],
    capacity: int = -1,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    name: str | None = None,
) -> Any: ...
def ParallelConcat(
    *, values: Sequence[_TensorLike], shape: _ShapeLike, name: str | None = None
) -> Tensor: ...
def ParallelDynamicStitch(
    *, indices: Sequence[_TensorLike], data: Sequence[_TensorLike], name: str | None = None
) -> Tensor: ...
def ParseExample(
    *,
    serialized: _TensorLike,
    names: _TensorLike,
    sparse_keys: Sequence[_TensorLike],
    dense_keys: Sequence[_TensorLike],
    dense_defaults: Sequence[_TensorLike],
    sparse_types: Sequence[_DTypeLike],
    dense_shapes: Sequence[_ShapeLike],
    name: str | None = None,
) -> Any: ...
def ParseExampleV2(
    *,
    serialized: _TensorLike,
    names: _TensorLike,
    sparse_keys: _TensorLike,
    dense_keys: _TensorLike,
    ragged_keys: _TensorLike,
    dense_defaults: Sequence[_TensorLike],
    num_sparse: int,
    sparse_types: Sequence[_DTypeLike],
    ragged_value_types: Sequence[_DTypeLike],
    ragged_split_types: Sequence[_DTypeLike],
    dense_shapes: Sequence[_ShapeLike],
    name: str | None = None,
) -> Any: ...
def ParseSingleExample(
    *,
    serialized: _TensorLike,
    dense_defaults: Sequence[_TensorLike],
    num_sparse: int,
    sparse_keys: Sequence[str | bytes],
    dense_keys: Sequence[str | bytes],
    sparse_types: Sequence[_DTypeLike],
    dense_shapes: Sequence[_ShapeLike],
    name: str | None = None,
) -> Any: ...
def ParseTensor(*, serialized: _TensorLike, out_type: _DTypeLike, name: str | None = None) -> Tensor: ...
def PartitionedCall(
    *,
    args: Sequence[_TensorLike],
    Tout: Sequence[_DTypeLike],
    f: Callable[..., Any],
    config: str | bytes = "",
    config_proto: str | bytes = "",
    executor_type: str | bytes = "",
    name: str | None = None,
) -> list[Tensor]: ...
def Placeholder(*, dtype: _DTypeLike, shape: _ShapeLike = None, name: str | None = None) -> Tensor: ...
def PlaceholderV2(*, dtype: _DTypeLike, shape: _ShapeLike, name: str | None = None) -> Tensor: ...
def PlaceholderWithDefault(*, input: _TensorLike, shape: _ShapeLike, name: str | None = None) -> Tensor: ...
def Polygamma(*, a: _TensorLike, x: _TensorLike, name: str | None = None) -> Tensor: ...
def PopulationCount(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Pow(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def PreventGradient(*, input: _TensorLike, message: str | bytes = "", name: str | None = None) -> Tensor: ...
def Print(
    *,
    input: _TensorLike,
    data: Sequence[_TensorLike],
    message: str | bytes = "",
    first_n: int = -1,
    summarize: int = 3,
    name: str | None = None,
) -> Tensor: ...
def PrintV2(
    *,
    input: _TensorLike,
    output_stream: str | bytes = "stderr",
    end: str | bytes = "\n",
    name: str | None = None,
) -> None: ...
def Prod(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def Qr(*, input: _TensorLike, full_matrices: bool = False, name: str | None = None) -> Any: ...
def QuantizeAndDequantize(
    *,
    input: _TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    input_min: float = 0,
    input_max: float = 0,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV2(
    *,
    input: _TensorLike,
    input_min: _TensorLike,
    input_max: _TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str | bytes = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV3(
    *,
    input: _TensorLike,
    input_min: _TensorLike,
    input_max: _TensorLike,
    num_bits: _TensorLike,
    signed_input: bool = True,
    range_given: bool = True,
    narrow_range: bool = False,
    axis: int = -1,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV4(
    *,
    input: _TensorLike,
    input_min: _TensorLike,
    input_max: _TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str | bytes = "HALF_TO_EVEN",
    narrow_range: bool = False,
    axis: int = -1,
    name: str | None = None,
) -> Tensor: ...
def QuantizeAndDequantizeV4Grad(
    *,
    gradients: _TensorLike,
    input: _TensorLike,
    input_min: _TensorLike,
    input_max: _TensorLike,
    axis: int = -1,
    name: str | None = None,
) -> Any: ...
def QuantizeV2(
    *,
    input: _TensorLike,
    min_range: _TensorLike,
    max_range: _TensorLike,
    T: _DTypeLike,
    mode: str | bytes = "MIN_COMBINED",
    round_mode: str | bytes = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int = -1,
    ensure_minimum_range: float = 0.01,
    name: str | None = None,
) -> Any: ...
def QuantizedConcat(
    *,
    concat_dim: _TensorLike,
    values: Sequence[_TensorLike],
    input_mins: Sequence[_TensorLike],
    input_maxes: Sequence[_TensorLike],
    name: str | None = None,
) -> Any: ...
def QueueCloseV2(
    *, handle: _TensorLike, cancel_pending_enqueues: bool = False, name: str | None = None
) -> None: ...
def QueueDequeueManyV2(
    *,
    handle: _TensorLike,
    n: _TensorLike,
    component_types: Sequence[_DTypeLike],
    timeout_ms: int = -1,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueDequeueUpToV2(
    *,
    handle: _TensorLike,
    n: _TensorLike,
    component_types: Sequence[_DTypeLike],
    timeout_ms: int = -1,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueDequeueV2(
    *,
    handle: _TensorLike,
    component_types: Sequence[_DTypeLike],
    timeout_ms: int = -1,
    name: str | None = None,
) -> list[Tensor]: ...
def QueueEnqueueManyV2(
    *, handle: _TensorLike, components: Sequence[_TensorLike], timeout_ms: int = -1, name: str | None = None
) -> None: ...
def QueueEnqueueV2(
    *, handle: _TensorLike, components: Sequence[_TensorLike], timeout_ms: int = -1, name: str | None = None
) -> None: ...
def QueueIsClosedV2(*, handle: _TensorLike, name: str | None = None) -> Tensor: ...
def QueueSizeV2(*, handle: _TensorLike, name: str | None = None) -> Tensor: ...
def RFFT(
    *,
    input: _TensorLike,
    fft_length: _TensorLike,
    Tcomplex: _DTypeLike = "complex64",
    name: str | None = None,
) -> Tensor: ...
def RFFT2D(
    *,
    input: _TensorLike,
    fft_length: _TensorLike,
    Tcomplex: _DTypeLike = "complex64",
    name: str | None = None,
) -> Tensor: ...
def RFFT3D(
    *,
    input: _TensorLike,
    fft_length: _TensorLike,
    Tcomplex: _DTypeLike = "complex64",
    name: str | None = None,
) -> Tensor: ...
def RFFTND(
    *,
    input: _TensorLike,
    fft_length: _TensorLike,
    axes: _TensorLike,
    Tcomplex: _DTypeLike = "complex64",
    name: str | None = None,
) -> Tensor: ...
def RGBToHSV(*, images: _TensorLike, name: str | None = None) -> Tensor: ...
def RaggedBincount(
    *,
    splits: _TensorLike,
    values: _TensorLike,
    size: _TensorLike,
    weights: _TensorLike,
    binary_output: bool = False,
    name: str | None = None,
) -> Tensor: ...
def RaggedCountSparseOutput(
    *,
    splits: _TensorLike,
    values: _TensorLike,
    weights: _TensorLike,
    binary_output: bool,
    minlength: int = -1,
    maxlength: int = -1,
    name: str | None = None,
) -> Any: ...
def RaggedFillEmptyRows(
    *,
    value_rowids: _TensorLike,
    values: _TensorLike,
    nrows: _TensorLike,
    default_value: _TensorLike,
    name: str | None = None,
) -> Any: ...
def RaggedFillEmptyRowsGrad(
    *, reverse_index_map: _TensorLike, grad_values: _TensorLike, name: str | None = None
) -> Any: ...
def RaggedGather(
    *,
    params_nested_splits: Sequence[_TensorLike],
    params_dense_values: _TensorLike,
    indices: _TensorLike,
    OUTPUT_RAGGED_RANK: int,
    name: str | None = None,
) -> Any: ...
def RaggedRange(
    *,
    starts: _TensorLike,
    limits: _TensorLike,
    deltas: _TensorLike,
    Tsplits: _DTypeLike = "int64",
    name: str | None = None,
) -> Any: ...
def RaggedTensorToSparse(
    *, rt_nested_splits: Sequence[_TensorLike], rt_dense_values: _TensorLike, name: str | None = None
) -> Any: ...
def RaggedTensorToTensor(
    *,
    shape: _TensorLike,
    values: _TensorLike,
    default_value: _TensorLike,
    row_partition_tensors: Sequence[_TensorLike],
    row_partition_types: Sequence[str | bytes],
    name: str | None = None,
) -> Tensor: ...
def RandomGamma(
    *, shape: _TensorLike, alpha: _TensorLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor: ...
def RandomGammaGrad(*, alpha: _TensorLike, sample: _TensorLike, name: str | None = None) -> Tensor: ...
def RandomIndexShuffle(
    *, index: _TensorLike, seed: _TensorLike, max_index: _TensorLike, rounds: int = 4, name: str | None = None
) -> Tensor: ...
def RandomPoisson(
    *, shape: _TensorLike, rate: _TensorLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor: ...
def RandomPoissonV2(
    *,
    shape: _TensorLike,
    rate: _TensorLike,
    seed: int = 0,
    seed2: int = 0,
    dtype: _DTypeLike = "int64",
    name: str | None = None,
) -> Tensor: ...
def RandomShuffle(
    *, value: _TensorLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor: ...
def RandomShuffleQueueV2(
    *,
    component_types: Sequence[_DTypeLike],
    shapes: Sequence[_ShapeLike] = [],
    capacity: int = -1,
    min_after_dequeue: int = 0,
    seed: int = 0,
    seed2: int = 0,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    name: str | None = None,
) -> Any: ...
def RandomStandardNormal(
    *, shape: _TensorLike, dtype: _DTypeLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor: ...
def RandomUniform(
    *, shape: _TensorLike, dtype: _DTypeLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor: ...
def RandomUniformInt(
    *,
    shape: _TensorLike,
    minval: _TensorLike,
    maxval: _TensorLike,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Tensor: ...
def Range(
    *, start: _TensorLike, limit: _TensorLike, delta: _TensorLike, name: str | None = None
) -> Tensor: ...
def Rank(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def ReadFile(*, filename: _TensorLike, name: str | None = None) -> Tensor: ...
def ReadVariableOp(*, resource: _TensorLike, dtype: _DTypeLike, name: str | None = None) -> Tensor: ...
def Real(*, input: _TensorLike, Tout: _DTypeLike = "float32", name: str | None = None) -> Tensor: ...
def RealDiv(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Reciprocal(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def ReciprocalGrad(*, y: _TensorLike, dy: _TensorLike, name: str | None = None) -> Tensor: ...
def ReduceJoin(
    *,
    inputs: _TensorLike,
    reduction_indices: _TensorLike,
    keep_dims: bool = False,
    separator: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def RegexFullMatch(*, input: _TensorLike, pattern: _TensorLike, name: str | None = None) -> Tensor: ...
def RegexReplace(
    *,
    input: _TensorLike,
    pattern: _TensorLike,
    rewrite: _TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor: ...
def Relu(*, features: _TensorLike, name: str | None = None) -> Tensor: ...
def Relu6(*, features: _TensorLike, name: str | None = None) -> Tensor: ...
def Relu6Grad(*, gradients: _TensorLike, features: _TensorLike, name: str | None = None) -> Tensor: ...
def ReluGrad(*, gradients: _TensorLike, features: _TensorLike, name: str | None = None) -> Tensor: ...
def Reshape(*, tensor: _TensorLike, shape: _TensorLike, name: str | None = None) -> Tensor: ...
def ResizeArea(
    *, images: _TensorLike, size: _TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor: ...
def ResizeBicubic(
    *,
    images: _TensorLike,
    size: _TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor: ...
def ResizeBicubicGrad(
    *,
    grads: _TensorLike,
    original_image: _TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor: ...
def ResizeBilinear(
    *,
    images: _TensorLike,
    size: _TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor: ...
def ResizeBilinearGrad(
    *,
    grads: _TensorLike,
    original_image: _TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor: ...
def ResizeNearestNeighbor(
    *,
    images: _TensorLike,
    size: _TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor: ...
def ResizeNearestNeighborGrad(
    *,
    grads: _TensorLike,
    size: _TensorLike,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor: ...
def ResourceApplyAdaMax(
    *,
    var: _TensorLike,
    m: _TensorLike,
    v: _TensorLike,
    beta1_power: _TensorLike,
    lr: _TensorLike,
    beta1: _TensorLike,
    beta2: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyAdadelta(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    accum_update: _TensorLike,
    lr: _TensorLike,
    rho: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyAdagrad(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    update_slots: bool = True,
    name: str | None = None,
) -> None: ...
def ResourceApplyAdagradDA(
    *,
    var: _TensorLike,
    gradient_accumulator: _TensorLike,
    gradient_squared_accumulator: _TensorLike,
    grad: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    global_step: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyAdagradV2(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    update_slots: bool = True,
    name: str | None = None,
) -> None: ...
def ResourceApplyAdam(
    *,
    var: _TensorLike,
    m: _TensorLike,
    v: _TensorLike,
    beta1_power: _TensorLike,
    beta2_power: _TensorLike,
    lr: _TensorLike,
    beta1: _TensorLike,
    beta2: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    use_nesterov: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyAdamWithAmsgrad(
    *,
    var: _TensorLike,
    m: _TensorLike,
    v: _TensorLike,
    vhat: _TensorLike,
    beta1_power: _TensorLike,
    beta2_power: _TensorLike,
    lr: _TensorLike,
    beta1: _TensorLike,
    beta2: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyAddSign(
    *,
    var: _TensorLike,
    m: _TensorLike,
    lr: _TensorLike,
    alpha: _TensorLike,
    sign_decay: _TensorLike,
    beta: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyCenteredRMSProp(
    *,
    var: _TensorLike,
    mg: _TensorLike,
    ms: _TensorLike,
    mom: _TensorLike,
    lr: _TensorLike,
    rho: _TensorLike,
    momentum: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyFtrl(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    linear: _TensorLike,
    grad: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    lr_power: _TensorLike,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyFtrlV2(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    linear: _TensorLike,
    grad: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    l2_shrinkage: _TensorLike,
    lr_power: _TensorLike,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyGradientDescent(
    *,
    var: _TensorLike,
    alpha: _TensorLike,
    delta: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyKerasMomentum(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    grad: _TensorLike,
    momentum: _TensorLike,
    use_locking: bool = False,
    use_nesterov: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyMomentum(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    grad: _TensorLike,
    momentum: _TensorLike,
    use_locking: bool = False,
    use_nesterov: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyPowerSign(
    *,
    var: _TensorLike,
    m: _TensorLike,
    lr: _TensorLike,
    logbase: _TensorLike,
    sign_decay: _TensorLike,
    beta: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyProximalAdagrad(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyProximalGradientDescent(
    *,
    var: _TensorLike,
    alpha: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    delta: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceApplyRMSProp(
    *,
    var: _TensorLike,
    ms: _TensorLike,
    mom: _TensorLike,
    lr: _TensorLike,
    rho: _TensorLike,
    momentum: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceCountUpTo(
    *, resource: _TensorLike, limit: int, T: _DTypeLike, name: str | None = None
) -> Tensor: ...
def ResourceGather(
    *,
    resource: _TensorLike,
    indices: _TensorLike,
    dtype: _DTypeLike,
    batch_dims: int = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor: ...
def ResourceGatherNd(
    *, resource: _TensorLike, indices: _TensorLike, dtype: _DTypeLike, name: str | None = None
) -> Tensor: ...
def ResourceScatterAdd(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceScatterDiv(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceScatterMax(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceScatterMin(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceScatterMul(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceScatterNdAdd(
    *,
    ref: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    use_locking: bool = True,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> None: ...
def ResourceScatterNdMax(
    *,
    ref: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    use_locking: bool = True,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> None: ...
def ResourceScatterNdMin(
    *,
    ref: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    use_locking: bool = True,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> None: ...
def ResourceScatterNdSub(
    *,
    ref: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    use_locking: bool = True,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> None: ...
def ResourceScatterNdUpdate(
    *,
    ref: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    use_locking: bool = True,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> None: ...
def ResourceScatterSub(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceScatterUpdate(
    *, resource: _TensorLike, indices: _TensorLike, updates: _TensorLike, name: str | None = None
) -> None: ...
def ResourceSparseApplyAdadelta(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    accum_update: _TensorLike,
    lr: _TensorLike,
    rho: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyAdagrad(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    update_slots: bool = True,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyAdagradDA(
    *,
    var: _TensorLike,
    gradient_accumulator: _TensorLike,
    gradient_squared_accumulator: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    global_step: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyAdagradV2(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    update_slots: bool = True,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyCenteredRMSProp(
    *,
    var: _TensorLike,
    mg: _TensorLike,
    ms: _TensorLike,
    mom: _TensorLike,
    lr: _TensorLike,
    rho: _TensorLike,
    momentum: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyFtrl(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    linear: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    lr_power: _TensorLike,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyFtrlV2(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    linear: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    l2_shrinkage: _TensorLike,
    lr_power: _TensorLike,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyKerasMomentum(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    momentum: _TensorLike,
    use_locking: bool = False,
    use_nesterov: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyMomentum(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    momentum: _TensorLike,
    use_locking: bool = False,
    use_nesterov: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyProximalAdagrad(
    *,
    var: _TensorLike,
    accum: _TensorLike,
    lr: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyProximalGradientDescent(
    *,
    var: _TensorLike,
    alpha: _TensorLike,
    l1: _TensorLike,
    l2: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceSparseApplyRMSProp(
    *,
    var: _TensorLike,
    ms: _TensorLike,
    mom: _TensorLike,
    lr: _TensorLike,
    rho: _TensorLike,
    momentum: _TensorLike,
    epsilon: _TensorLike,
    grad: _TensorLike,
    indices: _TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> None: ...
def ResourceStridedSliceAssign(
    *,
    ref: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    value: _TensorLike,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> None: ...
def Reverse(*, tensor: _TensorLike, dims: _TensorLike, name: str | None = None) -> Tensor: ...
def ReverseSequence(
    *, input: _TensorLike, seq_lengths: _TensorLike, seq_dim: int, batch_dim: int = 0, name: str | None = None
) -> Tensor: ...
def ReverseV2(*, tensor: _TensorLike, axis: _TensorLike, name: str | None = None) -> Tensor: ...
def RightShift(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Rint(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Roll(*, input: _TensorLike, shift: _TensorLike, axis: _TensorLike, name: str | None = None) -> Tensor: ...
def Round(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Rsqrt(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def RsqrtGrad(*, y: _TensorLike, dy: _TensorLike, name: str | None = None) -> Tensor: ...
def SampleDistortedBoundingBox(
    *,
    image_size: _TensorLike,
    bounding_boxes: _TensorLike,
    seed: int = 0,
    seed2: int = 0,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Sequence[float] = [0.75, 1.33],
    area_range: Sequence[float] = [0.05, 1],
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
    name: str | None = None,
) -> Any: ...
def SampleDistortedBoundingBoxV2(
    *,
    image_size: _TensorLike,
    bounding_boxes: _TensorLike,
    min_object_covered: _TensorLike,
    seed: int = 0,
    seed2: int = 0,
    aspect_ratio_range: Sequence[float] = [0.75, 1.33],
    area_range: Sequence[float] = [0.05, 1],
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
    name: str | None = None,
) -> Any: ...
def ScaleAndTranslate(
    *,
    images: _TensorLike,
    size: _TensorLike,
    scale: _TensorLike,
    translation: _TensorLike,
    kernel_type: str | bytes = "lanczos3",
    antialias: bool = True,
    name: str | None = None,
) -> Tensor: ...
def ScaleAndTranslateGrad(
    *,
    grads: _TensorLike,
    original_image: _TensorLike,
    scale: _TensorLike,
    translation: _TensorLike,
    kernel_type: str | bytes = "lanczos3",
    antialias: bool = True,
    name: str | None = None,
) -> Tensor: ...
def ScatterNd(
    *,
    indices: _TensorLike,
    updates: _TensorLike,
    shape: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def ScatterNdNonAliasingAdd(
    *,
    input: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def SegmentMax(*, data: _TensorLike, segment_ids: _TensorLike, name: str | None = None) -> Tensor: ...
def SegmentMaxV2(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def SegmentMean(*, data: _TensorLike, segment_ids: _TensorLike, name: str | None = None) -> Tensor: ...
def SegmentMin(*, data: _TensorLike, segment_ids: _TensorLike, name: str | None = None) -> Tensor: ...
def SegmentMinV2(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def SegmentProd(*, data: _TensorLike, segment_ids: _TensorLike, name: str | None = None) -> Tensor: ...
def SegmentProdV2(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def SegmentSum(*, data: _TensorLike, segment_ids: _TensorLike, name: str | None = None) -> Tensor: ...
def SegmentSumV2(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def Select(*, condition: _TensorLike, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def SelectV2(
    *, condition: _TensorLike, t: _TensorLike, e: _TensorLike, name: str | None = None
) -> Tensor: ...
def SelfAdjointEig(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def SelfAdjointEigV2(*, input: _TensorLike, compute_v: bool = True, name: str | None = None) -> Any: ...
def Selu(*, features: _TensorLike, name: str | None = None) -> Tensor: ...
def SeluGrad(*, gradients: _TensorLike, outputs: _TensorLike, name: str | None = None) -> Tensor: ...
def SerializeManySparse(
    *,
    sparse_indices: _TensorLike,
    sparse_values: _TensorLike,
    sparse_shape: _TensorLike,
    out_type: _DTypeLike = "string",
    name: str | None = None,
) -> Tensor: ...
def SerializeSparse(
    *,
    sparse_indices: _TensorLike,
    sparse_values: _TensorLike,
    sparse_shape: _TensorLike,
    out_type: _DTypeLike = "string",
    name: str | None = None,
) -> Tensor: ...
def SerializeTensor(*, tensor: _TensorLike, name: str | None = None) -> Tensor: ...
def SetSize(
    *,
    set_indices: _TensorLike,
    set_values: _TensorLike,
    set_shape: _TensorLike,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor: ...
def Shape(*, input: _TensorLike, out_type: _DTypeLike = "int32", name: str | None = None) -> Tensor: ...
def ShapeN(
    *, input: Sequence[_TensorLike], out_type: _DTypeLike = "int32", name: str | None = None
) -> list[Tensor]: ...
def ShardedFilename(
    *, basename: _TensorLike, shard: _TensorLike, num_shards: _TensorLike, name: str | None = None
) -> Tensor: ...
def ShardedFilespec(*, basename: _TensorLike, num_shards: _TensorLike, name: str | None = None) -> Tensor: ...
def Sigmoid(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def SigmoidGrad(*, y: _TensorLike, dy: _TensorLike, name: str | None = None) -> Tensor: ...
def Sign(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Sin(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Sinh(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Size(*, input: _TensorLike, out_type: _DTypeLike = "int32", name: str | None = None) -> Tensor: ...
def Slice(
    *, input: _TensorLike, begin: _TensorLike, size: _TensorLike, name: str | None = None
) -> Tensor: ...
def Snapshot(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def SobolSample(
    *,
    dim: _TensorLike,
    num_results: _TensorLike,
    skip: _TensorLike,
    dtype: _DTypeLike = "float32",
    name: str | None = None,
) -> Tensor: ...
def Softmax(*, logits: _TensorLike, name: str | None = None) -> Tensor: ...
def SoftmaxCrossEntropyWithLogits(
    *, features: _TensorLike, labels: _TensorLike, name: str | None = None
) -> Any: ...
def Softplus(*, features: _TensorLike, name: str | None = None) -> Tensor: ...
def SoftplusGrad(*, gradients: _TensorLike, features: _TensorLike, name: str | None = None) -> Tensor: ...
def Softsign(*, features: _TensorLike, name: str | None = None) -> Tensor: ...
def SoftsignGrad(*, gradients: _TensorLike, features: _TensorLike, name: str | None = None) -> Tensor: ...
def SpaceToBatch(
    *, input: _TensorLike, paddings: _TensorLike, block_size: int, name: str | None = None
) -> Tensor: ...
def SpaceToBatchND(
    *, input: _TensorLike, block_shape: _TensorLike, paddings: _TensorLike, name: str | None = None
) -> Tensor: ...
def SpaceToDepth(
    *, input: _TensorLike, block_size: int, data_format: str | bytes = "NHWC", name: str | None = None
) -> Tensor: ...
def SparseAdd(
    *,
    a_indices: _TensorLike,
    a_values: _TensorLike,
    a_shape: _TensorLike,
    b_indices: _TensorLike,
    b_values: _TensorLike,
    b_shape: _TensorLike,
    thresh: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseAddGrad(
    *,
    backprop_val_grad: _TensorLike,
    a_indices: _TensorLike,
    b_indices: _TensorLike,
    sum_indices: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseBincount(
    *,
    indices: _TensorLike,
    values: _TensorLike,
    dense_shape: _TensorLike,
    size: _TensorLike,
    weights: _TensorLike,
    binary_output: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseConcat(
    *,
    indices: Sequence[_TensorLike],
    values: Sequence[_TensorLike],
    shapes: Sequence[_TensorLike],
    concat_dim: int,
    name: str | None = None,
) -> Any: ...
def SparseCountSparseOutput(
    *,
    indices: _TensorLike,
    values: _TensorLike,
    dense_shape: _TensorLike,
    weights: _TensorLike,
    binary_output: bool,
    minlength: int = -1,
    maxlength: int = -1,
    name: str | None = None,
) -> Any: ...
def SparseCross(
    *,
    indices: Sequence[_TensorLike],
    values: Sequence[_TensorLike],
    shapes: Sequence[_TensorLike],
    dense_inputs: Sequence[_TensorLike],
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    out_type: _DTypeLike,
    internal_type: _DTypeLike,
    name: str | None = None,
) -> Any: ...
def SparseCrossV2(
    *,
    indices: Sequence[_TensorLike],
    values: Sequence[_TensorLike],
    shapes: Sequence[_TensorLike],
    dense_inputs: Sequence[_TensorLike],
    sep: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseDenseCwiseAdd(
    *,
    sp_indices: _TensorLike,
    sp_values: _TensorLike,
    sp_shape: _TensorLike,
    dense: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseDenseCwiseDiv(
    *,
    sp_indices: _TensorLike,
    sp_values: _TensorLike,
    sp_shape: _TensorLike,
    dense: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseDenseCwiseMul(
    *,
    sp_indices: _TensorLike,
    sp_values: _TensorLike,
    sp_shape: _TensorLike,
    dense: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseFillEmptyRows(
    *,
    indices: _TensorLike,
    values: _TensorLike,
    dense_shape: _TensorLike,
    default_value: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseFillEmptyRowsGrad(
    *, reverse_index_map: _TensorLike, grad_values: _TensorLike, name: str | None = None
) -> Any: ...
def SparseMatMul(
    *,
    a: _TensorLike,
    b: _TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseReduceMax(
    *,
    input_indices: _TensorLike,
    input_values: _TensorLike,
    input_shape: _TensorLike,
    reduction_axes: _TensorLike,
    keep_dims: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseReduceMaxSparse(
    *,
    input_indices: _TensorLike,
    input_values: _TensorLike,
    input_shape: _TensorLike,
    reduction_axes: _TensorLike,
    keep_dims: bool = False,
    name: str | None = None,
) -> Any: ...
def SparseReduceSum(
    *,
    input_indices: _TensorLike,
    input_values: _TensorLike,
    input_shape: _TensorLike,
    reduction_axes: _TensorLike,
    keep_dims: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseReduceSumSparse(
    *,
    input_indices: _TensorLike,
    input_values: _TensorLike,
    input_shape: _TensorLike,
    reduction_axes: _TensorLike,
    keep_dims: bool = False,
    name: str | None = None,
) -> Any: ...
def SparseReorder(
    *,
    input_indices: _TensorLike,
    input_values: _TensorLike,
    input_shape: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseReshape(
    *, input_indices: _TensorLike, input_shape: _TensorLike, new_shape: _TensorLike, name: str | None = None
) -> Any: ...
def SparseSegmentMean(
    *,
    data: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentMeanGrad(
    *,
    grad: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    output_dim0: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentMeanGradV2(
    *,
    grad: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    dense_output_dim0: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseSegmentMeanWithNumSegments(
    *,
    data: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    num_segments: _TensorLike,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSqrtN(
    *,
    data: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSqrtNGrad(
    *,
    grad: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    output_dim0: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSqrtNGradV2(
    *,
    grad: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    dense_output_dim0: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseSegmentSqrtNWithNumSegments(
    *,
    data: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    num_segments: _TensorLike,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSum(
    *,
    data: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSumGrad(
    *,
    grad: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    output_dim0: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseSegmentSumGradV2(
    *,
    grad: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    dense_output_dim0: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseSegmentSumWithNumSegments(
    *,
    data: _TensorLike,
    indices: _TensorLike,
    segment_ids: _TensorLike,
    num_segments: _TensorLike,
    sparse_gradient: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseSlice(
    *,
    indices: _TensorLike,
    values: _TensorLike,
    shape: _TensorLike,
    start: _TensorLike,
    size: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseSliceGrad(
    *,
    backprop_val_grad: _TensorLike,
    input_indices: _TensorLike,
    input_start: _TensorLike,
    output_indices: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseSoftmax(
    *, sp_indices: _TensorLike, sp_values: _TensorLike, sp_shape: _TensorLike, name: str | None = None
) -> Tensor: ...
def SparseSoftmaxCrossEntropyWithLogits(
    *, features: _TensorLike, labels: _TensorLike, name: str | None = None
) -> Any: ...
def SparseSparseMaximum(
    *,
    a_indices: _TensorLike,
    a_values: _TensorLike,
    a_shape: _TensorLike,
    b_indices: _TensorLike,
    b_values: _TensorLike,
    b_shape: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseSparseMinimum(
    *,
    a_indices: _TensorLike,
    a_values: _TensorLike,
    a_shape: _TensorLike,
    b_indices: _TensorLike,
    b_values: _TensorLike,
    b_shape: _TensorLike,
    name: str | None = None,
) -> Any: ...
def SparseSplit(
    *,
    split_dim: _TensorLike,
    indices: _TensorLike,
    values: _TensorLike,
    shape: _TensorLike,
    num_split: int,
    name: str | None = None,
) -> Any: ...
def SparseTensorDenseAdd(
    *,
    a_indices: _TensorLike,
    a_values: _TensorLike,
    a_shape: _TensorLike,
    b: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def SparseTensorDenseMatMul(
    *,
    a_indices: _TensorLike,
    a_values: _TensorLike,
    a_shape: _TensorLike,
    b: _TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor: ...
def SparseToDense(
    *,
    sparse_indices: _TensorLike,
    output_shape: _TensorLike,
    sparse_values: _TensorLike,
    default_value: _TensorLike,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor: ...
def SparseToSparseSetOperation(
    *,
    set1_indices: _TensorLike,
    set1_values: _TensorLike,
    set1_shape: _TensorLike,
    set2_indices: _TensorLike,
    set2_values: _TensorLike,
    set2_shape: _TensorLike,
    set_operation: str | bytes,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any: ...
def Spence(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Split(
    *, axis: _TensorLike, value: _TensorLike, num_split: int, name: str | None = None
) -> list[Tensor]: ...
def SplitV(
    *,
    value: _TensorLike,
    size_splits: _TensorLike,
    axis: _TensorLike,
    num_split: int,
    name: str | None = None,
) -> list[Tensor]: ...
def Sqrt(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def SqrtGrad(*, y: _TensorLike, dy: _TensorLike, name: str | None = None) -> Tensor: ...
def Square(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def SquaredDifference(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Squeeze(*, input: _TensorLike, axis: Sequence[int] = [], name: str | None = None) -> Tensor: ...
def StatefulPartitionedCall(
    *,
    args: Sequence[_TensorLike],
    Tout: Sequence[_DTypeLike],
    f: Callable[..., Any],
    config: str | bytes = "",
    config_proto: str | bytes = "",
    executor_type: str | bytes = "",
    name: str | None = None,
) -> list[Tensor]: ...
def StatelessCase(
    *,
    branch_index: _TensorLike,
    input: Sequence[_TensorLike],
    Tout: Sequence[_DTypeLike],
    branches: Sequence[Callable[..., Any]],
    output_shapes: Sequence[_ShapeLike] = [],
    name: str | None = None,
) -> list[Tensor]: ...
def StatelessIf(
    *,
    cond: _TensorLike,
    input: Sequence[_TensorLike],
    Tout: Sequence[_DTypeLike],
    then_branch: Callable[..., Any],
    else_branch: Callable[..., Any],
    output_shapes: Sequence[_ShapeLike] = [],
    name: str | None = None,
) -> list[Tensor]: ...
def StatelessMultinomial(
    *,
    logits: _TensorLike,
    num_samples: _TensorLike,
    seed: _TensorLike,
    output_dtype: _DTypeLike = "int64",
    name: str | None = None,
) -> Tensor: ...
def StatelessParameterizedTruncatedNormal(
    *,
    shape: _TensorLike,
    seed: _TensorLike,
    means: _TensorLike,
    stddevs: _TensorLike,
    minvals: _TensorLike,
    maxvals: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomBinomial(
    *,
    shape: _TensorLike,
    seed: _TensorLike,
    counts: _TensorLike,
    probs: _TensorLike,
    dtype: _DTypeLike = "int64",
    name: str | None = None,
) -> Tensor: ...
def StatelessRandomGammaV2(
    *, shape: _TensorLike, seed: _TensorLike, alpha: _TensorLike, name: str | None = None
) -> Tensor: ...
def StatelessRandomNormal(
    *, shape: _TensorLike, seed: _TensorLike, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def StatelessRandomPoisson(
    *, shape: _TensorLike, seed: _TensorLike, lam: _TensorLike, dtype: _DTypeLike, name: str | None = None
) -> Tensor: ...
def StatelessRandomUniform(
    *, shape: _TensorLike, seed: _TensorLike, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def StatelessRandomUniformFullInt(
    *, shape: _TensorLike, seed: _TensorLike, dtype: _DTypeLike = "uint64", name: str | None = None
) -> Tensor: ...
def StatelessRandomUniformInt(
    *,
    shape: _TensorLike,
    seed: _TensorLike,
    minval: _TensorLike,
    maxval: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def StatelessSampleDistortedBoundingBox(
    *,
    image_size: _TensorLike,
    bounding_boxes: _TensorLike,
    min_object_covered: _TensorLike,
    seed: _TensorLike,
    aspect_ratio_range: Sequence[float] = [0.75, 1.33],
    area_range: Sequence[float] = [0.05, 1],
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
    name: str | None = None,
) -> Any: ...
def StatelessTruncatedNormal(
    *, shape: _TensorLike, seed: _TensorLike, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def StatelessWhile(
    *,
    input: Sequence[_TensorLike],
    cond: Callable[..., Any],
    body: Callable[..., Any],
    output_shapes: Sequence[_ShapeLike] = [],
    parallel_iterations: int = 10,
    name: str | None = None,
) -> list[Tensor]: ...
def StaticRegexFullMatch(*, input: _TensorLike, pattern: str | bytes, name: str | None = None) -> Tensor: ...
def StaticRegexReplace(
    *,
    input: _TensorLike,
    pattern: str | bytes,
    rewrite: str | bytes,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor: ...
def StopGradient(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def StridedSlice(
    *,
    input: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor: ...
def StridedSliceGrad(
    *,
    shape: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    dy: _TensorLike,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor: ...
def StringFormat(
    *,
    inputs: Sequence[_TensorLike],
    template: str | bytes = "%s",
    placeholder: str | bytes = "%s",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor: ...
def StringJoin(
    *, inputs: Sequence[_TensorLike], separator: str | bytes = "", name: str | None = None
) -> Tensor: ...
def StringLength(*, input: _TensorLike, unit: str | bytes = "BYTE", name: str | None = None) -> Tensor: ...
def StringLower(*, input: _TensorLike, encoding: str | bytes = "", name: str | None = None) -> Tensor: ...
def StringNGrams(
    *,
    data: _TensorLike,
    data_splits: _TensorLike,
    separator: str | bytes,
    ngram_widths: Sequence[int],
    left_pad: str | bytes,
    right_pad: str | bytes,
    pad_width: int,
    preserve_short_sequences: bool,
    name: str | None = None,
) -> Any: ...
def StringSplit(
    *, input: _TensorLike, delimiter: _TensorLike, skip_empty: bool = True, name: str | None = None
) -> Any: ...
def StringSplitV2(
    *, input: _TensorLike, sep: _TensorLike, maxsplit: int = -1, name: str | None = None
) -> Any: ...
def StringStrip(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def StringToHashBucket(
    *, string_tensor: _TensorLike, num_buckets: int, name: str | None = None
) -> Tensor: ...
def StringToHashBucketFast(*, input: _TensorLike, num_buckets: int, name: str | None = None) -> Tensor: ...
def StringToHashBucketStrong(
    *, input: _TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor: ...
def StringToNumber(
    *, string_tensor: _TensorLike, out_type: _DTypeLike = "float32", name: str | None = None
) -> Tensor: ...
def StringUpper(*, input: _TensorLike, encoding: str | bytes = "", name: str | None = None) -> Tensor: ...
def Sub(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Substr(
    *,
    input: _TensorLike,
    pos: _TensorLike,
    len: _TensorLike,
    unit: str | bytes = "BYTE",
    name: str | None = None,
) -> Tensor: ...
def Sum(
    *, input: _TensorLike, axis: _TensorLike, keep_dims: bool = False, name: str | None = None
) -> Tensor: ...
def Svd(
    *, input: _TensorLike, compute_uv: bool = True, full_matrices: bool = False, name: str | None = None
) -> Any: ...
def Tan(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Tanh(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def TanhGrad(*, y: _TensorLike, dy: _TensorLike, name: str | None = None) -> Tensor: ...
def TensorListConcat(
    *,
    input_handle: _TensorLike,
    element_dtype: _DTypeLike,
    element_shape: _ShapeLike = None,
    name: str | None = None,
) -> Any: ...
def TensorListConcatV2(
    *,
    input_handle: _TensorLike,
    element_shape: _TensorLike,
    leading_dims: _TensorLike,
    element_dtype: _DTypeLike,
    name: str | None = None,
) -> Any: ...
def TensorListFromTensor(
    *, tensor: _TensorLike, element_shape: _TensorLike, name: str | None = None
) -> Any: ...
def TensorListGather(
    *,
    input_handle: _TensorLike,
    indices: _TensorLike,
    element_shape: _TensorLike,
    element_dtype: _DTypeLike,
    name: str | None = None,
) -> Tensor: ...
def TensorListGetItem(
    *,
    input_handle: _TensorLike,
    index: _TensorLike,
    element_shape: _TensorLike,
    element_dtype: _DTypeLike,
    name: str | None = None,
) -> Tensor: ...
def TensorListLength(*, input_handle: _TensorLike, name: str | None = None) -> Tensor: ...
def TensorListPopBack(
    *,
    input_handle: _TensorLike,
    element_shape: _TensorLike,
    element_dtype: _DTypeLike,
    name: str | None = None,
) -> Any: ...
def TensorListPushBack(*, input_handle: _TensorLike, tensor: _TensorLike, name: str | None = None) -> Any: ...
def TensorListReserve(
    *,
    element_shape: _TensorLike,
    num_elements: _TensorLike,
    element_dtype: _DTypeLike,
    name: str | None = None,
) -> Any: ...
def TensorListResize(*, input_handle: _TensorLike, size: _TensorLike, name: str | None = None) -> Any: ...
def TensorListScatter(
    *, tensor: _TensorLike, indices: _TensorLike, element_shape: _TensorLike, name: str | None = None
) -> Any: ...
def TensorListScatterIntoExistingList(
    *, input_handle: _TensorLike, tensor: _TensorLike, indices: _TensorLike, name: str | None = None
) -> Any: ...
def TensorListScatterV2(
    *,
    tensor: _TensorLike,
    indices: _TensorLike,
    element_shape: _TensorLike,
    num_elements: _TensorLike,
    name: str | None = None,
) -> Any: ...
def TensorListSetItem(
    *,
    input_handle: _TensorLike,
    index: _TensorLike,
    item: _TensorLike,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Any: ...
def TensorListSplit(
    *, tensor: _TensorLike, element_shape: _TensorLike, lengths: _TensorLike, name: str | None = None
) -> Any: ...
def TensorListStack(
    *,
    input_handle: _TensorLike,
    element_shape: _TensorLike,
    element_dtype: _DTypeLike,
    num_elements: int = -1,
    name: str | None = None,
) -> Tensor: ...
def TensorScatterAdd(
    *,
    tensor: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def TensorScatterMax(
    *,
    tensor: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def TensorScatterMin(
    *,
    tensor: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def TensorScatterSub(
    *,
    tensor: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def TensorScatterUpdate(
    *,
    tensor: _TensorLike,
    indices: _TensorLike,
    updates: _TensorLike,
    bad_indices_policy: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def TensorStridedSliceUpdate(
    *,
    input: _TensorLike,
    begin: _TensorLike,
    end: _TensorLike,
    strides: _TensorLike,
    value: _TensorLike,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor: ...
def ThreadUnsafeUnigramCandidateSampler(
    *,
    true_classes: _TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def Tile(*, input: _TensorLike, multiples: _TensorLike, name: str | None = None) -> Tensor: ...
def TileGrad(*, input: _TensorLike, multiples: _TensorLike, name: str | None = None) -> Tensor: ...
def Timestamp(*, name: str | None = None) -> Tensor: ...
def ToBool(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def TopK(*, input: _TensorLike, k: int, sorted: bool = True, name: str | None = None) -> Any: ...
def TopKV2(
    *,
    input: _TensorLike,
    k: _TensorLike,
    sorted: bool = True,
    index_type: _DTypeLike = "int32",
    name: str | None = None,
) -> Any: ...
def Transpose(*, x: _TensorLike, perm: _TensorLike, name: str | None = None) -> Tensor: ...
def TridiagonalMatMul(
    *,
    superdiag: _TensorLike,
    maindiag: _TensorLike,
    subdiag: _TensorLike,
    rhs: _TensorLike,
    name: str | None = None,
) -> Tensor: ...
def TridiagonalSolve(
    *,
    diagonals: _TensorLike,
    rhs: _TensorLike,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
    name: str | None = None,
) -> Tensor: ...
def TruncateDiv(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def TruncateMod(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def TruncatedNormal(
    *, shape: _TensorLike, dtype: _DTypeLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> Tensor: ...
def UnicodeDecode(
    *,
    input: _TensorLike,
    input_encoding: str | bytes,
    errors: str | bytes = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    Tsplits: _DTypeLike = "int64",
    name: str | None = None,
) -> Any: ...
def UnicodeDecodeWithOffsets(
    *,
    input: _TensorLike,
    input_encoding: str | bytes,
    errors: str | bytes = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    Tsplits: _DTypeLike = "int64",
    name: str | None = None,
) -> Any: ...
def UnicodeEncode(
    *,
    input_values: _TensorLike,
    input_splits: _TensorLike,
    output_encoding: str | bytes,
    errors: str | bytes = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor: ...
def UnicodeScript(*, input: _TensorLike, name: str | None = None) -> Tensor: ...
def UnicodeTranscode(
    *,
    input: _TensorLike,
    input_encoding: str | bytes,
    output_encoding: str | bytes,
    errors: str | bytes = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor: ...
def UniformCandidateSampler(
    *,
    true_classes: _TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any: ...
def Unique(*, x: _TensorLike, out_idx: _DTypeLike = "int32", name: str | None = None) -> Any: ...
def UniqueV2(
    *, x: _TensorLike, axis: _TensorLike, out_idx: _DTypeLike = "int32", name: str | None = None
) -> Any: ...
def UniqueWithCounts(*, x: _TensorLike, out_idx: _DTypeLike = "int32", name: str | None = None) -> Any: ...
def UniqueWithCountsV2(
    *, x: _TensorLike, axis: _TensorLike, out_idx: _DTypeLike = "int32", name: str | None = None
) -> Any: ...
def Unpack(*, value: _TensorLike, num: int, axis: int = 0, name: str | None = None) -> list[Tensor]: ...
def UnravelIndex(*, indices: _TensorLike, dims: _TensorLike, name: str | None = None) -> Tensor: ...
def UnsortedSegmentJoin(
    *,
    inputs: _TensorLike,
    segment_ids: _TensorLike,
    num_segments: _TensorLike,
    separator: str | bytes = "",
    name: str | None = None,
) -> Tensor: ...
def UnsortedSegmentMax(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def UnsortedSegmentMin(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def UnsortedSegmentProd(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def UnsortedSegmentSum(
    *, data: _TensorLike, segment_ids: _TensorLike, num_segments: _TensorLike, name: str | None = None
) -> Tensor: ...
def UpperBound(
    *,
    sorted_inputs: _TensorLike,
    values: _TensorLike,
    out_type: _DTypeLike = "int32",
    name: str | None = None,
) -> Tensor: ...
def VarHandleOp(
    *,
    dtype: _DTypeLike,
    shape: _ShapeLike,
    container: str | bytes = "",
    shared_name: str | bytes = "",
    debug_name: str | bytes = "",
    allowed_devices: Sequence[str | bytes] = [],
    name: str | None = None,
) -> Any: ...
def VarIsInitializedOp(*, resource: _TensorLike, name: str | None = None) -> Tensor: ...
def VariableShape(
    *, input: _TensorLike, out_type: _DTypeLike = "int32", name: str | None = None
) -> Tensor: ...
def Where(*, condition: _TensorLike, name: str | None = None) -> Tensor: ...
def While(
    *,
    input: Sequence[_TensorLike],
    cond: Callable[..., Any],
    body: Callable[..., Any],
    output_shapes: Sequence[_ShapeLike] = [],
    parallel_iterations: int = 10,
    name: str | None = None,
) -> list[Tensor]: ...
def WriteFile(*, filename: _TensorLike, contents: _TensorLike, name: str | None = None) -> None: ...
def Xdivy(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Xlog1py(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def Xlogy(*, x: _TensorLike, y: _TensorLike, name: str | None = None) -> Tensor: ...
def ZerosLike(*, x: _TensorLike, name: str | None = None) -> Tensor: ...
def Zeta(*, x: _TensorLike, q: _TensorLike, name: str | None = None) -> Tensor: ...
