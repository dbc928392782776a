//! The one way in: an operation on [`Var`]s runs now, or joins the open trace, and is recorded on tapes.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use penstock_autodiff::{
    Accumulator, CustomVjp, Dispatcher, Given, Grad, Residual, Rows, RowsVjp, Tape, VjpPair, by_rows, jvp_function,
    tangents_of, vjp_function,
};
use penstock_data::{DType, Error, Reserve, Result, Shape, Tensor};
use penstock_exec::{Arg, Executable, Outputs, Variable, is_large};
use penstock_ir::{Attr, Attrs, Builder, Entity, FuncRef, Function, Inst, OpDef, Region, Type, Value, acts};
use penstock_ops::{array, control, list, state};
use smallvec::{SmallVec, smallvec};

use crate::context::{
    self, Recorder, SharedAccumulator, SharedTape, capture, capture_constant, current_loc, host, is_tracing,
    note_trainable, pause_from, recorders_here, tapes_of_trace,
};
use crate::scopes::{open_scope, set_scope};
use crate::telling::told;
use crate::var::{Kind, Var};

/// The results of an operation.
pub type Outs = SmallVec<[Var; 1]>;

/// Names what was traced by the open scope alone: the operator completes the name.
fn name_by_scope(inst: Inst, outs: &[Var]) {
    let scope = open_scope();
    match outs {
        _ if scope.is_empty() => {}
        [out, ..] => context::put_name(out, &scope),
        [] => context::put_scope(inst, scope),
    }
}

/// Whether the operation joins a trace: one is open.
///
/// # Errors
/// `OutOfScope` where none is, and an operand belongs to one.
fn joins_trace(op: &'static OpDef, inputs: &[Var]) -> Result<bool> {
    if is_tracing() {
        return Ok(true);
    }
    match inputs.iter().find_map(|v| v.as_symbolic()) {
        Some(s) => Err(context::out_of_scope(s).in_op(op.name).at(host().loc())),
        None => Ok(false),
    }
}

/// Applies an operator.
///
/// # Errors
/// What inference or the kernel reports, with operator, argument and location.
pub fn dispatch(op: &'static OpDef, inputs: &[Var], attrs: Attrs) -> Result<Outs> {
    Reserve::check().map_err(|e| e.in_op(op.name).at(host().loc()))?;
    if context::is_plain()
        && let Some(tensors) = tensors(inputs)
    {
        return Ok(run_now(op, &tensors, &attrs)?.into_iter().map(Var::eager).collect());
    }
    let outs =
        if joins_trace(op, inputs)? { join(op, inputs, attrs.clone(), &[])?.1 } else { run_eager(op, inputs, &attrs)? };
    if let Some(replaced) = context::overridden(op, &attrs, inputs, &outs)? {
        return Ok(replaced);
    }
    for recorder in recorders_here() {
        match &recorder {
            Recorder::Tape(tape) => lock(tape)
                .record(op, &attrs, inputs, &outs, current_loc())
                .map_err(|e| e.in_op(op.name).at(host().loc()))?,
            Recorder::Forward(_) if !recorder.concerns(inputs) => {}
            Recorder::Forward(acc) => carry(acc, inputs, &outs, |tangents| {
                tangents_of(&mut Live::default(), op, &attrs, inputs, &outs, tangents)
            })?,
        }
    }
    Ok(outs)
}

/// Notes the tangents of an operation's outputs. Recorders outside of the accumulator record what that takes.
fn carry(
    acc: &SharedAccumulator,
    inputs: &[Var],
    outputs: &[Var],
    rule: impl FnOnce(&[Option<Var>]) -> Result<Vec<Option<Var>>>,
) -> Result<()> {
    let _outer = pause_from(&Recorder::Forward(acc.clone()));
    let tangents = lock_forward(acc).tangents(inputs);
    let found = tangents.and_then(|tangents| rule(&tangents));
    lock_forward(acc).note(outputs, found)
}

fn lock_forward(acc: &SharedAccumulator) -> MutexGuard<'_, Accumulator<Var>> {
    acc.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an instruction to the open trace. A panic becomes an error that names the operator.
