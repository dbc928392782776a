//! The step that runs a kernel over whole tensors.

#![expect(unsafe_code, reason = "registers are read and written by number")]

use penstock_data::{Result, Tensor};
use penstock_ir::{Call, Env, OutTypes, Type};
use penstock_passes::evaluate::{broken_promise, check_result, infer};
use smallvec::SmallVec;

use super::frame::{Reg, Regs};
use super::step::KernelStep;
use crate::work::{Weight, is_heavy_on};

/// Whether a kernel, whose results have these types where they were inferred now, takes so long that it is offloaded.
///
/// # Safety
/// The registers are there.
pub(super) unsafe fn is_heavy_kernel(s: &KernelStep, inferred: Option<OutTypes>, regs: Regs, heavy: f64) -> bool {
    if s.weight != Weight::Unknown {
        return s.weight == Weight::Heavy;
    }
    // SAFETY: the caller's promise.
    let inputs = unsafe { regs.list(&s.ins) };
    is_heavy_on(s.op, &s.attrs, &inputs, inferred.as_deref().unwrap_or(&s.types), heavy)
}

/// Infers the types of the results from the operands, where the plan could not see all that they follow from.
///
/// # Safety
/// The registers are there.
#[inline]
pub(super) unsafe fn infer_kernel(s: &KernelStep, regs: Regs) -> Result<Option<OutTypes>> {
    if !s.infer {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let mut all = unsafe { regs.list(&s.ins) };
    if s.update {
        // SAFETY: the caller's promise; nothing is written yet.
        all.insert(0, unsafe { regs.get(s.outs[0]) });
    }
    infer(s.op, &s.attrs, &all).map(Some)
}

/// Runs a kernel on operands that were checked.
///
/// # Safety
/// The registers are there, and the step writes none that it reads.
#[inline(never)]
pub(super) unsafe fn run_kernel(s: &KernelStep, regs: Regs, env: &dyn Env) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match s.ins[..] {
            [a] => run_kernel_on(s, &[regs.get(a)], regs, env),
            [a, b] => run_kernel_on(s, &[regs.get(a), regs.get(b)], regs, env),
            _ => run_kernel_on(s, &regs.list(&s.ins), regs, env),
        }
    }
}

/// # Safety
/// As for [`run_kernel`]; these are the operands.
#[inline(always)]
unsafe fn run_kernel_on(s: &KernelStep, inputs: &[&Tensor], regs: Regs, env: &dyn Env) -> Result<()> {
    let run = |outputs: &mut [Tensor]| {
        let mut call = Call { inputs, attrs: &s.attrs, outputs, env };
        if let Some(resolved) = &s.resolved {
            // SAFETY: lowering made it from the types of the operands, which were checked when they were made.
            unsafe { resolved.run(&mut call)? };
            debug_assert!(check_results(call.outputs, &s.types).is_ok());
            return Ok(());
        }
        // SAFETY: inference accepted the operands when the graph was verified, where it goes by nothing else than their types, which
        // those of a run are; or else in [`infer_kernel`].
        unsafe { (s.run)(&mut call)? };
        check_results(call.outputs, &s.types).or_else(|error| match s.update {
            true => Err(error),
            false => broken_promise(s.op, &s.attrs, inputs, call.outputs, &s.types),
        })
    };
    match s.outs[..] {
        // SAFETY: the caller's promise.
        [out] => run(std::slice::from_mut(unsafe { regs.get_mut(out) })),
        // SAFETY: the caller's promise.
        _ => unsafe { with_outs(regs, &s.outs, run) },
    }
}

fn check_results(results: &[Tensor], types: &[Type]) -> Result<()> {
    results.iter().zip(types).enumerate().try_for_each(|(i, (result, ty))| check_result(i, result, ty))
}

/// Tensors that are out of their registers for a while.
struct Taken<'a> {
    regs: Regs,
    outs: &'a [Reg],
    tensors: SmallVec<[Tensor; 4]>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // SAFETY: as many tensors as registers, which go back without being dropped; what the registers hold is their old bits.
        unsafe {
            self.tensors.set_len(0);
            for (i, &r) in self.outs.iter().enumerate() {
                std::ptr::copy_nonoverlapping(self.tensors.as_ptr().add(i), self.regs.at(r), 1);
            }
        }
    }
}

/// Runs `f` on registers that do not lie side by side.
///
/// # Safety
/// The registers are there, differ, and nobody else uses them.
pub(super) unsafe fn with_outs(regs: Regs, outs: &[Reg], f: impl FnOnce(&mut [Tensor]) -> Result<()>) -> Result<()> {
    // They go back where `f` panics, too.
    let mut taken = Taken { regs, outs, tensors: SmallVec::with_capacity(outs.len()) };
    for &r in outs {
        // SAFETY: the caller's promise; nobody reads the register before the tensor is back.
        taken.tensors.push(unsafe { regs.at(r).read() });
    }
    f(&mut taken.tensors)
}
