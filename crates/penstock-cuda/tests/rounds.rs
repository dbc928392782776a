//! Small loops, which the device runs as one kernel: on the machine's own GPU, or else on an emulated one.

mod common;

use std::fmt::Write as _;
use std::sync::atomic::AtomicUsize;

use common::gpu;
use common::loops::*;
use penstock_data::{Class, Error, Result, Tensor};
use penstock_exec::{Executable, StdEnv};

/// The kernel, the launches of graphs, those of single kernels, and what the host waits for.
const COUNTED: [&str; 5] =
    ["penstock_rounds", "cuGraphLaunch", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"];

/// The expected counts of [`COUNTED`] for a loop with this number of iterations. One launch copies the first values. One launch of a
/// graph runs the kernel, which does up to 256 iterations each time.
fn told(iterations: u64) -> [u64; 5] {
    [1 + iterations / 257, 1, 1, 0, 0]
}

/// The loop of a function as it stands: neither unrolled, nor machine code of the host where its arrays are small.
fn as_it_stands(text: &str) -> Executable {
    executable_without(text, &["unroll", "native"])
}

/// Runs a function on the device twice, with the reference interpreter's results or its error. Where the driver is emulated, says what it is
/// called for in the second run.
#[track_caller]
fn check(text: &str, args: &[Tensor], counts: Option<[u64; 5]>) {
    let due = due(text, args);
    let (executable, args) = (as_it_stands(text), there(args));
    for run in 0..2 {
        let before = COUNTED.map(calls);
        let got = executable.run(&args, &StdEnv::default());
        if let (Some(counts), 1, true) = (counts, run, common::mock::get().is_some()) {
            // The queue is idle before it is asked how often kernels ran.
            let after = COUNTED.map(calls);
            let made: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
            assert_eq!(made, counts, "{COUNTED:?}\n{text}");
        }
        assert_same_outcome(&due, on_host(got.map(|all| all.to_vec())), text);
    }
    assert_nothing_was_found();
}

#[track_caller]
fn assert_same_outcome(due: &Result<Vec<Tensor>>, got: Result<Vec<Tensor>>, what: &str) {
    match (due, got) {
        (Ok(due), Ok(got)) => assert_same(due, &got, what),
        (Err(due), Err(got)) => {
            let told = |e: &Error| (e.class(), e.op().map(str::to_string), e.message().to_string(), e.loc());
            assert_eq!(told(due), told(&got), "{what}");
        }
        (due, got) => panic!("{got:?} instead of {due:?}\n{what}"),
    }
}

/// Doubles numbers until the largest is large, and counts.
const DOUBLES: &str = "
    func @main(%x: f32[300], %most: f32[]) -> f32[300], i32[] {
      %zero = const {value=i32[] 0}
      %y, %count = while %x, %zero ((%a: f32[300], %i0: i32[]) {
        %l = reduce_max %a
        %go = less %l, %most
        yield %go
      }, (%b: f32[300], %i: i32[]) {
        %one = const {value=i32[] 1}
        %h = add %b, %b
        %next = add %i, %one
        yield %h, %next
      })
      return %y, %count
    }";

#[test]
fn a_small_loop_is_one_launch() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    // The largest of these numbers is 8.5.
    for (most, iterations) in [(0f32, 0), (9.0, 1), (1000.0, 7), (f32::NAN, 0), (f32::INFINITY, 125)] {
        check(DOUBLES, &[numbers(300, 1.0), Tensor::from(most)], Some(told(iterations)));
    }
}

/// A function whose loop adds to its operand in each of `iterations` iterations.
fn counted(n: usize, iterations: i64) -> String {
    format!(
        "func @main(%x: f32[{n}]) -> f32[{n}], i64[] {{
           %zero = const {{value=i64[] 0}}
           %count, %y = while %zero, %x ((%i0: i64[], %a: f32[{n}]) {{
             %most = const {{value=i64[] {iterations}}}
             %go = less %i0, %most
             yield %go
           }}, (%i: i64[], %b: f32[{n}]) {{
             %one = const {{value=i64[] 1}}
             %k = cast %i {{dtype=f32}}
             %s = reduce_max %b
             %t = sub %b, %s
             %u = add %t, %k
             %next = add %i, %one
             yield %next, %u
           }})
           return %y, %count
         }}"
    )
}

