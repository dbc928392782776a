//! The functions that elementwise operators compute.

use penstock_data::{DType, DTypeSet};
use penstock_kernels::{
    Binary, Formula, LoopFn, Unary, binary, binary_formula, binary_output, binary_parts, cast, select, unary,
    unary_formula, unary_output, unary_parts,
};

/// The function of elements that an operator computes. What makes code for an operator asks for this, and never for its name, so that
/// operators that compute the same are treated alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElementFn {
    /// Of one operand.
    Unary(Unary),
    /// Of two operands of one dtype.
    Binary(Binary),
    /// The operand in the dtype of the result.
    Cast,
    /// The second operand where the first is true, else the third.
    Select,
}

impl ElementFn {
    /// The loop from elements of the dtypes `from` to ones of `to`; `None` where there is none.
    pub fn kernel(self, from: &[DType], to: DType) -> Option<LoopFn> {
        match (self, from) {
            (ElementFn::Unary(op), &[x]) if unary_output(op, x) == to => unary(op, x),
            (ElementFn::Binary(op), &[x, y]) if x == y && binary_output(op, x) == to => binary(op, x),
            (ElementFn::Cast, &[x]) => cast(x, to),
            (ElementFn::Select, &[DType::Bool, x, y]) if x == y && x == to => {
                DTypeSet::FLAT.contains(x).then(|| select(x))
            }
            _ => None,
        }
    }

    /// The formula of the function for operands of a dtype, where it has one.
    pub fn formula(self, dtype: DType) -> Option<&'static Formula> {
        match self {
            ElementFn::Unary(op) => unary_formula(op, dtype),
            ElementFn::Binary(op) => binary_formula(op, dtype),
            ElementFn::Cast | ElementFn::Select => None,
        }
    }

    /// The formulas of the parts of the result for operands of a dtype, where one of both is complex, as [`binary_parts`] and [`unary_parts`]
    /// have them.
    pub fn parts(self, dtype: DType) -> Option<&'static [Formula]> {
        match self {
            ElementFn::Unary(op) => unary_parts(op, dtype),
            ElementFn::Binary(op) => binary_parts(op, dtype),
            ElementFn::Cast | ElementFn::Select => None,
        }
    }
}
