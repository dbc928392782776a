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

/// The words that are allocated, and set, at a time.
const WORDS: usize = 1024;
/// What a word says where there was no fault.
pub(crate) const NONE: u32 = u32::MAX;

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

/// What a launch may have met.
pub(crate) struct Faults {
    of: Of,
    /// What was found, once it was looked for.
    found: OnceLock<Result<()>>,
}

enum Of {
    /// The word of one launch, and what its number stands for.
    Launch { words: Arc<Memory>, index: usize, sites: Arc<[Site]> },
    /// The launches of a loop that the device runs, which are known once an iteration was noted.
    Loop(OnceLock<Origins>),
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
                let words = Arc::new(device.filled(WORDS, NONE)?);
                *free = Words { memory: Arc::downgrade(&words), next: 0 };
                words
            }
        };
        let index = free.next;
        free.next += 1;
        let of = Of::Launch { words, index, sites: sites.clone() };
        Ok(Arc::new(Faults { of, found: OnceLock::new() }))
    }

    /// Those of a loop that the device will run.
    pub(crate) fn of_loop() -> Arc<Faults> {
        Arc::new(Faults { of: Of::Loop(OnceLock::new()), found: OnceLock::new() })
    }

    /// Makes known what launches a loop has.
    pub(crate) fn settle(&self, launches: Origins) {
        if let Of::Loop(known) = &self.of {
            let _ = known.set(launches);
        }
    }

    /// Where the word is, of those of a launch.
    pub(crate) fn address(&self) -> u64 {
        match &self.of {
            Of::Launch { words, index, .. } => words.address + (index * size_of::<u32>()) as u64,
            Of::Loop(_) => 0,
        }
    }

    /// Waits for the launch.
    ///
    /// # Errors
    /// The fault that it met.
    fn check(&self) -> Result<()> {
        if let Some(found) = self.found.get() {
            return found.clone();
        }
        let found = match &self.of {
            Of::Loop(launches) => launches.get().map_or(Ok(()), |known| known.iter().try_for_each(|f| f.check())),
            Of::Launch { words, sites, .. } => match self.read(&words.device)? {
                NONE => Ok(()),
                number => Err(match sites.get(number as usize) {
                    Some(site) => Error::invalid(site.op.fault().to_string()).in_op(site.op.name).at(site.loc),
                    None => Error::internal("a kernel reported a fault that it does not have"),
                }),
            },
        };
        self.found.get_or_init(|| found).clone()
    }

    /// Waits for the word.
    fn read(&self, device: &Opened) -> Result<u32> {
        device.ready()?;
        let mut word = [NONE];
        device.queue.behind(device, |stream| {
            // SAFETY: the word is within the memory; the target is read when the stream is through.
            unsafe { result::memcpy_dtoh_async(&mut word, self.address(), stream) }
        })?;
        device.stream.synchronize().map_err(failure)?;
        Ok(word[0])
    }

    /// Whether the launch is known to have met no fault.
    fn is_clear(&self) -> bool {
        matches!(self.found.get(), Some(Ok(())))
    }
}

/// The launches alone, with those of loops that are known. Those of a loop that is being noted stay out: what comes from it has it for an
/// origin anyway.
pub(crate) fn launches_of(origins: &Origins) -> Origins {
    let parts = origins.iter().filter_map(|faults| match &faults.of {
        Of::Launch { .. } => Some(std::slice::from_ref(faults)),
        Of::Loop(launches) => launches.get().map(|known| &known[..]),
    });
    let mut out = Origins::new();
    for faults in parts.flatten() {
        if !out.iter().any(|known| Arc::ptr_eq(known, faults)) {
            out.push(faults.clone());
        }
    }
    out
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
