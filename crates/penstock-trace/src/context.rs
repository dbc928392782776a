//! The state of the calling thread: which traces are open, which tapes record.

mod names;
mod recorders;
mod regions;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};

use penstock_autodiff::{Grad, Influence, Request, Rows, gradients_in, row_pieces};
use penstock_data::{Class, Error, Loc, Result, Shape, Tensor};
use penstock_ir::{Attrs, Builder, Entity, Env, Graph, Inst, OpDef, Region, Type, Value, Verified};
use penstock_ops::control;
use penstock_ops::node_names::UniqueNames;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::names::own_name;
use self::recorders::Active;
use crate::later::{self, Pending};
use crate::var::{Closed, Home, Kind, Symbolic, Var};

pub use self::names::{has_nameless_captures, name_capture};
pub(crate) use self::names::{put_name, put_scope, scope_of, with_scopes};
pub use self::recorders::{
    Override, Paused, Recorder, Recording, SharedAccumulator, SharedTape, pause_recorders, pop_override, pop_recorder,
    push_override, push_recorder, record_with,
};
pub(crate) use self::recorders::{overridden, pause_from, recorders_here, tapes_of_trace};
pub use self::regions::{abandon_region, begin_region, end_region, is_in_scope, region_results};
pub(crate) use self::regions::{captured_by, end_region_as_function, outline};

/// The program around the engine: what it prints to, and where in its source it is.
pub trait Host: Env + Send + Sync {
    /// Where the program is now.
    fn loc(&self) -> Loc;

    /// The name of a symbolic value, for people.
    fn name_of(&self, value: &Symbolic) -> String {
        value.value.to_string()
    }
}

static HOST: OnceLock<Box<dyn Host>> = OnceLock::new();

/// Sets the program around the engine; the first call counts.
pub fn set_host(host: Box<dyn Host>) {
    let _ = HOST.set(host);
}

/// The program around the engine.
///
/// # Panics
/// Where [`set_host`] was never called.
pub fn host() -> &'static dyn Host {
    HOST.get().expect("set_host is called before anything runs").as_ref()
}

/// Instructions of a trace between two polls of the host.
const POLL_INSTS: usize = 1 << 12;

/// A graph being traced, with what it takes from outside.
pub(crate) struct Tracer {
    pub(crate) id: u64,
    home: Arc<Home>,
    pub(crate) builder: Builder,
    captures: Vec<Var>,
    by_id: FxHashMap<u64, Value>,
    /// What the program holds for each value: the handle that tapes know it by.
    pub(crate) vars: FxHashMap<Value, Var>,
    /// Inputs that are trainable variables which the trace reads.
    trainable: Vec<Value>,
    /// What the call that is traced has for placeholders.
    given: FxHashMap<Value, Var>,
    /// What parameters of open regions are in the first iteration of the loop whose body the region becomes.
    firsts: FxHashMap<Value, Value>,
    /// Scopes of names that were opened.
    scopes: UniqueNames,
    /// Names for inputs that tensors will be, by the ids of the tensors.
    names: FxHashMap<u64, String>,
    /// Custom gradients that nobody has asked for so far.
    pub(crate) pending: Vec<Pending>,
}

impl Tracer {
    /// The program's handle of a value.
    fn var(&mut self, value: Value) -> Var {
        if let Some(var) = self.vars.get(&value) {
            return var.clone();
        }
        let var = Var::symbolic(Symbolic::new(&self.home, self.builder.graph(), value));
        if self.vars.len() == self.vars.capacity() && self.vars.try_reserve(1).is_err() {
            Error::exhausted(format!("cannot trace more than {} operations", self.vars.len())).unwind();
        }
        self.vars.insert(value, var.clone());
        var
    }

