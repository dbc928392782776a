//! What a profiler is told of a walk over the steps of a plan.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use penstock_data::Result;
use penstock_ir::{Activity, Detail, Pace, Profiler, Span};

use super::{Plan, Step};

/// How a profiler is told of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// Not at all: it only moves control and registers.
    Never,
    /// With the brief steps before and behind it.
    Together,
    /// By itself.
    Alone,
}

/// How a profiler is told of a loop.
#[derive(Default)]
struct Repeating {
    /// Whether steps of it are told by themselves. Those of other loops are told together anyway.
    counts: bool,
    /// How often its iterations are told.
    pace: Arc<Pace>,
    /// Whether they hold a loop of many iterations: then those of that one are counted, and not these.
    holds_long: AtomicBool,
}

/// The number of iterations, within one iteration of the loop around it, from which on a loop counts as long.
const LONG: u32 = 64;

/// How a profiler is told of a plan.
#[derive(Default)]
pub(super) struct Tellings {
    steps: Box<[Telling]>,
    loops: Box<[Repeating]>,
}

impl Tellings {
    fn new(plan: &Plan) -> Tellings {
        let of = |step: &Step| match step.kind() {
            None => Telling::Never,
            Some(_) if step.is_brief() => Telling::Together,
            Some(_) => Telling::Alone,
        };
        let steps: Box<[Telling]> = plan.steps.iter().map(of).collect();
        let mut loops: Box<[Repeating]> = (0..plan.loops).map(|_| Repeating::default()).collect();
        for (at, step) in plan.steps.iter().enumerate() {
            if let Step::Back { target, number, .. } = step {
                loops[*number as usize].counts = steps[*target as usize..at].contains(&Telling::Alone);
            }
        }
        Tellings { steps, loops }
    }
}

/// Who is told of steps.
pub(super) trait Note {
    fn begins(&mut self, plan: &Plan, at: usize);
    fn ended(&mut self, plan: &Plan, at: usize);
    /// Step `at` goes back to step `target`, for one more iteration of loop `number`.
    fn repeats(&mut self, plan: &Plan, at: usize, target: usize, number: usize);
}

/// Nobody.
impl Note for () {
    #[inline(always)]
    fn begins(&mut self, _: &Plan, _: usize) {}
    #[inline(always)]
    fn ended(&mut self, _: &Plan, _: usize) {}
    #[inline(always)]
    fn repeats(&mut self, _: &Plan, _: usize, _: usize, _: usize) {}
}

/// The iteration that a walk is in. Without one, it has all steps.
struct Iteration {
    number: usize,
    /// The first step of the loop, and how many there are.
    first: usize,
    steps: usize,
    /// When it began; `None` where its steps are not told.
    began: Option<Instant>,
    /// How many after it are not told either.
    left: u32,
    /// The iterations of loops within it.
    within: u32,
}

impl Iteration {
    const NONE: Iteration =
        Iteration { number: usize::MAX, first: 0, steps: usize::MAX, began: None, left: 0, within: 0 };
}

/// Tells a profiler of the steps of a walk. The clock is read once for each, where one follows the other; what only moves control
/// and registers counts for the step that follows. Where telling takes too large a part of the time, not all iterations are told.
pub(super) struct Clock<'a> {
    profiler: &'a dyn Profiler,
    tellings: &'a Tellings,
    /// Whether brief steps are told one by one.
    all: bool,
    /// When the present step began, or the first of the brief ones that are told together.
    began: Instant,
    /// The first of those, and how many there are.
    brief: Option<(usize, u64)>,
    iteration: Iteration,
    /// Whether the present steps are not told.
    quiet: bool,
}

