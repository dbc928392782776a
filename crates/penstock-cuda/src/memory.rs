//! Memory of a device, which is kept when it is freed and handed out again.
//!
//! What other libraries have read, or own, may still be used by what is queued when it is let go of. So it is given back later, by a thread
//! that waits for that.

#![expect(unsafe_code, reason = "driver calls on memory of this device")]

use std::any::Any;
use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

use cudarc::driver::{CudaContext, CudaEvent, DriverError, result, sys};

use rustc_hash::FxHashSet;

use crate::driver::failure;
use crate::opened::{Opened, lock};

/// The least size of a block, to multiples of which the driver aligns.
const LEAST: usize = 256;
/// Sizes between a power of two and the next.
const STEPS: usize = 8;

/// Memory of a device, aligned to 256 bytes, freed in the order of the queue.
pub(crate) struct Memory {
    pub(crate) device: Arc<Opened>,
    pub(crate) address: u64,
    /// The size of the block. The tensor may need less.
    pub(crate) bytes: usize,
    pub(crate) others: Others,
}

impl Drop for Memory {
    fn drop(&mut self) {
        if part(self) {
            return;
        }
        // The parent still has the memory of a process that was forked.
        if self.device.is_of_this_process() {
            self.device.pool.put(&self.device, self.address, self.bytes);
        }
    }
}

/// Who else has a piece of memory.
#[derive(Default)]
pub(crate) struct Others {
    /// Whether another library has read it, and may still do so.
    pub(crate) lent: AtomicBool,
    /// What keeps it, where it is another library's.
    pub(crate) owner: Option<Box<dyn Any + Send + Sync>>,
}

/// Who writes a block first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// A command of the queue, which comes behind all that use the block before it was freed.
    Command,
    /// A copy that the driver makes ahead of commands that wait in the queue.
    Copy,
}

/// Freed blocks of one size, by address, each with when it was freed, as [`Queue::stamp`](crate::queue::Queue::stamp) says.
type Freed = BTreeMap<u64, u64>;

/// The freed blocks of a device.
///
/// Commands run in the order of the queue, so a block can be handed out as soon as it is freed. The one at the lowest address is: the same
/// work on the same live blocks then gets the same addresses, and so repeats the same commands.
pub(crate) struct Pool {
    freed: Mutex<BTreeMap<usize, Freed>>,
    /// Whether freed blocks are kept.
    keeps: AtomicBool,
    /// The blocks that were written ahead of an iteration of a loop which is noted, and those of them that were freed, with their sizes. Every
    /// iteration may read them, so none of its commands may have such a block for something else.
    ahead: Mutex<(FxHashSet<u64>, Vec<(u64, usize)>)>,
}

impl Pool {
    pub(crate) fn new() -> Pool {
        Pool { freed: Mutex::default(), keeps: AtomicBool::new(true), ahead: Mutex::default() }
    }

    /// The bytes of the freed blocks that are kept.
    pub(crate) fn kept(&self) -> usize {
        lock(&self.freed).iter().map(|(size, blocks)| size * blocks.len()).sum()
    }

    /// Whether freed blocks are kept for the next that asks. Where they are not, each goes back to the driver.
    pub(crate) fn set_keeps(&self, device: &Opened, keeps: bool) -> Result<(), DriverError> {
        self.keeps.store(keeps, Ordering::Relaxed);
        if keeps { Ok(()) } else { self.give_back(device) }
    }

    pub(crate) fn keeps(&self) -> bool {
        self.keeps.load(Ordering::Relaxed)
    }

    /// Allocates a block of at least `bytes` bytes. If the driver is out of memory, all free blocks are returned to it, and the allocation is
    /// tried once more.
    pub(crate) fn take(&self, device: &Arc<Opened>, bytes: usize, first: First) -> Result<Memory, DriverError> {
        let bytes = rounded(bytes);
        let usable = |stamp: u64| first == First::Command || device.queue.has_passed(stamp);
        let found = lock(&self.freed).get_mut(&bytes).and_then(|blocks| {
            let address = blocks.iter().find(|(_, stamp)| usable(**stamp)).map(|(address, _)| *address)?;
            blocks.remove(&address);
            Some(address)
        });
        let allocate = || {
            // SAFETY: the stream is alive. Any bytes are valid elements, and nothing relies on them before they are written.
            unsafe { result::malloc_async(device.stream.cu_stream(), bytes) }
        };
        let address = match found {
            Some(address) => address,
            None => allocate().or_else(|e| {
                if e.0 != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                    return Err(e);
                }
                self.give_back(device)?;
                allocate()
            })?,
        };
        if first == First::Copy && device.queue.is_noting() {
            lock(&self.ahead).0.insert(address);
        }
        Ok(Memory { device: device.clone(), address, bytes, others: Others::default() })
    }

    /// Frees what was kept for the iterations of a loop, which was handed over.
    pub(crate) fn let_go(&self, device: &Opened) {
        let (_, freed) = mem::take(&mut *lock(&self.ahead));
        freed.into_iter().for_each(|(address, bytes)| self.put(device, address, bytes));
    }

    fn put(&self, device: &Opened, address: u64, bytes: usize) {
        if device.queue.is_noting() {
            let mut ahead = lock(&self.ahead);
            if ahead.0.contains(&address) {
                ahead.1.push((address, bytes));
                return;
            }
        }
        if self.keeps() {
            let stamp = device.queue.stamp();
            lock(&self.freed).entry(bytes).or_default().insert(address, stamp);
        } else {
            let _restores = Restore::new();
            if device.ready().is_ok() {
                // SAFETY: the block was allocated on this stream, and is freed once, behind everything that was queued on it: no command
                // waits in the queue where blocks are not kept. Nothing can be done about a failure: the device is broken then, and says so
                // elsewhere.
                let _ = unsafe { result::free_async(address, device.stream.cu_stream()) };
            }
        }
    }

    /// Gives the freed blocks back to the driver, and what it keeps to the system.
    ///
    /// # Errors
    /// Those of the driver, and of commands that waited.
    pub(crate) fn give_back(&self, device: &Opened) -> Result<(), DriverError> {
        device.queue.flush(device)?;
        let blocks = std::mem::take(&mut *lock(&self.freed));
        for address in blocks.into_values().flat_map(Freed::into_keys) {
            // SAFETY: the block was allocated on this stream, and is freed once, behind everything that uses it, which was handed over.
            unsafe { result::free_async(address, device.stream.cu_stream()) }?;
        }
        device.stream.synchronize()?;
        match pool(&device.context) {
            // SAFETY: the pool is the device's.
            Some(pool) => unsafe { sys::cuMemPoolTrimTo(pool, 0) }.result(),
            None => Ok(()),
        }
    }
}

