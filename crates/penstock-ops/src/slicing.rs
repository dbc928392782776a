//! Slices: boxes of an array by begin, end and stride, with TensorFlow's masks, and what puts them back.

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor, check_rank};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, Cuts, DTypeVar, Elements, Fails, Fold,
    InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Vjp, VjpCx, arg,
};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::elements;
use crate::moves::{self, Window, moving};
use crate::operands::{
    described_shape, index_arg, int_vector, known_dims, known_ints, like, require_rank, shape_of, sizes_of,
};
use crate::sample_arrays::{each_kind, f64s, i32s, i64s, kinds};
use crate::shape_ops::ANY;
use crate::util::{PROMISE, one};

const fn mask(name: &'static str) -> AttrDef {
    AttrDef::new(name, AttrKind::Int, AttrDefault::Int(0))
}

pub(crate) const MASKS: &[AttrDef] =
    &[mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask")];

/// The five masks: bit `i` speaks of entry `i` of the specification.
#[derive(Clone, Copy)]
struct Masks {
    begin: u64,
    end: u64,
    ellipsis: u64,
    new_axis: u64,
    shrink: u64,
}

impl Masks {
    fn of(attrs: &Attrs) -> Masks {
        let bits = |i| attrs.int(i) as u64;
        Masks { begin: bits(0), end: bits(1), ellipsis: bits(2), new_axis: bits(3), shrink: bits(4) }
    }
}

/// One entry of a specification; `None` where the value is not known.
#[derive(Clone, Copy)]
struct Entry {
    begin: Option<i64>,
    end: Option<i64>,
    stride: Option<i64>,
}

/// What a specification says of one dimension of the array.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cut {
    /// The first index, where it is known.
    begin: Option<i64>,
    /// From one index to the next, where it is known.
    stride: Option<i64>,
    /// The number of indices.
    count: Dim,
    /// Whether the result lacks the dimension.
    shrink: bool,
}

/// What becomes of an array: its cuts by dimension, and the dimensions of the result.
struct Plan {
    cuts: SmallVec<[Cut; 4]>,
    dims: SmallVec<[Dim; 4]>,
}

/// Bit `i` of a mask; entries beyond the width of a mask have none.
fn bit(mask: u64, i: usize) -> bool {
    i < 64 && mask >> i & 1 == 1
}

/// Reads a specification against the dimensions of an array.
///
/// # Errors
/// `InvalidArgument` for a malformed specification, `IndexOutOfBounds` for an index that is not there.
fn plan(dims: &[Dim], spec: &[Entry], masks: Masks) -> Result<Plan> {
    let consumed = |i: usize| !bit(masks.ellipsis, i) && !bit(masks.new_axis, i);
    let used = (0..spec.len()).filter(|&i| consumed(i)).count();
    if masks.ellipsis.count_ones() > 1 {
        return Err(Error::invalid("more than one ellipsis in a slice").argument("ellipsis_mask"));
    }
    let Some(spread) = dims.len().checked_sub(used) else {
        return Err(Error::invalid(format!("{used} indices for {} dimension(s)", dims.len())).argument("begin"));
    };
    let mut out = Plan { cuts: SmallVec::new(), dims: SmallVec::new() };
    let whole = |d: Dim| Cut { begin: Some(0), stride: Some(1), count: d, shrink: false };
    let keep_all = |out: &mut Plan, n: usize| {
        for _ in 0..n {
            let d = dims[out.cuts.len()];
            out.cuts.push(whole(d));
            out.dims.push(d);
        }
    };
    let mut spread_left = Some(spread);
    for (i, entry) in spec.iter().enumerate() {
        if bit(masks.ellipsis, i) {
            keep_all(&mut out, spread_left.take().unwrap_or(0));
        } else if bit(masks.new_axis, i) {
            out.dims.push(Dim::Known(1));
        } else {
            let k = out.cuts.len();
            let cut = cut(dims[k], k, *entry, bit(masks.begin, i), bit(masks.end, i), bit(masks.shrink, i))?;
            if !cut.shrink {
                out.dims.push(cut.count);
            }
            out.cuts.push(cut);
        }
    }
    keep_all(&mut out, spread_left.unwrap_or(0));
    Ok(out)
}

