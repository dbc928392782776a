//! Memory of tensors: 64-byte aligned, from a pool of size classes, always initialised.

#![expect(unsafe_code, reason = "raw allocation; each block is owned by exactly one Buffer or by the pool")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};

/// The alignment of every buffer from the pool, in bytes: one cache line, one AVX-512 register.
pub const ALIGNMENT: usize = 64;

/// Free blocks kept for reuse are at most this many bytes in all.
const RETAINED_LIMIT: usize = 1 << 30;

/// Four size classes to the octave, from 64 bytes: at most a quarter of a block is slack.
const CLASSES: usize = 4 * 40;

/// The size of the blocks of a class.
const fn class_size(class: usize) -> usize {
    (ALIGNMENT / 4 * (4 + class % 4)) << (class / 4)
}

/// The smallest class whose blocks hold `bytes`; `None` beyond the largest.
fn class_of(bytes: usize) -> Option<usize> {
    if bytes <= ALIGNMENT {
        return Some(0);
    }
    let octave = (bytes - 1).ilog2() as usize - ALIGNMENT.ilog2() as usize;
    (4 * octave..4 * octave + 5).find(|&c| class_size(c) >= bytes).filter(|&c| c < CLASSES)
}

/// Whether the program is built for a sanitizer (`make test-sanitizers`): a buffer then is a block of its own and of exactly the
/// bytes that were asked for, which hold no usual number, and nothing is kept for reuse. So AddressSanitizer sees an access
/// behind the end or after the last use.
const SANITIZED: bool = cfg!(penstock_sanitizers);

/// What fresh memory holds in such programs. Elsewhere it is zero, or what the last owner left.
const UNWRITTEN: u8 = 0xcb;

/// A block of memory from the allocator.
struct Block {
    /// What the allocator returned; the aligned start lies in its first 64 bytes.
    base: NonNull<u8>,
    class: usize,
    /// The bytes from the aligned start.
    size: usize,
    /// The number of the thread that took it last.
    user: usize,
}

// SAFETY: a block is plain memory with one owner.
unsafe impl Send for Block {}

impl Block {
    fn layout(size: usize) -> Option<Layout> {
        if SANITIZED {
            return Layout::from_size_align(size, ALIGNMENT).ok();
        }
        // `calloc` gives large blocks as untouched zero pages only at its own alignment, so the
        // block is aligned by hand inside a slightly larger one.
        Layout::from_size_align(size.checked_add(ALIGNMENT)?, 16).ok()
    }

    fn new(class: usize, bytes: usize) -> Option<Block> {
        let size = if SANITIZED { bytes.max(1) } else { class_size(class) };
        let layout = Block::layout(size)?;
        // SAFETY: the layout has a non-zero size.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        if SANITIZED {
            // SAFETY: the block has `size` bytes, and no owner yet.
            unsafe { base.write_bytes(UNWRITTEN, size) }
        }
        Some(Block { base, class, size, user: number() })
    }

    fn start(&self) -> NonNull<u8> {
        let offset = self.base.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: the block is aligned, or ALIGNMENT bytes longer than its size; so the aligned start is inside it.
        unsafe { self.base.add(offset) }
    }

    fn free(self) {
        if let Some(layout) = Block::layout(self.size) {
            // SAFETY: `base` came from `alloc_zeroed` with this very layout, and is given back once.
            unsafe { dealloc(self.base.as_ptr(), layout) }
        }
    }
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of this thread among those that took blocks.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of the calling thread, from 1 on.
fn number() -> usize {
    if NUMBER.get() == 0 {
        NUMBER.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
    }
    NUMBER.get()
}

/// Free blocks among which one is looked for that the same thread had before.
const NEAREST: usize = 8;

static FREE: [Mutex<Vec<Block>>; CLASSES] = [const { Mutex::new(Vec::new()) }; CLASSES];
static RETAINED: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

