//! Softmax, cross-entropies and the addition of a bias. Activations are elementwise operators.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cpu, Cuda, DTypeVar, ElementFn, Elements, Fails, Fold,
    InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg, arg_of,
};
use penstock_kernels::softmax::{self as kernels, SOFTMAX_DTYPES};
use penstock_kernels::{Binary, binary_dtypes, copy};
use smallvec::smallvec;

use crate::batch_rules;
use crate::grad::{Ex, Tape, rule};
use crate::reduce::SUM_TO_SHAPE;
use crate::samples::{DISTINCT, EDGES, LINE, POSITIVE, tensor};
use crate::unary::EXP;
use crate::util::{PROMISE, around, normalize_axis, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&BIAS_ADD, &SOFTMAX, &LOG_SOFTMAX, &SOFTMAX_CROSS_ENTROPY, &SPARSE_SOFTMAX_CROSS_ENTROPY];

/// Adds a bias to each channel.
pub static BIAS_ADD: OpDef = OpDef {
    name: "bias_add",
    tf_name: "BiasAdd",
    doc: "`x + bias`, with one element of `bias` for each channel, which is the last dimension of `x`; wraps on integers.\n\n\
          `x` of shape `[..., c]` and rank 2 or more and `bias` of shape `[c]` give a result of the shape of `x`.\n\n\
          Errors: `InvalidArgument` for other ranks, and where the sizes differ.",
    dtypes: &[DTypeVar::new("T", binary_dtypes(Binary::Add))],
    operands: &[arg("x"), arg("bias")],
    attrs: &[],
    effects: &[],
    infer: infer_bias_add,
    cpu: Cpu::Elementwise(ElementFn::Binary(Binary::Add)),
    cuda: Cuda::Formula(None),
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let g = t.g();
            smallvec![
                t.needed[0].then_some(g),
                t.needed[1].then(|| match g.shape().rank() {
                    Some(rank) => g.sum(&(0..rank as i64 - 1).collect::<Vec<_>>(), false),
                    None => g.emit(&SUM_TO_SHAPE, &[t.x(1).extents()], &[]),
                })
            ]
        })
    }),
    jvp: Jvp::AllLinear,
    batch: Batch::Rule(batch_rules::bias_add),
    rows: Rows::Elementwise,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let pair = |d, x: &[usize], c: usize| Sample::new(vec![tensor(d, x, DISTINCT), tensor(d, &[c], LINE)]);
        let mut out: Vec<Sample> = binary_dtypes(Binary::Add).iter().map(|d| pair(d, &[2, 3], 3)).collect();
        for (x, c) in [(&[1, 1][..], 1), (&[0, 3], 3), (&[3, 0], 0), (&[2, 3, 5], 5), (&[2, 1, 3, 4], 4)] {
            out.push(pair(DType::F64, x, c));
        }
        out
    },
};

fn infer_bias_add(cx: &InferCx<'_>) -> Result<OutTypes> {
    let (x, bias) = (cx.shape(0), cx.shape(1));
    if bias.rank().is_some_and(|r| r != 1) {
        return Err(Error::invalid(format!("expected a vector, got shape {bias}")).argument("bias"));
    }
    let Some(dims) = x.dims() else { return one(cx.inputs[0].clone()) };
    let [_, .., channels] = dims else {
        return Err(Error::invalid(format!("expected rank 2 or more, got shape {x}")).argument("x"));
    };
    let size = bias.dims().map_or(Dim::Unknown, |d| d[0]);
    let Some(channels) = channels.merge(size) else {
        return Err(Error::invalid(format!("expected one element for each of {channels} channels, got shape {bias}"))
            .argument("bias"));
    };
    let mut out: smallvec::SmallVec<[Dim; 4]> = dims.into();
    out[dims.len() - 1] = channels;
    one(Type::tensor(cx.dtype(0), Shape::new(out)))
}

