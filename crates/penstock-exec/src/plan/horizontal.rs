//! Horizontal fusion: programs of a device that do not depend on each other, as one step.
//!
//! On small arrays a kernel takes less time than its launch. The updates of an optimizer are one program for each variable, none of
//! which waits for another; a device can launch them as one kernel, whose blocks of threads are shared out among them. An
//! `assign_sub` or `assign_add` of what a program makes becomes a part of the program: it is given the value of the variable, and
//! makes the next one.

use penstock_data::Result;
use penstock_ir::{Builder, EffectSet, Graph, Inst, InstData, Type, Value, Verified, effects_of};
use penstock_ops::RULE_OPS;
use penstock_ops::control::CONST;
use penstock_ops::fused::{FUSED, NATIVE};
use penstock_ops::state::{ASSIGN, ASSIGN_ADD, ASSIGN_SUB, READ_VARIABLE};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// How many instructions are looked at for one step.
const WINDOW: usize = 512;
/// How many are looked at behind the last that is taken, so that this takes time linear in the size of a graph.
const PATIENCE: usize = 64;
/// The most programs of a step. The arguments of all are those of one launch, which takes 4 KiB.
const MOST: usize = 32;

/// A program of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Part {
    /// The elementwise instruction, or the group; `None` where a variable is changed by a value that is there.
    pub(super) work: Option<Inst>,
    /// The `assign_add` or `assign_sub`, of a result of the work.
    pub(super) update: Option<Inst>,
}

impl Part {
    /// An instruction.
    pub(super) fn of(work: Inst) -> Part {
        Part { work: Some(work), update: None }
    }

    /// Its instructions, in order.
    pub(super) fn insts(self) -> impl Iterator<Item = Inst> {
        self.work.into_iter().chain(self.update)
    }
}

/// The programs of a step, of the first instructions of a list.
#[derive(Default)]
pub(super) struct Found {
    pub(super) parts: Vec<Part>,
    /// How many instructions that are, with those in between.
    pub(super) taken: usize,
    /// Those in between: those that can run before, and those that have to run behind.
    pub(super) before: Vec<Inst>,
    pub(super) behind: Vec<Inst>,
}

/// What the device does for an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// It has a program for the instruction.
    Program,
    /// A program that is a launch of its own: one with sums over rows.
    Alone,
    /// It does other work.
    Operator,
    /// The host does it.
    Not,
}

/// Programs that can run as one step, the first of `insts` among them; `None` where that is no program. `runs` says what the device
/// does, given the values of this list that will be there beside those that are known to be, and `is_there` of a value whether it will
/// be on the device; `uses` counts the uses of a value.
pub(super) fn find(
    graph: &Graph,
    insts: &[Inst],
    runs: &dyn Fn(&InstData, &FxHashSet<Value>) -> Runs,
    is_there: &dyn Fn(Value) -> bool,
    uses: &dyn Fn(Value) -> usize,
) -> Option<Found> {
    let mut found = Found::default();
    let (&first, _) = insts.split_first()?;
    if runs(&graph.insts[first], &FxHashSet::default()) == Runs::Alone {
        return Some(Found { parts: vec![Part::of(first)], taken: 1, ..found });
    }
    // What will be on the device in front of the step; what is made by the step, and where, or behind it.
    let mut there: FxHashSet<Value> = FxHashSet::default();
    let mut made: FxHashMap<Value, usize> = FxHashMap::default();
    let mut late: FxHashSet<Value> = FxHashSet::default();
    // The variables that the step changes, and those that are touched behind it.
    let mut changed: Vec<Value> = Vec::new();
    let mut touched = EffectSet::default();
    // Up to the last instruction of the step.
    let mut counted = (0, 0);
    for (i, &inst) in insts.iter().take(WINDOW).enumerate() {
        let data = &graph.insts[inst];
        let is_group = data.op.is(&FUSED) || data.op.is(&NATIVE);
        let effects = if data.regions.is_empty() { effects_of(graph, inst) } else { EffectSet::default() };
        let moves = [&READ_VARIABLE, &ASSIGN, &ASSIGN_ADD, &ASSIGN_SUB].iter().any(|op| data.op.is(op));
        if !data.regions.is_empty() && !is_group || effects.acts() && !moves || i > found.taken + PATIENCE {
            break;
        }
        let conflicts = effects.conflicts(&touched)
            || effects.reads.iter().chain(&effects.writes).any(|variable| changed.contains(variable));
        let waits = conflicts || data.operands.iter().any(|v| late.contains(v));
        if !conflicts && is_update(graph, data) {
            let (variable, operand) = (data.operands[0], data.operands[1]);
            let part = match made.get(&operand) {
                Some(&at) => Some(at).filter(|&at| found.parts[at].update.is_none() && uses(operand) == 1),
                None => {
                    (!waits && found.parts.len() < MOST && (there.contains(&operand) || is_there(operand))).then(|| {
                        found.parts.push(Part { work: None, update: None });
                        found.parts.len() - 1
                    })
                }
            };
            if let Some(at) = part {
                found.parts[at].update = Some(inst);
                changed.push(variable);
                (found.taken, counted) = (i + 1, (found.before.len(), found.behind.len()));
                continue;
            }
        }
        let runs = runs(data, &there);
        if !waits && runs == Runs::Program && found.parts.len() < MOST {
            made.extend(data.results.iter().map(|&v| (v, found.parts.len())));
            late.extend(&data.results);
            found.parts.push(Part::of(inst));
            (found.taken, counted) = (i + 1, (found.before.len(), found.behind.len()));
            continue;
        }
        if i == 0 {
            return None;
        }
        if waits || effects.acts() {
            found.behind.push(inst);
            late.extend(&data.results);
            touched.reads.extend(effects.reads);
            touched.writes.extend(effects.writes);
        } else {
            found.before.push(inst);
            if runs != Runs::Not {
                there.extend(&data.results);
            }
        }
    }
    found.before.truncate(counted.0);
    found.behind.truncate(counted.1);
    (!found.parts.is_empty()).then_some(found)
}

