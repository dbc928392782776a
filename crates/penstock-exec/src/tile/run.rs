//! Running a tile program.

#![expect(unsafe_code, reason = "runs resolved loops over tiles of raw memory")]

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use penstock_data::{ALIGNMENT, Error, Tensor, memory};
use penstock_kernels::fold::{Acc, BLOCK, Lanes, PART, ROWS, rows_of_part};
use penstock_kernels::pool::parallel_for;
use penstock_kernels::{Fault, Lane, rows};
use penstock_passes::evaluate::fault;
use penstock_passes::view::Line;
use smallvec::SmallVec;

use super::{ARITY, Act, FoldOp, InputView, Layout, Location, Op, Phase, TileProgram};

/// A tile: rows from `row` on, and columns from `column` on.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) row: usize,
    pub(super) rows: usize,
    pub(super) column: usize,
    /// Columns.
    pub(super) width: usize,
}

/// Where a run of a program reads and writes.
pub(super) struct Pointers<'a> {
    pub(super) ins: &'a [*const u8],
    outs: &'a [*mut u8],
}

// SAFETY: the pointers are those of tensors that outlive the run; threads read the inputs and write disjoint parts of the
// outputs.
unsafe impl Sync for Pointers<'_> {}

/// A fault, and the number of the instruction that met it.
struct Failed {
    fault: Fault,
    origin: u16,
}

/// Temporary memory of one thread.
#[derive(Clone, Copy)]
pub(super) struct Scratch(*mut u8);

