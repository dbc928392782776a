//! The registers of a frame, by number.

#![expect(unsafe_code, reason = "registers are read and written by number")]

use penstock_data::{Error, Result, Tensor};
use smallvec::SmallVec;

/// The number of a register.
pub(crate) type Reg = u32;

/// The registers of a frame, by number.
#[derive(Clone, Copy)]
pub(super) struct Regs(*mut Tensor);

// SAFETY: an address alone: whoever goes through it promises that nobody else uses what it reaches.
unsafe impl Sync for Regs {}

impl Regs {
    /// Those of a frame.
    pub(super) fn of(frame: &mut [Tensor]) -> Regs {
        Regs(frame.as_mut_ptr())
    }

    /// Where a register is.
    ///
    /// # Safety
    /// The register is there.
    #[inline(always)]
    pub(super) unsafe fn at(self, reg: Reg) -> *mut Tensor {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(reg as usize) }
    }

    /// # Safety
    /// The register is there, and nobody writes it while the result is in use.
    #[inline(always)]
    pub(super) unsafe fn get<'a>(self, reg: Reg) -> &'a Tensor {
        // SAFETY: the caller's promise.
        unsafe { &*self.0.add(reg as usize) }
    }

    /// # Safety
    /// The register is there, and nobody else uses it while the result is in use.
    #[inline(always)]
    pub(super) unsafe fn get_mut<'a>(self, reg: Reg) -> &'a mut Tensor {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.add(reg as usize) }
    }

    /// # Safety
    /// As for [`Regs::get`].
    #[inline(always)]
    pub(super) unsafe fn list<'a>(self, regs: &[Reg]) -> SmallVec<[&'a Tensor; 6]> {
        let mut list = SmallVec::new();
        for &r in regs {
            // SAFETY: the caller's promise.
            list.push(unsafe { self.get(r) });
        }
        list
    }
}

/// Where to write the one element of a register.
///
/// # Safety
/// The register is there, nobody else uses it now, and it holds one inline element.
#[inline(always)]
pub(super) unsafe fn scalar_mut(regs: Regs, reg: Reg) -> Result<*mut u8> {
    // SAFETY: the caller's promise; the borrow ends here.
    let tensor = unsafe { regs.get_mut(reg) };
    match tensor.as_mut_ptr() {
        Some(to) => Ok(to),
        None => owned(tensor),
    }
}

/// Gives a small tensor that a kernel or a host made a view of other memory its own.
#[cold]
fn owned(tensor: &mut Tensor) -> Result<*mut u8> {
    let mut copy = Tensor::empty(tensor.dtype(), tensor.dims())?;
    let to = copy.as_mut_ptr().ok_or_else(|| Error::internal("a fresh tensor is shared"))?;
    let bytes = tensor.bytes();
    // SAFETY: a fresh tensor of the same type has as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    *tensor = copy;
    tensor.as_mut_ptr().ok_or_else(|| Error::internal("a fresh tensor is shared"))
}
