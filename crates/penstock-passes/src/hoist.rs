//! Loop-invariant motion.

use penstock_data::{Result, Shape};
use penstock_ir::{Cpu, Graph, Inst, Region, Value};
use penstock_ops::control::{CONST, WHILE};
use penstock_ops::linalg::MATMUL;
use penstock_ops::shape_ops::TRANSPOSE;
use rustc_hash::FxHashMap;

use crate::Cx;
use crate::edit::{regions, unlisted};

/// Kernels that never fail on operands of the shapes that inference accepted.
const SAFE: &[&str] = &[
    "matmul",
    "transpose",
    "concat",
    "stack",
    "expand_dims",
    "squeeze",
    "reshape",
    "broadcast_to",
    "fill",
    "zeros_like",
    "ones_like",
    "one_hot",
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_all",
    "reduce_any",
    "softmax",
    "log_softmax",
];
/// Elementwise operators that reject some operands, where these are integers.
const CHECKED: &[&str] = &["floordiv", "floormod", "truncatediv", "truncatemod", "pow"];

/// Moves instructions that give the same in every round to before their loop, and transpositions of matrices by which each
/// round multiplies.
///
/// A loop may run no round, and then these ran for nothing: so only such move as cannot fail.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut order: FxHashMap<Region, usize> = FxHashMap::default();
    for region in regions(graph) {
        order.insert(region, order.len());
    }
    visit(graph, graph.body(), &order, cx);
    Ok(())
}

/// `order` numbers the regions, each after the one around it; what is moved goes to a region that has a number.
fn visit(graph: &mut Graph, region: Region, order: &FxHashMap<Region, usize>, cx: &Cx) {
    let mut listed = Vec::new();
    for inst in std::mem::take(&mut graph.regions[region].insts) {
        // Inner loops first: what leaves them may leave this one too.
        for inner in graph.insts[inst].regions.clone() {
            visit(graph, inner, order, cx);
        }
        if graph.insts[inst].op.is(&WHILE) {
            for inner in graph.insts[inst].regions.clone() {
                listed.extend(invariants(graph, inst, inner, region, order, cx));
            }
        }
        listed.push(inst);
    }
    graph.regions[region].insts = listed;
}

/// Takes the invariants of a region of the loop `owner` out, into `outer`.
fn invariants(
    graph: &mut Graph,
    owner: Inst,
    region: Region,
    outer: Region,
    order: &FxHashMap<Region, usize>,
    cx: &Cx,
) -> Vec<Inst> {
    // What an instruction can see is of its own region and those around it, whose numbers fall outward.
    let first = order[&graph.insts[owner].regions[0]];
    let mut taken = Vec::new();
    for inst in std::mem::take(&mut graph.regions[region].insts) {
        taken.extend(turned_once(graph, inst, outer, |v| order[&v] < first, cx));
        let data = &graph.insts[inst];
        let invariant = data.operands.iter().all(|&v| order[&graph.values[v].region] < first);
        if invariant && never_fails(graph, inst) && cx.spend() {
            for v in graph.insts[inst].results.clone() {
                graph.values[v].region = outer;
            }
            taken.push(inst);
        } else {
            graph.regions[region].insts.push(inst);
        }
    }
    taken
}

/// A product by the transpose of a matrix from outside becomes one by the matrix that the given instruction, to be listed
/// in `outer`, transposes once for all rounds: a kernel goes through memory by rows.
fn turned_once(
    graph: &mut Graph,
    inst: Inst,
    outer: Region,
    outside: impl Fn(Region) -> bool,
    cx: &Cx,
) -> Option<Inst> {
    let data = &graph.insts[inst];
    if !data.op.is(&MATMUL) {
        return None;
    }
    let flag = data.op.attr_index("transpose_b")?;
    let (left, right) = (data.operands[0], data.operands[1]);
    let is_outside = |v: Value| outside(graph.values[v].region);
    let ty = graph.ty(right);
    let &[rows, columns] = &ty.shape().extents()?[..] else { return None };
    // A single row is multiplied by each row of the matrix as it is.
    if graph.ty(data.results[0]).shape().num_elements()? <= rows {
        return None;
    }
    if !data.attrs.flag(flag) || is_outside(left) || !is_outside(right) || !cx.spend() {
        return None;
    }
    let ty = ty.with_shape(Shape::known(&[columns, rows]));
    let attrs = TRANSPOSE.attributes(&[]).ok()?;
    let (turned, value) = unlisted(graph, outer, &TRANSPOSE, &[right], attrs, ty, graph.locs[inst]);
    graph.insts[inst].operands[1] = value;
    graph.insts[inst].attrs.0[flag] = false.into();
    Some(turned)
}

/// Whether an elementwise instruction rejects some elements: divisions and powers of integers.
pub fn rejects_elements(graph: &Graph, inst: Inst) -> bool {
    let data = &graph.insts[inst];
    let integers = data.operands.iter().any(|&v| graph.ty(v).dtype().is_integer());
    matches!(data.op.cpu, Cpu::Elementwise(_)) && integers && CHECKED.contains(&data.op.name)
}

/// Whether an instruction cannot fail, whatever its operands are.
pub(crate) fn never_fails(graph: &Graph, inst: Inst) -> bool {
    let data = &graph.insts[inst];
    let fixed = data.operands.iter().chain(&data.results).all(|&v| graph.ty(v).shape().is_static());
    fixed
        && match data.op.cpu {
            Cpu::Elementwise(_) => !rejects_elements(graph, inst),
            Cpu::Kernel(_) => data.op.is_pure() && SAFE.contains(&data.op.name),
            Cpu::Update(_) => false,
            Cpu::Executor => data.op.is(&CONST),
        }
}

#[cfg(test)]
mod tests {
    use penstock_ir::OpSet;

    #[test]
    fn the_listed_operators_exist() {
        for name in super::SAFE.iter().chain(super::CHECKED) {
            assert!(penstock_ops::Ops.find(name).is_some(), "{name}");
        }
    }
}
