//! Pipelines: instructions that take rows to rows run as one step, some rows at a time.
//!
//! A thread takes a *chunk* of the rows and goes through it in *blocks*, all stages for one block, then for the next. So a stage
//! finds what it reads in the cache, and what passes between stages is never there as a whole. A stage that reads
//! neighbours of a row needs a *halo*, more rows of what it reads than it makes: those are kept from block to block, and
//! computed by both threads where chunks meet.
//!
//! Rows are those of a product of matrices, of the pixels of a convolution (the *head*, whose kernel hands on the rows that it has
//! made), or the outermost indices of arrays, such as images that go through several layers. A [row loop](row_loop) goes through all iterations of a recurrent loop for a chunk.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

mod draft;
mod find;
mod layout;
pub(super) mod row_loop;
mod stage;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use penstock_data::{ALIGNMENT, DType, Dims, Result, Tensor};
use penstock_kernels::conv::{Filter, Geometry, conv_then};
use penstock_kernels::pool::{parallel_each, parallel_for, parallel_parts, threads};
use penstock_kernels::right::Right;
use smallvec::SmallVec;

pub(super) use find::{Finder, Found};
pub(crate) use row_loop::RowLoop;
use stage::{Bases, Failed, Packed, Stage, Work};

use super::frame::Reg;
use super::memory::{Memory, with_scratch};

/// Blocks and chunks of products are of multiples of so many rows, as which their kernels take them.
const ROWS: usize = 8;
/// Right matrices of no more columns are not packed.
const FEW_COLUMNS: usize = 4;
/// Products of more rows are packed.
const UNPACKED_ROWS: usize = 64;

/// Which rows a stage makes: for coordinates from `a` to `b`, rows from `a + before` to `b + after`, as far as they are there.
struct Span {
    before: isize,
    after: isize,
    /// Rows.
    extent: isize,
    /// The coordinate of row 0, for what leaves the step.
    origin: isize,
}

/// Where a value is.
struct Made {
    /// Bytes of a row.
    row: usize,
    /// The slot of a thread's memory for the rows that are needed at a time; `None` where the value goes to the step's own result, or
    /// is given: values are given first.
    slot: Option<usize>,
    /// The number of the step's result that it is.
    out: Option<usize>,
}

/// A part of a thread's memory: bytes of a row, and how many rows it has beside those of a block.
struct Slot {
    row: usize,
    halo: usize,
}

/// A convolution whose pixels are the rows, and which makes the first value.
struct Head {
    dtype: DType,
    geometry: Geometry,
    /// The image and the filter, among what the step reads.
    x: usize,
    filter: usize,
}

/// How rows are shared among threads.
enum Partition {
    /// As the head hands them on.
    Pixels,
    /// Each matrix of so many rows by one thread.
    Matrices(usize),
    /// Chunks of multiples of `unit` coordinates, of about `grain` at least.
    Chunks { grain: usize, unit: usize },
}

pub(crate) struct Pipeline {
    head: Option<Head>,
    stages: Vec<Stage>,
    spans: Vec<Span>,
    made: Vec<Made>,
    slots: Vec<Slot>,
    pub(crate) ins: SmallVec<[Reg; 8]>,
    pub(crate) outs: SmallVec<[Reg; 4]>,
    due: Vec<(DType, Dims)>,
    types: Vec<(DType, Dims)>,
    /// The coordinates that are gone through, and how many of them make a block.
    span: Range<isize>,
    block: usize,
    partition: Partition,
    /// Estimated nanoseconds of a run on one thread, and of the least that is worth handing to one.
    pub(crate) nanoseconds: u64,
    piece_ns: u64,
    /// Whether it is offloaded.
    pub(crate) heavy: bool,
}

/// What is packed, by stage: for all rows, and for one matrix of them.
type Multipliers<'a> = [&'a [Option<Packed>]];

