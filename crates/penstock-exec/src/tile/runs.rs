//! Runs: instructions of a tile program that are compiled to one loop over vectors, and pass what is between them in registers.
//!
//! Instructions of which each has operations of the machine are in runs, all others stand between those: a run is as large as the
//! others let it be, and there are as few as can be.

#![expect(unsafe_code, reason = "runs generated code on tiles of raw memory")]

use penstock_data::DType;
use penstock_ir::{Graph, Inst};
use penstock_jit::vector::{self, Instruction, Machine, Operand, Region, Term, VectorLoop};
use penstock_passes::rejects_elements;
use penstock_passes::space::{Class, Space};
use penstock_passes::view::Line;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::run::{Pointers, Scratch, Tile, offset};
use super::{Act, InputView, Layout, Location, Op, Phase, TileProgram};

/// A row of fewer bytes is not worth a loop over several vectors at a time.
const SMALL: usize = 1024;

/// A compiled run.
pub(super) struct Run {
    code: VectorLoop,
    /// Whether operands, or results, lie where their rows start, so that the rows of a tile are taken one by one.
    pub(super) by_rows: bool,
}

/// What is known of a program while runs are formed.
pub(super) struct Former<'a> {
    graph: &'a Graph,
    /// The instructions that compute, by the numbers of origins.
    work: &'a [Inst],
    space: &'a Space,
    /// Bytes of the widest element that runs have, 4 or 8.
    widest: usize,
    /// The least length of a row, in vectors, to read it in place. Shorter rows are copied into a tile first.
    long: usize,
}

/// Whether there is code for vectors on this machine.
pub(super) fn available() -> bool {
    Machine::present().is_some()
}

impl<'a> Former<'a> {
    pub(super) fn new(graph: &'a Graph, work: &'a [Inst], space: &'a Space, long: usize) -> Former<'a> {
        let dtypes = work.iter().flat_map(|&i| {
            let data = &graph.insts[i];
            data.operands.iter().chain(&data.results).map(|&v| graph.ty(v).dtype())
        });
        let widest = dtypes.filter_map(vector::element_size).max().unwrap_or(4).max(4);
        Former { graph, work, space, widest, long }
    }

    /// Whether windows are read where they lie: where rows are long enough, and not much else than runs reads them.
    pub(super) fn reads_in_place(&self) -> bool {
        let long = self.space.columns() * self.widest >= self.long * Machine::present().map_or(1, Machine::vector);
        long && 2 * self.work.iter().filter(|&&i| self.instruction(i).is_some()).count() >= self.work.len()
    }

    /// Forms the runs of all phases.
    ///
    /// A tile has several rows where it is `batched`.
    pub(super) fn form(&self, phases: &mut [Phase], sources: &[InputView], batched: bool) {
        // What a phase reads that another, or an instruction on the elements of rows, made.
        let mut readers: FxHashMap<Location, FxHashSet<usize>> = FxHashMap::default();
        for (p, phase) in phases.iter().enumerate() {
            for place in phase.ops.iter().flat_map(|op| &op.ins) {
                readers.entry(*place).or_default().insert(p);
            }
        }
        for (p, phase) in phases.iter_mut().enumerate() {
            let folded: FxHashSet<Location> = phase.folds.iter().map(|f| f.src).collect();
            let kept = |place: Location| {
                matches!(place, Location::Output(_))
                    || folded.contains(&place)
                    || readers.get(&place).is_some_and(|phases| phases.iter().any(|&q| q != p))
            };
            self.phase(&mut phase.ops, sources, batched, &kept);
        }
    }

    /// An instruction as vector loops take it, where they do; its terms are still missing.
    fn instruction(&self, inst: Inst) -> Option<Instruction> {
        let data = &self.graph.insts[inst];
        let from: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| self.graph.ty(v).dtype()).collect();
        let to = self.graph.ty(data.results[0]).dtype();
        let inst = Instruction { function: data.op.function()?, to, ins: SmallVec::new() };
        vector::supports(Machine::present()?, self.widest, &inst, &from).then_some(inst)
    }

