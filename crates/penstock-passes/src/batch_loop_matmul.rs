//! Products with the rows of an array, made for all rows at once in front of the loop that reads one in each iteration.
//!
//! `matmul(xs[i], w)` in a loop, where `xs` and `w` come from outside, is part `i` of `matmul(xs, w)`: one large product
//! uses threads and caches as many small ones cannot. What stands between the read and the product, elementwise
//! instructions and reshapes, is computed for all rows as well.

use penstock_data::{DType, Result, Shape, Tensor};
use penstock_ir::{Attr, Attrs, Cpu, Graph, Inst, InstData, OpDef, OpRef, Region, Rows, Type, Value};
use penstock_ops::control::{CONST, WHILE};
use penstock_ops::counted::CountedLoop;
use penstock_ops::gather::GATHER;
use penstock_ops::linalg::MATMUL;
use penstock_ops::list::{LIST_FROM_TENSOR, LIST_GET};
use penstock_ops::shape_ops::RESHAPE;
use penstock_ops::slicing::STRIDED_SLICE;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::edit::{regions, unlisted};
use crate::hoist::never_fails;
use crate::{Cx, dce};

/// What is made for all rows takes at most so many times the memory of the array that is read, where it takes more than
/// `FREE_BYTES`.
const MOST_MORE: usize = 4;
const FREE_BYTES: usize = 1 << 20;

/// Lifts products with rows out of loops that go through all rows.
pub(crate) fn run(graph: &mut Graph, cx: &Cx) -> Result<()> {
    let order: FxHashMap<Region, usize> = regions(graph).into_iter().enumerate().map(|(i, r)| (r, i)).collect();
    let mut lifted = false;
    for region in regions(graph) {
        for at in (0..graph.regions[region].insts.len()).rev() {
            let owner = graph.regions[region].insts[at];
            if graph.insts[owner].op.is(&WHILE)
                && let Some(iterations) = CountedLoop::new(graph, &graph.insts[owner]).iterations()
            {
                let first = order[&graph.insts[owner].regions[0]];
                let mut batcher = Batcher { graph, order: &order, first, outer: region, iterations, made: Vec::new() };
                batcher.products(owner, cx);
                let made = batcher.made;
                lifted |= !made.is_empty();
                graph.regions[region].insts.splice(at..at, made);
            }
        }
    }
    if lifted { dce::run(graph, cx) } else { Ok(()) }
}

/// How a row is read.
#[derive(Clone)]
struct Read {
    op: OpRef,
    /// The operands that say where.
    place: SmallVec<[Value; 3]>,
    /// The number of rows.
    rows: usize,
    /// The bytes of the array.
    bytes: usize,
}

struct Batcher<'a> {
    graph: &'a mut Graph,
    /// The regions by number, each after the one around it; and the number of the loop's first.
    order: &'a FxHashMap<Region, usize>,
    first: usize,
    /// Where the loop stands, and what will stand in front of it.
    outer: Region,
    iterations: usize,
    made: Vec<Inst>,
}

