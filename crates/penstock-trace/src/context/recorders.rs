//! What takes note of operations, and what gives them other gradients: the tapes, accumulators and overrides of a thread.

use std::sync::{Arc, Mutex, PoisonError};

use penstock_autodiff::{Accumulator, Tape};
use penstock_data::Result;
use penstock_ir::{Attrs, OpDef};
use smallvec::SmallVec;

use super::{FLAGS, OVERRIDING, STATE, TAPING, with_state};
use crate::var::Var;

/// A recorder that takes part where the thread was when it started: not inside a trace or branch begun since.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) recorder: Recorder,
    pub(super) depth: usize,
}

/// A tape that the program and the thread's state both hold.
pub type SharedTape = Arc<Mutex<Tape<Var>>>;

/// An accumulator of tangents that the program and the thread's state both hold.
pub type SharedAccumulator = Arc<Mutex<Accumulator<Var>>>;

/// What takes note of operations, for reverse or for forward mode.
#[derive(Clone)]
pub enum Recorder {
    /// Records them, for reverse mode.
    Tape(SharedTape),
    /// Computes the tangents of what they give, for forward mode.
    Forward(SharedAccumulator),
}

impl Recorder {
    fn is(&self, other: &Recorder) -> bool {
        match (self, other) {
            (Recorder::Tape(a), Recorder::Tape(b)) => Arc::ptr_eq(a, b),
            (Recorder::Forward(a), Recorder::Forward(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Whether an operation on these values concerns it.
    pub(crate) fn concerns(&self, inputs: &[Var]) -> bool {
        match self {
            Recorder::Tape(tape) => tape.lock().unwrap_or_else(PoisonError::into_inner).records(inputs),
            Recorder::Forward(acc) => acc.lock().unwrap_or_else(PoisonError::into_inner).tracks(inputs),
        }
    }
}

/// The recorders of one place, outermost first.
pub(crate) type Recorders = SmallVec<[Recorder; 2]>;

/// What may give an operation another gradient: it gets operator, attributes, inputs and outputs, and gives
/// what stands for the outputs then, or nothing.
pub type Override =
    Arc<dyn Fn(&'static OpDef, &Attrs, &[Var], &[Var]) -> Result<Option<SmallVec<[Var; 1]>>> + Send + Sync>;

/// Asks about the gradient of each operation that is dispatched from now on, before those asked already.
pub fn push_override(hook: Override) {
    with_state(|state| state.overrides.push(hook));
}

/// Undoes the last [`push_override`].
pub fn pop_override() {
    with_state(|state| {
        state.overrides.pop();
    });
}

/// What stands for the outputs of an operation whose gradient is overridden. Quick where none is.
#[inline]
pub(crate) fn overridden(
    op: &'static OpDef,
    attrs: &Attrs,
    inputs: &[Var],
    outputs: &[Var],
) -> Result<Option<SmallVec<[Var; 1]>>> {
    if FLAGS.with(|f| f.get() & OVERRIDING == 0) {
        return Ok(None);
    }
    // What the hooks do is not overridden itself.
    let hooks = with_state(|state| std::mem::take(&mut state.overrides));
    let mut found = Ok(None);
    for hook in hooks.iter().rev() {
        found = hook(op, attrs, inputs, outputs);
        if !matches!(found, Ok(None)) {
            break;
        }
    }
    with_state(|state| state.overrides = hooks);
    found
}

/// Starts a recorder.
pub fn push_recorder(recorder: Recorder) {
    with_state(|state| {
        let depth = state.depth();
        state.recorders.push(Active { recorder, depth });
    });
}

/// Stops a recorder.
pub fn pop_recorder(recorder: &Recorder) {
    with_state(|state| {
        if let Some(i) = state.recorders.iter().rposition(|a| a.recorder.is(recorder)) {
            state.recorders.remove(i);
        }
    });
}

/// A recorder that records until it is dropped.
pub struct Recording(Recorder);

/// Starts a recorder that records until the result is dropped.
pub fn record_with(recorder: Recorder) -> Recording {
    push_recorder(recorder.clone());
    Recording(recorder)
}

impl Drop for Recording {
    fn drop(&mut self) {
        pop_recorder(&self.0);
    }
}

/// Some recorders do not record until the result is dropped.
pub struct Paused {
    recorders: Vec<Active>,
    /// How many recorders are outside of them.
    outside: usize,
}

/// Pauses all recorders until the result is dropped.
pub fn pause_recorders() -> Paused {
    Paused { recorders: with_state(|state| std::mem::take(&mut state.recorders)), outside: 0 }
}

/// Pauses a recorder and those inside of it until the result is dropped.
pub(crate) fn pause_from(recorder: &Recorder) -> Paused {
    with_state(|state| {
        let outside = state.recorders.iter().rposition(|a| a.recorder.is(recorder)).unwrap_or(state.recorders.len());
        Paused { recorders: state.recorders.split_off(outside), outside }
    })
}

impl Drop for Paused {
    fn drop(&mut self) {
        let paused = std::mem::take(&mut self.recorders);
        // Those that were started meanwhile stay, inside of the paused ones.
        with_state(|state| {
            let at = self.outside.min(state.recorders.len());
            state.recorders.splice(at..at, paused);
        });
    }
}

/// The recorders that take part here, outermost first. Quick where none is active.
#[inline]
pub(crate) fn recorders_here() -> Recorders {
    if FLAGS.with(|f| f.get() & TAPING == 0) {
        return SmallVec::new();
    }
    STATE.with(|state| {
        let state = state.borrow();
        let depth = state.depth();
        state.recorders.iter().filter(|a| a.depth == depth).map(|a| a.recorder.clone()).collect()
    })
}

/// The tapes that were started in the innermost trace, or, outside of traces, all.
pub(crate) fn tapes_of_trace() -> SmallVec<[SharedTape; 2]> {
    if FLAGS.with(|f| f.get() & TAPING == 0) {
        return SmallVec::new();
    }
    STATE.with(|state| {
        let state = state.borrow();
        let outside: usize = state.tracers.iter().rev().skip(1).map(|t| t.builder.depth()).sum();
        let floor = if state.tracers.is_empty() { 0 } else { outside + 1 };
        let here = state.recorders.iter().filter(|a| a.depth >= floor);
        here.filter_map(|a| if let Recorder::Tape(tape) = &a.recorder { Some(tape.clone()) } else { None }).collect()
    })
}
