//! Puts instructions that use each other into groups, each of which becomes one instruction with a region.

use penstock_ir::{Attrs, Def, Graph, Inst, InstData, OpDef, OpRef, Region, RegionData, Value, ValueData, effects_of};
use penstock_ops::fused::{FUSED, NATIVE};
use penstock_ops::state::ASSIGN;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::{inputs, nested, regions};
use crate::uses::Uses;

/// What makes a group.
pub(crate) struct Rule<'a> {
    /// The operator of the instruction that a group becomes.
    pub(crate) op: &'static OpDef,
    /// Whether a group can start with an instruction; `None` for one that can be in no group.
    pub(crate) candidate: &'a dyn Fn(&Graph, Inst, &Cx) -> Option<bool>,
    /// What an instruction counts, for `fits`.
    pub(crate) size: &'a dyn Fn(Inst) -> usize,
    /// Whether these instructions, in their order in the region, may be one group; they count so much.
    pub(crate) fits: &'a dyn Fn(&Graph, &[Inst], usize, &Cx) -> bool,
    /// Whether a group certainly still is one with an instruction behind it, where that is known without looking at all of it.
    pub(crate) extends: &'a dyn Fn(&Graph, &Members<'_>, Inst, &Cx) -> bool,
    /// Whether the group is worth making.
    pub(crate) pays: &'a dyn Fn(&Graph, &[Inst]) -> bool,
    /// Instructions of which a region has copies of its own, with the constants that they have behind their first operand;
    /// else their results are operands.
    pub(crate) own: &'a dyn Fn(&Graph, Inst) -> bool,
}

/// Makes the groups of a rule in every region, but for those inside groups, of this rule or another.
///
/// Uses are looked up once and replaced once, after all groups are made. In between, what is not in a group refers to values
/// that a group gives by their old names, which have the same types: only `build` needs the new ones.
pub(crate) fn group(graph: &mut Graph, cx: &Cx, rule: &Rule<'_>) {
    let mut inside: FxHashSet<Region> = FxHashSet::default();
    let mut replaced = FxHashMap::default();
    let mut uses = None;
    for region in regions(graph) {
        let groups = |&i: &Inst| graph.insts[i].op.is(&FUSED) || graph.insts[i].op.is(&NATIVE);
        for &inst in graph.regions[region].insts.iter().filter(|i| groups(i)) {
            inside.extend(nested(graph, inst));
        }
        let any = |graph: &Graph| {
            graph.regions[region].insts.iter().any(|&i| (rule.candidate)(graph, i, cx).is_some_and(|starts| starts))
        };
        if !inside.contains(&region) && any(graph) {
            let uses = uses.get_or_insert_with(|| Uses::of(graph));
            group_region(graph, region, cx, rule, uses, &mut inside, &mut replaced);
        }
    }
    graph.replace_uses(&replaced);
}

/// A group, for whether it extends to another instruction.
pub(crate) struct Members<'a> {
    /// Its instructions.
    pub(crate) insts: &'a [Inst],
    /// Their operands and results.
    pub(crate) values: &'a FxHashSet<Value>,
}

/// Instructions that will be one, at the place of the last of them.
struct Group {
    insts: Vec<Inst>,
    /// What they count.
    size: usize,
    /// Their operands and results.
    values: FxHashSet<Value>,
    /// Assignments of results to variables, which can wait until the group has run.
    assigns: Vec<Inst>,
    /// Whether something outside has used a result already: then no instruction can move past it.
    closed: bool,
    /// The last instruction that was found to use a result.
    user: Option<Inst>,
}

