//! What a profiler is told of a run.

use std::time::{Duration, Instant};

use penstock_ir::{Profiled, Profiler, no_hosts, parse_function};

use super::*;

#[derive(Default)]
struct Notes(Mutex<Vec<Profiled>>);

impl Profiler for Notes {
    fn step(&self, step: &Profiled) {
        self.0.lock().unwrap().push(step.clone());
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

fn run(text: &str, args: &[Arg]) -> (Vec<Profiled>, Duration) {
    let executable = Executable::new(&parse_function(text, &penstock_ops::Ops, &no_hosts).unwrap()).unwrap();
    let (notes, began) = (Notes::default(), Instant::now());
    executable.run(args, &notes).unwrap();
    (notes.0.into_inner().unwrap(), began.elapsed())
}

#[test]
fn each_step_is_told_with_its_operator_its_place_and_its_time() {
    let text = "func @f(%x: f32[400,300]) -> f32[400,300], f32[] {\n%a = neg %x  ; net.py:3:4\n\
                %b = sort %a  ; net.py:4:4\n%s = reduce_sum %b  ; net.py:5:4\nreturn %b, %s\n}";
    let (notes, all) = run(text, &[Arg::from(Tensor::zeros(DType::F32, &[400, 300]).unwrap())]);
    let told: Vec<_> = notes.iter().map(|n| (n.op, n.kind, n.loc.to_string())).collect();
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
    let (notes, _) = run(text, &args);
    assert_eq!(notes.iter().filter(|n| n.op == "sort").count(), 5);
}
