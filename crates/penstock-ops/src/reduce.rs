//! Reductions over axes.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use std::mem::MaybeUninit;

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor};
use penstock_ir::{
    AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cotangents, Cpu, Cuda, DTypeVar, Elements, Fails, Fold,
    Graph, InferCx, Inst, Jvp, Known, OpDef, OutTypes, Resolved, Rows, Sample, Selection, Type, Vjp, VjpCx, arg,
};
use penstock_kernels::fold::{self, Acc, folds};
use penstock_kernels::sort::{self, Direction};
use penstock_kernels::{ARG_REDUCE_DTYPES, Reduce, reduce_dtypes};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::grad::{Ex, Tape, rule};
use crate::operands::{described_shape, index_arg, require_dtype, sizes_of};
use crate::run::cast_into;
use crate::samples::{DISTINCT, EDGES, tensor};
use crate::sorting::{positions_fit, select_by_device};
use crate::util::{PROMISE, around, normalize_axis, one};

const ATTRS: &[AttrDef] = &[AttrDef::optional("axes", AttrKind::Ints), AttrDef::flag("keepdims", false)];

/// The most elements, and columns, of a reduction that is resolved.
const FEW: usize = 512;
const COLUMNS: usize = 64;

/// Axes as indices in ascending order; all where none are given.
///
/// # Errors
/// `InvalidArgument` for an axis that is out of range or listed twice.
pub(crate) fn normalize_axes(axes: Option<&[i64]>, rank: usize) -> Result<SmallVec<[usize; 4]>> {
    let Some(axes) = axes else { return Ok((0..rank).collect()) };
    let mut out: SmallVec<[usize; 4]> = SmallVec::new();
    for &axis in axes {
        let index = normalize_axis(axis, rank, "axes")?;
        if out.contains(&index) {
            return Err(Error::invalid(format!("axis {axis} is listed twice in {axes:?}")).argument("axes"));
        }
        out.push(index);
    }
    out.sort_unstable();
    Ok(out)
}

/// The shape that is left of `shape` where `axes` are reduced.
///
/// # Errors
/// As [`normalize_axes`].
pub(crate) fn reduced_shape(shape: &Shape, axes: Option<&[i64]>, keepdims: bool) -> Result<Shape> {
    let Some(dims) = shape.dims() else {
        return Ok(if axes.is_none() && !keepdims { Shape::scalar() } else { Shape::UNRANKED });
    };
    let axes = normalize_axes(axes, dims.len())?;
    let kept = dims.iter().enumerate().filter_map(|(i, &d)| match axes.contains(&i) {
        false => Some(d),
        true => keepdims.then_some(Dim::Known(1)),
    });
    Ok(Shape::new(kept))
}

fn infer(cx: &InferCx<'_>) -> Result<OutTypes> {
    one(Type::tensor(cx.dtype(0), reduced_shape(cx.shape(0), cx.attrs.opt_ints(0), cx.attrs.flag(1))?))
}

/// Which axes an instruction reduces, and the extents of what is left.
fn plan(dims: &[usize], attrs: &Attrs) -> Result<(SmallVec<[bool; 4]>, Dims)> {
    let axes = normalize_axes(attrs.opt_ints(0), dims.len())?;
    let marked: SmallVec<[bool; 4]> = (0..dims.len()).map(|i| axes.contains(&i)).collect();
    let keepdims = attrs.flag(1);
    let left = dims.iter().zip(&marked).filter_map(|(&d, &gone)| if gone { keepdims.then_some(1) } else { Some(d) });
    let left = left.collect();
    Ok((marked, left))
}

