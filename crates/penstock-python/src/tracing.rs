//! A miss: the Python function runs once on symbolic arguments, and what it does becomes a graph.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use penstock_data::Loc;
use penstock_exec::stack_left;
use penstock_ir::{Activity, Type};
use penstock_trace::{self as trace, Cache, Concrete, Difference, Entry, Kind, Token, TraceType, Var, nearest};
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyWeakrefReference};
use smallvec::SmallVec;

use crate::callback::{callbacks_in, note_owner};
use crate::errors::{OrPy, attempt};
use crate::function::{Call, PyFunction, note_pinned, purge};
use crate::keys::{PyOpaque, TypeSink};
use crate::layer;
use crate::params::Bindings;
use crate::profile::told;
use crate::recursion::{self, Met};
use crate::structure::{Leaf, Leaves, walk};
use crate::tensor::{PyTensor, wrap};
use crate::traced::{Trace, Use};
use crate::tree::Tree;
use crate::variable::PyVariable;

/// So many traces may be open, one within the other: a function that calls itself without end stops here, or where the
/// interpreter's own limit is reached.
const DEEPEST: usize = 400;

/// The bytes of stack that a trace within another may need besides those of the traces within it.
pub(crate) const STACK_OF_A_TRACE: usize = 192 << 10;

/// So many misses are kept for `explain_cache`.
const KEPT: usize = 256;

/// A warning comes where this many of the latest calls traced anew, and at most so often.
const WARN_AT: usize = 5;
const WARN_WITHIN: u64 = 10;
const WARNINGS: u32 = 2;

/// Why a function was traced, and when.
#[derive(Default)]
pub(crate) struct History {
    misses: VecDeque<Miss>,
    /// The calls, by number, that traced lately.
    recent: VecDeque<u64>,
    warned: u32,
}

struct Miss {
    loc: Loc,
    /// How the call differed from the nearest trace; empty for the first.
    differences: Vec<Difference>,
    /// What was done, in words.
    outcome: String,
}

impl History {
    fn push(&mut self, miss: Miss) {
        if self.misses.len() == KEPT {
            self.misses.pop_front();
        }
        self.misses.push_back(miss);
    }

    /// Counts a call that traced. Whether to warn, where there is something to `advise`: how many of how
    /// many calls did.
    fn count(&mut self, call: u64, advise: bool) -> Option<(usize, u64)> {
        self.recent.push_back(call);
        while self.recent.front().is_some_and(|&first| call - first >= WARN_WITHIN) {
            self.recent.pop_front();
        }
        if self.recent.len() < WARN_AT || self.warned >= WARNINGS || !advise {
            return None;
        }
        self.warned += 1;
        let span = call - self.recent.front().copied().unwrap_or(call) + 1;
        Some((std::mem::take(&mut self.recent).len(), span))
    }

    /// For Python: place, outcome, and differences of each miss.
    pub(crate) fn listed(&self) -> Vec<(String, String, Vec<(String, String, String)>)> {
        let words = |d: &Difference| (d.leaf.clone(), d.before.clone(), d.after.clone());
        self.misses
            .iter()
            .map(|m| (m.loc.to_string(), m.outcome.clone(), m.differences.iter().map(words).collect()))
            .collect()
    }
}

/// Names for placeholders: a parameter's own, then with numbers.
#[derive(Default)]
struct NameSource(HashMap<String, u32>);

impl NameSource {
    /// An identifier: keywords of a trace and inputs of a saved program are called by it.
    fn unique(&mut self, base: &str) -> String {
        let words = base.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        let base = words.collect::<Vec<_>>().join("_");
        let mut n = self.0.get(&base).copied().unwrap_or(0);
        let mut name = base.clone();
        // A number may make it another parameter's own name.
        while n > 0 && self.0.contains_key(&name) {
            name = format!("{base}_{n}");
            n += 1;
        }
        self.0.insert(base, n.max(1));
        self.0.entry(name.clone()).or_insert(1);
        name
    }
}

