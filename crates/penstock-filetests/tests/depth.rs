//! Graphs that nest deep: walks through them end in an error where a thread has little stack, and take time in proportion to them.

use std::sync::Arc;

use penstock_autodiff::{batch_function, jvp_function, vjp_function};
use penstock_data::{Class, DType, Result, Tensor};
use penstock_exec::{Arg, Executable, reference};
use penstock_filetests::Recorder;
use penstock_ir::{Attrs, Builder, FuncRef, Function, OpSet, Type, Value, parse_function, verify};
use penstock_ops::{Ops, control};

fn emit(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    b.emit(Ops.find(name).unwrap(), operands, &[]).unwrap()[0]
}

/// What levels of a program are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Cond,
    While,
    Mixed,
}

/// `x` through nested levels; the innermost doubles it. The rounds of loops are known, or an input says how many; each loop
/// has a variable that takes the value of another one in a round, so that what is known of it comes later.
fn nest(b: &mut Builder, kind: Kind, levels: usize, rounds: Option<Value>, x: Value) -> Value {
    if levels == 0 {
        return emit(b, "add", &[x, x]);
    }
    let here = if kind == Kind::Mixed { [Kind::Cond, Kind::While][levels % 2] } else { kind };
    if here == Kind::Cond {
        let zero = b.constant(Tensor::from(0f32));
        let positive = emit(b, "greater", &[x, zero]);
        let regions = [true, false].map(|deep| {
            b.begin_region([]);
            let value = if deep { nest(b, kind, levels - 1, rounds, x) } else { emit(b, "neg", &[x]) };
            b.end_region(&[value]).unwrap()
        });
        let inst = b.inst(&control::COND, &[positive], Attrs::EMPTY, &regions).unwrap();
        return b.results(inst)[0];
    }
    let (start, none) = (b.constant(Tensor::from(0i64)), b.constant(Tensor::from(0f32)));
    let init = [start, none, x];
    let types: Vec<Type> = init.iter().map(|&v| b.graph().ty(v).clone()).collect();
    let cond = b.begin_region(types.clone());
    let i = b.params(cond)[0];
    let bound = rounds.unwrap_or_else(|| b.constant(Tensor::from(1i64)));
    let go = emit(b, "less", &[i, bound]);
    let cond = b.end_region(&[go]).unwrap();
    let body = b.begin_region(types);
    let params = b.params(body);
    let one = b.constant(Tensor::from(1i64));
    let next = emit(b, "add", &[params[0], one]);
    let sum = emit(b, "add", &[params[1], params[2]]);
    let value = nest(b, kind, levels - 1, rounds, sum);
    let body = b.end_region(&[next, params[2], value]).unwrap();
    let inst = b.inst(&control::WHILE, &init, Attrs::EMPTY, &[cond, body]).unwrap();
    b.results(inst)[2]
}

fn nested(kind: Kind, levels: usize, known: bool) -> Arc<Function> {
    let mut b = Builder::new(&control::CONST);
    let x = b.input(Type::scalar(DType::F32), None);
    let rounds = b.input(Type::scalar(DType::I64), None);
    let value = nest(&mut b, kind, levels, (!known).then_some(rounds), x);
    Arc::new(Function::new("nested", b.finish(&[value]).unwrap()))
}

fn run(function: &Function) -> Result<f32> {
    let args = [Arg::from(Tensor::from(1f32)), Arg::from(Tensor::from(1i64))];
    let results = Executable::new(function)?.run(&args, &Recorder::default())?;
    Ok(results[0].item::<f32>().unwrap())
}

/// On a thread with a stack of this many KiB.
fn with_stack<T: Send>(kib: usize, f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|s| {
        std::thread::Builder::new().stack_size(kib << 10).spawn_scoped(s, f).unwrap().join().unwrap()
    })
}

#[test]
fn deep_graphs_end_in_a_result_or_an_error_on_a_small_stack() {
    for kind in [Kind::Cond, Kind::While, Kind::Mixed] {
        for levels in [10, 120] {
            let function = with_stack(64 << 10, || nested(kind, levels, false));
            let fits = |what: &str, result: Result<()>| {
                if let Err(e) = result {
                    assert_eq!(e.class(), Class::ResourceExhausted, "{what} of {levels} {kind:?}: {e}");
                }
            };
            with_stack(512, || {
                let graph = function.graph().unwrap();
                assert_eq!(run(&function).unwrap(), run(&with_stack(64 << 10, || nested(kind, levels, true))).unwrap());
                let text = function.to_text();
                assert!(text.contains("yield"));
                verify(graph).unwrap();
                fits("parsing", parse_function(&text, &Ops, &penstock_filetests::hosts).map(drop));
                fits("reverse mode", vjp_function(&function, &[true, false], &[true]).map(drop));
                fits("forward mode", jvp_function(&function, &[true, false]).map(drop));
                fits("batching", batch_function(&function, &[true, false]).map(drop));
                let args = [Arg::from(Tensor::from(1f32)), Arg::from(Tensor::from(1i64))];
                fits("the reference", reference::run(graph, &args, &Recorder::default()).map(drop));
            });
        }
    }
}

#[test]
fn deep_loops_are_differentiated_and_batched_without_going_through_them_again_at_each_level() {
    // Each of these took twice as long for each level, or the fourth power of the levels.
    with_stack(256 << 10, || {
        for (kind, known) in [(Kind::While, true), (Kind::While, false), (Kind::Mixed, true), (Kind::Cond, true)] {
            let function = nested(kind, 40, known);
            run(&function).unwrap();
            let pair = vjp_function(&function, &[true, false], &[true]).unwrap();
            Executable::new(pair.forward(&function)).unwrap();
            Executable::new(pair.backward.as_ref().unwrap()).unwrap();
            Executable::new(&jvp_function(&function, &[true, false]).unwrap().function).unwrap();
            Executable::new(&batch_function(&function, &[true, false]).unwrap().function).unwrap();
        }
    });
}

#[test]
fn a_long_chain_of_calls_is_freed_on_a_small_stack() {
    const LENGTH: usize = 5_000;
    let function = with_stack(64 << 10, || {
        let mut last: Option<Arc<Function>> = None;
        for _ in 0..LENGTH {
            let mut b = Builder::new(&control::CONST);
            let x = b.input(Type::scalar(DType::F32), None);
            let one = b.constant(Tensor::from(1f32));
            let sum = emit(&mut b, "add", &[x, one]);
            let result = match last.take() {
                None => sum,
                Some(callee) => {
                    let attrs = control::CALL.attributes(&[("func", penstock_ir::Attr::Func(FuncRef::new(callee)))]);
                    let inst = b.inst(&control::CALL, &[sum], attrs.unwrap(), &[]).unwrap();
                    b.results(inst)[0]
                }
            };
            last = Some(Arc::new(Function::new("f", b.finish(&[result]).unwrap())));
        }
        last.unwrap()
    });
    with_stack(64 << 10, || {
        let args = [Arg::from(Tensor::from(0f32))];
        let results = Executable::new(&function).unwrap().run(&args, &Recorder::default()).unwrap();
        assert_eq!(results[0].item::<f32>(), Some(LENGTH as f32));
    });
    with_stack(256, move || drop(function));
}
