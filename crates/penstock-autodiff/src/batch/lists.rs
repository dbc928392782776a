//! How operators on lists are batched.
//!
//! A mapped list has the examples' elements of one index in one element, with the leading axis. So the examples' lists
//! have one length and the same elements set, and the places where they are read and written are the same.
//!
//! `list_concat`, `list_split` and `list_lengths` count along the first axis of elements, where those of a mapped list have
//! the examples: they go example by example, with what makes and reads their lists.

use penstock_data::{Error, Result, Shape};
use penstock_ir::{Attr, Inst, Value};
use penstock_ops::{list, shape_ops};
use smallvec::{SmallVec, smallvec};

use super::{Batcher, Outs, is_list};

impl Batcher<'_> {
    /// Batches an instruction on lists some operand of which is mapped. `None` stands for "by a loop".
    pub(super) fn list(&mut self, inst: Inst) -> Result<Option<Outs>> {
        let data = &self.source.insts[inst];
        let (op, operands) = (data.op.0, &data.operands[..]);
        let fixed = |this: &Self, at: usize| !this.is_mapped(operands[at]);
        let new: SmallVec<[Value; 3]> = match op.name {
            "list_length" => {
                let length = self.whole(op, &[self.map[&operands[0]]], data.attrs.clone())?;
                self.set(data.results[0], length[0], false)?;
                return Ok(Some(Outs::new()));
            }
            "list_from_tensor" => {
                let rows = self.swapped(self.map[&operands[0]], self.rank(operands[0]))?;
                smallvec![rows]
            }
            "list_stack" if fixed(self, 1) => {
                let shape = self.element_shape(operands[1], data.results[0])?;
                smallvec![self.full(operands[0])?, shape]
            }
            "list_get" | "list_take" if fixed(self, 1) && fixed(self, 2) => {
                let element = *data.results.last().unwrap_or(&operands[0]);
                let shape = self.element_shape(operands[2], element)?;
                smallvec![self.full(operands[0])?, self.map[&operands[1]], shape]
            }
            "list_pop" if fixed(self, 1) => {
                let shape = self.element_shape(operands[1], data.results[1])?;
                smallvec![self.full(operands[0])?, shape]
            }
            "list_set" | "list_accumulate" if fixed(self, 1) => {
                let values = self.full(operands[2])?;
                let values = self.at_places(operands[1], values, self.rank(operands[2]))?;
                smallvec![self.full(operands[0])?, self.map[&operands[1]], values]
            }
            "list_push" | "list_add" => smallvec![self.full(operands[0])?, self.full(operands[1])?],
            "list_resize" if fixed(self, 1) => smallvec![self.full(operands[0])?, self.map[&operands[1]]],
            _ => return Ok(None),
        };
        let mut outs = self.whole(op, &new, data.attrs.clone())?;
        if let Some(out) = outs.last_mut() {
            let rank = data.results.last().and_then(|&v| self.rank(v));
            *out = match op.name {
                "list_stack" => self.swapped(*out, rank)?,
                "list_get" | "list_take" => self.at_places(operands[1], *out, rank)?,
                _ => *out,
            };
        }
        Ok(Some(outs))
    }

    /// A list of the new graph that is the same for every example, with the leading axis in each element.
    pub(super) fn full_list(&mut self, list: Value) -> Result<Value> {
        let graph = self.b.graph();
        let made = graph.def_inst(list).map(|inst| &graph.insts[inst]).filter(|data| data.op.is(&list::LIST_NEW));
        let Some(data) = made else {
            return Err(Error::unimplemented("a list that is the same for every example becomes one that is not"));
        };
        let (operands, mut attrs) = (data.operands.clone(), data.attrs.clone());
        if let Attr::Shape(shape) = &attrs.0[1] {
            let dims = shape.dims().map(|dims| std::iter::once(self.lead).chain(dims.iter().copied()));
            let shape = dims.map_or(Shape::UNRANKED, |dims| Shape::new(dims).erased());
            attrs.0[1] = Attr::Shape(shape);
        }
        Ok(self.whole(&list::LIST_NEW, &operands, attrs)?[0])
    }

    /// What operand `shape` says of elements such as `element`, with the number of examples before it.
    fn element_shape(&mut self, shape: Value, element: Value) -> Result<Value> {
        let new = self.map[&shape];
        // The elements of a list of lists have no axis; a scalar says that nothing is known.
        if is_list(self.source.ty(element)) || self.rank(shape) == Some(0) {
            return Ok(new);
        }
        if self.rank(shape) != Some(1) {
            return Err(Error::unimplemented("the rank of the elements' shape is not known"));
        }
        self.leading(new)
    }

    /// Values at `places` between the order that lists have, the elements first, and that of batches, the examples first.
    fn at_places(&mut self, places: Value, values: Value, rank: Option<usize>) -> Result<Value> {
        match self.rank(places) {
            Some(0) => Ok(values),
            Some(_) => self.swapped(values, rank),
            None => Err(Error::unimplemented("needs to know whether the indices are a scalar or a vector")),
        }
    }

    /// A value of the new graph with its first two dimensions in the other order. `rank` is that of one example.
    fn swapped(&mut self, value: Value, rank: Option<usize>) -> Result<Value> {
        let Some(rank) = rank else { return Err(Error::unimplemented("the rank of the elements is not known")) };
        let perm: Vec<i64> = [1, 0].into_iter().chain(2..=rank as i64).collect();
        self.emit(&shape_ops::TRANSPOSE, &[value], &[("perm", perm.into())])
    }
}
