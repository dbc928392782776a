//! The rule of every operator, held against finite differences on the operator's own samples.

use std::sync::Arc;

use penstock_autodiff::{Residual, vjp_function};
use penstock_data::{C64, C128, DType, Tensor};
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

/// A tensor of `f64` or `c128` as a list of real numbers.
fn parts(t: &Tensor) -> Vec<f64> {
    match t.dtype() {
        DType::F64 => t.as_slice::<f64>().to_vec(),
        DType::C128 => t.as_slice::<C128>().iter().flat_map(|z| [z.re, z.im]).collect(),
        _ => Vec::new(),
    }
}

fn from_parts(like: &Tensor, parts: &[f64]) -> Tensor {
    if like.dtype() == DType::C128 {
        let values: Vec<C128> = parts.chunks(2).map(|p| C128::new(p[0], p[1])).collect();
        Tensor::from_slice(like.dims(), &values).unwrap()
    } else {
        Tensor::from_slice(like.dims(), parts).unwrap()
    }
}

fn precise(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::C128)
}

struct Case {
    function: Arc<Function>,
    inputs: Vec<Tensor>,
}

/// The operator as a function of all operands, where it takes the sample's as `f64`.
fn case(op: &'static OpDef, sample: &Sample) -> Option<Case> {
    let inputs: Vec<Tensor> = sample.inputs.iter().map(widened).collect::<Option<_>>()?;
    let attrs: Attrs = op.attributes(&sample.attrs).ok()?;
    let mut b = Builder::new(&control::CONST);
    let operands: Vec<_> = inputs.iter().map(|t| b.input(Type::of(t), None)).collect();
    let inst = b.inst(op, &operands, attrs, &[]).ok()?;
    let outputs = b.results(inst).to_vec();
    let graph = b.finish(&outputs).unwrap();
    Some(Case { function: Arc::new(Function::new(op.name, graph)), inputs })
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
        let Ok(outputs) = run(&self.function, inputs) else { return f64::NAN };
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
        let smooth = (before - after).abs() <= 1e-3 * (1.0 + slope.abs());
        // Beyond this, differences of large values have no digits left.
        (smooth && slope.is_finite() && here.abs() < 1e6).then_some(slope)
    }

    /// Compares all cotangents; gives the number of elements compared.
    fn check(&self) -> usize {
        let function = &self.function;
        let Ok(values) = run(function, &self.inputs) else { return 0 };
        if !parts(&values.iter().find(|t| precise(t.dtype())).cloned().unwrap_or(Tensor::scalar(0i32)))
            .iter()
            .all(|v| v.is_finite())
        {
            return 0;
        }
        let needed: Vec<bool> = self.inputs.iter().map(|t| precise(t.dtype())).collect();
        let flowing: Vec<bool> = values.iter().map(|t| precise(t.dtype())).collect();
        let text = || format!("{}with {:?}", function.to_text(), self.inputs);
        let pair = vjp_function(function, &needed, &flowing).unwrap_or_else(|e| panic!("{e:?} for\n{}", text()));
        let outputs = run(&pair.forward, &self.inputs).unwrap();
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
            let exact = grad.map_or(vec![0.0; parts(input).len()], parts);
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

#[test]
fn every_rule_agrees_with_differences_where_the_operator_is_smooth() {
    let mut untried = Vec::new();
    // `with_gradient` computes what a function says, so there is nothing to compare it with.
    // That of the zeta function does not go to its exponent, and that of gamma numbers is at a fixed quantile.
    let without = [&penstock_ops::binary::ZETA, &penstock_ops::random::STATELESS_RANDOM_GAMMA];
    let has_rule = |op: &&OpDef| {
        let compared = !op.is(&penstock_ops::control::WITH_GRADIENT) && !without.iter().any(|other| op.is(other));
        matches!(op.vjp, Vjp::Rule(_)) && compared
    };
    for op in penstock_ops::all().filter(has_rule) {
        let compared: usize = (op.samples)().iter().filter_map(|s| case(op, s)).map(|c| c.check()).sum();
        if compared == 0 {
            untried.push(op.name);
        }
    }
    assert!(untried.is_empty(), "no sample tries the rule of {untried:?}");
}