/// What a thread has of a chunk.
struct State<'a> {
    memory: &'a Memory,
    /// Where the slots are.
    slots: &'a [*mut u8],
    /// The rows of each stage that are there.
    have: SmallVec<[Range<isize>; 32]>,
    /// Where row 0 of each value would be.
    bases: SmallVec<[*mut u8; 64]>,
}

impl Slot {
    fn bytes(&self, block: usize) -> usize {
        (self.row * (block + self.halo)).next_multiple_of(ALIGNMENT)
    }
}

/// Keeps the fault of the first stage and instruction.
fn note(failed: &Mutex<Option<Failed>>, new: Failed) {
    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.as_ref().is_none_or(|f| (new.stage, new.origin) < (f.stage, f.origin)) {
        *failed = Some(new);
    }
}

impl Pipeline {
    /// What the step does, for a listing.
    pub(crate) fn summary(&self) -> String {
        let (stages, bytes) = (self.stages.len() + usize::from(self.head.is_some()), self.scratch() >> 10);
        format!("{stages} stages, {} of {} rows at a time, {bytes} KiB kept", self.block, self.span.len())
    }

    /// Bytes of a thread's memory.
    fn scratch(&self) -> usize {
        self.slots.iter().map(|slot| slot.bytes(self.block)).sum()
    }

