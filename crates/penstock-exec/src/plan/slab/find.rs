//! Which instructions make a step that goes slab by slab, and what each of their parts needs of the others.

use std::cell::OnceCell;
use std::ops::Range;

use penstock_data::{DTypeSet, Dims, Tensor};
use penstock_ir::{Cpu, Graph, Inst, InstData, Region, Value, effects_of};
use penstock_kernels::pool::threads;
use penstock_ops::control::CONST;
use penstock_ops::fused::FUSED;
use penstock_ops::joining::{CONCAT, STACK, UNSTACK};
use penstock_ops::shape_ops::{PAD, paddings};
use penstock_ops::slicing::{SLICE, STRIDED_SLICE, box_of};
use penstock_passes::evaluate::resolve;
use penstock_passes::space::work;
use penstock_passes::view::View;
use penstock_passes::{Options, rejects_elements};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::{Made, Part, Place, SlabStep, Slot, Work};
use crate::tile::TileProgram;
use crate::work::{is_heavy, per_element};

/// The most instructions between two of a step, constants aside.
const MOST_ASIDE: usize = 64;
/// Estimated nanoseconds of moving a byte.
const NS_PER_BYTE: f64 = 0.1;

/// How often each value is used.
#[derive(Default)]
pub(in crate::plan) struct Uses(OnceCell<FxHashMap<Value, usize>>);

impl Uses {
    pub(in crate::plan) fn of(&self, graph: &Graph, value: Value) -> usize {
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

/// A step that stands for some of the first instructions of a list.
pub(in crate::plan) struct Found {
    pub(in crate::plan) step: SlabStep,
    /// What it reads and makes.
    pub(in crate::plan) ins: Vec<Value>,
    pub(in crate::plan) outs: Vec<Value>,
    /// How many instructions it stands for, with those in between.
    pub(in crate::plan) taken: usize,
    /// Those in between: those that can run before, and those that have to run behind.
    pub(in crate::plan) before: Vec<Inst>,
    pub(in crate::plan) behind: Vec<Inst>,
}

/// The rows of an operand that row 0 of a part reads: from the first to the last of these numbers. Row `i` reads those `i`
/// further.
type Reach = (isize, isize);

/// A part whose neighbours are not known yet.
struct Draft {
    inst: Inst,
    dims: Dims,
    ins: SmallVec<[Place; 8]>,
    /// What it reads of the step's own.
    reads: SmallVec<[(usize, Reach); 4]>,
    outs: Range<usize>,
    /// Whether all rows have to be made: they may be in error.
    whole: bool,
    /// The coordinate of row 0, about.
    origin: isize,
}

struct Own {
    value: Value,
    part: usize,
    /// Elements of a row.
    row: usize,
    /// Uses that are reads of parts.
    reads: usize,
}

struct Finder<'a> {
    graph: &'a Graph,
    options: &'a Options,
    drafts: Vec<Draft>,
    own: Vec<Own>,
    number: FxHashMap<Value, usize>,
    ins: Vec<Value>,
}

/// The step of the first instructions of `insts`; where it would not pay, the number of instructions that no such step
/// starts with.
pub(in crate::plan) fn find(graph: &Graph, insts: &[Inst], uses: &Uses, options: &Options) -> Result<Found, usize> {
    let mut finder =
        Finder { graph, options, drafts: Vec::new(), own: Vec::new(), number: FxHashMap::default(), ins: Vec::new() };
    if !insts.first().is_some_and(|&inst| starts(graph, inst) && finder.join(inst)) {
        return Err(1);
    }
    let (mut taken, mut since) = (1, 0);
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    // What those behind the step make.
    let mut late: FxHashSet<Value> = FxHashSet::default();
    let (mut counted, mut last) = ((0, 0), (0, 0));
    for (i, &inst) in insts.iter().enumerate().skip(1) {
        let data = &graph.insts[inst];
        if effects_of(graph, inst).acts() || (!data.regions.is_empty() && !data.op.is(&FUSED)) {
            break;
        }
        let waits = data.operands.iter().any(|v| late.contains(v));
        if !waits && finder.join(inst) {
            (taken, since, last) = (i + 1, 0, counted);
            continue;
        }
        if waits || data.operands.iter().any(|v| finder.number.contains_key(v)) {
            late.extend(&data.results);
            behind.push(inst);
        } else {
            before.push(inst);
        }
        counted = (before.len(), behind.len());
        since += usize::from(!data.op.is(&CONST));
        if since > MOST_ASIDE {
            break;
        }
    }
    before.truncate(last.0);
    behind.truncate(last.1);
    let (step, outs) = finder.step(uses).ok_or(taken)?;
    Ok(Found { step, ins: finder.ins, outs, taken, before, behind })
}

/// Whether a step can start with an instruction.
fn starts(graph: &Graph, inst: Inst) -> bool {
    let op = graph.insts[inst].op;
    op.is(&FUSED) || op.is(&UNSTACK)
}

/// The elements of a row.
fn row_of(dims: &[usize]) -> usize {
    dims[1..].iter().product()
}

impl Finder<'_> {
    fn extents(&self, value: Value) -> Option<Dims> {
        self.graph.ty(value).shape().extents()
    }

