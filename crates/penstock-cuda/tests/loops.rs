//! Loops whose condition the device computes: on the machine's own GPU, or else on an emulated one.

mod common;

use std::fmt::Write as _;
use std::process::Command;
use std::sync::atomic::AtomicUsize;

use common::gpu;
use common::loops::*;
use penstock_data::{Class, Tensor};
use penstock_exec::StdEnv;

/// What the device does without the host, and what the host waits for.
const FETCHES: [&str; 2] = ["cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"];
const NODES: &str = "cuGraphAddNode_v2";

/// Runs a function on the device twice, with the reference interpreter's results. Where the driver is emulated, says how many loops became
/// nodes, and that the host read nothing meanwhile.
#[track_caller]
fn check(text: &str, args: &[Tensor], nodes: u64) {
    let due = due(text, args).expect("the reference interpreter's results");
    let (executable, args) = (executable(text), there(args));
    for run in 0..2 {
        let (fetches, before) = (FETCHES.map(calls), calls(NODES));
        let got = executable.run(&args, &StdEnv::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        if common::mock::get().is_some() {
            assert_eq!(calls(NODES) - before, if run == 0 { nodes } else { 0 }, "loops in run {run}\n{text}");
            if nodes > 0 {
                assert_eq!(FETCHES.map(calls), fetches, "in run {run}\n{text}");
            }
        }
        assert_same(&due, &got, text);
    }
    assert_nothing_was_found();
}

/// Halves numbers until the largest is small, and counts.
const HALVES: &str = "
    func @main(%x: f32[5000], %tol: f32[]) -> f32[5000], i64[] {
      %zero = const {value=i64[] 0}
      %y, %count = while %x, %zero ((%a: f32[5000], %i0: i64[]) {
        %m = abs %a
        %l = reduce_max %m
        %go = greater %l, %tol
        yield %go
      }, (%b: f32[5000], %i: i64[]) {
        %half = const {value=f32[] 0.5}
        %one = const {value=i64[] 1}
        %h = mul %b, %half
        %next = add %i, %one
        yield %h, %next
      })
      return %y, %count
    }";

#[test]
fn a_loop_whose_condition_the_device_computes_fetches_nothing() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    check(HALVES, &[numbers(5000, 1.0), Tensor::from(1e-3f32)], 1);
}

#[test]
fn a_loop_may_have_no_iteration() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    check(HALVES, &[numbers(5000, 1.0), Tensor::from(100f32)], 1);
    check(HALVES, &[numbers(5000, 0.0), Tensor::from(0f32)], 1);
}

#[test]
fn a_condition_on_nan_does_not_hold() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let mut x = vec![1f32; 5000];
    x[4321] = f32::NAN;
    check(HALVES, &[Tensor::vector(&x), Tensor::from(1e-3f32)], 1);
    check(HALVES, &[numbers(5000, 1.0), Tensor::from(f32::NAN)], 1);
    // Infinity stays infinite, so it is the count that ends this one; NaN comes in the third iteration.
    let text = "
        func @main(%x: f32[100]) -> f32[100], i32[] {
          %zero = const {value=i32[] 0}
          %y, %count = while %x, %zero ((%a: f32[100], %i0: i32[]) {
            %most = const {value=i32[] 9}
            %few = less %i0, %most
            %s = reduce_sum %a
            %same = equal %s, %s
            %go = logical_and %few, %same
            yield %go
          }, (%b: f32[100], %i: i32[]) {
            %one = const {value=i32[] 1}
            %big = const {value=f32[] 3e15}
            %sq = mul %b, %big
            %d = sub %sq, %b
            %next = add %i, %one
            yield %d, %next
          })
          return %y, %count
        }";
    check(text, &[numbers(100, 1.0)], 1);
}