    /// Puts the instructions from this one on into a scope of names, where they are in none.
    fn name_from(&mut self, first: usize, scope: &str) {
        let graph = self.builder.graph();
        let made = (first..graph.insts.len()).filter_map(|i| graph.insts[Inst::new(i)].results.first().copied());
        let nameless: Vec<Value> = made.filter(|v| !graph.names.contains_key(v)).collect();
        for value in nameless {
            self.builder.name(value, scope);
        }
    }

    /// A handle of a value: the program's own, where it has one.
    pub(crate) fn handle(&self, value: Value) -> Var {
        let made = || Var::symbolic(Symbolic::new(&self.home, self.builder.graph(), value));
        self.vars.get(&value).cloned().unwrap_or_else(made)
    }

    /// Leaves the graph to the symbolic values that outlive the trace, so that an error can say where they were made.
    fn close(self, graph: impl FnOnce(Builder) -> Closed) {
        let Tracer { home, builder, vars, .. } = self;
        drop(vars);
        if Arc::strong_count(&home) > 1 {
            home.close(graph(builder));
        }
    }
}

#[derive(Default)]
struct State {
    tracers: Vec<Tracer>,
    recorders: Vec<Active>,
    overrides: Vec<Override>,
}

thread_local! {
    /// Bit 0: tracing; bit 1: some recorder is active; bit 2: some gradient is overridden. Checked before anything else on every operation.
    static FLAGS: Cell<u8> = const { Cell::new(0) };
    static STATE: RefCell<State> = RefCell::new(State::default());
}

const TRACING: u8 = 1;
const TAPING: u8 = 2;
const OVERRIDING: u8 = 4;

fn with_state<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|state| {
        let mut state = state.borrow_mut();
        let result = f(&mut state);
        let bit = |empty: bool, bit: u8| if empty { 0 } else { bit };
        let flags = bit(state.tracers.is_empty(), TRACING)
            | bit(state.recorders.is_empty(), TAPING)
            | bit(state.overrides.is_empty(), OVERRIDING);
        FLAGS.with(|f| f.set(flags));
        result
    })
}

/// Whether operations are added to a graph rather than run.
#[inline]
pub fn is_tracing() -> bool {
    FLAGS.with(|f| f.get() & TRACING != 0)
}

/// Whether neither a trace nor a tape is open: operations just run.
#[inline]
pub fn is_plain() -> bool {
    FLAGS.with(|f| f.get() == 0)
}

impl State {
    fn depth(&self) -> usize {
        self.tracers.iter().map(|t| t.builder.depth()).sum()
    }

    fn top(&mut self) -> Result<&mut Tracer> {
        self.tracers.last_mut().ok_or_else(|| Error::internal("no trace is open"))
    }

    /// The value that stands for `var` in the trace at `level`, captured from outside where need be.
    fn value_at(&mut self, level: usize, var: &Var) -> Result<Value> {
        let tracer = &self.tracers[level];
        if let Kind::Symbolic(s) = var.kind() {
            if s.trace == tracer.id {
                return if tracer.builder.is_in_scope(s.value) { Ok(s.value) } else { Err(out_of_region(s)) };
            }
            // Whether a capture is in scope is asked where the trace around takes it in.
            if !self.tracers[..level].iter().any(|t| t.id == s.trace) {
                return Err(out_of_scope(s));
            }
        }
        if let Some(&value) = tracer.by_id.get(&var.id()) {
            return Ok(value);
        }
        // A stand-in means itself in the trace that it was made for, and elsewhere what it stands for.
        if let Kind::Variable(v) = var.kind()
            && let Some(origin) = v.origin()
            && !self.tracers[..level].iter().any(|t| t.by_id.contains_key(&var.id()))
        {
            return self.value_at(level, &Var::variable(origin.clone()));
        }
        let tracer = &mut self.tracers[level];
        let ty = var.ty();
        let ty = match var.kind() {
            Kind::Symbolic(_) => ty.with_shape(tracer.builder.symbolic(&ty.shape().erased())),
            _ => ty,
        };
        let name = tracer.names.get(&var.id()).map(String::as_str).or_else(|| own_name(var));
        let value = tracer.builder.input(ty, name);
        tracer.captures.push(var.clone());
        tracer.by_id.insert(var.id(), value);
        tracer.vars.insert(value, var.clone());
        Ok(value)
    }

