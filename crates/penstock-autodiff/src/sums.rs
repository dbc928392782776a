//! Sums over the rounds of a backward loop that are made outside of it.
//!
//! What a round adds to the cotangent of a matrix by which the loop multiplies is a product of two matrices along their
//! rows, of which there may be few. Where one of the two is on a list anyway, the other goes on a list as well, and one
//! product along the rows of all rounds is the sum: it is large enough for all threads. Likewise for an array that is read
//! one part in each round, where the part's cotangent is a product with a matrix that is the same in every round; and for
//! sums of the rows of what goes on a list for such a product.

use penstock_data::{Result, Tensor};
use penstock_ir::{Attrs, Emitter, Inst, Region, Value};
use penstock_ops::{gather, linalg, list, reduce, shape_ops};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::GraphPass;
use crate::rules;

/// What goes on a list for such a sum has at most so many times the columns of what is kept or given anyway.
const MOST_MORE: usize = 4;

/// What a round adds, in terms of the values of that round.
pub(crate) enum Addend {
    /// `matmul` of two matrices along their rows.
    Product { a: Value, b: Value, attrs: Attrs },
    /// `reduce_sum` of a matrix over its rows.
    Rows { matrix: Value, attrs: Attrs },
    /// `gather_grad` of a part, which is the product of a matrix of the round and one from outside.
    Part { index: Value, part: Value, left: Value, right: Value, product: Attrs, gather: Attrs },
}

/// A backward loop: its instruction, the number of its rounds, and the number of the round in its body.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) inst: Inst,
    pub(crate) count: Value,
    pub(crate) round: Value,
}

