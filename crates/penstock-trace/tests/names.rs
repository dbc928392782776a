//! Names of what is traced, for people.

use std::sync::{Arc, Mutex};

use penstock_data::{DType, Loc, Shape, Tensor};
use penstock_exec::Variable;
use penstock_ir::{Attrs, Env, Graph, OpDef, Type, Value};
use penstock_trace::{self as trace, Host, Live, Recorder, Traced, Var};

/// A program that has nothing to say.
struct Program;

impl Env for Program {
    fn draw(&self, _: u64) -> penstock_data::Result<(u64, u128)> {
        Ok((0, 0))
    }
}

impl Host for Program {
    fn loc(&self) -> Loc {
        Loc::UNKNOWN
    }
}

fn op(name: &str) -> &'static OpDef {
    penstock_ops::all().find(|op| op.name == name).unwrap()
}

fn apply(name: &str, inputs: &[&Var]) -> Var {
    let inputs: Vec<Var> = inputs.iter().map(|&v| v.clone()).collect();
    trace::dispatch(op(name), &inputs, Attrs::EMPTY).unwrap().remove(0)
}

fn vector() -> Type {
    Type::tensor(DType::F32, Shape::known(&[2]))
}

fn input() -> Var {
    trace::placeholder(&vector(), Some("x")).unwrap()
}

/// The names of the inputs of a graph; empty for none.
fn inputs(traced: &Traced) -> Vec<String> {
    traced.graph.inputs().iter().map(|v| name(&traced.graph, *v)).collect()
}

fn name(graph: &Graph, value: Value) -> String {
    graph.names.get(&value).map_or_else(String::new, ToString::to_string)
}

#[test]
fn what_is_taken_from_outside_has_the_name_of_the_variable_else_the_one_that_it_is_given() {
    trace::set_host(Box::new(Program));
    let ones = || Tensor::from_slice(&[2], &[1.0_f32, 1.0]).unwrap();
    let variable =
        |name: &str| Var::variable(Variable::new(name, DType::F32, Shape::known(&[2]), Some(ones())).unwrap());
    let (named, nameless, constant) = (variable("layer/w:0"), variable("Variable:0"), Var::eager(ones()));
    let open = trace::begin_trace("f");
    assert!(!trace::has_nameless_captures());
    let x = input();
    let mut sum = apply("add", &[&x, &constant]);
    for v in [&named, &nameless] {
        sum = apply("add", &[&sum, &trace::read_variable(v, false).unwrap()]);
    }
    assert!(trace::has_nameless_captures());
    trace::name_capture(&named, "another");
    trace::name_capture(&nameless, "rate");
    trace::name_capture(&Var::eager(ones()), "stranger");
    let traced = open.end(&[sum]).unwrap();
    assert_eq!(inputs(&traced), ["x", "", "layer/w", "rate"]);
}

#[test]
fn gradients_are_in_the_scopes_of_what_they_are_the_gradients_of() {
    trace::set_host(Box::new(Program));
    let open = trace::begin_trace("f");
    let x = input();
    let recorder = Arc::new(Mutex::new(penstock_autodiff::Tape::new(false, false)));
    recorder.lock().unwrap().watch(&x).unwrap();
    trace::push_recorder(Recorder::Tape(recorder.clone()));
    trace::set_scope("loss/");
    let y = apply("tanh", &[&x]);
    trace::set_scope("");
    let z = apply("exp", &[&y]);
    trace::pop_recorder(&Recorder::Tape(recorder.clone()));
    trace::set_scope("update/");
    let backward = recorder.lock().unwrap().backward(&[z], &[x]).unwrap();
    let found = backward.run(&[], &mut Live::default()).unwrap().remove(0).unwrap();
    let after = apply("neg", &[&found]);
    trace::set_scope("");
    let traced = open.end(&[after]).unwrap();
    let mut scopes = Vec::new();
    traced.graph.visit(&mut |_, _, data| {
        if data.op.name != "const" {
            scopes.push((data.op.name, name(&traced.graph, data.results[0])));
        }
    });
    assert_eq!((scopes[0].0, &*scopes[0].1), ("tanh", "loss/"));
    assert_eq!((scopes[1].0, &*scopes[1].1), ("exp", ""));
    let (last, gradients) = scopes[2..].split_last().unwrap();
    assert_eq!((last.0, &*last.1), ("neg", "update/"));
    assert!(gradients.iter().all(|(_, scope)| scope.starts_with("gradient_tape/")), "{gradients:?}");
    assert!(gradients.iter().any(|(_, scope)| scope == "gradient_tape/loss/"), "{gradients:?}");
    assert_eq!(gradients[gradients.len() - 1].1, "gradient_tape/loss/");
}
