//! Operators, functions and variables placed on a GPU: on the machine's own, or else on an emulated one.

mod common;

use std::sync::Arc;

use common::{gpu, op, within};
use penstock_data::{Class, DType, Result, Tensor};
use penstock_exec::{Arg, Device, Executable, Outputs, StdEnv, Variable, eager, placed};
use penstock_filetests::{RandomOptions, Recorder, agree, random_graph, same_tensor, show, trace};
use penstock_ir::{Attrs, Function, parse_function};
use penstock_ops::Ops;
use penstock_passes::{Options, Thresholds};

fn run(name: &str, inputs: &[&Tensor]) -> Result<Outputs> {
    let op = op(name);
    eager(op, inputs, &op.attributes(&[])?, &StdEnv::default())
}

fn device_of(tensor: &Tensor) -> &str {
    tensor.remote().map_or("host", |memory| memory.device())
}

fn numbers(count: usize) -> Tensor {
    Tensor::vector(&(0..count).map(|i| i as f32 / 8.0 - 4.0).collect::<Vec<_>>())
}

fn function(text: &str) -> Arc<Function> {
    parse_function(text, &Ops, &|_| None).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The results, and the kinds of the steps that gave them.
fn steps(function: &Function, args: &[Arg]) -> (Vec<Tensor>, Vec<&'static str>) {
    let small = Options { thresholds: Thresholds::SMALL, ..Options::default() };
    let recorder = Recorder::counting();
    let results = Executable::with_options(function, small).expect("an executable").run(args, &recorder);
    (results.expect("a run").into_vec(), recorder.steps().into_keys().collect())
}

#[test]
fn an_operation_runs_where_it_is_wished_for_or_where_its_operands_are() {
    let Some(gpu) = gpu() else { return };
    let x = numbers(100);
    let due = run("exp", &[&x]).expect("exp").remove(0);
    let there = within(Some(&gpu), || run("exp", &[&x])).expect("exp").remove(0);
    assert_eq!((device_of(&there), device_of(&due)), ("/device:GPU:0", "host"));
    assert!(same_tensor(&there, &due));
    let sum = run("add", &[&there, &x]).expect("add").remove(0);
    assert_eq!(device_of(&sum), "/device:GPU:0");
    assert!(same_tensor(&sum, &run("add", &[&due, &x]).expect("add")[0]));
    let back = within(Some(&penstock_exec::cpu()), || run("identity", &[&there])).expect("identity").remove(0);
    assert_eq!(device_of(&back), "host");
}

#[test]
fn what_the_device_has_no_code_for_runs_on_the_host_and_goes_there_where_it_was_wished_for() {
    let Some(gpu) = gpu() else { return };
    let x = within(Some(&gpu), || placed(&numbers(100))).expect("a copy");
    assert_eq!(device_of(&x), "/device:GPU:0");
    let zeta = |x: &Tensor| run("zeta", &[x, x]);
    let result = within(Some(&gpu), || zeta(&x)).expect("a result").remove(0);
    assert_eq!(device_of(&result), "/device:GPU:0");
    assert!(same_tensor(&result, &zeta(&numbers(100)).expect("a result")[0]));
    assert_eq!(device_of(&zeta(&x).expect("a result")[0]), "host");
    let text = Tensor::from("text");
    let same = within(Some(&gpu), || run("identity", &[&text])).expect("identity");
    assert_eq!((device_of(&same[0]), &same[0]), ("host", &text));
}

#[test]
fn a_view_of_a_tensor_on_the_device_is_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let x = gpu.upload(&numbers(100)).expect("a copy");
    let square = run("reshape", &[&x, &Tensor::vector(&[10i32, 10])]).expect("reshape").remove(0);
    let turned = run("transpose", &[&square]).expect("transpose").remove(0);
    assert_eq!([device_of(&square), device_of(&turned)], ["/device:GPU:0"; 2]);
    let host = numbers(100).reshaped(&[10, 10]).expect("a view");
    assert!(same_tensor(&turned, &run("transpose", &[&host]).expect("transpose")[0]));
}

#[test]
fn few_elements_stay_on_the_host() {
    let Some(gpu) = gpu() else { return };
    let x = Tensor::vector(&[1.0f32, 2.0]);
    let y = within(Some(&gpu), || run("neg", &[&x])).expect("neg");
    assert_eq!((device_of(&y[0]), &y[0]), ("host", &Tensor::vector(&[-1.0f32, -2.0])));
}

