//! Sums over the iterations of a backward loop that are made outside of it.
//!
//! What an iteration adds to the cotangent of a matrix by which the loop multiplies is a product of two matrices along their
//! rows, of which there may be few. Where one of the two is on a list anyway, the other goes on a list as well, and one
//! product along the rows of all iterations is the sum: it is large enough for all threads. Likewise for an array that is read
//! one part in each iteration, where the part's cotangent is a product with a matrix that is the same in every iteration; and for
//! sums of the rows of what goes on a list for such a product.

use penstock_ir::{Attrs, Graph, Region, Type, Value};
use penstock_ops::{gather, linalg, list, reduce};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// What goes on a list for such a sum has at most so many times the columns of what is kept or given anyway.
const MOST_MORE: usize = 4;

/// What an iteration adds, in terms of the values of that iteration.
pub(crate) enum Addend {
    /// `matmul` of two matrices along their rows.
    Product { a: Value, b: Value, attrs: Attrs },
    /// `reduce_sum` of a matrix over its rows.
    Rows { matrix: Value, attrs: Attrs },
    /// `gather_grad` of a part, which is the product of a matrix of the iteration and one from outside.
    Part { index: Value, part: Value, left: Value, right: Value, product: Attrs, gather: Attrs },
}

/// What the body of a backward loop adds to sums.
pub(crate) struct Sums<'a> {
    pub(crate) graph: &'a Graph,
    /// The body, and the number of the iteration in it.
    pub(crate) inside: Region,
    pub(crate) iteration: Value,
    /// Whether the sizes of values of a type are known outside.
    pub(crate) has_extents: &'a dyn Fn(&Type) -> bool,
}

impl Sums<'_> {
    /// How each of `grads`, which the body adds to sums in each iteration, can be summed outside.
    pub(crate) fn addends(&self, grads: &[Option<Value>]) -> Vec<Option<Addend>> {
        let mut addends: Vec<_> = grads.iter().map(|grad| self.addend((*grad)?)).collect();
        let products = addends.iter().flatten().flat_map(|addend| match addend {
            Addend::Product { a, b, .. } => SmallVec::from([*a, *b]),
            _ => SmallVec::<[Value; 2]>::new(),
        });
        let listed: FxHashSet<Value> = products.collect();
        for (addend, grad) in addends.iter_mut().zip(grads) {
            if addend.is_none() {
                *addend = grad.and_then(|grad| self.sum_of_listed(grad, &listed));
            }
        }
        addends
    }

    /// `grad` as the sum of the rows of a matrix that is among those `listed` for all iterations.
    fn sum_of_listed(&self, grad: Value, listed: &FxHashSet<Value>) -> Option<Addend> {
        let graph = self.graph;
        let data = &graph.insts[graph.def_inst(grad).filter(|_| graph.values[grad].region == self.inside)?];
        let matrix = *data.operands.first()?;
        let over_rows = data.op.is(&reduce::REDUCE_SUM) && listed.contains(&matrix);
        let plain = over_rows && data.attrs.opt_ints(0) == Some(&[0]) && !data.attrs.flag(1);
        plain.then(|| Addend::Rows { matrix, attrs: data.attrs.clone() })
    }

    fn addend(&self, grad: Value) -> Option<Addend> {
        let graph = self.graph;
        let inst = graph.def_inst(grad).filter(|_| graph.values[grad].region == self.inside)?;
        let (op, attrs, operands) = (graph.insts[inst].op.0, &graph.insts[inst].attrs, &graph.insts[inst].operands[..]);
        if op.is(&linalg::MATMUL) {
            let (a, b) = (operands[0], operands[1]);
            let (of_a, of_b) = (self.columns_of(a)?, self.columns_of(b)?);
            let worth = match (kept(self.graph, self.iteration, a), kept(self.graph, self.iteration, b)) {
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
            let small = self.columns_of(left)? <= MOST_MORE * self.columns_of(part)?;
            let fixed = graph.values[right].region != self.inside && graph.ty(right).shape().rank() == Some(2);
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
    fn columns_of(&self, value: Value) -> Option<usize> {
        let ty = self.graph.ty(value);
        let made = self.graph.values[value].region == self.inside;
        match ty.shape().dims() {
            Some([_, columns]) if made && (self.has_extents)(ty) => columns.known(),
            _ => None,
        }
    }
}

/// The list that has a value of each iteration at the number of the iteration.
pub(crate) fn kept(graph: &Graph, iteration: Value, value: Value) -> Option<Value> {
    let data = &graph.insts[graph.def_inst(value)?];
    (data.op.is(&list::LIST_GET) && data.operands[1] == iteration).then(|| data.operands[0])
}
