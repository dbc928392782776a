//! Kernels that do not depend on each other, at the same time.
//!
//! Most kernels share their loops with all threads. A factorisation or a sort has less to share. Where a graph has several such
//! kernels that do not wait for each other, each thread takes one; who finds none left helps with the loops of those that
//! still run.

#![expect(unsafe_code, reason = "threads share the registers")]

use std::sync::OnceLock;

use penstock_data::{Error, Loc, Result};
use penstock_ir::{Cost, Cpu, Graph, Inst, NoEnv, Type, Value, effects_of};
use penstock_kernels::pool;
use penstock_ops::fused::FUSED;
use penstock_passes::Thresholds;
use rustc_hash::FxHashSet;

use super::frame::Regs;
use super::kernel::run_kernel;
use super::step::KernelStep;
use crate::work;

/// How many instructions are looked at for one step.
const WINDOW: usize = 128;

/// Kernels that run at the same time.
pub(crate) struct ConcurrentStep {
    pub(crate) kernels: Vec<(KernelStep, &'static str, Loc)>,
    /// Estimated nanoseconds on one thread.
    pub(crate) nanoseconds: u64,
    /// Whether it is offloaded.
    pub(crate) heavy: bool,
}

/// What runs at the same time, of the first instructions of a list.
pub(super) struct Found {
    pub(super) insts: Vec<Inst>,
    /// Estimated nanoseconds on one thread.
    pub(super) nanoseconds: u64,
    /// How many instructions that are, with those in between.
    pub(super) taken: usize,
    /// Those in between: those that can run before, and those that have to run behind.
    pub(super) before: Vec<Inst>,
    pub(super) behind: Vec<Inst>,
}

/// The first of `insts` and what can run at the same time; `None` where there is nothing. `is_kernel` says of those
/// with kernels which are lowered as such.
pub(super) fn find(
    graph: &Graph,
    insts: &[Inst],
    least: &Thresholds,
    is_kernel: &dyn Fn(Inst) -> bool,
) -> Option<Found> {
    let long = |inst: Inst| long(graph, inst, least).filter(|_| is_kernel(inst));
    let (&first, rest) = insts.split_first()?;
    let nanoseconds = long(first)?;
    let mut found = Found { insts: vec![first], nanoseconds, taken: 1, before: Vec::new(), behind: Vec::new() };
    let mut late: FxHashSet<Value> = graph.insts[first].results.iter().copied().collect();
    // Up to the last that might run at the same time as another.
    let mut counted = (0, 0);
    for (i, &inst) in rest.iter().take(WINDOW).enumerate() {
        let data = &graph.insts[inst];
        if (!data.regions.is_empty() && !data.op.is(&FUSED)) || effects_of(graph, inst).acts() {
            break;
        }
        let (long, waits) = (long(inst), data.operands.iter().any(|v| late.contains(v)));
        let list = match long {
            _ if waits => &mut found.behind,
            Some(ns) => {
                found.nanoseconds += ns;
                &mut found.insts
            }
            None => &mut found.before,
        };
        list.push(inst);
        if waits || long.is_some() {
            late.extend(&data.results);
        }
        if long.is_some() {
            (found.taken, counted) = (i + 2, (found.before.len(), found.behind.len()));
        }
    }
    found.before.truncate(counted.0);
    found.behind.truncate(counted.1);
    (found.insts.len() > 1).then_some(found)
}

/// The estimated nanoseconds of a kernel without effects that computes for long enough.
fn long(graph: &Graph, inst: Inst, least: &Thresholds) -> Option<u64> {
    let data = &graph.insts[inst];
    // Products are shared by all threads at no loss, and what they pack is then packed once.
    let shares = matches!(data.op.cost, Cost::Shared(_));
    let runs_anywhere = data.op.effects.is_empty() && data.attrs.hosts().next().is_none();
    if shares || !runs_anywhere || !matches!(data.op.cpu, Cpu::Kernel(_)) {
        return None;
    }
    let types = |values: &[Value]| values.iter().map(|&v| graph.ty(v).clone()).collect::<Vec<Type>>();
    let (ins, outs) = (types(&data.operands), types(&data.results));
    let elements = |types: &[Type]| types.iter().filter_map(|t| t.shape().num_elements()).sum::<usize>();
    let ns = work::nanoseconds(data.op.0, &data.attrs, &ins, &outs)?;
    let moved = elements(&ins).max(elements(&outs)) as f64;
    (ns >= least.concurrent_ns as f64 && ns >= least.concurrent_ns_per_element * moved).then_some(ns as u64)
}

impl ConcurrentStep {
    /// Runs the kernels; where several fail, the error is that of the first.
    ///
    /// # Safety
    /// The registers are there, and no kernel writes one that another reads or writes.
    pub(super) unsafe fn run(&self, regs: Regs) -> Result<()> {
        let failed: Vec<OnceLock<Error>> = self.kernels.iter().map(|_| OnceLock::new()).collect();
        pool::fork(self.kernels.len(), |i| {
            let (kernel, op, loc) = &self.kernels[i];
            // SAFETY: the caller's promise.
            if let Err(error) = unsafe { run_kernel(kernel, regs, &NoEnv) } {
                let _ = failed[i].set(error.in_op(op).at(*loc));
            }
        });
        failed.into_iter().find_map(OnceLock::into_inner).map_or(Ok(()), Err)
    }
}
