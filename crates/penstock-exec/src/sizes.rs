//! Which plan serves a call, by the sizes of its arguments.
//!
//! A call has its *sizes*, a list of the rank and the extents of each tensor. Plans for exact sizes are kept for those that come
//! often. Others are served by a plan for the *pattern* of the sizes: those that were the same in every call so far, which of the
//! others are equal, and which are 0 or 1. What a plan assumes is in its key, so equal keys are the guard.

use std::collections::VecDeque;
use std::sync::Arc;

use penstock_data::{Dim, Shape, Symbol, Tensor};
use penstock_passes::Options;
use smallvec::SmallVec;

use crate::plan::Plan;

/// Plans for exact sizes that are kept, and the bytes that those together keep from run to run, but for the latest.
const KEPT: usize = 32;
const KEPT_BYTES: usize = 256 << 20;
/// Plans that are made the first time that their sizes come; from then on sizes have to come twice.
const AT_ONCE: usize = 8;
/// The latest sizes that are remembered, with how often they came.
const REMEMBERED: usize = 256;
/// A plan is replaced first where it was not used for this number of calls.
const STALE: u64 = 1024;
/// Plans for patterns that are kept, and how many are made before one for all sizes serves the rest.
const KEPT_PATTERNS: usize = 4;
const PATTERNS: usize = 32;

/// Ranks and extents.
pub(crate) type Sizes = SmallVec<[usize; 16]>;

/// The rank and the extents of each tensor.
pub(crate) fn sizes_of<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Sizes {
    tensors.flat_map(|t| std::iter::once(t.rank()).chain(t.dims().iter().copied())).collect()
}

struct Seen {
    sizes: Box<[usize]>,
    /// How many calls had them.
    calls: u64,
    /// When the last of these was, in calls of all sizes.
    used: u64,
    plan: Option<Arc<Plan>>,
}

/// What serves a call.
#[expect(clippy::large_enum_variant, reason = "one a call, moved once: a box would be an allocation for each")]
pub(crate) enum Choice {
    /// This plan.
    Ready(Arc<Plan>),
    /// A plan for its exact sizes, which is to be made.
    Exact,
    /// A plan for the pattern of its sizes, which is to be made.
    Pattern(Pattern),
    /// The plan for all sizes.
    General,
}

/// A pattern of sizes: for each, what a plan relies on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pattern(SmallVec<[Dim; 16]>);

impl Pattern {
    /// The shape of each tensor, with symbols from `first` on for sizes that are not known.
    pub(crate) fn shapes(&self, first: u32) -> Vec<Shape> {
        let mut shapes = Vec::new();
        let mut rest = &self.0[..];
        while let Some((&Dim::Known(rank), tail)) = rest.split_first() {
            let (dims, tail) = tail.split_at(rank.min(tail.len()));
            let named = |&d: &Dim| match d {
                Dim::Sym(Symbol(s)) => Dim::Sym(Symbol(first.saturating_add(s))),
                known => known,
            };
            shapes.push(Shape::new(dims.iter().map(named)));
            rest = tail;
        }
        shapes
    }
}

/// The plans of one executable by the sizes that they are for.
#[derive(Default)]
pub(crate) struct BySizes {
    /// Whether there are no plans for exact sizes, and none for patterns.
    without: [bool; 2],
    /// The latest first.
    seen: VecDeque<Seen>,
    /// Calls of all sizes.
    calls: u64,
    /// Plans for exact sizes that were made.
    made: usize,
    /// The sizes of the first call, and which of them other calls had otherwise; ranks are not among those.
    first: Box<[usize]>,
    varies: Box<[bool]>,
    patterns: VecDeque<(Pattern, Arc<Plan>)>,
    patterns_made: usize,
}

impl BySizes {
    /// No plan yet, for what `options` allows.
    pub(crate) fn new(options: &Options) -> BySizes {
        BySizes {
            without: ["exact_sizes", "size_patterns"].map(|switch| !options.allows(switch)),
            ..BySizes::default()
        }
    }

