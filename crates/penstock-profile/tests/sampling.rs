//! What recordings say of runs that were only counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use penstock_ir::{Activity, Detail, Pace, Profiler, Span, quietly};
use penstock_profile::{By, Part, Recorder, Recording, Row};

/// A thread of a program, the clock of which goes as it is told.
struct Program {
    recorder: Recorder,
    now: Instant,
}

impl Program {
    fn new(detail: Detail) -> Program {
        let recorder = Recorder::new(detail, Recorder::default_limit());
        Program { recorder, now: Instant::now() }
    }

    fn pass(&mut self, nanos: u64) {
        self.now += Duration::from_nanos(nanos);
    }

    /// A run of `f`, with an operator within it of three quarters of its time. Gives whether it was recorded.
    fn run(&mut self, pace: &Arc<Pace>, name: &'static str, nanos: u64) -> bool {
        let began = self.now;
        self.pass(nanos);
        if !self.recorder.takes(pace) {
            return false;
        }
        let within = Span::between(began, began + Duration::from_nanos(nanos * 3 / 4), Activity::Operator, "add");
        self.recorder.ended(&within.by("kernel"));
        self.recorder.ended(&Span::between(began, self.now, Activity::Function, name).paced(pace));
        true
    }

    fn mark(&mut self, began: Instant, number: i64) {
        self.recorder.ended(&Span::between(began, self.now, Activity::Mark, "step").number(Some(number)));
    }
}

fn row(recording: &Recording, key: &str) -> Row {
    recording.rows(By::Name).into_iter().find(|row| row.key == key).unwrap()
}

fn part(shares: &[penstock_profile::Share], part: Part) -> Duration {
    shares.iter().filter(|share| share.part == part).map(|share| share.took).sum()
}

/// Whether two times differ by less than a part.
fn near(found: Duration, due: Duration, part: f64) -> bool {
    (found.as_secs_f64() - due.as_secs_f64()).abs() <= part * due.as_secs_f64()
}

#[test]
fn short_runs_are_counted_all_and_recorded_some() {
    let (mut program, pace, runs) = (Program::new(Detail::Steps), Arc::default(), 20_000);
    let mut recorded = 0;
    for _ in 0..runs {
        recorded += u64::from(program.run(&pace, "f", 100));
        program.pass(20);
    }
    let recording = program.recorder.finish();
    assert_eq!(recording.sampled(), Some((recorded, runs)));
    assert!((2..runs / 10).contains(&recorded), "{recorded}");
    assert_eq!(row(&recording, "function f").count, runs);
    assert_eq!(row(&recording, "add").count, runs);
    for text in [recording.page("a page"), recording.chrome()] {
        assert!(text.contains(&format!("{recorded} of {runs} short runs")));
    }
    let warning = format!("{recorded} of {runs} short runs");
    assert!(recording.xspace("host").windows(warning.len()).any(|bytes| bytes == warning.as_bytes()));
}

#[test]
fn estimated_times_and_the_program_add_up_to_the_recording() {
    let (mut program, pace, runs) = (Program::new(Detail::Steps), Arc::default(), 20_000u64);
    let began = program.now;
    for _ in 0..runs {
        program.run(&pace, "f", 100);
        program.pass(20);
    }
    // As long as the recording takes by the clock of the program.
    let until = program.now;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    let recording = program.recorder.finish();
    let (add, f) = (row(&recording, "add"), row(&recording, "function f"));
    assert!(near(add.own, Duration::from_nanos(75 * runs), 0.02), "{:?}", add.own);
    assert!(near(f.own, Duration::from_nanos(25 * runs), 0.02), "{:?}", f.own);
    assert!(near(f.total, until - began - Duration::from_nanos(20 * runs), 0.02), "{:?}", f.total);
    let shares = recording.shares();
    assert!(near(shares.iter().map(|share| share.took).sum(), recording.took(), 1e-6));
    let rows: Duration = recording.rows(By::Name).iter().map(|row| row.own).sum();
    assert!(near(rows + part(&shares, Part::Program), recording.took(), 1e-4));
}

#[test]
fn long_runs_are_recorded_all() {
    let (mut program, pace) = (Program::new(Detail::Steps), Arc::default());
    let recorded = (0..100).filter(|_| program.run(&pace, "f", 1_000_000_000)).count();
    assert_eq!((recorded, program.recorder.finish().sampled()), (100, None));
}

/// The number of recorded runs where each of some kinds runs a thousand times, and takes a given time.
fn recorded_of_kinds(kinds: usize, nanos: u64) -> Vec<usize> {
    let mut program = Program::new(Detail::Steps);
    (0..kinds)
        .map(|_| {
            let pace = Arc::default();
            (0..1000).filter(|_| program.run(&pace, "f", nanos)).count()
        })
        .collect()
}

#[test]
fn the_first_runs_of_many_kinds_share_what_they_may_cost() {
    let (one, many) = (recorded_of_kinds(1, 100), recorded_of_kinds(200, 100));
    assert!(many.iter().all(|&recorded| recorded >= 1), "{many:?}");
    assert!(many.iter().sum::<usize>() < 100 * one[0], "{one:?} {many:?}");
}

