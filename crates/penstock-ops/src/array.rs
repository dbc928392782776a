//! Operators on arrays as a whole: copies, checks, sizes, constant and regular contents.

use penstock_data::{DType, DTypeSet, Dim, Dims, Error, Result, Shape, Tensor, bf16, f16, with_dtype};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cotangents, Cpu, Cuda, DTypeVar, Effect, Elements,
    Fails, Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, VjpCx, arg, arg_of, args_of,
};
use smallvec::{SmallVec, smallvec};

use crate::batch_rules;
use crate::elements;
use crate::grad::rule;
use crate::moves::{self, moving};
use crate::operands::{
    described_shape, described_size, index_arg, int_scalar, like, require_dtype, require_rank, size, sizes_of,
    write_ints,
};
use crate::sample_arrays::{each_kind, f64s, i32_array, i32s, i64s, kinds};
use crate::samples::{LINE, tensor};
use crate::shape_ops::{ANY, pass_through};
use crate::util::{PROMISE, normalize_axis, one};

const ON_HOST: Cuda = Cuda::HostFallback("it computes sizes, which the host needs");

fn share(call: &mut Call<'_>) -> Result<()> {
    let x = call.inputs[0].clone();
    call.set(0, x);
    Ok(())
}

fn plain_samples() -> Vec<Sample> {
    let mut out = each_kind(&[2, 3], &[]);
    out.extend([&[][..], &[0], &[1]].map(|dims| Sample::new(vec![f64s(dims)])));
    out
}

/// The operand.
pub static IDENTITY: OpDef = OpDef {
    name: "identity",
    tf_name: "Identity",
    doc: "`x`.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(share),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(pass_through),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Operand(|_, _| Some(0)),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: plain_samples,
};

/// The operands, later.
pub static BARRIER: OpDef = OpDef {
    name: "barrier",
    tf_name: "IdentityN",
    doc: "`values`, once all of them are there.\n\n\
          What is computed from the results is never merged with what is computed from the operands: a value that is \
          computed again behind a barrier need not be kept until then.",
    dtypes: &[],
    operands: &[args_of("values", ArgType::In(DTypeSet::ANY))],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(cx.inputs.iter().cloned().collect()),
    cpu: Cpu::Kernel(|call| {
        for (i, &value) in call.inputs.iter().enumerate() {
            call.set(i, value.clone());
        }
        Ok(())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| Ok(cx.grads.into())),
    jvp: Jvp::AllLinear,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it keeps what is before and behind it apart"),
    promise: PROMISE,
    samples: || vec![Sample::new(vec![f64s(&[2, 3]), i32s(&[1, 2])]), Sample::new(vec![f64s(&[])])],
};

/// The operand, a constant to differentiation.
pub static STOP_GRADIENT: OpDef = OpDef {
    name: "stop_gradient",
    tf_name: "StopGradient",
    doc: "`x`, through which no gradient flows.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(share),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: plain_samples,
};

/// The operand, of a checked shape.
pub static ENSURE_SHAPE: OpDef = OpDef {
    name: "ensure_shape",
    tf_name: "EnsureShape",
    doc: "`x`, whose shape must be one of `shape`.\n\n\
          What `shape` says is known of the result. Raises InvalidArgument where the shape differs, when the graph is built or \
          when it runs.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("shape", AttrKind::Shape)],
    effects: &[],
    infer: |cx| {
        let due = cx.attrs.shape(0);
        let merged = cx.shape(0).merge(due).ok_or_else(|| unexpected_shape(cx.shape(0), due))?;
        one(like(cx, 0, merged))
    },
    cpu: Cpu::Kernel(|call| {
        let (got, due) = (Shape::known(call.inputs[0].dims()), call.attrs.shape(0));
        if !got.compatible(due) {
            return Err(unexpected_shape(&got, due));
        }
        share(call)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(pass_through),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::ensure_shape),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let open = |n: usize| Shape::new(vec![Dim::Unknown; n]);
        let mut out: Vec<Sample> =
            kinds(&[2, 3]).into_iter().map(|x| Sample::new(vec![x]).with("shape", open(2))).collect();
        out.push(Sample::new(vec![f64s(&[0])]).with("shape", Shape::known(&[0])));
        out.push(Sample::new(vec![f64s(&[])]).with("shape", Shape::UNRANKED));
        out.push(Sample::new(vec![f64s(&[2, 1])]).with("shape", Shape::new([Dim::Unknown, Dim::Known(1)])));
        out
    },
};

/// The operand, of which less is known.
pub static PLACEHOLDER_WITH_DEFAULT: OpDef = OpDef {
    name: "placeholder_with_default",
    tf_name: "PlaceholderWithDefault",
    doc: "`x`, of which nothing is known before it runs but that its shape is one of `shape`.\n\n\
          Raises InvalidArgument where the shape differs, when the graph is built or when it runs.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[AttrDef::required("shape", AttrKind::Shape)],
    effects: &[],
    infer: |cx| {
        let shape = cx.attrs.shape(0);
        if !cx.shape(0).compatible(shape) {
            return Err(unexpected_shape(cx.shape(0), shape));
        }
        one(like(cx, 0, shape.clone()))
    },
    cpu: ENSURE_SHAPE.cpu,
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(pass_through),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::ensure_shape),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("what is known of its operand is to be hidden"),
    promise: PROMISE,
    samples: ENSURE_SHAPE.samples,
};

