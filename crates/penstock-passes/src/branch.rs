//! Conditionals whose branch is known.

use penstock_data::{Bool8, Result};
use penstock_ir::{Graph, InstData, Region, Value, verify};
use penstock_ops::control::{COND, SWITCH, WHILE};
use rustc_hash::FxHashMap;

use crate::Cx;
use crate::edit::inherit_name;

/// Puts the taken branch in place of a `cond` or `switch` on a constant, and drops loops that never start.
///
/// What the branch gives may have a more exact shape, for which an instruction that uses it would fail. That must be left
/// to the run, which may not come to it: then only what keeps its types is put in place.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut any = false;
    graph.visit(&mut |_, _, data| any |= taken_branch(graph, data).is_some() || never_starts(graph, data));
    if !any {
        return Ok(());
    }
    let before = graph.clone();
    for exact in [false, true] {
        let mut replaced = FxHashMap::default();
        visit(graph, graph.body(), cx, exact, &mut replaced);
        graph.replace_uses(&replaced);
        if exact || verify(graph).is_ok() {
            break;
        }
        *graph = before.clone();
    }
    Ok(())
}

fn visit(graph: &mut Graph, region: Region, cx: &Cx, exact: bool, replaced: &mut FxHashMap<Value, Value>) {
    let old = std::mem::take(&mut graph.regions[region].insts);
    let mut insts = Vec::with_capacity(old.len());
    for inst in old {
        let inner = graph.insts[inst].regions.clone();
        for &r in &inner {
            visit(graph, r, cx, exact, replaced);
        }
        let data = &graph.insts[inst];
        let same = |with: &[Value]| !exact || data.results.iter().zip(with).all(|(&a, &b)| graph.ty(a) == graph.ty(b));
        let (results, with) = if let Some(taken) = taken_branch(graph, data)
            && same(&graph.regions[taken].results)
            && cx.spend()
        {
            let results = data.results.clone();
            let moved = std::mem::take(&mut graph.regions[taken].insts);
            for &m in &moved {
                for v in graph.insts[m].results.clone() {
                    graph.values[v].region = region;
                }
            }
            insts.extend(moved);
            (results, graph.regions[taken].results.to_vec())
        } else if never_starts(graph, data) && same(&data.operands) && cx.spend() {
            (data.results.clone(), data.operands.to_vec())
        } else {
            insts.push(inst);
            continue;
        };
        for (old, new) in results.into_iter().zip(with) {
            inherit_name(graph, old, new);
            replaced.insert(old, new);
        }
    }
    graph.regions[region].insts = insts;
}

fn taken_branch(graph: &Graph, data: &InstData) -> Option<Region> {
    taken(graph, data, &data.operands)
}

/// The region that an instruction takes for operands of `graph`, where it is a conditional and they tell.
pub(crate) fn taken(graph: &Graph, data: &InstData, operands: &[Value]) -> Option<Region> {
    if data.op.is(&COND) {
        let predicate = graph.constant(operands[0])?.item::<Bool8>()?;
        Some(data.regions[usize::from(!predicate.get())])
    } else if data.op.is(&SWITCH) {
        let last = data.regions.len() - 1;
        let index = graph.constant(operands[0])?.item::<i32>()?;
        Some(data.regions[usize::try_from(index).map_or(last, |i| i.min(last))])
    } else {
        None
    }
}

/// A loop whose condition is constantly false.
fn never_starts(graph: &Graph, data: &InstData) -> bool {
    data.op.is(&WHILE)
        && graph.regions[data.regions[0]].insts.iter().all(|&i| graph.insts[i].op.is(&penstock_ops::control::CONST))
        && graph
            .constant(graph.regions[data.regions[0]].results[0])
            .and_then(|t| t.item::<Bool8>())
            .is_some_and(|b| !b.get())
}
