//! Pooling: the greatest element, or the mean, of windows that move over images.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{
    Attr, AttrDef, AttrKind, Attrs, Batch, Call, Cost, CostCx, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, Jvp, OpDef,
    Pooling, Rows, Sample, Type, Vjp, arg,
};
use penstock_kernels::conv::Axis;
use penstock_kernels::pooling::{self as kernels, AVG_POOL_DTYPES, AtMax, MAX_POOL_DTYPES, Windows};
use smallvec::{SmallVec, smallvec};

use crate::array::ZEROS_LIKE;
use crate::grad::{Ex, rule};
use crate::operands::{described_shape, index_arg, known_dims, sizes_of};
use crate::sample_arrays::i32s;
use crate::samples::{DISTINCT, EDGES, tensor};
use crate::util::{PROMISE, one};
use crate::windows::{EXPLICIT_PADDINGS, MAX_AXES, PADDING, STRIDES, rules, three};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&MAX_POOL, &MAX_POOL_GRAD, &MAX_POOL_TAKE, &AVG_POOL, &AVG_POOL_GRAD];

const KSIZE: usize = 3;
const ATTRS: &[AttrDef] = &[STRIDES, PADDING, EXPLICIT_PADDINGS, AttrDef::required("ksize", AttrKind::Ints)];

/// The greatest elements of windows.
pub static MAX_POOL: OpDef = OpDef {
    name: "max_pool",
    tf_name: "MaxPool",
    doc: "The greatest element of each window and channel, over one to three spatial dimensions, channels last.\n\n\
          `input` of shape `[batch, in.., channels]` gives `[batch, out.., channels]`. `ksize`, the extents of the \
          windows, and `strides` have an element for each spatial dimension. `padding` is `'VALID'`, `'SAME'` or \
          `'EXPLICIT'`, with the elements before and after each spatial dimension in `explicit_paddings`; what is in \
          the padding takes no part. NaN where a window has one.\n\n\
          Errors: `InvalidArgument` for another rank, an input that is smaller than a window, padding of the size of \
          a window, and for attributes of another length.",
    dtypes: &[DTypeVar::new("T", MAX_POOL_DTYPES)],
    operands: &[arg("input")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| one(Type::tensor(cx.dtype(0), outputs(cx.shape(0), cx.attrs)?)),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let w = windows(x.dims(), call.attrs)?;
        let dtype = x.dtype();
        let dims = output_dims(&w, x.rank());
        if by_device(call, Pooling::Max, &w, &[x], &dims)? {
            return Ok(());
        }
        let y = call.out(0, dtype, &dims)?;
        // SAFETY: the windows are those of the operand, which is contiguous, and of the result, which shares no memory
        // with it.
        unsafe { kernels::max_pool(dtype, &w, x.as_ptr(), y) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| emit(t.x(0), &MAX_POOL_GRAD, &[t.g()], t.attrs))])),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::Images(&[0]),
    elements: Elements::Unknown,
    cost: Cost::Of(window),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            MAX_POOL_DTYPES.iter().map(|d| sample(vec![tensor(d, &[1, 4, 3, 2], DISTINCT)], &SHAPES[0])).collect();
        out.extend(cases().map(|(x, _, c)| sample(vec![x], c)));
        out.push(sample(vec![tensor(DType::F32, &[1, 3, 3, 1], EDGES)], &SHAPES[0]));
        out
    },
};

