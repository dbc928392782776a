//! Operators that read and write rows by index.

use penstock_data::{Bytes, DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cotangents, Cpu, Cuda, DTypeVar, Elements, Fails, Fold,
    InferCx, Jvp, NoEnv, OpDef, OutTypes, Rows, Sample, Type, Value, Vjp, VjpCx, arg,
};
use penstock_kernels::segment::Empty;
use penstock_kernels::{Binary, Reduce};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::binary::add_into;
use crate::grad::rule;
use crate::groups;
use crate::moves::{self, moving};
use crate::operands::{described_shape, described_size, index_arg, int_scalar, like, shape_of, size, sizes_of};
use crate::sample_arrays::{each_kind, f64s, i32_array, i32s, i64s, kinds};
use crate::samples::{LINE, tensor};
use crate::shape_ops::ANY;
use crate::util::{PROMISE, normalize_axis, one};

const NUMERIC: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::NUMERIC)];

const GATHER_ATTRS: &[AttrDef] = &[
    AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(0)),
    AttrDef::new("batch_dims", AttrKind::Int, AttrDefault::Int(0)),
    AttrDef::flag("drop_negative", false),
    AttrDef::flag("sparse_gradient", false),
];

/// How rows are added.
const SUM: (Reduce, Empty) = (Reduce::Sum, Empty::Zero);

/// The text of a position in an array of the given extents: `[0,1]`; nothing for a scalar.
pub(crate) fn position(dims: &[usize], mut at: usize) -> String {
    let mut index: Vec<String> = Vec::new();
    for &d in dims.iter().rev() {
        index.push((at % d.max(1)).to_string());
        at /= d.max(1);
    }
    index.reverse();
    if index.is_empty() { String::new() } else { format!("[{}]", index.join(",")) }
}

/// The error for an index that is outside of `0..n`.
fn not_in(indices: &Tensor, at: usize, n: usize, name: &str) -> Error {
    let index = indices.to_ints().map_or(0, |v| v[at]);
    Error::invalid(format!("{name}{} = {index} is not in [0, {n})", position(indices.dims(), at))).argument(name)
}

/// Unites the two ways in which a kernel over indices fails.
pub(crate) fn explain(indices: &Tensor, n: usize, name: &str) -> impl Fn(Result<usize>) -> Error {
    move |failure| match failure {
        Ok(at) => not_in(indices, at, n, name),
        Err(error) => error,
    }
}

/// `axis` and `batch_dims`, checked against the ranks.
fn axes(attrs: &Attrs, params: usize, indices: usize) -> Result<(usize, usize)> {
    let axis = normalize_axis(attrs.int(0), params, "axis")?;
    let given = attrs.int(1);
    let batch = if given < 0 { given + indices as i64 } else { given };
    let batch = usize::try_from(batch).ok().filter(|&b| b <= indices && b <= axis).ok_or_else(|| {
        Error::invalid(format!(
            "{given} is not in 0..={}, the lesser of 'axis' and the rank of 'indices'",
            indices.min(axis)
        ))
        .argument("batch_dims")
    })?;
    Ok((axis, batch))
}

/// The dimensions of a gather.
fn gathered(params: &[Dim], indices: &[Dim], attrs: &Attrs) -> Result<SmallVec<[Dim; 4]>> {
    let (axis, batch) = axes(attrs, params.len(), indices.len())?;
    let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
    for k in 0..batch {
        dims.push(params[k].merge(indices[k]).ok_or_else(|| {
            Error::invalid(format!("batch dimension {k} is {}, that of 'params' is {}", indices[k], params[k]))
                .argument("indices")
        })?);
    }
    dims.extend_from_slice(&params[batch..axis]);
    dims.extend_from_slice(&indices[batch..]);
    dims.extend_from_slice(&params[axis + 1..]);
    Ok(dims)
}