fn unexpected_shape(got: &Shape, due: &Shape) -> Error {
    Error::invalid(format!("shape {got} is not compatible with the expected shape {due}")).argument("x")
}

/// The operand, checked to be finite.
pub static CHECK_NUMERICS: OpDef = OpDef {
    name: "check_numerics",
    tf_name: "CheckNumerics",
    doc: "`tensor`, all of whose elements must be finite.\n\n\
          Raises InvalidArgument with `message` where one, or a part of a complex one, is infinite or not a number. The \
          gradient is checked too.",
    dtypes: &[DTypeVar::new("T", DTypeSet::INEXACT)],
    operands: &[arg("tensor")],
    attrs: &[AttrDef::new("message", AttrKind::Str, AttrDefault::Str(""))],
    effects: &[Effect::Assert],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(|call| {
        let (mut nan, mut infinite) = (false, false);
        let x = call.inputs[0];
        with_dtype!(inexact, x.dtype(), T => {
            for v in x.as_slice::<T>() {
                nan |= v.is_nan();
                infinite |= v.is_infinite();
            }
        }, else ());
        let what = match (nan, infinite) {
            (false, false) => return share(call),
            (true, false) => "NaN",
            (false, true) => "Inf",
            (true, true) => "Inf and NaN",
        };
        let first =
            with_dtype!(inexact, x.dtype(), T => x.as_slice::<T>().iter().position(|v| !v.is_finite()), else None);
        let place = crate::gather::position(x.dims(), first.unwrap_or(0));
        let place = if place.is_empty() { String::new() } else { format!(", the first at {place}") };
        Err(Error::invalid(format!("{} : Tensor had {what} values{place}", call.attrs.str(0))))
    }),
    cuda: Cuda::HostFallback("a failed check is reported by the host"),
    vjp: Vjp::Rule(|cx| {
        rule(cx, |t| {
            let message = "Not a number (NaN) or infinity (Inf) values detected in gradient.";
            smallvec![Some(t.g().emit(&CHECK_NUMERICS, &[], &[("message", message.into())]))]
        })
    }),
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("a failed check belongs to the run"),
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = DTypeSet::INEXACT.iter().map(|d| Sample::new(vec![tensor(d, &[5], LINE)])).collect();
        out.extend([&[][..], &[0], &[2, 1]].map(|dims| Sample::new(vec![f64s(dims)])));
        out
    },
};

