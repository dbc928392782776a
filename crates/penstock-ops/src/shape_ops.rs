//! Operators that give the same elements another shape, another order, or repeat them.

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor, num_elements};
use penstock_ir::{
    ArgType, Attr, AttrDef, AttrKind, Batch, Call, Cost, Cotangents, Cpu, Cuda, DTypeVar, Element, Elements, Fails,
    Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Vjp, VjpCx, arg, arg_of,
};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::grad::{rule, unary_rule};
use crate::moves::{self, moving};
use crate::operands::{
    as_ints, described_shape, index_arg, int_vector, known_dims, like, rank_of, require_rank, shape_of, size, sizes_of,
};
use crate::sample_arrays::{each_kind, f64s, i32_array, i32s, i64s, kinds};
use crate::samples::{strings, tensor};
use crate::util::{PROMISE, normalize_axis, one};

pub(crate) const ANY: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::ANY)];

/// The same elements under another shape.
pub static RESHAPE: OpDef = OpDef {
    name: "reshape",
    tf_name: "Reshape",
    doc: "The elements of `x`, in row-major order, under the extents `shape`.\n\n\
          One size may be -1: it is what the number of elements leaves. The result shares the data of `x`. Raises \
          InvalidArgument where the number of elements differs, for a size below -1, and for more than one -1.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("shape")],
    attrs: &[],
    effects: &[],
    infer: infer_reshape,
    cpu: Cpu::Kernel(run_reshape),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| t.g().reshape_as(t.x(0))), None])),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::reshape),
    rows: Rows::Same,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: reshape_samples,
};

/// The sizes of `shape` where a size below 0 stands for -1, and the position of that.
fn placeholder(sizes: &[i64]) -> Result<Option<usize>> {
    let mut found = None;
    for (i, &n) in sizes.iter().enumerate() {
        if n < -1 {
            return Err(Error::invalid(format!("size {i} must be non-negative or -1, got {n}")).argument("shape"));
        }
        if n == -1 {
            if let Some(first) = found {
                return Err(Error::invalid(format!("Only one input size may be -1, not both {first} and {i}"))
                    .argument("shape"));
            }
            found = Some(i);
        }
    }
    Ok(found)
}

/// The size that -1 stands for: sizes that `x` and the others share cancel, the rest is divided.
///
/// `Dim::Unknown` where it depends on what is not known; `None` where there is no such size.
fn missing_size(x: &[Dim], others: impl Iterator<Item = Dim>) -> Option<Dim> {
    let mut rest: SmallVec<[Dim; 6]> = x.into();
    let mut divisor: SmallVec<[Dim; 6]> = SmallVec::new();
    for dim in others {
        match rest.iter().position(|&d| d == dim && d != Dim::Unknown) {
            Some(i) => _ = rest.swap_remove(i),
            None => divisor.push(dim),
        }
    }
    let product = |dims: &[Dim]| {
        let known: Dims = dims.iter().filter_map(|d| d.known()).collect();
        num_elements(&known)
    };
    let open: SmallVec<[Dim; 2]> = rest.iter().copied().filter(|d| d.known().is_none()).collect();
    let (Some(top), Some(bottom)) = (product(&rest), product(&divisor)) else { return Some(Dim::Unknown) };
    if divisor.iter().any(|d| d.known().is_none()) {
        return Some(Dim::Unknown);
    }
    match open.as_slice() {
        [] if bottom == 0 => None,
        [] => top.is_multiple_of(bottom).then(|| Dim::Known(top / bottom)),
        &[dim @ Dim::Sym(_)] if top == bottom && bottom != 0 => Some(dim),
        _ => Some(Dim::Unknown),
    }
}