/// Rows by index.
pub static GATHER: OpDef = OpDef {
    name: "gather",
    tf_name: "GatherV2",
    doc: "The entries of `params` along `axis` that `indices` names.\n\n\
          The result has the extents `params[..axis] + indices[batch_dims..] + params[axis + 1..]`. The first `batch_dims` \
          dimensions of both operands are gone through together. With `drop_negative` a negative index gives zeros. Any other \
          index outside of the dimension raises InvalidArgument, which names the first and its position. With \
          `sparse_gradient` a tape may give the gradient of `params` as the rows that were read.",
    dtypes: ANY,
    operands: &[arg("params"), index_arg("indices")],
    attrs: GATHER_ATTRS,
    effects: &[],
    infer: |cx| {
        let shape = match (cx.shape(0).dims(), cx.shape(1).dims()) {
            (Some(params), Some(indices)) => Shape::new(gathered(params, indices, cx.attrs)?),
            _ => Shape::UNRANKED,
        };
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(|call| moving(call, run_gather)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let shape = shape_of(cx, cx.inputs[0])?;
        let dx = cx.emit.emit_attrs(&GATHER_GRAD, &[shape, cx.inputs[1], g], cx.attrs.clone())?[0];
        Ok(smallvec![Some(dx), None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::gather),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::gathered),
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = each_kind(&[3, 2], &[i32s(&[2, 0, 0, 1])]);
        let of =
            |dims: &[usize], shape: &[usize], indices: &[i32]| Sample::new(vec![f64s(dims), i32_array(shape, indices)]);
        out.push(Sample::new(vec![f64s(&[4]), Tensor::scalar(3i64)]));
        out.push(of(&[1], &[1, 1], &[0]));
        out.push(of(&[3], &[0], &[]));
        out.push(of(&[0, 2], &[0], &[]));
        out.push(of(&[3, 0], &[2], &[1, 2]));
        out.push(of(&[2, 3, 2], &[2, 2], &[0, 2, 1, 0]).with("axis", 1));
        out.push(of(&[2, 3, 2], &[3], &[1, 1, 0]).with("axis", -1));
        out.push(of(&[2, 3, 2], &[2, 2], &[0, 2, 1, 1]).with("axis", 1).with("batch_dims", 1));
        out.push(of(&[2, 3, 4], &[2, 2], &[0, 3, 1, 1]).with("axis", 2).with("batch_dims", -1));
        out.push(of(&[3, 2], &[3], &[-1, 2, -5]).with("drop_negative", true));
        out
    },
};

fn run_gather(call: &mut Call<'_>) -> Result<()> {
    let (x, indices) = (call.inputs[0], call.inputs[1]);
    let (axis, batch) = axes(call.attrs, x.rank(), indices.rank())?;
    let known = |t: &Tensor| crate::operands::known_dims(t.dims());
    let dims: Dims = gathered(&known(x), &known(indices), call.attrs)?.iter().filter_map(|d| d.known()).collect();
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let (n, bytes) = (x.dims()[axis], product(&x.dims()[axis + 1..]) * x.dtype().size());
    let blocks = [product(&x.dims()[..batch]), product(&x.dims()[batch..axis]), n, bytes];
    if !call.attrs.flag(2) {
        return moves::gather(call, x, indices, blocks, &dims).map_err(explain(indices, n, "indices"));
    }
    let ints = indices.to_ints()?;
    if ints.iter().all(|&i| i < 0) {
        call.out(0, x.dtype(), &dims)?;
        call.outputs[0].bytes_mut().fill(0);
        return Ok(());
    }
    let kept: SmallVec<[i64; 6]> = ints.iter().map(|&i| i.max(0)).collect();
    let kept = Tensor::from_slice(indices.dims(), &kept)?;
    // The rows to drop are overwritten below, in memory of the host.
    let mut on_host = Call { inputs: call.inputs, attrs: call.attrs, outputs: &mut *call.outputs, env: &NoEnv };
    moves::gather(&mut on_host, x, &kept, blocks, &dims).map_err(explain(indices, n, "indices"))?;
    let [batches, outer, ..] = blocks;
    let count = ints.len() / batches.max(1);
    if bytes > 0 {
        for (row, to) in call.outputs[0].bytes_mut().chunks_exact_mut(bytes).enumerate() {
            let (block, i) = (row / count, row % count);
            if ints[block / outer * count + i] < 0 {
                to.fill(0);
            }
        }
    }
    Ok(())
}

/// Rows, added by index.
pub static GATHER_GRAD: OpDef = OpDef {
    name: "gather_grad",
    tf_name: "GatherGrad",
    doc: "Zeros of the extents `shape`, with each entry of `dy` added where `gather` with the same `indices` and attributes \
          would have read it.\n\nEntries of one place are added in the order of `indices`.",
    dtypes: NUMERIC,
    operands: &[index_arg("shape"), index_arg("indices"), arg("dy")],
    attrs: GATHER_ATTRS,
    effects: &[],
    infer: |cx| {
        let shape = described_shape(cx, 0, "shape")?;
        if let (Some(params), Some(indices)) = (shape.dims(), cx.shape(1).dims()) {
            check_dy(&Shape::new(gathered(params, indices, cx.attrs)?), cx.shape(2))?;
        }
        one(like(cx, 2, shape))
    },
    cpu: Cpu::Kernel(run_gather_grad),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let dy = cx.emit.emit_attrs(&GATHER, &[g, cx.inputs[1]], cx.attrs.clone())?[0];
        Ok(smallvec![None, None, Some(dy)])
    }),
    jvp: Jvp::Linear(&[2]),
    batch: Batch::Rule(batch_rules::gather_grad),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let numeric = DTypeSet::NUMERIC.iter().map(|d| tensor(d, &[4, 2], LINE));
        let mut out: Vec<Sample> =
            numeric.map(|dy| Sample::new(vec![i32s(&[3, 2]), i32s(&[2, 0, 0, 1]), dy])).collect();
        let of = |shape: &[i32], dims: &[usize], indices: &[i32], dy: &[usize]| {
            Sample::new(vec![i32s(shape), i32_array(dims, indices), f64s(dy)])
        };
        out.push(of(&[3], &[], &[1], &[]));
        out.push(of(&[3], &[0], &[], &[0]));
        out.push(of(&[2, 3, 2], &[3], &[1, 1, 0], &[2, 3, 3]).with("axis", -1));
        out.push(of(&[2, 3, 2], &[2, 2], &[0, 2, 1, 1], &[2, 2, 2]).with("axis", 1).with("batch_dims", 1));
        out.push(of(&[3], &[3], &[-1, 2, 2], &[3]).with("drop_negative", true));
        out
    },
};

