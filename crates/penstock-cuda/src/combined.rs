//! Runs of several programs as one kernel, whose blocks of threads are shared out among them.
//!
//! A kernel is made for the programs of a step and the ways in which their operands lie. Runs of one program whose operands lie the same
//! way are entries of a list of arguments, so that the text does not grow with their number.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::CudaFunction;
use penstock_data::Result;
use smallvec::{SmallVec, smallvec};

use crate::kernel::{Arg, combined};
use crate::laid::Laid;
use crate::opened::{Opened, lock};
use crate::parts::{Counts, PartId, name_of};
use crate::queue::{Command, Launch};

/// The words of arguments of a launch: 4 KiB, as every device takes them.
const MOST_WORDS: usize = 512;

/// A run of a part: how its operands lie, and where they and the results are.
pub(crate) struct Member<'r> {
    pub(crate) laid: &'r Laid,
    pub(crate) to: &'r [u64],
    pub(crate) from: &'r [u64],
}

/// Runs that are to be one launch.
#[derive(Default)]
pub(crate) struct Together<'r> {
    parts: BTreeMap<PartId, Vec<Member<'r>>>,
    words: usize,
}

impl<'r> Together<'r> {
    /// Takes a run in; `false` where there is no room for its arguments.
    pub(crate) fn add(&mut self, part: PartId, run: Member<'r>) -> bool {
        // With where its blocks end.
        let words = run.laid.words(run.to.len() + run.from.len()) + 1;
        let has_room = self.words + words <= MOST_WORDS;
        if has_room {
            self.words += words;
            self.parts.entry(part).or_default().push(run);
        }
        has_room
    }

    /// Queues the launch.
    ///
    /// # Safety
    /// The addresses are of memory of this device, of the operands and the results of each run; no run writes what another one reads or
    /// writes.
    pub(crate) unsafe fn queue(&self, device: &Opened) -> Result<()> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let counts: Counts = self.parts.iter().map(|(id, runs)| (*id, runs.len() as u32)).collect();
        let mut ends: SmallVec<[u32; 8]> = SmallVec::new();
        let mut args: SmallVec<[Arg; 4]> = smallvec![Arg::U32(0)];
        let (mut blocks, mut bytes) = (0u32, 0);
        for runs in self.parts.values() {
            let mut words: SmallVec<[u64; 8]> = SmallVec::with_capacity(self.words);
            for Member { laid, to, from } in runs {
                blocks = blocks.saturating_add(laid.blocks);
                bytes += laid.bytes;
                ends.push(blocks);
                words.extend(to.iter().chain(*from).copied());
                laid.extents.iter().for_each(|arg| arg.words(|word| words.push(word)));
            }
            args.push(Arg::List64(words));
        }
        args[0] = Arg::List32(ends);
        let function = function(device, counts)?;
        let command = Command::Launch(Launch::new(function.cu_function(), blocks, &args).moving(bytes));
        // SAFETY: the arguments are those of the kernel's signature, which was made for these variants, and each run's are as where it is
        // launched by itself; the caller's promise.
        unsafe { device.queue.push(device, command) }
    }
}

/// The kernel of parts, loaded now where it was not before.
fn function(device: &Opened, counts: Counts) -> Result<CudaFunction> {
    const NAME: &str = "penstock_side_by_side";
    let texts: Vec<Arc<str>> = {
        let known = lock(&device.parts);
        if let Some(found) = known.kernel(&counts) {
            return Ok(found);
        }
        counts.iter().map(|(id, _)| known.text(*id)).collect()
    };
    // Outside the lock. Of two threads that load the same, the second drops its own.
    let names: Vec<String> = counts.iter().map(|(id, _)| name_of(*id)).collect();
    let parts: Vec<(&str, usize)> = names.iter().zip(&counts).map(|(n, (_, count))| (&**n, *count as usize)).collect();
    let function = device.compile(&(texts.concat() + &combined(NAME, &parts)), NAME)?;
    Ok(lock(&device.parts).keep(counts, function))
}
