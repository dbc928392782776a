//! Convolutions. The three operators are one trilinear form, each contracted with two of its arguments, so that they
//! are one another's derivatives to any order.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{
    Attr, AttrDef, AttrKind, Attrs, Batch, Call, Convolution, Cost, CostCx, Cpu, Cuda, DTypeVar, Elements, Fails, Fold,
    Jvp, OpDef, Rows, Sample, Type, Vjp, arg,
};
use penstock_kernels::conv::{self as kernels, Axis, CONV_DTYPES, Geometry};
use penstock_kernels::cost;
use smallvec::{SmallVec, smallvec};

use crate::grad::{Ex, rule};
use crate::operands::{described_shape, index_arg, known_dims, sizes_of};
use crate::sample_arrays::{i32s, i64s};
use crate::samples::{DISTINCT, LINE, tensor};
use crate::util::{PROMISE, one};
use crate::windows::{EXPLICIT_PADDINGS, MAX_AXES, PADDING, STRIDES, rules, three};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CONV, &CONV_INPUT_GRAD, &CONV_FILTER_GRAD];

const DTYPES: &[DTypeVar] = &[DTypeVar::new("T", CONV_DTYPES)];
const DILATIONS: usize = 3;
const ATTRS: &[AttrDef] = &[STRIDES, PADDING, EXPLICIT_PADDINGS, AttrDef::optional("dilations", AttrKind::Ints)];

