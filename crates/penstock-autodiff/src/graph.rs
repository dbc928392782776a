//! Reverse mode inside a graph under construction.
//!
//! Cotangents are emitted at the current place of a [`Builder`]. What they need of the values of
//! closed regions leaves those as further results of the instructions that own them: the instructions
//! themselves change in place, and nothing is computed twice.

use penstock_data::{DType, Dim, Error, Result, Symbol, Table, Tensor};
use penstock_ir::{
    Attr, Attrs, Builder, Def, Emitter, FuncRef, Graph, Inst, OpDef, Region, Type, Value, ValueData, stack,
};
use penstock_ops::{array, control, gather, joining, list, slicing};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::function::{Residual, vjp_function};
use crate::repeat::LoopFrame;
use crate::reverse::{Grads, Pass, Path, Step};
use crate::rows::{Given, by_rows};
use crate::rules;

/// What to differentiate, and with respect to what.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The values to differentiate.
    pub targets: &'a [Value],
    /// The cotangent of each target: ones where it is `None`. May be empty where all are.
    pub target_grads: &'a [Option<Value>],
    /// The values whose cotangents are wanted: tensors and variables.
    pub sources: &'a [Value],
    /// Values that count as constants: no cotangent goes through what makes them.
    pub stops: &'a [Value],
    /// The instructions that count; all where it is `None`. A tape lists those added while it recorded.
    pub recorded: Option<&'a dyn Fn(Inst) -> bool>,
}

/// Emits the cotangents of the sources at the current place; `None` for a source on which no target depends.
///
/// The sums of several targets' contributions are given. Targets whose dtype carries no cotangent
/// count for nothing. Values of all open regions are seen.
///
/// # Errors
/// `InvalidArgument` for the wrong number of target cotangents, `NotFound` where a cotangent is due
/// through an operator without gradient.
pub fn gradients_in(builder: &mut Builder, request: &Request<'_>) -> Result<Vec<Option<Value>>> {
    let Request { targets, target_grads, sources, stops, recorded } = *request;
    if !target_grads.is_empty() && target_grads.len() != targets.len() {
        return Err(Error::invalid(format!("{} target gradients for {} targets", target_grads.len(), targets.len())));
    }
    let mut given = targets.iter().chain(sources).chain(stops).chain(target_grads.iter().flatten());
    if let Some(foreign) = given.find(|&&v| builder.ty(v).is_none()) {
        return Err(Error::invalid(format!("{foreign} is of another graph")));
    }
    let graph = builder.graph();
    let insts = builder.open_regions().iter().flat_map(|&r| &graph.regions[r].insts).copied();
    let seeds: Vec<(Value, Option<Value>)> =
        targets.iter().enumerate().map(|(i, &t)| (t, target_grads.get(i).copied().flatten())).collect();
    let path = path(graph, insts.filter(|&i| recorded.is_none_or(|f| f(i))), targets, sources, stops)?;
    let loc = builder.loc();
    let grads = GraphPass::new(builder, 0).run(path, &seeds);
    builder.set_loc(loc);
    grads
}

/// An instruction as a step: its inputs are its operands and then what its regions capture.
pub(crate) struct InstStep {
    pub(crate) inst: Inst,
    pub(crate) inputs: SmallVec<[Option<Value>; 4]>,
    outputs: SmallVec<[Option<Value>; 1]>,
    /// How many of the inputs are operands.
    pub(crate) operands: usize,
}

impl InstStep {
    pub(crate) fn of(graph: &Graph, inst: Inst) -> InstStep {
        let key = |&v: &Value| rules::carries(graph.ty(v)).then_some(v);
        let data = &graph.insts[inst];
        let mut inputs: SmallVec<[Option<Value>; 4]> = data.operands.iter().map(key).collect();
        inputs.extend(captures(graph, &data.regions).iter().filter_map(key).map(Some));
        InstStep { inst, inputs, outputs: data.results.iter().map(key).collect(), operands: data.operands.len() }
    }
}

impl Step for InstStep {
    type Key = Value;
    fn inputs(&self) -> impl Iterator<Item = Option<Value>> {
        self.inputs.iter().copied()
    }
    fn outputs(&self) -> impl Iterator<Item = Option<Value>> {
        self.outputs.iter().copied()
    }
}

