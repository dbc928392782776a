//! Variables.

use penstock_data::{DTypeSet, Error, Result};
use penstock_ir::{
    ArgDef, ArgType, Batch, Cost, Cpu, Cuda, DTypeVar, Effect, Elements, Fails, Fold, InferCx, Jvp, OpDef, OutTypes,
    Rows, Sample, Structure, Type, Vjp, arg_of,
};

use crate::updates;
use crate::util::{PROMISE, none};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[
    &READ_VARIABLE,
    &ASSIGN,
    &ASSIGN_ADD,
    &ASSIGN_SUB,
    &updates::SCATTER_VARIABLE,
    &updates::STRIDED_SLICE_ASSIGN,
    &updates::RNG_READ_AND_SKIP,
    &updates::COUNT_UP_TO,
];

const VARIABLE: ArgDef = arg_of("variable", ArgType::Variable);
const NOT_FOLDED: Fold = Fold::Never("it touches a variable");

fn no_samples() -> Vec<Sample> {
    Vec::new()
}

/// The value of a variable.
pub static READ_VARIABLE: OpDef = OpDef {
    name: "read_variable",
    tf_name: "ReadVariableOp",
    doc: "The value of a variable now: later assignments do not change the result.",
    dtypes: &[],
    operands: &[VARIABLE],
    attrs: &[],
    effects: &[Effect::Read(0)],
    infer: |cx| Ok(OutTypes::from_iter([Type::Tensor(cx.dtype(0), cx.shape(0).clone())])),
    cpu: Cpu::Executor(Structure::Plain),
    cuda: Cuda::HostFallback("variables live where they were made"),
    vjp: Vjp::Structural,
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

macro_rules! assignment {
    ($(#[$doc:meta])* $name:ident, $text:literal, $tf:literal, $set:expr, $summary:literal) => {
        $(#[$doc])*
        pub static $name: OpDef = OpDef {
            name: $text,
            tf_name: $tf,
            doc: $summary,
            dtypes: &[DTypeVar::new("T", $set)],
            operands: &[VARIABLE, arg_of("value", ArgType::Var(0))],
            attrs: &[],
            effects: &[Effect::Write(0)],
            infer: infer_assign,
            cpu: Cpu::Executor(Structure::Plain),
            cuda: Cuda::HostFallback("variables live where they were made"),
            vjp: Vjp::Zero,
            jvp: Jvp::FromVjp,
            batch: Batch::Loop("examples write a variable one after the other"),
            rows: Rows::All,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::OnShapes,
            fold: NOT_FOLDED,
            promise: PROMISE,
            samples: no_samples,
        };
    };
}

assignment! {
    /// Replaces the value.
    ASSIGN, "assign", "AssignVariableOp", DTypeSet::ANY, "Makes `value` the value of the variable."
}
assignment! {
    /// Adds to the value.
    ASSIGN_ADD, "assign_add", "AssignAddVariableOp", DTypeSet::NUMERIC, "Adds `value`, of the variable's shape, to the variable."
}
assignment! {
    /// Subtracts from the value.
    ASSIGN_SUB, "assign_sub", "AssignSubVariableOp", DTypeSet::NUMERIC, "Subtracts `value`, of the variable's shape, from the variable."
}

fn infer_assign(cx: &InferCx<'_>) -> Result<OutTypes> {
    if cx.dtype(0) != cx.dtype(1) {
        return Err(Error::dtype(format!(
            "the variable has dtype {}, the value {}",
            cx.dtype(0).tf_name(),
            cx.dtype(1).tf_name()
        ))
        .argument("value"));
    }
    if !cx.shape(0).compatible(cx.shape(1)) {
        return Err(Error::invalid(format!("the variable has shape {}, the value {}", cx.shape(0), cx.shape(1)))
            .argument("value"));
    }
    none()
}