const INDEX_DTYPE: AttrDef = AttrDef::new("dtype", AttrKind::DType, AttrDefault::DType(DType::I32));

/// Samples of an operator that asks for sizes, for both dtypes of the answer.
fn size_samples() -> Vec<Sample> {
    let mut out = plain_samples();
    out.push(Sample::new(vec![f64s(&[2, 0, 3])]).with("dtype", DType::I64));
    out
}

/// Makes result 0 integers of the dtype that attribute 0 names.
fn set_sizes(call: &mut Call<'_>, values: &[usize], dims: &[usize]) -> Result<()> {
    let dtype = call.attrs.dtype(0);
    let fits = |&n: &usize| if dtype == DType::I32 { i32::try_from(n).is_ok() } else { i64::try_from(n).is_ok() };
    if let Some(n) = values.iter().find(|n| !fits(n)) {
        return Err(Error::invalid(format!("{n} does not fit in {}", dtype.tf_name())).argument("dtype"));
    }
    let values: SmallVec<[i64; 6]> = values.iter().map(|&n| n as i64).collect();
    call.out(0, dtype, dims)?;
    write_ints(&mut call.outputs[0], &values);
    Ok(())
}

/// The extents.
pub static SHAPE: OpDef = OpDef {
    name: "shape",
    tf_name: "Shape",
    doc: "The extents of `x`, as a vector of `dtype`, which is `i32` or `i64`.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[INDEX_DTYPE],
    effects: &[],
    infer: |cx| {
        let dtype = require_dtype(cx.attrs.dtype(0), DTypeSet::INDEX, "dtype")?;
        let rank = cx.shape(0).rank().map_or(Dim::Unknown, Dim::Known);
        one(Type::tensor(dtype, Shape::new([rank])))
    },
    cpu: Cpu::Kernel(|call| {
        let dims = Dims::from(call.inputs[0].dims());
        set_sizes(call, &dims, &[dims.len()])
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Same(batch_rules::shape),
    rows: Rows::All,
    elements: Elements::Rule(elements::shape),
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: size_samples,
};

/// The number of elements.
pub static SIZE: OpDef = OpDef {
    name: "size",
    tf_name: "Size",
    doc: "The number of elements of `x`, as a scalar of `dtype`, which is `i32` or `i64`.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[INDEX_DTYPE],
    effects: &[],
    infer: |cx| one(Type::scalar(require_dtype(cx.attrs.dtype(0), DTypeSet::INDEX, "dtype")?)),
    cpu: Cpu::Kernel(|call| set_sizes(call, &[call.inputs[0].len()], &[])),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Same(batch_rules::size),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: size_samples,
};

/// The number of dimensions.
pub static RANK: OpDef = OpDef {
    name: "rank",
    tf_name: "Rank",
    doc: "The number of dimensions of `x`, as an `i32` scalar.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |_| one(Type::scalar(DType::I32)),
    cpu: Cpu::Kernel(|call| {
        call.set(0, Tensor::scalar(call.inputs[0].rank() as i32));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Same(batch_rules::rank),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: plain_samples,
};

/// One value everywhere.
pub static FILL: OpDef = OpDef {
    name: "fill",
    tf_name: "Fill",
    doc: "An array of the extents `dims` of the scalar `value`.\n\n\
          Raises InvalidArgument for a negative size, ResourceExhausted where the memory cannot be had.",
    dtypes: ANY,
    operands: &[index_arg("dims"), arg_of("value", ArgType::Var(0))],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 1, 0, "value")?;
        one(like(cx, 1, described_shape(cx, 0, "dims")?))
    },
    cpu: Cpu::Kernel(|call| {
        moving(call, |call| {
            let (dims, value) = (sizes_of(call, 0, "dims")?, call.inputs[1]);
            if value.rank() != 0 {
                return Err(
                    Error::invalid(format!("expected a scalar, got shape {:?}", value.dims())).argument("value")
                );
            }
            moves::fill(call, value, &dims).map_err(|e| e.argument("dims"))
        })
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(|cx| {
        let g = cx.grads[0].unwrap_or(cx.outputs[0]);
        Ok(smallvec![None, Some(cx.emit.emit(cx.ops.reduce_sum, &[g], &[])?)])
    }),
    jvp: Jvp::Linear(&[1]),
    batch: Batch::Rule(batch_rules::fill),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::Never,
    fold: Fold::Never("it would store every repetition"),
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> = kinds(&[]).into_iter().map(|v| Sample::new(vec![i32s(&[2, 3]), v])).collect();
        out.extend([&[][..], &[0], &[1], &[2, 0]].map(|dims| Sample::new(vec![i64s(dims), f64s(&[])])));
        out
    },
};

/// Zeros like the operand.
pub static ZEROS_LIKE: OpDef = OpDef {
    name: "zeros_like",
    tf_name: "ZerosLike",
    doc: "Zeros of the dtype and shape of `x`; `false` for `bool`, empty strings for strings.",
    dtypes: ANY,
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(|call| {
        moving(call, |call| {
            let x = call.inputs[0];
            moves::fill(call, &Tensor::zeros(x.dtype(), &[])?, x.dims())
        })
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::moved),
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: plain_samples,
};

/// Ones like the operand.
pub static ONES_LIKE: OpDef = OpDef {
    name: "ones_like",
    tf_name: "OnesLike",
    doc: "Ones of the dtype and shape of `x`; `true` for `bool`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| one(cx.inputs[0].clone()),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        moves::fill(call, &tensor(x.dtype(), &[], &[1.0]), x.dims())
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::first),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let mut out: Vec<Sample> =
            DTypeSet::PLAIN.iter().map(|d| Sample::new(vec![tensor(d, &[2, 2], LINE)])).collect();
        out.extend([&[][..], &[0], &[1]].map(|dims| Sample::new(vec![f64s(dims)])));
        out
    },
};

/// Numbers at equal distances.
pub static RANGE: OpDef = OpDef {
    name: "range",
    tf_name: "Range",
    doc: "The numbers `start`, `start + delta`, … before `limit`.\n\n\
          All operands are scalars. Raises InvalidArgument where `delta` is 0 or leads away from `limit`.",
    dtypes: &[DTypeVar::new("T", DTypeSet::REAL)],
    operands: &[arg("start"), arg("limit"), arg("delta")],
    attrs: &[],
    effects: &[],
    infer: infer_range,
    cpu: Cpu::Kernel(|call| {
        let [start, limit, delta] = [0, 1, 2].map(|i| call.inputs[i]);
        let n = range_len(start, limit, delta)?;
        moves::range(call, start, delta, n)
    }),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(range_vjp),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnOperands(&[1, 2]),
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let of = |d: DType, v: [f64; 3]| Sample::new(v.map(|v| tensor(d, &[], &[v])).into());
        let mut out: Vec<Sample> = DTypeSet::REAL.iter().map(|d| of(d, [1.0, 8.0, 3.0])).collect();
        out.push(of(DType::F64, [0.0, 1.0, 0.3]));
        out.push(of(DType::F32, [5.0, -1.0, -1.5]));
        out.push(of(DType::I64, [3.0, 3.0, 1.0]));
        out.push(of(DType::I32, [10.0, 0.0, -3.0]));
        out
    },
};

fn infer_range(cx: &InferCx<'_>) -> Result<OutTypes> {
    for (i, name) in ["start", "limit", "delta"].into_iter().enumerate() {
        require_rank(cx, i, 0, name)?;
    }
    let constant = |i| cx.values.constant(i);
    let is = |i: usize, n: i64| constant(i).and_then(|t| t.to_ints().ok()).is_some_and(|v| v.as_slice() == [n]);
    let dim = match (constant(0), constant(1), constant(2)) {
        (Some(start), Some(limit), Some(delta)) => Dim::Known(range_len(&start, &limit, &delta)?),
        // As many as a size that the graph knows by name.
        _ if cx.dtype(0).is_integer() && is(0, 0) && is(2, 1) => match cx.values.dims(1).as_deref() {
            Some(&[dim]) => dim,
            _ => Dim::Unknown,
        },
        _ => Dim::Unknown,
    };
    one(like(cx, 0, Shape::new([dim])))
}

/// The number of elements of a range.
fn range_len(start: &Tensor, limit: &Tensor, delta: &Tensor) -> Result<usize> {
    for (t, name) in [(start, "start"), (limit, "limit"), (delta, "delta")] {
        if t.rank() != 0 {
            return Err(Error::invalid(format!("expected a scalar, got shape {:?}", t.dims())).argument(name));
        }
    }
    let zero = || Error::invalid("must not be 0").argument("delta");
    let away = |from: String, to: String, by: String| {
        Error::invalid(format!("steps of {by} from {from} do not lead to {to}")).argument("delta")
    };
    macro_rules! float {
        ($ty:ty, $to_f64:expr) => {{
            let [a, b, d] = [start, limit, delta].map(|t| t.as_slice::<$ty>()[0]);
            let to_f64: fn($ty) -> f64 = $to_f64;
            if to_f64(d) == 0.0 {
                return Err(zero());
            }
            let n = to_f64((b - a) / d).ceil();
            if n.is_nan() {
                return Err(Error::invalid("is not finite").argument("limit"));
            }
            if n < 0.0 {
                return Err(away(a.to_string(), b.to_string(), d.to_string()));
            }
            if n >= isize::MAX as f64 {
                return Err(Error::exhausted(format!("{n} numbers are too many to address")).argument("limit"));
            }
            Ok(n as usize)
        }};
    }
    match start.dtype() {
        DType::F16 => float!(f16, f16::to_f64),
        DType::Bf16 => float!(bf16, bf16::to_f64),
        DType::F32 => float!(f32, f64::from),
        DType::F64 => float!(f64, |v| v),
        dtype => {
            let wide = |t: &Tensor| -> Result<i128> {
                let v = t.to_ints()?[0];
                Ok(if dtype == DType::U64 { i128::from(v as u64) } else { i128::from(v) })
            };
            let (a, b, d) = (wide(start)?, wide(limit)?, wide(delta)?);
            if d == 0 {
                return Err(zero());
            }
            if a != b && (b > a) != (d > 0) {
                return Err(away(a.to_string(), b.to_string(), d.to_string()));
            }
            let n = ((b - a).abs() + d.abs() - 1) / d.abs();
            usize::try_from(n).map_err(|_| Error::exhausted(format!("{n} numbers are too many to address")))
        }
    }
}

/// Element `i` is `start + i · delta`; the limit only counts them.
fn range_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    rule(cx, |t| {
        let (g, start, delta, y) = (t.g(), t.x(0), t.x(2), t.y(0));
        let all = [0];
        let d_start = t.needed[0].then(|| g.sum(&all, false));
        let d_limit = t.needed[1].then(|| start.number(0.0));
        let d_delta = t.needed[2].then(|| (g * (y - start)).sum(&all, false) / delta);
        smallvec![d_start, d_limit, d_delta]
    })
}

