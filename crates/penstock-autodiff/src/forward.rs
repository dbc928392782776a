//! Forward mode of whole functions: a function that also carries tangents along.

use std::cell::RefCell;
use std::sync::Arc;

use penstock_data::{Error, Result};
use penstock_ir::{
    Attr, Attrs, Builder, Counter, Derived, FuncRef, Function, Graph, Inst, Kept, Region, Signature, Type, Value,
    Verified, stack,
};
use penstock_ops::control;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::captures;
use crate::jvp::jvp;
use crate::rules;

/// A function and its derivative along tangents of some inputs.
pub struct JvpFunction {
    /// Takes the inputs, then a tangent for each input that has one; gives the outputs, then the tangents of outputs.
    pub function: Arc<Function>,
    /// Which inputs of the original have a tangent among the inputs of `function`.
    pub inputs: Vec<bool>,
    /// For each output of the original, which output of `function` is its tangent; `None` where it is zero.
    pub tangents: Vec<Option<usize>>,
}

type Cache = Kept<Vec<bool>, JvpFunction>;

impl Derived for JvpFunction {
    fn count(&self, census: &mut dyn Counter) -> bool {
        census.function(&self.function)
    }
}

/// A function under way, with the declaration of its result, once it has called itself.
struct Underway {
    source: *const Function,
    active: Vec<bool>,
    declared: Option<Arc<JvpFunction>>,
}

thread_local! {
    static UNDERWAY: RefCell<Vec<Underway>> = const { RefCell::new(Vec::new()) };
}

/// The forward-mode derivative of a function: `active` says which inputs have tangents. Inputs whose
/// dtype carries none are left out of account.
///
/// Loops carry tangents as further loop variables, branches give them as further results. Made once
/// for each function and `active`.
///
/// # Errors
/// `NotFound` for an operator without derivative on the way.
pub fn jvp_function(function: &Arc<Function>, active: &[bool]) -> Result<Arc<JvpFunction>> {
    let signature = function.signature();
    if active.len() != signature.params.len() {
        return Err(Error::internal("the flags do not fit the function"));
    }
    let active: Vec<bool> = active.iter().zip(&signature.params).map(|(a, ty)| *a && rules::carries(ty)).collect();
    let cache: Arc<Cache> = function.derive(|_| Ok::<Cache, Error>(Cache::default()))?;
    if let Some(made) = cache.get(&active) {
        return Ok(made);
    }
    let source = Arc::as_ptr(function);
    let recursive = UNDERWAY.with_borrow_mut(|list| {
        let entry = list.iter_mut().find(|u| u.source == source && u.active == active)?;
        Some(entry.declared.get_or_insert_with(|| Arc::new(declare(function, &active))).clone())
    });
    if let Some(declared) = recursive {
        return Ok(declared);
    }
    stack::check(function.graph().map_or(0, |graph| graph.depth()))?;
    UNDERWAY.with_borrow_mut(|list| list.push(Underway { source, active: active.clone(), declared: None }));
    let made = build(function, &active);
    let declared = UNDERWAY.with_borrow_mut(Vec::pop).and_then(|u| u.declared);
    let (mut forward, tangents) = made?;
    let made = match declared {
        None => {
            let graph = forward.finish(&tangents)?;
            let place = places(signature.results.len(), &tangents);
            let function = Function::new(format!("{}.jvp", function.name()), graph);
            Arc::new(JvpFunction { function: Arc::new(function), inputs: active.clone(), tangents: place })
        }
        Some(declared) => {
            let all: Vec<bool> = declared.tangents.iter().map(Option::is_some).collect();
            let full = forward.instantiate(&tangents, &all)?;
            let graph = forward.finish(&full)?;
            declared.function.define(graph)?;
            declared
        }
    };
    Ok(cache.keep(active, made))
}

/// What a function that calls itself becomes: every output that can has a tangent.
fn declare(function: &Function, active: &[bool]) -> JvpFunction {
    let Signature { mut params, mut results } = function.signature().clone();
    let more: Vec<Type> = params.iter().zip(active).filter(|(_, a)| **a).map(|(ty, _)| tangent_type(ty)).collect();
    params.extend(more);
    let carries: Vec<bool> = results.iter().map(rules::carries).collect();
    let mut next = results.len()..;
    let tangents = carries.iter().map(|c| if *c { next.next() } else { None }).collect();
    let more: Vec<Type> = results.iter().zip(&carries).filter(|(_, c)| **c).map(|(ty, _)| ty.clone()).collect();
    results.extend(more);
    let function = Function::declare(format!("{}.jvp", function.name()), Signature { params, results });
    JvpFunction { function: Arc::new(function), inputs: active.to_vec(), tangents }
}