    /// Whether an instruction may stop the program.
    fn may_fail(&self, op: &Op) -> bool {
        matches!(op.act, Act::Map(_)) && rejects_elements(self.graph, self.work[op.origin as usize])
    }

    fn phase(&self, ops: &mut Vec<Op>, sources: &[InputView], batched: bool, kept: &dyn Fn(Location) -> bool) {
        let compiled = |op: &Op| match op.act {
            Act::Map(_) => self.instruction(self.work[op.origin as usize]),
            _ => None,
        };
        let insts: Vec<Option<Instruction>> = ops.iter().map(compiled).collect();
        // The first of several that fail is the one to report, so these keep their order.
        if ops.iter().filter(|op| self.may_fail(op)).count() > 1 {
            return;
        }
        let places = self.stages(ops, &insts, kept);
        let mut order: Vec<usize> = (0..ops.len()).collect();
        order.sort_by_key(|&i| places[i]);
        let mut left: Vec<Option<Op>> = std::mem::take(ops).into_iter().map(Some).collect();
        let mut uses: FxHashMap<Location, Vec<usize>> = FxHashMap::default();
        for (i, op) in left.iter().enumerate() {
            op.iter().flat_map(|op| &op.ins).for_each(|&p| uses.entry(p).or_default().push(i));
        }
        // The runs: their members, and what the copies are of that their members alone read.
        let mut runs: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for &i in order.iter().filter(|&&i| insts[i].is_some()) {
            runs.entry(places[i]).or_default().push(i);
        }
        let needed = |place: Location, members: &[usize]| {
            kept(place) || uses.get(&place).is_some_and(|users| users.iter().any(|u| !members.contains(u)))
        };
        // The copies that runs may do without.
        let in_place = batched && self.reads_in_place();
        let copies = |op: &Op| match (&op.act, op.ins[0]) {
            (Act::Load, Location::Input(s)) => !matches!(sources[s as usize].layout, Layout::Padded { .. }),
            (Act::Spread(_), _) => true,
            _ => false,
        };
        let copied: FxHashSet<Location> =
            left.iter().flatten().filter(|op| in_place && copies(op)).map(|op| op.outs[0]).collect();
        // What writes all that it makes gains nothing, unless by reading where elements lie.
        runs.retain(|_, members| {
            let ops = || members.iter().filter_map(|&i| left[i].as_ref());
            ops().any(|op| !needed(op.outs[0], members)) || ops().any(|op| op.ins.iter().any(|p| copied.contains(p)))
        });
        let in_run = |i: usize| insts[i].is_some() && runs.contains_key(&places[i]);
        let mut direct: FxHashMap<Location, (usize, Location)> = FxHashMap::default();
        for (i, op) in left.iter().enumerate() {
            let Some(op) = op else { continue };
            let out = op.outs[0];
            if copied.contains(&out)
                && !kept(out)
                && uses.get(&out).is_none_or(|users| users.iter().all(|&u| in_run(u)))
            {
                direct.insert(out, (i, op.ins[0]));
            }
        }
        let mut compiled: FxHashMap<usize, Op> = FxHashMap::default();
        for (&stage, members) in &runs {
            let needed = |place: Location| needed(place, members);
            match self.run(&left, &insts, members, sources, &direct, &needed) {
                Some(op) => _ = compiled.insert(stage, op),
                // Pointers cannot be made executable: the program stays as it was.
                None => {
                    ops.extend(left.into_iter().flatten());
                    return;
                }
            }
        }
        for (i, _) in direct.values() {
            left[*i] = None;
        }
        for i in order {
            if in_run(i) {
                ops.extend(compiled.remove(&places[i]));
            } else {
                ops.extend(left[i].take());
            }
        }
    }

