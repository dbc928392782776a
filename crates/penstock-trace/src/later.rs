//! Gradients that are traced later: a custom gradient in a trace is traced where something asks for it, or where the region
//! that it is used in is closed with results that depend on it. One behind a stopped gradient never is.

use penstock_data::{Error, Result};
use penstock_ir::{Attr, Builder, Def, FuncRef, Function, Inst, Region, Value};
use penstock_ops::control;
use std::sync::Arc;

use crate::context::{self, Traced, pause_recorders, with_top};
use crate::dispatch::{Outs, apply};
use crate::var::{Var, fresh_id};

/// The trace of a gradient, and for each input its place among what the gradient gives. With an error it is a gradient that
/// fails so where it is computed.
pub type MakeGradient = Box<dyn Fn(Option<Error>) -> Result<(Traced, Vec<Option<usize>>)> + Send>;

/// A `with_gradient` whose gradient is not traced yet.
pub(crate) struct Pending {
    region: Region,
    inst: Inst,
    make: MakeGradient,
}

/// Gives `outputs` of the open trace a gradient of their own with respect to `inputs`, which `make` traces if it comes to be
/// asked for. No recorder takes note of it.
///
/// # Errors
/// What inference reports.
pub fn with_gradient(outputs: &[Var], inputs: &[Var], make: MakeGradient) -> Result<Outs> {
    let mut none = Builder::new(&control::CONST);
    for ty in outputs.iter().map(Var::ty).filter(|ty| ty.dtype().is_differentiable()) {
        none.input(ty.with_shape(ty.shape().erased()), None);
    }
    let function = Arc::new(Function::new("no_gradient", none.finish(&[])?));
    let operands: Vec<Var> = outputs.iter().chain(inputs).cloned().collect();
    let named = [
        ("func", Attr::Func(FuncRef::new(function))),
        ("outputs", Attr::Int(outputs.len() as i64)),
        ("places", vec![-1i64; inputs.len()].into()),
    ];
    let paused = pause_recorders();
    let outs = apply(&control::WITH_GRADIENT, &operands, &named)?;
    drop(paused);
    with_top(|tracer| {
        let value = outs.first().and_then(Var::as_symbolic).map(|s| s.value);
        let inst = value.and_then(|v| tracer.builder.graph().def_inst(v));
        let region = tracer.builder.current();
        if let Some(inst) = inst {
            tracer.pending.push(Pending { region, inst, make });
        }
    })?;
    Ok(outs)
}

/// Traces the gradients of the innermost region of the innermost trace on which `results` depend; all of those in regions
/// that are open where it is `None`.
///
/// # Errors
/// What tracing them reports.
pub(crate) fn settle(results: Option<&[Var]>) -> Result<()> {
    let any = context::with_top(|tracer| !tracer.pending.is_empty()).unwrap_or(false);
    if !any {
        return Ok(());
    }
    let mut influence = match results {
        Some(results) => Some(context::influence_of(results)?),
        None => None,
    };
    // What is not asked for is dropped outside of the thread's state: that may run code of the program.
    let mut unasked: Vec<Pending> = Vec::new();
    loop {
        let next = with_top(|tracer| {
            let here = tracer.builder.current();
            let open = tracer.builder.open_regions();
            let due = |p: &Pending| if influence.is_some() { p.region == here } else { open.contains(&p.region) };
            let at = tracer.pending.iter().rposition(due)?;
            let pending = tracer.pending.remove(at);
            let graph = tracer.builder.graph();
            let wanted = influence.as_mut().is_none_or(|influence| influence.reaches(graph, pending.inst));
            Some((pending, wanted))
        })?;
        match next {
            None => return Ok(()),
            Some((pending, true)) => complete(&pending)?,
            Some((pending, false)) => unasked.push(pending),
        }
    }
}

fn complete(pending: &Pending) -> Result<()> {
    let (traced, places) = (pending.make)(None)?;
    let (traced, places, values) = match operands(pending.inst, &traced.captures)? {
        Some(values) => (traced, places, values),
        None => {
            let late = Error::invalid(
                "a gradient function reads a tensor that was made after the function that it belongs to",
            );
            let (traced, places) = (pending.make)(Some(late))?;
            let values = operands(pending.inst, &traced.captures)?;
            (traced, places, values.ok_or_else(|| Error::internal("a gradient that fails reads tensors"))?)
        }
    };
    let function = Arc::new(Function::new(format!("gradient_{}", fresh_id()), traced.graph.compact()));
    let places: Vec<i64> = places.iter().map(|p| p.map_or(-1, |p| p as i64)).collect();
    with_top(|tracer| {
        let data = &mut tracer.builder.graph_mut().insts[pending.inst];
        data.operands.extend(values);
        data.attrs.0[0] = Attr::Func(FuncRef::new(function));
        data.attrs.0[2] = places.into();
    })
}

/// The values of captures, where all are there before an instruction.
fn operands(inst: Inst, captures: &[Var]) -> Result<Option<Vec<Value>>> {
    let values = context::values_of(captures)?;
    with_top(|tracer| {
        let graph = tracer.builder.graph();
        let before = |v: &Value| match graph.values[*v].def {
            Def::Param(_) => true,
            Def::Result(made, _) => made < inst,
        };
        values.iter().all(before).then_some(values)
    })
}
