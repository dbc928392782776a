//! What is known of kernels of several programs, on a device.

use std::sync::Arc;

use cudarc::driver::CudaFunction;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::kernel::{Kernel, Variant};
use crate::program::Program;

/// The number of a part, which says what its text is.
pub(crate) type PartId = u32;

/// Parts in the order of their numbers, and how many runs of each there are.
pub(crate) type Counts = SmallVec<[(PartId, u32); 8]>;

/// Parts, and kernels of several.
#[derive(Default)]
pub(crate) struct Parts {
    /// Parts by their text, where each is called the same.
    numbers: FxHashMap<String, PartId>,
    /// The text of each part.
    texts: Vec<Arc<str>>,
    /// Kernels by their parts.
    kernels: FxHashMap<Counts, CudaFunction>,
}

impl Parts {
    /// The number of the part that computes a program whose operands lie in some way.
    pub(crate) fn number(&mut self, program: &Program, variant: &Variant) -> PartId {
        let key = Kernel::part(program, variant, "penstock_part");
        *self.numbers.entry(key).or_insert_with(|| {
            let id = self.texts.len() as PartId;
            self.texts.push(Kernel::part(program, variant, &name_of(id)).into());
            id
        })
    }

    /// The text of a part, which is called as [`name_of`] says.
    pub(crate) fn text(&self, part: PartId) -> Arc<str> {
        self.texts[part as usize].clone()
    }

    /// The kernel of parts, where it was loaded.
    pub(crate) fn kernel(&self, parts: &[(PartId, u32)]) -> Option<CudaFunction> {
        self.kernels.get(parts).cloned()
    }

    /// Keeps the kernel of parts, unless there is one, and gives the one that is kept.
    pub(crate) fn keep(&mut self, parts: Counts, kernel: CudaFunction) -> CudaFunction {
        self.kernels.entry(parts).or_insert(kernel).clone()
    }
}

/// What a part is called.
pub(crate) fn name_of(part: PartId) -> String {
    format!("penstock_part{part}")
}
