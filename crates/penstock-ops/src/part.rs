//! The part of an array at single indices.

#![expect(unsafe_code, reason = "copies between tensors whose types are known ahead")]

use penstock_data::{DType, DTypeSet, Dims, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgType, Attrs, Batch, BoxCopy, Call, CopyDim, Cost, Cpu, Cuda, Elements, Fails, Fold, InferCx, Jvp, Known, OpDef,
    OutTypes, Resolved, Rest, Rows, Sample, Type, Vjp, arg, args_of,
};
use penstock_kernels::byte_copies::{MOST_BYTES, copy_run};
use smallvec::SmallVec;

use crate::gather::GATHER;
use crate::moves;
use crate::operands::{int_scalar, like, require_rank};
use crate::resolve;
use crate::sample_arrays::{f64s, kinds};
use crate::shape_ops::ANY;
use crate::util::{PROMISE, one};

/// Parts of more bytes share the data of the array; smaller ones are copied in less time than that takes.
const COPIED: usize = 1024;

/// What an array has at indices of its leading dimensions.
pub static PART: OpDef = OpDef {
    name: "part",
    tf_name: "Part",
    doc: "`x[indices[0], indices[1], …]`: what `x` has at scalar indices of its leading dimensions; negative ones count from \
          the end.\n\n\
          The optimiser makes it of a `strided_slice` that takes single indices alone. Raises IndexOutOfBounds for an index that is \
          not there, InvalidArgument for more indices than dimensions.",
    dtypes: ANY,
    operands: &[arg("x"), args_of("indices", ArgType::In(DTypeSet::INDEX))],
    attrs: &[],
    effects: &[],
    infer: infer_part,
    cpu: Cpu::Kernel(run_part),
    cuda: Cuda::Kernels,
    vjp: Vjp::NonDifferentiable("it is made by the optimiser, after differentiation"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(resolve_part),
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let of = |x: Tensor, indices: &[i32]| {
            Sample::new(std::iter::once(x).chain(indices.iter().map(|&i| Tensor::from(i))).collect())
        };
        let mut out: Vec<Sample> = kinds(&[3, 2]).into_iter().map(|x| of(x, &[-1])).collect();
        out.extend([of(f64s(&[]), &[]), of(f64s(&[1]), &[0]), of(f64s(&[2, 3, 4]), &[1, -3]), of(f64s(&[2, 0]), &[1])]);
        out.push(Sample::new(vec![f64s(&[4, 300]), Tensor::from(2i64)]));
        out.push(Sample::new(vec![f64s(&[4, 3]), Tensor::from(-4i64), Tensor::from(2i32)]));
        out
    },
};

/// Whether negative indices count from the end, where an instruction of an array and scalar indices is what the array has at
/// these; `None` for any other.
pub fn wraps(op: &OpDef, attrs: &Attrs) -> Option<bool> {
    // `axis`, `batch_dims` and `drop_negative`.
    let rows = || attrs.int(0) == 0 && attrs.int(1) == 0 && !attrs.flag(2);
    if op.is(&PART) { Some(true) } else { (op.is(&GATHER) && rows()).then_some(false) }
}

fn check_count(indices: usize, rank: usize) -> Result<()> {
    if indices <= rank {
        return Ok(());
    }
    Err(Error::invalid(format!("{indices} indices for {rank} dimension(s)")).argument("indices"))
}

fn infer_part(cx: &InferCx<'_>) -> Result<OutTypes> {
    let count = cx.inputs.len() - 1;
    (1..=count).try_for_each(|i| require_rank(cx, i, 0, "indices"))?;
    let Some(dims) = cx.shape(0).dims() else { return one(like(cx, 0, Shape::UNRANKED)) };
    check_count(count, dims.len())?;
    one(like(cx, 0, Shape::new(dims[count..].iter().copied())))
}

/// Resolves a part of few bytes; an index that is not there is left to the operator's own kernel.
pub(crate) fn resolve_part(
    op: &'static OpDef,
    attrs: &Attrs,
    operands: &[Known<'_>],
    results: &[Type],
) -> Option<Resolved> {
    if let Some(resolved) = resolve::moved(op, attrs, operands, results) {
        return Some(resolved);
    }
    let ([x, indices @ ..], [result]) = (operands, results) else { return None };
    let (dims, made, dtype) = (x.extents()?, result.shape().extents()?, result.dtype());
    let bytes = result.shape().num_elements()? * dtype.size();
    let leading = dims.get(..indices.len())?.to_vec();
    if indices.iter().any(|i| i.ty.dtype() != DType::I32) || !(1..=MOST_BYTES).contains(&bytes) {
        return None;
    }
    let run = move |call: &mut Call<'_>| {
        let out = call.out(0, dtype, &made)?;
        let mut at = Some(0);
        for (&n, index) in leading.iter().zip(&call.inputs[1..]) {
            let index = index.item::<i32>().map_or(i64::MIN, i64::from);
            let own = usize::try_from(if index < 0 { index + n as i64 } else { index }).ok().filter(|&i| i < n);
            at = at.zip(own).map(|(at, own)| at * n + own);
        }
        let Some(at) = at else { return run_part(call) };
        // SAFETY: the array has these extents, by its type, and the indices are inside of them; the result has memory of its own.
        unsafe { copy_run(call.inputs[0].as_ptr().add(at * bytes), out, bytes) };
        Ok(())
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}

fn run_part(call: &mut Call<'_>) -> Result<()> {
    let [x, indices @ ..] = call.inputs else { return Err(Error::internal("no array")) };
    check_count(indices.len(), x.rank())?;
    let (leading, rest) = x.dims().split_at(indices.len());
    let mut at = 0;
    for (k, (&n, index)) in leading.iter().zip(indices).enumerate() {
        let index = match index.dtype() {
            DType::I32 => index.item::<i32>().map(i64::from),
            _ => index.item::<i64>(),
        }
        .map_or_else(|| int_scalar(index, "indices"), Ok)?;
        let from_start = if index < 0 { index.saturating_add(n as i64) } else { index };
        let own = usize::try_from(from_start).ok().filter(|&i| i < n).ok_or_else(|| {
            // Users know the operator that this was made of.
            Error::index(format!("slice index {index} of dimension {k} out of bounds")).in_op("strided_slice")
        })?;
        at = at * n + own;
    }
    let width = rest.iter().product::<usize>();
    let copies = || {
        let dims = SmallVec::from_slice(&[CopyDim { extent: width, from: 1, to: 1 }]);
        [BoxCopy { source: x, from: at * width, to: 0, dims }]
    };
    if moves::by_device(call, 0, (x.dtype(), rest), Rest::None, copies)? {
        return Ok(());
    }
    let bytes = width * x.dtype().size();
    if x.dtype().size() > 0 && bytes <= COPIED {
        call.out(0, x.dtype(), rest)?;
        call.outputs[0].bytes_mut().copy_from_slice(&x.bytes()[at * bytes..][..bytes]);
        return Ok(());
    }
    let rows: Dims = std::iter::once(leading.iter().product()).chain(rest.iter().copied()).collect();
    call.set(0, x.reshaped(&rows)?.rows(at, 1)?.reshaped(rest)?);
    Ok(())
}
