//! Running sums and products, and linear recurrences.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, DTypeSet, Error, Result};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Batch, Call, Carried, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, InferCx,
    Jvp, OpDef, OutTypes, Rows, Sample, Scan, Type, Vjp, arg,
};
use penstock_kernels::{CUMULATIVE_DTYPES, Cumulative};
use smallvec::smallvec;

use crate::batch_rules;
use crate::grad::{Ex, Tape, rule};
use crate::samples::{DISTINCT, EDGES, LINE, tensor};
use crate::util::{PROMISE, around, normalize_axis, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CUMSUM, &CUMPROD, &CUMULATIVE_LOGSUMEXP, &LINEAR_RECURRENCE];

const ATTRS: &[AttrDef] = &[
    AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(0)),
    AttrDef::flag("exclusive", false),
    AttrDef::flag("reverse", false),
];

macro_rules! scan {
    ($name:ident $text:literal $tf:literal $op:ident $dtypes:expr, $vjp:expr, $jvp:expr, $summary:literal) => {
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
            attrs: ATTRS,
            effects: &[],
            infer,
            cpu: Cpu::Kernel(|call| run(Cumulative::$op, call)),
            cuda: Cuda::Kernels,
            vjp: $vjp,
            jvp: $jvp,
            batch: Batch::Rule(|cx| batch_rules::along(cx, 0)),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnShapes,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: || samples($dtypes),
        };
    };
}

scan! { CUMSUM "cumsum" "Cumsum" Sum CUMULATIVE_DTYPES,
Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| again(&CUMSUM, t, t.g(), &[], t.attrs.flag(1), true))])),
Jvp::Linear(&[0]), "Running sums." }
scan! { CUMPROD "cumprod" "Cumprod" Prod CUMULATIVE_DTYPES,
Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| cumprod_grad(t))])),
Jvp::FromVjp, "Running products." }

scan! { CUMULATIVE_LOGSUMEXP "cumulative_logsumexp" "CumulativeLogsumexp" LogSumExp DTypeSet::FLOAT,
Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| logsumexp_grad(t))])),
Jvp::FromVjp, "Running logarithms of sums of exponentials, without overflow; an exclusive one starts with the least finite value." }

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
    let extents = [outer, n, inner];
    if by_device(call, Scan { carried: Carried::Running(op), extents, exclusive, reverse })? {
        return Ok(());
    }
    let to = call.out(0, x.dtype(), x.dims())?;
    // SAFETY: `x` has `outer * n * inner` elements of a numeric dtype, and `to` starts as many that are not those of `x`.
    unsafe { penstock_kernels::cumulative(op, x.dtype(), x.as_ptr(), extents, exclusive, reverse, to) };
    Ok(())
}

