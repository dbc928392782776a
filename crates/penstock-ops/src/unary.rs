//! Elementwise operators of one operand.

use penstock_ir::{Batch, Cost, Cpu, DTypeVar, ElementFn, Elements, Fails, Fold, Jvp, OpDef, Rows, Type, Vjp, arg};
use penstock_kernels::{Unary, unary_dtypes, unary_output};

use crate::grad::{Ex, rule, unary_rule};
use crate::samples::{self, ABOVE_ONE, LINE, POSITIVE, UNIT};
use crate::util::{OnCuda, PROMISE, one};

/// A rule that gives the operand's cotangent from the result's, the operand and the result.
///
/// A rule for complex operands multiplies by the conjugate of the derivative, as TensorFlow does.
macro_rules! d {
    ($f:expr) => {
        Vjp::Rule(|cx| unary_rule(cx, $f))
    };
}

/// `NAME text tf_name kernel sample-values vjp, summary;` for each operator, with what differs from the usual behind the summary.
macro_rules! table {
    ($($name:ident $text:literal $tf:literal $op:ident $values:ident $vjp:expr, $summary:literal $(, jvp $jvp:expr)? $(, cost $cost:expr)? $(, cuda $cuda:expr)?;)*) => {
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
                cpu: Cpu::Elementwise(ElementFn::Unary(Unary::$op)),
                cuda: $crate::util::given!(OnCuda::Formula $(, $cuda)?).fact(),
                vjp: $vjp,
                jvp: $crate::util::given!(Jvp::Elementwise $(, $jvp)?),
                batch: Batch::Broadcast,
                rows: Rows::Elementwise,
                elements: Elements::Unknown,
                cost: $crate::util::given!(Cost::Element(1.0) $(, $cost)?),
                resolve: None,
                fails: Fails::Never,
                fold: Fold::Evaluate,
                promise: PROMISE,
                samples: || samples::unary(unary_dtypes(Unary::$op), $values),
            };
        )*
        /// The operators of this family.
        pub static OPS: &[&OpDef] = &[$(&$name),*];
    };
}

const TWO_BY_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
const SQRT_TWO_PI: f64 = 2.506_628_274_631_000_5;
/// Shares of a whole.
const SHARES: &[f64] = &[0.5, 0.25, 0.0625, 0.9375, 0.625, 0.015_625, 0.125];
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_SCALE_ALPHA: f64 = 1.758_099_340_847_376_6;