impl<'a> Clock<'a> {
    pub(super) fn new(profiler: &'a dyn Profiler, plan: &'a Plan) -> Clock<'a> {
        let tellings = plan.tellings.get_or_init(|| Tellings::new(plan));
        let all = profiler.detail() == Detail::All;
        let iteration = Iteration::NONE;
        Clock { profiler, tellings, all, began: Instant::now(), brief: None, iteration, quiet: false }
    }

    /// Tells of `count` steps, of which `at` is the first.
    fn tell(&mut self, plan: &Plan, at: usize, count: u64, failed: bool) {
        let ((op, loc), ended) = (plan.origins[at], Instant::now());
        if let Some(kind) = plan.steps[at].kind() {
            let span = Span::between(self.began, ended, Activity::Operator, op).at(loc).by(kind);
            self.profiler.ended(&span.of(count).failed(failed));
        }
        self.began = ended;
    }

    fn tell_brief(&mut self, plan: &Plan) {
        if let Some((first, count)) = self.brief.take() {
            self.tell(plan, first, count, false);
        }
    }

    /// The walk ends: at step `at`, with an error or before a call, or at the end of the plan.
    pub(super) fn stop(&mut self, plan: &Plan, at: usize, walked: &Result<bool>) {
        // The condition of a loop that ends the plan had the last word: that was no iteration.
        self.leave(u32::from(matches!(walked, Ok(false))));
        self.tell_brief(plan);
        if walked.is_err() && at < plan.steps.len() {
            self.tell(plan, at, 1, true);
        }
    }

    /// The walk leaves the loop, after it has counted `more` iterations than there were.
    #[cold]
    fn leave(&mut self, more: u32) {
        if self.quiet {
            let Iteration { number, left, .. } = self.iteration;
            self.tellings.loops[number].pace.give_back(left + more);
            self.began = Instant::now();
        }
        (self.iteration, self.quiet) = (Iteration::NONE, false);
    }

    fn telling(&self, at: usize) -> Telling {
        match self.tellings.steps[at] {
            Telling::Together if self.all => Telling::Alone,
            telling => telling,
        }
    }
}

impl Note for Clock<'_> {
    #[inline]
    fn begins(&mut self, plan: &Plan, at: usize) {
        if at.wrapping_sub(self.iteration.first) >= self.iteration.steps {
            // The condition of the loop had the last word: that was no iteration.
            self.leave(1);
        }
        if !self.quiet && self.brief.is_some() && self.telling(at) == Telling::Alone {
            self.tell_brief(plan);
        }
    }

    #[inline]
    fn ended(&mut self, plan: &Plan, at: usize) {
        if self.quiet {
            return;
        }
        match self.telling(at) {
            Telling::Never => {}
            Telling::Together => self.brief.get_or_insert((at, 0)).1 += 1,
            Telling::Alone => self.tell(plan, at, 1, false),
        }
    }

    #[inline]
    fn repeats(&mut self, plan: &Plan, at: usize, target: usize, number: usize) {
        if self.iteration.left > 0 {
            self.iteration.left -= u32::from(self.iteration.number == number);
        } else {
            self.begin_iteration(plan, at, target, number);
        }
    }
}

impl Clock<'_> {
    /// Another iteration of loop `number` begins.
    fn begin_iteration(&mut self, plan: &Plan, at: usize, target: usize, number: usize) {
        let repeating = &self.tellings.loops[number];
        if self.all || !repeating.counts {
            return;
        }
        let around = &mut self.iteration;
        if around.number == number {
            if let Some(began) = around.began {
                self.tell_brief(plan);
                let (op, loc) = plan.origins[at];
                let span = Span::since(began, Activity::Iteration, op).at(loc).paced(&repeating.pace);
                self.profiler.ended(&span);
            }
        } else if around.number != usize::MAX {
            around.within += 1;
            if self.quiet || around.within < LONG {
                return;
            }
            self.tellings.loops[around.number].holds_long.store(true, Ordering::Relaxed);
        }
        (self.iteration, self.quiet) = (Iteration::NONE, false);
        if repeating.holds_long.load(Ordering::Relaxed) {
            return;
        }
        self.tell_brief(plan);
        let (mut began, mut left) = (None, 0);
        if self.profiler.takes(&repeating.pace) {
            self.began = Instant::now();
            began = Some(self.began);
        } else {
            self.quiet = true;
            left = repeating.pace.take_rest();
        }
        self.iteration = Iteration { number, first: target, steps: at + 1 - target, began, left, within: 0 };
    }
}
