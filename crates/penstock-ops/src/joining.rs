//! Operators that join arrays and cut them apart.

use penstock_data::{DTypeSet, Dim, Dims, Error, Result, Shape};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cotangents, Cpu, Cuda, DTypeVar, Elements, Fails, Fold,
    InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Value, Vjp, VjpCx, arg, args_of,
};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::elements;
use crate::moves::{self, moving};
use crate::operands::{int_vector, known_dims, like};
use crate::sample_arrays::{each_kind, f64s, i64s, kinds};
use crate::shape_ops::ANY;
use crate::util::{PROMISE, normalize_axis, one};

const AXIS: AttrDef = AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(0));

/// The name of an operand of a variadic list.
fn nth(name: &str, i: usize) -> String {
    format!("{name}[{i}]")
}

/// The cotangent of result `i`, zeros where none flows.
fn grad_or_zeros(cx: &mut VjpCx<'_>, i: usize) -> Result<Value> {
    match cx.grads[i] {
        Some(g) => Ok(g),
        None => cx.emit.emit(cx.ops.zeros_like, &[cx.outputs[i]], &[]),
    }
}

/// Arrays side by side along a dimension that they have.
pub static CONCAT: OpDef = OpDef {
    name: "concat",
    tf_name: "ConcatV2",
    doc: "`values` one after the other along `axis`.\n\n\
          All have the same rank, at least 1, and the same extents but along `axis`.",
    dtypes: ANY,
    operands: &[args_of("values", ArgType::Var(0))],
    attrs: &[AttrDef::required("axis", AttrKind::Int)],
    effects: &[],
    infer: infer_concat,
    cpu: Cpu::Kernel(|call| moving(call, run_concat)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(concat_vjp),
    jvp: Jvp::AllLinear,
    batch: Batch::Rule(|cx| batch_rules::all_along(cx, 0)),
    rows: Rows::Joined(0),
    elements: Elements::Rule(elements::concat),
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            kinds(&[2, 3]).into_iter().map(|x| Sample::new(vec![x.clone(), x]).with("axis", -1)).collect();
        let of =
            |list: &[&[usize]], axis: i64| Sample::new(list.iter().map(|dims| f64s(dims)).collect()).with("axis", axis);
        out.push(of(&[&[3]], 0));
        out.push(of(&[&[3], &[0], &[2]], 0));
        out.push(of(&[&[0, 2], &[0, 3]], 1));
        out.push(of(&[&[2, 1, 2], &[2, 3, 2], &[2, 2, 2]], -2));
        out
    },
};

fn no_values() -> Error {
    Error::invalid("needs at least one tensor").argument("values")
}

fn a_scalar(i: usize) -> Error {
    Error::invalid("a scalar cannot be concatenated; use stack").argument(nth("values", i))
}

fn infer_concat(cx: &InferCx<'_>) -> Result<OutTypes> {
    if cx.inputs.is_empty() {
        return Err(no_values());
    }
    let ranked = |i: &usize| cx.shape(*i).rank().is_some();
    let Some(first) = (0..cx.inputs.len()).find(ranked) else { return one(like(cx, 0, Shape::UNRANKED)) };
    let mut dims: SmallVec<[Dim; 4]> = cx.shape(first).dims().unwrap_or(&[]).into();
    if dims.is_empty() {
        return Err(a_scalar(first));
    }
    let axis = normalize_axis(cx.attrs.int(0), dims.len(), "axis")?;
    let mut total = Some(Dim::Known(0));
    for i in 0..cx.inputs.len() {
        let Some(other) = cx.shape(i).dims() else {
            total = None;
            continue;
        };
        let differs = || {
            Error::invalid(format!("shape {} does not match {} except along axis {axis}", cx.shape(i), cx.shape(first)))
                .argument(nth("values", i))
        };
        if other.len() != dims.len() {
            return Err(differs());
        }
        for k in (0..dims.len()).filter(|&k| k != axis) {
            dims[k] = dims[k].merge(other[k]).ok_or_else(differs)?;
        }
        total = match (total, other[axis]) {
            (Some(Dim::Known(a)), Dim::Known(b)) => a.checked_add(b).map(Dim::Known),
            (Some(Dim::Known(0)), d) | (Some(d), Dim::Known(0)) => Some(d),
            _ => None,
        };
    }
    dims[axis] = total.unwrap_or(Dim::Unknown);
    one(like(cx, 0, Shape::new(dims)))
}

