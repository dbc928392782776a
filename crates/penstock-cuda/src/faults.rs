//! Faults that kernels meet: device code cannot raise, so each checked launch has a word for the number of its first one.

#![expect(unsafe_code, reason = "driver calls on memory of this device")]

use std::sync::{Arc, OnceLock, Weak};

use cudarc::driver::result;
use penstock_data::{Error, Loc, Result};
use penstock_ir::OpRef;
use smallvec::SmallVec;

use crate::driver::failure;
use crate::memory::Memory;
use crate::opened::{Opened, lock};
use crate::queue::Command;

/// The words that are allocated, and set, at a time.
const WORDS: usize = 1024;
/// What a word says where there was no fault.
const NONE: u32 = u32::MAX;

/// What a checked step is, for the message of its fault.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Site {
    pub(crate) op: OpRef,
    pub(crate) loc: Loc,
}

/// Words that no launch has yet. They live as long as a launch has one of them.
#[derive(Default)]
pub(crate) struct Words {
    memory: Weak<Memory>,
    next: usize,
}

/// The word of one launch, and what its number stands for.
pub(crate) struct Faults {
    words: Arc<Memory>,
    index: usize,
    sites: Arc<[Site]>,
    /// What the word said, once it was read.
    found: OnceLock<Result<()>>,
}

/// The launches that a tensor comes from, in their order, as far as they may have met faults.
pub(crate) type Origins = SmallVec<[Arc<Faults>; 1]>;

impl Faults {
    /// A word for a launch that has these sites.
    pub(crate) fn new(device: &Arc<Opened>, sites: &Arc<[Site]>) -> Result<Arc<Faults>> {
        let mut free = lock(&device.words);
        let words = match free.memory.upgrade().filter(|_| free.next < WORDS) {
            Some(words) => words,
            None => {
                let words = Arc::new(device.memory(WORDS * size_of::<u32>()).map_err(failure)?);
                let fill = Command::FillWords { to: words.address, word: NONE, count: WORDS };
                // SAFETY: the memory has as many words.
                unsafe { device.queue.push(device, fill) }?;
                *free = Words { memory: Arc::downgrade(&words), next: 0 };
                words
            }
        };
        let index = free.next;
        free.next += 1;
        Ok(Arc::new(Faults { words, index, sites: sites.clone(), found: OnceLock::new() }))
    }

    /// Where the word is.
    pub(crate) fn address(&self) -> u64 {
        self.words.address + (self.index * size_of::<u32>()) as u64
    }

    /// Waits for the launch.
    ///
    /// # Errors
    /// The fault that it met.
    fn check(&self) -> Result<()> {
        if let Some(found) = self.found.get() {
            return found.clone();
        }
        let device = &self.words.device;
        device.ready()?;
        let mut word = [NONE];
        device.queue.behind(device, |stream| {
            // SAFETY: the word is within the memory; the target is read when the stream is through.
            unsafe { result::memcpy_dtoh_async(&mut word, self.address(), stream) }
        })?;
        device.stream.synchronize().map_err(failure)?;
        let found = match word[0] {
            NONE => Ok(()),
            number => Err(match self.sites.get(number as usize) {
                Some(site) => Error::invalid(site.op.fault().to_string()).in_op(site.op.name).at(site.loc),
                None => Error::internal("a kernel reported a fault that it does not have"),
            }),
        };
        self.found.get_or_init(|| found).clone()
    }

    /// Whether the launch is known to have met no fault.
    fn is_clear(&self) -> bool {
        matches!(self.found.get(), Some(Ok(())))
    }
}

/// The origins of what is computed of tensors by a launch.
pub(crate) fn joined<'t>(inputs: impl Iterator<Item = &'t Origins>, own: Option<&'t Arc<Faults>>) -> Origins {
    let mut out = Origins::new();
    for faults in inputs.flatten().chain(own) {
        if !faults.is_clear() && !out.iter().any(|known| Arc::ptr_eq(known, faults)) {
            out.push(faults.clone());
        }
    }
    out
}

/// As [`check`], of all operands of some work.
///
/// # Errors
/// The first fault.
pub(crate) fn check_all(origins: &[&Origins], device: &Opened) -> Result<()> {
    origins.iter().try_for_each(|origins| check(origins, device))
}

/// Waits for the launches that a tensor comes from, which may be another device's, and makes this one the calling thread's.
///
/// # Errors
/// The first fault.
pub(crate) fn check(origins: &Origins, device: &Opened) -> Result<()> {
    origins.iter().try_for_each(|faults| faults.check())?;
    device.ready()
}