/// The cotangent of the operand of a maximum over windows.
pub static MAX_POOL_GRAD: OpDef = OpDef {
    name: "max_pool_grad",
    tf_name: "MaxPoolGrad",
    doc: "The transpose of `max_pool_take` in its second operand, which is the cotangent of the operand of `max_pool`: each element of \
          `grad` is added to the place of the greatest element of `input` in its window, the first of those that are \
          equal.\n\n\
          `grad` has the shape of the pooled `input`, the result that of `input`. The attributes are those of \
          `max_pool`.\n\n\
          Errors: `InvalidArgument` where `grad` has another shape, else as `max_pool`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLOAT)],
    operands: &[arg("input"), arg("grad")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        check_shape(&outputs(cx.shape(0), cx.attrs)?, cx.shape(1), "grad")?;
        one(Type::tensor(cx.dtype(0), cx.shape(0).clone()))
    },
    cpu: Cpu::Kernel(|call| at_max(call, AtMax::Give)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        // Where the greatest elements are does not change with them.
        rule(cx, |t| {
            smallvec![
                t.needed[0].then(|| t.x(0).then(&ZEROS_LIKE)),
                t.needed[1].then(|| emit(t.x(0), &MAX_POOL_TAKE, &[t.g()], t.attrs)),
            ]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(window),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = cases().map(|(x, y, c)| sample(vec![x, y], c)).collect();
        // Ties.
        let ones = tensor(DType::F32, &[1, 3, 3, 1], &[1.0]);
        out.push(sample(vec![ones, tensor(DType::F32, &[1, 2, 2, 1], DISTINCT)], &SHAPES[0]));
        out
    },
};

/// The elements at the places of the greatest.
pub static MAX_POOL_TAKE: OpDef = OpDef {
    name: "max_pool_take",
    tf_name: "MaxPoolGradGrad",
    doc: "For each window and channel the element of `values` at the place of the greatest element of `input`, the first of those that \
          are equal.\n\n\
          `values` has the shape of `input`, the result that of the pooled `input`. The attributes are those of \
          `max_pool`.\n\n\
          Errors: `InvalidArgument` where `values` has another shape, else as `max_pool`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::FLOAT)],
    operands: &[arg("input"), arg("values")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        check_shape(cx.shape(0), cx.shape(1), "values")?;
        one(Type::tensor(cx.dtype(0), outputs(cx.shape(0), cx.attrs)?))
    },
    cpu: Cpu::Kernel(|call| at_max(call, AtMax::Take)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            smallvec![
                t.needed[0].then(|| t.x(0).then(&ZEROS_LIKE)),
                t.needed[1].then(|| emit(t.x(0), &MAX_POOL_GRAD, &[t.g()], t.attrs)),
            ]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(window),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        cases()
            .map(|(x, _, c)| {
                let values = tensor(x.dtype(), x.dims(), &DISTINCT[5..]);
                sample(vec![x, values], c)
            })
            .collect()
    },
};

/// The means of windows.
pub static AVG_POOL: OpDef = OpDef {
    name: "avg_pool",
    tf_name: "AvgPool",
    doc: "The mean of each window and channel, over one to three spatial dimensions, channels last.\n\n\
          Shapes and attributes are those of `max_pool`; the padding is not counted. Floats of 16 bits are summed in \
          `float32`.\n\n\
          Errors: as `max_pool`.",
    dtypes: &[DTypeVar::new("T", AVG_POOL_DTYPES)],
    operands: &[arg("input")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| one(Type::tensor(cx.dtype(0), outputs(cx.shape(0), cx.attrs)?)),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let w = windows(x.dims(), call.attrs)?;
        let dtype = x.dtype();
        let dims = output_dims(&w, x.rank());
        if by_device(call, Pooling::Mean, &w, &[x], &dims)? {
            return Ok(());
        }
        let y = call.out(0, dtype, &dims)?;
        // SAFETY: the windows are those of the operand, which is contiguous, and of the result, which shares no memory
        // with it.
        unsafe { kernels::avg_pool(dtype, &w, x.as_ptr(), y) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| smallvec![t.needed[0].then(|| emit(t.x(0).extents(), &AVG_POOL_GRAD, &[t.g()], t.attrs))])
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::Images(&[0]),
    elements: Elements::Unknown,
    cost: Cost::Of(window),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            AVG_POOL_DTYPES.iter().map(|d| sample(vec![tensor(d, &[1, 4, 3, 2], DISTINCT)], &SHAPES[0])).collect();
        out.extend(cases().map(|(x, _, c)| sample(vec![x], c)));
        out
    },
};

/// The cotangent of the operand of a mean over windows.
pub static AVG_POOL_GRAD: OpDef = OpDef {
    name: "avg_pool_grad",
    tf_name: "AvgPoolGrad",
    doc: "The transpose of `avg_pool`: each element of `grad` is spread evenly over its window.\n\n\
          `input_sizes` is the shape of `input`, a vector; `grad` has the shape of the result. The attributes are \
          those of `avg_pool`.\n\n\
          Errors: `InvalidArgument` where `grad` has another shape, else as `avg_pool`.",
    dtypes: &[DTypeVar::new("T", AVG_POOL_DTYPES)],
    operands: &[index_arg("input_sizes"), arg("grad")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        let x = described_shape(cx, 0, "input_sizes")?;
        check_shape(&outputs(&x, cx.attrs)?, cx.shape(1), "grad")?;
        let x = match (x.rank(), cx.shape(1).rank()) {
            (None, Some(rank)) => Shape::of_rank(rank)?,
            _ => x,
        };
        one(Type::tensor(cx.dtype(1), x))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = sizes_of(call, 0, "input_sizes")?;
        let dy = call.inputs[1];
        let w = windows(&dims, call.attrs)?;
        check_dims(&output_dims(&w, dims.len()), dy, "grad")?;
        let dtype = dy.dtype();
        if by_device(call, Pooling::MeanGrad, &w, &[dy], &dims)? {
            return Ok(());
        }
        let dx = call.out(0, dtype, &dims)?;
        // SAFETY: the windows are those of the operand, which is contiguous, and of the result, which shares no memory
        // with it.
        unsafe { kernels::avg_pool_grad(dtype, &w, dy.as_ptr(), dx) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![None, t.needed[1].then(|| emit(t.g(), &AVG_POOL, &[], t.attrs))])),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Of(window),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        cases()
            .map(|(x, y, c)| {
                let dims: Vec<i32> = x.dims().iter().map(|&d| d as i32).collect();
                sample(vec![i32s(&dims), y], c)
            })
            .collect()
    },
};

/// Emits one of the operators with the attributes of another.
fn emit<'t>(first: Ex<'t>, op: &'static OpDef, rest: &[Ex<'t>], attrs: &Attrs) -> Ex<'t> {
    let named: SmallVec<[(&str, Attr); 4]> = ATTRS.iter().map(|a| a.name).zip(attrs.0.iter().cloned()).collect();
    first.emit(op, rest, &named)
}

