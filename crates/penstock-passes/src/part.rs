//! Single indices: a `strided_slice` of nothing else becomes a `part`, which takes the indices as they are rather than packed
//! into vectors, and which machine code can make.

use penstock_data::{Result, Tensor};
use penstock_ir::{Attr, Attrs, Graph, Inst, OpRef, Region, Type, Value};
use penstock_ops::control::CONST;
use penstock_ops::fused::FUSED;
use penstock_ops::joining::STACK;
use penstock_ops::part::PART;
use penstock_ops::slicing::STRIDED_SLICE;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use crate::edit::{nested, regions, unlisted};
use crate::{Cx, dce};

/// An index: a value, or a number that is known.
#[derive(Clone, Copy)]
enum Index {
    Value(Value),
    Known(i64),
}

/// Makes `part` instructions; those of groups stay, whose programs read the slices in place.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut grouped: FxHashSet<Region> = FxHashSet::default();
    let mut any = false;
    for region in regions(graph) {
        for &inst in graph.regions[region].insts.iter().filter(|&&i| graph.insts[i].op.is(&FUSED)) {
            grouped.extend(nested(graph, inst));
        }
        if grouped.contains(&region) {
            continue;
        }
        let mut listed = Vec::with_capacity(graph.regions[region].insts.len());
        for inst in std::mem::take(&mut graph.regions[region].insts) {
            if let Some(indices) = indices_of(graph, inst)
                && cx.spend()
            {
                any = true;
                listed.extend(take(graph, region, inst, &indices));
            }
            listed.push(inst);
        }
        graph.regions[region].insts = listed;
    }
    if any { dce::run(graph, cx) } else { Ok(()) }
}

/// The indices, where an instruction takes nothing but single ones of an array of known extents.
fn indices_of(graph: &Graph, inst: Inst) -> Option<SmallVec<[Index; 4]>> {
    let data = &graph.insts[inst];
    if !data.op.is(&STRIDED_SLICE) {
        return None;
    }
    let strides = graph.constant(data.operands[3])?.to_ints().ok()?;
    let count = strides.len();
    // The last mask says which entries are single indices; these want no negative stride, and no end.
    let single = (0..4).all(|mask| data.attrs.int(mask) == 0)
        && (1..63).contains(&count)
        && data.attrs.int(4) == (1 << count) - 1;
    let array = graph.ty(data.operands[0]).shape();
    let known = array.is_static() && array.rank().is_some_and(|rank| count <= rank) && strides.iter().all(|&s| s > 0);
    let ends = graph.ty(data.operands[2]).shape().extents()?;
    if !single || !known || ends[..] != [count] {
        return None;
    }
    let indices: SmallVec<[Index; 4]> = match graph.constant(data.operands[1]) {
        Some(begin) => begin.to_ints().ok()?.into_iter().map(Index::Known).collect(),
        None => {
            let begin = &graph.insts[graph.def_inst(data.operands[1])?];
            let scalars = begin.operands.iter().all(|&v| graph.ty(v).shape().rank() == Some(0));
            (begin.op.is(&STACK) && scalars).then(|| begin.operands.iter().copied().map(Index::Value).collect())?
        }
    };
    (indices.len() == count).then_some(indices)
}

/// Makes of an instruction the part of its first operand at these indices; gives the constants that it needs in front.
fn take(graph: &mut Graph, region: Region, inst: Inst, indices: &[Index]) -> SmallVec<[Inst; 4]> {
    let array = graph.insts[inst].operands[0];
    let mut operands: SmallVec<[Value; 3]> = smallvec![array];
    let mut made: SmallVec<[Inst; 4]> = SmallVec::new();
    for &index in indices {
        operands.push(match index {
            Index::Value(v) => v,
            Index::Known(i) => {
                let value = i32::try_from(i).map_or_else(|_| Tensor::from(i), Tensor::from);
                let (ty, attrs) = (Type::of(&value), Attrs(smallvec![Attr::Tensor(value)]));
                let (constant, v) = unlisted(graph, region, &CONST, &[], attrs, ty, graph.locs[inst]);
                made.push(constant);
                v
            }
        });
    }
    let data = &mut graph.insts[inst];
    (data.op, data.operands, data.attrs) = (OpRef(&PART), operands, Attrs::EMPTY);
    made
}
