//! Elementwise operators of two operands: arithmetic, and bits of integers.

use penstock_data::{DType, DTypeSet, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgType, Batch, Call, Cost, Cpu, Cuda, DTypeVar, ElementFn, Elements, Env, Fails, Fold, InferCx, Jvp, OpDef,
    OutTypes, Rows, Sample, Type, Vjp, arg, args_of,
};
use penstock_kernels::{Binary, binary_output};
use smallvec::smallvec;

use crate::batch_rules;
use crate::grad::{Ex, Grads, Partial, Tape, binary_rule, rule};
use crate::run::binary_into;
use crate::samples::{self, ABOVE_ONE, LINE, POSITIVE, tensor};
use crate::unary::LGAMMA;
use crate::util::{OnCuda, PROMISE, one};

/// A rule of two partial cotangents, each from the result's cotangent, the operands and the result.
///
/// A rule for complex operands multiplies by the conjugate of the derivative, as TensorFlow does.
macro_rules! d {
    ($fx:expr, $fy:expr) => {
        Vjp::Rule(|cx| binary_rule(cx, $fx as Partial, $fy as Partial))
    };
}

/// `NAME text tf_name kernel sample-xs sample-ys vjp, summary;` for each operator, with what differs from the usual behind the summary.
macro_rules! table {
    ($list:ident: $($name:ident $text:literal $tf:literal $op:ident $xs:ident $ys:ident $vjp:expr, $summary:literal $(, jvp $jvp:expr)? $(, cost $cost:expr)? $(, fails $fails:expr)? $(, cuda $cuda:expr)?;)*) => {
        $(
            #[doc = $summary]
            pub static $name: OpDef = OpDef {
                name: $text,
                tf_name: $tf,
                doc: concat!(
                    $summary,
                    "\n\nElementwise: the result has the shape that `x` and `y`, of one dtype, broadcast to.",
                    "\n\nErrors: `InvalidArgument` where the shapes do not broadcast."
                ),
                dtypes: &[DTypeVar::new("T", penstock_kernels::binary_dtypes(penstock_kernels::Binary::$op))],
                operands: &[arg("x"), arg("y")],
                attrs: &[],
                effects: &[],
                infer: |cx| $crate::binary::infer(penstock_kernels::Binary::$op, cx),
                cpu: Cpu::Elementwise(penstock_ir::ElementFn::Binary(penstock_kernels::Binary::$op)),
                cuda: $crate::util::given!($crate::util::OnCuda::Formula $(, $cuda)?).fact(),
                vjp: $vjp,
                jvp: $crate::util::given!(penstock_ir::Jvp::Elementwise $(, $jvp)?),
                batch: Batch::Broadcast,
                rows: Rows::Elementwise,
                elements: Elements::Unknown,
                cost: $crate::util::given!(penstock_ir::Cost::Element(1.0) $(, $cost)?),
                resolve: None,
                fails: $crate::util::given!(penstock_ir::Fails::Never $(, $fails)?),
                fold: Fold::Evaluate,
                promise: PROMISE,
                samples: || samples::binary(
                    penstock_kernels::binary_dtypes(penstock_kernels::Binary::$op), $xs, $ys,
                ),
            };
        )*
        const $list: &[&OpDef] = &[$(&$name),*];
    };
}
pub(crate) use table;

/// Whole numbers, none of them 0.
const WHOLE: &[f64] = &[2.0, -3.0, 5.0, -1.0, 7.0, 1.0];
/// Orders of derivatives.
const ORDERS: &[f64] = &[1.0, 0.0, 2.0, 3.0];
/// Positive exponents.
const POWERS: &[f64] = &[2.0, 0.5, 4.0, 3.0, 1.5, 1.0];
/// Small whole numbers.
const SHIFTS: &[f64] = &[0.0, 1.0, 3.0, 7.0, 2.0];