/// Adds where a `gather` has read.
pub static GATHER_ACCUMULATE: OpDef = OpDef {
    name: "gather_accumulate",
    tf_name: "GatherAccumulate",
    doc: "`x` with each entry of `dy` added where `gather` with the same `indices` and attributes would have read it.\n\n\
          It is `x` plus `gather_grad`, in time linear in `dy` where nobody else sees `x`, along the first dimension.",
    dtypes: NUMERIC,
    operands: &[arg("x"), index_arg("indices"), arg("dy")],
    attrs: GATHER_ATTRS,
    effects: &[],
    infer: |cx| {
        if let (Some(x), Some(indices)) = (cx.shape(0).dims(), cx.shape(1).dims()) {
            check_dy(&Shape::new(gathered(x, indices, cx.attrs)?), cx.shape(2))?;
        }
        one(like(cx, 0, cx.shape(0).clone()))
    },
    cpu: Cpu::Update(run_gather_accumulate),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let read = |cx: &mut VjpCx<'_>| cx.emit.emit_attrs(&GATHER, &[g, cx.inputs[1]], cx.attrs.clone());
        let dy = if cx.needed[2] { Some(read(cx)?[0]) } else { None };
        Ok(smallvec![cx.needed[0].then_some(g), None, dy])
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
        let of = |x: &[usize], dims: &[usize], indices: &[i32], dy: &[usize]| {
            Sample::new(vec![f64s(x), i32_array(dims, indices), f64s(dy)])
        };
        let mut out = vec![
            of(&[3, 2], &[4], &[2, 0, 0, 1], &[4, 2]),
            of(&[3], &[], &[1], &[]),
            of(&[3], &[0], &[], &[0]),
            of(&[0, 2], &[0], &[], &[0, 2]),
            of(&[2, 3, 2], &[3], &[1, 1, 0], &[2, 3, 3]).with("axis", -1),
            of(&[3], &[3], &[-1, 2, 2], &[3]).with("drop_negative", true),
        ];
        out.push(Sample::new(vec![
            tensor(DType::I32, &[3, 2], LINE),
            Tensor::scalar(1i64),
            tensor(DType::I32, &[2], LINE),
        ]));
        out
    },
};

fn run_gather_accumulate(call: &mut Call<'_>) -> Result<()> {
    let (indices, dy) = (call.inputs[0], call.inputs[1]);
    let dims = Dims::from(call.outputs[0].dims());
    let (axis, batch) = axes(call.attrs, dims.len(), indices.rank())?;
    if axis == 0 && batch == 0 && !call.attrs.flag(2) {
        let known = |dims: &[usize]| crate::operands::known_dims(dims);
        let due = gathered(&known(&dims), &known(indices.dims()), call.attrs)?;
        check_dy(&Shape::new(due), &Shape::known(dy.dims()))?;
        if call.env.kernels().is_some() {
            let x = call.outputs[0].clone();
            let made = groups::updated_by_device(call, Some(Binary::Add), &x, dy, indices, dims[0]);
            if made.map_err(explain(indices, dims[0], "indices"))? {
                return Ok(());
            }
        }
        moves::own(&mut call.outputs[0])?;
        return moves::scatter(call, Some(Binary::Add), dy, indices, dims[0])
            .map_err(|at| not_in(indices, at, dims[0], "indices"));
    }
    let shape = Tensor::vector(&dims.iter().map(|&d| d as i64).collect::<Vec<_>>());
    let (mut made, mut sum) = ([Tensor::default()], Tensor::default());
    let inputs = [&shape, indices, dy];
    run_gather_grad(&mut Call { inputs: &inputs, attrs: call.attrs, outputs: &mut made, env: call.env })?;
    add_into(call.env, &call.outputs[0], &made[0], &mut sum)?;
    call.set(0, sum);
    Ok(())
}

