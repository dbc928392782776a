//! Reverse mode through loops.
//!
//! The derivative of a `while` is a `while` over as many iterations, backward. What an iteration of it reads of the values of the
//! same iteration of the program is pushed on lists, each a further variable of the program's loop; what does not change
//! from iteration to iteration is taken, or computed once more, from outside, and what counts iterations is computed from their
//! number. Cotangents of the loop variables are the variables of the backward loop, next to the sums of those of the
//! values that the body sees from outside.
//!
//! Both loops are graphs like any other: the lists have cotangents, so the derivative has one in turn.

use penstock_data::{DType, Dim, Error, Result, Tensor};
use penstock_ir::{Attr, Attrs, Def, EffectSet, Emitter, Inst, InstData, Region, Type, Value, ValueData, effects_of};
use penstock_ops::counted::{CountedLoop, Number};
use penstock_ops::{binary, cast, compare, control, gather, linalg, list, reduce, shape_ops, state};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::{GraphPass, InstStep, path};
use crate::reverse::{Grads, Pass, Path};
use crate::rules;
use crate::segments::checkpoint_every;
use crate::sums::{Addend, Sums, kept};

/// How many instructions are looked back through for what does not change from iteration to iteration.
const LOOK_BACK: usize = 32;

/// A loop of the program whose backward loop is being made.
pub(crate) struct LoopFrame {
    /// The loop of the program.
    inst: Inst,
    /// The region that the backward loop goes to.
    outside: Region,
    /// Its body.
    inside: Region,
    /// The number of the iteration, in the body: from the last to 0.
    iteration: Value,
    /// What values of the iteration have become there.
    recalled: FxHashMap<Value, Value>,
    /// What the loop of the program touches.
    effects: EffectSet,
    /// The lists of lists of an iteration that are recalled, in one list.
    pack: Option<Pack>,
}

/// Lists that an iteration of the program puts into one list, which alone is pushed. So what loops inside of loops keep
/// takes as many instructions in each of them, however deep they nest.
#[derive(Clone, Copy)]
struct Pack {
    /// The instruction of the program's body that pushes it.
    push: Inst,
    /// The list in the same iteration of the backward loop.
    recalled: Value,
    /// How many lists are in it.
    len: i64,
}

/// Which variables of a loop, and which values that its body sees from outside, have a cotangent of use.
pub(crate) struct Flow {
    pub(crate) variables: Vec<usize>,
    pub(crate) captures: Vec<Value>,
}