#[test]
fn a_scalar_that_the_body_computes_decides() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    // The condition reads a scalar of the iteration before, and a number of the host.
    let text = "
        func @main(%x: f32[5000], %n: i32[]) -> f32[5000], f32[], i32[] {
          %zero = const {value=i32[] 0}
          %first = const {value=f32[] 1.0}
          %y, %last, %count = while %x, %first, %zero ((%a: f32[5000], %e: f32[], %i0: i32[]) {
            %tol = const {value=f32[] 0.05}
            %far = greater %e, %tol
            %few = less %i0, %n
            %go = logical_and %far, %few
            yield %go
          }, (%b: f32[5000], %f: f32[], %i: i32[]) {
            %one = const {value=i32[] 1}
            %t = tanh %b
            %d = sub %b, %t
            %s = abs %d
            %r = reduce_max %s
            %next = add %i, %one
            yield %t, %r, %next
          })
          return %y, %last, %count
        }";
    for n in [0, 1, 5, 1000] {
        check(text, &[numbers(5000, 1.0), Tensor::from(n)], 1);
    }
}

#[test]
fn variables_change_places() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[5000], %y: f32[5000], %k: f32[2]) -> f32[5000], f32[5000], f32[2], f32[2] {
          %a, %b, %c, %d = while %x, %y, %k, %k ((%a0: f32[5000], %b0: f32[5000], %c0: f32[2], %d0: f32[2]) {
            %s = reduce_sum %a0
            %t = reduce_sum %b0
            %u = add %s, %t
            %limit = const {value=f32[] 1e6}
            %go = less %u, %limit
            yield %go
          }, (%a1: f32[5000], %b1: f32[5000], %c1: f32[2], %d1: f32[2]) {
            %two = const {value=f32[] 2.0}
            %m = mul %a1, %two
            %n = reduce_sum %m
            %o = mul %d1, %n
            yield %b1, %m, %d1, %c1
          })
          return %a, %b, %c, %d
        }";
    check(text, &[numbers(5000, 1.0), numbers(5000, 2.0), Tensor::vector(&[1f32, -0.0])], 1);
}

#[test]
fn large_variables_are_copied_one_by_one() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[30000], %y: f32[30000]) -> f32[30000], f32[30000] {
          %a, %b = while %x, %y ((%a0: f32[30000], %b0: f32[30000]) {
            %s = reduce_max %b0
            %limit = const {value=f32[] 1e3}
            %go = less %s, %limit
            yield %go
          }, (%a1: f32[30000], %b1: f32[30000]) {
            %two = const {value=f32[] 2.0}
            %m = mul %a1, %two
            yield %b1, %m
          })
          return %a, %b
        }";
    check(text, &[numbers(30000, 1.0), numbers(30000, 2.0)], 1);
}

#[test]
fn many_iterations_run_without_the_host() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[5000]) -> f32[5000] {
          %y = while %x ((%a: f32[5000]) {
            %l = reduce_max %a
            %most = const {value=f32[] 1500.0}
            %go = less %l, %most
            yield %go
          }, (%b: f32[5000]) {
            %one = const {value=f32[] 1.0}
            %h = add %b, %one
            yield %h
          })
          return %y
        }";
    check(text, &[numbers(5000, 1.0)], 1);
}

#[test]
fn loops_within_loops_are_nodes_within_nodes() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[5000]) -> f32[5000], i64[] {
          %zero = const {value=i64[] 0}
          %y, %count = while %x, %zero ((%a: f32[5000], %i0: i64[]) {
            %l = reduce_max %a
            %tol = const {value=f32[] 0.01}
            %go = greater %l, %tol
            yield %go
          }, (%b: f32[5000], %i: i64[]) {
            %z, %j = while %b, %i ((%c: f32[5000], %j0: i64[]) {
              %m = reduce_max %c
              %least = const {value=f32[] 1.0}
              %more = greater %m, %least
              yield %more
            }, (%d: f32[5000], %j1: i64[]) {
              %t = tanh %d
              %one = const {value=i64[] 1}
              %k = add %j1, %one
              %r = reduce_sum %t
              %e = sub %d, %t
              yield %e, %k
            })
            %half = const {value=f32[] 0.5}
            %hundred = const {value=i64[] 100}
            %h = mul %z, %half
            %next = add %j, %hundred
            yield %h, %next
          })
          return %y, %count
        }";
    check(text, &[numbers(5000, 1.0)], 2);
}

