//! Batching: a function of one example becomes a function of many, which lie along a leading axis.
//!
//! A value of the source is *mapped* where it differs between examples; what it becomes then has the
//! leading axis. An instruction of which nothing is mapped is copied. Others go by the rule of their
//! operator ([`rules`], [`lists`]), control flow is transformed ([`control`]), and what has no rule, or none that
//! fits, is repeated for each example by a loop. A list that is mapped has the leading axis in each element. The tests hold every operator against that meaning:
//! the results of the examples one by one, stacked.

mod control;
mod repeat;
mod rules;
mod sizes;

use std::cell::RefCell;
use std::sync::Arc;

use penstock_data::{Class, DType, Dim, Error, Result, Symbol, Tensor};
use penstock_ir::{
    Attr, Attrs, Builder, Counter, Derived, Emitter, Example, Examples, FuncRef, Function, Graph, Inst, Kept, OpDef,
    Region, Type, Value, Verified, effects_of, stack, with_lead,
};
use penstock_ops::{array, shape_ops, slicing};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::captures;

/// A function mapped over a leading axis.
pub struct Batched {
    /// Takes the inputs, those that are mapped with the axis.
    pub function: Arc<Function>,
    /// Which outputs have the axis; the others are the same for every example.
    pub outputs: Vec<bool>,
}

type Cache = Kept<(Vec<bool>, bool), Batched>;

impl Derived for Batched {
    fn count(&self, census: &mut dyn Counter) -> bool {
        census.function(&self.function)
    }
}

thread_local! {
    /// The functions that this thread is mapping.
    static UNDERWAY: RefCell<Vec<*const Function>> = const { RefCell::new(Vec::new()) };
}

/// Maps a function over the leading axis of the inputs that are `mapped`, whose sizes must be equal.
///
/// Made once for each function and `mapped`.
///
/// # Errors
/// `InvalidArgument` for a mapped variable, `Unimplemented` for a function that writes variables: the
/// examples would have to run one after the other.
pub fn batch_function(function: &Arc<Function>, mapped: &[bool]) -> Result<Arc<Batched>> {
    cached(function, mapped, false)
}

/// As [`batch_function`], by a loop over the examples in order.
///
/// # Errors
/// `InvalidArgument` for a mapped variable.
pub fn batch_by_loop(function: &Arc<Function>, mapped: &[bool]) -> Result<Arc<Batched>> {
    cached(function, mapped, true)
}

fn cached(function: &Arc<Function>, mapped: &[bool], in_turn: bool) -> Result<Arc<Batched>> {
    let params = &function.signature().params;
    if mapped.len() != params.len() || params.iter().zip(mapped).any(|(ty, m)| *m && ty.is_variable()) {
        return Err(Error::invalid("the mapped inputs must be tensors of the function"));
    }
    if !mapped.contains(&true) {
        let outputs = vec![false; function.signature().results.len()];
        return Ok(Arc::new(Batched { function: function.clone(), outputs }));
    }
    stack::check(function.graph().map_or(0, |graph| graph.depth()))?;
    let cache: Arc<Cache> = function.derive(|_| Ok::<Cache, Error>(Cache::default()))?;
    let key = (mapped.to_vec(), in_turn);
    if let Some(made) = cache.get(&key) {
        return Ok(made);
    }
    let this = Arc::as_ptr(function);
    if UNDERWAY.with_borrow(|list| list.contains(&this)) {
        return Err(Error::unimplemented(format!("the function {} calls itself", function.name())));
    }
    let made = if in_turn {
        // Of a copy, since the function keeps what is made here.
        let Some(graph) = function.graph() else {
            return Err(Error::unimplemented(format!("the function {} is not finished yet", function.name())));
        };
        let graph = call_of(&Arc::new(Function::new(function.name(), graph.clone())))?;
        batch(&graph, &format!("{}.each", function.name()), mapped, true)?
    } else {
        let Some(graph) = function.graph() else {
            return Err(Error::unimplemented(format!("the function {} is not finished yet", function.name())));
        };
        UNDERWAY.with_borrow_mut(|list| list.push(this));
        let made = batch(graph, &format!("{}.batched", function.name()), mapped, false);
        UNDERWAY.with_borrow_mut(Vec::pop);
        made?
    };
    Ok(cache.keep(key, Arc::new(made)))
}