/// A convolution.
pub static CONV: OpDef = OpDef {
    name: "conv",
    tf_name: "Conv",
    doc: "The convolution (in the sense of neural networks: the filter is not mirrored) of images with filters, over one to three \
          spatial dimensions, channels last.\n\n\
          `input` of shape `[batch, in.., groups * channels]` and `filters` of shape `[window.., channels, \
          out_channels]` give `[batch, out.., out_channels]`; group `i` of the input's channels goes to group `i` of \
          the output's. `strides` and `dilations` have an element for each spatial dimension, 1 by default. `padding` \
          is `'VALID'`, `'SAME'` (an output for each stride, with zeros around) or `'EXPLICIT'`, with the zeros \
          before and after each spatial dimension in `explicit_paddings`. Floats of 16 bits accumulate in `float32`.\n\n\
          Errors: `InvalidArgument` for shapes that do not fit, an input that is smaller than the filter, and for \
          attributes of another length.",
    dtypes: DTYPES,
    operands: &[arg("input"), arg("filters")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        let out = outputs(cx.shape(0), cx.shape(1), cx.attrs)?;
        one(Type::tensor(cx.dtype(0), out))
    },
    cpu: Cpu::Kernel(|call| {
        let (x, f) = (call.inputs[0], call.inputs[1]);
        let g = geometry(x.dims(), f.dims(), call.attrs)?;
        let dtype = x.dtype();
        let dims = output_dims(&g, x.rank());
        if by_device(call, Convolution::Forward, &g, [x, f], &dims)? {
            return Ok(());
        }
        let y = call.out(0, dtype, &dims)?;
        // SAFETY: the geometry is that of the operands, which are contiguous, and of the result, which shares no memory
        // with them.
        unsafe { kernels::conv(dtype, &g, x.as_ptr(), f.as_ptr(), y) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (g, x, f) = (t.g(), t.x(0), t.x(1));
            smallvec![
                t.needed[0].then(|| emit(x.extents(), &CONV_INPUT_GRAD, [f, g], t.attrs)),
                t.needed[1].then(|| emit(x, &CONV_FILTER_GRAD, [f.extents(), g], t.attrs)),
            ]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::Images(&[0]),
    elements: Elements::Unknown,
    cost: Cost::Shared(cost_of),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || samples(|x, f, _| vec![x, f]),
};

/// The cotangent of a convolution's input.
pub static CONV_INPUT_GRAD: OpDef = OpDef {
    name: "conv_input_grad",
    tf_name: "ConvBackpropInput",
    doc: "The transpose of `conv` in its first operand: from the cotangent of its result that of its input.\n\n\
          `input_sizes` is the shape of `input`, a vector; `out_backprop` has the shape of the result. The attributes \
          are those of `conv`.\n\n\
          Errors: `InvalidArgument` where `out_backprop` has not the shape of the result, else as `conv`.",
    dtypes: DTYPES,
    operands: &[index_arg("input_sizes"), arg("filters"), arg("out_backprop")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        let x = described_shape(cx, 0, "input_sizes")?;
        check(&x, cx.shape(1), cx.shape(2), cx.attrs)?;
        one(Type::tensor(cx.dtype(1), with_rank_of(x, &[cx.shape(1), cx.shape(2)])))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = sizes_of(call, 0, "input_sizes")?;
        let (f, dy) = (call.inputs[1], call.inputs[2]);
        let g = geometry(&dims, f.dims(), call.attrs)?;
        check_cotangent(&g, dy)?;
        let dtype = f.dtype();
        if by_device(call, Convolution::InputGrad, &g, [f, dy], &dims)? {
            return Ok(());
        }
        let dx = call.out(0, dtype, &dims)?;
        // SAFETY: the geometry is that of the operands, which are contiguous, and of the result, which shares no memory
        // with them.
        unsafe { kernels::conv_input_grad(dtype, &g, f.as_ptr(), dy.as_ptr(), dx) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (h, f, dy) = (t.g(), t.x(1), t.x(2));
            smallvec![
                None,
                t.needed[1].then(|| emit(h, &CONV_FILTER_GRAD, [f.extents(), dy], t.attrs)),
                t.needed[2].then(|| emit(h, &CONV, [f], t.attrs)),
            ]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Shared(cost_of_input_grad),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        samples(|x, f, y| {
            let dims: Vec<i32> = x.dims().iter().map(|&d| d as i32).collect();
            vec![i32s(&dims), f, y]
        })
    },
};

/// The cotangent of a convolution's filters.
pub static CONV_FILTER_GRAD: OpDef = OpDef {
    name: "conv_filter_grad",
    tf_name: "ConvBackpropFilter",
    doc: "The transpose of `conv` in its second operand: from the cotangent of its result that of its filters.\n\n\
          `filter_sizes` is the shape of `filters`, a vector; `out_backprop` has the shape of the result. The \
          attributes are those of `conv`.\n\n\
          Errors: `InvalidArgument` where `out_backprop` has not the shape of the result, else as `conv`.",
    dtypes: DTYPES,
    operands: &[arg("input"), index_arg("filter_sizes"), arg("out_backprop")],
    attrs: ATTRS,
    effects: &[],
    infer: |cx| {
        let f = described_shape(cx, 1, "filter_sizes")?;
        check(cx.shape(0), &f, cx.shape(2), cx.attrs)?;
        one(Type::tensor(cx.dtype(0), with_rank_of(f, &[cx.shape(0), cx.shape(2)])))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = sizes_of(call, 1, "filter_sizes")?;
        let (x, dy) = (call.inputs[0], call.inputs[2]);
        let g = geometry(x.dims(), &dims, call.attrs)?;
        check_cotangent(&g, dy)?;
        let dtype = x.dtype();
        if by_device(call, Convolution::FilterGrad, &g, [x, dy], &dims)? {
            return Ok(());
        }
        let df = call.out(0, dtype, &dims)?;
        // SAFETY: the geometry is that of the operands, which are contiguous, and of the result, which shares no memory
        // with them.
        unsafe { kernels::conv_filter_grad(dtype, &g, x.as_ptr(), dy.as_ptr(), df) };
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let (h, x, dy) = (t.g(), t.x(0), t.x(2));
            smallvec![
                t.needed[0].then(|| emit(x.extents(), &CONV_INPUT_GRAD, [h, dy], t.attrs)),
                None,
                t.needed[2].then(|| emit(x, &CONV, [h], t.attrs)),
            ]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Shared(cost_of_filter_grad),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        samples(|x, f, y| {
            let dims: Vec<i64> = f.dims().iter().map(|&d| d as i64).collect();
            vec![x, i64s(&dims), y]
        })
    },
};

/// Has the device compute a convolution, where one works in the host's place.
fn by_device(
    call: &mut Call<'_>,
    kind: Convolution,
    geometry: &Geometry,
    operands: [&Tensor; 2],
    dims: &[usize],
) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // SAFETY: the geometry is that of the operands and of the result.
    let made = unsafe { device.convolution(kind, geometry, operands, dims) }?;
    Ok(made.map(|tensor| call.set(0, tensor)).is_some())
}

/// How many elements of the filter an element of an image meets.
fn taps(filter: &[usize]) -> f64 {
    filter.iter().map(|&n| n as f64).product::<f64>() / filter.last().map_or(1.0, |&n| n as f64).max(1.0)
}

/// The nanoseconds of a convolution with so many multiplications. Few channels, and rows that have to be gathered, take several times
/// what a product does.
fn multiplied(cx: &CostCx<'_>, multiplications: f64) -> f64 {
    4.0 * cost::product(cx.dtype.unwrap_or(DType::F32), multiplications)
}

fn cost_of(cx: &CostCx<'_>) -> f64 {
    multiplied(cx, taps(&cx.ins[1]) * cx.written())
}

fn cost_of_input_grad(cx: &CostCx<'_>) -> f64 {
    multiplied(cx, taps(&cx.ins[1]) * CostCx::elements(&cx.ins[2]))
}

fn cost_of_filter_grad(cx: &CostCx<'_>) -> f64 {
    let channels = cx.ins[2].last().map_or(1.0, |&n| n as f64).max(1.0);
    multiplied(cx, CostCx::elements(&cx.ins[2]) * cx.written() / channels)
}

/// Emits one of the operators with the attributes of another.
fn emit<'t, const N: usize>(first: Ex<'t>, op: &'static OpDef, rest: [Ex<'t>; N], attrs: &Attrs) -> Ex<'t> {
    let named: SmallVec<[(&str, Attr); 4]> = ATTRS.iter().map(|a| a.name).zip(attrs.0.iter().cloned()).collect();
    first.emit(op, &rest, &named)
}

