//! Groups scalar instructions, control flow among them, so that they run as machine code.

use penstock_data::{DType, Result};
use penstock_ir::{Cpu, Graph, Inst, Region, Value};
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_ops::fused::NATIVE;
use penstock_ops::part::wraps;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Cx;
use crate::group::{Members, Rule, group};

/// The fewest instructions that pay for entering and leaving machine code.
const MIN_INSTS: usize = 4;
/// The most instructions of a group: what compiles in a few milliseconds.
const MAX_INSTS: usize = 512;

/// Makes `native` instructions of instructions on scalars that use each other.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let sizes = Sizes::of(graph);
    let size = |insts: &[Inst]| insts.iter().map(|i| sizes.0.get(i).copied().unwrap_or(1)).sum::<usize>();
    let fits = |_: &Graph, insts: &[Inst]| size(insts) <= MAX_INSTS;
    let pays =
        |graph: &Graph, insts: &[Inst]| size(insts) >= MIN_INSTS || insts.iter().any(|&i| graph.insts[i].op.is(&WHILE));
    let candidate = |_: &Graph, inst: Inst, _: &Cx| sizes.0.contains_key(&inst).then_some(true);
    let own =
        |graph: &Graph, inst: Inst| graph.insts[inst].op.is(&CONST) && are_scalars(graph, &graph.insts[inst].results);
    let extends = |_: &Graph, _: &Members<'_>, _: Inst| false;
    group(
        graph,
        cx,
        &Rule { op: &NATIVE, candidate: &candidate, fits: &fits, extends: &extends, pays: &pays, own: &own },
    );
    Ok(())
}

/// The instructions that work on scalars alone and on elements of arrays, in their regions too, and how many each is with those in its regions.
struct Sizes(FxHashMap<Inst, usize>);

impl Sizes {
    fn of(graph: &Graph) -> Sizes {
        let mut sizes = Sizes(FxHashMap::default());
        sizes.region(graph, graph.body());
        sizes
    }

    /// Notes the instructions of a region; gives their number, where all are on scalars or constants.
    fn region(&mut self, graph: &Graph, region: Region) -> Option<usize> {
        let data = &graph.regions[region];
        let mut all = Some(0);
        for &inst in &data.insts {
            let size = self.inst(graph, inst);
            if let Some(size) = size {
                self.0.insert(inst, size);
            }
            let constant = graph.insts[inst].op.is(&CONST) && are_scalars(graph, &graph.insts[inst].results);
            all = all.zip(size.or(constant.then_some(1))).map(|(all, size)| all + size);
        }
        all.filter(|_| are_scalars(graph, &data.results))
    }

    fn inst(&mut self, graph: &Graph, inst: Inst) -> Option<usize> {
        let data = &graph.insts[inst];
        let mut size = Some(1);
        for &region in &data.regions {
            size = size.zip(self.region(graph, region)).map(|(size, inner)| size + inner);
        }
        // An element of an array, which is made outside: all that is inside are scalars.
        let element = wraps(data.op.0, &data.attrs).is_some()
            && is_array(graph, data.operands[0])
            && !is_scalar(graph, data.operands[0]);
        let operands = if element { &data.operands[1..] } else { &data.operands[..] };
        let scalars = are_scalars(graph, &data.results) && are_scalars(graph, operands);
        let known = match data.op.cpu {
            Cpu::Elementwise(lookup) => {
                let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
                !dtypes.is_empty() && lookup(&dtypes, &data.attrs).is_some()
            }
            _ => element || data.op.is(&COND) || data.op.is(&SWITCH) || data.op.is(&WHILE),
        };
        size.filter(|_| scalars && known && !data.results.is_empty())
    }
}

fn are_scalars(graph: &Graph, values: &[Value]) -> bool {
    values.iter().all(|&v| is_scalar(graph, v))
}

fn is_scalar(graph: &Graph, value: Value) -> bool {
    is_array(graph, value) && graph.ty(value).shape().rank() == Some(0)
}

/// Whether a value has numbers of known extents.
fn is_array(graph: &Graph, value: Value) -> bool {
    let ty = graph.ty(value);
    ty.dtype() <= DType::F64 && !ty.is_variable() && ty.shape().is_static()
}
