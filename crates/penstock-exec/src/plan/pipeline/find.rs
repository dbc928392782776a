//! Which instructions make a pipeline.

use std::cell::OnceCell;

use penstock_data::DType;
use penstock_ir::{Graph, Inst, Rows as Mapping, Value, effects_of};
use penstock_kernels::cost;
use penstock_kernels::pool::threads;
use penstock_ops::control::CONST;
use penstock_ops::conv::CONV;
use penstock_ops::fused::FUSED;
use penstock_ops::joining::UNSTACK;
use penstock_ops::linalg::MATMUL;
use penstock_passes::{Options, Thresholds};
use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::{Draft, Drafts, Rows, convolution_ns, geometry_of, matrices_of, product_ns, right_of};
use super::layout::pipeline;
use super::{Head, Pipeline};

/// How far ahead a product is looked for, and what joins it with others.
const AHEAD: usize = 8;
/// The most instructions between two stages, constants aside: around products, and elsewhere.
const MOST_ASIDE: [usize; 2] = [8, 64];
/// The part of a long product's time that has to be saved.
const WORTH: f64 = 0.02;
/// That of one of `f32` or `f64` by a single matrix: alone it is made in larger blocks, and a pipeline takes up to a sixth longer.
const WORTH_OF_LARGE: f64 = 0.2;

/// How often each value is used.
#[derive(Default)]
struct Uses(OnceCell<FxHashMap<Value, usize>>);

impl Uses {
    fn of(&self, graph: &Graph, value: Value) -> usize {
        let counts = self.0.get_or_init(|| {
            let mut counts = FxHashMap::default();
            let mut note = |&v: &Value| *counts.entry(v).or_insert(0) += 1;
            graph.insts.iter().flat_map(|(_, data)| &data.operands).for_each(&mut note);
            graph.regions.iter().flat_map(|(_, data)| &data.results).for_each(&mut note);
            counts
        });
        counts.get(&value).copied().unwrap_or(0)
    }
}

/// A pipeline that stands for some of the first instructions of a list.
pub(in crate::plan) struct Found {
    pub(in crate::plan) step: Pipeline,
    /// What it reads and makes.
    pub(in crate::plan) ins: Vec<Value>,
    pub(in crate::plan) outs: Vec<Value>,
    /// How many instructions it stands for, with those in between.
    pub(in crate::plan) taken: usize,
    /// Those in between: those that can run before, and those that have to run behind.
    pub(in crate::plan) before: Vec<Inst>,
    pub(in crate::plan) behind: Vec<Inst>,
}

/// Finds pipelines in a graph.
pub(in crate::plan) struct Finder<'a> {
    graph: &'a Graph,
    options: &'a Options,
    uses: Uses,
    /// Instructions with which no pipeline of outermost indices starts.
    tried: FxHashSet<Inst>,
}

/// What the rows of a pipeline that starts here would be.
struct Start {
    rows: Rows,
    head: Option<Head>,
}

