//! Graphs that stay open: the program adds to them now and then, and runs parts of them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use penstock_data::{Error, Result};
use penstock_ir::{Def, Function, Graph, Inst, Value, ValueData, Verified, compact};
use penstock_ops::node_names::NodeNames;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::{self, Tracer};
use crate::dispatch::Concrete;
use crate::var::{Kind, Var, fresh_id};

/// A graph that stays open.
pub struct OpenGraph {
    id: u64,
    left: Arc<Left>,
}

/// The trace of an open graph while the program is not inside of it.
type Left = Mutex<Option<Tracer>>;

/// Which part of an open graph is to run.
pub struct Part<'a> {
    /// The values to give.
    pub fetches: &'a [Var],
    /// The values that are given instead of computed.
    pub feeds: &'a [Var],
    /// Instructions to run for their effects, by number.
    pub forced: &'a [usize],
    /// Instructions that run after others, each by number.
    pub after: &'a [(usize, usize)],
}

/// The traces of all open graphs.
static OPEN: Mutex<Vec<(u64, Weak<Left>)>> = Mutex::new(Vec::new());

/// Whether a trace is that of an open graph.
pub fn is_open_graph(trace: u64) -> bool {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(id, _)| *id == trace)
}

/// What `f` makes of the graph of an open trace that the program is not inside of.
pub fn with_left_graph<R>(trace: u64, f: impl FnOnce(&Graph) -> R) -> Option<R> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let left = open.iter().find(|(id, _)| *id == trace)?.1.upgrade()?;
    drop(open);
    let tracer = left.lock().unwrap_or_else(PoisonError::into_inner);
    tracer.as_ref().map(|t| f(t.builder.graph()))
}

impl Drop for OpenGraph {
    fn drop(&mut self) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != self.id);
    }
}

impl Default for OpenGraph {
    fn default() -> OpenGraph {
        OpenGraph::new()
    }
}

impl OpenGraph {
    /// An empty graph.
    pub fn new() -> OpenGraph {
        let tracer = Tracer::new("graph");
        let id = tracer.id;
        let left = Arc::new(Mutex::new(Some(tracer)));
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).push((id, Arc::downgrade(&left)));
        OpenGraph { id, left }
    }

    /// The id of its trace.
    pub fn id(&self) -> u64 {
        self.id
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Option<Tracer>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the operations of this thread to the graph from now on.
    ///
    /// # Errors
    /// `FailedPrecondition` where somebody is inside of it already.
    pub fn enter(&self) -> Result<()> {
        let tracer = self.left().take();
        let tracer = tracer.ok_or_else(|| Error::precondition("the graph is in use, by this thread or another one"))?;
        context::push_tracer(tracer);
        Ok(())
    }

    /// Leaves the graph.
    ///
    /// # Errors
    /// `FailedPrecondition` where the thread is not right inside of it.
    pub fn leave(&self) -> Result<()> {
        let tracer = context::pop_tracer(self.id);
        *self.left() = Some(tracer.ok_or_else(|| Error::precondition("the graph is not the innermost one"))?);
        Ok(())
    }

    fn with<R>(&self, f: impl Fn(&Tracer) -> R) -> Result<R> {
        if let Some(tracer) = self.left().as_ref() {
            return Ok(f(tracer));
        }
        context::with_tracer(self.id, f).ok_or_else(|| Error::precondition("the graph is in use by another thread"))
    }

    /// The number of instructions so far: that of the next one.
    ///
    /// # Errors
    /// `FailedPrecondition` where another thread is inside of it.
    pub fn len(&self) -> Result<usize> {
        self.with(|t| t.builder.graph().insts.len())
    }

    /// Whether it has no instruction.
    ///
    /// # Errors
    /// As [`OpenGraph::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|n| n == 0)
    }

    /// What `f` makes of the graph and of what gives a handle of each of its values.
    ///
    /// # Errors
    /// As [`OpenGraph::len`].
    pub fn inspect<R>(&self, f: impl Fn(&Graph, &dyn Fn(Value) -> Var) -> R) -> Result<R> {
        self.with(|t| f(t.builder.graph(), &|value| t.handle(value)))
    }

    /// A function of a part of the graph: the instructions that the fetched values and the forced instructions need, in
    /// program order. It takes the fed values, in order, and what it captures.
    ///
    /// # Errors
    /// `InvalidArgument` where a placeholder is needed and not fed, or a value is of another graph; `FailedPrecondition`
    /// where another thread is inside of the graph.
    pub fn part(&self, part: &Part<'_>) -> Result<Concrete> {
        self.with(|tracer| extract(tracer, part))?
    }
}

