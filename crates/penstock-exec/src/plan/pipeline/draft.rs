//! Instructions as stages: which rows of its operands each reads, and what it does with them.

use penstock_data::{DType, DTypeSet, Dims, Tensor};
use penstock_ir::{Cpu, Cuts, Graph, Inst, InstData, Region, Rows as Mapping, Value};
use penstock_kernels::conv::Geometry;
use penstock_kernels::cost;
use penstock_kernels::pooling::Windows;
use penstock_ops::conv::{CONV, geometry};
use penstock_ops::fused::FUSED;
use penstock_ops::linalg::MATMUL;
use penstock_ops::nn::LOG_SOFTMAX;
use penstock_ops::pooling::{AVG_POOL, MAX_POOL, windows};
use penstock_ops::shape_ops::paddings;
use penstock_passes::evaluate::resolve;
use penstock_passes::space::work;
use penstock_passes::view::View;
use penstock_passes::{Options, Thresholds, rejects_elements};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

use super::stage::{Epilogue, MOST_OPERANDS, Operand, Source, Stage, Work};
use crate::tile::TileProgram;
use crate::work::nanoseconds;

/// What the rows of a pipeline are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rows {
    /// The elements of one outermost index. Stages may have different numbers of them, and read their neighbours'.
    Outermost,
    /// The leading dimensions of every value make so many rows, and a stage makes row `i` of row `i`. Products have a right matrix for
    /// each `unit` rows.
    Count { rows: usize, unit: usize },
}

impl Rows {
    /// How many dimensions count rows; `None` for a value that has no such rows.
    fn lead(self, dims: &[usize]) -> Option<usize> {
        match self {
            Rows::Outermost => (!dims.is_empty()).then_some(1),
            Rows::Count { rows, .. } => (0..=dims.len()).find(|&d| dims[..d].iter().product::<usize>() == rows),
        }
    }
}

/// The rows of an operand that row 0 of a stage reads: from the first to the last of these numbers. Row `i` reads those `i`
/// further.
pub(super) type Reach = (isize, isize);

const HERE: Reach = (0, 0);

/// What an instruction reads.
struct Reads {
    /// For each operand of the stage its reach; `None` where it is read as a whole, or otherwise than row by row.
    reaches: SmallVec<[Option<Reach>; 8]>,
    /// The program of a fused region, where that had to be made to know.
    program: Option<TileProgram>,
}

impl Reads {
    fn of(reaches: impl IntoIterator<Item = Option<Reach>>) -> Option<Reads> {
        Some(Reads { reaches: reaches.into_iter().collect(), program: None })
    }
}

/// An instruction that becomes a stage.
pub(super) struct Draft {
    pub(super) inst: Inst,
    /// The extents of its results, the leading `lead` of which count its `rows`.
    dims: Dims,
    lead: usize,
    pub(super) rows: usize,
    ins: SmallVec<[Source; 8]>,
    /// What it reads of the pipeline's own, by number.
    pub(super) reads: SmallVec<[(usize, Reach); 4]>,
    pub(super) outs: Range<usize>,
    /// Whether all rows have to be made: they may be in error.
    pub(super) whole: bool,
    /// The coordinate of row 0, about.
    pub(super) origin: isize,
    program: Option<TileProgram>,
    /// The convolution whose pixels it takes, before its other operands, and which of its operands that makes.
    conv: Option<(Inst, usize)>,
}

impl Draft {
    /// All instructions that it stands for.
    pub(super) fn insts(&self) -> impl Iterator<Item = Inst> {
        self.conv.map(|(conv, _)| conv).into_iter().chain([self.inst])
    }
}

/// A value that stages may read, and the stage that makes it.
pub(super) struct Own {
    pub(super) value: Value,
    /// `None` for what is given.
    pub(super) stage: Option<usize>,
    /// Bytes of a row.
    pub(super) row: usize,
}