pub(crate) fn path(
    graph: &Graph,
    insts: impl Iterator<Item = Inst>,
    targets: &[Value],
    sources: &[Value],
    stops: &[Value],
) -> Result<Path<InstStep>> {
    let key = |&v: &Value| rules::carries(graph.ty(v)).then_some(v);
    let steps = insts.filter(|&i| rules::takes_part(graph.insts[i].op.0)).map(|inst| {
        let mut step = InstStep::of(graph, inst);
        step.outputs.iter_mut().for_each(|v| *v = v.filter(|v| !stops.contains(v)));
        step
    });
    let targets: Vec<Value> = targets.iter().filter_map(key).collect();
    Path::new(steps, &targets, sources)
}

/// Goes back through an open region, to see on what its results depend differentiably.
pub struct Influence {
    region: Region,
    /// How many instructions of the region are still ahead.
    left: usize,
    wanted: FxHashSet<Value>,
}

impl Influence {
    /// Starts from results that a region will have.
    pub fn of(graph: &Graph, region: Region, results: &[Value]) -> Influence {
        Influence { region, left: graph.regions[region].insts.len(), wanted: results.iter().copied().collect() }
    }

    /// Whether the results depend on those of an instruction of the region. Instructions are asked about from last to
    /// first; what operands it has is looked at when a further one is asked about.
    pub fn reaches(&mut self, graph: &Graph, inst: Inst) -> bool {
        let insts = &graph.regions[self.region].insts;
        while self.left > 0 && insts[self.left - 1] != inst {
            self.left -= 1;
            let step = &graph.insts[insts[self.left]];
            if rules::takes_part(step.op.0) && step.results.iter().any(|v| self.wanted.contains(v)) {
                self.wanted.extend(&step.operands);
                self.wanted.extend(captures(graph, &step.regions));
            }
        }
        graph.insts[inst].results.iter().any(|v| self.wanted.contains(v))
    }
}

/// The values from outside that regions use, in the order of their first use.
pub fn captures(graph: &Graph, regions: &[Region]) -> Vec<Value> {
    let mut found = Vec::new();
    if regions.is_empty() {
        return found;
    }
    let mut inside: FxHashSet<Region> = FxHashSet::default();
    let mut used: Vec<Value> = Vec::new();
    let mut stack: Vec<Region> = regions.iter().rev().copied().collect();
    while let Some(region) = stack.pop() {
        inside.insert(region);
        for &inst in &graph.regions[region].insts {
            used.extend(&graph.insts[inst].operands);
            stack.extend(graph.insts[inst].regions.iter().rev());
        }
        used.extend(&graph.regions[region].results);
    }
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    for v in used {
        if !inside.contains(&graph.values[v].region) && seen.insert(v) {
            found.push(v);
        }
    }
    found
}

/// A reverse pass that emits into a graph.
pub(crate) struct GraphPass<'b> {
    pub(crate) builder: &'b mut Builder,
    /// How many of the open regions belong to the program that is differentiated, and not to its derivative.
    floor: usize,
    /// The instruction that owns a region, and which of its regions it is, for the regions entered.
    owners: FxHashMap<Region, (Inst, usize)>,
    /// What leaves the regions of an instruction beyond its results so far.
    slots: FxHashMap<Inst, Vec<Slot>>,
    /// The shapes and lengths of values of the program.
    shapes: FxHashMap<Value, (Attrs, Value)>,
    /// The loops through which the pass is going, by their bodies.
    pub(crate) loops: FxHashMap<Region, LoopFrame>,
}

/// A further result of an instruction with branches.
struct Slot {
    result: Value,
    /// What each branch gives for it.
    values: Vec<Option<Value>>,
}