/// Makes the result `x` with its marked axes reduced; `left` are the extents.
fn reduce_into(call: &mut Call<'_>, op: Reduce, x: &Tensor, marked: &[bool], left: &[usize]) -> Result<()> {
    if !reduce_dtypes(op).contains(x.dtype()) {
        return Err(Error::dtype(format!("dtype {} is not supported", x.dtype().tf_name())));
    }
    if let Some(device) = call.env.kernels() {
        // SAFETY: `marked` has an entry for each dimension of `x`, and `left` are the extents without those marked.
        if let Some(made) = unsafe { device.reduce(op, x, marked, left) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let to = call.out(0, x.dtype(), left)?;
    // SAFETY: the tensor is row-major, contiguous and aligned, of a dtype that the kernel takes; `to` starts the
    // product of the dimensions not marked (of `left`), and is the result's own memory, not that of `x`.
    unsafe { penstock_kernels::reduce(op, x.dtype(), x.as_ptr(), x.dims(), marked, to) };
    Ok(())
}

fn run(op: Reduce, call: &mut Call<'_>) -> Result<()> {
    let (marked, left) = plan(call.inputs[0].dims(), call.attrs)?;
    reduce_into(call, op, call.inputs[0], &marked, &left)
}

/// Samples of a reduction: every dtype, kinds of axes, empty axes, and the edges of floats.
fn samples(dtypes: DTypeSet) -> Vec<Sample> {
    let mut out: Vec<Sample> =
        dtypes.iter().map(|d| Sample::new(vec![tensor(d, &[3, 5], DISTINCT)]).with("axes", vec![0])).collect();
    let common = [DType::F64, DType::Bool];
    let Some(dtype) = common.into_iter().find(|&d| dtypes.contains(d)) else { return out };
    let x = |dims: &[usize]| Sample::new(vec![tensor(dtype, dims, DISTINCT)]);
    for axes in [vec![], vec![1], vec![-1], vec![0, 2], vec![-1, 0, 1]] {
        out.push(x(&[2, 3, 4]).with("axes", axes.clone()));
        out.push(x(&[2, 3, 4]).with("axes", axes).with("keepdims", true));
    }
    out.extend([x(&[]), x(&[1]), x(&[4, 1, 7]), x(&[4, 7]).with("keepdims", true)]);
    out.extend([x(&[0]), x(&[0, 3]).with("axes", vec![0]), x(&[3, 0]).with("axes", vec![0])]);
    for dtype in [DType::F16, DType::F32] {
        if dtypes.contains(dtype) {
            out.push(Sample::new(vec![tensor(dtype, &[EDGES.len(), 1], EDGES)]).with("axes", vec![1]));
            out.push(Sample::new(vec![tensor(dtype, &[EDGES.len()], EDGES)]));
        }
    }
    out
}

macro_rules! table {
    ($($name:ident $text:literal $tf:literal $op:ident $vjp:expr, $summary:literal $(, jvp $jvp:expr)?;)*) => {
        $(
            #[doc = $summary]
            pub static $name: OpDef = OpDef {
                name: $text,
                tf_name: $tf,
                doc: concat!(
                    $summary,
                    "\n\nReduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are \
                     dropped from the shape, or kept with size 1 where `keepdims` is true.\
                     \n\nErrors: `InvalidArgument` for an axis that is out of range or listed twice."
                ),
                dtypes: &[DTypeVar::new("T", reduce_dtypes(Reduce::$op))],
                operands: &[arg("x")],
                attrs: ATTRS,
                effects: &[],
                infer,
                cpu: Cpu::Kernel(|call| run(Reduce::$op, call)),
                cuda: Cuda::Kernels,
                vjp: $vjp,
                jvp: $crate::util::given!(Jvp::FromVjp $(, $jvp)?),
                batch: Batch::Rule(|cx| batch_rules::along_all(cx, 0)),
                rows: Rows::All,
                elements: Elements::Unknown,
                cost: Cost::Element(1.0),
                resolve: Some(resolve_reduction),
                fails: Fails::Never,
                fold: Fold::Evaluate,
                promise: PROMISE,
                samples: || samples(reduce_dtypes(Reduce::$op)),
            };
        )*
    };
}

table! {
    REDUCE_SUM "reduce_sum" "Sum" Sum Vjp::Rule(|cx| reduction_rule(cx, |_, g, x, _| g.broadcast_as(x))),
        "The sum; 0 of nothing. Integers wrap.", jvp Jvp::Linear(&[0]);
    REDUCE_PROD "reduce_prod" "Prod" Prod Vjp::Rule(|cx| reduction_rule(cx, prod_grad)),
        "The product; 1 of nothing. Integers wrap.";
    REDUCE_MAX "reduce_max" "Max" Max Vjp::Rule(|cx| reduction_rule(cx, extremum_grad)),
        "The greatest element: NaN if there is one, the lowest value of the dtype (-inf) of nothing. Equal elements share the gradient.";
    REDUCE_MIN "reduce_min" "Min" Min Vjp::Rule(|cx| reduction_rule(cx, extremum_grad)),
        "The least element: NaN if there is one, the highest value of the dtype (inf) of nothing. Equal elements share the gradient.";
    REDUCE_MEAN "reduce_mean" "Mean" Mean Vjp::Rule(|cx| reduction_rule(cx, mean_grad)),
        "The arithmetic mean; NaN of nothing. That of integers is rounded towards 0.", jvp Jvp::Linear(&[0]);
    REDUCE_ANY "reduce_any" "Any" Any Vjp::Zero,
        "Whether any element is true; false of nothing.";
    REDUCE_ALL "reduce_all" "All" All Vjp::Zero,
        "Whether all elements are true; true of nothing.";
}

/// What the operators above compute.
fn kind_of(op: &OpDef) -> Option<Reduce> {
    const KINDS: [(&OpDef, Reduce); 7] = [
        (&REDUCE_SUM, Reduce::Sum),
        (&REDUCE_PROD, Reduce::Prod),
        (&REDUCE_MAX, Reduce::Max),
        (&REDUCE_MIN, Reduce::Min),
        (&REDUCE_MEAN, Reduce::Mean),
        (&REDUCE_ANY, Reduce::Any),
        (&REDUCE_ALL, Reduce::All),
    ];
    KINDS.iter().find(|(known, _)| op.is(known)).map(|&(_, kind)| kind)
}

/// Resolves a reduction of a few elements, over axes side by side.
pub(crate) fn resolve_reduction(
    op: &'static OpDef,
    attrs: &Attrs,
    operands: &[Known<'_>],
    results: &[Type],
) -> Option<Resolved> {
    let (x, dims) = (operands[0].extents()?, results[0].shape().extents()?);
    let (kind, marked) = match kind_of(op) {
        Some(kind) => (kind, plan(&x, attrs).ok()?.0),
        None => (Reduce::Sum, summed(&x, &dims)),
    };
    let [outer, n, inner] = side_by_side(&x, &marked)?;
    let dtype = operands[0].ty.dtype();
    let (steps, size) = (folds(kind, dtype)?, dtype.size());
    if !(1..=FEW).contains(&(outer * n * inner)) || inner > COLUMNS || (inner > 1 && n > fold::ROWS) {
        return None;
    }
    let run = move |call: &mut Call<'_>| {
        let out = call.out(0, dtype, &dims)?;
        let from = call.inputs[0].as_ptr();
        // SAFETY: the operand has these extents, by its type, and the result an element for each of the first and the last.
        // There is room for the accumulators of the columns, which start with nothing in them.
        unsafe {
            if inner == 1 {
                (steps.rows)(from, outer, n, out);
                return Ok(());
            }
            let mut room = [const { MaybeUninit::<Acc>::uninit() }; COLUMNS];
            let acc = room.as_mut_ptr().cast::<u8>();
            for block in 0..outer {
                (steps.open_columns)(acc, inner);
                (steps.add_rows)(acc, from.add(block * n * inner * size), n, inner);
                (steps.finish_columns)(acc, inner, n, out.add(block * inner * size));
            }
        }
        Ok(())
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}

/// What an instruction reduces its first operand by, and the dimensions of it that it reduces; `None` for other operators
/// than those above and `sum_to_shape`, and where the sizes are not known.
pub fn reduction_of(graph: &Graph, inst: Inst) -> Option<(Reduce, SmallVec<[bool; 4]>)> {
    let data = &graph.insts[inst];
    if data.op.is(&SUM_TO_SHAPE) {
        let (from, to) = (graph.ty(data.operands[0]).shape().extents()?, graph.ty(data.results[0]).shape().extents()?);
        return Some((Reduce::Sum, summed(&from, &to)));
    }
    let kind = kind_of(&data.op)?;
    let dims = graph.ty(data.operands[0]).shape().extents()?;
    Some((kind, plan(&dims, &data.attrs).ok()?.0))
}

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &REDUCE_SUM,
    &REDUCE_PROD,
    &REDUCE_MAX,
    &REDUCE_MIN,
    &REDUCE_MEAN,
    &REDUCE_ANY,
    &REDUCE_ALL,
    &REDUCE_LOGSUMEXP,
    &COUNT_NONZERO,
    &SUM_TO_SHAPE,
    &ARGMAX,
    &ARGMIN,
];

/// The cotangent of the operand from the tape, the result's cotangent, the operand and the result; both of the
/// result's come with the reduced axes put back.
type ReductionGrad = for<'t> fn(&'t Tape<'_>, Ex<'t>, Ex<'t>, Ex<'t>) -> Ex<'t>;

fn reduction_rule(cx: &mut VjpCx<'_>, f: ReductionGrad) -> Result<Cotangents> {
    rule(cx, |t| {
        smallvec![t.needed[0].then(|| {
            let x = t.x(0);
            f(t, put_back(t, t.g()), x, t.y(0))
        })]
    })
}

/// `v`, of the result's shape, with the reduced axes put back with size 1.
fn put_back<'t>(t: &'t Tape<'_>, v: Ex<'t>) -> Ex<'t> {
    if t.attrs.flag(1) {
        return v;
    }
    let x = t.x(0);
    let shape = x.shape();
    let Some(rank) = shape.rank() else {
        // Which axes these are is known only when it runs.
        return v.reshape_as(resum(t, x));
    };
    match normalize_axes(t.attrs.opt_ints(0), rank) {
        Err(error) => v.fail(error),
        Ok(axes) => match shape.extents() {
            Some(mut dims) => {
                axes.iter().for_each(|&a| dims[a] = 1);
                v.reshape(&dims)
            }
            None => axes.iter().fold(v, |v, &a| v.expand_dims(a as i64)),
        },
    }
}