/// Reads one entry against dimension `k`.
fn cut(dim: Dim, k: usize, entry: Entry, all_begin: bool, all_end: bool, shrink: bool) -> Result<Cut> {
    if entry.stride == Some(0) {
        return Err(Error::invalid(format!("the stride of dimension {k} is 0")).argument("strides"));
    }
    let n = dim.known().and_then(|n| i64::try_from(n).ok());
    if shrink {
        if entry.stride.is_some_and(|s| s < 0) {
            return Err(
                Error::invalid(format!("the single index of dimension {k} has a negative stride")).argument("strides")
            );
        }
        let begin = match (entry.begin, n) {
            (Some(at), Some(n)) => {
                let index = if at < 0 { at.saturating_add(n) } else { at };
                if !(0..n).contains(&index) {
                    return Err(Error::index(format!("slice index {at} of dimension {k} out of bounds")));
                }
                Some(index)
            }
            _ => None,
        };
        return Ok(Cut { begin, stride: Some(1), count: Dim::Known(1), shrink });
    }
    let stride = entry.stride;
    if all_begin && all_end && (stride == Some(1) || stride == Some(-1)) {
        let begin = if stride == Some(1) { Some(0) } else { n.map(|n| n - 1) };
        return Ok(Cut { begin, stride, count: dim, shrink });
    }
    let (Some(n), Some(step)) = (n, stride) else {
        return Ok(Cut { begin: None, stride, count: Dim::Unknown, shrink });
    };
    // Where a walk in this direction may stand, its end included.
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let canonical = |at: i64| (if at < 0 { at.saturating_add(n) } else { at }).clamp(low, high);
    let begin = if all_begin { Some(if step > 0 { low } else { high }) } else { entry.begin.map(canonical) };
    let end = if all_end { Some(if step > 0 { high } else { low }) } else { entry.end.map(canonical) };
    let count = match (begin, end) {
        (Some(begin), Some(end)) => {
            let span = if step > 0 { end - begin } else { begin - end };
            let count = if span <= 0 { 0 } else { (span as u64 - 1) / step.unsigned_abs() + 1 };
            Dim::Known(count as usize)
        }
        _ if n == 0 => Dim::Known(0),
        _ => Dim::Unknown,
    };
    Ok(Cut { begin, stride, count, shrink })
}

/// The specification that operands `at..at + 3` hold, as far as it is known; `None` where not even its length is.
///
/// # Errors
/// `InvalidArgument` where the operands are no vectors of one length.
fn described_spec(cx: &InferCx<'_>, at: usize) -> Result<Option<SmallVec<[Entry; 6]>>> {
    let mut len: Option<usize> = None;
    for (i, name) in ["begin", "end", "strides"].into_iter().enumerate() {
        require_rank(cx, at + i, 1, name)?;
        let Some(n) = cx.shape(at + i).extents() else { continue };
        check_length(name, n[0], *len.get_or_insert(n[0]))?;
    }
    let Some(len) = len else { return Ok(None) };
    check_rank(len)?;
    let of =
        |i: usize| known_ints(cx, at + i).filter(|v| v.len() == len).unwrap_or_else(|| SmallVec::from_elem(None, len));
    let (begin, end, stride) = (of(0), of(1), of(2));
    Ok(Some((0..len).map(|i| Entry { begin: begin[i], end: end[i], stride: stride[i] }).collect()))
}

fn check_length(name: &str, got: usize, due: usize) -> Result<()> {
    if got == due {
        return Ok(());
    }
    Err(Error::invalid(format!("has {got} entries, 'begin' has {due}")).argument(name))
}