/// A variable among the arguments of an open trace.
struct Given<'py> {
    /// What the function gets: the variable, or one that stands in for it.
    value: Bound<'py, PyVariable>,
    /// The argument.
    argument: Bound<'py, PyVariable>,
    /// Whether it is the variable itself.
    pinned: bool,
}

/// What running the Python function gave.
struct Body<'py> {
    tree: Arc<Tree>,
    outs: Vec<Var>,
    signature: (Py<PyTuple>, Py<PyDict>),
    inputs: Vec<String>,
    variables: SmallVec<[Given<'py>; 4]>,
}

impl PyFunction {
    /// Traces for arguments that no trace serves.
    pub(crate) fn miss<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'py>,
        ty: TraceType,
        called: bool,
    ) -> PyResult<Arc<Entry<Trace>>> {
        purge(&self.cache);
        let entries = self.cache().entries().to_vec();
        let paths = call.bound.paths(&self.params)?;
        let died = self.cache().died().cloned();
        let near = nearest(&ty, &paths, died.iter().chain(entries.iter().map(|e| &e.ty)));
        let mut differences = near.as_ref().map_or(Vec::new(), |(_, found)| found.clone());
        let alive = near.and_then(|(i, _)| entries.get(i.checked_sub(usize::from(died.is_some()))?));
        if let (Some(guards), Some(entry)) = (&self.guards, alive) {
            differences.extend(guards.changed(py, &entry.trace.guards, &call.bound));
        }
        let loc = trace::host().loc();
        let exact = ty.clone();
        let ty = self.relaxed(ty, &entries);
        let outcome = outcome(&exact, &ty, &paths);
        if let Met::Call(concrete, tree) = recursion::met(self.id, &self.name, &ty)? {
            return Ok(Arc::new(Entry::new(ty, self.declared(py, concrete, tree))));
        }
        let open = recursion::Guard::enter(self.id, ty.clone(), self.signature.is_some());
        let traced = told(Activity::Tracing, &self.name, || self.trace(py, &call.bound, ty, &open));
        let (made, ty, lasting) = traced.map_err(|e| filtered(py, self.noted(py, open.error(py, &self.name, e))))?;
        note_pinned(&ty, &call.leaves);
        let entry = Arc::new(Entry::new(ty, made));
        note_owner(&entry);
        self.history().push(Miss { loc, differences: differences.clone(), outcome });
        if called {
            let number = self.cache().calls() + 1;
            // In a function that calls itself there is nothing to compare with yet.
            let warning = self.history().count(number, !differences.is_empty());
            if let Some((traces, calls)) = warning {
                self.warn(py, loc, &differences, traces, calls)?;
            }
        }
        // A trace that takes values of a trace around it, or calls what is not finished, serves this once.
        if !lasting || !open.is_final() {
            return Ok(entry);
        }
        // A thread that did not wait for its turn may have made the same beside another.
        let same = |e: &&Arc<Entry<Trace>>| {
            self.guards.is_none() && e.ty.is_subtype_of(&entry.ty) && entry.ty.is_subtype_of(&e.ty)
        };
        let now = self.cache().entries().to_vec();
        if let Some(same) = now.iter().find(same) {
            return Ok(same.clone());
        }
        let dropped = self.cache().insert(entry.clone());
        drop(dropped); // outside of the lock
        Ok(entry)
    }

    /// With `reduce_retracing`, a type that covers this one and the latest trace that differs in shapes only.
    fn relaxed(&self, ty: TraceType, traces: &[Arc<Entry<Trace>>]) -> TraceType {
        if !self.relax {
            return ty;
        }
        traces.iter().rev().find_map(|e| ty.generalize(&e.ty)).unwrap_or(ty)
    }

    fn warn(&self, py: Python<'_>, loc: Loc, differences: &[Difference], traces: usize, calls: u64) -> PyResult<()> {
        let words: Vec<(&str, &str, &str)> =
            differences.iter().map(|d| (d.leaf.as_str(), d.before.as_str(), d.after.as_str())).collect();
        let place = loc.frame().map_or((String::new(), 0), |f| (f.file.to_string(), f.line));
        layer::call(py, "warn_of_retracing", (&self.name, traces, calls, words, place, self.relax)).map(drop)
    }

    /// What is wrong where a trace lies too deep within others.
    fn too_deep(&self, depth: usize) -> String {
        format!(
            "{} is traced within {depth} other traces. A tf.function that calls itself must come to an end by a \
             condition on Python values, since a graph is made of every call, or have an input_signature and a \
             condition on tensors",
            self.name
        )
    }

    /// The error of a trace: the interpreter's own about recursion says which functions it was.
    fn noted(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let depth = trace::trace_depth();
        let value = error.value(py);
        if depth > 0
            && error.is_instance_of::<PyRecursionError>(py)
            && !value.str().is_ok_and(|s| s.to_string().contains("traced within"))
            && !value.hasattr("__notes__").unwrap_or(true)
        {
            let _ = value.call_method1("add_note", (self.too_deep(depth),));
        }
        error
    }

    /// A call of this function by itself while it is traced, as a trace that serves once.
    fn declared(&self, py: Python<'_>, concrete: Concrete, tree: Arc<Tree>) -> Trace {
        Trace {
            concrete,
            tree,
            name: self.name.clone(),
            params: self.params.clone(),
            uses: Vec::new(),
            inputs: Vec::new(),
            callbacks: Vec::new(),
            instance: false,
            signature: (PyTuple::empty(py).unbind(), PyDict::new(py).unbind()),
            guards: Vec::new(),
            cost: Duration::ZERO,
            watches: Vec::new(),
            objects: AtomicUsize::new(0),
            object: Mutex::default(),
        }
    }

    /// Runs the Python function on symbolic arguments. Gives the trace, its type, and whether it may serve
    /// later calls.
    fn trace<'py>(
        &self,
        py: Python<'py>,
        bound: &Bindings<'py>,
        mut ty: TraceType,
        open: &recursion::Guard,
    ) -> PyResult<(Trace, TraceType, bool)> {
        let depth = trace::trace_depth();
        if depth >= DEEPEST || (depth > 0 && stack_left() < STACK_OF_A_TRACE) {
            return Err(PyRecursionError::new_err(format!(
                "maximum recursion depth exceeded: {}",
                self.too_deep(depth)
            )));
        }
        self.traced.fetch_add(1, Ordering::Relaxed);
        let _stay = crate::exit::enter();
        let started = Instant::now();
        let function = self.python_function.bind(py);
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut again = false;
        let (graph, traced, body, guards, reached) = loop {
            let guards = match &self.guards {
                Some(guards) => {
                    let names = self.params.named.iter().map(|p| p.text.as_str()).collect();
                    guards.reads(function, names, bound)?
                }
                None => Vec::new(),
            };
            let opened = trace::begin_trace(&self.name);
            open.begin(opened.id());
            let body = self.run_symbolically(py, bound, function, &ty, &pinned, open)?;
            let reached = trace::reached_variables();
            // A trace that made variables is made again, so that what it holds is what every later trace holds.
            let instance = bound.named.first().filter(|_| bound.instance);
            let made = layer::call(py, "made_variables", (function, instance))?.is_truthy()?;
            // So is one that reached a variable by itself which it was given as well: the two are one.
            let given_too = |g: &&Given<'_>| !g.pinned && reached.contains(&g.argument.get().variable.root_id());
            let overlap: Vec<u64> =
                body.variables.iter().filter(given_too).map(|g| g.argument.get().variable.root_id()).collect();
            if !made && (overlap.is_empty() || again) {
                if trace::has_nameless_captures() {
                    name_captures(py, function, instance)?;
                }
                let traced = opened.end(&body.outs).or_py(py)?;
                penstock_exec::room_for(&traced.graph).or_py(py)?;
                let graph = traced.graph.compact();
                match open.settle(py, &self.name, &traced, graph, &body.tree)? {
                    Some(function) => break (function, traced, body, guards, reached),
                    None => continue,
                }
            }
            drop(opened);
            again = !made;
            self.pinned.lock().unwrap_or_else(PoisonError::into_inner).extend(&overlap);
            pinned.extend(overlap);
        };
        let mut lasting = traced.captures.iter().all(|v| match v.kind() {
            Kind::Symbolic(_) => false,
            Kind::Variable(v) => v.origin().is_none(),
            Kind::Eager(_) => true,
        });
        for token in &mut ty.tokens {
            if let Token::Variable(v) = token
                && let Some(given) = body.variables.get(v.alias as usize)
            {
                v.id = given.argument.get().variable.root_id();
                v.pinned |= given.pinned || given.value.get().identity_was_seen();
                lasting &= v.pinned || !reached.contains(&v.id);
            }
        }
        ty.reached = reached;
        let callbacks = callbacks_in(py, &graph);
        let made = Trace {
            concrete: Concrete::new(graph, traced.captures, traced.trainable),
            tree: body.tree,
            name: self.name.clone(),
            params: self.params.clone(),
            uses: uses(bound)?,
            inputs: body.inputs,
            callbacks,
            instance: bound.instance,
            signature: body.signature,
            guards,
            cost: started.elapsed(),
            watches: watch(py, &self.cache, &ty)?,
            objects: AtomicUsize::new(0),
            object: Mutex::default(),
        };
        Ok((made, ty, lasting))
    }

    fn run_symbolically<'py>(
        &self,
        py: Python<'py>,
        bound: &Bindings<'py>,
        function: &Bound<'py, PyAny>,
        ty: &TraceType,
        pinned: &[u64],
        open: &recursion::Guard,
    ) -> PyResult<Body<'py>> {
        // Tensors stand in the type in the order of the walk.
        let mut tensors = ty.tokens.iter().filter_map(|token| match token {
            Token::Tensor(dtype, shape) => Some(Type::Tensor(*dtype, shape.clone())),
            _ => None,
        });
        let (mut names, mut inputs) = (NameSource::default(), Vec::new());
        let mut variables: SmallVec<[Given<'py>; 4]> = SmallVec::new();
        let (tensor_spec, variable_spec) = (layer::get(py, "TensorSpec")?, layer::get(py, "VariableSpec")?);
        let mut specs: Vec<Bound<'py, PyAny>> = Vec::new();
        let symbolic = bound.replaced(
            &mut |param, leaf, value| {
                let Some(leaf) = leaf else { return Ok(value.clone()) };
                if let Leaf::Variable(v) = leaf {
                    specs.push(variable_spec.call_method1("from_value", (v,))?);
                    if let Some(given) = variables.iter().find(|g| g.argument.is(v)) {
                        return Ok(given.value.clone().into_any());
                    }
                    let itself = pinned.contains(&v.get().variable.root_id());
                    let value = if itself {
                        v.clone()
                    } else {
                        layer::call(py, "stand_in", (v,))?.cast_into::<PyVariable>()?
                    };
                    let name = names.unique(param);
                    trace::bind_variable(&value.get().var(), Some(&name)).or_py(py)?;
                    inputs.push(name);
                    variables.push(Given { value: value.clone(), argument: v.clone(), pinned: itself });
                    return Ok(value.into_any());
                }
                let ty = tensors.next().unwrap_or_else(|| leaf.ty());
                let name = names.unique(leaf.name().unwrap_or(param));
                let var = trace::placeholder(&ty, Some(&name)).or_py(py)?;
                if let Ok(given) = leaf.var() {
                    // An array has become a constant of this trace.
                    trace::give(&var, trace::known(&given).map_or(given, Var::eager));
                }
                let shape = crate::tensor::shape_object(py, ty.shape())?;
                specs.push(tensor_spec.call1((shape, crate::dtype::object(py, ty.dtype())?, &name))?);
                inputs.push(name);
                Ok(wrap(py, var)?.into_any())
            },
            &self.params,
        )?;
        let signature = self.described(py, bound, specs)?;
        let (args, kwargs) = symbolic.call_args(py, &self.params)?;
        open.capture(py)?;
        let result = function.call(args, Some(&kwargs))?;
        let mut outs = Vec::new();
        let tree = Arc::new(Tree::of(&result, &mut outs)?);
        Ok(Body { tree, outs, signature, inputs, variables })
    }

    /// The arguments with a specification in place of each leaf, and objects held weakly, so that the
    /// trace keeps none of them alive.
    fn described<'py>(
        &self,
        py: Python<'py>,
        bound: &Bindings<'py>,
        specs: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<(Py<PyTuple>, Py<PyDict>)> {
        let mut specs = specs.into_iter();
        let described = bound.replaced(
            &mut |_, leaf, value| match leaf {
                Some(_) => Ok(specs.next().unwrap_or_else(|| value.clone())),
                None => layer::call(py, "held_weakly", (value,)),
            },
            &self.params,
        )?;
        let (args, kwargs) = described.call_args(py, &self.params)?;
        Ok((args.unbind(), kwargs.unbind()))
    }
}

