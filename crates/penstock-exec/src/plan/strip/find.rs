//! Which instructions make a step that goes strip by strip.

use std::ops::Range;

use penstock_data::{DType, DTypeSet, Dims, f16};
use penstock_ir::{Cpu, Graph, Inst, InstData, Value, effects_of};
use penstock_kernels::matmul::Gemm;
use penstock_kernels::pool::threads;
use penstock_ops::control::CONST;
use penstock_ops::conv::{CONV, geometry};
use penstock_ops::fused::FUSED;
use penstock_ops::joining::{CONCAT, SPLIT};
use penstock_ops::linalg::MATMUL;
use penstock_ops::nn::{LOG_SOFTMAX, SOFTMAX};
use penstock_ops::shape_ops::{EXPAND_DIMS, RESHAPE, SQUEEZE};
use penstock_passes::evaluate::resolve;
use penstock_passes::{Options, Thresholds};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::super::slab::Uses;
use super::parts::{Columns, MOST_OPERANDS, Part, Place, Single};
use super::{Head, StripStep, Strips};
use crate::tile::TileProgram;
use crate::work::per_element;

/// The most instructions between two of a step, constants aside.
const MOST_ASIDE: usize = 8;
/// Estimated nanoseconds of a byte that is written to memory, or read from there, rather than found in the cache.
const NS_PER_BYTE: f64 = 0.05;
/// The part of a long product's time that has to be saved.
const WORTH: f64 = 0.02;
/// That of one which alone is the `gemm` crate's on all threads: strips multiply by packed panels, which takes up to a sixth longer.
const WORTH_OF_LARGE: f64 = 0.2;

/// What a step reads and makes.
#[derive(Default)]
pub(in crate::plan) struct Values {
    pub(in crate::plan) ins: Vec<Value>,
    pub(in crate::plan) outs: Vec<Value>,
    /// What is made with other extents of the same rows, the number of which it is, and the instruction that gives it these.
    reshaped: Vec<(Value, usize, Inst)>,
}

impl Values {
    /// The number of what the step makes.
    fn made(&self, v: Value) -> Option<usize> {
        let reshaped = || self.reshaped.iter().find(|r| r.0 == v).map(|r| r.1);
        self.outs.iter().position(|&o| o == v).or_else(reshaped)
    }

    fn makes(&self, v: Value) -> bool {
        self.made(v).is_some()
    }

    /// Whether an instruction only gives what is made other extents of the same rows; notes it.
    pub(in crate::plan) fn reshape(&mut self, graph: &Graph, inst: Inst, rows: usize) -> bool {
        let made = reshaped(graph, inst, rows, self);
        self.reshaped.extend(made.map(|made| (graph.insts[inst].results[0], made, inst)));
        made.is_some()
    }
}

/// A step that stands for some of the first instructions of a list.
pub(in crate::plan) struct Found {
    pub(in crate::plan) step: StripStep,
    /// What it reads and makes.
    pub(in crate::plan) ins: Vec<Value>,
    pub(in crate::plan) outs: Vec<Value>,
    /// How many instructions the step stands for, with those in between.
    pub(in crate::plan) taken: usize,
    /// Those in between: those that can run before, and those that have to run behind.
    pub(in crate::plan) before: Vec<Inst>,
    pub(in crate::plan) behind: Vec<Inst>,
}

