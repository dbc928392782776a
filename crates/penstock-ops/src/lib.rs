//! The operators: each is one [`OpDef`] in the file of its family, listed in its family's `OPS`.

pub mod array;
mod batch_rules;
pub mod binary;
pub mod binomial;
pub mod boxes;
pub mod bytes;
pub mod cast;
pub mod collective;
pub mod compare;
pub mod control;
pub mod conv;
pub mod counted;
pub mod decompositions;
pub mod diagonals;
pub mod eigen;
mod elements;
mod farmhash;
pub mod files;
pub mod format;
pub mod fourier;
pub mod fused;
pub mod gather;
mod grad;
mod groups;
pub mod host;
pub mod images;
pub mod joining;
pub mod linalg;
pub mod list;
mod list_kernels;
mod moves;
mod murmur;
pub mod nn;
pub mod node_names;
mod operands;
mod packed;
pub mod part;
mod patterns;
pub mod pooling;
pub mod random;
pub mod records;
pub mod reduce;
pub mod resolve;
mod run;
mod sample_arrays;
pub mod samples;
pub mod scan;
mod scripts;
pub mod segment;
pub mod shape_ops;
mod siphash;
pub mod slicing;
pub mod solves;
pub mod sorting;
pub mod state;
pub mod strings;
pub mod table;
pub mod text;
pub mod unary;
pub mod updates;
pub mod util;
mod windows;
pub mod words;

use penstock_data::{Error, Result};
use penstock_ir::{Attrs, Effect, OpDef, OpSet, RuleOps};

/// The operators that make, cut, join and move arrays.
static ARRAY: &[&OpDef] = &[
    &array::IDENTITY,
    &array::STOP_GRADIENT,
    &array::BARRIER,
    &array::ENSURE_SHAPE,
    &array::PLACEHOLDER_WITH_DEFAULT,
    &array::CHECK_NUMERICS,
    &array::SHAPE,
    &array::SIZE,
    &array::RANK,
    &array::FILL,
    &array::ZEROS_LIKE,
    &array::ONES_LIKE,
    &array::RANGE,
    &array::ONE_HOT,
    &shape_ops::RESHAPE,
    &shape_ops::EXPAND_DIMS,
    &shape_ops::SQUEEZE,
    &shape_ops::TRANSPOSE,
    &shape_ops::BROADCAST_TO,
    &shape_ops::TILE,
    &shape_ops::REVERSE,
    &shape_ops::PAD,
    &joining::CONCAT,
    &joining::CONCAT_OFFSET,
    &joining::STACK,
    &joining::UNSTACK,
    &joining::SPLIT,
    &slicing::STRIDED_SLICE,
    &slicing::STRIDED_SLICE_GRAD,
    &slicing::STRIDED_SLICE_ACCUMULATE,
    &slicing::SLICE,
    &slicing::SLICE_GRAD,
    &part::PART,
    &gather::GATHER,
    &gather::GATHER_GRAD,
    &gather::GATHER_ACCUMULATE,
    &gather::GATHER_ND,
    &gather::SCATTER_ND,
    &gather::TENSOR_SCATTER_UPDATE,
    &gather::TENSOR_SCATTER_ADD,
    &gather::TENSOR_SCATTER_SUB,
    &gather::TENSOR_SCATTER_MAX,
    &gather::TENSOR_SCATTER_MIN,
    &gather::UNSORTED_SEGMENT_SUM,
    &gather::WHERE_INDICES,
];

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
    ("array", ARRAY),
    ("random", random::OPS),
    ("strings", strings::OPS),
    ("text", text::OPS),
    ("words", words::OPS),
    ("bytes", bytes::OPS),
    ("files", files::OPS),
    ("images", images::OPS),
    ("boxes", boxes::OPS),
    ("records", records::OPS),
    ("list", list::OPS),
    ("host", host::OPS),
    ("collective", collective::OPS),
    ("control", control::OPS),
    ("fused", fused::OPS),
    ("state", state::OPS),
    ("table", table::OPS),
];