impl TileProgram {
    /// Runs the program: `outputs` become its results, their memory used again where it may be. What it makes of a larger
    /// tensor is written into that, which nobody else holds.
    ///
    /// # Errors
    /// `InvalidArgument` for inputs that are not those of the program and for a division by zero; `ResourceExhausted`.
    pub(crate) fn run(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> penstock_data::Result<()> {
        if inputs.len() != self.inputs.len() || outputs.len() != self.outputs.len() {
            return Err(Error::invalid("inputs or outputs are missing"));
        }
        let mut ins: SmallVec<[*const u8; 8]> = SmallVec::new();
        for (t, due) in inputs.iter().zip(&self.inputs) {
            if t.dtype() != due.dtype || t.dims() != due.dims.as_slice() {
                return Err(Error::invalid(format!(
                    "expected {}{:?}, got {}{:?}",
                    due.dtype,
                    due.dims.as_slice(),
                    t.dtype(),
                    t.dims()
                )));
            }
            ins.push(t.as_ptr());
        }
        let mut outs: SmallVec<[*mut u8; 4]> = SmallVec::new();
        for (t, due) in outputs.iter_mut().zip(&self.outputs) {
            outs.push(match &due.window {
                None => t.prepare(due.dtype, &due.dims)?,
                Some(window) if t.dtype() == window.dtype && t.dims() == window.dims.as_slice() => {
                    t.as_mut_ptr().ok_or_else(|| Error::internal("what is written in part is shared"))?
                }
                Some(_) => return Err(Error::internal("what is written in part is of another type")),
            });
        }
        if self.elements() == 0 {
            return Ok(());
        }
        let memory = Pointers { ins: &ins, outs: &outs };
        let failed: Mutex<Option<Failed>> = Mutex::new(None);
        // SAFETY: inputs and outputs are of the types of the program; an output has one owner, so none overlaps an input or
        // another output.
        unsafe {
            let folds = self.phases.iter().any(|p| !p.folds.is_empty());
            if self.over_rows {
                self.columns_of_rows(&memory, &failed);
            } else if self.phases.len() == 1 && self.columns > if folds { PART } else { self.piece } {
                self.long_rows(&memory, &failed);
            } else {
                let tiles = self.rows.div_ceil(self.batch);
                parallel_for(tiles, self.grain(self.cost * (self.batch * self.columns) as f64), |range| {
                    let rows = range.start * self.batch..self.rows.min(range.end * self.batch);
                    note(&failed, with_scratch(self.scratch(0), |scratch| self.whole_rows(&memory, scratch, rows)));
                });
            }
        }
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), |failed| Err(self.error(failed)))
    }

    /// The number of pieces that a thread is handed, from the nanoseconds that one takes.
    fn grain(&self, ns: f64) -> usize {
        ((self.piece_ns / ns.max(1e-3)) as usize).max(1)
    }

    /// The error that a fault is, of the operator in which it came up.
    fn error(&self, failed: Failed) -> Error {
        let (name, loc) = self.origins[failed.origin as usize];
        fault(failed.fault).in_op(name).at(loc)
    }

    /// Bytes of temporary memory, with `more` for other uses in front.
    fn scratch(&self, more: usize) -> usize {
        more + self.temps.0 * self.temps.1 + self.kept.0 * self.kept.1 + self.row_slots.0 * self.row_slots.1
    }

    /// Whether [`TileProgram::run_part`] can compute stretches that begin and end at multiples of `columns` elements.
    pub(crate) fn splits(&self, columns: usize) -> bool {
        let plain = self.phases.len() == 1 && self.phases[0].folds.is_empty();
        let whole = self.columns > 0 && columns.is_multiple_of(self.columns);
        !self.over_rows && if self.rows == 1 { plain } else { whole }
    }

    /// Whether an input has an element for each that the program works on, and is read in order.
    pub(crate) fn is_dense(&self, input: usize) -> bool {
        let mut reads = self.sources.iter().filter(|s| usize::from(s.input) == input);
        let all = self.inputs[input].dims.iter().product::<usize>() == self.elements();
        all && reads.all(|s| matches!(s.layout, Layout::Dense) && s.offset == 0)
    }

    /// Whether an input has as many elements for each of so many rows, and what is computed of a row reads those of that row alone.
    pub(crate) fn keeps_rows(&self, input: usize, rows: usize) -> bool {
        let all = self.inputs[input].dims.iter().product::<usize>();
        let width = all / rows.max(1);
        let of_row = |s: &InputView| match &s.layout {
            Layout::Dense => all == rows && s.offset == 0,
            Layout::Strided { rows: lines, columns } => {
                let last = s.offset + columns.step * (columns.extent as isize - 1);
                let [line] = lines[..] else { return false };
                let next = line.extent == rows && line.step == width as isize;
                next && s.offset >= 0 && columns.step >= 0 && last < width as isize
            }
            Layout::Single | Layout::Padded { .. } => false,
        };
        let mut reads = self.sources.iter().filter(|s| usize::from(s.input) == input);
        self.is_dense(input) || self.outer == 1 && self.rows == rows && all == width * rows && reads.all(of_row)
    }

    /// Computes a stretch of the elements, on this thread.
    ///
    /// # Errors
    /// `InvalidArgument` for a division by zero, with the number of the instruction that met it.
    ///
    /// # Safety
    /// `ins` and `outs` point to where the first elements of tensors of the types of the program would be, of which what is
    /// read for the stretch is there, and the stretch of the outputs; nobody else touches this, nor writes what is read. [`TileProgram::splits`] holds for multiples at which the stretch begins and ends.
    pub(crate) unsafe fn run_part(
        &self,
        ins: &[*const u8],
        outs: &[*mut u8],
        stretch: std::ops::Range<usize>,
    ) -> Result<(), (u16, Error)> {
        let memory = Pointers { ins, outs };
        let work = |scratch: Scratch| {
            // SAFETY: the caller's contract.
            unsafe {
                if self.rows == 1 {
                    let part = Tile { row: 0, rows: 1, column: stretch.start, width: stretch.len() };
                    return self.stretch(&self.phases[0].ops, &memory, scratch, part);
                }
                let rows = stretch.start / self.columns..stretch.end / self.columns;
                self.whole_rows(&memory, scratch, rows)
            }
        };
        with_scratch(self.scratch(0), work).map_err(|failed| (failed.origin, self.error(failed)))
    }

    /// Computes whole rows, tile by tile.
    ///
    /// # Safety
    /// `memory` is that of a run, nobody else touches these rows of the outputs, and `scratch` has the size that the program
    /// asks for.
    unsafe fn whole_rows(
        &self,
        memory: &Pointers<'_>,
        scratch: Scratch,
        rows: std::ops::Range<usize>,
    ) -> Result<(), Failed> {
        let mut accs: SmallVec<[SmallVec<[Acc; 16]>; 2]> = SmallVec::new();
        let mut lanes: SmallVec<[Lanes; 1]> = SmallVec::new();
        let mut next = rows.start;
        while next < rows.end {
            let row = next;
            next += self.batch.min(rows.end - row).min(self.even - row % self.even);
            let tile = Tile { row, rows: next - row, column: 0, width: self.columns };
            for phase in &self.phases {
                // SAFETY: the caller's contract; the rows are inside, and a tile of several rows has all columns.
                unsafe {
                    if self.columns <= self.tile {
                        self.ops(&phase.ops, true, memory, scratch, tile)?;
                        for fold in &phase.folds {
                            let src = self.lane(fold.src, true, memory, scratch, tile).ptr;
                            let out = self.target(fold.out, false, memory, scratch, tile);
                            (fold.folds.rows)(src, tile.rows, self.columns, out);
                        }
                    } else if phase.folds.is_empty() {
                        self.stretch(&phase.ops, memory, scratch, tile)?;
                    } else {
                        accs.resize_with(phase.folds.len(), SmallVec::new);
                        for column in (0..self.columns).step_by(PART) {
                            let part = Tile { column, width: PART.min(self.columns - column), ..tile };
                            let mut f = 0;
                            let keep = |acc| {
                                accs[f].push(acc);
                                f += 1;
                            };
                            self.part(phase, memory, scratch, part, &mut lanes, keep)?;
                        }
                        for (fold, accs) in phase.folds.iter().zip(&mut accs) {
                            let out = self.target(fold.out, false, memory, scratch, tile);
                            (fold.folds.finish)(&(fold.folds.tree)(accs), self.columns, out);
                            accs.clear();
                        }
                    }
                    self.ops(&phase.rows, false, memory, scratch, tile)?;
                }
            }
        }
        Ok(())
    }

    /// Computes a part of one row, tile by tile, and hands what its reductions accumulated to `keep`, in order.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`], for a tile of one row and at most [`PART`] columns.
    unsafe fn part(
        &self,
        phase: &Phase,
        memory: &Pointers<'_>,
        scratch: Scratch,
        part: Tile,
        lanes: &mut SmallVec<[Lanes; 1]>,
        keep: impl FnMut(Acc),
    ) -> Result<(), Failed> {
        lanes.resize(phase.folds.len(), Lanes::EMPTY);
        let mut blocks: SmallVec<[SmallVec<[Acc; PART / BLOCK]>; 1]> = SmallVec::new();
        blocks.resize_with(phase.folds.len(), SmallVec::new);
        let end = part.column + part.width;
        for block in (part.column..end).step_by(BLOCK) {
            for (fold, lanes) in phase.folds.iter().zip(lanes.iter_mut()) {
                (fold.folds.open)(lanes);
            }
            let stop = end.min(block + BLOCK);
            for column in (block..stop).step_by(self.tile) {
                let tile = Tile { column, width: self.tile.min(stop - column), ..part };
                // SAFETY: the caller's contract; the columns are inside.
                unsafe {
                    self.ops(&phase.ops, true, memory, scratch, tile)?;
                    for (fold, lanes) in phase.folds.iter().zip(lanes.iter_mut()) {
                        (fold.folds.add)(lanes, self.lane(fold.src, true, memory, scratch, tile).ptr, tile.width);
                    }
                }
            }
            for ((fold, lanes), blocks) in phase.folds.iter().zip(lanes.iter_mut()).zip(&mut blocks) {
                blocks.push((fold.folds.close)(lanes));
            }
        }
        let joined = |(fold, blocks): (&FoldOp, &mut SmallVec<[Acc; PART / BLOCK]>)| (fold.folds.tree)(blocks);
        phase.folds.iter().zip(&mut blocks).map(joined).for_each(keep);
        Ok(())
    }

    /// Computes a part of one row that is not reduced.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`], for a tile of one row.
    unsafe fn stretch(&self, ops: &[Op], memory: &Pointers<'_>, scratch: Scratch, all: Tile) -> Result<(), Failed> {
        let end = all.column + all.width;
        (all.column..end).step_by(self.tile).try_for_each(|column| {
            let tile = Tile { column, width: self.tile.min(end - column), ..all };
            // SAFETY: the caller's contract; the columns are inside.
            unsafe { self.ops(ops, true, memory, scratch, tile) }
        })
    }

    /// Computes few long rows in one phase: parts of a row go to different threads.
    ///
    /// # Safety
    /// `memory` is that of a run, and nobody else touches the outputs.
    unsafe fn long_rows(&self, memory: &Pointers<'_>, failed: &Mutex<Option<Failed>>) {
        let phase = &self.phases[0];
        let folds = phase.folds.len();
        let piece = if folds == 0 { self.piece } else { PART };
        let pieces = self.columns.div_ceil(piece);
        let mut accs: Vec<Acc> = memory::scratch(Acc::EMPTY, self.rows * pieces * folds);
        let kept = Table(accs.as_mut_ptr());
        parallel_for(self.rows * pieces, self.grain(self.cost * piece as f64), |range| {
            let work = |scratch: Scratch| {
                let mut lanes: SmallVec<[Lanes; 1]> = SmallVec::new();
                for i in range {
                    let column = i % pieces * piece;
                    let width = piece.min(self.columns - column);
                    let part = Tile { row: i / pieces, rows: 1, column, width };
                    let mut at = (part.row * folds) * pieces + i % pieces;
                    // SAFETY: the caller's contract; parts are disjoint, and so are their places in the table.
                    unsafe {
                        if folds == 0 {
                            self.stretch(&phase.ops, memory, scratch, part)?;
                            continue;
                        }
                        let keep = |acc| {
                            kept.at(at).write(acc);
                            at += pieces;
                        };
                        self.part(phase, memory, scratch, part, &mut lanes, keep)?;
                    }
                }
                Ok(())
            };
            note(failed, with_scratch(self.scratch(0), work));
        });
        if folds == 0 || has_failed(failed) {
            return;
        }
        let finish = |scratch: Scratch| {
            for row in 0..self.rows {
                let tile = Tile { row, rows: 1, column: 0, width: self.columns };
                for (f, fold) in phase.folds.iter().enumerate() {
                    let first = (row * folds + f) * pieces;
                    let acc = (fold.folds.tree)(&mut accs[first..first + pieces]);
                    // SAFETY: the caller's contract; this thread alone is at work now.
                    unsafe {
                        (fold.folds.finish)(&acc, self.columns, self.target(fold.out, false, memory, scratch, tile))
                    };
                }
                // SAFETY: the caller's contract.
                unsafe { self.ops(&phase.rows, false, memory, scratch, tile)? };
            }
            Ok(())
        };
        note(failed, with_scratch(self.scratch(0), finish));
    }

    /// Computes what leaves an element for each column: blocks of columns, and of rows where there are many, go to
    /// different threads.
    ///
    /// # Safety
    /// `memory` is that of a run, and nobody else touches the outputs.
    unsafe fn columns_of_rows(&self, memory: &Pointers<'_>, failed: &Mutex<Option<Failed>>) {
        let phase = &self.phases[0];
        let width = self.columns.min(self.tile);
        let strips = self.columns.div_ceil(width);
        let rows = rows_of_part(self.columns);
        let parts = self.rows.div_ceil(rows);
        let lines = self.outer * parts;
        let sizes: usize = phase.folds.iter().map(|f| f.folds.size).sum();
        let mut table: Vec<Acc> =
            memory::scratch(Acc::EMPTY, (lines * self.columns * sizes).div_ceil(size_of::<Acc>()));
        let kept = Table(table.as_mut_ptr());
        // The accumulators of a fold for a line of the table.
        let line = |f: usize, line: usize| {
            let before: usize = phase.folds[..f].iter().map(|f| f.folds.size).sum();
            (before * lines + line * phase.folds[f].folds.size) * self.columns
        };
        let block = width * size_of::<Acc>() * phase.folds.len();
        let ns = self.cost * (rows.min(self.rows) * width) as f64;
        parallel_for(lines * strips, self.grain(ns), |range| {
            let work = |scratch: Scratch| {
                for i in range {
                    let (at, strip) = (i / strips, i % strips);
                    let (group, first) = (at / parts, at % parts * rows);
                    let column = strip * width;
                    let tile = Tile {
                        row: group * self.rows + first,
                        rows: rows.min(self.rows - first),
                        column,
                        width: width.min(self.columns - column),
                    };
                    // SAFETY: the caller's contract; tasks have disjoint parts of outputs and of the table.
                    unsafe {
                        let place =
                            |f: usize| kept.at(0).cast::<u8>().add(line(f, at) + column * phase.folds[f].folds.size);
                        self.strip(phase, memory, scratch, tile, block, place)?;
                    }
                }
                Ok(())
            };
            note(failed, with_scratch(self.scratch(block), work));
        });
        if has_failed(failed) {
            return;
        }
        for (f, fold) in phase.folds.iter().enumerate() {
            let Location::Output(k) = fold.out else { continue };
            let size = self.outputs[k as usize].dtype.size();
            for group in 0..self.outer {
                // SAFETY: the caller's contract; this thread alone is at work now, and the lines of one group are disjoint.
                unsafe {
                    let total = kept.at(0).cast::<u8>().add(line(f, group * parts));
                    for part in 1..parts {
                        let other = kept.at(0).cast::<u8>().add(line(f, group * parts + part));
                        (fold.folds.join_columns)(total, other, self.columns);
                    }
                    let out = memory.outs[k as usize].add(group * self.columns * size);
                    (fold.folds.finish_columns)(total, self.columns, self.rows, out);
                }
            }
        }
    }

    /// Computes a strip of columns of some rows, and accumulates each fold at `place`, of which [`ROWS`] rows at a time
    /// are taken on their own first.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`]; `scratch` has `block` bytes more, and `place` gives memory for the accumulators
    /// of the tile's columns.
    unsafe fn strip(
        &self,
        phase: &Phase,
        memory: &Pointers<'_>,
        scratch: Scratch,
        all: Tile,
        block: usize,
        place: impl Fn(usize) -> *mut u8,
    ) -> Result<(), Failed> {
        let aside = self.scratch(0);
        // SAFETY: the scratch memory has `block` bytes behind the slots, a part for each fold.
        let block_of = |f: usize| unsafe { scratch.0.add(aside + f * (block / phase.folds.len())) };
        for (f, fold) in phase.folds.iter().enumerate() {
            // SAFETY: the caller's contract.
            unsafe { (fold.folds.open_columns)(place(f), all.width) };
        }
        for start in (0..all.rows).step_by(ROWS) {
            let stop = all.rows.min(start + ROWS);
            for (f, fold) in phase.folds.iter().enumerate() {
                // SAFETY: there is room for `width` accumulators of each fold.
                unsafe { (fold.folds.open_columns)(block_of(f), all.width) };
            }
            for row in (start..stop).step_by(self.batch) {
                let tile = Tile { row: all.row + row, rows: self.batch.min(stop - row), ..all };
                // SAFETY: the caller's contract; the rows are inside.
                unsafe {
                    self.ops(&phase.ops, true, memory, scratch, tile)?;
                    for (f, fold) in phase.folds.iter().enumerate() {
                        let src = self.lane(fold.src, true, memory, scratch, tile).ptr;
                        (fold.folds.add_rows)(block_of(f), src, tile.rows, tile.width);
                    }
                }
            }
            for (f, fold) in phase.folds.iter().enumerate() {
                // SAFETY: both hold accumulators of the tile's columns.
                unsafe { (fold.folds.join_columns)(place(f), block_of(f), all.width) };
            }
        }
        Ok(())
    }

    /// Runs steps on a tile, or on the elements of its rows.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`], for the tile alone.
    #[inline]
    unsafe fn ops(
        &self,
        ops: &[Op],
        full: bool,
        memory: &Pointers<'_>,
        scratch: Scratch,
        tile: Tile,
    ) -> Result<(), Failed> {
        let n = if full { self.extent(tile) } else { tile.rows };
        let mut lanes = [Lane::fixed(scratch.0); ARITY];
        for op in ops {
            // SAFETY: the caller's contract. Every lane has `n` elements of the dtype that the loop was resolved for (a
            // step reads a slot only after the one that made its operand has filled it), and none overlaps `out`: a
            // slot is given to a result while its operands still hold theirs.
            unsafe {
                let out = self.target(op.outs[0], full, memory, scratch, tile);
                match &op.act {
                    Act::Run(run) => self.vectors(run, op, memory, scratch, tile),
                    Act::Map(f) => {
                        for (lane, &place) in lanes.iter_mut().zip(&op.ins) {
                            *lane = self.lane(place, full, memory, scratch, tile);
                        }
                        f(n, &lanes[..op.ins.len()], out).map_err(|fault| Failed { fault, origin: op.origin })?;
                    }
                    Act::Load => self.load(op.ins[0], memory, tile, out),
                    Act::Store => {
                        let Location::Output(k) = op.outs[0] else { continue };
                        let (from, size) = (self.slot(op.ins[0], scratch, tile), self.outputs[k as usize].dtype.size());
                        let (step, pitch) = ((self.pitch * size) as isize, (tile.width * size) as isize);
                        rows::copy_rows(from, step, out, pitch, tile.width * size, tile.rows);
                    }
                    Act::Spread(size) => {
                        let from = self.lane(op.ins[0], false, memory, scratch, tile);
                        rows::spread(*size as usize, from.ptr, from.step as isize, tile.rows, tile.width, out);
                    }
                }
            }
        }
        Ok(())
    }

    /// Where a step reads: by row and column, or by row.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`].
    #[inline]
    pub(super) unsafe fn lane(
        &self,
        place: Location,
        full: bool,
        memory: &Pointers<'_>,
        scratch: Scratch,
        tile: Tile,
    ) -> Lane {
        let first = tile.row * self.columns + tile.column;
        // SAFETY: the caller's contract: offsets are of elements of the tile.
        unsafe {
            match place {
                Location::Input(i) => {
                    let InputView { input, size, offset: start, layout } = &self.sources[i as usize];
                    let (size, ptr) = (*size, memory.ins[*input as usize]);
                    let ptr = ptr.wrapping_offset(start * size as isize);
                    match layout {
                        Layout::Single => Lane::fixed(ptr),
                        _ if !full => Lane::new(ptr.wrapping_add(tile.row * size), size),
                        Layout::Dense => Lane::new(ptr.wrapping_add(first * size), size),
                        Layout::Strided { rows, columns } | Layout::Padded { rows, columns, .. } => {
                            let start = offset(rows, tile.row) + tile.column as isize * columns.step;
                            Lane { ptr: ptr.wrapping_offset(start * size as isize), step: columns.step as usize * size }
                        }
                    }
                }
                Location::Output(k) => {
                    let (output, ptr) = (&self.outputs[k as usize], memory.outs[k as usize]);
                    let size = output.dtype.size();
                    match (output.full, full) {
                        (true, _) => Lane::new(self.target(place, true, memory, scratch, tile), size),
                        (false, true) => Lane::fixed(ptr.wrapping_add(tile.row * size)),
                        (false, false) => Lane::new(ptr.wrapping_add(tile.row * size), size),
                    }
                }
                Location::Row(_, size) => {
                    let ptr = self.slot(place, scratch, tile);
                    if full { Lane::fixed(ptr) } else { Lane::new(ptr, size as usize) }
                }
                Location::Temp(_, size) | Location::Kept(_, size) => {
                    Lane::new(self.slot(place, scratch, tile), size as usize)
                }
            }
        }
    }

    /// Where a step writes: by row and column, or by row.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`].
    #[inline]
    pub(super) unsafe fn target(
        &self,
        place: Location,
        full: bool,
        memory: &Pointers<'_>,
        scratch: Scratch,
        tile: Tile,
    ) -> *mut u8 {
        match place {
            Location::Output(k) => {
                let output = &self.outputs[k as usize];
                let at = match &output.window {
                    Some(window) => window.offset + offset(&window.rows, tile.row) + tile.column as isize,
                    None if full => (tile.row * self.columns + tile.column) as isize,
                    None => tile.row as isize,
                };
                memory.outs[k as usize].wrapping_offset(at * output.dtype.size() as isize)
            }
            // SAFETY: the caller's contract.
            _ => unsafe { self.slot(place, scratch, tile) },
        }
    }

    /// Where a slot lies.
    ///
    /// # Safety
    /// `scratch` has the size that the program asks for.
    #[inline]
    unsafe fn slot(&self, place: Location, scratch: Scratch, tile: Tile) -> *mut u8 {
        let kept = self.temps.0 * self.temps.1;
        let rows = kept + self.kept.0 * self.kept.1;
        let at = match place {
            Location::Temp(slot, _) => slot as usize * self.temps.0,
            Location::Kept(slot, size) => kept + slot as usize * self.kept.0 + tile.column * size as usize,
            Location::Row(slot, _) => rows + slot as usize * self.row_slots.0,
            Location::Input(_) | Location::Output(_) => 0,
        };
        // SAFETY: the slot is one of those that the program counts.
        unsafe { scratch.0.add(at) }
    }

    /// Copies the elements of a source for a tile.
    ///
    /// # Safety
    /// As for [`TileProgram::whole_rows`]; `out` is writable for the elements of the tile and those between its rows.
    unsafe fn load(&self, place: Location, memory: &Pointers<'_>, tile: Tile, out: *mut u8) {
        let Location::Input(i) = place else { return };
        let source = &self.sources[i as usize];
        let (all, each) = ([Line::whole(usize::MAX, self.columns as isize)], Line::whole(self.columns, 1));
        let (lines, columns, fill) = match &source.layout {
            Layout::Dense => (&all[..], &each, None),
            Layout::Strided { rows, columns } => (&rows[..], columns, None),
            Layout::Padded { rows, columns, fill } => (&rows[..], columns, Some(fill)),
            Layout::Single => return,
        };
        let size = source.size;
        // From row to row of the tile; there may be no other row.
        let pitch = if tile.rows > 1 { self.pitch } else { tile.width };
        // The columns of the tile that are inside.
        let within = |(low, high): (usize, usize), first: usize, n: usize| {
            (low.max(first).min(first + n), high.max(first).min(first + n))
        };
        let (left, right) = within(columns.inside, tile.column, tile.width);
        // Rows along the innermost dimension are a step apart.
        let one = Line::whole(usize::MAX, 0);
        let (inner, outer) = lines.split_last().unwrap_or((&one, &[]));
        let mut done = 0;
        while done < tile.rows {
            let (first, above) = ((tile.row + done) % inner.extent, (tile.row + done) / inner.extent);
            let count = (inner.extent - first).min(tile.rows - done);
            let (top, bottom) = within(inner.inside, first, count);
            let to = out.wrapping_add(done * pitch * size);
            done += count;
            let start = place_of(outer, above);
            // SAFETY: the offsets of what is inside are of elements of the source, and the tile has room for `count` rows.
            unsafe {
                if let Some(fill) = fill
                    && (start.is_none() || (bottom - top, right - left) != (count, tile.width))
                {
                    rows::spread(size, fill.as_ptr(), 0, 1, (count - 1) * pitch + tile.width, to);
                }
                let Some(start) = start.filter(|_| top < bottom && left < right) else {
                    continue;
                };
                let start = source.offset + start + top as isize * inner.step + left as isize * columns.step;
                let from = memory.ins[source.input as usize].wrapping_offset(start * size as isize);
                let to = to.add(((top - first) * pitch + left - tile.column) * size);
                let step = inner.step * size as isize;
                let (count, width) = (bottom - top, right - left);
                if columns.step == 1 {
                    let pitch = (pitch * size) as isize;
                    rows::copy_rows(from, step, to, pitch, width * size, count);
                } else if width == tile.width {
                    rows::spread(size, from, step, count, pitch, to);
                } else {
                    for r in 0..count {
                        let (from, to) = (from.offset(r as isize * step), to.add(r * pitch * size));
                        rows::spread(size, from, 0, 1, width, to);
                    }
                }
            }
        }
    }
}