/// The specification that three tensors hold.
fn spec_of(begin: &Tensor, end: &Tensor, strides: &Tensor) -> Result<SmallVec<[Entry; 6]>> {
    let begin = int_vector(begin, "begin")?;
    let end = int_vector(end, "end")?;
    let strides = int_vector(strides, "strides")?;
    check_length("end", end.len(), begin.len())?;
    check_length("strides", strides.len(), begin.len())?;
    let some = |v: &[i64], i: usize| Some(v[i]);
    Ok((0..begin.len())
        .map(|i| Entry { begin: some(&begin, i), end: some(&end, i), stride: some(&strides, i) })
        .collect())
}

/// A plan with everything known, as extents.
struct Exact {
    begin: Dims,
    step: SmallVec<[isize; 4]>,
    counts: Dims,
    dims: Dims,
}

impl Exact {
    fn new(dims: &[usize], spec: &[Entry], masks: Masks) -> Result<Exact> {
        let plan = plan(&known_dims(dims), spec, masks)?;
        let known = |d: &Dim| d.known().unwrap_or(0);
        Ok(Exact {
            // An empty cut may begin outside.
            begin: plan.cuts.iter().map(|c| usize::try_from(c.begin.unwrap_or(0)).unwrap_or(0)).collect(),
            // A stride that is never taken may be anything.
            step: plan
                .cuts
                .iter()
                .map(|c| if known(&c.count) > 1 { c.stride.unwrap_or(1) as isize } else { 1 })
                .collect(),
            counts: plan.cuts.iter().map(|c| known(&c.count)).collect(),
            dims: plan.dims.iter().map(known).collect(),
        })
    }

    fn window(&self) -> Window<'_> {
        Window { begin: &self.begin, step: &self.step, counts: &self.counts }
    }

    /// The rows `start .. start + count` of the first dimension that the slice takes, where it takes only whole rows.
    fn rows_of(&self, dims: &[usize]) -> Option<(usize, usize)> {
        let whole = |k: usize| self.begin[k] == 0 && self.step[k] == 1 && self.counts[k] == dims[k];
        let (&begin, &count) = (self.begin.first()?, self.counts.first()?);
        let consecutive = self.step[0] == 1 || count <= 1;
        ((1..dims.len()).all(whole) && consecutive && begin + count <= dims[0]).then_some((begin, count))
    }
}

fn cuts(exact: &Exact) -> Cuts {
    (0..exact.counts.len()).map(|i| (exact.begin[i], exact.step[i], exact.counts[i])).collect()
}

/// What a `strided_slice` takes of an array of these extents; `None` for what it would refuse.
pub fn strided_box(dims: &[usize], constants: &[&Tensor], attrs: &Attrs) -> Option<Cuts> {
    let [begin, end, strides] = constants else { return None };
    Some(cuts(&Exact::new(dims, &spec_of(begin, end, strides).ok()?, Masks::of(attrs)).ok()?))
}

fn slice_box(dims: &[usize], constants: &[&Tensor], _: &Attrs) -> Option<Cuts> {
    let [begin, size] = constants else { return None };
    Some(cuts(&boxed(dims, &int_vector(begin, "begin").ok()?, &int_vector(size, "size").ok()?).ok()?))
}

