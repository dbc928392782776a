//! Loops that a device runs by itself.
//!
//! Such a loop's steps stand in the plan as any other's. A step in front of them has the device note what one iteration queues: the steps are
//! walked once, on tensors whose elements nobody can read yet. Where that is all that an iteration is, the device repeats it as long as the
//! condition holds. Else, where a step wants to read an element, or where shapes change, nothing has happened, and the host walks the loop.

#![expect(unsafe_code, reason = "registers are read and written by number")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use penstock_data::{Error, Result, Tensor};
use penstock_ir::{Env, Graph, Inst, InstData, Region, Value};
use penstock_kernels::cost::{DEVICE, KernelWork};
use penstock_ops::control::{CALL, WHILE};
use rustc_hash::FxHashSet;

use super::frame::{Reg, Regs};
use super::horizontal::Runs;
use super::walk::{Halt, Place};
use super::{Frame, Kind, Plan};
use crate::device::{Looper, Round};
use crate::variable::Arg;

/// The step in front of a loop.
pub(crate) struct DeviceLoop {
    pub(super) looper: Arc<dyn Looper>,
    /// The loop's variables, and its condition.
    pub(super) variables: Vec<Reg>,
    pub(super) pred: Reg,
    /// The first step of the condition, the branch out of the loop, and the jump back.
    pub(super) head: u32,
    pub(super) exit: u32,
    pub(super) back: u32,
    /// The step behind the loop.
    pub(super) target: u32,
}

/// What is asked of a graph to tell which of its loops a device can run.
pub(super) struct Question<'a> {
    pub(super) graph: &'a Graph,
    /// What the device does for an instruction, where these values are there, too.
    pub(super) runs: &'a dyn Fn(&InstData, &FxHashSet<Value>) -> Runs,
    /// Whether an instruction only gives its first operand other extents.
    pub(super) is_reshape: &'a dyn Fn(&InstData) -> bool,
    /// Whether a value is there.
    pub(super) is_there: &'a dyn Fn(Value) -> bool,
    pub(super) kind: &'a dyn Fn(Value) -> Kind,
}

impl Question<'_> {
    /// Whether nothing in a loop needs the host: no effect, no call, no string or list, and no few integers which change and that an operator on
    /// whole tensors may want to read, such as indices. The condition is computed by the device; or it is a number of the host, such as a count,
    /// and an iteration is so little work that the device does it in less time than it takes to be told of it.
    pub(super) fn is_for_device(&self, data: &InstData) -> bool {
        if !self.is_pure(data) {
            return false;
        }
        let mut known = FxHashSet::default();
        self.close(data, &mut known);
        let [cond, body] = data.regions[..] else { return false };
        let going = self.graph.regions[cond].results[0];
        let (is_computed, has_work) = (known.contains(&going), !known.is_empty());
        // All variables will be there.
        known.extend([cond, body].iter().flat_map(|&r| self.graph.regions[r].params.iter().copied()));
        self.flow(cond, &mut known);
        self.flow(body, &mut known);
        [cond, body].iter().all(|&region| self.reads_nothing(region, &known))
            && (is_computed || has_work && known.contains(&going) && self.is_small([cond, body], &known))
    }

    /// Whether the device is sure to do all of an iteration, and one block of its threads does it sooner than several kernels.
    fn is_small(&self, regions: [Region; 2], known: &FxHashSet<Value>) -> bool {
        let works: Option<Vec<Option<KernelWork>>> = regions
            .iter()
            .flat_map(|&region| &self.graph.regions[region].insts)
            .map(|&inst| self.work(&self.graph.insts[inst], known))
            .collect();
        works.is_some_and(|works| {
            let works: Vec<KernelWork> = works.into_iter().flatten().collect();
            DEVICE.one_block(&works) < DEVICE.nodes(&works, usize::MAX)
        })
    }

    /// What the device does for an instruction of a loop, where it does something; `None` where that is not known for sure, or may need the
    /// host.
    fn work(&self, data: &InstData, known: &FxHashSet<Value>) -> Option<Option<KernelWork>> {
        /// The bytes that a block of threads takes at once.
        const AT_ONCE: usize = 4096;
        let is_made = |v: &Value| known.contains(v);
        if data.op.0.is_constant() || (self.is_reshape)(data) || !data.operands.iter().any(is_made) {
            return Some(None);
        }
        let how = (self.runs)(data, known);
        // Integers beside the first operand may be indices, of which the host wants to know the least and the greatest.
        let is_index = |v: &Value| is_made(v) && self.graph.ty(*v).dtype().is_integer();
        let reads = how == Runs::Operator && data.operands.iter().skip(1).any(is_index);
        if how == Runs::Not || reads || data.op.is(&WHILE) {
            return None;
        }
        let bytes = |v: &Value| match (self.kind)(*v) {
            Kind::Inline(dtype, dims) => Some(dims.iter().product::<usize>() * dtype.size()),
            Kind::Bytes(bytes) => Some(bytes),
            _ => None,
        };
        let bytes = data.operands.iter().chain(&data.results).map(bytes).sum::<Option<usize>>()?;
        Some(Some(KernelWork { bytes, blocks: bytes.div_ceil(AT_ONCE) }))
    }

    /// Adds the variables of a loop that the device makes, and what is made of them.
    fn close(&self, data: &InstData, known: &mut FxHashSet<Value>) {
        let [cond, body] = data.regions[..] else { return };
        loop {
            let before = known.len();
            for (k, &first) in data.operands.iter().enumerate() {
                let next = self.graph.regions[body].results[k];
                let here = |v: Value| known.contains(&v) || (self.is_there)(v);
                let is_large = !matches!((self.kind)(first), Kind::Inline(..));
                if is_large || here(first) || here(next) {
                    known.extend([self.graph.regions[cond].params[k], self.graph.regions[body].params[k]]);
                    known.insert(data.results[k]);
                }
            }
            self.flow(cond, known);
            self.flow(body, known);
            if known.len() == before {
                return;
            }
        }
    }

    /// Adds what the device makes in a region.
    fn flow(&self, region: Region, known: &mut FxHashSet<Value>) {
        for &inst in &self.graph.regions[region].insts {
            let data = &self.graph.insts[inst];
            if data.op.is(&WHILE) {
                self.close(data, known);
            } else if (self.is_reshape)(data) {
                let from = data.operands[0];
                if known.contains(&from) || (self.is_there)(from) {
                    known.extend(&data.results);
                }
            } else if (self.runs)(data, known) != Runs::Not {
                known.extend(&data.results);
            }
        }
    }

    fn is_pure(&self, data: &InstData) -> bool {
        let graph = self.graph;
        let is_plain = |v: &Value| !graph.ty(*v).is_variable() && graph.ty(*v).dtype().size() > 0;
        let pure = |inst: &Inst| self.is_pure(&graph.insts[*inst]);
        data.op.effects.is_empty()
            && !data.op.is(&CALL)
            && data.attrs.hosts().next().is_none()
            && data.operands.iter().chain(&data.results).all(is_plain)
            && data.regions.iter().all(|&region| graph.regions[region].insts.iter().all(pure))
    }

    /// Whether no operator on whole tensors has an operand of few integers that the device makes.
    fn reads_nothing(&self, region: Region, known: &FxHashSet<Value>) -> bool {
        let graph = self.graph;
        let is_read = |v: &Value| {
            let is_few = matches!((self.kind)(*v), Kind::Inline(dtype, _) if dtype.is_integer());
            is_few && known.contains(v)
        };
        graph.regions[region].insts.iter().all(|&inst| {
            let data = &graph.insts[inst];
            let whole = (self.runs)(data, known) == Runs::Operator;
            let inner = data.op.is(&WHILE);
            !(whole && data.operands.iter().any(is_read))
                && (!inner || data.regions.iter().all(|&region| self.reads_nothing(region, known)))
        })
    }
}

