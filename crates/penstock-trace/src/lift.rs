//! Values of a trace that are computed while it is made: what a variable that is created in it starts with.

use std::sync::Arc;

use penstock_data::{Result, Tensor};
use penstock_exec::Arg;
use penstock_ir::{Def, Entity, Function, Graph, Inst, Region, Value};
use rustc_hash::FxHashSet;

use crate::context::{host, with_inputs_of};
use crate::var::{Kind, Var, fresh_id};

/// The instructions of the body that a value needs; `None` where it, or one of them, belongs to a region
/// within.
fn needed(graph: &Graph, value: Value) -> Option<(FxHashSet<Inst>, FxHashSet<Value>)> {
    let (mut insts, mut inputs) = (FxHashSet::default(), FxHashSet::default());
    let mut next = vec![value];
    while let Some(value) = next.pop() {
        if graph.values[value].region != graph.body() {
            return None;
        }
        match graph.values[value].def {
            Def::Param(_) => {
                inputs.insert(value);
            }
            Def::Result(inst, _) if insts.insert(inst) => {
                let data = &graph.insts[inst];
                next.extend(data.operands.iter().copied());
                next.extend(penstock_autodiff::captures(graph, &data.regions));
            }
            Def::Result(..) => {}
        }
    }
    Some((insts, inputs))
}

/// What a value of an open trace is, computed now. Arguments of the trace are what the call that is traced has for
/// them; `None` where the value needs one of which only the type is known, or belongs to a branch or a loop.
///
/// # Errors
/// What running it reports.
pub fn computed(var: &Var) -> Result<Option<Tensor>> {
    let Some(s) = var.as_symbolic() else { return Ok(var.tensor().cloned()) };
    let found = with_inputs_of(s.trace, |graph, value_of| {
        let (insts, inputs) = needed(graph, s.value)?;
        let mut args = Vec::new();
        for &input in graph.inputs() {
            args.push(match value_of(input) {
                Some(value) if inputs.contains(&input) || matches!(value.kind(), Kind::Variable(_)) => value,
                // An argument that nobody needs.
                _ => Var::eager(blank(graph, input)?),
            });
        }
        let mut graph = graph.clone();
        let body = &mut graph.regions[Region::new(0)];
        body.insts.retain(|inst| insts.contains(inst));
        body.results = std::iter::once(s.value).collect();
        Some((penstock_ir::compact(&graph), args))
    });
    let Some((graph, values)) = found.flatten() else { return Ok(None) };
    let mut args = Vec::with_capacity(values.len());
    for value in values {
        args.push(match value.kind() {
            Kind::Variable(v) => Arg::Variable(v.clone()),
            // A placeholder for which nothing was given.
            Kind::Symbolic(inner) if inner.trace == s.trace => return Ok(None),
            // Another trace's: of a call that is traced around this one.
            _ => match computed(&value)? {
                Some(tensor) => Arg::Tensor(tensor),
                None => return Ok(None),
            },
        });
    }
    let function = Arc::new(Function::new(format!("initial_{}", fresh_id()), graph));
    let outs = penstock_exec::executable(&function)?.run(&args, host())?;
    Ok(outs.into_iter().next())
}

/// Any tensor of an input's type.
fn blank(graph: &Graph, input: Value) -> Option<Tensor> {
    let ty = graph.ty(input);
    let dims: Vec<usize> = ty.shape().dims().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1)).collect();
    Tensor::zeros(ty.dtype(), &dims).ok()
}