/// The spatial dimensions between the first and the last of an input.
fn axes_of(rank: usize) -> Result<usize> {
    match rank.checked_sub(2) {
        Some(axes @ 1..=MAX_AXES) => Ok(axes),
        _ => Err(Error::invalid(format!("expected rank 3 to {}, got rank {rank}", MAX_AXES + 2))),
    }
}

/// A shape of unknown rank as one of the rank that another has.
fn with_rank_of(shape: Shape, others: &[&Shape]) -> Shape {
    match shape.rank().or_else(|| others.iter().find_map(|o| o.rank())) {
        Some(rank) if shape.rank().is_none() => Shape::new(vec![Dim::Unknown; rank]),
        _ => shape,
    }
}

/// The shape of the result.
fn outputs(input: &Shape, filters: &Shape, attrs: &Attrs) -> Result<Shape> {
    let Some(rank) = input.rank().or(filters.rank()) else { return Ok(Shape::UNRANKED) };
    let named = if input.rank().is_some() { "input" } else { "filters" };
    let axes = axes_of(rank).map_err(|e| e.argument(named))?;
    let rules = rules(attrs, axes, Some(DILATIONS))?;
    let (x, f) = (with_rank_of(input.clone(), &[filters]), with_rank_of(filters.clone(), &[input]));
    let (Some(x), Some(f)) = (x.dims(), f.dims()) else { return Ok(Shape::UNRANKED) };
    if f.len() != rank {
        return Err(Error::invalid(format!("expected rank {rank}, as that of the input, got rank {}", f.len()))
            .argument("filters"));
    }
    let mut out: SmallVec<[Dim; 4]> = smallvec![x[0]];
    for i in 0..axes {
        if f[i] == Dim::Known(0) {
            return Err(Error::invalid(format!("expected no extent of 0, got shape {filters}")).argument("filters"));
        }
        out.push(rules[i].output(x[i + 1], f[i]).map_err(|e| e.argument("input"))?);
    }
    out.push(f[axes + 1]);
    groups(x[axes + 1].known(), f[axes].known(), f[axes + 1].known())?;
    Ok(Shape::new(out))
}

/// The number of groups, as far as it is known.
fn groups(input: Option<usize>, of_filter: Option<usize>, outputs: Option<usize>) -> Result<Option<usize>> {
    let (Some(input), Some(each)) = (input, of_filter) else { return Ok(None) };
    let groups = match (input, each) {
        (0, 0) => 1,
        (_, 0) => 0,
        _ if input % each == 0 => input / each,
        _ => 0,
    };
    if groups == 0 {
        return Err(Error::invalid(format!(
            "the input's {input} channel(s) must be a multiple of the {each} input channel(s) of the filters"
        ))
        .argument("filters"));
    }
    match outputs {
        Some(n) if n % groups != 0 => Err(Error::invalid(format!(
            "the filters' {n} output channel(s) must be a multiple of the {groups} group(s) of input channels"
        ))
        .argument("filters")),
        _ => Ok(Some(groups)),
    }
}

/// Checks that a cotangent may have the shape of the result.
fn check(input: &Shape, filters: &Shape, out_backprop: &Shape, attrs: &Attrs) -> Result<()> {
    let due = outputs(input, filters, attrs)?;
    if due.compatible(out_backprop) {
        return Ok(());
    }
    Err(Error::invalid(format!("expected shape {due}, that of the convolution, got {out_backprop}"))
        .argument("out_backprop"))
}

/// The sizes of a convolution of known extents.
///
/// # Errors
/// `InvalidArgument` for extents and attributes that do not fit.
pub fn geometry(input: &[usize], filters: &[usize], attrs: &Attrs) -> Result<Geometry> {
    // All that can be wrong is found by what infers the shape.
    outputs(&Shape::new(known_dims(input)), &Shape::new(known_dims(filters)), attrs)?;
    let axes = axes_of(input.len())?;
    let rules = rules(attrs, axes, Some(DILATIONS))?;
    let along: SmallVec<[Axis; 3]> =
        (0..axes).map(|i| rules[i].axis(input[i + 1], filters[i])).collect::<Result<_>>()?;
    let (in_channels, out_channels) = (filters[axes], filters[axes + 1]);
    let groups = groups(Some(input[axes + 1]), Some(in_channels), Some(out_channels))?.unwrap_or(1);
    Ok(Geometry { batch: input[0], axes: three(&along), groups, in_channels, out_channels: out_channels / groups })
}

