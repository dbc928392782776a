//! Constants, control flow and calls.
//!
//! Regions see the values around them, so that only what changes is passed along.

use penstock_data::{DType, DTypeSet, Error, Result};
use penstock_ir::{
    ArgType, Attr, AttrDef, AttrKind, Attrs, Batch, Cost, Cotangents, Cpu, Cuda, Elements, Fails, Fold, InferCx, Jvp,
    OpDef, OutTypes, Rows, Sample, Signature, Structure, Type, Value, Vjp, VjpCx, arg_of, args_of,
};

use crate::array::ZEROS_LIKE;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&CONST, &COND, &SWITCH, &WHILE, &CALL, &WITH_GRADIENT];

const NOT_FOLDED: Fold = Fold::Never("its regions or callee are simplified instead");
const ON_HOST: Cuda =
    Cuda::HostFallback("control stays on the host; the instructions inside run where they are placed");

fn no_samples() -> Vec<Sample> {
    Vec::new()
}

/// A constant.
pub static CONST: OpDef = OpDef {
    name: "const",
    tf_name: "Const",
    doc: "The tensor that is its attribute.",
    dtypes: &[],
    operands: &[],
    attrs: &[AttrDef::required("value", AttrKind::Tensor)],
    effects: &[],
    infer: |cx| match cx.attrs.tensor(0) {
        list if list.dtype() == DType::Variant => Err(Error::dtype("a list is not a constant")),
        tensor => one(Type::of(tensor)),
    },
    cpu: Cpu::Executor(Structure::Constant),
    cuda: Cuda::HostFallback("constants are copied to the device once"),
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it is one"),
    promise: PROMISE,
    samples: no_samples,
};

