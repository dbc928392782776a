//! A few operators to test the executor with, apart from the real ones.

use penstock_data::{DTypeSet, Error, Result, Tensor};
use penstock_ir::{
    ArgType, AttrDef, AttrKind, Batch, Cost, Cpu, Cuda, DTypeVar, Effect, ElementFn, Elements, Fails, Fold, InferCx,
    Jvp, OpDef, OutTypes, Promise, Rows, Type, Vjp, arg, arg_of, args_of,
};
use penstock_kernels::{Binary, Unary, binary_output};

/// That the operators of these tests are as they are declared.
// SAFETY: each is a few lines, and does what it says.
#[expect(unsafe_code, reason = "these operators are trusted")]
pub(crate) const PROMISE: Promise = unsafe { Promise::new() };

const NO_CUDA: Cuda = Cuda::HostFallback("a test");
const NO_VJP: Vjp = Vjp::NonDifferentiable("a test");

fn broadcast(cx: &InferCx<'_>, op: Binary) -> Result<OutTypes> {
    let shape = cx
        .shape(0)
        .broadcast(cx.shape(1))
        .ok_or_else(|| Error::invalid(format!("shapes {} and {} do not match", cx.shape(0), cx.shape(1))))?;
    Ok(OutTypes::from_iter([Type::tensor(binary_output(op, cx.dtype(0)), shape)]))
}

macro_rules! binary_ops {
    ($($name:ident $text:literal $op:ident;)*) => {$(
        pub(crate) static $name: OpDef = OpDef {
            name: $text,
            tf_name: $text,
            doc: "",
            dtypes: &[DTypeVar::new("T", DTypeSet::PLAIN)],
            operands: &[arg("x"), arg("y")],
            attrs: &[],
            effects: &[],
            infer: |cx| broadcast(cx, Binary::$op),
            cpu: Cpu::Elementwise(ElementFn::Binary(Binary::$op)),
            cuda: NO_CUDA,
            vjp: NO_VJP,
            jvp: Jvp::Elementwise,
            batch: Batch::Broadcast,
            rows: Rows::Elementwise,
            elements: Elements::Unknown,
            cost: Cost::Element(1.0),
            resolve: None,
            fails: Fails::Never,
            fold: Fold::Evaluate,
            promise: PROMISE,
            samples: Vec::new,
        };
    )*};
}
binary_ops! {
    ADD "add" Add;
    SUB "sub" Sub;
    MUL "mul" Mul;
    LESS "less" Less;
    FLOORDIV "floordiv" FloorDiv;
}

pub(crate) static NEG: OpDef = OpDef {
    name: "neg",
    tf_name: "Neg",
    doc: "",
    dtypes: &[DTypeVar::new("T", DTypeSet::NUMERIC)],
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(OutTypes::from_iter([cx.inputs[0].clone()])),
    cpu: Cpu::Elementwise(ElementFn::Unary(Unary::Neg)),
    cuda: NO_CUDA,
    vjp: NO_VJP,
    jvp: Jvp::Linear(&[0]),
    batch: Batch::Broadcast,
    rows: Rows::Elementwise,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::Never,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: Vec::new,
};

/// A vector that shares its operand's memory.
pub(crate) static FLATTEN: OpDef = OpDef {
    name: "flatten",
    tf_name: "Flatten",
    doc: "",
    dtypes: &[DTypeVar::new("T", DTypeSet::ANY)],
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        let shape = match cx.shape(0).num_elements() {
            Some(n) => penstock_data::Shape::known(&[n]),
            None => penstock_data::Shape::of_rank(1).unwrap(),
        };
        Ok(OutTypes::from_iter([Type::tensor(cx.dtype(0), shape)]))
    },
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        let flat = x.reshaped(&[x.len()])?;
        call.set(0, flat);
        Ok(())
    }),
    cuda: NO_CUDA,
    vjp: NO_VJP,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("a test"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: Vec::new,
};

/// A kernel of two results: the operand, and its negative.
pub(crate) static BOTH: OpDef = OpDef {
    name: "both",
    tf_name: "Both",
    doc: "",
    dtypes: &[DTypeVar::new("T", DTypeSet::of(&[penstock_data::DType::F32]))],
    operands: &[arg("x")],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(OutTypes::from_iter([cx.inputs[0].clone(), cx.inputs[0].clone()])),
    cpu: Cpu::Kernel(|call| {
        let x = call.inputs[0];
        call.out(1, x.dtype(), x.dims())?;
        for (to, from) in call.outputs[1].as_mut_slice::<f32>().iter_mut().zip(x.as_slice::<f32>()) {
            *to = -from;
        }
        call.set(0, x.clone());
        Ok(())
    }),
    cuda: NO_CUDA,
    vjp: NO_VJP,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("a test"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: Vec::new,
};

/// Prints a scalar.
pub(crate) static PRINT: OpDef = OpDef {
    name: "say",
    tf_name: "Say",
    doc: "",
    dtypes: &[],
    operands: &[arg_of("x", ArgType::In(DTypeSet::PLAIN))],
    attrs: &[],
    effects: &[Effect::Print],
    infer: |_| Ok(OutTypes::new()),
    cpu: Cpu::Kernel(|call| call.env.print("stdout", &format!("{:?}\n", call.inputs[0]))),
    cuda: NO_CUDA,
    vjp: NO_VJP,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("a test"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("a test"),
    promise: PROMISE,
    samples: Vec::new,
};

/// Panics.
pub(crate) static PANIC: OpDef = OpDef {
    name: "panic",
    tf_name: "Panic",
    doc: "",
    dtypes: &[],
    operands: &[arg_of("x", ArgType::In(DTypeSet::PLAIN))],
    attrs: &[],
    effects: &[],
    infer: |cx| Ok(OutTypes::from_iter([cx.inputs[0].clone()])),
    cpu: Cpu::Kernel(|_| panic!("a defect")),
    cuda: NO_CUDA,
    vjp: NO_VJP,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("a test"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("a test"),
    promise: PROMISE,
    samples: Vec::new,
};

/// Calls host code.
pub(crate) static HOST: OpDef = OpDef {
    name: "host",
    tf_name: "Host",
    doc: "",
    dtypes: &[],
    operands: &[args_of("args", ArgType::In(DTypeSet::ANY))],
    attrs: &[AttrDef::required("func", AttrKind::Host), AttrDef::required("types", AttrKind::Types)],
    effects: &[Effect::Host],
    infer: |cx| Ok(cx.attrs.types(1).iter().cloned().collect()),
    cpu: Cpu::Kernel(|call| {
        let results: Vec<Tensor> = call.attrs.host(0).0.call(call.inputs)?;
        for (i, result) in results.into_iter().enumerate() {
            call.set(i, result);
        }
        Ok(())
    }),
    cuda: NO_CUDA,
    vjp: NO_VJP,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("a test"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("a test"),
    promise: PROMISE,
    samples: Vec::new,
};
