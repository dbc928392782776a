//! The memory of a step of several parts, which threads share.

#![expect(unsafe_code, reason = "shares the memory of tensors between threads")]

use std::cell::RefCell;

use penstock_data::{ALIGNMENT, DType, Dims, Error, Result, Tensor};
use smallvec::SmallVec;

/// Where the operands and the results of a run are. Threads read the operands, and each writes elements of the results of
/// its own.
#[derive(Clone)]
pub(super) struct Memory {
    pub(super) ins: SmallVec<[*const u8; 16]>,
    /// What was made before, and is read like what the parts make.
    pub(super) given: SmallVec<[*mut u8; 4]>,
    pub(super) outs: SmallVec<[*mut u8; 8]>,
}

// SAFETY: the type holds addresses only. Code that reads or writes through them is unsafe, and its contract says which rows it may touch.
unsafe impl Sync for Memory {}

impl Memory {
    /// That of `inputs`, which are of the types `due`, and of `outputs`, which become tensors of the types `types` with
    /// memory of their own.
    ///
    /// # Errors
    /// `Internal` for inputs of other types; `ResourceExhausted`.
    pub(super) fn prepare(
        inputs: &[&Tensor],
        due: &[(DType, Dims)],
        outputs: &mut [Tensor],
        types: &[(DType, Dims)],
    ) -> Result<Memory> {
        let fits = |(t, due): (&&Tensor, &(DType, Dims))| t.dtype() == due.0 && t.dims() == due.1.as_slice();
        if inputs.len() != due.len() || outputs.len() != types.len() || !inputs.iter().zip(due).all(fits) {
            return Err(Error::internal("a value is not of the type that was planned"));
        }
        let ins = inputs.iter().map(|t| t.as_ptr()).collect();
        let outs = outputs.iter_mut().zip(types).map(|(t, (dtype, dims))| t.prepare(*dtype, dims));
        Ok(Memory { ins, given: SmallVec::new(), outs: outs.collect::<Result<_>>()? })
    }
}

/// Runs `f` with aligned memory of `bytes`, which a thread keeps.
pub(super) fn with_scratch<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    thread_local! {
        static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let mut memory = SPARE.take();
    memory.resize(memory.len().max(bytes + ALIGNMENT), 0);
    let skew = memory.as_ptr().align_offset(ALIGNMENT);
    let result = f(memory[skew..].as_mut_ptr());
    SPARE.set(memory);
    result
}
