//! Groups elementwise instructions, so that they run in one pass over memory.

use penstock_data::{DType, DTypeSet, Dims, Result};
use penstock_ir::{Attrs, Cpu, Def, Graph, Inst, InstData, OpRef, Region, RegionData, Value, ValueData};
use penstock_ops::fused::FUSED;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::{regions, uses};

/// Results smaller than this stay in the first-level cache anyway: grouping them gains nothing.
pub const MIN_FUSED_BYTES: usize = 16 << 10;
/// The most instructions of a group.
const MAX_INSTS: usize = 64;
/// The most operands of a group: streams that are read at the same time.
const MAX_STREAMS: usize = 16;
/// The most operands of an instruction of a group.
const MAX_ARITY: usize = 4;

/// Makes `fused` instructions of elementwise instructions of one result shape that use each other.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    for region in regions(graph) {
        if graph.regions[region].insts.iter().any(|&i| candidate(graph, i, cx).is_some()) {
            fuse_region(graph, region, cx);
        }
    }
    Ok(())
}

/// The extents of the result, where the instruction can be in a group.
fn candidate(graph: &Graph, inst: Inst, cx: &Cx) -> Option<Dims> {
    let data = &graph.insts[inst];
    let (Cpu::Elementwise(lookup), [result]) = (data.op.cpu, &data.results[..]) else { return None };
    let ty = graph.ty(*result);
    let dims = ty.shape().extents()?;
    let n = ty.shape().num_elements()?;
    let fits = |&v: &Value| {
        let shape = graph.ty(v).shape();
        shape.extents().as_ref() == Some(&dims) || shape.num_elements() == Some(1)
    };
    let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
    (n * ty.dtype().size().max(1) >= cx.min_fused_bytes
        && (1..=MAX_ARITY).contains(&data.operands.len())
        && data.operands.iter().all(fits)
        && dtypes.iter().all(|&d| DTypeSet::PLAIN.contains(d))
        && DTypeSet::PLAIN.contains(ty.dtype())
        && lookup(&dtypes, &data.attrs).is_some())
    .then_some(dims)
}

/// Instructions that will be one, at the place of the last of them.
struct Group {
    dims: Dims,
    insts: Vec<Inst>,
    /// Whether something outside has used a result already: then no instruction can move past it.
    closed: bool,
}

fn fuse_region(graph: &mut Graph, region: Region, cx: &Cx) {
    let insts = graph.regions[region].insts.clone();
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: FxHashMap<Value, usize> = FxHashMap::default();
    for &inst in &insts {
        let dims = candidate(graph, inst, cx);
        let mut joined: SmallVec<[usize; 4]> = SmallVec::new();
        uses(graph, inst, &mut |v| {
            let Some(&group) = group_of.get(&v) else { return };
            if groups[group].closed {
                return;
            }
            if dims.as_ref() == Some(&groups[group].dims) {
                if !joined.contains(&group) {
                    joined.push(group);
                }
            } else {
                groups[group].closed = true;
            }
        });
        let Some(dims) = dims else { continue };
        let mut merged = vec![];
        for &group in &joined {
            merged.extend(&groups[group].insts);
        }
        merged.push(inst);
        if merged.len() > MAX_INSTS || streams(graph, &merged) > MAX_STREAMS {
            for &group in &joined {
                groups[group].closed = true;
            }
            merged = vec![inst];
            joined.clear();
        }
        for &group in &joined {
            groups[group].insts.clear();
            groups[group].closed = true;
        }
        for &member in &merged {
            group_of.insert(graph.insts[member].results[0], groups.len());
        }
        groups.push(Group { dims, insts: merged, closed: false });
    }
    let position: FxHashMap<Inst, usize> = insts.iter().enumerate().map(|(i, &inst)| (inst, i)).collect();
    let used = used_by(graph);
    let mut replaced = FxHashMap::default();
    let mut at: FxHashMap<Inst, Inst> = FxHashMap::default();
    let mut gone: FxHashSet<Inst> = FxHashSet::default();
    for mut group in groups {
        if group.insts.len() < 2 || !cx.spend() {
            continue;
        }
        group.insts.sort_unstable_by_key(|i| position[i]);
        let last = group.insts[group.insts.len() - 1];
        gone.extend(&group.insts);
        at.insert(last, build(graph, region, &group.insts, &used, &mut replaced));
    }
    graph.regions[region].insts = insts
        .into_iter()
        .filter_map(|inst| at.get(&inst).copied().or_else(|| (!gone.contains(&inst)).then_some(inst)))
        .collect();
    replace_outside(graph, &replaced, &gone);
}

