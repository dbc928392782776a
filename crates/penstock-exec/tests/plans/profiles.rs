//! What a profiler is told of a run.

use std::time::{Duration, Instant};

use penstock_ir::{Activity, Detail, Pace, Profiler, Span, no_hosts, parse_function};

use super::*;

/// A span, with a name of its own.
struct Told {
    activity: Activity,
    op: String,
    loc: String,
    kind: &'static str,
    count: u64,
    began: Instant,
    took: Duration,
    failed: bool,
}

#[derive(Default)]
struct Notes(Detail, Mutex<Vec<Told>>);

impl Profiler for Notes {
    fn detail(&self) -> Detail {
        self.0
    }

    fn ended(&self, span: &Span<'_>) {
        let Span { activity, kind, count, began, took, failed, .. } = *span;
        let (op, loc) = (span.name.to_owned(), span.loc.to_string());
        self.1.lock().unwrap().push(Told { activity, op, loc, kind, count, began, took, failed });
    }
}

impl Env for Notes {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Ok((0, 0))
    }

    fn poll(&self) -> Result<()> {
        Ok(())
    }

    fn profiler(&self) -> Option<&dyn Profiler> {
        Some(self)
    }
}

/// What a run of a text told, in the order in which it ended, and the time of the run; it may fail.
fn told(text: &str, args: &[Arg], detail: Detail) -> (Vec<Told>, Duration) {
    let executable = Executable::new(&parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()).unwrap();
    let (notes, began) = (Notes(detail, Mutex::default()), Instant::now());
    drop(executable.run(args, &notes));
    (notes.1.into_inner().unwrap(), began.elapsed())
}

/// The steps that a run told of.
fn steps(text: &str, args: &[Arg], detail: Detail) -> (Vec<Told>, Duration) {
    let (mut notes, all) = told(text, args, detail);
    notes.retain(|n| n.activity == Activity::Operator);
    (notes, all)
}

#[test]
fn each_step_is_told_with_its_operator_its_place_and_its_time() {
    let text = "func @f(%x: f32[400,300]) -> f32[400,300], f32[] {\n%a = neg %x  ; net.py:3:4\n\
                %b = sort %a  ; net.py:4:4\n%s = reduce_sum %b  ; net.py:5:4\nreturn %b, %s\n}";
    let (notes, all) = steps(text, &[Arg::from(Tensor::zeros(DType::F32, &[400, 300]).unwrap())], Detail::Steps);
    let told: Vec<_> = notes.iter().map(|n| (&*n.op, n.kind, n.loc.clone())).collect();
    let due = [("neg", "loop", 3), ("sort", "kernel", 4), ("reduce_sum", "kernel", 5)];
    assert_eq!(told, due.map(|(op, kind, line)| (op, kind, format!("net.py:{line}:4"))));
    assert!(notes.iter().map(|n| n.took).sum::<Duration>() <= all);
    assert!(notes.windows(2).all(|pair| pair[0].began + pair[0].took <= pair[1].began));
}

#[test]
fn steps_of_a_loop_are_told_each_time_that_they_run() {
    let text = "func @f(%n: i32[], %x: f32[40]) -> f32[40] {\n%zero = const {value=i32[] 0}\n\
                %i, %y = while %zero, %x ((%a: i32[], %b: f32[40]) {\n%go = less %a, %n\nyield %go\n}, \
                (%d: i32[], %e: f32[40]) {\n%one = const {value=i32[] 1}\n%next = add %d, %one\n%s = sort %e\n\
                yield %next, %s\n})\nreturn %y\n}";
    let args = [Arg::from(Tensor::from(5i32)), Arg::from(Tensor::zeros(DType::F32, &[40]).unwrap())];
    let (notes, _) = steps(text, &args, Detail::Steps);
    assert_eq!(notes.iter().filter(|n| n.op == "sort").count(), 5);
}

#[test]
fn a_run_is_told_behind_its_steps() {
    let text = "func @f(%x: f32[400]) -> f32[400] {\n%s = sort %x\nreturn %s\n}";
    let args = [Arg::from(Tensor::zeros(DType::F32, &[400]).unwrap())];
    let (notes, _) = told(text, &args, Detail::Steps);
    let order: Vec<_> = notes.iter().map(|n| (n.activity, &*n.op)).collect();
    assert_eq!(order, [(Activity::Operator, "sort"), (Activity::Function, "f")]);
    assert!(notes[1].began <= notes[0].began && notes[0].took <= notes[1].took);
    let (notes, _) = told(text, &args, Detail::Functions);
    assert_eq!(notes.iter().map(|n| n.activity).collect::<Vec<_>>(), [Activity::Function]);
}