fn check_dy(due: &Shape, got: &Shape) -> Result<()> {
    if due.compatible(got) {
        return Ok(());
    }
    Err(Error::invalid(format!("expected shape {due}, got {got}")).argument("dy"))
}

fn run_gather_grad(call: &mut Call<'_>) -> Result<()> {
    let dims = sizes_of(call, 0, "shape")?;
    let (indices, dy) = (call.inputs[1], call.inputs[2]);
    let (axis, batch) = axes(call.attrs, dims.len(), indices.rank())?;
    let known = |dims: &[usize]| crate::operands::known_dims(dims);
    let due = gathered(&known(&dims), &known(indices.dims()), call.attrs)?;
    check_dy(&Shape::new(due), &Shape::known(dy.dims()))?;
    let n = dims[axis];
    if !call.attrs.flag(2)
        && let Some(at) = moves::first_outside(indices, n)
    {
        return Err(not_in(indices, at, n, "indices"));
    }
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let blocks = [product(&dims[..batch]), product(&dims[batch..axis]), n, product(&dims[axis + 1..])];
    moves::segment_reduce(call, SUM, dy, (indices, false), blocks, &dims).map_err(explain(indices, n, "indices"))
}

/// What rows of indices name in an array: the numbers of the rows that remain when the first `k`
/// dimensions are indexed, how many there are, and the extents of one.
struct RowIndex {
    rows: Tensor,
    n: usize,
    inner: Dims,
}

/// Reads the last dimension of `indices` as positions in the first dimensions of `dims`.
fn row_index(indices: &Tensor, dims: &[usize]) -> Result<RowIndex> {
    let k = depth(indices.dims(), dims.len())?;
    let (outer, inner) = dims.split_at(k);
    let leading = &indices.dims()[..indices.rank() - 1];
    let rows = moves::rows_named(indices, outer, leading.iter().product()).map_err(|failure| match failure {
        Ok(row) => {
            let index = indices.to_ints().map_or_else(|_| Vec::new(), |v| v[row * k..(row + 1) * k].to_vec());
            let at = position(leading, row);
            Error::invalid(format!("indices{at} = {index:?} does not index into shape {dims:?}")).argument("indices")
        }
        Err(error) => error,
    })?;
    Ok(RowIndex { rows, n: outer.iter().product(), inner: inner.into() })
}

/// The number of dimensions that rows of indices name.
fn depth(indices: &[usize], rank: usize) -> Result<usize> {
    let Some(&k) = indices.last() else {
        return Err(Error::invalid("expected at least a vector, got a scalar").argument("indices"));
    };
    if k <= rank {
        return Ok(k);
    }
    Err(Error::invalid(format!("name {k} dimensions of an array of {rank}")).argument("indices"))
}

/// What a read at `indices` gives; an unknown number of named dimensions gives an unknown rank.
fn named_shape(cx: &InferCx<'_>, params: &Shape, indices: usize) -> Result<Shape> {
    let Some(ind) = cx.shape(indices).dims() else { return Ok(Shape::UNRANKED) };
    let Some((last, outer)) = ind.split_last() else {
        return Err(Error::invalid("expected at least a vector, got a scalar").argument("indices"));
    };
    let (Some(params), Some(k)) = (params.dims(), last.known()) else { return Ok(Shape::UNRANKED) };
    depth(&[k], params.len())?;
    Ok(Shape::new(outer.iter().chain(&params[k..]).copied()))
}

