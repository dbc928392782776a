//! What nobody needs: instructions, loop variables, and results of branches.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::effects::{effects_of, effects_of_owners};
use crate::entities::{Entity, Inst, Region, Value};
use crate::graph::{Def, Graph};
use crate::op::{Cpu, Structure};

/// Drops from `roots` and the regions in them what neither acts nor contributes to the results of `roots`: instructions,
/// variables of loops, results of `cond` and `switch`. `allow` is asked before each is dropped.
///
/// A dead instruction that would have failed is dropped all the same. The roots see each other only as regions of one
/// graph do: one may use values of another.
pub fn drop_dead(graph: &mut Graph, roots: &[Region], allow: &mut dyn FnMut() -> bool) {
    let owners = roots.iter().flat_map(|&root| effects_of_owners(graph, root));
    let acting = owners.filter_map(|(inst, effects)| effects.acts().then_some(inst)).collect();
    let values = vec![false; graph.values.len()];
    let mut marks = Marks { values, work: Vec::new(), owners: FxHashMap::default(), acting };
    for &root in roots {
        marks.enter(graph, root);
        marks.results(graph, root);
    }
    marks.spread(graph);
    for &root in roots {
        sweep(graph, root, &mut marks, allow);
    }
}

/// How the results of an instruction depend on its regions; `None` where all depend on all.
fn structure(graph: &Graph, inst: Inst) -> Option<Structure> {
    match graph.insts[inst].op.cpu {
        Cpu::Executor(structure @ (Structure::Branches | Structure::Loop)) => Some(structure),
        _ => None,
    }
}

struct Marks {
    /// Whether each value is of use.
    values: Vec<bool>,
    work: Vec<Value>,
    /// The loop that a region belongs to.
    owners: FxHashMap<Region, Inst>,
    /// The instructions with regions that act.
    acting: FxHashSet<Inst>,
}

impl Marks {
    fn is_live(&self, value: Value) -> bool {
        self.values[value.index()]
    }

    /// Whether an instruction acts on anything but its results.
    fn acts(&self, graph: &Graph, inst: Inst) -> bool {
        if graph.insts[inst].regions.is_empty() { effects_of(graph, inst).acts() } else { self.acting.contains(&inst) }
    }

    fn mark(&mut self, value: Value) {
        if !std::mem::replace(&mut self.values[value.index()], true) {
            self.work.push(value);
        }
    }

    fn results(&mut self, graph: &Graph, region: Region) {
        graph.regions[region].results.iter().for_each(|&v| self.mark(v));
    }

    /// Notes the loops of a region, and marks what its acting instructions use.
    fn enter(&mut self, graph: &Graph, region: Region) {
        for &inst in &graph.regions[region].insts {
            if structure(graph, inst) == Some(Structure::Loop) {
                self.owners.extend(graph.insts[inst].regions.iter().map(|&r| (r, inst)));
            }
            graph.insts[inst].regions.iter().for_each(|&r| self.enter(graph, r));
            if self.acts(graph, inst) {
                self.inst(graph, inst);
            }
        }
    }

    /// Marks what an instruction that is kept needs, whatever of its results is of use.
    fn inst(&mut self, graph: &Graph, inst: Inst) {
        let data = &graph.insts[inst];
        match structure(graph, inst) {
            Some(Structure::Branches) => self.mark(data.operands[0]),
            Some(Structure::Loop) => self.results(graph, data.regions[0]),
            _ => {
                data.operands.iter().for_each(|&v| self.mark(v));
                data.regions.iter().for_each(|&r| self.results(graph, r));
            }
        }
    }

    fn variable(&mut self, graph: &Graph, inst: Inst, k: usize) {
        let data = &graph.insts[inst];
        self.mark(data.operands[k]);
        self.mark(data.results[k]);
        self.mark(graph.regions[data.regions[1]].results[k]);
        self.results(graph, data.regions[0]);
    }

    fn spread(&mut self, graph: &Graph) {
        while let Some(value) = self.work.pop() {
            match graph.values[value].def {
                Def::Param(k) => {
                    if let Some(&inst) = self.owners.get(&graph.values[value].region) {
                        self.variable(graph, inst, k as usize);
                    }
                }
                Def::Result(inst, k) => {
                    let data = &graph.insts[inst];
                    self.inst(graph, inst);
                    match structure(graph, inst) {
                        Some(Structure::Branches) => {
                            data.regions.iter().for_each(|&r| self.mark(graph.regions[r].results[k as usize]));
                        }
                        Some(Structure::Loop) => self.variable(graph, inst, k as usize),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// What was dropped of an instruction leaves nothing for what computed it, so `allow` is not asked again.
fn sweep(graph: &mut Graph, region: Region, marks: &mut Marks, allow: &mut dyn FnMut() -> bool) {
    let insts = std::mem::take(&mut graph.regions[region].insts);
    let mut kept = Vec::with_capacity(insts.len());
    for inst in insts.into_iter().rev() {
        let used = graph.insts[inst].results.iter().any(|&v| marks.is_live(v));
        if !used && !marks.acts(graph, inst) {
            if allow() {
                continue;
            }
            // What is kept against this judgement needs what it needs.
            graph.insts[inst].results.iter().for_each(|&v| marks.mark(v));
            marks.inst(graph, inst);
            marks.spread(graph);
        }
        let trimmed = trim(graph, inst, marks, allow);
        for r in graph.insts[inst].regions.clone() {
            if trimmed {
                sweep(graph, r, marks, &mut || true);
            } else {
                sweep(graph, r, marks, allow);
            }
        }
        kept.push(inst);
    }
    kept.reverse();
    graph.regions[region].insts = kept;
}

/// Drops the results of branches and the variables of loops that are of no use; whether there were any.
fn trim(graph: &mut Graph, inst: Inst, marks: &mut Marks, allow: &mut dyn FnMut() -> bool) -> bool {
    let structure = structure(graph, inst);
    let results = graph.insts[inst].results.clone();
    if structure.is_none() || results.iter().all(|&v| marks.is_live(v)) {
        return false;
    }
    if !allow() {
        results.iter().for_each(|&v| marks.mark(v));
        marks.spread(graph);
        return false;
    }
    let regions = graph.insts[inst].regions.clone();
    let live: SmallVec<[bool; 8]> = results.iter().map(|&v| marks.is_live(v)).collect();
    retain(&mut graph.insts[inst].results, &live);
    for (k, v) in graph.insts[inst].results.clone().into_iter().enumerate() {
        graph.values[v].def = Def::Result(inst, k as u32);
    }
    if structure == Some(Structure::Branches) {
        regions.iter().for_each(|&r| retain(&mut graph.regions[r].results, &live));
        return true;
    }
    retain(&mut graph.insts[inst].operands, &live);
    retain(&mut graph.regions[regions[1]].results, &live);
    for r in regions {
        retain(&mut graph.regions[r].params, &live);
        for (k, v) in graph.regions[r].params.clone().into_iter().enumerate() {
            graph.values[v].def = Def::Param(k as u32);
        }
    }
    true
}

fn retain<A: smallvec::Array<Item = Value>>(list: &mut SmallVec<A>, live: &[bool]) {
    let mut live = live.iter();
    list.retain(|_| live.next() == Some(&true));
}