fn join(op: &'static OpDef, inputs: &[Var], attrs: Attrs, regions: &[Region]) -> Result<(Inst, Outs)> {
    let made = guarded(|| capture(op, inputs, attrs, regions)).map_err(|e| e.in_op(op.name))?;
    name_by_scope(made.0, &made.1);
    Ok(made)
}

/// What adds to the open trace. A panic becomes an error: an instruction is pushed whole, after all that may panic.
fn guarded<T>(add: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(add)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
}

pub(crate) fn lock(tape: &SharedTape) -> MutexGuard<'_, Tape<Var>> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Applies an operator with named attributes.
///
/// # Errors
/// As [`dispatch`].
pub fn apply(op: &'static OpDef, inputs: &[Var], named: &[(&str, Attr)]) -> Result<Outs> {
    dispatch(op, inputs, op.attributes(named)?)
}

/// Adds an instruction with regions to the open trace.
///
/// # Errors
/// What inference reports.
pub fn apply_regions(op: &'static OpDef, inputs: &[Var], attrs: Attrs, regions: &[Region]) -> Result<Outs> {
    let (inst, outs) = join(op, inputs, attrs, regions)?;
    let recorders = recorders_here();
    if !recorders.is_empty() {
        let mut seen = inputs.to_vec();
        seen.extend(context::captured_by(inst)?);
        if recorders.iter().any(|r| matches!(r, Recorder::Forward(_)) && r.concerns(&seen)) {
            // A function carries tangents into and out of its regions.
            let (function, operands) = context::outline(inst)?;
            return call_under(&function, &operands, &recorders);
        }
        let here = inst.index();
        record_segment(std::iter::once(here..here + 1).collect(), seen, outs.to_vec(), &recorders)?;
    }
    Ok(outs)
}

/// Records a part of the innermost trace as one operation. Its gradient goes through the
/// instructions of `part`, and is recorded in the same way, so that outer tapes differentiate it.
fn record_segment(
    part: Vec<Range<usize>>,
    mut inputs: Vec<Var>,
    outputs: Vec<Var>,
    recorders: &[Recorder],
) -> Result<()> {
    // The gradient is by value, however often the part takes it: as an operand and from inside a region, say.
    let mut met: SmallVec<[u64; 8]> = SmallVec::new();
    inputs.retain(|v| {
        let new = !met.contains(&v.id());
        met.push(v.id());
        new
    });
    let make = || -> CustomVjp<Var> {
        let (part, inputs, outputs) = (part.clone(), inputs.clone(), outputs.clone());
        Box::new(move |_, grads, needed| {
            let flowing = |i: usize| grads[i].is_some() && outputs[i].dtype().carries_cotangents();
            let targets: Vec<Var> = (0..outputs.len()).filter(|&i| flowing(i)).map(|i| outputs[i].clone()).collect();
            let cotangents: Vec<Option<Var>> =
                (0..outputs.len()).filter(|&i| flowing(i)).map(|i| grads[i].clone()).collect();
            let wanted: Vec<usize> =
                (0..inputs.len()).filter(|&i| needed[i] && inputs[i].dtype().carries_cotangents()).collect();
            let sources: Vec<Var> = wanted.iter().map(|&i| inputs[i].clone()).collect();
            let start = context::inst_count()?;
            let counts = |i: Inst| part.iter().any(|range| range.contains(&i.index()));
            // What an input is made of in turn is for the recorder to know.
            let found = context::differentiate(&targets, &cotangents, &sources, &inputs, Some(&counts), TAPE_SCOPE)?;
            let mut part = part.clone();
            part.push(start..context::inst_count()?);
            let seen = inputs.iter().cloned().chain(cotangents.into_iter().flatten()).collect();
            record_segment(part, seen, found.iter().flatten().cloned().collect(), &recorders_here())?;
            let mut all = vec![None; inputs.len()];
            for (i, grad) in wanted.into_iter().zip(found) {
                all[i] = grad;
            }
            Ok(all)
        })
    };
    record_custom_on(recorders, &inputs, &outputs, make)
}

/// Runs one operator on tensors now.
///
/// # Errors
/// As [`penstock_exec::eager`].
#[inline]
pub fn run_now(op: &'static OpDef, inputs: &[&Tensor], attrs: &Attrs) -> Result<Outputs> {
    told(host().profiler(), op, || host().loc(), || penstock_exec::eager(op, inputs, attrs, host()))
}

