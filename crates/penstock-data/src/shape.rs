//! Shapes: concrete extents of tensors, and symbolic shapes of values in a graph.

use std::fmt;

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The most dimensions that a tensor has.
pub const MAX_RANK: usize = 254;

/// The extents of a tensor, outermost first.
pub type Dims = SmallVec<[usize; 4]>;

/// The number of elements of `dims`; `None` where the product of the extents that are not 0 overflows `isize`. So the
/// product of any of a tensor's extents is a number, also where the tensor is empty.
pub fn num_elements(dims: &[usize]) -> Option<usize> {
    let product = product_of(dims.iter().copied())?;
    Some(if dims.contains(&0) { 0 } else { product })
}

/// The product of the extents that are not 0; `None` where it overflows `isize`.
pub(crate) fn product_of(extents: impl IntoIterator<Item = usize>) -> Option<usize> {
    let product = extents.into_iter().filter(|&d| d != 0).try_fold(1usize, usize::checked_mul)?;
    isize::try_from(product).is_ok().then_some(product)
}

/// Checks a number of dimensions.
///
/// # Errors
/// `InvalidArgument` where it is more than [`MAX_RANK`].
#[inline]
pub fn check_rank(rank: usize) -> Result<()> {
    if rank <= MAX_RANK {
        return Ok(());
    }
    Err(Error::invalid(format!("a tensor has at most {MAX_RANK} dimensions, got {rank}")))
}

/// A size that is unknown while a graph is built, and the same wherever the symbol stands in that graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub u32);

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// One dimension of a symbolic shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// A known size.
    Known(usize),
    /// An unknown size with a name.
    Sym(Symbol),
    /// A size of which nothing is known.
    Unknown,
}

impl Dim {
    /// The size, where it is known.
    pub fn known(self) -> Option<usize> {
        match self {
            Dim::Known(n) => Some(n),
            _ => None,
        }
    }

    /// Whether some run-time size satisfies both.
    pub fn compatible(self, other: Dim) -> bool {
        !matches!((self, other), (Dim::Known(a), Dim::Known(b)) if a != b)
    }

    /// What is known when both describe the same size; `None` where they contradict each other.
    pub fn merge(self, other: Dim) -> Option<Dim> {
        match (self, other) {
            (Dim::Known(a), Dim::Known(b)) => (a == b).then_some(self),
            (Dim::Known(_), _) => Some(self),
            (_, Dim::Known(_)) => Some(other),
            (Dim::Sym(_), _) => Some(self),
            _ => Some(other),
        }
    }

    /// The most specific dimension that covers both.
    pub fn join(self, other: Dim) -> Dim {
        if self == other { self } else { Dim::Unknown }
    }

    /// The broadcast of two dimensions; `None` where both are known, differ, and neither is 1.
    pub fn broadcast(self, other: Dim) -> Option<Dim> {
        match (self, other) {
            (Dim::Known(1), d) | (d, Dim::Known(1)) => Some(d),
            (Dim::Known(a), Dim::Known(b)) => (a == b).then_some(self),
            (Dim::Known(_), _) => Some(self),
            (_, Dim::Known(_)) => Some(other),
            (a, b) => Some(a.join(b)),
        }
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim::Known(n)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(n) => n.fmt(f),
            Dim::Sym(s) => s.fmt(f),
            Dim::Unknown => f.write_str("?"),
        }
    }
}

/// A symbolic shape: a list of dimensions, or of unknown rank.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Shape(Option<SmallVec<[Dim; 4]>>);

impl Clone for Shape {
    /// As what is derived would be, which copies the dimensions one by one.
    #[inline]
    fn clone(&self) -> Shape {
        Shape(self.0.as_deref().map(SmallVec::from_slice))
    }
}

