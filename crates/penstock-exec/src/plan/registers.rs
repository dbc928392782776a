//! Which values share a register, by liveness over the list of steps.
//!
//! Step `i` reads at position `2i` and writes at `2i + 1`; what it reads until it is done is read at
//! `2i + 1` too. A value is live over intervals of positions; values that are never live at the same position may share
//! a register.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_data::{Error, Result};
use penstock_passes::Thresholds;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::frame::Reg;
use super::lower::{Loop, Lowered};
use super::step::{AssignStep, Change, Role, Step};
use super::{FramePool, Kind, Output, Plan};

type Position = u32;
type Interval = (Position, Position);

/// Puts values into registers.
pub(super) fn assign(mut code: Lowered, thresholds: Thresholds) -> Result<Plan> {
    let live = Liveness::of(&mut code);
    let classes = coalesce(&code, &live);
    let mut registers = allocate(&code, &live, &classes);
    let steps = std::mem::take(&mut code.steps);
    let origins = std::mem::take(&mut code.origins);
    finish(code, steps, origins, &live, &mut registers, thresholds)
}

/// Where each value is live.
struct Liveness {
    intervals: Vec<SmallVec<[Interval; 2]>>,
    /// Moves out of lists that are live only in other branches, by step and value. To leave such a list behind would make
    /// the operator that changes it copy it.
    last_moves: FxHashSet<(usize, Reg)>,
}

impl Liveness {
    fn of(code: &mut Lowered) -> Liveness {
        let count = code.kinds.len();
        let mut reads: Vec<Vec<Position>> = vec![Vec::new(); count];
        let mut writes: Vec<SmallVec<[Position; 2]>> = vec![SmallVec::new(); count];
        for (i, step) in code.steps.iter_mut().enumerate() {
            let at = 2 * i as Position;
            step.registers(&mut |r, role| match role {
                // A snapshot shares its memory, which cannot be written: nothing is gained by taking its place.
                Role::Read if code.snapshots[*r as usize].is_none() => reads[*r as usize].push(at),
                Role::Read | Role::ReadLate => reads[*r as usize].push(at + 1),
                Role::Write => writes[*r as usize].push(at + 1),
            });
        }
        let end = 2 * code.steps.len() as Position;
        for &r in &code.outputs {
            reads[r as usize].push(end);
        }
        let mut loop_of: Vec<Option<&Loop>> = vec![None; count];
        for l in &code.loops {
            for &v in &l.variables {
                loop_of[v as usize] = Some(l);
            }
        }
        let intervals = (0..count)
            .map(|v| match (loop_of[v], &writes[v][..]) {
                (_, []) => SmallVec::new(),
                (Some(l), all) => loop_variable(&code.loops, l, all, &reads[v]),
                (None, [first @ .., last]) => {
                    let to = last_read(&code.loops, *last, &reads[v]);
                    first.iter().map(|&w| (w, w)).chain([(*last, to)]).collect()
                }
            })
            .collect();
        let mut live = Liveness { intervals, last_moves: FxHashSet::default() };
        live.last_moves = live.moves_on_dead_paths(code);
        live
    }

    /// The moves of lists after which, on every path that the steps take, the value is not read before it is written.
    fn moves_on_dead_paths(&self, code: &mut Lowered) -> FxHashSet<(usize, Reg)> {
        let mut doubtful: Vec<(usize, Reg)> = Vec::new();
        for (i, step) in code.steps.iter().enumerate() {
            let Step::Moves(moves) = step else { continue };
            let again = |r: Reg| code.lists[r as usize] && self.is_live(r, 2 * i as Position + 1);
            doubtful.extend(moves.iter().filter(|m| again(m.0)).map(|m| (i, m.0)));
        }
        if doubtful.is_empty() {
            return FxHashSet::default();
        }
        // For each of these lists, the steps that read it, and those that write it.
        let lists: FxHashSet<Reg> = doubtful.iter().map(|d| d.1).collect();
        let mut reads: FxHashMap<Reg, Vec<usize>> = FxHashMap::default();
        let mut writes: FxHashSet<(Reg, usize)> = FxHashSet::default();
        let mut next: Vec<SmallVec<[usize; 2]>> = Vec::with_capacity(code.steps.len());
        let mut previous: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); code.steps.len() + 1];
        for (i, step) in code.steps.iter_mut().enumerate() {
            step.registers(&mut |r, role| match role {
                _ if !lists.contains(r) => {}
                Role::Write => _ = writes.insert((*r, i)),
                Role::Read | Role::ReadLate => reads.entry(*r).or_default().push(i),
            });
            let mut to: SmallVec<[usize; 2]> = SmallVec::new();
            if !matches!(step, Step::Jump(_) | Step::Back { .. } | Step::Switch { .. }) {
                to.push(i + 1);
            }
            step.targets(&mut |t| to.push(*t as usize));
            to.iter().for_each(|&t| previous[t].push(i));
            next.push(to);
        }
        // The steps in front of which a list is live: backward from those that read it.
        let mut live: FxHashMap<Reg, FxHashSet<usize>> = FxHashMap::default();
        for &list in &lists {
            let mut stack = reads.remove(&list).unwrap_or_default();
            stack.extend(code.outputs.contains(&list).then_some(code.steps.len()));
            let mut seen: FxHashSet<usize> = FxHashSet::default();
            while let Some(i) = stack.pop() {
                if seen.insert(i) {
                    stack.extend(previous[i].iter().copied().filter(|&p| !writes.contains(&(list, p))));
                }
            }
            live.insert(list, seen);
        }
        doubtful.into_iter().filter(|(i, list)| !next[*i].iter().any(|to| live[list].contains(to))).collect()
    }

    fn is_live(&self, value: Reg, at: Position) -> bool {
        self.intervals[value as usize].iter().any(|&(a, b)| a <= at && at <= b)
    }
}

