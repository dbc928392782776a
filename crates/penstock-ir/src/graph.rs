//! The graph: instructions, values and regions in arenas.

use std::any::{Any, TypeId};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use penstock_data::{Error, Loc, Result, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::attr::{Attr, Attrs, FuncRef};
use crate::entities::{Arena, Inst, Region, Value};
use crate::op::{OpDef, Signature};
use crate::types::Type;

/// An instruction: an operator applied to operands.
#[derive(Clone, PartialEq, Debug)]
pub struct InstData {
    /// The operator.
    pub op: OpRef,
    /// The operands.
    pub operands: SmallVec<[Value; 3]>,
    /// The attributes, complete and in the order of the declaration.
    pub attrs: Attrs,
    /// The regions that it owns.
    pub regions: SmallVec<[Region; 2]>,
    /// The results.
    pub results: SmallVec<[Value; 1]>,
}

/// A reference to an operator's declaration; equal where it is the same operator.
#[derive(Clone, Copy)]
pub struct OpRef(pub &'static OpDef);

impl std::ops::Deref for OpRef {
    type Target = OpDef;
    fn deref(&self) -> &OpDef {
        self.0
    }
}

impl PartialEq for OpRef {
    fn eq(&self, other: &OpRef) -> bool {
        self.0.is(other.0)
    }
}

impl fmt::Debug for OpRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// What a value is.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// What makes it.
    pub def: Def,
    /// The region in which it is defined.
    pub region: Region,
}

/// What makes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Def {
    /// A region's parameter, by position.
    Param(u32),
    /// An instruction's result, by position.
    Result(Inst, u32),
}

/// A list of instructions with parameters and results. It sees the values of the regions around it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RegionData {
    /// The parameters.
    pub params: SmallVec<[Value; 4]>,
    /// The instructions, in program order. Instructions whose effects conflict keep this order.
    pub insts: Vec<Inst>,
    /// The results.
    pub results: SmallVec<[Value; 4]>,
}

/// A graph, for code that builds or rewrites it. Code that runs graphs takes [`Verified`] ones.
#[derive(Clone, Default)]
pub struct Graph {
    /// The instructions, among them such as no region lists any more.
    pub insts: Arena<Inst, InstData>,
    /// The values.
    pub values: Arena<Value, ValueData>,
    /// The regions.
    pub regions: Arena<Region, RegionData>,
    /// Where each instruction was written.
    pub locs: Arena<Inst, Loc>,
    /// Names that people gave to values.
    pub names: FxHashMap<Value, Arc<str>>,
    /// The scopes of names, each of which ends in `/`, of instructions without results. For people alone: no part of
    /// the text form or of equality.
    pub scopes: FxHashMap<Inst, Arc<str>>,
}

impl PartialEq for Graph {
    /// Structural equality of all that is listed, ids included: compare compacted graphs.
    fn eq(&self, other: &Graph) -> bool {
        self.insts == other.insts
            && self.values == other.values
            && self.regions == other.regions
            && self.names == other.names
            && self.locs == other.locs
    }
}

impl Graph {
    /// The region of the whole graph: its parameters are the inputs, its results the outputs.
    pub fn body(&self) -> Region {
        <Region as crate::entities::Entity>::new(0)
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Value] {
        &self.regions[self.body()].params
    }