    /// Runs the step: `outputs` become what it makes.
    ///
    /// # Errors
    /// `Internal` for inputs of other types; `ResourceExhausted`; the fault of the first stage that has one, anywhere.
    pub(crate) fn run(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<()> {
        let memory = Memory::prepare(inputs, &self.due, outputs, &self.types)?;
        let failed: Mutex<Option<Failed>> = Mutex::new(None);
        let packed = self.pack(&memory, None)?;
        let run = |packed: &Multipliers<'_>, memory: &Memory, chunk: Range<usize>| {
            // SAFETY: inputs are of the types that the step was made for and outputs were made of theirs, each of memory of
            // its own; chunks do not overlap.
            unsafe { self.chunk(0..1, &|_| memory.clone(), packed, chunk, &failed) };
        };
        match (&self.partition, &self.head) {
            (Partition::Pixels, Some(Head { dtype, geometry, x, filter })) => {
                let (x, filter) = (memory.ins[*x], memory.ins[*filter]);
                let Made { row, out, .. } = self.made[0];
                let y = out.map_or(std::ptr::null_mut(), |out| memory.outs[out]);
                let then = |pixels: Range<usize>, first: *const u8| {
                    let given = SmallVec::from_iter([first.wrapping_sub(pixels.start * row).cast_mut()]);
                    run(&[&packed], &Memory { given, ..memory.clone() }, pixels);
                };
                // SAFETY: the geometry is that of the operands, and of the result, which shares no memory with them.
                unsafe { conv_then(*dtype, geometry, x, filter, y, &then) };
            }
            (Partition::Pixels, None) => {}
            (&Partition::Matrices(rows), _) => {
                parallel_each(self.span.len() / rows, |i| match self.pack(&memory, Some(i)) {
                    Ok(own) => run(&[&packed, &own], &memory, i * rows..(i + 1) * rows),
                    Err(error) => note(&failed, Failed { stage: 0, origin: 0, error }),
                })
            }
            (&Partition::Chunks { grain, unit }, _) => {
                let (rows, units) = (self.span.len(), self.span.len().div_ceil(unit));
                // No more chunks than are worth a thread, but one for each thread that is.
                let grain = grain.div_ceil(unit).min(units / self.threads_for(self.nanoseconds));
                parallel_for(units, grain, |units| {
                    run(&[&packed], &memory, units.start * unit..rows.min(units.end * unit));
                });
            }
        }
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), |failed| Err(failed.error))
    }

    /// Runs all stages for all rows, in some iterations, each of a thread's rows after its own rows of the iteration before; `false`
    /// where one fails. `memory` gives that of an iteration. The rows are shared among as many threads as `nanoseconds` are worth.
    ///
    /// # Safety
    /// The memory of each iteration is of the types that the step was made for. What an iteration is given is there, or is made by one
    /// before, and is not written by it.
    unsafe fn iterate(
        &self,
        iterations: Range<usize>,
        memory: &(dyn Fn(usize) -> Memory + Sync),
        nanoseconds: u64,
    ) -> bool {
        let rows = self.span.len();
        let failed: Mutex<Option<Failed>> = Mutex::new(None);
        parallel_parts(rows, ROWS, self.threads_for(nanoseconds), |part| {
            // SAFETY: the caller's contract; parts do not overlap.
            unsafe { self.chunk(iterations.clone(), memory, &[], part, &failed) };
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// How many threads so much work is worth.
    fn threads_for(&self, nanoseconds: u64) -> usize {
        usize::try_from(nanoseconds / self.piece_ns).unwrap_or(usize::MAX).clamp(1, threads())
    }

    /// What stages multiply by that is better packed once than where it is used, by stage: that of all rows, or that of matrix `number`.
    /// Matrices are packed where a product by blocks as a whole would pack them, whose elements are then the same bit for bit.
    ///
    /// # Errors
    /// `ResourceExhausted`.
    fn pack(&self, memory: &Memory, number: Option<usize>) -> Result<SmallVec<[Option<Packed>; 8]>> {
        let pack = |stage: &Stage| {
            let Some(multiplier) = stage.multiplier().map(|i| memory.ins[i]) else { return Ok(None) };
            match stage.work {
                Work::Product { dtype, k, n, transposed, each } => {
                    let rows = each.unwrap_or(self.span.len());
                    let packs = n > FEW_COLUMNS && (rows > UNPACKED_ROWS || transposed && rows > 2 * ROWS);
                    if !packs || each.is_some() != number.is_some() {
                        return Ok(None);
                    }
                    let b = multiplier.wrapping_add(number.unwrap_or(0) * k * n * dtype.size());
                    // SAFETY: the operand has such a matrix.
                    unsafe { Right::pack(dtype, k, n, b, transposed) }.map(|right| Some(Packed::Matrix(right)))
                }
                // SAFETY: the geometry is that of the operand.
                Work::Conv { dtype, geometry, .. } if number.is_none() => unsafe {
                    Filter::pack(dtype, &geometry, multiplier)
                        .map(|filter| filter.map(|filter| Packed::Filter(Box::new(filter))))
                },
                _ => Ok(None),
            }
        };
        self.stages.iter().map(pack).collect()
    }

    /// Runs all stages for some coordinates, a block at a time, for one iteration after the other, whose memory `memory` gives; `failed`
    /// becomes the first fault.
    ///
    /// # Safety
    /// The memory is that of a run; of what is given these rows are there, or are made by an iteration before; nobody else writes what
    /// leaves the step at these coordinates.
    unsafe fn chunk(
        &self,
        iterations: Range<usize>,
        memory: &dyn Fn(usize) -> Memory,
        packed: &Multipliers<'_>,
        chunk: Range<usize>,
        failed: &Mutex<Option<Failed>>,
    ) {
        let chunk = self.span.start + chunk.start as isize..self.span.start + chunk.end as isize;
        // As many blocks of about as many rows.
        let blocks = chunk.len().div_ceil(self.block).max(1);
        let unit = if let Partition::Chunks { unit, .. } = self.partition { unit } else { ROWS };
        let block = chunk.len().div_ceil(blocks).next_multiple_of(unit).min(self.block);
        with_scratch(self.scratch(), |mut scratch| {
            let place = |slot: &Slot| {
                let place = scratch;
                scratch = scratch.wrapping_add(slot.bytes(self.block));
                place
            };
            let slots: SmallVec<[*mut u8; 64]> = self.slots.iter().map(place).collect();
            for iteration in iterations {
                let memory = memory(iteration);
                let start = |(number, made): (usize, &Made)| match *made {
                    Made { slot: Some(slot), .. } => slots[slot],
                    Made { out: Some(out), .. } => memory.outs[out],
                    _ => memory.given[number],
                };
                let mut state = State {
                    memory: &memory,
                    slots: &slots,
                    have: self.stages.iter().map(|_| 0..0).collect(),
                    bases: self.made.iter().enumerate().map(start).collect(),
                };
                // A stage reads those before it alone, so up to one that failed they go on, and may fail at later coordinates.
                let mut upto = self.stages.len();
                for start in chunk.clone().step_by(block) {
                    let block = start..chunk.end.min(start + block as isize);
                    for number in 0..upto {
                        // SAFETY: the caller's contract; the stages before this one have made what it reads.
                        if let Err((origin, error)) = unsafe { self.stage(&mut state, packed, number, &block) } {
                            note(failed, Failed { stage: number, origin, error });
                            upto = number + 1;
                            break;
                        }
                    }
                }
                if upto < self.stages.len() {
                    break;
                }
            }
        });
    }

    /// Runs a stage for a block.
    ///
    /// # Errors
    /// As [`Stage::run`] reports.
    ///
    /// # Safety
    /// As for [`Pipeline::chunk`].
    unsafe fn stage(
        &self,
        state: &mut State<'_>,
        packed: &Multipliers<'_>,
        number: usize,
        block: &Range<isize>,
    ) -> Result<(), (u16, penstock_data::Error)> {
        let (stage, span) = (&self.stages[number], &self.spans[number]);
        let inside = |row: isize| row.clamp(0, span.extent);
        let need = inside(block.start + span.before)..inside(block.end + span.after);
        if need.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        unsafe {
            let fresh = self.keep(state, number, &need);
            let packed = packed.iter().find_map(|list| list[number].as_ref());
            let bases = Bases { ins: &state.memory.ins, made: &state.bases };
            stage.run(bases, &(fresh.start as usize..fresh.end as usize), packed)?;
            let own = inside(block.start - span.origin)..inside(block.end - span.origin);
            self.hand_out(state, stage, &own);
        }
        Ok(())
    }

    /// Moves the rows of a stage that are needed again to the front of its memory, and gives the rows to make.
    ///
    /// # Safety
    /// As for [`Pipeline::chunk`].
    unsafe fn keep(&self, state: &mut State<'_>, number: usize, need: &Range<isize>) -> Range<isize> {
        let have = &state.have[number];
        let again = need.start..have.end.max(need.start);
        for made in self.stages[number].outs.clone() {
            let Made { row, slot: Some(slot), .. } = self.made[made] else { continue };
            let front = state.slots[slot];
            if !again.is_empty() {
                let from = state.bases[made].wrapping_offset(again.start * row as isize).cast_const();
                // SAFETY: these rows were made, and lie in the memory of this value, which no other has where rows are kept.
                unsafe { std::ptr::copy(from, front, again.len() * row) };
            }
            state.bases[made] = front.wrapping_offset(-need.start * row as isize);
        }
        state.have[number] = need.clone();
        again.end..need.end
    }

    /// Copies rows that leave the step from a thread's memory.
    ///
    /// # Safety
    /// As for [`Pipeline::chunk`]; the stage has made these rows.
    unsafe fn hand_out(&self, state: &State<'_>, stage: &Stage, rows: &Range<isize>) {
        for made in stage.outs.clone() {
            if let Made { row, slot: Some(_), out: Some(out) } = self.made[made] {
                let from = state.bases[made].wrapping_offset(rows.start * row as isize).cast_const();
                // SAFETY: the rows were made, and those of the result are this block's.
                unsafe {
                    let to = state.memory.outs[out].offset(rows.start * row as isize);
                    from.copy_to_nonoverlapping(to, rows.len() * row);
                }
            }
        }
    }
}
