//! Plans: a graph for exact input types, lowered to a flat list of steps over numbered registers.
//!
//! A register holds a tensor, and keeps its memory from run to run. Which values share a register is
//! decided ahead, by liveness.

mod calls;
mod concurrent;
mod device;
mod device_loop;
mod frame;
mod frame_pool;
mod horizontal;
mod kernel;
mod lower;
mod memory;
mod native;
mod pipeline;
mod registers;
mod run;
mod small_broadcast;
mod step;
mod telling;
mod walk;

use std::sync::{Arc, OnceLock};

use penstock_data::{DType, Dims, Loc, Result, Tensor};
use penstock_ir::{Counter, Inst, Pace, Verified};
use penstock_passes::{Options, Thresholds};

use crate::device::{Device, Recorder};
pub(crate) use frame::Reg;
use frame_pool::FramePool;
use step::Change;
pub use step::STEP_KINDS;
pub(crate) use step::Step;
use telling::Tellings;

/// What a register holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// A tensor of exactly this type, small enough to lie in the register itself.
    Inline(DType, Dims),
    /// Tensors of this many bytes.
    Bytes(usize),
    /// Any tensor.
    Any,
    /// A constant, never written.
    Constant,
    /// An argument, never written.
    Argument,
}

/// The instructions of an optimised graph that the steps of its plan run together, each list with what runs them.
pub(crate) fn together(graph: &Verified, captures: usize, options: &Options) -> Result<Vec<(String, Vec<Inst>)>> {
    let lowered = lower::lower(graph, captures, options, None)?;
    let named = |step: &Step| match step {
        Step::Pipeline(pipeline) => format!("pipeline, {}", pipeline.summary()),
        Step::RowLoop(_) => "row loop, each thread with rows of its own".to_owned(),
        _ => "kernels at the same time".to_owned(),
    };
    Ok(lowered.together.into_iter().map(|(step, insts)| (named(&lowered.steps[step as usize]), insts)).collect())
}

/// A graph made ready to run.
pub(crate) struct Plan {
    steps: Vec<Step>,
    /// The operator and the location behind each step.
    origins: Vec<(&'static str, Loc)>,
    kinds: Vec<Kind>,
    constants: Vec<(Reg, Tensor)>,
    /// `(register, position of the argument)`.
    arguments: Vec<(Reg, usize)>,
    outputs: Vec<Output>,
    /// Registers that may share their memory with something that outlives the run.
    sweep: Vec<Reg>,
    /// Estimated nanoseconds of a run; `None` where it has loops or calls.
    cost: Option<u64>,
    /// Bytes of the registers of known size.
    planned_bytes: usize,
    /// The number of loops; one comes before the loop that it is in.
    loops: usize,
    /// Those for which it was made.
    thresholds: Thresholds,
    /// Who is told of its runs, where it is a device's.
    recorder: Option<Arc<dyn Recorder>>,
    frames: FramePool<Frame>,
    /// How a profiler is told of its steps and loops; made for the first that asks.
    tellings: OnceLock<Tellings>,
    /// How often its runs are told.
    pace: Arc<Pace>,
}

/// One output of a plan.
struct Output {
    reg: Reg,
    /// Whether the tensor can leave its register.
    take: bool,
}

/// The registers of one run.
struct Frame {
    regs: Box<[Tensor]>,
    /// For each loop, the finished iterations since it was entered.
    iterations: Box<[u64]>,
}

impl Plan {
    /// Counts the references to functions and host code that it holds.
    pub(crate) fn count(&self, census: &mut dyn Counter) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Kernel(kernel) => census.attrs(&kernel.attrs),
            Step::Assign(assign) => match &assign.change {
                Change::Part { attrs, .. } => census.attrs(attrs),
                _ => true,
            },
            Step::Call(call) => census.callee(&call.function),
            _ => true,
        })
    }

    /// Lowers an optimised graph, the last inputs of which, `captures`, are likely to be the same at each run. What `device` has
    /// code for, it runs.
    pub(crate) fn new(
        graph: &Verified,
        captures: usize,
        options: &Options,
        device: Option<&Arc<dyn Device>>,
    ) -> Result<Plan> {
        let lowered = lower::lower(graph, captures, options, device)?;
        let mut plan = registers::assign(lowered, options.thresholds)?;
        plan.recorder = device.and_then(|device| device.recorder());
        Ok(plan)
    }

    /// Estimated nanoseconds of a run; `None` where it has loops or calls.
    pub(crate) fn cost(&self) -> Option<u64> {
        self.cost
    }

    /// How often its runs are told to a profiler.
    pub(crate) fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }

    /// Bytes of the registers of known size that a run leaves for the next.
    pub(crate) fn kept_bytes(&self) -> usize {
        if self.planned_bytes > self.thresholds.kept_bytes { 0 } else { self.planned_bytes }
    }

    /// The listing, for people.
    pub(crate) fn text(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for (r, kind) in self.kinds.iter().enumerate() {
            let _ = writeln!(out, "r{r}: {kind:?}");
        }
        for (i, (step, (op, loc))) in self.steps.iter().zip(&self.origins).enumerate() {
            let _ = write!(out, "{i:4}  {step:?}  ; {op}");
            let _ = if loc.is_unknown() { writeln!(out) } else { writeln!(out, " {loc}") };
        }
        let outputs: Vec<String> = self.outputs.iter().map(|o| format!("r{}", o.reg)).collect();
        let _ = writeln!(out, "return {}", outputs.join(", "));
        out
    }
}