#[test]
fn a_function_runs_its_elementwise_groups_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let f = function(
        "func @main(%0: f32[100], %1: f32[100]) -> f32[100] {
           %2: f32[100] = mul %0, %1
           %3: f32[100] = tanh %2
           return %3
         }",
    );
    let args = [Arg::Tensor(numbers(100)), Arg::Tensor(numbers(100))];
    let (due, kinds) = steps(&f, &args);
    assert!(!kinds.contains(&"device"));
    let (got, kinds) = within(Some(&gpu), || steps(&f, &args));
    assert_eq!(kinds, ["device"]);
    assert_eq!(device_of(&got[0]), "/device:GPU:0");
    assert!(got.iter().zip(&due).all(|(a, b)| same_tensor(a, b)));
    // An argument that is there has the function run there.
    let there = gpu.upload(&numbers(100)).expect("a copy");
    assert_eq!(steps(&f, &[Arg::Tensor(there), args[1].clone()]).1, ["device"]);
}

#[test]
fn a_function_that_drops_elements_runs_on_the_device_alone() {
    let Some(gpu) = gpu() else { return };
    let f = function(
        "func @main(%0: f32[40,50]) -> f32[40,50] {
           %1: i64[2] = const {value=i64[2] [40,50]}
           %2: f32[40,50] = random_uniform %1 {dtype=f32}
           %3: f32[] = const {value=f32[] 0.25}
           %4: bool[40,50] = greater_equal %2, %3
           %5: f32[] = const {value=f32[] 0}
           %6: f32[40,50] = select %4, %0, %5
           return %6
         }",
    );
    let x = numbers(2000).reshaped(&[40, 50]).expect("a view");
    let run = || {
        let small = Options { thresholds: Thresholds::SMALL, ..Options::default() };
        let recorder = Recorder::counting();
        let executable = Executable::with_options(&f, small).expect("an executable");
        let drawn = executable.run(&[Arg::Tensor(x.clone())], &recorder).expect("a run").remove(0);
        (drawn, recorder.steps().into_keys().collect::<Vec<_>>())
    };
    let (due, _) = run();
    let (got, kinds) = within(Some(&gpu), run);
    assert_eq!((device_of(&got), kinds), ("/device:GPU:0", vec!["device"]));
    assert!(same_tensor(&got, &due));
    let dropped = due.as_slice::<f32>().iter().filter(|&&v| v == 0.0).count();
    assert!((400..600).contains(&dropped), "{dropped}");
}

#[test]
fn a_variable_stays_on_the_device_where_its_value_is() {
    let Some(gpu) = gpu() else { return };
    let value = gpu.upload(&numbers(100)).expect("a copy");
    let v = Variable::new("v", DType::F32, penstock_data::Shape::known(&[100]), Some(value)).expect("a variable");
    let add = op("assign_add");
    let args = [Arg::Variable(v.clone()), Arg::Tensor(numbers(100))];
    penstock_exec::eager_args(add, &args, &Attrs::EMPTY, &StdEnv::default()).expect("an assignment");
    let now = v.read().expect("a value");
    assert_eq!(device_of(&now), "/device:GPU:0");
    let twice = run("add", &[&numbers(100), &numbers(100)]).expect("add");
    assert!(same_tensor(&now, &twice[0]));
    let wrong = [args[0].clone(), Arg::Tensor(numbers(99))];
    let error = penstock_exec::eager_args(add, &wrong, &Attrs::EMPTY, &StdEnv::default()).unwrap_err();
    assert_eq!(error.class(), Class::InvalidArgument);
}

#[test]
fn what_an_operation_rejects_is_an_error_of_who_reads_its_result() {
    let Some(gpu) = gpu() else { return };
    let (x, zeros) = (Tensor::vector(&[1i32; 50]), Tensor::vector(&[0i32; 50]));
    let results = within(Some(&gpu), || run("floordiv", &[&x, &zeros])).expect("it is queued");
    let later = run("neg", &[&results[0]]).expect("it is queued");
    for tensor in [&results[0], &later[0]] {
        let error = tensor.on_host().unwrap_err();
        assert_eq!((error.class(), error.op()), (Class::InvalidArgument, Some("floordiv")));
    }
    let total = run("bitwise_and", &[&later[0], &Tensor::from(1i32)]).and_then(|t| t[0].on_host());
    assert_eq!(total.unwrap_err().op(), Some("floordiv"));
}

