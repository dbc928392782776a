//! Reductions by segment: of rows whose segments are sorted, or come in any order. Counts of integers.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgDef, ArgType, AttrDef, Batch, Call, Cost, Cotangents, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, InferCx, Jvp,
    OpDef, OutTypes, Rows, Sample, Type, Vjp, VjpCx, arg, arg_of,
};
use penstock_kernels::positions;
use penstock_kernels::segment::Empty;
use penstock_kernels::{Reduce, reduce_dtypes};
use smallvec::smallvec;

use crate::binary::MAXIMUM;
use crate::compare::{EQUAL, GREATER};
use crate::gather::{
    GATHER, UNSORTED_SEGMENT_SUM, explain, infer_unsorted_segments, run_unsorted_segments, unsorted_segment_samples,
};
use crate::grad::{Ex, Tape, rule};
use crate::groups;
use crate::moves;
use crate::operands::{index_arg, int_scalar, like, require_rank, size};
use crate::sample_arrays::{f64s, i32s, i64s};
use crate::samples::{DISTINCT, tensor};
use crate::util::{PROMISE, one};

/// The operators of this family; `unsorted_segment_sum` is with the gathers, whose derivative it is.
pub static OPS: &[&OpDef] = &[
    &UNSORTED_SEGMENT_MEAN,
    &UNSORTED_SEGMENT_MAX,
    &UNSORTED_SEGMENT_MIN,
    &UNSORTED_SEGMENT_PROD,
    &SEGMENT_SUM,
    &SEGMENT_MEAN,
    &SEGMENT_MAX,
    &SEGMENT_MIN,
    &SEGMENT_PROD,
    &BINCOUNT,
];

const fn ids(name: &'static str) -> ArgDef {
    arg_of(name, ArgType::In(DTypeSet::INDEX))
}

macro_rules! unsorted {
    ($($name:ident $text:literal $tf:literal $op:ident $empty:ident $vjp:ident $samples:ident, $summary:literal;)*) => {$(
        #[doc = $summary]
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!(
                $summary,
                "\n\nThe extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Entry `s` \
                 reduces the entries of `data` with id `s`. Negative ids drop their entries. Raises InvalidArgument for an id not \
                 below `num_segments`."
            ),
            dtypes: &[DTypeVar::new("T", reduce_dtypes(Reduce::$op))],
            operands: &[arg("data"), ids("segment_ids"), ids("num_segments")],
            attrs: &[],
            effects: &[],
            infer: infer_unsorted_segments,
            cpu: Cpu::Kernel(|call| run_unsorted_segments(call, (Reduce::$op, Empty::$empty))),
            cuda: Cuda::Kernels,
            vjp: Vjp::Rule(|cx| segment_rule(cx, $vjp)),
            jvp: Jvp::FromVjp,
            batch: Batch::Loop("no form for many examples is known"),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnValues,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: || $samples(reduce_dtypes(Reduce::$op)),
        };
    )*};
}

unsorted! {
    UNSORTED_SEGMENT_MEAN "unsorted_segment_mean" "UnsortedSegmentMean" Mean Zero mean_grad unsorted_segment_samples,
        "The means of entries by segment; 0 of none. That of integers is rounded towards 0.";
    UNSORTED_SEGMENT_MAX "unsorted_segment_max" "UnsortedSegmentMax" Max Lowest extremum_grad extremum_samples,
        "The greatest entries by segment: NaN if there is one, the least finite value of none. Equal entries share the gradient.";
    UNSORTED_SEGMENT_MIN "unsorted_segment_min" "UnsortedSegmentMin" Min Highest extremum_grad extremum_samples,
        "The least entries by segment: NaN if there is one, the greatest finite value of none. Equal entries share the gradient.";
    UNSORTED_SEGMENT_PROD "unsorted_segment_prod" "UnsortedSegmentProd" Prod One prod_grad unsorted_segment_samples,
        "The products of entries by segment; 1 of none. Second derivatives are exact where no element is 0.";
}

