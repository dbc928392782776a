//! The rule of every operator, held against finite differences on the operator's own samples: its
//! first derivative and the derivative of that, in reverse and in forward mode.

use std::sync::Arc;

use penstock_autodiff::{Residual, jvp_function, vjp_function};
use penstock_data::{C64, C128, Class, DType, List, Tensor};
use penstock_exec::{Arg, StdEnv, reference};
use penstock_ir::{Attrs, Builder, Function, OpDef, Sample, Type, Vjp, verify};
use penstock_ops::control;

const STEP: f64 = 1e-5;

/// Operands of floating point as `f64` or `c128`, so that differences are precise; `None` for those
/// too coarse to be what the sample means (rows that sum to 1, say).
fn widened(t: &Tensor) -> Option<Tensor> {
    Some(match t.dtype() {
        DType::F16 | DType::Bf16 => return None,
        DType::F32 => {
            let values: Vec<f64> = t.as_slice::<f32>().iter().map(|&v| f64::from(v)).collect();
            Tensor::from_slice(t.dims(), &values).unwrap()
        }
        DType::C64 => {
            let values: Vec<C128> =
                t.as_slice::<C64>().iter().map(|z| C128::new(f64::from(z.re), f64::from(z.im))).collect();
            Tensor::from_slice(t.dims(), &values).unwrap()
        }
        _ => t.clone(),
    })
}

/// A tensor of `f64` or `c128` as a list of real numbers; a list of tensors as those of its elements.
fn parts(t: &Tensor) -> Vec<f64> {
    if let Some(list) = t.list() {
        return list.elements().into_iter().flat_map(|(_, t)| parts(t)).collect();
    }
    match t.dtype() {
        DType::F64 => t.as_slice::<f64>().to_vec(),
        DType::C128 => t.as_slice::<C128>().iter().flat_map(|z| [z.re, z.im]).collect(),
        _ => Vec::new(),
    }
}

fn from_parts(like: &Tensor, values: &[f64]) -> Tensor {
    if let Some(list) = like.list() {
        let mut made = List::zeros(list.len());
        let mut rest = values;
        for (i, t) in list.elements() {
            let (here, after) = rest.split_at(parts(t).len());
            made.set(i, if precise(t) { from_parts(t, here) } else { t.clone() }, false).unwrap();
            rest = after;
        }
        return Tensor::from_list(made);
    }
    let parts = values;
    if like.dtype() == DType::C128 {
        let values: Vec<C128> = parts.chunks(2).map(|p| C128::new(p[0], p[1])).collect();
        Tensor::from_slice(like.dims(), &values).unwrap()
    } else {
        Tensor::from_slice(like.dims(), parts).unwrap()
    }
}

fn precise(t: &Tensor) -> bool {
    match t.list() {
        Some(list) => list.elements().into_iter().all(|(_, t)| precise(t)),
        None => matches!(t.dtype(), DType::F64 | DType::C128),
    }
}

/// Whether it is a precise array: lists are not differentiated twice here.
fn array(t: &Tensor) -> bool {
    t.list().is_none() && precise(t)
}

/// A cotangent with the elements that a list has: what is not set there is not compared.
fn trimmed(grad: &Tensor, like: &Tensor) -> Tensor {
    let (Some(grads), Some(list)) = (grad.list(), like.list()) else { return grad.clone() };
    assert_eq!(grads.len(), list.len());
    let mut made = List::zeros(list.len());
    for (i, t) in list.elements() {
        let part = grads.get(i).map_or_else(|| from_parts(t, &vec![0.0; parts(t).len()]), |g| trimmed(g, t));
        made.set(i, part, false).unwrap();
    }
    Tensor::from_list(made)
}

/// Operators that read one triangle of Hermitian matrices: their derivatives are along Hermitian directions.
const OF_HERMITIAN: &[&str] = &["cholesky", "self_adjoint_eig", "self_adjoint_eigvals"];

/// Operators of which a complex result is determined only up to factors of absolute value 1.
const UP_TO_PHASES: &[&str] = &["svd", "self_adjoint_eig", "eig"];

