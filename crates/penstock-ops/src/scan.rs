//! Running sums and products.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, DTypeSet, Result};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Call, Cpu, Cuda, DTypeVar, Fold, InferCx, OpDef, OutTypes, Sample, Vjp, arg,
};
use penstock_kernels::{CUMULATIVE_DTYPES, Cumulative};
use smallvec::smallvec;

use crate::compare::{EQUAL, GREATER, LOGICAL_AND};
use crate::grad::{Ex, Tape, rule};
use crate::reduce::around;
use crate::samples::{DISTINCT, EDGES, tensor};
use crate::unary::{EXP, LOG};
use crate::util::{normalize_axis, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CUMSUM, &CUMPROD, &CUMULATIVE_LOGSUMEXP];

macro_rules! scan {
    ($name:ident $text:literal $tf:literal $op:ident $dtypes:expr, $vjp:expr, $summary:literal) => {
        #[doc = $summary]
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!(
                $summary,
                "\n\nThe result has the shape of `x`. Element `i` along `axis` (negative ones count from the end) combines the \
                 elements up to `i`: without `i` itself where `exclusive` is true, from the end of the axis where `reverse` is true. \
                 Integers wrap.\n\nErrors: `InvalidArgument` for an axis that is out of range."
            ),
            dtypes: &[DTypeVar::new("T", $dtypes)],
            operands: &[arg("x")],
            attrs: &[
                AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(0)),
                AttrDef::flag("exclusive", false),
                AttrDef::flag("reverse", false),
            ],
            effects: &[],
            infer,
            cpu: Cpu::Kernel(|call| run(Cumulative::$op, call)),
            cuda: Cuda::HostFallback("running sums and products are computed on the host"),
            vjp: $vjp,
            fold: Fold::Evaluate,
            samples: || samples($dtypes),
        };
    };
}

scan! { CUMSUM "cumsum" "Cumsum" Sum CUMULATIVE_DTYPES,
Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| again(&CUMSUM, t, t.g(), true))])),
"Running sums." }
scan! { CUMPROD "cumprod" "Cumprod" Prod CUMULATIVE_DTYPES,
Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| cumprod_grad(t))])),
"Running products. Second derivatives are exact where no element is 0." }

scan! { CUMULATIVE_LOGSUMEXP "cumulative_logsumexp" "CumulativeLogsumexp" LogSumExp DTypeSet::FLOAT,
Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| logsumexp_grad(t))])),
"Running logarithms of sums of exponentials, without overflow; an exclusive one starts with the least finite value." }

fn infer(cx: &InferCx<'_>) -> Result<OutTypes> {
    if let Some(rank) = cx.shape(0).rank() {
        normalize_axis(cx.attrs.int(0), rank, "axis")?;
    }
    one(cx.inputs[0].clone())
}

fn run(op: Cumulative, call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let (outer, n, inner) = around(x.dims(), normalize_axis(call.attrs.int(0), x.rank(), "axis")?);
    let (exclusive, reverse) = (call.attrs.flag(1), call.attrs.flag(2));
    let to = call.out(0, x.dtype(), x.dims())?;
    // SAFETY: `x` has `outer * n * inner` elements of a numeric dtype, and `to` starts as many that are not those of `x`.
    unsafe { penstock_kernels::cumulative(op, x.dtype(), x.as_ptr(), outer, n, inner, exclusive, reverse, to) };
    Ok(())
}

/// A scan of `v` along the instruction's axis, in its direction or against it.
fn again<'t>(op: &'static OpDef, t: &Tape<'_>, v: Ex<'t>, against: bool) -> Ex<'t> {
    let reverse = t.attrs.flag(2) != against;
    let attrs = [("axis", t.attrs.int(0).into()), ("exclusive", t.attrs.flag(1).into()), ("reverse", reverse.into())];
    v.emit(op, &[], &attrs)
}

/// Element `i` has the share `e^(x[i] - y[j])` in the sum that is `y[j]`. The sums of cotangents by share are taken as
/// logarithms, those of positive cotangents apart from those of negative ones.
fn logsumexp_grad<'t>(t: &'t Tape<'_>) -> Ex<'t> {
    let (g, x, y) = (t.g(), t.x(0), t.y(0));
    let total = |g: Ex<'t>| {
        let positive = g.is_number(&GREATER, 0.0);
        let shares = g.or(positive, g.number(1.0)).then(&LOG) - y;
        let shares = shares.or(positive, g.number(f64::NEG_INFINITY));
        (again(&CUMULATIVE_LOGSUMEXP, t, shares, true) + x).then(&EXP)
    };
    total(g) - total(-g)
}

/// Element `i` is a factor of the products from `i` on: their cotangents, each times the product
/// without `x[i]`. That is the product divided by `x[i]`; for the first 0 it is the product with a 1 in
/// its place, and after the first 0 every product has another 0.
fn cumprod_grad<'t>(t: &'t Tape<'_>) -> Ex<'t> {
    let (g, x, y) = (t.g(), t.x(0), t.y(0));
    let zero = x.is_number(&EQUAL, 0.0);
    let count = zero.cast(x.dtype());
    let zeros = count.emit(&CUMSUM, &[], &[("axis", t.attrs.int(0).into()), ("reverse", t.attrs.flag(2).into())]);
    let first = zero.emit(&LOGICAL_AND, &[zeros.is_number(&EQUAL, 1.0)], &[]);
    let one = x.number(1.0);
    let others = again(&CUMPROD, t, one.or(first, x), false);
    let at_zero = again(&CUMSUM, t, g * others.conj(), true).only_if(first);
    let elsewhere = again(&CUMSUM, t, g * y.conj(), true) / one.or(zero, x).conj();
    at_zero.or(zero, elsewhere)
}

fn samples(dtypes: DTypeSet) -> Vec<Sample> {
    let x = |d, dims: &[usize], axis: i64| Sample::new(vec![tensor(d, dims, DISTINCT)]).with("axis", axis);
    let mut out: Vec<Sample> = dtypes.iter().map(|d| x(d, &[3, 4], -1)).collect();
    for (dims, axis) in [(&[1][..], 0), (&[7], 0), (&[0], 0), (&[3, 0], 0), (&[2, 3, 4], 1), (&[2, 3, 4], -3)] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            // An exclusive logarithm starts with a limit of the dtype, beside which differences of `f64` would be lost.
            let dtype = if exclusive && dtypes == DTypeSet::FLOAT { DType::F32 } else { DType::F64 };
            out.push(x(dtype, dims, axis).with("exclusive", exclusive).with("reverse", reverse));
        }
    }
    // Zeros, one and two a row, for the derivative of products.
    let zeros = tensor(DType::F64, &[3, 4], &[1.5, 0.0, -2.0, 3.0, 0.0, 2.5, 0.0, 1.0, -1.5, 2.0, 0.5, -3.0]);
    for reverse in [false, true].into_iter().filter(|_| dtypes != DTypeSet::FLOAT) {
        out.push(
            Sample::new(vec![zeros.clone()]).with("axis", 1i64).with("exclusive", reverse).with("reverse", reverse),
        );
    }
    out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES)]));
    out
}