    /// Makes an instruction a part, if it can be one.
    fn join(&mut self, inst: Inst) -> bool {
        let data = &self.graph.insts[inst];
        let Some((reaches, whole)) = self.reaches(inst, data) else { return false };
        let Some(dims) = data.results.first().and_then(|&v| self.extents(v)).filter(|dims| !dims.contains(&0)) else {
            return false;
        };
        let alike = |dims: &Dims| match self.drafts.first() {
            Some(first) => dims[0] <= 2 * first.dims[0] && first.dims[0] <= 2 * dims[0],
            None => dims[0] >= self.options.thresholds.slab_extent,
        };
        if dims.is_empty() || !alike(&dims) {
            return false;
        }
        let mut reads: SmallVec<[(usize, Reach); 4]> = SmallVec::new();
        let mut origin = None;
        for (&v, reach) in data.operands.iter().zip(&reaches) {
            if let Some(&i) = self.number.get(&v) {
                // Rows that are read otherwise than one after the other have to be there before.
                let Some(reach) = *reach else { return false };
                reads.push((i, reach));
                let at = self.drafts[self.own[i].part].origin + (reach.0 + reach.1).div_euclid(2);
                origin.get_or_insert(at);
            }
        }
        for &(i, _) in &reads {
            self.own[i].reads += 1;
        }
        let mut ins = SmallVec::new();
        for &v in &data.operands[..reaches.len()] {
            ins.push(match self.number.get(&v) {
                Some(&i) => Place::Made(i),
                None => Place::In(self.ins.iter().position(|&i| i == v).unwrap_or_else(|| {
                    self.ins.push(v);
                    self.ins.len() - 1
                })),
            });
        }
        let outs = self.own.len()..self.own.len() + data.results.len();
        for (i, &value) in outs.clone().zip(&data.results) {
            self.number.insert(value, i);
            self.own.push(Own { value, part: self.drafts.len(), row: row_of(&dims), reads: 0 });
        }
        self.drafts.push(Draft { inst, dims, ins, reads, outs, whole, origin: origin.unwrap_or(0) });
        true
    }

    /// For each operand that is read by rows or as a whole, its reach if it is read by rows; `None` where the instruction is
    /// none that takes rows to rows. And whether all rows have to be made.
    fn reaches(&self, inst: Inst, data: &InstData) -> Option<(SmallVec<[Option<Reach>; 8]>, bool)> {
        let graph = self.graph;
        let plain = |v: &Value| DTypeSet::PLAIN.contains(graph.ty(*v).dtype());
        if !data.operands.iter().chain(&data.results).all(plain) {
            return None;
        }
        let inner = data.operands.iter().any(|v| self.number.contains_key(v));
        let here: Option<Reach> = Some((0, 0));
        let op = data.op;
        if op.is(&FUSED) {
            let region = data.regions[0];
            let of_rows = graph.regions[region].insts.iter().any(|&i| !is_map(graph, i) && work(graph, i).is_some());
            let whole = graph.regions[region].insts.iter().any(|&i| rejects_elements(graph, i));
            return (!of_rows).then(|| region_reaches(graph, region)).flatten().map(|reaches| (reaches, whole));
        }
        let from = data.operands.first().and_then(|&v| self.extents(v)).filter(|dims| !dims.is_empty());
        if let Cpu::Elementwise(_) = op.cpu {
            let dims = self.extents(data.results[0])?;
            let mut reaches = SmallVec::new();
            for &v in &data.operands {
                let own = self.extents(v)?;
                reaches.push(if own == dims { here } else { None });
                if own != dims && own.iter().any(|&d| d != 1) {
                    return None;
                }
            }
            return (inner && data.operands.len() <= 4).then(|| (reaches, rejects_elements(graph, inst)));
        }
        if op.is(&CONCAT) || op.is(&STACK) {
            let axis = axis_of(data.attrs.int(0), self.extents(data.results[0])?.len())?;
            return (inner && axis > 0).then(|| (SmallVec::from_elem(here, data.operands.len()), false));
        }
        if op.is(&UNSTACK) {
            let axis = axis_of(data.attrs.int(1), from?.len())?;
            return (axis > 0).then(|| (smallvec![here], false));
        }
        if op.is(&PAD) {
            let (before, _) = paddings(graph.constant(data.operands[1])?, from?.len()).ok()?;
            graph.constant(data.operands[2])?;
            let first = -isize::try_from(before[0]).ok()?;
            return inner.then(|| (smallvec![Some((first, first))], false));
        }
        if op.is(&STRIDED_SLICE) || op.is(&SLICE) {
            let from = from?;
            let cuts = self.cuts(data, &from)?;
            let to = self.extents(data.results[0])?;
            let (first, step, count) = cuts[0];
            let rows = to.first() == Some(&count) && row_of(&to) == cuts[1..].iter().map(|c| c.2).product::<usize>();
            let first = isize::try_from(first).ok()?;
            return (inner && step == 1 && rows).then(|| (smallvec![Some((first, first))], false));
        }
        None
    }