fn contains(l: &Loop, at: Position) -> bool {
    (2 * l.head..=2 * l.back + 1).contains(&at)
}

/// Until when a value that is written at `from` lives for a read at `at`: to the end of the
/// outermost loop that reads it again and does not write it again.
fn extended(loops: &[Loop], from: Position, at: Position) -> Position {
    let ends = loops.iter().filter(|l| contains(l, at) && !contains(l, from)).map(|l| 2 * l.back + 1);
    ends.max().unwrap_or(at).max(at)
}

fn last_read(loops: &[Loop], from: Position, reads: &[Position]) -> Position {
    reads.iter().map(|&at| extended(loops, from, at)).max().unwrap_or(from).max(from)
}

/// A loop variable is live from the entry to its last read of an iteration, at least to the branch out of
/// the loop; and from its next value on, over the jump back, as well as after the loop.
fn loop_variable(loops: &[Loop], l: &Loop, writes: &[Position], reads: &[Position]) -> SmallVec<[Interval; 2]> {
    let entry = 2 * l.entry + 1;
    let inside: SmallVec<[Position; 8]> = reads.iter().copied().filter(|&at| contains(l, at)).collect();
    let after: SmallVec<[Position; 8]> = reads.iter().copied().filter(|&at| !contains(l, at)).collect();
    let end = last_read(loops, entry, &after).max(2 * l.back + 1);
    match writes.iter().find(|&&w| w != entry) {
        None => smallvec![(entry, end)],
        Some(&next) => {
            let iteration = last_read(loops, 2 * l.head, &inside).max(2 * l.exit + 1);
            smallvec![(entry, iteration), (next, end)]
        }
    }
}

/// For each value, the value that stands for its class: moved values join what they are moved to,
/// where they are not live at the same time.
fn coalesce(code: &Lowered, live: &Liveness) -> Vec<Reg> {
    let mut leader: Vec<Reg> = (0..code.kinds.len() as Reg).collect();
    let mut intervals = live.intervals.clone();
    for step in &code.steps {
        let Step::Moves(moves) = step else { continue };
        for &(from, to) in moves {
            let (a, b) = (find(&mut leader, from), find(&mut leader, to));
            let kind = &code.kinds[a as usize];
            let fixed = matches!(kind, Kind::Constant | Kind::Argument);
            let snapshot = code.snapshots[from as usize].is_some();
            if a == b || fixed || snapshot || *kind != code.kinds[b as usize] {
                continue;
            }
            let apart =
                intervals[a as usize].iter().all(|x| intervals[b as usize].iter().all(|y| x.1 < y.0 || y.1 < x.0));
            if apart {
                let joined = std::mem::take(&mut intervals[a as usize]);
                intervals[b as usize].extend(joined);
                leader[a as usize] = b;
            }
        }
    }
    (0..code.kinds.len() as Reg).map(|v| find(&mut leader, v)).collect()
}

fn find(leader: &mut [Reg], value: Reg) -> Reg {
    let mut v = value;
    while leader[v as usize] != v {
        leader[v as usize] = leader[leader[v as usize] as usize];
        v = leader[v as usize];
    }
    v
}