/// A box of an array, by Python's rules of slicing.
pub static STRIDED_SLICE: OpDef = OpDef {
    name: "strided_slice",
    tf_name: "StridedSlice",
    doc: "`x[begin[0]:end[0]:strides[0], …]` by Python's rules: negative indices count from the end, ranges are clamped.\n\n\
          `begin`, `end` and `strides` are integer vectors of one length, with an entry for each item of the subscript. Bit \
          `i` of a mask changes entry `i`: in `begin_mask` or `end_mask` the range is open on that side; in `ellipsis_mask` the \
          entry is `...`, in `new_axis_mask` a new dimension of size 1, in `shrink_axis_mask` the single index `begin[i]`, whose \
          dimension the result lacks. Dimensions without an entry are kept whole. A slice of whole rows shares the data of \
          `x`. Raises IndexOutOfBounds for a single index that is not there, InvalidArgument for a stride of 0 and for too many \
          indices.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("begin"), index_arg("end"), index_arg("strides")],
    attrs: MASKS,
    effects: &[],
    infer: |cx| {
        let masks = Masks::of(cx.attrs);
        let shape = match (cx.shape(0).dims(), described_spec(cx, 1)?) {
            (Some(dims), Some(spec)) => Shape::new(plan(dims, &spec, masks)?.dims),
            _ => Shape::UNRANKED,
        };
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let spec = spec_of(call.inputs[1], call.inputs[2], call.inputs[3])?;
        let exact = Exact::new(x.dims(), &spec, Masks::of(call.attrs))?;
        if let Some((start, count)) = exact.rows_of(x.dims()).filter(|_| x.remote().is_none()) {
            call.set(0, x.rows(start, count)?.reshaped(&exact.dims)?);
            return Ok(());
        }
        if x.dtype() != DType::Str {
            return moves::slice(call, 0, x, &exact.window(), &exact.dims);
        }
        moving(call, |call| {
            let x = call.inputs[0];
            let spec = spec_of(call.inputs[1], call.inputs[2], call.inputs[3])?;
            let exact = Exact::new(x.dims(), &spec, Masks::of(call.attrs))?;
            moves::slice(call, 0, x, &exact.window(), &exact.dims)
        })
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let shape = shape_of(cx, cx.inputs[0])?;
        let operands = [shape, cx.inputs[1], cx.inputs[2], cx.inputs[3], g];
        let dx = cx.emit.emit_attrs(&STRIDED_SLICE_GRAD, &operands, cx.attrs.clone())?[0];
        Ok(smallvec![Some(dx), None, None, None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::strided_slice),
    rows: Rows::Box(strided_box),
    elements: Elements::Rule(elements::strided_slice),
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnOperands(&[1, 2, 3]),
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: strided_slice_samples,
};

fn strided_slice_samples() -> Vec<Sample> {
    let mut out = each_kind(&[3, 4], &[i32s(&[0, 3]), i32s(&[2, -5]), i32s(&[1, -2])]);
    let mut add = |dims: &[usize], begin: &[i64], end: &[i64], strides: &[i64], masks: [i64; 5]| {
        let mut sample = Sample::new(vec![f64s(dims), i64s(begin), i64s(end), i64s(strides)]);
        for (def, mask) in MASKS.iter().zip(masks) {
            sample = sample.with(def.name, mask);
        }
        out.push(sample);
    };
    add(&[], &[], &[], &[], [0; 5]);
    add(&[], &[0], &[0], &[1], [0, 0, 0, 1, 0]);
    add(&[1], &[-1], &[0], &[1], [0, 0, 0, 0, 1]);
    add(&[0], &[0], &[0], &[1], [1, 1, 0, 0, 0]);
    add(&[5], &[1], &[4], &[1], [0; 5]);
    add(&[5], &[-1], &[0], &[-2], [0, 1, 0, 0, 0]);
    add(&[5], &[7], &[-9], &[-1], [0; 5]);
    add(&[5], &[3], &[1], &[1], [0; 5]);
    add(&[2, 3, 4], &[0, 0, 1], &[0, 0, 3], &[1, 1, 1], [0, 0, 1, 2, 0]);
    add(&[2, 3, 4], &[1, 0, -1], &[0, 0, 0], &[1, 1, 1], [0, 0, 2, 0, 5]);
    add(&[2, 3, 4], &[0, 0, 0], &[0, 0, 0], &[1, -1, 2], [7, 7, 0, 0, 0]);
    out
}

/// The elements of a slice, put back among zeros.
pub static STRIDED_SLICE_GRAD: OpDef = OpDef {
    name: "strided_slice_grad",
    tf_name: "StridedSliceGrad",
    doc: "Zeros of the extents `shape`, with `dy` where `strided_slice` with the same specification would have read.",
    dtypes: ANY,
    operands: &[index_arg("shape"), index_arg("begin"), index_arg("end"), index_arg("strides"), arg("dy")],
    attrs: MASKS,
    effects: &[],
    infer: infer_strided_slice_grad,
    cpu: Cpu::Kernel(|call| moving(call, run_strided_slice_grad)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let operands = [g, cx.inputs[1], cx.inputs[2], cx.inputs[3]];
        let dy = cx.emit.emit_attrs(&STRIDED_SLICE, &operands, cx.attrs.clone())?[0];
        Ok(smallvec![None, None, None, None, Some(dy)])
    }),
    jvp: Jvp::Linear(&[4]),
    batch: Batch::Rule(batch_rules::strided_slice_grad),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnOperands(&[0, 1, 2, 3]),
    fold: Fold::Never("it would store the zeros"),
    promise: PROMISE,
    samples: || {
        let of = |dy: Tensor, shape: &[i32], begin: &[i32], end: &[i32], strides: &[i32]| {
            Sample::new(vec![i32s(shape), i32s(begin), i32s(end), i32s(strides), dy])
        };
        let mut out: Vec<Sample> =
            kinds(&[2, 2]).into_iter().map(|dy| of(dy, &[3, 4], &[0, 3], &[2, -5], &[1, -2])).collect();
        out.push(of(f64s(&[]), &[], &[], &[], &[]));
        out.push(of(f64s(&[4]), &[2, 4], &[-1], &[0], &[1]).with("shrink_axis_mask", 1));
        out.push(of(f64s(&[0]), &[5], &[3], &[1], &[1]));
        out
    },
};

/// Adds where a `strided_slice` has read.
pub static STRIDED_SLICE_ACCUMULATE: OpDef = OpDef {
    name: "strided_slice_accumulate",
    tf_name: "StridedSliceAccumulate",
    doc: "`x` with `dy` added where `strided_slice` with the same specification would have read.\n\n\
          It is `x` plus `strided_slice_grad`, in time linear in `dy` where nobody else sees `x`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC)],
    operands: &[arg("x"), index_arg("begin"), index_arg("end"), index_arg("strides"), arg("dy")],
    attrs: MASKS,
    effects: &[],
    infer: |cx| {
        if let (Some(dims), Some(spec)) = (cx.shape(0).dims(), described_spec(cx, 1)?) {
            check_dy(&Shape::new(plan(dims, &spec, Masks::of(cx.attrs))?.dims), cx.shape(4))?;
        }
        one(like(cx, 0, cx.shape(0).clone()))
    },
    cpu: Cpu::Update(run_strided_slice_accumulate),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let operands = [g, cx.inputs[1], cx.inputs[2], cx.inputs[3]];
        let read = |cx: &mut VjpCx<'_>| cx.emit.emit_attrs(&STRIDED_SLICE, &operands, cx.attrs.clone());
        let dy = if cx.needed[4] { Some(read(cx)?[0]) } else { None };
        Ok(smallvec![cx.needed[0].then_some(g), None, None, None, dy])
    }),
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
        let of = |x: &[usize], dy: &[usize], begin: &[i32], end: &[i32], strides: &[i32]| {
            Sample::new(vec![f64s(x), i32s(begin), i32s(end), i32s(strides), f64s(dy)])
        };
        vec![
            of(&[3, 4], &[2, 2], &[0, 3], &[2, -5], &[1, -2]),
            of(&[], &[], &[], &[], &[]),
            of(&[2, 4], &[4], &[-1], &[0], &[1]).with("shrink_axis_mask", 1),
            of(&[5], &[0], &[3], &[1], &[1]),
        ]
    },
};