table! { TABLE:
    ADD "add" "AddV2" Add LINE POSITIVE
        d!(|g, _, _, _| g, |g, _, _, _| g),
        "`x + y`; wraps on integers. Strings are joined by `string_add`.";
    SUB "sub" "Sub" Sub LINE POSITIVE
        Vjp::Rule(|cx| rule(cx, |t| smallvec![
            t.needed[0].then(|| t.g().unbroadcast(t.x(0))),
            // Negated last, where it is smallest.
            t.needed[1].then(|| -t.g().unbroadcast(t.x(1))),
        ])),
        "`x - y`; wraps on integers.";
    MUL "mul" "Mul" Mul LINE POSITIVE
        d!(|g, _, y, _| g * y.conj(), |g, x, _, _| g * x.conj()),
        "`x * y`; wraps on integers.", jvp Jvp::Bilinear;
    DIV "div" "RealDiv" Div LINE WHOLE
        Vjp::Rule(|cx| rule(cx, |t| {
            let (g, x, y, z) = (t.g(), t.x(0), t.x(1), t.y(0));
            smallvec![
                t.needed[0].then(|| (g / y.conj()).unbroadcast(x)),
                // Divided last, where it is smallest.
                t.needed[1].then(|| -((g * z.conj()).unbroadcast(y) / y.conj())),
            ]
        })),
        "`x / y` of floats: infinite or NaN where `y` is 0. Integers are cast first.";
    FLOORDIV "floordiv" "FloorDiv" FloorDiv LINE WHOLE
        Vjp::Zero,
        "Quotient rounded to negative infinity, Python's `//`. Integer division by 0 is an error.", fails Fails::OnIntegers, cuda OnCuda::Or("penstock_floor_div({0}, {1})");
    FLOORMOD "floormod" "FloorMod" FloorMod LINE WHOLE
        d!(|g, _, _, _| g, |g, x, y, _| -g * (x / y).then(x.ops().floor)),
        "Remainder with the sign of `y`, Python's `%`. Integer division by 0 is an error.", fails Fails::OnIntegers, cuda OnCuda::Or("penstock_floor_mod({0}, {1})");
    TRUNCATEDIV "truncatediv" "TruncateDiv" TruncDiv LINE WHOLE
        Vjp::Zero,
        "Quotient rounded to 0, C's `/` of integers. Integer division by 0 is an error.", fails Fails::OnIntegers, cuda OnCuda::Or("penstock_trunc_div({0}, {1})");
    TRUNCATEMOD "truncatemod" "TruncateMod" TruncMod LINE WHOLE
        d!(|g, _, _, _| g, |g, x, y, _| -g * (x / y).then(x.ops().trunc)),
        "Remainder with the sign of `x`, C's `%` and `fmod`. Integer division by 0 is an error.", fails Fails::OnIntegers, cuda OnCuda::Or("penstock_trunc_mod({0}, {1})");
    POW "pow" "Pow" Pow POSITIVE POWERS
        d!(pow_x, pow_y),
        "`x` to the `y`. Integers wrap; a negative exponent of integers is an error.", fails Fails::OnIntegers, cuda OnCuda::Or("penstock_pow({0}, {1})");
    MAXIMUM "maximum" "Maximum" Max LINE POSITIVE
        d!(|g, x, y, _| g.only_if(x.is(x.ops().greater_equal, y)), |g, x, y, _| g.number(0.0).or(x.is(x.ops().greater_equal, y), g)),
        "The greater of `x` and `y`; NaN where either is. Where they are equal the gradient goes to `x`.";
    MINIMUM "minimum" "Minimum" Min LINE POSITIVE
        d!(|g, x, y, _| g.only_if(x.is(x.ops().less_equal, y)), |g, x, y, _| g.number(0.0).or(x.is(x.ops().less_equal, y), g)),
        "The lesser of `x` and `y`; NaN where either is. Where they are equal the gradient goes to `x`.";
    ATAN2 "atan2" "Atan2" Atan2 LINE WHOLE
        d!(|g, x, y, _| g * y / (x * x + y * y), |g, x, y, _| -g * x / (x * x + y * y)),
        "Angle in radians of the point whose ordinate is `x` and whose abscissa is `y`, in [-pi, pi].";
    SQUARED_DIFFERENCE "squared_difference" "SquaredDifference" SquaredDifference LINE POSITIVE
        d!(|g, x, y, _| real_part(g) * (x - y) * 2.0, |g, x, y, _| real_part(g) * (y - x) * 2.0),
        "`(x - y)^2`; `|x - y|^2` for complex operands.";
    DIVIDE_NO_NAN "divide_no_nan" "DivNoNan" DivNoNan LINE WHOLE
        d!(|g, _, y, _| no_nan(g, y.conj()), |g, _, y, z| -g * no_nan(z, y).conj()),
        "`x / y`, but 0 where `y` is 0.";
    MULTIPLY_NO_NAN "multiply_no_nan" "MulNoNan" MulNoNan LINE WHOLE
        d!(
            |g, _, y, _| g.emit(&MULTIPLY_NO_NAN, &[y.conj()], &[]),
            |g, x, _, _| x.conj().emit(&MULTIPLY_NO_NAN, &[g], &[])
        ),
        "`x * y`, but 0 where `y` is 0, even if `x` is infinite or NaN.";
    XLOGY "xlogy" "Xlogy" Xlogy LINE POSITIVE
        d!(
            |g, x, y, _| g * non_zero(x).emit(&XLOGY, &[y], &[]).conj(),
            |g, x, y, _| g * x.emit(&XDIVY, &[y], &[]).conj()
        ),
        "`x * log(y)`, but 0 where `x` is 0.";
    XDIVY "xdivy" "Xdivy" Xdivy LINE WHOLE
        d!(
            |g, x, y, _| g * non_zero(x).emit(&XDIVY, &[y], &[]).conj(),
            |g, _, y, z| -g * z.emit(&XDIVY, &[y], &[]).conj()
        ),
        "`x / y`, but 0 where `x` is 0.";
    NEXTAFTER "nextafter" "NextAfter" NextAfter LINE WHOLE
        Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| t.g().unbroadcast(t.x(0))), None])),
        "The next representable value after `x` in the direction of `y`; `y` where they are equal, NaN where either is.";
    ZETA "zeta" "Zeta" Zeta ABOVE_ONE ABOVE_ONE
        Vjp::Rule(|cx| rule(cx, |t| smallvec![
            None,
            t.needed[1].then(|| {
                let (g, x, y) = (t.g(), t.x(0), t.x(1));
                (-g * x * (x + 1.0).emit(&ZETA, &[y], &[])).unbroadcast(y)
            })
        ])),
        "The Hurwitz zeta function, the sum of `(y + k)^-x` over k from 0; NaN for `x` < 1. No gradient reaches `x`.", cost Cost::Element(100.0), cuda OnCuda::Host("the zeta function is computed on the host");
    POLYGAMMA "polygamma" "Polygamma" Polygamma ORDERS POSITIVE
        Vjp::Rule(|cx| rule(cx, |t| smallvec![
            None,
            t.needed[1].then(|| (t.g() * (t.x(0) + 1.0).emit(&POLYGAMMA, &[t.x(1)], &[])).unbroadcast(t.x(1)))
        ])),
        "The derivative of order `x` of `digamma` at `y`; NaN where `x` is no whole number from 0. No gradient reaches `x`.", cost Cost::Element(100.0), cuda OnCuda::Host("the polygamma function is computed on the host");
    RANDOM_GAMMA_GRAD "random_gamma_grad" "RandomGammaGrad" GammaSlope POSITIVE ABOVE_ONE
        Vjp::NonDifferentiable("no formula is implemented for the second derivative of gamma numbers"),
        "The derivative by `x` of a number `y` drawn from the gamma distribution of shape `x` and rate 1, at a fixed quantile.", cost Cost::Element(100.0), cuda OnCuda::Host("the derivative of gamma numbers is computed on the host");
    IGAMMA "igamma" "Igamma" Igamma POSITIVE ABOVE_ONE
        Vjp::Rule(|cx| rule(cx, |t| incomplete_gamma_rule(t, 1.0))),
        "The lower regularised incomplete gamma function of shape `x` at `y`; NaN where `x` is not positive or `y` is negative.", cost Cost::Element(300.0), cuda OnCuda::Host("the incomplete gamma functions are computed on the host");
    IGAMMAC "igammac" "Igammac" Igammac POSITIVE ABOVE_ONE
        Vjp::Rule(|cx| rule(cx, |t| incomplete_gamma_rule(t, -1.0))),
        "The upper regularised incomplete gamma function of shape `x` at `y`, 1 less the lower one.", cost Cost::Element(300.0), cuda OnCuda::Host("the incomplete gamma functions are computed on the host");
    BITWISE_AND "bitwise_and" "BitwiseAnd" BitAnd WHOLE SHIFTS
        Vjp::Zero,
        "Bitwise `and` of integers.";
    BITWISE_OR "bitwise_or" "BitwiseOr" BitOr WHOLE SHIFTS
        Vjp::Zero,
        "Bitwise `or` of integers.";
    BITWISE_XOR "bitwise_xor" "BitwiseXor" BitXor WHOLE SHIFTS
        Vjp::Zero,
        "Bitwise exclusive `or` of integers.";
    LEFT_SHIFT "left_shift" "LeftShift" Shl WHOLE SHIFTS
        Vjp::Zero,
        "`x` shifted left by `y` bits, which is clamped to between 0 and the width of the dtype.", cuda OnCuda::Or("({0} << {1})");
    RIGHT_SHIFT "right_shift" "RightShift" Shr WHOLE SHIFTS
        Vjp::Zero,
        "`x` shifted right by `y` bits, which is clamped to between 0 and the width of the dtype; arithmetic for signed dtypes.", cuda OnCuda::Or("({0} >> {1})");
    COMPLEX "complex" "Complex" Complex LINE POSITIVE
        d!(|g, _, _, _| g.then(g.ops().real), |g, _, _, _| g.then(g.ops().imag)),
        "The complex number whose real part is `x` and whose imaginary part is `y`.", jvp Jvp::AllLinear;
}

