//! Groups elementwise instructions, so that they run in one pass over memory.

use penstock_data::{DType, DTypeSet, Dims, Result};
use penstock_ir::{Cpu, Graph, Inst, Value};
use penstock_ops::fused::FUSED;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::Cx;
use crate::group::{Rule, group};

/// Results smaller than this stay in the first-level cache anyway: grouping them gains nothing.
pub const MIN_FUSED_BYTES: usize = 16 << 10;
/// The most instructions of a group.
const MAX_INSTS: usize = 64;
/// The most operands of a group: streams that are read at the same time.
const MAX_STREAMS: usize = 16;
/// The most operands of an instruction of a group.
const MAX_ARITY: usize = 4;

/// Makes `fused` instructions of elementwise instructions of one result shape that use each other.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    group(graph, cx, &Rule { op: &FUSED, candidate, fits, pays: |_, insts| insts.len() > 1, constants: false });
    Ok(())
}

/// The extents of the result, where the instruction can be in a group.
fn candidate(graph: &Graph, inst: Inst, cx: &Cx) -> Option<Dims> {
    let data = &graph.insts[inst];
    let (Cpu::Elementwise(lookup), [result]) = (data.op.cpu, &data.results[..]) else { return None };
    let ty = graph.ty(*result);
    let dims = ty.shape().extents()?;
    let n = ty.shape().num_elements()?;
    let fits = |&v: &Value| {
        let shape = graph.ty(v).shape();
        shape.extents().as_ref() == Some(&dims) || shape.num_elements() == Some(1)
    };
    let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
    (n * ty.dtype().size().max(1) >= cx.min_fused_bytes
        && (1..=MAX_ARITY).contains(&data.operands.len())
        && data.operands.iter().all(fits)
        && dtypes.iter().all(|&d| DTypeSet::PLAIN.contains(d))
        && DTypeSet::PLAIN.contains(ty.dtype())
        && lookup(&dtypes, &data.attrs).is_some())
    .then_some(dims)
}

fn fits(graph: &Graph, insts: &[Inst]) -> bool {
    insts.len() <= MAX_INSTS && streams(graph, insts) <= MAX_STREAMS
}

/// The number of operands from outside.
fn streams(graph: &Graph, insts: &[Inst]) -> usize {
    let made: FxHashSet<Value> = insts.iter().map(|&i| graph.insts[i].results[0]).collect();
    let ins: FxHashSet<Value> =
        insts.iter().flat_map(|&i| graph.insts[i].operands.iter().copied()).filter(|v| !made.contains(v)).collect();
    ins.len()
}