impl<'b> GraphPass<'b> {
    /// A pass over a program in the outermost `floor` open regions whose derivative goes to those
    /// further in; 0 where program and derivative share their regions.
    pub(crate) fn new(builder: &'b mut Builder, floor: usize) -> GraphPass<'b> {
        GraphPass {
            builder,
            floor,
            owners: FxHashMap::default(),
            slots: FxHashMap::default(),
            shapes: FxHashMap::default(),
            loops: FxHashMap::default(),
        }
    }

    /// Carries cotangents back along a path; a seed is a target with its cotangent, ones where it is `None`.
    fn run(&mut self, path: Path<InstStep>, seeds: &[(Value, Option<Value>)]) -> Result<Vec<Option<Value>>> {
        let mut connected = Vec::new();
        for &(target, grad) in seeds {
            if path.reaches(target) && rules::carries(self.graph().ty(target)) {
                connected.push((target, grad.map_or_else(|| rules::ones(self, target), Ok)?));
            }
        }
        path.run(self, connected)
    }

    /// The cotangents of `sources` from those of the results of `region`.
    pub(crate) fn region(
        &mut self,
        region: Region,
        seeds: &[(Value, Option<Value>)],
        sources: &[Value],
    ) -> Result<Vec<Option<Value>>> {
        stack::check(0)?;
        let graph = self.graph();
        let targets: Vec<Value> = seeds.iter().map(|s| s.0).collect();
        let path = path(graph, graph.regions[region].insts.iter().copied(), &targets, sources, &[])?;
        self.run(path, seeds)
    }

    pub(crate) fn graph(&self) -> &Graph {
        self.builder.graph()
    }

    /// A value of the program as one that can be used at the current place.
    pub(crate) fn resolve(&mut self, value: Value) -> Result<Value> {
        let mut visible = value;
        loop {
            let region = self.graph().values[visible].region;
            if self.builder.open_regions().contains(&region) {
                break;
            }
            if let Some(constant) = self.graph().constant(visible).cloned() {
                return Ok(self.builder.constant(constant));
            }
            if self.loops.contains_key(&region) {
                visible = self.recall(region, visible)?;
                continue;
            }
            let Some(&(inst, branch)) = self.owners.get(&region) else {
                return Err(Error::internal(format!("{value} is out of reach of its derivative")));
            };
            visible = self.export(inst, branch, visible);
        }
        let ty = self.graph().ty(value).clone();
        if *self.graph().ty(visible) == ty {
            return Ok(visible);
        }
        // What leaves a branch has the shape that it has there only where that branch ran. Here it did.
        let here = self.builder.emit(&array::IDENTITY, &[visible], &[])?[0];
        self.builder.refine(here, ty.shape())?;
        Ok(here)
    }

    /// The result of `inst` that is `value` of its region `branch`.
    fn export(&mut self, inst: Inst, branch: usize, value: Value) -> Value {
        let data = &self.graph().insts[inst];
        if let Some(k) = self.graph().regions[data.regions[branch]].results.iter().position(|&r| r == value) {
            return data.results[k];
        }
        let (branches, region) = (data.regions.len(), self.graph().values[data.results[0]].region);
        // The branches that lack the value give something smaller where its size is not known.
        let ty = self.graph().ty(value);
        let ty = ty.with_shape(ty.shape().erased());
        let slots = self.slots.entry(inst).or_default();
        if let Some(slot) = slots.iter().find(|s| s.values[branch] == Some(value)) {
            return slot.result;
        }
        let graph = self.builder.graph_mut();
        if let Some(slot) = slots.iter_mut().find(|s| s.values[branch].is_none() && *graph.ty(s.result) == ty) {
            slot.values[branch] = Some(value);
            return slot.result;
        }
        let index = graph.insts[inst].results.len() as u32;
        let result = graph.values.push(ValueData { ty, def: Def::Result(inst, index), region });
        graph.insts[inst].results.push(result);
        let mut values = vec![None; branches];
        values[branch] = Some(value);
        slots.push(Slot { result, values });
        result
    }

    /// What a branch of an instruction gives for one of its results.
    pub(crate) fn of_branches(&self, inst: Inst, result: usize) -> Option<Value> {
        let data = &self.graph().insts[inst];
        let slot = self.slots.get(&inst).and_then(|slots| slots.iter().find(|s| s.result == data.results[result]));
        match slot {
            Some(slot) => slot.values.iter().flatten().next().copied(),
            None => self.graph().regions[*data.regions.first()?].results.get(result).copied(),
        }
    }

    /// Runs `f` with `region` open, and makes what it gives the results of the region.
    fn in_region(&mut self, region: Region, f: impl FnOnce(&mut Self) -> Result<SmallVec<[Value; 4]>>) -> Result<()> {
        self.builder.reopen_region(region)?;
        let results = f(self);
        self.builder.abandon_region();
        self.builder.graph_mut().regions[region].results = results?;
        Ok(())
    }

    /// Makes the branches of `inst` give what leaves them, and something of the same type where they
    /// have nothing to give: their derivative is not the one that runs then.
    fn close_slots(&mut self, inst: Inst) -> Result<()> {
        let slots = self.slots.remove(&inst).unwrap_or_default();
        for (branch, &region) in self.graph().insts[inst].regions.clone().iter().enumerate() {
            self.in_region(region, |this| {
                let mut results = this.graph().regions[region].results.clone();
                for slot in &slots {
                    results.push(slot.values[branch].map_or_else(|| this.filler(slot.result), Ok)?);
                }
                Ok(results)
            })?;
        }
        Ok(())
    }

    fn filler(&mut self, like: Value) -> Result<Value> {
        let ty = self.graph().ty(like).clone();
        if ty.dtype() == DType::Variant {
            let none = self.builder.constant(Tensor::from(0i64));
            return Ok(self.builder.emit(&list::LIST_NEW, &[none], &[])?[0]);
        }
        if ty.dtype() == DType::Resource {
            let none = Table::new(DType::Str, &[], DType::I64, &[]);
            return Ok(self.builder.constant(Tensor::from_table(none)));
        }
        if ty.shape().is_static() {
            return rules::zeros(self, like);
        }
        let dims: Vec<usize> = ty.shape().dims().unwrap_or(&[]).iter().map(|d| d.known().unwrap_or(0)).collect();
        Ok(self.builder.constant(Tensor::zeros(ty.dtype(), &dims)?))
    }

    /// The derivative of `cond` and `switch`: the same choice among the derivatives of the branches.
    fn branches(&mut self, step: &InstStep, grads: &[Option<Value>], needed: &[bool]) -> Result<Grads<Value>> {
        let data = self.graph().insts[step.inst].clone();
        let wanted: Vec<Value> = step.inputs.iter().zip(needed).filter(|(_, n)| **n).filter_map(|(v, _)| *v).collect();
        let made: Result<Vec<_>> = (data.regions.iter().enumerate())
            .map(|(branch, &region)| self.branch(step.inst, branch, region, grads, &wanted))
            .collect();
        self.close_slots(step.inst)?;
        let derivatives = made?;
        let flows: Vec<bool> = (0..wanted.len()).map(|k| derivatives.iter().any(|(_, g)| g[k].is_some())).collect();
        if !flows.contains(&true) {
            return Ok(Grads::from_elem(None, needed.len()));
        }
        for (derivative, grads) in &derivatives {
            self.in_region(*derivative, |this| {
                (wanted.iter().zip(grads).zip(&flows))
                    .filter(|(_, flows)| **flows)
                    .map(|((&v, grad), _)| grad.map_or_else(|| rules::zeros(this, v), Ok))
                    .collect()
            })?;
        }
        let operands: SmallVec<[Value; 1]> = data.operands.iter().map(|&v| self.resolve(v)).collect::<Result<_>>()?;
        let regions: SmallVec<[Region; 2]> = derivatives.iter().map(|(r, _)| *r).collect();
        let inst = self.builder.inst(data.op.0, &operands, data.attrs, &regions)?;
        let mut results = self.builder.results(inst).iter().copied();
        let mut flows = flows.into_iter();
        let given = |n: &bool| if *n && flows.next() == Some(true) { results.next() } else { None };
        Ok(needed.iter().map(given).collect())
    }

    /// The derivative of one branch as a region without results so far, with the cotangents of `wanted` in it.
    fn branch(
        &mut self,
        inst: Inst,
        branch: usize,
        region: Region,
        grads: &[Option<Value>],
        wanted: &[Value],
    ) -> Result<(Region, Vec<Option<Value>>)> {
        self.owners.insert(region, (inst, branch));
        let results = self.graph().regions[region].results.clone();
        let seeds: Vec<(Value, Option<Value>)> =
            results.iter().zip(grads).filter(|(_, g)| g.is_some()).map(|(&v, &g)| (v, g)).collect();
        let derivative = self.builder.begin_region([]);
        let found = self.region(region, &seeds, wanted);
        self.builder.abandon_region();
        Ok((derivative, found?))
    }

    /// The derivative of `call`: the callee gives what its derivative needs as well, and that is called.
    fn call(&mut self, step: &InstStep, grads: &[Option<Value>], needed: &[bool]) -> Result<Grads<Value>> {
        let data = self.graph().insts[step.inst].clone();
        let flowing: Vec<bool> = grads.iter().map(Option::is_some).collect();
        let callee = data.attrs.func(0).get()?;
        let pair = vjp_function(&callee, needed, &flowing)?;
        let forward = pair.forward(&callee);
        let Some(backward) = &pair.backward else { return Ok(Grads::from_elem(None, needed.len())) };
        let region = self.graph().values[data.results[0]].region;
        let graph = self.builder.graph_mut();
        graph.insts[step.inst].attrs.0[0] = Attr::Func(FuncRef::called(forward));
        for (index, ty) in forward.signature().results.iter().enumerate().skip(data.results.len()) {
            let ty = ty.with_shape(ty.shape().erased());
            let result = graph.values.push(ValueData { ty, def: Def::Result(step.inst, index as u32), region });
            graph.insts[step.inst].results.push(result);
        }
        let results = graph.insts[step.inst].results.clone();
        let mut operands: Vec<Value> = Vec::new();
        for residual in &pair.residuals {
            operands.push(self.resolve(match *residual {
                Residual::Input(i) => data.operands[i],
                Residual::Output(i) => results[i],
            })?);
        }
        operands.extend(grads.iter().flatten());
        // A function that is being defined, which calls itself, gives no rows.
        let rows = backward.graph().map(|_| by_rows(backward)).transpose()?;
        let called = rows.as_ref().map_or(backward, |rows| rows.function(backward));
        let attrs = Attrs(SmallVec::from_iter([Attr::Func(FuncRef::called(called))]));
        let inst = self.builder.inst(&control::CALL, &operands, attrs, &[])?;
        let results: SmallVec<[Value; 4]> = self.builder.results(inst).into();
        let mut found = Grads::new();
        for (place, &operand) in pair.grads.iter().zip(&data.operands) {
            found.push(match (*place, &rows) {
                (None, _) => None,
                (Some(k), None) => Some(results[k]),
                (Some(k), Some(rows)) => Some(match &rows.given[k] {
                    Given::Whole(i) => results[*i],
                    Given::Rows(pieces) => {
                        let pieces: Vec<(Value, Value)> =
                            pieces.iter().map(|&(v, i)| (results[v], results[i])).collect();
                        self.sum_of_rows(operand, &pieces)?
                    }
                }),
            });
        }
        Ok(found)
    }

    /// The cotangent of `like` that is zero but for rows, as instructions that [`crate::row_pieces`] knows.
    fn sum_of_rows(&mut self, like: Value, pieces: &[(Value, Value)]) -> Result<Value> {
        let like = if self.graph().ty(like).shape().is_static() { like } else { self.resolve(like)? };
        let by_rows = &[("sparse_gradient", true.into())];
        let mut sum = None;
        for &(values, indices) in pieces {
            let (op, first) = match sum {
                Some(sum) => (&gather::GATHER_ACCUMULATE, sum),
                None => (&gather::GATHER_GRAD, rules::shape(self, like)?),
            };
            sum = Some(self.builder.emit(op, &[first, indices, values], by_rows)?[0]);
        }
        sum.map_or_else(|| rules::zeros(self, like), Ok)
    }
}

impl GraphPass<'_> {
    /// The sum of two cotangents where the second is zero but for what a read of a part has put there: that is added in its
    /// place. So a loop over rows takes time linear in the rows.
    fn accumulated(&mut self, sum: Value, part: Value) -> Result<Option<Value>> {
        let Some(data) = self.graph().def_inst(part).map(|inst| self.graph().insts[inst].clone()) else {
            return Ok(None);
        };
        let mut sum = sum;
        let op = if data.op.is(&gather::GATHER_GRAD) {
            &gather::GATHER_ACCUMULATE
        } else if data.op.is(&slicing::STRIDED_SLICE_GRAD) {
            &slicing::STRIDED_SLICE_ACCUMULATE
        } else if data.op.is(&gather::GATHER_ACCUMULATE) || data.op.is(&slicing::STRIDED_SLICE_ACCUMULATE) {
            // What several reads have put there is added read by read.
            match self.accumulated(sum, data.operands[0])? {
                Some(first) => sum = first,
                None => return Ok(None),
            }
            data.op.0
        } else {
            return Ok(None);
        };
        let operands: SmallVec<[Value; 4]> = std::iter::once(sum).chain(data.operands[1..].iter().copied()).collect();
        let inst = self.builder.inst(op, &operands, data.attrs, &[])?;
        Ok(Some(self.builder.results(inst)[0]))
    }