fn run_strided_slice_accumulate(call: &mut Call<'_>) -> Result<()> {
    let mut x = std::mem::take(&mut call.outputs[0]);
    let spec = spec_of(call.inputs[0], call.inputs[1], call.inputs[2])?;
    let exact = Exact::new(x.dims(), &spec, Masks::of(call.attrs))?;
    let dy = call.inputs[3];
    check_dy(&Shape::known(&exact.dims), &Shape::known(dy.dims()))?;
    let (mut old, mut sum) = ([Tensor::default()], Tensor::default());
    let mut read = Call { inputs: &[], attrs: call.attrs, outputs: &mut old, env: call.env };
    moves::slice(&mut read, 0, &x, &exact.window(), &exact.dims)?;
    crate::binary::add_into(call.env, &old[0], dy, &mut sum)?;
    if moves::replace(call, &x, &sum, &exact.window())? {
        return Ok(());
    }
    moves::own(&mut x)?;
    if !sum.is_empty() {
        moves::assign(&mut x, &sum, &exact.window());
    }
    call.set(0, x);
    Ok(())
}

fn infer_strided_slice_grad(cx: &InferCx<'_>) -> Result<OutTypes> {
    let shape = described_shape(cx, 0, "shape")?;
    if let (Some(dims), Some(spec)) = (shape.dims(), described_spec(cx, 1)?) {
        check_dy(&Shape::new(plan(dims, &spec, Masks::of(cx.attrs))?.dims), cx.shape(4))?;
    }
    one(like(cx, 4, shape))
}

