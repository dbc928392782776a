//! Steps that a device runs.

#![expect(unsafe_code, reason = "registers are read and written by number")]

use std::sync::Arc;

use penstock_data::{Result, Tensor};
use penstock_ir::Type;
use penstock_passes::evaluate::{check_promise, extents_of};
use smallvec::SmallVec;

use super::frame::{Reg, Regs};
use crate::device::{Device, Program};

/// A program of a device, elementwise instructions on operands that broadcast to the extents of its results.
pub(crate) struct DeviceStep {
    pub(super) device: Arc<dyn Device>,
    pub(super) program: Arc<dyn Program>,
    pub(super) ins: SmallVec<[Reg; 8]>,
    pub(super) outs: SmallVec<[Reg; 2]>,
    pub(super) types: SmallVec<[Type; 1]>,
}

impl DeviceStep {
    /// Queues the program. Operands on the host come to the device, and stay there for the steps that read them later: a
    /// register then holds the same tensor in another place.
    ///
    /// # Safety
    /// The registers are there, and nobody else uses them meanwhile.
    pub(super) unsafe fn run(&self, regs: Regs) -> Result<()> {
        for &reg in &self.ins {
            // SAFETY: the caller's promise; this is the only reference.
            let operand = unsafe { regs.get_mut(reg) };
            if operand.is_in_buffer() {
                *operand = self.device.upload(operand)?;
            }
        }
        // SAFETY: the caller's promise; nothing is written before the results are there.
        let inputs: SmallVec<[&Tensor; 6]> = unsafe { regs.list(&self.ins) };
        let dims = extents_of(&inputs)?;
        let results = self.program.launch(&inputs, &dims)?;
        for (i, ((&out, ty), result)) in self.outs.iter().zip(&self.types).zip(results).enumerate() {
            check_promise(i, &result, ty)?;
            // SAFETY: the caller's promise; the operands are read no more.
            unsafe { *regs.get_mut(out) = result };
        }
        Ok(())
    }
}