#[test]
fn an_error_of_one_operator_names_the_line_that_it_has_in_its_own_function() {
    let Some(gpu) = gpu() else { return };
    let inputs = [[1i32; 50], [0; 50]].map(|row| within(Some(&gpu), || placed(&Tensor::vector(&row))).expect("a copy"));
    let args = inputs.map(Arg::Tensor);
    for line in [3, 7, 3] {
        let text = format!(
            "func @f(%0: i32[50], %1: i32[50]) -> i32[50] {{\n%2: i32[50] = floordiv %0, %1 ; model.py:{line}:1\nreturn %2\n}}"
        );
        let (results, _) = within(Some(&gpu), || steps(&function(&text), &args));
        let error = results[0].on_host().unwrap_err();
        let at = error.loc().and_then(|loc| loc.frame()).map(|frame| frame.line);
        assert_eq!((error.op(), at), (Some("floordiv"), Some(line)));
    }
}

/// Operators that CPU and CUDA approximate each in its own way.
const APPROXIMATE: [&str; 5] = ["cos", "digamma", "lgamma", "sin", "tan"];

/// How often each random program runs: graphs are made of what repeats.
const RUNS: usize = 5;

/// How many random programs are tried; `make gpu-orders` has 1,000.
fn programs() -> u64 {
    std::env::var("PENSTOCK_TEST_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

/// The operands with zeros for all integers, by which programs divide, and which are indices and sizes.
fn zeros(inputs: &[Tensor]) -> Vec<Tensor> {
    let zero = |t: &Tensor| if t.dtype().is_integer() { Tensor::zeros(t.dtype(), t.dims()) } else { Ok(t.clone()) };
    inputs.iter().map(|t| zero(t).expect("an operand")).collect()
}

#[test]
fn random_programs_do_the_same_wherever_their_operands_are() {
    let Some(gpu) = gpu() else { return };
    let (mut tried, mut failed, mut seed) = (0, 0, 0);
    // The loop goes on until a program has failed, so that errors are compared too.
    while tried < programs() || failed == 0 && tried < 50 * programs() {
        seed += 1;
        let random = random_graph(seed, 12, RandomOptions::default());
        if APPROXIMATE.iter().any(|name| random.function.to_text().contains(&format!("= {name} "))) {
            continue;
        }
        tried += 1;
        let small = Options { thresholds: Thresholds::SMALL, ..Options::default() };
        let outcome = |inputs: &[Tensor], wish: Option<&Arc<dyn Device>>| {
            let executable = Executable::with_options(&random.function, small.clone())?;
            trace(random.graph(), inputs, &|args, env| {
                let run = || Ok(within(wish, || executable.run(args, env))?.into_vec());
                let mut results: Vec<Tensor> = run()?;
                for _ in 1..RUNS {
                    results.iter().try_for_each(|t| t.on_host().map(|_| ()))?;
                    results = run()?;
                }
                Ok(results)
            })
        };
        for inputs in [random.inputs.clone(), zeros(&random.inputs)] {
            let due = outcome(&inputs, None).expect("a run");
            failed += usize::from(due.is_err());
            // All on the device, and then every other operand.
            for places in [None, Some(0), Some(1)] {
                let there = |(i, t): (usize, &Tensor)| {
                    let on_device = places.is_none_or(|first| i % 2 == first);
                    if on_device { within(Some(&gpu), || placed(t)) } else { Ok(t.clone()) }
                };
                let operands = inputs.iter().enumerate().map(there).collect::<Result<Vec<_>>>().expect("copies");
                let wish = places.is_none().then_some(&gpu);
                let got = outcome(&operands, wish).expect("a run");
                let (shown, instead) = (show(&got), show(&due));
                assert!(
                    agree(&got, &due),
                    "{places:?}: the device gives\n{shown}\ninstead of\n{instead}\nfor seed {seed}{random:?}"
                );
            }
        }
    }
    assert!(failed > 0, "no program has failed");
    if let Some(mock) = common::mock::get() {
        assert_eq!(mock.findings(), Vec::<String>::new());
    }
}