/// Keeps the fault of a thread, of several that of the first instruction.
fn note(failed: &Mutex<Option<Failed>>, result: Result<(), Failed>) {
    if let Err(new) = result {
        let mut kept = failed.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|kept| new.origin < kept.origin) {
            *kept = Some(new);
        }
    }
}

/// Whether a thread met a fault: it left its accumulators unwritten.
fn has_failed(failed: &Mutex<Option<Failed>>) -> bool {
    failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Where a row starts, in elements.
#[inline]
pub(super) fn offset(lines: &[Line], row: usize) -> isize {
    match *lines {
        [] => 0,
        [line] => row as isize * line.step,
        _ => {
            let (mut at, mut row) = (0, row);
            for line in lines.iter().rev() {
                at += (row % line.extent) as isize * line.step;
                row /= line.extent;
            }
            at
        }
    }
}

/// Where a row starts, in elements; `None` where it is of the padding.
fn place_of(lines: &[Line], mut row: usize) -> Option<isize> {
    let mut at = 0;
    for line in lines.iter().rev() {
        let i = row % line.extent;
        if !(line.inside.0..line.inside.1).contains(&i) {
            return None;
        }
        at += i as isize * line.step;
        row /= line.extent;
    }
    Some(at)
}

/// Runs `f` with aligned temporary memory of `bytes`, which a thread keeps. Unwinds by [`Error::unwind`] where it cannot be had.
fn with_scratch(bytes: usize, f: impl FnOnce(Scratch) -> Result<(), Failed>) -> Result<(), Failed> {
    thread_local! {
        static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let mut spare = SPARE.take();
    let length = spare.len().max(bytes + ALIGNMENT);
    let more = length - spare.len();
    memory::reserve_scratch(&mut spare, more);
    spare.resize(length, 0);
    let skew = spare.as_ptr().align_offset(ALIGNMENT);
    let result = f(Scratch(spare[skew..].as_mut_ptr()));
    SPARE.set(spare);
    result
}

/// A table of accumulators that threads fill, each its own places.
#[derive(Clone, Copy)]
struct Table(*mut Acc);

impl Table {
    /// The place of a number; a method, so that closures capture the table and not its field.
    ///
    /// # Safety
    /// The place is in the table.
    unsafe fn at(self, i: usize) -> *mut Acc {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(i) }
    }
}

// SAFETY: a pointer is only an address; threads write to disjoint places.
unsafe impl Send for Table {}
// SAFETY: threads write to disjoint places of the table, and read them once all are done.
unsafe impl Sync for Table {}
