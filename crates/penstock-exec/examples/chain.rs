//! What a step of a plan costs: `cargo run --release -p penstock-exec --example chain`.

use std::time::Instant;

use penstock_data::{DType, Shape, Tensor};
use penstock_exec::{Arg, Executable, StdEnv, eager};
use penstock_ir::{Attrs, Builder, Function, OpDef, OpSet, Type, Value, Verified};
use penstock_ops::control::{CONST, WHILE};

fn op(name: &str) -> &'static OpDef {
    penstock_ops::Ops.find(name).unwrap_or_else(|| panic!("no operator '{name}'"))
}

fn emit(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    b.emit(op(name), operands, &[]).expect("well-typed")[0]
}

fn graph(f: impl FnOnce(&mut Builder) -> Vec<Value>) -> Verified {
    let mut b = Builder::new(&CONST);
    let outputs = f(&mut b);
    b.finish(&outputs).expect("in scope")
}

/// The least nanoseconds of a call, out of several rounds.
fn time(calls: u32, mut f: impl FnMut()) -> f64 {
    (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| f());
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

fn report(what: &str, ns: f64) {
    println!("{what:<44} {ns:>10.1} ns");
}

fn main() {
    let env = StdEnv::new(0);
    let run = |graph: &Verified, args: &[Arg], calls: u32| {
        let executable = Executable::new(&Function::new("f", graph.clone())).expect("plans");
        time(calls, || {
            std::hint::black_box(executable.run(args, &env).expect("runs"));
        })
    };
    let ty = |dims: &[usize]| Type::tensor(DType::F32, Shape::known(dims));
    let one = Tensor::vector(&[1.0f32]);
    let attrs = Attrs::EMPTY;
    let add = op("add");
    report(
        "eager add, f32[1]",
        time(1_000_000, || {
            std::hint::black_box(eager(add, &[&one, &one], &attrs, &env).expect("runs"));
        }),
    );
    report(
        "call, 1 input, 1 op",
        run(
            &graph(|b| {
                let x = b.input(ty(&[]), None);
                vec![emit(b, "add", &[x, x])]
            }),
            &[Tensor::from(1.0f32).into()],
            1_000_000,
        ),
    );
    report(
        "call, 10 inputs of 100",
        run(
            &graph(|b| {
                let xs: Vec<Value> = (0..10).map(|_| b.input(ty(&[100]), None)).collect();
                vec![xs[1..].iter().fold(xs[0], |a, &x| emit(b, "add", &[a, x]))]
            }),
            &vec![Arg::from(Tensor::vector(&[1.0f32; 100])); 10],
            200_000,
        ),
    );
    let chain = |dims: &[usize], name: &str, n: usize| {
        graph(|b| {
            let x = b.input(ty(dims), None);
            let y = b.input(ty(dims), None);
            vec![(0..n).fold(x, |a, _| emit(b, name, &[a, y]))]
        })
    };
    let scalars = [Arg::from(Tensor::from(1.0f32)), Arg::from(Tensor::from(0.5f32))];
    report("200 scalar adds, per op", run(&chain(&[], "add", 200), &scalars, 20_000) / 200.0);
    for n in [10, 1000, 100_000] {
        let x = Tensor::from_slice(&[n], &vec![1.0f32; n]).expect("memory");
        let calls = (20_000_000 / (n * 20)).clamp(5, 20_000) as u32;
        report(
            &format!("20 adds of f32[{n}], per op"),
            run(&chain(&[n], "add", 20), &[x.clone().into(), x.into()], calls) / 20.0,
        );
    }
    if penstock_ops::Ops.find("matmul").is_some() {
        let m = Tensor::from_slice(&[10, 10], &[0.1f32; 100]).expect("memory");
        report(
            "100 10x10 matmuls, per op",
            run(&chain(&[10, 10], "matmul", 100), &[m.clone().into(), m.into()], 2000) / 100.0,
        );
    }
    let counting = graph(|b| {
        let n = b.input(Type::scalar(DType::I32), None);
        let zero = b.constant(Tensor::from(0i32));
        let cond = b.begin_region([Type::scalar(DType::I32)]);
        let i = b.params(cond)[0];
        let go = emit(b, "less", &[i, n]);
        let cond = b.end_region(&[go]).expect("in scope");
        let body = b.begin_region([Type::scalar(DType::I32)]);
        let i = b.params(body)[0];
        let one = b.constant(Tensor::from(1i32));
        let next = emit(b, "add", &[i, one]);
        let body = b.end_region(&[next]).expect("in scope");
        let inst = b.inst(&WHILE, &[zero], Attrs::EMPTY, &[cond, body]).expect("well-typed");
        b.results(inst).to_vec()
    });
    report("while i < 1e6: i += 1, per step", run(&counting, &[Tensor::from(1_000_000i32).into()], 1) / 1e6);
    report(
        "plan of 1000 scalar ops, per op",
        time(5, || {
            let function = Function::new("f", chain(&[], "add", 1000));
            std::hint::black_box(Executable::new(&function).expect("plans"));
        }) / 1000.0,
    );
}
