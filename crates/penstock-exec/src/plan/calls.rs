//! Calls of functions that recurse. The runs that wait for one another stand on a stack on the heap, so that how deep
//! they go does not depend on the thread's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use penstock_data::{Error, Result, Tensor};
use penstock_ir::{Activity, Env, Function, Profiler, Span};
use penstock_passes::evaluate::check_promise;
use smallvec::SmallVec;

use super::step::{CallArg, CallStep, Step};
use super::walk::{Halt, Place};
use super::{Frame, Plan};
use crate::executable::executable;
use crate::variable::Arg;

/// Runs that may wait for one another: recursion beyond is an error.
const MAX_OPEN: usize = 100_000;
/// Calls between two polls of the host.
const POLL_CALLS: u32 = 64;

/// A run that stands at one of its steps.
struct Run {
    plan: Arc<Plan>,
    frame: Box<Frame>,
    args: SmallVec<[Arg; 4]>,
    at: usize,
}

/// Tells a profiler of calls: of each from where it begins to where the next one does. Where telling takes too large a part of the
/// time, not all calls are told.
struct Told<'a> {
    profiler: Option<&'a dyn Profiler>,
    /// The last call that has begun, where it is told.
    call: Option<(Instant, Arc<Function>, Arc<Plan>)>,
    /// Whether steps are told: of the run that the calls are in, until the first of them, and then of those that are told.
    steps: bool,
}

impl<'a> Told<'a> {
    fn new(profiler: Option<&'a dyn Profiler>) -> Told<'a> {
        Told { profiler, call: None, steps: true }
    }

    /// A call begins.
    fn begin(&mut self, function: &Arc<Function>, plan: &Arc<Plan>) {
        self.end(false);
        if let Some(profiler) = self.profiler {
            self.steps = profiler.takes(&plan.tellings().calls);
            self.call = self.steps.then(|| (Instant::now(), function.clone(), plan.clone()));
        }
    }

    /// The last call ends, or the next one begins.
    fn end(&mut self, failed: bool) {
        if let (Some(profiler), Some((began, function, plan))) = (self.profiler, self.call.take()) {
            let span = Span::since(began, Activity::Call, function.name()).failed(failed);
            profiler.ended(&span.paced(&plan.tellings().calls));
        }
    }

    /// Who is told of steps.
    fn of_steps(&self) -> Option<&'a dyn Profiler> {
        self.profiler.filter(|_| self.steps)
    }
}

/// Goes on with a run that stands at a call, to its end, and adds its results to `outputs`.
pub(super) fn run(
    plan: &Arc<Plan>,
    frame: Box<Frame>,
    args: &[Arg],
    at: usize,
    env: &dyn Env,
    profiler: Option<&dyn Profiler>,
    outputs: &mut SmallVec<[Tensor; 2]>,
) -> Result<()> {
    let mut open = vec![Run { plan: plan.clone(), frame, args: args.into(), at }];
    let mut told = Told::new(profiler);
    let result = go_on(&mut open, env, &mut told, outputs);
    told.end(result.is_err());
    result.map_err(|error| open.iter().rev().fold(error, |e, run| run.plan.locate(e, run.at, &run.frame.iterations)))
}

/// Runs until the first of the open runs has ended. On an error each stands where it came to.
fn go_on(open: &mut Vec<Run>, env: &dyn Env, told: &mut Told<'_>, outputs: &mut SmallVec<[Tensor; 2]>) -> Result<()> {
    let mut calls = 0u32;
    loop {
        let depth = open.len();
        let caller = last(open)?;
        let step = call_at(&caller.plan, caller.at)?;
        // Each walk has a budget of its own, so that recursion would never exhaust one.
        calls += 1;
        if calls.is_multiple_of(POLL_CALLS) {
            env.poll()?;
        }
        if depth >= MAX_OPEN {
            return Err(Error::exhausted(format!(
                "the function '{}' calls itself too deeply: {MAX_OPEN} of its calls, and of those between them, have \
                 not returned",
                step.function.get()?.name()
            )));
        }
        let args: SmallVec<[Arg; 4]> = step
            .args
            .iter()
            .map(|arg| match arg {
                CallArg::Reg(r) => Arg::Tensor(caller.frame.regs[*r as usize].clone()),
                CallArg::Variable(i) => caller.args[*i].clone(),
            })
            .collect();
        let function = step.function.get()?;
        let plan = executable(&function, env)?.plan(&args, env)?;
        told.begin(&function, &plan);
        let frame = plan.enter(&args)?;
        open.push(Run { plan, frame, args, at: 0 });
        while !walked(last(open)?, env, told.of_steps())? {
            let Some(ended) = open.pop() else { break };
            if open.is_empty() {
                ended.plan.leave(ended.frame, outputs);
                return Ok(());
            }
            let mut results = SmallVec::new();
            ended.plan.leave(ended.frame, &mut results);
            let Run { plan, frame, at, .. } = last(open)?;
            let step = call_at(plan, *at)?;
            for (i, (result, (&out, ty))) in results.into_iter().zip(step.outs.iter().zip(&step.types)).enumerate() {
                check_promise(i, &result, ty)?;
                frame.regs[out as usize] = result;
            }
            *at += 1;
        }
    }
}

/// Walks on; whether the run has come to a call, rather than to its end.
fn walked(run: &mut Run, env: &dyn Env, profiler: Option<&dyn Profiler>) -> Result<bool> {
    let Run { plan, frame, args, at } = run;
    let mut place = Place::new(*at);
    // A frame that a panic or an error leaves behind is dropped, never used again.
    let halt = catch_unwind(AssertUnwindSafe(|| plan.walk(frame, args, env, profiler, &mut place)))
        .unwrap_or_else(|panic| Err(Error::of_panic(&*panic)));
    *at = place.at;
    Ok(halt? == Halt::Call)
}

fn last(open: &mut [Run]) -> Result<&mut Run> {
    open.last_mut().ok_or_else(|| Error::internal("no run is open"))
}

fn call_at(plan: &Plan, at: usize) -> Result<&CallStep> {
    match plan.steps.get(at) {
        Some(Step::Call(step)) => Ok(step),
        _ => Err(Error::internal("the run stands at no call")),
    }
}
