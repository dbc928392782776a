//! Slabs: fused regions, and moves of elements between them, that follow each other run as one step, some of their
//! outermost indices at a time.
//!
//! What passes between the parts of such a step is never there as a whole: a thread goes through a chunk of the outermost
//! indices in slabs, runs all parts for one slab, and so finds what a part reads in its cache. Where a part reads
//! neighbours, it needs a few indices more of what it reads: those are kept from slab to slab, and computed by both
//! threads where chunks meet.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

mod find;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use penstock_data::{ALIGNMENT, DType, Dims, Result, Tensor};
use penstock_kernels::pool::parallel_for;
use penstock_kernels::{Lane, LoopFn, copy};
use penstock_passes::evaluate::fault;
use smallvec::SmallVec;

pub(super) use find::{Found, Uses, find};

use super::memory::{Memory, with_scratch};
use super::step::Reg;
use crate::tile::TileProgram;

/// Where a part finds an operand: among what the step reads, or among what its parts make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    In(usize),
    Made(usize),
}

/// What a part does. All take rows to rows: a row has the elements of one outermost index.
enum Work {
    /// A fused region.
    Map(Box<TileProgram>),
    /// An elementwise operator on rows of as many elements, which advance by so many bytes or stand still.
    Loop { f: LoopFn, steps: SmallVec<[usize; 3]>, name: &'static str },
    /// Joins rows along another dimension: bytes of each operand, in each of `outer` parts of a row.
    Concat { bytes: Vec<usize>, outer: usize },
    /// The reverse, for the results.
    Split { bytes: Vec<usize>, outer: usize },
    /// A box of each row. All but the first of these are those of a row.
    Slice { first: usize, dims: Dims, begin: Dims, step: SmallVec<[isize; 4]>, counts: Dims },
    /// A constant around each row, and around all of them.
    Pad { first: usize, rows: usize, dims: Dims, before: Dims, after: Dims, fill: Tensor },
}

struct Part {
    work: Work,
    ins: SmallVec<[Place; 8]>,
    /// The results, among what is made.
    outs: Range<usize>,
    /// Rows.
    extent: isize,
    /// Elements of a row of the results of a map, a loop, a slice or a padding, and bytes of one.
    row: usize,
    size: usize,
    /// For coordinates from `a` to `b`, rows from `a + before` to `b + after` are made, as far as they are there.
    before: isize,
    after: isize,
    /// The coordinate of row 0, for what leaves the step.
    origin: isize,
}

/// Where a result of a part is.
struct Made {
    /// Bytes of a row.
    row: usize,
    /// The slot of a thread's memory for the rows that are needed at a time; `None` where the result goes to the step's own.
    slot: Option<usize>,
    /// The number of the step's result that it is.
    out: Option<usize>,
}

/// A part of a thread's memory: bytes of a row, and how many rows it has beside those of a slab.
struct Slot {
    row: usize,
    border: usize,
}

pub(crate) struct SlabStep {
    parts: Vec<Part>,
    made: Vec<Made>,
    slots: Vec<Slot>,
    pub(crate) ins: SmallVec<[Reg; 8]>,
    pub(crate) outs: SmallVec<[Reg; 4]>,
    due: Vec<(DType, Dims)>,
    types: Vec<(DType, Dims)>,
    /// Bytes of a row of each operand.
    in_rows: Vec<usize>,
    /// The coordinates that are gone through.
    span: Range<isize>,
    /// How many of them make a slab, and at least a chunk.
    slab: usize,
    grain: usize,
    /// Estimated nanoseconds of a run on one thread.
    pub(crate) nanoseconds: u64,
    /// Whether it runs apart.
    pub(crate) heavy: bool,
}

/// What a thread has of a chunk.
struct State<'a> {
    memory: &'a Memory,
    /// Where the slots are.
    slots: &'a [*mut u8],
    /// The rows of each part that are there.
    have: SmallVec<[Range<isize>; 32]>,
    /// Where row 0 of each result would be.
    bases: SmallVec<[*mut u8; 64]>,
}

impl Slot {
    fn bytes(&self, slab: usize) -> usize {
        (self.row * (slab + self.border)).next_multiple_of(ALIGNMENT)
    }
}

impl SlabStep {
    /// What the step does, for a listing.
    pub(crate) fn summary(&self) -> String {
        let bytes = self.scratch(self.slab) >> 10;
        format!("{} parts, {} of {} indices at a time, {bytes} KiB", self.parts.len(), self.slab, self.span.len())
    }