fn run_eager(op: &'static OpDef, inputs: &[Var], attrs: &Attrs) -> Result<Outs> {
    let outs = match tensors(inputs) {
        Some(tensors) => run_now(op, &tensors, attrs)?,
        None => {
            let args = args(inputs)?;
            told(host().profiler(), op, || host().loc(), || penstock_exec::eager_args(op, &args, attrs, host()))?
        }
    };
    Ok(outs.into_iter().map(Var::eager).collect())
}

/// The operands, where all are tensors at hand.
fn tensors(inputs: &[Var]) -> Option<SmallVec<[&Tensor; 4]>> {
    inputs.iter().map(Var::tensor).collect()
}

/// The operands as the executor takes them.
fn args(inputs: &[Var]) -> Result<SmallVec<[Arg; 8]>> {
    inputs.iter().cloned().map(into_arg).collect()
}

fn into_arg(var: Var) -> Result<Arg> {
    match var.into_kind() {
        Kind::Eager(t) => Ok(Arg::Tensor(t)),
        Kind::Variable(v) => Ok(Arg::Variable(v)),
        Kind::Symbolic(s) => Err(context::out_of_scope(&s)),
    }
}

/// A constant: of the open trace, or a tensor at hand.
///
/// # Errors
/// None in practice; those of capture.
pub fn constant(value: Tensor) -> Result<Var> {
    if is_tracing() { guarded(|| capture_constant(value)) } else { Ok(Var::eager(value)) }
}

/// The value of a variable. `trainable` ones are watched by tapes that watch what is read.
///
/// # Errors
/// `FailedPrecondition` where it is not initialised.
pub fn read_variable(variable: &Var, trainable: bool) -> Result<Var> {
    if trainable {
        watch_accessed(&tapes_of_trace(), variable)?;
        note_trainable(variable)?;
    }
    let mut outs = dispatch(&state::READ_VARIABLE, std::slice::from_ref(variable), Attrs::EMPTY)?;
    Ok(outs.remove(0))
}

/// Notes that trainable variables are used, as reading them does.
///
/// # Errors
/// Those of capture.
pub fn note_accessed(variables: &[Var]) -> Result<()> {
    let tapes = tapes_of_trace();
    variables.iter().try_for_each(|variable| {
        watch_accessed(&tapes, variable)?;
        note_trainable(variable)
    })
}

fn watch_accessed(tapes: &[SharedTape], variable: &Var) -> Result<()> {
    for tape in tapes {
        let mut tape = lock(tape);
        if tape.watches_accessed_variables() {
            tape.watch(variable)?;
        }
    }
    Ok(())
}

/// A traced function with what it takes from outside.
pub struct Concrete {
    /// The function: its inputs are the arguments, then the captures.
    pub function: Arc<Function>,
    /// What it takes from outside.
    pub captures: Vec<Var>,
    /// Which inputs are trainable variables that it reads.
    trainable: Vec<usize>,
    executable: OnceLock<Arc<Executable>>,
}

impl Concrete {
    /// A traced function; `trainable` says which inputs are trainable variables that it reads.
    pub fn new(function: Arc<Function>, captures: Vec<Var>, trainable: Vec<usize>) -> Concrete {
        function.set_captures(captures.len());
        Concrete { function, captures, trainable, executable: OnceLock::new() }
    }

    /// Which inputs are trainable variables that it reads.
    pub fn trainable(&self) -> &[usize] {
        &self.trainable
    }

    /// What runs it.
    ///
    /// # Errors
    /// What planning reports.
    pub fn executable(&self) -> Result<&Executable> {
        if let Some(e) = self.executable.get() {
            return Ok(e);
        }
        let made = executable(&self.function)?;
        Ok(self.executable.get_or_init(|| made))
    }

    /// The function, and how many references it has to what was derived from that, for a [`Census`].
    ///
    /// [`Census`]: penstock_ir::Census
    pub fn held(&self) -> (&Arc<Function>, usize) {
        (&self.function, usize::from(self.executable.get().is_some()))
    }