/// Instructions that become the stages of a pipeline, one after the other.
pub(super) struct Drafts<'a> {
    pub(super) graph: &'a Graph,
    pub(super) options: &'a Options,
    pub(super) rows: Rows,
    pub(super) list: Vec<Draft>,
    pub(super) own: Vec<Own>,
    number: FxHashMap<Value, usize>,
    /// Values that are the pipeline's own with other extents of the same rows, and the instructions that give them these.
    pub(super) reshaped: Vec<(Value, Inst)>,
    /// What is read.
    pub(super) ins: Vec<Value>,
}

impl<'a> Drafts<'a> {
    pub(super) fn new(graph: &'a Graph, rows: Rows, options: &'a Options) -> Drafts<'a> {
        let (list, own, reshaped, ins) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Drafts { graph, options, rows, list, own, number: FxHashMap::default(), reshaped, ins }
    }

    pub(super) fn least(&self) -> &'a Thresholds {
        &self.options.thresholds
    }

    fn extents(&self, value: Value) -> Option<Dims> {
        self.graph.ty(value).shape().extents()
    }

    /// The bytes of a row of a value, where the first `lead` dimensions count rows.
    fn row_bytes(&self, value: Value, lead: usize) -> Option<usize> {
        let dims = self.extents(value)?;
        Some(dims.get(lead..)?.iter().product::<usize>() * self.graph.ty(value).dtype().size())
    }

    /// The number of a value that the pipeline makes, maybe with other extents.
    pub(super) fn made(&self, value: Value) -> Option<usize> {
        self.number.get(&value).copied()
    }

    /// The values that stages may read, by number.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.own.iter().map(|own| own.value)
    }

    /// What stages may read as if one of them had made it.
    pub(super) fn give(&mut self, value: Value) -> Option<()> {
        let lead = self.rows.lead(&self.extents(value)?)?;
        let row = self.row_bytes(value, lead)?;
        self.number.insert(value, self.own.len());
        self.own.push(Own { value, stage: None, row });
        Some(())
    }

    /// Whether an instruction only gives what is made other extents of the same rows; notes it.
    pub(super) fn reshape(&mut self, inst: Inst) -> bool {
        let made = self.reshaped(inst);
        if let Some(made) = made {
            let result = self.graph.insts[inst].results[0];
            self.number.insert(result, made);
            self.reshaped.push((result, inst));
        }
        made.is_some()
    }

    fn reshaped(&self, inst: Inst) -> Option<usize> {
        let data = &self.graph.insts[inst];
        let made = self.made(*data.operands.first()?)?;
        let known = data.operands[1..].iter().all(|&v| self.graph.constant(v).is_some());
        if !known || !matches!(data.op.rows, Mapping::Same) {
            return None;
        }
        let (from, to) = (self.extents(data.operands[0])?, self.extents(data.results[0])?);
        let rows = |dims: &Dims| Some(dims[..self.rows.lead(dims)?].iter().product::<usize>());
        let alike = from.iter().product::<usize>() == to.iter().product::<usize>() && rows(&from)? == rows(&to)?;
        alike.then_some(made)
    }

    /// Makes an instruction a stage, if it can be one.
    pub(super) fn join(&mut self, inst: Inst) -> bool {
        self.draft(inst).is_some()
    }

    fn draft(&mut self, inst: Inst) -> Option<()> {
        let graph = self.graph;
        let data = &graph.insts[inst];
        let dims = self.extents(*data.results.first()?)?;
        let lead = self.rows.lead(&dims)?;
        if dims.contains(&0) || !self.may_stand_beside(dims[..lead].iter().product()) {
            return None;
        }
        let Reads { reaches, program } = self.reads(inst, data, &dims, lead)?;
        let mut reads: SmallVec<[(usize, Reach); 4]> = SmallVec::new();
        let mut origin = None;
        for (&v, reach) in data.operands.iter().zip(&reaches) {
            if let Some(i) = self.made(v) {
                // Rows that are read otherwise than one after the other have to be there before.
                let reach = (*reach)?;
                reads.push((i, reach));
                let producer = self.own[i].stage.map_or(0, |stage| self.list[stage].origin);
                origin.get_or_insert(producer + (reach.0 + reach.1).div_euclid(2));
            }
        }
        let mut ins = SmallVec::new();
        for &v in &data.operands[..reaches.len()] {
            ins.push(match self.made(v) {
                Some(i) => Source::Made(i),
                None => Source::In(self.ins.iter().position(|&i| i == v).unwrap_or_else(|| {
                    self.ins.push(v);
                    self.ins.len() - 1
                })),
            });
        }
        let outs = self.own.len()..self.own.len() + data.results.len();
        for (i, &value) in outs.clone().zip(&data.results) {
            let row = self.row_bytes(value, self.rows.lead(&self.extents(value)?)?)?;
            self.number.insert(value, i);
            self.own.push(Own { value, stage: Some(self.list.len()), row });
        }
        let (rows, whole) = (dims[..lead].iter().product(), self.may_fail(inst, data));
        let origin = origin.unwrap_or(0);
        self.list.push(Draft { inst, dims, lead, rows, ins, reads, outs, whole, origin, program, conv: None });
        Some(())
    }

    /// Makes a fused region the epilogue of the last draft, where that is a convolution which nothing but the region reads.
    pub(super) fn join_epilogue(&mut self, inst: Inst) -> bool {
        self.epilogue(inst).is_some()
    }

    fn epilogue(&mut self, inst: Inst) -> Option<()> {
        let graph = self.graph;
        let (data, last) = (&graph.insts[inst], self.list.last()?);
        let (conv, made) = (last.inst, &graph.insts[last.inst]);
        let value = *made.results.first()?;
        let operand = data.operands.iter().position(|&v| v == value)?;
        if !data.op.is(&FUSED) || !made.op.is(&CONV) || last.conv.is_some() {
            return None;
        }
        let geometry = geometry_of(graph, made)?;
        let program = TileProgram::new(graph, data.regions[0], self.options).ok()?;
        let takes = program.is_dense(operand) && program.splits(geometry.out_channels);
        if geometry.groups > 1 || !matches!(graph.ty(value).dtype(), DType::F32 | DType::F64) || !takes {
            return None;
        }
        // The region as a stage of its own, which reads the convolution as one.
        self.draft(inst)?;
        let mut joined = self.list.pop()?;
        let of_conv = self.list.pop()?;
        let number = of_conv.outs.start;
        joined.ins.remove(operand);
        joined.ins.insert_many(0, of_conv.ins);
        joined.reads.retain(|read| read.0 != number);
        joined.reads.extend(of_conv.reads);
        (joined.program, joined.conv) = (Some(program), Some((conv, operand)));
        // Nobody else knows the value.
        self.own.remove(number);
        self.number.remove(&value);
        joined.outs = number..number + joined.outs.len();
        for i in joined.outs.clone() {
            self.own[i].stage = Some(self.list.len());
            self.number.insert(self.own[i].value, i);
        }
        self.list.push(joined);
        Some(())
    }

    /// Whether a stage of so many rows may follow the others.
    fn may_stand_beside(&self, rows: usize) -> bool {
        match (self.rows, self.list.first()) {
            (Rows::Count { .. }, _) => true,
            (Rows::Outermost, Some(first)) => rows <= 2 * first.rows && first.rows <= 2 * rows,
            (Rows::Outermost, None) => rows >= self.least().outermost_rows,
        }
    }

    fn may_fail(&self, inst: Inst, data: &InstData) -> bool {
        match data.regions[..] {
            [region] => self.graph.regions[region].insts.iter().any(|&i| rejects_elements(self.graph, i)),
            _ => rejects_elements(self.graph, inst),
        }
    }

    /// What an instruction reads whose results have these extents; `None` where it is none that takes rows to rows.
    fn reads(&self, inst: Inst, data: &InstData, dims: &Dims, lead: usize) -> Option<Reads> {
        let graph = self.graph;
        let plain = |v: &Value| DTypeSet::PLAIN.contains(graph.ty(*v).dtype());
        if !data.operands.iter().chain(&data.results).all(plain) {
            return None;
        }
        let op = data.op;
        if let Mapping::Region = op.rows {
            return self.reads_of_region(data);
        }
        if let Mapping::Elementwise = op.rows {
            let moves = data.operands.iter().map(|&v| self.moves(v, dims, lead));
            let moves: SmallVec<[[bool; 2]; MOST_OPERANDS]> = moves.collect::<Option<_>>()?;
            let reads = || Reads::of(moves.iter().map(|&[rows, _]| rows.then_some(HERE)));
            return (data.operands.len() <= MOST_OPERANDS).then(reads).flatten();
        }
        if op.is(&MATMUL) {
            let Rows::Count { rows, unit } = self.rows else { return None };
            let (own, each) = matrices_of(graph, inst, self.least())?;
            let (k, n) = right_of(graph, data)?;
            let fits = own == rows && (each == rows || each == unit) && k * n > 0;
            return fits.then(|| Reads::of([Some(HERE), None])).flatten();
        }
        if let Mapping::Images(images) = op.rows {
            let reach = |k| images.contains(&k).then_some(HERE);
            let reaches = || Reads::of((0..data.operands.len()).map(reach));
            return (self.rows == Rows::Outermost).then(reaches).flatten();
        }
        let from = self.extents(*data.operands.first()?)?;
        let of_from = self.rows.lead(&from)?;
        let here = |fits: bool| fits.then(|| Reads::of([Some(HERE)])).flatten();
        if let Mapping::Joined(axis) = op.rows {
            let axis = axis_of(data.attrs.int(axis), dims.len())?;
            return (axis >= lead).then(|| Reads::of(data.operands.iter().map(|_| Some(HERE)))).flatten();
        }
        if let Mapping::Parted(axis) = op.rows {
            return here(axis_of(data.attrs.int(axis), from.len())? >= of_from);
        }
        if let Mapping::Line(axis) = op.rows {
            let axis = axis_of(data.attrs.int(axis), dims.len())?;
            return here(axis + 1 == dims.len() && axis >= lead);
        }
        if let Mapping::Padded = op.rows {
            let (before, after) = paddings(graph.constant(data.operands[1])?, from.len()).ok()?;
            graph.constant(data.operands[2])?;
            let first = isize::try_from(self.first_row(before[0])).ok()?;
            let around_rows = before[..of_from].iter().chain(&after[..of_from]).any(|&n| n > 0);
            let fits = self.rows == Rows::Outermost || !around_rows;
            return fits.then(|| Reads::of([Some((-first, -first))])).flatten();
        }
        if let Mapping::Box(_) = op.rows {
            let cuts = self.cuts(data, &from)?;
            let (first, step, count) = *cuts.first()?;
            let row = |dims: &[usize], lead: usize| dims[lead..].iter().product::<usize>();
            let rows = match self.rows {
                Rows::Outermost => step == 1 && dims[0] == count,
                Rows::Count { .. } => cuts[..of_from].iter().zip(&from).all(|(cut, &n)| *cut == (0, 1, n)),
            };
            let kept = row(dims, lead) == cuts[of_from..].iter().map(|cut| cut.2).product::<usize>();
            let first = isize::try_from(self.first_row(first)).ok()?;
            return (rows && kept).then(|| Reads::of([Some((first, first))])).flatten();
        }
        None
    }

    /// A number of indices of dimension 0 as one of rows: a dimension that counts them with others is not cut.
    fn first_row(&self, first: usize) -> usize {
        if self.rows == Rows::Outermost { first } else { 0 }
    }

    fn reads_of_region(&self, data: &InstData) -> Option<Reads> {
        let (graph, region) = (self.graph, data.regions[0]);
        let Rows::Count { rows, .. } = self.rows else {
            let folds = graph.regions[region].insts.iter().any(|&i| !is_map(graph, i) && work(graph, i).is_some());
            return (!folds).then(|| region_reaches(graph, region)).flatten().and_then(Reads::of);
        };
        let program = TileProgram::new(graph, region, self.options).ok()?;
        let row = program.elements() / rows;
        if program.elements() != rows * row || !program.splits(row) {
            return None;
        }
        // What is not made here is there as a whole.
        let reach = |k: usize, v: Value| (self.made(v).is_some() && program.keeps_rows(k, rows)).then_some(HERE);
        let reaches = data.operands.iter().enumerate().map(|(k, &v)| reach(k, v)).collect();
        Some(Reads { reaches, program: Some(program) })
    }

    /// Whether an operand that broadcasts to these extents has elements for each row, and for each column.
    fn moves(&self, value: Value, dims: &Dims, lead: usize) -> Option<[bool; 2]> {
        let own = self.extents(value)?;
        let missing = dims.len().checked_sub(own.len())?;
        let extent = |d: usize| if d < missing { 1 } else { own[d - missing] };
        let along = |mut range: Range<usize>| {
            let all = range.clone().all(|d| extent(d) == dims[d]);
            (all || range.all(|d| extent(d) == 1)).then_some(all)
        };
        // Where there is one row, an operand of fewer dimensions may have others of its own.
        let count = |dims: &[usize], lead: usize| dims[..lead].iter().product::<usize>();
        let same = self.rows.lead(&own).is_some_and(|own_lead| count(&own, own_lead) == count(dims, lead));
        Some([along(0..lead)? && same, along(lead..dims.len())?])
    }

    fn cuts(&self, data: &InstData, from: &Dims) -> Option<Cuts> {
        let Mapping::Box(box_of) = data.op.rows else { return None };
        let constants: Option<SmallVec<[&Tensor; 3]>> =
            data.operands[1..].iter().map(|&v| self.graph.constant(v)).collect();
        box_of(from, &constants?, &data.attrs)
    }

    /// The stages, and their estimated nanoseconds for all rows.
    pub(super) fn stages(&mut self) -> Option<(Vec<Stage>, f64)> {
        let stages = (0..self.list.len()).map(|number| self.stage(number)).collect::<Option<Vec<_>>>()?;
        let ns = stages.iter().map(|stage| stage.1).sum();
        Some((stages.into_iter().map(|stage| stage.0).collect(), ns))
    }

    fn stage(&mut self, number: usize) -> Option<(Stage, f64)> {
        let program = self.list[number].program.take();
        let draft = &self.list[number];
        let (rows, of_row) = (draft.rows, draft.dims[draft.lead..].iter().product::<usize>());
        let (work, ins) = self.work(draft, program)?;
        let out_rows: SmallVec<[usize; 2]> = draft.outs.clone().map(|i| self.own[i].row).collect();
        let moved = cost::moved((rows * out_rows.iter().sum::<usize>()) as f64, 0.0);
        let data = &self.graph.insts[draft.inst];
        let ns = match &work {
            Work::Map { program, .. } => program.nanoseconds() as f64,
            Work::Loop { .. } => cost::rates().element * data.op.cost.per_element() * (rows * of_row) as f64,
            Work::Softmax { .. } => cost::rates().exponential * (rows * of_row) as f64,
            Work::Product { .. } => product_ns(self.graph, data, rows),
            Work::Conv { dtype, geometry, epilogue } => {
                let after = epilogue.as_ref().map_or(0.0, |e| e.program.nanoseconds() as f64);
                rows as f64 * convolution_ns(*dtype, geometry) + after
            }
            Work::Pool { .. } => {
                let types = |values: &[Value]| values.iter().map(|&v| self.graph.ty(v).clone()).collect::<Vec<_>>();
                nanoseconds(&data.op, &data.attrs, &types(&data.operands), &types(&data.results))?
            }
            _ => moved,
        };
        Some((Stage { work, ins, outs: draft.outs.clone(), out_rows, loc: self.graph.locs[draft.inst] }, ns))
    }

    /// What a stage does whose rows are images.
    fn images(&self, data: &InstData) -> Option<Work> {
        let (graph, op) = (self.graph, data.op);
        let dtype = graph.ty(data.results[0]).dtype();
        if op.is(&CONV) {
            let geometry = Geometry { batch: 1, ..geometry_of(graph, data)? };
            return Some(Work::Conv { dtype, geometry, epilogue: None });
        }
        let windows = windows(&self.extents(data.operands[0])?, &data.attrs).ok()?;
        let is_pooling = op.is(&MAX_POOL) || op.is(&AVG_POOL);
        is_pooling.then(|| Work::Pool { dtype, windows: Windows { batch: 1, ..windows }, means: op.is(&AVG_POOL) })
    }

    /// What the stage of a draft does, and its operands.
    fn work(&self, draft: &Draft, program: Option<TileProgram>) -> Option<(Work, SmallVec<[Operand; 8]>)> {
        let graph = self.graph;
        let data = &graph.insts[draft.inst];
        let (op, dims, lead) = (data.op, &draft.dims, draft.lead);
        if let Some((conv, operand)) = draft.conv {
            let Work::Conv { dtype, geometry, .. } = self.images(&graph.insts[conv])? else { return None };
            let epilogue = Some(Epilogue { program: Box::new(program?), operand });
            let image = self.row_bytes(graph.insts[conv].operands[0], lead)?;
            let row = |k| if k == 0 { image } else { 0 };
            let operands = draft.ins.iter().enumerate().map(|(k, &source)| Operand { source, row: row(k) });
            return Some((Work::Conv { dtype, geometry, epilogue }, operands.collect()));
        }
        let values = || draft.ins.iter().copied().zip(data.operands.iter().copied());
        let all = |row: &dyn Fn(Value) -> Option<usize>| {
            values().map(|(source, v)| Some(Operand { source, row: row(v)? })).collect::<Option<SmallVec<[_; 8]>>>()
        };
        if op.is(&FUSED) {
            let program = match program {
                Some(program) => program,
                None => TileProgram::new(graph, data.regions[0], self.options).ok()?,
            };
            let row = program.elements() / draft.rows;
            let fits = program.elements() == row * draft.rows && program.splits(row);
            // Its program knows the rows of its operands.
            return fits.then(|| Some((Work::Map { program: Box::new(program), row }, all(&|_| Some(0))?)))?;
        }
        if let Cpu::Elementwise(function) = op.cpu {
            let dtype = |v: Value| graph.ty(v).dtype();
            let f = resolve(function, data.operands.iter().map(|&v| dtype(v)), dtype(data.results[0])).ok()?;
            let columns = dims[lead..].iter().product::<usize>();
            let size = |v: Value| graph.ty(v).dtype().size();
            let ins = data.operands.iter().map(|&v| Some((size(v), self.moves(v, dims, lead)?[1])));
            let ins = ins.collect::<Option<_>>()?;
            let operands = all(&|v| {
                let [rows, all] = self.moves(v, dims, lead)?;
                Some(if rows { size(v) * if all { columns } else { 1 } } else { 0 })
            })?;
            return Some((Work::Loop { f, columns, ins, size: size(data.results[0]), name: op.name }, operands));
        }
        if op.is(&MATMUL) {
            let (k, n) = right_of(graph, data)?;
            let (dtype, transposed) = (graph.ty(data.results[0]).dtype(), data.attrs.flag(1));
            let (own, each) = matrices_of(graph, draft.inst, self.least())?;
            let each = (each < own).then_some(each);
            let operands = all(&|v| Some(if v == data.operands[0] { k * dtype.size() } else { 0 }))?;
            return Some((Work::Product { dtype, k, n, transposed, each }, operands));
        }
        if let Mapping::Images(images) = op.rows {
            let of_images = |v: Value| images.iter().any(|&k| data.operands[k] == v);
            let operands = all(&|v| if of_images(v) { self.row_bytes(v, lead) } else { Some(0) })?;
            return Some((self.images(data)?, operands));
        }
        let from = self.extents(data.operands[0])?;
        let of_from = self.rows.lead(&from)?;
        let operands = all(&|v| self.row_bytes(v, self.rows.lead(&self.extents(v)?)?))?;
        let size = graph.ty(data.operands[0]).dtype().size();
        let parts = |values: &[Value], axis: usize| -> Option<SmallVec<[usize; 4]>> {
            values.iter().map(|&v| self.row_bytes(v, axis)).collect()
        };
        // A box of rows has one dimension that counts them.
        let by_rows =
            |rows: usize, inner: &[usize]| std::iter::once(rows).chain(inner.iter().copied()).collect::<Dims>();
        let work = if let Mapping::Joined(axis) = op.rows {
            let axis = axis_of(data.attrs.int(axis), dims.len())?;
            Work::Concat { bytes: parts(&data.operands, axis)?, outer: dims[lead..axis].iter().product() }
        } else if let Mapping::Parted(axis) = op.rows {
            let axis = axis_of(data.attrs.int(axis), from.len())?;
            Work::Split { bytes: parts(&data.results, axis)?, outer: from[of_from..axis].iter().product() }
        } else if let Mapping::Line(_) = op.rows {
            let (dtype, columns) = (graph.ty(data.results[0]).dtype(), *dims.last()?);
            let count = dims[lead..].iter().product::<usize>() / columns;
            Work::Softmax { dtype, columns, count, log: op.is(&LOG_SOFTMAX) }
        } else if let Mapping::Padded = op.rows {
            let (before, after) = paddings(graph.constant(data.operands[1])?, from.len()).ok()?;
            let (first, rows) = (self.first_row(before[0]), from[..of_from].iter().product());
            let (before, after) = (by_rows(0, &before[of_from..]), by_rows(0, &after[of_from..]));
            let fill = graph.constant(data.operands[2])?.clone();
            Work::Pad { first, rows, dims: by_rows(rows, &from[of_from..]), before, after, fill }
        } else {
            let cuts = self.cuts(data, &from)?;
            let inner = &cuts[of_from..];
            let rows = from[..of_from].iter().product();
            Work::Slice {
                size,
                first: self.first_row(cuts[0].0),
                dims: by_rows(rows, &from[of_from..]),
                begin: std::iter::once(0).chain(inner.iter().map(|cut| cut.0)).collect(),
                step: std::iter::once(1).chain(inner.iter().map(|cut| cut.1)).collect(),
                counts: std::iter::once(draft.rows).chain(inner.iter().map(|cut| cut.2)).collect(),
            }
        };
        let operands = match work {
            Work::Concat { .. } => operands,
            _ => smallvec![operands[0]],
        };
        Some((work, operands))
    }
}

