//! Runs of several programs as one kernel, whose blocks of threads are shared out among them.
//!
//! A kernel is made for the programs of a step and the layouts of their operands. Runs of one program with one layout of operands are
//! entries of a list of arguments, so that the text does not grow with their number.

#![expect(unsafe_code, reason = "launches of kernels on memory of this device")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::CudaFunction;
use penstock_data::{Error, Result};
use penstock_exec::{Outputs, Program, Run};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::device::{CudaProgram, Prepared};
use crate::kernel::{Arg, Kernel, Variant, combined};
use crate::opened::{Opened, lock};
use crate::queue::{Command, Launch};

/// The number of a part, which says what its text is.
pub(crate) type PartId = u32;

/// The words of arguments of a launch: 4 KiB, as every device takes them.
const MOST_WORDS: usize = 512;

/// What is known of kernels of several programs.
#[derive(Default)]
pub(crate) struct Combined {
    /// Parts by their text, where each is called the same.
    numbers: FxHashMap<String, PartId>,
    /// The text of each part.
    texts: Vec<Arc<str>>,
    /// Kernels by their parts: of each how many runs there are.
    kernels: FxHashMap<SmallVec<[(PartId, u32); 8]>, CudaFunction>,
}

fn name_of(part: PartId) -> String {
    format!("penstock_part{part}")
}

/// The number of the part that computes a program whose operands lie in some way.
pub(crate) fn part_of(device: &Opened, program: &crate::Program, variant: &Variant) -> PartId {
    const NAME: &str = "penstock_part";
    let key = Kernel::part(program, variant, NAME);
    let mut known = lock(&device.combined);
    if let Some(&id) = known.numbers.get(&key) {
        return id;
    }
    let id = known.texts.len() as PartId;
    known.texts.push(Kernel::part(program, variant, &name_of(id)).into());
    known.numbers.insert(key, id);
    id
}

/// The kernel of parts, loaded now where it was not before.
fn function(device: &Opened, parts: &[(PartId, u32)]) -> Result<CudaFunction> {
    const NAME: &str = "penstock_side_by_side";
    let texts: Vec<Arc<str>> = {
        let known = lock(&device.combined);
        if let Some(found) = known.kernels.get(parts) {
            return Ok(found.clone());
        }
        parts.iter().map(|(id, _)| known.texts[*id as usize].clone()).collect()
    };
    // Outside the lock. Of two threads that load the same, the second drops its own.
    let names: Vec<String> = parts.iter().map(|(id, _)| name_of(*id)).collect();
    let counted: Vec<(&str, usize)> = names.iter().zip(parts).map(|(n, (_, count))| (&**n, *count as usize)).collect();
    let text = texts.concat() + &combined(NAME, &counted);
    let function = device.compile(&text, NAME)?;
    Ok(lock(&device.combined).kernels.entry(parts.into()).or_insert(function).clone())
}

/// A run that is a part of a kernel.
struct Member<'r, 't> {
    variant: Variant,
    run: &'r Prepared<'t>,
}

/// Queues runs that do not depend on each other.
pub(crate) fn launch_all(device: &Arc<Opened>, runs: &[Run<'_>]) -> Result<Vec<Outputs>> {
    let programs = runs.iter().map(|run| own(device, run.program)).collect::<Result<Vec<&CudaProgram>>>()?;
    let prepared = runs.iter().zip(&programs).map(|(run, program)| program.prepare(run.inputs, &run.dims));
    let prepared = prepared.collect::<Result<Vec<_>>>()?;
    let mut parts: BTreeMap<PartId, Vec<Member<'_, '_>>> = BTreeMap::new();
    let mut words = 0;
    for (program, ready) in programs.iter().zip(&prepared) {
        // Addresses and numbers, with the extents and steps of as many dimensions as there are.
        let needed = (ready.to.len() + ready.from.len()) * (2 + ready.layout.dims.len()) + 4;
        match program.part(&ready.layout).filter(|_| runs.len() > 1 && words + needed <= MOST_WORDS) {
            Some((id, variant)) => {
                words += needed;
                parts.entry(id).or_default().push(Member { variant, run: ready });
            }
            None => program.queue(ready)?,
        }
    }
    if !parts.is_empty() {
        queue(device, &parts)?;
    }
    let runs = runs.iter().zip(programs).zip(prepared);
    runs.map(|((run, program), ready)| program.results(ready, &run.dims)).collect()
}

/// A program that this device compiled.
fn own<'p>(device: &Arc<Opened>, program: &'p dyn Program) -> Result<&'p CudaProgram> {
    let own = program.as_any().downcast_ref::<CudaProgram>().filter(|own| Arc::ptr_eq(&own.device, device));
    own.ok_or_else(|| Error::internal("a program of another device"))
}

/// Queues the kernel of some parts.
fn queue(device: &Opened, parts: &BTreeMap<PartId, Vec<Member<'_, '_>>>) -> Result<()> {
    let counted: SmallVec<[(PartId, u32); 8]> = parts.iter().map(|(id, runs)| (*id, runs.len() as u32)).collect();
    let mut ends: SmallVec<[u32; 8]> = SmallVec::new();
    let mut args = vec![Arg::U32(0)];
    let mut blocks = 0u32;
    for members in parts.values() {
        let mut words: SmallVec<[u64; 8]> = SmallVec::new();
        for Member { variant, run } in members {
            blocks = blocks.saturating_add(variant.grid(&run.layout, device.resident_blocks()));
            ends.push(blocks);
            for arg in variant.arguments(&run.layout, &run.to, &run.from) {
                arg.words(|word| words.push(word));
            }
        }
        args.push(Arg::List64(words));
    }
    args[0] = Arg::List32(ends);
    let function = function(device, &counted)?;
    let command = Command::Launch(Launch::new(function.cu_function(), blocks, &args));
    // SAFETY: the arguments are those of the kernel's signature, which was made for the variants of these layouts, and each run's are as
    // where it is launched by itself. No run writes what another one reads or writes: results have memory of their own.
    unsafe { device.queue.push(device, command) }
}