/// The sum over the axes that the instruction reduces, which are kept.
fn resum<'t>(t: &Tape<'_>, v: Ex<'t>) -> Ex<'t> {
    v.emit(&REDUCE_SUM, &[], &[("axes", t.attrs.0[0].clone()), ("keepdims", true.into())])
}

fn extremum_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>, x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    let hit = x.is(x.ops().equal, put_back(t, y)).cast(x.dtype());
    g * (hit / resum(t, hit))
}

fn mean_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>, x: Ex<'t>, y: Ex<'t>) -> Ex<'t> {
    let count = match reduced_count(&x.shape(), t.attrs) {
        Some(n) => x.number(n as f64),
        None => {
            let size = |e: Ex<'t>| e.extents().emit(&REDUCE_PROD, &[], &[]);
            let results = size(y);
            let results = results.emit(x.ops().maximum, &[results.int(1)], &[]);
            size(x).emit(x.ops().floordiv, &[results], &[]).cast(x.dtype())
        }
    };
    (g / count).broadcast_as(x)
}

/// The number of elements that go into each result, where the sizes of the reduced axes are known.
fn reduced_count(shape: &Shape, attrs: &Attrs) -> Option<usize> {
    let dims = shape.dims()?;
    let axes = normalize_axes(attrs.opt_ints(0), dims.len()).ok()?;
    axes.iter().map(|&axis| dims[axis].known()).product()
}