fn group_region(
    graph: &mut Graph,
    region: Region,
    cx: &Cx,
    rule: &Rule<'_>,
    uses: &Uses,
    inside: &mut FxHashSet<Region>,
    replaced: &mut FxHashMap<Value, Value>,
) {
    let insts = graph.regions[region].insts.clone();
    let position: FxHashMap<Inst, usize> = insts.iter().enumerate().map(|(i, &inst)| (inst, i)).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: FxHashMap<Value, usize> = FxHashMap::default();
    let mut assigned: FxHashMap<Value, usize> = FxHashMap::default();
    for &inst in &insts {
        let mut used: SmallVec<[usize; 4]> = SmallVec::new();
        for v in uses.used(inst) {
            if let Some(&group) = group_of.get(v)
                && !groups[group].closed
                && groups[group].user != Some(inst)
            {
                groups[group].user = Some(inst);
                used.push(group);
            }
        }
        close_before(graph, inst, &mut groups, &mut assigned);
        if graph.insts[inst].op.is(&ASSIGN) {
            for group in used {
                groups[group].assigns.push(inst);
                assigned.insert(graph.insts[inst].operands[0], group);
            }
            continue;
        }
        let candidate = (rule.candidate)(graph, inst, cx);
        // Those of what is joined; its own come last.
        let mut values: FxHashSet<Value> = FxHashSet::default();
        let (mut merged, mut size, mut assigns) = (vec![inst], (rule.size)(inst), Vec::new());
        // The group with the most instructions goes on as it is; what comes to it is noted.
        let (mut home, mut come) = (None, vec![inst]);
        for group in used {
            // What is joined is closed as a group of its own, as is what another instruction has used.
            groups[group].closed = true;
            if candidate.is_none() {
                continue;
            }
            let joined = &mut groups[group];
            let members = Members { insts: &joined.insts, values: &joined.values };
            if merged.len() == 1 && (rule.extends)(graph, &members, inst, cx) {
                joined.insts.push(inst);
                merged = std::mem::take(&mut joined.insts);
                home = Some(group);
            } else {
                let larger = joined.insts.len() >= merged.len();
                let (most, few) = if larger { (&joined.insts, &merged) } else { (&merged, &joined.insts) };
                let both = with_members(most, few, &position);
                if !(rule.fits)(graph, &both, size + joined.size, cx) {
                    continue;
                }
                if larger {
                    come = std::mem::replace(&mut merged, both);
                    home = Some(group);
                } else {
                    come.append(&mut joined.insts);
                    merged = both;
                }
                joined.insts.clear();
            }
            size += joined.size;
            // The fewer are put among the others.
            if values.len() < joined.values.len() {
                std::mem::swap(&mut values, &mut joined.values);
            }
            if !joined.values.is_empty() {
                values.extend(joined.values.drain());
            }
            assigns.append(&mut joined.assigns);
        }
        let starts = candidate.is_some_and(|starts| starts);
        if merged.len() == 1 && !(starts && (rule.fits)(graph, &merged, size, cx)) {
            continue;
        }
        values.extend(values_of(graph, inst));
        let at = home.unwrap_or(groups.len());
        assigned.extend(assigns.iter().map(|&a| (graph.insts[a].operands[0], at)));
        for &member in &come {
            group_of.extend(graph.insts[member].results.iter().map(|&v| (v, at)));
        }
        let group = Group { insts: merged, size, values, assigns, closed: false, user: None };
        match home {
            Some(at) => groups[at] = group,
            None => groups.push(group),
        }
    }
    let mut at: FxHashMap<Inst, SmallVec<[Inst; 1]>> = FxHashMap::default();
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
        let mut here = SmallVec::from([build(graph, region, rule, &group.insts, uses, replaced)]);
        let mut later: Vec<Inst> = group.assigns.into_iter().filter(|a| position[a] < position[&last]).collect();
        later.sort_unstable_by_key(|a| position[a]);
        gone.extend(&later);
        here.extend(later);
        at.insert(last, here);
    }
    graph.regions[region].insts = insts
        .into_iter()
        .flat_map(|inst| {
            let stays = || (!gone.contains(&inst)).then_some(inst).into_iter().collect();
            at.get(&inst).cloned().unwrap_or_else(stays)
        })
        .collect();
}

/// Some instructions with a few more among them, in their order in the region.
fn with_members(most: &[Inst], few: &[Inst], position: &FxHashMap<Inst, usize>) -> Vec<Inst> {
    let mut all = Vec::with_capacity(most.len() + few.len());
    all.extend_from_slice(most);
    for inst in few {
        let at = all.partition_point(|i| position[i] < position[inst]);
        all.insert(at, *inst);
    }
    all
}

fn values_of(graph: &Graph, inst: Inst) -> impl Iterator<Item = Value> {
    let data = &graph.insts[inst];
    data.operands.iter().chain(&data.results).copied()
}

