//! What is done with a strip of rows.

use std::ops::Range;

use penstock_data::{DType, Dims, Error, Loc, Result};
use penstock_ir::{Graph, Value};
use penstock_kernels::matmul::matmul;
use penstock_kernels::right::Right;
use penstock_kernels::{LoopFn, elementwise, softmax};
use penstock_passes::evaluate::fault;
use smallvec::SmallVec;

use super::super::memory::Memory;
use super::{ROWS, Values};
use crate::tile::TileProgram;

/// Right matrices of no more columns are not packed.
const FEW_COLUMNS: usize = 4;
/// Products of more rows are packed.
const UNPACKED_ROWS: usize = 64;
/// The most operands of an elementwise instruction that is in no group.
pub(super) const MOST_OPERANDS: usize = 4;

/// Where an instruction of the step finds an operand: among what the step reads, or among what it makes.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::plan) enum Place {
    In(usize),
    Out(usize),
}

pub(in crate::plan) enum Part {
    /// A product of matrices of `k` by `n` from the right, which may be stored transposed: one for all rows, or one for each matrix of
    /// them.
    Product { dtype: DType, k: usize, n: usize, a: Place, b: Place, transposed: bool, each: bool, out: usize },
    /// Columns of some matrices that become columns of others: a split, or a concatenation.
    Move(Vec<Columns>),
    /// A fused region, which makes the results from `out` on.
    Map { program: Box<TileProgram>, ins: SmallVec<[Place; 8]>, out: usize, count: usize },
    /// An elementwise instruction that is in no group.
    Loop(Box<Single>),
    /// A softmax of rows of so many elements, or its logarithm.
    Softmax { dtype: DType, columns: usize, log: bool, x: Place, out: usize },
}

/// So many bytes of each row that are copied: where they are in which rows, and where they go to.
pub(in crate::plan) struct Columns {
    pub(super) bytes: usize,
    pub(super) from: Place,
    /// The bytes from a row to the next, and those before the columns.
    pub(super) from_row: usize,
    pub(super) from_at: usize,
    pub(super) to: usize,
    pub(super) to_row: usize,
    pub(super) to_at: usize,
}

/// An elementwise instruction on rows of columns.
pub(in crate::plan) struct Single {
    pub(super) f: LoopFn,
    /// Where operands are, bytes of an element, and whether there are elements for each row and for each column.
    pub(super) ins: SmallVec<[(Place, usize, [bool; 2]); 3]>,
    pub(super) out: usize,
    pub(super) columns: usize,
    /// Bytes of an element of the result.
    pub(super) size: usize,
    pub(super) name: &'static str,
    pub(super) loc: Loc,
}

/// What is done with each strip.
pub(crate) struct Strips {
    pub(super) parts: Vec<Part>,
    pub(super) due: Vec<(DType, Dims)>,
    pub(super) types: Vec<(DType, Dims)>,
    pub(super) rows: usize,
    /// The rows of a matrix, where products have a right matrix for each; else all.
    pub(super) unit: usize,
    /// Estimated nanoseconds of a run on one thread.
    pub(crate) nanoseconds: u64,
}

/// Lists that have for each part the right matrix, if it is a product by one that is packed: those of all rows, and those of a matrix of
/// them.
pub(in crate::plan) type Rights<'a> = [&'a [Option<Right>]];

/// Why a strip was not made: the part, and the number of its instruction, which met a fault.
pub(in crate::plan) struct Failed {
    pub(super) part: usize,
    pub(super) origin: u16,
    pub(in crate::plan) error: Error,
}

impl Part {
    /// Calls `visit` on what the part reads row by row.
    pub(super) fn reads(&self, mut visit: impl FnMut(Place)) {
        match self {
            Part::Product { a, .. } => visit(*a),
            Part::Move(columns) => columns.iter().for_each(|c| visit(c.from)),
            Part::Map { ins, .. } => ins.iter().for_each(|&p| visit(p)),
            Part::Loop(single) => single.ins.iter().for_each(|i| visit(i.0)),
            Part::Softmax { x, .. } => visit(*x),
        }
    }

