//! Whether a function can leave the process.

use penstock_data::{Error, Result};
use rustc_hash::FxHashSet;

use crate::attr::Attr;
use crate::graph::Function;

/// Checks that neither the function nor those it calls call host code, which cannot be saved or sent elsewhere.
///
/// # Errors
/// `FailedPrecondition`, which names the first such host code and where it is defined, with the location of the call;
/// `ResourceExhausted` where calls go too deep for the stack.
pub fn require_portable(function: &Function) -> Result<()> {
    visit(function, &mut FxHashSet::default())
}

fn visit(function: &Function, seen: &mut FxHashSet<*const Function>) -> Result<()> {
    let Some(graph) = function.graph().filter(|_| seen.insert(std::ptr::from_ref(function))) else { return Ok(()) };
    crate::stack::check(0)?;
    let mut found = Ok(());
    graph.visit(&mut |_, inst, data| {
        for attr in &data.attrs.0 {
            if found.is_err() {
                return;
            }
            found = match attr {
                Attr::Func(callee) => callee.get().and_then(|callee| visit(&callee, seen)),
                Attr::Host(host) => {
                    let place =
                        if host.0.place().is_empty() { String::new() } else { format!(" ({})", host.0.place()) };
                    let message = format!(
                        "calls the host function '{}'{place}, which exists in this process only and cannot be saved",
                        host.0.name()
                    );
                    Err(Error::precondition(message).in_op(data.op.name).at(graph.locs[inst]))
                }
                _ => Ok(()),
            };
        }
    });
    found
}
