//! From a fused region to steps over tiles.

use penstock_data::{Dims, Error, Result};
use penstock_ir::{Cpu, Def, Graph, Inst, Region, Value};
use penstock_kernels::cost;
use penstock_kernels::fold::{BLOCK, ROWS, folds};
use penstock_ops::reduce::reduction_of;
use penstock_passes::evaluate::resolve;
use penstock_passes::rejects_elements;
use penstock_passes::space::{Class, Over, Space, Strides, work};
use penstock_passes::view::{Line, View};
use penstock_passes::{Options, Thresholds};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::runs::{self, Former};
use super::{ARITY, Act, FoldOp, Input, InputView, Layout, Location, Op, Output, Phase, TileProgram, Window};

/// Rows are computed with what is between them where that is no more than the rows themselves.
const MOST_BETWEEN: usize = 2;

impl TileProgram {
    /// Resolves the region of a `fused` instruction; where the options allow it to loops over vectors of its own, where it can.
    ///
    /// # Errors
    /// `Internal` where the region is not what `fused` says, or of unknown sizes.
    pub(crate) fn new(graph: &Graph, region: Region, options: &Options) -> Result<TileProgram> {
        // The others say where the elements of operands lie.
        let works = |i: &&Inst| work(graph, **i).is_some();
        let insts: Vec<Inst> = graph.regions[region].insts.iter().filter(works).copied().collect();
        let space = Space::of(graph, &insts).ok_or_else(|| Error::internal("a fused region does not fit together"))?;
        let compiler = Compiler::new(graph, region, insts, &space, options);
        compiler.program()
    }

    /// The program with its result in a box of a tensor of extents `dims`: for each dimension the first index, the step and
    /// the number of indices. `None` where rows of the result are not rows of the box, or are short.
    pub(crate) fn within(mut self, dims: &Dims, cuts: &[(usize, isize, usize)]) -> Option<TileProgram> {
        let columns = self.columns;
        let [phase] = &mut self.phases[..] else { return None };
        let [output] = &mut self.outputs[..] else { return None };
        if columns < self.call || !phase.folds.is_empty() || !output.full || cuts.iter().any(|cut| cut.1 < 1) {
            return None;
        }
        if !cuts.iter().map(|cut| cut.2).eq(output.dims.iter().copied()) {
            return None;
        }
        let (mut offset, mut stride, mut inner) = (0, 1, 1);
        let mut along = Line::whole(1, 1);
        let mut rows: SmallVec<[Line; 2]> = SmallVec::new();
        for (&(begin, step, count), &extent) in cuts.iter().zip(dims).rev() {
            offset += begin as isize * stride;
            let line = Line::whole(count, step * stride);
            stride *= extent as isize;
            if count == 1 {
                continue;
            }
            if inner < columns {
                along = along.within(line)?;
                inner *= count;
            } else {
                match rows.last_mut().and_then(|last| Some((last.within(line)?, last))) {
                    Some((both, last)) => *last = both,
                    None => rows.push(line),
                }
            }
        }
        rows.reverse();
        // Runs find the rows of the box themselves; for other steps each is a tile.
        for op in phase.ops.iter_mut().filter(|op| op.outs.contains(&Location::Output(0))) {
            match &mut op.act {
                Act::Run(run) => run.by_rows = true,
                _ => self.batch = 1,
            }
        }
        output.window = Some(Window { dtype: output.dtype, dims: dims.clone(), offset, rows });
        (inner == columns).then_some(self)
    }
}

/// The value of a group while it is compiled.
#[derive(Clone, Copy)]
struct Item {
    place: Location,
    /// The phase that makes it.
    phase: usize,
}

