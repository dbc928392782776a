//! What a profiler is told.

use std::time::{Duration, Instant};

use penstock_data::Loc;

/// Is told what took time.
pub trait Profiler: Sync {
    /// How much it wants to know. It is asked when a run starts.
    fn detail(&self) -> Detail {
        Detail::Steps
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
}

impl<'a> Span<'a> {
    /// A span that began at `began` and ends now.
    pub fn since(began: Instant, activity: Activity, name: &'a str) -> Span<'a> {
        Span::between(began, Instant::now(), activity, name)
    }

    /// A span that began at `began` and ended at `ended`.
    pub fn between(began: Instant, ended: Instant, activity: Activity, name: &'a str) -> Span<'a> {
        let took = ended.saturating_duration_since(began);
        Span { activity, name, loc: Loc::UNKNOWN, kind: "", count: 1, began, took, failed: false, number: None }
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
