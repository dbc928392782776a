//! Single indices of the last dimension of an array. Each slice reads little of many cache lines, so many of them become one
//! `unstack`, which reads the array once.

use penstock_data::{Result, Shape};
use penstock_ir::{Def, Graph, Inst, InstData, OpRef, Rows, Value, ValueData};
use penstock_ops::joining::UNSTACK;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::Cx;
use crate::edit::{inherit_name, regions};

/// Makes an `unstack` of the slices of a region that take at least half of the indices of an array's last dimension.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    for region in regions(graph) {
        let insts = graph.regions[region].insts.clone();
        let mut slices: FxHashMap<Value, Vec<(usize, Inst)>> = FxHashMap::default();
        for &inst in &insts {
            if let Some((base, index)) = index_of(graph, inst) {
                slices.entry(base).or_default().push((index, inst));
            }
        }
        let mut listed = Vec::with_capacity(insts.len());
        for inst in insts {
            // At the first slice of an array, all are made.
            let base = index_of(graph, inst).map(|(base, _)| base);
            if let Some((base, all)) = base.and_then(|base| slices.remove_entry(&base)) {
                let dims = graph.ty(base).shape().extents().unwrap_or_default();
                let distinct: FxHashSet<usize> = all.iter().map(|&(index, _)| index).collect();
                if let Some((&size, rest)) = dims.split_last()
                    && distinct.len() >= cx.thresholds.unstack_indices
                    && 2 * distinct.len() >= size
                    && cx.spend()
                {
                    let (num, axis) = (size as i64, rest.len() as i64);
                    let attrs = UNSTACK.attributes(&[("num", num.into()), ("axis", axis.into())])?;
                    let ty = graph.ty(base).with_shape(Shape::known(rest));
                    let made = graph.insts.push(InstData {
                        op: OpRef(&UNSTACK),
                        operands: smallvec![base],
                        attrs,
                        regions: SmallVec::new(),
                        results: SmallVec::new(),
                    });
                    graph.locs.push(graph.locs[inst]);
                    for i in 0..size {
                        let def = Def::Result(made, i as u32);
                        let entry = graph.values.push(ValueData { ty: ty.clone(), def, region });
                        graph.insts[made].results.push(entry);
                    }
                    for (index, slice) in all {
                        let (old, new) = (graph.insts[slice].results[0], graph.insts[made].results[index]);
                        inherit_name(graph, old, new);
                        replaced.insert(old, new);
                    }
                    listed.push(made);
                }
            }
            listed.push(inst);
        }
        graph.regions[region].insts = listed;
    }
    graph.replace_uses(&replaced);
    Ok(())
}

/// The array and the index of its last dimension, where an instruction takes all that has this index.
fn index_of(graph: &Graph, inst: Inst) -> Option<(Value, usize)> {
    let data = &graph.insts[inst];
    let Rows::Box(box_of) = data.op.rows else { return None };
    let base = data.operands[0];
    let dims = graph.ty(base).shape().extents()?;
    let (&size, rest) = dims.split_last()?;
    let constants: Option<SmallVec<[_; 3]>> = data.operands[1..].iter().map(|&v| graph.constant(v)).collect();
    let cuts = box_of(&dims, &constants?, &data.attrs)?;
    let (&(index, _, count), others) = cuts.split_last()?;
    let whole = others.iter().zip(rest).all(|(&(begin, step, count), &d)| (begin, step, count) == (0, 1, d));
    let taken = graph.ty(data.results[0]).shape().extents()?;
    (whole && count == 1 && size > 1 && !rest.is_empty() && taken[..] == *rest).then_some((base, index))
}
