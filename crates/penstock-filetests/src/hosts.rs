//! Host code whose calls can be compared.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use penstock_data::{Result, Tensor};
use penstock_ir::{HostFn, HostRef, print_tensor};

thread_local! {
    /// What the thread's runs printed and called, in order.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Appends a line to what the thread's runs did.
pub(crate) fn note(line: std::fmt::Arguments<'_>) {
    LOG.with_borrow_mut(|log| {
        let _ = log.write_fmt(line);
        log.push('\n');
    });
}

/// What the thread's runs did since this was last asked.
pub(crate) fn take_log() -> String {
    LOG.take()
}

/// Notes its operands, and gives them back.
struct Note;

impl HostFn for Note {
    fn name(&self) -> &str {
        "note"
    }

    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let texts: Vec<String> = inputs.iter().map(|t| print_tensor(&crate::kinds::plain_nans(t), None)).collect();
        note(format_args!("note: {}", texts.join(", ")));
        Ok(inputs.iter().map(|&t| t.clone()).collect())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The host code of file tests and random graphs: `note`, whose calls are part of what a run does.
pub fn hosts(name: &str) -> Option<HostRef> {
    static NOTE: LazyLock<HostRef> = LazyLock::new(|| HostRef(Arc::new(Note)));
    (name == "note").then(|| NOTE.clone())
}
