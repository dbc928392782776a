//! Runs that repeat, which the device is handed as graphs: on the machine's own GPU, or else on an emulated one.

mod common;

use std::sync::Arc;

use common::{gpu, within};
use penstock_cuda::CudaDevice;
use penstock_data::{Class, DType, Result, Shape, Tensor};
use penstock_exec::{Arg, Device, Executable, StdEnv, Variable};
use penstock_filetests::{hosts, same_tensor};
use penstock_ir::parse_function;
use penstock_ops::Ops;
use penstock_passes::{Options, Thresholds};

/// What the emulated driver counts is everybody's, so one test runs at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn numbers(count: usize, by: f32) -> Tensor {
    Tensor::vector(&(0..count).map(|i| (i as f32 / 8.0 - 4.0) * by).collect::<Vec<_>>())
}

fn executable(text: &str) -> Executable {
    let small = Options { thresholds: Thresholds::SMALL, ..Options::default() };
    let function = parse_function(text, &Ops, &|_| None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Executable::with_options(&function, small).expect("an executable")
}

fn run(executable: &Executable, args: &[Arg]) -> Result<Vec<Tensor>> {
    let results = executable.run(args, &StdEnv::default())?;
    results.iter().map(Tensor::on_host).collect()
}

fn variable(value: &Tensor) -> Arc<Variable> {
    Variable::new("w", DType::F32, Shape::known(value.dims()), Some(value.clone())).expect("a variable")
}

/// A step of training: two layers, whose weights change by a scalar of the host.
const STEP: &str = "
    func @main(%w \"w\": var f32[16,16], %x: f32[8,16], %rate: f32[]) -> f32[] {
      %v = read_variable %w
      %h = matmul %x, %v
      %a = tanh %h
      %g = matmul %x, %a {transpose_a=true}
      %n = reduce_sum %g {axes=[0]}
      %s = div %g, %n
      %d = mul %s, %rate
      assign_sub %w, %d
      %y = softmax %h
      %l = reduce_sum %y {axes=[1]}
      %t = reduce_sum %a
      return %t
    }";

fn step_args(value: &Tensor) -> Vec<Arg> {
    let x = numbers(128, 0.25).reshaped(&[8, 16]).expect("a matrix");
    vec![Arg::Variable(variable(value)), Arg::Tensor(x), Arg::Tensor(Tensor::from(0.5f32))]
}

/// Whether values are as near as those that were added up in other orders.
fn is_near(a: &Tensor, b: &Tensor) -> bool {
    let (a, b) = (a.on_host().expect("a value"), b.on_host().expect("a value"));
    let (a, b) = (a.as_slice::<f32>(), b.as_slice::<f32>());
    let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * (1.0 + x.abs().max(y.abs()));
    a.len() == b.len() && a.iter().zip(b).all(near)
}

fn assert_near(a: &Tensor, b: &Tensor) {
    assert!(is_near(a, b), "{a:?}\n{b:?}");
}

/// The calls of a function of the driver; nothing where it is a GPU's.
fn calls(name: &str) -> u64 {
    common::mock::get().map_or(0, |mock| mock.count(name))
}

fn assert_nothing_was_found() {
    if let Some(mock) = common::mock::get() {
        assert_eq!(mock.findings(), Vec::<String>::new());
    }
}

#[test]
fn a_step_of_training_becomes_one_launch_without_allocations() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let value = numbers(256, 0.05).reshaped(&[16, 16]).expect("a matrix");
    let (here, there) = (executable(STEP), executable(STEP));
    let (due_args, args) = (step_args(&value), within(Some(&gpu), || step_args(&gpu.upload(&value).expect("a copy"))));
    let args: Vec<Arg> = args
        .into_iter()
        .map(|arg| match arg {
            Arg::Tensor(t) => Arg::Tensor(gpu.upload(&t).expect("a copy")),
            variable => variable,
        })
        .collect();
    const COUNTED: [&str; 7] = [
        "cuLaunchKernel",
        "cuMemAllocAsync",
        "cuMemFreeAsync",
        "cuMemcpyHtoDAsync_v2",
        "cuStreamSynchronize",
        "cuGraphInstantiateWithFlags",
        "cuGraphExecKernelNodeSetParams_v2",
    ];
    let mut last = None;
    for i in 0..16 {
        let due = run(&here, &due_args).expect("a step");
        let (before, graphs) = (COUNTED.map(calls), calls("cuGraphLaunch"));
        let result = within(Some(&gpu), || there.run(&args, &StdEnv::default())).expect("a step").remove(0);
        if i >= 8 && common::mock::get().is_some() {
            assert_eq!(COUNTED.map(calls), before, "in step {i}");
            assert_eq!(calls("cuGraphLaunch") - graphs, 1, "in step {i}");
        }
        // The result of the step before is held, as a program that prints the loss does.
        last = Some(result.clone());
        assert_near(&result, &due[0]);
    }
    let [Arg::Variable(due), ..] = &due_args[..] else { panic!("no variable") };
    let [Arg::Variable(got), ..] = &args[..] else { panic!("no variable") };
    assert_near(&got.read().expect("a value"), &due.read().expect("a value"));
    drop(last);
    assert_nothing_was_found();
}

