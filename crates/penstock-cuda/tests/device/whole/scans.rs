//! Scans.

use penstock_data::{DType, Tensor};
use penstock_ir::Attr;

use super::{Numbers, agree, attributes, cast, host, magnitudes, on_device};
use crate::common::op;
use crate::gpu;

/// Extents, and the axis: lines of neighbours and lines side by side, shorter and longer than those that one thread walks.
const SCANNED: [(&[usize], i64); 14] = [
    (&[0], 0),
    (&[1], 0),
    (&[31], 0),
    (&[32], 0),
    (&[33], 0),
    (&[1024], 0),
    (&[1025], 0),
    (&[70, 100], 1),
    (&[3, 4097], 1),
    (&[4095, 2], 0),
    (&[5, 300, 7], 1),
    (&[2, 1500, 40], 1),
    (&[40, 33], 0),
    (&[100_003], 0),
];

#[test]
fn running_products_and_recurrences_and_short_sums_have_the_bits_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(11);
    for (i, (dims, axis)) in SCANNED.into_iter().enumerate() {
        let attrs = |i: usize| {
            [("axis", Attr::from(axis)), ("exclusive", (i % 2 == 1).into()), ("reverse", (i / 2 % 2 == 1).into())]
        };
        let dtypes = [DType::F32, [DType::F64, DType::F16, DType::Bf16][i % 3]];
        for (d, dtype) in dtypes.into_iter().enumerate() {
            let (x, y) = (numbers.tensor(dtype, dims), numbers.tensor(dtype, dims));
            let (attrs, n) = (attrs(i + d), dims[axis as usize]);
            // A single long line is one thread's, which takes the emulation long.
            if n < 10_000 {
                agree(op("cumprod"), &[&x], &attrs);
                agree(op("linear_recurrence"), &[&x, &y], &attrs);
            }
            if n <= 1024 {
                agree(op("cumsum"), &[&x], &attrs);
                agree(op("cumulative_logsumexp"), &[&x], &attrs);
            }
        }
        let dtype = [DType::I32, DType::I8, DType::I64, DType::U16][i % 4];
        let x = numbers.tensor(dtype, dims);
        agree(op("cumsum"), &[&x], &attrs(i));
        agree(op("cumprod"), &[&x], &attrs(i + 1));
    }
    // The host computes what the device has no kernel for.
    let z = cast(&numbers.tensor(DType::F32, &[500]), DType::C64);
    agree(op("cumsum"), &[&z], &[]);
}

#[test]
fn long_running_sums_are_within_the_bound_of_the_exact_ones() {
    if gpu().is_none() {
        return;
    }
    let mut numbers = Numbers(12);
    for (i, (dims, axis)) in SCANNED.into_iter().filter(|(dims, axis)| dims[*axis as usize] > 1024).enumerate() {
        for dtype in [DType::F32, DType::F16, DType::F64] {
            let attrs =
                [("axis", Attr::from(axis)), ("exclusive", (i % 2 == 1).into()), ("reverse", (i % 3 == 1).into())];
            let attrs = attributes(op("cumsum"), &attrs);
            let x = numbers.tensor(dtype, dims);
            let got = cast(&on_device(op("cumsum"), &[&x], &attrs).expect("sums")[0], DType::F64);
            let wide = cast(&x, DType::F64);
            let due = host(op("cumsum"), &[&wide], &attrs).expect("sums").remove(0);
            let most = host(op("cumsum"), &[&magnitudes(&wide)], &attrs).expect("sums").remove(0);
            let (eps, rounded) = match dtype {
                DType::F32 => (f64::from(f32::EPSILON), 0.0),
                DType::F16 => (f64::from(f32::EPSILON), 1e-3),
                _ => (f64::EPSILON, 0.0),
            };
            let all = got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).zip(most.as_slice::<f64>());
            for (at, ((&got, &due), &most)) in all.enumerate() {
                // The due sums are rounded as well, those of `f64` after each addition.
                let bound =
                    (2048.0 * eps + dims.iter().product::<usize>() as f64 * f64::EPSILON) * most + rounded * due.abs();
                assert!((got - due).abs() <= bound, "{dtype} {dims:?} at {at}: {got}, not {due}");
            }
            let attrs = [("axis", Attr::from(axis)), ("exclusive", (i % 2 == 0).into())];
            let attrs = attributes(op("cumulative_logsumexp"), &attrs);
            let got = cast(&on_device(op("cumulative_logsumexp"), &[&x], &attrs).expect("logarithms")[0], DType::F64);
            let due = host(op("cumulative_logsumexp"), &[&wide], &attrs).expect("logarithms").remove(0);
            for (at, (&got, &due)) in got.as_slice::<f64>().iter().zip(due.as_slice::<f64>()).enumerate() {
                // An exclusive one starts with the least of its own dtype.
                let is_least = due == f64::MIN && got <= -65504.0;
                let bound = 4096.0 * eps * due.abs().max(1.0) + rounded * due.abs() + 1e-9;
                assert!(is_least || (got - due).abs() <= bound, "{dtype} {dims:?} at {at}: {got}, not {due}");
            }
        }
    }
}

#[test]
fn scans_of_odd_floats_are_those_of_the_host() {
    if gpu().is_none() {
        return;
    }
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MAX, 1e-40];
    // A row for each pair of them.
    const LEN: usize = 45;
    let pairs = odd.iter().flat_map(|&value| odd.iter().map(move |&other| (value, other)));
    let rows: Vec<f32> =
        pairs.flat_map(|(value, other)| (0..LEN).map(move |i| if i % 20 == 17 { value } else { other })).collect();
    let x = Tensor::from_slice(&[odd.len() * odd.len(), LEN], &rows).expect("memory");
    let columns = host(op("transpose"), &[&x], &attributes(op("transpose"), &[])).expect("columns").remove(0);
    for (x, axis) in [(&x, 1i64), (&columns, 0)] {
        for exclusive in [false, true] {
            let attrs = [("axis", Attr::from(axis)), ("exclusive", exclusive.into())];
            for name in ["cumsum", "cumprod", "cumulative_logsumexp"] {
                agree(op(name), &[x], &attrs);
            }
            agree(op("linear_recurrence"), &[x, x], &attrs);
        }
    }
    for &value in &odd {
        // In the middle of a long line, from which on it has its effect.
        let mut values = vec![1.0f32; 5000];
        values[2500] = value;
        let x = Tensor::vector(&values);
        agree(op("cumsum"), &[&cast(&x, DType::F64)], &[]);
        agree(op("cumprod"), &[&x], &[]);
    }
}
