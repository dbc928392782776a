//! What is known of values before a graph runs.

use penstock_data::{Dim, Tensor};
use smallvec::SmallVec;

/// Access to the values of operands, as far as they are known.
pub trait KnownValues {
    /// The value of operand `index`, where it is constant.
    fn constant(&self, index: usize) -> Option<Tensor>;

    /// What is known of each element of operand `index`, an integer vector or scalar. Of a list, of its length.
    /// `None` where not even their number is known.
    fn elements(&self, index: usize) -> Option<SmallVec<[Element; 4]>> {
        Element::of_tensor(&self.constant(index)?)
    }

    /// The elements of operand `index` as dimensions; those that are not constant are symbols or unknown.
    fn dims(&self, index: usize) -> Option<SmallVec<[Dim; 4]>> {
        Some(self.elements(index)?.into_iter().map(Element::dim).collect())
    }
}

/// What is known of an integer that may be an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// An extent, or any number where it is unknown.
    Extent(Dim),
    /// A negative number, such as the -1 of a size that is to be inferred.
    Negative,
}

impl Element {
    /// Any number.
    pub const UNKNOWN: Element = Element::Extent(Dim::Unknown);

    /// The extent, unknown for a negative number.
    pub fn dim(self) -> Dim {
        match self {
            Element::Extent(dim) => dim,
            Element::Negative => Dim::Unknown,
        }
    }

    /// The elements of a scalar or vector; `None` for a tensor of a higher rank or of no integers.
    pub fn of_tensor(tensor: &Tensor) -> Option<SmallVec<[Element; 4]>> {
        if tensor.rank() > 1 {
            return None;
        }
        let element = |&n: &i64| match usize::try_from(n) {
            Ok(n) => Element::Extent(Dim::Known(n)),
            Err(_) => Element::Negative,
        };
        Some(tensor.to_ints().ok()?.iter().map(element).collect())
    }
}

/// Nothing is known of any value.
pub struct NoValues;

impl KnownValues for NoValues {
    fn constant(&self, _: usize) -> Option<Tensor> {
        None
    }
}

/// All values are at hand.
impl KnownValues for &[&Tensor] {
    fn constant(&self, index: usize) -> Option<Tensor> {
        self.get(index).map(|&t| t.clone())
    }
}