/// A graph that calls a function.
fn call_of(function: &Arc<Function>) -> Result<Verified> {
    let mut b = Builder::new(&penstock_ops::control::CONST);
    let inputs: Vec<Value> = function.signature().params.iter().map(|ty| b.input(ty.clone(), None)).collect();
    let attrs = Attrs(SmallVec::from_iter([Attr::Func(FuncRef::called(function))]));
    let inst = b.inst(&penstock_ops::control::CALL, &inputs, attrs, &[])?;
    let outputs = b.results(inst).to_vec();
    b.finish(&outputs)
}

fn batch(source: &Graph, name: &str, mapped: &[bool], in_turn: bool) -> Result<Batched> {
    let mut b = Builder::new(&penstock_ops::control::CONST);
    let lead = Dim::Sym(fresh_symbol(source));
    let mut map = FxHashMap::default();
    let mut set = FxHashSet::default();
    let mut first = None;
    for (&v, &m) in source.inputs().iter().zip(mapped) {
        let ty = source.ty(v);
        if m {
            check_mapped(ty)?;
        }
        let ty = if m { with_lead(ty, lead) } else { ty.clone() };
        let input = b.input(ty, source.names.get(&v).map(AsRef::as_ref));
        map.insert(v, input);
        if m {
            set.insert(v);
            if !is_list(source.ty(v)) {
                first.get_or_insert(input);
            }
        }
    }
    // Lists do not tell how many examples there are.
    let first = first.ok_or_else(|| Error::unimplemented("only lists differ between the examples"))?;
    let emit: &mut dyn Emitter = &mut b;
    let shape = emit.emit(&array::SHAPE, &[first], &[("dtype", DType::I64.into())])?;
    let [zero, one] = [0i64, 1].map(|n| Tensor::vector(&[n]));
    let operands = [shape, emit.constant(zero)?, emit.constant(one)?];
    let extent = emit.emit(&slicing::SLICE, &operands, &[])?;
    let none = emit.constant(Tensor::vector::<i64>(&[]))?;
    let count = emit.emit(&shape_ops::RESHAPE, &[extent, none], &[])?;
    let mut batcher = Batcher { source, b, map, mapped: set, lead, extent, count, in_turn };
    batcher.region(source.body())?;
    let Batcher { b, map, mapped, .. } = batcher;
    let outputs: Vec<Value> = source.outputs().iter().map(|v| map[v]).collect();
    let has = source.outputs().iter().map(|v| mapped.contains(v)).collect();
    #[expect(unsafe_code, reason = "the results of branches are set once it is known which differ")]
    // SAFETY: all is added by the builder; a branch was opened again and got its results before an instruction took it.
    let graph = unsafe { b.finish_trusted(&outputs, "batching")? };
    let function = Function::new(name, graph.compact());
    Ok(Batched { function: Arc::new(function), outputs: has })
}

/// A symbol that no type of the graph names.
fn fresh_symbol(graph: &Graph) -> Symbol {
    let dims = graph.values.keys().flat_map(|v| graph.ty(v).shape().dims().unwrap_or(&[]));
    Symbol(dims.map(|d| if let Dim::Sym(Symbol(s)) = d { s + 1 } else { 0 }).max().unwrap_or(0))
}

/// Whether values of this type are lists.
fn is_list(ty: &Type) -> bool {
    ty.dtype() == DType::Variant
}

/// Checks that values of this type can differ between the examples: one table for each has no form.
fn check_mapped(ty: &Type) -> Result<()> {
    if ty.dtype() == DType::Resource {
        return Err(Error::unimplemented("a table cannot differ between the examples"));
    }
    Ok(())
}

/// What an instruction became: its results, all mapped.
type Outs = SmallVec<[Value; 1]>;

/// A graph that is copied for many examples.
struct Batcher<'g> {
    source: &'g Graph,
    b: Builder,
    /// What the values of the source became.
    map: FxHashMap<Value, Value>,
    /// The values of the source that are mapped.
    mapped: FxHashSet<Value>,
    /// The size of the leading axis in types.
    lead: Dim,
    /// The number of examples, as an `i64` vector of one element.
    extent: Value,
    /// The number of examples, as an `i64` scalar.
    count: Value,
    /// Whether every instruction is repeated for each example.
    in_turn: bool,
}