fn check_dy(due: &Shape, got: &Shape) -> Result<()> {
    if due.compatible(got) {
        return Ok(());
    }
    Err(Error::invalid(format!("the slice has shape {due}, got {got}")).argument("dy"))
}

fn run_strided_slice_grad(call: &mut Call<'_>) -> Result<()> {
    let dims = sizes_of(call, 0, "shape")?;
    let spec = spec_of(call.inputs[1], call.inputs[2], call.inputs[3])?;
    let exact = Exact::new(&dims, &spec, Masks::of(call.attrs))?;
    let dy = call.inputs[4];
    check_dy(&Shape::known(&exact.dims), &Shape::known(dy.dims()))?;
    moves::embed(call, dy, &exact.window(), &dims).map_err(|e| e.argument("shape"))
}

/// A box of an array, by begin and size.
pub static SLICE: OpDef = OpDef {
    name: "slice",
    tf_name: "Slice",
    doc: "The `size[i]` elements of `x` from `begin[i]` on along each dimension `i`; all that follow where `size[i]` is -1.\n\n\
          `begin` and `size` are integer vectors with an entry for each dimension. A slice of whole rows shares the data of \
          `x`. Raises InvalidArgument where the box is not inside `x`.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("begin"), index_arg("size")],
    attrs: &[],
    effects: &[],
    infer: infer_slice,
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let exact = boxed(x.dims(), &int_vector(call.inputs[1], "begin")?, &int_vector(call.inputs[2], "size")?)?;
        if let Some((start, count)) = exact.rows_of(x.dims()).filter(|_| x.remote().is_none()) {
            call.set(0, x.rows(start, count)?);
            return Ok(());
        }
        moving(call, |call| {
            let x = call.inputs[0];
            let exact = boxed(x.dims(), &int_vector(call.inputs[1], "begin")?, &int_vector(call.inputs[2], "size")?)?;
            moves::slice(call, 0, x, &exact.window(), &exact.dims)
        })
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let shape = shape_of(cx, cx.inputs[0])?;
        Ok(smallvec![Some(cx.emit.emit(&SLICE_GRAD, &[shape, cx.inputs[1], g], &[])?), None, None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::slice),
    rows: Rows::Box(slice_box),
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnOperands(&[1, 2]),
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = each_kind(&[3, 4], &[i32s(&[1, 0]), i32s(&[2, 3])]);
        for (dims, begin, size) in [
            (&[][..], &[][..], &[][..]),
            (&[0], &[0], &[0]),
            (&[1], &[0], &[1]),
            (&[5], &[2], &[-1]),
            (&[5], &[5], &[-1]),
            (&[4, 2], &[1, 0], &[2, -1]),
            (&[2, 3, 2], &[0, 1, 1], &[-1, 2, 1]),
        ] {
            out.push(Sample::new(vec![f64s(dims), i64s(begin), i64s(size)]));
        }
        out
    },
};