impl GraphPass<'_> {
    /// The derivative of `while`.
    pub(crate) fn repeat(&mut self, step: &InstStep, grads: &[Option<Value>], needed: &[bool]) -> Result<Grads<Value>> {
        let flow = self.flow(step, grads, needed)?;
        if !flow.variables.iter().any(|&k| needed[k]) && flow.captures.is_empty() {
            return Ok(Grads::from_elem(None, needed.len()));
        }
        if let Some(every) = checkpoint_every(self.graph(), step.inst) {
            return self.repeat_in_segments(step, &flow, grads, every);
        }
        let body = self.graph().insts[step.inst].regions[1];
        let outside = self.builder.current();
        let iterations = self.iterations(step.inst)?;
        let (ends, params) = (self.graph().regions[body].results.clone(), self.graph().regions[body].params.clone());
        let (variables, captured) =
            self.backward_loop(step, &flow, grads, iterations, None, |this, iteration, state| {
                let inside = this.builder.current();
                let recalled = FxHashMap::default();
                let effects = effects_of(this.graph(), step.inst);
                this.loops.insert(
                    body,
                    LoopFrame { inst: step.inst, outside, inside, iteration, recalled, effects, pack: None },
                );
                let seeds: Vec<(Value, Option<Value>)> =
                    flow.variables.iter().zip(state).map(|(&k, &g)| (ends[k], Some(g))).collect();
                let sources: Vec<Value> =
                    flow.variables.iter().map(|&k| params[k]).chain(flow.captures.iter().copied()).collect();
                let found = this.region(body, &seeds, &sources).and_then(|mut found| {
                    for (grad, &source) in found.iter_mut().zip(&sources).take(flow.variables.len()) {
                        if grad.is_none() {
                            *grad = Some(rules::zeros(this, source)?);
                        }
                    }
                    Ok(found)
                });
                this.loops.remove(&body);
                found
            })?;
        let mut out = Grads::from_elem(None, needed.len());
        for (&k, grad) in flow.variables.iter().zip(variables) {
            out[k] = Some(grad);
        }
        for (i, input) in step.inputs.iter().enumerate().skip(step.operands) {
            out[i] = flow.captures.iter().position(|&c| *input == Some(c)).map(|j| captured[j]);
        }
        Ok(out)
    }

    /// A loop from the last iteration to the first, at the current place. `body` gives, for the number of the iteration and the
    /// cotangents of the variables after it, those of the variables before it, and what it adds to those of the captures.
    /// The result is all of these before the first iteration. A sum that is better made outside ([`crate::sums`]) is.
    pub(crate) fn backward_loop(
        &mut self,
        step: &InstStep,
        flow: &Flow,
        grads: &[Option<Value>],
        iterations: Value,
        checkpoint_every: Option<i64>,
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Vec<Option<Value>>>,
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let data = self.graph().insts[step.inst].clone();
        let loc = self.graph().locs[step.inst];
        let (count, params) = (flow.variables.len(), self.graph().regions[data.regions[1]].params.clone());
        let mut init = vec![iterations];
        let mut types = vec![Type::scalar(DType::I64)];
        for &k in &flow.variables {
            init.push(match grads[k] {
                Some(grad) => grad,
                None => rules::zeros(self, data.results[k])?,
            });
            types.push(self.graph().ty(params[k]).clone());
        }
        for &v in &flow.captures {
            init.push(rules::zeros(self, v)?);
            let ty = self.graph().ty(v);
            types.push(Type::tensor(ty.dtype(), ty.shape().clone()));
        }
        for (&v, ty) in init.iter().zip(&types) {
            self.builder.refine(v, ty.shape())?;
        }
        let cond = self.builder.begin_region(types.clone());
        let left = self.builder.params(cond)[0];
        let zero = self.builder.constant(Tensor::from(0i64));
        let go = self.builder.emit(&compare::GREATER, &[left, zero], &[])?[0];
        self.builder.end_region(&[go])?;

        let inside = self.builder.begin_region(types.clone());
        let state = self.builder.params(inside);
        let one = self.builder.constant(Tensor::from(1i64));
        let iteration = self.builder.emit(&binary::SUB, &[state[0], one], &[])?[0];
        let mut outside = Vec::new();
        let next = body(self, iteration, &state[1..=count]).and_then(|found| {
            self.builder.set_loc(loc);
            let inside = self.builder.current();
            let mut next = vec![iteration];
            let has_extents = |ty: &Type| self.has_extents(ty);
            let sums = Sums { graph: self.graph(), inside, iteration, has_extents: &has_extents };
            let addends = sums.addends(&found[count..]);
            let addends = (0..count).map(|_| None).chain(addends);
            for (j, ((grad, ty), addend)) in found.iter().zip(&types[1..]).zip(addends).enumerate() {
                if let Some(grad) = grad {
                    self.builder.refine(*grad, ty.shape())?;
                }
                let sum = match (grad, addend) {
                    (_, Some(addend)) => {
                        outside.push((j, addend));
                        state[1 + j]
                    }
                    (&Some(grad), None) if j < count => grad,
                    (Some(grad), None) => self.add(&state[1 + j], grad)?,
                    (None, None) => state[1 + j],
                };
                self.builder.refine(sum, ty.shape())?;
                next.push(sum);
            }
            Ok(next)
        });
        self.builder.set_loc(loc);
        let next = next.inspect_err(|_| self.builder.abandon_region())?;
        self.builder.end_region(&next)?;
        let attrs = checkpoint_every.map_or(Attrs::EMPTY, |every| Attrs(SmallVec::from_iter([Attr::Int(every)])));
        let inst = self.builder.inst(&control::WHILE, &init, attrs, &[cond, inside])?;
        let mut variables = self.builder.results(inst)[1..].to_vec();
        let mut stacked = FxHashMap::default();
        for (j, addend) in outside {
            let iterations = Iterations { inst, count: iterations, iteration };
            variables[j] = self.summed(iterations, &addend, flow.captures[j - count], &mut stacked)?;
        }
        let captured = variables.split_off(count);
        Ok((variables, captured))
    }

    fn body_path(&self, body: Region, targets: &[Value], sources: &[Value]) -> Result<Path<InstStep>> {
        let graph = self.graph();
        path(graph, graph.regions[body].insts.iter().copied(), targets, sources, &[])
    }

    /// A variable has a cotangent of use where its value in some iteration depends on a source and a target on it.
    fn flow(&self, step: &InstStep, grads: &[Option<Value>], needed: &[bool]) -> Result<Flow> {
        let graph = self.graph();
        let body = graph.insts[step.inst].regions[1];
        let (params, ends) = (&graph.regions[body].params, &graph.regions[body].results);
        let count = step.operands;
        let captures: Vec<Value> =
            step.inputs[count..].iter().zip(&needed[count..]).filter(|(_, n)| **n).filter_map(|(v, _)| *v).collect();
        let with =
            |mask: &[bool], of: &[Value]| -> Vec<Value> { (0..count).filter(|&k| mask[k]).map(|k| of[k]).collect() };

        let mut live: Vec<bool> = (0..count).map(|k| needed[k]).collect();
        let mut changed = true;
        while changed {
            let sources: Vec<Value> = with(&live, params).into_iter().chain(captures.iter().copied()).collect();
            let path = self.body_path(body, ends, &sources)?;
            changed = false;
            for k in (0..count).filter(|&k| rules::carries(graph.ty(params[k]))) {
                if !live[k] && path.reaches(ends[k]) {
                    live[k] = true;
                    changed = true;
                }
            }
        }
        let sources: Vec<Value> = with(&live, params).into_iter().chain(captures.iter().copied()).collect();
        let mut reached: Vec<bool> = (0..count).map(|k| live[k] && grads[k].is_some()).collect();
        loop {
            let path = self.body_path(body, &with(&reached, ends), &sources)?;
            let more: Vec<usize> = (0..count).filter(|&k| live[k] && !reached[k] && path.wants(params[k])).collect();
            if more.is_empty() {
                let variables = (0..count).filter(|&k| reached[k]).collect();
                return Ok(Flow { variables, captures: captures.into_iter().filter(|&v| path.wants(v)).collect() });
            }
            more.into_iter().for_each(|k| reached[k] = true);
        }
    }

    /// Emits before an instruction of the program, in its region.
    pub(crate) fn before(&mut self, inst: Inst, make: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        let region = self.graph().values[self.graph().insts[inst].results[0]].region;
        let count = self.graph().regions[region].insts.len();
        let made = self.at(region, make)?;
        let insts = &mut self.builder.graph_mut().regions[region].insts;
        let fresh = insts.split_off(count);
        let at =
            insts.iter().rposition(|&i| i == inst).ok_or_else(|| Error::internal("a loop is not in its region"))?;
        insts.splice(at..at, fresh);
        Ok(made)
    }

    /// Adds a variable to a loop of the program: it starts as what `init` makes before the loop, and the end of the body
    /// makes its next value of its present one. Gives its last value.
    pub(crate) fn add_variable(
        &mut self,
        inst: Inst,
        init: impl FnOnce(&mut Self) -> Result<Value>,
        next: impl FnOnce(&mut Self, Value) -> Result<Value>,
    ) -> Result<Value> {
        let first = self.before(inst, init)?;
        let data = self.graph().insts[inst].clone();
        let region = self.graph().values[data.results[0]].region;
        let graph = self.builder.graph_mut();
        let ty = graph.ty(first).clone();
        let index = data.results.len() as u32;
        let mut add = |def: Def, region: Region| graph.values.push(ValueData { ty: ty.clone(), def, region });
        let result = add(Def::Result(inst, index), region);
        let [cond, body] = [0, 1].map(|i| data.regions[i]);
        let (seen, present) = (add(Def::Param(index), cond), add(Def::Param(index), body));
        graph.insts[inst].operands.push(first);
        graph.insts[inst].results.push(result);
        graph.regions[cond].params.push(seen);
        graph.regions[body].params.push(present);
        let after = self.at(body, |this| next(this, present))?;
        self.builder.graph_mut().regions[body].results.push(after);
        Ok(result)
    }

    /// The variable of a loop of the program that counts its iterations from 0.
    pub(crate) fn counter(&mut self, inst: Inst) -> Result<usize> {
        let data = &self.graph().insts[inst];
        let (count, counted) = (data.operands.len(), CountedLoop::new(self.graph(), data));
        let from_zero =
            |&k: &usize| counted.start(k) == Some(Number::Const(0)) && counted.step(k) == Some(Number::Const(1));
        let found = (0..count).find(from_zero);
        if let Some(k) = found {
            return Ok(k);
        }
        self.add_variable(
            inst,
            |this| Ok(this.builder.constant(Tensor::from(0i64))),
            |this, present| {
                let one = this.builder.constant(Tensor::from(1i64));
                Ok(this.builder.emit(&binary::ADD, &[present, one], &[])?[0])
            },
        )?;
        Ok(count)
    }

    /// The number of iterations that a loop of the program ran.
    pub(crate) fn iterations(&mut self, inst: Inst) -> Result<Value> {
        // What is known needs no list of a loop around this one.
        if let Some(iterations) = CountedLoop::new(self.graph(), &self.graph().insts[inst]).iterations() {
            return Ok(self.builder.constant(Tensor::from(iterations as i64)));
        }
        let k = self.counter(inst)?;
        let counted = self.graph().insts[inst].results[k];
        let counted = self.resolve(counted)?;
        self.as_int(counted, DType::I64)
    }

    pub(crate) fn as_int(&mut self, value: Value, dtype: DType) -> Result<Value> {
        if self.graph().ty(value).dtype() == dtype {
            return Ok(value);
        }
        Ok(self.builder.emit(&cast::CAST, &[value], &[("dtype", dtype.into())])?[0])
    }

    /// Runs `f` with a region open again.
    fn at<T>(&mut self, region: Region, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.builder.reopen_region(region)?;
        let made = f(self);
        self.builder.abandon_region();
        made
    }

    /// A value of an iteration of the program's loop with this body, in the same iteration of the backward loop.
    pub(crate) fn recall(&mut self, body: Region, value: Value) -> Result<Value> {
        let frame = &self.loops[&body];
        if let Some(&found) = frame.recalled.get(&value) {
            return Ok(found);
        }
        let (inst, outside, inside, iteration) = (frame.inst, frame.outside, frame.inside, frame.iteration);
        let found = if self.is_invariant(inst, value, LOOK_BACK) {
            self.at(outside, |this| this.invariant(inst, value))?
        } else if let Some(found) = self.counted(inst, inside, iteration, value)? {
            found
        } else if self.holds_lists(value) {
            self.unpacked(body, value)?
        } else {
            self.popped(body, value)?
        };
        if let Some(frame) = self.loops.get_mut(&body) {
            frame.recalled.insert(value, found);
        }
        Ok(found)
    }

    /// A value of the body of a loop that is pushed on a list, in the same iteration of the backward loop.
    fn popped(&mut self, body: Region, value: Value) -> Result<Value> {
        let LoopFrame { inst, outside, inside, iteration, .. } = self.loops[&body];
        let stack = self.stack_of(inst, value)?;
        let stack = self.at(outside, |this| this.resolve(stack))?;
        let ty = self.graph().ty(value).clone();
        self.at(inside, |this| this.element(stack, iteration, &ty))
    }

    /// The element of a list at an index, of a known type.
    fn element(&mut self, list: Value, index: Value, ty: &Type) -> Result<Value> {
        let shape = self.builder.constant(element_shape(ty));
        let found = self.builder.emit(&list::LIST_GET, &[list, index, shape], &[("dtype", ty.dtype().into())])?[0];
        self.builder.refine(found, ty.shape())?;
        Ok(found)
    }

    /// A list of lists of the body of a loop, in the same iteration of the backward loop: an element of the frame's pack.
    fn unpacked(&mut self, body: Region, value: Value) -> Result<Value> {
        let pack = match self.loops[&body].pack {
            Some(pack) => {
                let packed = self.graph().insts[pack.push].operands[1];
                let more = self.at(body, |this| Ok(this.builder.emit(&list::LIST_PUSH, &[packed, value], &[])?[0]))?;
                let graph = self.builder.graph_mut();
                graph.insts[pack.push].operands[1] = more;
                // What it takes now comes behind it.
                let insts = &mut graph.regions[body].insts;
                insts.retain(|&i| i != pack.push);
                insts.push(pack.push);
                Pack { len: pack.len + 1, ..pack }
            }
            None => {
                let packed = self.at(body, |this| {
                    let none = this.builder.constant(Tensor::from(0i64));
                    let empty = this.builder.emit(&list::LIST_NEW, &[none], &[("dtype", DType::Variant.into())])?[0];
                    Ok(this.builder.emit(&list::LIST_PUSH, &[empty, value], &[])?[0])
                })?;
                let recalled = self.popped(body, packed)?;
                let graph = self.graph();
                let pushes = |&i: &Inst| graph.insts[i].op.is(&list::LIST_PUSH) && graph.insts[i].operands[1] == packed;
                let push = graph.regions[body].results.iter().filter_map(|&v| graph.def_inst(v)).find(pushes);
                let push = push.ok_or_else(|| Error::internal("a list of lists is not pushed"))?;
                Pack { push, recalled, len: 1 }
            }
        };
        let LoopFrame { inside, .. } = self.loops[&body];
        if let Some(frame) = self.loops.get_mut(&body) {
            frame.pack = Some(pack);
        }
        let ty = self.graph().ty(value).clone();
        self.at(inside, |this| {
            let index = this.builder.constant(Tensor::from(pack.len - 1));
            this.element(pack.recalled, index, &ty)
        })
    }

    /// Whether a value is a list of lists, as far as its definition tells: what a loop or branches give by another loop.
    fn holds_lists(&self, value: Value) -> bool {
        let graph = self.graph();
        let mut value = value;
        while graph.ty(value).dtype() == DType::Variant
            && let Def::Result(inst, k) = graph.values[value].def
        {
            let data = &graph.insts[inst];
            if data.op.is(&list::LIST_NEW) {
                return data.attrs.opt_dtype(0) == Some(DType::Variant);
            }
            let next = if data.op.is(&control::WHILE) {
                Some(data.operands[k as usize])
            } else if data.op.is(&list::LIST_PUSH) {
                Some(data.operands[0])
            } else {
                self.of_branches(inst, k as usize)
            };
            let Some(next) = next else { return false };
            value = next;
        }
        false
    }

    /// The list to which the body of a loop pushes a value: the last value of the variable that is it.
    fn stack_of(&mut self, inst: Inst, value: Value) -> Result<Value> {
        let graph = self.graph();
        let data = &graph.insts[inst];
        let body = &graph.regions[data.regions[1]];
        let is_stack = |k: &usize| {
            let made = |v: Value| graph.def_inst(v).map(|i| &graph.insts[i]);
            made(body.results[*k])
                .is_some_and(|i| i.op.is(&list::LIST_PUSH) && i.operands[..] == [body.params[*k], value])
                && made(data.operands[*k])
                    .is_some_and(|i| i.op.is(&list::LIST_NEW) && zero(graph.constant(i.operands[0])))
        };
        if let Some(k) = (0..data.operands.len()).find(is_stack) {
            return Ok(data.results[k]);
        }
        let dtype = graph.ty(value).dtype();
        self.add_variable(
            inst,
            |this| {
                let none = this.builder.constant(Tensor::from(0i64));
                Ok(this.builder.emit(&list::LIST_NEW, &[none], &[("dtype", dtype.into())])?[0])
            },
            |this, present| Ok(this.builder.emit(&list::LIST_PUSH, &[present, value], &[])?[0]),
        )
    }

    /// Whether a value of the body of a loop is the same in every iteration, and can be computed outside: from at most
    /// `fuel` instructions.
    fn is_invariant(&self, inst: Inst, value: Value, fuel: usize) -> bool {
        let graph = self.graph();
        let data = &graph.insts[inst];
        let body = data.regions[1];
        if graph.values[value].region != body {
            return true;
        }
        match graph.values[value].def {
            Def::Param(k) => graph.regions[body].results[k as usize] == value,
            Def::Result(made, _) => {
                let made = &graph.insts[made];
                let plain = (made.op.is_pure() || self.reads_unchanged(body, made))
                    && made.regions.is_empty()
                    && !made.attrs.0.iter().any(|a| matches!(a, Attr::Func(_) | Attr::Host(_)));
                plain
                    && fuel > 0
                    && made.operands.iter().all(|&v| self.is_invariant(inst, v, fuel / made.operands.len()))
            }
        }
    }

    /// Whether an instruction reads a variable that the loop with this body leaves as it is.
    fn reads_unchanged(&self, body: Region, data: &InstData) -> bool {
        let frame = self.loops.get(&body);
        data.op.is(&state::READ_VARIABLE)
            && frame.is_some_and(|f| !f.effects.host && !f.effects.writes.contains(&data.operands[0]))
    }

    /// A value for which [`GraphPass::is_invariant`] holds, computed at the current place.
    fn invariant(&mut self, inst: Inst, value: Value) -> Result<Value> {
        let data = &self.graph().insts[inst];
        let body = data.regions[1];
        if self.graph().values[value].region != body {
            return self.resolve(value);
        }
        if let Some(&found) = self.loops[&body].recalled.get(&value) {
            return Ok(found);
        }
        match self.graph().values[value].def {
            Def::Param(k) => {
                let first = data.operands[k as usize];
                self.resolve(first)
            }
            Def::Result(made, k) => {
                let made = self.graph().insts[made].clone();
                let found = if made.op.is(&state::READ_VARIABLE) {
                    // After the loop the variable may have another value.
                    let emit = |this: &mut Self| Ok(this.builder.emit(made.op.0, &made.operands, &[])?[0]);
                    let read = self.before(inst, emit)?;
                    self.resolve(read)?
                } else {
                    let operands: SmallVec<[Value; 3]> =
                        made.operands.iter().map(|&v| self.invariant(inst, v)).collect::<Result<_>>()?;
                    self.builder.emit_attrs(made.op.0, &operands, made.attrs)?[k as usize]
                };
                let ty = self.graph().ty(value).clone();
                self.builder.refine(found, ty.shape())?;
                if let Some(frame) = self.loops.get_mut(&body) {
                    frame.recalled.insert(value, found);
                }
                Ok(found)
            }
        }
    }

    /// A variable that counts, computed from the number of the iteration.
    fn counted(&mut self, inst: Inst, inside: Region, iteration: Value, value: Value) -> Result<Option<Value>> {
        let body = self.graph().insts[inst].regions[1];
        let Def::Param(k) = self.graph().values[value].def else { return Ok(None) };
        if self.graph().values[value].region != body {
            return Ok(None);
        }
        let data = &self.graph().insts[inst];
        let (first, dtype) = (data.operands[k as usize], self.graph().ty(value).dtype());
        let step = CountedLoop::new(self.graph(), data).step(k as usize);
        let Some(step) = step.filter(|_| matches!(dtype, DType::I32 | DType::I64)) else { return Ok(None) };
        self.at(inside, |this| {
            let first = this.resolve(first)?;
            let step = match step {
                Number::Const(n) if dtype == DType::I32 => this.builder.constant(Tensor::from(n as i32)),
                Number::Const(n) => this.builder.constant(Tensor::from(n)),
                Number::Value(step) => this.resolve(step)?,
            };
            let iteration = this.as_int(iteration, dtype)?;
            let sum = this.builder.emit(&binary::MUL, &[iteration, step], &[])?[0];
            Ok(Some(this.builder.emit(&binary::ADD, &[first, sum], &[])?[0]))
        })
    }
}