fn infer_reshape(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_rank(cx, 1, 1, "shape")?;
    let x = cx.shape(0);
    let elements: SmallVec<[Element; 4]> = match cx.values.elements(1) {
        Some(elements) => elements,
        None => match cx.shape(1).extents() {
            Some(n) => {
                let dims = Shape::of_rank(n[0])?;
                dims.dims().unwrap_or_default().iter().map(|&d| Element::Extent(d)).collect()
            }
            None => return one(like(cx, 0, Shape::UNRANKED)),
        },
    };
    let mut dims: SmallVec<[Dim; 4]> = elements.iter().map(|e| e.dim()).collect();
    let sizes = cx.values.constant(1).and_then(|t| t.to_ints().ok());
    if let Some(sizes) = &sizes {
        placeholder(sizes)?;
    }
    let mut open = (0..dims.len()).filter(|&i| dims[i] == Dim::Unknown);
    // An unknown size that is no -1 follows from the others only where none of them can be zero.
    let follows = |hole: usize| {
        let positive = |(i, &d): (usize, &Dim)| i == hole || d.known().is_some_and(|n| n > 0);
        elements[hole] == Element::Negative || dims.iter().enumerate().all(positive)
    };
    let hole = open.next().filter(|&i| open.next().is_none() && follows(i));
    let certain = hole.is_none() || sizes.is_some();
    if let (Some(x), Some(hole)) = (x.dims(), hole) {
        let others = dims.iter().enumerate().filter(|&(i, _)| i != hole).map(|(_, &d)| d);
        match missing_size(x, others) {
            Some(dim) => dims[hole] = dim,
            None if certain && x.iter().all(|d| d.known().is_some()) => {
                let shape = Shape::new(dims);
                return Err(no_multiple(cx.shape(0), &shape).argument("shape"));
            }
            None => {}
        }
    }
    let shape = Shape::new(dims);
    if let (Some(a), Some(b)) = (x.num_elements(), shape.num_elements())
        && a != b
        && (x.is_static() && shape.is_static())
    {
        return Err(Error::invalid(format!(
            "Input to reshape is a tensor with {a} values, but the requested shape has {b}: {x} to {shape}"
        ))
        .argument("shape"));
    }
    one(like(cx, 0, shape))
}

/// The error of a size to be found that is no whole number.
fn no_multiple(from: &Shape, to: &Shape) -> Error {
    let others = to.dims().unwrap_or(&[]).iter().filter_map(|d| d.known()).product::<usize>();
    let count = from.num_elements().unwrap_or(0);
    Error::invalid(format!(
        "Input to reshape is a tensor with {count} values, but the requested shape requires a multiple of {others}: {from} to {to}"
    ))
}

fn run_reshape(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let sizes = int_vector(call.inputs[1], "shape")?;
    let hole = placeholder(&sizes)?;
    let mut dims: Dims = sizes.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    if let Some(hole) = hole {
        let others = dims.iter().enumerate().filter(|&(i, _)| i != hole).map(|(_, &d)| Dim::Known(d));
        dims[hole] = missing_size(&known_dims(x.dims()), others).and_then(Dim::known).ok_or_else(|| {
            let shown = Shape::new(sizes.iter().map(|&n| usize::try_from(n).map_or(Dim::Unknown, Dim::Known)));
            no_multiple(&Shape::known(x.dims()), &shown).argument("shape")
        })?;
    }
    call.set(0, x.reshaped(&dims).map_err(|e| e.argument("shape"))?);
    Ok(())
}

fn reshape_samples() -> Vec<Sample> {
    let mut out: Vec<Sample> = each_kind(&[2, 6], &[i32s(&[3, -1, 2])]);
    for (dims, shape) in [
        (&[][..], &[][..]),
        (&[], &[1, 1]),
        (&[1], &[]),
        (&[4], &[-1]),
        (&[0], &[0]),
        (&[0, 3], &[0, -1]),
        (&[0, 3], &[-1, 3]),
        (&[3, 0], &[2, 0, 5]),
    ] {
        out.push(Sample::new(vec![f64s(dims), i64s(shape)]));
    }
    out
}

/// A dimension of size 1 more.
pub static EXPAND_DIMS: OpDef = OpDef {
    name: "expand_dims",
    tf_name: "ExpandDims",
    doc: "`x` with a dimension of size 1 inserted at `axis`, which is in `-rank - 1 ..= rank`.\n\n\
          The result shares the data of `x`.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("axis", AttrKind::Int)],
    effects: &[],
    infer: |cx| {
        let Some(dims) = cx.shape(0).dims() else { return one(like(cx, 0, Shape::UNRANKED)) };
        let mut dims: SmallVec<[Dim; 4]> = dims.into();
        dims.insert(normalize_axis(cx.attrs.int(0), dims.len() + 1, "axis")?, Dim::Known(1));
        one(like(cx, 0, Shape::new(dims)))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let mut dims = Dims::from(x.dims());
        dims.insert(normalize_axis(call.attrs.int(0), dims.len() + 1, "axis")?, 1);
        call.set(0, x.reshaped(&dims)?);
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let axes = [cx.attrs.int(0)];
        rule(cx, |t| smallvec![Some(t.g().emit(&SQUEEZE, &[], &[("axes", axes[..].into())]))])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(|cx| batch_rules::along(cx, 0)),
    rows: Rows::Same,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = each_kind(&[2, 3], &[]).into_iter().map(|s| s.with("axis", 1)).collect();
        for (dims, axis) in [(&[][..], 0), (&[], -1), (&[3], -1), (&[3], -2), (&[0, 2], 2)] {
            out.push(Sample::new(vec![f64s(dims)]).with("axis", axis));
        }
        out
    },
};