macro_rules! sorted {
    ($($name:ident $text:literal $tf:literal $op:ident $empty:ident $vjp:ident, $summary:literal;)*) => {$(
        #[doc = $summary]
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!(
                $summary,
                "\n\n`segment_ids` is a vector with an id from 0 for each entry of `data` along its first dimension, in ascending \
                 order; the result has one entry for each id up to the last. Raises InvalidArgument for ids that are negative or \
                 not in order."
            ),
            dtypes: &[DTypeVar::new("T", reduce_dtypes(Reduce::$op))],
            operands: &[arg("data"), ids("segment_ids")],
            attrs: &[],
            effects: &[],
            infer: infer_sorted,
            cpu: Cpu::Kernel(|call| run_sorted(call, (Reduce::$op, Empty::$empty))),
            cuda: Cuda::Kernels,
            vjp: Vjp::Rule(|cx| segment_rule(cx, $vjp)),
            jvp: Jvp::FromVjp,
            batch: Batch::Loop("no form for many examples is known"),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnValues,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: || sorted_samples(reduce_dtypes(Reduce::$op)),
        };
    )*};
}

sorted! {
    SEGMENT_SUM "segment_sum" "SegmentSum" Sum Zero sum_grad,
        "The sums of entries by sorted segment; 0 of none.";
    SEGMENT_MEAN "segment_mean" "SegmentMean" Mean Zero mean_grad,
        "The means of entries by sorted segment; 0 of none. That of integers is rounded towards 0.";
    SEGMENT_MAX "segment_max" "SegmentMax" Max Zero extremum_grad,
        "The greatest entries by sorted segment: NaN if there is one, 0 of none. Equal entries share the gradient.";
    SEGMENT_MIN "segment_min" "SegmentMin" Min Zero extremum_grad,
        "The least entries by sorted segment: NaN if there is one, 0 of none. Equal entries share the gradient.";
    SEGMENT_PROD "segment_prod" "SegmentProd" Prod One prod_grad,
        "The products of entries by sorted segment; 1 of none. Second derivatives are exact where no element is 0.";
}

/// Samples in which no segment of `f64` is empty: beside the limits of the dtype, differences would be lost.
fn extremum_samples(dtypes: DTypeSet) -> Vec<Sample> {
    let n = || Tensor::scalar(3i32);
    let ids = |d: DType| if d == DType::F64 { i32s(&[2, 0, 1, -1]) } else { i32s(&[2, 0, 2, -1]) };
    let mut out: Vec<Sample> =
        dtypes.iter().map(|d| Sample::new(vec![tensor(d, &[4], DISTINCT), ids(d), n()])).collect();
    out.push(Sample::new(vec![f64s(&[4, 3]), i64s(&[1, 0, 1, 1]), Tensor::scalar(2i32)]));
    out.push(Sample::new(vec![tensor(DType::F32, &[2], DISTINCT), Tensor::scalar(1i32), n()]));
    out.push(Sample::new(vec![f64s(&[0]), i32s(&[]), Tensor::scalar(0i32)]));
    out
}

/// The number of segments, where the ids are in order.
fn count_sorted(segment_ids: &Tensor) -> Result<usize> {
    let Some(position) = moves::first_descent(segment_ids) else {
        let last = segment_ids.len().checked_sub(1);
        return Ok(last.map_or(0, |i| moves::index_at(segment_ids, i) as usize + 1));
    };
    let id = moves::index_at(segment_ids, position);
    let message = if id < 0 && position == 0 {
        format!("must not be negative, got {id} at position 0")
    } else {
        let before = moves::index_at(segment_ids, position - 1);
        format!("must be in ascending order, got {id} after {before} at position {position}")
    };
    Err(Error::invalid(message).argument("segment_ids"))
}

fn infer_sorted(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_rank(cx, 1, 1, "segment_ids")?;
    let Some(data) = cx.shape(0).dims() else { return one(like(cx, 0, Shape::UNRANKED)) };
    let rows = cx.shape(1).dims().map_or(Dim::Unknown, |d| d[0]);
    match data.split_first() {
        Some((first, rest)) if first.compatible(rows) => {
            let n = match cx.values.constant(1) {
                Some(ids) => Dim::Known(count_sorted(&ids)?),
                None => Dim::Unknown,
            };
            one(like(cx, 0, Shape::new(std::iter::once(&n).chain(rest).copied())))
        }
        _ => Err(unlike(cx.shape(1), cx.shape(0))),
    }
}

fn unlike(ids: &Shape, data: &Shape) -> Error {
    Error::invalid(format!("must have an entry for each of the first dimension of 'data', of shape {data}, got {ids}"))
        .argument("segment_ids")
}

