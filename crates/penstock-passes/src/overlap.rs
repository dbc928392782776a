//! Collectives beside computation.

use penstock_data::Result;
use penstock_ir::{Effect, Graph, Inst, Region, Rows, Value, effects_of};
use rustc_hash::FxHashSet;

use crate::Cx;
use crate::edit::{inputs, regions};
use crate::uses::{User, Uses};

/// Starts each collective as soon as its value is there, and waits for each as late as its result is needed: what is computed
/// in between runs while values travel. Collectives keep their order, in which all processes start them, and no effect moves in
/// front of a wait that comes before it.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    for region in regions(graph) {
        let insts = &graph.regions[region].insts;
        if insts.iter().any(|&i| has(graph, i, Effect::Collective)) {
            start_early(graph, region, cx);
            wait_late(graph, region, cx);
        }
    }
    Ok(())
}

fn has(graph: &Graph, inst: Inst, effect: Effect) -> bool {
    graph.insts[inst].op.effects.contains(&effect)
}

/// Moves each collective, and what only makes its value of others, in front of all that it neither needs nor has to stay behind.
fn start_early(graph: &mut Graph, region: Region, cx: &Cx) {
    let prompt = prompt(graph, region);
    let mut listed = graph.regions[region].insts.clone();
    for at in 0..listed.len() {
        let inst = listed[at];
        if !prompt.contains(&inst) {
            continue;
        }
        let effects = effects_of(graph, inst);
        let needed: FxHashSet<Value> = inputs(graph, inst).into_iter().collect();
        let stays = |before: &Inst| {
            graph.insts[*before].results.iter().any(|v| needed.contains(v))
                || (!effects.is_pure() && effects_of(graph, *before).conflicts(&effects))
        };
        let to = listed[..at].iter().rposition(stays).map_or(0, |i| i + 1);
        if to < at && cx.spend() {
            listed[to..=at].rotate_right(1);
        }
    }
    graph.regions[region].insts = listed;
}

/// The collectives of a region, and what only joins or reshapes values for them.
fn prompt(graph: &Graph, region: Region) -> FxHashSet<Inst> {
    let uses = Uses::of(graph);
    let mut found: FxHashSet<Inst> = FxHashSet::default();
    for &inst in graph.regions[region].insts.iter().rev() {
        let data = &graph.insts[inst];
        let mut users = data.results.iter().flat_map(|&v| uses.users(v)).peekable();
        let needed = |user: &User| user.is_some_and(|i| found.contains(&i) || has(graph, i, Effect::Await));
        let moves = data.op.is_pure() && matches!(data.op.rows, Rows::Same | Rows::Joined(_));
        let makes_value = moves && users.peek().is_some() && users.all(needed);
        if has(graph, inst, Effect::Collective) || makes_value {
            found.insert(inst);
        }
    }
    found
}

/// Moves each wait behind all that neither needs its result nor has to stay behind it.
fn wait_late(graph: &mut Graph, region: Region, cx: &Cx) {
    let mut listed = graph.regions[region].insts.clone();
    for at in (0..listed.len()).rev() {
        let inst = listed[at];
        if !has(graph, inst, Effect::Await) {
            continue;
        }
        let effects = effects_of(graph, inst);
        let made: FxHashSet<Value> = graph.insts[inst].results.iter().copied().collect();
        let stays = |behind: &Inst| {
            inputs(graph, *behind).iter().any(|v| made.contains(v)) || effects_of(graph, *behind).conflicts(&effects)
        };
        let rest = &listed[at + 1..];
        let to = rest.iter().position(stays).unwrap_or(rest.len());
        if to > 0 && cx.spend() {
            listed[at..=at + to].rotate_left(1);
        }
    }
    graph.regions[region].insts = listed;
}
