//! Names of what is traced.

use crate::context::{put_name, with_scopes};
use crate::scopes::open_scope;
use crate::var::Var;

/// Names a value, for people, below the open scope: a symbolic one, or a tensor for the input that the innermost trace
/// makes of it.
pub fn set_name(var: &Var, name: &str) {
    put_name(var, &format!("{}{name}", open_scope()));
}

/// The path of a scope that is opened: with a number where the innermost trace had one of this path before.
/// Outside traces it is the path.
pub fn unique_scope(path: &str) -> String {
    with_scopes(|scopes| scopes.take(path)).unwrap_or_else(|| path.to_owned())
}