table! {
    NEG "neg" "Neg" Neg LINE
        d!(|g, _, _| -g),
        "`-x`; wraps on integers.", jvp Jvp::Linear(&[0]);
    ABS "abs" "Abs" Abs LINE
        d!(|g, x, _| {
            let (g, sign) = (g.cast(x.dtype()), x.then(&SIGN));
            // As in TensorFlow, what is infinite counts for nothing at a complex 0.
            if x.dtype().is_complex() { g.emit(g.ops().multiply_no_nan, &[sign], &[]) } else { g * sign }
        }),
        "Magnitude: real for complex `x`; the least signed integer is its own. Derivative 0 at 0.";
    SIGN "sign" "Sign" Sign LINE
        Vjp::Rule(|cx| rule(cx, |t| smallvec::smallvec![
            t.needed[0].then(|| {
                if t.x(0).dtype().is_complex() { sign_rule(t.g(), t.x(0), t.y(0)) } else { t.x(0).then(t.g().ops().zeros_like) }
            })
        ])),
        "-1, 0 or 1 as `x` is negative, 0 (of either sign) or positive, NaN of NaN; `x / |x|` for complex `x`, 0 of 0. \
         Derivative zeros, as in TensorFlow, so that the second derivative of `abs` is there.";
    SQUARE "square" "Square" Square LINE
        d!(|g, x, _| g * x.conj() * 2.0),
        "`x * x`; wraps on integers.";
    SQRT "sqrt" "Sqrt" Sqrt POSITIVE
        d!(|g, _, y| g * 0.5 / y.conj()),
        "Square root; NaN of a negative number, the principal branch for complex `x`.";
    RSQRT "rsqrt" "Rsqrt" Rsqrt POSITIVE
        d!(|g, _, y| { let y = y.conj(); g * -0.5 * (y * y * y) }),
        "`1 / sqrt(x)`; infinite at 0.";
    RECIPROCAL "reciprocal" "Reciprocal" Reciprocal LINE
        d!(|g, _, y| { let y = y.conj(); -g * (y * y) }),
        "`1 / x`.";
    EXP "exp" "Exp" Exp LINE
        d!(|g, _, y| g * y.conj()),
        "`e^x`.";
    EXPM1 "expm1" "Expm1" Expm1 LINE
        d!(|g, x, _| g * x.then(&EXP).conj()),
        "`e^x - 1`, accurate near 0.";
    LOG "log" "Log" Log POSITIVE
        d!(|g, x, _| g / x.conj()),
        "Natural logarithm: -inf at 0, NaN of a negative number, the principal branch for complex `x`.";
    LOG1P "log1p" "Log1p" Log1p POSITIVE
        d!(|g, x, _| g / (1.0 + x.conj())),
        "`log(1 + x)`, accurate near 0.";
    SIN "sin" "Sin" Sin LINE
        d!(|g, x, _| g * x.then(&COS).conj()),
        "Sine of `x` in radians.", cuda OnCuda::Or("sin({0})");
    COS "cos" "Cos" Cos LINE
        d!(|g, x, _| -g * x.then(&SIN).conj()),
        "Cosine of `x` in radians.", cuda OnCuda::Or("cos({0})");
    TAN "tan" "Tan" Tan UNIT
        d!(|g, _, y| { let y = y.conj(); g * (1.0 + y * y) }),
        "Tangent of `x` in radians.", cuda OnCuda::Or("tan({0})");
    ASIN "asin" "Asin" Asin UNIT
        d!(|g, x, _| { let x = x.conj(); g * (1.0 - x * x).then(&RSQRT) }),
        "Inverse sine, in radians; NaN outside [-1, 1].";
    ACOS "acos" "Acos" Acos UNIT
        d!(|g, x, _| { let x = x.conj(); -g * (1.0 - x * x).then(&RSQRT) }),
        "Inverse cosine, in radians; NaN outside [-1, 1].";
    ATAN "atan" "Atan" Atan LINE
        d!(|g, x, _| { let x = x.conj(); g / (1.0 + x * x) }),
        "Inverse tangent, in radians.";
    SINH "sinh" "Sinh" Sinh LINE
        d!(|g, x, _| g * x.then(&COSH).conj()),
        "Hyperbolic sine.";
    COSH "cosh" "Cosh" Cosh LINE
        d!(|g, x, _| g * x.then(&SINH).conj()),
        "Hyperbolic cosine.";
    TANH "tanh" "Tanh" Tanh LINE
        d!(|g, _, y| { let y = y.conj(); g * (1.0 - y * y) }),
        "Hyperbolic tangent.";
    ASINH "asinh" "Asinh" Asinh LINE
        d!(|g, _, y| g / y.then(&COSH).conj()),
        "Inverse hyperbolic sine.";
    ACOSH "acosh" "Acosh" Acosh ABOVE_ONE
        d!(|g, _, y| g / y.then(&SINH).conj()),
        "Inverse hyperbolic cosine; NaN below 1.";
    ATANH "atanh" "Atanh" Atanh UNIT
        d!(|g, x, _| { let x = x.conj(); g / (1.0 - x * x) }),
        "Inverse hyperbolic tangent; NaN outside [-1, 1].";
    SIGMOID "sigmoid" "Sigmoid" Sigmoid LINE
        d!(|g, _, y| { let y = y.conj(); g * (y * (1.0 - y)) }),
        "Logistic function, `1 / (1 + e^-x)`.";
    SOFTPLUS "softplus" "Softplus" Softplus LINE
        d!(|g, x, _| g * x.then(&SIGMOID)),
        "`log(1 + e^x)`, without overflow.";
    RELU "relu" "Relu" Relu LINE
        d!(|g, _, y| g * y.then(&STEP)),
        "`max(x, 0)`; NaN of NaN. Derivative 0 at 0 and NaN; the second is zeros, as in TensorFlow.";
    RELU6 "relu6" "Relu6" Relu6 LINE
        d!(|g, _, y| g * y.then(&STEP) * (y.number(6.0) - y).then(&STEP)),
        "`min(max(x, 0), 6)`; NaN of NaN. Derivative 0 at 0, 6 and NaN; the second is zeros, as in TensorFlow.";
    STEP "step" "Step" Step LINE
        Vjp::Rule(|cx| rule(cx, |t| smallvec::smallvec![t.needed[0].then(|| t.x(0).then(t.g().ops().zeros_like))])),
        "1 where `x` is positive, else 0, for NaN too: the derivative of `relu`. Derivative zeros.";
    ELU "elu" "Elu" Elu LINE
        d!(|g, _, y| (g * (y + 1.0)).or(y.is_number(y.ops().less, 0.0), g)),
        "Exponential linear unit: `x` where it is not negative, else `e^x - 1` (Clevert et al. 2015).";
    SELU "selu" "Selu" Selu LINE
        d!(|g, _, y| (g * (y + SELU_SCALE_ALPHA)).or(y.is_number(y.ops().less, 0.0), g * SELU_SCALE)),
        "Scaled exponential linear unit: 1.0507 `x` where it is not negative, else 1.7581 `(e^x - 1)` (Klambauer et al. 2017).";
    SOFTSIGN "softsign" "Softsign" Softsign LINE
        d!(|g, x, _| g / (1.0 + x.then(&ABS)).then(&SQUARE)),
        "`x / (1 + |x|)`.";
    FLOOR "floor" "Floor" Floor LINE
        Vjp::Zero,
        "Largest integer not above `x`.";
    CEIL "ceil" "Ceil" Ceil LINE
        Vjp::Zero,
        "Smallest integer not below `x`.";
    ROUND "round" "Round" Round LINE
        Vjp::Zero,
        "Nearest integer, ties to even; integers are unchanged.";
    RINT "rint" "Rint" Rint LINE
        Vjp::Zero,
        "Nearest integer, ties to even.";
    TRUNC "trunc" "Trunc" Trunc LINE
        Vjp::Zero,
        "Nearest integer towards 0.";
    ERF "erf" "Erf" Erf LINE
        d!(|g, x, _| g * gauss(x)),
        "Error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`.";
    ERFC "erfc" "Erfc" Erfc LINE
        d!(|g, x, _| -g * gauss(x)),
        "Complementary error function, `1 - erf(x)`, accurate for large `x`.";
    LGAMMA "lgamma" "Lgamma" Lgamma POSITIVE
        d!(|g, x, _| g * x.then(&DIGAMMA)),
        "Logarithm of the magnitude of the gamma function; inf at 0 and the negative integers.", cost Cost::Element(100.0), cuda OnCuda::Or("penstock_lgamma({0})");
    DIGAMMA "digamma" "Digamma" Digamma POSITIVE
        d!(|g, x, _| g * x.wide(|x| x.number(1.0).emit(x.ops().polygamma, &[x], &[]))),
        "Derivative of `lgamma`.", cost Cost::Element(100.0), cuda OnCuda::Or("penstock_digamma({0})");
    ERFINV "erfinv" "Erfinv" Erfinv UNIT
        d!(|g, _, y| g * y.then(&SQUARE).then(&EXP) * (1.0 / TWO_BY_SQRT_PI)),
        "The number whose error function is `x`: infinite at -1 and 1, NaN beyond (Wichura 1988, AS 241).";
    NDTRI "ndtri" "Ndtri" Ndtri SHARES
        d!(|g, _, y| g * (y.then(&SQUARE) * 0.5).then(&EXP) * SQRT_TWO_PI),
        "The quantile of the standard normal distribution at `x`: infinite at 0 and 1, NaN beyond (Wichura 1988, AS 241).";
    IS_NAN "is_nan" "IsNan" IsNan LINE
        Vjp::Zero,
        "Whether NaN.";
    IS_INF "is_inf" "IsInf" IsInf LINE
        Vjp::Zero,
        "Whether infinite, of either sign.";
    IS_FINITE "is_finite" "IsFinite" IsFinite LINE
        Vjp::Zero,
        "Whether neither NaN nor infinite.";
    LOGICAL_NOT "logical_not" "LogicalNot" LogicalNot LINE
        Vjp::Zero,
        "`not` of a boolean.";
    INVERT "invert" "Invert" BitNot LINE
        Vjp::Zero,
        "Complement of every bit of an integer.";
    REAL "real" "Real" Real LINE
        d!(|g, x, _| g.cast(x.dtype())),
        "Real part of a complex number.", jvp Jvp::Linear(&[0]);
    IMAG "imag" "Imag" Imag LINE
        d!(|g, _, _| g.number(0.0).emit(g.ops().complex, &[g], &[])),
        "Imaginary part of a complex number.", jvp Jvp::Linear(&[0]);
    CONJ "conj" "Conj" Conj LINE
        d!(|g, _, _| g.conj()),
        "Complex conjugate.", jvp Jvp::Linear(&[0]);
    ANGLE "angle" "Angle" Angle LINE
        d!(|g, x, _| angle_rule(g, x)),
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
    (g - s * radial).emit(g.ops().divide_no_nan, &[magnitude], &[])
}

/// `g * i * z / |z|^2`.
fn angle_rule<'t>(g: Ex<'t>, z: Ex<'t>) -> Ex<'t> {
    let (re, im) = (z.then(&REAL), z.then(&IMAG));
    let scale = g / (re * re + im * im);
    (-im * scale).emit(g.ops().complex, &[re * scale], &[])
}
