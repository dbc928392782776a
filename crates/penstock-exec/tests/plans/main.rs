//! Plans against the reference interpreter.

mod concurrent;
mod heavy;
mod images;
mod inferred;
mod layouts;
mod lists;
mod ops;
mod packed;
mod products;
mod profiles;
mod random;
mod recurrent;
mod resolved;
mod rows;
mod small;
mod stencils;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use penstock_data::{Class, DType, Error, Loc, Result, Shape, Tensor};
use penstock_exec::{Arg, Executable, StdEnv, Variable, eager, eager_args, reference};
use penstock_ir::{Attr, Attrs, Builder, Env, FuncRef, Function, HostFn, HostRef, Type, Value, Verified};
use penstock_ops::control::{CALL, COND, CONST, WHILE};
use penstock_ops::state::{ASSIGN, ASSIGN_ADD, READ_VARIABLE};
use penstock_passes::{Options, Thresholds};

use ops::{ADD, FLATTEN, FLOORDIV, HOST, LESS, MUL, NEG, PANIC, PRINT};

/// Records what is printed, and stops after a number of polls.
#[derive(Default)]
struct Recorder {
    text: Mutex<String>,
    polls: AtomicUsize,
    stop_after: Option<usize>,
}

impl Env for Recorder {
    fn print(&self, _: &str, text: &str) -> Result<()> {
        self.text.lock().unwrap().push_str(text);
        Ok(())
    }

    fn draw(&self, _: u64) -> Result<(u64, u128)> {
        Ok((0, 0))
    }

    fn poll(&self) -> Result<()> {
        let n = self.polls.fetch_add(1, Ordering::Relaxed);
        if self.stop_after.is_some_and(|stop| n >= stop) { Err(Error::cancelled("interrupted")) } else { Ok(()) }
    }
}

/// Draws as [`StdEnv`] does, and prints nothing.
struct Quiet(StdEnv);

impl Env for Quiet {
    fn print(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }

    fn draw(&self, blocks: u64) -> Result<(u64, u128)> {
        self.0.draw(blocks)
    }

    fn poll(&self) -> Result<()> {
        Ok(())
    }
}

fn env() -> StdEnv {
    StdEnv::new(0)
}

fn executable(graph: &Verified) -> Executable {
    Executable::new(&Function::new("f", graph.clone())).unwrap()
}