#[test]
fn a_counted_loop_within_is_a_node_too() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[5000]) -> f32[5000] {
          %y = while %x ((%a: f32[5000]) {
            %l = reduce_max %a
            %tol = const {value=f32[] 0.01}
            %go = greater %l, %tol
            yield %go
          }, (%b: f32[5000]) {
            %zero = const {value=i64[] 0}
            %j, %z = while %zero, %b ((%j0: i64[], %c: f32[5000]) {
              %n = const {value=i64[] 3}
              %more = less %j0, %n
              yield %more
            }, (%j1: i64[], %d: f32[5000]) {
              %one = const {value=i64[] 1}
              %k = add %j1, %one
              %t = tanh %d
              %s = reduce_sum %t
              %u = div %s, %s
              %v = mul %t, %u
              yield %k, %v
            })
            %half = const {value=f32[] 0.5}
            %h = mul %z, %half
            yield %h
          })
          return %y
        }";
    check(text, &[numbers(5000, 1.0)], 2);
}

#[test]
fn products_of_matrices_are_steps_of_a_loop() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    // On whole numbers, so that no order of summation matters.
    let text = "
        func @main(%w: f32[100,100], %x: f32[100,20]) -> f32[100,20] {
          %y = while %x ((%a: f32[100,20]) {
            %l = reduce_max %a
            %most = const {value=f32[] 1000000.0}
            %go = less %l, %most
            yield %go
          }, (%b: f32[100,20]) {
            %p = matmul %w, %b
            yield %p
          })
          return %y
        }";
    let w: Vec<f32> = (0..10000).map(|i| (i % 3) as f32).collect();
    let w = Tensor::from_slice(&[100, 100], &w).expect("a matrix");
    check(text, &[w, Tensor::from_slice(&[100, 20], &[1f32; 2000]).expect("a matrix")], 1);
}

#[test]
fn moves_and_softmax_are_steps_of_a_loop() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[100,20]) -> f32[100,20] {
          %y = while %x ((%a: f32[100,20]) {
            %l = reduce_max %a
            %least = const {value=f32[] 0.02}
            %go = greater %l, %least
            yield %go
          }, (%b: f32[100,20]) {
            %e = transpose %b {perm=[1, 0]}
            %s = softmax %e
            %f = transpose %s {perm=[1, 0]}
            yield %f
          })
          return %y
        }";
    check(text, &[numbers(2000, 1.0).reshaped(&[100, 20]).expect("a matrix")], 1);
}

#[test]
fn a_fault_ends_the_loop_and_names_operator_and_line() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    // Without the fault, it would never end.
    let text = "
        func @main(%x: i32[5000]) -> i32[5000] {
          %y = while %x ((%a: i32[5000]) {
            %l = reduce_max %a
            %most = const {value=i32[] 1000000}
            %go = less %l, %most
            yield %go
          }, (%b: i32[5000]) {
            %one = const {value=i32[] 1}
            %c = sub %b, %one
            %d = floordiv %b, %c
            %e = minimum %d, %c
            yield %e
          })
          return %y
        }";
    let args = [Tensor::vector(&(0..5000).map(|i| 10 + i % 7).collect::<Vec<i32>>())];
    let due = due(text, &args).unwrap_err();
    let (executable, args) = (executable(text), there(&args));
    for _ in 0..3 {
        let (fetches, before) = (FETCHES.map(calls), calls("cuGraphLaunch"));
        let results = executable.run(&args, &StdEnv::default());
        if common::mock::get().is_some() {
            assert_eq!((FETCHES.map(calls), calls("cuGraphLaunch") - before), (fetches, 1));
        }
        let error = on_host(results.map(|all| all.to_vec())).unwrap_err();
        assert_eq!((error.op(), error.message()), (due.op(), due.message()));
        assert_eq!(error.op(), Some("floordiv"));
        assert_eq!(error.loc(), due.loc());
    }
    assert_nothing_was_found();
}

