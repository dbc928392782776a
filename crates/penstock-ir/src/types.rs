//! Types of values.

use std::fmt;

use penstock_data::{DType, Result, Shape, Tensor};

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A tensor.
    Tensor(DType, Shape),
    /// A reference to a variable whose value has this dtype and shape.
    Variable(DType, Shape),
}

impl Type {
    /// A tensor type.
    pub fn tensor(dtype: DType, shape: Shape) -> Type {
        Type::Tensor(dtype, shape)
    }

    /// The type of a rank-0 tensor.
    pub fn scalar(dtype: DType) -> Type {
        Type::Tensor(dtype, Shape::scalar())
    }

    /// The exact type of a tensor at hand.
    pub fn of(tensor: &Tensor) -> Type {
        Type::Tensor(tensor.dtype(), Shape::known(tensor.dims()))
    }

    /// The dtype of the tensor, or of the variable's value.
    pub fn dtype(&self) -> DType {
        match self {
            Type::Tensor(d, _) | Type::Variable(d, _) => *d,
        }
    }

    /// The shape of the tensor, or of the variable's value.
    pub fn shape(&self) -> &Shape {
        match self {
            Type::Tensor(_, s) | Type::Variable(_, s) => s,
        }
    }

    /// Whether it is a reference to a variable.
    pub fn is_variable(&self) -> bool {
        matches!(self, Type::Variable(..))
    }

    /// The same kind and dtype with another shape.
    #[must_use]
    pub fn with_shape(&self, shape: Shape) -> Type {
        match self {
            Type::Tensor(d, _) => Type::Tensor(*d, shape),
            Type::Variable(d, _) => Type::Variable(*d, shape),
        }
    }

    /// Checks that there can be a tensor of this type.
    ///
    /// # Errors
    /// As [`Shape::check`].
    pub fn check(&self) -> Result<()> {
        self.shape().check(self.dtype().size())
    }

    /// Whether every run-time value of `self` is one of `other`.
    pub fn is_subtype_of(&self, other: &Type) -> bool {
        self.is_variable() == other.is_variable()
            && self.dtype() == other.dtype()
            && self.shape().is_subtype_of(other.shape())
    }

    /// Whether there may be a value of both.
    pub fn agrees_with(&self, other: &Type) -> bool {
        self.is_variable() == other.is_variable()
            && self.dtype() == other.dtype()
            && self.shape().merge(other.shape()).is_some()
    }
}

impl fmt::Display for Type {
    /// `f32[s0,10]` or `var f32[10]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_variable() {
            f.write_str("var ")?;
        }
        write!(f, "{}{}", self.dtype(), self.shape())
    }
}
