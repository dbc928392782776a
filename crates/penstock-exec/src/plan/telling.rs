//! What a profiler is told of a walk over the steps of a plan.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use penstock_data::Result;
use penstock_ir::{Activity, Detail, Pace, Profiler, Span};
use smallvec::SmallVec;

use super::walk::Halt;
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
    /// How often its iterations are told.
    pace: Arc<Pace>,
    /// Whether they hold a loop of many iterations, not all of which are told where the iteration around them is.
    holds_long: AtomicBool,
}

/// The number of iterations, within one iteration of the loop around it, from which on a loop counts as long.
const LONG: u32 = 64;

/// How a profiler is told of a plan.
#[derive(Default)]
pub(super) struct Tellings {
    steps: Box<[Telling]>,
    loops: Box<[Repeating]>,
    /// How often calls by a function that calls itself are told.
    pub(super) calls: Arc<Pace>,
}

impl Tellings {
    fn new(plan: &Plan) -> Tellings {
        let of = |step: &Step| match step.kind() {
            None => Telling::Never,
            Some(_) if step.is_brief() => Telling::Together,
            Some(_) => Telling::Alone,
        };
        let steps = plan.steps.iter().map(of).collect();
        let loops = (0..plan.loops).map(|_| Repeating::default()).collect();
        Tellings { steps, loops, calls: Arc::default() }
    }
}

impl Plan {
    /// How a profiler is told of it.
    pub(super) fn tellings(&self) -> &Tellings {
        self.tellings.get_or_init(|| Tellings::new(self))
    }
}

/// Who is told of steps.
pub(super) trait Note {
    fn begins(&mut self, plan: &Plan, at: usize);
    fn ended(&mut self, plan: &Plan, at: usize);
    /// Step `at` goes back to step `target`, for one more iteration of loop `number`. Whether the walk goes on with the same note.
    fn repeats(&mut self, plan: &Plan, at: usize, target: usize, number: usize) -> bool;
}

/// Nobody.
impl Note for () {
    #[inline(always)]
    fn begins(&mut self, _: &Plan, _: usize) {}
    #[inline(always)]
    fn ended(&mut self, _: &Plan, _: usize) {}
    #[inline(always)]
    fn repeats(&mut self, _: &Plan, _: usize, _: usize, _: usize) -> bool {
        true
    }
}

/// Iterations of a loop that are only counted: the walk costs no more than one that nobody is told of.
pub(super) struct Counted {
    turn: Turn,
    /// How many there are after the present one.
    left: u32,
}

impl Counted {
    /// The step behind the loop.
    pub(super) fn end(&self) -> usize {
        self.turn.back + 1
    }
}

impl Note for Counted {
    #[inline(always)]
    fn begins(&mut self, _: &Plan, _: usize) {}
    #[inline(always)]
    fn ended(&mut self, _: &Plan, _: usize) {}
    #[inline(always)]
    fn repeats(&mut self, _: &Plan, _: usize, _: usize, number: usize) -> bool {
        let own = u32::from(number == self.turn.number);
        let goes_on = self.left >= own;
        self.left -= own * u32::from(goes_on);
        goes_on
    }
}

/// A loop: its number, its first step, and that which goes back to it.
#[derive(Clone, Copy)]
struct Turn {
    number: usize,
    first: usize,
    back: usize,
}

/// An iteration that is told.
struct Iteration {
    turn: Turn,
    began: Instant,
    /// The iterations of loops within it.
    within: u32,
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
    /// The iterations that the walk is in, each within the one before it.
    iterations: SmallVec<[Iteration; 2]>,
    /// Those that come next, where they are only counted.
    counted: Option<Counted>,
}

impl<'a> Clock<'a> {
    pub(super) fn new(profiler: &'a dyn Profiler, plan: &'a Plan) -> Clock<'a> {
        let all = profiler.detail() == Detail::All;
        let (iterations, began) = (SmallVec::new(), Instant::now());
        Clock { profiler, tellings: plan.tellings(), all, began, brief: None, iterations, counted: None }
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
    pub(super) fn stop(&mut self, plan: &Plan, at: usize, walked: &Result<Halt>) {
        self.tell_brief(plan);
        if walked.is_err() && at < plan.steps.len() {
            self.tell(plan, at, 1, true);
        }
    }

    /// Takes the iterations that come next, where they are only counted.
    pub(super) fn counted(&mut self) -> Option<Counted> {
        self.counted.take()
    }

    /// The walk has come to a halt in iterations that were only counted, or behind the loop.
    pub(super) fn resume(&mut self, plan: &Plan, counted: Counted, walked: &Result<Halt>) {
        let Counted { turn, left } = counted;
        if matches!(walked, Ok(Halt::Turn)) {
            self.begin_iteration(plan, turn);
            return;
        }
        // The condition of the loop had the last word: that was no iteration.
        let more = u32::from(matches!(walked, Ok(Halt::End)));
        self.tellings.loops[turn.number].pace.give_back(left + more);
        self.began = Instant::now();
    }

    fn telling(&self, at: usize) -> Telling {
        match self.tellings.steps[at] {
            Telling::Together if self.all => Telling::Alone,
            telling => telling,
        }
    }

    /// An iteration begins. Whether it is told.
    fn begin_iteration(&mut self, plan: &Plan, turn: Turn) -> bool {
        if self.all {
            return true;
        }
        let repeating = &self.tellings.loops[turn.number];
        match self.iterations.last_mut() {
            Some(before) if before.turn.number == turn.number => {
                let began = before.began;
                self.iterations.pop();
                self.tell_brief(plan);
                let (op, loc) = plan.origins[turn.back];
                let span = Span::between(began, self.began, Activity::Iteration, op).at(loc);
                self.profiler.ended(&span.paced(&repeating.pace));
            }
            Some(around) => {
                around.within += 1;
                let holds_long = &self.tellings.loops[around.turn.number].holds_long;
                if !holds_long.load(Ordering::Relaxed) {
                    if around.within < LONG {
                        return true;
                    }
                    holds_long.store(true, Ordering::Relaxed);
                }
                self.tell_brief(plan);
            }
            None => self.tell_brief(plan),
        }
        let told = self.profiler.takes(&repeating.pace);
        if told {
            self.began = Instant::now();
            self.iterations.push(Iteration { turn, began: self.began, within: 0 });
        } else {
            self.counted = Some(Counted { turn, left: repeating.pace.take_rest() });
        }
        told
    }
}

impl Note for Clock<'_> {
    #[inline]
    fn begins(&mut self, plan: &Plan, at: usize) {
        while let Some(Iteration { turn, .. }) = self.iterations.last()
            && !(turn.first..=turn.back).contains(&at)
        {
            self.iterations.pop();
        }
        if self.brief.is_some() && self.telling(at) == Telling::Alone {
            self.tell_brief(plan);
        }
    }

    #[inline]
    fn ended(&mut self, plan: &Plan, at: usize) {
        match self.telling(at) {
            Telling::Never => {}
            Telling::Together => self.brief.get_or_insert((at, 0)).1 += 1,
            Telling::Alone => self.tell(plan, at, 1, false),
        }
    }

    #[inline]
    fn repeats(&mut self, plan: &Plan, at: usize, target: usize, number: usize) -> bool {
        self.begin_iteration(plan, Turn { number, first: target, back: at })
    }
}