/// The mean of matrices and their adjoints.
fn hermitian_part(x: &Tensor) -> Tensor {
    if x.is_empty() {
        return x.clone();
    }
    let (n, width) = (x.dims()[x.rank() - 1], if x.dtype() == DType::C128 { 2 } else { 1 });
    let from = parts(x);
    let mean = |i: usize| {
        let (at, part) = (i / width, i % width);
        let mirrored = at / (n * n) * n * n + at % n * n + at / n % n;
        let sign = if part == 1 { -1.0 } else { 1.0 };
        (from[i] + sign * from[mirrored * width + part]) / 2.0
    };
    from_parts(x, &(0..from.len()).map(mean).collect::<Vec<_>>())
}

struct Case {
    function: Arc<Function>,
    of_hermitian: bool,
    inputs: Vec<Tensor>,
}

/// The operator as a function of all operands, where it takes the sample's as `f64`.
fn case(op: &'static OpDef, sample: &Sample) -> Option<Case> {
    let inputs: Vec<Tensor> = sample.inputs.iter().map(widened).collect::<Option<_>>()?;
    if UP_TO_PHASES.contains(&op.name) && inputs[0].dtype().is_complex() {
        return None;
    }
    let attrs: Attrs = op.attributes(&sample.attrs).ok()?;
    let mut b = Builder::new(&control::CONST);
    let operands: Vec<_> = inputs.iter().map(|t| b.input(Type::of(t), None)).collect();
    let inst = b.inst(op, &operands, attrs, &[]).ok()?;
    let outputs = b.results(inst).to_vec();
    let graph = b.finish(&outputs).unwrap();
    let of_hermitian = OF_HERMITIAN.contains(&op.name);
    Some(Case { function: Arc::new(Function::new(op.name, graph)), of_hermitian, inputs })
}

fn run(function: &Function, args: &[Tensor]) -> penstock_data::Result<Vec<Tensor>> {
    let graph = function.graph().unwrap();
    verify(graph).unwrap_or_else(|e| panic!("{e:?} in\n{}", function.to_text()));
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
    reference::run(graph, &args, &StdEnv::new(0))
}

/// A cotangent that differs from element to element.
fn weights(like: &Tensor) -> Vec<f64> {
    (0..parts(like).len()).map(|i| 1.0 + 0.25 * (i % 7) as f64).collect()
}

impl Case {
    fn objective(&self, inputs: &[Tensor]) -> f64 {
        let inputs: Vec<Tensor> =
            inputs.iter().map(|x| if self.of_hermitian { hermitian_part(x) } else { x.clone() }).collect();
        let Ok(outputs) = run(&self.function, &inputs) else { return f64::NAN };
        let terms = outputs.iter().flat_map(|t| parts(t).into_iter().zip(weights(t)));
        terms.map(|(a, b)| a * b).sum()
    }

    /// The slope along one part of one operand, where the operator is smooth there.
    fn slope(&self, operand: usize, part: usize) -> Option<f64> {
        let at = |delta: f64| {
            let mut inputs = self.inputs.clone();
            let mut values = parts(&inputs[operand]);
            values[part] += delta;
            inputs[operand] = from_parts(&inputs[operand], &values);
            self.objective(&inputs)
        };
        let (left, here, right) = (at(-STEP), at(0.0), at(STEP));
        let (before, after) = ((here - left) / STEP, (right - here) / STEP);
        let slope = (right - left) / (2.0 * STEP);
        // At a jump the difference quotient grows as the step shrinks.
        let nearer = (at(STEP / 2.0) - at(-STEP / 2.0)) / STEP;
        let alike = |a: f64, b: f64| (a - b).abs() <= 1e-3 * (1.0 + slope.abs());
        let smooth = alike(before, after) && alike(slope, nearer);
        // Beyond this, differences of large values have no digits left.
        (smooth && slope.is_finite() && here.abs() < 1e6).then_some(slope)
    }

