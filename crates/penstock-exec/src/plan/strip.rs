//! Strips: products of matrices, and the elementwise instructions, fused regions, splits and concatenations of columns behind,
//! between or before them, run as one step, some rows at a time.
//!
//! Each of these instructions gives row `i` of its results for row `i` of what the others gave. So a thread takes a strip of
//! rows through all of them while it is in its cache: what passes between the parts is never there as a whole, unless others
//! use it, and threads meet once.

#![expect(unsafe_code, reason = "hands the memory of tensors to kernels over raw memory")]

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use penstock_data::{ALIGNMENT, DType, DTypeSet, Dims, Error, Loc, Result, Tensor};
use penstock_ir::{Cpu, Graph, Inst, InstData, Value, effects_of};
use penstock_kernels::conv::{Geometry, conv_then};
use penstock_kernels::matmul::{Gemm, matmul};
use penstock_kernels::pool::{parallel_each, threads};
use penstock_kernels::right::Right;
use penstock_kernels::{LoopFn, elementwise, softmax};
use penstock_ops::control::CONST;
use penstock_ops::conv::{CONV, geometry};
use penstock_ops::fused::FUSED;
use penstock_ops::joining::{CONCAT, SPLIT};
use penstock_ops::linalg::MATMUL;
use penstock_ops::nn::{LOG_SOFTMAX, SOFTMAX};
use penstock_passes::evaluate::{fault, resolve};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::memory::{Memory, with_scratch};
use super::slab::Uses;
use super::step::Reg;
use crate::tile::TileProgram;
use crate::work::{is_heavy, per_element};

/// The least estimated nanoseconds of what a thread is handed.
const PIECE_NS: u64 = 5_000;
/// The most instructions between two of a step, constants aside.
const MOST_ASIDE: usize = 8;
/// Strips are of multiples of so many rows, as which the kernels of products take them.
pub(super) const ROWS: usize = 8;
/// Fewest rows of a strip of a long product: fewer make too little of each element of the right matrix.
const FEWEST: usize = 64;
/// Right matrices of no more columns are not packed.
const FEW_COLUMNS: usize = 4;
/// The most operands of an elementwise instruction that is in no group.
const MOST_OPERANDS: usize = 4;
/// Estimated nanoseconds from which a product is long: worth sharing by itself.
const LONG_NS: f64 = 40_000.0;
/// Estimated nanoseconds of a byte that is written to memory, or read from there, rather than found in the cache.
const NS_PER_BYTE: f64 = 0.05;
/// The part of a long product's time that has to be saved.
const WORTH: f64 = 0.02;

/// Where an instruction of the step finds an operand: among what the step reads, or among what it makes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    In(usize),
    Out(usize),
}

pub(super) enum Part {
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

/// An elementwise instruction on rows of columns.
pub(super) struct Single {
    f: LoopFn,
    /// Where operands are, bytes of an element, and whether there are elements for each row and for each column.
    ins: SmallVec<[(Place, usize, [bool; 2]); 3]>,
    out: usize,
    columns: usize,
    /// Bytes of an element of the result.
    size: usize,
    name: &'static str,
    loc: Loc,
}

/// What is done with each strip.
pub(crate) struct Strips {
    parts: Vec<Part>,
    due: Vec<(DType, Dims)>,
    types: Vec<(DType, Dims)>,
    rows: usize,
    /// The rows of a matrix, where products have a right matrix for each; else all.
    unit: usize,
    /// Estimated nanoseconds of a run on one thread.
    pub(crate) nanoseconds: u64,
}

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
    /// Estimated nanoseconds of a run on one thread.
    pub(crate) nanoseconds: u64,
    /// Whether it runs apart.
    pub(crate) heavy: bool,
}

/// What a step reads and makes.
#[derive(Default)]
pub(super) struct Values {
    pub(super) ins: Vec<Value>,
    pub(super) outs: Vec<Value>,
}

impl Values {
    fn makes(&self, v: Value) -> bool {
        self.outs.contains(&v)
    }
}

/// A step that stands for some of the first instructions of a list.
pub(super) struct Found {
    pub(super) step: StripStep,
    /// What it reads and makes.
    pub(super) ins: Vec<Value>,
    pub(super) outs: Vec<Value>,
    /// How many instructions the step stands for, with those in between.
    pub(super) taken: usize,
    /// Those in between: those that can run before, and those that have to run behind.
    pub(super) before: Vec<Inst>,
    pub(super) behind: Vec<Inst>,
}