    fn cuts(&self, data: &InstData, from: &Dims) -> Option<SmallVec<[(usize, isize, usize); 4]>> {
        let constants: Option<SmallVec<[&Tensor; 3]>> =
            data.operands[1..].iter().map(|&v| self.graph.constant(v)).collect();
        box_of(data.op.name, from, &constants?, &data.attrs)
    }

    /// The step, and the values that leave it.
    fn step(&self, uses: &Uses) -> Option<(SlabStep, Vec<Value>)> {
        let (graph, least) = (self.graph, &self.options.thresholds);
        let leaves: Vec<bool> = self.own.iter().map(|own| uses.of(graph, own.value) > own.reads).collect();
        // What passes between parts and is not there as a whole.
        if !leaves.contains(&false) {
            return None;
        }
        let Layout { spans, origins, span } = self.layout(&leaves)?;
        if span.len() < least.slab_extent || span.len() > 2 * self.drafts[0].dims[0] {
            return None;
        }
        let most = spans.iter().map(border).max().unwrap_or(0);
        let (made, slots, outs) = self.memory(&leaves, &spans);
        let row_bytes = |&v: &Value| {
            let dims = self.extents(v).filter(|dims| !dims.is_empty());
            dims.map_or(0, |dims| row_of(&dims)) * graph.ty(v).dtype().size()
        };
        let in_rows: Vec<usize> = self.ins.iter().map(row_bytes).collect();
        let streams: usize =
            in_rows.iter().sum::<usize>() + made.iter().filter(|m| m.out.is_some()).map(|m| m.row).sum::<usize>();
        // What passes through takes part of the cache, too.
        let per_row: usize = streams / 2 + slots.iter().map(|s| s.row).sum::<usize>();
        let borders: usize = slots.iter().map(|s| s.row * s.border).sum();
        let room = least.slab_bytes.saturating_sub(borders) / per_row.max(1);
        let slab = room.max(most).clamp(1, span.len());
        let (mut ns, mut heavy_ns, mut parts) = (0.0, 0.0, Vec::with_capacity(self.drafts.len()));
        for (p, draft) in self.drafts.iter().enumerate() {
            let moved: usize = draft.outs.clone().map(|i| made[i].row).sum();
            let (work, each) = self.work(draft)?;
            ns += each + (moved * draft.dims[0]) as f64 * NS_PER_BYTE;
            heavy_ns += (row_of(&draft.dims) * draft.dims[0]) as f64 * self.per_element(draft.inst);
            let ins = match &work {
                Work::Map(_) | Work::Loop { .. } | Work::Concat { .. } => draft.ins.clone(),
                _ => smallvec![draft.ins[0]],
            };
            parts.push(Part {
                work,
                ins,
                outs: draft.outs.clone(),
                extent: draft.dims[0] as isize,
                row: row_of(&draft.dims),
                size: self.size(draft.outs.start),
                before: spans[p].0,
                after: spans[p].1,
                origin: origins[p],
            });
        }
        let chunk = least.grain(ns / span.len() as f64).max(least.slab_border * most);
        // Long steps that the threads cannot share evenly are better off one by one.
        if span.len() < threads() && ns > least.slab_uneven_ns {
            return None;
        }
        let type_of = |v: &Value| Some((graph.ty(*v).dtype(), self.extents(*v)?));
        let step = SlabStep {
            parts,
            made,
            slots,
            ins: SmallVec::new(),
            outs: SmallVec::new(),
            due: self.ins.iter().map(type_of).collect::<Option<_>>()?,
            types: outs.iter().map(type_of).collect::<Option<_>>()?,
            in_rows,
            grain: chunk.min(span.len().div_ceil(threads())),
            span,
            slab,
            nanoseconds: ns as u64,
            heavy: is_heavy(1, heavy_ns, least.heavy_ns),
        };
        Some((step, outs))
    }