/// An executable that fuses whatever it can.
fn fusing(graph: &Verified) -> Executable {
    let options = Options { thresholds: Thresholds { fused_bytes: 0, ..Thresholds::DEFAULT }, ..Options::default() };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

/// An executable that fuses whatever it can, and runs every instruction by its own kernel.
fn fusing_without_runs(graph: &Verified) -> Executable {
    let options = Options {
        thresholds: Thresholds { fused_bytes: 0, ..Thresholds::DEFAULT },
        skip: vec!["vectors".into()],
        ..Options::default()
    };
    Executable::with_options(&Function::new("f", graph.clone()), options).unwrap()
}

fn build(f: impl FnOnce(&mut Builder) -> Vec<Value>) -> Verified {
    let mut builder = Builder::new(&CONST);
    let outputs = f(&mut builder);
    builder.finish(&outputs).unwrap()
}

fn emit(b: &mut Builder, op: &'static penstock_ir::OpDef, operands: &[Value]) -> Value {
    b.emit(op, operands, &[]).unwrap()[0]
}

fn f32s(dims: &[usize]) -> Type {
    Type::tensor(DType::F32, Shape::known(dims))
}

fn vector(n: usize) -> Tensor {
    Tensor::vector(&(0..n).map(|i| i as f32 * 0.5 - 1.0).collect::<Vec<_>>())
}

/// `while i < n: i += 1` from 0.
fn counting() -> Verified {
    build(|b| {
        let n = b.input(Type::scalar(DType::I32), Some("n"));
        let zero = b.constant(Tensor::from(0i32));
        let cond = b.begin_region([Type::scalar(DType::I32)]);
        let i = b.params(cond)[0];
        let go = emit(b, &LESS, &[i, n]);
        let cond = b.end_region(&[go]).unwrap();
        let body = b.begin_region([Type::scalar(DType::I32)]);
        let i = b.params(body)[0];
        let one = b.constant(Tensor::from(1i32));
        let next = emit(b, &ADD, &[i, one]);
        let body = b.end_region(&[next]).unwrap();
        let inst = b.inst(&WHILE, &[zero], Attrs::EMPTY, &[cond, body]).unwrap();
        b.results(inst).to_vec()
    })
}

#[derive(Debug, PartialEq)]
struct Observed {
    outputs: Vec<Tensor>,
    variables: Vec<Tensor>,
    text: String,
}

/// What a run gives and does, from fresh variables.
fn observe(count: usize, x: &Tensor, run: impl Fn(&[Arg], &dyn Env) -> Result<Vec<Tensor>>) -> Observed {
    let variables: Vec<Arc<Variable>> = (0..count)
        .map(|i| Variable::new("v", DType::F32, Shape::scalar(), Some(Tensor::from(i as f32))).unwrap())
        .collect();
    let mut args = vec![Arg::from(Tensor::from(1.5f32)), Arg::from(x.clone())];
    args.extend(variables.iter().cloned().map(Arg::from));
    let env = Recorder::default();
    let outputs = run(&args, &env).unwrap();
    let text = env.text.lock().unwrap().clone();
    Observed { outputs, variables: variables.iter().map(|v| v.read().unwrap()).collect(), text }
}

#[test]
fn random_programs_agree_with_the_reference_in_any_allowed_order() {
    let mut listings = String::new();
    for seed in 0..400 {
        for len in [Some(3), Some(40), None] {
            let graph = random::program(seed, len, 2);
            let (plain, fused) = (executable(&graph), fusing(&graph));
            listings.push_str(&fused.text().unwrap());
            for n in len.map_or(vec![0, 1, 7, 40], |n| vec![n]) {
                let x = vector(n);
                let expected = observe(2, &x, |args, env| reference::run(&graph, args, env));
                let shuffled = observe(2, &x, |args, env| reference::run_shuffled(&graph, args, env, seed));
                assert_eq!(shuffled, expected, "seed {seed}, shuffled");
                for executable in [&plain, &fused] {
                    // Twice: the second run finds the registers of the first.
                    for round in 0..2 {
                        let got = observe(2, &x, |args, env| Ok(executable.run(args, env)?.into_vec()));
                        assert_eq!(got, expected, "seed {seed}, length {len:?}, n {n}, round {round}");
                    }
                }
            }
        }
    }
    // The programs reach every kind of step.
    for step in [
        "scalar",
        "loop r",
        "broadcast",
        "fused",
        "kernel",
        "read",
        "write",
        "update",
        "unless",
        "switch",
        "goto",
        " <-> ",
        "loop ",
    ] {
        assert!(listings.contains(step), "no program has the step '{step}'");
    }
}

#[test]
fn results_never_change_afterwards() {
    let graph = build(|b| {
        let x = b.input(f32s(&[100]), None);
        let y = emit(b, &MUL, &[x, x]);
        let z = emit(b, &FLATTEN, &[y]);
        let w = emit(b, &NEG, &[z]);
        vec![x, y, z, w, w]
    });
    let executable = executable(&graph);
    let first = executable.run(&[vector(100).into()], &env()).unwrap();
    let copies: Vec<Vec<f32>> = first.iter().map(|t| t.as_slice::<f32>().to_vec()).collect();
    for _ in 0..3 {
        executable.run(&[Tensor::vector(&[7.0f32; 100]).into()], &env()).unwrap();
    }
    for (t, copy) in first.iter().zip(&copies) {
        assert_eq!(t.as_slice::<f32>(), copy);
    }
}

#[test]
fn arguments_and_snapshots_are_not_written() {
    let graph = build(|b| {
        let v = b.input(Type::Variable(DType::F32, Shape::known(&[50])), Some("v"));
        let before = emit(b, &READ_VARIABLE, &[v]);
        let twice = emit(b, &ADD, &[before, before]);
        b.emit(&ASSIGN_ADD, &[v, twice], &[]).unwrap();
        let after = emit(b, &READ_VARIABLE, &[v]);
        vec![before, after]
    });
    let executable = executable(&graph);
    let start = Tensor::vector(&[1.0f32; 50]);
    let v = Variable::new("v", DType::F32, Shape::known(&[50]), Some(start.clone())).unwrap();
    let first = executable.run(&[v.clone().into()], &env()).unwrap();
    let second = executable.run(&[v.clone().into()], &env()).unwrap();
    assert_eq!(start.as_slice::<f32>()[0], 1.0);
    assert_eq!((first[0].as_slice::<f32>()[0], first[1].as_slice::<f32>()[49]), (1.0, 3.0));
    assert_eq!((second[0].as_slice::<f32>()[0], second[1].as_slice::<f32>()[49]), (3.0, 9.0));
}

#[test]
fn an_update_is_in_place_where_nobody_else_holds_the_value() {
    let graph = build(|b| {
        let v = b.input(Type::Variable(DType::F32, Shape::known(&[50])), Some("v"));
        let before = emit(b, &READ_VARIABLE, &[v]);
        let delta = emit(b, &MUL, &[before, before]);
        b.emit(&ASSIGN_ADD, &[v, delta], &[]).unwrap();
        vec![]
    });
    let executable = executable(&graph);
    let v = Variable::new("v", DType::F32, Shape::known(&[50]), Some(vector(50))).unwrap();
    let place = v.read().unwrap().as_ptr();
    for _ in 0..3 {
        executable.run(&[v.clone().into()], &env()).unwrap();
        assert_eq!(v.read().unwrap().as_ptr(), place);
    }
}

#[test]
fn one_executable_runs_on_several_threads() {
    let graph = random::program(5, None, 0);
    let executable = executable(&graph);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (executable, graph) = (&executable, &graph);
            scope.spawn(move || {
                for i in 0..20 {
                    let args = [Tensor::from(n as f32).into(), vector(n * 10 + i).into()];
                    let env = Recorder::default();
                    assert_eq!(
                        executable.run(&args, &env).unwrap().into_vec(),
                        reference::run(graph, &args, &env).unwrap()
                    );
                }
            });
        }
    });
}