    /// Runs it now, where no trace and no tape is open. Adds the captures to the arguments, may take these, and adds the
    /// results to `outs`.
    ///
    /// # Errors
    /// What running reports.
    #[inline]
    pub fn run(&self, args: &mut Args, outs: &mut SmallVec<[Tensor; 2]>) -> Result<()> {
        self.run_on(args, outs, Arc::clone)
    }

    /// As [`Concrete::run`], with the variable that `cell` gives in place of each one that it takes from outside.
    ///
    /// # Errors
    /// What running reports.
    #[inline]
    pub fn run_on(
        &self,
        args: &mut Args,
        outs: &mut SmallVec<[Tensor; 2]>,
        cell: impl Fn(&Arc<Variable>) -> Arc<Variable>,
    ) -> Result<()> {
        for v in &self.captures {
            args.push(match v.kind() {
                Kind::Eager(t) => Arg::Tensor(t.clone()),
                Kind::Variable(v) => Arg::Variable(cell(v)),
                Kind::Symbolic(s) => return Err(context::out_of_scope(s)),
            });
        }
        let executable = self.executable()?;
        match executable.run_light(args, host(), outs) {
            Some(result) => result,
            None => run(executable, args).map(|found| *outs = found),
        }
    }

    /// Calls it: runs it now, or adds a call to the open trace.
    ///
    /// # Errors
    /// What running or inference reports.
    pub fn call(&self, args: SmallVec<[Var; 8]>) -> Result<Outs> {
        let operands: SmallVec<[Var; 8]> = args.into_iter().chain(self.captures.iter().cloned()).collect();
        if !self.trainable.is_empty() {
            let tapes = tapes_of_trace();
            for &i in &self.trainable {
                watch_accessed(&tapes, &operands[i])?;
                note_trainable(&operands[i])?;
            }
        }
        call_under(&self.function, &operands, &recorders_here())
    }
}

/// The arguments of a run: arguments of a call, then captures.
pub type Args = SmallVec<[Arg; 10]>;

/// The executable of a function.
fn executable(function: &Arc<Function>) -> Result<Arc<Executable>> {
    if !is_large(function) {
        return penstock_exec::executable(function, host());
    }
    by_host(|| penstock_exec::executable(function, host()))
}

/// Does what takes time and memory in proportion to a function's graph, where that is large by way of the host.
pub(crate) fn on_graph<R: Send + 'static>(
    function: &Arc<Function>,
    work: impl FnOnce(&Arc<Function>) -> Result<R> + Send + 'static,
) -> Result<R> {
    if !is_large(function) {
        return work(function);
    }
    by_host(|| penstock_exec::on_graph(function, host(), work))
}

/// Does what is long: the host lets go of its lock meanwhile.
fn by_host<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let (mut work, mut result) = (Some(work), None);
    host().run_long(&mut || result = work.take().map(|work| work()));
    result.unwrap_or_else(|| Err(Error::internal("the host did not run the work")))
}

/// Runs a plan: here where it is light, else by way of the host.
fn run(executable: &Executable, args: &[Arg]) -> Result<SmallVec<[Tensor; 2]>> {
    if executable.is_light() {
        return executable.run(args, host());
    }
    by_host(|| executable.run(args, host()))
}

/// Calls a function with all its inputs, recorded by the tapes that are active.
///
/// # Errors
/// What running or inference reports.
pub fn call(function: &Arc<Function>, operands: &[Var]) -> Result<Outs> {
    call_under(function, operands, &recorders_here())
}

/// Calls a function so that `recorders` can differentiate it. The innermost that an operand concerns
/// takes the call: a tape calls the forward function of its pair, which also gives what the backward
/// function needs, an accumulator the function that carries tangents along; either under the recorders
/// outside of it.
fn call_under(function: &Arc<Function>, operands: &[Var], recorders: &[Recorder]) -> Result<Outs> {
    let Some(innermost) = recorders.iter().rposition(|r| r.concerns(operands)) else {
        return call_plain(function, operands);
    };
    let outer = &recorders[..innermost];
    match &recorders[innermost] {
        Recorder::Tape(tape) if is_tracing() && lock(tape).is_persistent() => {
            call_in_trace(function, operands, &recorders[..=innermost])
        }
        Recorder::Tape(tape) => call_taped(function, operands, tape, outer),
        Recorder::Forward(acc) => call_forward(function, operands, acc, outer),
    }
}

