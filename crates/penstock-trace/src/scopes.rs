//! Scopes of names, and names that are not given twice.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

thread_local! {
    /// The scope of names that this thread has open: empty, or names that each end in `/`.
    static SCOPE: RefCell<Arc<str>> = RefCell::new(Arc::from(""));
}

/// Opens a scope of names for what this thread traces from now on. `scope` is empty, or ends in `/`.
pub fn set_scope(scope: &str) {
    SCOPE.set(scope.into());
}

/// The open scope: empty outside of scopes.
pub fn open_scope() -> Arc<str> {
    SCOPE.with_borrow(Arc::clone)
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
