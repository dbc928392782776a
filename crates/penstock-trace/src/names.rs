//! Names of what is traced, and scopes of names.

use std::cell::RefCell;
use std::sync::Arc;

use penstock_ir::Inst;
use rustc_hash::FxHashMap;

use crate::context::{put_name, put_scope, with_scopes};
use crate::var::Var;

thread_local! {
    /// The scope of names that this thread has open: empty, or names that each end in `/`.
    static SCOPE: RefCell<Arc<str>> = RefCell::new(Arc::from(""));
}

/// Opens a scope of names for what this thread traces from now on. `scope` is empty, or ends in `/`.
pub fn set_scope(scope: &str) {
    SCOPE.set(scope.into());
}

/// The open scope; None outside scopes.
fn open_scope() -> Option<Arc<str>> {
    SCOPE.with_borrow(|scope| (!scope.is_empty()).then(|| scope.clone()))
}

/// Names what was traced by the open scope alone: the operator completes the name.
pub(crate) fn name_by_scope(inst: Inst, outs: &[Var]) {
    let Some(scope) = open_scope() else { return };
    match outs {
        [out, ..] => put_name(out, &scope),
        [] => put_scope(inst, scope),
    }
}

/// Names a value, for people, below the open scope: a symbolic one, or a tensor for the input that the innermost trace
/// makes of it.
pub fn set_name(var: &Var, name: &str) {
    put_name(var, &format!("{}{name}", SCOPE.with_borrow(Arc::clone)));
}

/// The path of a scope that is opened: with a number where the innermost trace had one of this path before.
/// Outside traces it is the path.
pub fn unique_scope(path: &str) -> String {
    with_scopes(|scopes| scopes.take(path)).unwrap_or_else(|| path.to_owned())
}

/// Names that are taken, each with how often it was asked for.
#[derive(Default)]
pub struct UniqueNames(FxHashMap<String, u32>);

impl UniqueNames {
    /// Takes a name: the wanted one, else the first of `wanted_1`, `wanted_2`, ... that is free.
    pub fn take(&mut self, wanted: &str) -> String {
        let Some(asked) = self.0.get(wanted) else {
            self.0.insert(wanted.to_owned(), 1);
            return wanted.to_owned();
        };
        let mut number = *asked;
        let name = loop {
            let name = format!("{wanted}_{number}");
            number += 1;
            if !self.0.contains_key(&name) {
                break name;
            }
        };
        self.0.insert(wanted.to_owned(), number);
        self.0.insert(name.clone(), 1);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::UniqueNames;

    #[test]
    fn a_name_that_was_given_with_a_number_is_not_made_again() {
        let mut names = UniqueNames::default();
        let taken = ["a_1", "a", "a", "a", "a_1"].map(|name| names.take(name));
        assert_eq!(taken, ["a_1", "a", "a_2", "a_3", "a_1_1"]);
    }
}
