//! Instructions that run as one: the optimiser makes them.

use penstock_data::{DTypeSet, Error, Result};
use penstock_ir::{
    ArgType, Batch, Cost, Cpu, Cuda, Elements, Fails, Fold, InferCx, Jvp, OpDef, OutTypes, Rows, Sample, Structure,
    Vjp, args_of,
};

use crate::util::PROMISE;

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&FUSED, &NATIVE];

fn no_samples() -> Vec<Sample> {
    Vec::new()
}

/// A group of elementwise instructions and reductions.
pub static FUSED: OpDef = OpDef {
    name: "fused",
    tf_name: "Fused",
    doc: "The results of its region, whose parameters are the operands.\n\n\
          The region holds elementwise instructions on operands that broadcast to one shape, reductions of results of that \
          shape, and elementwise instructions on what reductions of the last dimensions leave; and slices of its parameters, \
          with constants of their own, which say where operands lie. It uses no value from outside. The optimiser makes these \
          instructions, so that a device runs the group in one pass over memory.",
    dtypes: &[],
    operands: &[args_of("args", ArgType::In(DTypeSet::PLAIN))],
    attrs: &[],
    effects: &[],
    infer: infer_group,
    cpu: Cpu::Executor(Structure::Body),
    cuda: Cuda::Region,
    vjp: Vjp::NonDifferentiable("it is made by the optimiser, after differentiation"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::Region,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("its instructions are folded before they are grouped"),
    promise: PROMISE,
    samples: no_samples,
};

/// A group of instructions on scalars and small arrays.
pub static NATIVE: OpDef = OpDef {
    name: "native",
    tf_name: "Native",
    doc: "The results of its region, whose parameters are the operands.\n\n\
          The region holds elementwise instructions on scalars, constants, elements of arrays by `part` and `gather`, and `cond`, \
          `switch` and `while` over such regions; around loops also instructions on small arrays, and lists of these that are \
          made and forgotten in the region. It uses no value from outside. The optimiser makes these instructions, so that a device runs the \
          group as machine code.",
    dtypes: &[],
    operands: &[args_of("args", ArgType::In(DTypeSet::PLAIN))],
    attrs: &[],
    effects: &[],
    infer: infer_group,
    cpu: Cpu::Executor(Structure::Body),
    cuda: Cuda::HostFallback("scalars are computed on the host"),
    vjp: Vjp::NonDifferentiable("it is made by the optimiser, after differentiation"),
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("its instructions are folded before they are grouped"),
    promise: PROMISE,
    samples: no_samples,
};

fn infer_group(cx: &InferCx<'_>) -> Result<OutTypes> {
    let [region] = cx.regions else { return Err(Error::invalid("needs one region")) };
    if region.params.len() != cx.inputs.len() {
        return Err(Error::invalid(format!(
            "the region takes {} parameters, got {} operands",
            region.params.len(),
            cx.inputs.len()
        )));
    }
    for (i, (param, ty)) in region.params.iter().zip(cx.inputs).enumerate() {
        if !ty.is_subtype_of(param) {
            return Err(Error::invalid(format!("expected {param}, got {ty}")).argument(format!("args[{i}]")));
        }
    }
    Ok(region.results.iter().cloned().collect())
}
