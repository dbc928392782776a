//! Who uses which values, as each region sees it.

use penstock_ir::{Graph, Inst, Region, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Who uses a value in its own region: an instruction there, which may do so in a region that it owns, or, for `None`, the
/// results of the region.
pub(crate) type User = Option<Inst>;

/// The uses of all values. Each use is noted once, where its value was made, however deep the region that it stands in: so
/// making this takes time linear in the size of the graph.
pub(crate) struct Uses {
    users: FxHashMap<Value, SmallVec<[User; 2]>>,
    used: FxHashMap<Inst, SmallVec<[Value; 3]>>,
}

impl Uses {
    /// The uses by what is listed in a graph.
    pub(crate) fn of(graph: &Graph) -> Uses {
        let mut uses = Uses { users: FxHashMap::default(), used: FxHashMap::default() };
        uses.users.reserve(graph.values.len());
        uses.used.reserve(graph.insts.len());
        uses.region(graph, graph.body(), &mut FxHashMap::default());
        uses
    }

    /// Who uses a value, in order; more than once where it is used more than once.
    pub(crate) fn users(&self, value: Value) -> &[User] {
        self.users.get(&value).map_or(&[], |users| users)
    }

    /// The values of its own region that an instruction uses.
    pub(crate) fn used(&self, inst: Inst) -> &[Value] {
        self.used.get(&inst).map_or(&[], |used| used)
    }

    /// `at` says for each region around this one, which instruction of it this one is in.
    fn region(&mut self, graph: &Graph, region: Region, at: &mut FxHashMap<Region, User>) {
        let data = &graph.regions[region];
        for &inst in &data.insts {
            at.insert(region, Some(inst));
            for &v in &graph.insts[inst].operands {
                self.note(graph, v, at);
            }
            for &inner in &graph.insts[inst].regions {
                self.region(graph, inner, at);
            }
        }
        at.insert(region, None);
        for &v in &data.results {
            self.note(graph, v, at);
        }
    }

    fn note(&mut self, graph: &Graph, value: Value, at: &FxHashMap<Region, User>) {
        let user = at.get(&graph.values[value].region).copied().flatten();
        self.users.entry(value).or_default().push(user);
        if let Some(inst) = user {
            self.used.entry(inst).or_default().push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_data::{DType, Shape};
    use penstock_ir::{Attrs, Builder, OpDef, OpSet, Type};
    use penstock_ops::control::{COND, CONST};

    use super::*;

    fn op(name: &str) -> &'static OpDef {
        penstock_ops::Ops.find(name).unwrap()
    }

    /// `x` used at the bottom of `depth` branches inside each other, and who uses what.
    fn nested(depth: usize) -> (Graph, Uses) {
        fn level(b: &mut Builder, depth: usize, x: Value, p: Value) -> Value {
            if depth == 0 {
                return b.emit(op("exp"), &[x], &[]).unwrap()[0];
            }
            b.begin_region([]);
            let deeper = level(b, depth - 1, x, p);
            let first = b.end_region(&[deeper]).unwrap();
            b.begin_region([]);
            let second = b.end_region(&[x]).unwrap();
            let inst = b.inst(&COND, &[p], Attrs::EMPTY, &[first, second]).unwrap();
            b.results(inst)[0]
        }
        let mut b = Builder::new(&CONST);
        let x = b.input(Type::tensor(DType::F32, Shape::known(&[3])), None);
        let p = b.input(Type::tensor(DType::Bool, Shape::known(&[])), None);
        let out = level(&mut b, depth, x, p);
        let graph = b.finish(&[out]).unwrap().into_graph();
        let uses = Uses::of(&graph);
        (graph, uses)
    }

    #[test]
    fn uses_in_regions_count_for_their_owner() {
        let (graph, uses) = nested(3);
        let x = graph.inputs()[0];
        let outer = graph.def_inst(graph.outputs()[0]);
        assert!(uses.users(x).iter().all(|&user| user == outer));
        assert!(uses.used(outer.unwrap()).contains(&x));
        assert_eq!(uses.users(graph.outputs()[0]), [None]);
    }

    #[test]
    fn what_is_noted_grows_with_the_graph_and_not_with_its_depth() {
        let noted = |depth| {
            let (_, uses) = nested(depth);
            uses.users.values().map(SmallVec::len).sum::<usize>() + uses.used.values().map(SmallVec::len).sum::<usize>()
        };
        let (one, two) = (noted(101) - noted(100), noted(201) - noted(200));
        assert_eq!(one, two);
    }
}