#[test]
fn a_counted_loop_is_one_launch() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    for iterations in [0, 1, 100] {
        check(&counted(500, iterations), &[numbers(500, 1.0)], Some(told(iterations as u64)));
    }
}

#[test]
fn many_iterations_are_some_launches_of_one_graph() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    for iterations in [256, 257, 700] {
        check(&counted(200, iterations), &[numbers(200, 1.0)], Some(told(iterations as u64)));
    }
}

#[test]
fn loops_of_much_work_are_none() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let args = [numbers(300_000, 1.0), Tensor::from(100f32)];
    let rounds = calls("penstock_rounds");
    check(&DOUBLES.replace("300", "300000"), &args, None);
    check(&counted(300_000, 20), &args[..1], None);
    assert_eq!(calls("penstock_rounds"), rounds);
}

#[test]
fn variables_change_places() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f64[400], %y: f64[400], %k: i32[3], %l: i32[3]) -> f64[400], f64[400], i32[3], i32[3] {
          %a, %b, %c, %d = while %x, %y, %k, %l ((%a0: f64[400], %b0: f64[400], %c0: i32[3], %d0: i32[3]) {
            %s = reduce_sum %b0
            %limit = const {value=f64[] 1e9}
            %go = less %s, %limit
            yield %go
          }, (%a1: f64[400], %b1: f64[400], %c1: i32[3], %d1: i32[3]) {
            %m = add %a1, %b1
            yield %b1, %m, %d1, %c1
          })
          return %a, %b, %c, %d
        }";
    let halves = |by: f64| Tensor::vector(&(0..400).map(|i| f64::from(i) * by).collect::<Vec<_>>());
    let args = [halves(0.5), halves(0.25), Tensor::vector(&[1i32, 2, 3]), Tensor::vector(&[4i32, 5, 6])];
    check(text, &args, None);
    let rounds = calls("penstock_rounds");
    check(text, &args, None);
    assert!(common::mock::get().is_none() || calls("penstock_rounds") - rounds == 2);
}

#[test]
fn variables_that_are_empty_stay_so() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[0], %y: f32[90]) -> f32[0], f32[90] {
          %a, %b = while %x, %y ((%a0: f32[0], %b0: f32[90]) {
            %s = reduce_max %b0
            %limit = const {value=f32[] 1e3}
            %go = less %s, %limit
            yield %go
          }, (%a1: f32[0], %b1: f32[90]) {
            %c = add %a1, %a1
            %m = add %b1, %b1
            yield %c, %m
          })
          return %a, %b
        }";
    check(text, &[Tensor::vector::<f32>(&[]), numbers(90, 1.0)], Some(told(7)));
}

#[test]
fn a_fault_ends_the_loop_and_names_operator_and_line() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    // The divisor is 0 in the last of some iterations. Without the fault, the loop would never end.
    let text = "
        func @main(%x: i32[500]) -> i32[500] {
          %y = while %x ((%a: i32[500]) {
            %l = reduce_max %a
            %most = const {value=i32[] 1000000}
            %go = less %l, %most
            yield %go
          }, (%b: i32[500]) {
            %one = const {value=i32[] 1}
            %c = sub %b, %one
            %d = floordiv %b, %c
            %e = minimum %d, %c
            %f = maximum %e, %c
            yield %f
          })
          return %y
        }";
    for first in [2, 30, 400] {
        let x = Tensor::vector(&(0..500).map(|i| first + i % 7).collect::<Vec<i32>>());
        assert_eq!(due(text, std::slice::from_ref(&x)).unwrap_err().op(), Some("floordiv"));
        check(text, &[x], Some(told(first as u64 - 1)));
    }
}

#[test]
fn an_interrupt_ends_a_loop_that_would_not_end() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let endless = [
        (DOUBLES.replace("less %l, %most", "not_equal %l, %most"), vec![numbers(300, 1.0), Tensor::from(-1f32)]),
        (counted(200, i64::MAX), vec![numbers(200, 1.0)]),
    ];
    for (text, args) in endless {
        let executable = as_it_stands(&text);
        let error = executable.run(&there(&args), &Impatient(AtomicUsize::new(0))).unwrap_err();
        assert_eq!(error.class(), Class::Cancelled);
    }
    // The next run is not affected.
    check(DOUBLES, &[numbers(300, 1.0), Tensor::from(1000f32)], Some(told(7)));
}

