//! The end of the interpreter.
//!
//! A thread that waits for the interpreter while that ends is unwound or hangs, and may not be unwound through frames of
//! this crate. So before the interpreter ends, threads that run graphs stop at its border: those inside are waited for,
//! and those that come are parked.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long threads inside of callbacks are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

static EXITING: AtomicBool = AtomicBool::new(false);
/// Threads that are inside of the interpreter by way of a graph, or about to be.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether the thread runs a graph detached from the interpreter.
    static DETACHED: Cell<bool> = const { Cell::new(false) };
    /// Whether it is a thread that the interpreter did not start.
    static OWN: Cell<bool> = const { Cell::new(false) };
    /// Whether it is the thread that ends the interpreter.
    static LAST: Cell<bool> = const { Cell::new(false) };
    /// How many stays of `INSIDE` are the thread's.
    static STAYS: Cell<usize> = const { Cell::new(0) };
}

/// A stay inside of the interpreter by way of a graph.
pub(crate) struct Stay {
    detached: bool,
}

/// Begins a stay: before attaching, where the thread is detached. Does not return where the interpreter is about to end,
/// unless the thread is inside and attached: then it is waited for.
pub(crate) fn enter() -> Stay {
    let detached = DETACHED.replace(false);
    let stays = STAYS.replace(STAYS.get() + 1);
    INSIDE.fetch_add(1, Ordering::SeqCst);
    if (detached || stays == 0) && EXITING.load(Ordering::SeqCst) && !LAST.get() {
        // The thread never comes back, so it leaves the stays around this one as well.
        INSIDE.fetch_sub(stays + 1, Ordering::SeqCst);
        if detached {
            park();
        }
        Python::attach(|py| py.detach(park));
    }
    Stay { detached }
}

/// Begins a stay to let go of something; `None` where the interpreter is about to end, and takes it along.
pub(crate) fn enter_to_drop() -> Option<Stay> {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    if EXITING.load(Ordering::SeqCst) && !LAST.get() && STAYS.get() == 0 {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        return None;
    }
    STAYS.set(STAYS.get() + 1);
    Some(Stay { detached: DETACHED.replace(false) })
}

fn park() {
    loop {
        std::thread::park();
    }
}

/// Notes that this thread is one that the interpreter did not start, and runs detached from it.
pub(crate) fn own_thread() {
    OWN.set(true);
    DETACHED.set(true);
}

/// Whether the thread is one that the interpreter did not start.
pub(crate) fn is_own_thread() -> bool {
    OWN.get()
}

/// Whether the thread runs detached from the interpreter.
pub(crate) fn is_detached() -> bool {
    DETACHED.get()
}

/// Forgets the stays of threads that are missing in a forked child; called in the child.
#[pyfunction]
pub(crate) fn _forked() {
    INSIDE.store(STAYS.get(), Ordering::SeqCst);
}

impl Drop for Stay {
    fn drop(&mut self) {
        DETACHED.set(self.detached);
        STAYS.set(STAYS.get() - 1);
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs `work` detached from the interpreter.
pub(crate) fn detached(py: Python<'_>, work: &mut (dyn FnMut() + Send)) {
    let outer = DETACHED.get();
    let stay = py.detach(|| {
        DETACHED.set(true);
        work();
        enter()
    });
    drop(stay);
    DETACHED.set(outer);
}

/// Has threads that run graphs stay out of the interpreter from now on; called when it is about to end.
#[pyfunction]
pub(crate) fn _interpreter_ends(py: Python<'_>) {
    LAST.set(true);
    EXITING.store(true, Ordering::SeqCst);
    let start = Instant::now();
    // Who is attached cannot be inside of a callback while this thread is, and nobody enters any more.
    while INSIDE.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
        py.detach(|| std::thread::sleep(Duration::from_millis(1)));
    }
}