impl<'a> Finder<'a> {
    pub(in crate::plan) fn new(graph: &'a Graph, options: &'a Options) -> Finder<'a> {
        Finder { graph, options, uses: Uses::default(), tried: FxHashSet::default() }
    }

    /// How often a value is used.
    pub(in crate::plan) fn uses(&self, value: Value) -> usize {
        self.uses.of(self.graph, value)
    }

    /// The pipeline of the first instructions of `insts`; `None` where none would pay. In a loop, stages that do not use each other
    /// are taken together as well: it gains little for each, but at every iteration.
    pub(in crate::plan) fn find(&mut self, insts: &[Inst], in_loop: bool) -> Option<Found> {
        let first = *insts.first()?;
        let op = self.graph.insts[first].op;
        let of_images = matches!(op.rows, Mapping::Images(_));
        // Images that go through several layers save more than one layer alone.
        let layers = of_images.then(|| self.outermost(first, insts, in_loop)).flatten();
        let found = layers.or_else(|| self.product_start(insts, in_loop).and_then(|s| self.from(s, insts, in_loop)));
        let starts = op.is(&FUSED) || op.is(&UNSTACK);
        found.or_else(|| starts.then(|| self.outermost(first, insts, in_loop)).flatten())
    }

    fn outermost(&mut self, first: Inst, insts: &[Inst], in_loop: bool) -> Option<Found> {
        let start = Start { rows: Rows::Outermost, head: None };
        (!self.tried.contains(&first)).then(|| self.from(start, insts, in_loop)).flatten()
    }

    /// Where the first instructions are a convolution, or a product with groups before it.
    fn product_start(&self, insts: &[Inst], in_loop: bool) -> Option<Start> {
        let (graph, least) = (self.graph, &self.options.thresholds);
        let first = insts.iter().take(AHEAD).position(|&i| !graph.insts[i].op.is(&FUSED))?;
        if let Some(head) = Head::of(graph, insts[0], least) {
            let rows = head.geometry.pixels();
            return Some(Start { rows: Rows::Count { rows, unit: rows }, head: Some(head) });
        }
        let (rows, unit) = matrices_of(graph, insts[first], least)?;
        let feeds = |i: Inst| graph.insts[i].results.contains(&graph.insts[insts[first]].operands[0]);
        (first == 0 || in_loop || feeds(insts[0])).then_some(Start { rows: Rows::Count { rows, unit }, head: None })
    }

    fn from(&mut self, Start { rows, head }: Start, insts: &[Inst], in_loop: bool) -> Option<Found> {
        let graph = self.graph;
        let of_products = rows != Rows::Outermost;
        let mut drafts = Drafts::new(graph, rows, self.options);
        if head.is_some() {
            let data = &graph.insts[insts[0]];
            drafts.ins.extend(&data.operands);
            drafts.give(data.results[0])?;
        }
        // What those behind the step make.
        let mut late: FxHashSet<Value> = FxHashSet::default();
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        let (mut taken, mut aside, mut counted) = (0, 0, (0, 0));
        for (i, &inst) in insts.iter().enumerate().skip(usize::from(head.is_some())) {
            let data = &graph.insts[inst];
            if effects_of(graph, inst).acts() || (!data.regions.is_empty() && !data.op.is(&FUSED)) {
                break;
            }
            let waits = data.operands.iter().any(|v| late.contains(v));
            let begun = head.is_some() || !drafts.list.is_empty();
            let joins = !begun || of_products && in_loop || joins(&drafts, &insts[i..]);
            let alone = |v: &Value| self.uses.of(graph, *v) == 1;
            let takes_over = drafts.list.last().is_some_and(|last| graph.insts[last.inst].results.iter().all(alone));
            let takes = |drafts: &mut Drafts<'_>| takes_over && drafts.join_epilogue(inst) || drafts.join(inst);
            if !waits && joins && is_worth_it(&drafts, inst) && takes(&mut drafts) {
                (taken, aside, counted) = (i + 1, 0, (before.len(), behind.len()));
                continue;
            }
            if !begun {
                break;
            }
            if !waits && drafts.reshape(inst) {
                behind.push(inst);
            } else if waits || data.operands.iter().any(|&v| drafts.made(v).is_some()) {
                late.extend(&data.results);
                behind.push(inst);
            } else {
                before.push(inst);
            }
            aside += usize::from(!data.op.is(&CONST));
            if aside > MOST_ASIDE[usize::from(!of_products)] {
                break;
            }
        }
        before.truncate(counted.0);
        behind.truncate(counted.1);
        let found = self.finish(drafts, head, &mut behind);
        if found.is_none() && !of_products {
            self.tried.extend(&insts[..taken.max(1)]);
        }
        let (step, ins, outs) = found?;
        Some(Found { step, ins, outs, taken, before, behind })
    }

    /// The step of drafts, and what it reads and makes; takes from those behind it what it alone needs.
    fn finish(
        &self,
        drafts: Drafts<'_>,
        head: Option<Head>,
        behind: &mut Vec<Inst>,
    ) -> Option<(Pipeline, Vec<Value>, Vec<Value>)> {
        let (graph, least) = (self.graph, &self.options.thresholds);
        let is_product = |inst: Inst| graph.insts[inst].op.is(&MATMUL);
        let (of_products, fewest) = (drafts.rows != Rows::Outermost, if head.is_some() { 1 } else { 2 });
        let has_products = head.is_some() || drafts.list.iter().any(|draft| is_product(draft.inst));
        if drafts.list.len() < fewest && of_products || drafts.list.is_empty() || of_products && !has_products {
            return None;
        }
        // Extents that only stages need are not given.
        let mut reads: FxHashMap<Value, usize> = FxHashMap::default();
        for inst in drafts.list.iter().flat_map(Draft::insts) {
            graph.insts[inst].operands.iter().for_each(|&v| *reads.entry(v).or_default() += 1);
        }
        for &(v, inst) in drafts.reshaped.iter().rev() {
            let all = self.uses.of(graph, v) == reads.get(&v).copied().unwrap_or(0);
            if behind.contains(&inst) && all {
                behind.retain(|&i| i != inst);
                *reads.entry(graph.insts[inst].operands[0]).or_default() += 1;
            }
        }
        let leaves = |v: Value| self.uses.of(graph, v) > reads.get(&v).copied().unwrap_or(0);
        let leaves: Vec<bool> = drafts.own.iter().map(|own| leaves(own.value)).collect();
        let (ins, rows, first) = (drafts.ins.clone(), drafts.rows, drafts.list[0].rows);
        // Something has to pass between stages and not be there as a whole.
        if rows == Rows::Outermost && !leaves.contains(&false) {
            return None;
        }
        // A layer alone takes its epilogue along as a head.
        let insts = drafts.list.iter().flat_map(Draft::insts);
        if insts.filter(|&i| matches!(graph.insts[i].op.rows, Mapping::Images(_))).count() == 1 {
            return None;
        }
        let (step, outs) = pipeline(drafts, head, &leaves)?;
        let pays = match rows {
            Rows::Count { .. } => step.nanoseconds >= least.pipeline_ns,
            // Long steps that the threads cannot share evenly are better off one by one.
            Rows::Outermost => {
                let n = step.span.len();
                let even = n >= threads() || step.nanoseconds as f64 <= least.outermost_uneven_ns;
                n >= least.outermost_rows && n <= 2 * first && even
            }
        };
        pays.then_some((step, ins, outs))
    }
}

