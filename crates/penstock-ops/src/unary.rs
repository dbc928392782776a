//! Elementwise operators of one operand.

use penstock_ir::{Cpu, Cuda, DTypeVar, Fold, OpDef, Type, Vjp, arg};
use penstock_kernels::{Unary, unary as kernel, unary_dtypes, unary_output};

use crate::array::ZEROS_LIKE;
use crate::binary::{MULTIPLY_NO_NAN, POLYGAMMA};
use crate::compare::LESS;
use crate::grad::{Ex, rule, unary_rule};
use crate::samples::{self, ABOVE_ONE, LINE, POSITIVE, UNIT};
use crate::util::one;

use Cuda::{Elementwise as E, HostFallback as H};

/// A rule that gives the operand's cotangent from the result's, the operand and the result.
///
/// A rule for complex operands multiplies by the conjugate of the derivative, as TensorFlow does.
macro_rules! d {
    ($f:expr) => {
        Vjp::Rule(|cx| unary_rule(cx, $f))
    };
}

/// `NAME text tf_name kernel sample-values cuda vjp, summary;` for each operator.
macro_rules! table {
    ($($name:ident $text:literal $tf:literal $op:ident $values:ident $cuda:expr, $vjp:expr, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub static $name: OpDef = OpDef {
                name: $text,
                tf_name: $tf,
                doc: concat!($summary, "\n\nElementwise: the result has the shape of `x`."),
                dtypes: &[DTypeVar::new("T", unary_dtypes(Unary::$op))],
                operands: &[arg("x")],
                attrs: &[],
                effects: &[],
                infer: |cx| one(Type::tensor(unary_output(Unary::$op, cx.dtype(0)), cx.shape(0).clone())),
                cpu: Cpu::Elementwise(|dtypes, _| kernel(Unary::$op, dtypes[0])),
                cuda: $cuda,
                vjp: $vjp,
                fold: Fold::Evaluate,
                samples: || samples::unary(unary_dtypes(Unary::$op), $values),
            };
        )*
        /// The operators of this family.
        pub static OPS: &[&OpDef] = &[$(&$name),*];

        /// The kernel of an operator of this family.
        pub(crate) fn kernel_of(name: &str) -> Option<Unary> {
            match name {
                $($text => Some(Unary::$op),)*
                _ => None,
            }
        }
    };
}

const TWO_BY_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
const SQRT_TWO_PI: f64 = 2.506_628_274_631_000_5;
/// Shares of a whole.
const SHARES: &[f64] = &[0.5, 0.25, 0.0625, 0.9375, 0.625, 0.015_625, 0.125];
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_SCALE_ALPHA: f64 = 1.758_099_340_847_376_6;

