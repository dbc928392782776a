//! The step that runs machine code.

#![expect(unsafe_code, reason = "runs generated code on the memory of registers")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use penstock_data::{Error, Result};
use penstock_ir::Env;
use penstock_jit::{Native, Source, Stop};
use penstock_passes::evaluate::fault;
use smallvec::SmallVec;

use super::frame::{Reg, Regs, scalar_mut};

/// A group of scalar instructions. Where there is machine code for it, the step runs that and goes on at `target`;
/// else, and where the code meets an index that is not there, or the like, the next steps do the work.
pub(crate) struct NativeStep {
    pub(crate) ins: SmallVec<[Reg; 4]>,
    pub(crate) outs: SmallVec<[Reg; 4]>,
    pub(crate) target: u32,
    source: Source,
    /// Runs left before the code is compiled.
    wait: AtomicU32,
    /// `None` inside where there can be none.
    code: OnceLock<Option<Native>>,
}

impl NativeStep {
    /// A step whose code is compiled after so many runs; where it has a loop at the second, and where that is one over scalars at
    /// the first.
    pub(crate) fn new(source: Source, ins: SmallVec<[Reg; 4]>, outs: SmallVec<[Reg; 4]>, after: u32) -> NativeStep {
        let wait = match (source.has_scalar_loop(), source.has_loop()) {
            (true, _) => 0,
            (false, true) => after.min(1),
            (false, false) => after,
        };
        let wait = AtomicU32::new(wait);
        NativeStep { ins, outs, target: 0, source, wait, code: OnceLock::new() }
    }

    #[inline]
    fn code(&self) -> Option<&Native> {
        match self.code.get() {
            Some(code) => code.as_ref(),
            None => self.compiled(),
        }
    }

    #[cold]
    fn compiled(&self) -> Option<&Native> {
        let counted = self.wait.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if counted.is_ok() {
            return None;
        }
        // Not under the lock's own initialisation: a forked child would wait for a thread that it has not. Two threads
        // may compile, and one code is kept.
        let code = Native::compile(&self.source).ok();
        let _ = self.code.set(code);
        self.code.get()?.as_ref()
    }

    /// Runs the machine code; `false` where there is none.
    ///
    /// # Safety
    /// The registers are there, and hold scalars and arrays of the types that the step was made from.
    pub(super) unsafe fn run(&self, regs: Regs, env: &dyn Env) -> Result<bool> {
        let Some(code) = self.code() else { return Ok(false) };
        // SAFETY: the caller's promise; the borrows end here.
        let ins: SmallVec<[*const u8; 8]> = self.ins.iter().map(|&r| unsafe { regs.get(r) }.as_ptr()).collect();
        let mut outs: SmallVec<[*mut u8; 8]> = SmallVec::from_elem(std::ptr::null_mut(), self.outs.len());
        for &k in self.source.scalar_results() {
            // SAFETY: the caller's promise; a register that is written is none that is read.
            outs[k] = unsafe { scalar_mut(regs, self.outs[k])? };
        }
        for result in self.source.array_results() {
            // SAFETY: the caller's promise; a register that is written is none that is read.
            let out = unsafe { regs.get_mut(self.outs[result.position]) };
            outs[result.position] = out.prepare(result.dtype, &result.dims)?;
        }
        // SAFETY: each is a scalar or an array of the type that the source has for it, and so is what each result has room for.
        match unsafe { code.run(&ins, &outs, env) } {
            Ok(()) => Ok(true),
            Err(Stop::Host(error)) => Err(error),
            // The next steps come to the same place, and say what is wrong there.
            Err(Stop::Fault(origin)) if self.source.explains(origin) => Ok(false),
            Err(Stop::Fault(origin)) => Err(self.fault(origin)),
        }
    }

    #[cold]
    fn fault(&self, origin: u32) -> Error {
        match self.source.origin(origin) {
            Some((op, loc)) => fault(op.fault()).in_op(op.name).at(loc),
            None => Error::internal("a region reported a fault that it does not have"),
        }
    }
}