/// The step of the first instructions of `insts`; `None` where it would not pay. In a loop, parts that do not use each other
/// are taken together as well: it gains little for each, but at every round. A strip is to have about so many bytes.
pub(super) fn find(
    graph: &Graph,
    insts: &[Inst],
    uses: &Uses,
    in_loop: bool,
    bytes: usize,
    vectors: bool,
) -> Option<Found> {
    let is_group = |&i: &Inst| graph.insts[i].op.is(&FUSED);
    let first = insts.iter().take(MOST_ASIDE).position(|i| !is_group(i))?;
    let head = Head::of(graph, insts[0]);
    let of_pixels = head.as_ref().map(|head| (head.geometry.pixels(), head.geometry.pixels()));
    let (rows, unit) = of_pixels.or_else(|| matrices_of(graph, insts[first]))?;
    let feeds = |i: Inst| graph.insts[i].results.contains(&graph.insts[insts[first]].operands[0]);
    if first > 0 && !in_loop && !feeds(insts[0]) {
        return None;
    }
    let mut values = Values::default();
    let mut strips = Strips::of_rows(rows, unit);
    let mut reads: Vec<Value> = Vec::new();
    if let Some(head) = &head {
        let data = &graph.insts[insts[0]];
        strips.nanoseconds = head.nanoseconds() as u64;
        reads.extend(&data.operands);
        values = Values { ins: data.operands.to_vec(), outs: data.results.to_vec() };
    }
    let mut late: FxHashSet<Value> = FxHashSet::default();
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let (mut taken, mut aside, mut counted) = (0, 0, (0, 0));
    for (i, &inst) in insts.iter().enumerate().skip(usize::from(head.is_some())) {
        let data = &graph.insts[inst];
        let waits = data.operands.iter().any(|v| late.contains(v));
        let begun = head.is_some() || !strips.parts.is_empty();
        let joins = || in_loop || !begun || joins(graph, &insts[i..], &values);
        if !waits
            && joins()
            && is_worth_it(graph, inst, rows, &values)
            && let Some((part, ns)) = part(graph, inst, (rows, unit), vectors, &mut values)
        {
            strips.push(part, ns);
            reads.extend(&data.operands);
            (taken, aside, counted) = (i + 1, 0, (before.len(), behind.len()));
            continue;
        }
        let within = data.regions.is_empty() || data.op.is(&FUSED);
        if !begun || !within || effects_of(graph, inst).acts() {
            break;
        }
        if waits || data.operands.iter().any(|&v| values.makes(v)) {
            late.extend(&data.results);
            behind.push(inst);
        } else {
            before.push(inst);
        }
        aside += usize::from(!data.op.is(&CONST));
        if aside > MOST_ASIDE {
            break;
        }
    }
    before.truncate(counted.0);
    behind.truncate(counted.1);
    let least = if head.is_some() { 1 } else { 2 };
    if !(strips.has_products() || head.is_some()) || strips.parts.len() < least || strips.nanoseconds < 2 * PIECE_NS {
        return None;
    }
    strips.set_types(graph, &values)?;
    let leaves = |v: Value| uses.of(graph, v) > reads.iter().filter(|&&r| r == v).count();
    let leaves: Vec<bool> = values.outs.iter().map(|&v| leaves(v)).collect();
    let outs = values.outs.iter().zip(&leaves).filter(|(_, leaves)| **leaves).map(|(&v, _)| v).collect();
    Some(Found { step: StripStep::new(head, strips, &leaves, bytes), ins: values.ins, outs, taken, before, behind })
}

/// Whether the first of `insts` reads what the step makes, or is a product that a group joins with what it makes.
fn joins(graph: &Graph, insts: &[Inst], values: &Values) -> bool {
    let reads = |inst: Inst| graph.insts[inst].operands.iter().any(|&v| values.makes(v));
    let data = &graph.insts[insts[0]];
    let mut behind = insts[1..].iter().take(MOST_ASIDE);
    reads(insts[0])
        || data.op.is(&MATMUL) && behind.any(|&i| graph.insts[i].operands.contains(&data.results[0]) && reads(i))
}

/// Whether a product is short, or takes no longer than what it saves is worth; so is all that is no product.
fn is_worth_it(graph: &Graph, inst: Inst, rows: usize, values: &Values) -> bool {
    let data = &graph.insts[inst];
    let Some((k, n)) = data.op.is(&MATMUL).then(|| right_of(graph, data)).flatten() else { return true };
    let size = graph.ty(data.results[0]).dtype().size();
    saves(product_ns(graph, data, rows), rows, (n + if values.makes(data.operands[0]) { k } else { 0 }) * size)
}

