//! Groups elementwise instructions and the reductions of what they make, so that they run in one pass over memory.

use penstock_data::{DType, DTypeSet, Dims, INLINE_BYTES, Result};
use penstock_ir::{Cpu, Cuda, Graph, Inst, Region, Value};
use penstock_kernels::Reduce;
use penstock_ops::control::WHILE;
use penstock_ops::fused::FUSED;
use penstock_ops::reduce::reduction_of;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::group::{Members, Rule, group};
use crate::space::{Space, work};
use crate::view::is_view;
use crate::{Cx, Thresholds, dce};

/// The most operands of an instruction of a group.
const MAX_ARITY: usize = 4;

/// Makes `fused` instructions of instructions that use each other and work on the same rows and columns.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let reads_view = |graph: &Graph, i: Inst| {
        graph.insts[i].operands.iter().any(|&v| graph.def_inst(v).is_some_and(|i| is_view(graph, i)))
    };
    let pays = |graph: &Graph, insts: &[Inst]| insts.len() > 1 || insts.iter().any(|&i| reads_view(graph, i));
    if cx.for_device {
        // A device makes one kernel of a group; its operands and results lie in its memory one behind the other. Sums over rows come out of the
        // same kernel.
        let elementwise = |graph: &Graph, inst: Inst, cx: &Cx| {
            let data = &graph.insts[inst];
            if summed_columns(graph, inst).is_some() {
                return Some(false); // of what a group makes
            }
            let has_code = matches!(data.op.cuda, Cuda::Formula(..) | Cuda::Elementwise(_));
            candidate(graph, inst, cx).filter(|_| matches!(data.op.cpu, Cpu::Elementwise(_)) && has_code)
        };
        let rule = Rule {
            op: &FUSED,
            candidate: &elementwise,
            size: &|_| 1,
            fits: &fits,
            extends: &extends,
            pays: &|_, insts| insts.len() > 1,
            own: &|_, _| false,
        };
        group(graph, cx, &rule);
        return Ok(());
    }
    group(
        graph,
        cx,
        &Rule {
            op: &FUSED,
            candidate: &candidate,
            size: &|_| 1,
            fits: &fits,
            extends: &extends,
            pays: &pays,
            own: &is_view,
        },
    );
    // Views that groups have copies of.
    dce::run(graph, cx)
}

/// The extents of sums over all rows of a matrix of floats, where the group that makes the matrix adds them up on a device: few rows, which
/// it joins tile by tile, and columns for which it has counters.
pub fn summed_columns(graph: &Graph, inst: Inst) -> Option<Dims> {
    const ROWS: usize = 1 << 12;
    const COLUMNS: usize = 1 << 13;
    let (kind, axes) = reduction_of(graph, inst)?;
    let data = &graph.insts[inst];
    if data.operands.len() > 1 {
        return None; // the shape of the result would be an operand of the kernel
    }
    let from = graph.ty(data.operands[0]).shape().extents()?;
    let to = graph.ty(data.results[0]).shape().extents()?;
    let split = axes.iter().take_while(|axis| **axis).count();
    let (rows, columns) = (from[..split].iter().product::<usize>(), from[split..].iter().product::<usize>());
    let sums = kind == Reduce::Sum && DTypeSet::FLOAT.contains(graph.ty(data.operands[0]).dtype());
    (sums && !axes[split..].contains(&true) && (2..=ROWS).contains(&rows) && (2..=COLUMNS).contains(&columns))
        .then_some(to)
}