struct Again {
    target: Mutex<Weak<Executable>>,
}

impl HostFn for Again {
    fn name(&self) -> &str {
        "again"
    }

    fn call(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let x = inputs[0].clone();
        if x.as_slice::<f32>()[0] > 3.0 {
            return Ok(vec![x]);
        }
        let target = self.target.lock().unwrap().upgrade().unwrap();
        Ok(target.run(&[x.into()], &env())?.into_vec())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

#[test]
fn host_code_may_run_the_executable_that_calls_it() {
    let again = Arc::new(Again { target: Mutex::default() });
    let graph = build(|b| {
        let x = b.input(f32s(&[20]), None);
        let one = b.constant(Tensor::from(1.0f32));
        let next = emit(b, &ADD, &[x, one]);
        let attrs = [("func", Attr::Host(HostRef(again.clone()))), ("types", Attr::from(vec![f32s(&[20])]))];
        let deep = b.emit(&HOST, &[next], &attrs).unwrap()[0];
        // What was computed before the call is still there after it.
        vec![emit(b, &ADD, &[deep, next])]
    });
    let executable = Arc::new(executable(&graph));
    assert!(executable.calls_host());
    *again.target.lock().unwrap() = Arc::downgrade(&executable);
    let out = executable.run(&[Tensor::vector(&[0.0f32; 20]).into()], &env()).unwrap();
    // 1 + (2 + (3 + (4 + 4)))
    assert_eq!(out[0].as_slice::<f32>(), [14.0; 20]);
}

#[test]
fn a_function_may_call_itself() {
    let sum = Arc::new(Function::declare(
        "sum",
        penstock_ir::Signature { params: vec![Type::scalar(DType::I32)], results: vec![Type::scalar(DType::I32)] },
    ));
    let graph = build(|b| {
        let n = b.input(Type::scalar(DType::I32), None);
        let zero = b.constant(Tensor::from(0i32));
        let pred = emit(b, &LESS, &[zero, n]);
        b.begin_region([]);
        let minus = b.constant(Tensor::from(-1i32));
        let less = emit(b, &ADD, &[n, minus]);
        let rest = b.emit(&CALL, &[less], &[("func", Attr::Func(FuncRef::called(&sum)))]).unwrap()[0];
        let all = emit(b, &ADD, &[rest, n]);
        let yes = b.end_region(&[all]).unwrap();
        b.begin_region([]);
        let no = b.end_region(&[zero]).unwrap();
        let inst = b.inst(&COND, &[pred], Attrs::EMPTY, &[yes, no]).unwrap();
        b.results(inst).to_vec()
    });
    sum.define(graph).unwrap();
    let executable = penstock_exec::executable(&sum, &env()).unwrap();
    assert_eq!(executable.run(&[Tensor::from(10i32).into()], &env()).unwrap()[0].item::<i32>(), Some(55));
    let error = executable.run(&[Tensor::from(1_000_000i32).into()], &env()).unwrap_err();
    assert_eq!(error.class(), Class::ResourceExhausted);
}

#[test]
fn loops_of_no_round_give_their_first_values() {
    let executable = executable(&counting());
    for n in [-5, 0, 1, 1000] {
        let out = executable.run(&[Tensor::from(n).into()], &env()).unwrap();
        assert_eq!(out[0].item::<i32>(), Some(n.max(0)));
    }
}

#[test]
fn a_long_loop_can_be_interrupted() {
    let env = Recorder { stop_after: Some(2), ..Recorder::default() };
    let error = executable(&counting()).run(&[Tensor::from(i32::MAX).into()], &env).unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
}

#[test]
fn errors_name_operator_and_place() {
    let graph = build(|b| {
        let x = b.input(Type::scalar(DType::I32), None);
        b.set_loc(Loc::at("user.py", 12, 5));
        vec![emit(b, &FLOORDIV, &[x, x])]
    });
    let zero = [Arg::from(Tensor::from(0i32))];
    for error in
        [executable(&graph).run(&zero, &env()).unwrap_err(), reference::run(&graph, &zero, &env()).unwrap_err()]
    {
        assert_eq!((error.class(), error.op()), (Class::InvalidArgument, Some("floordiv")));
        assert_eq!(error.loc().unwrap().to_string(), "user.py:12:5");
    }
    assert!(executable(&graph).run(&[Tensor::from(3i32).into()], &env()).is_ok());
}

#[test]
fn a_panic_is_an_internal_error_and_the_next_run_works() {
    let graph = build(|b| {
        let (x, pred) = (b.input(f32s(&[30]), None), b.input(Type::scalar(DType::Bool), None));
        let y = emit(b, &NEG, &[x]);
        b.begin_region([]);
        let bad = emit(b, &PANIC, &[y]);
        let yes = b.end_region(&[bad]).unwrap();
        b.begin_region([]);
        let no = b.end_region(&[y]).unwrap();
        let inst = b.inst(&COND, &[pred], Attrs::EMPTY, &[yes, no]).unwrap();
        b.results(inst).to_vec()
    });
    let executable = executable(&graph);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let error = executable.run(&[vector(30).into(), Tensor::from(true).into()], &env()).unwrap_err();
    let eagerly = eager(&PANIC, &[&vector(3)], &Attrs::EMPTY, &env()).unwrap_err();
    std::panic::set_hook(hook);
    assert_eq!((error.class(), error.op()), (Class::Internal, Some("panic")));
    assert_eq!((eagerly.class(), eagerly.op()), (Class::Internal, Some("panic")));
    let out = executable.run(&[vector(30).into(), Tensor::from(false).into()], &env()).unwrap();
    assert_eq!(out[0].as_slice::<f32>()[0], 1.0);
}

#[test]
fn arguments_are_checked() {
    let graph = build(|b| {
        let n = b.fresh_symbol();
        let open = Type::tensor(DType::F32, Shape::new([penstock_data::Dim::Sym(n)]));
        let (x, y) = (b.input(open.clone(), Some("x")), b.input(open, Some("y")));
        let (v, w) = (
            b.input(Type::Variable(DType::F32, Shape::scalar()), Some("v")),
            b.input(Type::Variable(DType::F32, Shape::scalar()), Some("w")),
        );
        let a = emit(b, &READ_VARIABLE, &[v]);
        b.emit(&ASSIGN, &[w, a], &[]).unwrap();
        vec![emit(b, &ADD, &[x, y])]
    });
    let executable = executable(&graph);
    let variable = || Arg::from(Variable::new("v", DType::F32, Shape::scalar(), Some(Tensor::from(0.0f32))).unwrap());
    let run = |x: Tensor, y: Tensor, v: Arg, w: Arg| executable.run(&[x.into(), y.into(), v, w], &env());
    let same = variable();
    let cases = [
        (run(vector(2), vector(3), variable(), variable()), Class::InvalidArgument, "y"),
        (run(vector(2), Tensor::from(1.0f32), variable(), variable()), Class::InvalidArgument, "y"),
        (run(Tensor::vector(&[1i32]), vector(1), variable(), variable()), Class::DType, "x"),
        (run(vector(2), vector(2), same.clone(), same.clone()), Class::InvalidArgument, "w"),
        (run(vector(2), vector(2), variable(), Tensor::from(0.0f32).into()), Class::InvalidArgument, "w"),
    ];
    for (i, (result, class, argument)) in cases.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert_eq!((error.class(), error.argument_name()), (class, Some(argument)), "case {i}: {error}");
    }
    assert!(executable.run(&[], &env()).is_err());
    assert!(run(vector(2), vector(2), variable(), variable()).is_ok());
    let empty = Arg::from(Variable::new("v", DType::F32, Shape::scalar(), None).unwrap());
    assert_eq!(run(vector(2), vector(2), empty, variable()).unwrap_err().class(), Class::FailedPrecondition);
}

#[test]
fn effects_keep_their_order() {
    let graph = build(|b| {
        let x = b.input(f32s(&[]), None);
        b.emit(&PRINT, &[x], &[]).unwrap();
        let y = emit(b, &NEG, &[x]);
        b.emit(&PRINT, &[y], &[]).unwrap();
        b.emit(&PRINT, &[y], &[]).unwrap();
        vec![]
    });
    let env = Recorder::default();
    executable(&graph).run(&[Tensor::from(1.0f32).into()], &env).unwrap();
    assert_eq!(*env.text.lock().unwrap(), "f32[] [1.0]\nf32[] [-1.0]\nf32[] [-1.0]\n");
}

#[test]
fn eager_operators_broadcast_check_and_reach_variables() {
    let run = |op, inputs: &[&Tensor]| eager(op, inputs, &Attrs::EMPTY, &env());
    let (one, two) = (Tensor::from(1.0f32), Tensor::vector(&[1.0f32, 2.0]));
    assert_eq!(run(&ADD, &[&two, &one]).unwrap()[0].as_slice::<f32>(), [2.0, 3.0]);
    assert_eq!(run(&ADD, &[&two, &two]).unwrap()[0].as_slice::<f32>(), [2.0, 4.0]);
    assert_eq!(run(&LESS, &[&one, &one]).unwrap()[0].dtype(), DType::Bool);
    assert_eq!(run(&ADD, &[&one, &Tensor::from(1i32)]).unwrap_err().class(), Class::DType);
    assert_eq!(run(&ADD, &[&two, &vector(3)]).unwrap_err().op(), Some("add"));
    assert!(run(&ADD, &[&one]).is_err() && run(&ADD, &[]).is_err());
    let v = Variable::new("v", DType::F32, Shape::known(&[2]), None).unwrap();
    let access = |op, args: &[Arg]| eager_args(op, args, &Attrs::EMPTY, &env());
    assert_eq!(access(&READ_VARIABLE, &[v.clone().into()]).unwrap_err().class(), Class::FailedPrecondition);
    access(&ASSIGN, &[v.clone().into(), two.clone().into()]).unwrap();
    access(&ASSIGN_ADD, &[v.clone().into(), two.clone().into()]).unwrap();
    assert_eq!(access(&READ_VARIABLE, &[v.clone().into()]).unwrap()[0].as_slice::<f32>(), [2.0, 4.0]);
    assert!(access(&ASSIGN, &[v.clone().into(), one.into()]).is_err());
    assert_eq!(two.as_slice::<f32>(), [1.0, 2.0]);
}

/// Every sample of every operator, through the reference interpreter, a plan of exact types, a plan of
/// unknown sizes, and eagerly.
#[test]
fn samples_of_all_operators_agree_on_every_way_to_run_them() {
    let mut ran = 0;
    // The time is another at each run.
    for op in penstock_ops::all().filter(|op| op.name != "timestamp") {
        for (i, sample) in (op.samples)().into_iter().enumerate() {
            let attrs = op.attributes(&sample.attrs).unwrap();
            let inputs: Vec<&Tensor> = sample.inputs.iter().collect();
            let args: Vec<Arg> = sample.inputs.iter().cloned().map(Arg::from).collect();
            let expected = eager(op, &inputs, &attrs, &Quiet(env()));
            let types = |erase: bool| -> Vec<Type> {
                let all = sample.inputs.iter().map(Type::of);
                all.map(|t| if erase { t.with_shape(Shape::UNRANKED) } else { t }).collect()
            };
            for erase in [false, true] {
                let mut b = Builder::new(&CONST);
                let values: Vec<Value> = types(erase).into_iter().map(|t| b.input(t, None)).collect();
                // Some operators need to know a shape or a value when the graph is made.
                let Ok(inst) = b.inst(op, &values, attrs.clone(), &[]) else { continue };
                let outputs = b.results(inst).to_vec();
                let graph = b.finish(&outputs).unwrap();
                let what = format!("{} sample {i} (unknown shapes: {erase})", op.name);
                let got = [
                    reference::run(&graph, &args, &Quiet(env())),
                    executable(&graph).run(&args, &Quiet(env())).map(|out| out.into_vec()),
                    fusing(&graph).run(&args, &Quiet(env())).map(|out| out.into_vec()),
                ];
                for (way, got) in got.into_iter().enumerate() {
                    match (&expected, got) {
                        (Ok(expected), Ok(got)) => assert_eq!(got, expected.to_vec(), "{what}, way {way}"),
                        (Err(_), Err(_)) => {}
                        (expected, got) => panic!("{what}, way {way}: expected {expected:?}, got {got:?}"),
                    }
                    ran += 1;
                }
            }
        }
    }
    assert!(ran > 1000, "only {ran} runs");
}