    /// The value that stands for `var` in the innermost trace.
    fn value_of(&mut self, var: &Var) -> Result<Value> {
        match self.tracers.len() {
            0 => Err(inaccessible(var).unwrap_or_else(|| Error::internal("no trace is open"))),
            n => self.value_at(n - 1, var),
        }
    }
}

/// The error of a value that no operation of this thread can use: a symbolic one while no trace is open. The values of
/// graphs that stay open may be looked at from outside.
pub fn inaccessible(var: &Var) -> Option<Error> {
    let s = var.as_symbolic()?;
    (!is_tracing() && !crate::open::is_open_graph(s.trace)).then(|| out_of_scope(s))
}

/// The error of a symbolic value that is used where its trace is not open.
pub(crate) fn out_of_scope(s: &Symbolic) -> Error {
    let function = s.home().function();
    let place = format!("it was defined in the function '{function}', whose trace it does not outlive");
    used_outside(s, &place, "Return it from the function")
}

/// The error of a symbolic value that is used behind the branch or the body of a loop that it was defined in.
fn out_of_region(s: &Symbolic) -> Error {
    let function = s.home().function();
    let place = format!(
        "it was defined in a branch or in the body of a loop of the function '{function}', and there are values for it \
         only there"
    );
    used_outside(s, &place, "Make it a result of the branch or a variable of the loop")
}

fn used_outside(s: &Symbolic, place: &str, advice: &str) -> Error {
    let ty = s.ty();
    let made = s.loc().frame().map_or(String::new(), |f| {
        let within = if f.function.is_empty() { String::new() } else { format!(", in {}", f.function) };
        format!("\n  It was defined here: File \"{}\", line {}{within}", f.file, f.line)
    });
    let message = format!(
        "<tf.Tensor '{}' shape={} dtype={}> is out of scope and cannot be used here: {place}. {advice}, or keep it in a \
         tf.Variable{made}",
        host().name_of(s),
        crate::key::python_shape(ty.shape()),
        ty.dtype().tf_name(),
    );
    Error::new(Class::OutOfScope, message)
}

/// A finished trace.
pub struct Traced {
    /// The graph; its inputs are the placeholders in their order, then one for each capture.
    pub graph: Arc<Verified>,
    /// What it takes from outside.
    pub captures: Vec<Var>,
    /// Which inputs are trainable variables that it reads.
    pub trainable: Vec<usize>,
}

impl Tracer {
    /// A trace of nothing yet.
    pub(crate) fn new(function: &str) -> Tracer {
        let home = Home::new(function);
        Tracer {
            id: home.id(),
            home,
            builder: Builder::new(&control::CONST).with_evaluate(penstock_passes::value_of),
            captures: Vec::new(),
            by_id: FxHashMap::default(),
            vars: FxHashMap::default(),
            trainable: Vec::new(),
            given: FxHashMap::default(),
            firsts: FxHashMap::default(),
            scopes: UniqueNames::default(),
            names: FxHashMap::default(),
            pending: Vec::new(),
        }
    }
}

/// A trace that is open. Whichever way its owner is left, a panic included, it is closed, and so is what was opened in it.
#[must_use]
pub struct Tracing {
    id: u64,
    /// How many traces are around it.
    level: usize,
}