    /// Compares all cotangents; gives the number of elements compared.
    fn check(&self) -> usize {
        let function = &self.function;
        let Ok(values) = run(function, &self.inputs) else { return 0 };
        if !parts(&values.iter().find(|t| precise(t)).cloned().unwrap_or(Tensor::scalar(0i32)))
            .iter()
            .all(|v| v.is_finite())
        {
            return 0;
        }
        let needed: Vec<bool> = self.inputs.iter().map(precise).collect();
        let flowing: Vec<bool> = values.iter().map(precise).collect();
        let text = || format!("{}with {:?}", function.to_text(), self.inputs);
        let pair = vjp_function(function, &needed, &flowing).unwrap_or_else(|e| panic!("{e:?} for\n{}", text()));
        let outputs = run(pair.forward(function), &self.inputs).unwrap();
        let grads = pair.backward.as_ref().map(|backward| {
            let mut args: Vec<Tensor> = Vec::new();
            for residual in &pair.residuals {
                args.push(match *residual {
                    Residual::Input(i) => self.inputs[i].clone(),
                    Residual::Output(i) => outputs[i].clone(),
                });
            }
            args.extend(outputs.iter().zip(&flowing).filter(|(_, f)| **f).map(|(t, _)| from_parts(t, &weights(t))));
            run(backward, &args).unwrap_or_else(|e| panic!("{e:?} in\n{}\nfor {}", backward.to_text(), text()))
        });
        let mut compared = 0;
        for (i, input) in self.inputs.iter().enumerate().filter(|(i, _)| needed[*i]) {
            let grad = pair.grads[i].and_then(|k| grads.as_ref().map(|g| &g[k]));
            if let Some(grad) = grad {
                assert_eq!((grad.dims(), grad.dtype()), (input.dims(), input.dtype()), "{}", text());
            }
            let grad = grad.map(|g| if self.of_hermitian { hermitian_part(g) } else { trimmed(g, input) });
            let exact = grad.as_ref().map_or(vec![0.0; parts(input).len()], parts);
            for (part, exact) in exact.iter().enumerate() {
                let Some(near) = self.slope(i, part) else { continue };
                let close = (exact - near).abs() <= 1e-4 * (1.0 + exact.abs().max(near.abs()));
                assert!(close, "operand {i}, part {part}: {exact} against {near} for\n{}", text());
                compared += 1;
            }
        }
        compared
    }
}

impl Case {
    /// Whether every operator on the way has a derivative.
    fn has_gradient(&self) -> bool {
        let (inputs, outputs) = (self.function.signature().params.len(), self.function.signature().results.len());
        let made = vjp_function(&self.function, &vec![true; inputs], &vec![true; outputs]);
        !made.is_err_and(|e| e.class() == Class::NotFound)
    }

    /// The gradient of the objective as a function of the operands; `None` where no operand has one.
    fn gradient(&self) -> Option<Case> {
        let Ok(values) = run(&self.function, &self.inputs) else { return None };
        let needed: Vec<bool> = self.inputs.iter().map(array).collect();
        let flowing: Vec<bool> = values.iter().map(array).collect();
        let pair = match vjp_function(&self.function, &needed, &flowing) {
            Ok(pair) => pair,
            Err(e) if e.class() == Class::Unimplemented => return None,
            Err(e) => panic!("{e:?} for\n{}", self.function.to_text()),
        };
        let backward = pair.backward.clone()?;
        let mut b = Builder::new(&control::CONST);
        let operands: Vec<_> = self.inputs.iter().map(|t| b.input(Type::of(t), None)).collect();
        let outputs = b.inline(pair.forward(&self.function).graph().unwrap(), &operands).unwrap();
        let mut args: Vec<_> = pair
            .residuals
            .iter()
            .map(|r| match *r {
                Residual::Input(i) => operands[i],
                Residual::Output(i) => outputs[i],
            })
            .collect();
        for value in values.iter().filter(|t| array(t)) {
            args.push(b.constant(from_parts(value, &weights(value))));
        }
        let grads = b.inline(backward.graph().unwrap(), &args).unwrap();
        let graph = b.finish(&grads).unwrap();
        let function = Arc::new(Function::new(format!("{}.gradient", self.function.name()), graph));
        Some(Case { function, of_hermitian: self.of_hermitian, inputs: self.inputs.clone() })
    }

