//! Memory that is kept back for the moment at which there is no more.
//!
//! What a user's numbers decide is asked for in ways that can fail: [`crate::memory`]. What is left are the many small
//! allocations of nodes, entries and messages, and Rust ends the process where one of them fails. A program that takes
//! [`Reserve`] for its allocator goes on instead: the memory that is kept back is given to the system, the allocation
//! is tried again, and the next operation or iteration of a loop is `ResourceExhausted`. A failure within that memory,
//! before the next operation asks, ends the process as before.
//!
//! ```
//! use penstock_data::Reserve;
//!
//! #[global_allocator]
//! static ALLOCATOR: Reserve = Reserve;
//!
//! Reserve::fill();
//! ```

#![expect(unsafe_code, reason = "an allocator: every call goes to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::{Error, Result};

/// What is kept back: addresses alone, until it is given back and taken by others.
const KEPT: Layout = match Layout::from_size_align(32 << 20, 1 << 12) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

static BLOCK: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, with memory that is kept back for the moment at which there is no more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reserve;

impl Reserve {
    /// Keeps memory back, where none is and some can be had.
    pub fn fill() {
        if !BLOCK.load(Ordering::Relaxed).is_null() {
            return;
        }
        // SAFETY: the layout has a size.
        let block = unsafe { System.alloc(KEPT) };
        let filled = BLOCK.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Relaxed);
        if filled.is_err() && !block.is_null() {
            // SAFETY: allocated above with this layout; another thread's block is kept instead.
            unsafe { System.dealloc(block, KEPT) };
        }
    }

    /// Gives what is kept back to the system, as where an allocation fails. False where nothing is.
    pub fn release() -> bool {
        let block = BLOCK.swap(null_mut(), Ordering::AcqRel);
        if block.is_null() {
            return false;
        }
        // SAFETY: `fill` allocated it with this layout, and the swap made it this thread's alone.
        unsafe { System.dealloc(block, KEPT) };
        EXHAUSTED.store(true, Ordering::Relaxed);
        true
    }

    /// Fails once after memory that was kept back had to be used.
    ///
    /// # Errors
    /// `ResourceExhausted`.
    #[inline]
    pub fn check() -> Result<()> {
        if EXHAUSTED.load(Ordering::Relaxed) { Self::exhausted() } else { Ok(()) }
    }

    #[cold]
    fn exhausted() -> Result<()> {
        EXHAUSTED.store(false, Ordering::Relaxed);
        Self::fill();
        Err(Error::exhausted("there is no memory left for small allocations"))
    }
}

/// What `allocate` gives, tried again with the memory that was kept back where that is large enough.
#[inline]
fn with_reserve(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let block = allocate();
    if block.is_null() && size <= KEPT.size() / 2 && Reserve::release() { allocate() } else { block }
}

// SAFETY: every block is the system's, of the layout that was asked for.
unsafe impl GlobalAlloc for Reserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        with_reserve(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        with_reserve(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; where it fails, the old block is as it was.
        with_reserve(size, || unsafe { System.realloc(block, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }
}
