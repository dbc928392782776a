//! Loops of elementwise instructions make several iterations at once, so that a group passes what is between iterations in registers.

use penstock_data::{DTypeSet, Result};
use penstock_ir::{Cpu, Def, Graph, Inst, InstData, Region, Value, ValueData};
use penstock_ops::control::{CONST, WHILE};
use penstock_ops::counted::CountedLoop;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::regions;
use crate::hoist::rejects_elements;

/// The most instructions on arrays of a body.
const MOST_INSTS: usize = 128;

/// Makes the bodies of loops that count up to a constant, and compute with arrays of one shape, several iterations.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    for region in regions(graph) {
        for at in (0..graph.regions[region].insts.len()).rev() {
            let inst = graph.regions[region].insts[at];
            let Some((iterations, at_once)) = factor(graph, inst, cx).filter(|_| cx.spend()) else { continue };
            let body = graph.insts[inst].regions[1];
            let iteration = Iteration {
                insts: graph.regions[body].insts.clone(),
                params: graph.regions[body].params.clone(),
                results: graph.regions[body].results.clone(),
            };
            // What is left over goes in front.
            let mut values: SmallVec<[Value; 4]> = graph.insts[inst].operands.iter().copied().collect();
            let mut front = Vec::new();
            for _ in 0..iterations % at_once {
                values = iteration.again(graph, region, &values, &mut front);
            }
            graph.insts[inst].operands = values.into_iter().collect();
            let (mut values, mut listed) = (iteration.results.clone(), iteration.insts.clone());
            for _ in 1..at_once {
                values = iteration.again(graph, body, &values, &mut listed);
            }
            graph.regions[body].insts = listed;
            graph.regions[body].results = values;
            graph.regions[region].insts.splice(at..at, front);
        }
    }
    Ok(())
}

/// The iterations of a loop, and how many of them are made at once.
fn factor(graph: &Graph, inst: Inst, cx: &Cx) -> Option<(usize, usize)> {
    let data = &graph.insts[inst];
    if !data.op.is(&WHILE) {
        return None;
    }
    // What else the condition does is due in every iteration.
    let counted = CountedLoop::new(graph, data);
    let iterations = counted.iterations().filter(|_| counted.only_tests())?;
    let (mut arrays, mut bytes) = (0, 0);
    let mut shape = None;
    for &inst in &graph.regions[data.regions[1]].insts {
        let data = &graph.insts[inst];
        if data.op.is(&CONST) {
            continue;
        }
        let [result] = data.results[..] else { return None };
        let ty = graph.ty(result);
        let elements = ty.shape().num_elements()?;
        let maps = matches!(data.op.cpu, Cpu::Elementwise(_)) && DTypeSet::PLAIN.contains(ty.dtype());
        if !maps || rejects_elements(graph, inst) {
            return None;
        }
        if elements == 1 {
            continue;
        }
        if shape.is_some_and(|shape| shape != ty.shape()) {
            return None;
        }
        shape = Some(ty.shape());
        bytes = bytes.max(elements * ty.dtype().size());
        arrays += 1;
    }
    let most = MOST_INSTS.checked_div(arrays)?.min(cx.thresholds.unrolled_iterations).min(iterations);
    // Best nothing is left over.
    let even = (most / 2 + 1..=most).rev().find(|&at_once| iterations.is_multiple_of(at_once));
    (most > 1 && bytes >= cx.thresholds.fused_bytes).then(|| (iterations, even.unwrap_or(most)))
}

/// What one iteration does.
struct Iteration {
    insts: Vec<Inst>,
    params: SmallVec<[Value; 4]>,
    results: SmallVec<[Value; 4]>,
}

impl Iteration {
    /// Copies of the instructions, for `region`, with `values` for the variables of the loop; gives those of the next iteration.
    fn again(
        &self,
        graph: &mut Graph,
        region: Region,
        values: &[Value],
        listed: &mut Vec<Inst>,
    ) -> SmallVec<[Value; 4]> {
        let mut map: FxHashMap<Value, Value> = self.params.iter().copied().zip(values.iter().copied()).collect();
        for &inst in &self.insts {
            let data = graph.insts[inst].clone();
            let operands = data.operands.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
            let made = graph.insts.push(InstData { operands, results: SmallVec::new(), ..data.clone() });
            graph.locs.push(graph.locs[inst]);
            for (i, &old) in data.results.iter().enumerate() {
                let ty = graph.ty(old).clone();
                let value = graph.values.push(ValueData { ty, def: Def::Result(made, i as u32), region });
                graph.insts[made].results.push(value);
                map.insert(old, value);
            }
            listed.push(made);
        }
        self.results.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect()
    }
}
