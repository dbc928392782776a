//! Reverse mode through loops that keep their state only now and then.
//!
//! A loop with `checkpoint_every` = k keeps its variables at the start of every k-th iteration. Its derivative goes back over
//! segments of k iterations: each is run again from where it started, now keeping what its derivative reads, and
//! differentiated as any loop. So of n iterations about n / k states and k iterations are held at a time, and each iteration runs
//! twice. The loop over segments has `checkpoint_every` = 1 in turn, so that a second derivative holds no more: it runs a
//! segment and its derivative again.

use penstock_data::{DType, Result, Tensor};
use penstock_ir::{Attrs, Graph, Inst, Region, Type, Value, effects_of};
use penstock_ops::{binary, compare, control, list, state};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{GraphPass, InstStep, captures};
use crate::repeat::{Flow, element_shape};
use crate::reverse::Grads;
use crate::rules;

/// After how many iterations a loop keeps its state; `None` where it keeps what its derivative reads of every iteration, as one
/// must whose body does something that is not to be done again.
pub(crate) fn checkpoint_every(graph: &Graph, inst: Inst) -> Option<i64> {
    let every = graph.insts[inst].attrs.0.first().and_then(|_| graph.insts[inst].attrs.opt_int(0))?;
    (every > 0 && !effects_of(graph, inst).acts()).then_some(every)
}

/// The part of a loop's body that its variables of interest depend on.
struct Part {
    /// The variables that are read.
    variables: Vec<usize>,
    insts: FxHashSet<Inst>,
}

fn part(graph: &Graph, inst: Inst, of: &[usize]) -> Part {
    let body = graph.insts[inst].regions[1];
    let (params, ends) = (&graph.regions[body].params, &graph.regions[body].results);
    let mut wanted: Vec<bool> = vec![false; params.len()];
    of.iter().for_each(|&k| wanted[k] = true);
    let mut insts: FxHashSet<Inst> = FxHashSet::default();
    let mut work: Vec<Value> = of.iter().map(|&k| ends[k]).collect();
    while let Some(value) = work.pop() {
        if graph.values[value].region != body {
            continue;
        }
        if let Some(def) = graph.def_inst(value) {
            if insts.insert(def) {
                work.extend(&graph.insts[def].operands);
                work.extend(captures(graph, &graph.insts[def].regions));
            }
        } else if let Some(k) = params.iter().position(|&p| p == value)
            && !std::mem::replace(&mut wanted[k], true)
        {
            work.push(ends[k]);
        }
    }
    Part { variables: (0..params.len()).filter(|&k| wanted[k]).collect(), insts }
}