/// The sizes of a convolution whose operands have known extents.
pub(super) fn geometry_of(graph: &Graph, data: &InstData) -> Option<Geometry> {
    let dims = |v: Value| graph.ty(v).shape().extents();
    geometry(&dims(data.operands[0])?, &dims(data.operands[1])?, &data.attrs).ok()
}

/// Estimated nanoseconds of a convolution.
pub(super) fn convolution_ns(dtype: DType, geometry: &Geometry) -> f64 {
    cost::product(dtype, geometry.flops() / 2.0)
}

/// The number of rows of a product that can be a stage, and how many of them are multiplied by the same matrix.
pub(super) fn matrices_of(graph: &Graph, inst: Inst, least: &Thresholds) -> Option<(usize, usize)> {
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
    (alike && unit >= least.product_rows && rows > 0 && DTypeSet::FLOAT.contains(dtype)).then_some((rows, unit))
}

/// The sizes of the right matrices of a product, as they enter it.
pub(super) fn right_of(graph: &Graph, data: &InstData) -> Option<(usize, usize)> {
    let dims = graph.ty(data.operands[1]).shape().extents()?;
    let (_, &[rows, columns]) = dims.split_last_chunk::<2>()?;
    Some(if data.attrs.flag(1) { (columns, rows) } else { (rows, columns) })
}

/// Estimated nanoseconds of a product of so many rows.
pub(super) fn product_ns(graph: &Graph, data: &InstData, rows: usize) -> f64 {
    let dtype = graph.ty(data.results[0]).dtype();
    right_of(graph, data).map_or(0.0, |(k, n)| cost::product(dtype, (rows * k * n) as f64))
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