/// Whether a product of so many rows is short, or writing and reading so many bytes of each row takes some of its time.
fn saves(ns: f64, rows: usize, bytes: usize) -> bool {
    ns < LONG_NS || rows >= FEWEST * threads() && 2.0 * (rows * bytes) as f64 * NS_PER_BYTE >= WORTH * ns
}

impl Head {
    /// The convolution that an instruction is, if it is one whose pixels are worth handing on.
    fn of(graph: &Graph, inst: Inst) -> Option<Head> {
        let data = &graph.insts[inst];
        let (dtype, dims) = (graph.ty(data.results[0]).dtype(), |v: Value| graph.ty(v).shape().extents());
        if !data.op.is(&CONV) || !matches!(dtype, DType::F32 | DType::F64) || dims(data.results[0])?.contains(&0) {
            return None;
        }
        let geometry = geometry(&dims(data.operands[0])?, &dims(data.operands[1])?, &data.attrs).ok()?;
        let head = Head { dtype, geometry, x: 0, filter: data.operands.len() - 1 };
        let bytes = geometry.out_channels * dtype.size();
        (geometry.groups == 1 && saves(head.nanoseconds(), geometry.pixels(), bytes)).then_some(head)
    }

    /// Estimated nanoseconds of the convolution.
    fn nanoseconds(&self) -> f64 {
        self.geometry.flops() / if self.dtype == DType::F32 { f32::FLOPS_PER_NS } else { f64::FLOPS_PER_NS }
    }
}

/// The number of rows of a product by one matrix that can be made in strips.
pub(super) fn rows_of(graph: &Graph, inst: Inst) -> Option<usize> {
    matrices_of(graph, inst).filter(|(rows, unit)| rows == unit).map(|sizes| sizes.0)
}

/// The number of rows of a product that can be made in strips, and how many of them are multiplied by the same matrix.
fn matrices_of(graph: &Graph, inst: Inst) -> Option<(usize, usize)> {
    let data = &graph.insts[inst];
    if !data.op.is(&MATMUL) || data.attrs.flag(0) || data.attrs.flag(2) || data.attrs.flag(3) {
        return None;
    }
    let dims = |v: Value| graph.ty(v).shape().extents();
    let (left, right, dtype) = (dims(data.operands[0])?, dims(data.operands[1])?, graph.ty(data.results[0]).dtype());
    let (batch, of_left) = left.split_at(left.len() - 2);
    let rows = batch.iter().product::<usize>() * of_left[0];
    let unit = if right.len() == 2 { rows } else { of_left[0] };
    let alike = right.len() == 2 || right[..right.len() - 2] == *batch;
    (alike && unit >= 2 * ROWS && rows > 0 && matches!(dtype, DType::F32 | DType::F64)).then_some((rows, unit))
}

/// The sizes of the right matrices of a product, as they enter it.
fn right_of(graph: &Graph, data: &InstData) -> Option<(usize, usize)> {
    let dims = graph.ty(data.operands[1]).shape().extents()?;
    let (_, &[rows, columns]) = dims.split_last_chunk::<2>()?;
    Some(if data.attrs.flag(1) { (columns, rows) } else { (rows, columns) })
}

/// Estimated nanoseconds of a product of so many rows.
fn product_ns(graph: &Graph, data: &InstData, rows: usize) -> f64 {
    let flops_per_ns = match graph.ty(data.results[0]).dtype() {
        DType::F32 => f32::FLOPS_PER_NS,
        _ => f64::FLOPS_PER_NS,
    };
    right_of(graph, data).map_or(0.0, |(k, n)| 2.0 * (rows * k * n) as f64 / flops_per_ns)
}