impl Shape {
    /// A shape of unknown rank.
    pub const UNRANKED: Shape = Shape(None);

    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape(Some(SmallVec::new()))
    }

    /// A shape of the given dimensions.
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> Shape {
        Shape(Some(dims.into_iter().collect()))
    }

    /// A fully known shape.
    pub fn known(dims: &[usize]) -> Shape {
        Shape::new(dims.iter().map(|&d| Dim::Known(d)))
    }

    /// A shape of `rank` unknown dimensions.
    ///
    /// # Errors
    /// `InvalidArgument` where it is more than [`MAX_RANK`].
    pub fn of_rank(rank: usize) -> Result<Shape> {
        check_rank(rank)?;
        Ok(Shape::new(std::iter::repeat_n(Dim::Unknown, rank)))
    }

    /// Checks that a tensor of elements of `size` bytes may have this shape.
    ///
    /// # Errors
    /// `InvalidArgument` where there are too many dimensions, `ResourceExhausted` where the extents that are known are
    /// too many elements to address.
    pub fn check(&self, size: usize) -> Result<()> {
        let Some(dims) = self.dims() else { return Ok(()) };
        check_rank(dims.len())?;
        match product_of(dims.iter().filter_map(|d| d.known()).chain([size.max(1)])) {
            Some(_) => Ok(()),
            None => Err(Error::exhausted(format!("a tensor of shape {self} is too large to address"))),
        }
    }

    /// The number of dimensions, where it is known.
    pub fn rank(&self) -> Option<usize> {
        self.0.as_ref().map(|d| d.len())
    }

    /// The dimensions, where the rank is known.
    pub fn dims(&self) -> Option<&[Dim]> {
        self.0.as_deref()
    }

    /// The extents, where all of them are known.
    pub fn extents(&self) -> Option<Dims> {
        self.dims()?.iter().map(|d| d.known()).collect()
    }

    /// Whether every dimension is known.
    pub fn is_static(&self) -> bool {
        self.dims().is_some_and(|ds| ds.iter().all(|d| d.known().is_some()))
    }

    /// The number of elements, where every dimension is known (or one is known to be 0).
    pub fn num_elements(&self) -> Option<usize> {
        let dims = self.dims()?;
        if dims.contains(&Dim::Known(0)) {
            return Some(0);
        }
        num_elements(&self.extents()?)
    }

    /// Whether some run-time shape satisfies both.
    pub fn compatible(&self, other: &Shape) -> bool {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.compatible(*y)),
            _ => true,
        }
    }

    /// Whether every run-time shape of `self` is one of `other`: fixed ≤ unknown size ≤ unknown rank.
    pub fn is_subtype_of(&self, other: &Shape) -> bool {
        match (self.dims(), other.dims()) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| y.known().is_none() || x == y),
        }
    }

    /// What is known when both describe the same run-time shape; `None` where they contradict each other.
    pub fn merge(&self, other: &Shape) -> Option<Shape> {
        match (self.dims(), other.dims()) {
            (None, _) => Some(other.clone()),
            (_, None) => Some(self.clone()),
            (Some(a), Some(b)) if a.len() == b.len() => {
                let dims: Option<SmallVec<[Dim; 4]>> = a.iter().zip(b).map(|(x, y)| x.merge(*y)).collect();
                dims.map(|d| Shape(Some(d)))
            }
            _ => None,
        }
    }

    /// The most specific shape that covers both.
    pub fn join(&self, other: &Shape) -> Shape {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) if a.len() == b.len() => Shape::new(a.iter().zip(b).map(|(x, y)| x.join(*y))),
            _ => Shape::UNRANKED,
        }
    }

    /// The shape that two operands broadcast to by NumPy's rule; `None` where they cannot.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let (Some(a), Some(b)) = (self.dims(), other.dims()) else { return Some(Shape::UNRANKED) };
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let lead = long.len() - short.len();
        let mut out: SmallVec<[Dim; 4]> = long[..lead].into();
        for (x, y) in long[lead..].iter().zip(short) {
            out.push(x.broadcast(*y)?);
        }
        Some(Shape(Some(out)))
    }

    /// The shape with every symbol and unknown dimension made unknown, as printed to Python users.
    pub fn erased(&self) -> Shape {
        match self.dims() {
            None => Shape::UNRANKED,
            Some(dims) => Shape::new(dims.iter().map(|d| d.known().map_or(Dim::Unknown, Dim::Known))),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("[*]") };
        f.write_str("[")?;
        for (i, d) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            d.fmt(f)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dims: &[isize]) -> Shape {
        Shape::new(dims.iter().map(|&d| if d < 0 { Dim::Unknown } else { Dim::Known(d as usize) }))
    }

    #[test]
    fn broadcast_follows_numpy_and_keeps_what_is_known() {
        assert_eq!(shape(&[3, 1]).broadcast(&shape(&[4])), Some(shape(&[3, 4])));
        assert_eq!(shape(&[0]).broadcast(&shape(&[1])), Some(shape(&[0])));
        assert_eq!(shape(&[2]).broadcast(&shape(&[3])), None);
        assert_eq!(shape(&[-1]).broadcast(&shape(&[3])), Some(shape(&[3])));
        assert_eq!(shape(&[-1]).broadcast(&shape(&[1])), Some(shape(&[-1])));
        assert_eq!(Shape::UNRANKED.broadcast(&shape(&[2])), Some(Shape::UNRANKED));
        let s = Shape::new([Dim::Sym(Symbol(0))]);
        assert_eq!(s.broadcast(&s), Some(s.clone()));
        assert_eq!(s.broadcast(&Shape::new([Dim::Sym(Symbol(1))])), Some(shape(&[-1])));
    }

    #[test]
    fn subtyping_orders_fixed_below_unknown_below_unranked() {
        let (fixed, open) = (shape(&[2, 3]), shape(&[-1, 3]));
        assert!(fixed.is_subtype_of(&open) && open.is_subtype_of(&Shape::UNRANKED));
        assert!(!open.is_subtype_of(&fixed) && !Shape::UNRANKED.is_subtype_of(&open));
        assert!(!shape(&[2]).is_subtype_of(&fixed));
    }

    #[test]
    fn merge_and_join_are_the_two_bounds() {
        let (a, b) = (shape(&[2, -1]), shape(&[-1, 3]));
        assert_eq!(a.merge(&b), Some(shape(&[2, 3])));
        assert_eq!(a.join(&b), shape(&[-1, -1]));
        assert_eq!(shape(&[2]).merge(&shape(&[3])), None);
        assert_eq!(shape(&[2]).join(&shape(&[2, 2])), Shape::UNRANKED);
    }

    #[test]
    fn element_counts_saturate_to_none_not_to_a_wrong_number() {
        assert_eq!(num_elements(&[usize::MAX, 2]), None);
        assert_eq!(num_elements(&[]), Some(1));
    }

    #[test]
    fn the_product_of_any_extents_of_an_empty_tensor_is_a_number() {
        assert_eq!(num_elements(&[1 << 40, 1 << 20, 0]), Some(0));
        assert_eq!(num_elements(&[1 << 40, 1 << 40, 0]), None);
        assert_eq!(num_elements(&[usize::MAX, 0]), None);
        assert!(Shape::known(&[1 << 60, 0]).check(4).is_ok());
        assert!(Shape::known(&[1 << 60, 0]).check(8).is_err());
        assert!(Shape::new([Dim::Unknown, Dim::Known(1 << 40), Dim::Known(1 << 40)]).check(1).is_err());
    }

    #[test]
    fn the_number_of_dimensions_is_limited() {
        assert_eq!(Shape::of_rank(MAX_RANK).unwrap().rank(), Some(MAX_RANK));
        assert!(Shape::of_rank(MAX_RANK + 1).is_err() && Shape::of_rank(usize::MAX).is_err());
        assert!(Shape::known(&[1; MAX_RANK + 1]).check(1).is_err());
    }
}