    /// The cotangents with what the inputs' types say of their shapes: regions, callees and lists lose it.
    fn refined(&mut self, step: &InstStep, grads: Grads<Value>) -> Result<Grads<Value>> {
        for (grad, input) in grads.iter().zip(&step.inputs) {
            if let (&Some(grad), &Some(input)) = (grad, input) {
                let shape = self.graph().ty(input).shape().clone();
                self.builder.refine(grad, &shape)?;
            }
        }
        Ok(grads)
    }
}

impl Pass<InstStep> for GraphPass<'_> {
    type Grad = Value;

    fn differentiate(&mut self, step: &InstStep, grads: Grads<Value>, needed: &[bool]) -> Result<Grads<Value>> {
        let loc = self.graph().locs[step.inst];
        self.builder.set_loc(loc);
        let op = self.graph().insts[step.inst].op.0;
        if op.is(&control::COND) || op.is(&control::SWITCH) {
            self.branches(step, &grads, needed).and_then(|found| self.refined(step, found))
        } else if op.is(&control::CALL) {
            self.call(step, &grads, needed).and_then(|found| self.refined(step, found))
        } else if op.is(&control::WHILE) {
            self.repeat(step, &grads, needed).and_then(|found| self.refined(step, found))
        } else {
            let data = self.graph().insts[step.inst].clone();
            let found = rules::apply(self, op, &data.attrs, &data.operands, &data.results, &grads, needed);
            if data.results.iter().chain(&data.operands).any(|&v| self.graph().ty(v).dtype() == DType::Variant) {
                found.and_then(|found| self.refined(step, found))
            } else {
                found
            }
        }
        .map_err(|e| e.in_op(op.name).at(loc))
    }

    fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        if let Some(sum) = self.accumulated(*a, *b)? {
            return Ok(sum);
        }
        match self.accumulated(*b, *a)? {
            Some(sum) => Ok(sum),
            None => {
                let sum = rules::add(self, *a, *b)?;
                // Cotangents of one value have one shape.
                if let Some(shape) = self.graph().ty(*a).shape().merge(self.graph().ty(*b).shape()) {
                    self.builder.refine(sum, &shape)?;
                }
                Ok(sum)
            }
        }
    }
}

