//! A stage of a pipeline: what it reads and makes, and how it makes some of its rows.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use penstock_data::{DType, Dims, Error, Loc, Tensor};
use penstock_kernels::conv::{Filter, Geometry, conv, conv_then};
use penstock_kernels::matmul::matmul;
use penstock_kernels::pooling::{Windows, avg_pool, max_pool};
use penstock_kernels::right::Right;
use penstock_kernels::{LoopFn, copy, elementwise, softmax};
use penstock_passes::evaluate::fault;
use smallvec::SmallVec;

use crate::tile::TileProgram;

/// The most operands of an elementwise operator that is a stage.
pub(super) const MOST_OPERANDS: usize = 4;

/// Where a stage finds an operand: among what the pipeline reads, or among what its stages make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    In(usize),
    Made(usize),
}

/// An operand, and the bytes from one of its rows to the next; 0 where all rows read the same.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) source: Source,
    pub(super) row: usize,
}

/// How a stage makes rows of its results from rows of its operands.
pub(super) enum Work {
    /// A fused region, which has so many elements in a row.
    Map { program: Box<TileProgram>, row: usize },
    /// An elementwise operator on rows of so many columns. Each operand has elements of so many bytes, for each column or one for
    /// a whole row.
    Loop { f: LoopFn, columns: usize, ins: SmallVec<[(usize, bool); 3]>, size: usize, name: &'static str },
    /// Joins rows along another dimension: so many bytes of each operand, in each of `outer` parts of a row.
    Concat { bytes: SmallVec<[usize; 4]>, outer: usize },
    /// The reverse, for the results.
    Split { bytes: SmallVec<[usize; 4]>, outer: usize },
    /// A box of each row, of elements of so many bytes. The first row that is read is `first`; dimension 0 of what follows stands
    /// for rows.
    Slice { size: usize, first: usize, dims: Dims, begin: Dims, step: SmallVec<[isize; 4]>, counts: Dims },
    /// A constant around each row, and around all of them: `first` rows stand before the operand's `rows`. Dimension 0 of what
    /// follows stands for rows.
    Pad { first: usize, rows: usize, dims: Dims, before: Dims, after: Dims, fill: Tensor },
    /// A product by matrices of `k` by `n`, which may be stored transposed: one for all rows, or one for each `each` rows.
    Product { dtype: DType, k: usize, n: usize, transposed: bool, each: Option<usize> },
    /// A softmax of rows of so many columns, `count` of which make a row of the stage; or its logarithm.
    Softmax { dtype: DType, columns: usize, count: usize, log: bool },
    /// A convolution of rows that are images, and what is made of its pixels at once. The geometry is that of one image.
    Conv { dtype: DType, geometry: Geometry, epilogue: Option<Epilogue> },
    /// The greatest elements, or the means, of windows of rows that are images. The windows are those of one.
    Pool { dtype: DType, windows: Windows, means: bool },
}

/// A fused region that takes pixels of a convolution to pixels.
pub(super) struct Epilogue {
    pub(super) program: Box<TileProgram>,
    /// Which of its operands the convolution makes. The others are those of the stage behind the image and the filter.
    pub(super) operand: usize,
}

impl Epilogue {
    /// Takes the elements of a range, of all that the convolution makes, which lie from `at` on.
    ///
    /// # Errors
    /// As [`TileProgram::run_part`] reports.
    ///
    /// # Safety
    /// As for [`TileProgram::run_part`], with the operands and the results that `bases` has.
    unsafe fn run(
        &self,
        bases: &Bases<'_>,
        part: Range<usize>,
        dtype: DType,
        at: *const u8,
    ) -> Result<(), (u16, Error)> {
        let mut ins: SmallVec<[*const u8; 16]> = SmallVec::from_slice(bases.ins);
        // Where the first element of all would be.
        ins[self.operand] = at.wrapping_sub(part.start * dtype.size());
        // SAFETY: the caller's contract.
        unsafe { self.program.run_part(&ins, bases.made, part) }
    }
}

/// What all rows are multiplied by, packed once.
pub(super) enum Packed {
    Matrix(Right),
    Filter(Box<Filter>),
}

pub(super) struct Stage {
    pub(super) work: Work,
    pub(super) ins: SmallVec<[Operand; 8]>,
    /// The results, among what is made, and the bytes of a row of each.
    pub(super) outs: Range<usize>,
    pub(super) out_rows: SmallVec<[usize; 2]>,
    pub(super) loc: Loc,
}

/// Why a stage was not made: its number, that of its instruction, and the fault that this met.
pub(super) struct Failed {
    pub(super) stage: usize,
    pub(super) origin: u16,
    pub(super) error: Error,
}

/// Where row 0 of each operand of a pipeline, and of each of its values, is or would be.
#[derive(Clone, Copy)]
pub(super) struct Bases<'a> {
    pub(super) ins: &'a [*const u8],
    pub(super) made: &'a [*mut u8],
}