impl GraphPass<'_> {
    /// How each of `grads`, which the body `inside` adds to sums in each round, can be summed outside.
    pub(crate) fn addends(&self, inside: Region, round: Value, grads: &[Option<Value>]) -> Vec<Option<Addend>> {
        let mut addends: Vec<_> = grads.iter().map(|grad| self.addend(inside, round, (*grad)?)).collect();
        let products = addends.iter().flatten().flat_map(|addend| match addend {
            Addend::Product { a, b, .. } => SmallVec::from([*a, *b]),
            _ => SmallVec::<[Value; 2]>::new(),
        });
        let listed: FxHashSet<Value> = products.collect();
        for (addend, grad) in addends.iter_mut().zip(grads) {
            if addend.is_none() {
                *addend = grad.and_then(|grad| self.sum_of_listed(inside, grad, &listed));
            }
        }
        addends
    }

    /// `grad` as the sum of the rows of a matrix that is among those `listed` for all rounds.
    fn sum_of_listed(&self, inside: Region, grad: Value, listed: &FxHashSet<Value>) -> Option<Addend> {
        let graph = self.graph();
        let data = &graph.insts[graph.def_inst(grad).filter(|_| graph.values[grad].region == inside)?];
        let matrix = *data.operands.first()?;
        let over_rows = data.op.is(&reduce::REDUCE_SUM) && listed.contains(&matrix);
        let plain = over_rows && data.attrs.opt_ints(0) == Some(&[0]) && !data.attrs.flag(1);
        plain.then(|| Addend::Rows { matrix, attrs: data.attrs.clone() })
    }

    fn addend(&self, inside: Region, round: Value, grad: Value) -> Option<Addend> {
        let graph = self.graph();
        let inst = graph.def_inst(grad).filter(|_| graph.values[grad].region == inside)?;
        let (op, attrs, operands) = (graph.insts[inst].op.0, &graph.insts[inst].attrs, &graph.insts[inst].operands[..]);
        if op.is(&linalg::MATMUL) {
            let (a, b) = (operands[0], operands[1]);
            let (of_a, of_b) = (self.columns_of(inside, a)?, self.columns_of(inside, b)?);
            let worth = match (self.kept(round, a), self.kept(round, b)) {
                (Some(_), Some(_)) => true,
                (Some(_), None) => of_b <= MOST_MORE * of_a,
                (None, Some(_)) => of_a <= MOST_MORE * of_b,
                (None, None) => false,
            };
            let along_rows = attrs.flag(0) != attrs.flag(2) && !attrs.flag(1) && !attrs.flag(3);
            return (worth && along_rows).then(|| Addend::Product { a, b, attrs: attrs.clone() });
        }
        // `axis`, `batch_dims` and `drop_negative`: the part was read along the first dimension.
        if op.is(&gather::GATHER_GRAD) && attrs.int(0) == 0 && attrs.int(1) == 0 && !attrs.flag(2) {
            let (index, part) = (operands[1], operands[2]);
            let product = &graph.insts[graph.def_inst(part)?];
            if !product.op.is(&linalg::MATMUL) || product.attrs.flag(0) || product.attrs.flag(2) {
                return None;
            }
            let (left, right) = (product.operands[0], product.operands[1]);
            let small = self.columns_of(inside, left)? <= MOST_MORE * self.columns_of(inside, part)?;
            let fixed = graph.values[right].region != inside && graph.ty(right).shape().rank() == Some(2);
            let one = graph.ty(index).shape().rank() == Some(0);
            // Without `sparse_gradient`: as TensorFlow's, the cotangent that a loop gives is dense.
            let mut gather = attrs.clone();
            gather.0[3] = false.into();
            let product = product.attrs.clone();
            return (small && fixed && one).then_some(Addend::Part { index, part, left, right, product, gather });
        }
        None
    }

    /// The number of columns of a value that the body makes, if it is a matrix whose size is known outside.
    fn columns_of(&self, inside: Region, value: Value) -> Option<usize> {
        let ty = self.graph().ty(value);
        let made = self.graph().values[value].region == inside;
        match ty.shape().dims() {
            Some([_, columns]) if made && self.has_extents(ty) => columns.known(),
            _ => None,
        }
    }

    /// The list that has a value of each round at the number of the round.
    fn kept(&self, round: Value, value: Value) -> Option<Value> {
        let graph = self.graph();
        let data = &graph.insts[graph.def_inst(value)?];
        (data.op.is(&list::LIST_GET) && data.operands[1] == round).then(|| data.operands[0])
    }

    /// The sum of `addend` over all rounds of a finished loop, at the current place: a cotangent of `like`. `stacked`
    /// holds what was stacked for other sums.
    pub(crate) fn summed(
        &mut self,
        rounds: Rounds,
        addend: &Addend,
        like: Value,
        stacked: &mut FxHashMap<Value, Value>,
    ) -> Result<Value> {
        let sum = match addend {
            Addend::Product { a, b, attrs } => {
                let operands = [self.all_rows(rounds, *a, stacked)?, self.all_rows(rounds, *b, stacked)?];
                self.builder.emit_attrs(&linalg::MATMUL, &operands, attrs.clone())?[0]
            }
            Addend::Rows { matrix, attrs } => {
                let all = self.all_rows(rounds, *matrix, stacked)?;
                self.builder.emit_attrs(&reduce::REDUCE_SUM, &[all], attrs.clone())?[0]
            }
            Addend::Part { index, part, left, right, product, gather } => {
                let all = self.all_rows(rounds, *left, stacked)?;
                let rows = self.builder.emit_attrs(&linalg::MATMUL, &[all, *right], product.clone())?[0];
                let dims = self.graph().ty(*part).clone();
                let dims = self.extents(&dims, &[-1])?;
                let parts = self.builder.emit(&shape_ops::RESHAPE, &[rows, dims], &[])?[0];
                let places = self.all_rounds(rounds, *index, stacked)?;
                let shape = rules::shape(self, like)?;
                self.builder.emit_attrs(&gather::GATHER_GRAD, &[shape, places, parts], gather.clone())?[0]
            }
        };
        let shape = self.graph().ty(like).shape().clone();
        self.builder.refine(sum, &shape)?;
        Ok(sum)
    }

    /// A value of all rounds, along a new first dimension.
    fn all_rounds(&mut self, rounds: Rounds, value: Value, stacked: &mut FxHashMap<Value, Value>) -> Result<Value> {
        if let Some(&found) = stacked.get(&value) {
            return Ok(found);
        }
        let ty = self.graph().ty(value).clone();
        let all = match self.kept(rounds.round, value) {
            Some(list) => list,
            None => self.add_variable(
                rounds.inst,
                |this| Ok(this.builder.emit(&list::LIST_NEW, &[rounds.count], &[("dtype", ty.dtype().into())])?[0]),
                |this, present| Ok(this.builder.emit(&list::LIST_SET, &[present, rounds.round, value], &[])?[0]),
            )?,
        };
        let shape = self.extents(&ty, &[])?;
        let all = self.builder.emit(&list::LIST_STACK, &[all, shape], &[("dtype", ty.dtype().into())])?[0];
        stacked.insert(value, all);
        Ok(all)
    }

    /// The rows of a matrix in all rounds, one under the other.
    fn all_rows(&mut self, rounds: Rounds, matrix: Value, stacked: &mut FxHashMap<Value, Value>) -> Result<Value> {
        let columns = self.graph().ty(matrix).shape().dims().and_then(|dims| dims[1].known()).map_or(-1, |n| n as i64);
        let all = self.all_rounds(rounds, matrix, stacked)?;
        let shape = self.builder.constant(Tensor::vector(&[-1, columns]));
        Ok(self.builder.emit(&shape_ops::RESHAPE, &[all, shape], &[])?[0])
    }
}