/// Rows with one element that differs.
pub static ONE_HOT: OpDef = OpDef {
    name: "one_hot",
    tf_name: "OneHot",
    doc: "For each of `indices` a row of `depth` elements: `on_value` where the position is the index, else `off_value`.\n\n\
          The new dimension is at `axis`, which is in `-1 ..= rank`; -1 is the last. `depth`, `on_value` and `off_value` are \
          scalars. An index outside of `0..depth` gives only `off_value`. Raises InvalidArgument for a negative depth.",
    dtypes: ANY,
    operands: &[
        arg_of("indices", ArgType::In(DTypeSet::INTEGER)),
        index_arg("depth"),
        arg_of("on_value", ArgType::Var(0)),
        arg_of("off_value", ArgType::Var(0)),
    ],
    attrs: &[AttrDef::new("axis", AttrKind::Int, AttrDefault::Int(-1))],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 2, 0, "on_value")?;
        require_rank(cx, 3, 0, "off_value")?;
        let depth = described_size(cx, 1, "depth")?;
        let Some(dims) = cx.shape(0).dims() else { return one(like(cx, 2, Shape::UNRANKED)) };
        let mut dims: SmallVec<[Dim; 4]> = dims.into();
        dims.insert(normalize_axis(cx.attrs.int(0), dims.len() + 1, "axis")?, depth);
        one(like(cx, 2, Shape::new(dims)))
    },
    cpu: Cpu::Kernel(|call| moving(call, run_one_hot)),
    cuda: Cuda::Kernels,
    vjp: Vjp::Rule(one_hot_vjp),
    jvp: Jvp::Linear(&[2, 3]),
    batch: Batch::Rule(|cx| batch_rules::along(cx, 0)),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: Some(crate::resolve::one_hot),
    fails: Fails::Never,
    fold: Fold::Never("it would store the rows"),
    promise: PROMISE,
    samples: || {
        let depth = || Tensor::scalar(3i32);
        let mut out: Vec<Sample> = Vec::new();
        for pair in kinds(&[2]) {
            let scalar = |i| pair.rows(i, 1).and_then(|t| t.reshaped(&[])).expect("one element");
            out.push(Sample::new(vec![i32s(&[2, 0, 5, -1]), depth(), scalar(0), scalar(1)]));
        }
        let one = |indices: Tensor, axis: i64| {
            let values = [1.0, 0.0].map(Tensor::scalar);
            Sample::new([vec![indices, depth()], values.into()].concat()).with("axis", axis)
        };
        out.extend(DTypeSet::INTEGER.iter().map(|d| one(tensor(d, &[3], &[1.0, 2.0, 0.0]), -1)));
        out.push(one(Tensor::scalar(1i64), 0));
        out.push(one(i32_array(&[2, 2], &[0, 1, 2, 1]), 0));
        out.push(one(i32_array(&[2, 2], &[0, 1, 2, 1]), 1));
        out.push(one(i32s(&[]), -1));
        out
    },
};

