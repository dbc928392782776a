//! Arrays of which each iteration of a loop reads one index of a later dimension, `x[:, t]`, transposed in front of the loop.
//!
//! Such a read gathers elements from all of the array. Where a loop counts through at least half of the indices, they are moved
//! to the first dimension once, and each iteration reads neighbours: without a copy, and so that what follows of this read can go in front
//! of the loop (`batch_loop_matmul`) or through all iterations for some rows.

use std::ops::Range;

use penstock_data::{Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Graph, Inst, Region, Type, Value};
use penstock_ops::control::{CONST, WHILE};
use penstock_ops::counted::CountedLoop;
use penstock_ops::joining::STACK;
use penstock_ops::shape_ops::TRANSPOSE;
use penstock_ops::slicing::STRIDED_SLICE;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::edit::{nested, regions, unlisted};
use crate::{Cx, dce};

/// Turns arrays in front of the loops that read them so.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut any = false;
    for region in regions(graph) {
        for at in (0..graph.regions[region].insts.len()).rev() {
            let owner = graph.regions[region].insts[at];
            if graph.insts[owner].op.is(&WHILE)
                && let Some(iterations) = CountedLoop::new(graph, &graph.insts[owner]).iterations()
            {
                let made = transposed(graph, region, owner, iterations, cx)?;
                any |= !made.is_empty();
                graph.regions[region].insts.splice(at..at, made);
            }
        }
    }
    if any { dce::run(graph, cx) } else { Ok(()) }
}

/// A read of all elements at one index of a dimension other than the first.
struct Read {
    array: Value,
    axis: usize,
    index: Value,
}

/// Turns what the body of a loop of so many iterations reads; gives the instructions that belong in front of the loop.
fn transposed(graph: &mut Graph, outer: Region, owner: Inst, iterations: usize, cx: &Cx) -> Result<Vec<Inst>> {
    let (inside, body) = (nested(graph, owner), graph.insts[owner].regions[1]);
    let mut made = Vec::new();
    let mut transposed: FxHashMap<(Value, usize), Value> = FxHashMap::default();
    let insts = std::mem::take(&mut graph.regions[body].insts);
    let mut listed = Vec::with_capacity(insts.len());
    for inst in insts {
        if let Some(read) = read(graph, inst, &inside)
            && is_worth(graph, &read, owner, iterations)
            && cx.spend()
        {
            let loc = graph.locs[inst];
            let key = (read.array, read.axis);
            let array = if let Some(&array) = transposed.get(&key) {
                array
            } else {
                let ty = graph.ty(read.array).clone();
                let dims = ty.shape().extents().unwrap_or_default();
                let perm: SmallVec<[i64; 6]> = std::iter::once(read.axis)
                    .chain((0..dims.len()).filter(|&d| d != read.axis))
                    .map(|d| d as i64)
                    .collect();
                let to: SmallVec<[usize; 6]> = perm.iter().map(|&d| dims[d as usize]).collect();
                let attrs = TRANSPOSE.attributes(&[("perm", perm[..].into())])?;
                let ty = ty.with_shape(Shape::known(&to));
                let (inst, value) = unlisted(graph, outer, &TRANSPOSE, &[read.array], attrs, ty, loc);
                made.push(inst);
                transposed.insert(key, value);
                value
            };
            let one = Tensor::vector(&[1i32]);
            let of_one = Type::tensor(graph.ty(read.index).dtype(), Shape::known(&[1]));
            let (stack, begin) = unlisted(graph, body, &STACK, &[read.index], STACK.attributes(&[])?, of_one, loc);
            let ty = Type::of(&one);
            let (step, strides) = unlisted(graph, body, &CONST, &[], Attrs(smallvec![Attr::Tensor(one)]), ty, loc);
            listed.extend([stack, step]);
            let data = &mut graph.insts[inst];
            data.operands = smallvec![array, begin, begin, strides];
            data.attrs = STRIDED_SLICE.attributes(&[("shrink_axis_mask", 1i64.into())])?;
        }
        listed.push(inst);
    }
    graph.regions[body].insts = listed;
    Ok(made)
}

/// How an instruction reads an array from outside of the loop, if it does so by one index of a later dimension.
fn read(graph: &Graph, inst: Inst, inside: &FxHashSet<Region>) -> Option<Read> {
    let data = &graph.insts[inst];
    if !data.op.is(&STRIDED_SLICE) {
        return None;
    }
    let array = data.operands[0];
    let rank = graph.ty(array).shape().extents()?.len();
    let steps = graph.constant(data.operands[3])?.to_ints().ok()?;
    let [begin_mask, end_mask, ellipsis, new_axis, shrink] = std::array::from_fn(|mask| data.attrs.int(mask));
    let axis = usize::try_from(shrink).ok().filter(|s| s.is_power_of_two())?.trailing_zeros() as usize;
    let open = |entry: usize| begin_mask >> entry & end_mask >> entry & 1 == 1 && steps[entry] == 1;
    let entries: Range<usize> = 0..steps.len();
    let all = axis > 0 && entries.end <= rank && entries.end < 63 && entries.contains(&axis);
    let begin = &graph.insts[graph.def_inst(data.operands[1])?];
    let packed = begin.op.is(&STACK) && begin.operands.len() == steps.len();
    if !all || !packed || ellipsis != 0 || new_axis != 0 || !entries.into_iter().all(|e| e == axis || open(e)) {
        return None;
    }
    let index = begin.operands[axis];
    let scalar = graph.ty(index).shape().rank() == Some(0) && (begin_mask | end_mask) >> axis & 1 == 0;
    (scalar && !inside.contains(&graph.values[array].region)).then_some(Read { array, axis, index })
}

/// Whether a loop reads at least half of the array, and nothing that is not there.
fn is_worth(graph: &Graph, read: &Read, owner: Inst, iterations: usize) -> bool {
    let extents = graph.ty(read.array).shape().extents();
    let Some(n) = extents.map(|dims| dims[read.axis]) else { return false };
    let ends = CountedLoop::new(graph, &graph.insts[owner]).ends(read.index, iterations);
    let Some((first, last)) = ends else { return false };
    let is_there = |i: i64| usize::try_from(i).is_ok_and(|i| i < n);
    n > 1 && 2 * iterations >= n && is_there(first) && is_there(last)
}
