//! Groups scalar instructions, control flow among them, so that they run as machine code.

use penstock_data::{DType, Result};
use penstock_ir::{Cpu, Graph, Inst, Region, Value};
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_ops::fused::NATIVE;
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::inputs;
use crate::group::{Rule, group};

/// The fewest instructions that pay for entering and leaving machine code.
const MIN_INSTS: usize = 4;
/// The most instructions of a group: what compiles in a few milliseconds.
const MAX_INSTS: usize = 512;

/// Makes `native` instructions of instructions on scalars that use each other.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let fits = |graph: &Graph, insts: &[Inst]| size(graph, insts) <= MAX_INSTS;
    let pays = |graph: &Graph, insts: &[Inst]| {
        size(graph, insts) >= MIN_INSTS || insts.iter().any(|&i| graph.insts[i].op.is(&WHILE))
    };
    let candidate = |graph: &Graph, inst: Inst, _: &Cx| scalar(graph, inst).then_some(true);
    group(graph, cx, &Rule { op: &NATIVE, candidate, fits, pays, constants: true });
    Ok(())
}

/// How many instructions these are with those in their regions.
fn size(graph: &Graph, insts: &[Inst]) -> usize {
    let mut count = insts.len();
    for &inst in insts {
        for &region in &graph.insts[inst].regions {
            graph.visit_region(region, &mut |_, _, _| count += 1);
        }
    }
    count
}

fn is_scalar(graph: &Graph, value: Value) -> bool {
    let ty = graph.ty(value);
    let numeric = ty.dtype() <= DType::F64 && !ty.is_variable();
    numeric && ty.shape().dims().is_some_and(<[_]>::is_empty)
}

/// Whether an instruction works on scalars alone.
fn scalar(graph: &Graph, inst: Inst) -> bool {
    let data = &graph.insts[inst];
    let scalars = |values: &[Value]| values.iter().all(|&v| is_scalar(graph, v));
    if data.results.is_empty() || !scalars(&data.results) || !scalars(&data.operands) {
        return false;
    }
    if let Cpu::Elementwise(lookup) = data.op.cpu {
        let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
        return !dtypes.is_empty() && lookup(&dtypes, &data.attrs).is_some();
    }
    let control = data.op.is(&COND) || data.op.is(&SWITCH) || data.op.is(&WHILE);
    let inside = |region: &Region| {
        let region = &graph.regions[*region];
        region
            .insts
            .iter()
            .all(|&i| scalar(graph, i) || graph.insts[i].op.is(&CONST) && scalars(&graph.insts[i].results))
    };
    control && data.regions.iter().all(inside) && scalars(&inputs(graph, inst))
}