impl Tracing {
    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Closes it.
    ///
    /// # Errors
    /// `OutOfScope` where an output belongs to another trace.
    pub fn end(self, outputs: &[Var]) -> Result<Traced> {
        self.close_inner();
        later::settle(Some(outputs))?;
        let (traced, _unasked) = with_state(|state| {
            let values = outputs.iter().map(|v| state.value_of(v)).collect::<Result<Vec<_>>>()?;
            let mut tracer = state.tracers.pop().ok_or_else(|| Error::internal("no trace is open"))?;
            let builder = std::mem::replace(&mut tracer.builder, Builder::new(&control::CONST));
            #[expect(unsafe_code, reason = "gradients change what is traced in place")]
            // SAFETY: operations are added by the builder. Where the trace takes gradients, `gradients_in` changes it as it does the
            // graph of a function, which stays one that the verifier accepts.
            let graph = Arc::new(unsafe { builder.finish_trusted(&values, "tracing")? });
            let position = |v: &Value| graph.inputs().iter().position(|i| i == v);
            let trainable = tracer.trainable.iter().filter_map(position).collect();
            let captures = std::mem::take(&mut tracer.captures);
            // What they hold of the program may run its code when it is dropped: not here.
            let pending = std::mem::take(&mut tracer.pending);
            tracer.close(|_| Closed::Finished(graph.clone()));
            Ok::<_, Error>((Traced { graph, captures, trainable }, pending))
        })?;
        Ok(traced)
    }

    /// Forgets what was opened in it and never closed.
    fn close_inner(&self) {
        abandon_above(self.level + 1);
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        // The state of a thread that is ending is gone, with its traces.
        let _ = STATE.try_with(|_| abandon_above(self.level));
    }
}

/// Closes all traces but the outermost ones and forgets them.
fn abandon_above(level: usize) {
    let mut pending = Vec::new();
    with_state(|state| {
        while state.tracers.len() > level {
            if let Some(mut tracer) = state.tracers.pop() {
                pending.append(&mut tracer.pending);
                tracer.close(|builder| Closed::Abandoned(builder.abandon()));
            }
        }
    });
}

/// Opens a trace of a function: from now on operations of this thread are added to it.
pub fn begin_trace(function: &str) -> Tracing {
    let level = trace_depth();
    Tracing { id: push_tracer(Tracer::new(function)), level }
}

/// Makes a trace the innermost one.
pub(crate) fn push_tracer(tracer: Tracer) -> u64 {
    let id = tracer.id;
    with_state(|state| state.tracers.push(tracer));
    id
}

/// Takes a trace off, where it is the innermost one and has no region open.
pub(crate) fn pop_tracer(id: u64) -> Option<Tracer> {
    with_state(|state| state.tracers.pop_if(|t| t.id == id && t.builder.depth() == 1))
}

/// Calls `f` on an open trace.
pub(crate) fn with_tracer<R>(id: u64, f: impl FnOnce(&Tracer) -> R) -> Option<R> {
    with_state(|state| state.tracers.iter().find(|t| t.id == id).map(f))
}

/// Calls `f` on the innermost trace.
pub(crate) fn with_top<R>(f: impl FnOnce(&mut Tracer) -> R) -> Result<R> {
    with_state(|state| state.top().map(f))
}

/// The values that stand for `vars` in the innermost trace.
pub(crate) fn values_of(vars: &[Var]) -> Result<Vec<Value>> {
    with_state(|state| vars.iter().map(|v| state.value_of(v)).collect())
}

/// On what the innermost region depends if it is closed with these results. Those that it cannot be closed with do not count.
pub(crate) fn influence_of(results: &[Var]) -> Result<Influence> {
    let values: Vec<Value> = with_state(|state| results.iter().filter_map(|v| state.value_of(v).ok()).collect());
    with_top(|tracer| Influence::of(tracer.builder.graph(), tracer.builder.current(), &values))
}

/// Adds an input to the innermost trace. Unknown dimensions get symbols.
///
/// # Errors
/// `Internal` where no trace is open.
pub fn placeholder(ty: &Type, name: Option<&str>) -> Result<Var> {
    with_state(|state| {
        let tracer = state.top()?;
        let ty = ty.with_shape(tracer.builder.symbolic(ty.shape()));
        let value = tracer.builder.input(ty, name);
        Ok(tracer.var(value))
    })
}