/// One of two regions, by a `bool` scalar.
pub static COND: OpDef = OpDef {
    name: "cond",
    tf_name: "If",
    doc: "The results of its first region where `pred` is true, else those of its second. Only that region runs.\n\n\
          Both regions have no parameters and as many results, of the same dtypes.",
    dtypes: &[],
    operands: &[arg_of("pred", ArgType::Fixed(DType::Bool))],
    attrs: &[],
    effects: &[],
    infer: infer_branches,
    cpu: Cpu::Executor(Structure::Branches),
    cuda: ON_HOST,
    vjp: Vjp::Structural,
    jvp: Jvp::FromVjp,
    batch: Batch::Structural,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

/// One of many regions, by index.
pub static SWITCH: OpDef = OpDef {
    name: "switch",
    tf_name: "Case",
    doc: "The results of region `index`; an index outside the list takes the last region. Only that region runs.\n\n\
          The regions have no parameters and as many results, of the same dtypes.",
    dtypes: &[],
    operands: &[arg_of("index", ArgType::Fixed(DType::I32))],
    attrs: &[],
    effects: &[],
    infer: infer_branches,
    cpu: Cpu::Executor(Structure::Branches),
    cuda: ON_HOST,
    vjp: Vjp::Structural,
    jvp: Jvp::FromVjp,
    batch: Batch::Structural,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

fn infer_branches(cx: &InferCx<'_>) -> Result<OutTypes> {
    require_scalar(&cx.inputs[0], 0)?;
    let Some((first, rest)) = cx.regions.split_first() else {
        return Err(Error::invalid("needs at least one region"));
    };
    let mut out: OutTypes = first.results.iter().cloned().collect();
    for (i, region) in cx.regions.iter().enumerate() {
        if !region.params.is_empty() {
            return Err(Error::invalid(format!("branch {i} has parameters")));
        }
    }
    for (i, region) in rest.iter().enumerate() {
        if region.results.len() != out.len() {
            return Err(Error::invalid(format!(
                "branch 0 has {} results, branch {} has {}",
                out.len(),
                i + 1,
                region.results.len()
            )));
        }
        for (k, (a, b)) in out.iter_mut().zip(&region.results).enumerate() {
            if a.dtype() != b.dtype() || a.is_variable() || b.is_variable() {
                return Err(Error::dtype(format!("result {k} is {a} in branch 0 and {b} in branch {}", i + 1)));
            }
            *a = a.with_shape(a.shape().join(b.shape()));
        }
    }
    Ok(out)
}

fn require_scalar(ty: &Type, operand: usize) -> Result<()> {
    match ty.shape().rank() {
        None | Some(0) => Ok(()),
        Some(rank) => Err(Error::invalid(format!("operand {operand} must be a scalar, got rank {rank}"))),
    }
}

/// A loop.
pub static WHILE: OpDef = OpDef {
    name: "while",
    tf_name: "While",
    doc: "Repeats its second region while its first gives true.\n\n\
          Both regions take the loop variables as parameters; the operands are their first values, the results of the \
          second region their next, and the results of the instruction their last. A loop variable keeps its dtype, \
          and its shape stays within the type of the parameter.\n\n\
          For its derivative a loop keeps what that reads of every iteration; with `checkpoint_every` = k it keeps its \
          variables every k-th iteration, and the derivative runs the iterations in between again. A body with effects other \
          than reads is not run again: the attribute has no effect then.",
    dtypes: &[],
    operands: &[args_of("init", ArgType::In(DTypeSet::ALL))],
    attrs: &[AttrDef::optional("checkpoint_every", AttrKind::Int)],
    effects: &[],
    infer: infer_while,
    cpu: Cpu::Executor(Structure::Loop),
    cuda: ON_HOST,
    vjp: Vjp::Structural,
    jvp: Jvp::FromVjp,
    batch: Batch::Structural,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

fn infer_while(cx: &InferCx<'_>) -> Result<OutTypes> {
    if let Some(every) = cx.attrs.opt_int(0)
        && every < 1
    {
        return Err(Error::invalid(format!("must be positive, got {every}")).argument("checkpoint_every"));
    }
    let [cond, body] = cx.regions else { return Err(Error::invalid("needs a condition and a body")) };
    match cond.results.as_slice() {
        [ty] if ty.dtype() == DType::Bool && !ty.is_variable() => require_scalar(ty, 0)?,
        other => return Err(Error::invalid(format!("the condition must give one bool scalar, gives {}", list(other)))),
    }
    if cond.params != body.params || body.params.len() != cx.inputs.len() || body.results.len() != cx.inputs.len() {
        return Err(Error::invalid(format!(
            "{} loop variables, but the condition takes ({}) and the body takes ({}) and gives ({})",
            cx.inputs.len(),
            list(&cond.params),
            list(&body.params),
            list(&body.results)
        )));
    }
    for (k, param) in body.params.iter().enumerate() {
        for (what, ty) in [("starts as", &cx.inputs[k]), ("becomes", &body.results[k])] {
            if ty.dtype() != param.dtype() {
                return Err(Error::dtype(format!("loop variable {k} is {param} but {what} {ty}")));
            }
            if !ty.shape().is_subtype_of(param.shape()) {
                return Err(Error::invalid(format!("loop variable {k} is {param} but {what} {ty}")));
            }
        }
    }
    Ok(body.params.iter().cloned().collect())
}

fn list(types: &[Type]) -> String {
    types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}

/// A call.
pub static CALL: OpDef = OpDef {
    name: "call",
    tf_name: "PartitionedCall",
    doc: "The outputs of the function `func` for the operands.",
    dtypes: &[],
    operands: &[args_of("args", ArgType::Anything)],
    attrs: &[AttrDef::required("func", AttrKind::Func)],
    effects: &[],
    infer: infer_call,
    cpu: Cpu::Executor(Structure::Call),
    cuda: ON_HOST,
    vjp: Vjp::Structural,
    jvp: Jvp::FromVjp,
    batch: Batch::Structural,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: NOT_FOLDED,
    promise: PROMISE,
    samples: no_samples,
};

fn infer_call(cx: &InferCx<'_>) -> Result<OutTypes> {
    let Some(Signature { params, results }) = cx.regions.last() else { return Err(Error::internal("no callee")) };
    if params.len() != cx.inputs.len() {
        return Err(Error::invalid(format!("the function takes {} operands, got {}", params.len(), cx.inputs.len())));
    }
    for (i, (param, ty)) in params.iter().zip(cx.inputs).enumerate() {
        if param.dtype() != ty.dtype() || param.is_variable() != ty.is_variable() {
            return Err(Error::dtype(format!("expected {param}, got {ty}")).argument(format!("args[{i}]")));
        }
        if !param.shape().compatible(ty.shape()) {
            return Err(Error::invalid(format!("expected {param}, got {ty}")).argument(format!("args[{i}]")));
        }
    }
    // The callee's symbols mean nothing here.
    Ok(results.iter().map(|ty| ty.with_shape(ty.shape().erased())).collect())
}

/// Values with a gradient of their own.
pub static WITH_GRADIENT: OpDef = OpDef {
    name: "with_gradient",
    tf_name: "IdentityN",
    doc: "Its first `outputs` operands, with a gradient that the function `func` computes.\n\n\
          The next operands, as many as `places` has entries, get the cotangents: entry `i` is the output of `func` for \
          operand `outputs + i`, or -1 for none. `func` takes the cotangent of each floating-point or complex result, \
          then the rest of the operands.",
    dtypes: &[],
    operands: &[args_of("values", ArgType::Anything)],
    attrs: &[
        AttrDef::required("func", AttrKind::Func),
        AttrDef::required("outputs", AttrKind::Int),
        AttrDef::required("places", AttrKind::Ints),
    ],
    effects: &[],
    infer: infer_with_gradient,
    cpu: Cpu::Executor(Structure::Call),
    cuda: ON_HOST,
    vjp: Vjp::Rule(custom_cotangents),
    jvp: Jvp::FromVjp,
    batch: Batch::Structural,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it vanishes when it is planned"),
    promise: PROMISE,
    samples: no_samples,
};

/// The number of results of a [`WITH_GRADIENT`] instruction.
pub fn results_with_gradient(attrs: &Attrs) -> usize {
    usize::try_from(attrs.int(1)).unwrap_or(0)
}

fn infer_with_gradient(cx: &InferCx<'_>) -> Result<OutTypes> {
    let (outputs, places) = (results_with_gradient(cx.attrs), cx.attrs.ints(2));
    let Some(callee) = cx.regions.last() else { return Err(Error::internal("no gradient function")) };
    let Some(rest) = cx.inputs.len().checked_sub(outputs + places.len()) else {
        return Err(Error::invalid(format!(
            "{outputs} results and {} places, but {} operands",
            places.len(),
            cx.inputs.len()
        )));
    };
    let results: OutTypes = cx.inputs[..outputs].iter().cloned().collect();
    let cotangents = results.iter().filter(|ty| ty.dtype().is_differentiable()).count();
    if callee.params.len() != cotangents + rest || results.iter().any(Type::is_variable) {
        return Err(Error::invalid(format!(
            "the gradient function takes {} operands, not {cotangents} cotangents and {rest} values",
            callee.params.len()
        )));
    }
    if let Some(bad) = places.iter().find(|&&p| p >= callee.results.len() as i64) {
        return Err(Error::invalid(format!("place {bad} of {} gradients", callee.results.len())).argument("places"));
    }
    Ok(results)
}

fn custom_cotangents(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    let (outputs, places) = (results_with_gradient(cx.attrs), cx.attrs.ints(2));
    let mut args: Vec<Value> = Vec::new();
    for (i, &y) in cx.outputs.iter().enumerate() {
        match cx.grads[i] {
            Some(grad) => args.push(grad),
            None if cx.emit.type_of(y).dtype().is_differentiable() => {
                args.push(cx.emit.emit(&ZEROS_LIKE, &[y], &[])?)
            }
            None => {}
        }
    }
    args.extend(&cx.inputs[outputs + places.len()..]);
    let found = cx.emit.emit_all(&CALL, &args, &[("func", Attr::Func(cx.attrs.func(0).clone()))])?;
    let mut all: Cotangents = smallvec::smallvec![None; cx.inputs.len()];
    for (i, &place) in places.iter().enumerate() {
        all[outputs + i] = usize::try_from(place).ok().map(|p| found[p]);
    }
    Ok(all)
}