/// Dimensions of size 1 less.
pub static SQUEEZE: OpDef = OpDef {
    name: "squeeze",
    tf_name: "Squeeze",
    doc: "`x` without the dimensions `axes`, which must have size 1; without all that have where `axes` is left out or empty.\n\n\
          The result shares the data of `x`.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[AttrDef::optional("axes", AttrKind::Ints)],
    effects: &[],
    infer: |cx| {
        let Some(dims) = cx.shape(0).dims() else { return one(like(cx, 0, Shape::UNRANKED)) };
        let shape = squeezed(dims, cx.attrs.opt_ints(0))?.map_or(Shape::UNRANKED, Shape::new);
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let dims = squeezed(&known_dims(x.dims()), call.attrs.opt_ints(0))?.unwrap_or_default();
        let dims: Dims = dims.iter().filter_map(|d| d.known()).collect();
        call.set(0, x.reshaped(&dims)?);
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![Some(t.g().reshape_as(t.x(0)))])),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::squeeze),
    rows: Rows::Same,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = each_kind(&[1, 3, 1], &[]);
        out.extend(each_kind(&[1, 3, 1], &[]).into_iter().map(|s| s.with("axes", &[-1][..])));
        for (dims, axes) in [(&[][..], &[][..]), (&[1], &[0]), (&[1, 1], &[-2, 1]), (&[0, 1], &[1])] {
            out.push(Sample::new(vec![f64s(dims)]).with("axes", axes));
        }
        out
    },
};

/// The dimensions that squeezing leaves; `None` where not even their number is known.
fn squeezed(dims: &[Dim], axes: Option<&[i64]>) -> Result<Option<SmallVec<[Dim; 4]>>> {
    let axes = axes.unwrap_or(&[]);
    if axes.is_empty() {
        let all = dims.iter().all(|d| d.known().is_some());
        return Ok(all.then(|| dims.iter().copied().filter(|&d| d != Dim::Known(1)).collect()));
    }
    let mut gone: SmallVec<[bool; 6]> = SmallVec::from_elem(false, dims.len());
    for &axis in axes {
        let i = normalize_axis(axis, dims.len(), "axes")?;
        if !dims[i].compatible(Dim::Known(1)) {
            return Err(Error::invalid(format!(
                "Can not squeeze dim[{i}], expected a dimension of 1, got {}",
                dims[i]
            ))
            .argument("axes"));
        }
        gone[i] = true;
    }
    Ok(Some(dims.iter().zip(&gone).filter(|&(_, &g)| !g).map(|(&d, _)| d).collect()))
}

/// Dimensions in another order.
pub static TRANSPOSE: OpDef = OpDef {
    name: "transpose",
    tf_name: "Transpose",
    doc: "`x` with its dimensions in the order `perm`: dimension `i` of the result is dimension `perm[i]` of `x`.\n\n\
          Without `perm` the order is reversed. `perm` is an attribute: an order that is computed at run time is not supported.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[AttrDef::optional("perm", AttrKind::Ints)],
    effects: &[],
    infer: |cx| {
        let shape = match (cx.shape(0).dims(), cx.attrs.opt_ints(0)) {
            (None, None) => Shape::UNRANKED,
            (None, Some(perm)) => {
                permutation(Some(perm), perm.len())?;
                Shape::of_rank(perm.len())?
            }
            (Some(dims), perm) => Shape::new(permutation(perm, dims.len())?.iter().map(|&p| dims[p])),
        };
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(|call| moving(call, run_transpose)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let inverse = match cx.attrs.opt_ints(0) {
            Some(perm) => {
                let perm = permutation(Some(perm), perm.len())?;
                let mut inverse: SmallVec<[i64; 4]> = SmallVec::from_elem(0, perm.len());
                for (i, &p) in perm.iter().enumerate() {
                    inverse[p] = i as i64;
                }
                Attr::Ints(inverse)
            }
            None => Attr::None,
        };
        rule(cx, |t| smallvec![Some(t.g().emit(&TRANSPOSE, &[], &[("perm", inverse.clone())]))])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::transpose),
    rows: Rows::Transposed,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            each_kind(&[2, 3, 4], &[]).into_iter().map(|s| s.with("perm", &[2, 0, 1][..])).collect();
        out.extend([&[][..], &[3], &[2, 3], &[17, 33]].map(|dims| Sample::new(vec![f64s(dims)])));
        out.push(Sample::new(vec![f64s(&[0, 3])]).with("perm", &[-1, 0][..]));
        out.push(Sample::new(vec![f64s(&[2, 1, 3, 2])]).with("perm", &[0, 2, 1, 3][..]));
        out
    },
};