/// An exception of a trace with the frames of this package left out of its traceback.
fn filtered(py: Python<'_>, error: PyErr) -> PyErr {
    // Where filtering fails the exception is as it was.
    if let Some(kept) = error.traceback(py).and_then(|t| attempt(py, layer::call(py, "filtered_traceback", (t,)))) {
        error.set_traceback(py, kept.cast_into::<pyo3::types::PyTraceback>().ok());
    }
    error
}

/// What each named parameter is.
pub(crate) fn uses(bound: &Bindings<'_>) -> PyResult<Vec<Use>> {
    let mut uses = Vec::new();
    for (i, value) in bound.named.iter().enumerate() {
        if bound.instance && i == 0 {
            uses.push(Use::Fixed);
            continue;
        }
        let mut sink = TypeSink::default();
        walk(value, &mut sink, &mut Leaves::new())?;
        uses.push(Use::of(&sink.tokens));
    }
    Ok(uses)
}

/// What a miss led to, in words.
fn outcome(exact: &TraceType, made: &TraceType, paths: &[String]) -> String {
    let open = trace::differences(made, paths, exact);
    if open.is_empty() {
        return "traced".to_owned();
    }
    let leaves: Vec<&str> = open.iter().map(|d| d.leaf.as_str()).collect();
    format!("traced with {} unknown", leaves.join(", "))
}