/// Takes a block of at least `bytes`: a free one where there is one, else a new one.
///
/// A free list that another thread holds is passed over, never waited for: a child forked while a
/// list was held must not hang.
fn take(bytes: usize) -> Result<Block> {
    let oom = || Error::exhausted(format!("cannot allocate {bytes} bytes"));
    let class = class_of(bytes).ok_or_else(oom)?;
    if !SANITIZED
        && let Ok(mut free) = FREE[class].try_lock()
        && let Some(mut block) = pop(&mut free)
    {
        block.user = number();
        RETAINED.fetch_sub(class_size(class), Ordering::Relaxed);
        TAKEN.fetch_add(class_size(class), Ordering::Relaxed);
        return Ok(block);
    }
    let block = Block::new(class, bytes).or_else(|| {
        release_pool();
        Block::new(class, bytes)
    });
    if block.is_some() {
        TAKEN.fetch_add(class_size(class), Ordering::Relaxed);
    }
    block.ok_or_else(oom)
}

/// Takes a block: the last one that this thread had, which may lie in its caches, if it is among the nearest; else the last.
fn pop(free: &mut Vec<Block>) -> Option<Block> {
    let (me, last) = (number(), free.len().checked_sub(1)?);
    let own = (free.len().saturating_sub(NEAREST)..=last).rev().find(|&at| free[at].user == me);
    Some(free.swap_remove(own.unwrap_or(last)))
}

fn give_back(block: Block) {
    let size = class_size(block.class);
    GIVEN_BACK.fetch_add(size, Ordering::Relaxed);
    if !SANITIZED
        && RETAINED.load(Ordering::Relaxed).saturating_add(size) <= RETAINED_LIMIT
        && let Ok(mut free) = FREE[block.class].try_lock()
        // Where there is no memory for a place in the list, the block is what helps.
        && free.try_reserve(1).is_ok()
    {
        RETAINED.fetch_add(size, Ordering::Relaxed);
        free.push(block);
    } else {
        block.free();
    }
}

/// Returns all free blocks of the pool to the operating system.
pub fn release_pool() {
    for list in &FREE {
        let blocks = list.try_lock().map(|mut free| std::mem::take(&mut *free)).unwrap_or_default();
        for block in blocks {
            RETAINED.fetch_sub(class_size(block.class), Ordering::Relaxed);
            block.free();
        }
    }
}

/// The bytes of free blocks that the pool holds.
pub fn retained_bytes() -> usize {
    RETAINED.load(Ordering::Relaxed)
}

/// The bytes of all blocks that buffers have taken since the process started, those given back included: what stays
/// the same over a stretch of work says that it made no tensor.
pub fn taken_bytes() -> usize {
    TAKEN.load(Ordering::Relaxed)
}

/// The bytes of the blocks that buffers hold now.
pub fn used_bytes() -> usize {
    // A block may be given back between the two.
    TAKEN.load(Ordering::Relaxed).saturating_sub(GIVEN_BACK.load(Ordering::Relaxed))
}

enum Owner {
    /// From the pool, to which it goes back. `None` only while being dropped.
    Pool(Option<Block>),
    /// Somebody else's memory, kept alive by this value; never written.
    External(#[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send + Sync>),
}

/// A block of initialised memory.
pub struct Buffer {
    ptr: NonNull<u8>,
    capacity: usize,
    owner: Owner,
}

// SAFETY: a block of the pool has no other owner, and an external owner is `Send` itself.
unsafe impl Send for Buffer {}
// SAFETY: `&Buffer` gives the address for reading alone; memory of the pool is written through `&mut Buffer`, external memory,
// whose owner is `Sync` itself, never.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of at least `bytes` initialised bytes of unspecified value.
    ///
    /// # Errors
    /// `ResourceExhausted` where the memory cannot be had.
    pub fn new(bytes: usize) -> Result<Buffer> {
        let block = take(bytes)?;
        Ok(Buffer { ptr: block.start(), capacity: block.size, owner: Owner::Pool(Some(block)) })
    }