/// The number of operands from outside.
fn streams(graph: &Graph, insts: &[Inst]) -> usize {
    let made: FxHashSet<Value> = insts.iter().map(|&i| graph.insts[i].results[0]).collect();
    let ins: FxHashSet<Value> =
        insts.iter().flat_map(|&i| graph.insts[i].operands.iter().copied()).filter(|v| !made.contains(v)).collect();
    ins.len()
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

/// Makes the `fused` instruction of a group, and notes what replaces the results that others use.
fn build(
    graph: &mut Graph,
    outer: Region,
    insts: &[Inst],
    used: &FxHashMap<Value, Vec<Option<Inst>>>,
    replaced: &mut FxHashMap<Value, Value>,
) -> Inst {
    let inner = graph.regions.push(RegionData::default());
    let members: FxHashSet<Inst> = insts.iter().copied().collect();
    let mut map: FxHashMap<Value, Value> = FxHashMap::default();
    let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
    let mut results: SmallVec<[Value; 4]> = SmallVec::new();
    let mut leaving: SmallVec<[Value; 4]> = SmallVec::new();
    for &inst in insts {
        let data = graph.insts[inst].clone();
        let mut copy = InstData { operands: SmallVec::new(), results: SmallVec::new(), ..data };
        for &v in &data.operands {
            let known = map.get(&v).copied();
            let param = known.unwrap_or_else(|| {
                let outside = replaced.get(&v).copied().unwrap_or(v);
                let index = operands.len() as u32;
                let param =
                    graph.values.push(ValueData { ty: graph.ty(v).clone(), def: Def::Param(index), region: inner });
                graph.regions[inner].params.push(param);
                operands.push(outside);
                map.insert(v, param);
                param
            });
            copy.operands.push(param);
        }
        let old = data.results[0];
        let new_inst = graph.insts.push(copy);
        let loc = graph.locs[inst];
        graph.locs.push(loc);
        let new =
            graph.values.push(ValueData { ty: graph.ty(old).clone(), def: Def::Result(new_inst, 0), region: inner });
        graph.insts[new_inst].results.push(new);
        graph.regions[inner].insts.push(new_inst);
        if let Some(name) = graph.names.get(&old).cloned() {
            graph.names.insert(new, name);
        }
        map.insert(old, new);
        let leaves = used.get(&old).is_some_and(|users| users.iter().any(|u| u.is_none_or(|u| !members.contains(&u))));
        if leaves {
            results.push(new);
            leaving.push(old);
        }
    }
    graph.regions[inner].results = results;
    let fused = graph.insts.push(InstData {
        op: OpRef(&FUSED),
        operands,
        attrs: Attrs::EMPTY,
        regions: SmallVec::from_slice(&[inner]),
        results: SmallVec::new(),
    });
    let loc = graph.locs[insts[insts.len() - 1]];
    graph.locs.push(loc);
    for (i, &old) in leaving.iter().enumerate() {
        let ty = graph.ty(old).clone();
        let new = graph.values.push(ValueData { ty, def: Def::Result(fused, i as u32), region: outer });
        graph.insts[fused].results.push(new);
        if let Some(name) = graph.names.get(&old).cloned() {
            graph.names.insert(new, name);
        }
        replaced.insert(old, new);
    }
    fused
}

/// Replaces the uses of what groups gave to others.
fn replace_outside(graph: &mut Graph, replaced: &FxHashMap<Value, Value>, gone: &FxHashSet<Inst>) {
    debug_assert!(replaced.keys().all(|v| graph.def_inst(*v).is_some_and(|i| gone.contains(&i))));
    graph.replace_uses(replaced);
}
