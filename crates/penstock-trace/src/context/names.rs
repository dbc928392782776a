//! Names of values, and the scopes that they are in.

use std::sync::Arc;

use penstock_ir::Inst;
use penstock_ops::node_names::UniqueNames;

use super::with_state;
use crate::var::{Kind, Var};

/// The name that the program gave to a variable.
pub(super) fn own_name(var: &Var) -> Option<&str> {
    let Kind::Variable(variable) = var.kind() else { return None };
    let name = variable.name();
    let name = name.strip_suffix(":0").unwrap_or(name);
    (!name.is_empty() && name != "Variable").then_some(name)
}

/// Names what the innermost trace has taken from outside, for people, where it has no name yet.
pub fn name_capture(var: &Var, name: &str) {
    with_state(|state| {
        if let Some(tracer) = state.tracers.last_mut()
            && let Some(&value) = tracer.by_id.get(&var.id())
            && !tracer.builder.graph().names.contains_key(&value)
        {
            tracer.builder.name(value, name);
        }
    });
}

/// Whether the innermost trace has taken something from outside that has no name.
pub fn has_nameless_captures() -> bool {
    with_state(|state| {
        state.tracers.last().is_some_and(|tracer| {
            let names = &tracer.builder.graph().names;
            tracer.captures.iter().any(|var| tracer.by_id.get(&var.id()).is_some_and(|v| !names.contains_key(v)))
        })
    })
}

/// Gives a name to a symbolic value. The name of an eager tensor is that of the input which the innermost trace has for it.
pub(crate) fn put_name(var: &Var, name: &str) {
    with_state(|state| match var.kind() {
        Kind::Symbolic(s) => {
            if let Some(tracer) = state.tracers.iter_mut().find(|t| t.id == s.trace) {
                tracer.builder.name(s.value, name);
            }
        }
        Kind::Eager(_) => {
            if let Some(tracer) = state.tracers.last_mut() {
                match tracer.by_id.get(&var.id()) {
                    Some(&value) => tracer.builder.name(value, name),
                    None => drop(tracer.names.insert(var.id(), name.to_owned())),
                }
            }
        }
        Kind::Variable(_) => {}
    });
}

/// The scope of names that an open trace has for a value: empty, or names that each end in `/`.
pub(crate) fn scope_of(var: &Var) -> String {
    let Kind::Symbolic(s) = var.kind() else { return String::new() };
    with_state(|state| {
        let tracer = state.tracers.iter().find(|t| t.id == s.trace)?;
        let name = tracer.builder.graph().names.get(&s.value)?;
        Some(name[..name.rfind('/')? + 1].to_owned())
    })
    .unwrap_or_default()
}

/// Notes the scope of names of an instruction of the innermost trace that has no results.
pub(crate) fn put_scope(inst: Inst, scope: Arc<str>) {
    with_state(|state| {
        if let Some(tracer) = state.tracers.last_mut() {
            tracer.builder.scope(inst, scope);
        }
    });
}

/// Asks the scopes of names that the innermost trace opened; None outside traces.
pub(crate) fn with_scopes<R>(ask: impl FnOnce(&mut UniqueNames) -> R) -> Option<R> {
    with_state(|state| state.tracers.last_mut().map(|tracer| ask(&mut tracer.scopes)))
}