fn places(outputs: usize, tangents: &[Option<Value>]) -> Vec<Option<usize>> {
    let mut next = outputs..;
    tangents.iter().map(|t| if t.is_some() { next.next() } else { None }).collect()
}

/// The tangent of a variable is that of its value.
fn tangent_type(ty: &Type) -> Type {
    Type::tensor(ty.dtype(), ty.shape().clone())
}

type Tangents = Vec<Option<Value>>;

fn build<'g>(function: &'g Arc<Function>, active: &[bool]) -> Result<(Forward<'g>, Tangents)> {
    let Some(graph) = function.graph() else {
        return Err(Error::unimplemented(format!("the function {} is not finished yet", function.name())));
    };
    let mut builder = Builder::new(&control::CONST);
    let mut map = FxHashMap::default();
    for &v in graph.inputs() {
        let name = graph.names.get(&v).map(AsRef::as_ref);
        map.insert(v, builder.input(graph.ty(v).clone(), name));
    }
    let mut tangents = FxHashMap::default();
    for (&v, _) in graph.inputs().iter().zip(active).filter(|(_, a)| **a) {
        tangents.insert(v, builder.input(tangent_type(graph.ty(v)), None));
    }
    let mut forward = Forward { source: graph, builder, map, tangents };
    forward.region(graph.body())?;
    let tangents = graph.outputs().iter().map(|v| forward.tangents.get(v).copied()).collect();
    Ok((forward, tangents))
}

/// A graph that is copied with tangents.
struct Forward<'g> {
    source: &'g Graph,
    builder: Builder,
    /// What the values of the source became.
    map: FxHashMap<Value, Value>,
    /// The tangents of values of the source.
    tangents: FxHashMap<Value, Value>,
}