/// What is to be done with memory, and after what.
struct Farewell {
    device: Arc<Opened>,
    /// The end of what the device itself does with it; `None` where others have work queued on streams of theirs, of which
    /// it is not known whether they are still there.
    event: Option<CudaEvent>,
    memory: Box<dyn Send>,
}

impl Farewell {
    fn run(self) {
        if self.device.ready().is_err() {
            mem::forget(self.memory);
            return;
        }
        // A device that is out of order does nothing any more.
        let _ = match &self.event {
            Some(event) => event.synchronize().map_err(failure),
            // The context cannot be waited for while commands are captured.
            None => self.device.queue.behind(&self.device, |_| self.device.context.synchronize()),
        };
        drop(self.memory);
    }
}

/// Gives memory back that others have, when nothing that is queued can use it any more; false where nobody else has it.
fn part(memory: &mut Memory) -> bool {
    let Others { lent, owner } = mem::take(&mut memory.others);
    let lent = lent.into_inner();
    if !lent && owner.is_none() {
        return false;
    }
    let device = memory.device.clone();
    if !device.is_of_this_process() {
        // The parent still has it.
        mem::forget(owner);
        return true;
    }
    let _restores = Restore::new();
    // The waiting thread sleeps instead of spinning.
    let flags = Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC);
    let record = || device.queue.behind(&device, |_| device.stream.record_event(flags)).ok();
    let event = if lent || device.ready().is_err() { None } else { record() };
    let done = event.as_ref().is_some_and(CudaEvent::is_complete);
    let memory: Box<dyn Send> = match owner {
        Some(owner) => Box::new(owner),
        None => Box::new(Memory {
            device: device.clone(),
            address: memory.address,
            bytes: memory.bytes,
            others: Others::default(),
        }),
    };
    if !done {
        later(Farewell { device, event, memory });
    }
    true
}

/// Has a thread wait, and give memory back.
fn later(farewell: Farewell) {
    static THREAD: OnceLock<Option<Sender<Farewell>>> = OnceLock::new();
    let sender = THREAD.get_or_init(|| {
        let (sender, receiver) = channel::<Farewell>();
        let thread = std::thread::Builder::new().name("penstock-memory".to_owned());
        thread.spawn(move || receiver.into_iter().for_each(Farewell::run)).ok().map(|_| sender)
    });
    match sender {
        Some(sender) => {
            if let Err(back) = sender.send(farewell) {
                back.0.run();
            }
        }
        None => farewell.run(),
    }
}

/// Rounds a size up to that of a block, which is at most an eighth larger.
fn rounded(bytes: usize) -> usize {
    let bytes = bytes.max(1);
    let step = bytes.checked_next_power_of_two().map_or(LEAST, |power| (power / (2 * STEPS)).max(LEAST));
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Makes the context current again that was, at its end: who lets go of memory may be at work on another device.
struct Restore(Option<sys::CUcontext>);

impl Restore {
    fn new() -> Restore {
        Restore(result::ctx::get_current().ok().flatten())
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            // SAFETY: the context was the thread's until now; devices are never closed.
            let _ = unsafe { result::ctx::set_current(context) };
        }
    }
}

/// The driver's pool of the device; `None` for a device without pools.
pub(crate) fn pool(context: &CudaContext) -> Option<sys::CUmemoryPool> {
    let mut pool = std::ptr::null_mut();
    // SAFETY: writes one handle.
    let code = unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()) };
    (code == sys::CUresult::CUDA_SUCCESS).then_some(pool)
}

/// Keeps freed memory in the driver's pool instead of giving it back at each synchronisation.
pub(crate) fn keep_freed(pool: sys::CUmemoryPool) {
    let mut keep = u64::MAX;
    let attribute = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: reads one number. A failure leaves the default, which is slower.
    let _ = unsafe { sys::cuMemPoolSetAttribute(pool, attribute, std::ptr::from_mut(&mut keep).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_at_most_an_eighth_larger_than_what_was_asked_for() {
        assert_eq!([0, 1, 256, 257, 4096].map(rounded), [256, 256, 256, 512, 4096]);
        for bytes in (0..40).flat_map(|shift| [(1usize << shift) + 1, (3 << shift) + 7]) {
            let size = rounded(bytes);
            assert!(size >= bytes && size <= (bytes + bytes / 8).max(bytes + LEAST), "{bytes} {size}");
        }
        assert_eq!(rounded(usize::MAX), usize::MAX);
    }
}