fn run_sorted(call: &mut Call<'_>, how: (Reduce, Empty)) -> Result<()> {
    let (x, ids) = (call.inputs[0], call.inputs[1]);
    let fits = ids.rank() == 1 && x.dims().first() == ids.dims().first();
    if !fits {
        return Err(unlike(&Shape::known(ids.dims()), &Shape::known(x.dims())));
    }
    if call.env.kernels().is_some() && groups::segments_by_device(call, how, x, ids)? {
        return Ok(());
    }
    let n = count_sorted(ids)?;
    let dims: Dims = std::iter::once(n).chain(x.dims()[1..].iter().copied()).collect();
    let width = x.dims()[1..].iter().product();
    moves::segment_reduce(call, how, x, (ids, true), [1, 1, n, width], &dims).map_err(explain(ids, n, "segment_ids"))
}

fn sorted_samples(dtypes: DTypeSet) -> Vec<Sample> {
    let each = dtypes.iter().map(|d| tensor(d, &[4], DISTINCT));
    let mut out: Vec<Sample> = each.map(|x| Sample::new(vec![x, i32s(&[0, 0, 2, 2])])).collect();
    out.push(Sample::new(vec![f64s(&[3, 2]), i64s(&[0, 1, 1])]));
    out.push(Sample::new(vec![f64s(&[1, 2, 2]), i64s(&[3])]));
    out.push(Sample::new(vec![f64s(&[0, 2]), i32s(&[])]));
    out.push(Sample::new(vec![f64s(&[2, 0]), i32s(&[0, 1])]));
    out
}

/// How often integers occur.
pub static BINCOUNT: OpDef = OpDef {
    name: "bincount",
    tf_name: "DenseBincount",
    doc: "How often each integer from 0 occurs in `arr`, or in each of its rows where `rows` is true, `int64`.\n\n\
          The last extent of the result is one more than the greatest integer, but not less than `minlength`, nor more than \
          `maxlength` unless that is negative; integers beyond are left out.\n\n\
          Errors: `InvalidArgument` for a negative integer, or `rows` of what is no matrix.",
    dtypes: &[DTypeVar::new("T", DTypeSet::INTEGER)],
    operands: &[arg("arr"), index_arg("minlength"), index_arg("maxlength")],
    attrs: &[AttrDef::flag("rows", false)],
    effects: &[],
    infer: |cx| {
        if cx.attrs.flag(0) {
            require_rank(cx, 0, 2, "arr")?;
        }
        let rows = cx.attrs.flag(0).then(|| cx.shape(0).dims().map_or(Dim::Unknown, |d| d[0]));
        let bound = |i: usize| match cx.values.constant(i)?.to_ints().ok()?[..] {
            [n] => usize::try_from(n).ok(),
            _ => None,
        };
        let length = match (bound(1), bound(2)) {
            (Some(least), Some(most)) if least >= most => Dim::Known(most),
            _ => Dim::Unknown,
        };
        one(Type::tensor(DType::I64, Shape::new(rows.into_iter().chain([length]))))
    },
    cpu: Cpu::Kernel(run_bincount),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let of = |x: Tensor, least: i64, most: i64| Sample::new(vec![x, Tensor::scalar(least), Tensor::scalar(most)]);
        let values = &[2.0, 0.0, 5.0, 2.0, 2.0, 1.0];
        let mut out: Vec<Sample> = DTypeSet::INTEGER.iter().map(|d| of(tensor(d, &[6], values), 0, -1)).collect();
        for (dims, least, most) in
            [(&[6][..], 9, -1), (&[6], 0, 3), (&[6], 4, 2), (&[0], 0, -1), (&[0], 2, -1), (&[], 0, -1)]
        {
            out.push(of(tensor(DType::I32, dims, values), least, most));
        }
        for dims in [&[2, 3][..], &[3, 0], &[0, 3]] {
            out.push(of(tensor(DType::I64, dims, values), 0, -1).with("rows", true));
        }
        out
    },
};