fn extract(tracer: &Tracer, part: &Part<'_>) -> Result<Concrete> {
    let mut graph = tracer.builder.graph().clone();
    keep_names(&mut graph);
    let value = |var: &Var| match var.as_symbolic() {
        Some(s) if s.trace == tracer.id => Ok(s.value),
        _ => Err(Error::invalid("the tensor is not an element of this graph")),
    };
    let feeds = part.feeds.iter().map(value).collect::<Result<Vec<_>>>()?;
    let fetches = part.fetches.iter().map(value).collect::<Result<Vec<_>>>()?;
    let fed: FxHashSet<_> = feeds.iter().copied().collect();

    // What must run, by going back from what is asked for.
    let mut after: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
    for &(later, earlier) in part.after {
        after.entry(inst(&graph, later)?).or_default().push(inst(&graph, earlier)?);
    }
    let mut needed: FxHashSet<Inst> = FxHashSet::default();
    let mut used: FxHashSet<_> = fetches.iter().copied().collect();
    let mut open: Vec<Inst> = part.forced.iter().map(|&i| inst(&graph, i)).collect::<Result<_>>()?;
    open.extend(fetches.iter().filter(|v| !fed.contains(v)).filter_map(|&v| graph.def_inst(v)));
    while let Some(next) = open.pop() {
        if !needed.insert(next) {
            continue;
        }
        let data = &graph.insts[next];
        let outer = penstock_autodiff::captures(&graph, &data.regions);
        for &v in data.operands.iter().chain(&outer) {
            used.insert(v);
            if !fed.contains(&v) {
                open.extend(graph.def_inst(v));
            }
        }
        open.extend(after.get(&next).into_iter().flatten());
    }

    // Fed values become inputs, whatever made them before.
    let body = graph.body();
    let old = graph.regions[body].params.clone();
    let mut params = Vec::new();
    let mut replaced = FxHashMap::default();
    for &v in &feeds {
        if old.contains(&v) {
            params.push(v);
        } else {
            let ty = graph.ty(v).clone();
            let input = graph.values.push(ValueData { ty, def: Def::Param(0), region: body });
            replaced.insert(v, input);
            params.push(input);
        }
    }
    let mut captures = Vec::new();
    for &v in old.iter().filter(|v| used.contains(v) && !fed.contains(v)) {
        let var = tracer.vars.get(&v).filter(|var| !matches!(var.kind(), Kind::Symbolic(_)));
        captures.push(var.cloned().ok_or_else(|| not_fed(&graph, v))?);
        params.push(v);
    }
    for (i, &v) in params.iter().enumerate() {
        graph.values[v].def = Def::Param(i as u32);
    }
    graph.regions[body].params = params.into_iter().collect();
    graph.regions[body].insts.retain(|inst| needed.contains(inst));
    graph.regions[body].results = fetches.into_iter().collect();
    graph.replace_uses(&replaced);
    let function = Function::new(format!("session_{}", fresh_id()), Verified::new(compact(&graph))?);
    Ok(Concrete::new(Arc::new(function), captures, Vec::new()))
}

/// Gives what has no name, or one that another has too, the name by which the program finds it: a part of the graph has the same.
fn keep_names(graph: &mut Graph) {
    let names = NodeNames::of(graph);
    let (mut of_values, mut of_silent) = (Vec::new(), Vec::new());
    of_values.extend(graph.inputs().iter().map(|&v| (v, names.value(v).into())));
    graph.visit(&mut |_, inst, data| match data.results.first() {
        Some(&v) => of_values.push((v, names.node(graph, inst).into())),
        None => of_silent.push((inst, names.node(graph, inst).into())),
    });
    graph.names.extend(of_values);
    graph.scopes.extend(of_silent);
}

/// The instruction of a number.
fn inst(graph: &Graph, number: usize) -> Result<Inst> {
    graph.insts.keys().nth(number).ok_or_else(|| Error::invalid("the operation is not an element of this graph"))
}

fn not_fed(graph: &Graph, value: Value) -> Error {
    let name = graph.names.get(&value).map_or_else(|| value.to_string(), |n| n.to_string());
    let ty = graph.ty(value);
    let (dtype, shape) = (ty.dtype().tf_name(), ty.shape().erased());
    Error::invalid(format!(
        "you must feed a value for placeholder tensor '{name}' with dtype {dtype} and shape {shape}, by feed_dict"
    ))
}