/// Notes what the call that is traced has for a placeholder of the innermost trace, for [`crate::computed`].
pub fn give(placeholder: &Var, value: Var) {
    let Some(s) = placeholder.as_symbolic() else { return };
    with_state(|state| {
        if let Some(tracer) = state.tracers.last_mut().filter(|t| t.id == s.trace) {
            tracer.given.insert(s.value, value);
        }
    });
}

/// Makes `variable` input `value` of the innermost trace: uses of it do not capture it again.
///
/// # Errors
/// `Internal` where no trace is open.
pub fn bind_variable(variable: &Var, name: Option<&str>) -> Result<()> {
    with_state(|state| {
        let tracer = state.top()?;
        let value = tracer.builder.input(variable.ty(), name);
        tracer.by_id.entry(variable.id()).or_insert(value);
        tracer.vars.insert(value, variable.clone());
        Ok(())
    })
}

/// Makes values inputs of the innermost trace, in this order, where they are none yet.
///
/// # Errors
/// `Internal` where no trace is open; `OutOfScope` where a value belongs to another trace.
pub fn capture_all(vars: &[Var]) -> Result<()> {
    with_state(|state| vars.iter().try_for_each(|var| state.value_of(var).map(drop)))
}

/// Notes that the innermost trace, where there is one, reads a trainable variable.
pub(crate) fn note_trainable(variable: &Var) -> Result<()> {
    if !is_tracing() {
        return Ok(());
    }
    with_state(|state| {
        let value = state.value_of(variable)?;
        let trainable = &mut state.top()?.trainable;
        if !trainable.contains(&value) {
            trainable.push(value);
        }
        Ok(())
    })
}

/// How many traces are open, one within the other.
pub fn trace_depth() -> usize {
    with_state(|state| state.tracers.len())
}

/// The variables that the innermost trace takes from outside so far, stand-ins as what they stand for.
pub fn reached_variables() -> Vec<u64> {
    with_state(|state| {
        let captures = state.tracers.last().map_or(&[][..], |t| &t.captures);
        let variable = |v: &Var| match v.kind() {
            Kind::Variable(v) => Some(v.root_id()),
            _ => None,
        };
        captures.iter().filter_map(variable).collect()
    })
}

/// Whether operations outside of traced functions go into an open graph on this thread, or would if these ended.
pub fn inside_open_graph() -> bool {
    is_tracing() && with_state(|state| state.tracers.iter().any(|t| crate::open::is_open_graph(t.id)))
}

/// The id of the innermost trace.
pub fn current_trace() -> Option<u64> {
    with_state(|state| state.tracers.last().map(|t| t.id))
}

/// Calls `f` on the graph of the innermost trace.
pub fn with_graph<R>(f: impl FnOnce(&Graph) -> R) -> Option<R> {
    with_state(|state| state.tracers.last().map(|t| f(t.builder.graph())))
}

/// Leaves all traces for a while: operations run at once. Nothing is recorded.
pub struct Suspended(Option<State>);

/// Leaves all traces until the result is dropped.
pub fn suspend() -> Suspended {
    Suspended(Some(with_state(std::mem::take)))
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if let Some(saved) = self.0.take() {
            with_state(|state| *state = saved);
        }
    }
}

/// The open traces of a thread that waits, for another thread to go on with.
pub struct HandedOver {
    tracers: Vec<Tracer>,
    recorders: Vec<Active>,
    overrides: Vec<Override>,
    scope: Arc<str>,
}

/// Takes the open traces from this thread. What records operations in it stays, and records again when they come back.
pub fn hand_over() -> HandedOver {
    with_state(|state| HandedOver {
        tracers: std::mem::take(&mut state.tracers),
        recorders: state.recorders.clone(),
        overrides: state.overrides.clone(),
        scope: crate::scopes::open_scope(),
    })
}