/// The cotangents of an incomplete gamma function; `sign` is -1 for the upper one.
fn incomplete_gamma_rule<'t>(t: &'t Tape<'_>, sign: f64) -> Grads<'t> {
    let (g, a, x) = (t.g(), t.x(0), t.x(1));
    // The logarithms of which the density is made are much greater than their sum.
    let (wide_a, wide_x) = (a.cast(DType::F64), x.cast(DType::F64));
    let log = (wide_a - 1.0).emit(&XLOGY, &[wide_x], &[]) - wide_x - wide_a.then(&LGAMMA);
    let by_x = g * log.then(a.ops().exp).cast(a.dtype()) * sign;
    // A number drawn from the distribution moves so with the shape that its probability stays.
    let slope = || a.emit(&RANDOM_GAMMA_GRAD, &[x], &[]);
    smallvec![t.needed[0].then(|| (-by_x * slope()).unbroadcast(a)), t.needed[1].then(|| by_x.unbroadcast(x))]
}

/// The operators of this family.
pub static OPS: &[&OpDef] = &{
    let mut ops = [&ADD_N; TABLE.len() + 1];
    let mut i = 0;
    while i < TABLE.len() {
        ops[i] = TABLE[i];
        i += 1;
    }
    ops
};

/// The shape that shapes broadcast to.
///
/// # Errors
/// `InvalidArgument` naming two that do not.
pub(crate) fn broadcast(shapes: &[&Shape]) -> Result<Shape> {
    let mut out = shapes[0].clone();
    for shape in &shapes[1..] {
        out = out
            .broadcast(shape)
            .ok_or_else(|| Error::invalid(format!("Incompatible shapes: {out} vs. {shape}, which do not broadcast")))?;
    }
    Ok(out)
}