struct Registers {
    /// The register of each value.
    of: Vec<Reg>,
    kinds: Vec<Kind>,
    /// The values of each register.
    holds: Vec<Vec<Reg>>,
}

impl Registers {
    fn fresh(&mut self, kind: Kind) -> Reg {
        self.kinds.push(kind);
        self.holds.push(Vec::new());
        self.kinds.len() as Reg - 1
    }
}

/// A linear scan over the classes by the start of their hull.
fn allocate(code: &Lowered, live: &Liveness, classes: &[Reg]) -> Registers {
    let count = code.kinds.len();
    let mut hulls: Vec<Option<Interval>> = vec![None; count];
    for v in 0..count {
        for &(a, b) in &live.intervals[v] {
            let hull = hulls[classes[v] as usize].get_or_insert((a, b));
            *hull = (hull.0.min(a), hull.1.max(b));
        }
    }
    let mut order: Vec<(Interval, usize)> = hulls.iter().enumerate().filter_map(|(v, h)| Some(((*h)?, v))).collect();
    order.sort_unstable();
    let mut registers = Registers { of: vec![Reg::MAX; count], kinds: Vec::new(), holds: Vec::new() };
    // Constants and arguments have registers of their own; they are never written by a step.
    for v in 0..count {
        if matches!(code.kinds[v], Kind::Constant | Kind::Argument) {
            registers.of[v] = registers.fresh(code.kinds[v].clone());
        }
    }
    let mut busy: FxHashMap<&Kind, BinaryHeap<Reverse<(Position, Reg)>>> = FxHashMap::default();
    let mut free: FxHashMap<&Kind, Vec<Reg>> = FxHashMap::default();
    for ((start, end), class) in order {
        let kind = &code.kinds[class];
        let (busy, free) = (busy.entry(kind).or_default(), free.entry(kind).or_default());
        while let Some(&Reverse((until, reg))) = busy.peek()
            && until < start
        {
            busy.pop();
            free.push(reg);
        }
        // The register that was freed last is warm in the cache, and may be that of an operand that dies here.
        let reg = free.pop().unwrap_or_else(|| registers.fresh(kind.clone()));
        busy.push(Reverse((end, reg)));
        registers.of[class] = reg;
    }
    for (v, &class) in classes.iter().enumerate() {
        registers.of[v] = registers.of[class as usize];
        if let Some(values) = registers.holds.get_mut(registers.of[v] as usize) {
            values.push(v as Reg);
        }
    }
    registers
}