fn call_forward(
    function: &Arc<Function>,
    operands: &[Var],
    acc: &SharedAccumulator,
    outer: &[Recorder],
) -> Result<Outs> {
    let count = function.signature().results.len();
    let tangents = lock_forward(acc).tangents(operands);
    let made = tangents.and_then(|tangents| {
        let active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let made = on_graph(function, move |function| jvp_function(function, &active))?;
        Ok((made, tangents))
    });
    let (forward, tangents) = match made {
        Ok(made) => made,
        Err(error) if error.is_of_host() => return Err(error),
        // Not being differentiable is no fault until somebody asks for the tangent.
        Err(error) => {
            let outs = call_under(function, operands, outer)?;
            lock_forward(acc).note(&outs, Err(error))?;
            return Ok(outs);
        }
    };
    let mut all = operands.to_vec();
    all.extend(tangents.into_iter().zip(&forward.inputs).filter_map(|(tangent, has)| tangent.filter(|_| *has)));
    let results = call_under(&forward.function, &all, outer)?;
    let outs: Outs = results[..count].into();
    let tangents = forward.tangents.iter().map(|t| t.map(|i| results[i].clone())).collect();
    lock_forward(acc).note(&outs, Ok(tangents))?;
    Ok(outs)
}

/// A derivative of a call that a tape has taken: it carries cotangents of the outputs of `of` to the inputs.
struct CallVjp {
    /// What is differentiated: the function, or one that also keeps what its derivatives read.
    of: Arc<Function>,
    pair: Arc<VjpPair>,
    backward: Arc<Function>,
    /// For each input, how `backward` gives its cotangent.
    given: Vec<Option<Given>>,
}

impl CallVjp {
    /// `None` where no input gets a cotangent.
    fn new(of: &Arc<Function>, needed: &[bool], flowing: &[bool]) -> Result<Option<CallVjp>> {
        let (needed, flowing) = (needed.to_vec(), flowing.to_vec());
        let pair = on_graph(of, move |of| vjp_function(of, &needed, &flowing))?;
        let Some(backward) = pair.backward.clone() else { return Ok(None) };
        // A function that is being defined, which calls itself, gives no rows.
        let (backward, given) = if backward.graph().is_some() {
            let rows = on_graph(&backward, by_rows)?;
            (rows.function(&backward).clone(), rows.given.clone())
        } else {
            let whole = (0..backward.signature().results.len()).map(Given::Whole).collect();
            (backward, whole)
        };
        let given = pair.grads.iter().map(|place| place.map(|place| given[place].clone())).collect();
        Ok(Some(CallVjp { of: of.clone(), pair, backward, given }))
    }

    /// What runs in place of the function: it gives what that gives, and what the derivative reads.
    fn forward(&self) -> &Arc<Function> {
        self.pair.forward(&self.of)
    }

    fn residuals(&self, operands: &[Var], results: &[Var]) -> Vec<Var> {
        let value = |r: &Residual| match *r {
            Residual::Input(i) => operands[i].clone(),
            Residual::Output(i) => results[i].clone(),
        };
        self.pair.residuals.iter().map(value).collect()
    }

    /// The cotangents of `operands` from those of the outputs of `of` that have one.
    fn run(&self, mut args: Vec<Var>, grads: Vec<Var>, operands: &[Var]) -> Result<Vec<Option<Grad<Var>>>> {
        args.extend(grads);
        let found = call(&self.backward, &args)?;
        let cotangent = |(given, like): (&Option<Given>, &Var)| {
            Some(match given.as_ref()? {
                Given::Whole(i) => Grad::Dense(found[*i].clone()),
                Given::Rows(pieces) => {
                    let pieces = pieces.iter().map(|&(v, i)| (found[v].clone(), found[i].clone())).collect();
                    Grad::Rows(Box::new(Rows { like: like.clone(), pieces }))
                }
            })
        };
        Ok(self.given.iter().zip(operands).map(cotangent).collect())
    }
}

/// Of how many orders the derivatives of a call are prepared that cannot be made again: it draws random numbers, say.
const ORDERS: usize = 4;

