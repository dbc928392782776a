// Written by tools/generate.py.

//! The operators as methods, and their attributes.

use std::sync::Arc;

use penstock_data::{DType, Error, Result, Tensor};
use penstock_ir::{Attr, Attrs, Builder, FuncRef, Function, HostRef, OpDef, Type, Value};
use smallvec::SmallVec;

/// The results of an instruction.
type Values = SmallVec<[Value; 1]>;

/// The operators as methods of a [`Builder`]: each adds an instruction to the innermost open region and gives
/// its results.
///
/// A method takes the operands and the attributes that must be given. Where an operator has others, a second
/// method, whose name ends in `_with`, takes them as a struct of [`attributes`]. What does not fit is an
/// error that names the argument.
///
/// ```
/// use penstock::{DType, Operators, Shape, Type, attributes, builder};
///
/// # fn main() -> penstock::Result<()> {
/// let mut g = builder();
/// let x = g.input(Type::tensor(DType::F32, Shape::known(&[3, 4])), Some("x"));
/// let square = g.matmul_with(x, x, attributes::Matmul::new().transpose_b(true))?;
/// let sum = g.reduce_sum(square)?;
/// assert_eq!(g.type_of(square)?.to_string(), "f32[3,3]");
/// let error = g.matmul(x, x).unwrap_err();
/// assert_eq!(error.op(), Some("matmul"));
/// # g.finish(&[sum]).map(drop)
/// # }
/// ```
pub trait Operators {
    /// Adds an instruction with complete attributes, and gives its results.
    ///
    /// # Errors
    /// What the operator's declaration and inference report, with operator, argument and location.
    fn add_instruction(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<Values>;

    /// The type of a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a value of another graph.
    fn type_of(&self, value: Value) -> Result<&Type>;

    /// `-x`; wraps on integers.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn neg(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::NEG, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Magnitude: real for complex `x`; the least signed integer is its own. Derivative 0 at 0.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn abs(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ABS, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// -1, 0 or 1 as `x` is negative, 0 (of either sign) or positive, NaN of NaN; `x / |x|` for complex `x`, 0 of 0.
    /// Derivative zeros, as in TensorFlow, so that the second derivative of `abs` is there.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sign(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SIGN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x * x`; wraps on integers.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn square(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SQUARE, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Square root; NaN of a negative number, the principal branch for complex `x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sqrt(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SQRT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `1 / sqrt(x)`; infinite at 0.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn rsqrt(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::RSQRT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `1 / x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reciprocal(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::RECIPROCAL, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `e^x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn exp(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::EXP, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `e^x - 1`, accurate near 0.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn expm1(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::EXPM1, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Natural logarithm: -inf at 0, NaN of a negative number, the principal branch for complex `x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn log(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::LOG, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `log(1 + x)`, accurate near 0.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn log1p(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::LOG1P, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Sine of `x` in radians.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sin(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SIN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Cosine of `x` in radians.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cos(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::COS, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Tangent of `x` in radians.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tan(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::TAN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Inverse sine, in radians; NaN outside \[-1, 1\].
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn asin(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ASIN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Inverse cosine, in radians; NaN outside \[-1, 1\].
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn acos(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ACOS, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Inverse tangent, in radians.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn atan(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ATAN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Hyperbolic sine.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sinh(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SINH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Hyperbolic cosine.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cosh(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::COSH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Hyperbolic tangent.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tanh(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::TANH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Inverse hyperbolic sine.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn asinh(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ASINH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Inverse hyperbolic cosine; NaN below 1.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn acosh(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ACOSH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Inverse hyperbolic tangent; NaN outside \[-1, 1\].
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn atanh(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ATANH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Logistic function, `1 / (1 + e^-x)`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sigmoid(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SIGMOID, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `log(1 + e^x)`, without overflow.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn softplus(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SOFTPLUS, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `max(x, 0)`; NaN of NaN. Derivative 0 at 0 and NaN; the second is zeros, as in TensorFlow.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn relu(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::RELU, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `min(max(x, 0), 6)`; NaN of NaN. Derivative 0 at 0, 6 and NaN; the second is zeros, as in TensorFlow.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn relu6(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::RELU6, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// 1 where `x` is positive, else 0, for NaN too: the derivative of `relu`. Derivative zeros.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn step(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::STEP, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Exponential linear unit: `x` where it is not negative, else `e^x - 1` (Clevert et al. 2015).
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn elu(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ELU, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Scaled exponential linear unit: 1.0507 `x` where it is not negative, else 1.7581 `(e^x - 1)` (Klambauer et al.
    /// 2017).
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn selu(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SELU, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x / (1 + |x|)`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn softsign(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::SOFTSIGN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Largest integer not above `x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn floor(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::FLOOR, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Smallest integer not below `x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn ceil(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::CEIL, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Nearest integer, ties to even; integers are unchanged.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn round(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ROUND, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Nearest integer, ties to even.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn rint(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::RINT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Nearest integer towards 0.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn trunc(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::TRUNC, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn erf(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ERF, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Complementary error function, `1 - erf(x)`, accurate for large `x`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn erfc(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ERFC, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Logarithm of the magnitude of the gamma function; inf at 0 and the negative integers.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn lgamma(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::LGAMMA, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Derivative of `lgamma`.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn digamma(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::DIGAMMA, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The number whose error function is `x`: infinite at -1 and 1, NaN beyond (Wichura 1988, AS 241).
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn erfinv(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ERFINV, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The quantile of the standard normal distribution at `x`: infinite at 0 and 1, NaN beyond (Wichura 1988, AS 241).
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn ndtri(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::NDTRI, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether NaN.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn is_nan(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::IS_NAN, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether infinite, of either sign.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn is_inf(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::IS_INF, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether neither NaN nor infinite.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn is_finite(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::IS_FINITE, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `not` of a boolean.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn logical_not(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::LOGICAL_NOT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Complement of every bit of an integer.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn invert(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::INVERT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Real part of a complex number.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn real(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::REAL, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Imaginary part of a complex number.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn imag(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::IMAG, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Complex conjugate.
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conj(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::CONJ, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Phase of a complex number in radians, in (-pi, pi\].
    ///
    /// Elementwise: the result has the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn angle(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::unary::ANGLE, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x + y`; wraps on integers. Strings are joined by `string_add`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn add(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::ADD, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x - y`; wraps on integers.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sub(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::SUB, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x * y`; wraps on integers.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn mul(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::MUL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x / y` of floats: infinite or NaN where `y` is 0. Integers are cast first.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn div(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::DIV, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Quotient rounded to negative infinity, Python's `//`. Integer division by 0 is an error.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn floordiv(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::FLOORDIV, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Remainder with the sign of `y`, Python's `%`. Integer division by 0 is an error.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn floormod(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::FLOORMOD, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Quotient rounded to 0, C's `/` of integers. Integer division by 0 is an error.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn truncatediv(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::TRUNCATEDIV, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Remainder with the sign of `x`, C's `%` and `fmod`. Integer division by 0 is an error.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn truncatemod(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::TRUNCATEMOD, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` to the `y`. Integers wrap; a negative exponent of integers is an error.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn pow(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::POW, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The greater of `x` and `y`; NaN where either is. Where they are equal the gradient goes to `x`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn maximum(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::MAXIMUM, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The lesser of `x` and `y`; NaN where either is. Where they are equal the gradient goes to `x`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn minimum(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::MINIMUM, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Angle in radians of the point whose ordinate is `x` and whose abscissa is `y`, in \[-pi, pi\].
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn atan2(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::ATAN2, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `(x - y)^2`; `|x - y|^2` for complex operands.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn squared_difference(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::SQUARED_DIFFERENCE, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x / y`, but 0 where `y` is 0.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn divide_no_nan(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::DIVIDE_NO_NAN, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x * y`, but 0 where `y` is 0, even if `x` is infinite or NaN.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn multiply_no_nan(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::MULTIPLY_NO_NAN, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x * log(y)`, but 0 where `x` is 0.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn xlogy(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::XLOGY, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x / y`, but 0 where `x` is 0.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn xdivy(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::XDIVY, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The next representable value after `x` in the direction of `y`; `y` where they are equal, NaN where either is.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn nextafter(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::NEXTAFTER, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The Hurwitz zeta function, the sum of `(y + k)^-x` over k from 0; NaN for `x` \< 1. No gradient reaches `x`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn zeta(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::ZETA, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The derivative of order `x` of `digamma` at `y`; NaN where `x` is no whole number from 0. No gradient reaches `x`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn polygamma(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::POLYGAMMA, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The derivative by `x` of a number `y` drawn from the gamma distribution of shape `x` and rate 1, at a fixed
    /// quantile.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn random_gamma_grad(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::RANDOM_GAMMA_GRAD, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The lower regularised incomplete gamma function of shape `x` at `y`; NaN where `x` is not positive or `y` is
    /// negative.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn igamma(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::IGAMMA, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The upper regularised incomplete gamma function of shape `x` at `y`, 1 less the lower one.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn igammac(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::IGAMMAC, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Bitwise `and` of integers.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bitwise_and(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::BITWISE_AND, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Bitwise `or` of integers.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bitwise_or(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::BITWISE_OR, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Bitwise exclusive `or` of integers.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bitwise_xor(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::BITWISE_XOR, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` shifted left by `y` bits, which is clamped to between 0 and the width of the dtype.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn left_shift(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::LEFT_SHIFT, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` shifted right by `y` bits, which is clamped to between 0 and the width of the dtype; arithmetic for signed
    /// dtypes.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn right_shift(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::RIGHT_SHIFT, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The complex number whose real part is `x` and whose imaginary part is `y`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn complex(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::COMPLEX, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The sum of one or more tensors of one shape and dtype, added from the first to the last; wraps on integers.
    ///
    /// Errors: `InvalidArgument` where there is no operand or shapes differ.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn add_n(&mut self, inputs: &[Value]) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binary::ADD_N, inputs, Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `x == y`; NaN equals nothing. Strings are compared by `string_equal`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn equal(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::EQUAL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `x != y`; NaN differs from everything. Strings are compared by `string_not_equal`.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn not_equal(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::NOT_EQUAL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `x < y`; false where either is NaN.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn less(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::LESS, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `x <= y`; false where either is NaN.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn less_equal(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::LESS_EQUAL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `x > y`; false where either is NaN.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn greater(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::GREATER, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `x >= y`; false where either is NaN.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn greater_equal(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::GREATER_EQUAL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `and` of booleans.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn logical_and(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::LOGICAL_AND, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `or` of booleans.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn logical_or(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::LOGICAL_OR, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Exclusive `or` of booleans.
    ///
    /// Elementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn logical_xor(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::LOGICAL_XOR, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` where `condition` is true, else `y`.
    ///
    /// Elementwise: the result has the shape that the operands broadcast to. `x` and `y` have one dtype. Strings are
    /// chosen by `string_select`.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn select(&mut self, condition: Value, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::SELECT, &[condition, x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` where `condition` is true, else `y`, of strings.
    ///
    /// Elementwise: the result has the shape that the operands broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_select(&mut self, condition: Value, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::STRING_SELECT, &[condition, x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The string `x` followed by the string `y`.
    ///
    /// Elementwise: the result has the shape that `x` and `y` broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_add(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::STRING_ADD, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether two strings have the same bytes.
    ///
    /// Elementwise: the result has the shape that `x` and `y` broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_equal(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::STRING_EQUAL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether two strings differ in a byte.
    ///
    /// Elementwise: the result has the shape that `x` and `y` broadcast to.
    ///
    /// Errors: `InvalidArgument` where the shapes do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_not_equal(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::compare::STRING_NOT_EQUAL, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The values of `x` as `dtype`.
    ///
    /// Elementwise: the result has the shape of `x`. Floats round to the nearest, ties to even, and become integers by
    /// dropping the fraction, clamped to the range of the dtype (NaN gives 0). Integers wrap. Complex numbers lose their
    /// imaginary part. Anything but 0 is true. Of narrow floats, what is too large becomes infinite, else NaN, else the
    /// greatest number, whichever the dtype has.
    ///
    /// Errors: `DType` for strings.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cast(&mut self, x: Value, dtype: DType) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::cast::CAST, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(dtype)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The bits of `x` as elements of `dtype`.
    ///
    /// The shape is that of `x` where both elements have one size. Smaller elements add a last dimension that holds those
    /// of one element of `x`; larger ones take the place of a last dimension, which holds as many as make one. The first
    /// is the least significant on a little-endian machine.
    ///
    /// Errors: `DType` for booleans, strings and numbers of fewer than 8 bits, `InvalidArgument` for a last dimension of
    /// another size.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bitcast(&mut self, x: Value, dtype: DType) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::cast::BITCAST, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(dtype)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The sum; 0 of nothing. Integers wrap.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_sum(&mut self, x: Value) -> Result<Value> {
        self.reduce_sum_with(x, attributes::ReduceSum::new())
    }

    /// As [`Operators::reduce_sum`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_sum_with(&mut self, x: Value, attrs: attributes::ReduceSum) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_SUM, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The product; 1 of nothing. Integers wrap.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_prod(&mut self, x: Value) -> Result<Value> {
        self.reduce_prod_with(x, attributes::ReduceProd::new())
    }

    /// As [`Operators::reduce_prod`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_prod_with(&mut self, x: Value, attrs: attributes::ReduceProd) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_PROD, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The greatest element: NaN if there is one, the lowest value of the dtype (-inf) of nothing. Equal elements share
    /// the gradient.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_max(&mut self, x: Value) -> Result<Value> {
        self.reduce_max_with(x, attributes::ReduceMax::new())
    }

    /// As [`Operators::reduce_max`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_max_with(&mut self, x: Value, attrs: attributes::ReduceMax) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_MAX, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The least element: NaN if there is one, the highest value of the dtype (inf) of nothing. Equal elements share the
    /// gradient.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_min(&mut self, x: Value) -> Result<Value> {
        self.reduce_min_with(x, attributes::ReduceMin::new())
    }

    /// As [`Operators::reduce_min`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_min_with(&mut self, x: Value, attrs: attributes::ReduceMin) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_MIN, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The arithmetic mean; NaN of nothing. That of integers is rounded towards 0.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_mean(&mut self, x: Value) -> Result<Value> {
        self.reduce_mean_with(x, attributes::ReduceMean::new())
    }

    /// As [`Operators::reduce_mean`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_mean_with(&mut self, x: Value, attrs: attributes::ReduceMean) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_MEAN, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether any element is true; false of nothing.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_any(&mut self, x: Value) -> Result<Value> {
        self.reduce_any_with(x, attributes::ReduceAny::new())
    }

    /// As [`Operators::reduce_any`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_any_with(&mut self, x: Value, attrs: attributes::ReduceAny) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_ANY, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether all elements are true; true of nothing.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_all(&mut self, x: Value) -> Result<Value> {
        self.reduce_all_with(x, attributes::ReduceAll::new())
    }

    /// As [`Operators::reduce_all`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_all_with(&mut self, x: Value, attrs: attributes::ReduceAll) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_ALL, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `log(sum(e^x))`, without overflow; -inf of nothing.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_logsumexp(&mut self, x: Value) -> Result<Value> {
        self.reduce_logsumexp_with(x, attributes::ReduceLogsumexp::new())
    }

    /// As [`Operators::reduce_logsumexp`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reduce_logsumexp_with(&mut self, x: Value, attrs: attributes::ReduceLogsumexp) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::REDUCE_LOGSUMEXP, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The number of elements that are not zero, `int64`. NaN is not zero, -0 is.
    ///
    /// Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from
    /// the shape, or kept with size 1 where `keepdims` is true.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn count_nonzero(&mut self, input: Value) -> Result<Value> {
        self.count_nonzero_with(input, attributes::CountNonzero::new())
    }

    /// As [`Operators::count_nonzero`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn count_nonzero_with(&mut self, input: Value, attrs: attributes::CountNonzero) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::COUNT_NONZERO, &[input], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The sum of `x` over the axes along which a tensor of shape `shape` is repeated when it is broadcast to the shape
    /// of `x`: what `broadcast_to` does to gradients.
    ///
    /// The result has shape `shape`.
    ///
    /// Errors: `InvalidArgument` where `shape` does not broadcast to the shape of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sum_to_shape(&mut self, x: Value, shape: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::SUM_TO_SHAPE, &[x, shape], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The index of the greatest element along an axis.
    ///
    /// The result, of dtype `dtype` (`int32` or `int64`), has the shape of `x` without `axis`; a negative axis counts
    /// from the end. The first of equal elements counts, and NaN as the most extreme.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or empty, or has more elements than `dtype` counts.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn argmax(&mut self, x: Value) -> Result<Value> {
        self.argmax_with(x, attributes::Argmax::new())
    }

    /// As [`Operators::argmax`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn argmax_with(&mut self, x: Value, attrs: attributes::Argmax) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::ARGMAX, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The index of the least element along an axis.
    ///
    /// The result, of dtype `dtype` (`int32` or `int64`), has the shape of `x` without `axis`; a negative axis counts
    /// from the end. The first of equal elements counts, and NaN as the most extreme.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or empty, or has more elements than `dtype` counts.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn argmin(&mut self, x: Value) -> Result<Value> {
        self.argmin_with(x, attributes::Argmin::new())
    }

    /// As [`Operators::argmin`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn argmin_with(&mut self, x: Value, attrs: attributes::Argmin) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::reduce::ARGMIN, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Running sums.
    ///
    /// The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the elements
    /// up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse` is true.
    /// Integers wrap.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cumsum(&mut self, x: Value) -> Result<Value> {
        self.cumsum_with(x, attributes::Cumsum::new())
    }

    /// As [`Operators::cumsum`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cumsum_with(&mut self, x: Value, attrs: attributes::Cumsum) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::scan::CUMSUM, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.exclusive, attrs.reverse])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Running products.
    ///
    /// The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the elements
    /// up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse` is true.
    /// Integers wrap.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cumprod(&mut self, x: Value) -> Result<Value> {
        self.cumprod_with(x, attributes::Cumprod::new())
    }

    /// As [`Operators::cumprod`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cumprod_with(&mut self, x: Value, attrs: attributes::Cumprod) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::scan::CUMPROD, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.exclusive, attrs.reverse])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Running logarithms of sums of exponentials, without overflow; an exclusive one starts with the least finite value.
    ///
    /// The result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the elements
    /// up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse` is true.
    /// Integers wrap.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cumulative_logsumexp(&mut self, x: Value) -> Result<Value> {
        self.cumulative_logsumexp_with(x, attributes::CumulativeLogsumexp::new())
    }

    /// As [`Operators::cumulative_logsumexp`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cumulative_logsumexp_with(&mut self, x: Value, attrs: attributes::CumulativeLogsumexp) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::scan::CUMULATIVE_LOGSUMEXP, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.exclusive, attrs.reverse])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `y[i] = factors[i] * y[i - 1] + terms[i]` along `axis`, from `y[0] = terms[0]` on.
    ///
    /// `factors`, `terms` and the result have one shape; a negative axis counts from the end. Where `exclusive` is true,
    /// element `i` of the result is `y[i - 1]`, and the first is 0; where `reverse` is true, it runs from the end of the
    /// axis.
    ///
    /// Errors: `InvalidArgument` where the shapes differ, and for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn linear_recurrence(&mut self, factors: Value, terms: Value) -> Result<Value> {
        self.linear_recurrence_with(factors, terms, attributes::LinearRecurrence::new())
    }

    /// As [`Operators::linear_recurrence`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn linear_recurrence_with(&mut self, factors: Value, terms: Value, attrs: attributes::LinearRecurrence) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::scan::LINEAR_RECURRENCE, &[factors, terms], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.exclusive, attrs.reverse])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The elements of each row of `x` along `axis`, the least first, or the greatest where `descending`.
    ///
    /// The result has the shape of `x`; a negative axis counts from the end. NaN is above every number; equal elements,
    /// as 0 and -0, keep their order.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sort(&mut self, x: Value) -> Result<Value> {
        self.sort_with(x, attributes::Sort::new())
    }

    /// As [`Operators::sort`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sort_with(&mut self, x: Value, attrs: attributes::Sort) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::sorting::SORT, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.descending])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The positions along `axis` at which the elements of `sort` stood, of dtype `dtype`: `int32` or `int64`.
    ///
    /// The result has the shape of `x`; a negative axis counts from the end. NaN is above every number; equal elements,
    /// as 0 and -0, keep their order.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn argsort(&mut self, x: Value) -> Result<Value> {
        self.argsort_with(x, attributes::Argsort::new())
    }

    /// As [`Operators::argsort`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn argsort_with(&mut self, x: Value, attrs: attributes::Argsort) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::sorting::ARGSORT, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.descending, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The `k` greatest elements of each row of `x` along its last dimension, the greatest first, and their positions.
    ///
    /// Both results have the extents of `x` with `k` in place of the last; positions are of dtype `dtype`: `int32` or
    /// `int64`. Of equal elements the first comes first; NaN is above every number.
    ///
    /// Errors: `InvalidArgument` for a scalar `x`, or a `k` that is negative or above the last extent.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn top_k(&mut self, x: Value, k: Value) -> Result<(Value, Value)> {
        self.top_k_with(x, k, attributes::TopK::new())
    }

    /// As [`Operators::top_k`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn top_k_with(&mut self, x: Value, k: Value, attrs: attributes::TopK) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::sorting::TOP_K, &[x, k], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(Into::into)
    }

    /// For each of `values` the position at which it could be inserted into its row of `sorted_sequence`, which ascends.
    ///
    /// That is the number of elements below it or, where `right`, not above it; NaN is above every number. Both operands
    /// have the same extents but for the last; the result, of dtype `dtype` (`int32` or `int64`), has those of `values`.
    /// Strings are compared byte by byte. Rows that do not ascend give positions without meaning.
    ///
    /// Errors: `InvalidArgument` where the leading extents differ, or an operand is a scalar.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn searchsorted(&mut self, sorted_sequence: Value, values: Value) -> Result<Value> {
        self.searchsorted_with(sorted_sequence, values, attributes::Searchsorted::new())
    }

    /// As [`Operators::searchsorted`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn searchsorted_with(&mut self, sorted_sequence: Value, values: Value, attrs: attributes::Searchsorted) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::sorting::SEARCH_SORTED, &[sorted_sequence, values], Attrs(SmallVec::from_vec(vec![attrs.right, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The distinct elements of a vector in the order in which they first occur, the position of each element of `x`
    /// among them, and how often each occurs.
    ///
    /// Positions and counts are of dtype `dtype`: `int32` or `int64`. 0 and -0 are the same; every NaN is distinct.
    ///
    /// Errors: `InvalidArgument` where `x` is no vector.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unique(&mut self, x: Value) -> Result<(Value, Value, Value)> {
        self.unique_with(x, attributes::Unique::new())
    }

    /// As [`Operators::unique`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unique_with(&mut self, x: Value, attrs: attributes::Unique) -> Result<(Value, Value, Value)> {
        let results = self.add_instruction(&penstock_ops::sorting::UNIQUE, &[x], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(Into::into)
    }

    /// For each of `indices` the element of its row of `x` along `axis` at that position.
    ///
    /// `indices` has the extents of `x` but for `axis`, and the result has those of `indices`. A negative axis counts
    /// from the end.
    ///
    /// Errors: `InvalidArgument` for an axis or an index that is out of range, or extents that differ.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn take_along_axis(&mut self, x: Value, indices: Value) -> Result<Value> {
        self.take_along_axis_with(x, indices, attributes::TakeAlongAxis::new())
    }

    /// As [`Operators::take_along_axis`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn take_along_axis_with(&mut self, x: Value, indices: Value, attrs: attributes::TakeAlongAxis) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::sorting::TAKE_ALONG_AXIS, &[x, indices], Attrs(SmallVec::from_vec(vec![attrs.axis])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Zeros of the extents `shape`, with each of `updates` added to its row along `axis` at the position that `indices`
    /// names for it: what `take_along_axis` does to gradients.
    ///
    /// `indices` and `updates` have the extents `shape` but for `axis`. Updates of one place are added in order.
    ///
    /// Errors: `InvalidArgument` for an axis or an index that is out of range, or extents that differ.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn scatter_along_axis(&mut self, shape: Value, indices: Value, updates: Value) -> Result<Value> {
        self.scatter_along_axis_with(shape, indices, updates, attributes::ScatterAlongAxis::new())
    }

    /// As [`Operators::scatter_along_axis`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn scatter_along_axis_with(&mut self, shape: Value, indices: Value, updates: Value, attrs: attributes::ScatterAlongAxis) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::sorting::SCATTER_ALONG_AXIS, &[shape, indices, updates], Attrs(SmallVec::from_vec(vec![attrs.axis])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The means of entries by segment; 0 of none. That of integers is rounded towards 0.
    ///
    /// The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry `s`
    /// reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for an id not
    /// below `num_segments`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unsorted_segment_mean(&mut self, data: Value, segment_ids: Value, num_segments: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::UNSORTED_SEGMENT_MEAN, &[data, segment_ids, num_segments], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The greatest entries by segment: NaN if there is one, the least finite value of none. Equal entries share the
    /// gradient.
    ///
    /// The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry `s`
    /// reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for an id not
    /// below `num_segments`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unsorted_segment_max(&mut self, data: Value, segment_ids: Value, num_segments: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::UNSORTED_SEGMENT_MAX, &[data, segment_ids, num_segments], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The least entries by segment: NaN if there is one, the greatest finite value of none. Equal entries share the
    /// gradient.
    ///
    /// The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry `s`
    /// reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for an id not
    /// below `num_segments`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unsorted_segment_min(&mut self, data: Value, segment_ids: Value, num_segments: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::UNSORTED_SEGMENT_MIN, &[data, segment_ids, num_segments], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The products of entries by segment; 1 of none. Second derivatives are exact where no element is 0.
    ///
    /// The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry `s`
    /// reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for an id not
    /// below `num_segments`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unsorted_segment_prod(&mut self, data: Value, segment_ids: Value, num_segments: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::UNSORTED_SEGMENT_PROD, &[data, segment_ids, num_segments], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The sums of entries by sorted segment; 0 of none.
    ///
    /// `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in ascending
    /// order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that are negative or
    /// not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn segment_sum(&mut self, data: Value, segment_ids: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::SEGMENT_SUM, &[data, segment_ids], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The means of entries by sorted segment; 0 of none. That of integers is rounded towards 0.
    ///
    /// `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in ascending
    /// order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that are negative or
    /// not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn segment_mean(&mut self, data: Value, segment_ids: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::SEGMENT_MEAN, &[data, segment_ids], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The greatest entries by sorted segment: NaN if there is one, 0 of none. Equal entries share the gradient.
    ///
    /// `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in ascending
    /// order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that are negative or
    /// not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn segment_max(&mut self, data: Value, segment_ids: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::SEGMENT_MAX, &[data, segment_ids], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The least entries by sorted segment: NaN if there is one, 0 of none. Equal entries share the gradient.
    ///
    /// `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in ascending
    /// order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that are negative or
    /// not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn segment_min(&mut self, data: Value, segment_ids: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::SEGMENT_MIN, &[data, segment_ids], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The products of entries by sorted segment; 1 of none. Second derivatives are exact where no element is 0.
    ///
    /// `segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in ascending
    /// order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that are negative or
    /// not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn segment_prod(&mut self, data: Value, segment_ids: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::SEGMENT_PROD, &[data, segment_ids], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// How often each integer from 0 occurs in `arr`, or in each of its rows where `rows` is true, `int64`.
    ///
    /// The last extent of the result is one more than the greatest integer, but not less than `minlength`, nor more than
    /// `maxlength` unless that is negative; integers beyond are left out.
    ///
    /// Errors: `InvalidArgument` for a negative integer, or `rows` of what is no matrix.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bincount(&mut self, arr: Value, minlength: Value, maxlength: Value) -> Result<Value> {
        self.bincount_with(arr, minlength, maxlength, attributes::Bincount::new())
    }

    /// As [`Operators::bincount`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bincount_with(&mut self, arr: Value, minlength: Value, maxlength: Value, attrs: attributes::Bincount) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::segment::BINCOUNT, &[arr, minlength, maxlength], Attrs(SmallVec::from_vec(vec![attrs.rows])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The product of the matrices `a` and `b`, which are the last two dimensions of the operands; the dimensions before
    /// them broadcast.
    ///
    /// `a` of shape `[..., m, k]` and `b` of shape `[..., k, n]` give `[..., m, n]`; a `k` of 0 gives zeros.
    /// `transpose_a` and `transpose_b` say that the operand is stored transposed, `adjoint_a` and `adjoint_b` that it is
    /// conjugated as well. Integers wrap; floats of 16 bits accumulate in `float32`.
    ///
    /// Errors: `InvalidArgument` for an operand of rank below 2, where the inner sizes differ, where the batch dimensions
    /// do not broadcast, and for an operand that is both transposed and adjoint.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matmul(&mut self, a: Value, b: Value) -> Result<Value> {
        self.matmul_with(a, b, attributes::Matmul::new())
    }

    /// As [`Operators::matmul`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matmul_with(&mut self, a: Value, b: Value, attrs: attributes::Matmul) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::linalg::MATMUL, &[a, b], Attrs(SmallVec::from_vec(vec![attrs.transpose_a, attrs.transpose_b, attrs.adjoint_a, attrs.adjoint_b])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The product of matrices of 8-bit integers, `a` and `b`, in `int32`.
    ///
    /// Each operand is `int8` or `uint8`. Shapes and attributes are those of `matmul`; sums that `int32` does not hold
    /// wrap.
    ///
    /// Errors: `InvalidArgument` for an operand of rank below 2, where the inner sizes differ, and where the batch
    /// dimensions do not broadcast.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matmul_int32(&mut self, a: Value, b: Value) -> Result<Value> {
        self.matmul_int32_with(a, b, attributes::MatmulInt32::new())
    }

    /// As [`Operators::matmul_int32`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matmul_int32_with(&mut self, a: Value, b: Value, attrs: attributes::MatmulInt32) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::linalg::MATMUL_INT32, &[a, b], Attrs(SmallVec::from_vec(vec![attrs.transpose_a, attrs.transpose_b])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each matrix with zeros outside of `lower` diagonals below the main one and `upper` above it; all are kept where
    /// the number is negative.
    ///
    /// `x` has shape `[..., m, n]`, as has the result.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_band_part(&mut self, x: Value) -> Result<Value> {
        self.matrix_band_part_with(x, attributes::MatrixBandPart::new())
    }