fn run_concat(call: &mut Call<'_>) -> Result<()> {
    let [first, rest @ ..] = call.inputs else { return Err(no_values()) };
    if first.rank() == 0 {
        return Err(a_scalar(0));
    }
    let mut dims = Dims::from(first.dims());
    let axis = normalize_axis(call.attrs.int(0), dims.len(), "axis")?;
    for (i, x) in rest.iter().enumerate() {
        let fits = x.rank() == dims.len() && (0..dims.len()).all(|k| k == axis || x.dims()[k] == dims[k]);
        if !fits {
            return Err(Error::invalid(format!(
                "shape {:?} does not match {:?} except along axis {axis}",
                x.dims(),
                first.dims()
            ))
            .argument(nth("values", i + 1)));
        }
        dims[axis] = dims[axis].saturating_add(x.dims()[axis]);
    }
    let outer = dims[..axis].iter().product();
    moves::concat(call, call.inputs, outer, &dims)
}

/// A split where the sizes are known, slices at computed offsets where they are not.
fn concat_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    let g = cx.grads[0].unwrap_or(cx.outputs[0]);
    let axis = cx.attrs.int(0);
    let along = |cx: &VjpCx<'_>, i: usize| -> Option<i64> {
        let ty = cx.emit.type_of(cx.inputs[i]);
        let dims = ty.shape().dims()?;
        let axis = normalize_axis(axis, dims.len(), "axis").ok()?;
        i64::try_from(dims[axis].known()?).ok()
    };
    let sizes: Option<Vec<i64>> = (0..cx.inputs.len()).map(|i| along(cx, i)).collect();
    if let Some(sizes) = sizes {
        let parts = cx.emit.emit_all(&SPLIT, &[g], &[("sizes", sizes.into()), ("axis", axis.into())])?;
        return Ok(parts.into_iter().zip(cx.needed).map(|(p, &n)| n.then_some(p)).collect());
    }
    let mut shapes: SmallVec<[Value; 4]> = SmallVec::new();
    for &x in cx.inputs {
        let shape = cx.emit.emit(cx.ops.shape, &[x], &[])?;
        shapes.push(shape);
    }
    let offsets = cx.emit.emit_all(&CONCAT_OFFSET, &shapes, &[("axis", axis.into())])?;
    let mut out = Cotangents::new();
    for (i, &needed) in cx.needed.iter().enumerate() {
        out.push(if needed { Some(cx.emit.emit(cx.ops.slice, &[g, offsets[i], shapes[i]], &[])?) } else { None });
    }
    Ok(out)
}

/// Where each array begins in a concatenation.
pub static CONCAT_OFFSET: OpDef = OpDef {
    name: "concat_offset",
    tf_name: "ConcatOffset",
    doc: "For arrays of the given `shapes`, where each begins in their concatenation along `axis`.\n\n\
          The operands are vectors of one length; there is one result of that length for each.",
    dtypes: &[DTypeVar::new("T", DTypeSet::INDEX)],
    operands: &[args_of("shapes", ArgType::Var(0))],
    attrs: &[AttrDef::required("axis", AttrKind::Int)],
    effects: &[],
    infer: |cx| {
        let mut shape = Shape::new([Dim::Unknown]);
        for i in 0..cx.inputs.len() {
            shape = shape.merge(cx.shape(i)).ok_or_else(|| {
                Error::invalid(format!("expected a vector of shape {shape}, got {}", cx.shape(i)))
                    .argument(nth("shapes", i))
            })?;
        }
        Ok(cx.inputs.iter().map(|ty| ty.with_shape(shape.clone())).collect())
    },
    cpu: Cpu::Kernel(run_concat_offset),
    cuda: Cuda::HostFallback("it computes sizes, which the host needs"),
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
        vec![
            Sample::new(vec![i64s(&[2, 3]), i64s(&[2, 5]), i64s(&[2, 0])]).with("axis", 1),
            Sample::new(vec![i64s(&[4])]).with("axis", -1),
        ]
    },
};

fn run_concat_offset(call: &mut Call<'_>) -> Result<()> {
    let mut offset = 0i64;
    for i in 0..call.inputs.len() {
        let name = nth("shapes", i);
        let (dtype, shape) = (call.inputs[i].dtype(), int_vector(call.inputs[i], &name)?);
        let axis = normalize_axis(call.attrs.int(0), shape.len(), "axis")?;
        let mut begin: SmallVec<[i64; 6]> = SmallVec::from_elem(0, shape.len());
        begin[axis] = offset;
        offset = offset.wrapping_add(shape[axis]);
        call.out(i, dtype, &[shape.len()])?;
        crate::operands::write_ints(&mut call.outputs[i], &begin);
    }
    Ok(())
}