/// A call that a tape takes. On a persistent tape the gradient may be taken while the tape records, and then what the
/// derivative reads is differentiated in turn. So all outputs of the forward function are recorded there, and their own
/// derivative comes from another run of it, on the operands as they were. A function with effects is run only once: its
/// forward function keeps what the derivatives of the next orders read as well.
fn call_taped(function: &Arc<Function>, operands: &[Var], tape: &SharedTape, outer: &[Recorder]) -> Result<Outs> {
    let (needed, persistent): (Vec<bool>, bool) = {
        let tape = lock(tape);
        (operands.iter().map(|v| tape.is_watched(v.id())).collect(), tape.is_persistent())
    };
    let count = function.signature().results.len();
    let first = match CallVjp::new(function, &needed, &vec![true; count]) {
        Ok(Some(first)) => first,
        Ok(None) => return call_under(function, operands, outer),
        Err(error) if error.is_of_host() => return Err(error),
        // Not being differentiable is no fault until somebody asks for the gradient.
        Err(error) => {
            let outs = call_under(function, operands, outer)?;
            lock(tape).record_custom(operands, &outs, Box::new(move |_, _, _| Err(error.clone())))?;
            return Ok(outs);
        }
    };
    let again = persistent && !acts(function);
    let mut orders = vec![first];
    while persistent && !again && orders.len() < ORDERS {
        let last = orders[orders.len() - 1].forward();
        if Arc::ptr_eq(last, &orders[orders.len() - 1].of) {
            break;
        }
        let Ok(Some(next)) = CallVjp::new(last, &needed, &vec![true; last.signature().results.len()]) else { break };
        orders.push(next);
    }
    let kept = if again { operands.iter().map(as_it_is).collect::<Result<_>>()? } else { Vec::new() };
    let all = call_under(orders[orders.len() - 1].forward(), operands, outer)?;
    let outs: Outs = all[..count].into();
    let recorded: Outs = if persistent { all.clone() } else { outs.clone() };
    let likes = operands.to_vec();
    let residuals: Vec<Vec<Var>> = orders.iter().map(|order| order.residuals(operands, &all)).collect();
    let flowing = recorded.clone();
    let vjp: RowsVjp<Var> = Box::new(move |_, grads, _| {
        let reach = grads.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let order = orders.iter().position(|order| reach <= order.of.signature().results.len());
        if let Some(order) = order {
            let mut seeds = Vec::new();
            for (grad, out) in grads.iter().zip(&flowing).take(orders[order].of.signature().results.len()) {
                match grad {
                    Some(g) => seeds.push(g.clone()),
                    None if out.dtype().carries_cotangents() => seeds.push(zeros_like(out)?),
                    None => {}
                }
            }
            return orders[order].run(residuals[order].clone(), seeds, &likes);
        }
        if !again {
            return Err(Error::unimplemented(format!(
                "a persistent tape gives no derivative of order {} of a call of {}, which has effects; nest tapes instead",
                orders.len() + 1,
                orders[0].of.name()
            )));
        }
        let flows: Vec<bool> = grads.iter().map(Option::is_some).collect();
        let Some(next) = CallVjp::new(orders[0].forward(), &needed, &flows)? else {
            return Ok(vec![None; likes.len()]);
        };
        let results = call(next.forward(), &kept)?;
        next.run(next.residuals(&kept, &results), grads.iter().flatten().cloned().collect(), &likes)
    });
    lock(tape).record_rows(operands, &recorded, vjp)?;
    Ok(outs)
}

/// A value that stays what it is now, with the same identity: a variable's is put into another one.
fn as_it_is(operand: &Var) -> Result<Var> {
    match operand.kind() {
        Kind::Variable(v) if v.is_initialized() => {
            let now = Variable::new(v.name(), v.dtype(), v.shape().clone(), Some(v.read()?))?;
            Ok(operand.holding(now))
        }
        _ => Ok(operand.clone()),
    }
}

/// A call in a trace is an instruction of it, which the graph differentiates, to any order.
fn call_in_trace(function: &Arc<Function>, operands: &[Var], recorders: &[Recorder]) -> Result<Outs> {
    let (inst, outs) = join_call(function, operands)?;
    let here = inst.index();
    record_segment(std::iter::once(here..here + 1).collect(), operands.to_vec(), outs.to_vec(), recorders)?;
    Ok(outs)
}