    /// As [`Operators::matrix_band_part`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_band_part_with(&mut self, x: Value, attrs: attributes::MatrixBandPart) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::diagonals::BAND_PART, &[x], Attrs(SmallVec::from_vec(vec![attrs.lower, attrs.upper])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The main diagonal of each matrix.
    ///
    /// `x` of shape `[..., m, n]` gives `[..., min(m, n)]`.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_diag_part(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::diagonals::DIAG_PART, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Each matrix with another main diagonal.
    ///
    /// `x` of shape `[..., m, n]` and `diagonal` of shape `[..., min(m, n)]` give the shape of `x`.
    ///
    /// Errors: `InvalidArgument` where the shapes do not fit.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_set_diag(&mut self, x: Value, diagonal: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::diagonals::SET_DIAG, &[x, diagonal], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The solution `x` of `matrix x = rhs` for triangular matrices, by substitution.
    ///
    /// `matrix` of shape `[..., n, n]`, of which the lower triangle is read, or the upper if not `lower`, and `rhs` of
    /// shape `[..., n, k]` give `[..., n, k]`; the dimensions before broadcast. With `adjoint` the matrix is transposed
    /// and conjugated. A 0 in the diagonal divides like any number.
    ///
    /// Errors: `InvalidArgument` for shapes that do not fit.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn triangular_solve(&mut self, matrix: Value, rhs: Value) -> Result<Value> {
        self.triangular_solve_with(matrix, rhs, attributes::TriangularSolve::new())
    }

    /// As [`Operators::triangular_solve`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn triangular_solve_with(&mut self, matrix: Value, rhs: Value, attrs: attributes::TriangularSolve) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::solves::TRIANGULAR_SOLVE, &[matrix, rhs], Attrs(SmallVec::from_vec(vec![attrs.lower, attrs.adjoint])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The solution `x` of `matrix x = rhs`, by elimination with partial pivoting.
    ///
    /// `matrix` of shape `[..., n, n]` and `rhs` of shape `[..., n, k]` give `[..., n, k]`; the dimensions before
    /// broadcast. With `adjoint` the matrix is transposed and conjugated.
    ///
    /// Errors: `InvalidArgument` for shapes that do not fit and for a singular matrix.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_solve(&mut self, matrix: Value, rhs: Value) -> Result<Value> {
        self.matrix_solve_with(matrix, rhs, attributes::MatrixSolve::new())
    }

    /// As [`Operators::matrix_solve`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_solve_with(&mut self, matrix: Value, rhs: Value, attrs: attributes::MatrixSolve) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::solves::SOLVE, &[matrix, rhs], Attrs(SmallVec::from_vec(vec![attrs.adjoint])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The inverse of each matrix, by elimination with partial pivoting.
    ///
    /// `x` has shape `[..., n, n]`, as has the result.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square, and for a singular one.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_inverse(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::solves::INVERSE, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The determinant of each matrix, by elimination with partial pivoting; 1 for a matrix without elements.
    ///
    /// `x` of shape `[..., n, n]` gives `[...]`. The derivative is an error where the matrix is singular.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn matrix_determinant(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::solves::DET, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The determinant of each matrix as a number of absolute value 1 (or 0) and the logarithm of its absolute value,
    /// which does not overflow.
    ///
    /// `x` of shape `[..., n, n]` gives `sign` and `log_abs_determinant`, both of the dtype of `x` and of shape `[...]`;
    /// 0 and minus infinity for a singular matrix. The derivative is an error there.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn log_matrix_determinant(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::solves::SLOGDET, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// The lower triangular `l` with a positive diagonal for which `l l^H` is the matrix.
    ///
    /// `x` of shape `[..., n, n]` gives the same shape. Only the lower triangle is read; the cotangent is Hermitian. The
    /// factor of a matrix that is not positive definite is NaN.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn cholesky(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::decompositions::CHOLESKY, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The triangular factors of each matrix with its rows in another order, by partial pivoting.
    ///
    /// `x` of shape `[..., m, n]` gives `lu` of the same shape, which holds the upper factor on and above the diagonal
    /// and below it the lower one, whose diagonal is 1, and `p` (`int32`) of shape `[..., m]`: row `i` of the product of
    /// the factors is row `p[i]` of `x`. The derivative needs matrices that are known to be square, or whose sizes are
    /// known.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn lu(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::decompositions::LU, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// `q` with orthonormal columns and `r`, upper triangular, with `x = q r`, by Householder reflections.
    ///
    /// `x` of shape `[..., m, n]` gives `q` of `[..., m, p]` and `r` of `[..., p, n]`, with `p` the smaller of `m` and
    /// `n`.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn qr(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::decompositions::QR, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// As `qr`, with as many columns of `q` as `x` has rows.
    ///
    /// `x` of shape `[..., m, n]` gives `q` of `[..., m, m]` and `r` of `[..., m, n]`.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn qr_full(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::decompositions::QR_FULL, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// Singular values and vectors: `x = u diag(s) v^H` with orthonormal columns of `u` and `v`, and `s` not negative and
    /// in descending order.
    ///
    /// Of each column of `u` the first element that is at least half as great as the greatest is positive.
    ///
    /// `x` of shape `[..., m, n]` gives `s` (real) of `[..., p]`, `u` of `[..., m, p]` and `v` of `[..., n, p]`, with `p`
    /// the smaller of `m` and `n`. All is NaN for a matrix with an element that is not finite. The derivative by the
    /// vectors takes equal singular values for apart.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn svd(&mut self, x: Value) -> Result<(Value, Value, Value)> {
        let results = self.add_instruction(&penstock_ops::decompositions::SVD, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// As `svd`, with square `u` and `v`.
    ///
    /// `x` of shape `[..., m, n]` gives `s` of `[..., min(m, n)]`, `u` of `[..., m, m]` and `v` of `[..., n, n]`.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn svd_full(&mut self, x: Value) -> Result<(Value, Value, Value)> {
        let results = self.add_instruction(&penstock_ops::decompositions::SVD_FULL, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// The singular values of each matrix in descending order.
    ///
    /// `x` of shape `[..., m, n]` gives `[..., min(m, n)]`, real. NaN for a matrix with an element that is not finite.
    ///
    /// Errors: `InvalidArgument` for rank below 2.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn singular_values(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::decompositions::SINGULAR_VALUES, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Eigenvalues and eigenvectors of Hermitian matrices: `x = v diag(e) v^H` with orthonormal columns of `v`, and `e`
    /// in ascending order.
    ///
    /// Of each column of `v` the first element that is at least half as great as the greatest is positive.
    ///
    /// `x` of shape `[..., n, n]`, of which only the lower triangle is read, gives `e` (real) of `[..., n]` and `v` of
    /// `[..., n, n]`. The derivative by the vectors takes equal eigenvalues for apart; the cotangent is a lower triangle.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn self_adjoint_eig(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::decompositions::EIGH, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// The eigenvalues of Hermitian matrices in ascending order.
    ///
    /// `x` of shape `[..., n, n]`, of which only the lower triangle is read, gives `[..., n]`, real.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn self_adjoint_eigvals(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::decompositions::EIGVALSH, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Eigenvalues and eigenvectors of square matrices: `x v = v diag(e)`.
    ///
    /// `x` of shape `[..., n, n]` gives `e` of `[..., n]`, in the order in which they are found, and `v` of `[..., n,
    /// n]`, whose columns have length 1; both are complex. Of each column the first element that is at least half as
    /// great as the greatest is positive. The derivative takes this factor of absolute value 1 for constant; it is
    /// infinite or NaN where eigenvalues are equal.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn eig(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::eigen::EIG, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// The eigenvalues of square matrices, in the order in which they are found.
    ///
    /// `x` of shape `[..., n, n]` gives `[..., n]`, complex.
    ///
    /// Errors: `InvalidArgument` for matrices that are not square, and for elements that are not finite.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn eigvals(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::eigen::EIGVALS, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The discrete Fourier transform along the last dimension: element `k` of `n` is the sum of `x[j] exp(-2 pi i j k /
    /// n)`.
    ///
    /// `x` has shape `[..., n]`, as has the result. With `inverse` the exponent has the other sign; with `scaled` the
    /// result is divided by `n`.
    ///
    /// Errors: `InvalidArgument` for a scalar.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn fft(&mut self, x: Value) -> Result<Value> {
        self.fft_with(x, attributes::Fft::new())
    }

    /// As [`Operators::fft`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn fft_with(&mut self, x: Value, attrs: attributes::Fft) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::fourier::FFT, &[x], Attrs(SmallVec::from_vec(vec![attrs.inverse, attrs.scaled])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The first half of the discrete Fourier transform of real rows; the other half is its conjugate.
    ///
    /// `x` of shape `[..., n]` gives `[..., n / 2 + 1]`, complex. With `scaled` the result is divided by `n`; with
    /// `mirrored` the coefficients that stand for two are doubled.
    ///
    /// Errors: `InvalidArgument` for a scalar.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn rfft(&mut self, x: Value) -> Result<Value> {
        self.rfft_with(x, attributes::Rfft::new())
    }

    /// As [`Operators::rfft`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn rfft_with(&mut self, x: Value, attrs: attributes::Rfft) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::fourier::RFFT, &[x], Attrs(SmallVec::from_vec(vec![attrs.scaled, attrs.mirrored])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The real parts of the inverse discrete Fourier transform of the first half of coefficients.
    ///
    /// `x` of shape `[..., length / 2 + 1]` gives `[..., length]`, real, for the scalar `length`. With `scaled` the
    /// result is divided by `length`. With `mirrored` each coefficient stands for its conjugate in the other half as
    /// well; where it is its own conjugate, its imaginary part is not read.
    ///
    /// Errors: `InvalidArgument` for a scalar, a negative length, and for another number of coefficients.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn irfft(&mut self, x: Value, length: Value) -> Result<Value> {
        self.irfft_with(x, length, attributes::Irfft::new())
    }

    /// As [`Operators::irfft`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn irfft_with(&mut self, x: Value, length: Value, attrs: attributes::Irfft) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::fourier::IRFFT, &[x, length], Attrs(SmallVec::from_vec(vec![attrs.scaled, attrs.mirrored])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x + bias`, with one element of `bias` for each channel, which is the last dimension of `x`; wraps on integers.
    ///
    /// `x` of shape `[..., c]` and rank 2 or more and `bias` of shape `[c]` give a result of the shape of `x`.
    ///
    /// Errors: `InvalidArgument` for other ranks, and where the sizes differ.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn bias_add(&mut self, x: Value, bias: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::nn::BIAS_ADD, &[x, bias], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `e^x / sum(e^x)` along `axis`, without overflow.
    ///
    /// The result has the shape of `x`; a negative axis counts from the end.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn softmax(&mut self, x: Value) -> Result<Value> {
        self.softmax_with(x, attributes::Softmax::new())
    }

    /// As [`Operators::softmax`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn softmax_with(&mut self, x: Value, attrs: attributes::Softmax) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::nn::SOFTMAX, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x - log(sum(e^x))` along `axis`: the logarithm of `softmax`, without overflow.
    ///
    /// The result has the shape of `x`; a negative axis counts from the end.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn log_softmax(&mut self, x: Value) -> Result<Value> {
        self.log_softmax_with(x, attributes::LogSoftmax::new())
    }

    /// As [`Operators::log_softmax`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn log_softmax_with(&mut self, x: Value, attrs: attributes::LogSoftmax) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::nn::LOG_SOFTMAX, &[x], Attrs(SmallVec::from_vec(vec![attrs.axis])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `-sum(labels * log_softmax(logits))` over the last dimension, and its derivative by `logits`.
    ///
    /// `logits` and `labels` of shape `[..., classes]` give `loss` of shape `[...]` and `backprop`, `softmax(logits) -
    /// labels` (each row of `labels` sums to 1), of shape `[..., classes]`.
    ///
    /// Errors: `InvalidArgument` where the shapes differ, for scalars, and where there is no class.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn softmax_cross_entropy(&mut self, logits: Value, labels: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::nn::SOFTMAX_CROSS_ENTROPY, &[logits, labels], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// `-log_softmax(logits)[label]` over the last dimension, and its derivative by `logits`.
    ///
    /// `logits` of shape `[..., classes]` and `labels`, indices of classes (`int32` or `int64`) of shape `[...]`, give
    /// `loss` of shape `[...]` and `backprop`, `softmax(logits) - one_hot(labels)`, of shape `[..., classes]`.
    ///
    /// Errors: `InvalidArgument` where the shapes do not fit, where there is no class, and for a label outside `[0,
    /// classes)`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn sparse_softmax_cross_entropy(&mut self, logits: Value, labels: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::nn::SPARSE_SOFTMAX_CROSS_ENTROPY, &[logits, labels], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// The convolution (in the sense of neural networks: the filter is not mirrored) of images with filters, over one to
    /// three spatial dimensions, channels last.
    ///
    /// `input` of shape `[batch, in.., groups * channels]` and `filters` of shape `[window.., channels, out_channels]`
    /// give `[batch, out.., out_channels]`; group `i` of the input's channels goes to group `i` of the output's.
    /// `strides` and `dilations` have an element for each spatial dimension, 1 by default. `padding` is `'VALID'`,
    /// `'SAME'` (an output for each stride, with zeros around) or `'EXPLICIT'`, with the zeros before and after each
    /// spatial dimension in `explicit_paddings`. Floats of 16 bits accumulate in `float32`.
    ///
    /// Errors: `InvalidArgument` for shapes that do not fit, an input that is smaller than the filter, and for attributes
    /// of another length.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conv(&mut self, input: Value, filters: Value) -> Result<Value> {
        self.conv_with(input, filters, attributes::Conv::new())
    }

    /// As [`Operators::conv`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conv_with(&mut self, input: Value, filters: Value, attrs: attributes::Conv) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::conv::CONV, &[input, filters], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, attrs.dilations])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The transpose of `conv` in its first operand: from the cotangent of its result that of its input.
    ///
    /// `input_sizes` is the shape of `input`, a vector; `out_backprop` has the shape of the result. The attributes are
    /// those of `conv`.
    ///
    /// Errors: `InvalidArgument` where `out_backprop` has not the shape of the result, else as `conv`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conv_input_grad(&mut self, input_sizes: Value, filters: Value, out_backprop: Value) -> Result<Value> {
        self.conv_input_grad_with(input_sizes, filters, out_backprop, attributes::ConvInputGrad::new())
    }

    /// As [`Operators::conv_input_grad`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conv_input_grad_with(&mut self, input_sizes: Value, filters: Value, out_backprop: Value, attrs: attributes::ConvInputGrad) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::conv::CONV_INPUT_GRAD, &[input_sizes, filters, out_backprop], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, attrs.dilations])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The transpose of `conv` in its second operand: from the cotangent of its result that of its filters.
    ///
    /// `filter_sizes` is the shape of `filters`, a vector; `out_backprop` has the shape of the result. The attributes are
    /// those of `conv`.
    ///
    /// Errors: `InvalidArgument` where `out_backprop` has not the shape of the result, else as `conv`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conv_filter_grad(&mut self, input: Value, filter_sizes: Value, out_backprop: Value) -> Result<Value> {
        self.conv_filter_grad_with(input, filter_sizes, out_backprop, attributes::ConvFilterGrad::new())
    }

    /// As [`Operators::conv_filter_grad`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn conv_filter_grad_with(&mut self, input: Value, filter_sizes: Value, out_backprop: Value, attrs: attributes::ConvFilterGrad) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::conv::CONV_FILTER_GRAD, &[input, filter_sizes, out_backprop], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, attrs.dilations])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The greatest element of each window and channel, over one to three spatial dimensions, channels last.
    ///
    /// `input` of shape `[batch, in.., channels]` gives `[batch, out.., channels]`. `ksize`, the extents of the windows,
    /// and `strides` have an element for each spatial dimension. `padding` is `'VALID'`, `'SAME'` or `'EXPLICIT'`, with
    /// the elements before and after each spatial dimension in `explicit_paddings`; what is in the padding takes no part.
    /// NaN where a window has one.
    ///
    /// Errors: `InvalidArgument` for another rank, an input that is smaller than a window, padding of the size of a
    /// window, and for attributes of another length.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn max_pool(&mut self, input: Value, ksize: &[i64]) -> Result<Value> {
        self.max_pool_with(input, ksize, attributes::MaxPool::new())
    }

    /// As [`Operators::max_pool`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn max_pool_with(&mut self, input: Value, ksize: &[i64], attrs: attributes::MaxPool) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::pooling::MAX_POOL, &[input], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, Attr::from(ksize)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The transpose of `max_pool_take` in its second operand, which is the cotangent of the operand of `max_pool`: each
    /// element of `grad` is added to the place of the greatest element of `input` in its window, the first of those that
    /// are equal.
    ///
    /// `grad` has the shape of the pooled `input`, the result that of `input`. The attributes are those of `max_pool`.
    ///
    /// Errors: `InvalidArgument` where `grad` has another shape, else as `max_pool`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn max_pool_grad(&mut self, input: Value, grad: Value, ksize: &[i64]) -> Result<Value> {
        self.max_pool_grad_with(input, grad, ksize, attributes::MaxPoolGrad::new())
    }

    /// As [`Operators::max_pool_grad`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn max_pool_grad_with(&mut self, input: Value, grad: Value, ksize: &[i64], attrs: attributes::MaxPoolGrad) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::pooling::MAX_POOL_GRAD, &[input, grad], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, Attr::from(ksize)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// For each window and channel the element of `values` at the place of the greatest element of `input`, the first of
    /// those that are equal.
    ///
    /// `values` has the shape of `input`, the result that of the pooled `input`. The attributes are those of `max_pool`.
    ///
    /// Errors: `InvalidArgument` where `values` has another shape, else as `max_pool`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn max_pool_take(&mut self, input: Value, values: Value, ksize: &[i64]) -> Result<Value> {
        self.max_pool_take_with(input, values, ksize, attributes::MaxPoolTake::new())
    }

    /// As [`Operators::max_pool_take`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn max_pool_take_with(&mut self, input: Value, values: Value, ksize: &[i64], attrs: attributes::MaxPoolTake) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::pooling::MAX_POOL_TAKE, &[input, values], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, Attr::from(ksize)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The mean of each window and channel, over one to three spatial dimensions, channels last.
    ///
    /// Shapes and attributes are those of `max_pool`; the padding is not counted. Floats of 16 bits are summed in
    /// `float32`.
    ///
    /// Errors: as `max_pool`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn avg_pool(&mut self, input: Value, ksize: &[i64]) -> Result<Value> {
        self.avg_pool_with(input, ksize, attributes::AvgPool::new())
    }

    /// As [`Operators::avg_pool`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn avg_pool_with(&mut self, input: Value, ksize: &[i64], attrs: attributes::AvgPool) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::pooling::AVG_POOL, &[input], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, Attr::from(ksize)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The transpose of `avg_pool`: each element of `grad` is spread evenly over its window.
    ///
    /// `input_sizes` is the shape of `input`, a vector; `grad` has the shape of the result. The attributes are those of
    /// `avg_pool`.
    ///
    /// Errors: `InvalidArgument` where `grad` has another shape, else as `avg_pool`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn avg_pool_grad(&mut self, input_sizes: Value, grad: Value, ksize: &[i64]) -> Result<Value> {
        self.avg_pool_grad_with(input_sizes, grad, ksize, attributes::AvgPoolGrad::new())
    }

    /// As [`Operators::avg_pool_grad`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn avg_pool_grad_with(&mut self, input_sizes: Value, grad: Value, ksize: &[i64], attrs: attributes::AvgPoolGrad) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::pooling::AVG_POOL_GRAD, &[input_sizes, grad], Attrs(SmallVec::from_vec(vec![attrs.strides, attrs.padding, attrs.explicit_paddings, Attr::from(ksize)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn identity(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::IDENTITY, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x`, through which no gradient flows.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stop_gradient(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::STOP_GRADIENT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `values`, once all of them are there.
    ///
    /// What is computed from the results is never merged with what is computed from the operands: a value that is
    /// computed again behind a barrier need not be kept until then.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn barrier(&mut self, values: &[Value]) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::array::BARRIER, values, Attrs::default())?;
        Ok(results.into_vec())
    }

    /// `x`, whose shape must be one of `shape`.
    ///
    /// What `shape` says is known of the result. Raises InvalidArgument where the shape differs, when the graph is built
    /// or when it runs.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn ensure_shape(&mut self, x: Value, shape: &penstock_data::Shape) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::ENSURE_SHAPE, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(shape.clone())])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x`, of which nothing is known before it runs but that its shape is one of `shape`.
    ///
    /// Raises InvalidArgument where the shape differs, when the graph is built or when it runs.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn placeholder_with_default(&mut self, x: Value, shape: &penstock_data::Shape) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::PLACEHOLDER_WITH_DEFAULT, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(shape.clone())])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor`, all of whose elements must be finite.
    ///
    /// Raises InvalidArgument with `message` where one, or a part of a complex one, is infinite or not a number. The
    /// gradient is checked too.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn check_numerics(&mut self, tensor: Value) -> Result<Value> {
        self.check_numerics_with(tensor, attributes::CheckNumerics::new())
    }

    /// As [`Operators::check_numerics`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn check_numerics_with(&mut self, tensor: Value, attrs: attributes::CheckNumerics) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::CHECK_NUMERICS, &[tensor], Attrs(SmallVec::from_vec(vec![attrs.message])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The extents of `x`, as a vector of `dtype`, which is `i32` or `i64`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn shape(&mut self, x: Value) -> Result<Value> {
        self.shape_with(x, attributes::Shape::new())
    }

    /// As [`Operators::shape`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn shape_with(&mut self, x: Value, attrs: attributes::Shape) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::SHAPE, &[x], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The number of elements of `x`, as a scalar of `dtype`, which is `i32` or `i64`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn size(&mut self, x: Value) -> Result<Value> {
        self.size_with(x, attributes::Size::new())
    }

    /// As [`Operators::size`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn size_with(&mut self, x: Value, attrs: attributes::Size) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::SIZE, &[x], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The number of dimensions of `x`, as an `i32` scalar.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn rank(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::RANK, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// An array of the extents `dims` of the scalar `value`.
    ///
    /// Raises InvalidArgument for a negative size, ResourceExhausted where the memory cannot be had.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn fill(&mut self, dims: Value, value: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::FILL, &[dims, value], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Zeros of the dtype and shape of `x`; `false` for `bool`, empty strings for strings.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn zeros_like(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::ZEROS_LIKE, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Ones of the dtype and shape of `x`; `true` for `bool`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn ones_like(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::ONES_LIKE, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The numbers `start`, `start + delta`, … before `limit`.
    ///
    /// All operands are scalars. Raises InvalidArgument where `delta` is 0 or leads away from `limit`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn range(&mut self, start: Value, limit: Value, delta: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::RANGE, &[start, limit, delta], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// For each of `indices` a row of `depth` elements: `on_value` where the position is the index, else `off_value`.
    ///
    /// The new dimension is at `axis`, which is in `-1 ..= rank`; -1 is the last. `depth`, `on_value` and `off_value` are
    /// scalars. An index outside of `0..depth` gives only `off_value`. Raises InvalidArgument for a negative depth.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn one_hot(&mut self, indices: Value, depth: Value, on_value: Value, off_value: Value) -> Result<Value> {
        self.one_hot_with(indices, depth, on_value, off_value, attributes::OneHot::new())
    }

    /// As [`Operators::one_hot`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn one_hot_with(&mut self, indices: Value, depth: Value, on_value: Value, off_value: Value, attrs: attributes::OneHot) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::array::ONE_HOT, &[indices, depth, on_value, off_value], Attrs(SmallVec::from_vec(vec![attrs.axis])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The elements of `x`, in row-major order, under the extents `shape`.
    ///
    /// One size may be -1: it is what the number of elements leaves. The result shares the data of `x`. Raises
    /// InvalidArgument where the number of elements differs, for a size below -1, and for more than one -1.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reshape(&mut self, x: Value, shape: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::RESHAPE, &[x, shape], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` with a dimension of size 1 inserted at `axis`, which is in `-rank - 1 ..= rank`.
    ///
    /// The result shares the data of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn expand_dims(&mut self, x: Value, axis: i64) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::EXPAND_DIMS, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(axis)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` without the dimensions `axes`, which must have size 1; without all that have where `axes` is left out or
    /// empty.
    ///
    /// The result shares the data of `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn squeeze(&mut self, x: Value) -> Result<Value> {
        self.squeeze_with(x, attributes::Squeeze::new())
    }

    /// As [`Operators::squeeze`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn squeeze_with(&mut self, x: Value, attrs: attributes::Squeeze) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::SQUEEZE, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` with its dimensions in the order `perm`: dimension `i` of the result is dimension `perm[i]` of `x`.
    ///
    /// Without `perm` the order is reversed. `perm` is an attribute: an order that is computed at run time is not
    /// supported.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn transpose(&mut self, x: Value) -> Result<Value> {
        self.transpose_with(x, attributes::Transpose::new())
    }

    /// As [`Operators::transpose`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn transpose_with(&mut self, x: Value, attrs: attributes::Transpose) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::TRANSPOSE, &[x], Attrs(SmallVec::from_vec(vec![attrs.perm])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` repeated to the extents `shape` by NumPy's rule of broadcasting.
    ///
    /// Raises InvalidArgument where a dimension of `x` is neither 1 nor the one it stands for, or `x` has more
    /// dimensions.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn broadcast_to(&mut self, x: Value, shape: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::BROADCAST_TO, &[x, shape], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` repeated `multiples[i]` times along dimension `i`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tile(&mut self, x: Value, multiples: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::TILE, &[x, multiples], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` with the order of the elements along each of `axes` reversed.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn reverse(&mut self, x: Value, axes: &[i64]) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::REVERSE, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(axes)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` with `paddings[i, 0]` times `constant_values` before and `paddings[i, 1]` times after it along dimension `i`.
    ///
    /// `paddings` is an integer matrix `[rank, 2]`, `constant_values` a scalar.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn pad(&mut self, x: Value, paddings: Value, constant_values: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::shape_ops::PAD, &[x, paddings, constant_values], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `values` one after the other along `axis`.
    ///
    /// All have the same rank, at least 1, and the same extents but along `axis`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn concat(&mut self, values: &[Value], axis: i64) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::joining::CONCAT, values, Attrs(SmallVec::from_vec(vec![Attr::from(axis)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// For arrays of the given `shapes`, where each begins in their concatenation along `axis`.
    ///
    /// The operands are vectors of one length; there is one result of that length for each.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn concat_offset(&mut self, shapes: &[Value], axis: i64) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::joining::CONCAT_OFFSET, shapes, Attrs(SmallVec::from_vec(vec![Attr::from(axis)])))?;
        Ok(results.into_vec())
    }

    /// `values`, all of one shape, along a new dimension at `axis`, which is in `-rank - 1 ..= rank`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stack(&mut self, values: &[Value]) -> Result<Value> {
        self.stack_with(values, attributes::Stack::new())
    }

    /// As [`Operators::stack`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stack_with(&mut self, values: &[Value], attrs: attributes::Stack) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::joining::STACK, values, Attrs(SmallVec::from_vec(vec![attrs.axis])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The `num` entries of `value` along `axis`, each without that dimension.
    ///
    /// `num` may be left out where the size along `axis` is known. Along the first dimension the results share the data
    /// of `value`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unstack(&mut self, value: Value) -> Result<Vec<Value>> {
        self.unstack_with(value, attributes::Unstack::new())
    }

    /// As [`Operators::unstack`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unstack_with(&mut self, value: Value, attrs: attributes::Unstack) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::joining::UNSTACK, &[value], Attrs(SmallVec::from_vec(vec![attrs.num, attrs.axis])))?;
        Ok(results.into_vec())
    }

    /// The pieces of `value` along `axis`: of the given `sizes`, or `num` of equal size.
    ///
    /// Exactly one of `sizes` and `num` is given. One of `sizes` may be -1: it is what the others leave. Along the first
    /// dimension the results share the data of `value`. Raises InvalidArgument where the pieces do not make up the whole.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn split(&mut self, value: Value) -> Result<Vec<Value>> {
        self.split_with(value, attributes::Split::new())
    }

    /// As [`Operators::split`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn split_with(&mut self, value: Value, attrs: attributes::Split) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::joining::SPLIT, &[value], Attrs(SmallVec::from_vec(vec![attrs.sizes, attrs.num, attrs.axis])))?;
        Ok(results.into_vec())
    }

    /// `x[begin[0]:end[0]:strides[0], …]` by Python's rules: negative indices count from the end, ranges are clamped.
    ///
    /// `begin`, `end` and `strides` are integer vectors of one length, with an entry for each item of the subscript. Bit
    /// `i` of a mask changes entry `i`: in `begin_mask` or `end_mask` the range is open on that side; in `ellipsis_mask`
    /// the entry is `...`, in `new_axis_mask` a new dimension of size 1, in `shrink_axis_mask` the single index
    /// `begin[i]`, whose dimension the result lacks. Dimensions without an entry are kept whole. A slice of whole rows
    /// shares the data of `x`. Raises IndexOutOfBounds for a single index that is not there, InvalidArgument for a stride
    /// of 0 and for too many indices.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice(&mut self, x: Value, begin: Value, end: Value, strides: Value) -> Result<Value> {
        self.strided_slice_with(x, begin, end, strides, attributes::StridedSlice::new())
    }

    /// As [`Operators::strided_slice`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_with(&mut self, x: Value, begin: Value, end: Value, strides: Value, attrs: attributes::StridedSlice) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::slicing::STRIDED_SLICE, &[x, begin, end, strides], Attrs(SmallVec::from_vec(vec![attrs.begin_mask, attrs.end_mask, attrs.ellipsis_mask, attrs.new_axis_mask, attrs.shrink_axis_mask])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Zeros of the extents `shape`, with `dy` where `strided_slice` with the same specification would have read.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_grad(&mut self, shape: Value, begin: Value, end: Value, strides: Value, dy: Value) -> Result<Value> {
        self.strided_slice_grad_with(shape, begin, end, strides, dy, attributes::StridedSliceGrad::new())
    }

    /// As [`Operators::strided_slice_grad`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_grad_with(&mut self, shape: Value, begin: Value, end: Value, strides: Value, dy: Value, attrs: attributes::StridedSliceGrad) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::slicing::STRIDED_SLICE_GRAD, &[shape, begin, end, strides, dy], Attrs(SmallVec::from_vec(vec![attrs.begin_mask, attrs.end_mask, attrs.ellipsis_mask, attrs.new_axis_mask, attrs.shrink_axis_mask])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` with `dy` added where `strided_slice` with the same specification would have read.
    ///
    /// It is `x` plus `strided_slice_grad`, in time linear in `dy` where nobody else sees `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_accumulate(&mut self, x: Value, begin: Value, end: Value, strides: Value, dy: Value) -> Result<Value> {
        self.strided_slice_accumulate_with(x, begin, end, strides, dy, attributes::StridedSliceAccumulate::new())
    }

    /// As [`Operators::strided_slice_accumulate`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_accumulate_with(&mut self, x: Value, begin: Value, end: Value, strides: Value, dy: Value, attrs: attributes::StridedSliceAccumulate) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::slicing::STRIDED_SLICE_ACCUMULATE, &[x, begin, end, strides, dy], Attrs(SmallVec::from_vec(vec![attrs.begin_mask, attrs.end_mask, attrs.ellipsis_mask, attrs.new_axis_mask, attrs.shrink_axis_mask])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The `size[i]` elements of `x` from `begin[i]` on along each dimension `i`; all that follow where `size[i]` is -1.
    ///
    /// `begin` and `size` are integer vectors with an entry for each dimension. A slice of whole rows shares the data of
    /// `x`. Raises InvalidArgument where the box is not inside `x`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn slice(&mut self, x: Value, begin: Value, size: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::slicing::SLICE, &[x, begin, size], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Zeros of the extents `shape`, with `dy` from `begin` on.
    ///
    /// Raises InvalidArgument where `dy` does not fit there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn slice_grad(&mut self, shape: Value, begin: Value, dy: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::slicing::SLICE_GRAD, &[shape, begin, dy], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `x[indices[0], indices[1], …]`: what `x` has at scalar indices of its leading dimensions; negative ones count from
    /// the end.
    ///
    /// The optimiser makes it of a `strided_slice` that takes single indices alone. Raises IndexOutOfBounds for an index
    /// that is not there, InvalidArgument for more indices than dimensions.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn part(&mut self, x: Value, indices: &[Value]) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::part::PART, &[&[x][..], indices].concat(), Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The entries of `params` along `axis` that `indices` names.
    ///
    /// The result has the extents `params[..axis] + indices[batch_dims..] + params[axis + 1..]`. The first `batch_dims`
    /// dimensions of both operands are gone through together. With `drop_negative` a negative index gives zeros. Any
    /// other index outside of the dimension raises InvalidArgument, which names the first and its position. With
    /// `sparse_gradient` a tape may give the gradient of `params` as the rows that were read.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather(&mut self, params: Value, indices: Value) -> Result<Value> {
        self.gather_with(params, indices, attributes::Gather::new())
    }

    /// As [`Operators::gather`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather_with(&mut self, params: Value, indices: Value, attrs: attributes::Gather) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::GATHER, &[params, indices], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.batch_dims, attrs.drop_negative, attrs.sparse_gradient])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Zeros of the extents `shape`, with each entry of `dy` added where `gather` with the same `indices` and attributes
    /// would have read it.
    ///
    /// Entries of one place are added in the order of `indices`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather_grad(&mut self, shape: Value, indices: Value, dy: Value) -> Result<Value> {
        self.gather_grad_with(shape, indices, dy, attributes::GatherGrad::new())
    }

    /// As [`Operators::gather_grad`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather_grad_with(&mut self, shape: Value, indices: Value, dy: Value, attrs: attributes::GatherGrad) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::GATHER_GRAD, &[shape, indices, dy], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.batch_dims, attrs.drop_negative, attrs.sparse_gradient])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `x` with each entry of `dy` added where `gather` with the same `indices` and attributes would have read it.
    ///
    /// It is `x` plus `gather_grad`, in time linear in `dy` where nobody else sees `x`, along the first dimension.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather_accumulate(&mut self, x: Value, indices: Value, dy: Value) -> Result<Value> {
        self.gather_accumulate_with(x, indices, dy, attributes::GatherAccumulate::new())
    }

    /// As [`Operators::gather_accumulate`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather_accumulate_with(&mut self, x: Value, indices: Value, dy: Value, attrs: attributes::GatherAccumulate) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::GATHER_ACCUMULATE, &[x, indices, dy], Attrs(SmallVec::from_vec(vec![attrs.axis, attrs.batch_dims, attrs.drop_negative, attrs.sparse_gradient])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The slices of `params` that the rows of `indices` name.
    ///
    /// The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of `params`; the result has the
    /// extents `indices[..-1] + params[k..]`. Raises InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn gather_nd(&mut self, params: Value, indices: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::GATHER_ND, &[params, indices], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Zeros of the extents `shape`, with `updates` added at the places that the rows of `indices` name.
    ///
    /// `updates` has the extents `indices[..-1] + shape[k..]`. Updates of one place are added in order; strings are
    /// joined. Raises InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn scatter_nd(&mut self, indices: Value, updates: Value, shape: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::SCATTER_ND, &[indices, updates, shape], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor` with the slices that the rows of `indices` name replaced by `updates`; the last update of a place stays.
    ///
    /// `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    /// InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tensor_scatter_nd_update(&mut self, tensor: Value, indices: Value, updates: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::TENSOR_SCATTER_UPDATE, &[tensor, indices, updates], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor` with `updates` added to the slices that the rows of `indices` name, in order.
    ///
    /// `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    /// InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tensor_scatter_nd_add(&mut self, tensor: Value, indices: Value, updates: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::TENSOR_SCATTER_ADD, &[tensor, indices, updates], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor` with `updates` subtracted from the slices that the rows of `indices` name, in order.
    ///
    /// `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    /// InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tensor_scatter_nd_sub(&mut self, tensor: Value, indices: Value, updates: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::TENSOR_SCATTER_SUB, &[tensor, indices, updates], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor` with the slices that the rows of `indices` name replaced by their maximum with `updates`.
    ///
    /// `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    /// InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tensor_scatter_nd_max(&mut self, tensor: Value, indices: Value, updates: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::TENSOR_SCATTER_MAX, &[tensor, indices, updates], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor` with the slices that the rows of `indices` name replaced by their minimum with `updates`.
    ///
    /// `updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises
    /// InvalidArgument for a position that is not there.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn tensor_scatter_nd_min(&mut self, tensor: Value, indices: Value, updates: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::TENSOR_SCATTER_MIN, &[tensor, indices, updates], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The sums of the entries of `data` that have the same `segment_ids`: entry `s` of the result is the sum of those
    /// with id `s`, 0 where there is none.
    ///
    /// The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Negative ids
    /// drop their entries. Raises InvalidArgument for an id not below `num_segments`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unsorted_segment_sum(&mut self, data: Value, segment_ids: Value, num_segments: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::UNSORTED_SEGMENT_SUM, &[data, segment_ids, num_segments], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The positions of the elements of `condition` that are true or not zero, in row-major order, as `i64[n, rank]`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn where_indices(&mut self, condition: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::gather::WHERE_INDICES, &[condition], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Floats uniform in \[0, 1).
    ///
    /// The result has the extents `shape` and the float dtype `dtype`. Each run draws anew.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn random_uniform(&mut self, shape: Value) -> Result<Value> {
        self.random_uniform_with(shape, attributes::RandomUniform::new())
    }

    /// As [`Operators::random_uniform`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn random_uniform_with(&mut self, shape: Value, attrs: attributes::RandomUniform) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::RANDOM_UNIFORM, &[shape], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Floats of the standard normal distribution.
    ///
    /// The result has the extents `shape` and the float dtype `dtype`. Each run draws anew.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn random_normal(&mut self, shape: Value) -> Result<Value> {
        self.random_normal_with(shape, attributes::RandomNormal::new())
    }

    /// As [`Operators::random_normal`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn random_normal_with(&mut self, shape: Value, attrs: attributes::RandomNormal) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::RANDOM_NORMAL, &[shape], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Floats of the standard normal distribution, drawn again while their magnitude is 2 or more.
    ///
    /// The result has the extents `shape` and the float dtype `dtype`. Each run draws anew.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn truncated_normal(&mut self, shape: Value) -> Result<Value> {
        self.truncated_normal_with(shape, attributes::TruncatedNormal::new())
    }

    /// As [`Operators::truncated_normal`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn truncated_normal_with(&mut self, shape: Value, attrs: attributes::TruncatedNormal) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::TRUNCATED_NORMAL, &[shape], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Integers uniform in \[`minval`, `maxval`), two scalars of the dtype of the result, of the extents `shape`.
    ///
    /// Each run draws anew. The values are biased by less than the share of the range in 2^32 (2^64 for 64 bits). Raises
    /// InvalidArgument where the range is empty.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn random_uniform_int(&mut self, shape: Value, minval: Value, maxval: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::RANDOM_UNIFORM_INT, &[shape, minval, maxval], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Floats uniform in \[0, 1).
    ///
    /// The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the words of `seed` alone:
    /// two, or the three of a generator's state.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_uniform(&mut self, shape: Value, seed: Value) -> Result<Value> {
        self.stateless_random_uniform_with(shape, seed, attributes::StatelessRandomUniform::new())
    }

    /// As [`Operators::stateless_random_uniform`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_uniform_with(&mut self, shape: Value, seed: Value, attrs: attributes::StatelessRandomUniform) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_RANDOM_UNIFORM, &[shape, seed], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Floats of the standard normal distribution.
    ///
    /// The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the words of `seed` alone:
    /// two, or the three of a generator's state.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_normal(&mut self, shape: Value, seed: Value) -> Result<Value> {
        self.stateless_random_normal_with(shape, seed, attributes::StatelessRandomNormal::new())
    }

    /// As [`Operators::stateless_random_normal`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_normal_with(&mut self, shape: Value, seed: Value, attrs: attributes::StatelessRandomNormal) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_RANDOM_NORMAL, &[shape, seed], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Floats of the standard normal distribution, drawn again while their magnitude is 2 or more.
    ///
    /// The result has the extents `shape` and the float dtype `dtype`. The numbers depend on the words of `seed` alone:
    /// two, or the three of a generator's state.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_truncated_normal(&mut self, shape: Value, seed: Value) -> Result<Value> {
        self.stateless_truncated_normal_with(shape, seed, attributes::StatelessTruncatedNormal::new())
    }

    /// As [`Operators::stateless_truncated_normal`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_truncated_normal_with(&mut self, shape: Value, seed: Value, attrs: attributes::StatelessTruncatedNormal) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_TRUNCATED_NORMAL, &[shape, seed], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Integers uniform in \[`minval`, `maxval`), two scalars of the dtype of the result, of the extents `shape`.
    ///
    /// The numbers depend on the words of `seed` alone: two, or the three of a generator's state. The values are biased
    /// by less than the share of the range in 2^32 (2^64 for 64 bits). Raises InvalidArgument where the range is empty.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_uniform_int(&mut self, shape: Value, seed: Value, minval: Value, maxval: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_RANDOM_UNIFORM_INT, &[shape, seed, minval, maxval], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Integers uniform among all of the dtype `dtype`: `i32`, `i64`, `u32` or `u64`; of the extents `shape`.
    ///
    /// The numbers depend on the words of `seed` alone: two, or the three of a generator's state.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_uniform_full_int(&mut self, shape: Value, seed: Value) -> Result<Value> {
        self.stateless_random_uniform_full_int_with(shape, seed, attributes::StatelessRandomUniformFullInt::new())
    }

    /// As [`Operators::stateless_random_uniform_full_int`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_uniform_full_int_with(&mut self, shape: Value, seed: Value, attrs: attributes::StatelessRandomUniformFullInt) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_RANDOM_UNIFORM_FULL_INT, &[shape, seed], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Numbers of the gamma distribution of shape `alpha` and rate 1, of the extents `shape` and the dtype of `alpha`.
    ///
    /// `alpha` broadcasts to `shape`; where it is not positive the result is NaN. The numbers depend on the two words of
    /// `seed` and on `alpha` alone. The gradient is that of the number at a fixed quantile (Marsaglia and Tsang 2000;
    /// Figurnov et al. 2018). Raises InvalidArgument where `alpha` does not broadcast to `shape`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_gamma(&mut self, shape: Value, seed: Value, alpha: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_RANDOM_GAMMA, &[shape, seed, alpha], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Numbers of the Poisson distribution of mean `lam`, of the extents `shape` and the dtype `dtype`.
    ///
    /// `lam` broadcasts to `shape`; where it is negative the result is NaN, or 0 of an integer. `dtype` is a float, `i32`
    /// or `i64`. The numbers depend on the two words of `seed` and on `lam` alone (Hörmann 1993). Raises InvalidArgument
    /// where `lam` does not broadcast to `shape`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_poisson(&mut self, shape: Value, seed: Value, lam: Value) -> Result<Value> {
        self.stateless_random_poisson_with(shape, seed, lam, attributes::StatelessRandomPoisson::new())
    }

    /// As [`Operators::stateless_random_poisson`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_poisson_with(&mut self, shape: Value, seed: Value, lam: Value, attrs: attributes::StatelessRandomPoisson) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::random::STATELESS_RANDOM_POISSON, &[shape, seed, lam], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// How many of `counts` trials succeed, each with probability `probs`.
    ///
    /// `counts` and `probs` broadcast to the extents `shape` of the result, whose dtype is `int32`, `int64`, `float16`,
    /// `float32` or `float64`. The numbers depend on the words of `seed` alone: two, or the three of a generator's state.
    /// Fractions of `counts` are dropped. Raises InvalidArgument for a negative count and for a probability outside of
    /// \[0, 1\].
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_binomial(&mut self, shape: Value, seed: Value, counts: Value, probs: Value) -> Result<Value> {
        self.stateless_random_binomial_with(shape, seed, counts, probs, attributes::StatelessRandomBinomial::new())
    }

    /// As [`Operators::stateless_random_binomial`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_random_binomial_with(&mut self, shape: Value, seed: Value, counts: Value, probs: Value, attrs: attributes::StatelessRandomBinomial) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::binomial::STATELESS_RANDOM_BINOMIAL, &[shape, seed, counts, probs], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The length of each string, in bytes or, where `unit` is `UTF8_CHAR`, in characters; `i32`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_length(&mut self, x: Value) -> Result<Value> {
        self.string_length_with(x, attributes::StringLength::new())
    }

    /// As [`Operators::string_length`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_length_with(&mut self, x: Value, attrs: attributes::StringLength) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::STRING_LENGTH, &[x], Attrs(SmallVec::from_vec(vec![attrs.unit])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The strings of `values` joined element by element, with `separator` between them.
    ///
    /// All that are not scalars have the same shape.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_join(&mut self, values: &[Value]) -> Result<Value> {
        self.string_join_with(values, attributes::StringJoin::new())
    }

    /// As [`Operators::string_join`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_join_with(&mut self, values: &[Value], attrs: attributes::StringJoin) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::STRING_JOIN, values, Attrs(SmallVec::from_vec(vec![attrs.separator])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each string in lower case.
    ///
    /// Only ASCII letters change, unless `encoding` is `utf-8`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_lower(&mut self, x: Value) -> Result<Value> {
        self.string_lower_with(x, attributes::StringLower::new())
    }

    /// As [`Operators::string_lower`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_lower_with(&mut self, x: Value, attrs: attributes::StringLower) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::STRING_LOWER, &[x], Attrs(SmallVec::from_vec(vec![attrs.encoding])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each string in upper case.
    ///
    /// Only ASCII letters change, unless `encoding` is `utf-8`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_upper(&mut self, x: Value) -> Result<Value> {
        self.string_upper_with(x, attributes::StringUpper::new())
    }

    /// As [`Operators::string_upper`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_upper_with(&mut self, x: Value, attrs: attributes::StringUpper) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::STRING_UPPER, &[x], Attrs(SmallVec::from_vec(vec![attrs.encoding])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each string without the ASCII white space at its ends.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_strip(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::STRING_STRIP, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The part of each string from `pos`, of at most `len` bytes or, where `unit` is `UTF8_CHAR`, characters.
    ///
    /// A negative `pos` counts from the end; a negative `len` takes the rest. `pos` and `len` have one shape, which
    /// broadcasts with that of `x`. Raises InvalidArgument for a `pos` outside of the string.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn substr(&mut self, x: Value, pos: Value, len: Value) -> Result<Value> {
        self.substr_with(x, pos, len, attributes::Substr::new())
    }

    /// As [`Operators::substr`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn substr_with(&mut self, x: Value, pos: Value, len: Value, attrs: attributes::Substr) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::SUBSTR, &[x, pos, len], Attrs(SmallVec::from_vec(vec![attrs.unit])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each element as text, as C's `printf` writes it.
    ///
    /// Integers are decimal, booleans `true` and `false`. Floats are written as `%f`, as `%e` where `scientific`, as `%g`
    /// where `shortest`, with `precision` digits unless that is negative; complex numbers as two of them:
    /// `(1.000000,2.000000)`. A text shorter than `width` is filled with spaces in front, with zeros where `fill` is `0`,
    /// with spaces behind where it is `-`. Raises InvalidArgument for `precision`, `scientific` and `shortest` on
    /// integers. Strings stay as they are.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn as_string(&mut self, x: Value) -> Result<Value> {
        self.as_string_with(x, attributes::AsString::new())
    }

    /// As [`Operators::as_string`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn as_string_with(&mut self, x: Value, attrs: attributes::AsString) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::AS_STRING, &[x], Attrs(SmallVec::from_vec(vec![attrs.precision, attrs.scientific, attrs.shortest, attrs.width, attrs.fill])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The number that each string writes, with white space around it allowed, as `dtype`: `f32`, `f64` or an integer of
    /// 32 or 64 bits.
    ///
    /// Raises InvalidArgument for a string that is no such number.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_to_number(&mut self, x: Value) -> Result<Value> {
        self.string_to_number_with(x, attributes::StringToNumber::new())
    }

    /// As [`Operators::string_to_number`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_to_number_with(&mut self, x: Value, attrs: attributes::StringToNumber) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::STRING_TO_NUMBER, &[x], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each string with every match of `pattern`, or only the first unless `replace_global`, replaced by `rewrite`.
    ///
    /// In `rewrite` `\0` is the match, `\1` to `\9` its groups, `\\` a backslash. The syntax of patterns is that of the
    /// Rust crate `regex`, close to RE2's. Raises InvalidArgument for a malformed pattern or rewrite.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn regex_replace(&mut self, x: Value, pattern: &str, rewrite: &str) -> Result<Value> {
        self.regex_replace_with(x, pattern, rewrite, attributes::RegexReplace::new())
    }

    /// As [`Operators::regex_replace`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn regex_replace_with(&mut self, x: Value, pattern: &str, rewrite: &str, attrs: attributes::RegexReplace) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::REGEX_REPLACE, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(pattern), Attr::from(rewrite), attrs.replace_global])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Whether `pattern` matches the whole of each string.
    ///
    /// The syntax of patterns is that of the Rust crate `regex`, close to RE2's. Raises InvalidArgument for a malformed
    /// one.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn regex_full_match(&mut self, x: Value, pattern: &str) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::strings::REGEX_FULL_MATCH, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(pattern)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The pieces of each string between occurrences of `sep`, and the splits between the rows of pieces, `i64`.
    ///
    /// An empty `sep` is any run of white space, of which there is none at the ends of pieces. Where `maxsplit` is above
    /// 0, what is left after as many splits is the last piece.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_split(&mut self, x: Value) -> Result<(Value, Value)> {
        self.string_split_with(x, attributes::StringSplit::new())
    }

    /// As [`Operators::string_split`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_split_with(&mut self, x: Value, attrs: attributes::StringSplit) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::text::STRING_SPLIT, &[x], Attrs(SmallVec::from_vec(vec![attrs.sep, attrs.maxsplit])))?;
        exactly(&results).map(Into::into)
    }

    /// The bytes of each string as strings, and the splits between the rows of bytes, `i64`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_bytes_split(&mut self, x: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::text::STRING_BYTES_SPLIT, &[x], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// The code points of each string, `i32`, and the splits between the rows of code points, `i64`.
    ///
    /// `input_encoding` is `UTF-8`, `UTF-16-BE` or `UTF-32-BE`. A malformed sequence raises InvalidArgument where
    /// `errors` is `strict`, becomes `replacement_char` where it is `replace`, and is left out where it is `ignore`. With
    /// `replace_control_characters` the code points below 32 are replaced, too.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_decode(&mut self, x: Value) -> Result<(Value, Value)> {
        self.unicode_decode_with(x, attributes::UnicodeDecode::new())
    }

    /// As [`Operators::unicode_decode`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_decode_with(&mut self, x: Value, attrs: attributes::UnicodeDecode) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::text::UNICODE_DECODE, &[x], Attrs(SmallVec::from_vec(vec![attrs.input_encoding, attrs.errors, attrs.replacement_char, attrs.replace_control_characters])))?;
        exactly(&results).map(Into::into)
    }

    /// The string of each row of code points: row `i` is those from `row_splits[i]` up to `row_splits[i + 1]`.
    ///
    /// `output_encoding` is `UTF-8`, `UTF-16-BE` or `UTF-32-BE`. A number that is no code point raises InvalidArgument
    /// where `errors` is `strict`, becomes `replacement_char` where it is `replace`, and is left out where it is
    /// `ignore`. Raises InvalidArgument for splits that are not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_encode(&mut self, codepoints: Value, row_splits: Value) -> Result<Value> {
        self.unicode_encode_with(codepoints, row_splits, attributes::UnicodeEncode::new())
    }

    /// As [`Operators::unicode_encode`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_encode_with(&mut self, codepoints: Value, row_splits: Value, attrs: attributes::UnicodeEncode) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::text::UNICODE_ENCODE, &[codepoints, row_splits], Attrs(SmallVec::from_vec(vec![attrs.output_encoding, attrs.errors, attrs.replacement_char])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The strings of `x` joined along `axes`, one axis after the other, with `separator` between them.
    ///
    /// Negative axes count from the end; all, from the last to the first, where they are not given. The axes are dropped
    /// from the shape, or kept with size 1 where `keepdims` is true. Of no strings it is the empty string.
    ///
    /// Errors: `InvalidArgument` for an axis that is out of range or listed twice.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_reduce_join(&mut self, x: Value) -> Result<Value> {
        self.string_reduce_join_with(x, attributes::StringReduceJoin::new())
    }

    /// As [`Operators::string_reduce_join`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_reduce_join_with(&mut self, x: Value, attrs: attributes::StringReduceJoin) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::text::STRING_REDUCE_JOIN, &[x], Attrs(SmallVec::from_vec(vec![attrs.axes, attrs.keepdims, attrs.separator])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The hash of each string modulo `num_buckets`, `i64`.
    ///
    /// The hash is FarmHash's `Fingerprint64`: it is the same on every machine, and in TensorFlow.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_to_hash_bucket_fast(&mut self, x: Value, num_buckets: i64) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::text::STRING_TO_HASH_BUCKET_FAST, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(num_buckets)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The hash of each string under a key modulo `num_buckets`, `i64`.
    ///
    /// The hash is SipHash-2-4, as in TensorFlow; `key` holds the two halves of its key as 64-bit integers.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_to_hash_bucket_strong(&mut self, x: Value, num_buckets: i64, key: &[i64]) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::text::STRING_TO_HASH_BUCKET_STRONG, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(num_buckets), Attr::from(key)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The code points of each string, `i32`, the place of the first byte of each in its string, `i64`, and the splits
    /// between the rows of code points, `i64`.
    ///
    /// The attributes are those of `unicode_decode`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_decode_with_offsets(&mut self, x: Value) -> Result<(Value, Value, Value)> {
        self.unicode_decode_with_offsets_with(x, attributes::UnicodeDecodeWithOffsets::new())
    }

    /// As [`Operators::unicode_decode_with_offsets`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_decode_with_offsets_with(&mut self, x: Value, attrs: attributes::UnicodeDecodeWithOffsets) -> Result<(Value, Value, Value)> {
        let results = self.add_instruction(&penstock_ops::words::UNICODE_DECODE_WITH_OFFSETS, &[x], Attrs(SmallVec::from_vec(vec![attrs.input_encoding, attrs.errors, attrs.replacement_char, attrs.replace_control_characters])))?;
        exactly(&results).map(Into::into)
    }

    /// The script of each code point by the number that ICU gives it, `i32`: 0 for what many scripts share, 25 for Latin,
    /// 103 for a code point of none; -1 for a number that is no code point.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn unicode_script(&mut self, x: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::words::UNICODE_SCRIPT, &[x], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The strings of `data` that have the same `segment_ids` joined in their order, with `separator` between them; the
    /// empty string where there are none.
    ///
    /// The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Negative ids
    /// drop their strings. Raises InvalidArgument for an id not below `num_segments`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_unsorted_segment_join(&mut self, data: Value, segment_ids: Value, num_segments: Value) -> Result<Value> {
        self.string_unsorted_segment_join_with(data, segment_ids, num_segments, attributes::StringUnsortedSegmentJoin::new())
    }

    /// As [`Operators::string_unsorted_segment_join`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_unsorted_segment_join_with(&mut self, data: Value, segment_ids: Value, num_segments: Value, attrs: attributes::StringUnsortedSegmentJoin) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::words::STRING_UNSORTED_SEGMENT_JOIN, &[data, segment_ids, num_segments], Attrs(SmallVec::from_vec(vec![attrs.separator])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The hash of each string modulo `num_buckets`, `i64`.
    ///
    /// The hash is MurmurHash64A. For files that last, `string_to_hash_bucket_fast` is the one to take.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_to_hash_bucket(&mut self, x: Value, num_buckets: i64) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::words::STRING_TO_HASH_BUCKET, &[x], Attrs(SmallVec::from_vec(vec![Attr::from(num_buckets)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// How many insertions, deletions and replacements of one element make each row of `truth` of the row of `hypothesis`
    /// with the same number, `f32`.
    ///
    /// Row `i` of each is what stands from its splits' element `i` up to the next. Where `normalize`, the distance is
    /// divided by the length of the row of `truth`: infinite where that row alone is empty, 0 where both are. Raises
    /// InvalidArgument for splits that are not in order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn edit_distance(&mut self, hypothesis: Value, hypothesis_splits: Value, truth: Value, truth_splits: Value) -> Result<Value> {
        self.edit_distance_with(hypothesis, hypothesis_splits, truth, truth_splits, attributes::EditDistance::new())
    }

    /// As [`Operators::edit_distance`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn edit_distance_with(&mut self, hypothesis: Value, hypothesis_splits: Value, truth: Value, truth_splits: Value, attrs: attributes::EditDistance) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::words::EDIT_DISTANCE, &[hypothesis, hypothesis_splits, truth, truth_splits], Attrs(SmallVec::from_vec(vec![attrs.normalize])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The bytes of each of `input_bytes` as numbers of dtype `out_type`, in a new last dimension.
    ///
    /// The lowest byte of a number comes first, or last where `little_endian` is false. Of each string `fixed_length`
    /// bytes are read, and zeros follow a shorter one; -1 is for all of strings of one length. A `bool` is whether a byte
    /// is not 0.
    ///
    /// Errors: `InvalidArgument` for strings of several lengths, and for a length that is no multiple of the dtype's
    /// size.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_raw(&mut self, input_bytes: Value, out_type: DType) -> Result<Value> {
        self.decode_raw_with(input_bytes, out_type, attributes::DecodeRaw::new())
    }

    /// As [`Operators::decode_raw`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_raw_with(&mut self, input_bytes: Value, out_type: DType, attrs: attributes::DecodeRaw) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::bytes::DECODE_RAW, &[input_bytes], Attrs(SmallVec::from_vec(vec![Attr::from(out_type), attrs.little_endian, attrs.fixed_length])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Each string in base64 with the digits that URLs may have: `-` and `_` are the last two.
    ///
    /// Where `pad`, `=` fills the last group of four digits.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_base64(&mut self, input: Value) -> Result<Value> {
        self.encode_base64_with(input, attributes::EncodeBase64::new())
    }

    /// As [`Operators::encode_base64`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_base64_with(&mut self, input: Value, attrs: attributes::EncodeBase64) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::bytes::ENCODE_BASE64, &[input], Attrs(SmallVec::from_vec(vec![attrs.pad])))?;
        exactly(&results).map(|[result]| result)
    }

    /// What each string of base64 stands for, with the digits that URLs may have: `-` and `_` are the last two.
    ///
    /// `=` may fill the last group of four digits, or be left out.
    ///
    /// Errors: `InvalidArgument` for a string that is no base64.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_base64(&mut self, input: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::bytes::DECODE_BASE64, &[input], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `tensor` as the bytes of a `TensorProto` message, a string scalar.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn serialize_tensor(&mut self, tensor: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::bytes::SERIALIZE_TENSOR, &[tensor], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The tensor of dtype `out_type` that `serialized` is, a string scalar: the bytes of a `TensorProto` message.
    ///
    /// Where a message has fewer values than elements, the last value stands for those that follow.
    ///
    /// Errors: `InvalidArgument` for bytes that are no such message, or one of another dtype.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn parse_tensor(&mut self, serialized: Value, out_type: DType) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::bytes::PARSE_TENSOR, &[serialized], Attrs(SmallVec::from_vec(vec![Attr::from(out_type)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The content of the file `filename`, a string scalar.
    ///
    /// It keeps its place among all that reads and writes files. Paths with a scheme, such as `ram://`, are read by a
    /// host that knows it.
    ///
    /// Errors: `NotFound` where there is none; `FailedPrecondition` where it cannot be read.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn read_file(&mut self, filename: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::files::READ_FILE, &[filename], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Makes the file `filename` hold `contents`, both string scalars, in directories that are made where they are
    /// absent.
    ///
    /// It keeps its place among all that reads and writes files. Paths with a scheme, such as `ram://`, are written by a
    /// host that knows it.
    ///
    /// Errors: `FailedPrecondition` where it cannot be written.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn write_file(&mut self, filename: Value, contents: Value) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::files::WRITE_FILE, &[filename, contents], Attrs::default())?;
        drop(results);
        Ok(())
    }

    /// The image in `contents`, a PNG, a JPEG or a GIF of one frame, of shape `[height, width, channels]`.
    ///
    /// `channels` is 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and opacity; `dtype` is
    /// `u8` or `u16`.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no such image.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_png(&mut self, contents: Value) -> Result<Value> {
        self.decode_png_with(contents, attributes::DecodePng::new())
    }

    /// As [`Operators::decode_png`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_png_with(&mut self, contents: Value, attrs: attributes::DecodePng) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_PNG, &[contents], Attrs(SmallVec::from_vec(vec![attrs.channels, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The image in `contents`, a JPEG, a PNG or a GIF of one frame, `u8` of shape `[height, width, channels]`.
    ///
    /// `channels` is 0 for as many as the image has, 1 for grey, 3 for colours. A JPEG is made smaller by `ratio`, 1, 2,
    /// 4 or 8, and where `try_recover_truncated` what is missing at its end is filled up. `fancy_upscaling`,
    /// `acceptable_fraction` and `dct_method` are accepted and change nothing.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no such image.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_jpeg(&mut self, contents: Value) -> Result<Value> {
        self.decode_jpeg_with(contents, attributes::DecodeJpeg::new())
    }

    /// As [`Operators::decode_jpeg`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_jpeg_with(&mut self, contents: Value, attrs: attributes::DecodeJpeg) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_JPEG, &[contents], Attrs(SmallVec::from_vec(vec![attrs.channels, attrs.ratio, attrs.fancy_upscaling, attrs.try_recover_truncated, attrs.acceptable_fraction, attrs.dct_method])))?;
        exactly(&results).map(|[result]| result)
    }

    /// A part of the JPEG in `contents`, `u8` of shape `[height, width, channels]`.
    ///
    /// `crop_window` holds its top, left edge, height and width, in the pixels of the image made smaller by `ratio`.
    /// Attributes are those of `decode_jpeg`.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no JPEG, and a window that reaches beyond the image.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_and_crop_jpeg(&mut self, contents: Value, crop_window: Value) -> Result<Value> {
        self.decode_and_crop_jpeg_with(contents, crop_window, attributes::DecodeAndCropJpeg::new())
    }

    /// As [`Operators::decode_and_crop_jpeg`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_and_crop_jpeg_with(&mut self, contents: Value, crop_window: Value, attrs: attributes::DecodeAndCropJpeg) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_AND_CROP_JPEG, &[contents, crop_window], Attrs(SmallVec::from_vec(vec![attrs.channels, attrs.ratio, attrs.fancy_upscaling, attrs.try_recover_truncated, attrs.acceptable_fraction, attrs.dct_method])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The frames in `contents`, a GIF, a PNG or a JPEG, `u8` of shape `[frames, height, width, 3]`.
    ///
    /// Where a frame does not reach, or is transparent, the frame before is seen, and black before the first.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no such image.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_gif(&mut self, contents: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_GIF, &[contents], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The image in `contents`, a BMP of 8, 24 or 32 bits a pixel, `u8` of shape `[height, width, channels]`.
    ///
    /// `channels` is 0 for as many as the image has, 3 for colours, 4 for colours and opacity. One of 8 bits is grey.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no BMP.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_bmp(&mut self, contents: Value) -> Result<Value> {
        self.decode_bmp_with(contents, attributes::DecodeBmp::new())
    }

    /// As [`Operators::decode_bmp`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_bmp_with(&mut self, contents: Value, attrs: attributes::DecodeBmp) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_BMP, &[contents], Attrs(SmallVec::from_vec(vec![attrs.channels])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The frames in `contents`, a WebP, `u8` of shape `[frames, height, width, channels]`.
    ///
    /// `channels` is 0, or as many as the image has: 3 for colours, 4 for colours and opacity. Animations have 4.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no WebP, and another number of channels.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_webp(&mut self, contents: Value) -> Result<Value> {
        self.decode_webp_with(contents, attributes::DecodeWebp::new())
    }

    /// As [`Operators::decode_webp`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_webp_with(&mut self, contents: Value, attrs: attributes::DecodeWebp) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_WEBP, &[contents], Attrs(SmallVec::from_vec(vec![attrs.channels, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The image in `contents`, a JPEG XL, `u8` of shape `[height, width, channels]`; of an animation the first frame.
    ///
    /// `channels` is 0, or as many as the image has: 1 for grey, 3 for colours, 4 for colours and opacity. Grey with
    /// opacity has 2. Samples of more bits are rounded to 8.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no JPEG XL, and another number of channels.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_jxl(&mut self, contents: Value) -> Result<Value> {
        self.decode_jxl_with(contents, attributes::DecodeJxl::new())
    }

    /// As [`Operators::decode_jxl`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_jxl_with(&mut self, contents: Value, attrs: attributes::DecodeJxl) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_JXL, &[contents], Attrs(SmallVec::from_vec(vec![attrs.channels, attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The image in `contents`, of any of the formats JPEG, JPEG XL, PNG, GIF, BMP and WebP, of shape `[height, width,
    /// channels]`.
    ///
    /// With `expand_animations` a GIF or a WebP has shape `[frames, height, width, channels]`, and without it is its
    /// first frame. `channels` is 0 for as many as the image has, 1 for grey, 3 for colours, 4 for colours and opacity,
    /// as far as its format has that. `dtype` is `u8`, `u16`, or `f32` for samples from 0 to 1.
    ///
    /// Errors: `InvalidArgument` for contents that are damaged or no image, and options that the format does not have.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_image(&mut self, contents: Value) -> Result<Value> {
        self.decode_image_with(contents, attributes::DecodeImage::new())
    }

    /// As [`Operators::decode_image`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_image_with(&mut self, contents: Value, attrs: attributes::DecodeImage) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::DECODE_IMAGE, &[contents], Attrs(SmallVec::from_vec(vec![attrs.channels, attrs.dtype, attrs.expand_animations])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The height, the width and the number of channels of the JPEG in `contents`, of which only the header is read.
    ///
    /// `output_type` is `i32` or `i64`.
    ///
    /// Errors: `InvalidArgument` for contents that are no JPEG.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn extract_jpeg_shape(&mut self, contents: Value) -> Result<Value> {
        self.extract_jpeg_shape_with(contents, attributes::ExtractJpegShape::new())
    }

    /// As [`Operators::extract_jpeg_shape`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn extract_jpeg_shape_with(&mut self, contents: Value, attrs: attributes::ExtractJpegShape) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::EXTRACT_JPEG_SHAPE, &[contents], Attrs(SmallVec::from_vec(vec![attrs.output_type])))?;
        exactly(&results).map(|[result]| result)
    }

    /// PNGs of images of shape `[..., height, width, channels]`, strings of shape `[...]`.
    ///
    /// Channels are 1 for grey, 2 for grey and opacity, 3 for colours, 4 for colours and opacity. `compression` goes from
    /// 0 for none to 9, and is -1 for the usual.
    ///
    /// Errors: `InvalidArgument` for images without pixels and another number of channels.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_png(&mut self, image: Value) -> Result<Value> {
        self.encode_png_with(image, attributes::EncodePng::new())
    }

    /// As [`Operators::encode_png`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_png_with(&mut self, image: Value, attrs: attributes::EncodePng) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::ENCODE_PNG, &[image], Attrs(SmallVec::from_vec(vec![attrs.compression])))?;
        exactly(&results).map(|[result]| result)
    }

    /// A JPEG of an image of shape `[height, width, channels]`, a string scalar.
    ///
    /// `format` is `grayscale` for 1 channel, `rgb` for 3, or empty for either. `quality` goes from 0 to 100. With
    /// `progressive` the image gets clearer with what is read of it, with `optimize_size` it is smaller and takes longer,
    /// with `chroma_downsampling` colours are kept for four pixels together. The densities are in pixels by
    /// `density_unit`, `in` or `cm`. `xmp_metadata` is put into the file.
    ///
    /// Errors: `InvalidArgument` for images without pixels or with more than 65535 in a row, and another number of
    /// channels.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_jpeg(&mut self, image: Value) -> Result<Value> {
        self.encode_jpeg_with(image, attributes::EncodeJpeg::new())
    }

    /// As [`Operators::encode_jpeg`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_jpeg_with(&mut self, image: Value, attrs: attributes::EncodeJpeg) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::ENCODE_JPEG, &[image], Attrs(SmallVec::from_vec(vec![attrs.format, attrs.quality, attrs.progressive, attrs.optimize_size, attrs.chroma_downsampling, attrs.density_unit, attrs.x_density, attrs.y_density, attrs.xmp_metadata])))?;
        exactly(&results).map(|[result]| result)
    }

    /// A JPEG of an image of shape `[height, width, channels]`, a string scalar, with colours kept for four pixels
    /// together.
    ///
    /// `quality` is an integer scalar from 0 to 100.
    ///
    /// Errors: `InvalidArgument` for another quality, images without pixels or with more than 65535 in a row, and another
    /// number of channels than 1 and 3.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_jpeg_variable_quality(&mut self, image: Value, quality: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::images::ENCODE_JPEG_VARIABLE_QUALITY, &[image, quality], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Which boxes of each image are kept, by falling scores: none that overlaps one kept before by more than
    /// `iou_threshold`.
    ///
    /// `boxes` has shape `[batch, boxes, 4]`, two opposite corners each, row first, and `scores` shape `[batch, boxes]`;
    /// boxes whose score is not above `score_threshold` are left out. With a `soft_nms_sigma` above 0 no box is left out
    /// for an overlap: its score falls by `exp(-overlap^2 / (2 * soft_nms_sigma))`. Gives indices, `i32`, and scores of
    /// shape `[batch, max_output_size]`, zeros behind those kept, and how many are kept, `i32` of shape `[batch]`.
    ///
    /// Errors: `InvalidArgument` for other shapes, an `iou_threshold` outside of 0 to 1, a negative `max_output_size` or
    /// `soft_nms_sigma`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn non_max_suppression(&mut self, boxes: Value, scores: Value, max_output_size: Value, iou_threshold: Value, score_threshold: Value, soft_nms_sigma: Value) -> Result<(Value, Value, Value)> {
        let results = self.add_instruction(&penstock_ops::boxes::NON_MAX_SUPPRESSION, &[boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// Which boxes are kept, by falling scores: none whose overlap with one kept before is above `overlap_threshold`.
    ///
    /// `overlaps` has shape `[boxes, boxes]`, `scores` shape `[boxes]`; boxes whose score is not above `score_threshold`
    /// are left out. Gives indices, `i32` of shape `[max_output_size]`, zeros behind those kept, and how many are kept,
    /// an `i32` scalar.
    ///
    /// Errors: `InvalidArgument` for other shapes and a negative `max_output_size`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn non_max_suppression_overlaps(&mut self, overlaps: Value, scores: Value, max_output_size: Value, overlap_threshold: Value, score_threshold: Value) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::boxes::NON_MAX_SUPPRESSION_OVERLAPS, &[overlaps, scores, max_output_size, overlap_threshold, score_threshold], Attrs::default())?;
        exactly(&results).map(Into::into)
    }

    /// A random part of an image of size `image_size`, `[height, width, channels]`: where it begins, `[top, left, 0]`,
    /// its size, `[height, width, -1]`, both of the dtype of `image_size`, and its corners as shares of the image, `f32`
    /// of shape `[1, 1, 4]`.
    ///
    /// The part is drawn by `seed` so that its height and width are in a ratio and its area a share in the ranges
    /// `aspect_ratio_range` and `area_range`, and that it covers the share `min_object_covered` of one of
    /// `bounding_boxes`, `[batch, boxes, 4]`. Where `max_attempts` draws give none, and where there are no boxes and
    /// `use_image_if_no_bounding_boxes`, it is the whole image.
    ///
    /// Errors: `InvalidArgument` for other shapes, ranges that are not positive or fall, and no boxes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_sample_distorted_bounding_box(&mut self, image_size: Value, bounding_boxes: Value, min_object_covered: Value, seed: Value, aspect_ratio_range: Value, area_range: Value) -> Result<(Value, Value, Value)> {
        self.stateless_sample_distorted_bounding_box_with(image_size, bounding_boxes, min_object_covered, seed, aspect_ratio_range, area_range, attributes::StatelessSampleDistortedBoundingBox::new())
    }

    /// As [`Operators::stateless_sample_distorted_bounding_box`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn stateless_sample_distorted_bounding_box_with(&mut self, image_size: Value, bounding_boxes: Value, min_object_covered: Value, seed: Value, aspect_ratio_range: Value, area_range: Value, attrs: attributes::StatelessSampleDistortedBoundingBox) -> Result<(Value, Value, Value)> {
        let results = self.add_instruction(&penstock_ops::boxes::STATELESS_SAMPLE_DISTORTED_BOUNDING_BOX, &[image_size, bounding_boxes, min_object_covered, seed, aspect_ratio_range, area_range], Attrs(SmallVec::from_vec(vec![attrs.max_attempts, attrs.use_image_if_no_bounding_boxes])))?;
        exactly(&results).map(Into::into)
    }

    /// The samples in `contents`, a WAV of 16 bits a sample, from -1 to 1, `f32` of shape `[samples, channels]`, and
    /// their number a second, an `i32` scalar.
    ///
    /// `desired_channels` and `desired_samples` are -1 for as many as there are. The last channel is repeated, and zeros
    /// follow the last sample, where more are wanted.
    ///
    /// Errors: `InvalidArgument` for contents that are no such WAV.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_wav(&mut self, contents: Value) -> Result<(Value, Value)> {
        self.decode_wav_with(contents, attributes::DecodeWav::new())
    }

    /// As [`Operators::decode_wav`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_wav_with(&mut self, contents: Value, attrs: attributes::DecodeWav) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::records::DECODE_WAV, &[contents], Attrs(SmallVec::from_vec(vec![attrs.desired_channels, attrs.desired_samples])))?;
        exactly(&results).map(Into::into)
    }

    /// A WAV of 16 bits a sample of `audio`, of shape `[samples, channels]`, a string scalar.
    ///
    /// Samples go from -1 to 1, and are cut off beyond. There are `sample_rate` of them a second, an `i32` scalar.
    ///
    /// Errors: `InvalidArgument` for a rate that is not positive, for no channels, and for more samples than a WAV holds.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn encode_wav(&mut self, audio: Value, sample_rate: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::records::ENCODE_WAV, &[audio, sample_rate], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The fields of lines of comma-separated values, a tensor of the shape of `records` for each of `record_defaults`.
    ///
    /// A default has the dtype of its field, `f32`, `f64`, `i32`, `i64` or `str`, and one element, which stands for a
    /// field that is empty or `na_value`, or none where a line must have the field. `field_delim` is what stands between
    /// fields. With `use_quote_delim` a field may be in double quotes, where two of them stand for one. `select_cols` are
    /// the indices of the fields that are read, in rising order; all by default.
    ///
    /// Errors: `InvalidArgument` for lines of another number of fields, fields that are missing or no number of their
    /// dtype, and quotes and line breaks where they may not be.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_csv(&mut self, records: Value, record_defaults: &[Value]) -> Result<Vec<Value>> {
        self.decode_csv_with(records, record_defaults, attributes::DecodeCsv::new())
    }

    /// As [`Operators::decode_csv`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn decode_csv_with(&mut self, records: Value, record_defaults: &[Value], attrs: attributes::DecodeCsv) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::records::DECODE_CSV, &[&[records][..], record_defaults].concat(), Attrs(SmallVec::from_vec(vec![attrs.field_delim, attrs.use_quote_delim, attrs.na_value, attrs.select_cols])))?;
        Ok(results.into_vec())
    }

    /// The values of features of serialized messages: for each of `keys` all values, a vector of the dtype in `outs`, and
    /// how many each message has, `i64`, -1 for one without the feature.
    ///
    /// `part` is `example` for `tf.train.Example` messages, `context` for those of whole `SequenceExample`s, and `steps`
    /// for their lists of features: there the number of steps of each message comes between, -1 for one without the list,
    /// and then the number of values of each step. Dtypes are `f32`, `i64` and `str`.
    ///
    /// Errors: `InvalidArgument` for what is no message, and for a feature of another kind.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn example_features(&mut self, serialized: Value, keys: &Tensor, outs: &[Type]) -> Result<Vec<Value>> {
        self.example_features_with(serialized, keys, outs, attributes::ExampleFeatures::new())
    }

    /// As [`Operators::example_features`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn example_features_with(&mut self, serialized: Value, keys: &Tensor, outs: &[Type], attrs: attributes::ExampleFeatures) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::records::EXAMPLE_FEATURES, &[serialized], Attrs(SmallVec::from_vec(vec![attrs.part, Attr::from(keys.clone()), Attr::from(outs.to_vec())])))?;
        Ok(results.into_vec())
    }

    /// A list of `length` elements, none of which is set.
    ///
    /// What is written to it is of this `dtype`, and of a shape of the type `shape`, where they are given.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_new(&mut self, length: Value) -> Result<Value> {
        self.list_new_with(length, attributes::ListNew::new())
    }

    /// As [`Operators::list_new`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_new_with(&mut self, length: Value, attrs: attributes::ListNew) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_NEW, &[length], Attrs(SmallVec::from_vec(vec![attrs.dtype, attrs.shape])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The list of the rows of `tensor`, which it shares: as many as its first dimension has.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_from_tensor(&mut self, tensor: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_FROM_TENSOR, &[tensor], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The number of elements of `list`, unset ones included; `i32` or `i64`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_length(&mut self, list: Value) -> Result<Value> {
        self.list_length_with(list, attributes::ListLength::new())
    }

    /// As [`Operators::list_length`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_length_with(&mut self, list: Value, attrs: attributes::ListLength) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_LENGTH, &[list], Attrs(SmallVec::from_vec(vec![attrs.dtype])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The elements of `list` at `indices`: one for a scalar, for a vector one beside the other along a new first
    /// dimension.
    ///
    /// They are of this `dtype`. `element_shape` is their shape, with -1 for a size that is not known, or a scalar -1; an
    /// element that is not set is zeros of that shape, which must be known then. An index outside of the list is an
    /// error.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_get(&mut self, list: Value, indices: Value, element_shape: Value, dtype: DType) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_GET, &[list, indices, element_shape], Attrs(SmallVec::from_vec(vec![Attr::from(dtype)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `list` with `values` at `indices`: one element for a scalar, for a vector the rows of `values`.
    ///
    /// Of equal indices the last counts. With `grow` the list becomes long enough, else an index outside of it is an
    /// error.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_set(&mut self, list: Value, indices: Value, values: Value) -> Result<Value> {
        self.list_set_with(list, indices, values, attributes::ListSet::new())
    }

    /// As [`Operators::list_set`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_set_with(&mut self, list: Value, indices: Value, values: Value, attrs: attributes::ListSet) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_SET, &[list, indices, values], Attrs(SmallVec::from_vec(vec![attrs.grow])))?;
        exactly(&results).map(|[result]| result)
    }

    /// `list` with the elements at `indices` unset, and those elements, as `list_get` gives them.
    ///
    /// Of equal indices the last gives the element, the others zeros: it is the adjoint of `list_set`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_take(&mut self, list: Value, indices: Value, element_shape: Value, dtype: DType) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::list::LIST_TAKE, &[list, indices, element_shape], Attrs(SmallVec::from_vec(vec![Attr::from(dtype)])))?;
        exactly(&results).map(Into::into)
    }

    /// `list` with `values` added to the elements at `indices`: for a vector of indices the rows of `values`, those of
    /// equal indices too.
    ///
    /// An element that is not set becomes the value: it is the adjoint of `list_get`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_accumulate(&mut self, list: Value, indices: Value, values: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_ACCUMULATE, &[list, indices, values], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `list` with `value` behind its last element.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_push(&mut self, list: Value, value: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_PUSH, &[list, value], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// `list` without its last element, and that element, of this `dtype` and as `list_get` gives it.
    ///
    /// An empty list is an error.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_pop(&mut self, list: Value, element_shape: Value, dtype: DType) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::list::LIST_POP, &[list, element_shape], Attrs(SmallVec::from_vec(vec![Attr::from(dtype)])))?;
        exactly(&results).map(Into::into)
    }

    /// `list` with `length` elements: those at the end are dropped, or unset ones are added.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_resize(&mut self, list: Value, length: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_RESIZE, &[list, length], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The elements of `list`, all of one shape, along a new first dimension.
    ///
    /// `dtype` and `element_shape` are as for `list_get`; where `num` is given the list has so many elements.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_stack(&mut self, list: Value, element_shape: Value, dtype: DType) -> Result<Value> {
        self.list_stack_with(list, element_shape, dtype, attributes::ListStack::new())
    }

    /// As [`Operators::list_stack`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_stack_with(&mut self, list: Value, element_shape: Value, dtype: DType, attrs: attributes::ListStack) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_STACK, &[list, element_shape], Attrs(SmallVec::from_vec(vec![Attr::from(dtype), attrs.num])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The size of each element of `list` along its first dimension, `i64`; `element_shape` is as for `list_get`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_lengths(&mut self, list: Value, element_shape: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_LENGTHS, &[list, element_shape], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The elements of `list`, one after the other along their first dimension.
    ///
    /// `lengths` are their sizes along it. `dtype` and `element_shape` are as for `list_get`, but for the first size,
    /// which is of no account.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_concat(&mut self, list: Value, lengths: Value, element_shape: Value, dtype: DType) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_CONCAT, &[list, lengths, element_shape], Attrs(SmallVec::from_vec(vec![Attr::from(dtype)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The list of the pieces of `tensor` of so many rows each; `lengths` sum to the number of rows. They share the data
    /// of `tensor`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_split(&mut self, tensor: Value, lengths: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_SPLIT, &[tensor, lengths], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The list of the sums of the elements of `x` and `y` at equal indices.
    ///
    /// It is as long as the longer, takes time linear in the elements of `y` that are set, and is the sum of cotangents.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn list_add(&mut self, x: Value, y: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::list::LIST_ADD, &[x, y], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Writes `data` and `end` to `stream`: `stdout`, `stderr`, `log:<level>` or `file://<path>`.
    ///
    /// In `template` each `{}` stands for the next of `data`, `{{` and `}}` for braces; without it the tensors are
    /// separated by spaces. Of each dimension the first and last `summarize` entries are written, all where that is
    /// negative.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn print(&mut self, data: &[Value]) -> Result<()> {
        self.print_with(data, attributes::Print::new())
    }

    /// As [`Operators::print`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn print_with(&mut self, data: &[Value], attrs: attributes::Print) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::host::PRINT, data, Attrs(SmallVec::from_vec(vec![attrs.template, attrs.stream, attrs.end, attrs.summarize])))?;
        drop(results);
        Ok(())
    }

    /// `template` with each `{}` replaced by the text of the next of `data`, a string scalar; `{{` and `}}` are braces.
    ///
    /// Of each dimension the first and last `summarize` entries are shown, all where that is negative.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_format(&mut self, data: &[Value], template: &str) -> Result<Value> {
        self.string_format_with(data, template, attributes::StringFormat::new())
    }

    /// As [`Operators::string_format`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn string_format_with(&mut self, data: &[Value], template: &str, attrs: attributes::StringFormat) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::host::STRING_FORMAT, data, Attrs(SmallVec::from_vec(vec![Attr::from(template), attrs.summarize])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Raises InvalidArgument where `condition`, a `bool` scalar, is false.
    ///
    /// The error shows `message`, unless it is empty, and the first `summarize` elements of each of `data`, all where
    /// that is negative.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn assert(&mut self, condition: Value, data: &[Value]) -> Result<()> {
        self.assert_with(condition, data, attributes::Assert::new())
    }

    /// As [`Operators::assert`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn assert_with(&mut self, condition: Value, data: &[Value], attrs: attributes::Assert) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::host::ASSERT, &[&[condition][..], data].concat(), Attrs(SmallVec::from_vec(vec![attrs.message, attrs.summarize])))?;
        drop(results);
        Ok(())
    }

    /// What the host code `func` gives for `args`: tensors of the types `outs`.
    ///
    /// It runs on the thread that runs the graph. Calls keep their order among all that has effects, and are neither
    /// dropped nor merged, unless `stateful` is false: such code only computes its results, and runs where they are used.
    /// Raises InvalidArgument where the number or a shape of the results is not as declared, DType where a dtype is not,
    /// and whatever the code raises. Its derivative is the host code that `func` gives for it, called with the same
    /// `stateful`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn host_call(&mut self, args: &[Value], func: &HostRef, outs: &[Type]) -> Result<Vec<Value>> {
        self.host_call_with(args, func, outs, attributes::HostCall::new())
    }

    /// As [`Operators::host_call`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn host_call_with(&mut self, args: &[Value], func: &HostRef, outs: &[Type], attrs: attributes::HostCall) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::host::HOST_CALL, args, Attrs(SmallVec::from_vec(vec![Attr::from(func.clone()), Attr::from(outs.to_vec()), attrs.stateful])))?;
        Ok(results.into_vec())
    }

    /// Seconds since 1970-01-01 00:00 UTC, an `f64` scalar.
    ///
    /// It keeps its place among all that has effects.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn timestamp(&mut self) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::host::TIMESTAMP, &[], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// A ticket for `collective_wait`: the collective of `value` with the other processes of `group` has started.
    ///
    /// `collective` is `all_reduce`, `reduce_scatter`, `all_gather`, `broadcast`, `reduce` or `all_to_all`; `combine` is
    /// `sum`, `product`, `min` or `max`; `root` is the rank that a value comes from or goes to; `label` says in errors
    /// which collective it is. All processes start the same ones in the same order.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn collective_start(&mut self, value: Value, collective: &str) -> Result<Value> {
        self.collective_start_with(value, collective, attributes::CollectiveStart::new())
    }

    /// As [`Operators::collective_start`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn collective_start_with(&mut self, value: Value, collective: &str, attrs: attributes::CollectiveStart) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::collective::COLLECTIVE_START, &[value], Attrs(SmallVec::from_vec(vec![Attr::from(collective), attrs.combine, attrs.root, attrs.group, attrs.label])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The result of the collective that gave `ticket` for `value`, when it is there; the attributes are those of the
    /// start.
    ///
    /// All but `reduce_scatter` and `all_gather` keep the shape. Raises Unavailable where another process cannot be
    /// reached, and InvalidArgument where it started something else.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn collective_wait(&mut self, ticket: Value, value: Value, collective: &str) -> Result<Value> {
        self.collective_wait_with(ticket, value, collective, attributes::CollectiveWait::new())
    }

    /// As [`Operators::collective_wait`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn collective_wait_with(&mut self, ticket: Value, value: Value, collective: &str, attrs: attributes::CollectiveWait) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::collective::COLLECTIVE_WAIT, &[ticket, value], Attrs(SmallVec::from_vec(vec![Attr::from(collective), attrs.combine, attrs.root, attrs.group, attrs.label])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Its first `outputs` operands, with a gradient that the function `func` computes.
    ///
    /// The next operands, as many as `places` has entries, get the cotangents: entry `i` is the output of `func` for
    /// operand `outputs + i`, or -1 for none. `func` takes the cotangent of each floating-point or complex result, then
    /// the rest of the operands.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn with_gradient(&mut self, values: &[Value], func: &Arc<Function>, outputs: i64, places: &[i64]) -> Result<Vec<Value>> {
        let results = self.add_instruction(&penstock_ops::control::WITH_GRADIENT, values, Attrs(SmallVec::from_vec(vec![Attr::from(FuncRef::called(func)), Attr::from(outputs), Attr::from(places)])))?;
        Ok(results.into_vec())
    }

    /// The value of a variable now: later assignments do not change the result.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn read_variable(&mut self, variable: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::state::READ_VARIABLE, &[variable], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// Makes `value` the value of the variable.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn assign(&mut self, variable: Value, value: Value) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::state::ASSIGN, &[variable, value], Attrs::default())?;
        drop(results);
        Ok(())
    }

    /// Adds `value`, of the variable's shape, to the variable.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn assign_add(&mut self, variable: Value, value: Value) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::state::ASSIGN_ADD, &[variable, value], Attrs::default())?;
        drop(results);
        Ok(())
    }

    /// Subtracts `value`, of the variable's shape, from the variable.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn assign_sub(&mut self, variable: Value, value: Value) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::state::ASSIGN_SUB, &[variable, value], Attrs::default())?;
        drop(results);
        Ok(())
    }

    /// Changes the slices of the variable that the rows of `indices` name, in place.
    ///
    /// The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of the variable; `updates` has
    /// the extents `indices[..-1] + variable[k..]`. `mode` says what becomes of a slice: `update` replaces it; `add`,
    /// `sub`, `mul`, `div`, `min` and `max` combine it with the update, those of one slice one after the other. Raises
    /// InvalidArgument for a position that is not there; the variable is unchanged then.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn scatter_variable(&mut self, variable: Value, indices: Value, updates: Value) -> Result<Value> {
        self.scatter_variable_with(variable, indices, updates, attributes::ScatterVariable::new())
    }

    /// As [`Operators::scatter_variable`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn scatter_variable_with(&mut self, variable: Value, indices: Value, updates: Value, attrs: attributes::ScatterVariable) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::updates::SCATTER_VARIABLE, &[variable, indices, updates], Attrs(SmallVec::from_vec(vec![attrs.mode])))?;
        exactly(&results).map(|[result]| result)
    }

    /// Writes `value` where `strided_slice` with the same specification would read the variable, in place.
    ///
    /// `value` has the extents of that slice. Raises InvalidArgument where it has not, IndexOutOfBounds for a single
    /// index that is not there; the variable is unchanged then.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_assign(&mut self, variable: Value, begin: Value, end: Value, strides: Value, value: Value) -> Result<Value> {
        self.strided_slice_assign_with(variable, begin, end, strides, value, attributes::StridedSliceAssign::new())
    }

    /// As [`Operators::strided_slice_assign`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn strided_slice_assign_with(&mut self, variable: Value, begin: Value, end: Value, strides: Value, value: Value, attrs: attributes::StridedSliceAssign) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::updates::STRIDED_SLICE_ASSIGN, &[variable, begin, end, strides, value], Attrs(SmallVec::from_vec(vec![attrs.begin_mask, attrs.end_mask, attrs.ellipsis_mask, attrs.new_axis_mask, attrs.shrink_axis_mask])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The state of a Philox generator before it is moved on by `delta` numbers, in one step.
    ///
    /// `variable` holds the lower and the upper half of the counter, then the key: three `int64`. The counter grows by
    /// 256 for each number, as in TensorFlow. Raises InvalidArgument where `delta` is negative.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn rng_read_and_skip(&mut self, variable: Value, delta: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::updates::RNG_READ_AND_SKIP, &[variable, delta], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The integer scalar in `variable` before 1 is added to it, in one step.
    ///
    /// Raises OutOfRange where it is `limit` or more; it stays as it is then.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn count_up_to(&mut self, variable: Value, limit: i64) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::updates::COUNT_UP_TO, &[variable], Attrs(SmallVec::from_vec(vec![Attr::from(limit)])))?;
        exactly(&results).map(|[result]| result)
    }

    /// A table with these keys and their values.
    ///
    /// `keys` has the shape of what is looked up, then `key_rank` dimensions of a key; `values` has the same shape, then
    /// that of a value. Raises FailedPrecondition where a key stands twice with different values.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_of(&mut self, keys: Value, values: Value) -> Result<Value> {
        self.table_of_with(keys, values, attributes::TableOf::new())
    }

    /// As [`Operators::table_of`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_of_with(&mut self, keys: Value, values: Value, attrs: attributes::TableOf) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::table::TABLE_OF, &[keys, values], Attrs(SmallVec::from_vec(vec![attrs.key_rank])))?;
        exactly(&results).map(|[result]| result)
    }

    /// The value of each key; `default` where the key is not there.
    ///
    /// `default` is one value, or, where `each` is set, one for each key.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_find(&mut self, table: Value, keys: Value, default: Value) -> Result<Value> {
        self.table_find_with(table, keys, default, attributes::TableFind::new())
    }

    /// As [`Operators::table_find`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_find_with(&mut self, table: Value, keys: Value, default: Value, attrs: attributes::TableFind) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::table::TABLE_FIND, &[table, keys, default], Attrs(SmallVec::from_vec(vec![attrs.key_rank, attrs.each])))?;
        exactly(&results).map(|[result]| result)
    }

    /// How many keys the table has, `i64`.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_size(&mut self, table: Value) -> Result<Value> {
        let results = self.add_instruction(&penstock_ops::table::TABLE_SIZE, &[table], Attrs::default())?;
        exactly(&results).map(|[result]| result)
    }

    /// The keys of the table and their values, a row for each.
    ///
    /// The table has keys and values of these dtypes and shapes. The rows are in the order in which the keys came; the
    /// last takes the place of one that is removed.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_export(&mut self, table: Value, key_dtype: DType, value_dtype: DType, key_shape: &penstock_data::Shape, value_shape: &penstock_data::Shape) -> Result<(Value, Value)> {
        let results = self.add_instruction(&penstock_ops::table::TABLE_EXPORT, &[table], Attrs(SmallVec::from_vec(vec![Attr::from(key_dtype), Attr::from(value_dtype), Attr::from(key_shape.clone()), Attr::from(value_shape.clone())])))?;
        exactly(&results).map(Into::into)
    }

    /// Sets the values of keys in the table that the variable holds: of equal keys the last one counts.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_insert(&mut self, variable: Value, keys: Value, values: Value) -> Result<()> {
        self.table_insert_with(variable, keys, values, attributes::TableInsert::new())
    }

    /// As [`Operators::table_insert`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_insert_with(&mut self, variable: Value, keys: Value, values: Value, attrs: attributes::TableInsert) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::table::TABLE_INSERT, &[variable, keys, values], Attrs(SmallVec::from_vec(vec![attrs.key_rank])))?;
        drop(results);
        Ok(())
    }

    /// Removes keys from the table that the variable holds. Those that are not there make no difference.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_remove(&mut self, variable: Value, keys: Value) -> Result<()> {
        self.table_remove_with(variable, keys, attributes::TableRemove::new())
    }

    /// As [`Operators::table_remove`], with attributes.
    ///
    /// # Errors
    /// What the operator's declaration and inference report.
    fn table_remove_with(&mut self, variable: Value, keys: Value, attrs: attributes::TableRemove) -> Result<()> {
        let results = self.add_instruction(&penstock_ops::table::TABLE_REMOVE, &[variable, keys], Attrs(SmallVec::from_vec(vec![attrs.key_rank])))?;
        drop(results);
        Ok(())
    }
}