fn infer_slice(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_rank(cx, 1, 1, "begin")?;
    require_rank(cx, 2, 1, "size")?;
    let exact = (cx.values.constant(1), cx.values.constant(2), cx.shape(0).extents());
    if let (Some(begin), Some(size), Some(dims)) = exact {
        let exact = boxed(&dims, &int_vector(&begin, "begin")?, &int_vector(&size, "size")?)?;
        return one(like(cx, 0, Shape::known(&exact.dims)));
    }
    let rank = cx.shape(0).rank().or_else(|| cx.shape(1).extents().map(|n| n[0]));
    let rank = rank.or_else(|| cx.shape(2).extents().map(|n| n[0]));
    let Some(rank) = rank else { return one(like(cx, 0, Shape::UNRANKED)) };
    check_rank(rank)?;
    for (i, name) in [(1, "begin"), (2, "size")] {
        if let Some(n) = cx.shape(i).extents() {
            check_entries(n[0], rank, name)?;
        }
    }
    // A size of -1 reads as unknown among dimensions.
    let sizes = cx.values.dims(2).filter(|d| d.len() == rank);
    let sizes = sizes.unwrap_or_else(|| SmallVec::from_elem(Dim::Unknown, rank));
    let rest = cx.values.constant(2).and_then(|t| t.to_ints().ok()).filter(|v| v.len() == rank);
    let begin = known_ints(cx, 1).filter(|v| v.len() == rank);
    let dims = (0..rank).map(|i| {
        let dim = cx.shape(0).dims().map_or(Dim::Unknown, |d| d[i]);
        let begin = begin.as_ref().and_then(|b| b[i]);
        match (&rest, dim, begin) {
            (Some(sizes), dim, Some(0)) if sizes[i] == -1 => dim,
            (Some(sizes), Dim::Known(n), Some(b)) if sizes[i] == -1 => {
                usize::try_from(b).ok().and_then(|b| n.checked_sub(b)).map_or(Dim::Unknown, Dim::Known)
            }
            _ => sizes[i],
        }
    });
    one(like(cx, 0, Shape::new(dims)))
}

fn check_entries(got: usize, rank: usize, name: &str) -> Result<()> {
    if got == rank {
        return Ok(());
    }
    Err(Error::invalid(format!("has {got} entries for {rank} dimension(s)")).argument(name))
}

/// A box by begin and size.
fn boxed(dims: &[usize], begin: &[i64], size: &[i64]) -> Result<Exact> {
    check_entries(begin.len(), dims.len(), "begin")?;
    check_entries(size.len(), dims.len(), "size")?;
    let mut exact =
        Exact { begin: Dims::new(), step: SmallVec::from_elem(1, dims.len()), counts: Dims::new(), dims: Dims::new() };
    for i in 0..dims.len() {
        let first = usize::try_from(begin[i]).ok().filter(|&b| b <= dims[i]).ok_or_else(|| {
            Error::invalid(format!("expected begin[{i}] in [0, {}], got {}", dims[i], begin[i])).argument("begin")
        })?;
        let room = dims[i] - first;
        let count = if size[i] == -1 { Some(room) } else { usize::try_from(size[i]).ok().filter(|&n| n <= room) };
        exact.begin.push(first);
        exact.counts.push(count.ok_or_else(|| {
            Error::invalid(format!("expected size[{i}] in [0, {room}] or -1, got {}", size[i])).argument("size")
        })?);
    }
    exact.dims = exact.counts.clone();
    Ok(exact)
}

