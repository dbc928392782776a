//! Batches of windows whose sizes depend on the keys.

use std::sync::Arc;

use penstock_data::{Error, Result, Tensor};

use crate::rows::Leaves;
use crate::sources::AtHand;
use crate::{Batch, Function, PaddedBatch, Padding, Pull, Rows};

/// A value that is fixed, or one of those that a function gives for the key of a window.
#[derive(Clone, Debug)]
pub enum Given<T> {
    /// The value itself.
    Fixed(T),
    /// The number of the result.
    Of(usize),
}

/// How a leaf is padded, for the key of a window.
pub struct Pads {
    /// The sizes to pad to; `None` for the largest of the batch.
    pub shape: Vec<Option<Given<i64>>>,
    /// What to pad with: a scalar of the dtype of the leaf.
    pub value: Given<Tensor>,
}

/// Batches of the elements of a window.
pub struct Batches {
    /// Gives, for the key, what is not fixed: integers are `i64` scalars.
    pub numbers: Option<Arc<dyn Function>>,
    /// How many elements a batch has.
    pub size: Given<i64>,
    /// Whether a last batch that is smaller is left out.
    pub drop: bool,
    /// For each leaf that is a tensor how it is padded; `None` where nothing is padded.
    pub pads: Option<Vec<Option<Pads>>>,
}

impl Batches {
    /// The batches of a window.
    ///
    /// # Errors
    /// `InvalidArgument` for sizes that no batch has; those of the function.
    pub fn open(&self, key: i64, window: Vec<Rows>) -> Result<Pull> {
        let given = match &self.numbers {
            Some(function) => function.call(&[Some(Tensor::scalar(key))])?,
            None => Leaves::new(),
        };
        let integer = |value: &Given<i64>| match value {
            Given::Fixed(value) => Ok(*value),
            Given::Of(i) => number(&given, *i),
        };
        let at_least = |value: i64, argument: &'static str, least: usize| {
            let found = usize::try_from(value).ok().filter(|&value| value >= least);
            found.ok_or_else(|| Error::invalid(format!("argument '{argument}' must be at least {least}, got {value}")))
        };
        let size = at_least(integer(&self.size)?, "batch_size", 1)?;
        let window = Box::new(AtHand::new(window));
        let Some(pads) = &self.pads else { return Ok(Box::new(Batch::new(window, size, self.drop))) };
        let padding = |pads: &Pads| -> Result<Padding> {
            let size = |size: &Given<i64>| at_least(integer(size)?, "padded_shapes", 0);
            let shape = pads.shape.iter().map(|wanted| wanted.as_ref().map(size).transpose());
            let value = match &pads.value {
                Given::Fixed(value) => value.clone(),
                Given::Of(i) => leaf(&given, *i)?.clone(),
            };
            Ok(Padding { shape: shape.collect::<Result<_>>()?, value })
        };
        let paddings = pads.iter().map(|pads| pads.as_ref().map(padding).transpose()).collect::<Result<_>>()?;
        Ok(Box::new(PaddedBatch::new(window, size, self.drop, paddings)))
    }
}

fn leaf(leaves: &Leaves, i: usize) -> Result<&Tensor> {
    leaves.get(i).and_then(Option::as_ref).ok_or_else(|| Error::internal("a function of a key gave no tensor"))
}

/// The integer that is a leaf.
pub(crate) fn number(leaves: &Leaves, i: usize) -> Result<i64> {
    let found = leaf(leaves, i)?.on_host()?.item::<i64>();
    found.ok_or_else(|| Error::internal("a function of a key gave no integer"))
}
