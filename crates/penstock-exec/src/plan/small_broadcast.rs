//! Elementwise operators on operands that broadcast to a few elements.
//!
//! Those that are no lane of the loop as they lie are repeated by moves of known places, so that the loop runs once.

#![expect(unsafe_code, reason = "registers are read and written by number; loops run over raw memory")]

use std::mem::MaybeUninit;

use penstock_data::{DType, Dims, Result, num_elements};
use penstock_ir::Type;
use penstock_kernels::byte_copies::{MOST_BYTES, Runs, copy_runs, repeated};
use penstock_kernels::{Lane, LoopFn};
use penstock_passes::evaluate::fault;
use smallvec::SmallVec;

use super::frame::{Reg, Regs};

/// The most operands of an elementwise loop.
const MOST_OPERANDS: usize = 4;

/// How such an operator runs.
pub(crate) struct SmallBroadcast {
    n: usize,
    dims: Dims,
    /// For each operand the bytes between elements, and the moves that repeat it.
    lanes: SmallVec<[(u32, Option<Runs>); 3]>,
}

/// Memory for an operand that is repeated.
#[repr(C, align(64))]
struct Repeated([MaybeUninit<u8>; MOST_BYTES]);

impl SmallBroadcast {
    /// How an operator on operands of these types runs; `None` where extents are not known, or elements are not few.
    pub(super) fn of(result: &Type, operands: &[&Type]) -> Option<SmallBroadcast> {
        let dims = result.shape().extents()?;
        let few = |ty: &Type, n: usize| ty.dtype().size() > 0 && n * ty.dtype().size() <= MOST_BYTES;
        let n = num_elements(&dims).filter(|&n| n > 0 && n <= MOST_BYTES && few(result, n))?;
        if operands.len() > MOST_OPERANDS {
            return None;
        }
        let lane = |ty: &&Type| {
            let (own, size) = (ty.shape().extents().filter(|_| few(ty, n))?, ty.dtype().size());
            Some(match num_elements(&own)? {
                _ if own == dims => (size as u32, None),
                1 => (0, None),
                _ => (size as u32, Some(repeated(&own, &dims, size)?)),
            })
        };
        let lanes = operands.iter().map(lane).collect::<Option<_>>()?;
        Some(SmallBroadcast { n, dims, lanes })
    }

    /// Runs the loop for which this was made, for a result of this dtype.
    ///
    /// # Safety
    /// The registers are there, `out` is none of `ins`, and they hold tensors of the types that it was made from.
    #[inline(never)]
    pub(super) unsafe fn run(&self, f: LoopFn, dtype: DType, ins: &[Reg], out: Reg, regs: Regs) -> Result<()> {
        let mut room = [const { Repeated([MaybeUninit::uninit(); MOST_BYTES]) }; MOST_OPERANDS];
        let mut lanes = [Lane::fixed(std::ptr::null()); MOST_OPERANDS];
        for (((&reg, (step, runs)), lane), room) in ins.iter().zip(&self.lanes).zip(&mut lanes).zip(&mut room) {
            // SAFETY: the caller's promise.
            let from = unsafe { regs.get(reg) }.as_ptr();
            let ptr = runs.as_ref().map_or(from, |runs| {
                let to = room.0.as_mut_ptr().cast::<u8>();
                // SAFETY: the runs are inside of a tensor of the operand's type, and there is room for the elements of the result.
                unsafe { copy_runs(runs, |_| from, to) };
                to.cast_const()
            });
            *lane = Lane { ptr, step: *step as usize };
        }
        // SAFETY: the caller's promise.
        let out = unsafe { regs.get_mut(out) }.prepare(dtype, &self.dims)?;
        // SAFETY: the loop was looked up for the dtypes; each lane has `n` elements, or one and the step 0, and `out` is another
        // register.
        unsafe { f(self.n, &lanes[..ins.len()], out) }.map_err(fault)
    }
}