impl GraphPass<'_> {
    /// The derivative of a `while` that keeps its state every so many iterations.
    pub(crate) fn repeat_in_segments(
        &mut self,
        step: &InstStep,
        flow: &Flow,
        grads: &[Option<Value>],
        every: i64,
    ) -> Result<Grads<Value>> {
        let source = self.graph().clone();
        let data = &source.insts[step.inst];
        let part = part(&source, step.inst, &flow.variables);
        let body = &source.regions[data.regions[1]];

        // In the program: the state at every so many iterations, and what variables hold.
        let counter = self.counter(step.inst)?;
        let number = self.graph().regions[data.regions[1]].params[counter];
        let mut kept = Vec::new();
        for &k in &part.variables {
            let list = self.checkpoints(step.inst, number, body.params[k], every)?;
            kept.push(self.resolve(list)?);
        }
        let mut held: FxHashMap<Value, Value> = FxHashMap::default();
        for variable in effects_of(&source, step.inst).reads {
            let made =
                self.before(step.inst, |this| Ok(this.builder.emit(&state::READ_VARIABLE, &[variable], &[])?[0]))?;
            held.insert(variable, self.resolve(made)?);
        }
        let mut outside: FxHashMap<Value, Value> = FxHashMap::default();
        for v in captures(&source, &data.regions[1..]) {
            let here = self.resolve(v)?;
            outside.insert(v, here);
        }

        let iterations = self.iterations(step.inst)?;
        let size = self.builder.constant(Tensor::from(every));
        let more = self.builder.constant(Tensor::from(every - 1));
        let padded = self.builder.emit(&binary::ADD, &[iterations, more], &[])?[0];
        let segments = self.builder.emit(&binary::FLOORDIV, &[padded, size], &[])?[0];

        let (mut found, captured) =
            self.backward_loop(step, flow, grads, segments, Some(1), |this, segment, state| {
                let start = this.builder.emit(&binary::MUL, &[segment, size], &[])?[0];
                let left = this.builder.emit(&binary::SUB, &[iterations, start], &[])?[0];
                let count = this.builder.emit(&binary::MINIMUM, &[left, size], &[])?[0];
                let again = this.again(&source, step.inst, &part, &kept, segment, count, &outside, &held)?;
                this.segment(&source, again, &part, flow, state, &outside, &held)
            })?;
        let mut out = Grads::from_elem(None, step.inputs.len());
        for (&k, grad) in flow.variables.iter().zip(found.drain(..)) {
            out[k] = Some(grad);
        }
        for (i, input) in step.inputs.iter().enumerate().skip(step.operands) {
            out[i] = flow.captures.iter().position(|&c| *input == Some(c)).map(|j| captured[j]);
        }
        Ok(out)
    }

    /// The list of a value at the start of every so many iterations of a loop of the program.
    fn checkpoints(&mut self, inst: Inst, number: Value, value: Value, every: i64) -> Result<Value> {
        let dtype = self.graph().ty(value).dtype();
        self.add_variable(
            inst,
            |this| {
                let none = this.builder.constant(Tensor::from(0i64));
                Ok(this.builder.emit(&list::LIST_NEW, &[none], &[("dtype", dtype.into())])?[0])
            },
            |this, present| {
                let number = this.as_int(number, DType::I64)?;
                let size = this.builder.constant(Tensor::from(every));
                let rest = this.builder.emit(&binary::FLOORMOD, &[number, size], &[])?[0];
                let zero = this.builder.constant(Tensor::from(0i64));
                let due = this.builder.emit(&compare::EQUAL, &[rest, zero], &[])?[0];
                let then = this.builder.begin_region([]);
                let pushed = this.builder.emit(&list::LIST_PUSH, &[present, value], &[])?[0];
                this.builder.end_region(&[pushed])?;
                let otherwise = this.builder.begin_region([]);
                this.builder.end_region(&[present])?;
                let inst = this.builder.inst(&control::COND, &[due], Attrs::EMPTY, &[then, otherwise])?;
                Ok(this.builder.results(inst)[0])
            },
        )
    }

    /// A segment of the program's loop once more, at the current place: its variables are a counter, then those of `part`.
    #[expect(clippy::too_many_arguments, reason = "what a segment is made of")]
    fn again(
        &mut self,
        source: &Graph,
        inst: Inst,
        part: &Part,
        kept: &[Value],
        segment: Value,
        count: Value,
        outside: &FxHashMap<Value, Value>,
        held: &FxHashMap<Value, Value>,
    ) -> Result<Inst> {
        let body = &source.regions[source.insts[inst].regions[1]];
        let mut init = vec![self.builder.constant(Tensor::from(0i64))];
        let mut types = vec![Type::scalar(DType::I64)];
        for (&k, &list) in part.variables.iter().zip(kept) {
            let ty = source.ty(body.params[k]).clone();
            let shape = self.builder.constant(element_shape(&ty));
            let named = &[("dtype", ty.dtype().into())];
            let first = self.builder.emit(&list::LIST_GET, &[list, segment, shape], named)?[0];
            self.builder.refine(first, ty.shape())?;
            init.push(first);
            types.push(ty);
        }
        let cond = self.builder.begin_region(types.clone());
        let number = self.builder.params(cond)[0];
        let go = self.builder.emit(&compare::LESS, &[number, count], &[])?[0];
        self.builder.end_region(&[go])?;

        let region = self.builder.begin_region(types);
        let params = self.builder.params(region);
        let mut map = outside.clone();
        map.extend(part.variables.iter().zip(&params[1..]).map(|(&k, &p)| (body.params[k], p)));
        for &i in body.insts.iter().filter(|i| part.insts.contains(i)) {
            self.builder.copy_inst(source, i, &mut map)?;
        }
        let one = self.builder.constant(Tensor::from(1i64));
        let mut ends = vec![self.builder.emit(&binary::ADD, &[params[0], one], &[])?[0]];
        for &k in &part.variables {
            let end = map[&body.results[k]];
            self.builder.refine(end, source.ty(body.params[k]).shape())?;
            ends.push(end);
        }
        self.builder.end_region(&ends)?;
        // What the program read then is not read again.
        let reads: FxHashMap<Value, Value> =
            held.iter().map(|(v, &now)| (outside.get(v).copied().unwrap_or(*v), now)).collect();
        let mut replaced = FxHashMap::default();
        self.drop_reads(region, &reads, &mut replaced);
        self.builder.graph_mut().replace_uses(&replaced);
        self.builder.inst(&control::WHILE, &init, Attrs::EMPTY, &[cond, region])
    }

    fn drop_reads(&mut self, region: Region, held: &FxHashMap<Value, Value>, replaced: &mut FxHashMap<Value, Value>) {
        let insts = std::mem::take(&mut self.builder.graph_mut().regions[region].insts);
        let mut left = Vec::with_capacity(insts.len());
        for inst in insts {
            let data = self.graph().insts[inst].clone();
            match data.operands.first().and_then(|v| held.get(v)) {
                Some(&now) if data.op.is(&state::READ_VARIABLE) => {
                    replaced.insert(data.results[0], now);
                }
                _ => {
                    data.regions.iter().for_each(|&r| self.drop_reads(r, held, replaced));
                    left.push(inst);
                }
            }
        }
        self.builder.graph_mut().regions[region].insts = left;
    }

    /// The derivative of a segment: the cotangents of its first state, and of what the loop sees from outside.
    #[expect(clippy::too_many_arguments, reason = "what a segment is made of")]
    fn segment(
        &mut self,
        source: &Graph,
        again: Inst,
        part: &Part,
        flow: &Flow,
        state: &[Value],
        outside: &FxHashMap<Value, Value>,
        held: &FxHashMap<Value, Value>,
    ) -> Result<Vec<Option<Value>>> {
        let step = InstStep::of(self.graph(), again);
        let here = |v: &Value| if source.ty(*v).is_variable() { held.get(v) } else { outside.get(v) }.copied();
        let captured: Vec<Option<Value>> = flow.captures.iter().map(here).collect();
        let place = |k: usize| 1 + part.variables.iter().position(|&v| v == k).unwrap_or_default();
        let mut grads = vec![None; self.graph().insts[again].results.len()];
        let mut needed = vec![false; step.inputs.len()];
        for (&k, &grad) in flow.variables.iter().zip(state) {
            grads[place(k)] = Some(grad);
            needed[place(k)] = true;
        }
        let spot = |v: Option<Value>| {
            step.inputs.iter().enumerate().skip(step.operands).find(|(_, c)| v.is_some() && **c == v).map(|(i, _)| i)
        };
        captured.iter().filter_map(|&v| spot(v)).for_each(|i| needed[i] = true);
        let found = self.repeat(&step, &grads, &needed)?;
        let mut out = Vec::new();
        for &k in &flow.variables {
            out.push(Some(match found[place(k)] {
                Some(grad) => grad,
                None => {
                    let first = self.graph().insts[again].operands[place(k)];
                    rules::zeros(self, first)?
                }
            }));
        }
        out.extend(captured.iter().map(|&v| spot(v).and_then(|i| found[i])));
        Ok(out)
    }
}