impl Batcher<'_> {
    fn region(&mut self, region: Region) -> Result<()> {
        stack::check(0)?;
        let source = self.source;
        source.regions[region].insts.iter().try_for_each(|&inst| self.inst(inst))
    }

    fn inst(&mut self, inst: Inst) -> Result<()> {
        let source = self.source;
        let data = &source.insts[inst];
        let (op, effects) = (data.op.0, effects_of(source, inst));
        let touched = self.used(inst).iter().any(|v| self.mapped.contains(v));
        if !touched && !effects.random {
            return self.b.copy_inst(source, inst, &mut self.map).map(|_| ());
        }
        let outer = self.b.loc();
        self.b.set_loc(source.locs[inst]);
        let made = self.transform(inst, !effects.writes.is_empty());
        self.b.set_loc(outer);
        made.map_err(|e| e.in_op(op.name).at(source.locs[inst]))
    }

    fn transform(&mut self, inst: Inst, writes: bool) -> Result<()> {
        if self.in_turn {
            return self.repeat(inst);
        }
        if writes {
            return Err(Error::unimplemented("writes a variable, which examples do one after the other"));
        }
        let depth = self.b.open_regions().len();
        let made = match self.structured(inst) {
            Ok(true) => return Ok(()),
            Ok(false) => self.rule(inst),
            Err(e) => Err(e),
        };
        match made {
            Ok(Some(outs)) => self.note(inst, &outs),
            Ok(None) => self.repeat(inst),
            Err(e) if e.class() == Class::Unimplemented => {
                // A part of it has no form for all examples at once.
                while self.b.open_regions().len() > depth {
                    self.b.abandon_region();
                }
                self.repeat(inst).map_err(|_| e)
            }
            Err(e) => Err(e),
        }
    }

    /// What an instruction uses: its operands, and what its regions take from around it.
    fn used(&self, inst: Inst) -> Vec<Value> {
        let data = &self.source.insts[inst];
        data.operands.iter().copied().chain(captures(self.source, &data.regions)).collect()
    }

    /// Notes the results of an instruction, which are mapped.
    fn note(&mut self, inst: Inst, outs: &[Value]) -> Result<()> {
        for (&value, &out) in self.source.insts[inst].results.iter().zip(outs) {
            self.set(value, out, true)?;
        }
        Ok(())
    }

    /// Notes what a value became. All that is known of its shape is true of each example's.
    fn set(&mut self, value: Value, out: Value, mapped: bool) -> Result<()> {
        let ty = self.source.ty(value);
        if mapped {
            check_mapped(ty)?;
        }
        let shape = if mapped { with_lead(ty, self.lead).shape().clone() } else { ty.shape().clone() };
        self.b.refine(out, &shape)?;
        self.map.insert(value, out);
        if mapped {
            self.mapped.insert(value);
        }
        if let Some(name) = self.source.names.get(&value) {
            self.b.name(out, name);
        }
        Ok(())
    }

    fn is_mapped(&self, value: Value) -> bool {
        self.mapped.contains(&value)
    }

    /// The rank of a value of the source.
    fn rank(&self, value: Value) -> Option<usize> {
        self.source.ty(value).shape().rank()
    }

    fn emit(&mut self, op: &'static OpDef, operands: &[Value], named: &[(&str, Attr)]) -> Result<Value> {
        Ok(self.b.emit(op, operands, named)?[0])
    }

    fn ints(&mut self, values: &[i64]) -> Value {
        self.b.constant(Tensor::vector(values))
    }

    /// The graph of all examples, for a rule.
    fn examples(&mut self) -> Examples<'_> {
        let Batcher { lead, extent, count, .. } = *self;
        Examples { emit: &mut self.b, ops: &penstock_ops::RULE_OPS, lead, extent, count }
    }

    /// What a value became.
    fn became(&self, value: Value) -> Example {
        Example { value: self.map[&value], mapped: self.is_mapped(value), ty: self.source.ty(value).clone() }
    }

    /// A vector of extents with the number of examples before it.
    fn leading(&mut self, extents: Value) -> Result<Value> {
        self.examples().leading(extents)
    }

    /// The extents of a value of the new graph as an `i64` vector.
    fn extents(&mut self, value: Value) -> Result<Value> {
        self.examples().extents(value)
    }

    /// What a value became, with the leading axis in any case.
    fn full(&mut self, value: Value) -> Result<Value> {
        let example = self.became(value);
        self.examples().full(&example)
    }

    /// What a value became, for broadcasting with values whose examples have rank `rank`: dimensions of
    /// size 1 stand between the leading axis and the others where it has fewer.
    fn aligned(&mut self, value: Value, rank: usize) -> Result<Option<Value>> {
        let example = self.became(value);
        self.examples().aligned(&example, rank)
    }
}