/// The operators that rules emit.
pub static RULE_OPS: RuleOps = RuleOps {
    add: &binary::ADD,
    broadcast_to: &shape_ops::BROADCAST_TO,
    cast: &cast::CAST,
    complex: &binary::COMPLEX,
    concat: &joining::CONCAT,
    conj: &unary::CONJ,
    cumprod: &scan::CUMPROD,
    div: &binary::DIV,
    divide_no_nan: &binary::DIVIDE_NO_NAN,
    equal: &compare::EQUAL,
    exp: &unary::EXP,
    expand_dims: &shape_ops::EXPAND_DIMS,
    floor: &unary::FLOOR,
    floordiv: &binary::FLOORDIV,
    greater: &compare::GREATER,
    greater_equal: &compare::GREATER_EQUAL,
    imag: &unary::IMAG,
    is_finite: &unary::IS_FINITE,
    less: &compare::LESS,
    less_equal: &compare::LESS_EQUAL,
    list_new: &list::LIST_NEW,
    log: &unary::LOG,
    maximum: &binary::MAXIMUM,
    mul: &binary::MUL,
    multiply_no_nan: &binary::MULTIPLY_NO_NAN,
    neg: &unary::NEG,
    not_equal: &compare::NOT_EQUAL,
    polygamma: &binary::POLYGAMMA,
    range: &array::RANGE,
    read_variable: &state::READ_VARIABLE,
    real: &unary::REAL,
    reduce_all: &reduce::REDUCE_ALL,
    reduce_prod: &reduce::REDUCE_PROD,
    reduce_sum: &reduce::REDUCE_SUM,
    reshape: &shape_ops::RESHAPE,
    select: &compare::SELECT,
    shape: &array::SHAPE,
    size: &array::SIZE,
    slice: &slicing::SLICE,
    stack: &joining::STACK,
    strided_slice: &slicing::STRIDED_SLICE,
    sub: &binary::SUB,
    sum_to_shape: &reduce::SUM_TO_SHAPE,
    transpose: &shape_ops::TRANSPOSE,
    trunc: &unary::TRUNC,
    zeros_like: &array::ZEROS_LIKE,
};

/// Every operator.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().flat_map(|(_, ops)| ops.iter().copied())
}

/// The operators of this crate, to look names up in. A text may not hold one that reads or writes files, see [`OpsAndFiles`].
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
        if host::file_of(op, attrs).is_some() {
            return Err(Error::precondition("writes to a file, which a text may only where its reader allows it")
                .argument("stream"));
        }
        if op.effects.contains(&Effect::Files) {
            return Err(Error::precondition(
                "reads or writes a file, which a text may only where its reader allows it",
            ));
        }
        Ok(())
    }
}

/// As [`Ops`], for texts that may read and write files.
pub struct OpsAndFiles;

impl OpSet for OpsAndFiles {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        Ops.find(name)
    }
}

#[cfg(test)]
mod tests {
    use penstock_ir::{Batch, Cpu, Rows, Structure};

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

    #[test]
    fn facts_of_an_operator_agree() {
        for op in all() {
            let (name, elementwise) = (op.name, matches!(op.cpu, Cpu::Elementwise(_)));
            assert_eq!(elementwise, matches!(op.rows, Rows::Elementwise), "{name}");
            assert!(elementwise || !matches!(op.batch, Batch::Broadcast), "{name}");
            let calls = matches!(op.cpu, Cpu::Executor(structure) if structure != Structure::Plain);
            assert!(!calls || matches!(op.batch, Batch::Structural | Batch::Loop(_)), "{name}");
        }
        // Rules emit an operator by its field.
        assert!(RULE_OPS.strided_slice.name == "strided_slice" && RULE_OPS.add.name == "add");
    }
}
