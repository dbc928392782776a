//! Lists of tensors: what a `variant` tensor holds.

use rustc_hash::FxHashMap;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::memory;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// A list of tensors of one dtype, of which any may be unset.
///
/// An unset element stands for zeros and takes no memory, whatever the length. Reading, setting, pushing and popping
/// one element takes constant time.
#[derive(Clone, Debug)]
pub struct List {
    dtype: Option<DType>,
    shape: Shape,
    len: usize,
    /// The first elements, as far as they were set one after the other.
    head: Vec<Option<Tensor>>,
    /// Those behind `head` that are set.
    rest: FxHashMap<usize, Tensor>,
}

impl Drop for List {
    /// Lists of lists are taken apart one after the other: however deep they are, the stack does not overflow.
    fn drop(&mut self) {
        if self.dtype != Some(DType::Variant) {
            return;
        }
        let mut left: Vec<Tensor> = Vec::new();
        self.empty_into(&mut left);
        while let Some(mut tensor) = left.pop() {
            if let Some(list) = tensor.unshared_list() {
                list.empty_into(&mut left);
            }
        }
    }
}

impl PartialEq for List {
    /// Equality of dtype, shape, length and elements, bit by bit.
    fn eq(&self, other: &List) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.len == other.len
            && self.elements() == other.elements()
    }
}

impl Default for List {
    /// A list without elements.
    fn default() -> List {
        List::zeros(0)
    }
}

impl List {
    /// A list of `len` unset elements of this dtype whose shapes are of the type `shape`.
    pub fn new(dtype: DType, shape: Shape, len: usize) -> List {
        List { dtype: Some(dtype), shape, len, head: Vec::new(), rest: FxHashMap::default() }
    }

    /// A list of `len` zeros of whatever dtype and shape is written to it.
    pub fn zeros(len: usize) -> List {
        List { dtype: None, shape: Shape::UNRANKED, len, head: Vec::new(), rest: FxHashMap::default() }
    }

    /// The dtype of the elements; `None` for a list of zeros that nothing was written to.
    pub fn dtype(&self) -> Option<DType> {
        self.dtype
    }

    /// What the shapes of all elements have in common.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of elements, unset ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `index`; `None` where it is unset or not there.
    pub fn get(&self, index: usize) -> Option<&Tensor> {
        match self.head.get(index) {
            Some(element) => element.as_ref(),
            None => self.rest.get(&index),
        }
    }

    /// Sets element `index`. The list grows where it is too short and `grow` says so.
    ///
    /// # Errors
    /// `OutOfRange` for an index that is not there, `DType` and `InvalidArgument` for a tensor of another dtype or shape.
    pub fn set(&mut self, index: usize, value: Tensor, grow: bool) -> Result<()> {
        if index >= self.len && !grow {
            return Err(Error::out_of_range(format!(
                "tried to write to index {index} of a list that cannot grow and has {} elements",
                self.len
            )));
        }
        self.check(&value)?;
        if index < self.head.len() {
            self.head[index] = Some(value);
        } else if index > self.head.len() {
            if self.rest.try_reserve(1).is_err() {
                return Err(Error::exhausted(format!("cannot allocate a list of {} elements", self.rest.len())));
            }
            self.rest.insert(index, value);
        } else {
            self.rest.remove(&index);
            memory::push(&mut self.head, Some(value))?;
            while !self.rest.is_empty() && self.rest.contains_key(&self.head.len()) {
                memory::reserve(&mut self.head, 1)?;
                self.head.push(self.rest.remove(&self.head.len()));
            }
        }
        self.len = self.len.max(index + 1);
        Ok(())
    }

    /// Adds an element at the end.
    ///
    /// # Errors
    /// `DType` and `InvalidArgument` for a tensor of another dtype or shape.
    pub fn push(&mut self, value: Tensor) -> Result<()> {
        self.set(self.len, value, true)
    }

    /// Removes the last element, and gives it where it is set.
    ///
    /// # Errors
    /// `OutOfRange` where there is none.
    pub fn pop(&mut self) -> Result<Option<Tensor>> {
        let last = self.len.checked_sub(1).ok_or_else(|| Error::out_of_range("tried to pop from an empty list"))?;
        self.len = last;
        Ok(if self.head.len() > last { self.head.pop().flatten() } else { self.rest.remove(&last) })
    }

    /// Unsets element `index`, and gives what it was.
    pub fn take(&mut self, index: usize) -> Option<Tensor> {
        match self.head.get_mut(index) {
            Some(element) => element.take(),
            None => self.rest.remove(&index),
        }
    }

    /// Moves the elements that are set; where there is no memory for that, they are dropped here, one level deeper on the stack.
    fn empty_into(&mut self, out: &mut Vec<Tensor>) {
        if out.try_reserve(self.head.len() + self.rest.len()).is_err() {
            self.head.clear();
            self.rest.clear();
            return;
        }
        out.extend(self.head.drain(..).flatten());
        out.extend(self.rest.drain().map(|(_, tensor)| tensor));
    }