const AXIS: &[AttrDef] = &[AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(-1))];

fn infer_softmax(cx: &InferCx<'_>) -> Result<OutTypes> {
    if let Some(rank) = cx.shape(0).rank() {
        normalize_axis(cx.attrs.int(0), rank, "axis")?;
    }
    one(cx.inputs[0].clone())
}

fn softmax_samples() -> Vec<Sample> {
    let x = |d, dims: &[usize], axis: i64| Sample::new(vec![tensor(d, dims, DISTINCT)]).with("axis", axis);
    let mut out: Vec<Sample> = SOFTMAX_DTYPES.iter().map(|d| x(d, &[3, 5], -1)).collect();
    for (dims, axis) in
        [(&[1][..], -1), (&[7], 0), (&[3, 0], 1), (&[0, 3], 1), (&[2, 3, 4], 1), (&[2, 3, 4], 0), (&[2, 3, 4], -1)]
    {
        out.push(x(DType::F64, dims, axis));
    }
    out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES)]));
    out.push(Sample::new(vec![tensor(DType::F32, &[2, 2], &[1e4, 1e4 + 1.0, -1e4, f64::NEG_INFINITY])]));
    out
}

/// Runs softmax, or its logarithm, over rows along any axis.
fn along_axis(call: &mut Call<'_>, log: bool) -> Result<()> {
    let kernel: unsafe fn(DType, *const u8, usize, usize, *mut u8) =
        if log { kernels::log_softmax } else { kernels::softmax };
    let x = call.inputs[0];
    let (dtype, dims) = (x.dtype(), x.dims());
    let (outer, n, inner) = around(dims, normalize_axis(call.attrs.int(0), x.rank(), "axis")?);
    if let Some(device) = call.env.kernels().filter(|_| inner == 1) {
        // SAFETY: `x` is rows of `n` elements.
        if let Some(made) = unsafe { device.softmax(log, x, n) }? {
            call.set(0, made);
            return Ok(());
        }
    }
    if inner == 1 {
        let to = call.out(0, dtype, dims)?;
        // SAFETY: `x` has `outer` rows of `n` elements of a float dtype, and `to` starts as many that are not those of `x`.
        unsafe { kernel(dtype, x.as_ptr(), outer, n, to) };
        return Ok(());
    }
    // The axis is brought to the end and back.
    let mut rows = Tensor::default();
    let at = rows.prepare(dtype, &[outer, inner, n])?;
    let to = call.out(0, dtype, dims)?;
    // SAFETY: `x`, `rows` and the result have `outer * n * inner` elements of a float dtype each and share no memory; the
    // kernel may work in place.
    unsafe {
        copy::transpose(dtype.size(), x.as_ptr(), &[outer, n, inner], &[0, 2, 1], at);
        kernel(dtype, at, outer * inner, n, at);
        copy::transpose(dtype.size(), at, &[outer, inner, n], &[0, 2, 1], to);
    }
    Ok(())
}

/// The exponentials, divided by their sum.
pub static SOFTMAX: OpDef = OpDef {
    name: "softmax",
    tf_name: "Softmax",
    doc: "`e^x / sum(e^x)` along `axis`, without overflow.\n\n\
          The result has the shape of `x`; a negative axis counts from the end.\n\n\
          Errors: `InvalidArgument` for an axis that is out of range.",
    dtypes: &[DTypeVar::new("T", SOFTMAX_DTYPES)],
    operands: &[arg("x")],
    attrs: AXIS,
    effects: &[],
    infer: infer_softmax,
    cpu: Cpu::Kernel(|call| along_axis(call, false)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| softmax_grad(t.g(), t.y(0), t.attrs.int(0)))])),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(|cx| batch_rules::along(cx, 0)),
    rows: Rows::Line(0),
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: softmax_samples,
};

/// The cotangent of the operand of a softmax whose result is `y`.
fn softmax_grad<'t>(g: Ex<'t>, y: Ex<'t>, axis: i64) -> Ex<'t> {
    (g - (g * y).sum(&[axis], true)) * y
}