/// Each element's is the product of all others: that of those before it times that of those behind it, which is finite
/// where the product itself overflows, and right where elements are 0. Of several axes, one after the other is reduced.
fn prod_grad<'t>(t: &'t Tape<'_>, g: Ex<'t>, x: Ex<'t>, _: Ex<'t>) -> Ex<'t> {
    let shape = x.shape();
    let axes = match t.attrs.opt_ints(0) {
        Some(axes) if shape.rank() != Some(axes.len()) => axes,
        // All elements in one row.
        _ => {
            let row = match shape.extents() {
                Some(dims) => x.reshape(&[dims.iter().product()]),
                None => x.emit(x.ops().reshape, &[x.constant(Tensor::vector(&[-1i64]))], &[]),
            };
            return g * all_others(row, 0).reshape_as(x);
        }
    };
    let single = |axis: i64| {
        shape.dims().is_some_and(|d| normalize_axis(axis, d.len(), "axes").is_ok_and(|a| d[a] == Dim::Known(1)))
    };
    let mut part = x;
    let mut last = None;
    let mut factors: SmallVec<[Ex<'t>; 2]> = smallvec![];
    for &axis in axes.iter().filter(|&&axis| !single(axis)) {
        if let Some(last) = last.replace(axis) {
            part = part.emit(&REDUCE_PROD, &[], &[("axes", [last][..].into()), ("keepdims", true.into())]);
        }
        factors.push(all_others(part, axis));
    }
    factors.into_iter().rev().fold(g, |g, factor| g * factor)
}

