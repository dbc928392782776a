//! What recordings sum up, and how they are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use penstock_data::Loc;
use penstock_ir::{Activity, Detail, Profiler, Span};
use penstock_kernels::pool;
use penstock_profile::{By, Lane, Part, Recorder, Recording};
use penstock_wire::{Field, fields};

/// Spans as `(activity, name, kind, start, end)`, in milliseconds from a moment after the start of the recording.
fn recorded(spans: &[(Activity, &'static str, &'static str, u64, u64)]) -> Recording {
    let recorder = Recorder::default();
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    for &(activity, name, kind, from, to) in spans {
        let number = (activity == Activity::Mark).then_some(from as i64);
        recorder.ended(&Span::between(at(from), at(to), activity, name).by(kind).number(number));
    }
    recorder.finish()
}

/// A step of training: a run with a callback that waits for a data set, and one operator outside of the run.
fn training() -> Recording {
    recorded(&[
        (Activity::Operator, "matmul", "kernel", 1, 4),
        (Activity::Input, "Batch", "", 5, 8),
        (Activity::Operator, "host_call", "callback", 4, 9),
        (Activity::Function, "f", "", 0, 10),
        (Activity::Operator, "add", "eager", 11, 12),
        (Activity::Mark, "train", "", 0, 20),
    ])
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn own_time_is_without_that_of_what_lies_within() {
    let rows = training().rows(By::Name);
    let times: Vec<_> = rows.iter().map(|r| (&*r.key, r.own, r.total)).collect();
    let due = [
        ("mark train", ms(9), ms(20)),
        ("input Batch", ms(3), ms(3)),
        ("matmul", ms(3), ms(3)),
        ("function f", ms(2), ms(10)),
        ("host_call", ms(2), ms(5)),
        ("add", ms(1), ms(1)),
    ];
    assert_eq!(times, due);
}

#[test]
fn the_parts_of_a_step_add_up_to_it() {
    let steps = training().steps();
    assert_eq!((steps.len(), &*steps[0].name, steps[0].number, steps[0].took), (1, "train", 0, ms(20)));
    let shares: Vec<_> = steps[0].shares.iter().map(|s| (s.part, s.took)).collect();
    let due = [
        (Part::Operators, ms(4)),
        (Part::Callbacks, ms(2)),
        (Part::Input, ms(3)),
        (Part::Runs, ms(2)),
        (Part::Program, ms(9)),
    ];
    assert_eq!(shares, due);
    assert!((training().input_bound() - 3.0 / 20.0).abs() < 1e-9);
}

#[test]
fn waiting_between_the_steps_counts_but_not_before_the_first() {
    let recording = recorded(&[
        (Activity::Input, "Batch", "", 0, 10),
        (Activity::Mark, "train", "", 10, 20),
        (Activity::Input, "Batch", "", 20, 25),
        (Activity::Mark, "train", "", 30, 60),
        (Activity::Input, "Batch", "", 60, 90),
    ]);
    assert!((recording.input_bound() - 5.0 / 50.0).abs() < 1e-9);
}

#[test]
fn operators_without_a_place_belong_to_the_function_that_runs() {
    let rows = training().rows(By::Function);
    let f = rows.iter().find(|r| r.key == "f").unwrap();
    assert_eq!(f.own, ms(3 + 2 + 2));
    let recorder = Recorder::default();
    let loc = Loc::new(penstock_data::Frame {
        file: "net.py".into(),
        line: 7,
        column: 0,
        function: "layer".into(),
        caller: None,
    });
    recorder.ended(&Span::since(Instant::now(), Activity::Operator, "exp").at(loc));
    let recording = recorder.finish();
    assert_eq!(recording.rows(By::Function)[0].key, "layer");
    assert_eq!(recording.rows(By::Line)[0].key, "net.py:7");
}

#[test]
fn events_beyond_the_limit_are_counted_not_kept() {
    let recorder = Recorder::new(Detail::Steps, 2);
    for _ in 0..5 {
        recorder.ended(&Span::since(Instant::now(), Activity::Operator, "exp"));
    }
    let recording = recorder.finish();
    assert_eq!((recording.len(), recording.dropped()), (2, 3));
    assert!(recording.page("a page").contains("\"dropped\":3"));
}

#[test]
fn each_thread_has_a_lane_of_its_own() {
    let recorder = Recorder::default();
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let body = || recorder.ended(&Span::since(Instant::now(), Activity::Operator, "exp"));
            std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, body).unwrap();
        }
    });
    let recording = recorder.finish();
    let mut names: Vec<_> = recording.lanes().iter().map(|lane| &*lane.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["one", "two"]);
}

