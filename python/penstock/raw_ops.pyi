"""The operators of the engine, one callable each, named and documented as they are declared in Rust.

Operands come by position or keyword, attributes by keyword. An operand that is not a tensor is converted: to
the dtype of the operands that share its dtype, where a Python value can be. `name` names the result in a
graph.
"""

# Written by tools/generate.py.

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never, TypeAlias

from penstock._core import Tensor, _DTypeLike, _ShapeLike, _Variable
from penstock._spec import TensorSpec

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
    of 0.

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
    """`max(x, 0)`; NaN of NaN. Derivative 0 at 0.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def relu6(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`min(max(x, 0), 6)`; NaN of NaN. Derivative 0 at 0 and 6.

    Elementwise: the result has the shape of `x`.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
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
    """`x` to the `y`. Integers wrap; to a negative exponent they give 0, but 1 and -1 keep their magnitude.

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
            float64, complex64, complex128.
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
    numbers lose their imaginary part. Anything but 0 is true.

    Errors: `DType` for strings.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
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
    """The product; 1 of nothing. Integers wrap. Second derivatives are exact where no element is 0.

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

    Errors: `InvalidArgument` for an axis that is out of range or empty.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64.
    """

def argmin(x: _TensorLike, *, axis: int = 0, dtype: _DTypeLike = "int64", name: str | None = None) -> Tensor:
    """The index of the least element along an axis.

    The result, of dtype `dtype` (`int32` or `int64`), has the shape of `x` without `axis`; a negative axis
    counts from the end. The first of equal elements counts, and NaN as the most extreme.

    Errors: `InvalidArgument` for an axis that is out of range or empty.

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
    """Running products. Second derivatives are exact where no element is 0.

    The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the
    elements up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse`
    is true. Integers wrap.

    Errors: `InvalidArgument` for an axis that is out of range.

    Dtypes:
        x: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
            complex64, complex128.
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

# --- array ---

def identity(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def stop_gradient(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x`, through which no gradient flows.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def ensure_shape(x: _TensorLike, *, shape: _ShapeLike, name: str | None = None) -> Tensor:
    """`x`, whose shape must be one of `shape`.

    What `shape` says is known of the result. Raises InvalidArgument where the shape differs, when the graph
    is built or when it runs.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def check_numerics(tensor: _TensorLike, *, message: str = "", name: str | None = None) -> Tensor:
    """`tensor`, all of whose elements must be finite.

    Raises InvalidArgument with `message` where one is infinite or not a number. The gradient is checked too.

    Dtypes:
        tensor: float16, bfloat16, float32, float64.
    """

def shape(x: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None) -> Tensor:
    """The extents of `x`, as a vector of `dtype`, which is `i32` or `i64`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def size(x: _TensorLike, *, dtype: _DTypeLike = "int32", name: str | None = None) -> Tensor:
    """The number of elements of `x`, as a scalar of `dtype`, which is `i32` or `i64`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def rank(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """The number of dimensions of `x`, as an `i32` scalar.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def fill(dims: _TensorLike, value: _TensorLike, *, name: str | None = None) -> Tensor:
    """An array of the extents `dims` of the scalar `value`.

    Raises InvalidArgument for a negative size, ResourceExhausted where the memory cannot be had.

    Dtypes:
        dims: int32, int64.
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def zeros_like(x: _TensorLike, *, name: str | None = None) -> Tensor:
    """Zeros of the dtype and shape of `x`; `false` for `bool`, empty strings for strings.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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
            bfloat16, float32, float64, complex64, complex128, string.
    """

def reshape(x: _TensorLike, shape: _TensorLike, *, name: str | None = None) -> Tensor:
    """The elements of `x`, in row-major order, under the extents `shape`.

    One size may be -1: it is what the number of elements leaves. The result shares the data of `x`. Raises
    InvalidArgument where the number of elements differs, for a size below -1, and for more than one -1.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
        shape: int32, int64.
    """

def expand_dims(x: _TensorLike, *, axis: int, name: str | None = None) -> Tensor:
    """`x` with a dimension of size 1 inserted at `axis`, which is in `-rank - 1 ..= rank`.

    The result shares the data of `x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def squeeze(
    x: _TensorLike, *, axes: int | Sequence[int] | Tensor | None = None, name: str | None = None
) -> Tensor:
    """`x` without the dimensions `axes`, which must have size 1; without all that have where `axes` is left
    out or empty.

    The result shares the data of `x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def transpose(
    x: _TensorLike, *, perm: int | Sequence[int] | Tensor | None = None, name: str | None = None
) -> Tensor:
    """`x` with its dimensions in the order `perm`: dimension `i` of the result is dimension `perm[i]` of `x`.

    Without `perm` the order is reversed. `perm` is an attribute: an order that is computed at run time is not
    supported.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def broadcast_to(x: _TensorLike, shape: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` repeated to the extents `shape` by NumPy's rule of broadcasting.

    Raises InvalidArgument where a dimension of `x` is neither 1 nor the one it stands for, or `x` has more
    dimensions.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
        shape: int32, int64.
    """

def tile(x: _TensorLike, multiples: _TensorLike, *, name: str | None = None) -> Tensor:
    """`x` repeated `multiples[i]` times along dimension `i`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
        multiples: int32, int64.
    """

