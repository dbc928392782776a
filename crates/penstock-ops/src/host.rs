//! Operators that reach the host: printing, assertions, host code, the clock.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use penstock_data::{Bool8, DType, DTypeSet, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgType, Attr, AttrDef, AttrDefault, AttrKind, Attrs, Batch, BatchCx, BatchResults, Call, Cost, Cotangents, Cpu,
    Cuda, Effect, Elements, Fails, Fold, HostFn, HostRef, Jvp, OpDef, OutTypes, Rows, Sample, Type, Value, Vjp, VjpCx,
    arg_of, args_of, with_lead,
};

use crate::batch_rules;
use crate::format::{check_template, expand, tensor_summary, tensor_text};
use crate::operands::require_rank;
use crate::sample_arrays::{f64s, i32s};
use crate::samples::strings;
use crate::util::{PROMISE, none, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&PRINT, &STRING_FORMAT, &ASSERT, &HOST_CALL, &TIMESTAMP];

const ON_HOST: Cuda = Cuda::HostFallback("it is the host's");
const SUMMARIZE: AttrDef = AttrDef::new("summarize", AttrKind::Int, AttrDefault::Int(3));

/// The text of tensors: by a template, or separated by spaces.
fn text_of(tensors: &[&Tensor], template: Option<&str>, summarize: i64) -> Result<String> {
    match template {
        Some(template) => expand(template, tensors, summarize),
        None => Ok(tensors.iter().map(|t| tensor_text(t, summarize)).collect::<Vec<_>>().join(" ")),
    }
}

fn text_samples() -> Vec<Sample> {
    let data = || vec![f64s(&[2, 3]), strings(&[2], &["a", "\"b\"\n"]), i32s(&[1, 2, 3, 4, 5, 6, 7, 8])];
    vec![
        Sample::new(data()).with("template", "x = {}, {{{}}}, {}"),
        Sample::new(vec![]).with("template", "nothing"),
        Sample::new(vec![f64s(&[]), f64s(&[0])]).with("template", "{}{}").with("summarize", -1),
    ]
}

/// The template, where it is given.
fn template(attrs: &Attrs, index: usize) -> Option<&str> {
    (attrs.0[index] != Attr::None).then(|| attrs.str(index))
}