    /// The results that it makes.
    pub(super) fn makes(&self) -> Range<usize> {
        match self {
            Part::Product { out, .. } | Part::Softmax { out, .. } => *out..out + 1,
            Part::Move(columns) => columns[0].to..columns[columns.len() - 1].to + 1,
            Part::Map { out, count, .. } => *out..out + count,
            Part::Loop(single) => single.out..single.out + 1,
        }
    }
}

impl Strips {
    /// What does nothing yet.
    pub(in crate::plan) fn of_rows(rows: usize, unit: usize) -> Strips {
        Strips { parts: Vec::new(), due: Vec::new(), types: Vec::new(), rows, unit, nanoseconds: 0 }
    }

    /// Adds what [`part`] gave.
    pub(in crate::plan) fn push(&mut self, part: Part, nanoseconds: u64) {
        self.parts.push(part);
        self.nanoseconds += nanoseconds;
    }

    /// The bytes of the largest matrix from the right.
    pub(in crate::plan) fn largest(&self) -> usize {
        let bytes = |p: &Part| match p {
            Part::Product { dtype, k, n, .. } => k * n * dtype.size(),
            _ => 0,
        };
        self.parts.iter().map(bytes).max().unwrap_or(0)
    }

    pub(in crate::plan) fn has_products(&self) -> bool {
        self.parts.iter().any(|p| matches!(p, Part::Product { .. }))
    }

    /// Notes the types of what is read and made; `None` where extents are not known.
    pub(in crate::plan) fn set_types(&mut self, graph: &Graph, values: &Values) -> Option<()> {
        let type_of = |v: &Value| Some((graph.ty(*v).dtype(), graph.ty(*v).shape().extents()?));
        self.due = values.ins.iter().map(type_of).collect::<Option<_>>()?;
        self.types = values.outs.iter().map(type_of).collect::<Option<_>>()?;
        Some(())
    }

    /// The types of what is read.
    pub(in crate::plan) fn due(&self) -> &[(DType, Dims)] {
        &self.due
    }

    /// The types of what is made.
    pub(in crate::plan) fn types(&self) -> &[(DType, Dims)] {
        &self.types
    }

    pub(in crate::plan) fn rows(&self) -> usize {
        self.rows
    }

    /// The right matrices of products that are better packed once than where they are used, by part: those of all rows, or those of
    /// one matrix of them. They are packed where a product by blocks as a whole would pack them, whose elements are then the same bit
    /// for bit.
    ///
    /// # Errors
    /// `ResourceExhausted`.
    pub(super) fn pack(&self, memory: &Memory, unit: Option<usize>) -> Result<SmallVec<[Option<Right>; 4]>> {
        let pack = |part: &Part| {
            let Part::Product { dtype, k, n, b: Place::In(b), transposed, each, .. } = *part else { return Ok(None) };
            let rows = if each { self.unit } else { self.rows };
            let packs = n > FEW_COLUMNS && (rows > UNPACKED_ROWS || transposed && rows > 2 * ROWS);
            if !packs || each != unit.is_some() {
                return Ok(None);
            }
            let b = memory.ins[b].wrapping_add(unit.unwrap_or(0) * k * n * dtype.size());
            // SAFETY: the operand has such a matrix.
            unsafe { Right::pack(dtype, k, n, b, transposed) }.map(Some)
        };
        self.parts.iter().map(pack).collect()
    }