/// The type of the result of a binary elementwise operator.
pub(crate) fn infer(op: Binary, cx: &InferCx<'_>) -> Result<OutTypes> {
    one(Type::tensor(binary_output(op, cx.dtype(0)), broadcast(&[cx.shape(0), cx.shape(1)])?))
}

fn no_nan<'t>(x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    x.emit(&DIVIDE_NO_NAN, &[y], &[])
}

/// 1 where `x` is not 0, else 0.
fn non_zero(x: Ex<'_>) -> Ex<'_> {
    x.is_number(x.ops().not_equal, 0.0).cast(x.dtype())
}

/// A complex value without its imaginary part; a real one is its own.
fn real_part(g: Ex<'_>) -> Ex<'_> {
    if g.dtype().is_complex() { g.then(g.ops().real).cast(g.dtype()) } else { g }
}

/// `g * y * x^(y-1)`, which is 0 where `y` is 0 whatever `x` is.
fn pow_x<'t>(g: Ex<'t>, x: Ex<'t>, y: Ex<'t>, _: Ex<'t>) -> Ex<'t> {
    match y.known_scalar() {
        Some(1.0) => g,
        Some(2.0) => g * x * 2.0,
        Some(c) if c != 0.0 => g * c * x.emit(&POW, &[x.number(c - 1.0)], &[]).conj(),
        _ => {
            let less = (y - 1.0).or(y.is_number(y.ops().not_equal, 0.0), y.number(0.0));
            g * (y * x.emit(&POW, &[less], &[])).conj()
        }
    }
}

/// `g * x^y * log x`, which is 0 where the logarithm is not defined.
fn pow_y<'t>(g: Ex<'t>, x: Ex<'t>, _: Ex<'t>, z: Ex<'t>) -> Ex<'t> {
    let defined = if x.dtype().is_complex() { x.ops().not_equal } else { x.ops().greater };
    let log = x.or(x.is_number(defined, 0.0), x.number(1.0)).then(x.ops().log);
    g * (z * log).conj()
}

const SUM: ElementFn = ElementFn::Binary(Binary::Add);

/// The sum of any number of tensors of one shape.
pub static ADD_N: OpDef = OpDef {
    name: "add_n",
    tf_name: "AddN",
    doc: "The sum of one or more tensors of one shape and dtype, added from the first to the last; wraps on integers.\n\n\
          Errors: `InvalidArgument` where there is no operand or shapes differ.",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC)],
    operands: &[args_of("inputs", ArgType::Var(0))],
    attrs: &[],
    effects: &[],
    infer: infer_add_n,
    cpu: Cpu::Kernel(run_add_n),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| (0..t.len()).map(|i| t.needed[i].then(|| t.g())).collect())),
    jvp: Jvp::AllLinear,
    batch: Batch::Rule(batch_rules::all),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let t = |d, dims: &[usize]| tensor(d, dims, LINE);
        let mut out: Vec<Sample> =
            DTypeSet::NUMERIC.iter().map(|d| Sample::new(vec![t(d, &[5]), t(d, &[5]), t(d, &[5])])).collect();
        for dims in [&[][..], &[0], &[1], &[3, 5]] {
            out.push(Sample::new(vec![t(DType::F64, dims); 3]));
        }
        out.push(Sample::new(vec![t(DType::F64, &[2, 3])]));
        out
    },
};