/// `perm` as indices, checked; the reversed order where it is left out.
///
/// # Errors
/// `InvalidArgument` for what is no permutation of the dimensions.
pub fn permutation(perm: Option<&[i64]>, rank: usize) -> Result<SmallVec<[usize; 6]>> {
    let Some(perm) = perm else { return Ok((0..rank).rev().collect()) };
    if perm.len() != rank {
        return Err(Error::invalid(format!("has {} entries for {rank} dimension(s)", perm.len())).argument("perm"));
    }
    let mut seen: SmallVec<[bool; 6]> = SmallVec::from_elem(false, rank);
    perm.iter()
        .map(|&p| {
            let i = normalize_axis(p, rank, "perm")?;
            if std::mem::replace(&mut seen[i], true) {
                return Err(Error::invalid(format!("names dimension {i} twice")).argument("perm"));
            }
            Ok(i)
        })
        .collect()
}

fn run_transpose(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let perm = permutation(call.attrs.opt_ints(0), x.rank())?;
    moves::transpose(call, x, &perm)
}

/// Repetition to a shape.
pub static BROADCAST_TO: OpDef = OpDef {
    name: "broadcast_to",
    tf_name: "BroadcastTo",
    doc: "`x` repeated to the extents `shape` by NumPy's rule of broadcasting.\n\n\
          Raises InvalidArgument where a dimension of `x` is neither 1 nor the one it stands for, or `x` has more dimensions.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("shape")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let target = described_shape(cx, 1, "shape")?;
        let (Some(from), Some(to)) = (cx.shape(0).dims(), target.dims()) else { return one(like(cx, 0, target)) };
        let mut dims: SmallVec<[Dim; 4]> = to.into();
        let lead = to.len().checked_sub(from.len()).ok_or_else(|| no_broadcast(cx.shape(0), &target))?;
        for (out, &f) in dims[lead..].iter_mut().zip(from) {
            match (f, *out) {
                (Dim::Known(1), _) => {}
                (Dim::Known(a), Dim::Known(b)) if a != b => return Err(no_broadcast(cx.shape(0), &target)),
                (Dim::Known(a), _) => *out = Dim::Known(a),
                _ => {}
            }
        }
        one(like(cx, 0, Shape::new(dims)))
    },
    cpu: Cpu::Kernel(|call| moving(call, run_broadcast_to)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| t.g().unbroadcast(t.x(0))), None])),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::broadcast_to),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::Never,
    fold: Fold::Never("it would store every repetition"),
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = each_kind(&[3, 1], &[i32s(&[2, 3, 4])]);
        for (dims, shape) in [
            (&[][..], &[][..]),
            (&[], &[2, 2]),
            (&[1], &[0]),
            (&[1], &[5]),
            (&[0], &[2, 0]),
            (&[2, 3], &[2, 3]),
            (&[3], &[0, 3]),
        ] {
            out.push(Sample::new(vec![f64s(dims), i64s(shape)]));
        }
        out
    },
};

fn no_broadcast(from: &Shape, to: &Shape) -> Error {
    Error::invalid(format!("shape {from} does not broadcast to {to}")).argument("shape")
}

