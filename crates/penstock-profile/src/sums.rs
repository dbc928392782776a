//! Sums of a recording.

use std::time::Duration;

use penstock_ir::Activity;
use rustc_hash::FxHashMap;

use crate::recording::{Event, Lane, Recording};
use crate::sampled::Times;

/// What times are summed up by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The operator, the function or the mark, with the activity where that is none of an operator.
    Name,
    /// The line of the source.
    Line,
    /// The function that the line is in, or, where that is not known, the one that ran.
    Function,
    /// How steps ran.
    Kind,
}

/// The times of what has something in common.
#[derive(Clone, Debug)]
pub struct Row {
    /// What that is.
    pub key: String,
    /// How many steps, runs or marks there were.
    pub count: u64,
    /// Their time, without that of others within them.
    pub own: Duration,
    /// Their time, with that of others within them.
    pub total: Duration,
}

/// What a part of the time goes to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Operators of graphs, and those that run by themselves.
    Operators,
    /// Host code that graphs call.
    Callbacks,
    /// Waiting for elements of data sets.
    Input,
    /// Functions are traced.
    Tracing,
    /// Graphs are optimised and planned.
    Planning,
    /// Runs of functions, but for their steps.
    Runs,
    /// What nothing was told of: the program itself.
    Program,
}

impl Part {
    /// All, in the order of a summary.
    pub const ALL: [Part; 7] =
        [Part::Operators, Part::Callbacks, Part::Input, Part::Tracing, Part::Planning, Part::Runs, Part::Program];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Part::Operators => "operators",
            Part::Callbacks => "callbacks",
            Part::Input => "input",
            Part::Tracing => "tracing",
            Part::Planning => "planning",
            Part::Runs => "between steps",
            Part::Program => "program",
        }
    }

    pub(crate) fn of(event: &Event) -> Part {
        match event.activity {
            Activity::Operator if event.is_callback() => Part::Callbacks,
            Activity::Operator | Activity::Part => Part::Operators,
            Activity::Function | Activity::Iteration | Activity::Call => Part::Runs,
            Activity::Tracing => Part::Tracing,
            Activity::Planning => Part::Planning,
            Activity::Input => Part::Input,
            _ => Part::Program,
        }
    }
}

/// A part of a time.
#[derive(Clone, Debug)]
pub struct Share {
    /// The part.
    pub part: Part,
    /// Its time.
    pub took: Duration,
}

/// A mark with a number, as a step of training.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name of the mark.
    pub name: String,
    /// Its number.
    pub number: i64,
    /// When it began, from the start of the recording.
    pub began: Duration,
    /// How long it took.
    pub took: Duration,
    /// Where the time went. They add up to it.
    pub shares: Vec<Share>,
}

/// Adds up the times of a lane in a stretch of time, by what they are for; the rest is the program's.
fn shares(lane: &Lane, times: &Times, from: Duration, to: Duration) -> Vec<Share> {
    let mut sums = times.parts(lane, from, to);
    sums[Part::Program as usize] = (to - from).saturating_sub(sums.iter().sum());
    let shown = |part: &Part| *part == Part::Program || !sums[*part as usize].is_zero();
    Part::ALL.into_iter().filter(shown).map(|part| Share { part, took: sums[part as usize] }).collect()
}

impl Recording {
    /// The times by what they have in common, the longest own time first.
    pub fn rows(&self, by: By) -> Vec<Row> {
        let mut rows: FxHashMap<String, Row> = FxHashMap::default();
        for lane in &self.lanes {
            let times = lane.times();
            for i in 0..lane.events.len() {
                let Some(key) = key_of(lane, &times.parents, i, by) else { continue };
                let row = rows.entry(key).or_insert_with_key(|key| Row {
                    key: key.clone(),
                    count: 0,
                    own: Duration::ZERO,
                    total: Duration::ZERO,
                });
                row.count += times.count[i];
                row.own += times.own[i];
                row.total += times.total[i];
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|a, b| b.own.cmp(&a.own).then_with(|| a.key.cmp(&b.key)));
        rows
    }

    /// Where the time of the busiest thread went. The parts add up to the time of the recording.
    pub fn shares(&self) -> Vec<Share> {
        match self.main() {
            Some(lane) => shares(lane, &lane.times(), Duration::ZERO, self.took),
            None => vec![Share { part: Part::Program, took: self.took }],
        }
    }

    /// The thread with the most time that was told of.
    fn main(&self) -> Option<&Lane> {
        let own = |lane: &Lane| {
            let times = lane.times().own.into_iter().zip(&lane.events);
            times.filter(|(_, event)| event.activity != Activity::Part).map(|(own, _)| own).sum::<Duration>()
        };
        self.lanes.iter().max_by_key(|lane| own(lane))
    }

    /// The marks with numbers, in the order of time.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for lane in &self.lanes {
            let times = lane.times();
            for event in lane.events.iter().filter(|e| e.activity == Activity::Mark) {
                let Some(number) = event.number else { continue };
                let shares = shares(lane, &times, event.began, event.ended());
                let name = event.name.to_string();
                steps.push(Step { name, number, began: event.began, took: event.took, shares });
            }
        }
        steps.sort_by_key(|step| step.began);
        steps
    }

    /// Which part of the time goes to waiting for elements of data sets: of that from the first step to the last, where the program
    /// marks steps, else of that of the recording.
    pub fn input_bound(&self) -> f64 {
        let (mut input, mut all) = (Duration::ZERO, Duration::ZERO);
        for lane in &self.lanes {
            let steps = || lane.events.iter().filter(|e| e.activity == Activity::Mark && e.number.is_some());
            let (Some(from), Some(to)) = (steps().map(|e| e.began).min(), steps().map(Event::ended).max()) else {
                continue;
            };
            input += input_of(&shares(lane, &lane.times(), from, to));
            all += to - from;
        }
        if all.is_zero() {
            (input, all) = (input_of(&self.shares()), self.took);
        }
        if all.is_zero() { 0.0 } else { input.as_secs_f64() / all.as_secs_f64() }
    }
}

fn input_of(shares: &[Share]) -> Duration {
    shares.iter().filter(|s| s.part == Part::Input).map(|s| s.took).sum()
}

/// What an event is summed up under.
fn key_of(lane: &Lane, parents: &[Option<usize>], i: usize, by: By) -> Option<String> {
    let event = &lane.events[i];
    // It counts for the step, which waits for it.
    if event.activity == Activity::Part {
        return None;
    }
    match by {
        By::Name => Some(match event.activity {
            Activity::Operator => event.name.to_string(),
            activity => format!("{} {}", activity.name(), event.name),
        }),
        By::Line => event.line(),
        By::Kind => (!event.kind.is_empty()).then(|| event.kind.to_owned()),
        By::Function => {
            if matches!(event.activity, Activity::Mark | Activity::Input) {
                return None;
            }
            if !matches!(event.activity, Activity::Operator | Activity::Iteration) {
                return Some(event.name.to_string());
            }
            let written = event.loc.frame().map(|f| f.function.to_string()).filter(|f| !f.is_empty());
            written.or_else(|| {
                let around = |i: &usize| parents[*i];
                let mut chain = std::iter::successors(parents[i], around).map(|p| &lane.events[p]);
                chain.find(|e| matches!(e.activity, Activity::Function | Activity::Call)).map(|e| e.name.to_string())
            })
        }
    }
}