impl HandedOver {
    /// How many traces and regions are open.
    pub fn depth(&self) -> usize {
        self.tracers.iter().map(|t| t.builder.depth()).sum()
    }

    /// Goes on with the traces in this thread, which has none. A thread that begins has the recorders, the overrides and
    /// the scope of names of the thread that gave them.
    pub fn take_over(self, begins: bool) {
        let HandedOver { tracers, recorders, overrides, scope } = self;
        if begins {
            crate::scopes::set_scope(&scope);
        }
        with_state(|state| {
            state.tracers = tracers;
            if begins {
                (state.recorders, state.overrides) = (recorders, overrides);
            }
        });
    }
}

/// Adds an instruction to the innermost trace.
pub(crate) fn capture(
    op: &'static OpDef,
    inputs: &[Var],
    attrs: Attrs,
    regions: &[Region],
) -> Result<(Inst, SmallVec<[Var; 1]>)> {
    let loc = host().loc();
    let made = with_state(|state| {
        let operands = inputs.iter().map(|v| state.value_of(v)).collect::<Result<SmallVec<[Value; 4]>>>();
        let operands = operands.map_err(|e| e.in_op(op.name).at(loc))?;
        let tracer = state.top()?;
        tracer.builder.set_loc(loc);
        let inst = tracer.builder.inst(op, &operands, attrs, regions)?;
        let results: SmallVec<[Value; 4]> = tracer.builder.results(inst).into();
        Ok((inst, results.into_iter().map(|v| tracer.var(v)).collect()))
    })?;
    // The engine may add many instructions at a stretch: a gradient.
    if made.0.index().is_multiple_of(POLL_INSTS) {
        host().poll()?;
    }
    Ok(made)
}

/// A constant of the innermost trace.
pub(crate) fn capture_constant(value: Tensor) -> Result<Var> {
    let loc = host().loc();
    with_state(|state| {
        let tracer = state.top()?;
        tracer.builder.set_loc(loc);
        let value = tracer.builder.constant(value);
        Ok(tracer.var(value))
    })
}

/// The tensor that a symbolic value is known to be.
pub fn known(var: &Var) -> Option<Tensor> {
    match var.kind() {
        Kind::Eager(t) => Some(t.clone()),
        Kind::Symbolic(s) => with_state(|state| {
            let tracer = state.tracers.iter().find(|t| t.id == s.trace)?;
            tracer.builder.graph().constant(s.value).cloned()
        }),
        Kind::Variable(_) => None,
    }
}

/// Narrows what is known of a symbolic value's shape.
///
/// # Errors
/// `InvalidArgument` where the shape contradicts what is known.
pub fn refine(var: &Var, shape: &Shape) -> Result<()> {
    let Some(s) = var.as_symbolic() else {
        return match var.shape().merge(shape) {
            Some(_) => Ok(()),
            None => Err(Error::invalid(format!(
                "Tensor's shape {} is not compatible with supplied shape {}",
                crate::key::python_shape(&var.shape()),
                crate::key::python_shape(shape)
            ))),
        };
    };
    let ty = with_state(|state| match state.tracers.iter_mut().find(|t| t.id == s.trace) {
        Some(tracer) => {
            tracer.builder.refine(s.value, shape)?;
            Ok(tracer.builder.graph().ty(s.value).clone())
        }
        None => Err(out_of_scope(s)),
    })?;
    s.set_ty(ty);
    Ok(())
}

/// The number of instructions that the innermost trace has made so far.
pub(crate) fn inst_count() -> Result<usize> {
    with_state(|state| Ok(state.top()?.builder.graph().insts.len()))
}

