//! Elementwise functions keep their bounds. `examples/accuracy.rs` looks at every `f32`; this, at one in a thousand.

#![expect(unsafe_code, reason = "kernels take raw memory")]

mod ulps;

use penstock_data::DType;
use penstock_kernels::{Binary, Unary, binary, unary};
use ulps::{EDGES, apply, model, model2, pairs, spread, ulps32, ulps64};

/// The greatest allowed distances of `f32` from the exact result and of `f64` from that of `libm`, in units of the last place.
fn bounds(op: Unary) -> (f64, f64) {
    match op {
        Unary::Exp | Unary::Log | Unary::Log1p | Unary::Cosh => (1.6, 2.0),
        Unary::Sin | Unary::Cos => (0.51, 1.0),
        Unary::Tan => (1.0, 2.0),
        Unary::Erf => (1.5, 2.0),
        Unary::Erfc => (0.51, 6.0),
        Unary::Expm1 | Unary::Elu | Unary::Tanh | Unary::Softplus => (2.0, 4.0),
        Unary::Atan | Unary::Asinh => (2.0, 3.0),
        Unary::Acosh | Unary::Asin | Unary::Acos | Unary::Sinh | Unary::Atanh | Unary::Sigmoid => (2.5, 3.0),
        Unary::Selu => (3.0, 4.0),
        Unary::Lgamma => (4.0, 0.0),
        Unary::Rsqrt | Unary::Softsign => (1.5, 0.0),
        _ => (0.5, 0.0),
    }
}

#[test]
fn f32_functions_keep_their_bounds() {
    let step = 1009;
    let all = (0..u32::MAX / step).map(|i| f32::from_bits(i * step));
    let inputs: Vec<f32> = all.chain(EDGES.iter().map(|&r| r as f32)).collect();
    let mut out = vec![0f32; inputs.len()];
    for &op in Unary::ALL {
        if model(op, 0.5).is_none() {
            continue;
        }
        apply(unary(op, DType::F32).unwrap(), &[&inputs], &mut out);
        let (mut worst, mut at) = (0.0, 0.0);
        for (&x, &y) in inputs.iter().zip(&out) {
            let want = model(op, f64::from(x)).unwrap();
            // The relative error of lgamma is not bounded near its zeros.
            let error = if op == Unary::Lgamma && want.abs() < 0.1 { 0.0 } else { ulps32(y, want) };
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        assert!(worst <= bounds(op).0, "{op:?}: {worst} ulp at {at:e}");
    }
}

#[test]
fn f64_functions_keep_their_bounds() {
    let mut inputs = spread(300_000, 1);
    inputs.extend(EDGES);
    let mut out = vec![0f64; inputs.len()];
    for &op in Unary::ALL {
        if model(op, 0.5).is_none() {
            continue;
        }
        apply(unary(op, DType::F64).unwrap(), &[&inputs], &mut out);
        let (mut worst, mut at) = (0.0, 0.0);
        for (&x, &y) in inputs.iter().zip(&out) {
            let error = ulps64(y, model(op, x).unwrap());
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        assert!(worst <= bounds(op).1, "{op:?}: {worst} ulp at {at:e}");
    }
}

#[test]
fn powers_and_angles_keep_their_bounds() {
    let (x, y) = pairs(300_000, 5);
    let narrow = |v: &[f64]| -> Vec<f32> { v.iter().map(|&v| v as f32).collect() };
    let (x32, y32) = (narrow(&x), narrow(&y));
    let (mut out, mut out32) = (vec![0f64; x.len()], vec![0f32; x.len()]);
    for (op, bound32, bound64) in [(Binary::Pow, 0.6, 1.0), (Binary::Atan2, 2.5, 2.0)] {
        apply(binary(op, DType::F64).unwrap(), &[&x, &y], &mut out);
        apply(binary(op, DType::F32).unwrap(), &[&x32, &y32], &mut out32);
        for i in 0..x.len() {
            let error = ulps64(out[i], model2(op, x[i], y[i]));
            assert!(error <= bound64, "{op:?} {:e} {:e}: {:e}, {error} ulp", x[i], y[i], out[i]);
            let error = ulps32(out32[i], model2(op, f64::from(x32[i]), f64::from(y32[i])));
            assert!(error <= bound32, "{op:?} {:e} {:e}: {:e}, {error} ulp", x32[i], y32[i], out32[i]);
        }
    }
}

#[test]
fn powers_of_small_whole_numbers_are_exact() {
    let f = binary(Binary::Pow, DType::F64).unwrap();
    for base in -40i64..=40 {
        for exponent in 0..=9 {
            let mut out = [0f64];
            apply(f, &[&[base as f64], &[f64::from(exponent)]], &mut out);
            assert_eq!(out[0], base.pow(exponent as u32) as f64, "{base} ** {exponent}");
        }
    }
}
