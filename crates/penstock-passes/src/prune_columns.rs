//! Products of which only some columns are used.
//!
//! The cotangent of `concat([x, h], 1)` is a product that is split into those of `x` and `h`. A recurrent net wants that of
//! `h` alone: so each iteration multiplies by the columns of the matrix that this takes, which are taken in front of the loop.

use penstock_data::{Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Def, Graph, Inst, InstData, OpRef, Region, Type, Value, ValueData};
use penstock_ops::control::CONST;
use penstock_ops::joining::SPLIT;
use penstock_ops::linalg::MATMUL;
use penstock_ops::slicing::SLICE;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::edit::{inherit_name, regions, unlisted};
use crate::uses::Uses;
use crate::{Cx, dce};

/// Makes of a product that is only split into columns, of which some are used, one of these columns.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let mut found: Vec<(Region, Inst)> = Vec::new();
    for region in regions(graph) {
        let splits = graph.regions[region].insts.iter().filter(|&&i| graph.insts[i].op.is(&SPLIT));
        found.extend(splits.map(|&i| (region, i)));
    }
    if found.is_empty() {
        return Ok(());
    }
    let uses = Uses::of(graph);
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    let mut any = false;
    for (region, inst) in found {
        if let Some(narrow) = Narrow::of(graph, &uses, inst, cx.thresholds.narrow_rows)
            && cx.spend()
        {
            any = true;
            let made = narrow.make(graph, region, inst, &mut replaced)?;
            let insts = &mut graph.regions[region].insts;
            let at = insts.iter().position(|&i| i == inst).unwrap_or(insts.len());
            insts.splice(at..at, made);
        }
    }
    graph.replace_uses(&replaced);
    if any { dce::run(graph, cx) } else { Ok(()) }
}

/// Of a product, the columns that are used.
struct Narrow {
    product: Inst,
    /// The first of the used columns, and their number.
    first: usize,
    count: usize,
    /// The widths of the used pieces, with those in between, and the number of the first among the results of the split.
    widths: SmallVec<[i64; 4]>,
    piece: usize,
}

impl Narrow {
    /// What a split of columns shows of the product that it splits, if that has `least` rows or its right matrix is transposed.
    fn of(graph: &Graph, uses: &Uses, split: Inst, least: usize) -> Option<Narrow> {
        let data = &graph.insts[split];
        let product = graph.def_inst(data.operands[0]).filter(|&i| graph.insts[i].op.is(&MATMUL))?;
        let made = &graph.insts[product];
        let dims = |v: Value| graph.ty(v).shape().extents();
        // Nothing is conjugated, and there is one matrix on each side.
        let plain = !made.attrs.flag(2) && !made.attrs.flag(3) && uses.users(made.results[0]).len() == 1;
        let together = graph.values[made.results[0]].region == graph.values[*data.results.first()?].region;
        let [rows, columns] = dims(made.results[0])?[..] else { return None };
        let pays = rows >= least || made.attrs.flag(1);
        if !plain || !together || !pays || !matches!(data.attrs.int(2), 1 | -1) || dims(made.operands[1])?.len() != 2 {
            return None;
        }
        let is_used = |&p: &usize| !uses.users(data.results[p]).is_empty();
        let piece = (0..data.results.len()).find(is_used)?;
        let last = (0..data.results.len()).rev().find(is_used)?;
        let widths: SmallVec<[i64; 4]> =
            data.results.iter().map(|&v| Some(dims(v)?[1] as i64)).collect::<Option<_>>()?;
        let first = widths[..piece].iter().sum::<i64>() as usize;
        let widths = SmallVec::from_slice(&widths[piece..=last]);
        let count = widths.iter().sum::<i64>() as usize;
        (0 < count && count < columns).then_some(Narrow { product, first, count, widths, piece })
    }

    /// Makes the product of these columns, and notes what replaces the pieces; the instructions are for the caller to list.
    fn make(
        &self,
        graph: &mut Graph,
        region: Region,
        split: Inst,
        replaced: &mut FxHashMap<Value, Value>,
    ) -> Result<Vec<Inst>> {
        let (product, loc) = (graph.insts[self.product].clone(), graph.locs[self.product]);
        let [left, right] = product.operands[..] else { return Ok(Vec::new()) };
        let mut made = Vec::new();
        let mut emit =
            |graph: &mut Graph, op: &'static penstock_ir::OpDef, operands: &[Value], attrs: Attrs, ty: Type| {
                let (inst, value) = unlisted(graph, region, op, operands, attrs, ty, loc);
                made.push(inst);
                value
            };
        let (ty, of_right) = (graph.ty(product.results[0]).clone(), graph.ty(right).clone());
        let dims = of_right.shape().extents().unwrap_or_default();
        // Columns, which are rows of a matrix that enters transposed.
        let axis = usize::from(!product.attrs.flag(1));
        let (mut begin, mut size) = ([0i64; 2], [dims[0] as i64, dims[1] as i64]);
        (begin[axis], size[axis]) = (self.first as i64, self.count as i64);
        let part = of_right.with_shape(Shape::known(&size.map(|n| n as usize)));
        let mut constants: SmallVec<[Value; 2]> = SmallVec::new();
        for ints in [begin, size] {
            let value = Tensor::vector(&ints);
            let ty = Type::of(&value);
            constants.push(emit(graph, &CONST, &[], Attrs(smallvec![Attr::Tensor(value)]), ty));
        }
        let part = emit(graph, &SLICE, &[right, constants[0], constants[1]], Attrs::EMPTY, part);
        let rows = ty.shape().extents().unwrap_or_default()[0];
        let ty = ty.with_shape(Shape::known(&[rows, self.count]));
        let whole = emit(graph, &MATMUL, &[left, part], product.attrs, ty);
        let old: SmallVec<[Value; 4]> =
            graph.insts[split].results[self.piece..self.piece + self.widths.len()].iter().copied().collect();
        let new: SmallVec<[Value; 4]> = if let [_] = old[..] {
            smallvec![whole]
        } else {
            let attrs = SPLIT.attributes(&[("sizes", self.widths[..].into()), ("axis", 1i64.into())])?;
            let inst = graph.insts.push(InstData {
                op: OpRef(&SPLIT),
                operands: smallvec![whole],
                attrs,
                regions: SmallVec::new(),
                results: SmallVec::new(),
            });
            graph.locs.push(graph.locs[split]);
            for (i, &v) in old.iter().enumerate() {
                let ty = graph.ty(v).clone();
                let piece = graph.values.push(ValueData { ty, def: Def::Result(inst, i as u32), region });
                graph.insts[inst].results.push(piece);
            }
            made.push(inst);
            graph.insts[inst].results.iter().copied().collect()
        };
        for (old, new) in old.into_iter().zip(new) {
            inherit_name(graph, old, new);
            replaced.insert(old, new);
        }
        Ok(made)
    }
}