    /// The plan for exact sizes that the call before had, too.
    #[inline]
    pub(crate) fn repeated<'a>(&mut self, tensors: impl Iterator<Item = &'a Tensor>) -> Option<&Arc<Plan>> {
        let latest = self.seen.front_mut()?;
        let mut rest = &latest.sizes[..];
        for tensor in tensors {
            let (&rank, tail) = rest.split_first()?;
            let dims = tensor.dims();
            if rank != dims.len() || tail[..rank] != *dims {
                return None;
            }
            rest = &tail[rank..];
        }
        if latest.plan.is_some() {
            self.calls += 1;
            latest.calls += 1;
            latest.used = self.calls;
        }
        latest.plan.as_ref()
    }

    /// What serves a call of these sizes.
    pub(crate) fn choose(&mut self, sizes: &[usize]) -> Choice {
        self.calls += 1;
        let calls = self.calls;
        let found = self.seen.iter().position(|seen| *seen.sizes == *sizes).and_then(|i| self.seen.remove(i));
        let mut seen = found.unwrap_or_else(|| Seen { sizes: sizes.into(), calls: 0, used: 0, plan: None });
        (seen.calls, seen.used) = (seen.calls + 1, calls);
        let (ready, count) = (seen.plan.clone(), seen.calls);
        self.seen.push_front(seen);
        self.seen.truncate(REMEMBERED);
        if let Some(plan) = ready {
            return Choice::Ready(plan);
        }
        self.note(sizes);
        let [no_exact, no_pattern] = self.without;
        if !no_exact && (self.made < AT_ONCE || (count > 1 && self.makes_place(count))) {
            return Choice::Exact;
        }
        let Some(pattern) = self.pattern(sizes).filter(|_| !no_pattern) else { return Choice::General };
        let known = self.patterns.iter().position(|(known, _)| *known == pattern);
        if let Some(entry) = known.and_then(|i| self.patterns.remove(i)) {
            let plan = entry.1.clone();
            self.patterns.push_front(entry);
            return Choice::Ready(plan);
        }
        if self.patterns_made < PATTERNS { Choice::Pattern(pattern) } else { Choice::General }
    }

    /// Keeps a plan for exact sizes.
    pub(crate) fn keep(&mut self, sizes: &[usize], plan: Arc<Plan>) {
        self.made += 1;
        if let Some(seen) = self.seen.iter_mut().find(|seen| *seen.sizes == *sizes) {
            seen.plan = Some(plan);
        }
        let (mut count, mut bytes) = (0, 0usize);
        for seen in &mut self.seen {
            let Some(plan) = &seen.plan else { continue };
            (count, bytes) = (count + 1, bytes.saturating_add(plan.kept_bytes()));
            if count > KEPT || (count > 1 && bytes > KEPT_BYTES) {
                seen.plan = None;
            }
        }
    }

    /// Keeps a plan for a pattern.
    pub(crate) fn keep_pattern(&mut self, pattern: Pattern, plan: Arc<Plan>) {
        self.patterns_made += 1;
        self.patterns.push_front((pattern, plan));
        self.patterns.truncate(KEPT_PATTERNS);
    }

    /// The plans that are kept.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &Arc<Plan>> {
        let exact = self.seen.iter().filter_map(|seen| seen.plan.as_ref());
        exact.chain(self.patterns.iter().map(|(_, plan)| plan))
    }

    /// Whether one more plan has its place, for sizes that came so often: where as many come in turn as cannot all be kept, those
    /// that are stay, so that none is made again and again.
    fn makes_place(&self, calls: u64) -> bool {
        let mut kept = self.seen.iter().rev().filter(|seen| seen.plan.is_some());
        let count = kept.clone().count();
        let Some(oldest) = kept.next().filter(|_| count >= KEPT) else { return true };
        self.calls - oldest.used > STALE || calls > 2 * oldest.calls
    }

    /// Notes which sizes vary.
    fn note(&mut self, sizes: &[usize]) {
        if self.first.is_empty() {
            self.first = sizes.into();
            self.varies = vec![self.without[0]; sizes.len()].into();
        }
        if self.first.len() == sizes.len() {
            for ((varies, first), now) in self.varies.iter_mut().zip(&self.first).zip(sizes) {
                *varies |= first != now;
            }
        }
    }

    /// The pattern of sizes, where the ranks are those of the first call.
    fn pattern(&self, sizes: &[usize]) -> Option<Pattern> {
        let mut at = 0;
        let mut dims: SmallVec<[Dim; 16]> = SmallVec::new();
        while let Some(&rank) = sizes.get(at) {
            if self.first.get(at) != Some(&rank) || self.first.len() != sizes.len() {
                return None;
            }
            dims.push(Dim::Known(rank));
            for i in at + 1..=at + rank {
                let size = sizes[i];
                let like = || (0..i).find(|&j| self.varies[j] && sizes[j] == size).unwrap_or(i);
                dims.push(if self.varies[i] && size > 1 { Dim::Sym(Symbol(like() as u32)) } else { Dim::Known(size) });
            }
            at += rank + 1;
        }
        Some(Pattern(dims))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(calls: &[&[usize]]) -> BySizes {
        let mut sizes = BySizes::default();
        calls.iter().for_each(|call| sizes.note(call));
        sizes
    }

    #[test]
    fn a_pattern_has_what_never_varied_what_is_equal_and_what_is_0_or_1() {
        let plans = noted(&[&[2, 8, 30, 2, 30, 5], &[2, 8, 31, 2, 31, 6]]);
        let dims = |sizes: &[usize]| plans.pattern(sizes).unwrap().shapes(10);
        let known = Dim::Known;
        let shapes = |a: [Dim; 2], b: [Dim; 2]| vec![Shape::new(a), Shape::new(b)];
        let sym = |at: u32| Dim::Sym(Symbol(10 + at));
        assert_eq!(dims(&[2, 8, 40, 2, 40, 7]), shapes([known(8), sym(2)], [sym(2), sym(5)]));
        assert_eq!(dims(&[2, 8, 40, 2, 41, 40]), shapes([known(8), sym(2)], [sym(4), sym(2)]));
        assert_eq!(dims(&[2, 8, 1, 2, 0, 3]), shapes([known(8), known(1)], [known(0), sym(5)]));
        assert!(plans.pattern(&[1, 8, 3, 3, 4, 5]).is_none());
    }

    #[test]
    fn new_sizes_get_a_plan_at_once_while_there_are_few_and_then_when_they_come_again() {
        let mut plans = BySizes { made: AT_ONCE, ..BySizes::default() };
        for n in 0..1000 {
            assert!(!matches!(plans.choose(&[1, n]), Choice::Exact), "{n}");
        }
        assert!(matches!(plans.choose(&[1, 999]), Choice::Exact));
        assert!(!matches!(plans.choose(&[1, 0]), Choice::Exact), "forgotten");
        assert_eq!(plans.seen.len(), REMEMBERED);
        plans.made = 0;
        assert!(matches!(plans.choose(&[1, 5000]), Choice::Exact));
    }
}
