//! Dead instructions.

use penstock_data::Result;
use penstock_ir::{Graph, Region, Value, effects_of};
use rustc_hash::FxHashSet;

use crate::Cx;

/// Drops instructions whose results nobody uses and that do not act on anything else.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut live: FxHashSet<Value> = FxHashSet::default();
    sweep(graph, graph.body(), &mut live, cx);
    Ok(())
}

fn sweep(graph: &mut Graph, region: Region, live: &mut FxHashSet<Value>, cx: &Cx) {
    live.extend(&graph.regions[region].results);
    let mut insts = std::mem::take(&mut graph.regions[region].insts);
    let mut kept = Vec::with_capacity(insts.len());
    while let Some(inst) = insts.pop() {
        let used = graph.insts[inst].results.iter().any(|v| live.contains(v));
        if !used && !effects_of(graph, inst).acts() && cx.spend() {
            continue;
        }
        live.extend(&graph.insts[inst].operands);
        for r in graph.insts[inst].regions.clone() {
            sweep(graph, r, live, cx);
        }
        kept.push(inst);
    }
    kept.reverse();
    graph.regions[region].insts = kept;
}