#[test]
fn a_scalar_that_changes_from_run_to_run_is_set_in_the_graph() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[100], %k: f32[]) -> f32[100], f32[] {
          %a = mul %x, %k
          %s = reduce_sum %a
          %b = sub %a, %s
          %m = reduce_max %b
          %c = sub %b, %m
          %t = reduce_sum %c
          return %c, %t
        }";
    let (here, there) = (executable(text), executable(text));
    let x = gpu.upload(&numbers(100, 1.0)).expect("a copy");
    let launches = calls("cuGraphLaunch");
    for i in 0..12 {
        let args = [Arg::Tensor(x.clone()), Arg::Tensor(Tensor::from(i as f32 * 0.75 - 2.0))];
        let (due, got) = (run(&here, &[Arg::Tensor(numbers(100, 1.0)), args[1].clone()]), run(&there, &args));
        let (due, got) = (due.expect("a run"), got.expect("a run"));
        assert!(due.iter().zip(&got).all(|(a, b)| same_tensor(a, b)), "run {i}: {got:?} instead of {due:?}");
    }
    if common::mock::get().is_some() {
        assert_eq!(calls("cuGraphLaunch") - launches, 10);
    }
    assert_nothing_was_found();
}

#[test]
fn arguments_of_the_host_that_change_reach_commands_that_are_held_back() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[s0], %y: f32[s0]) -> f32[] {
          %a = mul %x, %y
          %s = reduce_sum %a
          %b = sub %a, %s
          %c = reduce_max %b
          %d = mul %y, %c
          %t = reduce_sum %d
          return %t
        }";
    let (here, there) = (executable(text), executable(text));
    // Lengths that alternate, and such that never come again.
    for i in 0..40 {
        let n = if i < 20 { 100 + i % 2 * 50 } else { 100 + i * 7 };
        let args = [numbers(n, i as f32 * 0.1), numbers(n, 1.5 - i as f32 * 0.25)].map(Arg::Tensor);
        let due = run(&here, &args).expect("a run");
        let got = within(Some(&gpu), || run(&there, &args)).expect("a run");
        assert!(same_tensor(&due[0], &got[0]), "run {i}: {got:?} instead of {due:?}");
    }
    assert_nothing_was_found();
}

#[test]
fn an_iteration_of_a_counted_loop_of_much_work_is_a_graph() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[50000], %n: i64[]) -> f32[50000] {
          %zero = const {value=i64[] 0}
          %count, %y = while %zero, %x ((%i0: i64[], %y0: f32[50000]) {
            %go = less %i0, %n
            yield %go
          }, (%i: i64[], %s: f32[50000]) {
            %one = const {value=i64[] 1}
            %next = add %i, %one
            %a = reduce_sum %s
            %b = sub %s, %a
            %c = reduce_max %b
            %d = div %b, %c
            %e = reduce_sum %d
            %f = sub %d, %e
            yield %next, %f
          })
          return %y
        }";
    let (here, there) = (executable(text), executable(text));
    let x = gpu.upload(&numbers(50000, 0.01)).expect("a copy");
    for (run_number, n) in [0i64, 1, 30, 30, 7, 30].into_iter().enumerate() {
        let rounds = Arg::Tensor(Tensor::from(n));
        let due = run(&here, &[Arg::Tensor(numbers(50000, 0.01)), rounds.clone()]).expect("a run");
        let before = ["cuGraphLaunch", "cuLaunchKernel"].map(calls);
        let got = run(&there, &[Arg::Tensor(x.clone()), rounds]).expect("a run");
        assert!(same_tensor(&due[0], &got[0]), "{n} rounds");
        let after = ["cuGraphLaunch", "cuLaunchKernel"].map(calls);
        if common::mock::get().is_some() && run_number == 5 {
            assert!(after[0] - before[0] >= 29 && after[1] - before[1] <= 12, "{before:?} {after:?}");
        }
    }
    assert_nothing_was_found();
}

