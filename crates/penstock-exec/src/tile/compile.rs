//! From a fused region to steps over tiles.

use penstock_data::{Error, Result};
use penstock_ir::{Cpu, Def, Graph, Region, Value};
use penstock_kernels::fold::{BLOCK, ROWS, folds};
use penstock_ops::reduce::reduction_of;
use penstock_passes::evaluate::resolve;
use penstock_passes::space::{Class, Over, Space};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::{ARITY, Act, FoldOp, Input, Layout, Op, Output, Phase, Place, TileProgram};

/// Bytes of temporaries of one tile: half of a first-level data cache.
const SCRATCH: usize = 24 << 10;
/// The least elements of a tile; the most are those of a block of a reduction.
const MIN_TILE: usize = 256;
/// Rows of at most so many columns share a tile with others.
const SHORT: usize = 512;
/// Estimated nanoseconds that a step takes for an element.
const STEP_NS: f64 = 0.25;

impl TileProgram {
    /// Resolves the region of a `fused` instruction.
    ///
    /// # Errors
    /// `Internal` where the region is not what `fused` says, or of unknown sizes.
    pub(crate) fn new(graph: &Graph, region: Region) -> Result<TileProgram> {
        let insts = &graph.regions[region].insts;
        let space = Space::of(graph, insts).ok_or_else(|| Error::internal("a fused region does not fit together"))?;
        let compiler = Compiler::new(graph, region, &space)?;
        compiler.program()
    }
}

/// The value of a group while it is compiled.
#[derive(Clone, Copy)]
struct Item {
    place: Place,
    /// The phase that makes it.
    phase: usize,
}