/// The conjugate of the product of all other elements of `x` along an axis.
fn all_others(x: Ex<'_>, axis: i64) -> Ex<'_> {
    let products = |reverse: bool| {
        x.emit(x.ops().cumprod, &[], &[("axis", axis.into()), ("exclusive", true.into()), ("reverse", reverse.into())])
    };
    (products(false) * products(true)).conj()
}

/// The logarithm of the sum of exponentials.
pub static REDUCE_LOGSUMEXP: OpDef = OpDef {
    name: "reduce_logsumexp",
    tf_name: "LogSumExp",
    doc: "`log(sum(e^x))`, without overflow; -inf of nothing.\n\n\
          Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from \
          the shape, or kept with size 1 where `keepdims` is true.\n\n\
          Errors: `InvalidArgument` for an axis that is out of range or listed twice.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLOAT)],
    operands: &[arg("x")],
    attrs: ATTRS,
    effects: &[],
    infer,
    cpu: Cpu::Kernel(run_logsumexp),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        reduction_rule(cx, |t, g, x, y| {
            // Where elements are large, `y` is rounded by as much as a share: the sum of the shares makes up for it. Beside
            // an infinite element the shares of others are 0.
            let y = put_back(t, y);
            let shares = (x - y.only_if(y.then(y.ops().is_finite))).then(y.ops().exp);
            g / resum(t, shares) * shares
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(|cx| batch_rules::along_all(cx, 0)),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || samples(DTypeSet::FLOAT),
};

fn run_logsumexp(call: &mut Call<'_>) -> Result<()> {
    let (marked, left) = plan(call.inputs[0].dims(), call.attrs)?;
    let moved;
    let (x, extents) = match side_by_side(call.inputs[0].dims(), &marked) {
        Some(extents) => (call.inputs[0], extents),
        None => {
            // What is reduced goes to the end.
            let (gone, stays): (Vec<usize>, Vec<usize>) = (0..marked.len()).partition(|&i| marked[i]);
            let n = gone.iter().map(|&i| call.inputs[0].dims()[i]).product();
            crate::moves::transpose(call, call.inputs[0], &[stays, gone].concat())?;
            moved = std::mem::take(&mut call.outputs[0]);
            (&moved, [left.iter().product(), n, 1])
        }
    };
    if let Some(device) = call.env.kernels() {
        // SAFETY: `x` has these extents, and the result an element for each of the first and the last.
        if let Some(made) = unsafe { device.logsumexp(x, extents, &left) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let out = call.out(0, x.dtype(), &left)?;
    // SAFETY: `x` has these extents, of a float dtype; `out` is a fresh array of an element for each of the first and the last.
    unsafe { penstock_kernels::logsumexp::logsumexp(x.dtype(), x.as_ptr(), extents, out.cast()) };
    Ok(())
}

/// The elements before, in and after the reduced axes, where those lie side by side.
fn side_by_side(dims: &[usize], marked: &[bool]) -> Option<[usize; 3]> {
    let first = marked.iter().position(|&gone| gone).unwrap_or(dims.len());
    let end = marked.iter().rposition(|&gone| gone).map_or(first, |last| last + 1);
    let product = |dims: &[usize]| dims.iter().product();
    (!marked[first..end].contains(&false))
        .then(|| [product(&dims[..first]), product(&dims[first..end]), product(&dims[end..])])
}

/// The number of elements that are not zero.
pub static COUNT_NONZERO: OpDef = OpDef {
    name: "count_nonzero",
    tf_name: "CountNonzero",
    doc: "The number of elements that are not zero, `int64`. NaN is not zero, -0 is.\n\n\
          Reduces `axes` (negative ones count from the end), all where they are not given. The reduced axes are dropped from \
          the shape, or kept with size 1 where `keepdims` is true.\n\n\
          Errors: `InvalidArgument` for an axis that is out of range or listed twice.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
    operands: &[arg("input")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| one(Type::tensor(DType::I64, reduced_shape(cx.shape(0), cx.attrs.opt_ints(0), cx.attrs.flag(1))?)),
    cpu: Cpu::Kernel(run_count),
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
    samples: || samples(DTypeSet::PLAIN),
};

fn run_count(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let (marked, left) = plan(x.dims(), call.attrs)?;
    if let Some(device) = call.env.kernels() {
        // SAFETY: the result has the extents that are left of those of `x`.
        if let Some(made) = unsafe { device.count_nonzero(x, &marked, &left) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    let Some(extents) = side_by_side(x.dims(), &marked) else {
        let (mut found, mut ones) = (Tensor::default(), Tensor::default());
        cast_into(x, DType::Bool, &mut found)?;
        cast_into(&found, DType::I64, &mut ones)?;
        return reduce_into(call, Reduce::Sum, &ones, &marked, &left);
    };
    let out = call.out(0, DType::I64, &left)?;
    // SAFETY: `x` has these extents, of a plain dtype; `out` is a fresh array of a number for each of the first and the last.
    unsafe { penstock_kernels::positions::count_nonzero(x.dtype(), x.as_ptr(), extents, out.cast()) };
    Ok(())
}

/// The sum over what broadcasting repeated.
pub static SUM_TO_SHAPE: OpDef = OpDef {
    name: "sum_to_shape",
    tf_name: "SumToShape",
    doc: "The sum of `x` over the axes along which a tensor of shape `shape` is repeated when it is broadcast to the shape of \
          `x`: what `broadcast_to` does to gradients.\n\nThe result has shape `shape`.\n\n\
          Errors: `InvalidArgument` where `shape` does not broadcast to the shape of `x`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC)],
    operands: &[arg("x"), index_arg("shape")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let shape = described_shape(cx, 1, "shape")?;
        let broadcast = shape.broadcast(cx.shape(0));
        if broadcast.is_none_or(|b| !b.compatible(cx.shape(0))) {
            return Err(no_source(&shape, cx.shape(0)));
        }
        one(Type::tensor(cx.dtype(0), shape))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = sizes_of(call, 1, "shape")?;
        let x = call.inputs[0];
        let fits = penstock_kernels::broadcast_dims(&[x.dims(), &dims]).is_some_and(|d| d[..] == *x.dims());
        if !fits {
            return Err(no_source(&Shape::known(&dims), &Shape::known(x.dims())));
        }
        reduce_into(call, Reduce::Sum, x, &summed(x.dims(), &dims), &dims)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| t.g().broadcast_as(t.x(0))), None])),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::sum_to_shape),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(resolve_reduction),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let sample = |d, dims: &[usize], to: &[i64]| Sample::new(vec![tensor(d, dims, DISTINCT), Tensor::vector(to)]);
        let mut out: Vec<Sample> = DTypeSet::NUMERIC.iter().map(|d| sample(d, &[3, 5], &[5])).collect();
        for (dims, to) in [
            (&[][..], &[][..]),
            (&[4], &[]),
            (&[2, 3, 4], &[3, 1]),
            (&[2, 3], &[2, 3]),
            (&[0, 3], &[1, 3]),
            (&[1, 1], &[1]),
            (&[5, 0], &[0]),
        ] {
            out.push(sample(DType::F64, dims, to));
        }
        out
    },
};

/// The dimensions of extents `from` along which a tensor of extents `to` is repeated when it is broadcast to them.
///
/// # Panics
/// If `to` has more dimensions.
pub fn summed(from: &[usize], to: &[usize]) -> SmallVec<[bool; 4]> {
    let lead = from.len() - to.len();
    (0..from.len()).map(|i| i < lead || (to[i - lead] == 1 && from[i] != 1)).collect()
}

fn no_source(shape: &Shape, of: &Shape) -> Error {
    Error::invalid(format!("{shape} does not broadcast to {of}")).argument("shape")
}

macro_rules! arg_reduction {
    ($name:ident $text:literal $tf:literal $max:literal $summary:literal) => {
        #[doc = $summary]
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: concat!(
                $summary,
                "\n\nThe result, of dtype `dtype` (`int32` or `int64`), has the shape of `x` without `axis`; a negative axis \
                 counts from the end. The first of equal elements counts, and NaN as the most extreme.\
                 \n\nErrors: `InvalidArgument` for an axis that is out of range or empty, or has more elements than `dtype` counts."
            ),
            dtypes: &[DTypeVar::new("T", ARG_REDUCE_DTYPES)],
            operands: &[arg("x")],
            attrs: &[
                AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(0)),
                AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::I64)),
            ],
            effects: &[],
            infer: infer_arg,
            cpu: Cpu::Kernel(|call| run_arg($max, call)),
            cuda: Cuda::Kernels,
            vjp: Vjp::Zero,
            jvp: Jvp::FromVjp,
            batch: Batch::Rule(|cx| batch_rules::along(cx, 0)),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: Some(resolve_arg),
            fails: Fails::OnShapes,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: arg_samples,
        };
    };
}

