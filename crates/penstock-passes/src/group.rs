//! Puts instructions that use each other into groups, each of which becomes one instruction with a region.

use penstock_ir::{Attrs, Def, Graph, Inst, InstData, OpDef, OpRef, Region, RegionData, Value, ValueData};
use penstock_ops::fused::{FUSED, NATIVE};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::{inputs, nested, regions, uses};

/// What makes a group.
pub(crate) struct Rule {
    /// The operator of the instruction that a group becomes.
    pub(crate) op: &'static OpDef,
    /// Whether a group can start with an instruction; `None` for one that can be in no group.
    pub(crate) candidate: fn(&Graph, Inst, &Cx) -> Option<bool>,
    /// Whether these instructions, in their order in the region, may be one group.
    pub(crate) fits: fn(&Graph, &[Inst]) -> bool,
    /// Whether the group is worth making.
    pub(crate) pays: fn(&Graph, &[Inst]) -> bool,
    /// Whether the region has constants of its own; else they are operands.
    pub(crate) constants: bool,
}

/// Makes the groups of a rule in every region, but for those inside groups, of this rule or another.
pub(crate) fn group(graph: &mut Graph, cx: &Cx, rule: &Rule) {
    let mut inside: FxHashSet<Region> = FxHashSet::default();
    for region in regions(graph) {
        let groups = |&i: &Inst| graph.insts[i].op.is(&FUSED) || graph.insts[i].op.is(&NATIVE);
        for &inst in graph.regions[region].insts.iter().filter(|i| groups(i)) {
            inside.extend(nested(graph, inst));
        }
        let any = |graph: &Graph| {
            graph.regions[region].insts.iter().any(|&i| (rule.candidate)(graph, i, cx).is_some_and(|starts| starts))
        };
        if !inside.contains(&region) && any(graph) {
            group_region(graph, region, cx, rule, &mut inside);
        }
    }
}

/// Instructions that will be one, at the place of the last of them.
struct Group {
    insts: Vec<Inst>,
    /// Whether something outside has used a result already: then no instruction can move past it.
    closed: bool,
}

fn group_region(graph: &mut Graph, region: Region, cx: &Cx, rule: &Rule, inside: &mut FxHashSet<Region>) {
    let insts = graph.regions[region].insts.clone();
    let position: FxHashMap<Inst, usize> = insts.iter().enumerate().map(|(i, &inst)| (inst, i)).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: FxHashMap<Value, usize> = FxHashMap::default();
    for &inst in &insts {
        let mut used: SmallVec<[usize; 4]> = SmallVec::new();
        uses(graph, inst, &mut |v| {
            if let Some(&group) = group_of.get(&v)
                && !groups[group].closed
                && !used.contains(&group)
            {
                used.push(group);
            }
        });
        let candidate = (rule.candidate)(graph, inst, cx);
        let mut merged = vec![inst];
        for group in used {
            // What is joined is closed as a group of its own, as is what another instruction has used.
            groups[group].closed = true;
            if candidate.is_none() {
                continue;
            }
            let mut both: Vec<Inst> = groups[group].insts.iter().chain(&merged).copied().collect();
            both.sort_unstable_by_key(|i| position[i]);
            if (rule.fits)(graph, &both) {
                merged = both;
                groups[group].insts.clear();
            }
        }
        let starts = candidate.is_some_and(|starts| starts);
        if merged.len() == 1 && !(starts && (rule.fits)(graph, &merged)) {
            continue;
        }
        for &member in &merged {
            group_of.extend(graph.insts[member].results.iter().map(|&v| (v, groups.len())));
        }
        groups.push(Group { insts: merged, closed: false });
    }
    let used = used_by(graph);
    let mut replaced = FxHashMap::default();
    let mut at: FxHashMap<Inst, Inst> = FxHashMap::default();
    let mut gone: FxHashSet<Inst> = FxHashSet::default();
    for group in groups {
        if group.insts.is_empty() || !(rule.pays)(graph, &group.insts) || !cx.spend() {
            continue;
        }
        let last = group.insts[group.insts.len() - 1];
        gone.extend(&group.insts);
        for &member in &group.insts {
            inside.extend(nested(graph, member));
        }
        at.insert(last, build(graph, region, rule, &group.insts, &used, &mut replaced));
    }
    graph.regions[region].insts = insts
        .into_iter()
        .filter_map(|inst| at.get(&inst).copied().or_else(|| (!gone.contains(&inst)).then_some(inst)))
        .collect();
    replace_outside(graph, &replaced, &gone);
}

