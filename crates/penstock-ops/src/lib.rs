//! The operators: each is one [`OpDef`] in the file of its family, listed in that file's `OPS`.

pub mod control;
pub mod fused;
pub mod state;
pub mod util;

use penstock_ir::{OpDef, OpSet};

/// The families, in the order of the documentation.
pub static FAMILIES: &[(&str, &[&OpDef])] = &[("control", control::OPS), ("fused", fused::OPS), ("state", state::OPS)];

/// Every operator.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().flat_map(|(_, ops)| ops.iter().copied())
}

/// The operators of this crate, to look names up in.
pub struct Ops;

impl OpSet for Ops {
    fn find(&self, name: &str) -> Option<&'static OpDef> {
        use std::collections::HashMap;
        use std::sync::LazyLock;
        static INDEX: LazyLock<HashMap<&'static str, &'static OpDef>> =
            LazyLock::new(|| all().map(|op| (op.name, op)).collect());
        INDEX.get(name).copied()
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
