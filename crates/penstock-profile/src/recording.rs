//! What was recorded.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use penstock_data::Loc;
use penstock_ir::Activity;

use crate::sampled::Sampled;

/// Something that took time.
#[derive(Clone, Debug)]
pub struct Event {
    /// What was done.
    pub activity: Activity,
    /// The operator, the function or the mark.
    pub name: Arc<str>,
    /// Where that was written.
    pub loc: Loc,
    /// How a step ran; empty for what is no step.
    pub kind: &'static str,
    /// How many steps are told together.
    pub count: u64,
    /// When it began, from the start of the recording.
    pub began: Duration,
    /// How long it took.
    pub took: Duration,
    /// Whether it ended in an error.
    pub failed: bool,
    /// The number that the program gave to a mark.
    pub number: Option<i64>,
    /// The bytes that tensors held when it ended.
    pub bytes: usize,
    /// The number on its thread of what it is a run of, from 1, where some runs were only counted; else 0.
    pub(crate) pace: u32,
    /// How many were only counted between the one before and it.
    pub(crate) passed: u32,
}

impl Event {
    /// When it ended, from the start of the recording.
    pub fn ended(&self) -> Duration {
        self.began + self.took
    }

    /// The line that it was written in: `file:line`; `None` where that is not known.
    pub fn line(&self) -> Option<String> {
        self.loc.frame().map(|frame| format!("{}:{}", frame.file, frame.line))
    }

    /// Whether it is host code that a graph calls.
    pub fn is_callback(&self) -> bool {
        self.kind == "callback"
    }
}

/// The events of a thread, in the order in which they began; what contains others comes before them.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The name of the thread.
    pub name: String,
    /// Its events.
    pub events: Vec<Event>,
    /// What the runs took that were only counted.
    pub(crate) sampled: Option<Box<Sampled>>,
}

impl Lane {
    /// For each event the number of the one around it.
    pub(crate) fn parents(&self) -> Vec<Option<usize>> {
        let mut open: Vec<usize> = Vec::new();
        let mut parents = Vec::with_capacity(self.events.len());
        for (i, event) in self.events.iter().enumerate() {
            while open.last().is_some_and(|&o| self.events[o].ended() <= event.began) {
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(i);
        }
        parents
    }

    /// For each event the time that is not that of events within it.
    pub(crate) fn own_times(&self, parents: &[Option<usize>]) -> Vec<Duration> {
        let mut own: Vec<Duration> = self.events.iter().map(|e| e.took).collect();
        for (event, parent) in self.events.iter().zip(parents) {
            if let Some(parent) = *parent {
                own[parent] = own[parent].saturating_sub(event.took);
            }
        }
        own
    }
}

/// Gives what threads of the pool did the names, places and kinds of the steps that they did it for: those of other threads that run at the
/// middle of it.
fn name_parts(lanes: &mut [Lane]) {
    let of = |lane: &Lane, activity: Activity| -> Vec<usize> {
        (0..lane.events.len()).filter(|&i| lane.events[i].activity == activity).collect()
    };
    let parts: Vec<_> = lanes.iter().map(|lane| of(lane, Activity::Part)).collect();
    if parts.iter().all(Vec::is_empty) {
        return;
    }
    let steps: Vec<_> = lanes.iter().map(|lane| of(lane, Activity::Operator)).collect();
    for (i, parts) in parts.into_iter().enumerate() {
        for part in parts {
            let middle = lanes[i].events[part].began + lanes[i].events[part].took / 2;
            let others = lanes.iter().zip(&steps).enumerate().filter(|(other, _)| *other != i);
            let found = others.filter_map(|(_, (lane, steps))| step_at(&lane.events, steps, middle));
            let Some(step) = found.min_by_key(|step| step.took) else { continue };
            let (name, loc, kind) = (step.name.clone(), step.loc, step.kind);
            let part = &mut lanes[i].events[part];
            (part.name, part.loc, part.kind) = (name, loc, kind);
        }
    }
}

/// The innermost of some steps, by their places among the events of a thread, that runs at a moment.
fn step_at<'a>(events: &'a [Event], steps: &[usize], at: Duration) -> Option<&'a Event> {
    let begun = steps.partition_point(|&step| events[step].began <= at);
    // Steps lie in few others: branches, loops and callbacks.
    let nearest = steps[..begun].iter().rev().take(NESTED);
    nearest.map(|&step| &events[step]).find(|step| at <= step.ended())
}

/// How far back a step is looked for that others have run within.
const NESTED: usize = 1000;

/// What a recorder was told.
#[derive(Clone, Debug)]
pub struct Recording {
    /// When it began, since 1970.
    pub(crate) began_at: Duration,
    pub(crate) took: Duration,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) dropped: u64,
}

impl Recording {
    /// What was recorded on each thread, and there for each pace how many runs were only counted at the end.
    pub(crate) fn new(began_at: Duration, took: Duration, told: Vec<(Lane, Vec<u32>)>, dropped: u64) -> Recording {
        let mut lanes = Vec::new();
        for (mut lane, rest) in told.into_iter().filter(|(lane, _)| !lane.events.is_empty()) {
            // Told at its end, an event comes after those within it, also where they take as long.
            lane.events.reverse();
            lane.events.sort_by_key(|e| (e.began, Reverse(e.took)));
            lane.sampled = Sampled::of(&lane, &rest, took).map(Box::new);
            lanes.push(lane);
        }
        name_parts(&mut lanes);
        Recording { began_at, took, lanes, dropped }
    }

    /// From its start to its end.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// The threads that did something.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// How long each thread was at work: with all but marks, and waiting for data sets.
    pub fn threads(&self) -> Vec<(&str, Duration)> {
        let busy = |lane: &Lane| {
            let works = |event: &Event| !matches!(event.activity, Activity::Mark | Activity::Input);
            let times = lane.times();
            lane.events.iter().zip(&times.own).filter(|(event, _)| works(event)).map(|(_, own)| *own).sum()
        };
        self.lanes.iter().map(|lane| (&*lane.name, busy(lane))).collect()
    }

    /// How many events came after the limit, and were not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many runs of functions and operators and iterations of loops there were, of the kinds of which not all were recorded, and how
    /// many of them were; the rows have estimates of the times of the others. `None` where all were recorded.
    pub fn sampled(&self) -> Option<(u64, u64)> {
        let counts = self.lanes.iter().filter_map(|lane| lane.sampled.as_ref()).map(|sampled| sampled.runs);
        counts.reduce(|a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// The same for people.
    pub(crate) fn sampled_note(&self) -> Option<String> {
        let (recorded, all) = self.sampled()?;
        Some(format!(
            "{recorded} of {all} short runs and iterations were recorded; the times of the others are estimates"
        ))
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.events.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The bytes that tensors held over time, in at most `moments` intervals: the largest value of each, and when it was.
    pub fn memory(&self, moments: usize) -> Vec<(Duration, usize)> {
        let moments = moments.max(1);
        let stretch = (self.took / moments as u32).max(Duration::from_nanos(1));
        let mut series: Vec<Option<(Duration, usize)>> = vec![None; moments];
        for event in self.lanes.iter().flat_map(|lane| &lane.events) {
            let at = (event.ended().as_nanos() / stretch.as_nanos()) as usize;
            let slot = &mut series[at.min(moments - 1)];
            if slot.is_none_or(|(_, bytes)| bytes < event.bytes) {
                *slot = Some((event.ended(), event.bytes));
            }
        }
        series.into_iter().flatten().collect()
    }
}
