//! Calls of functions that recurse. The runs that wait for one another stand on a stack on the heap, so that how deep
//! they go does not depend on the thread's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use penstock_data::{Error, Result, Tensor};
use penstock_ir::{Activity, Env, Profiler, Span};
use penstock_passes::evaluate::check_promise;
use smallvec::SmallVec;

use super::step::{CallArg, CallStep, Step};
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
    /// When it began, where a profiler is told of it.
    began: Option<Instant>,
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
    let mut open = vec![Run { plan: plan.clone(), frame, args: args.into(), at, began: None }];
    go_on(&mut open, env, profiler, outputs)
        .map_err(|error| open.iter().rev().fold(error, |e, run| run.plan.locate(e, run.at, &run.frame.iterations)))
}

/// Runs until the first of the open runs has ended. On an error each stands where it came to.
fn go_on(
    open: &mut Vec<Run>,
    env: &dyn Env,
    profiler: Option<&dyn Profiler>,
    outputs: &mut SmallVec<[Tensor; 2]>,
) -> Result<()> {
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
        let plan = executable(&step.function.get()?, env)?.plan(&args, env)?;
        let frame = plan.enter(&args)?;
        open.push(Run { plan, frame, args, at: 0, began: profiler.map(|_| Instant::now()) });
        while !walked(last(open)?, env, profiler)? {
            let Some(ended) = open.pop() else { break };
            if open.is_empty() {
                ended.plan.leave(ended.frame, outputs);
                return Ok(());
            }
            let mut results = SmallVec::new();
            ended.plan.leave(ended.frame, &mut results);
            let Run { plan, frame, at, .. } = last(open)?;
            let step = call_at(plan, *at)?;
            if let (Some(began), Some(profiler)) = (ended.began, profiler) {
                profiler.ended(&Span::since(began, Activity::Function, step.function.get()?.name()));
            }
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
    let Run { plan, frame, args, at, .. } = run;
    // A frame that a panic or an error leaves behind is dropped, never used again.
    catch_unwind(AssertUnwindSafe(|| plan.walk(frame, args, env, profiler, at)))
        .unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
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