    /// The outputs.
    pub fn outputs(&self) -> &[Value] {
        &self.regions[self.body()].results
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value].ty
    }

    /// The instruction that makes a value; `None` for a parameter.
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.values[value].def {
            Def::Result(inst, _) => Some(inst),
            Def::Param(_) => None,
        }
    }

    /// The value, where it is the result of a `const` instruction.
    pub fn constant(&self, value: Value) -> Option<&Tensor> {
        let data = &self.insts[self.def_inst(value)?];
        if !data.op.is_constant() {
            return None;
        }
        match data.attrs.0.first() {
            Some(Attr::Tensor(t)) => Some(t),
            _ => None,
        }
    }

    /// The types of a region's parameters and results.
    pub fn signature_of(&self, region: Region) -> Signature {
        let data = &self.regions[region];
        let types = |values: &[Value]| values.iter().map(|&v| self.ty(v).clone()).collect();
        Signature { params: types(&data.params), results: types(&data.results) }
    }

    /// The types of the inputs and outputs.
    pub fn signature(&self) -> Signature {
        self.signature_of(self.body())
    }

    /// Calls `visit` on every listed instruction, those of nested regions after the one that owns them.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(Region, Inst, &'a InstData)) {
        self.visit_region(self.body(), visit);
    }

    /// As [`Graph::visit`], for one region.
    pub fn visit_region<'a>(&'a self, region: Region, visit: &mut dyn FnMut(Region, Inst, &'a InstData)) {
        for &inst in &self.regions[region].insts {
            let data = &self.insts[inst];
            visit(region, inst, data);
            for &inner in &data.regions {
                self.visit_region(inner, visit);
            }
        }
    }

    /// How deep regions nest: 1 where no instruction has any. The graph need not be valid.
    pub fn depth(&self) -> usize {
        let (mut most, mut open) = (0, vec![(self.body(), 1)]);
        let mut seen: FxHashSet<Region> = FxHashSet::default();
        while let Some((region, depth)) = open.pop() {
            let Some(data) = self.regions.get(region).filter(|_| seen.insert(region)) else { continue };
            most = most.max(depth);
            let owners = data.insts.iter().filter_map(|&i| self.insts.get(i));
            open.extend(owners.flat_map(|owner| &owner.regions).map(|&inner| (inner, depth + 1)));
        }
        most
    }

    /// The number of listed instructions, nested ones included.
    pub fn len(&self) -> usize {
        let mut n = 0;
        self.visit(&mut |_, _, _| n += 1);
        n
    }

    /// Whether no instruction is listed.
    pub fn is_empty(&self) -> bool {
        self.regions[self.body()].insts.is_empty()
    }

    /// Replaces operands and results by what `map` gives for them.
    pub fn replace_uses(&mut self, map: &FxHashMap<Value, Value>) {
        if map.is_empty() {
            return;
        }
        let resolve = |mut v: Value| {
            while let Some(&next) = map.get(&v) {
                v = next;
            }
            v
        };
        for i in self.insts.keys() {
            for v in &mut self.insts[i].operands {
                *v = resolve(*v);
            }
        }
        for r in self.regions.keys() {
            for v in &mut self.regions[r].results {
                *v = resolve(*v);
            }
        }
    }
}

/// What a [`Function`] keeps of what was made for it.
pub trait Derived: Any + Send + Sync {
    /// Counts every reference to functions and host code that it holds. False where somebody else holds a part of it, or
    /// it is in use.
    fn count(&self, census: &mut dyn Counter) -> bool;
}

/// Counts references to functions and host code.
pub trait Counter {
    /// Counts a reference to a function, and what that holds. False where somebody else holds a part of what was derived
    /// from it, or it is in use.
    fn function(&mut self, function: &Arc<Function>) -> bool;

    /// Counts what a graph holds.
    fn graph(&mut self, graph: &Graph) -> bool;

    /// Counts what attributes hold.
    fn attrs(&mut self, attrs: &Attrs) -> bool;

    /// Counts a reference to a callee, where it keeps that.
    fn callee(&mut self, callee: &FuncRef) -> bool;
}

/// A graph that the verifier accepts, and that nobody can change any more. What runs graphs runs no others: it goes by their types
/// without looking at memory again.
///
/// A [`Builder`](crate::Builder) and the parser give such. To change one, take its [`Graph`] out, and have the result verified.
#[derive(Clone, PartialEq)]
pub struct Verified(Graph);

impl Verified {
    /// For the verifier alone, once it accepts the graph or trusts it.
    pub(crate) fn accepted(graph: Graph) -> Verified {
        Verified(graph)
    }

    /// The same graph, for changing it.
    pub fn into_graph(self) -> Graph {
        self.0
    }
}