/// Elements or slices by rows of indices.
pub static GATHER_ND: OpDef = OpDef {
    name: "gather_nd",
    tf_name: "GatherNd",
    doc: "The slices of `params` that the rows of `indices` name.\n\n\
          The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of `params`; the result has the \
          extents `indices[..-1] + params[k..]`. Raises InvalidArgument for a position that is not there.",
    dtypes: ANY,
    operands: &[arg("params"), index_arg("indices")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(like(cx, 0, named_shape(cx, cx.shape(0), 1)?)),
    cpu: Cpu::Kernel(|call| moving(call, run_gather_nd)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let shape = shape_of(cx, cx.inputs[0])?;
        Ok(smallvec![Some(cx.emit.emit(&SCATTER_ND, &[cx.inputs[1], g, shape], &[])?), None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::gather_nd),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out = each_kind(&[3, 2], &[i32_array(&[2, 2], &[2, 0, 0, 1])]);
        let of =
            |dims: &[usize], shape: &[usize], indices: &[i32]| Sample::new(vec![f64s(dims), i32_array(shape, indices)]);
        out.push(of(&[4], &[1], &[3]));
        out.push(of(&[3, 2], &[2, 1], &[2, 2]));
        out.push(of(&[3, 2], &[2, 0], &[]));
        out.push(of(&[3, 2], &[0, 2], &[]));
        out.push(of(&[2, 3, 2], &[2, 1, 2], &[1, 0, 0, 2]));
        out
    },
};

fn run_gather_nd(call: &mut Call<'_>) -> Result<()> {
    let (x, indices) = (call.inputs[0], call.inputs[1]);
    let RowIndex { rows, n, inner } = row_index(indices, x.dims())?;
    let dims: Dims = indices.dims()[..indices.rank() - 1].iter().chain(&inner).copied().collect();
    let bytes = inner.iter().product::<usize>() * x.dtype().size();
    moves::gather(call, x, &rows, [1, 1, n, bytes], &dims).map_err(explain(&rows, n, "indices"))
}

/// Checks that `updates` has the shape of what `indices` names in an array of shape `target`.
pub(crate) fn check_updates(cx: &InferCx<'_>, indices: usize, updates: usize, target: &Shape) -> Result<()> {
    let due = named_shape(cx, target, indices)?;
    if due.compatible(cx.shape(updates)) {
        return Ok(());
    }
    Err(Error::invalid(format!("the indices name slices of shape {due}, got {}", cx.shape(updates)))
        .argument("updates"))
}

/// Combines updates into result 0, whose contents are in place.
pub(crate) fn scatter_into(
    call: &mut Call<'_>,
    op: Option<Binary>,
    indices: &Tensor,
    updates: &Tensor,
    dims: &[usize],
) -> Result<()> {
    let RowIndex { rows, n, inner } = row_index(indices, dims)?;
    check_slices(indices, updates, &inner)?;
    moves::scatter(call, op, updates, &rows, n).map_err(|at| not_in(&rows, at, n, "indices"))
}

/// Has the device make result 0 zeros, to whose slices the updates are added; whether it has a kernel for it.
fn sums_by_device(call: &mut Call<'_>, indices: &Tensor, updates: &Tensor, dims: &[usize]) -> Result<bool> {
    let RowIndex { rows, n, inner } = row_index(indices, dims)?;
    check_slices(indices, updates, &inner)?;
    let extents = [1, n, inner.iter().product()];
    groups::sums_by_device(call, updates, &rows, extents, dims).map_err(explain(&rows, n, "indices"))
}

/// Slices, added by rows of indices.
pub static SCATTER_ND: OpDef = OpDef {
    name: "scatter_nd",
    tf_name: "ScatterNd",
    doc: "Zeros of the extents `shape`, with `updates` added at the places that the rows of `indices` name.\n\n\
          `updates` has the extents `indices[..-1] + shape[k..]`. Updates of one place are added in order; strings are joined. Raises \
          InvalidArgument for a position that is not there.",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC.or(DTypeSet::STR))],
    operands: &[index_arg("indices"), arg("updates"), index_arg("shape")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let shape = described_shape(cx, 2, "shape")?;
        check_updates(cx, 0, 1, &shape)?;
        one(like(cx, 1, shape))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = sizes_of(call, 2, "shape")?;
        let (indices, updates) = (call.inputs[0], call.inputs[1]);
        if updates.dtype() == DType::Str {
            return scatter_strings(call, indices, updates, &dims);
        }
        if call.env.kernels().is_some() && sums_by_device(call, indices, updates, &dims)? {
            return Ok(());
        }
        call.out(0, updates.dtype(), &dims).map_err(|e| e.argument("shape"))?;
        call.outputs[0].bytes_mut().fill(0);
        scatter_into(call, Some(Binary::Add), indices, updates, &dims)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        Ok(smallvec![None, Some(cx.emit.emit(&GATHER_ND, &[g, cx.inputs[0]], &[])?), None])
    }),
    jvp: Jvp::Linear(&[1]),
    batch: Batch::Rule(batch_rules::scatter_nd),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let numeric = DTypeSet::NUMERIC.iter().map(|d| tensor(d, &[3], LINE));
        let mut out: Vec<Sample> =
            numeric.map(|u| Sample::new(vec![i32_array(&[3, 1], &[4, 0, 4]), u, i64s(&[5])])).collect();
        out.push(Sample::new(vec![i32_array(&[2, 1], &[1, 1]), f64s(&[2, 3]), i32s(&[3, 3])]));
        out.push(Sample::new(vec![i32_array(&[0, 2], &[]), f64s(&[0]), i32s(&[2, 2])]));
        out.push(Sample::new(vec![i32s(&[1, 0]), f64s(&[]), i32s(&[2, 2])]));
        let words = crate::samples::strings(&[3, 2], &["a", "", "b", "c", "de", "f"]);
        out.push(Sample::new(vec![i32_array(&[3, 1], &[2, 0, 2]), words, i64s(&[3, 2])]));
        out
    },
};