// SAFETY: the type holds addresses only. Code that reads or writes through them is unsafe, and its contract says which rows it may touch.
unsafe impl Sync for Bases<'_> {}

impl Bases<'_> {
    fn of(&self, source: Source) -> *const u8 {
        match source {
            Source::In(i) => self.ins[i],
            Source::Made(i) => self.made[i].cast_const(),
        }
    }
}

impl Stage {
    /// The number of the operand, a matrix or a filter, by which it multiplies.
    pub(super) fn multiplier(&self) -> Option<usize> {
        match (&self.work, self.ins.get(1)?.source) {
            (Work::Product { .. } | Work::Conv { .. }, Source::In(i)) => Some(i),
            _ => None,
        }
    }

    /// The bytes of the matrix by which it multiplies.
    pub(super) fn matrix_bytes(&self) -> Option<usize> {
        match self.work {
            Work::Product { dtype, k, n, .. } => Some(k * n * dtype.size()),
            _ => None,
        }
    }

    /// Whether its rows are images.
    pub(super) fn has_images(&self) -> bool {
        matches!(self.work, Work::Conv { .. } | Work::Pool { .. })
    }

    /// Makes some rows of the results. `packed` is what it multiplies by, where that was packed.
    ///
    /// # Errors
    /// A fault, with the number of the instruction in a fused region that met it.
    ///
    /// # Safety
    /// The operands are those for which the stage was made, and the rows that these rows read are there. The memory of these rows
    /// of the results is writable, shared with nothing that is read, and touched by nobody else.
    pub(super) unsafe fn run(
        &self,
        bases: Bases<'_>,
        rows: &Range<usize>,
        packed: Option<&Packed>,
    ) -> Result<(), (u16, Error)> {
        if rows.is_empty() {
            return Ok(());
        }
        let (first, count) = (rows.start, rows.len());
        let base = |operand: &Operand| bases.of(operand.source);
        let at = |operand: &Operand, row: usize| base(operand).wrapping_add(row * operand.row);
        let made = &bases.made[self.outs.clone()];
        let out = |i: usize| made[i].wrapping_add(first * self.out_rows[i]);
        let x = |row: usize| at(&self.ins[0], row);
        // SAFETY: the caller's contract: all that is read and written below lies in rows that are there.
        unsafe {
            match &self.work {
                Work::Map { program, row } => {
                    let ins: SmallVec<[*const u8; 16]> = self.ins.iter().map(base).collect();
                    return program.run_part(&ins, made, first * row..rows.end * row);
                }
                Work::Loop { f, columns, ins, size, name } => {
                    let extents = |(operand, &(_, all)): (&Operand, &(usize, bool))| {
                        [if operand.row > 0 { count } else { 1 }, if all { *columns } else { 1 }]
                    };
                    let dims: SmallVec<[[usize; 2]; MOST_OPERANDS]> = self.ins.iter().zip(ins).map(extents).collect();
                    let lanes = self.ins.iter().zip(ins).zip(&dims);
                    let lanes: SmallVec<[(*const u8, &[usize], usize); MOST_OPERANDS]> =
                        lanes.map(|((operand, &(size, _)), dims)| (at(operand, first), &dims[..], size)).collect();
                    let done = elementwise(*f, &[count, *columns], out(0), *size, &lanes);
                    return done.map_err(|f| (0, fault(f).in_op(name).at(self.loc)));
                }
                Work::Concat { bytes, outer } => {
                    let ins: SmallVec<[(*const u8, usize); 32]> =
                        self.ins.iter().zip(bytes).map(|(operand, &bytes)| (at(operand, first), bytes)).collect();
                    copy::concat(&ins, count * outer, out(0));
                }
                Work::Split { bytes, outer } => {
                    let outs: SmallVec<[(*mut u8, usize); 32]> =
                        bytes.iter().enumerate().map(|(i, &bytes)| (out(i), bytes)).collect();
                    copy::split(x(first), count * outer, &outs);
                }
                Work::Slice { size, first: skipped, dims, begin, step, counts } => {
                    let (mut dims, mut counts) = (dims.clone(), counts.clone());
                    (dims[0], counts[0]) = (count, count);
                    copy::strided_slice(*size, x(first + skipped), &dims, begin, step, &counts, out(0));
                }
                Work::Pad { first: skipped, rows: there, dims, before, after, fill } => {
                    let inside = |row: usize| row.clamp(*skipped, skipped + there).clamp(first, first + count);
                    let (from, to) = (inside(first), inside(first + count));
                    let (size, bytes, out) = (fill.dtype().size(), self.out_rows[0], out(0));
                    let around = |rows: Range<usize>| {
                        let to = out.wrapping_add((rows.start - first) * bytes);
                        copy::fill(size, fill.as_ptr(), rows.len() * (bytes / size), to);
                    };
                    around(first..from);
                    around(to..first + count);
                    if from < to {
                        let mut dims = dims.clone();
                        dims[0] = to - from;
                        let to = out.wrapping_add((from - first) * bytes);
                        copy::pad(size, x(from - skipped), &dims, before, after, fill.as_ptr(), to);
                    }
                }
                Work::Product { dtype, k, n, transposed, each } => {
                    let matrix = each.map_or(0, |each| first / each);
                    let b = base(&self.ins[1]).wrapping_add(matrix * k * n * dtype.size());
                    match packed {
                        Some(Packed::Matrix(right)) => right.multiply(count, x(first), *k, out(0), *n),
                        _ => matmul(*dtype, count, *k, *n, x(first), false, b, *transposed, out(0)),
                    }
                }
                Work::Softmax { dtype, columns, count: each, log } => {
                    let run = if *log { softmax::log_softmax } else { softmax::softmax };
                    run(*dtype, x(first), count * each, *columns, out(0));
                }
                Work::Conv { dtype, geometry, epilogue } => {
                    let filter = base(&self.ins[1]);
                    let packed = if let Some(Packed::Filter(packed)) = packed { Some(packed) } else { None };
                    let (start, geometry) = (first * geometry.pixels(), Geometry { batch: count, ..*geometry });
                    let Some(epilogue) = epilogue else {
                        match packed {
                            Some(packed) => packed.convolve(count, x(first), out(0)),
                            None => conv(*dtype, &geometry, x(first), filter, out(0)),
                        }
                        return Ok(());
                    };
                    let mut others: SmallVec<[*const u8; 16]> = self.ins[2..].iter().map(base).collect();
                    others.insert(epilogue.operand, std::ptr::null());
                    let (channels, bases) = (geometry.out_channels, Bases { ins: &others, made });
                    let failed: Mutex<Option<(u16, Error)>> = Mutex::new(None);
                    let then = |pixels: Range<usize>, at: *const u8| {
                        let part = (start + pixels.start) * channels..(start + pixels.end) * channels;
                        // SAFETY: as for the stage; these pixels are there.
                        if let Err(error) = epilogue.run(&bases, part, *dtype, at) {
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        }
                    };
                    match packed {
                        Some(packed) => packed.convolve_then(count, x(first), &then),
                        None => conv_then(*dtype, &geometry, x(first), filter, std::ptr::null_mut(), &then),
                    }
                    return failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err);
                }
                Work::Pool { dtype, windows, means } => {
                    let run = if *means { avg_pool } else { max_pool };
                    run(*dtype, &Windows { batch: count, ..*windows }, x(first), out(0));
                }
            }
        }
        Ok(())
    }
}