    /// Which rows each part makes, from the last part to the first: those that leave the step, and those that others read.
    fn layout(&self, leaves: &[bool]) -> Option<Layout> {
        let mut spans: Vec<Option<Reach>> = vec![None; self.drafts.len()];
        let mut origins = vec![0; self.drafts.len()];
        let mut all: Option<Range<isize>> = None;
        for (p, draft) in self.drafts.iter().enumerate().rev() {
            if draft.whole || draft.outs.clone().any(|i| leaves[i]) {
                let origin = spans[p].map_or(draft.origin, |(before, _)| -before);
                origins[p] = origin;
                spans[p] = Some(joined(spans[p], (-origin, -origin)));
                let own = origin..origin + draft.dims[0] as isize;
                all = Some(all.map_or(own.clone(), |all| all.start.min(own.start)..all.end.max(own.end)));
            }
            let (before, after) = spans[p]?;
            for &(i, (low, high)) in &draft.reads {
                let producer = self.own[i].part;
                spans[producer] = Some(joined(spans[producer], (before + low, after + high)));
            }
        }
        Some(Layout { spans: spans.into_iter().collect::<Option<_>>()?, origins, span: all? })
    }

    fn size(&self, i: usize) -> usize {
        self.graph.ty(self.own[i].value).dtype().size()
    }

    /// Where results are, the slots, and the values that leave the step. Results of which rows are kept from slab to slab
    /// have slots of their own; others share them where they are not needed at once.
    fn memory(&self, leaves: &[bool], spans: &[Reach]) -> (Vec<Made>, Vec<Slot>, Vec<Value>) {
        let mut last: Vec<usize> = self.own.iter().map(|own| own.part).collect();
        for (p, draft) in self.drafts.iter().enumerate() {
            draft.reads.iter().for_each(|&(i, _)| last[i] = p);
        }
        let (mut made, mut slots, mut outs) = (Vec::with_capacity(self.own.len()), Vec::new(), Vec::new());
        let mut free: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); self.drafts.len()];
        for (p, draft) in self.drafts.iter().enumerate() {
            let border = border(&spans[p]);
            for i in draft.outs.clone() {
                let row = self.own[i].row * self.size(i);
                let out = leaves[i].then(|| {
                    outs.push(self.own[i].value);
                    outs.len() - 1
                });
                let again = free.get_mut(&row).filter(|_| border == 0 && !leaves[i]).and_then(Vec::pop);
                let slot = (border > 0 || !leaves[i]).then(|| {
                    again.unwrap_or_else(|| {
                        slots.push(Slot { row, border });
                        slots.len() - 1
                    })
                });
                if border == 0 {
                    ends[last[i]].push(i);
                }
                made.push(Made { row, slot, out });
            }
            for &i in &ends[p] {
                free.entry(made[i].row).or_default().extend(made[i].slot);
            }
        }
        (made, slots, outs)
    }

    /// What a part does, and the estimated nanoseconds of all its rows but for moving their bytes.
    fn work(&self, draft: &Draft) -> Option<(Work, f64)> {
        let graph = self.graph;
        let data = &graph.insts[draft.inst];
        let op = data.op;
        let dims = &draft.dims;
        if op.is(&FUSED) {
            let program = TileProgram::new(graph, data.regions[0], self.options).ok()?;
            let row = row_of(dims);
            let fits = program.elements() == row * dims[0] && program.splits(row);
            let ns = program.nanoseconds() as f64;
            return fits.then(|| (Work::Map(Box::new(program)), ns));
        }
        if let Cpu::Elementwise(lookup) = op.cpu {
            let dtypes = data.operands.iter().map(|&v| graph.ty(v).dtype());
            let f = resolve(lookup, dtypes, &data.attrs).ok()?;
            let steps = data.operands.iter().map(|&v| {
                let moves = self.extents(v)? == *dims;
                Some(if moves { graph.ty(v).dtype().size() } else { 0 })
            });
            return Some((Work::Loop { f, steps: steps.collect::<Option<_>>()?, name: op.name }, 0.0));
        }
        let size = graph.ty(data.operands[0]).dtype().size();
        let tail = |v: Value, axis: usize| Some(self.extents(v)?[axis..].iter().product::<usize>() * size);
        if op.is(&CONCAT) || op.is(&STACK) {
            let axis = axis_of(data.attrs.int(0), dims.len())?;
            let bytes = data.operands.iter().map(|&v| tail(v, axis)).collect::<Option<_>>()?;
            return Some((Work::Concat { bytes, outer: dims[1..axis].iter().product() }, 0.0));
        }
        let from = self.extents(data.operands[0])?;
        if op.is(&UNSTACK) {
            let axis = axis_of(data.attrs.int(1), from.len())?;
            let bytes = data.results.iter().map(|&v| tail(v, axis)).collect::<Option<_>>()?;
            return Some((Work::Split { bytes, outer: from[1..axis].iter().product() }, 0.0));
        }
        if op.is(&PAD) {
            let (mut before, mut after) = paddings(graph.constant(data.operands[1])?, from.len()).ok()?;
            let (first, rows) = (before[0], from[0]);
            (before[0], after[0]) = (0, 0);
            let fill = graph.constant(data.operands[2])?.clone();
            return Some((Work::Pad { first, rows, dims: from, before, after, fill }, 0.0));
        }
        let cuts = self.cuts(data, &from)?;
        let mut begin: Dims = cuts.iter().map(|c| c.0).collect();
        let first = std::mem::take(&mut begin[0]);
        let step = cuts.iter().map(|c| c.1).collect();
        let counts = cuts.iter().map(|c| c.2).collect();
        Some((Work::Slice { first, dims: from, begin, step, counts }, 0.0))
    }

    /// Estimated nanoseconds of an element, as for what runs apart: what is in the cache goes quicker.
    fn per_element(&self, inst: Inst) -> f64 {
        let of = |inst: Inst| match per_element(self.graph.insts[inst].op.0) {
            ns if ns > 1.0 => ns,
            ns => ns / 2.0,
        };
        let data = &self.graph.insts[inst];
        match data.regions[..] {
            [region] => self.graph.regions[region].insts.iter().map(|&i| of(i)).sum(),
            _ => of(inst),
        }
    }
}