impl Forward<'_> {
    fn finish(self, tangents: &[Option<Value>]) -> Result<Verified> {
        let outputs: Vec<Value> =
            self.source.outputs().iter().map(|v| self.map[v]).chain(tangents.iter().flatten().copied()).collect();
        #[expect(unsafe_code, reason = "the results of branches are set once their tangents are known")]
        // SAFETY: all is added by the builder; a branch was opened again and got its results before an instruction took it.
        let graph = unsafe { self.builder.finish_trusted(&outputs, "forward mode")? };
        Ok(graph.compact())
    }

    /// Zeros for the outputs that have to have a tangent and lack one.
    fn instantiate(&mut self, tangents: &[Option<Value>], all: &[bool]) -> Result<Tangents> {
        let outputs = self.source.outputs().to_vec();
        let full = tangents.iter().zip(all).zip(outputs);
        full.map(|((t, due), v)| match (t, due) {
            (None, true) => rules::zeros(&mut self.builder, self.map[&v]).map(Some),
            _ => Ok(*t),
        })
        .collect()
    }

    fn region(&mut self, region: Region) -> Result<()> {
        stack::check(0)?;
        let source = self.source;
        source.regions[region].insts.iter().try_for_each(|&inst| self.inst(inst))
    }

    fn inst(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        let touched =
            data.operands.iter().chain(&captures(source, &data.regions)).any(|v| self.tangents.contains_key(v));
        if !touched {
            return self.builder.copy_inst(source, inst, &mut self.map).map(|_| ());
        }
        let outer = self.builder.loc();
        self.builder.set_loc(source.locs[inst]);
        let op = data.op.0;
        let made = if op.is(&control::COND) || op.is(&control::SWITCH) {
            self.branches(inst)
        } else if op.is(&control::WHILE) {
            self.repeat(inst)
        } else if op.is(&control::CALL) {
            self.call(inst)
        } else {
            self.plain(inst)
        };
        self.builder.set_loc(outer);
        made.map_err(|e| e.in_op(op.name).at(source.locs[inst]))
    }

    fn plain(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let copy = self.builder.copy_inst(source, inst, &mut self.map)?;
        let data = self.builder.graph().insts[copy].clone();
        let tangents: SmallVec<[Option<Value>; 4]> =
            source.insts[inst].operands.iter().map(|v| self.tangents.get(v).copied()).collect();
        let found = jvp(&mut self.builder, data.op.0, &data.attrs, &data.operands, &data.results, &tangents)?;
        for (&result, tangent) in source.insts[inst].results.iter().zip(found) {
            self.set(result, tangent)?;
        }
        Ok(())
    }

    /// Notes the tangent of a value of the source; all that is known of the value's shape is true of it.
    fn set(&mut self, value: Value, tangent: Option<Value>) -> Result<()> {
        if let Some(tangent) = tangent {
            let shape = self.builder.graph().ty(self.map[&value]).shape().clone();
            self.builder.refine(tangent, &shape)?;
            self.tangents.insert(value, tangent);
        }
        Ok(())
    }

    fn operands(&self, inst: Inst) -> SmallVec<[Value; 4]> {
        self.source.insts[inst].operands.iter().map(|v| self.map[v]).collect()
    }

    /// Notes the results of a transformed instruction: those of the source, then the tangents of those that have one.
    fn results(&mut self, inst: Inst, made: Inst, has: &[bool]) -> Result<()> {
        let results = self.builder.results(made).to_vec();
        let old = &self.source.insts[inst].results;
        let mut tangents = results[old.len()..].iter();
        for (&value, &new) in old.iter().zip(&results) {
            self.map.insert(value, new);
            // What was known beyond inference holds here too: loops may rely on it.
            self.builder.refine(new, self.source.ty(value).shape())?;
            if let Some(name) = self.source.names.get(&value) {
                self.builder.name(new, name);
            }
        }
        for (&value, _) in old.iter().zip(has).filter(|(_, has)| **has) {
            self.set(value, tangents.next().copied())?;
        }
        Ok(())
    }

    fn call(&mut self, inst: Inst) -> Result<()> {
        let data = &self.source.insts[inst];
        let tangents: Vec<Option<Value>> = data.operands.iter().map(|v| self.tangents.get(v).copied()).collect();
        let active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let callee = jvp_function(&data.attrs.func(0).get()?, &active)?;
        let mut operands = self.operands(inst);
        operands.extend(tangents.into_iter().flatten());
        let attrs = Attrs(SmallVec::from_iter([Attr::Func(FuncRef::called(&callee.function))]));
        let made = self.builder.inst(&control::CALL, &operands, attrs, &[])?;
        let has: Vec<bool> = callee.tangents.iter().map(Option::is_some).collect();
        self.results(inst, made, &has)
    }

    /// `cond` and `switch`: a result has a tangent where it has one in some branch.
    fn branches(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        let mut made: Vec<(Region, Region, Vec<Option<Value>>)> = Vec::new();
        for &region in &data.regions {
            let copy = self.builder.begin_region([]);
            let done = self.region(region);
            self.builder.abandon_region();
            done?;
            let results = &source.regions[region].results;
            made.push((region, copy, results.iter().map(|v| self.tangents.get(v).copied()).collect()));
        }
        let has: Vec<bool> = (0..data.results.len()).map(|k| made.iter().any(|(.., t)| t[k].is_some())).collect();
        let mut regions: SmallVec<[Region; 2]> = SmallVec::new();
        for (region, copy, tangents) in made {
            self.builder.reopen_region(copy)?;
            let results: Vec<Value> = source.regions[region].results.clone().into_vec();
            let done = self.closed(&results, &tangents, &has);
            self.builder.abandon_region();
            self.builder.graph_mut().regions[copy].results = done?;
            regions.push(copy);
        }
        let operands = self.operands(inst);
        let made = self.builder.inst(data.op.0, &operands, data.attrs.clone(), &regions)?;
        self.results(inst, made, &has)
    }

    /// The results of a region, followed by the tangents of those that have to have one.
    fn closed(&mut self, results: &[Value], tangents: &[Option<Value>], has: &[bool]) -> Result<SmallVec<[Value; 4]>> {
        let mut all: SmallVec<[Value; 4]> = results.iter().map(|v| self.map[v]).collect();
        for ((value, tangent), _) in results.iter().zip(tangents).zip(has).filter(|(_, has)| **has) {
            all.push(match tangent {
                Some(tangent) => *tangent,
                None => rules::zeros(&mut self.builder, self.map[value])?,
            });
        }
        Ok(all)
    }

    /// `while`: the tangents of loop variables are loop variables.
    fn repeat(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        let [test, body] = data.regions[..] else { return Err(Error::internal("a loop has two regions")) };
        let outside: FxHashSet<Value> = self.tangents.keys().copied().collect();
        let start: Vec<bool> = data.operands.iter().map(|v| outside.contains(v)).collect();
        let has = loop_activity(source, body, start, &outside)?;
        let types: Vec<Type> = self.loop_types(inst, &has);
        let n = has.len();
        let mut regions: SmallVec<[Region; 2]> = SmallVec::new();
        for region in [test, body] {
            let copy = self.builder.begin_region(types.iter().cloned());
            let params = self.builder.params(copy);
            let old = source.regions[region].params.clone();
            for (&p, &new) in old.iter().zip(&params) {
                self.map.insert(p, new);
            }
            for ((&p, _), &tangent) in old.iter().zip(&has).filter(|(_, has)| **has).zip(&params[n..]) {
                self.tangents.insert(p, tangent);
            }
            let done = self.region(region).and_then(|()| {
                let results = source.regions[region].results.to_vec();
                let tangents: Vec<Option<Value>> = results.iter().map(|v| self.tangents.get(v).copied()).collect();
                self.closed(&results, &tangents, if region == test { &[] } else { &has })
            });
            match done.and_then(|results| self.builder.end_region(&results)) {
                Ok(region) => regions.push(region),
                Err(e) => {
                    self.builder.abandon_region();
                    return Err(e);
                }
            }
        }
        let mut operands = self.operands(inst);
        for (v, _) in data.operands.iter().zip(&has).filter(|(_, has)| **has) {
            operands.push(match self.tangents.get(v) {
                Some(tangent) => *tangent,
                None => rules::zeros(&mut self.builder, self.map[v])?,
            });
        }
        let made = self.builder.inst(data.op.0, &operands, data.attrs.clone(), &regions)?;
        self.results(inst, made, &has)
    }

    fn loop_types(&self, inst: Inst, has: &[bool]) -> Vec<Type> {
        let body = self.source.insts[inst].regions[1];
        let params: Vec<Type> = self.source.regions[body].params.iter().map(|&p| self.source.ty(p).clone()).collect();
        let more: Vec<Type> = params.iter().zip(has).filter(|(_, has)| **has).map(|(ty, _)| ty.clone()).collect();
        params.into_iter().chain(more).collect()
    }
}