/// Whether the first of `insts` reads what the step makes, or is a product that a group joins with what it makes; or a group of
/// outermost indices.
fn joins(drafts: &Drafts<'_>, insts: &[Inst]) -> bool {
    let graph = drafts.graph;
    let reads = |inst: Inst| graph.insts[inst].operands.iter().any(|&v| drafts.made(v).is_some());
    let data = &graph.insts[insts[0]];
    let mut behind = insts[1..].iter().take(AHEAD);
    reads(insts[0])
        || drafts.rows == Rows::Outermost && (data.op.is(&FUSED) || data.op.is(&UNSTACK))
        || data.op.is(&MATMUL) && behind.any(|&i| graph.insts[i].operands.contains(&data.results[0]) && reads(i))
}

/// Whether a product is short, or takes no longer than what it saves is worth; so is all that is no product.
fn is_worth_it(drafts: &Drafts<'_>, inst: Inst) -> bool {
    let graph = drafts.graph;
    let data = &graph.insts[inst];
    let Rows::Count { rows, .. } = drafts.rows else { return true };
    let Some((k, n)) = data.op.is(&MATMUL).then(|| right_of(graph, data)).flatten() else { return true };
    let dtype = graph.ty(data.results[0]).dtype();
    let is_large = matches!(dtype, DType::F32 | DType::F64) && graph.ty(data.operands[1]).shape().rank() == Some(2);
    let bytes = (n + if drafts.made(data.operands[0]).is_some() { k } else { 0 }) * dtype.size();
    let worth = if is_large { WORTH_OF_LARGE } else { WORTH };
    saves(product_ns(graph, data, rows), rows, bytes, worth, drafts.least())
}

/// Whether a product of so many rows is short, or writing and reading so many bytes of each row takes that part of its time.
fn saves(ns: f64, rows: usize, bytes: usize, worth: f64, least: &Thresholds) -> bool {
    ns < least.short_product_ns
        || rows >= least.block_rows * threads() && 2.0 * (rows * bytes) as f64 * cost::rates().traffic >= worth * ns
}

impl Head {
    /// The convolution that an instruction is, if it is one whose pixels are worth handing on: they take more than half of
    /// a block's bytes, and would not stay in the cache.
    fn of(graph: &Graph, inst: Inst, least: &Thresholds) -> Option<Head> {
        let data = &graph.insts[inst];
        if !data.op.is(&CONV) {
            return None;
        }
        let (dtype, dims) = (graph.ty(data.results[0]).dtype(), |v: Value| graph.ty(v).shape().extents());
        if !matches!(dtype, DType::F32 | DType::F64) || dims(data.results[0])?.contains(&0) {
            return None;
        }
        let geometry = geometry_of(graph, data)?;
        let head = Head { dtype, geometry, x: 0, filter: data.operands.len() - 1 };
        let bytes = geometry.out_channels * dtype.size();
        let leaves = geometry.groups == 1 && geometry.pixels() * bytes > least.block_bytes / 2;
        (leaves && saves(head.nanoseconds(), geometry.pixels(), bytes, WORTH, least)).then_some(head)
    }

    /// Estimated nanoseconds of the convolution.
    pub(super) fn nanoseconds(&self) -> f64 {
        convolution_ns(self.dtype, &self.geometry)
    }
}