/// A box, put back among zeros.
pub static SLICE_GRAD: OpDef = OpDef {
    name: "slice_grad",
    tf_name: "SliceGrad",
    doc: "Zeros of the extents `shape`, with `dy` from `begin` on.\n\nRaises InvalidArgument where `dy` does not fit there.",
    dtypes: ANY,
    operands: &[index_arg("shape"), index_arg("begin"), arg("dy")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let shape = described_shape(cx, 0, "shape")?;
        require_rank(cx, 1, 1, "begin")?;
        let known = (shape.extents(), cx.values.constant(1), cx.shape(2).extents());
        if let (Some(dims), Some(begin), Some(dy)) = known {
            boxed(&dims, &int_vector(&begin, "begin")?, &extents_as_ints(&dy))?;
        }
        one(like(cx, 2, shape))
    },
    cpu: Cpu::Kernel(|call| moving(call, run_slice_grad)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let shape = shape_of(cx, cx.inputs[2])?;
        Ok(smallvec![None, None, Some(cx.emit.emit(&SLICE, &[g, cx.inputs[1], shape], &[])?)])
    }),
    jvp: Jvp::Linear(&[2]),
    batch: Batch::Rule(batch_rules::slice_grad),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnOperands(&[0, 1]),
    fold: Fold::Never("it would store the zeros"),
    promise: PROMISE,
    samples: || {
        let of = |dy: Tensor, shape: &[i32], begin: &[i64]| Sample::new(vec![i32s(shape), i64s(begin), dy]);
        let mut out: Vec<Sample> = kinds(&[2, 2]).into_iter().map(|dy| of(dy, &[3, 4], &[1, 2])).collect();
        out.extend([of(f64s(&[]), &[], &[]), of(f64s(&[0]), &[3], &[3]), of(f64s(&[1]), &[1], &[0])]);
        out
    },
};

fn extents_as_ints(dims: &[usize]) -> SmallVec<[i64; 6]> {
    dims.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect()
}

fn run_slice_grad(call: &mut Call<'_>) -> Result<()> {
    let dims = sizes_of(call, 0, "shape")?;
    let dy = call.inputs[2];
    let exact = boxed(&dims, &int_vector(call.inputs[1], "begin")?, &extents_as_ints(dy.dims()))?;
    moves::embed(call, dy, &exact.window(), &dims).map_err(|e| e.argument("shape"))
}

/// Checks the types of a write to a slice of operand 0: the specification and the value follow.
///
/// # Errors
/// As inference of [`STRIDED_SLICE`]; `InvalidArgument` where the value has not the extents of the slice.
pub(crate) fn check_slice_assign(cx: &InferCx<'_>) -> Result<()> {
    let spec = described_spec(cx, 1)?;
    if let (Some(dims), Some(spec)) = (cx.shape(0).dims(), spec) {
        check_value(&Shape::new(plan(dims, &spec, Masks::of(cx.attrs))?.dims), cx.shape(4))?;
    }
    Ok(())
}

fn check_value(due: &Shape, got: &Shape) -> Result<()> {
    if due.compatible(got) {
        return Ok(());
    }
    Err(Error::invalid(format!("the slice has shape {due}, the value {got}")).argument("value"))
}

/// Writes the last input to the slice of result 0 that the other inputs specify.
///
/// # Errors
/// As [`check_slice_assign`], and `DType` where the value has another dtype; nothing is written then.
pub(crate) fn run_slice_assign(call: &mut Call<'_>) -> Result<()> {
    let spec = spec_of(call.inputs[0], call.inputs[1], call.inputs[2])?;
    let exact = Exact::new(call.outputs[0].dims(), &spec, Masks::of(call.attrs))?;
    let value = call.inputs[3];
    crate::updates::check_dtype(call.outputs[0].dtype(), value.dtype(), "value")?;
    check_value(&Shape::known(&exact.dims), &Shape::known(value.dims()))?;
    moves::assign(&mut call.outputs[0], value, &exact.window());
    Ok(())
}