#[test]
fn a_kind_that_comes_late_has_first_runs_too() {
    let mut program = Program::new(Detail::Steps);
    let (early, late) = (Arc::default(), Arc::default());
    (0..100).for_each(|_| _ = program.run(&early, "early", 100));
    program.pass(1_000_000_000);
    assert!((0..16).all(|_| program.run(&late, "late", 100)));
}

#[test]
fn all_runs_are_recorded_where_all_is_asked_for() {
    let (mut program, pace) = (Program::new(Detail::All), Arc::default());
    let recorded = (0..1000).filter(|_| program.run(&pace, "f", 10)).count();
    assert_eq!((recorded, program.recorder.finish().sampled()), (1000, None));
}

#[test]
fn one_interrupted_run_is_not_taken_for_those_that_were_counted() {
    let (mut program, pace, runs) = (Program::new(Detail::Steps), Arc::default(), 20_000u64);
    let mut interrupted = false;
    for i in 0..runs {
        let due = i > runs / 2 && !interrupted && program.recorder.takes(&pace);
        interrupted |= due;
        program.run(&pace, "f", if due { 200_000_000 } else { 5_000 });
    }
    assert!(interrupted);
    let total = row(&program.recorder.finish(), "function f").total;
    assert!(near(total, Duration::from_nanos(200_000_000 + 5_000 * runs), 0.1), "{total:?}");
}

#[test]
fn each_step_has_its_part_of_what_was_only_counted() {
    let (mut program, pace) = (Program::new(Detail::Steps), Arc::default());
    for number in 0..2000 {
        let began = program.now;
        for _ in 0..10 {
            program.run(&pace, "f", 5_000);
        }
        program.pass(5_000);
        program.mark(began, number);
    }
    let recording = program.recorder.finish();
    let steps = recording.steps();
    assert_eq!(steps.len(), 2000);
    let (mut operators, mut all) = (Duration::ZERO, Duration::ZERO);
    for step in &steps {
        let sum: Duration = step.shares.iter().map(|share| share.took).sum();
        assert!(near(sum, step.took, 1e-6), "{:?} {:?}", step.shares, step.took);
        operators += part(&step.shares, Part::Operators);
        all += step.took;
    }
    assert!(near(operators, all.mul_f64(0.75 * 10.0 / 11.0), 0.05), "{operators:?} of {all:?}");
}

#[test]
fn iterations_that_were_counted_lie_in_the_run_of_their_loop() {
    let (mut program, pace, outer) = (Program::new(Detail::Steps), Arc::default(), Arc::default());
    let (began, iterations) = (program.now, 10_000u64);
    for _ in 0..iterations {
        let began = program.now;
        program.pass(6_000);
        if program.recorder.takes(&pace) {
            let within = Span::between(began, began + Duration::from_nanos(4_500), Activity::Operator, "sort");
            program.recorder.ended(&within.by("kernel"));
            program.recorder.ended(&Span::between(began, program.now, Activity::Iteration, "while").paced(&pace));
        } else {
            program.recorder.ended(&Span::between(began, began, Activity::Mark, "within"));
        }
    }
    program.recorder.ended(&Span::between(began, program.now, Activity::Function, "f").paced(&outer));
    let recording = program.recorder.finish();
    let sort = row(&recording, "sort");
    assert!(near(sort.own, Duration::from_nanos(4_500 * iterations), 0.05), "{:?}", sort.own);
    let all: Duration = recording.rows(By::Name).iter().map(|row| row.own).sum();
    assert!(near(all, Duration::from_nanos(6_000 * iterations), 1e-3), "{all:?}");
}

#[test]
fn nothing_within_a_run_that_is_only_counted_is_recorded_but_marks() {
    let recorder = Recorder::default();
    quietly(|| {
        recorder.ended(&Span::since(Instant::now(), Activity::Operator, "add"));
        recorder.ended(&Span::since(Instant::now(), Activity::Mark, "mine"));
        assert!(!recorder.takes(&Pace::default()));
    });
    let recording = recorder.finish();
    assert_eq!(recording.rows(By::Name).iter().map(|row| &*row.key).collect::<Vec<_>>(), ["mark mine"]);
}

#[test]
fn what_it_takes_to_record_the_spans_within_a_run_is_none_of_its_time() {
    let (mut program, pace) = (Program::new(Detail::Steps), Arc::<Pace>::default());
    // Its spans take longer to record than the run does, so that it takes next to nothing when it is only counted.
    let mut run = || {
        let began = program.now;
        program.pass(1000);
        let told = program.recorder.takes(&pace);
        if told {
            for _ in 0..200 {
                program.recorder.ended(&Span::between(began, began, Activity::Operator, "add"));
            }
            program.recorder.ended(&Span::between(began, program.now, Activity::Function, "f").paced(&pace));
        }
        told
    };
    let recorded = (0..40_000).filter(|_| run()).count();
    assert!((1..=20).contains(&recorded), "{recorded}");
}
