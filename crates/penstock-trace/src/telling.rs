//! What the host's profiler is told of operators that run by themselves.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use penstock_data::{Loc, Result};
use penstock_ir::{Activity, Detail, Effect, OpDef, Pace, Profiler, Span, quietly};

/// Runs an operator by itself, which is written at `loc`, and tells the profiler of it, where there is one.
#[inline]
pub(crate) fn told<T>(
    profiler: Option<&dyn Profiler>,
    op: &'static OpDef,
    loc: impl FnOnce() -> Loc,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(profiler) = profiler else { return run() };
    let pace = pace_of(op);
    if !profiler.takes(pace) {
        // Nothing is told within others.
        return if op.effects.contains(&Effect::Host) { quietly(run) } else { run() };
    }
    if profiler.detail() == Detail::Functions {
        return run();
    }
    let loc = loc();
    let began = Instant::now();
    let result = run();
    let span = Span::since(began, Activity::Operator, op.name).at(loc).by("eager").paced(pace);
    profiler.ended(&span.failed(result.is_err()));
    result
}

/// What counts the runs of an operator.
#[inline]
fn pace_of(op: &'static OpDef) -> &'static Arc<Pace> {
    // Operators by their addresses, each in the first place from its own on that was free.
    const PLACES: usize = 1 << 12;
    static PACES: [OnceLock<(usize, Arc<Pace>)>; PLACES] = [const { OnceLock::new() }; PLACES];
    static OTHERS: OnceLock<Arc<Pace>> = OnceLock::new();
    let address = std::ptr::from_ref(op).addr();
    let first = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - PLACES.trailing_zeros());
    for place in 0..PLACES {
        let (known, pace) = PACES[(first + place) % PLACES].get_or_init(|| (address, Arc::default()));
        if *known == address {
            return pace;
        }
    }
    OTHERS.get_or_init(Arc::default)
}
