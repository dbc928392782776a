//! Two devices: a tensor of one is copied to the other without the host.

mod common;

use std::sync::Arc;

use common::{op, within};
use penstock_data::{Class, DType, Remote, Tensor};
use penstock_exec::{Arg, Device, Executable, StdEnv, eager};
use penstock_filetests::same_tensor;
use penstock_ir::{Attr, parse_function};
use penstock_ops::Ops;
use penstock_passes::Options;

/// Both devices; `None` where there are fewer.
fn both() -> Option<[Arc<dyn Device>; 2]> {
    static ONE_AT_A_TIME: std::sync::Once = std::sync::Once::new();
    ONE_AT_A_TIME.call_once(|| {
        if let Some(mock) = common::mock::get() {
            mock.set("devices", 2);
        }
    });
    common::gpu()?;
    let named = |name: &str| penstock_exec::devices().into_iter().find(|d| d.name() == name);
    let found = named("/device:GPU:0").zip(named("/device:GPU:1"));
    if found.is_none() {
        eprintln!("skipped: there is one GPU");
    }
    found.map(|(a, b)| [a, b])
}

/// What the emulated driver counts is everybody's, so one test runs at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn count(name: &str) -> u64 {
    common::mock::get().map_or(0, |mock| mock.count(name))
}

fn numbers(n: usize, factor: f32) -> Tensor {
    Tensor::vector(&(0..n).map(|i| (i % 97) as f32 * factor - 20.0).collect::<Vec<_>>())
}

fn assert_clean() {
    if let Some(mock) = common::mock::get() {
        assert_eq!(mock.findings(), Vec::<String>::new());
    }
}

#[test]
fn an_operand_of_another_device_is_copied_from_there() {
    let _alone = alone();
    let Some([first, second]) = both() else { return };
    let (x, y) = (numbers(10_000, 0.5), numbers(10_000, 0.25));
    let (there, other) = (first.upload(&x).expect("a copy"), second.upload(&y).expect("a copy"));
    for (name, shape) in [("add", "elementwise"), ("matmul", "whole")] {
        let (a, b) = if shape == "whole" {
            let matrix = |t: &Tensor| t.reshaped(&[100, 100]).expect("as many elements");
            (matrix(&there), matrix(&other))
        } else {
            (there.clone(), other.clone())
        };
        let attrs = op(name).attributes(&[]).expect("attributes");
        // A result of the first device is an operand on the second one, which copies it.
        let made = within(Some(&first), || eager(op(name), &[&a, &a], &attrs, &StdEnv::default())).expect("a result");
        let before = [count("cuMemcpyPeerAsync"), count("cuMemcpyDtoHAsync_v2")];
        let got =
            within(Some(&second), || eager(op(name), &[&b, &made[0]], &attrs, &StdEnv::default())).expect("a sum");
        if common::mock::get().is_some() {
            let after = [count("cuMemcpyPeerAsync"), count("cuMemcpyDtoHAsync_v2")];
            assert_eq!([after[0] - before[0], after[1] - before[1]], [1, 0], "{name}");
        }
        assert_eq!(got[0].remote().map(Remote::device), Some("/device:GPU:1"));
        let (a, b) = (a.on_host().expect("a value"), b.on_host().expect("a value"));
        let due = eager(op(name), &[&a, &a], &attrs, &StdEnv::default()).expect("a result");
        let due = eager(op(name), &[&b, &due[0]], &attrs, &StdEnv::default()).expect("a sum");
        let got = got[0].on_host().expect("a value");
        let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * y.abs().max(1.0);
        assert!(got.as_slice::<f32>().iter().zip(due[0].as_slice::<f32>()).all(near), "{name}");
    }
    assert_clean();
}

#[test]
fn a_function_takes_arguments_of_both_devices_many_times() {
    let _alone = alone();
    let Some([first, second]) = both() else { return };
    let text = "func @main(%x: f32[64,64], %y: f32[64,64]) -> f32[64,64] {\n  %a = matmul %x, %y\n  %b = tanh %a\n  \
                %c = add %b, %x\n  %d = mul %c, %y\n  %e = reduce_sum %d {axes=[0], keepdims=true}\n  \
                %f = sub %d, %e\n  return %f\n}";
    let function = parse_function(text, &Ops, &|_| None).unwrap_or_else(|e| panic!("{e}"));
    let run = Executable::with_options(&function, Options::default()).expect("an executable");
    let matrix = |factor| numbers(64 * 64, factor).reshaped(&[64, 64]).expect("as many elements");
    let (x, y) = (matrix(0.01), matrix(0.02));
    let due = run.run(&[Arg::Tensor(x.clone()), Arg::Tensor(y.clone())], &StdEnv::default()).expect("a run");
    for i in 0..12 {
        // The same work again and again is a graph, whichever device has which argument.
        let (a, b) = if i % 3 == 2 { (&second, &first) } else { (&first, &second) };
        let args = [a.upload(&x).expect("a copy"), b.upload(&y).expect("a copy")].map(Arg::Tensor);
        let got = within(Some(&second), || run.run(&args, &StdEnv::default())).expect("a run");
        let got = got[0].on_host().expect("a value");
        let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-3 * (1.0 + y.abs());
        assert!(got.as_slice::<f32>().iter().zip(due[0].as_slice::<f32>()).all(near), "run {i}");
    }
    assert_clean();
}

#[test]
fn a_fault_of_one_device_is_raised_where_the_other_s_result_is_read() {
    let _alone = alone();
    let Some([first, second]) = both() else { return };
    let cast = |t: &Tensor| {
        let attrs = op("cast").attributes(&[("dtype", Attr::DType(DType::I32))]).expect("attributes");
        eager(op("cast"), &[t], &attrs, &StdEnv::default()).expect("integers").remove(0)
    };
    let x = cast(&numbers(1000, 1.0));
    let (there, here) = (first.upload(&x).expect("a copy"), second.upload(&x).expect("a copy"));
    let none = |name: &str| op(name).attributes(&[]).expect("attributes");
    let divided =
        within(Some(&first), || eager(op("floordiv"), &[&there, &there], &none("floordiv"), &StdEnv::default()))
            .expect("it is queued");
    let sum = within(Some(&second), || eager(op("add"), &[&here, &divided[0]], &none("add"), &StdEnv::default()))
        .expect("it is queued");
    let error = sum[0].on_host().expect_err("an integer is divided by 0");
    assert_eq!((error.class(), format!("{error:?}").contains("floordiv")), (Class::InvalidArgument, true), "{error:?}");
    // Both devices go on.
    let twice =
        within(Some(&second), || eager(op("add"), &[&here, &here], &none("add"), &StdEnv::default())).expect("a sum");
    let due = eager(op("add"), &[&x, &x], &none("add"), &StdEnv::default()).expect("a sum");
    assert!(same_tensor(&due[0], &twice[0].on_host().expect("a value")));
    assert_clean();
}