#[test]
fn a_step_that_fails_is_told_as_failed() {
    let text = "func @f(%x: f32[s0], %i: i32[s1]) -> f32[s1] {\n%s = sort %x\n%y = gather %s, %i\nreturn %y\n}";
    let indices = Tensor::from_slice(&[100], &[7i32; 100]).unwrap();
    let args = [Arg::from(Tensor::zeros(DType::F32, &[4]).unwrap()), Arg::from(indices)];
    let (notes, _) = told(text, &args, Detail::Steps);
    let failed: Vec<_> = notes.iter().map(|n| (&*n.op, n.failed)).collect();
    assert_eq!(failed.last(), Some(&("f", true)));
    assert!(failed.contains(&("sort", false)) && failed.contains(&("gather", true)), "{failed:?}");
}

#[test]
fn brief_steps_are_told_together_unless_each_is_asked_for() {
    let text = "func @f(%x: f32[400], %a: f32[], %b: f32[]) -> f32[400], f32[] {\n%s = sort %x\n%c = add %a, %b\n\
                %d = div %c, %b\n%t = sort %s\nreturn %t, %d\n}";
    let scalar = || Arg::from(Tensor::from(2.0f32));
    let args = [Arg::from(Tensor::zeros(DType::F32, &[400]).unwrap()), scalar(), scalar()];
    let counts = |detail| {
        let (notes, _) = steps(text, &args, detail);
        (notes.len(), notes.iter().map(|n| n.count).sum::<u64>())
    };
    let (together, all) = counts(Detail::Steps);
    let (alone, each) = counts(Detail::All);
    assert_eq!(all, each);
    assert!(together <= alone && alone as u64 == each, "{together} {alone} {each}");
}

/// Is told of one run or iteration in ten of those that have a pace, and counts the others.
#[derive(Default)]
struct Tenth(Notes, Mutex<Vec<(Activity, Arc<Pace>, u32)>>);

/// The number of its recording.
const TENTH: u32 = 7;

impl Profiler for Tenth {
    fn takes(&self, pace: &Pace) -> bool {
        pace.is_due(TENTH)
    }

    fn ended(&self, span: &Span<'_>) {
        self.0.ended(span);
        if let Some(pace) = span.pace {
            self.1.lock().unwrap().push((span.activity, pace.clone(), pace.skip(TENTH, 9)));
        }
    }
}

impl Env for Tenth {
    fn profiler(&self) -> Option<&dyn Profiler> {
        Some(self)
    }

    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
}

impl Tenth {
    /// How many runs or iterations there were, and how many of them were told.
    fn counts(&self, of: Activity) -> (u32, u32) {
        let (mut told, mut all) = (0, 0);
        let mut seen: Option<Arc<Pace>> = None;
        for (activity, pace, passed) in self.1.lock().unwrap().iter().filter(|told| told.0 == of) {
            assert_eq!(*activity, of);
            (told, all) = (told + 1, all + 1 + passed);
            seen = Some(pace.clone());
        }
        (all + seen.map_or(0, |pace| pace.skip(TENTH, 0)), told)
    }

    fn operators(&self, name: &str) -> usize {
        self.0.1.lock().unwrap().iter().filter(|n| n.activity == Activity::Operator && n.op == name).count()
    }
}

#[test]
fn runs_that_a_profiler_does_not_take_are_counted() {
    let text = "func @f(%x: f32[400]) -> f32[400] {\n%s = sort %x\nreturn %s\n}";
    let executable = Executable::new(&parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()).unwrap();
    let args = [Arg::from(Tensor::zeros(DType::F32, &[400]).unwrap())];
    let tenth = Tenth::default();
    for _ in 0..105 {
        executable.run(&args, &tenth).unwrap();
    }
    assert_eq!(tenth.counts(Activity::Function), (105, 11));
    assert_eq!(tenth.operators("sort"), 11);
}

#[test]
fn iterations_that_a_profiler_does_not_take_are_counted() {
    let of_loop = |end: &str| {
        format!(
            "func @f(%n: i32[], %x: f32[40]) -> f32[40] {{\n%zero = const {{value=i32[] 0}}\n\
             %i, %y = while %zero, %x ((%a: i32[], %b: f32[40]) {{\n%go = less %a, %n\nyield %go\n}}, \
             (%d: i32[], %e: f32[40]) {{\n%one = const {{value=i32[] 1}}\n%next = add %d, %one\n%s = sort %e\n\
             yield %next, %s\n}})\n{end}\n}}"
        )
    };
    for (end, behind) in [("return %y", 0), ("%z = sort %y\nreturn %z", 1)] {
        for iterations in [101i32, 105, 110, 111] {
            let function = parse_function(&of_loop(end), &penstock_ops::Ops, &no_hosts).unwrap();
            let executable = Executable::new(&function).unwrap();
            let args = [Arg::from(Tensor::from(iterations)), Arg::from(Tensor::zeros(DType::F32, &[40]).unwrap())];
            let tenth = Tenth::default();
            executable.run(&args, &tenth).unwrap();
            let (all, told) = tenth.counts(Activity::Iteration);
            // The first iteration is told with the loop.
            assert_eq!(all, iterations as u32 - 1, "{told} told");
            assert_eq!(tenth.operators("sort"), told as usize + 1 + behind);
        }
    }
}

