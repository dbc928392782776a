//! The stage that puts elements of several shapes together.

use penstock_data::{DType, Error, Result, Tensor, memory, num_elements};
use penstock_ops::joining;
use penstock_trace::Var;

use crate::ahead::goes_on;
use crate::rows::{Leaves, Reader, operation};
use crate::{Pull, Rows, Stage};

/// How a leaf is padded.
#[derive(Clone, Debug)]
pub struct Padding {
    /// The sizes to pad to; `None` for the largest of the batch.
    pub shape: Vec<Option<usize>>,
    /// What to pad with: a scalar of the dtype of the leaf.
    pub value: Tensor,
}

/// Stacks a fixed number of elements into one batch, each padded at its ends.
pub struct PaddedBatch {
    read: Reader,
    size: usize,
    /// Whether a last batch that is smaller is left out.
    drop: bool,
    paddings: Vec<Option<Padding>>,
}

impl PaddedBatch {
    /// Batches of `size` elements of a stage, at least 1, with a padding for each leaf that is a tensor.
    pub fn new(source: Pull, size: usize, drop: bool, paddings: Vec<Option<Padding>>) -> PaddedBatch {
        PaddedBatch { read: Reader::new(source), size, drop, paddings }
    }
}

impl Stage for PaddedBatch {
    fn pull(&mut self, _: usize) -> Result<Option<Rows>> {
        let mut elements = Vec::new();
        while elements.len() < self.size {
            goes_on()?;
            let Some(leaves) = self.read.read()? else { break };
            elements.push(leaves);
        }
        if elements.is_empty() || (self.drop && elements.len() < self.size) {
            return Ok(None);
        }
        let leaf = |(i, padding): (usize, &Option<Padding>)| -> Result<Option<Tensor>> {
            let Some(padding) = padding else { return Ok(None) };
            let tensors: Vec<Tensor> =
                elements.iter().filter_map(|leaves| leaves[i].as_ref()).map(Tensor::on_host).collect::<Result<_>>()?;
            padding.stacked(&tensors).map(Some)
        };
        let leaves: Leaves = self.paddings.iter().enumerate().map(leaf).collect::<Result<_>>()?;
        Ok(Some(Rows::one(leaves)))
    }
}

impl Padding {
    /// Tensors of the host, stacked. There must be one.
    fn stacked(&self, tensors: &[Tensor]) -> Result<Tensor> {
        let first = tensors[0].dims();
        if let Some(other) = tensors.iter().find(|tensor| tensor.rank() != first.len()) {
            return Err(Error::invalid(format!(
                "padded_batch: tensors of one rank were expected, got shapes {first:?}, {:?}",
                other.dims()
            )));
        }
        if self.shape.len() != first.len() {
            return Err(Error::invalid(format!(
                "padded_batch: argument 'padded_shapes' has rank {} for a component of shape {first:?}",
                self.shape.len()
            )));
        }
        let largest = |i: usize| tensors.iter().map(|tensor| tensor.dims()[i]).max().unwrap_or(0);
        let wanted: Vec<usize> =
            self.shape.iter().enumerate().map(|(i, size)| size.unwrap_or_else(|| largest(i))).collect();
        if let Some(large) =
            tensors.iter().find(|tensor| tensor.dims().iter().zip(&wanted).any(|(own, most)| own > most))
        {
            return Err(Error::data_loss(format!(
                "padded_batch: cannot pad shape {:?} to the smaller shape {wanted:?}",
                large.dims()
            )));
        }
        if tensors.iter().all(|tensor| tensor.dims() == wanted) {
            let parts: Vec<Var> = tensors.iter().cloned().map(Var::eager).collect();
            return operation(&joining::STACK, &parts, &[("axis", 0i64.into())]);
        }
        let (dtype, value) = (tensors[0].dtype(), self.value.on_host()?);
        let dims: Vec<usize> = [tensors.len()].into_iter().chain(wanted.iter().copied()).collect();
        if dtype == DType::Str {
            let count = num_elements(&dims).unwrap_or(usize::MAX);
            let each = count / tensors.len();
            let mut texts = memory::filled(value.strings()[0].clone(), count)?;
            for (out, tensor) in texts.chunks_exact_mut(each.max(1)).zip(tensors) {
                place(out, &in_units(&wanted, 1), tensor.strings(), &in_units(tensor.dims(), 1));
            }
            return Tensor::from_strings(&dims, texts);
        }
        let unit = dtype.size();
        if unit == 0 {
            return Err(Error::invalid(format!("padded_batch: tensors of {dtype} cannot be padded")));
        }
        let mut out = Tensor::empty(dtype, &dims)?;
        let each = out.len() / tensors.len();
        fill(out.bytes_mut(), value.bytes());
        for (out, tensor) in out.bytes_mut().chunks_exact_mut((each * unit).max(1)).zip(tensors) {
            place(out, &in_units(&wanted, unit), tensor.bytes(), &in_units(tensor.dims(), unit));
        }
        Ok(out)
    }
}

/// The extents of an array whose elements have `unit` parts, with that as the last.
fn in_units(dims: &[usize], unit: usize) -> Vec<usize> {
    dims.iter().copied().chain([unit]).collect()
}

/// Repeats a value in memory whose size is a multiple of its own.
fn fill(memory: &mut [u8], value: &[u8]) {
    match value {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => memory.fill(*first),
        _ => memory.chunks_exact_mut(value.len()).for_each(|each| each.copy_from_slice(value)),
    }
}

/// Copies an array to the beginning of each axis of one that is no smaller, and whose last extent is the same.
fn place<T: Clone>(out: &mut [T], wanted: &[usize], from: &[T], own: &[usize]) {
    if own[1..] == wanted[1..] {
        out[..from.len()].clone_from_slice(from);
        return;
    }
    let (step, each): (usize, usize) = (wanted[1..].iter().product(), own[1..].iter().product());
    if each > 0 {
        for (out, from) in out.chunks_exact_mut(step).zip(from.chunks_exact(each)) {
            place(out, &wanted[1..], from, &own[1..]);
        }
    }
}