/// Whether an instruction adds to a variable, or subtracts from it, a value that certainly has its shape.
fn is_update(graph: &Graph, data: &InstData) -> bool {
    (data.op.is(&ASSIGN_ADD) || data.op.is(&ASSIGN_SUB)) && {
        let [variable, value] = [data.operands[0], data.operands[1]].map(|v| graph.ty(v).shape().extents());
        variable.is_some() && variable == value
    }
}

/// What a part computes: of the operands of its work, or of the value, and then of the variable, the results of the work that others use,
/// and then the variable's next value.
pub(super) struct Computed {
    pub(super) graph: Verified,
    pub(super) operands: SmallVec<[Value; 4]>,
    pub(super) results: SmallVec<[Value; 4]>,
}

/// What a part with an update computes.
///
/// # Errors
/// Those of inference.
pub(super) fn with_update(graph: &Graph, work: Option<Inst>, update: Inst) -> Result<Computed> {
    let change = &graph.insts[update];
    let mut builder = Builder::new(&CONST);
    builder.set_loc(graph.locs[update]);
    let mut map: FxHashMap<Value, Value> = FxHashMap::default();
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    let input = |builder: &mut Builder, value: Value| {
        let ty = graph.ty(value);
        builder.input(Type::tensor(ty.dtype(), ty.shape().erased()), None)
    };
    let of = work.map_or(&change.operands[1..], |work| &graph.insts[work].operands[..]);
    for &value in of {
        if let std::collections::hash_map::Entry::Vacant(free) = map.entry(value) {
            free.insert(input(&mut builder, value));
            operands.push(value);
        }
    }
    let mut results: SmallVec<[Value; 4]> = SmallVec::new();
    let mut outputs: SmallVec<[Value; 3]> = SmallVec::new();
    if let Some(work) = work {
        let data = &graph.insts[work];
        if let [region] = data.regions[..] {
            let region_data = &graph.regions[region];
            for (&param, operand) in region_data.params.iter().zip(&data.operands) {
                map.insert(param, map[operand]);
            }
            builder.copy_insts(graph, region, &mut map)?;
            for (&result, inner) in data.results.iter().zip(&region_data.results) {
                map.insert(result, map[inner]);
            }
        } else {
            builder.copy_inst(graph, work, &mut map)?;
        }
        results.extend(data.results.iter().copied().filter(|v| *v != change.operands[1]));
        outputs.extend(results.iter().map(|v| map[v]));
    }
    let value = input(&mut builder, change.operands[0]);
    let op = if change.op.is(&ASSIGN_SUB) { RULE_OPS.sub } else { RULE_OPS.add };
    outputs.extend(builder.emit(op, &[value, map[&change.operands[1]]], &[])?);
    Ok(Computed { graph: builder.finish(&outputs)?, operands, results })
}