    /// Holds forward mode against reverse mode: the objective's change along a direction, both ways.
    /// Gives whether there was something to compare.
    fn check_forward(&self) -> bool {
        let function = &self.function;
        let text = || format!("{}with {:?}", function.to_text(), self.inputs);
        let Ok(values) = run(function, &self.inputs) else { return false };
        // A list has no elements to compare by.
        if values.iter().any(|t| t.list().is_some()) {
            return false;
        }
        let active: Vec<bool> = self.inputs.iter().map(array).collect();
        let forward = match jvp_function(function, &active) {
            Ok(forward) => forward,
            Err(e) if e.class() == Class::Unimplemented => return false,
            Err(e) => panic!("{e:?} for\n{}", text()),
        };
        let direction = |t: &Tensor| -> Vec<f64> { (0..parts(t).len()).map(|i| 0.5 - 0.3 * (i % 5) as f64).collect() };
        let mut args = self.inputs.clone();
        args.extend(self.inputs.iter().filter(|t| array(t)).map(|t| from_parts(t, &direction(t))));
        let results = run(&forward.function, &args)
            .unwrap_or_else(|e| panic!("{e:?} in\n{}\nfor {}", forward.function.to_text(), text()));
        let mut along = 0.0;
        for (value, tangent) in values.iter().zip(&forward.tangents) {
            let Some(tangent) = tangent.map(|k| &results[k]) else { continue };
            assert_eq!((tangent.dims(), tangent.dtype()), (value.dims(), value.dtype()), "{}", text());
            along += parts(tangent).iter().zip(weights(value)).map(|(a, b)| a * b).sum::<f64>();
        }
        let Some(gradient) = self.gradient() else {
            assert!(along == 0.0 || along.is_nan(), "{along} for {}", text());
            return false;
        };
        let Ok(grads) = run(&gradient.function, &self.inputs) else { return false };
        let flowing: Vec<bool> = values.iter().map(array).collect();
        let pair = vjp_function(function, &active, &flowing).unwrap();
        let (mut against, mut size) = (0.0, 1.0);
        for (input, place) in self.inputs.iter().zip(&pair.grads) {
            let Some(grad) = place.map(|k| &grads[k]) else { continue };
            for (a, b) in parts(grad).iter().zip(direction(input)) {
                against += a * b;
                size += (a * b).abs();
            }
        }
        let close = (along - against).abs() <= 1e-9 * size || !(along.is_finite() && against.is_finite());
        assert!(close, "{along} in forward mode, {against} in reverse mode for\n{}", text());
        along.is_finite()
    }
}

#[test]
fn forward_mode_of_every_rule_agrees_with_reverse_mode() {
    let mut untried = Vec::new();
    for op in penstock_ops::all().filter(has_rule) {
        let mut tried = false;
        for case in (op.samples)().iter().filter_map(|s| case(op, s)) {
            tried |= case.check_forward();
        }
        // What gives or takes lists is tried in whole programs.
        if !tried && !op.name.starts_with("list_") {
            untried.push(op.name);
        }
    }
    assert!(untried.is_empty(), "no sample tries the rule of {untried:?}");
}

#[test]
fn second_derivatives_agree_with_differences_of_the_first_in_both_modes() {
    let mut compared = 0;
    for op in penstock_ops::all().filter(has_rule) {
        for case in (op.samples)().iter().filter_map(|s| case(op, s)) {
            if let Some(gradient) = case.gradient()
                && gradient.has_gradient()
            {
                compared += gradient.check();
                gradient.check_forward();
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// Whether there is a rule to try. `with_gradient` computes what a function says, so that there is
/// nothing to compare it with; the derivative of the zeta function does not go to its exponent, and that of gamma
/// numbers is at a fixed quantile.
fn has_rule(op: &&OpDef) -> bool {
    let without = [&control::WITH_GRADIENT, &penstock_ops::binary::ZETA, &penstock_ops::random::STATELESS_RANDOM_GAMMA];
    matches!(op.vjp, Vjp::Rule(_)) && !without.iter().any(|other| op.is(other))
}

#[test]
fn every_rule_agrees_with_differences_where_the_operator_is_smooth() {
    let mut untried = Vec::new();
    for op in penstock_ops::all().filter(has_rule) {
        let compared: usize = (op.samples)().iter().filter_map(|s| case(op, s)).map(|c| c.check()).sum();
        if compared == 0 {
            untried.push(op.name);
        }
    }
    assert!(untried.is_empty(), "no sample tries the rule of {untried:?}");
}