#[test]
fn iterations_of_brief_steps_that_a_profiler_does_not_take_are_counted() {
    let text = "func @f(%n: i32[], %x: c64[]) -> c64[] {\n%zero = const {value=i32[] 0}\n\
                %i, %y = while %zero, %x ((%a: i32[], %b: c64[]) {\n%go = less %a, %n\nyield %go\n}, \
                (%d: i32[], %e: c64[]) {\n%one = const {value=i32[] 1}\n%next = add %d, %one\n%s = mul %e, %e\n\
                yield %next, %s\n})\nreturn %y\n}";
    for iterations in [101i32, 110, 111] {
        let executable = Executable::new(&parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()).unwrap();
        let x = Tensor::zeros(DType::C64, &[]).unwrap();
        let tenth = Tenth::default();
        executable.run(&[Arg::from(Tensor::from(iterations)), Arg::from(x)], &tenth).unwrap();
        let (all, told) = tenth.counts(Activity::Iteration);
        assert_eq!(all, iterations as u32 - 1, "{told} told");
        assert!(told as i32 <= iterations / 10 + 1, "{told} told of {iterations}");
    }
}

#[test]
fn iterations_of_a_loop_around_a_long_one_are_counted_too() {
    let text = "func @f(%n: i32[], %m: i32[], %x: f32[40]) -> f32[40] {\n%zero = const {value=i32[] 0}\n\
                %i, %y = while %zero, %x ((%a: i32[], %b: f32[40]) {\n%go = less %a, %n\nyield %go\n}, \
                (%d: i32[], %e: f32[40]) {\n%one = const {value=i32[] 1}\n%next = add %d, %one\n\
                %j, %z = while %zero, %e ((%p: i32[], %q: f32[40]) {\n%goes = less %p, %m\nyield %goes\n}, \
                (%r: i32[], %t: f32[40]) {\n%more = add %r, %one\n%s = sort %t\nyield %more, %s\n})\n\
                yield %next, %z\n})\nreturn %y\n}";
    let executable = Executable::new(&parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()).unwrap();
    let x = Tensor::zeros(DType::F32, &[40]).unwrap();
    let args = [Arg::from(Tensor::from(100i32)), Arg::from(Tensor::from(100i32)), Arg::from(x)];
    let tenth = Tenth::default();
    executable.run(&args, &tenth).unwrap();
    let of = |loc: u32| {
        let paces = tenth.1.lock().unwrap();
        let mut told: Vec<(Arc<Pace>, u32)> = Vec::new();
        for (_, pace, passed) in paces.iter().filter(|told| told.0 == Activity::Iteration) {
            match told.iter_mut().find(|known| Arc::ptr_eq(&known.0, pace)) {
                Some(known) => known.1 += 1 + passed,
                None => told.push((pace.clone(), 1 + passed)),
            }
        }
        told.iter().map(|(pace, all)| all + pace.skip(TENTH, 0)).filter(|&all| all == loc).count()
    };
    // The outer ones but the first, all of which are counted or told.
    assert_eq!(of(99), 1);
    assert!(tenth.operators("sort") < 1000, "{}", tenth.operators("sort"));
}

#[test]
fn calls_by_a_function_that_calls_itself_are_told_or_counted() {
    let text = "func @f(%n: i32[], %x: f32[40]) -> f32[40] {\n%zero = const {value=i32[] 0}\n%go = less %zero, %n\n\
                %y = cond %go ({\n%one = const {value=i32[] 1}\n%less = sub %n, %one\n%s = sort %x\n\
                %rest = call %less, %s {func=@f}\nyield %rest\n}, {\nyield %x\n})\nreturn %y\n}";
    for calls in [101i32, 105, 110, 111] {
        // The call holds the function weakly.
        let function = parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap();
        let executable = Executable::new(&function).unwrap();
        let args = [Arg::from(Tensor::from(calls)), Arg::from(Tensor::zeros(DType::F32, &[40]).unwrap())];
        let tenth = Tenth::default();
        executable.run(&args, &tenth).unwrap();
        let (all, told) = tenth.counts(Activity::Call);
        // A function may be inlined in itself once.
        assert!(all >= calls as u32 / 2 && all <= calls as u32, "{all} calls of {calls}");
        assert_eq!(told, all.div_ceil(10));
        assert!((tenth.operators("sort") as i32) < calls / 4, "{}", tenth.operators("sort"));
    }
}