    /// Makes some rows of all that is made.
    ///
    /// # Errors
    /// The first fault.
    ///
    /// # Safety
    /// `rights` has right matrices that are packed, by part; `memory` has the operands, and where row 0 of each result would be, of which these rows are there; nobody else touches
    /// them.
    pub(in crate::plan) unsafe fn strip(
        &self,
        memory: &Memory,
        rights: &Rights<'_>,
        rows: Range<usize>,
    ) -> Result<(), Failed> {
        let at = |place: Place| match place {
            Place::In(i) => memory.ins[i],
            Place::Out(i) => memory.outs[i].cast_const(),
        };
        for (number, part) in self.parts.iter().enumerate() {
            let failed = |(origin, error)| Failed { part: number, origin, error };
            match part {
                Part::Product { dtype, k, n, a, b, transposed, each, out } => {
                    let size = dtype.size();
                    let matrix = if *each { rows.start / self.unit } else { 0 };
                    let b = at(*b).wrapping_add(matrix * k * n * size);
                    let a = at(*a).wrapping_add(rows.start * k * size);
                    let out = memory.outs[*out].wrapping_add(rows.start * n * size);
                    // SAFETY: the caller's contract; the rows are inside of the matrices of `rows` by `k` and by `n`.
                    unsafe {
                        match rights.iter().find_map(|list| list[number].as_ref()) {
                            Some(right) => right.multiply(rows.len(), a, *k, out, *n),
                            None => matmul(*dtype, rows.len(), *k, *n, a, false, b, *transposed, out),
                        }
                    };
                }
                Part::Move(columns) => {
                    for c in columns {
                        for row in rows.clone() {
                            let from = at(c.from).wrapping_add(row * c.from_row + c.from_at);
                            let to = memory.outs[c.to].wrapping_add(row * c.to_row + c.to_at);
                            // SAFETY: the caller's contract; the row is inside of matrices of rows of so many bytes, and
                            // results overlap nothing that is read.
                            unsafe { std::ptr::copy_nonoverlapping(from, to, c.bytes) };
                        }
                    }
                }
                Part::Map { program, ins, out, count } => {
                    let ins: SmallVec<[*const u8; 8]> = ins.iter().map(|&p| at(p)).collect();
                    let columns = program.elements() / self.rows;
                    let (outs, stretch) = (&memory.outs[*out..out + count], rows.start * columns..rows.end * columns);
                    // SAFETY: the caller's contract; `splits` has said that strips of these columns can be run.
                    unsafe { program.run_part(&ins, outs, stretch) }.map_err(failed)?;
                }
                Part::Loop(single) => {
                    // SAFETY: the caller's contract.
                    unsafe { single.run(at, memory.outs[single.out], rows.clone()) }.map_err(|e| failed((0, e)))?;
                }
                Part::Softmax { dtype, columns, log, x, out } => {
                    let first = rows.start * columns * dtype.size();
                    let (x, out) = (at(*x).wrapping_add(first), memory.outs[*out].wrapping_add(first));
                    let run = if *log { softmax::log_softmax } else { softmax::softmax };
                    // SAFETY: the caller's contract; the rows are of so many elements, and results overlap nothing.
                    unsafe { run(*dtype, x, rows.len(), *columns, out) };
                }
            }
        }
        Ok(())
    }
}

impl Single {
    /// Computes some rows.
    ///
    /// # Safety
    /// As for [`Strips::strip`], where `at` says where operands are and `out` is where row 0 of the result would be.
    unsafe fn run(&self, at: impl Fn(Place) -> *const u8, out: *mut u8, rows: Range<usize>) -> Result<()> {
        let extents = |of: [bool; 2]| [if of[0] { rows.len() } else { 1 }, if of[1] { self.columns } else { 1 }];
        let shapes: SmallVec<[[usize; 2]; MOST_OPERANDS]> = self.ins.iter().map(|&(.., of)| extents(of)).collect();
        let mut ins: SmallVec<[(*const u8, &[usize], usize); MOST_OPERANDS]> = SmallVec::new();
        for (&(place, size, of), shape) in self.ins.iter().zip(&shapes) {
            let first = if of[0] { rows.start * shape[1] * size } else { 0 };
            ins.push((at(place).wrapping_add(first), shape, size));
        }
        let out = out.wrapping_add(rows.start * self.columns * self.size);
        // SAFETY: the caller's contract: the operands have these elements, of the dtypes for which the loop was looked up, and the
        // result overlaps none.
        let done = unsafe { elementwise(self.f, &[rows.len(), self.columns], out, self.size, &ins) };
        done.map_err(|f| fault(f).in_op(self.name).at(self.loc))
    }
}
