//! A stage of a pipeline: what it reads and makes, and how it makes some of its rows.

use std::ops::Range;

use penstock_data::{DType, Dims, Error, Loc, Tensor};
use penstock_kernels::matmul::matmul;
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

impl Bases<'_> {
    fn of(&self, source: Source) -> *const u8 {
        match source {
            Source::In(i) => self.ins[i],
            Source::Made(i) => self.made[i].cast_const(),
        }
    }
}

impl Stage {
    /// The number of the operand by which it multiplies.
    pub(super) fn matrix(&self) -> Option<usize> {
        match (&self.work, self.ins.get(1)?.source) {
            (Work::Product { .. }, Source::In(i)) => Some(i),
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

    /// Makes some rows of the results. `right` is the matrix by which it multiplies, where that was packed.
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
        right: Option<&Right>,
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
                    match right {
                        Some(right) => right.multiply(count, x(first), *k, out(0), *n),
                        None => matmul(*dtype, count, *k, *n, x(first), false, b, *transposed, out(0)),
                    }
                }
                Work::Softmax { dtype, columns, count: each, log } => {
                    let run = if *log { softmax::log_softmax } else { softmax::softmax };
                    run(*dtype, x(first), count * each, *columns, out(0));
                }
            }
        }
        Ok(())
    }
}