/// Arrays side by side along a new dimension.
pub static STACK: OpDef = OpDef {
    name: "stack",
    tf_name: "Pack",
    doc: "`values`, all of one shape, along a new dimension at `axis`, which is in `-rank - 1 ..= rank`.",
    dtypes: ANY,
    operands: &[args_of("values", ArgType::Var(0))],
    attrs: &[AXIS],
    effects: &[],
    infer: infer_stack,
    cpu: Cpu::Kernel(|call| moving(call, run_stack)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        let attrs = [("num", (cx.inputs.len() as i64).into()), ("axis", cx.attrs.int(0).into())];
        let parts = cx.emit.emit_all(&UNSTACK, &[g], &attrs)?;
        Ok(parts.into_iter().zip(cx.needed).map(|(p, &n)| n.then_some(p)).collect())
    }),
    jvp: Jvp::AllLinear,
    batch: Batch::Rule(|cx| batch_rules::all_along(cx, 0)),
    rows: Rows::Joined(0),
    elements: Elements::Rule(elements::stack),
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = kinds(&[2, 2]).into_iter().map(|x| Sample::new(vec![x.clone(), x])).collect();
        let of =
            |dims: &[usize], n: usize, axis: i64| Sample::new((0..n).map(|_| f64s(dims)).collect()).with("axis", axis);
        out.extend([of(&[], 3, 0), of(&[], 1, -1), of(&[0], 2, 1), of(&[3, 2], 2, 1), of(&[3, 2], 3, -1)]);
        out
    },
};

fn infer_stack(cx: &InferCx<'_>) -> Result<OutTypes> {
    if cx.inputs.is_empty() {
        return Err(no_values());
    }
    let mut shape = Shape::UNRANKED;
    for i in 0..cx.inputs.len() {
        shape = shape.merge(cx.shape(i)).ok_or_else(|| {
            Error::invalid(format!(
                "Shapes of all inputs must match: values[0].shape = {shape} != values[{i}].shape = {}",
                cx.shape(i)
            ))
            .argument(nth("values", i))
        })?;
    }
    let Some(dims) = shape.dims() else { return one(like(cx, 0, shape)) };
    let axis = normalize_axis(cx.attrs.int(0), dims.len() + 1, "axis")?;
    let mut dims: SmallVec<[Dim; 4]> = dims.into();
    dims.insert(axis, Dim::Known(cx.inputs.len()));
    one(like(cx, 0, Shape::new(dims)))
}

fn run_stack(call: &mut Call<'_>) -> Result<()> {
    let [first, rest @ ..] = call.inputs else { return Err(no_values()) };
    let mut dims = Dims::from(first.dims());
    for (i, x) in rest.iter().enumerate() {
        if x.dims() != first.dims() {
            return Err(Error::invalid(format!(
                "Shapes of all inputs must match: values[0].shape = {} != values[{}].shape = {}",
                Shape::known(first.dims()),
                i + 1,
                Shape::known(x.dims())
            ))
            .argument(nth("values", i + 1)));
        }
    }
    let axis = normalize_axis(call.attrs.int(0), dims.len() + 1, "axis")?;
    let outer = dims[..axis].iter().product();
    dims.insert(axis, call.inputs.len());
    moves::concat(call, call.inputs, outer, &dims)
}

/// The entries of an array along a dimension.
pub static UNSTACK: OpDef = OpDef {
    name: "unstack",
    tf_name: "Unpack",
    doc: "The `num` entries of `value` along `axis`, each without that dimension.\n\n\
          `num` may be left out where the size along `axis` is known. Along the first dimension the results share the \
          data of `value`.",
    dtypes: ANY,
    operands: &[arg("value")],
    attrs: &[AttrDef::optional("num", AttrKind::Int), AXIS],
    effects: &[],
    infer: infer_unstack,
    cpu: Cpu::Kernel(|call| moving(call, run_unstack)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let axis = cx.attrs.int(1);
        let parts: Result<SmallVec<[Value; 4]>> = (0..cx.outputs.len()).map(|i| grad_or_zeros(cx, i)).collect();
        Ok(smallvec![Some(cx.emit.emit(&STACK, &parts?, &[("axis", axis.into())])?)])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(|cx| batch_rules::along(cx, 1)),
    rows: Rows::Parted(1),
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = kinds(&[3, 2]).into_iter().map(|x| Sample::new(vec![x]).with("num", 3)).collect();
        for (dims, num, axis) in
            [(&[2][..], 2, 0), (&[1], 1, -1), (&[2, 3, 2], 3, 1), (&[2, 3], 3, -1), (&[2, 0], 2, 0)]
        {
            out.push(Sample::new(vec![f64s(dims)]).with("num", num).with("axis", axis));
        }
        out
    },
};