struct Compiler<'a> {
    graph: &'a Graph,
    region: Region,
    /// The instructions that compute.
    work: Vec<Inst>,
    space: &'a Space,
    least: &'a Thresholds,
    /// Whether instructions may be compiled.
    vectors: bool,
    /// Whether a tile has several rows.
    batched: bool,
    /// Whether a tile has all columns of its rows.
    whole: bool,
    /// Where rows are read where they lie: elements from one to the next, with what is between them, and how many rows lie so.
    gaps: Option<(usize, usize)>,
    items: FxHashMap<Value, Item>,
    sources: Vec<InputView>,
    /// What `Load` and `Spread` made, by value and phase.
    spread: FxHashMap<(Value, usize), Location>,
    phases: Vec<Phase>,
    /// Bytes of the widest element.
    widest: usize,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, region: Region, work: Vec<Inst>, space: &'a Space, options: &'a Options) -> Compiler<'a> {
        let (least, vectors) = (&options.thresholds, options.allows("vectors") && runs::available());
        let dtype_size = |v: &Value| graph.ty(*v).dtype().size();
        let results = work.iter().map(|&i| &graph.insts[i].results[0]);
        let widest = results.chain(&graph.regions[region].params).map(dtype_size).max().unwrap_or(1).max(1);
        let batched = space.columns() <= least.tile_short && space.rows() > 1;
        Compiler {
            graph,
            region,
            work,
            space,
            least,
            vectors,
            batched,
            whole: batched,
            gaps: None,
            items: FxHashMap::default(),
            sources: Vec::new(),
            spread: FxHashMap::default(),
            phases: vec![Phase::default()],
            widest,
        }
    }

    fn size(&self, value: Value) -> usize {
        self.graph.ty(value).dtype().size()
    }

    fn phase(&mut self, phase: usize) -> &mut Phase {
        while self.phases.len() <= phase {
            self.phases.push(Phase::default());
        }
        &mut self.phases[phase]
    }

    /// Places are numbered as values first: `slots` assigns memory.
    fn program(mut self) -> Result<TileProgram> {
        let (graph, space) = (self.graph, self.space);
        let data = &graph.regions[self.region];
        let mut inputs = Vec::with_capacity(data.params.len());
        for &param in &data.params {
            let dims = graph.ty(param).shape().extents();
            let dims = dims.ok_or_else(|| Error::internal("an operand of unknown shape"))?;
            inputs.push(Input { dtype: graph.ty(param).dtype(), dims });
        }
        for v in self.work.clone().iter().flat_map(|&i| &graph.insts[i].operands) {
            self.source(*v)?;
        }
        // Steps that walk windows row by row cost calls, copies of the windows cost time for each element.
        let windows = |s: &&InputView| matches!(&s.layout, Layout::Strided { columns, .. } if columns.step == 1);
        let copied = space.columns() * self.sources.iter().filter(windows).count();
        let in_place = self.vectors && Former::new(graph, &self.work, space, self.least.vector_row).reads_in_place();
        self.gaps = if self.batched && !in_place { self.gaps(data.results.len()) } else { None };
        self.batched &= in_place
            || self.gaps.is_some()
            || copied <= self.least.tile_call * self.work.len()
            || space.over != Over::Nothing;
        let mut outputs = Vec::with_capacity(data.results.len());
        for &v in &data.results {
            let dims = graph.ty(v).shape().extents();
            let dims = dims.ok_or_else(|| Error::internal("a result of unknown shape"))?;
            let class = space.classes.get(&v).copied();
            let made = matches!(graph.values[v].def, Def::Result(..)) && class.is_some();
            if !made || data.results.iter().filter(|&&r| r == v).count() > 1 {
                return Err(Error::internal("a fused region gives a value twice, or one that it does not make"));
            }
            outputs.push(Output { dtype: graph.ty(v).dtype(), dims, full: class == Some(Class::Full), window: None });
        }
        for (number, &inst) in self.work.clone().iter().enumerate() {
            let result = graph.insts[inst].results[0];
            let place = match data.results.iter().position(|&v| v == result) {
                Some(k) if !self.spaced() => Location::Output(k as u16),
                // A slot of its own: `slots` lets those share that are not needed at once.
                _ if space.classes[&result] == Class::Full => Location::Temp(number as u16, self.size(result) as u8),
                _ => Location::Row(number as u16, self.size(result) as u8),
            };
            let op = &graph.insts[inst];
            if let Some((reduce, _)) = reduction_of(graph, inst) {
                let x = op.operands[0];
                let phase = self.items[&x].phase;
                let src = Item { place: self.full_operand(x, phase), phase };
                let folds = folds(reduce, graph.ty(result).dtype())
                    .ok_or_else(|| Error::internal(format!("'{}' does not take the dtype", op.op.name)))?;
                self.phase(src.phase).folds.push(FoldOp { folds, src: src.place, out: place });
                self.items.insert(result, Item { place, phase: src.phase });
                continue;
            }
            let Cpu::Elementwise(function) = op.op.cpu else {
                return Err(Error::internal(format!("'{}' is in a fused region", op.op.name)));
            };
            if op.operands.len() > ARITY {
                return Err(Error::internal(format!("'{}' has more than {ARITY} operands", op.op.name)));
            }
            let f = resolve(function, op.operands.iter().map(|&v| graph.ty(v).dtype()), graph.ty(result).dtype())?;
            let full = space.classes[&result] == Class::Full;
            let mut phase = 0;
            for v in &op.operands {
                let item =
                    self.items.get(v).ok_or_else(|| Error::internal("a fused region uses a value from outside"))?;
                let of_rows = space.classes.get(v) == Some(&Class::Row);
                phase = phase.max(item.phase + usize::from(full && of_rows));
            }
            let mut ins: SmallVec<[Location; ARITY]> = SmallVec::new();
            for &v in &op.operands {
                ins.push(if full { self.full_operand(v, phase) } else { self.items[&v].place });
            }
            let made = Op { act: Act::Map(f), ins, outs: smallvec![place], origin: number as u16 };
            let stored = data.results.iter().position(|&v| v == result).filter(|_| self.spaced());
            let phase_ops = self.phase(phase);
            if full {
                phase_ops.ops.push(made);
                phase_ops.ops.extend(stored.map(|k| Op {
                    act: Act::Store,
                    ins: smallvec![place],
                    outs: smallvec![Location::Output(k as u16)],
                    origin: number as u16,
                }));
            } else {
                phase_ops.rows.push(made)
            }
            self.items.insert(result, Item { place, phase });
        }
        if self.vectors {
            let former = Former::new(graph, &self.work, space, self.least.vector_row);
            former.form(&mut self.phases, &self.sources, self.batched);
        }
        self.finish(inputs, outputs)
    }

    /// Notes where the elements of an operand from outside lie.
    fn source(&mut self, value: Value) -> Result<()> {
        let (graph, space) = (self.graph, self.space);
        if self.items.contains_key(&value) || space.classes.contains_key(&value) {
            return Ok(());
        }
        let missing = || Error::internal("a fused region uses a value from outside");
        let view = View::of(graph, value).ok_or_else(missing)?;
        let input = graph.regions[self.region].params.iter().position(|&p| p == view.base).ok_or_else(missing)?;
        let dims = graph.ty(value).shape().extents().ok_or_else(missing)?;
        let layout = if dims.iter().product::<usize>() == 1 {
            Layout::Single
        } else {
            match space.strides(graph, value) {
                Some(Strides { rows, columns, fill, .. }) => {
                    let dense = match rows[..] {
                        [] => true,
                        [line] => line.is_whole() && line.step == space.columns() as isize,
                        _ => false,
                    };
                    match fill.and_then(|v| graph.constant(v)) {
                        Some(fill) => Layout::Padded { rows, columns, fill: fill.clone() },
                        None if dense && (columns.step == 1 || space.columns() == 1) => Layout::Dense,
                        None => Layout::Strided { rows, columns },
                    }
                }
                // Elements of rows are computed with it.
                None if view.base == value => Layout::Dense,
                None => return Err(missing()),
            }
        };
        let size = graph.ty(value).dtype().size();
        let place = Location::Input(self.sources.len() as u16);
        self.sources.push(InputView { input: input as u16, size, offset: view.offset, layout });
        self.items.insert(value, Item { place, phase: 0 });
        Ok(())
    }

    /// Whether the elements of a source do not lie as those of a tile do.
    fn is_copied(&self, layout: &Layout) -> bool {
        match (layout, self.gaps) {
            (Layout::Single, _) => false,
            (Layout::Dense, _) => self.spaced(),
            (layout, Some((pitch, _))) => pitch_of(layout).is_none_or(|(own, _)| own != pitch),
            _ => true,
        }
    }

    /// Whether there is anything between the rows of a tile.
    fn spaced(&self) -> bool {
        self.gaps.is_some_and(|(pitch, _)| pitch > self.space.columns())
    }

    /// The gaps with which most operands can be read where they lie, if they are more than those that have to be copied for
    /// them, and than the results.
    fn gaps(&self, results: usize) -> Option<(usize, usize)> {
        let columns = self.space.columns();
        let fails = self.work.iter().any(|&i| rejects_elements(self.graph, i));
        if self.space.over != Over::Nothing || fails {
            return None;
        }
        let pitched: Vec<(usize, usize)> = self.sources.iter().filter_map(|s| pitch_of(&s.layout)).collect();
        let of = |pitch: usize| pitched.iter().filter(move |a| a.0 == pitch);
        let pitches = pitched.iter().map(|a| a.0).filter(|&p| columns <= p && p <= MOST_BETWEEN * columns);
        let pitch = pitches.max_by_key(|&pitch| (of(pitch).count(), pitch))?;
        let even = of(pitch).map(|a| a.1).min()?;
        let alike = of(pitch).all(|a| a.1.is_multiple_of(even) || a.1 == usize::MAX);
        let dense = self.sources.iter().filter(|s| matches!(s.layout, Layout::Dense)).count();
        let copied = if pitch > columns { dense + results } else { 0 };
        let pays = of(pitch).count() > copied && even.min(self.space.rows()) * pitch >= 2 * self.least.tile_call;
        (alike && pays).then_some((pitch, even))
    }

    /// Where a step finds an operand by row and column.
    fn full_operand(&mut self, value: Value, phase: usize) -> Location {
        let place = self.items[&value].place;
        let size = self.size(value) as u8;
        let act = match place {
            Location::Input(i) if self.is_copied(&self.sources[i as usize].layout) => Act::Load,
            _ if self.space.classes.get(&value) == Some(&Class::Row) => Act::Spread(size),
            _ => return place,
        };
        let padded = |i: u16| matches!(self.sources[i as usize].layout, Layout::Padded { .. });
        if !self.batched && !matches!(place, Location::Input(i) if padded(i)) {
            return place;
        }
        if let Some(&made) = self.spread.get(&(value, phase)) {
            return made;
        }
        // Numbered after the results of instructions.
        let out = Location::Temp((self.work.len() + self.spread.len()) as u16, size);
        self.spread.insert((value, phase), out);
        self.phase(phase).ops.push(Op { act, ins: smallvec![place], outs: smallvec![out], origin: 0 });
        out
    }

    /// Assigns slots by liveness, and sizes the tile.
    fn finish(mut self, inputs: Vec<Input>, outputs: Vec<Output>) -> Result<TileProgram> {
        let (outer, rows) = match self.space.over {
            Over::Rows { outer } => {
                let outer: usize = self.space.dims[..outer].iter().product();
                (outer, self.space.rows() / outer)
            }
            _ => (1, self.space.rows()),
        };
        let columns = self.space.columns();
        let over_rows = matches!(self.space.over, Over::Rows { .. });
        // What one phase makes and another reads needs memory for all columns, unless a tile has them.
        self.whole = self.batched || columns <= self.least.tile_elements;
        let (temps, kept) = self.slots();
        let Thresholds { tile_bytes, tile_elements, tile_piece, tile_call, .. } = *self.least;
        let room = (tile_bytes.checked_div(self.widest * temps).unwrap_or(BLOCK)).clamp(tile_elements, BLOCK);
        let tile: usize = 1 << room.ilog2();
        let (pitch, even) = self.gaps.unwrap_or((columns, usize::MAX));
        let tile = if self.batched { tile.max(pitch) } else { tile };
        let batch = if self.batched { (tile / pitch.max(1)).clamp(1, rows) } else { 1 };
        // As many rows for each tile.
        let batch = if even > batch && even < usize::MAX { even.div_ceil(even.div_ceil(batch)) } else { batch };
        let batch = if over_rows { 1 << batch.min(ROWS).ilog2() } else { batch };
        let aligned = |bytes: usize| bytes.next_multiple_of(64);
        let steps = |op: &Op| if let Act::Run(run) = &op.act { run.steps() } else { 1.0 };
        let steps: f64 = self.phases.iter().map(|p| p.ops.iter().map(steps).sum::<f64>() + p.folds.len() as f64).sum();
        let row_slots = self.row_slots();
        Ok(TileProgram {
            inputs,
            sources: self.sources,
            outputs,
            origins: self.work.iter().map(|&i| (self.graph.insts[i].op.name, self.graph.locs[i])).collect(),
            phases: self.phases,
            outer,
            rows,
            columns,
            over_rows,
            batch,
            pitch,
            even,
            tile,
            temps: (aligned(tile * self.widest), temps),
            kept: (if kept > 0 { aligned(columns.max(tile) * self.widest) } else { 0 }, kept),
            row_slots: (aligned(batch * self.widest.max(16)), row_slots),
            cost: cost::rates().element * steps,
            piece: tile_piece,
            piece_ns: self.least.piece_ns,
            call: tile_call,
        })
    }

    /// Gives temporaries of tiles slots, and those that another phase reads slots for all columns. Returns their numbers.
    fn slots(&mut self) -> (usize, usize) {
        // The last step that reads each, counted over the phases, and the phases that use it.
        let mut last: FxHashMap<u16, usize> = FxHashMap::default();
        let mut phases: FxHashMap<u16, (usize, usize)> = FxHashMap::default();
        let mut number = 0;
        for (p, phase) in self.phases.iter().enumerate() {
            let mut note = |place: &Location, number: usize| {
                if let Location::Temp(id, _) = place {
                    last.insert(*id, number);
                    phases.entry(*id).and_modify(|range| range.1 = p).or_insert((p, p));
                }
            };
            for op in &phase.ops {
                op.outs.iter().for_each(|place| note(place, number));
                op.ins.iter().for_each(|place| note(place, number));
                number += 1;
            }
            phase.folds.iter().for_each(|fold| note(&fold.src, number));
            number += 1;
        }
        let crosses = |id: u16| !self.whole && phases[&id].0 != phases[&id].1;
        let mut free: Vec<u16> = Vec::new();
        let mut count = [0u16; 2];
        let mut given: FxHashMap<u16, Location> = FxHashMap::default();
        let mut number = 0;
        for phase in &mut self.phases {
            for op in &mut phase.ops {
                let ids: SmallVec<[u16; ARITY]> = op
                    .ins
                    .iter()
                    .filter_map(|p| if let Location::Temp(id, _) = p { Some(*id) } else { None })
                    .collect();
                op.ins.iter_mut().for_each(|place| *place = renamed(*place, &given));
                for out in &mut op.outs {
                    let Location::Temp(id, size) = *out else { continue };
                    let kind = usize::from(crosses(id));
                    let again = if kind == 0 { free.pop() } else { None };
                    let slot = again.unwrap_or_else(|| {
                        count[kind] += 1;
                        count[kind] - 1
                    });
                    *out = if kind == 1 { Location::Kept(slot, size) } else { Location::Temp(slot, size) };
                    given.insert(id, *out);
                }
                // The slots of dead operands are given back after the result has one, so that no step writes where
                // it reads.
                for id in ids {
                    if last.get(&id) == Some(&number) {
                        last.remove(&id);
                        give_back(given[&id], &mut free);
                    }
                }
                number += 1;
            }
            let mut ended: SmallVec<[u16; 4]> = SmallVec::new();
            for fold in &mut phase.folds {
                if let Location::Temp(id, _) = fold.src
                    && last.get(&id) == Some(&number)
                    && !ended.contains(&id)
                {
                    ended.push(id);
                }
                fold.src = renamed(fold.src, &given);
            }
            for id in ended {
                give_back(given[&id], &mut free);
            }
            number += 1;
        }
        (count[0] as usize, count[1] as usize)
    }

    /// Numbers the slots of elements of rows. Each value has its own: they are few and small.
    fn row_slots(&mut self) -> usize {
        let mut given: FxHashMap<u16, Location> = FxHashMap::default();
        let mut name = |place: &mut Location| {
            if let Location::Row(id, size) = *place {
                let next = given.len() as u16;
                *place = *given.entry(id).or_insert(Location::Row(next, size));
            }
        };
        for phase in &mut self.phases {
            for op in phase.ops.iter_mut().chain(&mut phase.rows) {
                op.ins.iter_mut().for_each(&mut name);
                op.outs.iter_mut().for_each(&mut name);
            }
            phase.folds.iter_mut().for_each(|fold| name(&mut fold.out));
        }
        given.len()
    }
}

/// Elements from row to row of a source whose columns lie side by side, and how many rows lie so.
fn pitch_of(layout: &Layout) -> Option<(usize, usize)> {
    let Layout::Strided { rows, columns } = layout else { return None };
    let line = rows.last().filter(|_| columns.step == 1)?;
    let even = if rows.len() == 1 { usize::MAX } else { line.extent };
    Some((usize::try_from(line.step).ok()?, even))
}

fn renamed(place: Location, given: &FxHashMap<u16, Location>) -> Location {
    match place {
        Location::Temp(id, _) => given.get(&id).copied().unwrap_or(place),
        other => other,
    }
}

/// A slot for all columns is not given back: tiles of one value and of another, of other elements, would overlap.
fn give_back(place: Location, free: &mut Vec<u16>) {
    if let Location::Temp(slot, _) = place {
        free.push(slot);
    }
}
