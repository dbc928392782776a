//! The operators, each a static in the module of its family: `ops::linalg::MATMUL`, `ops::nn::SOFTMAX`.
//!
//! [`OpDef::doc`] says what an operator computes, [`OpDef::operands`] and [`OpDef::attrs`] what it takes.

use penstock_data::{Error, Result};
use penstock_ir::{OpDef, OpSet};

pub use penstock_ops::{
    FAMILIES, Ops, OpsAndFiles, all, array, binary, cast, compare, control, gather, host, joining, linalg, nn, random,
    reduce, scan, shape_ops, slicing, state, strings, unary,
};

/// The operator of a name in the text form.
///
/// # Errors
/// `NotFound` where there is none.
pub fn find(name: &str) -> Result<&'static OpDef> {
    Ops.find(name).ok_or_else(|| Error::not_found(format!("there is no operator '{name}'")))
}
