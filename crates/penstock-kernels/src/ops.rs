//! The elementwise operators: their names, the dtypes they take and the dtype they give.

use penstock_data::{DType, DTypeSet};

/// An operator of one operand. Floats of 16 bits are computed in `f32` and rounded once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Unary {
    /// `-x`; wraps on integers.
    Neg,
    /// Magnitude; wraps on integers (`abs MIN == MIN`), real for complex.
    Abs,
    /// -1, 0 or 1; NaN of NaN; `z / |z|` for complex.
    Sign,
    /// `x * x`.
    Square,
    /// Square root.
    Sqrt,
    /// `1 / sqrt x`; infinite at 0.
    Rsqrt,
    /// `1 / x`.
    Reciprocal,
    /// `e^x`.
    Exp,
    /// `e^x - 1`.
    Expm1,
    /// Natural logarithm.
    Log,
    /// `log(1 + x)`.
    Log1p,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `log(1 + e^x)`.
    Softplus,
    /// `max(x, 0)`; NaN of NaN, 0 of -0.
    Relu,
    /// `min(max(x, 0), 6)`; NaN of NaN, 0 of -0.
    Relu6,
    /// 1 of positive numbers, else 0, of NaN too.
    Step,
    /// `x` if positive, else `e^x - 1`.
    Elu,
    /// The scaled ELU of Klambauer et al.
    Selu,
    /// `x / (1 + |x|)`.
    Softsign,
    /// Largest integer not above.
    Floor,
    /// Smallest integer not below.
    Ceil,
    /// Nearest integer, ties to even; identity on integers.
    Round,
    /// The same as [`Unary::Round`].
    Rint,
    /// Nearest integer towards zero.
    Trunc,
    /// Error function.
    Erf,
    /// Complementary error function.
    Erfc,
    /// Logarithm of the magnitude of the gamma function.
    Lgamma,
    /// Logarithmic derivative of the gamma function.
    Digamma,
    /// Inverse of the error function.
    Erfinv,
    /// Quantile of the standard normal distribution.
    Ndtri,
    /// Whether NaN.
    IsNan,
    /// Whether infinite, of either sign.
    IsInf,
    /// Whether neither NaN nor infinite.
    IsFinite,
    /// `not` of a boolean.
    LogicalNot,
    /// Complement of every bit of an integer.
    BitNot,
    /// Real part of a complex number.
    Real,
    /// Imaginary part of a complex number.
    Imag,
    /// Complex conjugate.
    Conj,
    /// Phase of a complex number, in (-pi, pi].
    Angle,
}

/// An operator of two operands of one dtype. Floats of 16 bits are computed in `f32` and rounded once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Binary {
    /// `x + y`; wraps on integers.
    Add,
    /// `x - y`; wraps on integers.
    Sub,
    /// `x * y`; wraps on integers.
    Mul,
    /// True division, of floats and complex.
    Div,
    /// Quotient rounded to negative infinity, with NumPy's edge cases. Integers: error if `y` is 0.
    FloorDiv,
    /// Remainder with the sign of `y`, as in Python. Integers: error if `y` is 0.
    FloorMod,
    /// Quotient rounded to zero. Integers: error if `y` is 0.
    TruncDiv,
    /// Remainder with the sign of `x`, as in C. Integers: error if `y` is 0.
    TruncMod,
    /// `x` to the `y`. Integers wrap; error if `y` is negative.
    Pow,
    /// The greater; NaN if either is; the first of equal operands (so of -0 and 0).
    Max,
    /// The lesser; NaN if either is; the first of equal operands (so of -0 and 0).
    Min,
    /// Angle of the point (`y`, `x`), the first operand being the ordinate.
    Atan2,
    /// `(x - y)^2`; `|x - y|^2` for complex.
    SquaredDifference,
    /// `x / y`, but 0 if `y` is 0.
    DivNoNan,
    /// `x * y`, but 0 if `y` is 0.
    MulNoNan,
    /// `x * log y`, but 0 if `x` is 0.
    Xlogy,
    /// `x / y`, but 0 if `x` is 0.
    Xdivy,
    /// The next value after `x` towards `y`.
    NextAfter,
    /// The Hurwitz zeta function of order `x` at `y`.
    Zeta,
    /// The derivative of order `x + 1` of the logarithm of the gamma function at `y`.
    Polygamma,
    /// How a number `y` of the gamma distribution of shape `x` moves with the shape.
    GammaSlope,
    /// `and` of booleans.
    LogicalAnd,
    /// `or` of booleans.
    LogicalOr,
    /// Exclusive `or` of booleans.
    LogicalXor,
    /// Bitwise `and` of integers.
    BitAnd,
    /// Bitwise `or` of integers.
    BitOr,
    /// Bitwise exclusive `or` of integers.
    BitXor,
    /// Left shift. The amount is clamped to 0 ..= width; a full width gives 0.
    Shl,
    /// Right shift, arithmetic for signed integers. The amount is clamped to 0 ..= width; a full
    /// width gives 0, or -1 of a negative number.
    Shr,
    /// `x == y`.
    Equal,
    /// `x != y`.
    NotEqual,
    /// `x < y`.
    Less,
    /// `x <= y`.
    LessEqual,
    /// `x > y`.
    Greater,
    /// `x >= y`.
    GreaterEqual,
    /// The complex number of a real and an imaginary part.
    Complex,
}