/// Emits, in the innermost trace and in a scope of names, the cotangents of `sources` through the instructions that `recorded`
/// allows.
pub(crate) fn differentiate(
    targets: &[Var],
    target_grads: &[Option<Var>],
    sources: &[Var],
    stops: &[Var],
    recorded: Option<&dyn Fn(Inst) -> bool>,
    scope: &str,
) -> Result<Vec<Option<Var>>> {
    with_state(|state| {
        let values =
            |state: &mut State, vars: &[Var]| vars.iter().map(|v| state.value_of(v)).collect::<Result<Vec<_>>>();
        let (targets, sources) = (values(state, targets)?, values(state, sources)?);
        let stops = values(state, stops)?;
        let target_grads = target_grads
            .iter()
            .map(|g| g.as_ref().map(|g| state.value_of(g)).transpose())
            .collect::<Result<Vec<_>>>()?;
        let tracer = state.top()?;
        let request =
            Request { targets: &targets, target_grads: &target_grads, sources: &sources, stops: &stops, recorded };
        let made = tracer.builder.graph().insts.len();
        let found = gradients_in(&mut tracer.builder, &request)?;
        tracer.name_from(made, scope);
        Ok(found.into_iter().map(|v| v.map(|v| tracer.var(v))).collect())
    })
}

/// A cotangent of `like`, as rows where it is a sum of rows that were read.
pub fn as_rows(grad: Var, like: &Var) -> Grad<Var> {
    let Some(s) = grad.as_symbolic().cloned() else { return Grad::Dense(grad) };
    with_state(|state| {
        let Some(tracer) = state.tracers.iter_mut().find(|t| t.id == s.trace) else { return Grad::Dense(grad) };
        let Some(pieces) = row_pieces(tracer.builder.graph(), s.value) else { return Grad::Dense(grad) };
        let pieces = pieces.into_iter().map(|(v, i)| (tracer.var(v), tracer.var(i))).collect();
        Grad::Rows(Box::new(Rows { like: like.clone(), pieces }))
    })
}

/// Calls `f` on the graph of an open trace.
pub fn with_graph_of<R>(trace: u64, f: impl FnOnce(&Graph) -> R) -> Option<R> {
    with_state(|state| state.tracers.iter().find(|t| t.id == trace).map(|t| f(t.builder.graph())))
}

/// Calls `f` on the graph of an open trace, with what gives the tensor that the program holds for a value.
pub fn with_values_of<R>(trace: u64, f: impl FnOnce(&Graph, &dyn Fn(Value) -> Var) -> R) -> Option<R> {
    with_state(|state| {
        let tracer = state.tracers.iter().find(|t| t.id == trace)?;
        Some(f(tracer.builder.graph(), &|value| tracer.handle(value)))
    })
}

/// An open trace: its graph, the regions that are open, what their parameters are in the first iteration of a loop, and
/// what gives the value that an input stands for: what the call that is traced has for it, or what the trace took from
/// outside.
pub(crate) struct OpenTrace<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) open: &'a [Region],
    pub(crate) firsts: &'a FxHashMap<Value, Value>,
    pub(crate) value_of: &'a dyn Fn(Value) -> Option<Var>,
}

/// Calls `f` on an open trace.
pub(crate) fn with_inputs_of<R>(trace: u64, f: impl FnOnce(&OpenTrace<'_>) -> R) -> Option<R> {
    with_state(|state| {
        let tracer = state.tracers.iter().find(|t| t.id == trace)?;
        Some(f(&OpenTrace {
            graph: tracer.builder.graph(),
            open: tracer.builder.open_regions(),
            firsts: &tracer.firsts,
            value_of: &|v| tracer.given.get(&v).or_else(|| tracer.vars.get(&v)).cloned(),
        }))
    })
}

/// Where the innermost trace is in the program.
pub(crate) fn current_loc() -> Loc {
    if !is_tracing() {
        return Loc::UNKNOWN;
    }
    with_state(|state| state.tracers.last().map_or(Loc::UNKNOWN, |t| t.builder.loc()))
}