/// Has the device do a scan of the operands, which have its extents, where one works in the host's place and has a kernel for it.
fn by_device(call: &mut Call<'_>, scan: Scan) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // SAFETY: the operands have one dtype and these extents, and are those that the scan names.
    let made = unsafe { device.scan(&scan, call.inputs) }?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// A scan along the instruction's axis, in its direction or against it.
fn again<'t>(op: &'static OpDef, t: &Tape<'_>, x: Ex<'t>, rest: &[Ex<'t>], exclusive: bool, against: bool) -> Ex<'t> {
    let reverse = t.attrs.flag(2) != against;
    x.emit(op, rest, &[("axis", t.attrs.int(0).into()), ("exclusive", exclusive.into()), ("reverse", reverse.into())])
}

/// Element `i` has the share `e^(x[i] - y[j])` in the sum that is `y[j]`. The sums of cotangents by share are taken as
/// logarithms, those of positive cotangents apart from those of negative ones.
fn logsumexp_grad<'t>(t: &'t Tape<'_>) -> Ex<'t> {
    let (g, x, y) = (t.g(), t.x(0), t.y(0));
    let total = |g: Ex<'t>| {
        let positive = g.is_number(g.ops().greater, 0.0);
        let shares = g.or(positive, g.number(1.0)).then(g.ops().log) - y;
        let shares = shares.or(positive, g.number(f64::NEG_INFINITY));
        (again(&CUMULATIVE_LOGSUMEXP, t, shares, &[], t.attrs.flag(1), true) + x).then(x.ops().exp)
    };
    total(g) - total(-g)
}

/// Element `i` has a share in the products from `i` on: that of the elements before it, times what [`carried`] makes of the
/// elements behind it. Nothing is divided, so zeros are like other elements.
fn cumprod_grad<'t>(t: &'t Tape<'_>) -> Ex<'t> {
    let (g, x) = (t.g(), t.x(0));
    let before = again(&CUMPROD, t, x, &[], true, false);
    before.conj() * carried(t, x.conj(), g)
}

/// What the cotangents `g` of a recurrence with these factors are to the terms: each is carried on to all terms before it,
/// multiplied by the factors that were between.
fn carried<'t>(t: &'t Tape<'_>, factors: Ex<'t>, g: Ex<'t>) -> Ex<'t> {
    if t.attrs.flag(1) {
        again(&LINEAR_RECURRENCE, t, factors, &[g], true, true)
    } else {
        g + again(&LINEAR_RECURRENCE, t, factors, &[factors * g], true, true)
    }
}

/// A recurrence of the first order.
pub static LINEAR_RECURRENCE: OpDef = OpDef {
    name: "linear_recurrence",
    tf_name: "LinearRecurrence",
    doc: "`y[i] = factors[i] * y[i - 1] + terms[i]` along `axis`, from `y[0] = terms[0]` on.\n\n\
          `factors`, `terms` and the result have one shape; a negative axis counts from the end. Where `exclusive` is true, \
          element `i` of the result is `y[i - 1]`, and the first is 0; where `reverse` is true, it runs from the end of the \
          axis.\n\n\
          Errors: `InvalidArgument` where the shapes differ, and for an axis that is out of range.",
    dtypes: &[DTypeVar::new("T", DTypeSet::INEXACT)],
    operands: &[arg("factors"), arg("terms")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        let (factors, terms) = (cx.shape(0), cx.shape(1));
        let Some(shape) = factors.merge(terms) else {
            return Err(
                Error::invalid(format!("expected the shape of factors, {factors}, got {terms}")).argument("terms")
            );
        };
        if let Some(rank) = shape.rank() {
            normalize_axis(cx.attrs.int(0), rank, "axis")?;
        }
        one(Type::tensor(cx.dtype(0), shape))
    },
    cpu: Cpu::Kernel(run_recurrence),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (factors, terms) = (t.x(0), t.x(1));
            let to_terms = carried(t, factors.conj(), t.g());
            let before = |t| again(&LINEAR_RECURRENCE, t, factors, &[terms], true, false);
            smallvec![t.needed[0].then(|| to_terms * before(t).conj()), t.needed[1].then_some(to_terms)]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(|cx| batch_rules::all_along(cx, 0)),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = Vec::new();
        for mut sample in samples(DTypeSet::INEXACT) {
            let terms = tensor(sample.inputs[0].dtype(), sample.inputs[0].dims(), LINE);
            sample.inputs.push(terms);
            out.push(sample);
        }
        out
    },
};

fn run_recurrence(call: &mut Call<'_>) -> Result<()> {
    let (factors, terms) = (call.inputs[0], call.inputs[1]);
    if factors.dims() != terms.dims() {
        return Err(
            Error::invalid(format!("shapes {:?} and {:?} differ", factors.dims(), terms.dims())).argument("terms")
        );
    }
    let (outer, n, inner) = around(factors.dims(), normalize_axis(call.attrs.int(0), factors.rank(), "axis")?);
    let (exclusive, reverse) = (call.attrs.flag(1), call.attrs.flag(2));
    let extents = [outer, n, inner];
    if by_device(call, Scan { carried: Carried::Recurrence, extents, exclusive, reverse })? {
        return Ok(());
    }
    let to = call.out(0, factors.dtype(), factors.dims())?;
    let (factors, terms) = (factors.as_ptr(), terms.as_ptr());
    // SAFETY: both have as many elements of a dtype that the operator takes, and `to` starts as many that are not theirs.
    unsafe { penstock_kernels::recurrence(call.inputs[0].dtype(), factors, terms, extents, exclusive, reverse, to) };
    Ok(())
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
