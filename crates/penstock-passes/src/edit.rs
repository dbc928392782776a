//! What several passes do to graphs.

use penstock_data::{Loc, Tensor};
use penstock_ir::{Attr, Attrs, Def, Graph, Inst, InstData, OpDef, OpRef, Region, Type, Value, ValueData};
use penstock_ops::control::CONST;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

/// Calls `visit` on every value that an instruction uses, in its regions too.
fn uses(graph: &Graph, inst: Inst, visit: &mut impl FnMut(Value)) {
    let data = &graph.insts[inst];
    data.operands.iter().copied().for_each(&mut *visit);
    for &region in &data.regions {
        for &inner in &graph.regions[region].insts {
            uses(graph, inner, visit);
        }
        graph.regions[region].results.iter().copied().for_each(&mut *visit);
    }
}

/// The regions that an instruction owns, with those inside them.
pub(crate) fn nested(graph: &Graph, inst: Inst) -> FxHashSet<Region> {
    let mut all: FxHashSet<Region> = graph.insts[inst].regions.iter().copied().collect();
    for &region in &graph.insts[inst].regions {
        graph.visit_region(region, &mut |_, _, data| all.extend(&data.regions));
    }
    all
}

/// The values from outside that an instruction uses, in its regions too, each once.
pub(crate) fn inputs(graph: &Graph, inst: Inst) -> SmallVec<[Value; 4]> {
    let own = nested(graph, inst);
    let mut found: SmallVec<[Value; 4]> = SmallVec::new();
    uses(graph, inst, &mut |v| {
        if !own.contains(&graph.values[v].region) && !found.contains(&v) {
            found.push(v);
        }
    });
    found
}

/// Every listed region, each after the one around it.
pub(crate) fn regions(graph: &Graph) -> Vec<Region> {
    let mut all = vec![graph.body()];
    graph.visit(&mut |_, _, data| all.extend(&data.regions));
    all
}

/// Makes an instruction of one result in `region`, for the caller to list there.
pub(crate) fn unlisted(
    graph: &mut Graph,
    region: Region,
    op: &'static OpDef,
    operands: &[Value],
    attrs: Attrs,
    ty: Type,
    loc: Loc,
) -> (Inst, Value) {
    let data = InstData {
        op: OpRef(op),
        operands: operands.into(),
        attrs,
        regions: SmallVec::new(),
        results: SmallVec::new(),
    };
    let inst = graph.insts.push(data);
    graph.locs.push(loc);
    let value = graph.values.push(ValueData { ty, def: Def::Result(inst, 0), region });
    graph.insts[inst].results.push(value);
    (inst, value)
}

/// Makes an instruction of one result a constant.
pub(crate) fn make_constant(graph: &mut Graph, inst: Inst, value: Tensor) {
    let results = graph.insts[inst].results.clone();
    graph.values[results[0]].ty = Type::of(&value);
    graph.insts[inst] = InstData {
        op: OpRef(&CONST),
        operands: SmallVec::new(),
        attrs: Attrs(smallvec![Attr::Tensor(value)]),
        regions: SmallVec::new(),
        results,
    };
}

/// The name of a replaced value goes to what replaces it, where that has none.
pub(crate) fn inherit_name(graph: &mut Graph, old: Value, new: Value) {
    if let Some(name) = graph.names.get(&old).cloned() {
        graph.names.entry(new).or_insert(name);
    }
}