/// Zeros of the type of a value: for a list, one of as many elements that are zero.
///
/// # Errors
/// What the operators report.
pub fn zeros_like(value: &Var) -> Result<Var> {
    let first = |outs: Outs| outs.into_iter().next().ok_or_else(|| Error::internal("an operator without result"));
    if value.dtype() == DType::Variant {
        let length = first(apply(&list::LIST_LENGTH, std::slice::from_ref(value), &[])?)?;
        return first(apply(&list::LIST_NEW, &[length], &[])?);
    }
    first(apply(&array::ZEROS_LIKE, std::slice::from_ref(value), &[])?)
}

fn call_plain(function: &Arc<Function>, operands: &[Var]) -> Result<Outs> {
    if joins_trace(&control::CALL, operands)? {
        return Ok(join_call(function, operands)?.1);
    }
    let outs = run(&*executable(function)?, &args(operands)?)?;
    Ok(outs.into_iter().map(Var::eager).collect())
}

/// Adds a call to the open trace. Its results have the shapes that they have for these operands.
fn join_call(function: &Arc<Function>, operands: &[Var]) -> Result<(Inst, Outs)> {
    let attrs = Attrs(smallvec![Attr::Func(FuncRef::called(function))]);
    let made = join(&control::CALL, operands, attrs, &[])?;
    for (out, shape) in made.1.iter().zip(shapes_of_call(function, operands).unwrap_or_default()) {
        context::refine(out, &shape)?;
    }
    Ok(made)
}

/// The shapes of a function's results for these operands, of which some are known or of narrower types than it
/// demands. `None` where nothing is gained, or a long function would have to be gone through.
fn shapes_of_call(function: &Function, operands: &[Var]) -> Option<Vec<Shape>> {
    const LONGEST: usize = 1 << 12;
    let graph = function.graph().filter(|graph| graph.insts.len() <= LONGEST)?;
    if function.signature().results.iter().all(|ty| ty.shape().is_static()) {
        return None;
    }
    let known: Vec<Option<Tensor>> = operands.iter().map(context::known).collect();
    let narrower = |(var, ty): (&Var, &Type)| !ty.shape().is_static() && var.shape() != ty.shape().erased();
    if known.iter().all(Option::is_none) && !operands.iter().zip(&function.signature().params).any(narrower) {
        return None;
    }
    let mut builder = Builder::new(&control::CONST);
    let given = operands.iter().zip(known).map(|(var, known)| match known {
        Some(value) => builder.constant(value),
        None => builder.input(var.ty().with_shape(var.shape().erased()), None),
    });
    let given: Vec<Value> = given.collect();
    let results = builder.inline(graph, &given).ok()?;
    Some(results.iter().map(|&v| builder.graph().ty(v).shape().erased()).collect())
}

/// Records an operation with a gradient of its own wherever an input is of interest; `make` gives each
/// tape its own copy of the gradient.
///
/// # Errors
/// `ResourceExhausted` where there is no memory for the record.
pub fn record_custom(inputs: &[Var], outputs: &[Var], make: impl Fn() -> CustomVjp<Var>) -> Result<()> {
    record_custom_on(&recorders_here(), inputs, outputs, make)
}

fn record_custom_on(
    recorders: &[Recorder],
    inputs: &[Var],
    outputs: &[Var],
    make: impl Fn() -> CustomVjp<Var>,
) -> Result<()> {
    for recorder in recorders {
        if !recorder.concerns(inputs) {
            continue;
        }
        match recorder {
            Recorder::Tape(tape) => {
                let vjp = make();
                lock(tape).record_custom(inputs, outputs, vjp)?;
            }
            Recorder::Forward(acc) => carry(acc, inputs, outputs, |tangents| transposed(&make(), outputs, tangents))?,
        }
    }
    Ok(())
}

