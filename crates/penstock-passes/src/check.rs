//! Checks after each instruction that what it gives is finite.

use penstock_data::{DTypeSet, Result};
use penstock_ir::{Def, Graph, Inst, InstData, OpRef, Value, ValueData};
use penstock_ops::array::CHECK_NUMERICS;
use penstock_ops::control::CONST;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use crate::edit::regions;

/// Has every floating point or complex result of an instruction pass through a `check_numerics` of the same location, which names
/// the operator. Constants and what comes out of branches and loops, which is checked inside of them, are left out.
pub(crate) fn run(graph: &mut Graph) -> Result<()> {
    let mut replaced = FxHashMap::default();
    let mut checks: Vec<(Inst, Value)> = Vec::new();
    for region in regions(graph) {
        let insts = std::mem::take(&mut graph.regions[region].insts);
        let mut checked = Vec::with_capacity(2 * insts.len());
        for inst in insts {
            checked.push(inst);
            let data = &graph.insts[inst];
            if !data.regions.is_empty() || data.op.is(&CONST) || data.op.is(&CHECK_NUMERICS) {
                continue;
            }
            let (op, results) = (data.op.name, data.results.clone());
            for (i, &result) in results.iter().enumerate() {
                let ty = graph.ty(result).clone();
                if !DTypeSet::INEXACT.contains(ty.dtype()) || ty.is_variable() {
                    continue;
                }
                let attrs =
                    CHECK_NUMERICS.attributes(&[("message", describe(op, i, results.len()).as_str().into())])?;
                let check = graph.insts.push(InstData {
                    op: OpRef(&CHECK_NUMERICS),
                    operands: smallvec![],
                    attrs,
                    regions: smallvec![],
                    results: smallvec![],
                });
                let loc = graph.locs[inst];
                graph.locs.push(loc);
                let value = graph.values.push(ValueData { ty, def: Def::Result(check, 0), region });
                replaced.insert(result, value);
                checks.push((check, result));
                graph.insts[check].results.push(value);
                checked.push(check);
            }
        }
        graph.regions[region].insts = checked;
    }
    graph.replace_uses(&replaced);
    // These alone use what they check.
    for (check, result) in checks {
        graph.insts[check].operands.push(result);
    }
    Ok(())
}

/// What a failed check says of the value: the operator that gave it, and which result it is where there are several.
pub fn describe(op: &str, index: usize, count: usize) -> String {
    if count == 1 { format!("the result of {op}") } else { format!("result {index} of {op}") }
}
