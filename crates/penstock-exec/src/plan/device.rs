//! Steps that a device runs.

#![expect(unsafe_code, reason = "registers are read and written by number")]

use std::sync::Arc;

use penstock_data::{Result, Tensor};
use penstock_ir::{Attrs, Env, OpDef, Type};
use penstock_passes::evaluate::{check_promise, extents_of};
use smallvec::SmallVec;

use super::frame::{Reg, Regs};
use crate::device::{Device, Program};
use crate::placement::{WORTH_A_COPY, run_kernels, run_on_host};

/// What a device runs.
pub(crate) enum Work {
    /// A program: elementwise instructions on operands that broadcast to the extents of its results.
    Program(Arc<dyn Program>),
    /// An operator whose kernel has the device do the work on whole tensors.
    Operator(&'static OpDef, Attrs),
}

/// Some work of a device.
pub(crate) struct DeviceStep {
    pub(super) device: Arc<dyn Device>,
    pub(super) work: Work,
    pub(super) ins: SmallVec<[Reg; 8]>,
    pub(super) outs: SmallVec<[Reg; 2]>,
    pub(super) types: SmallVec<[Type; 1]>,
}

impl DeviceStep {
    /// Queues the work. Operands on the host come to the device, and stay there for the steps that read them later: a
    /// register then holds the same tensor in another place. An operator's small operands, such as extents, stay on the host.
    ///
    /// # Safety
    /// The registers are there, and nobody else uses them meanwhile.
    pub(super) unsafe fn run(&self, regs: Regs, env: &dyn Env) -> Result<()> {
        let least = if matches!(self.work, Work::Program(_)) { 0 } else { WORTH_A_COPY };
        for &reg in &self.ins {
            // SAFETY: the caller's promise; this is the only reference.
            let operand = unsafe { regs.get_mut(reg) };
            if operand.is_in_buffer() && operand.byte_len() >= least {
                *operand = self.device.upload(operand)?;
            }
        }
        // SAFETY: the caller's promise; nothing is written before the results are there.
        let inputs: SmallVec<[&Tensor; 6]> = unsafe { regs.list(&self.ins) };
        let results = match &self.work {
            Work::Program(program) => program.launch(&inputs, &extents_of(&inputs)?)?,
            Work::Operator(op, attrs) => match run_kernels(&self.device, op, &inputs, attrs, env)? {
                Some(results) => results,
                None => run_on_host(op, &inputs, attrs, env)?,
            },
        };
        for (i, ((&out, ty), result)) in self.outs.iter().zip(&self.types).zip(results).enumerate() {
            check_promise(i, &result, ty)?;
            // SAFETY: the caller's promise; the operands are read no more.
            unsafe { *regs.get_mut(out) = result };
        }
        Ok(())
    }
}
