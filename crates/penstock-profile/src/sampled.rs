//! Estimates of what runs took that were only counted.
//!
//! Such runs are in the time that no event covers, between the recorded runs of the same. Each of them is taken to be like the
//! nearest recorded one, and all of them together to take no more than that time.

use std::time::Duration;

use penstock_ir::Activity;
use rustc_hash::FxHashMap;

use crate::recording::{Event, Lane};
use crate::sums::Part;

const PARTS: usize = Part::ALL.len();

/// What is known of the runs of a thread that were only counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampled {
    /// How many runs were recorded, and how many there were.
    pub(crate) runs: (u64, u64),
    /// For recorded ones, how many more they stand for, and their time as a multiple of the recorded one's.
    more: FxHashMap<usize, (u64, f64)>,
    /// For events in whose own time there were such runs, the nanoseconds of them.
    within: FxHashMap<usize, f64>,
    /// Stretches of time outside of runs, and the nanoseconds of the parts of such runs in them.
    guesses: Vec<(Duration, Duration, [f64; PARTS])>,
}

/// The times of the events of a lane, as if all runs had been recorded.
pub(crate) struct Times {
    /// For each event the number of the one around it.
    pub(crate) parents: Vec<Option<usize>>,
    /// Without the time of events within it.
    pub(crate) own: Vec<Duration>,
    /// With that.
    pub(crate) total: Vec<Duration>,
    /// How many steps or runs it stands for.
    pub(crate) count: Vec<u64>,
    /// Its own time, without that of the runs like the one that it belongs to.
    here: Vec<Duration>,
}

impl Lane {
    pub(crate) fn times(&self) -> Times {
        let parents = self.parents();
        let mut own = self.own_times(&parents);
        let mut total: Vec<Duration> = self.events.iter().map(|e| e.took).collect();
        let mut count: Vec<u64> = self.events.iter().map(|e| e.count).collect();
        let Some(sampled) = &self.sampled else {
            return Times { here: own.clone(), parents, own, total, count };
        };
        for (&i, &less) in &sampled.within {
            own[i] = own[i].saturating_sub(Duration::from_nanos(less as u64));
        }
        let mut here = own.clone();
        // How many runs an event counts for, by what factor its time, and by what factor but for that of the outermost run.
        let mut factors: Vec<(u64, f64, f64)> = Vec::with_capacity(self.events.len());
        for (i, event) in self.events.iter().enumerate() {
            let (mut runs, mut all, mut inner) = match parents[i] {
                // They are always told.
                _ if is_always_told(event.activity) => (1, 1.0, 1.0),
                Some(parent) => factors[parent],
                None => (1, 1.0, 1.0),
            };
            if let Some(&(more, times)) = sampled.more.get(&i) {
                let outermost = host_of(&self.events, &parents, i).is_none();
                (runs, all) = (runs * (1 + more), all * (1.0 + times));
                inner *= if outermost { 1.0 } else { 1.0 + times };
            }
            factors.push((runs, all, inner));
            count[i] *= runs;
            (own[i], total[i]) = (own[i].mul_f64(all), total[i].mul_f64(all));
            here[i] = here[i].mul_f64(inner);
        }
        Times { parents, own, total, count, here }
    }
}

impl Times {
    /// The sums of the parts in a stretch of time, but for the program.
    pub(crate) fn parts(&self, lane: &Lane, from: Duration, to: Duration) -> [Duration; PARTS] {
        let mut sums = [Duration::ZERO; PARTS];
        let first = lane.events.partition_point(|e| e.began < from);
        for (event, here) in lane.events[first..].iter().zip(&self.here[first..]) {
            if event.began >= to {
                break;
            }
            sums[Part::of(event) as usize] += *here;
        }
        if let Some(sampled) = &lane.sampled {
            let first = sampled.guesses.partition_point(|guess| guess.1 <= from);
            for (_, _, parts) in sampled.guesses[first..].iter().take_while(|guess| guess.0 < to) {
                for (sum, part) in sums.iter_mut().zip(parts) {
                    *sum += Duration::from_nanos(*part as u64);
                }
            }
        }
        sums[Part::Program as usize] = Duration::ZERO;
        sums
    }
}

/// Whether all events of an activity are told, within runs that are only counted too.
fn is_always_told(activity: Activity) -> bool {
    matches!(activity, Activity::Mark | Activity::Part)
}

/// The innermost event around event `i` that is no mark.
fn host_of(events: &[Event], parents: &[Option<usize>], i: usize) -> Option<usize> {
    std::iter::successors(parents[i], |&p| parents[p]).find(|&p| events[p].activity != Activity::Mark)
}