    /// Runs the step: `outputs` become what it makes.
    ///
    /// # Errors
    /// `Internal` for inputs of other types; `ResourceExhausted`; what the parts report.
    pub(crate) fn run(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<()> {
        let memory = Memory::prepare(inputs, &self.due, outputs, &self.types)?;
        let failed = AtomicBool::new(false);
        // SAFETY: inputs are of the types that the step was made for and outputs were made of theirs, each of memory of its
        // own; chunks do not overlap, or run one after the other.
        let run = |chunk: Range<isize>| unsafe { self.chunk(&memory, chunk) };
        parallel_for(self.span.len(), self.grain, |range| {
            let at = |i: usize| self.span.start + i as isize;
            if run(at(range.start)..at(range.end)).is_err() {
                failed.store(true, Ordering::Relaxed);
            }
        });
        // The error is that of the first part which has one, anywhere.
        if failed.into_inner() { run(self.span.clone()) } else { Ok(()) }
    }

    /// Bytes of a thread's memory.
    fn scratch(&self, slab: usize) -> usize {
        self.slots.iter().map(|slot| slot.bytes(slab)).sum()
    }

    /// Runs all parts for some coordinates, a slab at a time.
    ///
    /// # Errors
    /// Those of the first part that has one at any of these coordinates.
    ///
    /// # Safety
    /// `memory` is that of a run, and nobody else writes what leaves the step at these coordinates.
    unsafe fn chunk(&self, memory: &Memory, chunk: Range<isize>) -> Result<()> {
        let slab = self.slab;
        with_scratch(self.scratch(slab), |mut scratch| {
            let place = |slot: &Slot| {
                let place = scratch;
                scratch = scratch.wrapping_add(slot.bytes(slab));
                place
            };
            let slots: SmallVec<[*mut u8; 64]> = self.slots.iter().map(place).collect();
            let start = |made: &Made| match *made {
                Made { slot: Some(slot), .. } => slots[slot],
                Made { out: Some(out), .. } => memory.outs[out],
                _ => std::ptr::null_mut(),
            };
            let mut state = State {
                memory,
                slots: &slots,
                have: self.parts.iter().map(|_| 0..0).collect(),
                bases: self.made.iter().map(start).collect(),
            };
            // A part reads those before it alone, so those before one that failed go on, and may fail at later coordinates.
            let (mut upto, mut done) = (self.parts.len(), Ok(()));
            for start in chunk.clone().step_by(slab) {
                let slab = start..chunk.end.min(start + slab as isize);
                for (p, part) in self.parts[..upto].iter().enumerate() {
                    let inside = |at: isize| at.clamp(0, part.extent);
                    let need = inside(slab.start + part.before)..inside(slab.end + part.after);
                    if need.is_empty() {
                        continue;
                    }
                    // SAFETY: the caller's contract; the parts before this one have made what it reads.
                    unsafe {
                        let fresh = self.keep(&mut state, p, &need);
                        if let Err(error) = self.part(&state, part, &fresh) {
                            (upto, done) = (p, Err(error));
                            break;
                        }
                        self.hand_out(&state, part, &slab);
                    }
                }
            }
            done
        })
    }

    /// Moves the rows of a part that are needed again to the front of its memory, and gives the rows to make.
    ///
    /// # Safety
    /// As for [`SlabStep::chunk`].
    unsafe fn keep(&self, state: &mut State<'_>, p: usize, need: &Range<isize>) -> Range<isize> {
        let have = &state.have[p];
        let again = need.start..have.end.max(need.start);
        for made in self.parts[p].outs.clone() {
            let Made { row, slot: Some(slot), .. } = self.made[made] else { continue };
            let base = state.bases[made];
            let front = state.slots[slot];
            if !again.is_empty() {
                let from = base.wrapping_offset(again.start * row as isize).cast_const();
                // SAFETY: these rows were made, and lie in the memory of this result.
                unsafe { std::ptr::copy(from, front, again.len() * row) };
            }
            state.bases[made] = front.wrapping_offset(-need.start * row as isize);
        }
        state.have[p] = need.clone();
        again.end..need.end
    }

    /// Copies rows that leave the step from a thread's memory.
    ///
    /// # Safety
    /// As for [`SlabStep::chunk`]; the part has made its rows for the slab.
    unsafe fn hand_out(&self, state: &State<'_>, part: &Part, slab: &Range<isize>) {
        let inside = |at: isize| (at - part.origin).clamp(0, part.extent);
        let own = inside(slab.start)..inside(slab.end);
        for made in part.outs.clone() {
            if let Made { row, slot: Some(_), out: Some(out) } = self.made[made] {
                let from = state.bases[made].wrapping_offset(own.start * row as isize).cast_const();
                // SAFETY: the rows at these coordinates were made, and those of the result are this slab's.
                unsafe {
                    let to = state.memory.outs[out].offset(own.start * row as isize);
                    from.copy_to_nonoverlapping(to, own.len() * row);
                }
            }
        }
    }

    /// Makes some rows of the results of a part.
    ///
    /// # Safety
    /// As for [`SlabStep::chunk`]; what these rows are made of is there.
    unsafe fn part(&self, state: &State<'_>, part: &Part, rows: &Range<isize>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (first, count) = (rows.start as usize, rows.len());
        // Pointers to where row 0 would be, which need not be there.
        let base = |place: &Place| match *place {
            Place::In(i) => state.memory.ins[i],
            Place::Made(i) => state.bases[i].cast_const(),
        };
        let row = |place: &Place, at: usize| {
            let bytes = match *place {
                Place::In(i) => self.in_rows[i],
                Place::Made(i) => self.made[i].row,
            };
            base(place).wrapping_add(at * bytes)
        };
        let out = |made: usize| state.bases[made].wrapping_add(first * self.made[made].row);
        let (ins, outs) = (&part.ins, part.outs.clone());
        // SAFETY: the caller's contract; every row of a result has memory of its own, and is made of rows that are there.
        unsafe {
            match &part.work {
                Work::Map(program) => {
                    let ins: SmallVec<[*const u8; 32]> = ins.iter().map(base).collect();
                    let stretch = first * part.row..(first + count) * part.row;
                    return program.run_part(&ins, &state.bases[outs], stretch).map_err(|(_, error)| error);
                }
                Work::Loop { f, steps, name } => {
                    let lanes: SmallVec<[Lane; 4]> = ins
                        .iter()
                        .zip(steps)
                        .map(|(place, &step)| Lane { ptr: base(place).wrapping_add(first * part.row * step), step })
                        .collect();
                    return f(count * part.row, &lanes, out(outs.start)).map_err(|e| fault(e).in_op(name));
                }
                Work::Concat { bytes, outer } => {
                    let ins: SmallVec<[(*const u8, usize); 32]> =
                        ins.iter().zip(bytes).map(|(place, &bytes)| (row(place, first), bytes)).collect();
                    copy::concat(&ins, count * outer, out(outs.start));
                }
                Work::Split { bytes, outer } => {
                    let outs: SmallVec<[(*mut u8, usize); 32]> =
                        outs.zip(bytes).map(|(made, &bytes)| (out(made), bytes)).collect();
                    copy::split(row(&ins[0], first), count * outer, &outs);
                }
                Work::Slice { first: skipped, dims, begin, step, counts } => {
                    let (mut dims, mut counts) = (dims.clone(), counts.clone());
                    (dims[0], counts[0]) = (count, count);
                    let from = row(&ins[0], first + skipped);
                    copy::strided_slice(part.size, from, &dims, begin, step, &counts, out(outs.start));
                }
                Work::Pad { first: skipped, rows: there, dims, before, after, fill } => {
                    let inside = |at: usize| at.clamp(*skipped, skipped + there).clamp(first, first + count);
                    let (from, to) = (inside(first), inside(first + count));
                    let bytes = part.row * part.size;
                    let out = out(outs.start);
                    let around = |rows: Range<usize>| {
                        let to = out.wrapping_add((rows.start - first) * bytes);
                        copy::fill(part.size, fill.as_ptr(), rows.len() * part.row, to);
                    };
                    around(first..from);
                    around(to..first + count);
                    if from < to {
                        let mut dims = dims.clone();
                        dims[0] = to - from;
                        let x = row(&ins[0], from - skipped);
                        let to = out.wrapping_add((from - first) * bytes);
                        copy::pad(part.size, x, &dims, before, after, fill.as_ptr(), to);
                    }
                }
            }
        }
        Ok(())
    }
}
