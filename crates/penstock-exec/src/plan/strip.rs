//! Strips: in a loop, products of few rows, the fused regions behind or before them, and splits and concatenations of
//! columns between them, which follow each other closely, run as one step that threads share by rows.
//!
//! Each of these instructions is too short to be worth handing to another thread, and gives row `i` of its results for row
//! `i` of what the others gave. So a strip of rows goes through all of them on one thread, and threads meet once.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use std::ops::Range;

use penstock_data::{DType, Dims, Result, Tensor};
use penstock_ir::{Graph, Inst, Value, effects_of};
use penstock_kernels::matmul::{Gemm, matmul};
use penstock_kernels::pool::{parallel_for, threads};
use penstock_ops::fused::FUSED;
use penstock_ops::joining::{CONCAT, SPLIT};
use penstock_ops::linalg::MATMUL;
use smallvec::SmallVec;

use super::memory::Memory;
use super::step::Reg;
use crate::tile::TileProgram;

/// Estimated nanoseconds of a product that is worth sharing by itself.
const LONG_NS: f64 = 40_000.0;
/// The least estimated nanoseconds of what a thread is handed.
const PIECE_NS: u64 = 5_000;
/// The most instructions between those of a step.
const MOST_ASIDE: usize = 8;
/// Strips are of multiples of so many rows, as which the kernels of products take them.
pub(super) const ROWS: usize = 8;

/// Where an instruction of the step finds an operand: among what the step reads, or among what it makes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    In(usize),
    Out(usize),
}

pub(super) enum Part {
    /// A product of matrices of `k` by `n` from the right, which may be stored transposed.
    Product { dtype: DType, k: usize, n: usize, a: Place, b: Place, transposed: bool, out: usize },
    /// Columns of some matrices that become columns of others: a split, or a concatenation.
    Move(Vec<Columns>),
    /// A fused region, which makes the results from `out` on.
    Map { program: Box<TileProgram>, ins: SmallVec<[Place; 8]>, out: usize, count: usize },
}

/// So many bytes of each row that are copied: where they are in which rows, and where they go to.
pub(super) struct Columns {
    bytes: usize,
    from: Place,
    /// The bytes from a row to the next, and those before the columns.
    from_row: usize,
    from_at: usize,
    to: usize,
    to_row: usize,
    to_at: usize,
}

pub(crate) struct StripStep {
    parts: Vec<Part>,
    pub(crate) ins: SmallVec<[Reg; 8]>,
    pub(crate) outs: SmallVec<[Reg; 4]>,
    due: Vec<(DType, Dims)>,
    types: Vec<(DType, Dims)>,
    rows: usize,
    /// Estimated nanoseconds of a run on one thread.
    pub(crate) nanoseconds: u64,
}

/// What a step reads and makes.
#[derive(Default)]
pub(super) struct Values {
    pub(super) ins: Vec<Value>,
    pub(super) outs: Vec<Value>,
}

/// A step that stands for some of the first instructions of a list.
pub(super) struct Found {
    pub(super) step: StripStep,
    pub(super) values: Values,
    /// How many instructions the step stands for, with those in between.
    pub(super) taken: usize,
    /// Those in between, which can run before.
    pub(super) before: Vec<Inst>,
}

/// The step of the first instructions of `insts`; `None` where it would not pay.
pub(super) fn find(graph: &Graph, insts: &[Inst], vectors: bool) -> Option<Found> {
    let rows = insts.iter().find(|&&i| !graph.insts[i].op.is(&FUSED)).and_then(|&i| rows_of(graph, i))?;
    let mut values = Values::default();
    let mut step = StripStep::of_rows(rows);
    let (mut taken, mut aside, mut before) = (0, Vec::new(), Vec::new());
    for (i, &inst) in insts.iter().enumerate() {
        if let Some((part, ns)) = part(graph, inst, rows, LONG_NS, vectors, &mut values) {
            step.push(part, ns);
            taken = i + 1;
            before.append(&mut aside);
        } else if step.parts.is_empty() || aside.len() == MOST_ASIDE || !can_go_before(graph, inst, &values) {
            break;
        } else {
            aside.push(inst);
        }
    }
    if !step.has_products() || step.nanoseconds < 2 * PIECE_NS {
        return None;
    }
    step.set_types(graph, &values)?;
    Some(Found { step, values, taken, before })
}

/// Whether an instruction may run before the step so far.
fn can_go_before(graph: &Graph, inst: Inst, values: &Values) -> bool {
    let data = &graph.insts[inst];
    let apart = !data.operands.iter().any(|v| values.outs.contains(v));
    apart && data.regions.is_empty() && !effects_of(graph, inst).acts()
}