/// Empty strings, to which the updates are appended in order.
fn scatter_strings(call: &mut Call<'_>, indices: &Tensor, updates: &Tensor, dims: &[usize]) -> Result<()> {
    let RowIndex { rows, n, inner } = row_index(indices, dims)?;
    check_slices(indices, updates, &inner)?;
    let width: usize = inner.iter().product();
    let mut out = memory::filled(Bytes::from([]), n * width)?;
    for (at, &row) in rows.to_ints()?.iter().enumerate() {
        let row = usize::try_from(row).ok().filter(|&row| row < n).ok_or_else(|| not_in(&rows, at, n, "indices"))?;
        for (to, more) in out[row * width..][..width].iter_mut().zip(&updates.strings()[at * width..]) {
            *to = if to.is_empty() { more.clone() } else { memory::joined([&to[..], more].into_iter(), b"")? };
        }
    }
    call.set(0, Tensor::from_strings(dims, out)?);
    Ok(())
}

/// Checks that there is a slice of `updates`, of extents `inner`, for each row of indices.
fn check_slices(indices: &Tensor, updates: &Tensor, inner: &[usize]) -> Result<()> {
    let due: Dims = indices.dims()[..indices.rank() - 1].iter().chain(inner).copied().collect();
    if updates.dims() == due.as_slice() {
        return Ok(());
    }
    Err(Error::invalid(format!("the indices name slices of shape {due:?}, got {:?}", updates.dims()))
        .argument("updates"))
}

/// The inference, kernel and samples that the operators `tensor_scatter_*` share.
fn infer_tensor_scatter(cx: &InferCx<'_>) -> Result<OutTypes> {
    check_updates(cx, 1, 2, cx.shape(0))?;
    one(cx.inputs[0].clone())
}

fn tensor_scatter(call: &mut Call<'_>, op: Option<Binary>) -> Result<()> {
    let (x, indices, updates) = (call.inputs[0], call.inputs[1], call.inputs[2]);
    if call.env.kernels().is_some() {
        let RowIndex { rows, n, inner } = row_index(indices, x.dims())?;
        check_slices(indices, updates, &inner)?;
        if groups::updated_by_device(call, op, x, updates, &rows, n).map_err(explain(&rows, n, "indices"))? {
            return Ok(());
        }
    }
    call.out(0, x.dtype(), x.dims())?;
    call.outputs[0].bytes_mut().copy_from_slice(x.bytes());
    scatter_into(call, op, indices, updates, x.dims())
}

fn tensor_scatter_samples(like: Vec<Tensor>) -> Vec<Sample> {
    let pick = |x: &Tensor| x.rows(0, 2).expect("two rows");
    let mut out: Vec<Sample> = like
        .into_iter()
        .map(|x| {
            let updates = pick(&x);
            Sample::new(vec![x, i32_array(&[2, 1], &[2, 0]), updates])
        })
        .collect();
    out.push(Sample::new(vec![f64s(&[4]), i32_array(&[1, 1], &[3]), f64s(&[1])]));
    out.push(Sample::new(vec![f64s(&[2, 2]), i32_array(&[0, 2], &[]), f64s(&[0])]));
    out.push(Sample::new(vec![f64s(&[2, 3]), i32_array(&[2, 2], &[0, 1, 1, 2]), f64s(&[2])]));
    out
}

fn numeric_rows() -> Vec<Tensor> {
    DTypeSet::NUMERIC.iter().map(|d| tensor(d, &[3, 2], LINE)).collect()
}

/// The cotangent of updates that went into the result as they are.
fn updates_grad(cx: &mut VjpCx<'_>) -> Result<Option<Value>> {
    let g = cx.grads[0].unwrap_or(cx.outputs[0]);
    if cx.needed[2] { Ok(Some(cx.emit.emit(&GATHER_ND, &[g, cx.inputs[1]], &[])?)) } else { Ok(None) }
}

macro_rules! tensor_scatter {
    ($(#[$doc:meta])* $name:ident, $text:literal, $tf:literal, $dtypes:expr, $summary:literal, $cpu:expr, $jvp:expr, $vjp:expr, $samples:expr) => {
        $(#[$doc])*
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!(
                $summary,
                "\n\n`updates` has the extents `indices[..-1] + tensor[k..]`, where `k` is the last extent of `indices`. Raises \
                 InvalidArgument for a position that is not there."
            ),
            dtypes: $dtypes,
            operands: &[arg("tensor"), index_arg("indices"), arg("updates")],
            attrs: &[],
            effects: &[],
            infer: infer_tensor_scatter,
            cpu: Cpu::Kernel($cpu),
            cuda: Cuda::Kernels,
            vjp: Vjp::Rule($vjp),
            jvp: $jvp,
            batch: Batch::Rule(batch_rules::tensor_scatter),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnValues,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: $samples,
        };
    };
}

const REAL: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::REAL)];

