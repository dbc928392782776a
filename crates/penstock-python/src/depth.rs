//! How deep the structures of Python's nest that are walked here: one rule for every walk.

use std::cell::Cell;

use penstock_exec::stack_left;
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// Containers nest at most so deep, so that walks end where a container holds itself.
const DEEPEST: u32 = 256;

/// The bytes of stack that walking a level, and the Python code that it calls, may need.
const STACK_OF_A_LEVEL: usize = 48 << 10;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The level that a walk is in; it leaves it when this is dropped.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Does `work`, which walks what a container holds, one level deeper.
///
/// # Errors
/// `RecursionError` where that is too deep, or little of the thread's stack is left; what `work` reports.
#[inline]
pub(crate) fn deeper<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let depth = DEPTH.get();
    if depth >= DEEPEST || stack_left() < STACK_OF_A_LEVEL {
        return Err(too_deep());
    }
    DEPTH.set(depth + 1);
    let _level = Level;
    work()
}

#[cold]
fn too_deep() -> PyErr {
    PyRecursionError::new_err(format!(
        "a structure nests deeper than can be walked: more than {DEEPEST} levels, or more than the thread's stack has room \
         for; does it contain itself?"
    ))
}