/// The number of rows of a product that can be made in strips.
pub(super) fn rows_of(graph: &Graph, inst: Inst) -> Option<usize> {
    let data = &graph.insts[inst];
    if !data.op.is(&MATMUL) || data.attrs.flag(0) || data.attrs.flag(2) || data.attrs.flag(3) {
        return None;
    }
    let dims = |v: Value| graph.ty(v).shape().extents().filter(|dims| dims.len() == 2);
    dims(data.operands[1])?;
    let (rows, ty) = (dims(data.operands[0])?[0], graph.ty(data.results[0]));
    (rows >= 2 * ROWS && matches!(ty.dtype(), DType::F32 | DType::F64)).then_some(rows)
}

/// One instruction as a part of a step, and its estimated nanoseconds, if a product takes less than `longest`; adds to what
/// the step reads and makes.
pub(super) fn part(
    graph: &Graph,
    inst: Inst,
    rows: usize,
    longest: f64,
    vectors: bool,
    values: &mut Values,
) -> Option<(Part, u64)> {
    let data = &graph.insts[inst];
    let place = |v: Value, ins: &mut Vec<Value>| match values.outs.iter().position(|&o| o == v) {
        Some(i) => Place::Out(i),
        None => Place::In(ins.iter().position(|&i| i == v).unwrap_or_else(|| {
            ins.push(v);
            ins.len() - 1
        })),
    };
    let out = values.outs.len();
    let mut ins = values.ins.clone();
    let (part, ns) = if data.op.is(&FUSED) {
        let program = TileProgram::new(graph, data.regions[0], vectors).ok()?;
        let columns = program.elements() / rows;
        let places: SmallVec<[Place; 8]> = data.operands.iter().map(|&v| place(v, &mut ins)).collect();
        let own = |&(k, p): &(usize, &Place)| matches!(p, Place::Out(_)) && !program.is_dense(k);
        if program.elements() != rows * columns
            || !program.splits(columns)
            || places.iter().enumerate().any(|p| own(&p))
        {
            return None;
        }
        let ns = program.nanoseconds();
        (Part::Map { program: Box::new(program), ins: places, out, count: data.results.len() }, ns)
    } else if data.op.is(&SPLIT) || data.op.is(&CONCAT) {
        let axis = data.attrs.int(if data.op.is(&SPLIT) { 2 } else { 0 });
        let widths =
            |values: &[Value]| values.iter().map(|&v| bytes_of_row(graph, v, rows)).collect::<Option<Vec<_>>>();
        let (from, to) = (widths(&data.operands)?, widths(&data.results)?);
        if !matches!(axis, 1 | -1) {
            return None;
        }
        let places: Vec<Place> = data.operands.iter().map(|&v| place(v, &mut ins)).collect();
        let total: usize = to.iter().sum();
        // One of both lists has one element, so that the narrower of two columns goes from one matrix to another as a whole.
        let (mut parts, mut from_at, mut to_at) = (Vec::new(), 0, 0);
        for k in 0..from.len().max(to.len()) {
            let (f, t) = (k.min(from.len() - 1), k.min(to.len() - 1));
            let bytes = from[f].min(to[t]);
            let (from_row, to_row) = (from[f], to[t]);
            parts.push(Columns { bytes, from: places[f], from_row, from_at, to: out + t, to_row, to_at });
            from_at += if from.len() == 1 { bytes } else { 0 };
            to_at += if to.len() == 1 { bytes } else { 0 };
        }
        (Part::Move(parts), (total * rows / 10) as u64)
    } else {
        rows_of(graph, inst).filter(|&own| own == rows)?;
        let transposed = data.attrs.flag(1);
        let dims = graph.ty(data.operands[1]).shape().extents()?;
        let (k, n) = if transposed { (dims[1], dims[0]) } else { (dims[0], dims[1]) };
        let dtype = graph.ty(data.results[0]).dtype();
        let flops_per_ns = if dtype == DType::F32 { f32::FLOPS_PER_NS } else { f64::FLOPS_PER_NS };
        let ns = 2.0 * (rows * k * n) as f64 / flops_per_ns;
        let (a, b) = (place(data.operands[0], &mut ins), place(data.operands[1], &mut ins));
        if matches!(b, Place::Out(_)) || ns >= longest || k * n == 0 {
            return None;
        }
        (Part::Product { dtype, k, n, a, b, transposed, out }, ns as u64)
    };
    values.ins = ins;
    values.outs.extend(&data.results);
    Some((part, ns))
}

/// The bytes of a row of a matrix of so many rows.
fn bytes_of_row(graph: &Graph, v: Value, rows: usize) -> Option<usize> {
    let (dtype, dims) = (graph.ty(v).dtype(), graph.ty(v).shape().extents()?);
    (dims.len() == 2 && dims[0] == rows && dtype.size() > 0).then(|| dims[1] * dtype.size())
}