/// The logarithm of the softmax.
pub static LOG_SOFTMAX: OpDef = OpDef {
    name: "log_softmax",
    tf_name: "LogSoftmax",
    doc: "`x - log(sum(e^x))` along `axis`: the logarithm of `softmax`, without overflow.\n\n\
          The result has the shape of `x`; a negative axis counts from the end.\n\n\
          Errors: `InvalidArgument` for an axis that is out of range.",
    dtypes: &[DTypeVar::new("T", SOFTMAX_DTYPES)],
    operands: &[arg("x")],
    attrs: AXIS,
    effects: &[],
    infer: infer_softmax,
    cpu: Cpu::Kernel(|call| along_axis(call, true)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| smallvec![t.needed[0].then(|| t.g() - t.g().sum(&[t.attrs.int(0)], true) * t.y(0).then(&EXP))])
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(|cx| batch_rules::along(cx, 0)),
    rows: Rows::Line(0),
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: softmax_samples,
};

/// Cross-entropy with distributions.
pub static SOFTMAX_CROSS_ENTROPY: OpDef = OpDef {
    name: "softmax_cross_entropy",
    tf_name: "SoftmaxCrossEntropyWithLogits",
    doc: "`-sum(labels * log_softmax(logits))` over the last dimension, and its derivative by `logits`.\n\n\
          `logits` and `labels` of shape `[..., classes]` give `loss` of shape `[...]` and `backprop`, \
          `softmax(logits) - labels` (each row of `labels` sums to 1), of shape `[..., classes]`.\n\n\
          Errors: `InvalidArgument` where the shapes differ, for scalars, and where there is no class.",
    dtypes: &[DTypeVar::new("T", SOFTMAX_DTYPES)],
    operands: &[arg("logits"), arg("labels")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let shape = cx.shape(0).merge(cx.shape(1)).ok_or_else(|| {
            Error::invalid(format!("expected the shape of logits, {}, got {}", cx.shape(0), cx.shape(1)))
                .argument("labels")
        })?;
        loss_and_backprop(cx.dtype(0), &shape)
    },
    cpu: Cpu::Kernel(run_dense),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let labels = t.needed[1].then(|| {
                let from_loss = t.grad(0).map(|g| -g.expand_dims(-1) * t.x(0).then(&LOG_SOFTMAX));
                sum(from_loss, t.grad(1).map(|g| -g))
            });
            smallvec![t.needed[0].then(|| logits_grad(t)).flatten(), labels.flatten()]
        })
    }),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::all),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        // Rows of labels sum to 1.
        let labels = |d, rows: usize, n: usize| {
            let weights = |r: usize| (0..n).map(move |k| POSITIVE[(r + k) % POSITIVE.len()]);
            let values: Vec<f64> =
                (0..rows).flat_map(|r| weights(r).map(move |w| w / weights(r).sum::<f64>())).collect();
            tensor(d, &[rows, n], &values)
        };
        let mut out: Vec<Sample> =
            SOFTMAX_DTYPES.iter().map(|d| Sample::new(vec![tensor(d, &[3, 5], DISTINCT), labels(d, 3, 5)])).collect();
        let d = DType::F64;
        out.push(Sample::new(vec![tensor(d, &[1, 1], LINE), labels(d, 1, 1)]));
        out.push(Sample::new(vec![tensor(d, &[0, 3], LINE), tensor(d, &[0, 3], LINE)]));
        for dims in [&[3][..], &[2, 2, 3]] {
            let rows = dims.iter().product::<usize>() / 3;
            let labels = labels(d, rows, 3).reshaped(dims).expect("as many elements");
            out.push(Sample::new(vec![tensor(d, dims, DISTINCT), labels]));
        }
        out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES), labels(DType::F32, 3, 3)]));
        out
    },
};