#[test]
fn an_interrupt_ends_a_loop_on_the_device() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[5000], %tol: f32[]) -> f32[5000] {
          %y = while %x ((%a: f32[5000]) {
            %l = reduce_max %a
            %go = greater %l, %tol
            yield %go
          }, (%b: f32[5000]) {
            %half = const {value=f32[] 0.5}
            %h = mul %b, %half
            yield %h
          })
          return %y
        }";
    let (executable, x) = (executable(text), numbers(5000, 1.0));
    let endless = [x.clone(), Tensor::from(-1f32)];
    let error = executable.run(&there(&endless), &Impatient(AtomicUsize::new(0))).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    // The next run is not affected.
    let args = [x, Tensor::from(1e-3f32)];
    let got = executable.run(&there(&args), &StdEnv::default()).expect("a run");
    assert_same(&due(text, &args).expect("a run"), &got, text);
    assert_nothing_was_found();
}

#[test]
fn what_needs_the_host_is_walked_by_the_host() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    // A callback.
    let callback = "
        func @main(%x: f32[5000]) -> f32[5000] {
          %y = while %x ((%a: f32[5000]) {
            %l = reduce_max %a
            %tol = const {value=f32[] 0.01}
            %go = greater %l, %tol
            yield %go
          }, (%b: f32[5000]) {
            %half = const {value=f32[] 0.5}
            %c = host_call %b {func=host(\"note\"), outs=(f32[5000])}
            %h = mul %c, %half
            yield %h
          })
          return %y
        }";
    check(callback, &[numbers(5000, 1.0)], 0);
    // Shapes that change.
    let grows = "
        func @main(%x: f32[?]) -> f32[?] {
          %y = while %x ((%a: f32[?]) {
            %s = reduce_sum %a
            %most = const {value=f32[] 1e4}
            %go = less %s, %most
            yield %go
          }, (%b: f32[?]) {
            %c = concat %b, %b {axis=0}
            yield %c
          })
          return %y
        }";
    check(grows, &[Tensor::vector(&vec![1f32; 100])], 0);
    // Indices of a count, which the host reads.
    let indexed = "
        func @main(%x: f32[5000], %k: f32[5000]) -> f32[5000], i32[] {
          %zero = const {value=i32[] 0}
          %y, %count = while %x, %zero ((%a: f32[5000], %i0: i32[]) {
            %l = reduce_max %a
            %tol = const {value=f32[] 0.01}
            %go = greater %l, %tol
            yield %go
          }, (%b: f32[5000], %i: i32[]) {
            %one = const {value=i32[] 1}
            %g = gather %k, %i
            %h = mul %b, %g
            %next = add %i, %one
            yield %h, %next
          })
          return %y, %count
        }";
    check(indexed, &[numbers(5000, 1.0), Tensor::vector(&[0.5f32; 5000])], 0);
}

#[test]
fn where_the_driver_cannot_the_host_walks() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let Some(mock) = common::mock::get() else { return eprintln!("skipped: no emulated driver") };
    const NOT_SUPPORTED: i32 = 801;
    let args = [numbers(5000, 1.0), Tensor::from(1e-3f32)];
    let due = due(HALVES, &args).expect("a run");
    let calls = [
        "cuGraphCreate",
        "cuGraphConditionalHandleCreate",
        "cuStreamBeginCaptureToGraph",
        "cuGraphAddNode_v2",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
    ];
    for call in calls {
        let (executable, args) = (executable(HALVES), there(&args));
        mock.fail(call, 1, NOT_SUPPORTED);
        for run in 0..3 {
            let got = executable.run(&args, &StdEnv::default()).unwrap_or_else(|e| panic!("{call}: {e}"));
            assert_same(&due, &got, &format!("{call}, run {run}"));
        }
    }
    assert_nothing_was_found();
}

/// Runs a loop where the kernel of the condition does not load; in a process of its own, by the test below.
#[test]
#[ignore = "not a test by itself: the test below runs it, in a process of its own"]
fn a_loop_without_its_kernel() {
    let Some(_) = gpu() else { return };
    let Some(mock) = common::mock::get() else { return };
    const NO_BINARY: i32 = 209;
    // The first code that is loaded. PTX, which is tried next, is none of the emulated driver's.
    mock.fail("cuModuleLoadData", 1, NO_BINARY);
    check(HALVES, &[numbers(5000, 1.0), Tensor::from(1e-3f32)], 0);
    println!("the host walked");
}

