//! Values of a trace that are computed while it is made: what a variable that is created in it starts with.

use std::sync::Arc;

use penstock_data::{Result, Tensor};
use penstock_exec::Arg;
use penstock_ir::{Def, Entity, Function, Graph, Inst, Region, Value, Verified};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::{OpenTrace, host, out_of_scope, with_inputs_of};
use crate::var::{Kind, Var, fresh_id};

/// What a value needs: instructions, inputs of the graph, and parameters of loops, each with what it is at first.
#[derive(Default)]
struct Needed {
    insts: FxHashSet<Inst>,
    inputs: FxHashSet<Value>,
    firsts: FxHashMap<Value, Value>,
}

/// What a value needs; `None` where it is out of scope.
fn needed(trace: &OpenTrace<'_>, value: Value) -> Option<Needed> {
    let graph = trace.graph;
    let mut found = Needed::default();
    let mut next = vec![value];
    while let Some(value) = next.pop() {
        let data = &graph.values[value];
        if !trace.open.contains(&data.region) {
            return None;
        }
        match data.def {
            Def::Param(_) if data.region == graph.body() => {
                found.inputs.insert(value);
            }
            Def::Param(_) => {
                let first = *trace.firsts.get(&value)?;
                found.firsts.insert(value, first);
                next.push(first);
            }
            Def::Result(inst, _) if found.insts.insert(inst) => {
                let data = &graph.insts[inst];
                next.extend(data.operands.iter().copied());
                next.extend(penstock_autodiff::captures(graph, &data.regions));
            }
            Def::Result(..) => {}
        }
    }
    Some(found)
}

/// What a value of an open trace is, computed now. Arguments of the trace are what the call that is traced has for
/// them, and what a loop carries is what its first iteration starts from; `None` where the value needs an argument of
/// which only the type is known, or is out of scope.
///
/// # Errors
/// What running it reports; `OutOfScope` for a value of a trace that is not open.
pub fn computed(var: &Var) -> Result<Option<Tensor>> {
    let Some(s) = var.as_symbolic() else { return Ok(var.tensor().cloned()) };
    let found = with_inputs_of(s.trace, |trace| {
        let Needed { insts, inputs, firsts } = needed(trace, s.value)?;
        let mut args = Vec::new();
        for &input in trace.graph.inputs() {
            args.push(match (trace.value_of)(input) {
                Some(value) if inputs.contains(&input) || matches!(value.kind(), Kind::Variable(_)) => value,
                // An argument that nobody needs.
                _ => Var::eager(blank(trace.graph, input)?),
            });
        }
        let mut graph = trace.graph.clone();
        let body = &mut graph.regions[Region::new(0)];
        // Those of open regions among them: each follows what it needs.
        body.insts = insts.into_iter().collect();
        body.insts.sort_unstable();
        body.results = std::iter::once(s.value).collect();
        graph.replace_uses(&firsts);
        Some((Verified::new(penstock_ir::compact(&graph)), args))
    });
    let Some((graph, values)) = found.ok_or_else(|| out_of_scope(s))? else { return Ok(None) };
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
    let function = Arc::new(Function::new(format!("initial_{}", fresh_id()), graph?));
    let outs = penstock_exec::executable(&function, host())?.run(&args, host())?;
    Ok(outs.into_iter().next())
}

/// Any tensor of an input's type.
fn blank(graph: &Graph, input: Value) -> Option<Tensor> {
    let ty = graph.ty(input);
    let dims: Vec<usize> = ty.shape().dims().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1)).collect();
    Tensor::zeros(ty.dtype(), &dims).ok()
}
