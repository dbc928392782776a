//! Many rows at once: functions mapped over a leading axis, and gradients for many cotangents.

use std::sync::Arc;

use penstock_autodiff::{batch_by_loop, batch_function};
use penstock_data::{DType, Error, Result, Shape, Tensor};
use penstock_ir::{Function, Type};
use penstock_ops::{array, joining, shape_ops, slicing};

use crate::context::{self, SharedTape, Traced, is_tracing, pause_from, recorders_here};
use crate::dispatch::{Live, Outs, apply, call, constant, lock, note_accessed, on_graph, record_program};
use crate::var::Var;

/// The gradient of `sources` for each of many cotangents of `target`, which lie along a leading axis of
/// `seeds`: by one run for all, or, `in_turn`, by a loop over them.
///
/// # Errors
/// As a gradient.
pub fn gradients_of_rows(
    tape: &SharedTape,
    target: &Var,
    sources: &[Var],
    seeds: &Var,
    in_turn: bool,
) -> Result<Vec<Option<Var>>> {
    let backward = lock(tape).backward(std::slice::from_ref(target), sources)?;
    let mut places: Vec<Option<usize>> = Vec::new();
    let (function, captures) = trace_part(&[target.ty()], |seeds| {
        let found = backward.run(&[seeds.into_iter().next()], &mut Live::default())?;
        let mut next = 0..;
        places = found.iter().map(|g| if g.is_some() { next.next() } else { None }).collect();
        Ok(found.into_iter().flatten().collect())
    })?;
    let operands: Vec<Var> = std::iter::once(seeds.clone()).chain(captures).collect();
    let recorders = recorders_here();
    let outs = match recorders.first() {
        // What the derivative reads may be known to the graph alone.
        Some(outermost) if is_tracing() => {
            let paused = pause_from(outermost);
            let outs = map_rows(&function, &operands, 1, in_turn)?;
            drop(paused);
            let seen: Vec<Var> = sources.iter().chain([seeds]).cloned().collect();
            record_program(&seen, &outs, &recorders)?;
            outs
        }
        _ => map_rows(&function, &operands, 1, in_turn)?,
    };
    Ok(places.into_iter().map(|place| place.map(|i| outs[i].clone())).collect())
}

/// Traces a function of values of the given types: as a function of these and of captures. Inside a
/// trace it is a region, which reaches all that the trace holds.
fn trace_part(types: &[Type], run: impl FnOnce(Vec<Var>) -> Result<Vec<Var>>) -> Result<(Arc<Function>, Vec<Var>)> {
    if is_tracing() {
        let params = context::begin_region(types, &[])?;
        let outputs = run(params).inspect_err(|_| context::abandon_region())?;
        return context::end_region_as_function("rows", &outputs);
    }
    let open = context::begin_trace("rows");
    let param = |ty: &Type| context::placeholder(&ty.with_shape(ty.shape().erased()), None);
    let outputs = run(types.iter().map(param).collect::<Result<_>>()?)?;
    let Traced { graph, captures, trainable } = open.end(&outputs)?;
    let read: Vec<Var> = trainable.iter().filter_map(|i| captures.get(i - types.len()).cloned()).collect();
    note_accessed(&read)?;
    Ok((Arc::new(Function::new("rows", graph.compact())), captures))
}

/// Traces a function of one row of each operand, which lie along leading axes, for [`map_rows`].
///
/// # Errors
/// `InvalidArgument` for a scalar operand; those of `run`.
pub fn trace_rows(
    operands: &[Var],
    run: impl FnOnce(Vec<Var>) -> Result<Vec<Var>>,
) -> Result<(Arc<Function>, Vec<Var>)> {
    let row = |v: &Var| {
        let ty = v.ty();
        let shape = match ty.shape().dims() {
            None => Shape::UNRANKED,
            Some([]) => return Err(Error::invalid("a scalar has no rows")),
            Some([_, rest @ ..]) => Shape::new(rest.iter().copied()),
        };
        Ok(Type::tensor(ty.dtype(), shape))
    };
    let types: Vec<Type> = operands.iter().map(row).collect::<Result<_>>()?;
    trace_part(&types, run)
}

/// Calls a function for each row of its first `mapped` operands, which have a leading axis; the results
/// have it too.
///
/// # Errors
/// As [`batch_function`], and what running or inference reports.
pub fn map_rows(function: &Arc<Function>, operands: &[Var], mapped: usize, in_turn: bool) -> Result<Outs> {
    let flags: Vec<bool> = (0..operands.len()).map(|i| i < mapped).collect();
    let theirs = flags.clone();
    let whole =
        if in_turn { None } else { Some(on_graph(function, move |function| batch_function(function, &theirs))) };
    let batched = match whole {
        Some(Ok(batched)) => batched,
        Some(Err(error)) if error.is_of_host() => return Err(error),
        // What cannot run for all rows at once runs for one after the other.
        Some(Err(error)) => batch_by_loop(function, &flags).map_err(|_| error)?,
        None => batch_by_loop(function, &flags)?,
    };
    let mut outs = call(&batched.function, operands)?;
    for (out, _) in outs.iter_mut().zip(&batched.outputs).filter(|(_, mapped)| !**mapped) {
        let shape = |v: &Var| {
            Ok::<_, Error>(apply(&array::SHAPE, std::slice::from_ref(v), &[("dtype", DType::I64.into())])?.remove(0))
        };
        let (rows, own) = (shape(&operands[0])?, shape(out)?);
        let [zero, one] = [0i64, 1].map(|n| constant(Tensor::vector(&[n])));
        let rows = apply(&slicing::SLICE, &[rows, zero?, one?], &[])?.remove(0);
        let shape = apply(&joining::CONCAT, &[rows, own], &[("axis", 0i64.into())])?.remove(0);
        *out = apply(&shape_ops::BROADCAST_TO, &[out.clone(), shape], &[])?.remove(0);
    }
    Ok(outs)
}