/// The extents of the windows.
/// Each element is read as often as windows have it.
fn window(cx: &CostCx<'_>) -> f64 {
    let window: f64 = cx.attrs.ints(ATTRS.len() - 1).iter().map(|&n| n as f64).product();
    cx.read().max(cx.written()) * window.max(1.0)
}

fn ksize(attrs: &Attrs) -> Result<SmallVec<[usize; 3]>> {
    let given = attrs.ints(KSIZE);
    let sizes: Option<SmallVec<[usize; 3]>> =
        given.iter().map(|&k| usize::try_from(k).ok().filter(|&k| k > 0)).collect();
    let rank = 1..=MAX_AXES;
    sizes.filter(|k| rank.contains(&k.len())).ok_or_else(|| {
        Error::invalid(format!("expected 1 to {MAX_AXES} positive extents, got {given:?}")).argument("ksize")
    })
}

/// The shape of the result.
fn outputs(input: &Shape, attrs: &Attrs) -> Result<Shape> {
    let window = ksize(attrs)?;
    let axes = window.len();
    let rules = rules(attrs, axes, None)?;
    if let Some(i) = (0..axes).find(|&i| rules[i].may_miss(window[i])) {
        return Err(Error::invalid(format!("must be less than the window's {} along dimension {i}", window[i]))
            .argument("explicit_paddings"));
    }
    let any = Shape::of_rank(axes + 2)?;
    let shape = if input.rank().is_some() { input } else { &any };
    let dims = shape.dims().unwrap_or_default();
    if dims.len() != axes + 2 {
        return Err(Error::invalid(format!(
            "expected rank {} for {axes} spatial dimension(s), got shape {input}",
            axes + 2
        ))
        .argument("input"));
    }
    let mut out: SmallVec<[Dim; 4]> = dims.into();
    for i in 0..axes {
        out[i + 1] = rules[i].output(dims[i + 1], Dim::Known(window[i])).map_err(|e| e.argument("input"))?;
    }
    Ok(Shape::new(out))
}

/// The sizes of a pooling of known extents.
///
/// # Errors
/// `InvalidArgument` for extents and attributes that do not fit.
pub fn windows(input: &[usize], attrs: &Attrs) -> Result<Windows> {
    // All that can be wrong is found by what infers the shape.
    outputs(&Shape::new(known_dims(input)), attrs)?;
    let window = ksize(attrs)?;
    let rules = rules(attrs, window.len(), None)?;
    let along: SmallVec<[Axis; 3]> =
        window.iter().enumerate().map(|(i, &w)| rules[i].axis(input[i + 1], w)).collect::<Result<_>>()?;
    Ok(Windows { batch: input[0], axes: three(&along), channels: input[input.len() - 1] })
}

/// The extents of the result for an input of a rank.
fn output_dims(w: &Windows, rank: usize) -> SmallVec<[usize; 5]> {
    let spatial = w.axes[MAX_AXES + 2 - rank..].iter().map(|a| a.output);
    std::iter::once(w.batch).chain(spatial).chain([w.channels]).collect()
}