/// Closes the groups with an assignment that cannot wait until an instruction has run. `assigned` has the group of each
/// assignment that waits, by variable.
fn close_before(graph: &Graph, inst: Inst, groups: &mut [Group], assigned: &mut FxHashMap<Value, usize>) {
    if assigned.is_empty() {
        return;
    }
    let effects = effects_of(graph, inst);
    if effects.host || effects.assert || effects.awaits {
        assigned.drain().for_each(|(_, group)| groups[group].closed = true);
    }
    for variable in effects.reads.iter().chain(&effects.writes) {
        if let Some(group) = assigned.remove(variable) {
            groups[group].closed = true;
        }
    }
}

/// Makes the instruction of a group, and notes what replaces the results that others use.
fn build(
    graph: &mut Graph,
    outer: Region,
    rule: &Rule<'_>,
    insts: &[Inst],
    uses: &Uses,
    replaced: &mut FxHashMap<Value, Value>,
) -> Inst {
    let inner = graph.regions.push(RegionData::default());
    let members: FxHashSet<Inst> = insts.iter().copied().collect();
    let mut map: FxHashMap<Value, Value> = FxHashMap::default();
    let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
    let mut leaving: SmallVec<[Value; 4]> = SmallVec::new();
    for &inst in insts {
        for v in inputs(graph, inst) {
            import(graph, inner, rule, v, replaced, &mut map, &mut operands);
        }
        let old = graph.insts[inst].results.clone();
        let new = copy(graph, inst, inner, &map);
        for (old, new) in old.into_iter().zip(new) {
            map.insert(old, new);
            if uses.users(old).iter().any(|user| user.is_none_or(|user| !members.contains(&user))) {
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

/// Gives a value from outside a name in the region: a copy of what makes it, or a parameter.
fn import(
    graph: &mut Graph,
    inner: Region,
    rule: &Rule<'_>,
    value: Value,
    replaced: &FxHashMap<Value, Value>,
    map: &mut FxHashMap<Value, Value>,
    operands: &mut SmallVec<[Value; 3]>,
) {
    if map.contains_key(&value) {
        return;
    }
    let here = match graph.def_inst(value) {
        Some(own) if (rule.own)(graph, own) => {
            // What it is of, and constants, which are its own even where they are operands of the group as well. Names go by
            // position: one constant may be what is padded and what it is padded with.
            let none = FxHashMap::default();
            let mut names: SmallVec<[Value; 3]> = SmallVec::new();
            for (i, v) in graph.insts[own].operands.clone().into_iter().enumerate() {
                names.push(match graph.def_inst(v).filter(|_| i > 0) {
                    Some(constant) => copy(graph, constant, inner, &none)[0],
                    None => {
                        import(graph, inner, rule, v, replaced, map, operands);
                        map[&v]
                    }
                });
            }
            let made = copy(graph, own, inner, &none)[0];
            if let Some(inst) = graph.def_inst(made) {
                graph.insts[inst].operands = names.into_iter().collect();
            }
            made
        }
        _ => {
            let index = operands.len() as u32;
            operands.push(replaced.get(&value).copied().unwrap_or(value));
            let ty = graph.ty(value).clone();
            let param = graph.values.push(ValueData { ty, def: Def::Param(index), region: inner });
            graph.regions[inner].params.push(param);
            param
        }
    };
    map.insert(value, here);
}

/// Lists an instruction in another region, with other operands, and gives its new results. Its regions move with it.
fn copy(graph: &mut Graph, inst: Inst, region: Region, map: &FxHashMap<Value, Value>) -> SmallVec<[Value; 1]> {
    let here = |v: &Value| map.get(v).copied().unwrap_or(*v);
    for own in nested(graph, inst) {
        graph.regions[own].results.iter_mut().for_each(|v| *v = here(v));
        for i in graph.regions[own].insts.clone() {
            graph.insts[i].operands.iter_mut().for_each(|v| *v = here(v));
        }
    }
    let data = &graph.insts[inst];
    let new = InstData {
        op: data.op,
        operands: data.operands.iter().map(here).collect(),
        attrs: data.attrs.clone(),
        regions: data.regions.clone(),
        results: SmallVec::new(),
    };
    let made = graph.insts.push(new);
    let loc = graph.locs[inst];
    graph.locs.push(loc);
    for i in 0..graph.insts[inst].results.len() {
        let old = graph.insts[inst].results[i];
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