fn infer_unstack(cx: &InferCx<'_>) -> Result<OutTypes> {
    let wanted = cx.attrs.opt_int(0).map(|n| crate::operands::size(n, "num")).transpose()?;
    let Some(dims) = cx.shape(0).dims() else {
        let n = wanted.ok_or_else(|| Error::invalid("must be given where the rank is unknown").argument("num"))?;
        check_number(n)?;
        return Ok((0..n).map(|_| like(cx, 0, Shape::UNRANKED)).collect());
    };
    let axis = normalize_axis(cx.attrs.int(1), dims.len(), "axis")?;
    let n = match (wanted, dims[axis].known()) {
        (Some(n), Some(size)) if n != size => return Err(wrong_num(n, size, axis)),
        (Some(n), _) | (None, Some(n)) => n,
        (None, None) => {
            return Err(
                Error::invalid(format!("must be given where the size of dimension {axis} is unknown")).argument("num")
            );
        }
    };
    check_number(n)?;
    let mut rest: SmallVec<[Dim; 4]> = dims.into();
    rest.remove(axis);
    Ok((0..n).map(|_| like(cx, 0, Shape::new(rest.iter().copied()))).collect())
}

/// The most results of one instruction, each of which takes memory even where it is empty.
const MAX_RESULTS: usize = 1 << 20;

fn check_number(results: usize) -> Result<()> {
    if results <= MAX_RESULTS {
        return Ok(());
    }
    Err(Error::invalid(format!("Number of outputs is too big: {results}; an operation has at most {MAX_RESULTS}")))
}

fn wrong_num(num: usize, size: usize, axis: usize) -> Error {
    Error::invalid(format!("{num} results, but dimension {axis} has size {size}")).argument("num")
}

fn run_unstack(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let axis = normalize_axis(call.attrs.int(1), x.rank(), "axis")?;
    let size = x.dims()[axis];
    if size != call.outputs.len() {
        return Err(wrong_num(call.outputs.len(), size, axis));
    }
    let mut dims = Dims::from(x.dims());
    dims.remove(axis);
    let outer: usize = dims[..axis].iter().product();
    if outer == 1 && x.remote().is_none() {
        let flat: Dims = x.dims()[axis..].into();
        let flat = x.reshaped(&flat)?;
        for i in 0..size {
            call.set(i, flat.rows(i, 1)?.reshaped(&dims)?);
        }
        return Ok(());
    }
    moves::split(call, x, outer, &vec![dims; size])
}

