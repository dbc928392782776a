//! Derivatives of random programs: forward and reverse mode measure the same change.

mod common;

use common::parts;
use penstock_autodiff::{Residual, jvp_function, vjp_function};
use penstock_data::{Class, DType, Tensor};
use penstock_exec::{Arg, StdEnv, reference};
use penstock_filetests::{RandomOptions, random_graph};
use penstock_ir::{Function, verify};

/// The results of a function; `None` for the derivative of the determinant of a singular matrix.
fn run(function: &Function, args: &[Tensor]) -> Option<Vec<Tensor>> {
    let graph = function.graph().unwrap();
    verify(graph).unwrap_or_else(|e| panic!("{e:?} in\n{}", function.to_text()));
    let args: Vec<Arg> = args.iter().cloned().map(Arg::Tensor).collect();
    match reference::run(graph, &args, &StdEnv::new(0)) {
        Ok(results) => Some(results),
        Err(e) if format!("{e:?}").contains("not invertible") => None,
        Err(e) => panic!("{e:?} in\n{}", function.to_text()),
    }
}

/// A tensor of the dtype and shape of `like` whose elements differ; zeros where sums of products would
/// have too few digits to compare, or are not real.
fn direction(like: &Tensor, offset: f64) -> Tensor {
    let values = (0..like.len()).map(|i| offset - 0.25 * (i % 5) as f64);
    match like.dtype() {
        DType::F32 => Tensor::from_slice(like.dims(), &values.map(|v| v as f32).collect::<Vec<_>>()),
        DType::F64 => Tensor::from_slice(like.dims(), &values.collect::<Vec<_>>()),
        dtype => Tensor::zeros(dtype, like.dims()),
    }
    .unwrap()
}

#[test]
fn forward_and_reverse_mode_agree_on_random_programs() {
    let options = RandomOptions { control: true, variables: false, effects: false, symbolic: true };
    let mut compared = 0;
    for seed in 1000..1600 {
        let random = random_graph(seed, 20, options);
        let function = &random.function;
        let signature = function.signature();
        // A list and a table have no elements to compare by.
        if signature.results.iter().any(|ty| matches!(ty.dtype(), DType::Variant | DType::Resource)) {
            continue;
        }
        let carries = |t: &Tensor| t.dtype().is_differentiable();
        let active: Vec<bool> = random.inputs.iter().map(carries).collect();
        let forward = match jvp_function(function, &active) {
            Ok(forward) => forward,
            Err(e) if matches!(e.class(), Class::NotFound | Class::Unimplemented) => continue,
            Err(e) => panic!("{e:?} in\n{}", function.to_text()),
        };
        let pair = match vjp_function(function, &active, &vec![true; signature.results.len()]) {
            Ok(pair) => pair,
            Err(e) if matches!(e.class(), Class::NotFound | Class::Unimplemented) => continue,
            Err(e) => panic!("{e:?} in\n{}", function.to_text()),
        };
        let mut args = random.inputs.clone();
        args.extend(random.inputs.iter().filter(|t| carries(t)).map(|t| direction(t, 0.5)));
        let Some(results) = run(&forward.function, &args) else { continue };
        let Some(outputs) = run(pair.forward(function), &random.inputs) else { continue };
        let (mut along, mut against, mut size) = (0.0, 0.0, 1e-3);
        for (k, tangent) in forward.tangents.iter().enumerate() {
            let Some(tangent) = tangent.map(|i| &results[i]) else { continue };
            assert_eq!(tangent.dims(), outputs[k].dims(), "{}", function.to_text());
            for (a, b) in parts(tangent).iter().zip(parts(&direction(&outputs[k], 1.0))) {
                along += a * b;
                size += (a * b).abs();
            }
        }
        if let Some(backward) = &pair.backward {
            let residual = |r: &Residual| match *r {
                Residual::Input(i) => random.inputs[i].clone(),
                Residual::Output(i) => outputs[i].clone(),
            };
            let mut args: Vec<Tensor> = pair.residuals.iter().map(residual).collect();
            args.extend(outputs[..signature.results.len()].iter().filter(|t| carries(t)).map(|t| direction(t, 1.0)));
            let Some(grads) = run(backward, &args) else { continue };
            for (input, grad) in random.inputs.iter().zip(&pair.grads) {
                let Some(grad) = grad.map(|k| &grads[k]) else { continue };
                assert_eq!((grad.dims(), grad.dtype()), (input.dims(), input.dtype()), "{}", function.to_text());
                for (a, b) in parts(grad).iter().zip(parts(&direction(input, 0.5))) {
                    against += a * b;
                    size += (a * b).abs();
                }
            }
        }
        if !(along.is_finite() && against.is_finite()) {
            continue;
        }
        // Half precision, on the way, has two digits.
        let half = ["f16[", "bf16["].iter().any(|name| function.to_text().contains(name));
        let eps = if half { 0.1 } else { 2e-3 };
        assert!((along - against).abs() <= eps * size, "{along} forward, {against} backward in {random:?}");
        compared += usize::from(size > 1e-2);
    }
    assert!(compared > 50, "{compared}");
}