/// One instruction as a part of a step of so many rows and rows of a matrix, and its estimated nanoseconds; adds to what the step reads
/// and makes.
pub(super) fn part(
    graph: &Graph,
    inst: Inst,
    (rows, unit): (usize, usize),
    vectors: bool,
    values: &mut Values,
) -> Option<(Part, u64)> {
    let data = &graph.insts[inst];
    let mut ins = values.ins.clone();
    let mut place = |v: Value| match values.outs.iter().position(|&o| o == v) {
        Some(i) => Place::Out(i),
        None => Place::In(ins.iter().position(|&i| i == v).unwrap_or_else(|| {
            ins.push(v);
            ins.len() - 1
        })),
    };
    let places: SmallVec<[Place; 8]> = data.operands.iter().map(|&v| place(v)).collect();
    let out = values.outs.len();
    let (part, ns) = if data.op.is(&FUSED) {
        let program = TileProgram::new(graph, data.regions[0], vectors).ok()?;
        let columns = program.elements() / rows;
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
        columns(graph, data, &places, rows, out)?
    } else if data.op.is(&MATMUL) {
        let own = matrices_of(graph, inst).filter(|&own| own.0 == rows && (own.1 == rows || own.1 == unit))?;
        let (k, n) = right_of(graph, data)?;
        let each = own.1 < rows;
        let (dtype, transposed, [a, b]) =
            (graph.ty(data.results[0]).dtype(), data.attrs.flag(1), [places[0], places[1]]);
        if matches!(b, Place::Out(_)) || k * n == 0 {
            return None;
        }
        (Part::Product { dtype, k, n, a, b, transposed, each, out }, product_ns(graph, data, rows) as u64)
    } else if data.op.is(&SOFTMAX) || data.op.is(&LOG_SOFTMAX) {
        let (dtype, dims) = (graph.ty(data.results[0]).dtype(), graph.ty(data.results[0]).shape().extents()?);
        let columns = *dims.last()?;
        let last = [-1, dims.len() as i64 - 1].contains(&data.attrs.int(0));
        if !last || columns == 0 || dims[..dims.len() - 1].iter().product::<usize>() != rows {
            return None;
        }
        let ns = (rows * columns) as u64;
        (Part::Softmax { dtype, columns, log: data.op.is(&LOG_SOFTMAX), x: places[0], out }, ns)
    } else {
        single(graph, inst, &places, rows, out)?
    };
    values.ins = ins;
    values.outs.extend(&data.results);
    Some((part, ns))
}

/// A split or a concatenation of columns as a part.
fn columns(graph: &Graph, data: &InstData, places: &[Place], rows: usize, out: usize) -> Option<(Part, u64)> {
    let axis = data.attrs.int(if data.op.is(&SPLIT) { 2 } else { 0 });
    let widths = |values: &[Value]| values.iter().map(|&v| bytes_of_row(graph, v, rows)).collect::<Option<Vec<_>>>();
    let (from, to) = (widths(&data.operands)?, widths(&data.results)?);
    if !matches!(axis, 1 | -1) {
        return None;
    }
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
    Some((Part::Move(parts), (total * rows / 10) as u64))
}

/// An elementwise instruction as a part.
fn single(graph: &Graph, inst: Inst, places: &[Place], rows: usize, out: usize) -> Option<(Part, u64)> {
    let data = &graph.insts[inst];
    let Cpu::Elementwise(lookup) = data.op.cpu else { return None };
    if data.operands.len() > MOST_OPERANDS {
        return None;
    }
    let plain = |&v: &Value| DTypeSet::PLAIN.contains(graph.ty(v).dtype());
    if !data.operands.iter().chain(&data.results).all(plain) {
        return None;
    }
    let f = resolve(lookup, data.operands.iter().map(|&v| graph.ty(v).dtype()), &data.attrs).ok()?;
    let dims = graph.ty(data.results[0]).shape().extents()?;
    // The first dimensions are the rows.
    let split = (0..=dims.len()).find(|&d| dims[..d].iter().product::<usize>() == rows)?;
    let columns: usize = dims[split..].iter().product();
    let mut ins = SmallVec::new();
    for (&v, &place) in data.operands.iter().zip(places) {
        let (own, size) = (graph.ty(v).shape().extents()?, graph.ty(v).dtype().size());
        let lead = dims.len().checked_sub(own.len())?;
        let extent = |d: usize| if d < lead { 1 } else { own[d - lead] };
        let moves = |mut along: Range<usize>| {
            let all = along.clone().all(|d| extent(d) == dims[d]);
            (all || along.all(|d| extent(d) == 1)).then_some(all)
        };
        let of = [moves(0..split)?, moves(split..dims.len())?];
        if !of[0] && matches!(place, Place::Out(_)) {
            return None;
        }
        ins.push((place, size, of));
    }
    let size = graph.ty(data.results[0]).dtype().size();
    let single = Single { f, ins, out, columns, size, name: data.op.name, loc: graph.locs[inst] };
    Some((Part::Loop(Box::new(single)), (0.25 * per_element(data.op.0) * (rows * columns) as f64) as u64))
}

/// The bytes of a row of a matrix of so many rows.
fn bytes_of_row(graph: &Graph, v: Value, rows: usize) -> Option<usize> {
    let (dtype, dims) = (graph.ty(v).dtype(), graph.ty(v).shape().extents()?);
    (dims.len() == 2 && dims[0] == rows && dtype.size() > 0).then(|| dims[1] * dtype.size())
}

