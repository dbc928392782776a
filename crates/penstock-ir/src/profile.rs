//! What a profiler is told.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use penstock_data::Loc;

/// Is told what took time.
pub trait Profiler: Sync {
    /// How much it wants to know. It is asked when a run starts.
    fn detail(&self) -> Detail {
        Detail::Steps
    }

    /// Whether it wants to be told of a run that begins, or of an iteration. One that it is not told of is counted in the pace.
    fn takes(&self, pace: &Pace) -> bool {
        let _ = pace;
        true
    }

    /// Something has ended, with or without an error. The thread that did it calls this before it goes on, so that what
    /// happened within a span is told before the span.
    fn ended(&self, span: &Span<'_>);
}

/// How much a profiler wants to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Detail {
    /// Functions: their runs, traces and plans.
    Functions,
    /// The steps of runs too. Those that take some nanoseconds each are told together, as many as run one after the other:
    /// to time each would take longer than they do.
    #[default]
    Steps,
    /// Each step by itself.
    All,
}

/// What is done in a span of time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Activity {
    /// A step of a plan, or an operator that runs by itself.
    Operator,
    /// The run of a function.
    Function,
    /// A function is traced.
    Tracing,
    /// The graph of a function is optimised and planned.
    Planning,
    /// Somebody waits for an element of a data set.
    Input,
    /// What the program marks.
    Mark,
    /// A thread of the pool does its part of a step that another thread runs.
    Part,
    /// An iteration of a loop, of which not all are told.
    Iteration,
    /// A call by a function that calls itself, directly or through others, until the next call begins: not all are told.
    Call,
}

impl Activity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Operator => "operator",
            Activity::Function => "function",
            Activity::Tracing => "tracing",
            Activity::Planning => "planning",
            Activity::Input => "input",
            Activity::Mark => "mark",
            Activity::Part => "part",
            Activity::Iteration => "iteration",
            Activity::Call => "call",
        }
    }
}

/// Something that took time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Span<'a> {
    /// What was done.
    pub activity: Activity,
    /// The operator, that of the first instruction where a step stands for several; else the function or the mark.
    pub name: &'a str,
    /// Where that was written.
    pub loc: Loc,
    /// How a step ran: as a `kernel`, a `fused` group, `native` code of scalars, … Empty for what is no step.
    pub kind: &'static str,
    /// How many steps are told together.
    pub count: u64,
    /// When it began.
    pub began: Instant,
    /// How long it took, with the work of other threads that it waited for.
    pub took: Duration,
    /// Whether it ended in an error.
    pub failed: bool,
    /// The number that the program gave to a mark, as that of a step of training.
    pub number: Option<i64>,
    /// What counts the runs of the same that were not told.
    pub pace: Option<&'a Arc<Pace>>,
}

impl<'a> Span<'a> {
    /// A span that began at `began` and ends now.
    pub fn since(began: Instant, activity: Activity, name: &'a str) -> Span<'a> {
        Span::between(began, Instant::now(), activity, name)
    }

    /// A span that began at `began` and ended at `ended`.
    pub fn between(began: Instant, ended: Instant, activity: Activity, name: &'a str) -> Span<'a> {
        let took = ended.saturating_duration_since(began);
        Span {
            activity,
            name,
            loc: Loc::UNKNOWN,
            kind: "",
            count: 1,
            began,
            took,
            failed: false,
            number: None,
            pace: None,
        }
    }

    /// The same span, at a place of the source.
    #[must_use]
    pub fn at(self, loc: Loc) -> Span<'a> {
        Span { loc, ..self }
    }

    /// The same span, of a step of this kind.
    #[must_use]
    pub fn by(self, kind: &'static str) -> Span<'a> {
        Span { kind, ..self }
    }

    /// The same span, of `count` steps.
    #[must_use]
    pub fn of(self, count: u64) -> Span<'a> {
        Span { count, ..self }
    }

    /// The same span, which ended in an error or not.
    #[must_use]
    pub fn failed(self, failed: bool) -> Span<'a> {
        Span { failed, ..self }
    }

    /// The same span, with a number.
    #[must_use]
    pub fn number(self, number: Option<i64>) -> Span<'a> {
        Span { number, ..self }
    }

    /// The same span, of one of the runs that a pace counts.
    #[must_use]
    pub fn paced(self, pace: &'a Arc<Pace>) -> Span<'a> {
        Span { pace: Some(pace), ..self }
    }
}

/// How often runs of the same thing are told: one, then some that are only counted. A recording sets it by what recording costs. It is
/// a counter of the thread that runs: where several run the same at once, counts may get lost.
#[derive(Debug, Default)]
pub struct Pace {
    /// The recording that it was set for, in the upper half, and how many runs are still to be counted alone.
    state: AtomicU64,
    /// How many there were to be.
    gap: AtomicU32,
}

impl Pace {
    /// Whether a run is told in a recording, which has a number other than 0; else it is counted.
    #[inline]
    pub fn is_due(&self, recording: u32) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        if state as u32 == 0 || state >> 32 != u64::from(recording) {
            return true;
        }
        self.state.store(state - 1, Ordering::Relaxed);
        false
    }

    /// Has the next `gap` runs be counted alone. Gives how many were since the last call for this recording.
    pub fn skip(&self, recording: u32, gap: u32) -> u32 {
        let state = self.state.swap(u64::from(recording) << 32 | u64::from(gap), Ordering::Relaxed);
        let before = self.gap.swap(gap, Ordering::Relaxed);
        if state >> 32 == u64::from(recording) { before.saturating_sub(state as u32) } else { 0 }
    }

    /// Takes the runs that are still to be counted alone, for the caller to count: how many there are.
    pub fn take_rest(&self) -> u32 {
        self.state.fetch_and(!u64::from(u32::MAX), Ordering::Relaxed) as u32
    }

    /// Gives back runs that were taken or counted, and did not come.
    pub fn give_back(&self, runs: u32) {
        self.state.fetch_add(u64::from(runs), Ordering::Relaxed);
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` as part of a run that is not told: nothing within it is either, but for what the program marks.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            QUIET.set(self.0);
        }
    }
    let _restore = Restore(QUIET.replace(true));
    work()
}

/// Whether this thread does what is not told.
#[inline]
pub fn is_quiet() -> bool {
    QUIET.get()
}

/// Does `work`, and tells the profiler of it, where there is one.
pub fn told<T>(
    profiler: Option<&dyn Profiler>,
    activity: Activity,
    name: &str,
    work: impl FnOnce() -> penstock_data::Result<T>,
) -> penstock_data::Result<T> {
    let Some(profiler) = profiler else { return work() };
    let began = Instant::now();
    let result = work();
    profiler.ended(&Span::since(began, activity, name).failed(result.is_err()));
    result
}