fn run_broadcast_to(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let dims = sizes_of(call, 1, "shape")?;
    if x.dims() == dims.as_slice() {
        call.set(0, x.clone());
        return Ok(());
    }
    let fits = dims
        .len()
        .checked_sub(x.rank())
        .is_some_and(|lead| x.dims().iter().zip(&dims[lead..]).all(|(&a, &b)| a == b || a == 1));
    if !fits {
        return Err(no_broadcast(&Shape::known(x.dims()), &Shape::known(&dims)));
    }
    moves::broadcast_to(call, x, &dims).map_err(|e| e.argument("shape"))
}

/// Repetition by number.
pub static TILE: OpDef = OpDef {
    name: "tile",
    tf_name: "Tile",
    doc: "`x` repeated `multiples[i]` times along dimension `i`.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("multiples")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let multiples = described_shape(cx, 1, "multiples")?;
        let shape = match (cx.shape(0).dims(), multiples.dims()) {
            (Some(x), Some(multiples)) => {
                require_multiples(multiples.len(), x.len())?;
                Shape::new(x.iter().zip(multiples).map(|pair| match pair {
                    (&d, Dim::Known(1)) => d,
                    (Dim::Known(1), &m) => m,
                    (_, Dim::Known(0)) | (Dim::Known(0), _) => Dim::Known(0),
                    (&Dim::Known(a), &Dim::Known(b)) => a.checked_mul(b).map_or(Dim::Unknown, Dim::Known),
                    _ => Dim::Unknown,
                }))
            }
            (Some(x), None) => Shape::of_rank(x.len())?,
            (None, Some(multiples)) => Shape::of_rank(multiples.len())?,
            (None, None) => Shape::UNRANKED,
        };
        one(like(cx, 0, shape))
    },
    cpu: Cpu::Kernel(|call| moving(call, run_tile)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(tile_vjp),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::tile),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Never("it would store every repetition"),
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = each_kind(&[2, 3], &[i32s(&[2, 3])]);
        for (dims, multiples) in
            [(&[][..], &[][..]), (&[3], &[0]), (&[0], &[4]), (&[1], &[5]), (&[2, 1, 2], &[1, 3, 2])]
        {
            out.push(Sample::new(vec![f64s(dims), i64s(multiples)]));
        }
        out
    },
};

fn require_multiples(got: usize, rank: usize) -> Result<()> {
    if got == rank {
        return Ok(());
    }
    Err(Error::invalid(format!("has {got} entries for {rank} dimension(s)")).argument("multiples"))
}

fn run_tile(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    let multiples = sizes_of(call, 1, "multiples")?;
    require_multiples(multiples.len(), x.rank())?;
    let dims: Option<Dims> = x.dims().iter().zip(&multiples).map(|(&d, &m)| d.checked_mul(m)).collect();
    let dims = dims.ok_or_else(|| {
        Error::exhausted(format!("{:?} times {multiples:?} is too large to address", x.dims())).argument("multiples")
    })?;
    moves::tile(call, x, &multiples, &dims).map_err(|e| e.argument("multiples"))
}

/// The repetitions are summed: the cotangent as `[m0, d0, m1, d1, …]`, over the even axes.
fn tile_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    if !cx.needed[0] {
        return Ok(smallvec![None, None]);
    }
    let Some(rank) = rank_of(cx.emit, cx.inputs[0], cx.inputs[1]) else {
        return Err(Error::unimplemented("the gradient of tile needs a known rank").argument("x"));
    };
    let shape = shape_of(cx, cx.inputs[0])?;
    let dtype = cx.emit.type_of(cx.inputs[1]).dtype();
    let shape = as_ints(cx, shape, dtype)?;
    let pairs = cx.emit.emit(cx.ops.stack, &[cx.inputs[1], shape], &[("axis", 1.into())])?;
    let flat = cx.emit.constant(i32s(&[-1]))?;
    let split = cx.emit.emit(&RESHAPE, &[pairs, flat], &[])?;
    let repeated = cx.emit.emit(&RESHAPE, &[cx.grads[0].unwrap_or(cx.outputs[0]), split], &[])?;
    let axes: Vec<i64> = (0..rank as i64).map(|i| 2 * i).collect();
    let sum = cx.emit.emit(cx.ops.reduce_sum, &[repeated], &[("axes", axes.into())])?;
    Ok(smallvec![Some(sum), None])
}

