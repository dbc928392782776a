//! What several processes compute together: a start, which does not wait, and a wait for the result.
//!
//! Two operators, so that others can run between them while values travel. The derivative of a collective is another one, of the
//! cotangents; it belongs to the wait, which therefore has the value as its second operand.

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Attrs, Batch, Collective, Combine, Cost, Cotangents, Cpu, Cuda, Effect,
    Elements, Fails, Fold, InferCx, Jvp, OpDef, Rows, Sample, Type, Vjp, VjpCx, arg_of,
};
use smallvec::smallvec;

use crate::operands::like;
use crate::sample_arrays::{f64s, i32s};
use crate::samples::tensor;
use crate::util::{PROMISE, one};

/// The operators of this family.
pub static OPS: &[&OpDef] = &[&COLLECTIVE_START, &COLLECTIVE_WAIT];

const ON_HOST: Cuda = Cuda::HostFallback("groups of processes exchange the host's memory");
const ONE_BY_ONE: Batch = Batch::Loop("each example is a collective of its own");

const ATTRS: &[AttrDef] = &[
    AttrDef::required("collective", AttrKind::Str),
    AttrDef::new("combine", AttrKind::Str, AttrDefault::Str("sum")),
    AttrDef::new("root", AttrKind::Int, AttrDefault::Int(0)),
    AttrDef::new("group", AttrKind::Str, AttrDefault::Str("")),
    AttrDef::new("label", AttrKind::Str, AttrDefault::Str("")),
];

fn collective_of(attrs: &Attrs) -> Result<Collective> {
    Collective::from_names(attrs.str(0), attrs.str(1), attrs.int(2))
}

fn group_of(attrs: &Attrs) -> &str {
    attrs.str(3)
}

fn label_of(attrs: &Attrs) -> &str {
    attrs.str(4)
}

/// What operand `index` has to be for the collective that the attributes name.
fn check_value(cx: &InferCx<'_>, index: usize) -> Result<Collective> {
    let collective = collective_of(cx.attrs)?;
    collective.check_dtype(cx.dtype(index))?;
    if collective.goes_by_rows() && cx.shape(index).rank() == Some(0) {
        return Err(Error::invalid(format!("{collective} is of rows; a scalar has none")).argument("value"));
    }
    Ok(collective)
}

/// Operands of each kind in front of a value, for the group in which a process is alone.
fn samples(front: &[Tensor]) -> Vec<Sample> {
    let with = |value: Tensor, collective: &'static str| {
        Sample::new(front.iter().cloned().chain([value]).collect()).with("collective", collective)
    };
    let mut out: Vec<Sample> = Collective::NAMES.iter().map(|name| with(f64s(&[2, 3]), name)).collect();
    out.extend(DTypeSet::NUMERIC.iter().map(|d| with(tensor(d, &[3], &[1.0, 2.0, 3.0]), "all_reduce")));
    out.extend([&[][..], &[0]].map(|dims| with(f64s(dims), "all_reduce")));
    out.push(with(i32s(&[1, 2]), "all_reduce").with("combine", "max"));
    out
}

