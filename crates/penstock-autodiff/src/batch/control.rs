//! Branches, loops and calls of many examples.
//!
//! Where the choice is the same for all, the structure stays. Where it differs and the regions can run
//! for examples that did not choose them, all branches run and the results are selected, and a loop
//! runs until the last example is done, the others standing still. Else the examples go one by one.

use penstock_data::{DType, Dim, Result};
use penstock_ir::{
    Attr, Attrs, Batch, Fails, FuncRef, Graph, Inst, OpDef, Region, Type, Value, effects_of, effects_of_region, stack,
    with_lead,
};
use penstock_ops::{compare, control, reduce};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::sizes::fit_always;
use super::{Batcher, Outs, batch_function, is_list};

impl Batcher<'_> {
    /// Batches an instruction with regions or a callee; gives whether it was one.
    pub(super) fn structured(&mut self, inst: Inst) -> Result<bool> {
        let op = self.source.insts[inst].op.0;
        if op.is(&control::COND) || op.is(&control::SWITCH) {
            self.branches(inst)?;
        } else if op.is(&control::WHILE) {
            self.while_loop(inst)?;
        } else if op.is(&control::CALL) {
            self.call(inst)?;
        } else if op.is(&control::WITH_GRADIENT) {
            self.with_gradient(inst)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn call(&mut self, inst: Inst) -> Result<()> {
        let data = &self.source.insts[inst];
        let mapped: Vec<bool> = data.operands.iter().map(|&v| self.is_mapped(v)).collect();
        if !mapped.contains(&true) {
            // It draws random numbers, others for each example.
            return self.repeat(inst);
        }
        let callee = batch_function(&data.attrs.func(0).get()?, &mapped)?;
        let operands: Vec<Value> = data.operands.iter().map(|v| self.map[v]).collect();
        let attrs = Attrs(SmallVec::from_iter([Attr::Func(FuncRef::called(&callee.function))]));
        let made = self.b.inst(&control::CALL, &operands, attrs, &[])?;
        let outs: Outs = self.b.results(made).into();
        for ((&value, &out), &mapped) in data.results.iter().zip(&outs).zip(&callee.outputs) {
            self.set(value, out, mapped)?;
        }
        Ok(())
    }

    /// The cotangent of what is the same for all examples is the sum of theirs: operands become mapped.
    fn with_gradient(&mut self, inst: Inst) -> Result<()> {
        let data = &self.source.insts[inst];
        let outputs = control::results_with_gradient(&data.attrs);
        let rest = outputs + data.attrs.ints(2).len();
        let is_variable = |v: &Value| self.source.ty(*v).is_variable();
        if data.operands[..rest].iter().any(is_variable) {
            return self.repeat(inst);
        }
        let seeds = data.operands[..outputs].iter().filter(|&&v| crate::rules::carries(self.source.ty(v))).count();
        let mapped: Vec<bool> =
            vec![true; seeds].into_iter().chain(data.operands[rest..].iter().map(|v| !is_variable(v))).collect();
        let callee = batch_function(&data.attrs.func(0).get()?, &mapped)?;
        if callee.outputs.contains(&false) {
            return self.repeat(inst);
        }
        let mut operands: Vec<Value> = Vec::new();
        for &v in &data.operands {
            operands.push(if self.source.ty(v).is_variable() { self.map[&v] } else { self.full(v)? });
        }
        let mut attrs = data.attrs.clone();
        attrs.0[0] = Attr::Func(FuncRef::called(&callee.function));
        let made = self.b.inst(data.op.0, &operands, attrs, &[])?;
        let outs: Outs = self.b.results(made).into();
        self.note(inst, &outs)
    }

    fn branches(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        if self.is_mapped(data.operands[0]) {
            return self.select(inst);
        }
        let mut made: Vec<(Region, Region)> = Vec::new();
        for &region in &data.regions {
            let copy = self.b.begin_region([]);
            let done = self.region(region);
            self.b.abandon_region();
            done?;
            made.push((region, copy));
        }
        let mapped: Vec<bool> = (0..data.results.len())
            .map(|k| data.regions.iter().any(|&r| self.is_mapped(source.regions[r].results[k])))
            .collect();
        let mut regions: SmallVec<[Region; 2]> = SmallVec::new();
        for (region, copy) in made {
            self.b.reopen_region(copy)?;
            let results = self.closed(&source.regions[region].results, &mapped);
            self.b.abandon_region();
            self.b.graph_mut().regions[copy].results = results?;
            regions.push(copy);
        }
        let made = self.b.inst(data.op.0, &[self.map[&data.operands[0]]], data.attrs.clone(), &regions)?;
        let outs: Outs = self.b.results(made).into();
        for ((&value, &out), &mapped) in data.results.iter().zip(&outs).zip(&mapped) {
            self.set(value, out, mapped)?;
        }
        Ok(())
    }

    /// What values became, those that have to be mapped with the leading axis.
    fn closed(&mut self, values: &[Value], mapped: &[bool]) -> Result<SmallVec<[Value; 4]>> {
        values.iter().zip(mapped).map(|(&v, &m)| if m { self.full(v) } else { Ok(self.map[&v]) }).collect()
    }

    /// A choice that each example makes for itself.
    fn select(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        let alike = data.results.iter().enumerate().all(|(k, &r)| {
            let ty = source.ty(r);
            has_sizes(ty) && data.regions.iter().all(|&region| source.ty(source.regions[region].results[k]) == ty)
        });
        let runs = |&region: &Region| is_quiet(source, region) && fit_always(source, region);
        if !alike || !data.regions.iter().all(runs) {
            return self.repeat(inst);
        }
        for &region in &data.regions {
            self.region(region)?;
        }
        let count = data.regions.len();
        for (k, &result) in data.results.iter().enumerate() {
            let rank = self.rank(result).unwrap_or(0);
            let choice = |branch: usize| source.regions[data.regions[branch]].results[k];
            let mut chosen = self.full(choice(count - 1))?;
            for branch in (0..count - 1).rev() {
                let Some(pred) = self.aligned(data.operands[0], rank)? else { return self.repeat(inst) };
                let pred = if data.op.0.is(&control::COND) {
                    pred
                } else {
                    let index = self.b.constant(penstock_data::Tensor::scalar(branch as i32));
                    self.emit(&compare::EQUAL, &[pred, index], &[])?
                };
                let other = self.full(choice(branch))?;
                chosen = self.pick(pred, other, chosen)?;
            }
            self.set(result, chosen, true)?;
        }
        Ok(())
    }

    /// `yes` where `pred` holds, else `no`.
    fn pick(&mut self, pred: Value, yes: Value, no: Value) -> Result<Value> {
        let is_text = self.b.graph().ty(yes).dtype() == DType::Str;
        let op: &'static OpDef = if is_text { &compare::STRING_SELECT } else { &compare::SELECT };
        self.emit(op, &[pred, yes, no], &[])
    }

    fn while_loop(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        let (test, body) = (data.regions[0], data.regions[1]);
        let start: Vec<bool> = data.operands.iter().map(|&v| self.is_mapped(v)).collect();
        let mut mapped = loop_vars(source, body, start, &self.mapped)?;
        let mut inside = self.mapped.clone();
        inside.extend(source.regions[test].params.iter().zip(&mapped).filter(|(_, m)| **m).map(|(p, _)| *p));
        mark(source, test, &mut inside)?;
        let own_test = inside.contains(&source.regions[test].results[0]);
        if own_test {
            let (params, results) = (&source.regions[body].params, &source.regions[body].results);
            let changes: Vec<bool> = params.iter().zip(results).map(|(p, r)| p != r).collect();
            let start = mapped.iter().zip(&changes).map(|(m, c)| *m || *c).collect();
            mapped = loop_vars(source, body, start, &self.mapped)?;
            let alike = params
                .iter()
                .zip(results)
                .zip(&changes)
                .all(|((&p, &r), changes)| !changes || (has_sizes(source.ty(p)) && source.ty(p) == source.ty(r)));
            if !alike || !is_quiet(source, test) || !is_quiet(source, body) {
                return self.repeat(inst);
            }
        }
        let operands = self.closed(&data.operands, &mapped)?;
        let types: Vec<Type> = (source.regions[body].params.iter().zip(&mapped))
            .map(|(&p, &m)| if m { with_lead(source.ty(p), self.lead) } else { source.ty(p).clone() })
            .collect();
        let made = if own_test {
            self.masked(test, body, &operands, &types, &mapped)?
        } else {
            let mut regions: SmallVec<[Region; 2]> = SmallVec::new();
            for region in [test, body] {
                let copy = self.b.begin_region(types.iter().cloned());
                let params = self.b.params(copy);
                self.enter(region, &params, &mapped);
                let results = &source.regions[region].results;
                let wanted: &[bool] = if region == test { &[false] } else { &mapped };
                let done = self.region(region).and_then(|()| self.closed(results, wanted));
                regions.push(self.close(done)?);
            }
            self.b.inst(&control::WHILE, &operands, data.attrs.clone(), &regions)?
        };
        let outs: Outs = self.b.results(made)[..data.results.len()].into();
        for ((&value, &out), &mapped) in data.results.iter().zip(&outs).zip(&mapped) {
            self.set(value, out, mapped)?;
        }
        Ok(())
    }

    fn close(&mut self, results: Result<SmallVec<[Value; 4]>>) -> Result<Region> {
        match results.and_then(|results| self.b.end_region(&results)) {
            Ok(region) => Ok(region),
            Err(e) => {
                self.b.abandon_region();
                Err(e)
            }
        }
    }

    /// Gives a region's parameters their values.
    fn enter(&mut self, region: Region, values: &[Value], mapped: &[bool]) {
        let params = self.source.regions[region].params.clone();
        for ((&p, &value), &m) in params.iter().zip(values).zip(mapped) {
            self.map.insert(p, value);
            if m {
                self.mapped.insert(p);
            }
        }
    }

    /// What the test gives for each example, at the current place.
    fn tested(&mut self, test: Region, values: &[Value], mapped: &[bool]) -> Result<Value> {
        self.enter(test, values, mapped);
        self.region(test)?;
        self.full(self.source.regions[test].results[0])
    }

    /// A loop that each example leaves by itself: a mask says which are still in it.
    fn masked(
        &mut self,
        test: Region,
        body: Region,
        operands: &[Value],
        types: &[Type],
        mapped: &[bool],
    ) -> Result<Inst> {
        let mask = self.tested(test, operands, mapped)?;
        let mask_type = self.b.graph().ty(mask).clone();
        let all: Vec<Value> = operands.iter().copied().chain([mask]).collect();
        let types: Vec<Type> = types.iter().cloned().chain([mask_type]).collect();
        let n = operands.len();

        let any = self.b.begin_region(types.iter().cloned());
        let mask = self.b.params(any)[n];
        let more = self.emit(&reduce::REDUCE_ANY, &[mask], &[])?;
        self.b.end_region(&[more])?;

        let step = self.b.begin_region(types);
        let params = self.b.params(step);
        let results = self.masked_step(test, body, &params, mapped);
        let step = self.close(results)?;
        self.b.inst(&control::WHILE, &all, Attrs::EMPTY, &[any, step])
    }

    fn masked_step(
        &mut self,
        test: Region,
        body: Region,
        params: &[Value],
        mapped: &[bool],
    ) -> Result<SmallVec<[Value; 4]>> {
        let source = self.source;
        let n = mapped.len();
        let mask = params[n];
        self.enter(body, &params[..n], mapped);
        self.region(body)?;
        let mut next: SmallVec<[Value; 4]> = SmallVec::new();
        for (k, &m) in mapped.iter().enumerate() {
            let (old, new) = (source.regions[body].params[k], source.regions[body].results[k]);
            next.push(if old == new || !m {
                self.map[&new]
            } else {
                let new = self.full(new)?;
                let mut pred = mask;
                for _ in 0..self.rank(old).unwrap_or(0) {
                    pred = self.emit(&penstock_ops::shape_ops::EXPAND_DIMS, &[pred], &[("axis", (-1i64).into())])?;
                }
                self.pick(pred, new, params[k])?
            });
        }
        let more = self.tested(test, &next, mapped)?;
        next.push(self.emit(&compare::LOGICAL_AND, &[mask, more], &[])?);
        Ok(next)
    }
}

/// Whether every size is known, or at least which sizes are equal. Those of a list's elements are not.
fn has_sizes(ty: &Type) -> bool {
    !is_list(ty) && ty.shape().dims().is_some_and(|dims| !dims.contains(&Dim::Unknown))
}

/// Whether a region that runs for some examples may run for the others too: it does nothing but compute, and
/// fails for no value. Where it runs for none, it may fail for the extents of its operands.
fn is_quiet(graph: &Graph, region: Region) -> bool {
    if effects_of_region(graph, region).acts() {
        return false;
    }
    let mut quiet = true;
    graph.visit_region(region, &mut |_, _, data| {
        quiet &= match data.op.fails {
            Fails::Never | Fails::OnShapes => true,
            Fails::OnIntegers => data.operands.iter().all(|&v| graph.ty(v).dtype().is_float()),
            Fails::OnOperands(places) => places.iter().all(|&i| graph.constant(data.operands[i]).is_some()),
            Fails::OnValues => match data.attrs.0.first() {
                Some(Attr::Func(callee)) if data.op.0.is(&control::CALL) => {
                    callee.get().is_ok_and(|f| f.graph().is_some_and(|callee| is_quiet(callee, callee.body())))
                }
                _ => false,
            },
        };
    });
    quiet
}

/// Which loop variables come to be mapped, where those of `start` are at first.
fn loop_vars(graph: &Graph, body: Region, start: Vec<bool>, outside: &FxHashSet<Value>) -> Result<Vec<bool>> {
    spread(graph, body, start, &mut outside.clone())
}

/// The same, where `inside` has what was found so far, of this loop as well: it only grows, so that a loop in loops is not
/// gone through anew for each of their iterations.
fn spread(graph: &Graph, body: Region, start: Vec<bool>, inside: &mut FxHashSet<Value>) -> Result<Vec<bool>> {
    let params = &graph.regions[body].params;
    let mut mapped: Vec<bool> = start.iter().zip(params).map(|(m, p)| *m || inside.contains(p)).collect();
    loop {
        inside.extend(params.iter().zip(&mapped).filter(|(_, m)| **m).map(|(p, _)| *p));
        mark(graph, body, inside)?;
        let after: Vec<bool> =
            graph.regions[body].results.iter().zip(&mapped).map(|(r, m)| *m || inside.contains(r)).collect();
        if after == mapped {
            return Ok(mapped);
        }
        mapped = after;
    }
}

/// Adds the values of a region that can be mapped where those in `mapped` are.
fn mark(graph: &Graph, region: Region, mapped: &mut FxHashSet<Value>) -> Result<()> {
    stack::check(0)?;
    for &inst in &graph.regions[region].insts {
        let data = &graph.insts[inst];
        if matches!(data.op.batch, Batch::Same(_)) {
            continue;
        }
        let own: Vec<bool> = data.operands.iter().map(|v| mapped.contains(v)).collect();
        let found: Vec<bool> = if data.op.0.is(&control::WHILE) {
            let mut mapped_vars = spread(graph, data.regions[1], own, mapped)?;
            let test = data.regions[0];
            mapped.extend(graph.regions[test].params.iter().zip(&mapped_vars).filter(|(_, m)| **m).map(|(p, _)| *p));
            mark(graph, test, mapped)?;
            if mapped.contains(&graph.regions[test].results[0]) {
                mapped_vars.fill(true);
            }
            mapped_vars
        } else if data.regions.is_empty() {
            vec![effects_of(graph, inst).random || own.contains(&true); data.results.len()]
        } else {
            for &branch in &data.regions {
                mark(graph, branch, mapped)?;
            }
            let of = |k: usize| data.regions.iter().any(|&r| mapped.contains(&graph.regions[r].results[k]));
            (0..data.results.len()).map(|k| own.contains(&true) || of(k)).collect()
        };
        mapped.extend(data.results.iter().zip(found).filter(|(_, m)| *m).map(|(r, _)| *r));
    }
    Ok(())
}