/// An iteration, walked on a frame.
struct Walk<'a> {
    plan: &'a Arc<Plan>,
    step: &'a DeviceLoop,
    frame: &'a mut Frame,
    args: &'a [Arg],
    env: &'a dyn Env,
}

impl Walk<'_> {
    /// Walks steps, whatever they do.
    fn walk(&mut self, from: u32, end: u32) -> Result<()> {
        let mut place = Place::new(from as usize);
        let walk = || self.plan.walk_noting(self.frame, self.args, self.env, &mut place, end as usize, &mut ());
        match catch_unwind(AssertUnwindSafe(walk)) {
            Ok(Ok(Halt::Call)) => Err(Error::internal("a call in a loop of the device")),
            Ok(walked) => walked.map(|_| ()),
            Err(panic) => Err(Error::of_panic(&*panic)),
        }
    }

    fn get(&mut self, reg: Reg) -> Tensor {
        // SAFETY: the registers were checked by `finish`, and nobody else uses the frame.
        unsafe { Regs::of(&mut self.frame.regs).get(reg) }.clone()
    }
}

impl Round for Walk<'_> {
    fn condition(&mut self, values: &[Tensor]) -> Result<Tensor> {
        let step = self.step;
        set(self.frame, &step.variables, values);
        self.walk(step.head, step.exit)?;
        Ok(self.get(step.pred))
    }

    fn body(&mut self) -> Result<Vec<Tensor>> {
        let step = self.step;
        self.walk(step.exit + 1, step.back)?;
        Ok(step.variables.iter().map(|&reg| self.get(reg)).collect())
    }
}

/// Puts values into registers.
fn set(frame: &mut Frame, to: &[Reg], values: &[Tensor]) {
    let regs = Regs::of(&mut frame.regs);
    for (&reg, value) in to.iter().zip(values) {
        // SAFETY: the registers were checked by `finish`, and nobody else uses the frame.
        unsafe { *regs.get_mut(reg) = value.clone() };
    }
}

impl DeviceLoop {
    /// Has the device run the loop; `false` where it is left to the host, and the loop's variables are as they were.
    pub(super) fn run(&self, plan: &Arc<Plan>, frame: &mut Frame, args: &[Arg], env: &dyn Env) -> Result<bool> {
        let regs = Regs::of(&mut frame.regs);
        // SAFETY: the registers were checked by `finish`, and nobody else uses the frame.
        let first: Vec<Tensor> = self.variables.iter().map(|&reg| unsafe { regs.get(reg) }.clone()).collect();
        let iterations = frame.iterations.clone();
        let mut walk = Walk { plan, step: self, frame, args, env };
        let outcome = self.looper.run(&first, &mut walk, &mut || env.poll());
        frame.iterations = iterations;
        match outcome {
            Ok(Some(last)) => {
                set(frame, &self.variables, &last);
                Ok(true)
            }
            Ok(None) => {
                set(frame, &self.variables, &first);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}