/// A stretch of time that no event covers but the one that it belongs to, and marks.
struct Gap {
    from: Duration,
    to: Duration,
    /// The innermost event around it.
    owner: Option<usize>,
}

/// Runs that were only counted, like a recorded one.
struct Missed {
    /// The recorded one.
    like: usize,
    count: u64,
    /// When they ran.
    from: Duration,
    to: Duration,
    /// How long they took if they were like it.
    took: f64,
}

impl Sampled {
    /// The estimates for a thread. `rest` are the runs behind the last recorded one of each pace; the recording ended at `end`.
    /// `None` where all runs were recorded.
    pub(crate) fn of(lane: &Lane, rest: &[u32], end: Duration) -> Option<Sampled> {
        let missed = missed(lane, rest, end);
        if missed.is_empty() {
            return None;
        }
        let parents = lane.parents();
        let mut found = Sampled::default();
        found.count_runs(lane, &missed);
        let mut by_host: FxHashMap<Option<usize>, Vec<&Missed>> = FxHashMap::default();
        for one in &missed {
            by_host.entry(host_of(&lane.events, &parents, one.like)).or_default().push(one);
        }
        let mut gaps = gaps(lane, &parents, end, |host| by_host.contains_key(&host));
        // Spans within runs come first, since the parts of a run are worked out from them.
        let mut hosts: Vec<Option<usize>> = by_host.keys().copied().collect();
        hosts.sort_unstable_by(|a, b| b.cmp(a));
        for host in hosts {
            found.spread(lane, host, &by_host[&host], &gaps.remove(&host).unwrap_or_default());
        }
        Some(found)
    }

    fn count_runs(&mut self, lane: &Lane, missed: &[Missed]) {
        let mut some_missed = vec![false; 1 + lane.events.iter().map(|e| e.pace as usize).max().unwrap_or(0)];
        for one in missed {
            some_missed[lane.events[one.like].pace as usize] = true;
            self.more.entry(one.like).or_default().0 += one.count;
            self.runs.1 += one.count;
        }
        let recorded = lane.events.iter().filter(|e| e.pace > 0 && some_missed[e.pace as usize]).count() as u64;
        self.runs = (recorded, self.runs.1 + recorded);
    }

    /// Puts the runs that were only counted, of one host, into its gaps: each evenly into those between the recorded ones.
    fn spread(&mut self, lane: &Lane, host: Option<usize>, missed: &[&Missed], gaps: &[Gap]) {
        let mut ends = vec![0.0; gaps.len() + 1];
        for (i, gap) in gaps.iter().enumerate() {
            ends[i + 1] = ends[i] + nanos(gap.to - gap.from);
        }
        // For each of the missed, the gaps that it may be in, and the part of them that it would fill.
        let places: Vec<(usize, usize, f64)> = missed
            .iter()
            .map(|one| {
                let first = gaps.partition_point(|gap| gap.to <= one.from);
                let last = gaps.partition_point(|gap| gap.from < one.to).max(first);
                let room = ends[last] - ends[first];
                (first, last, if room > 0.0 { (one.took / room).min(1.0) } else { 0.0 })
            })
            .collect();
        // Gaps that several would fill to more than their length are shared.
        let full = sums_over(gaps.len(), places.iter().copied());
        let mut shared = vec![0.0; gaps.len() + 1];
        for (i, full) in full.iter().enumerate() {
            shared[i + 1] = shared[i] + (ends[i + 1] - ends[i]) * (1.0 / full.max(1.0));
        }
        for (one, &(first, last, part)) in missed.iter().zip(&places) {
            let took = part * (shared[last] - shared[first]);
            self.more.entry(one.like).or_default().1 += took / nanos(lane.events[one.like].took).max(1.0);
        }
        for (i, gap) in gaps.iter().enumerate() {
            if let Some(owner) = gap.owner {
                *self.within.entry(owner).or_default() += full[i].min(1.0) * (ends[i + 1] - ends[i]);
            }
        }
        if host.is_none() {
            self.guess(lane, missed, &places, gaps, &full);
        }
    }