/// The step of the first instructions of `insts`; `None` where it would not pay. In a loop, parts that do not use each other
/// are taken together as well: it gains little for each, but at every round.
pub(in crate::plan) fn find(
    graph: &Graph,
    insts: &[Inst],
    uses: &Uses,
    in_loop: bool,
    options: &Options,
) -> Option<Found> {
    let least = &options.thresholds;
    let is_group = |&i: &Inst| graph.insts[i].op.is(&FUSED);
    let first = insts.iter().take(MOST_ASIDE).position(|i| !is_group(i))?;
    let head = Head::of(graph, insts[0], least);
    let of_pixels = head.as_ref().map(|head| (head.geometry.pixels(), head.geometry.pixels()));
    let (rows, unit) = of_pixels.or_else(|| matrices_of(graph, insts[first], least))?;
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
        values = Values { ins: data.operands.to_vec(), outs: data.results.to_vec(), reshaped: Vec::new() };
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
            && is_worth_it(graph, inst, rows, &values, least)
            && let Some((part, ns)) = part(graph, inst, (rows, unit), options, &mut values)
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
        if !waits && values.reshape(graph, inst, rows) {
            behind.push(inst);
        } else if waits || data.operands.iter().any(|&v| values.makes(v)) {
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
    let fewest = if head.is_some() { 1 } else { 2 };
    if !(strips.has_products() || head.is_some()) || strips.parts.len() < fewest || strips.nanoseconds < least.strip_ns
    {
        return None;
    }
    strips.set_types(graph, &values)?;
    // Extents that only parts of the step need are not given.
    for &(v, _, inst) in values.reshaped.iter().rev() {
        if behind.contains(&inst) && uses.of(graph, v) == reads.iter().filter(|&&r| r == v).count() {
            behind.retain(|&i| i != inst);
            reads.push(graph.insts[inst].operands[0]);
        }
    }
    let leaves = |v: Value| uses.of(graph, v) > reads.iter().filter(|&&r| r == v).count();
    let leaves: Vec<bool> = values.outs.iter().map(|&v| leaves(v)).collect();
    let outs = values.outs.iter().zip(&leaves).filter(|(_, leaves)| **leaves).map(|(&v, _)| v).collect();
    Some(Found { step: StripStep::new(head, strips, &leaves, least), ins: values.ins, outs, taken, before, behind })
}

/// What the step makes that an instruction only gives other extents, of the same rows.
fn reshaped(graph: &Graph, inst: Inst, rows: usize, values: &Values) -> Option<usize> {
    let data = &graph.insts[inst];
    let made = values.made(*data.operands.first()?)?;
    let known = match data.operands.len() {
        1 => data.op.is(&EXPAND_DIMS) || data.op.is(&SQUEEZE),
        _ => data.op.is(&RESHAPE) && graph.constant(data.operands[1]).is_some(),
    };
    let (from, to) = (graph.ty(data.operands[0]).shape(), graph.ty(*data.results.first()?).shape());
    let of_rows = |dims: Dims| (0..=dims.len()).any(|d| dims[..d].iter().product::<usize>() == rows);
    (known && from.num_elements()? == to.num_elements()? && of_rows(to.extents()?)).then_some(made)
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
fn is_worth_it(graph: &Graph, inst: Inst, rows: usize, values: &Values, least: &Thresholds) -> bool {
    let data = &graph.insts[inst];
    let Some((k, n)) = data.op.is(&MATMUL).then(|| right_of(graph, data)).flatten() else { return true };
    let dtype = graph.ty(data.results[0]).dtype();
    let is_large = matches!(dtype, DType::F32 | DType::F64) && graph.ty(data.operands[1]).shape().rank() == Some(2);
    let bytes = (n + if values.makes(data.operands[0]) { k } else { 0 }) * dtype.size();
    saves(product_ns(graph, data, rows), rows, bytes, if is_large { WORTH_OF_LARGE } else { WORTH }, least)
}

/// Whether a product of so many rows is short, or writing and reading so many bytes of each row takes that part of its time.
fn saves(ns: f64, rows: usize, bytes: usize, worth: f64, least: &Thresholds) -> bool {
    ns < least.strip_short_ns
        || rows >= least.strip_rows * threads() && 2.0 * (rows * bytes) as f64 * NS_PER_BYTE >= worth * ns
}

impl Head {
    /// The convolution that an instruction is, if it is one whose pixels are worth handing on: they take more than half of
    /// a strip's bytes, and would not stay in the cache.
    fn of(graph: &Graph, inst: Inst, least: &Thresholds) -> Option<Head> {
        let data = &graph.insts[inst];
        if !data.op.is(&CONV) {
            return None;
        }
        let (dtype, dims) = (graph.ty(data.results[0]).dtype(), |v: Value| graph.ty(v).shape().extents());
        if !matches!(dtype, DType::F32 | DType::F64) || dims(data.results[0])?.contains(&0) {
            return None;
        }
        let geometry = geometry(&dims(data.operands[0])?, &dims(data.operands[1])?, &data.attrs).ok()?;
        let head = Head { dtype, geometry, x: 0, filter: data.operands.len() - 1 };
        let bytes = geometry.out_channels * dtype.size();
        let leaves = geometry.groups == 1 && geometry.pixels() * bytes > least.slab_bytes / 2;
        (leaves && saves(head.nanoseconds(), geometry.pixels(), bytes, WORTH, least)).then_some(head)
    }

    /// Estimated nanoseconds of the convolution.
    fn nanoseconds(&self) -> f64 {
        self.geometry.flops() / if self.dtype == DType::F32 { f32::FLOPS_PER_NS } else { f64::FLOPS_PER_NS }
    }
}

/// The number of rows of a product by one matrix that can be made in strips.
pub(in crate::plan) fn rows_of(graph: &Graph, inst: Inst, least: &Thresholds) -> Option<usize> {
    matrices_of(graph, inst, least).filter(|(rows, unit)| rows == unit).map(|sizes| sizes.0)
}

/// The number of rows of a product that can be made in strips, and how many of them are multiplied by the same matrix.
fn matrices_of(graph: &Graph, inst: Inst, least: &Thresholds) -> Option<(usize, usize)> {
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
    (alike && unit >= least.strip_unit && rows > 0 && DTypeSet::FLOAT.contains(dtype)).then_some((rows, unit))
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
        DType::F64 => f64::FLOPS_PER_NS,
        _ => f16::FLOPS_PER_NS,
    };
    right_of(graph, data).map_or(0.0, |(k, n)| 2.0 * (rows * k * n) as f64 / flops_per_ns)
}

/// One instruction as a part of a step of so many rows and rows of a matrix, and its estimated nanoseconds; adds to what the step reads
/// and makes.
pub(in crate::plan) fn part(
    graph: &Graph,
    inst: Inst,
    (rows, unit): (usize, usize),
    options: &Options,
    values: &mut Values,
) -> Option<(Part, u64)> {
    let data = &graph.insts[inst];
    let mut ins = values.ins.clone();
    let mut place = |v: Value| match values.made(v) {
        Some(i) => Place::Out(i),
        None => Place::In(ins.iter().position(|&i| i == v).unwrap_or_else(|| {
            ins.push(v);
            ins.len() - 1
        })),
    };
    let places: SmallVec<[Place; 8]> = data.operands.iter().map(|&v| place(v)).collect();
    let out = values.outs.len();
    let (part, ns) = if data.op.is(&FUSED) {
        let program = TileProgram::new(graph, data.regions[0], options).ok()?;
        let columns = program.elements() / rows;
        let own = |&(k, p): &(usize, &Place)| matches!(p, Place::Out(_)) && !program.keeps_rows(k, rows);
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
        let own = matrices_of(graph, inst, &options.thresholds)
            .filter(|&own| own.0 == rows && (own.1 == rows || own.1 == unit))?;
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