#[test]
fn what_a_thread_of_the_pool_does_has_the_name_of_the_step_and_counts_for_it_alone() {
    let recorder = Recorder::default();
    let start = Instant::now();
    let span = |activity, name: &'static str, from, to| Span::between(start + ms(from), start + ms(to), activity, name);
    recorder.ended(&span(Activity::Operator, "exp", 0, 4).by("fused"));
    recorder.ended(&span(Activity::Operator, "matmul", 5, 9).by("kernel"));
    recorder.ended(&span(Activity::Operator, "while", 0, 10).by("native"));
    recorder.ended(&span(Activity::Mark, "train", 0, 30).number(Some(1)));
    std::thread::scope(|scope| {
        let parts = || [(5, 8), (20, 29)].map(|(from, to)| recorder.ended(&span(Activity::Part, "", from, to)));
        std::thread::Builder::new().name("penstock-0".to_owned()).spawn_scoped(scope, parts).unwrap();
    });
    let recording = recorder.finish();
    let lane = recording.lanes().iter().find(|lane| lane.name == "penstock-0").unwrap();
    let parts: Vec<_> = lane.events.iter().map(|e| (&*e.name, e.kind)).collect();
    assert_eq!(parts, [("matmul", "kernel"), ("", "")]);
    let rows: Vec<_> = recording.rows(By::Name).into_iter().map(|row| (row.key, row.count, row.own)).collect();
    assert_eq!(rows.iter().find(|row| row.0 == "matmul").unwrap(), &("matmul".to_owned(), 1, ms(4)));
    assert_eq!(rows.len(), 4);
    let threads = recording.threads();
    assert!(threads.contains(&("penstock-0", ms(12))) && threads.iter().any(|(_, busy)| *busy == ms(10)));
    let shares: Vec<_> = recording.steps()[0].shares.iter().map(|share| (share.part, share.took)).collect();
    assert_eq!(shares, [(Part::Operators, ms(10)), (Part::Program, ms(20))]);
    assert!(recording.page("threads").contains("\"busy\":12000"));
}

#[test]
fn the_pool_tells_the_recorder_that_watches_it_until_that_is_dropped() {
    let both = |recorder: Option<&Arc<Recorder>>| {
        if let Some(recorder) = recorder {
            recorder.watch_workers();
        }
        let begun = AtomicUsize::new(0);
        pool::parallel_each(2, |_| {
            begun.fetch_add(1, Ordering::Relaxed);
            // So that one thread cannot take both.
            while begun.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
        });
    };
    pool::set_threads(2);
    let recorder = Arc::new(Recorder::default());
    both(Some(&recorder));
    // The worker tells of its part before the loop has ended.
    let recording = recorder.finish();
    let part = |lane: &Lane| lane.name.starts_with("penstock-") && lane.events.len() == 1;
    assert!(recording.lanes().len() == 1 && recording.lanes().iter().all(part));
    drop(recorder);
    let other = Recorder::default();
    both(None);
    assert!(other.finish().is_empty());
}

#[test]
fn nothing_recorded_is_a_program_alone() {
    let recording = Recorder::default().finish();
    assert!(recording.is_empty() && recording.rows(By::Name).is_empty() && recording.steps().is_empty());
    assert_eq!(recording.shares()[0].part, Part::Program);
    assert!(recording.input_bound().abs() < f64::EPSILON);
    for text in [recording.page("empty"), recording.chrome()] {
        assert!(!text.is_empty());
    }
    assert!(!recording.xspace("host").is_empty());
}

/// The fields of a message with a number.
fn all(message: &[u8], number: u64) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    fields(
        message,
        |reason| reason.to_owned(),
        |n, field| {
            if n == number {
                found.push(field);
            }
            Ok(())
        },
    )
    .unwrap();
    found
}

#[test]
fn tensorboards_message_has_operators_by_scope_and_steps_by_number() {
    let space = training().xspace("machine");
    assert_eq!(all(&space, 4)[0].text(), Ok("machine"));
    let plane = all(&space, 1)[0].bytes();
    assert_eq!(all(plane, 2)[0].text(), Ok("/host:CPU"));
    let names: Vec<&str> =
        all(plane, 4).iter().map(|entry| all(all(entry.bytes(), 2)[0].bytes(), 2)[0].text().unwrap()).collect();
    assert!(names.contains(&"f/matmul:matmul") && names.contains(&"eager/add:add"), "{names:?}");
    assert!(names.contains(&"IteratorGetNext Batch"), "{names:?}");
    // The events of a step are on the line of its mark, in the order in which they begin. Of two that begin together the longer
    // one comes first.
    let lines = all(plane, 3);
    assert_eq!(lines.len(), 1);
    let times: Vec<_> = all(lines[0].bytes(), 4)
        .iter()
        .map(|event| [2, 3].map(|field| all(event.bytes(), field)[0].number() / 1_000_000_000))
        .collect();
    assert_eq!(times, [[0, 20], [0, 10], [1, 3], [4, 5], [5, 3], [11, 1]], "milliseconds");
    let stats: Vec<&str> =
        all(plane, 5).iter().map(|entry| all(all(entry.bytes(), 2)[0].bytes(), 2)[0].text().unwrap()).collect();
    assert!(stats.contains(&"step_num") && stats.contains(&"_r"), "{stats:?}");
}

#[test]
fn names_cannot_end_the_script_of_the_page() {
    let recording = recorded(&[(Activity::Mark, "</script><b>\"\\\n", "", 0, 1)]);
    let page = recording.page("a & b");
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("\\u003c/script\\u003e"));
    assert!(recording.chrome().contains("\\\"\\\\\\u000a"));
}