    /// When each step is due: runs at odd numbers, other steps at even ones.
    fn stages(&self, ops: &[Op], insts: &[Option<Instruction>], kept: &dyn Fn(Location) -> bool) -> Vec<usize> {
        let makers: FxHashMap<Location, usize> = ops.iter().enumerate().map(|(i, op)| (op.outs[0], i)).collect();
        let mut stages: Vec<usize> = Vec::with_capacity(ops.len());
        for (i, op) in ops.iter().enumerate() {
            let simple = insts[i].is_some();
            let after = |&j: &usize| stages[j] + usize::from(simple != insts[j].is_some());
            let first = op.ins.iter().filter_map(|p| makers.get(p)).map(after).max();
            stages.push(first.unwrap_or(0).max(usize::from(simple)));
        }
        // What only later runs need is made there, unless more would have to wait in memory for it.
        let mut latest = vec![usize::MAX; ops.len()];
        for (i, op) in ops.iter().enumerate().rev() {
            let made = op.ins.iter().filter_map(|p| makers.get(p));
            let movable = insts[i].is_some() || !matches!(op.act, Act::Map(_));
            if movable && latest[i] != usize::MAX && !kept(op.outs[0]) && made.clone().count() <= 1 {
                stages[i] = stages[i].max(latest[i]);
            }
            for &j in made {
                let due = stages[i] - usize::from(insts[i].is_some() != insts[j].is_some());
                latest[j] = latest[j].min(due);
            }
        }
        stages
    }

    /// The step of a run; `needed` are results that others read.
    fn run(
        &self,
        ops: &[Option<Op>],
        insts: &[Option<Instruction>],
        members: &[usize],
        sources: &[InputView],
        direct: &FxHashMap<Location, (usize, Location)>,
        needed: &dyn Fn(Location) -> bool,
    ) -> Option<Op> {
        let mut region = Region::default();
        let mut made: FxHashMap<Location, u16> = FxHashMap::default();
        let mut read: FxHashMap<Location, u16> = FxHashMap::default();
        let (mut ins, mut outs): (SmallVec<[Location; 4]>, SmallVec<[Location; 1]>) =
            (SmallVec::new(), SmallVec::new());
        let mut by_rows = false;
        for (number, &i) in members.iter().enumerate() {
            let (op, mut inst) = (ops[i].as_ref()?, insts[i].clone()?);
            let values = &self.graph.insts[self.work[op.origin as usize]].operands;
            for (&place, &value) in op.ins.iter().zip(values) {
                inst.ins.push(match made.get(&place) {
                    Some(&k) => Term::Made(k),
                    None => Term::Operand(*read.entry(place).or_insert_with(|| {
                        let from = direct.get(&place).map_or(place, |d| d.1);
                        by_rows |= from != place;
                        let fixed = match from {
                            Location::Input(s) => match &sources[s as usize].layout {
                                Layout::Single => true,
                                Layout::Dense => false,
                                Layout::Strided { columns, .. } | Layout::Padded { columns, .. } => columns.step == 0,
                            },
                            Location::Temp(..) | Location::Kept(..) => false,
                            _ => self.space.classes.get(&value) == Some(&Class::Row),
                        };
                        region.operands.push(Operand { dtype: self.graph.ty(value).dtype(), fixed });
                        ins.push(from);
                        region.operands.len() as u16 - 1
                    })),
                });
            }
            region.insts.push(inst);
            made.insert(op.outs[0], number as u16);
            if needed(op.outs[0]) {
                region.results.push(number as u16);
                outs.push(op.outs[0]);
            }
        }
        let elements = self.space.columns() * if by_rows { 1 } else { self.space.rows() };
        region.is_small = elements * self.widest < SMALL;
        let code = VectorLoop::compile(&region, Machine::present()?, self.widest)?;
        let origin = ops[members[0]].as_ref()?.origin;
        Some(Op { act: Act::Run(Box::new(Run { code, by_rows })), ins, outs, origin })
    }
}

impl Run {
    /// How many steps cost as much.
    pub(super) fn steps(&self) -> f64 {
        self.code.cost()
    }
}

/// How the address of an operand goes from row to row.
struct Walk {
    /// Bytes.
    step: isize,
    /// Rows until it is to be found anew.
    left: usize,
}