impl Operators for Builder {
    fn add_instruction(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<Values> {
        let inst = self.inst(op, operands, attrs, &[])?;
        Ok(self.results(inst).into())
    }

    fn type_of(&self, value: Value) -> Result<&Type> {
        self.ty(value).ok_or_else(|| Error::invalid(format!("{value} is of another graph")))
    }
}

/// The results of an instruction that has so many.
fn exactly<const N: usize>(results: &[Value]) -> Result<[Value; N]> {
    let wrong = |_| Error::internal(format!("an instruction has {} result(s), not {N}", results.len()));
    results.try_into().map_err(wrong)
}

/// Attributes that may be left out, a struct for each operator that has some. Each starts with the defaults.
pub mod attributes {
    use super::{Attr, DType};

    /// Attributes of [`super::Operators::reduce_sum_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceSum {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceSum {
        /// The defaults.
        pub fn new() -> ReduceSum {
            ReduceSum { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceSum {
            ReduceSum { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceSum {
            ReduceSum { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceSum {
        fn default() -> ReduceSum {
            ReduceSum::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_prod_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceProd {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceProd {
        /// The defaults.
        pub fn new() -> ReduceProd {
            ReduceProd { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceProd {
            ReduceProd { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceProd {
            ReduceProd { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceProd {
        fn default() -> ReduceProd {
            ReduceProd::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_max_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceMax {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceMax {
        /// The defaults.
        pub fn new() -> ReduceMax {
            ReduceMax { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceMax {
            ReduceMax { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceMax {
            ReduceMax { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceMax {
        fn default() -> ReduceMax {
            ReduceMax::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_min_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceMin {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceMin {
        /// The defaults.
        pub fn new() -> ReduceMin {
            ReduceMin { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceMin {
            ReduceMin { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceMin {
            ReduceMin { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceMin {
        fn default() -> ReduceMin {
            ReduceMin::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_mean_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceMean {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceMean {
        /// The defaults.
        pub fn new() -> ReduceMean {
            ReduceMean { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceMean {
            ReduceMean { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceMean {
            ReduceMean { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceMean {
        fn default() -> ReduceMean {
            ReduceMean::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_any_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceAny {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceAny {
        /// The defaults.
        pub fn new() -> ReduceAny {
            ReduceAny { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceAny {
            ReduceAny { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceAny {
            ReduceAny { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceAny {
        fn default() -> ReduceAny {
            ReduceAny::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_all_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceAll {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceAll {
        /// The defaults.
        pub fn new() -> ReduceAll {
            ReduceAll { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceAll {
            ReduceAll { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceAll {
            ReduceAll { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceAll {
        fn default() -> ReduceAll {
            ReduceAll::new()
        }
    }

    /// Attributes of [`super::Operators::reduce_logsumexp_with`].
    #[derive(Clone, Debug)]
    pub struct ReduceLogsumexp {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl ReduceLogsumexp {
        /// The defaults.
        pub fn new() -> ReduceLogsumexp {
            ReduceLogsumexp { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> ReduceLogsumexp {
            ReduceLogsumexp { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> ReduceLogsumexp {
            ReduceLogsumexp { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for ReduceLogsumexp {
        fn default() -> ReduceLogsumexp {
            ReduceLogsumexp::new()
        }
    }

    /// Attributes of [`super::Operators::count_nonzero_with`].
    #[derive(Clone, Debug)]
    pub struct CountNonzero {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
    }

    impl CountNonzero {
        /// The defaults.
        pub fn new() -> CountNonzero {
            CountNonzero { axes: Attr::None, keepdims: Attr::from(false) }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> CountNonzero {
            CountNonzero { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> CountNonzero {
            CountNonzero { keepdims: Attr::from(keepdims), ..self }
        }
    }

    impl Default for CountNonzero {
        fn default() -> CountNonzero {
            CountNonzero::new()
        }
    }

    /// Attributes of [`super::Operators::argmax_with`].
    #[derive(Clone, Debug)]
    pub struct Argmax {
        pub(super) axis: Attr,
        pub(super) dtype: Attr,
    }

    impl Argmax {
        /// The defaults.
        pub fn new() -> Argmax {
            Argmax { axis: Attr::from(0i64), dtype: Attr::from(DType::I64) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Argmax {
            Argmax { axis: Attr::from(axis), ..self }
        }

        /// Gives `dtype`, by default `int64`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Argmax {
            Argmax { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for Argmax {
        fn default() -> Argmax {
            Argmax::new()
        }
    }

    /// Attributes of [`super::Operators::argmin_with`].
    #[derive(Clone, Debug)]
    pub struct Argmin {
        pub(super) axis: Attr,
        pub(super) dtype: Attr,
    }

    impl Argmin {
        /// The defaults.
        pub fn new() -> Argmin {
            Argmin { axis: Attr::from(0i64), dtype: Attr::from(DType::I64) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Argmin {
            Argmin { axis: Attr::from(axis), ..self }
        }

        /// Gives `dtype`, by default `int64`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Argmin {
            Argmin { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for Argmin {
        fn default() -> Argmin {
            Argmin::new()
        }
    }

    /// Attributes of [`super::Operators::cumsum_with`].
    #[derive(Clone, Debug)]
    pub struct Cumsum {
        pub(super) axis: Attr,
        pub(super) exclusive: Attr,
        pub(super) reverse: Attr,
    }

    impl Cumsum {
        /// The defaults.
        pub fn new() -> Cumsum {
            Cumsum { axis: Attr::from(0i64), exclusive: Attr::from(false), reverse: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Cumsum {
            Cumsum { axis: Attr::from(axis), ..self }
        }

        /// Gives `exclusive`, by default `false`.
        #[must_use]
        pub fn exclusive(self, exclusive: bool) -> Cumsum {
            Cumsum { exclusive: Attr::from(exclusive), ..self }
        }

        /// Gives `reverse`, by default `false`.
        #[must_use]
        pub fn reverse(self, reverse: bool) -> Cumsum {
            Cumsum { reverse: Attr::from(reverse), ..self }
        }
    }

    impl Default for Cumsum {
        fn default() -> Cumsum {
            Cumsum::new()
        }
    }

    /// Attributes of [`super::Operators::cumprod_with`].
    #[derive(Clone, Debug)]
    pub struct Cumprod {
        pub(super) axis: Attr,
        pub(super) exclusive: Attr,
        pub(super) reverse: Attr,
    }

    impl Cumprod {
        /// The defaults.
        pub fn new() -> Cumprod {
            Cumprod { axis: Attr::from(0i64), exclusive: Attr::from(false), reverse: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Cumprod {
            Cumprod { axis: Attr::from(axis), ..self }
        }

        /// Gives `exclusive`, by default `false`.
        #[must_use]
        pub fn exclusive(self, exclusive: bool) -> Cumprod {
            Cumprod { exclusive: Attr::from(exclusive), ..self }
        }

        /// Gives `reverse`, by default `false`.
        #[must_use]
        pub fn reverse(self, reverse: bool) -> Cumprod {
            Cumprod { reverse: Attr::from(reverse), ..self }
        }
    }

    impl Default for Cumprod {
        fn default() -> Cumprod {
            Cumprod::new()
        }
    }

    /// Attributes of [`super::Operators::cumulative_logsumexp_with`].
    #[derive(Clone, Debug)]
    pub struct CumulativeLogsumexp {
        pub(super) axis: Attr,
        pub(super) exclusive: Attr,
        pub(super) reverse: Attr,
    }

    impl CumulativeLogsumexp {
        /// The defaults.
        pub fn new() -> CumulativeLogsumexp {
            CumulativeLogsumexp { axis: Attr::from(0i64), exclusive: Attr::from(false), reverse: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> CumulativeLogsumexp {
            CumulativeLogsumexp { axis: Attr::from(axis), ..self }
        }

        /// Gives `exclusive`, by default `false`.
        #[must_use]
        pub fn exclusive(self, exclusive: bool) -> CumulativeLogsumexp {
            CumulativeLogsumexp { exclusive: Attr::from(exclusive), ..self }
        }

        /// Gives `reverse`, by default `false`.
        #[must_use]
        pub fn reverse(self, reverse: bool) -> CumulativeLogsumexp {
            CumulativeLogsumexp { reverse: Attr::from(reverse), ..self }
        }
    }

    impl Default for CumulativeLogsumexp {
        fn default() -> CumulativeLogsumexp {
            CumulativeLogsumexp::new()
        }
    }

    /// Attributes of [`super::Operators::linear_recurrence_with`].
    #[derive(Clone, Debug)]
    pub struct LinearRecurrence {
        pub(super) axis: Attr,
        pub(super) exclusive: Attr,
        pub(super) reverse: Attr,
    }

    impl LinearRecurrence {
        /// The defaults.
        pub fn new() -> LinearRecurrence {
            LinearRecurrence { axis: Attr::from(0i64), exclusive: Attr::from(false), reverse: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> LinearRecurrence {
            LinearRecurrence { axis: Attr::from(axis), ..self }
        }

        /// Gives `exclusive`, by default `false`.
        #[must_use]
        pub fn exclusive(self, exclusive: bool) -> LinearRecurrence {
            LinearRecurrence { exclusive: Attr::from(exclusive), ..self }
        }

        /// Gives `reverse`, by default `false`.
        #[must_use]
        pub fn reverse(self, reverse: bool) -> LinearRecurrence {
            LinearRecurrence { reverse: Attr::from(reverse), ..self }
        }
    }

    impl Default for LinearRecurrence {
        fn default() -> LinearRecurrence {
            LinearRecurrence::new()
        }
    }

    /// Attributes of [`super::Operators::sort_with`].
    #[derive(Clone, Debug)]
    pub struct Sort {
        pub(super) axis: Attr,
        pub(super) descending: Attr,
    }

    impl Sort {
        /// The defaults.
        pub fn new() -> Sort {
            Sort { axis: Attr::from(-1i64), descending: Attr::from(false) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Sort {
            Sort { axis: Attr::from(axis), ..self }
        }

        /// Gives `descending`, by default `false`.
        #[must_use]
        pub fn descending(self, descending: bool) -> Sort {
            Sort { descending: Attr::from(descending), ..self }
        }
    }

    impl Default for Sort {
        fn default() -> Sort {
            Sort::new()
        }
    }

    /// Attributes of [`super::Operators::argsort_with`].
    #[derive(Clone, Debug)]
    pub struct Argsort {
        pub(super) axis: Attr,
        pub(super) descending: Attr,
        pub(super) dtype: Attr,
    }

    impl Argsort {
        /// The defaults.
        pub fn new() -> Argsort {
            Argsort { axis: Attr::from(-1i64), descending: Attr::from(false), dtype: Attr::from(DType::I32) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Argsort {
            Argsort { axis: Attr::from(axis), ..self }
        }

        /// Gives `descending`, by default `false`.
        #[must_use]
        pub fn descending(self, descending: bool) -> Argsort {
            Argsort { descending: Attr::from(descending), ..self }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Argsort {
            Argsort { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for Argsort {
        fn default() -> Argsort {
            Argsort::new()
        }
    }

    /// Attributes of [`super::Operators::top_k_with`].
    #[derive(Clone, Debug)]
    pub struct TopK {
        pub(super) dtype: Attr,
    }

    impl TopK {
        /// The defaults.
        pub fn new() -> TopK {
            TopK { dtype: Attr::from(DType::I32) }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> TopK {
            TopK { dtype: Attr::from(dtype) }
        }
    }

    impl Default for TopK {
        fn default() -> TopK {
            TopK::new()
        }
    }

    /// Attributes of [`super::Operators::searchsorted_with`].
    #[derive(Clone, Debug)]
    pub struct Searchsorted {
        pub(super) right: Attr,
        pub(super) dtype: Attr,
    }

    impl Searchsorted {
        /// The defaults.
        pub fn new() -> Searchsorted {
            Searchsorted { right: Attr::from(false), dtype: Attr::from(DType::I32) }
        }

        /// Gives `right`, by default `false`.
        #[must_use]
        pub fn right(self, right: bool) -> Searchsorted {
            Searchsorted { right: Attr::from(right), ..self }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Searchsorted {
            Searchsorted { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for Searchsorted {
        fn default() -> Searchsorted {
            Searchsorted::new()
        }
    }

    /// Attributes of [`super::Operators::unique_with`].
    #[derive(Clone, Debug)]
    pub struct Unique {
        pub(super) dtype: Attr,
    }

    impl Unique {
        /// The defaults.
        pub fn new() -> Unique {
            Unique { dtype: Attr::from(DType::I32) }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Unique {
            Unique { dtype: Attr::from(dtype) }
        }
    }

    impl Default for Unique {
        fn default() -> Unique {
            Unique::new()
        }
    }

    /// Attributes of [`super::Operators::take_along_axis_with`].
    #[derive(Clone, Debug)]
    pub struct TakeAlongAxis {
        pub(super) axis: Attr,
    }

    impl TakeAlongAxis {
        /// The defaults.
        pub fn new() -> TakeAlongAxis {
            TakeAlongAxis { axis: Attr::from(-1i64) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> TakeAlongAxis {
            TakeAlongAxis { axis: Attr::from(axis) }
        }
    }

    impl Default for TakeAlongAxis {
        fn default() -> TakeAlongAxis {
            TakeAlongAxis::new()
        }
    }

    /// Attributes of [`super::Operators::scatter_along_axis_with`].
    #[derive(Clone, Debug)]
    pub struct ScatterAlongAxis {
        pub(super) axis: Attr,
    }

    impl ScatterAlongAxis {
        /// The defaults.
        pub fn new() -> ScatterAlongAxis {
            ScatterAlongAxis { axis: Attr::from(-1i64) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> ScatterAlongAxis {
            ScatterAlongAxis { axis: Attr::from(axis) }
        }
    }

    impl Default for ScatterAlongAxis {
        fn default() -> ScatterAlongAxis {
            ScatterAlongAxis::new()
        }
    }

    /// Attributes of [`super::Operators::bincount_with`].
    #[derive(Clone, Debug)]
    pub struct Bincount {
        pub(super) rows: Attr,
    }

    impl Bincount {
        /// The defaults.
        pub fn new() -> Bincount {
            Bincount { rows: Attr::from(false) }
        }

        /// Gives `rows`, by default `false`.
        #[must_use]
        pub fn rows(self, rows: bool) -> Bincount {
            Bincount { rows: Attr::from(rows) }
        }
    }

    impl Default for Bincount {
        fn default() -> Bincount {
            Bincount::new()
        }
    }

    /// Attributes of [`super::Operators::matmul_with`].
    #[derive(Clone, Debug)]
    pub struct Matmul {
        pub(super) transpose_a: Attr,
        pub(super) transpose_b: Attr,
        pub(super) adjoint_a: Attr,
        pub(super) adjoint_b: Attr,
    }

    impl Matmul {
        /// The defaults.
        pub fn new() -> Matmul {
            Matmul { transpose_a: Attr::from(false), transpose_b: Attr::from(false), adjoint_a: Attr::from(false), adjoint_b: Attr::from(false) }
        }

        /// Gives `transpose_a`, by default `false`.
        #[must_use]
        pub fn transpose_a(self, transpose_a: bool) -> Matmul {
            Matmul { transpose_a: Attr::from(transpose_a), ..self }
        }

        /// Gives `transpose_b`, by default `false`.
        #[must_use]
        pub fn transpose_b(self, transpose_b: bool) -> Matmul {
            Matmul { transpose_b: Attr::from(transpose_b), ..self }
        }

        /// Gives `adjoint_a`, by default `false`.
        #[must_use]
        pub fn adjoint_a(self, adjoint_a: bool) -> Matmul {
            Matmul { adjoint_a: Attr::from(adjoint_a), ..self }
        }

        /// Gives `adjoint_b`, by default `false`.
        #[must_use]
        pub fn adjoint_b(self, adjoint_b: bool) -> Matmul {
            Matmul { adjoint_b: Attr::from(adjoint_b), ..self }
        }
    }

    impl Default for Matmul {
        fn default() -> Matmul {
            Matmul::new()
        }
    }

    /// Attributes of [`super::Operators::matmul_int32_with`].
    #[derive(Clone, Debug)]
    pub struct MatmulInt32 {
        pub(super) transpose_a: Attr,
        pub(super) transpose_b: Attr,
    }

    impl MatmulInt32 {
        /// The defaults.
        pub fn new() -> MatmulInt32 {
            MatmulInt32 { transpose_a: Attr::from(false), transpose_b: Attr::from(false) }
        }

        /// Gives `transpose_a`, by default `false`.
        #[must_use]
        pub fn transpose_a(self, transpose_a: bool) -> MatmulInt32 {
            MatmulInt32 { transpose_a: Attr::from(transpose_a), ..self }
        }

        /// Gives `transpose_b`, by default `false`.
        #[must_use]
        pub fn transpose_b(self, transpose_b: bool) -> MatmulInt32 {
            MatmulInt32 { transpose_b: Attr::from(transpose_b), ..self }
        }
    }

    impl Default for MatmulInt32 {
        fn default() -> MatmulInt32 {
            MatmulInt32::new()
        }
    }

    /// Attributes of [`super::Operators::matrix_band_part_with`].
    #[derive(Clone, Debug)]
    pub struct MatrixBandPart {
        pub(super) lower: Attr,
        pub(super) upper: Attr,
    }

    impl MatrixBandPart {
        /// The defaults.
        pub fn new() -> MatrixBandPart {
            MatrixBandPart { lower: Attr::from(-1i64), upper: Attr::from(-1i64) }
        }

        /// Gives `lower`, by default `-1`.
        #[must_use]
        pub fn lower(self, lower: i64) -> MatrixBandPart {
            MatrixBandPart { lower: Attr::from(lower), ..self }
        }

        /// Gives `upper`, by default `-1`.
        #[must_use]
        pub fn upper(self, upper: i64) -> MatrixBandPart {
            MatrixBandPart { upper: Attr::from(upper), ..self }
        }
    }

    impl Default for MatrixBandPart {
        fn default() -> MatrixBandPart {
            MatrixBandPart::new()
        }
    }

    /// Attributes of [`super::Operators::triangular_solve_with`].
    #[derive(Clone, Debug)]
    pub struct TriangularSolve {
        pub(super) lower: Attr,
        pub(super) adjoint: Attr,
    }

    impl TriangularSolve {
        /// The defaults.
        pub fn new() -> TriangularSolve {
            TriangularSolve { lower: Attr::from(true), adjoint: Attr::from(false) }
        }

        /// Gives `lower`, by default `true`.
        #[must_use]
        pub fn lower(self, lower: bool) -> TriangularSolve {
            TriangularSolve { lower: Attr::from(lower), ..self }
        }

        /// Gives `adjoint`, by default `false`.
        #[must_use]
        pub fn adjoint(self, adjoint: bool) -> TriangularSolve {
            TriangularSolve { adjoint: Attr::from(adjoint), ..self }
        }
    }

    impl Default for TriangularSolve {
        fn default() -> TriangularSolve {
            TriangularSolve::new()
        }
    }

    /// Attributes of [`super::Operators::matrix_solve_with`].
    #[derive(Clone, Debug)]
    pub struct MatrixSolve {
        pub(super) adjoint: Attr,
    }

    impl MatrixSolve {
        /// The defaults.
        pub fn new() -> MatrixSolve {
            MatrixSolve { adjoint: Attr::from(false) }
        }

        /// Gives `adjoint`, by default `false`.
        #[must_use]
        pub fn adjoint(self, adjoint: bool) -> MatrixSolve {
            MatrixSolve { adjoint: Attr::from(adjoint) }
        }
    }

    impl Default for MatrixSolve {
        fn default() -> MatrixSolve {
            MatrixSolve::new()
        }
    }

    /// Attributes of [`super::Operators::fft_with`].
    #[derive(Clone, Debug)]
    pub struct Fft {
        pub(super) inverse: Attr,
        pub(super) scaled: Attr,
    }

    impl Fft {
        /// The defaults.
        pub fn new() -> Fft {
            Fft { inverse: Attr::from(false), scaled: Attr::from(false) }
        }

        /// Gives `inverse`, by default `false`.
        #[must_use]
        pub fn inverse(self, inverse: bool) -> Fft {
            Fft { inverse: Attr::from(inverse), ..self }
        }

        /// Gives `scaled`, by default `false`.
        #[must_use]
        pub fn scaled(self, scaled: bool) -> Fft {
            Fft { scaled: Attr::from(scaled), ..self }
        }
    }

    impl Default for Fft {
        fn default() -> Fft {
            Fft::new()
        }
    }

    /// Attributes of [`super::Operators::rfft_with`].
    #[derive(Clone, Debug)]
    pub struct Rfft {
        pub(super) scaled: Attr,
        pub(super) mirrored: Attr,
    }

    impl Rfft {
        /// The defaults.
        pub fn new() -> Rfft {
            Rfft { scaled: Attr::from(false), mirrored: Attr::from(false) }
        }

        /// Gives `scaled`, by default `false`.
        #[must_use]
        pub fn scaled(self, scaled: bool) -> Rfft {
            Rfft { scaled: Attr::from(scaled), ..self }
        }

        /// Gives `mirrored`, by default `false`.
        #[must_use]
        pub fn mirrored(self, mirrored: bool) -> Rfft {
            Rfft { mirrored: Attr::from(mirrored), ..self }
        }
    }

    impl Default for Rfft {
        fn default() -> Rfft {
            Rfft::new()
        }
    }

    /// Attributes of [`super::Operators::irfft_with`].
    #[derive(Clone, Debug)]
    pub struct Irfft {
        pub(super) scaled: Attr,
        pub(super) mirrored: Attr,
    }

    impl Irfft {
        /// The defaults.
        pub fn new() -> Irfft {
            Irfft { scaled: Attr::from(false), mirrored: Attr::from(false) }
        }

        /// Gives `scaled`, by default `false`.
        #[must_use]
        pub fn scaled(self, scaled: bool) -> Irfft {
            Irfft { scaled: Attr::from(scaled), ..self }
        }

        /// Gives `mirrored`, by default `false`.
        #[must_use]
        pub fn mirrored(self, mirrored: bool) -> Irfft {
            Irfft { mirrored: Attr::from(mirrored), ..self }
        }
    }

    impl Default for Irfft {
        fn default() -> Irfft {
            Irfft::new()
        }
    }

    /// Attributes of [`super::Operators::softmax_with`].
    #[derive(Clone, Debug)]
    pub struct Softmax {
        pub(super) axis: Attr,
    }

    impl Softmax {
        /// The defaults.
        pub fn new() -> Softmax {
            Softmax { axis: Attr::from(-1i64) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Softmax {
            Softmax { axis: Attr::from(axis) }
        }
    }

    impl Default for Softmax {
        fn default() -> Softmax {
            Softmax::new()
        }
    }

    /// Attributes of [`super::Operators::log_softmax_with`].
    #[derive(Clone, Debug)]
    pub struct LogSoftmax {
        pub(super) axis: Attr,
    }

    impl LogSoftmax {
        /// The defaults.
        pub fn new() -> LogSoftmax {
            LogSoftmax { axis: Attr::from(-1i64) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> LogSoftmax {
            LogSoftmax { axis: Attr::from(axis) }
        }
    }

    impl Default for LogSoftmax {
        fn default() -> LogSoftmax {
            LogSoftmax::new()
        }
    }

    /// Attributes of [`super::Operators::conv_with`].
    #[derive(Clone, Debug)]
    pub struct Conv {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
        pub(super) dilations: Attr,
    }

    impl Conv {
        /// The defaults.
        pub fn new() -> Conv {
            Conv { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None, dilations: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> Conv {
            Conv { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> Conv {
            Conv { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> Conv {
            Conv { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }

        /// Gives `dilations`.
        #[must_use]
        pub fn dilations(self, dilations: &[i64]) -> Conv {
            Conv { dilations: Attr::from(dilations), ..self }
        }
    }

    impl Default for Conv {
        fn default() -> Conv {
            Conv::new()
        }
    }

    /// Attributes of [`super::Operators::conv_input_grad_with`].
    #[derive(Clone, Debug)]
    pub struct ConvInputGrad {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
        pub(super) dilations: Attr,
    }

    impl ConvInputGrad {
        /// The defaults.
        pub fn new() -> ConvInputGrad {
            ConvInputGrad { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None, dilations: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> ConvInputGrad {
            ConvInputGrad { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> ConvInputGrad {
            ConvInputGrad { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> ConvInputGrad {
            ConvInputGrad { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }

        /// Gives `dilations`.
        #[must_use]
        pub fn dilations(self, dilations: &[i64]) -> ConvInputGrad {
            ConvInputGrad { dilations: Attr::from(dilations), ..self }
        }
    }

    impl Default for ConvInputGrad {
        fn default() -> ConvInputGrad {
            ConvInputGrad::new()
        }
    }

    /// Attributes of [`super::Operators::conv_filter_grad_with`].
    #[derive(Clone, Debug)]
    pub struct ConvFilterGrad {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
        pub(super) dilations: Attr,
    }

    impl ConvFilterGrad {
        /// The defaults.
        pub fn new() -> ConvFilterGrad {
            ConvFilterGrad { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None, dilations: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> ConvFilterGrad {
            ConvFilterGrad { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> ConvFilterGrad {
            ConvFilterGrad { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> ConvFilterGrad {
            ConvFilterGrad { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }

        /// Gives `dilations`.
        #[must_use]
        pub fn dilations(self, dilations: &[i64]) -> ConvFilterGrad {
            ConvFilterGrad { dilations: Attr::from(dilations), ..self }
        }
    }

    impl Default for ConvFilterGrad {
        fn default() -> ConvFilterGrad {
            ConvFilterGrad::new()
        }
    }

    /// Attributes of [`super::Operators::max_pool_with`].
    #[derive(Clone, Debug)]
    pub struct MaxPool {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
    }

    impl MaxPool {
        /// The defaults.
        pub fn new() -> MaxPool {
            MaxPool { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> MaxPool {
            MaxPool { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> MaxPool {
            MaxPool { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> MaxPool {
            MaxPool { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }
    }

    impl Default for MaxPool {
        fn default() -> MaxPool {
            MaxPool::new()
        }
    }

    /// Attributes of [`super::Operators::max_pool_grad_with`].
    #[derive(Clone, Debug)]
    pub struct MaxPoolGrad {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
    }

    impl MaxPoolGrad {
        /// The defaults.
        pub fn new() -> MaxPoolGrad {
            MaxPoolGrad { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> MaxPoolGrad {
            MaxPoolGrad { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> MaxPoolGrad {
            MaxPoolGrad { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> MaxPoolGrad {
            MaxPoolGrad { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }
    }

    impl Default for MaxPoolGrad {
        fn default() -> MaxPoolGrad {
            MaxPoolGrad::new()
        }
    }

    /// Attributes of [`super::Operators::max_pool_take_with`].
    #[derive(Clone, Debug)]
    pub struct MaxPoolTake {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
    }

    impl MaxPoolTake {
        /// The defaults.
        pub fn new() -> MaxPoolTake {
            MaxPoolTake { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> MaxPoolTake {
            MaxPoolTake { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> MaxPoolTake {
            MaxPoolTake { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> MaxPoolTake {
            MaxPoolTake { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }
    }

    impl Default for MaxPoolTake {
        fn default() -> MaxPoolTake {
            MaxPoolTake::new()
        }
    }

    /// Attributes of [`super::Operators::avg_pool_with`].
    #[derive(Clone, Debug)]
    pub struct AvgPool {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
    }

    impl AvgPool {
        /// The defaults.
        pub fn new() -> AvgPool {
            AvgPool { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> AvgPool {
            AvgPool { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> AvgPool {
            AvgPool { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> AvgPool {
            AvgPool { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }
    }

    impl Default for AvgPool {
        fn default() -> AvgPool {
            AvgPool::new()
        }
    }

    /// Attributes of [`super::Operators::avg_pool_grad_with`].
    #[derive(Clone, Debug)]
    pub struct AvgPoolGrad {
        pub(super) strides: Attr,
        pub(super) padding: Attr,
        pub(super) explicit_paddings: Attr,
    }

    impl AvgPoolGrad {
        /// The defaults.
        pub fn new() -> AvgPoolGrad {
            AvgPoolGrad { strides: Attr::None, padding: Attr::from("VALID"), explicit_paddings: Attr::None }
        }

        /// Gives `strides`.
        #[must_use]
        pub fn strides(self, strides: &[i64]) -> AvgPoolGrad {
            AvgPoolGrad { strides: Attr::from(strides), ..self }
        }

        /// Gives `padding`, by default `'VALID'`.
        #[must_use]
        pub fn padding(self, padding: &str) -> AvgPoolGrad {
            AvgPoolGrad { padding: Attr::from(padding), ..self }
        }

        /// Gives `explicit_paddings`.
        #[must_use]
        pub fn explicit_paddings(self, explicit_paddings: &[i64]) -> AvgPoolGrad {
            AvgPoolGrad { explicit_paddings: Attr::from(explicit_paddings), ..self }
        }
    }

    impl Default for AvgPoolGrad {
        fn default() -> AvgPoolGrad {
            AvgPoolGrad::new()
        }
    }

    /// Attributes of [`super::Operators::check_numerics_with`].
    #[derive(Clone, Debug)]
    pub struct CheckNumerics {
        pub(super) message: Attr,
    }

    impl CheckNumerics {
        /// The defaults.
        pub fn new() -> CheckNumerics {
            CheckNumerics { message: Attr::from("") }
        }

        /// Gives `message`, by default `''`.
        #[must_use]
        pub fn message(self, message: &str) -> CheckNumerics {
            CheckNumerics { message: Attr::from(message) }
        }
    }

    impl Default for CheckNumerics {
        fn default() -> CheckNumerics {
            CheckNumerics::new()
        }
    }

    /// Attributes of [`super::Operators::shape_with`].
    #[derive(Clone, Debug)]
    pub struct Shape {
        pub(super) dtype: Attr,
    }

    impl Shape {
        /// The defaults.
        pub fn new() -> Shape {
            Shape { dtype: Attr::from(DType::I32) }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Shape {
            Shape { dtype: Attr::from(dtype) }
        }
    }

    impl Default for Shape {
        fn default() -> Shape {
            Shape::new()
        }
    }

    /// Attributes of [`super::Operators::size_with`].
    #[derive(Clone, Debug)]
    pub struct Size {
        pub(super) dtype: Attr,
    }

    impl Size {
        /// The defaults.
        pub fn new() -> Size {
            Size { dtype: Attr::from(DType::I32) }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> Size {
            Size { dtype: Attr::from(dtype) }
        }
    }

    impl Default for Size {
        fn default() -> Size {
            Size::new()
        }
    }

    /// Attributes of [`super::Operators::one_hot_with`].
    #[derive(Clone, Debug)]
    pub struct OneHot {
        pub(super) axis: Attr,
    }

    impl OneHot {
        /// The defaults.
        pub fn new() -> OneHot {
            OneHot { axis: Attr::from(-1i64) }
        }

        /// Gives `axis`, by default `-1`.
        #[must_use]
        pub fn axis(self, axis: i64) -> OneHot {
            OneHot { axis: Attr::from(axis) }
        }
    }

    impl Default for OneHot {
        fn default() -> OneHot {
            OneHot::new()
        }
    }

    /// Attributes of [`super::Operators::squeeze_with`].
    #[derive(Clone, Debug)]
    pub struct Squeeze {
        pub(super) axes: Attr,
    }

    impl Squeeze {
        /// The defaults.
        pub fn new() -> Squeeze {
            Squeeze { axes: Attr::None }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> Squeeze {
            Squeeze { axes: Attr::from(axes) }
        }
    }

    impl Default for Squeeze {
        fn default() -> Squeeze {
            Squeeze::new()
        }
    }

    /// Attributes of [`super::Operators::transpose_with`].
    #[derive(Clone, Debug)]
    pub struct Transpose {
        pub(super) perm: Attr,
    }

    impl Transpose {
        /// The defaults.
        pub fn new() -> Transpose {
            Transpose { perm: Attr::None }
        }

        /// Gives `perm`.
        #[must_use]
        pub fn perm(self, perm: &[i64]) -> Transpose {
            Transpose { perm: Attr::from(perm) }
        }
    }

    impl Default for Transpose {
        fn default() -> Transpose {
            Transpose::new()
        }
    }

    /// Attributes of [`super::Operators::stack_with`].
    #[derive(Clone, Debug)]
    pub struct Stack {
        pub(super) axis: Attr,
    }

    impl Stack {
        /// The defaults.
        pub fn new() -> Stack {
            Stack { axis: Attr::from(0i64) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Stack {
            Stack { axis: Attr::from(axis) }
        }
    }

    impl Default for Stack {
        fn default() -> Stack {
            Stack::new()
        }
    }

    /// Attributes of [`super::Operators::unstack_with`].
    #[derive(Clone, Debug)]
    pub struct Unstack {
        pub(super) num: Attr,
        pub(super) axis: Attr,
    }

    impl Unstack {
        /// The defaults.
        pub fn new() -> Unstack {
            Unstack { num: Attr::None, axis: Attr::from(0i64) }
        }

        /// Gives `num`.
        #[must_use]
        pub fn num(self, num: i64) -> Unstack {
            Unstack { num: Attr::from(num), ..self }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Unstack {
            Unstack { axis: Attr::from(axis), ..self }
        }
    }

    impl Default for Unstack {
        fn default() -> Unstack {
            Unstack::new()
        }
    }

    /// Attributes of [`super::Operators::split_with`].
    #[derive(Clone, Debug)]
    pub struct Split {
        pub(super) sizes: Attr,
        pub(super) num: Attr,
        pub(super) axis: Attr,
    }

    impl Split {
        /// The defaults.
        pub fn new() -> Split {
            Split { sizes: Attr::None, num: Attr::None, axis: Attr::from(0i64) }
        }

        /// Gives `sizes`.
        #[must_use]
        pub fn sizes(self, sizes: &[i64]) -> Split {
            Split { sizes: Attr::from(sizes), ..self }
        }

        /// Gives `num`.
        #[must_use]
        pub fn num(self, num: i64) -> Split {
            Split { num: Attr::from(num), ..self }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Split {
            Split { axis: Attr::from(axis), ..self }
        }
    }

    impl Default for Split {
        fn default() -> Split {
            Split::new()
        }
    }

    /// Attributes of [`super::Operators::strided_slice_with`].
    #[derive(Clone, Debug)]
    pub struct StridedSlice {
        pub(super) begin_mask: Attr,
        pub(super) end_mask: Attr,
        pub(super) ellipsis_mask: Attr,
        pub(super) new_axis_mask: Attr,
        pub(super) shrink_axis_mask: Attr,
    }

    impl StridedSlice {
        /// The defaults.
        pub fn new() -> StridedSlice {
            StridedSlice { begin_mask: Attr::from(0i64), end_mask: Attr::from(0i64), ellipsis_mask: Attr::from(0i64), new_axis_mask: Attr::from(0i64), shrink_axis_mask: Attr::from(0i64) }
        }

        /// Gives `begin_mask`, by default `0`.
        #[must_use]
        pub fn begin_mask(self, begin_mask: i64) -> StridedSlice {
            StridedSlice { begin_mask: Attr::from(begin_mask), ..self }
        }

        /// Gives `end_mask`, by default `0`.
        #[must_use]
        pub fn end_mask(self, end_mask: i64) -> StridedSlice {
            StridedSlice { end_mask: Attr::from(end_mask), ..self }
        }

        /// Gives `ellipsis_mask`, by default `0`.
        #[must_use]
        pub fn ellipsis_mask(self, ellipsis_mask: i64) -> StridedSlice {
            StridedSlice { ellipsis_mask: Attr::from(ellipsis_mask), ..self }
        }

        /// Gives `new_axis_mask`, by default `0`.
        #[must_use]
        pub fn new_axis_mask(self, new_axis_mask: i64) -> StridedSlice {
            StridedSlice { new_axis_mask: Attr::from(new_axis_mask), ..self }
        }

        /// Gives `shrink_axis_mask`, by default `0`.
        #[must_use]
        pub fn shrink_axis_mask(self, shrink_axis_mask: i64) -> StridedSlice {
            StridedSlice { shrink_axis_mask: Attr::from(shrink_axis_mask), ..self }
        }
    }

    impl Default for StridedSlice {
        fn default() -> StridedSlice {
            StridedSlice::new()
        }
    }

    /// Attributes of [`super::Operators::strided_slice_grad_with`].
    #[derive(Clone, Debug)]
    pub struct StridedSliceGrad {
        pub(super) begin_mask: Attr,
        pub(super) end_mask: Attr,
        pub(super) ellipsis_mask: Attr,
        pub(super) new_axis_mask: Attr,
        pub(super) shrink_axis_mask: Attr,
    }

    impl StridedSliceGrad {
        /// The defaults.
        pub fn new() -> StridedSliceGrad {
            StridedSliceGrad { begin_mask: Attr::from(0i64), end_mask: Attr::from(0i64), ellipsis_mask: Attr::from(0i64), new_axis_mask: Attr::from(0i64), shrink_axis_mask: Attr::from(0i64) }
        }

        /// Gives `begin_mask`, by default `0`.
        #[must_use]
        pub fn begin_mask(self, begin_mask: i64) -> StridedSliceGrad {
            StridedSliceGrad { begin_mask: Attr::from(begin_mask), ..self }
        }

        /// Gives `end_mask`, by default `0`.
        #[must_use]
        pub fn end_mask(self, end_mask: i64) -> StridedSliceGrad {
            StridedSliceGrad { end_mask: Attr::from(end_mask), ..self }
        }

        /// Gives `ellipsis_mask`, by default `0`.
        #[must_use]
        pub fn ellipsis_mask(self, ellipsis_mask: i64) -> StridedSliceGrad {
            StridedSliceGrad { ellipsis_mask: Attr::from(ellipsis_mask), ..self }
        }

        /// Gives `new_axis_mask`, by default `0`.
        #[must_use]
        pub fn new_axis_mask(self, new_axis_mask: i64) -> StridedSliceGrad {
            StridedSliceGrad { new_axis_mask: Attr::from(new_axis_mask), ..self }
        }

        /// Gives `shrink_axis_mask`, by default `0`.
        #[must_use]
        pub fn shrink_axis_mask(self, shrink_axis_mask: i64) -> StridedSliceGrad {
            StridedSliceGrad { shrink_axis_mask: Attr::from(shrink_axis_mask), ..self }
        }
    }

    impl Default for StridedSliceGrad {
        fn default() -> StridedSliceGrad {
            StridedSliceGrad::new()
        }
    }

    /// Attributes of [`super::Operators::strided_slice_accumulate_with`].
    #[derive(Clone, Debug)]
    pub struct StridedSliceAccumulate {
        pub(super) begin_mask: Attr,
        pub(super) end_mask: Attr,
        pub(super) ellipsis_mask: Attr,
        pub(super) new_axis_mask: Attr,
        pub(super) shrink_axis_mask: Attr,
    }

    impl StridedSliceAccumulate {
        /// The defaults.
        pub fn new() -> StridedSliceAccumulate {
            StridedSliceAccumulate { begin_mask: Attr::from(0i64), end_mask: Attr::from(0i64), ellipsis_mask: Attr::from(0i64), new_axis_mask: Attr::from(0i64), shrink_axis_mask: Attr::from(0i64) }
        }

        /// Gives `begin_mask`, by default `0`.
        #[must_use]
        pub fn begin_mask(self, begin_mask: i64) -> StridedSliceAccumulate {
            StridedSliceAccumulate { begin_mask: Attr::from(begin_mask), ..self }
        }

        /// Gives `end_mask`, by default `0`.
        #[must_use]
        pub fn end_mask(self, end_mask: i64) -> StridedSliceAccumulate {
            StridedSliceAccumulate { end_mask: Attr::from(end_mask), ..self }
        }

        /// Gives `ellipsis_mask`, by default `0`.
        #[must_use]
        pub fn ellipsis_mask(self, ellipsis_mask: i64) -> StridedSliceAccumulate {
            StridedSliceAccumulate { ellipsis_mask: Attr::from(ellipsis_mask), ..self }
        }

        /// Gives `new_axis_mask`, by default `0`.
        #[must_use]
        pub fn new_axis_mask(self, new_axis_mask: i64) -> StridedSliceAccumulate {
            StridedSliceAccumulate { new_axis_mask: Attr::from(new_axis_mask), ..self }
        }

        /// Gives `shrink_axis_mask`, by default `0`.
        #[must_use]
        pub fn shrink_axis_mask(self, shrink_axis_mask: i64) -> StridedSliceAccumulate {
            StridedSliceAccumulate { shrink_axis_mask: Attr::from(shrink_axis_mask), ..self }
        }
    }

    impl Default for StridedSliceAccumulate {
        fn default() -> StridedSliceAccumulate {
            StridedSliceAccumulate::new()
        }
    }

    /// Attributes of [`super::Operators::gather_with`].
    #[derive(Clone, Debug)]
    pub struct Gather {
        pub(super) axis: Attr,
        pub(super) batch_dims: Attr,
        pub(super) drop_negative: Attr,
        pub(super) sparse_gradient: Attr,
    }

    impl Gather {
        /// The defaults.
        pub fn new() -> Gather {
            Gather { axis: Attr::from(0i64), batch_dims: Attr::from(0i64), drop_negative: Attr::from(false), sparse_gradient: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> Gather {
            Gather { axis: Attr::from(axis), ..self }
        }

        /// Gives `batch_dims`, by default `0`.
        #[must_use]
        pub fn batch_dims(self, batch_dims: i64) -> Gather {
            Gather { batch_dims: Attr::from(batch_dims), ..self }
        }

        /// Gives `drop_negative`, by default `false`.
        #[must_use]
        pub fn drop_negative(self, drop_negative: bool) -> Gather {
            Gather { drop_negative: Attr::from(drop_negative), ..self }
        }

        /// Gives `sparse_gradient`, by default `false`.
        #[must_use]
        pub fn sparse_gradient(self, sparse_gradient: bool) -> Gather {
            Gather { sparse_gradient: Attr::from(sparse_gradient), ..self }
        }
    }

    impl Default for Gather {
        fn default() -> Gather {
            Gather::new()
        }
    }

    /// Attributes of [`super::Operators::gather_grad_with`].
    #[derive(Clone, Debug)]
    pub struct GatherGrad {
        pub(super) axis: Attr,
        pub(super) batch_dims: Attr,
        pub(super) drop_negative: Attr,
        pub(super) sparse_gradient: Attr,
    }

    impl GatherGrad {
        /// The defaults.
        pub fn new() -> GatherGrad {
            GatherGrad { axis: Attr::from(0i64), batch_dims: Attr::from(0i64), drop_negative: Attr::from(false), sparse_gradient: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> GatherGrad {
            GatherGrad { axis: Attr::from(axis), ..self }
        }

        /// Gives `batch_dims`, by default `0`.
        #[must_use]
        pub fn batch_dims(self, batch_dims: i64) -> GatherGrad {
            GatherGrad { batch_dims: Attr::from(batch_dims), ..self }
        }

        /// Gives `drop_negative`, by default `false`.
        #[must_use]
        pub fn drop_negative(self, drop_negative: bool) -> GatherGrad {
            GatherGrad { drop_negative: Attr::from(drop_negative), ..self }
        }

        /// Gives `sparse_gradient`, by default `false`.
        #[must_use]
        pub fn sparse_gradient(self, sparse_gradient: bool) -> GatherGrad {
            GatherGrad { sparse_gradient: Attr::from(sparse_gradient), ..self }
        }
    }

    impl Default for GatherGrad {
        fn default() -> GatherGrad {
            GatherGrad::new()
        }
    }

    /// Attributes of [`super::Operators::gather_accumulate_with`].
    #[derive(Clone, Debug)]
    pub struct GatherAccumulate {
        pub(super) axis: Attr,
        pub(super) batch_dims: Attr,
        pub(super) drop_negative: Attr,
        pub(super) sparse_gradient: Attr,
    }

    impl GatherAccumulate {
        /// The defaults.
        pub fn new() -> GatherAccumulate {
            GatherAccumulate { axis: Attr::from(0i64), batch_dims: Attr::from(0i64), drop_negative: Attr::from(false), sparse_gradient: Attr::from(false) }
        }

        /// Gives `axis`, by default `0`.
        #[must_use]
        pub fn axis(self, axis: i64) -> GatherAccumulate {
            GatherAccumulate { axis: Attr::from(axis), ..self }
        }

        /// Gives `batch_dims`, by default `0`.
        #[must_use]
        pub fn batch_dims(self, batch_dims: i64) -> GatherAccumulate {
            GatherAccumulate { batch_dims: Attr::from(batch_dims), ..self }
        }

        /// Gives `drop_negative`, by default `false`.
        #[must_use]
        pub fn drop_negative(self, drop_negative: bool) -> GatherAccumulate {
            GatherAccumulate { drop_negative: Attr::from(drop_negative), ..self }
        }

        /// Gives `sparse_gradient`, by default `false`.
        #[must_use]
        pub fn sparse_gradient(self, sparse_gradient: bool) -> GatherAccumulate {
            GatherAccumulate { sparse_gradient: Attr::from(sparse_gradient), ..self }
        }
    }

    impl Default for GatherAccumulate {
        fn default() -> GatherAccumulate {
            GatherAccumulate::new()
        }
    }

    /// Attributes of [`super::Operators::random_uniform_with`].
    #[derive(Clone, Debug)]
    pub struct RandomUniform {
        pub(super) dtype: Attr,
    }

    impl RandomUniform {
        /// The defaults.
        pub fn new() -> RandomUniform {
            RandomUniform { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> RandomUniform {
            RandomUniform { dtype: Attr::from(dtype) }
        }
    }

    impl Default for RandomUniform {
        fn default() -> RandomUniform {
            RandomUniform::new()
        }
    }

    /// Attributes of [`super::Operators::random_normal_with`].
    #[derive(Clone, Debug)]
    pub struct RandomNormal {
        pub(super) dtype: Attr,
    }

    impl RandomNormal {
        /// The defaults.
        pub fn new() -> RandomNormal {
            RandomNormal { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> RandomNormal {
            RandomNormal { dtype: Attr::from(dtype) }
        }
    }

    impl Default for RandomNormal {
        fn default() -> RandomNormal {
            RandomNormal::new()
        }
    }

    /// Attributes of [`super::Operators::truncated_normal_with`].
    #[derive(Clone, Debug)]
    pub struct TruncatedNormal {
        pub(super) dtype: Attr,
    }

    impl TruncatedNormal {
        /// The defaults.
        pub fn new() -> TruncatedNormal {
            TruncatedNormal { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> TruncatedNormal {
            TruncatedNormal { dtype: Attr::from(dtype) }
        }
    }

    impl Default for TruncatedNormal {
        fn default() -> TruncatedNormal {
            TruncatedNormal::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_random_uniform_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessRandomUniform {
        pub(super) dtype: Attr,
    }

    impl StatelessRandomUniform {
        /// The defaults.
        pub fn new() -> StatelessRandomUniform {
            StatelessRandomUniform { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StatelessRandomUniform {
            StatelessRandomUniform { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StatelessRandomUniform {
        fn default() -> StatelessRandomUniform {
            StatelessRandomUniform::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_random_normal_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessRandomNormal {
        pub(super) dtype: Attr,
    }

    impl StatelessRandomNormal {
        /// The defaults.
        pub fn new() -> StatelessRandomNormal {
            StatelessRandomNormal { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StatelessRandomNormal {
            StatelessRandomNormal { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StatelessRandomNormal {
        fn default() -> StatelessRandomNormal {
            StatelessRandomNormal::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_truncated_normal_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessTruncatedNormal {
        pub(super) dtype: Attr,
    }

    impl StatelessTruncatedNormal {
        /// The defaults.
        pub fn new() -> StatelessTruncatedNormal {
            StatelessTruncatedNormal { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StatelessTruncatedNormal {
            StatelessTruncatedNormal { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StatelessTruncatedNormal {
        fn default() -> StatelessTruncatedNormal {
            StatelessTruncatedNormal::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_random_uniform_full_int_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessRandomUniformFullInt {
        pub(super) dtype: Attr,
    }

    impl StatelessRandomUniformFullInt {
        /// The defaults.
        pub fn new() -> StatelessRandomUniformFullInt {
            StatelessRandomUniformFullInt { dtype: Attr::from(DType::I32) }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StatelessRandomUniformFullInt {
            StatelessRandomUniformFullInt { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StatelessRandomUniformFullInt {
        fn default() -> StatelessRandomUniformFullInt {
            StatelessRandomUniformFullInt::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_random_poisson_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessRandomPoisson {
        pub(super) dtype: Attr,
    }

    impl StatelessRandomPoisson {
        /// The defaults.
        pub fn new() -> StatelessRandomPoisson {
            StatelessRandomPoisson { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StatelessRandomPoisson {
            StatelessRandomPoisson { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StatelessRandomPoisson {
        fn default() -> StatelessRandomPoisson {
            StatelessRandomPoisson::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_random_binomial_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessRandomBinomial {
        pub(super) dtype: Attr,
    }

    impl StatelessRandomBinomial {
        /// The defaults.
        pub fn new() -> StatelessRandomBinomial {
            StatelessRandomBinomial { dtype: Attr::from(DType::I32) }
        }

        /// Gives `dtype`, by default `int32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StatelessRandomBinomial {
            StatelessRandomBinomial { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StatelessRandomBinomial {
        fn default() -> StatelessRandomBinomial {
            StatelessRandomBinomial::new()
        }
    }

    /// Attributes of [`super::Operators::string_length_with`].
    #[derive(Clone, Debug)]
    pub struct StringLength {
        pub(super) unit: Attr,
    }

    impl StringLength {
        /// The defaults.
        pub fn new() -> StringLength {
            StringLength { unit: Attr::from("BYTE") }
        }

        /// Gives `unit`, by default `'BYTE'`.
        #[must_use]
        pub fn unit(self, unit: &str) -> StringLength {
            StringLength { unit: Attr::from(unit) }
        }
    }

    impl Default for StringLength {
        fn default() -> StringLength {
            StringLength::new()
        }
    }

    /// Attributes of [`super::Operators::string_join_with`].
    #[derive(Clone, Debug)]
    pub struct StringJoin {
        pub(super) separator: Attr,
    }

    impl StringJoin {
        /// The defaults.
        pub fn new() -> StringJoin {
            StringJoin { separator: Attr::from("") }
        }

        /// Gives `separator`, by default `''`.
        #[must_use]
        pub fn separator(self, separator: &str) -> StringJoin {
            StringJoin { separator: Attr::from(separator) }
        }
    }

    impl Default for StringJoin {
        fn default() -> StringJoin {
            StringJoin::new()
        }
    }

    /// Attributes of [`super::Operators::string_lower_with`].
    #[derive(Clone, Debug)]
    pub struct StringLower {
        pub(super) encoding: Attr,
    }

    impl StringLower {
        /// The defaults.
        pub fn new() -> StringLower {
            StringLower { encoding: Attr::from("") }
        }

        /// Gives `encoding`, by default `''`.
        #[must_use]
        pub fn encoding(self, encoding: &str) -> StringLower {
            StringLower { encoding: Attr::from(encoding) }
        }
    }

    impl Default for StringLower {
        fn default() -> StringLower {
            StringLower::new()
        }
    }

    /// Attributes of [`super::Operators::string_upper_with`].
    #[derive(Clone, Debug)]
    pub struct StringUpper {
        pub(super) encoding: Attr,
    }

    impl StringUpper {
        /// The defaults.
        pub fn new() -> StringUpper {
            StringUpper { encoding: Attr::from("") }
        }

        /// Gives `encoding`, by default `''`.
        #[must_use]
        pub fn encoding(self, encoding: &str) -> StringUpper {
            StringUpper { encoding: Attr::from(encoding) }
        }
    }

    impl Default for StringUpper {
        fn default() -> StringUpper {
            StringUpper::new()
        }
    }

    /// Attributes of [`super::Operators::substr_with`].
    #[derive(Clone, Debug)]
    pub struct Substr {
        pub(super) unit: Attr,
    }

    impl Substr {
        /// The defaults.
        pub fn new() -> Substr {
            Substr { unit: Attr::from("BYTE") }
        }

        /// Gives `unit`, by default `'BYTE'`.
        #[must_use]
        pub fn unit(self, unit: &str) -> Substr {
            Substr { unit: Attr::from(unit) }
        }
    }

    impl Default for Substr {
        fn default() -> Substr {
            Substr::new()
        }
    }

    /// Attributes of [`super::Operators::as_string_with`].
    #[derive(Clone, Debug)]
    pub struct AsString {
        pub(super) precision: Attr,
        pub(super) scientific: Attr,
        pub(super) shortest: Attr,
        pub(super) width: Attr,
        pub(super) fill: Attr,
    }

    impl AsString {
        /// The defaults.
        pub fn new() -> AsString {
            AsString { precision: Attr::from(-1i64), scientific: Attr::from(false), shortest: Attr::from(false), width: Attr::from(-1i64), fill: Attr::from("") }
        }

        /// Gives `precision`, by default `-1`.
        #[must_use]
        pub fn precision(self, precision: i64) -> AsString {
            AsString { precision: Attr::from(precision), ..self }
        }

        /// Gives `scientific`, by default `false`.
        #[must_use]
        pub fn scientific(self, scientific: bool) -> AsString {
            AsString { scientific: Attr::from(scientific), ..self }
        }

        /// Gives `shortest`, by default `false`.
        #[must_use]
        pub fn shortest(self, shortest: bool) -> AsString {
            AsString { shortest: Attr::from(shortest), ..self }
        }

        /// Gives `width`, by default `-1`.
        #[must_use]
        pub fn width(self, width: i64) -> AsString {
            AsString { width: Attr::from(width), ..self }
        }

        /// Gives `fill`, by default `''`.
        #[must_use]
        pub fn fill(self, fill: &str) -> AsString {
            AsString { fill: Attr::from(fill), ..self }
        }
    }

    impl Default for AsString {
        fn default() -> AsString {
            AsString::new()
        }
    }

    /// Attributes of [`super::Operators::string_to_number_with`].
    #[derive(Clone, Debug)]
    pub struct StringToNumber {
        pub(super) dtype: Attr,
    }

    impl StringToNumber {
        /// The defaults.
        pub fn new() -> StringToNumber {
            StringToNumber { dtype: Attr::from(DType::F32) }
        }

        /// Gives `dtype`, by default `float32`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> StringToNumber {
            StringToNumber { dtype: Attr::from(dtype) }
        }
    }

    impl Default for StringToNumber {
        fn default() -> StringToNumber {
            StringToNumber::new()
        }
    }

    /// Attributes of [`super::Operators::regex_replace_with`].
    #[derive(Clone, Debug)]
    pub struct RegexReplace {
        pub(super) replace_global: Attr,
    }

    impl RegexReplace {
        /// The defaults.
        pub fn new() -> RegexReplace {
            RegexReplace { replace_global: Attr::from(true) }
        }

        /// Gives `replace_global`, by default `true`.
        #[must_use]
        pub fn replace_global(self, replace_global: bool) -> RegexReplace {
            RegexReplace { replace_global: Attr::from(replace_global) }
        }
    }

    impl Default for RegexReplace {
        fn default() -> RegexReplace {
            RegexReplace::new()
        }
    }

    /// Attributes of [`super::Operators::string_split_with`].
    #[derive(Clone, Debug)]
    pub struct StringSplit {
        pub(super) sep: Attr,
        pub(super) maxsplit: Attr,
    }

    impl StringSplit {
        /// The defaults.
        pub fn new() -> StringSplit {
            StringSplit { sep: Attr::from(""), maxsplit: Attr::from(-1i64) }
        }

        /// Gives `sep`, by default `''`.
        #[must_use]
        pub fn sep(self, sep: &str) -> StringSplit {
            StringSplit { sep: Attr::from(sep), ..self }
        }

        /// Gives `maxsplit`, by default `-1`.
        #[must_use]
        pub fn maxsplit(self, maxsplit: i64) -> StringSplit {
            StringSplit { maxsplit: Attr::from(maxsplit), ..self }
        }
    }

    impl Default for StringSplit {
        fn default() -> StringSplit {
            StringSplit::new()
        }
    }

    /// Attributes of [`super::Operators::unicode_decode_with`].
    #[derive(Clone, Debug)]
    pub struct UnicodeDecode {
        pub(super) input_encoding: Attr,
        pub(super) errors: Attr,
        pub(super) replacement_char: Attr,
        pub(super) replace_control_characters: Attr,
    }

    impl UnicodeDecode {
        /// The defaults.
        pub fn new() -> UnicodeDecode {
            UnicodeDecode { input_encoding: Attr::from("UTF-8"), errors: Attr::from("replace"), replacement_char: Attr::from(65533i64), replace_control_characters: Attr::from(false) }
        }

        /// Gives `input_encoding`, by default `'UTF-8'`.
        #[must_use]
        pub fn input_encoding(self, input_encoding: &str) -> UnicodeDecode {
            UnicodeDecode { input_encoding: Attr::from(input_encoding), ..self }
        }

        /// Gives `errors`, by default `'replace'`.
        #[must_use]
        pub fn errors(self, errors: &str) -> UnicodeDecode {
            UnicodeDecode { errors: Attr::from(errors), ..self }
        }

        /// Gives `replacement_char`, by default `65533`.
        #[must_use]
        pub fn replacement_char(self, replacement_char: i64) -> UnicodeDecode {
            UnicodeDecode { replacement_char: Attr::from(replacement_char), ..self }
        }

        /// Gives `replace_control_characters`, by default `false`.
        #[must_use]
        pub fn replace_control_characters(self, replace_control_characters: bool) -> UnicodeDecode {
            UnicodeDecode { replace_control_characters: Attr::from(replace_control_characters), ..self }
        }
    }

    impl Default for UnicodeDecode {
        fn default() -> UnicodeDecode {
            UnicodeDecode::new()
        }
    }

    /// Attributes of [`super::Operators::unicode_encode_with`].
    #[derive(Clone, Debug)]
    pub struct UnicodeEncode {
        pub(super) output_encoding: Attr,
        pub(super) errors: Attr,
        pub(super) replacement_char: Attr,
    }

    impl UnicodeEncode {
        /// The defaults.
        pub fn new() -> UnicodeEncode {
            UnicodeEncode { output_encoding: Attr::from("UTF-8"), errors: Attr::from("replace"), replacement_char: Attr::from(65533i64) }
        }

        /// Gives `output_encoding`, by default `'UTF-8'`.
        #[must_use]
        pub fn output_encoding(self, output_encoding: &str) -> UnicodeEncode {
            UnicodeEncode { output_encoding: Attr::from(output_encoding), ..self }
        }

        /// Gives `errors`, by default `'replace'`.
        #[must_use]
        pub fn errors(self, errors: &str) -> UnicodeEncode {
            UnicodeEncode { errors: Attr::from(errors), ..self }
        }

        /// Gives `replacement_char`, by default `65533`.
        #[must_use]
        pub fn replacement_char(self, replacement_char: i64) -> UnicodeEncode {
            UnicodeEncode { replacement_char: Attr::from(replacement_char), ..self }
        }
    }

    impl Default for UnicodeEncode {
        fn default() -> UnicodeEncode {
            UnicodeEncode::new()
        }
    }

    /// Attributes of [`super::Operators::string_reduce_join_with`].
    #[derive(Clone, Debug)]
    pub struct StringReduceJoin {
        pub(super) axes: Attr,
        pub(super) keepdims: Attr,
        pub(super) separator: Attr,
    }

    impl StringReduceJoin {
        /// The defaults.
        pub fn new() -> StringReduceJoin {
            StringReduceJoin { axes: Attr::None, keepdims: Attr::from(false), separator: Attr::from("") }
        }

        /// Gives `axes`.
        #[must_use]
        pub fn axes(self, axes: &[i64]) -> StringReduceJoin {
            StringReduceJoin { axes: Attr::from(axes), ..self }
        }

        /// Gives `keepdims`, by default `false`.
        #[must_use]
        pub fn keepdims(self, keepdims: bool) -> StringReduceJoin {
            StringReduceJoin { keepdims: Attr::from(keepdims), ..self }
        }

        /// Gives `separator`, by default `''`.
        #[must_use]
        pub fn separator(self, separator: &str) -> StringReduceJoin {
            StringReduceJoin { separator: Attr::from(separator), ..self }
        }
    }

    impl Default for StringReduceJoin {
        fn default() -> StringReduceJoin {
            StringReduceJoin::new()
        }
    }

    /// Attributes of [`super::Operators::unicode_decode_with_offsets_with`].
    #[derive(Clone, Debug)]
    pub struct UnicodeDecodeWithOffsets {
        pub(super) input_encoding: Attr,
        pub(super) errors: Attr,
        pub(super) replacement_char: Attr,
        pub(super) replace_control_characters: Attr,
    }

    impl UnicodeDecodeWithOffsets {
        /// The defaults.
        pub fn new() -> UnicodeDecodeWithOffsets {
            UnicodeDecodeWithOffsets { input_encoding: Attr::from("UTF-8"), errors: Attr::from("replace"), replacement_char: Attr::from(65533i64), replace_control_characters: Attr::from(false) }
        }

        /// Gives `input_encoding`, by default `'UTF-8'`.
        #[must_use]
        pub fn input_encoding(self, input_encoding: &str) -> UnicodeDecodeWithOffsets {
            UnicodeDecodeWithOffsets { input_encoding: Attr::from(input_encoding), ..self }
        }

        /// Gives `errors`, by default `'replace'`.
        #[must_use]
        pub fn errors(self, errors: &str) -> UnicodeDecodeWithOffsets {
            UnicodeDecodeWithOffsets { errors: Attr::from(errors), ..self }
        }

        /// Gives `replacement_char`, by default `65533`.
        #[must_use]
        pub fn replacement_char(self, replacement_char: i64) -> UnicodeDecodeWithOffsets {
            UnicodeDecodeWithOffsets { replacement_char: Attr::from(replacement_char), ..self }
        }

        /// Gives `replace_control_characters`, by default `false`.
        #[must_use]
        pub fn replace_control_characters(self, replace_control_characters: bool) -> UnicodeDecodeWithOffsets {
            UnicodeDecodeWithOffsets { replace_control_characters: Attr::from(replace_control_characters), ..self }
        }
    }

    impl Default for UnicodeDecodeWithOffsets {
        fn default() -> UnicodeDecodeWithOffsets {
            UnicodeDecodeWithOffsets::new()
        }
    }

    /// Attributes of [`super::Operators::string_unsorted_segment_join_with`].
    #[derive(Clone, Debug)]
    pub struct StringUnsortedSegmentJoin {
        pub(super) separator: Attr,
    }

    impl StringUnsortedSegmentJoin {
        /// The defaults.
        pub fn new() -> StringUnsortedSegmentJoin {
            StringUnsortedSegmentJoin { separator: Attr::from("") }
        }

        /// Gives `separator`, by default `''`.
        #[must_use]
        pub fn separator(self, separator: &str) -> StringUnsortedSegmentJoin {
            StringUnsortedSegmentJoin { separator: Attr::from(separator) }
        }
    }

    impl Default for StringUnsortedSegmentJoin {
        fn default() -> StringUnsortedSegmentJoin {
            StringUnsortedSegmentJoin::new()
        }
    }

    /// Attributes of [`super::Operators::edit_distance_with`].
    #[derive(Clone, Debug)]
    pub struct EditDistance {
        pub(super) normalize: Attr,
    }

    impl EditDistance {
        /// The defaults.
        pub fn new() -> EditDistance {
            EditDistance { normalize: Attr::from(true) }
        }

        /// Gives `normalize`, by default `true`.
        #[must_use]
        pub fn normalize(self, normalize: bool) -> EditDistance {
            EditDistance { normalize: Attr::from(normalize) }
        }
    }

    impl Default for EditDistance {
        fn default() -> EditDistance {
            EditDistance::new()
        }
    }

    /// Attributes of [`super::Operators::decode_raw_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeRaw {
        pub(super) little_endian: Attr,
        pub(super) fixed_length: Attr,
    }

    impl DecodeRaw {
        /// The defaults.
        pub fn new() -> DecodeRaw {
            DecodeRaw { little_endian: Attr::from(true), fixed_length: Attr::from(-1i64) }
        }

        /// Gives `little_endian`, by default `true`.
        #[must_use]
        pub fn little_endian(self, little_endian: bool) -> DecodeRaw {
            DecodeRaw { little_endian: Attr::from(little_endian), ..self }
        }

        /// Gives `fixed_length`, by default `-1`.
        #[must_use]
        pub fn fixed_length(self, fixed_length: i64) -> DecodeRaw {
            DecodeRaw { fixed_length: Attr::from(fixed_length), ..self }
        }
    }

    impl Default for DecodeRaw {
        fn default() -> DecodeRaw {
            DecodeRaw::new()
        }
    }

    /// Attributes of [`super::Operators::encode_base64_with`].
    #[derive(Clone, Debug)]
    pub struct EncodeBase64 {
        pub(super) pad: Attr,
    }

    impl EncodeBase64 {
        /// The defaults.
        pub fn new() -> EncodeBase64 {
            EncodeBase64 { pad: Attr::from(false) }
        }

        /// Gives `pad`, by default `false`.
        #[must_use]
        pub fn pad(self, pad: bool) -> EncodeBase64 {
            EncodeBase64 { pad: Attr::from(pad) }
        }
    }

    impl Default for EncodeBase64 {
        fn default() -> EncodeBase64 {
            EncodeBase64::new()
        }
    }

    /// Attributes of [`super::Operators::decode_png_with`].
    #[derive(Clone, Debug)]
    pub struct DecodePng {
        pub(super) channels: Attr,
        pub(super) dtype: Attr,
    }

    impl DecodePng {
        /// The defaults.
        pub fn new() -> DecodePng {
            DecodePng { channels: Attr::from(0i64), dtype: Attr::from(DType::U8) }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodePng {
            DecodePng { channels: Attr::from(channels), ..self }
        }

        /// Gives `dtype`, by default `uint8`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> DecodePng {
            DecodePng { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for DecodePng {
        fn default() -> DecodePng {
            DecodePng::new()
        }
    }

    /// Attributes of [`super::Operators::decode_jpeg_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeJpeg {
        pub(super) channels: Attr,
        pub(super) ratio: Attr,
        pub(super) fancy_upscaling: Attr,
        pub(super) try_recover_truncated: Attr,
        pub(super) acceptable_fraction: Attr,
        pub(super) dct_method: Attr,
    }

    impl DecodeJpeg {
        /// The defaults.
        pub fn new() -> DecodeJpeg {
            DecodeJpeg { channels: Attr::from(0i64), ratio: Attr::from(1i64), fancy_upscaling: Attr::from(true), try_recover_truncated: Attr::from(false), acceptable_fraction: Attr::from(1.0f64), dct_method: Attr::from("") }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodeJpeg {
            DecodeJpeg { channels: Attr::from(channels), ..self }
        }

        /// Gives `ratio`, by default `1`.
        #[must_use]
        pub fn ratio(self, ratio: i64) -> DecodeJpeg {
            DecodeJpeg { ratio: Attr::from(ratio), ..self }
        }

        /// Gives `fancy_upscaling`, by default `true`.
        #[must_use]
        pub fn fancy_upscaling(self, fancy_upscaling: bool) -> DecodeJpeg {
            DecodeJpeg { fancy_upscaling: Attr::from(fancy_upscaling), ..self }
        }

        /// Gives `try_recover_truncated`, by default `false`.
        #[must_use]
        pub fn try_recover_truncated(self, try_recover_truncated: bool) -> DecodeJpeg {
            DecodeJpeg { try_recover_truncated: Attr::from(try_recover_truncated), ..self }
        }

        /// Gives `acceptable_fraction`, by default `1.0`.
        #[must_use]
        pub fn acceptable_fraction(self, acceptable_fraction: f64) -> DecodeJpeg {
            DecodeJpeg { acceptable_fraction: Attr::from(acceptable_fraction), ..self }
        }

        /// Gives `dct_method`, by default `''`.
        #[must_use]
        pub fn dct_method(self, dct_method: &str) -> DecodeJpeg {
            DecodeJpeg { dct_method: Attr::from(dct_method), ..self }
        }
    }

    impl Default for DecodeJpeg {
        fn default() -> DecodeJpeg {
            DecodeJpeg::new()
        }
    }

    /// Attributes of [`super::Operators::decode_and_crop_jpeg_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeAndCropJpeg {
        pub(super) channels: Attr,
        pub(super) ratio: Attr,
        pub(super) fancy_upscaling: Attr,
        pub(super) try_recover_truncated: Attr,
        pub(super) acceptable_fraction: Attr,
        pub(super) dct_method: Attr,
    }

    impl DecodeAndCropJpeg {
        /// The defaults.
        pub fn new() -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { channels: Attr::from(0i64), ratio: Attr::from(1i64), fancy_upscaling: Attr::from(true), try_recover_truncated: Attr::from(false), acceptable_fraction: Attr::from(1.0f64), dct_method: Attr::from("") }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { channels: Attr::from(channels), ..self }
        }

        /// Gives `ratio`, by default `1`.
        #[must_use]
        pub fn ratio(self, ratio: i64) -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { ratio: Attr::from(ratio), ..self }
        }

        /// Gives `fancy_upscaling`, by default `true`.
        #[must_use]
        pub fn fancy_upscaling(self, fancy_upscaling: bool) -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { fancy_upscaling: Attr::from(fancy_upscaling), ..self }
        }

        /// Gives `try_recover_truncated`, by default `false`.
        #[must_use]
        pub fn try_recover_truncated(self, try_recover_truncated: bool) -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { try_recover_truncated: Attr::from(try_recover_truncated), ..self }
        }

        /// Gives `acceptable_fraction`, by default `1.0`.
        #[must_use]
        pub fn acceptable_fraction(self, acceptable_fraction: f64) -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { acceptable_fraction: Attr::from(acceptable_fraction), ..self }
        }

        /// Gives `dct_method`, by default `''`.
        #[must_use]
        pub fn dct_method(self, dct_method: &str) -> DecodeAndCropJpeg {
            DecodeAndCropJpeg { dct_method: Attr::from(dct_method), ..self }
        }
    }

    impl Default for DecodeAndCropJpeg {
        fn default() -> DecodeAndCropJpeg {
            DecodeAndCropJpeg::new()
        }
    }

    /// Attributes of [`super::Operators::decode_bmp_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeBmp {
        pub(super) channels: Attr,
    }

    impl DecodeBmp {
        /// The defaults.
        pub fn new() -> DecodeBmp {
            DecodeBmp { channels: Attr::from(0i64) }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodeBmp {
            DecodeBmp { channels: Attr::from(channels) }
        }
    }

    impl Default for DecodeBmp {
        fn default() -> DecodeBmp {
            DecodeBmp::new()
        }
    }

    /// Attributes of [`super::Operators::decode_webp_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeWebp {
        pub(super) channels: Attr,
        pub(super) dtype: Attr,
    }

    impl DecodeWebp {
        /// The defaults.
        pub fn new() -> DecodeWebp {
            DecodeWebp { channels: Attr::from(0i64), dtype: Attr::from(DType::U8) }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodeWebp {
            DecodeWebp { channels: Attr::from(channels), ..self }
        }

        /// Gives `dtype`, by default `uint8`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> DecodeWebp {
            DecodeWebp { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for DecodeWebp {
        fn default() -> DecodeWebp {
            DecodeWebp::new()
        }
    }

    /// Attributes of [`super::Operators::decode_jxl_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeJxl {
        pub(super) channels: Attr,
        pub(super) dtype: Attr,
    }

    impl DecodeJxl {
        /// The defaults.
        pub fn new() -> DecodeJxl {
            DecodeJxl { channels: Attr::from(0i64), dtype: Attr::from(DType::U8) }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodeJxl {
            DecodeJxl { channels: Attr::from(channels), ..self }
        }

        /// Gives `dtype`, by default `uint8`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> DecodeJxl {
            DecodeJxl { dtype: Attr::from(dtype), ..self }
        }
    }

    impl Default for DecodeJxl {
        fn default() -> DecodeJxl {
            DecodeJxl::new()
        }
    }

    /// Attributes of [`super::Operators::decode_image_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeImage {
        pub(super) channels: Attr,
        pub(super) dtype: Attr,
        pub(super) expand_animations: Attr,
    }

    impl DecodeImage {
        /// The defaults.
        pub fn new() -> DecodeImage {
            DecodeImage { channels: Attr::from(0i64), dtype: Attr::from(DType::U8), expand_animations: Attr::from(true) }
        }

        /// Gives `channels`, by default `0`.
        #[must_use]
        pub fn channels(self, channels: i64) -> DecodeImage {
            DecodeImage { channels: Attr::from(channels), ..self }
        }

        /// Gives `dtype`, by default `uint8`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> DecodeImage {
            DecodeImage { dtype: Attr::from(dtype), ..self }
        }

        /// Gives `expand_animations`, by default `true`.
        #[must_use]
        pub fn expand_animations(self, expand_animations: bool) -> DecodeImage {
            DecodeImage { expand_animations: Attr::from(expand_animations), ..self }
        }
    }

    impl Default for DecodeImage {
        fn default() -> DecodeImage {
            DecodeImage::new()
        }
    }

    /// Attributes of [`super::Operators::extract_jpeg_shape_with`].
    #[derive(Clone, Debug)]
    pub struct ExtractJpegShape {
        pub(super) output_type: Attr,
    }

    impl ExtractJpegShape {
        /// The defaults.
        pub fn new() -> ExtractJpegShape {
            ExtractJpegShape { output_type: Attr::from(DType::I32) }
        }

        /// Gives `output_type`, by default `int32`.
        #[must_use]
        pub fn output_type(self, output_type: DType) -> ExtractJpegShape {
            ExtractJpegShape { output_type: Attr::from(output_type) }
        }
    }

    impl Default for ExtractJpegShape {
        fn default() -> ExtractJpegShape {
            ExtractJpegShape::new()
        }
    }

    /// Attributes of [`super::Operators::encode_png_with`].
    #[derive(Clone, Debug)]
    pub struct EncodePng {
        pub(super) compression: Attr,
    }

    impl EncodePng {
        /// The defaults.
        pub fn new() -> EncodePng {
            EncodePng { compression: Attr::from(-1i64) }
        }

        /// Gives `compression`, by default `-1`.
        #[must_use]
        pub fn compression(self, compression: i64) -> EncodePng {
            EncodePng { compression: Attr::from(compression) }
        }
    }

    impl Default for EncodePng {
        fn default() -> EncodePng {
            EncodePng::new()
        }
    }

    /// Attributes of [`super::Operators::encode_jpeg_with`].
    #[derive(Clone, Debug)]
    pub struct EncodeJpeg {
        pub(super) format: Attr,
        pub(super) quality: Attr,
        pub(super) progressive: Attr,
        pub(super) optimize_size: Attr,
        pub(super) chroma_downsampling: Attr,
        pub(super) density_unit: Attr,
        pub(super) x_density: Attr,
        pub(super) y_density: Attr,
        pub(super) xmp_metadata: Attr,
    }

    impl EncodeJpeg {
        /// The defaults.
        pub fn new() -> EncodeJpeg {
            EncodeJpeg { format: Attr::from(""), quality: Attr::from(95i64), progressive: Attr::from(false), optimize_size: Attr::from(false), chroma_downsampling: Attr::from(true), density_unit: Attr::from("in"), x_density: Attr::from(300i64), y_density: Attr::from(300i64), xmp_metadata: Attr::from("") }
        }

        /// Gives `format`, by default `''`.
        #[must_use]
        pub fn format(self, format: &str) -> EncodeJpeg {
            EncodeJpeg { format: Attr::from(format), ..self }
        }

        /// Gives `quality`, by default `95`.
        #[must_use]
        pub fn quality(self, quality: i64) -> EncodeJpeg {
            EncodeJpeg { quality: Attr::from(quality), ..self }
        }

        /// Gives `progressive`, by default `false`.
        #[must_use]
        pub fn progressive(self, progressive: bool) -> EncodeJpeg {
            EncodeJpeg { progressive: Attr::from(progressive), ..self }
        }

        /// Gives `optimize_size`, by default `false`.
        #[must_use]
        pub fn optimize_size(self, optimize_size: bool) -> EncodeJpeg {
            EncodeJpeg { optimize_size: Attr::from(optimize_size), ..self }
        }

        /// Gives `chroma_downsampling`, by default `true`.
        #[must_use]
        pub fn chroma_downsampling(self, chroma_downsampling: bool) -> EncodeJpeg {
            EncodeJpeg { chroma_downsampling: Attr::from(chroma_downsampling), ..self }
        }

        /// Gives `density_unit`, by default `'in'`.
        #[must_use]
        pub fn density_unit(self, density_unit: &str) -> EncodeJpeg {
            EncodeJpeg { density_unit: Attr::from(density_unit), ..self }
        }

        /// Gives `x_density`, by default `300`.
        #[must_use]
        pub fn x_density(self, x_density: i64) -> EncodeJpeg {
            EncodeJpeg { x_density: Attr::from(x_density), ..self }
        }

        /// Gives `y_density`, by default `300`.
        #[must_use]
        pub fn y_density(self, y_density: i64) -> EncodeJpeg {
            EncodeJpeg { y_density: Attr::from(y_density), ..self }
        }

        /// Gives `xmp_metadata`, by default `''`.
        #[must_use]
        pub fn xmp_metadata(self, xmp_metadata: &str) -> EncodeJpeg {
            EncodeJpeg { xmp_metadata: Attr::from(xmp_metadata), ..self }
        }
    }

    impl Default for EncodeJpeg {
        fn default() -> EncodeJpeg {
            EncodeJpeg::new()
        }
    }

    /// Attributes of [`super::Operators::stateless_sample_distorted_bounding_box_with`].
    #[derive(Clone, Debug)]
    pub struct StatelessSampleDistortedBoundingBox {
        pub(super) max_attempts: Attr,
        pub(super) use_image_if_no_bounding_boxes: Attr,
    }

    impl StatelessSampleDistortedBoundingBox {
        /// The defaults.
        pub fn new() -> StatelessSampleDistortedBoundingBox {
            StatelessSampleDistortedBoundingBox { max_attempts: Attr::from(100i64), use_image_if_no_bounding_boxes: Attr::from(false) }
        }

        /// Gives `max_attempts`, by default `100`.
        #[must_use]
        pub fn max_attempts(self, max_attempts: i64) -> StatelessSampleDistortedBoundingBox {
            StatelessSampleDistortedBoundingBox { max_attempts: Attr::from(max_attempts), ..self }
        }

        /// Gives `use_image_if_no_bounding_boxes`, by default `false`.
        #[must_use]
        pub fn use_image_if_no_bounding_boxes(self, use_image_if_no_bounding_boxes: bool) -> StatelessSampleDistortedBoundingBox {
            StatelessSampleDistortedBoundingBox { use_image_if_no_bounding_boxes: Attr::from(use_image_if_no_bounding_boxes), ..self }
        }
    }

    impl Default for StatelessSampleDistortedBoundingBox {
        fn default() -> StatelessSampleDistortedBoundingBox {
            StatelessSampleDistortedBoundingBox::new()
        }
    }

    /// Attributes of [`super::Operators::decode_wav_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeWav {
        pub(super) desired_channels: Attr,
        pub(super) desired_samples: Attr,
    }

    impl DecodeWav {
        /// The defaults.
        pub fn new() -> DecodeWav {
            DecodeWav { desired_channels: Attr::from(-1i64), desired_samples: Attr::from(-1i64) }
        }

        /// Gives `desired_channels`, by default `-1`.
        #[must_use]
        pub fn desired_channels(self, desired_channels: i64) -> DecodeWav {
            DecodeWav { desired_channels: Attr::from(desired_channels), ..self }
        }

        /// Gives `desired_samples`, by default `-1`.
        #[must_use]
        pub fn desired_samples(self, desired_samples: i64) -> DecodeWav {
            DecodeWav { desired_samples: Attr::from(desired_samples), ..self }
        }
    }

    impl Default for DecodeWav {
        fn default() -> DecodeWav {
            DecodeWav::new()
        }
    }

    /// Attributes of [`super::Operators::decode_csv_with`].
    #[derive(Clone, Debug)]
    pub struct DecodeCsv {
        pub(super) field_delim: Attr,
        pub(super) use_quote_delim: Attr,
        pub(super) na_value: Attr,
        pub(super) select_cols: Attr,
    }

    impl DecodeCsv {
        /// The defaults.
        pub fn new() -> DecodeCsv {
            DecodeCsv { field_delim: Attr::from(","), use_quote_delim: Attr::from(true), na_value: Attr::from(""), select_cols: Attr::None }
        }

        /// Gives `field_delim`, by default `','`.
        #[must_use]
        pub fn field_delim(self, field_delim: &str) -> DecodeCsv {
            DecodeCsv { field_delim: Attr::from(field_delim), ..self }
        }

        /// Gives `use_quote_delim`, by default `true`.
        #[must_use]
        pub fn use_quote_delim(self, use_quote_delim: bool) -> DecodeCsv {
            DecodeCsv { use_quote_delim: Attr::from(use_quote_delim), ..self }
        }

        /// Gives `na_value`, by default `''`.
        #[must_use]
        pub fn na_value(self, na_value: &str) -> DecodeCsv {
            DecodeCsv { na_value: Attr::from(na_value), ..self }
        }

        /// Gives `select_cols`.
        #[must_use]
        pub fn select_cols(self, select_cols: &[i64]) -> DecodeCsv {
            DecodeCsv { select_cols: Attr::from(select_cols), ..self }
        }
    }

    impl Default for DecodeCsv {
        fn default() -> DecodeCsv {
            DecodeCsv::new()
        }
    }

    /// Attributes of [`super::Operators::example_features_with`].
    #[derive(Clone, Debug)]
    pub struct ExampleFeatures {
        pub(super) part: Attr,
    }

    impl ExampleFeatures {
        /// The defaults.
        pub fn new() -> ExampleFeatures {
            ExampleFeatures { part: Attr::from("example") }
        }

        /// Gives `part`, by default `'example'`.
        #[must_use]
        pub fn part(self, part: &str) -> ExampleFeatures {
            ExampleFeatures { part: Attr::from(part) }
        }
    }

    impl Default for ExampleFeatures {
        fn default() -> ExampleFeatures {
            ExampleFeatures::new()
        }
    }

    /// Attributes of [`super::Operators::list_new_with`].
    #[derive(Clone, Debug)]
    pub struct ListNew {
        pub(super) dtype: Attr,
        pub(super) shape: Attr,
    }

    impl ListNew {
        /// The defaults.
        pub fn new() -> ListNew {
            ListNew { dtype: Attr::None, shape: Attr::None }
        }

        /// Gives `dtype`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> ListNew {
            ListNew { dtype: Attr::from(dtype), ..self }
        }

        /// Gives `shape`.
        #[must_use]
        pub fn shape(self, shape: &penstock_data::Shape) -> ListNew {
            ListNew { shape: Attr::from(shape.clone()), ..self }
        }
    }

    impl Default for ListNew {
        fn default() -> ListNew {
            ListNew::new()
        }
    }

    /// Attributes of [`super::Operators::list_length_with`].
    #[derive(Clone, Debug)]
    pub struct ListLength {
        pub(super) dtype: Attr,
    }

    impl ListLength {
        /// The defaults.
        pub fn new() -> ListLength {
            ListLength { dtype: Attr::from(DType::I64) }
        }

        /// Gives `dtype`, by default `int64`.
        #[must_use]
        pub fn dtype(self, dtype: DType) -> ListLength {
            ListLength { dtype: Attr::from(dtype) }
        }
    }

    impl Default for ListLength {
        fn default() -> ListLength {
            ListLength::new()
        }
    }

    /// Attributes of [`super::Operators::list_set_with`].
    #[derive(Clone, Debug)]
    pub struct ListSet {
        pub(super) grow: Attr,
    }

    impl ListSet {
        /// The defaults.
        pub fn new() -> ListSet {
            ListSet { grow: Attr::from(false) }
        }

        /// Gives `grow`, by default `false`.
        #[must_use]
        pub fn grow(self, grow: bool) -> ListSet {
            ListSet { grow: Attr::from(grow) }
        }
    }

    impl Default for ListSet {
        fn default() -> ListSet {
            ListSet::new()
        }
    }

    /// Attributes of [`super::Operators::list_stack_with`].
    #[derive(Clone, Debug)]
    pub struct ListStack {
        pub(super) num: Attr,
    }

    impl ListStack {
        /// The defaults.
        pub fn new() -> ListStack {
            ListStack { num: Attr::None }
        }

        /// Gives `num`.
        #[must_use]
        pub fn num(self, num: i64) -> ListStack {
            ListStack { num: Attr::from(num) }
        }
    }

    impl Default for ListStack {
        fn default() -> ListStack {
            ListStack::new()
        }
    }

    /// Attributes of [`super::Operators::print_with`].
    #[derive(Clone, Debug)]
    pub struct Print {
        pub(super) template: Attr,
        pub(super) stream: Attr,
        pub(super) end: Attr,
        pub(super) summarize: Attr,
    }

    impl Print {
        /// The defaults.
        pub fn new() -> Print {
            Print { template: Attr::None, stream: Attr::from("stderr"), end: Attr::from("\n"), summarize: Attr::from(3i64) }
        }

        /// Gives `template`.
        #[must_use]
        pub fn template(self, template: &str) -> Print {
            Print { template: Attr::from(template), ..self }
        }

        /// Gives `stream`, by default `'stderr'`.
        #[must_use]
        pub fn stream(self, stream: &str) -> Print {
            Print { stream: Attr::from(stream), ..self }
        }

        /// Gives `end`, by default `'\n'`.
        #[must_use]
        pub fn end(self, end: &str) -> Print {
            Print { end: Attr::from(end), ..self }
        }

        /// Gives `summarize`, by default `3`.
        #[must_use]
        pub fn summarize(self, summarize: i64) -> Print {
            Print { summarize: Attr::from(summarize), ..self }
        }
    }

    impl Default for Print {
        fn default() -> Print {
            Print::new()
        }
    }

    /// Attributes of [`super::Operators::string_format_with`].
    #[derive(Clone, Debug)]
    pub struct StringFormat {
        pub(super) summarize: Attr,
    }

    impl StringFormat {
        /// The defaults.
        pub fn new() -> StringFormat {
            StringFormat { summarize: Attr::from(3i64) }
        }

        /// Gives `summarize`, by default `3`.
        #[must_use]
        pub fn summarize(self, summarize: i64) -> StringFormat {
            StringFormat { summarize: Attr::from(summarize) }
        }
    }

    impl Default for StringFormat {
        fn default() -> StringFormat {
            StringFormat::new()
        }
    }

    /// Attributes of [`super::Operators::assert_with`].
    #[derive(Clone, Debug)]
    pub struct Assert {
        pub(super) message: Attr,
        pub(super) summarize: Attr,
    }

    impl Assert {
        /// The defaults.
        pub fn new() -> Assert {
            Assert { message: Attr::from(""), summarize: Attr::from(3i64) }
        }

        /// Gives `message`, by default `''`.
        #[must_use]
        pub fn message(self, message: &str) -> Assert {
            Assert { message: Attr::from(message), ..self }
        }

        /// Gives `summarize`, by default `3`.
        #[must_use]
        pub fn summarize(self, summarize: i64) -> Assert {
            Assert { summarize: Attr::from(summarize), ..self }
        }
    }

    impl Default for Assert {
        fn default() -> Assert {
            Assert::new()
        }
    }

    /// Attributes of [`super::Operators::host_call_with`].
    #[derive(Clone, Debug)]
    pub struct HostCall {
        pub(super) stateful: Attr,
    }

    impl HostCall {
        /// The defaults.
        pub fn new() -> HostCall {
            HostCall { stateful: Attr::from(true) }
        }

        /// Gives `stateful`, by default `true`.
        #[must_use]
        pub fn stateful(self, stateful: bool) -> HostCall {
            HostCall { stateful: Attr::from(stateful) }
        }
    }

    impl Default for HostCall {
        fn default() -> HostCall {
            HostCall::new()
        }
    }

    /// Attributes of [`super::Operators::collective_start_with`].
    #[derive(Clone, Debug)]
    pub struct CollectiveStart {
        pub(super) combine: Attr,
        pub(super) root: Attr,
        pub(super) group: Attr,
        pub(super) label: Attr,
    }

    impl CollectiveStart {
        /// The defaults.
        pub fn new() -> CollectiveStart {
            CollectiveStart { combine: Attr::from("sum"), root: Attr::from(0i64), group: Attr::from(""), label: Attr::from("") }
        }

        /// Gives `combine`, by default `'sum'`.
        #[must_use]
        pub fn combine(self, combine: &str) -> CollectiveStart {
            CollectiveStart { combine: Attr::from(combine), ..self }
        }

        /// Gives `root`, by default `0`.
        #[must_use]
        pub fn root(self, root: i64) -> CollectiveStart {
            CollectiveStart { root: Attr::from(root), ..self }
        }

        /// Gives `group`, by default `''`.
        #[must_use]
        pub fn group(self, group: &str) -> CollectiveStart {
            CollectiveStart { group: Attr::from(group), ..self }
        }

        /// Gives `label`, by default `''`.
        #[must_use]
        pub fn label(self, label: &str) -> CollectiveStart {
            CollectiveStart { label: Attr::from(label), ..self }
        }
    }

    impl Default for CollectiveStart {
        fn default() -> CollectiveStart {
            CollectiveStart::new()
        }
    }

    /// Attributes of [`super::Operators::collective_wait_with`].
    #[derive(Clone, Debug)]
    pub struct CollectiveWait {
        pub(super) combine: Attr,
        pub(super) root: Attr,
        pub(super) group: Attr,
        pub(super) label: Attr,
    }

    impl CollectiveWait {
        /// The defaults.
        pub fn new() -> CollectiveWait {
            CollectiveWait { combine: Attr::from("sum"), root: Attr::from(0i64), group: Attr::from(""), label: Attr::from("") }
        }

        /// Gives `combine`, by default `'sum'`.
        #[must_use]
        pub fn combine(self, combine: &str) -> CollectiveWait {
            CollectiveWait { combine: Attr::from(combine), ..self }
        }

        /// Gives `root`, by default `0`.
        #[must_use]
        pub fn root(self, root: i64) -> CollectiveWait {
            CollectiveWait { root: Attr::from(root), ..self }
        }

        /// Gives `group`, by default `''`.
        #[must_use]
        pub fn group(self, group: &str) -> CollectiveWait {
            CollectiveWait { group: Attr::from(group), ..self }
        }

        /// Gives `label`, by default `''`.
        #[must_use]
        pub fn label(self, label: &str) -> CollectiveWait {
            CollectiveWait { label: Attr::from(label), ..self }
        }
    }

    impl Default for CollectiveWait {
        fn default() -> CollectiveWait {
            CollectiveWait::new()
        }
    }

    /// Attributes of [`super::Operators::scatter_variable_with`].
    #[derive(Clone, Debug)]
    pub struct ScatterVariable {
        pub(super) mode: Attr,
    }

    impl ScatterVariable {
        /// The defaults.
        pub fn new() -> ScatterVariable {
            ScatterVariable { mode: Attr::from("update") }
        }

        /// Gives `mode`, by default `'update'`.
        #[must_use]
        pub fn mode(self, mode: &str) -> ScatterVariable {
            ScatterVariable { mode: Attr::from(mode) }
        }
    }

    impl Default for ScatterVariable {
        fn default() -> ScatterVariable {
            ScatterVariable::new()
        }
    }

    /// Attributes of [`super::Operators::strided_slice_assign_with`].
    #[derive(Clone, Debug)]
    pub struct StridedSliceAssign {
        pub(super) begin_mask: Attr,
        pub(super) end_mask: Attr,
        pub(super) ellipsis_mask: Attr,
        pub(super) new_axis_mask: Attr,
        pub(super) shrink_axis_mask: Attr,
    }

    impl StridedSliceAssign {
        /// The defaults.
        pub fn new() -> StridedSliceAssign {
            StridedSliceAssign { begin_mask: Attr::from(0i64), end_mask: Attr::from(0i64), ellipsis_mask: Attr::from(0i64), new_axis_mask: Attr::from(0i64), shrink_axis_mask: Attr::from(0i64) }
        }

        /// Gives `begin_mask`, by default `0`.
        #[must_use]
        pub fn begin_mask(self, begin_mask: i64) -> StridedSliceAssign {
            StridedSliceAssign { begin_mask: Attr::from(begin_mask), ..self }
        }

        /// Gives `end_mask`, by default `0`.
        #[must_use]
        pub fn end_mask(self, end_mask: i64) -> StridedSliceAssign {
            StridedSliceAssign { end_mask: Attr::from(end_mask), ..self }
        }

        /// Gives `ellipsis_mask`, by default `0`.
        #[must_use]
        pub fn ellipsis_mask(self, ellipsis_mask: i64) -> StridedSliceAssign {
            StridedSliceAssign { ellipsis_mask: Attr::from(ellipsis_mask), ..self }
        }

        /// Gives `new_axis_mask`, by default `0`.
        #[must_use]
        pub fn new_axis_mask(self, new_axis_mask: i64) -> StridedSliceAssign {
            StridedSliceAssign { new_axis_mask: Attr::from(new_axis_mask), ..self }
        }

        /// Gives `shrink_axis_mask`, by default `0`.
        #[must_use]
        pub fn shrink_axis_mask(self, shrink_axis_mask: i64) -> StridedSliceAssign {
            StridedSliceAssign { shrink_axis_mask: Attr::from(shrink_axis_mask), ..self }
        }
    }

    impl Default for StridedSliceAssign {
        fn default() -> StridedSliceAssign {
            StridedSliceAssign::new()
        }
    }

    /// Attributes of [`super::Operators::table_of_with`].
    #[derive(Clone, Debug)]
    pub struct TableOf {
        pub(super) key_rank: Attr,
    }

    impl TableOf {
        /// The defaults.
        pub fn new() -> TableOf {
            TableOf { key_rank: Attr::from(0i64) }
        }

        /// Gives `key_rank`, by default `0`.
        #[must_use]
        pub fn key_rank(self, key_rank: i64) -> TableOf {
            TableOf { key_rank: Attr::from(key_rank) }
        }
    }

    impl Default for TableOf {
        fn default() -> TableOf {
            TableOf::new()
        }
    }

    /// Attributes of [`super::Operators::table_find_with`].
    #[derive(Clone, Debug)]
    pub struct TableFind {
        pub(super) key_rank: Attr,
        pub(super) each: Attr,
    }

    impl TableFind {
        /// The defaults.
        pub fn new() -> TableFind {
            TableFind { key_rank: Attr::from(0i64), each: Attr::from(false) }
        }

        /// Gives `key_rank`, by default `0`.
        #[must_use]
        pub fn key_rank(self, key_rank: i64) -> TableFind {
            TableFind { key_rank: Attr::from(key_rank), ..self }
        }

        /// Gives `each`, by default `false`.
        #[must_use]
        pub fn each(self, each: bool) -> TableFind {
            TableFind { each: Attr::from(each), ..self }
        }
    }

    impl Default for TableFind {
        fn default() -> TableFind {
            TableFind::new()
        }
    }

    /// Attributes of [`super::Operators::table_insert_with`].
    #[derive(Clone, Debug)]
    pub struct TableInsert {
        pub(super) key_rank: Attr,
    }

    impl TableInsert {
        /// The defaults.
        pub fn new() -> TableInsert {
            TableInsert { key_rank: Attr::from(0i64) }
        }

        /// Gives `key_rank`, by default `0`.
        #[must_use]
        pub fn key_rank(self, key_rank: i64) -> TableInsert {
            TableInsert { key_rank: Attr::from(key_rank) }
        }
    }

    impl Default for TableInsert {
        fn default() -> TableInsert {
            TableInsert::new()
        }
    }

    /// Attributes of [`super::Operators::table_remove_with`].
    #[derive(Clone, Debug)]
    pub struct TableRemove {
        pub(super) key_rank: Attr,
    }

    impl TableRemove {
        /// The defaults.
        pub fn new() -> TableRemove {
            TableRemove { key_rank: Attr::from(0i64) }
        }

        /// Gives `key_rank`, by default `0`.
        #[must_use]
        pub fn key_rank(self, key_rank: i64) -> TableRemove {
            TableRemove { key_rank: Attr::from(key_rank) }
        }
    }

    impl Default for TableRemove {
        fn default() -> TableRemove {
            TableRemove::new()
        }
    }
}
