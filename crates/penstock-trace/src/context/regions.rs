//! Regions of the innermost trace: the branches of conditions and the bodies of loops, and functions made of them.

use std::sync::Arc;

use penstock_data::Result;
use penstock_ir::{Builder, Function, Graph, Inst, Region, Type, Value, stack};
use penstock_ops::control;
use rustc_hash::FxHashMap;

use super::with_state;
use crate::later;
use crate::var::{Var, fresh_id};

/// Opens a region of the innermost trace with parameters of the given types, which are `firsts` in the first iteration
/// where it is the body of a loop.
///
/// # Errors
/// `Internal` where no trace is open, `ResourceExhausted` where little of the thread's stack is left; those of a value
/// that does not belong to the trace.
pub fn begin_region(params: &[Type], firsts: &[Var]) -> Result<Vec<Var>> {
    with_state(|state| {
        let firsts = firsts.iter().map(|v| state.value_of(v)).collect::<Result<Vec<_>>>()?;
        let tracer = state.top()?;
        // What is made is walked through while it is traced, too.
        stack::check(tracer.builder.depth())?;
        let region = tracer.builder.begin_region(params.iter().cloned());
        let values = tracer.builder.params(region);
        tracer.firsts.extend(values.iter().copied().zip(firsts));
        Ok(values.into_iter().map(|v| tracer.var(v)).collect())
    })
}

/// Whether operations can use a value around the `levels` innermost regions of the innermost trace: one that is symbolic
/// belongs to a region of an open trace that is open then.
pub fn is_in_scope(var: &Var, levels: usize) -> bool {
    let Some(s) = var.as_symbolic() else { return true };
    with_state(|state| {
        let innermost = state.tracers.last().map(|t| t.id);
        let tracer = state.tracers.iter().find(|t| t.id == s.trace);
        tracer.is_some_and(|t| {
            let open = t.builder.open_regions();
            let closing = if innermost == Some(t.id) { levels.min(open.len() - 1) } else { 0 };
            open[..open.len() - closing].contains(&t.builder.graph().values[s.value].region)
        })
    })
}

/// Closes the innermost region with its results.
///
/// # Errors
/// As [`Builder::end_region`]; the region is closed all the same.
pub fn end_region(results: &[Var]) -> Result<Region> {
    if let Err(error) = later::settle(Some(results)) {
        abandon_region();
        return Err(error);
    }
    with_state(|state| {
        let values = results.iter().map(|v| state.value_of(v)).collect::<Result<Vec<_>>>();
        let builder = &mut state.top()?.builder;
        let closed = values.and_then(|values| builder.end_region(&values));
        if closed.is_err() {
            builder.abandon_region();
        }
        closed
    })
}

/// Closes the innermost region and forgets it.
pub fn abandon_region() {
    with_state(|state| {
        if let Some(tracer) = state.tracers.last_mut() {
            tracer.builder.abandon_region();
        }
    });
}

/// The types of a region's results.
///
/// # Errors
/// `Internal` where no trace is open.
pub fn region_results(region: Region) -> Result<Vec<Type>> {
    with_state(|state| Ok(state.top()?.builder.graph().signature_of(region).results))
}

/// What the regions of an instruction of the innermost trace take from around it.
pub(crate) fn captured_by(inst: Inst) -> Result<Vec<Var>> {
    with_state(|state| {
        let tracer = state.top()?;
        let graph = tracer.builder.graph();
        let values = penstock_autodiff::captures(graph, &graph.insts[inst].regions);
        Ok(values.into_iter().map(|v| tracer.var(v)).collect())
    })
}

/// Takes the last instruction out of the innermost trace: as a function of its operands and of what its
/// regions take from around it, with these.
pub(crate) fn outline(inst: Inst) -> Result<(Arc<Function>, Vec<Var>)> {
    with_state(|state| {
        let tracer = state.top()?;
        let here = tracer.builder.current();
        let (function, used) = {
            let graph = tracer.builder.graph();
            let data = &graph.insts[inst];
            let mut used: Vec<Value> = Vec::new();
            for v in data.operands.iter().copied().chain(penstock_autodiff::captures(graph, &data.regions)) {
                if !used.contains(&v) {
                    used.push(v);
                }
            }
            let mut builder = Builder::new(&control::CONST);
            let mut map = inputs_for(&mut builder, graph, &used);
            let copy = builder.copy_inst(graph, inst, &mut map)?;
            let outputs = builder.results(copy).to_vec();
            used.retain(|&v| graph.constant(v).is_none());
            (Function::new(format!("{}_{}", data.op.name, fresh_id()), builder.finish(&outputs)?), used)
        };
        tracer.builder.graph_mut().regions[here].insts.retain(|&i| i != inst);
        let operands = used.into_iter().map(|v| tracer.var(v)).collect();
        Ok((Arc::new(function), operands))
    })
}

/// An input for each value of another graph; constants become constants.
fn inputs_for(builder: &mut Builder, source: &Graph, values: &[Value]) -> FxHashMap<Value, Value> {
    let new = |&v: &Value| match source.constant(v) {
        Some(constant) => (v, builder.constant(constant.clone())),
        None => (v, builder.input(source.ty(v).clone(), None)),
    };
    values.iter().map(new).collect()
}

/// Closes the innermost region of the innermost trace: as a function of its parameters and of what it
/// takes from around it, with the latter.
///
/// # Errors
/// As [`Builder::end_region`]; the region is closed all the same.
pub(crate) fn end_region_as_function(name: &str, results: &[Var]) -> Result<(Arc<Function>, Vec<Var>)> {
    let region = end_region(results)?;
    with_state(|state| {
        let tracer = state.top()?;
        let graph = tracer.builder.graph();
        let mut captured = penstock_autodiff::captures(graph, &[region]);
        let data = &graph.regions[region];
        let inputs: Vec<Value> = data.params.iter().copied().chain(captured.iter().copied()).collect();
        let mut builder = Builder::new(&control::CONST);
        let mut map = inputs_for(&mut builder, graph, &inputs);
        builder.copy_insts(graph, region, &mut map)?;
        let outputs: Vec<Value> = data.results.iter().map(|v| map[v]).collect();
        let function = Function::new(name, builder.finish(&outputs)?.compact());
        captured.retain(|&v| graph.constant(v).is_none());
        Ok((Arc::new(function), captured.into_iter().map(|v| tracer.var(v)).collect()))
    })
}