fn finish(
    code: Lowered,
    steps: Vec<Step>,
    origins: Vec<(&'static str, penstock_data::Loc)>,
    live: &Liveness,
    registers: &mut Registers,
    thresholds: Thresholds,
) -> Result<Plan> {
    let mut sweep: FxHashSet<Reg> = FxHashSet::default();
    let mut out_steps: Vec<Step> = Vec::with_capacity(steps.len());
    let mut out_origins = Vec::with_capacity(steps.len());
    let mut places = Vec::with_capacity(steps.len() + 1);
    for (i, (mut step, origin)) in steps.into_iter().zip(origins).enumerate() {
        places.push(out_steps.len() as u32);
        let after = 2 * i as Position + 1;
        if let Step::Assign(s) = &step
            && let AssignStep { change: Change::Value | Change::By(..), ins, .. } = &**s
        {
            sweep.extend(ins.iter().map(|&r| registers.of[r as usize]));
        }
        if let Some((variable, list)) = step.release() {
            let snapshots = (0..code.snapshots.len()).filter(|&v| code.snapshots[v] == Some(variable));
            let dead = |reg: &Reg| {
                registers.holds.get(*reg as usize).is_some_and(|vs| !vs.iter().any(|&v| live.is_live(v, after)))
            };
            list.extend(snapshots.map(|v| registers.of[v]).filter(dead));
            list.sort_unstable();
            list.dedup();
        }
        if step.may_share() {
            step.registers(&mut |r, _| {
                sweep.insert(registers.of[*r as usize]);
            });
        }
        if let Step::Moves(moves) = step {
            for step in sequence(&code, live, registers, &moves, after) {
                out_steps.push(step);
                out_origins.push(origin);
            }
            continue;
        }
        step.registers(&mut |r, _| *r = registers.of[*r as usize]);
        out_steps.push(step);
        out_origins.push(origin);
    }
    places.push(out_steps.len() as u32);
    for step in &mut out_steps {
        step.targets(&mut |t| *t = places[*t as usize]);
    }
    let mut cost = Some(0);
    for step in &out_steps {
        cost = match step {
            Step::Back { .. } => None,
            _ => cost.zip(step.cost()).map(|(a, b)| a + b),
        };
    }
    let outputs: Vec<Reg> = code.outputs.iter().map(|&v| registers.of[v as usize]).collect();
    let uses = counts(outputs.iter().copied());
    let outputs: Vec<Output> = outputs
        .iter()
        .map(|&reg| {
            let once = uses[&reg] == 1;
            let kind = registers.kinds.get(reg as usize);
            let take = once && matches!(kind, Some(Kind::Bytes(_) | Kind::Any));
            if !take {
                sweep.insert(reg);
            }
            Output { reg, take }
        })
        .collect();
    let written = |reg: &Reg| matches!(registers.kinds.get(*reg as usize), Some(Kind::Bytes(_) | Kind::Any));
    let mut sweep: Vec<Reg> = sweep.into_iter().filter(written).collect();
    sweep.sort_unstable();
    let planned_bytes = registers.kinds.iter().map(|k| if let Kind::Bytes(n) = k { *n } else { 0 }).sum();
    let count = registers.kinds.len() as Reg;
    let len = out_steps.len() as u32;
    let mut sound = outputs.iter().all(|o| o.reg < count);
    // An argument that nobody reads need not be there.
    let mut read: FxHashSet<Reg> = outputs.iter().map(|o| o.reg).collect();
    for step in &mut out_steps {
        step.registers(&mut |r, _| {
            sound &= *r < count;
            read.insert(*r);
        });
        step.targets(&mut |t| sound &= *t <= len);
    }
    if !sound {
        return Err(Error::internal("a step names a register or a step that is not there"));
    }
    Ok(Plan {
        steps: out_steps,
        origins: out_origins,
        tellings: std::sync::OnceLock::default(),
        pace: std::sync::Arc::default(),
        constants: code.constants.iter().map(|(v, t)| (registers.of[*v as usize], t.clone())).collect(),
        arguments: code
            .arguments
            .iter()
            .map(|&(v, i)| (registers.of[v as usize], i))
            .filter(|a| read.contains(&a.0))
            .collect(),
        kinds: std::mem::take(&mut registers.kinds),
        outputs,
        sweep,
        cost,
        planned_bytes,
        loops: code.loops.len(),
        thresholds,
        recorder: None,
        frames: FramePool::default(),
    })
}

/// How often each register comes.
fn counts(registers: impl Iterator<Item = Reg>) -> FxHashMap<Reg, usize> {
    let mut counts = FxHashMap::default();
    registers.for_each(|reg| *counts.entry(reg).or_default() += 1);
    counts
}

/// Moves that happen at once, one after the other.
fn sequence(
    code: &Lowered,
    live: &Liveness,
    registers: &mut Registers,
    moves: &[(Reg, Reg)],
    after: Position,
) -> Vec<Step> {
    struct Move {
        from: Reg,
        to: Reg,
        /// Whether what `from` holds is of no use afterwards.
        last: bool,
    }
    let uses = counts(moves.iter().map(|m| m.0));
    let mut pending: Vec<Move> = moves
        .iter()
        .map(|&(from, to)| {
            let fixed = matches!(code.kinds[from as usize], Kind::Constant | Kind::Argument);
            let once = uses[&from] == 1;
            Move {
                from: registers.of[from as usize],
                to: registers.of[to as usize],
                last: !fixed
                    && once
                    && (!live.is_live(from, after) || live.last_moves.contains(&(after as usize / 2, from))),
            }
        })
        .filter(|m| m.from != m.to)
        .collect();
    let mut steps = Vec::with_capacity(pending.len());
    while !pending.is_empty() {
        let next = (0..pending.len()).find(|&i| {
            let to = pending[i].to;
            pending.iter().enumerate().all(|(j, other)| j == i || other.from != to)
        });
        match next {
            Some(i) => {
                let Move { from, to, last } = pending.swap_remove(i);
                let same_kind = registers.kinds[from as usize] == registers.kinds[to as usize];
                steps.push(if last && same_kind { Step::Swap(from, to) } else { Step::Copy { from, out: to } });
            }
            None => {
                // A circle: what the first move overwrites is put aside.
                let to = pending[0].to;
                let aside = registers.fresh(registers.kinds[to as usize].clone());
                steps.push(Step::Swap(to, aside));
                for m in pending.iter_mut().filter(|m| m.from == to) {
                    m.from = aside;
                    m.last = moves.iter().filter(|x| registers.of[x.0 as usize] == to).count() == 1;
                }
            }
        }
    }
    steps
}
