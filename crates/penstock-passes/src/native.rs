//! Groups scalar instructions, control flow among them, so that they run as machine code.

use penstock_data::{DType, Result};
use penstock_ir::{Cpu, Graph, Inst, Region, Value};
use penstock_ops::control::{COND, CONST, SWITCH, WHILE};
use penstock_ops::fused::NATIVE;
use penstock_ops::part::wraps;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::Cx;
use crate::edit::inputs;
use crate::group::{Members, Rule, group};
use crate::lists::{Lists, is_list_op};
use crate::small::small;

/// Makes `native` instructions of instructions that use each other: of loops that work on small arrays with what is around
/// them, and of any that work on scalars.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut repeats = false;
    graph.visit(&mut |_, _, data| repeats |= data.op.is(&WHILE));
    for small in [true, false] {
        if small && !repeats {
            continue;
        }
        let sizes = Sizes::of(graph, small, cx.thresholds.native_bytes);
        let size = |inst: Inst| sizes.all.get(&inst).copied().unwrap_or(1);
        let fits = |_: &Graph, _: &[Inst], size: usize, cx: &Cx| size <= cx.thresholds.native_insts_most;
        let loops = |graph: &Graph, insts: &[Inst]| insts.iter().any(|&i| graph.insts[i].op.is(&WHILE));
        let pays = |graph: &Graph, insts: &[Inst]| match small {
            true => insts.iter().any(|i| sizes.loops.contains(i)) && !takes_lists(graph, insts),
            false => insts.iter().map(|&i| size(i)).sum::<usize>() >= cx.thresholds.native_insts || loops(graph, insts),
        };
        let candidate = |_: &Graph, inst: Inst, _: &Cx| {
            (sizes.all.contains_key(&inst) && (!small || sizes.near.contains(&inst))).then_some(true)
        };
        let own = |graph: &Graph, inst: Inst| {
            graph.insts[inst].op.is(&CONST) && sizes.are_known(graph, &graph.insts[inst].results)
        };
        let extends = |_: &Graph, _: &Members<'_>, _: Inst, _: &Cx| false;
        group(
            graph,
            cx,
            &Rule {
                op: &NATIVE,
                candidate: &candidate,
                size: &size,
                fits: &fits,
                extends: &extends,
                pays: &pays,
                own: &own,
            },
        );
    }
    Ok(())
}

/// The instructions that work on scalars alone and on elements of arrays, in their regions too, and how many each is with those
/// in its regions. Where arrays are `small`, those that work on small arrays as well.
struct Sizes {
    small: bool,
    /// The most bytes of such an array.
    bytes: usize,
    lists: Lists,
    all: FxHashMap<Inst, usize>,
    /// Loops that work on arrays,
    loops: FxHashSet<Inst>,
    /// and what is listed in the same regions as these.
    near: FxHashSet<Inst>,
}

impl Sizes {
    fn of(graph: &Graph, small: bool, bytes: usize) -> Sizes {
        let lists = if small { Lists::of(graph, graph.body()) } else { Lists::default() };
        let mut sizes = Sizes {
            small,
            bytes,
            lists,
            all: FxHashMap::default(),
            loops: FxHashSet::default(),
            near: FxHashSet::default(),
        };
        sizes.region(graph, graph.body());
        sizes
    }

    /// Notes the instructions of a region; gives their number, where all are of this kind or constants, and whether they work on
    /// scalars alone.
    fn region(&mut self, graph: &Graph, region: Region) -> Option<(usize, bool)> {
        let data = &graph.regions[region];
        let (mut all, mut loops) = (Some((0, true)), false);
        for &inst in &data.insts {
            let found = self.inst(graph, inst);
            if let Some((size, scalar)) = found {
                self.all.insert(inst, size);
                if graph.insts[inst].op.is(&WHILE) && !scalar {
                    self.loops.insert(inst);
                    loops = true;
                }
            }
            let constant = graph.insts[inst].op.is(&CONST) && self.are_known(graph, &graph.insts[inst].results);
            let found = found.or(constant.then_some((1, true)));
            all = all.zip(found).map(|((all, scalar), (size, own))| (all + size, scalar && own));
        }
        if loops {
            self.near.extend(data.insts.iter().filter(|i| self.all.contains_key(i)));
        }
        all.filter(|_| self.are_known(graph, &data.results))
    }

    fn inst(&mut self, graph: &Graph, inst: Inst) -> Option<(usize, bool)> {
        let data = &graph.insts[inst];
        let mut size = Some((1, true));
        for &region in &data.regions {
            let inner = self.region(graph, region);
            size = size.zip(inner).map(|((size, scalar), (inner, own))| (size + inner, scalar && own));
        }
        // An element of an array, which is made outside: all that is inside are scalars.
        let element = wraps(data.op.0, &data.attrs).is_some()
            && is_array(graph, data.operands[0])
            && !is_scalar(graph, data.operands[0]);
        let operands = if element { &data.operands[1..] } else { &data.operands[..] };
        let scalars = are_scalars(graph, &data.results) && are_scalars(graph, operands);
        let controls = data.op.is(&COND) || data.op.is(&SWITCH) || data.op.is(&WHILE);
        let known = match data.op.cpu {
            Cpu::Elementwise(function) => {
                let dtypes: SmallVec<[DType; 4]> = data.operands.iter().map(|&v| graph.ty(v).dtype()).collect();
                function.kernel(&dtypes, graph.ty(data.results[0]).dtype()).is_some()
            }
            _ => element || controls,
        };
        let scalars = scalars && known;
        let arrays = || {
            if controls {
                self.are_known(graph, &data.operands) && self.are_known(graph, &data.results)
            } else if is_list_op(data.op.0) {
                data.operands.iter().chain(&data.results).all(|&v| is_array(graph, v) || self.lists.get(v).is_some())
            } else if element {
                are_scalars(graph, operands) && self.are_known(graph, &data.results)
            } else {
                small(graph, inst, self.bytes).is_some()
            }
        };
        let found = scalars || (self.small && arrays());
        size.filter(|_| found && !data.results.is_empty()).map(|(size, own)| (size, own && scalars))
    }

    /// Whether all are scalars, or of what else is taken.
    fn are_known(&self, graph: &Graph, values: &[Value]) -> bool {
        let known = |&v: &Value| {
            let bytes = || graph.ty(v).shape().num_elements().unwrap_or(0) * graph.ty(v).dtype().size();
            is_scalar(graph, v)
                || self.small
                    && (is_array(graph, v) && (1..=self.bytes).contains(&bytes()) || self.lists.get(v).is_some())
        };
        values.iter().all(known)
    }
}

/// Whether instructions use lists that others make.
fn takes_lists(graph: &Graph, insts: &[Inst]) -> bool {
    let made: FxHashSet<Value> = insts.iter().flat_map(|&i| graph.insts[i].results.iter().copied()).collect();
    let is_list = |v: &Value| graph.ty(*v).dtype() == DType::Variant && !made.contains(v);
    insts.iter().any(|&i| inputs(graph, i).iter().any(is_list))
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