arg_reduction! { ARGMAX "argmax" "ArgMax" true "The index of the greatest element along an axis." }
arg_reduction! { ARGMIN "argmin" "ArgMin" false "The index of the least element along an axis." }

fn infer_arg(cx: &InferCx<'_>) -> Result<OutTypes> {
    let dtype = require_dtype(cx.attrs.dtype(1), DTypeSet::INDEX, "dtype")?;
    let axis = cx.attrs.int(0);
    if let Some(dims) = cx.shape(0).dims()
        && dims[normalize_axis(axis, dims.len(), "axis")?] == Dim::Known(0)
    {
        return Err(empty_axis(axis, cx.shape(0)));
    }
    let shape =
        if cx.shape(0).rank().is_none() { Shape::UNRANKED } else { reduced_shape(cx.shape(0), Some(&[axis]), false)? };
    one(Type::tensor(dtype, shape))
}

fn empty_axis(axis: i64, shape: &Shape) -> Error {
    Error::invalid(format!("axis {axis} of shape {shape} is empty")).argument("axis")
}

fn run_arg(max: bool, call: &mut Call<'_>) -> Result<()> {
    let (x, dtype) = (call.inputs[0], call.attrs.dtype(1));
    let axis = normalize_axis(call.attrs.int(0), x.rank(), "axis")?;
    let (outer, n, inner) = around(x.dims(), axis);
    if n == 0 {
        return Err(empty_axis(call.attrs.int(0), &Shape::known(x.dims())));
    }
    positions_fit(n, dtype)?;
    let mut left: Dims = x.dims().into();
    left.remove(axis);
    let first = Selection {
        rows: sort::Rows { outer, n, inner },
        k: 1,
        direction: if max { Direction::Descending } else { Direction::Ascending },
        nan_first: true,
        elements: false,
        positions: Some(dtype),
    };
    if select_by_device(call, &first, &left)? {
        return Ok(());
    }
    let to = call.out(0, dtype, &left)?;
    // SAFETY: `x` has `outer * n * inner` elements of a dtype that the operator takes, `to` starts `outer * inner` of
    // `dtype`, which inference has checked, and an output is none of the operands.
    unsafe { penstock_kernels::arg_reduce(max, x.dtype(), x.as_ptr(), outer, n, inner, dtype, to) };
    Ok(())
}

