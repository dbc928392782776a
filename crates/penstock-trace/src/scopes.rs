//! Scopes of names.

use std::cell::RefCell;
use std::sync::Arc;

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