/// The types of a loss a row and of the derivative by logits of `shape`.
fn loss_and_backprop(dtype: DType, shape: &Shape) -> Result<OutTypes> {
    let Some(dims) = shape.dims() else {
        return Ok(smallvec![Type::tensor(dtype, Shape::UNRANKED), Type::tensor(dtype, Shape::UNRANKED)]);
    };
    let Some((&classes, rows)) = dims.split_last() else {
        return Err(Error::invalid("expected rank 1 or more, got a scalar").argument("logits"));
    };
    if classes == Dim::Known(0) {
        return Err(Error::invalid(format!("needs at least one class, got shape {shape}")).argument("logits"));
    }
    Ok(smallvec![Type::tensor(dtype, Shape::new(rows.iter().copied())), Type::tensor(dtype, shape.clone())])
}

/// The sum of what there is.
fn sum<'t>(a: Option<Ex<'t>>, b: Option<Ex<'t>>) -> Option<Ex<'t>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// The cotangent of the logits of a cross-entropy: the derivative is at hand, and its own is the
/// softmax's.
fn logits_grad<'t>(t: &'t Tape<'_>) -> Option<Ex<'t>> {
    let from_loss = t.grad(0).map(|g| g.expand_dims(-1) * t.y(1));
    let from_backprop = t.grad(1).map(|g| softmax_grad(g, t.x(0).then(&SOFTMAX), -1));
    sum(from_loss, from_backprop)
}

/// The number of rows of logits and the number of classes.
fn rows_of(logits: &Tensor) -> Result<(usize, usize)> {
    match logits.dims() {
        [] => Err(Error::invalid("expected rank 1 or more, got a scalar").argument("logits")),
        [.., 0] => Err(Error::invalid("needs at least one class").argument("logits")),
        [rows @ .., classes] => Ok((rows.iter().product(), *classes)),
    }
}

/// Has the device compute losses and derivatives, where one works in the host's place.
fn by_device(call: &mut Call<'_>, logits: &Tensor, labels: &Tensor, classes: usize) -> Result<bool> {
    let Some(device) = call.env.kernels() else { return Ok(false) };
    // SAFETY: the callers have checked that each row of the logits has one element for each class, and that the labels have the
    // extents of the logits, or one class for each row.
    let made = unsafe { device.cross_entropy(logits, labels, classes) }?;
    let is_made = made.is_some();
    made.into_iter().flatten().enumerate().for_each(|(i, tensor)| call.set(i, tensor));
    Ok(is_made)
}

fn run_dense(call: &mut Call<'_>) -> Result<()> {
    let (logits, labels) = (call.inputs[0], call.inputs[1]);
    let dtype = logits.dtype();
    let (rows, classes) = rows_of(logits)?;
    if labels.dims() != logits.dims() {
        return Err(Error::invalid(format!(
            "expected the shape of logits, {:?}, got {:?}",
            logits.dims(),
            labels.dims()
        ))
        .argument("labels"));
    }
    if by_device(call, logits, labels, classes)? {
        return Ok(());
    }
    let loss = call.out(0, dtype, &logits.dims()[..logits.rank() - 1])?;
    let back = call.out(1, dtype, logits.dims())?;
    // SAFETY: both operands have `rows * classes` elements of a float dtype, `loss` starts `rows`, `back` as many as the
    // logits, and the outputs are neither operands nor each other.
    unsafe {
        kernels::softmax_cross_entropy(dtype, logits.as_ptr(), labels.as_ptr(), rows, classes, loss, back);
    }
    Ok(())
}