#[test]
fn a_loop_within_a_loop_is_a_kernel_within_a_node() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let text = "
        func @main(%x: f32[700]) -> f32[700] {
          %y = while %x ((%a: f32[700]) {
            %l = reduce_max %a
            %tol = const {value=f32[] 0.1}
            %go = greater %l, %tol
            yield %go
          }, (%b: f32[700]) {
            %z = while %b ((%c: f32[700]) {
              %m = reduce_max %c
              %least = const {value=f32[] 1.0}
              %more = greater %m, %least
              yield %more
            }, (%d: f32[700]) {
              %half = const {value=f32[] 0.5}
              %t = mul %d, %half
              yield %t
            })
            %most = const {value=f32[] 0.75}
            %h = mul %z, %most
            yield %h
          })
          return %y
        }";
    // Each of six iterations has a loop.
    let rounds = calls("penstock_rounds");
    check(text, &[numbers(700, 1.0)], None);
    assert!(common::mock::get().is_none() || calls("penstock_rounds") - rounds == 12);
}

/// The dtypes of random loops, and two numbers of each.
const DTYPES: [(&str, &str, &str); 4] =
    [("f32", "0.5", "3.0"), ("f64", "0.25", "100.0"), ("i32", "3", "1000"), ("i64", "2", "77")];

/// A loop of random instructions on vectors, a matrix, a scalar, booleans and a count, which change places at random.
fn random_loop(stream: &mut Numbers, (dtype, few, many): (&str, &str, &str), [rows, n]: [usize; 2]) -> String {
    let is_float = dtype.starts_with('f');
    let (v, m) = (format!("{dtype}[{n}]"), format!("{dtype}[{rows},{n}]"));
    let mut body = String::new();
    let mut vectors = vec!["%a1".to_string(), "%b1".to_string()];
    let (mut matrices, mut scalars) = (vec!["%m1".to_string()], vec!["%s1".to_string()]);
    let (mut flags, mut divided) = (vec!["%g1".to_string()], None);
    let pick = |stream: &mut Numbers, of: &[String]| of[stream.below(of.len() as u64) as usize].clone();
    for k in 0..2 + stream.below(8) {
        let name = format!("%t{k}");
        let (x, y, s) = (pick(stream, &vectors), pick(stream, &vectors), pick(stream, &scalars));
        let (w, g) = (pick(stream, &matrices), pick(stream, &flags));
        let two = ["add", "sub", "mul", "maximum", "minimum"][stream.below(5) as usize];
        let fold = ["reduce_max", "reduce_sum", "reduce_min"][stream.below(3) as usize];
        let one: &[&str] = if is_float { &["tanh", "neg", "abs", "square", "exp"] } else { &["neg", "abs", "square"] };
        let (text, list) = match stream.below(12) {
            0 => (format!("{two} {x}, {y}"), &mut vectors),
            1 => (format!("{two} {x}, {s}"), &mut vectors),
            2 => (format!("{} {x}", one[stream.below(one.len() as u64) as usize]), &mut vectors),
            3 => (format!("{fold} {x}"), &mut scalars),
            4 => (format!("{two} {w}, {x}"), &mut matrices),
            5 => (format!("{fold} {w} {{axes=[0]}}"), &mut vectors),
            6 => (format!("{fold} {w}"), &mut scalars),
            7 => (format!("{} {x}, {y}", ["less", "greater_equal", "equal"][stream.below(3) as usize]), &mut flags),
            8 => (format!("select {g}, {x}, {y}"), &mut vectors),
            9 => (format!("logical_not {g}"), &mut flags),
            // Integers may be divided by zero, which ends the loop. What nobody reads may not be computed, so this is a result.
            10 if divided.is_none() => {
                divided = Some(name.clone());
                (format!("floordiv {x}, {y}"), &mut vectors)
            }
            _ => (format!("{two} {w}, {s}"), &mut matrices),
        };
        let _ = writeln!(body, "{name} = {text}");
        list.push(name);
    }
    let (a, b, c) = (pick(stream, &vectors), pick(stream, &vectors), pick(stream, &matrices));
    let b = divided.unwrap_or(b);
    let (s, g) = (pick(stream, &scalars), pick(stream, &flags));
    let most = [0, 1, 2, 5, 17, 40][stream.below(6) as usize];
    let how = ["less", "greater", "not_equal"][stream.below(3) as usize];
    let limit = [few, many][stream.below(2) as usize];
    // One in four is counted alone.
    let going = if stream.below(4) == 0 { "%q" } else { "%r" };
    format!(
        "func @main(%x: {v}, %y: {v}, %z: {m}, %f: bool[{n}]) -> {v}, {v}, {m}, {dtype}[], bool[{n}], i32[] {{
           %s0 = const {{value={dtype}[] {few}}}
           %zero = const {{value=i32[] 0}}
           %a, %b, %m, %s, %g, %count = while %x, %y, %z, %s0, %f, %zero
             ((%a0: {v}, %b0: {v}, %m0: {m}, %c0: {dtype}[], %g0: bool[{n}], %i0: i32[]) {{
             %limit = const {{value={dtype}[] {limit}}}
             %most = const {{value=i32[] {most}}}
             %l = reduce_max %a0
             %u = add %l, %c0
             %p = {how} %u, %limit
             %q = less %i0, %most
             %r = logical_and %p, %q
             yield {going}
           }}, (%a1: {v}, %b1: {v}, %m1: {m}, %s1: {dtype}[], %g1: bool[{n}], %i1: i32[]) {{
             %one = const {{value=i32[] 1}}
             {body}
             %next = add %i1, %one
             yield {a}, {b}, {c}, {s}, {g}, %next
           }})
           return %a, %b, %m, %s, %g, %count
         }}"
    )
}