    /// Drops the elements from `len` on, or adds unset ones up to there.
    pub fn resize(&mut self, len: usize) {
        self.head.truncate(len);
        if self.len.saturating_sub(len) < self.rest.len() {
            (len..self.len).for_each(|i| drop(self.rest.remove(&i)));
        } else {
            self.rest.retain(|&i, _| i < len);
        }
        self.len = len;
    }

    /// The elements that are set, in the order of their indices.
    pub fn elements(&self) -> Vec<(usize, &Tensor)> {
        let head = self.head.iter().enumerate().filter_map(|(i, t)| Some((i, t.as_ref()?)));
        let mut all: Vec<(usize, &Tensor)> = head.chain(self.rest.iter().map(|(&i, t)| (i, t))).collect();
        all.sort_unstable_by_key(|&(i, _)| i);
        all
    }

    /// Whether no element is set.
    pub fn is_blank(&self) -> bool {
        self.rest.is_empty() && self.head.iter().all(Option::is_none)
    }

    fn check(&mut self, value: &Tensor) -> Result<()> {
        let due = *self.dtype.get_or_insert(value.dtype());
        if due != value.dtype() {
            return Err(Error::dtype(format!(
                "tried to write a tensor of dtype {} to a list of {}",
                value.dtype().tf_name(),
                due.tf_name()
            )));
        }
        let fits = match self.shape.dims() {
            None => true,
            Some(dims) => {
                dims.len() == value.rank()
                    && dims.iter().zip(value.dims()).all(|(d, &n)| d.known().is_none_or(|k| k == n))
            }
        };
        if fits {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "tried to write a tensor of shape {} to a list of elements of shape {}",
            Shape::known(value.dims()),
            self.shape
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn scalars(list: &List) -> Vec<(usize, f64)> {
        list.elements().into_iter().map(|(i, t)| (i, t.item::<f64>().unwrap())).collect()
    }

    #[test]
    fn unset_elements_take_no_memory() {
        let mut list = List::new(DType::F64, Shape::scalar(), usize::MAX / 2);
        list.set(1 << 40, Tensor::from(1.0f64), false).unwrap();
        assert_eq!((list.elements().len(), list.get(3).is_none()), (1, true));
        list.resize(5);
        assert_eq!((list.is_blank(), list.len()), (true, 5));
    }

    #[test]
    fn lists_in_lists_are_dropped_however_deep() {
        let mut inner = List::zeros(0);
        for _ in 0..300_000 {
            let mut outer = List::zeros(3);
            outer.set(2, Tensor::from_list(inner), false).unwrap();
            outer.set(0, Tensor::from_list(List::zeros(0)), false).unwrap();
            inner = outer;
        }
        let shared = inner.get(2).unwrap().clone();
        drop(inner);
        assert_eq!(shared.list().unwrap().len(), 3);
    }

    #[test]
    fn pushes_and_pops_are_a_stack() {
        let mut list = List::zeros(0);
        for i in 0..3 {
            list.push(Tensor::from(f64::from(i))).unwrap();
        }
        list.resize(4);
        assert!(list.pop().unwrap().is_none());
        assert_eq!(list.pop().unwrap(), Some(Tensor::from(2.0f64)));
        assert_eq!(scalars(&list), [(0, 0.0), (1, 1.0)]);
        list.resize(1);
        assert_eq!(scalars(&list), [(0, 0.0)]);
        list.pop().unwrap();
        assert_eq!(list.pop().unwrap_err().class(), Class::OutOfRange);
    }

    #[test]
    fn the_order_of_writes_does_not_matter() {
        let written = |order: &[usize]| {
            let mut list = List::zeros(6);
            order.iter().for_each(|&i| list.set(i, Tensor::from(i as f64), false).unwrap());
            list
        };
        let list = written(&[0, 1, 2, 3, 5]);
        for order in [[5, 3, 2, 1, 0], [1, 3, 0, 5, 2], [2, 1, 5, 0, 3]] {
            assert_eq!(written(&order), list);
        }
        let mut other = written(&[0, 2, 1, 4, 3]);
        assert_ne!(other, list);
        assert_eq!(other.take(1), Some(Tensor::from(1.0f64)));
        other.resize(4);
        assert_eq!(scalars(&other), [(0, 0.0), (2, 2.0), (3, 3.0)]);
        assert_eq!(
            (other.pop().unwrap(), other.pop().unwrap(), other.pop().unwrap()),
            (Some(Tensor::from(3.0f64)), Some(Tensor::from(2.0f64)), None)
        );
        other.push(Tensor::from(9.0f64)).unwrap();
        assert_eq!(scalars(&other), [(0, 0.0), (1, 9.0)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut list = List::new(DType::F64, Shape::known(&[2]), 1);
        let fits = Tensor::vector(&[1.0f64, 2.0]);
        assert_eq!(list.set(0, Tensor::from(1.0f64), false).unwrap_err().class(), Class::InvalidArgument);
        assert_eq!(list.set(0, Tensor::vector(&[1i64, 2]), false).unwrap_err().class(), Class::DType);
        assert_eq!(list.set(1, fits.clone(), false).unwrap_err().class(), Class::OutOfRange);
        list.set(3, fits, true).unwrap();
        assert_eq!((list.len(), list.elements().len()), (4, 1));
    }
}