/// Who uses each value: listed instructions, and `None` for a region's results.
fn used_by(graph: &Graph) -> FxHashMap<Value, Vec<Option<Inst>>> {
    let mut used: FxHashMap<Value, Vec<Option<Inst>>> = FxHashMap::default();
    graph.visit(&mut |_, inst, data| {
        for &v in &data.operands {
            used.entry(v).or_default().push(Some(inst));
        }
    });
    for region in regions(graph) {
        for &v in &graph.regions[region].results {
            used.entry(v).or_default().push(None);
        }
    }
    used
}

/// Makes the instruction of a group, and notes what replaces the results that others use.
fn build(
    graph: &mut Graph,
    outer: Region,
    rule: &Rule,
    insts: &[Inst],
    used: &FxHashMap<Value, Vec<Option<Inst>>>,
    replaced: &mut FxHashMap<Value, Value>,
) -> Inst {
    let inner = graph.regions.push(RegionData::default());
    let members: FxHashSet<Inst> = insts.iter().flat_map(|&i| members(graph, i)).collect();
    let mut map: FxHashMap<Value, Value> = FxHashMap::default();
    let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
    let mut leaving: SmallVec<[Value; 4]> = SmallVec::new();
    for &inst in insts {
        for v in inputs(graph, inst) {
            if map.contains_key(&v) {
                continue;
            }
            let own = if rule.constants { graph.def_inst(v).filter(|_| graph.constant(v).is_some()) } else { None };
            let here = match own {
                Some(constant) => copy(graph, constant, inner, &map)[0],
                None => {
                    let index = operands.len() as u32;
                    operands.push(replaced.get(&v).copied().unwrap_or(v));
                    let ty = graph.ty(v).clone();
                    let param = graph.values.push(ValueData { ty, def: Def::Param(index), region: inner });
                    graph.regions[inner].params.push(param);
                    param
                }
            };
            map.insert(v, here);
        }
        let old = graph.insts[inst].results.clone();
        let new = copy(graph, inst, inner, &map);
        for (old, new) in old.into_iter().zip(new) {
            map.insert(old, new);
            if used.get(&old).is_some_and(|users| users.iter().any(|u| u.is_none_or(|u| !members.contains(&u)))) {
                graph.regions[inner].results.push(new);
                leaving.push(old);
            }
        }
    }
    let made = graph.insts.push(InstData {
        op: OpRef(rule.op),
        operands,
        attrs: Attrs::EMPTY,
        regions: SmallVec::from_slice(&[inner]),
        results: SmallVec::new(),
    });
    let loc = graph.locs[insts[insts.len() - 1]];
    graph.locs.push(loc);
    for (i, &old) in leaving.iter().enumerate() {
        let ty = graph.ty(old).clone();
        let new = graph.values.push(ValueData { ty, def: Def::Result(made, i as u32), region: outer });
        graph.insts[made].results.push(new);
        if let Some(name) = graph.names.get(&old).cloned() {
            graph.names.insert(new, name);
        }
        replaced.insert(old, new);
    }
    made
}

/// An instruction and those in its regions.
fn members(graph: &Graph, inst: Inst) -> Vec<Inst> {
    let mut all = vec![inst];
    for &region in &graph.insts[inst].regions {
        graph.visit_region(region, &mut |_, inner, _| all.push(inner));
    }
    all
}

/// Lists an instruction in another region, with other operands, and gives its new results. Its regions move with it.
fn copy(graph: &mut Graph, inst: Inst, region: Region, map: &FxHashMap<Value, Value>) -> SmallVec<[Value; 1]> {
    let renamed = |v: &mut Value| *v = map.get(v).copied().unwrap_or(*v);
    for own in nested(graph, inst) {
        graph.regions[own].results.iter_mut().for_each(renamed);
        for i in graph.regions[own].insts.clone() {
            graph.insts[i].operands.iter_mut().for_each(renamed);
        }
    }
    let data = graph.insts[inst].clone();
    let mut new = InstData { results: SmallVec::new(), ..data.clone() };
    new.operands.iter_mut().for_each(renamed);
    let made = graph.insts.push(new);
    let loc = graph.locs[inst];
    graph.locs.push(loc);
    for (i, &old) in data.results.iter().enumerate() {
        let ty = graph.ty(old).clone();
        let value = graph.values.push(ValueData { ty, def: Def::Result(made, i as u32), region });
        graph.insts[made].results.push(value);
        if let Some(name) = graph.names.get(&old).cloned() {
            graph.names.insert(value, name);
        }
    }
    graph.regions[region].insts.push(made);
    graph.insts[made].results.clone()
}

/// Replaces the uses of what groups gave to others.
fn replace_outside(graph: &mut Graph, replaced: &FxHashMap<Value, Value>, gone: &FxHashSet<Inst>) {
    debug_assert!(replaced.keys().all(|v| graph.def_inst(*v).is_some_and(|i| gone.contains(&i))));
    graph.replace_uses(replaced);
}