impl Deref for Verified {
    type Target = Graph;
    fn deref(&self) -> &Graph {
        &self.0
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A named graph that can be called, with what has been derived from it.
///
/// The graph may be set after the function is named, so that it can call itself.
pub struct Function {
    name: Arc<str>,
    signature: Signature,
    graph: OnceLock<Verified>,
    captures: AtomicUsize,
    derived: Mutex<FxHashMap<TypeId, Arc<dyn Derived>>>,
}

impl Function {
    /// A function of a finished graph.
    pub fn new(name: impl Into<Arc<str>>, graph: Verified) -> Function {
        let function = Function::declare(name, graph.signature());
        function.set(graph);
        function
    }

    /// A function whose graph follows.
    pub fn declare(name: impl Into<Arc<str>>, signature: Signature) -> Function {
        let (graph, captures, derived) = (OnceLock::new(), AtomicUsize::new(0), Mutex::default());
        Function { name: name.into(), signature, graph, captures, derived }
    }

    /// Sets the graph of a declared function. It keeps what it calls, but for functions that are only declared, which will
    /// call this one: they keep it.
    ///
    /// # Errors
    /// `InvalidArgument` where it takes or gives other dtypes or shapes than are declared; `FailedPrecondition` where there is a
    /// graph already. Less or more may be known of a shape: each call checks what it passes and gets.
    pub fn define(&self, graph: Verified) -> Result<()> {
        let fit = |a: &[Type], b: &[Type]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.agrees_with(b));
        let (declared, own) = (&self.signature, graph.signature());
        if !fit(&declared.params, &own.params) || !fit(&declared.results, &own.results) {
            return Err(Error::invalid(format!("@{} is declared as {declared}, but defined as {own}", self.name)));
        }
        match self.set(graph) {
            true => Ok(()),
            false => Err(Error::precondition(format!("@{} is defined already", self.name))),
        }
    }

    /// Sets the graph; false where there is one already.
    fn set(&self, mut graph: Verified) -> bool {
        // By whom callees are kept is nothing that the verifier looks at.
        let own = &mut graph.0;
        for inst in own.insts.keys() {
            for attr in &mut own.insts[inst].attrs.0 {
                if let Attr::Func(callee) = attr {
                    callee.keep();
                }
            }
        }
        self.graph.set(graph).is_ok()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many of the inputs, the last ones, were taken from outside when the function was made: they are likely to be the same at
    /// each call.
    pub fn captures(&self) -> usize {
        self.captures.load(Ordering::Relaxed)
    }

    /// Sets what [`Function::captures`] says, before anything is derived.
    pub fn set_captures(&self, captures: usize) {
        self.captures.store(captures, Ordering::Relaxed);
    }

    /// The types of the parameters and results.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The graph; `None` while it is only declared.
    pub fn graph(&self) -> Option<&Verified> {
        self.graph.get()
    }

    /// What `make` derives from this function, made once for each type `T` and kept.
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
    pub fn derive<T: Derived, E>(&self, make: impl FnOnce(&Function) -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(found) = self.derived() {
            return Ok(found);
        }
        // Made outside the lock: `make` may be long, and may derive from this function itself.
        let made = Arc::new(make(self)?);
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = derived.entry(TypeId::of::<T>()).or_insert_with(|| made.clone()).clone();
        Ok(as_made(kept).unwrap_or(made))
    }

    /// What [`Function::derive`] has made before.
    pub fn derived<T: Derived>(&self) -> Option<Arc<T>> {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        as_made(derived.get(&TypeId::of::<T>())?.clone())
    }

    /// Counts what was derived from this, of which `held` references are the caller's. False where somebody else holds some.
    pub(crate) fn count_derived(&self, held: usize, census: &mut dyn Counter) -> bool {
        let Ok(derived) = self.derived.try_lock() else { return false };
        let others: usize = derived.values().map(|value| Arc::strong_count(value) - 1).sum();
        others == held && derived.values().all(|value| value.count(census))
    }
}

fn as_made<T: Derived>(kept: Arc<dyn Derived>) -> Option<Arc<T>> {
    (kept as Arc<dyn Any + Send + Sync>).downcast().ok()
}

impl Function {
    /// Lets go of the graph and of what was derived. What the graph calls is left in `open`.
    fn release(&mut self, open: &mut Vec<Arc<Function>>) {
        if let Some(graph) = self.graph.take() {
            let attrs = graph.insts.iter().flat_map(|(_, data)| &data.attrs.0);
            open.extend(attrs.filter_map(|a| if let Attr::Func(f) = a { f.kept().cloned() } else { None }));
        }
        self.derived.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Function {
    /// Frees what it calls one function after the other, so that a long chain of calls takes no stack.
    fn drop(&mut self) {
        let mut open = Vec::new();
        self.release(&mut open);
        while let Some(function) = open.pop() {
            if let Some(mut function) = Arc::into_inner(function) {
                function.release(&mut open);
            }
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "func @{}", self.name)
    }
}