/// Resolves the search for an extreme of a few elements.
pub(crate) fn resolve_arg(
    op: &'static OpDef,
    attrs: &Attrs,
    operands: &[Known<'_>],
    results: &[Type],
) -> Option<Resolved> {
    let (x, dims) = (operands[0].extents()?, results[0].shape().extents()?);
    let (outer, n, inner) = around(&x, normalize_axis(attrs.int(0), x.len(), "axis").ok()?);
    let (from, to, max) = (operands[0].ty.dtype(), results[0].dtype(), op.is(&ARGMAX));
    if !(1..=FEW).contains(&(outer * n * inner)) {
        return None;
    }
    let run = move |call: &mut Call<'_>| {
        let out = call.out(0, to, &dims)?;
        // SAFETY: the operand has these extents, by its type, and the result an element for each of the first and the last.
        unsafe { penstock_kernels::arg_reduce(max, from, call.inputs[0].as_ptr(), outer, n, inner, to, out) };
        Ok(())
    };
    // SAFETY: the kernel relies on the types of the operands, and on the values of constant ones, that it was made for; it makes each
    // result of the dtype and extents that this was given.
    Some(unsafe { Resolved::new(run) })
}

fn arg_samples() -> Vec<Sample> {
    let x = |d, dims: &[usize], axis: i64| Sample::new(vec![tensor(d, dims, DISTINCT)]).with("axis", axis);
    let mut out: Vec<Sample> = ARG_REDUCE_DTYPES.iter().map(|d| x(d, &[3, 5], 1)).collect();
    for (dims, axis) in [(&[7][..], 0), (&[1], 0), (&[2, 3, 4], 1), (&[2, 3, 4], -1), (&[3, 0], 0), (&[2, 3, 4], -3)] {
        out.push(x(DType::F64, dims, axis));
        out.push(x(DType::F32, dims, axis).with("dtype", DType::I32));
    }
    out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES)]));
    out
}
