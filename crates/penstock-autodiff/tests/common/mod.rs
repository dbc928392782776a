//! Numbers to hold derivatives against.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::Arc;

use penstock_autodiff::{Request, Residual, gradients_in, vjp_function};
use penstock_data::{DType, Tensor};
use penstock_exec::{Arg, StdEnv, Variable, reference};
use penstock_ir::{Builder, Function, Type, Value, Verified, no_hosts, parse_function, verify};
use penstock_ops::{Ops, control};

pub(crate) fn parse(text: &str) -> Arc<Function> {
    parse_function(text, &Ops, &no_hosts).unwrap_or_else(|e| panic!("{e:?} in\n{text}"))
}

pub(crate) fn f64s(dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_slice(dims, values).unwrap()
}

/// Arguments for a run: a variable of its own for each input that is one.
fn arguments(graph: &Verified, args: &[Tensor]) -> Vec<Arg> {
    graph
        .inputs()
        .iter()
        .zip(args)
        .map(|(&v, t)| match graph.ty(v) {
            Type::Variable(dtype, shape) => {
                Arg::Variable(Variable::new("v", *dtype, shape.clone(), Some(t.clone())).unwrap())
            }
            Type::Tensor(..) => Arg::Tensor(t.clone()),
        })
        .collect()
}

pub(crate) fn run(function: &Function, args: &[Tensor]) -> Vec<Tensor> {
    let graph = function.graph().unwrap();
    verify(graph).unwrap_or_else(|e| panic!("{e:?} in\n{}", function.to_text()));
    reference::run(graph, &arguments(graph, args), &StdEnv::new(0))
        .unwrap_or_else(|e| panic!("{e:?} in\n{}", function.to_text()))
}

fn is_float(ty: &Type) -> bool {
    ty.dtype() == DType::F64
}

/// A cotangent that differs from element to element and from output to output.
fn weights(k: usize, like: &Tensor) -> Tensor {
    let values: Vec<f64> = (0..like.len()).map(|i| 1.0 + 0.5 * i as f64 - 0.7 * k as f64).collect();
    f64s(like.dims(), &values)
}

/// The weighted sum of all floating point outputs.
fn objective(outputs: &[Tensor]) -> f64 {
    let float = outputs.iter().enumerate().filter(|(_, t)| t.dtype() == DType::F64);
    float
        .map(|(k, t)| t.as_slice::<f64>().iter().zip(weights(k, t).as_slice::<f64>()).map(|(a, b)| a * b).sum::<f64>())
        .sum()
}

/// The gradient of the objective by central differences; `None` for arguments without.
pub(crate) fn differences(function: &Function, args: &[Tensor]) -> Vec<Option<Tensor>> {
    let step = 1e-5;
    let mut all = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        all.push((arg.dtype() == DType::F64).then(|| {
            let at = |e: usize, delta: f64| {
                let mut args = args.to_vec();
                let mut values = arg.as_slice::<f64>().to_vec();
                values[e] += delta;
                args[i] = f64s(arg.dims(), &values);
                objective(&run(function, &args))
            };
            let slopes: Vec<f64> = (0..arg.len()).map(|e| (at(e, step) - at(e, -step)) / (2.0 * step)).collect();
            f64s(arg.dims(), &slopes)
        }));
    }
    all
}

/// The gradient of the objective by the pair of the function.
pub(crate) fn by_pair(function: &Arc<Function>, args: &[Tensor]) -> Vec<Option<Tensor>> {
    let signature = function.signature();
    let needed: Vec<bool> = signature.params.iter().map(is_float).collect();
    let flowing: Vec<bool> = signature.results.iter().map(is_float).collect();
    let pair = vjp_function(function, &needed, &flowing).unwrap();
    let outputs = run(pair.forward(function), args);
    let Some(backward) = &pair.backward else { return vec![None; args.len()] };
    let mut arguments: Vec<Tensor> = Vec::new();
    for residual in &pair.residuals {
        arguments.push(match *residual {
            Residual::Input(i) => args[i].clone(),
            Residual::Output(i) => outputs[i].clone(),
        });
    }
    for (k, ty) in signature.results.iter().enumerate() {
        if is_float(ty) {
            arguments.push(weights(k, &outputs[k]));
        }
    }
    let grads = run(backward, &arguments);
    pair.grads.iter().map(|g| g.map(|k| grads[k].clone())).collect()
}

/// The function that gives the gradient of the sum of all outputs, zeros for unconnected inputs left out.
pub(crate) fn derivative(function: &Arc<Function>, through_call: bool) -> Arc<Function> {
    let mut b = Builder::new(&control::CONST);
    let inputs: Vec<Value> = function.signature().params.iter().map(|ty| b.input(ty.clone(), None)).collect();
    let outputs = if through_call {
        b.emit(&control::CALL, &inputs, &[("func", penstock_ir::FuncRef::new(function.clone()).into())])
            .unwrap()
            .to_vec()
    } else {
        b.inline(function.graph().unwrap(), &inputs).unwrap().to_vec()
    };
    let request = Request { targets: &outputs, target_grads: &[], sources: &inputs, stops: &[], recorded: None };
    let grads: Vec<Value> = gradients_in(&mut b, &request).unwrap().into_iter().flatten().collect();
    Arc::new(Function::new(format!("{}.gradient", function.name()), b.finish(&grads).unwrap()))
}

pub(crate) fn assert_close(a: &Tensor, b: &Tensor, what: &str) {
    assert_eq!(a.dims(), b.dims(), "{what}");
    for (x, y) in a.as_slice::<f64>().iter().zip(b.as_slice::<f64>()) {
        assert!((x - y).abs() <= 1e-6 * (1.0 + x.abs().max(y.abs())), "{what}: {a:?} against {b:?}");
    }
}

/// Holds the pair's gradient against differences, for the function and its derivatives up to `order` - 1.
pub(crate) fn check(function: &Arc<Function>, args: &[Tensor], order: usize) {
    let (exact, near) = (by_pair(function, args), differences(function, args));
    for (i, (exact, near)) in exact.iter().zip(&near).enumerate() {
        let what = format!("argument {i} of\n{}", function.to_text());
        match (exact, near) {
            (Some(exact), Some(near)) => assert_close(exact, near, &what),
            (None, Some(near)) => assert_close(&f64s(near.dims(), &vec![0.0; near.len()]), near, &what),
            (None, None) => {}
            (Some(_), None) => panic!("a cotangent for {what}"),
        }
    }
    if order > 1 {
        for through_call in [false, true] {
            check(&derivative(function, through_call), args, order - 1);
        }
    }
}