fn check_shape(due: &Shape, got: &Shape, name: &str) -> Result<()> {
    if due.compatible(got) {
        return Ok(());
    }
    Err(Error::invalid(format!("expected shape {due}, got {got}")).argument(name))
}

fn check_dims(due: &[usize], got: &Tensor, name: &str) -> Result<()> {
    if due == got.dims() {
        return Ok(());
    }
    Err(Error::invalid(format!("expected shape {due:?}, got {:?}", got.dims())).argument(name))
}

/// Has the device compute a pooling, where one works in the host's place.
fn by_device(
    call: &mut Call<'_>,
    kind: Pooling,
    windows: &Windows,
    operands: &[&Tensor],
    dims: &[usize],
) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // SAFETY: the windows are those of the operands and of the result, whose extents were checked.
    let made = unsafe { device.pool(kind, windows, operands, dims) }?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

fn at_max(call: &mut Call<'_>, what: AtMax) -> Result<()> {
    let (x, v) = (call.inputs[0], call.inputs[1]);
    let w = windows(x.dims(), call.attrs)?;
    let pooled = output_dims(&w, x.rank());
    let dims: SmallVec<[usize; 5]> = match what {
        AtMax::Take => {
            check_dims(x.dims(), v, "values")?;
            pooled
        }
        AtMax::Give => {
            check_dims(&pooled, v, "grad")?;
            x.dims().into()
        }
    };
    let dtype = x.dtype();
    if by_device(call, Pooling::AtMax(what), &w, &[x, v], &dims)? {
        return Ok(());
    }
    let out = call.out(0, dtype, &dims)?;
    // SAFETY: the windows are those of the operands, which are contiguous, and of the result, which shares no memory
    // with them.
    unsafe { kernels::at_max(dtype, what, &w, x.as_ptr(), v.as_ptr(), out) };
    Ok(())
}

struct Case {
    input: &'static [usize],
    ksize: &'static [i64],
    strides: &'static [i64],
    padding: &'static str,
    explicit: &'static [i64],
}

const SHAPES: &[Case] = &[
    Case { input: &[1, 4, 3, 2], ksize: &[2, 2], strides: &[], padding: "VALID", explicit: &[] },
    Case { input: &[2, 5, 1], ksize: &[3], strides: &[2], padding: "SAME", explicit: &[] },
    Case { input: &[1, 4, 5, 2], ksize: &[3, 2], strides: &[2, 3], padding: "SAME", explicit: &[] },
    Case { input: &[1, 3, 3, 1], ksize: &[3, 3], strides: &[1, 1], padding: "SAME", explicit: &[] },
    Case { input: &[1, 5, 2, 1], ksize: &[1, 1], strides: &[3, 1], padding: "VALID", explicit: &[] },
    Case { input: &[1, 3, 4, 1], ksize: &[2, 3], strides: &[1, 2], padding: "EXPLICIT", explicit: &[1, 0, 2, 1] },
    Case { input: &[1, 2, 3, 2, 1], ksize: &[2, 2, 1], strides: &[], padding: "VALID", explicit: &[] },
    Case { input: &[0, 3, 3, 1], ksize: &[2, 2], strides: &[], padding: "VALID", explicit: &[] },
    Case { input: &[1, 1, 1], ksize: &[2], strides: &[], padding: "VALID", explicit: &[] },
    Case { input: &[1, 3, 0], ksize: &[2], strides: &[], padding: "VALID", explicit: &[] },
];

fn sample(inputs: Vec<Tensor>, case: &Case) -> Sample {
    let mut out = Sample::new(inputs).with("ksize", case.ksize).with("padding", case.padding);
    for (name, values) in [("strides", case.strides), ("explicit_paddings", case.explicit)] {
        if !values.is_empty() {
            out = out.with(name, values);
        }
    }
    out
}

/// An input and a tensor of the shape of the result, for each case.
fn cases() -> impl Iterator<Item = (Tensor, Tensor, &'static Case)> {
    SHAPES.iter().map(|case| {
        let x = tensor(DType::F64, case.input, DISTINCT);
        let attrs = MAX_POOL.attributes(&sample(Vec::new(), case).attrs).expect("the attributes of a sample");
        let w = windows(case.input, &attrs).expect("the sizes of a sample");
        let y = tensor(DType::F64, &output_dims(&w, case.input.len()), &DISTINCT[3..]);
        (x, y, case)
    })
}