fn infer_add_n(cx: &InferCx<'_>) -> Result<OutTypes> {
    let Some((first, rest)) = cx.inputs.split_first() else {
        return Err(Error::invalid("needs at least one tensor").argument("inputs"));
    };
    let mut shape = first.shape().clone();
    for (i, ty) in rest.iter().enumerate() {
        shape = shape.merge(ty.shape()).ok_or_else(|| {
            Error::invalid(format!("expected shape {shape}, got {}", ty.shape())).argument(format!("inputs[{}]", i + 1))
        })?;
    }
    one(Type::tensor(first.dtype(), shape))
}

fn run_add_n(call: &mut Call<'_>) -> Result<()> {
    let inputs = call.inputs;
    let dims = inputs[0].dims();
    if let Some(odd) = inputs.iter().find(|t| t.dims() != dims) {
        return Err(Error::invalid(format!("shapes {dims:?} and {:?} differ", odd.dims())).argument("inputs"));
    }
    match inputs {
        [only] => call.set(0, (*only).clone()),
        [first, second, rest @ ..] => {
            if let Some(sum) = call.env.elementwise(SUM, first.dtype(), inputs)? {
                call.set(0, sum);
                return Ok(());
            }
            binary_into(Binary::Add, first, second, &mut call.outputs[0])?;
            let mut next = Tensor::default();
            for term in rest {
                binary_into(Binary::Add, &call.outputs[0], term, &mut next)?;
                std::mem::swap(&mut next, &mut call.outputs[0]);
            }
        }
        [] => return Err(Error::invalid("needs at least one tensor").argument("inputs")),
    }
    Ok(())
}

/// `x + y` into `out`, by the device that works in the host's place where there is one.
///
/// # Errors
/// As [`binary_into`], and those of the device.
pub(crate) fn add_into(env: &dyn Env, x: &Tensor, y: &Tensor, out: &mut Tensor) -> Result<()> {
    match env.elementwise(SUM, x.dtype(), &[x, y])? {
        Some(sum) => *out = sum,
        None => binary_into(Binary::Add, x, y, out)?,
    }
    Ok(())
}
