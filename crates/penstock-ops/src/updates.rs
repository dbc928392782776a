//! Operators that change a part of a variable in place.
//!
//! Their kernels get the variable's value as result 0, which nobody else holds, and the operands behind the variable as
//! inputs. They check before they write: one that fails leaves the value as it was.

use penstock_data::{DType, DTypeSet, Error, Result, Tensor};
use penstock_ir::{
    ArgDef, ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Effect, Elements,
    Fails, Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg_of,
};
use penstock_kernels::Binary;

use crate::operands::{index_arg, int_scalar, require_rank};
use crate::util::{PROMISE, none, one};
use crate::{gather, slicing};

const VARIABLE: ArgDef = arg_of("variable", ArgType::Variable);
const NOT_FOLDED: Fold = Fold::Never("it touches a variable");
const AT_HOME: Cuda = Cuda::HostFallback("variables live where they were made");

fn no_samples() -> Vec<Sample> {
    Vec::new()
}

/// Checks that a value has the variable's dtype.
pub(crate) fn check_dtype(due: DType, got: DType, name: &str) -> Result<()> {
    if due == got {
        return Ok(());
    }
    let (due, got) = (due.tf_name(), got.tf_name());
    Err(Error::dtype(format!("the variable has dtype {due}, the value {got}")).argument(name))
}

/// The arithmetic of a scatter into a variable of a dtype.
fn checked_mode(attrs: &Attrs, dtype: DType) -> Result<Option<Binary>> {
    let (op, dtypes) = mode(attrs)?;
    if dtypes.contains(dtype) {
        return Ok(op);
    }
    let (mode, dtype) = (attrs.str(0), dtype.tf_name());
    Err(Error::dtype(format!("dtype {dtype} is not supported by mode {mode:?}; expected one of: {dtypes}"))
        .argument("variable"))
}

/// The arithmetic that a mode names, with the dtypes that it takes; `None` where the new value replaces the old.
fn mode(attrs: &Attrs) -> Result<(Option<Binary>, DTypeSet)> {
    Ok(match attrs.str(0) {
        "update" => (None, DTypeSet::PLAIN),
        "add" => (Some(Binary::Add), DTypeSet::NUMERIC),
        "sub" => (Some(Binary::Sub), DTypeSet::NUMERIC),
        "mul" => (Some(Binary::Mul), DTypeSet::NUMERIC),
        "div" => (Some(Binary::Div), DTypeSet::INEXACT),
        "min" => (Some(Binary::Min), DTypeSet::REAL),
        "max" => (Some(Binary::Max), DTypeSet::REAL),
        other => {
            let modes = "expected update, add, sub, mul, div, min or max";
            return Err(Error::invalid(format!("{modes}, got {other:?}")).argument("mode"));
        }
    })
}