fn run_one_hot(call: &mut Call<'_>) -> Result<()> {
    let [indices, depth, on, off] = [0, 1, 2, 3].map(|i| call.inputs[i]);
    for (t, name) in [(on, "on_value"), (off, "off_value")] {
        if t.rank() != 0 {
            return Err(Error::invalid(format!("expected a scalar, got shape {:?}", t.dims())).argument(name));
        }
    }
    let depth = size(int_scalar(depth, "depth")?, "depth")?;
    let mut dims = Dims::from(indices.dims());
    let axis = normalize_axis(call.attrs.int(0), dims.len() + 1, "axis")?;
    let (outer, inner) = (dims[..axis].iter().product(), dims[axis..].iter().product());
    dims.insert(axis, depth);
    let wide;
    let indices = if DTypeSet::INDEX.contains(indices.dtype()) {
        indices
    } else {
        wide = Tensor::from_slice(indices.dims(), &indices.to_ints()?)?;
        &wide
    };
    moves::one_hot(call, indices, [outer, depth, inner], [on, off], &dims).map_err(|e| e.argument("depth"))
}

fn one_hot_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    let axis = cx.attrs.int(0);
    rule(cx, |t| {
        let g = t.g();
        let attrs = [("axis", axis.into())];
        let mask = t.x(0).emit(&ONE_HOT, &[t.x(1), g.number(1.0), g.number(0.0)], &attrs);
        let on = (g * mask).then(g.ops().reduce_sum);
        let off = g.then(g.ops().reduce_sum) - on;
        smallvec![None, None, t.needed[2].then_some(on), t.needed[3].then_some(off)]
    })
}