const BOOLEAN_OR_NUMERIC: DTypeSet = DTypeSet::BOOL.or(DTypeSet::NUMERIC);
const WIDE_FLOAT: DTypeSet = DTypeSet::of(&[DType::F32, DType::F64]);

/// `(operator, name, operand dtypes)`, in the order of the discriminants.
const UNARY: [(Unary, &str, DTypeSet); 51] = {
    use DTypeSet as S;
    use Unary::*;
    [
        (Neg, "neg", S::NUMERIC),
        (Abs, "abs", S::NUMERIC),
        (Sign, "sign", S::NUMERIC),
        (Square, "square", S::NUMERIC),
        (Sqrt, "sqrt", S::INEXACT),
        (Rsqrt, "rsqrt", S::INEXACT),
        (Reciprocal, "reciprocal", S::INEXACT),
        (Exp, "exp", S::INEXACT),
        (Expm1, "expm1", S::INEXACT),
        (Log, "log", S::INEXACT),
        (Log1p, "log1p", S::INEXACT),
        (Sin, "sin", S::INEXACT),
        (Cos, "cos", S::INEXACT),
        (Tan, "tan", S::INEXACT),
        (Asin, "asin", S::INEXACT),
        (Acos, "acos", S::INEXACT),
        (Atan, "atan", S::INEXACT),
        (Sinh, "sinh", S::INEXACT),
        (Cosh, "cosh", S::INEXACT),
        (Tanh, "tanh", S::INEXACT),
        (Asinh, "asinh", S::INEXACT),
        (Acosh, "acosh", S::INEXACT),
        (Atanh, "atanh", S::INEXACT),
        (Sigmoid, "sigmoid", S::INEXACT),
        (Softplus, "softplus", S::FLOAT),
        (Relu, "relu", S::REAL),
        (Relu6, "relu6", S::REAL),
        (Step, "step", S::FLOAT),
        (Elu, "elu", S::FLOAT),
        (Selu, "selu", S::FLOAT),
        (Softsign, "softsign", S::FLOAT),
        (Floor, "floor", S::FLOAT),
        (Ceil, "ceil", S::FLOAT),
        (Round, "round", S::REAL),
        (Rint, "rint", S::FLOAT),
        (Trunc, "trunc", S::FLOAT),
        (Erf, "erf", S::FLOAT),
        (Erfc, "erfc", S::FLOAT),
        (Lgamma, "lgamma", S::FLOAT),
        (Digamma, "digamma", S::FLOAT),
        (Erfinv, "erfinv", S::FLOAT),
        (Ndtri, "ndtri", S::FLOAT),
        (IsNan, "is_nan", S::FLOAT),
        (IsInf, "is_inf", S::FLOAT),
        (IsFinite, "is_finite", S::FLOAT),
        (LogicalNot, "logical_not", S::BOOL),
        (BitNot, "bit_not", S::INTEGER),
        (Real, "real", S::COMPLEX),
        (Imag, "imag", S::COMPLEX),
        (Conj, "conj", S::COMPLEX),
        (Angle, "angle", S::COMPLEX),
    ]
};