/// The start of a collective.
pub static COLLECTIVE_START: OpDef = OpDef {
    name: "collective_start",
    tf_name: "CollectiveStart",
    doc: "A ticket for `collective_wait`: the collective of `value` with the other processes of `group` has started.\n\n\
          `collective` is `all_reduce`, `reduce_scatter`, `all_gather`, `broadcast`, `reduce` or `all_to_all`; `combine` is `sum`, \
          `product`, `min` or `max`; `root` is the rank that a value comes from or goes to; `label` says in errors which collective it \
          is. All processes start the same ones in the same order.",
    dtypes: &[],
    operands: &[arg_of("value", ArgType::In(DTypeSet::PLAIN))],
    attrs: ATTRS,
    effects: &[Effect::Collective],
    infer: |cx| {
        check_value(cx, 0)?;
        one(Type::scalar(DType::I64))
    },
    cpu: Cpu::Kernel(|call| {
        let group = call.env.group(group_of(call.attrs))?;
        let ticket = group.start(collective_of(call.attrs)?, label_of(call.attrs), call.inputs[0])?;
        call.set(0, Tensor::scalar(ticket));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: ONE_BY_ONE,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("other processes take part"),
    promise: PROMISE,
    samples: || samples(&[]),
};

/// The end of a collective.
pub static COLLECTIVE_WAIT: OpDef = OpDef {
    name: "collective_wait",
    tf_name: "CollectiveWait",
    doc: "The result of the collective that gave `ticket` for `value`, when it is there; the attributes are those of the start.\n\n\
          All but `reduce_scatter` and `all_gather` keep the shape. Raises Unavailable where another process cannot be reached, and \
          InvalidArgument where it started something else.",
    dtypes: &[],
    operands: &[arg_of("ticket", ArgType::Fixed(DType::I64)), arg_of("value", ArgType::In(DTypeSet::PLAIN))],
    attrs: ATTRS,
    effects: &[Effect::Await],
    infer: |cx| {
        crate::operands::require_rank(cx, 0, 0, "ticket")?;
        let shape = cx.shape(1);
        let shape = match (check_value(cx, 1)?, shape.dims()) {
            // How many rows come from the other processes is their affair.
            (Collective::ReduceScatter(_) | Collective::AllGather, Some(dims)) => {
                Shape::new(std::iter::once(Dim::Unknown).chain(dims.iter().skip(1).copied()))
            }
            _ => shape.clone(),
        };
        one(like(cx, 1, shape))
    },
    cpu: Cpu::Kernel(|call| {
        let (collective, value) = (collective_of(call.attrs)?, call.inputs[1]);
        let group = call.env.group(group_of(call.attrs))?;
        let wrong = || Error::invalid("expected a scalar").argument("ticket");
        let ticket = call.inputs[0].item::<i64>().ok_or_else(wrong)?;
        let mut result = Err(Error::internal("the wait did not take place"));
        let env = call.env;
        env.run_long(&mut || result = group.wait(ticket, value, &|| env.poll()));
        let result = result?;
        // A group is the host's: what it gives is checked.
        let kept = usize::from(matches!(collective, Collective::ReduceScatter(_) | Collective::AllGather));
        if result.dtype() != value.dtype()
            || result.rank() != value.rank()
            || result.dims()[kept..] != value.dims()[kept..]
        {
            return Err(Error::internal(format!(
                "{collective} gave {}{:?} for {}{:?}",
                result.dtype(),
                result.dims(),
                value.dtype(),
                value.dims()
            )));
        }
        call.set(0, result);
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Rule(wait_vjp),
    jvp: Jvp::FromVjp,
    batch: ONE_BY_ONE,
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(1.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("other processes take part"),
    promise: PROMISE,
    samples: || samples(&[Tensor::scalar(0i64)]),
};

/// A collective is linear in the values of all members, so its derivative is the transposed one, of their cotangents.
fn wait_vjp(cx: &mut VjpCx<'_>) -> Result<Cotangents> {
    let collective = collective_of(cx.attrs)?;
    let Some(cotangent) = cx.grads[0].filter(|_| cx.needed[1]) else { return Ok(smallvec![None, None]) };
    let (name, root) = match collective {
        Collective::AllReduce(Combine::Sum) => ("all_reduce", 0),
        Collective::ReduceScatter(Combine::Sum) => ("all_gather", 0),
        Collective::AllGather => ("reduce_scatter", 0),
        Collective::Broadcast(root) => ("reduce", root),
        Collective::Reduce(Combine::Sum, root) => ("broadcast", root),
        Collective::AllToAll => ("all_to_all", 0),
        _ => return Err(Error::unimplemented(format!("{collective} has no derivative; that of the sum has one"))),
    };
    let attrs = [
        ("collective", name.into()),
        ("root", i64::try_from(root).unwrap_or(i64::MAX).into()),
        ("group", group_of(cx.attrs).into()),
        ("label", format!("the gradient of {}", label_of(cx.attrs)).as_str().into()),
    ];
    let ticket = cx.emit.emit(&COLLECTIVE_START, &[cotangent], &attrs)?;
    let result = cx.emit.emit(&COLLECTIVE_WAIT, &[ticket, cotangent], &attrs)?;
    Ok(smallvec![None, Some(result)])
}