def reverse(x: _TensorLike, *, axes: int | Sequence[int] | Tensor, name: str | None = None) -> Tensor:
    """`x` with the order of the elements along each of `axes` reversed.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def pad(
    x: _TensorLike, paddings: _TensorLike, constant_values: _TensorLike, *, name: str | None = None
) -> Tensor:
    """`x` with `paddings[i, 0]` times `constant_values` before and `paddings[i, 1]` times after it along
    dimension `i`.

    `paddings` is an integer matrix `[rank, 2]`, `constant_values` a scalar.

    Dtypes:
        x, constant_values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16,
            float32, float64, complex64, complex128, string.
        paddings: int32, int64.
    """

def concat(*values: _TensorLike, axis: int, name: str | None = None) -> Tensor:
    """`values` one after the other along `axis`.

    All have the same rank, at least 1, and the same extents but along `axis`.

    Dtypes:
        values: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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
            float64, complex64, complex128, string.
    """

def unstack(
    value: _TensorLike, *, num: int | None = None, axis: int = 0, name: str | None = None
) -> _Tensors:
    """The `num` entries of `value` along `axis`, each without that dimension.

    `num` may be left out where the size along `axis` is known. Along the first dimension the results share
    the data of `value`.

    Dtypes:
        value: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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
            float64, complex64, complex128, string.
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
    entry are kept whole. A slice of whole rows shares the data of `x`. Raises OutOfRange for a single index
    that is not there, InvalidArgument for a stride of 0 and for too many indices.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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
            float64, complex64, complex128, string.
    """

def slice(x: _TensorLike, begin: _TensorLike, size: _TensorLike, *, name: str | None = None) -> Tensor:
    """The `size[i]` elements of `x` from `begin[i]` on along each dimension `i`; all that follow where
    `size[i]` is -1.

    `begin` and `size` are integer vectors with an entry for each dimension. A slice of whole rows shares the
    data of `x`. Raises InvalidArgument where the box is not inside `x`.

    Dtypes:
        x: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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
            float64, complex64, complex128, string.
    """

def gather(
    params: _TensorLike,
    indices: _TensorLike,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    drop_negative: bool = False,
    name: str | None = None,
) -> Tensor:
    """The entries of `params` along `axis` that `indices` names.

    The result has the extents `params[..axis] + indices[batch_dims..] + params[axis + 1..]`. The first
    `batch_dims` dimensions of both operands are gone through together. With `drop_negative` a negative index
    gives zeros. Any other index outside of the dimension raises InvalidArgument, which names the first and
    its position.

    Dtypes:
        params: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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

def gather_nd(params: _TensorLike, indices: _TensorLike, *, name: str | None = None) -> Tensor:
    """The slices of `params` that the rows of `indices` name.

    The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of `params`; the result
    has the extents `indices[..-1] + params[k..]`. Raises InvalidArgument for a position that is not there.

    Dtypes:
        params: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
        indices: int32, int64.
    """

def scatter_nd(
    indices: _TensorLike, updates: _TensorLike, shape: _TensorLike, *, name: str | None = None
) -> Tensor:
    """Zeros of the extents `shape`, with `updates` added at the places that the rows of `indices` name.

    `updates` has the extents `indices[..-1] + shape[k..]`. Updates of one place are added in order. Raises
    InvalidArgument for a position that is not there.

    Dtypes:
        indices: int32, int64.
        updates: int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128.
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
            float32, float64, complex64, complex128, string.
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

    The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the two words of
    `seed` alone.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
    """

def stateless_random_normal(
    shape: _TensorLike, seed: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Floats of the standard normal distribution.

    The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the two words of
    `seed` alone.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
    """

def stateless_truncated_normal(
    shape: _TensorLike, seed: _TensorLike, *, dtype: _DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Floats of the standard normal distribution, drawn again while their magnitude is 2 or more.

    The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the two words of
    `seed` alone.

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

    The numbers depend on the two words of `seed` alone. The values are biased by less than the share of the
    range in 2^32 (2^64 for 64 bits). Raises InvalidArgument where the range is empty.

    Dtypes:
        shape: int32, int64.
        seed: int32, int64.
        minval, maxval: int8, int16, int32, int64, uint8, uint16, uint32, uint64.
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
            float64, complex64, complex128, string.
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
            float64, complex64, complex128, string.
    """

def string_format(*data: _TensorLike, template: str, summarize: int = 3, name: str | None = None) -> Tensor:
    """`template` with each `{}` replaced by the text of the next of `data`, a string scalar; `{{` and `}}`
    are braces.

    Of each dimension the first and last `summarize` entries are shown, all where that is negative.

    Dtypes:
        data: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
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
#             float64, complex64, complex128, string.
#     """

def host_call(
    *args: _TensorLike,
    func: Callable[..., Iterable[_TensorLike]],
    outs: Iterable[_TypeLike],
    stateful: bool = True,
    name: str | None = None,
) -> _Tensors | None:
    """What the host code `func` gives for `args`: tensors of the types `outs`.

    It runs on the thread that runs the graph. `stateful` says whether the code does more than compute its
    results; calls keep their order and are neither dropped nor merged in either case. Raises InvalidArgument
    where the number or a shape of the results is not as declared, DType where a dtype is not, and whatever
    the code raises.

    Dtypes:
        args: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
            float64, complex64, complex128, string.
    """

def timestamp(*, name: str | None = None) -> Tensor:
    """Seconds since 1970-01-01 00:00 UTC, an `f64` scalar.

    It keeps its place among all that has effects.
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
# def while(*init: _TensorLike, name: str | None = None) -> _Tensors | None:
#     """Repeats its second region while its first gives true.
#
#     Both regions take the loop variables as parameters; the operands are their first values, the results of
#     the second region their next, and the results of the instruction their last. A loop variable keeps its
#     dtype, and its shape stays within the type of the parameter.
#
#     Dtypes:
#         init: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
#             float64, complex64, complex128, string.
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

    The region holds elementwise instructions and nothing else, all of one result shape, and uses no value
    from outside. An operand has that shape or a single element. The optimiser makes these instructions, so
    that a device runs the group in one pass over memory.

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
            float64, complex64, complex128, string.
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