#[test]
fn where_the_kernel_of_the_condition_does_not_load_the_host_walks() {
    if gpu().is_none() || common::mock::get().is_none() {
        return eprintln!("skipped: no emulated driver");
    }
    let mut command = Command::new(std::env::current_exe().expect("the test's own file"));
    command.args(["--exact", "a_loop_without_its_kernel", "--ignored", "--nocapture", "--test-threads=1"]);
    let output = command.env("PENSTOCK_CUDA_CACHE", "").output().expect("the test runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("the host walked"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// A loop of random elementwise instructions and reductions on three variables, one of them a scalar, and a count.
fn random_loop(numbers: &mut Numbers, n: usize) -> String {
    let v = format!("f32[{n}]");
    let mut body = String::new();
    let (mut vectors, mut scalars) = (vec!["%a1".to_string(), "%b1".to_string()], vec!["%s1".to_string()]);
    let pick = |numbers: &mut Numbers, of: &[String]| of[numbers.below(of.len() as u64) as usize].clone();
    for k in 0..2 + numbers.below(6) {
        let (x, y, s) = (pick(numbers, &vectors), pick(numbers, &vectors), pick(numbers, &scalars));
        let (name, text) = (format!("%t{k}"), ["add", "sub", "mul", "maximum", "minimum"][numbers.below(5) as usize]);
        let _ = match numbers.below(4) {
            0 => writeln!(body, "{name} = {text} {x}, {y}"),
            1 => writeln!(body, "{name} = {text} {x}, {s}"),
            2 => writeln!(body, "{name} = {} {x}", ["tanh", "neg", "abs", "square"][numbers.below(4) as usize]),
            _ => {
                writeln!(body, "{name} = {} {x}", ["reduce_max", "reduce_sum", "reduce_min"][numbers.below(3) as usize])
            }
        };
        let is_scalar = body.lines().last().is_some_and(|line| line.contains("reduce_"));
        if is_scalar { scalars.push(name) } else { vectors.push(name) }
    }
    let (a, b, s) = (pick(numbers, &vectors), pick(numbers, &vectors), pick(numbers, &scalars));
    let most = numbers.below(12);
    let limit = [0.5f32, 3.0, 100.0][numbers.below(3) as usize];
    let how = ["less", "greater", "not_equal"][numbers.below(3) as usize];
    format!(
        "func @main(%x: {v}, %y: {v}, %n: i32[]) -> {v}, {v}, f32[], i32[] {{
           %s0 = const {{value=f32[] 1.5}}
           %zero = const {{value=i32[] 0}}
           %a, %b, %s, %count = while %x, %y, %s0, %zero ((%a0: {v}, %b0: {v}, %c0: f32[], %i0: i32[]) {{
             %limit = const {{value=f32[] {limit:?}}}
             %most = const {{value=i32[] {most}}}
             %m = reduce_max %a0
             %u = add %m, %c0
             %p = {how} %u, %limit
             %q = less %i0, %most
             %go = logical_and %p, %q
             yield %go
           }}, (%a1: {v}, %b1: {v}, %s1: f32[], %i1: i32[]) {{
             %one = const {{value=i32[] 1}}
             {body}
             %next = add %i1, %one
             yield {a}, {b}, {s}, %next
           }})
           return %a, %b, %s, %count
         }}"
    )
}

#[test]
fn random_loops_are_those_of_the_reference_interpreter() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let mut stream = Numbers(1);
    let nodes = calls(NODES);
    for i in 0..40 {
        let n = [1, 7, 300, 5000, 5001][i % 5];
        let text = random_loop(&mut stream, n);
        let args = [numbers(n, 0.25), numbers(n, -0.5), Tensor::from(3i32)];
        let due = due(&text, &args).expect("the reference interpreter's results");
        let (executable, args) = (executable(&text), there(&args));
        for run in 0..2 {
            let got = executable.run(&args, &StdEnv::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_same(&due, &got, &format!("loop {i}, run {run}\n{text}"));
        }
    }
    // Small loops are machine code of the host, and some are unrolled.
    assert!(common::mock::get().is_none() || calls(NODES) - nodes >= 16);
    assert_nothing_was_found();
}