/// Which rows parts make.
struct Layout {
    /// For coordinates from `a` to `b`, rows from `a` plus the first to `b` plus the second number.
    spans: Vec<Reach>,
    /// The coordinate of row 0, for parts of which rows leave the step.
    origins: Vec<isize>,
    /// All coordinates.
    span: Range<isize>,
}

/// How many more rows of a part there are than coordinates.
fn border(span: &Reach) -> usize {
    (span.1 - span.0) as usize
}

fn joined(span: Option<Reach>, other: Reach) -> Reach {
    span.map_or(other, |span| (span.0.min(other.0), span.1.max(other.1)))
}

fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|&axis| axis < rank)
}

fn is_map(graph: &Graph, inst: Inst) -> bool {
    matches!(graph.insts[inst].op.cpu, Cpu::Elementwise(_))
}

/// The reach of each operand of a fused region without reductions.
fn region_reaches(graph: &Graph, region: Region) -> Option<SmallVec<[Option<Reach>; 8]>> {
    let data = &graph.regions[region];
    let maps: Vec<Inst> = data.insts.iter().copied().filter(|&i| is_map(graph, i)).collect();
    let made: FxHashSet<Value> = maps.iter().map(|&i| graph.insts[i].results[0]).collect();
    let dims = work(graph, *maps.first()?).filter(|dims| !dims.is_empty())?;
    let mut reaches: SmallVec<[Option<Reach>; 8]> =
        SmallVec::from_elem(Some((isize::MAX, isize::MIN)), data.params.len());
    for v in maps.iter().flat_map(|&i| &graph.insts[i].operands).filter(|v| !made.contains(v)) {
        let view = View::of(graph, *v)?;
        let number = data.params.iter().position(|&p| p == view.base)?;
        let row = graph.ty(view.base).shape().extents()?.get(1..).map_or(1, |d| d.iter().product::<usize>()) as isize;
        // Operands of fewer dimensions stand still along the outermost one.
        let by_rows =
            row > 0 && view.lines.len() == dims.len() && view.lines[0].extent == dims[0] && view.lines[0].step == row;
        let (mut low, mut high) = (view.offset, view.offset);
        for line in view.lines.iter().skip(1).filter(|line| line.extent > 1) {
            let ends = [line.inside.0 as isize * line.step, (line.inside.1 as isize - 1) * line.step];
            low += ends[0].min(ends[1]);
            high += ends[0].max(ends[1]);
        }
        let reach = &mut reaches[number];
        *reach = reach.filter(|_| by_rows).map(|r| (r.0.min(low.div_euclid(row)), r.1.max(high.div_euclid(row))));
    }
    Some(reaches.into_iter().map(|reach| reach.filter(|r| r.0 <= r.1)).collect())
}
