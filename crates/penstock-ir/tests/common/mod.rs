//! Operators for the tests of the graph crate, which knows none itself.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::any::Any;
use std::sync::Arc;

use penstock_data::{DType, DTypeSet, Error, Result, Tensor};
use penstock_ir::{
    ArgDef, ArgType, AttrDef, AttrDefault, AttrKind, Batch, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, Function,
    HostFn, HostRef, InferCx, Jvp, OpDef, OpSet, OutTypes, Promise, Rows, Structure, Type, Vjp, arg, arg_of, args_of,
    parse_function,
};

const NUMERIC: &[DTypeVar] = &[DTypeVar::new("T", DTypeSet::NUMERIC)];

/// That the operators of these tests are as they are declared.
// SAFETY: each is a few lines, and does what it says.
#[expect(unsafe_code, reason = "these operators are trusted")]
const PROMISE: Promise = unsafe { Promise::new() };

const fn op(
    name: &'static str,
    operands: &'static [ArgDef],
    attrs: &'static [AttrDef],
    infer: fn(&InferCx<'_>) -> Result<OutTypes>,
) -> OpDef {
    OpDef {
        name,
        tf_name: "",
        doc: "",
        dtypes: NUMERIC,
        operands,
        attrs,
        effects: &[],
        infer,
        cpu: Cpu::Executor(Structure::Plain),
        cuda: Cuda::HostFallback("a test"),
        vjp: Vjp::Zero,
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
    }
}

pub(crate) static CONST: OpDef = OpDef {
    cpu: Cpu::Executor(Structure::Constant),
    ..op("const", &[], &[AttrDef::required("value", AttrKind::Tensor)], |cx| {
        Ok(OutTypes::from_iter([Type::of(cx.attrs.tensor(0))]))
    })
};

pub(crate) static ADD: OpDef = op("add", &[arg("x"), arg("y")], &[AttrDef::flag("swap", false)], |cx| {
    let shape = cx.shape(0).broadcast(cx.shape(1));
    let shape = shape.ok_or_else(|| Error::invalid(format!("{} and {} do not broadcast", cx.shape(0), cx.shape(1))))?;
    Ok(OutTypes::from_iter([Type::Tensor(cx.dtype(0), shape)]))
});

/// One attribute of each kind, and two with defaults; no results.
pub(crate) static KINDS: OpDef = op(
    "kinds",
    &[],
    &[
        AttrDef::optional("flag", AttrKind::Bool),
        AttrDef::optional("int", AttrKind::Int),
        AttrDef::optional("float", AttrKind::Float),
        AttrDef::optional("text", AttrKind::Str),
        AttrDef::optional("ints", AttrKind::Ints),
        AttrDef::optional("dtype", AttrKind::DType),
        AttrDef::optional("shape", AttrKind::Shape),
        AttrDef::optional("types", AttrKind::Types),
        AttrDef::optional("tensor", AttrKind::Tensor),
        AttrDef::optional("func", AttrKind::Func),
        AttrDef::optional("host", AttrKind::Host),
        AttrDef::new("zero", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrDef::new("word", AttrKind::Str, AttrDefault::Str("a")),
    ],
    |_| Ok(OutTypes::new()),
);

/// The results of its last region.
pub(crate) static BLOCK: OpDef = op("block", &[args_of("args", ArgType::Anything)], &[], |cx| {
    Ok(cx.regions.last().map_or_else(OutTypes::new, |r| r.results.iter().cloned().collect()))
});

/// No operands, one result, one optional attribute.
pub(crate) static DRAW: OpDef = op("draw", &[], &[AttrDef::optional("seed", AttrKind::Int)], |_| {
    Ok(OutTypes::from_iter([Type::scalar(DType::F32)]))
});

pub(crate) static READ: OpDef = op("read", &[arg_of("variable", ArgType::Variable)], &[], |cx| {
    Ok(OutTypes::from_iter([Type::Tensor(cx.dtype(0), cx.shape(0).clone())]))
});

pub(crate) static CALL: OpDef =
    op("call", &[args_of("args", ArgType::Anything)], &[AttrDef::required("func", AttrKind::Func)], |cx| {
        Ok(cx.regions[0].results.iter().cloned().collect())
    });

pub(crate) struct Ops;

impl OpSet for Ops {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        [&CONST, &ADD, &KINDS, &BLOCK, &DRAW, &READ, &CALL].into_iter().find(|op| op.name == name)
    }
}

/// Host code that knows its name.
pub(crate) struct Named(String);

impl HostFn for Named {
    fn name(&self) -> &str {
        &self.0
    }

    fn call(&self, _: &[&Tensor]) -> Result<Vec<Tensor>> {
        Ok(Vec::new())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(crate) fn host(name: &str) -> HostRef {
    HostRef(Arc::new(Named(name.to_string())))
}

/// Reads a text in which any host code may be named.
pub(crate) fn parse(text: &str) -> Result<Arc<Function>> {
    parse_function(text, &Ops, &|name| Some(host(name)))
}

/// The error of a text that must not be read.
pub(crate) fn error(text: &str) -> String {
    match parse(text) {
        Ok(function) => panic!("was read:\n{}", function.to_text()),
        Err(e) => e.to_string(),
    }
}