    /// Says what the parts of the runs are that are in the gaps.
    fn guess(&mut self, lane: &Lane, missed: &[&Missed], places: &[(usize, usize, f64)], gaps: &[Gap], full: &[f64]) {
        let so_far = Lane { name: String::new(), events: lane.events.clone(), sampled: Some(Box::new(self.clone())) };
        let times = so_far.times();
        let mixtures: Vec<[f64; PARTS]> =
            missed.iter().map(|one| mixture(&lane.events, &times.here, one.like)).collect();
        let by_part: Vec<Vec<f64>> = (0..PARTS)
            .map(|part| {
                let of = |((first, last, filled), mixture): (&(usize, usize, f64), &[f64; PARTS])| {
                    (*first, *last, filled * mixture[part])
                };
                sums_over(gaps.len(), places.iter().zip(&mixtures).map(of))
            })
            .collect();
        self.guesses = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                let length = nanos(gap.to - gap.from) / full[i].max(1.0);
                (gap.from, gap.to, std::array::from_fn(|part| by_part[part][i] * length))
            })
            .collect();
    }
}

/// For each of `count` places the sum of the values of the ranges that it is in.
fn sums_over(count: usize, ranges: impl Iterator<Item = (usize, usize, f64)>) -> Vec<f64> {
    let mut steps = vec![0.0; count + 1];
    for (first, last, value) in ranges {
        steps[first] += value;
        steps[last] -= value;
    }
    let mut sum = 0.0;
    steps.truncate(count);
    for step in &mut steps {
        sum += *step;
        *step = sum.max(0.0);
    }
    steps
}

/// Which parts of the time of a run, with all that lies within it, go to what.
fn mixture(events: &[Event], here: &[Duration], run: usize) -> [f64; PARTS] {
    let ended = events[run].ended();
    let mut sums = [0.0; PARTS];
    for (i, event) in events.iter().enumerate().skip(run).take_while(|(i, e)| *i == run || e.began < ended) {
        sums[Part::of(event) as usize] += nanos(here[i]);
    }
    let all: f64 = sums.iter().sum();
    if all == 0.0 {
        sums[Part::of(&events[run]) as usize] = 1.0;
        return sums;
    }
    sums.map(|sum| sum / all)
}

/// The runs of a thread that were only counted: half of those between two recorded ones are taken to be like each.
fn missed(lane: &Lane, rest: &[u32], end: Duration) -> Vec<Missed> {
    let mut missed = Vec::new();
    let mut last: FxHashMap<u32, usize> = FxHashMap::default();
    let mut add = |like: usize, count: u64, of: u64, between: (Duration, Duration), took: Duration| {
        if count > 0 {
            // An interruption of a recorded one is not one of all.
            let most = nanos(between.1.saturating_sub(between.0)) * count as f64 / of as f64;
            let (from, to) = between;
            missed.push(Missed { like, count, from, to, took: (nanos(took) * count as f64).min(most) });
        }
    };
    for (i, event) in lane.events.iter().enumerate().filter(|(_, e)| e.pace > 0) {
        let (before, passed) = (last.insert(event.pace, i), u64::from(event.passed));
        match before {
            Some(before) if passed > 0 => {
                let other = &lane.events[before];
                let between = (other.ended(), event.began);
                let took = (other.took + event.took) / 2;
                add(before, passed / 2, passed, between, took);
                add(i, passed.div_ceil(2), passed, between, took);
            }
            _ => add(i, passed, passed, (Duration::ZERO, event.began), event.took),
        }
    }
    let mut ends: Vec<(u32, usize)> = last.into_iter().collect();
    ends.sort_unstable();
    for (pace, i) in ends {
        let passed = rest.get(pace as usize - 1).copied().map_or(0, u64::from);
        let event = &lane.events[i];
        add(i, passed, passed, (event.ended(), end), event.took);
    }
    missed
}

/// The stretches of time in which runs may be that were only counted, by the innermost event around them that is no mark.
fn gaps(
    lane: &Lane,
    parents: &[Option<usize>],
    end: Duration,
    is_wanted: impl Fn(Option<usize>) -> bool,
) -> FxHashMap<Option<usize>, Vec<Gap>> {
    let mut found: FxHashMap<Option<usize>, Vec<Gap>> = FxHashMap::default();
    let (events, mut at) = (&lane.events, Duration::ZERO);
    let mut until = |owner: Option<usize>, to: Duration| {
        let host = owner.filter(|&o| events[o].activity != Activity::Mark);
        let host = host.or_else(|| owner.and_then(|o| host_of(events, parents, o)));
        if at < to && is_wanted(host) {
            found.entry(host).or_default().push(Gap { from: at, to, owner });
        }
        at = at.max(to);
    };
    let mut open: Vec<usize> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        while let Some(&last) = open.last()
            && events[last].ended() <= event.began
        {
            until(Some(last), events[last].ended());
            open.pop();
        }
        until(open.last().copied(), event.began);
        open.push(i);
    }
    while let Some(last) = open.pop() {
        until(Some(last), events[last].ended());
    }
    until(None, end);
    found
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}