/// Cross-entropy with class indices.
pub static SPARSE_SOFTMAX_CROSS_ENTROPY: OpDef = OpDef {
    name: "sparse_softmax_cross_entropy",
    tf_name: "SparseSoftmaxCrossEntropyWithLogits",
    doc: "`-log_softmax(logits)[label]` over the last dimension, and its derivative by `logits`.\n\n\
          `logits` of shape `[..., classes]` and `labels`, indices of classes (`int32` or `int64`) of shape `[...]`, give `loss` \
          of shape `[...]` and `backprop`, `softmax(logits) - one_hot(labels)`, of shape `[..., classes]`.\n\n\
          Errors: `InvalidArgument` where the shapes do not fit, where there is no class, and for a label outside \
          `[0, classes)`.",
    dtypes: &[DTypeVar::new("T", SOFTMAX_DTYPES)],
    operands: &[arg("logits"), arg_of("labels", ArgType::In(DTypeSet::INDEX))],
    attrs: &[],
    effects: &[],
    infer: infer_sparse,
    cpu: Cpu::Kernel(run_sparse),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| rule(cx, |t| smallvec![t.needed[0].then(|| logits_grad(t)).flatten(), None])),
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::all),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let sample = |d, l, dims: &[usize]| {
            let (classes, rows) = dims.split_last().expect("logits have a rank");
            let labels: Vec<f64> = (0..7).map(|i| (i * 2 % classes) as f64).collect();
            Sample::new(vec![tensor(d, dims, DISTINCT), tensor(l, rows, &labels)])
        };
        let mut out = Vec::new();
        for d in SOFTMAX_DTYPES.iter() {
            out.extend(DTypeSet::INDEX.iter().map(|l| sample(d, l, &[3, 5])));
        }
        for dims in [&[1, 1][..], &[0, 3], &[4], &[2, 2, 3]] {
            out.push(sample(DType::F64, DType::I64, dims));
        }
        out.push(Sample::new(vec![tensor(DType::F32, &[3, 3], EDGES), Tensor::vector(&[0i32, 2, 1])]));
        out
    },
};

fn infer_sparse(cx: &InferCx<'_>) -> Result<OutTypes> {
    let (logits, labels) = (cx.shape(0), cx.shape(1));
    let mut out = loss_and_backprop(cx.dtype(0), logits)?;
    out[0] = match out[0].shape().merge(labels) {
        Some(shape) => Type::tensor(cx.dtype(0), shape),
        None => {
            let due = out[0].shape();
            return Err(Error::invalid(format!("expected shape {due} for logits of shape {logits}, got {labels}"))
                .argument("labels"));
        }
    };
    Ok(out)
}

fn run_sparse(call: &mut Call<'_>) -> Result<()> {
    let (logits, labels) = (call.inputs[0], call.inputs[1]);
    let dtype = logits.dtype();
    let (rows, classes) = rows_of(logits)?;
    let leading = &logits.dims()[..logits.rank() - 1];
    if labels.dims() != leading {
        return Err(Error::invalid(format!(
            "expected shape {leading:?} for logits of shape {:?}, got {:?}",
            logits.dims(),
            labels.dims()
        ))
        .argument("labels"));
    }
    let wrong = |row: usize| {
        let label = labels.to_ints().map_or(0, |l| l[row]);
        Error::invalid(format!("label {label} of row {row} is outside the valid range [0, {classes})"))
            .argument("labels")
    };
    if call.env.kernels().is_some()
        && let Some(row) = crate::moves::first_outside(labels, classes)
    {
        return Err(wrong(row));
    }
    if by_device(call, logits, labels, classes)? {
        return Ok(());
    }
    let loss = call.out(0, dtype, leading)?;
    let back = call.out(1, dtype, logits.dims())?;
    // SAFETY: the logits have `rows * classes` elements of a float dtype and there are `rows` labels of `i32` or `i64`; `loss`
    // starts `rows` elements, `back` as many as the logits, and the outputs are neither operands nor each other.
    unsafe {
        kernels::sparse_softmax_cross_entropy(
            dtype,
            logits.as_ptr(),
            labels.dtype(),
            labels.as_ptr(),
            rows,
            classes,
            loss,
            back,
        )
    }
    .map_err(wrong)
}