impl Batcher<'_> {
    /// Puts reads of lifted products in place of the products of a loop.
    fn products(&mut self, owner: Inst, cx: &Cx) {
        let body = self.graph.insts[owner].regions[1];
        let mut reads: FxHashMap<Value, Read> = FxHashMap::default();
        let mut all: FxHashMap<Value, Value> = FxHashMap::default();
        let insts = std::mem::take(&mut self.graph.regions[body].insts);
        for &inst in &insts {
            if let Some(read) = self.read(inst, &reads) {
                let result = self.graph.insts[inst].results[0];
                let worth = self.is_worth(inst, &read, cx.thresholds.lifted_work);
                reads.insert(result, read);
                if worth && cx.spend() {
                    let seed = self.source(result, &reads);
                    let lifted = self.lifted(result, &reads, &mut all);
                    self.read_again(inst, seed, lifted);
                }
            }
        }
        self.graph.regions[body].insts = insts;
    }

    fn is_outside(&self, v: Value) -> bool {
        self.order[&self.graph.values[v].region] < self.first
    }

    /// How the row was read of which alone an instruction computes its result, in a way that all rows can be taken through.
    fn read(&self, inst: Inst, reads: &FxHashMap<Value, Read>) -> Option<Read> {
        let graph = &*self.graph;
        let data = &graph.insts[inst];
        let dims = graph.ty(*data.results.first()?).shape().extents()?;
        if let Some(array) = self.array(data) {
            let last = if data.op.is(&LIST_GET) { 2 } else { data.operands.len() };
            let place = data.operands[1..last].into();
            let ty = graph.ty(array);
            let bytes = ty.shape().num_elements()? * ty.dtype().size();
            return Some(Read { op: data.op, place, rows: ty.shape().extents()?[0], bytes });
        }
        let read = data.operands.iter().find_map(|v| reads.get(v))?;
        let fits = |k: usize, v: &Value| match reads.get(v) {
            Some(other) => (other.op, &other.place, other.rows) == (read.op, &read.place, read.rows),
            None => k > 0 || !data.op.is(&MATMUL),
        };
        let outside = data.operands.iter().all(|v| reads.contains_key(v) || self.is_outside(*v));
        if !outside || !data.operands.iter().enumerate().all(|(k, v)| fits(k, v)) || !never_fails(graph, inst) {
            return None;
        }
        let rank = |v: &Value| graph.ty(*v).shape().rank().unwrap_or(usize::MAX);
        let follows = match data.op.rows {
            // A row of lower rank would be taken for part of a row.
            _ if data.op.broadcasts() => {
                data.operands.iter().all(|v| rank(v) == dims.len() || (rank(v) < dims.len() && !reads.contains_key(v)))
            }
            Rows::Product => {
                let plain = !data.attrs.flag(0) && !data.attrs.flag(2);
                plain && data.operands.iter().all(|v| rank(v) == 2) && self.is_outside(data.operands[1])
            }
            Rows::Same => true,
            _ => false,
        };
        follows.then(|| read.clone())
    }

    /// The array from outside of which an instruction reads one row.
    fn array(&self, data: &InstData) -> Option<Value> {
        let graph = &*self.graph;
        let array = *data.operands.first()?;
        let index = |due: &[usize]| graph.ty(data.operands[1]).shape().extents().is_some_and(|dims| dims[..] == *due);
        let array = if data.op.is(&GATHER) {
            // `axis`, `batch_dims` and `drop_negative`.
            let rows = data.attrs.int(0) == 0 && data.attrs.int(1) == 0 && !data.attrs.flag(2);
            (rows && index(&[])).then_some(array)?
        } else if data.op.is(&STRIDED_SLICE) {
            // The last mask, `shrink_axis_mask`, says that the entry is an index.
            let one = (0..4).all(|mask| data.attrs.int(mask) == 0) && data.attrs.int(4) == 1;
            (one && index(&[1])).then_some(array)?
        } else if data.op.is(&LIST_GET) {
            let made = &graph.insts[graph.def_inst(array)?];
            (made.op.is(&LIST_FROM_TENSOR) && index(&[])).then(|| made.operands[0])?
        } else {
            return None;
        };
        (self.is_outside(array) && graph.ty(array).shape().is_static()).then_some(array)
    }

    /// Whether it pays to make a product for all rows. The number is the most multiplications.
    fn is_worth(&self, inst: Inst, read: &Read, most: usize) -> bool {
        let graph = &*self.graph;
        let data = &graph.insts[inst];
        let size = |v: Value| graph.ty(v).shape().num_elements().unwrap_or(usize::MAX);
        if !data.op.is(&MATMUL) || read.rows < 2 || self.iterations < read.rows {
            return false;
        }
        let columns = graph.ty(data.results[0]).shape().extents().and_then(|dims| dims.last().copied());
        let work = size(data.operands[0]).saturating_mul(columns.unwrap_or(usize::MAX));
        let bytes = size(data.results[0]).saturating_mul(read.rows * graph.ty(data.results[0]).dtype().size());
        work <= most && bytes <= FREE_BYTES.max(MOST_MORE * read.bytes)
    }

    /// The instruction that reads the row of which a value is computed.
    fn source(&self, mut value: Value, reads: &FxHashMap<Value, Read>) -> Inst {
        loop {
            let inst = self.graph.def_inst(value).expect("a row is computed");
            match self.graph.insts[inst].operands.iter().find(|v| reads.contains_key(v)) {
                Some(&operand) => value = operand,
                None => return inst,
            }
        }
    }

    fn emit(&mut self, op: &'static OpDef, operands: &[Value], attrs: Attrs, ty: Type, like: Inst) -> Value {
        let loc = self.graph.locs[like];
        let (inst, value) = unlisted(self.graph, self.outer, op, operands, attrs, ty, loc);
        self.made.push(inst);
        value
    }

    fn constant(&mut self, dims: &[i64], like: Inst) -> Value {
        let value = Tensor::vector(dims);
        let ty = Type::of(&value);
        self.emit(&CONST, &[], Attrs(smallvec![Attr::Tensor(value)]), ty, like)
    }

    /// A value that is computed of a row, for all rows.
    fn lifted(&mut self, value: Value, reads: &FxHashMap<Value, Read>, all: &mut FxHashMap<Value, Value>) -> Value {
        if let Some(&made) = all.get(&value) {
            return made;
        }
        let Some(read) = reads.get(&value) else { return value };
        let inst = self.graph.def_inst(value).expect("a row is computed");
        let data = self.graph.insts[inst].clone();
        let made = if let Some(array) = self.array(&data) {
            array
        } else {
            let own = self.graph.ty(value);
            let dims: SmallVec<[usize; 6]> =
                std::iter::once(read.rows).chain(own.shape().extents().unwrap_or_default()).collect();
            let ty = own.with_shape(Shape::known(&dims));
            let operands: SmallVec<[Value; 4]> = data.operands.iter().map(|&v| self.lifted(v, reads, all)).collect();
            if matches!(data.op.cpu, Cpu::Elementwise(_)) || data.op.is(&MATMUL) {
                self.emit(data.op.0, &operands, data.attrs, ty, inst)
            } else {
                let dims: SmallVec<[i64; 6]> = dims.iter().map(|&d| d as i64).collect();
                let dims = self.constant(&dims, inst);
                self.emit(&RESHAPE, &[operands[0], dims], Attrs::EMPTY, ty, inst)
            }
        };
        all.insert(value, made);
        made
    }

    /// Makes of a product the read of a part of `lifted`, in the way of `seed`.
    fn read_again(&mut self, inst: Inst, seed: Inst, lifted: Value) {
        let seed = self.graph.insts[seed].clone();
        let mut operands: SmallVec<[Value; 3]> = seed.operands.clone();
        operands[0] = lifted;
        if seed.op.is(&LIST_GET) {
            let attrs = Attrs::EMPTY;
            operands[0] = self.emit(&LIST_FROM_TENSOR, &[lifted], attrs, Type::scalar(DType::Variant), inst);
            let dims = self.graph.ty(self.graph.insts[inst].results[0]).shape().extents().unwrap_or_default();
            let dims: SmallVec<[i64; 6]> = dims.iter().map(|&d| d as i64).collect();
            operands[2] = self.constant(&dims, inst);
        }
        let data = &mut self.graph.insts[inst];
        (data.op, data.operands, data.attrs) = (seed.op, operands, seed.attrs);
    }
}