fn run_bincount(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    if call.attrs.flag(0) && x.rank() != 2 {
        return Err(Error::invalid(format!("expected a matrix, got rank {}", x.rank())).argument("arr"));
    }
    let least = size(int_scalar(call.inputs[1], "minlength")?, "minlength")?;
    let most = int_scalar(call.inputs[2], "maxlength")?;
    let range = range_of(call, x)?;
    if let Some((low, _)) = range.filter(|r| r.0 < 0) {
        return Err(Error::invalid(format!("must not be negative, got {low}")).argument("arr"));
    }
    let length = range.map_or(0, |(_, high)| (high as usize).saturating_add(1)).max(least);
    let length = usize::try_from(most).map_or(length, |most| length.min(most));
    let rows = call.attrs.flag(0).then(|| x.dims()[0]);
    let dims: Dims = rows.into_iter().chain([length]).collect();
    if let Some(device) = call.env.kernels() {
        let n = x.len() / rows.unwrap_or(1).max(1);
        // SAFETY: `x` is rows of `n` integers, and the result has `length` numbers for each.
        if let Some(made) = unsafe { device.count_values(x, n, length, &dims) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let out = call.out(0, DType::I64, &dims)?;
    let rows = rows.unwrap_or(1);
    // SAFETY: `x` is rows of as many integers; `out` is a fresh array of `length` numbers for each.
    unsafe { positions::bin_counts(x.dtype(), x.as_ptr(), [rows, x.len() / rows.max(1)], length, out.cast()) };
    Ok(())
}

/// The least and the greatest of integers, found by the device where they lie there alone.
fn range_of(call: &Call<'_>, x: &Tensor) -> Result<Option<(i64, i64)>> {
    // SAFETY: the memory of a tensor is readable and aligned.
    let of = |x: &Tensor| unsafe { positions::range_of(x.dtype(), x.as_ptr(), x.len()) };
    let found = match call.env.kernels() {
        Some(device) => groups::bounds(device, x)?,
        None => None,
    };
    Ok(match found {
        Some([least, greatest]) => of(&least).zip(of(&greatest)).map(|(low, high)| (low.0, high.1)),
        None => of(x),
    })
}

/// The cotangent of `data`, of the tape and the result's cotangent.
type SegmentGrad = for<'t> fn(&'t Tape<'_>, Ex<'t>) -> Ex<'t>;

fn segment_rule(cx: &mut VjpCx<'_>, f: SegmentGrad) -> Result<Cotangents> {
    rule(cx, |t| {
        let mut out = smallvec![t.needed[0].then(|| f(t, t.g()))];
        out.resize(t.len(), None);
        out
    })
}

/// What the entries of each segment get of an entry by segment; 0 for entries that were dropped.
fn spread<'t>(t: &'t Tape<'_>, v: Ex<'t>) -> Ex<'t> {
    v.emit(&GATHER, &[t.x(1)], &[("drop_negative", true.into())])
}

/// The number of segments of the instruction.
fn segments<'t>(t: &'t Tape<'_>) -> Ex<'t> {
    if t.len() > 2 { t.x(2) } else { t.y(0).extents().emit(&GATHER, &[t.y(0).int(0)], &[]) }
}

/// The sums of entries by the instruction's segments.
fn total<'t>(t: &'t Tape<'_>, v: Ex<'t>) -> Ex<'t> {
    v.emit(&UNSORTED_SEGMENT_SUM, &[t.x(1), segments(t)], &[])
}

fn at_least_one(v: Ex<'_>) -> Ex<'_> {
    if v.dtype().is_complex() {
        v.number(1.0).or(v.is_number(&EQUAL, 0.0), v)
    } else {
        v.emit(&MAXIMUM, &[v.number(1.0)], &[])
    }
}

fn sum_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>) -> Ex<'t> {
    spread(t, g)
}

fn mean_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>) -> Ex<'t> {
    let ones = t.x(0).then(&crate::array::ONES_LIKE);
    spread(t, g / at_least_one(total(t, ones)))
}

fn extremum_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>) -> Ex<'t> {
    let x = t.x(0);
    let hit = x.is(&EQUAL, spread(t, t.y(0))).cast(x.dtype());
    hit * spread(t, g / at_least_one(total(t, hit)))
}

/// Each entry's is the product of all others of its segment, which is found without dividing by 0.
fn prod_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>) -> Ex<'t> {
    let x = t.x(0);
    let zero = x.is_number(&EQUAL, 0.0);
    let zeros = total(t, zero.cast(x.dtype()));
    let real = if x.dtype().is_complex() { zeros.then(&crate::unary::REAL) } else { zeros };
    let g = g.number(0.0).or(real.is_number(&GREATER, 1.0), g);
    let safe = x.number(1.0).or(zero, x);
    let product = safe.emit(&UNSORTED_SEGMENT_PROD, &[t.x(1), segments(t)], &[]);
    let others = spread(t, product).or(zero, spread(t, t.y(0)) / safe);
    spread(t, g) * others.conj()
}