table! {
    NEG "neg" "Neg" Neg LINE E("-{0}"), d!(|g, _, _| -g),
        "`-x`; wraps on integers.";
    ABS "abs" "Abs" Abs LINE E("({0} < ({T})0 ? -{0} : {0} + ({T})0)"),
        d!(|g, x, _| {
            let (g, sign) = (g.cast(x.dtype()), x.then(&SIGN));
            // As in TensorFlow, what is infinite counts for nothing at a complex 0.
            if x.dtype().is_complex() { g.emit(&MULTIPLY_NO_NAN, &[sign], &[]) } else { g * sign }
        }),
        "Magnitude: real for complex `x`; the least signed integer is its own. Derivative 0 at 0.";
    SIGN "sign" "Sign" Sign LINE E("({0} > ({T})0 ? ({T})1 : ({0} < ({T})0 ? ({T})-1 : ({0} == ({T})0 ? ({T})0 : {0})))"),
        Vjp::Rule(|cx| rule(cx, |t| smallvec::smallvec![
            t.needed[0].then(|| {
                if t.x(0).dtype().is_complex() { sign_rule(t.g(), t.x(0), t.y(0)) } else { t.x(0).then(&ZEROS_LIKE) }
            })
        ])),
        "-1, 0 or 1 as `x` is negative, 0 (of either sign) or positive, NaN of NaN; `x / |x|` for complex `x`, 0 of 0. \
         Derivative zeros, as in TensorFlow, so that the second derivative of `abs` is there.";
    SQUARE "square" "Square" Square LINE E("{0} * {0}"), d!(|g, x, _| g * x.conj() * 2.0),
        "`x * x`; wraps on integers.";
    SQRT "sqrt" "Sqrt" Sqrt POSITIVE E("sqrt({0})"), d!(|g, _, y| g * 0.5 / y.conj()),
        "Square root; NaN of a negative number, the principal branch for complex `x`.";
    RSQRT "rsqrt" "Rsqrt" Rsqrt POSITIVE E("(({T})1 / sqrt({0}))"),
        d!(|g, _, y| { let y = y.conj(); g * -0.5 * (y * y * y) }),
        "`1 / sqrt(x)`; infinite at 0.";
    RECIPROCAL "reciprocal" "Reciprocal" Reciprocal LINE E("(({T})1 / {0})"),
        d!(|g, _, y| { let y = y.conj(); -g * (y * y) }),
        "`1 / x`.";
    EXP "exp" "Exp" Exp LINE E("exp({0})"), d!(|g, _, y| g * y.conj()),
        "`e^x`.";
    EXPM1 "expm1" "Expm1" Expm1 LINE E("expm1({0})"), d!(|g, x, _| g * x.then(&EXP).conj()),
        "`e^x - 1`, accurate near 0.";
    LOG "log" "Log" Log POSITIVE E("log({0})"), d!(|g, x, _| g / x.conj()),
        "Natural logarithm: -inf at 0, NaN of a negative number, the principal branch for complex `x`.";
    LOG1P "log1p" "Log1p" Log1p POSITIVE E("log1p({0})"), d!(|g, x, _| g / (1.0 + x.conj())),
        "`log(1 + x)`, accurate near 0.";
    SIN "sin" "Sin" Sin LINE E("sin({0})"), d!(|g, x, _| g * x.then(&COS).conj()),
        "Sine of `x` in radians.";
    COS "cos" "Cos" Cos LINE E("cos({0})"), d!(|g, x, _| -g * x.then(&SIN).conj()),
        "Cosine of `x` in radians.";
    TAN "tan" "Tan" Tan UNIT E("tan({0})"), d!(|g, _, y| { let y = y.conj(); g * (1.0 + y * y) }),
        "Tangent of `x` in radians.";
    ASIN "asin" "Asin" Asin UNIT E("asin({0})"),
        d!(|g, x, _| { let x = x.conj(); g * (1.0 - x * x).then(&RSQRT) }),
        "Inverse sine, in radians; NaN outside [-1, 1].";
    ACOS "acos" "Acos" Acos UNIT E("acos({0})"),
        d!(|g, x, _| { let x = x.conj(); -g * (1.0 - x * x).then(&RSQRT) }),
        "Inverse cosine, in radians; NaN outside [-1, 1].";
    ATAN "atan" "Atan" Atan LINE E("atan({0})"),
        d!(|g, x, _| { let x = x.conj(); g / (1.0 + x * x) }),
        "Inverse tangent, in radians.";
    SINH "sinh" "Sinh" Sinh LINE E("sinh({0})"), d!(|g, x, _| g * x.then(&COSH).conj()),
        "Hyperbolic sine.";
    COSH "cosh" "Cosh" Cosh LINE E("cosh({0})"), d!(|g, x, _| g * x.then(&SINH).conj()),
        "Hyperbolic cosine.";
    TANH "tanh" "Tanh" Tanh LINE E("tanh({0})"), d!(|g, _, y| { let y = y.conj(); g * (1.0 - y * y) }),
        "Hyperbolic tangent.";
    ASINH "asinh" "Asinh" Asinh LINE E("asinh({0})"), d!(|g, _, y| g / y.then(&COSH).conj()),
        "Inverse hyperbolic sine.";
    ACOSH "acosh" "Acosh" Acosh ABOVE_ONE E("acosh({0})"), d!(|g, _, y| g / y.then(&SINH).conj()),
        "Inverse hyperbolic cosine; NaN below 1.";
    ATANH "atanh" "Atanh" Atanh UNIT E("atanh({0})"),
        d!(|g, x, _| { let x = x.conj(); g / (1.0 - x * x) }),
        "Inverse hyperbolic tangent; NaN outside [-1, 1].";
    SIGMOID "sigmoid" "Sigmoid" Sigmoid LINE E("penstock_sigmoid({0})"),
        d!(|g, _, y| { let y = y.conj(); g * (y * (1.0 - y)) }),
        "Logistic function, `1 / (1 + e^-x)`.";
    SOFTPLUS "softplus" "Softplus" Softplus LINE
        E("({0} > ({T})0 ? {0} + log1p(exp(-{0})) : log1p(exp({0})))"), d!(|g, x, _| g * x.then(&SIGMOID)),
        "`log(1 + e^x)`, without overflow.";
    RELU "relu" "Relu" Relu LINE E("({0} <= ({T})0 ? ({T})0 : {0})"),
        d!(|g, _, y| g * y.then(&STEP)),
        "`max(x, 0)`; NaN of NaN. Derivative 0 at 0 and NaN; the second is zeros, as in TensorFlow.";
    RELU6 "relu6" "Relu6" Relu6 LINE E("({0} <= ({T})0 ? ({T})0 : ({0} > ({T})6 ? ({T})6 : {0}))"),
        d!(|g, _, y| g * y.then(&STEP) * (y.number(6.0) - y).then(&STEP)),
        "`min(max(x, 0), 6)`; NaN of NaN. Derivative 0 at 0, 6 and NaN; the second is zeros, as in TensorFlow.";
    STEP "step" "Step" Step LINE E("({0} > ({T})0 ? ({T})1 : ({T})0)"),
        Vjp::Rule(|cx| rule(cx, |t| smallvec::smallvec![t.needed[0].then(|| t.x(0).then(&ZEROS_LIKE))])),
        "1 where `x` is positive, else 0, for NaN too: the derivative of `relu`. Derivative zeros.";
    ELU "elu" "Elu" Elu LINE E("({0} < ({T})0 ? expm1({0}) : {0})"),
        d!(|g, _, y| (g * (y + 1.0)).or(y.is_number(&LESS, 0.0), g)),
        "Exponential linear unit: `x` where it is not negative, else `e^x - 1` (Clevert et al. 2015).";
    SELU "selu" "Selu" Selu LINE
        E("({0} < ({T})0 ? ({T})1.7580993408473766 * expm1({0}) : ({T})1.0507009873554805 * {0})"),
        d!(|g, _, y| (g * (y + SELU_SCALE_ALPHA)).or(y.is_number(&LESS, 0.0), g * SELU_SCALE)),
        "Scaled exponential linear unit: 1.0507 `x` where it is not negative, else 1.7581 `(e^x - 1)` (Klambauer et al. 2017).";
    SOFTSIGN "softsign" "Softsign" Softsign LINE E("({0} / (({T})1 + fabs({0})))"),
        d!(|g, x, _| g / (1.0 + x.then(&ABS)).then(&SQUARE)),
        "`x / (1 + |x|)`.";
    FLOOR "floor" "Floor" Floor LINE E("floor({0})"), Vjp::Zero,
        "Largest integer not above `x`.";
    CEIL "ceil" "Ceil" Ceil LINE E("ceil({0})"), Vjp::Zero,
        "Smallest integer not below `x`.";
    ROUND "round" "Round" Round LINE E("penstock_round({0})"), Vjp::Zero,
        "Nearest integer, ties to even; integers are unchanged.";
    RINT "rint" "Rint" Rint LINE E("rint({0})"), Vjp::Zero,
        "Nearest integer, ties to even.";
    TRUNC "trunc" "Trunc" Trunc LINE E("trunc({0})"), Vjp::Zero,
        "Nearest integer towards 0.";
    ERF "erf" "Erf" Erf LINE E("erf({0})"), d!(|g, x, _| g * gauss(x)),
        "Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`.";
    ERFC "erfc" "Erfc" Erfc LINE E("erfc({0})"), d!(|g, x, _| -g * gauss(x)),
        "Complementary error function, `1 - erf(x)`, accurate for large `x`.";
    LGAMMA "lgamma" "Lgamma" Lgamma POSITIVE E("penstock_lgamma({0})"), d!(|g, x, _| g * x.then(&DIGAMMA)),
        "Logarithm of the magnitude of the gamma function; inf at 0 and the negative integers.";
    DIGAMMA "digamma" "Digamma" Digamma POSITIVE E("penstock_digamma({0})"),
        d!(|g, x, _| g * x.wide(|x| x.number(1.0).emit(&POLYGAMMA, &[x], &[]))),
        "Derivative of `lgamma`.";
    ERFINV "erfinv" "Erfinv" Erfinv UNIT H("the inverse error function is computed on the host"),
        d!(|g, _, y| g * y.then(&SQUARE).then(&EXP) * (1.0 / TWO_BY_SQRT_PI)),
        "The number whose error function is `x`: infinite at -1 and 1, NaN beyond (Wichura 1988, AS 241).";
    NDTRI "ndtri" "Ndtri" Ndtri SHARES H("the normal quantile is computed on the host"),
        d!(|g, _, y| g * (y.then(&SQUARE) * 0.5).then(&EXP) * SQRT_TWO_PI),
        "The quantile of the standard normal distribution at `x`: infinite at 0 and 1, NaN beyond (Wichura 1988, AS 241).";
    IS_NAN "is_nan" "IsNan" IsNan LINE E("({0} != {0})"), Vjp::Zero,
        "Whether NaN.";
    IS_INF "is_inf" "IsInf" IsInf LINE E("({0} == {0} && {0} - {0} != {0} - {0})"), Vjp::Zero,
        "Whether infinite, of either sign.";
    IS_FINITE "is_finite" "IsFinite" IsFinite LINE E("({0} - {0} == ({T})0)"), Vjp::Zero,
        "Whether neither NaN nor infinite.";
    LOGICAL_NOT "logical_not" "LogicalNot" LogicalNot LINE E("!{0}"), Vjp::Zero,
        "`not` of a boolean.";
    INVERT "invert" "Invert" BitNot LINE E("~{0}"), Vjp::Zero,
        "Complement of every bit of an integer.";
    REAL "real" "Real" Real LINE H("complex numbers are computed on the host"), d!(|g, x, _| g.cast(x.dtype())),
        "Real part of a complex number.";
    IMAG "imag" "Imag" Imag LINE H("complex numbers are computed on the host"),
        d!(|g, _, _| g.number(0.0).emit(&crate::binary::COMPLEX, &[g], &[])),
        "Imaginary part of a complex number.";
    CONJ "conj" "Conj" Conj LINE H("complex numbers are computed on the host"), d!(|g, _, _| g.conj()),
        "Complex conjugate.";
    ANGLE "angle" "Angle" Angle LINE H("complex numbers are computed on the host"), d!(|g, x, _| angle_rule(g, x)),
        "Phase of a complex number in radians, in (-pi, pi].";
}

/// The derivative of `erf`.
fn gauss(x: Ex<'_>) -> Ex<'_> {
    (-x.then(&SQUARE)).then(&EXP) * TWO_BY_SQRT_PI
}

/// The cotangent of `z` for `s = z / |z|`: `s` moves only along the circle, so what of `g` is along
/// `s` itself is lost.
fn sign_rule<'t>(g: Ex<'t>, z: Ex<'t>, s: Ex<'t>) -> Ex<'t> {
    let radial = (g * s.conj()).then(&REAL).cast(z.dtype());
    let magnitude = z.then(&ABS).cast(z.dtype());
    (g - s * radial).emit(&crate::binary::DIVIDE_NO_NAN, &[magnitude], &[])
}

/// `g * i * z / |z|^2`.
fn angle_rule<'t>(g: Ex<'t>, z: Ex<'t>) -> Ex<'t> {
    let (re, im) = (z.then(&REAL), z.then(&IMAG));
    let scale = g / (re * re + im * im);
    (-im * scale).emit(&crate::binary::COMPLEX, &[re * scale], &[])
}