/// Dimensions backwards.
pub static REVERSE: OpDef = OpDef {
    name: "reverse",
    tf_name: "ReverseV2",
    doc: "`x` with the order of the elements along each of `axes` reversed.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("axes", AttrKind::Ints)],
    effects: &[],
    infer: |cx| {
        if let Some(rank) = cx.shape(0).rank() {
            marked(cx.attrs.ints(0), rank)?;
        }
        one(cx.inputs[0].clone())
    },
    cpu: Cpu::Kernel(|call| moving(call, run_reverse)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let axes = cx.attrs.0[0].clone();
        rule(cx, |t| smallvec![Some(t.g().emit(&REVERSE, &[], &[("axes", axes)]))])
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(|cx| batch_rules::along_all(cx, 0)),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            each_kind(&[2, 3, 2], &[]).into_iter().map(|s| s.with("axes", &[0, -1][..])).collect();
        for (dims, axes) in [(&[][..], &[][..]), (&[0], &[0]), (&[1], &[-1]), (&[4], &[0]), (&[2, 3], &[])] {
            out.push(Sample::new(vec![f64s(dims)]).with("axes", axes));
        }
        out
    },
};

fn marked(axes: &[i64], rank: usize) -> Result<SmallVec<[bool; 6]>> {
    let mut marks: SmallVec<[bool; 6]> = SmallVec::from_elem(false, rank);
    for &axis in axes {
        let i = normalize_axis(axis, rank, "axes")?;
        if std::mem::replace(&mut marks[i], true) {
            return Err(Error::invalid(format!("names dimension {i} twice")).argument("axes"));
        }
    }
    Ok(marks)
}

fn run_reverse(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0];
    moves::reverse(call, x, &marked(call.attrs.ints(0), x.rank())?)
}

/// A margin around an array.
pub static PAD: OpDef = OpDef {
    name: "pad",
    tf_name: "PadV2",
    doc: "`x` with `paddings[i, 0]` times `constant_values` before and `paddings[i, 1]` times after it along dimension `i`.\n\n\
          `paddings` is an integer matrix `[rank, 2]`, `constant_values` a scalar.",
    dtypes: ANY,
    operands: &[arg("x"), index_arg("paddings"), arg_of("constant_values", ArgType::Var(0))],
    attrs: &[],
    effects: &[],
    infer: infer_pad,
    cpu: Cpu::Kernel(|call| moving(call, run_pad)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(pad_vjp),
    jvp: Jvp::Linear(&[0, 2]),
    batch: Batch::Rule(batch_rules::pad),
    rows: Rows::Padded,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let paddings = |v: &[i32]| i32_array(&[v.len() / 2, 2], v);
        let value = |like: &Tensor| match like.dtype() {
            DType::Str => strings(&[], &["-"]),
            d => tensor(d, &[], &[7.0]),
        };
        let mut out: Vec<Sample> = Vec::new();
        for x in kinds(&[2, 3]) {
            let v = value(&x);
            out.push(Sample::new(vec![x, paddings(&[1, 0, 2, 1]), v]));
        }
        for (dims, pads) in [(&[][..], &[][..]), (&[0], &[1, 2]), (&[1], &[0, 0]), (&[2, 0, 2], &[0, 1, 0, 0, 1, 1])] {
            let x = f64s(dims);
            let v = value(&x);
            out.push(Sample::new(vec![x, paddings(pads), v]));
        }
        out
    },
};

/// The amounts before and after each of `rank` dimensions.
pub fn paddings(tensor: &Tensor, rank: usize) -> Result<(Dims, Dims)> {
    if tensor.dims() != [rank, 2] {
        return Err(Error::invalid(format!("expected shape [{rank},2], got {:?}", tensor.dims())).argument("paddings"));
    }
    let (mut before, mut after) = (Dims::new(), Dims::new());
    for pair in tensor.to_ints()?.as_chunks::<2>().0 {
        before.push(size(pair[0], "paddings")?);
        after.push(size(pair[1], "paddings")?);
    }
    Ok((before, after))
}