/// The tangents of outputs from a gradient: it is linear in the cotangents of the outputs, whatever
/// these are, and its transpose carries tangents forward.
fn transposed(vjp: &CustomVjp<Var>, outputs: &[Var], tangents: &[Option<Var>]) -> Result<Vec<Option<Var>>> {
    let tape = Arc::new(Mutex::new(Tape::new(false, false)));
    let mut seeds: Vec<Option<Var>> = Vec::new();
    for output in outputs {
        let seed = if output.dtype().is_differentiable() { Some(zeros_like(output)?) } else { None };
        if let Some(seed) = &seed {
            lock(&tape).watch(seed)?;
        }
        seeds.push(seed);
    }
    let needed: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    let recording = context::record_with(Recorder::Tape(tape.clone()));
    let cotangents = vjp(&mut Live::default(), &seeds, &needed);
    drop(recording);
    let (targets, weights): (Vec<Var>, Vec<Option<Var>>) = cotangents?
        .into_iter()
        .zip(tangents)
        .filter_map(|(cotangent, tangent)| Some((cotangent?, Some(tangent.clone()?))))
        .unzip();
    let sources: Vec<Var> = seeds.iter().flatten().cloned().collect();
    let backward = lock(&tape).backward(&targets, &sources)?;
    let mut found = backward.run(&weights, &mut Live::default())?.into_iter();
    Ok(seeds.iter().map(|seed| seed.as_ref().and_then(|_| found.next().flatten())).collect())
}

/// The gradients of `targets` by `sources` in the innermost trace, through all of its instructions but
/// those that make `stops`.
///
/// # Errors
/// `FailedPrecondition` outside of a trace; else as [`penstock_autodiff::gradients_in`].
pub fn gradients(
    targets: &[Var],
    target_grads: &[Option<Var>],
    sources: &[Var],
    stops: &[Var],
) -> Result<Vec<Option<Var>>> {
    if !is_tracing() {
        return Err(Error::precondition("gradients of a graph exist only while a function is traced"));
    }
    crate::later::settle(None)?;
    let scope = crate::scopes::open_scope();
    let scope = if scope.is_empty() { TAPE_SCOPE } else { &scope };
    let found = context::differentiate(targets, target_grads, sources, stops, None, scope)?;
    let seen: Vec<Var> = sources.iter().chain(target_grads.iter().flatten()).cloned().collect();
    let outputs: Vec<Var> = found.iter().flatten().cloned().collect();
    record_program(&seen, &outputs, &recorders_here())?;
    Ok(found)
}

/// Records what the trace holds so far, a gradient included, as one operation: of all that a tape watches, or of `seen`.
pub(crate) fn record_program(seen: &[Var], outputs: &[Var], recorders: &[Recorder]) -> Result<()> {
    for recorder in recorders {
        let inputs = match recorder {
            Recorder::Tape(tape) => lock(tape).roots().to_vec(),
            Recorder::Forward(_) => seen.to_vec(),
        };
        let all = 0..context::inst_count()?;
        record_segment(vec![all], inputs, outputs.to_vec(), std::slice::from_ref(recorder))?;
    }
    Ok(())
}

/// The scope of names of gradients that a tape takes.
const TAPE_SCOPE: &str = "gradient_tape/";

/// Runs what vjp rules emit through [`dispatch`], so that outer tapes record it. In a trace the gradient of an operation is in the
/// scope of names `gradient_tape/`, and in that of the operation within it, as in TensorFlow.
#[derive(Default)]
pub struct Live {
    /// The scope around.
    around: Option<Arc<str>>,
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(around) = self.around.take() {
            set_scope(&around);
        }
    }
}

impl Dispatcher<Var> for Live {
    fn execute(&mut self, op: &'static OpDef, inputs: &[Var], attrs: Attrs) -> Result<SmallVec<[Var; 1]>> {
        if op.is(&control::CALL) {
            return call(&attrs.func(0).get()?, inputs);
        }
        dispatch(op, inputs, attrs)
    }

    fn constant(&mut self, value: Tensor) -> Result<Var> {
        constant(value)
    }

    fn type_of(&self, value: &Var) -> Type {
        value.ty()
    }

    fn known(&self, value: &Var) -> Option<Tensor> {
        context::known(value)
    }

    fn differentiates(&mut self, outputs: &[Var]) {
        if context::is_tracing() {
            self.around.get_or_insert_with(open_scope);
            set_scope(&format!("gradient_tape/{}", outputs.first().map(context::scope_of).unwrap_or_default()));
        }
    }
}