    /// Borrows `len` bytes at `ptr`, which `owner` keeps alive.
    ///
    /// # Safety
    /// The memory must be initialised, readable from any thread, and unchanged until `owner` is dropped.
    pub unsafe fn external(ptr: NonNull<u8>, len: usize, owner: Box<dyn Any + Send + Sync>) -> Buffer {
        Buffer { ptr, capacity: len, owner: Owner::External(owner) }
    }

    /// The bytes that it holds.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Its start.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.ptr.as_ptr()
    }

    /// Its start for writing; `None` where the memory is somebody else's.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> Option<*mut u8> {
        self.is_pooled().then_some(self.ptr.as_ptr())
    }

    /// Its bytes for writing; none where the memory is somebody else's.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        if !self.is_pooled() {
            return &mut [];
        }
        // SAFETY: the block has `capacity` initialised bytes, and this is its only owner.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.capacity) }
    }

    /// Whether a tensor of `bytes` bytes may reuse the buffer, which was made for another size.
    #[inline]
    pub(crate) fn suits(&self, bytes: usize) -> bool {
        self.capacity == bytes || (self.capacity > bytes && !SANITIZED)
    }

    /// Whether the memory is the pool's own, and so may be written by a sole owner.
    #[inline]
    pub fn is_pooled(&self) -> bool {
        matches!(self.owner, Owner::Pool(_))
    }
}

/// A buffer that tensors share. How many there are is known exactly: the `Arc` never leaves this type, so nobody has a `Weak`
/// of it.
#[derive(Clone)]
pub(crate) struct SharedBuffer(Arc<Buffer>);

impl SharedBuffer {
    /// A buffer with one owner.
    pub(crate) fn new(buffer: Buffer) -> SharedBuffer {
        SharedBuffer(Arc::new(buffer))
    }

    /// Whether both are one buffer.
    #[inline]
    pub(crate) fn is(&self, other: &SharedBuffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Its start for writing, where this is its only owner and the memory is the pool's own. As [`Arc::get_mut`], without the
    /// lock on the count of `Weak`s.
    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> Option<*mut u8> {
        if Arc::strong_count(&self.0) != 1 || !self.is_pooled() {
            return None;
        }
        if SANITIZED {
            // ThreadSanitizer does not know fences.
            return Arc::get_mut(&mut self.0).and_then(Buffer::as_mut_ptr);
        }
        // Pairs with the release of the last other owner, which may have read the memory.
        fence(Ordering::Acquire);
        Some(self.0.ptr.as_ptr())
    }
}

impl Deref for SharedBuffer {
    type Target = Buffer;
    #[inline]
    fn deref(&self) -> &Buffer {
        &self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Owner::Pool(block) = &mut self.owner
            && let Some(block) = block.take()
        {
            give_back(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        assert_eq!(class_size(0), 64);
        assert!((1..CLASSES).all(|c| class_size(c) > class_size(c - 1)));
        for bytes in (0..10_000).chain([1 << 20, (1 << 20) + 1, (1 << 30) - 1, 3 << 28]) {
            let c = class_of(bytes).unwrap();
            assert!(class_size(c) >= bytes, "{bytes}");
            assert!(c == 0 || class_size(c - 1) < bytes, "{bytes} in class {c}");
        }
        assert_eq!(class_of(usize::MAX), None);
    }

    #[test]
    fn buffers_are_aligned_and_come_back() {
        let mut first = Buffer::new(1000).unwrap();
        let place = first.as_mut_ptr().unwrap();
        assert_eq!(place as usize % ALIGNMENT, 0);
        assert!(first.capacity() >= 1000);
        drop(first);
        assert!(SANITIZED || retained_bytes() > 0);
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        let error = Buffer::new(usize::MAX / 2).err().unwrap();
        assert_eq!(error.class(), crate::Class::ResourceExhausted);
        assert!(Buffer::new(1 << 46).is_err());
    }
}