#[test]
fn a_counted_loop_fetches_nothing() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    // Of little work, which the device repeats, and of more.
    for n in [5000, 50000] {
        counted_loop_fetches_nothing(&gpu, n);
    }
}

fn counted_loop_fetches_nothing(gpu: &Arc<dyn Device>, n: usize) {
    // The count is a number of the host, and a factor of what the device computes.
    let text = &"
        func @main(%x: f32[5000], %n: i64[]) -> f32[5000] {
          %zero = const {value=i64[] 0}
          %count, %y = while %zero, %x ((%i0: i64[], %y0: f32[5000]) {
            %go = less %i0, %n
            yield %go
          }, (%i: i64[], %s: f32[5000]) {
            %one = const {value=i64[] 1}
            %next = add %i, %one
            %k = cast %next {dtype=f32}
            %a = div %s, %k
            %b = reduce_max %a
            %c = sub %s, %b
            yield %next, %c
          })
          return %y
        }"
    .replace("5000", &n.to_string());
    let (here, there) = (executable(text), executable(text));
    let x = gpu.upload(&numbers(n, 0.01)).expect("a copy");
    const WAITS: [&str; 3] = ["cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuEventSynchronize"];
    let rounds = Arg::Tensor(Tensor::from(1000i64));
    let before = WAITS.map(calls);
    let got = there.run(&[Arg::Tensor(x), rounds.clone()], &StdEnv::default()).expect("a run");
    if common::mock::get().is_some() {
        assert_eq!(WAITS.map(calls), before);
    }
    let due = run(&here, &[Arg::Tensor(numbers(n, 0.01)), rounds]).expect("a run");
    assert!(same_tensor(&due[0], &got[0].on_host().expect("a value")));
    assert_nothing_was_found();
}

#[test]
fn a_callback_is_one_copy_each_way() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let text = "func @main(%x: f32[5000]) -> f32[5000] {
                  %y = mul %x, %x
                  %z = host_call %y {func=host(\"note\"), outs=(f32[5000])}
                  %s = add %z, %x
                  return %s
                }";
    let function = parse_function(text, &Ops, &hosts).unwrap_or_else(|e| panic!("{e}"));
    let executable = Executable::new(&function).expect("an executable");
    let x = numbers(5000, 0.01);
    let due = run(&executable, &[Arg::Tensor(x.clone())]).expect("a run");
    let there = [Arg::Tensor(gpu.upload(&x).expect("a copy"))];
    const COPIES: [&str; 2] = ["cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2"];
    for _ in 0..5 {
        let before = COPIES.map(calls);
        let got = executable.run(&there, &StdEnv::default()).expect("a run");
        let copies: Vec<u64> = COPIES.map(calls).iter().zip(before).map(|(after, before)| after - before).collect();
        // The operand came from the device, and so is there as well: what the callback gives back needs no copy.
        assert!(common::mock::get().is_none() || copies == [1, 0], "{copies:?}");
        assert!(same_tensor(&due[0], &got[0].on_host().expect("a value")));
    }
    assert_nothing_was_found();
}

#[test]
fn a_division_by_zero_within_a_graph_is_an_error_of_its_run_alone() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: i32[100], %k: i32[]) -> i32[100] {
          %a = floordiv %x, %k
          %s = reduce_sum %a
          %b = sub %a, %s
          %m = reduce_max %b
          %c = sub %b, %m
          %t = reduce_sum %c
          %d = add %c, %t
          return %d
        }";
    let there = executable(text);
    let x = gpu.upload(&Tensor::vector(&(0..100).collect::<Vec<i32>>())).expect("a copy");
    let outcome = |k: i32| run(&there, &[Arg::Tensor(x.clone()), Arg::Tensor(Tensor::from(k))]);
    let due = outcome(3).expect("a run");
    for i in 0..20 {
        if i % 5 == 4 {
            assert_eq!(outcome(0).unwrap_err().op(), Some("floordiv"));
        } else {
            assert!(same_tensor(&outcome(3).expect("a run")[0], &due[0]), "run {i}");
        }
    }
    assert_nothing_was_found();
}

