//! Where a walk over the steps of a plan is, and why it halts.

/// Nanoseconds of estimated work between two polls of the host.
pub(super) const POLL_EVERY: i64 = 2_000_000;

/// Where a walk over steps is.
pub(super) struct Place {
    /// The step that runs, or where the walk goes on.
    pub(super) at: usize,
    /// Nanoseconds of estimated work to the next poll of the host.
    pub(super) budget: i64,
}

impl Place {
    pub(super) fn new(at: usize) -> Place {
        Place { at, budget: POLL_EVERY }
    }
}

/// Why a walk has come to a halt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// It has come to its end.
    End,
    /// It stands at a call, which the caller makes before it goes on behind it.
    Call,
    /// It has gone back to the head of a loop. The profiler wants other steps from here on.
    Turn,
}