/// Slices of a variable, changed by rows of indices.
pub static SCATTER_VARIABLE: OpDef = OpDef {
    name: "scatter_variable",
    tf_name: "ResourceScatterNdUpdate",
    doc: "Changes the slices of the variable that the rows of `indices` name, in place.\n\n\
          The last dimension of `indices`, `k`, holds positions in the first `k` dimensions of the variable; `updates` has the \
          extents `indices[..-1] + variable[k..]`. `mode` says what becomes of a slice: `update` replaces it; `add`, `sub`, `mul`, \
          `div`, `min` and `max` combine it with the update, those of one slice one after the other. Raises InvalidArgument for \
          a position that is not there; the variable is unchanged then.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
    operands: &[VARIABLE, index_arg("indices"), arg_of("updates", ArgType::Var(0))],
    attrs: &[AttrDef::new("mode", AttrKind::Str, AttrDefault::Str("update"))],
    effects: &[Effect::Write(0)],
    infer: |cx| {
        check_dtype(cx.dtype(0), cx.dtype(2), "updates")?;
        checked_mode(cx.attrs, cx.dtype(0))?;
        gather::check_updates(cx, 1, 2, cx.shape(0))?;
        none()
    },
    cpu: Cpu::Variable(run_scatter),
    cuda: AT_HOME,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

fn run_scatter(call: &mut Call<'_>) -> Result<()> {
    let op = checked_mode(call.attrs, call.outputs[0].dtype())?;
    check_dtype(call.outputs[0].dtype(), call.inputs[1].dtype(), "updates")?;
    let dims = call.outputs[0].dims().to_vec();
    gather::scatter_into(call, op, call.inputs[0], call.inputs[1], &dims)
}

/// A box of a variable, replaced.
pub static STRIDED_SLICE_ASSIGN: OpDef = OpDef {
    name: "strided_slice_assign",
    tf_name: "ResourceStridedSliceAssign",
    doc: "Writes `value` where `strided_slice` with the same specification would read the variable, in place.\n\n\
          `value` has the extents of that slice. Raises InvalidArgument where it has not, IndexOutOfBounds for a single index that is \
          not there; the variable is unchanged then.",
    dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
    operands: &[VARIABLE, index_arg("begin"), index_arg("end"), index_arg("strides"), arg_of("value", ArgType::Var(0))],
    attrs: slicing::MASKS,
    effects: &[Effect::Write(0)],
    infer: |cx| {
        check_dtype(cx.dtype(0), cx.dtype(4), "value")?;
        slicing::check_slice_assign(cx)?;
        none()
    },
    cpu: Cpu::Variable(slicing::run_slice_assign),
    cuda: AT_HOME,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

/// A counter that ends.
pub static COUNT_UP_TO: OpDef = OpDef {
    name: "count_up_to",
    tf_name: "ResourceCountUpTo",
    doc: "The integer scalar in `variable` before 1 is added to it, in one step.\n\n\
          Raises OutOfRange where it is `limit` or more; it stays as it is then.",
    dtypes: &[],
    operands: &[VARIABLE],
    attrs: &[AttrDef::required("limit", AttrKind::Int)],
    effects: &[Effect::Read(0), Effect::Write(0)],
    infer: infer_count_up_to,
    cpu: Cpu::Variable(run_count_up_to),
    cuda: AT_HOME,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

fn infer_count_up_to(cx: &InferCx<'_>) -> Result<OutTypes> {
    let dtype = cx.dtype(0);
    if !matches!(dtype, DType::I32 | DType::I64) {
        let message = format!("expected dtype int32 or int64, got {}", dtype.tf_name());
        return Err(Error::dtype(message).argument("variable"));
    }
    require_rank(cx, 0, 0, "variable")?;
    one(Type::scalar(dtype))
}

fn run_count_up_to(call: &mut Call<'_>) -> Result<()> {
    let limit = call.attrs.int(0);
    let value = &mut call.outputs[0];
    let before = value.clone();
    let now = int_scalar(&before, "variable")?;
    if now >= limit {
        return Err(Error::out_of_range(format!("Reached limit of {limit}")));
    }
    *value = match before.dtype() {
        DType::I32 => Tensor::from((now as i32).wrapping_add(1)),
        _ => Tensor::from(now + 1),
    };
    call.set(1, before);
    Ok(())
}

/// Counter values that a generator leaves for each number, whatever the distribution takes.
const RESERVED: u128 = 256;

/// The state of a generator, moved on.
pub static RNG_READ_AND_SKIP: OpDef = OpDef {
    name: "rng_read_and_skip",
    tf_name: "RngReadAndSkip",
    doc: "The state of a Philox generator before it is moved on by `delta` numbers, in one step.\n\n\
          `variable` holds the lower and the upper half of the counter, then the key: three `int64`. The counter grows by 256 for \
          each number, as in TensorFlow. Raises InvalidArgument where `delta` is negative.",
    dtypes: &[],
    operands: &[VARIABLE, index_arg("delta")],
    attrs: &[],
    effects: &[Effect::Read(0), Effect::Write(0)],
    infer: infer_read_and_skip,
    cpu: Cpu::Variable(run_read_and_skip),
    cuda: AT_HOME,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

fn infer_read_and_skip(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_rank(cx, 1, 0, "delta")?;
    if cx.dtype(0) != DType::I64 {
        let message = format!("the state of a generator has dtype int64, got {}", cx.dtype(0).tf_name());
        return Err(Error::dtype(message).argument("variable"));
    }
    if !cx.shape(0).compatible(&penstock_data::Shape::known(&[3])) {
        return Err(
            Error::invalid(format!("the state of a generator has shape [3], got {}", cx.shape(0))).argument("variable")
        );
    }
    one(Type::tensor(DType::I64, penstock_data::Shape::known(&[3])))
}

fn run_read_and_skip(call: &mut Call<'_>) -> Result<()> {
    let delta = int_scalar(call.inputs[0], "delta")?;
    let delta = u128::try_from(delta)
        .map_err(|_| Error::invalid(format!("must not be negative, got {delta}")).argument("delta"))?;
    if call.outputs[0].dims() != [3] {
        return Err(Error::invalid(format!(
            "the state of a generator has shape [3], got {:?}",
            call.outputs[0].dims()
        )));
    }
    let state = call.outputs[0].as_mut_slice::<i64>();
    let before = Tensor::from_slice(&[3], state)?;
    let counter = u128::from(state[0] as u64) | u128::from(state[1] as u64) << 64;
    let after = counter.wrapping_add(delta * RESERVED);
    (state[0], state[1]) = (after as i64, (after >> 64) as i64);
    call.set(1, before);
    Ok(())
}