impl TileProgram {
    /// Runs a run on a tile.
    ///
    /// # Safety
    /// As for `TileProgram::ops`, with the lanes of `ins` and the targets `outs`.
    pub(super) unsafe fn vectors(&self, run: &Run, op: &Op, memory: &Pointers<'_>, scratch: Scratch, tile: Tile) {
        let mut table: SmallVec<[*mut u8; 32]> = SmallVec::new();
        // Most windows lie side by side, so that their rows start equally far from their first.
        let mut last: (&[Line], isize) = (&[], 0);
        for &place in &op.ins {
            table.push(match place {
                Location::Input(s) if let Layout::Strided { rows, columns } = &self.sources[s as usize].layout => {
                    let InputView { input, size, offset: first, .. } = &self.sources[s as usize];
                    if last.0 != &rows[..] {
                        last = (rows, offset(rows, tile.row));
                    }
                    let start = first + last.1 + tile.column as isize * columns.step;
                    memory.ins[*input as usize].wrapping_offset(start * *size as isize).cast_mut()
                }
                // SAFETY: the caller's contract.
                place => unsafe { self.lane(place, true, memory, scratch, tile).ptr.cast_mut() },
            });
        }
        // SAFETY: the caller's contract.
        table.extend(op.outs.iter().map(|&p| unsafe { self.target(p, true, memory, scratch, tile) }));
        if !run.by_rows || tile.rows == 1 {
            // SAFETY: the caller's contract: each operand has as many elements, or the one that it was compiled for.
            unsafe { run.code.run(&mut table, self.extent(tile), 1, &[]) };
            return;
        }
        let places = || op.ins.iter().chain(&op.outs);
        let mut walks: SmallVec<[Walk; 32]> = places().map(|&p| self.walk(p, tile.row, tile.width)).collect();
        let steps: SmallVec<[isize; 32]> = walks.iter().map(|walk| walk.step).collect();
        let (mut row, end) = (tile.row, tile.row + tile.rows);
        loop {
            // As many rows as no operand is to be found anew for.
            let rows = walks.iter().fold(end - row, |rows, walk| rows.min(walk.left));
            let mut present = table.clone();
            // SAFETY: the caller's contract: each operand has rows of as many elements there, or the one for each.
            unsafe { run.code.run(&mut present, tile.width, rows, &steps) };
            row += rows;
            if row == end {
                return;
            }
            for ((at, walk), &place) in table.iter_mut().zip(&mut walks).zip(places()) {
                walk.left -= rows;
                *at = if walk.left > 0 {
                    at.wrapping_offset(walk.step * rows as isize)
                } else {
                    let tile = Tile { row, ..tile };
                    *walk = self.walk(place, row, tile.width);
                    // SAFETY: the caller's contract; inputs and results alone are found anew.
                    unsafe {
                        match place {
                            Location::Output(_) => self.target(place, true, memory, scratch, tile),
                            _ => self.lane(place, true, memory, scratch, tile).ptr.cast_mut(),
                        }
                    }
                };
            }
        }
    }

    /// How a place goes from row to row of a tile that has all columns, from a row on.
    fn walk(&self, place: Location, row: usize, width: usize) -> Walk {
        let endless = |step: usize| Walk { step: step as isize, left: usize::MAX };
        let lines = |rows: &[Line], size: usize| match rows {
            [] => endless(0),
            [line] => Walk { step: line.step * size as isize, left: usize::MAX },
            [.., line] => Walk { step: line.step * size as isize, left: line.extent - row % line.extent },
        };
        match place {
            Location::Input(s) => {
                let source = &self.sources[s as usize];
                match &source.layout {
                    Layout::Dense => endless(width * source.size),
                    Layout::Single => endless(0),
                    Layout::Strided { rows, .. } | Layout::Padded { rows, .. } => lines(rows, source.size),
                }
            }
            Location::Output(k) => {
                let output = &self.outputs[k as usize];
                let size = output.dtype.size();
                match &output.window {
                    Some(window) => lines(&window.rows, size),
                    None => endless(size * if output.full { width } else { 1 }),
                }
            }
            Location::Row(_, size) => endless(size as usize),
            Location::Temp(_, size) | Location::Kept(_, size) => endless(size as usize * width),
        }
    }
}