fn zero(constant: Option<&Tensor>) -> bool {
    constant.and_then(|t| t.to_ints().ok()).is_some_and(|ints| ints[..] == [0])
}

/// What `list_get` is told of the shape of values of a type.
pub(crate) fn element_shape(ty: &Type) -> Tensor {
    match ty.shape().dims() {
        None => Tensor::from(-1i64),
        Some(dims) => {
            let size = |d: &Dim| d.known().map_or(-1, |n| n as i64);
            Tensor::vector(&dims.iter().map(size).collect::<Vec<i64>>())
        }
    }
}

/// A backward loop: its instruction, the number of its iterations, and the number of the iteration in its body.
#[derive(Clone, Copy)]
struct Iterations {
    inst: Inst,
    count: Value,
    iteration: Value,
}

/// Sums that are made outside of a backward loop.
impl GraphPass<'_> {
    /// The sum of `addend` over all iterations of a finished loop, at the current place: a cotangent of `like`. `stacked`
    /// holds what was stacked for other sums.
    fn summed(
        &mut self,
        iterations: Iterations,
        addend: &Addend,
        like: Value,
        stacked: &mut FxHashMap<Value, Value>,
    ) -> Result<Value> {
        let sum = match addend {
            Addend::Product { a, b, attrs } => {
                let operands = [self.all_rows(iterations, *a, stacked)?, self.all_rows(iterations, *b, stacked)?];
                self.builder.emit_attrs(&linalg::MATMUL, &operands, attrs.clone())?[0]
            }
            Addend::Rows { matrix, attrs } => {
                let all = self.all_rows(iterations, *matrix, stacked)?;
                self.builder.emit_attrs(&reduce::REDUCE_SUM, &[all], attrs.clone())?[0]
            }
            Addend::Part { index, part, left, right, product, gather } => {
                let all = self.all_rows(iterations, *left, stacked)?;
                let rows = self.builder.emit_attrs(&linalg::MATMUL, &[all, *right], product.clone())?[0];
                let dims = self.graph().ty(*part).clone();
                let dims = self.extents(&dims, &[-1])?;
                let parts = self.builder.emit(&shape_ops::RESHAPE, &[rows, dims], &[])?[0];
                let places = self.all_iterations(iterations, *index, stacked)?;
                let shape = rules::shape(self, like)?;
                self.builder.emit_attrs(&gather::GATHER_GRAD, &[shape, places, parts], gather.clone())?[0]
            }
        };
        let shape = self.graph().ty(like).shape().clone();
        self.builder.refine(sum, &shape)?;
        Ok(sum)
    }

    /// A value of all iterations, along a new first dimension.
    fn all_iterations(
        &mut self,
        iterations: Iterations,
        value: Value,
        stacked: &mut FxHashMap<Value, Value>,
    ) -> Result<Value> {
        if let Some(&found) = stacked.get(&value) {
            return Ok(found);
        }
        let ty = self.graph().ty(value).clone();
        let all =
            match kept(self.graph(), iterations.iteration, value) {
                Some(list) => list,
                None => self.add_variable(
                    iterations.inst,
                    |this| {
                        Ok(this.builder.emit(&list::LIST_NEW, &[iterations.count], &[("dtype", ty.dtype().into())])?[0])
                    },
                    |this, present| {
                        Ok(this.builder.emit(&list::LIST_SET, &[present, iterations.iteration, value], &[])?[0])
                    },
                )?,
            };
        let shape = self.extents(&ty, &[])?;
        let all = self.builder.emit(&list::LIST_STACK, &[all, shape], &[("dtype", ty.dtype().into())])?[0];
        stacked.insert(value, all);
        Ok(all)
    }

    /// The rows of a matrix in all iterations, one under the other.
    fn all_rows(
        &mut self,
        iterations: Iterations,
        matrix: Value,
        stacked: &mut FxHashMap<Value, Value>,
    ) -> Result<Value> {
        let columns = self.graph().ty(matrix).shape().dims().and_then(|dims| dims[1].known()).map_or(-1, |n| n as i64);
        let all = self.all_iterations(iterations, matrix, stacked)?;
        let shape = self.builder.constant(Tensor::vector(&[-1, columns]));
        Ok(self.builder.emit(&shape_ops::RESHAPE, &[all, shape], &[])?[0])
    }
}
