//! Strips: products of matrices, and what takes rows to rows behind, between or before them (elementwise instructions, fused regions,
//! softmax, splits and concatenations of columns), run as one step, some rows at a time.
//!
//! Each of these instructions gives row `i` of its results for row `i` of what the others gave. So a thread takes a strip of
//! rows through all of them while it is in its cache: what passes between the parts is never there as a whole, unless others
//! use it, and threads meet once. Where the rows are the pixels of a convolution, its kernel hands them on.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

mod find;
mod parts;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use penstock_data::{ALIGNMENT, DType, Dims, Result, Tensor};
use penstock_kernels::conv::{Geometry, conv_then};
use penstock_kernels::pool::{parallel_each, threads};
use penstock_passes::Thresholds;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

pub(super) use find::{Found, Values, find, part, rows_of};
pub(super) use parts::Strips;
use parts::{Failed, Place, Rights};

use super::memory::{Memory, with_scratch};
use super::step::Reg;
use crate::work::is_heavy;

/// Strips are of multiples of so many rows, as which the kernels of products take them.
pub(super) const ROWS: usize = 8;

/// Where a thread finds what a part makes.
#[derive(Clone, Copy)]
enum Room {
    /// In a result of the step.
    Result(usize),
    /// In a slot of its own memory.
    Slot(usize),
    /// Where the head has handed it on.
    Given,
}

/// A convolution whose pixels are the rows of the parts behind it.
struct Head {
    dtype: DType,
    geometry: Geometry,
    /// The image and the filter, among what the step reads.
    x: usize,
    filter: usize,
}

pub(crate) struct StripStep {
    /// What makes the first value, some rows of which are handed on at a time.
    head: Option<Head>,
    strips: Strips,
    pub(crate) ins: SmallVec<[Reg; 8]>,
    pub(crate) outs: SmallVec<[Reg; 4]>,
    /// The types of the results.
    types: Vec<(DType, Dims)>,
    /// For each value that is made, where it is, and bytes of a row.
    rooms: Vec<(Room, usize)>,
    /// The bytes of a row in each slot.
    slots: Vec<usize>,
    /// Rows of a strip that stays in the cache.
    fits: usize,
    /// Estimated nanoseconds of a run on one thread,
    pub(crate) nanoseconds: u64,
    /// and of what a thread is handed.
    piece_ns: u64,
    /// Whether it runs apart.
    pub(crate) heavy: bool,
}

/// Keeps the fault of the first part and instruction.
fn note(failed: &Mutex<Option<Failed>>, new: Failed) {
    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.as_ref().is_none_or(|f| (new.part, new.origin) < (f.part, f.origin)) {
        *failed = Some(new);
    }
}

impl StripStep {
    /// The step whose values leave it as `leaves` says.
    fn new(head: Option<Head>, strips: Strips, leaves: &[bool], least: &Thresholds) -> StripStep {
        let rows = strips.rows;
        let row = |(dtype, dims): &(DType, Dims)| dims.iter().product::<usize>() * dtype.size() / rows;
        let mut last = vec![0; leaves.len()];
        for (p, part) in strips.parts.iter().enumerate() {
            part.reads(|place| {
                if let Place::Out(i) = place {
                    last[i] = p;
                }
            });
        }
        // Slots, and the last part that reads what is there.
        let mut slots: Vec<(usize, usize)> = Vec::new();
        let (mut rooms, mut types) = (Vec::new(), Vec::new());
        let made = strips.parts.iter().enumerate().flat_map(|(p, part)| part.makes().map(move |i| (p, i)));
        for (p, i) in head.iter().map(|_| (0, 0)).chain(made) {
            let bytes = row(&strips.types[i]);
            let room = if leaves[i] {
                types.push(strips.types[i].clone());
                Room::Result(types.len() - 1)
            } else if head.is_some() && i == 0 {
                Room::Given
            } else {
                let free = slots.iter().position(|slot| slot.1 < p).unwrap_or_else(|| {
                    slots.push((0, 0));
                    slots.len() - 1
                });
                slots[free] = (slots[free].0.max(bytes), last[i].max(p));
                Room::Slot(free)
            };
            rooms.push((room, bytes));
        }
        let slots: Vec<usize> = slots.into_iter().map(|slot| slot.0).collect();
        // What a strip goes through: operands that have its rows, slots and results.
        let mut read: FxHashSet<usize> = FxHashSet::default();
        let mut note = |place| {
            if let Place::In(i) = place {
                _ = read.insert(i)
            }
        };
        strips.parts.iter().for_each(|part| part.reads(&mut note));
        let of_rows = |i: &&usize| strips.due[**i].1.iter().product::<usize>() >= rows;
        let streams = read.iter().filter(of_rows).map(|&i| row(&strips.due[i])).chain(types.iter().map(row));
        let per_row = streams.chain(slots.iter().copied()).sum::<usize>();
        let fits = (least.slab_bytes / per_row.max(1)).max(least.strip_rows);
        let nanoseconds = strips.nanoseconds;
        let heavy = is_heavy(1, nanoseconds as f64, least.heavy_ns);
        let (ins, outs) = (smallvec![], smallvec![]);
        StripStep {
            head,
            strips,
            ins,
            outs,
            types,
            rooms,
            slots,
            fits,
            nanoseconds,
            piece_ns: least.strip_piece_ns,
            heavy,
        }
    }

