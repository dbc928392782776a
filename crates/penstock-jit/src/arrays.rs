//! Instructions on small arrays and on lists of these, read as work.

use penstock_data::{Dims, Error, Result};
use penstock_ir::{Inst, InstData};
use penstock_kernels::fold::folds;
use penstock_kernels::{LoopFn, Reduce};
use penstock_ops::list::{LIST_FROM_TENSOR, LIST_GET, LIST_NEW, LIST_SET, LIST_STACK};
use penstock_passes::Thresholds;
use penstock_passes::small::{Small, small};
use smallvec::{SmallVec, smallvec};

use crate::source::{Id, Node, Reader, Take};
use crate::work::{Place, Work};

impl Reader<'_> {
    /// An instruction that makes arrays, or scalars of arrays.
    pub(crate) fn work(&mut self, inst: Inst, nodes: &mut Vec<Node>) -> Result<()> {
        let graph = self.graph;
        let (data, origin) = (&graph.insts[inst], (Some(graph.insts[inst].op.0), graph.locs[inst]));
        let refused = || Error::internal("is not for scalar regions").in_op(data.op.name);
        let small = small(graph, inst, Thresholds::DEFAULT.native_bytes).ok_or_else(refused)?;
        let scalar = |v| graph.ty(v).shape().rank() == Some(0);
        if let (Small::Same, false, false) = (&small, scalar(data.operands[0]), scalar(data.results[0])) {
            let id = self.id(data.operands[0])?;
            self.ids.insert(data.results[0], id);
            return Ok(());
        }
        let used = match &small {
            Small::Same => &data.operands[..1],
            Small::Fill => &data.operands[1..],
            Small::Moves(parts) => {
                let last = parts.iter().flatten().map(|p| p.operand).max().unwrap_or(0);
                &data.operands[..=last]
            }
            _ => &data.operands[..],
        };
        let ins: SmallVec<[Id; 3]> = self.list(used)?;
        let places: SmallVec<[Place; 4]> = ins.iter().map(|&id| self.place(id)).collect::<Result<_>>()?;
        let mut outs: SmallVec<[(Id, Place); 2]> = SmallVec::new();
        for &v in &data.results {
            let id = self.define(v)?;
            outs.push((id, self.place(id)?));
        }
        let (result, out) = (data.results[0], outs[0].1);
        let ty = graph.ty(result);
        let (dtype, n) = (ty.dtype(), ty.shape().num_elements().ok_or_else(refused)?);
        let works: Vec<Work> = match small {
            Small::Map(f) => vec![self.map(data, f, &places, out)?],
            Small::Reduce(how, marked) => vec![self.reduction(data, how, &marked, places[0], out)?],
            Small::Product { m, k, n, transposed } => {
                vec![Work::Product { dtype, m, k, n, ins: [places[0], places[1]], transposed, out }]
            }
            Small::Fill => vec![Work::Fill { size: dtype.size(), n, from: places[0], out }],
            Small::Same => vec![Work::Moves { pieces: vec![(places[0], 0, 0, n * dtype.size())], out }],
            Small::Moves(parts) => {
                let moves = |(pieces, &(_, out)): (Vec<_>, &(Id, Place))| {
                    let pieces = pieces
                        .into_iter()
                        .map(|p: penstock_passes::small::Piece| (places[p.operand], p.from, p.to, p.bytes));
                    Work::Moves { pieces: pieces.collect(), out }
                };
                parts.into_iter().zip(&outs).map(moves).collect()
            }
        };
        for (work, (k, &(id, _))) in works.into_iter().zip(outs.iter().enumerate()) {
            let out = scalar(data.results[k]).then_some(id);
            self.push(work, ins.clone(), out, origin, nodes);
        }
        Ok(())
    }

    fn map(&self, data: &InstData, f: LoopFn, places: &[Place], out: Place) -> Result<Work> {
        let unknown = || Error::internal("an array of unknown extents");
        let ty = self.graph.ty(data.results[0]);
        let dims = ty.shape().extents().ok_or_else(unknown)?;
        let n: usize = dims.iter().product();
        let (mut flat, mut shaped, mut is_flat) = (SmallVec::new(), Vec::new(), true);
        for (&v, &place) in data.operands.iter().zip(places) {
            let (own, size) =
                (self.graph.ty(v).shape().extents().ok_or_else(unknown)?, self.graph.ty(v).dtype().size());
            let count: usize = own.iter().product();
            is_flat &= count == 1 || count == n;
            flat.push((place, if count == 1 { 0 } else { size }));
            shaped.push((place, own, size));
        }
        Ok(if is_flat {
            Work::Map { f, n, ins: flat, out }
        } else {
            Work::Broadcast { f, dims, size: ty.dtype().size(), ins: shaped, out }
        })
    }

    fn reduction(&self, data: &InstData, how: Reduce, marked: &[bool], from: Place, out: Place) -> Result<Work> {
        let ty = self.graph.ty(data.operands[0]);
        let dims: Dims = ty.shape().extents().ok_or_else(|| Error::internal("an array of unknown extents"))?;
        // Rows of columns, all of which are reduced.
        let first = marked.iter().position(|&m| m).unwrap_or(dims.len());
        let rows = marked[first..].iter().all(|&m| m) && first < dims.len();
        Ok(match folds(how, ty.dtype()).filter(|_| rows) {
            Some(steps) => {
                let (rows, n) = (dims[..first].iter().product(), dims[first..].iter().product());
                Work::Rows { fold: steps.rows, rows, n, from, out }
            }
            None => Work::Reduce { how, dtype: ty.dtype(), dims, marked: marked.into(), from, out },
        })
    }

    /// An instruction on a list, which is an array of its elements.
    pub(crate) fn list_op(&mut self, inst: Inst, nodes: &mut Vec<Node>) -> Result<()> {
        let graph = self.graph;
        let (data, op, loc) = (&graph.insts[inst], Some(graph.insts[inst].op.0), graph.locs[inst]);
        let unknown = || Error::internal("a list that is no array");
        let result = data.results[0];
        if data.op.is(&LIST_NEW) {
            let (bytes, id) = (self.bytes(result)?, self.define(result)?);
            let out = self.place(id)?;
            self.push(Work::Clear { bytes, out }, smallvec![], None, (op, loc), nodes);
        } else if data.op.is(&LIST_FROM_TENSOR) || data.op.is(&LIST_STACK) {
            let from = self.id(data.operands[0])?;
            let (bytes, id) = (self.bytes(result)?, self.define(result)?);
            let pieces = vec![(self.place(from)?, 0, 0, bytes)];
            let out = self.place(id)?;
            self.push(Work::Moves { pieces, out }, smallvec![from], None, (op, loc), nodes);
        } else if data.op.is(&LIST_SET) {
            let list = self.lists.get(data.operands[0]).ok_or_else(unknown)?;
            let (len, bytes) = (list.len, list.element_bytes());
            let [array, index, value] = [0, 1, 2].map(|k| self.id(data.operands[k]));
            let (array, index, value) = (array?, index?, value?);
            self.ids.insert(result, array);
            let origin = self.origin(op, loc);
            nodes.push(Node::Store { array, len, index, value, bytes, origin });
        } else if data.op.is(&LIST_GET) {
            let list = self.lists.get(data.operands[0]).ok_or_else(unknown)?;
            let (extents, bytes) = (Dims::from_slice(&[list.len]), list.element_bytes());
            let [array, index] = [self.id(data.operands[0])?, self.id(data.operands[1])?];
            let (out, origin) = (self.define(result)?, self.origin(op, loc));
            let take = if self.is_scalar(result) { Take::Scalar } else { Take::Copy(bytes) };
            nodes.push(Node::Element { array, extents, indices: smallvec![index], wraps: false, take, out, origin });
        } else {
            return Err(unknown());
        }
        Ok(())
    }
}