/// Which loop variables come to have a tangent, where those of `start` have one at first.
fn loop_activity(graph: &Graph, body: Region, start: Vec<bool>, outside: &FxHashSet<Value>) -> Result<Vec<bool>> {
    spread(graph, body, start, &mut outside.clone())
}

/// The same, where `active` has what was found so far, of this loop as well: it only grows, so that a loop in loops is not
/// gone through anew for each of their iterations.
fn spread(graph: &Graph, body: Region, start: Vec<bool>, active: &mut FxHashSet<Value>) -> Result<Vec<bool>> {
    let params = &graph.regions[body].params;
    let mut has: Vec<bool> = start.iter().zip(params).map(|(has, p)| *has || active.contains(p)).collect();
    loop {
        active.extend(params.iter().zip(&has).filter(|(_, has)| **has).map(|(p, _)| *p));
        mark(graph, body, active)?;
        let after: Vec<bool> = (graph.regions[body].results.iter().zip(&has))
            .map(|(v, before)| *before || (active.contains(v) && rules::carries(graph.ty(*v))))
            .collect();
        if after == has {
            return Ok(has);
        }
        has = after;
    }
}

/// Adds the values of a region that can have a tangent where those in `active` have one.
fn mark(graph: &Graph, region: Region, active: &mut FxHashSet<Value>) -> Result<()> {
    stack::check(0)?;
    for &inst in &graph.regions[region].insts {
        let data = &graph.insts[inst];
        let op = data.op.0;
        if op.is(&control::COND) || op.is(&control::SWITCH) {
            for &branch in &data.regions {
                mark(graph, branch, active)?;
                let results = data.results.iter().zip(&graph.regions[branch].results);
                let found: Vec<Value> = results.filter(|(_, v)| active.contains(v)).map(|(r, _)| *r).collect();
                active.extend(found);
            }
            continue;
        }
        if op.is(&control::WHILE) {
            let start = data.operands.iter().map(|v| active.contains(v)).collect();
            let has = spread(graph, data.regions[1], start, active)?;
            active.extend(data.results.iter().zip(has).filter(|(_, has)| *has).map(|(r, _)| *r));
            continue;
        }
        if op.is(&control::CALL) {
            let inputs: Vec<bool> = data.operands.iter().map(|v| active.contains(v)).collect();
            if inputs.contains(&true) {
                let callee = jvp_function(&data.attrs.func(0).get()?, &inputs)?;
                active.extend(data.results.iter().zip(&callee.tangents).filter(|(_, t)| t.is_some()).map(|(r, _)| *r));
            }
            continue;
        }
        if rules::takes_part(op) && data.operands.iter().any(|v| active.contains(v)) {
            active.extend(data.results.iter().filter(|r| rules::carries(graph.ty(**r))));
        }
    }
    Ok(())
}