/// Makes groups of elementwise instructions on less memory in the bodies of loops, where these are not machine code.
pub(crate) fn run_in_loops(graph: &mut Graph, cx: &Cx) -> Result<()> {
    if cx.for_device {
        return Ok(()); // what is small is left to the host
    }
    let mut in_loops: FxHashSet<Region> = FxHashSet::default();
    graph.visit(&mut |_, _, data| {
        if data.op.is(&WHILE) {
            in_loops.insert(data.regions[1]);
        }
    });
    if in_loops.is_empty() {
        return Ok(());
    }
    let small = |graph: &Graph, inst: Inst, cx: &Cx| {
        let data = &graph.insts[inst];
        let result = *data.results.first()?;
        let within = matches!(data.op.cpu, Cpu::Elementwise(_)) && in_loops.contains(&graph.values[result].region);
        let bytes = graph.ty(result).shape().num_elements()? * graph.ty(result).dtype().size();
        (within && candidate(graph, inst, cx).is_some())
            .then_some(bytes >= cx.thresholds.fused_bytes_in_loop.min(cx.thresholds.fused_bytes))
    };
    let pays = |_: &Graph, insts: &[Inst]| insts.len() >= cx.thresholds.fused_insts_in_loop;
    group(
        graph,
        cx,
        &Rule {
            op: &FUSED,
            candidate: &small,
            size: &|_| 1,
            fits: &fits,
            extends: &extends,
            pays: &pays,
            own: &is_view,
        },
    );
    dce::run(graph, cx)
}

/// Whether an instruction can be in a group, and whether one can start with it: where it works on enough memory.
pub(crate) fn candidate(graph: &Graph, inst: Inst, cx: &Cx) -> Option<bool> {
    let data = &graph.insts[inst];
    let [result] = data.results[..] else { return None };
    let n = work(graph, inst)?.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n > 0)?;
    let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
    let size = dtypes.iter().chain([&graph.ty(result).dtype()]).map(|d| d.size()).max().unwrap_or(1);
    let possible = match data.op.cpu {
        Cpu::Elementwise(function) => {
            (1..=MAX_ARITY).contains(&data.operands.len())
                && dtypes.iter().all(|&d| DTypeSet::PLAIN.contains(d))
                && function.kernel(&dtypes, graph.ty(result).dtype()).is_some()
        }
        _ => reduction_of(graph, inst).is_some(),
    };
    // On a device a kernel less is worth it for whatever the device computes.
    let least = if cx.for_device { INLINE_BYTES + 1 } else { cx.thresholds.fused_bytes };
    (possible && DTypeSet::PLAIN.contains(graph.ty(result).dtype())).then(|| n * size.max(1) >= least)
}

fn fits(graph: &Graph, insts: &[Inst], _: usize, cx: &Cx) -> bool {
    let Thresholds { fused_insts, fused_streams, fused_row_bytes, .. } = cx.thresholds;
    insts.len() <= fused_insts
        && streams(graph, insts) <= fused_streams
        && Space::of(graph, insts).is_some_and(|space| space.row_bytes.is_none_or(|bytes| bytes <= fused_row_bytes))
}

/// Whether an elementwise instruction reads nothing but what the group reads and makes, and single elements, all of its extents
/// already: then it adds no stream and rows and columns stay as they are.
fn extends(graph: &Graph, group: &Members<'_>, inst: Inst, cx: &Cx) -> bool {
    let data = &graph.insts[inst];
    let same = |v: Value| graph.ty(v).shape() == graph.ty(data.results[0]).shape();
    let alike = |&v: &Value| {
        let one = graph.ty(v).shape().num_elements() == Some(1);
        let view = graph.def_inst(v).is_some_and(|i| is_view(graph, i));
        if one { !view } else { same(v) && group.values.contains(&v) }
    };
    group.insts.len() < cx.thresholds.fused_insts
        && matches!(data.op.cpu, Cpu::Elementwise(_))
        && data.operands.iter().all(alike)
        && group
            .insts
            .iter()
            .all(|&i| matches!(graph.insts[i].op.cpu, Cpu::Elementwise(_)) && same(graph.insts[i].results[0]))
}

/// The number of operands from outside of more than one element.
fn streams(graph: &Graph, insts: &[Inst]) -> usize {
    let made: FxHashSet<Value> = insts.iter().map(|&i| graph.insts[i].results[0]).collect();
    let ins: FxHashSet<Value> =
        insts.iter().flat_map(|&i| graph.insts[i].operands.iter().copied()).filter(|v| !made.contains(v)).collect();
    let ins = ins.iter().filter(|&&v| graph.ty(v).shape().num_elements() != Some(1));
    ins.count()
}