/// Numbers of a dtype, of which some floats are NaN and infinite where that is asked for.
fn operand(stream: &mut Numbers, dtype: &str, dims: &[usize], strange: bool) -> Tensor {
    let count: usize = dims.iter().product();
    let mut next = |i: usize| match i % 97 {
        13 if strange => f64::NAN,
        40 if strange => f64::INFINITY,
        _ => stream.below(65) as f64 / 8.0 - 4.0,
    };
    let values: Vec<f64> = (0..count).map(&mut next).collect();
    let made = match dtype {
        "f32" => Tensor::from_slice(dims, &values.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        "f64" => Tensor::from_slice(dims, &values),
        "i32" => Tensor::from_slice(dims, &values.iter().map(|&v| v as i32).collect::<Vec<_>>()),
        "i64" => Tensor::from_slice(dims, &values.iter().map(|&v| v as i64).collect::<Vec<_>>()),
        _ => Tensor::from_slice(dims, &values.iter().map(|&v| penstock_data::Bool8::new(v > 0.0)).collect::<Vec<_>>()),
    };
    made.expect("a tensor")
}

#[test]
fn random_loops_are_those_of_the_reference_interpreter() {
    let Some(_) = gpu() else { return };
    let _alone = alone();
    let asked = std::env::var("PENSTOCK_TEST_LOOPS").ok().and_then(|n| n.parse().ok());
    let (count, mut stream) = (asked.unwrap_or(32), Numbers(7));
    let rounds = calls("penstock_rounds");
    for i in 0..count {
        let dtype = DTYPES[i % 4];
        let n = [33, 300, 64, 257, 1000, 1, 0][i % 7];
        let rows = [3, 70, 1][i % 3];
        let text = random_loop(&mut stream, dtype, [rows, n]);
        let strange = i % 5 == 4;
        let args = [&[n][..], &[n], &[rows, n]].map(|dims| operand(&mut stream, dtype.0, dims, strange));
        let flags = operand(&mut stream, "bool", &[n], false);
        check(&text, &[args.as_slice(), &[flags]].concat(), None);
    }
    // Each ran twice. The host has those of empty arrays, of which nothing is to be reduced, and some matrices are much work.
    let made = calls("penstock_rounds") - rounds;
    assert!(common::mock::get().is_none() || made >= count as u64 * 5 / 4, "{made} launches of {count} loops");
}