    /// What the step does, for a listing.
    pub(crate) fn summary(&self) -> String {
        let kept = self.rooms.iter().filter(|room| matches!(room.0, Room::Slot(_))).count();
        let (parts, most) =
            (self.strips.parts.len() + usize::from(self.head.is_some()), self.fits.min(self.strips.unit));
        format!("{parts} parts, {most} of {} rows at a time, {kept} kept", self.strips.rows)
    }

    /// The rows of a strip: as many strips of about as many rows.
    fn strip(&self) -> usize {
        let pieces = usize::try_from(self.nanoseconds / self.piece_ns).unwrap_or(usize::MAX).clamp(1, threads());
        let count = self.strips.rows.div_ceil(self.fits).max(pieces);
        self.strips.rows.div_ceil(count).next_multiple_of(ROWS).min(self.strips.unit)
    }

    /// Runs the step: `outputs` become what it makes.
    ///
    /// # Errors
    /// `Internal` for inputs of other types; `ResourceExhausted`; what fused regions report.
    pub(crate) fn run(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<()> {
        let memory = Memory::prepare(inputs, &self.strips.due, outputs, &self.types)?;
        let failed: Mutex<Option<Failed>> = Mutex::new(None);
        let (rows, unit) = (self.strips.rows, self.strips.unit);
        let rights = self.strips.pack(&memory, None)?;
        let run = |rights: &Rights<'_>, given: *const u8, rows: Range<usize>| {
            // SAFETY: inputs are of the types that the step was made for and outputs were made of theirs, each of memory of
            // its own; ranges do not overlap.
            unsafe { self.rows(&memory, rights, given, rows, &failed) };
        };
        if let Some(Head { dtype, geometry, x, filter }) = &self.head {
            let (x, filter) = (memory.ins[*x], memory.ins[*filter]);
            let (room, row) = self.rooms[0];
            let y = if let Room::Result(i) = room { memory.outs[i] } else { std::ptr::null_mut() };
            let then = |pixels: Range<usize>, first: *const u8| {
                run(&[&rights], first.wrapping_sub(pixels.start * row), pixels);
            };
            // SAFETY: the geometry is that of the operands, and of the result, which shares no memory with them.
            unsafe { conv_then(*dtype, geometry, x, filter, y, &then) };
        } else if unit < rows {
            parallel_each(rows / unit, |i| match self.strips.pack(&memory, Some(i)) {
                Ok(own) => run(&[&rights, &own], std::ptr::null(), i * unit..(i + 1) * unit),
                Err(error) => note(&failed, Failed { part: 0, origin: 0, error }),
            });
        } else {
            let strip = self.strip();
            parallel_each(rows.div_ceil(strip), |i| {
                run(&[&rights], std::ptr::null(), i * strip..rows.min((i + 1) * strip));
            });
        }
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), |failed| Err(failed.error))
    }

    /// Makes some rows of the results, a strip at a time. `given` is where row 0 of what the head makes would be; `failed` becomes the
    /// first fault.
    ///
    /// # Safety
    /// `memory` is that of a run, of what the head makes these rows are there, and nobody else touches them in the results.
    unsafe fn rows(
        &self,
        memory: &Memory,
        rights: &Rights<'_>,
        given: *const u8,
        rows: Range<usize>,
        failed: &Mutex<Option<Failed>>,
    ) {
        let strip = self.strip();
        let bytes = |slot: &usize| (slot * strip).next_multiple_of(ALIGNMENT);
        with_scratch(self.slots.iter().map(bytes).sum(), |scratch| {
            let place = |at: &mut *mut u8, slot: &usize| {
                let place = *at;
                *at = at.wrapping_add(bytes(slot));
                Some(place)
            };
            let slots: SmallVec<[*mut u8; 8]> = self.slots.iter().scan(scratch, place).collect();
            for start in rows.clone().step_by(strip) {
                let first = |&(room, row): &(Room, usize)| match room {
                    Room::Result(i) => memory.outs[i],
                    Room::Slot(i) => slots[i].wrapping_sub(start * row),
                    Room::Given => given.cast_mut(),
                };
                let own = Memory { ins: memory.ins.clone(), outs: self.rooms.iter().map(first).collect() };
                // SAFETY: the caller's contract; the slots have room for a strip.
                if let Err(new) = unsafe { self.strips.strip(&own, rights, start..rows.end.min(start + strip)) } {
                    note(failed, new);
                }
            }
        });
    }
}