impl Emitter for GraphPass<'_> {
    fn emit_attrs(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs) -> Result<SmallVec<[Value; 1]>> {
        if let &[value] = operands
            && (op.is(&array::SHAPE) || op.is(&list::LIST_LENGTH))
            && !self.builder.open_regions()[self.floor..].contains(&self.graph().values[value].region)
        {
            return self.shape_of(op, value, attrs);
        }
        let operands: SmallVec<[Value; 3]> = operands.iter().map(|&v| self.resolve(v)).collect::<Result<_>>()?;
        self.builder.emit_attrs(op, &operands, attrs)
    }

    fn constant(&mut self, value: Tensor) -> Result<Value> {
        Ok(self.builder.constant(value))
    }

    fn type_of(&self, value: Value) -> Type {
        self.graph().ty(value).clone()
    }

    fn known(&self, value: Value) -> Option<Tensor> {
        self.graph().constant(value).cloned()
    }
}

impl GraphPass<'_> {
    /// Where a size of this name stands among the shapes of the inputs.
    fn size_named(&self, symbol: Symbol) -> Option<(Value, usize)> {
        let graph = self.graph();
        graph.inputs().iter().filter(|&&v| !graph.ty(v).is_variable()).find_map(|&v| {
            let at = graph.ty(v).shape().dims()?.iter().position(|&d| d == Dim::Sym(symbol))?;
            Some((v, at))
        })
    }

    /// Whether the inputs tell all sizes of values of a type.
    pub(crate) fn has_extents(&self, ty: &Type) -> bool {
        let told = |d: &Dim| match *d {
            Dim::Known(_) => true,
            Dim::Sym(symbol) => self.size_named(symbol).is_some(),
            Dim::Unknown => false,
        };
        ty.shape().dims().is_some_and(|dims| dims.iter().all(told))
    }

    /// The numbers of `first` and the extents of a type for which [`GraphPass::has_extents`] holds, as an `i64` vector.
    pub(crate) fn extents(&mut self, ty: &Type, first: &[i64]) -> Result<Value> {
        let mut known: Vec<i64> = first.to_vec();
        let mut parts: Vec<Value> = Vec::new();
        for dim in ty.shape().dims().unwrap_or(&[]) {
            match *dim {
                Dim::Known(n) => known.push(n as i64),
                Dim::Sym(symbol) => {
                    if !known.is_empty() {
                        parts.push(self.builder.constant(Tensor::vector(&std::mem::take(&mut known))));
                    }
                    let (input, at) = self.size_named(symbol).ok_or_else(|| Error::internal("no input has a size"))?;
                    let shape = rules::shape(self, input)?;
                    let at = self.builder.constant(Tensor::vector(&[at as i64]));
                    let one = self.builder.constant(Tensor::vector(&[1i64]));
                    parts.push(self.builder.emit(&slicing::SLICE, &[shape, at, one], &[])?[0]);
                }
                Dim::Unknown => return Err(Error::internal("a size is not known")),
            }
        }
        if !known.is_empty() || parts.is_empty() {
            parts.push(self.builder.constant(Tensor::vector(&known)));
        }
        match parts[..] {
            [single] => Ok(single),
            _ => Ok(self.builder.emit(&joining::CONCAT, &parts, &[("axis", 0i64.into())])?[0]),
        }
    }

    /// The shape of a value of the program, or the length of a list, is taken there, so that only that has to be kept. For a
    /// value of a loop whose sizes the inputs tell, nothing has to.
    fn shape_of(&mut self, op: &'static OpDef, value: Value, attrs: Attrs) -> Result<SmallVec<[Value; 1]>> {
        let ty = self.graph().ty(value).clone();
        if op.is(&array::SHAPE) && self.loops.contains_key(&self.graph().values[value].region) && self.has_extents(&ty)
        {
            let extents = self.extents(&ty, &[])?;
            return Ok(SmallVec::from_iter([self.as_int(extents, attrs.dtype(0))?]));
        }
        let found = self.shapes.get(&value).filter(|(a, _)| *a == attrs).map(|(_, shape)| *shape);
        let shape = match found {
            Some(shape) => shape,
            None => {
                let region = self.graph().values[value].region;
                self.builder.reopen_region(region)?;
                let made = self.builder.emit_attrs(op, &[value], attrs.clone());
                self.builder.abandon_region();
                let shape = made?[0];
                if op.is(&list::LIST_LENGTH) {
                    // At the end of the region it would keep the list alive over what changes it.
                    let def = self.graph().def_inst(value);
                    let insts = &mut self.builder.graph_mut().regions[region].insts;
                    let at = def.and_then(|def| insts.iter().rposition(|&i| i == def)).map_or(0, |i| i + 1);
                    insts[at..].rotate_right(1);
                }
                self.shapes.insert(value, (attrs, shape));
                shape
            }
        };
        self.resolve(shape).map(|v| SmallVec::from_iter([v]))
    }
}