impl Part {
    /// Calls `visit` on what the part reads row by row.
    fn reads(&self, mut visit: impl FnMut(Place)) {
        match self {
            Part::Product { a, .. } => visit(*a),
            Part::Move(columns) => columns.iter().for_each(|c| visit(c.from)),
            Part::Map { ins, .. } => ins.iter().for_each(|&p| visit(p)),
            Part::Loop(single) => single.ins.iter().for_each(|i| visit(i.0)),
            Part::Softmax { x, .. } => visit(*x),
        }
    }

    /// The results that it makes.
    fn makes(&self) -> Range<usize> {
        match self {
            Part::Product { out, .. } | Part::Softmax { out, .. } => *out..out + 1,
            Part::Move(columns) => columns[0].to..columns[columns.len() - 1].to + 1,
            Part::Map { out, count, .. } => *out..out + count,
            Part::Loop(single) => single.out..single.out + 1,
        }
    }
}

/// Lists that have for each part the right matrix, if it is a product by one that is packed: those of all rows, and those of a matrix of
/// them.
pub(super) type Rights<'a> = [&'a [Option<Right>]];

/// Why a strip was not made: the part, and the number of its instruction, which met a fault.
pub(super) struct Failed {
    part: usize,
    origin: u16,
    pub(super) error: Error,
}

/// Keeps the fault of the first part and instruction.
fn note(failed: &Mutex<Option<Failed>>, new: Failed) {
    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.as_ref().is_none_or(|f| (new.part, new.origin) < (f.part, f.origin)) {
        *failed = Some(new);
    }
}

impl Strips {
    /// What does nothing yet.
    pub(super) fn of_rows(rows: usize, unit: usize) -> Strips {
        Strips { parts: Vec::new(), due: Vec::new(), types: Vec::new(), rows, unit, nanoseconds: 0 }
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

    /// Notes the types of what is read and made; `None` where extents are not known.
    pub(super) fn set_types(&mut self, graph: &Graph, values: &Values) -> Option<()> {
        let type_of = |v: &Value| Some((graph.ty(*v).dtype(), graph.ty(*v).shape().extents()?));
        self.due = values.ins.iter().map(type_of).collect::<Option<_>>()?;
        self.types = values.outs.iter().map(type_of).collect::<Option<_>>()?;
        Some(())
    }

    /// The types of what is read.
    pub(super) fn due(&self) -> &[(DType, Dims)] {
        &self.due
    }

    /// The types of what is made.
    pub(super) fn types(&self) -> &[(DType, Dims)] {
        &self.types
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The right matrices of products that are better packed once than where they are used, by part: those of all rows, or those of
    /// one matrix of them. They are packed where the product as a whole would pack them, so that its
    /// elements are the same bit for bit.
    ///
    /// # Errors
    /// `ResourceExhausted`.
    fn pack(&self, memory: &Memory, unit: Option<usize>) -> Result<SmallVec<[Option<Right>; 4]>> {
        let pack = |part: &Part| {
            let Part::Product { dtype, k, n, b: Place::In(b), transposed, each, .. } = *part else { return Ok(None) };
            let rows = if each { self.unit } else { self.rows };
            let packs = n > FEW_COLUMNS && (rows > FEWEST || transposed && rows > 2 * ROWS);
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
    pub(super) unsafe fn strip(&self, memory: &Memory, rights: &Rights<'_>, rows: Range<usize>) -> Result<(), Failed> {
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

impl StripStep {
    /// The step whose values leave it as `leaves` says, in strips of about so many bytes.
    fn new(head: Option<Head>, strips: Strips, leaves: &[bool], bytes: usize) -> StripStep {
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
        let fits = (bytes / per_row.max(1)).max(FEWEST);
        let nanoseconds = strips.nanoseconds;
        let heavy = is_heavy(1, nanoseconds as f64);
        let (ins, outs) = (smallvec![], smallvec![]);
        StripStep { head, strips, ins, outs, types, rooms, slots, fits, nanoseconds, heavy }
    }

    /// What the step does, for a listing.
    pub(crate) fn summary(&self) -> String {
        let kept = self.rooms.iter().filter(|room| matches!(room.0, Room::Slot(_))).count();
        let (parts, most) =
            (self.strips.parts.len() + usize::from(self.head.is_some()), self.fits.min(self.strips.unit));
        format!("{parts} parts, {most} of {} rows at a time, {kept} kept", self.strips.rows)
    }

    /// The rows of a strip.
    fn strip(&self) -> usize {
        let pieces = usize::try_from(self.nanoseconds / PIECE_NS).unwrap_or(usize::MAX).clamp(1, threads());
        self.fits.min(self.strips.rows.div_ceil(pieces)).next_multiple_of(ROWS).min(self.strips.unit)
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