fn infer_pad(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_rank(cx, 1, 2, "paddings")?;
    require_rank(cx, 2, 0, "constant_values")?;
    let pairs = cx.shape(1).dims().and_then(|d| d[0].known());
    let shape = match (cx.shape(0).dims(), pairs) {
        (Some(dims), n) => {
            if let Some(table) = cx.values.constant(1) {
                let (before, after) = paddings(&table, dims.len())?;
                Shape::new(dims.iter().enumerate().map(|(i, &d)| match (d, before[i], after[i]) {
                    (d, 0, 0) => d,
                    (Dim::Known(n), b, a) => {
                        n.checked_add(b).and_then(|n| n.checked_add(a)).map_or(Dim::Unknown, Dim::Known)
                    }
                    _ => Dim::Unknown,
                }))
            } else if n.is_some_and(|n| n != dims.len()) {
                return Err(Error::invalid(format!("expected shape [{},2], got {}", dims.len(), cx.shape(1)))
                    .argument("paddings"));
            } else {
                Shape::of_rank(dims.len())?
            }
        }
        (None, Some(n)) => Shape::of_rank(n)?,
        (None, None) => Shape::UNRANKED,
    };
    one(like(cx, 0, shape))
}

fn run_pad(call: &mut Call<'_>) -> Result<()> {
    let (x, value) = (call.inputs[0], call.inputs[2]);
    if value.len() != 1 {
        return Err(
            Error::invalid(format!("expected a scalar, got shape {:?}", value.dims())).argument("constant_values")
        );
    }
    let (before, after) = paddings(call.inputs[1], x.rank())?;
    let sum = |i: usize| x.dims()[i].checked_add(before[i])?.checked_add(after[i]);
    let dims: Dims = (0..x.rank())
        .map(sum)
        .collect::<Option<Dims>>()
        .ok_or_else(|| Error::exhausted("the padded size is too large to address").argument("paddings"))?;
    moves::pad(call, x, &before, value, &dims).map_err(|e| e.argument("paddings"))
}

fn pad_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    let g = cx.grads[0].unwrap_or(cx.outputs[0]);
    let (zero, one) = (cx.emit.constant(i32s(&[0, 0]))?, cx.emit.constant(i32s(&[1, 1]))?);
    // The first column of the paddings.
    let masks = [("begin_mask", 1.into()), ("end_mask", 1.into()), ("shrink_axis_mask", 2.into())];
    let before = cx.emit.emit(cx.ops.strided_slice, &[cx.inputs[1], zero, one, one], &masks)?;
    let shape = shape_of(cx, cx.inputs[0])?;
    let before = as_ints(cx, before, DType::I64)?;
    let inner = cx.emit.emit(cx.ops.slice, &[g, before, shape], &[])?;
    let margin = if cx.needed[2] {
        let all = cx.emit.emit(cx.ops.reduce_sum, &[g], &[])?;
        let kept = cx.emit.emit(cx.ops.reduce_sum, &[inner], &[])?;
        Some(cx.emit.emit(cx.ops.sub, &[all, kept], &[])?)
    } else {
        None
    };
    Ok(smallvec![cx.needed[0].then_some(inner), None, margin])
}

/// The rule of an operator whose result is its operand.
pub(crate) fn pass_through(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    unary_rule(cx, |g, _, _| g)
}

#[cfg(test)]
mod tests {
    use penstock_data::Symbol;

    use super::*;

    #[test]
    fn the_missing_size_is_what_cancelling_leaves() {
        let (k, s0, s1) = (Dim::Known, Dim::Sym(Symbol(0)), Dim::Sym(Symbol(1)));
        let missing = |x: &[Dim], others: &[Dim]| missing_size(x, others.iter().copied());
        assert_eq!(missing(&[k(12)], &[k(4)]), Some(k(3)));
        assert_eq!(missing(&[k(12)], &[k(5)]), None);
        assert_eq!(missing(&[s0, k(28), k(28)], &[k(784)]), Some(s0));
        assert_eq!(missing(&[s0, k(28)], &[s0]), Some(k(28)));
        assert_eq!(missing(&[s0, s1], &[s1]), Some(s0));
        assert_eq!(missing(&[s0, k(4)], &[k(8)]), Some(Dim::Unknown));
        assert_eq!(missing(&[k(0), k(28)], &[k(0)]), Some(k(28)));
        assert_eq!(missing(&[k(0), k(5)], &[k(3)]), Some(k(0)));
        assert_eq!(missing(&[s0, k(4)], &[k(0)]), Some(Dim::Unknown));
        assert_eq!(missing(&[k(6)], &[k(0)]), None);
        assert_eq!(missing(&[Dim::Unknown], &[Dim::Unknown]), Some(Dim::Unknown));
    }
}