#[test]
fn runs_on_several_threads_do_not_mix() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let value = numbers(256, 0.05).reshaped(&[16, 16]).expect("a matrix");
    let here = executable(STEP);
    let due_args = step_args(&value);
    let due: Vec<Tensor> = (0..20).map(|_| run(&here, &due_args).expect("a step").remove(0)).collect();
    let there = executable(STEP);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let args = within(Some(&gpu), || step_args(&gpu.upload(&value).expect("a copy")));
                for due in &due {
                    assert_near(&within(Some(&gpu), || run(&there, &args)).expect("a step")[0], due);
                }
            });
        }
    });
    assert_nothing_was_found();
}

#[test]
fn a_run_that_fails_halfway_leaves_the_next_ones_as_they_are() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let Some(mock) = common::mock::get() else { return eprintln!("skipped: no emulated driver") };
    let value = numbers(256, 0.05).reshaped(&[16, 16]).expect("a matrix");
    const OUT_OF_MEMORY: i32 = 2;
    for call in ["cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags", "cuGraphLaunch"] {
        let (here, there) = (executable(STEP), executable(STEP));
        let (due_args, args) =
            (step_args(&value), within(Some(&gpu), || step_args(&gpu.upload(&value).expect("a copy"))));
        for i in 0..8 {
            if i == 4 {
                mock.fail(call, 1, OUT_OF_MEMORY);
            }
            let got = within(Some(&gpu), || run(&there, &args));
            if got.is_err() {
                // Launching failed, so that nothing was computed.
                assert_eq!(call, "cuGraphLaunch");
                break;
            }
            let due = run(&here, &due_args).expect("a step");
            assert_near(&got.expect("a step")[0], &due[0]);
        }
    }
    assert_nothing_was_found();
}

#[test]
fn each_allocation_of_a_step_may_fail_and_the_next_step_goes_on() {
    let Some(gpu) = gpu() else { return };
    let _alone = alone();
    let Some(mock) = common::mock::get() else { return eprintln!("skipped: no emulated driver") };
    const OUT_OF_MEMORY: i32 = 2;
    let value = numbers(256, 0.05).reshaped(&[16, 16]).expect("a matrix");
    let device = CudaDevice::new(0).expect("the emulated GPU");
    let blocks = |device: &CudaDevice| {
        for keeps in [false, true] {
            device.set_keeps_memory(keeps).expect("the driver");
        }
        mock.blocks()
    };
    // What the device makes once.
    within(Some(&gpu), || run(&executable(STEP), &step_args(&value))).expect("a step");
    let before = blocks(&device);
    let weight = |args: &[Arg]| match args {
        [Arg::Variable(variable), ..] => variable.read().and_then(|value| value.on_host()).expect("a value"),
        _ => panic!("no variable"),
    };
    let mut failed = Vec::new();
    for nth in 1.. {
        let (here, there) = (executable(STEP), executable(STEP));
        let due_args = step_args(&value);
        let args = within(Some(&gpu), || step_args(&gpu.upload(&value).expect("a copy")));
        // Of commands one by one, of those that are held back and captured, and of those that are a graph.
        let mut failures = 0;
        for run_number in 0..6 {
            // The blocks of the run before are given back, so that each run allocates.
            let _ = blocks(&device);
            let calls = mock.count("cuMemAllocAsync");
            // An allocation is tried twice.
            mock.fail_times("cuMemAllocAsync", nth, 2, OUT_OF_MEMORY);
            let before = weight(&due_args);
            let due = run(&here, &due_args).expect("a step");
            let mut got = within(Some(&gpu), || run(&there, &args));
            mock.fail_times("cuMemAllocAsync", 1, 0, 0);
            if let Err(error) = got {
                failures += 1;
                let what = format!("allocation {nth} of run {run_number}: {error:?}");
                assert_eq!(error.class(), Class::ResourceExhausted, "{what}");
                assert!(mock.count("cuMemAllocAsync") - calls > nth, "{what}");
                // As on the host, what the step did to the variable before stays, and what comes after is not done.
                let [was, now] = [&before, &weight(&due_args)].map(|due| is_near(&weight(&args), due));
                assert!(was || now, "{what}");
                let [Arg::Variable(variable), ..] = &args[..] else { panic!("no variable") };
                variable.assign(gpu.upload(&before).expect("a copy")).expect("a value");
                got = within(Some(&gpu), || run(&there, &args));
            }
            assert_near(&got.expect("a step")[0], &due[0]);
            assert_near(&weight(&args), &weight(&due_args));
        }
        failed.push(failures);
        if failures == 0 {
            break;
        }
    }
    assert!(failed.len() > 4 && failed[..4] == [6; 4], "{failed:?}");
    assert_eq!(blocks(&device), before, "blocks are left");
    assert_nothing_was_found();
}