struct Compiler<'a> {
    graph: &'a Graph,
    region: Region,
    space: &'a Space,
    /// Whether a tile has several rows.
    batched: bool,
    /// Whether a tile has all columns of its rows.
    whole: bool,
    items: FxHashMap<Value, Item>,
    /// What `Load` and `Spread` made, by value and phase.
    spread: FxHashMap<(Value, usize), Place>,
    phases: Vec<Phase>,
    /// Bytes of the widest element.
    widest: usize,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, region: Region, space: &'a Space) -> Result<Compiler<'a>> {
        let dtype_size = |v: &Value| graph.ty(*v).dtype().size();
        let data = &graph.regions[region];
        let results = data.insts.iter().map(|&i| &graph.insts[i].results[0]);
        let widest = results.chain(&data.params).map(dtype_size).max().unwrap_or(1).max(1);
        let batched = space.columns() <= SHORT && space.rows() > 1;
        Ok(Compiler {
            graph,
            region,
            space,
            batched,
            whole: batched,
            items: FxHashMap::default(),
            spread: FxHashMap::default(),
            phases: vec![Phase::default()],
            widest,
        })
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
        for (i, &param) in data.params.iter().enumerate() {
            let dims = graph.ty(param).shape().extents();
            let dims = dims.ok_or_else(|| Error::internal("an operand of unknown shape"))?;
            let layout = if dims.iter().product::<usize>() == 1 {
                Layout::Single
            } else {
                match space.strides(graph.ty(param)) {
                    Some(s) if dims != space.dims => {
                        let dense = s.advances && matches!(s.rows[..], [] | [(_, 0)]) && space.rows() == 1;
                        if dense { Layout::Dense } else { Layout::Strided { rows: s.rows, advances: s.advances } }
                    }
                    // Else elements of rows are computed with it.
                    _ => Layout::Dense,
                }
            };
            inputs.push(Input { dtype: graph.ty(param).dtype(), dims, layout });
            self.items.insert(param, Item { place: Place::Input(i as u16), phase: 0 });
        }
        let mut outputs = Vec::with_capacity(data.results.len());
        for &v in &data.results {
            let dims = graph.ty(v).shape().extents();
            let dims = dims.ok_or_else(|| Error::internal("a result of unknown shape"))?;
            let class = space.classes.get(&v).copied();
            let made = matches!(graph.values[v].def, Def::Result(..)) && class.is_some();
            if !made || data.results.iter().filter(|&&r| r == v).count() > 1 {
                return Err(Error::internal("a fused region gives a value twice, or one that it does not make"));
            }
            outputs.push(Output { dtype: graph.ty(v).dtype(), dims, full: class == Some(Class::Full) });
        }
        for (number, &inst) in data.insts.iter().enumerate() {
            let result = graph.insts[inst].results[0];
            let place = match data.results.iter().position(|&v| v == result) {
                Some(k) => Place::Output(k as u16),
                // A slot of its own: `slots` lets those share that are not needed at once.
                None if space.classes[&result] == Class::Full => Place::Temp(number as u16, self.size(result) as u8),
                None => Place::Row(number as u16, self.size(result) as u8),
            };
            let op = &graph.insts[inst];
            if let Some((reduce, _)) = reduction_of(graph, inst) {
                let src = self.items[&op.operands[0]];
                let folds = folds(reduce, graph.ty(result).dtype())
                    .ok_or_else(|| Error::internal(format!("'{}' does not take the dtype", op.op.name)))?;
                self.phase(src.phase).folds.push(FoldOp { folds, src: src.place, out: place });
                self.items.insert(result, Item { place, phase: src.phase });
                continue;
            }
            let Cpu::Elementwise(lookup) = op.op.cpu else {
                return Err(Error::internal(format!("'{}' is in a fused region", op.op.name)));
            };
            if op.operands.len() > ARITY {
                return Err(Error::internal(format!("'{}' has more than {ARITY} operands", op.op.name)));
            }
            let f = resolve(lookup, op.operands.iter().map(|&v| graph.ty(v).dtype()), &op.attrs)?;
            let full = space.classes[&result] == Class::Full;
            let mut phase = 0;
            for v in &op.operands {
                let item =
                    self.items.get(v).ok_or_else(|| Error::internal("a fused region uses a value from outside"))?;
                let of_rows = space.classes.get(v) == Some(&Class::Row);
                phase = phase.max(item.phase + usize::from(full && of_rows));
            }
            let mut ins: SmallVec<[Place; ARITY]> = SmallVec::new();
            for &v in &op.operands {
                ins.push(if full { self.full_operand(v, phase, &inputs) } else { self.items[&v].place });
            }
            let made = Op { act: Act::Map(f), ins, out: place };
            let phase_ops = self.phase(phase);
            if full {
                phase_ops.ops.push(made)
            } else {
                phase_ops.rows.push(made)
            }
            self.items.insert(result, Item { place, phase });
        }
        self.finish(inputs, outputs)
    }

    /// Where a step finds an operand by row and column.
    fn full_operand(&mut self, value: Value, phase: usize, inputs: &[Input]) -> Place {
        let place = self.items[&value].place;
        let size = self.size(value) as u8;
        let act = match place {
            Place::Input(i) if matches!(inputs[i as usize].layout, Layout::Strided { .. }) => Act::Load,
            _ if self.space.classes.get(&value) == Some(&Class::Row) => Act::Spread(size),
            _ => return place,
        };
        if !self.batched {
            return place;
        }
        if let Some(&made) = self.spread.get(&(value, phase)) {
            return made;
        }
        // Numbered after the results of instructions.
        let out = Place::Temp((self.graph.regions[self.region].insts.len() + self.spread.len()) as u16, size);
        self.spread.insert((value, phase), out);
        self.phase(phase).ops.push(Op { act, ins: smallvec![place], out });
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
        self.whole = self.batched || columns <= MIN_TILE;
        let (temps, kept) = self.slots();
        let room = (SCRATCH / (self.widest * temps.max(1))).clamp(MIN_TILE, BLOCK);
        let tile: usize = 1 << room.ilog2();
        let tile = if self.batched { tile.max(columns) } else { tile };
        let batch = if self.batched { (tile / columns).clamp(1, rows) } else { 1 };
        let batch = if over_rows { 1 << batch.min(ROWS).ilog2() } else { batch };
        let aligned = |bytes: usize| bytes.next_multiple_of(64);
        let steps: usize = self.phases.iter().map(|p| p.ops.len() + p.folds.len()).sum();
        let row_slots = self.row_slots();
        Ok(TileProgram {
            inputs,
            outputs,
            phases: self.phases,
            outer,
            rows,
            columns,
            over_rows,
            batch,
            tile,
            temps: (aligned(tile * self.widest), temps),
            kept: (if kept > 0 { aligned(columns.max(tile) * self.widest) } else { 0 }, kept),
            row_slots: (aligned(batch * self.widest.max(16)), row_slots),
            cost: STEP_NS * steps as f64,
        })
    }

    /// Gives temporaries of tiles slots, and those that another phase reads slots for all columns. Returns their numbers.
    fn slots(&mut self) -> (usize, usize) {
        // The last step that reads each, counted over the phases, and the phases that use it.
        let mut last: FxHashMap<u16, usize> = FxHashMap::default();
        let mut phases: FxHashMap<u16, (usize, usize)> = FxHashMap::default();
        let mut number = 0;
        for (p, phase) in self.phases.iter().enumerate() {
            let mut note = |place: &Place, number: usize| {
                if let Place::Temp(id, _) = place {
                    last.insert(*id, number);
                    phases.entry(*id).and_modify(|range| range.1 = p).or_insert((p, p));
                }
            };
            for op in &phase.ops {
                note(&op.out, number);
                op.ins.iter().for_each(|place| note(place, number));
                number += 1;
            }
            phase.folds.iter().for_each(|fold| note(&fold.src, number));
            number += 1;
        }
        let crosses = |id: u16| !self.whole && phases[&id].0 != phases[&id].1;
        let mut free: Vec<u16> = Vec::new();
        let mut count = [0u16; 2];
        let mut given: FxHashMap<u16, Place> = FxHashMap::default();
        let mut number = 0;
        for phase in &mut self.phases {
            for op in &mut phase.ops {
                let ids: SmallVec<[u16; ARITY]> =
                    op.ins.iter().filter_map(|p| if let Place::Temp(id, _) = p { Some(*id) } else { None }).collect();
                op.ins.iter_mut().for_each(|place| *place = renamed(*place, &given));
                if let Place::Temp(id, size) = op.out {
                    let kind = usize::from(crosses(id));
                    let again = if kind == 0 { free.pop() } else { None };
                    let slot = again.unwrap_or_else(|| {
                        count[kind] += 1;
                        count[kind] - 1
                    });
                    op.out = if kind == 1 { Place::Kept(slot, size) } else { Place::Temp(slot, size) };
                    given.insert(id, op.out);
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
                if let Place::Temp(id, _) = fold.src
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
        let mut given: FxHashMap<u16, Place> = FxHashMap::default();
        let mut name = |place: &mut Place| {
            if let Place::Row(id, size) = *place {
                let next = given.len() as u16;
                *place = *given.entry(id).or_insert(Place::Row(next, size));
            }
        };
        for phase in &mut self.phases {
            for op in phase.ops.iter_mut().chain(&mut phase.rows) {
                op.ins.iter_mut().for_each(&mut name);
                name(&mut op.out);
            }
            phase.folds.iter_mut().for_each(|fold| name(&mut fold.out));
        }
        given.len()
    }
}

fn renamed(place: Place, given: &FxHashMap<u16, Place>) -> Place {
    match place {
        Place::Temp(id, _) => given.get(&id).copied().unwrap_or(place),
        other => other,
    }
}

/// A slot for all columns is not given back: tiles of one value and of another, of other elements, would overlap.
fn give_back(place: Place, free: &mut Vec<u16>) {
    if let Place::Temp(slot, _) = place {
        free.push(slot);
    }
}