tensor_scatter! {
    /// Slices, replaced by rows of indices.
    TENSOR_SCATTER_UPDATE, "tensor_scatter_nd_update", "TensorScatterUpdate", ANY,
    "`tensor` with the slices that the rows of `indices` name replaced by `updates`; the last update of a place stays.",
    |call| moving(call, |call| tensor_scatter(call, None)),
    Jvp::Linear(&[0, 2]),
    |cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let dx = if cx.needed[0] {
            let none = cx.emit.emit(cx.ops.zeros_like, &[cx.inputs[2]], &[])?;
            Some(cx.emit.emit(&TENSOR_SCATTER_UPDATE, &[g, cx.inputs[1], none], &[])?)
        } else {
            None
        };
        Ok(smallvec![dx, None, updates_grad(cx)?])
    },
    || tensor_scatter_samples(kinds(&[3, 2]))
}

tensor_scatter! {
    /// Slices, added by rows of indices.
    TENSOR_SCATTER_ADD, "tensor_scatter_nd_add", "TensorScatterAdd", NUMERIC,
    "`tensor` with `updates` added to the slices that the rows of `indices` name, in order.",
    |call| tensor_scatter(call, Some(Binary::Add)),
    Jvp::Linear(&[0, 2]),
    |cx| {
        let dx = cx.grads[0].filter(|_| cx.needed[0]);
        Ok(smallvec![dx, None, updates_grad(cx)?])
    },
    || tensor_scatter_samples(numeric_rows())
}

tensor_scatter! {
    /// Slices, subtracted by rows of indices.
    TENSOR_SCATTER_SUB, "tensor_scatter_nd_sub", "TensorScatterSub", NUMERIC,
    "`tensor` with `updates` subtracted from the slices that the rows of `indices` name, in order.",
    |call| tensor_scatter(call, Some(Binary::Sub)),
    Jvp::Linear(&[0, 2]),
    |cx| rule(cx, |t| {
        let updates = t.needed[2].then(|| -t.g().emit(&GATHER_ND, &[t.x(1)], &[]));
        smallvec![t.needed[0].then_some(t.g()), None, updates]
    }),
    || tensor_scatter_samples(numeric_rows())
}

tensor_scatter! {
    /// Slices, raised to updates by rows of indices.
    TENSOR_SCATTER_MAX, "tensor_scatter_nd_max", "TensorScatterMax", REAL,
    "`tensor` with the slices that the rows of `indices` name replaced by their maximum with `updates`.",
    |call| tensor_scatter(call, Some(Binary::Max)),
    Jvp::FromVjp,
    extremum_vjp,
    || tensor_scatter_samples(DTypeSet::REAL.iter().map(|d| tensor(d, &[3, 2], LINE)).collect())
}

tensor_scatter! {
    /// Slices, lowered to updates by rows of indices.
    TENSOR_SCATTER_MIN, "tensor_scatter_nd_min", "TensorScatterMin", REAL,
    "`tensor` with the slices that the rows of `indices` name replaced by their minimum with `updates`.",
    |call| tensor_scatter(call, Some(Binary::Min)),
    Jvp::FromVjp,
    extremum_vjp,
    || tensor_scatter_samples(DTypeSet::REAL.iter().map(|d| tensor(d, &[3, 2], LINE)).collect())
}

/// The cotangent goes in equal parts to all that attain the extremum.
fn extremum_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    rule(cx, |t| {
        let (x, indices, updates, y) = (t.x(0), t.x(1), t.x(2), t.y(0));
        let dtype = x.dtype();
        let from_x = x.is(x.ops().equal, y).cast(dtype);
        let there = y.emit(&GATHER_ND, &[indices], &[]);
        let from_updates = updates.is(x.ops().equal, there).cast(dtype);
        let attained = from_x + indices.emit(&SCATTER_ND, &[from_updates, x.extents()], &[]);
        let share = t.g() / attained;
        let updates = t.needed[2].then(|| share.emit(&GATHER_ND, &[indices], &[]) * from_updates);
        smallvec![t.needed[0].then(|| share * from_x), None, updates]
    })
}

