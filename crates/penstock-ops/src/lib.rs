//! The operators: each is one [`OpDef`] in the file of its family, listed in its family's `OPS`.

pub mod array;
pub mod binary;
pub mod binomial;
pub mod cast;
pub mod compare;
pub mod control;
pub mod conv;
pub mod decompositions;
pub mod diagonals;
pub mod eigen;
mod farmhash;
pub mod format;
pub mod fourier;
pub mod fused;
pub mod gather;
mod grad;
pub mod host;
pub mod joining;
pub mod linalg;
pub mod list;
mod list_kernels;
mod moves;
pub mod nn;
mod operands;
mod packed;
pub mod part;
pub mod pooling;
pub mod random;
pub mod reduce;
pub mod resolve;
mod run;
mod sample_arrays;
pub mod samples;
pub mod scan;
pub mod segment;
pub mod shape_ops;
mod siphash;
pub mod slicing;
pub mod solves;
pub mod sorting;
pub mod state;
pub mod strings;
pub mod text;
pub mod unary;
pub mod updates;
pub mod util;
mod windows;

use penstock_data::{DType, Error, Result};
use penstock_ir::{Attrs, OpDef, OpSet};
use penstock_kernels::{Binary, Formula, binary_formula, unary_formula};

/// The families, in the order of the documentation.
pub static FAMILIES: &[(&str, &[&OpDef])] = &[
    ("unary", unary::OPS),
    ("binary", binary::OPS),
    ("compare", compare::OPS),
    ("cast", cast::OPS),
    ("reduce", reduce::OPS),
    ("scan", scan::OPS),
    ("sorting", sorting::OPS),
    ("segment", segment::OPS),
    ("linalg", linalg::OPS),
    ("diagonals", diagonals::OPS),
    ("solves", solves::OPS),
    ("decompositions", decompositions::OPS),
    ("eigen", eigen::OPS),
    ("fourier", fourier::OPS),
    ("nn", nn::OPS),
    ("conv", conv::OPS),
    ("pooling", pooling::OPS),
    ("array", array::OPS),
    ("random", random::OPS),
    ("strings", strings::OPS),
    ("text", text::OPS),
    ("list", list::OPS),
    ("host", host::OPS),
    ("control", control::OPS),
    ("fused", fused::OPS),
    ("state", state::OPS),
];

/// Every operator.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().flat_map(|(_, ops)| ops.iter().copied())
}

/// The formula of an elementwise operator on operands of a dtype, where it has one.
pub fn formula(name: &str, dtype: DType) -> Option<&'static Formula> {
    if let Some(op) = unary::kernel_of(name) {
        return unary_formula(op, dtype);
    }
    let sum = (name == nn::BIAS_ADD.name).then_some(Binary::Add);
    let op = binary::kernel_of(name).or_else(|| compare::kernel_of(name)).or(sum)?;
    binary_formula(op, dtype)
}

/// The operators of this crate, to look names up in. A text may not hold one that writes to a file, see [`OpsAndFiles`].
pub struct Ops;

impl OpSet for Ops {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        use std::collections::HashMap;
        use std::sync::LazyLock;
        static INDEX: LazyLock<HashMap<&'static str, &'static OpDef>> =
            LazyLock::new(|| all().map(|op| (op.name, op)).collect());
        INDEX.get(name).copied()
    }

    fn admit(&self, op: &'static OpDef, attrs: &Attrs) -> Result<()> {
        match host::file_of(op, attrs) {
            Some(_) => Err(Error::precondition("writes to a file, which a text may only where its reader allows it")
                .argument("stream")),
            None => Ok(()),
        }
    }
}

/// As [`Ops`], for texts that may write to files.
pub struct OpsAndFiles;

impl OpSet for OpsAndFiles {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        Ops.find(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let mut seen = std::collections::HashSet::new();
        for op in all() {
            assert!(seen.insert(op.name), "{} is declared twice", op.name);
            assert!(Ops.find(op.name).is_some_and(|found| found.is(op)));
            assert!(!op.doc.is_empty(), "{} has no doc", op.name);
        }
        assert!(Ops.find("no such operator").is_none());
    }
}