/// The extents of the result for an input of a rank.
fn output_dims(g: &Geometry, rank: usize) -> SmallVec<[usize; 5]> {
    let spatial = g.axes[MAX_AXES + 2 - rank..].iter().map(|a| a.output);
    std::iter::once(g.batch).chain(spatial).chain([g.groups * g.out_channels]).collect()
}

fn check_cotangent(g: &Geometry, dy: &Tensor) -> Result<()> {
    let rank = dy.rank().clamp(3, MAX_AXES + 2);
    let due = output_dims(g, rank);
    if dy.dims() == &due[..] {
        return Ok(());
    }
    Err(Error::invalid(format!("expected shape {due:?}, that of the convolution, got {:?}", dy.dims()))
        .argument("out_backprop"))
}

/// Samples of the three operators, whose operands `f` makes of an input, filters and a result.
fn samples(f: impl Fn(Tensor, Tensor, Tensor) -> Vec<Tensor>) -> Vec<Sample> {
    struct Case {
        dtype: DType,
        input: &'static [usize],
        filters: &'static [usize],
        strides: &'static [i64],
        padding: &'static str,
        explicit: &'static [i64],
        dilations: &'static [i64],
    }
    const NONE: &[i64] = &[];
    let plain = |dtype, input, filters| Case {
        dtype,
        input,
        filters,
        strides: NONE,
        padding: "VALID",
        explicit: NONE,
        dilations: NONE,
    };
    let d = DType::F64;
    let mut cases: Vec<Case> = CONV_DTYPES.iter().map(|t| plain(t, &[2, 4, 3, 2], &[2, 2, 2, 3])).collect();
    cases.extend([
        plain(d, &[1, 5, 2], &[3, 2, 2]),
        plain(d, &[1, 1, 1], &[1, 1, 1]),
        plain(d, &[0, 3, 3, 1], &[2, 2, 1, 2]),
        plain(d, &[1, 2, 2, 1], &[3, 2, 1, 2]),
        plain(d, &[1, 3, 0], &[2, 0, 2]),
        plain(d, &[2, 3, 4, 3], &[1, 1, 3, 2]),
        plain(d, &[1, 2, 3, 2, 1], &[2, 2, 1, 1, 2]),
        // Groups, and one input channel a group.
        plain(d, &[1, 3, 3, 4], &[2, 2, 2, 4]),
        plain(d, &[1, 3, 3, 3], &[2, 2, 1, 3]),
        plain(d, &[1, 3, 3, 2], &[2, 2, 1, 4]),
        Case { padding: "SAME", ..plain(d, &[1, 4, 4, 2], &[3, 2, 2, 1]) },
        Case { padding: "SAME", strides: &[2, 3], ..plain(d, &[1, 5, 4, 1], &[3, 2, 1, 2]) },
        Case { padding: "SAME", strides: &[3], ..plain(d, &[2, 5, 1], &[2, 1, 2]) },
        Case { padding: "SAME", strides: &[2, 1], ..plain(d, &[1, 4, 3, 2], &[2, 3, 1, 2]) },
        Case { strides: &[2, 2], dilations: &[2, 1], ..plain(d, &[1, 6, 5, 1], &[2, 2, 1, 2]) },
        Case { strides: &[2], dilations: &[3], padding: "SAME", ..plain(d, &[1, 7, 2], &[3, 1, 2]) },
        Case { padding: "EXPLICIT", explicit: &[1, 0, 0, 2], ..plain(d, &[1, 3, 2, 1], &[2, 2, 1, 2]) },
        Case { padding: "EXPLICIT", explicit: &[3, 4], strides: &[2], ..plain(d, &[1, 2, 1], &[2, 1, 1]) },
    ]);
    let made = cases.into_iter().map(|c| {
        let mut named: Vec<(&'static str, Attr)> = vec![("padding", c.padding.into())];
        for (name, values) in [("strides", c.strides), ("explicit_paddings", c.explicit), ("dilations", c.dilations)] {
            if !values.is_empty() {
                named.push((name, values.into()));
            }
        }
        let attrs = Attrs::build(ATTRS, &named).expect("the attributes of a sample");
        let g = geometry(c.input, c.filters, &attrs).expect("the sizes of a sample");
        let (x, w) = (tensor(c.dtype, c.input, DISTINCT), tensor(c.dtype, c.filters, LINE));
        let y = tensor(c.dtype, &output_dims(&g, c.input.len()), &DISTINCT[3..]);
        let mut sample = Sample::new(f(x, w, y));
        sample.attrs = named;
        sample
    });
    made.collect()
}