/// Called when an object dies that a trace was made for: drops the traces of a function that no call can
/// match any more.
#[pyclass(frozen, name = "_Purge", module = "penstock._core")]
struct Purge(Weak<Mutex<Cache<Trace>>>);

#[pymethods]
impl Purge {
    fn __call__(&self, _reference: &Bound<'_, PyAny>) {
        if let Some(cache) = self.0.upgrade() {
            purge(&cache);
        }
    }
}

/// Has a cache drop its trace of type `ty` when an object dies that it was made for.
fn watch(py: Python<'_>, cache: &Arc<Mutex<Cache<Trace>>>, ty: &TraceType) -> PyResult<Vec<Py<PyWeakrefReference>>> {
    let targets = ty.tokens.iter().filter_map(|token| match token {
        Token::Opaque(o) => o.as_any().downcast_ref::<PyOpaque>().and_then(|o| o.target(py)),
        _ => None,
    });
    let mut watches = Vec::new();
    for target in targets {
        let told = Bound::new(py, Purge(Arc::downgrade(cache)))?;
        // What cannot be referenced weakly is kept by the trace.
        if let Ok(weak) = PyWeakrefReference::new_with(&target, told) {
            watches.push(weak.unbind());
        }
    }
    Ok(watches)
}

/// Names what the open trace of a function has taken from around it as the program does.
fn name_captures(py: Python<'_>, function: &Bound<'_, PyAny>, instance: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let found = layer::call(py, "captured_names", (function, instance))?;
    for pair in found.cast::<PyList>()? {
        let (value, name): (Bound<'_, PyAny>, String) = pair.extract()?;
        if let Ok(tensor) = value.cast::<PyTensor>() {
            trace::name_capture(&tensor.get().var, &name);
        } else if let Ok(variable) = value.cast::<PyVariable>() {
            trace::name_capture(&variable.get().var(), &name);
        }
    }
    Ok(())
}