/// `(operator, name, operand dtypes)`, in the order of the discriminants.
const BINARY: [(Binary, &str, DTypeSet); 36] = {
    use Binary::*;
    use DTypeSet as S;
    [
        (Add, "add", S::NUMERIC),
        (Sub, "sub", S::NUMERIC),
        (Mul, "mul", S::NUMERIC),
        (Div, "div", S::INEXACT),
        (FloorDiv, "floor_div", S::REAL),
        (FloorMod, "floor_mod", S::REAL),
        (TruncDiv, "trunc_div", S::REAL),
        (TruncMod, "trunc_mod", S::REAL),
        (Pow, "pow", S::NUMERIC),
        (Max, "max", S::REAL),
        (Min, "min", S::REAL),
        (Atan2, "atan2", S::FLOAT),
        (SquaredDifference, "squared_difference", S::NUMERIC),
        (DivNoNan, "div_no_nan", S::INEXACT),
        (MulNoNan, "mul_no_nan", S::INEXACT),
        (Xlogy, "xlogy", S::INEXACT),
        (Xdivy, "xdivy", S::INEXACT),
        (NextAfter, "next_after", WIDE_FLOAT),
        (Zeta, "zeta", WIDE_FLOAT),
        (Polygamma, "polygamma", WIDE_FLOAT),
        (GammaSlope, "gamma_slope", S::FLOAT),
        (LogicalAnd, "logical_and", S::BOOL),
        (LogicalOr, "logical_or", S::BOOL),
        (LogicalXor, "logical_xor", S::BOOL),
        (BitAnd, "bit_and", S::INTEGER),
        (BitOr, "bit_or", S::INTEGER),
        (BitXor, "bit_xor", S::INTEGER),
        (Shl, "shl", S::INTEGER),
        (Shr, "shr", S::INTEGER),
        (Equal, "equal", BOOLEAN_OR_NUMERIC),
        (NotEqual, "not_equal", BOOLEAN_OR_NUMERIC),
        (Less, "less", S::REAL),
        (LessEqual, "less_equal", S::REAL),
        (Greater, "greater", S::REAL),
        (GreaterEqual, "greater_equal", S::REAL),
        (Complex, "complex", WIDE_FLOAT),
    ]
};

impl Unary {
    /// Every operator, in the order of the discriminants.
    pub const ALL: &[Unary] = &{
        let mut all = [Unary::Neg; UNARY.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = UNARY[i].0;
            i += 1;
        }
        all
    };

    /// The name, in snake case.
    pub const fn name(self) -> &'static str {
        UNARY[self as usize].1
    }
}

impl Binary {
    /// Every operator, in the order of the discriminants.
    pub const ALL: &[Binary] = &{
        let mut all = [Binary::Add; BINARY.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = BINARY[i].0;
            i += 1;
        }
        all
    };

    /// The name, in snake case.
    pub const fn name(self) -> &'static str {
        BINARY[self as usize].1
    }

    /// Whether the operator is a comparison, whose result is boolean.
    pub const fn is_comparison(self) -> bool {
        self as u8 >= Binary::Equal as u8 && self as u8 <= Binary::GreaterEqual as u8
    }
}

/// The operand dtypes that `op` takes.
pub const fn unary_dtypes(op: Unary) -> DTypeSet {
    UNARY[op as usize].2
}

/// The operand dtypes that `op` takes.
pub const fn binary_dtypes(op: Binary) -> DTypeSet {
    BINARY[op as usize].2
}

/// The dtype of the result of `op` on an operand of `dtype`.
pub fn unary_output(op: Unary, dtype: DType) -> DType {
    match op {
        Unary::IsNan | Unary::IsInf | Unary::IsFinite => DType::Bool,
        Unary::Abs | Unary::Real | Unary::Imag | Unary::Angle => dtype.real(),
        _ => dtype,
    }
}

/// The dtype of the result of `op` on operands of `dtype`.
pub fn binary_output(op: Binary, dtype: DType) -> DType {
    match op {
        _ if op.is_comparison() => DType::Bool,
        Binary::Complex if dtype == DType::F32 => DType::C64,
        Binary::Complex => DType::C128,
        _ => dtype,
    }
}

const _: () = {
    let mut i = 0;
    while i < UNARY.len() {
        assert!(UNARY[i].0 as usize == i, "the table is in the order of the discriminants");
        i += 1;
    }
    i = 0;
    while i < BINARY.len() {
        assert!(BINARY[i].0 as usize == i, "the table is in the order of the discriminants");
        i += 1;
    }
};