/// The pieces of an array along a dimension.
pub static SPLIT: OpDef = OpDef {
    name: "split",
    tf_name: "SplitV",
    doc: "The pieces of `value` along `axis`: of the given `sizes`, or `num` of equal size.\n\n\
          Exactly one of `sizes` and `num` is given. One of `sizes` may be -1: it is what the others leave. Along the first \
          dimension the results share the data of `value`. Raises InvalidArgument where the pieces do not make up the whole.",
    dtypes: ANY,
    operands: &[arg("value")],
    attrs: &[AttrDef::optional("sizes", AttrKind::Ints), AttrDef::optional("num", AttrKind::Int), AXIS],
    effects: &[],
    infer: |cx| {
        let (sizes, num) = (cx.attrs.opt_ints(0), cx.attrs.opt_int(1));
        let Some(dims) = cx.shape(0).dims() else {
            let n = pieces(Dim::Unknown, sizes, num)?.len();
            return Ok((0..n).map(|_| like(cx, 0, Shape::UNRANKED)).collect());
        };
        let axis = normalize_axis(cx.attrs.int(2), dims.len(), "axis")?;
        let piece = |&d: &Dim| -> Type {
            let mut dims: SmallVec<[Dim; 4]> = dims.into();
            dims[axis] = d;
            like(cx, 0, Shape::new(dims))
        };
        Ok(pieces(dims[axis], sizes, num)?.iter().map(piece).collect())
    },
    cpu: Cpu::Kernel(|call| moving(call, run_split)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let axis = cx.attrs.int(2);
        let parts: Result<SmallVec<[Value; 4]>> = (0..cx.outputs.len()).map(|i| grad_or_zeros(cx, i)).collect();
        Ok(smallvec![Some(cx.emit.emit(&CONCAT, &parts?, &[("axis", axis.into())])?)])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(|cx| batch_rules::along(cx, 2)),
    rows: Rows::Parted(2),
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            each_kind(&[5, 2], &[]).into_iter().map(|s| s.with("sizes", &[2, 0, 3][..])).collect();
        for (dims, sizes, axis) in [
            (&[3][..], &[3][..], 0),
            (&[4], &[1, -1], 0),
            (&[2, 6], &[-1, 1, 2], -1),
            (&[2, 3, 2], &[1, 2], 1),
            (&[0], &[0, 0], 0),
        ] {
            out.push(Sample::new(vec![f64s(dims)]).with("sizes", sizes).with("axis", axis));
        }
        out.push(Sample::new(vec![f64s(&[2, 6])]).with("num", 3).with("axis", 1));
        out.push(Sample::new(vec![f64s(&[4])]).with("num", 2));
        out
    },
};

/// The sizes of the pieces of a dimension.
fn pieces(whole: Dim, sizes: Option<&[i64]>, num: Option<i64>) -> Result<SmallVec<[Dim; 4]>> {
    let sizes = match (sizes, num) {
        (Some(sizes), None) => sizes,
        (None, Some(num)) => {
            let n = crate::operands::size(num, "num")?;
            return match whole.known() {
                _ if n == 0 => Err(Error::invalid("must be positive, got 0").argument("num")),
                _ if n > MAX_RESULTS => check_number(n).map(|()| SmallVec::new()),
                Some(size) if !size.is_multiple_of(n) => {
                    Err(Error::invalid(format!("{n} does not divide the size {size} evenly")).argument("num"))
                }
                _ if n == 1 => Ok(smallvec![whole]),
                size => Ok(SmallVec::from_elem(size.map_or(Dim::Unknown, |s| Dim::Known(s / n)), n)),
            };
        }
        _ => return Err(Error::invalid("exactly one of sizes and num must be given").argument("sizes")),
    };
    let mut hole = None;
    let mut total = 0usize;
    let mut out: SmallVec<[Dim; 4]> = SmallVec::new();
    for (i, &n) in sizes.iter().enumerate() {
        match usize::try_from(n) {
            Ok(n) => {
                total = total.saturating_add(n);
                out.push(Dim::Known(n));
            }
            Err(_) if n == -1 && hole.is_none() => {
                hole = Some(i);
                out.push(Dim::Unknown);
            }
            Err(_) => {
                let what =
                    if n == -1 { "more than one size is -1".into() } else { format!("size {i} is negative: {n}") };
                return Err(Error::invalid(what).argument("sizes"));
            }
        }
    }
    if let Some(whole) = whole.known() {
        let left = whole.checked_sub(total).filter(|&left| left == 0 || hole.is_some()).ok_or_else(|| {
            Error::invalid(format!("sizes {sizes:?} do not make up the size {whole}")).argument("sizes")
        })?;
        if let Some(hole) = hole {
            out[hole] = Dim::Known(left);
        }
    }
    Ok(out)
}

fn run_split(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let axis = normalize_axis(call.attrs.int(2), x.rank(), "axis")?;
    let all = known_dims(x.dims());
    let sizes = pieces(all[axis], call.attrs.opt_ints(0), call.attrs.opt_int(1))?;
    let outer: usize = x.dims()[..axis].iter().product();
    let dims: Vec<Dims> = sizes
        .iter()
        .map(|d| {
            let mut dims = Dims::from(x.dims());
            dims[axis] = d.known().unwrap_or(0);
            dims
        })
        .collect();
    if outer == 1 && x.remote().is_none() {
        let flat = x.reshaped(&x.dims()[axis..])?;
        let mut start = 0;
        for (i, dims) in dims.iter().enumerate() {
            call.set(i, flat.rows(start, dims[axis])?.reshaped(dims)?);
            start += dims[axis];
        }
        return Ok(());
    }
    moves::split(call, x, outer, &dims)
}