/// Sums of rows by segment.
pub static UNSORTED_SEGMENT_SUM: OpDef = OpDef {
    name: "unsorted_segment_sum",
    tf_name: "UnsortedSegmentSum",
    doc: "The sums of the entries of `data` that have the same `segment_ids`: entry `s` of the result is the sum of those with \
          id `s`, 0 where there is none.\n\n\
          The extents of `segment_ids` are the first of `data`; the result has `num_segments` in their place. Negative ids \
          drop their entries. Raises InvalidArgument for an id not below `num_segments`.",
    dtypes: NUMERIC,
    operands: &[arg("data"), index_arg("segment_ids"), index_arg("num_segments")],
    attrs: &[],
    effects: &[],
    infer: infer_unsorted_segments,
    cpu: Cpu::Kernel(|call| run_unsorted_segments(call, SUM)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let dx = cx.emit.emit(&GATHER, &[g, cx.inputs[1]], &[("drop_negative", true.into())])?;
        Ok(smallvec![Some(dx), None, None])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::segment_sum),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || unsorted_segment_samples(DTypeSet::NUMERIC),
};

/// The type of the reductions of operand 0 by the segments that operand 1 names, of which operand 2 says how many there
/// are.
pub(crate) fn infer_unsorted_segments(cx: &InferCx<'_>) -> Result<OutTypes> {
    let n = described_size(cx, 2, "num_segments")?;
    let shape = match (cx.shape(0).dims(), cx.shape(1).dims()) {
        (Some(data), Some(ids)) => {
            if ids.len() > data.len() || !ids.iter().zip(data).all(|(a, b)| a.compatible(*b)) {
                return Err(not_a_prefix(cx.shape(1), cx.shape(0)));
            }
            Shape::new(std::iter::once(&n).chain(&data[ids.len()..]).copied())
        }
        _ => Shape::UNRANKED,
    };
    one(like(cx, 0, shape))
}

pub(crate) fn unsorted_segment_samples(dtypes: DTypeSet) -> Vec<Sample> {
    let n = || Tensor::scalar(3i32);
    let each = dtypes.iter().map(|d| tensor(d, &[4], LINE));
    let mut out: Vec<Sample> = each.map(|x| Sample::new(vec![x, i32s(&[2, 0, 2, -1]), n()])).collect();
    out.push(Sample::new(vec![f64s(&[2, 3]), i64s(&[1, 1]), n()]));
    out.push(Sample::new(vec![f64s(&[2, 2, 2]), i32_array(&[2, 2], &[0, 1, 0, 1]), n()]));
    out.push(Sample::new(vec![f64s(&[0]), i32s(&[]), Tensor::scalar(0i32)]));
    out.push(Sample::new(vec![f64s(&[2]), Tensor::scalar(1i32), n()]));
    out
}

pub(crate) fn not_a_prefix(ids: &Shape, data: &Shape) -> Error {
    Error::invalid(format!("shape {ids} is not a prefix of the shape {data} of 'data'")).argument("segment_ids")
}

/// Runs a reduction by segments in any order.
pub(crate) fn run_unsorted_segments(call: &mut Call<'_>, how: (Reduce, Empty)) -> Result<()> {
    let (x, ids) = (call.inputs[0], call.inputs[1]);
    let n = size(int_scalar(call.inputs[2], "num_segments")?, "num_segments")?;
    let Some(inner) = x.dims().strip_prefix(ids.dims()) else {
        return Err(not_a_prefix(&Shape::known(ids.dims()), &Shape::known(x.dims())));
    };
    let dims: Dims = std::iter::once(n).chain(inner.iter().copied()).collect();
    let width = inner.iter().product();
    // Without elements there is nothing to fold, and a count for each segment may be more than the memory.
    if width == 0 && ids.to_ints()?.iter().all(|&id| id < n as i64) {
        return call.out(0, x.dtype(), &dims).map(drop);
    }
    moves::segment_reduce(call, how, x, (ids, false), [1, 1, n, width], &dims).map_err(explain(ids, n, "segment_ids"))
}

/// Where an array is not zero.
pub static WHERE_INDICES: OpDef = OpDef {
    name: "where_indices",
    tf_name: "Where",
    doc: "The positions of the elements of `condition` that are true or not zero, in row-major order, as `i64[n, rank]`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
    operands: &[arg("condition")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let rank = cx.shape(0).rank().map_or(Dim::Unknown, Dim::Known);
        let count = cx.values.constant(0).map_or(Dim::Unknown, |t| Dim::Known(moves::nonzero(&t).total()));
        one(Type::tensor(DType::I64, Shape::new([count, rank])))
    },
    cpu: Cpu::Kernel(|call| moves::where_indices(call, call.inputs[0])),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let zero_ones = [0.0, 1.0, -1.0, 0.0, -0.0, f64::NAN];
        let mut out: Vec<Sample> = [DType::Bool, DType::I8, DType::U64, DType::F16, DType::F64, DType::C64]
            .map(|d| Sample::new(vec![tensor(d, &[2, 3], &zero_ones)]))
            .into();
        out.extend([&[][..], &[0], &[1], &[2, 1, 3]].map(|d| Sample::new(vec![tensor(DType::Bool, d, &[1.0, 0.0])])));
        out
    },
};