impl StripStep {
    /// A step that does nothing yet.
    pub(super) fn of_rows(rows: usize) -> StripStep {
        StripStep {
            parts: Vec::new(),
            ins: SmallVec::new(),
            outs: SmallVec::new(),
            due: Vec::new(),
            types: Vec::new(),
            rows,
            nanoseconds: 0,
        }
    }

    /// Adds what [`part`] gave.
    pub(super) fn push(&mut self, part: Part, nanoseconds: u64) {
        self.parts.push(part);
        self.nanoseconds += nanoseconds;
    }

    /// The bytes of the largest matrix from the right.
    pub(super) fn largest(&self) -> usize {
        let bytes = |p: &Part| match p {
            Part::Product { dtype, k, n, .. } => k * n * dtype.size(),
            _ => 0,
        };
        self.parts.iter().map(bytes).max().unwrap_or(0)
    }

    pub(super) fn has_products(&self) -> bool {
        self.parts.iter().any(|p| matches!(p, Part::Product { .. }))
    }

    /// Notes the types of what the step reads and makes; `None` where extents are not known.
    pub(super) fn set_types(&mut self, graph: &Graph, values: &Values) -> Option<()> {
        let type_of = |v: &Value| Some((graph.ty(*v).dtype(), graph.ty(*v).shape().extents()?));
        self.due = values.ins.iter().map(type_of).collect::<Option<_>>()?;
        self.types = values.outs.iter().map(type_of).collect::<Option<_>>()?;
        Some(())
    }

    /// The types of what the step reads.
    pub(super) fn due(&self) -> &[(DType, Dims)] {
        &self.due
    }

    /// The types of what the step makes.
    pub(super) fn types(&self) -> &[(DType, Dims)] {
        &self.types
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Runs the step: `outputs` become what it makes.
    ///
    /// # Errors
    /// `Internal` for inputs of other types; `ResourceExhausted`; what fused regions report.
    pub(crate) fn run(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<()> {
        let memory = Memory::prepare(inputs, &self.due, outputs, &self.types)?;
        let pieces = usize::try_from(self.nanoseconds / PIECE_NS).unwrap_or(1).clamp(1, threads());
        let piece = self.rows.div_ceil(pieces).next_multiple_of(ROWS);
        let failed = std::sync::Mutex::new(None);
        parallel_for(self.rows.div_ceil(piece), 1, |range| {
            for i in range {
                let rows = i * piece..self.rows.min((i + 1) * piece);
                // SAFETY: inputs are of the types that the step was made for and outputs were made of theirs, each of
                // memory of its own; ranges do not overlap.
                if let Err(error) = unsafe { self.strip(&memory, rows) } {
                    *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                }
            }
        });
        failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Makes some rows of all that the step makes.
    ///
    /// # Safety
    /// `memory` is that of a run, and nobody else touches these rows of the outputs.
    pub(super) unsafe fn strip(&self, memory: &Memory, rows: Range<usize>) -> Result<()> {
        let at = |place: Place| match place {
            Place::In(i) => memory.ins[i],
            Place::Out(i) => memory.outs[i].cast_const(),
        };
        for part in &self.parts {
            match part {
                Part::Product { dtype, k, n, a, b, transposed, out } => {
                    let size = dtype.size();
                    // SAFETY: the caller's contract; the rows are inside of the matrices of `rows` by `k` and by `n`.
                    unsafe {
                        let a = at(*a).add(rows.start * k * size);
                        let out = memory.outs[*out].add(rows.start * n * size);
                        matmul(*dtype, rows.len(), *k, *n, a, false, at(*b), *transposed, out);
                    }
                }
                Part::Move(columns) => {
                    for c in columns {
                        for row in rows.clone() {
                            // SAFETY: the caller's contract; the row is inside of matrices of rows of so many bytes, and
                            // results overlap nothing that is read.
                            unsafe {
                                let from = at(c.from).add(row * c.from_row + c.from_at);
                                let to = memory.outs[c.to].add(row * c.to_row + c.to_at);
                                std::ptr::copy_nonoverlapping(from, to, c.bytes);
                            }
                        }
                    }
                }
                Part::Map { program, ins, out, count } => {
                    let ins: SmallVec<[*const u8; 8]> = ins.iter().map(|&p| at(p)).collect();
                    let columns = program.elements() / self.rows;
                    // SAFETY: the caller's contract; `splits` has said that strips of these columns can be run.
                    unsafe {
                        program.run_part(
                            &ins,
                            &memory.outs[*out..out + count],
                            rows.start * columns..rows.end * columns,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }
}
