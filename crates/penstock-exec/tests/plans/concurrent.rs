//! Kernels that run at the same time.

use penstock_data::Class;
use penstock_ir::{OpSet, no_hosts, parse_function};
use penstock_ops::Ops;

use super::random::Random;
use super::rows::{same, tensor};
use super::*;

fn op(name: &str) -> &'static penstock_ir::OpDef {
    Ops.find(name).unwrap()
}

/// An executable that runs whatever kernels it can at the same time.
fn together(function: &Function) -> Executable {
    Executable::with_options(
        function,
        Options { thresholds: Thresholds { concurrent_ns: 0, ..Thresholds::DEFAULT }, ..Options::default() },
    )
    .unwrap()
}

fn read(text: &str) -> Arc<Function> {
    parse_function(text, &Ops, &no_hosts).unwrap()
}

/// A random program of kernels that compute a lot and of loops over elements, on square matrices.
fn program(seed: u64) -> (Verified, Vec<Tensor>) {
    const N: usize = 24;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let inputs: Vec<Tensor> =
        (0..3).map(|_| tensor(&mut random, DType::F32, &[N, N], seed.is_multiple_of(3))).collect();
    let graph = build(|b| {
        let mut values: Vec<Value> = inputs.iter().map(|_| b.input(f32s(&[N, N]), None)).collect();
        for _ in 0..4 + random.below(14) {
            let pick = |random: &mut Random| values[random.below(values.len())];
            let (x, y) = (pick(&mut random), pick(&mut random));
            let made = match random.below(8) {
                0 | 1 => b.emit(op("sort"), &[x], &[]).unwrap(),
                2 => b.emit(op("sort"), &[x], &[("descending", true.into())]).unwrap(),
                3 => {
                    let (square, rows) =
                        (b.constant(Tensor::vector(&[24i64, 24])), b.constant(Tensor::vector(&[12i64, 48])));
                    let rows = b.emit(op("reshape"), &[x, rows], &[]).unwrap()[0];
                    let sorted = b.emit(op("sort"), &[rows], &[]).unwrap()[0];
                    b.emit(op("reshape"), &[sorted, square], &[]).unwrap()
                }
                4 => b.emit(op("qr"), &[x], &[]).unwrap(),
                5 => b.emit(op("neg"), &[x], &[]).unwrap(),
                6 => b.emit(op("transpose"), &[x], &[]).unwrap(),
                _ => b.emit(op("add"), &[x, y], &[]).unwrap(),
            };
            values.extend(made);
        }
        (0..3).map(|i| values[values.len() - 1 - i]).collect()
    });
    (graph, inputs)
}

#[test]
fn random_programs_agree_with_the_reference() {
    let mut steps = 0;
    for seed in 0..200 {
        let (graph, inputs) = program(seed);
        let args: Vec<Arg> = inputs.into_iter().map(Arg::from).collect();
        let executable = together(&Function::new("f", graph.clone()));
        let due = reference::run(&graph, &args, &env()).unwrap();
        for round in 0..2 {
            let got = executable.run(&args, &env()).unwrap();
            let text = executable.text().unwrap();
            assert!(got.iter().zip(&due).all(|(a, b)| same(a, b)), "seed {seed}, round {round}:\n{graph}\n{text}");
            steps += text.matches("concurrent").count();
        }
    }
    assert!(steps > 200, "{steps} steps ran kernels together");
}

/// Two chains one after the other in the text, each of two kernels.
const TOWERS: &str = "func @f(%x: f32[400,200], %y: f32[400,200]) -> f32[400,200], f32[400,200] {\n\
    %a = sort %x\n%b = neg %a\n%c = sort %b {descending=true}\n\
    %d = sort %y\n%e = neg %d\n%g = sort %e {descending=true}\nreturn %c, %g\n}";

#[test]
fn chains_run_side_by_side_kernel_by_kernel() {
    let text = Executable::new(&read(TOWERS)).unwrap().text().unwrap();
    assert_eq!(text.matches("concurrent").count(), 2, "{text}");
    let options = Options { skip: vec!["concurrent".to_owned()], ..Options::default() };
    let text = Executable::with_options(&read(TOWERS), options).unwrap().text().unwrap();
    assert!(!text.contains("concurrent"), "{text}");
}

#[test]
fn what_is_written_between_two_kernels_keeps_them_apart() {
    let function = read(
        "func @f(%v: var f32[300,300], %x: f32[300,300]) -> f32[300,300], f32[300,300] {\n%a = sort %x\n\
         assign_add %v, %a\n%b = read_variable %v\n%c = sort %b\nreturn %a, %c\n}",
    );
    assert!(!together(&function).text().unwrap().contains("concurrent"));
}

#[test]
fn of_several_errors_the_first_is_reported_with_its_operator() {
    let function = read(
        "func @f(%x: f32[30,30], %y: f32[30,30]) -> f32[30,30], f32[30,30], f32[30,30] {\n%a = sort %x\n\
         %b = matrix_inverse %x\n%c = matrix_solve %y, %x\nreturn %a, %b, %c\n}",
    );
    let executable = together(&function);
    assert!(executable.text().unwrap().contains("concurrent"));
    let zeros = || Arg::from(Tensor::zeros(DType::F32, &[30, 30]).unwrap());
    for _ in 0..20 {
        let error = executable.run(&[zeros(), zeros()], &env()).unwrap_err();
        assert_eq!((error.class(), error.op()), (Class::InvalidArgument, Some("matrix_inverse")));
    }
}

#[test]
fn long_kernels_that_run_at_the_same_time_can_be_interrupted() {
    let function = read(
        "func @f(%x: f64[700,700], %y: f64[700,700]) -> f64[700], f64[700] {\n%s = singular_values %x\n\
         %t = singular_values %y\nreturn %s, %t\n}",
    );
    let executable = Executable::new(&function).unwrap();
    assert!(executable.text().unwrap().contains("concurrent"));
    let mut random = Random(7);
    let x = tensor(&mut random, DType::F64, &[700, 700], false);
    let stopping = Recorder { stop_after: Some(1), ..Recorder::default() };
    let error = executable.run(&[Arg::from(x.clone()), Arg::from(x)], &stopping).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    let zeros = || Arg::from(Tensor::zeros(DType::F64, &[700, 700]).unwrap());
    let out = executable.run(&[zeros(), zeros()], &env()).unwrap();
    assert!(out.iter().all(|t| *t == Tensor::zeros(DType::F64, &[700]).unwrap()));
}