/// Writes tensors to a stream.
pub static PRINT: OpDef = OpDef {
    name: "print",
    tf_name: "PrintV2",
    doc: "Writes `data` and `end` to `stream`: `stdout`, `stderr`, `log:<level>` or `file://<path>`.\n\n\
          In `template` each `{}` stands for the next of `data`, `{{` and `}}` for braces; without it the tensors are \
          separated by spaces. Of each dimension the first and last `summarize` entries are written, all where that is negative.",
    dtypes: &[],
    operands: &[args_of("data", ArgType::In(DTypeSet::ANY))],
    attrs: &[
        AttrDef::optional("template", AttrKind::Str),
        AttrDef::new("stream", AttrKind::Str, AttrDefault::Str("stderr")),
        AttrDef::new("end", AttrKind::Str, AttrDefault::Str("\n")),
        SUMMARIZE,
    ],
    effects: &[Effect::Print],
    infer: |cx| {
        if let Some(template) = template(cx.attrs, 0) {
            check_template(template, cx.inputs.len())?;
        }
        none()
    },
    cpu: Cpu::Kernel(|call| {
        let mut text = text_of(call.inputs, template(call.attrs, 0), call.attrs.int(3))?;
        text.push_str(call.attrs.str(2));
        call.env.print(call.attrs.str(1), &text)
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it writes"),
    promise: PROMISE,
    samples: text_samples,
};

/// Tensors as one string.
pub static STRING_FORMAT: OpDef = OpDef {
    name: "string_format",
    tf_name: "StringFormat",
    doc: "`template` with each `{}` replaced by the text of the next of `data`, a string scalar; `{{` and `}}` are braces.\n\n\
          Of each dimension the first and last `summarize` entries are shown, all where that is negative.",
    dtypes: &[],
    operands: &[args_of("data", ArgType::In(DTypeSet::ANY))],
    attrs: &[AttrDef::required("template", AttrKind::Str), SUMMARIZE],
    effects: &[],
    infer: |cx| {
        check_template(cx.attrs.str(0), cx.inputs.len())?;
        one(Type::scalar(DType::Str))
    },
    cpu: Cpu::Kernel(|call| {
        let text = expand(call.attrs.str(0), call.inputs, call.attrs.int(1))?;
        call.set(0, Tensor::from(text.as_str()));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: text_samples,
};

/// A condition that must hold.
pub static ASSERT: OpDef = OpDef {
    name: "assert",
    tf_name: "Assert",
    doc: "Raises InvalidArgument where `condition`, a `bool` scalar, is false.\n\n\
          The error shows `message`, unless it is empty, and the first `summarize` elements of each of `data`, all where that \
          is negative.",
    dtypes: &[],
    operands: &[arg_of("condition", ArgType::Fixed(DType::Bool)), args_of("data", ArgType::In(DTypeSet::ANY))],
    attrs: &[AttrDef::new("message", AttrKind::Str, AttrDefault::Str("")), SUMMARIZE],
    effects: &[Effect::Assert],
    infer: |cx| {
        require_rank(cx, 0, 0, "condition")?;
        none()
    },
    cpu: Cpu::Kernel(run_assert),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Rule(batch_rules::assert),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("a failed assertion belongs to the run"),
    promise: PROMISE,
    samples: || {
        let holds = || Tensor::from(true);
        vec![
            Sample::new(vec![holds()]),
            Sample::new(vec![holds(), i32s(&[1, 2]), strings(&[], &["a"])]).with("message", "m"),
        ]
    },
};

/// The file that an instruction writes to.
pub(crate) fn file_of<'a>(op: &OpDef, attrs: &'a Attrs) -> Option<&'a str> {
    if op.is(&PRINT) { attrs.str(1).strip_prefix("file://") } else { None }
}

fn run_assert(call: &mut Call<'_>) -> Result<()> {
    let Some(holds) = call.inputs[0].item::<Bool8>().filter(|_| call.inputs[0].rank() == 0) else {
        return Err(
            Error::invalid(format!("expected a scalar, got shape {:?}", call.inputs[0].dims())).argument("condition")
        );
    };
    if holds.get() {
        return Ok(());
    }
    let message = call.attrs.str(0);
    let summary = |t: &&Tensor| format!("[{}]", tensor_summary(t, call.attrs.int(1)));
    let shown: Vec<String> = std::iter::once(format!("[{message}]"))
        .filter(|_| !message.is_empty())
        .chain(call.inputs[1..].iter().map(summary))
        .collect();
    Err(Error::invalid(format!("assertion failed: {}", shown.join(" "))))
}

/// A call of host code.
pub static HOST_CALL: OpDef = OpDef {
    name: "host_call",
    tf_name: "EagerPyFunc",
    doc: "What the host code `func` gives for `args`: tensors of the types `outs`.\n\n\
          It runs on the thread that runs the graph. Calls keep their order among all that has effects, and are neither dropped \
          nor merged, unless `stateful` is false: such code only computes its results, and runs where they are used. Raises InvalidArgument where the number or a shape \
          of the results is not as declared, DType where a dtype is not, and whatever the code raises. Its derivative is the host \
          code that `func` gives for it, called with the same `stateful`.",
    dtypes: &[],
    operands: &[args_of("args", ArgType::In(DTypeSet::ALL))],
    attrs: &[
        AttrDef::required("func", AttrKind::Host),
        AttrDef::required("outs", AttrKind::Types),
        AttrDef::flag("stateful", true),
    ],
    effects: &[Effect::Host],
    infer: |cx| {
        let declared = |(i, ty): (usize, &Type)| match ty {
            // A symbol of the declaration means nothing here.
            Type::Tensor(dtype, shape) => Ok(Type::tensor(*dtype, shape.erased())),
            Type::Variable(..) => Err(Error::invalid(format!("result {i} is a variable")).argument("outs")),
        };
        cx.attrs.types(1).iter().enumerate().map(declared).collect::<Result<OutTypes>>()
    },
    cpu: Cpu::Kernel(run_host_call),
    cuda: ON_HOST,
    vjp: Vjp::Rule(host_call_vjp),
    jvp: Jvp::Host,
    batch: Batch::Rule(host_call_batch),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("host code runs when the graph does"),
    promise: PROMISE,
    samples: || {
        let outs = [Type::scalar(DType::F64), Type::tensor(DType::Str, Shape::UNRANKED)];
        let echo = HostRef(Arc::new(Route { name: "echo", results: vec![(0, true), (1, true)], operands: 2 }));
        vec![Sample::new(vec![f64s(&[]), strings(&[2], &["a", "b"])]).with("func", echo).with("outs", outs.to_vec())]
    },
};

/// Host code that gives operands back, or zeros like them.
struct Route {
    name: &'static str,
    /// For each result the operand that it is, or which it is like and zero.
    results: Vec<(usize, bool)>,
    /// How many operands it takes.
    operands: usize,
}

impl HostFn for Route {
    fn name(&self) -> &str {
        self.name
    }

    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let one = |&(i, given): &(usize, bool)| {
            if given { Ok(inputs[i].clone()) } else { Tensor::zeros(inputs[i].dtype(), inputs[i].dims()) }
        };
        self.results.iter().map(one).collect()
    }

    fn derivative(&self, needed: &[bool], flowing: &[bool]) -> Option<HostRef> {
        let flows: Vec<usize> = (0..flowing.len()).filter(|&k| flowing[k]).collect();
        let cotangent = |i: usize| {
            let place = flows.iter().position(|&k| self.results[k] == (i, true));
            place.map_or((i, false), |at| (self.operands + at, true))
        };
        let results = (0..needed.len()).filter(|&i| needed[i]).map(cotangent).collect();
        Some(HostRef(Arc::new(Route { name: "route_gradient", results, operands: self.operands + flows.len() })))
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

fn host_call_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    let smooth = |v: Value| cx.emit.type_of(v).dtype().carries_cotangents();
    let needed: Vec<bool> = cx.inputs.iter().zip(cx.needed).map(|(&v, n)| *n && smooth(v)).collect();
    let flowing: Vec<bool> = cx.grads.iter().map(Option::is_some).collect();
    let gradient = cx.attrs.host(0).derivative(&needed, &flowing)?;
    let operands: Vec<Value> = cx.inputs.iter().copied().chain(cx.grads.iter().flatten().copied()).collect();
    let wanted = cx.inputs.iter().zip(&needed).filter(|(_, n)| **n);
    let outs: Vec<Type> = wanted.map(|(&v, _)| cx.emit.type_of(v)).collect();
    let attrs = [("func", gradient.into()), ("outs", outs.into()), ("stateful", cx.attrs.flag(2).into())];
    let mut found = cx.emit.emit_all(&HOST_CALL, &operands, &attrs)?.into_iter();
    Ok(needed.iter().map(|&needed| if needed { found.next() } else { None }).collect())
}

/// The host code that `func` gives for many examples.
fn host_call_batch(cx: &mut BatchCx<'_>) -> Result<Option<BatchResults>> {
    let mapped: Vec<bool> = cx.inputs.iter().map(|input| input.mapped).collect();
    let Some(batched) = cx.attrs.host(0).0.batched(&mapped)? else { return Ok(None) };
    let outs: Vec<Type> = cx.attrs.types(1).iter().map(|ty| with_lead(ty, cx.examples.lead)).collect();
    let attrs = [("func", batched.into()), ("outs", outs.into()), ("stateful", cx.attrs.flag(2).into())];
    let attrs = cx.op.attributes(&attrs)?;
    cx.again(&cx.values(), attrs)
}

fn run_host_call(call: &mut Call<'_>) -> Result<()> {
    let (func, outs) = (call.attrs.host(0), call.attrs.types(1));
    let results = func.0.call(call.inputs)?;
    let name = func.0.name();
    if results.len() != outs.len() {
        return Err(Error::invalid(format!("{name} returned {} tensors, {} are declared", results.len(), outs.len()))
            .argument("outs"));
    }
    for (i, (result, ty)) in results.iter().zip(outs).enumerate() {
        if result.dtype() != ty.dtype() {
            return Err(Error::dtype(format!(
                "{name} returned {} for result {i}, {} is declared",
                result.dtype().tf_name(),
                ty.dtype().tf_name()
            ))
            .argument("outs"));
        }
        let shape = Shape::known(result.dims());
        if !shape.compatible(ty.shape()) {
            return Err(Error::invalid(format!(
                "{name} returned shape {shape} for result {i}, {} is declared",
                ty.shape()
            ))
            .argument("outs"));
        }
    }
    for (i, result) in results.into_iter().enumerate() {
        call.set(i, result);
    }
    Ok(())
}

/// The time.
pub static TIMESTAMP: OpDef = OpDef {
    name: "timestamp",
    tf_name: "Timestamp",
    doc: "Seconds since 1970-01-01 00:00 UTC, an `f64` scalar.\n\nIt keeps its place among all that has effects.",
    dtypes: &[],
    operands: &[],
    attrs: &[],
    effects: &[Effect::Host],
    infer: |_| one(Type::scalar(DType::F64)),
    cpu: Cpu::Kernel(|call| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        call.set(0, Tensor::scalar(now));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnShapes,
    fold: Fold::Never("it reads the clock"),
    promise: PROMISE,
    samples: || vec![Sample::new(vec![])],
};
