//! Names of what is traced, and scopes of names.

use std::cell::RefCell;
use std::sync::Arc;

use crate::context::put_name;
use crate::var::Var;

thread_local! {
    /// The scope of names that this thread has open: empty, or names that each end in `/`.
    static SCOPE: RefCell<Arc<str>> = RefCell::new(Arc::from(""));
}

/// Opens a scope of names for what this thread traces from now on. `scope` is empty, or ends in `/`.
pub fn set_scope(scope: &str) {
    SCOPE.set(scope.into());
}

/// Names what was traced by the open scope alone: the operator completes the name.
pub(crate) fn name_by_scope(outs: &[Var]) {
    let scope = SCOPE.with_borrow(|scope| (!scope.is_empty()).then(|| scope.clone()));
    if let (Some(scope), [out, ..]) = (scope, outs) {
        put_name(out, &scope);
    }
}

/// Names a symbolic value, for people, below the open scope.
pub fn set_name(var: &Var, name: &str) {
    put_name(var, &format!("{}{name}", SCOPE.with_borrow(Arc::clone)));
}
